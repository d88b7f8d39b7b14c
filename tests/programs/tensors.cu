// Tensor maps: boxes of 1 to 5 dimensions with each swizzle, steps and an edge, im2col, a transpose
// that loads and stores with a swizzle, and sums added to a tensor.
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cudaTypedefs.h>

typedef unsigned long long Word;
#define MAP const __grid_constant__ CUtensorMap

struct Place {
    int at[5];
    unsigned short offset[3];
};

__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(Word *b) {
    for (int done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
                     "selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(b)) : "memory");
}
__device__ void begin(Word *b, int bytes) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;\n"
                 "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes)
                 : "memory");
}

#define DONE "mbarrier::complete_tx::bytes"
#define LOAD(dims, mode, coords, tail, ...)                                                             \
    asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global" mode "." DONE              \
                 " [%0], [%1, " coords "], [%2]" tail ";" ::"r"(at(box)), "l"(&map), "r"(at(&bar)), \
                 __VA_ARGS__ : "memory")
#define C(k) "r"(p.at[k])

// The box as it lies in shared memory.
template <int DIMS, bool COLUMNS> __global__ void load(MAP map, Place p, int bytes, char *out) {
    extern __shared__ __align__(1024) char box[];
    __shared__ Word bar;
    if (threadIdx.x == 0) {
        begin(&bar, bytes);
        if (COLUMNS && DIMS == 3)
            LOAD("3d", ".im2col", "{%3, %4, %5}", ", {%6}", C(0), C(1), C(2), "h"(p.offset[0]));
        else if (COLUMNS)
            asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col." DONE
                         " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(at(box)), "l"(&map),
                         "r"(at(&bar)), C(0), C(1), C(2), C(3), "h"(p.offset[0]), "h"(p.offset[1])
                         : "memory");
        else if (DIMS == 1) LOAD("1d", "", "{%3}", "", C(0));
        else if (DIMS == 2) LOAD("2d", ".tile", "{%3, %4}", "", C(0), C(1));
        else if (DIMS == 3) LOAD("3d", "", "{%3, %4, %5}", "", C(0), C(1), C(2));
        else if (DIMS == 4) LOAD("4d", "", "{%3, %4, %5, %6}", "", C(0), C(1), C(2), C(3));
        else LOAD("5d", "", "{%3, %4, %5, %6, %7}", "", C(0), C(1), C(2), C(3), C(4));
    }
    __syncthreads();
    wait(&bar);
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = box[i];
}

enum { T = 32, W = 100, H = 70, PITCH = 112, PITCH2 = 80 };

__global__ void transpose(MAP in, MAP out) {
    __shared__ alignas(1024) int a[T][T], b[T][T];
    __shared__ Word bar;
    int x = blockIdx.x * T, y = blockIdx.y * T;
    if (threadIdx.x == 0) {
        begin(&bar, sizeof a);
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global." DONE
                     " [%0], [%1, {%2, %3}], [%4];" ::"r"(at(a)), "l"(&in), "r"(x), "r"(y),
                     "r"(at(&bar)) : "memory");
    }
    __syncthreads();
    wait(&bar);
    for (int i = threadIdx.x; i < T * T; i += blockDim.x) {
        int r = i / T, c = i % T;
        b[c][((r / 4) ^ (c % 8)) * 4 + r % 4] = a[r][((c / 4) ^ (r % 8)) * 4 + c % 4];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
                     "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::"l"(&out),
                     "r"(y), "r"(x), "r"(at(b)) : "memory");
}

// Every block adds its number to a box, and to a piece of plain memory.
__global__ void add(MAP map, float *plain) {
    __shared__ alignas(128) float box[8][4];
    box[threadIdx.x / 4][threadIdx.x % 4] = blockIdx.x + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group "
                     "[%0, {%4, %1}], [%2];\n"
                     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%3], [%2], 128;\n"
                     "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(&map), "r"(2),
                     "r"(at(box)), "l"(plain), "r"(4) : "memory");
}

static PFN_cuTensorMapEncodeTiled_v12000 tiled;
static PFN_cuTensorMapEncodeIm2col_v12000 columns;
static unsigned char host[1 << 16], got[1 << 15];
static unsigned char *device;
static char *out;

struct Tensor {
    cuuint64_t size[5], stride[4];
    cuuint32_t box[5], step[5];
};

// Where chunk i of a box lies: rows of 128 bytes exchange their pieces of 16.
static int swizzled(int byte, int swizzle) {
    int row = byte / 128 % 8, span = swizzle == 3 ? 7 : swizzle == 2 ? 3 : swizzle == 1 ? 1 : 0;
    return byte ^ ((row & span) * 16);
}

template <int DIMS> static int boxes(CUtensorMapDataType type, int size, int swizzle, Tensor t, Place p) {
    CUtensorMap map;
    cuuint64_t stride = t.size[0] * size + 16;
    for (int k = 0; k + 1 < DIMS; k++) t.stride[k] = stride / 16 * 16, stride = t.stride[k] * t.size[k + 1];
    CUresult e = tiled(&map, type, DIMS, device, t.size, t.stride, t.box, t.step,
                       CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle,
                       CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (e) return -1000 - e;
    int n[5], elements = 1, wrong = 0;
    for (int k = 0; k < 5; k++) n[k] = k < DIMS ? (t.box[k] + t.step[k] - 1) / t.step[k] : 1, elements *= n[k];
    load<DIMS, false><<<1, 64, elements * size + 1024>>>(map, p, elements * size, out);
    cudaMemcpy(got, out, elements * size, cudaMemcpyDeviceToHost);
    for (int i = 0; i < elements; i++) {
        long long from = 0;
        bool inside = true;
        for (int k = 0, rest = i; k < DIMS; rest /= n[k++]) {
            long long x = p.at[k] + rest % n[k] * (long long)t.step[k];
            inside &= x >= 0 && x < (long long)t.size[k];
            from += x * (k ? (long long)t.stride[k - 1] : size);
        }
        for (int b = 0; b < size; b++)
            wrong += got[swizzled(i * size + b, swizzle)] != (inside ? host[from + b] : 0);
    }
    return wrong;
}

template <int DIMS> static int pixels(Tensor t, const int *lower, const int *upper, int channels, int count, Place p) {
    CUtensorMap map;
    cuuint64_t stride = t.size[0] * 2;
    int wrong = 0, positions[3], index = 0, unit = 1;
    for (int k = 0; k + 1 < DIMS; k++) t.stride[k] = stride, stride *= t.size[k + 1];
    CUresult e = columns(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, DIMS, device, t.size, t.stride, lower, upper,
                         channels, count, t.step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (e) return -1000 - e;
    load<DIMS, true><<<1, 64, channels * count * 2 + 1024>>>(map, p, channels * count * 2, out);
    cudaMemcpy(got, out, channels * count * 2, cudaMemcpyDeviceToHost);
    for (int k = 0; k < DIMS - 2; k++) {
        positions[k] = ((int)t.size[k + 1] + upper[k] - lower[k] + t.step[k + 1] - 1) / t.step[k + 1];
        index += (p.at[k + 1] - lower[k]) / (int)t.step[k + 1] * unit;
        unit *= positions[k];
    }
    index += p.at[DIMS - 1] * unit;
    for (int i = 0; i < count; i++) {
        long long from = 0;
        bool inside = true;
        int rest = index + i;
        for (int k = 0; k < DIMS - 2; rest /= positions[k++]) {
            long long x = lower[k] + rest % positions[k] * (int)t.step[k + 1] + p.offset[k];
            inside &= x >= 0 && x < (long long)t.size[k + 1];
            from += x * t.stride[k];
        }
        inside &= rest < (int)t.size[DIMS - 1];
        from += rest * (long long)t.stride[DIMS - 2] + p.at[0] * 2;
        for (int c = 0; c < channels * 2; c++)
            wrong += got[i * channels * 2 + c] != (inside ? host[from + c] : 0);
    }
    return wrong;
}

static int transposes() {
    static int h[H][PITCH], o[W][PITCH2];
    int *a, *b, wrong = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < PITCH; x++) h[y][x] = y * 1000 + x;
    cudaMalloc(&a, sizeof h), cudaMalloc(&b, sizeof o);
    cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice), cudaMemset(b, 0xff, sizeof o);
    CUtensorMap in, to;
    cuuint64_t size[] = {W, H}, stride[] = {PITCH * 4}, size2[] = {H, W}, stride2[] = {PITCH2 * 4};
    cuuint32_t box[] = {T, T}, step[] = {1, 1};
    tiled(&in, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, a, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
          CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    tiled(&to, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, b, size2, stride2, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
          CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    transpose<<<dim3(4, 3), 128>>>(in, to);
    cudaMemcpy(o, b, sizeof o, cudaMemcpyDeviceToHost);
    for (int x = 0; x < W; x++)
        for (int y = 0; y < PITCH2; y++) // a store goes on to a multiple of 16 bytes
            wrong += o[x][y] != (y < H ? h[y][x] : y < 72 ? 0 : -1);
    return wrong;
}

static int sums() {
    float o[8 * 8], p[32], *a, *b;
    int wrong = 0;
    cudaMalloc(&a, sizeof o), cudaMalloc(&b, sizeof p);
    cudaMemset(a, 0, sizeof o), cudaMemset(b, 0, sizeof p);
    CUtensorMap map;
    cuuint64_t size[] = {8, 8}, stride[] = {32};
    cuuint32_t box[] = {4, 8}, step[] = {1, 1};
    tiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, a, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
          CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    add<<<4, 32>>>(map, b);
    cudaMemcpy(o, a, sizeof o, cudaMemcpyDeviceToHost), cudaMemcpy(p, b, sizeof p, cudaMemcpyDeviceToHost);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++) wrong += o[y * 8 + x] != (x >= 4 && y >= 2 ? 10 : 0);
    for (int i = 0; i < 32; i++) wrong += p[i] != 10;
    return wrong;
}

int main() {
    cudaDriverEntryPointQueryResult found;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&tiled, 12000, cudaEnableDefault, &found);
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", (void **)&columns, 12000, cudaEnableDefault, &found);
    for (size_t i = 0; i < sizeof host; i++) host[i] = (i * 2654435761u >> 13) % 255 + 1;
    cudaMalloc(&device, sizeof host), cudaMalloc(&out, sizeof got);
    cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    auto u8 = CU_TENSOR_MAP_DATA_TYPE_UINT8, f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
         f32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, f64 = CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    printf("1: %d wrong\n", boxes<1>(u8, 1, 0, {{1000}, {}, {256}, {1}}, {{800}}));
    printf("1, before: %d wrong\n", boxes<1>(f32, 4, 0, {{1000}, {}, {32}, {1}}, {{-4}}));
    for (int s = 0; s < 4; s++) {
        unsigned row = s ? 8u << s : 64;
        printf("2, swizzle %d: %d wrong\n", s, boxes<2>(f16, 2, s, {{100, 50}, {}, {row, 33}, {1, 1}}, {{72, 30}}));
    }
    printf("3: %d wrong\n", boxes<3>(f32, 4, 3, {{30, 20, 9}, {}, {32, 5, 6}, {1, 1, 1}}, {{4, -2, 5}}));
    printf("3, steps: %d wrong\n", boxes<3>(f32, 4, 0, {{30, 20, 9}, {}, {8, 9, 6}, {1, 2, 4}}, {{4, 4, 1}}));
    printf("4: %d wrong\n", boxes<4>(f64, 8, 2, {{8, 7, 6, 5}, {}, {8, 3, 4, 2}, {1, 1, 1, 1}}, {{2, 5, 3, 4}}));
    printf("5: %d wrong\n", boxes<5>(f16, 2, 1, {{16, 5, 4, 3, 3}, {}, {16, 3, 2, 2, 2}, {1, 1, 1, 1, 1}}, {{0, 1, 2, 2, 1}}));
    int lower[] = {-1, -1}, upper[] = {-1, -1}, upper0[] = {0, 0};
    printf("columns: %d wrong\n", pixels<4>({{16, 9, 7, 3}, {}, {}, {1, 1, 1, 1}}, lower, upper, 8, 100, {{8, 2, 3, 1}, {2, 0}}));
    printf("columns, steps: %d wrong\n", pixels<4>({{16, 9, 7, 3}, {}, {}, {1, 2, 2, 1}}, lower, upper, 16, 50, {{0, -1, -1, 0}, {1, 2}}));
    printf("columns of a line: %d wrong\n", pixels<3>({{8, 40, 3}, {}, {}, {1, 1, 1}}, lower, upper0, 8, 64, {{0, 20, 1}, {1}}));
    printf("transpose: %d wrong\n", transposes());
    printf("sums: %d wrong\n", sums());
    printf("an odd row: %d\n", boxes<2>(u8, 1, 0, {{100, 50}, {}, {24, 8}, {1, 1}}, {{0, 0}}) + 1000);
    printf("a row too long: %d\n", boxes<2>(f16, 2, 1, {{100, 50}, {}, {32, 8}, {1, 1}}, {{0, 0}}) + 1000);
    printf("end: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
