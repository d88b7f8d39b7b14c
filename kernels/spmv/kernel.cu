// kernel.cu - sparse matrix times vector, the matrix in compressed rows.
//
// A first version as most people write it: a thread for every row. Rows are of very different
// length, so that the threads of a warp wait for the longest; a row may be shared by several.
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// block_size       threads a block: any multiple of 32 up to 1024
// lanes            neighbouring threads that share a row: 1, 2, 4, 8, 16 or 32
// rows_per_thread  rows that a thread (or its share of one) does one after the other: 1, 2, 4 or 8
#define block_size 256
#define lanes 1
#define rows_per_thread 1

// textureX    the vector is read through a texture
// streamA     the matrix, which is read once, is read past the cache
// twoSums     a thread adds to two sums in turn
// warpRows    the rows of a thread are next to each other, not the grid's width apart
#undef textureX
#undef streamA
#undef twoSums
#undef warpRows

#ifdef textureX
#define elementOf(column) tex1Dfetch<float>(xTexture, column)
#else
#define elementOf(column) x[column]
#endif

#ifdef streamA
#define once(p) __ldcs(p)
#else
#define once(p) (*(p))
#endif

__constant__ cudaTextureObject_t xTexture;

// ---- the kernel -------------------------------------------------------------------------------
//
// y[row] = sum of values[e] * x[columns[e]] over the row's elements, which are first[row] to
// first[row + 1] - 1.
//
// The lanes of a team add their sums by shuffles; all lanes of a warp take part in these, those
// whose row does not exist too.
//
// Launch: block_size threads; blocks for rows * lanes / rows_per_thread threads.

extern "C" __global__ void spmv(float *y, const int *first, const int *columns,
                                const float *values, const float *x, int rows)
{
    const int lane = threadIdx.x % lanes;
    const int team = (blockIdx.x * block_size + threadIdx.x) / lanes;
    const int teams = gridDim.x * (block_size / lanes);
    int row = 0;
    int r = 0;
    int e = 0;
    int stop = 0;
    int offset = 0;
    float sum = 0.f;
    float other = 0.f;

    for (r = 0; r < rows_per_thread; r++) {
#ifdef warpRows
        row = team * rows_per_thread + r;
#else
        row = team + r * teams;
#endif
        sum = 0.f;
        other = 0.f;
        if (row < rows) {
            e = first[row] + lane;
            stop = first[row + 1];
#ifdef twoSums
            for (; e + lanes < stop; e += 2 * lanes) {
                sum += once(values + e) * elementOf(once(columns + e));
                other += once(values + e + lanes) * elementOf(once(columns + e + lanes));
            }
            if (e < stop) {
                sum += once(values + e) * elementOf(once(columns + e));
            }
            sum += other;
#else
            for (; e < stop; e += lanes) {
                sum += once(values + e) * elementOf(once(columns + e));
            }
#endif
        }
        for (offset = lanes / 2; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, offset, lanes);
        }
        if (row < rows && lane == 0) {
            y[row] = sum;
        }
    }
}
