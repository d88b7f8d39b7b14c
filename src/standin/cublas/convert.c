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

double convert_scalar(NumberType t, const void *at) {
    return creal(number_get(t, at, 0));
}

static float reduced(float x, ConvertRounding r) {
    switch (r) {
    case CONVERT_F16: return small(ARRAY_F16, (uint16_t)array_small_bits(ARRAY_F16, (double)x));
    case CONVERT_BF16: return small(ARRAY_BF16, (uint16_t)array_small_bits(ARRAY_BF16, (double)x));
    case CONVERT_TF32: return tf32(x);
    default: return x;
    }
}

void convert_in(NumberType t, const void *at, int ld, int rows, int columns, bool to_double,
                ConvertRounding r, void *out) {
    size_t to = 0;
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++, to++) {
            double x = creal(number_get(t, at, (size_t)j * (size_t)ld + (size_t)i));
            if (to_double) ((double *)out)[to] = x;
            else ((float *)out)[to] = reduced((float)x, r);
        }
}

void convert_out(NumberType t, void *at, int ld, int rows, int columns, bool from_double,
                 const void *in) {
    const double *d = in;
    const float *f = in;
    size_t from = 0;
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++, from++)
            number_put(t, at, (size_t)j * (size_t)ld + (size_t)i,
                       from_double ? d[from] : (double)f[from]);
}
