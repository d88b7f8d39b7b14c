// A convolution of 3 x 3 x 3, 8 channels to 16.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void conv3d(const float *x, const float *w, float *y, int channels, int depth,
                       int height, int width, int filters) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int f = blockIdx.z / (depth - 2), level = blockIdx.z % (depth - 2);
    if (row >= height - 2 || col >= width - 2) return;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++)
        for (int h = 0; h < 3; h++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    sum += x[((c * depth + level + h) * height + row + i) * width + col + j] *
                           w[(((f * channels + c) * 3 + h) * 3 + i) * 3 + j];
    y[((f * (depth - 2) + level) * (height - 2) + row) * (width - 2) + col] = sum;
}

int main() {
    int channels = 8, depth = 34, height = 34, width = 34, filters = 16;
    float *x;
    cudaMalloc(&x, sizeof(float) * channels * depth * height * width);
    {
        std::vector<float> h(channels * depth * height * width);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *w;
    cudaMalloc(&w, sizeof(float) * filters * channels * 27);
    {
        std::vector<float> h(filters * channels * 27);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(w, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * filters * (depth - 2) * (height - 2) * (width - 2));

    dim3 grid((width + 13) / 16, (height + 13) / 16, filters * (depth - 2));
    conv3d<<<grid, dim3(16, 16)>>>(x, w, y, channels, depth, height, width, filters);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
