// As pending.cu, for tiles that are multiplied, sent or described: `pending_groups bug` and `fix`.
// The mark told at a line is the place of a finding in the first, and of none in the second.
// `pending_groups NAME` runs one that ends its launch, `pending_groups NAME fix` the same, mended.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cudaTypedefs.h>

typedef unsigned long long Word;

__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(Word *b, int n) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;\nfence.proxy.async.shared::cta;" ::"r"(at(b)), "r"(n)
                 : "memory");
}
__device__ void arrive(Word *b) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ void expect(Word *b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes) : "memory");
}
#define WAIT(b, parity)                                                                            \
    for (int done = 0; !done;)                                                                     \
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"              \
                 "selp.s32 %0, 1, 0, p; }"                                                         \
                 : "=r"(done) : "r"(at(b)), "r"(parity) : "memory")
#define LOAD(to, from, bytes, b)                                                                   \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "  \
                 "%2, [%3];" ::"r"(at(to)), "l"(from), "r"((int)(bytes)), "r"(at(b)) : "memory")
#define FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define COPY(to, from)                                                                             \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(to)), "l"(from) : "memory");  \
    asm volatile("cp.async.commit_group;" ::: "memory")

// s += A (64 x 16, f16) times B (8 x 16) turned: rows of 8 times 16 bytes follow each other.
#define MULTIPLY(s, a, b)                                                                          \
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                        \
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, " \
                 "1, 0, 0;" : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) : "l"(a), "l"(b));   \
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define MULTIPLIED() asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")

enum { N = 128, A_BYTES = 64 * 32, B_BYTES = 8 * 32, BYTES = A_BYTES + B_BYTES };

__device__ uint64_t describe(const void *start, int leading) {
    return (uint64_t)at(start) >> 4 | (uint64_t)(leading >> 4) << 16 | (uint64_t)(128 >> 4) << 32;
}
#define OF_A(tile) describe(tile, A_BYTES / 2)
#define OF_B(tile) describe((const char *)(tile) + A_BYTES, B_BYTES / 2)

// 1: a product of what threads wrote, without a fence between their stores and it
template <bool BUG> __global__ void unfenced(float *out) {
    __shared__ alignas(128) int tile[BYTES / 4];
    float s[4] = {};
    for (int i = threadIdx.x; i < BYTES / 4; i += N) tile[i] = 0x3c003c00;
    if (!BUG) FENCE();
    __syncthreads();
    MULTIPLY(s, OF_A(tile), OF_B(tile)); // told: race
    MULTIPLIED();
    out[threadIdx.x] = s[0];
}

// 2: a tile that the next copy fills while the product of the last one still reads it
template <bool BUG> __global__ void refilled(const int *in, float *out) {
    __shared__ alignas(128) int tile[BYTES / 4];
    __shared__ Word bar;
    float s[4] = {};
    if (threadIdx.x == 0) init(&bar, 1);
    __syncthreads();
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            expect(&bar, BYTES);
            LOAD(tile, in, BYTES, &bar); // told: race
        }
        __syncthreads();
        WAIT(&bar, i);
        MULTIPLY(s, OF_A(tile), OF_B(tile));
        if (!BUG) MULTIPLIED();
        __syncthreads();
    }
    MULTIPLIED();
    out[threadIdx.x] = s[0];
}

// 3: a ring of two buffers: consumers hand one back before they have read it
template <bool BUG> __global__ void released(const int *in, int *out) {
    __shared__ alignas(16) int tile[2][N];
    __shared__ Word full[2], empty[2];
    int t = threadIdx.x, sum = 0;
    if (t < 2) init(&full[t], 1), init(&empty[t], N);
    __syncthreads();
    if (t == N) {
        for (int i = 0; i < 6; i++) {
            WAIT(&empty[i % 2], i / 2 % 2 ^ 1);
            expect(&full[i % 2], sizeof tile[0]);
            LOAD(tile[i % 2], in + i * N, sizeof tile[0], &full[i % 2]); // told: race
        }
    } else if (t < N) {
        for (int i = 0; i < 6; i++) {
            WAIT(&full[i % 2], i / 2 % 2);
            if (BUG) arrive(&empty[i % 2]);
            sum += tile[i % 2][N - 1 - t];
            if (!BUG) arrive(&empty[i % 2]);
        }
        out[t] = sum;
    }
}

// 4: two buffers of cp.async, and a wait that leaves the group pending that is read
template <bool BUG> __global__ void one_too_few(const int *in, int *out) {
    __shared__ int tile[2][N];
    int t = threadIdx.x, sum = 0;
    COPY(&tile[0][t], &in[t]);
    for (int i = 0; i < 4; i++) {
        COPY(&tile[(i + 1) % 2][t], &in[(i + 1) % 4 * N + t]); // told: race
        if (BUG) asm volatile("cp.async.wait_group 2;" ::: "memory");
        else asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += tile[i % 2][N - 1 - t]; // told: race
        __syncthreads();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[t] = sum;
}

// 5: what the other block of a cluster sends, read before the phase in which it comes
template <bool BUG> __global__ void __cluster_dims__(2, 1, 1) sent(int *out) {
    __shared__ alignas(16) int box[32];
    __shared__ Word bar;
    unsigned rank = blockIdx.x % 2, to, object;
    int t = threadIdx.x;
    if (t == 0) init(&bar, 1), expect(&bar, sizeof box);
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(at(&box[t])), "r"(1 - rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(object) : "r"(at(&bar)), "r"(1 - rank));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
                 "r"(t), "r"(object) : "memory");
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (!BUG) WAIT(&bar, 0);
    out[rank * 32 + t] = box[t]; // told: race
    WAIT(&bar, 0);
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// --- those that end their launch

__global__ void beyond(float *out, int more) { // the second half of A along k is not there
    __shared__ alignas(128) int tile[BYTES / 4];
    float s[4] = {};
    for (int i = threadIdx.x; i < BYTES / 4; i += N) tile[i] = 0;
    FENCE();
    __syncthreads();
    MULTIPLY(s, describe(tile, A_BYTES / 2 + more), OF_B(tile));
    MULTIPLIED();
    out[threadIdx.x] = s[0];
}

__global__ void refused(const int *in, int *out, bool waits) { // a phase that is begun twice
    __shared__ alignas(16) int tile[N];
    __shared__ Word bar;
    if (threadIdx.x) return;
    init(&bar, 1);
    for (int i = 0; i < 2; i++) {
        expect(&bar, sizeof tile);
        LOAD(tile, in, sizeof tile, &bar);
        if (waits) WAIT(&bar, i);
    }
    WAIT(&bar, 1);
    out[0] = tile[0];
}

__global__ void corner(const __grid_constant__ CUtensorMap map, int *out, int x) { // not at 16 bytes
    __shared__ alignas(128) int box[4];
    __shared__ Word bar;
    if (threadIdx.x) return;
    init(&bar, 1);
    expect(&bar, sizeof box);
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3}], [%2];" ::"r"(at(box)), "l"(&map), "r"(at(&bar)), "r"(x) : "memory");
    WAIT(&bar, 0);
    out[0] = box[0];
}

static CUtensorMap map_of(int *in) {
    CUtensorMap map;
    PFN_cuTensorMapEncodeTiled_v12000 encode;
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &found);
    cuuint64_t size[] = {100}, stride[1] = {0};
    cuuint32_t box[] = {4}, step[] = {1};
    encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 1, in, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
           CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return map;
}

template <bool BUG> static void run(const int *in, int *out) {
    unfenced<BUG><<<1, N>>>((float *)out);
    refilled<BUG><<<1, N>>>(in, (float *)out);
    released<BUG><<<1, N + 32>>>(in, out);
    one_too_few<BUG><<<1, N>>>(in, out);
    sent<BUG><<<2, 32>>>(out);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "fix";
    bool fix = argc > 2;
    static int host[8 * N];
    int *in, *out;
    cudaMalloc(&in, sizeof host), cudaMalloc(&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    if (!strcmp(what, "bug")) run<true>(in, out);
    else if (!strcmp(what, "fix")) run<false>(in, out);
    else if (!strcmp(what, "beyond")) beyond<<<1, N>>>((float *)out, fix ? 0 : 512);
    else if (!strcmp(what, "twice")) refused<<<1, 32>>>(in, out, fix);
    else corner<<<1, 32>>>(map_of(in), out, fix ? 4 : 3);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
