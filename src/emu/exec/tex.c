/* tex.c - texture sampling.
**
** Model: every fetch is a weighted sum over 1, 2, 4 or 8 texels. An axis turns its coordinate into
** one or two texel indices and the weight of the second; a weight has 8 fractional bits, so that
** 1/256 is the finest step and 1 can be reached ("9-bit fixed point with 8 bits of fractional
** value"). All arithmetic on coordinates is exact in double, so results are the same everywhere.
**
** Limits: no mipmaps or anisotropy, and no seamless cube maps: a filter stays on its face. Where
** NVIDIA's text leaves a choice (how a weight is rounded: to nearest; the sum: in double, rounded
** once) real GPUs may differ in the last bit of the weight.
**
** Reference: CUDA C++ Programming Guide, appendix "Texture Fetching"; runtime API, cudaTextureDesc.
*/
#include "emu/exec/tex.h"

#include <math.h>
#include <string.h>

#include "emu/exec/num.h"

/* One axis of a fetch: texel indices (-1: the border) and the weight of the second. */
typedef struct Axis {
    int64_t index[2];
    double weight;
} Axis;

static int texel_channel_bytes(EmuTexFormat f) {
    switch (f) {
    case EMU_TEX_U8:
    case EMU_TEX_S8: return 1;
    case EMU_TEX_U16:
    case EMU_TEX_S16:
    case EMU_TEX_F16: return 2;
    case EMU_TEX_U32:
    case EMU_TEX_S32:
    case EMU_TEX_F32: break;
    }
    return 4;
}

int tex_channel_bytes(const EmuTexture *t) {
    return texel_channel_bytes(t->format);
}

int64_t tex_texel_bytes(const EmuTexture *t) {
    return (int64_t)texel_channel_bytes(t->format) * t->channels;
}

static int64_t row_bytes(const EmuTexture *t) {
    return t->pitch_bytes ? t->pitch_bytes : t->size[0] * tex_texel_bytes(t);
}

static int64_t height(const EmuTexture *t) {
    return t->dims > 1 ? t->size[1] : 1;
}

/* Of all slices or layers. */
static int64_t all_rows(const EmuTexture *t) {
    return height(t) * (t->dims > 2 ? t->size[2] : t->layers > 0 ? t->layers : 1);
}

int64_t emu_texture_bytes(const EmuTexture *t) {
    return (all_rows(t) - 1) * row_bytes(t) + t->size[0] * tex_texel_bytes(t);
}

int64_t tex_row_bytes(const EmuTexture *t) {
    return t->size[0] * tex_texel_bytes(t);
}

int64_t tex_byte_offset(const EmuTexture *t, const int64_t at[3]) {
    return (at[2] * height(t) + at[1]) * row_bytes(t) + at[0];
}

bool tex_yields_float(const EmuTexture *t) {
    return t->normalized_read || t->format == EMU_TEX_F16 || t->format == EMU_TEX_F32;
}

/* ---- texels ---- */

static int32_t read_integer(const unsigned char *p, EmuTexFormat f) {
    uint16_t u16;
    uint32_t u32;
    switch (f) {
    case EMU_TEX_U8: return *p;
    case EMU_TEX_S8: return (int8_t)*p;
    case EMU_TEX_U16: memcpy(&u16, p, 2); return u16;
    case EMU_TEX_S16: memcpy(&u16, p, 2); return (int16_t)u16;
    default: memcpy(&u32, p, 4); return (int32_t)u32;
    }
}

/* A channel as float: in [0, 1] or [-1, 1] for normalised integers. */
static float read_float(const unsigned char *p, EmuTexFormat f) {
    uint16_t half;
    float value;
    switch (f) {
    case EMU_TEX_F16: memcpy(&half, p, 2); return num_f16_to_f32(half);
    case EMU_TEX_F32: memcpy(&value, p, 4); return value;
    case EMU_TEX_U8: return (float)read_integer(p, f) / 255.0F;
    case EMU_TEX_U16: return (float)read_integer(p, f) / 65535.0F;
    case EMU_TEX_S8: return fmaxf((float)read_integer(p, f) / 127.0F, -1);
    default: return fmaxf((float)read_integer(p, f) / 32767.0F, -1);
    }
}

/* Where texel (x, y, z) lies; z is the layer of a layered texture. -1 for the border. */
static int64_t texel_offset(const EmuTexture *t, int64_t x, int64_t y, int64_t z) {
    if (x < 0 || y < 0 || z < 0) return -1;
    return (z * height(t) + y) * row_bytes(t) + x * tex_texel_bytes(t);
}

/* A channel of the border, which is given as float. */
static int32_t border_integer(const EmuTexture *t, int channel) {
    bool is_signed =
        t->format == EMU_TEX_S8 || t->format == EMU_TEX_S16 || t->format == EMU_TEX_S32;
    int bits = 8 * texel_channel_bytes(t->format);
    return (int32_t)num_f32_to_int(t->border[channel], bits, is_signed, NUM_RN);
}

static float channel_float(const EmuTexture *t, int64_t offset, int channel) {
    if (offset < 0) return t->border[channel];
    const unsigned char *p = (const unsigned char *)t->data + offset;
    return read_float(p + channel * texel_channel_bytes(t->format), t->format);
}

static uint32_t channel_bits(const EmuTexture *t, int64_t offset, int channel) {
    if (tex_yields_float(t)) return num_f32_bits(channel_float(t, offset, channel));
    if (offset < 0) return (uint32_t)border_integer(t, channel);
    const unsigned char *p = (const unsigned char *)t->data + offset;
    return (uint32_t)read_integer(p + channel * texel_channel_bytes(t->format), t->format);
}

/* ---- axes ---- */

/* Wrapping and mirroring need normalised coordinates; else they mean clamping (cudaTextureDesc). */
static EmuTexAddress address_mode(const EmuTexture *t, int axis) {
    EmuTexAddress mode = t->address[axis];
    bool periodic = mode == EMU_TEX_WRAP || mode == EMU_TEX_MIRROR;
    return periodic && !t->normalized_coords ? EMU_TEX_CLAMP : mode;
}

static int64_t resolve(int64_t i, int64_t n, EmuTexAddress mode) {
    if (i >= 0 && i < n) return i;
    if (mode == EMU_TEX_BORDER) return -1;
    if (mode == EMU_TEX_WRAP) return (i % n + n) % n;
    return i < 0 ? 0 : n - 1;
}

/* floor(x) for |x| < 2^62, without a call. */
static int64_t floor_of(double x) {
    int64_t whole = (int64_t)x;
    return whole - ((double)whole > x);
}

/* The coordinate in texels, folded into the texture when its mode is periodic. */
static double texel_coordinate(const EmuTexture *t, int axis, float coordinate) {
    double x = isnan(coordinate) ? 0 : (double)coordinate;
    x = x < -1e12 ? -1e12 : x > 1e12 ? 1e12 : x;
    EmuTexAddress mode = address_mode(t, axis);
    double whole = (double)floor_of(x);
    if (mode == EMU_TEX_WRAP) x -= whole;
    else if (mode == EMU_TEX_MIRROR) x = fmod(whole, 2) == 0 ? x - whole : 1 - (x - whole);
    if (t->normalized_coords) x *= (double)t->size[axis];
    return x < -0x1p40 ? -0x1p40 : x > 0x1p40 ? 0x1p40 : x; /* beyond any texture */
}

static Axis axis_point(int64_t index) {
    return (Axis){.index = {index, index}};
}

static Axis axis_float(const EmuTexture *t, int axis, float coordinate) {
    double x = texel_coordinate(t, axis, coordinate);
    EmuTexAddress mode = address_mode(t, axis);
    int64_t n = t->size[axis];
    if (!t->linear_filter) return axis_point(resolve(floor_of(x), n, mode));
    int64_t below = floor_of(x - 0.5);
    Axis a = {.weight = (double)floor_of((x - 0.5 - (double)below) * 256 + 0.5) / 256};
    a.index[0] = resolve(below, n, mode);
    a.index[1] = resolve(below + 1, n, mode);
    return a;
}

/* Texel indices: outside a linear texture there is nothing (the border, and that reads 0). */
static Axis axis_int(const EmuTexture *t, int axis, int32_t i) {
    EmuTexAddress mode = t->kind == EMU_TEX_LINEAR ? EMU_TEX_BORDER : t->address[axis];
    if (mode == EMU_TEX_WRAP || mode == EMU_TEX_MIRROR) mode = EMU_TEX_CLAMP;
    return axis_point(resolve(i, t->size[axis], mode));
}

/* ---- fetches ---- */

static int64_t clamp_layer(const EmuTexture *t, int32_t layer) {
    return layer < 0 ? 0 : layer >= t->layers ? t->layers - 1 : layer;
}

/* The axis that a 1-D texture has not got lies at its coordinate 0, half a texel before the middle
** of its only row: a linear filter with a border there takes half the border, as an H200 does (not
** in a layered texture). */
static Axis axis_missing(const EmuTexture *t, const TexCoord *at, int d) {
    bool blends = d == 1 && t->dims == 1 && t->layers == 0 && t->kind == EMU_TEX_ARRAY &&
                  t->linear_filter && !at->is_int && t->address[1] == EMU_TEX_BORDER;
    return blends ? (Axis){.index = {0, -1}, .weight = 0.5} : axis_point(0);
}

/* The three axes of a fetch. */
static void make_axes(const EmuTexture *t, const TexCoord *at, Axis axes[3]) {
    for (int d = 0; d < 3; d++) {
        if (d >= t->dims) axes[d] = axis_missing(t, at, d);
        else if (at->is_int || t->kind == EMU_TEX_LINEAR) axes[d] = axis_int(t, d, at->i[d]);
        else axes[d] = axis_float(t, d, at->f[d]);
    }
    if (t->layers > 0) axes[2] = axis_point(clamp_layer(t, at->layer));
}

/* The texels of a filter whose weight is not zero. */
typedef struct Corners {
    int64_t offset[8];
    double weight[8];
    int n;
} Corners;

static void find_corners(const EmuTexture *t, const Axis axes[3], Corners *c) {
    int one_sided = 0;
    c->n = 0;
    for (int d = 0; d < 3; d++) one_sided |= (axes[d].weight == 0) << d;
    for (int corner = 0; corner < 8; corner++) {
        if (corner & one_sided) continue;
        double weight = 1;
        int64_t at[3];
        for (int d = 0; d < 3; d++) {
            int second = corner >> d & 1;
            weight *= second ? axes[d].weight : 1 - axes[d].weight;
            at[d] = axes[d].index[second];
        }
        if (weight == 0) continue;
        c->offset[c->n] = texel_offset(t, at[0], at[1], at[2]);
        c->weight[c->n++] = weight;
    }
}

static float filter(const EmuTexture *t, const Corners *c, int channel) {
    double sum = 0;
    for (int k = 0; k < c->n; k++)
        sum += c->weight[k] * (double)channel_float(t, c->offset[k], channel);
    return (float)sum;
}

/* ---- cube maps ---- */

/* The face that a direction meets, and where: CUDA's table, "Cubemap Textures". */
static int cube_face(const float v[3], float st[2]) {
    const float x = v[0], y = v[1], z = v[2], a = fabsf(x), b = fabsf(y), c = fabsf(z);
    float m, s, t;
    int face;
    if (a >= b && a >= c) face = x >= 0 ? 0 : 1, m = a, s = x >= 0 ? -z : z, t = -y;
    else if (b >= c) face = y >= 0 ? 2 : 3, m = b, s = x, t = y >= 0 ? z : -z;
    else face = z >= 0 ? 4 : 5, m = c, s = z >= 0 ? x : -x, t = -y;
    st[0] = (s / m + 1) / 2;
    st[1] = (t / m + 1) / 2;
    return face;
}

/* Makes of a fetch from a cube map one from a layered texture of the faces. */
static void take_face(EmuTexture *t, TexCoord *at) {
    float direction[3];
    memcpy(direction, at->f, sizeof direction);
    t->cube = at->cube = false;
    t->normalized_coords = true;
    for (int k = 0; k < 3; k++) t->address[k] = EMU_TEX_CLAMP;
    int face = cube_face(direction, at->f);
    int64_t last = t->layers / 6 - 1, cube = at->layered ? at->layer : 0;
    at->layered = true;
    at->layer = (int32_t)(6 * (cube < 0 ? 0 : cube > last ? last : cube) + face);
}

/* ---- the four texels of a linear filter ---- */

/* Lower left, lower right, upper right, upper left; y grows downwards. Returns the upper left. */
static int64_t gathered(const EmuTexture *t, const TexCoord *at, int64_t offset[4]) {
    static const int x[4] = {0, 1, 1, 0}, y[4] = {1, 1, 0, 0};
    EmuTexture filtered = *t;
    Axis axes[3];
    filtered.linear_filter = true;
    make_axes(&filtered, at, axes);
    int64_t z = axes[2].index[0];
    for (int k = 0; k < 4; k++)
        offset[k] = texel_offset(t, axes[0].index[x[k]], axes[1].index[y[k]], z);
    return offset[3];
}

static void gather(const EmuTexture *t, const TexCoord *at, uint32_t out[4], int64_t *byte_offset) {
    int64_t offset[4];
    *byte_offset = gathered(t, at, offset);
    for (int k = 0; k < 4; k++)
        out[k] = at->gather > t->channels ? 0 : channel_bits(t, offset[k], at->gather - 1);
}

static bool is_filtered(const EmuTexture *t, const TexCoord *at) {
    return t->linear_filter && t->kind == EMU_TEX_ARRAY && !at->is_int;
}

int tex_reads(const EmuTexture *t, const TexCoord *at, int64_t offset[8]) {
    Axis axes[3];
    Corners corners;
    if (at->cube) {
        EmuTexture faces = *t;
        TexCoord on = *at;
        take_face(&faces, &on);
        return tex_reads(&faces, &on, offset);
    }
    if (at->gather) return gathered(t, at, offset), 4;
    make_axes(t, at, axes);
    if (!is_filtered(t, at)) {
        offset[0] = texel_offset(t, axes[0].index[0], axes[1].index[0], axes[2].index[0]);
        return 1;
    }
    find_corners(t, axes, &corners);
    memcpy(offset, corners.offset, sizeof corners.offset);
    return corners.n;
}

void tex_sample(const EmuTexture *t, const TexCoord *at, uint32_t out[4], int64_t *byte_offset) {
    Axis axes[3];
    Corners corners;
    corners.n = 0;
    if (at->cube) {
        EmuTexture faces = *t;
        TexCoord on = *at;
        take_face(&faces, &on);
        tex_sample(&faces, &on, out, byte_offset);
        return;
    }
    if (at->gather) {
        gather(t, at, out, byte_offset);
        return;
    }
    make_axes(t, at, axes);
    int64_t offset = texel_offset(t, axes[0].index[0], axes[1].index[0], axes[2].index[0]);
    bool outside_linear = t->kind == EMU_TEX_LINEAR && offset < 0;
    bool filtered = is_filtered(t, at);
    if (filtered) find_corners(t, axes, &corners);
    memset(out, 0, 4 * sizeof *out); /* channels that are missing: 0, the last one too */
    for (int c = 0; c < t->channels; c++) {
        if (outside_linear) out[c] = 0;
        else if (filtered) out[c] = num_f32_bits(filter(t, &corners, c));
        else out[c] = channel_bits(t, offset, c);
    }
    *byte_offset = offset;
}

/* ---- checks ---- */

const char *tex_misuse(const EmuTexture *t, const TexCoord *at, bool as_int) {
    if (at->cube != t->cube)
        return at->cube ? "reads a texture that is no cube map as one"
                        : "reads a cube map as another texture";
    if (at->cube && !at->layered && t->layers != 6)
        return "reads several cube maps without saying which";
    if (!at->cube && at->layered != (t->layers > 0))
        return at->layered ? "reads a texture without layers as a layered one"
                           : "reads a layered texture without a layer";
    if (at->dims != t->dims)
        return t->dims == 1   ? "reads a 1-D texture with more coordinates"
               : t->dims == 2 ? "reads a 2-D texture with another number of coordinates"
                              : "reads a 3-D texture with fewer coordinates";
    if (t->kind == EMU_TEX_LINEAR && !at->is_int)
        return "reads linear memory with float coordinates (use tex1Dfetch)";
    if (at->is_int && t->normalized_coords)
        return "reads a texture of normalised coordinates with integer coordinates";
    if (as_int && tex_yields_float(t)) return "reads a texture of floats as integers";
    if (!as_int && !tex_yields_float(t))
        return "reads a texture of integers as floats without normalisation";
    return NULL;
}

static bool sizes_fit(const EmuTexture *t) {
    int64_t texels = t->layers > 0 ? t->layers : 1;
    if (t->layers > 65536) return false;
    for (int d = 0; d < t->dims; d++) {
        if (t->size[d] < 1 || t->size[d] > INT32_MAX || texels > INT64_C(1) << 40) return false;
        texels *= t->size[d];
    }
    return texels <= INT64_C(1) << 40;
}

bool emu_texture_check(const EmuTexture *t, gi_err *err) {
    if (t->dims < 1 || t->dims > 3)
        return gi_fail(err, "usage", "a texture has 1, 2 or 3 dimensions, not %d", t->dims);
    if (t->channels != 1 && t->channels != 2 && t->channels != 4)
        return gi_fail(err, "usage", "a texture has 1, 2 or 4 channels, not %d", t->channels);
    if (!t->data) return gi_fail(err, "usage", "the texture has no data");
    if (!sizes_fit(t))
        return gi_fail(err, "usage",
                       "a texture of this size is impossible: every side must be 1 or "
                       "more and all of it at most 2^40 texels");
    if (t->cube && (t->dims != 2 || t->size[0] != t->size[1] || t->layers < 6 || t->layers % 6))
        return gi_fail(err, "usage",
                       "a cube map has six square faces as its layers, or several times six");
    if (t->layers > 0 && t->dims == 3)
        return gi_fail(err, "usage", "a 3-D texture cannot have layers");
    if (t->pitch_bytes && t->pitch_bytes < t->size[0] * tex_texel_bytes(t))
        return gi_fail(err, "usage", "the texture's rows are %lld bytes apart but %lld bytes long",
                       (long long)t->pitch_bytes, (long long)(t->size[0] * tex_texel_bytes(t)));
    if (t->pitch_bytes > (INT64_C(1) << 44) / all_rows(t))
        return gi_fail(err, "usage", "the texture's rows are %lld bytes apart: too far",
                       (long long)t->pitch_bytes);
    if (t->kind == EMU_TEX_LINEAR && (t->dims != 1 || t->layers > 0))
        return gi_fail(err, "usage",
                       "a texture of linear memory is 1-D without layers: copy the data "
                       "to an array texture for more");
    if (t->kind == EMU_TEX_LINEAR && (t->linear_filter || t->normalized_coords))
        return gi_fail(err, "usage",
                       "a texture of linear memory has neither linear filtering nor "
                       "normalised coordinates: use an array texture");
    if (t->normalized_read && (t->format == EMU_TEX_U32 || t->format == EMU_TEX_S32))
        return gi_fail(err, "usage", "only 8- and 16-bit integer texels can be read normalised");
    if (t->linear_filter && !tex_yields_float(t))
        return gi_fail(err, "usage",
                       "linear filtering needs float texels: integers must be read "
                       "normalised");
    return true;
}
