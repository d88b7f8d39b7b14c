/* emu_num.c - num.h against the C machine's own roundings, long double and naive bit loops. */
#include "emu/exec/num.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#include "tap.h"

static gi_rng rng;

/* ---- operands ---- */

static const uint32_t edge_f32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
    0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x40000000, 0x3f000000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x4b000000, 0x4b7fffff, 0xcb000001,
    0x4f000000, 0xcf000000, 0x4f7fffff, 0x5f000000, 0xdf000000, 0x477fefff, 0x477ff000, 0x33000000,
    0x33000001, 0x38800000, 0x387fe000, 0x3f000001, 0x3effffff, 0x40200000, 0x40600000, 0x7e800000};

static const uint64_t edge_f64[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
    0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x3fefffffffffffff, 0x3ff0000000000001, 0x7fefffffffffffff, 0xffefffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001,
    0x43e0000000000000, 0xc3e0000000000000, 0x41dfffffffe00000, 0x41e0000000000000,
    0x3fe0000000000000, 0x4330000000000001, 0x36a0000000000000, 0x47efffffe0000000,
    0x47effffff0000000, 0x380fffffffffffff, 0x3690000000000000, 0x3690000000000001};

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* An edge value, one near an edge, or any bits at all. */
static float any_f32(void) {
    uint32_t bits = edge_f32[gi_rng_below(&rng, COUNT(edge_f32))];
    switch (gi_rng_below(&rng, 4)) {
    case 0: return num_f32_from_bits(bits);
    case 1: return num_f32_from_bits(bits + (uint32_t)gi_rng_below(&rng, 5) - 2);
    case 2: return (float)gi_rng_normal(&rng);
    default: return num_f32_from_bits((uint32_t)gi_rng_next(&rng));
    }
}

static double any_f64(void) {
    uint64_t bits = edge_f64[gi_rng_below(&rng, COUNT(edge_f64))];
    switch (gi_rng_below(&rng, 4)) {
    case 0: return num_f64_from_bits(bits);
    case 1: return num_f64_from_bits(bits + gi_rng_below(&rng, 5) - 2);
    case 2: return gi_rng_normal(&rng);
    default: return num_f64_from_bits(gi_rng_next(&rng));
    }
}

/* ---- exact arithmetic against the processor in each rounding ---- */

static const NumRound rounds[] = {NUM_RN, NUM_RZ, NUM_RM, NUM_RP};
static const int machine_round[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
static const char *const round_name[] = {"rn", "rz", "rm", "rp"};

/* volatile: the compiler must neither fold nor move the operation out of its rounding */
static float machine_f32(char op, float a, float b, float c, int mode) {
    volatile float x = a, y = b, z = c, d;
    fesetround(mode);
    switch (op) {
    case '+': d = x + y; break;
    case '*': d = x * y; break;
    case '/': d = x / y; break;
    case 'f': d = fmaf(x, y, z); break;
    default: d = sqrtf(x); break;
    }
    fesetround(FE_TONEAREST);
    return d;
}

static double machine_f64(char op, double a, double b, double c, int mode) {
    volatile double x = a, y = b, z = c, d;
    fesetround(mode);
    switch (op) {
    case '+': d = x + y; break;
    case '*': d = x * y; break;
    case '/': d = x / y; break;
    case 'f': d = fma(x, y, z); break;
    default: d = sqrt(x); break;
    }
    fesetround(FE_TONEAREST);
    return d;
}

static float ours_f32(char op, float a, float b, float c, NumRound r) {
    switch (op) {
    case '+': return num_add_f32(a, b, r);
    case '*': return num_mul_f32(a, b, r);
    case '/': return num_div_f32(a, b, r);
    case 'f': return num_fma_f32(a, b, c, r);
    default: return num_sqrt_f32(a, r);
    }
}

static double ours_f64(char op, double a, double b, double c, NumRound r) {
    switch (op) {
    case '+': return num_add_f64(a, b, r);
    case '*': return num_mul_f64(a, b, r);
    case '/': return num_div_f64(a, b, r);
    case 'f': return num_fma_f64(a, b, c, r);
    default: return num_sqrt_f64(a, r);
    }
}

static bool same_f32(float got, float want) {
    return isnan(want) ? num_f32_bits(got) == 0x7fffffff : num_f32_bits(got) == num_f32_bits(want);
}

/* From f64: a NaN keeps its sign and payload (test_nans). */
static bool same_narrow(float got, float want) {
    return isnan(want) ? isnan(got) : num_f32_bits(got) == num_f32_bits(want);
}

static bool same_f64(double got, double want) {
    return isnan(want) ? isnan(got) : num_f64_bits(got) == num_f64_bits(want);
}

static void test_f32(char op, int r) {
    int wrong = 0;
    for (int i = 0; i < 60000; i++) {
        float a = any_f32(), b = any_f32(), c = any_f32();
        if (i % 3 == 0) /* near cancellation */
            c = num_f32_from_bits(num_f32_bits(-a * b) + (uint32_t)gi_rng_below(&rng, 5) - 2);
        if (i % 7 == 0) b = num_f32_from_bits(num_f32_bits(-a) + (uint32_t)gi_rng_below(&rng, 3));
        float got = ours_f32(op, a, b, c, rounds[r]),
              want = machine_f32(op, a, b, c, machine_round[r]);
        if (!same_f32(got, want) && wrong++ == 0)
            printf("# %c(%a, %a, %a): got %a, want %a\n", op, (double)a, (double)b, (double)c,
                   (double)got, (double)want);
    }
    ok(wrong == 0, "f32 %c.%s is the processor's", op, round_name[r]);
}

static void test_f64(char op, int r) {
    int wrong = 0;
    for (int i = 0; i < 60000; i++) {
        double a = any_f64(), b = any_f64(), c = any_f64();
        if (i % 3 == 0) c = num_f64_from_bits(num_f64_bits(-a * b) + gi_rng_below(&rng, 5) - 2);
        if (i % 7 == 0) b = num_f64_from_bits(num_f64_bits(-a) + gi_rng_below(&rng, 3));
        double got = ours_f64(op, a, b, c, rounds[r]);
        double want = machine_f64(op, a, b, c, machine_round[r]);
        if (!same_f64(got, want) && wrong++ == 0)
            printf("# %c(%a, %a, %a): got %a, want %a\n", op, a, b, c, got, want);
    }
    ok(wrong == 0, "f64 %c.%s is the processor's", op, round_name[r]);
}

static void test_arithmetic(void) {
    for (const char *op = "+*/fs"; *op; op++)
        for (int r = 0; r < 4; r++) {
            test_f32(*op, r);
            test_f64(*op, r);
        }
}

/* ---- conversions ---- */

static float machine_narrow(double a, int mode) {
    volatile double x = a;
    fesetround(mode);
    volatile float y = (float)x;
    fesetround(FE_TONEAREST);
    return y;
}

static double machine_int_f64(uint64_t a, bool is_signed, int mode) {
    volatile uint64_t x = a;
    fesetround(mode);
    volatile double y = is_signed ? (double)(int64_t)x : (double)x;
    fesetround(FE_TONEAREST);
    return y;
}

static float machine_int_f32(uint64_t a, bool is_signed, int mode) {
    volatile uint64_t x = a;
    fesetround(mode);
    volatile float y = is_signed ? (float)(int64_t)x : (float)x;
    fesetround(FE_TONEAREST);
    return y;
}

static uint64_t any_int(void) {
    uint64_t x = gi_rng_next(&rng) >> gi_rng_below(&rng, 64);
    switch (gi_rng_below(&rng, 4)) {
    case 0: return -x;
    case 1: return (UINT64_C(1) << gi_rng_below(&rng, 64)) + gi_rng_below(&rng, 5) - 2;
    default: return x;
    }
}

static void test_narrow(int r) {
    int narrow = 0, f32 = 0, f64 = 0;
    for (int i = 0; i < 100000; i++) {
        double d = i & 1 ? any_f64() : (double)any_f32() * (1 + gi_rng_unit(&rng) * 1e-7);
        uint64_t n = any_int();
        bool is_signed = i & 2;
        /* the processor converts signed integers only: what compilers do for larger unsigned ones
        ** is right to nearest and not in the other roundings */
        if (!is_signed && r != 0) n >>= 1;
        narrow += !same_narrow(num_f64_to_f32(d, rounds[r]), machine_narrow(d, machine_round[r]));
        double w64 = machine_int_f64(n, is_signed, machine_round[r]);
        float w32 = machine_int_f32(n, is_signed, machine_round[r]);
        f64 += !same_f64(num_int_to_f64(n, is_signed, rounds[r]), n == 0 ? 0 : w64);
        f32 += !same_f32(num_int_to_f32(n, is_signed, rounds[r]), n == 0 ? 0 : w32);
    }
    ok(narrow == 0, "f64 -> f32 .%s: %d wrong", round_name[r], narrow);
    ok(f64 == 0, "integer -> f64 .%s: %d wrong", round_name[r], f64);
    ok(f32 == 0, "integer -> f32 .%s: %d wrong", round_name[r], f32);
    is_int(num_int_to_f64(UINT64_MAX, false, NUM_RZ) == 18446744073709549568.0, 1,
           "2^64-1 rounds down");
}

/* Called through a pointer: gcc's inline rint knows only round-to-nearest. */
static double (*volatile library_rint)(double) = rint;

static double machine_rint(double a, int mode) {
    volatile double x = a;
    fesetround(mode);
    volatile double y = library_rint(x);
    fesetround(FE_TONEAREST);
    return y;
}

/* 80-bit long double holds every 64-bit integer. */
static uint64_t naive_to_int(double x, int bits, bool is_signed, int r) {
    double whole = machine_rint(x, machine_round[r]);
    long double low = is_signed ? -ldexpl(1, bits - 1) : 0;
    long double high = is_signed ? ldexpl(1, bits - 1) - 1 : ldexpl(1, bits) - 1;
    if ((long double)whole < low) return is_signed ? (uint64_t)(int64_t)low : 0;
    if ((long double)whole > high) return is_signed ? (uint64_t)(int64_t)high : (uint64_t)high;
    return is_signed ? (uint64_t)(int64_t)whole : (uint64_t)whole;
}

static void test_to_int(void) {
    static const int widths[] = {8, 16, 32, 64};
    for (int w = 0; w < 4; w++) {
        int wrong = 0;
        for (int i = 0; i < 80000; i++) {
            int r = i & 3, bits = widths[w];
            bool is_signed = i & 4;
            double d = i & 8 ? any_f64() : (double)(int64_t)any_int() + (double)(i % 16) / 8 - 1;
            if (isnan(d)) continue;
            wrong += num_f64_to_int(d, bits, is_signed, rounds[r]) !=
                     naive_to_int(d, bits, is_signed, r);
            float f = (float)d;
            wrong += num_f32_to_int(f, bits, is_signed, rounds[r]) !=
                     naive_to_int((double)f, bits, is_signed, r);
        }
        ok(wrong == 0, "float -> %d-bit integers saturate and round: %d wrong", widths[w], wrong);
    }
    ok(num_f32_to_int(NAN, 32, true, NUM_RZ) == 0, "NaN f32 -> s32 is 0");
    ok(num_f32_to_int(NAN, 64, false, NUM_RZ) == UINT64_C(1) << 63, "NaN f32 -> u64 is 2^63");
    ok(num_f64_to_int((double)NAN, 32, true, NUM_RZ) == UINT64_C(0xffffffff80000000),
       "NaN f64 -> s32 is INT_MIN");
    ok(num_f64_to_int((double)NAN, 32, false, NUM_RZ) == 0x80000000, "NaN f64 -> u32 is 2^31");
}

static void test_round(void) {
    int wrong = 0;
    for (int i = 0; i < 100000; i++) {
        int r = i & 3;
        double d = i & 4 ? any_f64() : (double)(int)(any_int() % 2000) / 4 - 250;
        float f = (float)d;
        float want_f = (float)machine_rint((double)f, machine_round[r]);
        wrong += !same_f64(num_round_f64(d, rounds[r]), machine_rint(d, machine_round[r]));
        wrong += !same_f32(num_round_f32(f, rounds[r]), want_f);
    }
    ok(wrong == 0, "rounding to integral values, sign of zero kept: %d wrong", wrong);
    ok(num_round_f64(2.5, NUM_RNA) == 3 && num_round_f64(-2.5, NUM_RNA) == -3, "rna: half away");
}

/* ---- half precision, by search among all 16-bit values ---- */

static double value_16(uint16_t h, int fraction_bits, int bias) {
    int field = (h & 0x7fff) >> fraction_bits, fraction = h & ((1 << fraction_bits) - 1);
    double m = field ? ldexp(fraction + (1 << fraction_bits), field - bias - fraction_bits)
                     : ldexp(fraction, 1 - bias - fraction_bits);
    return h & 0x8000 ? -m : m;
}

/* x rounded: the magnitude's lower neighbour is found by bisection over the ordered bit patterns;
** 'infinity' counts as the next power of two, as IEEE 754 rounds it. Exact for x of double. */
static uint16_t naive_16(double x, int fraction_bits, int bias, NumRound r) {
    uint16_t infinity = (uint16_t)((2 * bias + 1) << fraction_bits);
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double m = fabs(x);
    if (isnan(x)) return 0x7fff;
    if (isinf(x)) return sign | infinity;
    uint16_t low = 0, high = infinity;
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        if (value_16(middle, fraction_bits, bias) <= m) low = middle;
        else high = middle;
    }
    double below = value_16(low, fraction_bits, bias), above = value_16(high, fraction_bits, bias);
    if (m == below) return sign | low;
    bool up;
    double half = below + (above - below) / 2;
    if (r == NUM_RN) up = m > half || (m == half && (low & 1));
    else if (r == NUM_RNA) up = m >= half;
    else up = (r == NUM_RP && !sign) || (r == NUM_RM && sign);
    if (m >= above) /* beyond infinity's stand-in */
        up = r == NUM_RN || r == NUM_RNA || up;
    return sign | (up ? high : low);
}

static void test_half_conversions(void) {
    int up = 0, back = 0, f16 = 0, bf16 = 0, f64 = 0;
    for (int h = 0; h < 65536; h++) {
        bool nan16 = (h & 0x7fff) > 0x7c00, nanb = (h & 0x7fff) > 0x7f80;
        float a = num_f16_to_f32((uint16_t)h), b = num_bf16_to_f32((uint16_t)h);
        if ((h & 0x7fff) < 0x7c00) up += (double)a != value_16((uint16_t)h, 10, 15);
        if ((h & 0x7fff) < 0x7f80) up += (double)b != value_16((uint16_t)h, 7, 127);
        back += num_f32_to_f16(a, NUM_RN) != (nan16 ? 0x7fff : h);
        back += num_f32_to_bf16(b, NUM_RZ) != (nanb ? 0x7fff : h);
    }
    for (int i = 0; i < 100000; i++) {
        float x = any_f32();
        if (i % 2) /* near a half value, so that ties happen */
            x = num_f32_from_bits(num_f32_bits(num_f16_to_f32((uint16_t)gi_rng_next(&rng))) +
                                  0x1000 + (uint32_t)gi_rng_below(&rng, 3) - 1);
        double d = any_f64();
        NumRound r = (NumRound)gi_rng_below(&rng, 5);
        if (isnan(d)) d = 1; /* test_nans */
        f16 += num_f32_to_f16(x, r) != naive_16((double)x, 10, 15, r);
        bf16 += num_f32_to_bf16(x, r) != naive_16((double)x, 7, 127, r);
        f64 += num_f64_to_f16(d, r) != naive_16(d, 10, 15, r);
    }
    ok(up == 0, "f16 and bf16 values are right: %d wrong", up);
    ok(back == 0, "f16 -> f32 -> f16 is the identity: %d wrong", back);
    ok(f16 == 0, "f32 -> f16 in 5 roundings: %d wrong", f16);
    ok(bf16 == 0, "f32 -> bf16 in 5 roundings: %d wrong", bf16);
    ok(f64 == 0, "f64 -> f16 in 5 roundings, without a step through f32: %d wrong", f64);
}

static uint16_t naive_post(uint16_t h, uint16_t one, uint16_t inf, bool sat, bool relu) {
    bool nan = (h & 0x7fff) > inf;
    if (sat) return nan || (h & 0x8000) ? 0 : h > one ? one : h;
    return relu && !nan && (h & 0x8000) ? 0 : h;
}

/* f16 products and sums fit the 64-bit long double exactly but for fma's far apart terms, where a
** sticky bit stands in: the sum rounded to odd. */
static double odd_sum(double a, double b) {
    double s = a + b, t = s - a, rest = (a - (s - t)) + (b - t);
    if (isfinite(s) && rest != 0 && !(num_f64_bits(s) & 1)) {
        bool towards = (rest > 0) == (s > 0);
        s = num_f64_from_bits(num_f64_bits(s) + (towards ? 1 : UINT64_MAX));
    }
    return s;
}

static void test_half_arithmetic(void) {
    int wrong = 0, wrong_b = 0;
    for (int i = 0; i < 200000; i++) {
        uint16_t a = (uint16_t)gi_rng_next(&rng), b = (uint16_t)gi_rng_next(&rng);
        uint16_t c = (uint16_t)gi_rng_next(&rng);
        char op = "+-*f"[i & 3];
        bool sat = i & 4, relu = !sat && (i & 8);
        double x = (double)num_f16_to_f32(a), y = (double)num_f16_to_f32(b);
        double z = (double)num_f16_to_f32(c);
        double d = op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : odd_sum(x * y, z);
        uint16_t want = naive_post(naive_16(d, 10, 15, NUM_RN), 0x3c00, 0x7c00, sat, relu);
        wrong += num_f16_op(op, a, b, c, sat, relu, false) != want;
        x = (double)num_bf16_to_f32(a);
        y = (double)num_bf16_to_f32(b);
        z = (double)num_bf16_to_f32(c);
        d = op == '+'   ? odd_sum(x, y)
            : op == '-' ? odd_sum(x, -y)
            : op == '*' ? x * y
                        : odd_sum(x * y, z);
        want = naive_post(naive_16(d, 7, 127, NUM_RN), 0x3f80, 0x7f80, false, relu);
        wrong_b += num_bf16_op(op, a, b, c, relu) != want;
    }
    ok(wrong == 0, "f16 + - * fma, sat, relu: %d wrong", wrong);
    ok(wrong_b == 0, "bf16 + - * fma, relu: %d wrong", wrong_b);
    is_int(num_f16_op('+', 1, 0x8000, 0, false, false, true), 0, "f16 ftz flushes operands");
    is_int(num_f16_op('*', 0x0400, 0xb800, 0, false, false, true), 0x8000,
           "f16 ftz flushes results");
    is_int(num_f32_to_tf32(1.0F + 0x1p-11F, NUM_RNA), 0x3f802000, "tf32: half away from zero");
}

/* ---- min, max, ftz ---- */

static void test_minmax(void) {
    ok(signbit(num_min_f32(0.0F, -0.0F, false)) && signbit(num_min_f32(-0.0F, 0.0F, false)),
       "min(0, -0) = -0");
    ok(!signbit(num_max_f64(0.0, -0.0)) && !signbit(num_max_f64(-0.0, 0.0)), "max(0, -0) = +0");
    ok(num_min_f32(NAN, 3, false) == 3 && num_max_f32(3, NAN, false) == 3, "a NaN gives the other");
    is_int(num_f32_bits(num_min_f32(3, NAN, true)), 0x7fffffff, "min.NaN gives NaN");
    is_int(num_f32_bits(num_min_f32(NAN, NAN, false)), 0x7fffffff, "two NaN give NaN");
    ok(num_min_f64(-HUGE_VAL, 1) == -HUGE_VAL && num_max_f64(2, 1) == 2, "min, max of doubles");
    is_int(num_f32_bits(num_ftz(num_f32_from_bits(0x807fffff))), 0x80000000, "ftz keeps the sign");
    is_int(num_f32_bits(num_ftz(num_f32_from_bits(0x00800000))), 0x00800000, "ftz spares normals");
}

/* ---- approximate functions: error against long double ---- */

static double worst;

static void measure(long double error) {
    if ((double)error > worst) worst = (double)error;
}

/* in units in the last place of want */
static long double ulps(float got, long double want) {
    int exponent;
    frexpl(want, &exponent);
    long double ulp = ldexpl(1, exponent - 24 < -149 ? -149 : exponent - 24);
    return fabsl((long double)got - want) / ulp;
}

static void check_worst(double limit, const char *what) {
    ok(worst <= limit, "%s: worst error %.3g, limit %.3g", what, worst, limit);
    worst = 0;
}

static float between(double low, double high) {
    return (float)(low + (high - low) * gi_rng_unit(&rng));
}

static float any_positive(void) {
    return num_f32_from_bits(1 + (uint32_t)gi_rng_below(&rng, 0x7f7fffff));
}

enum { SAMPLES = 100000 };

static void test_approx_errors(void) {
    for (int i = 0; i < SAMPLES; i++) {
        float x = between(-150, 128);
        measure(ulps(num_ex2_approx(x, false), exp2l((long double)x)));
    }
    check_worst(2, "ex2.approx, ulp");
    for (int i = 0; i < SAMPLES; i++) {
        float x = i & 1 ? any_positive() : between(0.5, 2);
        measure(fabsl((long double)num_lg2_approx(x, false) - log2l((long double)x)) /
                fmaxl(1, fabsl(log2l((long double)x))));
    }
    check_worst(0x1p-22, "lg2.approx, absolute near 1, else relative");
    for (int i = 0; i < SAMPLES; i++) {
        float x = between(-M_PI, M_PI);
        measure(fabsl((long double)num_sin_approx(x, false) - sinl((long double)x)));
        measure(fabsl((long double)num_cos_approx(x, false) - cosl((long double)x)));
    }
    check_worst(0x1p-20 * 0.7, "sin, cos.approx in [-pi, pi], absolute");
    for (int i = 0; i < SAMPLES; i++) {
        float x = between(-1e5, 1e5);
        measure(fabsl((long double)num_sin_approx(x, false) - sinl((long double)x)));
        measure(fabsl((long double)num_cos_approx(x, false) - cosl((long double)x)));
    }
    check_worst(1e-6, "sin, cos.approx in [-1e5, 1e5], absolute");
    for (int i = 0; i < SAMPLES; i++) {
        float x = any_positive();
        if (1 / (double)x < (double)0x1.fffffep127F)
            measure(ulps(num_rcp_approx(x, false), 1 / (long double)x));
    }
    check_worst(1, "rcp.approx, ulp");
    for (int i = 0; i < SAMPLES; i++) {
        float x = any_positive();
        long double want = 1 / sqrtl((long double)x);
        measure(fabsl((long double)num_rsqrt_approx(x, false) - want) / want);
        measure(fabsl((long double)num_sqrt_approx(x, false) * want - 1));
    }
    check_worst(0x1p-23 * 1.08, "rsqrt, sqrt.approx, relative");
    for (int i = 0; i < SAMPLES; i++) {
        float a = any_positive(), b = between(1e-30, 1e30);
        long double want = (long double)a / (long double)b;
        if (want < 0x1.fffffep127L) {
            measure(ulps(num_div_approx(a, b, false), want));
            measure(ulps(num_div_full(-a, b, false), -want));
        }
    }
    check_worst(2, "div.approx, div.full, ulp");
    for (int i = 0; i < SAMPLES; i++) {
        float x = i & 1 ? between(-10, 10) : between(-1e-3, 1e-3);
        long double want = tanhl((long double)x);
        measure(fabsl((long double)num_tanh_approx(x) / want - 1));
    }
    check_worst(0x1p-11, "tanh.approx, relative");
    for (int i = 0; i < SAMPLES; i++) {
        double x = ldexp(1 + gi_rng_unit(&rng), (int)gi_rng_below(&rng, 2000) - 1000);
        measure((long double)fabs(num_rcp_approx_f64(x) * x - 1));
        measure((long double)fabs(num_rsqrt_approx_f64(x) * sqrt(x) - 1));
    }
    check_worst(0x1p-18, "rcp, rsqrt.approx.ftz.f64, relative");
}

static void test_worst(void) {
    ok(fabs((double)num_worst(NUM_SIN, 1e5F, 0, true, true) - sin(1e5)) > 1e-3,
       "sin far from 0 is wrong");
    ok(num_worst(NUM_SIN, 0, 0, false, true) == 0 && num_worst(NUM_EX2, 0, 0, false, true) == 1,
       "what the ISA fixes stays");
    ok(isnan(num_worst(NUM_SQRT, -1, 0, false, true)), "as do NaNs");
    ok(isinf(num_worst(NUM_RCP, 0, 0, false, true)), "and infinities");
}

typedef struct Special {
    const char *what;
    float (*f)(float x, bool ftz);
    float x;
    bool ftz;
    uint32_t want;
} Special;

static float tanh_(float x, bool ftz) {
    (void)ftz;
    return num_tanh_approx(x);
}

static void test_approx_specials(void) {
    const uint32_t nan = 0x7fffffff, inf = 0x7f800000, ninf = 0xff800000, nzero = 0x80000000;
    const float sub = 0x1p-130F;
    const Special table[] = {
        {"ex2(-inf)", num_ex2_approx, -INFINITY, false, 0},
        {"ex2(inf)", num_ex2_approx, INFINITY, false, inf},
        {"ex2(-0)", num_ex2_approx, -0.0F, false, 0x3f800000},
        {"ex2(NaN)", num_ex2_approx, NAN, false, nan},
        {"ex2(-130)", num_ex2_approx, -130, false, 0x00080000},
        {"ex2.ftz(-130)", num_ex2_approx, -130, true, 0},
        {"ex2(128)", num_ex2_approx, 128, false, inf},
        {"ex2(-1e30)", num_ex2_approx, -1e30F, false, 0},
        {"lg2(0)", num_lg2_approx, 0, false, ninf},
        {"lg2(-0)", num_lg2_approx, -0.0F, false, ninf},
        {"lg2(-1)", num_lg2_approx, -1, false, nan},
        {"lg2(-inf)", num_lg2_approx, -INFINITY, false, nan},
        {"lg2(inf)", num_lg2_approx, INFINITY, false, inf},
        {"lg2(2^-130)", num_lg2_approx, sub, false, 0xc3020000},
        {"lg2.ftz(2^-130)", num_lg2_approx, sub, true, ninf},
        {"lg2.ftz(-2^-130)", num_lg2_approx, -sub, true, ninf},
        {"lg2(1)", num_lg2_approx, 1, false, 0},
        {"sin(inf)", num_sin_approx, INFINITY, false, nan},
        {"sin(-0)", num_sin_approx, -0.0F, false, nzero},
        {"sin.ftz(-2^-130)", num_sin_approx, -sub, true, nzero},
        {"cos(-inf)", num_cos_approx, -INFINITY, false, nan},
        {"cos(0)", num_cos_approx, 0, false, 0x3f800000},
        {"rcp(-inf)", num_rcp_approx, -INFINITY, false, nzero},
        {"rcp(-0)", num_rcp_approx, -0.0F, false, ninf},
        {"rcp(0)", num_rcp_approx, 0, false, inf},
        {"rcp.ftz(-2^-130)", num_rcp_approx, -sub, true, ninf},
        {"rcp.ftz(2^127)", num_rcp_approx, 0x1p127F, true, 0},
        {"rcp(NaN)", num_rcp_approx, NAN, false, nan},
        {"sqrt(-1)", num_sqrt_approx, -1, false, nan},
        {"sqrt(-0)", num_sqrt_approx, -0.0F, false, nzero},
        {"sqrt(inf)", num_sqrt_approx, INFINITY, false, inf},
        {"rsqrt(-0)", num_rsqrt_approx, -0.0F, false, ninf},
        {"rsqrt(inf)", num_rsqrt_approx, INFINITY, false, 0},
        {"rsqrt(-1)", num_rsqrt_approx, -1, false, nan},
        {"rsqrt(-inf)", num_rsqrt_approx, -INFINITY, false, nan},
        {"tanh(-inf)", tanh_, -INFINITY, false, 0xbf800000},
        {"tanh(-0)", tanh_, -0.0F, false, nzero},
        {"tanh(2^-130)", tanh_, sub, false, 0x00080000},
        {"tanh(NaN)", tanh_, NAN, false, nan},
    };
    for (int i = 0; i < COUNT(table); i++) {
        uint32_t got = num_f32_bits(table[i].f(table[i].x, table[i].ftz));
        if (!ok(got == table[i].want, "%s", table[i].what))
            printf("# got %08x, want %08x\n", got, table[i].want);
    }
    ok(num_div_approx(1, 0x1.8p126F, false) == 0, "div.approx by more than 2^126 gives 0");
    ok(isnan(num_div_approx(INFINITY, 0x1.8p126F, false)), "… and NaN for infinity");
    ok(num_div_full(0x1p127F, 0x1.8p126F, false) > 1.3F, "div.full divides by it");
    ok(num_f64_bits(num_rcp_approx_f64((double)NAN)) == 0x7fffffff00000000,
       "rcp.approx.ftz.f64 NaN");
    ok(num_rcp_approx_f64(-0x1p-1050) == -HUGE_VAL, "rcp.approx.ftz.f64 flushes subnormals");
    ok(isnan(num_rsqrt_approx_f64(-1)) && num_rsqrt_approx_f64(-0.0) == -HUGE_VAL, "rsqrt f64");
}

/* ---- what an H200 gives ---- */

typedef struct Bits {
    const char *what;
    uint64_t got, want;
} Bits;

static void check_bits(const Bits *table, int n) {
    for (int i = 0; i < n; i++)
        if (!ok(table[i].got == table[i].want, "%s", table[i].what))
            printf("# got %016" PRIx64 ", want %016" PRIx64 "\n", table[i].got, table[i].want);
}

#define D(bits) num_f64_from_bits(UINT64_C(bits))
#define F(bits) num_f32_from_bits(bits)
#define OF_D(x) num_f64_bits(x)
#define OF_F(x) num_f32_bits(x)

static void test_nans(void) {
    double a = D(0x7ff8000000000000), b = D(0xfff8000000000001), s = D(0x7ff4a5a5a5a5a5a5);
    const Bits table[] = {
        {"abs.f64 keeps a NaN's sign", OF_D(num_abs_f64(b)), 0xfff8000000000001},
        {"… and makes it quiet", OF_D(num_abs_f64(s)), 0x7ffca5a5a5a5a5a5},
        {"add.rz.f64: of two NaNs the second", OF_D(num_add_f64(a, b, NUM_RZ)), OF_D(b)},
        {"sub.rz.f64 leaves its sign", OF_D(num_sub_f64(1, b, NUM_RZ)), OF_D(b)},
        {"mul.rn.f64: of two NaNs the second", OF_D(num_mul_f64(a, s, NUM_RN)), 0x7ffca5a5a5a5a5a5},
        {"fma.rz.f64: b first", OF_D(num_fma_f64(a, b, s, NUM_RZ)), OF_D(b)},
        {"fma.rz.f64: c before a", OF_D(num_fma_f64(a, 1, b, NUM_RZ)), OF_D(b)},
        {"div.rn.f64: of two NaNs the first", OF_D(num_div_f64(a, b, NUM_RN)), OF_D(a)},
        {"0 * inf", OF_D(num_mul_f64(0, HUGE_VAL, NUM_RP)), 0xfff8000000000000},
        {"min.f64 of two NaNs is the second", OF_D(num_min_f64(a, s)), 0x7ffca5a5a5a5a5a5},
        {"max.f64 of two NaNs is the second", OF_D(num_max_f64(a, b)), OF_D(b)},
        {"cvt.rn.f32.f64 keeps payload", OF_F(num_f64_to_f32(s, NUM_RN)), 0x7fe52d2d},
        {"cvt.rz.f32.f64 keeps the sign", OF_F(num_f64_to_f32(b, NUM_RZ)), 0xffc00000},
        {"cvt.rn.f16.f64 keeps payload", num_f64_to_f16(s, NUM_RN), 0x7f29},
        {"cvt.f64.f16 keeps payload", OF_D(num_f16_to_f64(0x7c01)), 0x7ff8040000000000},
        {"cvt.f32.bf16 of a NaN", OF_F(num_bf16_bits_to_f32(0xffae)), 0xffae0000},
        {"cvt.rna.tf32.f32 of a NaN", num_f32_to_tf32(F(0x7f93871e), NUM_RNA), 0x7f938000},
        {"cvt.rni.f64.f64 of a NaN", OF_D(num_round_f64(s, NUM_RN)), 0x7ffca5a5a5a5a5a5},
        {"rcp.approx.ftz.f64 sees upper words", OF_D(num_rcp_approx_f64(D(0x7ff0000000000001))), 0},
    };
    check_bits(table, COUNT(table));
}

/* .ftz flushes what rounding to full precision leaves below the smallest normal number. */
static void test_tiny(void) {
    float least = 0x1p-126F, below = F(0x3f7fffff);
    const Bits table[] = {
        {"mul.ftz 2^-126 (1 - 2^-24)", OF_F(num_mul_ftz_f32(least, below, NUM_RN)), 0},
        {"… keeps its sign", OF_F(num_mul_ftz_f32(-least, below, NUM_RM)), 0x80000000},
        {"mul.ftz 2^-126 (1 - 2^-46)", OF_F(num_mul_ftz_f32(F(0x800001), F(0x3f7ffffe), NUM_RN)),
         0x800000},
        {"… without .ftz", OF_F(num_mul_f32(least, below, NUM_RN)), 0x800000},
        {"div.rp.ftz", OF_F(num_div_ftz_f32(least, F(0x3f800001), NUM_RP)), 0},
        {"rcp.rp.ftz", OF_F(num_div_ftz_f32(1, F(0x7e800001), NUM_RP)), 0},
        {"fma.rm.ftz", OF_F(num_fma_ftz_f32(F(0x345c4fba), F(0x800002), F(0x80800001), NUM_RM)),
         0x80000000},
        {"mul.ftz.f16", num_f16_op('*', 0x0400, 0x3bff, 0, false, false, true), 0},
        {"mul.f16", num_f16_op('*', 0x0400, 0x3bff, 0, false, false, false), 0x0400},
        {"mul.ftz.f16 rounded up", num_f16_op('*', 0x0401, 0x3bfe, 0, false, false, true), 0x0400},
        {"fma.rn.ftz.f16", num_f16_op('f', 0x3bff, 0x0400, 0x807f, false, false, true), 0},
    };
    check_bits(table, COUNT(table));
}

#undef D
#undef F

/* A checksum of outputs over a sweep: the bits must be the same with every compiler and flag. */
static void test_deterministic(void) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < 40000; i++) {
        float x = num_f32_from_bits(i * 107374u);
        uint32_t d[6] = {
            num_f32_bits(num_ex2_approx(x, false)), num_f32_bits(num_lg2_approx(x, false)),
            num_f32_bits(num_sin_approx(x, false)), num_f32_bits(num_cos_approx(x, false)),
            num_f32_bits(num_tanh_approx(x)),       num_f32_bits(num_rsqrt_approx(x, false))};
        hash = gi_hash(d, sizeof d, hash);
    }
    if (!ok(hash == UINT64_C(0x920d898c2ae0dff6),
            "approximate functions give the same bits everywhere"))
        printf("# hash %016" PRIx64 "\n", hash);
}

/* ---- bit tricks against loops over bits, as the ISA's pseudocode ---- */

/* A position or length: its low 8 bits; of 64-bit fields all of it, as an H200 does. */
static int extent(uint32_t x, int bits) {
    uint32_t n = bits == 64 ? x : x & 255;
    return n < 256 ? (int)n : 256;
}

static uint64_t naive_bfe(uint64_t a, uint32_t pos, uint32_t len, int bits, bool is_signed) {
    int msb = bits - 1, p = extent(pos, bits), n = extent(len, bits);
    int last = p + n - 1 < msb ? p + n - 1 : msb;
    uint64_t sign = is_signed && n > 0 ? a >> last & 1 : 0, d = 0;
    for (int i = 0; i <= msb; i++) d |= (i < n && p + i <= msb ? a >> (p + i) & 1 : sign) << i;
    return d;
}

static uint64_t naive_bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, int bits) {
    int p = extent(pos, bits), n = extent(len, bits);
    for (int i = 0; i < n && p + i < bits; i++) {
        b &= ~(UINT64_C(1) << (p + i));
        b |= (a >> i & 1) << (p + i);
    }
    return b;
}

static uint32_t amount(void) {
    static const uint32_t edge[] = {0, 1, 7, 31, 32, 33, 63, 64, 65, 127, 255, 256, 0xffffffff};
    return gi_rng_below(&rng, 2) ? edge[gi_rng_below(&rng, COUNT(edge))]
                                 : (uint32_t)gi_rng_below(&rng, 40);
}

static void test_fields(void) {
    int wrong = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t a = any_int(), b = any_int();
        uint32_t p = amount(), n = amount(), a32 = (uint32_t)a;
        wrong += num_bfe_u32(a32, p, n) != naive_bfe(a32, p, n, 32, false);
        wrong += (uint32_t)num_bfe_s32((int32_t)a32, p, n) != naive_bfe(a32, p, n, 32, true);
        wrong += num_bfe_u64(a, p, n) != naive_bfe(a, p, n, 64, false);
        wrong += (uint64_t)num_bfe_s64((int64_t)a, p, n) != naive_bfe(a, p, n, 64, true);
        wrong += num_bfi_b32(a32, (uint32_t)b, p, n) != naive_bfi(a32, (uint32_t)b, p, n, 32);
        wrong += num_bfi_b64(a, b, p, n) != naive_bfi(a, b, p, n, 64);
    }
    ok(wrong == 0, "bfe, bfi of 32 and 64 bits: %d wrong", wrong);
    wrong = 0;
    for (int i = 0; i < 20000; i++) {
        uint32_t p = amount(), n = amount(), clamp = 0, wrap = 0;
        for (uint32_t bit = 0; bit < 32; bit++) {
            clamp |= (uint32_t)(bit >= p && (n >= 32 || bit - p < n)) << bit;
            wrap |= (uint32_t)(bit >= (p & 31) && bit - (p & 31) < (n & 31)) << bit;
        }
        wrong += num_bmsk(p, n, true) != clamp || num_bmsk(p, n, false) != wrap;
    }
    ok(wrong == 0, "bmsk: %d wrong", wrong);
}

static uint32_t naive_bfind(uint64_t a, int bits, bool is_signed, bool shift) {
    int msb = bits - 1;
    uint64_t sign = is_signed ? a >> msb & 1 : 0;
    for (int i = msb; i >= 0; i--)
        if ((a >> i & 1) != sign) return (uint32_t)(shift ? msb - i : i);
    return 0xffffffff;
}

static uint32_t naive_fns(uint32_t mask, uint32_t base, int32_t offset) {
    if (offset == 0) return mask >> base & 1 ? base : 0xffffffff;
    int count = abs(offset) - 1, step = offset > 0 ? 1 : -1;
    for (int pos = (int)base; pos >= 0 && pos < 32; pos += step)
        if (mask >> pos & 1) {
            if (count == 0) return (uint32_t)pos;
            count--;
        }
    return 0xffffffff;
}

static void test_searches(void) {
    int find = 0, reverse = 0, nth = 0;
    for (int i = 0; i < 50000; i++) {
        uint64_t a = any_int(), r = 0;
        bool s = i & 1, shift = i & 2;
        find += num_bfind(a, 64, s, shift) != naive_bfind(a, 64, s, shift);
        find += num_bfind((uint32_t)a, 32, s, shift) != naive_bfind((uint32_t)a, 32, s, shift);
        for (int bit = 0; bit < 64; bit++) r |= (a >> bit & 1) << (63 - bit);
        reverse += num_brev64(a) != r || num_brev32((uint32_t)(a >> 32)) != (uint32_t)r;
        uint32_t base = (uint32_t)gi_rng_below(&rng, 32);
        int32_t offset = (int32_t)gi_rng_below(&rng, 41) - 20;
        nth += num_fns((uint32_t)a, base, offset) != naive_fns((uint32_t)a, base, offset);
    }
    ok(find == 0, "bfind: %d wrong", find);
    ok(reverse == 0, "brev: %d wrong", reverse);
    ok(nth == 0, "fns: %d wrong", nth);
}

/* Bytes that prmt's special modes pick for selectors 0 to 3, from the table in the ISA, highest
** byte of the result first. */
static const char *const prmt_table[][5] = {
    {"f4e", "3210", "4321", "5432", "6543"}, {"b4e", "5670", "6701", "7012", "0123"},
    {"rc8", "0000", "1111", "2222", "3333"}, {"ecl", "3210", "3211", "3222", "3333"},
    {"ecr", "0000", "1110", "2210", "3210"}, {"rc16", "1010", "3232", "1010", "3232"}};

static void test_permute(void) {
    int wrong = 0;
    for (int i = 0; i < 50000; i++) {
        uint32_t a = (uint32_t)any_int(), b = (uint32_t)any_int(), c = (uint32_t)any_int(),
                 want = 0;
        uint8_t bytes[8];
        for (int k = 0; k < 4; k++) {
            bytes[k] = (uint8_t)(a >> 8 * k);
            bytes[k + 4] = (uint8_t)(b >> 8 * k);
        }
        for (int k = 0; k < 4; k++) {
            uint8_t byte = bytes[c >> 4 * k & 7];
            if (c >> 4 * k & 8) byte = byte & 0x80 ? 0xff : 0;
            want |= (uint32_t)byte << 8 * k;
        }
        wrong += num_prmt(a, b, c, "") != want;
        const char *const *row = prmt_table[i % 6];
        want = 0;
        for (int k = 0; k < 4; k++) want |= (uint32_t)bytes[row[1 + (c & 3)][3 - k] - '0'] << 8 * k;
        wrong += num_prmt(a, b, c, row[0]) != want;
    }
    ok(wrong == 0, "prmt in all modes: %d wrong", wrong);
    wrong = 0;
    for (int i = 0; i < 50000; i++) {
        uint32_t a = (uint32_t)any_int(), b = (uint32_t)any_int(), c = amount(), want[4];
        unsigned __int128 both = (unsigned __int128)b << 32 | a;
        for (int k = 0; k < 4; k++) {
            uint32_t n = k & 1 ? c % 32 : c > 32 ? 32 : c;
            want[k] = (uint32_t)(k & 2 ? both << n >> 32 : both >> n);
            wrong += num_shf(a, b, c, k & 2, k & 1) != want[k];
        }
        uint8_t lut = (uint8_t)gi_rng_next(&rng);
        uint32_t d = 0, e = (uint32_t)any_int();
        for (int bit = 0; bit < 32; bit++)
            d |= (uint32_t)(lut >> ((a >> bit & 1) * 4 + (b >> bit & 1) * 2 + (e >> bit & 1)) & 1)
                 << bit;
        wrong += num_lop3(a, b, e, lut) != d;
    }
    ok(wrong == 0, "shf, lop3: %d wrong", wrong);
}

static int64_t field(uint32_t x, int i, int bits, bool is_signed) {
    uint32_t v = (uint32_t)naive_bfe(x, (uint32_t)(i * bits), (uint32_t)bits, 32, is_signed);
    return is_signed ? (int64_t)(int32_t)v : (int64_t)v;
}

static void test_products(void) {
    int dot = 0, sad = 0, high = 0, video = 0;
    for (int i = 0; i < 50000; i++) {
        uint64_t x = any_int(), y = any_int(), z = any_int();
        uint32_t a = (uint32_t)x, b = (uint32_t)y, c = (uint32_t)z;
        bool s = i & 1, t = i & 2, hi = i & 4;
        int64_t four = (int32_t)c, two = (int32_t)c;
        uint32_t lanes = 0;
        for (int k = 0; k < 4; k++) {
            four += field(a, k, 8, s) * field(b, k, 8, t);
            lanes |= (uint32_t)llabs(field(a, k, 8, false) - field(b, k, 8, false)) << 8 * k;
        }
        for (int k = 0; k < 2; k++) two += field(a, k, 16, s) * field(b, k + (hi ? 2 : 0), 8, t);
        dot += num_dp4a(a, s, b, t, (int32_t)c) != (int32_t)four;
        dot += num_dp2a(a, s, b, t, (int32_t)c, hi) != (int32_t)two;
        video += num_vabsdiff4(a, b) != lanes;
        __int128 difference = s ? (__int128)(int64_t)x - (int64_t)y : (__int128)x - y;
        uint64_t absolute = (uint64_t)(difference < 0 ? -difference : difference);
        sad += num_sad(x, y, z, 64, s) != z + absolute;
        __int128 d32 = s ? (__int128)(int32_t)a - (int32_t)b : (__int128)a - b;
        sad += num_sad(s ? (uint64_t)(int32_t)a : a, s ? (uint64_t)(int32_t)b : b, c, 32, s) !=
               (uint32_t)(c + (uint32_t)(d32 < 0 ? -d32 : d32));
        high += num_mul_hi_u64(x, y) != (uint64_t)((unsigned __int128)x * y >> 64);
        high += num_mul_hi_s64((int64_t)x, (int64_t)y) !=
                (int64_t)((__int128)(int64_t)x * (int64_t)y >> 64);
    }
    ok(dot == 0, "dp4a, dp2a: %d wrong", dot);
    ok(video == 0, "vabsdiff4: %d wrong", video);
    ok(sad == 0, "sad of 32 and 64 bits: %d wrong", sad);
    ok(high == 0, "mul.hi of 64 bits: %d wrong", high);
}

/* ---- the worst that is allowed: PTX ISA 9.0, the tables of each instruction ---- */

static long double ulp_of(long double x) {
    int exponent;
    frexpl(x, &exponent);
    return ldexpl(1, exponent - 24 < -149 ? -149 : exponent - 24);
}

static long double true_value(NumApprox f, long double a, long double b) {
    switch (f) {
    case NUM_RCP: return 1 / a;
    case NUM_SQRT: return sqrtl(a);
    case NUM_RSQRT: return 1 / sqrtl(a);
    case NUM_EX2: return exp2l(a);
    case NUM_LG2: return log2l(a);
    case NUM_SIN: return sinl(a);
    case NUM_COS: return cosl(a);
    case NUM_TANH: return tanhl(a);
    default: return a / b;
    }
}

static long double allowed(NumApprox f, long double a, long double value) {
    bool is_near = fabsl(a) <= 6.28318530717958647692L;
    switch (f) {
    case NUM_RCP: return ulp_of(value);
    case NUM_SQRT: return ldexpl(value, -23);
    case NUM_RSQRT: return powl(2, -22.9L) * value;
    case NUM_LG2: return ldexpl(a > 0.5L && a < 2 ? 1 : fabsl(value), -22);
    case NUM_SIN:
    case NUM_COS: return powl(2, is_near ? -20.5L : -14.7L);
    case NUM_TANH: return ldexpl(fabsl(value), -11);
    default: return 2 * ulp_of(value);
    }
}

/* The largest error as a share of what is allowed: it is used, and never more. */
static void check_share(long double share, const char *what, bool away) {
    ok(share > 0.9L && share < 1.0001L, "%s: %.3Lf of what is allowed, %s zero", what, share,
       away ? "away from" : "towards");
}

static void test_worst_singles(void) {
    static const char *const names[] = {"rcp", "sqrt", "rsqrt", "ex2",      "lg2",
                                        "sin", "cos",  "div",   "div.full", "tanh"};
    static const double lo[] = {1e-3, 1e-3, 1e-3, -20, 1e-3, -314, -6.28, 1e-3, 1e-3, -4},
                        hi[] = {1e3, 1e3, 1e3, 20, 1e3, 314, 6.28, 1e3, 1e3, 4};
    for (int n = 0; n < 2 * (NUM_TANH + 1); n++) {
        NumApprox f = (NumApprox)(n / 2);
        long double share = 0;
        for (int i = 0; i < 3000; i++) {
            float a = between(lo[f], hi[f]), b = between(1, 8);
            long double value = true_value(f, (long double)a, (long double)b);
            long double got = (long double)num_worst(f, a, b, false, n % 2);
            if (fabsl(value) < 1e-3L || a == 1) continue;
            if (f == NUM_EX2) value = (long double)(float)value; /* its bound is of that */
            long double error = n % 2 ? fabsl(got) - fabsl(value) : fabsl(value) - fabsl(got);
            share = fmaxl(share, error / allowed(f, (long double)a, value));
        }
        check_share(share, names[f], n % 2);
    }
}

static void test_worst_halves(void) {
    static const char *const names[] = {"ex2.f16", "tanh.f16", "ex2.bf16", "tanh.bf16"};
    for (int n = 0; n < 8; n++) {
        bool brain = n & 2, is_tanh = n & 1, away = n & 4;
        NumApprox f = is_tanh ? NUM_TANH : NUM_EX2;
        long double share = 0;
        for (uint32_t bits = 0x3000; bits < 0x4200; bits++) {
            float a = brain ? num_bf16_to_f32((uint16_t)bits) : num_f16_to_f32((uint16_t)bits);
            uint16_t h = num_worst_half(f, (uint16_t)bits, brain, away);
            long double got = (long double)(brain ? num_bf16_to_f32(h) : num_f16_to_f32(h));
            long double value = true_value(f, (long double)a, 0), most;
            if (is_tanh) most = powl(2, brain ? -8 : -10.987L);
            else most = powl(2, brain ? -7 : -9.9L) * value;
            share = fmaxl(share, (away ? got - value : value - got) / most);
        }
        check_share(share, names[n & 3], away);
    }
}

static void test_worst_doubles(void) {
    for (int i = 0; i < 1000; i++) {
        double x = (double)between(0.01, 100), near = num_rcp_approx_f64(x);
        double off = num_worst_f64(near, false, i & 1), step = ldexp(1, ilogb(near) - 20);
        measure((long double)fabs(fabs(off - near) / step - 1));
        near = num_rsqrt_f64(x), off = num_worst_f64(near, true, i & 1);
        measure((long double)(off == nextafter(near, i & 1 ? HUGE_VAL : 0) ? 0 : 1));
    }
    check_worst(0.5, "f64: one step"); /* half of one below a power of two */
    ok(num_worst_f64(0, false, true) == 0 && isinf(num_worst_f64(HUGE_VAL, false, false)),
       "zero and infinity stay");
    ok(num_worst_half(NUM_EX2, 0, false, true) == 0x3c00 &&
           num_worst_half(NUM_TANH, 0, true, true) == 0,
       "2^0 and tanh 0 stay");
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20140712;
    printf("# seed %" PRIu64 "\n", seed);
    gi_rng_seed(&rng, seed);
    test_arithmetic();
    for (int r = 0; r < 4; r++) test_narrow(r);
    test_to_int();
    test_round();
    test_half_conversions();
    test_half_arithmetic();
    test_minmax();
    test_approx_errors();
    test_worst_singles();
    test_worst_halves();
    test_worst_doubles();
    test_worst();
    test_approx_specials();
    test_deterministic();
    test_nans();
    test_tiny();
    test_fields();
    test_searches();
    test_permute();
    test_products();
    return tap_done();
}
