/* rows.c - see rows.h. rows_avx2.c and rows_avx512.c compile this file again. */
#include "emu/exec/vector.h"

#include "emu/cost/atom_cost.h"
#include "emu/exec/atoms.h"
#include "emu/exec/lanes.h"
#include "emu/exec/num.h"
#include "emu/exec/rows.h"
#include "emu/exec/series.h"

#ifndef ROWS_VARIANT
#define ROWS_VARIANT rows_base
#endif

#include "emu/exec/exec_num.h"
#include "emu/exec/rows_num.h"
#include "emu/exec/rows_atomic.h"
#include "emu/exec/rows_special.h"

static bool row_NONE(Machine *m, Warp *w, const Ins *in) {
    (void)m, (void)w, (void)in;
    return false; /* nobody asks for it */
}

/* d[i] = EXPR for the active lanes; how: Ins.imm. All lanes are worked out, so that nothing is
** loaded under a mask. */
#define ROW_OP(NAME, TD, TA, TB, TC, EXPR)                                                         \
    static bool row_##NAME(Machine *m, Warp *w, const Ins *in) {                                   \
        uint8_t *file = w->file;                                                                   \
        const uint32_t how = (uint32_t)in->imm;                                                    \
        PLACE(TD, d, in->d);                                                                       \
        ROW(TA, a, in->a);                                                                         \
        ROW(TB, b, in->b);                                                                         \
        ROW(TC, c, in->c);                                                                         \
        (void)m, (void)how, (void)a, (void)b, (void)c;                                             \
        EACH_LANE {                                                                                \
            const TD value = (TD)(EXPR);                                                           \
            d[i] = w->lane32[i] ? value : d[i];                                                    \
        }                                                                                          \
        return true;                                                                               \
    }

static inline void blend(const Warp *w, const U32 *from, uint32_t offset) {
    uint8_t *file = w->file;
    PLACE(U32, d, offset);
    EACH_LANE d[i] = w->lane32[i] ? from[i] : d[i];
}

/* --- arithmetic of halves: EXPR of x, y and z --- */

#define HALF_LOOP(FORMAT, EXPR)                                                                    \
    for (int k = 0; k < (two ? 2 : 1) * LANES; k += LANES)                                         \
        EACH_LANE {                                                                                \
            const float x = FORMAT##_operand(a.v[k + i], how);                                     \
            const float y = FORMAT##_operand(b.v[k + i], how);                                     \
            const float z = FORMAT##_operand(c.v[k + i], how);                                     \
            (void)y, (void)z;                                                                      \
            a.v[k + i] = (EXPR);                                                                   \
        }

/* What has no modifier need not look for one. */
#define HALF_OP(NAME, FORMAT, N, EXPR)                                                             \
    static bool row_##NAME(Machine *m, Warp *w, const Ins *in) {                                   \
        const bool two = in->imm & HALF_TWO;                                                       \
        const uint8_t *file = w->file;                                                             \
        Halves a, b, c;                                                                            \
        ROW(U32, first, in->a);                                                                    \
        ROW(U32, second, in->b);                                                                   \
        ROW(U32, third, in->c);                                                                    \
        U32 result[LANES] __attribute__((aligned(64)));                                            \
        (void)m;                                                                                   \
        FORMAT##_load(first, two, &a);                                                             \
        FORMAT##_load(second, two, &b);                                                            \
        FORMAT##_load(N > 2 ? third : first, two, &c);                                             \
        if (in->imm & (HALF_SAT | HALF_RELU | HALF_FTZ | HALF_NAN)) {                              \
            const uint32_t how = (uint32_t)in->imm;                                                \
            HALF_LOOP(FORMAT, FORMAT##_finish(EXPR, how))                                          \
        } else {                                                                                   \
            const uint32_t how = 0;                                                                \
            HALF_LOOP(FORMAT, FORMAT##_finish(EXPR, how))                                          \
        }                                                                                          \
        FORMAT##_put(&a, two, result);                                                             \
        blend(w, result, in->d);                                                                   \
        return true;                                                                               \
    }

HALF_OP(ADD_H, f16, 2, x + y)
HALF_OP(SUB_H, f16, 2, x - y)
HALF_OP(MUL_H, f16, 2, x * y)
HALF_OP(MIN_H, f16, 2, or_nan(min_f(x, y), x, y, how))
HALF_OP(MAX_H, f16, 2, or_nan(max_f(x, y), x, y, how))
HALF_OP(ADD_B, bf16, 2, x + y)
HALF_OP(SUB_B, bf16, 2, x - y)
HALF_OP(MUL_B, bf16, 2, x * y)
HALF_OP(MIN_B, bf16, 2, or_nan(min_f(x, y), x, y, how))
HALF_OP(MAX_B, bf16, 2, or_nan(max_f(x, y), x, y, how))
/* Products and sums together: rounded to odd first (rows_num.h). */
#define HALF_FMA(NAME, FORMAT)                                                                     \
    static bool row_##NAME(Machine *m, Warp *w, const Ins *in) {                                   \
        const bool two = in->imm & HALF_TWO;                                                       \
        const uint32_t how = (uint32_t)in->imm & (HALF_SAT | HALF_RELU | HALF_FTZ);                \
        const int n = (two ? 2 : 1) * LANES;                                                       \
        const uint8_t *file = w->file;                                                             \
        Halves a, b, c;                                                                            \
        U32 result[LANES] __attribute__((aligned(64)));                                            \
        ROW(U32, first, in->a);                                                                    \
        ROW(U32, second, in->b);                                                                   \
        ROW(U32, third, in->c);                                                                    \
        (void)m;                                                                                   \
        if (how == 0 && FORMAT##_fma_words(first, second, third, two, result)) {                   \
            blend(w, result, in->d);                                                               \
            return true;                                                                           \
        }                                                                                          \
        FORMAT##_load(first, two, &a);                                                             \
        FORMAT##_load(second, two, &b);                                                            \
        FORMAT##_load(third, two, &c);                                                             \
        for (int k = 0; how & HALF_FTZ && k < n; k += LANES)                                       \
            EACH_LANE {                                                                            \
                a.v[k + i] = FORMAT##_operand(a.v[k + i], how);                                    \
                b.v[k + i] = FORMAT##_operand(b.v[k + i], how);                                    \
                c.v[k + i] = FORMAT##_operand(c.v[k + i], how);                                    \
            }                                                                                      \
        for (int k = 0; k < n; k += LANES) FORMAT##_fma_row(a.v + k, b.v + k, c.v + k);            \
        for (int k = 0; k < n; k += LANES) {                                                       \
            if (how) EACH_LANE a.v[k + i] = FORMAT##_finish(a.v[k + i], how);                      \
            else EACH_LANE a.v[k + i] = canon(a.v[k + i]);                                         \
        }                                                                                          \
        FORMAT##_put(&a, two, result);                                                             \
        blend(w, result, in->d);                                                                   \
        return true;                                                                               \
    }

HALF_FMA(FMA_H, f16)
HALF_FMA(FMA_B, bf16)
ROW_OP(SIGN, U32, U32, U32, U32,
       half_sign(a[i] & 0xffff, how) | (how & HALF_TWO ? half_sign(a[i] >> 16, how) << 16 : 0))

/* --- conversions of halves --- */

static bool row_CVT_F_H(Machine *m, Warp *w, const Ins *in) {
    const uint8_t *file = w->file;
    ROW(U32, a, in->a);
    Halves x;
    (void)m;
    f16_load(a, false, &x);
    EACH_LANE x.v[i] = canon(x.v[i]);
    blend(w, (const U32 *)(const void *)x.v, in->d);
    return true;
}

/* The floats of a row as halves. */
static inline void narrow_row(const Warp *w, uint32_t offset, U32 *to) {
    const uint8_t *file = w->file;
    ROW(F32, a, offset);
    Halves x;
    EACH_LANE x.v[i] = canon(a[i]);
    f16_put(&x, false, to);
}

static bool row_CVT_H_F(Machine *m, Warp *w, const Ins *in) {
    U32 half[LANES] __attribute__((aligned(64)));
    (void)m;
    narrow_row(w, in->a, half);
    blend(w, half, in->d);
    return true;
}

static bool row_PAIR_H_F(Machine *m, Warp *w, const Ins *in) {
    U32 high[LANES] __attribute__((aligned(64))), low[LANES] __attribute__((aligned(64)));
    (void)m;
    narrow_row(w, in->a, high);
    narrow_row(w, in->b, low);
    EACH_LANE low[i] |= high[i] << 16;
    blend(w, low, in->d);
    return true;
}

ROW_OP(CVT_B_F, U32, F32, F32, F32, bf16_bits(a[i]))
ROW_OP(PAIR_B_F, U32, F32, F32, F32, bf16_bits(a[i]) << 16 | bf16_bits(b[i]))

/* --- other conversions: to an integer what is out of range is its nearest, a NaN what num.h says.
** Some are of no use to vectors, but are spared the way by exact numbers. --- */

static inline uint32_t u32_of_f(float x) {
    const bool is_high = x >= 2147483648.0f;
    float inside = is_high ? x - 2147483648.0f : x;
    inside = inside > 0 && inside < 2147483648.0f ? inside : 0;
    const uint32_t value = (uint32_t)(int32_t)inside + (is_high ? 0x80000000u : 0);
    return x >= 4294967296.0f ? UINT32_MAX : value;
}

static inline uint32_t u32_of_d(double x) {
    const bool is_high = x >= 2147483648.0;
    double inside = is_high ? x - 2147483648.0 : x;
    inside = inside > 0 && inside < 2147483648.0 ? inside : 0;
    uint32_t value = (uint32_t)(int32_t)inside + (is_high ? 0x80000000u : 0);
    value = x >= 4294967296.0 ? UINT32_MAX : value;
    return x != x ? 0x80000000u : value;
}

static inline int32_t s32_of_d(double x) {
    const double inside = x > -2147483649.0 && x < 2147483648.0 ? x : 0;
    const int32_t value = x >= 2147483648.0 ? INT32_MAX : (int32_t)inside;
    return x <= -2147483649.0 || x != x ? INT32_MIN : value;
}

static inline int64_t s64_of_d(double x) {
    if (x >= 0x1p63) return INT64_MAX;
    return x >= -0x1p63 ? (int64_t)x : INT64_MIN; /* of a NaN, too */
}

/* A NaN keeps its sign and the upper part of its payload. */
static inline float f_of_d(double x) {
    const uint64_t bits = num_f64_bits(x);
    const uint32_t nan = (uint32_t)(bits >> 32 & 0x80000000) | 0x7fc00000 | (bits >> 29 & 0x7fffff);
    return x != x ? float_of(nan) : (float)x;
}

ROW_OP(CVT_U32_F, U32, F32, F32, F32, u32_of_f(a[i]))
ROW_OP(CVT_F_U16, F32, U32, U32, U32, (float)(int32_t)(a[i] & 0xffff))
ROW_OP(CVT_F_S16, F32, U32, U32, U32, (float)((int32_t)(a[i] << 16) >> 16))
ROW_OP(CVT_F_D, F32, F64, F64, F64, f_of_d(a[i]))
ROW_OP(CVT_F_S64, F32, S64, S64, S64, (float)a[i])
ROW_OP(CVT_S32_D, S32, F64, F64, F64, s32_of_d(a[i]))
ROW_OP(CVT_U32_D, U32, F64, F64, F64, u32_of_d(a[i]))
ROW_OP(CVT_S64_F, S64, F32, F32, F32, s64_of_d((double)a[i]))
ROW_OP(CVT_S64_D, S64, F64, F64, F64, s64_of_d(a[i]))
ROW_OP(CVT_D_U32, F64, U32, U32, U32, (double)a[i])
ROW_OP(CVT_D_S64, F64, S64, S64, S64, (double)a[i])
ROW_OP(CVT_D_U64, F64, U64, U64, U64, (double)a[i])

static inline uint32_t bits_of_int(PtxType t) {
    return (uint32_t)ptx_type_size(t) * 8;
}

static inline bool is_signed_int(PtxType t) {
    return t == PTX_S8 || t == PTX_S16 || t == PTX_S32;
}

/* To the nearest, of two the even one; the fast loop has the same. */
static inline void round_row(F32 *x, NumRound how) {
    if (how == NUM_RN) EACH_LANE x[i] = rintf(x[i]);
    else if (how == NUM_RM) EACH_LANE x[i] = floorf(x[i]);
    else if (how == NUM_RP) EACH_LANE x[i] = ceilf(x[i]);
    else EACH_LANE x[i] = truncf(x[i]);
}

/* The nearest integer of a type, in a register of so many bits; a NaN is 0. */
static inline void fit_row(const F32 *x, PtxType type, unsigned to_bits, U32 *to) {
    const uint32_t bits = bits_of_int(type), keep = to_bits >= 32 ? ~0u : (1u << to_bits) - 1;
    const bool has_sign = is_signed_int(type);
    if (bits == 32) {
        if (has_sign) EACH_LANE to[i] = (uint32_t)to_s32(x[i]);
        else EACH_LANE to[i] = u32_of_f(x[i]);
        return;
    }
    const float most = (float)((1 << (bits - has_sign)) - 1), least = has_sign ? -most - 1 : 0;
    EACH_LANE {
        float y = x[i] > least ? x[i] : least;
        y = y < most ? y : most;
        y = x[i] == x[i] ? y : 0;
        to[i] = (uint32_t)(int32_t)y & keep;
    }
}

static bool row_CVT_INT(Machine *m, Warp *w, const Ins *in) {
    Convert c;
    const uint8_t *file = w->file;
    ROW(U32, a, in->a);
    Halves x;
    U32 to[LANES] __attribute__((aligned(64)));
    (void)m;
    memcpy(&c, &in->imm, sizeof c);
    if (c.from == PTX_F16) f16_load(a, false, &x);
    else if (c.ftz) EACH_LANE x.v[i] = flush(float_of(a[i]));
    else EACH_LANE x.v[i] = float_of(a[i]);
    round_row(x.v, (NumRound)c.round);
    fit_row(x.v, (PtxType)c.to, c.to_bits, to);
    blend(w, to, in->d);
    return true;
}

/* What a float cannot hold exactly is too large for a half. */
static bool row_CVT_H_INT(Machine *m, Warp *w, const Ins *in) {
    Convert c;
    const uint8_t *file = w->file;
    ROW(U32, a, in->a);
    Halves x;
    U32 to[LANES] __attribute__((aligned(64)));
    (void)m;
    memcpy(&c, &in->imm, sizeof c);
    const unsigned shift = 32 - bits_of_int((PtxType)c.from);
    if (is_signed_int((PtxType)c.from))
        EACH_LANE x.v[i] = (float)((int32_t)(a[i] << shift) >> shift);
    else EACH_LANE x.v[i] = (float)(a[i] << shift >> shift);
    f16_put(&x, false, to);
    blend(w, to, in->d);
    return true;
}

/* --- roundings other than to nearest --- */

#if defined(EMU_AVX512)
/* a * b + c rounded down, up or towards 0. */
static inline void side_row(const Warp *w, const Ins *in, const F32 *a, const F32 *b,
                            const F32 *c) {
    const NumRound how = (NumRound)in->imm;
    F32 to[LANES] __attribute__((aligned(64)));
    for (int k = 0; k < LANES; k += 16) {
        const __m512 x = _mm512_loadu_ps(a + k), y = _mm512_loadu_ps(b + k);
        const __m512 z = _mm512_loadu_ps(c + k);
        const __m512 sum =
            how == NUM_RM   ? _mm512_fmadd_round_ps(x, y, z, _MM_FROUND_TO_NEG_INF | QUIET)
            : how == NUM_RP ? _mm512_fmadd_round_ps(x, y, z, _MM_FROUND_TO_POS_INF | QUIET)
                            : _mm512_fmadd_round_ps(x, y, z, _MM_FROUND_TO_ZERO | QUIET);
        _mm512_store_ps(to + k, sum);
    }
    EACH_LANE to[i] = canon(to[i]);
    blend(w, (const U32 *)(const void *)to, in->d);
}
#else
/* a * b + c, and on which side of it the exact one lies: above 1, below -1, there 0. The sum of
** doubles is the nearest one, and what it lost is known (Knuth's two-sum). */
static inline float fma_near(float a, float b, float c, float *side) {
    const double product = (double)a * (double)b, sum = product + (double)c, back = sum - product;
    const double lost = (product - (sum - back)) + ((double)c - back);
    const float near = (float)sum;
    double rest = sum - (double)near;
    rest = rest == 0 ? lost : rest;
    *side = rest > 0 ? 1.0f : rest < 0 ? -1.0f : 0.0f;
    return near;
}

/* a * b + c rounded down, up or towards 0. */
static inline void side_row(const Warp *w, const Ins *in, const F32 *a, const F32 *b,
                            const F32 *c) {
    const NumRound how = (NumRound)in->imm;
    F32 near[LANES] __attribute__((aligned(64))), side[LANES] __attribute__((aligned(64)));
    U32 result[LANES] __attribute__((aligned(64)));
    EACH_LANE near[i] = fma_near(a[i], b[i], c[i], &side[i]);
    EACH_LANE {
        const uint32_t bits = bits_f(near[i]), sign = bits >> 31;
        const float to = how == NUM_RM ? -1.0f : how == NUM_RP ? 1.0f : sign ? 1.0f : -1.0f;
        const uint32_t step = (to < 0) == (sign == 1) ? 1 : UINT32_MAX;
        result[i] = bits_f(canon(float_of(side[i] == to ? bits + step : bits)));
    }
    if (how == NUM_RM) { /* x - x is -0 */
        EACH_LANE {
            const uint32_t minus = ((bits_f(a[i]) ^ bits_f(b[i])) | bits_f(c[i])) & 0x80000000;
            result[i] = near[i] == 0 && side[i] == 0 ? minus : result[i];
        }
    }
    blend(w, result, in->d);
}
#endif

/* a * FACTOR + MORE */
#define SIDE_OP(NAME, FACTOR, MORE)                                                                \
    static bool row_##NAME(Machine *m, Warp *w, const Ins *in) {                                   \
        const uint8_t *file = w->file;                                                             \
        ROW(F32, a, in->a);                                                                        \
        ROW(F32, b, in->b);                                                                        \
        ROW(F32, c, in->c);                                                                        \
        F32 factor[LANES] __attribute__((aligned(64))), more[LANES] __attribute__((aligned(64)));  \
        (void)m, (void)c;                                                                          \
        EACH_LANE factor[i] = (FACTOR);                                                            \
        EACH_LANE more[i] = (MORE);                                                                \
        side_row(w, in, a, factor, more);                                                          \
        return true;                                                                               \
    }

/* A product alone has the zero of its own sign added. */
SIDE_OP(FMA_SIDE, b[i], c[i])
SIDE_OP(ADD_SIDE, 1, b[i])
SIDE_OP(SUB_SIDE, 1, -b[i])
SIDE_OP(MUL_SIDE, b[i], float_of((bits_f(a[i]) ^ bits_f(b[i])) & 0x80000000))

/* --- bytes --- */

/* Byte n of the eight of a and b, or eight times its sign. */
static inline uint32_t byte_of(uint32_t a, uint32_t b, uint32_t n) {
    const uint32_t byte = (n & 4 ? b : a) >> (n & 3) * 8 & 0xff;
    return n & 8 ? byte & 0x80 ? 0xff : 0 : byte;
}

ROW_OP(PRMT, U32, U32, U32, U32,
       byte_of(a[i], b[i], c[i]) | byte_of(a[i], b[i], c[i] >> 4) << 8 |
           byte_of(a[i], b[i], c[i] >> 8) << 16 | byte_of(a[i], b[i], c[i] >> 12) << 24)

#include "emu/exec/rows_int.h"

/* --- doubles: -0 is less than +0; of two NaNs b, made quiet --- */

static inline uint64_t extreme_d(double a, double b, bool most) {
    const uint64_t x = num_f64_bits(a), y = num_f64_bits(b);
    const bool less = a < b || (a == b && x > y), more = a > b || (a == b && x < y);
    const bool first = b != b || (most ? more : less);
    const uint64_t number = first ? x : y;
    return a != a ? b != b ? y | 0x0008000000000000u : y : number;
}

ROW_OP(MIN_D, U64, F64, F64, F64, extreme_d(a[i], b[i], false))
ROW_OP(MAX_D, U64, F64, F64, F64, extreme_d(a[i], b[i], true))
/* A NaN keeps its sign. */
static inline uint64_t abs_d(double a) {
    const uint64_t bits = num_f64_bits(a);
    return a != a ? bits | 0x0008000000000000u : bits & INT64_MAX;
}

ROW_OP(ABS_D, U64, F64, F64, F64, abs_d(a[i]))

/* The products of four bytes each, and c. */
static inline uint32_t dot(uint32_t a, bool a_sign, uint32_t b, bool b_sign, uint32_t c) {
    uint32_t sum = c;
    for (int k = 0; k < 32; k += 8) {
        const int32_t x = (int32_t)(a << (24 - k)), y = (int32_t)(b << (24 - k));
        const int32_t p = a_sign ? x >> 24 : (int32_t)((uint32_t)x >> 24);
        const int32_t q = b_sign ? y >> 24 : (int32_t)((uint32_t)y >> 24);
        sum += (uint32_t)(p * q);
    }
    return sum;
}

ROW_OP(DP4A_UU, U32, U32, U32, U32, dot(a[i], false, b[i], false, c[i]))
ROW_OP(DP4A_US, U32, U32, U32, U32, dot(a[i], false, b[i], true, c[i]))
ROW_OP(DP4A_SU, U32, U32, U32, U32, dot(a[i], true, b[i], false, c[i]))
ROW_OP(DP4A_SS, U32, U32, U32, U32, dot(a[i], true, b[i], true, c[i]))

/* --- carries: what it means is in forms_int.c --- */

static inline uint32_t product32(uint32_t a, uint32_t b, uint32_t how) {
    const uint64_t with_sign = (uint64_t)((int64_t)(int32_t)a * (int32_t)b);
    const uint64_t high = (how & CC_SIGNED ? with_sign : (uint64_t)a * b) >> 32;
    return how & CC_HI ? (uint32_t)high : a * b;
}

static inline uint64_t product64(uint64_t a, uint64_t b, uint32_t how) {
    (void)how; /* the upper half is no row */
    return a * b;
}

#define CARRY(T, N)                                                                                \
    static inline void carry_##N(const uint8_t *file, const Ins *in, const S32 *with, T *sum,      \
                                 S32 *out) {                                                       \
        const uint32_t how = (uint32_t)in->imm;                                                    \
        ROW(T, a, in->a);                                                                          \
        ROW(T, b, in->b);                                                                          \
        ROW(T, c, in->c);                                                                          \
        T x[LANES] __attribute__((aligned(64))), y[LANES] __attribute__((aligned(64)));            \
        if (how & CC_MUL) EACH_LANE x[i] = product##N(a[i], b[i], how), y[i] = c[i];               \
        else if (how & CC_SUB) EACH_LANE x[i] = a[i], y[i] = ~b[i];                                \
        else EACH_LANE x[i] = a[i], y[i] = b[i];                                                   \
        EACH_LANE {                                                                                \
            const T part = x[i] + y[i];                                                            \
            sum[i] = part + (T)with[i];                                                            \
            out[i] = part < x[i] || sum[i] < part ? -1 : 0;                                        \
        }                                                                                          \
    }

CARRY(U32, 32)
CARRY(U64, 64)

static bool row_CARRY(Machine *m, Warp *w, const Ins *in) {
    uint8_t *file = w->file;
    const uint32_t how = (uint32_t)in->imm;
    const uint32_t carry = how & CC_IN ? w->carry : how & CC_SUB ? FULL_MASK : 0;
    S32 with[LANES] __attribute__((aligned(64))), out[LANES] __attribute__((aligned(64)));
    U64 sum[LANES] __attribute__((aligned(64)));
    (void)m;
    EACH_LANE with[i] = (int32_t)(carry >> i & 1);
    if (how & CC_64) {
        PLACE(U64, d, in->d);
        carry_64(file, in, with, sum, out);
        EACH_LANE d[i] = w->lane64[i] ? sum[i] : d[i];
    } else {
        carry_32(file, in, with, (U32 *)sum, out);
        blend(w, (const U32 *)sum, in->d);
    }
    if (how & CC_OUT) w->carry = (w->carry & ~w->active) | (mask_of(out) & w->active);
    return true;
}

/* --- shuffles of a whole warp: sync.c has what they mean, and all others --- */

static bool row_SHFL(Machine *m, Warp *w, const Ins *in) {
    const SyncForm *f = &w->code->sync[in->imm];
    uint8_t *file = w->file;
    ROW(S32, b, f->b);
    ROW(S32, c, f->c);
    ROW(U32, value, f->value);
    PLACE(U32, d, f->d);
    S32 from[LANES] __attribute__((aligned(64))), valid[LANES] __attribute__((aligned(64)));
    U32 word[LANES] __attribute__((aligned(64)));
    const int mode = f->mode;
    (void)m;
    EACH_LANE {
        const int32_t distance = b[i] & 31, clamp = c[i] & 31, segment = c[i] >> 8 & 31;
        const int32_t most = (i & segment) | (clamp & ~segment);
        const int32_t up = i - distance, down = i + distance, across = i ^ distance;
        const int32_t place = (i & segment) | (distance & ~segment);
        const int32_t j = mode == SHFL_UP     ? up
                          : mode == SHFL_DOWN ? down
                          : mode == SHFL_BFLY ? across
                                              : place;
        const bool is_valid = mode == SHFL_UP ? j >= most : j <= most;
        valid[i] = is_valid ? -1 : 0;
        from[i] = is_valid ? j & 31 : i;
    }
    for (int i = 0; i < LANES; i++) word[i] = value[from[i]];
    EACH_LANE d[i] = word[i];
    pred_set(w, f->p, mask_of(valid), FULL_MASK);
    return true;
}

/* Whose words are equal: match.any. */
static bool row_MATCH(Machine *m, Warp *w, const Ins *in) {
    const SyncForm *f = &w->code->sync[in->imm];
    uint8_t *file = w->file;
    ROW(U32, value, f->value);
    PLACE(U32, d, f->d);
    U32 same[LANES] __attribute__((aligned(64)));
    (void)m;
    for (int k = 0; k < LANES; k++) {
        const uint32_t own = value[k];
        S32 is_equal[LANES] __attribute__((aligned(64)));
        EACH_LANE is_equal[i] = value[i] == own ? -1 : 0;
        same[k] = mask_of(is_equal);
    }
    EACH_LANE d[i] = same[i];
    return true;
}

/* --- approximations --- */

#define SPECIAL(NAME, CALL)                                                                        \
    static bool row_##NAME(Machine *m, Warp *w, const Ins *in) {                                   \
        const uint8_t *file = w->file;                                                             \
        ROW(F32, a, in->a);                                                                        \
        ROW(F32, b, in->b);                                                                        \
        F32 to[LANES] __attribute__((aligned(64)));                                                \
        (void)m, (void)b;                                                                          \
        CALL;                                                                                      \
        blend(w, (const U32 *)(const void *)to, in->d);                                            \
        return true;                                                                               \
    }

SPECIAL(RCP, special_root(a, ROOT_NONE, false, to))
SPECIAL(RCP_Z, special_root(a, ROOT_NONE, true, to))
SPECIAL(SQRT, special_root(a, ROOT_ALONE, false, to))
SPECIAL(SQRT_Z, special_root(a, ROOT_ALONE, true, to))
SPECIAL(RSQRT, special_root(a, ROOT_BELOW, false, to))
SPECIAL(RSQRT_Z, special_root(a, ROOT_BELOW, true, to))
SPECIAL(EX2, special_ex2(a, false, to))
SPECIAL(EX2_Z, special_ex2(a, true, to))
SPECIAL(LG2, special_lg2(a, false, to))
SPECIAL(LG2_Z, special_lg2(a, true, to))
SPECIAL(SIN, special_sine(w, a, false, 0, to))
SPECIAL(SIN_Z, special_sine(w, a, true, 0, to))
SPECIAL(COS, special_sine(w, a, false, 1, to))
SPECIAL(COS_Z, special_sine(w, a, true, 1, to))
SPECIAL(DIV, special_div(a, b, false, true, to))
SPECIAL(DIV_Z, special_div(a, b, true, true, to))
SPECIAL(DIV_FULL, special_div(a, b, false, false, to))
SPECIAL(DIV_FULL_Z, special_div(a, b, true, false, to))
SPECIAL(TANH, special_tanh(a, to))

const SlowFn ROWS_VARIANT[ROWS] = {
#define R(name) row_##name,
    EMU_ROWS(R)
#undef R
};
