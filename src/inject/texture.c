/* texture.c - arrays and texture objects, as a program creates them, in a recording's words.
**
** A GPU's handles of textures are small numbers, which arguments may be for other reasons. So a
** recording has others, which nothing else is, and an argument is changed where the kernel reads a
** texture by it.
*/
#include <stdio.h>
#include <string.h>

#include "emu/emu.h"
#include "inject/cupti.h"
#include "inject/inject.h"

#define FIRST_HANDLE 0x6c61780000000000u /* as they are recorded */

typedef struct Array {
    const void *handle; /* NULL: gone */
    size_t width, height, depth;
    unsigned flags, channels;
    int format, bits; /* of a channel */
    size_t row;       /* bytes */
} Array;

typedef struct Texture {
    uint64_t handle; /* 0: gone */
} Texture;

static Array *arrays; /* their place is their number */
static int n_arrays, cap_arrays;
static Texture *textures; /* … in the recording, from FIRST_HANDLE on */
static int n_textures, cap_textures;

/* --- formats: 1, 2, 3 unsigned of 8, 16, 32 bits; 8, 9, 10 signed; 16 a half, 32 a float --- */

static int bits_of(int format) {
    if (format == 16 || format == 32) return format;
    if ((format >= 1 && format <= 3) || (format >= 8 && format <= 10))
        return 8 << (format < 8 ? format - 1 : format - 8);
    refuse("the program has texels of a format (%d) that cannot be recorded on a GPU", format);
}

static EmuTexFormat texels_of(int format) {
    static const EmuTexFormat whole[] = {EMU_TEX_U8,  EMU_TEX_U16, EMU_TEX_U32,
                                         EMU_TEX_S8,  EMU_TEX_S16, EMU_TEX_S32};
    if (format == 16) return EMU_TEX_F16;
    if (format == 32) return EMU_TEX_F32;
    return whole[format < 8 ? format - 1 : format - 8 + 3];
}

/* --- arrays --- */

static const Array *array_of(const void *handle) {
    for (int i = 0; i < n_arrays; i++)
        if (arrays[i].handle == handle) return &arrays[i];
    refuse("the program uses an array whose making was not seen");
}

enum { SIGNED, UNSIGNED, FLOAT };

void texture_array(const void *handle, const CuArray3D *d) {
    int bits = bits_of(d->format), b[4] = {0};
    for (unsigned i = 0; i < d->channels && i < 4; i++) b[i] = bits;
    gi_grow(arrays, n_arrays, cap_arrays);
    arrays[n_arrays] = (Array){.handle = handle,
                               .width = d->width,
                               .height = d->height,
                               .depth = d->depth,
                               .flags = d->flags,
                               .channels = d->channels,
                               .format = d->format,
                               .bits = bits,
                               .row = d->width * d->channels * (size_t)bits / 8};
    int kind = d->format >= 16 ? FLOAT : d->format >= 8 ? SIGNED : UNSIGNED;
    tape_line("array %d %zu %zu %zu %d %d,%d,%d,%d %u", n_arrays, d->width, d->height, d->depth,
              kind, b[0], b[1], b[2], b[3], d->flags);
    n_arrays++;
}

void texture_array_gone(const void *handle) {
    for (int i = 0; handle && i < n_arrays; i++)
        if (arrays[i].handle == handle) {
            arrays[i].handle = NULL;
            tape_line("free array:%d", i);
        }
}

void texture_place(const void *array, size_t x, size_t y, size_t z, char out[120]) {
    const Array *a = array_of(array);
    snprintf(out, 120, "array:%d:%zu:%zu:%zu %zu %zu", (int)(a - arrays), x, y, z, a->row,
             a->height ? a->height : 1);
}

bool texture_any(void) {
    for (int i = 0; i < n_arrays; i++)
        if (arrays[i].handle) return true;
    for (int i = 0; i < n_textures; i++)
        if (textures[i].handle) return true;
    return false;
}

/* --- texture objects --- */

enum { LAYERED = 1, CUBE = 4 };                  /* of arrays */
enum { AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16 }; /* of textures */
enum { OF_ARRAY, OF_MIPMAPS, OF_LINEAR, OF_ROWS };

static EmuTexture from_array(const Array *a) {
    bool layered = a->flags & (LAYERED | CUBE);
    int dims = a->height == 0 ? 1 : layered || a->depth == 0 ? 2 : 3;
    return (EmuTexture){.kind = EMU_TEX_ARRAY,
                        .format = texels_of(a->format),
                        .channels = (int)a->channels,
                        .dims = dims,
                        .size = {(int64_t)a->width, dims > 1 ? (int64_t)a->height : 1,
                                 dims > 2 ? (int64_t)a->depth : 1},
                        .layers = layered ? (int64_t)a->depth : 0,
                        .cube = a->flags & CUBE};
}

static EmuTexture from_memory(const CuResource *r) {
    size_t texel = (size_t)bits_of(r->memory.format) / 8 * r->memory.channels;
    EmuTexture t = {.kind = r->type == OF_LINEAR ? EMU_TEX_LINEAR : EMU_TEX_ARRAY,
                    .format = texels_of(r->memory.format),
                    .channels = (int)r->memory.channels,
                    .dims = r->type == OF_LINEAR ? 1 : 2,
                    .size = {(int64_t)r->memory.width, (int64_t)r->memory.height, 1},
                    .pitch_bytes = r->type == OF_LINEAR ? 0 : (int64_t)r->memory.pitch};
    if (r->type == OF_LINEAR) /* whose width is in bytes */
        t.size[0] = texel ? (int64_t)(r->memory.width / texel) : 0, t.size[1] = 1;
    return t;
}

static void sampling(const CuTexture *d, EmuTexture *t) {
    bool is_small = t->format == EMU_TEX_U8 || t->format == EMU_TEX_S8 ||
                    t->format == EMU_TEX_U16 || t->format == EMU_TEX_S16;
    for (int i = 0; i < 3; i++) t->address[i] = (EmuTexAddress)d->address[i];
    t->linear_filter = d->filter == 1;
    t->normalized_read = !(d->flags & AS_INTEGER) && is_small; /* others are read as they are */
    t->normalized_coords = d->flags & NORMALIZED;
    memcpy(t->border, d->border, sizeof t->border);
}

void texture_made(uint64_t handle, const CuResource *r, const CuTexture *d, const void *view) {
    char place[64];
    int format_of_view = 0;
    gi_buf words = {0};
    if (view) memcpy(&format_of_view, view, sizeof format_of_view);
    if (format_of_view || r->type == OF_MIPMAPS || d->flags & SRGB)
        refuse("the program has a texture of mipmaps, of sRGB colours, or with a view of its own, "
               "which cannot be recorded on a GPU");
    const Array *a = r->type == OF_ARRAY ? array_of(r->array) : NULL;
    EmuTexture t = a ? from_array(a) : from_memory(r);
    sampling(d, &t);
    if (a) snprintf(place, sizeof place, "array:%d", (int)(a - arrays));
    else snprintf(place, sizeof place, "0x%llx", (unsigned long long)r->memory.address);
    emu_texture_words(&t, &words);
    tape_line("texture 0x%llx %s %s", FIRST_HANDLE + (unsigned long long)n_textures, place,
              words.data);
    gi_buf_free(&words);
    gi_grow(textures, n_textures, cap_textures);
    textures[n_textures++] = (Texture){handle};
}

void texture_gone(uint64_t handle) {
    for (int i = 0; handle && i < n_textures; i++)
        if (textures[i].handle == handle) {
            textures[i].handle = 0;
            tape_line("free texture:0x%llx", FIRST_HANDLE + (unsigned long long)i);
        }
}

uint64_t texture_word(uint64_t word) {
    for (int i = 0; word != 0 && i < n_textures; i++)
        if (textures[i].handle == word) return FIRST_HANDLE + (uint64_t)i;
    return word;
}

void texture_arguments(const Launched *k, uint8_t *bytes) {
    const uint8_t *is_texture = n_textures > 0 ? code_textures(k) : NULL;
    bool is_machine = n_textures > 0 && k->image && code_is_machine(k->image);
    for (size_t at = 0; (is_texture || is_machine) && at + 8 <= k->bytes; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        if (is_machine && texture_word(word) != word)
            refuse("the kernel %s is machine code, and whether 0x%llx among its arguments is a "
                   "texture cannot be told",
                   k->name, (unsigned long long)word);
        if (is_texture && is_texture[at / 8]) word = texture_word(word);
        memcpy(bytes + at, &word, sizeof word);
    }
}
