// Sums over the middle one of three dimensions.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void sum_dim(const float *x, float *y, int outer, int reduce, int inner) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= outer * inner) return;
    int o = i / inner, in = i % inner;
    float sum = 0.0f;
    for (int r = 0; r < reduce; r++) sum += x[(o * reduce + r) * inner + in];
    y[i] = sum;
}

int main() {
    int outer = 16, reduce = 1024, inner = 256;
    float *x;
    cudaMalloc(&x, sizeof(float) * outer * reduce * inner);
    {
        std::vector<float> h(outer * reduce * inner);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * outer * inner);

    sum_dim<<<(outer * inner + 255) / 256, 256>>>(x, y, outer, reduce, inner);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
