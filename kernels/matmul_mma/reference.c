/* reference.c - the product of kernel.cu on the CPU, and the matrices of f16 that it is tested on.
**
** c[m][n] = a[m][k] * b[k][n], row by row; sums in double precision, rounded once at the end.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** bits, on every machine.
*/
#include <math.h>
#include <stdint.h>

#define STRIP 256 /* columns of c summed together */

/* The bits of n halves, multiples of 1/512 in [-1, 1). */
void mma_random(uint64_t seed, int64_t n, uint16_t *out);

void mma_product(const uint16_t *a, const uint16_t *b, int64_t m, int64_t n, int64_t k, float *c);

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

/* `width` columns of one row of c, from column x on. */
static void product_strip(const uint16_t *a, const uint16_t *b, int64_t n, int64_t k, int64_t x,
                          int64_t width, float *c) {
    double sum[STRIP] = {0};
    for (int64_t i = 0; i < k; i++) {
        double left = value_of(a[i]);
        for (int64_t j = 0; j < width; j++) sum[j] += left * value_of(b[i * n + x + j]);
    }
    for (int64_t j = 0; j < width; j++) c[x + j] = (float)sum[j];
}

void mma_product(const uint16_t *a, const uint16_t *b, int64_t m, int64_t n, int64_t k, float *c) {
    for (int64_t y = 0; y < m; y++)
        for (int64_t x = 0; x < n; x += STRIP)
            product_strip(a + y * k, b, n, k, x, n - x < STRIP ? n - x : STRIP, c + y * n);
}
