// Layer normalization of rows.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void layernorm(const float *x, const float *gamma, const float *beta, float *y, int rows,
                          int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float mean = 0.0f;
    for (int j = 0; j < cols; j++) mean += x[row * cols + j];
    mean /= cols;
    float var = 0.0f;
    for (int j = 0; j < cols; j++) {
        float d = x[row * cols + j] - mean;
        var += d * d;
    }
    float r = rsqrtf(var / cols + 1e-5f);
    for (int j = 0; j < cols; j++)
        y[row * cols + j] = (x[row * cols + j] - mean) * r * gamma[j] + beta[j];
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
    float *beta;
    cudaMalloc(&beta, sizeof(float) * cols);
    {
        std::vector<float> h(cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(beta, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * rows * cols);

    layernorm<<<(rows + 127) / 128, 128>>>(x, gamma, beta, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
