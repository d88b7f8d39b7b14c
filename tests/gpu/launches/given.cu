// A macro that launches the kernel which it is given, and another with it.
// new: --kernel distances
#include "program.h"

#define LAUNCH(kernel, n, ...) \
    do { kernel<<<((n) + 127) / 128, 128>>>(__VA_ARGS__); } while (0)

__global__ void clear(float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0;
}

__global__ void distances(float *y, const float *x, const float *centre, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int j = 0; j < cols; j++) {
        float d = x[row * cols + j] - centre[j];
        sum += d * d;
    }
    y[row] = sqrtf(sum);
}

int main() {
    int rows = 8192, cols = 256;
    float *x, *centre, *y;
    cudaMalloc(&x, rows * cols * sizeof(float));
    cudaMalloc(&centre, cols * sizeof(float));
    cudaMalloc(&y, rows * sizeof(float));
    fill(x, rows * cols);
    fill(centre, cols);
    LAUNCH(clear, rows, y, rows);
    LAUNCH(distances, rows, y, x, centre, rows, cols); // timed
    print_sums(y, rows);
    return 0;
}
