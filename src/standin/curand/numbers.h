/* numbers.h - the pseudorandom numbers of cuRAND's host API, computed on the host.
**
** Model: a generator deals its results out to `lanes`, far-apart subsequences of one sequence. Lane
** after lane gives one result (or one pair, one block of four), then the first lane goes on. The
** lanes are cuRAND's documented orderings: result n of XORWOW is number n / 4096 of lane n % 4096,
** whose beginning lies 2^67 numbers behind that of the lane before.
** Sources: Marsaglia, "Xorshift RNGs" (2003); L'Ecuyer, "Good parameters and implementations for
** combined multiple recursive random number generators" (1999); Salmon et al., "Parallel random
** numbers: as easy as 1, 2, 3" (2011).
*/
#ifndef GILUA_STANDIN_NUMBERS_H
#define GILUA_STANDIN_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum NumbersType { /* curandRngType_t */
    NUMBERS_XORWOW = 101,
    NUMBERS_MRG32K3A = 121,
    NUMBERS_PHILOX = 161
} NumbersType;

typedef enum NumbersKind {
    NUMBERS_BITS,           /* uint32_t */
    NUMBERS_UNIFORM,        /* float, in (0, 1] */
    NUMBERS_UNIFORM_DOUBLE,
    NUMBERS_NORMAL,
    NUMBERS_NORMAL_DOUBLE
} NumbersKind;

typedef struct NumbersLane { /* XORWOW: the counter, then x to v; MRG32k3a: its two recurrences;
                             ** Philox: how many blocks it gave */
    uint32_t word[6];
} NumbersLane;

typedef struct Numbers {
    NumbersType type;
    uint64_t seed;
    uint32_t lanes;
    NumbersLane *lane;
    uint32_t next;       /* the lane that gives the next result */
    uint32_t given;      /* Philox: results of the next block of four that were given */
} Numbers;

/* Starts a generator at its offset-th number; lanes: how many subsequences. False: no memory. */
bool numbers_start(Numbers *g, NumbersType type, uint32_t lanes, uint64_t seed, uint64_t offset);
void numbers_end(Numbers *g);

/* Writes the next n results. Normal ones have mean 0 and deviation 1; their n is even. */
void numbers_fill(Numbers *g, NumbersKind kind, void *out, size_t n);

#endif
