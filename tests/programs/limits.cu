// limits.cu - what a GPU refuses, with the code of CUDA's own library on an H200 (driver 580, CUDA
// 13.0): registers, stack, texture memory, what a captured stream permits. A wrong grid alone has
// the code that CUDA documents.
#include <cstdio>
#include <thread>

static int failed;

static void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
    failed += !ok;
}

static int *p, *other;
static cudaStream_t s, blocking, free_one;
static cudaEvent_t event;
static cudaGraph_t graph;
static float host[64];

__global__ void add(int *q) { q[0]++; }

// --- registers ---

#define HUNGRY(name)                                                                               \
    __global__ void name(const float *x, float *y, int n) {                                        \
        float v[100];                                                                              \
        _Pragma("unroll") for (int i = 0; i < 100; i++) v[i] = x[(threadIdx.x + i * 7) & 1023];    \
        for (int r = 0; r < n; r++)                                                                \
            _Pragma("unroll") for (int i = 0; i < 100; i++)                                        \
                v[i] = fmaf(v[i], v[(i + 1) % 100], 0.5f);                                         \
        float sum = 0;                                                                             \
        _Pragma("unroll") for (int i = 0; i < 100; i++) sum += v[i] * i;                           \
        y[threadIdx.x] = sum;                                                                      \
    }
HUNGRY(hungry)
HUNGRY(__launch_bounds__(1024) bounded)

static void registers() {
    float *x;
    cudaMalloc(&x, 8192);
    cudaMemset(x, 0, 8192);
    hungry<<<1, 1024>>>(x, x + 1024, 1);
    check("more registers than there are", cudaGetLastError() == cudaErrorLaunchOutOfResources);
    hungry<<<1, 256>>>(x, x + 1024, 1);
    check("fewer threads", cudaGetLastError() == cudaSuccess);
    bounded<<<1, 1024>>>(x, x + 1024, 1);
    check("launch bounds", cudaGetLastError() == cudaSuccess);
    cudaFuncAttributes a, b;
    cudaFuncGetAttributes(&a, hungry), cudaFuncGetAttributes(&b, bounded);
    printf("registers: %d %d\n", a.numRegs, b.numRegs);
    int blocks;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, hungry, 256, 0);
    check("as many blocks as their registers allow",
          blocks == 65536 / ((a.numRegs + 7) / 8 * 8 * 256));
    check("and threads", a.maxThreadsPerBlock == 65536 / ((a.numRegs + 7) / 8 * 8) / 32 * 32);
    cudaFree(x);
}

// --- stack ---

__device__ __noinline__ int deep(int n, int *x) {
    int a[16];
    for (int i = 0; i < 16; i++) a[i] = x[i] + n;
    return n ? deep(n - 1, a) + a[n & 15] : a[3];
}

__global__ void recursive(int *out, int n) {
    int a[16] = {0};
    out[0] = deep(n, a);
}

__global__ void large(int *out, int n) { // its own arrays are no matter of the limit
    int a[4096];
    for (int i = 0; i < 4096; i++) a[i] = i + n;
    out[0] = a[n];
}

static cudaError_t depth(int n) {
    recursive<<<1, 1>>>(p, n);
    return cudaDeviceSynchronize();
}

static void stack() {
    size_t limit;
    cudaDeviceGetLimit(&limit, cudaLimitStackSize);
    check("1 KB of stack", limit == 1024 && depth(9) == cudaSuccess);
    large<<<1, 1>>>(p, 5);
    check("more for what is known", cudaDeviceSynchronize() == cudaSuccess);
    check("a limit of less than 512 KB", cudaDeviceSetLimit(cudaLimitStackSize, 512 << 10) == cudaErrorInvalidValue);
    check("in units of 16", cudaDeviceSetLimit(cudaLimitStackSize, 4090) == cudaSuccess &&
          cudaDeviceGetLimit(&limit, cudaLimitStackSize) == cudaSuccess && limit == 4096);
    check("is raised", depth(40) == cudaSuccess);
    cudaDeviceSetLimit(cudaLimitStackSize, 512);
    check("is lowered", depth(3) == cudaSuccess);
}

// --- textures ---

static cudaError_t linear(size_t offset, size_t bytes) {
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaTextureObject_t t;
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = (char *)p + offset;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = bytes;
    return cudaCreateTextureObject(&t, &r, &d, 0);
}

static cudaError_t rows(size_t offset, size_t width, size_t height, size_t pitch) {
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaTextureObject_t t;
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = (char *)p + offset;
    r.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    r.res.pitch2D.width = width, r.res.pitch2D.height = height, r.res.pitch2D.pitchInBytes = pitch;
    return cudaCreateTextureObject(&t, &r, &d, 0);
}

static cudaError_t array(size_t width, size_t height, size_t depth, unsigned flags) {
    cudaArray_t a;
    cudaChannelFormatDesc d = cudaCreateChannelDesc<float>();
    cudaError_t e = cudaMalloc3DArray(&a, &d, make_cudaExtent(width, height, depth), flags);
    if (e == cudaSuccess) cudaFreeArray(a);
    return e;
}

static void textures() {
    check("where memory begins", linear(512, 256) == cudaSuccess && linear(256, 256) == cudaErrorInvalidValue &&
          rows(512, 4, 4, 32) == cudaSuccess && rows(16, 4, 4, 32) == cudaErrorInvalidValue);
    check("a pitch", rows(0, 4, 4, 64) == cudaSuccess && rows(0, 4, 4, 20) == cudaErrorInvalidValue &&
          rows(0, 4, 4, 48) == cudaErrorInvalidValue && rows(0, 4, 4, 2097152) == cudaErrorInvalidValue);
    check("rows", rows(0, 131072, 4, 524288) == cudaSuccess && rows(0, 131073, 4, 524320) == cudaErrorInvalidValue &&
          rows(0, 4, 65000, 32) == cudaSuccess && rows(0, 4, 65001, 32) == cudaErrorInvalidValue);
    check("arrays", array(131072, 0, 0, 0) == cudaSuccess && array(131073, 0, 0, 0) == cudaErrorInvalidValue &&
          array(4, 65537, 0, 0) == cudaErrorInvalidValue && array(16385, 2, 2, 0) == cudaErrorInvalidValue &&
          array(4, 4, 2049, cudaArrayLayered) == cudaErrorInvalidValue && array(4, 4, 0, cudaArrayLayered) == cudaErrorInvalidValue &&
          array(32769, 0, 0, cudaArraySurfaceLoadStore) == cudaErrorInvalidValue && array(4, 4, 12, cudaArrayCubemap) == cudaErrorInvalidValue);
}

// --- captures ---

// What fn returns while stream t is captured, and what the end of that returns.
template <typename F> static bool captured(cudaStream_t t, cudaStreamCaptureMode mode, int want, int end, F fn) {
    cudaStreamBeginCapture(t, mode);
    add<<<1, 1, 0, t>>>(p);
    int got = fn(), ended = cudaStreamEndCapture(t, &graph);
    if (got != want || ended != end) printf("# %d, want %d; the end %d, want %d\n", got, want, ended, end);
    cudaGetLastError();
    return got == want && ended == end;
}

static void captures() {
    const auto global = cudaStreamCaptureModeGlobal, own = cudaStreamCaptureModeThreadLocal, relaxed = cudaStreamCaptureModeRelaxed;
    auto allocates = [] { int e = cudaMalloc(&other, 4); if (!e) cudaFree(other); return e; };
    auto elsewhere = [=] { int e; std::thread([&] { e = allocates(); }).join(); return e; };
    cudaEventRecord(event, free_one);
    check("an allocation", captured(s, global, 900, 901, allocates));
    check("of a relaxed capture", captured(s, relaxed, 0, 0, allocates));
    check("in another thread", captured(s, global, 900, 901, elsewhere) && captured(s, own, 0, 0, elsewhere));
    check("by a thread that asked for less", captured(s, own, 0, 0, [=] {
        auto mode = relaxed;
        cudaThreadExchangeStreamCaptureMode(&mode);
        int e = allocates();
        return cudaThreadExchangeStreamCaptureMode(&mode), e;
    }));
    check("waits for others", captured(s, global, 900, 901, [] { return cudaStreamSynchronize(free_one); }) &&
          captured(s, global, 900, 901, [] { return cudaEventQuery(event); }) &&
          captured(s, relaxed, 0, 0, [] { return cudaStreamQuery(free_one); }));
    check("a wait for the device", captured(s, relaxed, 900, 901, [] { return cudaDeviceSynchronize(); }));
    check("a graph that is launched there", captured(s, relaxed, 900, 901, [] { return cudaStreamAddCallback(s, nullptr, 0, 0) ? cudaStreamSynchronize(s) : cudaSuccess; }));
    check("the default stream", captured(s, global, 0, 0, [] { return cudaMemset(p, 0, 4); }) &&
          captured(blocking, relaxed, 906, 901, [] { return cudaMemset(p, 0, 4); }) &&
          captured(blocking, relaxed, 906, 901, [] { return cudaMemcpy(host, p, 4, cudaMemcpyDeviceToHost); }) &&
          captured(blocking, relaxed, 906, 901, [] { return add<<<1, 1>>>(p), cudaGetLastError(); }) &&
          captured(blocking, relaxed, 906, 901, [] { return cudaEventRecord(event); }));
    check("what the default stream does", captured(blocking, relaxed, 906, 0, [] {
        cudaStreamCaptureStatus status;
        return cudaStreamIsCapturing(nullptr, &status);
    }));
    check("an event of another stream", captured(s, global, 905, 901, [] { return cudaStreamWaitEvent(s, event, 0); }));
    check("a captured event", captured(s, relaxed, 907, 901, [] { return cudaEventRecord(event, s), cudaEventSynchronize(event); }));
    check("what waits for nothing", captured(s, global, 0, 0, [] {
        size_t a, b;
        cudaStream_t t;
        return cudaMemGetInfo(&a, &b) | cudaStreamCreate(&t) | cudaStreamDestroy(t) | cudaMemsetAsync(p, 0, 4, free_one);
    }));
    check("a launch that fails", captured(s, relaxed, 9, 901, [] { return add<<<0, 1, 0, s>>>(p), cudaGetLastError(); }));
    check("a copy that fails", captured(s, relaxed, 1, 0, [] { return cudaMemcpyAsync(host, p, 4, cudaMemcpyHostToDevice, s); }));
    check("an end in another thread", captured(s, global, 908, 0, [] {
        int e;
        std::thread([&] { e = cudaStreamEndCapture(s, &graph); }).join();
        return e;
    }));
}

int main(int argc, char **) {
    cudaMalloc(&p, 4 << 20);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&free_one, cudaStreamNonBlocking);
    cudaStreamCreate(&blocking);
    cudaEventCreate(&event);
    registers();
    stack();
    textures();
    captures();
    if (argc > 1) printf("too deep: %s\n", cudaGetErrorName(depth(4))); // of the lowered limit
    return failed ? 1 : 0;
}
