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
    const float *a;     /* [k][MATRIX_STRIP] */
    const int16_t *ea;  /* their exponents */
    const float *b;     /* [n][k] */
    const uint32_t *eb; /* of 16 bits, twice in a word */
    float *c;           /* [n][MATRIX_STRIP]: what is added to, then the results, as numbers */
    /* Of a warpgroup's product, instead: words of 16 rows of A, [word along k][row], and of columns
    ** of B; is it added to D? */
    const uint32_t *word_a, *word_b;
    bool adds;
} MatrixTask;

/* Exponents; SPECIAL: an infinity or a NaN; NONE: a number of A that is not there (mma.sp). */
enum { MATRIX_ZERO = -126, MATRIX_SPECIAL = 0x3000, MATRIX_NONE = -0x4000 };

/* The same of a number in f32 with a format's least exponent. */
static inline int16_t matrix_exponent(uint32_t bits, int least) {
    int field = (int)(bits >> 23 & 255), e = field - 127;
    if (field == 255) return MATRIX_SPECIAL;
    if ((bits & 0x7fffffff) == 0) return MATRIX_ZERO;
    return (int16_t)(e < least ? least : e);
}

/* Result (i, j) of a task. */
float matrix_sum_one(const MatrixTask *t, int i, int j, float c, int from, int to);

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

/* The least exponent of a type; numbers from bits, and their exponents; bits of a result. */
int matrix_least(MatrixType t);
void matrix_floats(MatrixType t, const uint32_t *bits, int n, float *x);
void matrix_exponents(const float *x, int n, int least, int16_t *e);
uint32_t matrix_bits_of(MatrixType t, float x);
void matrix_integers(MatrixType t, const uint32_t *bits, int n, int32_t *to);
/* Adds C to n sums. The nearest f16 of the nearest f32 is the nearest f16 of a sum of two halves:
** an f32 has more than twice their bits. */
void matrix_add_last(float *sum, const float *c, int n, bool halves);
/* Sums a task by the loop of this processor. */
void matrix_sum(const Machine *m, const MatrixTask *t);
/* Does a form's product by that loop, from words of A and B; false: it is asked for plainly. */
bool matrix_sum_words(const Machine *m, const Warp *w, const MatrixForm *f, const MatrixTask *t);
/* One column of a strip, c + A * b: b has k numbers. */
void matrix_sum_column(const MatrixForm *f, int k, const int32_t *a, const int32_t *b, int32_t *c);

#endif
