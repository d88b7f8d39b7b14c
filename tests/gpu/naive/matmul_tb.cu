// A times B transposed.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void matmul_tb(const float *a, const float *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++) sum += a[row * k + i] * b[col * k + i];
        c[row * n + col] = sum;
    }
}

int main() {
    int m = 1024, n = 1024, k = 1024;
    float *a;
    cudaMalloc(&a, sizeof(float) * m * k);
    {
        std::vector<float> h(m * k);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(a, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *b;
    cudaMalloc(&b, sizeof(float) * k * n);
    {
        std::vector<float> h(k * n);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(b, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *c;
    cudaMalloc(&c, sizeof(float) * m * n);

    matmul_tb<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
