// sections.cu - kernels with two results that need nothing of each other, as people write them: two
// loops one behind the other, two calls, one loop with two sums, two sums of a block.
//
//   for k in stats pulled products update joined filters sparse ends moments labels; do
//     gilua new tests/gpu/sections.cu --kernel $k -o out/sections/$k
//   done
//   gilua --device cuda tests/gpu/transformations.lua --kinds sections out/sections/*
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 128

// Of each column the mean and the greatest.
__global__ void stats(const float *a, float *mean, float *most, int rows, int columns)
{
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float sum = 0;
  for (int r = 0; r < rows; r++)
    sum += a[r * columns + c];
  mean[c] = sum / rows;
  float top = a[c];
  for (int r = 1; r < rows; r++)
    top = fmaxf(top, a[r * columns + c]);
  most[c] = top;
}

// Forces on particles along a line, and how many are near.
__device__ float pull(const float *at, int count, float here)
{
  float force = 0;
  for (int k = 0; k < count; k++) {
    float d = at[k] - here;
    force += d / (1.0f + d * d);
  }
  return force;
}

__device__ float near(const float *at, int count, float here)
{
  float density = 0;
  for (int k = 0; k < count; k++) {
    float d = at[k] - here, w = 4.0f - d * d;
    density += w > 0 ? w * w * w : 0;
  }
  return density;
}

__global__ void pulled(const float *at, float *force, float *density, int count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    const float here = at[i];
    force[i] = pull(at, count, here);
    density[i] = near(at, count, here);
  }
}

// A matrix times a vector, and another one times its columns.
__global__ void products(const float *a, const float *u, const float *v, float *down,
                         float *along, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += a[k * n + i] * u[k];
  down[i] = sum;

  sum = 0;
  for (int k = 0; k < n; k++)
    sum += a[i * n + k] * v[k];
  along[i] = sum;
}

// A matrix with something added, and the sums of its columns as it was.
__global__ void update(const float *a, const float *u, const float *y, float *b, float *x, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0;
    for (int k = 0; k < n; k++) {
      b[k * n + i] = a[k * n + i] + u[k] * u[i];
      sum += a[k * n + i] * y[k];
    }
    x[i] = 1.5f * sum;
  }
}

// Two matrices times one vector, in one loop.
__global__ void joined(const float *a, const float *b, const float *x, float *y, float *z, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0, t = 0;
  if (i >= n) return;
#pragma unroll 4
  for (int k = 0; k < n; k++) {
    const float scale = x[k]; // of both
    s += a[k * n + i] * scale;
    t += b[k * n + i] * scale;
  }
  y[i] = s;
  const float half = 0.5f * t;
  z[i] = half;
}

// The edges of an image, and the image blurred.
__global__ void filters(const float *in, float *edges, float *blurred, int width, int height)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  float gx = 0, gy = 0;
  for (int d = -1; d <= 1; d++) {
    int row = min(max(y + d, 0), height - 1), column = min(max(x + d, 0), width - 1);
    gx += in[row * width + min(x + 1, width - 1)] - in[row * width + max(x - 1, 0)];
    gy += in[min(y + 1, height - 1) * width + column] - in[max(y - 1, 0) * width + column];
  }
  edges[y * width + x] = sqrtf(gx * gx + gy * gy);
  float sum = 0;
  for (int dy = -2; dy <= 2; dy++)
    for (int dx = -2; dx <= 2; dx++)
      sum += in[min(max(y + dy, 0), height - 1) * width + min(max(x + dx, 0), width - 1)];
  blurred[y * width + x] = sum / 25;
}

// Two polynomials of each element: a while, and a variable that serves again.
__global__ void sparse(const float *a, const float *b, float *p, float *q, int n, int terms)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x, k;
  float value;
  if (i < n) {
    value = 0;
    k = 0;
    while (k < terms) {
      value = value * a[i] + a[(i + k) % n];
      k++;
    }
    p[i] = value;
    value = 1;
    for (k = 0; k < terms; k++)
      value = value * 0.5f * b[i] + b[(i + k) % n];
    q[i] = value;
  }
}

// The least and the greatest of a block's elements, each in shared memory of its own.
__global__ void ends(const float *in, float *least, float *most, int n)
{
  __shared__ float low[BLOCK];
  __shared__ float high[BLOCK];
  int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  float own = in[min(i, n - 1)];
  low[t] = own;
  high[t] = own;
  __syncthreads();
  for (int h = BLOCK / 2; h > 0; h /= 2) {
    if (t < h)
      low[t] = fminf(low[t], low[t + h]);
    __syncthreads();
  }
  if (t == 0)
    least[blockIdx.x] = low[0];
  for (int h = BLOCK / 2; h > 0; h /= 2) {
    if (t < h)
      high[t] = fmaxf(high[t], high[t + h]);
    __syncthreads();
  }
  if (t == 0)
    most[blockIdx.x] = high[0];
}

// The sum of a block's elements and of their squares, in the same shared memory.
__global__ void moments(const float *in, float *sums, float *squares, int n)
{
  __shared__ float part[BLOCK];
  int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
  float own = i < n ? in[i] : 0;
  part[t] = own;
  __syncthreads();
  for (int h = BLOCK / 2; h > 0; h /= 2) {
    if (t < h)
      part[t] += part[t + h];
    __syncthreads();
  }
  if (t == 0)
    sums[blockIdx.x] = part[0];
  __syncthreads();
  part[t] = own * own;
  __syncthreads();
  for (int h = BLOCK / 2; h > 0; h /= 2) {
    if (t < h)
      part[t] += part[t + h];
    __syncthreads();
  }
  if (t == 0)
    squares[blockIdx.x] = part[0];
}

// The nearest of some centres in whole numbers, and how often each value of 16 is there.
__global__ void labels(const int *in, const int *centres, int *label, int *counts, int n, int many)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int best = 0;
  for (int k = 1; k < many; k++)
    if (abs(centres[k] - in[i]) < abs(centres[best] - in[i])) best = k;
  label[i] = best;
  int own = in[i] & 15;
  atomicAdd(&counts[own], 1);
}

static float *floats(size_t n)
{
  float *host = (float *)malloc(n * sizeof *host), *device;
  for (size_t i = 0; i < n; i++) host[i] = (rand() % 2000 - 1000) / 500.0f;
  cudaMalloc(&device, n * sizeof *host);
  cudaMemcpy(device, host, n * sizeof *host, cudaMemcpyHostToDevice);
  free(host);
  return device;
}

static int *ints(size_t n, int below)
{
  int *host = (int *)malloc(n * sizeof *host), *device;
  for (size_t i = 0; i < n; i++) host[i] = below ? rand() % below : 0;
  cudaMalloc(&device, n * sizeof *host);
  cudaMemcpy(device, host, n * sizeof *host, cudaMemcpyHostToDevice);
  free(host);
  return device;
}

static void show(const char *name, const float *device, size_t n)
{
  float *host = (float *)malloc(n * sizeof *host);
  double sum = 0;
  cudaMemcpy(host, device, n * sizeof *host, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < n; i++) sum += host[i];
  printf("%s %g\n", name, sum / n);
  free(host);
}

int main(void)
{
  int n = 512, rows = 256, columns = 1024, items = 4096, width = 320, height = 200, terms = 40;
  int many = 24;
  dim3 tile(16, 8), tiles((width + 15) / 16, (height + 7) / 8);
  float *square = floats(n * n), *other = floats(n * n);
  float *wide = floats(rows * columns), *image = floats(width * height);
  float *one = floats(items), *two = floats(items), *three = floats(items), *four = floats(items);
  float *edges = floats(width * height), *blurred = floats(width * height);
  int *numbers = ints(items, 1000), *centres = ints(many, 1000), *label = ints(items, 0);
  int *counts = ints(16, 0);

  stats<<<(columns + 63) / 64, 64>>>(wide, one, two, rows, columns);
  show("stats", one, columns);
  show("stats", two, columns);
  pulled<<<(items + 127) / 128, 128>>>(one, two, three, items);
  show("pulled", two, items);
  show("pulled", three, items);
  products<<<(n + 63) / 64, 64>>>(square, one, two, three, four, n);
  show("products", three, n);
  show("products", four, n);
  update<<<(n + 63) / 64, 64>>>(square, one, two, other, three, n);
  show("update", other, n * n);
  show("update", three, n);
  joined<<<(n + 63) / 64, 64>>>(square, other, one, three, four, n);
  show("joined", three, n);
  show("joined", four, n);
  filters<<<tiles, tile>>>(image, edges, blurred, width, height);
  show("filters", edges, width * height);
  show("filters", blurred, width * height);
  sparse<<<(items + 255) / 256, 256>>>(square, wide, three, four, items, terms);
  show("sparse", three, items);
  show("sparse", four, items);
  ends<<<(items + BLOCK - 1) / BLOCK, BLOCK>>>(one, two, three, items);
  show("ends", two, items / BLOCK);
  show("ends", three, items / BLOCK);
  moments<<<(items + BLOCK - 1) / BLOCK, BLOCK>>>(one, two, three, items);
  show("moments", two, items / BLOCK);
  show("moments", three, items / BLOCK);
  labels<<<(items + 255) / 256, 256>>>(numbers, centres, label, counts, items, many);
  int found[16];
  cudaMemcpy(found, counts, sizeof found, cudaMemcpyDeviceToHost);
  printf("labels %d %d, %s\n", found[0], found[15], cudaGetErrorString(cudaGetLastError()));
  return 0;
}
