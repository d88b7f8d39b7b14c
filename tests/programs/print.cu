// Device printf.
extern "C" __global__ void print(const char *unused, int n) {
    if (threadIdx.x >= n) return;
    printf("thread %d of %s: %5.2f, %lld, %c%%\n", (int)threadIdx.x, "block", threadIdx.x * 1.5,
           1ll << (40 + threadIdx.x), 'a' + threadIdx.x);
}
