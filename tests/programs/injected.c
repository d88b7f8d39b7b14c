/* injected.c - what a program with a run-time library of its own asks of the driver, in C: `gilua
** record --inject` is tried with it, and nothing here needs nvcc. An argument says what else it does
** ("texture", "surface", "file PTX", "die"); it prints what it gets. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t Pointer;

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(Pointer *p, size_t n);
int cuMemAllocHost_v2(void **p, size_t n);
int cuMemFree_v2(Pointer p);
int cuMemFreeHost(void *p);
int cuMemHostRegister_v2(void *p, size_t n, unsigned flags);
int cuMemHostUnregister(void *p);
int cuMemcpyHtoD_v2(Pointer to, const void *from, size_t n);
int cuMemcpyDtoH_v2(void *to, Pointer from, size_t n);
int cuMemcpyDtoD_v2(Pointer to, Pointer from, size_t n);
int cuMemcpy(Pointer to, Pointer from, size_t n);
int cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t n, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t n, void *stream);
int cuMemsetD32_v2(Pointer to, unsigned value, size_t n);
int cuMemcpy2D_v2(const void *what);
int cuModuleLoadData(void **module, const void *image);
int cuModuleLoad(void **module, const char *path);
int cuModuleGetFunction(void **f, void *module, const char *name);
int cuLibraryLoadData(void **library, const void *code, void *, void *, unsigned, void *, void *,
                      unsigned);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuKernelGetFunction(void **f, void *kernel);
int cuModuleGetGlobal_v2(Pointer *p, size_t *n, void *module, const char *name);
int cuLibraryGetGlobal(Pointer *p, size_t *n, void *library, const char *name);
int cuLaunchKernel(void *f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void *stream, void **params, void **extra);
int cuLaunchKernelEx(const void *config, void *f, void **params, void **extra);
int cuCtxSynchronize(void);
int cuArrayCreate_v2(void **array, const void *what);
int cuArrayDestroy(void *array);
int cuTexObjectCreate(uint64_t *out, const void *of, const void *how, const void *view);
int cuTexObjectDestroy(uint64_t texture);
int cuSurfObjectCreate(uint64_t *out, const void *of);

/* y[i] = x[i] * by[0] + k.b; k: { char a; int b }. count: how often. */
static const char scale[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .const .align 4 .b8 by[4];\n"
    ".visible .global .align 4 .u32 count;\n"
    ".visible .entry scale(\n"
    "  .param .u64 .ptr .global .align 1 scale_0,\n"
    "  .param .u32 scale_n, .param .u64 scale_1,\n"
    "  .param .align 4 .b8 scale_k[8]\n)\n{\n"
    "  .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<6>;\n"
    "  ld.param.u64 %rd1, [scale_0]; ld.param.u64 %rd2, [scale_1];\n"
    "  ld.param.u32 %r1, [scale_n]; ld.param.u32 %r2, [scale_k+4];\n"
    "  mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mad.lo.s32 %r3, %r4, 32, %r3;\n"
    "  setp.ge.s32 %p, %r3, %r1; @%p ret;\n"
    "  mul.wide.s32 %rd3, %r3, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;\n"
    "  ld.global.u32 %r5, [%rd2]; ld.const.u32 %r6, [by];\n"
    "  mad.lo.s32 %r5, %r5, %r6, %r2; st.global.u32 [%rd1], %r5;\n"
    "  mov.u64 %rd4, count; atom.global.add.u32 %r7, [%rd4], 1;\n"
    "  ret;\n}\n";

/* Adds 1 to all; a kernel without the driver's knowledge of its arguments' names. */
static const char add[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 p)\n{\n"
    "  .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
    "  add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r2, [%rd1]; add.s32 %r2, %r2, 1;\n"
    "  st.global.u32 [%rd1], %r2; ret;\n}\n"
    ".visible .entry idle()\n{\n  ret;\n}\n";

/* p[i] = the texel at i, 1 of a texture, whose handle is behind a number that looks like one, and
** once more by its handle in a variable. */
static const char sample[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .const .align 8 .u64 kept;\n"
    ".visible .entry sample(.param .u64 p, .param .u64 much, .param .align 8 .b8 both[16])\n{\n"
    "  .reg .f32 %f<8>; .reg .b32 %r<4>; .reg .b64 %rd<6>;\n"
    "  ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [both+8]; mov.u64 %rd5, %rd2;\n"
    "  mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F800000;\n"
    "  ld.const.u64 %rd4, [kept]; tex.2d.v4.f32.f32 {%f7,%f4,%f5,%f6}, [%rd4, {%f1,%f2}];\n"
    "  tex.2d.v4.f32.f32 {%f3,%f4,%f5,%f6}, [%rd5, {%f1,%f2}];\n"
    "  add.f32 %f3, %f3, %f7;\n"
    "  mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd1, %rd3; st.global.f32 [%rd1], %f3;\n"
    "  ret;\n}\n";

#ifdef CLOSED /* a section as nvcc leaves one in what it builds */
__attribute__((section(".nv_fatbin"), used)) static const uint64_t fat[2] = {0};
#endif

enum { N = 50, BYTES = N * sizeof(int) };

static void need(const char *what, int code) {
    if (code == 0) return;
    printf("%s returned %d\n", what, code);
    exit(1);
}
#define NEED(call) need(#call, call)

/* A fat binary of one PTX, as nvcc makes them, and what a program registers of it. */
static void *fat_binary(const char *ptx) {
    size_t n = (strlen(ptx) + 1 + 7) / 8 * 8;
    uint8_t *at = calloc(1, 16 + 64 + n);
    struct {
        uint32_t magic, version;
        const void *data;
        void *more;
    } *wrapper = calloc(1, sizeof *wrapper);
    *(uint32_t *)at = 0xba55ed50u, *(uint16_t *)(at + 4) = 1, *(uint16_t *)(at + 6) = 16;
    *(uint64_t *)(at + 8) = 64 + n;
    *(uint16_t *)(at + 16) = 1, *(uint32_t *)(at + 16 + 4) = 64, *(uint64_t *)(at + 16 + 8) = n;
    *(uint32_t *)(at + 16 + 28) = 70;
    memcpy(at + 80, ptx, strlen(ptx) + 1);
    wrapper->magic = 0x466243b1u, wrapper->version = 1, wrapper->data = at;
    return wrapper;
}

static void show(const char *what, const int *v) {
    printf("%s %d %d %d\n", what, v[0], v[1], v[N - 1]);
}

/* With a configuration, as newer libraries launch. */
static void launch_as(void *f, unsigned grid, unsigned block, void **args) {
    struct {
        unsigned grid[3], block[3], shared;
        void *stream, *attributes;
        unsigned n;
    } config = {.grid = {grid, 1, 1}, .block = {block, 1, 1}};
    NEED(cuLaunchKernelEx(&config, f, args, NULL));
}

static void run_scale(void) {
    void *library, *kernel, *f;
    Pointer x, y, by, count;
    size_t bytes;
    int host[N], three = 3, n = N;
    struct {
        char a;
        int b;
    } k;
    memset(&k, 0, sizeof k); /* what lies between them, too */
    k.a = 1, k.b = 7;
    NEED(cuLibraryLoadData(&library, fat_binary(scale), 0, 0, 0, 0, 0, 0));
    NEED(cuLibraryGetKernel(&kernel, library, "scale"));
    NEED(cuKernelGetFunction(&f, kernel));
    NEED(cuLibraryGetGlobal(&by, &bytes, library, "by"));
    NEED(cuMemcpyHtoD_v2(by, &three, bytes));
    NEED(cuMemAlloc_v2(&x, BYTES));
    NEED(cuMemAlloc_v2(&y, BYTES));
    for (int i = 0; i < N; i++) host[i] = i;
    NEED(cuMemcpyHtoD_v2(x, host, BYTES));
    NEED(cuMemsetD32_v2(y, 5, N));
    void *args[] = {&y, &n, &x, &k};
    for (int i = 0; i < 3; i++) {
        if (i == 2) launch_as(f, 2, 32, args);
        else NEED(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
        NEED(cuMemcpyDtoD_v2(x, y, BYTES));
    }
    NEED(cuMemcpyDtoHAsync_v2(host, y, BYTES, NULL));
    NEED(cuCtxSynchronize());
    show("scaled", host);
    NEED(cuLibraryGetGlobal(&count, &bytes, library, "count"));
    NEED(cuMemcpyDtoH_v2(host, count, bytes));
    printf("counted %d\n", host[0]);
    NEED(cuMemFree_v2(x));
    NEED(cuMemFree_v2(y));
}

/* The first number of each of two rows of 100 bytes, from the second place of two of 8. */
static void copy_rows(Pointer to, const int *from) {
    struct {
        size_t from_x, from_y;
        int from_type;
        const void *from;
        Pointer from_device;
        void *from_array;
        size_t from_pitch, to_x, to_y;
        int to_type;
        void *to_host;
        Pointer to;
        void *to_array;
        size_t to_pitch, width, height;
    } c = {.from_x = 4, .from_type = 1, .from = from, .from_pitch = 8,
           .to_type = 2, .to = to, .to_pitch = 100, .width = 4, .height = 2};
    NEED(cuMemcpy2D_v2(&c));
}

/* Memory that both sides see: the host writes before the launches, and looks when it has waited. */
static void run_add(void) {
    void *module, *f, *idle;
    int *pinned, *staging, *own = aligned_alloc(4096, 4096);
    Pointer on_device;
    NEED(cuModuleLoadData(&module, add));
    NEED(cuModuleGetFunction(&f, module, "add"));
    NEED(cuModuleGetFunction(&idle, module, "idle"));
    NEED(cuMemAllocHost_v2((void **)&pinned, BYTES));
    NEED(cuMemAllocHost_v2((void **)&staging, BYTES));
    NEED(cuMemHostRegister_v2(own, 4096, 0));
    NEED(cuMemAlloc_v2(&on_device, BYTES));
    memset(own, 0, 4096);
    for (int i = 0; i < N; i++) pinned[i] = i, own[i] = 10 * i, staging[i] = 100 + i;
    size_t size = sizeof pinned;
    void *extra[] = {(void *)1, &pinned, (void *)2, &size, NULL};
    NEED(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, NULL, extra));
    NEED(cuCtxSynchronize());
    show("pinned", pinned);
    pinned[0] = 1000;
    void *args[] = {&pinned}, *others[] = {&own}, *third[] = {&on_device};
    NEED(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, args, NULL));
    NEED(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, others, NULL));
    NEED(cuLaunchKernel(idle, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    NEED(cuCtxSynchronize());
    show("again", pinned);
    show("registered", own);
    NEED(cuMemcpyHtoDAsync_v2(on_device, staging, BYTES, NULL));
    NEED(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, third, NULL));
    NEED(cuMemcpy((Pointer)(uintptr_t)staging, on_device, BYTES));
    show("staged", staging);
    copy_rows(on_device, staging);
    NEED(cuMemcpyDtoH_v2(staging, on_device, BYTES));
    show("rows", staging);
    NEED(cuMemHostUnregister(own));
    NEED(cuMemFreeHost(pinned));
    NEED(cuMemFreeHost(staging));
    NEED(cuMemFree_v2(on_device));
}

/* One kernel reads on the device what another wrote there; the host sees the last one's alone. */
static void run_mixed(void) {
    void *library, *kernel, *f, *module, *g;
    Pointer x, y, by;
    size_t bytes;
    int host[N], three = 3, n = N;
    struct {
        char a;
        int b;
    } k;
    memset(&k, 0, sizeof k);
    k.a = 1, k.b = 7;
    NEED(cuLibraryLoadData(&library, fat_binary(scale), 0, 0, 0, 0, 0, 0));
    NEED(cuLibraryGetKernel(&kernel, library, "scale"));
    NEED(cuKernelGetFunction(&f, kernel));
    NEED(cuLibraryGetGlobal(&by, &bytes, library, "by"));
    NEED(cuMemcpyHtoD_v2(by, &three, bytes));
    NEED(cuModuleLoadData(&module, add));
    NEED(cuModuleGetFunction(&g, module, "add"));
    NEED(cuMemAlloc_v2(&x, 4 * BYTES));
    NEED(cuMemAlloc_v2(&y, 40 * BYTES));
    for (int i = 0; i < N; i++) host[i] = i;
    NEED(cuMemcpyHtoD_v2(x, host, BYTES));
    Pointer inner = y + 1024;
    void *args[] = {&inner, &n, &x, &k}, *others[] = {&inner};
    for (int i = 0; i < 2; i++) {
        NEED(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
        NEED(cuLaunchKernel(g, 1, 1, 1, N, 1, 1, 0, NULL, others, NULL));
    }
    NEED(cuMemcpyDtoHAsync_v2(host, inner, BYTES, NULL));
    NEED(cuCtxSynchronize());
    show("mixed", host);
    NEED(cuMemFree_v2(x));
    NEED(cuMemFree_v2(y));
}

/* Of an array of 8 x 3 numbers. */
static void run_sample(void) {
    struct {
        size_t width, height;
        int format;
        unsigned channels;
    } shape = {8, 3, 32, 1};
    struct {
        size_t from_x, from_y;
        int from_type;
        const void *from;
        Pointer from_device;
        void *from_array;
        size_t from_pitch, to_x, to_y;
        int to_type;
        void *to_host;
        Pointer to;
        void *to_array;
        size_t to_pitch, width, height;
    } c = {.from_type = 1, .to_type = 3, .width = 32, .height = 3};
    struct {
        int type;
        void *array;
        int rest[34];
    } of = {0};
    int how[32] = {1, 1, 1};
    void *array, *module, *f;
    float texels[24], got[N] = {0};
    uint64_t texture, much;
    Pointer p, kept;
    size_t bytes;
    for (int i = 0; i < 24; i++) texels[i] = (float)(i * i);
    NEED(cuArrayCreate_v2(&array, &shape));
    c.from = texels, c.to_array = of.array = array;
    NEED(cuMemcpy2D_v2(&c));
    NEED(cuTexObjectCreate(&texture, &of, how, NULL));
    NEED(cuModuleLoadData(&module, sample));
    NEED(cuModuleGetFunction(&f, module, "sample"));
    NEED(cuModuleGetGlobal_v2(NULL, &bytes, module, "kept")); /* one by one, as libraries ask */
    NEED(cuModuleGetGlobal_v2(&kept, NULL, module, "kept"));
    NEED(cuMemcpyHtoD_v2(kept, &texture, bytes));
    NEED(cuMemAlloc_v2(&p, BYTES));
    NEED(cuMemsetD32_v2(p, 0, N));
    uint64_t both[2] = {0, texture};
    void *args[] = {&p, &much, both};
    much = texture; /* which it is by chance */
    NEED(cuLaunchKernel(f, 1, 1, 1, 8, 1, 1, 0, NULL, args, NULL));
    NEED(cuMemcpyDtoH_v2(got, p, BYTES));
    printf("sampled %g %g\n", got[0], got[2]);
    NEED(cuTexObjectDestroy(texture));
    NEED(cuArrayDestroy(array));
    NEED(cuMemFree_v2(p));
}

static void load_file(const char *path) {
    void *module, *f;
    NEED(cuModuleLoad(&module, path));
    NEED(cuModuleGetFunction(&f, module, "idle"));
    NEED(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    NEED(cuCtxSynchronize());
}

int main(int argc, char **argv) {
    void *context;
    int device;
    uint64_t surface;
    const char *also = argc > 1 ? argv[1] : "";
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDevicePrimaryCtxRetain(&context, device));
    NEED(cuCtxSetCurrent(context));
    run_scale();
    run_add();
    if (strcmp(also, "surface") == 0) cuSurfObjectCreate(&surface, &device);
    if (strcmp(also, "texture") == 0) run_sample();
    if (strcmp(also, "mixed") == 0) run_mixed();
    if (strcmp(also, "file") == 0) load_file(argv[2]);
    if (strcmp(also, "die") == 0) abort();
    return 0;
}
