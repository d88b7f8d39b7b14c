/* number.c - see number.h. */
#include "standin/shared/number.h"

#include <math.h>
#include <stdint.h>

#include "array/array.h"

size_t number_bytes(NumberType t) {
    switch (t) {
    case NUMBER_R_8I: return 1;
    case NUMBER_R_16F: case NUMBER_R_16BF: return 2;
    case NUMBER_R_32F: case NUMBER_R_32I: return 4;
    case NUMBER_R_64F: case NUMBER_C_32F: return 8;
    case NUMBER_C_64F: return 16;
    }
    return 0;
}

bool number_is_double(NumberType t) {
    return t == NUMBER_R_64F || t == NUMBER_C_64F;
}

bool number_is_complex(NumberType t) {
    return t == NUMBER_C_32F || t == NUMBER_C_64F;
}

#define AT(type) ((const type *)at)[i]

double complex number_get(NumberType t, const void *at, size_t i) {
    switch (t) {
    case NUMBER_R_64F: return AT(double);
    case NUMBER_C_64F: return AT(double complex);
    case NUMBER_C_32F: return (double complex)AT(float complex);
    case NUMBER_R_16F: return array_small_value(ARRAY_F16, AT(uint16_t));
    case NUMBER_R_16BF: return array_small_value(ARRAY_BF16, AT(uint16_t));
    case NUMBER_R_8I: return AT(int8_t);
    case NUMBER_R_32I: return AT(int32_t);
    default: return (double)AT(float);
    }
}

static double clamped(double x, double least, double most) {
    return isnan(x) ? 0 : fmin(fmax(rint(x), least), most);
}

#undef AT
#define AT(type) ((type *)at)[i]

void number_put(NumberType t, void *at, size_t i, double complex z) {
    double x = creal(z);
    switch (t) {
    case NUMBER_R_64F: AT(double) = x; break;
    case NUMBER_C_64F: AT(double complex) = z; break;
    case NUMBER_C_32F: AT(float complex) = (float complex)z; break;
    case NUMBER_R_16F: AT(uint16_t) = (uint16_t)array_small_bits(ARRAY_F16, x); break;
    case NUMBER_R_16BF: AT(uint16_t) = (uint16_t)array_small_bits(ARRAY_BF16, x); break;
    case NUMBER_R_8I: AT(int8_t) = (int8_t)clamped(x, INT8_MIN, INT8_MAX); break;
    case NUMBER_R_32I: AT(int32_t) = (int32_t)clamped(x, INT32_MIN, INT32_MAX); break;
    default: AT(float) = (float)x;
    }
}
