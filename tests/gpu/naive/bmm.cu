// Products of matrices, a batch of them.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void bmm(const float *a, const float *b, float *c, int batch, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int p = blockIdx.z;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += a[(p * m + row) * k + i] * b[(p * k + i) * n + col];
    c[(p * m + row) * n + col] = sum;
}

int main() {
    int batch = 64, m = 256, n = 256, k = 256;
    float *a;
    cudaMalloc(&a, sizeof(float) * batch * m * k);
    {
        std::vector<float> h(batch * m * k);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(a, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *b;
    cudaMalloc(&b, sizeof(float) * batch * k * n);
    {
        std::vector<float> h(batch * k * n);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(b, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *c;
    cudaMalloc(&c, sizeof(float) * batch * m * n);

    dim3 grid((n + 15) / 16, (m + 15) / 16, batch);
    bmm<<<grid, dim3(16, 16)>>>(a, b, c, batch, m, n, k);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
