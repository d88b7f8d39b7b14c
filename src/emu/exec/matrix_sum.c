/* matrix_sum.c - see matrix_sum.h: number by number, for all that the fast loop leaves out. */
#include "emu/exec/matrix_sum.h"

#include "emu/exec/num.h"

#include <math.h>

/* Returns x as a whole number of units of 2^unit, cut. */
static int64_t units(double x, int unit) {
    return (int64_t)trunc(ldexp(x, -unit));
}

/* What is kept of a sum of units. */
static float finish(int64_t sum, int unit, const MatrixTask *t) {
    double exact = ldexp((double)sum, unit); /* 53 bits are enough for 33 products of 27 */
    /* A small sum below zero is rounded to a zero without a sign. */
    if (t->halves) return num_f16_to_f32(num_f64_to_f16(exact, NUM_RN)) + 0.0f;
    if (fabs(exact) >= 0x1p128) return exact < 0 ? -INFINITY : INFINITY;
    float x = num_f64_to_f32(exact, NUM_RZ);
    uint32_t cut = (1u << (23 - t->rule.kept)) - 1;
    return num_f32_from_bits(num_f32_bits(x) & ~cut);
}

/* Infinities and NaN go as the sum of doubles has them. */
static float special(const MatrixTask *t, double sum) {
    (void)t;
    return sum == sum ? (float)sum : num_f32_from_bits(0x7fffffff);
}

static int exponent_at(float x, int least) {
    return matrix_exponent(num_f32_bits(x), least);
}

float matrix_sum_one(const MatrixTask *t, int i, int j, float c, int from, int to, int some) {
    int top = exponent_at(c, matrix_least(t->halves ? MATRIX_F16 : MATRIX_F32)), n = 0;
    double whole = (double)c, product[64];
    for (int k = from; k < to; k++) {
        float a = t->a[k * MATRIX_STRIP + i], b = t->b[j * t->k + k];
        if (some && (k - from) % some >= some / 2) continue;
        if (t->per == 1 && t->ea[k * MATRIX_STRIP + i] == (uint32_t)MATRIX_NONE) continue;
        int e = exponent_at(a, t->least[0]) + exponent_at(b, t->least[1]);
        whole += product[n++] = (double)a * (double)b;
        top = e > top ? e : top;
    }
    if (top >= MATRIX_SPECIAL / 2) return special(t, whole);
    int unit = top - t->rule.fraction;
    int64_t sum = units((double)c, unit);
    for (int k = 0; k < n; k++) sum += units(product[k], unit);
    return finish(sum, unit, t);
}

void matrix_sum_plain(const MatrixTask *t) {
    for (int from = 0; from < t->k; from += t->rule.at_once) {
        int to = from + t->rule.at_once < t->k ? from + t->rule.at_once : t->k;
        for (int j = 0; j < t->n; j++)
            for (int i = 0; i < MATRIX_STRIP; i++) {
                float *c = &t->c[j * MATRIX_STRIP + i];
                *c = matrix_sum_one(t, i, j, *c, from, to, 0);
            }
    }
}
