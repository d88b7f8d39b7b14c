/* edit.c - see edit.h: edits of one function, and the repair of its SSA form (GEVO, §3.4).
**
** Whatever is moved, copied or deleted, each operand must be made on every path to where it is
** read. One that is not becomes the value of its type that was made last before the place, of those
** that every path has: upwards in the block, then in the blocks that dominate it, then the
** arguments; where there is none, the number 1.
*/
#include "llvm/edit.h"

#include <stdlib.h>
#include <string.h>

void llvm_edit_open(LlvmEdit *e, const LlvmModule *m, const LlvmFunc *f) {
    const size_t size = (size_t)f->n * sizeof(LlvmValue *);
    *e = (LlvmEdit){.l = m->llvm, .f = f};
    e->builder = e->l->CreateBuilderInContext(m->context);
    e->now = gi_alloc(size);
    e->place = gi_alloc(size);
    memcpy(e->now, f->code, size);
}

void llvm_edit_close(LlvmEdit *e) {
    for (int i = 0; i < e->n_copies; i++) {
        e->l->DeleteInstruction(e->copies[i].like);
        free(e->copies[i].maker);
    }
    e->l->DisposeBuilder(e->builder);
    free(e->copies);
    free(e->now);
    free(e->place);
}

/* --- what is there --- */

static bool comes_before(const Llvm *l, LlvmValue *a, LlvmValue *b) {
    while (a && a != b) a = l->GetNextInstruction(a);
    return a != NULL;
}

bool llvm_is_there(const Llvm *l, const LlvmFunc *f, LlvmValue *value, LlvmValue *place) {
    if (l->IsAInstruction(value) == NULL) return true;
    LlvmBlock *own = l->GetInstructionParent(value), *other = l->GetInstructionParent(place);
    if (own == other) return value != place && comes_before(l, value, place);
    return llvm_block_dominates(f, llvm_block_number(f, own), llvm_block_number(f, other));
}

static LlvmValue *one(const Llvm *l, LlvmType *type) {
    switch (l->GetTypeKind(type)) {
    case LLVM_TYPE_INTEGER: return l->ConstInt(type, 1, 0);
    case LLVM_TYPE_HALF:
    case LLVM_TYPE_FLOAT:
    case LLVM_TYPE_DOUBLE: return l->ConstReal(type, 1);
    default: return l->ConstNull(type);
    }
}

/* The last of the type in a block, from v on upwards. */
static LlvmValue *last_above(const Llvm *l, LlvmValue *v, LlvmType *type, LlvmValue *but) {
    for (; v; v = l->GetPreviousInstruction(v))
        if (v != but && l->TypeOf(v) == type) return v;
    return NULL;
}

/* What stands for a value that is not there, at a place. */
static LlvmValue *stand_in(const LlvmEdit *e, LlvmType *type, LlvmValue *place, LlvmValue *but) {
    const Llvm *l = e->l;
    int block = llvm_block_number(e->f, l->GetInstructionParent(place));
    LlvmValue *found = last_above(l, l->GetPreviousInstruction(place), type, but);
    while (found == NULL && e->f->idom[block] >= 0 && block != 0) {
        block = e->f->idom[block];
        found = last_above(l, l->GetLastInstruction(e->f->blocks[block]), type, but);
    }
    for (unsigned i = l->CountParams(e->f->value); found == NULL && i > 0; i--)
        if (l->TypeOf(l->GetParam(e->f->value, i - 1)) == type)
            found = l->GetParam(e->f->value, i - 1);
    return found ? found : one(l, type);
}

/* Of a phi all operands from one block are one. */
static void set_operand(const Llvm *l, LlvmValue *user, int operand, LlvmValue *value) {
    if (!llvm_is_phi(l, user)) {
        l->SetOperand(user, (unsigned)operand, value);
        return;
    }
    LlvmBlock *from = l->GetIncomingBlock(user, (unsigned)operand);
    for (int k = 0; k < l->GetNumOperands(user); k++)
        if (l->GetIncomingBlock(user, (unsigned)k) == from) l->SetOperand(user, (unsigned)k, value);
}

/* Repairs the operands of an instruction where it stands. */
static void repair(const LlvmEdit *e, LlvmValue *user) {
    const Llvm *l = e->l;
    for (int k = 0; k < l->GetNumOperands(user); k++) {
        LlvmValue *value = l->GetOperand(user, (unsigned)k);
        if (value == NULL || l->IsAInstruction(value) == NULL) continue;
        LlvmValue *place = llvm_use_place(l, user, k);
        if (llvm_is_there(l, e->f, value, place)) continue;
        set_operand(l, user, k, stand_in(e, l->TypeOf(value), place, user));
    }
}

/* Those that read a value, each once; the caller frees. */
static LlvmValue **users_of(const Llvm *l, LlvmValue *value, int *n) {
    LlvmValue **list = NULL;
    int cap = 0;
    *n = 0;
    for (LlvmUse *u = l->GetFirstUse(value); u; u = l->GetNextUse(u)) {
        gi_grow(list, *n, cap);
        list[(*n)++] = l->GetUser(u);
    }
    return list;
}

/* What reads a value where it is not there, once it has moved, reads something else. */
static void repair_users(const LlvmEdit *e, LlvmValue *value) {
    int n;
    LlvmValue **users = users_of(e->l, value, &n);
    for (int i = n - 1; i >= 0; i--) repair(e, users[i]);
    free(users);
}

/* All that reads a value reads something else: it goes. */
static void forget(const LlvmEdit *e, LlvmValue *value) {
    const Llvm *l = e->l;
    int n;
    LlvmValue **users = users_of(l, value, &n);
    for (int i = n - 1; i >= 0; i--)
        for (int k = 0; k < l->GetNumOperands(users[i]); k++)
            if (l->GetOperand(users[i], (unsigned)k) == value)
                set_operand(l, users[i], k,
                            stand_in(e, l->TypeOf(value), llvm_use_place(l, users[i], k), value));
    free(users);
}

/* --- who uses what an instruction makes --- */

static bool use(const LlvmEdit *e, LlvmValue *user, int operand, LlvmValue *value) {
    const Llvm *l = e->l;
    if (user == value || !llvm_is_replaceable(l, user, operand)) return false;
    LlvmValue *was = l->GetOperand(user, (unsigned)operand);
    if (l->TypeOf(was) != l->TypeOf(value)) return false;
    if (!llvm_is_there(l, e->f, value, llvm_use_place(l, user, operand))) return false;
    set_operand(l, user, operand, value);
    return true;
}

static bool use_any(const LlvmEdit *e, LlvmValue *user, LlvmValue *value) {
    for (int k = 0; k < e->l->GetNumOperands(user); k++)
        if (use(e, user, k, value)) return true;
    return false;
}

/* The next instruction that reads such a value uses it: in its block, then in those behind. */
static void connect(const LlvmEdit *e, LlvmValue *value) {
    const Llvm *l = e->l;
    if (llvm_is_void(l, value) || l->GetFirstUse(value)) return;
    for (LlvmValue *v = l->GetNextInstruction(value); v; v = l->GetNextInstruction(v))
        if (use_any(e, v, value)) return;
    const int own = llvm_block_number(e->f, l->GetInstructionParent(value));
    for (int b = own + 1; b < e->f->n_blocks; b++)
        for (LlvmValue *v = l->GetFirstInstruction(e->f->blocks[b]); v;
             v = l->GetNextInstruction(v))
            if (use_any(e, v, value)) return;
}

/* --- places --- */

/* Where an instruction is, or was; behind the phis of its block. */
static LlvmValue *place_of(const LlvmEdit *e, int at) {
    LlvmValue *v = e->now[at] ? e->now[at] : e->place[at];
    while (llvm_is_phi(e->l, v)) v = e->l->GetNextInstruction(v);
    return v;
}

static void insert(const LlvmEdit *e, LlvmValue *v, LlvmValue *before) {
    e->l->PositionBuilderBefore(e->builder, before);
    e->l->SetCurrentDebugLocation2(e->builder, NULL); /* its line is its own */
    e->l->InsertIntoBuilder(e->builder, v);
}

/* What stood where something went stands before what followed that. */
static void leave(const LlvmEdit *e, LlvmValue *v) {
    LlvmValue *next = e->l->GetNextInstruction(v);
    for (int i = 0; i < e->f->n; i++)
        if (e->now[i] == NULL && e->place[i] == v) e->place[i] = next;
}

static void erase(const LlvmEdit *e, int at) {
    LlvmValue *v = e->now[at];
    leave(e, v);
    e->place[at] = e->l->GetNextInstruction(v);
    e->now[at] = NULL;
    e->l->InstructionEraseFromParent(v);
}

/* --- copies --- */

static int number_of(const LlvmEdit *e, LlvmValue *v) {
    for (int i = 0; i < e->f->n; i++)
        if (e->f->code[i] == v) return i;
    return -1;
}

static const LlvmCopy *remembered(const LlvmEdit *e, int from) {
    for (int i = 0; i < e->n_copies; i++)
        if (e->copies[i].from == from) return &e->copies[i];
    return NULL;
}

void llvm_edit_remember(LlvmEdit *e, int from) {
    const Llvm *l = e->l;
    if (remembered(e, from)) return;
    LlvmCopy c = {.like = l->InstructionClone(e->f->code[from]), .from = from};
    c.n = l->GetNumOperands(c.like);
    c.maker = gi_alloc((size_t)c.n * sizeof(int));
    for (int k = 0; k < c.n; k++) {
        LlvmValue *value = l->GetOperand(c.like, (unsigned)k);
        c.maker[k] = l->IsAInstruction(value) ? number_of(e, value) : -1;
        if (c.maker[k] >= 0) l->SetOperand(c.like, (unsigned)k, l->GetUndef(l->TypeOf(value)));
    }
    gi_grow(e->copies, e->n_copies, e->cap_copies);
    e->copies[e->n_copies++] = c;
}

/* A copy before a place, which reads what its operands have become. */
static LlvmValue *insert_copy(const LlvmEdit *e, int from, LlvmValue *before) {
    const Llvm *l = e->l;
    const LlvmCopy *c = remembered(e, from);
    LlvmValue *v = l->InstructionClone(c->like);
    insert(e, v, before);
    for (int k = 0; k < c->n; k++) {
        if (c->maker[k] < 0) continue;
        LlvmValue *value = e->now[c->maker[k]];
        if (value == NULL || !llvm_is_there(l, e->f, value, v))
            value = stand_in(e, l->TypeOf(l->GetOperand(v, (unsigned)k)), v, v);
        l->SetOperand(v, (unsigned)k, value);
    }
    return v;
}

/* --- the genes --- */

void llvm_edit_delete(LlvmEdit *e, int at) {
    if (e->now[at] == NULL) return;
    forget(e, e->now[at]);
    erase(e, at);
}

void llvm_edit_replace(LlvmEdit *e, int at, int from) {
    if (e->now[at] == NULL) return;
    LlvmValue *v = insert_copy(e, from, e->now[at]);
    if (!llvm_is_void(e->l, v)) e->l->ReplaceAllUsesWith(e->now[at], v);
    repair(e, v); /* it may have read what it replaces */
    erase(e, at);
}

void llvm_edit_copy(LlvmEdit *e, int at, int from, int user, int operand) {
    LlvmValue *v = insert_copy(e, from, place_of(e, at));
    if (llvm_is_void(e->l, v)) return;
    if (user >= 0 && e->now[user] && use(e, e->now[user], operand, v)) return;
    connect(e, v);
}

static void put(const LlvmEdit *e, LlvmValue *v, LlvmValue *before) {
    leave(e, v);
    e->l->InstructionRemoveFromParent(v);
    insert(e, v, before);
}

static void repair_moved(const LlvmEdit *e, LlvmValue *v) {
    repair(e, v);
    repair_users(e, v);
    connect(e, v);
}

void llvm_edit_move(LlvmEdit *e, int at, int from) {
    LlvmValue *v = e->now[from], *before = place_of(e, at);
    if (v == NULL || v == before) return;
    put(e, v, before);
    repair_moved(e, v);
}

void llvm_edit_swap(LlvmEdit *e, int at, int other) {
    LlvmValue *a = e->now[at], *b = e->now[other];
    if (a == NULL || b == NULL) return;
    LlvmValue *behind = e->l->GetNextInstruction(b);
    if (behind == a) { /* b a: one move does it */
        put(e, a, b);
    } else {
        put(e, b, a);
        put(e, a, behind);
    }
    repair_moved(e, a);
    repair_moved(e, b);
}

void llvm_edit_operand(LlvmEdit *e, int at, int operand, int from) {
    if (e->now[at] && e->now[from]) use(e, e->now[at], operand, e->now[from]);
}

void llvm_edit_constant(LlvmEdit *e, int at, int operand, const LlvmNumber *number) {
    const Llvm *l = e->l;
    LlvmValue *v = e->now[at];
    if (v == NULL || !llvm_is_replaceable(l, v, operand)) return;
    LlvmValue *value = llvm_number(l, l->TypeOf(l->GetOperand(v, (unsigned)operand)), number);
    if (value) set_operand(l, v, operand, value);
}
