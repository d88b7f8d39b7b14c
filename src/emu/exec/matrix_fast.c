/* matrix_fast.c - see matrix_sum.h: 16 results of a column at a time. matrix_avx2.c and
** matrix_avx512.c compile this file again.
**
** Exponents stay packed as the numbers are, so that one addition of words adds those of two or four
** products. A product is exact in f32, or so small that its cut value is zero. Scaled by a power of
** two it is a whole number of units below 2^27, so that eight of them fit into 32 bits. Results
** whose exponents leave that room are made by matrix_sum_one.
*/
#include "emu/exec/vector.h"

#include "emu/exec/matrix_group.h"
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

#define INLINE static inline __attribute__((always_inline))

typedef float Floats __attribute__((vector_size(WIDE * 4), may_alias));
typedef uint32_t Words __attribute__((vector_size(WIDE * 4), may_alias));
typedef int32_t Ints __attribute__((vector_size(WIDE * 4), may_alias));
typedef uint16_t Shorts __attribute__((vector_size(WIDE * 4), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(WIDE * 4), may_alias));
typedef double Doubles __attribute__((vector_size(WIDE * 4), may_alias)); /* half as many */
typedef int64_t Longs __attribute__((vector_size(WIDE * 4), may_alias));
typedef float Half __attribute__((vector_size(WIDE * 2), may_alias));
typedef int32_t HalfInts __attribute__((vector_size(WIDE * 2), may_alias));

INLINE Words words_at(const uint32_t *p) {
    Words v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE Floats floats_at(const float *p) {
    Floats v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The larger of each two numbers; a word has `per` of them. Words are signed. */
#if defined(EMU_AVX512)
#define MAXIMUM(vector, type, a, b) ((Words)_mm512_max_##type((__m512i)(a), (__m512i)(b)))
#elif defined(EMU_AVX2)
#define MAXIMUM(vector, type, a, b) ((Words)_mm256_max_##type((__m256i)(a), (__m256i)(b)))
#else
#define MAXIMUM(vector, type, a, b)                                                                \
    (((a) & (Words)((vector)(a) > (vector)(b))) | ((b) & ~(Words)((vector)(a) > (vector)(b))))
#endif

INLINE Words larger(Words a, Words b, int per) {
    if (per == 4) return MAXIMUM(Bytes, epu8, a, b);
    if (per == 2) return MAXIMUM(Shorts, epu16, a, b);
    return MAXIMUM(Ints, epi32, a, b);
}

INLINE Ints larger_int(Ints a, Ints b) {
    return (Ints)MAXIMUM(Ints, epi32, (Words)a, (Words)b);
}

INLINE bool any_negative(Ints v) {
#if defined(EMU_AVX512)
    return _mm512_movepi32_mask((__m512i)v) != 0;
#elif defined(EMU_AVX2)
    return _mm256_movemask_ps((__m256)v) != 0;
#else
    uint64_t word[2];
    memcpy(word, &v, sizeof word);
    return ((word[0] | word[1]) & 0x8000000080000000u) != 0;
#endif
}

/* WIDE results of each of SIDE columns, from row i and column j on; of the words along k those from
** `from` to `to`, and of each the numbers from `first` to `last`. */
typedef struct Patch {
    const MatrixTask *t;
    int per, k, i, j, from, to, first, last;
} Patch;

#define EACH_SIDE for (int q = 0; q < SIDE; q++)

/* The exponent of C, with the least one of its format. */
INLINE Ints exponent_of(Floats c, bool halves) {
    const Ints plain = ((Ints)c >> 23 & 255) - 127;
    const Ints zero = plain == -127;
    const Ints low = larger_int(plain, (Ints){0} + (halves ? -14 : -126));
    if (!halves) return low;
    return (low & ~zero) | (zero & MATRIX_ZERO);
}

/* The largest exponents. False: an infinity or a NaN is among the factors. */
INLINE bool find_tops(const Patch *s, const Floats *c, Ints *tops) {
    const MatrixTask *t = s->t;
    const int per = s->per, stride = s->k / per, bias = t->is_narrow ? 2 * MATRIX_BIAS : 2 * 127;
    const uint32_t *ea = t->ea + s->i, *eb = t->eb + s->j * stride;
    Words top[SIDE], most = {0};
    EACH_SIDE top[q] = (Words){0} + (per == 1 ? (uint32_t)MATRIX_NONE : 0);
    for (int w = s->from; w < s->to; w++) {
        const Words e = words_at(ea + w * STRIP);
        EACH_SIDE top[q] = larger(top[q], e + eb[q * stride + w], per);
    }
    EACH_SIDE {
        if (per == 4 && s->last - s->first == 2) top[q] = top[q] >> 8 * s->first & 0xffff;
        if (per == 4) top[q] = larger(top[q] & 0x00ff00ff, top[q] >> 8 & 0x00ff00ff, 2);
        if (per >= 2) top[q] = larger(top[q] & 0xffff, top[q] >> 16, 2);
        most = (Words)larger_int((Ints)most, (Ints)top[q]);
        Ints product = (Ints)top[q] - bias;
        if (t->is_narrow) product |= (Ints)(top[q] < 2 * (MATRIX_BIAS - 14)) & INT32_MIN / 2;
        tops[q] = larger_int(exponent_of(c[q], t->halves), product);
    }
    return !any_negative((t->is_narrow ? MATRIX_ODD_NARROW : MATRIX_ODD) - 1 - (Ints)most);
}

INLINE Ints units_of(Floats x) {
    return __builtin_convertvector(x, Ints);
}

/* Adds products to sums of units, CHUNK at a time; true where a sum fits. */
INLINE bool add_products(const Patch *s, const Floats *scale, Ints *sum) {
    const MatrixTask *t = s->t;
    const int step = CHUNK / (s->last - s->first), stride = s->k;
    const float *a = t->a + s->i, *b = t->b + s->j * stride;
    Ints over = {0};
    for (int from = s->from; from < s->to; from += step) {
        Ints units[SIDE];
        EACH_SIDE units[q] = (Ints){0};
        for (int w = from; w < from + step && w < s->to; w++)
            for (int n = s->first; n < s->last; n++) {
                const int k = w * s->per + n;
                const Floats x = floats_at(a + k * STRIP);
                EACH_SIDE units[q] += units_of(x * b[q * stride + k] * scale[q]);
            }
        EACH_SIDE {
            Ints both = (Ints)((Words)sum[q] + (Words)units[q]);
            over |= (both ^ sum[q]) & (both ^ units[q]);
            sum[q] = both;
        }
    }
    return !any_negative(over);
}

/* A sum of units, cut to 24 bits. */
INLINE Floats cut_sum(Ints sum) {
#if defined(EMU_AVX512)
    return (Floats)_mm512_cvt_roundepi32_ps((__m512i)sum, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#else
    HalfInts part[2];
    Half cut[2];
    Floats all;
    memcpy(part, &sum, sizeof part);
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
INLINE void cut(MatrixRule rule, Ints sum, Ints top, float *out) {
    Floats unit = (Floats)((127 - rule.fraction + top) << 23), x = cut_sum(sum);
    x = (Floats)((Ints)x & -(1 << (23 - rule.kept))) * unit;
    memcpy(out, &x, sizeof x);
}

/* The nearest f16 of numbers in f32, as f32. */
INLINE Floats nearest_halves(Floats x) {
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
INLINE void round_halves(MatrixRule rule, Ints sum, Ints top, float *out) {
    Floats unit = (Floats)((127 - rule.fraction + top) << 23), x = cut_sum(sum);
    Ints lost = sum != __builtin_convertvector(x, Ints);
    x = nearest_halves((Floats)((Ints)x | (lost & 1)) * unit) + 0.0f; /* no zero has a sign */
    memcpy(out, &x, sizeof x);
}

/* Are the exponents such that scaled products fit? Where they are small because all is zero, the
** result is zero: all products of column j. */
static bool fits(const Patch *s, int j, Ints *top, Floats c) {
    const MatrixTask *t = s->t;
    const Ints low = *top < LEAST_TOP;
    Ints any = c != 0;
    for (int w = s->from; w < s->to; w++)
        for (int k = w * s->per + s->first; k < w * s->per + s->last; k++)
            if (t->b[j * t->k + k] != 0) any |= floats_at(t->a + k * STRIP + s->i) != 0;
    if (any_negative(*top > MOST_TOP) || any_negative(low & any)) return false;
    *top = (*top & ~low) | (low & LEAST_TOP);
    return true;
}

static void slowly(const Patch *s) {
    const int some = (s->last - s->first) * 2 == s->per ? s->per : 0; /* half of a word's numbers */
    for (int j = s->j; j < s->j + SIDE; j++)
        for (int i = s->i; i < s->i + WIDE; i++) {
            float *c = &s->t->c[j * STRIP + i];
            *c = matrix_sum_one(s->t, i, j, *c, s->from * s->per + s->first, s->to * s->per, some);
        }
}

INLINE bool block(const Patch *s) {
    const MatrixRule rule = s->t->rule;
    float *out = s->t->c + s->j * STRIP + s->i;
    Floats c[SIDE], scale[SIDE];
    Ints top[SIDE], sum[SIDE], odd = {0};
    EACH_SIDE c[q] = floats_at(out + q * STRIP);
    if (!find_tops(s, c, top)) return false;
    EACH_SIDE odd |= (top[q] - LEAST_TOP) | (MOST_TOP - top[q]);
    if (__builtin_expect(any_negative(odd), 0))
        EACH_SIDE {
            Ints fit = top[q];
            if (!fits(s, s->j + q, &fit, c[q])) return false;
            top[q] = fit;
        }
    EACH_SIDE scale[q] = (Floats)((rule.fraction + 127 - top[q]) << 23);
    EACH_SIDE sum[q] = units_of(c[q] * scale[q]);
    if (!add_products(s, scale, sum)) return false;
    EACH_SIDE {
        if (s->t->halves) round_halves(rule, sum[q], top[q], out + q * STRIP);
        else cut(rule, sum[q], top[q], out + q * STRIP);
    }
    return true;
}

/* Where a word has two products' numbers (by_pairs), first those of its low half. */
INLINE void sum_per(const MatrixTask *t, const int per, const int k, const int at_once,
                    const bool by_pairs) {
    const int words = k / per, some = by_pairs ? words : at_once / per;
    for (int half = 0; half < 1 + by_pairs; half++)
        for (int from = 0; from < words; from += some)
            for (int j = 0; j < t->n; j += SIDE)
                for (int i = 0; i < STRIP; i += WIDE) {
                    const int end = from + some < words ? from + some : words;
                    const Patch s = {t,    per, k, i, j, from, end, half * 2,
                                     by_pairs ? half * 2 + 2 : per};
                    if (__builtin_expect(!block(&s), 0)) slowly(&s);
                }
}

static void sum_task(const MatrixTask *t) {
    if (t->per == 2 && t->k == 16 && t->rule.at_once == 16) sum_per(t, 2, 16, 16, false);
    else if (t->per == 2) sum_per(t, 2, t->k, t->rule.at_once, false);
    else if (t->per == 1) sum_per(t, 1, t->k, t->rule.at_once, false);
    else sum_per(t, 4, t->k, t->rule.at_once, t->rule.by_pairs);
}

/* --- fragments of 16 rows: from registers to strips and back ---
**
** A row of the register file has a word of each lane, lane 4 g + p. Two rows x and y are the words
** of rows g, and 8 + g, of four columns p, which are `step` apart in a strip. */

typedef uint32_t Column[MATRIX_STRIP];

#if defined(EMU_AVX512)
static inline void to_columns(const U32 *x, const U32 *y, Column *to, int step) {
    const __m512i x0 = _mm512_loadu_si512(x), x1 = _mm512_loadu_si512(x + 16);
    const __m512i y0 = _mm512_loadu_si512(y), y1 = _mm512_loadu_si512(y + 16);
    __m512i at = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    for (int p = 0; p < 4; p++) {
        __m512i low = _mm512_permutex2var_epi32(x0, at, x1);
        __m512i high = _mm512_permutex2var_epi32(y0, at, y1);
        _mm512_storeu_si512(to[p * step], _mm512_mask_blend_epi32(0xff00, low, high));
        at = _mm512_add_epi32(at, _mm512_set1_epi32(1));
    }
}

static inline void from_columns(const Column *from, int step, U32 *x, U32 *y) {
    __m512i c[4], at = _mm512_setr_epi32(0, 16, 0, 16, 1, 17, 1, 17, 2, 18, 2, 18, 3, 19, 3, 19);
    U32 *to[4] = {x, x + 16, y, y + 16};
    for (int p = 0; p < 4; p++) c[p] = _mm512_loadu_si512(from[p * step]);
    for (int q = 0; q < 4; q++) {
        __m512i first = _mm512_permutex2var_epi32(c[0], at, c[1]);
        __m512i last = _mm512_permutex2var_epi32(c[2], at, c[3]);
        _mm512_storeu_si512(to[q], _mm512_mask_blend_epi32(0xcccc, first, last));
        at = _mm512_add_epi32(at, _mm512_set1_epi32(4));
    }
}
#else
static inline void to_columns(const U32 *x, const U32 *y, Column *to, int step) {
    for (int p = 0; p < 4; p++)
        for (int g = 0; g < 8; g++)
            to[p * step][g] = x[4 * g + p], to[p * step][8 + g] = y[4 * g + p];
}

static inline void from_columns(const Column *from, int step, U32 *x, U32 *y) {
    for (int g = 0; g < 8; g++)
        for (int p = 0; p < 4; p++)
            x[4 * g + p] = from[p * step][g], y[4 * g + p] = from[p * step][8 + g];
}
#endif

/* The halves in the low parts of words, as f32. */
static inline Floats halves_of(Words h) {
#if defined(EMU_AVX512)
    return (Floats)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)h));
#else
    const Words size = h & 0x7fff, sign = (h & 0x8000) << 16;
    const Floats small = __builtin_convertvector((Ints)size, Floats) * 0x1p-24f;
    const Words is_small = (Words)(size < 0x400), is_finite = (Words)(size < 0x7c00);
    const Words more = (is_finite & (112u << 23)) | (~is_finite & (224u << 23));
    return (Floats)((((Words)small & is_small) | (((size << 13) + more) & ~is_small)) | sign);
#endif
}

/* Of e4m3 as of a half whose exponent is moved; 0x7f is a NaN. */
static inline Floats bytes_of(Words b) {
    const Words size = b & 0x7f, sign = (b & 0x80) << 24, nan = (Words)(size == 0x7f);
    const Floats small = __builtin_convertvector((Ints)size, Floats) * 0x1p-9f;
    const Words is_small = (Words)(size < 8), wide = (size << 20) + (120u << 23);
    const Words plain = ((Words)small & is_small) | (wide & ~is_small) | sign;
    return (Floats)((plain & ~nan) | (nan & 0x7fffffff));
}

/* Numbers whose bits begin at `shift` of words. */
static inline Floats number_of(MatrixType t, Words w, unsigned shift) {
    switch (t) {
    case MATRIX_F16: return halves_of(w >> shift & 0xffff);
    case MATRIX_BF16: return (Floats)(w >> shift << 16);
    case MATRIX_TF32: return (Floats)(w & 0xffffe000);
    case MATRIX_E4M3: return bytes_of(w >> shift & 0xff);
    case MATRIX_E5M2: return halves_of((w >> shift & 0xff) << 8);
    default: return (Floats)w;
    }
}

INLINE void numbers_at(MatrixType t, const uint32_t *word, unsigned shift, uint32_t sign,
                       float *x) {
    for (int i = 0; i < STRIP; i += WIDE) {
        Words v = (Words)number_of(t, words_at(word + i), shift) ^ sign;
        memcpy(x + i, &v, sizeof v);
    }
}

/* As matrix_exponent_word, of each number of some words without its sign: the exponent has `bias`
** more here than in its format; from `odd` on it is an infinity or a NaN, which has `code`. */
#define EXPONENTS(name, V, number)                                                                 \
    INLINE V name(V size, int fraction, number bias, number odd, number code) {                    \
        const V field = size >> fraction, none = (V)(size == 0), special = (V)(size >= odd);       \
        const V e = field + ((V)(field == 0) & 1) + bias;                                          \
        const V most = (e & ~special) | (special & code);                                          \
        return (most & ~none) | (none & 1);                                                        \
    }
EXPONENTS(exponents_8, Bytes, uint8_t)
EXPONENTS(exponents_16, Shorts, uint16_t)
EXPONENTS(exponents_32, Words, uint32_t)

INLINE Words exponents_of(MatrixType t, Words w) {
    enum { NARROW = MATRIX_ODD_NARROW, MORE = MATRIX_BIAS - 15 };
    const Shorts halves = (Shorts)(w & 0x7fff7fff);
    const Bytes bytes = (Bytes)(w & 0x7f7f7f7f);
    switch (t) {
    case MATRIX_F16: return (Words)exponents_16(halves, 10, MORE, 0x7c00, NARROW);
    case MATRIX_BF16: return (Words)exponents_16(halves, 7, 0, 0x7f80, MATRIX_ODD);
    case MATRIX_E4M3: return (Words)exponents_8(bytes, 3, MORE + 8, 0x7f, NARROW);
    case MATRIX_E5M2: return (Words)exponents_8(bytes, 2, MORE, 0x7c, NARROW);
    default: return exponents_32(w & 0x7fffe000, 23, 0, 0x7f800000, MATRIX_ODD);
    }
}

static inline const U32 *row_of(const Warp *w, uint32_t row) {
    return (const U32 *)(const void *)row_at(w, row);
}

/* A product from words of A, [word along k][row], and of B's columns. */
typedef struct Strip {
    float a[MATRIX_STRIP * 32], b[GROUP_N * 32], c[GROUP_N * MATRIX_STRIP];
    uint32_t ea[MATRIX_STRIP * GROUP_WORDS], eb[GROUP_N * GROUP_WORDS];
} Strip;

INLINE void exponents_at(MatrixType t, const uint32_t *word, int n, uint32_t *to) {
    for (int i = 0; i < n; i += WIDE) {
        Words e = exponents_of(t, words_at(word + i));
        memcpy(to + i, &e, sizeof e);
    }
}

INLINE void take_a(const MatrixType t, const uint32_t *word, int words, uint32_t sign, Strip *s) {
    const unsigned bits = matrix_bits(t), in = 32 / bits;
    for (int w = 0; w < words; w++)
        for (unsigned k = 0; k < in; k++)
            numbers_at(t, word + w * STRIP, k * bits, sign, s->a + ((unsigned)w * in + k) * STRIP);
    exponents_at(t, word, words * STRIP, s->ea);
}

INLINE void take_b(const MatrixType t, const uint32_t *word, int words, uint32_t sign, Strip *s) {
    const int in = 32 / (int)matrix_bits(t);
    uint32_t number[MATRIX_STRIP * 4];
    for (int w = 0; w < words; w += STRIP) {
        uint16_t half[2 * STRIP];
        uint8_t byte[4 * STRIP];
        memcpy(half, word + w, sizeof half);
        memcpy(byte, word + w, sizeof byte);
        for (int i = 0; i < STRIP * in; i++)
            number[i] = in == 2 ? half[i % (2 * STRIP)] : in == 4 ? byte[i] : word[w + i];
        for (int k = 0; k < in; k++)
            numbers_at(t, number + k * STRIP, 0, sign, s->b + w * in + k * STRIP);
    }
    exponents_at(t, word, words, s->eb);
}

#define EACH_TYPE(f, ...)                                                                          \
    switch (t) {                                                                                   \
    case MATRIX_F16: f(MATRIX_F16, __VA_ARGS__); break;                                            \
    case MATRIX_BF16: f(MATRIX_BF16, __VA_ARGS__); break;                                          \
    case MATRIX_E4M3: f(MATRIX_E4M3, __VA_ARGS__); break;                                          \
    case MATRIX_E5M2: f(MATRIX_E5M2, __VA_ARGS__); break;                                          \
    default: f(MATRIX_TF32, __VA_ARGS__);                                                          \
    }

static void take_factors(const MatrixForm *f, const uint32_t *a, const uint32_t *b, int words,
                         Strip *s) {
    const bool *negated = f->group ? f->group->negated : (const bool[2]){false, false};
    MatrixType t = (MatrixType)f->a.type;
    EACH_TYPE(take_a, a, words, (uint32_t)negated[0] << 31, s)
    t = (MatrixType)f->b.type;
    EACH_TYPE(take_b, b, words * f->shape->n, (uint32_t)negated[1] << 31, s)
}

static inline Words half_words(Floats x) {
#if defined(EMU_AVX512)
    __m256i h = _mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const Words nan = (Words)(x != x);
    return ((Words)_mm512_cvtepu16_epi32(h) & ~nan) | (nan & 0x7fff);
#else
    Words h;
    for (int i = 0; i < WIDE; i++) h[i] = matrix_half_bits(x[i]);
    return h;
#endif
}

/* Columns of C, eight at a time: of f32 a register for each column of a pair, of f16 for both. */
static void strip_c(const Warp *w, MatrixType t, const uint32_t *regs, int n, float *c) {
    for (int j = 0; j < n; j += 8, c += 8 * STRIP) {
        const uint32_t *reg = regs + j / (t == MATRIX_F32 ? 2 : 4);
        Column words[4], *columns = (Column *)(void *)c;
        for (int odd = 0; odd < 2 && t == MATRIX_F32; odd++)
            to_columns(row_of(w, reg[odd]), row_of(w, reg[2 + odd]), columns + odd, 2);
        if (t == MATRIX_F32) continue;
        to_columns(row_of(w, reg[0]), row_of(w, reg[1]), words, 1);
        for (unsigned k = 0; k < 8; k++)
            numbers_at(MATRIX_F16, words[k / 2], k % 2 * 16, 0, c + k * STRIP);
    }
}

static void strip_d(const Warp *w, MatrixType t, const uint32_t *regs, int n, const float *c) {
    for (int j = 0; j < n; j += 8, c += 8 * STRIP) {
        const uint32_t *reg = regs + j / (t == MATRIX_F32 ? 2 : 4);
        const Column *columns = (const Column *)(const void *)c;
        Column words[4];
        for (int odd = 0; odd < 2 && t == MATRIX_F32; odd++)
            from_columns(columns + odd, 2, (U32 *)(void *)row_at(w, reg[odd]),
                         (U32 *)(void *)row_at(w, reg[2 + odd]));
        if (t == MATRIX_F32) continue;
        for (int i = 0; i < 4 * STRIP; i += WIDE) {
            const float *first = c + i / STRIP * 2 * STRIP + i % STRIP;
            Words v = half_words(floats_at(first)) | (half_words(floats_at(first + STRIP)) << 16);
            memcpy(words[i / STRIP] + i % STRIP, &v, sizeof v);
        }
        from_columns(words, 1, (U32 *)(void *)row_at(w, reg[0]), (U32 *)(void *)row_at(w, reg[1]));
    }
}

/* Words of the factors from the fragments of a warp: of A two rows of registers at a time; a column
** of B is in four lanes, its words one after the other. */
static void words_of(const Warp *w, const MatrixForm *f, uint32_t *a, uint32_t *b) {
    const int down = f->b.count * 8 / f->shape->n;
    for (int r = 0; r < f->a.count; r += 2, a += 4 * STRIP)
        to_columns(row_of(w, f->a.reg[r]), row_of(w, f->a.reg[r + 1]), (Column *)(void *)a, 1);
    for (int r = 0; r < f->b.count; r++)
        for (int j = 0; j < 8; j++)
            memcpy(b + ((r / down * 8 + j) * down + r % down) * 4, row_of(w, f->b.reg[r]) + 4 * j,
                   16);
}

void MATRIX_VARIANT(const Warp *w, const MatrixForm *f, const MatrixTask *t) {
    Strip s;
    uint32_t a[GROUP_WORDS * STRIP], b[MATRIX_REGISTERS * LANES];
    float last[STRIP * STRIP];
    if (f == NULL) {
        sum_task(t);
        return;
    }
    const GroupForm *g = f->group;
    const MatrixType sum = (MatrixType)(g ? g->sum_type : f->d.type);
    const int n = f->shape->n, k = f->shape->k, per = 32 / (int)matrix_bits((MatrixType)f->a.type);
    if (g == NULL) words_of(w, f, a, b);
    take_factors(f, g ? t->word_a : a, g ? t->word_b : b, k / per, &s);
    if (g && !t->adds) memset(s.c, 0, (size_t)(n * STRIP) * sizeof *s.c);
    else strip_c(w, g ? sum : (MatrixType)f->c.type, g ? g->reg : f->c.reg, n, s.c);
    if (f->rule.by_pairs) {
        memcpy(last, s.c, sizeof last);
        memset(s.c, 0, sizeof last);
    }
    sum_task(&(MatrixTask){.n = n,
                           .k = k,
                           .per = per,
                           .rule = f->rule,
                           .halves = sum == MATRIX_F16,
                           .is_narrow = matrix_least((MatrixType)f->a.type) > -60,
                           .least = {matrix_least((MatrixType)f->a.type),
                                     matrix_least((MatrixType)f->b.type)},
                           .a = s.a,
                           .ea = s.ea,
                           .b = s.b,
                           .eb = s.eb,
                           .c = s.c});
    if (f->rule.by_pairs) matrix_add_last(s.c, last, n * STRIP, sum == MATRIX_F16);
    strip_d(w, sum, g ? g->reg : f->d.reg, n, s.c);
}
