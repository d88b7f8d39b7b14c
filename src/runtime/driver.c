/* driver.c - the driver API's devices and contexts, and names of its errors and functions. There is
** one GPU; contexts are names for it, and share all that it has. */
#include "runtime/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/properties.h"

enum { VERSION = 13000, CONTEXTS = 64 };

bool driver_ready;

/* --- errors --- */

/* Those that the driver has no code for are an invalid value to it. */
int driver_code(CudaError e) {
    if (e == cudaErrorInvalidSymbol) return CUDA_ERROR_NOT_FOUND;
    if (e == cudaErrorInvalidDeviceFunction) return cudaErrorInvalidResourceHandle;
    return e < 100 && e > cudaErrorCudartUnloading ? CUDA_ERROR_INVALID_VALUE : (int)e;
}

/* "cudaErrorInvalidValue" -> "CUDA_ERROR_INVALID_VALUE", where the names are made alike. */
const char *driver_error_name(int code) {
    static const struct {
        int code;
        const char *name;
    } other[] = {{0, "CUDA_SUCCESS"},
                 {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {3, "CUDA_ERROR_NOT_INITIALIZED"},
                 {4, "CUDA_ERROR_DEINITIALIZED"},
                 {200, "CUDA_ERROR_INVALID_IMAGE"},
                 {201, "CUDA_ERROR_INVALID_CONTEXT"},
                 {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                 {400, "CUDA_ERROR_INVALID_HANDLE"},
                 {500, "CUDA_ERROR_NOT_FOUND"},
                 {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
                 {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT"},
                 {205, "CUDA_ERROR_MAP_FAILED"},
                 {206, "CUDA_ERROR_UNMAP_FAILED"},
                 {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
                 {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE"},
                 {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC"},
                 {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"},
                 {916, "CUDA_ERROR_KEY_ROTATION"},
                 {719, "CUDA_ERROR_LAUNCH_FAILED"}};
    static _Thread_local char text[80];
    const char *from = error_name(code);
    size_t n = 0;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (other[i].code == code) return other[i].name;
    if (from == NULL || strncmp(from, "cuda", 4) != 0) return NULL;
    n = (size_t)snprintf(text, sizeof text, "CUDA");
    for (from += 4; *from && n + 3 < sizeof text; from++) {
        bool is_capital = *from >= 'A' && *from <= 'Z';
        if (is_capital) text[n++] = '_';
        text[n++] = is_capital || *from < 'a' ? *from : (char)(*from - 'a' + 'A');
    }
    text[n] = '\0';
    return text;
}

DRIVER(cuGetErrorName, int code, const char **out) {
    if (out) *out = driver_error_name(code);
    error_read(code);
    return out && *out ? 0 : CUDA_ERROR_INVALID_VALUE;
}
DRIVER(cuGetErrorString, int code, const char **out) {
    if (out) *out = error_text(code);
    error_read(code);
    return out && *out ? 0 : CUDA_ERROR_INVALID_VALUE;
}

/* --- devices --- */

static CudaError begin(unsigned flags) {
    if (flags) return cudaErrorInvalidValue;
    driver_ready = true;
    return cudaSuccess;
}

DRIVER(cuInit, unsigned flags) {
    return driver_code(call_end(call_begin(__func__) ? begin(flags) : cudaErrorUnknown));
}
DRIVER(cuDriverGetVersion, int *version) {
    if (version == NULL) return CUDA_ERROR_INVALID_VALUE;
    *version = VERSION;
    return 0;
}

static CudaError put(int *out, int value) {
    if (out == NULL) return cudaErrorInvalidValue;
    *out = value;
    return cudaSuccess;
}

static CudaError is_device(int device) {
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

static CudaError device_get(int *out, int ordinal) {
    return ordinal == 0 ? put(out, 0) : cudaErrorInvalidDevice;
}

static CudaError device_name(char *out, int n, int device) {
    if (out == NULL || n < 1) return cudaErrorInvalidValue;
    snprintf(out, (size_t)n, "%s", runtime.config.model.name);
    return is_device(device);
}

static CudaError attribute(int *out, int id, int device) {
    if (out == NULL || device != 0) return out ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    return property_attribute(id, out) ? cudaSuccess : cudaErrorInvalidValue;
}

static CudaError total(size_t *out, int device) {
    if (out == NULL) return cudaErrorInvalidValue;
    *out = (size_t)runtime.config.model.memory_bytes;
    return is_device(device);
}

static CudaError capability(int *major, int *minor, int device) {
    if (major == NULL || minor == NULL) return cudaErrorInvalidValue;
    *major = 9, *minor = 0;
    return is_device(device);
}

static CudaError uuid(CudaUuid *out, int device) {
    if (out == NULL) return cudaErrorInvalidValue;
    *out = (CudaUuid){{0}};
    return is_device(device);
}

DRIVER(cuDeviceGetCount, int *n) {
    return DRIVE(put(n, 1));
}
DRIVER(cuDeviceGet, int *device, int ordinal) {
    return DRIVE(device_get(device, ordinal));
}
DRIVER(cuDeviceGetName, char *out, int n, int device) {
    return DRIVE(device_name(out, n, device));
}
DRIVER(cuDeviceGetAttribute, int *out, int id, int device) {
    return DRIVE(attribute(out, id, device));
}
DRIVER(cuDeviceTotalMem_v2, size_t *out, int device) {
    return DRIVE(total(out, device));
}
DRIVER(cuDeviceComputeCapability, int *major, int *minor, int device) {
    return DRIVE(capability(major, minor, device));
}
DRIVER(cuDeviceGetUuid_v2, CudaUuid *out, int device) {
    return DRIVE(uuid(out, device));
}
AGAIN(cuDeviceGetUuid_v2, cuDeviceGetUuid);
DRIVER(cuDeviceCanAccessPeer, int *can, int device, int peer) {
    return DRIVE(device == 0 && peer == 0 ? put(can, 0) : cudaErrorInvalidDevice);
}

/* --- contexts --- */

typedef struct Context {
    unsigned flags;
    bool is_primary;
} Context;

static Context primary = {.is_primary = true};
static _Thread_local Context *stack[CONTEXTS];
static _Thread_local int depth;
static bool is_begun; /* by the run-time library */

void driver_begun(void) {
    driver_ready = is_begun = true;
}

static Context *current_one(void) {
    return depth > 0 ? stack[depth - 1] : is_begun ? &primary : NULL;
}

static CudaError push(Context *c) {
    if (c == NULL) return (CudaError)CUDA_ERROR_INVALID_CONTEXT;
    if (depth == CONTEXTS) return cudaErrorMemoryAllocation;
    stack[depth++] = c;
    return cudaSuccess;
}

static CudaError pop(Context **out) {
    if (depth == 0) return (CudaError)CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (out) *out = stack[depth];
    return cudaSuccess;
}

static CudaError create(Context **out, unsigned flags, int device) {
    if (out == NULL) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    Context *c = gi_alloc(sizeof *c);
    c->flags = flags;
    *out = c;
    return push(c);
}

static CudaError destroy(Context *c) {
    if (c == NULL || c->is_primary) return (CudaError)CUDA_ERROR_INVALID_CONTEXT;
    for (int i = 0; i < depth; i++)
        if (stack[i] == c)
            memmove(&stack[i], &stack[i + 1], (size_t)(--depth - i) * sizeof *stack), i--;
    free(c);
    return cudaSuccess;
}

static CudaError set_current(Context *c) {
    if (depth > 0) depth--;
    return c ? push(c) : cudaSuccess;
}

static CudaError current(Context **out) {
    if (out == NULL) return cudaErrorInvalidValue;
    *out = current_one();
    return cudaSuccess;
}

static CudaError retain(Context **out, int device) {
    if (out == NULL) return cudaErrorInvalidValue;
    *out = &primary;
    return is_device(device);
}

static CudaError with_context(CudaError e) {
    return current_one() ? e : (CudaError)CUDA_ERROR_INVALID_CONTEXT;
}

/* Of functions that take a context: NULL is the current one. */
static CudaError of_context(const Context *c, CudaError e) {
    return c ? e : with_context(e);
}

DRIVER(cuCtxCreate_v2, Context **out, unsigned flags, int device) {
    return DRIVE(create(out, flags, device));
}
AGAIN(cuCtxCreate_v2, cuCtxCreate);
DRIVER(cuCtxCreate_v3, Context **out, const void *affinity, int n, unsigned flags, int device) {
    (void)affinity, (void)n;
    return DRIVE(create(out, flags, device));
}
DRIVER(cuCtxCreate_v4, Context **out, const void *params, unsigned flags, int device) {
    (void)params;
    return DRIVE(create(out, flags, device));
}
DRIVER(cuCtxDestroy_v2, Context *c) {
    return DRIVE(destroy(c));
}
AGAIN(cuCtxDestroy_v2, cuCtxDestroy);
DRIVER(cuCtxPushCurrent_v2, Context *c) {
    return DRIVE(push(c));
}
AGAIN(cuCtxPushCurrent_v2, cuCtxPushCurrent);
DRIVER(cuCtxPopCurrent_v2, Context **out) {
    return DRIVE(pop(out));
}
AGAIN(cuCtxPopCurrent_v2, cuCtxPopCurrent);
DRIVER(cuCtxSetCurrent, Context *c) {
    return DRIVE(set_current(c));
}
DRIVER(cuCtxGetCurrent, Context **out) {
    return DRIVE(current(out));
}
DRIVER(cuCtxGetDevice, int *device) {
    return DRIVE(with_context(put(device, 0)));
}
DRIVER(cuCtxGetDevice_v2, int *device, Context *c) {
    return DRIVE(of_context(c, put(device, 0)));
}
DRIVER(cuCtxGetApiVersion, Context *c, unsigned *version) {
    (void)c;
    return DRIVE(put((int *)version, VERSION));
}
DRIVER(cuCtxSynchronize, void) {
    return DRIVE(with_context(stream_wait_device()));
}
DRIVER(cuCtxSynchronize_v2, Context *c) {
    return DRIVE(of_context(c, stream_wait_device()));
}
DRIVER(cuCtxSetCacheConfig, int config) {
    (void)config;
    return DRIVE(cudaSuccess);
}
DRIVER(cuDevicePrimaryCtxRetain, Context **out, int device) {
    return DRIVE(retain(out, device));
}
DRIVER(cuDevicePrimaryCtxRelease_v2, int device) {
    return DRIVE(is_device(device));
}
AGAIN(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease);
DRIVER(cuDevicePrimaryCtxSetFlags_v2, int device, unsigned flags) {
    (void)flags;
    return DRIVE(is_device(device));
}
DRIVER(cuProfilerStart, void) {
    return DRIVE(cudaSuccess);
}
DRIVER(cuProfilerStop, void) {
    return DRIVE(cudaSuccess);
}

/* --- functions by name --- */

/* The newest form of it that there is; NULL. */
static void *entry(const char *name) {
    static const char *const endings[] = {"_v4", "_v3", "_v2", ""};
    Dl_info self;
    char text[200];
    if (dladdr(&driver_ready, &self) == 0) return NULL;
    void *library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD), *found = NULL;
    for (int i = 0; library && found == NULL && i < 4; i++) {
        snprintf(text, sizeof text, "%s%s", name, endings[i]);
        found = dlsym(library, text);
    }
    return found;
}

enum { FOUND = 0, NOT_FOUND = 1 };

static CudaError proc_address(const char *name, void **out, int *status) {
    if (name == NULL || out == NULL) return cudaErrorInvalidValue;
    *out = strncmp(name, "cu", 2) == 0 ? entry(name) : NULL;
    if (status) *status = *out ? FOUND : NOT_FOUND;
    driver_ready = true;
    return *out || status ? cudaSuccess : cudaErrorSymbolNotFound;
}

DRIVER(cuGetProcAddress_v2, const char *name, void **out, int version, uint64_t flags,
       int *status) {
    (void)version, (void)flags;
    return driver_code(
        call_end(call_begin(__func__) ? proc_address(name, out, status) : cudaErrorUnknown));
}
DRIVER(cuGetProcAddress, const char *name, void **out, int version, uint64_t flags) {
    (void)version, (void)flags;
    return driver_code(
        call_end(call_begin(__func__) ? proc_address(name, out, NULL) : cudaErrorUnknown));
}

API(cudaGetDriverEntryPoint, const char *name, void **out, unsigned long long flags, int *status) {
    (void)flags;
    return CALL(proc_address(name, out, status));
}
PER_THREAD(cudaGetDriverEntryPoint);
API(cudaGetDriverEntryPointByVersion, const char *name, void **out, unsigned version,
    unsigned long long flags, int *status) {
    (void)version, (void)flags;
    return CALL(proc_address(name, out, status));
}
PER_THREAD(cudaGetDriverEntryPointByVersion);
