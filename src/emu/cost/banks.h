/* banks.h - what an access to shared memory waits for its banks, where the lanes' addresses neither
** are one nor follow each other.
**
** A bank gives a word of 4 bytes at a time. Accesses of 8 or more bytes go by halves, quarters … of
** a warp, so that there are as many banks of that size as lanes in such a group, and 32 in all
** groups together. Inline, because exec.c wants it for AVX2, too. */
#ifndef GILUA_EMU_BANKS_H
#define GILUA_EMU_BANKS_H

#include "emu/core.h"

#include <string.h>

/* Wavefronts a group of lanes needs: the most distinct words any of the 32 banks must give. */
static inline unsigned banks_plainly(const uint64_t *at, uint32_t mask, unsigned words) {
    uint64_t seen[LANES][LANES];
    uint8_t n[LANES] = {0};
    unsigned most = 1;
    for (; mask; mask &= mask - 1) {
        uint64_t word = at[__builtin_ctz(mask)] >> 2;
        for (unsigned k = 0; k < words; k++, word++) {
            unsigned bank = word & 31, j = 0;
            while (j < n[bank] && seen[bank][j] != word) j++;
            if (j == n[bank] && j < LANES) seen[bank][n[bank]++] = word;
            if (n[bank] > most) most = n[bank];
        }
    }
    return most;
}

/* The rows of 128 bytes from which each bank must give something, a bit each. False where rows lie
** too far apart for that. */
static inline bool banks_rows(const uint64_t at[LANES], uint32_t mask, int shift,
                              uint64_t rows[LANES]) {
    const unsigned low = (128u >> shift) - 1;
    uint64_t first = at[__builtin_ctz(mask)] >> 7, apart = 0;
    memset(rows, 0, LANES * sizeof *rows);
    for (unsigned i = 0; i < LANES; i++) {
        uint64_t on = mask >> i & 1, row = at[i] >> 7;
        apart |= (row ^ first) & (0 - on);
        rows[(i & ~low) | (at[i] >> shift & low)] |= on << (row & 63);
    }
    return apart < 64;
}

static inline unsigned banks_most(const uint64_t *rows, unsigned n) {
    int most = 0;
    for (unsigned i = 0; i < n; i++) {
        int bits = __builtin_popcountll(rows[i]);
        most = bits > most ? bits : most;
    }
    return (unsigned)most;
}

/* Of 32 lanes whose addresses have one distance, of whole units: as many lanes of a group share a
** bank as the distance in units has factors 2. */
static inline Banks banks_of_step(uint64_t step, unsigned unit) {
    unsigned words = unit / 4, lanes = LANES / words, twos = (unsigned)((step / unit) | lanes);
    unsigned conflicts = ((twos & -twos) - 1) * words;
    return (Banks){conflicts + words - 1, conflicts};
}

/* The same of any lanes. Where they are aligned, it is the same wherever the first of them lies. */
static inline Banks banks_count(const uint64_t at[LANES], uint32_t mask, unsigned bytes) {
    unsigned words = bytes < 4 ? 1 : bytes / 4, lanes = LANES / words, extra = 0, phases = 0;
    uint64_t rows[LANES];
    bool near = banks_rows(at, mask, 2 + __builtin_ctz(words), rows);
    for (unsigned first = 0; first < LANES; first += lanes) {
        uint32_t part = lanes == LANES ? mask : mask & (((1u << lanes) - 1) << first);
        if (part == 0) continue;
        extra += (near ? banks_most(rows + first, lanes) : banks_plainly(at, part, words)) - 1;
        phases++;
    }
    return (Banks){extra + phases - 1, extra};
}

static inline void banks_charge(Machine *m, Banks banks) {
    m->cost.extra[PIPE_SHARED] += banks.extra;
    m->result->shared_conflicts += banks.conflicts;
}

#endif
