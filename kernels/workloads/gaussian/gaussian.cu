/* gaussian - a system of linear equations by Gaussian elimination, without pivoting.
 *
 * Each column is two launches: one computes by how much the column's row is subtracted from each
 * row below it, the other subtracts. The host substitutes back. */
#include "../workload.h"

#include <vector>

#define THREADS 256
#define SIDE 16

__global__ void multipliers(const float *a, float *m, int n, int column)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1 - column) return;
    m[n * (i + column + 1) + column] = a[n * (i + column + 1) + column] / a[n * column + column];
}

__global__ void subtract(float *a, float *b, const float *m, int n, int column)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n - 1 - column || y >= n - column) return;
    a[n * (x + 1 + column) + (y + column)] -=
        m[n * (x + 1 + column) + column] * a[n * column + (y + column)];
    if (y == 0) {
        b[x + 1 + column] -= m[n * (x + 1 + column) + column] * b[column];
    }
}

/* The upper triangle of `a` and `b`: the solution. */
static std::vector<float> substitute(const std::vector<float> &a, const std::vector<float> &b)
{
    int n = (int)b.size();
    std::vector<float> x(n);
    for (int i = n - 1; i >= 0; i--) {
        double sum = b[i];
        for (int k = i + 1; k < n; k++) sum -= (double)a[i * n + k] * x[k];
        x[i] = (float)(sum / a[i * n + i]);
    }
    return x;
}

/* A matrix whose diagonal is larger than the rest of its row, and b for a known solution. */
static void make_system(std::vector<float> &a, std::vector<float> &b, std::vector<float> &x,
                        Random &random)
{
    int n = (int)b.size();
    for (float &value : x) value = random.between(-4.0f, 4.0f);
    for (int i = 0; i < n; i++) {
        double rest = 0, sum = 0;
        for (int k = 0; k < n; k++) {
            a[i * n + k] = random.between(-1.0f, 1.0f);
            rest += fabs(a[i * n + k]);
        }
        a[i * n + i] = (float)rest + 1.0f;
        for (int k = 0; k < n; k++) sum += (double)a[i * n + k] * x[k];
        b[i] = (float)sum;
    }
}

int main(int argc, char **argv)
{
    const char *usage = "N SEED";
    int n = argument(argc, argv, 1, 2, usage, 1, 4096);
    int seed = argument(argc, argv, 2, 2, usage, 0, 1 << 30);
    Random random(seed);
    std::vector<float> a((size_t)n * n), b(n), x(n);
    make_system(a, b, x, random);
    printf("gaussian: %d equations, seed %d\n", n, seed);

    float *d_a, *d_b, *d_m;
    size_t bytes = (size_t)n * n * sizeof(float);
    CUDA(cudaMalloc(&d_a, bytes));
    CUDA(cudaMalloc(&d_m, bytes));
    CUDA(cudaMalloc(&d_b, n * sizeof(float)));
    CUDA(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_b, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemset(d_m, 0, bytes));

    dim3 block(SIDE, SIDE), grid((n + SIDE - 1) / SIDE, (n + SIDE - 1) / SIDE);
    for (int column = 0; column < n - 1; column++) {
        multipliers<<<(n + THREADS - 1) / THREADS, THREADS>>>(d_a, d_m, n, column);
        subtract<<<grid, block>>>(d_a, d_b, d_m, n, column);
    }
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(a.data(), d_a, bytes, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(b.data(), d_b, n * sizeof(float), cudaMemcpyDeviceToHost));
    release(d_a, d_b, d_m);

    std::vector<float> got = substitute(a, b);
    return verdict(wrong_values("unknown", got.data(), x.data(), n, 1e-4));
}
