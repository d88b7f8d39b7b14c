/* lines.h - the lines of 128 bytes that an access of a warp touches, and what they cost (cost.h has
** the model). Inline, because exec.c wants it for AVX2, too. */
#ifndef GILUA_EMU_LINES_H
#define GILUA_EMU_LINES_H

#include "emu/cost/waits.h"
#include "emu/view.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { CACHED_SECTORS = 15 }; /* of a CostLine */

static inline uint32_t line_hash(uint64_t name) {
    return (uint32_t)((name * 0x9E3779B97F4A7C15u) >> 32);
}

static inline uint32_t l1_place(const Cost *c, uint64_t name) {
    return (uint32_t)((uint64_t)line_hash(name) * c->l1_lines >> 32);
}

/* What an access moves: sectors beyond the L1, lines of these, and sectors that come from DRAM. */
enum { MOVED_LINES = 16, MOVED_DRAM = 32, MOVED_DRAM_LINES = 48 };

/* DRAM gives and takes 64 bytes: sectors that `bits` are the first to touch. */
static inline uint64_t new_to_dram(uint64_t bits, uint64_t old) {
    const uint64_t even = 0x5555555555555555u;
    return ((bits | bits >> 1) & even) & ~(old | old >> 1);
}

/* Accesses of this warp that follow happen now. */
static inline void reuse_now(Machine *m, const Warp *w) {
    m->cost.reuse.block = m->block->linear;
    m->cost.reuse.clock = (uint32_t)(int64_t)w->clock;
}

static inline void add_moved(Cost *c, uint64_t moved, bool stores) {
    uint64_t sectors = moved & 0xffff, lines = moved >> MOVED_LINES & 0xffff;
    c->l2_sectors += sectors;
    c->dram_sectors += moved >> MOVED_DRAM & 0xffff;
    c->dram_lines += moved >> MOVED_DRAM_LINES;
    if (stores) c->store_sectors += sectors, c->store_lines += lines;
    else c->l2_lines += lines;
}

static inline void count_sectors(Machine *m, CostKind kind, uint64_t sectors, uint64_t lines) {
    if (kind == COST_KIND_TEXTURE) {
        m->result->texture_sectors += sectors;
    } else {
        m->result->global_sectors += sectors;
        m->cost.extra[PIPE_GLOBAL] += (double)(lines - 1);
    }
}

static inline void wait_for_memory(const Machine *m, Warp *w, CostKind kind, uint64_t moved) {
    if (moved && (kind == COST_KIND_LOAD || kind == COST_KIND_TEXTURE)) waits_begin(m, w);
}

/* By a table of the lines met, counted from 1. Which lane meets a new one cannot be foretold: there
** is no branch on it, but neighbours often share a line. */
static inline void collect_any(LineSet *set, const uint64_t at[LANES], uint32_t mask) {
    uint8_t place[256] = {0};
    uint64_t met[LANES + 1], last = UINT64_MAX;
    uint32_t sectors[LANES + 1] = {0};
    unsigned n = 0, k = 0;
    for (; mask; mask &= mask - 1) {
        uint64_t address = at[__builtin_ctz(mask)], line = address >> 7;
        if (line != last) {
            unsigned hash = (unsigned)(line * 0x9E3779B97F4A7C15u >> 56);
            k = place[hash];
            met[0] = last = line;
            while (met[k] != line) k = place[hash = (hash + 1) & 255]; /* seldom */
            unsigned is_new = k == 0;
            n += is_new;
            k = is_new ? n : k;
            place[hash] = (uint8_t)k;
            met[k] = line;
        }
        sectors[k] |= 1u << (address >> 5 & 3);
    }
    memcpy(set->line, met + 1, n * sizeof *met);
    memcpy(set->sectors, sectors + 1, n * sizeof *sectors);
    set->n = (int)n;
}

#if defined(EMU_AVX2)

/* What of the lanes' addresses decides which lines they touch, a bit a lane. */
typedef struct LaneBits {
    uint32_t changes, falls; /* is in another line than the lane before; in a lower one. Of lane 0
                                neither says anything */
    uint32_t low, high; /* of the sector in its line: bits 5 and 6 of the address */
} LaneBits;

static inline LaneBits lane_bits(const uint64_t at[LANES]) {
    LaneBits b = {0, 0, 0, 0};
    __m256i before = _mm256_setzero_si256(), zero = _mm256_setzero_si256();
    for (int k = 0; k < LANES; k += 4) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(at + k));
        __m256i turned = _mm256_permute4x64_epi64(x, 0x93);
        __m256i last = _mm256_srli_epi64(_mm256_blend_epi32(turned, before, 3), 7);
        __m256i up = _mm256_sub_epi64(_mm256_srli_epi64(x, 7), last);
        __m256i same = _mm256_cmpeq_epi64(up, zero);
        __m256d low = _mm256_castsi256_pd(_mm256_slli_epi64(x, 58));
        __m256d high = _mm256_castsi256_pd(_mm256_slli_epi64(x, 57));
        b.falls |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(up)) << k;
        b.changes |= (~(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same)) & 15) << k;
        b.low |= (uint32_t)_mm256_movemask_pd(low) << k;
        b.high |= (uint32_t)_mm256_movemask_pd(high) << k;
        before = turned;
    }
    return b;
}

/* Of runs of lanes that end where `ends` has a bit: in which has `lanes` one? The n-th bit is the
** n-th run's. (Where a run has one below its end, adding ones below all ends carries there.) */
static inline uint32_t in_runs(uint32_t lanes, uint32_t ends) {
    return _pext_u32((((lanes & ~ends) + ~ends) | lanes) & ends, ends);
}

/* Each lane has a line of its own. */
static inline void collect_each(LineSet *set, const uint64_t at[LANES]) {
    for (int i = 0; i < LANES; i++) {
        set->line[i] = at[i] >> 7;
        set->sectors[i] = 1u << (at[i] >> 5 & 3);
    }
    set->n = LANES;
}

/* The lines of a warp whose lanes' addresses do not fall, as they seldom do. */
static inline void collect_rising(LineSet *set, const uint64_t at[LANES], const LaneBits *b) {
    uint32_t starts = b->changes | 1, ends = starts >> 1 | 1u << 31;
    uint32_t first = in_runs(~b->high & ~b->low, ends), second = in_runs(~b->high & b->low, ends);
    uint32_t third = in_runs(b->high & ~b->low, ends), last = in_runs(b->high & b->low, ends);
    int n = 0;
    for (; starts; starts &= starts - 1) set->line[n++] = at[__builtin_ctz(starts)] >> 7;
    for (int i = 0; i < LANES; i++)
        set->sectors[i] = (first >> i & 1) | (second >> i & 1) << 1 | (third >> i & 1) << 2 |
                          (last >> i & 1) << 3;
    set->n = n;
}

/* A lane that is off where the last one that is on is. */
static inline void fill_lanes(const uint64_t at[LANES], uint32_t mask, uint64_t all[LANES]) {
    uint64_t last = at[__builtin_ctz(mask)];
    for (int i = 0; i < LANES; i++) {
        last = mask >> i & 1 ? at[i] : last;
        all[i] = last;
    }
}

#if defined(EMU_AVX512)

/* same[i]: the lanes that have i's key. Returns those that are the first with theirs. */
static inline uint32_t lanes_first(const uint32_t key[LANES], uint32_t same[LANES]) {
    const __m512i low = _mm512_loadu_si512(key), high = _mm512_loadu_si512(key + 16);
    uint32_t firsts = 0;
    for (int i = 0; i < LANES; i++) {
        const __m512i one = _mm512_set1_epi32((int)key[i]);
        same[i] = (uint32_t)_mm512_cmpeq_epi32_mask(low, one) |
                  (uint32_t)_mm512_cmpeq_epi32_mask(high, one) << 16;
        firsts |= same[i] & -same[i];
    }
    return firsts;
}

/* Is this of all of them below 2^32, but for what all have? */
static inline bool lanes_narrow(const uint64_t at[LANES], unsigned shift, uint32_t key[LANES]) {
    uint64_t apart = 0;
    for (int i = 0; i < LANES; i++) {
        apart |= (at[i] ^ at[0]) >> shift >> 16 >> 16;
        key[i] = (uint32_t)(at[i] >> shift);
    }
    return apart == 0;
}

/* Which sectors of its line sixteen lanes and those with the same line want. */
static inline __m512i sectors_wanted(const uint32_t same[16], const LaneBits *b) {
    const uint32_t want[4] = {~b->high & ~b->low, ~b->high & b->low, b->high & ~b->low,
                              b->high & b->low};
    const __m512i lanes = _mm512_loadu_si512(same);
    __m512i sectors = _mm512_setzero_si512();
    for (int k = 0; k < 4; k++) {
        __mmask16 on = _mm512_test_epi32_mask(lanes, _mm512_set1_epi32((int)want[k]));
        sectors = _mm512_mask_or_epi32(sectors, on, sectors, _mm512_set1_epi32(1 << k));
    }
    return sectors;
}

/* collect_any of all lanes: each line by the first lane that comes to it. */
static inline bool collect_firsts(LineSet *set, const uint64_t at[LANES], const LaneBits *b) {
    uint32_t key[LANES], same[LANES];
    if (!lanes_narrow(at, 7, key)) return false;
    const uint32_t firsts = lanes_first(key, same);
    int n = 0;
    for (int k = 0; k < LANES; k += 8) {
        const __mmask8 on = (__mmask8)(firsts >> k);
        const __m512i line = _mm512_srli_epi64(_mm512_loadu_si512(at + k), 7);
        _mm512_mask_storeu_epi64(set->line + n, (__mmask8)((1u << __builtin_popcount(on)) - 1),
                                 _mm512_maskz_compress_epi64(on, line));
        n += __builtin_popcount(on);
    }
    const int low = __builtin_popcount(firsts & 0xffff);
    _mm512_storeu_si512(set->sectors, _mm512_maskz_compress_epi32((__mmask16)firsts,
                                                                  sectors_wanted(same, b)));
    _mm512_mask_storeu_epi32(
        set->sectors + low, (__mmask16)((1u << (n - low)) - 1),
        _mm512_maskz_compress_epi32((__mmask16)(firsts >> 16), sectors_wanted(same + 16, b)));
    set->n = n;
    return true;
}

#else

static inline bool collect_firsts(LineSet *set, const uint64_t at[LANES], const LaneBits *b) {
    (void)set, (void)at, (void)b;
    return false; /* comparing all with all would take longer */
}

#endif

/* In the order in which the lanes come to them. */
static inline void lines_collect(LineSet *set, const uint64_t at[LANES], uint32_t mask) {
    uint64_t all[LANES];
    if (mask != FULL_MASK) {
        fill_lanes(at, mask, all);
        at = all;
    }
    const LaneBits b = lane_bits(at);
    if (b.falls & ~1u && collect_firsts(set, at, &b)) return;
    if (b.falls & ~1u) collect_any(set, at, mask);
    else if ((b.changes | 1) == FULL_MASK) collect_each(set, at);
    else collect_rising(set, at, &b);
}

#else

static inline bool lines_fall(const uint64_t at[LANES], uint32_t mask) {
    uint64_t last = 0, falls = 0;
    for (; mask; mask &= mask - 1) {
        uint64_t line = at[__builtin_ctz(mask)] >> 7;
        falls |= line < last;
        last = line;
    }
    return falls;
}

static inline void lines_collect(LineSet *set, const uint64_t at[LANES], uint32_t mask) {
    if (lines_fall(at, mask)) {
        collect_any(set, at, mask);
        return;
    }
    int n = 0;
    for (; mask; mask &= mask - 1) {
        uint64_t address = at[__builtin_ctz(mask)], line = address >> 7;
        bool is_new = n == 0 || set->line[n - 1] != line;
        n += is_new;
        set->line[n - 1] = line;
        set->sectors[n - 1] = (is_new ? 0 : set->sectors[n - 1]) | 1u << (address >> 5 & 3);
    }
    set->n = n;
}

#endif

/* --- what lines of one allocation cost --- */

/* Has the L1 all sectors of these bytes of one line? Then a load changes nothing. */
static inline bool line_is_there(const Cost *c, const Alloc *a, uint64_t first, uint64_t last) {
    uint64_t name = (first & OFFSET_MASK) >> 7 | (uint64_t)a->order << (ID_SHIFT - 7);
    CostLine sectors = (15u << (first >> 5 & 3)) & (15u >> (3 - (last >> 5 & 3)));
    CostLine want = name << 4 | sectors, had = c->l1[l1_place(c, name)];
    return a->order != 0 && (had ^ want) <= CACHED_SECTORS && (want & ~had) == 0;
}

static inline uint64_t count_sectors_of(uint64_t bits) { /* up to four, side by side */
#if defined(EMU_AVX2)
    return (uint64_t)__builtin_popcountll(bits);
#else
    uint64_t n = 0;
    for (; bits; bits &= bits - 1) n++;
    return n;
#endif
}

/* Of each line: what the L1 has it by, and where; which word and bits of `touched` are those of its
** sectors. */
typedef struct LinePlaces {
    CostLine want[LANES];
    U64 place[LANES], word[LANES], shift[LANES];
    uint32_t hash[LANES];
} LinePlaces;

static inline uint64_t reuse_name(CostLine line, bool stores) {
    return (line & ~(uint64_t)CACHED_SECTORS) << 1 | (stores ? REUSE_STORE : 0) |
           (line & CACHED_SECTORS);
}

static inline void lines_places(const Cost *c, const Alloc *a, const LineSet *set, LinePlaces *p) {
    const uint64_t mask = OFFSET_MASK >> 7, all = (uint64_t)a->order << (ID_SHIFT - 7);
    const uint64_t n = c->l1_lines;
    for (int i = 0; i < set->n; i++) {
        uint64_t offset = set->line[i] & mask, name = offset | all;
        p->want[i] = name << 4 | set->sectors[i];
        uint64_t hash = name * 0x9E3779B97F4A7C15u >> 32;
        p->hash[i] = (uint32_t)hash;
        p->place[i] = hash * n >> 32;
        p->word[i] = offset >> 4;
        p->shift[i] = (offset & 15) * 4;
    }
}

/* What travels, as MOVED_… says. */
static inline uint64_t lines_store(Cost *c, const Alloc *a, const LineSet *set,
                                   const LinePlaces *p) {
    uint64_t *const touched = a->touched, l2 = 0, dram = 0, far = 0;
    for (int i = 0; i < set->n; i++) {
        uint64_t bits = (uint64_t)set->sectors[i] << p->shift[i], old = touched[p->word[i]];
        touched[p->word[i]] = old | bits;
        l2 += count_sectors_of(bits);
        dram += count_sectors_of(new_to_dram(bits, old));
        far += new_to_dram(bits, old) != 0;
        if (reuse_wants(&c->reuse, p->hash[i])) reuse_add(&c->reuse, reuse_name(p->want[i], true));
    }
    return l2 | (uint64_t)set->n << MOVED_LINES | dram << (MOVED_DRAM + 1) |
           far << MOVED_DRAM_LINES;
}

static inline uint64_t lines_load(Cost *c, const Alloc *a, const LineSet *set,
                                  const LinePlaces *p) {
    CostLine *const l1 = c->l1;
    uint64_t *const touched = a->touched, l2 = 0, dram = 0, left = 0, lines = 0, far = 0;
    for (int i = 0; i < set->n; i++) {
        CostLine want = p->want[i], *e = &l1[p->place[i]], had = *e;
        CostLine kept = (had ^ want) <= CACHED_SECTORS ? had : 0;
        left |= had ^ kept; /* another line */
        *e = want | kept;
        uint64_t bits = (want & ~kept & CACHED_SECTORS) << p->shift[i], old = touched[p->word[i]];
        touched[p->word[i]] = old | bits;
        l2 += count_sectors_of(bits);
        lines += bits != 0;
        dram += count_sectors_of(new_to_dram(bits, old));
        far += new_to_dram(bits, old) != 0;
        if (bits && reuse_wants(&c->reuse, p->hash[i]))
            reuse_add(&c->reuse, reuse_name(want & ~(kept & CACHED_SECTORS), false));
    }
    c->state += left != 0;
    return l2 | lines << MOVED_LINES | dram << (MOVED_DRAM + 1) | far << MOVED_DRAM_LINES;
}

#if defined(EMU_AVX512)

/* Up to eight of a set's from i on: a bit for each. */
static inline __mmask8 lines_from(const LineSet *set, int i) {
    return (__mmask8)(set->n - i >= 8 ? 255 : (1 << (set->n - i)) - 1);
}

/* Would a load change nothing, because the L1 has all of it? */
static inline bool lines_are_there(const Cost *c, const LineSet *set, const LinePlaces *p) {
    __m512i other = _mm512_setzero_si512();
    for (int i = 0; i < set->n; i += 8) {
        __mmask8 on = lines_from(set, i);
        __m512i place = _mm512_maskz_loadu_epi64(on, p->place + i);
        __m512i want = _mm512_maskz_loadu_epi64(on, p->want + i);
        __m512i had = _mm512_mask_i64gather_epi64(want, on, place, c->l1, 8);
        __m512i name = _mm512_srli_epi64(_mm512_xor_si512(had, want), 4);
        other = _mm512_or_si512(other, _mm512_or_si512(name, _mm512_andnot_si512(had, want)));
    }
    return _mm512_test_epi64_mask(other, other) == 0;
}

/* Have all sectors been touched before? Then a store does not touch any for the first time. */
static inline bool lines_are_known(const Alloc *a, const LineSet *set, const LinePlaces *p) {
    __m512i other = _mm512_setzero_si512();
    for (int i = 0; i < set->n; i += 8) {
        __mmask8 on = lines_from(set, i);
        __m512i word = _mm512_maskz_loadu_epi64(on, p->word + i);
        __m512i shift = _mm512_maskz_loadu_epi64(on, p->shift + i);
        __m512i bits = _mm512_maskz_loadu_epi64(on, p->want + i);
        bits = _mm512_and_si512(bits, _mm512_set1_epi64(CACHED_SECTORS));
        bits = _mm512_sllv_epi64(bits, shift);
        __m512i had = _mm512_mask_i64gather_epi64(bits, on, word, a->touched, 8);
        other = _mm512_or_si512(other, _mm512_andnot_si512(had, bits));
    }
    return _mm512_test_epi64_mask(other, other) == 0;
}

static inline uint64_t sectors_of(const LineSet *set) {
    __m512i n = _mm512_setzero_si512();
    for (int i = 0; i < set->n; i += 16) {
        int left = set->n - i;
        __mmask16 on = (__mmask16)(left >= 16 ? 0xffff : (1 << left) - 1);
        __m512i sectors = _mm512_maskz_loadu_epi32(on, set->sectors + i);
        n = _mm512_add_epi32(n, _mm512_popcnt_epi32(sectors));
    }
    return (uint64_t)(uint32_t)_mm512_reduce_add_epi32(n);
}

#else

static inline bool lines_are_there(const Cost *c, const LineSet *set, const LinePlaces *p) {
    (void)c, (void)set, (void)p;
    return false; /* looking for it first would take longer */
}

static inline bool lines_are_known(const Alloc *a, const LineSet *set, const LinePlaces *p) {
    (void)a, (void)set, (void)p;
    return false;
}

static inline uint64_t sectors_of(const LineSet *set) {
    uint64_t n = 0;
    for (int i = 0; i < set->n; i++) n += count_sectors_of(set->sectors[i]);
    return n;
}

#endif

/* Is one of the lines in the sample? */
static inline bool reuse_wanted(const Cost *c, const LineSet *set, const LinePlaces *p) {
    bool wanted = false;
    for (int i = 0; i < set->n; i++) wanted |= reuse_wants(&c->reuse, p->hash[i]);
    return wanted;
}

/* Sectors that move, as lines_load and lines_store say. all: of all lines. */
static inline uint64_t lines_move(Cost *c, const Alloc *a, const LineSet *set, uint64_t all,
                                  bool stores) {
    LinePlaces p;
    lines_places(c, a, set, &p);
    bool many = set->n > 4; /* fewer are looked up one by one as quickly */
    if (stores && many && !reuse_wanted(c, set, &p) && lines_are_known(a, set, &p))
        return all | (uint64_t)set->n << MOVED_LINES;
    if (stores) return lines_store(c, a, set, &p);
    return many && lines_are_there(c, set, &p) ? 0 : lines_load(c, a, set, &p);
}

static inline void lines_charge(Machine *m, Warp *w, Alloc *a, const LineSet *set, CostKind kind) {
    if (m->view) {
        cost_lines(m, w, set, kind);
        return;
    }
    Cost *c = &m->cost;
    bool stores = kind == COST_KIND_STORE || kind == COST_KIND_ATOMIC;
    uint64_t sectors = sectors_of(set);
    if (a->order == 0) cost_meet(m, a);
    reuse_now(m, w);
    uint64_t moved = lines_move(c, a, set, sectors, stores);
    add_moved(c, moved, stores);
    count_sectors(m, kind, sectors, (uint64_t)set->n);
    wait_for_memory(m, w, kind, moved);
}

#endif
