// Work on several streams that nothing orders, in pairs: each as it is wrong (`unordered bug`) and as
// it is right (`unordered fix`). A mark behind a pair has words of the one line that is told of it;
// nothing else is told. checks.t reads the marks. `unordered bug 3` runs the third alone.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

enum { N = 4096, BYTES = N * sizeof(int) };

__global__ void fill(int *x, int v) {
    x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void add(const int *x, int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] += x[i];
}
__global__ void progress(volatile int *done) {
    *done = 1;
    __threadfence_system();
    *done = 2;
}
__global__ void evens(int *x, int first) {
    x[2 * threadIdx.x + first] = threadIdx.x;
}

static cudaStream_t a, b, blocking, other;
static cudaEvent_t event;
static int *x, *y, *z, *pinned, *managed, *one;
static volatile int kept;

static cudaSurfaceObject_t surface;
static cudaTextureObject_t texture, line;
static cudaArray_t array;

__global__ void draw(cudaSurfaceObject_t s, int v) {
    surf2Dwrite(v, s, threadIdx.x * 4, 0);
}
__global__ void sample(cudaTextureObject_t t, int *o) {
    o[threadIdx.x] = tex2D<int>(t, threadIdx.x + 0.5f, 0.5f);
}
__global__ void fetch(cudaTextureObject_t t, int *o) {
    o[threadIdx.x] = tex1Dfetch<int>(t, threadIdx.x);
}

static void order(cudaStream_t first, cudaStream_t second) {
    cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event, 0);
}

template <bool BUG> static void kernels() { // told: kernel fill(int*, int) on stream 2 and kernel add(int const*, int*) on stream 3
    fill<<<N / 128, 128, 0, a>>>(x, 1);
    if (!BUG) order(a, b);
    add<<<N / 128, 128, 0, b>>>(x, y);
}
template <bool BUG> static void copy() { // told: cudaMemcpyAsync on stream 2 and kernel add(int const*, int*) on stream 3
    cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, a);
    if (!BUG) cudaStreamSynchronize(a);
    add<<<N / 128, 128, 0, b>>>(x, y);
}
template <bool BUG> static void early() { // told: kernel fill(int*, int) on stream 2 and cudaMemcpyAsync on stream 3
    if (BUG) order(a, b); // the event comes before the kernel
    fill<<<N / 128, 128, 0, a>>>(z, 3);
    if (!BUG) order(a, b);
    cudaMemcpyAsync(pinned, z, BYTES, cudaMemcpyDeviceToHost, b);
}
template <bool BUG> static void parts() { // told: kernel fill(int*, int) on stream 2 and kernel fill(int*, int) on stream 3
    fill<<<16, 128, 0, a>>>(x, 1);
    fill<<<16, 128, 0, b>>>(x + N / 2 - (BUG ? 1 : 0), 2);
}
template <bool BUG> static void between() { // told: kernel evens(int*, int) on stream 2 and kernel evens(int*, int) on stream 3
    evens<<<1, 128, 0, a>>>(y, 0);
    evens<<<1, 128, 0, b>>>(y, BUG ? 2 : 1);
}
template <bool BUG> static void legacy() { // told: cudaMemsetAsync on the default stream and kernel fill(int*, int) on stream 3
    cudaMemsetAsync(z, 0, BYTES, 0);
    fill<<<N / 128, 128, 0, BUG ? b : blocking>>>(z, 2);
}
template <bool BUG> static void memset_() { // told: kernel fill(int*, int) on stream 2 and cudaMemset on the default stream
    fill<<<N / 128, 128, 0, BUG ? a : blocking>>>(y, 2);
    cudaMemset(y, 0, BYTES);
}
template <bool BUG> static void pool() { // told: cudaMallocAsync on stream 2 and kernel fill(int*, int) on stream 3
    int *p;
    cudaMallocAsync((void **)&p, BYTES, a);
    if (!BUG) order(a, b);
    fill<<<N / 128, 128, 0, b>>>(p, 1);
    order(b, a);
    cudaFreeAsync(p, a);
}
template <bool BUG> static void pool_free() { // told: kernel fill(int*, int) on stream 3 and cudaFreeAsync on stream 2
    int *p;
    cudaMallocAsync((void **)&p, BYTES, a);
    order(a, b);
    fill<<<N / 128, 128, 0, b>>>(p, 1);
    if (!BUG) order(b, a);
    cudaFreeAsync(p, a);
}
template <bool BUG> static void refilled() { // told: the host changed bytes of 'cudaHostAlloc
    for (int i = 0; i < N; i++) pinned[i] = i;
    cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, a);
    if (!BUG) cudaStreamSynchronize(a);
    pinned[7] = -1;
}
static void touch(void *) {
    pinned[9]++;
}
template <bool BUG> static void called() { // told: the host changed bytes of 'cudaHostAlloc
    cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, a);
    cudaLaunchHostFunc(BUG ? b : a, touch, nullptr);
}
template <bool BUG> static void shared() { // told: the host changed bytes of 'cudaMallocManaged
    fill<<<N / 128, 128, 0, a>>>(managed, 1);
    if (!BUG) cudaStreamSynchronize(a);
    managed[7] = -1;
}
template <bool BUG> static void copied() { // told: the host reads bytes of 'cudaHostAlloc 4' (byte 4000) before it waited for cudaMemcpyAsync on stream 2
    cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, a);
    if (!BUG) cudaStreamSynchronize(a);
    kept = pinned[1000];
}
template <bool BUG> static void computed() { // told: the host reads bytes of 'cudaMallocManaged 5' (byte 12) before it waited for kernel fill(int*, int) on stream 2
    fill<<<N / 128, 128, 0, a>>>(managed, 1);
    if (!BUG) cudaEventRecord(event, a), cudaEventSynchronize(event);
    kept = managed[3];
}
template <bool BUG> static void small() { // told: the host reads bytes of 'cudaHostAlloc 6' (byte 0) before it waited for cudaMemcpyAsync on stream 3
    *one = 0;
    progress<<<1, 1, 0, a>>>(one); // tells the host while it runs
    kept = *one;
    cudaStreamSynchronize(a);
    cudaMemcpyAsync(one, x, sizeof *one, cudaMemcpyDeviceToHost, b);
    cudaStreamSynchronize(BUG ? a : b);
    kept = *one;
}
template <bool BUG> static void chain() { // told: kernel fill(int*, int) on stream 2 and kernel fill(int*, int) on stream 5
    fill<<<N / 128, 128, 0, a>>>(x, 1);
    order(a, b);
    if (!BUG) fill<<<1, 128, 0, b>>>(y, 1);
    if (!BUG) order(b, other);
    fill<<<N / 128, 128, 0, other>>>(x, 2);
}
template <bool BUG> static void graph() { // told: kernel fill(int*, int) on stream 2 and kernel add(int const*, int*) on stream 2
    cudaGraph_t g;
    cudaGraphExec_t run;
    cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed);
    order(a, b);
    fill<<<N / 128, 128, 0, a>>>(x, 1);
    if (!BUG) order(a, b);
    add<<<N / 128, 128, 0, b>>>(x, y);
    order(b, a);
    cudaStreamEndCapture(a, &g);
    cudaGraphInstantiate(&run, g, 0);
    cudaGraphLaunch(run, a);
    cudaStreamSynchronize(a);
    cudaGraphExecDestroy(run);
    cudaGraphDestroy(g);
}

template <bool BUG> static void drawn() { // told: kernel draw(unsigned long long, int) on stream 2 and kernel sample(unsigned long long, int*) on stream 3, which both use byte 0 of 'cudaMallocArray
    draw<<<1, 64, 0, a>>>(surface, 1);
    if (!BUG) order(a, b);
    sample<<<1, 64, 0, b>>>(texture, z);
}
template <bool BUG> static void loaded() { // told: kernel sample(unsigned long long, int*) on stream 3 and cudaMemcpy2DToArrayAsync on stream 2
    sample<<<1, 64, 0, b>>>(texture, z);
    cudaMemcpy2DToArrayAsync(array, 0, BUG ? 0 : 1, pinned, 256, 256, 1, cudaMemcpyHostToDevice, a);
}
template <bool BUG> static void fetched() { // told: kernel fill(int*, int) on stream 2 and kernel fetch(unsigned long long, int*) on stream 3
    fill<<<1, 128, 0, a>>>(x + (BUG ? 32 : 64), 1);
    fetch<<<1, 64, 0, b>>>(line, z);
}

static void bind() {
    cudaChannelFormatDesc f = cudaCreateChannelDesc<int>();
    cudaResourceDesc what = {}, linear = {};
    cudaTextureDesc how = {};
    cudaMallocArray(&array, &f, 64, 2, cudaArraySurfaceLoadStore);
    what.resType = cudaResourceTypeArray, what.res.array.array = array;
    linear.resType = cudaResourceTypeLinear, linear.res.linear = {x, f, BYTES};
    cudaCreateSurfaceObject(&surface, &what);
    cudaCreateTextureObject(&texture, &what, &how, nullptr);
    cudaCreateTextureObject(&line, &linear, &how, nullptr);
}

template <bool BUG> static void run(int only) {
    void (*all[])() = {kernels<BUG>, copy<BUG>,    early<BUG>, parts<BUG>,     between<BUG>,
                       legacy<BUG>,  memset_<BUG>, pool<BUG>,  pool_free<BUG>, refilled<BUG>,
                       called<BUG>,  shared<BUG>,  copied<BUG>, computed<BUG>, small<BUG>, chain<BUG>,
                       graph<BUG>,   drawn<BUG>,   loaded<BUG>, fetched<BUG>};
    int n = 0;
    for (auto f : all)
        if (++n == only || only == 0) f(), cudaDeviceSynchronize();
}

int main(int argc, char **argv) {
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaStreamCreate(&blocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaMalloc(&x, BYTES), cudaMalloc(&y, BYTES), cudaMalloc(&z, BYTES);
    cudaMallocHost(&pinned, BYTES), cudaMallocManaged(&managed, BYTES);
    cudaMallocHost(&one, sizeof *one);
    bind();
    cudaMemset(x, 0, BYTES), cudaMemset(y, 0, BYTES);
    cudaDeviceSynchronize();
    int only = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(argv[1], "bug") == 0) run<true>(only);
    else run<false>(only);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
