// A dim3 for the grid and one for the block, whose sides are given later.
#include "program.h"

__global__ void blur(float *y, const float *x, int width, int height) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= width || row >= height) return;
    float sum = 0;
    for (int i = -2; i <= 2; i++)
        for (int j = -2; j <= 2; j++) {
            int r = min(max(row + i, 0), height - 1), c = min(max(col + j, 0), width - 1);
            sum += x[r * width + c] / 25.0f;
        }
    y[row * width + col] = sum;
}

int main() {
    int width = 2000, height = 1200;
    float *x, *y;
    cudaMalloc(&x, width * height * sizeof(float));
    cudaMalloc(&y, width * height * sizeof(float));
    fill(x, width * height);
    dim3 block(16), grid;
    block.y = 16;
    grid.x = (width + block.x - 1) / block.x;
    grid.y = (height + block.y - 1) / block.y;
    blur<<<grid, block>>>(y, x, width, height); // timed
    print_sums(y, width * height);
    return 0;
}
