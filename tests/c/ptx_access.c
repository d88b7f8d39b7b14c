/* ptx_access.c - what kernels may reach, by their code: through which words of their parameters,
** variables, or whatever there is. */
#include "ptx/ptx.h"
#include "ptx_sample.h"
#include "tap.h"

#include <stdlib.h>

static void add_reached(gi_buf *out, const PtxReached *r) {
    for (int i = 0; i < r->n; i++) {
        for (int k = 0; k < r->list[i].n; k++)
            gi_buf_addf(out, "%s%u", k ? "+" : " ", r->list[i].at[k]);
        if (r->list[i].may_be_other) gi_buf_adds(out, "+other");
    }
    if (r->variables) gi_buf_adds(out, " variables");
}

/* A kernel of four parameters with this body. */
static PtxModule *kernel(const char *body, gi_err *err) {
    gi_buf text = {0};
    gi_buf_adds(&text, PTX_HEAD ".global .u32 total;\n.global .u32 gilua_total;\n"
                                ".const .u32 table[4];\n"
                                ".visible .entry k(.param .u64 p, .param .u32 n, .param .u64 q, "
                                ".param .align 8 .b8 s[24])\n"
                                "{\n.reg .pred %c;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n"
                                ".reg .f64 %fd<9>;\n.reg .b64 %rd<9>;\n.shared .b32 own[32];\n"
                                "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\n"
                                "ld.param.u64 %rd2, [q];\n");
    gi_buf_addf(&text, "%s\nret;\n}\n", body);
    PtxModule *m = ptx_parse(text.data, text.len, err);
    gi_buf_free(&text);
    return m;
}

/* "reads 0 8, writes 16+24, unknown" of that. */
static void is_access(const char *body, const char *want, const char *what) {
    gi_buf got = {0};
    gi_err err = {.message = ""};
    PtxAccess a;
    PtxModule *m = kernel(body, &err);
    if (ok(m && ptx_access(m, "k", "gilua_", &a), "%s %s", what, err.message)) {
        gi_buf_adds(&got, "reads");
        add_reached(&got, &a.reads);
        gi_buf_adds(&got, ", writes");
        add_reached(&got, &a.writes);
        if (a.is_unknown) gi_buf_adds(&got, ", unknown");
        is_str(got.data, want, what);
        ptx_access_free(&a);
    }
    ptx_free(m);
    gi_buf_free(&got);
}

/* Of each instruction that has an address: "0+8 variable unknown -". */
static void is_sources(const char *body, const char *want, const char *what) {
    gi_buf got = {0};
    gi_err err = {.message = ""};
    PtxModule *m = kernel(body, &err);
    if (!ok(m != NULL, "%s %s", what, err.message)) return;
    const PtxFunc *f = ptx_find_func(m, "k");
    PtxSources s = ptx_sources(f);
    for (int i = 0; i < f->n_code; i++) {
        if (s.of[i] == 0) continue;
        size_t begins = got.len;
        for (int k = 0; k < s.n_words; k++)
            if (s.of[i] >> k & 1)
                gi_buf_addf(&got, "%s%u", got.len > begins ? "+" : " ", s.word[k]);
        if (s.of[i] & PTX_FROM_VARIABLE) gi_buf_adds(&got, " variable");
        if (s.of[i] & PTX_FROM_UNKNOWN) gi_buf_adds(&got, " unknown");
    }
    is_str(got.len ? got.data : "", want, what);
    free(s.of);
    ptx_free(m);
    gi_buf_free(&got);
}

static void test_sources(void) {
    is_sources("mul.wide.s32 %rd3, %r1, 4; add.s64 %rd4, %rd3, %rd1;\n"
               "ld.global.f32 %f1, [%rd2]; st.global.f32 [%rd4], %f1;",
               " 16 0+8", "each its own");
    is_sources("st.shared.u32 [own], %r1; ld.shared.u32 %r2, [own+4]; ld.const.u32 %r3, [table];",
               "", "shared memory and constants are none");
    is_sources("st.global.u32 [total], %r1; atom.global.add.u32 %r2, [%rd1], 1;", " variable 0",
               "a variable, an atomic");
    is_sources("ld.global.u64 %rd3, [%rd1]; st.global.u32 [%rd3], %r1;", " 0 unknown",
               "a pointer from memory");
    is_sources("cp.async.ca.shared.global [own], [%rd2], 4;", " 16", "an asynchronous copy");
}

static void test_parameters(void) {
    is_access("", "reads, writes", "nothing is reached");
    is_access("ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd2+4], %f1;", "reads 0, writes 16",
              "through parameters");
    is_access("mul.wide.s32 %rd3, %r1, 4; add.s64 %rd4, %rd3, %rd1; st.global.f32 [%rd4], %f1;",
              "reads, writes 0+8", "numbers of an address count");
    is_access("cvta.to.global.u64 %rd3, %rd1; st.global.u32 [%rd3], %r1;", "reads, writes 0",
              "pointers of a space");
    is_access("ld.param.u64 %rd3, [s+16]; st.u32 [%rd3], %r1;", "reads, writes 40",
              "members of a struct");
    is_access("ld.param.v2.u64 {%rd3, %rd4}, [s]; st.u32 [%rd4], %r1;", "reads, writes 24+32",
              "two at once, both for either");
    is_access("atom.global.add.u32 %r2, [%rd1], 1; red.global.add.u32 [%rd2], 1;",
              "reads 0 16, writes 0 16", "atomics do both");
    is_access("setp.eq.s64 %c, %rd1, %rd2; selp.b64 %rd3, %rd1, %rd2, %c;"
              "st.global.u32 [%rd3], %r1;", "reads, writes 0+16", "one of two");
    is_access("L: st.global.u32 [%rd3], %r1; mov.u64 %rd3, %rd4; mov.u64 %rd4, %rd1; bra L;",
              "reads, writes 0", "what comes later in a loop");
    is_access("ld.global.u32 %r2, [%rd2]; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3;"
              "st.global.u32 [%rd4], %r1;", "reads 16, writes 0", "an index from memory");
    is_access("cp.async.ca.shared.global [own], [%rd1], 4;", "reads 0, writes",
              "a copy to shared memory");
}

static void test_others(void) {
    is_access("st.global.u32 [total], %r1; ld.global.u32 %r2, [total];",
              "reads variables, writes variables", "variables");
    is_access("mov.u64 %rd3, total; red.global.add.u32 [%rd3], 1;",
              "reads variables, writes variables", "by their addresses");
    is_access("st.global.u32 [gilua_total], %r1; ld.const.u32 %r2, [table+4];", "reads, writes",
              "but for those that are the kernel's own, and constants");
    is_access("st.shared.u32 [own], %r1; mov.u64 %rd3, own; cvta.shared.u64 %rd4, %rd3;"
              "st.u32 [%rd4], %r1;", "reads, writes", "nor shared memory");
    is_access("mov.u64 %rd3, own; setp.eq.s64 %c, %rd1, 0; selp.b64 %rd4, %rd3, %rd1, %c;"
              "st.u32 [%rd4], %r1;", "reads, writes 0+other", "or one of both");
}

static void test_unknown(void) {
    is_access("ld.global.u64 %rd3, [%rd1]; st.global.u32 [%rd3], %r1;",
              "reads 0, writes, unknown", "a pointer from memory");
    is_access("ld.global.u64 %rd3, [%rd1]; add.s64 %rd4, %rd3, %rd2; st.global.u32 [%rd4], %r1;",
              "reads 0, writes 16, unknown", "or 64 bits that may be one");
    is_access("ld.global.v2.u32 {%r2, %r3}, [%rd1]; mov.b64 %rd3, {%r2, %r3};"
              "st.global.u32 [%rd3], %r1;", "reads 0, writes, unknown", "in two halves");
    is_access("ld.global.v2.u32 {%r2, %r3}, [%rd1]; mov.b64 %rd3, {%r2, %r3};"
              "add.s64 %rd4, %rd3, %rd2; st.global.u32 [%rd4], %r1;",
              "reads 0, writes 16, unknown", "beside another");
    is_access("ld.global.f64 %fd1, [%rd1]; mov.b64 %rd3, %fd1; add.s64 %rd4, %rd3, %rd2;"
              "st.global.f64 [%rd4], %fd1;", "reads 0, writes 16", "a number is none");
    is_access("st.global.u32 [%rd3], %r1;", "reads, writes, unknown", "from nowhere");
    is_access("discard.global.L2 [%rd1], 128;", "reads, writes, unknown",
              "what is not known to be harmless");
    is_access("ld.param.u32 %r2, [n+4]; cvt.u64.u32 %rd3, %r2; st.global.u32 [%rd3], %r1;",
              "reads, writes, unknown", "behind a parameter");
    gi_buf chain = {0}; /* each register is of the next one */
    for (int i = 1; i < 200; i++) gi_buf_addf(&chain, "mov.b64 %%w%d, %%w%d;\n", i, i + 1);
    gi_buf text = {0};
    gi_buf_addf(&text, ".reg .b64 %%w<201>;\n%smov.b64 %%w200, %%rd1;\nst.global.u32 [%%rd2], 1;",
                chain.data);
    is_access(text.data, "reads, writes 16, unknown", "what takes too long to tell");
    gi_buf_free(&chain), gi_buf_free(&text);
    gi_err err;
    PtxAccess a;
    static const char other[] = PTX_HEAD ".func f() { ret; }\n.entry k() { call f; ret; }\n";
    PtxModule *m = ptx_parse(other, sizeof other - 1, &err);
    ok(m && ptx_access(m, "k", NULL, &a) && a.is_unknown, "a call");
    ok(!ptx_access(m, "f", NULL, &a) && !ptx_access(m, "g", NULL, &a), "kernels alone");
    ptx_free(m);
}

int main(void) {
    test_parameters();
    test_sources();
    test_others();
    test_unknown();
    return tap_done();
}
