/* matrix_sum.h - how matrix instructions sum floating-point products.
**
** The published model (docs/emu.md has the papers): the products of a block and the number that
** they are added to are exact; each is cut, towards zero, to so many bits behind the point of the
** largest exponent among them; the sum of what is left is exact, and is cut to f32 or rounded to
** the nearest f16. A product's exponent is the sum of its factors', so that its significand is in
** [1, 4); the exponent of zero is -126, and that of a subnormal number its format's least. The next
** block starts with that result.
**
** matrix_sum_plain is that, number by number. The fast one gives the same bits; it is compiled for
** each set of vector instructions, as rows.c is.
*/
#ifndef GILUA_EMU_MATRIX_SUM_H
#define GILUA_EMU_MATRIX_SUM_H

#include "emu/exec/matrix.h"
#include "emu/exec/num.h"

typedef struct MatrixTask { /* one strip */
    int n, k;
    MatrixRule rule;
    bool halves;        /* results are f16 */
    bool is_narrow;     /* no product of A and B but zero is below 2^-60 */
    int least[2];       /* exponents of A and B */
    int per;            /* 1, 2 or 4 exponents are in a word */
    const float *a;     /* [k][MATRIX_STRIP] */
    const uint32_t *ea; /* their exponents, see matrix_exponent_word: [k / per][MATRIX_STRIP] */
    const float *b;     /* [n][k] */
    const uint32_t *eb; /* [n][k / per] */
    float *c;           /* [n][MATRIX_STRIP]: what is added to, then the results, as numbers */
    /* Of a warpgroup's product, instead: words of 16 rows of A, [word along k][row], and of columns
    ** of B; is it added to D? */
    const uint32_t *word_a, *word_b;
    bool adds;
} MatrixTask;

/* Exponents; SPECIAL: an infinity or a NaN. */
enum { MATRIX_ZERO = -126, MATRIX_SPECIAL = 0x3000 };

/* The same of a number in f32 with a format's least exponent. */
static inline int16_t matrix_exponent(uint32_t bits, int least) {
    int field = (int)(bits >> 23 & 255), e = field - 127;
    if (field == 255) return MATRIX_SPECIAL;
    if ((bits & 0x7fffffff) == 0) return MATRIX_ZERO;
    return (int16_t)(e < least ? least : e);
}

/* The exponent that a task has of a number: with a bias, so that none is negative, and the sum of
** two never carries into the next of a word. ODD: an infinity or a NaN. NONE: a number of A that is
** not there (mma.sp), where a word has one. Of formats with few exponents zero has 1, which is less
** than what any other product has, whatever it is added to. */
enum { MATRIX_BIAS = 47, MATRIX_ODD_NARROW = 127, MATRIX_ODD = 1024, MATRIX_NONE = -0x10000 };

static inline uint32_t matrix_exponent_word(uint32_t bits, int least) {
    const bool is_narrow = least > -60;
    int e = matrix_exponent(bits, least);
    if (e == MATRIX_SPECIAL) return is_narrow ? MATRIX_ODD_NARROW : MATRIX_ODD;
    if (e == MATRIX_ZERO) return 1;
    return (uint32_t)(e + (is_narrow ? MATRIX_BIAS : 127));
}

/* Result (i, j) of a task, of numbers `from` to `to`; with some: of each `some` the first half. */
float matrix_sum_one(const MatrixTask *t, int i, int j, float c, int from, int to, int some);

/* Sums a task; or, where there is a form, which has 16 rows, all of its product, from the
** warp's registers to them. */
typedef void (*MatrixSumFn)(const Warp *w, const MatrixForm *f, const MatrixTask *t);
void matrix_sum_plain(const MatrixTask *t);
void matrix_sum_base(const Warp *w, const MatrixForm *f, const MatrixTask *t);
void matrix_sum_avx2(const Warp *w, const MatrixForm *f, const MatrixTask *t);
void matrix_sum_avx512(const Warp *w, const MatrixForm *f, const MatrixTask *t);

/* A half as f32; bits of a result that is a half, and of one in f32. */
static inline float matrix_half(uint32_t h) {
    uint32_t size = h & 0x7fff, sign = (h & 0x8000) << 16;
    float small = (float)(int32_t)size * 0x1p-24f;
    uint32_t wide = (size << 13) + (size < 0x7c00 ? 112u << 23 : 224u << 23);
    uint32_t value = size < 0x400 ? num_f32_bits(small) : wide;
    return num_f32_from_bits(value | sign);
}

static inline uint32_t matrix_half_bits(float x) {
    uint32_t bits = num_f32_bits(x), size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    float whole = num_f32_from_bits(size < 0x38800000 ? size : 0) * 0x1p24f;
    uint32_t plain = size < 0x7f800000 ? (size - (112u << 23)) >> 13 : 0x7c00;
    uint32_t value = size < 0x38800000 ? (uint32_t)(int32_t)whole : plain;
    return size > 0x7f800000 ? 0x7fff : value | sign;
}

static inline uint32_t matrix_word(float x) {
    uint32_t bits = num_f32_bits(x);
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits;
}

/* --- matrix.c: numbers of fragments --- */

/* A type's least exponent; numbers from bits, their exponents, one a word; bits of a result. */
static inline int matrix_least(MatrixType t) {
    return t == MATRIX_F16 || t == MATRIX_E5M2 ? -14 : t == MATRIX_E4M3 ? -6 : -126;
}
void matrix_floats(MatrixType t, const uint32_t *bits, int n, float *x);
void matrix_exponents(const float *x, int n, int least, uint32_t *e);
uint32_t matrix_bits_of(MatrixType t, float x);
void matrix_integers(MatrixType t, const uint32_t *bits, int n, int32_t *to);
/* Adds C to n sums. The nearest f16 of the nearest f32 is the nearest f16 of a sum of two halves:
** an f32 has more than twice their bits. */
void matrix_add_last(float *sum, const float *c, int n, bool halves);
/* Sums a task by the loop of this processor. */
void matrix_sum(const Machine *m, const MatrixTask *t);
/* Computes a form's product by that loop, from words of A and B; false: use the plain loop. */
bool matrix_sum_words(const Machine *m, const Warp *w, const MatrixForm *f, const MatrixTask *t);
/* One column of a strip, c + A * b: b has k numbers. */
void matrix_sum_column(const MatrixForm *f, int k, const int32_t *a, const int32_t *b, int32_t *c);

#endif
