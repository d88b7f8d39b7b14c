// What a program asks of its card: what kernels were built for, how much memory there is, the time.
#include <cstdio>

__global__ void stamp(unsigned long long *at)
{
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(at[0]));
}

static double mib(size_t bytes) { return bytes / 1048576.0; }

static void memory()
{
    size_t left, all;
    cudaMemGetInfo(&left, &all);
    printf("memory: %.0f of %.0f MiB\n", mib(left), mib(all));
}

static void allocations()
{
    void *most, *more;
    cudaError_t first = cudaMalloc(&most, 64 << 20), second = cudaMalloc(&more, 1);
    printf("64 MiB: %s, 1 more byte: %s\n", cudaGetErrorName(first), cudaGetErrorName(second));
    cudaError_t managed = cudaMallocManaged(&more, (size_t)1 << 46);
    printf("more than any machine has: %s\n", cudaGetErrorName(managed));
    cudaFree(most);
}

static void time()
{
    unsigned long long *at, seen[3];
    cudaMalloc(&at, sizeof *at);
    for (int i = 0; i < 3; i++) {
        stamp<<<1, 1>>>(at);
        cudaMemcpy(&seen[i], at, sizeof *at, cudaMemcpyDeviceToHost);
    }
    cudaFree(at);
    bool later = seen[0] < seen[1] && seen[1] < seen[2];
    printf("time goes on: %s\n", later ? "yes" : "no");
}

int main(int argc, char **)
{
    if (argc > 1) return memory(), 0;
    cudaFuncAttributes a;
    cudaFuncGetAttributes(&a, stamp);
    printf("attributes: %d %d\n", a.ptxVersion, a.binaryVersion);
    memory();
    allocations();
    time();
    return 0;
}
