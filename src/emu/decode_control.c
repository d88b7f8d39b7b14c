/* decode_control.c - branches, calls, barriers, moves and address conversions. */
#include "emu/decode.h"
#include "emu/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool only_mods(Decoder *d, const char *allowed) {
    for (int i = 0; i < d->in->n_mods; i++)
        if (!mod_is(d, i, allowed)) return decode_unknown(d);
    return true;
}

/* --- branches --- */

static bool decode_bra(Decoder *d) {
    const PtxInstr *in = d->in;
    if (!only_mods(d, "uni")) return false;
    if (in->target < 0) return decode_fail(d, "the branch has no target");
    if (in->guard < 0) {
        emit(d, OP_BRA, 0, 0, 0, 0, 0);
        fix_branch(d, in->target, -1);
        return true;
    }
    PtxOperand guard = {.kind = PTX_OP_REG, .reg = in->guard, .func = -1};
    uint32_t p;
    int bits;
    if (!any_register(d, &guard, &p, &bits)) return false;
    emit(d, OP_BRA_IF, in->guard_negated, 0, p, 0, 0);
    fix_branch(d, in->target, ptx_reconvergence(d->func, d->cfg, d->index));
    return true;
}

static bool decode_brx(Decoder *d) {
    const PtxInstr *in = d->in;
    uint32_t index;
    if (in->n_mods < 1 || !mod_is(d, 0, "idx")) return decode_unknown(d);
    if (in->n_targets < 1 || in->n_args < 1) return decode_fail(d, "brx.idx without targets");
    if (!source(d, &in->args[0], 'w', 0, &index)) return false;
    int first = d->code->n_jump;
    for (int i = 0; i < in->n_targets; i++) {
        gi_grow(d->code->jump, d->code->n_jump, d->code->cap_jump);
        d->code->jump[d->code->n_jump++] = in->targets[i];
    }
    emit(d, OP_SWITCH, 0, 0, index, 0, 0)->imm =
        (uint64_t)(uint32_t)in->n_targets << 32 | (uint32_t)first;
    fix_branch(d, -1, ptx_reconvergence(d->func, d->cfg, d->index));
    return true;
}

static bool decode_ret(Decoder *d) {
    if (!only_mods(d, "uni")) return false;
    emit(d, OP_RET, 0, 0, 0, 0, 0);
    return true;
}

static bool decode_exit(Decoder *d) {
    if (d->in->n_mods) return decode_unknown(d);
    emit(d, OP_EXIT, 0, 0, 0, 0, 0);
    return true;
}

static bool do_trap(Machine *m, Warp *w, const Ins *in) {
    return fault_raise(m, w, in, __builtin_ctz(w->active), EMU_LAUNCH_ERROR,
                       in->imm ? "trap instruction" : "breakpoint instruction");
}

static bool decode_trap(Decoder *d) {
    if (d->in->n_mods) return decode_unknown(d);
    emit_slow(d, do_trap, 0, 0, 0, 0, d->in->opcode[0] == 't');
    return true;
}

/* --- calls --- */

static const PtxVar *param_of(Decoder *d, const PtxOperand *op) {
    if (op->kind == PTX_OP_SYMBOL && op->var && op->var->space == PTX_PARAM) return op->var;
    decode_fail(d, "call operands that are not .param variables are not supported");
    return NULL;
}

static bool call_params(Decoder *d, const PtxOperand *list, uint32_t *at, uint32_t *size, int cap,
                        int *n) {
    *n = 0;
    for (int i = 0; list && i < list->n_elems; i++) {
        const PtxVar *v = param_of(d, &list->elems[i]);
        uint64_t offset;
        if (v == NULL || !variable_address(d, v, &offset)) return false;
        if (*n >= cap) return decode_fail(d, "more than %d parameters", cap);
        at[*n] = (uint32_t)offset;
        size[(*n)++] = (uint32_t)v->size;
    }
    return true;
}

enum { MOST_TEXT = 1 << 16 }; /* bytes that are looked through for the end of a text */

/* The text at a device address, for formats; NULL when it is not readable up to its NUL. */
static const char *device_string(void *user, uint64_t address) {
    const Machine *m = user;
    const Alloc *a = alloc_of(m->emu, address);
    uint64_t offset = address & OFFSET_MASK;
    if (a == NULL || offset >= a->size) return NULL;
    const uint64_t left = a->size - offset;
    if (memchr(a->data + offset, 0, left < MOST_TEXT ? left : MOST_TEXT) == NULL) return NULL;
    return (const char *)(a->data + offset);
}

/* printf's argument buffer of one lane: local memory from `address` to the end of its frame. */
static size_t print_args(Machine *m, Warp *w, int lane, uint64_t address, uint8_t *out,
                         size_t cap) {
    if (address == 0) return 0;
    if (address >> ID_SHIFT != ID_LOCAL) return 0;
    uint64_t offset = address & OFFSET_MASK;
    size_t n = 0;
    (void)m;
    for (; n < cap && offset + n < w->local_top; n++)
        out[n] = w->s.local[(offset + n) / 4 * ROW32 + (uint64_t)lane * 4 + (offset + n) % 4];
    return n;
}

/* One lane's printf; *count is what it returns. */
static bool print_lane(Machine *m, Warp *w, const Ins *in, int lane, uint64_t format,
                       uint64_t args, int32_t *count) {
    const char *text = device_string(m, format);
    if (text == NULL)
        return fault_raise(m, w, in, lane, EMU_ILLEGAL_ADDRESS,
                           "printf with a format at 0x%llx that is not readable",
                           (unsigned long long)format);
    uint8_t bytes[1024];
    size_t n = print_args(m, w, lane, args, bytes, sizeof bytes);
    gi_buf_clear(&m->text);
    *count = format_print(m->launch->print ? &m->text : NULL, text, bytes, n, device_string, m);
    if (m->text.len)
        m->launch->print(m->launch->print_user, m->text.data, m->text.len);
    return true;
}

/* Where nobody reads what is printed, lanes with one format have one result: a kernel that prints
** without end is not slower for it than its budget foresees. */
static bool do_print(Machine *m, Warp *w, const Ins *in) {
    const CallForm *f = &w->code->call[in->imm];
    Frame *frame = &w->s.frame[w->frame];
    uint64_t last = 0;
    int32_t count = 0;
    for (uint32_t left = w->active; left; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint8_t *params = frame->params + (size_t)lane * frame->code->param_bytes;
        uint64_t format, args;
        memcpy(&format, params + f->arg[0], 8);
        memcpy(&args, params + f->arg[1], 8);
        bool known = m->launch->print == NULL && format == last;
        if (!known && !print_lane(m, w, in, lane, format, args, &count)) return false;
        last = format;
        if (f->n_rets) memcpy(params + f->ret[0], &count, 4);
    }
    return true;
}

/* __assertfail(message, file, line, function, char size) */
static bool do_assert(Machine *m, Warp *w, const Ins *in) {
    const CallForm *f = &w->code->call[in->imm];
    Frame *frame = &w->s.frame[w->frame];
    int lane = __builtin_ctz(w->active);
    const uint8_t *params = frame->params + (size_t)lane * frame->code->param_bytes;
    uint64_t message, file, function;
    uint32_t line;
    memcpy(&message, params + f->arg[0], 8);
    memcpy(&file, params + f->arg[1], 8);
    memcpy(&line, params + f->arg[2], 4);
    memcpy(&function, params + f->arg[3], 8);
    const char *what = device_string(m, message), *where = device_string(m, file),
               *who = device_string(m, function);
    return fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR, "assertion failed: %s (%s:%u, %s)",
                       what ? what : "?", where ? where : "?", line, who ? who : "?");
}

static bool decode_extern(Decoder *d, const PtxFunc *callee, CallForm *f) {
    bool print = strcmp(callee->name, "vprintf") == 0 && f->n_args == 2;
    bool assertion = strcmp(callee->name, "__assertfail") == 0 && f->n_args == 5;
    if (print && f->arg_size[0] == 8 && f->arg_size[1] == 8) {
        emit_slow(d, do_print, 0, 0, 0, 0, (uint64_t)d->code->n_call - 1);
        d->cost[d->index] = COST_PRINT;
        return true;
    }
    if (assertion && f->arg_size[0] == 8 && f->arg_size[1] == 8 && f->arg_size[2] == 4 &&
        f->arg_size[3] == 8) {
        emit_slow(d, do_assert, 0, 0, 0, 0, (uint64_t)d->code->n_call - 1);
        return true;
    }
    return decode_fail(d,
                       "function %s is not in this module, and the virtual GPU does not provide "
                       "it",
                       callee->name);
}

static bool decode_call(Decoder *d) {
    const PtxInstr *in = d->in;
    d->shared_base = -1; /* the function has its own */
    if (!only_mods(d, "uni")) return false;
    int k = 0;
    const PtxOperand *rets = NULL, *args = NULL, *target;
    if (k < in->n_args && in->args[k].kind == PTX_OP_LIST) rets = &in->args[k++];
    if (k >= in->n_args) return decode_fail(d, "a call without a function");
    target = &in->args[k++];
    if (k < in->n_args && in->args[k].kind == PTX_OP_LIST) args = &in->args[k];
    CallForm f = {.func = -1};
    if (!call_params(d, rets, f.ret, f.ret_size, 4, &f.n_rets)) return false;
    if (!call_params(d, args, f.arg, f.arg_size, 32, &f.n_args)) return false;
    if (target->kind == PTX_OP_REG) {
        if (!source(d, target, 'q', 0, &f.target)) return false;
    } else if (target->kind == PTX_OP_SYMBOL && target->func >= 0) {
        f.func = target->func;
    } else {
        return decode_fail(d, "a call of something that is no function");
    }
    gi_grow(d->code->call, d->code->n_call, d->code->cap_call);
    d->code->call[d->code->n_call++] = f;
    if (f.func >= 0) {
        const PtxFunc *callee = &d->mod->ptx->funcs[f.func];
        if (!callee->has_body) return decode_extern(d, callee, &f);
        const Code *code = &d->mod->code[f.func];
        if (callee->n_params != f.n_args || callee->n_rets != f.n_rets)
            return decode_fail(d, "call with other parameters than %s has", callee->name);
        for (int i = 0; i < f.n_args; i++)
            if (code->formal_size[i] != f.arg_size[i])
                return decode_fail(d, "parameter %d of %s has another size", i, callee->name);
        for (int i = 0; i < f.n_rets; i++)
            if (code->result_size[i] != f.ret_size[i])
                return decode_fail(d, "the result of %s has another size", callee->name);
    }
    emit(d, OP_CALL, 0, 0, 0, 0, 0)->imm = (uint64_t)d->code->n_call - 1;
    if (f.func < 0) emit(d, OP_JOIN, 0, 0, 0, 0, 0); /* lanes with different callees meet here */
    return true;
}

/* --- barriers and what orders memory --- */

static bool decode_barrier(Decoder *d) {
    const PtxInstr *in = d->in;
    int kind = BAR_SYNC, k = 0;
    if (has_mod(d, "warp") || has_mod(d, "cluster")) return decode_unknown(d);
    if (!only_mods(d, "cta sync aligned arrive red popc and or u32 pred")) return false;
    if (has_mod(d, "arrive")) kind = BAR_ARRIVE;
    if (has_mod(d, "red"))
        kind = has_mod(d, "popc") ? BAR_RED_POPC : has_mod(d, "and") ? BAR_RED_AND : BAR_RED_OR;
    uint32_t result = 0, id, count = 0, p = 0, x = (uint32_t)kind;
    if (kind >= BAR_RED_POPC &&
        (in->n_args < 3 || !dest(d, &in->args[k++], kind == BAR_RED_POPC ? 'w' : 'p', &result)))
        return in->n_args < 3 ? decode_unknown(d) : false;
    if (k >= in->n_args || !source(d, &in->args[k++], 'w', 0, &id)) return false;
    int last = in->n_args - (kind >= BAR_RED_POPC);
    count = id;
    if (k < last) {
        if (!source(d, &in->args[k++], 'w', 1, &count)) return false;
        x |= BAR_COUNTED;
    }
    if (kind >= BAR_RED_POPC) {
        if (!source(d, &in->args[k++], 'p', 0, &p)) return false;
    }
    if (k != in->n_args || (kind == BAR_ARRIVE && !(x & BAR_COUNTED))) return decode_unknown(d);
    if (in->opcode[3] == 0 || has_mod(d, "aligned")) x |= BAR_ALIGNED; /* bar is barrier.aligned */
    emit(d, OP_BARRIER, x, result, id, count, p);
    d->shared_base = -1; /* another path may run before this one goes on */
    return true;
}

static bool decode_bar(Decoder *d) {
    return has_mod(d, "warp") ? decode_warp_barrier(d) : decode_barrier(d);
}

/* Memory is one and lanes go in order: a fence has something to do for the check of races alone.
** But who spins on a plain load has one between its looks. */
static bool do_fence(Machine *m, Warp *w, const Ins *in) {
    w->asked = true;
    if (m->shadow) shadow_fence(m, w, in->imm);
    return true;
}

static bool decode_fence(Decoder *d) {
    if (!only_mods(d, "cta gl sys gpu sc acq_rel acquire release cluster")) return false;
    emit_slow(d, do_fence, 0, 0, 0, 0, !has_mod(d, "cta"));
    return true;
}

static bool decode_nothing(Decoder *d) {
    (void)d;
    return true;
}

static bool decode_sleep(Decoder *d) {
    emit(d, OP_ASK, 0, 0, 0, 0, 0);
    return only_mods(d, "u32");
}

static bool decode_prefetch(Decoder *d) {
    return only_mods(d, "global local L1 L2 L2::evict_last L2::evict_normal");
}

/* --- moves --- */

static bool do_clock(Machine *m, Warp *w, const Ins *in) {
    double clock = warp_clock(w, in);
    if (clock < 0) clock = 0;
    uint64_t value = (uint64_t)clock;
    double ghz = m->model->clock_ghz > 0 ? m->model->clock_ghz : 1;
    if (in->imm & 2) value = (uint64_t)((m->cost.sum_latency + clock) / ghz); /* globaltimer */
    if (in->imm & 4) value >>= 32;
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (in->imm & 1) ((U64 *)(void *)row_at(w, in->d))[i] = value;
        else ((U32 *)(void *)row_at(w, in->d))[i] = (uint32_t)value;
    }
    return true;
}

/* Clocks change while a kernel runs; 1: 64-bit, 2: nanoseconds, 4: the upper half. */
static int clock_kind(const char *name) {
    static const struct {
        const char *name;
        int kind;
    } clocks[] = {{"%clock", 0},       {"%clock64", 1},        {"%clock_hi", 4},
                  {"%globaltimer", 3}, {"%globaltimer_lo", 2}, {"%globaltimer_hi", 6}};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
        if (strcmp(clocks[i].name, name) == 0) return clocks[i].kind;
    return -1;
}

static bool move_special(Decoder *d, bool wide) {
    const PtxOperand *from = &d->in->args[1];
    int kind = clock_kind(from->symbol);
    uint32_t to, at;
    if (kind >= 0) {
        if ((kind & 1) != wide) return decode_fail(d, "%s has another width", from->symbol);
        if (!dest(d, &d->in->args[0], wide ? 'q' : 'w', &to)) return false;
        emit_slow(d, do_clock, to, 0, 0, 0, (uint64_t)kind);
        d->cost[d->index] = COST_ALU;
        return true;
    }
    if (strcmp(from->symbol, "%gridid") == 0 && wide) {
        if (!dest(d, &d->in->args[0], 'q', &to)) return false;
        move_row(d, &d->in->args[0], true, to, pool_row(d, POOL_B64, 0));
        return true;
    }
    if (wide) return decode_fail(d, "%s has 32 bits", from->symbol);
    if (!source(d, from, 'w', 0, &at) || !dest(d, &d->in->args[0], 'w', &to)) return false;
    move_row(d, &d->in->args[0], false, to, at);
    return true;
}

static bool move_symbol(Decoder *d, bool wide) {
    const PtxOperand *from = &d->in->args[1];
    uint32_t to, at;
    bool wide_row;
    if (!symbol_row(d, from, from->offset, &at, &wide_row)) return false;
    if (!dest(d, &d->in->args[0], wide ? 'q' : 'w', &to)) return false;
    if (wide && !wide_row) at = pool_row(d, POOL_SHARED_WIDE, (uint64_t)from->offset);
    if (wide || !wide_row) move_row(d, &d->in->args[0], wide, to, at);
    else emit(d, OP_NARROW, 0, to, at, at, at);
    return true;
}

/* {a, b, …} = x: parts of 8, 16 or 32 bits, through shifts. */
static bool unpack(Decoder *d, int bits) {
    const PtxOperand *parts = &d->in->args[0];
    int n = parts->n_elems, part = bits / (n > 0 ? n : 1);
    uint32_t from, to;
    if (n < 2 || n > 4 || (part != 8 && part != 16 && part != 32)) return decode_unknown(d);
    if (!source(d, &d->in->args[1], bits == 64 ? 'q' : bits == 16 ? 'h' : 'w', 0, &from))
        return false;
    uint32_t copy = bits == 64 ? d->tmp64[0] : d->tmp32[0]; /* a part may share the source's row */
    emit(d, bits == 64 ? OP_MOV64 : OP_MOV32, 0, copy, from, from, from);
    for (int k = 0; k < n; k++) {
        if (parts->elems[k].kind == PTX_OP_SINK) continue;
        int width;
        if (!any_register(d, &parts->elems[k], &to, &width)) return false;
        if (width != part && !(part == 8 && width == 16))
            return decode_fail(d, "a part of another width");
        uint32_t shift = pool_row(d, POOL_B32, (uint64_t)(k * part));
        if (bits == 64) {
            emit(d, OP_SHR64_U, 0, d->tmp64[1], copy, shift, 0);
            emit(d, OP_NARROW, 0, to, d->tmp64[1], d->tmp64[1], 0);
        } else {
            emit(d, OP_SHR32_U, 0, to, copy, shift, 0);
        }
        if (part < 32) emit(d, OP_EXT32_U, (uint32_t)(32 - part), to, to, to, 0);
    }
    return true;
}

static bool pack(Decoder *d, int bits) {
    const PtxOperand *parts = &d->in->args[1];
    int n = parts->n_elems, part = bits / (n > 0 ? n : 1);
    uint32_t to, at[4];
    if (n < 2 || n > 4 || (part != 8 && part != 16 && part != 32)) return decode_unknown(d);
    for (int k = 0; k < n; k++)
        if (!source(d, &parts->elems[k], part == 32 ? 'w' : 'h', k, &at[k])) return false;
    if (!dest(d, &d->in->args[0], bits == 64 ? 'q' : bits == 16 ? 'h' : 'w', &to)) return false;
    int per_word = n / (bits == 64 ? 2 : 1);
    for (int word = 0; word < n / per_word; word++) {
        uint32_t sum = d->tmp32[word];
        uint32_t first = at[word * per_word];
        emit(d, part == 8 ? OP_EXT32_U : OP_MOV32, 24, sum, first, first, first);
        for (int k = 1; k < per_word; k++) {
            uint32_t next = at[word * per_word + k], high = d->tmp32[3];
            if (part == 8) emit(d, OP_EXT32_U, 24, high, next, next, 0), next = high;
            emit(d, OP_SHL32, 0, high, next, pool_row(d, POOL_B32, (uint64_t)(k * part)), 0);
            emit(d, OP_OR32, 0, sum, sum, high, 0);
        }
    }
    if (bits == 64) emit(d, OP_PACK, 0, to, d->tmp32[0], d->tmp32[1], 0);
    else emit(d, OP_MOV32, 0, to, d->tmp32[0], 0, 0);
    return true;
}

static bool decode_mov(Decoder *d) {
    PtxType type;
    if (d->in->n_mods != 1 || d->in->n_args != 2 || !ptx_type_parse(d->in->mods[0], &type))
        return decode_unknown(d);
    const PtxOperand *from = &d->in->args[1];
    uint32_t to, at;
    if (type == PTX_PRED) {
        if (!source(d, from, 'p', 0, &at) || !dest(d, &d->in->args[0], 'p', &to)) return false;
        emit(d, OP_MOV_P, 0, to, at, at, 0);
        return true;
    }
    size_t size = ptx_type_size(type);
    if (size < 2 || size > 8) return decode_unknown(d);
    bool wide = size == 8;
    if (d->in->args[0].kind == PTX_OP_VECTOR) return unpack(d, (int)size * 8);
    if (from->kind == PTX_OP_VECTOR) return pack(d, (int)size * 8);
    if (from->kind == PTX_OP_SREG) return move_special(d, wide);
    if (from->kind == PTX_OP_SYMBOL) return move_symbol(d, wide);
    char letter = wide              ? type == PTX_F64 ? 'd' : 'q'
                  : size == 2       ? 'h'
                  : type == PTX_F32 ? 'f'
                                    : 'w';
    if (!source(d, from, letter, 0, &at) || !dest(d, &d->in->args[0], letter, &to)) return false;
    move_row(d, &d->in->args[0], wide, to, at);
    return true;
}

/* --- address spaces --- */

static uint64_t window_of(const char *space) {
    if (strcmp(space, "shared") == 0 || strcmp(space, "shared::cta") == 0) return WINDOW(ID_SHARED);
    if (strcmp(space, "local") == 0) return WINDOW(ID_LOCAL);
    if (strcmp(space, "param") == 0 || strcmp(space, "param::entry") == 0) return WINDOW(ID_PARAM);
    if (strcmp(space, "global") == 0 || strcmp(space, "const") == 0) return 0;
    return UINT64_MAX;
}

/* Global and constant addresses are generic as they are; the other spaces are windows. */
static bool decode_cvta(Decoder *d) {
    bool to_space = mod_is(d, 0, "to");
    uint64_t window = window_of(mod_at(d, to_space));
    uint32_t to, at;
    bool wide;
    if (d->in->n_mods != 2 + to_space || !mod_is(d, LAST, "u64") || window == UINT64_MAX ||
        d->in->n_args != 2)
        return decode_unknown(d);
    const PtxOperand *from = &d->in->args[1];
    if (from->kind == PTX_OP_SYMBOL) {
        if (!symbol_row(d, from, from->offset, &at, &wide)) return false;
        if (!wide) emit(d, OP_WIDEN_U, 0, d->tmp64[2], at, at, 0), at = d->tmp64[2];
    } else if (!source(d, from, 'q', 0, &at)) {
        return false;
    }
    if (!dest(d, &d->in->args[0], 'q', &to)) return false;
    if (window == 0) move_row(d, &d->in->args[0], true, to, at);
    else emit(d, to_space ? OP_SUB64 : OP_ADD64, 0, to, at, pool_row(d, POOL_B64, window), 0);
    return true;
}

static bool do_isspacep(Machine *m, Warp *w, const Ins *in) {
    const U64 *a = (const U64 *)(const void *)row_at(w, in->a);
    uint32_t mask = 0;
    for (int i = 0; i < LANES; i++) {
        const Alloc *alloc = alloc_of(m->emu, a[i]);
        bool is = in->imm == 0   ? a[i] >> ID_SHIFT < ID_SHARED && !(alloc && alloc->is_const)
                  : in->imm == 1 ? alloc && alloc->is_const
                                 : a[i] >> ID_SHIFT == in->imm;
        mask |= (uint32_t)is << i;
    }
    pred_set(w, in->d, mask, w->active);
    return true;
}

static bool decode_isspacep(Decoder *d) {
    uint32_t to, at;
    uint64_t window = window_of(mod_at(d, 0));
    if (d->in->n_mods != 1 || d->in->n_args != 2 || window == UINT64_MAX) return decode_unknown(d);
    uint64_t kind = window ? window >> ID_SHIFT : mod_is(d, 0, "const");
    if (!source(d, &d->in->args[1], 'q', 0, &at) || !dest(d, &d->in->args[0], 'p', &to))
        return false;
    emit_slow(d, do_isspacep, to, at, 0, 0, kind);
    return true;
}

const Form forms_control[] = {CUSTOM("mov", decode_mov, FREE),
                              CUSTOM("bra", decode_bra, BRANCH),
                              CUSTOM("brx", decode_brx, BRANCH),
                              CUSTOM("ret", decode_ret, BRANCH),
                              CUSTOM("exit", decode_exit, BRANCH),
                              CUSTOM("trap", decode_trap, BRANCH),
                              CUSTOM("brkpt", decode_trap, BRANCH),
                              CUSTOM("call", decode_call, CALL),
                              CUSTOM("bar", decode_bar, BARRIER),
                              CUSTOM("barrier", decode_barrier, BARRIER),
                              CUSTOM("membar", decode_fence, FENCE),
                              CUSTOM("fence", decode_fence, FENCE),
                              CUSTOM("nanosleep", decode_sleep, SLEEP),
                              CUSTOM("prefetch", decode_prefetch, LD_GLOBAL),
                              CUSTOM("prefetchu", decode_prefetch, LD_GLOBAL),
                              CUSTOM("pragma", decode_nothing, FREE),
                              CUSTOM("cvta", decode_cvta, FREE),
                              CUSTOM("isspacep", decode_isspacep, ALU),
                              FORMS_END};
