// memory.cu - every way to make memory, and every way to copy and fill it. What comes back is
// compared with what the host computed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static int failed;

static void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
    failed += !ok;
}

__global__ void twice(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= 2;
}

__global__ void rows(const char *p, size_t pitch, int width, int height, int *sum) {
    int y = threadIdx.x;
    if (y >= height) return;
    const int *row = (const int *)(p + y * pitch);
    for (int x = 0; x < width; x++) atomicAdd(sum, row[x] * (y + 1));
}

__device__ int table[64];

static bool doubled(const int *p, int n) {
    for (int i = 0; i < n; i++)
        if (p[i] != 2 * i) return false;
    return true;
}

static void count_up(int *p, int n) {
    for (int i = 0; i < n; i++) p[i] = i;
}

static void host_memory() {
    int *managed, *pinned, *mapped, *there, *own = (int *)malloc(256 * sizeof(int));
    cudaMallocManaged(&managed, 256 * sizeof(int));
    count_up(managed, 256);
    twice<<<1, 256>>>(managed, 256);
    cudaDeviceSynchronize();
    check("managed", doubled(managed, 256));

    cudaMallocHost(&pinned, 256 * sizeof(int));
    count_up(pinned, 256);
    twice<<<1, 256>>>(pinned, 256);
    cudaDeviceSynchronize();
    check("pinned", doubled(pinned, 256));

    cudaHostAlloc(&mapped, 256 * sizeof(int), cudaHostAllocMapped);
    count_up(mapped, 256);
    cudaHostGetDevicePointer(&there, mapped, 0);
    twice<<<1, 256>>>(there, 256);
    cudaDeviceSynchronize();
    check("mapped", doubled(mapped, 256));

    count_up(own, 256);
    check("registered once", cudaHostRegister(own, 256 * sizeof(int), cudaHostRegisterMapped) == cudaSuccess &&
          cudaHostRegister(own, 256 * sizeof(int), 0) == cudaErrorHostMemoryAlreadyRegistered);
    cudaGetLastError();
    cudaHostGetDevicePointer(&there, own, 0);
    twice<<<1, 256>>>(there, 256);
    cudaDeviceSynchronize();
    check("registered", doubled(own, 256));
    check("unregistered", cudaHostUnregister(own) == cudaSuccess &&
          cudaHostUnregister(own) == cudaErrorHostMemoryNotRegistered);
    cudaGetLastError();

    // many: each has an address of its own that both sides know
    int **list, sum = 0;
    cudaMallocManaged(&list, 300 * sizeof *list);
    for (int i = 0; i < 300; i++) {
        cudaMallocManaged(&list[i], 64);
        list[i][0] = i;
        twice<<<1, 1>>>(list[i], 1);
    }
    cudaDeviceSynchronize();
    for (int i = 0; i < 300; i++) sum += list[i][0] == 2 * i;
    check("three hundred managed ones", sum == 300);
    for (int i = 0; i < 300; i++) cudaFree(list[i]);
    cudaFree(list), cudaFree(managed), cudaFreeHost(pinned), cudaFreeHost(mapped), free(own);
}

static void pitched() {
    enum { W = 37, H = 11 };
    int host[H][W], back[H][W], *sum, got, want = 0;
    char *p, *q;
    size_t pitch;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) host[y][x] = 100 * y + x, want += host[y][x] * (y + 1);
    cudaMallocPitch(&p, &pitch, W * sizeof(int), H);
    check("a pitch holds a row", pitch >= W * sizeof(int) && pitch % 256 == 0);
    cudaMemset2D(p, pitch, 0xff, W * sizeof(int), H);
    cudaMemcpy2D(p, pitch, host, W * sizeof(int), W * sizeof(int), H, cudaMemcpyHostToDevice);
    cudaMalloc(&sum, sizeof(int));
    cudaMemset(sum, 0, sizeof(int));
    rows<<<1, 32>>>(p, pitch, W, H, sum);
    cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost);
    check("rows to the device", got == want);
    cudaMalloc(&q, pitch * H);
    cudaMemcpy2D(q, pitch, p, pitch, W * sizeof(int), H, cudaMemcpyDeviceToDevice);
    cudaMemcpy2DAsync(back, W * sizeof(int), q, pitch, W * sizeof(int), H, cudaMemcpyDeviceToHost, 0);
    cudaStreamSynchronize(0);
    check("and back", memcmp(host, back, sizeof host) == 0);
    check("a pitch that is too small", cudaMemcpy2D(p, 8, host, W * sizeof(int), W * sizeof(int), H,
                                                    cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
    check("rows beyond the end", cudaMemcpy2D(p, pitch, host, W * sizeof(int), W * sizeof(int), H + 1,
                                              cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    cudaGetLastError();
    cudaFree(p), cudaFree(q), cudaFree(sum);
}

static void boxes() {
    enum { X = 9, Y = 6, Z = 4 };
    unsigned char host[Z][Y][X], back[Z][Y][X];
    for (int i = 0; i < X * Y * Z; i++) ((unsigned char *)host)[i] = (unsigned char)(i * 7);
    cudaExtent all = make_cudaExtent(X, Y, Z);
    cudaPitchedPtr box;
    cudaMalloc3D(&box, all);
    cudaMemset3D(box, 0x11, all);
    cudaMemcpy3DParms up = {};
    up.srcPtr = make_cudaPitchedPtr(host, X, X, Y);
    up.dstPtr = box;
    up.srcPos = make_cudaPos(2, 1, 1);
    up.dstPos = make_cudaPos(2, 1, 1);
    up.extent = make_cudaExtent(5, 4, 2);
    up.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&up);
    cudaMemcpy3DParms down = {};
    down.srcPtr = box;
    down.dstPtr = make_cudaPitchedPtr(back, X, X, Y);
    down.extent = all;
    down.kind = cudaMemcpyDeviceToHost;
    cudaMemcpy3D(&down);
    bool ok = true;
    for (int z = 0; z < Z; z++)
        for (int y = 0; y < Y; y++)
            for (int x = 0; x < X; x++) {
                bool in = x >= 2 && x < 7 && y >= 1 && y < 5 && z >= 1 && z < 3;
                ok = ok && back[z][y][x] == (in ? host[z][y][x] : 0x11);
            }
    check("a box inside of a box", ok);
    cudaFree(box.ptr);
}

static void arrays() {
    enum { W = 20, H = 7 };
    float host[H][W], back[H][W];
    for (int i = 0; i < W * H; i++) ((float *)host)[i] = i * 0.5f;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaArray_t a, b;
    cudaMallocArray(&a, &f, W, H);
    cudaMallocArray(&b, &f, W, H);
    cudaMemcpy2DToArray(a, 0, 0, host, W * 4, W * 4, H, cudaMemcpyHostToDevice);
    cudaMemcpy2DArrayToArray(b, 0, 0, a, 0, 0, W * 4, H);
    cudaMemcpy2DFromArray(back, W * 4, b, 0, 0, W * 4, H, cudaMemcpyDeviceToHost);
    check("arrays", memcmp(host, back, sizeof host) == 0);
    cudaChannelFormatDesc g;
    cudaExtent e;
    unsigned flags;
    cudaArrayGetInfo(&g, &e, &flags, a);
    check("what an array is", g.x == 32 && g.y == 0 && g.f == cudaChannelFormatKindFloat && e.width == W &&
          e.height == H && e.depth == 0 && flags == 0);
    check("beyond an array", cudaMemcpy2DToArray(a, 4, 0, host, W * 4, W * 4, H, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidValue);
    cudaGetLastError();
    cudaFreeArray(a), cudaFreeArray(b);
}

static void symbols() {
    int host[64], back[64], *p;
    size_t size;
    count_up(host, 64);
    cudaMemcpyToSymbol(table, host, sizeof host);
    cudaGetSymbolAddress((void **)&p, table);
    cudaGetSymbolSize(&size, table);
    twice<<<1, 64>>>(p, 64);
    cudaMemcpyFromSymbol(back, table, sizeof back);
    check("a variable by its address", size == sizeof host && doubled(back, 64));
    cudaMemcpyToSymbol(table, host, 8, 40);
    cudaMemcpy(back, p, sizeof back, cudaMemcpyDeviceToHost);
    check("part of it", back[9] == 18 && back[10] == 0 && back[11] == 1 && back[12] == 24);
    check("beyond it", cudaMemcpyToSymbol(table, host, 8, 252) == cudaErrorInvalidValue);
    cudaGetLastError();
}

static void pools() {
    cudaStream_t s;
    cudaMemPool_t pool, own;
    int *p, *q, back[256];
    cudaStreamCreate(&s);
    cudaMallocAsync(&p, sizeof back, s);
    cudaMemsetAsync(p, 0, sizeof back, s);
    twice<<<1, 256, 0, s>>>(p, 256);
    cudaMemcpyAsync(back, p, sizeof back, cudaMemcpyDeviceToHost, s);
    cudaFreeAsync(p, s);
    cudaStreamSynchronize(s);
    check("in stream order", back[0] == 0 && back[255] == 0);
    cudaDeviceGetDefaultMemPool(&pool, 0);
    uint64_t keep = 1 << 20, got = 0;
    cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got);
    check("attributes of a pool", got == keep);
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    check("a pool", cudaMemPoolCreate(&own, &props) == cudaSuccess &&
          cudaMallocFromPoolAsync(&q, 64, own, s) == cudaSuccess && cudaFreeAsync(q, s) == cudaSuccess &&
          cudaMemPoolDestroy(own) == cudaSuccess);
    cudaStreamDestroy(s);
}

static void pointers() {
    int *device, *managed, *pinned, own;
    cudaPointerAttributes a;
    cudaMalloc(&device, 64), cudaMallocManaged(&managed, 64), cudaMallocHost(&pinned, 64);
    bool ok = cudaPointerGetAttributes(&a, device + 3) == cudaSuccess && a.type == cudaMemoryTypeDevice &&
              a.devicePointer == device + 3 && a.hostPointer == nullptr && a.device == 0;
    check("what a device pointer is", ok);
    cudaPointerGetAttributes(&a, managed);
    check("a managed one", a.type == cudaMemoryTypeManaged && a.hostPointer == managed);
    cudaPointerGetAttributes(&a, pinned);
    check("a pinned one", a.type == cudaMemoryTypeHost && a.devicePointer == pinned);
    cudaPointerGetAttributes(&a, &own);
    check("the host's own", a.type == cudaMemoryTypeUnregistered && a.devicePointer == nullptr);
    size_t before, after, total;
    cudaMemGetInfo(&before, &total);
    void *big;
    cudaMalloc(&big, 1 << 20);
    cudaMemGetInfo(&after, &total);
    check("free memory", before - after == 1 << 20 && total > before);
    check("more than there is", cudaMalloc(&big, (size_t)1 << 50) == cudaErrorMemoryAllocation);
    check("a direction that is none", cudaMemcpy(device, &own, 4, (cudaMemcpyKind)9) ==
          cudaErrorInvalidMemcpyDirection);
    check("a direction that is another", cudaMemcpy(&own, device, 4, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidValue);
    cudaGetLastError();
    cudaFree(device), cudaFree(managed), cudaFreeHost(pinned);
}

int main() {
    host_memory();
    pitched();
    boxes();
    arrays();
    symbols();
    pools();
    pointers();
    return failed != 0;
}
