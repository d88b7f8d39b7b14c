/* emu_modules.c - what a module with something unknown in it still does: a kernel is refused when
** it is launched, for what is in it or in a function that it calls, and the others run. */
#include "emu_core_run.h"

typedef struct Loaded {
    Emu *emu;
    EmuModule *module;
    uint32_t word;
    uint64_t out;
    gi_err err;
    EmuResult result;
} Loaded;

static Loaded *load(const char *text) {
    Loaded *l = gi_alloc(sizeof *l);
    EmuModel model = emu_model_round();
    l->emu = emu_new(&model);
    l->out = emu_map(l->emu, &l->word, sizeof l->word, false, "out");
    l->module = emu_load(l->emu, text, strlen(text), &l->err);
    ok(l->module != NULL, "it loads %s", l->err.message);
    return l;
}

static void unload(Loaded *l) {
    emu_unload(l->module);
    emu_free(l->emu);
    free(l);
}

static bool launch(Loaded *l, const char *kernel) {
    EmuLaunch run = {.kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = &l->out};
    l->word = 0;
    memset(&l->result, 0, sizeof l->result);
    return l->module && emu_launch(l->module, &run, &l->result, &l->err);
}

static void runs(Loaded *l, const char *kernel, uint32_t want) {
    bool ran = launch(l, kernel) && l->result.status == EMU_OK;
    if (!ok(ran && l->word == want, "%s runs", kernel))
        printf("# %s%s, %u\n", l->err.message, l->result.message, l->word);
}

static void is_refused(Loaded *l, const char *kernel, const char *words) {
    EmuKernelInfo info;
    ok(!launch(l, kernel) && strcmp(l->err.code, "compile") == 0, "%s is refused", kernel);
    has_str(l->err.message, words, "  and the reason is told");
    ok(!emu_kernel_info(l->module, kernel, &info, &l->err), "  nothing is known of it either");
    has_str(l->err.message, words, "  for the same reason");
}

#define STORE(value)                                                                               \
    ".reg .b64 %d; .reg .b32 %v; ld.param.u64 %d, [out]; mov.u32 %v, " value                       \
    "; st.global.u32 [%d], %v; ret; }\n"
#define ENTRY(name) ".visible .entry " name "(.param .u64 out) {\n"

static void kernels_and_functions(void) {
    Loaded *l = load(
        PTX_HEAD
        ".extern .func elsewhere();\n"
        ".extern .global .u32 nowhere;\n"
        ".func odd() {\n frobnicate.b32;\n ret; }\n"
        ".func even() {\n call odd;\n ret; }\n"
        ".func fine() { ret; }\n"
        ".global .u64 table[1] = {odd};\n" ENTRY("bad") "frobnicate.b32;\n" STORE("1") ENTRY(
            "good") "call fine;" STORE("2") ENTRY("calls_bad") "call even;" STORE("3")
            ENTRY("calls_nobody") "call elsewhere;" STORE("4") ENTRY(
                "reads_nothing") ".reg .b32 %w; ld.global.u32 %w, [nowhere];" STORE("5")
                ENTRY("through_a_table") ".reg .b64 %f; ld.global.u64 %f, [table];\n"
                                         "p: .callprototype _ ();\n call %f, (), p;\n" STORE("6"));
    runs(l, "good", 2);
    is_refused(l, "bad", "frobnicate.b32; (in bad)");
    is_refused(l, "calls_bad",
               "PTX line 7: the virtual GPU does not know this instruction: "
               "frobnicate.b32; (in odd)");
    is_refused(l, "calls_nobody", "function elsewhere is not in this module");
    is_refused(l, "reads_nothing", "variable nowhere is declared .extern");
    ok(launch(l, "through_a_table") && l->result.status == EMU_LAUNCH_ERROR,
       "a function that is reached through memory ends the launch there");
    has_str(l->result.message, "frobnicate.b32; (in odd)", "  with the reason");
    runs(l, "good", 2);
    unload(l);
}

/* A kernel with n parameters of 8 bytes that stores the last one. */
static char *many_params(int n, const char *version) {
    gi_buf b = {0};
    gi_buf_addf(&b, ".version %s\n.target sm_90\n.address_size 64\n.visible .entry k(", version);
    gi_buf_adds(&b, ".param .u64 out");
    for (int i = 1; i < n; i++) gi_buf_addf(&b, ", .param .u64 p%d", i);
    gi_buf_addf(&b,
                ") {\n.reg .b64 %%d, %%v; ld.param.u64 %%d, [out];\n"
                "ld.param.u64 %%v, [p%d]; st.global.u32 [%%d], %%v; ret; }\n",
                n - 1);
    return b.data;
}

static void is_last_param(int n, const char *version, bool fits) {
    char *text = many_params(n, version);
    Loaded *l = load(text);
    uint64_t params[4096] = {l->out};
    for (uint64_t i = 1; i < 4096; i++) params[i] = i;
    EmuLaunch run = {.kernel = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
    EmuKernelInfo info = {0};
    bool ran = emu_launch(l->module, &run, &l->result, &l->err);
    ok(ran == fits, "%d parameters of 8 bytes in PTX %s: %s", n, version,
       fits ? "run" : "too many");
    if (!fits) has_str(l->err.message, "bytes of parameters; at most", "  which is said");
    if (fits) is_int(l->word, n - 1, "  and the last is the last");
    if (fits && ok(emu_kernel_info(l->module, "k", &info, &l->err), "  they are known")) {
        is_int(info.n_params, n, "  how many");
        is_int(info.param_offset[n - 1], 8 * (n - 1), "  and where each is");
    }
    unload(l);
    free(text);
}

static void parameters(void) {
    is_last_param(65, "8.0", true);
    is_last_param(544, "8.0", true);
    is_last_param(545, "8.0", false);
    is_last_param(545, "8.1", true);
    is_last_param(4095, "8.3", true);
    is_last_param(4096, "8.3", false);
}

static void has_cause(Loaded *l, const char *kernel, EmuCause cause, const char *what) {
    ok(launch(l, kernel), "%s: the launch is one %s", what, l->err.message);
    is_int(l->result.cause, cause, "  and its end has its cause");
}

static void causes(void) {
    Loaded *l =
        load(
            PTX_HEAD
            ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c,"
            " .param .b64 d, .param .b64 e);\n"
            ".func deep() { call deep; ret; }\n" ENTRY("well")
                STORE("1")
                    ENTRY("trap") "trap; ret; }\n" ENTRY(
                        "fault") ".reg .b64 %d; mov.u64 %d, 0; st.global.u32 [%d], 1; ret; "
                                 "}\n" ENTRY("stack") "call deep; ret; }\n" ENTRY("assert") ".param"
                                                                                            " .b64 "
                                                                                            "p; "
                                                                                            ".param"
                                                                                            " .b32 "
                                                                                            "q;\n"
                                                                                            "st."
                                                                                            "param."
                                                                                            "b64 "
                                                                                            "[p], "
                                                                                            "0; "
                                                                                            "st."
                                                                                            "param."
                                                                                            "b32 "
                                                                                            "[q], "
                                                                                            "7;\n"
                                                                                            "call "
                                                                                            "__"
                                                                                            "assert"
                                                                                            "fail, "
                                                                                            "(p, "
                                                                                            "p, q, "
                                                                                            "p, "
                                                                                            "p); "
                                                                                            "ret; "
                                                                                            "}\n"
                                                                                            ".visib"
                                                                                            "le "
                                                                                            ".entry"
                                                                                            " wide("
                                                                                            ") "
                                                                                            ".maxnt"
                                                                                            "id 32 "
                                                                                            "{ "
                                                                                            "ret; "
                                                                                            "}\n"
                                                                                            ".visib"
                                                                                            "le "
                                                                                            ".entry"
                                                                                            " big()"
                                                                                            " ."
                                                                                            "reqnti"
                                                                                            "d 64 "
                                                                                            "{ "
                                                                                            "ret; "
                                                                                            "}\n");
    has_cause(l, "well", EMU_CAUSE_NONE, "nothing");
    has_cause(l, "trap", EMU_CAUSE_TRAP, "a trap");
    has_cause(l, "fault", EMU_CAUSE_FAULT, "a fault");
    has_cause(l, "stack", EMU_CAUSE_STACK, "recursion without end");
    has_cause(l, "assert", EMU_CAUSE_ASSERT, "a failed assert");
    has_cause(l, "big", EMU_CAUSE_RESOURCES, "a block of another size than the kernel requires");
    EmuLaunch run = {.kernel = "wide", .grid = {1, 1, 1}, .block = {64, 1, 1}, .params = &l->out};
    emu_launch(l->module, &run, &l->result, &l->err);
    is_int(l->result.cause, EMU_CAUSE_RESOURCES, "a block beyond the launch bounds");
    run.kernel = "well", run.grid[1] = 0;
    emu_launch(l->module, &run, &l->result, &l->err);
    is_int(l->result.cause, EMU_CAUSE_CONFIGURATION, "a grid without blocks");
    run.grid[1] = 1, run.block[0] = 2000;
    emu_launch(l->module, &run, &l->result, &l->err);
    is_int(l->result.cause, EMU_CAUSE_CONFIGURATION, "a block with too many threads");
    unload(l);
}

/* --- what a program has --- */

static void system_words(void) {
    Loaded *l = load(PTX_HEAD
        ENTRY("waits") "griddepcontrol.wait;\n griddepcontrol.launch_dependents;\n" STORE("1")
        ENTRY("reserved") ".reg .b32 %a, %v; .reg .b64 %g, %d; .shared .b32 own;\n"
        "mov.u32 %a, %reserved_smem_offset_1; cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g;\n"
        "st.u32 [%g], 5; st.shared.u32 [own], 6; atom.shared.add.u32 %v, [%a], 3;\n"
        "ld.u32 %v, [%g]; ld.param.u64 %d, [out]; st.global.u32 [%d], %v; ret; }\n"
        ENTRY("beyond") ".reg .b32 %a; mov.u32 %a, %reserved_smem_offset_end;\n"
        "st.shared.u32 [%a], 5;\n" STORE("1")
        ".visible .entry one(.param .u64 out) .reqntid 1 .reqnctapercluster 1, 1, 1\n"
        ".blocksareclusters { .reg .b32 %v; .reg .b64 %d; .reg .pred %p; ld.param.u64 %d, [out];\n"
        "mov.pred %p, %is_explicit_cluster; selp.u32 %v, 9, 8, %p; st.global.u32 [%d], %v; ret; }\n"
        ".visible .entry unnamed(.param .u64 out) .explicitcluster { ret; }\n"
        ".visible .entry ten(.param .u64 out) .reqnctapercluster 10 { ret; }\n"
        ".visible .entry cluster(.param .u64 out)\n"
        ".explicitcluster .reqnctapercluster 2, 1, 1 { ret; }\n");
    runs(l, "waits", 1);
    runs(l, "reserved", 8);
    ok(launch(l, "beyond") && l->result.status == EMU_ILLEGAL_ADDRESS, "the system's end is one");
    runs(l, "one", 9);
    ok(launch(l, "cluster") && l->result.status == EMU_LAUNCH_ERROR, "a grid of half a cluster");
    has_str(l->result.message, "clusters of (2,1,1) blocks for a grid of (1,1,1)", "  is refused");
    unload(l);
}

static void linked(void) {
    static const char *const parts[] = {
        PTX_HEAD
        ".extern .func (.param .b32 r) twice(.param .b32 x);\n.extern .global .u32 n;\n"
        ".visible .global .u64 table[1] = {twice};\n" ENTRY(
            "k") ".reg .b64 %d, %f; .reg .b32 %v; .param .b32 x, r; ld.param.u64 %d, [out];\n"
                 "ld.global.u32 %v, [n]; st.param.b32 [x], %v; call (r), twice, (x);\n"
                 "ld.param.b32 %v, [r]; st.param.b32 [x], %v; ld.global.u64 %f, [table];\n"
                 "p: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %f, (x), p;\n"
                 "ld.param.b32 %v, [r]; st.global.u32 [%d], %v; ret; }\n",
        PTX_HEAD
        ".visible .global .u32 n = 21;\n"
        ".visible .func (.reg .b32 r) twice(.reg .b32 x) { add.u32 r, x, x; ret; }\n" ENTRY(
            "fault") "trap; ret; }\n"};
    EmuModel model = emu_model_round();
    Loaded *l = gi_alloc(sizeof *l);
    l->emu = emu_new(&model);
    l->out = emu_map(l->emu, &l->word, sizeof l->word, false, "out");
    EmuText texts[2] = {{.ptx = parts[0], .len = strlen(parts[0])},
                        {.ptx = parts[1], .len = strlen(parts[1])}};
    l->module = emu_link(l->emu, &(EmuLink){.texts = texts, .n = 2}, &l->err);
    if (!ok(l->module != NULL, "two texts are linked %s", l->err.message)) return;
    runs(l, "k", 84);
    *(uint32_t *)emu_symbol(l->module, "n", NULL, NULL) = 5;
    runs(l, "k", 20);
    launch(l, "fault");
    has_str(l->result.message, "PTX line 7 of text 2", "a fault says in which of them it is");
    EmuModule *same = emu_link(l->emu, &(EmuLink){.texts = texts, .n = 2}, &l->err);
    uint64_t *theirs = emu_symbol(same, "table", NULL, NULL),
             *ours = emu_symbol(l->module, "table", NULL, NULL);
    ok(*ours != *theirs, "functions of another module have other addresses");
    *ours = *theirs;
    ok(launch(l, "k") && l->result.status == EMU_LAUNCH_ERROR, "and are not called");
    has_str(l->result.message, "indirect call of a function of another module", "  it is told why");
    emu_unload(same);
    texts[0] = texts[1];
    ok(emu_link(l->emu, &(EmuLink){.texts = texts, .n = 2}, &l->err) == NULL,
       "a name is one's own");
    has_str(l->err.message, "is defined in two of the modules", "  it is told why");
    unload(l);
}

static bool managed_at(void *user, const char *name, size_t size, uint64_t *address, void **data) {
    static uint32_t memory[16];
    *(size_t *)user += size;
    *data = memory;
    *address = (uint64_t)(uintptr_t)memory;
    return strcmp(name, "m") == 0;
}

static void managed(void) {
    static const char text[] = PTX_HEAD ".visible .global .attribute(.managed) .u32 m = 7;\n" ENTRY(
        "k") ".reg .b64 %d; .reg .b32 %v; ld.param.u64 %d, [out];\n"
             "ld.global.u32 %v, [m]; st.global.u32 [%d], %v; add.u32 %v, %v, 1;\n"
             "st.global.u32 [m], %v; ret; }\n";
    EmuModel model = emu_model_round();
    Loaded *l = gi_alloc(sizeof *l);
    size_t asked = 0;
    uint64_t at;
    l->emu = emu_new(&model);
    l->out = emu_map(l->emu, &l->word, sizeof l->word, false, "out");
    EmuText one = {.ptx = text, .len = strlen(text)};
    EmuLink how = {.texts = &one, .n = 1, .managed = managed_at, .user = &asked};
    l->module = emu_link(l->emu, &how, &l->err);
    if (!ok(l->module != NULL, "a managed variable has its place %s", l->err.message)) return;
    is_int((int64_t)asked, 4, "which is asked for");
    uint32_t *host = emu_symbol(l->module, "m", NULL, &at);
    ok((uint64_t)(uintptr_t)host == at, "host and kernels have it at one address");
    runs(l, "k", 7);
    is_int(*host, 8, "what a kernel writes the host sees");
    *host = 100;
    runs(l, "k", 100);
    unload(l);
    l = load(text);
    runs(l, "k", 7);
    runs(l, "k", 8);
    unload(l);
}

static void written_out(void) {
    Loaded *l = load(
        PTX_HEAD
        ".func (.reg .b32 r) fac(.reg .b32 n) {\n.reg .pred p; .reg .b32 m;\n"
        "setp.lt.u32 p, n, 2; mov.u32 r, 1; @p ret;\n"
        "sub.u32 m, n, 1; call (m), fac, (m); mul.lo.u32 r, m, n; ret; }\n"
        ".func (.reg .b32 r) count() { .global .u32 n = 4; ld.global.u32 r, [n];\n"
        "add.u32 r, r, 1; st.global.u32 [n], r; ret; }\n" ENTRY(
            "factorial") ".reg .b32 %v; .reg .b64 %d; call (%v), fac, (5);\n"
                         "ld.param.u64 %d, [out]; st.global.u32 [%d], %v; ret; }\n" ENTRY(
                             "counts") ".reg .b32 %v; .reg .b64 %d; call (%v), count; call (%v), "
                                       "count;\n"
                                       "ld.param.u64 %d, [out]; st.global.u32 [%d], %v; ret; "
                                       "}\n" ENTRY(
                                           "vectors") ".reg .v4 .b32 v; .reg .b64 %d; .shared "
                                                      ".align 16 .b8 s[16];\n"
                                                      "mov.b32 v.x, 1; mov.b32 v.y, 20; mov.b32 "
                                                      "v.b, 300; mov.b32 v.w, 4000;\n"
                                                      "st.shared.v4.b32 [s], v; ld.shared.v4.b32 "
                                                      "{v.w, v.z, v.y, v.x}, [s];\n"
                                                      "sub.u32 v.x, v.x, v.w; ld.param.u64 %d, "
                                                      "[out]; st.global.u32 [%d], v.x; ret; }\n"
                                                      ".global .u32 word = 9;\n"
                                                      ".global .u8 bytes[8] = {0xff(word), "
                                                      "0xff00(word), 0xff0000(word), "
                                                      "0xff000000(word),\n"
                                                      "0xff00000000(word), 0xff0000000000(word), "
                                                      "0xff000000000000(word), "
                                                      "0xff00000000000000(word)};\n" ENTRY(
                                                          "masked") ".reg .b64 %a, %d; .reg .b32 "
                                                                    "%v; ld.global.u64 %a, "
                                                                    "[bytes];\n"
                                                                    "ld.global.u32 %v, [%a]; "
                                                                    "ld.param.u64 %d, [out]; "
                                                                    "st.global.u32 [%d], %v; ret; "
                                                                    "}\n");
    runs(l, "factorial", 120);
    runs(l, "counts", 6);
    runs(l, "counts", 8);
    runs(l, "vectors", 3999);
    runs(l, "masked", 9);
    unload(l);
}

/* Lane i asks for 4 * (i + 1) bytes twice, in a function, and fills them all. */
static void stack(void) {
    static const char body[] =
        ".reg .b64 %p, %q, %s, %n; .reg .b32 %k, %t, %sum; .reg .pred %c;\n"
        "mov.u32 %t, %tid.x; add.u32 %k, %t, 1; mul.wide.u32 %n, %k, 4;\n"
        "stacksave.u64 %s; alloca.u64 %p, %n, 16; alloca.u64 %q, %n;\n"
        "mov.u32 %k, 0; mov.u32 %sum, 0;\n"
        "FILL: mul.wide.u32 %n, %k, 4; add.u64 %n, %n, %p; st.local.u32 [%n], %k;\n"
        "mul.wide.u32 %n, %k, 4; add.u64 %n, %n, %q; st.local.u32 [%n], %t;\n"
        "add.u32 %k, %k, 1; setp.le.u32 %c, %k, %t; @%c bra FILL;\n"
        "SUM: sub.u32 %k, %k, 1; mul.wide.u32 %n, %k, 4; add.u64 %n, %n, %p;\n"
        "ld.local.u32 %r5, [%n]; add.u32 %sum, %sum, %r5;\n"
        "mul.wide.u32 %n, %k, 4; add.u64 %n, %n, %q; ld.local.u32 %r5, [%n];\n"
        "add.u32 %sum, %sum, %r5; setp.ne.u32 %c, %k, 0; @%c bra SUM;\n"
        "stackrestore.u64 %s; stacksave.u64 %p; setp.eq.u64 %c, %p, %s;\n"
        "selp.u32 %k, 1, 0, %c; mad.lo.u32 %sum, %sum, 2, %k;\n"
        "st.global.u32 [%rd1], %sum;\n";
    uint32_t out[32] = {0};
    Run r = run_new(1, 32);
    r.launch.count_uninitialised = true;
    run_body(&r, body, out, sizeof out, "alloca");
    unsigned bad = 0;
    for (unsigned i = 0; i < 32; i++) bad += out[i] != 2 * (i * (i + 1) / 2 + i * (i + 1)) + 1;
    is_int(bad, 0, "each lane has its room, and the stack is as before in the end");
    is_int(r.result.warnings.n, 0, "all of it was written");
    Run big = run_new(1, 1);
    run_text(&big, PTX_HEAD PTX_KERNEL "alloca.u64 %rd5, 20000, 8; st.local.u32 [%rd5], 1;" PTX_END,
             out, sizeof out);
    is_int(big.result.cause, EMU_CAUSE_STACK, "more than there is is a stack overflow");
    has_str(big.result.message, "stack overflow: alloca at depth 1 needs", "  of an alloca");
    run_text(&big, PTX_HEAD PTX_KERNEL "alloca.u64 %rd5, 16, 8; st.local.u32 [%rd5+16], 1;" PTX_END,
             out, sizeof out);
    is_int(big.result.status, EMU_ILLEGAL_ADDRESS, "behind it there is nothing");
}

int main(void) {
    system_words();
    linked();
    managed();
    written_out();
    stack();
    kernels_and_functions();
    parameters();
    causes();
    return tap_done();
}
