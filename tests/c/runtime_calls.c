/* runtime_calls.c - the CUDA library called as a program would, without nvcc: PTX in a fat binary
** made by hand, a launch, copies, errors; and what differs between CUDA 12 and 13, by version. */
#include "runtime/abi.h"
#include "runtime/properties.h"
#include "tap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .u32 added = 5;\n"
    ".visible .entry plus(.param .u64 p, .param .u32 k) {\n"
    "  .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
    "  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [k];\n"
    "  mov.u32 %r2, %tid.x; mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d1, %d2;\n"
    "  ld.global.u32 %r3, [%d3]; add.u32 %r3, %r3, %r1;\n"
    "  ld.global.u32 %r4, [added]; add.u32 %r3, %r3, %r4;\n"
    "  st.global.u32 [%d3], %r3; ret; }\n";

static void *library;

/* The function of that major version. */
static void *function(const char *name, int version) {
    char node[32];
    snprintf(node, sizeof node, "libcudart.so.%d", version);
    void *f = dlvsym(library, name, node);
    if (f == NULL) printf("# no %s of %s\n", name, node), exit(1);
    return f;
}

#define FUNCTIONS(F)                                                                               \
    F(cudaMalloc, 13, (void **, size_t))                                                           \
    F(cudaMemcpy, 13, (void *, const void *, size_t, CudaMemcpyKind))                              \
    F(cudaMemcpyToSymbol, 13, (const void *, const void *, size_t, size_t, CudaMemcpyKind))        \
    F(cudaLaunchKernel, 13, (const void *, Dim3, Dim3, void **, size_t, void *))                   \
    F(cudaDeviceSynchronize, 13, (void))                                                           \
    F(cudaGetLastError, 13, (void))                                                                \
    F(cudaRuntimeGetVersion, 13, (int *))                                                          \
    F(cudaRuntimeGetVersion, 12, (int *))                                                          \
    F(cudaGetDeviceProperties, 13, (Properties13 *, int))                                          \
    F(cudaGetDeviceProperties_v2, 12, (Properties12 *, int))                                       \
    F(cudaPointerGetAttributes, 13, (void *, const void *))                                        \
    F(cudaPointerGetAttributes, 12, (void *, const void *))

#define F(name, version, parameters) static CudaError(*name##_##version) parameters;
FUNCTIONS(F)
#undef F

static void find_functions(void) {
#define F(name, version, parameters) *(void **)&name##_##version = function(#name, version);
    FUNCTIONS(F)
#undef F
}

/* What `gilua run` would leave: an H200's few fields that are looked at here. */
static void write_config(const char *folder) {
    char path[600];
    snprintf(path, sizeof path, "%s/config", folder);
    FILE *f = fopen(path, "w");
    fputs("gpu Model\nmodel.clock_ghz 1\nmodel.sms 4\nmodel.schedulers_per_sm 4\n"
          "model.max_threads_per_block 1024\nmodel.max_threads_per_sm 2048\n"
          "model.max_blocks_per_sm 32\nmodel.registers_per_sm 65536\nmodel.register_unit 256\n"
          "model.max_registers_per_thread 255\nmodel.shared_per_sm 233472\n"
          "model.shared_per_block 232448\nmodel.shared_per_block_default 49152\n"
          "model.shared_unit 1024\nmodel.local_per_thread 16384\nmodel.max_grid_x 2147483647\n"
          "model.max_grid_y 65535\nmodel.max_grid_z 65535\nmodel.memory_bytes 1e9\n"
          "model.rate_fp32 4\nmodel.rate_int 4\nmodel.rate_mul 4\nmodel.rate_global 1\n"
          "model.sector_bytes 32\nmodel.l1_bytes_per_sm 262144\n"
          "model.dram_bytes_per_clock 2000\nmodel.l2_bytes_per_clock 2000\nrepeats.skip 1\n",
          f);
    fclose(f);
}

static void number(gi_buf *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) gi_buf_add(b, &(char){i < 8 ? (char)(v >> 8 * i) : 0}, 1);
}

static gi_buf fat_binary(void) {
    gi_buf b = {0};
    size_t padded = (sizeof ptx + 7) / 8 * 8;
    number(&b, 0xBA55ED50u, 4), number(&b, 1, 2), number(&b, 16, 2), number(&b, 64 + padded, 8);
    number(&b, 1, 2), number(&b, 0x101, 2), number(&b, 64, 4), number(&b, padded, 8);
    number(&b, 0, 12), number(&b, 90, 4), number(&b, 0, 8), number(&b, 0x11, 8), number(&b, 0, 16);
    gi_buf_add(&b, ptx, sizeof ptx);
    number(&b, 0, (int)(padded - sizeof ptx));
    return b;
}

static char stand_in, variable; /* by whose addresses the kernel and its variable are known */

static void registration(void) {
    static CudaFatWrapper wrapper = {.magic = 0x466243b1, .version = 1};
    static gi_buf binary;
    binary = fat_binary();
    wrapper.data = binary.data;
    void **(*begin)(void *);
    void (*kernel)(void **, const char *, char *, const char *, int, void *, void *, void *, void *,
                   int *);
    void (*global)(void **, char *, char *, const char *, int, size_t, int, int);
    void (*end)(void **);
    *(void **)&begin = function("__cudaRegisterFatBinary", 13);
    *(void **)&kernel = function("__cudaRegisterFunction", 13);
    *(void **)&global = function("__cudaRegisterVar", 13);
    *(void **)&end = function("__cudaRegisterFatBinaryEnd", 13);
    void **handle = begin(&wrapper);
    kernel(handle, &stand_in, NULL, "plus", -1, NULL, NULL, NULL, NULL, NULL);
    global(handle, &variable, NULL, "added", 0, (size_t)4, 0, 0);
    end(handle);
}

static void a_launch(void) {
    uint32_t host[32], k = 100, two = 2;
    void *p = NULL, *args[] = {&p, &k};
    for (uint32_t i = 0; i < 32; i++) host[i] = i;
    is_int(cudaMalloc_13(&p, sizeof host), 0, "cudaMalloc");
    is_int(cudaMemcpy_13(p, host, sizeof host, cudaMemcpyHostToDevice), 0, "to the device");
    is_int(cudaLaunchKernel_13(&stand_in, (Dim3){1, 1, 1}, (Dim3){32, 1, 1}, args, 0, NULL), 0,
           "a launch");
    is_int(cudaMemcpy_13(host, p, sizeof host, cudaMemcpyDeviceToHost), 0, "and back");
    ok(host[0] == 105 && host[31] == 136, "what the kernel computed: %u %u", host[0], host[31]);
    is_int(cudaMemcpyToSymbol_13(&variable, &two, 4, 0, cudaMemcpyHostToDevice), 0, "a variable");
    cudaLaunchKernel_13(&stand_in, (Dim3){1, 1, 1}, (Dim3){32, 1, 1}, args, 0, NULL);
    cudaMemcpy_13(host, p, sizeof host, cudaMemcpyDeviceToHost);
    is_int(host[0], 207, "is the kernel's");
    is_int(cudaLaunchKernel_13(&stand_in, (Dim3){1, 1, 1}, (Dim3){33, 1, 1}, args, 0, NULL), 0,
           "a launch that goes too far");
    is_int(cudaDeviceSynchronize_13(), cudaErrorIllegalAddress, "is found by who waits");
    is_int(cudaGetLastError_13(), cudaErrorIllegalAddress, "and stays");
}

/* Who begins with the run-time library has a context of the driver's without asking. */
static void driver(void) {
    int device = -1;
    int (*get_device)(int *);
    *(void **)&get_device = dlsym(library, "cuCtxGetDevice");
    is_int(get_device(&device), cudaErrorInitializationError, "no driver before it has begun");
    cudaGetLastError_13();
    cudaMalloc_13((void *[]){NULL}, 0);
    is_int(get_device(&device), 0, "afterwards there is a context");
    is_int(device, 0, "of the device");
}

static void versions(void) {
    int version = 0;
    static Properties12 p12;
    static Properties13 p13;
    struct {
        CudaPointerAttributes a;
        char after[8];
    } s;
    cudaRuntimeGetVersion_13(&version);
    is_int(version / 1000, 13, "the version of a program of CUDA 13");
    cudaRuntimeGetVersion_12(&version);
    is_int(version / 1000, 12, "and of one of CUDA 12");
    cudaGetDeviceProperties_13(&p13, 0);
    cudaGetDeviceProperties_v2_12(&p12, 0);
    ok(p13.warp_size == 32 && p13.sms == 4 && p13.shared_optin == 232448 && p13.pools == 1,
       "properties of 13");
    ok(p12.warp_size == 32 && p12.sms == 4 && p12.shared_optin == 232448 && p12.pools == 1 &&
           p12.clock_khz == 1000000 && p12.double_ratio == 2,
       "properties of 12, which has more");
    is_str(p12.name, "Model", "the name");
    is_int((int64_t)p12.total_memory, 1000000000, "the memory");
    memset(&s, 0x55, sizeof s);
    cudaPointerGetAttributes_13(&s.a, &s);
    is_int(s.a.type, cudaMemoryTypeUnregistered, "what a pointer is");
    ok(s.a.reserved[7] == 0, "all of it is set in 13");
    memset(&s, 0x55, sizeof s);
    cudaPointerGetAttributes_12(&s.a, &s);
    ok(s.a.host_pointer == &s && s.a.reserved[0] == 0x5555555555555555,
       "and nothing behind the struct of 12");
    ok(function("cudaThreadSynchronize", 12) != NULL &&
           dlvsym(library, "cudaThreadSynchronize", "libcudart.so.13") == NULL,
       "what only 12 has");
}

int main(void) {
    char folder[400], path[500];
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/gilua-test.XXXXXX", tmp ? tmp : "/tmp");
    library = dlopen("lib/libcudart.so.13", RTLD_NOW);
    if (library == NULL) {
        printf("Bail out! %s\n", dlerror());
        return 1;
    }
    if (mkdtemp(folder) == NULL) return 1;
    write_config(folder);
    setenv("GILUA_RUN", folder, 1);
    find_functions();
    registration();
    driver();
    versions();
    a_launch();
    snprintf(path, sizeof path, "%s/config", folder), unlink(path);
    snprintf(path, sizeof path, "%s/%d.report", folder, (int)getpid()), unlink(path);
    ok(rmdir(folder) == 0, "nothing else is left");
    return tap_done();
}
