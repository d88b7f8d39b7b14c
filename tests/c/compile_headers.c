/* compile_headers.c - headers that are kept: nothing that comes of a source shows that they were.
**
** A large header is made up. Random kernels behind it, right and wrong ones, are compiled by one
** that keeps headers and by one that does not: PTX, machine code, logs and messages must be equal,
** to the byte. Prints its seed; another one is taken from the first argument.
*/
#include "compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/folder.h"
#include "tap.h"

enum { N_UNITS = 4, N_STRUCTS = 1300, PATH_SIZE = 512 };

static const char *const names[] = {"kernel", "twice", NULL};
static char *temporary, folder[PATH_SIZE], other[PATH_SIZE + 6];

/* large.h in a folder; with `warns` the compiler has something to say of it. */
static void write_header(const char *into, bool warns) {
    char path[PATH_SIZE + 20];
    snprintf(path, sizeof path, "%s/large.h", into);
    FILE *f = fopen(path, "w");
    fprintf(f, "#pragma once\n%sconstexpr int value = 1234567;\n"
               "template <int N> __device__ int checked(int v) {\n"
               "    static_assert(N < 90, \"N is too large\");\n    return v * N;\n}\n",
            warns ? "#define A 1\n#define A 2\n" : "");
    for (int i = 0; i < N_STRUCTS; i++)
        fprintf(f, "struct S%d { int a; float b; int c, d, e, f, g, h, j, k, l, m; };\n", i);
    fclose(f);
}

static void random_unit(gi_rng *rng, gi_buf *out) {
    const int n = (int)gi_rng_below(rng, 100); /* a tenth does not compile, in the header */
    gi_buf_adds(out, "// kept\n#include \"large.h\"\n");
    if (gi_rng_below(rng, 2)) gi_buf_adds(out, "#define LOCAL 3\n");
    gi_buf_addf(out, "static __device__ __noinline__ int twice(int v) { return v * %d; }\n"
                     "extern \"C\" __global__ void kernel(int *p, float b) {\n"
                     "    S%d s = {p[1], b};\n    int unused;\n"
                     "    p[0] = twice(s.a + (int)s.b) + checked<%d>(p[3]) + value;\n",
                n, n, n);
    if (gi_rng_below(rng, 4) == 0) gi_buf_adds(out, "    p[4] = nothing;\n");
    if (gi_rng_below(rng, 3) == 0) gi_buf_adds(out, "    printf(\"%d\\n\", __LINE__);\n");
    gi_buf_adds(out, "}\n");
}

static bool same(const gi_buf *a, const gi_buf *b) {
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool same_messages(const CompileResult *a, const CompileResult *b) {
    bool equal = a->n_messages == b->n_messages;
    for (int i = 0; equal && i < a->n_messages; i++) {
        const CompileMessage *x = &a->messages[i], *y = &b->messages[i];
        equal = x->line == y->line && x->is_error == y->is_error && strcmp(x->text, y->text) == 0;
    }
    return equal;
}

static bool same_result(const CompileResult *a, const CompileResult *b) {
    if (a->ok == b->ok && same(&a->code, &b->code) && same(&a->log, &b->log) &&
        same_messages(a, b) && a->code_hash == b->code_hash)
        return true;
    printf("# read:\n# %.2000s\n# kept:\n# %.2000s\n", a->log.data ? a->log.data : "",
           b->log.data ? b->log.data : "");
    return false;
}

static bool same_images(const CompileImages *a, const CompileImages *b) {
    bool equal = a->n == b->n;
    for (int i = 0; equal && i < a->n; i++) equal = same(&a->v[i], &b->v[i]);
    return equal;
}

static void test_random(Compiler *plain, Compiler *keeps, gi_rng *rng, const char *target) {
    const char *const includes[] = {folder, NULL};
    CompileOptions o = {.target = target, .includes = includes, .line_info = true};
    gi_buf sources[N_UNITS] = {{0}};
    CompileUnit units[N_UNITS];
    CompileResult read[N_UNITS] = {{0}}, kept[N_UNITS] = {{0}};
    CompileImages images[2] = {{0}};
    const bool code = target[0] == 's';
    gi_err err = {0};
    for (int i = 0; i < N_UNITS; i++) {
        random_unit(rng, &sources[i]);
        units[i] = (CompileUnit){sources[i].data, sources[i].len, names, "kernel"};
    }
    const int before = compile_spared(keeps);
    ok(compile_batch(plain, units, N_UNITS, &o, read, code ? &images[0] : NULL, &err) &&
           compile_batch(keeps, units, N_UNITS, &o, kept, code ? &images[1] : NULL, &err),
       "random units to %s %s", target, err.message);
    int equal = 0;
    for (int i = 0; i < N_UNITS; i++) equal += same_result(&read[i], &kept[i]);
    is_int(equal, N_UNITS, "each is what it is where headers are read");
    ok(same_images(&images[0], &images[1]), "and so is the machine code");
    ok(compile_spared(keeps) > before, "though they were not");
    for (int i = 0; i < N_UNITS; i++) {
        compile_result_free(&read[i]);
        compile_result_free(&kept[i]);
        gi_buf_free(&sources[i]);
    }
    for (int i = 0; i < 2; i++) compile_images_free(&images[i]);
}

static void test_alone(Compiler *c) {
    const char *source = "#include \"large.h\"\n__global__ void kernel(int *p) { *p = value; }\n";
    const char *const includes[] = {folder, NULL};
    CompileUnit unit = {source, strlen(source), names, NULL};
    CompileOptions o = {.target = "ptx", .includes = includes};
    CompileResult r[2] = {{0}};
    gi_err err = {0};
    const int before = compile_spared(c);
    ok(compile_batch(c, &unit, 1, &o, &r[0], NULL, &err) && r[0].ok, "a unit alone");
    is_int(compile_spared(c), before, "is no reason to keep its headers");
    ok(compile_batch(c, &unit, 1, &o, &r[1], NULL, &err) && r[1].ok, "a second one is");
    is_int(compile_spared(c), before + 1, "which spares reading them");
    ok(same_result(&r[0], &r[1]), "with the same result");
    const char *const refused[] = {"--create-pch=/dev/null", NULL};
    o.options = refused;
    ok(!compile_batch(c, &unit, 1, &o, &r[1], NULL, &err), "nobody else may ask for it");
    is_str(err.code, "usage", "that is misuse");
    for (int i = 0; i < 2; i++) compile_result_free(&r[i]);
}

/* A source as it is: its #include lines are found. Those of others' headers are read each time. */
static void test_one(Compiler *plain, Compiler *keeps) {
    const char *const includes[] = {folder, NULL};
    const char *sources[] = {"/* a\n * b */\n#include \"large.h\"\n"
                             "__global__ void kernel(int *p) { *p = value; }\n",
                             "__global__ void kernel(int *p) { *p = 1; }\n#include \"large.h\"\n"};
    CompileOptions o = {.target = "ptx", .includes = includes};
    gi_err err = {0};
    const int before = compile_spared(keeps);
    for (int i = 0; i < 4; i++) {
        const char *s = sources[i / 2];
        CompileResult a = {0}, b = {0};
        ok(compile_one(plain, s, strlen(s), "a.cu", &o, &a, &err) &&
               compile_one(keeps, s, strlen(s), "a.cu", &o, &b, &err) && same_result(&a, &b),
           "one source %s", err.message);
        compile_result_free(&a);
        compile_result_free(&b);
    }
    is_int(compile_spared(keeps), before, "behind headers that may change is read as it stands");
    if (compile_includes(plain)[0] == NULL) {
        ok(true, "CUDA's own headers # SKIP none beside this NVRTC");
        return;
    }
    const char *own = "/* a\n * b */\n\n#include <cuda/std/limits>\n#include <cuda/std/limits>\n\n"
                      "__global__ void kernel(int *p) { int unused;\n"
                      "    *p = cuda::std::numeric_limits<int>::max(); }\n";
    CompileResult want = {0}, got = {0};
    ok(compile_one(plain, own, strlen(own), "a.cu", &o, &want, &err) && want.ok, "one of CUDA's");
    for (int i = 0; i < 2; i++) {
        compile_result_free(&got);
        ok(compile_one(keeps, own, strlen(own), "a.cu", &o, &got, &err) &&
               same_result(&want, &got),
           "gives the same");
    }
    is_int(compile_spared(keeps), before + 1, "and is read once");
    compile_result_free(&want);
    compile_result_free(&got);
}

/* Headers of a folder that is said to stay as it is, unless one before it has such a file, too. */
static void test_standing(Compiler *plain, Compiler *keeps) {
    const char *const files[] = {"a.cu", "b/c.cu", "d"};
    const char *const first[] = {folder, NULL}, *const second[] = {other, folder, NULL};
    const char *source = "// s\n#include \"large.h\"\n"
                         "__global__ void kernel(int *p) { *p = value; }\n";
    gi_err err = {0};
    compile_keep_headers(keeps, folder);
    for (int shadowed = 0; shadowed < 2; shadowed++) {
        CompileOptions o = {.target = "ptx", .includes = shadowed ? second : first};
        const int before = compile_spared(keeps);
        for (int i = 0; i < 3; i++) {
            CompileResult a = {0}, b = {0};
            ok(compile_one(plain, source, strlen(source), files[i], &o, &a, &err) &&
                   compile_one(keeps, source, strlen(source), files[i], &o, &b, &err) && a.ok &&
                   same_result(&a, &b),
               "%s behind headers of a folder that stays %s", files[i], err.message);
            compile_result_free(&a);
            compile_result_free(&b);
        }
        is_int(compile_spared(keeps) - before, shadowed ? 0 : 2,
               shadowed ? "another's are read each time"
                        : "whatever it is called, they are read once");
    }
    compile_keep_headers(keeps, NULL);
}

static void test_small(Compiler *c) {
    const char *source = "#include <cuda_fp16.h>\n"
                         "__global__ void kernel(__half *p) { *p = __hadd(p[1], p[2]); }\n";
    CompileUnit unit = {source, strlen(source), names, NULL};
    CompileOptions o = {.target = "ptx"};
    gi_err err = {0};
    const int before = compile_spared(c);
    if (compile_includes(c)[0] == NULL) {
        ok(true, "a small header # SKIP CUDA's own are not beside this NVRTC");
        return;
    }
    for (int i = 0; i < 3; i++) {
        CompileResult r = {0};
        ok(compile_batch(c, &unit, 1, &o, &r, NULL, &err) && r.ok, "behind a small header");
        compile_result_free(&r);
    }
    is_int(compile_spared(c), before, "which is read each time");
}

/* The images have no names: nothing of them is left for others. */
static int files_in(const char *path) {
    gi_buf command = {0};
    int n = -1;
    gi_buf_addf(&command, "ls -A '%s' | wc -l", path);
    FILE *f = popen(command.data, "r");
    if (f && fscanf(f, "%d", &n) != 1) n = -1;
    if (f) pclose(f);
    gi_buf_free(&command);
    return n;
}

int main(int argc, char **argv) {
    gi_err err = {0};
    gi_rng rng;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20251123;
    Compiler *plain = compile_open(&err), *keeps = compile_open(&err);
    if (!ok(plain && keeps, "NVRTC is found %s", err.message)) return tap_done();
    printf("# seed %" PRIu64 "\n", seed);
    gi_rng_seed(&rng, seed);
    gi_folder own;
    if (!ok(gi_folder_open(&own, &err), "a folder %s", err.message)) return tap_done();
    temporary = own.path;
    setenv("TMPDIR", temporary, 1);
    snprintf(folder, sizeof folder, "%s/own", temporary);
    snprintf(other, sizeof other, "%s/other", folder);
    mkdir(folder, 0700);
    mkdir(other, 0700);
    write_header(folder, false);
    write_header(other, false);
    if (!compile_keep_headers(keeps, NULL)) {
        ok(true, "headers that are kept # SKIP this NVRTC is older than 12.8");
        return tap_done();
    }
    test_random(plain, keeps, &rng, "compute_80");
    write_header(folder, true); /* for others: what is kept has the old one */
    test_random(plain, keeps, &rng, "compute_90");
    test_random(plain, keeps, &rng, "sm_90");
    test_alone(keeps);
    test_one(plain, keeps);
    test_standing(plain, keeps);
    test_small(keeps);
    is_int(files_in(temporary), 1, "nothing is left in $TMPDIR but the test's own folder");
    compile_close(plain);
    compile_close(keeps);
    gi_folder_close(&own);
    return tap_done();
}
