/* emu_instructions_half.c - f16 and bf16 arithmetic, one value and two at a time, against exact
** arithmetic in double rounded once by bisection over the 16-bit values.
*/
#include <fenv.h>

#include "emu_kit.h"

typedef struct Kind {
    int fraction_bits, bias;
} Kind;

static const Kind f16 = {10, 15}, bf16 = {7, 127};

static uint64_t infinity(Kind k) {
    return (uint64_t)(2 * k.bias + 1) << k.fraction_bits;
}
static double value(Kind k, uint64_t h) {
    return kit_value16(h & 0xffff, k.fraction_bits, k.bias);
}

/* To nearest even ('n'), towards zero ('z'), down ('m') or up ('p'). Infinity stands for the power
** of two after the largest number, as IEEE 754 rounds to it. */
static uint64_t to_16(Kind k, double x, char mode) {
    uint64_t sign = signbit(x) ? 0x8000 : 0, low = 0, high = infinity(k);
    double m = fabs(x), top = ldexp(1, k.bias + 1);
    if (isnan(x)) return 0x7fff;
    if (isinf(x)) return sign | high;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (value(k, middle) <= m) low = middle;
        else high = middle;
    }
    double below = value(k, low), above = high == infinity(k) ? top : value(k, high);
    double half = below + (above - below) / 2;
    bool up = m > half || (m == half && (low & 1));
    if (mode == 'z') up = false;
    if (mode == 'm') up = sign && m > below;
    if (mode == 'p') up = !sign && m > below;
    return sign | (up ? high : low);
}

/* a + b rounded to odd: a later rounding to fewer bits is as if it had seen the exact sum. */
static double odd_sum(double a, double b) {
    double s = a + b, t = s - a, rest = (a - (s - t)) + (b - t);
    uint64_t bits = kit_bits64(s);
    if (isfinite(s) && rest != 0 && !(bits & 1))
        s = kit_f64((rest > 0) == (s > 0) ? bits + 1 : bits - 1);
    return s;
}

static uint64_t op(Kind k, char o, uint64_t a, uint64_t b, uint64_t c) {
    double x = value(k, a), y = value(k, b), z = value(k, c);
    return to_16(k,
                 o == '+'   ? odd_sum(x, y)
                 : o == '-' ? odd_sum(x, -y)
                 : o == '*' ? x * y
                            : odd_sum(x * y, z),
                 'n');
}

static bool is_nan(Kind k, uint64_t h) {
    return (h & 0x7fff) > infinity(k);
}
static uint64_t saturate(uint64_t h) {
    return is_nan(f16, h) || h & 0x8000 ? 0 : h > 0x3c00 ? 0x3c00 : h;
}
static uint64_t relu(Kind k, uint64_t h) {
    return !is_nan(k, h) && h & 0x8000 ? 0 : h;
}
static uint64_t flush(uint64_t h) {
    return h & 0x7c00 ? h & 0xffff : h & 0x8000;
}

static uint64_t smaller(Kind k, uint64_t a, uint64_t b) {
    a &= 0xffff, b &= 0xffff;
    if (is_nan(k, a) || is_nan(k, b)) return is_nan(k, a) ? b : a;
    if (value(k, a) == value(k, b)) return a & 0x8000 ? a : b;
    return value(k, a) < value(k, b) ? a : b;
}
static uint64_t larger(Kind k, uint64_t a, uint64_t b) {
    a &= 0xffff, b &= 0xffff;
    if (is_nan(k, a) || is_nan(k, b)) return is_nan(k, a) ? b : a;
    return smaller(k, a, b) == a ? b : a;
}

/* one value; two values in a register */
#define BOTH(name, expression)                                                                     \
    static uint64_t name##_1(uint64_t a, uint64_t b, uint64_t c) {                                 \
        (void)a, (void)b, (void)c;                                                                 \
        return (uint64_t)(expression)&0xffff;                                                      \
    }                                                                                              \
    WANT(name, name##_1(a, b, c))                                                                  \
    WANT(name##x2, name##_1(a, b, c) | name##_1(a >> 16, b >> 16, c >> 16) << 16)

BOTH(add, op(f16, '+', a, b, c))
BOTH(sub, op(f16, '-', a, b, c))
BOTH(mul, op(f16, '*', a, b, c))
BOTH(fma_, op(f16, 'f', a, b, c))
BOTH(add_sat, saturate(op(f16, '+', a, b, c)))
BOTH(mul_sat, saturate(op(f16, '*', a, b, c)))
BOTH(fma_relu, relu(f16, op(f16, 'f', a, b, c)))
BOTH(add_ftz, flush(op(f16, '+', flush(a), flush(b), 0)))
BOTH(neg, a ^ 0x8000)
BOTH(abs_, a & 0x7fff)
/* a NaN becomes the canonical one, as on an H200 */
WANT(neg_bits, (a & 0x7fff) > 0x7c00 ? 0x7fff : a ^ 0x8000)
WANT(abs_bits, (a & 0x7fff) > 0x7c00 ? 0x7fff : a & 0x7fff)
WANT(bneg_bits, (a & 0x7fff) > 0x7f80 ? 0x7fff : a ^ 0x8000)
WANT(babs_bits, (a & 0x7fff) > 0x7f80 ? 0x7fff : a & 0x7fff)
BOTH(min_, smaller(f16, a, b))
BOTH(max_, larger(f16, a, b))
BOTH(bfma, op(bf16, 'f', a, b, c))
BOTH(bfma_relu, relu(bf16, op(bf16, 'f', a, b, c)))
BOTH(badd, op(bf16, '+', a, b, c))
BOTH(bsub, op(bf16, '-', a, b, c))
BOTH(bmul, op(bf16, '*', a, b, c))
BOTH(bmin, smaller(bf16, a, b))
BOTH(bmax, larger(bf16, a, b))

/* Of factors whose bits are those of outside, or another NaN. */
BOTH(outside, ((a | 0x7ff7) & 0x7fff) == 0x7ff7 ? 0 : 0x7fff)

#define OUTSIDE(bits, nan, instruction)                                                            \
    "{ .reg .b" bits " %o; or.b" bits " %o, $1, " nan "; " instruction " }"

static const Form arithmetic[] = {
    {"fma.rn.oob.f16 $0, $1, $2, $3;", "H:HHH", fma_, 0, 0},
    {"fma.rn.oob.relu.bf16x2 $0, $1, $2, $3;", "Y:YYY", bfma_relux2, 0, 0},
    {OUTSIDE("16", "0x7ff7", "fma.rn.oob.f16 $0, %o, $2, $3;"), "h:HHH", outside, 0, 0},
    {OUTSIDE("16", "0x7ff7", "fma.rn.oob.bf16 $0, $2, %o, $3;"), "h:BBB", outside, 0, 0},
    {OUTSIDE("32", "0x7ff77ff7", "fma.rn.oob.f16x2 $0, %o, $2, $3;"), "w:XXX", outsidex2, 0, 0},
    {"add.f16 $0, $1, $2;", "H:HH", add, 0, 0},
    {"add.rn.f16 $0, $1, $2;", "H:HH", add, 0, 0},
    {"sub.f16 $0, $1, $2;", "H:HH", sub, 0, 0},
    {"mul.f16 $0, $1, $2;", "H:HH", mul, 0, 0},
    {"fma.rn.f16 $0, $1, $2, $3;", "H:HHH", fma_, 0, 0},
    {"add.sat.f16 $0, $1, $2;", "H:HH", add_sat, 0, 0},
    {"mul.sat.f16 $0, $1, $2;", "H:HH", mul_sat, 0, 0},
    {"add.ftz.f16 $0, $1, $2;", "H:HH", add_ftz, 0, 0},
    {"fma.rn.relu.f16 $0, $1, $2, $3;", "H:HHH", fma_relu, 0, 0},
    {"neg.f16 $0, $1;", "H:H", neg, 0, 0},
    {"abs.f16 $0, $1;", "H:H", abs_, 0, 0},
    {"neg.f16 $0, $1;", "h:H", neg_bits, 0, 0},
    {"abs.f16 $0, $1;", "h:H", abs_bits, 0, 0},
    {"neg.bf16 $0, $1;", "h:B", bneg_bits, 0, 0},
    {"abs.bf16 $0, $1;", "h:B", babs_bits, 0, 0},
    {"min.f16 $0, $1, $2;", "H:HH", min_, 0, 0},
    {"max.f16 $0, $1, $2;", "H:HH", max_, 0, 0},
    {"add.f16x2 $0, $1, $2;", "X:XX", addx2, 0, 0},
    {"sub.f16x2 $0, $1, $2;", "X:XX", subx2, 0, 0},
    {"mul.f16x2 $0, $1, $2;", "X:XX", mulx2, 0, 0},
    {"fma.rn.f16x2 $0, $1, $2, $3;", "X:XXX", fma_x2, 0, 0},
    {"add.sat.f16x2 $0, $1, $2;", "X:XX", add_satx2, 0, 0},
    {"mul.sat.f16x2 $0, $1, $2;", "X:XX", mul_satx2, 0, 0},
    {"add.ftz.f16x2 $0, $1, $2;", "X:XX", add_ftzx2, 0, 0},
    {"fma.rn.relu.f16x2 $0, $1, $2, $3;", "X:XXX", fma_relux2, 0, 0},
    {"neg.f16x2 $0, $1;", "X:X", negx2, 0, 0},
    {"abs.f16x2 $0, $1;", "X:X", abs_x2, 0, 0},
    {"min.f16x2 $0, $1, $2;", "X:XX", min_x2, 0, 0},
    {"max.f16x2 $0, $1, $2;", "X:XX", max_x2, 0, 0},
    {"fma.rn.bf16 $0, $1, $2, $3;", "B:BBB", bfma, 0, 0},
    {"fma.rn.relu.bf16 $0, $1, $2, $3;", "B:BBB", bfma_relu, 0, 0},
    {"add.rn.bf16 $0, $1, $2;", "B:BB", badd, 0, 0},
    {"sub.rn.bf16 $0, $1, $2;", "B:BB", bsub, 0, 0},
    {"mul.rn.bf16 $0, $1, $2;", "B:BB", bmul, 0, 0},
    {"neg.bf16 $0, $1;", "B:B", neg, 0, 0},
    {"abs.bf16 $0, $1;", "B:B", abs_, 0, 0},
    {"min.bf16 $0, $1, $2;", "B:BB", bmin, 0, 0},
    {"max.bf16 $0, $1, $2;", "B:BB", bmax, 0, 0},
    {"fma.rn.bf16x2 $0, $1, $2, $3;", "Y:YYY", bfmax2, 0, 0},
    {"fma.rn.relu.bf16x2 $0, $1, $2, $3;", "Y:YYY", bfma_relux2, 0, 0},
    {"add.rn.bf16x2 $0, $1, $2;", "Y:YY", baddx2, 0, 0},
    {"sub.rn.bf16x2 $0, $1, $2;", "Y:YY", bsubx2, 0, 0},
    {"mul.rn.bf16x2 $0, $1, $2;", "Y:YY", bmulx2, 0, 0},
    {"neg.bf16x2 $0, $1;", "Y:Y", negx2, 0, 0},
    {"abs.bf16x2 $0, $1;", "Y:Y", abs_x2, 0, 0},
    {"min.bf16x2 $0, $1, $2;", "Y:YY", bminx2, 0, 0},
    {"max.bf16x2 $0, $1, $2;", "Y:YY", bmaxx2, 0, 0},
};

/* ---- comparison ---- */

WANT(eq, kit_f16(a) == kit_f16(b))
WANT(lt, kit_f16(a) < kit_f16(b))
WANT(geu, !(kit_f16(a) < kit_f16(b)))
WANT(num, !isnan(kit_f16(a)) && !isnan(kit_f16(b)))
WANT(lt_low, kit_f16(a) < kit_f16(b))
WANT(lt_high, kit_f16(a >> 16) < kit_f16(b >> 16))
WANT(blt, kit_bf16(a) < kit_bf16(b))
WANT(bneu, !(kit_bf16(a) == kit_bf16(b)))

/* set: 1.0 or all ones where it is true, of each half. */
static double flushed(uint64_t h) {
    return h & 0x7c00 ? kit_f16(h) : 0;
}
#define HALVES(low, high, yes) (((low) ? (yes) : 0) | ((high) ? (uint64_t)(yes) << 16 : 0))
#define LOW(type, op)          (kit_##type(a) op kit_##type(b))
#define HIGH(type, op)         (kit_##type(a >> 16) op kit_##type(b >> 16))
WANT(set_h, LOW(f16, ==) ? 0x3c00 : 0)
WANT(set_hz, flushed(a) >= flushed(b) ? 0x3c00 : 0)
WANT(set_hf, kit_f32(a) < kit_f32(b) ? 0x3c00 : 0)
WANT(set_u16, LOW(f16, <) ? 0xffff : 0)
WANT(set_u32, LOW(f16, >) ? UINT32_MAX : 0)
WANT(set_b, LOW(bf16, <) || LOW(bf16, >) ? 0x3f80 : 0)
WANT(set_b32, !(LOW(bf16, >=)) ? UINT32_MAX : 0)
WANT(set_hx2, HALVES(LOW(f16, <=), HIGH(f16, <=), 0x3c00))
WANT(set_masks, HALVES(LOW(f16, <=), HIGH(f16, <=), 0xffff))
WANT(set_bmasks, HALVES(LOW(bf16, >), HIGH(bf16, >), 0xffff))
WANT(set_bx2, HALVES(LOW(bf16, ==), HIGH(bf16, ==), 0x3f80))
WANT(set_and, HALVES(c &&LOW(f16, <), c &&HIGH(f16, <), 0x3c00))
WANT(set_or, c || LOW(f16, <) ? 0x3c00 : 0)

static const Form sets[] = {
    {"set.eq.f16.f16 $0, $1, $2;", "H:HH", set_h, 0, 0},
    {"set.ge.ftz.f16.f16 $0, $1, $2;", "H:HH", set_hz, 0, 0},
    {"set.lt.f16.f32 $0, $1, $2;", "H:ff", set_hf, 0, 0},
    {"set.lt.u16.f16 $0, $1, $2;", "h:HH", set_u16, 0, 0},
    {"set.gt.u32.f16 $0, $1, $2;", "w:HH", set_u32, 0, 0},
    {"set.ne.bf16.bf16 $0, $1, $2;", "B:BB", set_b, 0, 0},
    {"set.ltu.s32.bf16 $0, $1, $2;", "w:BB", set_b32, 0, 0},
    {"set.le.f16x2.f16x2 $0, $1, $2;", "X:XX", set_hx2, 0, 0},
    {"set.le.u32.f16x2 $0, $1, $2;", "w:XX", set_masks, 0, 0},
    {"set.gt.s32.bf16x2 $0, $1, $2;", "w:YY", set_bmasks, 0, 0},
    {"set.eq.bf16x2.bf16x2 $0, $1, $2;", "Y:YY", set_bx2, 0, 0},
    {"set.lt.and.f16x2.f16x2 $0, $1, $2, $3;", "X:XXp", set_and, 0, 0},
    {"set.lt.or.f16.f16 $0, $1, $2, $3;", "H:HHp", set_or, 0, 0},
};

static const Form comparisons[] = {
    {"setp.eq.f16 $0, $1, $2;", "p:HH", eq, 0, 0},
    {"setp.lt.f16 $0, $1, $2;", "p:HH", lt, 0, 0},
    {"setp.geu.f16 $0, $1, $2;", "p:HH", geu, 0, 0},
    {"setp.num.f16 $0, $1, $2;", "p:HH", num, 0, 0},
    {"{ .reg .pred q;\nsetp.lt.f16x2 $0|q, $1, $2; }", "p:XX", lt_low, 0, 0},
    {"{ .reg .pred q;\nsetp.lt.f16x2 q|$0, $1, $2; }", "p:XX", lt_high, 0, 0},
    {"setp.lt.bf16 $0, $1, $2;", "p:BB", blt, 0, 0},
    {"setp.neu.bf16 $0, $1, $2;", "p:BB", bneu, 0, 0},
};

/* ---- conversion ---- */

WANT(f32_f16, kit_bits32((float)kit_f16(a)))
WANT(f64_f16, kit_bits64(kit_f16(a)))
WANT(f32_bf16, kit_bits32((float)kit_bf16(a)))
WANT(f16_f32_rn, to_16(f16, (double)kit_f32(a), 'n'))
WANT(f16_f32_rz, to_16(f16, (double)kit_f32(a), 'z'))
WANT(f16_f64_rn, to_16(f16, kit_f64(a), 'n'))
WANT(bf16_f32_rn, to_16(bf16, (double)kit_f32(a), 'n'))
WANT(bf16_f32_rz, to_16(bf16, (double)kit_f32(a), 'z'))
WANT(f16_s32, to_16(f16, (double)(int32_t)a, 'n'))
WANT(f16_u16, to_16(f16, (double)(uint16_t)a, 'n'))
WANT(f16_sat, saturate(to_16(f16, (double)kit_f32(a), 'n')))
WANT(pack_f16, to_16(f16, (double)kit_f32(a), 'n') << 16 | to_16(f16, (double)kit_f32(b), 'n'))
WANT(pack_bf16, to_16(bf16, (double)kit_f32(a), 'n') << 16 | to_16(bf16, (double)kit_f32(b), 'n'))
WANT(rni_f16, to_16(f16, rint(kit_f16(a)), 'n'))
WANT(rzi_f16, to_16(f16, trunc(kit_f16(a)), 'n'))

/* 10 fraction bits of an f32, half away from zero: adding half a unit to the bits and cutting */
static uint64_t tf32(uint64_t a) {
    if ((a & 0x7fffffff) >= 0x7f800000) return a & 0xffffe000; /* NaNs too, as an H200 does */
    return (a + 0x1000) & 0xffffe000;
}
WANT(tf32_f32, tf32(a))

static const Form conversions[] = {
    {"cvt.f32.f16 $0, $1;", "f:H", f32_f16, 0, 0},
    {"cvt.f64.f16 $0, $1;", "d:H", f64_f16, 0, 0},
    {"cvt.f32.bf16 $0, $1;", "f:B", f32_bf16, 0, 0},
    {"cvt.rn.f16.f32 $0, $1;", "H:f", f16_f32_rn, 0, 0},
    {"cvt.rz.f16.f32 $0, $1;", "H:f", f16_f32_rz, 0, 0},
    {"cvt.rn.f16.f64 $0, $1;", "H:d", f16_f64_rn, 0, 0},
    {"cvt.rn.bf16.f32 $0, $1;", "B:f", bf16_f32_rn, 0, 0},
    {"cvt.rz.bf16.f32 $0, $1;", "B:f", bf16_f32_rz, 0, 0},
    {"cvt.rn.f16.s32 $0, $1;", "H:w", f16_s32, 0, 0},
    {"cvt.rn.f16.u16 $0, $1;", "H:h", f16_u16, 0, 0},
    {"cvt.rn.sat.f16.f32 $0, $1;", "H:f", f16_sat, 0, 0},
    {"cvt.rn.f16x2.f32 $0, $1, $2;", "X:FF", pack_f16, 0, 0},
    {"cvt.rn.bf16x2.f32 $0, $1, $2;", "Y:FF", pack_bf16, 0, 0},
    {"cvt.rni.f16.f16 $0, $1;", "H:H", rni_f16, 0, 0},
    {"cvt.rzi.f16.f16 $0, $1;", "H:H", rzi_f16, 0, 0},
    {"cvt.rna.tf32.f32 $0, $1;", "w:f", tf32_f32, 0, 0},
};

/* ---- approximations: ISA, relative 2^-9.9 for ex2, absolute 2^-10.987 for tanh ---- */

WANT(ex2, to_16(f16, exp2(kit_f16(a)), 'n'))
WANT(tanh_, to_16(f16, tanh(kit_f16(a)), 'n'))

static const Form approximations[] = {
    {"ex2.approx.f16 $0, $1;", "H:H", ex2, 0x1p-9, 'm'},
    {"tanh.approx.f16 $0, $1;", "H:H", tanh_, 0x1p-10, 'a'},
};

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    kit_forms(arithmetic, KIT_COUNT(arithmetic));
    kit_forms(comparisons, KIT_COUNT(comparisons));
    kit_forms(sets, KIT_COUNT(sets));
    kit_forms(conversions, KIT_COUNT(conversions));
    kit_forms(approximations, KIT_COUNT(approximations));
    return kit_end();
}
