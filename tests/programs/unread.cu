// unread.cu - calls that fail: `unread bug` looks at none of their errors, each in a line that is
// marked; `unread fix` does the same and looks at each in one of the ways there are, or does it
// right; `unread dies` does not come to its end; `unread fault` is ended by a kernel.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

__constant__ float table[16];
__global__ void set(float *p) { p[blockIdx.x * blockDim.x + threadIdx.x] = table[3]; }
__global__ void __launch_bounds__(128) bounded(float *p) { p[threadIdx.x] = 1; }

static float host[1024], *device;
static cudaStream_t stream;
static cudaEvent_t event;

static cudaError_t passed_on(size_t n) {
    return cudaMemset(device, 0, n); // BUG: told already, as a copy out of bounds
}

static void check(cudaError_t e) {
    if (e != cudaSuccess) puts("checked");
}

static void gone() {
    cudaStreamCreate(&stream), cudaStreamDestroy(stream);
    cudaEventCreate(&event), cudaEventDestroy(event);
}

static void bug() {
    void *p;
    gone();
    cudaMemcpyToSymbol(table, host, 2 * sizeof table); // BUG
    cudaMemcpyFromSymbol(host, table, 4, sizeof table); // BUG
    set<<<1, 2048>>>(device); // BUG
    set<<<0, 32>>>(device); // BUG
    set<<<dim3(1, 70000), 32>>>(device); // BUG
    set<<<1, dim3(1, 1, 65)>>>(device); // BUG
    set<<<1, 32, 60000>>>(device); // BUG
    bounded<<<1, 256>>>(device); // BUG
    set<<<1, 32, 0, stream>>>(device); // BUG
    cudaMemcpy(host, device, 256, cudaMemcpyHostToDevice); // BUG
    cudaMemcpy(nullptr, device, 256, cudaMemcpyDeviceToHost); // BUG
    cudaMemcpy2D(host, 8, device, 16, 16, 2, cudaMemcpyDeviceToHost); // BUG
    cudaMemset(host, 0, 4); // BUG
    cudaEventRecord(event); // BUG
    cudaStreamSynchronize(stream); // BUG
    cudaMalloc(&p, (size_t)1 << 50); // BUG
    cudaSetDevice(7); // BUG
    cudaFuncSetAttribute(set, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20); // BUG
    cudaDeviceSetLimit(cudaLimitStackSize, 1 << 20); // BUG
    passed_on((size_t)1 << 40);
    for (int i = 0; i < 3; i++) cudaHostUnregister(host); // BUG
    cudaError_t kept = cudaSetDevice(9); // BUG
    kept = cudaSetDevice(10); // BUG
    cudaGetErrorName(cudaErrorUnknown); // is none of them
}

static void fix() {
    void *p;
    cudaMemcpyToSymbol(table, host, sizeof table);
    if (cudaMemcpyFromSymbol(host, table, 4, sizeof table)) puts("tested");
    set<<<1, 2048>>>(device);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    set<<<0, 32>>>(device);
    cudaPeekAtLastError();
    set<<<1, 1024>>>(device);
    cudaError_t e = cudaSetDevice(7);
    puts(cudaGetErrorName(e));
    check(cudaMalloc(&p, (size_t)1 << 50));
    const char *text = cudaEventRecord(nullptr) == cudaSuccess ? "well" : "not";
    puts(text);
    int failed = cudaStreamDestroy(nullptr) != cudaSuccess;
    failed += cudaHostUnregister(host) != cudaSuccess;
    printf("%d\n", failed);
    cudaStreamQuery(nullptr);
    cudaGetLastError();
}

int main(int, char **arg) {
    cudaMalloc(&device, 1 << 20);
    if (!strcmp(arg[1], "bug")) bug();
    if (!strcmp(arg[1], "fix")) fix();
    if (!strcmp(arg[1], "dies")) set<<<0, 1>>>(device), _exit(0);
    if (!strcmp(arg[1], "fault")) {
        set<<<1, 32>>>((float *)8);
        cudaDeviceSynchronize();
        set<<<1, 32>>>(device);
    }
    cudaFree(device);
    return 0;
}
