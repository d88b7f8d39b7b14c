/* cuda_texture.c - texture objects. A linear one reads a guarded, watched block; an array one a
** CUDA array, which no pointer of a kernel reaches.
*/
#include "device/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "emu/tex.h"

typedef struct CudaTexture {
    DeviceTexture base;
    CudaBlock *block; /* of a linear one */
    Array *source;    /* what the block is restored from */
    CuArray array;    /* of the others */
} CudaTexture;

static int format_of(EmuTexFormat f) {
    switch (f) { /* CUarray_format */
    case EMU_TEX_U8: return 0x01;
    case EMU_TEX_U16: return 0x02;
    case EMU_TEX_U32: return 0x03;
    case EMU_TEX_S8: return 0x08;
    case EMU_TEX_S16: return 0x09;
    case EMU_TEX_S32: return 0x0a;
    case EMU_TEX_F16: return 0x10;
    case EMU_TEX_F32: break;
    }
    return 0x20;
}

static size_t channel_bytes(EmuTexFormat f) {
    if (f == EMU_TEX_U8 || f == EMU_TEX_S8) return 1;
    return f == EMU_TEX_U16 || f == EMU_TEX_S16 || f == EMU_TEX_F16 ? 2 : 4;
}

static size_t texel_bytes(const EmuTexture *t) {
    return channel_bytes(t->format) * (size_t)t->channels;
}

/* Wrapping and mirroring need normalised coordinates; else they mean clamping. */
static int address_of(const EmuTexture *t, int axis) {
    EmuTexAddress mode = t->address[axis];
    bool periodic = mode == EMU_TEX_WRAP || mode == EMU_TEX_MIRROR;
    return periodic && !t->normalized_coords ? EMU_TEX_CLAMP : (int)mode; /* CUaddress_mode */
}

static CuTextureShape shape_of(const EmuTexture *t) {
    CuTextureShape s = {.filter = t->linear_filter};
    for (int i = 0; i < 3; i++) s.address[i] = address_of(t, i);
    memcpy(s.border, t->border, sizeof s.border);
    if (t->normalized_coords) s.flags |= CU_NORMALIZED_COORDS;
    if (!t->normalized_read && !tex_yields_float(t)) s.flags |= CU_READ_AS_INTEGER;
    return s;
}

static bool make_linear(CudaDevice *d, CudaTexture *out, Array *a, const EmuTexture *t,
                        CuResource *r, gi_err *err) {
    size_t bytes = (size_t)t->size[0] * texel_bytes(t);
    out->block = cuda_block_new(d, bytes, a->data, true, "the memory of a linear texture", err);
    if (out->block == NULL) return false;
    out->source = array_ref(a);
    r->type = CU_RESOURCE_LINEAR;
    r->u.linear.address = out->block->address;
    r->u.linear.format = format_of(t->format);
    r->u.linear.channels = (unsigned)t->channels;
    r->u.linear.bytes = bytes;
    return true;
}

/* Copies on the legacy stream, so waits for the whole context. */
static int fill_array(CudaDevice *d, CuArray array, const EmuTexture *t) {
    size_t height = t->dims > 1 ? (size_t)t->size[1] : 1;
    size_t slices = t->dims > 2 ? (size_t)t->size[2] : t->layers > 0 ? (size_t)t->layers : 1;
    size_t row = (size_t)t->size[0] * texel_bytes(t);
    CuCopy3D copy = {.width_bytes = row, .height = height, .depth = slices};
    copy.from.memory = CU_MEMORY_HOST;
    copy.from.host = t->data;
    copy.from.pitch = t->pitch_bytes ? (size_t)t->pitch_bytes : row;
    copy.from.height = height;
    copy.to.memory = CU_MEMORY_ARRAY;
    copy.to.array = array;
    int code = d->cu->copy_3d(&copy);
    return code == CU_OK ? d->cu->synchronize() : code;
}

static bool make_array(CudaDevice *d, CudaTexture *out, const EmuTexture *t, CuResource *r,
                       gi_err *err) {
    CuArrayShape s = {.width = (size_t)t->size[0],
                      .height = t->dims > 1 ? (size_t)t->size[1] : 0,
                      .depth = t->dims > 2 ? (size_t)t->size[2] : (size_t)t->layers,
                      .format = format_of(t->format),
                      .channels = (unsigned)t->channels,
                      .flags = t->layers > 0 ? CU_ARRAY_LAYERED : 0};
    if (!cuda_ok(d, d->cu->array_new(&out->array, &s), "make an array for a texture", err))
        return false;
    r->type = CU_RESOURCE_ARRAY;
    r->u.array = out->array;
    return cuda_ok(d, fill_array(d, out->array, t), "fill the array of a texture", err);
}

static bool make(CudaDevice *d, CudaTexture *out, Array *a, const EmuTexture *t, gi_err *err) {
    CuResource resource = {0};
    CuTextureShape shape = shape_of(t);
    bool ok = t->kind == EMU_TEX_LINEAR ? make_linear(d, out, a, t, &resource, err)
                                        : make_array(d, out, t, &resource, err);
    return ok && cuda_ok(d, d->cu->texture_new(&out->base.handle, &resource, &shape, NULL),
                         "make a texture object", err);
}

DeviceTexture *cuda_texture(Device *base, Array *a, const EmuTexture *description, gi_err *err) {
    CudaDevice *d = cuda_of(base);
    EmuTexture t = *description;
    t.data = a->data;
    if (!tex_check(&t, err) || !cuda_enter(d, err)) return NULL;
    CudaTexture *out = gi_alloc(sizeof *out);
    out->base.device = base;
    if (make(d, out, a, &t, err)) return &out->base;
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
