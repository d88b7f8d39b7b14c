/* emu_surface.c - suld, sust and sured: every shape of surface, the three meanings of outside, and
** what is wrong about an access. */
#include "emu_core_run.h"

enum { W = 8, H = 4, D = 3 };

typedef struct Gpu {
    Emu *emu;
    EmuModule *module;
    EmuResult result;
    gi_err err;
    uint32_t out[32];
    uint64_t at;
} Gpu;

/* Kernel k(surface, out): %s the surface, %t the lane, %x its byte, %o where its result goes. */
static Gpu gpu(const char *body) {
    EmuModel model = emu_model_round();
    Gpu g = {.emu = emu_new(&model)};
    char text[4000];
    snprintf(text, sizeof text,
             PTX_HEAD ".visible .entry k(.param .u64 s, .param .u64 out) {\n"
                      ".reg .b64 %%s, %%o, %%l<4>; .reg .b32 %%t, %%x, %%y, %%z, %%v<8>; .reg .b16 "
                      "%%h<8>;\nld.param.u64 %%s, [s]; ld.param.u64 %%o, [out];\n"
                      "mov.u32 %%t, %%tid.x;\n"
                      "mul.wide.u32 %%l0, %%t, 4; add.s64 %%o, %%o, %%l0; shl.b32 %%x, %%t, 2;\n"
                      "mov.u32 %%y, 1; mov.u32 %%z, 2;\n%s\nret; }\n",
             body);
    g.module = emu_load(g.emu, text, strlen(text), &g.err);
    if (g.module == NULL) ok(false, "loads: %s", g.err.message);
    return g;
}

static void gpu_free(Gpu *g) {
    emu_unload(g->module);
    emu_free(g->emu);
}

static EmuStatus run(Gpu *g, uint64_t handle, unsigned threads) {
    uint64_t params[2] = {handle, emu_map(g->emu, g->out, sizeof g->out, false, "out")};
    EmuLaunch l = {.kernel = "k", .grid = {1, 1, 1}, .block = {threads, 1, 1}, .params = params};
    memset(g->out, 0xee, sizeof g->out);
    if (!emu_launch(g->module, &l, &g->result, &g->err)) {
        ok(false, "%s", g->err.message);
        return EMU_ABORTED;
    }
    return g->result.status;
}

static uint32_t data[W * H * D];

static EmuTexture shape(int dims, int64_t layers) {
    return (EmuTexture){.data = data, .kind = EMU_TEX_ARRAY, .format = EMU_TEX_U32, .channels = 1,
                        .dims = dims, .size = {W, H, D}, .layers = layers};
}

/* Stores 100 + lane at column `lane`, and reads column 7 - lane. */
static void moves(const char *geometry, const char *at, EmuTexture t, int first) {
    char body[900];
    snprintf(body, sizeof body,
             "add.u32 %%v0, %%t, 100; sust.b.%s.b32.trap [%%s, {%s}], %%v0;\n"
             "mov.u32 %%v1, 28; sub.u32 %%x, %%v1, %%x;\n"
             "suld.b.%s.b32.trap %%v2, [%%s, {%s}]; st.global.u32 [%%o], %%v2;",
             geometry, at, geometry, at);
    Gpu g = gpu(body);
    memset(data, 0, sizeof data);
    uint64_t s = emu_surface_new(g.emu, &t, &g.err);
    is_int(run(&g, s, 8), EMU_OK, geometry);
    int wrong = 0;
    for (int i = 0; i < W * H * D; i++)
        wrong += data[i] != (i >= first && i < first + 8 ? (uint32_t)(100 + i - first) : 0);
    for (int i = 0; i < 8; i++) wrong += g.out[i] != (uint32_t)(107 - i);
    is_int(wrong, 0, "  each texel is where it belongs");
    ok(g.result.texture_sectors + g.result.global_sectors > 0, "  and costs something");
    gpu_free(&g);
}

static void shapes(void) {
    moves("1d", "%x", shape(1, 0), 0);
    moves("2d", "%x, %y", shape(2, 0), W);
    moves("3d", "%x, %y, %z, %z", shape(3, 0), (2 * H + 1) * W);
    moves("a1d", "%y, %x", shape(1, 3), W);
    moves("a2d", "%z, %x, %y, %y", shape(2, 3), (2 * H + 1) * W);
    EmuTexture cube = shape(2, 6), rows = shape(2, 0);
    cube.size[0] = 8, cube.size[1] = 1, cube.cube = false;
    moves("a2d", "%y, %x, 0, 0", cube, W);
    rows.size[0] = 8, rows.size[1] = 2, rows.pitch_bytes = 40;
    moves("2d", "%x, %y", rows, 10);
}

static void widths(void) {
    Gpu g = gpu("suld.b.1d.v4.b8.trap {%h0, %h1, %h2, %h3}, [%s, {%x}];\n"
                "mov.b32 %v0, {%h3, %h0}; st.global.u32 [%o], %v0;\n"
                "sust.b.1d.v2.b16.trap [%s, {%x}], {%h1, %h2};");
    EmuTexture t = shape(1, 0);
    for (uint32_t i = 0; i < W; i++) data[i] = 0x04030201u + i * 0x10101010u;
    uint64_t s = emu_surface_new(g.emu, &t, &g.err);
    is_int(run(&g, s, 8), EMU_OK, "bytes and halves");
    ok(g.out[0] == 0x00010004 && g.out[7] == 0x00710074, "four bytes are four registers");
    ok(data[0] == 0x00030002 && data[7] == 0x00730072, "two halves are two");
    gpu_free(&g);
    g = gpu("shl.b32 %x, %t, 4; suld.b.1d.v2.b64.trap {%l1, %l2}, [%s, {%x}];\n"
            "xor.b64 %l1, %l1, %l2; cvt.u32.u64 %v0, %l1; st.global.u32 [%o], %v0;");
    for (uint32_t i = 0; i < W; i++) data[i] = i * i;
    s = emu_surface_new(g.emu, &t, &g.err);
    is_int(run(&g, s, 2), EMU_OK, "16 bytes at a time");
    ok(g.out[0] == 4 && g.out[1] == (16 ^ 36), "in two registers");
    gpu_free(&g);
}

/* What an H200 makes of these bits in each format; 0xeeee: nothing of it. */
static void formats(void) {
    static const struct {
        EmuTexFormat format;
        int bytes;
        uint32_t in[8], want[8];
    } rows[] = {
        {EMU_TEX_U8, 1, {0, 1, 127, 255, 256, 0x80000000, 0xffffffff, 65535},
         {0, 1, 127, 255, 255, 255, 255, 255}},
        {EMU_TEX_S8, 1, {1, 127, 128, 0x7fffffff, 0x80000000, 0xffffffff, 0xffffff80, 0xffff8000},
         {1, 0x7f, 0x7f, 0x7f, 0x80, 0xff, 0x80, 0x80}},
        {EMU_TEX_U16, 2, {0, 255, 32768, 65535, 65536, 0x7fffffff, 0xffff8000, 1},
         {0, 255, 32768, 65535, 65535, 65535, 65535, 1}},
        {EMU_TEX_S16, 2, {0, 32767, 32768, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff8000, 1},
         {0, 0x7fff, 0x7fff, 0x7fff, 0x8000, 0xffff, 0x8000, 1}},
        {EMU_TEX_F16, 2,
         {0x7f800001, 0xff801fff, 0x7f800000, 0x477fefff, 0x3356bf95, 0xb22bcc77, 0xb7fba882, 0},
         {0x7c01, 0xfc01, 0x7c00, 0x7bff, 0, 0x8000, 0x81f7, 0}},
        /* 0.3, -0.3, 100000, -100000, 0.00196, 2049, 1e-7, NaN */
        {EMU_TEX_F16, 2,
         {0x3e99999a, 0xbe99999a, 0x47c35000, 0xc7c35000, 0x3b007358, 0x45001000, 0x33d6bf95,
          0xffff8000},
         {0x34cc, 0xb4cc, 0x7bff, 0xfbff, 0x1803, 0x6800, 1, 0xfffc}},
        {EMU_TEX_F32, 4, {0x3e99999a, 0x7fffffff, 1, 0x7f800000, 0, 2, 3, 4},
         {0x3e99999a, 0x7fffffff, 1, 0x7f800000, 0, 2, 3, 4}}};
    for (int k = 0; k < (int)(sizeof rows / sizeof *rows); k++)
        for (int channels = 1; channels <= 2; channels++) {
            Gpu g = gpu("ld.global.u32 %v0, [%o]; sust.p.1d.b32.trap [%s, {%t}], %v0;");
            EmuTexture t = shape(1, 0);
            uint64_t params[2], s;
            t.format = rows[k].format, t.channels = channels;
            memset(data, 0xee, sizeof data);
            s = emu_surface_new(g.emu, &t, &g.err);
            memcpy(g.out, rows[k].in, sizeof rows[k].in);
            params[0] = s, params[1] = emu_map(g.emu, g.out, sizeof g.out, false, "out");
            EmuLaunch l = {.kernel = "k", .grid = {1, 1, 1}, .block = {8, 1, 1}, .params = params};
            int wrong = !s || !emu_launch(g.module, &l, &g.result, &g.err) || g.result.status;
            for (int i = 0; i < 8; i++) {
                uint32_t got[2] = {0};
                for (int c = 0; c < channels; c++)
                    memcpy(&got[c], (uint8_t *)data + (i * channels + c) * rows[k].bytes,
                           (size_t)rows[k].bytes);
                wrong += got[0] != rows[k].want[i] || got[1] != 0;
            }
            is_int(wrong, 0, "sust.p of one register");
            gpu_free(&g);
        }
}

/* Texels outside; more registers than channels; sured.p by the format's sign. */
static void texels(void) {
    Gpu g = gpu("sub.u32 %x, %t, 4; sust.p.1d.b32.clamp [%s, {%x}], %t;");
    EmuTexture t = shape(1, 0);
    uint64_t s = emu_surface_new(g.emu, &t, &g.err);
    is_int(run(&g, s, 16), EMU_OK, "sust.p.clamp");
    ok(data[0] == 4 && data[3] == 7 && data[W - 1] == 15, "counts texels, and ends at the edges");
    gpu_free(&g);
    g = gpu("sust.p.1d.v2.b32.zero [%s, {%t}], {%t, %t};");
    s = emu_surface_new(g.emu, &t, &g.err);
    data[1] = 77;
    is_int(run(&g, s, 1), EMU_OK, "two registers for one channel");
    is_int(data[1], 77, "  the second is left");
    gpu_free(&g);
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        g = gpu("mov.u32 %v0, -3; sured.p.min.1d.b32.trap [%s, {%t}], %v0;\n"
                "sured.p.add.1d.b32.trap [%s, {1}], 2;");
        t.format = is_signed ? EMU_TEX_S32 : EMU_TEX_U32;
        for (uint32_t i = 0; i < W; i++) data[i] = i;
        s = emu_surface_new(g.emu, &t, &g.err);
        is_int(run(&g, s, 4), EMU_OK, "sured.p");
        is_int((int32_t)data[3], is_signed ? -3 : 3, "  its least is the format's");
        is_int(data[1], is_signed ? 5 : 9, "  and four lanes add up");
        gpu_free(&g);
    }
}

/* Columns -4 … 11 of a row of 8. */
static void outside(void) {
    static const char move[] = "sub.u32 %x, %x, 16; sust.b.2d.b32.MODE [%s, {%x, %y}], %t;\n"
                               "suld.b.2d.b32.MODE %v0, [%s, {%x, %y}]; st.global.u32 [%o], %v0;";
    static const char *const modes[] = {"clamp", "zero "};
    for (int k = 0; k < 2; k++) {
        char body[300];
        snprintf(body, sizeof body, "%s", move);
        for (char *p; (p = strstr(body, ".MODE"));) {
            size_t n = strlen(modes[k]) - (k == 1);
            memmove(p + 1 + n, p + 5, strlen(p + 5) + 1);
            memcpy(p + 1, modes[k], n);
        }
        Gpu g = gpu(body);
        EmuTexture t = shape(2, 0);
        memset(data, 0xff, sizeof data);
        uint64_t s = emu_surface_new(g.emu, &t, &g.err);
        is_int(run(&g, s, 16), EMU_OK, k ? ".zero" : ".clamp");
        if (k == 0) {
            ok(data[W] == 4 && data[2 * W - 1] == 15, "what is outside goes to the edge");
            ok(g.out[0] == 4 && g.out[15] == 15, "and is read there");
        } else {
            ok(data[W] == 4 && data[2 * W - 1] == 11 && data[0] == UINT32_MAX, "goes nowhere");
            ok(g.out[3] == 0 && g.out[4] == 4 && g.out[12] == 0, "and is read as zero");
        }
        gpu_free(&g);
    }
}

/* All lanes meet in one texel, and each at its own. */
static void reductions(void) {
    static const struct {
        const char *op;
        uint32_t one, own; /* what becomes of 100 by lanes 0 … 7, of 100 by lane 5 */
    } ops[] = {{"add.1d.u32", 128, 105},
               {"min.1d.s32", 0, 5},
               {"max.1d.u32", 100, 100},
               {"and.1d.b32", 0, 4},
               {"or.1d.b32", 103, 101}};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        char body[300];
        snprintf(body, sizeof body,
                 "mov.u32 %%y, 0; sured.b.%s.trap [%%s, {%%y}], %%t;\n"
                 "setp.eq.u32 %%p, %%t, 0; @%%p bra END;\n"
                 "sured.b.%s.trap [%%s, {%%x}], %%t;\nEND:",
                 ops[k].op, ops[k].op);
        char text[400];
        snprintf(text, sizeof text, ".reg .pred %%p;\n%s", body);
        Gpu g = gpu(text);
        EmuTexture t = shape(1, 0);
        for (uint32_t i = 0; i < W; i++) data[i] = 100;
        uint64_t s = emu_surface_new(g.emu, &t, &g.err);
        is_int(run(&g, s, 8), EMU_OK, ops[k].op);
        ok(data[0] == ops[k].one && data[5] == ops[k].own, "%u and %u", data[0], data[5]);
        gpu_free(&g);
    }
}

static void faults(void) {
    EmuTexture t = shape(2, 0), linear = shape(1, 0);
    Gpu g = gpu("sust.b.2d.b32.trap [%s, {%x, %y}], %t;");
    uint64_t s = emu_surface_new(g.emu, &t, &g.err), tex = emu_texture_new(g.emu, &t, &g.err);
    is_int(run(&g, s, 9), EMU_ILLEGAL_ADDRESS, "a lane outside");
    has_str(g.result.message, "out-of-bounds write of 4 bytes of a surface of 8 x 4 x 1 texels, at "
                              "byte 32, row 1, slice 0; block (0,0,0), thread (8,0,0)",
            "  is told");
    is_int(run(&g, tex, 1), EMU_LAUNCH_ERROR, "a texture is no surface");
    has_str(g.result.message, "is a texture object, no surface", "  which is told");
    is_int(run(&g, 77, 1), EMU_LAUNCH_ERROR, "nor is a number");
    emu_texture_free(g.emu, s);
    is_int(run(&g, s, 1), EMU_LAUNCH_ERROR, "nor one that was destroyed");
    gpu_free(&g);
    g = gpu("add.u32 %x, %x, 2; suld.b.2d.b32.clamp %v0, [%s, {%x, %y}];");
    s = emu_surface_new(g.emu, &t, &g.err);
    is_int(run(&g, s, 1), EMU_MISALIGNED, "half a texel on");
    linear.dims = 1;
    s = emu_surface_new(g.emu, &linear, &g.err);
    is_int(run(&g, s, 1), EMU_LAUNCH_ERROR, "two coordinates for a row");
    has_str(g.result.message, "surface misuse: this access of", "  which is told");
    linear.kind = EMU_TEX_LINEAR;
    ok(emu_surface_new(g.emu, &linear, &g.err) == 0, "linear memory is no surface");
    gpu_free(&g);
    g = gpu("tex.2d.v4.u32.f32 {%v0, %v1, %v2, %v3}, [%s, {0f00000000, 0f00000000}];");
    s = emu_surface_new(g.emu, &t, &g.err);
    is_int(run(&g, s, 1), EMU_LAUNCH_ERROR, "a surface is no texture");
    has_str(g.result.message, "is a surface object, no texture", "  which is told");
    gpu_free(&g);
}

/* A texture sees what a surface of the same memory got, though its fetches are remembered. */
static void shared(void) {
    Gpu g = gpu("mov.u32 %v7, 0; AGAIN: add.u32 %v7, %v7, 1;\n"
                "sust.b.1d.b32.trap [%s, {%x}], %v7;\n"
                "ld.global.u64 %l1, [%o];\n"
                "tex.1d.v4.u32.f32 {%v0, %v1, %v2, %v3}, [%l1, {0f3F000000}];\n"
                ".reg .pred %p; setp.lt.u32 %p, %v7, 3; @%p bra AGAIN;\n"
                "st.global.u32 [%o], %v0;");
    EmuTexture t = shape(1, 0);
    uint64_t s = emu_surface_new(g.emu, &t, &g.err), params[2] = {s, 0};
    uint64_t out[1] = {emu_texture_new(g.emu, &t, &g.err)};
    params[1] = emu_map(g.emu, out, sizeof out, false, "out");
    EmuLaunch l = {.kernel = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
    emu_launch(g.module, &l, &g.result, &g.err);
    is_int((uint32_t)out[0], 3, "a texture sees what was written through a surface");
    gpu_free(&g);
}

int main(void) {
    shapes();
    widths();
    formats();
    texels();
    outside();
    reductions();
    faults();
    shared();
    return tap_done();
}
