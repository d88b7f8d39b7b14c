/* texels.c - CUDA arrays: memory that textures and surfaces read by coordinates. Texels lie in
** rows, tight; a layer or a face of a cube is a slice. */
#include <stdlib.h>
#include <string.h>

#include "runtime/copy.h"
#include "runtime/observe.h"

enum { cudaArrayTextureGather = 8 };

static Texels *arrays;

bool texels_is(const Texels *a) {
    for (const Texels *at = arrays; at; at = at->next)
        if (at == a) return true;
    return false;
}

/* Bytes of a texel; 0 where no texture has such. */
static size_t texel_bytes(const CudaChannelDesc *d) {
    const int bits[4] = {d->x, d->y, d->z, d->w};
    int n = 0;
    while (n < 4 && bits[n]) n++;
    for (int i = 0; i < 4; i++)
        if (bits[i] != (i < n ? d->x : 0)) return 0;
    bool is_size = d->x == 8 || d->x == 16 || d->x == 32;
    return is_size && n != 0 && n != 3 && d->f < cudaChannelFormatKindNone ? (size_t)(d->x / 8 * n)
                                                                           : 0;
}

/* Texels that an array of this kind has at most, as an H200's driver (580, CUDA 13.0) refused
** more. */
static CudaExtent most_texels(CudaExtent e, unsigned flags) {
    enum { LINE = 131072, LAYER = 32768, LAYERS = 2048, BOX = 16384, HIGH = 65536 };
    bool is_slices = flags & (cudaArrayLayered | cudaArrayCubemap);
    if (is_slices) return (CudaExtent){LAYER, LAYER, LAYERS};
    if (e.depth) return (CudaExtent){BOX, BOX, SIZE_MAX};
    if (flags & cudaArrayTextureGather) return (CudaExtent){LAYER, LAYER, 0};
    if (e.height == 0 && flags & cudaArraySurfaceLoadStore) return (CudaExtent){LAYER, 0, 0};
    return (CudaExtent){LINE, HIGH, 0};
}

static CudaError check_size(CudaExtent e, unsigned flags) {
    CudaExtent most = most_texels(e, flags);
    if (e.width <= most.width && e.height <= most.height && e.depth <= most.depth)
        return cudaSuccess;
    return failed(cudaErrorInvalidValue,
                  "an array of %zu x %zu x %zu texels; at most %zu x %zu x %zu are allowed",
                  e.width, e.height, e.depth, most.width, most.height, most.depth);
}

CudaError texels_new(const CudaChannelDesc *desc, CudaExtent e, unsigned flags, Texels **out) {
    const unsigned known =
        cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather;
    if (desc == NULL || out == NULL || e.width == 0 || (flags & ~known))
        return cudaErrorInvalidValue;
    bool is_slices = flags & (cudaArrayLayered | cudaArrayCubemap);
    if (e.depth && e.height == 0 && !is_slices) return cudaErrorInvalidValue;
    if (is_slices && e.depth == 0) return cudaErrorInvalidValue;
    if (flags & cudaArrayCubemap &&
        (e.width != e.height || e.depth % 6 || (e.depth != 6 && !(flags & cudaArrayLayered))))
        return cudaErrorInvalidValue;
    CudaError error = check_size(e, flags);
    if (error) return error;
    size_t texel = texel_bytes(desc);
    if (texel == 0) return cudaErrorInvalidChannelDescriptor;
    Texels *a = gi_alloc(sizeof *a);
    *a = (Texels){.desc = *desc,
                  .flags = flags,
                  .width = e.width,
                  .height = e.height,
                  .depth = e.depth,
                  .texel = texel,
                  .row = e.width * texel};
    a->slice = a->row * (e.height ? e.height : 1);
    a->memory = memory_texels(a->slice * (e.depth ? e.depth : 1), call_name());
    if (a->memory == NULL) return free(a), cudaErrorMemoryAllocation;
    a->next = arrays;
    arrays = a;
    observed_array(a, true);
    *out = a;
    return cudaSuccess;
}

CudaError texels_free(Texels *a) {
    if (a == NULL) return cudaSuccess;
    for (Texels **at = &arrays; *at; at = &(*at)->next)
        if (*at == a) {
            *at = a->next;
            observed_array(a, false);
            memory_texels_free(a->memory);
            free(a);
            return cudaSuccess;
        }
    return cudaErrorInvalidValue;
}

API(cudaMallocArray, Texels **out, const CudaChannelDesc *desc, size_t width, size_t height,
    unsigned flags) {
    return GUARDED(texels_new(desc, (CudaExtent){width, height, 0}, flags, out));
}
API(cudaMalloc3DArray, Texels **out, const CudaChannelDesc *desc, CudaExtent extent,
    unsigned flags) {
    return GUARDED(texels_new(desc, extent, flags, out));
}
API(cudaFreeArray, Texels *a) {
    return GUARDED(texels_free(a));
}

static CudaError array_facts(const Texels *a, CudaChannelDesc *desc, CudaExtent *extent,
                             unsigned *flags) {
    if (!texels_is(a)) return cudaErrorInvalidResourceHandle;
    if (desc) *desc = a->desc;
    if (extent) *extent = (CudaExtent){a->width, a->height, a->depth};
    if (flags) *flags = a->flags;
    return cudaSuccess;
}

API(cudaArrayGetInfo, CudaChannelDesc *desc, CudaExtent *extent, unsigned *flags, Texels *a) {
    return CALL(array_facts(a, desc, extent, flags));
}
API(cudaGetChannelDesc, CudaChannelDesc *desc, const Texels *a) {
    return CALL(desc ? array_facts(a, desc, NULL, NULL) : cudaErrorInvalidValue);
}
API_OF(CudaChannelDesc, cudaCreateChannelDesc, int x, int y, int z, int w, CudaChannelKind f) {
    return (CudaChannelDesc){x, y, z, w, f};
}

/* --- copies --- */

static CudaError submit(Stream *s, Op op) {
    return op_submit(s, &op);
}

static CudaError rows_to(Texels *a, size_t x, size_t y, const void *from, size_t row, size_t width,
                         size_t height, CudaMemcpyKind kind, Stream *s, bool is_async) {
    if (!texels_is(a)) return cudaErrorInvalidResourceHandle;
    if (width > row) return cudaErrorInvalidPitchValue;
    return submit(s, copy_op(side_of_array(a, x, y, 0), side_of(from, row, height),
                             (CudaExtent){width, height, 1}, kind, is_async));
}

static CudaError rows_from(const Texels *a, size_t x, size_t y, void *to, size_t row, size_t width,
                           size_t height, CudaMemcpyKind kind, Stream *s, bool is_async) {
    if (!texels_is(a)) return cudaErrorInvalidResourceHandle;
    if (width > row) return cudaErrorInvalidPitchValue;
    return submit(s,
                  copy_op(side_of(to, row, height), side_of_array((Texels *)(uintptr_t)a, x, y, 0),
                          (CudaExtent){width, height, 1}, kind, is_async));
}

API(cudaMemcpy2DToArray, Texels *a, size_t x, size_t y, const void *from, size_t row, size_t width,
    size_t height, CudaMemcpyKind kind) {
    return CALL(rows_to(a, x, y, from, row, width, height, kind, NULL, false));
}
ALSO(cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds);
API(cudaMemcpy2DToArrayAsync, Texels *a, size_t x, size_t y, const void *from, size_t row,
    size_t width, size_t height, CudaMemcpyKind kind, Stream *s) {
    return CALL(rows_to(a, x, y, from, row, width, height, kind, s, true));
}
PER_THREAD(cudaMemcpy2DToArrayAsync);
API(cudaMemcpy2DFromArray, void *to, size_t row, const Texels *a, size_t x, size_t y, size_t width,
    size_t height, CudaMemcpyKind kind) {
    return CALL(rows_from(a, x, y, to, row, width, height, kind, NULL, false));
}
ALSO(cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds);
API(cudaMemcpy2DFromArrayAsync, void *to, size_t row, const Texels *a, size_t x, size_t y,
    size_t width, size_t height, CudaMemcpyKind kind, Stream *s) {
    return CALL(rows_from(a, x, y, to, row, width, height, kind, s, true));
}
PER_THREAD(cudaMemcpy2DFromArrayAsync);

/* n bytes from (x, y) on, which may go over the ends of rows. */
static CudaError line_in_array(const Texels *a, size_t x, size_t y, const void *other, size_t n,
                               bool to_array, CudaMemcpyKind kind, Stream *s, bool is_async) {
    if (!texels_is(a)) return cudaErrorInvalidResourceHandle;
    y += x / a->row, x %= a->row;
    size_t at = y * a->row + x;
    size_t size = a->memory->contents.size;
    if (at > size || n > size - at) return cudaErrorInvalidValue;
    const char *p = other;
    for (size_t part; n > 0; n -= part, p += part, y++, x = 0) {
        part = n < a->row - x ? n : a->row - x;
        CudaError e =
            to_array ? rows_to((Texels *)(uintptr_t)a, x, y, p, part, part, 1, kind, s, is_async)
                     : rows_from(a, x, y, (char *)(uintptr_t)p, part, part, 1, kind, s, is_async);
        if (e) return e;
    }
    return cudaSuccess;
}

API(cudaMemcpyToArray, Texels *a, size_t x, size_t y, const void *from, size_t n,
    CudaMemcpyKind kind) {
    return CALL(line_in_array(a, x, y, from, n, true, kind, NULL, false));
}
ALSO(cudaMemcpyToArray, cudaMemcpyToArray_ptds);
API(cudaMemcpyToArrayAsync, Texels *a, size_t x, size_t y, const void *from, size_t n,
    CudaMemcpyKind kind, Stream *s) {
    return CALL(line_in_array(a, x, y, from, n, true, kind, s, true));
}
PER_THREAD(cudaMemcpyToArrayAsync);
API(cudaMemcpyFromArray, void *to, const Texels *a, size_t x, size_t y, size_t n,
    CudaMemcpyKind kind) {
    return CALL(line_in_array(a, x, y, to, n, false, kind, NULL, false));
}
ALSO(cudaMemcpyFromArray, cudaMemcpyFromArray_ptds);
API(cudaMemcpyFromArrayAsync, void *to, const Texels *a, size_t x, size_t y, size_t n,
    CudaMemcpyKind kind, Stream *s) {
    return CALL(line_in_array(a, x, y, to, n, false, kind, s, true));
}
PER_THREAD(cudaMemcpyFromArrayAsync);

static CudaError between(Texels *to, size_t to_x, size_t to_y, const Texels *from, size_t x,
                         size_t y, size_t width, size_t height, CudaMemcpyKind kind) {
    if (!texels_is(to) || !texels_is(from)) return cudaErrorInvalidResourceHandle;
    return submit(NULL, copy_op(side_of_array(to, to_x, to_y, 0),
                                side_of_array((Texels *)(uintptr_t)from, x, y, 0),
                                (CudaExtent){width, height, 1}, kind, false));
}

API(cudaMemcpy2DArrayToArray, Texels *to, size_t to_x, size_t to_y, const Texels *from, size_t x,
    size_t y, size_t width, size_t height, CudaMemcpyKind kind) {
    return CALL(between(to, to_x, to_y, from, x, y, width, height, kind));
}
ALSO(cudaMemcpy2DArrayToArray, cudaMemcpy2DArrayToArray_ptds);
