/* apart.c - which registers may differ between the lanes of a warp, as ptxas can see: those that
** are made of a thread's own index, or of what it loaded by such an address.
** By what instructions read alone: the way by which control came is left aside, so this is for the
** cost model, not a fact. */
#include "emu/decode/decode.h"

#include <stdlib.h>
#include <string.h>

static bool is_apart(const bool *apart, const PtxOperand *op) {
    if (op->kind == PTX_OP_REG && apart[op->reg]) return true;
    if (op->kind == PTX_OP_SREG && (strncmp(op->symbol, "%tid", 4) == 0 ||
                                    strncmp(op->symbol, "%lane", 5) == 0 ||
                                    strncmp(op->symbol, "%clock", 6) == 0))
        return true;
    for (int i = 0; i < op->n_elems; i++)
        if (is_apart(apart, &op->elems[i])) return true;
    return false;
}

static bool set_apart(bool *apart, const PtxOperand *op) {
    bool changed = false;
    if (op->kind == PTX_OP_REG && !apart[op->reg]) changed = apart[op->reg] = true;
    for (int i = 0; i < op->n_elems; i++) changed |= set_apart(apart, &op->elems[i]);
    return changed;
}

static bool pass_on(bool *apart, const PtxInstr *in) {
    bool any = ptx_is(in, "atom call shfl") || (in->guard >= 0 && apart[in->guard]);
    for (int k = 0; k < in->n_args && !any; k++)
        any = (!ptx_is_dest(in, k) || in->args[k].kind == PTX_OP_ADDR) &&
              is_apart(apart, &in->args[k]);
    bool changed = false;
    for (int k = 0; any && k < in->n_args; k++)
        if (ptx_is_dest(in, k) && in->args[k].kind != PTX_OP_ADDR)
            changed |= set_apart(apart, &in->args[k]);
    return changed;
}

bool decode_is_apart(Decoder *d, const PtxOperand *op) {
    if (d->apart == NULL) {
        bool changed = true;
        d->apart = gi_alloc((size_t)(d->func->n_regs + 1) * sizeof *d->apart);
        while (changed) {
            changed = false;
            for (int i = 0; i < d->func->n_code; i++)
                changed |= pass_on(d->apart, &d->func->code[i]);
        }
    }
    return is_apart(d->apart, op);
}
