// Sums of what stands before each element of a row.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void cumsum_exclusive(const float *x, float *y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++) {
        y[row * cols + j] = sum;
        sum += x[row * cols + j];
    }
}

int main() {
    int rows = 2048, cols = 1024;
    float *x;
    cudaMalloc(&x, sizeof(float) * rows * cols);
    {
        std::vector<float> h(rows * cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * rows * cols);

    cumsum_exclusive<<<(rows + 127) / 128, 128>>>(x, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
