// uniform.cu - kernels whose threads all read the same elements one after the other, as people write
// them first: for the kind `shuffle` (tests/gpu/transformations.lua).
//
//   for k in dft bodies nearest product; do
//     gilua new tests/gpu/uniform.cu --kernel $k -o out/uniform/$k
//   done
//   gilua --device cuda tests/gpu/transformations.lua --kinds shuffle out/uniform/*
#include <stdio.h>

// A discrete Fourier transform, term by term.
__global__ void dft(const float *re, const float *im, float *outRe, float *outIm, int n)
{
  int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= n) return;
  float sumRe = 0.0f, sumIm = 0.0f;
  for (int t = 0; t < n; t++) {
    float s, c;
    __sincosf(-6.2831853f * ((long long)f * t % n) / n, &s, &c);
    sumRe += re[t] * c - im[t] * s;
    sumIm += re[t] * s + im[t] * c;
  }
  outRe[f] = sumRe;
  outIm[f] = sumIm;
}

// Forces between bodies, each of which pulls all others.
__global__ void bodies(const float4 *at, float4 *force, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 own = at[i];
  float x = 0.0f, y = 0.0f, z = 0.0f;
  for (int j = 0; j < n; j++) {
    float dx = at[j].x - own.x, dy = at[j].y - own.y, dz = at[j].z - own.z;
    float d = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
    float pull = at[j].w * d * d * d;
    x += pull * dx;
    y += pull * dy;
    z += pull * dz;
  }
  force[i] = make_float4(x, y, z, 0.0f);
}

// Which of the references is nearest to each point.
__global__ void nearest(const float *px, const float *py, const float *rx, const float *ry,
                        int *which, int points, int references)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < points) {
    float best = 1e30f;
    int at = 0;
    for (int k = 0; k < references; k++) {
      float dx = rx[k] - px[i], dy = ry[k] - py[i];
      float d = dx * dx + dy * dy;
      if (d < best) {
        best = d;
        at = k;
      }
    }
    which[i] = at;
  }
}

// A matrix, whose columns lie one behind the other, times a vector.
__global__ void product(const float *a, const float *x, float *y, int rows, int columns)
{
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0.0f;
    for (int k = 0; k < columns; k++) sum += a[k * rows + row] * x[k];
    y[row] = sum;
  }
}

int main()
{
  const int n = 8192, rows = 8192, columns = 2048, points = 65536, references = 2048;
  float *a, *b, *c, *d;
  int *which;
  cudaMalloc(&a, (size_t)rows * columns * sizeof(float));
  cudaMalloc(&b, points * sizeof(float));
  cudaMalloc(&c, points * sizeof(float));
  cudaMalloc(&d, points * sizeof(float));
  cudaMalloc(&which, points * sizeof(int));
  dft<<<(n + 127) / 128, 128>>>(a, b, c, d, n);
  float4 *at, *force;
  cudaMalloc(&at, n * sizeof(float4));
  cudaMalloc(&force, n * sizeof(float4));
  bodies<<<(n + 127) / 128, 128>>>(at, force, n);
  nearest<<<(points + 255) / 256, 256>>>(a, b, c, d, which, points, references);
  product<<<(rows + 127) / 128, 128>>>(a, b, c, rows, columns);
  printf("%d\n", (int)cudaDeviceSynchronize());
  return 0;
}
