/* emu_instructions_texture.c - tex through the instruction: each form's coordinates and channels
** reach the sampler and come back in the right registers. What the sampler computes is emu_tex.c's.
*/
#include "emu_kit.h"

enum { BLOCK = 80, GRID = 3, N = BLOCK * GRID, W = 7, H = 5, D = 4 };

static float texels[W * H * D * 4];
static uint8_t bytes[W * H * 4];
static int16_t shorts[64];

static uint64_t texture(EmuTexture t) {
    gi_err err = {.message = ""};
    uint64_t handle = emu_texture_new(kit_emu, &t, &err);
    if (!handle) ok(false, "texture: %s", err.message);
    return handle;
}

static void check(const char *title, uint64_t handle, const char *body) {
    kit_body(&(KitBody){title, NULL, body, GRID, BLOCK, handle});
    emu_texture_free(kit_emu, handle);
}

static uint32_t bits(float x) {
    return (uint32_t)kit_bits32(x);
}

/* Coordinates (x, y, z) of a thread's texel come from its input. */
static int at(int i, int axis, int n) {
    return (int)(kit_in[i] >> 8 * axis & 255) % n;
}

#define COORDINATE(k, shift, size)                                                                 \
    "shr.u32 %a" k ", %x, " shift ";\nand.b32 %a" k ", %a" k ", 255;\nrem.u32 %a" k ", %a" k       \
    ", " size ";\n"                                                                                \
    "cvt.rn.f32.u32 %f" k ", %a" k ";\nadd.f32 %f" k ", %f" k ", 0f3F000000;\n"
#define XYZ   COORDINATE("1", "0", "7") COORDINATE("2", "8", "5") COORDINATE("3", "16", "4")
#define MIX_F "mov.b32 %a5, %f5;\nmov.b32 %a6, %f6;\nmov.b32 %a7, %f7;\nmov.b32 %a8, %f8;\n" MIX
#define MIX                                                                                        \
    "xor.b32 %r, %a5, %a6;\nshf.l.wrap.b32 %r, %r, %r, 1;\nxor.b32 %r, %r, %a7;\nshf.l.wrap.b32 "  \
    "%r, %r, %r, 1;\nxor.b32 %r, %r, %a8;"

static uint32_t mix(uint32_t r, uint32_t g, uint32_t b, uint32_t a) {
    uint32_t x = r ^ g;
    x = (x << 1 | x >> 31) ^ b;
    return (x << 1 | x >> 31) ^ a;
}

static const float *texel(int channels, int x, int y, int z) {
    return texels + ((z * H + y) * W + x) * channels;
}

static void random_input(void) {
    for (int i = 0; i < N; i++) kit_in[i] = (uint32_t)gi_rng_next(&kit_rng);
}

static EmuTexture array(int dims, int channels) {
    return (EmuTexture){.data = texels,
                        .kind = EMU_TEX_ARRAY,
                        .format = EMU_TEX_F32,
                        .channels = channels,
                        .dims = dims,
                        .size = {W, H, D},
                        .address = {EMU_TEX_CLAMP, EMU_TEX_CLAMP, EMU_TEX_CLAMP}};
}

/* Channels that a texture has not got read 0, the fourth too, as on an H200. */
static void test_arrays(void) {
    random_input();
    for (int i = 0; i < N; i++) {
        const float *p = texel(4, at(i, 0, W), 0, 0);
        kit_want[i] = mix(bits(p[0]), bits(p[1]), bits(p[2]), bits(p[3]));
    }
    check("tex.1d.v4.f32.f32", texture(array(1, 4)),
          XYZ "tex.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, {%f1}];\n" MIX_F);
    for (int i = 0; i < N; i++) {
        const float *p = texel(4, at(i, 0, W), at(i, 1, H), 0);
        kit_want[i] = mix(bits(p[0]), bits(p[1]), bits(p[2]), bits(p[3]));
    }
    check("tex.2d.v4.f32.f32", texture(array(2, 4)),
          XYZ "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, {%f1, %f2}];\n" MIX_F);
    check(
        "tex.level.2d.v4.f32.f32 at level 0", texture(array(2, 4)),
        XYZ
        "tex.level.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, {%f1, %f2}], 0f00000000;\n" MIX_F);
    check("tex.2d.v4.f32.s32", texture(array(2, 4)),
          XYZ "tex.2d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%extra, {%a1, %a2}];\n" MIX_F);
    for (int i = 0; i < N; i++) {
        const float *p = texel(2, at(i, 0, W), at(i, 1, H), at(i, 2, D));
        kit_want[i] = mix(bits(p[0]), bits(p[1]), 0, 0);
    }
    check("tex.3d.v4.f32.f32, two channels", texture(array(3, 2)),
          XYZ "tex.3d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, {%f1, %f2, %f3, %f3}];\n" MIX_F);
    EmuTexture layered = array(2, 1);
    layered.layers = D;
    for (int i = 0; i < N; i++)
        kit_want[i] = mix(bits(*texel(1, at(i, 0, W), at(i, 1, H), at(i, 2, D))), 0, 0, 0);
    check("tex.a2d.v4.f32.f32", texture(layered),
          XYZ "tex.a2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, {%a3, %f1, %f2, %f2}];\n" MIX_F);
}

static void test_integers(void) {
    EmuTexture t = array(2, 4);
    t.data = bytes;
    t.format = EMU_TEX_U8;
    random_input();
    for (int i = 0; i < N; i++) {
        const uint8_t *p = bytes + (at(i, 1, H) * W + at(i, 0, W)) * 4;
        kit_want[i] = mix(p[0], p[1], p[2], p[3]);
    }
    check("tex.2d.v4.u32.f32 of bytes", texture(t),
          XYZ "tex.2d.v4.u32.f32 {%a5, %a6, %a7, %a8}, [%extra, {%f1, %f2}];\n" MIX);
    t.normalized_read = true;
    for (int i = 0; i < N; i++) {
        const uint8_t *p = bytes + (at(i, 1, H) * W + at(i, 0, W)) * 4;
        kit_want[i] = mix(bits((float)p[0] / 255), bits((float)p[1] / 255), bits((float)p[2] / 255),
                          bits((float)p[3] / 255));
    }
    check("… read as fractions", texture(t),
          XYZ "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, {%f1, %f2}];\n" MIX_F);
}

/* tex1Dfetch: 64 texels, indices from -32 to 95. */
static void test_linear_memory(void) {
    EmuTexture t = {.data = shorts,
                    .kind = EMU_TEX_LINEAR,
                    .format = EMU_TEX_S16,
                    .channels = 1,
                    .dims = 1,
                    .size = {64}};
    random_input();
    for (int i = 0; i < N; i++) {
        int k = (int)(kit_in[i] & 127) - 32;
        kit_want[i] = mix(k >= 0 && k < 64 ? (uint32_t)shorts[k] : 0, 0, 0, 0);
    }
    check("tex.1d.v4.s32.s32", texture(t),
          "and.b32 %a1, %x, 127;\nsub.s32 %a1, %a1, 32;\ntex.1d.v4.s32.s32 {%a5, %a6, %a7, %a8}, "
          "[%extra, {%a1}];\n" MIX);
    check("tex.1d.v4.u32.s32", (t.format = EMU_TEX_S16, texture(t)),
          "and.b32 %a1, %x, 127;\nsub.s32 %a1, %a1, 32;\ntex.1d.v4.u32.s32 {%a5, %a6, %a7, %a8}, "
          "[%extra, {%a1}];\n" MIX);
    t.data = texels;
    t.format = EMU_TEX_F32;
    for (int i = 0; i < N; i++) {
        int k = (int)(kit_in[i] & 127) - 32;
        kit_want[i] = mix(k >= 0 && k < 64 ? bits(texels[k]) : 0, 0, 0, 0);
    }
    check("tex.1d.v4.f32.s32", texture(t),
          "and.b32 %a1, %x, 127;\nsub.s32 %a1, %a1, 32;\ntex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, "
          "[%extra, {%a1}];\n" MIX_F);
    for (int i = 0; i < N; i++) { /* %f8 keeps its 1 */
        int k = (int)(kit_in[i] & 127) - 32;
        kit_want[i] = mix(k >= 0 && k < 64 ? bits(texels[k]) : 0, 0, 0, bits(1));
    }
    check("… with a sink for channels nobody reads, in a branch", texture(t),
          "and.b32 %a1, %x, 127;\nsub.s32 %a1, %a1, 32;\nmov.f32 %f6, 0f00000000;\nmov.f32 %f7, "
          "%f6;\nmov.f32 %f8, 0f3F800000;\n"
          "and.b32 %a2, %x, 1;\nsetp.eq.u32 %p1, %a2, 0;\n@%p1 bra EVEN;\ntex.1d.v4.f32.s32 {%f5, "
          "_, _, _}, [%extra, {%a1}];\nbra END;\n"
          "EVEN:\ntex.1d.v4.f32.s32 {%f5, _, %f7, _}, [%extra, {%a1}];\nEND:\n" MIX_F);
}

/* Halfway between two texels, and beyond the edge. */
static void test_filtering(void) {
    EmuTexture t = array(2, 1);
    t.linear_filter = true;
    random_input();
    for (int i = 0; i < N; i++) {
        int x = at(i, 0, W), y = at(i, 1, H), next = x + 1 < W ? x + 1 : x;
        kit_want[i] = mix(bits((*texel(1, x, y, 0) + *texel(1, next, y, 0)) / 2), 0, 0, 0);
    }
    check("linear filtering", texture(t),
          XYZ "add.f32 %f1, %f1, 0f3F000000;\ntex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, "
              "{%f1, %f2}];\n" MIX_F);
    t.linear_filter = false;
    t.normalized_coords = true;
    t.address[0] = EMU_TEX_WRAP;
    for (int i = 0; i < N; i++)
        kit_want[i] = mix(bits(*texel(1, at(i, 0, W), at(i, 1, H), 0)), 0, 0, 0);
    check("normalised and wrapped", texture(t),
          XYZ "div.rn.f32 %f1, %f1, 0f40E00000;\ndiv.rn.f32 %f2, %f2, 0f40A00000;\nadd.f32 %f1, "
              "%f1, 0fC0400000;\n"
              "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, {%f1, %f2}];\n" MIX_F);
}

/* tld4, gradients, cube maps and queries through the instruction. */
static void test_others(void) {
    EmuTexture t = array(2, 4), cube = array(2, 1);
    random_input();
    for (int i = 0; i < N; i++) {
        int x = at(i, 0, W), right = x + 1 < W ? x + 1 : x;
        int y = at(i, 1, H), down = y + 1 < H ? y + 1 : y;
        kit_want[i] = mix(bits(texel(4, x, down, 0)[2]), bits(texel(4, right, down, 0)[2]),
                          bits(texel(4, right, y, 0)[2]), bits(texel(4, x, y, 0)[2]));
    }
    check("tld4.b.2d.v4.f32.f32", texture(t),
          XYZ "add.f32 %f1, %f1, 0f3E800000;\nadd.f32 %f2, %f2, 0f3E800000;\n"
              "tld4.b.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, {%f1, %f2}];\n" MIX_F);
    for (int i = 0; i < N; i++) {
        const float *p = texel(4, at(i, 0, W), at(i, 1, H), 0);
        kit_want[i] = mix(bits(p[0]), bits(p[1]), bits(p[2]), bits(p[3]));
    }
    check("tex.grad.2d.v4.f32.f32", texture(t),
          XYZ "mov.f32 %f9, 0f41000000;\ntex.grad.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, "
              "[%extra, {%f1, %f2}], {%f9, %f9}, {%f9, %f9};\n" MIX_F);
    for (int i = 0; i < N; i++) kit_want[i] = W * 1000 + H * 10;
    check("txq", texture(t), "txq.width.b32 %a1, [%extra];\ntxq.height.b32 %a2, [%extra];\n"
                             "txq.depth.b32 %a3, [%extra];\nmul.lo.u32 %a1, %a1, 1000;\n"
                             "mad.lo.u32 %r, %a2, 10, %a1;\nadd.u32 %r, %r, %a3;\n");
    cube.size[0] = cube.size[1] = 2;
    cube.layers = 6;
    cube.cube = true;
    for (int i = 0; i < N; i++) /* +x: to the left, above; -y: behind, right */
        kit_want[i] = mix(bits(texels[kit_in[i] & 1 ? 0 : 3 * 4 + 2 + 1]), 0, 0, 0);
    check("tex.cube.v4.f32.f32", texture(cube),
          "and.b32 %a1, %x, 1;\nsetp.eq.u32 %p1, %a1, 1;\n"
          "selp.f32 %f1, 0f40400000, 0f3F800000, %p1;\nselp.f32 %f2, 0f3F800000, 0fC0A00000, %p1;\n"
          "selp.f32 %f3, 0f3F800000, 0fBF000000, %p1;\n"
          "tex.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%extra, {%f1, %f2, %f3, %f3}];\n" MIX_F);
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    for (int i = 0; i < KIT_COUNT(texels); i++)
        texels[i] = (float)(int)kit_below(4096) / 64; /* halves are exact */
    for (int i = 0; i < KIT_COUNT(bytes); i++) bytes[i] = (uint8_t)gi_rng_next(&kit_rng);
    for (int i = 0; i < KIT_COUNT(shorts); i++) shorts[i] = (int16_t)gi_rng_next(&kit_rng);
    test_arrays();
    test_integers();
    test_linear_memory();
    test_filtering();
    test_others();
    return kit_end();
}
