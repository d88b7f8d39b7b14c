/* alloc.c - cudaMalloc and its kin: what they give out and take back; what a pointer is. */
#include <string.h>

#include "runtime/happens.h"
#include "runtime/observe.h"
#include "runtime/report.h"

enum { PITCH = 512 }; /* bytes: rows of pitched memory are multiples of it */

/* --- device memory --- */

static CudaError device_new(void **out, size_t size) {
    uint64_t address;
    if (out == NULL) return cudaErrorInvalidValue;
    CudaError e = memory_device(size, call_name(), &address);
    if (e == cudaSuccess) *out = (void *)(uintptr_t)address;
    return e;
}

static CudaError any_free(void *p) {
    happens_wait_all(); /* it waits for the device */
    const unsigned kinds = KIND(REGION_DEVICE) | KIND(REGION_MANAGED) | KIND(REGION_GRAPH);
    return memory_free((uint64_t)(uintptr_t)p, kinds);
}

API(cudaMalloc, void **out, size_t size) {
    return GUARDED(device_new(out, size));
}
API(cudaFree, void *p) {
    return GUARDED(any_free(p));
}

static CudaError pitched_new(CudaPitched *out, size_t width, size_t height, size_t depth) {
    uint64_t address;
    size_t row = (width + PITCH - 1) / PITCH * PITCH;
    CudaError e = memory_device(row * height * depth, call_name(), &address);
    if (e) return e;
    *out = (CudaPitched){(void *)(uintptr_t)address, row, width, height};
    return cudaSuccess;
}

static CudaError pitch_new(void **out, size_t *pitch, size_t width, size_t height) {
    CudaPitched p;
    if (out == NULL || pitch == NULL) return cudaErrorInvalidValue;
    CudaError e = pitched_new(&p, width, height, 1);
    if (e == cudaSuccess) *out = p.ptr, *pitch = p.pitch;
    return e;
}

API(cudaMallocPitch, void **out, size_t *pitch, size_t width, size_t height) {
    return GUARDED(pitch_new(out, pitch, width, height));
}
API(cudaMalloc3D, CudaPitched *out, CudaExtent x) {
    return GUARDED(out ? pitched_new(out, x.width, x.height, x.depth) : cudaErrorInvalidValue);
}

/* --- memory that the host sees --- */

static CudaError managed_new(void **out, size_t size, unsigned flags) {
    bool one = flags == cudaMemAttachGlobal || flags == cudaMemAttachHost;
    if (out == NULL || !one) return cudaErrorInvalidValue;
    return memory_shared(size, REGION_MANAGED, flags, "cudaMallocManaged", out);
}

static CudaError pinned_new(void **out, size_t size, unsigned flags) {
    if (out == NULL || flags > 7) return cudaErrorInvalidValue;
    return memory_shared(size, REGION_PINNED, flags, call_name(), out);
}

API(cudaMallocManaged, void **out, size_t size, unsigned flags) {
    return GUARDED(managed_new(out, size, flags));
}
API(cudaMallocHost, void **out, size_t size) {
    return GUARDED(pinned_new(out, size, 0));
}
API(cudaHostAlloc, void **out, size_t size, unsigned flags) {
    return GUARDED(pinned_new(out, size, flags));
}
API(cudaFreeHost, void *p) {
    return GUARDED((happens_wait_all(), memory_free((uint64_t)(uintptr_t)p, KIND(REGION_PINNED))));
}
API(cudaHostRegister, void *p, size_t size, unsigned flags) {
    return GUARDED(flags < 16 ? memory_register(p, size, flags) : cudaErrorInvalidValue);
}
API(cudaHostUnregister, void *p) {
    return GUARDED(memory_unregister(p));
}

/* The region of memory that the host sees at this address. */
static Region *seen_at(const void *host) {
    Region *r = memory_find((uint64_t)(uintptr_t)host);
    bool seen = r && (r->kind == REGION_MANAGED || r->kind == REGION_PINNED ||
                      r->kind == REGION_REGISTERED);
    return seen ? r : NULL;
}

static CudaError device_pointer(void **out, void *host, unsigned flags) {
    if (out == NULL || flags || seen_at(host) == NULL) return cudaErrorInvalidValue;
    *out = host;
    return cudaSuccess;
}

API(cudaHostGetDevicePointer, void **out, void *host, unsigned flags) {
    return CALL(device_pointer(out, host, flags));
}

static CudaError host_flags(unsigned *out, const void *host) {
    const Region *r = seen_at(host);
    if (out == NULL || r == NULL || r->kind == REGION_MANAGED) return cudaErrorInvalidValue;
    *out = r->flags | cudaHostAllocMapped;
    return cudaSuccess;
}

API(cudaHostGetFlags, unsigned *out, void *host) {
    return CALL(host_flags(out, host));
}

/* --- what a pointer is --- */

static CudaPointerAttributes attributes(void *p) {
    static const CudaMemoryType types[] = {
        [REGION_DEVICE] = cudaMemoryTypeDevice,   [REGION_GRAPH] = cudaMemoryTypeDevice,
        [REGION_MANAGED] = cudaMemoryTypeManaged, [REGION_PINNED] = cudaMemoryTypeHost,
        [REGION_REGISTERED] = cudaMemoryTypeHost, [REGION_VARIABLE] = cudaMemoryTypeDevice};
    const Region *r = memory_find((uint64_t)(uintptr_t)p);
    if (r == NULL) return (CudaPointerAttributes){.device = -2, .host_pointer = p};
    CudaPointerAttributes a = {.type = types[r->kind], .device_pointer = p};
    if (a.type != cudaMemoryTypeDevice) a.host_pointer = p;
    return a;
}

static CudaError pointer_attributes(void *out, size_t size, const void *p) {
    if (out == NULL || p == NULL) return cudaErrorInvalidValue;
    CudaPointerAttributes a = attributes((void *)(uintptr_t)p);
    memcpy(out, &a, size);
    return cudaSuccess;
}

API_13(cudaPointerGetAttributes, void *out, const void *p) {
    return CALL(pointer_attributes(out, sizeof(CudaPointerAttributes), p));
}
API_12(cudaPointerGetAttributes, void *out, const void *p) {
    return CALL(pointer_attributes(out, offsetof(CudaPointerAttributes, reserved), p));
}

/* --- hints about managed memory: they change no answer --- */

static CudaError hint(const void *p) {
    return memory_find((uint64_t)(uintptr_t)p) ? cudaSuccess : cudaErrorInvalidValue;
}

API_13(cudaMemAdvise, const void *p, size_t n, int advice, CudaMemLocation where) {
    (void)n, (void)advice, (void)where;
    return CALL(hint(p));
}
API_12(cudaMemAdvise, const void *p, size_t n, int advice, int device) {
    (void)n, (void)advice, (void)device;
    return CALL(hint(p));
}
ALSO_12(cudaMemAdvise, cudaMemAdvise_v2);
API_13(cudaMemPrefetchAsync, const void *p, size_t n, CudaMemLocation where, unsigned flags,
       Stream *s) {
    (void)n, (void)where, (void)flags;
    return CALL(stream_of(s) ? hint(p) : cudaErrorInvalidResourceHandle);
}
VERSION_13(cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz);
ALSO_12(cudaMemPrefetchAsync, cudaMemPrefetchAsync_v2);
ALSO_12(cudaMemPrefetchAsync, cudaMemPrefetchAsync_v2_ptsz);
API_12(cudaMemPrefetchAsync, const void *p, size_t n, int device, Stream *s) {
    (void)n, (void)device;
    return CALL(stream_of(s) ? hint(p) : cudaErrorInvalidResourceHandle);
}
VERSION_12(12_cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz);

/* --- how much there is --- */

static CudaError memory_info(size_t *free_bytes, size_t *total) {
    if (free_bytes == NULL || total == NULL) return cudaErrorInvalidValue;
    *total = (size_t)runtime.config.model.memory_bytes;
    *free_bytes = *total - memory_used();
    return cudaSuccess;
}

API(cudaMemGetInfo, size_t *free_bytes, size_t *total) {
    return CALL(memory_info(free_bytes, total));
}
