/* locals.c - which local array an access is meant for, so that one that runs over its end into the
** next is told of: in memory they lie side by side.
**
** What is known: how large a .local variable is. But compilers give all local arrays of a function
** to one variable, __local_depotN, and add a constant to its address once for each of them, to get
** where it begins (NVVM of CUDA 12 and 13; a place inside an array is computed from that in turn).
** So an array ends where the next one begins, and room between them counts as its own.
**
** A register stands for an array when all that is ever written to it comes from the address of that
** array and numbers: by mov, cvta, add, sub, or, mad, selp. Not followed: an address that went
** through memory or a call, and one that may be of this array or of that.
*/
#include "emu/decode.h"

#include <stdlib.h>
#include <string.h>

/* What a register holds: V_ARRAY + n is an address in array n. */
enum { V_UNKNOWN, V_NUMBER, V_MIXED, V_ARRAY };

static bool is_array(int v) {
    return v >= V_ARRAY;
}

static bool is_depot(const Decoder *d, int v) {
    return is_array(v) && d->arrays[v - V_ARRAY].is_depot;
}

/* The array that begins there, a new one if need be. */
static int array_at(Decoder *d, uint32_t from, uint32_t to, bool depot) {
    for (int i = 0; i < d->n_arrays; i++)
        if (d->arrays[i].from == from && d->arrays[i].is_depot == depot) return V_ARRAY + i;
    gi_grow(d->arrays, d->n_arrays, d->cap_arrays);
    d->arrays[d->n_arrays] = (LocalArray){from, to, depot};
    return V_ARRAY + d->n_arrays++;
}

static int symbol_value(Decoder *d, const PtxOperand *op) {
    if (op->var == NULL || op->var->space != PTX_LOCAL) return V_NUMBER;
    uint64_t at;
    if (!variable_address(d, op->var, &at)) return V_MIXED;
    bool depot = strncmp(op->var->name, "__local_depot", 13) == 0;
    if (depot && op->offset) return V_MIXED;
    return array_at(d, (uint32_t)at, (uint32_t)(at + op->var->size), depot);
}

static int value_of(Decoder *d, const PtxOperand *op) {
    if (op->kind == PTX_OP_REG) return d->array_of[op->reg];
    return op->kind == PTX_OP_SYMBOL ? symbol_value(d, op) : V_NUMBER;
}

static int join(int a, int b) {
    if (a == V_UNKNOWN || a == b) return b;
    return b == V_UNKNOWN ? a : V_MIXED;
}

/* a + b, or a - b. */
static int sum(Decoder *d, const PtxOperand *a, const PtxOperand *b, bool minus) {
    int x = value_of(d, a), y = value_of(d, b);
    if (x == V_UNKNOWN || y == V_UNKNOWN) return V_UNKNOWN;
    if (x == V_MIXED || y == V_MIXED || (is_array(y) && (is_array(x) || minus))) return V_MIXED;
    if (is_array(y)) return sum(d, b, a, false);
    if (!is_depot(d, x)) return x;
    const LocalArray *all = &d->arrays[x - V_ARRAY];
    if (minus || b->kind != PTX_OP_IMM || b->imm >= all->to - all->from) return V_MIXED;
    return array_at(d, all->from + (uint32_t)b->imm, all->to, false);
}

static int result_of(Decoder *d, const PtxInstr *in) {
    static const PtxOperand zero = {.kind = PTX_OP_IMM};
    const char *op = in->opcode;
    const PtxOperand *a = in->args + 1;
    if (in->n_args == 2 && (strcmp(op, "mov") == 0 || strcmp(op, "cvta") == 0))
        return value_of(d, a);
    if (in->n_args == 3 && (strcmp(op, "add") == 0 || strcmp(op, "or") == 0))
        return sum(d, a, a + 1, false);
    if (in->n_args == 3 && strcmp(op, "sub") == 0) return sum(d, a, a + 1, true);
    if (in->n_args == 4 && strcmp(op, "selp") == 0) return join(value_of(d, a), value_of(d, a + 1));
    bool is_mad = in->n_args == 4 && strcmp(op, "mad") == 0;
    for (int k = 1; k < in->n_args - is_mad; k++)
        if (in->args[k].kind == PTX_OP_REG && value_of(d, &in->args[k]) >= V_MIXED) return V_MIXED;
    return is_mad ? sum(d, &in->args[3], &zero, false) : V_NUMBER;
}

static bool learn(Decoder *d, const PtxOperand *to, int value) {
    bool changed = false;
    for (int i = 0; i < to->n_elems; i++) changed |= learn(d, &to->elems[i], V_NUMBER);
    if (to->kind != PTX_OP_REG) return changed;
    int *v = &d->array_of[to->reg], old = *v;
    *v = join(old, value);
    return changed || *v != old;
}

static bool has_locals(const PtxFunc *f) {
    for (int i = 0; i < f->n_vars; i++)
        if (f->vars[i]->space == PTX_LOCAL) return true;
    return false;
}

/* Each array of a depot ends where the next one begins. */
static void find_ends(Decoder *d) {
    for (int i = 0; i < d->n_arrays; i++) {
        LocalArray *a = &d->arrays[i];
        for (int k = 0; k < d->n_arrays && !a->is_depot; k++) {
            const LocalArray *b = &d->arrays[k];
            if (!b->is_depot && b->from > a->from && b->from < a->to) a->to = b->from;
        }
    }
}

void locals_find(Decoder *d) {
    const PtxFunc *f = d->func;
    d->array_of = gi_alloc((size_t)(f->n_regs + 1) * sizeof *d->array_of);
    if (!has_locals(f)) return;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < f->n_code; i++) {
            const PtxInstr *in = d->in = &f->code[i];
            if (in->n_args > 0 && ptx_is_dest(in, 0))
                changed |= learn(d, &in->args[0], result_of(d, in));
        }
    }
    d->in = NULL;
    find_ends(d);
}

void locals_of(Decoder *d, const PtxOperand *base, MemForm *f) {
    if (d->n_arrays == 0 || (f->space != PTX_LOCAL && f->space != PTX_GENERIC)) return;
    int v = value_of(d, base);
    if (!is_array(v) || is_depot(d, v)) return;
    f->array_from = d->arrays[v - V_ARRAY].from;
    f->array_to = d->arrays[v - V_ARRAY].to;
}
