// A transposed convolution of 3 x 3 by steps of 2, 16 channels to 32.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void conv_transposed(const float *x, const float *w, float *y, int channels, int height,
                                int width, int filters) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int f = blockIdx.z;
    int oh = height * 2 + 1, ow = width * 2 + 1;
    if (row >= oh || col >= ow) return;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                int r = row - i, s = col - j;
                if (r < 0 || s < 0 || r % 2 != 0 || s % 2 != 0) continue;
                if (r / 2 >= height || s / 2 >= width) continue;
                sum += x[(c * height + r / 2) * width + s / 2] *
                       w[((c * filters + f) * 3 + i) * 3 + j];
            }
    y[(f * oh + row) * ow + col] = sum;
}

int main() {
    int channels = 16, height = 64, width = 64, filters = 32;
    float *x;
    cudaMalloc(&x, sizeof(float) * channels * height * width);
    {
        std::vector<float> h(channels * height * width);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *w;
    cudaMalloc(&w, sizeof(float) * channels * filters * 9);
    {
        std::vector<float> h(channels * filters * 9);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(w, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * filters * (height * 2 + 1) * (width * 2 + 1));

    dim3 grid((width * 2 + 16) / 16, (height * 2 + 16) / 16, filters);
    conv_transposed<<<grid, dim3(16, 16)>>>(x, w, y, channels, height, width, filters);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
