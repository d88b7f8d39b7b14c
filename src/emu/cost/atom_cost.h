/* atom_cost.h - what atomics of a warp cost (cost.h has the model). Inline, because rows.c wants it
** in each of its builds, too. */
#ifndef GILUA_EMU_ATOM_COST_H
#define GILUA_EMU_ATOM_COST_H

#include "emu/cost/lines.h"

/* Of all lanes, without branches. */
static inline bool all_rise(const uint64_t at[LANES]) {
    uint64_t falls = 0;
    for (int i = 0; i < LANES - 1; i++) falls |= at[i + 1] <= at[i];
    return falls == 0;
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

/* --- in shared memory --- */

/* The most lanes that want words of one bank, and that want one word of 4 bytes. */
static inline void atomic_rivals(const uint64_t at[LANES], uint32_t mask, unsigned *bank,
                                 unsigned *word) {
    uint8_t banks[32] = {0}, words[64] = {0};
    uint64_t met[64];
    *bank = *word = 0;
    for (; mask; mask &= mask - 1) {
        uint64_t here = at[__builtin_ctz(mask)] >> 2;
        unsigned k = (unsigned)(here * 0x9E3779B97F4A7C15u >> 58), n = ++banks[here & 31];
        while (words[k] && met[k] != here) k = (k + 1) & 63;
        met[k] = here;
        words[k]++;
        if (n > *bank) *bank = n;
        if (words[k] > *word) *word = words[k];
    }
}

/* Updates of a word that are loops follow each other: a block takes as long as its busiest word. */
static inline void cas_note(Machine *m, const uint64_t at[LANES], uint32_t mask) {
    Cost *c = &m->cost;
    size_t words = (size_t)m->shared_bytes / 4 + 1;
    if (c->cas == NULL) c->cas = gi_alloc(words * sizeof *c->cas);
    c->any_cas = true;
    for (; mask; mask &= mask - 1) {
        size_t word = (size_t)(at[__builtin_ctz(mask)] & OFFSET_MASK) / 4;
        if (word < words && ++c->cas[word] > c->most_cas) c->most_cas = c->cas[word];
    }
}

static inline void atomic_shared(Machine *m, Warp *w, const uint64_t at[LANES], uint32_t mask,
                                 unsigned how) {
    const EmuModel *g = m->model;
    unsigned bank, word;
    if (how & COST_ATOM_ONE_PLACE) return;
    if (how & COST_ATOM_COUNTS) {
        cost_shared(m, at, mask, 4);
        return;
    }
    atomic_rivals(at, mask, &bank, &word);
    m->result->shared_conflicts += bank - 1;
    if (!(how & COST_ATOM_LOOP)) {
        m->cost.extra[PIPE_SHARED] += bank - 1;
        w->clock += bank - 1;
        return;
    }
    unsigned wide = how & COST_ATOM_WIDE ? 2 : 1;
    m->cost.extra[PIPE_SHARED] += 2 * bank * wide;
    m->cost.extra[PIPE_ISSUE] += 6 * word;
    w->clock += word * (how & COST_ATOM_WIDE ? g->latency_cas_wide : g->latency_cas);
    cas_note(m, at, mask);
}

/* --- in global memory --- */

/* n operations that L2 does on a line; of lanes that it does not do together one takes three times
** as long. at: an address in the allocation, or (NULL) a place of alloc_place. */
static inline void atomic_line(Machine *m, const Alloc *in, uint64_t at, uint64_t n,
                               unsigned weight) {
    uint64_t line = (in ? alloc_place(in, at) : at) >> 7;
    m->cost.atomic_ops += n;
    m->cost.atomic_line[line_hash(line) & (COST_ATOMIC_LINES - 1)] += n * weight;
}

/* Lanes side by side are one operation a sector, others one each. */
static inline void atomic_lines(Machine *m, const uint64_t at[LANES], uint32_t mask,
                                const Alloc *in, uint64_t run, unsigned how) {
    uint64_t first = at[__builtin_ctz(mask)];
    if (run == 1) {
        bool joined = how & COST_ATOM_ONE_PLACE;
        atomic_line(m, in, first, joined ? 1 : (uint64_t)__builtin_popcount(mask), joined ? 1 : 3);
    } else if (run) {
        for (uint64_t s = first >> 5; s <= (first + run - 1) >> 5; s++)
            atomic_line(m, in, s << 5, 1, 1);
    } else {
        for (; mask; mask &= mask - 1) atomic_line(m, in, at[__builtin_ctz(mask)], 1, 3);
    }
}

static inline void atomic_charge(Machine *m, Warp *w, const uint64_t at[LANES], uint32_t mask,
                                 bool shared, Alloc *in, unsigned how) {
    uint64_t run = shared ? 0 : run_of_lanes(at, mask);
    if (shared) {
        atomic_shared(m, w, at, mask, how);
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
    m->cost.extra[PIPE_ATOMIC] += m->cost.extra[PIPE_GLOBAL] - before;
    m->cost.extra[PIPE_GLOBAL] = before;
    atomic_lines(m, at, mask, in, run, how);
}

#endif
