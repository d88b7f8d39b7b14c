/* compile_source.c - a target for what src/compile reads of a source before NVRTC does: its leading
** #include lines (headers.c), the constants that units may have in common (shared.c) and the
** mathematical functions that it mentions (overloads.c); and of NVRTC's log the line about them. */
#include "compile/headers.h"
#include "compile/overloads.h"
#include "compile/shared.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static bool known(const void *context, const char *name) {
    (void)context;
    return name[0] != 'x';
}

static char *find(const void *context, const char *name) {
    (void)context, (void)name;
    return NULL;
}

static void functions(const char *source) {
    bool wanted[OVERLOADS_MOST] = {false};
    gi_buf out = {0};
    overloads_note(source, wanted);
    overloads_write(wanted, &out);
    if (out.data == NULL) abort();
    gi_buf_free(&out);
}

static void constants(const gi_buf *source) {
    static const char *const own[] = {"table", "T", NULL};
    Shared s = {0}, t = {0};
    gi_buf out = {0};
    size_t from = 0;
    shared_find(source, NULL, &s);
    shared_find(source, own, &t);
    for (int i = 0; i < s.n_edits; i++) {
        if (s.edits[i].from < from || s.edits[i].to < s.edits[i].from ||
            s.edits[i].to > source->len)
            abort();
        from = s.edits[i].to;
    }
    shared_declare(&s, source, &out);
    shared_equal(&s, &t);
    shared_stands(source, "table");
    shared_has(&s, "second", 6);
    shared_free(&s);
    shared_free(&t);
    gi_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const Headers h = {0};
    const char *line, *rest;
    gi_buf source = {0}, out = {0};
    gi_buf_adds(&source, "");
    gi_buf_add(&source, (const char *)data, size);
    if (headers_length(source.data, known, NULL) > strlen(source.data)) abort();
    headers_are_small(source.data, find, NULL);
    headers_line(source.data, &line, &rest);
    headers_log(&h, "", source.data, &out);
    source.len = strlen(source.data);
    constants(&source);
    functions(source.data);
    gi_buf_free(&source);
    gi_buf_free(&out);
    return 0;
}

void fuzz_seeds(FuzzAdd *add) {
    static const char source[] =
        "// a\n#include <cuda_fp16.h>\n/* b */ #include \"x.h\"\n#include <cooperative_groups.h>\n"
        "__constant__ float table[8] = {1, 2.5f, -3};\n#define N 3\n__constant__ int first = 1, "
        "second[N];  /* two */\n#if A\n__constant__ int c;\n#else\n#endif\n__constant__ static int "
        "d;\n__constant__ T t;\nnamespace n { __constant__ int hidden; }\nstruct S { int a; };\n"
        "__global__ void k(float *out) { out[0] = pow(table[1], fmod(second[2], 2)); } // \"'\n";
    static const char log[] = "kernel.cu: using precompiled header file \"/tmp/x.pch\"\n"
                              "k.cu(1): warning: x\n";
    add(source, sizeof source - 1);
    add(log, sizeof log - 1);
}
