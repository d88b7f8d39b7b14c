// repeats.cu - launches again and again: what may be left out, and what must not be. Each part
// computes on the host what the device must come to.
#include <cstdio>
#include <cstdlib>

const int N = 4096, TIMES = 200;
__constant__ int step;
__device__ int total;

__global__ void same(const float *x, float *y) { // changes nothing the second time
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i] + 1;
}

__global__ void add(int *p) { // builds on what it did before
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    p[i] += step + i % 3;
}

__global__ void relax(const int *from, int *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = (from[i] + from[(i + 1) % N] * 3 + 1) % 1009;
}

__global__ void count(const int *p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (p[i] % 7 == 0) atomicAdd(&total, 1);
}

static int failed;

static void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
    failed += !ok;
}

static int mistakes(const int *device, const int *want) {
    static int got[N];
    int bad = 0;
    cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++) bad += got[i] != want[i];
    return bad;
}

int main() {
    static int want[N], next[N];
    float *x, *y;
    int *p, *q, *m, one = 1, two = 2, zero = 0, sum = 0;
    cudaMalloc(&x, N * sizeof *x);
    cudaMalloc(&y, N * sizeof *y);
    cudaMalloc(&p, N * sizeof *p);
    cudaMalloc(&q, N * sizeof *q);
    cudaMallocManaged(&m, N * sizeof *m);

    cudaMemset(x, 0, N * sizeof *x);
    cudaEvent_t begin, end;
    float ms;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin);
    for (int k = 0; k < TIMES; k++) same<<<N / 256, 256>>>(x, y);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, begin, end);
    check("all launches take their time", ms > TIMES * 1e-3);

    // the same arguments, other memory every time
    cudaMemcpyToSymbol(step, &one, sizeof one);
    cudaMemset(p, 0, N * sizeof *p);
    for (int k = 0; k < TIMES; k++) add<<<N / 256, 256>>>(p);
    for (int i = 0; i < N; i++) want[i] = TIMES * (1 + i % 3);
    check("what builds on itself", mistakes(p, want) == 0);

    // a constant that changes between launches on equal memory
    for (int k = 0; k < 40; k++) {
        cudaMemset(p, 0, N * sizeof *p);
        cudaMemcpyToSymbol(step, k % 2 ? &two : &one, sizeof one);
        add<<<N / 256, 256>>>(p);
        for (int i = 0; i < N; i++) want[i] = (k % 2 ? 2 : 1) + i % 3;
        if (mistakes(p, want)) sum++;
    }
    check("a constant that changes", sum == 0);

    // a sequence that is repeated from its beginning: 20 steps, 10 times
    for (int k = 0; k < 10; k++) {
        for (int i = 0; i < N; i++) want[i] = i;
        cudaMemcpy(p, want, sizeof want, cudaMemcpyHostToDevice);
        for (int s = 0; s < 20; s++) {
            relax<<<N / 256, 256>>>(s % 2 ? q : p, s % 2 ? p : q);
            for (int i = 0; i < N; i++) next[i] = (want[i] + want[(i + 1) % N] * 3 + 1) % 1009;
            for (int i = 0; i < N; i++) want[i] = next[i];
        }
        if (mistakes(p, want)) sum++;
    }
    check("a sequence that is repeated", sum == 0);

    // a variable, and managed memory that the host writes between the launches
    sum = 0;
    cudaMemcpyToSymbol(total, &zero, sizeof zero);
    for (int k = 0; k < 60; k++) {
        for (int i = 0; i < N; i++) m[i] = k < 30 ? i : i + k;
        for (int i = 0; i < N; i++) sum += m[i] % 7 == 0;
        count<<<N / 256, 256>>>(m);
        cudaDeviceSynchronize();
    }
    int got;
    cudaMemcpyFromSymbol(&got, total, sizeof got);
    check("a variable, and what the host writes", got == sum);

    // the same with nothing else that changes
    sum = 0;
    for (int k = 0; k < 40; k++) {
        for (int i = 0; i < N; i++) m[i] = i * (k / 4);
        relax<<<N / 256, 256>>>(m, p);
        for (int i = 0; i < N; i++) next[i] = (m[i] + m[(i + 1) % N] * 3 + 1) % 1009;
        if (mistakes(p, next)) sum++;
    }
    check("what the host writes", sum == 0);

    // memory that is freed and made again between the launches
    sum = 0;
    for (int k = 0; k < 30; k++) {
        cudaFree(q);
        cudaMalloc(&q, N * sizeof *q);
        for (int i = 0; i < N; i++) want[i] = i * k, next[i] = 0;
        cudaMemcpy(q, want, sizeof want, cudaMemcpyHostToDevice);
        relax<<<N / 256, 256>>>(q, p);
        for (int i = 0; i < N; i++) next[i] = (want[i] + want[(i + 1) % N] * 3 + 1) % 1009;
        if (mistakes(p, next)) sum++;
    }
    check("memory that comes and goes", sum == 0);
    return failed != 0;
}
