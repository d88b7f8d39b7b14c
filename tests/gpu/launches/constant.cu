// A constant of the file.
#include "program.h"

const int THREADS = 128;

__global__ void softmax(float *y, const float *x, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float largest = -INFINITY, sum = 0;
    for (int j = 0; j < cols; j++) largest = fmaxf(largest, x[row * cols + j]);
    for (int j = 0; j < cols; j++) sum += expf(x[row * cols + j] - largest);
    for (int j = 0; j < cols; j++) y[row * cols + j] = expf(x[row * cols + j] - largest) / sum;
}

int main() {
    int rows = 4096, cols = 512;
    float *x, *y;
    cudaMalloc(&x, rows * cols * sizeof(float));
    cudaMalloc(&y, rows * cols * sizeof(float));
    fill(x, rows * cols);
    softmax<<<(rows + THREADS - 1) / THREADS, THREADS>>>(y, x, rows, cols); // timed
    print_sums(y, rows * cols);
    return 0;
}
