// A matrix, transposed.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void transpose(const float *x, float *y, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
}

int main() {
    int rows = 2048, cols = 2048;
    float *x;
    cudaMalloc(&x, sizeof(float) * rows * cols);
    {
        std::vector<float> h(rows * cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * rows * cols);

    transpose<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(x, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
