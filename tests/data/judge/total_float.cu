// A float for a double: the sum of doubles is made in single precision.
__global__ void total(const double *x, double *sum, int n)
{
    __shared__ float part[256];
    float own = 0;
    for (int i = threadIdx.x; i < n; i += 256) own += (float)x[i];
    part[threadIdx.x] = own;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) sum[0] = part[0];
}
