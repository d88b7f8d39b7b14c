// A convolution of 3 x 3 over every second element, 16 channels to 32.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void conv_dilated(const float *x, const float *w, float *y, int channels, int height,
                             int width, int filters) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int f = blockIdx.z;
    if (row >= height - 4 || col >= width - 4) return;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum += x[(c * height + row + 2 * i) * width + col + 2 * j] *
                       w[((f * channels + c) * 3 + i) * 3 + j];
    y[(f * (height - 4) + row) * (width - 4) + col] = sum;
}

int main() {
    int channels = 16, height = 132, width = 132, filters = 32;
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
    cudaMalloc(&y, sizeof(float) * filters * (height - 4) * (width - 4));

    dim3 grid((width + 11) / 16, (height + 11) / 16, filters);
    conv_dilated<<<grid, dim3(16, 16)>>>(x, w, y, channels, height, width, filters);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
