/* compile_machine.c - batches to machine code, and the reader of machine code.
**
** A unit's code must not depend on its company: that is what lets equal mutants be told by the hash
** of their code. The reader must survive any bytes; broken files are made from a whole one with
** a seed that is printed.
*/
#include "compile/compile.h"
#include "compile/cubin.h"

#include <stdlib.h>

#include "tap.h"

static const char *const names[] = {"table",  "scale",  "first", "second", "counter", "fixed",
                                    "unused", "kernel", "big",   "inner",  NULL};

/* All but the expression is alike; %s is the expression, and what the constants are is the same. */
static const char *const form = "// the constants: __constant__ int not_this;\n"
                                "__constant__ float table[8];\n"
                                "#define N 3\n"
                                "__constant__ int first, second[N];  /* two in one */\n"
                                "__constant__ float fixed[2] = {1, 2};\n"
                                "__constant__ double unused;\n"
                                "__device__ int counter = 7;\n"
                                "__device__ float big[100];\n"
                                "namespace inner { __constant__ int hidden; }\n"
                                "extern \"C\" __global__ void kernel(float *out, int n) {\n"
                                "    int i = threadIdx.x;\n"
                                "    out[i] = %s;\n"
                                "}\n";

static const char *const expressions[] = {
    "table[i & 7] + first", "second[i %% 3] * table[n & 7]", "first * 2.0f",
    "n * 3.5f + second[2]", "table[i & 7]  +  first",        "n ? table[1] : second[0]",
};
enum { N = sizeof expressions / sizeof *expressions };

static void make_units(CompileUnit *units) {
    for (int i = 0; i < N; i++) {
        gi_buf b = {0};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        gi_buf_addf(&b, form, expressions[i]);
#pragma GCC diagnostic pop
        for (char *p; (p = strstr(b.data, "%%")) != NULL; b.len--) memmove(p, p + 1, strlen(p));
        units[i] = (CompileUnit){b.data, b.len, names, "kernel"};
    }
}

static bool same(const gi_buf *a, const gi_buf *b) {
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static void test_company(Compiler *c) {
    CompileOptions o = {.target = "sm_90"};
    CompileUnit units[N];
    CompileResult alone[N] = {{0}}, got[N] = {{0}};
    CompileImages images = {0};
    gi_err err = {0};
    make_units(units);
    for (int i = 0; i < N; i++) {
        ok(compile_batch(c, &units[i], 1, &o, &alone[i], &images, &err) && alone[i].ok,
           "%s compiles alone %s", expressions[i], alone[i].log.data ? alone[i].log.data : "");
        is_int(alone[i].image, i, "its machine code is the last image");
        is_str(alone[i].tag, "__gilua0000", "where it is the first unit");
        ok(alone[i].code_hash != 0, "its kernel is found there");
    }
    compile_images_free(&images);
    ok(compile_batch(c, units, N, &o, got, &images, &err), "all together %s", err.message);
    is_int(images.n, 1, "one call, one image");
    for (int i = 0; i < N; i++) {
        ok(got[i].code_hash == alone[i].code_hash, "%s has the code it has alone", expressions[i]);
        ok(same(&got[i].code, &alone[i].code), "and the PTX");
    }
    ok(got[0].code_hash == got[4].code_hash, "a blank more, the same code");
    ok(got[0].code_hash != got[1].code_hash, "other code, another hash");
    for (int i = 0; i < N; i++) {
        compile_result_free(&alone[i]);
        compile_result_free(&got[i]);
        free((void *)(uintptr_t)units[i].source);
    }
    compile_images_free(&images);
}

/* Units that cannot share: another declaration, a conflict that only a macro makes, an error. */
static void test_conflicts(Compiler *c) {
    static const char *const sources[] = {
        "#define M 4\n__constant__ int m[M];\nextern \"C\" __global__ void kernel(int *o) "
        "{ *o = m[3]; }\n",
        "#define M 6\n__constant__ int m[M];\nextern \"C\" __global__ void kernel(int *o) "
        "{ *o = m[5]; }\n",
        "__constant__ float t[4];\nextern \"C\" __global__ void kernel(float *o) { *o = t[1]; }\n",
        "__constant__ float t[5];\nextern \"C\" __global__ void kernel(float *o) { *o = t[4]; }\n",
        "__constant__ float t[4];\nextern \"C\" __global__ void kernel(float *o) { *o = nothing; "
        "}\n",
    };
    static const char *const own[] = {"t", "m", "kernel", NULL};
    enum { COUNT = sizeof sources / sizeof *sources };
    CompileOptions o = {.target = "sm_80"};
    CompileUnit units[COUNT];
    CompileResult r[COUNT] = {{0}};
    CompileImages images = {0};
    gi_err err = {0};
    for (int i = 0; i < COUNT; i++)
        units[i] = (CompileUnit){sources[i], strlen(sources[i]), own, "kernel"};
    ok(compile_batch(c, units, COUNT, &o, r, &images, &err), "a batch at odds %s", err.message);
    for (int i = 0; i < COUNT - 1; i++) ok(r[i].ok && r[i].code_hash != 0, "unit %d compiles", i);
    ok(!r[COUNT - 1].ok && r[COUNT - 1].n_messages == 1, "the one that is wrong does not");
    ok(images.n > 1, "they are not all in one image");
    for (int i = 0; i < COUNT; i++) compile_result_free(&r[i]);
    compile_images_free(&images);
}

static const CubinSymbol *symbol_called(const CubinSymbol *s, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(s[i].name, name) == 0) return &s[i];
    return NULL;
}

static void test_symbols(const gi_buf *image) {
    CubinSymbol *s = NULL;
    gi_err err = {0};
    int n = cubin_symbols(image->data, image->len, &s, &err);
    const CubinSymbol *table = symbol_called(s, n, "table"), *fixed = symbol_called(s, n, "fixed"),
                      *counter = symbol_called(s, n, "counter"), *big = symbol_called(s, n, "big");
    ok(table && table->constant && table->size == 32 && !table->initialised, "a constant");
    ok(fixed && fixed->constant && fixed->initialised, "one with a value");
    ok(counter && !counter->constant && counter->size == 4 && counter->initialised, "a variable");
    ok(big && !big->constant && big->size == 400 && !big->initialised, "a large one");
    ok(symbol_called(s, n, "kernel") == NULL, "a kernel is no variable");
    cubin_symbols_free(s, n);
}

static void test_broken(const gi_buf *image, uint64_t seed) {
    gi_rng rng;
    gi_err err;
    uint64_t hash;
    CubinSymbol *s;
    gi_rng_seed(&rng, seed);
    printf("# seed %llu\n", (unsigned long long)seed);
    char *bytes = gi_alloc(image->len);
    for (int i = 0; i < 4000; i++) {
        memcpy(bytes, image->data, image->len);
        size_t len = i % 2 ? image->len : (size_t)gi_rng_below(&rng, image->len + 1);
        for (int k = 0; k < 1 + i % 8; k++)
            bytes[gi_rng_below(&rng, i % 3 ? 64 : image->len)] = (char)gi_rng_next(&rng);
        char *exact = gi_alloc(len + 1); /* so that a sanitizer sees a byte too far */
        memcpy(exact, bytes, len);
        int n = cubin_symbols(exact, len, &s, &err);
        if (n >= 0) cubin_symbols_free(s, n);
        cubin_code_hash(exact, len, "kernel", names, &hash, &err);
        CubinParam *params;
        if (cubin_params(exact, len, "kernel", &params, &err) >= 0) free(params);
        free(exact);
    }
    free(bytes);
    ok(true, "4000 broken files do no harm");
    ok(cubin_symbols("", 0, &s, &err) < 0, "an empty file is refused");
    is_str(err.code, "format", "as a broken one");
    ok(cubin_symbols("// PTX text, longer than a header of an ELF file would be, is none ......",
                     72, &s, &err) < 0,
       "so is text");
    has_str(err.message, "ELF", "with a reason");
    ok(!cubin_code_hash(image->data, image->len, "none", NULL, &hash, &err), "no such kernel");
    has_str(err.message, "'none'", "which is named");
}

/* Parameters lie as the compiler of the host lays a struct of them out, also beyond 4 KiB. */
static void test_params(Compiler *c) {
    static const char source[] =
        "struct S { char a; double b; int c[5]; };\nstruct Huge { char x[5000]; };\n"
        "extern \"C\" __global__ void mixed(float *p, S s, char c, int n) { p[n] = s.b + c; }\n"
        "extern \"C\" __global__ void huge(char *p, Huge h, int n) { p[n] = h.x[n]; }\n"
        "extern \"C\" __global__ void none() {}\n";
    static const struct {
        const char *kernel;
        int n;
        CubinParam want[4];
    } rows[] = {{"mixed", 4, {{0, 8}, {8, 40}, {48, 1}, {52, 4}}},
                {"huge", 3, {{0, 8}, {8, 5000}, {5008, 4}}},
                {"none", 0, {{0, 0}}}};
    CompileOptions o = {.target = "sm_90"};
    CompileResult r = {0};
    CubinParam *got;
    gi_err err = {0};
    ok(compile_one(c, source, sizeof source - 1, "k.cu", &o, &r, &err) && r.ok, "it compiles");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n = cubin_params(r.code.data, r.code.len, rows[i].kernel, &got, &err);
        is_int(n, rows[i].n, rows[i].kernel);
        for (int k = 0; k < n; k++) {
            const CubinParam *want = &rows[i].want[k];
            is_int((long long)got[k].offset, (long long)want->offset, "where a parameter is");
            is_int((long long)got[k].size, (long long)want->size, "how long it is");
        }
        if (n >= 0) free(got);
    }
    is_int(cubin_params(r.code.data, r.code.len, "other", &got, &err), -1, "no such kernel");
    has_str(err.message, "no kernel 'other'", "which is said");
    compile_result_free(&r);
}

/* Options for ptxas must reach the machine code: without them tuning would tune nothing. */
static void test_options(Compiler *c) {
    static const char *const source =
        "extern \"C\" __global__ void kernel(float *o, const float *a) {\n"
        "    float s[40];\n"
        "    for (int i = 0; i < 40; i++) s[i] = a[i * threadIdx.x];\n"
        "    for (int i = 0; i < 40; i++) o[i] = s[i] * s[39 - i];\n}\n";
    static const char *const few[] = {"-maxrregcount=24", NULL};
    static const char *const cache[] = {"-Xptxas=-dlcm=cg", NULL};
    const char *const *const sets[] = {NULL, few, cache};
    uint64_t hash[3] = {0};
    gi_err err = {0};
    for (int i = 0; i < 3; i++) {
        CompileOptions o = {.target = "sm_80", .options = sets[i]};
        CompileUnit unit = {source, strlen(source), names, "kernel"};
        CompileResult r = {0};
        CompileImages images = {0};
        ok(compile_batch(c, &unit, 1, &o, &r, &images, &err) && r.ok, "option set %d compiles %s",
           i, err.message);
        hash[i] = r.code_hash;
        compile_result_free(&r);
        compile_images_free(&images);
    }
    ok(hash[0] != hash[1], "-maxrregcount changes the code");
    ok(hash[0] != hash[2], "-Xptxas=-dlcm=cg changes the code");
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    gi_err err = {0};
    Compiler *c = compile_open(&err);
    if (!ok(c != NULL, "NVRTC is found %s", err.message)) return tap_done();
    test_company(c);
    test_conflicts(c);
    test_options(c);
    test_params(c);
    CompileUnit units[N];
    CompileOptions o = {.target = "sm_90"};
    CompileResult r = {0};
    make_units(units);
    if (ok(compile_one(c, units[0].source, units[0].len, "k.cu", &o, &r, &err) && r.ok,
           "machine code of one source %s", err.message)) {
        ok(r.ptx.len > 0 && strstr(r.ptx.data, ".entry kernel"), "with the PTX it came from");
        test_symbols(&r.code);
        test_broken(&r.code, seed);
    }
    compile_result_free(&r);
    for (int i = 0; i < N; i++) free((void *)(uintptr_t)units[i].source);
    compile_close(c);
    return tap_done();
}
