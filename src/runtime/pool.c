/* pool.c - memory pools and allocation in stream order. What is asked for happens at once, so a
** pool keeps nothing back: what is freed is gone, and used bytes are reserved bytes. */
#include <stdlib.h>

#include "runtime/graph.h"
#include "runtime/happens.h"

enum { FIRST_ATTRIBUTE = 1, RELEASE_THRESHOLD = 4, RESERVED = 5, LAST_ATTRIBUTE = 8 };

typedef struct Pool {
    uint64_t attribute[LAST_ATTRIBUTE + 1]; /* as set; of reuse, ints */
    bool is_default;
} Pool;

static Pool default_pool = {.is_default = true, .attribute = {0, 1, 1, 1}};
static Pool *current = &default_pool;

/* --- allocations --- */

static CudaError stream_new(void **out, size_t size, Stream *handle) {
    uint64_t address;
    Stream *s = stream_of(handle);
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    if (out == NULL) return cudaErrorInvalidValue;
    CudaError e = s->capture ? cudaSuccess : capture_implicit(s);
    if (e == cudaSuccess && s->capture == NULL) e = capture_forbids();
    if (e) return e;
    e = s->capture ? memory_of_graph(size, call_name(), &address)
                   : memory_device(size, call_name(), &address);
    if (e) return e;
    *out = (void *)(uintptr_t)address;
    if (s->capture == NULL) return happens_made(s, address, size), cudaSuccess;
    Op op = {.kind = OP_ALLOC, .is_async = true, .memory = {address, size}};
    return op_submit(handle, &op);
}

API(cudaMallocAsync, void **out, size_t size, Stream *s) {
    return CALL(stream_new(out, size, s));
}
PER_THREAD(cudaMallocAsync);
API(cudaMallocFromPoolAsync, void **out, size_t size, Pool *pool, Stream *s) {
    return CALL(pool ? stream_new(out, size, s) : cudaErrorInvalidValue);
}
PER_THREAD(cudaMallocFromPoolAsync);

static CudaError stream_free(void *p, Stream *s) {
    Op op = {.kind = OP_FREE, .is_async = true, .memory = {(uint64_t)(uintptr_t)p, 0}};
    return p ? op_submit(s, &op) : cudaErrorInvalidValue;
}

API(cudaFreeAsync, void *p, Stream *s) {
    return CALL(stream_free(p, s));
}
PER_THREAD(cudaFreeAsync);

/* --- pools --- */

static CudaError pool_new(Pool **out, const CudaPoolProps *props) {
    if (out == NULL || props == NULL) return cudaErrorInvalidValue;
    if (props->handle_types) return cudaErrorNotSupported; /* to be shared with other processes */
    *out = gi_alloc(sizeof **out);
    return cudaSuccess;
}

static CudaError pool_free(Pool *p) {
    if (p == NULL || p->is_default) return cudaErrorInvalidValue;
    if (current == p) current = &default_pool;
    free(p);
    return cudaSuccess;
}

static CudaError pool_of(Pool **out, int device, Pool *p) {
    if (out == NULL) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    *out = p;
    return cudaSuccess;
}

static CudaError set_pool(Pool *p, int device) {
    if (p == NULL) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    current = p;
    return cudaSuccess;
}

API(cudaMemPoolCreate, Pool **out, const CudaPoolProps *props) {
    return CALL(pool_new(out, props));
}
API(cudaMemPoolDestroy, Pool *p) {
    return CALL(pool_free(p));
}
API(cudaDeviceGetDefaultMemPool, Pool **out, int device) {
    return CALL(pool_of(out, device, &default_pool));
}
API(cudaDeviceGetMemPool, Pool **out, int device) {
    return CALL(pool_of(out, device, current));
}
API(cudaDeviceSetMemPool, int device, Pool *p) {
    return CALL(set_pool(p, device));
}
API(cudaMemPoolTrimTo, Pool *p, size_t keep) {
    (void)keep;
    return CALL(p ? cudaSuccess : cudaErrorInvalidValue);
}

/* Those of reuse are ints, the others 64 bits. */
static CudaError attribute(Pool *p, int id, void *value, bool set) {
    if (p == NULL || value == NULL || id < FIRST_ATTRIBUTE || id > LAST_ATTRIBUTE)
        return cudaErrorInvalidValue;
    if (!set && id >= RESERVED) *(uint64_t *)value = memory_used();
    else if (id >= RELEASE_THRESHOLD && set) p->attribute[id] = *(const uint64_t *)value;
    else if (id >= RELEASE_THRESHOLD) *(uint64_t *)value = p->attribute[id];
    else if (set) p->attribute[id] = (uint64_t) * (const int *)value;
    else *(int *)value = (int)p->attribute[id];
    return cudaSuccess;
}

API(cudaMemPoolSetAttribute, Pool *p, int id, void *value) {
    return CALL(attribute(p, id, value, true));
}
API(cudaMemPoolGetAttribute, Pool *p, int id, void *value) {
    return CALL(attribute(p, id, value, false));
}

enum { ACCESS_READ_WRITE = 3, LOCATION_DEVICE = 1 };

static CudaError set_access(const Pool *p, const CudaMemAccess *list, size_t n) {
    if (p == NULL || (n && list == NULL)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < n; i++)
        if (list[i].location.type != LOCATION_DEVICE || list[i].location.id != 0)
            return cudaErrorInvalidDevice;
    return cudaSuccess;
}

static CudaError get_access(int *flags, const CudaMemLocation *where) {
    if (flags == NULL || where == NULL) return cudaErrorInvalidValue;
    *flags = where->type == LOCATION_DEVICE && where->id == 0 ? ACCESS_READ_WRITE : 0;
    return cudaSuccess;
}

API(cudaMemPoolSetAccess, Pool *p, const CudaMemAccess *list, size_t n) {
    return CALL(set_access(p, list, n));
}
API(cudaMemPoolGetAccess, int *flags, Pool *p, CudaMemLocation *where) {
    return CALL(p ? get_access(flags, where) : cudaErrorInvalidValue);
}
