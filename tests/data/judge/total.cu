// The sum of n doubles, by one block.
#include <cuda_runtime.h>

__global__ void total(const double *x, double *sum, int n)
{
    __shared__ double part[256];
    double own = 0;
    for (int i = threadIdx.x; i < n; i += 256) own += x[i];
    part[threadIdx.x] = own;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) sum[0] = part[0];
}

int main()
{
    const int n = 32768;
    double *x, *sum;
    cudaMalloc(&x, n * sizeof(double));
    cudaMalloc(&sum, sizeof(double));
    total<<<1, 256>>>(x, sum, n);
    cudaDeviceSynchronize();
}
