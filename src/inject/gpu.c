/* gpu.c - the few functions of the driver that the recorder calls itself. It is the program's own
** driver, which is loaded already. */
#include "inject/inject.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { MAJOR = 75, MINOR = 76, MEMORY_TYPE = 2, TYPE_DEVICE = 2 };

static struct {
    int (*wait)(void);
    int (*wait_stream)(void *stream);
    int (*read)(void *to, uint64_t from, size_t bytes);
    int (*current)(int *device);
    int (*name)(char *out, int n, int device);
    int (*attribute)(int *out, int id, int device);
    int (*pointer)(void *out, int id, uint64_t address);
    int (*event)(GpuEvent *out, unsigned flags);
    int (*mark)(GpuEvent e, void *stream);
    int (*wait_event)(GpuEvent e);
    int (*between)(float *ms, GpuEvent from, GpuEvent to);
    int (*memory)(uint64_t *out, size_t bytes);
    int (*memory_free)(uint64_t address);
    int (*fill)(uint64_t address, unsigned char value, size_t bytes);
    int (*load)(void **module, const void *image);
    int (*unload)(void *module);
    int (*function)(void **out, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **params, void **extra);
} cu;

bool gpu_find(gi_err *err) {
    const struct {
        void *slot;
        const char *name;
    } wanted[] = {
        {&cu.wait, "cuCtxSynchronize"},       {&cu.wait_stream, "cuStreamSynchronize"},
        {&cu.read, "cuMemcpyDtoH_v2"},        {&cu.current, "cuCtxGetDevice"},
        {&cu.name, "cuDeviceGetName"},        {&cu.attribute, "cuDeviceGetAttribute"},
        {&cu.pointer, "cuPointerGetAttribute"}, {&cu.event, "cuEventCreate"},
        {&cu.mark, "cuEventRecord"},          {&cu.wait_event, "cuEventSynchronize"},
        {&cu.between, "cuEventElapsedTime"},  {&cu.memory, "cuMemAlloc_v2"},
        {&cu.memory_free, "cuMemFree_v2"},    {&cu.fill, "cuMemsetD8_v2"},
        {&cu.load, "cuModuleLoadData"},       {&cu.function, "cuModuleGetFunction"},
        {&cu.launch, "cuLaunchKernel"},       {&cu.unload, "cuModuleUnload"},
    };
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = driver ? dlsym(driver, wanted[i].name) : NULL;
        if (found == NULL)
            return gi_fail(err, "driver", "the CUDA driver that the program runs on has no %s",
                           wanted[i].name);
        memcpy(wanted[i].slot, &found, sizeof found); /* ISO C has no cast for this */
    }
    return true;
}

void gpu_name(char out[256]) {
    if (cu.name(out, 256, 0) != 0) snprintf(out, 256, "GPU");
}

int gpu_compute(void) {
    int major = 0, minor = 0;
    cu.attribute(&major, MAJOR, 0);
    cu.attribute(&minor, MINOR, 0);
    return 10 * major + minor;
}

int gpu_current(void) {
    int device;
    return cu.current(&device) == 0 ? device : -1;
}

void gpu_wait(void) {
    cu.wait();
}

void gpu_wait_stream(void *stream) {
    cu.wait_stream(stream);
}

bool gpu_read(void *to, uint64_t from, size_t bytes) {
    return cu.read(to, from, bytes) == 0;
}

bool gpu_is_device(uint64_t address) {
    unsigned type = 0;
    return cu.pointer(&type, MEMORY_TYPE, address) == 0 && type == TYPE_DEVICE;
}

GpuEvent gpu_event(void) {
    GpuEvent e = NULL;
    return cu.event(&e, 0) == 0 ? e : NULL;
}

bool gpu_mark(GpuEvent e, void *stream) {
    return e && cu.mark(e, stream) == 0;
}

double gpu_between(GpuEvent from, GpuEvent to) {
    float ms = 0;
    if (cu.wait_event(to) != 0 || cu.between(&ms, from, to) != 0) return 0;
    return (double)ms * 1e6;
}

/* `function`: cuModuleGetGlobal_v2, or one of a library's, which take the same. */
bool gpu_variable(const char *function, void *of, const char *name, uint64_t *address,
                  size_t *bytes) {
    int (*get)(uint64_t *, size_t *, void *, const char *);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = driver ? dlsym(driver, function) : NULL;
    memcpy(&get, &found, sizeof found);
    return found && name && get(address, bytes, of, name) == 0;
}

void gpu_zero(uint64_t address, size_t bytes) {
    cu.wait();
    cu.fill(address, 0, bytes);
    cu.wait();
}

uint64_t gpu_memory(size_t bytes) {
    uint64_t address = 0;
    if (cu.memory(&address, bytes) != 0) return 0;
    gpu_zero(address, bytes);
    return address;
}

void gpu_memory_free(uint64_t address) {
    cu.memory_free(address);
}

bool gpu_takes(const char *ptx) {
    void *module;
    return cu.load(&module, ptx) == 0 && cu.unload(module) == 0;
}

bool gpu_run(const char *ptx, const char *name, unsigned blocks, unsigned threads, void **params) {
    static void *function;
    void *module;
    if (function == NULL &&
        (cu.load(&module, ptx) != 0 || cu.function(&function, module, name) != 0))
        return false;
    return cu.launch(function, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL) == 0;
}
