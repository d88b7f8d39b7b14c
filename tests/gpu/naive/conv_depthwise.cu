// A convolution of 3 x 3 of each channel by itself.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void conv_depthwise(const float *x, const float *w, float *y, int channels, int height,
                               int width) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int p = blockIdx.z, c = p % channels;
    if (row >= height - 2 || col >= width - 2) return;
    float sum = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += x[(p * height + row + i) * width + col + j] * w[(c * 3 + i) * 3 + j];
    y[(p * (height - 2) + row) * (width - 2) + col] = sum;
}

int main() {
    int batch = 4, channels = 64, height = 130, width = 130;
    float *x;
    cudaMalloc(&x, sizeof(float) * batch * channels * height * width);
    {
        std::vector<float> h(batch * channels * height * width);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *w;
    cudaMalloc(&w, sizeof(float) * channels * 9);
    {
        std::vector<float> h(channels * 9);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(w, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * batch * channels * (height - 2) * (width - 2));

    dim3 grid((width + 13) / 16, (height + 13) / 16, batch * channels);
    conv_depthwise<<<grid, dim3(16, 16)>>>(x, w, y, channels, height, width);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
