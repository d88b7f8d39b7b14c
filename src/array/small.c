/* small.c - floats of 16 and 8 bits: IEEE 754's binary16, bfloat16, and the two of the OCP's 8-bit
** specification. e4m3 has no infinities, and one NaN of each sign. */
#include "array/array.h"

#include <math.h>

static const struct {
    int fraction, exponent; /* bits */
    bool has_infinity;
} formats[] = {[ARRAY_F16] = {10, 5, true},
               [ARRAY_BF16] = {7, 8, true},
               [ARRAY_E4M3] = {3, 4, false},
               [ARRAY_E5M2] = {2, 5, true}};

double array_small_value(ArrayType type, uint32_t bits) {
    const int n = formats[type].fraction, most = (1 << formats[type].exponent) - 1, bias = most / 2;
    const uint32_t sign = 1u << (n + formats[type].exponent), size = bits & (sign - 1);
    const int field = (int)(size >> n), fraction = (int)(size & ((1u << n) - 1));
    double x = field ? ldexp(fraction + (1 << n), field - bias - n) : ldexp(fraction, 1 - bias - n);
    if (formats[type].has_infinity && field == most) x = fraction ? (double)NAN : (double)INFINITY;
    if (!formats[type].has_infinity && size == sign - 1) x = (double)NAN;
    return bits & sign ? -x : x;
}

uint32_t array_small_bits(ArrayType type, double value) {
    const int n = formats[type].fraction, most = (1 << formats[type].exponent) - 1, bias = most / 2;
    const uint32_t above = 1u << (n + formats[type].exponent), sign = signbit(value) ? above : 0;
    const bool wide = array_type_size(type) == 2, has_infinity = formats[type].has_infinity;
    const uint32_t infinity = has_infinity ? (uint32_t)most << n : above - 1;
    if (isnan(value)) return wide ? 0x7fff : 0x7f;
    int e = 1 - bias;
    const double size = fabs(value);
    if (size >= ldexp(1, bias + 2)) return sign | (wide ? infinity : infinity - 1);
    if (size >= ldexp(1, e)) e = ilogb(size);
    /* rounding may carry into the exponent, which is right */
    uint32_t whole = (uint32_t)rint(ldexp(size, n - e)) + ((uint32_t)(e + bias - 1) << n);
    return sign | (whole < infinity ? whole : wide ? infinity : infinity - 1);
}
