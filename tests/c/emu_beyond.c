/* emu_beyond.c - each row of bounds.h that has no address, and the stack, one step beyond its
** bound: handles of textures and surfaces, every function that CUDA provides. All memory is as
** large as it is said to be and no larger, so that the address sanitizer sees what a check misses.
*/
#include "emu_core_run.h"

enum { WORDS = 16, TEXELS = 4, SIDE = 3 };

static const char head[] = PTX_HEAD
    ".global .align 8 .b8 word[8];\n.global .align 1 .b8 text[3] = {65, 66, 67};\n"
    ".global .align 1 .b8 strings[6] = {37, 115, 37, 115, 10, 0};\n"
    ".const .align 8 .b8 fixed[8];\n"
    ".extern .func (.param .b32 o) vprintf(.param .b64 a, .param .b64 b);\n"
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,\n"
    " .param .b64 e);\n"
    ".extern .func (.param .b64 o) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"
    ".extern .func (.param .b64 o) __cudaCDP2GetParameterBufferV2(.param .b64 a,\n"
    " .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], .param .b32 d);\n"
    ".extern .func (.param .b32 o) __cudaCDP2LaunchDeviceV2(.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b32 o) __cudaCDP2MemcpyAsync(.param .b64 a, .param .b64 b,\n"
    " .param .b64 c, .param .b32 d, .param .b64 e);\n"
    ".extern .func (.param .b32 o) __cudaCDP2MemsetAsync(.param .b64 a, .param .b32 b,\n"
    " .param .b64 c, .param .b64 d);\n"
    ".extern .func (.param .b32 o) __cudaCDP2Malloc(.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b32 o) __cudaCDP2Free(.param .b64 a);\n"
    ".extern .func (.param .b64 o) __cudaCDP2GetErrorString(.param .b32 a);\n"
    ".extern .func (.param .b32 o) __cudaCDP2StreamCreateWithFlags(.param .b64 a, .param .b32 b);\n"
    ".extern .func (.param .b32 o) __cudaCDP2EventCreateWithFlags(.param .b64 a, .param .b32 b);\n"
    ".visible .entry child(.param .b64 y) { ret; }\n"
    ".func at(.param .b64 a) { .reg .b64 %rd<2>; .reg .b32 %r<2>; ld.param.b64 %rd0, [a];\n"
    " st.local.b32 [%rd0], %r0; ld.local.b32 %r1, [%rd0]; ret; }\n"
    ".visible .entry k(.param .b64 out, .param .b64 read, .param .b64 line, .param .b64 square,\n"
    " .param .b64 surface, .param .b64 gone) {\n"
    ".reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<30>; .reg .b16 %h<9>;\n"
    ".local .align 8 .b8 l[8]; .shared .align 16 .b8 s[16];\n"
    "ld.param.b64 %rd1, [out]; ld.param.b64 %rd2, [read]; ld.param.b64 %rd3, [line];\n"
    "ld.param.b64 %rd4, [square]; ld.param.b64 %rd5, [surface]; ld.param.b64 %rd6, [gone];\n"
    "mov.b64 %rd7, 0; mov.b32 %r7, 0;\n";

/* Calls: operands are registers %rd10 to %rd14 (a to e), or 32 bits of %r10 to %r14. */
#define IN64(name, reg) ".param .b64 " name "; st.param.b64 [" name "], " reg ";\n"
#define IN32(name, reg) ".param .b32 " name "; st.param.b32 [" name "], " reg ";\n"
#define GIVES32(call)   ".param .b32 o;\n" call "\nld.param.b32 %r15, [o]; }\n"
#define GIVES64(call)   ".param .b64 o;\n" call "\nld.param.b64 %rd15, [o]; }\n"
#define PRINT                                                                                      \
    "{ " IN64("a", "%rd10") IN64("b", "%rd11") GIVES32("call (o), vprintf, (a, b);")
#define ASSERT                                                                                     \
    "{ " IN64("a", "%rd10") IN64("b", "%rd11") IN32("c", "%r12") IN64("d", "%rd13")                \
        IN64("e", "%rd7") "call __assertfail, (a, b, c, d, e); }\n"
#define MALLOC   "{ " IN64("a", "%rd10") GIVES64("call (o), malloc, (a);")
#define FREE     "{ " IN64("a", "%rd10") "call free, (a); }\n"
#define CDP_FREE "{ " IN64("a", "%rd10") GIVES32("call (o), __cudaCDP2Free, (a);")
#define COPY                                                                                       \
    "{ " IN64("a", "%rd10") IN64("b", "%rd11") IN64("c", "%rd12") IN32("d", "%r7")                 \
        IN64("e", "%rd7") GIVES32("call (o), __cudaCDP2MemcpyAsync, (a, b, c, d, e);")
#define SET                                                                                        \
    "{ " IN64("a", "%rd10") IN32("b", "%r7") IN64("c", "%rd12") IN64("d", "%rd7")                  \
        GIVES32("call (o), __cudaCDP2MemsetAsync, (a, b, c, d);")
#define CDP_MALLOC                                                                                 \
    "{ " IN64("a", "%rd10") IN64("b", "%rd11") GIVES32("call (o), __cudaCDP2Malloc, (a, b);")
#define NEW(what)                                                                                  \
    "{ " IN64("a", "%rd10") IN32("b", "%r7")                                                       \
        GIVES32("call (o), __cudaCDP2" what "CreateWithFlags, (a, b);")
#define ROOM                                                                                       \
    "{ " IN64(                                                                                     \
        "a",                                                                                       \
        "%rd10") ".param .align 4 .b8 b[12]; .param .align 4 .b8 c[12];\n"                         \
                 "st.param.b32 [b], %r10; st.param.b32 [b+4], %r10; st.param.b32 [b+8], %r10;\n"   \
                 "st.param.b32 [c], %r10; st.param.b32 [c+4], %r10; st.param.b32 [c+8], "          \
                 "%r10;\n" IN32("d", "%r7")                                                        \
                     GIVES64("call (o), __cudaCDP2GetParameterBufferV2, (a, b, c, d);")
#define LAUNCH                                                                                     \
    "{ " IN64("a", "%rd10") IN64("b", "%rd7") GIVES32("call (o), __cudaCDP2LaunchDeviceV2, (a, "   \
                                                      "b);")
#define ERROR "{ " IN32("a", "%r10") GIVES64("call (o), __cudaCDP2GetErrorString, (a);")
#define AT    "{ " IN64("a", "%rd10") "call at, (a); }\n"

#define FAR              "mov.b64 %rd12, -1;\n"
#define MOVE(reg, value) "mov.b64 " reg ", " value ";\n"
#define LOCAL(reg)       "mov.b64 " reg ", l; cvta.local.u64 " reg ", " reg ";\n"
#define SHARED(reg)      "mov.b64 " reg ", s; cvta.shared.u64 " reg ", " reg ";\n"
#define LETTERS                                                                                    \
    "mov.b32 %r8, 0x41414141; st.local.b32 [l], %r8; st.local.b32 [l+4], %r8;\n"
#define STEP(x, y, mode)                                                                           \
    "mov.b32 %r10, " x "; mov.b32 %r11, " y ";\n"                                                  \
    "sust.b.2d.b32." mode " [%rd5, {%r10, %r11}], %r7;\n"                                          \
    "suld.b.2d.b32." mode " %r12, [%rd5, {%r10, %r11}];\n"
#define FLAT(x, y)                                                                                 \
    "mov.b32 %f1, " x "; mov.b32 %f2, " y ";\n"                                                    \
    "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd4, {%f1, %f2}];\n"                                \
    "tld4.r.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd4, {%f1, %f2}];\n"
#define LINE(x)                                                                                    \
    "mov.b32 %r10, " x ";\ntex.1d.v4.f32.s32 {%f3, %f4, %f5, %f6}, [%rd3, {%r10}];\n"              \
    "mov.b32 %r11, %laneid; add.u32 %r10, %r10, %r11;\n"                                           \
    "tex.1d.v4.f32.s32 {%f3, %f4, %f5, %f6}, [%rd3, {%r10}];\n"

static const struct {
    const char *what, *body, *why; /* NULL: it is fine */
} tries[] = {
    {"texels at the end and behind", LINE("3") LINE("4") LINE("-1") LINE("0x7fffffff"), NULL},
    {"filtered texels far away",
     FLAT("0fBF000000", "0f40400000") FLAT("0f7F800000", "0fFF800000")
         FLAT("0f7FC00000", "0f60AD78EC"),
     NULL},
    {"a fetch of what is no handle", "mov.b64 %rd3, %rd1;\n" LINE("0"), "is no texture object"},
    {"a fetch behind all handles", "add.u64 %rd3, %rd3, 99;\n" LINE("0"), "is no texture object"},
    {"a fetch from a surface", "mov.b64 %rd3, %rd5;\n" LINE("0"), "a surface object"},
    {"a fetch from freed memory", "mov.b64 %rd3, %rd6;\n" LINE("0"), "memory was freed"},
    {"a 1-D fetch from 2-D", "mov.b64 %rd3, %rd4;\n" LINE("0"), "texture misuse"},
    {"a query of what is no handle", "txq.width.b32 %r10, [%rd1];\n", "is no texture object"},
    {"a query of a surface", "txq.width.b32 %r10, [%rd5];\n", "is no texture object"},
    {"a surface's last texel", STEP("8", "2", "trap"), NULL},
    {"a surface behind its row", STEP("12", "0", "trap"), "out-of-bounds"},
    {"a surface across its end", STEP("9", "2", "trap"), "out-of-bounds"},
    {"a surface behind its rows", STEP("0", "3", "trap"), "out-of-bounds"},
    {"a surface before it", STEP("-4", "0", "trap"), "out-of-bounds"},
    {"a surface held to its sides",
     STEP("0x7fffffff", "0x7fffffff", "clamp") STEP("0x80000000", "-1", "clamp"), NULL},
    {"a surface and nothing around it", STEP("0x7fffffff", "0", "zero") STEP("-4", "-1", "zero"),
     NULL},
    {"more bytes than a row",
     "mov.b32 %r10, 0;\nsust.b.2d.v4.b32.clamp [%rd5, {%r10, %r10}], {%r7, %r7, %r7, %r7};\n",
     "out-of-bounds"},
    {"a store into a texture", "mov.b64 %rd5, %rd4;\n" STEP("0", "0", "zero"), "no surface"},

    {"printf of a text without an end", MOVE("%rd10", "text") MOVE("%rd11", "0") PRINT,
     "not readable"},
    {"printf of shared memory without an end",
     SHARED("%rd10") "mov.b32 %r8, 0x41414141; st.shared.v4.b32 [s], {%r8, %r8, %r8, %r8};\n" PRINT,
     "not readable"},
    {"printf of a text behind its memory", MOVE("%rd10", "text+3") PRINT, "not readable"},
    {"printf of a text at a null pointer", MOVE("%rd10", "0") PRINT, "not readable"},
    {"printf of a local text without an end", LETTERS LOCAL("%rd10") PRINT, "not readable"},
    {"printf of arguments behind the stack",
     MOVE("%rd10", "strings") LOCAL("%rd11") "add.u64 %rd11, %rd11, 8;\n" PRINT, NULL},
    {"printf of arguments that are no stack",
     MOVE("%rd10", "strings") "mov.b64 %rd11, %rd1;\n" PRINT, NULL},
    {"printf of an argument that is no text", MOVE("%rd10", "strings") LETTERS LOCAL("%rd11") PRINT,
     NULL},
    {"an assertion with texts that are none",
     MOVE("%rd10", "text") MOVE("%rd11", "-1") "mov.b32 %r12, 1;\n" MOVE("%rd13", "0") ASSERT,
     "assertion failed: ? (?:1, ?)"},

    {"malloc of all there is", MOVE("%rd10", "-1") MALLOC MOVE("%rd10", "-15") MALLOC, NULL},
    {"behind an object", MOVE("%rd10", "12") MALLOC "st.u32 [%rd15+12], %r7;\n", "out-of-bounds"},
    {"an object of no bytes", MOVE("%rd10", "0") MALLOC "ld.u8 %h1, [%rd15];\n", "out-of-bounds"},
    {"free of an object's inside", MOVE("%rd10", "16") MALLOC "add.u64 %rd10, %rd15, 4;\n" FREE,
     "inside of an allocation"},
    {"free twice", MOVE("%rd10", "16") MALLOC "mov.b64 %rd10, %rd15;\n" FREE CDP_FREE,
     "a second time"},
    {"free of others' memory", "mov.b64 %rd10, %rd1;\n" FREE, "which no kernel allocated"},
    {"free of a variable", MOVE("%rd10", "word") CDP_FREE, "which no kernel allocated"},
    {"free of nothing known", MOVE("%rd10", "-8") FREE, "never allocated"},

    {"a copy behind its source",
     MOVE("%rd10", "word") "mov.b64 %rd11, %rd1;\n" MOVE("%rd12", "65") COPY, "are not there"},
    {"a copy behind its target",
     "mov.b64 %rd11, %rd1;\n" MOVE("%rd10", "word") MOVE("%rd12", "9") COPY, "are not there"},
    {"a copy from behind memory",
     MOVE("%rd10", "word") "add.u64 %rd11, %rd1, 60;\n" MOVE("%rd12", "8") COPY, "are not there"},
    {"a copy of 2^64-1 bytes", MOVE("%rd10", "word") "mov.b64 %rd11, %rd1;\n" FAR COPY,
     "are not there"},
    {"a copy to a constant",
     MOVE("%rd12", "8") "mov.b64 %rd10, fixed;\ncvta.const.u64 %rd10, %rd10;\n"
                        "mov.b64 %rd11, %rd1;\n" COPY,
     "'fixed' is read-only"},
    {"a fill behind its memory", "add.u64 %rd10, %rd1, 60;\n" MOVE("%rd12", "5") SET,
     "are not there"},
    {"a fill of what is read-only", "mov.b64 %rd10, %rd2;\n" MOVE("%rd12", "4") SET,
     "'read' is read-only"},
    {"a fill of shared memory", SHARED("%rd10") MOVE("%rd12", "4") SET, "are not there"},
    {"a fill of the text of an error",
     "mov.b32 %r10, 0;\n" ERROR "mov.b64 %rd10, %rd15;\n" MOVE("%rd12", "4") SET, "is read-only"},
    {"a copy that fits", MOVE("%rd10", "word") "mov.b64 %rd11, %rd1;\n" MOVE("%rd12", "8") COPY,
     NULL},

    {"an object's address behind memory",
     "add.u64 %rd10, %rd1, 64;\n" MOVE("%rd11", "8") CDP_MALLOC, "out-of-bounds write of 8 bytes"},
    {"an object's address half inside", MOVE("%rd10", "word+4") MOVE("%rd11", "8") CDP_MALLOC,
     "out-of-bounds write of 8 bytes"},
    {"a stream in a constant",
     "mov.b64 %rd10, fixed;\ncvta.const.u64 %rd10, %rd10;\n" NEW("Stream"), "constant memory"},
    {"an event behind the stack", LOCAL("%rd10") "add.u64 %rd10, %rd10, 8;\n" NEW("Event"),
     "out-of-bounds write of 8 bytes"},

    {"a launch of what is no kernel",
     "mov.b64 %rd10, %rd1; mov.b32 %r10, 1;\n" ROOM "st.u32 [%rd15], %r7;\n", "a null pointer"},
    {"a launch of a function",
     MOVE("%rd10", "at") "mov.b32 %r10, 1;\n" ROOM "st.u32 [%rd15], %r7;\n", "a null pointer"},
    {"a launch with a number of blocks that no GPU has",
     MOVE("%rd10", "child") "mov.b32 %r10, -1;\n" ROOM "st.u32 [%rd15], %r7;\n", "a null pointer"},
    {"arguments behind their room",
     MOVE("%rd10", "child") "mov.b32 %r10, 1;\n" ROOM "st.u64 [%rd15+8], %rd7;\n", "out-of-bounds"},
    {"free of arguments",
     MOVE("%rd10", "child") "mov.b32 %r10, 1;\n" ROOM "mov.b64 %rd10, %rd15;\n" FREE,
     "which no kernel allocated"},
    {"a launch with arguments of nobody",
     "mov.b64 %rd10, %rd1;\n" LAUNCH "setp.ne.s32 p, %r15, 1;\n@p trap;\n", NULL},
    {"a launch twice",
     MOVE("%rd10", "child") "mov.b32 %r10, 1;\n" ROOM "mov.b64 %rd10, %rd15;\n" LAUNCH LAUNCH
                            "setp.ne.s32 p, %r15, 1;\n@p trap;\n",
     NULL},

    {"an atomic of global memory at a shared address",
     SHARED("%rd10") "atom.global.add.u32 %r8, [%rd10], 1;\n", "out-of-bounds write of 4 bytes"},
    {"the gap below a function's frame", MOVE("%rd10", "8") AT MOVE("%rd10", "12") AT, NULL},
    {"behind a function's frame", MOVE("%rd10", "16") AT, "out-of-bounds"},
    {"the gap below an array of no bytes",
     "alloca.u64 %rd10, %rd7, 512;\nst.local.b32 [%rd10+-4], %r7;\n"
     "ld.local.b32 %r10, [%rd10+-4];\n" MOVE("%rd10", "508") AT,
     NULL},
    {"an array of no bytes", "alloca.u64 %rd10, %rd7, 512;\nld.local.b32 %r10, [%rd10];\n",
     "out-of-bounds"},
    {"an array of 2^64-1 bytes", MOVE("%rd10", "-1") "alloca.u64 %rd10, %rd10, 8;\n",
     "stack overflow"},
    {"a stack that is given back",
     "stacksave.u64 %rd11;\n" MOVE("%rd10",
                                   "64") "alloca.u64 %rd10, %rd10, 8;\n"
                                         "stackrestore.u64 %rd11;\nst.local.b32 [%rd10+8], %r7;\n",
     "out-of-bounds"},
    {"a stack that never was",
     MOVE("%rd11", "0x100000") "stackrestore.u64 %rd11;\nst.local.b32 [%rd11+-8], %r7;\n",
     "out-of-bounds"},
};

static gi_buf printed;

static void keep(void *user, const char *text, size_t len) {
    (void)user;
    gi_buf_add(&printed, text, len);
}

/* Memory of so many bytes, and not one more. */
static void *exactly(size_t bytes) {
    return calloc(1, bytes);
}

typedef struct World {
    Emu *emu;
    void *memory[5];
    uint64_t params[6];
} World;

static uint64_t texture(World *w, EmuTexture t, void *data, bool is_surface) {
    gi_err err = {0};
    t.data = data;
    t.channels = 1;
    t.format = EMU_TEX_F32;
    uint64_t handle =
        is_surface ? emu_surface_new(w->emu, &t, &err) : emu_texture_new(w->emu, &t, &err);
    if (handle == 0) ok(false, "an object: %s", err.message);
    return handle;
}

static World world_new(const EmuModel *model) {
    static const size_t bytes[5] = {4 * WORDS, 4 * WORDS, 4 * TEXELS, 4 * SIDE * SIDE,
                                    4 * SIDE * SIDE};
    const EmuTexture line = {.kind = EMU_TEX_LINEAR, .dims = 1, .size = {TEXELS, 1, 1}};
    const EmuTexture square = {
        .kind = EMU_TEX_ARRAY, .dims = 2, .size = {SIDE, SIDE, 1}, .linear_filter = true};
    EmuTexture plain = square;
    World w = {.emu = emu_new(model)};
    plain.linear_filter = false;
    for (int i = 0; i < 5; i++) w.memory[i] = exactly(bytes[i]);
    w.params[0] = emu_map(w.emu, w.memory[0], bytes[0], false, "out");
    w.params[1] = emu_map(w.emu, w.memory[1], bytes[1], true, "read");
    w.params[2] = texture(&w, line, w.memory[2], false);
    w.params[3] = texture(&w, square, w.memory[3], false);
    w.params[4] = texture(&w, plain, w.memory[4], true);
    void *gone = exactly(4 * TEXELS);
    w.params[5] = texture(&w, line, gone, false);
    emu_texels_gone(w.emu, gone, 4 * TEXELS);
    free(gone);
    return w;
}

static void world_free(World *w) {
    emu_free(w->emu);
    for (int i = 0; i < 5; i++) free(w->memory[i]);
}

/* Runs a body in a warp of so many threads; what came of it is in result. */
static EmuResult result;
static uint64_t budget; /* 0: the usual one */

static bool run(const char *body, unsigned threads, bool checks) {
    gi_err err = {0};
    char text[9000];
    EmuModel model = emu_model_round();
    World w = world_new(&model);
    snprintf(text, sizeof text, "%s.reg .pred p;\n%s\nret; }\n", head, body);
    EmuModule *m = emu_load(w.emu, text, strlen(text), &err);
    EmuLaunch l = {.kernel = "k",
                   .grid = {1, 1, 1},
                   .block = {threads, 1, 1},
                   .params = w.params,
                   .count_uninitialised = checks,
                   .check_races = checks ? EMU_RACES_GLOBAL : EMU_RACES_NONE,
                   .budget = budget,
                   .print = keep};
    memset(&result, 0, sizeof result);
    bool ran = m && emu_launch(m, &l, &result, &err);
    if (!ran) ok(false, "%.60s runs: %s", body, err.message);
    emu_unload(m);
    world_free(&w);
    return ran;
}

static void test_one(int i, unsigned threads, bool checks) {
    if (!run(tries[i].body, threads, checks)) return;
    if (tries[i].why == NULL)
        ok(result.status == EMU_OK, "%s: fine %s", tries[i].what, result.message);
    else has_str(result.message, tries[i].why, tries[i].what);
}

/* A local text is the format; what it prints is another one, with its NUL first and no other. */
static void test_format_stays(void) {
    char body[6000];
    int n = snprintf(body, sizeof body,
                     ".local .align 8 .b8 f[1024]; .local .align 8 .b8 t[1024];\n"
                     ".local .align 8 .b8 v[8]; mov.b32 %%r8, 0x41414141;\n"
                     "mov.b64 %%rd20, f; mov.b64 %%rd21, 0;\n"
                     "L: st.local.b32 [%%rd20], %%r8; st.local.b32 [%%rd20+1024], %%r8;\n"
                     "add.u64 %%rd20, %%rd20, 4; add.u64 %%rd21, %%rd21, 4;\n"
                     "setp.lt.u64 p, %%rd21, 1024;\n@p bra L;\n");
    snprintf(body + n, sizeof body - (size_t)n, "%s",
             "mov.b16 %h1, 0; st.local.b8 [t], %h1; st.local.b8 [f+900], %h1;\n"
             "mov.b16 %h1, 37; st.local.b8 [f+800], %h1; mov.b16 %h1, 115;\n"
             "st.local.b8 [f+801], %h1; mov.b64 %rd20, t; cvta.local.u64 %rd20, %rd20;\n"
             "st.local.b64 [v], %rd20; mov.b64 %rd10, f; cvta.local.u64 %rd10, %rd10;\n"
             "mov.b64 %rd11, v; cvta.local.u64 %rd11, %rd11;\n" PRINT);
    gi_buf_clear(&printed);
    if (!run(body, 1, false)) return;
    ok(result.status == EMU_OK && printed.len == 898,
       "a format in local memory ends at its NUL, whatever it prints: %zu bytes %s", printed.len,
       result.message);
}

/* A fill takes of the launch's budget: a kernel that asks for many ends, too. */
static void test_budget(void) {
    static const char body[] = MOVE("%rd10", "1048576") MALLOC
        "mov.b64 %rd10, %rd15;\n" MOVE("%rd12", "1048576") SET SET;
    budget = 17000;
    if (run(body, 1, false)) ok(result.status == EMU_OK, "two fills fit %s", result.message);
    budget = 16000;
    if (run(body, 1, false)) has_str(result.message, "the instruction budget ran out", "or not");
    ok(result.status == EMU_TIMEOUT, "which is a timeout");
    budget = 0;
}

/* A variable's texels go with its module. */
static void test_unloaded(void) {
    static const char text[] = PTX_HEAD ".visible .global .align 4 .b8 texels[16];\n"
                                        ".visible .entry k(.param .b64 y) { ret; }\n";
    static const char fetch[] =
        PTX_HEAD ".visible .entry k(.param .b64 y) { .reg .b64 %rd<2>; .reg .f32 %f<5>;\n"
                 ".reg .b32 %r<2>; ld.param.b64 %rd0, [y]; mov.b32 %r0, 0;\n"
                 "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0}]; ret; }\n";
    gi_err err = {0};
    EmuModel model = emu_model_round();
    World w = world_new(&model);
    EmuModule *m = emu_load(w.emu, text, strlen(text), &err);
    const EmuTexture line = {.kind = EMU_TEX_LINEAR, .dims = 1, .size = {TEXELS, 1, 1}};
    uint64_t handle = texture(&w, line, emu_symbol(m, "texels", NULL, NULL), false);
    emu_unload(m);
    m = emu_load(w.emu, fetch, strlen(fetch), &err);
    EmuLaunch l = {.kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = &handle};
    memset(&result, 0, sizeof result);
    ok(emu_launch(m, &l, &result, &err), "a launch after the module %s", err.message);
    has_str(result.message, "memory was freed", "a texture of a variable that is gone");
    emu_unload(m);
    world_free(&w);
}

int main(void) {
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        test_one((int)i, 1, false);
        test_one((int)i, 32, false);
        test_one((int)i, 1, true);
    }
    test_format_stays();
    test_budget();
    test_unloaded();
    gi_buf_free(&printed);
    return tap_done();
}
