// Asynchronous copies and mbarriers, in pairs: each kernel runs as it is wrong (`pending bug`) and as
// it is right (`pending fix`). A line with "told:" is the place of a finding in the first, and of none
// in the second, and there are no others. `pending NAME` runs one that ends its launch: checks.t.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

typedef unsigned long long Word;

__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(Word *b, int n) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ void arrive(Word *b) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ void expect(Word *b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes)
                 : "memory");
}
#define WAIT(b, parity)                                                                            \
    for (int done = 0; !done;)                                                                     \
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"              \
                 "selp.s32 %0, 1, 0, p; }"                                                         \
                 : "=r"(done) : "r"(at(b)), "r"(parity) : "memory")
#define LOAD(to, from, bytes, b)                                                                   \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "  \
                 "%2, [%3];" ::"r"(at(to)), "l"(from), "r"((int)(bytes)), "r"(at(b)) : "memory")
#define STORE(to, from, bytes)                                                                     \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"                   \
                 "cp.async.bulk.commit_group;" ::"l"(to), "r"(at(from)), "r"((int)(bytes))         \
                 : "memory")
#define STORED() asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define FENCE()  asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define COPY(to, from)                                                                             \
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(to)), "l"(from) : "memory")
#define COPIED() asm volatile("cp.async.wait_all;" ::: "memory")

enum { N = 64, BYTES = N * 4 };

// 1: a tile that is read before its mbarrier's phase is over
template <bool BUG> __global__ void early(const int *in, int *out) {
    __shared__ alignas(16) int tile[N];
    __shared__ Word bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, 1);
    __syncthreads();
    if (t == 0) {
        expect(&bar, BYTES);
        LOAD(tile, in, BYTES, &bar);
    }
    if (!BUG) WAIT(&bar, 0);
    __syncthreads();
    out[t] = tile[N - 1 - t]; // told: race
}

// 2: a phase that is waited for twice: the parity does not turn
template <bool BUG> __global__ void twice(const int *in, int *out) {
    __shared__ alignas(16) int tile[N];
    __shared__ Word bar;
    int t = threadIdx.x, sum = 0;
    if (t == 0) init(&bar, 1);
    __syncthreads();
    for (int i = 0; i < 2; i++) {
        if (t == 0) {
            expect(&bar, BYTES);
            LOAD(tile, in + i * N, BYTES, &bar);
        }
        __syncthreads();
        WAIT(&bar, BUG ? 0 : i); // told: race
        sum += tile[t]; // told: race
        __syncthreads();
    }
    out[t] = sum;
}

// 3: a buffer that is written over while a copy still reads it
template <bool BUG> __global__ void reused(int *out) {
    __shared__ alignas(16) int tile[N];
    int t = threadIdx.x;
    for (int i = 0; i < 2; i++) {
        tile[t] = i * N + t; // told: race
        FENCE();
        __syncthreads();
        if (t == 0) {
            STORE(out + i * N, tile, BYTES);
            if (!BUG) STORED();
        }
        __syncthreads();
    }
    if (t == 0) STORED();
}

// 4: a copy of what threads wrote, without a fence between their accesses and copies
template <bool BUG> __global__ void unfenced(int *out) {
    __shared__ alignas(16) int tile[N];
    int t = threadIdx.x;
    tile[t] = t;
    if (!BUG) FENCE();
    __syncthreads();
    if (t == 0) {
        STORE(out, tile, BYTES); // told: race
        STORED();
    }
}

// 5: a fence by the copying thread alone, before the others have written
template <bool BUG> __global__ void fenced_before(int *out) {
    __shared__ alignas(16) int tile[N];
    int t = threadIdx.x;
    tile[t] = t;
    if (BUG && t == 0) FENCE();
    __syncthreads();
    if (!BUG && t == 0) FENCE();
    if (t == 0) {
        STORE(out, tile, BYTES); // told: race
        STORED();
    }
}

// 6: a buffer of cp.async that is copied to while others read it
template <bool BUG> __global__ void refilled(const int *in, int *out) {
    __shared__ int tile[N];
    int t = threadIdx.x, sum = 0;
    COPY(&tile[t], &in[t]);
    for (int i = 1; i < 3; i++) {
        COPIED();
        __syncthreads();
        sum += tile[N - 1 - t]; // told: race
        if (!BUG) __syncthreads();
        COPY(&tile[t], &in[i % 2 * N + t]); // told: race
    }
    COPIED();
    out[t] = sum;
}

// 7: what cp.async brings, read behind a barrier and before the wait
template <bool BUG> __global__ void unawaited(const int *in, int *out) {
    __shared__ int tile[N];
    int t = threadIdx.x;
    COPY(&tile[t], &in[t]);
    if (!BUG) COPIED();
    __syncthreads();
    out[t] = tile[N - 1 - t]; // told: race
    COPIED();
}

// 8: two blocks of a cluster and no barrier between them
template <bool BUG> __global__ void __cluster_dims__(2, 1, 1) neighbours(int *out) {
    __shared__ int own;
    unsigned rank = blockIdx.x % 2, other;
    int v;
    if (threadIdx.x == 0) own = rank + 5; // told: race
    if (!BUG) asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at(&own)), "r"(1 - rank));
    if (threadIdx.x == 0) {
        asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(other) : "memory"); // told: race
        out[rank] = v;
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// --- those that end their launch

__global__ void never(const int *in, int *out) { // fewer bytes come than are expected
    __shared__ alignas(16) int tile[N];
    __shared__ Word bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        expect(&bar, BYTES + 16);
        LOAD(tile, in, BYTES, &bar);
    }
    __syncthreads();
    WAIT(&bar, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void beyond(const int *in, int bytes, int skip) { // behind shared memory; at an odd place
    __shared__ alignas(16) int tile[N];
    __shared__ Word bar;
    if (threadIdx.x) return;
    init(&bar, 1);
    expect(&bar, bytes);
    LOAD(tile + skip, in, bytes, &bar);
    WAIT(&bar, 0);
}

__global__ void __cluster_dims__(2, 1, 1) left(int *out) { // the other block may have ended
    __shared__ int own;
    unsigned rank = blockIdx.x % 2, other;
    int v;
    own = rank;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (rank == 0) return;
    for (int i = 0; i < 3000; i++) __nanosleep(10);
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at(&own)), "r"(0));
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(other) : "memory");
    out[0] = v;
}

__global__ void overwritten(int *out) { // an mbarrier is no memory of the program's
    __shared__ Word bar;
    if (threadIdx.x) return;
    init(&bar, 1);
    *(volatile Word *)&bar = 1;
    arrive(&bar);
    out[0] = 1;
}

template <bool BUG> static void run(const int *in, int *out) {
    early<BUG><<<1, N>>>(in, out);
    twice<BUG><<<1, N>>>(in, out);
    reused<BUG><<<1, N>>>(out);
    unfenced<BUG><<<1, N>>>(out);
    fenced_before<BUG><<<1, N>>>(out);
    refilled<BUG><<<1, N>>>(in, out);
    unawaited<BUG><<<1, N>>>(in, out);
    neighbours<BUG><<<2, 32>>>(out);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "fix";
    int *in, *out, host[2 * N];
    for (int i = 0; i < 2 * N; i++) host[i] = i;
    cudaMalloc(&in, sizeof host), cudaMalloc(&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    if (!strcmp(what, "bug")) run<true>(in, out);
    else if (!strcmp(what, "fix")) run<false>(in, out);
    else if (!strcmp(what, "never")) never<<<1, N>>>(in, out);
    else if (!strcmp(what, "beyond")) beyond<<<1, 32>>>(in, BYTES + 16, 16);
    else if (!strcmp(what, "misaligned")) beyond<<<1, 32>>>(in, 32, 1);
    else if (!strcmp(what, "left")) left<<<2, 32>>>(out);
    else overwritten<<<1, 32>>>(out);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
