// GELU of each element.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void gelu(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
    }
}

int main() {
    int n = 1 << 22;
    float *x;
    cudaMalloc(&x, sizeof(float) * n);
    {
        std::vector<float> h(n);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * n);

    gelu<<<(n + 255) / 256, 256>>>(x, y, n);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
