/* replay.c - recordings run again: the same bytes; other code; lines that cannot be meant. */
#include "replay/replay.h"

#include <stdlib.h>
#include <unistd.h>

#include "emu_model.h"
#include "tap.h"

#define MODULE(body)                                                         \
    ".version 7.0\n.target sm_80\n.address_size 64\n"                         \
    ".visible .const .align 4 .b8 scale[4];\n"                                \
    ".visible .entry k(.param .u64 p, .param .u32 n) {\n"                     \
    "  .reg .b64 %rd<5>; .reg .b32 %r<9>; .reg .pred %p1;\n"                  \
    "  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"                      \
    "  mov.u32 %r2, %tid.x; setp.ge.u32 %p1, %r2, %r1; @%p1 bra END;\n"       \
    "  mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;\n"                \
    "  ld.global.u32 %r3, [%rd3]; ld.const.u32 %r4, [scale];\n" body          \
    "  st.global.u32 [%rd3], %r5;\n"                                          \
    "END: ret; }\n"

static const char twice[] = MODULE("  mul.lo.u32 %r5, %r3, %r4;\n");
static const char thrice[] = MODULE("  mul.lo.u32 %r5, %r3, %r4; add.u32 %r5, %r5, %r3;\n");
static const char beyond[] = MODULE("  mov.u32 %r5, 0; st.global.u32 [%rd3+4000], %r5;\n");
static const char path[] = "test.rec";

static EmuModel model;
static gi_err err;
static char code_name[RECORD_NAME], data_name[RECORD_NAME], two_name[RECORD_NAME],
    right_name[RECORD_NAME];

/* Where the emulator puts a constant, and the first allocation after it. */
static uint64_t scale_at, memory_at;

static void find_addresses(void) {
    Emu *e = emu_new(&model);
    EmuModule *m = emu_load(e, twice, sizeof twice - 1, &err);
    emu_symbol(m, "scale", NULL, &scale_at);
    memory_at = emu_alloc(e, 40, "memory", NULL);
    emu_unload(m);
    emu_free(e);
}

static RecordWriter *begin(void) {
    int data[10], right[10], two = 2;
    for (int i = 0; i < 10; i++) data[i] = i, right[i] = 2 * i;
    unlink(path);
    RecordWriter *w = record_create(path, &err);
    record_event(w, "gilua 0");
    record_blob(w, twice, sizeof twice - 1, code_name);
    record_blob(w, data, sizeof data, data_name);
    record_blob(w, &two, sizeof two, two_name);
    record_blob(w, right, sizeof right, right_name);
    record_event(w, "module 0 %s", code_name);
    record_event(w, "variable 0 scale 0x%llx 4", (unsigned long long)scale_at);
    record_event(w, "write 0x%llx 4 1 4 1 1 %s", (unsigned long long)scale_at, two_name);
    record_event(w, "memory 0x%llx 40 device", (unsigned long long)memory_at);
    return w;
}

static void little_endian(uint64_t v, int bytes, char *hex) {
    for (int i = 0; i < bytes; i++) sprintf(hex + 2 * i, "%02x", (unsigned)(v >> 8 * i & 255));
}

static void add_launch(RecordWriter *w) {
    char hex[33];
    little_endian(memory_at, 8, hex);
    little_endian(10, 4, hex + 16);
    record_event(w, "write 0x%llx 40 1 40 1 1 %s", (unsigned long long)memory_at, data_name);
    record_event(w, "launch 0 k 1,1,1 32,1,1 0 0 1.5 %s", hex);
    record_event(w, "read 0x%llx 40 1 40 1 1 %s", (unsigned long long)memory_at, right_name);
}

static bool run(const char *ptx, ReplayResult *out) {
    ReplayCode code = {0, ptx, ptx ? strlen(ptx) : 0};
    ReplayOptions o = {.model = &model, .code = &code, .n_code = ptx != NULL};
    Recording *r = recording_open(path, &err);
    bool ok = r && replay_run(r, &o, out, &err);
    recording_close(r);
    return ok;
}

static void test_same(void) {
    ReplayResult a, b;
    RecordWriter *w = begin();
    add_launch(w);
    add_launch(w);
    ok(record_end(w, &err), "two launches");
    if (!ok(run(NULL, &a), "are run again %s", err.message)) return;
    is_int(a.n_reads, 2, "the host gets two pieces");
    ok(a.reads[0].same && a.reads[1].same, "as they were");
    is_str(a.reads[0].name, right_name, "by their names");
    is_int(a.n_kernels, 1, "of one kernel");
    is_int(a.kernels[0].launches, 2, "launched twice");
    ok(a.ns > 0 && a.ns == a.kernels[0].ns, "which took time");
    ok(run(NULL, &b) && a.ticks == b.ticks && memcmp(a.reads[1].bytes, b.reads[1].bytes, 40) == 0,
       "and again, to the bit");
    replay_free(&a);
    replay_free(&b);
    ok(run(thrice, &a), "with other code");
    is_int(a.n_reads, 2, "it comes to its end");
    ok(!a.reads[0].same, "the host gets something else");
    is_int(((int *)a.reads[0].bytes)[5], 15, "what that code makes, with the constant's value");
    replay_free(&a);
}

/* Between two allocations of the host's kernels had some of their own. */
static void test_left_out(void) {
    ReplayResult r;
    RecordWriter *w = begin();
    uint64_t later = memory_at + ((uint64_t)4 << 40);
    record_event(w, "memory 0x%llx 40 device", (unsigned long long)later);
    add_launch(w);
    record_event(w, "copy 0x%llx 40 1 0x%llx 40 1 40 1 1", (unsigned long long)later,
                 (unsigned long long)memory_at);
    record_event(w, "read 0x%llx 40 1 40 1 1 %s", (unsigned long long)later, right_name);
    ok(record_end(w, &err), "memory behind what kernels had");
    if (!ok(run(NULL, &r), "is where it was %s", err.message)) return;
    is_int(r.n_reads, 2, "and is copied out");
    ok(r.reads[1].same, "as it was");
    replay_free(&r);
    w = begin();
    later = memory_at + ((uint64_t)65539 << 40);
    record_event(w, "memory 0x%llx 8 device", (unsigned long long)later);
    record_end(w, &err);
    ok(!run(NULL, &r), "so much that it would be their rows again");
    has_str(err.message, "not where it was", "is refused");
}

static void test_faults(void) {
    ReplayResult r;
    ok(run(beyond, &r), "code that strays");
    is_int(r.status, EMU_ILLEGAL_ADDRESS, "has that status");
    is_int(r.line, 7, "at its event");
    is_int(r.n_reads, 0, "nothing follows");
    has_str(r.message, "'recorded memory' (40 bytes)", "and a sentence");
    replay_free(&r);
    ok(!run(".version 7.0\n.target sm_80\n.address_size 64\n", &r), "code without the kernel");
    is_str(err.code, "compile", "does not fit");
    has_str(err.message, "kernel k", "which is said");
    ok(!run("nonsense", &r), "nor does what is none");
}

static bool run_with(const char *ptx, ReplayOptions o, ReplayResult *out) {
    ReplayCode code = {0, ptx, strlen(ptx)};
    o.model = &model, o.code = &code, o.n_code = 1;
    Recording *r = recording_open(path, &err);
    bool ok = r && replay_run(r, &o, out, &err);
    recording_close(r);
    return ok;
}

static void test_partial(void) {
    ReplayResult r;
    RecordWriter *w = begin();
    add_launch(w);
    record_end(w, &err);
    static const char none[] = ".version 7.0\n.target sm_80\n.address_size 64\n";
    bool runs = run_with(none, (ReplayOptions){.partial = true}, &r);
    if (!ok(runs, "code without the kernel")) return;
    ok(r.n_reads == 1 && r.reads[0].same, "leaves it as recorded, where that is meant");
    replay_free(&r);
    ok(run_with(thrice, (ReplayOptions){.partial = true}, &r), "code with it");
    is_int(((int *)r.reads[0].bytes)[5], 15, "takes its place");
    replay_free(&r);
}

/* Code that has the kernel, which cannot run: never the recorded one in its place. */
static void test_partial_refused(void) {
#define HEAD  ".version 7.0\n.target sm_80\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 p, .param .u32 n) {\n  .reg .b32 %r<3>;\n"
    static const char *const refused[] = {
        HEAD ".extern .func gone();\n" ENTRY "  call gone, (); ret; }\n",
        HEAD ".extern .func (.param .b32 r) dot(.param .b32 a);\n" ENTRY
             "  .param .b32 a; .param .b32 r; st.param.b32 [a], 1;\n"
             "  call.uni (r), dot, (a); ld.param.b32 %r1, [r]; ret; }\n",
        HEAD ".extern .func (.param .b32 r) dot(.param .b32 a);\n"
             ".func mid() { .param .b32 a; .param .b32 r; st.param.b32 [a], 1;\n"
             "  call.uni (r), dot, (a); ret; }\n" ENTRY "  call mid, (); ret; }\n",
        HEAD ENTRY "  tcgen05.nothing.b32 %r1, %r2; ret; }\n",
        HEAD ENTRY "  ld.global.u32 %r1, [nowhere]; ret; }\n",
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ReplayResult r = {0};
        bool runs = run_with(refused[i], (ReplayOptions){.partial = true}, &r);
        ok(!runs && strcmp(err.code, "compile") == 0, "refused %zu: %s", i, err.message);
        if (runs) replay_free(&r);
    }
}

static void test_variables(void) {
    static const char limited[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                  ".visible .global .align 8 .u64 limit = 7;\n"
                                  ".visible .global .align 4 .u32 seen;\n"
                                  ".visible .entry k(.param .u64 p, .param .u32 n) {\n"
                                  "  .reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
                                  "  ld.global.u64 %rd1, [limit]; cvt.u32.u64 %r1, %rd1;\n"
                                  "  st.global.u32 [seen], %r1; ret; }\n";
    uint64_t nine = 9;
    ReplayResult r;
    ReplayVariable v[] = {{"limit", &nine, 8}, {"seen", NULL, 0}, {"none", NULL, 0}};
    if (!ok(run_with(limited, (ReplayOptions){.variables = v, .n_variables = 3}, &r), "variables"))
        return;
    is_int(r.n_held, 3, "each is told of");
    ok(r.held[1].size == 4 && *(int *)r.held[1].bytes == 9, "one begins as it is set");
    ok(r.held[2].bytes == NULL, "one that there is not holds nothing");
    replay_free(&r);
    v[0].bytes = 4;
    ok(run_with(limited, (ReplayOptions){.variables = v, .n_variables = 3}, &r) &&
           *(int *)r.held[1].bytes == 7,
       "one of another size stays as it is");
    replay_free(&r);
}

/* A managed variable has the host's address, and memory that comes later the same as ever. */
static void test_managed(void) {
    static const char text[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                               ".visible .global .attribute(.managed) .align 4 .u32 m;\n"
                               ".visible .entry k(.param .u64 p) {\n"
                               "  .reg .b64 %d; .reg .b32 %v; ld.param.u64 %d, [p];\n"
                               "  ld.global.u32 %v, [m]; st.global.u32 [%d], %v;\n"
                               "  add.u32 %v, %v, 1; st.global.u32 [m], %v; ret; }\n";
    char name[RECORD_NAME], three[RECORD_NAME], hex[17];
    int v = 3;
    ReplayResult r;
    Emu *e = emu_new(&model);
    emu_map_at(e, 0x20000, &v, 4, false, "m", NULL); /* what the variable takes of addresses */
    uint64_t at = emu_alloc(e, 4, "memory", NULL);
    emu_free(e);
    unlink(path);
    RecordWriter *w = record_create(path, &err);
    record_blob(w, text, sizeof text - 1, name);
    record_blob(w, &v, sizeof v, three);
    record_event(w, "memory 0x20000 4 managed");
    record_event(w, "module 0 %s", name);
    record_event(w, "variable 0 m 0x20000 4");
    record_event(w, "memory 0x%llx 4 device", (unsigned long long)at);
    record_event(w, "write 0x20000 4 1 4 1 1 %s", three);
    little_endian(at, 8, hex);
    record_event(w, "launch 0 k 1,1,1 1,1,1 0 0 1 %s", hex);
    record_event(w, "read 0x%llx 4 1 4 1 1 %s", (unsigned long long)at, three);
    record_event(w, "read 0x20000 4 1 4 1 1 %s", three);
    record_end(w, &err);
    if (!ok(run(NULL, &r), "a managed variable %s", err.message)) return;
    is_int(r.n_reads, 2, "  is there");
    ok(r.reads[0].same, "  kernels see what the host wrote");
    is_int(*(int *)r.reads[1].bytes, 4, "  and the host what a kernel did");
    replay_free(&r);
    if (!ok(run(text, &r), "other code has one of its own %s", err.message)) return;
    is_int(*(int *)r.reads[1].bytes, 4, "  with the same in it");
    replay_free(&r);
}

/* A texture's texels go before it does; whoever fetches from it then faults. */
static void test_texels_gone(void) {
    static const char fetch[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry f(.param .u64 t) {\n"
        "  .reg .b64 %rd<3>; .reg .b32 %r<9>; ld.param.u64 %rd1, [t]; mov.u32 %r1, 0;\n"
        "  tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd1, {%r1}]; ret; }\n";
    static const char *const places[][3] = {
        {"array 0 16 0 0 2 32,0,0,0 0", "array:0", "an array"},
        {"memory 0x70000 64 managed", "0x70000", "memory of the host"}};
    char name[RECORD_NAME];
    ReplayResult r;
    for (int i = 0; i < 2; i++) {
        unlink(path);
        RecordWriter *w = record_create(path, &err);
        record_blob(w, fetch, sizeof fetch - 1, name);
        record_event(w, "module 0 %s", name);
        record_event(w, "%s", places[i][0]);
        record_event(w, "texture 0x11 %s kind=%d format=4 channels=1 dims=1 size=16,0,0",
                     places[i][1], i == 0);
        record_event(w, "launch 0 f 1,1,1 1,1,1 0 0 1 1100000000000000");
        record_event(w, "free %s", places[i][1]);
        record_event(w, "launch 0 f 1,1,1 1,1,1 0 0 1 1100000000000000");
        record_end(w, &err);
        if (!ok(run(NULL, &r), "a texture over %s %s", places[i][2], err.message)) continue;
        is_int(r.line, 6, "  serves until that is freed");
        has_str(r.message, "a texture whose memory was freed", "  which is said");
        replay_free(&r);
    }
}

static void refuses(const char *line, const char *sentence) {
    ReplayResult r = {0};
    RecordWriter *w = begin();
    record_event(w, "%s", line);
    record_end(w, &err);
    ok(!run(NULL, &r), "refused: %.60s", line);
    has_str(err.message, sentence, "  with a sentence");
}

static void test_nonsense(void) {
    char line[200], side[40];
    snprintf(side, sizeof side, "0x%llx", (unsigned long long)memory_at);
    refuses("frobnicate", "event 6 of the recording cannot be replayed: it is not understood");
    refuses("", "not understood");
    refuses("memory", "not understood");
    refuses("memory 0x123 -1 device", "not understood");
    refuses("memory 0x123 99999999999999 device", "impossible");
    refuses("memory 0x800000000123 8 device", "not where it was");
    refuses("memory 0x0 8 managed", "cannot be mapped");
    refuses("write 0x10 1 1 1 1 1 00", "not");
    snprintf(line, sizeof line, "write %s 40 1 40 1 1 %s", side, two_name);
    refuses(line, "another size");
    snprintf(line, sizeof line, "write %s 40 1 41 1 1 %s", side, data_name);
    refuses(line, "recorded memory");
    snprintf(line, sizeof line, "set %s 4 99999999999 0 1 4 2 99999999999", side);
    refuses(line, "impossible");
    snprintf(line, sizeof line, "set %s 1 1 0 3 4 1 1", side);
    refuses(line, "not understood");
    snprintf(line, sizeof line, "copy %s 40 1 array:0:0:0:0 40 1 40 1 1", side);
    refuses(line, "not in the array");
    refuses("array 1 4 4 0 2 32,0,0,0 0", "the array is impossible");
    refuses("array 0 99999999999999 4 0 2 32,0,0,0 0", "the array is impossible");
    refuses("read array:0:0:0:0 16 4 16 1 1 00", "not in the array");
    refuses("texture 0x1 array:7 kind=1 format=7 channels=1 dims=2 size=8,3,1", "not there");
    snprintf(line, sizeof line, "texture 0x1 %s kind=0 format=4 channels=1 dims=1 size=11,0,0",
             side);
    refuses(line, "44 bytes are not there");
    refuses("texture 0x1 0x10 kind=1 format=4 channels=1 dims=2 size=8,5,0 pitch=46116860184273879",
            "impossible");
    refuses("texture 0x1 0x10 kind=1 format=99 channels=1 dims=2 size=8,3,1", "impossible");
    refuses("launch 1 k 1,1,1 1,1,1 0 0 1 -", "no such module");
    refuses("launch 0 k 1,1,1 1,1,1 0 0 1 -", "takes 12 bytes of arguments and was given 0");
    refuses("launch 0 k 1,1,1 1,1,1 0 0 1 zz00000000000000000000000", "it is not understood");
    refuses("launch 0 k 1,1 1,1,1 0 0 1 -", "not understood");
    refuses("module 5 0123", "its data are not there");
    snprintf(line, sizeof line, "module 5 %s", code_name);
    refuses(line, "its number is wrong");
    snprintf(line, sizeof line, "variable 0 scale 0x800000000010 4");
    refuses(line, "not where it was");
}

/* Bytes of an array of 4 rows of 16 bytes in 2 slices are set: those within it, up to its last one,
** and no more. A line says where they begin (x, y, z), how long the array's rows are and how many a
** slice has, then the width, height and depth of what is set. */
static void test_array_places(void) {
    static const struct {
        const char *line;
        bool fits;
    } sets[] = {{"array:0:0:0:0 16 4 0 1 16 4 2", true},  {"array:0:0:0:1 16 4 0 1 16 4 1", true},
                {"array:0:0:1:1 16 4 0 1 16 3 1", true},  {"array:0:12:3:1 16 4 0 1 4 1 1", true},
                {"array:0:0:0:0 16 4 0 1 16 4 3", false}, {"array:0:0:0:1 16 4 0 1 16 4 2", false},
                {"array:0:0:1:1 16 4 0 1 16 4 1", false}, {"array:0:13:3:1 16 4 0 1 4 1 1", false},
                {"array:0:17:0:0 16 4 0 1 1 1 1", false}, {"array:0:0:5:0 16 4 0 1 1 1 1", false},
                {"array:0:0:0:3 16 4 0 1 1 1 1", false},  {"array:0:0:0:0 8 4 0 1 8 1 1", false},
                {"array:0:0:0:0 16 3 0 1 8 1 1", false},  {"array:1:0:0:0 16 4 0 1 8 1 1", false}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        ReplayResult r = {0};
        RecordWriter *w = begin();
        record_event(w, "array 0 4 4 2 4 32,0,0,0 0");
        record_event(w, "set %s", sets[i].line);
        record_end(w, &err);
        bool fine = run(NULL, &r);
        ok(fine == sets[i].fits, "set %s %s", sets[i].line, sets[i].fits ? "fits" : "is refused");
        if (fine) replay_free(&r);
        else has_str(err.message, "its place is not in the array", "  with a sentence");
    }
}

int main(void) {
    char folder[] = "/tmp/gilua-test-XXXXXX";
    model = emu_model_round();
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) return 1;
    find_addresses();
    test_same();
    test_faults();
    test_left_out();
    test_partial();
    test_partial_refused();
    test_variables();
    test_managed();
    test_texels_gone();
    test_nonsense();
    test_array_places();
    unlink(path);
    if (chdir("/") != 0 || rmdir(folder) != 0) return 1;
    return tap_done();
}
