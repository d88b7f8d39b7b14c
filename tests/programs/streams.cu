// streams.cu - streams, events, callbacks, captured and built graphs; cooperative launches; several
// host threads.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static int failed;

static void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
    failed += !ok;
}

__global__ void add(int *p, int k) {
    p[blockIdx.x * blockDim.x + threadIdx.x] += k;
}

__global__ void spin(int *p, int n) {
    int x = p[threadIdx.x];
    for (int i = 0; i < n; i++) x = x * 1664525 + 1013904223;
    p[threadIdx.x] = x;
}

// Each block takes over what its neighbour had, n times; without a common barrier some would read
// what is already there anew.
__global__ void rotate(int *p, int n) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (int k = 0; k < n; k++) {
        int v = p[(blockIdx.x + 1) % gridDim.x];
        grid.sync();
        p[blockIdx.x] = v;
        grid.sync();
    }
}

static void note(void *what) {
    ++*(int *)what;
}

static void called(cudaStream_t, cudaError_t e, void *what) {
    if (e == cudaSuccess) ++*(int *)what;
}

static int first(int *p) {
    int x;
    cudaMemcpy(&x, p, sizeof x, cudaMemcpyDeviceToHost);
    return x;
}

static void order() {
    cudaStream_t a, b;
    cudaEvent_t done, begin, end;
    int *p, notes = 0;
    float one, four;
    cudaStreamCreate(&a), cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreate(&done), cudaEventCreate(&begin), cudaEventCreate(&end);
    cudaMalloc(&p, 256 * sizeof(int));
    cudaMemset(p, 0, 256 * sizeof(int));
    add<<<1, 256, 0, a>>>(p, 5);
    cudaEventRecord(done, a);
    cudaStreamWaitEvent(b, done, 0);
    add<<<1, 256, 0, b>>>(p, 7);
    cudaLaunchHostFunc(b, note, &notes);
    cudaStreamAddCallback(b, called, &notes, 0);
    cudaStreamSynchronize(b);
    check("order", first(p) == 12 && notes == 2);
    check("queries", cudaStreamQuery(a) == cudaSuccess && cudaEventQuery(done) == cudaSuccess);

    cudaEventRecord(begin, a);
    spin<<<1, 32, 0, a>>>(p, 10000);
    cudaEventRecord(end, a);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&one, begin, end);
    cudaEventRecord(begin, a);
    for (int i = 0; i < 4; i++) spin<<<1, 32, 0, a>>>(p, 10000);
    cudaEventRecord(end, a);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&four, begin, end);
    check("time", one > 0.01f && four > 3.9f * one && four < 4.1f * one);
    cudaEvent_t never;
    cudaEventCreate(&never);
    check("an event nobody recorded", cudaEventElapsedTime(&one, never, end) == cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    unsigned flags;
    int priority, least, most;
    cudaStreamGetFlags(b, &flags);
    cudaDeviceGetStreamPriorityRange(&least, &most);
    cudaStreamGetPriority(a, &priority);
    check("what a stream is", flags == cudaStreamNonBlocking && priority == 0 && most < least);
    check("a stream that is none", cudaStreamSynchronize((cudaStream_t)0x1234) == cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    cudaStreamDestroy(a), cudaStreamDestroy(b), cudaEventDestroy(done), cudaFree(p);
}

static void together() {
    enum { N = 64 };
    int *p, host[N], n = 3, wrong = 0;
    cudaMalloc(&p, sizeof host);
    for (int i = 0; i < N; i++) host[i] = i;
    cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice);
    void *args[] = {&p, &n};
    cudaError_t e = cudaLaunchCooperativeKernel((void *)rotate, N, 1, args, 0, nullptr);
    cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < N; i++) wrong += host[i] != (i + n) % N;
    check("blocks that wait for each other", e == cudaSuccess && wrong == 0);
    check("more than there is room for", cudaLaunchCooperativeKernel((void *)rotate, 100000, 1, args, 0, nullptr) ==
          cudaErrorCooperativeLaunchTooLarge);
    cudaGetLastError();
    cudaFree(p);
}

// Memory of a graph that outlives it: freed by the host.
static void graph_memory() {
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    int *p;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&p, 256 * sizeof(int), s);
    cudaMemsetAsync(p, 0, 256 * sizeof(int), s);
    add<<<1, 256, 0, s>>>(p, 9);
    cudaStreamEndCapture(s, &g);
    cudaGraphInstantiate(&exec, g, 0);
    cudaGraphLaunch(exec, s);
    check("memory of a graph", first(p) == 9 && cudaFree(p) == cudaSuccess);
    cudaGraphLaunch(exec, s);
    check("which its next launch allocates again", first(p) == 9 && cudaFree(p) == cudaSuccess);
    cudaGraphExecDestroy(exec), cudaGraphDestroy(g), cudaStreamDestroy(s);
}

static void captured() {
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    int *p, *q, host = 3, notes = 0;
    cudaStreamCreate(&a), cudaStreamCreate(&b);
    cudaEventCreate(&fork), cudaEventCreate(&join);
    cudaMalloc(&p, 256 * sizeof(int)), cudaMalloc(&q, 256 * sizeof(int));
    cudaMemset(q, 0, 256 * sizeof(int));
    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(p, 0, 256 * sizeof(int), a);
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(b, fork, 0);
    add<<<1, 256, 0, a>>>(p, 1);
    add<<<1, 256, 0, b>>>(q, 2);
    cudaMemcpyAsync(q + 1, &host, sizeof host, cudaMemcpyHostToDevice, b);
    cudaLaunchHostFunc(b, note, &notes);
    cudaEventRecord(join, b);
    cudaStreamWaitEvent(a, join, 0);
    add<<<1, 256, 0, a>>>(p, 10);
    cudaStreamCaptureStatus status;
    cudaStreamIsCapturing(b, &status);
    bool capturing = status == cudaStreamCaptureStatusActive;
    check("the end of a capture", cudaStreamEndCapture(a, &g) == cudaSuccess && capturing);
    size_t n = 0;
    cudaGraphGetNodes(g, nullptr, &n);
    check("its nodes", n == 6);
    check("nothing has run", first(q) == 0 && notes == 0);
    cudaGraphInstantiate(&exec, g, 0);
    for (int i = 0; i < 3; i++) cudaGraphLaunch(exec, a);
    cudaStreamSynchronize(a);
    check("launched three times", first(p) == 11 && first(q) == 6 && first(q + 1) == 3 && notes == 3);

    cudaStream_t brief;
    cudaStreamCreate(&brief);
    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(brief, fork, 0);
    add<<<1, 256, 0, brief>>>(p, 1);
    cudaEventRecord(join, brief);
    cudaStreamWaitEvent(a, join, 0);
    cudaStreamDestroy(brief);
    check("a stream that ends before its capture", cudaStreamEndCapture(a, &g) == cudaSuccess);

    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    add<<<1, 256, 0, a>>>(p, 1);
    check("waiting spoils a capture", cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported);
    check("which is lost", cudaStreamEndCapture(a, &g) == cudaErrorStreamCaptureInvalidated && g == nullptr);
    cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
    cudaEventRecord(fork, a);
    cudaStreamWaitEvent(b, fork, 0);
    add<<<1, 256, 0, b>>>(p, 1);
    check("a stream that does not come back", cudaStreamEndCapture(a, &g) == cudaErrorStreamCaptureUnjoined);
    check("the end without a beginning", cudaStreamEndCapture(a, &g) == cudaErrorIllegalState);
    while (cudaGetLastError() != cudaSuccess) {}
    cudaGraphExecDestroy(exec);
    cudaFree(p), cudaFree(q), cudaStreamDestroy(a), cudaStreamDestroy(b);
}

static void built() {
    cudaGraph_t g, child;
    cudaGraphExec_t exec;
    cudaGraphNode_t clear, plus, times, inside, copy;
    int *p, k = 4, back = 0;
    cudaMalloc(&p, 256 * sizeof(int));
    cudaGraphCreate(&g, 0), cudaGraphCreate(&child, 0);
    cudaMemsetParams fill = {};
    fill.dst = p, fill.value = 7, fill.elementSize = 4, fill.width = 256, fill.height = 1;
    cudaGraphAddMemsetNode(&clear, g, nullptr, 0, &fill);
    void *args[] = {&p, &k};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)add, kernel.gridDim = dim3(1), kernel.blockDim = dim3(256), kernel.kernelParams = args;
    cudaGraphAddKernelNode(&plus, g, &clear, 1, &kernel);
    k = 100; // its arguments were copied
    cudaGraphAddKernelNode(&inside, child, nullptr, 0, &kernel);
    cudaGraphAddChildGraphNode(&times, g, nullptr, 0, child);
    cudaGraphAddDependencies(g, &plus, &times, nullptr, 1);
    cudaGraphAddMemcpyNode1D(&copy, g, &times, 1, &back, p, sizeof back, cudaMemcpyDeviceToHost);
    cudaGraphInstantiate(&exec, g, 0);
    cudaGraphLaunch(exec, 0);
    cudaDeviceSynchronize();
    check("a graph that was built", back == 7 + 4 + 100);
    k = 1000;
    cudaGraphExecKernelNodeSetParams(exec, plus, &kernel);
    cudaGraphLaunch(exec, 0);
    cudaDeviceSynchronize();
    check("and changed", back == 7 + 1000 + 100);
    unsigned on = 2;
    cudaGraphNodeSetEnabled(exec, plus, 0);
    cudaGraphNodeGetEnabled(exec, plus, &on);
    cudaGraphLaunch(exec, 0);
    cudaDeviceSynchronize();
    check("a node that is off does nothing", on == 0 && back == 7 + 100);
    cudaGraphNodeSetEnabled(exec, plus, 1);
    cudaGraphNodeGetEnabled(exec, plus, &on);
    check("and is on again", on == 1);
    check("no node, no answer", cudaGraphNodeGetEnabled(exec, nullptr, &on) == cudaErrorInvalidValue);
    cudaGetLastError();
    fill.value = 1;
    cudaGraphMemsetNodeSetParams(clear, &fill);
    cudaGraphExecUpdateResultInfo info;
    check("updated", cudaGraphExecUpdate(exec, g, &info) == cudaSuccess);
    cudaGraphLaunch(exec, 0);
    cudaDeviceSynchronize();
    check("as the graph is now", back == 1 + 4 + 100);
    cudaGraphAddDependencies(g, &times, &plus, nullptr, 1);
    cudaGraphExec_t none;
    check("no graph goes round in a circle", cudaGraphInstantiate(&none, g, 0) != cudaSuccess);
    cudaGetLastError();
    cudaGraphExecDestroy(exec), cudaGraphDestroy(g), cudaGraphDestroy(child), cudaFree(p);
}

static void thread(int seed, int *ok) {
    int *p, host[256];
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMalloc(&p, sizeof host);
    for (int i = 0; i < 256; i++) host[i] = seed;
    cudaMemcpyAsync(p, host, sizeof host, cudaMemcpyHostToDevice, s);
    for (int k = 0; k < 50; k++) add<<<1, 256, 0, s>>>(p, seed);
    cudaMemcpyAsync(host, p, sizeof host, cudaMemcpyDeviceToHost, s);
    cudaStreamSynchronize(s);
    cudaFree((void *)8); // this thread's error, and nobody else's
    *ok = host[0] == 51 * seed && host[255] == 51 * seed && cudaGetLastError() == cudaErrorInvalidValue;
    cudaFree(p);
}

int main() {
    order();
    together();
    captured();
    graph_memory();
    built();
    int ok[8], all = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) threads.emplace_back(thread, i + 1, &ok[i]);
    for (auto &t : threads) t.join();
    for (int i = 0; i < 8; i++) all += ok[i];
    check("eight threads", all == 8 && cudaGetLastError() == cudaSuccess);
    return failed != 0;
}
