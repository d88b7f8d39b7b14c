// A diagonal matrix, given as a vector, times a matrix.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void matmul_diag(const float *d, const float *x, float *y, int rows, int cols) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && col < cols) y[row * cols + col] = d[row] * x[row * cols + col];
}

int main() {
    int rows = 4096, cols = 1024;
    float *d;
    cudaMalloc(&d, sizeof(float) * rows);
    {
        std::vector<float> h(rows);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(d, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *x;
    cudaMalloc(&x, sizeof(float) * rows * cols);
    {
        std::vector<float> h(rows * cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * rows * cols);

    matmul_diag<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(d, x, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
