// Normalization of groups of channels.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void groupnorm(const float *x, const float *gamma, const float *beta, float *y,
                          int images, int groups, int each, int pixels) {
    int g = blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= images * groups) return;
    int n = each * pixels, first = g % groups * each;
    float mean = 0.0f, var = 0.0f;
    for (int j = 0; j < n; j++) mean += x[g * n + j];
    mean /= n;
    for (int j = 0; j < n; j++) {
        float d = x[g * n + j] - mean;
        var += d * d;
    }
    float r = rsqrtf(var / n + 1e-5f);
    for (int j = 0; j < n; j++) {
        int c = first + j / pixels;
        y[g * n + j] = (x[g * n + j] - mean) * r * gamma[c] + beta[c];
    }
}

int main() {
    int images = 32, groups = 8, each = 8, pixels = 784;
    float *x;
    cudaMalloc(&x, sizeof(float) * images * groups * each * pixels);
    {
        std::vector<float> h(images * groups * each * pixels);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *gamma;
    cudaMalloc(&gamma, sizeof(float) * groups * each);
    {
        std::vector<float> h(groups * each);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(gamma, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *beta;
    cudaMalloc(&beta, sizeof(float) * groups * each);
    {
        std::vector<float> h(groups * each);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(beta, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * images * groups * each * pixels);

    groupnorm<<<(images * groups + 31) / 32, 32>>>(x, gamma, beta, y, images, groups, each, pixels);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
