/* driver_memory.c - the driver API's memory, copies, streams, events, arrays and textures: other
** names and orders of arguments for what the run-time library does. */
#include <stdlib.h>
#include <string.h>

#include "runtime/copy.h"
#include "runtime/driver.h"

/* --- the run-time library's functions that do the same --- */

#define SAME(name, from, parameters, arguments)                                                    \
    CudaError gi_##from parameters;                                                                \
    __attribute__((visibility("default"))) int name parameters;                                    \
    int name parameters {                                                                          \
        if (!driver_ready) return CUDA_ERROR_NOT_INITIALIZED;                                      \
        call_alias(#name);                                                                         \
        return driver_code(gi_##from arguments);                                                   \
    }

SAME(cuStreamCreate, cudaStreamCreateWithFlags, (Stream * *out, unsigned flags), (out, flags))
SAME(cuStreamCreateWithPriority, cudaStreamCreateWithPriority,
     (Stream * *out, unsigned flags, int priority), (out, flags, priority))
SAME(cuStreamDestroy_v2, cudaStreamDestroy, (Stream * s), (s))
AGAIN(cuStreamDestroy_v2, cuStreamDestroy);
SAME(cuStreamSynchronize, cudaStreamSynchronize, (Stream * s), (s))
SAME(cuStreamQuery, cudaStreamQuery, (Stream * s), (s))
SAME(cuStreamWaitEvent, cudaStreamWaitEvent, (Stream * s, Event *e, unsigned flags), (s, e, flags))
SAME(cuStreamGetFlags, cudaStreamGetFlags, (Stream * s, unsigned *flags), (s, flags))
SAME(cuStreamGetPriority, cudaStreamGetPriority, (Stream * s, int *priority), (s, priority))
SAME(cuStreamAddCallback, cudaStreamAddCallback,
     (Stream * s, CudaStreamCallback fn, void *user, unsigned flags), (s, fn, user, flags))
SAME(cuLaunchHostFunc, cudaLaunchHostFunc, (Stream * s, CudaHostFn fn, void *user), (s, fn, user))
SAME(cuEventCreate, cudaEventCreateWithFlags, (Event * *out, unsigned flags), (out, flags))
SAME(cuEventDestroy_v2, cudaEventDestroy, (Event * e), (e))
AGAIN(cuEventDestroy_v2, cuEventDestroy);
SAME(cuEventRecord, cudaEventRecord, (Event * e, Stream *s), (e, s))
SAME(cuEventSynchronize, cudaEventSynchronize, (Event * e), (e))
SAME(cuEventQuery, cudaEventQuery, (Event * e), (e))
SAME(cuEventElapsedTime, cudaEventElapsedTime, (float *ms, Event *from, Event *to), (ms, from, to))
AGAIN(cuEventElapsedTime, cuEventElapsedTime_v2);
SAME(cuMemAlloc_v2, cudaMalloc, (void **out, size_t size), (out, size))
SAME(cuMemAllocAsync, cudaMallocAsync, (void **out, size_t size, Stream *s), (out, size, s))
SAME(cuMemFreeAsync, cudaFreeAsync, (void *p, Stream *s), (p, s))
SAME(cuMemFree_v2, cudaFree, (void *p), (p))
SAME(cuMemAllocManaged, cudaMallocManaged, (void **out, size_t size, unsigned flags),
     (out, size, flags))
SAME(cuMemAllocHost_v2, cudaMallocHost, (void **out, size_t size), (out, size))
SAME(cuMemHostAlloc, cudaHostAlloc, (void **out, size_t size, unsigned flags), (out, size, flags))
SAME(cuMemFreeHost, cudaFreeHost, (void *p), (p))
SAME(cuMemHostRegister_v2, cudaHostRegister, (void *p, size_t size, unsigned flags),
     (p, size, flags))
SAME(cuMemHostUnregister, cudaHostUnregister, (void *p), (p))
SAME(cuMemHostGetDevicePointer_v2, cudaHostGetDevicePointer, (void **out, void *p, unsigned flags),
     (out, p, flags))
SAME(cuMemGetInfo_v2, cudaMemGetInfo, (size_t * left, size_t *total), (left, total))
SAME(cuCtxSetLimit, cudaDeviceSetLimit, (unsigned id, size_t value), (id, value))
SAME(cuCtxGetLimit, cudaDeviceGetLimit, (size_t * value, unsigned id), (value, id))
SAME(cuTexObjectDestroy, cudaDestroyTextureObject, (uint64_t handle), (handle))
SAME(cuSurfObjectDestroy, cudaDestroySurfaceObject, (uint64_t handle), (handle))
SAME(cuArrayDestroy, cudaFreeArray, (Texels * a), (a))

/* --- allocation --- */

static CudaError pitched(void **out, size_t *pitch, size_t width, size_t height) {
    CudaError gi_cudaMallocPitch(void **, size_t *, size_t, size_t);
    return gi_cudaMallocPitch(out, pitch, width, height);
}

DRIVER(cuMemAllocPitch_v2, void **out, size_t *pitch, size_t width, size_t height,
       unsigned element) {
    (void)element;
    return DRIVE_GUARDED(pitched(out, pitch, width, height));
}

static CudaError range(uint64_t *base, size_t *size, uint64_t address) {
    const Region *r = memory_find(address);
    if (r == NULL) return (CudaError)CUDA_ERROR_NOT_FOUND;
    if (base) *base = r->address;
    if (size) *size = r->contents.size;
    return cudaSuccess;
}

DRIVER(cuMemGetAddressRange_v2, uint64_t *base, size_t *size, uint64_t address) {
    return DRIVE(range(base, size, address));
}

/* --- copies --- */

static CudaError submit(Stream *s, Op op) {
    return op_submit(s, &op);
}

static void *at(uint64_t address) {
    return (void *)(uintptr_t)address;
}

#define COPIES(name, to_type, to, from_type, from, direction)                                      \
    DRIVER(name##_v2, to_type t, from_type f, size_t n) {                                          \
        return DRIVE(submit(NULL, copy_line(to, from, n, direction, false)));                      \
    }                                                                                              \
    DRIVER(name##Async_v2, to_type t, from_type f, size_t n, Stream *s) {                          \
        return DRIVE(submit(s, copy_line(to, from, n, direction, true)));                          \
    }
COPIES(cuMemcpyHtoD, uint64_t, at(t), const void *, f, cudaMemcpyHostToDevice)
COPIES(cuMemcpyDtoH, void *, t, uint64_t, at(f), cudaMemcpyDeviceToHost)
COPIES(cuMemcpyDtoD, uint64_t, at(t), uint64_t, at(f), cudaMemcpyDeviceToDevice)

DRIVER(cuMemcpy, uint64_t to, uint64_t from, size_t n) {
    return DRIVE(submit(NULL, copy_line(at(to), at(from), n, cudaMemcpyDefault, false)));
}
DRIVER(cuMemcpyAsync, uint64_t to, uint64_t from, size_t n, Stream *s) {
    return DRIVE(submit(s, copy_line(at(to), at(from), n, cudaMemcpyDefault, true)));
}

typedef struct End { /* of a copy in rows */
    size_t x, y;     /* bytes, rows */
    int type;        /* 1 host, 2 device, 3 an array, 4 either */
    const void *host;
    uint64_t device;
    Texels *array;
    size_t row;
} End;

typedef struct Copy2D {
    End from, to;
    size_t width, height;
} Copy2D;

enum { TYPE_HOST = 1, TYPE_ARRAY = 3 };

static CudaError side(const End *e, const Copy2D *c, Side *out) {
    if (e->type < TYPE_HOST || e->type > 4) return cudaErrorInvalidValue;
    if (e->type == TYPE_ARRAY) {
        if (!texels_is(e->array)) return cudaErrorInvalidResourceHandle;
        *out = side_of_array(e->array, e->x, e->y, 0);
        return cudaSuccess;
    }
    size_t row = e->row ? e->row : c->width;
    *out = side_of(e->type == TYPE_HOST ? e->host : at(e->device), row, c->height);
    out->address += e->y * row + e->x;
    return cudaSuccess;
}

static CudaError copy_2d(const Copy2D *c, Stream *s, bool is_async) {
    Side to, from;
    if (c == NULL) return cudaErrorInvalidValue;
    CudaError e = side(&c->to, c, &to);
    if (e == cudaSuccess) e = side(&c->from, c, &from);
    if (e) return e;
    return submit(
        s, copy_op(to, from, (CudaExtent){c->width, c->height, 1}, cudaMemcpyDefault, is_async));
}

DRIVER(cuMemcpy2D_v2, const Copy2D *c) {
    return DRIVE(copy_2d(c, NULL, false));
}
AGAIN(cuMemcpy2D_v2, cuMemcpy2DUnaligned_v2);
DRIVER(cuMemcpy2DAsync_v2, const Copy2D *c, Stream *s) {
    return DRIVE(copy_2d(c, s, true));
}

/* --- fills --- */

#define FILLS(bits, type)                                                                          \
    DRIVER(cuMemsetD##bits##_v2, uint64_t to, type value, size_t n) {                              \
        return DRIVE(submit(NULL, set_op(at(to), n * sizeof(type), 1, (int)value, sizeof(type),    \
                                         (CudaExtent){n * sizeof(type), 1, 1}, true)));            \
    }                                                                                              \
    DRIVER(cuMemsetD##bits##Async, uint64_t to, type value, size_t n, Stream *s) {                 \
        return DRIVE(submit(s, set_op(at(to), n * sizeof(type), 1, (int)value, sizeof(type),       \
                                      (CudaExtent){n * sizeof(type), 1, 1}, true)));               \
    }
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)

/* --- arrays and textures --- */

typedef struct ArrayDescriptor {
    size_t width, height;
    int format;
    unsigned channels;
} ArrayDescriptor;

/* 1, 2, 3: unsigned of 8, 16, 32 bits; 8, 9, 10: signed; 16: half; 32: float. */
static CudaChannelDesc channels(int format, unsigned n) {
    bool is_float = format == 16 || format == 32;
    int bits = is_float ? format : 8 << ((format & 7) - (format & 8 ? 0 : 1));
    CudaChannelKind kind = is_float     ? cudaChannelFormatKindFloat
                           : format & 8 ? cudaChannelFormatKindSigned
                                        : cudaChannelFormatKindUnsigned;
    return (CudaChannelDesc){bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0, kind};
}

static bool is_format(int f) {
    return (f >= 1 && f <= 3) || (f >= 8 && f <= 10) || f == 16 || f == 32;
}

static CudaError array_create(Texels **out, const ArrayDescriptor *d) {
    if (out == NULL || d == NULL || !is_format(d->format)) return cudaErrorInvalidValue;
    CudaChannelDesc desc = channels(d->format, d->channels);
    return texels_new(&desc, (CudaExtent){d->width, d->height, 0}, 0, out);
}

DRIVER(cuArrayCreate_v2, Texels **out, const ArrayDescriptor *d) {
    return DRIVE_GUARDED(array_create(out, d));
}

typedef struct Array3DDescriptor {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} Array3DDescriptor;

static CudaError array_3d_create(Texels **out, const Array3DDescriptor *d) {
    if (out == NULL || d == NULL || !is_format(d->format)) return cudaErrorInvalidValue;
    CudaChannelDesc desc = channels(d->format, d->channels);
    return texels_new(&desc, (CudaExtent){d->width, d->height, d->depth}, d->flags, out);
}

DRIVER(cuArray3DCreate_v2, Texels **out, const Array3DDescriptor *d) {
    return DRIVE_GUARDED(array_3d_create(out, d));
}

typedef struct DriverResource {
    int type; /* as the run-time library's: array, mipmapped array, linear, rows */
    union {
        Texels *array;
        struct {
            uint64_t address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            uint64_t address;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } rows;
        int reserved[32];
    };
    unsigned flags;
} DriverResource;

typedef struct DriverTexture {
    int address[3], filter;
    unsigned flags; /* 1: integers as they are; 2: coordinates are normalised */
    unsigned max_anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_min, mipmap_max, border[4];
    int reserved[12];
} DriverTexture;

static CudaResourceDesc resource_of(const DriverResource *r) {
    CudaResourceDesc out = {.type = (CudaResourceType)r->type};
    if (out.type == cudaResourceTypeArray) out.array = (CudaArrayHandle)r->array;
    if (out.type == cudaResourceTypeLinear) {
        out.linear.pointer = at(r->linear.address);
        out.linear.bytes = r->linear.bytes;
        out.linear.desc = channels(r->linear.format, r->linear.channels);
    }
    if (out.type == cudaResourceTypePitch2D) {
        out.pitch.pointer = at(r->rows.address);
        out.pitch.desc = channels(r->rows.format, r->rows.channels);
        out.pitch.width = r->rows.width, out.pitch.height = r->rows.height;
        out.pitch.pitch = r->rows.pitch;
    }
    return out;
}

static CudaError texture(uint64_t *out, const DriverResource *r, const DriverTexture *t,
                         const CudaResourceViewDesc *view) {
    CudaError gi_cudaCreateTextureObject(uint64_t *, const CudaResourceDesc *,
                                         const CudaTextureDesc *, const CudaResourceViewDesc *);
    if (out == NULL || r == NULL || t == NULL) return cudaErrorInvalidValue;
    CudaResourceDesc resource = resource_of(r);
    CudaTextureDesc desc = {
        .filter = t->filter, .read = !(t->flags & 1), .normalized_coords = (t->flags & 2) != 0};
    memcpy(desc.address, t->address, sizeof desc.address);
    memcpy(desc.border, t->border, sizeof desc.border);
    return gi_cudaCreateTextureObject(out, &resource, &desc, view);
}

DRIVER(cuTexObjectCreate, uint64_t *out, const DriverResource *r, const DriverTexture *t,
       const CudaResourceViewDesc *view) {
    return DRIVE_GUARDED(texture(out, r, t, view));
}

static CudaError surface(uint64_t *out, const DriverResource *r) {
    CudaError gi_cudaCreateSurfaceObject(uint64_t *, const CudaResourceDesc *);
    if (out == NULL || r == NULL) return cudaErrorInvalidValue;
    CudaResourceDesc resource = resource_of(r);
    return gi_cudaCreateSurfaceObject(out, &resource);
}

DRIVER(cuSurfObjectCreate, uint64_t *out, const DriverResource *r) {
    return DRIVE_GUARDED(surface(out, r));
}
