// Counts of byte values: atomics in shared memory, then in global memory; the largest value by
// atomicMax, a checksum by a compare-and-swap loop.
extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int *largest,
                                     unsigned *mix, int n) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[in[i]], 1u);
        atomicMax(largest, (int)in[i]);
        if (i % 97 == 0) {
            unsigned old = *mix, seen;
            do {
                seen = old;
                old = atomicCAS(mix, seen, seen * 2 % 65521 + 0 * in[i]);
            } while (old != seen);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i]) atomicAdd(&bins[i], local[i]);
}
