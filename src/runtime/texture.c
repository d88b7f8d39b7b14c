/* texture.c - texture and surface objects: CUDA's descriptions in the virtual GPU's words. */
#include <stdlib.h>
#include <string.h>

#include "runtime/observe.h"

typedef struct Texture {
    uint64_t handle;
    CudaResourceDesc resource;
    CudaTextureDesc desc;
    CudaResourceViewDesc view;
    bool has_view, is_surface;
    struct Texture *next;
} Texture;

static Texture *textures; /* surfaces among them */

static CudaError format_of(const CudaChannelDesc *d, EmuTexture *t) {
    static const EmuTexFormat signed_[] = {EMU_TEX_S8, EMU_TEX_S16, EMU_TEX_S32};
    static const EmuTexFormat unsigned_[] = {EMU_TEX_U8, EMU_TEX_U16, EMU_TEX_U32};
    int size = d->x == 8 ? 0 : d->x == 16 ? 1 : d->x == 32 ? 2 : -1;
    if (size < 0 || d->f >= cudaChannelFormatKindNone) return cudaErrorInvalidChannelDescriptor;
    if (d->f == cudaChannelFormatKindFloat && size == 0) return cudaErrorInvalidChannelDescriptor;
    t->channels = 1 + (d->y > 0) + (d->z > 0) + (d->w > 0);
    t->format = d->f == cudaChannelFormatKindSigned     ? signed_[size]
                : d->f == cudaChannelFormatKindUnsigned ? unsigned_[size]
                : size == 1                             ? EMU_TEX_F16
                                                        : EMU_TEX_F32;
    return cudaSuccess;
}

static CudaError from_array(const Texels *a, EmuTexture *t) {
    if (!texels_is(a)) return cudaErrorInvalidResourceHandle;
    bool layered = a->flags & (cudaArrayLayered | cudaArrayCubemap);
    t->kind = EMU_TEX_ARRAY;
    t->data = a->memory->contents.data;
    t->dims = a->height == 0 ? 1 : layered || a->depth == 0 ? 2 : 3;
    t->size[0] = (int64_t)a->width;
    t->size[1] = t->dims > 1 ? (int64_t)a->height : 1;
    t->size[2] = t->dims > 2 ? (int64_t)a->depth : 1;
    t->layers = layered ? (int64_t)a->depth : 0;
    t->cube = a->flags & cudaArrayCubemap;
    return format_of(&a->desc, t);
}

/* What an H200 takes, as its driver (580, CUDA 13.0) refused more. */
enum {
    ALIGNMENT = 512,
    PITCH_UNIT = 32,
    MOST_PITCH = 2097120,
    MOST_WIDTH = 131072,
    MOST_HEIGHT = 65000
};
static const size_t most_linear = (size_t)1 << 32; /* bytes */

static CudaError from_memory(const void *p, size_t bytes, const CudaChannelDesc *d, EmuTexture *t) {
    Region *r;
    CudaError e = format_of(d, t);
    if (e) return e;
    if ((uintptr_t)p % ALIGNMENT)
        return failed(
            cudaErrorInvalidValue,
            "a texture's memory begins at a multiple of %d bytes, and this %zu behind one",
            ALIGNMENT, (size_t)((uintptr_t)p % ALIGNMENT));
    t->data = memory_bytes((uint64_t)(uintptr_t)p, bytes, "describes", &r);
    t->size[1] = t->size[2] = 1;
    return t->data && r ? cudaSuccess : cudaErrorInvalidValue;
}

static CudaError from_linear(const CudaResourceDesc *r, EmuTexture *t) {
    if (r->linear.bytes > most_linear)
        return failed(cudaErrorInvalidValue,
                      "%zu bytes of linear memory; a texture has at most %zu", r->linear.bytes,
                      most_linear);
    CudaError e = from_memory(r->linear.pointer, r->linear.bytes, &r->linear.desc, t);
    const CudaChannelDesc *d = &r->linear.desc;
    int texel = (d->x + d->y + d->z + d->w) / 8;
    t->kind = EMU_TEX_LINEAR;
    t->dims = 1;
    t->size[0] = texel ? (int64_t)r->linear.bytes / texel : 0;
    return e;
}

static CudaError check_rows(const CudaResourceDesc *r) {
    size_t pitch = r->pitch.pitch, width = r->pitch.width, height = r->pitch.height;
    if (pitch % PITCH_UNIT || pitch > MOST_PITCH)
        return failed(cudaErrorInvalidValue,
                      "a pitch of %zu bytes; a texture's is a multiple of %d, at most %d", pitch,
                      PITCH_UNIT, MOST_PITCH);
    if (width > MOST_WIDTH || height > MOST_HEIGHT)
        return failed(cudaErrorInvalidValue,
                      "%zu x %zu texels in memory; a texture has at most %d x %d", width, height,
                      MOST_WIDTH, MOST_HEIGHT);
    return cudaSuccess;
}

static CudaError from_rows(const CudaResourceDesc *r, EmuTexture *t) {
    const CudaChannelDesc *d = &r->pitch.desc;
    size_t row = r->pitch.width * (size_t)(d->x + d->y + d->z + d->w) / 8;
    size_t height = r->pitch.height;
    if (height == 0 || r->pitch.pitch < row) return cudaErrorInvalidValue;
    CudaError e = check_rows(r);
    if (e) return e;
    e = from_memory(r->pitch.pointer, (height - 1) * r->pitch.pitch + row, d, t);
    t->kind = EMU_TEX_ARRAY;
    t->dims = 2;
    t->size[0] = (int64_t)r->pitch.width;
    t->size[1] = (int64_t)height;
    t->pitch_bytes = (int64_t)r->pitch.pitch;
    return e;
}

static CudaError resource(const CudaResourceDesc *r, EmuTexture *t) {
    switch (r->type) {
    case cudaResourceTypeArray: return from_array((Texels *)r->array, t);
    case cudaResourceTypeLinear: return from_linear(r, t);
    case cudaResourceTypePitch2D: return from_rows(r, t);
    case cudaResourceTypeMipmappedArray: return cudaErrorNotSupported;
    }
    return cudaErrorInvalidValue;
}

static CudaError sampling(const CudaTextureDesc *d, EmuTexture *t) {
    for (int i = 0; i < 3; i++) {
        if (d->address[i] < 0 || d->address[i] > 3) return cudaErrorInvalidValue;
        t->address[i] = (EmuTexAddress)d->address[i];
    }
    if (d->srgb) return cudaErrorNotSupported;
    bool is_float = t->format == EMU_TEX_F32 || t->format == EMU_TEX_F16;
    t->linear_filter = d->filter == 1 && t->kind != EMU_TEX_LINEAR; /* there it is ignored */
    t->normalized_read = d->read == 1 && !is_float;
    t->normalized_coords = d->normalized_coords != 0;
    memcpy(t->border, d->border, sizeof t->border);
    if (t->linear_filter && !is_float && !t->normalized_read) return cudaErrorInvalidFilterSetting;
    return cudaSuccess;
}

/* Of an object that has just been made; handle 0: it was refused. */
static Texture *keep(uint64_t handle, const CudaResourceDesc *r, const gi_err *err) {
    if (handle == 0) {
        say("%s: %s", call_name(), err->message);
        return NULL;
    }
    Texture *made = gi_alloc(sizeof *made);
    *made = (Texture){.handle = handle, .resource = *r, .next = textures};
    textures = made;
    return made;
}

static CudaError texture_new(uint64_t *out, const CudaResourceDesc *r, const CudaTextureDesc *d,
                             const CudaResourceViewDesc *view) {
    EmuTexture t = {0};
    gi_err err = {0};
    if (out == NULL || r == NULL || d == NULL) return cudaErrorInvalidValue;
    CudaError e = resource(r, &t);
    if (e == cudaSuccess) e = sampling(d, &t);
    if (e == cudaSuccess && view && view->format) e = cudaErrorNotSupported;
    if (e) return e;
    Texture *made = keep(emu_texture_new(runtime.emu, &t, &err), r, &err);
    if (made == NULL) return cudaErrorInvalidValue;
    made->desc = *d;
    if (view) made->view = *view, made->has_view = true;
    observed_texture(made->handle, &t, r);
    *out = made->handle;
    return cudaSuccess;
}

static CudaError surface_new(uint64_t *out, const CudaResourceDesc *r) {
    EmuTexture t = {0};
    gi_err err = {0};
    if (out == NULL || r == NULL || r->type != cudaResourceTypeArray) return cudaErrorInvalidValue;
    const Texels *a = (const Texels *)r->array;
    CudaError e = from_array(a, &t);
    if (e == cudaSuccess && !(a->flags & cudaArraySurfaceLoadStore)) e = cudaErrorInvalidValue;
    if (e) return e;
    Texture *made = keep(emu_surface_new(runtime.emu, &t, &err), r, &err);
    if (made == NULL) return cudaErrorInvalidValue;
    made->is_surface = true;
    observed_surface(made->handle, &t, r);
    *out = made->handle;
    return cudaSuccess;
}

static Texture **find(uint64_t handle, bool is_surface) {
    Texture **at = &textures;
    while (*at && ((*at)->handle != handle || (*at)->is_surface != is_surface)) at = &(*at)->next;
    return at;
}

static CudaError object_free(uint64_t handle, bool is_surface) {
    Texture **at = find(handle, is_surface), *t = *at;
    if (t == NULL) return handle ? cudaErrorInvalidValue : cudaSuccess;
    *at = t->next;
    observed_texture(handle, NULL, NULL);
    emu_texture_free(runtime.emu, handle);
    free(t);
    return cudaSuccess;
}

void texture_each(void (*f)(void *user, Texels *array, uint64_t address), void *user) {
    for (const Texture *t = textures; t; t = t->next) {
        const CudaResourceDesc *r = &t->resource;
        bool in_array = r->type == cudaResourceTypeArray;
        const void *p = r->type == cudaResourceTypeLinear ? r->linear.pointer : r->pitch.pointer;
        const Region *region = in_array ? NULL : memory_find((uint64_t)(uintptr_t)p);
        if (in_array) f(user, (Texels *)r->array, 0);
        else if (region) f(user, NULL, region->address);
    }
}

void surfaces_wrote(void) {
    for (const Texture *t = textures; t; t = t->next) {
        Texels *a = (Texels *)t->resource.array;
        if (t->is_surface && texels_is(a)) a->memory->contents.version++;
    }
}

API(cudaCreateTextureObject, uint64_t *out, const CudaResourceDesc *r, const CudaTextureDesc *d,
    const CudaResourceViewDesc *view) {
    return GUARDED(texture_new(out, r, d, view));
}
API(cudaDestroyTextureObject, uint64_t handle) {
    return CALL(object_free(handle, false));
}
API(cudaCreateSurfaceObject, uint64_t *out, const CudaResourceDesc *r) {
    return GUARDED(surface_new(out, r));
}
API(cudaDestroySurfaceObject, uint64_t handle) {
    return CALL(object_free(handle, true));
}

static CudaError give(void *out, const void *from, size_t size) {
    if (out == NULL || from == NULL) return cudaErrorInvalidValue;
    memcpy(out, from, size);
    return cudaSuccess;
}

API(cudaGetTextureObjectResourceDesc, CudaResourceDesc *out, uint64_t handle) {
    const Texture *t = *find(handle, false);
    return CALL(give(out, t ? &t->resource : NULL, offsetof(CudaResourceDesc, flags)));
}
API(cudaGetTextureObjectTextureDesc, CudaTextureDesc *out, uint64_t handle) {
    const Texture *t = *find(handle, false);
    return CALL(give(out, t ? &t->desc : NULL, sizeof *out));
}
API(cudaGetTextureObjectResourceViewDesc, CudaResourceViewDesc *out, uint64_t handle) {
    const Texture *t = *find(handle, false);
    return CALL(give(out, t && t->has_view ? &t->view : NULL, sizeof *out));
}
API(cudaGetSurfaceObjectResourceDesc, CudaResourceDesc *out, uint64_t handle) {
    const Texture *t = *find(handle, true);
    return CALL(give(out, t ? &t->resource : NULL, offsetof(CudaResourceDesc, flags)));
}
