/* decode_memory.c - loads, stores and atomics. */
#include "emu/atoms.h"
#include "emu/decode.h"
#include "emu/lanes.h"
#include "emu/num.h"

#include <string.h>

/* --- modifiers --- */

/* Caching hints and memory-model words change no value: memory is one, lanes go in order. */
static bool is_hint(const char *mod) {
    static const char words[] =
        "weak relaxed acquire release acq_rel volatile nc ca cg cs lu cv wb wt cta gpu sys gl "
        "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
        "L2::64B L2::128B L2::256B noftz";
    return ptx_word_in(mod, words);
}

/* What hints say to other threads. */
static uint8_t order_of(const PtxInstr *in) {
    uint8_t order = 0;
    for (int i = 0; i < in->n_mods; i++) {
        const char *mod = in->mods[i];
        if (ptx_word_in(mod, "volatile relaxed acquire release acq_rel")) order |= ORDER_STRONG;
        if (ptx_word_in(mod, "release acq_rel")) order |= ORDER_RELEASE;
        if (ptx_word_in(mod, "cta")) order |= ORDER_BLOCK;
    }
    return order;
}

static bool space_of(const char *mod, PtxSpace *out) {
    static const struct {
        const char *name;
        PtxSpace space;
    } spaces[] = {{"global", PTX_GLOBAL},      {"shared", PTX_SHARED},
                  {"shared::cta", PTX_SHARED}, {"local", PTX_LOCAL},
                  {"const", PTX_CONST},        {"param", PTX_PARAM},
                  {"param::entry", PTX_PARAM}, {"param::func", PTX_PARAM}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strcmp(spaces[i].name, mod) == 0) {
            *out = spaces[i].space;
            return true;
        }
    return false;
}

/* --- addresses --- */

/* [base + offset]: a row for the base. A symbol's address goes into the row. */
static bool address(Decoder *d, const PtxOperand *op, PtxSpace space, uint32_t *base, bool *wide,
                    int64_t *offset) {
    if (op->kind != PTX_OP_ADDR || op->n_elems != 1)
        return decode_fail(d, "an address is expected");
    const PtxOperand *b = &op->elems[0];
    *offset = 0;
    if (b->kind == PTX_OP_SYMBOL) {
        uint64_t window = 0;
        if (space == PTX_GENERIC && b->var)
            window = b->var->space == PTX_SHARED  ? WINDOW(ID_SHARED)
                     : b->var->space == PTX_LOCAL ? WINDOW(ID_LOCAL)
                                                  : 0;
        if (!symbol_row(d, b, b->offset + op->offset, base, wide)) return false;
        if (window) return decode_fail(d, "a generic access needs a generic address (cvta)");
        return true;
    }
    *offset = op->offset;
    if (b->kind == PTX_OP_IMM) {
        *wide = true;
        *base = pool_row(d, POOL_B64, b->imm);
        return true;
    }
    int bits;
    if (!any_register(d, b, base, &bits)) return false;
    if (bits != 32 && bits != 64) return decode_fail(d, "an address register has 32 or 64 bits");
    if (bits == 32 && (space == PTX_GLOBAL || space == PTX_GENERIC))
        return decode_fail(d, "global addresses have 64 bits");
    *wide = bits == 64;
    return true;
}

/* --- loads and stores --- */

static bool mem_mods(Decoder *d, MemForm *f) {
    const PtxInstr *in = d->in;
    PtxType type = PTX_NONE;
    PtxSpace space = PTX_GENERIC;
    f->count = 1;
    for (int i = 0; i < in->n_mods; i++) {
        const char *mod = in->mods[i];
        if (space_of(mod, &space) || is_hint(mod)) continue;
        if (strcmp(mod, "v2") == 0) f->count = 2;
        else if (strcmp(mod, "v4") == 0) f->count = 4;
        else if (strcmp(mod, "v8") == 0) f->count = 8;
        else if (i != in->n_mods - 1 || !ptx_type_parse(mod, &type)) return decode_unknown(d);
    }
    size_t size = ptx_type_size(type);
    if (type == PTX_PRED || size == 0 || size > 8 || size * f->count > 32) return decode_unknown(d);
    f->space = (uint8_t)space;
    f->size = (uint8_t)size;
    f->is_signed = type == PTX_S8 || type == PTX_S16 || type == PTX_S32;
    return true;
}

/* Does anybody read what is written to this operand? */
bool decode_is_read(const Decoder *d, const PtxOperand *op) {
    return op->kind == PTX_OP_REG && d->n_reads[op->reg] > 0;
}

/* The registers of a load or store. Immediates may be stored; wider registers are cut or filled. */
static bool mem_registers(Decoder *d, MemForm *f, const PtxOperand *op) {
    int n = op->kind == PTX_OP_VECTOR ? op->n_elems : 1;
    if (n != f->count) return decode_fail(d, "%d registers are expected", f->count);
    for (int k = 0; k < n; k++) {
        const PtxOperand *r = op->kind == PTX_OP_VECTOR ? &op->elems[k] : op;
        int bits = f->size == 8 ? 64 : f->size <= 2 ? 16 : 32;
        if (r->kind == PTX_OP_IMM && f->is_store) {
            uint64_t value;
            if (!immediate(d, r,
                           f->size == 8                      ? 'q'
                           : mod_is(d, LAST, "f32") ? 'f'
                                                             : 'w',
                           &value))
                return false;
            f->reg[k] = pool_row(d, f->size == 8 ? POOL_B64 : POOL_B32, value);
        } else if (r->kind == PTX_OP_SINK && !f->is_store) {
            f->reg[k] = bits == 64 ? d->trash64 : d->trash32;
        } else if (!any_register(d, r, &f->reg[k], &bits)) {
            return false;
        }
        if (bits < f->size * 8 && !(f->size == 1 && bits == 16))
            return decode_fail(d, "a register too small for the type");
        f->bits[k] = (uint8_t)bits;
        if (!f->is_store && f->count > 1 && !decode_is_read(d, r)) f->unused |= 1u << k;
    }
    return true;
}

static uint8_t mem_cost(const MemForm *f, bool entry_param) {
    switch (f->space) {
    case PTX_SHARED: return f->is_store ? COST_ST_SHARED : COST_LD_SHARED;
    case PTX_LOCAL: return f->is_store ? COST_ST_LOCAL : COST_LD_LOCAL;
    case PTX_CONST: return COST_LD_CONST;
    case PTX_PARAM: return entry_param ? COST_FREE : COST_ALU;
    default: return f->is_store ? COST_ST_GLOBAL : COST_LD_GLOBAL;
    }
}

/* Result k of a load of what is the same for all lanes throughout a launch. */
static void load_constant(Decoder *d, const MemForm *f, int k, PoolKind kind, uint64_t value) {
    const PtxOperand *to = &d->in->args[0];
    if (to->kind == PTX_OP_VECTOR) to = &to->elems[k];
    move_row(d, to, f->size == 8, f->reg[k], pool_row(d, kind, value));
}

/* A parameter at a known place: of the kernel, the same for all lanes; of a function, per lane. */
static bool known_param(Decoder *d, MemForm *f, const PtxOperand *at, bool *done) {
    const PtxOperand *b = at->n_elems == 1 ? &at->elems[0] : NULL;
    uint64_t offset;
    *done = false;
    if (f->space != PTX_PARAM || b == NULL || b->kind != PTX_OP_SYMBOL || b->var == NULL)
        return true;
    if (!variable_address(d, b->var, &offset)) return false;
    int64_t inside = b->offset + at->offset;
    unsigned bytes = (unsigned)f->size * f->count;
    if (inside < 0 || (uint64_t)inside + bytes > b->var->size)
        return decode_fail(d, "an access outside parameter %s", b->symbol);
    bool is_formal = d->func->is_entry && b->var >= d->func->params &&
                     b->var < d->func->params + d->func->n_params;
    f->offset = (int64_t)offset + inside;
    if (!is_formal) {
        f->frame_param = 1;
        f->base = d->trash64;
        f->wide_base = true;
        return true;
    }
    if (f->is_store) return decode_fail(d, "kernel parameters are read-only");
    bool plain = f->size == 8;
    if (f->size == 4) plain = true;
    for (int k = 0; k < f->count && plain; k++) plain = f->bits[k] == f->size * 8;
    if (!plain) { /* through the general path, at a constant address */
        f->base = pool_row(d, POOL_B64, (uint64_t)f->offset);
        f->wide_base = true;
        f->offset = 0;
        return true;
    }
    for (int k = 0; k < f->count; k++)
        load_constant(d, f, k, f->size == 8 ? POOL_PARAM64 : POOL_PARAM32,
                      (uint64_t)f->offset + (uint64_t)k * f->size);
    d->cost[d->index] = COST_FREE;
    *done = true;
    return true;
}

/* The base of a load of shared memory is looked at once, as long as it holds the same. A guard
** lets other lanes through than the instructions around it. */
static bool has_same_base(Decoder *d) {
    const PtxOperand *base = &d->in->args[1].elems[0];
    int reg = base->kind == PTX_OP_REG && d->in->guard < 0 ? base->reg : -1;
    bool same = reg >= 0 && reg == d->shared_base;
    d->shared_base = reg;
    return same;
}

static bool emit_memory(Decoder *d, const MemForm *f) {
    Code *code = d->code;
    bool asks = !f->is_store && f->order & ORDER_STRONG; /* what others may write meanwhile */
    bool is_shared_load = f->space == PTX_SHARED && !f->is_store && !asks;
    gi_grow(code->mem, code->n_mem, code->cap_mem);
    MemForm *to = &code->mem[code->n_mem++];
    *to = *f;
    to->bytes = (uint8_t)(f->size * f->count);
    to->is_free = d->is_free && !f->is_store;
    to->same_base = is_shared_load && has_same_base(d);
    EmuOp op = is_shared_load ? OP_LOAD_SHARED : asks ? OP_LDST_ASK : OP_LDST;
    emit(d, op, 0, 0, 0, 0, 0)->imm = (uint64_t)code->n_mem - 1;
    d->cost[d->index] = mem_cost(f, d->func->is_entry);
    return true;
}

/* [constant variable + offset], inside it: its place in host memory is known now. */
static bool known_const(Decoder *d, const MemForm *f, const PtxOperand *at) {
    const PtxOperand *b = at->n_elems == 1 ? &at->elems[0] : NULL;
    if (f->space != PTX_CONST || b == NULL || b->kind != PTX_OP_SYMBOL || b->var == NULL)
        return false;
    if (b->var->space != PTX_CONST || (f->size != 4 && f->size != 8)) return false;
    for (int k = 0; k < f->count; k++)
        if (f->bits[k] != f->size * 8) return false;
    int64_t inside = b->offset + at->offset;
    unsigned bytes = (unsigned)f->size * f->count;
    if (inside < 0 || (uint64_t)inside + bytes > b->var->size || inside % bytes) return false;
    const uint8_t *data = NULL;
    for (int i = 0; i < d->mod->ptx->n_vars; i++)
        if (d->mod->vars[i].var == b->var) data = d->mod->vars[i].data;
    if (data == NULL) return false;
    for (int k = 0; k < f->count; k++)
        load_constant(d, f, k, f->size == 8 ? POOL_CONST64 : POOL_CONST32,
                      (uint64_t)(uintptr_t)(data + inside + k * f->size));
    d->cost[d->index] = COST_LD_CONST;
    return true;
}

/* The register loaded has one value in all lanes, until its block ends: it is written once. */
static void note_uniform(Decoder *d, const PtxOperand *reg) {
    if (reg->kind == PTX_OP_REG && d->is_free) d->is_uniform[reg->reg] = d->is_local[reg->reg];
}

static bool reads_register(const PtxOperand *op, int reg) {
    bool reads = op->kind == PTX_OP_REG && op->reg == reg;
    for (int i = 0; i < op->n_elems && !reads; i++) reads = reads_register(&op->elems[i], reg);
    return reads;
}

/* Does nothing come of a register but comparisons, of it or of what it was copied to? */
static bool only_compared(const Decoder *d, int reg, int depth) {
    for (int i = 0; i < d->func->n_code; i++) {
        const PtxInstr *in = &d->func->code[i];
        bool reads = false;
        for (int k = 0; k < in->n_args && !reads; k++)
            reads = !ptx_is_dest(in, k) && reads_register(&in->args[k], reg);
        if (!reads || ptx_is(in, "setp")) continue;
        const PtxOperand *to = &in->args[0];
        if (!ptx_is(in, "mov cvt and") || to->kind != PTX_OP_REG || depth == 0) return false;
        if (to->reg != reg && !only_compared(d, to->reg, depth - 1)) return false;
    }
    return true;
}

static bool is_compared(const Decoder *d, const PtxOperand *loaded) {
    return loaded->kind == PTX_OP_REG && only_compared(d, loaded->reg, 4);
}

/* Is a register copied to another, by so many moves at most? */
static bool is_copied(const Decoder *d, int reg, int to, int depth) {
    if (reg == to) return true;
    for (int i = 0; i < d->func->n_code && depth > 0; i++) {
        const PtxInstr *in = &d->func->code[i];
        if (!ptx_is(in, "mov") || in->args[0].kind != PTX_OP_REG) continue;
        if (!reads_register(&in->args[1], reg) || in->args[0].reg == reg) continue;
        if (is_copied(d, in->args[0].reg, to, depth - 1)) return true;
    }
    return false;
}

static bool is_same_address(const PtxOperand *a, const PtxOperand *b) {
    if (a->n_elems != 1 || b->n_elems != 1 || a->offset != b->offset) return false;
    const PtxOperand *x = &a->elems[0], *y = &b->elems[0];
    if (x->kind != y->kind || x->offset != y->offset) return false;
    return x->kind == PTX_OP_REG ? x->reg == y->reg : x->kind == PTX_OP_SYMBOL && x->var == y->var;
}

/* Is what is loaded what a compare-and-swap at the same address expects? A value that is old by
** then is not swapped. */
static bool is_expected(const Decoder *d, const PtxOperand *at, const PtxOperand *loaded) {
    if (!d->has_cas || loaded->kind != PTX_OP_REG) return false;
    for (int i = 0; i < d->func->n_code; i++) {
        const PtxInstr *in = &d->func->code[i];
        if (!ptx_is(in, "atom") || !ptx_has_mod(in, "cas") || in->n_args != 4) continue;
        const PtxOperand *expected = &in->args[2];
        if (is_same_address(at, &in->args[1]) && expected->kind == PTX_OP_REG &&
            is_copied(d, loaded->reg, expected->reg, 4))
            return true;
    }
    return false;
}

static bool decode_access(Decoder *d, bool is_store) {
    MemForm f = {.is_store = is_store, .is_repeat = d->is_repeat[d->index]};
    const PtxInstr *in = d->in;
    bool done;
    if (in->n_args != 2 || !mem_mods(d, &f)) return in->n_args == 2 ? false : decode_unknown(d);
    const PtxOperand *at = &in->args[is_store ? 0 : 1], *regs = &in->args[is_store ? 1 : 0];
    if (is_store && f.space == PTX_CONST) return decode_fail(d, "constant memory is read-only");
    if (at->kind != PTX_OP_ADDR) return decode_fail(d, "an address is expected");
    if (!mem_registers(d, &f, regs)) return false;
    f.order = order_of(in);
    if (!is_store && f.order & ORDER_STRONG && is_compared(d, regs)) f.order |= ORDER_COMPARED;
    if (!is_store && is_expected(d, at, regs)) f.order |= ORDER_EXPECTED;
    if (!known_param(d, &f, at, &done)) return false;
    if (done || known_const(d, &f, at)) {
        note_uniform(d, regs);
        return true;
    }
    if (f.frame_param || (f.space == PTX_PARAM && f.base)) return emit_memory(d, &f);
    if (f.space == PTX_PARAM && !d->func->is_entry)
        return decode_fail(d, "a computed address of a function's parameter is not supported");
    if (!address(d, at, (PtxSpace)f.space, &f.base, &f.wide_base, &f.offset)) return false;
    locals_of(d, &at->elems[0], &f);
    return emit_memory(d, &f);
}

static bool decode_ld(Decoder *d) {
    return decode_access(d, false);
}

static bool decode_st(Decoder *d) {
    return decode_access(d, true);
}

/* --- atomics --- */

static uint64_t lane_value(const Warp *w, uint32_t row, unsigned size, int i) {
    if (size == 8) return ((const U64 *)(const void *)row_at(w, row))[i];
    return ((const U32 *)(const void *)row_at(w, row))[i];
}

static void atom_cost(Machine *m, Warp *w, PtxSpace space, const uint64_t *at, uint32_t lanes) {
    uint32_t shared = 0, global = 0;
    uint64_t place[LANES];
    for (uint32_t left = lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        bool is = space == PTX_SHARED || at[i] >> ID_SHIFT == ID_SHARED;
        *(is ? &shared : &global) |= 1u << i;
        const Alloc *a = is ? NULL : alloc_of(m->emu, at[i]);
        place[i] = a ? alloc_place(a, at[i]) : at[i];
    }
    if (shared) cost_atomic(m, w, place, shared, true, NULL);
    if (global) cost_atomic(m, w, place, global, false, NULL);
}

bool atom_by_lanes(Machine *m, Warp *w, const Ins *in) {
    AtomForm f;
    uint64_t at[LANES];
    uint32_t done = w->active;
    uint64_t seen = 0;
    memcpy(&f, &in->imm, sizeof f);
    mem_addresses(w, in->a, f.wide_base, 0, at);
    if (m->shadow) shadow_step(m);
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint8_t *p = mem_atomic(m, w, in, i, (PtxSpace)f.space, at[i], f.size, f.order);
        if (m->ended) return false;
        if (p == NULL) {
            done &= ~(1u << i);
            continue;
        }
        uint64_t old = 0, b = lane_value(w, in->b, f.size, i), c = lane_value(w, in->c, f.size, i);
        memcpy(&old, p, f.size);
        bool shared = f.space == PTX_SHARED || at[i] >> ID_SHIFT == ID_SHARED;
        uint64_t now = atom_value((AtomOp)f.op, (PtxType)f.type, old, b, c, shared);
        memcpy(p, &now, f.size);
        if (now != old) w->moved = true;
        w->beyond |= !shared && f.is_read;
        seen = (seen ^ at[i] ^ old) * 0xd6e8feb86659fd93u;
        if (!f.is_read) continue;
        if (f.size == 8) ((U64 *)(void *)row_at(w, in->d))[i] = old;
        else ((U32 *)(void *)row_at(w, in->d))[i] = (uint32_t)old;
    }
    if (f.is_read) warp_saw(w, in, seen);
    atom_cost(m, w, (PtxSpace)f.space, at, done);
    return true;
}

static bool atom_type_fits(AtomOp op, PtxType type) {
    switch (op) {
    case ATOM_ADD:
        return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_F32 ||
               type == PTX_F64 || type == PTX_S64 || (type >= PTX_F16 && type <= PTX_BF16X2);
    case ATOM_MIN:
    case ATOM_MAX: return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
    case ATOM_INC:
    case ATOM_DEC: return type == PTX_U32;
    case ATOM_CAS: return type == PTX_B16 || type == PTX_B32 || type == PTX_B64;
    default: return type == PTX_B32 || type == PTX_B64;
    }
}

/* n: the elements of a vector, where it is one. */
static bool atom_mods(Decoder *d, AtomOp *op, PtxType *type, PtxSpace *space, int *n) {
    static const char *const ops[] = {"add", "min",  "max", "inc", "dec",
                                      "cas", "exch", "and", "or",  "xor"};
    const PtxInstr *in = d->in;
    bool have_op = false;
    *type = PTX_NONE;
    *space = PTX_GENERIC;
    for (int i = 0; i < in->n_mods; i++) {
        const char *mod = in->mods[i];
        bool known = space_of(mod, space) || is_hint(mod), vector = ptx_word_in(mod, "v2 v4 v8");
        if (vector && *n == 1) *n = mod[1] - '0', known = true;
        for (int k = 0; k < 10 && !known && !have_op; k++)
            if (strcmp(ops[k], mod) == 0) *op = (AtomOp)k, have_op = known = true;
        if (!known && i == in->n_mods - 1) known = ptx_type_parse(mod, type);
        if (!known) return decode_unknown(d);
    }
    bool half = *type >= PTX_F16 && *type <= PTX_BF16X2,
         minmax = *op == ATOM_MIN || *op == ATOM_MAX;
    if (!have_op || !(atom_type_fits(*op, *type) || (half && minmax && *n > 1)))
        return decode_unknown(d);
    bool fits = *op == ATOM_ADD ? half || *type == PTX_F32 : half && minmax;
    bool small = *n * (int)ptx_type_size(*type) <= 16;
    if (*n > 1 && (!fits || !small || *space != PTX_GLOBAL)) return decode_unknown(d);
    if (*space == PTX_LOCAL || *space == PTX_CONST || *space == PTX_PARAM) return decode_unknown(d);
    return true;
}

/* A row for base + offset. */
static uint32_t add_offset(Decoder *d, uint32_t base, bool wide, int64_t offset, int which) {
    if (offset == 0) return base;
    uint32_t sum = wide ? d->tmp64[which] : d->tmp32[3 - which];
    uint64_t step = wide ? (uint64_t)offset : (uint32_t)offset;
    emit(d, wide ? OP_ADD64 : OP_ADD32, 0, sum, base, pool_row(d, wide ? POOL_B64 : POOL_B32, step),
         0);
    return sum;
}

bool decode_address(Decoder *d, const PtxOperand *op, PtxSpace space, int which, uint32_t *row,
                    bool *wide) {
    int64_t offset = 0;
    if (!address(d, op, space, row, wide, &offset)) return false;
    *row = add_offset(d, *row, *wide, offset, which);
    return true;
}

static char atom_letter(PtxType type) {
    size_t size = ptx_type_size(type);
    if (type == PTX_F32) return 'f';
    if (type == PTX_F64) return 'd';
    return size == 8 ? 'q' : size == 2 ? 'h' : 'w';
}

static void emit_atomic(Decoder *d, const AtomForm *f, uint32_t to, uint32_t at, uint32_t b,
                        uint32_t c) {
    uint64_t imm = 0;
    memcpy(&imm, f, sizeof *f);
    emit_row(d, ROW_ATOMIC, atom_by_lanes, to, at, b, c, imm);
}

/* The elements of a vector are atomic one by one, but all of it is aligned. imm: bytes. */
static bool do_aligned(Machine *m, Warp *w, const Ins *in) {
    const U64 *at = (const U64 *)(const void *)row_at(w, in->a);
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (at[i] % in->imm)
            return fault_raise(m, w, in, i, EMU_MISALIGNED,
                               "misaligned atomic of %d bytes at address 0x%llx", (int)in->imm,
                               (unsigned long long)at[i]);
    }
    return true;
}

/* What is added is kept apart first: results may go to the same registers. */
static bool vector_atomic(Decoder *d, AtomForm f, int n, bool returns) {
    const PtxOperand *args = d->in->args + returns, *to = &d->in->args[0];
    char letter = atom_letter((PtxType)f.type);
    uint32_t base, b[8], out = 0;
    bool wide;
    if (args[1].kind != PTX_OP_VECTOR || args[1].n_elems != n || (returns && n > 4) ||
        (returns && (to->kind != PTX_OP_VECTOR || to->n_elems != n)))
        return decode_unknown(d);
    if (!decode_address(d, &args[0], PTX_GLOBAL, 0, &base, &wide)) return false;
    emit_slow(d, do_aligned, 0, base, 0, 0, (uint64_t)f.size * (uint64_t)n);
    for (int k = 0; k < n; k++) {
        if (!source(d, &args[1].elems[k], letter, 0, &b[k])) return false;
        if (!returns) continue;
        emit(d, OP_MOV32, 0, d->tmp32[k], b[k], b[k], b[k]);
        b[k] = d->tmp32[k];
    }
    for (int k = 0; k < n; k++) {
        if (returns && !dest(d, &to->elems[k], letter, &out)) return false;
        f.is_read = returns && decode_is_read(d, &to->elems[k]);
        emit_atomic(d, &f, out, add_offset(d, base, true, k * f.size, 1), b[k], b[k]);
    }
    return true;
}

static bool decode_atomic(Decoder *d) {
    const PtxInstr *in = d->in;
    AtomOp op = ATOM_ADD;
    PtxType type;
    PtxSpace space;
    int n = 1;
    if (!atom_mods(d, &op, &type, &space, &n)) return false;
    bool returns = in->opcode[0] == 'a';
    if (in->n_args != 2 + returns + (op == ATOM_CAS)) return decode_unknown(d);
    char letter = atom_letter(type);
    AtomForm f = {.op = (uint8_t)op,
                  .type = (uint8_t)type,
                  .space = (uint8_t)space,
                  .wide_base = true,
                  .is_read = returns && decode_is_read(d, &in->args[0]),
                  .size = (uint8_t)ptx_type_size(type),
                  .order = order_of(in) | ORDER_ATOMIC | ORDER_STRONG};
    d->cost[d->index] = space == PTX_SHARED ? COST_ATOMIC_SHARED : COST_ATOMIC;
    if (n > 1) return vector_atomic(d, f, n, returns);
    uint32_t to = 0, base, b, c;
    bool wide;
    const PtxOperand *args = in->args + returns;
    if (!decode_address(d, &args[0], space, 0, &base, &wide)) return false;
    f.wide_base = wide;
    if (!source(d, &args[1], letter, 0, &b)) return false;
    c = b;
    if (op == ATOM_CAS && !source(d, &args[2], letter, 1, &c)) return false;
    if (returns && !dest(d, &in->args[0], letter, &to)) return false;
    emit_atomic(d, &f, to, base, b, c);
    return true;
}

const Form forms_memory[] = {CUSTOM("ld", decode_ld, LD_GLOBAL),
                             CUSTOM("ldu", decode_ld, LD_GLOBAL),
                             CUSTOM("st", decode_st, ST_GLOBAL),
                             CUSTOM("atom", decode_atomic, ATOMIC),
                             CUSTOM("red", decode_atomic, ATOMIC),
                             CUSTOM("cp", decode_cp, ST_GLOBAL),
                             FORMS_END};
