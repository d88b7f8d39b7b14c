// product.cu - a batch of products of a matrix and a transposed one, with a bias
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>

__global__ void product(float *out, const float *x, const float *weights, const float *bias,
                        int rows, int columns, int depth)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int batch = blockIdx.z;
    if (row < rows && column < columns) {
        float sum = 0.0f;
        for (int k = 0; k < depth; k++)
            sum += x[(batch * rows + row) * depth + k] * weights[column * depth + k];
        sum += bias[column];
        out[(batch * rows + row) * columns + column] = sum > 0.0f ? sum : 0.0f;
    }
}

int main()
{
    const int batches = 3, rows = 150, columns = 200, depth = 100;
    std::vector<float> x(batches * rows * depth), weights(columns * depth), bias(columns);
    for (size_t i = 0; i < x.size(); i++) x[i] = (int)(i % 13) - 6;
    for (size_t i = 0; i < weights.size(); i++) weights[i] = (int)(i % 7) - 3;
    for (size_t i = 0; i < bias.size(); i++) bias[i] = i % 5;

    float *d_x, *d_weights, *d_bias, *d_out;
    cudaMalloc(&d_x, x.size() * sizeof(float));
    cudaMalloc(&d_weights, weights.size() * sizeof(float));
    cudaMalloc(&d_bias, bias.size() * sizeof(float));
    cudaMalloc(&d_out, batches * rows * columns * sizeof(float));
    cudaMemcpy(d_x, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_weights, weights.data(), weights.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_bias, bias.data(), bias.size() * sizeof(float), cudaMemcpyHostToDevice);

    const dim3 block(16, 16);
    const dim3 grid((columns + block.x - 1) / block.x, (rows + block.y - 1) / block.y, batches);
    product<<<grid, block>>>(d_out, d_x, d_weights, d_bias, rows, columns, depth);

    std::vector<float> out(batches * rows * columns);
    cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < batches * rows; i++) {
        for (int j = 0; j < columns; j++) {
            float sum = bias[j];
            for (int k = 0; k < depth; k++) sum += x[i * depth + k] * weights[j * depth + k];
            if (out[i * columns + j] != (sum > 0.0f ? sum : 0.0f)) {
                std::printf("row %d, column %d: %g\n", i, j, out[i * columns + j]);
                return 1;
            }
        }
    }
    std::printf("right\n");
    return 0;
}
