/* compile_batch.c - batches: a unit's PTX never depends on its company, and neither does its fate.
**
** Random small kernels with every kind of item that NVRTC numbers or names by the whole module
** are compiled each alone and in random company; the texts must be equal. Prints its seed;
** another one is taken from the first argument.
*/
#include "compile/compile.h"

#include <stdlib.h>

#include "tap.h"

enum { N_UNITS = 19 };

static const char *const names[] = {
    "table",  "counter", "hidden", "helper",  "twice", "Pair",
    "smooth", "message", "kernel", "kernel2", NULL,
};

/* What a kernel is made of; each part may be left out. %d is a small random constant. */
static const char *const top_parts[] = {
    "__constant__ float table[16] = {1, 2, %d};\n",
    "__device__ int counter = %d;\n",
    "static __device__ int hidden[4];\n",
    "struct Pair { int a, b; };\n",
    "static __device__ __noinline__ int helper(int i) { return i * %d + 1; }\n",
    "template <int N> __device__ __noinline__ float twice(float v) { return v * N + %d; }\n",
    "namespace { __device__ __noinline__ float smooth(float v) { return v / %d; } }\n",
    "__device__ const char *message = \"unit %d\";\n",
    "#define LOCAL_MACRO %d\n",
};
/* Statements; a part needs the top part of the same number where that is named in brackets. */
static const struct {
    int needs; /* index into top_parts, -1 none */
    const char *text;
} statements[] = {
    {0, "    v += table[i %% 16] * %d;\n"},
    {1, "    v += atomicAdd(&counter, %d);\n"},
    {2, "    hidden[i & 3] = i + %d; v += hidden[(i + 1) & 3];\n"},
    {3, "    { Pair p = {i, %d}; v += p.a * p.b; }\n"},
    {4, "    v += helper(i + %d);\n"},
    {5, "    v += twice<%d>(v);\n"},
    {6, "    v += smooth(v + %d);\n"},
    {7, "    v += message[i] + %d;\n"},
    {8, "    v *= LOCAL_MACRO + %d;\n"},
    {-1, "    if (v > %d) printf(\"v is %%f\\n\", v);\n"},
    {-1, "    if (i == %d) printf(\"the same in every unit\\n\");\n"},
    {-1, "    assert(v != %d);\n"},
    {-1, "    v += sinf(v * 100000 + %d);\n"},
    {-1, "    for (int j = 0; j < i; j++) v = v * 1.5f + %d;\n"},
    {-1, "    { __shared__ float s[64]; s[i %% 64] = v + %d; __syncthreads();\n"
         "      v = s[63 - i %% 64]; }\n"},
    {-1, "    { float local[9]; for (int j = 0; j < 9; j++) local[j * i %% 9] = v + %d;\n"
         "      v = local[i %% 9]; }\n"},
    {-1, "    switch (i) { case 0: v = 1; break; case 1: v *= 3; break; case 2: v -= %d; }\n"},
    {-1, "    v = i > %d ? v : 0;\n"},
};
enum {
    N_TOP = sizeof top_parts / sizeof *top_parts,
    N_STATEMENTS = sizeof statements / sizeof *statements,
};

__attribute__((format(printf, 2, 3))) static void add(gi_buf *out, const char *format, ...) {
    char line[400];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    gi_buf_adds(out, line);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the formats are the tables above */
#pragma GCC diagnostic ignored "-Wformat-security"
static void random_source(gi_rng *rng, gi_buf *out) {
    bool chosen[N_STATEMENTS], needed[N_TOP] = {false};
    for (int i = 0; i < N_STATEMENTS; i++) {
        chosen[i] = gi_rng_below(rng, 3) == 0;
        if (chosen[i] && statements[i].needs >= 0) needed[statements[i].needs] = true;
    }
    for (int i = 0; i < N_TOP; i++)
        if (needed[i]) add(out, top_parts[i], (int)gi_rng_below(rng, 90) + 1);
    add(out, "extern \"C\" __global__ void kernel(float *out, int n) {\n"
             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    float v = n;\n");
    for (int i = 0; i < N_STATEMENTS; i++)
        if (chosen[i]) add(out, statements[i].text, (int)gi_rng_below(rng, 90) + 1);
    add(out, "    out[i] = v;\n}\n");
    if (gi_rng_below(rng, 2)) add(out, "__global__ void kernel2(int *p) { *p = %d; }\n", 7);
}

static void alone(Compiler *c, const CompileUnit *u, const CompileOptions *o, CompileResult *r) {
    gi_err err = {0};
    if (!compile_batch(c, u, 1, o, r, NULL, &err)) ok(false, "compiles alone: %s", err.message);
    else if (!r->ok) ok(false, "compiles alone:\n# %s\n# %s", u->source, r->log.data);
}

static bool same(const gi_buf *a, const gi_buf *b) {
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static void show_difference(const gi_buf *a, const gi_buf *b) {
    size_t i = 0;
    while (i < a->len && i < b->len && a->data[i] == b->data[i]) i++;
    size_t from = i > 150 ? i - 150 : 0;
    printf("# alone:    ...%.300s\n# together: ...%.300s\n", a->data + from,
           b->len > from ? b->data + from : "");
}

/* Units first, first + 1 … in one call give what they gave alone. */
static void test_company(Compiler *c, CompileUnit *units, CompileResult *want, int first, int n,
                         const CompileOptions *o) {
    CompileResult got[N_UNITS] = {{0}};
    gi_err err = {0};
    int equal = 0, logs = 0;
    if (!ok(compile_batch(c, units + first, n, o, got, NULL, &err), "a batch of %d %s", n,
            err.message))
        return;
    for (int i = 0; i < n; i++) {
        equal += same(&got[i].code, &want[first + i].code);
        logs += same(&got[i].log, &want[first + i].log);
        if (!same(&got[i].code, &want[first + i].code))
            show_difference(&want[first + i].code, &got[i].code);
        compile_result_free(&got[i]);
    }
    is_int(equal, n, "each has the PTX that it has alone");
    is_int(logs, n, "and the log");
}

static void test_random(Compiler *c, uint64_t seed, bool lines) {
    CompileOptions o = {.target = "ptx", .line_info = lines};
    gi_buf sources[N_UNITS] = {{0}};
    CompileUnit units[N_UNITS];
    CompileResult want[N_UNITS] = {{0}};
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    for (int i = 0; i < N_UNITS; i++) {
        random_source(&rng, &sources[i]);
        units[i] = (CompileUnit){sources[i].data, sources[i].len, names, NULL};
        alone(c, &units[i], &o, &want[i]);
    }
    test_company(c, units, want, 0, N_UNITS, &o);
    for (int i = 0; i + 5 <= N_UNITS; i += 7) test_company(c, units, want, i, 5, &o);
    for (int i = 0; i + 2 <= N_UNITS; i += 5) test_company(c, units, want, i, 2, &o);
    int tags = 0;
    for (int i = 0; i < N_UNITS; i++) {
        tags += strstr(want[i].code.data, "gilua") != NULL;
        compile_result_free(&want[i]);
        gi_buf_free(&sources[i]);
    }
    is_int(tags, 0, "no trace of a tag is left");
}

static void test_text(Compiler *c) {
    const char *source = "__device__ int counter;\n"
                         "extern \"C\" __global__ void kernel(int *p, int n) {\n"
                         "    if (n > 3) printf(\"%d\\n\", n);\n"
                         "    assert(n);\n"
                         "    p[0] = atomicAdd(&counter, n);\n}\n";
    CompileUnit units[2] = {{source, strlen(source), names, NULL},
                            {source, strlen(source), names, NULL}};
    CompileOptions o = {.target = "ptx", .line_info = true};
    CompileResult r[2] = {{0}};
    gi_err err = {0};
    ok(compile_batch(c, units, 2, &o, r, NULL, &err), "two equal units");
    ok(same(&r[0].code, &r[1].code), "have equal PTX");
    has_str(r[1].code.data, ".visible .entry kernel(", "the entry has its own name back");
    has_str(r[1].code.data, ".global .align 4 .u32 counter;", "so has the variable");
    has_str(r[1].code.data, ".loc 1 5 ", "lines are the unit's");
    has_str(r[1].code.data, ".file 1 \"kernel.cu\"", "in its own file");
    has_str(r[1].code.data, "(.param .b32 func_retval0) vprintf", "printf is declared");
    has_str(r[1].code.data, "107, 101, 114, 110, 101, 108, 46, 99, 117}", "assert names kernel.cu");
    for (int i = 0; i < 2; i++) compile_result_free(&r[i]);
}

static void test_blame(Compiler *c) {
    const char *good = "__global__ void kernel(int *p) { int unused; *p = 1; }\n";
    const char *bad = "__global__ void kernel(int *p) {\n    *p = nothing;\n}\n";
    const char *open = "__global__ void kernel(int *p) { if (*p) { *p = 3; }\n";
    const char *sources[] = {good, bad, good, open, good, bad, good};
    enum { N = 7 };
    CompileUnit units[N];
    CompileResult r[N] = {{0}}, want = {0};
    CompileOptions o = {.target = "ptx"};
    gi_err err = {0};
    for (int i = 0; i < N; i++)
        units[i] = (CompileUnit){sources[i], strlen(sources[i]), names, NULL};
    alone(c, &units[0], &o, &want);
    ok(compile_batch(c, units, N, &o, r, NULL, &err), "a batch with units that do not compile");
    for (int i = 0; i < N; i++) {
        if (sources[i] == good) {
            ok(r[i].ok && same(&r[i].code, &want.code), "unit %d is as alone", i);
            ok(r[i].n_messages == 1 && !r[i].messages[0].is_error, "and has its warning");
        } else {
            if (!ok(!r[i].ok && r[i].n_messages > 0 && r[i].messages[0].is_error,
                    "unit %d has an error", i))
                printf("# %s\n", r[i].log.data);
        }
        if (sources[i] == bad && r[i].n_messages) {
            is_int(r[i].messages[0].line, 2, "in its own line");
            is_str(r[i].messages[0].text, "identifier \"nothing\" is undefined", "its own words");
        }
        compile_result_free(&r[i]);
    }
    compile_result_free(&want);
}

/* Things that cannot live side by side: each still gets what it gets alone. */
static void test_loners(Compiler *c) {
    const char *sources[] = {
        "struct V { float a; };\n__device__ V operator+(V a, V b) { return V{a.a + b.a}; }\n"
        "__global__ void kernel(V *p) { p[0] = p[1] + p[2]; }\n",
        "struct V { float a; };\n__device__ V operator+(V a, V b) { return V{a.a * b.a}; }\n"
        "__global__ void kernel(V *p) { p[0] = p[1] + p[2]; }\n",
        "__device__ int x;\n__global__ void kernel(int *p) { *p = x + threadIdx.x; }\n",
        "__device__ float x;\n__global__ void kernel(int *p) { *p = x + threadIdx.x; }\n",
        "#undef __CUDA_ARCH__\n#define __CUDA_ARCH__ 3\n"
        "__global__ void kernel(int *p) { *p = __CUDA_ARCH__; }\n",
        "#ifndef SIZE\n#define SIZE 5\n#endif\n__global__ void kernel(int *p) { *p = SIZE; }\n"
        "#undef SIZE\n",
        "#ifndef SIZE\n#define SIZE 9\n#endif\n__global__ void kernel(int *p) { *p = SIZE; }\n",
        "__global__ void kernel(int *p) { *p = SIZE; }\n",
        "#ifdef NEVER\nstruct double3 { double x, y, z; };\n#endif\n"
        "__constant__ double3 V[1];\n"
        "__global__ void kernel(double *p) { *p = V[0].y; }\n",
        "#if __CUDA_ARCH__ >= 600\n#else\n"
        "__device__ double atomicAdd(double *p, double x) { return *p += x; }\n#endif\n"
        "__global__ void kernel(double *p) { atomicAdd(p, 2.0); }\n",
        "__device__ double atomicMax(double *p, double x) { return *p = x; }\n"
        "__global__ void kernel(double *p) { atomicMax(p, 2.0); }\n",
        "__device__ double atomicMax(double *p, double x) { return *p += x; }\n"
        "__global__ void kernel(double *p) { atomicMax(p, 2.0); }\n",
    };
    enum { N = 12, N_SIZES = 3 };
    const char *const own[] = {"V", "kernel", "x", "double3", "atomicAdd", "atomicMax", NULL};
    const char *const defines[] = {"SIZE=77", NULL};
    CompileUnit units[N];
    CompileResult want[N] = {{0}};
    CompileOptions o = {.target = "ptx", .defines = defines};
    for (int i = 0; i < N; i++) {
        units[i] = (CompileUnit){sources[i], strlen(sources[i]), own, NULL};
        alone(c, &units[i], &o, &want[i]);
    }
    test_company(c, units, want, 0, N, &o);
    for (int i = 5; i < 5 + N_SIZES; i++)
        has_str(want[i].code.data, ", 77;", "an option's macro holds");
    ok(want[9].ok, "CUDA's function, where the unit's own is under a condition that is not met");
    for (int i = 0; i < N; i++) compile_result_free(&want[i]);
}

static void test_headers(Compiler *c) {
    const char *half =
        "// a comment\n#include <cuda_fp16.h>\n"
        "__global__ void kernel(__half *p) { *p = __hadd(p[1], __float2half(2)); }\n";
    const char *plain = "__global__ void kernel(float *p) { p[0] = p[1] + 2; }\n";
    const char *missing = "\n\n#include \"nowhere.h\"\n__global__ void kernel() {}\n";
    CompileUnit units[] = {{half, strlen(half), names, NULL},
                           {plain, strlen(plain), names, NULL},
                           {missing, strlen(missing), names, NULL},
                           {half, strlen(half), names, NULL}};
    CompileResult r[4] = {{0}};
    CompileOptions o = {.target = "ptx", .line_info = true};
    gi_err err = {0};
    ok(compile_batch(c, units, 4, &o, r, NULL, &err), "units with different headers");
    if (!*compile_includes(c)) ok(true, "CUDA's own headers # SKIP none beside this NVRTC");
    else if (ok(r[0].ok && same(&r[0].code, &r[3].code), "CUDA's own headers are found"))
        has_str(r[0].code.data, ".loc 1 3 ", "inlined code has the line it was inlined at");
    ok(r[1].ok, "no header is no trouble");
    ok(!r[2].ok && r[2].n_messages == 1 && r[2].messages[0].line == 3, "a missing one is blamed");
    for (int i = 0; i < 4; i++) compile_result_free(&r[i]);
    o.target = "sm_80";
    ok(!compile_batch(c, units, 2, &o, r, NULL, &err), "machine code needs a place");
    is_str(err.code, "usage", "as misuse");
    o.target = "ptx";
    ok(compile_batch(c, units, 0, &o, r, NULL, &err), "a batch of none is fine");
}

/* An #include under a condition is for each unit's own macros to decide. */
static void test_conditional_headers(Compiler *c) {
    const char *sources[] = {
        "#ifdef NEVER\n#include \"nowhere.h\"\n#endif\n"
        "__global__ void kernel(int *p) { *p = 1; }\n",
        "#define ALWAYS\n#ifdef ALWAYS\n#include <cuda_fp16.h>\n#endif\n"
        "__global__ void kernel(__half *p) { *p = __hadd(p[1], p[2]); }\n",
        "#ifndef KERNEL_CU\n#define KERNEL_CU\n#include <cuda_fp16.h>\n"
        "__global__ void kernel(__half *p) { *p = __hadd(p[1], p[3]); }\n#endif\n",
        "#ifndef KERNEL_CU\n#ifndef NEVER\n\n#include \"nowhere.h\"\n#endif\n#endif\n"
        "__global__ void kernel(int *p) { *p = 2; }\n",
    };
    enum { N = 4, MISSING = 3 };
    CompileUnit units[N];
    CompileResult want[N] = {{0}}, r = {0};
    CompileOptions o = {.target = "ptx", .line_info = true};
    gi_err err = {0};
    if (compile_includes(c)[0] == NULL) {
        ok(true, "headers under conditions # SKIP none beside this NVRTC");
        return;
    }
    for (int i = 0; i < N; i++)
        units[i] = (CompileUnit){sources[i], strlen(sources[i]), names, NULL};
    for (int i = 0; i < MISSING; i++) alone(c, &units[i], &o, &want[i]);
    test_company(c, units, want, 0, MISSING, &o);
    has_str(want[1].code.data, ".loc 1 5 ", "lines behind it keep their numbers");
    ok(compile_batch(c, &units[MISSING], 1, &o, &r, NULL, &err) && !r.ok, "one that is missing");
    is_int(r.n_messages > 0 ? r.messages[0].line : 0, 4, "is told with its line");
    compile_result_free(&r);
    for (int i = 0; i < MISSING; i++) compile_result_free(&want[i]);
}

/* A header of the test's own: its folder is an option of the compiler, its file goes in the end. */
typedef struct Header {
    gi_buf path, option;
} Header;

static bool header_write(Header *h, const char *name, const char *text) {
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    gi_buf_addf(&h->path, "%s/%s", folder, name);
    gi_buf_addf(&h->option, "-I%s", folder);
    FILE *f = fopen(h->path.data, "w");
    bool written = f && fputs(text, f) >= 0;
    return f && fclose(f) == 0 && written;
}

static void header_remove(Header *h) {
    remove(h->path.data);
    gi_buf_free(&h->path);
    gi_buf_free(&h->option);
}

/* A namespace of a unit that a header has too: what the header has in it is found. */
static void test_namespaces(Compiler *c) {
    static const char *const both[] = {"kernel", "apart", NULL};
    const char *source =
        "#include \"apart.h\"\n"
        "namespace apart {\n__device__ int two(int x) { return twice<int>(x); }\n}\n"
        "__global__ void kernel(int *p) { *p = apart::two(*p); }\n";
    Header apart = {0};
    gi_err err = {0};
    CompileResult r[2] = {{0}, {0}};
    if (!ok(header_write(&apart, "apart.h",
                         "namespace apart { template <class T> __device__ T "
                         "twice(T x) { return x + x; } }\n"),
            "a header is written"))
        return;
    const char *const options[] = {apart.option.data, NULL};
    CompileOptions o = {.target = "ptx", .options = options};
    CompileUnit unit = {source, strlen(source), both, NULL}, units[2] = {unit, unit};
    ok(compile_batch(c, units, 2, &o, r, NULL, &err) && r[0].ok && r[1].ok,
       "a namespace that is a header's too %s%s", err.message,
       r[0].n_messages > 0 ? r[0].messages[0].text : "");
    compile_result_free(&r[0]);
    compile_result_free(&r[1]);
    header_remove(&apart);
}

/* A name of a unit that is a header's too, and that it takes from there. */
static void test_foreign(Compiler *c) {
    static const char *const own[] = {"kernel", "Block", "short_one", NULL};
    const char *source =
        "#include \"foreign.h\"\n"
        "namespace short_one = foreign;\n"
        "__device__ int Block(int x) { return foreign::inner :: Block<int>::of(x); }\n"
        "__global__ void kernel(int *p) { *p = ::Block(*p) + short_one::kernel(*p); }\n";
    Header foreign = {0};
    gi_err err = {0};
    CompileResult r[2] = {{0}, {0}};
    if (!ok(header_write(
                &foreign, "foreign.h",
                "namespace foreign { __device__ inline int kernel(int x) { return 3 * x; }"
                "\nnamespace inner { template <class T> struct Block { __device__ static T "
                "of(T x) { return x * 41; } }; } }\n"),
            "a header is written"))
        return;
    const char *const options[] = {foreign.option.data, NULL};
    CompileOptions o = {.target = "ptx", .options = options};
    CompileUnit unit = {source, strlen(source), own, NULL}, units[2] = {unit, unit};
    for (int n = 1; n <= 2; n++) {
        ok(compile_batch(c, units, n, &o, r, NULL, &err) && r[n - 1].ok,
           "a name that a header's namespace has too, in a call of %d %s%s", n, err.message,
           r[n - 1].n_messages > 0 ? r[n - 1].messages[0].text : "");
        has_str(r[n - 1].code.len ? r[n - 1].code.data : "", ", 44;", "its kernel");
        for (int i = 0; i < n; i++) compile_result_free(&r[i]);
    }
    header_remove(&foreign);
}

/* A header of the unit's own goes by what the unit says before it, in a call of several, too. */
static void test_own_headers(Compiler *c) {
    static const char *const sources[] = {
        "#define FACTOR \\\n  31\n#include \"scaled.h\"\n"
        "__global__ void kernel(int *p) { *p = scaled(*p); }\n",
        "#define FACTOR 37\n#include \"scaled.h\"\n"
        "__global__ void kernel(int *p) { *p = scaled(*p); }\n",
        "#include \"scaled.h\"\n#define FACTOR 43\n"
        "__global__ void kernel(int *p) { *p = scaled(*p); }\n",
        "#ifndef OPTION\n#define OPTION 47\n#endif\n#define FACTOR OPTION\n#include \"scaled.h\"\n"
        "__global__ void kernel(int *p) { *p = scaled(*p); }\n",
        "#ifdef OPTION\n#define FACTOR 53\n#endif\n#include \"scaled.h\"\n"
        "__global__ void kernel(int *p) { *p = scaled(*p); }\n",
        "typedef int real; /* a type that the header needs */\n#include \"halved.h\"\n"
        "__global__ void kernel(int *p) { *p = halved(*p); }\n",
        "#define FACTOR 71 /* so\n many */\n#include \"scaled.h\"\n"
        "__global__ void kernel(int *p) { *p = scaled(*p); }\n",
        "#define FACTOR 59\n#include \"scaled.h\"\n#undef FACTOR\n#define FACTOR 61\n"
        "__global__ void kernel(int *p) { *p = scaled(*p) + FACTOR; }\n",
    };
    static const char *const has[] = {", 31;", ", 37;", ", 41;", ", 7;",
                                      ", 53;", ", 67;", ", 71;", ", 59,"};
    enum { N = 8 };
    Header scaled = {0}, halved = {0};
    bool written = header_write(&scaled, "scaled.h",
                                "#ifndef FACTOR\n#define FACTOR 41\n#endif\n"
                                "__device__ inline int scaled(int x) { return x * FACTOR; }\n") &&
                   header_write(&halved, "halved.h",
                                "__device__ inline real halved(real x) { return x * 67; }\n");
    if (!ok(written, "headers are written")) return;
    const char *const options[] = {scaled.option.data, NULL}, *const defines[] = {"OPTION=7", NULL};
    CompileOptions o = {.target = "ptx", .options = options, .defines = defines};
    CompileUnit units[N];
    CompileResult want[N] = {{0}};
    for (int i = 0; i < N; i++) {
        units[i] = (CompileUnit){sources[i], strlen(sources[i]), names, NULL};
        alone(c, &units[i], &o, &want[i]);
        has_str(want[i].code.len ? want[i].code.data : "", has[i], "own header");
    }
    has_str(want[7].code.len ? want[7].code.data : "", "61;", "and the unit by its own later on");
    test_company(c, units, want, 0, N, &o);
    CompileUnit twins[2] = {units[1], units[1]};
    CompileResult both[2] = {want[1], want[1]};
    test_company(c, twins, both, 0, 2, &o);
    for (int i = 0; i < N; i++) compile_result_free(&want[i]);
    header_remove(&scaled);
    header_remove(&halved);
}

int main(int argc, char **argv) {
    gi_err err = {0};
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20140712;
    Compiler *c = compile_open(&err);
    if (!ok(c != NULL, "NVRTC is found %s", err.message)) return tap_done();
    printf("# seed %" PRIu64 "\n", seed);
    test_text(c);
    test_random(c, seed, false);
    test_random(c, seed + 1, true);
    test_blame(c);
    test_loners(c);
    test_headers(c);
    test_conditional_headers(c);
    test_namespaces(c);
    test_foreign(c);
    test_own_headers(c);
    compile_close(c);
    return tap_done();
}
