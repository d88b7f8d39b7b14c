// A convolution of 3 along one dimension, 24 channels to 64.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void conv1d(const float *x, const float *w, float *y, int channels, int length,
                       int filters) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int f = blockIdx.y, b = blockIdx.z;
    if (at >= length - 2) return;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++)
        for (int i = 0; i < 3; i++)
            sum += x[(b * channels + c) * length + at + i] * w[(f * channels + c) * 3 + i];
    y[(b * filters + f) * (length - 2) + at] = sum;
}

int main() {
    int batch = 16, channels = 24, length = 1026, filters = 64;
    float *x;
    cudaMalloc(&x, sizeof(float) * batch * channels * length);
    {
        std::vector<float> h(batch * channels * length);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *w;
    cudaMalloc(&w, sizeof(float) * filters * channels * 3);
    {
        std::vector<float> h(filters * channels * 3);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(w, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * batch * filters * (length - 2));

    dim3 grid((length + 125) / 128, filters, batch);
    conv1d<<<grid, 128>>>(x, w, y, channels, length, filters);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
