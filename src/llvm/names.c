/* names.c - the instructions of one function in another that it may have become: the same kernel,
** compiled from a changed source.
**
** Two are the same where they compute the same of the same, down to the arguments: by a hash of
** that. Where several do, the k-th is the k-th, if both functions have as many. What is left has no
** counterpart: a name may be lost, but it never means something else.
*/
#include <stdlib.h>
#include <string.h>

#include "llvm/func.h"

typedef struct Side {
    const Llvm *l;
    const LlvmFunc *f;
    uint64_t *key;
} Side;

static uint64_t hash_number(uint64_t x, uint64_t h) {
    return gi_hash(&x, sizeof x, h);
}

static uint64_t hash_type(const Side *s, LlvmType *type, uint64_t h) {
    char *text = s->l->PrintTypeToString(type);
    h = gi_hash(text, strlen(text) + 1, h);
    s->l->DisposeMessage(text);
    return h;
}

static int instruction_number(const LlvmFunc *f, LlvmValue *v) {
    for (int i = 0; i < f->n; i++)
        if (f->code[i] == v) return i;
    return -1;
}

static int argument_number(const Side *s, LlvmValue *v) {
    for (unsigned i = 0; i < s->l->CountParams(s->f->value); i++)
        if (s->l->GetParam(s->f->value, i) == v) return (int)i;
    return -1;
}

static uint64_t hash_constant(const Side *s, LlvmValue *v, uint64_t h) {
    size_t len = 0;
    const char *name = s->l->GetValueName2(v, &len);
    if (len) return gi_hash(name, len, h);
    if (s->l->IsAConstantInt(v)) return hash_number((uint64_t)s->l->ConstIntGetSExtValue(v), h);
    char *text = s->l->PrintValueToString(v);
    h = gi_hash(text, strlen(text) + 1, h);
    s->l->DisposeMessage(text);
    return h;
}

/* Blocks and what comes around a loop have no key yet: their type alone. */
static uint64_t hash_operand(const Side *s, int at, LlvmValue *v, uint64_t h) {
    if (v == NULL) return h + 1;
    const int kind = s->l->GetTypeKind(s->l->TypeOf(v));
    if (kind == LLVM_TYPE_LABEL || kind == LLVM_TYPE_METADATA)
        return hash_number((uint64_t)kind, h);
    if (s->l->IsAInstruction(v)) {
        int maker = instruction_number(s->f, v);
        return maker >= 0 && maker < at ? hash_number(s->key[maker], h)
                                        : hash_type(s, s->l->TypeOf(v), h);
    }
    int argument = argument_number(s, v);
    if (argument >= 0) return hash_number((uint64_t)argument, h + 2);
    return hash_constant(s, v, hash_type(s, s->l->TypeOf(v), h));
}

static uint64_t key_of(const Side *s, int at) {
    LlvmValue *v = s->f->code[at];
    const int opcode = s->l->GetInstructionOpcode(v);
    uint64_t h = hash_type(s, s->l->TypeOf(v), hash_number((uint64_t)opcode, 0));
    if (opcode == LLVM_ICMP) h = hash_number((uint64_t)s->l->GetICmpPredicate(v), h);
    if (opcode == LLVM_FCMP) h = hash_number((uint64_t)s->l->GetFCmpPredicate(v), h);
    for (int k = 0; k < s->l->GetNumOperands(v); k++)
        h = hash_operand(s, at, s->l->GetOperand(v, (unsigned)k), h);
    return h;
}

static Side side_of(const Llvm *l, const LlvmFunc *f) {
    Side s = {l, f, gi_alloc((size_t)f->n * sizeof(uint64_t))};
    for (int i = 0; i < f->n; i++) s.key[i] = key_of(&s, i);
    return s;
}

static int count(const Side *s, uint64_t key, int before) {
    int n = 0;
    for (int i = 0; i < before; i++) n += s->key[i] == key;
    return n;
}

static int kth(const Side *s, uint64_t key, int k) {
    for (int i = 0; i < s->f->n; i++)
        if (s->key[i] == key && k-- == 0) return i;
    return -1;
}

void llvm_match(const Llvm *l, const LlvmFunc *base, const LlvmFunc *other, int *to) {
    Side a = side_of(l, base), b = side_of(l, other);
    for (int i = 0; i < base->n; i++) {
        const uint64_t key = a.key[i];
        const bool equally_many = count(&a, key, base->n) == count(&b, key, other->n);
        to[i] = equally_many ? kth(&b, key, count(&a, key, i)) : -1;
    }
    free(a.key);
    free(b.key);
}
