/* reference.c - the matrix product of kernel.cu on the CPU, and the matrices it is tested on.
**
** c[m][n] = a[m][k] * b[k][n], row by row; sums in double precision, rounded once at the end.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** bits, on every machine.
*/
#include <stdint.h>

#define STRIP 256 /* columns of c summed together */

/* n floats, uniform in [-1, 1). */
void matmul_random(uint64_t seed, int64_t n, float *out);

void matmul_product(const float *a, const float *b, int64_t m, int64_t n, int64_t k, float *c);

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void matmul_random(uint64_t seed, int64_t n, float *out) {
    uint64_t state = seed;
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)((double)(random_bits(&state) >> 41) * 0x1p-22 - 1);
}

/* `width` columns of one row of c, from column x on. */
static void product_strip(const float *a, const float *b, int64_t n, int64_t k, int64_t x,
                          int64_t width, float *c) {
    double sum[STRIP] = {0};
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < width; j++) sum[j] += (double)a[i] * (double)b[i * n + x + j];
    for (int64_t j = 0; j < width; j++) c[x + j] = (float)sum[j];
}

void matmul_product(const float *a, const float *b, int64_t m, int64_t n, int64_t k, float *c) {
    for (int64_t y = 0; y < m; y++)
        for (int64_t x = 0; x < n; x += STRIP)
            product_strip(a + y * k, b, n, k, x, n - x < STRIP ? n - x : STRIP, c + y * n);
}
