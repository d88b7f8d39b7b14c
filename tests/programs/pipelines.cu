// Barriers in shared memory and copies that wait for them, as programs write them: cuda::barrier,
// cuda::memcpy_async, cuda::pipeline, a matrix product that copies ahead, and warps that produce for
// others by mbarriers of their own.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cstdio>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init

enum { TILES = 5, T = 256, SIDE = 64, TILE = 16, STAGES = 3 };

// Adds up tiles, each copied by the whole block; other threads read what one copies.
__global__ void split(const float *in, float *out) {
    __shared__ float tile[T];
    __shared__ barrier bar;
    auto block = cg::this_thread_block();
    float sum = 0;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    block.sync();
    for (int i = 0; i < TILES; i++) {
        cuda::memcpy_async(block, tile, in + i * T, sizeof tile, bar);
        bar.arrive_and_wait();
        sum += tile[T - 1 - threadIdx.x];
        block.sync();
    }
    auto token = bar.arrive();
    bar.wait(std::move(token));
    out[threadIdx.x] = sum;
}

// The same with two buffers, one of which is filled while the other is read.
__global__ void ahead(const float *in, float *out) {
    __shared__ float tile[2][T];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int i = 0; i <= TILES; i++) {
        if (i < TILES) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[i % 2], in + i * T, sizeof tile[0], pipe);
            pipe.producer_commit();
        }
        if (i == 0) continue;
        pipe.consumer_wait();
        sum += tile[(i - 1) % 2][T - 1 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

// Half of the block copies, the other half adds up.
__global__ void roles(const float *in, float *out) {
    enum { HALF = T / 2 };
    __shared__ float tile[2][HALF];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    bool produces = threadIdx.x < HALF;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state,
                                    produces ? cuda::pipeline_role::producer
                                             : cuda::pipeline_role::consumer);
    int t = threadIdx.x % HALF;
    float sum = 0;
    for (int i = 0; i < 2 * TILES; i++) {
        if (produces) {
            pipe.producer_acquire();
            cuda::memcpy_async(&tile[i % 2][t], &in[i * HALF + t], cuda::aligned_size_t<4>(4), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += tile[i % 2][HALF - 1 - t];
            pipe.consumer_release();
        }
    }
    if (!produces) out[t] = sum;
}

// c = a * b, whose tiles are copied STAGES ahead.
__global__ void product(const float *a, const float *b, float *c) {
    __shared__ float as[STAGES][TILE][TILE], bs[STAGES][TILE][TILE];
    auto pipe = cuda::make_pipeline();
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0;
    int next = 0;
    for (int k = 0; k < SIDE / TILE; k++) {
        for (; next < SIDE / TILE && next < k + STAGES; next++) {
            int s = next % STAGES;
            pipe.producer_acquire();
            cuda::memcpy_async(&as[s][y][x], &a[row * SIDE + next * TILE + x], sizeof(float), pipe);
            cuda::memcpy_async(&bs[s][y][x], &b[(next * TILE + y) * SIDE + col], sizeof(float), pipe);
            pipe.producer_commit();
        }
        if (k + STAGES <= SIDE / TILE) cuda::pipeline_consumer_wait_prior<STAGES - 1>(pipe);
        else cuda::pipeline_consumer_wait_prior<0>(pipe);
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += as[k % STAGES][y][i] * bs[k % STAGES][i][x];
        pipe.consumer_release();
        __syncthreads();
    }
    c[row * SIDE + col] = sum;
}

// One warp copies tiles in bulk, three add them up: full and empty mbarriers for each stage.
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned long long *b, int parity) {
    for (int done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
                     "selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
}

__global__ void specialised(const float *in, float *out) {
    enum { W = 96 };
    __shared__ alignas(128) float tile[2][W];
    __shared__ unsigned long long full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < 2; s++) {
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&full[s])) : "memory");
            asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(&empty[s])), "r"((int)W)
                         : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (t >= W) {
        if (t > W) return;
        for (int i = 0; i < 13; i++) {
            int s = i % 2;
            wait(&empty[s], i / 2 % 2 ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(&full[s])),
                         "r"((int)sizeof tile[0]) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                         "[%1], %2, [%3];" ::"r"(at(tile[s])), "l"(in + i * W),
                         "r"((int)sizeof tile[0]), "r"(at(&full[s])) : "memory");
        }
        return;
    }
    float sum = 0;
    for (int i = 0; i < 13; i++) {
        wait(&full[i % 2], i / 2 % 2);
        sum += tile[i % 2][W - 1 - t];
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at(&empty[i % 2])) : "memory");
    }
    out[t] = sum;
}

static float h[TILES * T], o[SIDE * SIDE], a[SIDE * SIDE], b[SIDE * SIDE];

static int differ(const float *got, int n, int tiles, int width) {
    int wrong = 0;
    for (int t = 0; t < n; t++) {
        float want = 0;
        for (int i = 0; i < tiles; i++) want += h[i * width + width - 1 - t];
        wrong += got[t] != want;
    }
    return wrong;
}

int main() {
    float *in, *out, *da, *db;
    for (int i = 0; i < TILES * T; i++) h[i] = i * 7 % 1001;
    for (int i = 0; i < SIDE * SIDE; i++) a[i] = i % 13 - 6, b[i] = i % 11 - 5;
    cudaMalloc(&in, sizeof h), cudaMalloc(&out, sizeof o), cudaMalloc(&da, sizeof a);
    cudaMalloc(&db, sizeof b);
    cudaMemcpy(in, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
    split<<<1, T>>>(in, out), cudaMemcpy(o, out, T * 4, cudaMemcpyDeviceToHost);
    printf("split: %d wrong\n", differ(o, T, TILES, T));
    ahead<<<1, T>>>(in, out), cudaMemcpy(o, out, T * 4, cudaMemcpyDeviceToHost);
    printf("ahead: %d wrong\n", differ(o, T, TILES, T));
    roles<<<1, T>>>(in, out), cudaMemcpy(o, out, T * 2, cudaMemcpyDeviceToHost);
    printf("roles: %d wrong\n", differ(o, T / 2, 2 * TILES, T / 2));
    specialised<<<1, 128>>>(in, out), cudaMemcpy(o, out, 96 * 4, cudaMemcpyDeviceToHost);
    printf("specialised: %d wrong\n", differ(o, 96, 13, 96));
    product<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, TILE)>>>(da, db, out);
    cudaMemcpy(o, out, sizeof o, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float sum = 0;
            for (int k = 0; k < SIDE; k++) sum += a[y * SIDE + k] * b[k * SIDE + x];
            wrong += sum != o[y * SIDE + x];
        }
    printf("product: %d wrong, %s\n", wrong, cudaGetErrorName(cudaDeviceSynchronize()));
}
