// kernel.cu - product of two matrices, a thread for every element (or a few) of the result.
//
// A first version as most people write it: square tiles of both factors go through shared memory,
// so that each element is read from global memory once a tile and not once a product.
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// tile             side of the square of the result that a block computes: 8, 16 or 32
// rows_per_thread  elements of one column that a thread computes: 1, 2, 4 or 8
#define tile 16
#define rows_per_thread 1

// direct    no tiles: every thread reads its row of A and its column of B from global memory
// padded    rows of the tiles are one float longer, so that a column lies in different banks
// tileAT    the tile of A is stored transposed
#undef direct
#undef padded
#undef tileAT

#ifdef padded
#define pitch (tile + 1)
#else
#define pitch tile
#endif

#ifdef tileAT
#define elementA(y, x) tileA[x][y]
#else
#define elementA(y, x) tileA[y][x]
#endif

#define block_rows (tile / rows_per_thread)  // threads of a block along y
#define block_threads (tile * block_rows)

// ---- the kernel -------------------------------------------------------------------------------
//
// c[m][n] = a[m][k] * b[k][n], all of them row by row. Any sizes.
//
// Launch: blocks of tile x (tile / rows_per_thread) threads, a block for every tile of c.

extern "C" __global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k)
{
    __shared__ float tileA[tile][pitch];
    __shared__ float tileB[tile][pitch];

    const int x = threadIdx.x;
    const int column = blockIdx.x * tile + x;
    const int top = blockIdx.y * tile;  // first row of the block
    int row = top + threadIdx.y;
    int y = threadIdx.y;
    int start = 0;  // of the tiles along k
    int i = 0;
    int r = 0;
    float valueA = 0.f;
    float valueB = 0.f;
    float sum[rows_per_thread];

    for (r = 0; r < rows_per_thread; r++) {
        sum[r] = 0.f;
    }

#ifdef direct
    for (i = 0; i < k; i++) {
        valueB = column < n ? b[i * n + column] : 0.f;
        for (r = 0; r < rows_per_thread; r++) {
            row = top + threadIdx.y + r * block_rows;
            valueA = row < m ? a[row * k + i] : 0.f;
            sum[r] += valueA * valueB;
        }
    }
#else
    for (start = 0; start < k; start += tile) {
        for (r = 0; r < rows_per_thread; r++) {
            y = threadIdx.y + r * block_rows;
            row = top + y;
            valueA = 0.f;
            valueB = 0.f;
            if (row < m && start + x < k) {
                valueA = a[row * k + start + x];
            }
            if (start + y < k && column < n) {
                valueB = b[(start + y) * n + column];
            }
            elementA(y, x) = valueA;
            tileB[y][x] = valueB;
        }
        __syncthreads();

        for (i = 0; i < tile; i++) {
            valueB = tileB[i][x];
            for (r = 0; r < rows_per_thread; r++) {
                sum[r] += elementA(threadIdx.y + r * block_rows, i) * valueB;
            }
        }
        __syncthreads();
    }
#endif

    for (r = 0; r < rows_per_thread; r++) {
        row = top + threadIdx.y + r * block_rows;
        if (row < m && column < n) {
            c[row * n + column] = sum[r];
        }
    }
}
