// errors.cu - what CUDA's functions return, when an error is forgotten, and what a GPU is said to be.
#include <cstdio>
#include <cstring>

static int failed;

static void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
    failed += !ok;
}

__global__ void nothing() {}

__global__ void big(int *p) {
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

__global__ void __launch_bounds__(64) small(int *p) {
    p[threadIdx.x] = 1;
}

struct Wide {
    char c;
    double d[40];
    short s;
};

__global__ void wide(Wide w, int *p, char last) {
    *p = (int)(w.c + w.d[0] + w.d[39] + w.s + last);
}

static cudaError_t launched(int grid, int block, size_t shared = 0) {
    nothing<<<grid, block, shared>>>();
    return cudaGetLastError();
}

static void launches() {
    int *p, got;
    cudaMalloc(&p, 4096);
    check("no error", cudaGetLastError() == cudaSuccess && launched(1, 1) == cudaSuccess);
    check("a block that is too large", launched(1, 1025) == cudaErrorInvalidConfiguration);
    check("a grid of nothing", launched(0, 1) == cudaErrorInvalidConfiguration);
    check("more shared memory than agreed", launched(1, 1, 64 << 10) == cudaErrorInvalidValue);
    check("more threads than launch bounds", (small<<<1, 65>>>(p), cudaGetLastError()) != cudaSuccess &&
          (small<<<1, 64>>>(p), cudaDeviceSynchronize()) == cudaSuccess);
    check("an error is forgotten once", cudaMalloc((void **)&got, (size_t)1 << 50) == cudaErrorMemoryAllocation &&
          cudaPeekAtLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaErrorMemoryAllocation &&
          cudaGetLastError() == cudaSuccess);
    check("success forgets nothing", cudaSetDevice(7) == cudaErrorInvalidDevice && cudaSetDevice(0) == cudaSuccess &&
          cudaGetLastError() == cudaErrorInvalidDevice);
    check("opting in", cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10) == cudaSuccess &&
          (big<<<1, 1024, 100 << 10>>>(p), cudaDeviceSynchronize()) == cudaSuccess &&
          cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost) == cudaSuccess && got == 1023);
    check("beyond what there is", cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
          cudaErrorInvalidValue);
    Wide w = {1, {}, 4};
    w.d[0] = 10, w.d[39] = 300;
    wide<<<1, 1>>>(w, p, 5);
    cudaMemcpy(&got, p, 4, cudaMemcpyDeviceToHost);
    check("arguments of all sizes", got == 1 + 10 + 300 + 4 + 5);
    check("no kernel", cudaLaunchKernel((void *)&failed, dim3(1), dim3(1), nullptr, 0, 0) == cudaErrorInvalidDeviceFunction);
    cudaGetLastError();
    cudaFree(p);
}

static void kernels() {
    cudaFuncAttributes a;
    int blocks, grid, block;
    check("attributes", cudaFuncGetAttributes(&a, small) == cudaSuccess && a.maxThreadsPerBlock == 64 && a.numRegs > 0 &&
          a.ptxVersion == 90 && a.sharedSizeBytes == 0);
    check("those of no kernel", cudaFuncGetAttributes(&a, (void *)launches) == cudaErrorInvalidDeviceFunction);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 0);
    check("occupancy", blocks == 8);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, big, 256, 100 << 10);
    check("by shared memory", blocks == 2);
    check("the best block", cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, 0, 0) == cudaSuccess &&
          block == 1024 && grid == 2 * 132);
    cudaGetLastError();
}

static void device() {
    cudaDeviceProp p;
    int n, value, device = -1;
    check("one device", cudaGetDeviceCount(&n) == cudaSuccess && n == 1 && cudaGetDevice(&device) == cudaSuccess && device == 0);
    cudaGetDeviceProperties(&p, 0);
    check("its name", !strcmp(p.name, "NVIDIA H200") && p.major == 9 && p.minor == 0 && p.multiProcessorCount == 132);
    check("its limits", p.maxThreadsPerBlock == 1024 && p.maxThreadsDim[2] == 64 && p.maxGridSize[0] == 2147483647 &&
          p.maxGridSize[1] == 65535 && p.sharedMemPerBlock == 49152 && p.sharedMemPerBlockOptin == 232448 &&
          p.warpSize == 32 && p.regsPerBlock == 65536 && p.totalConstMem == 65536);
    cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0);
    check("an attribute", value == p.multiProcessorCount);
    cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0);
    check("another", value == (int)p.sharedMemPerMultiprocessor && value == 233472);
    check("no attribute", cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0) == cudaErrorInvalidValue);
    check("no device", cudaGetDeviceProperties(&p, 1) == cudaErrorInvalidDevice);
    check("no peer", cudaDeviceCanAccessPeer(&value, 0, 0) == cudaSuccess && value == 0 &&
          cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice);
    cudaIpcMemHandle_t handle;
    void *m;
    cudaMalloc(&m, 64);
    check("no other process", cudaIpcGetMemHandle(&handle, m) == cudaErrorNotSupported);
    int version = 0, driver = 0;
    cudaRuntimeGetVersion(&version), cudaDriverGetVersion(&driver);
    check("versions", version / 1000 == CUDART_VERSION / 1000 && driver >= version);
    check("names of errors", !strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") &&
          !strcmp(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered") &&
          !strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
    size_t limit = 0;
    check("limits", cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20) == cudaSuccess &&
          cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize) == cudaSuccess && limit == 64 << 20);
    check("what is missing says so", cudaGraphicsUnregisterResource(nullptr) == cudaErrorNotSupported);
    cudaGetLastError();
    check("reset", cudaDeviceReset() == cudaSuccess && cudaFree(m) == cudaErrorInvalidValue);
    cudaGetLastError();
    check("and on", cudaMalloc(&m, 64) == cudaSuccess && launched(1, 32) == cudaSuccess && cudaFree(m) == cudaSuccess);
}

int main() {
    launches();
    kernels();
    device();
    return failed != 0;
}
