/* call.c - calls, of the module's functions and of those that CUDA provides; the stack. */
#include "emu/decode/decode.h"
#include "emu/decode/library.h"
#include "emu/exec/nested.h"

#include <string.h>

/* --- the functions that CUDA provides --- */

#define ROW_OF(name, run, cost, result, ...) {#name, run, COST_##cost, result, {__VA_ARGS__}},
static const Provided provided[] = {BOUND_CALLS(ROW_OF){NULL, NULL, 0, 0, {{0, 0}}}};
#undef ROW_OF

static bool fits(const Provided *p, const CallForm *f) {
    int most = sizeof p->arg / sizeof *p->arg, n = 0;
    while (n < most && p->arg[n].bytes) n++;
    if (f->n_args != n || f->n_rets > 1) return false;
    for (int i = 0; i < n; i++)
        if (f->arg_size[i] != p->arg[i].bytes) return false;
    return f->n_rets == 0 || f->ret_size[0] == p->result;
}

static bool call_provided(Decoder *d, const PtxFunc *callee, CallForm *f) {
    for (const Provided *p = provided; p->name; p++) {
        if (strcmp(p->name, callee->name) != 0 || !fits(p, f)) continue;
        f->of = p;
        emit_slow(d, p->run, 0, 0, 0, 0, (uint64_t)d->code->n_call - 1);
        d->cost[d->index] = p->cost;
        return true;
    }
    return decode_fail(d,
                       "function %s is not in this module, and the virtual GPU does not provide "
                       "it",
                       callee->name);
}

/* --- calls --- */

/* A call's operands are variables that were declared for it, not parameters of the caller: whole,
** so they lie in its area. */
static bool call_params(Decoder *d, const PtxOperand *list, uint32_t *at, uint32_t *size) {
    for (int i = 0; list && i < list->n_elems; i++) {
        const PtxOperand *op = &list->elems[i];
        uint64_t offset;
        if (op->kind != PTX_OP_SYMBOL || op->var == NULL || op->var->space != PTX_PARAM)
            return decode_fail(d, "call operands that are not .param variables are not supported");
        if (!bound_is_call_param(d, op->var))
            return decode_fail(d, "%s is a parameter of the caller", op->symbol);
        if (!variable_address(d, op->var, &offset)) return false;
        at[i] = (uint32_t)offset;
        size[i] = (uint32_t)op->var->size;
    }
    return true;
}

/* Room for what goes in and comes out. */
static void open_form(CallForm *f, const PtxOperand *rets, const PtxOperand *args) {
    f->n_args = args ? args->n_elems : 0;
    f->n_rets = rets ? rets->n_elems : 0;
    f->arg = gi_alloc((2 * (size_t)(f->n_args + f->n_rets) + 1) * sizeof *f->arg);
    f->arg_size = f->arg + f->n_args;
    f->ret = f->arg_size + f->n_args;
    f->ret_size = f->ret + f->n_rets;
}

static bool is_array(const PtxVar *v) {
    return v->size != ptx_type_size(v->type) * (uint64_t)v->vec;
}

/* Are the variables of a call like those that the function or its prototype has? */
static bool same_params(Decoder *d, const char *name, const PtxOperand *list, const PtxVar *formal,
                        int n) {
    if ((list ? list->n_elems : 0) != n)
        return decode_fail(d, "call with other parameters than %s has", name);
    for (int i = 0; i < n; i++) {
        const PtxVar *given = list->elems[i].var;
        if (given->size != formal[i].size || is_array(given) != is_array(&formal[i]))
            return decode_fail(d, "operand %s of the call has another size than %s has it",
                               given->name, name);
    }
    return true;
}

static const PtxProto *prototype(const Decoder *d, const PtxOperand *op) {
    const PtxFunc *f = d->func;
    for (int i = 0; op && op->kind == PTX_OP_SYMBOL && i < f->n_protos; i++)
        if (strcmp(f->protos[i].name, op->symbol) == 0) return &f->protos[i];
    return NULL;
}

/* The callee of an indirect call is known when it runs: indirect_callee compares again. */
static bool same_as_declared(Decoder *d, const PtxFunc *callee, const PtxOperand *rets,
                             const PtxOperand *args, const PtxOperand *last) {
    if (callee)
        return last ? decode_fail(d, "the call has an operand too many")
                    : same_params(d, callee->name, rets, callee->rets, callee->n_rets) &&
                          same_params(d, callee->name, args, callee->params, callee->n_params);
    const PtxProto *p = prototype(d, last);
    if (p == NULL) return decode_fail(d, "an indirect call needs a .callprototype");
    return same_params(d, p->name, rets, p->rets, p->n_rets) &&
           same_params(d, p->name, args, p->params, p->n_params);
}

bool decode_call(Decoder *d) {
    const PtxInstr *in = d->in;
    forget_bases(d); /* the function has its own */
    if (!decode_only_mods(d, "uni")) return false;
    int k = 0;
    const PtxOperand *rets = NULL, *args = NULL, *target;
    if (k < in->n_args && in->args[k].kind == PTX_OP_LIST) rets = &in->args[k++];
    if (k >= in->n_args) return decode_fail(d, "a call without a function");
    target = &in->args[k++];
    if (k < in->n_args && in->args[k].kind == PTX_OP_LIST) args = &in->args[k++];
    CallForm f = {.func = -1};
    if (target->kind == PTX_OP_REG) {
        if (!source(d, target, 'q', 0, &f.target)) return false;
    } else if (target->kind == PTX_OP_SYMBOL && target->func >= 0) {
        f.func = target->func;
    } else {
        return decode_fail(d, "a call of something that is no function");
    }
    const PtxFunc *callee = f.func >= 0 ? &d->mod->ptx->funcs[f.func] : NULL;
    if (callee && callee->is_entry) return decode_fail(d, "a call of a kernel");
    open_form(&f, rets, args);
    gi_grow(d->code->call, d->code->n_call, d->code->cap_call);
    d->code->call[d->code->n_call++] = f;
    if (!call_params(d, rets, f.ret, f.ret_size) || !call_params(d, args, f.arg, f.arg_size))
        return false;
    const PtxOperand *last = k < in->n_args ? &in->args[k] : NULL;
    if (k + 1 < in->n_args) return decode_fail(d, "the call has operands too many");
    if (!same_as_declared(d, callee, rets, args, last)) return false;
    if (callee && !callee->has_body)
        return call_provided(d, callee, &d->code->call[d->code->n_call - 1]);
    emit(d, OP_CALL, 0, 0, 0, 0, 0)->imm = (uint64_t)d->code->n_call - 1;
    if (f.func < 0) emit(d, OP_JOIN, 0, 0, 0, 0, 0); /* lanes with different callees meet here */
    return true;
}

/* --- the stack --- */

/* alloca: all lanes get the room that the one with the largest wish needs. imm: the alignment. */
static bool do_alloca(Machine *m, Warp *w, const Ins *in) {
    const U64 *size = (const U64 *)(const void *)row_at(w, in->a);
    U64 *to = (U64 *)(void *)row_at(w, in->d);
    uint64_t most = 0, base;
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (size[i] > most) most = size[i];
    }
    if (!warp_alloca(m, w, in, most, (uint32_t)in->imm, &base)) return false;
    for (uint32_t left = w->active; left; left &= left - 1) to[__builtin_ctz(left)] = base;
    return true;
}

bool decode_alloca(Decoder *d) {
    const PtxInstr *in = d->in;
    uint64_t align = 8;
    uint32_t to, size;
    if (in->n_mods != 1 || !mod_is(d, 0, "u64") || in->n_args < 2 || in->n_args > 3)
        return decode_unknown(d);
    if (in->n_args == 3 && !immediate(d, &in->args[2], 'w', &align)) return false;
    if (align == 0 || align > 512 || (align & (align - 1)))
        return decode_fail(d, "an alignment is a power of two, at most 512");
    if (!source(d, &in->args[1], 'q', 0, &size) || !dest(d, &in->args[0], 'q', &to)) return false;
    emit_slow(d, do_alloca, to, size, 0, 0, align);
    return true;
}

static bool do_stacksave(Machine *m, Warp *w, const Ins *in) {
    U64 *to = (U64 *)(void *)row_at(w, in->d);
    (void)m;
    for (uint32_t left = w->active; left; left &= left - 1) to[__builtin_ctz(left)] = w->local_top;
    return true;
}

bool decode_stacksave(Decoder *d) {
    uint32_t to;
    if (d->in->n_mods != 1 || !mod_is(d, 0, "u64") || d->in->n_args != 1) return decode_unknown(d);
    if (!dest(d, &d->in->args[0], 'q', &to)) return false;
    emit_slow(d, do_stacksave, to, 0, 0, 0, 0);
    return true;
}

static bool do_stackrestore(Machine *m, Warp *w, const Ins *in) {
    const U64 *from = (const U64 *)(const void *)row_at(w, in->a);
    uint64_t most = 0;
    (void)m;
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (from[i] > most) most = from[i];
    }
    warp_stackrestore(w, most);
    return true;
}

bool decode_stackrestore(Decoder *d) {
    uint32_t at;
    if (d->in->n_mods != 1 || !mod_is(d, 0, "u64") || d->in->n_args != 1) return decode_unknown(d);
    if (d->in->args[0].kind != PTX_OP_REG) return decode_fail(d, "a register is expected");
    if (!source(d, &d->in->args[0], 'q', 0, &at)) return false;
    emit_slow(d, do_stackrestore, 0, at, 0, 0, 0);
    return true;
}
