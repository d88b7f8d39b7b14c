// Rows of a table by their numbers.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void embedding(const int *token, const float *table, float *y, int tokens, int width) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tokens) return;
    for (int j = 0; j < width; j++) y[t * width + j] = table[token[t] * width + j];
}

int main() {
    int tokens = 8192, words = 16384, width = 512;
    int *token;
    cudaMalloc(&token, sizeof(int) * tokens);
    std::vector<int> h_token(tokens);
    for (int i = 0; i < tokens; i++) h_token[i] = rand() % words;
    cudaMemcpy(token, h_token.data(), sizeof(int) * tokens, cudaMemcpyHostToDevice);
    float *table;
    cudaMalloc(&table, sizeof(float) * words * width);
    {
        std::vector<float> h(words * width);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(table, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *y;
    cudaMalloc(&y, sizeof(float) * tokens * width);

    embedding<<<(tokens + 127) / 128, 128>>>(token, table, y, tokens, width);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
