// Softmax of each row: one thread a row.
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void softmax(const float *x, float *out, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float *in = x + row * columns;
    float most = in[0], sum = 0;
    for (int i = 1; i < columns; i++) most = fmaxf(most, in[i]);
    for (int i = 0; i < columns; i++) sum += expf(in[i] - most);
    for (int i = 0; i < columns; i++) out[row * columns + i] = expf(in[i] - most) / sum;
}

int main()
{
    const int rows = 1024, columns = 32;
    float *x, *out, *h = (float *)malloc(rows * columns * sizeof(float));
    for (int i = 0; i < rows * columns; i++) h[i] = 8.0f * rand() / RAND_MAX - 4.0f;
    cudaMalloc(&x, rows * columns * sizeof(float));
    cudaMalloc(&out, rows * columns * sizeof(float));
    cudaMemcpy(x, h, rows * columns * sizeof(float), cudaMemcpyHostToDevice);
    softmax<<<(rows + 127) / 128, 128>>>(x, out, rows, columns);
    cudaDeviceSynchronize();
}
