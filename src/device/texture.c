/* texture.c - textures of both devices. The rules of CUDA's textures are written once, in the
** virtual GPU (emu_texture_check), which has to obey them.
*/
#include "device/class.h"

#include <string.h>

/* False: a texture cannot hold such elements. */
static bool format_of(ArrayType type, EmuTexFormat *out) {
    switch (type) {
    case ARRAY_U8: *out = EMU_TEX_U8; return true;
    case ARRAY_I8: *out = EMU_TEX_S8; return true;
    case ARRAY_U16: *out = EMU_TEX_U16; return true;
    case ARRAY_I16: *out = EMU_TEX_S16; return true;
    case ARRAY_U32: *out = EMU_TEX_U32; return true;
    case ARRAY_I32: *out = EMU_TEX_S32; return true;
    case ARRAY_F32: *out = EMU_TEX_F32; return true;
    default: return false;
    }
}

EmuTexture texture_for_emu(const Array *a, const TextureSpec *spec) {
    static const EmuTexAddress address[] = {[TEXTURE_WRAP] = EMU_TEX_WRAP,
                                            [TEXTURE_CLAMP] = EMU_TEX_CLAMP,
                                            [TEXTURE_MIRROR] = EMU_TEX_MIRROR,
                                            [TEXTURE_BORDER] = EMU_TEX_BORDER};
    EmuTexture t = {.data = a->data,
                    .kind = spec->kind == TEXTURE_LINEAR ? EMU_TEX_LINEAR : EMU_TEX_ARRAY,
                    .channels = spec->channels,
                    .dims = spec->dims,
                    .layers = spec->layers,
                    .linear_filter = spec->linear_filter,
                    .normalized_coords = spec->normalized_coords,
                    .normalized_read = spec->normalized_read};
    format_of(a->type, &t.format);
    for (int i = 0; i < 3; i++) t.size[i] = spec->size[i];
    for (int i = 0; i < 3; i++) t.address[i] = address[spec->address[i]];
    memcpy(t.border, spec->border, sizeof t.border);
    return t;
}

static bool check(const Array *a, const TextureSpec *spec, gi_err *err) {
    EmuTexFormat format;
    if (!format_of(a->type, &format))
        return gi_fail(err, "usage", "a texture cannot hold %s", array_type_name(a->type));
    EmuTexture t = texture_for_emu(a, spec);
    return emu_texture_check(&t, err);
}

DeviceTexture *device_texture(Device *d, Array *a, const TextureSpec *spec, gi_err *err) {
    if (!check(a, spec, err)) return NULL;
    DeviceTexture *texture = d->class->texture(d, a, spec, err);
    if (texture != NULL) texture->device = d;
    return texture;
}

void device_texture_free(DeviceTexture *t) {
    if (t != NULL) t->device->class->texture_free(t);
}

uint64_t device_texture_handle(const DeviceTexture *t) {
    return t->handle;
}
