/* emu_faults.c - every fault of the virtual GPU: one small kernel each, the right status, and a
** message that says what happened, where in memory, and which line of the PTX did it.
**
** The faulty instruction carries a ".loc 1 LINE" of its own; a test asks for that source line, for
** the PTX line, which it finds by the mark "//HERE", and for words of the message.
*/
#include "emu_kit.h"

#include <limits.h>

typedef struct Fault {
    const char *title;
    const char *decl, *body; /* the body's faulty line ends in //HERE */
    EmuStatus status;
    const char *words[3]; /* all in the message */
} Fault;

enum { SOURCE_LINE = 77 };

static char memory[256];
static uint64_t buffer, read_only, empty, gone;

static char *fault_ptx(const Fault *f) {
    gi_buf b = {0};
    gi_buf_addf(&b, "%s.file 1 \"user.cu\"\n%s\n", KIT_HEADER, f->decl ? f->decl : "");
    gi_buf_adds(&b,
                ".visible .entry victim(.param .u64 buffer, .param .u64 ro, .param .u64 empty,\n"
                ".param .u64 gone, .param .u64 texture)\n{\n"
                ".reg .b32 %a<20>;\n.reg .b64 %buffer, %ro, %empty, %gone, %texture, %l<20>;\n"
                ".reg .f32 %f<20>;\n.reg .pred %p<20>;\n.loc 1 10 1\n"
                "ld.param.u64 %buffer, [buffer];\nld.param.u64 %ro, [ro];\n"
                "ld.param.u64 %empty, [empty];\nld.param.u64 %gone, [gone];\n"
                "ld.param.u64 %texture, [texture];\nmov.u32 %a0, %tid.x;\n");
    gi_buf_adds(&b, f->body);
    gi_buf_adds(&b, "\nret;\n}\n");
    return b.data;
}

/* The line (from 1) that holds the mark; 0 if none. */
static int marked_line(const char *text) {
    const char *mark = strstr(text, "//HERE");
    if (!mark) return 0;
    int line = 1;
    for (const char *p = text; p < mark; p++) line += *p == '\n';
    return line;
}

typedef struct Options {
    unsigned grid, block;
    uint64_t texture;
    bool races, uninitialised;
    uint64_t budget;
    size_t shared;
} Options;

/* Runs a fault's kernel; false when it did not even load or launch. */
static bool run(const Fault *f, const Options *o, EmuResult *result, int *line) {
    char *ptx = fault_ptx(f);
    EmuModule *m = kit_load(ptx, f->title);
    *line = marked_line(ptx);
    free(ptx);
    if (!m) return false;
    uint64_t params[5] = {buffer, read_only, empty, gone, o->texture};
    EmuLaunch launch = {.kernel = "victim",
                        .grid = {o->grid, 1, 1},
                        .block = {o->block, 1, 1},
                        .params = params,
                        .budget = o->budget ? o->budget : 1000000,
                        .shared_bytes = o->shared,
                        .check_races = o->races,
                        .count_uninitialised = o->uninitialised};
    gi_err err = {.message = ""};
    memset(result, 0, sizeof *result);
    bool ran = emu_launch(m, &launch, result, &err);
    if (!ran) {
        ok(false, "%s: launches", f->title);
        printf("# %s\n", err.message);
    }
    emu_unload(m);
    return ran;
}

static void expect(const Fault *f, const Options *o) {
    EmuResult r;
    int line;
    char want[64];
    if (!run(f, o, &r, &line)) return;
    if (!ok(r.status == f->status, "%s: %s", f->title, emu_status_name(f->status)))
        printf("# got %s: %s\n", emu_status_name(r.status), r.message);
    for (int i = 0; i < 3 && f->words[i]; i++)
        has_str(r.message, f->words[i], "  the message says so");
    if (line == 0) return;
    is_int(r.ptx_line, line, "  the PTX line");
    is_int(r.src_line, SOURCE_LINE, "  the source line");
    snprintf(want, sizeof want, "%d", SOURCE_LINE);
    has_str(r.message, want, "  the message names the source line");
    snprintf(want, sizeof want, "%d", line);
    has_str(r.message, want, "  and the PTX line");
    has_str(r.message, "victim", "  and the kernel");
}

#define LOC  ".loc 1 77 1\n"
#define HERE " //HERE\n.loc 1 80 1\n"

static const Options one_warp = {.grid = 1, .block = 32};

/* ---- memory ---- */

static const Fault memory_faults[] = {
    {"global read past the end",
     NULL,
     LOC "ld.global.u32 %a1, [%buffer+256];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"global", "read"}},
    {"global write past the end",
     NULL,
     LOC "st.global.u32 [%buffer+256], %a0;" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"global", "write"}},
    {"global read before the beginning",
     NULL,
     LOC "ld.global.u32 %a1, [%buffer+-4];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"global"}},
    {"an access that straddles the end",
     NULL,
     LOC "ld.global.v4.u32 {%a1,%a2,%a3,%a4}, [%buffer+256];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"global"}},
    {"only lane 7 strays",
     NULL,
     "setp.eq.u32 %p1, %a0, 7;\nselp.b64 %l1, 4096, 0, %p1;\nadd.s64 %l1, %l1, %buffer;\n" LOC
     "ld.global.u32 %a1, [%l1];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"global", "7"}},
    {"null pointer",
     NULL,
     "mov.u64 %l1, 0;\n" LOC "ld.global.u32 %a1, [%l1];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"null"}},
    {"null pointer plus an offset",
     NULL,
     "mov.u64 %l1, 0;\n" LOC "st.global.u32 [%l1+16], %a1;" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"null"}},
    {"any number as a pointer",
     NULL,
     "mov.u64 %l1, 0x7f1234567890;\n" LOC "ld.global.u32 %a1, [%l1];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"global"}},
    {"write to a read-only buffer",
     NULL,
     LOC "st.global.u32 [%ro], %a0;" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"read-only"}},
    {"atomic on a read-only buffer",
     NULL,
     LOC "red.global.add.u32 [%ro], %a0;" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"read-only"}},
    {"an empty buffer",
     NULL,
     LOC "ld.global.u8 %a1, [%empty];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"global"}},
    {"a buffer that is gone",
     NULL,
     LOC "ld.global.u32 %a1, [%gone];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"global"}},
    {"generic read past the end",
     NULL,
     LOC "ld.u32 %a1, [%buffer+256];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {NULL}},
    {"generic null pointer",
     NULL,
     "mov.u64 %l1, 0;\n" LOC "ld.u32 %a1, [%l1];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"null"}},
    {"shared past the end",
     ".shared .align 4 .b8 s[64];",
     "mov.u64 %l1, s;\n" LOC "ld.shared.u32 %a1, [%l1+64];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"shared"}},
    {"shared write past the end",
     ".shared .align 4 .b8 s[64];",
     "mov.u64 %l1, s;\n" LOC "st.shared.u32 [%l1+1000], %a1;" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"shared", "write"}},
    {"shared atomic past the end",
     ".shared .align 4 .b8 s[64];",
     "mov.u64 %l1, s;\n" LOC "atom.shared.add.u32 %a1, [%l1+64], 1;" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"shared"}},
    {"generic pointer into shared memory, past its end",
     ".shared .align 4 .b8 s[64];",
     "mov.u64 %l1, s;\ncvta.shared.u64 %l2, %l1;\n" LOC "ld.u32 %a1, [%l2+64];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"shared"}},
    {"local past the end",
     NULL,
     ".local .align 4 .b8 v[16];\nmov.u64 %l1, v;\n" LOC "st.local.u32 [%l1+16], %a0;" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"local"}},
    {"constant past the end",
     ".const .align 4 .b8 c[16];",
     "mov.u64 %l1, c;\n" LOC "ld.const.u32 %a1, [%l1+16];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"const"}},
    {"write to constant memory",
     ".const .align 4 .b8 c[16];",
     "mov.u64 %l1, c;\ncvta.const.u64 %l2, %l1;\n" LOC "st.u32 [%l2], %a1;" HERE,
     EMU_ILLEGAL_ADDRESS,
     {NULL}},
    {"a module variable past its end",
     ".global .align 4 .b8 g[16];",
     "mov.u64 %l1, g;\n" LOC "ld.global.u32 %a1, [%l1+16];" HERE,
     EMU_ILLEGAL_ADDRESS,
     {"g"}},
    {"misaligned global read",
     NULL,
     LOC "ld.global.u32 %a1, [%buffer+2];" HERE,
     EMU_MISALIGNED,
     {"4"}},
    {"misaligned vector",
     NULL,
     LOC "ld.global.v4.u32 {%a1,%a2,%a3,%a4}, [%buffer+8];" HERE,
     EMU_MISALIGNED,
     {"16"}},
    {"misaligned double", NULL, LOC "st.global.u64 [%buffer+4], %l1;" HERE, EMU_MISALIGNED, {"8"}},
    {"misaligned shared access",
     ".shared .align 4 .b8 s[64];",
     "mov.u64 %l1, s;\n" LOC "ld.shared.u32 %a1, [%l1+1];" HERE,
     EMU_MISALIGNED,
     {"shared"}},
    {"misaligned local access",
     NULL,
     ".local .align 8 .b8 v[16];\nmov.u64 %l1, v;\n" LOC "ld.local.u64 %l2, [%l1+4];" HERE,
     EMU_MISALIGNED,
     {"local"}},
    {"misaligned atomic",
     NULL,
     LOC "atom.global.add.u32 %a1, [%buffer+2], 1;" HERE,
     EMU_MISALIGNED,
     {NULL}},
};

/* ---- control ---- */

static void test_control(void) {
    static const Fault loop = {"endless loop",
                               NULL,
                               "mov.u32 %a1, 0;\n" LOC "AGAIN:\nadd.u32 %a1, %a1, 1;\nbra AGAIN;",
                               EMU_TIMEOUT,
                               {"instruction"}};
    static const Fault trap = {"trap", NULL, LOC "trap;" HERE, EMU_LAUNCH_ERROR, {"trap"}};
    static const Fault warp_barrier = {"a barrier that half a warp reaches",
                                       NULL,
                                       "setp.lt.u32 %p1, %a0, 16;\n@%p1 bra OUT;\n" LOC
                                       "bar.sync 0;" HERE "OUT:\nbar.sync 0;",
                                       EMU_LAUNCH_ERROR,
                                       {"barrier"}};
    static const Fault block_barrier = {
        "a barrier that one warp of two waits at while the other waits at another",
        NULL,
        "setp.lt.u32 %p1, %a0, 32;\n@%p1 bra FIRST;\nbar.sync 1;\nbra OUT;\nFIRST:\nbar.sync "
        "2;\nOUT:",
        EMU_TIMEOUT,
        {"barrier"}};
    static const Fault count = {"a barrier that waits for more threads than there are",
                                NULL,
                                "bar.sync 1, 128;",
                                EMU_TIMEOUT,
                                {"barrier"}};
    static const Fault overflow = {
        "endless recursion",
        ".func (.param .b32 r) deep(.param .b32 n)\n{\n.reg .b32 %x, %y;\n.local .align 4 .b8 "
        "pad[256];\n"
        ".reg .b64 %q;\nld.param.u32 %x, [n];\nmov.u64 %q, pad;\nst.local.u32 [%q], %x;\n"
        "{\n.param .b32 a;\n.param .b32 b;\nadd.u32 %y, %x, 1;\nst.param.b32 [a], %y;\n"
        "call.uni (b), deep, (a);\nld.param.b32 %y, [b];\n}\nst.param.b32 [r], %y;\nret;\n}\n",
        "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %a0;\ncall.uni (b), deep, (a);\n"
        "ld.param.b32 %a1, [b];\n}",
        EMU_LAUNCH_ERROR,
        {"stack"}};
    expect(&loop, &one_warp);
    expect(&trap, &one_warp);
    expect(&warp_barrier, &one_warp);
    expect(&block_barrier, &(Options){.grid = 1, .block = 64});
    expect(&count, &(Options){.grid = 1, .block = 64});
    expect(&overflow, &one_warp);
}

/* A warp that left early does not stop the others, as on a GPU; it is counted. */
static void test_exit_before_barrier(void) {
    static const Fault f = {"a warp that exits before a barrier",
                            NULL,
                            "setp.lt.u32 %p1, %a0, 32;\n@%p1 exit;\nbar.sync 0;",
                            EMU_OK,
                            {NULL}};
    EmuResult r;
    int line;
    if (!run(&f, &(Options){.grid = 1, .block = 64}, &r, &line)) return;
    ok(r.status == EMU_OK && r.barrier_after_exit > 0,
       "a barrier after an exit passes, and is counted");
}

static void test_budget(void) {
    static const Fault f = {"budget", NULL, "add.u32 %a1, %a0, 1;", EMU_TIMEOUT, {"instruction"}};
    expect(&f, &(Options){.grid = 1000, .block = 32, .budget = 500});
}

/* ---- races, uninitialised memory ---- */

static void test_shadows(void) {
    static const Fault race = {"a race between two warps",
                               ".shared .align 4 .b8 s[64];",
                               "mov.u64 %l1, s;\n" LOC "st.shared.u32 [%l1], %a0;" HERE,
                               EMU_RACE,
                               {"shared"}};
    static const Fault hazard = {
        "a read without a barrier after another warp's write",
        ".shared .align 4 .b8 s[512];",
        "shl.b32 %a1, %a0, 2;\ncvt.u64.u32 %l2, %a1;\nmov.u64 %l1, s;\n"
        "add.s64 %l3, %l1, %l2;\nst.shared.u32 [%l3], %a0;\n"
        "xor.b32 %a2, %a1, 128;\ncvt.u64.u32 %l2, %a2;\nadd.s64 %l3, %l1, %l2;\n" LOC
        "ld.shared.u32 %a3, [%l3];",
        EMU_RACE,
        {"shared"}};
    static const Fault clean = {
        "the same with a barrier",
        ".shared .align 4 .b8 s[512];",
        "shl.b32 %a1, %a0, 2;\ncvt.u64.u32 %l2, %a1;\nmov.u64 %l1, s;\n"
        "add.s64 %l3, %l1, %l2;\nst.shared.u32 [%l3], %a0;\nbar.sync 0;\n"
        "xor.b32 %a2, %a1, 128;\ncvt.u64.u32 %l2, %a2;\nadd.s64 %l3, %l1, %l2;\n"
        "ld.shared.u32 %a3, [%l3];",
        EMU_OK,
        {NULL}};
    static const Fault atomic = {"atomics do not race",
                                 ".shared .align 4 .b8 s[64];",
                                 "mov.u64 %l1, s;\nred.shared.add.u32 [%l1], 1;",
                                 EMU_OK,
                                 {NULL}};
    static const char exchange[] =
        "shl.b32 %a1, %a0, 2;\ncvt.u64.u32 %l2, %a1;\nmov.u64 %l1, s;\nadd.s64 %l3, %l1, %l2;\n"
        "st.shared.u32 [%l3], %a0;\nbar.warp.sync -1;\nxor.b32 %a2, %a1, 4;\n"
        "cvt.u64.u32 %l2, %a2;\nadd.s64 %l3, %l1, %l2;\nld.shared.u32 %a3, [%l3];";
    static const char unsynced[] =
        "shl.b32 %a1, %a0, 2;\ncvt.u64.u32 %l2, %a1;\nmov.u64 %l1, s;\nadd.s64 %l3, %l1, %l2;\n"
        "st.shared.u32 [%l3], %a0;\nxor.b32 %a2, %a1, 4;\n"
        "cvt.u64.u32 %l2, %a2;\nadd.s64 %l3, %l1, %l2;\n" LOC "ld.shared.u32 %a3, [%l3];" HERE;
    static const Fault lanes = {"lanes of a warp exchange without bar.warp.sync",
                                ".shared .align 4 .b8 s[512];",
                                unsynced,
                                EMU_RACE,
                                {"shared"}};
    static const Fault synced = {
        "the same with bar.warp.sync", ".shared .align 4 .b8 s[512];", exchange, EMU_OK, {NULL}};
    static const Fault equal = {"lanes that store one value in one place",
                                ".shared .align 4 .b8 s[64];",
                                "mov.u64 %l1, s;\nmov.u32 %a1, 7;\nst.shared.u32 [%l1], %a1;",
                                EMU_OK,
                                {NULL}};
    static const char begin[] = ".shared .align 4 .b8 s[64];", zero[] =
        "mov.u64 %l1, s;\nmov.u32 %a1, 0;\nst.shared.u32 [%l1], %a1;\nbar.sync 0;\n";
#define SWAP "atom.shared.cas.b32 %a3, [%l1], %a2, %a4;"
    char expected[400], other[400], plain[400], stored_in[400];
    snprintf(expected, sizeof expected, "%s%s", zero,
             "ld.shared.u32 %a1, [%l1];\nmov.u32 %a2, %a1;\nadd.u32 %a4, %a2, 1;\n" SWAP);
    snprintf(other, sizeof other, "%s%s", zero,
             "mov.u32 %a2, 0;\nld.shared.u32 %a1, [%l1];\nadd.u32 %a4, %a1, 1;\n" LOC SWAP HERE);
    snprintf(plain, sizeof plain, "%s%s", zero,
             "ld.shared.u32 %a2, [%l1];\nadd.u32 %a4, %a2, %a0;\n" SWAP
             "\nadd.u32 %a4, %a0, 9;\n" LOC "st.shared.u32 [%l1], %a4;" HERE);
    snprintf(stored_in, sizeof stored_in, "%s%s", zero,
             "mov.u32 %a2, 0;\nld.shared.u32 %a4, [%l1];\nadd.u32 %a4, %a4, 1;\n" LOC SWAP HERE);
    Fault put_in = {"what a compare-and-swap stores", begin, stored_in, EMU_RACE, {"shared"}};
    Fault swap = {"what a compare-and-swap expects is read", begin, expected, EMU_OK, {NULL}};
    Fault elsewhere = {"what it does not expect", begin, other, EMU_RACE, {"shared"}};
    Fault stored = {"a swap and a plain write", begin, plain, EMU_RACE, {"shared"}};
    Options two_warps = {.grid = 2, .block = 64, .races = true};
    expect(&swap, &two_warps);
    expect(&put_in, &two_warps);
    expect(&elsewhere, &two_warps);
    expect(&stored, &two_warps);
    expect(&race, &two_warps);
    expect(&hazard, &two_warps);
    expect(&clean, &two_warps);
    expect(&atomic, &two_warps);
    expect(&lanes, &(Options){.grid = 2, .block = 32, .races = true});
    expect(&synced, &two_warps);
    expect(&equal, &(Options){.grid = 2, .block = 32, .races = true});
    two_warps.races = false;
    static const Fault unchecked = {"unchecked, a race is not told",
                                    ".shared .align 4 .b8 s[64];",
                                    "mov.u64 %l1, s;\nst.shared.u32 [%l1], %a0;",
                                    EMU_OK,
                                    {NULL}};
    expect(&unchecked, &two_warps);
}

/* What is read, in %a1, decides a branch. */
static uint64_t uninitialised(const char *decl, const char *body) {
    char whole[400];
    snprintf(whole, sizeof whole, "%s\nsetp.lt.u32 %%p1, %%a1, 7;\n@%%p1 bra DONE;\nDONE:", body);
    Fault f = {"uninitialised", decl, whole, EMU_OK, {NULL}};
    EmuResult r;
    int line;
    if (!run(&f, &(Options){.grid = 1, .block = 32, .uninitialised = true}, &r, &line)) return 0;
    ok(r.status == EMU_OK, "an uninitialised read is a warning, not a fault");
    return r.uninitialised_reads;
}

static void test_uninitialised(void) {
    const char *shared = ".shared .align 4 .b8 s[64];", *local = ".local .align 4 .b8 v[16];\n";
    char body[300];
    ok(uninitialised(shared, "mov.u64 %l1, s;\nld.shared.u32 %a1, [%l1];") > 0,
       "shared memory never written");
    ok(uninitialised(shared,
                     "mov.u64 %l1, s;\nst.shared.u32 [%l1], %a0;\nld.shared.u32 %a1, [%l1];") == 0,
       "… and written");
    ok(uninitialised(shared,
                     "mov.u64 %l1, s;\nst.shared.u8 [%l1], %a0;\nld.shared.u32 %a1, [%l1];") > 0,
       "… and written in part");
    ok(uninitialised(shared, "mov.u64 %l1, s;\nld.shared.u32 %a2, [%l1];\nmov.u32 %a1, %a0;") == 0,
       "what is thrown away is not told");
    snprintf(body, sizeof body, "%smov.u64 %%l1, v;\nld.local.u32 %%a1, [%%l1+8];", local);
    ok(uninitialised(NULL, body) > 0, "local memory never written");
    snprintf(body, sizeof body,
             "%smov.u64 %%l1, v;\nst.local.u32 [%%l1+8], %%a0;\nld.local.u32 %%a1, [%%l1+8];",
             local);
    ok(uninitialised(NULL, body) == 0, "… and written");
}

/* ---- textures ---- */

static float texels[16];

static uint64_t texture(EmuTexture t) {
    gi_err err = {.message = ""};
    t.data = texels;
    uint64_t handle = emu_texture_new(kit_emu, &t, &err);
    if (!ok(handle != 0, "the texture is made")) printf("# %s\n", err.message);
    return handle;
}

static void test_textures(void) {
    const EmuTexture flat = {
        .kind = EMU_TEX_ARRAY, .format = EMU_TEX_F32, .channels = 1, .dims = 2, .size = {4, 4}};
    EmuTexture line = {
        .kind = EMU_TEX_LINEAR, .format = EMU_TEX_F32, .channels = 1, .dims = 1, .size = {16}};
    uint64_t two = texture(flat), linear = texture(line);
    line.format = EMU_TEX_S32;
    uint64_t whole = texture(line), freed = texture(flat);
    emu_texture_free(kit_emu, freed);
#define TEX1(form, c) LOC "tex." form " {%f1, %f2, %f3, %f4}, [%texture, {" c "}];" HERE
#define TEXI(form, c) LOC "tex." form " {%a1, %a2, %a3, %a4}, [%texture, {" c "}];" HERE
    const struct {
        Fault fault;
        uint64_t handle;
    } table[] = {
        {{"a handle that is none",
          NULL,
          TEX1("2d.v4.f32.f32", "%f5, %f5"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         12345},
        {{"the null handle",
          NULL,
          TEX1("2d.v4.f32.f32", "%f5, %f5"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         0},
        {{"a freed texture",
          NULL,
          TEX1("2d.v4.f32.f32", "%f5, %f5"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         freed},
        {{"a buffer as a texture",
          NULL,
          TEX1("2d.v4.f32.f32", "%f5, %f5"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         buffer},
        {{"one coordinate on a 2-D texture",
          NULL,
          TEX1("1d.v4.f32.f32", "%f5"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         two},
        {{"three coordinates on a 2-D texture",
          NULL,
          TEX1("3d.v4.f32.f32", "%f5, %f5, %f5, %f5"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         two},
        {{"a layer on a texture without",
          NULL,
          TEX1("a2d.v4.f32.f32", "%a0, %f5, %f5, %f5"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         two},
        {{"float coordinates on linear memory",
          NULL,
          TEX1("1d.v4.f32.f32", "%f5"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         linear},
        {{"floats read as integers",
          NULL,
          TEXI("1d.v4.s32.s32", "%a0"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         linear},
        {{"integers read as floats",
          NULL,
          TEX1("1d.v4.f32.s32", "%a0"),
          EMU_LAUNCH_ERROR,
          {"texture"}},
         whole},
    };
    for (int i = 0; i < KIT_COUNT(table); i++)
        expect(&table[i].fault, &(Options){.grid = 1, .block = 32, .texture = table[i].handle});
    gi_err err = {.message = ""};
    EmuTexture bad = flat;
    bad.data = texels;
    bad.format = EMU_TEX_S32;
    bad.linear_filter = true;
    ok(emu_texture_new(kit_emu, &bad, &err) == 0,
       "filtering integers is refused when the texture is made");
    has_str(err.message, "filter", "  and says why");
    emu_texture_free(kit_emu, two);
    emu_texture_free(kit_emu, linear);
    emu_texture_free(kit_emu, whole);
}

/* ---- launches ---- */

static void launch(const char *what, EmuLaunch l, const char *word) {
    static const char ptx[] =
        KIT_HEADER ".visible .entry k() { ret; }\n"
                   ".visible .entry bound() .maxntid 64, 1, 1 { ret; }\n"
                   ".visible .entry wide() .maxntid 56, 1, 2147483647 { ret; }\n"
                   ".shared .align 16 .b8 huge[40000];\n"
                   ".visible .entry big() {\n.reg .b64 %l; mov.u64 %l, huge; ret; }\n";
    EmuModule *m = kit_load(ptx, what);
    if (!m) return;
    gi_err err = {.message = ""};
    EmuKernelInfo info;
    EmuResult r;
    memset(&r, 0, sizeof r);
    bool is_wide = emu_kernel_info(m, "wide", &info, &err);
    ok(is_wide && info.max_threads == INT_MAX, "%s: a bound beyond any int is the greatest", what);
    bool ran = emu_launch(m, &l, &r, &err);
    if (word) {
        ok(ran && r.status == EMU_LAUNCH_ERROR, "%s: launch_error", what);
        has_str(r.message, word, "  the message says so");
    } else if (!ok(ran && r.status == EMU_OK, "%s: ok", what)) {
        printf("# %s\n", ran ? r.message : err.message);
    }
    emu_unload(m);
}

static void test_launches(void) {
#define L(k, gx, gy, gz, bx, by, bz, s)                                                            \
    (EmuLaunch){.kernel = k, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared_bytes = s}
    launch("an ordinary launch", L("k", 2, 2, 2, 8, 8, 2, 0), NULL);
    launch("a bound beyond any int", L("wide", 1, 1, 1, 64, 1, 1, 0), NULL);
    launch("no blocks", L("k", 0, 1, 1, 32, 1, 1, 0), "grid");
    launch("no blocks in z", L("k", 1, 1, 0, 32, 1, 1, 0), "grid");
    launch("no threads", L("k", 1, 1, 1, 0, 1, 1, 0), "block");
    launch("no threads in y", L("k", 1, 1, 1, 32, 0, 1, 0), "block");
    launch("a block of 1025 threads", L("k", 1, 1, 1, 1025, 1, 1, 0), "1025");
    launch("a block of 64 x 32 threads", L("k", 1, 1, 1, 64, 32, 1, 0), "2048");
    launch("a block 65 deep", L("k", 1, 1, 1, 1, 1, 65, 0), "block");
    launch("a block whose sides overflow", L("k", 1, 1, 1, 65536, 65536, 1, 0), "block");
    launch("a grid too wide in y", L("k", 1, 70000, 1, 32, 1, 1, 0), "grid");
    launch("a grid too wide in x", L("k", 3000000000u, 1, 1, 32, 1, 1, 0), "grid");
    launch("more threads than __launch_bounds__", L("bound", 1, 1, 1, 65, 1, 1, 0), "64");
    launch("as many threads as __launch_bounds__", L("bound", 1, 1, 1, 64, 1, 1, 0), NULL);
    launch("a megabyte of shared memory", L("k", 1, 1, 1, 32, 1, 1, 1 << 20), "shared");
    launch("all memory there is, and more", L("k", 1, 1, 1, 32, 1, 1, SIZE_MAX - 100), "shared");
    launch("static and dynamic shared memory together", L("big", 1, 1, 1, 32, 1, 1, 200000),
           "shared");
}

static void test_usage(void) {
    static const char ptx[] = KIT_HEADER ".visible .entry k(.param .u64 a) { ret; }\n";
    EmuModule *m = kit_load(ptx, "usage");
    gi_err err = {.message = ""};
    EmuResult r;
    EmuLaunch l = {.kernel = "nobody", .grid = {1, 1, 1}, .block = {1, 1, 1}};
    ok(!emu_launch(m, &l, &r, &err) && strcmp(err.code, "usage") == 0,
       "a kernel nobody wrote is misuse");
    has_str(err.message, "nobody", "  and its name is told");
    l.kernel = "k";
    ok(!emu_launch(m, &l, &r, &err) && strcmp(err.code, "usage") == 0,
       "parameters that are missing too");
    emu_unload(m);
}

/* ---- what is not known ---- */

static void refuse(const char *title, const char *body, const char *words[3]) {
    Fault f = {title, NULL, body, EMU_OK, {NULL}};
    char *ptx = fault_ptx(&f), line[32];
    gi_err err = {.message = ""};
    EmuModule *m = kit_load(ptx, title);
    EmuLaunch l = {.kernel = "victim", .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = memory};
    EmuResult r;
    bool ran = m && emu_launch(m, &l, &r, &err);
    ok(!ran && strcmp(err.code, "compile") == 0, "%s is refused at its launch", title);
    emu_unload(m);
    snprintf(line, sizeof line, "%d", marked_line(ptx));
    has_str(err.message, line, "  with its PTX line");
    has_str(err.message, "77", "  and its source line");
    for (int i = 0; i < 3 && words[i]; i++) has_str(err.message, words[i], "  and its text");
    free(ptx);
}

static void test_refusals(void) {
    refuse("a parameter past the end", LOC "ld.param.u64 %l1, [texture+64];" HERE,
           (const char *[3]){"param"});
    refuse("an unknown instruction", LOC "frobnicate.rn.f32 %f1, %f2;" HERE,
           (const char *[3]){"frobnicate.rn.f32"});
    refuse("a tensor instruction",
           LOC "tcgen05.wait::ld.sync.aligned;" HERE,
           (const char *[3]){"tensor memory (tcgen05) is not supported: tcgen05.wait"});
    refuse("an unknown modifier", LOC "add.rq.f32 %f1, %f2, %f3;" HERE,
           (const char *[3]){"add.rq.f32"});
    refuse("tensor memory", LOC "tcgen05.fence::before_thread_sync;" HERE,
           (const char *[3]){"tensor memory (tcgen05) is not supported"});
    refuse("a special register that is none", LOC "mov.u32 %a1, %envreg32;" HERE,
           (const char *[3]){"there are %envreg0 to %envreg31"});
    refuse("memory of several GPUs", LOC "multimem.red.global.add.u32 [%l1], %a1;" HERE,
           (const char *[3]){"multimem joins the memories of several GPUs"});
    refuse("a state of an arrival elsewhere",
           LOC "mbarrier.arrive.shared::cluster.b64 %l1, [%a1];" HERE,
           (const char *[3]){"an arrival in another block has no state"});
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    buffer = emu_map(kit_emu, memory, sizeof memory, false, "buffer");
    read_only = emu_map(kit_emu, memory, sizeof memory, true, "input");
    empty = emu_map(kit_emu, memory, 0, false, "empty");
    gone = emu_map(kit_emu, memory, sizeof memory, false, "gone");
    emu_unmap(kit_emu, gone);
    for (int i = 0; i < KIT_COUNT(memory_faults); i++) expect(&memory_faults[i], &one_warp);
    test_control();
    test_exit_before_barrier();
    test_budget();
    test_shadows();
    test_uninitialised();
    test_textures();
    test_launches();
    test_usage();
    test_refusals();
    return kit_end();
}
