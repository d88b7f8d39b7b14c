/* func.c - see func.h. Dominators by Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
** Algorithm" (2001). */
#include "llvm/func.h"

#include <stdlib.h>
#include <string.h>

int llvm_block_number(const LlvmFunc *f, LlvmBlock *block) {
    for (int i = 0; i < f->n_blocks; i++)
        if (f->blocks[i] == block) return i;
    return -1;
}

/* --- dominators --- */

typedef struct Order {
    const Llvm *l;
    LlvmFunc *f;
    int *post; /* blocks, each behind those that it leads to */
    int *rank; /* of each block in it; -1: not reached */
    int n;
} Order;

static void visit(Order *o, int b) {
    LlvmValue *end = o->l->GetBasicBlockTerminator(o->f->blocks[b]);
    const int n = (int)o->l->GetNumSuccessors(end);
    o->rank[b] = 0; /* seen */
    for (int i = 0; i < n; i++) {
        int s = llvm_block_number(o->f, o->l->GetSuccessor(end, (unsigned)i));
        if (o->rank[s] < 0) visit(o, s);
    }
    o->rank[b] = o->n;
    o->post[o->n++] = b;
}

static int common(const Order *o, int a, int b) {
    while (a != b) {
        while (o->rank[a] < o->rank[b]) a = o->f->idom[a];
        while (o->rank[b] < o->rank[a]) b = o->f->idom[b];
    }
    return a;
}

/* One block tells those that it leads to; true where that is news. */
static bool tell(Order *o, int b) {
    LlvmValue *end = o->l->GetBasicBlockTerminator(o->f->blocks[b]);
    bool news = false;
    for (unsigned i = 0; i < o->l->GetNumSuccessors(end); i++) {
        int s = llvm_block_number(o->f, o->l->GetSuccessor(end, i));
        int now = o->f->idom[s] < 0 ? b : common(o, o->f->idom[s], b);
        if (s == 0 || now == o->f->idom[s]) continue;
        o->f->idom[s] = now;
        news = true;
    }
    return news;
}

static void find_dominators(const Llvm *l, LlvmFunc *f) {
    const size_t size = (size_t)f->n_blocks * sizeof(int);
    Order o = {l, f, gi_alloc(size), gi_alloc(size), 0};
    f->idom = gi_alloc(size);
    f->depth = gi_alloc(size);
    for (int i = 0; i < f->n_blocks; i++) o.rank[i] = f->idom[i] = -1;
    visit(&o, 0);
    f->idom[0] = 0;
    for (bool news = true; news;) {
        news = false;
        for (int i = o.n - 1; i >= 0; i--) news = tell(&o, o.post[i]) || news;
    }
    for (int i = o.n - 2; i >= 0; i--) f->depth[o.post[i]] = f->depth[f->idom[o.post[i]]] + 1;
    free(o.post);
    free(o.rank);
}

bool llvm_block_dominates(const LlvmFunc *f, int a, int b) {
    if (f->idom[b] < 0) return true; /* whatever is said of a place that nobody comes to */
    if (f->idom[a] < 0) return false;
    while (f->depth[b] > f->depth[a]) b = f->idom[b];
    return a == b;
}

/* --- numbers --- */

static void number_block(const Llvm *l, LlvmFunc *f, int b, int *cap) {
    f->first[b] = f->n;
    for (LlvmValue *v = l->GetFirstInstruction(f->blocks[b]); v; v = l->GetNextInstruction(v)) {
        if (f->n == *cap) {
            *cap = *cap ? 2 * *cap : 64;
            f->code = gi_realloc(f->code, (size_t)*cap * sizeof *f->code);
            f->block = gi_realloc(f->block, (size_t)*cap * sizeof *f->block);
        }
        f->block[f->n] = b;
        f->code[f->n++] = v;
    }
}

static void open_func(const Llvm *l, LlvmValue *value, LlvmFunc *f) {
    size_t len;
    int cap = 0;
    const char *name = l->GetValueName2(value, &len);
    *f = (LlvmFunc){.value = value, .name = gi_strndup(name, len)};
    f->n_blocks = (int)l->CountBasicBlocks(value);
    f->blocks = gi_alloc((size_t)f->n_blocks * sizeof *f->blocks);
    f->first = gi_alloc((size_t)(f->n_blocks + 1) * sizeof *f->first);
    l->GetBasicBlocks(value, f->blocks);
    for (int b = 0; b < f->n_blocks; b++) number_block(l, f, b, &cap);
    f->first[f->n_blocks] = f->n;
    find_dominators(l, f);
}

LlvmFunc *llvm_funcs(const LlvmModule *m, int *n) {
    LlvmFunc *list = NULL;
    int cap = 0;
    *n = 0;
    for (LlvmValue *v = m->llvm->GetFirstFunction(m->code); v; v = m->llvm->GetNextFunction(v)) {
        if (m->llvm->CountBasicBlocks(v) == 0) continue;
        gi_grow(list, *n, cap);
        open_func(m->llvm, v, &list[(*n)++]);
    }
    return list;
}

void llvm_funcs_free(LlvmFunc *f, int n) {
    for (int i = 0; i < n; i++) {
        free(f[i].name);
        free(f[i].code);
        free(f[i].blocks);
        free(f[i].block);
        free(f[i].first);
        free(f[i].idom);
        free(f[i].depth);
    }
    free(f);
}

/* --- what instructions are --- */

bool llvm_is_terminator(const Llvm *l, LlvmValue *v) {
    return l->GetBasicBlockTerminator(l->GetInstructionParent(v)) == v;
}

bool llvm_is_phi(const Llvm *l, LlvmValue *v) {
    return l->GetInstructionOpcode(v) == LLVM_PHI;
}

bool llvm_is_void(const Llvm *l, LlvmValue *v) {
    return l->GetTypeKind(l->TypeOf(v)) == LLVM_TYPE_VOID;
}

static bool is_value(const Llvm *l, LlvmValue *v) {
    int kind = l->GetTypeKind(l->TypeOf(v));
    return kind != LLVM_TYPE_LABEL && kind != LLVM_TYPE_METADATA && kind != LLVM_TYPE_TOKEN;
}

/* An argument of an intrinsic that must be a number: its attribute says so. */
static bool is_immediate(const Llvm *l, LlvmValue *call, int operand) {
    LlvmValue *callee = l->GetCalledValue(call);
    if (callee == NULL || l->IsAFunction(callee) == NULL) return false;
    const unsigned kind = l->GetEnumAttributeKindForName("immarg", 6);
    return l->GetEnumAttributeAtIndex(callee, (unsigned)operand + 1, kind) != NULL;
}

/* The last operand is what is called. One that is no function of the module is assembly language,
** which may want numbers. */
static bool is_open_argument(const Llvm *l, LlvmValue *call, int operand) {
    LlvmValue *callee = l->GetCalledValue(call);
    if (operand >= l->GetNumOperands(call) - 1 || callee == NULL) return false;
    return l->IsAFunction(callee) || l->IsAConstant(l->GetOperand(call, (unsigned)operand)) == NULL;
}

bool llvm_is_replaceable(const Llvm *l, LlvmValue *user, int operand) {
    const int opcode = l->GetInstructionOpcode(user);
    if (operand < 0 || operand >= l->GetNumOperands(user)) return false;
    LlvmValue *was = l->GetOperand(user, (unsigned)operand);
    if (was == NULL || !is_value(l, was)) return false;
    if (opcode == LLVM_CALL)
        return is_open_argument(l, user, operand) && !is_immediate(l, user, operand);
    if (opcode == LLVM_ALLOCA) return false;
    if (opcode == LLVM_GEP && operand > 1) return l->IsAConstant(was) == NULL; /* fields */
    if (llvm_is_terminator(l, user))
        return operand == 0 && (opcode == LLVM_RET || opcode == LLVM_BR || opcode == LLVM_SWITCH);
    return true;
}

LlvmValue *llvm_use_place(const Llvm *l, LlvmValue *user, int operand) {
    if (!llvm_is_phi(l, user)) return user;
    return l->GetBasicBlockTerminator(l->GetIncomingBlock(user, (unsigned)operand));
}
