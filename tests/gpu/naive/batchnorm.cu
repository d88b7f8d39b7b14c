// Normalization of each channel of a batch of images.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void batchnorm(const float *x, const float *gamma, const float *beta, float *y,
                          int images, int channels, int pixels) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels) return;
    float mean = 0.0f, var = 0.0f;
    for (int n = 0; n < images; n++)
        for (int i = 0; i < pixels; i++) mean += x[(n * channels + c) * pixels + i];
    mean /= images * pixels;
    for (int n = 0; n < images; n++)
        for (int i = 0; i < pixels; i++) {
            float d = x[(n * channels + c) * pixels + i] - mean;
            var += d * d;
        }
    float r = rsqrtf(var / (images * pixels) + 1e-5f);
    for (int n = 0; n < images; n++)
        for (int i = 0; i < pixels; i++)
            y[(n * channels + c) * pixels + i] =
                (x[(n * channels + c) * pixels + i] - mean) * r * gamma[c] + beta[c];
}

int main() {
    int images = 32, channels = 256, pixels = 196;
    float *x;
    cudaMalloc(&x, sizeof(float) * images * channels * pixels);
    {
        std::vector<float> h(images * channels * pixels);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *gamma;
    cudaMalloc(&gamma, sizeof(float) * channels);
    {
        std::vector<float> h(channels);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(gamma, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *beta;
    cudaMalloc(&beta, sizeof(float) * channels);
    {
        std::vector<float> h(channels);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(beta, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * images * channels * pixels);

    batchnorm<<<(channels + 31) / 32, 32>>>(x, gamma, beta, y, images, channels, pixels);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
