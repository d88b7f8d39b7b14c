/* compile_one.c - one source through NVRTC: code, messages with their lines, refused options. */
#include "compile/compile.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static const char saxpy[] =
    "#ifndef SCALE\n"
    "#define SCALE 2\n"
    "#endif\n"
    "extern \"C\" __global__ void saxpy(float *y, const float *x, float a, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] += SCALE * a * x[i];\n"
    "}\n";

static bool run(Compiler *c, const char *source, const CompileOptions *o, CompileResult *r,
                gi_err *e) {
    return compile_one(c, source, strlen(source), "saxpy.cu", o, r, e);
}

static void test_code(Compiler *c) {
    CompileOptions o = {.target = "ptx"};
    CompileResult r = {0};
    gi_err err = {0};
    ok(run(c, saxpy, &o, &r, &err) && r.ok, "a kernel compiles to PTX %s", err.message);
    has_str(r.code.data, ".visible .entry saxpy(", "the entry is there");
    has_str(r.code.data, ".target sm_80", "for the documented default");
    is_int(strlen(r.code.data), r.code.len, "PTX is text, without NVRTC's final NUL");
    is_int(r.n_messages, 0, "no messages");
    ok(strstr(r.code.data, ".loc") == NULL, "no source lines unless asked for");
    compile_result_free(&r);

    o = (CompileOptions){.target = "compute_90", .line_info = true};
    ok(run(c, saxpy, &o, &r, &err) && r.ok, "and for compute_90 with lines");
    has_str(r.code.data, ".target sm_90", "the target");
    has_str(r.code.data, ".loc\t1 6 ", "line 6 is named");
    compile_result_free(&r);

    o = (CompileOptions){.target = "sm_90"};
    ok(run(c, saxpy, &o, &r, &err) && r.ok, "and to machine code");
    ok(r.code.len > 500 && memcmp(r.code.data, "\177ELF", 4) == 0, "which is an ELF file");
    compile_result_free(&r);
}

static void test_options(Compiler *c) {
    const char *const three[] = {"SCALE=3.0f", NULL}, *const bogus[] = {"--bogus", NULL};
    CompileOptions o = {.target = "ptx", .defines = three};
    CompileResult r = {0};
    gi_err err = {0};
    ok(run(c, saxpy, &o, &r, &err) && r.ok, "with a macro defined");
    has_str(r.code.data, "0f40400000", "its value, 3, is in the code");
    compile_result_free(&r);

    o = (CompileOptions){.target = "ptx", .options = bogus};
    ok(!run(c, saxpy, &o, &r, &err), "an unknown option is refused");
    is_str(err.code, "usage", "as misuse");
    has_str(err.message, "--bogus", "naming it");
    o = (CompileOptions){.target = "sm_17"};
    ok(!run(c, saxpy, &o, &r, &err), "so is an unknown target");
    has_str(err.message, "sm_17", "naming it");
    ok(!compile_one(c, "a\0b", 3, "zero.cu", &o, &r, &err), "a zero byte is refused");
    has_str(err.message, "zero.cu", "naming the source");
}

static void test_gnu_words(Compiler *c) {
    const char *source =
        "static __device__ __const__ int a = 5, *__volatile v;\n"
        "__extension__ typedef __signed__ char tiny;\ntypedef __signed int whole;\n"
        "__global__ void k(int *p, __const int *q, tiny t) { p[0] = a + q[0] + t; }\n";
    CompileOptions o = {.target = "ptx"};
    CompileResult r = {0};
    gi_err err = {0};
    ok(run(c, source, &o, &r, &err) && r.ok, "words of GCC's that nvcc takes %s",
       r.log.data ? r.log.data : "");
    compile_result_free(&r);
}

/* NVRTC does not log in the order of lines. */
static const CompileMessage *message_at(const CompileResult *r, int line) {
    for (int i = 0; i < r->n_messages; i++)
        if (r->messages[i].line == line) return &r->messages[i];
    return NULL;
}

static void test_messages(Compiler *c) {
    const char *bad =
        "template <class T> __device__ T both(T a, T b) { return a + b; }\n"
        "__global__ void k(int *p) {\n"
        "    int unused;\n"
        "    p[0] = both(1, 2.0);\n"
        "    p[1] = nowhere;\n"
        "}\n";
    CompileOptions o = {.target = "ptx"};
    CompileResult r = {0};
    gi_err err = {0};
    ok(run(c, bad, &o, &r, &err) && !r.ok, "bad source is a result, not a failure");
    is_int(r.n_messages, 3, "one warning and two errors");
    const CompileMessage *m = message_at(&r, 3);
    ok(m && !m->is_error, "a warning in line 3");
    m = message_at(&r, 4);
    ok(m && m->is_error, "an error in line 4");
    is_str(m ? m->text : NULL,
           "no instance of function template \"both\" matches the argument list argument types "
           "are: (int, double)", "wrapped text is joined, no source echo");
    m = message_at(&r, 5);
    ok(m && m->is_error, "an error in line 5");
    is_str(m ? m->text : NULL, "identifier \"nowhere\" is undefined", "its words");
    has_str(r.log.data, "saxpy.cu(5): error", "the log is kept");
    compile_result_free(&r);

    const char *huge = "__global__ void k(int *p) { __shared__ int a[90000]; a[*p] = 1;\n"
                       "    __syncthreads(); *p = a[1]; }\n";
    o.target = "sm_80";
    ok(run(c, huge, &o, &r, &err) && !r.ok, "too much shared memory is found by ptxas");
    ok(r.n_messages == 1 && r.messages[0].line == 0, "its message has no line");
    if (r.n_messages) has_str(r.messages[0].text, "too much shared data", "but a reason");
    compile_result_free(&r);

    const char *missing = "\n#include \"nowhere.h\"\n";
    ok(run(c, missing, &o, &r, &err) && !r.ok, "a missing header");
    ok(r.n_messages == 1 && r.messages[0].line == 2 && r.messages[0].is_error, "in line 2");
    if (r.n_messages) has_str(r.messages[0].text, "nowhere.h", "that names it");
    compile_result_free(&r);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (f) fputs(text, f), fclose(f);
}

/* A source has no folder of its own: only those of the options are looked into. */
static void test_folder(Compiler *c) {
    const char *const includes[] = {"inside", NULL};
    CompileOptions o = {.target = "ptx", .includes = includes};
    CompileResult r = {0};
    gi_err err = {0};
    ok(getenv("TMPDIR") && chdir(getenv("TMPDIR")) == 0, "in a folder of the test's");
    mkdir("inside", 0700);
    write_file("own.h", "#error the current folder\n");
    write_file("inside/own.h", "#define SCALE 5.0f\n");
    gi_buf source = {0};
    gi_buf_addf(&source, "#include \"own.h\"\n%s", saxpy);
    ok(compile_one(c, source.data, source.len, "a \"b\\1.cu", &o, &r, &err) && r.ok,
       "a header is that of a folder named, not the current one's %s", r.log.data);
    if (r.code.len) has_str(r.code.data, "0f40A00000", "its value, 5, is in the code");
    compile_result_free(&r);

    ok(compile_one(c, "x", 1, "a \"b\\1.cu", &o, &r, &err) && !r.ok, "of any name");
    has_str(r.log.data, "a \"b\\1.cu(1): error", "and messages say it");
    ok(strstr(r.log.data, "/dev/null") == NULL, "and nothing else");
    compile_result_free(&r);
    gi_buf_free(&source);
}

static void test_library(Compiler *c) {
    int major, minor, n = 0;
    gi_err err = {0};
    compile_version(c, &major, &minor);
    ok(major >= 12, "NVRTC %d.%d at %s", major, minor, compile_path(c));
    const int *t = compile_targets(c);
    while (t[n]) n++;
    ok(n > 3 && t[0] < t[n - 1] && t[n - 1] >= 90, "targets from %d to %d", t[0], t[n - 1]);
    setenv("GILUA_NVRTC", "/no/such/folder", 1);
    ok(compile_open(&err) == NULL, "GILUA_NVRTC is believed, even when it is wrong");
    is_str(err.code, "nolib", "the code");
    has_str(err.message, "/no/such/folder", "the message names the folder");
    setenv("GILUA_NVRTC", compile_path(c), 1);
    Compiler *again = compile_open(&err);
    ok(again != NULL, "the library's own path will do");
    compile_close(again);
    unsetenv("GILUA_NVRTC");
}

int main(void) {
    gi_err err = {0};
    Compiler *c = compile_open(&err);
    if (!ok(c != NULL, "NVRTC is found %s", err.message)) return tap_done();
    test_library(c);
    test_code(c);
    test_options(c);
    test_gnu_words(c);
    test_messages(c);
    test_folder(c);
    compile_close(c);
    return tap_done();
}
