/* compile_link.c - PTX to machine code through nvJitLink: one module, two that need each other,
** what it does not take, and what is missing. */
#include "compile/link.h"

#include <stdlib.h>

#include "tap.h"

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"

static const char twice[] = HEAD
    ".visible .func (.param .b32 r) twice(.param .b32 x) {\n"
    "  .reg .f32 %f<3>;\n"
    "  ld.param.f32 %f1, [x];\n"
    "  add.f32 %f2, %f1, %f1;\n"
    "  st.param.f32 [r], %f2;\n"
    "  ret;\n"
    "}\n";

static const char kernel[] = HEAD
    ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
    ".visible .entry k(.param .u64 p) {\n"
    "  .reg .b64 %rd<3>; .reg .f32 %f<3>;\n"
    "  ld.param.u64 %rd1, [p];\n"
    "  cvta.to.global.u64 %rd2, %rd1;\n"
    "  ld.global.f32 %f1, [%rd2];\n"
    "  { .param .b32 a; .param .b32 b;\n"
    "    st.param.f32 [a], %f1;\n"
    "    call.uni (b), twice, (a);\n"
    "    ld.param.f32 %f2, [b]; }\n"
    "  st.global.f32 [%rd2], %f2;\n"
    "  ret;\n"
    "}\n";

static LinkModule module(const char *ptx, const char *name) {
    return (LinkModule){ptx, strlen(ptx), name};
}

static bool is_elf(const LinkResult *r) {
    return r->code.len > 500 && memcmp(r->code.data, "\177ELF", 4) == 0;
}

static void test_code(Linker *l) {
    LinkModule both[] = {module(twice, "twice.ptx"), module(kernel, "kernel.ptx")};
    LinkResult r = {0};
    gi_err err = {0};
    ok(link_ptx(l, both, 1, "sm_90", NULL, &r, &err) && r.ok, "one module %s", err.message);
    ok(is_elf(&r), "is machine code");
    link_result_free(&r);
    ok(link_ptx(l, both, 2, "sm_90", NULL, &r, &err) && r.ok, "two, one of which calls the other");
    ok(is_elf(&r), "are one image");
    link_result_free(&r);
}

/* PTX for one GPU alone says so by a letter, which the linker wants to be told. */
static void test_letter(Linker *l) {
    char text[1000];
    snprintf(text, sizeof text, ".version 8.0\n.target sm_90a%s", strstr(twice, "\n.address"));
    LinkModule one = module(text, "one.ptx");
    LinkResult r = {0};
    gi_err err = {0};
    ok(link_ptx(l, &one, 1, "sm_90", NULL, &r, &err) && r.ok, "PTX of sm_90a %s", err.message);
    link_result_free(&r);
    ok(link_ptx(l, &one, 1, "sm_90a", NULL, &r, &err) && r.ok, "and where the target says so");
    link_result_free(&r);
}

static void test_refused(Linker *l) {
    LinkModule alone = module(kernel, "kernel.ptx"), wrong = module(HEAD "frobnicate;\n", "w.ptx");
    LinkResult r = {0};
    gi_err err = {0};
    ok(link_ptx(l, &wrong, 1, "sm_90", NULL, &r, &err) && !r.ok, "what is no PTX is not taken");
    has_str(r.log.data, "line 4", "and the log says where");
    is_int((long long)r.code.len, 0, "there is no code");
    link_result_free(&r);
    ok(link_ptx(l, &alone, 1, "sm_90", NULL, &r, &err) && !r.ok, "nor one that lacks a function");
    has_str(r.log.data, "twice", "which the log names");
    link_result_free(&r);
}

static void test_misuse(Linker *l) {
    static const char *const bogus[] = {"-bogus", NULL};
    LinkModule one = module(twice, "twice.ptx");
    LinkResult r = {0};
    gi_err err = {0};
    ok(!link_ptx(l, &one, 1, "sm_17", NULL, &r, &err), "an unknown target is refused");
    is_str(err.code, "usage", "as misuse");
    has_str(err.message, "sm_17", "naming it");
    ok(!link_ptx(l, &one, 1, "sm_90", bogus, &r, &err), "so is an unknown option");
    has_str(err.message, "-bogus", "by its name");
}

static void test_missing(void) {
    gi_err err = {0};
    setenv("GILUA_NVJITLINK", "/nowhere", 1);
    ok(link_open(&err) == NULL, "a place without nvJitLink");
    is_str(err.code, "nolib", "is a library that is missing");
    has_str(err.message, "GILUA_NVJITLINK is '/nowhere'", "and the variable is named");
    unsetenv("GILUA_NVJITLINK");
}

int main(void) {
    gi_err err = {0};
    int major = 0, minor = 0;
    test_missing();
    Linker *l = link_open(&err);
    if (l == NULL) {
        ok(true, "linking # SKIP %s", err.message);
        return tap_done();
    }
    link_version(l, &major, &minor);
    ok(major >= 12 && minor >= 0, "its version is %d.%d", major, minor);
    test_code(l);
    test_letter(l);
    test_refused(l);
    test_misuse(l);
    link_close(l);
    return tap_done();
}
