// The product of two lower triangular matrices.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void matmul_tril(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0.0f;
    for (int i = col; i <= row; i++) sum += a[row * n + i] * b[i * n + col];
    c[row * n + col] = sum;
}

int main() {
    int n = 1024;
    float *a;
    cudaMalloc(&a, sizeof(float) * n * n);
    {
        std::vector<float> h(n * n);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(a, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *b;
    cudaMalloc(&b, sizeof(float) * n * n);
    {
        std::vector<float> h(n * n);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(b, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *c;
    cudaMalloc(&c, sizeof(float) * n * n);

    matmul_tril<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
