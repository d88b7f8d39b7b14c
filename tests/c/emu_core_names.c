/* What the decoder leaves out or does once must not show: registers that stand for constant rows,
** NaNs whose bits only arithmetic reads, bases of shared loads that are looked at once, texture
** instructions that take over what their neighbours fetched. */
#include "emu/core.h"
#include "emu/decode/ops.h"
#include "emu_core_run.h"

enum { N = 32 };

/* Two blocks: the second one runs where the first one left its values. */
static void check(const char *body, const uint32_t want[N], const char *what) {
    uint32_t data[2 * N] = {0};
    Run r = run_new(2, N);
    r.launch.shared_bytes = 1024;
    run_body(&r, body, data, sizeof data, what);
    int bad = 0;
    while (bad < 2 * N && data[bad] == want[bad % N]) bad++;
    ok(bad == 2 * N, "%s: thread %d has 0x%x, 0x%x is right", what, bad,
       bad < 2 * N ? data[bad] : 0, want[bad % N]);
}

/* --- registers that are set once to what is the same throughout a launch --- */

static void constants(void) {
    uint32_t want[N];
    for (uint32_t i = 0; i < N; i++) want[i] = i + 7 + (i < 9 ? 100 : 0);
    check("mov.u32 %r10, 7; mov.u32 %r11, %r10; mov.u32 %r12, %tid.x;\n"
          "setp.ge.u32 %p1, %r12, 9; @%p1 bra A; add.u32 %r12, %r12, 100;\n"
          "A: add.u32 %r13, %r12, %r11; st.global.u32 [%rd1], %r13;\n",
          want, "a copy that is changed is no name for a constant");
    for (uint32_t i = 0; i < N; i++) want[i] = i < 9 ? 5 : 0xffffffff;
    check("setp.lt.u32 %p1, %r2, 9; @%p1 mov.u32 %r10, 5; st.global.u32 [%rd1], %r10;\n", want,
          "a register set under a guard is all ones in the other lanes");
    check("setp.ge.u32 %p1, %r2, 9; @%p1 bra A; mov.u32 %r10, 5;\n"
          "A: st.global.u32 [%rd1], %r10;\n",
          want, "and so is one set on one path");
    for (uint32_t i = 0; i < N; i++) want[i] = 9;
    check("mov.u32 %r10, 1; @%p1 mov.u32 %r10, 9; setp.eq.u32 %p1, %r2, %r2;\n"
          "st.global.u32 [%rd1], %r10;\n",
          want, "a predicate that is read before it is set is true");
    for (uint32_t i = 0; i < N; i++) want[i] = 2;
    check("mov.u32 %r11, 0; A: add.u32 %r12, %r12, %r10; mov.u32 %r10, 2;\n"
          "add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 3; @%p1 bra A;\n"
          "st.global.u32 [%rd1], %r12;\n",
          want, "one that a loop reads before it is set begins with all ones");
}

static const char module_text[] =
    PTX_HEAD ".const .align 4 .u32 c;\n.visible .entry k(.param .u64 out, .param .u32 p) {\n"
             ".reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
             "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [p]; ld.const.u32 %r2, [c];\n"
             "mad.lo.u32 %r3, %r1, 1000, %r2; st.global.u32 [%rd1], %r3; ret; }\n";

static void launches(void) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err = {.message = ""};
    uint32_t out = 0;
    struct {
        uint64_t out;
        uint32_t p;
    } params = {emu_map(e, &out, sizeof out, false, "out"), 0};
    EmuModule *m = emu_load(e, module_text, strlen(module_text), &err);
    for (uint32_t k = 1; m && k < 4; k++) {
        EmuResult r = {0};
        *(uint32_t *)emu_symbol(m, "c", NULL, NULL) = 10 * k;
        params.p = k;
        EmuLaunch l = {.kernel = "k", .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = &params};
        bool ran = emu_launch(m, &l, &r, &err) && r.status == EMU_OK;
        ok(ran && out == 1010 * k, "launch %u has its own constants: %u", k, out);
    }
    ok(m != NULL, "loaded %s", err.message);
    emu_unload(m);
    emu_free(e);
}

/* --- which NaN it is --- */

static void nans(void) {
    static const char *const readers[] = {"mov.b32 %r10, %f3;",
                                          "abs.f32 %f4, %f3; mov.b32 %r10, %f4;",
                                          "setp.gt.u32 %p1, %r2, 99; selp.f32 %f4, %f1, %f3, %p1;"
                                          " mov.b32 %r10, %f4;",
                                          "mul.f32 %f4, %f3, %f3; mov.b32 %r10, %f4;",
                                          "max.f32 %f4, %f3, %f3; mov.b32 %r10, %f4;",
                                          "fma.rn.f32 %f4, %f3, %f1, %f1; sub.f32 %f5, %f4, %f3;"
                                          " mov.b32 %r10, %f5;"};
    uint32_t want[N];
    for (int i = 0; i < N; i++) want[i] = 0x7fffffffu;
    for (size_t k = 0; k < sizeof readers / sizeof *readers; k++) {
        char body[400];
        snprintf(body, sizeof body,
                 "mov.b32 %%f1, 0fFFC12345; mov.b32 %%f2, 0f7F812345; add.f32 %%f3, %%f1, %%f2;\n"
                 "%s st.global.u32 [%%rd1], %%r10;\n",
                 readers[k]);
        check(body, want, readers[k]);
    }
}

/* --- bases of loads of shared memory --- */

static void bases(void) {
    static const char fill[] = "mov.u32 %r10, 0; shl.b32 %r11, %r2, 2; add.u32 %r11, %r11, %r10;\n"
                               "st.shared.u32 [%r11], %r2; bar.sync 0; mov.u32 %r12, 8;\n";
    static const struct {
        const char *says, *body;
        uint32_t base, slope, below; /* base + slope * lane; below: other lanes 0 */
    } cases[] = {
        {"two loads from one base",
         "and.b32 %r13, %r12, 12; ld.shared.u32 %r14, [%r13];\n"
         "ld.shared.u32 %r15, [%r13+4]; add.u32 %r16, %r14, %r15;",
         5, 0, N},
        {"a base that changes between",
         "ld.shared.u32 %r14, [%r12]; add.u32 %r12, %r12, 8;\n"
         "ld.shared.u32 %r15, [%r12+4]; add.u32 %r16, %r14, %r15;",
         7, 0, N},
        {"a base that the load overwrites",
         "add.u32 %r13, %r12, 8; ld.shared.u32 %r13, [%r13]; shl.b32 %r13, %r13, 2;\n"
         "ld.shared.u32 %r16, [%r13+4];",
         5, 0, N},
        {"a base for each lane, twice",
         "ld.shared.u32 %r14, [%r11]; ld.shared.u32 %r15, [%r11];\n"
         "add.u32 %r16, %r14, %r15;",
         0, 2, N},
        {"two bases in turn",
         "ld.shared.u32 %r14, [%r12]; ld.shared.u32 %r15, [%r11];\n"
         "ld.shared.u32 %r17, [%r12+4]; add.u32 %r16, %r14, %r15;\n"
         "add.u32 %r16, %r16, %r17;",
         5, 1, N},
        {"one load for a single lane before",
         "setp.eq.u32 %p1, %r2, 0; mov.u32 %r16, 0;\n"
         "@%p1 ld.shared.u32 %r14, [%r11];\n"
         "ld.shared.u32 %r16, [%r11];",
         0, 1, N},
        {"a barrier between",
         "ld.shared.u32 %r14, [%r12]; bar.sync 0; ld.shared.u32 %r15, [%r12];\n"
         "add.u32 %r16, %r14, %r15;",
         4, 0, N},
        {"another block of code between",
         "ld.shared.u32 %r14, [%r12]; mov.u32 %r16, 0; setp.ge.u32 %p1, %r2, 9; @%p1 bra A;\n"
         "add.u32 %r12, %r12, 4; ld.shared.u32 %r15, [%r12]; add.u32 %r16, %r14, %r15; A:",
         5, 0, 9},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint32_t want[N];
        char body[900];
        for (uint32_t i = 0; i < N; i++)
            want[i] = i < cases[k].below ? cases[k].base + cases[k].slope * i : 0;
        snprintf(body, sizeof body, "%s%s\nst.global.u32 [%%rd1], %%r16;\n", fill, cases[k].body);
        check(body, want, cases[k].says);
    }
}

static void base_faults(void) {
    static const struct {
        const char *says, *body;
        EmuStatus status;
    } cases[] = {
        {"the last word", "ld.shared.u32 %r11, [%r10]; ld.shared.u32 %r11, [%r10+1020];", EMU_OK},
        {"a word behind it", "ld.shared.u32 %r11, [%r10]; ld.shared.u32 %r11, [%r10+1024];",
         EMU_ILLEGAL_ADDRESS},
        {"four words, the last outside",
         "ld.shared.u32 %r11, [%r10]; ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r10+1024];",
         EMU_ILLEGAL_ADDRESS},
        {"a word before the first", "ld.shared.u32 %r11, [%r10]; ld.shared.u32 %r11, [%r10+-4];",
         EMU_ILLEGAL_ADDRESS},
        {"a crooked address", "ld.shared.u32 %r11, [%r10]; ld.shared.u32 %r11, [%r10+2];",
         EMU_MISALIGNED}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint32_t data[N] = {0};
        char text[2000];
        Run r = run_new(1, N);
        r.launch.shared_bytes = 1024;
        snprintf(text, sizeof text, "%s%smov.u32 %%r10, 0; bar.sync 0;\n%s\n%s", PTX_HEAD,
                 PTX_KERNEL, cases[k].body, PTX_END);
        run_text(&r, text, data, sizeof data);
        ok(r.result.status == cases[k].status, "%s from a base that was fine: %s", cases[k].says,
           emu_status_name(r.result.status));
    }
}

int main(void) {
    constants();
    launches();
    nans();
    bases();
    base_faults();
    return tap_done();
}
