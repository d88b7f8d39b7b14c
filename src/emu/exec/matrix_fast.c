/* matrix_fast.c - see matrix_sum.h: 16 results of a column at a time. matrix_avx2.c and
** matrix_avx512.c compile this file again.
**
** A product is exact in f32, or so small that its cut value is zero. Scaled by a power of two it is
** a whole number of units below 2^27, so that eight of them fit into 32 bits. Results whose
** exponents leave that room are made by matrix_sum_one.
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

/* As matrix_exponent. */
static inline Ints exponent_of(Floats x, int least) {
    const Ints bits = (Ints)x, plain = (bits >> 23 & 255) - 127;
    const Ints low = plain < least, zero = (bits & 0x7fffffff) == 0, special = plain == 128;
    Ints e = (plain & ~low) | (low & least);
    e = (e & ~zero) | (zero & MATRIX_ZERO);
    return (e & ~special) | (special & MATRIX_SPECIAL);
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
    const int least = matrix_least(s->t->halves ? MATRIX_F16 : MATRIX_F32);
    EACH_SIDE top[q] = __builtin_convertvector(exponent_of(s->c[q], least), Shorts);
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
    x = nearest_halves((Floats)((Ints)x | (lost & 1)) * unit) + 0.0f; /* no zero has a sign */
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

static void sum_task(const MatrixTask *t) {
    for (int from = 0; from < t->k; from += t->rule.at_once) {
        int to = from + t->rule.at_once < t->k ? from + t->rule.at_once : t->k;
        for (int j = 0; j < t->n; j += SIDE)
            for (int i = 0; i < STRIP; i += WIDE) block(t, i, j, from, to);
    }
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

static inline Words words_at(const uint32_t *p) {
    Words v;
    memcpy(&v, p, sizeof v);
    return v;
}

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

static inline void numbers_at(MatrixType t, const uint32_t *word, unsigned shift, float *x) {
    for (int i = 0; i < STRIP; i += WIDE) {
        Floats v = number_of(t, words_at(word + i), shift);
        memcpy(x + i, &v, sizeof v);
    }
}

typedef struct Strip {
    float a[MATRIX_STRIP * 32], b[MATRIX_STRIP * 32], c[MATRIX_STRIP * MATRIX_STRIP];
    int16_t ea[MATRIX_STRIP * 32];
    uint32_t pairs[MATRIX_STRIP * 32];
} Strip;

static inline const U32 *row_of(const Warp *w, uint32_t row) {
    return (const U32 *)(const void *)row_at(w, row);
}

/* Where number i along k of a factor stands. */
static inline int place_of(const MatrixForm *f, int i) {
    return f->rule.by_pairs ? matrix_pair_place(i, f->shape->k, 2) : i;
}

static void strip_a(const Warp *w, const MatrixForm *f, Strip *s) {
    const MatrixPart *p = &f->a;
    const unsigned bits = matrix_bits((MatrixType)p->type), in = 32 / bits;
    const int least = matrix_least((MatrixType)p->type);
    for (int r = 0, at = 0; r < p->count; r += 2) {
        Column words[4];
        to_columns(row_of(w, p->reg[r]), row_of(w, p->reg[r + 1]), words);
        for (int c = 0; c < 4; c++)
            for (unsigned k = 0; k < in; k++, at++) {
                float *a = s->a + place_of(f, at) * STRIP;
                int16_t *ea = s->ea + place_of(f, at) * STRIP;
                numbers_at((MatrixType)p->type, words[c], k * bits, a);
                for (int i = 0; i < STRIP; i += WIDE) {
                    Shorts e =
                        __builtin_convertvector(exponent_of(floats_at(a + i), least), Shorts);
                    memcpy(ea + i, &e, sizeof e);
                }
            }
    }
}

/* Each number of some words in a word of its own. */
static inline void split_words(const uint32_t *word, int n, unsigned bits, uint32_t *to) {
    uint16_t half[MATRIX_STRIP * 32];
    uint8_t byte[MATRIX_STRIP * 32];
    if (bits == 16) {
        memcpy(half, word, (size_t)n * 4);
        for (int i = 0; i < 2 * n; i++) to[i] = half[i];
    } else if (bits == 8) {
        memcpy(byte, word, (size_t)n * 4);
        for (int i = 0; i < 4 * n; i++) to[i] = byte[i];
    } else {
        memcpy(to, word, (size_t)n * 4);
    }
}

/* A column of B is in four lanes, its words one after the other in `down` registers. */
static void strip_b(const Warp *w, const MatrixForm *f, int down, Strip *s) {
    const MatrixPart *p = &f->b;
    const unsigned bits = matrix_bits((MatrixType)p->type), in = 32 / bits;
    const int least = matrix_least((MatrixType)p->type), words = p->count * LANES;
    uint32_t word[MATRIX_REGISTERS * LANES], number[MATRIX_STRIP * 32], plain[MATRIX_STRIP * 32];
    for (int r = 0; r < p->count; r++)
        for (int j = 0; j < 8; j++)
            memcpy(word + ((r / down * 8 + j) * down + r % down) * 4, row_of(w, p->reg[r]) + 4 * j,
                   16);
    split_words(word, words, bits, number);
    if (f->rule.by_pairs) {
        const int k = f->shape->k;
        memcpy(plain, number, sizeof plain);
        for (int i = 0; i < words * (int)in; i++)
            number[i / k * k + matrix_pair_place(i % k, k, 2)] = plain[i];
    }
    for (int i = 0; i < words * (int)in; i += STRIP) {
        numbers_at((MatrixType)p->type, number + i, 0, s->b + i);
        for (int k = 0; k < STRIP; k += WIDE) {
            Words e = (Words)exponent_of(floats_at(s->b + i + k), least) & 0xffff;
            e |= e << 16;
            memcpy(s->pairs + i + k, &e, sizeof e);
        }
    }
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
                    numbers_at(t, words[pair], 16 * (unsigned)k,
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

/* --- a warp's part of a warpgroup's product --- */

typedef struct GroupStrip {
    float a[MATRIX_STRIP * 32], b[GROUP_N * 32], c[GROUP_N * MATRIX_STRIP];
    int16_t ea[MATRIX_STRIP * 32];
    uint32_t pairs[GROUP_N * 32];
} GroupStrip;

static inline void negate(float *x) {
    for (int i = 0; i < STRIP; i++) x[i] = -x[i];
}

/* From words of 16 rows, [word along k][row]. */
static void group_a(const MatrixForm *f, const uint32_t *word, GroupStrip *s) {
    const MatrixType t = (MatrixType)f->a.type;
    const unsigned bits = matrix_bits(t), in = 32 / bits;
    float *a = s->a;
    int16_t *ea = s->ea;
    for (int kw = 0; kw < GROUP_WORDS; kw++)
        for (unsigned k = 0; k < in; k++, a += STRIP, ea += STRIP) {
            numbers_at(t, word + kw * STRIP, k * bits, a);
            if (f->group->negated[0]) negate(a);
            for (int i = 0; i < STRIP; i += WIDE) {
                Shorts e =
                    __builtin_convertvector(exponent_of(floats_at(a + i), matrix_least(t)), Shorts);
                memcpy(ea + i, &e, sizeof e);
            }
        }
}

/* From the words of columns, two at a time. */
static void group_b(const MatrixForm *f, const uint32_t *word, GroupStrip *s) {
    const MatrixType t = (MatrixType)f->b.type;
    const unsigned bits = matrix_bits(t);
    const int some = 2 * GROUP_WORDS * 32 / (int)bits;
    float *b = s->b;
    uint32_t *pairs = s->pairs, number[MATRIX_STRIP * 32];
    for (int j = 0; j < f->shape->n; j += 2) {
        split_words(word + j * GROUP_WORDS, 2 * GROUP_WORDS, bits, number);
        for (int i = 0; i < some; i += STRIP, b += STRIP, pairs += STRIP) {
            numbers_at(t, number + i, 0, b);
            if (f->group->negated[1]) negate(b);
            for (int k = 0; k < STRIP; k += WIDE) {
                Words e = (Words)exponent_of(floats_at(b + k), matrix_least(t)) & 0xffff;
                e |= e << 16;
                memcpy(pairs + k, &e, sizeof e);
            }
        }
    }
}

static void group_product(const Warp *w, const MatrixForm *f, const MatrixTask *words) {
    GroupStrip s;
    const GroupForm *g = f->group;
    const MatrixType sum = (MatrixType)g->sum_type;
    group_a(f, words->word_a, &s);
    group_b(f, words->word_b, &s);
    if (words->adds) strip_c(w, sum, g->reg, f->shape->n, s.c);
    else memset(s.c, 0, sizeof s.c);
    const int least = matrix_least((MatrixType)f->a.type) + matrix_least((MatrixType)f->b.type);
    sum_task(&(MatrixTask){.n = f->shape->n,
                           .k = f->shape->k,
                           .rule = f->rule,
                           .halves = sum == MATRIX_F16,
                           .is_narrow = least > -60,
                           .a = s.a,
                           .ea = s.ea,
                           .b = s.b,
                           .eb = s.pairs,
                           .c = s.c});
    strip_d(w, sum, g->reg, f->shape->n, s.c);
}

void MATRIX_VARIANT(const Warp *w, const MatrixForm *f, const MatrixTask *t) {
    Strip s;
    float last[MATRIX_STRIP * MATRIX_STRIP];
    if (f == NULL) {
        sum_task(t);
        return;
    }
    if (f->group) {
        group_product(w, f, t);
        return;
    }
    const MatrixShape *shape = f->shape;
    const int words = shape->k * (int)matrix_bits((MatrixType)f->b.type) / 32;
    strip_a(w, f, &s);
    strip_b(w, f, words / 4, &s);
    strip_c(w, (MatrixType)f->c.type, f->c.reg, shape->n, s.c);
    if (f->rule.by_pairs) {
        memcpy(last, s.c, sizeof last);
        memset(s.c, 0, sizeof s.c);
    }
    const int least = matrix_least((MatrixType)f->a.type) + matrix_least((MatrixType)f->b.type);
    sum_task(&(MatrixTask){.n = shape->n,
                           .k = shape->k,
                           .rule = f->rule,
                           .halves = f->d.type == MATRIX_F16,
                           .is_narrow = least > -60,
                           .a = s.a,
                           .ea = s.ea,
                           .b = s.b,
                           .eb = s.pairs,
                           .c = s.c});
    if (f->rule.by_pairs) matrix_add_last(s.c, last, shape->n * STRIP, f->d.type == MATRIX_F16);
    strip_d(w, (MatrixType)f->d.type, f->d.reg, shape->n, s.c);
}
