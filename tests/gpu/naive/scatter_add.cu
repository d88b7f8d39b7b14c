// Rows that are added to those of a table by their numbers.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void scatter_add(const int *token, const float *x, float *table, int tokens, int width) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tokens) return;
    for (int j = 0; j < width; j++) atomicAdd(&table[token[t] * width + j], x[t * width + j]);
}

int main() {
    int tokens = 8192, words = 2048, width = 256;
    int *token;
    cudaMalloc(&token, sizeof(int) * tokens);
    std::vector<int> h_token(tokens);
    for (int i = 0; i < tokens; i++) h_token[i] = rand() % words;
    cudaMemcpy(token, h_token.data(), sizeof(int) * tokens, cudaMemcpyHostToDevice);
    float *x;
    cudaMalloc(&x, sizeof(float) * tokens * width);
    {
        std::vector<float> h(tokens * width);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(x, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *table;
    cudaMalloc(&table, sizeof(float) * words * width);
    cudaMemset(table, 0, sizeof(float) * words * width);

    scatter_add<<<(tokens + 127) / 128, 128>>>(token, x, table, tokens, width);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
