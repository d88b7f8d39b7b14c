/* reference.c - the row sums of kernel.cu on the CPU, and the matrices they are tested on.
**
** A matrix is stored row by row, a row every `pitch` floats; the floats behind its last column are
** NaN, so that a kernel which adds them is found out. Sums in double precision, rounded once.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** bits, on every machine.
*/
#include <math.h>
#include <stdint.h>

/* Uniform in [-1, 1). */
void reduction_matrix(uint64_t seed, int64_t rows, int64_t columns, int64_t pitch, float *values);

void reduction_sums(const float *values, int64_t rows, int64_t columns, int64_t pitch, float *sums);

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void reduction_matrix(uint64_t seed, int64_t rows, int64_t columns, int64_t pitch, float *values) {
    uint64_t state = seed;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < pitch; x++)
            values[y * pitch + x] =
                x < columns ? (float)((double)(random_bits(&state) >> 41) * 0x1p-22 - 1) : NAN;
}

void reduction_sums(const float *values, int64_t rows, int64_t columns, int64_t pitch,
                    float *sums) {
    for (int64_t y = 0; y < rows; y++) {
        double sum = 0;
        for (int64_t x = 0; x < columns; x++) sum += (double)values[y * pitch + x];
        sums[y] = (float)sum;
    }
}
