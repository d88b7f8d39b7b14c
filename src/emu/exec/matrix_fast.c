/* matrix_fast.c - see matrix_sum.h: 16 results of a column at a time. matrix_avx2.c and
** matrix_avx512.c compile this file again.
**
** A product is exact in f32, or so small that its cut value is zero. Scaled by a power of two it is
** a whole number of units below 2^27, so that eight of them fit into 32 bits. Results whose
** exponents leave that room are made by matrix_sum_one.
*/
#include "emu/exec/vector.h"

#include "emu/exec/matrix_sum.h"
#include "emu/exec/num.h"

#ifndef MATRIX_VARIANT
#define MATRIX_VARIANT matrix_sum_base
#endif

#pragma GCC diagnostic ignored "-Wpsabi" /* vectors are passed within this file alone */

#if defined(EMU_AVX512)
enum { WIDE = 16 }; /* results of a vector */
#elif defined(EMU_AVX2)
enum { WIDE = 8 };
#else
enum { WIDE = 4 };
#endif
enum { SIDE = 4, STRIP = MATRIX_STRIP, CHUNK = 8, LEAST_TOP = -101, MOST_TOP = 119 };

typedef float Floats __attribute__((vector_size(WIDE * 4), may_alias));
typedef uint32_t Words __attribute__((vector_size(WIDE * 4), may_alias));
typedef int32_t Ints __attribute__((vector_size(WIDE * 4), may_alias));
typedef int16_t Shorts __attribute__((vector_size(WIDE * 2), may_alias));
typedef double Doubles __attribute__((vector_size(WIDE * 4), may_alias)); /* half as many */
typedef int64_t Longs __attribute__((vector_size(WIDE * 4), may_alias));
typedef float Half __attribute__((vector_size(WIDE * 2), may_alias));
typedef int32_t HalfInts __attribute__((vector_size(WIDE * 2), may_alias));

static inline Shorts larger(Shorts a, Shorts b) {
#if defined(EMU_AVX512)
    return (Shorts)_mm256_max_epi16((__m256i)a, (__m256i)b);
#elif defined(EMU_AVX2)
    return (Shorts)_mm_max_epi16((__m128i)a, (__m128i)b);
#else
    Shorts more = a > b;
    return (a & more) | (b & ~more);
#endif
}

static inline Shorts shorts_at(const int16_t *p) {
    Shorts v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* An exponent, twice in a word, for all rows. */
static inline Shorts for_all(uint32_t pair) {
    uint32_t v[sizeof(Shorts) / 4];
    Shorts all;
    for (size_t i = 0; i < sizeof(Shorts) / 4; i++) v[i] = pair;
    memcpy(&all, v, sizeof all);
    return all;
}

static inline Floats floats_at(const float *p) {
    Floats v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The exponents of C; those of zero are -126. */
static inline Shorts exponents(const Floats *c) {
    Ints bits = (Ints)*c, e = (bits >> 23 & 255) - 127;
    Ints special = e == 128, low = e < -126;
    e = (e & ~low) | (low & -126);
    e = (e & ~special) | (special & MATRIX_SPECIAL);
    return __builtin_convertvector(e, Shorts);
}

/* WIDE results of each of SIDE columns, from row i on. */
typedef struct Patch {
    const MatrixTask *t;
    int i, j, from, to;
    Floats c[SIDE];
    Shorts top[SIDE];   /* the largest exponents */
    Floats scale[SIDE]; /* 2^(fraction - top) */
    Ints sum[SIDE];     /* of units */
    Ints over;          /* where a sum does not fit: the sign bit */
} Patch;

#define EACH_SIDE for (int q = 0; q < SIDE; q++)

static inline void find_tops(Patch *s) {
    const int16_t *ea = s->t->ea + s->i;
    const uint32_t *eb = s->t->eb + s->j * s->t->k;
    Shorts top[SIDE];
    EACH_SIDE top[q] = exponents(&s->c[q]);
    for (int k = s->from; k < s->to; k++) {
        Shorts e = shorts_at(ea + k * STRIP);
        EACH_SIDE top[q] = larger(top[q], e + for_all(eb[q * s->t->k + k]));
    }
    EACH_SIDE s->top[q] = top[q];
}

static inline Ints units_of(Floats x) {
    return __builtin_convertvector(x, Ints);
}

/* Products from `from` to `end` of a chunk, added to units[]. */
static inline void add_chunk(const Patch *s, const Floats *scale, int from, int end, Ints *units) {
    const float *a = s->t->a + s->i, *b = s->t->b + s->j * s->t->k;
    const int stride = s->t->k;
    for (int k = from; k < end; k++) {
        Floats x = floats_at(a + k * STRIP);
        EACH_SIDE units[q] += units_of(x * b[q * stride + k] * scale[q]);
    }
}

static inline void add_products(Patch *s) {
    Floats scale[SIDE];
    Ints sum[SIDE], over = {0};
    EACH_SIDE scale[q] = s->scale[q];
    EACH_SIDE sum[q] = units_of(s->c[q] * scale[q]);
    for (int k = s->from; k < s->to; k += CHUNK) {
        Ints units[SIDE];
        EACH_SIDE units[q] = (Ints){0};
        add_chunk(s, scale, k, k + CHUNK < s->to ? k + CHUNK : s->to, units);
        EACH_SIDE {
            Ints both = (Ints)((Words)sum[q] + (Words)units[q]);
            over |= (both ^ sum[q]) & (both ^ units[q]);
            sum[q] = both;
        }
    }
    EACH_SIDE s->sum[q] = sum[q];
    s->over = over;
}

/* A sum of units, cut to 24 bits. */
static inline Floats cut_sum(const Ints *sum) {
#if defined(EMU_AVX512)
    return (Floats)_mm512_cvt_roundepi32_ps((__m512i)*sum, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#else
    HalfInts part[2];
    Half cut[2];
    Floats all;
    memcpy(part, sum, sizeof part);
    for (int h = 0; h < 2; h++) {
        Doubles exact = __builtin_convertvector(part[h], Doubles);
        exact = (Doubles)((Longs)exact & ~INT64_C(0x1fffffff));
        cut[h] = __builtin_convertvector(exact, Half);
    }
    memcpy(&all, cut, sizeof all);
    return all;
#endif
}

/* The results, cut to `kept` bits behind the point: units are normal numbers, and so are these. */
static inline void cut(const Patch *s, int q, float *out) {
    Ints e = s->t->rule.fraction - __builtin_convertvector(s->top[q], Ints);
    Floats unit = (Floats)((127 - e) << 23), x = cut_sum(&s->sum[q]);
    x = (Floats)((Ints)x & -(1 << (23 - s->t->rule.kept))) * unit;
    memcpy(out, &x, sizeof x);
}

/* The nearest f16 of numbers in f32, as f32. */
static inline Floats nearest_halves(Floats x) {
#if defined(EMU_AVX512)
    __m256i h = _mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return (Floats)_mm512_cvtph_ps(h);
#elif defined(EMU_AVX2)
    __m128i h = _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return (Floats)_mm256_cvtph_ps(h);
#else
    for (int i = 0; i < WIDE; i++) x[i] = num_f16_to_f32(num_f32_to_f16(x[i], NUM_RN));
    return x;
#endif
}

/* The results in f16: cut to 24 bits, with the last bit set where something was lost, so that the
** second rounding is as if there had been no first. */
static inline void round_halves(const Patch *s, int q, float *out) {
    Ints e = s->t->rule.fraction - __builtin_convertvector(s->top[q], Ints);
    Floats unit = (Floats)((127 - e) << 23), x = cut_sum(&s->sum[q]);
    Ints lost = s->sum[q] != __builtin_convertvector(x, Ints);
    x = nearest_halves((Floats)((Ints)x | (lost & 1)) * unit);
    memcpy(out, &x, sizeof x);
}

static inline bool any_set(const Shorts *v) {
    uint64_t word[sizeof *v / 8], any = 0;
    memcpy(word, v, sizeof *v);
    for (size_t k = 0; k < sizeof *v / 8; k++) any |= word[k];
    return any != 0;
}

static inline bool any_negative(const Ints *v) {
    uint64_t word[sizeof *v / 8], any = 0;
    memcpy(word, v, sizeof *v);
    for (size_t k = 0; k < sizeof *v / 8; k++) any |= word[k];
    return (any & 0x8000000080000000u) != 0;
}

/* Are the exponents such that scaled products fit? Where they are small because all is zero, the
** result is zero. */
static inline bool fits(const MatrixTask *t, Shorts *top, const Floats *c) {
    Shorts low = *top < LEAST_TOP, out = low | (*top > MOST_TOP);
    if (__builtin_expect(!any_set(&out), 1)) return true;
    out &= ~low | __builtin_convertvector(*c != 0, Shorts);
    if (any_set(&out) || !t->is_narrow) return false;
    *top = (*top & ~low) | (low & LEAST_TOP);
    return true;
}

static void slowly(const Patch *s, float *out) {
    EACH_SIDE
    for (int i = 0; i < WIDE; i++)
        out[q * STRIP + i] =
            matrix_sum_one(s->t, s->i + i, s->j + q, out[q * STRIP + i], s->from, s->to);
}

static inline void block(const MatrixTask *t, int i, int j, int from, int to) {
    float *out = t->c + j * STRIP + i;
    Patch s; /* its fields one by one: to clear it all takes longer than the sum */
    s.t = t, s.i = i, s.j = j, s.from = from, s.to = to;
    EACH_SIDE s.c[q] = floats_at(out + q * STRIP);
    find_tops(&s);
    bool all_fit = true;
    EACH_SIDE all_fit &= fits(t, &s.top[q], &s.c[q]);
    if (!all_fit) {
        slowly(&s, out);
        return;
    }
    EACH_SIDE s.scale[q] =
        (Floats)((t->rule.fraction - __builtin_convertvector(s.top[q], Ints) + 127) << 23);
    add_products(&s);
    if (__builtin_expect(any_negative(&s.over), 0)) {
        slowly(&s, out);
        return;
    }
    EACH_SIDE {
        if (t->halves) round_halves(&s, q, out + q * STRIP);
        else cut(&s, q, out + q * STRIP);
    }
}

void MATRIX_VARIANT(const MatrixTask *t) {
    for (int from = 0; from < t->k; from += t->rule.at_once) {
        int to = from + t->rule.at_once < t->k ? from + t->rule.at_once : t->k;
        for (int j = 0; j < t->n; j += SIDE)
            for (int i = 0; i < STRIP; i += WIDE) block(t, i, j, from, to);
    }
}
