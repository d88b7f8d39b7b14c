/* cost.c - see cost.h. */
#include "emu/cost/cost.h"

#include "emu/cost/atom_cost.h"
#include "emu/cost/banks.h"
#include "emu/core.h"
#include "emu/cost/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How long until a dependent instruction can issue: one of the model's latencies. */
typedef enum Wait {
    WAIT_NONE,
    WAIT_ALU,
    WAIT_MUL,
    WAIT_FP64,
    WAIT_SPECIAL,
    WAIT_SHARED,
    WAIT_L1,
    WAIT_TEXTURE,
    WAIT_CONSTANT,
    WAIT_ATOMIC,
    WAIT_BARRIER,
    WAIT_TENSOR,
    WAITS
} Wait;

/* What a PTX instruction of each class becomes: issue slots (machine instructions), the pipe that
** works on `share` of them (FP32 and integer work is counted where it runs), the result's wait and
** how many such waits follow each other. From what ptxas emits for sm_80 and sm_90. */
typedef struct ClassCost {
    double slots;
    CostPipe pipe;
    double share;
    CostPipe pipe2;
    double share2;
    Wait wait;
    double waits;
} ClassCost;

static const ClassCost class_cost[COST_CLASSES] = {
    [COST_FREE] = {0, PIPE_ISSUE, 0, PIPE_ISSUE, 0, WAIT_NONE, 0},
    [COST_ALU] = {1, PIPE_INT, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_ALU64] = {2, PIPE_INT, 2, PIPE_ISSUE, 0, WAIT_ALU, 2},
    [COST_FP32] = {1, PIPE_FP32, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_FP64] = {1, PIPE_FP64, 1, PIPE_ISSUE, 0, WAIT_FP64, 1},
    [COST_FP16] = {1, PIPE_FP16, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_MUL] = {1, PIPE_MUL, 1, PIPE_ISSUE, 0, WAIT_MUL, 1},
    [COST_MUL_WIDE] = {1, PIPE_MUL, 1, PIPE_ISSUE, 0, WAIT_MUL, 1},
    [COST_MUL_HI] = {2, PIPE_MUL, 2, PIPE_ISSUE, 0, WAIT_MUL, 2},
    [COST_MUL64] = {4, PIPE_MUL, 3, PIPE_INT, 1, WAIT_MUL, 3},
    [COST_SHIFT64] = {3, PIPE_INT, 3, PIPE_ISSUE, 0, WAIT_ALU, 2},
    [COST_SPECIAL] = {1, PIPE_SPECIAL, 1, PIPE_ISSUE, 0, WAIT_SPECIAL, 1},
    [COST_SPECIAL2] = {3, PIPE_SPECIAL, 1, PIPE_FP32, 2, WAIT_SPECIAL, 1.5},
    [COST_CONVERT] = {1, PIPE_CONVERT, 1, PIPE_ISSUE, 0, WAIT_SPECIAL, 1},
    [COST_CONVERT64] = {1, PIPE_CONVERT, 4, PIPE_ISSUE, 0, WAIT_SPECIAL, 1.5},
    [COST_BITS] = {1, PIPE_CONVERT, 4, PIPE_ISSUE, 0, WAIT_SPECIAL, 1},
    [COST_LANES] = {11, PIPE_INT, 9, PIPE_MUL, 2, WAIT_ALU, 7},
    [COST_LANES_SIGNED] = {18, PIPE_INT, 13, PIPE_MUL, 5, WAIT_ALU, 9},
    [COST_BRANCH] = {1, PIPE_BRANCH, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_CALL] = {4, PIPE_BRANCH, 2, PIPE_INT, 2, WAIT_ALU, 4},
    [COST_BARRIER] = {1, PIPE_BRANCH, 1, PIPE_ISSUE, 0, WAIT_ALU, 1},
    [COST_FENCE] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_L1, 1},
    [COST_SLEEP] = {1, PIPE_BRANCH, 1, PIPE_ISSUE, 0, WAIT_L1, 1},
    [COST_IDIV32] = {18, PIPE_INT, 10, PIPE_MUL, 5, WAIT_ALU, 18},
    [COST_IDIV64] = {75, PIPE_INT, 45, PIPE_MUL, 24, WAIT_ALU, 75},
    [COST_FDIV] = {9, PIPE_FP32, 8, PIPE_SPECIAL, 1, WAIT_ALU, 11},
    [COST_FDIV_FAST] = {3, PIPE_FP32, 2, PIPE_SPECIAL, 1, WAIT_ALU, 7},
    [COST_FSQRT] = {8, PIPE_FP32, 7, PIPE_SPECIAL, 1, WAIT_ALU, 10},
    [COST_FRCP] = {5, PIPE_FP32, 4, PIPE_SPECIAL, 1, WAIT_ALU, 8},
    [COST_DDIV] = {10, PIPE_FP64, 8, PIPE_SPECIAL, 1, WAIT_FP64, 9},
    [COST_DSQRT] = {10, PIPE_FP64, 8, PIPE_SPECIAL, 1, WAIT_FP64, 9},
    [COST_DRCP] = {8, PIPE_FP64, 6, PIPE_SPECIAL, 1, WAIT_FP64, 7},
    [COST_SHUFFLE] = {1, PIPE_SHUFFLE, 1, PIPE_ISSUE, 0, WAIT_SHARED, 1},
    [COST_VOTE] = {1, PIPE_INT, 1, PIPE_ISSUE, 0, WAIT_ALU, 2},
    [COST_REDUX] = {1, PIPE_SHUFFLE, 2, PIPE_ISSUE, 0, WAIT_SHARED, 1},
    [COST_LD_SHARED] = {1, PIPE_SHARED, 1, PIPE_ISSUE, 0, WAIT_SHARED, 1},
    [COST_ST_SHARED] = {1, PIPE_SHARED, 1, PIPE_ISSUE, 0, WAIT_NONE, 0},
    [COST_LD_GLOBAL] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_L1, 1},
    [COST_ST_GLOBAL] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_NONE, 0},
    [COST_LD_LOCAL] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_L1, 1},
    [COST_ST_LOCAL] = {1, PIPE_GLOBAL, 1, PIPE_ISSUE, 0, WAIT_NONE, 0},
    [COST_LD_CONST] = {1, PIPE_ISSUE, 0, PIPE_ISSUE, 0, WAIT_CONSTANT, 1},
    [COST_ATOMIC] = {1, PIPE_ATOMIC, 1, PIPE_ISSUE, 0, WAIT_ATOMIC, 1},
    [COST_ATOMIC_SHARED] = {2, PIPE_SHARED, 2, PIPE_ISSUE, 0, WAIT_SHARED, 2},
    [COST_TEX] = {1, PIPE_TEXTURE, 1, PIPE_ISSUE, 0, WAIT_TEXTURE, 1},
    [COST_MATRIX] = {1, PIPE_TENSOR, 0, PIPE_ISSUE, 0, WAIT_TENSOR, 1},
    [COST_PRINT] = {100, PIPE_GLOBAL, 20, PIPE_INT, 80, WAIT_ATOMIC, 2},
};

static double wait_clocks(const EmuModel *m, Wait w) {
    switch (w) {
    case WAIT_ALU: return m->latency_alu;
    case WAIT_MUL: return m->latency_mul;
    case WAIT_FP64: return m->latency_fp64;
    case WAIT_SPECIAL: return m->latency_special;
    case WAIT_SHARED: return m->latency_shared;
    case WAIT_L1: return m->latency_l1;
    case WAIT_TEXTURE: return m->latency_texture;
    case WAIT_CONSTANT: return m->latency_constant;
    case WAIT_ATOMIC: return m->latency_atomic;
    case WAIT_BARRIER: return m->latency_barrier;
    case WAIT_TENSOR: return m->latency_tensor;
    default: return 0;
    }
}

/* --- static cost: a scoreboard over each basic block --- */

typedef struct Scoreboard {
    double *ready; /* per register of the function: when its value can be used */
    double clock, last;
    int *dirty; /* registers set in this block */
    int n_dirty, cap_dirty;
} Scoreboard;

static void wait_for(Scoreboard *s, const PtxOperand *op) {
    if (op->kind == PTX_OP_REG && s->ready[op->reg] > s->clock) s->clock = s->ready[op->reg];
    for (int i = 0; i < op->n_elems; i++) wait_for(s, &op->elems[i]);
}

static void result_at(Scoreboard *s, const PtxOperand *op, double when) {
    if (op->kind == PTX_OP_REG) {
        gi_grow(s->dirty, s->n_dirty, s->cap_dirty);
        s->dirty[s->n_dirty++] = op->reg;
        s->ready[op->reg] = when;
        if (when > s->last) s->last = when;
    }
    for (int i = 0; i < op->n_elems; i++) result_at(s, &op->elems[i], when);
}

static double step(Scoreboard *s, const EmuModel *model, const PtxInstr *in, const ClassCost *c) {
    for (int k = 0; k < in->n_args; k++)
        if (!ptx_is_dest(in, k) || in->args[k].kind == PTX_OP_ADDR) wait_for(s, &in->args[k]);
    if (in->guard >= 0 && s->ready[in->guard] > s->clock) s->clock = s->ready[in->guard];
    double issued = s->clock, when = issued + c->waits * wait_clocks(model, c->wait);
    for (int k = 0; k < in->n_args; k++)
        if (ptx_is_dest(in, k)) result_at(s, &in->args[k], when);
    s->clock += c->slots;
    if (s->clock > s->last) s->last = s->clock;
    return issued;
}

static void add_class(CostBlock *b, const ClassCost *c) {
    b->pipe[PIPE_ISSUE] += c->slots;
    if (c->share > 0) b->pipe[c->pipe] += c->share;
    if (c->share2 > 0) b->pipe[c->pipe2] += c->share2;
    b->n++;
}

void cost_blocks(const EmuModel *model, const PtxFunc *f, const PtxCfg *cfg, const uint8_t *cls,
                 CostBlock *block, float *clock) {
    Scoreboard s = {.ready = gi_alloc((size_t)(f->n_regs + 1) * sizeof(double))};
    for (int b = 0; b < cfg->n_blocks; b++) {
        s.clock = s.last = 0;
        for (int i = cfg->first[b]; i < cfg->first[b + 1]; i++) {
            clock[i] = (float)step(&s, model, &f->code[i], &class_cost[cls[i]]);
            add_class(&block[b], &class_cost[cls[i]]);
        }
        block[b].latency = s.last;
        for (int i = cfg->first[b]; i < cfg->first[b + 1]; i++) clock[i] -= (float)s.last;
        while (s.n_dirty > 0) s.ready[s.dirty[--s.n_dirty]] = 0;
    }
    free(s.ready);
    free(s.dirty);
}

/* --- occupancy --- */

static double round_up(double x, double unit) {
    return unit > 0 ? ceil(x / unit) * unit : x;
}

int cost_resident(const EmuModel *m, int threads, int registers, size_t shared_bytes) {
    double warps = ceil(threads / 32.0);
    double per_warp = round_up(registers * 32.0, m->register_unit);
    double n = m->max_blocks_per_sm;
    n = fmin(n, floor(m->max_threads_per_sm / (warps * 32)));
    if (per_warp > 0) n = fmin(n, floor(m->registers_per_sm / (per_warp * warps)));
    double shared = round_up((double)shared_bytes, m->shared_unit);
    if (shared > 0) n = fmin(n, floor(m->shared_per_sm / shared));
    return n < 0 ? 0 : (int)n;
}

/* --- one launch --- */

void cost_begin(Machine *m, int resident, int spilled) {
    const EmuModel *model = m->model;
    Cost *c = &m->cost;
    double left = model->l1_bytes_per_sm - (double)resident * m->shared_bytes;
    double lines = left / resident / 128;
    c->count = gi_alloc((size_t)(m->mod->n_blocks + 1) * sizeof *c->count);
    c->l1_lines = lines < 16 ? 16 : (uint32_t)lines;
    c->l1 = gi_alloc(c->l1_lines * sizeof *c->l1);
    double overlap = model->memory_parallelism > 0 ? model->memory_parallelism : 1;
    c->miss_l2 = fmax(0, model->latency_l2 - model->latency_l1) / overlap;
    c->miss_dram = fmax(0, model->latency_dram - model->latency_l1) / overlap;
    c->spilled = spilled;
    for (; m->emu->n_met > 0; m->emu->n_met--) {
        Alloc *a = &m->emu->alloc[m->emu->met[m->emu->n_met - 1]];
        if (a->touched) memset(a->touched, 0, a->touched_words * sizeof *a->touched);
        a->order = 0;
        a->reach = 0;
    }
}

void cost_begin_beside(Machine *m, const Machine *like) {
    const Cost *from = &like->cost;
    m->cost = (Cost){.l1_lines = from->l1_lines,
                     .miss_l2 = from->miss_l2,
                     .miss_dram = from->miss_dram,
                     .spilled = from->spilled,
                     .count = gi_alloc((size_t)(m->mod->n_blocks + 1) * sizeof *from->count),
                     .l1 = gi_alloc(from->l1_lines * sizeof *from->l1)};
}

void cost_move(Machine *m, Machine *from) {
    Cost *to = &m->cost, *c = &from->cost;
    for (int i = 0; i < m->mod->n_blocks; i++) {
        to->count[i].runs += c->count[i].runs;
        to->count[i].lanes += c->count[i].lanes;
        c->count[i] = (CostCount){0};
    }
    for (int k = 0; k < PIPES; k++) to->extra[k] += c->extra[k], c->extra[k] = 0;
    to->l2_sectors += c->l2_sectors;
    c->l2_sectors = 0;
}

void cost_forget(Machine *m) {
    Cost *c = &m->cost;
    memset(c->count, 0, (size_t)(m->mod->n_blocks + 1) * sizeof *c->count);
    memset(c->extra, 0, sizeof c->extra);
    c->l2_sectors = c->dram_sectors = 0;
}

void cost_free(Cost *c) {
    free(c->count);
    free(c->l1);
}

void cost_block_begin(Machine *m) {
    Cost *c = &m->cost;
    memset(c->l1, 0, c->l1_lines * sizeof *c->l1);
    c->epoch++;
    c->state++;
}

void cost_block_end(Machine *m) {
    double slowest = 0;
    if (m->view) {
        view_meet(m, m->n_warps < LANES ? (1u << m->n_warps) - 1 : FULL_MASK, TRACE_END);
        return;
    }
    for (int i = 0; i < m->n_warps; i++)
        if (m->warp[i].clock > slowest) slowest = m->warp[i].clock;
    cost_block_took(m, slowest);
}

void cost_block_took(Machine *m, double slowest) {
    Cost *c = &m->cost;
    slowest += m->model->block_ticks + c->spilled * m->model->latency_l1;
    c->extra[PIPE_GLOBAL] += 3.0 * c->spilled * m->n_warps;
    c->extra[PIPE_ISSUE] += 3.0 * c->spilled * m->n_warps;
    c->sum_latency += slowest;
    if (slowest > c->max_latency) c->max_latency = slowest;
    c->blocks++;
}

void cost_meet(Machine *m, Alloc *a) {
    Emu *e = m->emu;
    if (m->view) { /* which number it gets depends on the blocks before */
        view_leave(m, VIEW_LEFT);
        return;
    }
    a->order = ++m->cost.order;
    gi_grow(e->met, e->n_met, e->cap_met);
    e->met[e->n_met++] = (int)(a - e->alloc);
    if (a->touched) return;
    a->touched_words = (size_t)(a->size / 32 / 64 + 2);
    a->touched = gi_alloc(a->touched_words * sizeof *a->touched);
}

static inline uint32_t count4(uint32_t bits) { /* set bits among four */
    static const uint8_t count[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    return count[bits];
}

/* Marks sectors of one 128-byte line of an allocation as seen in this launch; how many were not
** seen before. */
static inline uint32_t touch(Machine *m, Alloc *a, uint64_t line, uint32_t sectors, bool is_load) {
    if (m->view) return view_touch(m, a, line, sectors, is_load);
    uint64_t first = (line << 2) & (OFFSET_MASK >> 5);
    if (first / 64 >= a->touched_words) return 0;
    uint64_t bits = (uint64_t)sectors << (first & 63), old = a->touched[first / 64];
    a->touched[first / 64] = old | bits;
    return count4((uint32_t)((bits & ~old) >> (first & 63)));
}

uint64_t emu_touched(const Emu *e, int i, unsigned *how) {
    for (int k = 0; k < e->n_met; k++) {
        const Alloc *a = &e->alloc[e->met[k]];
        if (a->is_hidden || i-- != 0) continue;
        *how = a->reach;
        if (a->address == e->workspace) *how &= ~(unsigned)EMU_READ; /* each launch clears it */
        return a->address;
    }
    return 0;
}

/* The allocation a line lies in; NULL for local memory. */
static inline Alloc *alloc_of_line(Machine *m, uint64_t line) {
    uint64_t id = line >> (ID_SHIFT - 7);
    if (id >= (uint64_t)m->emu->n_alloc) return NULL;
    Alloc *a = &m->emu->alloc[id];
    if (a->order == 0) cost_meet(m, a);
    return a;
}

/* What the L1 does not have travels from L2, and for the first time from DRAM: sectors in the low
** and in the high half of the result. Without branches on what is found, for hits and misses follow
** each other unpredictably. `a` is the line's, or NULL: these sectors came from DRAM before. */
static inline uint32_t fetch_entry(Machine *m, CostLine *e, CostLine want, Alloc *a,
                                   uint64_t *state) {
    CostLine old = *e, kept = (old ^ want) <= CACHED_SECTORS ? old : 0;
    uint32_t missing = (uint32_t)(want & ~kept) & CACHED_SECTORS;
    *state += old != kept; /* another line leaves */
    *e = want | kept;
    return count4(missing) | (a ? touch(m, a, want >> 4, missing, true) : 0) << 16;
}

/* Under which a line is found: independent of the history of allocations. */
static inline uint64_t line_name(const Alloc *a, uint64_t line) {
    return a ? (line & (OFFSET_MASK >> 7)) | (uint64_t)a->order << (ID_SHIFT - 7) : line;
}

static inline uint32_t fetch_line(Machine *m, Alloc *a, uint64_t line, uint32_t sectors) {
    uint64_t name = line_name(a, line);
    Cost *c = &m->cost;
    return fetch_entry(m, &c->l1[l1_place(c, name)], name << 4 | sectors, a, &c->state);
}

/* Adds sectors from L2 (low half) and DRAM (high half); says how far the data came, as above. */
static inline int add_sectors(Cost *c, uint32_t moved) {
    c->l2_sectors += moved & 0xffff;
    c->dram_sectors += moved >> 16;
    return (moved != 0) + (moved >> 16 != 0);
}

/* A store goes through to L2 whatever the L1 holds. */
static inline uint32_t store_line(Machine *m, Alloc *a, uint64_t line, uint32_t sectors) {
    return count4(sectors) | (a ? touch(m, a, line, sectors, false) : 0) << 16;
}

static inline uint32_t traffic(Machine *m, Alloc *a, CostKind kind, uint64_t line,
                               uint32_t sectors) {
    if (kind == COST_KIND_STORE || kind == COST_KIND_ATOMIC) return store_line(m, a, line, sectors);
    return fetch_line(m, a, line, sectors);
}

void cost_range(Machine *m, Warp *w, uint64_t address, uint64_t bytes, CostKind kind) {
    uint64_t first = address >> 5, last = (address + bytes - 1) >> 5;
    Alloc *a = alloc_of_line(m, first >> 2);
    uint32_t moved = 0;
    for (uint64_t line = first >> 2; line <= last >> 2; line++) {
        uint32_t sectors = 15;
        if (line == first >> 2) sectors &= 15u << (first & 3);
        if (line == last >> 2) sectors &= 15u >> (3 - (last & 3));
        moved += traffic(m, a, kind, line, sectors);
    }
    int from = add_sectors(&m->cost, moved);
    count_sectors(m, kind, last - first + 1, (last >> 2) - (first >> 2) + 1);
    wait_for_memory(m, w, kind, from);
}

/* --- texture units: clocks of a fetch, quad by quad (measured: tests/gpu/rates.lua) --- */

enum { QUADS = LANES / 4 };

/* Which 16 bytes the lanes want, quad beside quad, so that one loop does all of them. A lane that
** is off wants what another of its quad wants. (Of an allocation below 64 GB, 32 bits tell all.) */
static void quads_of(const uint64_t at[LANES], uint32_t mask, int32_t want[4][QUADS]) {
    for (int q = 0; q < QUADS; q++) {
        uint32_t on = mask >> (4 * q) & 15;
        int other = on ? __builtin_ctz(on) : 0;
        for (int j = 0; j < 4; j++)
            want[j][q] = (int32_t)(at[4 * q + (on >> j & 1 ? j : other)] >> 4);
    }
}

/* Of each quad, the most values of want >> shift that differ but are equal modulo a power of 2. */
static void most_rivals(int32_t want[4][QUADS], int shift, int32_t modulus, int32_t most[QUADS]) {
    int32_t v[4][QUADS], is_first[4][QUADS];
    for (int j = 0; j < 4; j++) {
        for (int q = 0; q < QUADS; q++) v[j][q] = want[j][q] >> shift, is_first[j][q] = 1;
        for (int k = 0; k < j; k++)
            for (int q = 0; q < QUADS; q++) is_first[j][q] &= v[k][q] != v[j][q];
    }
    memset(most, 0, QUADS * sizeof *most);
    for (int i = 0; i < 4; i++) {
        int32_t n[QUADS] = {0};
        for (int j = 0; j < 4; j++)
            for (int q = 0; q < QUADS; q++)
                n[q] += is_first[j][q] & (((v[i][q] ^ v[j][q]) & (modulus - 1)) == 0);
        for (int q = 0; q < QUADS; q++) most[q] = n[q] > most[q] ? n[q] : most[q];
    }
}

/* Of 16 bytes a lane: lines share a tag bank when equal modulo 4, texels a data bank when in the
** same 16 bytes of their lines. A half warp with a lane takes four clocks at least. */
static double wide_clocks(const uint64_t at[LANES], uint32_t mask) {
    int32_t want[4][QUADS], tags[QUADS], banks[QUADS];
    quads_of(at, mask, want);
    most_rivals(want, 3, 4, tags);
    most_rivals(want, 0, 8, banks);
    double sum = 0;
    for (int half = 0; half < QUADS; half += QUADS / 2) {
        int clocks = 0;
        if ((mask >> (4 * half) & 0xffff) == 0) continue;
        for (int q = half; q < half + QUADS / 2; q++)
            if (mask >> (4 * q) & 15) clocks += tags[q] > banks[q] ? tags[q] : banks[q];
        sum += clocks < 4 ? 4 : clocks;
    }
    return sum;
}

static bool are_apart(const uint64_t at[LANES], uint32_t mask, int i) {
    uint64_t low = at[i] < at[i + 1] ? at[i] : at[i + 1], high = at[i] ^ at[i + 1] ^ low;
    return (mask >> i & 3) == 3 && high - low >= 16;
}

/* Of fewer bytes: half a clock for each line of a quad, or for two lanes that are apart. Eight
** lanes take a clock at least, a warp four. */
static double narrow_clocks(const uint64_t at[LANES], uint32_t mask) {
    int32_t want[4][QUADS], lines[QUADS];
    quads_of(at, mask, want);
    most_rivals(want, 3, 1, lines);
    double sum = 0;
    for (int eight = 0; eight < LANES; eight += 8) {
        double clocks = 0;
        if ((mask >> eight & 0xff) == 0) continue;
        for (int first = eight; first < eight + 8; first += 4) {
            if ((mask >> first & 15) == 0) continue;
            int pairs = 1 + (are_apart(at, mask, first) || are_apart(at, mask, first + 2));
            clocks += 0.5 * (lines[first / 4] > pairs ? lines[first / 4] : pairs);
        }
        sum += fmax(clocks, 1);
    }
    return fmax(sum, 4);
}

/* What a fetch of lanes that touch `lines` lines costs beyond 1 / rate_texture clocks, in these. */
static double texture_passes(const uint64_t at[LANES], uint32_t mask, unsigned bytes, int lines) {
    double clocks = 4;
    if (bytes >= 16) clocks = wide_clocks(at, mask);
    else if (lines > 1) clocks = narrow_clocks(at, mask);
    return clocks / 4 - 1;
}

void cost_lines(Machine *m, Warp *w, const LineSet *set, CostKind kind) {
    uint32_t moved = 0;
    uint64_t sectors = 0, id = UINT64_MAX;
    Alloc *a = NULL;
    for (int i = 0; i < set->n; i++) {
        if (set->line[i] >> (ID_SHIFT - 7) != id) {
            id = set->line[i] >> (ID_SHIFT - 7);
            a = alloc_of_line(m, set->line[i]);
        }
        moved += traffic(m, a, kind, set->line[i], set->sectors[i]);
        sectors += count4(set->sectors[i]);
    }
    int from = add_sectors(&m->cost, moved);
    count_sectors(m, kind, sectors, (uint64_t)set->n);
    wait_for_memory(m, w, kind, from);
}

void cost_lanes(Machine *m, Warp *w, const uint64_t at[LANES], uint32_t mask, CostKind kind) {
    LineSet set;
    lines_collect(&set, at, mask);
    if (kind == COST_KIND_TEXTURE)
        m->cost.extra[PIPE_TEXTURE] += texture_passes(at, mask, 4, set.n);
    cost_lines(m, w, &set, kind);
}

void cost_constant(Machine *m, Warp *w, const uint64_t at[LANES], uint32_t mask) {
    unsigned n = 0;
    for (uint32_t left = mask; left; n++) {
        uint64_t address = at[__builtin_ctz(left)];
        for (uint32_t k = left; k; k &= k - 1)
            if (at[__builtin_ctz(k)] == address) left &= ~(1u << __builtin_ctz(k));
    }
    m->cost.extra[PIPE_CONSTANT] += n;
    w->clock += (n - 1) / m->model->rate_constant;
}

/* Often all lanes want one texel. */
static bool want_one(const uint32_t offset[LANES], const int32_t inside[LANES], uint32_t seen) {
    uint32_t other = 0, one = offset[__builtin_ctz(seen)];
    for (int i = 0; i < LANES; i++) other |= (offset[i] ^ one) & (uint32_t)inside[i];
    return other == 0;
}

/* The lines of the lanes `seen`; what a fetch costs beyond 1 / rate_texture clocks, in these. */
static double texture_lines(LineSet *set, uint32_t alloc, const uint32_t offset[LANES],
                            uint32_t seen, unsigned bytes) {
    uint64_t at[LANES];
    for (int i = 0; i < LANES; i++) at[i] = (uint64_t)alloc << ID_SHIFT | offset[i];
    lines_collect(set, at, seen);
    return texture_passes(at, seen, bytes, set->n);
}

static double texture_line(LineSet *set, uint32_t alloc, uint32_t offset, uint32_t seen,
                           unsigned bytes) {
    set->n = 1;
    set->line[0] = ((uint64_t)alloc << ID_SHIFT | offset) >> 7;
    set->sectors[0] = 1u << (offset >> 5 & 3);
    bool both_halves = seen & 0xffff && seen >> 16;
    return bytes >= 16 && both_halves ? 1 : 0;
}

void cost_collect(Machine *m, CostMemo *memo, uint32_t alloc, const uint32_t offset[LANES],
                  const int32_t inside[LANES], uint32_t seen, unsigned bytes) {
    LineSet set;
    memo->wavefronts = want_one(offset, inside, seen)
                           ? texture_line(&set, alloc, offset[__builtin_ctz(seen)], seen, bytes)
                           : texture_lines(&set, alloc, offset, seen, bytes);
    memo->epoch = 0;
    memo->state = 0;
    const Alloc *a = alloc_of_line(m, set.line[0]);
    memo->row = a ? (int)(a - m->emu->alloc) : -1;
    memo->n = set.n;
    memo->sectors = 0;
    for (int i = 0; i < set.n; i++) {
        uint64_t name = line_name(a, set.line[i]);
        memo->sectors += count4(set.sectors[i]);
        memo->want[i] = name << 4 | set.sectors[i];
        memo->place[i] = l1_place(&m->cost, name);
    }
}

/* Are all lines in the L1? Then a look would change nothing. */
static bool all_cached(const Cost *c, const CostMemo *memo) {
    if (memo->epoch != c->epoch) return false; /* in another block hardly */
    CostLine other = 0, missing = 0;
    for (int i = 0; i < memo->n; i++) {
        CostLine have = c->l1[memo->place[i]], want = memo->want[i];
        other |= have ^ want;
        missing |= want & ~have;
    }
    return other <= CACHED_SECTORS && missing == 0;
}

/* Fetches what memo holds. a: as for fetch_entry. */
static inline uint32_t fetch_memo(Machine *m, CostMemo *memo, Alloc *a) {
    Cost *c = &m->cost;
    uint32_t moved = 0;
    uint64_t state = c->state;
    for (int i = 0; i < memo->n; i++)
        moved += fetch_entry(m, &c->l1[memo->place[i]], memo->want[i], a, &state);
    memo->epoch = c->epoch;
    memo->state = state == c->state ? state : 0; /* did its lines drive out one another? */
    c->state = state;
    return moved;
}

void cost_texels(Machine *m, Warp *w, CostMemo *memo) {
    Cost *c = &m->cost;
    uint32_t moved = 0;
    if (memo->state == c->state || all_cached(c, memo)) memo->state = c->state;
    else if (memo->epoch) moved = fetch_memo(m, memo, NULL);
    else moved = fetch_memo(m, memo, memo->row < 0 ? NULL : &m->emu->alloc[memo->row]);
    int from = add_sectors(c, moved);
    count_sectors(m, COST_KIND_TEXTURE, memo->sectors, (uint64_t)memo->n);
    m->cost.extra[PIPE_TEXTURE] += memo->wavefronts;
    wait_for_memory(m, w, COST_KIND_TEXTURE, from);
}

/* Lines of local memory, in the order in which the lanes come to them: word k of all lanes is a
** line of its own, and eight lanes' share of it a sector. */
static void local_lines(LineSet *set, const uint64_t at[LANES], uint32_t mask, uint64_t first) {
    uint8_t place[256] = {0};
    uint64_t last = UINT64_MAX;
    unsigned n = 0, k = 0;
    for (; mask; mask &= mask - 1) {
        unsigned i = (unsigned)__builtin_ctz(mask);
        uint64_t line = first + at[i] / 4;
        if (line != last) {
            unsigned hash = line & 255;
            last = line;
            while ((k = place[hash]) != 0 && set->line[k - 1] != line) hash = (hash + 1) & 255;
            if (k == 0) {
                place[hash] = (uint8_t)(k = ++n);
                set->line[k - 1] = line;
                set->sectors[k - 1] = 0;
            }
        }
        set->sectors[k - 1] |= 1u << (i >> 3);
    }
    set->n = (int)n;
}

/* Each warp has a window of its own. */
static uint64_t local_line(const Warp *w) {
    return (WINDOW(ID_LOCAL) + ((uint64_t)w->index << 32)) >> 7;
}

static unsigned local_words(unsigned bytes) {
    return bytes < 4 ? 1 : bytes / 4;
}

static void charge_local(Machine *m, Warp *w, uint32_t moved, int lines, bool is_store) {
    int from = add_sectors(&m->cost, moved);
    m->cost.extra[PIPE_GLOBAL] += (double)(lines - 1);
    wait_for_memory(m, w, is_store ? COST_KIND_STORE : COST_KIND_LOAD, from);
}

void cost_local(Machine *m, Warp *w, const uint64_t at[LANES], uint32_t mask, unsigned bytes,
                bool is_store) {
    LineSet set;
    uint32_t moved = 0;
    int lines = 0;
    for (unsigned k = 0; k < local_words(bytes); k++) {
        local_lines(&set, at, mask, local_line(w) + k);
        for (int i = 0; i < set.n; i++) moved += fetch_line(m, NULL, set.line[i], set.sectors[i]);
        lines += set.n;
    }
    charge_local(m, w, moved, lines, is_store);
}

void cost_local_row(Machine *m, Warp *w, uint64_t offset, uint32_t mask, unsigned bytes,
                    bool is_store) {
    uint32_t moved = 0, sectors = 0;
    for (unsigned k = 0; k < 4; k++) sectors |= (uint32_t)((mask >> (8 * k) & 0xff) != 0) << k;
    for (unsigned k = 0; k < local_words(bytes); k++)
        moved += fetch_line(m, NULL, local_line(w) + offset / 4 + k, sectors);
    charge_local(m, w, moved, (int)local_words(bytes), is_store);
}

/* --- shared memory: banks.h --- */

void cost_shared(Machine *m, const uint64_t at[LANES], uint32_t mask, unsigned bytes) {
    unsigned first = (unsigned)__builtin_ctz(mask), n = (unsigned)__builtin_popcount(mask);
    uint64_t other = 0, step = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        other |= at[i] ^ at[first];
        step |= at[i] ^ (at[first] + (i - first) * bytes);
    }
    uint32_t run = mask >> first;
    if (other == 0) return;
    if (step || (run & (run + 1)) != 0) banks_charge(m, at, mask, bytes);
    else m->cost.extra[PIPE_SHARED] += (bytes * n - 1) / 128;
}

/* --- atomics --- */

void cost_atomic(Machine *m, Warp *w, const uint64_t at[LANES], uint32_t mask, bool shared,
                 Alloc *in) {
    atomic_charge(m, w, at, mask, shared, in);
}

/* --- the sum --- */

/* |x|_p with p = 2^k: multiplications and square roots alone, which every machine rounds alike. */
static double norm(const double *x, int n, int k) {
    double most = 0, sum = 0;
    for (int i = 0; i < n; i++) most = fmax(most, x[i]);
    if (most <= 0) return 0;
    for (int i = 0; i < n; i++) {
        double power = x[i] / most;
        for (int j = 0; j < k; j++) power *= power;
        sum += power;
    }
    for (int j = 0; j < k; j++) sum = sqrt(sum);
    return most * sum;
}

static void pipe_rates(const EmuModel *m, double rate[PIPES]) {
    const double values[PIPES] = {[PIPE_ISSUE] = m->schedulers_per_sm,
                                  [PIPE_FP32] = m->rate_fp32,
                                  [PIPE_FP64] = m->rate_fp64,
                                  [PIPE_FP16] = m->rate_fp16,
                                  [PIPE_INT] = m->rate_int,
                                  [PIPE_MUL] = m->rate_mul,
                                  [PIPE_SPECIAL] = m->rate_special,
                                  [PIPE_CONVERT] = m->rate_convert,
                                  [PIPE_BRANCH] = m->rate_branch,
                                  [PIPE_SHARED] = m->rate_shared,
                                  [PIPE_GLOBAL] = m->rate_global,
                                  [PIPE_TEXTURE] = m->rate_texture,
                                  [PIPE_CONSTANT] = m->rate_constant,
                                  [PIPE_SHUFFLE] = m->rate_shuffle,
                                  [PIPE_ATOMIC] = m->rate_atomic,
                                  [PIPE_TENSOR] = m->rate_tensor};
    for (int k = 0; k < PIPES; k++) rate[k] = values[k] > 0 ? values[k] : 1;
}

static void pipe_totals(Machine *m, double total[PIPES]) {
    for (int k = 0; k < PIPES; k++) total[k] = m->cost.extra[k];
    for (int i = 0; i < m->mod->n_code; i++) {
        const Code *code = &m->mod->code[i];
        for (int b = 0; b < code->n_blocks; b++) {
            const CostCount *count = &m->cost.count[code->first_block + b];
            if (count->runs == 0) continue;
            m->result->warp_instructions += count->runs * (uint64_t)code->block[b].n;
            m->result->lane_instructions += count->lanes * (uint64_t)code->block[b].n;
            for (int k = 0; k < PIPES; k++)
                total[k] += (double)count->runs * code->block[b].pipe[k];
        }
    }
}

static double energy_of(const EmuModel *g, const Cost *c, const double total[PIPES], double ns) {
    double wavefronts = total[PIPE_SHARED] + total[PIPE_GLOBAL] + total[PIPE_TEXTURE];
    double pj = total[PIPE_ISSUE] * g->energy_instruction_pj + wavefronts * g->energy_wavefront_pj
              + (double)c->l2_sectors * 32 * g->energy_l2_pj_byte
              + (double)c->dram_sectors * 32 * g->energy_dram_pj_byte;
    return g->power_idle_w * ns * 1e-9 + pj * 1e-12;
}

/* Ticks that the arithmetic takes on all SMs, by the pipe that is busy longest. Address computation
** and copies are none of it: another kernel for the same answers may do without. */
static double least_arithmetic(const double total[PIPES], const double rate[PIPES], double sms) {
    static const CostPipe arithmetic[] = {PIPE_FP32, PIPE_FP64, PIPE_FP16, PIPE_SPECIAL};
    double most = 0;
    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++) {
        CostPipe k = arithmetic[i];
        most = fmax(most, total[k] / sms / rate[k]);
    }
    return most;
}

void emu_work_add(EmuWork *to, const EmuWork *from) {
    to->part_issue += from->part_issue;
    to->part_latency += from->part_latency;
    to->part_memory += from->part_memory;
    to->least_memory += from->least_memory;
    to->least_arithmetic += from->least_arithmetic;
}

void cost_finish(Machine *m, int resident) {
    const EmuModel *model = m->model;
    const Cost *c = &m->cost;
    EmuResult *r = m->result;
    double total[PIPES], rate[PIPES], part[PIPES];
    pipe_totals(m, total);
    pipe_rates(model, rate);
    double blocks = (double)c->blocks > 0 ? (double)c->blocks : 1;
    double sms = model->sms >= 1 ? model->sms : 1;
    double busiest = ceil(blocks / sms);
    for (int k = 0; k < PIPES; k++) part[k] = total[k] / blocks * busiest / rate[k];
    r->work.part_issue = norm(part, PIPES, 2);
    double bytes[2] = {(double)c->l2_sectors * 32 / model->l2_bytes_per_clock,
                       (double)c->dram_sectors * 32 / model->dram_bytes_per_clock};
    r->work.part_memory = norm(bytes, 2, 1);
    r->work.least_memory = bytes[1];
    r->work.least_arithmetic = least_arithmetic(total, rate, sms);
    double waves = ceil(busiest / resident);
    r->work.part_latency = (waves - 1) * (c->sum_latency / blocks) + c->max_latency;
    double parts[3] = {r->work.part_issue, r->work.part_memory, r->work.part_latency};
    r->ticks = model->launch_ticks + norm(parts, 3, 2);
    r->ns = model->clock_ghz > 0 ? r->ticks / model->clock_ghz : 0;
    r->energy_j = energy_of(model, c, total, r->ns);
}
