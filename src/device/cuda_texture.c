/* cuda_texture.c - texture objects. A linear one reads a guarded, watched block; an array one a
** CUDA array, which no pointer of a kernel reaches.
*/
#include "device/cuda.h"

#include <stdlib.h>
#include <string.h>

typedef struct CudaTexture {
    DeviceTexture base;
    CudaBlock *block; /* of a linear one */
    Array *source;    /* what the block is restored from */
    CuArray array;    /* of the others */
} CudaTexture;

static int format_of(ArrayType type) {
    switch (type) { /* CUarray_format */
    case ARRAY_U8: return 0x01;
    case ARRAY_U16: return 0x02;
    case ARRAY_U32: return 0x03;
    case ARRAY_I8: return 0x08;
    case ARRAY_I16: return 0x09;
    case ARRAY_I32: return 0x0a;
    default: return 0x20; /* f32: device_texture lets no other type through */
    }
}

static size_t texel_bytes(const Array *a, const TextureSpec *t) {
    return array_type_size(a->type) * (size_t)t->channels;
}

/* Wrapping and mirroring need normalised coordinates; else they mean clamping. */
static int address_of(const TextureSpec *t, int axis) {
    TextureAddress mode = t->address[axis];
    bool periodic = mode == TEXTURE_WRAP || mode == TEXTURE_MIRROR;
    return periodic && !t->normalized_coords ? TEXTURE_CLAMP : (int)mode; /* CUaddress_mode */
}

static CuTextureShape shape_of(const Array *a, const TextureSpec *t) {
    bool floats = t->normalized_read || a->type == ARRAY_F32;
    CuTextureShape s = {.filter = t->linear_filter};
    for (int i = 0; i < 3; i++) s.address[i] = address_of(t, i);
    memcpy(s.border, t->border, sizeof s.border);
    if (t->normalized_coords) s.flags |= CU_NORMALIZED_COORDS;
    if (!floats) s.flags |= CU_READ_AS_INTEGER;
    return s;
}

static bool make_linear(CudaDevice *d, CudaTexture *out, Array *a, const TextureSpec *t,
                        CuResource *r, gi_err *err) {
    size_t bytes = (size_t)t->size[0] * texel_bytes(a, t);
    out->block = cuda_block_new(d, bytes, a->data, true, "the memory of a linear texture", err);
    if (out->block == NULL) return false;
    out->source = array_ref(a);
    r->type = CU_RESOURCE_LINEAR;
    r->u.linear.address = out->block->address;
    r->u.linear.format = format_of(a->type);
    r->u.linear.channels = (unsigned)t->channels;
    r->u.linear.bytes = bytes;
    return true;
}

/* Copies on the legacy stream, so waits for the whole context. */
static int fill_array(CudaDevice *d, CuArray array, const Array *a, const TextureSpec *t) {
    size_t height = t->dims > 1 ? (size_t)t->size[1] : 1;
    size_t slices = t->dims > 2 ? (size_t)t->size[2] : t->layers > 0 ? (size_t)t->layers : 1;
    size_t row = (size_t)t->size[0] * texel_bytes(a, t);
    CuCopy3D copy = {.width_bytes = row, .height = height, .depth = slices};
    copy.from.memory = CU_MEMORY_HOST;
    copy.from.host = a->data;
    copy.from.pitch = row;
    copy.from.height = height;
    copy.to.memory = CU_MEMORY_ARRAY;
    copy.to.array = array;
    int code = d->cu->copy_3d(&copy);
    return code == CU_OK ? d->cu->synchronize() : code;
}

static bool make_array(CudaDevice *d, CudaTexture *out, const Array *a, const TextureSpec *t,
                       CuResource *r, gi_err *err) {
    CuArrayShape s = {.width = (size_t)t->size[0],
                      .height = t->dims > 1 ? (size_t)t->size[1] : 0,
                      .depth = t->dims > 2 ? (size_t)t->size[2] : (size_t)t->layers,
                      .format = format_of(a->type),
                      .channels = (unsigned)t->channels,
                      .flags = t->layers > 0 ? CU_ARRAY_LAYERED : 0};
    if (!cuda_ok(d, d->cu->array_new(&out->array, &s), "make an array for a texture", err))
        return false;
    r->type = CU_RESOURCE_ARRAY;
    r->u.array = out->array;
    return cuda_ok(d, fill_array(d, out->array, a, t), "fill the array of a texture", err);
}

static bool make(CudaDevice *d, CudaTexture *out, Array *a, const TextureSpec *t, gi_err *err) {
    CuResource resource = {0};
    CuTextureShape shape = shape_of(a, t);
    bool ok = t->kind == TEXTURE_LINEAR ? make_linear(d, out, a, t, &resource, err)
                                        : make_array(d, out, a, t, &resource, err);
    return ok && cuda_ok(d, d->cu->texture_new(&out->base.handle, &resource, &shape, NULL),
                         "make a texture object", err);
}

DeviceTexture *cuda_texture(Device *base, Array *a, const TextureSpec *spec, gi_err *err) {
    CudaDevice *d = cuda_of(base);
    if (!cuda_enter(d, err)) return NULL;
    CudaTexture *out = gi_alloc(sizeof *out);
    out->base.device = base;
    if (make(d, out, a, spec, err)) return &out->base;
    cuda_texture_free(&out->base);
    return NULL;
}

void cuda_texture_free(DeviceTexture *base) {
    CudaTexture *t = (CudaTexture *)base;
    CudaDevice *d = cuda_of(base->device);
    if (!d->lost && cuda_enter(d, NULL)) {
        if (base->handle) d->cu->texture_free(base->handle);
        if (t->array) d->cu->array_free(t->array);
    }
    cuda_block_free(t->block);
    array_unref(t->source);
    free(t);
}
