/* emu_instructions_float.c - f32 and f64 instructions of the virtual GPU against the processor's
** own arithmetic in each rounding, and the approximate functions against long double.
**
** A result that is NaN may be any NaN, but where an instruction only moves bits (types F, D).
*/
#include <fenv.h>

#include "emu_kit.h"

/* ---- the processor's arithmetic in a rounding (volatile: neither folded nor moved) ---- */

static float (*volatile library_fmaf)(float, float, float) = fmaf;
static double (*volatile library_fma)(double, double, double) = fma;

static uint64_t op32(char op, uint64_t a, uint64_t b, uint64_t c, int mode) {
    volatile float x = kit_f32(a), y = kit_f32(b), z = kit_f32(c), d;
    fesetround(mode);
    switch (op) {
    case '+': d = x + y; break;
    case '-': d = x - y; break;
    case '*': d = x * y; break;
    case '/': d = x / y; break;
    case 'f': d = library_fmaf(x, y, z); break;
    case 'r': d = 1 / x; break;
    default: d = sqrtf(x); break;
    }
    fesetround(FE_TONEAREST);
    return kit_bits32(d);
}

static uint64_t op64(char op, uint64_t a, uint64_t b, uint64_t c, int mode) {
    volatile double x = kit_f64(a), y = kit_f64(b), z = kit_f64(c), d;
    fesetround(mode);
    switch (op) {
    case '+': d = x + y; break;
    case '-': d = x - y; break;
    case '*': d = x * y; break;
    case '/': d = x / y; break;
    case 'f': d = library_fma(x, y, z); break;
    case 'r': d = 1 / x; break;
    default: d = sqrt(x); break;
    }
    fesetround(FE_TONEAREST);
    return kit_bits64(d);
}

static uint64_t flush(uint64_t bits) {
    return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

static uint64_t raised(uint64_t bits) {
    return kit_bits32(0x1p100F * kit_f32(bits));
}

/* Tiny is what lies below the smallest normal number after rounding to 24 bits whatever the
** exponent, which shows when the operands are 2^100 times as large. */
static uint64_t ftz32(char op, uint64_t a, uint64_t b, uint64_t c) {
    a = flush(a), b = flush(b), c = flush(c);
    uint64_t value = op32(op, a, b, c, FE_TONEAREST), both = op == '+' || op == '-';
    if (op == 'r' || op == 's') return flush(value);
    uint64_t large = op32(op, raised(a), both ? raised(b) : b, raised(c), FE_TONEAREST);
    return fabsf(kit_f32(large)) < 0x1p-26F ? value & 0x80000000 : value;
}

/* .sat: [0, 1], NaN to +0 */
static uint64_t sat32(uint64_t bits) {
    float x = kit_f32(bits);
    return kit_bits32(x > 0 ? (x < 1 ? x : 1) : 0);
}

#define ROUNDINGS(name, op)                                                                        \
    WANT(name##_rn32, op32(op, a, b, c, FE_TONEAREST))                                             \
    WANT(name##_rz32, op32(op, a, b, c, FE_TOWARDZERO))                                            \
    WANT(name##_rm32, op32(op, a, b, c, FE_DOWNWARD))                                              \
    WANT(name##_rp32, op32(op, a, b, c, FE_UPWARD))                                                \
    WANT(name##_rn64, op64(op, a, b, c, FE_TONEAREST))                                             \
    WANT(name##_rz64, op64(op, a, b, c, FE_TOWARDZERO))                                            \
    WANT(name##_rm64, op64(op, a, b, c, FE_DOWNWARD))                                              \
    WANT(name##_rp64, op64(op, a, b, c, FE_UPWARD))                                                \
    WANT(name##_ftz, ftz32(op, a, b, c))
ROUNDINGS(add, '+')
ROUNDINGS(sub, '-')
ROUNDINGS(mul, '*')
ROUNDINGS(fma, 'f')
ROUNDINGS(div, '/')
ROUNDINGS(rcp, 'r')
ROUNDINGS(sqrt, 's')
WANT(add_sat, sat32(op32('+', a, b, c, FE_TONEAREST)))
WANT(sub_sat, sat32(op32('-', a, b, c, FE_TONEAREST)))
WANT(mul_sat, sat32(op32('*', a, b, c, FE_TONEAREST)))
WANT(fma_sat, sat32(op32('f', a, b, c, FE_TONEAREST)))

#define IN_ALL(name, text, operands, t32, t64)                                                     \
    {text ".rn.f32 $0, " operands ";", t32, name##_rn32, 0, 0},                                    \
        {text ".rz.f32 $0, " operands ";", t32, name##_rz32, 0, 0},                                \
        {text ".rm.f32 $0, " operands ";", t32, name##_rm32, 0, 0},                                \
        {text ".rp.f32 $0, " operands ";", t32, name##_rp32, 0, 0},                                \
        {text ".rn.f64 $0, " operands ";", t64, name##_rn64, 0, 0},                                \
        {text ".rz.f64 $0, " operands ";", t64, name##_rz64, 0, 0},                                \
        {text ".rm.f64 $0, " operands ";", t64, name##_rm64, 0, 0},                                \
        {text ".rp.f64 $0, " operands ";", t64, name##_rp64, 0, 0}, {                              \
        text ".rn.ftz.f32 $0, " operands ";", t32, name##_ftz, 0, 0                                \
    }

static const Form arithmetic[] = {
    IN_ALL(add, "add", "$1, $2", "f:ff", "d:dd"),
    IN_ALL(sub, "sub", "$1, $2", "f:ff", "d:dd"),
    IN_ALL(mul, "mul", "$1, $2", "f:ff", "d:dd"),
    IN_ALL(fma, "fma", "$1, $2, $3", "f:fff", "d:ddd"),
    IN_ALL(div, "div", "$1, $2", "f:ff", "d:dd"),
    IN_ALL(rcp, "rcp", "$1", "f:f", "d:d"),
    IN_ALL(sqrt, "sqrt", "$1", "f:f", "d:d"),
    {"add.f32 $0, $1, $2;", "f:ff", add_rn32, 0, 0},
    {"sub.f32 $0, $1, $2;", "f:ff", sub_rn32, 0, 0},
    {"mul.f32 $0, $1, $2;", "f:ff", mul_rn32, 0, 0},
    {"add.f64 $0, $1, $2;", "d:dd", add_rn64, 0, 0},
    {"sub.f64 $0, $1, $2;", "d:dd", sub_rn64, 0, 0},
    {"mul.f64 $0, $1, $2;", "d:dd", mul_rn64, 0, 0},
    {"add.ftz.f32 $0, $1, $2;", "f:ff", add_ftz, 0, 0},
    {"mul.ftz.f32 $0, $1, $2;", "f:ff", mul_ftz, 0, 0},
    {"add.sat.f32 $0, $1, $2;", "f:ff", add_sat, 0, 0},
    {"sub.sat.f32 $0, $1, $2;", "f:ff", sub_sat, 0, 0},
    {"mul.sat.f32 $0, $1, $2;", "f:ff", mul_sat, 0, 0},
    {"fma.rn.sat.f32 $0, $1, $2, $3;", "f:fff", fma_sat, 0, 0},
    {"mad.rn.f32 $0, $1, $2, $3;", "f:fff", fma_rn32, 0, 0},
    {"mad.rz.f32 $0, $1, $2, $3;", "f:fff", fma_rz32, 0, 0},
    {"mad.rn.f64 $0, $1, $2, $3;", "d:ddd", fma_rn64, 0, 0},
};

/* ---- bits, minima, choices ---- */

#define SIGN32 0x80000000
#define SIGN64 0x8000000000000000

/* PTX: a NaN gives the other operand; -0 is below +0 */
static uint64_t smaller32(uint64_t a, uint64_t b) {
    float x = kit_f32(a), y = kit_f32(b);
    if (isnan(x) || isnan(y)) return isnan(x) ? b : a;
    if (x == y) return a & SIGN32 ? a : b;
    return x < y ? a : b;
}
static uint64_t larger32(uint64_t a, uint64_t b) {
    float x = kit_f32(a), y = kit_f32(b);
    if (isnan(x) || isnan(y)) return isnan(x) ? b : a;
    if (x == y) return a & SIGN32 ? b : a;
    return x > y ? a : b;
}
static uint64_t smaller64(uint64_t a, uint64_t b) {
    double x = kit_f64(a), y = kit_f64(b);
    if (isnan(x) || isnan(y)) return isnan(x) ? b : a;
    if (x == y) return a & SIGN64 ? a : b;
    return x < y ? a : b;
}
static uint64_t larger64(uint64_t a, uint64_t b) {
    double x = kit_f64(a), y = kit_f64(b);
    if (isnan(x) || isnan(y)) return isnan(x) ? b : a;
    if (x == y) return a & SIGN64 ? b : a;
    return x > y ? a : b;
}
static bool either_nan(uint64_t a, uint64_t b) {
    return isnan(kit_f32(a)) || isnan(kit_f32(b));
}

WANT(min32, smaller32(a, b))
WANT(max32, larger32(a, b))
WANT(min32_ftz, smaller32(flush(a), flush(b)))
WANT(max32_ftz, larger32(flush(a), flush(b)))
WANT(min32_nan, either_nan(a, b) ? 0x7fffffff : smaller32(a, b))
WANT(max32_nan, either_nan(a, b) ? 0x7fffffff : larger32(a, b))
WANT(min64, smaller64(a, b))
WANT(max64, larger64(a, b))
WANT(abs32, a & ~(uint64_t)SIGN32)
WANT(abs64, a & ~SIGN64)
WANT(neg32, a ^ SIGN32)
WANT(neg64, a ^ SIGN64)
/* NaNs as an H200 gives them, bit for bit: the results are moved to integer registers */
#define QUIET64(a) ((a) | UINT64_C(1) << 51)
WANT(abs32_bits, isnan(kit_f32(a)) ? 0x7fffffff : a & ~(uint64_t)SIGN32)
WANT(neg32_bits, isnan(kit_f32(a)) ? 0x7fffffff : a ^ SIGN32)
WANT(abs64_bits, isnan(kit_f64(a)) ? QUIET64(a) : a & ~SIGN64)
WANT(neg64_bits, isnan(kit_f64(a)) ? QUIET64(a) : a ^ SIGN64)
WANT(copysign32, (b & ~(uint64_t)SIGN32) | (a & SIGN32))
WANT(copysign64, (b & ~SIGN64) | (a & SIGN64))
WANT(copy, a)
WANT(select_c, c & 1 ? a : b)
WANT(slct, (int32_t)c >= 0 ? a : b)
WANT(is_finite, isfinite(kit_f32(a)))
WANT(is_infinite, isinf(kit_f32(a)))
WANT(is_number, !isnan(kit_f32(a)))
WANT(is_nan, isnan(kit_f32(a)))
WANT(is_nan64, isnan(kit_f64(a)))
WANT(is_normal, isnormal(kit_f32(a)) || kit_f32(a) == 0) /* zero too, as an H200 does */
WANT(is_subnormal, fpclassify(kit_f32(a)) == FP_SUBNORMAL)

static const Form moves[] = {
    {"min.f32 $0, $1, $2;", "f:ff", min32, 0, 0},
    {"max.f32 $0, $1, $2;", "f:ff", max32, 0, 0},
    {"min.ftz.f32 $0, $1, $2;", "f:ff", min32_ftz, 0, 0},
    {"max.ftz.f32 $0, $1, $2;", "f:ff", max32_ftz, 0, 0},
    {"min.NaN.f32 $0, $1, $2;", "f:ff", min32_nan, 0, 0},
    {"max.NaN.f32 $0, $1, $2;", "f:ff", max32_nan, 0, 0},
    {"min.f64 $0, $1, $2;", "d:dd", min64, 0, 0},
    {"max.f64 $0, $1, $2;", "d:dd", max64, 0, 0},
    {"abs.f32 $0, $1;", "f:f", abs32, 0, 0},
    {"abs.f64 $0, $1;", "d:d", abs64, 0, 0},
    {"neg.f32 $0, $1;", "f:f", neg32, 0, 0},
    {"neg.f64 $0, $1;", "d:d", neg64, 0, 0},
    {"{ .reg .f32 t;\nabs.f32 t, $1;\nmov.b32 $0, t; }", "w:f", abs32_bits, 0, 0},
    {"{ .reg .f32 t;\nneg.f32 t, $1;\nmov.b32 $0, t; }", "w:f", neg32_bits, 0, 0},
    {"{ .reg .f64 t;\nabs.f64 t, $1;\nmov.b64 $0, t; }", "l:d", abs64_bits, 0, 0},
    {"{ .reg .f64 t;\nneg.f64 t, $1;\nmov.b64 $0, t; }", "l:d", neg64_bits, 0, 0},
    {"copysign.f32 $0, $1, $2;", "F:ff", copysign32, 0, 0},
    {"copysign.f64 $0, $1, $2;", "D:dd", copysign64, 0, 0},
    {"mov.f32 $0, $1;", "F:f", copy, 0, 0},
    {"mov.f64 $0, $1;", "D:d", copy, 0, 0},
    {"mov.b32 $0, $1;", "w:f", copy, 0, 0},
    {"mov.b64 $0, $1;", "l:d", copy, 0, 0},
    {"selp.f32 $0, $1, $2, $3;", "F:ffp", select_c, 0, 0},
    {"selp.f64 $0, $1, $2, $3;", "D:ddp", select_c, 0, 0},
    {"slct.f32.s32 $0, $1, $2, $3;", "F:ffw", slct, 0, 0},
    {"slct.f64.s32 $0, $1, $2, $3;", "D:ddw", slct, 0, 0},
    {"testp.finite.f32 $0, $1;", "p:f", is_finite, 0, 0},
    {"testp.infinite.f32 $0, $1;", "p:f", is_infinite, 0, 0},
    {"testp.number.f32 $0, $1;", "p:f", is_number, 0, 0},
    {"testp.notanumber.f32 $0, $1;", "p:f", is_nan, 0, 0},
    {"testp.notanumber.f64 $0, $1;", "p:d", is_nan64, 0, 0},
    {"testp.normal.f32 $0, $1;", "p:f", is_normal, 0, 0},
    {"testp.subnormal.f32 $0, $1;", "p:f", is_subnormal, 0, 0},
};

/* ---- comparisons: ordered ones are false for NaN, the others true ---- */

#define COMPARE(type, get)                                                                         \
    WANT(eq_##type, get(a) == get(b))                                                              \
    WANT(ne_##type, get(a) < get(b) || get(a) > get(b))                                            \
    WANT(lt_##type, get(a) < get(b))                                                               \
    WANT(le_##type, get(a) <= get(b))                                                              \
    WANT(gt_##type, get(a) > get(b))                                                               \
    WANT(ge_##type, get(a) >= get(b))                                                              \
    WANT(equ_##type, !(get(a) < get(b) || get(a) > get(b)))                                        \
    WANT(neu_##type, !(get(a) == get(b)))                                                          \
    WANT(ltu_##type, !(get(a) >= get(b)))                                                          \
    WANT(leu_##type, !(get(a) > get(b)))                                                           \
    WANT(gtu_##type, !(get(a) <= get(b)))                                                          \
    WANT(geu_##type, !(get(a) < get(b)))                                                           \
    WANT(num_##type, !isnan(get(a)) && !isnan(get(b)))                                             \
    WANT(nan_##type, isnan(get(a)) || isnan(get(b)))
#define flushed(x) kit_f32(flush(x))
COMPARE(f32, kit_f32)
COMPARE(f64, kit_f64)
COMPARE(ftz, flushed)
WANT(lt_and, kit_f32(a) < kit_f32(b) && (c & 1))
WANT(set_u32, kit_f32(a) < kit_f32(b) ? 0xffffffff : 0)
WANT(set_f32, kit_f32(a) < kit_f32(b) ? 0x3f800000 : 0)

#define SETP(cmp, kind, type, t)                                                                   \
    { "setp." #cmp "." type " $0, $1, $2;", t, cmp##_##kind, 0, 0 }
#define SETPS(kind, type, t)                                                                       \
    SETP(eq, kind, type, t), SETP(ne, kind, type, t), SETP(lt, kind, type, t),                     \
        SETP(le, kind, type, t), SETP(gt, kind, type, t), SETP(ge, kind, type, t),                 \
        SETP(equ, kind, type, t), SETP(neu, kind, type, t), SETP(ltu, kind, type, t),              \
        SETP(leu, kind, type, t), SETP(gtu, kind, type, t), SETP(geu, kind, type, t),              \
        SETP(num, kind, type, t), SETP(nan, kind, type, t)

static const Form comparisons[] = {
    SETPS(f32, "f32", "p:ff"),
    SETPS(f64, "f64", "p:dd"),
    SETPS(ftz, "ftz.f32", "p:ff"),
    {"setp.lt.and.f32 $0, $1, $2, $3;", "p:ffp", lt_and, 0, 0},
    {"set.lt.u32.f32 $0, $1, $2;", "w:ff", set_u32, 0, 0},
    {"set.lt.f32.f32 $0, $1, $2;", "F:ff", set_f32, 0, 0},
};

/* ---- approximate functions: long double, with the special values that the ISA tabulates ---- */

static uint64_t rounded(long double x) {
    return kit_bits32((float)x);
}

static float divide_approx(float x, float y) {
    if (isfinite(y) && fabsf(y) > 0x1p126F) return isinf(x) || isnan(x) ? NAN : copysignf(0, x / y);
    return x / y;
}

/* the upper word of a double, as an H200 sees it: some NaNs are infinities, subnormals zero */
static double upper(uint64_t bits) {
    double x = kit_f64(bits & 0xffffffff00000000);
    return fpclassify(x) == FP_SUBNORMAL ? copysign(0, x) : x;
}

static uint64_t upper_result(double x) {
    return kit_bits64(fpclassify(x) == FP_SUBNORMAL ? copysign(0, x) : x);
}

WANT(ex2, rounded(exp2l((long double)kit_f32(a))))
WANT(ex2_ftz, flush(rounded(exp2l((long double)kit_f32(a)))))
WANT(lg2, rounded(log2l((long double)kit_f32(a))))
WANT(lg2_ftz, rounded(log2l((long double)kit_f32(flush(a)))))
WANT(rcp_approx, rounded(1 / (long double)kit_f32(a)))
WANT(rcp_approx_ftz, flush(rounded(1 / (long double)kit_f32(flush(a)))))
WANT(rsqrt, rounded(1 / sqrtl((long double)kit_f32(a))))
WANT(rsqrt_ftz, rounded(1 / sqrtl((long double)kit_f32(flush(a)))))
WANT(sqrt_approx, rounded(sqrtl((long double)kit_f32(a))))
WANT(sqrt_approx_ftz, rounded(sqrtl((long double)kit_f32(flush(a)))))
WANT(div_approx, kit_bits32(divide_approx(kit_f32(a), kit_f32(b))))

static uint64_t divide_approx_ftz(uint64_t a, uint64_t b) {
    uint64_t value = kit_bits32(divide_approx(kit_f32(flush(a)), kit_f32(flush(b))));
    float large = divide_approx(kit_f32(raised(flush(a))), kit_f32(flush(b)));
    return fabsf(large) < 0x1p-26F ? value & 0x80000000 : value;
}

WANT(div_approx_ftz, divide_approx_ftz(a, b))
WANT(div_full, kit_bits32(kit_f32(a) / kit_f32(b)))
WANT(tanh_, rounded(tanhl((long double)kit_f32(a))))
WANT(rcp64, upper_result(1 / upper(a)))
WANT(rsqrt64, upper_result(1 / sqrt(upper(a))))
WANT(rsqrt64_full, kit_bits64(1 / sqrt(kit_f64(a))))

static const Form approximations[] = {
    {"ex2.approx.f32 $0, $1;", "f:f", ex2, 2, 'u'},
    {"ex2.approx.ftz.f32 $0, $1;", "f:f", ex2_ftz, 2, 'u'},
    {"lg2.approx.f32 $0, $1;", "f:f", lg2, 0x1p-22, 'm'},
    {"lg2.approx.ftz.f32 $0, $1;", "f:f", lg2_ftz, 0x1p-22, 'm'},
    {"rcp.approx.f32 $0, $1;", "f:f", rcp_approx, 1, 'u'},
    {"rcp.approx.ftz.f32 $0, $1;", "f:f", rcp_approx_ftz, 1, 'u'},
    {"rsqrt.approx.f32 $0, $1;", "f:f", rsqrt, 0x1p-22, 'r'},
    {"rsqrt.approx.ftz.f32 $0, $1;", "f:f", rsqrt_ftz, 0x1p-22, 'r'},
    {"sqrt.approx.f32 $0, $1;", "f:f", sqrt_approx, 0x1p-22, 'r'},
    {"sqrt.approx.ftz.f32 $0, $1;", "f:f", sqrt_approx_ftz, 0x1p-22, 'r'},
    {"div.approx.f32 $0, $1, $2;", "f:ff", div_approx, 2, 'u'},
    {"div.approx.ftz.f32 $0, $1, $2;", "f:ff", div_approx_ftz, 2, 'u'},
    {"div.full.f32 $0, $1, $2;", "f:ff", div_full, 2, 'u'},
    {"tanh.approx.f32 $0, $1;", "f:f", tanh_, 0x1p-10, 'r'},
    {"rcp.approx.ftz.f64 $0, $1;", "d:d", rcp64, 0x1p-18, 'r'},
    {"rsqrt.approx.ftz.f64 $0, $1;", "d:d", rsqrt64, 0x1p-18, 'r'},
    {"rsqrt.approx.f64 $0, $1;", "d:d", rsqrt64_full, 0x1p-50, 'r'},
};

/* The ISA bounds the error of sin and cos in [-pi, pi] only: larger arguments become 1 or -1. */
static float reduced(uint64_t bits) {
    float x = kit_f32(bits);
    if (!isfinite(x)) return x;
    return x / (fabsf(x) > 3 ? fabsf(x) : 1);
}
WANT(sin_reduced, rounded(sinl((long double)reduced(a))))
WANT(cos_reduced, rounded(cosl((long double)reduced(a))))

#define REDUCED(op)                                                                                \
    "{ .reg .f32 m, q;\n.reg .pred p;\nabs.f32 m, $1;\nsetp.gt.f32 p, m, 0f40400000;\n"            \
    "selp.f32 m, m, 0f3F800000, p;\ntestp.infinite.f32 p, m;\nselp.f32 m, 0f3F800000, m, p;\n"     \
    "div.rn.f32 q, $1, m;\n" op ".f32 $0, q; }"

static const Form angles[] = {
    {REDUCED("sin.approx"), "f:f", sin_reduced, 0x1p-20, 'a'},
    {REDUCED("cos.approx"), "f:f", cos_reduced, 0x1p-20, 'a'},
    {REDUCED("sin.approx.ftz"), "f:f", sin_reduced, 0x1p-20, 'a'},
    {REDUCED("cos.approx.ftz"), "f:f", cos_reduced, 0x1p-20, 'a'},
};

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    kit_forms(arithmetic, KIT_COUNT(arithmetic));
    kit_forms(moves, KIT_COUNT(moves));
    kit_forms(comparisons, KIT_COUNT(comparisons));
    kit_forms(approximations, KIT_COUNT(approximations));
    kit_forms(angles, KIT_COUNT(angles));
    return kit_end();
}
