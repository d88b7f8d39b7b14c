/* reference.c - attention as kernel.cu has it on the CPU, and the f16 that it is tested on.
**
** o[i] = sum over j of exp(q[i] k[j] scale) v[j], divided by the sum of those powers, in double
** precision, rounded once at the end.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** bits, on every machine.
*/
#include <math.h>
#include <stdint.h>

enum { WIDTH = 64 };

/* The bits of n halves, multiples of 1/512 in [-1, 1). */
void mma_random(uint64_t seed, int64_t n, uint16_t *out);

void mma_attention(const uint16_t *q, const uint16_t *k, const uint16_t *v, int64_t queries,
                   int64_t keys, double scale, float *o);

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A normal number of at most 11 bits. */
static uint16_t half_of(double x) {
    int e;
    double f = frexp(fabs(x), &e);
    uint16_t sign = x < 0 ? 0x8000 : 0;
    return x == 0 ? 0 : (uint16_t)(sign | ((e + 14) << 10) | ((uint16_t)(f * 2048) & 0x3ff));
}

static double value_of(uint16_t h) {
    double size =
        (h & 0x7c00) ? ldexp((h & 0x3ff) + 1024, (h >> 10 & 31) - 25) : (h & 0x3ff) * 0x1p-24;
    return h & 0x8000 ? -size : size;
}

void mma_random(uint64_t seed, int64_t n, uint16_t *out) {
    uint64_t state = seed;
    for (int64_t i = 0; i < n; i++)
        out[i] = half_of((double)(random_bits(&state) >> 54) * 0x1p-9 - 1);
}

static double dot(const uint16_t *a, const uint16_t *b) {
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += value_of(a[i]) * value_of(b[i]);
    return sum;
}

/* Scores are at most WIDTH * scale, so that their powers need no maximum. */
static void attend(const uint16_t *query, const uint16_t *k, const uint16_t *v, int64_t keys,
                   double scale, float *o) {
    double sum[WIDTH] = {0}, total = 0;
    for (int64_t j = 0; j < keys; j++) {
        double power = exp(dot(query, k + j * WIDTH) * scale);
        total += power;
        for (int i = 0; i < WIDTH; i++) sum[i] += power * value_of(v[j * WIDTH + i]);
    }
    for (int i = 0; i < WIDTH; i++) o[i] = (float)(sum[i] / total);
}

void mma_attention(const uint16_t *q, const uint16_t *k, const uint16_t *v, int64_t queries,
                   int64_t keys, double scale, float *o) {
    for (int64_t i = 0; i < queries; i++) attend(q + i * WIDTH, k, v, keys, scale, o + i * WIDTH);
}
