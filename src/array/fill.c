/* fill.c - what arrays of a problem begin with where nobody says it: millions of elements, each
** time a case is made.
*/
#include "array/array.h"

#include <math.h>
#include <string.h>

enum { SORTS = 20 }; /* four of them: zero, one, two, and now and then a number far off */

static bool is_signed(ArrayType type) {
    return type != ARRAY_U8 && type != ARRAY_U16 && type != ARRAY_U32 && type != ARRAY_U64;
}

void array_fill_mixed(Array *a, gi_rng *r) {
    const bool is_float = array_type_is_float(a->type), sign = is_signed(a->type);
    const int far = a->type == ARRAY_I8 || a->type == ARRAY_U8 ? 100 : 200, low = sign ? -3 : 0;
    for (int64_t i = 0; i < a->count; i++) {
        const int sort = (int)gi_rng_below(r, SORTS);
        if (sort < 3) array_set_int(a, i, sort);
        else if (i == 0 || (sort == 3 && gi_rng_below(r, 4) == 0))
            array_set_int(a, i, sign && gi_rng_below(r, 2) == 0 ? -far : far);
        else if (is_float) array_set(a, i, 6 * gi_rng_unit(r) - 3);
        else array_set_int(a, i, low + (int64_t)gi_rng_below(r, (uint64_t)(40 - low) + 1));
    }
}

/* To the nearest; what is too large is the largest. */
static uint16_t half_bits(float x) {
    const int sign = x < 0 ? 0x8000 : 0;
    const double size = fabs((double)x);
    if (size >= 65504) return (uint16_t)(sign | 0x7bff);
    int exponent = size > 0 ? ilogb(size) : -14;
    if (exponent < -14) exponent = -14;
    const int mantissa = (int)floor(ldexp(size, 10 - exponent) + 0.5);
    return (uint16_t)(sign | (((exponent + 14) << 10) + mantissa));
}

/* The upper half of a float, to the nearest, ties to even. */
static uint16_t bfloat16_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

bool array_fill_bits(Array *a, const Array *floats, const char *format, gi_err *err) {
    const bool is_half = strcmp(format, "half") == 0;
    if (!is_half && strcmp(format, "bfloat16") != 0)
        return gi_fail(err, "usage", "'%s' is no format of 16 bits (half bfloat16)", format);
    if (a->type != ARRAY_U16 || floats->type != ARRAY_F32 || a->count != floats->count)
        return gi_fail(err, "usage", "bits of f32 go to an u16 of as many elements");
    const float *from = floats->data;
    uint16_t *to = a->data;
    for (int64_t i = 0; i < a->count; i++) to[i] = (is_half ? half_bits : bfloat16_bits)(from[i]);
    return true;
}
