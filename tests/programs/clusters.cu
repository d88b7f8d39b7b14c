// Thread-block clusters: a sum over distributed shared memory, a histogram whose bins lie in several
// blocks, copies and stores into other blocks' memory, and what the run-time library says of them.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

enum { T = 64, BLOCKS = 8, N = T * BLOCKS };

__global__ void __cluster_dims__(4, 1, 1) sum(const int *in, int *out) {
    __shared__ int part;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) part = 0;
    __syncthreads();
    atomicAdd(&part, in[blockIdx.x * T + threadIdx.x]);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        int all = 0;
        for (unsigned r = 0; r < cluster.num_blocks(); r++) all += *cluster.map_shared_rank(&part, r);
        out[blockIdx.x / 4] = all;
    }
    cluster.sync(); // the others' memory stays until it was read
}

__global__ void bins(int *out) {
    extern __shared__ int own[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 32; i += blockDim.x) own[i] = 0;
    cluster.sync();
    int v = (blockIdx.x * blockDim.x + threadIdx.x) * 7 % (32 * cluster.num_blocks());
    atomicAdd(cluster.map_shared_rank(own, v / 32) + v % 32, 1);
    cluster.sync();
    for (int i = threadIdx.x; i < 32; i += blockDim.x)
        atomicAdd(&out[cluster.block_rank() * 32 + i], own[i]);
}

// Each thread says where it is: a grid of 4 x 2 blocks in clusters of 2 x 2.
__global__ void __cluster_dims__(2, 2, 1) places(int *out) {
    unsigned rank, size, x, cx, n, explicitly;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(cx));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(n));
    asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(explicitly));
    out[blockIdx.y * 4 + blockIdx.x] =
        rank + 10 * size + 100 * x + 1000 * cx + 10000 * n + 100000 * explicitly;
}

__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned there(const void *p, unsigned rank) {
    unsigned address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(at(p)), "r"(rank));
    return address;
}
__device__ void meet() {
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ void wait(unsigned long long *b, int parity) {
    for (int done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
                     "selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
}

// Block 0 loads a tile for both (multicast); each hands its own on (bulk copy), stores words and
// adds to words in the other's memory. All complete on the receiver's mbarrier.
__global__ void __cluster_dims__(2, 1, 1) exchange(const int *in, int *out) {
    __shared__ alignas(16) int both[T], other[T], words[4], count;
    __shared__ unsigned long long bar;
    int t = threadIdx.x;
    unsigned rank = blockIdx.x % 2, peer = rank ^ 1;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&bar)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(&bar)),
                     "r"((int)(sizeof both)) : "memory");
        count = 100;
    }
    meet();
    if (rank == 0 && t == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(at(both)), "l"(in),
                     "r"((int)sizeof both), "r"(at(&bar)), "h"((short)3) : "memory");
    wait(&bar, 0);
    meet();
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(&bar)),
                     "r"((int)(sizeof other + sizeof words + 2 * sizeof count)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], "
                     "[%1], %2, [%3];" ::"r"(there(other, peer)), "r"(at(both)),
                     "r"((int)sizeof other), "r"(there(&bar, peer)) : "memory");
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [%0], "
                     "{%1, %2, %3, %4}, [%5];" ::"r"(there(words, peer)), "r"(rank), "r"(11), "r"(12),
                     "r"(13), "r"(there(&bar, peer)) : "memory");
    }
    if (t < 2)
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
                     "[%0], %1, [%2];" ::"r"(there(&count, peer)), "r"(t + 1),
                     "r"(there(&bar, peer)) : "memory");
    wait(&bar, 1);
    out[rank * T + t] = other[t] + words[t % 4] * 1000 + count * 100000;
    meet();
}

template <class F> static F entry(const char *name) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
    return (F)found;
}

int main() {
    int h[N], o[N], *in, *out, wrong = 0, n = 0;
    for (int i = 0; i < N; i++) h[i] = i * i % 97;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof o);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    sum<<<BLOCKS, T>>>(in, out), cudaMemcpy(o, out, 8, cudaMemcpyDeviceToHost);
    for (int k = 0; k < 2; k++) {
        int s = 0;
        for (int i = 0; i < N / 2; i++) s += h[k * N / 2 + i];
        wrong += s != o[k];
    }
    printf("sum: %d wrong\n", wrong);

    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {2, 1, 1};
    cudaLaunchConfig_t config = {BLOCKS, T, 128, 0};
    config.attrs = &attribute, config.numAttrs = 1;
    cudaMemset(out, 0, sizeof o);
    cudaLaunchKernelEx(&config, bins, out), cudaMemcpy(o, out, sizeof o, cudaMemcpyDeviceToHost);
    wrong = 0;
    for (int b = 0; b < 64; b++) {
        int want = 0;
        for (int i = 0; i < N; i++) want += i * 7 % 64 == b;
        wrong += want != o[b];
    }
    printf("bins: %d wrong\n", wrong);

    places<<<dim3(4, 2), 1>>>(out), cudaMemcpy(o, out, 32, cudaMemcpyDeviceToHost);
    wrong = 0;
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 4; x++)
            wrong += o[y * 4 + x] != y * 2 + x % 2 + 40 + 100 * (x % 2) + 1000 * (x / 2) + 120000;
    printf("places: %d wrong\n", wrong);

    exchange<<<2, T>>>(in, out), cudaMemcpy(o, out, 2 * T * 4, cudaMemcpyDeviceToHost);
    wrong = 0;
    for (int r = 0; r < 2; r++)
        for (int t = 0; t < T; t++) {
            int word = t % 4 ? 10 + t % 4 : 1 - r;
            wrong += o[r * T + t] != h[t] + word * 1000 + 103 * 100000;
        }
    printf("exchange: %d wrong\n", wrong);

    cudaOccupancyMaxActiveClusters(&n, bins, &config);
    printf("fit: %d\n", n > 0);
    cudaOccupancyMaxPotentialClusterSize(&n, bins, &config);
    printf("largest: %d\n", n);
    CUfunction driver; // the same by the driver API
    CUlaunchConfig other = {BLOCKS, 1, 1, T, 1, 1, 128, nullptr, nullptr, 0};
    CUlaunchAttribute cluster = {};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {4, 1, 1};
    other.attrs = &cluster, other.numAttrs = 1;
    cudaGetFuncBySymbol((cudaFunction_t *)&driver, (const void *)bins);
    void *args[] = {&out};
    cudaMemset(out, 0, sizeof o);
    int code = entry<CUresult (*)(const CUlaunchConfig *, CUfunction, void **, void **)>(
        "cuLaunchKernelEx")(&other, driver, args, nullptr);
    cudaMemcpy(o, out, sizeof o, cudaMemcpyDeviceToHost);
    wrong = code;
    for (int b = 0; b < 128; b++) wrong += o[b] != 4;
    entry<CUresult (*)(int *, CUfunction, const CUlaunchConfig *)>("cuOccupancyMaxActiveClusters")(
        &n, driver, &other);
    printf("driver: %d wrong, %d\n", wrong, n > 0);
    config.gridDim = 7;
    printf("uneven: %s\n", cudaGetErrorName(cudaLaunchKernelEx(&config, bins, out)));
    printf("end: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
