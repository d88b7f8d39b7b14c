// Results that depend on the order in which threads run, in pairs: each as it is wrong (`order bug`)
// and as it is right (`order fix`). checks.t reads the marks.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

enum { N = 1000, BLOCKS = 8, THREADS = 125 };

__device__ float value(int i) {
    return 1.0f / (i % 97 + 1);
}
__device__ int own() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

// 1: a sum of floats, and of fixed-point numbers
template <bool BUG> __global__ void sum(float *o, unsigned *exact) {
    if (BUG) atomicAdd(o, value(own())); // told: order_dependence
    else atomicAdd(exact, (unsigned)(value(own()) * 65536));
}

// 2: of floats that are small whole numbers: no bit is lost
template <bool BUG> __global__ void count(float *o) {
    atomicAdd(o, BUG ? value(own()) : (float)(own() % 7)); // told: order_dependence
}

// 3: tickets say where a thread's result lies; a kernel that sorts them makes it one answer
__global__ void compact(int *n, int *list) {
    if (own() % 3 == 0) {
        int at = atomicAdd(n, 1); // told: order_dependence
        list[at] = own();
    }
}
__global__ void sort(const int *n, const int *list, int *sorted) {
    int below = 0, i = own();
    if (i >= *n) return;
    for (int k = 0; k < *n; k++) below += list[k] < list[i];
    sorted[below] = list[i];
}

// 4: the last block's word stays, and the largest
template <bool BUG> __global__ void last(int *o) {
    if (BUG) *o = blockIdx.x; // told: order_dependence
    else if (blockIdx.x == gridDim.x - 1) *o = blockIdx.x;
}

// 5: lanes of one warp
template <bool BUG> __global__ void lanes(int *o) {
    if (BUG || threadIdx.x == 3) o[threadIdx.x & 1] = threadIdx.x; // told: order_dependence
}

// 6: warps of one block, in shared memory
template <bool BUG> __global__ void warps(float *o) {
    __shared__ float s;
    __shared__ int whole;
    if (threadIdx.x == 0) s = 0, whole = 0;
    __syncthreads();
    if (BUG) atomicAdd(&s, value(threadIdx.x)); // told: order_dependence
    else atomicAdd(&whole, (int)threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) *o = s + whole;
}

// 7: which of several equal ones is found
template <bool BUG> __global__ void find(const int *x, int *o) {
    int i = own();
    if (x[i] != 7) return;
    if (BUG) atomicExch(o, i); // told: order_dependence
    else atomicMin(o, i);
}

// 8: a sum in double, in memory that the host reads by itself
template <bool BUG> __global__ void both_sides(double *o) {
    if (BUG) atomicAdd(o, 1.0 / (own() + 1)); // told: order_dependence
    else atomicAdd((unsigned long long *)o, 1ull);
}

// 9: the sum goes on through another kernel and a copy on the device; or nobody reads it
__global__ void total(float *o) {
    atomicAdd(o, value(own() + 5)); // told: order_dependence
}
__global__ void scale(const float *from, float *to) {
    to[threadIdx.x] = threadIdx.x / *from;
}

// 10: the last thread's texel stays, which another kernel fetches and the host copies
template <bool BUG> __global__ void paint(cudaSurfaceObject_t s) {
    int x = BUG ? 0 : threadIdx.x * 4;
    surf1Dwrite((int)threadIdx.x, s, x); // told: order_dependence
}
__global__ void fetched(cudaTextureObject_t t, int *o) {
    o[threadIdx.x] = tex1D<int>(t, 0.5f);
}

// 11: so of an array that the host copies itself
template <bool BUG> __global__ void mark(cudaSurfaceObject_t s) {
    if (BUG || blockIdx.x == 3) surf1Dwrite((int)blockIdx.x, s, 4); // told: order_dependence
}

template <bool BUG> static void arrays() {
    int *o, host[8] = {};
    for (int i = 0; i < 2; i++) {
        cudaArray_t a;
        cudaChannelFormatDesc f = cudaCreateChannelDesc<int>();
        cudaMallocArray(&a, &f, 32, 0, cudaArraySurfaceLoadStore);
        cudaResourceDesc what = {};
        what.resType = cudaResourceTypeArray, what.res.array.array = a;
        cudaTextureDesc how = {};
        cudaSurfaceObject_t s;
        cudaTextureObject_t t;
        cudaCreateSurfaceObject(&s, &what), cudaCreateTextureObject(&t, &what, &how, nullptr);
        cudaMalloc(&o, 32 * sizeof(int));
        if (i == 0) paint<BUG><<<1, 32>>>(s), fetched<<<1, 8>>>(t, o);
        else mark<BUG><<<8, 1>>>(s);
        if (i == 0) cudaMemcpy(host, o, sizeof host, cudaMemcpyDeviceToHost);
        else cudaMemcpyFromArray(host, a, 0, 0, sizeof host, cudaMemcpyDeviceToHost);
    }
}

template <typename T> static T *zeros(int n) {
    T *p;
    cudaMalloc(&p, n * sizeof(T));
    cudaMemset(p, 0, n * sizeof(T));
    return p;
}

template <typename T> static void back(const T *p, int n) {
    T h[N];
    cudaMemcpy(h, p, n * sizeof(T), cudaMemcpyDeviceToHost);
}

template <bool BUG> static void run() {
    float *f = zeros<float>(1), *g = zeros<float>(1), *h = zeros<float>(1), *t = zeros<float>(1);
    unsigned *exact = zeros<unsigned>(1);
    sum<BUG><<<BLOCKS, THREADS>>>(f, exact), back(f, 1), back(exact, 1);
    count<BUG><<<BLOCKS, THREADS>>>(g), back(g, 1);
    int *n = zeros<int>(1), *list = zeros<int>(N), *sorted = zeros<int>(N);
    compact<<<BLOCKS, THREADS>>>(n, list), back(n, 1);
    sort<<<BLOCKS, THREADS>>>(n, list, sorted);
    back(BUG ? list : sorted, 334);
    int *o = zeros<int>(2), *p = zeros<int>(2), *q = zeros<int>(N);
    last<BUG><<<BLOCKS, THREADS>>>(o), back(o, 1);
    lanes<BUG><<<1, 32>>>(p), back(p, 2);
    warps<BUG><<<1, 256>>>(h), back(h, 1);
    int *found = zeros<int>(1), x[N];
    for (int i = 0; i < N; i++) x[i] = i % 10;
    cudaMemcpy(q, x, sizeof x, cudaMemcpyHostToDevice);
    find<BUG><<<BLOCKS, THREADS>>>(q, found), back(found, 1);
    double *managed;
    cudaMallocManaged(&managed, sizeof(double));
    *managed = 0;
    both_sides<BUG><<<BLOCKS, THREADS>>>(managed);
    cudaDeviceSynchronize();
    float *scaled = zeros<float>(32), *copied = zeros<float>(32);
    total<<<BLOCKS, THREADS>>>(t);
    scale<<<1, 32>>>(t, scaled);
    cudaMemcpy(copied, scaled, 32 * sizeof(float), cudaMemcpyDeviceToDevice);
    if (!BUG) cudaMemset(copied, 0, 32 * sizeof(float));
    back(copied, 32);
    arrays<BUG>();
}

int main(int, char **argv) {
    if (strcmp(argv[1], "bug") == 0) run<true>();
    else run<false>();
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
