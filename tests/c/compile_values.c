/* compile_values.c - long lists of numbers that are kept from NVRTC (src/compile/values.h): the
** PTX is NVRTC's own, byte for byte, and what is not understood goes its old way. */
#include "compile/values.h"

#include <inttypes.h>
#include <stdlib.h>

#include "compile/compile.h"
#include "tap.h"

static const char kernel[] = "extern \"C\" __global__ void k(float *out, int n) {\n"
                             "    int i = threadIdx.x;\n"
                             "    out[i] = w[i % n] + w[2];\n"
                             "}\n";

/* A source whose array begins with enough of `number`, in a row. */
static void repeat(gi_buf *out, const char *before, const char *number, const char *behind) {
    gi_buf_clear(out);
    gi_buf_adds(out, before);
    for (size_t n = 0; n < VALUES_LONG; n += strlen(number)) gi_buf_adds(out, number);
    gi_buf_adds(out, behind);
}

static bool taken(const gi_buf *source) {
    Values v;
    char *rest = values_take(source->data, source->len, &v);
    const bool one = rest != NULL && v.n == 1;
    free(rest);
    values_free(&v);
    return one;
}

static void test_taken(void) {
    gi_buf b = {0};
    Values v;
    repeat(&b, "// w\n__device__ float w[99999] = {\n", "-1.5f, // a\n", "};\nint z;\n");
    char *rest = values_take(b.data, b.len, &v);
    ok(rest != NULL && v.n == 1, "a list is taken");
    is_str(rest ? v.v[0].name : "", "w", "by its name");
    is_int(rest ? (long)v.v[0].size : 0, 399996, "all its bytes");
    ok(rest && memcmp(v.v[0].bytes, "\0\0\300\277", 4) == 0, "each as a GPU has it");
    long lines = 0, left = 0;
    for (const char *p = b.data; *p; p++) lines += *p == '\n';
    for (const char *p = rest ? rest : ""; *p; p++) left += *p == '\n';
    is_int(left, lines, "as many lines as before");
    has_str(rest ? rest : "", "__device__ float w[99999] \n", "and what else there was");
    free(rest);
    values_free(&v);
    gi_buf_free(&b);
}

static void test_left(void) {
    static const struct {
        const char *what, *before, *number, *behind;
        bool taken;
    } cases[] = {
        {"an array of a size in figures", "__device__ int w[99999]={", "7,", "};", true},
        {"hexadecimal", "__constant__ unsigned w[9][9999]={", "0xffU,", "};", true},
        {"const", "__device__ const int w[99999]={", "7,", "};", false},
        {"static", "static __device__ int w[99999]={", "7,", "};", false},
        {"the host's", "int w[99999]={", "7,", "};", false},
        {"a size that is a macro", "__device__ int w[N]={", "7,", "};", false},
        {"a size that is not said", "__device__ int w[]={", "7,", "};", false},
        {"more numbers than places", "__device__ int w[9]={", "7,", "};", false},
        {"a number that does not fit", "__device__ char w[99999]={", "128,", "};", false},
        {"a negative one of no sign", "__device__ unsigned w[99999]={", "-1,", "};", false},
        {"an octal one", "__device__ int w[99999]={", "07,", "};", false},
        {"a word", "__device__ int w[99999]={", "A,", "};", false},
        {"a sum", "__device__ int w[99999]={", "1+1,", "};", false},
        {"a float that is none", "__device__ float w[99999]={", "1e99,", "};", false},
        {"one too small to be normal", "__device__ float w[99999]={", "1e-40f,", "};", false},
        {"a whole one that a float rounds", "__device__ float w[99999]={", "16777217,", "};",
         false},
        {"rows in braces", "__device__ int w[9999][2]={", "{1,2},", "};", false},
        {"a namespace's", "namespace a { __device__ int w[99999]={", "7,", "}; }", false},
        {"one under a condition", "#if A\n__device__ int w[99999]={", "7,", "};\n#endif\n", false},
        {"one in a comment", "/*\n__device__ int w[99999]={", "7,", "};*/", false},
        {"one in a string", "const char *s = \"__device__ int w[99999]={", "7,", "};\";", false},
        {"a directive in the list", "__device__ int w[99999]={", "7,\n#\n", "};", false},
        {"a second variable", "__device__ int w[99999]={", "7,", "}, z;", false},
        {"a type of two words", "__device__ long double w[99999]={", "7.0,", "};", false},
        {"no end", "__device__ int w[99999]={", "7,", "", false},
    };
    gi_buf b = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        repeat(&b, cases[i].before, cases[i].number, cases[i].behind);
        ok(taken(&b) == cases[i].taken, "%s: %s", cases[i].what,
           cases[i].taken ? "taken" : "left to NVRTC");
    }
    repeat(&b, "__device__ int w[9]={7};", " ", "");
    ok(!taken(&b), "a short one");
    gi_buf_free(&b);
}

/* A literal of a type, as people and programs write it. */
static void add_literal(gi_buf *b, gi_rng *r, int type) {
    const char *const sign = gi_rng_below(r, 2) ? "-" : gi_rng_below(r, 9) ? "" : "+ ";
    const double x = (double)gi_rng_below(r, 1 << 30) / (1 << gi_rng_below(r, 31));
    const unsigned whole = (unsigned)gi_rng_below(r, 1 << 30);
    switch (type) {
    case 0: gi_buf_addf(b, gi_rng_below(r, 2) ? "%s%.6ff" : "%s%.5fe-3F", sign, x); break;
    case 1: gi_buf_addf(b, gi_rng_below(r, 2) ? "%s%.17e" : "%s%.3f", sign, x); break;
    case 2: gi_buf_addf(b, gi_rng_below(r, 3) ? "%s%u" : "%s0x%X", sign, whole); break;
    case 3: gi_buf_addf(b, "%u%s", whole % 256, gi_rng_below(r, 2) ? "u" : ""); break;
    case 4: gi_buf_addf(b, "%s%u", sign, whole % 32768); break;
    case 5: gi_buf_addf(b, "%s%u%06u", sign, whole, whole % 1000000); break;
    case 6: gi_buf_addf(b, gi_rng_below(r, 2) ? "%s%u" : "%s%u.", sign, whole % 1000000); break;
    }
    gi_buf_adds(b, gi_rng_below(r, 8) ? ", " : ",\n");
}

/* The same of NVRTC: it reads the list itself where the text has what looks like a raw string. */
static void compare(Compiler *c, gi_buf *source, bool batch, const char *what) {
    static const char *const names[] = {"w", "k", NULL};
    const CompileOptions o = {.target = "compute_90"};
    CompileResult r[2] = {{0}, {0}};
    gi_err err = {0};
    bool done = true;
    for (int i = 0; i < 2; i++) {
        const CompileUnit unit = {source->data, source->len, names, NULL};
        if (batch) done = done && compile_batch(c, &unit, 1, &o, &r[i], NULL, &err);
        else done = done && compile_one(c, source->data, source->len, "k.cu", &o, &r[i], &err);
        if (i == 0) ok(taken(source), "%s: a list is taken", what);
        gi_buf_adds(source, "// R\"\n");
    }
    ok(!taken(source), "%s: and is not", what);
    ok(done && r[0].ok && r[1].ok, "%s: compiles %s%s", what, err.message,
       r[0].log.len ? r[0].log.data : "");
    ok(r[0].code.len == r[1].code.len && memcmp(r[0].code.data, r[1].code.data, r[0].code.len) == 0,
       "%s: the PTX is NVRTC's", what);
    ok(r[0].code.len > 20000, "%s: with the values", what);
    compile_result_free(&r[0]);
    compile_result_free(&r[1]);
}

static void test_ptx(Compiler *c, gi_rng *r) {
    static const char *const types[] = {"float", "double",    "int",  "unsigned char",
                                        "short", "long long", "float"};
    gi_buf b = {0};
    for (int i = 0; i < 7; i++) {
        gi_buf_clear(&b);
        gi_buf_addf(&b, "%s %s w[%d] = {\n", i % 2 ? "__constant__" : "__device__", types[i],
                    i % 2 ? 7999 : 99999);
        const size_t start = b.len;
        for (int n = 0; n < 7998 && (b.len - start < VALUES_LONG || i % 2); n++)
            add_literal(&b, r, i);
        while (b.len - start < VALUES_LONG) gi_buf_adds(&b, "                    \n");
        gi_buf_addf(&b, "};\n%s", kernel);
        compare(c, &b, i > 3, types[i]);
    }
    gi_buf_free(&b);
}

static void test_renamed(Compiler *c) {
    const CompileOptions o = {.target = "compute_90"};
    CompileResult r = {0};
    gi_err err = {0};
    gi_buf b = {0};
    repeat(&b, "#define w z\n__device__ int w[99999]={", "7,", "};\n");
    gi_buf_adds(&b, kernel);
    ok(compile_one(c, b.data, b.len, "k.cu", &o, &r, &err) && r.ok, "a macro renames the array");
    has_str(r.code.data, " z[399996] = {7, 0, 0, 0, 7,", "NVRTC compiles it whole");
    compile_result_free(&r);
    repeat(&b, "__device__ int q[99999]={", "7,", "};\n__device__ float w[8];\n");
    gi_buf_adds(&b, kernel);
    ok(compile_one(c, b.data, b.len, "k.cu", &o, &r, &err) && r.ok, "one that no kernel names");
    has_str(r.code.data, " q[399996] = {7, 0, 0, 0, 7,", "keeps its values");
    compile_result_free(&r);
    gi_buf_free(&b);
}

int main(int argc, char **argv) {
    gi_err err;
    gi_rng r;
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 355000;
    printf("# seed %" PRIu64 "\n", seed);
    gi_rng_seed(&r, seed);
    Compiler *c = compile_open(&err);
    test_taken();
    test_left();
    ok(c != NULL, "NVRTC is there %s", c ? "" : err.message);
    if (c) {
        test_ptx(c, &r);
        test_renamed(c);
        compile_close(c);
    }
    return tap_done();
}
