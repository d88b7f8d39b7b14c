/* emu_instructions_compound.c - instructions that are made of plain ones, and those of sm_100 for
** ordinary code: two f32 at once, three operands, sums of halves and floats, vectors moved at once,
** 16 bytes, numbers of 4 and 6 bits, .satfinite, .xorsign.abs of halves. */
#define KIT_HEADER ".version 9.0\n.target sm_100a\n.address_size 64\n"
#include <fenv.h>

#include "emu_kit.h"

/* ---- two f32 ---- */

#define CANONICAL 0x7fffffffu

static uint64_t bits_of(volatile float x) {
    return isnan(x) ? CANONICAL : kit_bits32(x);
}

static float flushed(float x) {
    return isfinite(x) && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* a op b + c in one rounding of the processor's. */
static uint64_t in_rounding(int mode, char op, uint64_t a, uint64_t b, uint64_t c) {
    volatile float x = kit_f32(a), y = kit_f32(b), z = kit_f32(c), r;
    fesetround(mode);
    r = op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : fmaf(x, y, z);
    fesetround(FE_TONEAREST);
    return bits_of(r);
}

#define TWO(name, mode, op)                                                                        \
    WANT(name, in_rounding(mode, op, a, c, b) | in_rounding(mode, op, b, d, c) << 32)
TWO(add_two, FE_TONEAREST, '+')
TWO(sub_two, FE_TONEAREST, '-')
TWO(mul_two, FE_TONEAREST, '*')
TWO(fma_two, FE_TONEAREST, 'f')
TWO(add_two_rz, FE_TOWARDZERO, '+')
TWO(mul_two_rm, FE_DOWNWARD, '*')
TWO(fma_two_rp, FE_UPWARD, 'f')

static uint64_t sum_flushed(uint64_t a, uint64_t b) {
    return bits_of(flushed(flushed(kit_f32(a)) + flushed(kit_f32(b))));
}
WANT(add_two_ftz, sum_flushed(a, c) | sum_flushed(b, d) << 32)

#define IN_TWO(text)                                                                               \
    "{ .reg .b64 x, y, z;\nmov.b64 x, {$1, $2};\nmov.b64 y, {$3, $4};\nmov.b64 z, {$2, "           \
    "$3};\n" text "\n}"
static const Form pairs[] = {
    {IN_TWO("add.f32x2 $0, x, y;"), "l:ffff", add_two, 0, 0},
    {IN_TWO("add.rn.f32x2 x, x, y; mov.b64 $0, x;"), "l:ffff", add_two, 0, 0},
    {IN_TWO("sub.rn.f32x2 $0, x, y;"), "l:ffff", sub_two, 0, 0},
    {IN_TWO("mul.rn.f32x2 $0, x, y;"), "l:ffff", mul_two, 0, 0},
    {IN_TWO("fma.rn.f32x2 $0, x, y, z;"), "l:ffff", fma_two, 0, 0},
    {IN_TWO("add.rz.f32x2 $0, x, y;"), "l:ffff", add_two_rz, 0, 0},
    {IN_TWO("mul.rm.f32x2 $0, x, y;"), "l:ffff", mul_two_rm, 0, 0},
    {IN_TWO("fma.rp.f32x2 $0, x, y, z;"), "l:ffff", fma_two_rp, 0, 0},
    {IN_TWO("add.ftz.rn.f32x2 $0, x, y;"), "l:ffff", add_two_ftz, 0, 0},
};

/* ---- three operands; halves and floats ---- */

/* Is x before y? The order of signed zeros and numbers. */
static bool is_before(float x, float y) {
    return x < y || (x == y && signbit(x) && !signbit(y));
}

static uint64_t extreme(uint64_t a, uint64_t b, uint64_t c, bool largest, bool nan, bool size) {
    const uint64_t bits[3] = {a, b, c};
    bool have = false;
    float best = 0;
    for (int k = 0; k < 3; k++) {
        float x = size ? fabsf(kit_f32(bits[k])) : kit_f32(bits[k]);
        if (isnan(x) && nan) return CANONICAL;
        if (isnan(x)) continue;
        if (!have || (largest ? is_before(best, x) : is_before(x, best))) best = x;
        have = true;
    }
    return have ? kit_bits32(best) : CANONICAL;
}
WANT(min_three, extreme(a, b, c, false, false, false))
WANT(max_three, extreme(a, b, c, true, false, false))
WANT(max_three_nan, extreme(a, b, c, true, true, false))
WANT(min_three_sizes, extreme(a, b, c, false, false, true))
WANT(max_three_nan_sizes, extreme(a, b, c, true, true, true))

static float unit(float x) {
    return x > 0 ? x < 1 ? x : 1 : 0;
}
WANT(add_brain, bits_of((float)kit_bf16(a) + kit_f32(b)))
WANT(add_half, bits_of((float)kit_f16(a) + kit_f32(b)))
WANT(sub_half, bits_of((float)kit_f16(a) - kit_f32(b)))
WANT(add_half_sat, kit_bits32(unit((float)kit_f16(a) + kit_f32(b))))
WANT(fma_brain, bits_of(fmaf((float)kit_bf16(a), (float)kit_bf16(b), kit_f32(c))))

static const Form threes[] = {
    {"min.f32 $0, $1, $2, $3;", "F:fff", min_three, 0, 0},
    {"max.f32 $0, $1, $2, $3;", "F:fff", max_three, 0, 0},
    {"max.NaN.f32 $0, $1, $2, $3;", "F:fff", max_three_nan, 0, 0},
    {"min.abs.f32 $0, $1, $2, $3;", "F:fff", min_three_sizes, 0, 0},
    {"max.NaN.abs.f32 $0, $1, $2, $3;", "F:fff", max_three_nan_sizes, 0, 0},
    {"add.f32.bf16 $0, $1, $2;", "F:Bf", add_brain, 0, 0},
    {"add.rn.f32.f16 $0, $1, $2;", "F:Hf", add_half, 0, 0},
    {"sub.f32.f16 $0, $1, $2;", "F:Hf", sub_half, 0, 0},
    {"add.sat.f32.f16 $0, $1, $2;", "F:Hf", add_half_sat, 0, 0},
    {"fma.rn.f32.bf16 $0, $1, $2, $3;", "F:BBf", fma_brain, 0, 0},
};

/* ---- halves: .xorsign.abs, .satfinite ---- */

static uint64_t signed_extreme(uint64_t a, uint64_t b, bool brain, bool largest, bool nan) {
    double x = fabs(brain ? kit_bf16(a) : kit_f16(a)), y = fabs(brain ? kit_bf16(b) : kit_f16(b));
    uint64_t sign = (a ^ b) & 0x8000, u = a & 0x7fff, v = b & 0x7fff;
    if ((isnan(x) && isnan(y)) || (nan && (isnan(x) || isnan(y)))) return 0x7fff;
    if (isnan(x)) return sign | v;
    if (isnan(y)) return sign | u;
    return sign | ((x < y) == largest ? v : u);
}
WANT(max_xorsign_h, signed_extreme(a, b, false, true, false))
WANT(min_xorsign_b, signed_extreme(a, b, true, false, false))
WANT(max_xorsign_nan_h, signed_extreme(a, b, false, true, true))
WANT(min_xorsign_y, signed_extreme(a & 0xffff, b & 0xffff, true, false, false) |
                        signed_extreme(a >> 16 & 0xffff, b >> 16 & 0xffff, true, false, false)
                            << 16)

/* The nearest number of so many bits of a fraction, to even, or cut; at most the largest. */
static double rounded(double x, int fraction, int least, double most, bool cut) {
    int exponent;
    if (x == 0 || isnan(x)) return x;
    if (isinf(x)) return copysign(most, x);
    frexp(x, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    double unit_in_last = ldexp(1, exponent - fraction), steps = x / unit_in_last;
    double r = (cut ? trunc(steps) : nearbyint(steps)) * unit_in_last;
    return fabs(r) > most ? copysign(most, r) : copysign(r, x);
}

/* The bits of a number that a format has: they rise with it. */
static uint64_t code_of(double x, int fraction, int bias, int bits) {
    uint64_t sign = signbit(x) ? UINT64_C(1) << (bits - 1) : 0, low = 0;
    uint64_t high = (UINT64_C(1) << (bits - 1)) - 1;
    while (low < high) {
        uint64_t k = (low + high) / 2;
        int field = (int)(k >> fraction);
        double part = (double)(k & ((UINT64_C(1) << fraction) - 1)) / (double)(1 << fraction);
        double v = field ? ldexp(1 + part, field - bias) : ldexp(part, 1 - bias);
        if (v < fabs(x)) low = k + 1;
        else high = k;
    }
    return sign | low;
}

static uint64_t finite_f16(double x, bool cut, bool relu) {
    if (isnan(x)) return 0x7fff;
    if (relu && x <= 0) return 0;
    return code_of(rounded(x, 10, -14, 65504, cut), 10, 15, 16);
}
static uint64_t finite_bf16(double x, bool cut, bool relu) {
    if (isnan(x)) return 0x7fff;
    if (relu && x <= 0) return 0;
    return code_of(rounded(x, 7, -126, 0x1.fep127, cut), 7, 127, 16);
}
static uint64_t tf32(uint64_t a, bool cut, bool relu, bool finite) {
    double x = (double)kit_f32(a);
    if (isnan(x)) return 0x7fffe000;
    if (relu && x <= 0) return 0;
    if (isinf(x) && !finite) return a;
    double r = rounded(x, 10, -126, HUGE_VAL, cut);
    if (fabs(r) >= 0x1p128 || isinf(x)) r = finite ? copysign(0x1.ffcp127, x) : r;
    return fabs(r) >= 0x1p128 ? (signbit(r) ? 0xff800000 : 0x7f800000) : kit_bits32((float)r);
}
WANT(h_satfinite, finite_f16((double)kit_f32(a), false, false))
WANT(h_satfinite_relu, finite_f16((double)kit_f32(a), false, true))
WANT(h_satfinite_rz, finite_f16((double)kit_f32(a), true, false))
WANT(b_satfinite, finite_bf16((double)kit_f32(a), false, false))
WANT(y_satfinite, finite_bf16((double)kit_f32(a), false, false) << 16 |
                      finite_bf16((double)kit_f32(b), false, false))
WANT(tf32_rn, tf32(a, false, false, false))
WANT(tf32_rz_relu, tf32(a, true, true, false))
WANT(tf32_rn_finite, tf32(a, false, false, true))

static const Form halves[] = {
    {"max.xorsign.abs.f16 $0, $1, $2;", "H:HH", max_xorsign_h, 0, 0},
    {"min.abs.xorsign.bf16 $0, $1, $2;", "B:BB", min_xorsign_b, 0, 0},
    {"max.xorsign.abs.NaN.f16 $0, $1, $2;", "H:HH", max_xorsign_nan_h, 0, 0},
    {"min.xorsign.abs.bf16x2 $0, $1, $2;", "Y:YY", min_xorsign_y, 0, 0},
    {"cvt.rn.satfinite.f16.f32 $0, $1;", "H:f", h_satfinite, 0, 0},
    {"cvt.rn.relu.satfinite.f16.f32 $0, $1;", "H:f", h_satfinite_relu, 0, 0},
    {"cvt.rz.satfinite.f16.f32 $0, $1;", "H:f", h_satfinite_rz, 0, 0},
    {"cvt.rn.satfinite.bf16.f32 $0, $1;", "B:f", b_satfinite, 0, 0},
    {"cvt.rn.satfinite.bf16x2.f32 $0, $1, $2;", "Y:ff", y_satfinite, 0, 0},
    {"cvt.rn.tf32.f32 $0, $1;", "w:f", tf32_rn, 0, 0},
    {"cvt.rz.relu.tf32.f32 $0, $1;", "w:f", tf32_rz_relu, 0, 0},
    {"cvt.rn.satfinite.tf32.f32 $0, $1;", "w:f", tf32_rn_finite, 0, 0},
};

/* ---- numbers of 4 and 6 bits ---- */

static uint64_t small(double x, int fraction, int bias, int bits, double most, bool relu) {
    if (isnan(x)) return code_of(most, fraction, bias, bits);
    if (relu && x <= 0) return 0;
    return code_of(rounded(x, fraction, 1 - bias, most, false), fraction, bias, bits);
}

static double small_value(uint64_t code, int fraction, int bias, int bits) {
    uint64_t size = code & ((UINT64_C(1) << (bits - 1)) - 1);
    int field = (int)(size >> fraction);
    double part = (double)(size & ((UINT64_C(1) << fraction) - 1)) / (double)(1 << fraction);
    double v = field ? ldexp(1 + part, field - bias) : ldexp(part, 1 - bias);
    return code >> (bits - 1) & 1 ? -v : v;
}

#define F(x) ((double)kit_f32(x))
WANT(e2m1, small(F(a), 1, 1, 4, 6, false) << 4 | small(F(b), 1, 1, 4, 6, false))
WANT(e2m1_relu, small(F(a), 1, 1, 4, 6, true) << 4 | small(F(b), 1, 1, 4, 6, true))
WANT(e2m3, small(F(a), 3, 1, 6, 7.5, false) << 8 | small(F(b), 3, 1, 6, 7.5, false))
WANT(e3m2, small(F(a), 2, 3, 6, 28, false) << 8 | small(F(b), 2, 3, 6, 28, false))
static uint64_t half_code(double x) {
    return code_of(x, 10, 15, 16);
}
WANT(of_e2m1,
     half_code(small_value(a >> 4 & 15, 1, 1, 4)) << 16 | half_code(small_value(a & 15, 1, 1, 4)))
WANT(of_e3m2,
     half_code(small_value(a >> 8 & 63, 2, 3, 6)) << 16 | half_code(small_value(a & 63, 2, 3, 6)))

/* The power of two next to a size, found by going through all: from below, or from above. */
static uint64_t power(double x, bool up, bool finite) {
    int k = up ? 0 : 255;
    if (isnan(x)) return 255;
    while (up && k < 255 && ldexp(1, k - 127) < fabs(x)) k++;
    while (!up && k > 0 && ldexp(1, k - 127) > fabs(x)) k--;
    return (uint64_t)(finite && k == 255 ? 254 : k);
}
static uint64_t of_power(uint64_t k) {
    return k == 255 ? 0x7fff : code_of(ldexp(1, (int)k - 127), 7, 127, 16);
}
WANT(e8m0_rz, power(F(a), false, false) << 8 | power(F(b), false, false))
WANT(e8m0_rp_finite, power(F(a), true, true) << 8 | power(F(b), true, true))
WANT(e8m0_rp_halves, power(kit_bf16(a >> 16), true, false) << 8 | power(kit_bf16(a), true, false))
WANT(e8m0_rz_halves, power(kit_bf16(a >> 16), false, true) << 8 | power(kit_bf16(a), false, true))
WANT(of_e8m0, of_power(a >> 8 & 255) << 16 | of_power(a & 255))

#define BYTE(text) "{ .reg .b8 x;\n" text "\n}"
static const Form smalls[] = {
    {BYTE("cvt.rn.satfinite.e2m1x2.f32 x, $1, $2; cvt.u32.u8 $0, x;"), "w:ff", e2m1, 0, 0},
    {BYTE("cvt.rn.relu.satfinite.e2m1x2.f32 x, $1, $2; cvt.u32.u8 $0, x;"), "w:ff", e2m1_relu, 0,
     0},
    {"cvt.rn.satfinite.e2m3x2.f32 $0, $1, $2;", "h:ff", e2m3, 0, 0},
    {"cvt.rn.satfinite.e3m2x2.f32 $0, $1, $2;", "h:ff", e3m2, 0, 0},
    {BYTE("cvt.u8.u32 x, $1; cvt.rn.f16x2.e2m1x2 $0, x;"), "w:w", of_e2m1, 0, 0},
    {"cvt.rn.f16x2.e3m2x2 $0, $1;", "w:h", of_e3m2, 0, 0},
    {"cvt.rz.ue8m0x2.f32 $0, $1, $2;", "h:ff", e8m0_rz, 0, 0},
    {"cvt.rp.satfinite.ue8m0x2.f32 $0, $1, $2;", "h:ff", e8m0_rp_finite, 0, 0},
    {"cvt.rp.ue8m0x2.bf16x2 $0, $1;", "h:Y", e8m0_rp_halves, 0, 0},
    {"cvt.rz.satfinite.ue8m0x2.bf16x2 $0, $1;", "h:Y", e8m0_rz_halves, 0, 0},
    {"cvt.rn.bf16x2.ue8m0x2 $0, $1;", "w:h", of_e8m0, 0, 0},
};

/* ---- moves, 16 bytes, warps ---- */

enum { GRID = 2, BLOCK = 64 };

static void fill_in(void) {
    for (int i = 0; i < KIT_MOST; i++) kit_in[i] = (uint32_t)gi_rng_next(&kit_rng);
}

static void test_body(const char *title, const char *decl, const char *body,
                      uint32_t (*want)(uint32_t i)) {
    KitBody k = {title, decl, body, GRID, BLOCK, 0};
    for (uint32_t i = 0; i < GRID * BLOCK; i++) kit_want[i] = want(i);
    kit_body(&k);
}

static uint32_t rotated(uint32_t i) {
    return 1111 * kit_in[i] + 2103;
}
static uint32_t place_in_block(uint32_t i) {
    return i % BLOCK + 1000 * BLOCK;
}
static uint32_t halves_changed(uint32_t i) {
    return kit_in[i] + 5 + 7 * (i + 1);
}
static uint32_t found_old(uint32_t i) {
    return kit_in[i] * 3 + 17 + (i % 2 ? 1 : 0);
}
static uint32_t zero_inside(uint32_t i) {
    return i % 2 == 0 ? 0 : kit_in[i];
}

/* The least of a warp's lanes with an even number, as floats without NaN; all lanes have it. */
static uint32_t least_float(uint32_t i) {
    float best = INFINITY;
    for (uint32_t k = i & ~31u; k < (i & ~31u) + 32; k++) {
        float x = kit_f32(kit_in[k]);
        if (!isnan(x) && (is_before(x, best) || isinf(best))) best = x;
    }
    return (uint32_t)kit_bits32(best);
}
static uint32_t largest_size(uint32_t i) {
    float best = 0;
    for (uint32_t k = i & ~31u; k < (i & ~31u) + 32; k++) {
        float x = fabsf(kit_f32(kit_in[k]));
        if (isnan(x)) return CANONICAL;
        if (is_before(best, x)) best = x;
    }
    return (uint32_t)kit_bits32(best);
}

static uint32_t bits_of_types(uint32_t i) {
    return kit_in[i] >> 29;
}

static uint32_t asked(uint32_t i) {
    return kit_in[i] + 7 + (i % 3 ? 0 : 1);
}

static void test_of_sm_100(void) {
    const char *decl = ".global .align 8 .b8 g[2048];";
    test_body("istypep looks at three bits", NULL,
              "mov.b64 %l0, {%i, %x};\n"
              "istypep.texref %p1, %l0; selp.u32 %a0, 1, 0, %p1;\n"
              "istypep.samplerref %p1, %l0; selp.u32 %a1, 2, 0, %p1;\n"
              "istypep.surfref %p1, %l0; selp.u32 %a2, 4, 0, %p1;\n"
              "add.u32 %r, %a0, %a1; add.u32 %r, %r, %a2;",
              bits_of_types);
    test_body("st.async and red.async of global memory", decl,
              "mov.u64 %l0, g; mad.wide.u32 %l0, %i, 8, %l0; rem.u32 %a1, %i, 3;\n"
              "setp.eq.u32 %p1, %a1, 0; st.async.weak.global.b64 [%l0], 0;\n"
              "st.async.release.gpu.global.u32 [%l0], %x; red.async.relaxed.gpu.add.u32 [%l0], 7;\n"
              "@%p1 red.async.mmio.release.sys.global.add.s64 [%l0], 1; ld.global.u32 %r, [%l0];",
              asked);
}

static void test_moves(void) {
    test_body("mov.v4 reads all before it writes", NULL,
              "add.u32 %a0, %x, 0; add.u32 %a1, %x, 1; add.u32 %a2, %x, 2; add.u32 %a3, %x, 3;\n"
              "mov.v4.b32 {%a1, %a2, %a3, %a0}, {%a0, %a1, %a2, %a3};\n"
              "mad.lo.u32 %r, %a1, 10, %a0; mad.lo.u32 %r, %a2, 100, %r;\n"
              "mad.lo.u32 %r, %a3, 1000, %r;",
              rotated);
    test_body("a vector register is an argument",
              ".func (.reg .v4 .b32 r) turn (.reg .v4 .b32 a) {\n"
              "mov.v4.b32 r, {a.w, a.x, a.y, a.z}; ret; }",
              ".reg .v4 .b32 %v, %w; add.u32 %v.x, %x, 0; add.u32 %v.y, %x, 1;\n"
              "add.u32 %v.z, %x, 2; add.u32 %v.w, %x, 3; call (%w), turn, (%v);\n"
              "mad.lo.u32 %r, %w.y, 10, %w.x; mad.lo.u32 %r, %w.z, 100, %r;\n"
              "mad.lo.u32 %r, %w.w, 1000, %r;",
              rotated);
    test_body("mov.v4 of %tid and %nctaid", NULL,
              "mov.v4.u32 {%a0, %a1, %a2, %a3}, %tid; mov.v4.u32 {%a4, %a5, %a6, %a7}, %ntid;\n"
              "mad.lo.u32 %r, %a4, 1000, %a0; add.u32 %r, %r, %a1; add.u32 %r, %r, %a3;",
              place_in_block);
}

#define OWN ".reg .b128 %q<3>; mov.u32 %a0, s; mad.lo.u32 %a0, %t, 16, %a0;\n"
static void test_16_bytes(void) {
    const char *decl = ".shared .align 16 .b8 s[2048];";
    test_body("ld, st and mov of 16 bytes", decl,
              OWN "add.u32 %a1, %x, 5; add.u32 %a2, %i, 1;\n"
                  "st.shared.v4.b32 [%a0], {%a1, 0, 0, %a2}; ld.shared.b128 %q0, [%a0];\n"
                  "mov.b128 {%l0, %l1}, %q0; mov.b128 %q1, {%l1, %l0}; mov.b128 %q2, %q1;\n"
                  "st.shared.b128 [%a0], %q2; ld.shared.v4.b32 {%a3, %a4, %a5, %a6}, [%a0];\n"
                  "mul.lo.u32 %a4, %a4, 7; add.u32 %r, %a5, %a4;",
              halves_changed);
    test_body("mov.b128 of four parts, and of a number", NULL,
              ".reg .b128 %q<3>; add.u32 %a1, %x, 5; mov.b128 %q0, {%a1, %i, 1, %x};\n"
              "mov.b128 {%a2, %a3, %a4, %a5}, %q0; mov.b128 %q1, -5; mov.b128 {%l0, %l1}, %q1;\n"
              "cvt.u32.u64 %a6, %l1; add.u32 %a4, %a4, %a3; mad.lo.u32 %r, %a4, 7, %a2;\n"
              "sub.u32 %a5, %a5, %x; add.u32 %r, %r, %a5; add.u32 %r, %r, %a6;\n"
              "shr.s64 %l0, %l0, 32; cvt.u32.u64 %a7, %l0; add.u32 %r, %r, %a7; add.u32 %r, %r, 1;",
              halves_changed);
    test_body("atom.exch and atom.cas of 16 bytes", decl,
              OWN "cvt.u64.u32 %l0, %x; mov.b64 %l1, 17; mov.b128 %q0, {%l0, %l1};\n"
                  "st.shared.b128 [%a0], %q0; mov.b64 %l2, 2; mov.b128 %q1, {%l0, %l2};\n"
                  "atom.shared.exch.b128 %q2, [%a0], %q1; mov.b128 {%l3, %l4}, %q2;\n"
                  /* even lanes expect what is not there */
                  "and.b32 %a1, %i, 1; xor.b32 %a1, %a1, 3; cvt.u64.u32 %l5, %a1;\n"
                  "mov.b128 %q1, {%l0, %l5}; mov.b64 %l6, 3; mov.b128 %q0, {%l0, %l6};\n"
                  "atom.shared.cas.b128 %q2, [%a0], %q1, %q0; mov.b128 {%l5, %l7}, %q2;\n"
                  "ld.shared.v2.b64 {%l8, %l9}, [%a0];\n"
                  "add.u64 %l3, %l3, %l5; add.u64 %l3, %l3, %l8; add.u64 %l3, %l3, %l4;\n"
                  "sub.u64 %l9, %l9, 2; add.u64 %l3, %l3, %l9; add.u64 %l3, %l3, %l7;\n"
                  "sub.u64 %l3, %l3, 2; cvt.u32.u64 %r, %l3;",
              found_old);
    test_body("st.bulk writes zeros, and no more than it is told", ".shared .align 16 .b8 s[2048];",
              "mov.u32 %a0, s; mad.lo.u32 %a0, %t, 8, %a0; cvt.u64.u32 %l0, %a0;\n"
              "cvta.shared.u64 %l0, %l0; st.shared.v2.b32 [%a0], {%x, %x};\n"
              "and.b32 %a1, %i, 1; setp.eq.u32 %p0, %a1, 0;\n"
              "@%p0 st.bulk [%l0], 8, 0; ld.shared.u32 %r, [%a0+4];",
              zero_inside);
}

static void test_warps(void) {
    test_body("redux.sync.min.f32", NULL, "redux.sync.min.f32 %r, %x, -1;", least_float);
    test_body("redux.sync.max.abs.NaN.f32", NULL, "redux.sync.max.abs.NaN.f32 %r, %x, -1;",
              largest_size);
}

/* ---- undefined values ---- */

/* How many reads of what nobody wrote matter to a branch on %r. */
static uint64_t uninitialised(const char *body) {
    char text[900];
    snprintf(text, sizeof text, "%s\nsetp.eq.u32 %%p0, %%r, 5; @%%p0 add.u32 %%r, %%r, 1;", body);
    KitBody k = {body, ".shared .align 16 .b8 s[64];", text, 1, 1, 0};
    char *ptx = kit_body_ptx(&k);
    EmuModule *m = kit_load(ptx, body);
    EmuResult r = {0};
    gi_err err;
    uint64_t params[3] = {emu_map(kit_emu, kit_in, sizeof kit_in, true, "in"),
                          emu_map(kit_emu, kit_out, sizeof kit_out, false, "out"), 0};
    EmuLaunch l = {.kernel = "k",
                   .grid = {1, 1, 1},
                   .block = {1, 1, 1},
                   .params = params,
                   .count_uninitialised = true};
    if (m && !emu_launch(m, &l, &r, &err)) ok(false, "%s", err.message);
    emu_unmap(kit_emu, params[0]);
    emu_unmap(kit_emu, params[1]);
    if (m) emu_unload(m);
    free(ptx);
    return r.uninitialised_reads;
}

#define SWAP "mov.b128 %q, {%l0, %l0}; atom.shared.exch.b128 %u, [s], %q; mov.b128 {%l1, %l2}, %u;"
#define WIDE ".reg .b128 %q, %u; mov.b64 %l0, 7;\n"
static void test_undefined(void) {
    ok(uninitialised("ld.shared.u32 %a0, [s]; vadd.s32.s32.s32 %r, %a0, %x;") > 0,
       "an undefined operand makes the result so");
    ok(uninitialised("ld.shared.u32 %a0, [s]; vadd.s32.s32.s32 %r, %x, %x;") == 0,
       "one that is not used does not");
    ok(uninitialised(WIDE SWAP "cvt.u32.u64 %r, %l2;") > 0, "what is swapped out is undefined");
    ok(uninitialised(WIDE SWAP SWAP "cvt.u32.u64 %r, %l2;") == 0, "what was swapped in is not");
    ok(uninitialised(WIDE "ld.shared.b128 %q, [s]; mov.b128 {%l1, %l2}, %q; cvt.u32.u64 %r, %l1;") >
           0,
       "16 bytes that nobody wrote");
    ok(uninitialised("mov.u32 %a0, s; cvt.u64.u32 %l0, %a0; cvta.shared.u64 %l0, %l0;\n"
                     "st.bulk [%l0], 16, 0; ld.shared.u32 %r, [s+12];") == 0,
       "st.bulk writes them");
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    kit_forms(pairs, KIT_COUNT(pairs));
    kit_forms(threes, KIT_COUNT(threes));
    kit_forms(halves, KIT_COUNT(halves));
    kit_forms(smalls, KIT_COUNT(smalls));
    fill_in();
    test_moves();
    test_of_sm_100();
    test_16_bytes();
    test_warps();
    test_undefined();
    return kit_end();
}
