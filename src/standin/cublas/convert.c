/* convert.c - numbers of other types as floats and doubles. See convert.h. */
#include "standin/cublas/convert.h"

#include <math.h>
#include <string.h>

#include "array/array.h"

static float small(ArrayType type, uint16_t bits) {
    return (float)array_small_value(type, bits);
}

/* Rounds to the 19 upper bits of TF32, ties to even. */
static float tf32(float x) {
    enum { DROP = 13 };
    uint32_t u;
    if (isnan(x) || isinf(x)) return x;
    memcpy(&u, &x, sizeof u);
    u = (u + (1u << (DROP - 1)) - 1 + (u >> DROP & 1)) & ~((1u << DROP) - 1);
    memcpy(&x, &u, sizeof x);
    return x;
}

#define AT(type) ((const type *)at)[i]

/* The i-th number. */
static double number(GemmType t, const void *at, size_t i) {
    switch (t) {
    case GEMM_R_64F: return AT(double);
    case GEMM_R_16F: return array_small_value(ARRAY_F16, AT(uint16_t));
    case GEMM_R_16BF: return array_small_value(ARRAY_BF16, AT(uint16_t));
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
    case CONVERT_F16: return small(ARRAY_F16, (uint16_t)array_small_bits(ARRAY_F16, (double)x));
    case CONVERT_BF16: return small(ARRAY_BF16, (uint16_t)array_small_bits(ARRAY_BF16, (double)x));
    case CONVERT_TF32: return tf32(x);
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
    case GEMM_R_16F: AT(uint16_t) = (uint16_t)array_small_bits(ARRAY_F16, x); break;
    case GEMM_R_16BF: AT(uint16_t) = (uint16_t)array_small_bits(ARRAY_BF16, x); break;
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
