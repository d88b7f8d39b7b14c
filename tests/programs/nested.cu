// nested.cu - kernels that launch kernels: in order, with what those launch, tails last; memory,
// copies, streams, events and errors of the device's side. Each part is held against the host.
#include <cstdio>
#include <cstring>

const int N = 64;
__device__ int at, trace[4096];

__global__ void note(int what) {
    trace[at++] = what;
}

__global__ void tree(int depth, int name) { // notes the way, depth first
    trace[at++] = name;
    for (int i = 1; depth > 0 && i <= 2; i++) tree<<<1, 1>>>(depth - 1, 10 * name + i);
}

__global__ void tails() {
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(7);
    tree<<<1, 1>>>(1, 1);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(8);
    note<<<1, 1, 0, cudaStreamFireAndForget>>>(2);
    trace[at++] = 0;
}

struct Args {
    char a;
    double b;
    short c[3];
};

__global__ void takes(Args x, int *p, int n) {
    extern __shared__ int s[];
    s[threadIdx.x] = (int)(x.a + x.b) + x.c[2];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = s[blockDim.x - 1 - threadIdx.x] + i;
}

__global__ void launches(int *p) { // each thread a grid of its own
    Args x = {(char)threadIdx.x, 2.5, {0, 0, (short)blockIdx.x}};
    int *mine = p + (blockIdx.x * blockDim.x + threadIdx.x) * N;
    if (threadIdx.x % 2) takes<<<2, N / 2, N / 2 * sizeof(int)>>>(x, mine, N - 1);
    else takes<<<1, N, N * sizeof(int)>>>(x, mine, N - 1);
}

__global__ void streams(int *p, int *q) {
    cudaStream_t s, t;
    cudaEvent_t e;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaMemsetAsync(p, 3, N * sizeof *p, s);
    cudaEventRecord(e, s);
    cudaStreamWaitEvent(t, e, 0);
    cudaMemcpyAsync(q, p, N / 2 * sizeof *p, cudaMemcpyDeviceToDevice, t);
    cudaEventDestroy(e);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}

__global__ void fill(int *p) {
    p[threadIdx.x] = threadIdx.x;
}

__global__ void objects(int **out) { // memory that a kernel makes for another one
    cudaMalloc((void **)out, N * sizeof(int));
    fill<<<1, N>>>(*out);
}

__global__ void gather(int **from, int *to) {
    to[threadIdx.x] = (*from)[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) cudaFree(*from);
}

__global__ void grow(int *p) {
    p[threadIdx.x] += 1;
}

__global__ void grows(int *p, int *q) { // its own grid reaches q alone
    grow<<<1, N>>>(p);
    note<<<1, 1>>>(1);
    *q = 0;
}

__global__ void twice(const int *p, int *q) {
    q[threadIdx.x] = 2 * p[threadIdx.x];
}

__global__ void errors(int *codes) {
    int t = threadIdx.x;
    if (t == 0) note<<<1, 2048>>>(1);
    if (t == 1) note<<<0, 1>>>(1);
    codes[2 * t] = cudaPeekAtLastError();
    codes[2 * t + 1] = cudaGetLastError() + 100 * cudaGetLastError();
    char name[2] = {(char)('b' + codes[4]), 0}; // texts in local memory are printed, too
    if (t == 2) printf("error 9 of %s: %s\n", name, cudaGetErrorString((cudaError_t)9));
}

__global__ void beyond(int *p) {
    p[threadIdx.x] = 1;
}

__global__ void bad(int *p) {
    beyond<<<1, 2 * N>>>(p);
    note<<<1, 1>>>(99);
}

static int failed;

static void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
    failed += !ok;
}

static bool is_trace(const int *want, int n) {
    int got[64], count;
    cudaMemcpyFromSymbol(&count, at, sizeof count);
    cudaMemcpyFromSymbol(got, trace, sizeof got);
    int zero = 0;
    cudaMemcpyToSymbol(at, &zero, sizeof zero);
    return count == n && memcmp(got, want, n * sizeof *want) == 0;
}

int main(int argc, char **argv) {
    static int got[8 * N];
    int *p, *q, bad_ones = 0;
    cudaMalloc(&p, 8 * N * sizeof *p);
    cudaMalloc(&q, N * sizeof *q);
    if (argc > 1) {
        int *small;
        cudaMalloc(&small, N * sizeof *small);
        bad<<<1, 1>>>(small);
        printf("bad: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        return 0;
    }
    tree<<<1, 1>>>(2, 1);
    const int depth_first[] = {1, 11, 111, 112, 12, 121, 122};
    check("depth first", is_trace(depth_first, 7));
    tails<<<1, 1>>>();
    const int last[] = {0, 1, 11, 12, 2, 7, 8};
    check("tails last", is_trace(last, 7));

    for (int k = 0; k < 3; k++) { // again and again: none may be left out
        cudaMemset(p, k, 8 * N * sizeof *p);
        launches<<<2, 4>>>(p);
        cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost);
        for (int i = 0; i < 8 * N; i++) {
            int thread = i / N % 4, block = i / N / 4, want = thread + 2 + block + i % N;
            bad_ones += got[i] != (i % N == N - 1 ? k * 0x1010101 : want);
        }
    }
    check("arguments of every kind", bad_ones == 0);

    bad_ones = 0;
    cudaMemset(q, 0, N * sizeof *q);
    streams<<<1, 1>>>(p, q);
    cudaMemcpy(got, q, N * sizeof *q, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++) bad_ones += got[i] != (i < N / 2 ? 0x3030303 : 0);
    check("streams and events", bad_ones == 0);

    bad_ones = 0;
    int **object;
    cudaMalloc(&object, sizeof *object);
    objects<<<1, 1>>>(object);
    gather<<<1, N>>>(object, q);
    cudaMemcpy(got, q, N * sizeof *q, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++) bad_ones += got[i] != i;
    check("memory for each other", bad_ones == 0);

    bad_ones = 0;
    cudaMemset(p, 0, N * sizeof *p);
    for (int k = 1; k < 6; k++) {
        grows<<<1, 1>>>(p, q);
        twice<<<1, N>>>(p, q);
        cudaMemcpy(got, q, N * sizeof *q, cudaMemcpyDeviceToHost);
        for (int i = 0; i < N; i++) bad_ones += got[i] != 2 * k;
    }
    check("what they change is seen", bad_ones == 0);

    errors<<<1, 3>>>(p);
    cudaMemcpy(got, p, 6 * sizeof *p, cudaMemcpyDeviceToHost);
    check("errors of each thread", got[0] == 9 && got[1] == 9 && got[2] == 9 && got[3] == 9 &&
                                       got[4] == 0 && got[5] == 0);
    check("nothing went wrong", cudaDeviceSynchronize() == cudaSuccess);
    return failed != 0;
}
