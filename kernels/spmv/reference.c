/* reference.c - sparse matrix times vector on the CPU, and the matrices kernel.cu is tested on.
**
** Compressed rows: row r has the elements first[r] to first[r + 1] - 1 of `columns` and `values`,
** in the order of their columns. Sums in double precision, rounded once.
**
** Rows differ in length: most are short, a few are long, some are empty. Half of a row's columns
** are near the diagonal, the others anywhere.
**
** Plain C11. Called from problem.lua through gilua's library loader. Deterministic: same seed, same
** bits, on every machine.
*/
#include <stdint.h>
#include <stdlib.h>

/* Fills first (rows + 1 numbers); `mean` is about the mean length. Returns how many elements. */
int64_t spmv_lengths(uint64_t seed, int64_t rows, int64_t columns, int64_t mean, int32_t *first);

/* The elements, uniform in [-1, 1), and the vector. */
void spmv_elements(uint64_t seed, int64_t rows, int64_t columns, const int32_t *first,
                   int32_t *column, float *values, float *x);

void spmv_product(const int32_t *first, const int32_t *column, const float *values, const float *x,
                  int64_t rows, float *y);

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double random_unit(uint64_t *state) {
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

/* u^4 has mean 1/5: of a row of at most 5 * mean. */
int64_t spmv_lengths(uint64_t seed, int64_t rows, int64_t columns, int64_t mean, int32_t *first) {
    uint64_t state = seed;
    first[0] = 0;
    for (int64_t r = 0; r < rows; r++) {
        const double u = random_unit(&state);
        int64_t length = (int64_t)(u * u * u * u * 5 * (double)mean + 0.5);
        if (length > columns) length = columns;
        first[r + 1] = first[r] + (int32_t)length;
    }
    return first[rows];
}

static int by_number(const void *a, const void *b) {
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return (i > j) - (i < j);
}

static int32_t draw_column(uint64_t *state, int64_t diagonal, int64_t columns) {
    const uint64_t bits = random_bits(state);
    int64_t column = (int64_t)(bits >> 33) % columns;
    if (bits & 1) column = (diagonal + (int64_t)(bits >> 33) % 64) % columns;
    return (int32_t)column;
}

void spmv_elements(uint64_t seed, int64_t rows, int64_t columns, const int32_t *first,
                   int32_t *column, float *values, float *x) {
    uint64_t state = ~seed;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t diagonal = r * columns / rows;
        for (int32_t e = first[r]; e < first[r + 1]; e++)
            column[e] = draw_column(&state, diagonal, columns);
        qsort(column + first[r], (size_t)(first[r + 1] - first[r]), sizeof *column, by_number);
    }
    for (int32_t e = 0; e < first[rows]; e++) values[e] = (float)(2 * random_unit(&state) - 1);
    for (int64_t c = 0; c < columns; c++) x[c] = (float)(2 * random_unit(&state) - 1);
}

void spmv_product(const int32_t *first, const int32_t *column, const float *values, const float *x,
                  int64_t rows, float *y) {
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int32_t e = first[r]; e < first[r + 1]; e++)
            sum += (double)values[e] * (double)x[column[e]];
        y[r] = (float)sum;
    }
}
