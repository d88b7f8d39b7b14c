/* lud - a matrix into a lower and an upper triangular one (LU decomposition), in place, by tiles.
 *
 * Each step decomposes the tile on the diagonal (one block), then the tiles below it and to its
 * right (a block for a pair of these), and subtracts their products from what is left of the
 * matrix. */
#include "../workload.h"

#include <vector>

#define TILE 16

/* The tile on the diagonal. */
__global__ void diagonal(float *matrix, int n, int offset)
{
    __shared__ float tile[TILE][TILE];
    int tx = threadIdx.x;

    for (int i = 0; i < TILE; i++)
        tile[i][tx] = matrix[(offset + i) * n + offset + tx];
    __syncthreads();
    for (int i = 0; i < TILE - 1; i++) {
        if (tx > i) {
            for (int j = 0; j < i; j++)
                tile[tx][i] -= tile[tx][j] * tile[j][i];
            tile[tx][i] /= tile[i][i];
        }
        __syncthreads();
        if (tx > i) {
            for (int j = 0; j < i + 1; j++)
                tile[i + 1][tx] -= tile[i + 1][j] * tile[j][tx];
        }
        __syncthreads();
    }
    for (int i = 0; i < TILE; i++)
        matrix[(offset + i) * n + offset + tx] = tile[i][tx];
}

/* A tile to the right of the diagonal's (the first TILE threads) and one below it (the others). */
__global__ void perimeter(float *matrix, int n, int offset)
{
    __shared__ float corner[TILE][TILE];
    __shared__ float right[TILE][TILE];
    __shared__ float below[TILE][TILE];
    int away = offset + (blockIdx.x + 1) * TILE;
    int tx = threadIdx.x % TILE;

    if (threadIdx.x < TILE) {
        for (int i = 0; i < TILE / 2; i++)
            corner[i][tx] = matrix[(offset + i) * n + offset + tx];
        for (int i = 0; i < TILE; i++)
            right[i][tx] = matrix[(offset + i) * n + away + tx];
    } else {
        for (int i = TILE / 2; i < TILE; i++)
            corner[i][tx] = matrix[(offset + i) * n + offset + tx];
        for (int i = 0; i < TILE; i++)
            below[i][tx] = matrix[(away + i) * n + offset + tx];
    }
    __syncthreads();

    if (threadIdx.x < TILE) {
        for (int i = 1; i < TILE; i++) {
            for (int j = 0; j < i; j++)
                right[i][tx] -= corner[i][j] * right[j][tx];
        }
    } else {
        for (int i = 0; i < TILE; i++) {
            for (int j = 0; j < i; j++)
                below[tx][i] -= below[tx][j] * corner[j][i];
            below[tx][i] /= corner[i][i];
        }
    }
    __syncthreads();

    if (threadIdx.x < TILE) {
        for (int i = 0; i < TILE; i++)
            matrix[(offset + i) * n + away + tx] = right[i][tx];
    } else {
        for (int i = 0; i < TILE; i++)
            matrix[(away + i) * n + offset + tx] = below[i][tx];
    }
}

/* What is left: each tile less the product of the one to its left and the one above. */
__global__ void interior(float *matrix, int n, int offset)
{
    __shared__ float above[TILE][TILE];
    __shared__ float left[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = offset + (blockIdx.y + 1) * TILE + ty;
    int column = offset + (blockIdx.x + 1) * TILE + tx;

    above[ty][tx] = matrix[(offset + ty) * n + column];
    left[ty][tx] = matrix[row * n + offset + tx];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < TILE; i++)
        sum += left[ty][i] * above[i][tx];
    matrix[row * n + column] -= sum;
}

/* L times U of a matrix that holds both; L has ones on its diagonal. */
static std::vector<float> product(const std::vector<float> &lu, int n)
{
    std::vector<float> all((size_t)n * n);
    for (int i = 0; i < n; i++) {
        std::vector<double> row(n, 0.0);
        for (int k = 0; k <= i; k++) {
            double l = k == i ? 1.0 : lu[(size_t)i * n + k];
            for (int j = k; j < n; j++) row[j] += l * lu[(size_t)k * n + j];
        }
        for (int j = 0; j < n; j++) all[(size_t)i * n + j] = (float)row[j];
    }
    return all;
}

int main(int argc, char **argv)
{
    const char *usage = "N SEED (N: a multiple of 16)";
    int n = argument(argc, argv, 1, 2, usage, TILE, 4096);
    int seed = argument(argc, argv, 2, 2, usage, 0, 1 << 30);
    if (n % TILE != 0) {
        fprintf(stderr, "%s: N must be a multiple of %d, not %d\n", argv[0], TILE, n);
        return 2;
    }
    Random random(seed);
    std::vector<float> matrix((size_t)n * n);
    for (float &value : matrix) value = random.between(-1.0f, 1.0f);
    for (int i = 0; i < n; i++) matrix[(size_t)i * n + i] += n; /* no pivots are needed */
    printf("lud: %d x %d, seed %d\n", n, n, seed);

    float *d_matrix;
    size_t bytes = matrix.size() * sizeof(float);
    CUDA(cudaMalloc(&d_matrix, bytes));
    CUDA(cudaMemcpy(d_matrix, matrix.data(), bytes, cudaMemcpyHostToDevice));
    int offset = 0;
    for (; offset < n - TILE; offset += TILE) {
        int left = (n - offset) / TILE - 1;
        diagonal<<<1, TILE>>>(d_matrix, n, offset);
        perimeter<<<left, 2 * TILE>>>(d_matrix, n, offset);
        interior<<<dim3(left, left), dim3(TILE, TILE)>>>(d_matrix, n, offset);
    }
    diagonal<<<1, TILE>>>(d_matrix, n, offset);
    CUDA(cudaGetLastError());
    std::vector<float> got(matrix.size());
    CUDA(cudaMemcpy(got.data(), d_matrix, bytes, cudaMemcpyDeviceToHost));
    release(d_matrix);

    got = product(got, n);
    return verdict(wrong_values("element of L times U", got.data(), matrix.data(), n * n, 1e-5));
}
