// Lines whose costs are known: a coalesced load, a strided one, a shared access with conflicts of 32.
#include <cstdio>

__global__ void lines(const float *x, float *y) {
    __shared__ float s[32 * 32];
    int t = threadIdx.x;
    float a = x[blockIdx.x * 32 + t];           // 4 sectors
    float b = x[t * 64 + blockIdx.x * 4096];    // 32 sectors
    s[t * 32] = a;                              // 32 passes
    __syncthreads();
    if (t < 16) y[blockIdx.x * 32 + t] = s[t * 32] + b; // half of the lanes
}

int main() {
    float *x, *y;
    cudaMalloc(&x, 4 * 4096 * 64);
    cudaMalloc(&y, 4 * 32 * 64);
    cudaMemset(x, 0, 4 * 4096 * 64);
    for (int i = 0; i < 2; i++) lines<<<64, 32>>>(x, y);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
