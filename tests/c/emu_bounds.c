/* Which ways to name an address an instruction takes (src/emu/decode/bounds.c), and what is said of
** the others. */
#include "emu_core_run.h"

static gi_err err;

static const char before[] =
    ".global .align 8 .b8 g[64];\n.const .align 8 .b8 c[64];\n.shared .align 8 .b8 s[64];\n"
    ".func (.param .b32 result) f(.param .b32 in, .param .align 4 .b8 many[8]) {\n"
    ".reg .b32 %r<9>; .reg .b64 %rd<9>;\n";
static const char locals[] = ".local .align 8 .b8 l[64]; .reg .s64 %sd<9>; .reg .f64 %fd<9>;\n"
                             ".reg .u64 %ud<9>; .reg .s32 %s<9>;\n";

static const char call[] =
    "{ .param .b32 p0; .param .align 4 .b8 p1[8]; .param .b32 r0;\n"
    "st.param.b32 [p0], %r5; st.param.b32 [p1], %r5; st.param.b32 [p1+4], %r5;\n"
    "call (r0), f, (p0, p1); ld.param.b32 %r6, [r0]; }\n";

/* Is a kernel understood that has a body and calls a function with another one? Whether it then
** reads what it may is another question. */
static bool is_understood(const char *body, const char *function) {
    char text[4000];
    uint32_t out[64] = {0};
    Run r = run_new(1, 1);
    snprintf(text, sizeof text, "%s%s%s\nret; }\n%s%s%s\n%s%s", PTX_HEAD, before, function,
             PTX_KERNEL, locals, body, call, PTX_END);
    bool fine = run_text(&r, text, out, sizeof out);
    err = r.err;
    return fine;
}

static void takes(const char *body) {
    ok(is_understood(body, ""), "takes %s %s", body, err.message);
}

static void refuses(const char *body, const char *why) {
    ok(!is_understood(body, ""), "refuses %s", body);
    has_str(err.message, why, "  with a sentence");
}

static void test_registers(void) {
    takes("ld.global.u32 %r5, [%rd0];");
    takes("ld.global.u32 %r5, [%sd0];");
    takes("ld.global.u32 %r5, [%ud0+4];");
    takes("ld.u32 %r5, [%rd0];");
    takes("ld.shared.u32 %r5, [%r6];");
    takes("ld.shared.u32 %r5, [%s6];");
    takes("ld.shared.u32 %r5, [%rd0];");
    takes("ld.local.u32 %r5, [%r6];");
    refuses("ld.global.u32 %r5, [%r6];", "global addresses have 64 bits");
    refuses("ld.u32 %r5, [%r6];", "global addresses have 64 bits");
    refuses("ld.const.u32 %r5, [%r6];", "global addresses have 64 bits");
    refuses("ld.global.u32 %r5, [%fd0];", "an address is in a register of 32 or 64 bits");
    refuses("ld.shared.u32 %r5, [%f1];", "an address is in a register of 32 or 64 bits");
    refuses("ld.shared.u32 %r5, [%h1];", "an address is in a register of 32 or 64 bits");
    refuses("ld.shared.u32 %r5, [%p1];", "an address is in a register of 32 or 64 bits");
}

static void test_names(void) {
    takes("ld.global.u32 %r5, [g+4];");
    takes("ld.u32 %r5, [g];");
    takes("ld.const.u32 %r5, [c];");
    takes("ld.shared.u32 %r5, [s];");
    takes("ld.local.u32 %r5, [l];");
    refuses("ld.u32 %r5, [s];", "a generic access needs a generic address (cvta)");
    refuses("ld.u32 %r5, [l];", "a generic access needs a generic address (cvta)");
    refuses("ld.u32 %r5, [c];", "c lies in another state space than the instruction's");
    refuses("ld.shared.u32 %r5, [g];", "g lies in another state space than the instruction's");
    refuses("ld.global.u32 %r5, [s];", "s lies in another state space than the instruction's");
    refuses("ld.local.u32 %r5, [s];", "s lies in another state space than the instruction's");
    refuses("st.const.u32 [c], %r5;", "");
    refuses("ld.global.u32 %r5, [nobody];", "nobody");
}

static void test_numbers(void) {
    takes("ld.local.u32 %r5, [8];");
    refuses("ld.global.u32 %r5, [8];", "a number is an address in local memory alone");
    refuses("ld.shared.u32 %r5, [8];", "a number is an address in local memory alone");
    refuses("ld.global.u32 %r5, %rd0;", "");
}

static void test_parameters(void) {
    takes("ld.param.u64 %rd5, [out];");
    refuses("st.param.u64 [out], %rd5;", "the instruction has no access to out");
    refuses("ld.param.u64 %rd5, [out+4];", "an access outside parameter out");
    ok(is_understood("", "ld.param.u32 %r1, [in];"), "a function reads its parameters %s",
       err.message);
    ok(is_understood("", "ld.param.u32 %r1, [many+4];"), "  to the last byte %s", err.message);
    ok(is_understood("", "st.param.u32 [result], %r1;"), "  and writes its result %s", err.message);
    ok(!is_understood("", "ld.param.u32 %r1, [many+8];"), "  not behind it");
    has_str(err.message, "an access outside parameter many", "  with a sentence");
    ok(!is_understood("", "ld.param.u32 %r1, [many+-4];"), "  nor before it");
    ok(!is_understood("", "st.param.u32 [in], %r1;"), "  nor writes a parameter");
    has_str(err.message, "the instruction has no access to in", "  with a sentence");
    ok(!is_understood("", "ld.param.u32 %r1, [result];"), "  nor reads its result");
    ok(!is_understood("", "ld.param.u32 %r1, [%rd1];"), "  nor computes an address");
    has_str(err.message, "a computed address of a function's parameter", "  with a sentence");
}

int main(void) {
    test_registers();
    test_names();
    test_numbers();
    test_parameters();
    return tap_done();
}
