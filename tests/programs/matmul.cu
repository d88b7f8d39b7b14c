// C = A B for n x n matrices, n no multiple of the tile.
#define TILE 16
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float ta[TILE][TILE], tb[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        int ax = k + threadIdx.x, by = k + threadIdx.y;
        ta[threadIdx.y][threadIdx.x] = y < n && ax < n ? a[y * n + ax] : 0;
        tb[threadIdx.y][threadIdx.x] = by < n && x < n ? b[by * n + x] : 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    if (x < n && y < n) c[y * n + x] = sum;
}
