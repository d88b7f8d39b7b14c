/* locals.c - which array in local or shared memory an access is meant for, so that one that runs
** over its end into the next, or before the first, is reported: in memory they lie side by side.
**
** What is known: how large a variable is. Shared arrays are variables each; the launch's own part
** (extern __shared__) has no size, and is cut by programs as they like. But compilers give all
** local arrays of a function to one variable, __local_depotN, and add a constant to its address
** once for each of them, to get where it begins (NVVM of CUDA 12 and 13; a place inside an array is
** computed from that in turn). So a local array ends where the next one begins, and room between
** them counts as its own.
**
** A register stands for an array when all that is ever written to it comes from the address of that
** array and numbers: by mov, cvta, add, sub, or, mad, selp. Not followed: an address that went
** through memory or a call, and one that may be of this array or of that.
*/
#include "emu/decode/decode.h"

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
static int array_at(Decoder *d, Array array) {
    for (int i = 0; i < d->n_arrays; i++) {
        const Array *a = &d->arrays[i];
        if (a->from == array.from && a->is_depot == array.is_depot && a->var == array.var)
            return V_ARRAY + i;
    }
    gi_grow(d->arrays, d->n_arrays, d->cap_arrays);
    d->arrays[d->n_arrays] = array;
    return V_ARRAY + d->n_arrays++;
}

static bool has_arrays(const PtxVar *var) {
    return var->space == PTX_LOCAL || (var->space == PTX_SHARED && var->size > 0);
}

static int symbol_value(Decoder *d, const PtxOperand *op) {
    uint64_t at;
    if (op->var == NULL || (op->var->space != PTX_LOCAL && op->var->space != PTX_SHARED))
        return V_NUMBER;
    if (!has_arrays(op->var) || !variable_address(d, op->var, &at)) return V_MIXED;
    bool depot = strncmp(op->var->name, "__local_depot", 13) == 0;
    if (depot && op->offset) return V_MIXED;
    return array_at(d, (Array){op->var, (uint32_t)at, (uint32_t)(at + op->var->size), depot});
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
    Array all = d->arrays[x - V_ARRAY];
    if (minus || b->kind != PTX_OP_IMM || b->imm >= all.to - all.from) return V_MIXED;
    return array_at(d, (Array){all.var, all.from + (uint32_t)b->imm, all.to, false});
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

static bool sees_arrays(const Decoder *d) {
    for (int i = 0; i < d->func->n_vars; i++)
        if (has_arrays(d->func->vars[i])) return true;
    for (int i = 0; i < d->mod->ptx->n_vars; i++)
        if (has_arrays(d->mod->vars[i].var)) return true;
    return false;
}

/* Each array of a depot ends where the next one begins. */
static void find_ends(Decoder *d) {
    for (int i = 0; i < d->n_arrays; i++) {
        Array *a = &d->arrays[i];
        for (int k = 0; k < d->n_arrays && a->var->space == PTX_LOCAL && !a->is_depot; k++) {
            const Array *b = &d->arrays[k];
            if (b->var->space == PTX_LOCAL && !b->is_depot && b->from > a->from && b->from < a->to)
                a->to = b->from;
        }
    }
}

void locals_find(Decoder *d) {
    const PtxFunc *f = d->func;
    d->array_of = gi_alloc((size_t)(f->n_regs + 1) * sizeof *d->array_of);
    if (!sees_arrays(d)) return;
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
    int v = d->n_arrays > 0 ? value_of(d, base) : V_UNKNOWN;
    if (!is_array(v) || is_depot(d, v)) return;
    if (f->space != d->arrays[v - V_ARRAY].var->space && f->space != PTX_GENERIC) return;
    f->array = (uint32_t)(v - V_ARRAY) + 1;
}
