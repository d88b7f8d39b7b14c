// Normalization of rows by their root mean square.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void rmsnorm(const float *x, const float *gamma, float *y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++) sum += x[row * cols + j] * x[row * cols + j];
    float r = rsqrtf(sum / cols + 1e-5f);
    for (int j = 0; j < cols; j++) y[row * cols + j] = x[row * cols + j] * r * gamma[j];
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
    float *gamma;
    cudaMalloc(&gamma, sizeof(float) * cols);
    {
        std::vector<float> h(cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(gamma, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * rows * cols);

    rmsnorm<<<(rows + 127) / 128, 128>>>(x, gamma, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
