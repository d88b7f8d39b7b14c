// The 8 greatest numbers of each row, in order.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void topk(const float *x, float *y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float best[8];
    for (int i = 0; i < 8; i++) best[i] = -INFINITY;
    for (int j = 0; j < cols; j++) {
        float v = x[row * cols + j];
        for (int i = 0; i < 8; i++)
            if (v > best[i]) {
                float t = best[i];
                best[i] = v;
                v = t;
            }
    }
    for (int i = 0; i < 8; i++) y[row * 8 + i] = best[i];
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
    cudaMalloc(&y, sizeof(float) * rows * 8);

    topk<<<(rows + 127) / 128, 128>>>(x, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
