// Means of squares of 4 x 4.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void avgpool(const float *x, float *y, int planes, int height, int width) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int p = blockIdx.z;
    int oh = height / 4, ow = width / 4;
    if (row >= oh || col >= ow || p >= planes) return;
    float sum = 0.0f;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum += x[(p * height + row * 4 + i) * width + col * 4 + j];
    y[(p * oh + row) * ow + col] = sum / 16;
}

int main() {
    int planes = 64, height = 256, width = 256;
    float *x;
    cudaMalloc(&x, sizeof(float) * planes * height * width);
    {
        std::vector<float> h(planes * height * width);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * planes * (height / 4) * (width / 4));

    avgpool<<<dim3(width / 64, height / 64, planes), dim3(16, 16)>>>(x, y, planes, height, width);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
