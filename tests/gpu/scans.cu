// scans.cu - running sums and recurrences as people write them first: one thread, or one for a row.
//
//   for k in places distribution rows recurrence; do
//     gilua new tests/gpu/scans.cu --kernel $k -o out/scans/$k
//   done
//   gilua --device cuda tests/gpu/transformations.lua --kinds carry,warp_loop,warp_row out/scans/*
#include <stdio.h>
#include <stdlib.h>

#define BINS 256

// Where each bin of a block's items begins: how many are in those before it.
__global__ void places(const int *items, int *begins, int n)
{
  __shared__ int count[BINS];
  int t = threadIdx.x, own = n / gridDim.x;
  count[t] = 0;
  __syncthreads();
  for (int i = t; i < own; i += BINS)
    atomicAdd(&count[items[blockIdx.x * own + i] & (BINS - 1)], 1);
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (int i = 0; i < BINS; i++) {
      int here = count[i];
      count[i] = sum;
      sum += here;
    }
  }
  __syncthreads();
  begins[blockIdx.x * BINS + t] = count[t];
}

// The cumulative distribution of weights, by one thread of the grid.
__global__ void distribution(double *weights, double *cdf, double sum, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    cdf[0] = weights[0] / sum;
    for (int x = 1; x < n; x++)
      cdf[x] = weights[x] / sum + cdf[x - 1];
  }
}

// Sums along the rows of an image.
__global__ void rows(const float *image, float *sums, int width, int height)
{
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y < height) {
    float sum = 0.0f;
    for (int x = 0; x < width; x++) {
      sum += image[y * width + x];
      sums[y * width + x] = sum;
    }
  }
}

// The first sweep of a system of three diagonals, a system a thread, neighbours beside each other.
__global__ void recurrence(const float *below, const float *above, float *middle, float *right,
                           int systems, int length)
{
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s < systems) {
    for (int i = 1; i < length; i++) {
      float w = below[i * systems + s] / middle[(i - 1) * systems + s];
      middle[i * systems + s] = middle[i * systems + s] - w * above[(i - 1) * systems + s];
      right[i * systems + s] = right[i * systems + s] - w * right[(i - 1) * systems + s];
    }
  }
}

static void *on_device(const void *bytes, size_t n)
{
  void *p;
  if (cudaMalloc(&p, n) != cudaSuccess || cudaMemcpy(p, bytes, n, cudaMemcpyHostToDevice)) {
    fprintf(stderr, "no memory on the device\n");
    exit(1);
  }
  return p;
}

int main(void)
{
  const int n = 1 << 16, width = 256, height = 1024, systems = 1024, length = 64, weights = 4096;
  int *items = (int *)malloc(n * sizeof(int));
  float *numbers = (float *)malloc(width * height * sizeof(float));
  double *parts = (double *)malloc(weights * sizeof(double)), sum = 0;
  for (int i = 0; i < n; i++) items[i] = i * 7919 % 65521;
  for (int i = 0; i < width * height; i++) numbers[i] = 1.0f + (i * 31 % 17) / 16.0f;
  for (int i = 0; i < weights; i++) sum += parts[i] = 1 + i * 13 % 101;

  int *d_items = (int *)on_device(items, n * sizeof(int));
  int *d_begins = (int *)on_device(items, n / 1024 * BINS * sizeof(int));
  places<<<n / 1024, BINS>>>(d_items, d_begins, n);

  double *d_weights = (double *)on_device(parts, weights * sizeof(double));
  double *d_cdf = (double *)on_device(parts, weights * sizeof(double));
  distribution<<<(weights + 255) / 256, 256>>>(d_weights, d_cdf, sum, weights);

  float *d_image = (float *)on_device(numbers, width * height * sizeof(float));
  float *d_sums = (float *)on_device(numbers, width * height * sizeof(float));
  rows<<<(height + 127) / 128, 128>>>(d_image, d_sums, width, height);

  float *d_below = (float *)on_device(numbers, systems * length * sizeof(float));
  float *d_above = (float *)on_device(numbers, systems * length * sizeof(float));
  float *d_middle = (float *)on_device(numbers, systems * length * sizeof(float));
  float *d_right = (float *)on_device(numbers, systems * length * sizeof(float));
  recurrence<<<(systems + 127) / 128, 128>>>(d_below, d_above, d_middle, d_right, systems, length);

  cudaMemcpy(numbers, d_sums, width * height * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(parts, d_cdf, weights * sizeof(double), cudaMemcpyDeviceToHost);
  cudaMemcpy(items, d_begins, n / 1024 * BINS * sizeof(int), cudaMemcpyDeviceToHost);
  printf("%d %g %g\n", items[BINS - 1], parts[weights - 1], numbers[width - 1]);
  cudaError_t last = cudaGetLastError();
  if (last != cudaSuccess) fprintf(stderr, "%s\n", cudaGetErrorString(last));
  return last != cudaSuccess;
}
