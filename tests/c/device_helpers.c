/* device_helpers.c - the device "cuda"'s own kernels, compiled by NVRTC and run on the virtual GPU:
** the comparison against array_compare for every type, checksums, copies of variables.
** Skipped where there is no NVRTC. */
#include "compile/compile.h"
#include "device/cuda.h"
#include "emu_model.h"

#include <math.h>
#include <stdlib.h>

#include "tap.h"

typedef struct Part { /* as in the helpers */
    double max, sum, penalty;
    int64_t finite, off, wrong, unset, nan, first, counted;
} Part;

static Compiler *compiler;
static Emu *emu;
static gi_rng rng;

static EmuModule *load(const char *source, const char *type) {
    char define[40];
    const char *defines[] = {define, NULL};
    snprintf(define, sizeof define, "TYPE=%s", type);
    CompileOptions options = {.target = "compute_90", .defines = defines};
    CompileResult r = {0};
    gi_err err = {.message = ""};
    EmuModule *m = NULL;
    if (compile_one(compiler, source, strlen(source), "helpers.cu", &options, &r, &err)) {
        if (r.ok) m = emu_load(emu, r.code.data, r.code.len, &err);
        else printf("# %.900s\n", r.log.data);
        compile_result_free(&r);
    }
    if (!ok(m != NULL, "the helpers compile for %s", type)) printf("# %s\n", err.message);
    return m;
}

static bool run(EmuModule *m, const char *kernel, unsigned blocks, const void *params) {
    EmuLaunch l = {.kernel = kernel,
                   .grid = {blocks, 1, 1},
                   .block = {256, 1, 1},
                   .params = params,
                   .check_races = true};
    EmuResult r;
    gi_err err = {.message = ""};
    bool ran = emu_launch(m, &l, &r, &err);
    if (ran && r.status == EMU_OK) return true;
    printf("# %s: %s\n", kernel, ran ? r.message : err.message);
    return false;
}

/* --- the comparison --- */

static Comparison on_gpu(EmuModule *m, const Array *got, const Array *expected,
                         const CompareOptions *o) {
    int64_t answers = got->count / o->width, n = (answers + 2047) / 2048;
    const uint64_t key = 0x0123456789abcdef; /* expected answers lie scrambled on a GPU */
    Part *parts = gi_alloc((size_t)(n + 1) * sizeof *parts);
    unsigned char *stored = gi_alloc(expected->size_bytes);
    for (size_t i = 0; i < expected->size_bytes; i++)
        stored[i] = ((const unsigned char *)expected->data)[i] ^ (unsigned char)(key >> i % 8 * 8);
    uint64_t g = emu_map(emu, got->data, got->size_bytes, true, "got");
    uint64_t e = emu_map(emu, stored, expected->size_bytes, true, "expected");
    uint64_t p = emu_map(emu, parts, (size_t)(n + 1) * sizeof *parts, false, "parts");
    struct {
        uint64_t got, expected;
        int64_t answers;
        int width, from, used;
        double max_error, rel_error, limit;
        uint64_t parts, key;
        ComparePenalty penalty;
    } compare = {g,       e,        answers, o->width, o->from, o->used, o->max_error,
                 o->rel_error, o->limit, p + sizeof *parts, key, o->penalty};
    struct {
        uint64_t parts;
        int64_t n;
        uint64_t out;
    } total = {p + sizeof *parts, n, p};
    bool ran = run(m, "gilua_compare", (unsigned)n, &compare) && run(m, "gilua_total", 1, &total);
    Part sum = parts[0];
    emu_unmap(emu, g), emu_unmap(emu, e), emu_unmap(emu, p);
    free(parts);
    free(stored);
    if (!ran) return (Comparison){.n = -1};
    return (Comparison){.n = answers,
                        .max_error = sum.max,
                        .mean_error = sum.finite ? sum.sum / (double)sum.finite : (double)INFINITY,
                        .off = (double)sum.off / (double)answers,
                        .wrong = (double)sum.wrong / (double)answers,
                        .unset = (double)sum.unset / (double)answers,
                        .nan = (double)sum.nan / (double)answers,
                        .first_wrong = sum.first,
                        .counted = sum.counted,
                        .penalty = sum.counted ? sum.penalty / (double)sum.counted : 0};
}

static bool near_to(double a, double b) {
    return a == b || fabs(a - b) <= 1e-6 * fabs(a);
}

static bool same(const Comparison *a, const Comparison *b) {
    return a->n == b->n && a->max_error == b->max_error && a->off == b->off &&
           a->wrong == b->wrong && a->unset == b->unset && a->nan == b->nan &&
           a->first_wrong == b->first_wrong &&
           near_to(a->mean_error, b->mean_error) && a->counted == b->counted &&
           near_to(a->penalty, b->penalty);
}

/* A few wrong, infinite, NaN and unset elements. */
static void spoil(Array *got) {
    Array *mark = array_new(got->type, 1, (int64_t[]){1}, NULL);
    const double special[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, 1e300};
    array_fill_sentinel(mark);
    for (uint64_t k = gi_rng_below(&rng, 12); k > 0; k--) {
        int64_t i = (int64_t)gi_rng_below(&rng, (uint64_t)got->count);
        size_t size = array_type_size(got->type);
        uint64_t what = gi_rng_below(&rng, 8);
        if (what < 4) array_set(got, i, array_get(got, i) + (double)what);
        else if (what < 7) array_set(got, i, special[gi_rng_below(&rng, 4)]);
        else memcpy((char *)got->data + (size_t)i * size, mark->data, size);
    }
    array_unref(mark);
}

/* Some ignore what is expected somewhere; some accept any finite number. */
static ComparePenalty some_penalty(void) {
    ComparePenalty p = {.wanted = 1, .ignore = -1, .unset = 200, .outside = 100, .high = 50};
    if (gi_rng_below(&rng, 3) == 0) p.low = -(double)INFINITY, p.high = (double)INFINITY;
    if (gi_rng_below(&rng, 3) == 0) p.ignore = (double)NAN;
    return p;
}

static bool one_comparison(EmuModule *m, ArrayType type, int width) {
    int64_t shape[] = {(int64_t)(1 + gi_rng_below(&rng, 5000)) * width};
    Array *expected = array_new(type, 1, shape, NULL), *got = array_new(type, 1, shape, NULL);
    CompareOptions o = {.width = width, .from = (int)gi_rng_below(&rng, (uint64_t)width)};
    o.used = 1 + (int)gi_rng_below(&rng, (uint64_t)(width - o.from));
    o.limit = (double)gi_rng_below(&rng, 3);
    o.max_error = (double)gi_rng_below(&rng, 2);
    o.rel_error = (double)gi_rng_below(&rng, 2) / 16;
    if (gi_rng_below(&rng, 3) != 0) o.penalty = some_penalty();
    for (int64_t i = 0; i < expected->count; i++)
        array_set(expected, i, (double)gi_rng_below(&rng, 20000) / 64 - 100);
    for (int k = 0; k < 9 * width; k++) /* whole answers that are ignored, and some in part */
        array_set(expected, (expected->count / 3 + k) % expected->count, o.penalty.ignore);
    if (type >= ARRAY_F32) array_set(expected, expected->count / 2, (double)NAN);
    memcpy(got->data, expected->data, got->size_bytes);
    spoil(got);
    Comparison host, device = on_gpu(m, got, expected, &o);
    bool equal = array_compare(got, expected, &o, &host, NULL) && same(&host, &device);
    if (!equal)
        printf("# n %lld max %g %g mean %g %g off %g %g wrong %g %g unset %g %g nan %g %g "
               "first %lld %lld counted %lld %lld penalty %.17g %.17g\n",
               (long long)host.n, host.max_error, device.max_error, host.mean_error,
               device.mean_error, host.off, device.off, host.wrong, device.wrong, host.unset,
               device.unset, host.nan, device.nan, (long long)host.first_wrong,
               (long long)device.first_wrong, (long long)host.counted, (long long)device.counted,
               host.penalty, device.penalty);
    array_unref(expected);
    array_unref(got);
    return equal;
}

static void test_compare(void) {
    static const char *const types[] = {
        "signed char", "unsigned char",      "short", "unsigned short", "int", "unsigned",
        "long long",   "unsigned long long", "float", "double"};
    for (int t = 0; t <= ARRAY_F64; t++) {
        EmuModule *m = load(cuda_helpers_compare, types[t]);
        if (m == NULL) continue;
        int equal = 0;
        for (int i = 0; i < 12; i++) equal += one_comparison(m, (ArrayType)t, 1 + i % 4);
        is_int(equal, 12, "12 random comparisons say what array_compare says");
        emu_unload(m);
    }
}

/* --- checksums and copies --- */

typedef struct Chunk {
    uint64_t address, offset;
    uint32_t bytes, zone;
} Chunk;

static uint64_t checksum(EmuModule *m, uint64_t address, uint32_t bytes) {
    Chunk chunk = {.address = address, .bytes = bytes};
    uint64_t sum = 0;
    uint64_t c = emu_map(emu, &chunk, sizeof chunk, true, "chunk");
    uint64_t s = emu_map(emu, &sum, sizeof sum, false, "sum");
    uint64_t params[] = {c, s};
    ok(run(m, "gilua_sums", 1, params), "a zone of %u bytes is summed", bytes);
    emu_unmap(emu, c), emu_unmap(emu, s);
    return sum;
}

/* Every byte of a zone counts, whatever its alignment, and none outside. */
static void test_sums(EmuModule *m) {
    unsigned char bytes[600] = {0};
    int missed = 0, strayed = 0;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)gi_rng_next(&rng);
    uint64_t at = emu_map(emu, bytes, sizeof bytes, true, "zone");
    const uint32_t start = 101, n = 350;
    uint64_t sum = checksum(m, at + start, n);
    for (uint32_t i = start - 5; i < start + n + 5; i += 1 + i % 7) {
        bool inside = i >= start && i < start + n;
        bytes[i] ^= 0x10;
        bool changed = checksum(m, at + start, n) != sum;
        bytes[i] ^= 0x10;
        missed += inside && !changed;
        strayed += !inside && changed;
    }
    is_int(missed, 0, "a change inside changes the sum");
    is_int(strayed, 0, "a change outside does not");
    emu_unmap(emu, at);
}

static void test_pieces(EmuModule *m) {
    char variables[256] = "what the host wrote", saved[512] = {0};
    uint64_t v = emu_map(emu, variables, sizeof variables, false, "variables");
    uint64_t s = emu_map(emu, saved, sizeof saved, false, "saved");
    CudaPiece pieces[] = {{.address = v, .saved = 64, .bytes = 100},
                          {.address = v + 103, .saved = 176, .bytes = 13}};
    uint64_t p = emu_map(emu, pieces, sizeof pieces, true, "pieces");
    struct {
        uint64_t pieces, base;
        int save;
    } params = {p, s, 1};
    memcpy(variables + 103, "another one", 12);
    ok(run(m, "gilua_pieces", 2, &params), "variables are copied aside");
    is_str(saved + 64, "what the host wrote", "a long one");
    is_str(saved + 176, "another one", "an unaligned one");
    memset(variables, 'x', sizeof variables);
    params.save = 0;
    ok(run(m, "gilua_pieces", 2, &params), "and back");
    is_str(variables, "what the host wrote", "the long one is restored");
    is_str(variables + 103, "another one", "the unaligned one too");
    ok(variables[100] == 'x' && variables[116] == 'x', "nothing beside them is touched");
    emu_unmap(emu, v), emu_unmap(emu, s), emu_unmap(emu, p);
}

int main(void) {
    gi_err err;
    compiler = compile_open(&err);
    if (compiler == NULL) {
        printf("1..0 # SKIP %s\n", err.message);
        return 0;
    }
    EmuModel model = emu_model_round();
    emu = emu_new(&model);
    gi_rng_seed(&rng, 77003);
    printf("# seed 77003\n");
    test_compare();
    EmuModule *m = load(cuda_helpers_general, "void");
    if (m != NULL) {
        test_sums(m);
        test_pieces(m);
        emu_unload(m);
    }
    emu_free(emu);
    compile_close(compiler);
    return tap_done();
}
