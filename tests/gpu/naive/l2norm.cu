// Rows over their lengths.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void l2norm(const float *x, float *y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++) sum += x[row * cols + j] * x[row * cols + j];
    float length = fmaxf(sqrtf(sum), 1e-12f);
    for (int j = 0; j < cols; j++) y[row * cols + j] = x[row * cols + j] / length;
}

int main() {
    int rows = 4096, cols = 1024;
    float *x;
    cudaMalloc(&x, sizeof(float) * rows * cols);
    {
        std::vector<float> h(rows * cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * rows * cols);

    l2norm<<<(rows + 127) / 128, 128>>>(x, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
