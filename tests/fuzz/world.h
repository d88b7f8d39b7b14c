/* world.h - the GPU around PTX that nobody wrote: memory, textures, surfaces and parameters for any
** kernel, and what its launches leave behind.
**
** "// launch N" on the first line chooses grid, block, dynamic shared memory, checks and the number
** of faults that a launch survives, by the bits of N. Every pointer is to memory of an exact size
** from malloc, so that the address sanitizer sees an access beyond it. A kernel's parameters are
** addresses by turns where they have 8 bytes (a texture's where its name has "tex" in it, a
** surface's with "surf"), a tensor map where they have 128, WORLD_N where they have 4. */
#ifndef GILUA_FUZZ_WORLD_H
#define GILUA_FUZZ_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/emu_model.h"
#include "emu/core.h"
#include "fuzz.h"

enum { WORLD_BUFFERS = 3, WORLD_BYTES = 4096, WORLD_TEXELS = 16 * 8 * 4 * 4, WORLD_N = 64 };
enum { WORLD_KERNELS = 3, WORLD_BUDGET = 6000, WORLD_PARAMS = 32768 };
/* Of ways with threads: threads.c takes no batch over that leaves less than half of it. */
enum { WORLD_LARGE_BUDGET = 1 << 17 };

/* How it is run: which of the engines, and which checks. */
typedef struct Way {
    const char *name;
    int vectors;
    bool is_plain, is_checked, is_compiled;
    int threads;
    uint64_t batch, budget; /* budget 0: WORLD_BUDGET */
} Way;

static const Way world_ways[] = {
    {.name = "base"},
    {.name = "AVX2", .vectors = VECTORS_AVX2},
    {.name = "AVX-512", .vectors = VECTORS_AVX512},
    {.name = "lane by lane", .is_plain = true},
    {.name = "threads", .vectors = VECTORS_AVX512, .is_compiled = true, .threads = 3, .batch = 1,
     .budget = WORLD_LARGE_BUDGET},
    {.name = "checked", .vectors = VECTORS_AVX512, .is_checked = true},
    {.name = "checked base", .is_checked = true},
    {.name = "threads of base", .threads = 2, .batch = 300, .budget = WORLD_LARGE_BUDGET},
    {.name = "compiled", .vectors = VECTORS_AVX512, .is_compiled = true}};

enum { WORLD_WAYS = sizeof world_ways / sizeof *world_ways, WORLD_COMPILED = WORLD_WAYS - 1 };

typedef struct Seen { /* all that the launches of one text leave behind */
    gi_err err;       /* why it was not loaded */
    bool is_loaded;
    int n; /* kernels that were launched, or refused */
    bool ran[WORLD_KERNELS];
    char refused[WORLD_KERNELS][sizeof((gi_err *)0)->message];
    EmuResult result[WORLD_KERNELS];
    uint8_t buffer[WORLD_BUFFERS][WORLD_BYTES], texels[2][WORLD_TEXELS], own[1024];
    gi_buf variables, printed;
} Seen;

typedef struct World {
    Emu *emu;
    EmuModule *module;
    uint8_t *buffer[WORLD_BUFFERS], *texels[2], *own;
    uint64_t address[WORLD_BUFFERS + 1], texture[2], surface;
    gi_buf *printed;
} World;

/* --- what it has --------------------------------------------------------------------------- */

/* Small whole numbers, floats and bytes, by turns. */
static void world_fill(uint8_t *bytes, size_t n, unsigned turn) {
    for (size_t i = 0; i + 4 <= n; i += 4) {
        float f = (float)(i % 97) - 30.5f;
        uint32_t whole = (uint32_t)(i / 4 % 61), word;
        memcpy(&word, &f, 4);
        if ((turn + i / 64) % 2) word = whole;
        memcpy(bytes + i, &word, 4);
    }
}

static uint8_t *world_bytes(size_t n, unsigned turn) {
    uint8_t *bytes = malloc(n);
    world_fill(bytes, n, turn);
    return bytes;
}

static void world_textures(World *w) {
    for (unsigned i = 0; i < 2; i++) w->texels[i] = world_bytes(WORLD_TEXELS, i);
    EmuTexture plane = {.data = w->texels[0],
                        .kind = EMU_TEX_ARRAY,
                        .format = EMU_TEX_F32,
                        .channels = 4,
                        .dims = 2,
                        .size = {16, 8, 0},
                        .linear_filter = true,
                        .address = {EMU_TEX_CLAMP, EMU_TEX_WRAP}};
    EmuTexture line = {.data = w->texels[0],
                       .kind = EMU_TEX_LINEAR,
                       .format = EMU_TEX_U32,
                       .channels = 1,
                       .dims = 1,
                       .size = {WORLD_TEXELS / 4, 0, 0}};
    EmuTexture surface = {.data = w->texels[1],
                          .kind = EMU_TEX_ARRAY,
                          .format = EMU_TEX_U32,
                          .channels = 1,
                          .dims = 2,
                          .size = {16, 8, 0}};
    w->texture[0] = emu_texture_new(w->emu, &plane, NULL);
    w->texture[1] = emu_texture_new(w->emu, &line, NULL);
    w->surface = emu_surface_new(w->emu, &surface, NULL);
    if (!w->texture[0] || !w->texture[1] || !w->surface) abort();
}

static World world_new(const Way *way) {
    static EmuModel model;
    if (model.name[0] == '\0') model = emu_model_round();
    World w = {.emu = emu_new(&model)};
    w.emu->vectors = way->vectors < w.emu->vectors ? way->vectors : w.emu->vectors;
    w.emu->native = way->is_compiled;
    w.emu->plain = way->is_plain;
    w.emu->batch = way->batch;
    emu_memory_limit(w.emu, 16 << 20);
    emu_heap_limit(w.emu, 1 << 20);
    for (unsigned i = 0; i < WORLD_BUFFERS; i++) {
        w.buffer[i] = world_bytes(WORLD_BYTES, i);
        w.address[i] = emu_map(w.emu, w.buffer[i], WORLD_BYTES, i == 2, "buffer");
    }
    w.address[WORLD_BUFFERS] = emu_alloc(w.emu, sizeof((Seen *)0)->own, "own", NULL);
    w.own = emu_bytes(w.emu, w.address[WORLD_BUFFERS], sizeof((Seen *)0)->own, NULL);
    world_textures(&w);
    return w;
}

static void world_free(World *w) {
    if (w->module) emu_unload(w->module);
    emu_free(w->emu);
    for (int i = 0; i < WORLD_BUFFERS; i++) free(w->buffer[i]);
    for (int i = 0; i < 2; i++) free(w->texels[i]);
}

/* --- a launch ------------------------------------------------------------------------------ */

static uint64_t world_parameter(const World *w, const PtxVar *var, unsigned k) {
    if (strstr(var->name, "tex")) return w->texture[k % 2];
    if (strstr(var->name, "surf")) return w->surface;
    return var->size >= 8 ? w->address[k % (WORLD_BUFFERS + 1)] : WORLD_N;
}

/* A tensor of floats in a buffer: of one, two or three dimensions, tiled or of columns. */
static EmuTensorMap world_map(const World *w, unsigned k) {
    static const EmuTensorMap maps[] = {
        {.rank = 1, .last = {1023}, .box = {64}},
        {.rank = 2, .last = {31, 29}, .stride = {128}, .box = {32, 8}, .swizzle = 3, .nans = 1},
        {.rank = 3, .last = {15, 7, 7}, .stride = {64, 512}, .box = {8, 4, 4}, .swizzle = 1},
        {.rank = 3, .last = {15, 7, 7}, .stride = {64, 512}, .box = {16, 20}, .im2col = 1,
         .lower = {-1}, .upper = {1}}};
    EmuTensorMap map = maps[k % (sizeof maps / sizeof *maps)];
    map.magic = EMU_TENSOR_MAGIC;
    map.address = w->address[k % WORLD_BUFFERS];
    map.type = k % 5 == 4 ? 11 : 7; /* tf32, f32 */
    memset(map.step, 1, sizeof map.step);
    return map;
}

/* In a piece of memory of their own, so that a byte beyond is seen. */
static uint8_t *world_parameters(const World *w, const char *kernel, const EmuKernelInfo *info,
                                 unsigned shift) {
    const PtxFunc *f = ptx_find_func(w->module->ptx, kernel);
    uint8_t *params = calloc(1, info->param_bytes ? info->param_bytes : 1);
    for (int k = 0; k < info->n_params; k++) {
        uint64_t value = world_parameter(w, &f->params[k], (unsigned)k + shift);
        uint32_t size = info->param_size[k];
        EmuTensorMap map = world_map(w, (unsigned)k + shift);
        uint8_t *to = params + info->param_offset[k];
        if (size == EMU_TENSOR_BYTES) memcpy(to, &map, sizeof map);
        else memcpy(to, &value, size < 8 ? size : 8);
    }
    return params;
}

static void world_print(void *user, const char *text, size_t len) {
    gi_buf *out = user;
    if (out->len < 1 << 16) gi_buf_add(out, text, len);
}

/* The bits of N, from the lowest: grid 3, block 3, dynamic shared memory 2, faults 1, backwards 1,
** cooperative 1 of 8, parameters 2, races 2, reads of what nobody wrote 1, the engine 3. */
static EmuLaunch world_launch(uint32_t n, const Way *way) {
    static const unsigned grids[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1},
                                        {1, 1, 2}, {7, 1, 1}, {1, 1, 1}, {4, 1, 1}};
    static const unsigned blocks[][3] = {{32, 1, 1}, {64, 1, 1}, {1, 1, 1},  {33, 1, 1},
                                         {8, 8, 1},  {4, 4, 4},  {128, 1, 1}, {17, 2, 1}};
    static const size_t shared[] = {0, 256, 4096, 60};
    EmuLaunch l = {.shared_bytes = shared[n >> 6 & 3],
                   .max_faults = n >> 8 & 1 ? 3 : 0,
                   .budget = way->budget ? way->budget : WORLD_BUDGET,
                   .backwards = n >> 9 & 1,
                   .cooperative = (n >> 10 & 7) == 7,
                   .threads = way->threads,
                   .print = world_print};
    memcpy(l.grid, grids[n & 7], sizeof l.grid);
    memcpy(l.block, blocks[n >> 3 & 7], sizeof l.block);
    if (way->is_checked) {
        l.check_races = n >> 15 & 1 ? EMU_RACES_GLOBAL : EMU_RACES_SHARED;
        l.refuse_benign_races = n >> 16 & 1;
        l.count_uninitialised = n >> 17 & 1;
    }
    return l;
}

static void world_run(World *w, const char *kernel, uint32_t n, const Way *way, Seen *out) {
    EmuKernelInfo info;
    gi_err err = {0};
    int i = out->n++;
    EmuLaunch l = world_launch(n, way);
    l.print_user = &out->printed;
    l.kernel = kernel;
    if (emu_kernel_info(w->module, kernel, &info, &err)) {
        uint8_t *params = world_parameters(w, kernel, &info, n >> 13 & 3);
        l.params = params;
        out->ran[i] = emu_launch(w->module, &l, &out->result[i], &err);
        free(params);
    }
    if (!out->ran[i] && err.message[0] == '\0') abort(); /* refused without a word */
    snprintf(out->refused[i], sizeof out->refused[i], "%s", out->ran[i] ? "" : err.message);
}

static void world_look(const World *w, Seen *out) {
    for (int i = 0; i < WORLD_BUFFERS; i++) memcpy(out->buffer[i], w->buffer[i], WORLD_BYTES);
    for (int i = 0; i < 2; i++) memcpy(out->texels[i], w->texels[i], WORLD_TEXELS);
    memcpy(out->own, w->own, sizeof out->own);
    for (int i = 0; w->module && i < w->module->ptx->n_vars; i++) {
        const ModuleVar *v = &w->module->vars[i];
        if (v->data) gi_buf_add(&out->variables, (const char *)v->data, v->var->size);
    }
}

static uint32_t world_number(const char *text) {
    return strncmp(text, "// launch ", 10) == 0 ? (uint32_t)strtoul(text + 10, NULL, 10) : 0;
}

/* --- what was new -------------------------------------------------------------------------- */

/* A sentence without its place before the first colon, up to its first number or name. */
static void world_tell_text(const char *text, uint64_t kind) {
    const char *colon = strchr(text, ':');
    if (colon) text = colon;
    fuzz_saw(gi_hash(text, strcspn(text, "0123456789'"), kind));
}

/* Instructions that follow each other, and the shapes of accesses. */
static void world_tell_code(const Code *c) {
    for (int i = 1; i < c->n_ins; i++)
        fuzz_saw((c->ins[i - 1].op * 512u + c->ins[i].op) * 0x9e3779b97f4a7c15u >> 20);
    for (int i = 0; i < c->n_mem; i++) {
        const MemForm *f = &c->mem[i];
        const uint8_t shape[] = {f->space,
                                 f->size,
                                 f->count,
                                 f->is_store,
                                 f->is_signed,
                                 f->wide_base,
                                 f->bound,
                                 f->bits[0],
                                 f->order};
        fuzz_saw(gi_hash(shape, sizeof shape, 1));
    }
}

static void world_tell(const World *w, const Seen *s) {
    if (!s->is_loaded) world_tell_text(s->err.message, 2);
    for (int i = 0; w->module && i < w->module->n_code; i++) world_tell_code(&w->module->code[i]);
    for (int i = 0; i < s->n; i++)
        world_tell_text(s->ran[i] ? s->result[i].message : s->refused[i], 3);
}

/* Loads a text and launches its kernels, the first few. Free with world_forget. */
static void world_try(const char *text, size_t len, const Way *way, Seen *out) {
    World w = world_new(way);
    const char *kernel;
    out->is_loaded = false;
    out->n = 0;
    memset(&out->err, 0, sizeof out->err);
    gi_buf_clear(&out->variables);
    gi_buf_clear(&out->printed);
    memset(out->ran, 0, sizeof out->ran);
    w.module = emu_load(w.emu, text, len, &out->err);
    out->is_loaded = w.module != NULL;
    if (!out->is_loaded && out->err.message[0] == '\0') abort();
    for (int i = 0; w.module && i < WORLD_KERNELS; i++)
        if ((kernel = emu_kernel_name(w.module, i)) != NULL)
            world_run(&w, kernel, world_number(text), way, out);
    world_tell(&w, out);
    world_look(&w, out);
    world_free(&w);
}

/* A seed that every target of PTX begins with: functions, tables, memory of every space. */
static const char world_seed[] =
    "// launch 1\n.version 9.0\n.target sm_100a\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n) {\n"
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .f32 %f<8>; .reg .b64 %rd<12>;\n"
    ".reg .b128 %q<3>;\n"
    ".shared .align 16 .b8 s[1024];\n.local .align 8 .b8 l[64];\n"
    "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; ld.param.u32 %r0, [n];\n"
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r2, [%rd3];\nshl.b32 %r3, %r1, 2; mov.u32 %r4, s; add.s32 %r5, %r4, %r3;\n"
    "st.shared.u32 [%r5], %r2;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\n"
    "st.local.u32 [l+8], %r6; ld.local.u32 %r7, [l+8];\n"
    "add.s64 %rd4, %rd0, %rd2; st.global.u32 [%rd4], %r7;\nret;\n}\n";

/* Copies beside the program, an mbarrier, a cluster of one. */
static const char world_async_seed[] =
    "// launch 1\n.version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n) {\n"
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %rd<12>;\n"
    ".shared .align 128 .b8 s[1024]; .shared .align 8 .b64 o;\n"
    "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r1, %tid.x; mov.u16 %h1, 1;\n"
    "mov.u32 %r3, s; mov.u32 %r4, o; mov.u32 %r5, 64; setp.ne.u32 %p1, %r1, 0; @%p1 bra W;\n"
    "mbarrier.init.shared.b64 [o], 1;\n"
    "mbarrier.arrive.expect_tx.shared.b64 %rd5, [o], %r5;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], "
    "[%rd1], %r5, [%r4], %h1;\n"
    "W: bar.sync 0;\nmapa.shared::cluster.u32 %r6, %r3, 0;\n"
    "cp.async.ca.shared.global [%r3+512], [%rd1], 4;\n"
    "L: mbarrier.try_wait.parity.shared.b64 %p2, [o], 0; @!%p2 bra L;\n"
    "cp.async.wait_all;\nbarrier.cluster.arrive; barrier.cluster.wait;\n"
    "ld.shared::cluster.u32 %r7, [%r6+4]; atom.shared::cluster.add.u32 %r8, [%r6+600], %r7;\n"
    "@!%p1 fence.proxy.async.shared::cta;\n@%p1 bra E;\n"
    "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], %r5;\n"
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6+128], %r7, [%r4];\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], "
    "[%rd1, {%r1, %r1}], [%r4];\nE: ret;\n}\n";

/* Matrix instructions of a warp and of four, and a descriptor of shared memory. */
static const char world_matrix_seed[] =
    "// launch 49\n.version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n) {\n"
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .f32 %f<12>; .reg .b64 %rd<12>;\n"
    ".reg .f64 %d<4>; .shared .align 128 .b8 s[4096];\n"
    "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd2, %r1, 16; and.b64 %rd2, %rd2, 1008; add.s64 %rd3, %rd1, %rd2;\n"
    "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3]; mov.u32 %r6, s; shl.b32 %r7, %r1, 4;\n"
    "add.u32 %r8, %r6, %r7; st.shared.v4.u32 [%r8], {%r2, %r3, %r4, %r5};\n"
    "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
    "mov.f64 %d0, 0d0000000000000000; mov.f64 %d1, %d0; setp.ne.u32 %p1, %r1, 999;\n"
    "mov.u32 %r18, 0x44444444;\n"
    "bar.sync 0;\n"
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r8];\n"
    "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r9, %r10}, [%r8];\n"
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, "
    "{%r2, %r3, %r4, %r5}, {%r9, %r10}, {%f0, %f1, %f2, %f3};\n"
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r11, %r12, %r13, %r14}, "
    "{%r2, %r3, %r4, %r5}, {%r9, %r10}, {%r2, %r3, %r4, %r5};\n"
    "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r15, %r16}, "
    "{%r2, %r3}, {%r9, %r10}, {%r2, %r3}, %r18, 1;\n"
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d0}, {%d1}, {%d0, %d1};\n"
    "wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 {%r2, %r3, %r4, %r5}, [%r6], 16;\n"
    "movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r9; bar.sync 0;\n"
    "shr.u32 %r19, %r1, 5; mad.lo.u32 %r19, %r19, 512, %r6;\n"
    "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r8], {%r11, %r12, %r13, %r14};\n"
    "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r19+2048], {%r2, %r3, %r4, %r5}, 16;\n"
    "fence.proxy.async.shared::cta; bar.sync 0;\n"
    "and.b32 %r17, %r6, 0x3ffff; shr.u32 %r17, %r17, 4; cvt.u64.u32 %rd4, %r17;\n"
    "or.b64 %rd5, %rd4, 0x0000000800400000; wgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd5, %rd5, %p1, "
    "1, 1, 0, 0;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, "
    "{%r2, %r3, %r4, %r5}, %rd5, %p1, 1, -1, 1;\n"
    "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
    "add.f32 %f4, %f0, %f3; add.s64 %rd6, %rd0, %rd2; st.global.f32 [%rd6], %f4;\nret;\n}\n";

/* A cluster of two blocks, its shared memory from both sides, and tensor maps: given, and made. */
static const char world_cluster_seed[] =
    "// launch 1\n.version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .align 64 .b8 m1[128], .param .align 64 .b8 m2[128], "
    ".param .u64 out, .param .u64 own) .reqnctapercluster 2, 1, 1 {\n"
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %rd<12>;\n"
    ".shared .align 1024 .b8 s[2048]; .shared .align 128 .b8 t[128]; .shared .align 8 .b64 o[2];\n"
    "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [own]; mov.u32 %r1, %tid.x;\n"
    "mov.b64 %rd2, m1; cvta.param.u64 %rd2, %rd2; mov.b64 %rd3, m2; cvta.param.u64 %rd3, %rd3;\n"
    "mov.u32 %r3, s; mov.u32 %r4, o; mov.u32 %r5, %cluster_ctarank; xor.b32 %r6, %r5, 1;\n"
    "mov.u32 %r15, 0; mov.u16 %h1, 3; setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p3, %r5, 0;\n"
    "mapa.shared::cluster.u32 %r7, %r3, %r6; mapa.shared::cluster.u32 %r8, %r4, %r6;\n"
    "@%p1 bra A;\nmbarrier.init.shared.b64 [o], 1; mbarrier.init.shared.b64 [o+8], 32;\n"
    "fence.mbarrier_init.release.cluster;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [o], 1280;\n"
    "A: barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
    "@%p1 bra B;\n"
    "@!%p3 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    ".multicast::cluster [s], [%rd2, {%r15}], [o], %h1;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    " [s+1024], [%rd3, {%r15, %r15}], [o];\n"
    "B: mad.lo.u32 %r16, %r1, 4, %r7;\n"
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r16+256], %r1, [%r8];\n"
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8+8];\n"
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r16+512], "
    "%r1, [%r8];\n"
    "mov.u32 %r10, 0;\nL: add.u32 %r10, %r10, 1; setp.gt.u32 %p2, %r10, 9; @%p2 bra M;\n"
    "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [o], 0; @!%p2 bra L;\n"
    "M: ld.shared::cluster.u32 %r11, [%r7+64]; st.shared.u32 [s+4], %r11;\n"
    "@%p1 bra E;\n"
    "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [t], %rd0;\n"
    "tensormap.replace.tile.rank.shared::cta.b1024.b32 [t], 0;\n"
    "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [t], 0, 32;\n"
    "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [t], 0, 64;\n"
    "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [t], 0, 1;\n"
    "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [t], 7;\n"
    "fence.proxy.async; \n"
    "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%rd2, {%r15}];\n"
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd2, {%r15}], [s];\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {%r15, %r5}], [s+1024];\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
    "E: barrier.cluster.arrive; barrier.cluster.wait;\nret;\n}\n";

static void world_seeds(FuzzAdd *add) {
    add(world_seed, sizeof world_seed - 1);
    add(world_async_seed, sizeof world_async_seed - 1);
    add(world_matrix_seed, sizeof world_matrix_seed - 1);
    add(world_cluster_seed, sizeof world_cluster_seed - 1);
}

#endif
