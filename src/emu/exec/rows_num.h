/* rows_num.h - halves in rows.c: 32 lanes, or 64 where there are two in a word, as floats and back.
** Included by rows.c alone, once per variant; num.c has the same meanings for one value.
**
** Halves are worked out in f32: it has more than twice their bits, so a sum or product that is
** rounded there and then once more is rounded right (S. Figueroa, "When is double rounding
** innocuous?", 1995). A product and a sum together are not; their first rounding is to odd, which
** leaves the second all it needs (S. Boldo and G. Melquiond, "Emulation of FMA and correctly
** rounded sums: proved algorithms using rounding to odd", 2008).
*/

/* The halves of a row as floats, in the order of lanes; where two are in a word, in the variant's
** own. */
typedef struct Halves {
    float v[2 * LANES] __attribute__((aligned(64)));
} Halves;

static inline float magnitude(float x) {
    return float_of(bits_f(x) & 0x7fffffff);
}

static inline float sign_alone(float x) {
    return float_of(bits_f(x) & 0x80000000);
}

/* --- f16 --- */

#if defined(EMU_AVX512)

/* Two in a word: those of 16 words become [low 0-15, high 0-15]. */
static inline void f16_load(const U32 *row, bool two, Halves *to) {
    for (int k = 0; k < LANES; k += 16) {
        __m512i x = _mm512_loadu_si512(row + k);
        float *v = to->v + (two ? 2 * k : k);
        _mm512_store_ps(v, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)));
        if (!two) continue;
        _mm512_store_ps(v + 16,
                        _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(x, 16))));
    }
}

static inline __m512i f16_sixteen(const float *v) {
    return _mm512_cvtepu16_epi32(_mm512_cvtps_ph(_mm512_load_ps(v), _MM_FROUND_TO_NEAREST_INT));
}

static inline void f16_put(const Halves *from, bool two, U32 *row) {
    for (int k = 0; k < LANES; k += 16) {
        __m512i h = f16_sixteen(from->v + (two ? 2 * k : k));
        if (two)
            h = _mm512_or_si512(h, _mm512_slli_epi32(f16_sixteen(from->v + 2 * k + 16), 16));
        _mm512_store_si512(row + k, h);
    }
}

#elif defined(EMU_AVX2)

static inline __m256i load8(const U32 *row) {
    return _mm256_loadu_si256((const __m256i *)(const void *)row);
}

/* Two in a word: those of eight words become [low 0-3, high 0-3, low 4-7, high 4-7]. */
static inline void f16_load(const U32 *row, bool two, Halves *to) {
    const __m256i low = _mm256_set1_epi32(0xffff);
    for (int k = 0; k < LANES; k += two ? 8 : 16) {
        __m256i x = load8(row + k), y = two ? _mm256_srli_epi32(x, 16) : load8(row + k + 8);
        __m256i h = _mm256_packus_epi32(_mm256_and_si256(x, low), _mm256_and_si256(y, low));
        if (!two) h = _mm256_permute4x64_epi64(h, 0xd8);
        float *v = to->v + (two ? 2 * k : k);
        _mm256_store_ps(v, _mm256_cvtph_ps(_mm256_castsi256_si128(h)));
        _mm256_store_ps(v + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1)));
    }
}

static inline __m128i f16_eight(const float *v) {
    return _mm256_cvtps_ph(_mm256_load_ps(v), _MM_FROUND_TO_NEAREST_INT);
}

static inline void f16_put(const Halves *from, bool two, U32 *row) {
    for (int k = 0; k < LANES; k += 8) {
        __m256i *to = (__m256i *)(void *)(row + k);
        if (two) {
            const float *v = from->v + 2 * k;
            __m256i h = _mm256_set_m128i(f16_eight(v + 8), f16_eight(v));
            _mm256_store_si256(to, _mm256_unpacklo_epi16(h, _mm256_srli_si256(h, 8)));
        } else {
            _mm256_store_si256(to, _mm256_cvtepu16_epi32(f16_eight(from->v + k)));
        }
    }
}

#else

/* Of a NaN the bits. */
static inline float f16_value(uint32_t h) {
    int32_t size = (int32_t)((h & 0x7fff) << 13);
    uint32_t sign = (h & 0x8000) << 16;
    float small = float_of((uint32_t)size + 0x38800000u) - float_of(0x38800000u);
    uint32_t bits = (uint32_t)size + (size >= 0x0f800000 ? 0x70000000u : 0x38000000u);
    return float_of(sign | (size < 0x00800000 ? bits_f(small) : bits));
}

/* Of no NaN but 0x7fffffff. */
static inline uint32_t f16_bits(float x) {
    uint32_t bits = bits_f(x), sign = bits >> 16 & 0x8000;
    int32_t size = (int32_t)(bits & 0x7fffffff);
    int32_t small = (int32_t)bits_f(float_of((uint32_t)size) + 0.5f) - 0x3f000000;
    int32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    int32_t half = size < 0x38800000 ? small : size < 0x47800000 ? normal : 0x7c00;
    return size > 0x7f800000 ? 0x7fff : sign | (uint32_t)half;
}

static inline void f16_load(const U32 *row, bool two, Halves *to) {
    EACH_LANE to->v[i] = f16_value(row[i] & 0xffff);
    if (two) EACH_LANE to->v[LANES + i] = f16_value(row[i] >> 16);
}

static inline void f16_put(const Halves *from, bool two, U32 *row) {
    EACH_LANE row[i] = f16_bits(from->v[i]);
    if (two) EACH_LANE row[i] |= f16_bits(from->v[LANES + i]) << 16;
}

#endif

/* .ftz: subnormal operands are zero, and results that 11 bits leave below 2^-14. */
static inline float f16_operand(float x, uint32_t how) {
    return how & HALF_FTZ && magnitude(x) < 0x1p-14f ? sign_alone(x) : x;
}

static inline float f16_finish(float x, uint32_t how) {
    if (how & HALF_FTZ) x = magnitude(x) < 0x1.ffep-15f ? sign_alone(x) : x;
    if (how & HALF_SAT) x = saturate(x);
    if (how & HALF_RELU) x = x <= 0 ? 0 : x;
    return canon(x);
}

/* --- bf16 --- */

static inline void bf16_load(const U32 *row, bool two, Halves *to) {
    EACH_LANE to->v[i] = float_of(row[i] << 16);
    if (two) EACH_LANE to->v[LANES + i] = float_of(row[i] & 0xffff0000);
}

/* Of no NaN but 0x7fffffff. */
static inline uint32_t bf16_bits(float x) {
    uint32_t bits = bits_f(x), h = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return x != x ? 0x7fff : h;
}

static inline void bf16_put(const Halves *from, bool two, U32 *row) {
    EACH_LANE row[i] = bf16_bits(from->v[i]);
    if (two) EACH_LANE row[i] |= bf16_bits(from->v[LANES + i]) << 16;
}

static inline float bf16_operand(float x, uint32_t how) {
    (void)how;
    return x;
}

static inline float bf16_finish(float x, uint32_t how) {
    if (how & HALF_RELU) x = x <= 0 ? 0 : x;
    return canon(x);
}

/* --- both --- */

static inline bool bf16_fma_words(const U32 *a, const U32 *b, const U32 *c, bool two, U32 *to) {
    (void)a, (void)b, (void)c, (void)two, (void)to;
    return false;
}

/* a = a * b + c, rounded to odd: exact, or the one of both neighbours whose last bit is set. */
#if defined(EMU_AVX512)
enum { QUIET = _MM_FROUND_NO_EXC };

static inline __m512 odd_fma(__m512 x, __m512 y, __m512 z) {
    const __m512 down = _mm512_fmadd_round_ps(x, y, z, _MM_FROUND_TO_NEG_INF | QUIET);
    const __m512 up = _mm512_fmadd_round_ps(x, y, z, _MM_FROUND_TO_POS_INF | QUIET);
    const __mmask16 odd = _mm512_test_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
    return _mm512_mask_mov_ps(up, odd, down);
}

static inline void odd_fma_row(F32 *a, const F32 *b, const F32 *c) {
    for (int k = 0; k < LANES; k += 16)
        _mm512_store_ps(a + k, odd_fma(_mm512_load_ps(a + k), _mm512_load_ps(b + k),
                                       _mm512_load_ps(c + k)));
}

/* The low halves of 16 words. */
static inline __m512 f16_of_words(__m512i x) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x));
}

static inline __m512i f16_fma_sixteen(__m512i a, __m512i b, __m512i c) {
    __m512 x = odd_fma(f16_of_words(a), f16_of_words(b), f16_of_words(c));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    x = _mm512_mask_mov_ps(x, is_nan, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff)));
    return _mm512_cvtepu16_epi32(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

/* Halves without modifiers, in registers from end to end: what one adds to is often the last one's
** result, and each way through memory is waited for. */
static inline bool f16_fma_words(const U32 *a, const U32 *b, const U32 *c, bool two, U32 *to) {
    for (int k = 0; k < LANES; k += 16) {
        const __m512i x = _mm512_loadu_si512(a + k), y = _mm512_loadu_si512(b + k);
        const __m512i z = _mm512_loadu_si512(c + k);
        __m512i sum = f16_fma_sixteen(x, y, z);
        if (two) {
            const __m512i high = f16_fma_sixteen(_mm512_srli_epi32(x, 16), _mm512_srli_epi32(y, 16),
                                                 _mm512_srli_epi32(z, 16));
            sum = _mm512_or_si512(sum, _mm512_slli_epi32(high, 16));
        }
        _mm512_store_si512(to + k, sum);
    }
    return true;
}

#define f16_fma_row  odd_fma_row
#define bf16_fma_row odd_fma_row
#else
/* a * b + c of f16, rounded to odd: the sum, what it lost (Knuth's two-sum), and if that is not
** nothing the neighbour on its side where the last bit is not set. */
static inline float f16_fma(float a, float b, float c) {
    float product = a * b, sum = product + c, back = sum - product;
    float lost = (product - (sum - back)) + (c - back);
    int32_t bits = (int32_t)bits_f(sum), away = 1 | (bits ^ (int32_t)bits_f(lost)) >> 31;
    bool moves = magnitude(lost) > 0; /* not where it is a NaN */
    return float_of((uint32_t)(moves && !(bits & 1) ? bits + away : bits));
}

/* a * b + c of bf16, rounded to odd, by way of doubles: there the product is exact. */
static inline float bf16_fma(float a, float b, float c) {
    double product = (double)a * (double)b, sum = product + (double)c, back = sum - product;
    double lost = (product - (sum - back)) + ((double)c - back);
    float near = (float)sum;
    double rest = sum - (double)near;
    rest = rest == 0 ? lost : rest;
    float side = rest > 0 ? 1.0f : rest < 0 ? -1.0f : 0.0f;
    int32_t bits = (int32_t)bits_f(near), away = 1 | (bits ^ (int32_t)bits_f(side)) >> 31;
    return float_of((uint32_t)(side != 0 && !(bits & 1) ? bits + away : bits));
}

static inline bool f16_fma_words(const U32 *a, const U32 *b, const U32 *c, bool two, U32 *to) {
    (void)a, (void)b, (void)c, (void)two, (void)to;
    return false; /* row by row */
}

static inline void f16_fma_row(F32 *a, const F32 *b, const F32 *c) {
    EACH_LANE a[i] = f16_fma(a[i], b[i], c[i]);
}

static inline void bf16_fma_row(F32 *a, const F32 *b, const F32 *c) {
    EACH_LANE a[i] = bf16_fma(a[i], b[i], c[i]);
}
#endif

/* x, or a NaN where one of two shall make it one. */
static inline float or_nan(float x, float a, float b, uint32_t how) {
    bool is = how & HALF_NAN && (a != a || b != b);
    return is ? float_of(0x7fffffff) : x;
}

/* neg and abs of a NaN are the canonical one. */
static inline uint32_t half_sign(uint32_t h, uint32_t how) {
    uint32_t size = h & 0x7fff, sign = (how >> 8 & 255) == 'n' ? ~h & 0x8000 : 0;
    uint32_t infinity = how & HALF_BRAIN ? 0x7f80 : 0x7c00;
    uint32_t flushed = how & HALF_FTZ && size < 0x0400 ? 0 : size;
    return size > infinity ? 0x7fff : sign | flushed;
}
