/* device.c - the device as a whole: one GPU, number 0. Peers and sharing with other processes are
** refused with the codes that a machine with one GPU gives. */
#include <stdio.h>
#include <string.h>

#include "runtime/early.h"
#include "runtime/op.h"
#include "runtime/profiled.h"
#include "runtime/recorder.h"
#include "runtime/report.h"

enum { VERSION_12 = 12080, VERSION_13 = 13000, VERSION_DRIVER = 13000 };

/* --- which --- */

static CudaError put(int *out, int value) {
    if (out == NULL) return cudaErrorInvalidValue;
    *out = value;
    return cudaSuccess;
}

static CudaError is_device(int device) {
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

API(cudaGetDeviceCount, int *n) {
    return CALL(put(n, 1));
}
API(cudaGetDevice, int *device) {
    return CALL(put(device, 0));
}
API(cudaSetDevice, int device) {
    return CALL(is_device(device));
}
API(cudaInitDevice, int device, unsigned device_flags, unsigned flags) {
    (void)device_flags, (void)flags;
    return CALL(is_device(device));
}
API(cudaChooseDevice, int *device, const void *properties) {
    return CALL(properties ? put(device, 0) : cudaErrorInvalidValue);
}
API(cudaSetValidDevices, int *list, int n) {
    return CALL(n == 0 || (list && n > 0) ? cudaSuccess : cudaErrorInvalidValue);
}
API_12(cudaRuntimeGetVersion, int *version) {
    return CALL(put(version, VERSION_12));
}
API_13(cudaRuntimeGetVersion, int *version) {
    return CALL(put(version, VERSION_13));
}
API(cudaDriverGetVersion, int *version) {
    return CALL(put(version, VERSION_DRIVER));
}

/* --- flags, limits, cache settings: but for stack and heap kept, and of no effect --- */

static unsigned device_flags;

static CudaError set_flags(unsigned flags) {
    if (flags & ~0x1fu) return cudaErrorInvalidValue;
    device_flags = flags;
    return cudaSuccess;
}

static CudaError get_flags(unsigned *out) {
    if (out == NULL) return cudaErrorInvalidValue;
    *out = device_flags | 8; /* cudaDeviceMapHost */
    return cudaSuccess;
}

API(cudaSetDeviceFlags, unsigned flags) {
    return CALL(set_flags(flags));
}
API(cudaGetDeviceFlags, unsigned *flags) {
    return CALL(get_flags(flags));
}

static size_t limits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0}; /* stack, printf, heap … */
enum {
    N_LIMITS = sizeof limits / sizeof *limits,
    LIMIT_STACK = 0,
    LIMIT_HEAP = 2,
    MOST_STACK = 512 * 1024
};

static CudaError set_limit(unsigned id, size_t value) {
    if (id >= N_LIMITS) return cudaErrorUnsupportedLimit;
    if (id == LIMIT_STACK && value >= MOST_STACK)
        return failed(cudaErrorInvalidValue, "%zu bytes of stack; less than %d are allowed", value,
                      MOST_STACK);
    if (id == LIMIT_STACK) value = (value + 15) / 16 * 16;
    limits[id] = value;
    if (id == LIMIT_STACK) emu_stack_limit(runtime.emu, value);
    if (id == LIMIT_HEAP) emu_heap_limit(runtime.emu, value);
    return cudaSuccess;
}

static CudaError get_limit(size_t *out, unsigned id) {
    if (out == NULL) return cudaErrorInvalidValue;
    if (id >= N_LIMITS) return cudaErrorUnsupportedLimit;
    *out = limits[id];
    return cudaSuccess;
}

API(cudaDeviceSetLimit, unsigned id, size_t value) {
    return GUARDED(set_limit(id, value));
}
API(cudaDeviceGetLimit, size_t *value, unsigned id) {
    return CALL(get_limit(value, id));
}

static int cache_config, shared_config;

API(cudaDeviceSetCacheConfig, int config) {
    return CALL((cache_config = config, cudaSuccess));
}
API(cudaDeviceGetCacheConfig, int *config) {
    return CALL(put(config, cache_config));
}
API(cudaDeviceSetSharedMemConfig, int config) {
    return CALL((shared_config = config, cudaSuccess));
}
API(cudaDeviceGetSharedMemConfig, int *config) {
    return CALL(put(config, shared_config));
}
API(cudaCtxResetPersistingL2Cache, void) {
    return CALL(cudaSuccess);
}
API(cudaProfilerStart, void) {
    return CALL(cudaSuccess);
}
API(cudaProfilerStop, void) {
    return CALL(cudaSuccess);
}

/* --- the bus --- */

static CudaError bus_id(char *out, int n, int device) {
    if (out == NULL || n < 13) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    snprintf(out, (size_t)n, "0000:01:00.0");
    return cudaSuccess;
}

static CudaError by_bus_id(int *device, const char *id) {
    if (device == NULL || id == NULL) return cudaErrorInvalidValue;
    if (strstr(id, "01:00") == NULL) return cudaErrorInvalidDevice;
    return put(device, 0);
}

API(cudaDeviceGetPCIBusId, char *out, int n, int device) {
    return CALL(bus_id(out, n, device));
}
API(cudaDeviceGetByPCIBusId, int *device, const char *id) {
    return CALL(by_bus_id(device, id));
}

static CudaError linear_width(size_t *out, const CudaChannelDesc *d, int device) {
    if (out == NULL || d == NULL) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    size_t texel = (size_t)(d->x + d->y + d->z + d->w) / 8;
    if (texel == 0) return cudaErrorInvalidValue;
    *out = ((size_t)1 << 32) / texel;
    return cudaSuccess;
}

API(cudaDeviceGetTexture1DLinearMaxWidth, size_t *out, const CudaChannelDesc *d, int device) {
    return CALL(linear_width(out, d, device));
}

/* --- other devices and other processes --- */

static CudaError can_peer(int *can, int device, int peer) {
    if (device != 0 || peer != 0) return cudaErrorInvalidDevice;
    return put(can, 0);
}

API(cudaDeviceCanAccessPeer, int *can, int device, int peer) {
    return CALL(can_peer(can, device, peer));
}
API(cudaDeviceEnablePeerAccess, int peer, unsigned flags) {
    (void)peer, (void)flags;
    return CALL(cudaErrorInvalidDevice);
}
API(cudaDeviceDisablePeerAccess, int peer) {
    (void)peer;
    return CALL(peer == 0 ? cudaErrorInvalidDevice : cudaErrorPeerAccessNotEnabled);
}
API(cudaDeviceGetP2PAttribute, int *value, int id, int from, int to) {
    (void)value, (void)id, (void)from, (void)to;
    return CALL(cudaErrorInvalidDevice);
}
API(cudaIpcGetMemHandle, void *handle, void *p) {
    (void)handle, (void)p;
    return CALL(cudaErrorNotSupported);
}
API(cudaIpcGetEventHandle, void *handle, Event *e) {
    (void)handle, (void)e;
    return CALL(cudaErrorNotSupported);
}
API(cudaIpcCloseMemHandle, void *p) {
    (void)p;
    return CALL(cudaErrorInvalidValue);
}

/* --- the end --- */

static CudaError device_reset(void) {
    CudaError e = stream_wait_all();
    memory_reset();
    return e;
}

API(cudaDeviceReset, void) {
    return CALL(device_reset());
}
API_12(cudaThreadExit, void) {
    return CALL(device_reset());
}

/* The program's own exit functions and destructors have run: what it freed there is freed. */
__attribute__((destructor)) static void at_end(void) {
    if (runtime.emu == NULL) return;
    if (runtime.config.streams) early_open();
    report_tell_unread();
    memory_leaks();
    recorder_end();
    profiled_end();
    report->ended = 1;
}
