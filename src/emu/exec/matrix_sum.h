/* matrix_sum.h - how matrix instructions sum floating-point products.
**
** The published model (docs/emu.md has the papers): the products of a block and the number that
** they are added to are exact; each is cut, towards zero, to so many bits behind the point of the
** largest exponent among them; the sum of what is left is exact, and is cut to f32 or rounded to
** the nearest f16. A product's exponent is the sum of its factors', so that its significand is in
** [1, 4); the exponent of zero is -126. The next block starts with that result.
**
** matrix_sum_plain is that, number by number. The fast one gives the same bits; it is compiled for
** each set of vector instructions, as rows.c is.
*/
#ifndef GILUA_EMU_MATRIX_SUM_H
#define GILUA_EMU_MATRIX_SUM_H

#include "emu/exec/matrix.h"

typedef struct MatrixTask { /* one strip */
    int n, k;
    MatrixRule rule;
    bool halves;        /* results are f16 */
    bool is_narrow;     /* no product of A and B but zero is below 2^-60 */
    const float *a;     /* [k][MATRIX_STRIP] */
    const int16_t *ea;  /* their exponents */
    const float *b;     /* [n][k] */
    const uint32_t *eb; /* of 16 bits, twice in a word */
    float *c;           /* [n][MATRIX_STRIP]: what is added to, then the results, as numbers */
} MatrixTask;

enum { MATRIX_ZERO = -126, MATRIX_SPECIAL = 0x3000 }; /* exponents; SPECIAL: an infinity or a NaN */

/* The same of a number in f32 with a format's least exponent. */
static inline int16_t matrix_exponent(uint32_t bits, int least) {
    int field = (int)(bits >> 23 & 255), e = field - 127;
    if (field == 255) return MATRIX_SPECIAL;
    if ((bits & 0x7fffffff) == 0) return MATRIX_ZERO;
    return (int16_t)(e < least ? least : e);
}

/* Result (i, j) of a task. */
float matrix_sum_one(const MatrixTask *t, int i, int j, float c, int from, int to);

typedef void (*MatrixSumFn)(const MatrixTask *t);
void matrix_sum_plain(const MatrixTask *t);
void matrix_sum_base(const MatrixTask *t);
void matrix_sum_avx2(const MatrixTask *t), matrix_sum_avx512(const MatrixTask *t);

/* --- matrix.c: numbers of fragments --- */

/* The least exponent of a type; numbers from bits, and their exponents; bits of a result. */
int matrix_least(MatrixType t);
void matrix_floats(MatrixType t, const uint32_t *bits, int n, float *x);
void matrix_exponents(const float *x, int n, int least, int16_t *e);
uint32_t matrix_bits_of(MatrixType t, float x);
void matrix_integers(MatrixType t, const uint32_t *bits, int n, int32_t *to);
/* The loop of this processor. */
MatrixSumFn matrix_sum_function(const Machine *m);
/* One column of a strip, c + A * b: b has k numbers. */
void matrix_sum_column(const MatrixForm *f, int k, const int32_t *a, const int32_t *b, int32_t *c);

#endif
