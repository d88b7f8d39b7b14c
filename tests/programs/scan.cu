// Inclusive prefix sums of one block's integers, Hillis and Steele, in dynamic shared memory.
extern "C" __global__ void scan(const int *in, int *out, int n) {
    extern __shared__ int buffer[];
    int *from = buffer, *to = buffer + blockDim.x;
    int i = threadIdx.x, at = blockIdx.x * blockDim.x + i;
    from[i] = at < n ? in[at] : 0;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        to[i] = i >= step ? from[i] + from[i - step] : from[i];
        __syncthreads();
        int *t = from;
        from = to;
        to = t;
    }
    if (at < n) out[at] = from[i];
}
