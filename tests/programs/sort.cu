// A bitonic sort of 32 numbers by shuffles, one list a warp, and the median of each by a ballot.
extern "C" __global__ void sort(const unsigned *in, unsigned *out, int *rank_of_100) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    unsigned v = in[i];
    for (int size = 2; size <= 32; size *= 2)
        for (int step = size / 2; step; step /= 2) {
            unsigned other = __shfl_xor_sync(0xffffffff, v, step);
            bool up = (lane & size) == 0, low = (lane & step) == 0;
            v = up == low ? min(v, other) : max(v, other);
        }
    out[i] = v;
    unsigned below = __ballot_sync(0xffffffff, v < 100);
    if (lane == 0) rank_of_100[i / 32] = __popc(below);
}
