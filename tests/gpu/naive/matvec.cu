// A matrix times a vector.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void matvec(const float *a, const float *x, float *y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++) sum += a[row * cols + j] * x[j];
    y[row] = sum;
}

int main() {
    int rows = 2048, cols = 4096;
    float *a;
    cudaMalloc(&a, sizeof(float) * rows * cols);
    {
        std::vector<float> h(rows * cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(a, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *x;
    cudaMalloc(&x, sizeof(float) * cols);
    {
        std::vector<float> h(cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * rows);

    matvec<<<(rows + 255) / 256, 256>>>(a, x, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
