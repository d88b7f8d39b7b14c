/* bounds.c - looks an access up in the table of bounds.h, as ptxas would: the variable that an
** address names lies in the instruction's space, and what is a register is a whole number. */
#include "emu/decode/decode.h"

/* Columns of the table. */
typedef enum Place {
    IN_GENERIC,
    IN_GLOBAL,
    IN_CONST,
    IN_SHARED,
    IN_LOCAL,
    IN_KERNEL_PARAM,
    IN_INPUT,
    IN_RESULT,
    IN_CALL,
    PLACES
} Place;

enum { BY_NAME, BY_REGISTER, BY_NUMBER, WAYS };

#define ROW_OF(name, generic, global, constant, shared, local, kernel, input, result, call)        \
    [USE_##name] = {[IN_GENERIC] = generic,                                                        \
                    [IN_GLOBAL] = global,                                                          \
                    [IN_CONST] = constant,                                                         \
                    [IN_SHARED] = shared,                                                          \
                    [IN_LOCAL] = local,                                                            \
                    [IN_KERNEL_PARAM] = kernel,                                                    \
                    [IN_INPUT] = input,                                                            \
                    [IN_RESULT] = result,                                                          \
                    [IN_CALL] = call},
static const uint8_t bounds[USE_COUNT][PLACES][WAYS] = {BOUND_USES(ROW_OF)};
#undef ROW_OF

static bool is_among(const PtxVar *var, const PtxVar *list, int n) {
    for (int i = 0; i < n; i++)
        if (&list[i] == var) return true;
    return false;
}

/* Returns where a parameter belongs that this function sees. */
static Place param_place(const PtxFunc *f, const PtxVar *var) {
    if (is_among(var, f->params, f->n_params)) return f->is_entry ? IN_KERNEL_PARAM : IN_INPUT;
    return is_among(var, f->rets, f->n_rets) ? IN_RESULT : IN_CALL;
}

bool bound_is_call_param(const Decoder *d, const PtxVar *var) {
    return var->space == PTX_PARAM && param_place(d->func, var) == IN_CALL;
}

static Place place_of(const PtxFunc *f, PtxSpace space, const PtxVar *named) {
    switch (space) {
    case PTX_GLOBAL: return IN_GLOBAL;
    case PTX_CONST: return IN_CONST;
    case PTX_SHARED: return IN_SHARED;
    case PTX_LOCAL: return IN_LOCAL;
    case PTX_PARAM:
        if (named) return param_place(f, named);
        return f->is_entry ? IN_KERNEL_PARAM : IN_INPUT;
    default: return IN_GENERIC;
    }
}

/* An address in a register is a whole number of 32 or 64 bits; only spaces of less than 4 GB are
** reached by 32. */
static bool address_register(Decoder *d, const PtxOperand *base, PtxSpace space) {
    PtxType type = d->func->regs[base->reg].type;
    size_t size = ptx_type_size(type);
    bool fits = type >= PTX_B8 && type <= PTX_S64 && (size == 4 || size == 8);
    if (!fits || base->negated || base->select)
        return decode_fail(d, "an address is in a register of 32 or 64 bits, not of a float");
    if (size == 4 && (space == PTX_GLOBAL || space == PTX_GENERIC || space == PTX_CONST))
        return decode_fail(d, "global addresses have 64 bits");
    return true;
}

static bool named_space(Decoder *d, const PtxOperand *base, PtxSpace space) {
    const PtxVar *var = base->var;
    if (var == NULL) return decode_fail(d, "%s is no variable", base->symbol);
    bool windows = space == PTX_GENERIC && (var->space == PTX_SHARED || var->space == PTX_LOCAL);
    if (windows) return decode_fail(d, "a generic access needs a generic address (cvta)");
    if (var->space != (space == PTX_GENERIC ? PTX_GLOBAL : space))
        return decode_fail(d, "%s lies in another state space than the instruction's", var->name);
    return true;
}

bool bound_of(Decoder *d, Use use, PtxSpace space, const PtxOperand *at, Bound *out) {
    const PtxOperand *base = at->n_elems == 1 ? &at->elems[0] : NULL;
    int way = BY_NUMBER;
    if (at->kind != PTX_OP_ADDR || base == NULL || at->select)
        return decode_fail(d, "an address is expected");
    if (base->kind == PTX_OP_SYMBOL) {
        if (!named_space(d, base, space)) return false;
        way = BY_NAME;
    } else if (base->kind == PTX_OP_REG) {
        if (!address_register(d, base, space)) return false;
        way = BY_REGISTER;
    } else if (base->kind != PTX_OP_IMM || base->imm_kind != PTX_IMM_INT) {
        return decode_fail(d, "an address is a variable, a register or a number");
    }
    *out = (Bound)bounds[use][place_of(d->func, space, way == BY_NAME ? base->var : NULL)][way];
    if (*out) return true;
    if (way == BY_NUMBER) return decode_fail(d, "a number is an address in local memory alone");
    if (space == PTX_PARAM && way == BY_REGISTER)
        return decode_fail(d, "a computed address of a function's parameter is not supported");
    return decode_fail(d, "the instruction has no access to %s",
                       way == BY_NAME ? base->symbol : "this state space");
}

/* The variable at `offset` of its area has bytes [inside, inside + bytes). */
bool bound_place(Decoder *d, const PtxVar *var, int64_t inside, unsigned bytes) {
    if (inside >= 0 && var->size >= bytes && (uint64_t)inside <= var->size - bytes) return true;
    return decode_fail(d, "an access outside parameter %s", var->name);
}
