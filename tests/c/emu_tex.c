/* emu_tex.c - texture sampling against the formulas of CUDA's "Texture Fetching" appendix, written
** down naively: addressing by loops, weights in 1/256 as integers, nested interpolation. */
#include "emu/exec/tex.h"

#include <math.h>
#include <stdlib.h>

#include "tap.h"

static gi_rng rng;

enum { MAX_TEXELS = 7 * 5 * 4 * 4 };

static float data_f32[MAX_TEXELS];
static uint8_t data_u8[MAX_TEXELS];

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- the reference ---- */

/* Index i of an axis of n texels under an address mode; -1: the border. */
static long naive_index(long i, long n, EmuTexAddress mode) {
    if (mode == EMU_TEX_WRAP) {
        while (i < 0) i += n;
        while (i >= n) i -= n;
    } else if (mode == EMU_TEX_BORDER) {
        if (i < 0 || i >= n) return -1;
    } else {
        if (i < 0) i = 0;
        if (i >= n) i = n - 1;
    }
    return i;
}

static long double naive_texel(const EmuTexture *t, const long at[3], int channel) {
    long n[3] = {1, 1, 1}, index[3] = {0, 0, 0};
    for (int d = 0; d < t->dims; d++) {
        n[d] = (long)t->size[d];
        index[d] = naive_index(at[d], n[d],
                               t->normalized_coords              ? t->address[d]
                               : t->address[d] == EMU_TEX_BORDER ? EMU_TEX_BORDER
                                                                 : EMU_TEX_CLAMP);
        if (index[d] < 0) return (long double)t->border[channel];
    }
    long texel = ((index[2] * n[1] + index[1]) * n[0] + index[0]) * t->channels + channel;
    return t->format == EMU_TEX_F32 ? (long double)((const float *)t->data)[texel]
                                    : (long double)(((const uint8_t *)t->data)[texel] / 255.0F);
}

/* A coordinate in texels. */
static long double naive_coordinate(const EmuTexture *t, int d, float c) {
    long double x = (long double)c;
    if (!t->normalized_coords) return x;
    if (t->address[d] == EMU_TEX_WRAP) {
        while (x < 0) x += 1;
        while (x >= 1) x -= 1;
    } else if (t->address[d] == EMU_TEX_MIRROR) {
        while (x < 0) x += 2;
        while (x >= 2) x -= 2;
        if (x >= 1) x = 2 - x;
    }
    return x * (long double)t->size[d];
}

/* Interpolates along dimension d and those below. */
static long double naive_filter(const EmuTexture *t, const long double x[3], long at[3], int d,
                                int channel) {
    if (d < 0) return naive_texel(t, at, channel);
    if (!t->linear_filter) {
        at[d] = (long)floorl(x[d]);
        return naive_filter(t, x, at, d - 1, channel);
    }
    long double xb = x[d] - 0.5L;
    long i = (long)floorl(xb), alpha = lroundl((xb - (long double)i) * 256);
    long double part[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        at[d] = i + k;
        if (k == 0 ? alpha < 256 : alpha > 0) part[k] = naive_filter(t, x, at, d - 1, channel);
    }
    return (part[0] * (long double)(256 - alpha) + part[1] * (long double)alpha) / 256;
}

/* A 1-D texture is half a texel off its only row, as on an H200. */
static long double naive_fetch(const EmuTexture *t, const long double x[3], long at[3],
                               int channel) {
    long double value = naive_filter(t, x, at, t->dims - 1, channel);
    bool blends = t->dims == 1 && t->linear_filter && t->address[1] == EMU_TEX_BORDER;
    return blends ? (value + (long double)t->border[channel]) / 2 : value;
}

/* ---- random fetches ---- */

static float any_coordinate(const EmuTexture *t, int d) {
    double n = t->normalized_coords ? 1 : (double)t->size[d];
    switch (gi_rng_below(&rng, 4)) {
    case 0: return (float)(n * ((double)gi_rng_below(&rng, 9) / 2 - 2));
    case 1: return (float)(n * ((double)gi_rng_below(&rng, 1024) / 256 - 2));
    case 2: return (float)(n * (gi_rng_unit(&rng) * 1.5 - 0.25));
    default: return (float)(n * (gi_rng_unit(&rng) * 20 - 10));
    }
}

static int wrong_fetches(const EmuTexture *t, int fetches) {
    int wrong = 0;
    for (int i = 0; i < fetches; i++) {
        TexCoord at = {.dims = t->dims};
        long double x[3] = {0, 0, 0};
        long index[3] = {0, 0, 0};
        for (int d = 0; d < t->dims; d++) {
            at.f[d] = any_coordinate(t, d);
            x[d] = naive_coordinate(t, d, at.f[d]);
        }
        uint32_t out[4];
        int64_t offset;
        tex_sample(t, &at, out, &offset);
        for (int c = 0; c < 4; c++) {
            float want = c < t->channels ? (float)naive_fetch(t, x, index, c) : 0;
            if (fabsf(float_of(out[c]) - want) > 2e-7F && wrong++ == 0)
                printf("# (%a, %a, %a) channel %d: got %a, want %a\n", (double)at.f[0],
                       (double)at.f[1], (double)at.f[2], c, (double)float_of(out[c]), (double)want);
        }
    }
    return wrong;
}

static void test_filters(void) {
    static const char *const mode_name[] = {"wrap", "clamp", "mirror", "border"};
    for (int mode = 0; mode < 4; mode++)
        for (int dims = 1; dims <= 3; dims++)
            for (int flags = 0; flags < 8; flags++) {
                EmuTexAddress m = (EmuTexAddress)mode;
                bool bytes = flags & 4;
                EmuTexture t = {.data = bytes ? (const void *)data_u8 : (const void *)data_f32,
                                .kind = EMU_TEX_ARRAY,
                                .format = bytes ? EMU_TEX_U8 : EMU_TEX_F32,
                                .normalized_read = bytes,
                                .channels = dims == 3   ? 1
                                            : dims == 2 ? 4
                                                        : 2,
                                .dims = dims,
                                .size = {7, 5, 4},
                                .address = {m, m, m},
                                .linear_filter = flags & 1,
                                .normalized_coords = flags & 2,
                                .border = {0.25F, 0.5F, 0.75F, 0.125F}};
                gi_err err;
                ok(emu_texture_check(&t, &err) && wrong_fetches(&t, 400) == 0,
                   "%d-D %s %s %s coordinates, %s", dims, mode_name[mode],
                   t.linear_filter ? "linear" : "point",
                   t.normalized_coords ? "normalised" : "plain", bytes ? "bytes" : "floats");
            }
}

/* ---- one fetch at a time, values worked out by hand ---- */

static float fetch_1d(const EmuTexture *t, float x) {
    TexCoord at = {.dims = 1, .f = {x}};
    uint32_t out[4];
    int64_t offset;
    tex_sample(t, &at, out, &offset);
    return float_of(out[0]);
}

static void test_by_hand(void) {
    static const float ramp[4] = {10, 20, 40, 80};
    EmuTexture t = {.data = ramp,
                    .kind = EMU_TEX_ARRAY,
                    .format = EMU_TEX_F32,
                    .channels = 1,
                    .dims = 1,
                    .size = {4},
                    .address = {EMU_TEX_CLAMP},
                    .linear_filter = true};
    ok(fetch_1d(&t, 0.5F) == 10 && fetch_1d(&t, 2.5F) == 40, "texel centres are at halves");
    ok(fetch_1d(&t, 2) == 30, "halfway between two texels");
    ok(fetch_1d(&t, -7) == 10 && fetch_1d(&t, 1e9F) == 80, "clamped at both ends");
    ok(fetch_1d(&t, 0.5F + 1.0F / 256) == 10 + 10.0F / 256, "weights have steps of 1/256");
    ok(fetch_1d(&t, 0.5F + 1.0F / 1024) == 10, "… and nothing finer");
    ok(fetch_1d(&t, 1.5F - 1.0F / 1024) == 20, "… and reach 1");
    ok(fetch_1d(&t, NAN) == 10 && fetch_1d(&t, INFINITY) == 80, "NaN counts as 0, infinity clamps");
    t.address[0] = EMU_TEX_BORDER;
    ok(fetch_1d(&t, 0) == 5, "half border, half texel 0");
    t.normalized_coords = true;
    t.linear_filter = false;
    t.address[0] = EMU_TEX_WRAP;
    ok(fetch_1d(&t, -0.25F) == 80 && fetch_1d(&t, 3.3F) == 20, "wrapped");
    t.address[0] = EMU_TEX_MIRROR;
    ok(fetch_1d(&t, -0.1F) == 10 && fetch_1d(&t, 1.1F) == 80 && fetch_1d(&t, 1.9F) == 10,
       "mirrored");
}

static void sample_int(const EmuTexture *t, int dims, int32_t x, int32_t y, int32_t layer,
                       uint32_t out[4], int64_t *offset) {
    TexCoord at = {
        .dims = dims, .is_int = true, .layered = t->layers > 0, .i = {x, y}, .layer = layer};
    tex_sample(t, &at, out, offset);
}

static void test_linear_memory(void) {
    static const int16_t v[6] = {1, -2, 3, -4, 5, -6};
    EmuTexture t = {.data = v,
                    .kind = EMU_TEX_LINEAR,
                    .format = EMU_TEX_S16,
                    .channels = 2,
                    .dims = 1,
                    .size = {3},
                    .border = {9, 9, 9, 9}};
    uint32_t out[4];
    int64_t offset;
    sample_int(&t, 1, 1, 0, 0, out, &offset);
    ok((int32_t)out[0] == 3 && (int32_t)out[1] == -4, "tex1Dfetch reads both channels, signed");
    ok(out[2] == 0 && out[3] == 0, "missing channels read 0, as an H200 does");
    is_int(offset, 4, "the texel's place in memory");
    for (int i = 0; i < 2; i++) {
        sample_int(&t, 1, i ? 3 : -1, 0, 0, out, &offset);
        ok(out[0] == 0 && out[1] == 0 && offset == -1, "outside, tex1Dfetch reads 0");
    }
    t.normalized_read = true;
    static const int16_t extreme[6] = {-32768, -32767, 32767, 0, 1, 0};
    t.data = extreme;
    sample_int(&t, 1, 0, 0, 0, out, &offset);
    ok(float_of(out[0]) == -1 && float_of(out[1]) == -1, "normalised s16 stays in [-1, 1]");
    sample_int(&t, 1, 1, 0, 0, out, &offset);
    ok(float_of(out[0]) == 1 && out[3] == 0, "… and reaches 1");
}

static void test_formats(void) {
    static const uint8_t raw[8] = {0xff, 0x01, 0x00, 0xbc, 0xff, 0x7b, 0x01, 0x00};
    static const struct {
        EmuTexFormat format;
        bool normalized;
        int index;
        uint32_t want;
    } table[] = {
        {EMU_TEX_U8, false, 0, 255},         {EMU_TEX_S8, false, 0, 0xffffffff},
        {EMU_TEX_U16, false, 1, 0xbc00},     {EMU_TEX_S16, false, 1, 0xffffbc00},
        {EMU_TEX_U32, false, 0, 0xbc0001ff}, {EMU_TEX_S32, false, 1, 0x00017bff},
        {EMU_TEX_F16, false, 1, 0xbf800000}, {EMU_TEX_F16, false, 2, 0x477fe000},
        {EMU_TEX_F16, false, 3, 0x33800000}, {EMU_TEX_U8, true, 0, 0x3f800000},
        {EMU_TEX_S8, true, 1, 0x3c010204},   {EMU_TEX_U16, true, 0, 0x3c00003c},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        EmuTexture t = {.data = raw,
                        .kind = EMU_TEX_LINEAR,
                        .format = table[i].format,
                        .normalized_read = table[i].normalized,
                        .channels = 1,
                        .dims = 1,
                        .size = {8}};
        uint32_t out[4] = {0};
        int64_t offset;
        sample_int(&t, 1, table[i].index, 0, 0, out, &offset);
        uint32_t want = table[i].want;
        if (table[i].format == EMU_TEX_U16 && table[i].normalized) want = bits_of(511.0F / 65535);
        if (!ok(out[0] == want, "format %d%s, texel %d", (int)table[i].format,
                table[i].normalized ? " normalised" : "", table[i].index))
            printf("# got %08x, want %08x\n", out[0], want);
    }
}

/* Two layers of 2 x 2, rows 12 bytes apart. */
static void test_layers_and_pitch(void) {
    static const float v[12] = {1, 2, -1, 3, 4, -1, 5, 6, -1, 7, 8, -1};
    EmuTexture t = {.data = v,
                    .kind = EMU_TEX_ARRAY,
                    .format = EMU_TEX_F32,
                    .channels = 1,
                    .dims = 2,
                    .size = {2, 2},
                    .layers = 2,
                    .pitch_bytes = 12,
                    .address = {EMU_TEX_CLAMP, EMU_TEX_CLAMP}};
    gi_err err;
    ok(emu_texture_check(&t, &err), "a layered texture with a pitch is fine");
    is_int(emu_texture_bytes(&t), 44, "its memory ends with the last texel");
    TexCoord at = {.dims = 2, .layered = true, .f = {1.5F, 1.5F}, .layer = 1};
    uint32_t out[4];
    int64_t offset;
    tex_sample(&t, &at, out, &offset);
    ok(float_of(out[0]) == 8 && offset == 40, "layer 1, row 1, column 1");
    t.linear_filter = true;
    at.f[0] = at.f[1] = 1;
    at.layer = -3;
    tex_sample(&t, &at, out, &offset);
    ok(float_of(out[0]) == 2.5F, "the layer is clamped, and never interpolated");
    sample_int(&t, 2, 5, 0, 9, out, &offset);
    ok(float_of(out[0]) == 6, "integer coordinates clamp too, without filtering");
}

static void test_misuse(void) {
    EmuTexture good = {.data = data_f32,
                       .kind = EMU_TEX_ARRAY,
                       .format = EMU_TEX_F32,
                       .channels = 1,
                       .dims = 2,
                       .size = {4, 4}};
    TexCoord at = {.dims = 2};
    ok(tex_misuse(&good, &at, false) == NULL, "a proper fetch is no misuse");
    has_str(tex_misuse(&good, &at, true), "as integers", "floats read as integers");
    at.dims = 1;
    has_str(tex_misuse(&good, &at, false), "2-D", "wrong number of coordinates");
    at.layered = true;
    has_str(tex_misuse(&good, &at, false), "without layers", "no layers");
    EmuTexture t = good;
    t.format = EMU_TEX_U8;
    at = (TexCoord){.dims = 2};
    has_str(tex_misuse(&t, &at, false), "without normalisation", "integers read as floats");
    t = good;
    t.kind = EMU_TEX_LINEAR;
    t.dims = at.dims = 1;
    has_str(tex_misuse(&t, &at, false), "tex1Dfetch", "float coordinates on linear memory");
}

static void refuse(EmuTexture t, const char *part) {
    gi_err err = {.message = ""};
    ok(!emu_texture_check(&t, &err) && strcmp(err.code, "usage") == 0, "refused: %s", part);
    has_str(err.message, part, "… and the message says why");
}

/* The direction from a cube's middle to a place (s, t), each in -1 … 1, of a face: +x -x +y -y +z
** -z, as a person standing in it sees them (t grows downwards, but for the floor and ceiling). */
static void direction(int face, float s, float t, float size, float v[3]) {
    const float all[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
                             {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};
    for (int k = 0; k < 3; k++) v[k] = all[face][k] * size;
}

static void test_cubes(void) {
    enum { SIDE = 4, CUBES = 2 };
    static float faces[CUBES][6][SIDE][SIDE];
    int wrong = 0, wrong_layer = 0;
    for (int i = 0; i < CUBES * 6 * SIDE * SIDE; i++) (&faces[0][0][0][0])[i] = (float)i;
    EmuTexture t = {.data = faces, .kind = EMU_TEX_ARRAY, .format = EMU_TEX_F32, .channels = 1,
                    .dims = 2, .size = {SIDE, SIDE}, .layers = 6, .cube = true};
    TexCoord at = {.dims = 2, .cube = true};
    for (int n = 0; n < 6 * SIDE * SIDE; n++) {
        int face = n / SIDE / SIDE, y = n / SIDE % SIDE, x = n % SIDE;
        uint32_t out[4];
        int64_t offset;
        float s = ((float)x + 0.5f) / 2 - 1, r = ((float)y + 0.5f) / 2 - 1;
        direction(face, s, r, 0.3f + (float)n, at.f);
        at.layered = false, t.layers = 6;
        tex_sample(&t, &at, out, &offset);
        wrong += float_of(out[0]) != faces[0][face][y][x];
        at.layered = true, at.layer = 1, t.layers = 12;
        tex_sample(&t, &at, out, &offset);
        wrong_layer += float_of(out[0]) != faces[1][face][y][x] || offset != (n + 96) * 4;
    }
    is_int(wrong, 0, "each direction meets its face's texel");
    is_int(wrong_layer, 0, "of the cube that is named");
    ok(tex_misuse(&t, &at, false) == NULL, "several cubes");
    at.layered = false;
    has_str(tex_misuse(&t, &at, false), "without saying which", "one of them must be named");
    at.cube = false;
    has_str(tex_misuse(&t, &at, false), "a cube map as another texture", "a cube map is one");
    t.cube = false, at.cube = true;
    has_str(tex_misuse(&t, &at, false), "no cube map", "and nothing else is");
}

/* The texels that a linear filter weighs, in the order of the ISA. */
static void test_gather(void) {
    EmuTexture t = {.data = data_f32, .kind = EMU_TEX_ARRAY, .format = EMU_TEX_F32, .channels = 2,
                    .dims = 2, .size = {7, 5}, .address = {EMU_TEX_CLAMP, EMU_TEX_BORDER}};
    int wrong = 0;
    for (int n = 0; n < 200; n++) {
        float x = (float)gi_rng_unit(&rng) * 9 - 1, y = (float)gi_rng_unit(&rng) * 7 - 1;
        TexCoord at = {.dims = 2, .gather = 1 + n % 3, .f = {x, y}};
        long i = (long)floorf(x - 0.5f), j = (long)floorf(y - 0.5f);
        const long want[4][3] = {{i, j + 1, 0}, {i + 1, j + 1, 0}, {i + 1, j, 0}, {i, j, 0}};
        uint32_t out[4];
        int64_t offset;
        t.border[n % 2] = 0.25f;
        tex_sample(&t, &at, out, &offset);
        for (int k = 0; k < 4; k++) {
            float texel = n % 3 == 2 ? 0 : (float)naive_texel(&t, want[k], n % 3);
            wrong += float_of(out[k]) != texel;
        }
    }
    is_int(wrong, 0, "tld4 gathers what a linear filter would weigh");
}

static void test_check(void) {
    EmuTexture good = {.data = data_f32,
                       .kind = EMU_TEX_ARRAY,
                       .format = EMU_TEX_F32,
                       .channels = 1,
                       .dims = 2,
                       .size = {4, 4}},
               t;
#define WITH(change, part) t = good, change, refuse(t, part)
    WITH(t.dims = 4, "dimensions");
    WITH(t.channels = 3, "channels");
    WITH(t.data = NULL, "no data");
    WITH(t.size[1] = 0, "impossible");
    WITH((t.size[0] = t.size[1] = INT32_MAX), "impossible");
    WITH(t.layers = 100000, "impossible");
    WITH((t.dims = 3, t.size[2] = 2, t.layers = 2), "layers");
    WITH((t.cube = true, t.layers = 5), "six square faces");
    WITH((t.cube = true, t.layers = 6, t.size[0] = 5), "six square faces");
    WITH(t.pitch_bytes = 8, "rows");
    WITH(t.pitch_bytes = INT64_MAX / 2, "too far");
    WITH(t.kind = EMU_TEX_LINEAR, "1-D");
    WITH((t.kind = EMU_TEX_LINEAR, t.dims = 1, t.linear_filter = true), "linear memory");
    WITH((t.format = EMU_TEX_S32, t.normalized_read = true), "normalised");
    WITH((t.format = EMU_TEX_U8, t.linear_filter = true), "filtering");
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 7;
    printf("# seed %" PRIu64 "\n", seed);
    gi_rng_seed(&rng, seed);
    for (int i = 0; i < MAX_TEXELS; i++) {
        data_f32[i] = (float)gi_rng_unit(&rng);
        data_u8[i] = (uint8_t)gi_rng_next(&rng);
    }
    test_filters();
    test_by_hand();
    test_linear_memory();
    test_formats();
    test_layers_and_pitch();
    test_misuse();
    test_cubes();
    test_gather();
    test_check();
    return tap_done();
}
