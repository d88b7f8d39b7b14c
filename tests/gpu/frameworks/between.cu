// Own kernels with cuBLAS between them, as a program of C has them.
#include <cublas_v2.h>
#include <cstdio>
#include <cstdlib>

__global__ void softmax_rows(float *x, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float most = x[r * cols], sum = 0;
    for (int c = 0; c < cols; c++) most = fmaxf(most, x[r * cols + c]);
    for (int c = 0; c < cols; c++) sum += expf(x[r * cols + c] - most);
    for (int c = 0; c < cols; c++) x[r * cols + c] = expf(x[r * cols + c] - most) / sum;
}

int main() {
    const int n = 512, bytes = n * n * sizeof(float);
    const float one = 1, zero = 0;
    float *a, *b, *c, *host = (float *)malloc(bytes);
    cudaMalloc(&a, bytes), cudaMalloc(&b, bytes), cudaMalloc(&c, bytes);
    for (int i = 0; i < n * n; i++) host[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice);
    cublasHandle_t handle;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, a, n, &zero, c, n);
    softmax_rows<<<n / 128, 128>>>(c, n, n);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, c, n, a, n, &zero, b, n);
    cudaMemcpy(host, b, bytes, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < n * n; i++) sum += host[i] * (i % 7);
    printf("sum %.4f, %s\n", sum, cudaGetErrorString(cudaGetLastError()));
    return 0;
}
