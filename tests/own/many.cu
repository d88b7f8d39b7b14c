// Conjugate gradients for a 3-D Poisson problem (7-point Laplacian, Dirichlet).
// TODO: keep alpha and beta on the device so we do not sync every iteration
#include <cstdio>
#include <cmath>
#include <vector>

#define N 48
#define NN (N*N*N)

__constant__ float stencil[4];   // centre, x, y, z

__device__ int at(int x, int y, int z)
{
  return (z * N + y) * N + x;
}

__device__ float pick(const float* v, int x, int y, int z)
{
  if (x < 0 || x >= N || y < 0 || y >= N || z < 0 || z >= N) return 0.0f;
  return v[at(x, y, z)];
}

__global__ void apply(const float* p, float* Ap)
{
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= NN) return;
  int x = id % N;
  int y = (id / N) % N;
  int z = id / (N * N);
  float s = stencil[0] * pick(p, x, y, z);
  s += stencil[1] * pick(p, x - 1, y, z);
  s += stencil[1] * pick(p, x + 1, y, z);
  s += stencil[2] * pick(p, x, y - 1, z);
  s += stencil[2] * pick(p, x, y + 1, z);
  s += stencil[3] * pick(p, x, y, z - 1);
  s += stencil[3] * pick(p, x, y, z + 1);
  Ap[id] = s;
}

__global__ void dot(const float* a, const float* b, float* result)
{
  __shared__ float part[128];
  float s = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < NN; i += blockDim.x * gridDim.x)
    s += a[i] * b[i];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(result, part[0]);
}

__global__ void step(float alpha, const float* p, const float* Ap, float* x, float* r)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < NN) {
    x[i] += alpha * p[i];
    r[i] -= alpha * Ap[i];
  }
}

__global__ void direction(float beta, const float* r, float* p)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < NN) p[i] = r[i] + beta * p[i];
}

static float* dnew(int n) { float* p = 0; cudaMalloc(&p, n * sizeof(float)); cudaMemset(p, 0, n * sizeof(float)); return p; }

static float deviceDot(const float* a, const float* b, float* tmp)
{
  float h = 0.0f;
  cudaMemset(tmp, 0, sizeof(float));
  dot<<<32, 128>>>(a, b, tmp);
  cudaMemcpy(&h, tmp, sizeof(float), cudaMemcpyDeviceToHost);
  return h;
}

int main()
{
  const float table[4] = { 6.0f, -1.0f, -1.0f, -1.0f };
  cudaMemcpyToSymbol(stencil, table, sizeof(table));

  std::vector<float> rhs(NN);
  for (int i = 0; i < NN; i++) rhs[i] = sinf(0.37f * i) + (i % 5 == 0);
  float *x = dnew(NN), *r = dnew(NN), *p = dnew(NN), *Ap = dnew(NN), *tmp = dnew(1);
  cudaMemcpy(r, rhs.data(), NN * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(p, rhs.data(), NN * sizeof(float), cudaMemcpyHostToDevice);

  const int block = 128, grid = (NN + block - 1) / block;
  float rr = deviceDot(r, r, tmp), rr0 = rr;
  int it = 0;
  for (; it < 400 && rr > 1e-8f * rr0; it++) {
    apply<<<grid, block>>>(p, Ap);
    float alpha = rr / deviceDot(p, Ap, tmp);
    step<<<grid, block>>>(alpha, p, Ap, x, r);
    float rnew = deviceDot(r, r, tmp);
    direction<<<grid, block>>>(rnew / rr, r, p);
    rr = rnew;
  }
  cudaError_t e = cudaDeviceSynchronize();
  printf("%d iterations, |r|/|b| = %g, %s\n", it, sqrtf(rr / rr0), cudaGetErrorString(e));
  return e == cudaSuccess && rr <= 1e-8f * rr0 ? 0 : 1;
}
