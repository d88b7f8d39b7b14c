// A macro that is a number, and one that divides.
#include "program.h"

#define TILE 16
#define BLOCKS(n) (((n) + TILE - 1) / TILE)

__global__ void matmul(float *c, const float *a, const float *b, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || col >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

int main() {
    int n = 512;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMalloc(&c, n * n * sizeof(float));
    fill(a, n * n);
    fill(b, n * n);
    matmul<<<dim3(BLOCKS(n), BLOCKS(n)), dim3(TILE, TILE)>>>(c, a, b, n); // timed
    print_sums(c, n * n);
    return 0;
}
