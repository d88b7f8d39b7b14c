// ends.cu - how a program may end or part, named by the first argument, while kernels have run.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void work(int *p) {
    p[threadIdx.x] += 1;
    if (threadIdx.x == 0) printf("worked\n");
}

__global__ void forever(volatile int *p) { // its last block; it counts, or it would be found out
    for (int i = 1; *p != i && blockIdx.x + 1 == gridDim.x; i += 2) {}
}

__global__ void never(volatile int *p) {
    while (*p == 0) {}
}

struct Static { // gives its memory back after main
    int *p = nullptr;
    ~Static() {
        if (p) cudaFree(p);
    }
} at_end;

static int *run() {
    int *p;
    cudaMalloc(&p, 128);
    cudaMemset(p, 0, 128);
    work<<<1, 32>>>(p);
    cudaDeviceSynchronize();
    return p;
}

// What a forked child may do: CUDA says no where the parent had begun.
static int child(bool expect) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int *p;
        cudaError_t e = cudaMalloc(&p, 64);
        printf("child: %s\n", cudaGetErrorName(e));
        if (expect) work<<<1, 1>>>(p), cudaDeviceSynchronize(), cudaFree(p);
        exit((e == cudaSuccess) == expect ? 0 : 9);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "fork first")) {
        int status = child(true);
        cudaFree(run());
        return status;
    }
    at_end.p = run();
    if (!strcmp(how, "exit")) exit(5);
    if (!strcmp(how, "_exit")) _exit(6);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "crash")) return *at_end.p; // the host reads device memory
    if (!strcmp(how, "fork")) return child(false);
    if (!strcmp(how, "endless")) {
        cudaMemset(at_end.p, 0, 128);
        never<<<1, 1>>>(at_end.p);
        return cudaDeviceSynchronize() != cudaErrorLaunchTimeout;
    }
    const int blocks = !strcmp(how, "wait") ? 1 : !strcmp(how, "wait last") ? 4 : 0;
    if (blocks) {
        printf("waits\n");
        fflush(stdout);
        cudaMemset(at_end.p, 0, 128);
        forever<<<blocks, 1>>>(at_end.p);
        cudaDeviceSynchronize();
    }
    return 0;
}
