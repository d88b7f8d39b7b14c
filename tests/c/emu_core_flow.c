/* Control flow of the virtual GPU: divergence, loops, switches, calls, recursion, guards. */
#include "emu_core_run.h"

static uint32_t out[256];

static void test_straight(void) {
    Run r = run_new(2, 64);
    if (!run_body(&r, "st.global.u32 [%rd1], %r1;\n", out, sizeof out, "straight line")) return;
    int wrong = 0;
    for (uint32_t i = 0; i < 128; i++) wrong += out[i] != i;
    is_int(wrong, 0, "every thread stores its number");
    is_int(r.result.lane_instructions, 128 * 10, "lane instructions are counted");
}

static void test_branch(void) {
    Run r = run_new(1, 40); /* a partial second warp */
    const char *body = "setp.lt.u32 %p1, %r2, 5; @%p1 bra A; mov.u32 %r5, 1; bra.uni B;\n"
                       "A: mov.u32 %r5, 2;\n"
                       "B: activemask.b32 %r6; mad.lo.u32 %r5, %r5, 1, 0; popc.b32 %r6, %r6;\n"
                       "mad.lo.u32 %r5, %r6, 100, %r5; st.global.u32 [%rd1], %r5;\n";
    run_body(&r, body, out, sizeof out, "branch");
    is_int(out[4], 3202, "lanes below 5 took one path and met the others again");
    is_int(out[5], 3201, "the others took the other path");
    is_int(out[35], 801, "a warp that agrees does not split");
    is_int(r.result.divergent_branches, 1, "one divergent branch");
}

static void test_loop(void) {
    Run r = run_new(1, 64);
    const char *body = "mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
                       "L: add.u32 %r6, %r6, %r5; add.u32 %r5, %r5, 1; setp.le.u32 %p1, %r5, %r2;\n"
                       "@%p1 bra L;\n"
                       "activemask.b32 %r7; popc.b32 %r7, %r7; mad.lo.u32 %r6, %r7, 10000, %r6;\n"
                       "st.global.u32 [%rd1], %r6;\n";
    run_body(&r, body, out, sizeof out, "loop with a trip count per lane");
    int wrong = 0;
    for (uint32_t i = 0; i < 64; i++) wrong += out[i] != i * (i + 1) / 2 + 320000;
    is_int(wrong, 0, "sums are right and the lanes meet after the loop");
}

static void test_nested(void) {
    Run r = run_new(1, 32);
    const char *body =
        "mov.u32 %r5, 0; mov.u32 %r8, 0;\n"
        "O: and.b32 %r6, %r2, 3; \n"
        "I: setp.eq.u32 %p2, %r6, 0; @%p2 bra D; add.u32 %r5, %r5, 1; sub.u32 %r6, %r6, 1;\n"
        "setp.gt.u32 %p3, %r5, 7; @%p3 bra X; bra.uni I;\n"
        "D: add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 4; @%p1 bra O;\n"
        "X: mad.lo.u32 %r5, %r8, 100, %r5; st.global.u32 [%rd1], %r5;\n";
    run_body(&r, body, out, sizeof out, "nested loops with a break");
    int wrong = 0;
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t n = 0, outer = 0;
        do {
            for (uint32_t j = i & 3; j; j--)
                if (++n > 7) goto end;
        } while (++outer < 4);
    end:
        wrong += out[i] != outer * 100 + n;
    }
    is_int(wrong, 0, "as the same loops in C");
}

static void test_guards(void) {
    Run r = run_new(1, 32);
    const char *body = "setp.lt.u32 %p1, %r2, 16; mov.u32 %r5, 7;\n"
                       "@%p1 mov.u32 %r5, 8; @!%p1 add.u32 %r5, %r5, 20;\n"
                       "@!%p1 st.global.u32 [%rd1], %r5; @!%p1 ret; \n"
                       "st.global.u32 [%rd1], 5; @%p1 st.global.u32 [%rd1], %r5;\n";
    run_body(&r, body, out, sizeof out, "guarded instructions");
    ok(out[0] == 8 && out[31] == 27, "each lane ran what its guard let through (%u, %u)", out[0],
       out[31]);
}

static void test_switch(void) {
    Run r = run_new(1, 32);
    const char *body = "and.b32 %r5, %r2, 3;\n ts: .branchtargets A, B, C, B;\n brx.idx %r5, ts;\n"
                       "A: mov.u32 %r6, 10; bra E; B: mov.u32 %r6, 20; bra E; C: mov.u32 %r6, 30;\n"
                       "E: activemask.b32 %r7; and.b32 %r7, %r7, 1; add.u32 %r6, %r6, %r7;\n"
                       "st.global.u32 [%rd1], %r6;\n";
    run_body(&r, body, out, sizeof out, "brx.idx");
    ok(out[4] == 11 && out[5] == 21 && out[6] == 31 && out[7] == 21, "four ways, meeting again");
}

static const char calls[] = PTX_HEAD
    ".func (.param .b32 ret) fib(.param .b32 n) {\n"
    ".reg .pred %p<3>; .reg .b32 %r<9>;\n"
    "ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 2; @%p1 bra BASE;\n"
    "sub.u32 %r2, %r1, 1; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2;\n"
    "call (b), fib, (a); ld.param.b32 %r3, [b]; }\n"
    "sub.u32 %r2, %r1, 2; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r2;\n"
    "call (b), fib, (a); ld.param.b32 %r4, [b]; }\n"
    "add.u32 %r5, %r3, %r4; st.param.b32 [ret], %r5; ret;\n"
    "BASE: st.param.b32 [ret], %r1; ret; }\n"
    ".func (.param .b32 ret) twice(.param .b32 n) { .reg .b32 %r<4>; ld.param.u32 %r1, [n];\n"
    "add.u32 %r1, %r1, %r1; st.param.b32 [ret], %r1; ret; }\n"
    ".global .u64 table[2] = {fib, twice};\n" PTX_KERNEL
    "and.b32 %r5, %r2, 7; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r5;\n"
    "call (b), fib, (a); ld.param.b32 %r6, [b]; }\n"
    "and.b32 %r7, %r2, 1; mul.wide.u32 %rd5, %r7, 8; mov.u64 %rd6, table; add.s64 %rd6, %rd6, "
    "%rd5;\n"
    "ld.global.u64 %rd7, [%rd6]; { .param .b32 a; .param .b32 b; st.param.b32 [a], %r5;\n"
    "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "call (b), %rd7, (a), P; ld.param.b32 %r8, [b]; }\n"
    "activemask.b32 %r9; popc.b32 %r9, %r9; mad.lo.u32 %r6, %r8, 100, %r6; mad.lo.u32 %r6, %r9, "
    "10000, %r6;\n"
    "st.global.u32 [%rd1], %r6;\n" PTX_END;

static void test_calls(void) {
    static const uint32_t fib[8] = {0, 1, 1, 2, 3, 5, 8, 13};
    Run r = run_new(1, 32);
    ok(run_text(&r, calls, out, sizeof out) && r.result.status == EMU_OK,
       "recursion and indirect calls %s%s", r.err.message, r.result.message);
    int wrong = 0;
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t second = i & 1 ? 2 * (i & 7) : fib[i & 7];
        wrong += out[i] != 320000 + second * 100 + fib[i & 7];
    }
    is_int(wrong, 0, "each lane has its own result, and all meet after each call");
}

static const char endless[] = PTX_HEAD
    ".func f(.param .b32 n) { .reg .b32 %r<4>; .local .b8 depot[100]; ld.param.u32 %r1, [n];\n"
    "{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); } ret; }\n" PTX_KERNEL
    "{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); }\n" PTX_END;

static void test_overflow(void) {
    Run r = run_new(1, 32);
    run_text(&r, endless, out, sizeof out);
    is_int(r.result.status, EMU_LAUNCH_ERROR, "endless recursion is a launch error");
    has_str(r.result.message, "stack overflow", "and says so");
}

/* A recursion of 600 calls without arrays: 19200 bytes by the estimate, of 16384. */
static const char deep[] = PTX_HEAD
    ".func f(.param .b32 n) { .reg .b32 %r<4>; .reg .pred %p; ld.param.u32 %r1, [n];\n"
    "setp.eq.u32 %p, %r1, 0; @%p ret; sub.u32 %r1, %r1, 1;\n"
    "{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); } ret; }\n" PTX_KERNEL
    "mov.u32 %r1, 599; { .param .b32 a; st.param.b32 [a], %r1; call f, (a); }\n"
    "st.global.u32 [%rd1], %r2;\n" PTX_END;

static int frame; /* what ptxas is made to say */

static int frame_of(const char *ptx, size_t len, const char *function) {
    (void)ptx, (void)len;
    return strcmp(function, "f") == 0 ? frame : -1;
}

static EmuStatus run_deep(int bytes, Run *r) {
    frame = bytes;
    *r = run_new(1, 32);
    run_text(r, deep, out, sizeof out);
    return r->result.status;
}

static void test_frames(void) {
    Run r;
    emu_assembler((EmuAssembler){NULL, frame_of});
    is_int(run_deep(-1, &r), EMU_LAUNCH_ERROR, "by the estimate a deep recursion is too deep");
    is_int(run_deep(16, &r), EMU_OK, "by the frame that ptxas gives it is not");
    is_int(run_deep(3, &r), EMU_OK, "  nor by a smaller one");
    is_int(run_deep(17, &r), EMU_LAUNCH_ERROR, "  frames are multiples of 16 bytes");
    has_str(r.result.message, "call of f at depth 513 needs 16416 bytes of stack a thread",
            "  as the message says");
    emu_assembler((EmuAssembler){0});
}

/* 100000 bytes of a kernel's own are no stack, whatever it calls: the model's stack is 16 KB. */
static const char large[] = PTX_HEAD
    ".func f(.param .b32 n) { .local .b8 own[12000]; .reg .b64 %a; mov.u64 %a, own;\n"
    "st.local.u32 [%a], 1; ret; }\n" PTX_KERNEL
    ".local .align 4 .b8 depot[100000]; mov.u64 %rd3, depot; st.local.u32 [%rd3+99996], %r2;\n"
    "{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); }\n"
    "ld.local.u32 %r5, [%rd3+99996]; st.global.u32 [%rd1], %r5;\n" PTX_END;

static void test_large_frame(void) {
    Run r = run_new(1, 32);
    ok(run_text(&r, large, out, sizeof out) && r.result.status == EMU_OK,
       "a kernel's own arrays are no stack %s%s", r.err.message, r.result.message);
    is_int(out[31], 31, "  each thread has its own");
    static const char larger[] = PTX_HEAD PTX_KERNEL
        ".local .align 4 .b8 depot[600000]; st.local.u32 [depot], %r2;\n" PTX_END;
    run_text(&r, larger, out, sizeof out);
    has_str(r.result.message, "600000 bytes of local memory a thread; there are 524288",
            "  up to what a GPU has");
}

static void test_budget(void) {
    Run r = run_new(1, 32);
    r.launch.budget = 10000;
    char text[4000];
    snprintf(text, sizeof text,
             "%s.file 1 \"user.cu\"\n%s .loc 1 17 1\nL: add.u32 %%r5, %%r5, 1; bra.uni L;\n%s",
             PTX_HEAD, PTX_KERNEL, PTX_END);
    run_text(&r, text, out, sizeof out);
    is_int(r.result.status, EMU_TIMEOUT, "an endless loop ends with its budget");
    has_str(r.result.message, "line 17", "and its source line is named");
    is_int(r.result.src_line, 17, "as a number too");
}

static void test_unknown(void) {
    Run r = run_new(1, 32);
    char text[4000];
    snprintf(text, sizeof text, "%s.file 1 \"user.cu\"\n%s .loc 1 9 1\nfrob.b32 %%r5, %%r6;\n%s",
             PTX_HEAD, PTX_KERNEL, PTX_END);
    ok(!run_text(&r, text, out, sizeof out), "an unknown instruction is refused at load");
    is_str(r.err.code, "compile", "code");
    has_str(r.err.message, "PTX line", "with the PTX line");
    has_str(r.err.message, "user.cu line 9", "the source line");
    has_str(r.err.message, "frob.b32", "and the instruction");
    snprintf(text, sizeof text, "%s%sadd.bogus.u32 %%r5, %%r6, %%r7;\n%s", PTX_HEAD, PTX_KERNEL,
             PTX_END);
    ok(!run_text(&r, text, out, sizeof out), "and so is an unknown modifier");
}

int main(void) {
    test_straight();
    test_branch();
    test_loop();
    test_nested();
    test_guards();
    test_switch();
    test_calls();
    test_overflow();
    test_frames();
    test_large_frame();
    test_budget();
    test_unknown();
    return tap_done();
}
