/* control.c - branches, barriers, moves and address conversions. */
#include "emu/decode/decode.h"
#include "emu/exec/async.h"
#include "emu/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* --- branches --- */

static bool decode_bra(Decoder *d) {
    const PtxInstr *in = d->in;
    if (!decode_only_mods(d, "uni")) return false;
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
    if (in->n_targets < 1 || in->n_args != 2) return decode_fail(d, "brx.idx without targets");
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
    if (!decode_only_mods(d, "uni") || d->in->n_args) return decode_unknown(d);
    emit(d, OP_RET, 0, 0, 0, 0, 0);
    return true;
}

static bool decode_exit(Decoder *d) {
    if (d->in->n_mods || d->in->n_args) return decode_unknown(d);
    emit(d, OP_EXIT, 0, 0, 0, 0, 0);
    return true;
}

static bool do_trap(Machine *m, Warp *w, const Ins *in) {
    m->cause = EMU_CAUSE_TRAP;
    return fault_raise(m, w, in, __builtin_ctz(w->active), EMU_LAUNCH_ERROR,
                       in->imm ? "trap instruction" : "breakpoint instruction");
}

static bool decode_trap(Decoder *d) {
    if (d->in->n_mods || d->in->n_args) return decode_unknown(d);
    emit_slow(d, do_trap, 0, 0, 0, 0, d->in->opcode[0] == 't');
    return true;
}

/* --- barriers and what orders memory --- */

static int count_mods(const PtxInstr *in, const char *words) {
    int n = 0;
    for (int i = 0; i < in->n_mods; i++) n += ptx_word_in(in->mods[i], words);
    return n;
}

/* {cta.}sync|arrive, or red.popc.u32|and.pred|or.pred; .aligned goes with barrier, not with bar. */
static bool barrier_words(const Decoder *d) {
    const PtxInstr *in = d->in;
    int cta = mod_is(d, 0, "cta"), aligned = count_mods(in, "aligned");
    bool red = has_mod(d, "red"), popc = has_mod(d, "popc");
    int ops = count_mods(in, "popc and or");
    if (!mod_is(d, cta, "sync arrive red aligned")) return false;
    if (count_mods(in, "sync arrive red") != 1 || aligned > (in->opcode[3] != 0)) return false;
    if (ops != red || cta + aligned + 1 + 2 * red != in->n_mods) return false;
    return !red || mod_is(d, LAST, popc ? "u32" : "pred");
}

static bool decode_barrier(Decoder *d) {
    const PtxInstr *in = d->in;
    int kind = BAR_SYNC, k = 0;
    if (mod_is(d, 0, "cluster")) return decode_cluster_barrier(d);
    if (has_mod(d, "warp")) return decode_unknown(d);
    if (!barrier_words(d)) return decode_unknown(d);
    if (has_mod(d, "arrive")) kind = BAR_ARRIVE;
    if (has_mod(d, "red"))
        kind = has_mod(d, "popc") ? BAR_RED_POPC : has_mod(d, "and") ? BAR_RED_AND : BAR_RED_OR;
    uint32_t result = 0, id, count = 0, p = 0, x = (uint32_t)kind;
    bool fixed = true;
    if (kind >= BAR_RED_POPC &&
        (in->n_args < 3 || !dest(d, &in->args[k++], kind == BAR_RED_POPC ? 'w' : 'p', &result)))
        return in->n_args < 3 ? decode_unknown(d) : false;
    if (k >= in->n_args) return decode_unknown(d);
    fixed = in->args[k].kind == PTX_OP_IMM;
    if (!source(d, &in->args[k++], 'w', 0, &id)) return false;
    int last = in->n_args - (kind >= BAR_RED_POPC);
    count = id;
    if (k < last) {
        fixed = fixed && in->args[k].kind == PTX_OP_IMM;
        if (!source(d, &in->args[k++], 'w', 1, &count)) return false;
        x |= BAR_COUNTED;
    }
    if (kind >= BAR_RED_POPC) {
        if (!source(d, &in->args[k++], 'p', 0, &p)) return false;
    }
    if (k != in->n_args || (kind == BAR_ARRIVE && !(x & BAR_COUNTED))) return decode_unknown(d);
    const PtxOperand *n = &in->args[kind >= BAR_RED_POPC];
    if (n->kind == PTX_OP_IMM && n->imm > 15) return decode_fail(d, "a block has 16 barriers");
    if (x & BAR_COUNTED && n[1].kind == PTX_OP_IMM && n[1].imm % LANES)
        return decode_fail(d, "the threads of a barrier are whole warps");
    if (in->opcode[3] == 0 || has_mod(d, "aligned")) x |= BAR_ALIGNED; /* bar is barrier.aligned */
    if (fixed) x |= BAR_FIXED;
    emit(d, OP_BARRIER, x, result, id, count, p);
    forget_bases(d); /* another path may run before this one goes on */
    return true;
}

static bool decode_bar(Decoder *d) {
    return has_mod(d, "warp") ? decode_warp_barrier(d) : decode_barrier(d);
}

/* Memory is one and lanes go in order: a fence has something to do for the check of races alone.
** But who spins on a plain load has one between its looks. */
static bool do_fence(Machine *m, Warp *w, const Ins *in) {
    warp_fence(w);
    if (m->shadow) shadow_fence(m, w, in->imm);
    return true;
}

void emit_fence(Decoder *d) {
    emit_slow(d, do_fence, 0, 0, 0, 0,
              has_mod(d, "cta") ? ORDER_BLOCK : has_mod(d, "cluster") ? ORDER_CLUSTER : 0);
}

/* membar.LEVEL, fence{.ORDER}.SCOPE */
static bool decode_fence(Decoder *d) {
    const PtxInstr *in = d->in;
    bool old = ptx_is(in, "membar");
    int orders = old ? 0 : count_mods(in, "sc acq_rel acquire release");
    int scopes = count_mods(in, old ? "cta gl sys" : "cta gpu sys cluster");
    if (in->n_args || scopes != 1 || orders > 1 || in->n_mods != scopes + orders)
        return decode_unknown(d);
    emit_fence(d);
    return true;
}

/* Launches run one after the other: the one before has ended, and the next waits for the end. */
static bool decode_dependency(Decoder *d) {
    return (d->in->n_mods == 1 && d->in->n_args == 0 && mod_is(d, 0, "wait launch_dependents")) ||
           decode_unknown(d);
}

static bool decode_sleep(Decoder *d) {
    uint32_t time; /* checked and left */
    if (d->in->n_mods != 1 || !mod_is(d, 0, "u32") || d->in->n_args != 1) return decode_unknown(d);
    emit(d, OP_ASK, 0, 0, 0, 0, 0);
    return source(d, &d->in->args[0], 'w', 0, &time);
}

/* --- moves --- */

static bool do_clock(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    double clock = warp_clock(w, in);
    if (clock < 0) clock = 0;
    uint64_t value = (uint64_t)clock;
    double ghz = m->model->clock_ghz > 0 ? m->model->clock_ghz : 1;
    if (in->imm & 2) /* globaltimer */
        value = (uint64_t)(m->launch->begun_ns + (m->cost.sum_near + clock) / ghz);
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
    if (wide &&
        (ptx_word_in(from->symbol, "%gridid %current_graph_exec") || strstr(from->symbol, "_64"))) {
        if (!dest(d, &d->in->args[0], 'q', &to)) return false;
        move_row(d, &d->in->args[0], true, to, pool_row(d, POOL_B64, 0));
        return true;
    }
    if (wide || mod_is(d, LAST, "b16 u16 s16"))
        return decode_fail(d, "%s has 32 bits", from->symbol);
    if (!source(d, from, 'w', 0, &at) || !dest(d, &d->in->args[0], 'w', &to)) return false;
    move_row(d, &d->in->args[0], false, to, at);
    return true;
}

static bool move_symbol(Decoder *d, bool wide) {
    const PtxOperand *from = &d->in->args[1];
    uint32_t to, at;
    bool wide_row;
    if (from->var && bound_is_call_param(d, from->var))
        return decode_fail(d, "the address of %s, which is declared for a call", from->symbol);
    if (from->func >= 0 && from->offset) return decode_fail(d, "a place inside a function");
    if (mod_is(d, LAST, "f32 f64")) return decode_fail(d, "an address is no float");
    if (!symbol_row(d, from, from->offset, &at, &wide_row)) return false;
    if (!wide && from->var && (from->var->space == PTX_GLOBAL || from->var->space == PTX_CONST))
        return decode_fail(d, "the address of %s has 64 bits", from->symbol);
    if (!dest(d, &d->in->args[0], wide ? 'q' : 'w', &to)) return false;
    if (wide && !wide_row) at = pool_row(d, POOL_SHARED_WIDE, (uint64_t)from->offset);
    if (wide || !wide_row) move_row(d, &d->in->args[0], wide, to, at);
    else emit(d, OP_NARROW, 0, to, at, at, at);
    return true;
}

/* Is a part a register of so many bits? */
static bool is_part(Decoder *d, const PtxOperand *op, int part) {
    if (op->kind != PTX_OP_REG) return true;
    PtxType type = d->func->regs[op->reg].type;
    return (type != PTX_PRED && (int)ptx_type_size(type) * 8 == part) ||
           decode_fail(d, "a part of another width");
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
        if (!is_part(d, &parts->elems[k], part)) return false;
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
        if (!is_part(d, &parts->elems[k], part) ||
            !source(d, &parts->elems[k], part == 32 ? 'w' : 'h', k, &at[k]))
            return false;
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
    if (type == PTX_PRED && from->kind == PTX_OP_SREG) return decode_is_cluster(d);
    if (type == PTX_PRED) {
        if (!source(d, from, 'p', 0, &at) || !dest(d, &d->in->args[0], 'p', &to)) return false;
        emit(d, OP_MOV_P, 0, to, at, at, 0);
        return true;
    }
    size_t size = ptx_type_size(type);
    bool is_half = type >= PTX_F16 && type <= PTX_BF16X2;
    if (size < 2 || size > 8 || is_half || type >= PTX_TEXREF) return decode_unknown(d);
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
    if (ptx_word_in(space, "shared shared::cta shared::cluster")) return WINDOW(ID_SHARED);
    if (strcmp(space, "local") == 0) return WINDOW(ID_LOCAL);
    if (strcmp(space, "param") == 0 || strcmp(space, "param::entry") == 0) return WINDOW(ID_PARAM);
    if (strcmp(space, "global") == 0 || strcmp(space, "const") == 0) return 0;
    return UINT64_MAX;
}

/* Does the variable that a cvta names lie in its space? What it is converted from is a register. */
static bool names_own_space(Decoder *d, const PtxOperand *from, bool to_space) {
    static const char *const spaces[] = {[PTX_PARAM] = "param param::entry",
                                         [PTX_LOCAL] = "local",
                                         [PTX_SHARED] = "shared shared::cta shared::cluster",
                                         [PTX_CONST] = "const",
                                         [PTX_GLOBAL] = "global"};
    const PtxVar *v = from->var;
    if (to_space) return decode_fail(d, "a register is expected");
    if (v == NULL || !mod_is(d, 0, spaces[v->space]) || bound_is_call_param(d, v))
        return decode_fail(d, "%s lies in another state space than the instruction's",
                           from->symbol);
    return true;
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
        if (!names_own_space(d, from, to_space)) return false;
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

enum { IN_CLUSTER = 1 << 24 }; /* shared memory of any block of the cluster */

static bool do_isspacep(Machine *m, Warp *w, const Ins *in) {
    const U64 *a = (const U64 *)(const void *)row_at(w, in->a);
    uint32_t mask = 0;
    for (int i = 0; i < LANES; i++) {
        uint64_t inside = a[i] & OFFSET_MASK;
        const Alloc *alloc = alloc_of(m->emu, a[i]);
        bool is = in->imm == 0   ? a[i] >> ID_SHIFT < ID_SHARED && !(alloc && alloc->is_const)
                  : in->imm == 1 ? alloc && alloc->is_const
                                 : a[i] >> ID_SHIFT == (in->imm & ~IN_CLUSTER);
        if (in->imm == ID_SHARED && cluster_names(inside))
            is = is && cluster_block(m, inside) == m->block;
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
    if (mod_is(d, 0, "shared::cluster")) kind |= IN_CLUSTER;
    if (!source(d, &d->in->args[1], 'q', 0, &at) || !dest(d, &d->in->args[0], 'p', &to))
        return false;
    emit_slow(d, do_isspacep, to, at, 0, 0, kind);
    return true;
}

/* istypep.texref|samplerref|surfref p, a: ptxas makes of it a look at bit 61, 62 or 63, which no
** address and no handle of an object has. */
static bool decode_istypep(Decoder *d) {
    static const char *const types[] = {"texref", "samplerref", "surfref"};
    uint32_t to, at, high = d->tmp32[0], k = 0;
    if (d->in->n_mods != 1 || d->in->n_args != 2 || !mod_is(d, 0, "texref samplerref surfref"))
        return decode_unknown(d);
    while (!mod_is(d, 0, types[k])) k++;
    if (!source(d, &d->in->args[1], 'q', 0, &at) || !dest(d, &d->in->args[0], 'p', &to))
        return false;
    emit(d, OP_UNPACK, 0, d->trash32, at, 0, high);
    emit(d, OP_AND32, 0, high, high, pool_row(d, POOL_B32, 1u << (29 + k)), 0);
    emit(d, OP_EQ32, 1, to, high, pool_row(d, POOL_B32, 0), 0);
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
                              CUSTOM("alloca", decode_alloca, ALU),
                              CUSTOM("stacksave", decode_stacksave, ALU),
                              CUSTOM("stackrestore", decode_stackrestore, ALU),
                              CUSTOM("bar", decode_bar, BARRIER),
                              CUSTOM("barrier", decode_barrier, BARRIER),
                              CUSTOM("membar", decode_fence, FENCE),
                              CUSTOM("fence", decode_fence, FENCE),
                              CUSTOM("nanosleep", decode_sleep, SLEEP),
                              CUSTOM("griddepcontrol", decode_dependency, FREE),
                              CUSTOM("cvta", decode_cvta, FREE),
                              CUSTOM("isspacep", decode_isspacep, ALU),
                              CUSTOM("istypep", decode_istypep, ALU),
                              FORMS_END};
