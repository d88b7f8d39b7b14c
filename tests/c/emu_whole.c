/* emu_whole.c - programs as people build them: of several files linked together (-rdc=true), with
** objects that kernels allocate. Compiled by NVRTC; skipped where there is none. */
#include "compile/compile.h"
#include "emu_kit.h"

enum { MOST_PARTS = 4 };

static Compiler *compiler;

static bool compile(const char *name, CompileResult *result, gi_err *err) {
    char path[200];
    snprintf(path, sizeof path, "tests/programs/%s.cu", name);
    gi_buf source = {0};
    const char *includes[2] = {compile_includes(compiler)[0], NULL}, *more[2] = {"-rdc=true", NULL};
    CompileOptions options = {
        .target = "compute_90", .includes = includes, .options = more, .line_info = true};
    bool fine = gi_read_file(path, &source, err) &&
                compile_one(compiler, source.data, source.len, path, &options, result, err);
    if (fine && !result->ok)
        snprintf(err->message, sizeof err->message, "%.900s", result->log.data);
    gi_buf_free(&source);
    return fine && result->ok;
}

static EmuModule *load(const char *const *names, int n) {
    CompileResult result[MOST_PARTS];
    EmuText texts[MOST_PARTS];
    gi_err err = {.message = ""};
    memset(result, 0, sizeof result);
    int done = 0;
    for (; done < n && compile(names[done], &result[done], &err); done++)
        texts[done] = (EmuText){.ptx = result[done].code.data, .len = result[done].code.len};
    EmuModule *m = done == n ? emu_link(kit_emu, &(EmuLink){.texts = texts, .n = n}, &err) : NULL;
    if (!ok(m != NULL, "%s is compiled and linked", names[0])) printf("# %s\n", err.message);
    for (int i = 0; i < n; i++) compile_result_free(&result[i]);
    return m;
}

static EmuResult result;

static bool launch(EmuModule *m, const char *kernel, unsigned grid, unsigned block,
                   const void *params, bool checks) {
    EmuLaunch l = {.kernel = kernel,
                   .grid = {grid, 1, 1},
                   .block = {block, 1, 1},
                   .params = params,
                   .count_uninitialised = checks,
                   .check_races = checks ? EMU_RACES_GLOBAL : EMU_RACES_NONE};
    gi_err err = {.message = ""};
    memset(&result, 0, sizeof result);
    if (emu_launch(m, &l, &result, &err)) return result.status == EMU_OK;
    snprintf(result.message, sizeof result.message, "%.500s", err.message);
    return false;
}

static void runs(EmuModule *m, const char *kernel, unsigned grid, unsigned block,
                 const void *params, bool checks) {
    if (!ok(launch(m, kernel, grid, block, params, checks), "%s runs", kernel))
        printf("# %s\n", result.message);
}

/* ---- two files ---- */

static float halve(float x, int n) {
    return n <= 0 ? x : halve(x * 0.5f, n - 1) + 8;
}

static float parts_want(int i, int n) {
    float area = i % 2 ? (float)(i * 4) : 12, sum = 0;
    for (int k = 0; k <= i % 5; k++) sum += (float)(k * (k % 4 + 1));
    return area + halve((float)i, n) + halve((float)i, 1) + sum + 3;
}

static void test_parts(void) {
    enum { N = 40 };
    static const char *const names[] = {"parts_a", "parts_b"};
    EmuModule *m = load(names, 2);
    float out[N] = {0};
    int total = 0, wrong = 0;
    struct {
        uint64_t out;
        int n;
    } params = {emu_map(kit_emu, out, sizeof out, false, "out"), 3};
    uint64_t sum = emu_map(kit_emu, &total, sizeof total, false, "total");
    for (int checks = 0; m && checks < 2; checks++) {
        memset(out, 0, sizeof out);
        runs(m, "parts", 1, N, &params, checks);
        for (int i = 0; i < N; i++) wrong += out[i] != parts_want(i, 3);
        is_int(wrong, 0, "virtual calls, pointers, recursion across two files");
        is_int(result.warnings.n, 0, "without a warning");
    }
    if (m) runs(m, "other", 1, 1, &sum, false);
    is_int(total, (4 + 2 * N) * 100 + 8, "a variable of both files, and each file's own");
    emu_unload(m);
    emu_unmap(kit_emu, params.out);
    emu_unmap(kit_emu, sum);
}

static void test_undefined(void) {
    static const char *const names[] = {"parts_a"};
    EmuModule *m = load(names, 1);
    uint64_t params[2] = {0};
    ok(m && !launch(m, "parts", 1, 1, params, false), "half a program does not run");
    has_str(result.message, "declared .extern and defined in no module", "  and why");
    emu_unload(m);
}

/* ---- the heap ---- */

static int list_want(int t, int n) {
    int total = (t % 2 ? 6 + t : 2) * 1000000;
    for (int i = 0; i < n + t % 3; i++) total += t + i;
    return total;
}

static void misuse(EmuModule *m, int how, const char *words) {
    bool fine = launch(m, "misuse", 1, 1, &how, how == 6);
    if (words == NULL) ok(fine, "misuse %d is none %s", how, result.message);
    else if (ok(!fine && result.status == EMU_ILLEGAL_ADDRESS, "misuse %d of the heap", how))
        has_str(result.message, words, "  is told");
}

static void test_heap(void) {
    enum { N = 256 };
    static const char *const names[] = {"heap"};
    EmuModule *m = load(names, 1);
    if (!m) return;
    static int out[N];
    int n = 5, wrong = 0, live, more;
    uint64_t at = emu_map(kit_emu, out, sizeof out, false, "out");
    free(emu_allocations(kit_emu, &live));
    runs(m, "build", 4, 64, &n, true);
    free(emu_allocations(kit_emu, &more));
    is_int(more - live, N * 6 + 255, "objects live on after a kernel");
    runs(m, "sum", 4, 64, &at, true);
    for (int t = 0; t < N; t++) wrong += out[t] != list_want(t, n);
    is_int(wrong, 0, "the next one finds what is in them");
    free(emu_allocations(kit_emu, &more));
    is_int(more, live, "and frees them");
    runs(m, "exhaust", 1, 1, &at, false);
    is_int(out[0], (8 << 20) / (100000 + 16), "8 MiB and no more");
    emu_heap_limit(kit_emu, 16 << 20);
    runs(m, "exhaust", 1, 1, &at, false);
    is_int(out[0], (16 << 20) / 100016 - (8 << 20) / 100016, "unless more are allowed");
    emu_heap_limit(kit_emu, 32 << 20);
    misuse(m, 0,
           "out-of-bounds write of 4 bytes in generic memory at byte 40 of 'malloc of thread "
           "(0,0,0) of block (0,0,0) in kernel misuse' (40 bytes)");
    misuse(m, 1, "thread (0,0,0) of block (0,0,0) in kernel misuse frees a second time: byte 0 of");
    misuse(m, 2, "use-after-free write of 4 bytes");
    misuse(m, 3, "frees inside of an allocation: byte 4 of");
    misuse(m, 4, "free of 'lists', which no kernel allocated");
    misuse(m, 5, NULL);
    misuse(m, 6, NULL);
    is_int(result.uninitialised_reads, 1, "what nobody wrote is told of, if that is asked for");
    emu_unload(m);
    emu_unmap(kit_emu, at);
}

/* ---- cooperative groups ---- */

static EmuStatus cooperate(EmuModule *m, unsigned grid, const void *params, bool together,
                           EmuRaces races) {
    EmuLaunch l = {.kernel = "rotate",
                   .grid = {grid, 1, 1},
                   .block = {64, 1, 1},
                   .params = params,
                   .cooperative = together,
                   .check_races = races};
    gi_err err = {.message = ""};
    memset(&result, 0, sizeof result);
    if (!emu_launch(m, &l, &result, &err)) ok(false, "rotate: %s", err.message);
    return result.status;
}

static void test_cooperative(void) {
    enum { BLOCKS = 20, N = BLOCKS * 64, STEPS = 5 };
    static const char *const names[] = {"coop"};
    EmuModule *m = load(names, 1);
    if (!m) return;
    static int a[N], out[256];
    int wrong = 0;
    struct {
        uint64_t a;
        int n;
    } params = {emu_map(kit_emu, a, sizeof a, false, "a"), STEPS};
    for (int races = 0; races < 2; races++) {
        for (int i = 0; i < N; i++) a[i] = i * i;
        EmuRaces check = races ? EMU_RACES_GLOBAL : EMU_RACES_NONE;
        is_int(cooperate(m, BLOCKS, &params, true, check), EMU_OK,
               "blocks wait for each other");
        for (int i = 0; i < N; i++) wrong += a[i] != (i + STEPS) % N * ((i + STEPS) % N) + STEPS;
        is_int(wrong, 0, "each sees what all did before");
        is_int(result.warnings.n, 0, "without a race");
    }
    double ticks = result.ticks;
    cooperate(m, BLOCKS, &params, true, EMU_RACES_GLOBAL);
    ok(result.ticks == ticks, "in as many ticks each time");
    is_int(cooperate(m, BLOCKS, &params, false, EMU_RACES_NONE), EMU_OK, "an ordinary launch");
    is_int(a[0], -1, "has no such barrier");
    is_int(cooperate(m, 100000, &params, true, EMU_RACES_NONE), EMU_LAUNCH_ERROR, "too many");
    is_int(result.cause, EMU_CAUSE_COOPERATIVE, "are refused as such");
    has_str(result.message, "a cooperative launch of 100000 blocks; 128 can run", "  why");
    uint64_t at = emu_map(kit_emu, out, sizeof out, false, "out");
    runs(m, "tiles", 1, 256, &at, false);
    for (int i = 0; i < 256; i++) wrong += out[i] != i / 64 * 10 + (i / 64 == 1);
    is_int(wrong, 0, "groups of two warps have the system's memory");
    emu_unload(m);
    emu_unmap(kit_emu, params.a);
    emu_unmap(kit_emu, at);
}

int main(int argc, char **argv) {
    gi_err err = {.message = ""};
    compiler = compile_open(&err);
    if (!compiler) {
        printf("1..0 # SKIP %s\n", err.message);
        return 0;
    }
    kit_begin(argc, argv);
    test_parts();
    test_undefined();
    test_heap();
    test_cooperative();
    compile_close(compiler);
    return kit_end();
}
