// A product by Hopper's own means: a producer warp loads tiles with tensor maps into a ring of
// buffers, two warpgroups multiply them with wgmma, and full and empty barriers pass them on.
// C (M x N, f32) = A (M x K, f16) times B (N x K, f16) turned, against plain C++.
#include <cstdint>
#include <cstdio>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_fp16.h>

enum { TM = 128, TN = 64, TK = 64, STAGES = 3, GROUPS = TM / 64, ROW = TK * 2 };
enum { STAGE = (TM + TN) * ROW, SHARED = STAGES * STAGE + 1024, CONSUMERS = 128 * GROUPS };
#define MAP const __grid_constant__ CUtensorMap

__device__ static uint32_t at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ static void init(uint64_t *b, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
}

__device__ static void wait(uint64_t *b, int parity) {
    for (int done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
                     "selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
}

__device__ static void load(const CUtensorMap *map, void *to, uint64_t *full, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(at(to)), "l"(map), "r"(at(full)), "r"(x), "r"(y)
                 : "memory");
}

// Rows of 128 bytes that are swizzled: groups of 8 rows are 1024 bytes apart.
__device__ static uint64_t descriptor(const char *start) {
    return (uint64_t)(at(start) & 0x3ffff) >> 4 | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
#define FOUR(i) "+f"(s[4 * i]), "+f"(s[4 * i + 1]), "+f"(s[4 * i + 2]), "+f"(s[4 * i + 3])

// s += A (64 x 16) times B (64 x 16) turned; a warpgroup has 32 sums a thread.
__device__ static void multiply(float (&s)[32], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,"
                 "%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
                 : FOUR(0), FOUR(1), FOUR(2), FOUR(3), FOUR(4), FOUR(5), FOUR(6), FOUR(7)
                 : "l"(a), "l"(b));
}

__device__ static void produce(const CUtensorMap *a, const CUtensorMap *b, char *ring, uint64_t *full,
                               uint64_t *empty, int depth) {
    for (int i = 0; i < depth / TK; i++) {
        int stage = i % STAGES;
        char *tile = ring + stage * STAGE;
        wait(&empty[stage], i / STAGES % 2 ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(&full[stage])),
                     "r"((int)STAGE) : "memory");
        load(a, tile, &full[stage], i * TK, blockIdx.y * TM);
        load(b, tile + TM * ROW, &full[stage], i * TK, blockIdx.x * TN);
    }
}

__device__ static void consume(float *c, int n, const char *ring, uint64_t *full, uint64_t *empty,
                               int depth) {
    int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    float s[32] = {};
    for (int i = 0; i < depth / TK; i++) {
        int stage = i % STAGES;
        const char *tile = ring + stage * STAGE;
        wait(&full[stage], i / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int k = 0; k < TK; k += 16)
            multiply(s, descriptor(tile + group * 64 * ROW + k * 2), descriptor(tile + TM * ROW + k * 2));
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (threadIdx.x % 128 == 0)
            asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at(&empty[stage])) : "memory");
    }
    int row = blockIdx.y * TM + group * 64 + warp * 16 + lane / 4, column = blockIdx.x * TN + lane % 4 * 2;
    for (int j = 0; j < 32; j++)
        c[(row + j / 2 % 2 * 8) * n + column + j / 4 * 8 + j % 2] = s[j];
}

__global__ void __launch_bounds__(CONSUMERS + 32) product(MAP a, MAP b, float *c, int n, int depth) {
    extern __shared__ char shared[];
    char *ring = shared + (1024 - at(shared) % 1024) % 1024;
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) init(&full[s], 1), init(&empty[s], GROUPS);
        asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x >= CONSUMERS) {
        if (threadIdx.x == CONSUMERS) produce(&a, &b, ring, full, empty, depth);
    } else {
        consume(c, n, ring, full, empty, depth);
    }
}

static PFN_cuTensorMapEncodeTiled_v12000 encode;

static CUtensorMap map_of(void *matrix, int rows, int columns, int box_rows) {
    CUtensorMap map;
    cuuint64_t size[] = {(cuuint64_t)columns, (cuuint64_t)rows}, stride[] = {(cuuint64_t)columns * 2};
    cuuint32_t box[] = {TK, (cuuint32_t)box_rows}, step[] = {1, 1};
    CUresult e = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, matrix, size, stride, box, step,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (e) printf("cuTensorMapEncodeTiled: %d\n", (int)e);
    return map;
}

static void check(int m, int n, int depth) {
    half *a, *b;
    float *c;
    int wrong = 0;
    cudaMallocManaged(&a, sizeof *a * m * depth), cudaMallocManaged(&b, sizeof *b * n * depth);
    cudaMallocManaged(&c, sizeof *c * m * n);
    for (int i = 0; i < m * depth; i++) a[i] = i * 7 % 13 - 6;
    for (int i = 0; i < n * depth; i++) b[i] = i * 5 % 11 - 5;
    product<<<dim3(n / TN, m / TM), CONSUMERS + 32, SHARED>>>(map_of(a, m, depth, TM), map_of(b, n, depth, TN),
                                                              c, n, depth);
    cudaError_t e = cudaDeviceSynchronize();
    for (int i = 0; i < m && !e; i++)
        for (int j = 0; j < n; j++) {
            float want = 0;
            for (int k = 0; k < depth; k++) want += float(a[i * depth + k]) * float(b[j * depth + k]);
            wrong += c[i * n + j] != want;
        }
    printf("%d x %d x %d: %d wrong, %s\n", m, n, depth, wrong, cudaGetErrorName(e));
    cudaFree(a), cudaFree(b), cudaFree(c);
}

int main() {
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &found);
    cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
    check(128, 64, 64);
    check(256, 128, 512);
}
