// Attention of each row over the keys up to its own.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void attention_causal(const float *q, const float *k, const float *v, float *o,
                                 int heads, int length) {
    const int depth = 64;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int h = blockIdx.y;
    if (i >= length) return;
    const float *qi = q + (h * length + i) * depth;
    float largest = -INFINITY, sum = 0.0f;
    float out[64];
    for (int d = 0; d < depth; d++) out[d] = 0.0f;
    for (int j = 0; j <= i; j++) {
        const float *kj = k + (h * length + j) * depth;
        float s = 0.0f;
        for (int d = 0; d < depth; d++) s += qi[d] * kj[d];
        s *= 0.125f;
        float m = fmaxf(largest, s);
        float keep = expf(largest - m), w = expf(s - m);
        sum = sum * keep + w;
        for (int d = 0; d < depth; d++) out[d] = out[d] * keep + w * v[(h * length + j) * depth + d];
        largest = m;
    }
    for (int d = 0; d < depth; d++) o[(h * length + i) * depth + d] = out[d] / sum;
}

int main() {
    int heads = 16, length = 512;
    float *q;
    cudaMalloc(&q, sizeof(float) * heads * length * 64);
    {
        std::vector<float> h(heads * length * 64);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(q, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *k;
    cudaMalloc(&k, sizeof(float) * heads * length * 64);
    {
        std::vector<float> h(heads * length * 64);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(k, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *v;
    cudaMalloc(&v, sizeof(float) * heads * length * 64);
    {
        std::vector<float> h(heads * length * 64);
        for (auto &v : h) v = (float)rand() / RAND_MAX * 2 - 1;
        cudaMemcpy(v, h.data(), sizeof(float) * h.size(), cudaMemcpyHostToDevice);
    }
    float *o;
    cudaMalloc(&o, sizeof(float) * heads * length * 64);

    attention_causal<<<dim3((length + 63) / 64, heads), 64>>>(q, k, v, o, heads, length);
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}
