// Numbers in the launch.
#include "program.h"

__global__ void matvec(float *y, const float *a, const float *x, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < cols; j++) sum += a[row * cols + j] * x[j];
    y[row] = sum;
}

int main() {
    float *a, *x, *y;
    cudaMalloc(&a, 4096 * 1024 * sizeof(float));
    cudaMalloc(&x, 1024 * sizeof(float));
    cudaMalloc(&y, 4096 * sizeof(float));
    fill(a, 4096 * 1024);
    fill(x, 1024);
    matvec<<<32, 128>>>(y, a, x, 1024); // timed
    print_sums(y, 4096);
    return 0;
}
