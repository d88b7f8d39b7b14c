/* convert.c - numbers of other types as floats and doubles. See convert.h. */
#include "standin/cublas/convert.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Rounds to the upper 32 - `drop` bits, ties to even. */
static float rounded(float x, int drop) {
    uint32_t u = bits_of(x);
    if (isnan(x) || isinf(x)) return x;
    return float_of((u + (1u << (drop - 1)) - 1 + (u >> drop & 1)) & ~((1u << drop) - 1));
}

float convert_from_half(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    float small = (float)fraction * 0x1p-24f; /* zero or subnormal */
    return sign ? -small : small;
}

uint16_t convert_to_half(float x) {
    uint16_t sign = (uint16_t)(bits_of(x) >> 16 & 0x8000);
    float size = fabsf(x);
    if (isnan(x)) return sign | 0x7e00;
    if (size >= 65520) return sign | 0x7c00;
    if (size < 0x1p-14f) return sign | (uint16_t)rintf(size * 0x1p24f);
    uint32_t u = bits_of(rounded(size, 13));
    return sign | (uint16_t)((u >> 13) - (112 << 10));
}

static float from_brain(uint16_t b) {
    return float_of((uint32_t)b << 16);
}

static uint16_t to_brain(float x) {
    return isnan(x) ? 0x7fff : (uint16_t)(bits_of(rounded(x, 16)) >> 16);
}

#define AT(type) ((const type *)at)[i]

/* The i-th number. */
static double number(GemmType t, const void *at, size_t i) {
    switch (t) {
    case GEMM_R_64F: return AT(double);
    case GEMM_R_16F: return (double)convert_from_half(AT(uint16_t));
    case GEMM_R_16BF: return (double)from_brain(AT(uint16_t));
    case GEMM_R_8I: return AT(int8_t);
    case GEMM_R_32I: return AT(int32_t);
    default: return (double)AT(float);
    }
}

double convert_scalar(GemmType t, const void *at) {
    return number(t, at, 0);
}

static float reduced(float x, ConvertRounding r) {
    switch (r) {
    case CONVERT_F16: return convert_from_half(convert_to_half(x));
    case CONVERT_BF16: return rounded(x, 16);
    case CONVERT_TF32: return rounded(x, 13);
    default: return x;
    }
}

void convert_in(GemmType t, const void *at, int ld, int rows, int columns, bool to_double,
                ConvertRounding r, void *out) {
    size_t to = 0;
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++, to++) {
            double x = number(t, at, (size_t)j * (size_t)ld + (size_t)i);
            if (to_double) ((double *)out)[to] = x;
            else ((float *)out)[to] = reduced((float)x, r);
        }
}

static double clamped(double x, double least, double most) {
    return isnan(x) ? 0 : fmin(fmax(rint(x), least), most);
}

#undef AT
#define AT(type) ((type *)at)[i]

static void put(GemmType t, void *at, size_t i, double x) {
    switch (t) {
    case GEMM_R_64F: AT(double) = x; break;
    case GEMM_R_16F: AT(uint16_t) = convert_to_half((float)x); break;
    case GEMM_R_16BF: AT(uint16_t) = to_brain((float)x); break;
    case GEMM_R_8I: AT(int8_t) = (int8_t)clamped(x, INT8_MIN, INT8_MAX); break;
    case GEMM_R_32I: AT(int32_t) = (int32_t)clamped(x, INT32_MIN, INT32_MAX); break;
    default: AT(float) = (float)x;
    }
}

void convert_out(GemmType t, void *at, int ld, int rows, int columns, bool from_double,
                 const void *in) {
    size_t from = 0;
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++, from++)
            put(t, at, (size_t)j * (size_t)ld + (size_t)i,
                from_double ? ((const double *)in)[from] : (double)((const float *)in)[from]);
}
