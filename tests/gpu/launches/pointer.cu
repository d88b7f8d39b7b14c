// A pointer to the kernel.
#include "program.h"

__global__ void column_sums(float *y, const float *x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float sum = 0;
    for (int i = 0; i < rows; i++) sum += x[i * cols + col];
    y[col] = sum;
}

int main() {
    int rows = 1024, cols = 2048;
    float *x, *y;
    cudaMalloc(&x, rows * cols * sizeof(float));
    cudaMalloc(&y, cols * sizeof(float));
    fill(x, rows * cols);
    auto sums = column_sums;
    sums<<<(cols + 255) / 256, 256>>>(y, x, rows, cols); // timed
    print_sums(y, cols);
    return 0;
}
