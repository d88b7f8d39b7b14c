// Mean squared error.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void mse(const float *a, const float *b, float *total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float d = a[i] - b[i];
        atomicAdd(total, d * d / n);
    }
}

int main() {
    int n = 1 << 20;
    float *a;
    cudaMalloc(&a, sizeof(float) * n);
    {
        std::vector<float> h(n);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(a, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *b;
    cudaMalloc(&b, sizeof(float) * n);
    {
        std::vector<float> h(n);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(b, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *total;
    cudaMalloc(&total, sizeof(float) * 1);
    cudaMemset(total, 0, sizeof(float) * 1);

    mse<<<(n + 255) / 256, 256>>>(a, b, total, n);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
