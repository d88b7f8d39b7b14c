/* atom_cost.h - what atomics of a warp cost (cost.h has the model). Inline, because rows.c wants it
** in each of its builds, too. */
#ifndef GILUA_EMU_ATOM_COST_H
#define GILUA_EMU_ATOM_COST_H

#include "emu/cost/lines.h"

/* How many lanes come to an address where one was before: by a table of those met, from 1. */
static inline unsigned count_met(const uint64_t at[LANES], uint32_t mask) {
    uint8_t place[256] = {0};
    uint64_t met[LANES + 1];
    unsigned n = 0, lanes = (unsigned)__builtin_popcount(mask);
    for (; mask; mask &= mask - 1) {
        uint64_t address = at[__builtin_ctz(mask)];
        unsigned hash = (unsigned)(address * 0x9E3779B97F4A7C15u >> 56), k = place[hash];
        met[0] = address;
        while (met[k] != address) k = place[hash = (hash + 1) & 255]; /* seldom */
        n += k == 0;
        k = k == 0 ? n : k;
        place[hash] = (uint8_t)k;
        met[k] = address;
    }
    return lanes - n;
}

#if defined(EMU_AVX512)
static inline unsigned count_repeats(const uint64_t at[LANES], uint32_t mask) {
    uint64_t all[LANES];
    uint32_t key[LANES], same[LANES];
    fill_lanes(at, mask, all);
    if (!lanes_narrow(all, 0, key)) return count_met(at, mask);
    return (unsigned)(__builtin_popcount(mask) - __builtin_popcount(lanes_first(key, same)));
}
#else
static inline unsigned count_repeats(const uint64_t at[LANES], uint32_t mask) {
    return count_met(at, mask);
}
#endif

/* Of all lanes, without branches. */
static inline bool all_rise(const uint64_t at[LANES]) {
    uint64_t falls = 0;
    for (int i = 0; i < LANES - 1; i++) falls |= at[i + 1] <= at[i];
    return falls == 0;
}

static inline bool lanes_rise(const uint64_t at[LANES], uint32_t mask) {
    if (mask == FULL_MASK) return all_rise(at);
    uint64_t last = at[__builtin_ctz(mask)];
    for (mask &= mask - 1; mask; mask &= mask - 1) {
        uint64_t address = at[__builtin_ctz(mask)];
        if (address <= last) return false;
        last = address;
    }
    return true;
}

/* Bytes of lanes that are at one address (1), or follow each other by at most 8 (more); else 0. */
static inline uint64_t run_of_lanes(const uint64_t at[LANES], uint32_t mask) {
    int first = __builtin_ctz(mask), n = __builtin_popcount(mask);
    uint64_t step = n > 1 ? at[first + 1] - at[first] : 0, other = 0;
    uint32_t run = mask >> first;
    if ((run & (run + 1)) != 0 || step > 8) return 0;
    for (int i = 0; i < n; i++) other |= at[first + i] ^ (at[first] + (uint64_t)i * step);
    return other ? 0 : step * (uint64_t)(n - 1) + 1; /* sectors are those of first bytes */
}

static inline void atomic_charge(Machine *m, Warp *w, const uint64_t at[LANES], uint32_t mask,
                                 bool shared, Alloc *in) {
    uint64_t run = run_of_lanes(at, mask);
    unsigned repeats = 0;
    if (run == 1) repeats = (unsigned)__builtin_popcount(mask) - 1;
    if (run == 0 && !lanes_rise(at, mask)) repeats = count_repeats(at, mask);
    if (shared) {
        m->cost.extra[PIPE_SHARED] += repeats;
        m->result->shared_conflicts += repeats;
        w->clock += repeats;
        return;
    }
    double before = m->cost.extra[PIPE_GLOBAL];
    if (in && run) {
        cost_range(m, w, at[__builtin_ctz(mask)], run, COST_KIND_ATOMIC);
    } else if (in) {
        LineSet set;
        lines_collect(&set, at, mask);
        lines_charge(m, w, in, &set, COST_KIND_ATOMIC);
    } else {
        cost_lanes(m, w, at, mask, COST_KIND_ATOMIC);
    }
    m->cost.extra[PIPE_ATOMIC] += m->cost.extra[PIPE_GLOBAL] - before + repeats;
    m->cost.extra[PIPE_GLOBAL] = before;
}

#endif
