/* field.c - powers, inverses and constants of the two fields. See field.h. */
#include "emu/exact/field.h"

#include <math.h>

const Field field_p = {1152921504606843299u, 0x263e8541a74d35f5u, 0xe5d0u, 0xce4dc900u};
const Field field_q = {576460752303421649u, 0xe1709e235bbc9fcfu, 0xe5e0u, 0xce6a8400u};

uint64_t field_pow(const Field *f, uint64_t a, uint64_t exponent) {
    uint64_t power = f->one;
    for (; exponent; exponent >>= 1, a = field_mul(f, a, a))
        if (exponent & 1) power = field_mul(f, power, a);
    return power;
}

uint64_t field_inverse(const Field *f, uint64_t a) {
    return field_pow(f, a, f->n - 2);
}

/* --- constants --- */

enum { TERMS = 40 };

/* A fraction is simple where few have so small a product of its two numbers. */
static bool is_simple(double over, double under, bool single) {
    return over * under < (single ? 0x1p22 : 0x1p44) && under < 0x1p31 && over < 0x1p52;
}

/* Continues the fraction of x > 0 until it rounds to x; false: none that is simple does. */
static bool find_fraction(double x, bool single, Fraction *out) {
    double h0 = 0, h1 = 1, k0 = 1, k1 = 0, rest = x;
    for (int i = 0; i < TERMS; i++) {
        double whole = floor(rest), h = whole * h1 + h0, k = whole * k1 + k0;
        if (!is_simple(h, k, single)) return false;
        double value = single ? (double)(float)(h / k) : h / k;
        if (value == x) {
            *out = (Fraction){(uint64_t)h, (uint64_t)k, 0, false};
            return true;
        }
        if (rest == whole) return false;
        rest = 1 / (rest - whole);
        h0 = h1, h1 = h, k0 = k1, k1 = k;
    }
    return false;
}

Fraction fraction_of(double x, bool single) {
    Fraction f = {0, 1, 0, x < 0};
    int exponent;
    if (x == 0 || find_fraction(fabs(x), single, &f)) {
        f.negative = x < 0;
        return f;
    }
    f.over = (uint64_t)ldexp(frexp(fabs(x), &exponent), 53);
    f.exponent = exponent - 53;
    return f;
}

uint64_t field_fraction(const Field *f, const Fraction *x) {
    uint64_t two = field_of(f, 2), value = field_of(f, x->over);
    uint64_t power = field_pow(f, two, (uint64_t)(x->exponent < 0 ? -x->exponent : x->exponent));
    if (x->exponent < 0) power = field_inverse(f, power);
    if (x->under != 1) power = field_mul(f, power, field_inverse(f, field_of(f, x->under)));
    value = field_mul(f, value, power);
    return x->negative ? field_neg(f, value) : value;
}
