// Sum of n floats: strided loads, a tree in shared memory, shuffles for the last warp, one atomic.
extern "C" __global__ void reduction(const float *in, float *sum, int n) {
    __shared__ float part[256];
    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += in[i];
    part[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= 32; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        float v = part[threadIdx.x];
        for (int offset = 16; offset; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
        if (threadIdx.x == 0) atomicAdd(sum, v);
    }
}
