// kernel.cu - product of two matrices of f16 by tensor cores (mma.sync), sums in f32.
//
// A first version: tiles of both factors go through shared memory number by number, and each warp
// multiplies 16 rows of a tile, 16 numbers along k and 8 columns at a time.
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// tile_n  columns of the result that a block computes: 32, 64 or 128 (rows: 64)
// depth   numbers along k that a tile has: 16, 32 or 64
#define tile_n 64
#define depth 32

// wide    16 bytes are copied at a time (the sizes are multiples of 8)
// padded  rows of the tiles are 16 bytes longer, so that rows of a fragment lie in different banks
// kept    a fragment of A is loaded once for all columns
#undef wide
#undef padded
#undef kept

#ifdef padded
#define gap 8
#else
#define gap 0
#endif

#ifdef wide
#define piece uint4
#define at_once 8
#define nothing make_uint4(0, 0, 0, 0)
#else
#define piece unsigned short
#define at_once 1
#define nothing 0
#endif

#define tile_m 64
#define threads 128

// ---- tensor cores -----------------------------------------------------------------------------

__device__ __forceinline__ unsigned shared_address(const void *p)
{
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(p));
    return (unsigned)address;
}

// 16 rows of 16 numbers, a row an address.
__device__ __forceinline__ void load_a(unsigned (&x)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(row)) : "memory");
}

// 16 rows of 8 numbers, turned.
__device__ __forceinline__ void load_b(unsigned (&y)[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(y[0]), "=r"(y[1])
                 : "r"(shared_address(row)) : "memory");
}

__device__ __forceinline__ void multiply(float (&s)[4], const unsigned (&x)[4],
                                         const unsigned (&y)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}

// ---- the kernel -------------------------------------------------------------------------------
//
// c[m][n] = a[m][k] * b[k][n], row by row. Sizes are multiples of 8.
//
// Launch: blocks of 128 threads, a block for every tile of tile_m x tile_n of c.

extern "C" __global__ void matmul_mma(float *c, const unsigned short *a,
                                      const unsigned short *b, int m, int n, int k)
{
    __shared__ __align__(16) unsigned short tileA[tile_m][depth + gap];
    __shared__ __align__(16) unsigned short tileB[depth][tile_n + gap];

    const int t = threadIdx.x;
    const int lane = t % 32;
    const int warp = t / 32;
    const int top = blockIdx.y * tile_m;
    const int left = blockIdx.x * tile_n;
    int start = 0;
    int i = 0;
    int j = 0;
    int l = 0;
    int row = 0;
    int column = 0;
    unsigned x[4];
    unsigned y[2];
    float sum[tile_n / 8][4];

    for (j = 0; j < tile_n / 8; j++) {
        for (i = 0; i < 4; i++) {
            sum[j][i] = 0.f;
        }
    }

    for (start = 0; start < k; start += depth) {
        for (i = t * at_once; i < tile_m * depth; i += threads * at_once) {
            row = i / depth;
            column = i % depth;
            piece value = nothing;
            if (top + row < m && start + column < k) {
                value = *(const piece *)&a[(top + row) * k + start + column];
            }
            *(piece *)&tileA[row][column] = value;
        }
        for (i = t * at_once; i < depth * tile_n; i += threads * at_once) {
            row = i / tile_n;
            column = i % tile_n;
            piece value = nothing;
            if (start + row < k && left + column < n) {
                value = *(const piece *)&b[(start + row) * n + left + column];
            }
            *(piece *)&tileB[row][column] = value;
        }
        __syncthreads();

        for (l = 0; l < depth; l += 16) {
#ifdef kept
            load_a(x, &tileA[warp * 16 + lane % 16][l + lane / 16 * 8]);
#endif
            for (j = 0; j < tile_n / 8; j++) {
#ifndef kept
                load_a(x, &tileA[warp * 16 + lane % 16][l + lane / 16 * 8]);
#endif
                load_b(y, &tileB[l + lane % 16][j * 8]);
                multiply(sum[j], x, y);
            }
        }
        __syncthreads();
    }

    for (j = 0; j < tile_n / 8; j++) {
        for (i = 0; i < 4; i++) {
            row = top + warp * 16 + lane / 4 + i / 2 * 8;
            column = left + j * 8 + lane % 4 * 2 + i % 2;
            if (row < m && column < n) {
                c[row * n + column] = sum[j][i];
            }
        }
    }
}
