// prelude.h - as much of CUDA as clang needs to read this repository's .cu files without a toolkit:
// a test's tool (tests/lua/oracle.lua), no part of the program. What is missing here is unknown to
// clang, and so is what depends on it.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __restrict__ __restrict
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
typedef decltype(sizeof 0) size_t;
typedef unsigned int uint;
typedef unsigned char uint8_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
#define VECTORS(T, N) \
    struct N##1 { T x; }; struct N##2 { T x, y; }; struct N##3 { T x, y, z; }; \
    struct N##4 { T x, y, z, w; }; \
    __host__ __device__ N##2 make_##N##2(T, T); __host__ __device__ N##3 make_##N##3(T, T, T); \
    __host__ __device__ N##4 make_##N##4(T, T, T, T);
VECTORS(float, float)
VECTORS(double, double)
VECTORS(int, int)
VECTORS(unsigned, uint)
VECTORS(short, short)
VECTORS(unsigned char, uchar)
struct dim3 {
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
extern const __device__ uint3 threadIdx, blockIdx;
extern const __device__ dim3 blockDim, gridDim;
extern const int warpSize;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
typedef struct stream *cudaStream_t;
typedef int cudaError_t;
extern "C" int cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = 0);
extern "C" int __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = 0);
#define ONE(name) \
    __host__ __device__ float name##f(float); __host__ __device__ double name(double);
ONE(sqrt) ONE(fabs) ONE(exp) ONE(log) ONE(floor) ONE(ceil) ONE(rsqrt) ONE(sin) ONE(cos) ONE(tanh)
#define TWO(name) \
    __host__ __device__ float name##f(float, float); \
    __host__ __device__ double name(double, double);
TWO(fmin) TWO(fmax) TWO(pow) TWO(fmod)
__device__ unsigned __umulhi(unsigned, unsigned);
__host__ __device__ float fmaf(float, float, float);
template <typename T> __host__ __device__ T min(T, T);
template <typename T> __host__ __device__ T max(T, T);
template <typename T> __device__ T atomicAdd(T *, T);
template <typename T> __device__ T atomicMax(T *, T);
template <typename T> __device__ T atomicMin(T *, T);
template <typename T> __device__ T __ldg(const T *);
template <typename T> __device__ T __shfl_down_sync(unsigned, T, unsigned, int = 32);
template <typename T> __device__ T __shfl_xor_sync(unsigned, T, int, int = 32);
template <typename T> cudaError_t cudaMalloc(T **, size_t);
cudaError_t cudaMemcpy(void *, const void *, size_t, int);
cudaError_t cudaFree(void *);
cudaError_t cudaDeviceSynchronize();
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaSuccess = 0 };
__device__ void __syncthreads();
__device__ void __syncwarp(unsigned = 0xffffffffu);
extern "C" int printf(const char *, ...);
extern "C" void *malloc(size_t);
extern "C" void free(void *);
