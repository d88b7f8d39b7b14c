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
enum { WIDE = 16, SIDE = 8 }; /* results of a vector; columns side by side */
#elif defined(EMU_AVX2)
enum { WIDE = 8, SIDE = 4 };
#else
enum { WIDE = 4, SIDE = 4 };
#endif
enum { STRIP = MATRIX_STRIP, CHUNK = 8, LEAST_TOP = -101, MOST_TOP = 119 };

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

/* The larger of each two numbers, of which a word has `per`; words have signs. */
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
    uint64_t word[sizeof v / 8], any = 0;
    memcpy(word, &v, sizeof v);
    for (size_t k = 0; k < sizeof v / 8; k++) any |= word[k];
    return (any & 0x8000000080000000u) != 0;
}

/* WIDE results of each of SIDE columns, from row i and column j on; of the words along k those from
** `from` to `to`, and of each the numbers from `first` to `last`. */
typedef struct Patch {
    const MatrixTask *t;
    int per, i, j, from, to, first, last;
    Floats c[SIDE];
    Ints top[SIDE];     /* the largest exponents */
    Floats scale[SIDE]; /* 2^(fraction - top) */
    Ints sum[SIDE];     /* of units */
    Ints over;          /* where a sum does not fit: the sign bit */
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

/* False: an infinity or a NaN is among the factors. */
INLINE bool find_tops(Patch *s) {
    const MatrixTask *t = s->t;
    const int per = s->per, stride = t->k / per, bias = t->is_narrow ? 2 * MATRIX_BIAS : 2 * 127;
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
        s->top[q] = larger_int(exponent_of(s->c[q], t->halves), product);
    }
    const int special = t->is_narrow ? MATRIX_ODD_NARROW : MATRIX_ODD;
    return !any_negative(special - 1 - (Ints)most);
}

INLINE Ints units_of(Floats x) {
    return __builtin_convertvector(x, Ints);
}

/* Products of words `from` to `end`, CHUNK or fewer. */
INLINE void add_chunk(const Patch *s, const Floats *scale, int from, int end, Ints *units) {
    const float *a = s->t->a + s->i, *b = s->t->b + s->j * s->t->k;
    const int stride = s->t->k;
    for (int w = from; w < end; w++)
        for (int n = s->first; n < s->last; n++) {
            const int k = w * s->per + n;
            const Floats x = floats_at(a + k * STRIP);
            EACH_SIDE units[q] += units_of(x * b[q * stride + k] * scale[q]);
        }
}

INLINE void add_products(Patch *s) {
    const int step = CHUNK / (s->last - s->first);
    Floats scale[SIDE];
    Ints sum[SIDE], over = {0};
    EACH_SIDE scale[q] = s->scale[q];
    EACH_SIDE sum[q] = units_of(s->c[q] * scale[q]);
    for (int w = s->from; w < s->to; w += step) {
        Ints units[SIDE];
        EACH_SIDE units[q] = (Ints){0};
        add_chunk(s, scale, w, w + step < s->to ? w + step : s->to, units);
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
INLINE Floats cut_sum(const Ints *sum) {
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
INLINE void cut(const Patch *s, int q, float *out) {
    Ints e = s->t->rule.fraction - s->top[q];
    Floats unit = (Floats)((127 - e) << 23), x = cut_sum(&s->sum[q]);
    x = (Floats)((Ints)x & -(1 << (23 - s->t->rule.kept))) * unit;
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
INLINE void round_halves(const Patch *s, int q, float *out) {
    Ints e = s->t->rule.fraction - s->top[q];
    Floats unit = (Floats)((127 - e) << 23), x = cut_sum(&s->sum[q]);
    Ints lost = s->sum[q] != __builtin_convertvector(x, Ints);
    x = nearest_halves((Floats)((Ints)x | (lost & 1)) * unit) + 0.0f; /* no zero has a sign */
    memcpy(out, &x, sizeof x);
}

/* Are the exponents such that scaled products fit? Where they are small because all is zero, the
** result is zero. */
static bool fits(const Patch *s, Ints *top, Floats c, int q) {
    const MatrixTask *t = s->t;
    const Ints low = *top < LEAST_TOP;
    Ints any = c != 0;
    for (int w = s->from; w < s->to; w++)
        for (int k = w * s->per + s->first; k < w * s->per + s->last; k++)
            if (t->b[(s->j + q) * t->k + k] != 0) any |= floats_at(t->a + k * STRIP + s->i) != 0;
    if (any_negative(*top > MOST_TOP) || any_negative(low & any)) return false;
    *top = (*top & ~low) | (low & LEAST_TOP);
    return true;
}

static void slowly(const Patch *s, float *out) {
    const int half = (s->last - s->first) * 2 == s->per; /* of a word's numbers */
    EACH_SIDE
    for (int i = 0; i < WIDE; i++)
        out[q * STRIP + i] =
            matrix_sum_one(s->t, s->i + i, s->j + q, out[q * STRIP + i], s->from * s->per + s->first,
                           s->to * s->per, half ? s->per : 0);
}

INLINE void block(Patch *s) {
    const MatrixTask *t = s->t;
    float *out = t->c + s->j * STRIP + s->i;
    EACH_SIDE s->c[q] = floats_at(out + q * STRIP);
    bool all_fit = find_tops(s);
    Ints odd = {0};
    EACH_SIDE odd |= (s->top[q] - LEAST_TOP) | (MOST_TOP - s->top[q]);
    if (__builtin_expect(any_negative(odd), 0))
        EACH_SIDE all_fit = all_fit && fits(s, &s->top[q], s->c[q], q);
    if (__builtin_expect(!all_fit, 0)) {
        slowly(s, out);
        return;
    }
    EACH_SIDE s->scale[q] = (Floats)((t->rule.fraction - s->top[q] + 127) << 23);
    add_products(s);
    if (__builtin_expect(any_negative(s->over), 0)) {
        slowly(s, out);
        return;
    }
    EACH_SIDE {
        if (t->halves) round_halves(s, q, out + q * STRIP);
        else cut(s, q, out + q * STRIP);
    }
}

/* Where a word has two products' numbers (by_pairs), first those of its low half. */
INLINE void sum_per(const MatrixTask *t, const int per, const bool by_pairs) {
    const int words = t->k / per, some = by_pairs ? words : t->rule.at_once / per;
    for (int half = 0; half < 1 + by_pairs; half++)
        for (int from = 0; from < words; from += some)
            for (int j = 0; j < t->n; j += SIDE)
                for (int i = 0; i < STRIP; i += WIDE) {
                    Patch s; /* its fields one by one: to clear it all takes longer than the sum */
                    s.t = t, s.per = per, s.i = i, s.j = j, s.from = from;
                    s.to = from + some < words ? from + some : words;
                    s.first = half * 2, s.last = by_pairs ? s.first + 2 : per;
                    block(&s);
                }
}

static void sum_task(const MatrixTask *t) {
    if (t->per == 2) sum_per(t, 2, false);
    else if (t->per == 1) sum_per(t, 1, false);
    else if (t->rule.by_pairs) sum_per(t, 4, true);
    else sum_per(t, 4, false);
}

/* --- fragments of 16 rows: from registers to strips and back ---
**
** A row of the register file has a word of each lane, lane 4 g + p. Two rows x and y are the words
** of rows g, and 8 + g, of four columns p. */

typedef uint32_t Column[MATRIX_STRIP];

#if defined(EMU_AVX512)
static inline void to_columns(const U32 *x, const U32 *y, Column *to) {
    const __m512i x0 = _mm512_loadu_si512(x), x1 = _mm512_loadu_si512(x + 16);
    const __m512i y0 = _mm512_loadu_si512(y), y1 = _mm512_loadu_si512(y + 16);
    __m512i at = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    for (int p = 0; p < 4; p++) {
        __m512i low = _mm512_permutex2var_epi32(x0, at, x1);
        __m512i high = _mm512_permutex2var_epi32(y0, at, y1);
        _mm512_storeu_si512(to[p], _mm512_mask_blend_epi32(0xff00, low, high));
        at = _mm512_add_epi32(at, _mm512_set1_epi32(1));
    }
}

static inline void from_columns(const Column *from, U32 *x, U32 *y) {
    __m512i c[4], at = _mm512_setr_epi32(0, 16, 0, 16, 1, 17, 1, 17, 2, 18, 2, 18, 3, 19, 3, 19);
    U32 *to[4] = {x, x + 16, y, y + 16};
    for (int p = 0; p < 4; p++) c[p] = _mm512_loadu_si512(from[p]);
    for (int q = 0; q < 4; q++) {
        __m512i first = _mm512_permutex2var_epi32(c[0], at, c[1]);
        __m512i last = _mm512_permutex2var_epi32(c[2], at, c[3]);
        _mm512_storeu_si512(to[q], _mm512_mask_blend_epi32(0xcccc, first, last));
        at = _mm512_add_epi32(at, _mm512_set1_epi32(4));
    }
}
#else
static inline void to_columns(const U32 *x, const U32 *y, Column *to) {
    for (int p = 0; p < 4; p++)
        for (int g = 0; g < 8; g++) to[p][g] = x[4 * g + p], to[p][8 + g] = y[4 * g + p];
}

static inline void from_columns(const Column *from, U32 *x, U32 *y) {
    for (int g = 0; g < 8; g++)
        for (int p = 0; p < 4; p++) x[4 * g + p] = from[p][g], y[4 * g + p] = from[p][8 + g];
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

INLINE void numbers_at(MatrixType t, const uint32_t *word, unsigned shift, uint32_t sign, float *x) {
    for (int i = 0; i < STRIP; i += WIDE) {
        Words v = (Words)number_of(t, words_at(word + i), shift) ^ sign;
        memcpy(x + i, &v, sizeof v);
    }
}

/* As matrix_exponent_word, of each number of some words without its sign: the exponent has `bias`
** more here than in its format; from `odd` on a number is an infinity or a NaN, which has `code`. */
#define EXPONENTS(name, V, number)                                                                 \
    INLINE V name(V size, int fraction, number bias, number odd, number code) {                    \
        const V field = size >> fraction, none = (V)(size == 0), special = (V)(size >= odd);       \
        const V e = field + ((V)(field == 0) & 1) + bias, most = (e & ~special) | (special & code); \
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

/* Columns of C, eight at a time: of f32 a register for each column of a pair, of f16 for both. */
static void strip_c(const Warp *w, MatrixType t, const uint32_t *regs, int n, float *c) {
    const bool wide = t == MATRIX_F32;
    for (int j = 0; j < n; j += 8)
        for (int odd = 0; odd < 1 + wide; odd++) {
            const uint32_t *reg = regs + (wide ? j / 2 + odd : j / 4);
            Column words[4];
            to_columns(row_of(w, reg[0]), row_of(w, reg[wide ? 2 : 1]), words);
            for (int pair = 0; pair < 4; pair++)
                for (int k = 0; k < 2 - wide; k++)
                    numbers_at(t, words[pair], 16 * (unsigned)k, 0,
                               c + (j + pair * 2 + odd + k) * STRIP);
        }
}

/* As matrix_word and matrix_half_bits. */
static inline Words result_words(Floats x) {
    const Words nan = (Words)(x != x);
    return ((Words)x & ~nan) | (nan & 0x7fffffff);
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

static void strip_d(const Warp *w, MatrixType t, const uint32_t *regs, int n, const float *c) {
    const bool wide = t == MATRIX_F32;
    for (int j = 0; j < n; j += 8)
        for (int odd = 0; odd < 1 + wide; odd++) {
            const uint32_t *reg = regs + (wide ? j / 2 + odd : j / 4);
            Column words[4];
            for (int pair = 0; pair < 4; pair++) {
                const float *first = c + (j + pair * 2 + odd) * STRIP, *second = first + STRIP;
                for (int i = 0; i < STRIP; i += WIDE) {
                    Words v = result_words(floats_at(first + i));
                    if (!wide)
                        v = half_words(floats_at(first + i)) |
                            (half_words(floats_at(second + i)) << 16);
                    memcpy(words[pair] + i, &v, sizeof v);
                }
            }
            from_columns(words, (U32 *)(void *)row_at(w, reg[0]),
                         (U32 *)(void *)row_at(w, reg[wide ? 2 : 1]));
        }
}

/* Words of the factors from the fragments of a warp: of A two rows of registers at a time; a column
** of B is in four lanes, its words one after the other. */
static void words_of(const Warp *w, const MatrixForm *f, uint32_t *a, uint32_t *b) {
    const int down = f->b.count * 8 / f->shape->n;
    for (int r = 0; r < f->a.count; r += 2, a += 4 * STRIP)
        to_columns(row_of(w, f->a.reg[r]), row_of(w, f->a.reg[r + 1]), (Column *)(void *)a);
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
