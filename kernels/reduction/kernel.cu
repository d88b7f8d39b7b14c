// kernel.cu - sum of every row of a matrix, a block for every row.
//
// A first version as most people write it: each thread adds up every block_size-th element of the
// row, then the threads' sums are added in shared memory, half of them at a time.
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// block_size  threads a block: a power of two from 32 to 1024
// unroll      elements a thread adds to sums of their own before these are added: 1, 2 or 4
#define block_size 256
#define unroll 1

// float4Loads   four neighbours are read at once (rows begin at multiples of 16 bytes)
// shuffles      the last 32 sums are added by shuffles, without barriers
// interleaved   the tree adds neighbours first, not halves: more bank conflicts, same count
#undef float4Loads
#undef shuffles
#undef interleaved

#ifdef shuffles
#define tree_end 32  // sums that the tree in shared memory leaves
#else
#define tree_end 1
#endif

#ifdef float4Loads
#define step (4 * block_size)
#else
#define step block_size
#endif

// ---- the kernel -------------------------------------------------------------------------------
//
// sums[row] = sum of values[row][0 ... columns-1]. A row begins every `pitch` floats, a multiple of
// 4; what lies behind its last column is NaN.
//
// Launch: a block of block_size threads for every row.

extern "C" __global__ void row_sums(float *sums, const float *values, int columns, int pitch)
{
    __shared__ float shared[block_size];

    const float *row = values + blockIdx.x * pitch;
    const int thread = threadIdx.x;
    int i = 0;
    int u = 0;
    int half = 0;
    float4 four = make_float4(0.f, 0.f, 0.f, 0.f);
    float sum = 0.f;
    float partial[unroll];

    for (u = 0; u < unroll; u++) {
        partial[u] = 0.f;
    }

    // The thread's share of the row.
#ifdef float4Loads
    for (i = 4 * thread; i < columns; i += step * unroll) {
        for (u = 0; u < unroll; u++) {
            if (i + u * step + 3 < columns) {
                four = *(const float4 *)(row + i + u * step);
                partial[u] += (four.x + four.y) + (four.z + four.w);
            } else {
                if (i + u * step < columns) {
                    partial[u] += row[i + u * step];
                }
                if (i + u * step + 1 < columns) {
                    partial[u] += row[i + u * step + 1];
                }
                if (i + u * step + 2 < columns) {
                    partial[u] += row[i + u * step + 2];
                }
            }
        }
    }
#else
    for (i = thread; i < columns; i += step * unroll) {
        for (u = 0; u < unroll; u++) {
            if (i + u * step < columns) {
                partial[u] += row[i + u * step];
            }
        }
    }
#endif

    for (u = 0; u < unroll; u++) {
        sum += partial[u];
    }
    shared[thread] = sum;
    __syncthreads();

    // The tree.
#ifdef interleaved
    for (half = 1; half < block_size / tree_end; half *= 2) {
        if (thread % (2 * half) == 0) {
            shared[thread] += shared[thread + half];
        }
        __syncthreads();
    }
#else
    for (half = block_size / 2; half >= tree_end; half /= 2) {
        if (thread < half) {
            shared[thread] += shared[thread + half];
        }
        __syncthreads();
    }
#endif

    // What the tree leaves: one sum, or one for each lane of the first warp.
#ifdef shuffles
    if (thread < 32) {
#ifdef interleaved
        sum = shared[thread * (block_size / tree_end)];
#else
        sum = shared[thread];
#endif
        for (half = 16; half > 0; half /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, half);
        }
        if (thread == 0) {
            sums[blockIdx.x] = sum;
        }
    }
#else
    if (thread == 0) {
        sums[blockIdx.x] = shared[0];
    }
#endif
}
