/* reference.c - local alignment scores on the CPU, and the sequences kernel.cu is tested on.
**
** Smith and Waterman's recurrence with Gotoh's affine gaps, row by row, in whole numbers: the same
** answers to the bit. Letters are A, C, G, T as 0 to 3. best[pair][row] is the largest H of a row.
**
** A query is a piece of its subject with some letters changed, inserted and left out, so that good
** alignments need gaps.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** bytes, on every machine.
*/
#include <stdint.h>

#define MOST_COLUMNS 2048
#define GAP_OPEN     10
#define GAP_EXTEND   2
#define NEVER        (-1000000000)

/* queries: pairs x rows letters; subjects: pairs x columns letters. */
void smith_waterman_sequences(uint64_t seed, int64_t pairs, int64_t rows, int64_t columns,
                              uint8_t *queries, uint8_t *subjects);

/* columns: at most 2048. */
void smith_waterman_best(const uint8_t *queries, const uint8_t *subjects, int64_t pairs,
                         int64_t rows, int64_t columns, int32_t *best);

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A changed copy of the subject, from a random place on, round and round. */
static void mutated_copy(uint64_t *state, const uint8_t *subject, int64_t columns, int64_t rows,
                         uint8_t *query) {
    int64_t j = (int64_t)(random_bits(state) % (uint64_t)columns);
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t bits = random_bits(state);
        const uint64_t event = bits % 100;
        if (event < 4) j += 1 + (int64_t)(bits >> 32) % 5; /* a gap in the query */
        query[i] = event < 15 ? (uint8_t)(bits >> 62) : subject[j % columns];
        if (event < 4 || event >= 9) j++; /* else the letter is an insertion */
    }
}

void smith_waterman_sequences(uint64_t seed, int64_t pairs, int64_t rows, int64_t columns,
                              uint8_t *queries, uint8_t *subjects) {
    uint64_t state = seed;
    for (int64_t i = 0; i < pairs * columns; i++)
        subjects[i] = (uint8_t)(random_bits(&state) >> 62);
    for (int64_t p = 0; p < pairs; p++)
        mutated_copy(&state, subjects + p * columns, columns, rows, queries + p * rows);
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static int32_t score(uint8_t a, uint8_t b) {
    if (a == b) return 5;
    return (a ^ b) == 2 ? -1 : -4; /* transition, transversion */
}

/* One row: h and f hold the row above, and then this one. */
static int32_t align_row(uint8_t letter, const uint8_t *subject, int64_t columns, int32_t *h,
                         int32_t *f) {
    int32_t best = 0, diagonal = 0, left = 0, e = NEVER;
    for (int64_t j = 0; j < columns; j++) {
        e = larger(left - GAP_OPEN, e - GAP_EXTEND);
        f[j] = larger(h[j] - GAP_OPEN, f[j] - GAP_EXTEND);
        left = larger(larger(0, diagonal + score(letter, subject[j])), larger(e, f[j]));
        diagonal = h[j];
        h[j] = left;
        best = larger(best, left);
    }
    return best;
}

void smith_waterman_best(const uint8_t *queries, const uint8_t *subjects, int64_t pairs,
                         int64_t rows, int64_t columns, int32_t *best) {
    int32_t h[MOST_COLUMNS], f[MOST_COLUMNS];
    for (int64_t p = 0; p < pairs; p++) {
        for (int64_t j = 0; j < columns; j++) h[j] = 0, f[j] = NEVER;
        for (int64_t i = 0; i < rows; i++)
            best[p * rows + i] =
                align_row(queries[p * rows + i], subjects + p * columns, columns, h, f);
    }
}
