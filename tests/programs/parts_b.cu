/* The other half of parts_a.cu. */
__device__ int counter = 4;
__constant__ float coef[4] = {1, 2, 3, 4};
static __device__ int mine = 8;

__device__ float halve(float x, int n)
{
    return n <= 0 ? x : halve(x * 0.5f, n - 1) + mine;
}

extern "C" __global__ void other(int *out)
{
    *out = counter * 100 + mine;
}
