// The place of the greatest number of each row.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void argmax(const float *x, int *y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int best = 0;
    for (int j = 1; j < cols; j++)
        if (x[row * cols + j] > x[row * cols + best]) best = j;
    y[row] = best;
}

int main() {
    int rows = 4096, cols = 1024;
    float *x;
    cudaMalloc(&x, sizeof(float) * rows * cols);
    {
        std::vector<float> h(rows * cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    int *y;
    cudaMalloc(&y, sizeof(int) * rows);

    argmax<<<(rows + 127) / 128, 128>>>(x, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
