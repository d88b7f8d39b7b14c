/* probe.c - see probe.h. The driver API is loaded at run time, by hand: six functions. */
#include "device/probe.h"

#include <dlfcn.h>
#include <stdio.h>

typedef int (*InitFn)(unsigned flags);
typedef int (*IntFn)(int *out);
typedef int (*GetFn)(int *device, int ordinal);
typedef int (*NameFn)(char *name, int len, int device);
typedef int (*AttributeFn)(int *out, int attribute, int device);
typedef int (*MemoryFn)(size_t *out, int device);

enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 }; /* CUdevice_attribute */

static void probe_gpus(void *lib, DriverInfo *out) {
    IntFn count = (IntFn)dlsym(lib, "cuDeviceGetCount");
    GetFn get = (GetFn)dlsym(lib, "cuDeviceGet");
    NameFn name = (NameFn)dlsym(lib, "cuDeviceGetName");
    AttributeFn attribute = (AttributeFn)dlsym(lib, "cuDeviceGetAttribute");
    MemoryFn memory = (MemoryFn)dlsym(lib, "cuDeviceTotalMem_v2");
    int n = 0, device;
    if (!count || !get || !name || !attribute || !memory || count(&n) != 0) return;
    for (int i = 0; i < n && out->n_gpus < 32; i++) {
        GpuInfo *gpu = &out->gpus[out->n_gpus];
        size_t bytes = 0;
        if (get(&device, i) != 0 || name(gpu->name, sizeof gpu->name, device) != 0) continue;
        attribute(&gpu->major, ATTRIBUTE_MAJOR, device);
        attribute(&gpu->minor, ATTRIBUTE_MINOR, device);
        memory(&bytes, device);
        gpu->memory_bytes = bytes;
        out->n_gpus++;
    }
}

void device_probe(DriverInfo *out) {
    *out = (DriverInfo){0};
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        snprintf(out->why_not, sizeof out->why_not, "libcuda.so.1 is not installed");
        return;
    }
    InitFn init = (InitFn)dlsym(lib, "cuInit");
    IntFn version = (IntFn)dlsym(lib, "cuDriverGetVersion");
    int code = init ? init(0) : -1;
    if (version) version(&out->version);
    if (code != 0) {
        snprintf(out->why_not, sizeof out->why_not, "cuInit failed with error %d", code);
        return; /* the library stays loaded: unloading a driver that started is not safe */
    }
    out->loaded = true;
    probe_gpus(lib, out);
}
