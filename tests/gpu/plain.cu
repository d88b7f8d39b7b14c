// plain.cu - kernels as people write them first, for kinds of transformation that programs seldom
// have a place for: rows and columns that change places, filters, loops with a choice in them.
//
//   for k in turned along around totals sums twice striped chosen scaled product wrapped summed \
//       folded; do
//     gilua new tests/gpu/plain.cu --kernel $k -o out/plain/$k
//   done
//   gilua --device cuda tests/gpu/transformations.lua out/plain/*
#include <stdio.h>
#include <stdlib.h>

#define TAPS 33
#define RADIUS 3
#define TILE 16

// Rows become columns.
__global__ void turned(const float *in, float *out, int width, int height)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

// A filter along a signal.
__global__ void along(const float *in, const float *weights, float *out, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - TAPS) {
    float sum = 0.0f;
    for (int k = 0; k < TAPS; k++) sum += in[i + k] * weights[k];
    out[i] = sum;
  }
}

// The mean of the pixels around each; the border is repeated.
__global__ void around(const float *in, float *out, int width, int height)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) {
    float sum = 0.0f;
    for (int v = -RADIUS; v <= RADIUS; v++) {
      for (int u = -RADIUS; u <= RADIUS; u++) {
        int column = min(max(x + u, 0), width - 1);
        int row = min(max(y + v, 0), height - 1);
        sum += in[row * width + column];
      }
    }
    out[y * width + x] = sum / ((2 * RADIUS + 1) * (2 * RADIUS + 1));
  }
}

// Sums over the columns of each of many matrices, a thread each.
__global__ void totals(const float *in, float *out, int matrices, int rows, int columns)
{
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m < matrices) {
    for (int c = 0; c < columns; c++) {
      for (int r = 0; r < rows; r++) {
        out[m * columns + c] += in[(m * rows + r) * columns + c];
      }
    }
  }
}

// The same, row by row.
__global__ void sums(const float *in, float *out, int matrices, int rows, int columns)
{
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m < matrices) {
    for (int r = 0; r < rows; r++) {
      for (int c = 0; c < columns; c++) {
        out[c * matrices + m] += in[(r * columns + c) * matrices + m];
      }
    }
  }
}

// Two results of the same numbers, one after the other.
__global__ void twice(const float *in, float *low, float *high, int n, int terms)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    for (int k = 0; k < terms; k++) low[k * n + i] = 0.5f * in[k * n + i];
    for (int k = 0; k < terms; k++) high[k * n + i] = in[k * n + i] + 1.0f;
  }
}

// Pixels of a stripe, told by their number which row and column they are in.
__global__ void striped(const float *in, float *out, int width, int height, int stripe)
{
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int x0 = t * stripe;
  if (x0 + stripe <= width) {
    float sum = 0.0f;
    for (int k = 0; k < stripe * height; k++) {
      sum += in[(k / stripe) * width + x0 + k % stripe];
    }
    out[t] = sum;
  }
}

// Powers or products, as the caller chooses.
__global__ void chosen(const float *a, const float *b, float *out, int n, int terms, int powers)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
    for (int k = 0; k < terms; k++) {
      if (powers > 0)
        sum += a[k * n + i] * a[k * n + i];
      else
        sum += a[k * n + i] * b[k * n + i];
    }
    out[i] = sum;
  }
}

// Each row by its own factor.
__global__ void scaled(const float *in, const float *factor, float *out, int rows, int columns)
{
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    for (int c = 0; c < columns; c++) out[c * rows + r] = in[c * rows + r] * factor[r];
  }
}

// A product of matrices, a tile at a time.
__global__ void product(const float *a, const float *b, float *c, int n)
{
  __shared__ float left[TILE][TILE];
  __shared__ float right[TILE][TILE];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
  float sum = 0.0f;
  for (int t = 0; t < n / TILE; t++) {
    left[threadIdx.y][threadIdx.x] = a[y * n + t * TILE + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + x];
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[y * n + x] = sum;
}

// A signal that is asked for beyond its end begins anew.
__global__ void wrapped(const float *in, float *out, long long n, long long period, int terms)
{
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
    for (int k = 0; k < terms; k++) {
      long long at = (i * 7 + k * 131) % period;
      sum += in[at];
    }
    out[i] = sum;
  }
}

// One sum of all.
__global__ void summed(const int *in, int *sum, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, in[i] & 7);
}

// A sum for each block.
__global__ void folded(const float *in, float *out)
{
  __shared__ float part[256];
  int t = threadIdx.x;
  part[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

static float *floats(size_t n)
{
  float *host = (float *)malloc(n * sizeof(float)), *p;
  for (size_t i = 0; i < n; i++) host[i] = 1.0f + (i * 31 % 17) / 16.0f;
  if (cudaMalloc((void **)&p, n * sizeof(float)) != cudaSuccess ||
      cudaMemcpy(p, host, n * sizeof(float), cudaMemcpyHostToDevice)) {
    fprintf(stderr, "no memory on the device\n");
    exit(1);
  }
  free(host);
  return p;
}

int main(void)
{
  const int width = 2048, height = 1024, n = 1 << 20, side = 512, terms = 32;
  const int matrices = 4096, rows = 16, columns = 16;
  const dim3 tile(TILE, TILE);
  float *a = floats(n * terms), *b = floats(n * terms), *c = floats(n * 4);

  turned<<<dim3(width / TILE, height / TILE), tile>>>(a, c, width, height);
  along<<<n / 256, 256>>>(a, b, c, n);
  around<<<dim3(width / TILE, height / TILE), tile>>>(a, c, width, height);
  totals<<<matrices / 64, 64>>>(a, c, matrices, rows, columns);
  sums<<<matrices / 64, 64>>>(a, c, matrices, rows, columns);
  twice<<<n / 1024, 256>>>(a, c, b, n / 4, terms / 4);
  striped<<<width / 4 / 64, 64>>>(a, c, width, height, 4);
  chosen<<<n / 256, 256>>>(a, b, c, n, terms, 1);
  scaled<<<n / 4096, 128>>>(a, b, c, n / 32, 32);
  product<<<dim3(side / TILE, side / TILE), tile>>>(a, b, c, side);
  wrapped<<<n / 256, 256>>>(a, c, n, 5003, terms);

  int *words, *sum;
  cudaMalloc((void **)&words, n * sizeof(int));
  cudaMalloc((void **)&sum, sizeof(int));
  cudaMemset(words, 5, n * sizeof(int));
  cudaMemset(sum, 0, sizeof(int));
  summed<<<n / 256, 256>>>(words, sum, n);
  folded<<<n / 256, 256>>>(a, c);

  cudaError_t last = cudaDeviceSynchronize();
  if (last != cudaSuccess) fprintf(stderr, "%s\n", cudaGetErrorString(last));
  return last != cudaSuccess;
}
