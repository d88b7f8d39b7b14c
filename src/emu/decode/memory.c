/* memory.c - loads, stores and atomics. */
#include "emu/exec/atoms.h"
#include "emu/decode/decode.h"
#include "emu/check/undefined.h"
#include "emu/exact/exact.h"
#include "emu/exec/lanes.h"
#include "emu/exec/num.h"

#include <stdlib.h>
#include <string.h>

/* --- modifiers --- */

/* Kinds of modifiers that change no value, or say where; of each kind an instruction has one. */
typedef enum Kind {
    KIND_ORDER,
    KIND_SCOPE,
    KIND_SPACE,
    KIND_CACHE,
    KIND_READ_ONLY,
    KIND_EVICT,
    KIND_PREFETCH,
    KIND_L2,
    KIND_POLICY,
    KIND_MMIO,
    KIND_NOFTZ,
    KINDS
} Kind;

static const char *const words_of_kind[KINDS] = {
    [KIND_ORDER] = "weak volatile relaxed acquire release acq_rel",
    [KIND_SCOPE] = "cta cluster gpu sys",
    [KIND_SPACE] =
        "global shared shared::cta shared::cluster local const param param::entry param::func",
    [KIND_CACHE] = "ca cg cs lu cv wb wt",
    [KIND_READ_ONLY] = "nc",
    [KIND_EVICT] =
        "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate",
    [KIND_PREFETCH] = "L2::64B L2::128B L2::256B",
    [KIND_L2] = "L2::evict_last L2::evict_normal L2::evict_first",
    [KIND_POLICY] = "L2::cache_hint",
    [KIND_MMIO] = "mmio",
    [KIND_NOFTZ] = "noftz"};

typedef struct Words { /* of each kind the one there is, or "" */
    const char *of[KINDS];
} Words;

/* Takes a modifier of any kind; false where it is of none, or its kind is there already. */
static bool take_word(Words *w, const char *mod) {
    for (int k = 0; k < KINDS; k++) {
        if (!ptx_word_in(mod, words_of_kind[k])) continue;
        if (w->of[k][0]) return false;
        w->of[k] = mod;
        return true;
    }
    return false;
}

static Words no_words(void) {
    Words w;
    for (int k = 0; k < KINDS; k++) w.of[k] = "";
    return w;
}

static PtxSpace space_of(const Words *w) {
    static const struct {
        const char *name;
        PtxSpace space;
    } spaces[] = {{"global", PTX_GLOBAL},      {"shared", PTX_SHARED},
                  {"shared::cta", PTX_SHARED}, {"shared::cluster", PTX_SHARED},
                  {"local", PTX_LOCAL},        {"const", PTX_CONST},
                  {"param", PTX_PARAM},        {"param::entry", PTX_PARAM},
                  {"param::func", PTX_PARAM}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strcmp(spaces[i].name, w->of[KIND_SPACE]) == 0) return spaces[i].space;
    return PTX_GENERIC;
}

/* What modifiers say to other threads. */
static uint16_t order_of(const PtxInstr *in) {
    unsigned order = ptx_is(in, "ldu") ? ORDER_CACHED : 0;
    for (int i = 0; i < in->n_mods; i++) {
        const char *mod = in->mods[i];
        if (ptx_word_in(mod, "volatile relaxed acquire release acq_rel")) order |= ORDER_STRONG;
        if (ptx_word_in(mod, "release acq_rel")) order |= ORDER_RELEASE;
        if (ptx_word_in(mod, "acquire acq_rel")) order |= ORDER_ACQUIRE;
        if (ptx_word_in(mod, "volatile")) order |= ORDER_VOLATILE;
        if (strcmp(mod, "cta") == 0) order |= ORDER_BLOCK;
        if (strcmp(mod, "cluster") == 0) order |= ORDER_CLUSTER;
        if (ptx_word_in(mod, "nc")) order |= ORDER_CACHED;
    }
    return (uint16_t)order;
}

/* A policy is of memory that others see, and not of volatile accesses; .mmio is relaxed, of the
** system, and has no hints. */
static bool hints_agree(const Words *w, PtxSpace space) {
    bool global = space == PTX_GLOBAL || space == PTX_GENERIC, policy = w->of[KIND_POLICY][0];
    if (policy && (!global || strcmp(w->of[KIND_ORDER], "volatile") == 0)) return false;
    if (!w->of[KIND_MMIO][0]) return true;
    return global && strcmp(w->of[KIND_ORDER], "relaxed") == 0 && !policy &&
           strcmp(w->of[KIND_SCOPE], "sys") == 0 && !w->of[KIND_EVICT][0] &&
           !w->of[KIND_PREFETCH][0] && !w->of[KIND_READ_ONLY][0];
}

/* Do the words go together, as ptxas has it? Caches are hinted to for weak accesses alone; strong
** ones, and hints to L1 and L2, are of memory that others see. */
static bool words_agree(const Words *w, PtxSpace space, bool is_store) {
    const char *order = w->of[KIND_ORDER], *cache = w->of[KIND_CACHE];
    bool strong = order[0] && strcmp(order, "weak") != 0, scope = w->of[KIND_SCOPE][0];
    bool global = space == PTX_GLOBAL || space == PTX_GENERIC;
    bool evict = w->of[KIND_EVICT][0], prefetch = w->of[KIND_PREFETCH][0];
    bool read_only = w->of[KIND_READ_ONLY][0];
    if (ptx_word_in(order, is_store ? "acquire acq_rel" : "release acq_rel")) return false;
    if (cache[0] && !ptx_word_in(cache, is_store ? "cg cs wb wt" : "ca cg cs lu cv")) return false;
    if (scope != ptx_word_in(order, "relaxed acquire release")) return false;
    if (strong && (cache[0] || read_only || !(global || space == PTX_SHARED))) return false;
    if (evict && (!global || cache[0] || strcmp(order, "volatile") == 0)) return false;
    if (prefetch && (!global || is_store)) return false;
    if (is_store && strcmp(w->of[KIND_SPACE], "param::entry") == 0) return false;
    if (!hints_agree(w, space)) return false;
    return !w->of[KIND_NOFTZ][0] && (!read_only || (space == PTX_GLOBAL && !is_store));
}

/* ldu has nothing but a space. */
static bool only_space(const Words *w) {
    for (int k = 0; k < KINDS; k++)
        if (k != KIND_SPACE && w->of[k][0]) return false;
    return true;
}

/* --- addresses --- */

/* [base + offset]: a row for the base. A symbol's address goes into the row. */
static bool address(Decoder *d, const PtxOperand *op, uint32_t *base, bool *wide,
                    int64_t *offset) {
    const PtxOperand *b = &op->elems[0];
    int bits;
    *offset = b->kind == PTX_OP_SYMBOL ? 0 : op->offset;
    if (b->kind == PTX_OP_SYMBOL) return symbol_row(d, b, b->offset + op->offset, base, wide);
    if (b->kind == PTX_OP_IMM) {
        *wide = true;
        *base = pool_row(d, POOL_B64, b->imm);
        return true;
    }
    if (!any_register(d, b, base, &bits)) return false;
    *wide = bits == 64;
    return true;
}

/* --- loads and stores --- */

/* 32 bytes at once, and they alone, may say how long they stay in the L2 cache. */
static bool bytes_fit(Decoder *d, size_t bytes, const Words *w, bool is_vector) {
    if (w->of[KIND_MMIO][0] && is_vector) return decode_unknown(d);
    if (bytes <= 16) return !w->of[KIND_L2][0] || decode_fail(d, "32 bytes alone have a priority");
    return bytes == 32 ? decode_has(d, 88, 100) : decode_unknown(d);
}

/* The policy of .L2::cache_hint, the last operand, is checked and left. */
static bool policy_agrees(Decoder *d, const Words *w, int n_args) {
    uint32_t row;
    bool has_policy = w->of[KIND_POLICY][0] != 0;
    if (d->in->n_args != n_args + has_policy) return decode_unknown(d);
    return !has_policy || (decode_has(d, 74, 80) && source(d, &d->in->args[n_args], 'q', 2, &row));
}

static bool mem_mods(Decoder *d, MemForm *f, PtxType *type) {
    const PtxInstr *in = d->in;
    Words w = no_words();
    int n = in->n_mods - 1;
    const char *vector = ptx_mod(in, -2);
    f->count = ptx_word_in(vector, "v2 v4 v8") ? (uint8_t)(vector[1] - '0') : 1;
    n -= f->count > 1;
    for (int i = 0; i < n; i++)
        if (!take_word(&w, in->mods[i])) return decode_unknown(d);
    if (n < 0 || !ptx_type_parse(in->mods[in->n_mods - 1], type)) return decode_unknown(d);
    size_t size = ptx_type_size(*type);
    bool is_half = *type >= PTX_F16 && *type <= PTX_BF16X2, is_vector = f->count > 1;
    if (*type == PTX_PRED || *type >= PTX_TEXREF || is_half) return decode_unknown(d);
    if (size > 8) { /* 16 bytes are two of 8 */
        if (is_vector || !decode_has(d, 83, 70)) return decode_unknown(d);
        f->count = 2, size = 8;
    }
    if (!bytes_fit(d, size * f->count, &w, is_vector) || !policy_agrees(d, &w, 2)) return false;
    f->space = (uint8_t)space_of(&w);
    f->size = (uint8_t)size;
    f->is_signed = *type == PTX_S8 || *type == PTX_S16 || *type == PTX_S32;
    bool uniform = ptx_is(in, "ldu");
    if (uniform ? !only_space(&w) : !words_agree(&w, (PtxSpace)f->space, f->is_store))
        return decode_unknown(d);
    return true;
}

/* Does anybody read what is written to this operand? */
bool decode_is_read(const Decoder *d, const PtxOperand *op) {
    return op->kind == PTX_OP_REG && d->n_reads[op->reg] > 0;
}

/* May a register hold what is loaded or stored as this type? It may be wider. */
static bool holds(PtxType reg, PtxType type) {
    if (reg == PTX_PRED || ptx_type_size(reg) < ptx_type_size(type)) return false;
    if (type <= PTX_B64 || reg <= PTX_B128) return true;
    if (type >= PTX_F32) return reg == type;
    return reg < PTX_F16 || reg == PTX_F16X2;
}

static bool stored_number(Decoder *d, const MemForm *f, const PtxOperand *r, PtxType type,
                          uint32_t *row) {
    uint64_t value;
    bool is_float = type >= PTX_F32, is_int = r->imm_kind == PTX_IMM_INT;
    bool bits = type == (r->imm_kind == PTX_IMM_F32 ? PTX_B32 : PTX_B64);
    if (is_float == is_int && !(bits && !is_int))
        return decode_fail(d, "the number is not of the instruction's type");
    if (!immediate(d, r, type == PTX_F64 ? 'd' : type == PTX_F32 ? 'f' : f->size == 8 ? 'q' : 'w',
                   &value))
        return false;
    *row = pool_row(d, f->size == 8 ? POOL_B64 : POOL_B32, value);
    return true;
}

/* One register of a load or store; its width in *bits, 0 for a sink. */
static bool mem_register(Decoder *d, MemForm *f, const PtxOperand *r, PtxType type, int k,
                         int *bits) {
    *bits = f->size == 8 ? 64 : f->size <= 2 ? 16 : 32;
    if (r->kind == PTX_OP_IMM && f->is_store) return stored_number(d, f, r, type, &f->reg[k]);
    if (r->kind == PTX_OP_SINK && !f->is_store && f->count > 1) {
        f->reg[k] = *bits == 64 ? d->trash64 : d->trash32;
        return true;
    }
    if (!any_register(d, r, &f->reg[k], bits)) return false;
    return holds(d->func->regs[r->reg].type, type) ||
           decode_fail(d, "a register too small for the type, or of another");
}

/* A register of 128 bits is two rows. */
static bool wide_register(Decoder *d, MemForm *f, const PtxOperand *op) {
    if (op->kind != PTX_OP_REG) return decode_fail(d, "a register is expected as operand");
    if (!dest(d, op, 'Q', &f->reg[0])) return false;
    f->reg[1] = f->reg[0] + ROW64;
    f->bits[0] = f->bits[1] = 64;
    return true;
}

/* The registers of a load or store, all of one width. Immediates may be stored; wider registers are
** cut or filled. */
static bool mem_registers(Decoder *d, MemForm *f, const PtxOperand *op, PtxType type) {
    int n = op->kind == PTX_OP_VECTOR ? op->n_elems : 1, width = 0;
    if (type == PTX_B128) return wide_register(d, f, op);
    if (n != f->count) return decode_fail(d, "%d registers are expected", f->count);
    for (int k = 0; k < n; k++) {
        const PtxOperand *r = op->kind == PTX_OP_VECTOR ? &op->elems[k] : op;
        int bits;
        if (!mem_register(d, f, r, type, k, &bits)) return false;
        if (r->kind == PTX_OP_REG && width && bits != width)
            return decode_fail(d, "the registers of a vector have one width");
        if (r->kind == PTX_OP_REG) width = bits;
        f->bits[k] = (uint8_t)bits;
        if (!f->is_store && f->count > 1 && !decode_is_read(d, r)) f->unused |= 1u << k;
    }
    if (width == 0 && !f->is_store) return decode_fail(d, "nothing is loaded");
    for (int k = 0; k < n && width; k++) { /* sinks and numbers, as the others */
        const PtxOperand *r = op->kind == PTX_OP_VECTOR ? &op->elems[k] : op;
        if (r->kind == PTX_OP_SINK) {
            f->reg[k] = width == 64 ? d->trash64 : d->trash32;
            f->bits[k] = (uint8_t)width;
        }
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

/* Decodes result k of a load whose value is the same for all lanes throughout a launch. */
static void load_constant(Decoder *d, const MemForm *f, int k, PoolKind kind, uint64_t value) {
    const PtxOperand *to = &d->in->args[0];
    if (to->kind == PTX_OP_VECTOR) to = &to->elems[k];
    move_row(d, to, f->size == 8, f->reg[k], pool_row(d, kind, value));
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
    layouts_find(d, &d->in->args[f->is_store ? 0 : 1].elems[0], to);
    EmuOp op = is_shared_load ? OP_LOAD_SHARED : asks ? OP_LDST_ASK : OP_LDST;
    emit(d, op, 0, 0, 0, 0, 0)->imm = (uint64_t)code->n_mem - 1;
    d->cost[d->index] = mem_cost(f, d->func->is_entry);
    return true;
}

/* [constant variable + offset], inside it: its place in host memory is known now. */
static bool known_const(Decoder *d, const MemForm *f, const PtxOperand *at) {
    const PtxOperand *b = &at->elems[0];
    if (f->bound != BOUND_CONST || b->kind != PTX_OP_SYMBOL || f->size < 4) return false;
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

/* A kernel's parameter at a known place: the same for all lanes. */
static bool kernel_param(Decoder *d, MemForm *f) {
    bool plain = f->size >= 4;
    for (int k = 0; k < f->count && plain; k++) plain = f->bits[k] == f->size * 8;
    if (!plain) { /* through the general path, at a constant address */
        f->base = pool_row(d, POOL_B64, (uint64_t)f->offset);
        f->wide_base = true;
        f->offset = 0;
        return emit_memory(d, f);
    }
    for (int k = 0; k < f->count; k++)
        load_constant(d, f, k, f->size == 8 ? POOL_PARAM64 : POOL_PARAM32,
                      (uint64_t)f->offset + (uint64_t)k * f->size);
    d->cost[d->index] = COST_FREE;
    note_uniform(d, &d->in->args[0]);
    return true;
}

/* [parameter + offset]: inside it, and so inside its area. */
static bool known_param(Decoder *d, MemForm *f, const PtxOperand *at) {
    const PtxOperand *b = &at->elems[0];
    int64_t inside = b->offset + at->offset;
    uint64_t offset;
    if (!variable_address(d, b->var, &offset) ||
        !bound_place(d, b->var, inside, (unsigned)f->size * f->count))
        return false;
    f->offset = (int64_t)offset + inside;
    if (f->bound == BOUND_PARAM) return kernel_param(d, f);
    f->base = d->trash64;
    f->wide_base = true;
    return emit_memory(d, f);
}

/* Counts the registers that an operand of instruction i reads, while there is no list; then lists i
** for each. */
static void add_reader(Readers *r, const PtxOperand *op, int i) {
    if (op->kind == PTX_OP_REG && r->at) r->at[r->first[op->reg + 1]++] = i;
    else if (op->kind == PTX_OP_REG) r->first[op->reg + 2]++;
    for (int k = 0; k < op->n_elems; k++) add_reader(r, &op->elems[k], i);
}

static void add_readers(Readers *r, const PtxFunc *f) {
    for (int i = 0; i < f->n_code; i++)
        for (int k = 0; k < f->code[i].n_args; k++)
            if (!ptx_is_dest(&f->code[i], k)) add_reader(r, &f->code[i].args[k], i);
}

static void find_readers(Decoder *d) {
    const PtxFunc *f = d->func;
    Readers *r = &d->readers;
    if (r->first) return;
    r->first = gi_alloc(((size_t)f->n_regs + 2) * sizeof(int));
    r->tested = gi_alloc((size_t)f->n_regs * sizeof *r->tested);
    add_readers(r, f);
    for (int k = 0; k < f->n_regs; k++) r->first[k + 2] += r->first[k + 1];
    r->at = gi_alloc((size_t)r->first[f->n_regs + 1] * sizeof(int) + 1);
    add_readers(r, f);
}

static bool is_tested(Decoder *d, int reg, int depth);

static bool find_test(Decoder *d, int reg, int depth) {
    const Readers *r = &d->readers;
    for (int i = r->first[reg]; i < r->first[reg + 1]; i++) {
        const PtxInstr *in = &d->func->code[r->at[i]];
        const PtxOperand *to = &in->args[0];
        if (ptx_is(in, "setp") || (ptx_is(in, "atom") && ptx_has_mod(in, "cas"))) return true;
        bool part = ptx_is(in, "mov cvt and or xor not shr shl bfe prmt add sub min max");
        if (!part || depth == 0) continue;
        for (int k = 0; k < (to->kind == PTX_OP_REG ? 1 : to->n_elems); k++) {
            const PtxOperand *one = to->kind == PTX_OP_REG ? to : &to->elems[k];
            if (one->kind == PTX_OP_REG && one->reg != reg && is_tested(d, one->reg, depth - 1))
                return true;
        }
    }
    return false;
}

/* Is a register compared with something, or what it was copied to, or a part of it or a sum, in so
** many steps at most? Found out once. */
static bool is_tested(Decoder *d, int reg, int depth) {
    uint8_t *known = &d->readers.tested[reg][depth];
    if (*known == 0) *known = find_test(d, reg, depth) ? 1 : 2;
    return *known == 1;
}

static bool is_any_tested(Decoder *d, const PtxOperand *loaded) {
    find_readers(d);
    if (loaded->kind == PTX_OP_REG) return is_tested(d, loaded->reg, MOST_COPIES);
    for (int k = 0; k < loaded->n_elems; k++)
        if (is_any_tested(d, &loaded->elems[k])) return true;
    return false;
}

static bool is_same_address(const PtxOperand *a, const PtxOperand *b) {
    if (a->n_elems != 1 || b->n_elems != 1 || a->offset != b->offset) return false;
    const PtxOperand *x = &a->elems[0], *y = &b->elems[0];
    if (x->kind != y->kind || x->offset != y->offset) return false;
    return x->kind == PTX_OP_REG ? x->reg == y->reg : x->kind == PTX_OP_SYMBOL && x->var == y->var;
}

/* Does a compare-and-swap at an address expect what is in a register, or a copy of it by so many
** moves at most? `left` readers are looked at: where they are more, this is not known. */
static bool is_expected_of(const Decoder *d, const PtxOperand *at, int reg, int depth, int *left) {
    const Readers *r = &d->readers;
    for (int k = r->first[reg]; k < r->first[reg + 1] && --*left >= 0; k++) {
        const PtxInstr *in = &d->func->code[r->at[k]];
        const PtxOperand *to = &in->args[0];
        if (ptx_is(in, "atom") && ptx_has_mod(in, "cas") && in->n_args == 4 &&
            to[2].kind == PTX_OP_REG && to[2].reg == reg && is_same_address(at, &to[1]))
            return true;
        if (depth > 0 && ptx_is(in, "mov") && to->kind == PTX_OP_REG && to->reg != reg &&
            is_expected_of(d, at, to->reg, depth - 1, left))
            return true;
    }
    return false;
}

/* Is what is loaded what a compare-and-swap at the same address expects? A value that is old by
** then is not swapped. */
static bool is_expected(Decoder *d, const PtxOperand *at, const PtxOperand *loaded) {
    int left = MOST_READERS;
    if (!d->has_cas || loaded->kind != PTX_OP_REG) return false;
    find_readers(d);
    return is_expected_of(d, at, loaded->reg, MOST_COPIES, &left);
}

static bool decode_access(Decoder *d, Use use, bool is_store) {
    MemForm f = {.is_store = is_store, .is_repeat = d->is_repeat[d->index]};
    const PtxInstr *in = d->in;
    PtxType type;
    Bound bound;
    if (in->n_args < 2) return decode_unknown(d);
    const PtxOperand *at = &in->args[is_store ? 0 : 1], *regs = &in->args[is_store ? 1 : 0];
    if (!mem_mods(d, &f, &type)) return false;
    if (is_store && f.space == PTX_CONST) return decode_fail(d, "constant memory is read-only");
    if (is_store && in->guard >= 0 && at->n_elems == 1 && at->elems[0].var &&
        bound_is_call_param(d, at->elems[0].var))
        return decode_fail(d, "a call's parameter is stored without a guard");
    if (!bound_of(d, use, (PtxSpace)f.space, at, &bound) || !mem_registers(d, &f, regs, type))
        return false;
    f.bound = (uint8_t)bound;
    f.order = order_of(in);
    if (!is_store && f.order & ORDER_VOLATILE && is_any_tested(d, regs)) f.order |= ORDER_TESTED;
    if (!is_store && is_expected(d, at, regs)) f.order |= ORDER_EXPECTED;
    if (f.space == PTX_PARAM && at->elems[0].kind == PTX_OP_SYMBOL) return known_param(d, &f, at);
    if (known_const(d, &f, at)) {
        note_uniform(d, regs);
        return true;
    }
    if (!address(d, at, &f.base, &f.wide_base, &f.offset)) return false;
    locals_of(d, &at->elems[0], &f);
    return emit_memory(d, &f);
}

static bool decode_ld(Decoder *d) {
    return decode_access(d, ptx_is(d->in, "ldu") ? USE_LOAD_UNIFORM : USE_LOAD, false);
}

/* st.async and red.async of global memory, of sm_100 on. They are done when they are issued, as the
** plain instructions are: one of the times at which a GPU may do them. */
static bool decode_async(Decoder *d, bool (*plain)(Decoder *d)) {
    static const char red[] = "async ?mmio relaxed|release gpu|sys ?global "
                              "add|min|max|inc|dec|and|or|xor u32|s32|u64|s64|b32";
    static const char st[] = "async ?mmio|weak ?release ?gpu|sys ?global "
                             "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64";
    const PtxInstr *whole = d->in;
    const char *mods[8];
    PtxInstr in = *whole;
    bool is_red = ptx_is(whole, "red"), mmio = mod_is(d, 1, "mmio");
    bool orders = has_mod(d, "release"), scope = has_mod(d, "gpu sys");
    if (has_mod(d, "shared::cluster")) return decode_store_async(d);
    if (!decode_mods_match(d, is_red ? red : st) || whole->n_args != 2 || (mmio && !orders) ||
        (!is_red && orders != scope) || (orders && has_mod(d, "weak")))
        return decode_unknown(d);
    if (is_red && mod_is(d, LAST, "u64 s64") && !has_mod(d, "add"))
        return decode_unknown(d);
    if (!decode_has(d, 87, 100)) return false;
    in.mods = mods, in.n_mods = 0;
    for (int i = 1 + mmio; i < whole->n_mods; i++) mods[in.n_mods++] = whole->mods[i];
    if (is_red && mod_is(d, LAST, "s64")) mods[in.n_mods - 1] = "u64";
    d->in = &in;
    bool fine = plain(d);
    d->in = whole;
    return fine;
}

static bool decode_st(Decoder *d) {
    if (mod_is(d, 0, "async")) return decode_async(d, decode_st);
    return decode_access(d, USE_STORE, true);
}

/* --- atomics --- */

static uint64_t lane_value(const Warp *w, uint32_t row, unsigned size, int i) {
    if (size == 8) return ((const U64 *)(const void *)row_at(w, row))[i];
    return ((const U32 *)(const void *)row_at(w, row))[i];
}

void atom_cost(Machine *m, Warp *w, const AtomForm *f, const uint64_t *at, uint32_t lanes) {
    uint32_t shared = 0, global = 0;
    uint64_t place[LANES];
    for (uint32_t left = lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        bool is = f->space == PTX_SHARED || at[i] >> ID_SHIFT == ID_SHARED;
        *(is ? &shared : &global) |= 1u << i;
        const Alloc *a = is ? NULL : alloc_of(m->emu, at[i]);
        place[i] = a ? alloc_place(a, at[i]) : at[i];
    }
    if (shared) cost_atomic(m, w, place, shared, true, NULL, atom_how(f));
    if (global) cost_atomic(m, w, place, global, false, NULL, atom_how(f));
}

bool atom_by_lanes(Machine *m, Warp *w, const Ins *in) {
    AtomForm f;
    uint64_t at[LANES];
    uint32_t done = w->active;
    uint64_t seen = 0;
    memcpy(&f, &in->imm, sizeof f);
    mem_addresses(w, in->a, f.wide_base, 0, at);
    if (m->shadow) shadow_step(m);
    for (uint32_t left = w->active; left;) {
        int i = lane_next(m, &left);
        m->undefined.bytes = 0;
        Access a = {m, w, in, i, (PtxSpace)f.space, at[i], f.size, true, f.order};
        uint8_t *p = mem_atomic(&a);
        if (m->ended) return false;
        if (p == NULL) {
            done &= ~(1u << i);
            continue;
        }
        uint64_t old = 0, b = lane_value(w, in->b, f.size, i), c = lane_value(w, in->c, f.size, i);
        memcpy(&old, p, f.size);
        bool shared = f.space == PTX_SHARED || at[i] >> ID_SHIFT == ID_SHARED;
        uint64_t now = atom_value((AtomOp)f.op, (PtxType)f.type, old, b, c, shared);
        if (!mem_look_at(&a, p, &now)) return false;
        memcpy(p, &now, f.size);
        if (m->follows && (m->undefined.bytes || undefined_any(w)))
            undefined_atomic(m, w, in, i, at[i]);
        if (m->launch->exact) exact_atomic(m, w, in, i, at[i], old);
        if (now != old) w->moved = true;
        w->beyond |= !shared && f.is_read;
        seen = (seen ^ at[i] ^ old) * 0xd6e8feb86659fd93u;
        if (!f.is_read) continue;
        if (f.size == 8) ((U64 *)(void *)row_at(w, in->d))[i] = old;
        else ((U32 *)(void *)row_at(w, in->d))[i] = (uint32_t)old;
    }
    if (f.is_read) warp_saw(w, in, seen, (PtxSpace)f.space, at[__builtin_ctz(w->active)]);
    atom_cost(m, w, &f, at, done);
    return true;
}

static bool atom_type_fits(AtomOp op, PtxType type) {
    switch (op) {
    case ATOM_ADD:
        return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_F32 ||
               type == PTX_F64 || (type >= PTX_F16 && type <= PTX_BF16X2);
    case ATOM_MIN:
    case ATOM_MAX: return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
    case ATOM_INC:
    case ATOM_DEC: return type == PTX_U32;
    case ATOM_CAS: return type == PTX_B16 || type == PTX_B32 || type == PTX_B64 || type == PTX_B128;
    case ATOM_EXCH: return type == PTX_B32 || type == PTX_B64 || type == PTX_B128;
    default: return type == PTX_B32 || type == PTX_B64;
    }
}

/* What an atomic's words are besides its operation: ptxas has no others, and halves say noftz. */
static bool atom_words_agree(const Decoder *d, const Words *w, AtomOp op, PtxType type) {
    bool half = type >= PTX_F16 && type <= PTX_BF16X2, red = ptx_is(d->in, "red");
    const char *order = w->of[KIND_ORDER];
    if (ptx_word_in(order, red ? "weak volatile acquire acq_rel" : "weak volatile")) return false;
    if (red && (op == ATOM_EXCH || op == ATOM_CAS)) return false;
    for (int k = KIND_CACHE; k < KIND_NOFTZ; k++)
        if (w->of[k][0] && k != KIND_POLICY) return false;
    if (op == ATOM_CAS && w->of[KIND_POLICY][0]) return false;
    if (!hints_agree(w, space_of(w))) return false;
    return half == (w->of[KIND_NOFTZ][0] != 0);
}

/* n: the elements of a vector, where it is one. */
static bool atom_mods(Decoder *d, AtomOp *op, PtxType *type, PtxSpace *space, int *n) {
    static const char *const ops[] = {"add", "min",  "max", "inc", "dec",
                                      "cas", "exch", "and", "or",  "xor"};
    const PtxInstr *in = d->in;
    Words w = no_words();
    bool have_op = false;
    const char *vector = ptx_mod(in, -2);
    *n = ptx_word_in(vector, "v2 v4 v8") ? vector[1] - '0' : 1;
    for (int i = 0; i < in->n_mods - 1 - (*n > 1); i++) {
        const char *mod = in->mods[i];
        bool known = take_word(&w, mod);
        for (int k = 0; k < 10 && !known && !have_op; k++)
            if (strcmp(ops[k], mod) == 0) *op = (AtomOp)k, have_op = known = true;
        if (!known) return decode_unknown(d);
    }
    if (!have_op || !ptx_type_parse(mod_at(d, LAST), type)) return decode_unknown(d);
    bool half = *type >= PTX_F16 && *type <= PTX_BF16X2,
         minmax = *op == ATOM_MIN || *op == ATOM_MAX;
    if (!(atom_type_fits(*op, *type) || (half && minmax && *n > 1))) return decode_unknown(d);
    bool fits = *op == ATOM_ADD ? half || *type == PTX_F32 : half && minmax;
    bool small = *n * (int)ptx_type_size(*type) <= 16;
    *space = space_of(&w);
    if (*n > 1 && (!fits || !small || *space != PTX_GLOBAL)) return decode_unknown(d);
    if (!atom_words_agree(d, &w, *op, *type)) return decode_unknown(d);
    return policy_agrees(d, &w, 2 + (in->opcode[0] == 'a') + (*op == ATOM_CAS));
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

bool decode_address(Decoder *d, Use use, const PtxOperand *op, PtxSpace space, int which,
                    uint32_t *row, bool *wide) {
    int64_t offset = 0;
    Bound bound;
    if (!bound_of(d, use, space, op, &bound) || !address(d, op, row, wide, &offset)) return false;
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
    if (!decode_address(d, USE_ATOMIC, &args[0], PTX_GLOBAL, 0, &base, &wide)) return false;
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
    PtxSpace space = PTX_GENERIC;
    int n = 1;
    if (mod_is(d, 0, "async")) return decode_async(d, decode_atomic);
    if (!atom_mods(d, &op, &type, &space, &n)) return false;
    bool returns = in->opcode[0] == 'a';
    char letter = atom_letter(type);
    AtomForm f = {.op = (uint8_t)op,
                  .type = (uint8_t)type,
                  .space = (uint8_t)space,
                  .wide_base = true,
                  .is_read = returns && decode_is_read(d, &in->args[0]),
                  .size = (uint8_t)ptx_type_size(type),
                  .order = order_of(in) | ORDER_ATOMIC | ORDER_STRONG};
    if (!f.is_read) f.order |= ORDER_BLIND;
    if (op == ATOM_CAS) f.order |= ORDER_SWAP;
    if (!f.is_read && in->n_args > returns + 1) {
        const PtxOperand *to = &in->args[returns], *what = &in->args[returns + 1];
        if (op == ATOM_ADD && what->kind == PTX_OP_IMM) f.order |= ORDER_COUNTS;
        if (!decode_is_apart(d, to)) f.order |= ORDER_ONE_PLACE;
    }
    d->cost[d->index] = space == PTX_SHARED ? COST_ATOMIC_SHARED : COST_ATOMIC;
    if (n > 1) return vector_atomic(d, f, n, returns);
    if (type == PTX_B128) return decode_atomic_128(d, &f);
    uint32_t to = 0, base, b, c;
    bool wide;
    const PtxOperand *args = in->args + returns;
    if (!decode_address(d, USE_ATOMIC, &args[0], space, 0, &base, &wide)) return false;
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
