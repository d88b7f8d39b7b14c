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

__global__ void half_of(const int *from, int *to) { // leaves the others as they are
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2 == 0) to[i] = from[i] + 5;
}

__global__ void table(int *const *rows, int *to) { // where it reads, its arguments do not say
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = rows[1][i] * 3;
}

__global__ void largest(const int *from, int *most) { // atomics alone
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(&most[i % 64], from[i]);
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

    // what it leaves as it was differs each time; and is as it was the time before, a time
    sum = 0;
    for (int i = 0; i < N; i++) want[i] = i;
    cudaMemcpy(p, want, sizeof want, cudaMemcpyHostToDevice);
    for (int k = 0; k < 60; k++) {
        if (k % 2 == 0) cudaMemset(q, k / 20, N * sizeof *q);
        half_of<<<N / 256, 256>>>(p, q);
        for (int i = 0; i < N; i++) next[i] = i % 2 ? k / 20 * 0x1010101 : i + 5;
        if (mistakes(q, next)) sum++;
    }
    check("what is left as it was", sum == 0);

    // arguments that point at pointers, and what lies there changes
    sum = 0;
    int *rows[2] = {q, p}, **there;
    cudaMalloc(&there, sizeof rows);
    cudaMemcpy(there, rows, sizeof rows, cudaMemcpyHostToDevice);
    for (int k = 0; k < 40; k++) {
        for (int i = 0; i < N; i++) want[i] = i + k / 4, next[i] = want[i] * 3;
        cudaMemcpy(p, want, sizeof want, cudaMemcpyHostToDevice);
        table<<<N / 256, 256>>>(there, m);
        cudaDeviceSynchronize();
        for (int i = 0; i < N; i++) sum += m[i] != next[i];
    }
    check("pointers behind pointers", sum == 0);

    // filled as a whole each time, and then looked at in each way that there is
    sum = 0;
    for (int k = 0; k < 40; k++) {
        int some = 77, at = 100 + k % 3;
        cudaMemset(q, 0, N * sizeof *q);
        largest<<<N / 256, 256>>>(p, q);
        for (int i = 0; i < N; i++) next[i] = 0;
        for (int i = 0; i < N; i++) next[i % 64] = want[i] > next[i % 64] ? want[i] : next[i % 64];
        if (k % 5 == 1) cudaMemset(q, 1, N * sizeof *q);
        if (k % 5 == 1) for (int i = 0; i < N; i++) next[i] = 0x1010101;
        if (k % 5 == 2) cudaMemset(q + at, 0xff, 8), next[at] = next[at + 1] = -1;
        if (k % 5 == 3) {
            cudaMemcpy(q + at, &some, sizeof some, cudaMemcpyHostToDevice);
            next[at] = some;
        }
        if (k % 5 == 4) {
            cudaMemcpy((int *)y, q, N * sizeof *q, cudaMemcpyDeviceToDevice);
            cudaMemset(q, 0, N * sizeof *q);
            relax<<<N / 256, 256>>>((int *)y, q);
            for (int i = 0; i < N; i++) want[i] = (next[i] + next[(i + 1) % N] * 3 + 1) % 1009;
            for (int i = 0; i < N; i++) next[i] = want[i], want[i] = i + 9;
        }
        if (mistakes(q, next)) sum++;
    }
    check("memory that is filled each time", sum == 0);
    int *gone;
    cudaMalloc(&gone, 1 << 20);
    cudaMemset(gone, 3, 1 << 20);
    cudaFree(gone);
    for (int k = 0; k < 5; k++) largest<<<N / 256, 256>>>(p, q);
    return failed != 0;
}
