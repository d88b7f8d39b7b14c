/* driver_module.c - modules that a program loads itself: PTX text, fat binaries, linked parts;
** their kernels and variables; launches by the driver API and the run-time library's libraries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/driver.h"
#include "runtime/fatbin.h"

#define FAT_MAGIC  0x466243b1u
#define LINK_MAGIC 0x4c554947u
enum { COMPUTE = 90, INPUT_PTX = 1, INPUT_FATBIN = 2 };

/* What cuLinkComplete gives out as an image. */
typedef struct Linked {
    uint32_t magic;
    EmuText *v;
    int n, cap;
} Linked;

/* --- images --- */

static void add_text(Linked *l, const char *text, size_t n) {
    gi_grow(l->v, l->n, l->cap);
    l->v[l->n++] = (EmuText){.ptx = gi_strndup(text, n), .len = n};
}

static void free_texts(Linked *l) {
    for (int i = 0; i < l->n; i++) free((char *)(uintptr_t)l->v[i].ptx);
    free(l->v);
}

static void add_fatbin(Linked *l, const void *container) {
    gi_buf ptx = {0};
    gi_err err = {0};
    if (!fatbin_ptx(container, SIZE_MAX, COMPUTE, &ptx, NULL, &err)) refuse("%s", err.message);
    add_text(l, ptx.data, ptx.len);
    gi_buf_free(&ptx);
}

static void add_image(Linked *l, const void *image) {
    uint32_t magic;
    size_t size;
    memcpy(&magic, image, sizeof magic);
    const CudaFatWrapper *w = image;
    const Linked *linked = image;
    if (memcmp(image, "\177ELF", 4) == 0)
        refuse("%s is given machine code (a cubin), which the virtual GPU cannot run: give it the "
               "PTX, from nvcc -ptx -arch=compute_%d",
               call_name(), COMPUTE);
    if (magic == LINK_MAGIC)
        for (int i = 0; i < linked->n; i++) add_text(l, linked->v[i].ptx, linked->v[i].len);
    else if (magic == FAT_MAGIC) add_fatbin(l, w->data);
    else if (fatbin_size(image, SIZE_MAX, &size)) add_fatbin(l, image);
    else add_text(l, image, strlen(image));
}

CudaError module_of_image(const void *image, Module **out) {
    Linked texts = {0};
    gi_err err = {0};
    if (image == NULL || out == NULL) return cudaErrorInvalidValue;
    add_image(&texts, image);
    Module *m = module_of_texts(texts.v, texts.n, &err);
    free_texts(&texts);
    if (m == NULL) {
        say("%s: %s", call_name(), err.message);
        return cudaErrorInvalidPtx;
    }
    *out = m;
    return cudaSuccess;
}

CudaError module_of_file(const char *path, Module **out) {
    gi_buf text = {0};
    if (path == NULL || out == NULL) return cudaErrorInvalidValue;
    if (!gi_read_file(path, &text, NULL)) return (CudaError)CUDA_ERROR_FILE_NOT_FOUND;
    gi_buf_add(&text, "\0\0\0\0", 4);
    CudaError e = module_of_image(text.data, out);
    gi_buf_free(&text);
    return e;
}

/* --- modules --- */

static CudaError load(Module **out, const void *image) {
    return module_of_image(image, out);
}

DRIVER(cuModuleLoadData, Module **out, const void *image) {
    return DRIVE(load(out, image));
}
DRIVER(cuModuleLoadDataEx, Module **out, const void *image, unsigned n, void *options,
       void **values) {
    (void)n, (void)options, (void)values;
    return DRIVE(load(out, image));
}
DRIVER(cuModuleLoadFatBinary, Module **out, const void *image) {
    return DRIVE(load(out, image));
}
DRIVER(cuModuleLoad, Module **out, const char *path) {
    return DRIVE(module_of_file(path, out));
}
DRIVER(cuModuleUnload, Module *m) {
    return DRIVE(module_unload(m));
}
DRIVER(cuModuleGetFunction, Kernel **out, Module *m, const char *name) {
    return DRIVE(out && name ? module_function(m, name, out) : cudaErrorInvalidValue);
}
DRIVER(cuModuleGetGlobal_v2, uint64_t *address, size_t *size, Module *m, const char *name) {
    return DRIVE(name ? module_global(m, name, address, size) : cudaErrorInvalidValue);
}

/* --- the same as libraries --- */

DRIVER(cuLibraryLoadData, Module **out, const void *image, void *options, void **values, unsigned n,
       void *library_options, void **library_values, unsigned library_n) {
    (void)options, (void)values, (void)n;
    (void)library_options, (void)library_values, (void)library_n;
    return DRIVE(load(out, image));
}
DRIVER(cuLibraryUnload, Module *m) {
    return DRIVE(module_unload(m));
}
DRIVER(cuLibraryGetKernel, Kernel **out, Module *m, const char *name) {
    return DRIVE(out && name ? module_function(m, name, out) : cudaErrorInvalidValue);
}
DRIVER(cuLibraryGetGlobal, uint64_t *address, size_t *size, Module *m, const char *name) {
    return DRIVE(name ? module_global(m, name, address, size) : cudaErrorInvalidValue);
}

static CudaError same(void **out, void *what) {
    if (out == NULL || what == NULL) return cudaErrorInvalidValue;
    *out = what;
    return cudaSuccess;
}

DRIVER(cuLibraryGetModule, Module **out, Module *m) {
    return DRIVE(same((void **)out, m));
}
DRIVER(cuKernelGetFunction, Kernel **out, Kernel *k) {
    return DRIVE(same((void **)out, k));
}

API(cudaLibraryLoadData, Module **out, const void *image, void *options, void **values, unsigned n,
    void *library_options, void **library_values, unsigned library_n) {
    (void)options, (void)values, (void)n;
    (void)library_options, (void)library_values, (void)library_n;
    return CALL(load(out, image));
}
API(cudaLibraryLoadFromFile, Module **out, const char *path, void *options, void **values,
    unsigned n, void *library_options, void **library_values, unsigned library_n) {
    (void)options, (void)values, (void)n;
    (void)library_options, (void)library_values, (void)library_n;
    return CALL(module_of_file(path, out));
}
API(cudaLibraryUnload, Module *m) {
    return CALL(module_unload(m));
}
API(cudaLibraryGetKernel, Kernel **out, Module *m, const char *name) {
    return CALL(out && name ? module_function(m, name, out) : cudaErrorInvalidValue);
}
API(cudaLibraryGetGlobal, uint64_t *address, size_t *size, Module *m, const char *name) {
    return CALL(name ? module_global(m, name, address, size) : cudaErrorInvalidValue);
}

/* --- linking --- */

static CudaError link_create(Linked **out) {
    if (out == NULL) return cudaErrorInvalidValue;
    *out = gi_alloc(sizeof **out);
    (*out)->magic = LINK_MAGIC;
    return cudaSuccess;
}

static CudaError link_add(Linked *l, int type, const void *data, size_t size) {
    if (l == NULL || l->magic != LINK_MAGIC || data == NULL) return cudaErrorInvalidValue;
    if (type == INPUT_PTX) add_text(l, data, strnlen(data, size));
    else if (type == INPUT_FATBIN) add_fatbin(l, data);
    else
        refuse("%s is given machine code or an object file, which cannot be linked here: give it "
               "PTX",
               call_name());
    return cudaSuccess;
}

static CudaError link_file(Linked *l, int type, const char *path) {
    gi_buf text = {0};
    if (path == NULL) return cudaErrorInvalidValue;
    if (!gi_read_file(path, &text, NULL)) return (CudaError)CUDA_ERROR_FILE_NOT_FOUND;
    CudaError e = link_add(l, type, text.data, text.len);
    gi_buf_free(&text);
    return e;
}

static CudaError link_complete(Linked *l, void **image, size_t *size) {
    if (l == NULL || l->magic != LINK_MAGIC || image == NULL) return cudaErrorInvalidValue;
    *image = l;
    if (size) *size = sizeof *l;
    return cudaSuccess;
}

static CudaError link_destroy(Linked *l) {
    if (l == NULL || l->magic != LINK_MAGIC) return cudaErrorInvalidValue;
    free_texts(l);
    free(l);
    return cudaSuccess;
}

DRIVER(cuLinkCreate_v2, unsigned n, void *options, void **values, Linked **out) {
    (void)n, (void)options, (void)values;
    return DRIVE(link_create(out));
}
DRIVER(cuLinkAddData_v2, Linked *l, int type, void *data, size_t size, const char *name, unsigned n,
       void *options, void **values) {
    (void)name, (void)n, (void)options, (void)values;
    return DRIVE(link_add(l, type, data, size));
}
DRIVER(cuLinkAddFile_v2, Linked *l, int type, const char *path, unsigned n, void *options,
       void **values) {
    (void)n, (void)options, (void)values;
    return DRIVE(link_file(l, type, path));
}
DRIVER(cuLinkComplete, Linked *l, void **image, size_t *size) {
    return DRIVE(link_complete(l, image, size));
}
DRIVER(cuLinkDestroy, Linked *l) {
    return DRIVE(link_destroy(l));
}

/* --- launches --- */

enum { PARAM_END = 0, PARAM_BUFFER = 1, PARAM_SIZE = 2 };

/* Arguments in one buffer, laid out as the kernel has them. */
static CudaError from_buffer(const Kernel *k, void **extra, void ***args) {
    const uint8_t *buffer = NULL;
    size_t size = 0;
    for (; (uintptr_t)extra[0] != PARAM_END; extra += 2) {
        if ((uintptr_t)extra[0] == PARAM_BUFFER) buffer = extra[1];
        else if ((uintptr_t)extra[0] == PARAM_SIZE) size = *(const size_t *)extra[1];
        else return cudaErrorInvalidValue;
    }
    if (size < k->info.param_bytes || (size && buffer == NULL)) return cudaErrorInvalidValue;
    *args = gi_alloc(((size_t)k->info.n_params + 1) * sizeof **args);
    for (int i = 0; i < k->info.n_params; i++)
        (*args)[i] = (void *)(uintptr_t)(buffer + k->info.param_offset[i]);
    return cudaSuccess;
}

static CudaError launch(Kernel *handle, Dim3 grid, Dim3 block, size_t shared, LaunchKind kind,
                        Stream *s, void **args, void **extra) {
    const Kernel *k = module_ready(handle);
    void **own = NULL;
    Op op;
    if (k == NULL || (args && extra))
        return k ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    CudaError e = extra ? from_buffer(k, extra, &own) : cudaSuccess;
    if (e == cudaSuccess)
        e = launch_op(handle, grid, block, extra ? own : args, shared, kind, &op);
    free(own);
    if (e) return e;
    e = op_submit(s, &op);
    free(op.launch.params);
    return e;
}

DRIVER(cuLaunchKernel, Kernel *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
       unsigned bz, unsigned shared, Stream *s, void **args, void **extra) {
    return DRIVE(launch(k, (Dim3){gx, gy, gz}, (Dim3){bx, by, bz}, shared, (LaunchKind){0}, s,
                        args, extra));
}
AGAIN(cuLaunchKernel, cuLaunchKernel_ptsz);
DRIVER(cuLaunchCooperativeKernel, Kernel *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
       unsigned by, unsigned bz, unsigned shared, Stream *s, void **args) {
    return DRIVE(launch(k, (Dim3){gx, gy, gz}, (Dim3){bx, by, bz}, shared,
                        (LaunchKind){.cooperative = true}, s, args, NULL));
}
AGAIN(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz);

typedef struct DriverLaunchConfig {
    Dim3 grid, block;
    unsigned shared;
    Stream *stream;
    const CudaLaunchAttribute *attributes;
    unsigned n_attributes;
} DriverLaunchConfig;

static CudaError launch_config(const DriverLaunchConfig *c, Kernel *k, void **args, void **extra) {
    if (c == NULL) return cudaErrorInvalidValue;
    return launch(k, c->grid, c->block, c->shared, launch_kind(c->attributes, c->n_attributes),
                  c->stream, args, extra);
}

DRIVER(cuLaunchKernelEx, const DriverLaunchConfig *c, Kernel *k, void **args, void **extra) {
    return DRIVE(launch_config(c, k, args, extra));
}
AGAIN(cuLaunchKernelEx, cuLaunchKernelEx_ptsz);

/* The same in the run-time library's words. */
static CudaLaunchConfig in_words(const DriverLaunchConfig *c) {
    return (CudaLaunchConfig){.grid = c->grid,
                              .block = c->block,
                              .shared = c->shared,
                              .stream = c->stream,
                              .attributes = (CudaLaunchAttribute *)(uintptr_t)c->attributes,
                              .n_attributes = c->n_attributes};
}

static CudaError clusters(int *n, const Kernel *k, const DriverLaunchConfig *c, bool potential) {
    if (c == NULL) return cudaErrorInvalidValue;
    CudaLaunchConfig same = in_words(c);
    return potential ? kernel_potential_cluster(n, k, &same) : kernel_active_clusters(n, k, &same);
}

DRIVER(cuOccupancyMaxActiveClusters, int *n, const Kernel *k, const DriverLaunchConfig *c) {
    return DRIVE(clusters(n, k, c, false));
}
DRIVER(cuOccupancyMaxPotentialClusterSize, int *size, const Kernel *k,
       const DriverLaunchConfig *c) {
    return DRIVE(clusters(size, k, c, true));
}

/* --- attributes of kernels: the numbers are those of cuFuncGetAttribute --- */

static CudaError get_attribute(int *out, int id, Kernel *handle) {
    enum { REGISTERS = 4 };
    const Kernel *k = module_ready(handle);
    if (out == NULL || k == NULL)
        return out ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
    const int values[] = {kernel_most_threads(k),
                          (int)k->info.shared_bytes,
                          0,
                          (int)k->info.local_bytes,
                          id == REGISTERS ? kernel_registers(k) : 0,
                          k->info.target,
                          COMPUTE,
                          0,
                          k->max_dynamic_shared,
                          k->carveout};
    if (id < 0 || (size_t)id >= sizeof values / sizeof *values) return cudaErrorInvalidValue;
    *out = values[id];
    return cudaSuccess;
}

DRIVER(cuFuncGetAttribute, int *out, int id, Kernel *k) {
    return DRIVE(get_attribute(out, id, k));
}
DRIVER(cuFuncSetAttribute, Kernel *k, int id, int value) {
    return DRIVE(kernel_set_attribute(k, id, value));
}
DRIVER(cuKernelGetAttribute, int *out, int id, Kernel *k, int device) {
    return DRIVE(device == 0 ? get_attribute(out, id, k) : cudaErrorInvalidDevice);
}
DRIVER(cuKernelSetAttribute, int id, int value, Kernel *k, int device) {
    return DRIVE(device == 0 ? kernel_set_attribute(k, id, value) : cudaErrorInvalidDevice);
}
DRIVER(cuFuncSetCacheConfig, Kernel *k, int config) {
    (void)config;
    return DRIVE(module_kernel(k) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *n, Kernel *k, int threads,
       size_t dynamic) {
    return DRIVE(kernel_active_blocks(n, k, threads, dynamic));
}

/* The block with which most threads are resident; the largest of equals. */
static CudaError best_block(int *grid, int *block, Kernel *handle, size_t (*shared_of)(int),
                            size_t dynamic, int limit) {
    const Kernel *k = module_ready(handle);
    int best = 0, most, n;
    if (grid == NULL || block == NULL || k == NULL) return cudaErrorInvalidValue;
    most = kernel_most_threads(k);
    if (limit > 0 && limit < most) most = limit;
    for (int threads = (most + 31) / 32 * 32; threads > 0; threads -= 32) {
        int t = threads < most ? threads : most;
        CudaError e = kernel_active_blocks(&n, handle, t, shared_of ? shared_of(t) : dynamic);
        if (e) return e;
        if (n * t <= best) continue;
        best = n * t;
        *block = t;
        *grid = n * (int)runtime.config.model.sms;
    }
    return cudaSuccess;
}

DRIVER(cuOccupancyMaxPotentialBlockSize, int *grid, int *block, Kernel *k, size_t (*shared_of)(int),
       size_t dynamic, int limit) {
    return DRIVE(best_block(grid, block, k, shared_of, dynamic, limit));
}
