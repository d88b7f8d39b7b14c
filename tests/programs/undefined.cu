// Undefined values, in pairs: each kernel runs as it is wrong (`undefined bug`) and as it is right
// (`undefined fix`). A line with "told:" is the place of a finding in the first, and of none in the
// second, and there are no others. run.t reads the marks.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

enum { N = 64 };

struct Pair { // 3 bytes of padding
    char tag;
    int value;
};
struct Wide { // 4 bytes of padding at its end
    double x;
    int n;
};
struct Bits {
    unsigned low : 12, high : 20;
};

// 1: a shuffle from lanes that a block of 20 threads has not got
template <bool BUG> __global__ void reduce(const int *x, int *o) {
    int t = threadIdx.x, v = x[t];
    for (int d = 16; d; d >>= 1) {
        int other = __shfl_down_sync(~0u, v, d); // told: undefined_value
        if (BUG || t + d < 20) v += other;
    }
    if (t == 0) *o = v;
}

// 2: one that decides a branch, and one whose value is selected away
template <bool BUG> __global__ void compare(int *o) {
    int t = threadIdx.x, low = 0;
    if (t < 16) {
        int other = __shfl_sync(0xffff, t, t + 8); // told: undefined_value
        low = BUG ? other : t < 8 ? other : 0;
        if (low > 12) o[t] = low;
    }
}

// 3: shared memory that nobody wrote reaches the host, or nobody
template <bool BUG> __global__ void tail(int *o, int n) {
    __shared__ volatile int s[N];
    int t = threadIdx.x;
    if (t < n) s[t] = t;
    __syncthreads();
    int v = s[t]; // told: uninitialised_read
    if (BUG || t < n) o[t] = v;
}

// 4: a branch by global memory that nobody wrote
template <bool BUG> __global__ void search(const int *x, int *o, int n) {
    int t = threadIdx.x;
    int v = ((volatile const int *)x)[t]; // told: uninitialised_read
    if (t < n || BUG)
        if (v == 7) atomicAdd(o, 1);
}

// 5: an index by it
template <bool BUG> __global__ void gather(const int *index, const int *x, int *o, int n) {
    int t = threadIdx.x;
    int i = ((volatile const int *)index)[t]; // told: uninitialised_read
    if (t < n || BUG) o[t] = x[i & 31];
}

// 6: what one thread leaves another one takes, through shared memory
template <bool BUG> __global__ void pass(const int *x, int *o, int n) {
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = x[t]; // told: uninitialised_read
    __syncthreads();
    o[t] = BUG ? s[N - 1 - t] : s[t % n];
}

// 7: an array of a thread's own
template <bool BUG> __global__ void filled(int *o, int n) {
    volatile int a[16];
    int sum = 0;
    for (int i = 0; i < n; i++) a[i] = i;
    for (int i = 0; i < 16; i++) {
        int v = a[i]; // told: uninitialised_read
        if (BUG || i < n) sum += v;
    }
    o[threadIdx.x] = sum;
}

// 8: through a function
__device__ __noinline__ int chosen(int a, int b, int which) {
    return which ? a : b;
}
template <bool BUG> __global__ void call(const int *x, int *o) {
    int t = threadIdx.x, v = ((volatile const int *)x)[t + 32]; // told: uninitialised_read
    o[t] = chosen(v, t, BUG);
}

// 9: an atomic on a counter that nobody set
template <bool BUG> __global__ void count(int *counter) {
    if (!BUG && threadIdx.x == 0) *counter = 0;
    __syncthreads();
    atomicAdd(counter, 1); // told: uninitialised_read
}

// 10: of a word one part is set
template <bool BUG> __global__ void fields(const Bits *unset, int *o) {
    Bits b = *unset; // told: uninitialised_read
    b.low = threadIdx.x;
    o[threadIdx.x] = BUG ? b.high : b.low;
}

// 11: padding goes along; a member that was forgotten does not
template <bool BUG> __global__ void make(Pair *p, Wide *w) {
    int t = threadIdx.x;
    p[t].tag = 'a';
    if (!BUG || t != 5) p[t].value = t;
    w[t].x = t;
    w[t].n = t;
}
__global__ void copy(const Pair *from, Pair *to, const Wide *wide, Wide *to_wide) {
    to[threadIdx.x] = from[threadIdx.x]; // told: uninitialised_read
    to_wide[threadIdx.x] = wide[threadIdx.x];
}

// 12: votes
template <bool BUG> __global__ void vote(const int *x, int *o) {
    int t = threadIdx.x, v = ((volatile const int *)x)[t]; // told: uninitialised_read
    unsigned yes = __ballot_sync(~0u, v > 0);
    o[t] = BUG ? yes : yes & 0xffff;
}

// 13: an asynchronous copy
template <bool BUG> __global__ void stage(const int *x, int *o) {
    __shared__ int s[32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(s + t, x + t, 4); // told: uninitialised_read
    __pipeline_commit();
    __pipeline_wait_prior(0);
    o[t] = BUG || t < 16 ? s[t] : 0;
}

// 14: what is printed
template <bool BUG> __global__ void print(const int *x) {
    int v = ((volatile const int *)x)[threadIdx.x + 16]; // told: uninitialised_read
    if (threadIdx.x == 0) printf("%d %g\n", BUG ? v : 3, 1.5);
}

// 15: memory that the host reads by itself
template <bool BUG> __global__ void both_sides(const int *x, int *managed) {
    int t = threadIdx.x, v = ((volatile const int *)x)[t]; // told: uninitialised_read
    managed[t] = v;
    if (!BUG && t >= 16) managed[t] = 0;
}

// 16: a launch leaves it, another one uses it
__global__ void leave(const int *x, int *y) {
    y[threadIdx.x] = x[threadIdx.x]; // told: uninitialised_read
}
template <bool BUG> __global__ void take(const int *y, int *o) {
    int v = ((volatile const int *)y)[threadIdx.x];
    o[threadIdx.x] = BUG || threadIdx.x < 16 ? v : 0;
}

// 17: a mask hides what is not set, and a product by what is not set hides nothing
template <bool BUG> __global__ void hide(const int *x, int *o) {
    int t = threadIdx.x, v = ((volatile const int *)x)[t]; // told: uninitialised_read
    int mask = t < 16 ? -1 : 0;
    o[t] = BUG ? v * (t & 1) : (v & mask) | (~mask & t);
}

template <typename T> static T *device(int n) {
    T *p;
    cudaMalloc(&p, n * sizeof(T));
    return p;
}

// n of N are written by the host.
static int *ints(int n) {
    int h[N], *p = device<int>(N);
    for (int i = 0; i < N; i++) h[i] = i;
    cudaMemcpy(p, h, n * sizeof(int), cudaMemcpyHostToDevice);
    return p;
}

template <typename T> static void back(const T *p, int n) {
    T *h = (T *)malloc(n * sizeof(T));
    cudaMemcpy(h, p, n * sizeof(T), cudaMemcpyDeviceToHost);
    free(h);
}

// 20, 21: a texture of memory that nobody wrote whole; a filter takes its neighbours, too
template <bool BUG> __global__ void fetch(cudaTextureObject_t line, cudaTextureObject_t rows, float *o) {
    int t = threadIdx.x;
    float v = tex1Dfetch<float>(line, t); // told: uninitialised_read
    float x = BUG ? 15.0f : 14.5f;
    float f = tex2D<float>(rows, x + 0.5f, 0.5f); // not weighed: texel 16
    float g = tex2D<float>(rows, x + 1.0f, 0.5f); // told: uninitialised_read
    o[t] = BUG || t < 16 ? v + f + g : 0;
}

static cudaTextureObject_t texture(float *x, bool filters) {
    cudaResourceDesc what = {};
    cudaTextureDesc how = {};
    what.resType = filters ? cudaResourceTypePitch2D : cudaResourceTypeLinear;
    if (filters) {
        what.res.pitch2D = {x, cudaCreateChannelDesc<float>(), 32, 2, 128};
        how.filterMode = cudaFilterModeLinear;
    } else {
        what.res.linear = {x, cudaCreateChannelDesc<float>(), 32 * sizeof(float)};
    }
    cudaTextureObject_t made = 0;
    cudaCreateTextureObject(&made, &what, &how, nullptr);
    return made;
}

// 22: an array that the host filled in part; and its gather
template <bool BUG> __global__ void sample(cudaTextureObject_t a, float *o) {
    int t = threadIdx.x;
    float v = tex2D<float>(a, t + 0.5f, BUG ? 2.5f : 0.5f); // told: uninitialised_read
    float4 four = tex2Dgather<float4>(a, 1, BUG ? 2 : 1); // told: uninitialised_read
    o[t] = v + four.w;
    o[t + 8] = four.x;
}

// 23: a surface whose rows threads wrote in part; two texels at a time, and one that is thrown away
template <bool BUG> __global__ void draw(cudaSurfaceObject_t s) {
    int x = threadIdx.x;
    for (int y = 0; y < (BUG ? 3 : 4); y++) surf2Dwrite((float)x, s, x * 4, y);
}
template <bool BUG> __global__ void look(cudaSurfaceObject_t s, float *o) {
    int t = threadIdx.x;
    float2 v = surf2Dread<float2>(s, t / 2 * 8, 3); // told: uninitialised_read
    if (v.x > 2) o[t] = 1;
}

// 24: what a kernel stores undefined another one fetches
template <bool BUG> __global__ void keep(const float *x, cudaSurfaceObject_t s) {
    int t = threadIdx.x;
    float v = ((volatile const float *)x)[t]; // told: uninitialised_read
    surf2Dwrite(v, s, t * 4, 0);
    if (!BUG) surf2Dwrite(1.0f, s, t * 4, 0);
}
__global__ void show(cudaTextureObject_t a, float *o) {
    o[threadIdx.x] = tex2D<float>(a, threadIdx.x + 0.5f, 0.5f);
}

// 25: a face of a cube map
template <bool BUG> __global__ void face(cudaTextureObject_t cube, float *o) {
    float v = texCubemap<float>(cube, BUG ? -1 : 1, 0, 0); // told: uninitialised_read
    o[threadIdx.x] = v;
}

static cudaArray_t array(int width, int height, int depth, unsigned flags) {
    cudaArray_t made;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMalloc3DArray(&made, &f, make_cudaExtent(width, height, depth), flags);
    return made;
}

static cudaResourceDesc in(cudaArray_t a) {
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = a;
    return what;
}

static cudaTextureObject_t texture(cudaArray_t a) {
    cudaResourceDesc what = in(a);
    cudaTextureDesc how = {};
    cudaTextureObject_t made = 0;
    cudaCreateTextureObject(&made, &what, &how, nullptr);
    return made;
}

static cudaSurfaceObject_t surface(cudaArray_t a) {
    cudaResourceDesc what = in(a);
    cudaSurfaceObject_t made = 0;
    cudaCreateSurfaceObject(&made, &what);
    return made;
}

// From the row or the face `first` on.
static void fill(cudaArray_t a, int first, cudaExtent n) {
    static float ones[N * N];
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(ones, n.width * 4, n.width, n.height);
    p.dstArray = a, p.dstPos.y = n.depth == 1 ? first : 0, p.dstPos.z = n.depth == 1 ? 0 : first;
    p.extent = n, p.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&p);
}

template <bool BUG> static void arrays() {
    float *o = device<float>(N), *host = (float *)malloc(N * N * 4);
    cudaMemset(o, 0, N * sizeof(float));
    cudaArray_t part = array(8, 4, 0, cudaArrayTextureGather);
    fill(part, 0, make_cudaExtent(8, 2, 1));
    sample<BUG><<<1, 8>>>(texture(part), o), back(o, 16);
    cudaArray_t drawn = array(6, 4, 0, cudaArraySurfaceLoadStore); // rows of three times 8 bytes
    draw<BUG><<<1, 6>>>(surface(drawn));
    look<BUG><<<1, 6>>>(surface(drawn), o), back(o, 6);
    cudaArray_t kept = array(8, 4, 0, cudaArraySurfaceLoadStore);
    float *unset = device<float>(8);
    keep<BUG><<<1, 8>>>(unset, surface(kept));
    show<<<1, 8>>>(texture(kept), o), back(o, 8);
    cudaArray_t cube = array(4, 4, 6, cudaArrayCubemap);
    fill(cube, 2, make_cudaExtent(4, 4, 4));
    if (!BUG) fill(cube, 0, make_cudaExtent(4, 4, 2));
    face<BUG><<<1, 8>>>(texture(cube), o), back(o, 8);
    // 26: the host copies rows of an array that nobody wrote
    cudaMemcpy2DFromArray(host, 32, part, 0, BUG ? 1 : 0, 32, 2, cudaMemcpyDeviceToHost);
    free(host);
}

template <bool BUG> static void run() {
    int *all = ints(N), *half = ints(16), *o = device<int>(N);
    cudaMemset(o, 0, N * sizeof(int));
    reduce<BUG><<<1, 20>>>(all, o), back(o, 1);
    compare<BUG><<<1, 32>>>(o), back(o, N);
    tail<BUG><<<1, N>>>(o, 50), back(o, N);
    search<BUG><<<1, N>>>(half, o, 16), back(o, N);
    gather<BUG><<<1, N>>>(half, all, o, 16), back(o, N);
    pass<BUG><<<1, N>>>(half, o, 16), back(o, N);
    filled<BUG><<<1, 32>>>(o, 9), back(o, N);
    call<BUG><<<1, 32>>>(half, o), back(o, N);
    int *counter = device<int>(1);
    count<BUG><<<1, 64>>>(counter), back(counter, 1);
    Bits *bits = device<Bits>(1);
    fields<BUG><<<1, 32>>>(bits, o), back(o, N);
    Pair *pairs = device<Pair>(N), *others = device<Pair>(N);
    Wide *wide = device<Wide>(N), *more = device<Wide>(N);
    make<BUG><<<1, N>>>(pairs, wide);
    back(wide, N);
    copy<<<1, N>>>(pairs, others, wide, more);
    back(others, N), back(more, N);
    vote<BUG><<<1, 32>>>(half, o), back(o, N);
    stage<BUG><<<1, 32>>>(half, o), back(o, N);
    print<BUG><<<1, 32>>>(half);
    int *managed;
    cudaMallocManaged(&managed, N * sizeof(int));
    both_sides<BUG><<<1, 32>>>(half, managed);
    cudaDeviceSynchronize();
    int *left = device<int>(N);
    leave<<<1, 32>>>(half, left);
    take<BUG><<<1, 32>>>(left, o), back(o, N);
    hide<BUG><<<1, 32>>>(half, o), back(o, N);
    // 18, 19: the host copies what nobody wrote; on the device it goes along
    int *part = device<int>(N), *second = device<int>(N);
    cudaMemset(part, 0, (BUG ? 60 : N) * sizeof(int));
    back(part, N);
    cudaMemcpy(second, half, N * sizeof(int), cudaMemcpyDeviceToDevice);
    back(second, BUG ? 17 : 16);
    float *texels = device<float>(N), *sums = device<float>(32);
    cudaMemset(texels, 0, 16 * sizeof(float));
    fetch<BUG><<<1, 32>>>(texture(texels, false), texture(texels, true), sums), back(sums, 32);
    arrays<BUG>();
}

int main(int, char **argv) {
    if (strcmp(argv[1], "bug") == 0) run<true>();
    else run<false>();
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
