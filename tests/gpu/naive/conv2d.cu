// A convolution of 3 x 3, 16 channels to 32.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void conv2d(const float *x, const float *w, float *y, int channels, int height,
                       int width, int filters) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int f = blockIdx.z;
    if (row >= height - 2 || col >= width - 2) return;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum += x[(c * height + row + i) * width + col + j] * w[((f * channels + c) * 3 + i) * 3 + j];
    y[(f * (height - 2) + row) * (width - 2) + col] = sum;
}

int main() {
    int channels = 16, height = 130, width = 130, filters = 32;
    float *x;
    cudaMalloc(&x, sizeof(float) * channels * height * width);
    {
        std::vector<float> h(channels * height * width);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *w;
    cudaMalloc(&w, sizeof(float) * filters * channels * 9);
    {
        std::vector<float> h(filters * channels * 9);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(w, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * filters * (height - 2) * (width - 2));

    dim3 grid((width + 13) / 16, (height + 13) / 16, filters);
    conv2d<<<grid, dim3(16, 16)>>>(x, w, y, channels, height, width, filters);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
