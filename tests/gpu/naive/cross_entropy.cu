// The cross entropy of rows and their targets.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void cross_entropy(const float *x, const int *target, float *loss, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float largest = -INFINITY, sum = 0.0f;
    for (int j = 0; j < cols; j++) largest = fmaxf(largest, x[row * cols + j]);
    for (int j = 0; j < cols; j++) sum += expf(x[row * cols + j] - largest);
    loss[row] = largest + logf(sum) - x[row * cols + target[row]];
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
    int *target;
    cudaMalloc(&target, sizeof(int) * rows);
    std::vector<int> h_target(rows);
    for (int i = 0; i < rows; i++) h_target[i] = rand() % cols;
    cudaMemcpy(target, h_target.data(), sizeof(int) * rows, cudaMemcpyHostToDevice);
    float *loss;
    cudaMalloc(&loss, sizeof(float) * rows);

    cross_entropy<<<(rows + 127) / 128, 128>>>(x, target, loss, rows, cols);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
