// warprows.cu - kernels that give each row to a warp, as people write them: for the kind `subwarp`
// (tests/gpu/transformations.lua).
//
//   for k in spmv softmax norms nearest means product longest; do
//     gilua new tests/gpu/warprows.cu --kernel $k -o out/warprows/$k
//   done
//   gilua --device cuda tests/gpu/transformations.lua --kinds subwarp out/warprows/*
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WARP_SIZE 32
#define FULL_MASK 0xffffffffu
#define WARPS_PER_BLOCK 4

__device__ float warpSum(float value)
{
#pragma unroll
  for (int offset = WARP_SIZE / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(FULL_MASK, value, offset);
  return value;
}

__device__ __forceinline__ float warpMax(float value)
{
  value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, 16));
  value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, 8));
  value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, 4));
  value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, 2));
  value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, 1));
  return value;
}

// A sparse matrix in compressed rows times a vector: rows of 12 elements leave most lanes idle.
__global__ void spmv(const int *first, const int *columns, const float *values, const float *x,
                     float *y, int rows)
{
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x & 31;
  if (row < rows) {
    float sum = 0.0f;
    for (int e = first[row] + lane; e < first[row + 1]; e += 32) sum += values[e] * x[columns[e]];
    for (int offset = 16; offset > 0; offset >>= 1)
      sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0) y[row] = sum;
  }
}

// The softmax of each row.
__global__ void softmax(const float *in, float *out, int rows, int columns)
{
  const int lane = threadIdx.x % WARP_SIZE;
  const int row = blockIdx.x * WARPS_PER_BLOCK + threadIdx.x / WARP_SIZE;
  if (row >= rows) return;
  float most = -FLT_MAX;
  for (int c = lane; c < columns; c += WARP_SIZE) most = fmaxf(most, in[row * columns + c]);
  most = warpMax(most);
  float sum = 0.0f;
  for (int c = lane; c < columns; c += WARP_SIZE) sum += expf(in[row * columns + c] - most);
  sum = warpSum(sum);
  for (int c = lane; c < columns; c += WARP_SIZE)
    out[row * columns + c] = expf(in[row * columns + c] - most) / sum;
}

// Each row over its root mean square, rows the grid's warps apart.
__global__ void norms(const float *in, const float *weight, float *out, int rows, int columns)
{
  const int lane = threadIdx.x & (warpSize - 1);
  const int warp = threadIdx.x / warpSize;
  const int warps = blockDim.x / warpSize;
  for (int row = blockIdx.x * warps + warp; row < rows; row += gridDim.x * warps) {
    float sum = 0.0f;
    for (int c = lane; c < columns; c += warpSize) sum += in[row * columns + c] * in[row * columns + c];
    const float scale = rsqrtf(warpSum(sum) / columns + 1e-6f);
    for (int c = lane; c < columns; c += warpSize)
      out[row * columns + c] = in[row * columns + c] * scale * weight[c];
  }
}

// Which center is nearest to each point: the least of lanes, and its number.
__global__ void nearest(const float *points, const float *centers, int *which, int n, int count)
{
  const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned int lane = thread & 31u;
  const int i = thread >> 5;
  if (i >= n) return;
  float best = FLT_MAX;
  int at = 0;
  for (int c = lane; c < count; c += 32) {
    float d = 0.0f;
    for (int k = 0; k < 3; k++) {
      float difference = points[3 * i + k] - centers[3 * c + k];
      d += difference * difference;
    }
    if (d < best) {
      best = d;
      at = c;
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    float other = __shfl_down_sync(0xffffffffu, best, offset);
    int its = __shfl_down_sync(0xffffffffu, at, offset);
    if (other < best || (other == best && its < at)) {
      best = other;
      at = its;
    }
  }
  if (lane == 0) which[i] = at;
}

// The mean of each row, by its lanes' own loop.
__global__ void means(const float *in, float *out, int rows, int columns)
{
  int thread = threadIdx.x + blockIdx.x * blockDim.x;
  int lane = thread % 32, row = thread / 32;
  if (row >= rows) return;
  float sum = 0.0f;
  int c = lane;
  while (c < columns) {
    sum += in[row * columns + c];
    c += 32;
  }
  sum = warpSum(sum);
  if (!lane) out[row] = sum / columns;
}

// A matrix times a vector, blocks of which each row has a row of the matrix.
__global__ void product(const float *a, const float *x, float *y, int rows, int columns)
{
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += a[row * columns + c] * x[c];
  sum = warpSum(sum);
  if (threadIdx.x == 0) y[row] = sum;
}

// The largest difference of neighbours in each row; lanes have four elements at a time.
__global__ void longest(const float4 *in, float *out, int rows, int quarters)
{
  int lane = threadIdx.x % 32;
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row < rows) {
    const float4 *own = in + row * quarters;
    float most = 0.0f;
    for (int q = lane; q < quarters; q += 32) {
      float4 v = own[q];
      most = fmaxf(most, fmaxf(fabsf(v.x - v.y), fmaxf(fabsf(v.y - v.z), fabsf(v.z - v.w))));
    }
    most = warpMax(most);
    if (lane == 0) out[row] = most;
  }
}

int main(int argc, char **argv)
{
  int rows = argc > 1 ? atoi(argv[1]) : 16384, columns = argc > 2 ? atoi(argv[2]) : 24;
  size_t all = (size_t)rows * columns;
  float *in, *out, *x;
  int *first, *at;
  cudaMallocManaged(&in, all * sizeof(float));
  cudaMallocManaged(&out, all * sizeof(float));
  cudaMallocManaged(&x, columns * 3 * sizeof(float));
  cudaMallocManaged(&first, (rows + 1) * sizeof(int));
  cudaMallocManaged(&at, all * sizeof(int));
  for (size_t i = 0; i < all; i++) in[i] = (i * 7919 % 1000) / 500.0f - 1.0f;
  for (int i = 0; i < 3 * columns; i++) x[i] = (i * 31 % 17) / 8.0f - 1.0f;
  for (int i = 0; i <= rows; i++) first[i] = i * columns / 2;
  for (size_t i = 0; i < all; i++) at[i] = i * 13 % columns;
  int blocks = (rows + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK, threads = 32 * WARPS_PER_BLOCK;
  spmv<<<blocks, threads>>>(first, at, in, x, out, rows);
  softmax<<<blocks, threads>>>(in, out, rows, columns);
  norms<<<blocks, threads>>>(in, x, out, rows, columns);
  nearest<<<blocks, threads>>>(in, x, at, rows, columns);
  means<<<blocks, threads>>>(in, out, rows, columns);
  product<<<blocks, dim3(32, WARPS_PER_BLOCK)>>>(in, x, out, rows, columns);
  longest<<<blocks, threads>>>((const float4 *)in, out, rows, columns / 4);
  cudaDeviceSynchronize();
  printf("%f\n", out[rows - 1]);
  return 0;
}
