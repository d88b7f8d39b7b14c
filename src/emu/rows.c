/* rows.c - see rows.h. rows_avx2.c compiles this file again for AVX2. */
#include "emu/vector.h"

#include "emu/rows.h"
#include "emu/series.h"

#ifndef ROWS_VARIANT
#define ROWS_VARIANT rows_base
#endif

#include "emu/exec_num.h"
#include "emu/rows_num.h"
#include "emu/rows_special.h"

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
HALF_OP(FMA_H, f16, 3, f16_fma(x, y, z))
HALF_OP(MIN_H, f16, 2, or_nan(min_f(x, y), x, y, how))
HALF_OP(MAX_H, f16, 2, or_nan(max_f(x, y), x, y, how))
HALF_OP(ADD_B, bf16, 2, x + y)
HALF_OP(SUB_B, bf16, 2, x - y)
HALF_OP(MUL_B, bf16, 2, x * y)
HALF_OP(FMA_B, bf16, 3, bf16_fma(x, y, z))
HALF_OP(MIN_B, bf16, 2, or_nan(min_f(x, y), x, y, how))
HALF_OP(MAX_B, bf16, 2, or_nan(max_f(x, y), x, y, how))
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
