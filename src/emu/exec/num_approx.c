/* num_approx.c - the approximate functions of the special-function unit.
**
** The ISA promises an error bound, not bits; a virtual GPU must give the same bits on every
** machine. So each function is a fixed sequence of double additions and multiplications (Taylor
** series on a reduced argument, some 1e-11 from the truth) rounded once to float: well inside the
** bound and, without contraction or the C library's own sin or exp, the same everywhere.
**
** Reference: PTX ISA, ex2, lg2, sin, cos, rcp, rsqrt, sqrt, div, tanh, each with its table of
** special values.
*/
#include "emu/exec/num.h"
#include "emu/exec/series.h"

#include <math.h>

static float nan_f32(void) {
    return num_f32_from_bits(0x7fffffff);
}

/* Rounds to the result: one kind of NaN, on demand zero for what is below 2^-126 after rounding to
** 24 bits (half a step below it rounds up to it). */
static float finish(double x, bool ftz) {
    if (x != x) return nan_f32();
    return ftz && fabs(x) < 0x1.ffffffp-127 ? copysignf(0, (float)x) : (float)x;
}

static float start(float x, bool ftz) {
    return ftz ? num_ftz(x) : x;
}

/* c[0] + c[1] x + … + c[n-1] x^(n-1) */
static double polynomial(const double *c, int n, double x) {
    double sum = c[n - 1];
    for (int i = n - 2; i >= 0; i--) sum = sum * x + c[i];
    return sum;
}

/* 2^n for a normal result */
static double power_of_two(int n) {
    return num_f64_from_bits((uint64_t)(n + 1023) << 52);
}

/* ---- exponential, logarithm, tanh ---- */

/* 2^x for |x| < 1000 */
static double exp2_double(double x) {
    double whole = floor(x + 0.5);
    return polynomial(series_exp2, SERIES_EXP2, x - whole) * power_of_two((int)whole);
}

float num_ex2_approx(float x, bool ftz) {
    x = start(x, ftz);
    if (isnan(x)) return nan_f32();
    if (x >= 128) return INFINITY;
    return x < -160 ? 0 : finish(exp2_double((double)x), ftz);
}

/* log2 of the mantissa in [1/sqrt 2, sqrt 2) as 2/ln 2 * atanh((m - 1) / (m + 1)) */
float num_lg2_approx(float x, bool ftz) {
    x = start(x, ftz);
    if (isnan(x) || x < 0) return nan_f32();
    if (x == 0 || isinf(x)) return x == 0 ? -INFINITY : x;
    int exponent;
    double m = frexp((double)x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1);
    double sum = polynomial(series_log, SERIES_LOG, s * s);
    return finish(exponent + 2.8853900817779268 * s * sum, ftz);
}

float num_tanh_approx(float x) {
    double d = (double)x, size = fabs(d);
    if (isnan(x)) return nan_f32();
    if (size < 1e-4) /* x - x^3/3, and the sign of zero */
        return (float)(d * (1 - d * d / 3));
    if (size > 20) return x > 0 ? 1 : -1;
    double e = exp2_double(2 * 1.4426950408889634 * d);
    return (float)((e - 1) / (e + 1));
}

/* ---- sine, cosine ---- */

/* sin(x + quarters * pi/2). fmod by the double 2 pi leaves an error of some 4e-17 |x|: nothing
** where the ISA gives a bound. */
static double sine(double x, int quarters) {
    double r = fabs(x) > 6 ? fmod(x, 6.2831853071795865) : x;
    double k = floor(r * 0.63661977236758134 + 0.5);
    r -= k * 1.5707963267948966;
    int quadrant = ((int)k + quarters) & 3;
    double value = quadrant & 1 ? polynomial(series_cos, SERIES_COS, r * r)
                                : r * polynomial(series_sin, SERIES_SIN, r * r);
    return quadrant & 2 ? -value : value;
}

float num_sin_approx(float x, bool ftz) {
    x = start(x, ftz);
    if (!isfinite(x)) return nan_f32();
    return x == 0 ? x : finish(sine((double)x, 0), ftz);
}

float num_cos_approx(float x, bool ftz) {
    x = start(x, ftz);
    return isfinite(x) ? finish(sine((double)x, 1), ftz) : nan_f32();
}

/* ---- division and roots ---- */

float num_rcp_approx(float x, bool ftz) {
    return finish(1 / (double)start(x, ftz), ftz);
}

float num_sqrt_approx(float x, bool ftz) {
    return finish(sqrt((double)start(x, ftz)), ftz);
}

float num_rsqrt_approx(float x, bool ftz) {
    return finish(1 / sqrt((double)start(x, ftz)), ftz);
}

/* a * (1 / b), where the reciprocal of a |b| above 2^126 is flushed to zero. */
float num_div_approx(float a, float b, bool ftz) {
    double x = (double)start(a, ftz), y = (double)start(b, ftz);
    if (fabs(y) > 0x1p126 && !isinf(y)) return finish(x * copysign(0, y), ftz);
    return finish(x / y, ftz);
}

float num_div_full(float a, float b, bool ftz) {
    return finish((double)start(a, ftz) / (double)start(b, ftz), ftz);
}

/* ---- the worst that the ISA allows ---- */

static float nearest(NumApprox f, float a, float b, bool ftz) {
    switch (f) {
    case NUM_RCP: return num_rcp_approx(a, ftz);
    case NUM_SQRT: return num_sqrt_approx(a, ftz);
    case NUM_RSQRT: return num_rsqrt_approx(a, ftz);
    case NUM_EX2: return num_ex2_approx(a, ftz);
    case NUM_LG2: return num_lg2_approx(a, ftz);
    case NUM_SIN: return num_sin_approx(a, ftz);
    case NUM_COS: return num_cos_approx(a, ftz);
    case NUM_DIV: return num_div_approx(a, b, ftz);
    case NUM_DIV_FULL: return num_div_full(a, b, ftz);
    case NUM_TANH: break;
    }
    return num_tanh_approx(a);
}

/* The true value, to some 1e-11. */
static double truth(NumApprox f, double a, double b) {
    int exponent;
    double e, m;
    switch (f) {
    case NUM_RCP: return 1 / a;
    case NUM_SQRT: return sqrt(a);
    case NUM_RSQRT: return 1 / sqrt(a);
    case NUM_EX2: return exp2_double(a);
    case NUM_LG2:
        m = frexp(a, &exponent);
        if (m < 0.70710678118654752) m *= 2, exponent--;
        e = (m - 1) / (m + 1);
        return exponent + 2.8853900817779268 * e * polynomial(series_log, SERIES_LOG, e * e);
    case NUM_SIN: return sine(a, 0);
    case NUM_COS: return sine(a, 1);
    case NUM_DIV:
    case NUM_DIV_FULL: return a / b;
    case NUM_TANH: break;
    }
    if (fabs(a) < 1e-4) return a * (1 - a * a / 3);
    e = fabs(a) > 20 ? HUGE_VAL : exp2_double(2 * 1.4426950408889634 * a);
    return e == HUGE_VAL ? copysign(1, a) : (e - 1) / (e + 1);
}

/* A unit in the last place of a float of that size. */
static double unit(double x) {
    int exponent;
    frexp(x, &exponent);
    return power_of_two(exponent - 24 < -149 ? -149 : exponent - 24);
}

static double angle_bound(double x) {
    double size = fabs(x);
    if (size <= 6.2831853071795865) return 0x1p-20 * 0.70710678118654752;
    double far = 0x1p-14 * 0.61557220667245814; /* 2^-14.7 */
    return size <= 314.15926535897933 || unit(x) < far ? far : unit(x);
}

static double bound(NumApprox f, double a, double value) {
    switch (f) {
    case NUM_RCP: return unit(value);
    case NUM_SQRT: return 0x1p-23 * value;
    case NUM_RSQRT: return 0x1p-23 * 1.0717734625362931 * value; /* 2^-22.9 */
    case NUM_EX2:
    case NUM_DIV:
    case NUM_DIV_FULL: return 2 * unit(value);
    case NUM_LG2: return 0x1p-22 * (a > 0.5 && a < 2 ? 1 : fabs(value));
    case NUM_SIN:
    case NUM_COS: return angle_bound(a);
    case NUM_TANH: break;
    }
    return 0x1p-11 * fabs(value);
}

/* The float nearest to it on the side of `value`. */
static float inside(double edge, double value) {
    float x = (float)edge;
    bool is_beyond = edge > value ? (double)x > edge : (double)x < edge;
    return is_beyond ? nextafterf(x, (float)value) : x;
}

float num_worst(NumApprox f, float a, float b, bool ftz, bool away) {
    float near = nearest(f, a, b, ftz);
    double x = (double)start(a, ftz), y = (double)start(b, ftz);
    if (!isfinite(near) || near == 0 || (f == NUM_EX2 && x == 0) || (f == NUM_LG2 && x == 1))
        return near;
    double value = f == NUM_EX2 ? (double)near : truth(f, x, y); /* ex2's is of the rounded value */
    double most = bound(f, x, value);
    bool is_up = away == (value >= 0);
    float worst = inside(is_up ? value + most : value - most, value);
    return finish((double)worst, ftz);
}

/* Half precision: relative errors of ex2, absolute ones of tanh. */
uint16_t num_worst_half(NumApprox f, uint16_t bits, bool brain, bool away) {
    float a = brain ? num_bf16_to_f32(bits) : num_f16_to_f32(bits), near = nearest(f, a, 0, false);
    double value = truth(f, (double)a, 0), most = 0x1p-11 * 1.0090515155; /* 2^-10.987 */
    if (!isfinite(near) || a == 0)
        return brain ? num_f32_to_bf16(near, NUM_RN) : num_f32_to_f16(near, NUM_RN);
    if (f == NUM_EX2) most = (brain ? 0x1p-7 : 0x1p-10 * 1.0717734625362931) * value; /* 2^-9.9 */
    else if (brain) most = 0x1p-8;
    bool is_up = away == (value >= 0);
    double edge = is_up ? value + most : value - most;
    NumRound inward = is_up ? NUM_RM : NUM_RP;
    return brain ? num_f64_to_bf16(edge, inward) : num_f64_to_f16(edge, inward);
}

/* ---- double precision, 20 bits ---- */

/* The upper word alone, as the hardware takes and gives it; subnormals are zero. */
static double upper_word(double x) {
    uint64_t bits = num_f64_bits(x) & ~(uint64_t)UINT32_MAX;
    if ((bits >> 52 & 0x7ff) == 0) bits &= UINT64_C(1) << 63;
    return num_f64_from_bits(bits);
}

static double nan_f64(void) {
    return num_f64_from_bits(UINT64_C(0x7fffffff00000000));
}

/* A NaN whose payload lies in the lower word is an infinity here, as on an H200. */
double num_rcp_approx_f64(double x) {
    double d = upper_word(x);
    return isnan(d) ? nan_f64() : upper_word(1 / d);
}

double num_rsqrt_approx_f64(double x) {
    double d = upper_word(x);
    return isnan(d) || d < 0 ? nan_f64() : upper_word(1 / sqrt(d));
}

double num_rsqrt_f64(double x) {
    return 1 / sqrt(x);
}

/* One unit of the 20 bits farther from zero or nearer, or of all bits. */
double num_worst_f64(double near, bool all_bits, bool away) {
    uint64_t bits = num_f64_bits(near), unit = all_bits ? 1 : UINT64_C(1) << 32;
    uint64_t exponent = bits >> 52 & 0x7ff;
    if (exponent == 0 || exponent == 0x7ff) return near;
    double worst = num_f64_from_bits(away ? bits + unit : bits - unit);
    return isfinite(worst) ? worst : near;
}
