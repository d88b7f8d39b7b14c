// Barriers, pipelines and clusters of libcu++ and cooperative groups, in pairs, as pending.cu has
// them: `pending_barriers bug` and `pending_barriers fix`. `pending_barriers NAME bug` runs one
// that ends its launch, `NAME fix` its right form.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cstdio>
#include <cstring>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

#define SHARED_BARRIER(name)                                                                       \
    __shared__ alignas(Barrier) char bytes_of_##name[sizeof(Barrier)];                             \
    Barrier &name = *reinterpret_cast<Barrier *>(bytes_of_##name)

enum { N = 64, BYTES = N * 4 };

// 1: the tile of memcpy_async is read before the barrier that it completes
template <bool BUG> __global__ void ignored(const int *in, int *out) {
    __shared__ alignas(16) int tile[N];
    SHARED_BARRIER(bar);
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
    if (t == 0) init(&bar, N);
    block.sync();
    cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(BYTES), bar);
    if (!BUG) bar.arrive_and_wait();
    else block.sync();
    out[t] = tile[N - 1 - t]; // told: race
    if (BUG) bar.arrive_and_wait();
}

// 2: a pipeline whose consumer does not wait
template <bool BUG> __global__ void unconsumed(const int *in, int *out) {
    __shared__ alignas(16) int tile[N];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x;
    pipe.producer_acquire();
    cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(BYTES), pipe);
    pipe.producer_commit();
    if (!BUG) pipe.consumer_wait();
    else block.sync();
    out[t] = tile[N - 1 - t]; // told: race
    if (BUG) pipe.consumer_wait();
    pipe.consumer_release();
}

// 3: the consumer releases a stage before it has read it
template <bool BUG> __global__ void released(const int *in, int *out) {
    __shared__ alignas(16) int tile[N];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < 2; i++) {
        pipe.producer_acquire();
        const int *from = &in[i * N + t];
        cuda::memcpy_async(&tile[t], from, cuda::aligned_size_t<4>(4), pipe); // told: race
        pipe.producer_commit();
        pipe.consumer_wait();
        if (BUG) pipe.consumer_release();
        sum += tile[N - 1 - t];
        if (!BUG) pipe.consumer_release();
    }
    out[t] = sum;
}

// 4: of two stages in flight the later one is read: __pipeline_wait_prior leaves one
template <bool BUG> __global__ void one_behind(const int *in, int *out) {
    __shared__ int tile[2][N];
    int t = threadIdx.x;
    for (int i = 0; i < 2; i++) {
        __pipeline_memcpy_async(&tile[i][t], &in[i * N + t], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(BUG ? 1 : 0);
    __syncthreads();
    out[t] = tile[1][N - 1 - t]; // told: race
    __pipeline_wait_prior(0);
}

// 5: a group's copy that the group does not wait for
template <bool BUG> __global__ void group(const int *in, int *out) {
    __shared__ alignas(16) int tile[N];
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
    cg::memcpy_async(block, tile, in, cuda::aligned_size_t<4>(BYTES));
    if (!BUG) cg::wait(block);
    block.sync();
    out[t] = tile[N - 1 - t]; // told: race
    cg::wait(block);
}

__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

#define ADD(to, from)                                                                              \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;\n"    \
                 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::"l"(to),              \
                 "r"(at(from)), "r"(BYTES) : "memory")

// 6: a sum that bulk copies add up from what threads wrote, with no fence between
template <bool BUG> __global__ void reduced(int *out) {
    __shared__ alignas(16) int tile[N];
    int t = threadIdx.x;
    tile[t] = t;
    if (!BUG) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) ADD(out, tile); // told: race
}

// 7: a block's counters that others of the cluster add to, read before the cluster has met
template <bool BUG> __global__ void __cluster_dims__(2, 1, 1) counters(int *out) {
    __shared__ int bins[32];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x;
    bins[t] = 0;
    cluster.sync();
    int *other = cluster.map_shared_rank(bins, cluster.block_rank() ^ 1);
    atomicAdd(other + (t + 1) % 32, t); // told: race
    if (BUG) __syncthreads();
    else cluster.sync();
    out[blockIdx.x * 32 + t] = bins[t]; // told: race
    cluster.sync();
}

// --- those that end their launch

// A barrier for all threads, at which one warp never arrives
template <bool BUG> __global__ void absent(int *out) {
    SHARED_BARRIER(bar);
    if (threadIdx.x == 0) init(&bar, N);
    __syncthreads();
    if (BUG && threadIdx.x >= 32) return;
    bar.arrive_and_wait();
    out[threadIdx.x] = 1;
}

// A barrier that nobody initialised
template <bool BUG> __global__ void raw(int *out) {
    SHARED_BARRIER(bar);
    if (!BUG && threadIdx.x == 0) init(&bar, N);
    __syncthreads();
    (void)bar.arrive();
    out[threadIdx.x] = 1;
}

template <bool BUG> static void run(const char *what, const int *in, int *out) {
    if (!strcmp(what, "absent")) absent<BUG><<<1, N>>>(out);
    else if (!strcmp(what, "raw")) raw<BUG><<<1, N>>>(out);
    else {
        ignored<BUG><<<1, N>>>(in, out);
        unconsumed<BUG><<<1, N>>>(in, out);
        released<BUG><<<1, N>>>(in, out);
        one_behind<BUG><<<1, N>>>(in, out);
        group<BUG><<<1, N>>>(in, out);
        reduced<BUG><<<1, N>>>(out);
        counters<BUG><<<2, 32>>>(out);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "all";
    bool bug = argc > 2 ? !strcmp(argv[2], "bug") : !strcmp(what, "bug");
    int *in, *out, host[2 * N];
    for (int i = 0; i < 2 * N; i++) host[i] = i;
    cudaMalloc(&in, sizeof host), cudaMalloc(&out, sizeof host);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof host);
    if (bug) run<true>(what, in, out);
    else run<false>(what, in, out);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
