// kernel.cu - attention by tensor cores (mma.sync) in f16, sums and softmax in f32.
//
// A first version: each warp has 16 queries, goes over the keys a tile at a time and keeps a
// running maximum and sum, so that scores are never written (Dao et al., "FlashAttention", 2022).
// The same on the CPU, and how the inputs are made: reference.c.

// ---- configuration: evolution turns `#undef NAME` into `#define NAME 1`, or changes a value ----
//
// tile_keys  keys, and values, of a tile: 16, 32, 64 or 128
#define tile_keys 32

// wide     16 bytes are copied at a time
// padded   rows of the tiles are 16 bytes longer, so that rows of a fragment lie in different banks
// kept     fragments of the queries are loaded once for all keys
// approx   powers of two by the GPU's own instruction instead of expf
#undef wide
#undef padded
#undef kept
#undef approx

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

#ifdef approx
#define power(x) power_of_two((x) * 1.44269504f)
#else
#define power(x) expf(x)
#endif

#define width 64        // numbers of a query, a key and a value
#define tile_queries 64 // 16 a warp
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

// 8 rows of 16 numbers.
__device__ __forceinline__ void load_rows(unsigned (&y)[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(y[0]), "=r"(y[1])
                 : "r"(shared_address(row)) : "memory");
}

// 16 rows of 8 numbers, turned.
__device__ __forceinline__ void load_turned(unsigned (&y)[2], const void *row)
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

__device__ __forceinline__ unsigned pair(float low, float high)
{
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ __forceinline__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The four lanes that have a row of a fragment.
__device__ __forceinline__ float largest_of_row(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

__device__ __forceinline__ float sum_of_row(float x)
{
    x += __shfl_xor_sync(0xffffffff, x, 1);
    return x + __shfl_xor_sync(0xffffffff, x, 2);
}

// ---- the kernel -------------------------------------------------------------------------------
//
// o[i] = sum over j of exp(q[i] k[j] scale) v[j], divided by the sum of those powers; rows of
// `width` numbers one after the other.
//
// Launch: blocks of 128 threads, a block for every 64 queries.

extern "C" __global__ void attention_mma(float *o, const unsigned short *q,
                                         const unsigned short *k, const unsigned short *v,
                                         int queries, int keys, float scale)
{
    __shared__ __align__(16) unsigned short tileQ[tile_queries][width + gap];
    __shared__ __align__(16) unsigned short tileK[tile_keys][width + gap];
    __shared__ __align__(16) unsigned short tileV[tile_keys][width + gap];

    const int t = threadIdx.x;
    const int lane = t % 32;
    const int warp = t / 32;
    const int top = blockIdx.x * tile_queries;
    int start = 0;
    int i = 0;
    int j = 0;
    int l = 0;
    int row = 0;
    int column = 0;
    float before = 0.f;
    float shrink[2];
    float most[2] = {-1e30f, -1e30f}; // of rows lane / 4 and 8 behind it
    float total[2] = {0.f, 0.f};
    unsigned x[4];
    unsigned y[2];
    float score[tile_keys / 8][4];
    float sum[width / 8][4];
#ifdef kept
    unsigned query[width / 16][4];
#endif

    for (j = 0; j < width / 8; j++) {
        for (i = 0; i < 4; i++) {
            sum[j][i] = 0.f;
        }
    }
    for (i = t * at_once; i < tile_queries * width; i += threads * at_once) {
        row = i / width;
        piece value = nothing;
        if (top + row < queries) {
            value = *(const piece *)&q[top * width + i];
        }
        *(piece *)&tileQ[row][i % width] = value;
    }
    __syncthreads();
#ifdef kept
    for (l = 0; l < width / 16; l++) {
        load_a(query[l], &tileQ[warp * 16 + lane % 16][l * 16 + lane / 16 * 8]);
    }
#endif

    for (start = 0; start < keys; start += tile_keys) {
        for (i = t * at_once; i < tile_keys * width; i += threads * at_once) {
            row = i / width;
            piece key = nothing;
            piece value = nothing;
            if (start + row < keys) {
                key = *(const piece *)&k[start * width + i];
                value = *(const piece *)&v[start * width + i];
            }
            *(piece *)&tileK[row][i % width] = key;
            *(piece *)&tileV[row][i % width] = value;
        }
        __syncthreads();

        // scores of 16 queries and all keys of the tile
        for (j = 0; j < tile_keys / 8; j++) {
            for (i = 0; i < 4; i++) {
                score[j][i] = 0.f;
            }
            for (l = 0; l < width / 16; l++) {
                load_rows(y, &tileK[j * 8 + lane % 8][l * 16 + lane / 8 % 2 * 8]);
#ifdef kept
                multiply(score[j], query[l], y);
#else
                load_a(x, &tileQ[warp * 16 + lane % 16][l * 16 + lane / 16 * 8]);
                multiply(score[j], x, y);
#endif
            }
            for (i = 0; i < 4; i++) {
                column = start + j * 8 + lane % 4 * 2 + i % 2;
                score[j][i] = column < keys ? score[j][i] * scale : -1e30f;
            }
        }

        // a larger maximum shrinks what is there
        for (i = 0; i < 2; i++) {
            before = most[i];
            for (j = 0; j < tile_keys / 8; j++) {
                most[i] = fmaxf(most[i], fmaxf(score[j][2 * i], score[j][2 * i + 1]));
            }
            most[i] = largest_of_row(most[i]);
            shrink[i] = power(before - most[i]);
            total[i] *= shrink[i];
        }
        for (j = 0; j < width / 8; j++) {
            for (i = 0; i < 4; i++) {
                sum[j][i] *= shrink[i / 2];
            }
        }
        for (j = 0; j < tile_keys / 8; j++) {
            for (i = 0; i < 4; i++) {
                score[j][i] = power(score[j][i] - most[i / 2]);
                total[i / 2] += score[j][i];
            }
        }

        // 16 keys at a time, their powers as the left factor
        for (l = 0; l < tile_keys / 16; l++) {
            x[0] = pair(score[2 * l][0], score[2 * l][1]);
            x[1] = pair(score[2 * l][2], score[2 * l][3]);
            x[2] = pair(score[2 * l + 1][0], score[2 * l + 1][1]);
            x[3] = pair(score[2 * l + 1][2], score[2 * l + 1][3]);
            for (j = 0; j < width / 8; j++) {
                load_turned(y, &tileV[l * 16 + lane % 16][j * 8]);
                multiply(sum[j], x, y);
            }
        }
        __syncthreads();
    }

    total[0] = sum_of_row(total[0]);
    total[1] = sum_of_row(total[1]);
    for (j = 0; j < width / 8; j++) {
        for (i = 0; i < 4; i++) {
            row = top + warp * 16 + lane / 4 + i / 2 * 8;
            column = j * 8 + lane % 4 * 2 + i % 2;
            if (row < queries) {
                o[row * width + column] = sum[j][i] / total[i / 2];
            }
        }
    }
}
