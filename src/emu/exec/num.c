/* num.c - exact floating-point arithmetic and conversions in every rounding.
**
** Model: a finite number is (-1)^sign * (sig + tail) * 2^exp with a 128-bit integer sig and a tail
** strictly between 0 and 1 that is only known to be there or not ("sticky"). Each operation makes
** its result exactly in that form and round_to() rounds it once, to any of the formats below, so
** that f16, bf16, f32 and f64 share one adder, one multiplier and one rounding. Every format's
** values fit a double: operands arrive as doubles.
**
** Round-to-nearest goes to the machine's own arithmetic, which IEEE 754 defines completely; so do
** operands that are NaN or infinite, where rounding plays no part.
**
** Reference: PTX ISA, "Floating Point Instructions" and "Data Movement and Conversion: cvt".
*/
#include "emu/exec/num.h"

#include <math.h>
#include <string.h>

typedef unsigned __int128 u128;

typedef struct Exact {
    bool sign, sticky;
    int exp;
    u128 sig;
} Exact;

/* A binary format: bits of precision (with the hidden one) and exponent bias; biased exponent
** fields reach 2 * bias + 1 (infinity). */
typedef struct Format {
    int precision, bias;
} Format;

static const Format format_f64 = {53, 1023}, format_f32 = {24, 127}, format_f16 = {11, 15},
                    format_bf16 = {8, 127}, format_tf32 = {11, 127};

/* PTX's f32 results have one NaN. */
static float canonical(float x) {
    return x == x ? x : num_f32_from_bits(0x7fffffff);
}

static int bit_length(u128 x) {
    uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;
    if (high) return 128 - __builtin_clzll(high);
    return low ? 64 - __builtin_clzll(low) : 0;
}

/* ---- exact values ---- */

static Exact exact_of(double x) {
    uint64_t bits = num_f64_bits(x);
    int field = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    Exact e = {.sign = bits >> 63};
    e.sig = field ? fraction | UINT64_C(1) << 52 : fraction;
    e.exp = (field ? field : 1) - 1075;
    return e;
}

static Exact exact_int(uint64_t x, bool is_signed) {
    bool negative = is_signed && (int64_t)x < 0;
    return (Exact){.sign = negative, .sig = negative ? -x : x};
}

/* Shifts right, keeping track of what falls off. */
static Exact exact_drop(Exact e, int bits) {
    if (bits >= 128) {
        e.sticky |= e.sig != 0;
        e.sig = 0;
    } else if (bits > 0) {
        e.sticky |= (e.sig & (((u128)1 << bits) - 1)) != 0;
        e.sig >>= bits;
    }
    e.exp += bits;
    return e;
}

/* The leading bit moves to bit 125: two bits of room above, for a sum; below, enough for a product
** of two 53-bit numbers and the bits that rounding looks at. */
static Exact exact_raise(Exact e) {
    int shift = 126 - bit_length(e.sig);
    e.sig <<= shift;
    e.exp -= shift;
    return e;
}

/* x + y, both exact (no sticky), at most 106 bits each. An exact zero has the sign of its equal
** terms, else minus only when rounding down. */
static Exact exact_add(Exact x, Exact y, NumRound r) {
    if (x.sig == 0 && y.sig == 0) {
        x.sign = x.sign == y.sign ? x.sign : r == NUM_RM;
        return x;
    }
    if (x.sig == 0 || y.sig == 0) return x.sig == 0 ? y : x;
    if (x.exp + bit_length(x.sig) < y.exp + bit_length(y.sig)) {
        Exact t = x;
        x = y;
        y = t;
    }
    x = exact_raise(x);
    if (y.exp >= x.exp) y.sig <<= y.exp - x.exp;
    else y = exact_drop(y, x.exp - y.exp);
    x.sticky = y.sticky;
    if (x.sign == y.sign) {
        x.sig += y.sig;
    } else if (x.sig >= y.sig) {
        x.sig -= y.sig + (y.sticky ? 1 : 0); /* x - (y + tail) = (x - y - 1) + (1 - tail) */
    } else {                                 /* equal leading bits: nothing fell off y */
        x.sig = y.sig - x.sig;
        x.sign = y.sign;
    }
    if (x.sig == 0 && !x.sticky) x.sign = r == NUM_RM;
    return x;
}

static Exact exact_mul(Exact x, Exact y) {
    return (Exact){.sign = x.sign != y.sign, .exp = x.exp + y.exp, .sig = x.sig * y.sig};
}

/* y is not zero. The quotient has at least 72 bits. */
static Exact exact_div(Exact x, Exact y) {
    if (x.sig == 0) return (Exact){.sign = x.sign != y.sign};
    x = exact_raise(x);
    Exact q = {.sign = x.sign != y.sign, .exp = x.exp - y.exp, .sig = x.sig / y.sig};
    q.sticky = x.sig % y.sig != 0;
    return q;
}

/* x is positive. Digit by digit, as on paper. */
static Exact exact_sqrt(Exact x) {
    x = exact_raise(x);
    if (x.exp & 1) x = (Exact){.exp = x.exp - 1, .sig = x.sig << 1};
    u128 root = 0, rest = x.sig;
    for (u128 bit = (u128)1 << 126; bit; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (Exact){.exp = x.exp / 2, .sig = root, .sticky = rest != 0};
}

/* ---- rounding ---- */

/* Does the magnitude go up, when `kept` stays and the part below it is zero, less than, equal to
** or more than a half? */
static bool rounds_up(bool sign, bool odd, bool half_bit, bool below_half, NumRound r) {
    switch (r) {
    case NUM_RN: return half_bit && (below_half || odd);
    case NUM_RNA: return half_bit;
    case NUM_RM: return sign && (half_bit || below_half);
    case NUM_RP: return !sign && (half_bit || below_half);
    case NUM_RZ: break;
    }
    return false;
}

/* Drops `bits` low bits of e.sig and rounds what stays to an integer. */
static u128 round_drop(Exact e, int bits, NumRound r) {
    Exact tail = exact_drop(e, bits - 1); /* one bit below the integer's last is left */
    bool half_bit = tail.sig & 1;
    u128 kept = tail.sig >> 1;
    return kept + rounds_up(e.sign, kept & 1, half_bit, tail.sticky, r);
}

/* The largest finite magnitude or infinity, whichever the rounding gives for too large a value. */
static uint64_t overflow_bits(bool sign, Format f, NumRound r) {
    uint64_t infinity = (uint64_t)(2 * f.bias + 1) << (f.precision - 1);
    bool finite = r == NUM_RZ || (r == NUM_RM && !sign) || (r == NUM_RP && sign);
    return infinity - finite;
}

/* Rounds to the bits of a format, sign bit included (above the exponent field). */
static uint64_t round_to(Exact e, Format f, NumRound r) {
    int field_bits = bit_length((u128)(2 * f.bias + 1));
    uint64_t sign = (uint64_t)e.sign << (f.precision - 1 + field_bits);
    if (e.sig == 0 && !e.sticky) return sign;
    int lead = e.exp + bit_length(e.sig) - 1;
    int least = 1 - f.bias; /* exponent of the smallest normal number */
    int field = lead < least ? 1 : lead + f.bias;
    if (field > 2 * f.bias) return sign | overflow_bits(e.sign, f, r);
    int quantum = field - f.bias - (f.precision - 1);
    int drop = quantum - e.exp;
    uint64_t kept = (uint64_t)(drop > 0 ? round_drop(e, drop, r) : e.sig << -drop);
    /* kept carries its hidden bit (none when subnormal), and a carry out of it is the next field */
    uint64_t bits = ((uint64_t)(field - 1) << (f.precision - 1)) + kept;
    if (bits >> (f.precision - 1) > (uint64_t)(2 * f.bias)) bits = overflow_bits(e.sign, f, r);
    return sign | bits;
}

/* Is the value, rounded to the format's precision, below its smallest normal number? Asked where
** exponents are larger, so that no precision is lost to subnormals. */
static bool is_tiny(Exact e, Format f, NumRound r) {
    int raise = f.bias / 2;
    e.exp += raise;
    uint64_t field = round_to(e, f, r) >> (f.precision - 1) & (uint64_t)(2 * f.bias + 1);
    return field < (uint64_t)(raise + 1);
}

static float to_f32(Exact e, NumRound r) {
    return num_f32_from_bits((uint32_t)round_to(e, format_f32, r));
}

static double to_f64(Exact e, NumRound r) {
    return num_f64_from_bits(round_to(e, format_f64, r));
}

/* .ftz */
static float to_f32_ftz(Exact e, NumRound r) {
    if (is_tiny(e, format_f32, r)) return e.sign ? -0.0F : 0.0F;
    return to_f32(e, r);
}

/* ---- f64 ---- */

static double quiet(double x) {
    return num_f64_from_bits(num_f64_bits(x) | UINT64_C(1) << 51);
}

/* The first NaN among operands in the hardware's order; without one, of an invalid operation. */
static double nan_f64(double first, double second, double third) {
    double nan = isnan(first) ? first : isnan(second) ? second : third;
    return isnan(nan) ? quiet(nan) : num_f64_from_bits(UINT64_C(0xfff8000000000000));
}

/* A result that rounding plays no part in. */
static double special(double x, double first, double second, double third) {
    return isnan(x) ? nan_f64(first, second, third) : x;
}

double num_add_f64(double a, double b, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || !isfinite(b)) return special(a + b, b, a, a);
    return to_f64(exact_add(exact_of(a), exact_of(b), r), r);
}

/* Subtraction does not touch the sign of a NaN. */
double num_sub_f64(double a, double b, NumRound r) {
    return num_add_f64(a, isnan(b) ? b : -b, r);
}

double num_mul_f64(double a, double b, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || !isfinite(b)) return special(a * b, b, a, a);
    return to_f64(exact_mul(exact_of(a), exact_of(b)), r);
}

double num_fma_f64(double a, double b, double c, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || !isfinite(b) || !isfinite(c))
        return special(fma(a, b, c), b, c, a);
    return to_f64(exact_add(exact_mul(exact_of(a), exact_of(b)), exact_of(c), r), r);
}

double num_div_f64(double a, double b, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || !isfinite(b) || b == 0) return special(a / b, a, b, b);
    return to_f64(exact_div(exact_of(a), exact_of(b)), r);
}

double num_sqrt_f64(double a, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || a <= 0) return special(sqrt(a), a, a, a);
    return to_f64(exact_sqrt(exact_of(a)), r);
}

/* ---- f32 ---- */

float num_add_f32(float a, float b, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || !isfinite(b)) return canonical(a + b);
    return to_f32(exact_add(exact_of((double)a), exact_of((double)b), r), r);
}

float num_mul_f32(float a, float b, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || !isfinite(b)) return canonical(a * b);
    return to_f32(exact_mul(exact_of((double)a), exact_of((double)b)), r);
}

float num_fma_f32(float a, float b, float c, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || !isfinite(b) || !isfinite(c))
        return canonical(fmaf(a, b, c));
    Exact product = exact_mul(exact_of((double)a), exact_of((double)b));
    return to_f32(exact_add(product, exact_of((double)c), r), r);
}

float num_div_f32(float a, float b, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || !isfinite(b) || b == 0) return canonical(a / b);
    return to_f32(exact_div(exact_of((double)a), exact_of((double)b)), r);
}

float num_sqrt_f32(float a, NumRound r) {
    if (r == NUM_RN || !isfinite(a) || a <= 0) return canonical(sqrtf(a));
    return to_f32(exact_sqrt(exact_of((double)a)), r);
}

float num_mul_ftz_f32(float a, float b, NumRound r) {
    a = num_ftz(a), b = num_ftz(b);
    if (!isfinite(a) || !isfinite(b)) return canonical(a * b);
    return to_f32_ftz(exact_mul(exact_of((double)a), exact_of((double)b)), r);
}

float num_fma_ftz_f32(float a, float b, float c, NumRound r) {
    a = num_ftz(a), b = num_ftz(b), c = num_ftz(c);
    if (!isfinite(a) || !isfinite(b) || !isfinite(c)) return num_fma_f32(a, b, c, r);
    Exact product = exact_mul(exact_of((double)a), exact_of((double)b));
    return to_f32_ftz(exact_add(product, exact_of((double)c), r), r);
}

float num_div_ftz_f32(float a, float b, NumRound r) {
    a = num_ftz(a), b = num_ftz(b);
    if (!isfinite(a) || !isfinite(b) || b == 0) return canonical(a / b);
    return to_f32_ftz(exact_div(exact_of((double)a), exact_of((double)b)), r);
}

/* ---- abs, min, max ---- */

double num_abs_f64(double a) {
    return isnan(a) ? quiet(a) : fabs(a);
}

/* -0 sorts below +0. */
static bool less(double a, double b) {
    return a < b || (a == b && signbit(a) > signbit(b));
}

double num_min_f64(double a, double b) {
    if (isnan(a)) return isnan(b) ? quiet(b) : b;
    return isnan(b) || less(a, b) ? a : b;
}

double num_max_f64(double a, double b) {
    if (isnan(a)) return isnan(b) ? quiet(b) : b;
    return isnan(b) || less(b, a) ? a : b;
}

float num_min_f32(float a, float b, bool nan) {
    if (nan && (isnan(a) || isnan(b))) return num_f32_from_bits(0x7fffffff);
    return canonical((float)num_min_f64((double)a, (double)b));
}

float num_max_f32(float a, float b, bool nan) {
    if (nan && (isnan(a) || isnan(b))) return num_f32_from_bits(0x7fffffff);
    return canonical((float)num_max_f64((double)a, (double)b));
}

/* ---- half precision ---- */

/* bits of x in a 16-bit format; nan is that format's canonical NaN */
static uint16_t to_16(double x, Format f, uint16_t nan, NumRound r) {
    if (isnan(x)) return nan;
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isinf(x)) return sign | (uint16_t)((2 * f.bias + 1) << (f.precision - 1));
    return (uint16_t)round_to(exact_of(x), f, r);
}

float num_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    int field = h >> 10 & 31;
    uint32_t fraction = h & 0x3ff;
    if (field == 31) return num_f32_from_bits(fraction ? 0x7fffffff : sign | 0x7f800000);
    float magnitude = field ? num_f32_from_bits((uint32_t)(field + 112) << 23 | fraction << 13)
                            : (float)fraction * 0x1p-24F;
    return num_f32_from_bits(sign | num_f32_bits(magnitude));
}

uint16_t num_f64_to_f16(double x, NumRound r) {
    uint64_t bits = num_f64_bits(x);
    uint16_t nan = (uint16_t)((bits >> 48 & 0x8000) | 0x7e00 | (bits >> 42 & 0x3ff));
    return to_16(x, format_f16, nan, r);
}

double num_f16_to_f64(uint16_t h) {
    if ((h & 0x7fff) <= 0x7c00) return (double)num_f16_to_f32(h);
    uint64_t sign = (uint64_t)(h & 0x8000) << 48, payload = (uint64_t)(h & 0x3ff) << 42;
    return num_f64_from_bits(sign | UINT64_C(0x7ff8000000000000) | payload);
}

uint16_t num_f32_to_f16(float x, NumRound r) {
    return to_16((double)x, format_f16, 0x7fff, r);
}

float num_bf16_bits_to_f32(uint16_t h) {
    return num_f32_from_bits((uint32_t)h << 16);
}

float num_bf16_to_f32(uint16_t h) {
    return canonical(num_bf16_bits_to_f32(h));
}

uint16_t num_f32_to_bf16(float x, NumRound r) {
    return to_16((double)x, format_bf16, 0x7fff, r);
}

uint16_t num_f64_to_bf16(double x, NumRound r) {
    return to_16(x, format_bf16, 0x7fff, r);
}

uint32_t num_f32_to_tf32(float x, NumRound r) {
    if (!isfinite(x)) return num_f32_bits(x) & ~UINT32_C(0x1fff);
    return (uint32_t)round_to(exact_of((double)x), format_tf32, r) << 13;
}

/* One operation on finite or special values, rounded once to nearest even; ftz: a tiny result is
** zero. */
static uint16_t op_16(char op, double a, double b, double c, Format f, bool ftz) {
    bool finite = isfinite(a) && isfinite(b) && (op != 'f' || isfinite(c));
    if (!finite) {
        double result = op == '*' ? a * b : op == 'f' ? a * b + c : op == '-' ? a - b : a + b;
        return to_16(result, f, 0x7fff, NUM_RN);
    }
    Exact x = exact_of(a), y = exact_of(op == '-' ? -b : b);
    Exact e = op == '*'   ? exact_mul(x, y)
              : op == 'f' ? exact_add(exact_mul(x, y), exact_of(c), NUM_RN)
                          : exact_add(x, y, NUM_RN);
    if (ftz && is_tiny(e, f, NUM_RN)) return e.sign ? 0x8000 : 0;
    return (uint16_t)round_to(e, f, NUM_RN);
}

static uint16_t ftz_16(uint16_t h) {
    return h & 0x7c00 ? h : h & 0x8000;
}

/* .sat: into [+0, 1], NaN to +0. */
static uint16_t sat_16(uint16_t h, uint16_t one, uint16_t infinity) {
    if ((h & 0x8000) || h > infinity) return 0;
    return h > one ? one : h;
}

/* .relu: negative values (and -0) to +0; NaN stays. */
static uint16_t relu_16(uint16_t h, uint16_t infinity) {
    return (h & 0x8000) && (h & 0x7fff) <= infinity ? 0 : h;
}

uint16_t num_f16_op(char op, uint16_t a, uint16_t b, uint16_t c, bool sat, bool relu, bool ftz) {
    if (ftz) {
        a = ftz_16(a);
        b = ftz_16(b);
        c = ftz_16(c);
    }
    uint16_t d = op_16(op, (double)num_f16_to_f32(a), (double)num_f16_to_f32(b),
                       (double)num_f16_to_f32(c), format_f16, ftz);
    if (sat) d = sat_16(d, 0x3c00, 0x7c00);
    return relu ? relu_16(d, 0x7c00) : d;
}

uint16_t num_bf16_op(char op, uint16_t a, uint16_t b, uint16_t c, bool relu) {
    uint16_t d = op_16(op, (double)num_bf16_to_f32(a), (double)num_bf16_to_f32(b),
                       (double)num_bf16_to_f32(c), format_bf16, false);
    return relu ? relu_16(d, 0x7f80) : d;
}

/* ---- conversions ---- */

double num_round_f64(double x, NumRound r) {
    if (isnan(x)) return quiet(x);
    switch (r) {
    case NUM_RZ: return trunc(x);
    case NUM_RM: return floor(x);
    case NUM_RP: return ceil(x);
    case NUM_RNA: return round(x);
    case NUM_RN: break;
    }
    double t = trunc(x), rest = fabs(x - t); /* exact; |x| >= 2^52 has none */
    bool up = rest > 0.5 || (rest == 0.5 && fmod(t, 2) != 0);
    return copysign(up ? fabs(t) + 1 : fabs(t), x);
}

float num_round_f32(float x, NumRound r) {
    return canonical((float)num_round_f64((double)x, r));
}

static uint64_t saturate(double whole, int bits, bool is_signed) {
    double limit = ldexp(1, is_signed ? bits - 1 : bits); /* first value that is too large */
    uint64_t top = UINT64_MAX >> (64 - bits);
    if (is_signed) {
        if (whole >= limit) return top >> 1;
        return (uint64_t)(whole <= -limit ? INT64_MIN >> (64 - bits) : (int64_t)whole);
    }
    if (whole >= limit) return top;
    return whole <= 0 ? 0 : (uint64_t)whole;
}

/* NaN from f64, or to 64 bits: only the top bit of the destination set; NaN from f32 or f16 to 32
** bits or less: 0 (PTX ISA, cvt). The result is sign- or zero-extended to 64 bits. */
uint64_t num_f64_to_int(double x, int bits, bool is_signed, NumRound r) {
    if (isnan(x))
        return is_signed ? (uint64_t)(INT64_MIN >> (64 - bits)) : UINT64_C(1) << (bits - 1);
    return saturate(num_round_f64(x, r), bits, is_signed);
}

uint64_t num_f32_to_int(float x, int bits, bool is_signed, NumRound r) {
    if (isnan(x) && bits < 64) return 0;
    return num_f64_to_int((double)x, bits, is_signed, r);
}

float num_int_to_f32(uint64_t x, bool is_signed, NumRound r) {
    return to_f32(exact_int(x, is_signed), r);
}

double num_int_to_f64(uint64_t x, bool is_signed, NumRound r) {
    return to_f64(exact_int(x, is_signed), r);
}

uint16_t num_int_to_f16(uint64_t x, bool is_signed, NumRound r) {
    return (uint16_t)round_to(exact_int(x, is_signed), format_f16, r);
}

uint16_t num_int_to_bf16(uint64_t x, bool is_signed, NumRound r) {
    return (uint16_t)round_to(exact_int(x, is_signed), format_bf16, r);
}

float num_f64_to_f32(double x, NumRound r) {
    uint64_t bits = num_f64_bits(x);
    if (isnan(x)) {
        uint32_t sign = (uint32_t)(bits >> 32) & 0x80000000, payload = bits >> 29 & 0x7fffff;
        return num_f32_from_bits(sign | 0x7fc00000 | payload);
    }
    if (r == NUM_RN || !isfinite(x)) return (float)x;
    return to_f32(exact_of(x), r);
}
