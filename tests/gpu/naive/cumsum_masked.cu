// Running sums of those elements that a mask has.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void cumsum_masked(const float *x, const unsigned char *mask, float *y, int rows,
                              int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++) {
        if (mask[row * cols + j]) sum += x[row * cols + j];
        y[row * cols + j] = sum;
    }
}

int main() {
    int rows = 2048, cols = 1024;
    float *x;
    cudaMalloc(&x, sizeof(float) * rows * cols);
    {
        std::vector<float> h(rows * cols);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    unsigned char *mask;
    cudaMalloc(&mask, sizeof(unsigned char) * rows * cols);
    std::vector<unsigned char> h_mask(rows * cols);
    for (int i = 0; i < rows * cols; i++) h_mask[i] = rand() % 2;
    cudaMemcpy(mask, h_mask.data(), sizeof(unsigned char) * rows * cols, cudaMemcpyHostToDevice);
    float *y;
    cudaMalloc(&y, sizeof(float) * rows * cols);

    cumsum_masked<<<(rows + 127) / 128, 128>>>(x, mask, y, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
