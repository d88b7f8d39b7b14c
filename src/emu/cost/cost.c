/* cost.c - see cost.h. */
#include "emu/cost/cost.h"

#include "emu/cost/atom_cost.h"
#include "emu/cost/banks.h"
#include "emu/core.h"
#include "emu/cost/lines.h"
#include "emu/cost/waits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void cost_begin(Machine *m, int resident, uint64_t blocks) {
    const EmuModel *model = m->model;
    Cost *c = &m->cost;
    double each = ceil((double)blocks / (model->sms >= 1 ? model->sms : 1));
    if (each < resident) resident = each < 1 ? 1 : (int)each; /* no SM has more */
    double left = model->l1_bytes_per_sm - (double)resident * m->shared_bytes;
    double lines = left / resident / 128;
    c->count = gi_alloc((size_t)(m->mod->n_blocks + 1) * sizeof *c->count);
    c->l1_lines = lines < 16 ? 16 : (uint32_t)lines;
    c->l1 = gi_alloc(c->l1_lines * sizeof *c->l1);
    c->beyond_near = model->latency_l2;
    c->beyond_far = model->latency_dram;
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
                     .beyond_near = from->beyond_near,
                     .beyond_far = from->beyond_far,
                     .count = gi_alloc((size_t)(m->mod->n_blocks + 1) * sizeof *from->count),
                     .l1 = gi_alloc(from->l1_lines * sizeof *from->l1)};
}

static void forget_sums(Cost *c) {
    c->l2_sectors = c->l2_lines = c->store_sectors = c->store_lines = c->blocks = 0;
    c->atomic_ops = 0;
    memset(c->atomic_line, 0, sizeof c->atomic_line);
    c->sum_near = c->sum_far = c->most_near = c->most_far = 0;
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
    to->l2_lines += c->l2_lines;
    to->store_sectors += c->store_sectors;
    to->store_lines += c->store_lines;
    to->atomic_ops += c->atomic_ops;
    for (int k = 0; k < COST_ATOMIC_LINES; k++) to->atomic_line[k] += c->atomic_line[k];
    reuse_move(&to->reuse, &c->reuse);
    to->sum_near += c->sum_near;
    to->sum_far += c->sum_far;
    to->most_near = fmax(to->most_near, c->most_near);
    to->most_far = fmax(to->most_far, c->most_far);
    to->blocks += c->blocks;
    forget_sums(c);
}

void cost_forget(Machine *m) {
    Cost *c = &m->cost;
    memset(c->count, 0, (size_t)(m->mod->n_blocks + 1) * sizeof *c->count);
    memset(c->extra, 0, sizeof c->extra);
    c->dram_sectors = c->dram_lines = 0;
    forget_sums(c);
    reuse_forget(&c->reuse);
}

void cost_free(Cost *c) {
    free(c->count);
    free(c->l1);
    free(c->reuse.at);
    free(c->cas);
}

void cost_block_begin(Machine *m, uint64_t index) {
    Cost *c = &m->cost;
    m->block->linear = (uint32_t)index;
    memset(c->l1, 0, c->l1_lines * sizeof *c->l1);
    c->epoch++;
    c->state++;
}

void cost_block_end(Machine *m) {
    Cost *c = &m->cost;
    double near = 0, far = 0;
    for (int i = 0; i < m->n_warps; i++) {
        Warp *w = &m->warp[i];
        waits_late(w, 0);
        near = fmax(near, w->clock);
        far = fmax(far, w->clock + w->late);
    }
    near = fmax(near, c->most_cas * m->model->clocks_cas);
    far = fmax(far, near);
    if (c->any_cas) memset(c->cas, 0, (m->shared_bytes / 4 + 1) * sizeof *c->cas);
    c->any_cas = false;
    c->most_cas = 0;
    near += m->model->block_ticks;
    far += m->model->block_ticks;
    c->sum_near += near;
    c->sum_far += far;
    c->most_near = fmax(c->most_near, near);
    c->most_far = fmax(c->most_far, far);
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

/* Marks sectors of one 128-byte line of an allocation as seen in this launch; what comes from DRAM
** for it, as MOVED_… (of a thread's blocks: view_take counts it). */
static inline uint64_t touch(Machine *m, Alloc *a, uint64_t line, uint32_t sectors, bool is_load) {
    if (m->view) {
        view_touch(m, a, line, sectors, is_load);
        return 0;
    }
    uint64_t first = (line << 2) & (OFFSET_MASK >> 5);
    if (first / 64 >= a->touched_words) return 0;
    uint64_t bits = (uint64_t)sectors << (first & 63), old = a->touched[first / 64];
    if ((bits & ~old) == 0) return 0;
    a->touched[first / 64] = old | bits;
    uint64_t dram = 2 * count4((uint32_t)(new_to_dram(bits, old) >> (first & 63)));
    return dram << MOVED_DRAM | (uint64_t)(dram != 0) << MOVED_DRAM_LINES;
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

uint64_t emu_reached(const Emu *e, int i, unsigned *how) {
    unsigned of;
    int n = 0;
    while (emu_touched(e, n, &of)) n++;
    if (i < n) return emu_touched(e, i, how);
    for (int k = 0; k < e->n_tex; k++) {
        const TexSlot *s = &e->tex[k];
        uint8_t reach = s->live ? e->alloc[s->alloc].reach : 0;
        if (reach == 0 || s->memory < 0 || i-- != n) continue;
        *how = reach;
        return e->alloc[s->memory].address;
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

/* What the L1 does not have travels from L2, and for the first time from DRAM: MOVED_… of the
** result. `a` is the line's, or NULL: these sectors came from DRAM before. */
static inline uint64_t fetch_entry(Machine *m, CostLine *e, CostLine want, Alloc *a,
                                   uint64_t *state) {
    CostLine old = *e, kept = (old ^ want) <= CACHED_SECTORS ? old : 0;
    uint32_t missing = (uint32_t)(want & ~kept) & CACHED_SECTORS;
    *state += old != kept; /* another line leaves */
    *e = want | kept;
    if (missing == 0) return 0;
    if (reuse_wants(&m->cost.reuse, line_hash(want >> 4)))
        reuse_add(&m->cost.reuse, reuse_name((want & ~(CostLine)CACHED_SECTORS) | missing, false));
    return count4(missing) | (uint64_t)1 << MOVED_LINES |
           (a ? touch(m, a, want >> 4, missing, true) : 0);
}

/* Under which a line is found: independent of the history of allocations. Blocks that run side by
** side have local memory of their own. */
static inline uint64_t line_name(const Machine *m, const Alloc *a, uint64_t line) {
    if (a == NULL) return line ^ (uint64_t)(m->block->linear % m->resident) << 34;
    return (line & (OFFSET_MASK >> 7)) | (uint64_t)a->order << (ID_SHIFT - 7);
}

static inline uint64_t fetch_line(Machine *m, Alloc *a, uint64_t line, uint32_t sectors) {
    uint64_t name = line_name(m, a, line);
    Cost *c = &m->cost;
    return fetch_entry(m, &c->l1[l1_place(c, name)], name << 4 | sectors, a, &c->state);
}

/* Local memory is each warp's own, and so is a share of the L1: warps run one after the other here,
** and side by side on a GPU. */
static inline uint64_t fetch_local(Machine *m, const Warp *w, uint64_t line, uint32_t sectors) {
    uint64_t name = line_name(m, NULL, line);
    Cost *c = &m->cost;
    uint32_t share = c->l1_lines / (uint32_t)m->n_warps;
    if (share == 0) share = 1;
    uint32_t place = (uint32_t)w->index * share % c->l1_lines;
    place += (uint32_t)((uint64_t)line_hash(name) * share >> 32);
    return fetch_entry(m, &c->l1[place < c->l1_lines ? place : 0], name << 4 | sectors, NULL,
                       &c->state);
}

/* A store goes through to L2 whatever the L1 holds. */
static inline uint64_t store_line(Machine *m, Alloc *a, uint64_t line, uint32_t sectors) {
    uint64_t name = line_name(m, a, line);
    if (reuse_wants(&m->cost.reuse, line_hash(name)))
        reuse_add(&m->cost.reuse, reuse_name(name << 4 | sectors, true));
    return count4(sectors) | (uint64_t)1 << MOVED_LINES |
           (a ? touch(m, a, line, sectors, false) : 0);
}

static inline uint64_t traffic(Machine *m, Alloc *a, CostKind kind, uint64_t line,
                               uint32_t sectors) {
    if (kind == COST_KIND_STORE || kind == COST_KIND_ATOMIC) return store_line(m, a, line, sectors);
    return fetch_line(m, a, line, sectors);
}

void cost_range(Machine *m, Warp *w, uint64_t address, uint64_t bytes, CostKind kind) {
    uint64_t first = address >> 5, last = (address + bytes - 1) >> 5;
    Alloc *a = alloc_of_line(m, first >> 2);
    uint64_t moved = 0;
    reuse_now(m, w);
    for (uint64_t line = first >> 2; line <= last >> 2; line++) {
        uint32_t sectors = 15;
        if (line == first >> 2) sectors &= 15u << (first & 3);
        if (line == last >> 2) sectors &= 15u >> (3 - (last & 3));
        moved += traffic(m, a, kind, line, sectors);
    }
    add_moved(&m->cost, moved, kind == COST_KIND_STORE || kind == COST_KIND_ATOMIC);
    count_sectors(m, kind, last - first + 1, (last >> 2) - (first >> 2) + 1);
    wait_for_memory(m, w, kind, moved);
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
    uint64_t moved = 0;
    uint64_t sectors = 0, id = UINT64_MAX;
    Alloc *a = NULL;
    reuse_now(m, w);
    for (int i = 0; i < set->n; i++) {
        if (set->line[i] >> (ID_SHIFT - 7) != id) {
            id = set->line[i] >> (ID_SHIFT - 7);
            a = alloc_of_line(m, set->line[i]);
        }
        moved += traffic(m, a, kind, set->line[i], set->sectors[i]);
        sectors += count4(set->sectors[i]);
    }
    add_moved(&m->cost, moved, kind == COST_KIND_STORE || kind == COST_KIND_ATOMIC);
    count_sectors(m, kind, sectors, (uint64_t)set->n);
    wait_for_memory(m, w, kind, moved);
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
        uint64_t name = line_name(m, a, set.line[i]);
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
static inline uint64_t fetch_memo(Machine *m, CostMemo *memo, Alloc *a) {
    Cost *c = &m->cost;
    uint64_t moved = 0;
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
    count_sectors(m, COST_KIND_TEXTURE, memo->sectors, (uint64_t)memo->n);
    c->extra[PIPE_TEXTURE] += memo->wavefronts;
    if (memo->state == c->state || all_cached(c, memo)) {
        memo->state = c->state;
        return;
    }
    reuse_now(m, w);
    bool met = memo->epoch || memo->row < 0;
    uint64_t moved = fetch_memo(m, memo, met ? NULL : &m->emu->alloc[memo->row]);
    add_moved(c, moved, false);
    wait_for_memory(m, w, COST_KIND_TEXTURE, moved);
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

static void charge_local(Machine *m, Warp *w, uint64_t moved, int lines, bool is_store) {
    add_moved(&m->cost, moved, is_store);
    m->cost.extra[PIPE_GLOBAL] += lines * m->model->clocks_local - 1;
    wait_for_memory(m, w, is_store ? COST_KIND_STORE : COST_KIND_LOAD, moved);
}

void cost_local(Machine *m, Warp *w, const uint64_t at[LANES], uint32_t mask, unsigned bytes,
                bool is_store) {
    LineSet set;
    uint64_t moved = 0;
    int lines = 0;
    reuse_now(m, w);
    for (unsigned k = 0; k < local_words(bytes); k++) {
        local_lines(&set, at, mask, local_line(w) + k);
        for (int i = 0; i < set.n; i++) moved += fetch_local(m, w, set.line[i], set.sectors[i]);
        lines += set.n;
    }
    charge_local(m, w, moved, lines, is_store);
}

void cost_local_row(Machine *m, Warp *w, uint64_t offset, uint32_t mask, unsigned bytes,
                    bool is_store) {
    uint64_t moved = 0;
    uint32_t sectors = 0;
    reuse_now(m, w);
    for (unsigned k = 0; k < 4; k++) sectors |= (uint32_t)((mask >> (8 * k) & 0xff) != 0) << k;
    for (unsigned k = 0; k < local_words(bytes); k++)
        moved += fetch_local(m, w, local_line(w) + offset / 4 + k, sectors);
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
    if (step || (run & (run + 1)) != 0) banks_charge(m, banks_count(at, mask, bytes));
    else m->cost.extra[PIPE_SHARED] += (bytes * n - 1) / 128;
}

/* --- atomics --- */

void cost_atomic(Machine *m, Warp *w, const uint64_t at[LANES], uint32_t mask, bool shared,
                 Alloc *in, unsigned how) {
    atomic_charge(m, w, at, mask, shared, in, how);
}
