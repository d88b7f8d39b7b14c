// saxpy.cu - y = a*x + y on the GPU
// build: nvcc -O2 saxpy.cu -o saxpy
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define CHECK(call)                                                        \
  do {                                                                     \
    cudaError_t err_ = (call);                                             \
    if (err_ != cudaSuccess) {                                             \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                   \
              cudaGetErrorString(err_));                                   \
      exit(EXIT_FAILURE);                                                  \
    }                                                                      \
  } while (0)

__global__ void saxpy(int n, float a, const float *x, float *y)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv)
{
  int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
  size_t bytes = n * sizeof(float);
  float *x = (float *)malloc(bytes), *y = (float *)malloc(bytes);
  float *d_x, *d_y;
  for (int i = 0; i < n; i++) {
    x[i] = 1.0f + (i % 7);
    y[i] = 2.0f;
  }

  CHECK(cudaMalloc(&d_x, bytes));
  CHECK(cudaMalloc(&d_y, bytes));
  CHECK(cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(d_y, y, bytes, cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventRecord(start));
  saxpy<<<(n + 255) / 256, 256>>>(n, 3.0f, d_x, d_y);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));

  float ms = 0.0f;
  CHECK(cudaEventElapsedTime(&ms, start, stop));
  CHECK(cudaMemcpy(y, d_y, bytes, cudaMemcpyDeviceToHost));

  float worst = 0.0f;
  for (int i = 0; i < n; i++)
    worst = fmaxf(worst, fabsf(y[i] - (3.0f * x[i] + 2.0f)));
  printf("n = %d, %.3f ms, %.1f GB/s, max error %g\n", n, ms, 3.0 * bytes / (ms * 1e6), worst);

  cudaFree(d_x);
  cudaFree(d_y);
  free(x);
  free(y);
  return worst < 1e-5f ? 0 : 1;
}
