// Maxima of squares of 2 x 2.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void maxpool(const float *x, float *y, int planes, int height, int width) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int p = blockIdx.z;
    int oh = height / 2, ow = width / 2;
    if (row >= oh || col >= ow || p >= planes) return;
    float best = -INFINITY;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            best = fmaxf(best, x[(p * height + row * 2 + i) * width + col * 2 + j]);
    y[(p * oh + row) * ow + col] = best;
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
    cudaMalloc(&y, sizeof(float) * planes * (height / 2) * (width / 2));

    maxpool<<<dim3(width / 32, height / 32, planes), dim3(16, 16)>>>(x, y, planes, height, width);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
