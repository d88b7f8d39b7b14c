/* liar.c - a program that lies to the CUDA runtime, one way for each argument; each says what the
** calls returned. For tests/cli/hostile_programs.t; it needs no header of CUDA's. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned x, y, z; } dim3;

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern,
                       size_t size, int is_constant, int global);
int cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
                     void *stream);
int cudaMalloc(void **p, size_t n);
int cudaFree(void *p);
int cudaFreeHost(void *p);
int cudaFreeArray(void *p);
int cudaMallocManaged(void **p, size_t n, unsigned flags);
int cudaHostRegister(void *p, size_t n, unsigned flags);
int cudaMemcpy(void *to, const void *from, size_t n, int kind);
int cudaMemset(void *p, int value, size_t n);
int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t n, size_t offset, int kind);
int cudaFuncGetAttributes(void *attributes, const void *f);
int cudaStreamSynchronize(void *stream);
int cudaEventRecord(void *event, void *stream);
int cudaGraphLaunch(void *graph, void *stream);
int cudaDestroyTextureObject(unsigned long long texture);

static struct { int magic, version; void *data, *more; } wrapper = {0x466243b1, 1, NULL, NULL};
static uint64_t binary[4096];
static const dim3 one = {1, 1, 1}, most = {~0u, ~0u, ~0u};
static char k[1]; /* what a kernel is called by */

#define SAY(call) printf("%d %s\n", call, #call), fflush(stdout)

static void registered(void **handle) {
    __cudaRegisterFunction(handle, k, k, "k", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, k, k, "v", 0, SIZE_MAX, 0, 0);
    SAY(cudaLaunchKernel(k, one, one, NULL, 0, NULL));
}

/* A fat binary's head and the head of one entry: PTX of so many bytes, packed to so many. */
static void fat(uint64_t bytes, uint64_t stored, uint64_t unpacked) {
    uint8_t *entry = (uint8_t *)(binary + 2);
    uint32_t head_bytes = 64;
    binary[0] = 0x00100001ba55ed50, binary[1] = bytes;
    entry[0] = 1, entry[2] = 1, entry[3] = 1;
    memcpy(entry + 4, &head_bytes, 4);
    memcpy(entry + 8, &stored, 8);
    entry[28] = 90, entry[41] = 0x20; /* packed */
    memcpy(entry + 56, &unpacked, 8);
    wrapper.data = binary;
    registered(__cudaRegisterFatBinary(&wrapper));
}

static void memory(void) {
    float x[4];
    void *p = NULL;
    SAY(cudaMalloc(&p, SIZE_MAX));
    SAY(cudaMalloc(&p, (size_t)1 << 45));
    SAY(cudaMallocManaged(&p, (size_t)1 << 46, 1));
    SAY(cudaMalloc(&p, 16));
    SAY(cudaMemcpy(p, x, (size_t)1 << 60, 1));
    SAY(cudaMemcpy((char *)p + 1000000, x, 16, 1));
    SAY(cudaMemset((void *)16, 0, 16));
    SAY(cudaMemset(p, 0, SIZE_MAX));
    SAY(cudaMemcpy(p, p, 16, 99));
    SAY(cudaFree((void *)0xdeadbeef));
    SAY(cudaFree(p) + cudaFree(p));
    SAY(cudaFreeHost(x));
    SAY(cudaHostRegister((void *)4096, (size_t)1 << 40, 0));
    SAY(cudaMemcpyToSymbol(k, x, 16, 0, 1));
}

static void handles(void) {
    SAY(cudaFuncGetAttributes(binary, k));
    SAY(cudaStreamSynchronize((void *)0x1234567));
    SAY(cudaEventRecord((void *)0x99999, NULL));
    SAY(cudaGraphLaunch((void *)0x55555, NULL));
    SAY(cudaDestroyTextureObject(0x777777777777));
    SAY(cudaFreeArray((void *)0x4141));
    SAY(cudaLaunchKernel(NULL, most, most, NULL, SIZE_MAX, NULL));
}

int main(int argc, char **argv) {
    const char *lie = argc > 1 ? argv[1] : "";
    if (!strcmp(lie, "magic")) wrapper.magic = 7, registered(__cudaRegisterFatBinary(&wrapper));
    if (!strcmp(lie, "nothing")) registered(__cudaRegisterFatBinary(NULL));
    if (!strcmp(lie, "handle")) registered((void **)16);
    if (!strcmp(lie, "endless")) fat(UINT64_MAX, 64, 64);
    if (!strcmp(lie, "bomb")) fat(64 + 64, 64, (uint64_t)1 << 44);
    if (!strcmp(lie, "memory")) memory();
    if (!strcmp(lie, "handles")) handles();
    __cudaUnregisterFatBinary((void **)16);
    return 0;
}
