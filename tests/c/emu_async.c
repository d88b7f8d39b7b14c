/* emu_async.c - cp.async: what has been waited for is there, and nothing else; and atomics on
** vectors, whose elements are atomic one by one. */
#include "emu_core_run.h"

enum { N = 32 };

static Run go(const char *body, uint32_t out[N * 4], unsigned threads) {
    char text[6000];
    Run r = run_new(1, threads);
    r.launch.shared_bytes = 2048;
    r.launch.count_uninitialised = false;
    snprintf(text, sizeof text, "%s.extern .shared .align 16 .b8 s[];\n%s%s%s", PTX_HEAD,
             PTX_KERNEL, body, PTX_END);
    run_text(&r, text, out, N * 16);
    if (!r.loaded) ok(false, "%s", r.err.message);
    return r;
}

/* Each lane copies its four words to where it has room, and stores what it finds there. */
#define COPY                                                                                       \
    "mul.wide.u32 %rd3, %r2, 16; add.s64 %rd3, %rd3, %rd0; mov.u32 %r5, s;\n"                      \
    "mad.lo.u32 %r6, %r2, 16, %r5; st.shared.v4.u32 [%r6], {7, 7, 7, 7};\n"
#define SHOW                                                                                       \
    "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%r6];\n"                                            \
    "st.global.v4.u32 [%rd3], {%r7, %r8, %r9, %r10};\n"

static void fill(uint32_t out[N * 4]) {
    for (uint32_t i = 0; i < N * 4; i++) out[i] = 1000 + i;
}

static int differ(const uint32_t out[N * 4], int words, uint32_t other) {
    int wrong = 0;
    for (uint32_t i = 0; i < N * 4; i++)
        wrong += out[i] != ((int)(i % 4) < words ? 1000 + i : other);
    return wrong;
}

static void waits(void) {
    uint32_t out[N * 4];
    fill(out);
    Run r = go(COPY "cp.async.cg.shared.global [%r6], [%rd3], 16; cp.async.commit_group;\n"
                    "cp.async.wait_group 0;\n" SHOW, out, N);
    is_int(r.result.status, EMU_OK, "16 bytes a lane");
    is_int(differ(out, 4, 0), 0, "are there once they were waited for");
    ok(r.result.global_sectors > 0 && r.result.ticks > 1000, "and cost something");
    fill(out);
    go(COPY "cp.async.cg.shared.global [%r6], [%rd3], 16; cp.async.commit_group;\n" SHOW, out, N);
    is_int(differ(out, 0, 7), 0, "and not before");
    fill(out);
    go(COPY "cp.async.ca.shared.global.L2::128B [%r6+8], [%rd3+8], 8;\n"
            "cp.async.ca.shared.global [%r6], [%rd3], 4;\n"
            "cp.async.ca.shared.global [%r6+4], [%rd3+4], 4;\n"
            "cp.async.wait_all;\n" SHOW, out, N);
    is_int(differ(out, 4, 0), 0, "pieces of 4 and 8 bytes; wait_all needs no group");
    fill(out);
    go(COPY "cp.async.ca.shared.global [%r6], [%rd3], 4; cp.async.commit_group;\n"
            "cp.async.ca.shared.global [%r6+4], [%rd3+4], 4; cp.async.commit_group;\n"
            "cp.async.ca.shared.global [%r6+8], [%rd3+8], 4; cp.async.commit_group;\n"
            "cp.async.ca.shared.global [%r6+12], [%rd3+12], 4;\n"
            "cp.async.wait_group 1;\n" SHOW "cp.async.wait_all;\n", out, N);
    is_int(differ(out, 2, 7), 0, "all groups but the last, and what is in no group");
    fill(out);
    go(COPY "mov.u32 %r11, 8; cp.async.cg.shared.global [%r6], [%rd3], 16, %r11;\n"
            "cp.async.wait_all;\n" SHOW, out, N);
    is_int(differ(out, 2, 0), 0, "behind a shorter source there are zeros");
    fill(out);
    go(COPY "mov.u64 %rd4, 0; cp.async.cg.shared.global [%r6], [%rd4], 16, 0;\n"
            "cp.async.wait_all;\n" SHOW, out, N);
    is_int(differ(out, 0, 0), 0, "nothing is read of one without bytes");
}

/* Groups are each lane's own; a copy reads when it is issued. */
static void lanes(void) {
    uint32_t out[N * 4];
    fill(out);
    go(COPY "cp.async.cg.shared.global [%r6], [%rd3], 16;\nst.global.u32 [%rd3], 5;\n"
            "setp.lt.u32 %p1, %r2, 16; @!%p1 bra ODD; cp.async.commit_group;\n"
            "ODD: cp.async.wait_group 0;\n" SHOW, out, N);
    int wrong = 0;
    for (uint32_t i = 0; i < N * 4; i++) wrong += out[i] != (i < 64 ? 1000 + i : 7);
    is_int(wrong, 0, "lanes that committed nothing wait for nothing");
}

static void fault(const char *body, EmuStatus status, const char *words, const char *what) {
    uint32_t out[N * 4] = {0};
    Run r = go(body, out, N);
    is_int(r.result.status, status, what);
    has_str(r.result.message, words, "  which is told");
}

static void faults(void) {
    fault(COPY "cp.async.cg.shared.global [%r6], [%rd3+16], 16;", EMU_ILLEGAL_ADDRESS,
          "out-of-bounds read of 16 bytes in global memory at byte 512 of 'out'",
          "a source outside");
    fault(COPY "cp.async.cg.shared.global [%r6+1600], [%rd3], 16;", EMU_ILLEGAL_ADDRESS,
          "out-of-bounds write of 16 bytes in shared memory", "a destination outside");
    fault(COPY "cp.async.ca.shared.global [%r6+2], [%rd3], 4;", EMU_MISALIGNED, "misaligned write",
          "a destination that is not aligned");
}

/* A copy is a write by its lane: another one reads it only behind a barrier. */
static void races(void) {
    uint32_t out[N * 4];
    for (int k = 0; k < 2; k++) {
        char text[6000];
        Run r = run_new(1, 64);
        r.launch.shared_bytes = 2048;
        r.launch.check_races = EMU_RACES_SHARED;
        fill(out);
        snprintf(text, sizeof text,
                 "%s.extern .shared .align 16 .b8 s[];\n%s mov.u32 %%r5, s;\n"
                 "mad.lo.u32 %%r6, %%r2, 4, %%r5;\n"
                 "cp.async.ca.shared.global [%%r6], [%%rd1], 4; cp.async.wait_all; %s\n"
                 "xor.b32 %%r7, %%r2, 32; mad.lo.u32 %%r6, %%r7, 4, %%r5;\n"
                 "ld.shared.u32 %%r8, [%%r6];\n"
                 "st.global.u32 [%%rd1], %%r8;\n%s",
                 PTX_HEAD, PTX_KERNEL, k ? "bar.sync 0;" : "", PTX_END);
        run_text(&r, text, out, sizeof out);
        is_int(r.result.status, k ? EMU_OK : EMU_RACE, k ? "with a barrier" : "without one");
    }
}

/* --- atomics on vectors --- */

static void vectors(void) {
    uint32_t out[N * 4] = {0};
    float *f = (float *)(void *)out;
    Run r = go("mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000; cvt.rn.f32.u32 %f3, %r2;\n"
               "red.global.add.v4.f32 [%rd0], {%f1, %f2, %f3, %f1};\n"
               "red.relaxed.gpu.global.add.v2.f32 [%rd0+16], {%f2, %f3};\n", out, N);
    is_int(r.result.status, EMU_OK, "red on vectors");
    ok(f[0] == 32 && f[1] == 64 && f[2] == 496 && f[3] == 32, "each element is a sum of its own");
    ok(f[4] == 64 && f[5] == 496 && f[6] == 0, "of two as of four");
    memset(out, 0, sizeof out);
    go("cvt.rn.f32.u32 %f1, %r2; mov.f32 %f2, 0f3F800000;\n"
       "atom.global.add.v2.f32 {%f2, %f1}, [%rd0], {%f1, %f2};\n"
       "mul.wide.u32 %rd3, %r2, 8; add.s64 %rd3, %rd3, %rd0;\n"
       "st.global.v2.f32 [%rd3+16], {%f2, %f1};\n",
       out, 4);
    ok(f[0] == 6 && f[1] == 4, "atom on a vector");
    ok(f[4] == 0 && f[6] == 0 && f[8] == 1 && f[10] == 3, "returns what was there");
    ok(f[5] == 0 && f[7] == 1 && f[9] == 2 && f[11] == 3, "of each element");
    memset(out, 0, sizeof out);
    out[0] = 0x3c004000, out[1] = 0x44003c00; /* 2, 1, 1, 4 */
    go("mov.b32 %r5, 0x42004200; red.global.max.noftz.v2.f16x2 [%rd0], {%r5, %r5};\n"
       "mov.b32 {%h1, %h2}, %r5;\n"
       "red.global.add.noftz.v4.bf16 [%rd0+8], {%h1, %h2, %h1, %h2};\n", out, 1);
    ok(out[0] == 0x42004200 && out[1] == 0x44004200, "the larger of halves: 3, 3, 3, 4");
    ok(out[2] == 0x42004200 && out[3] == 0x42004200, "sums of bf16");
    fault("mov.f32 %f1, 0f3F800000; red.global.add.v2.f32 [%rd0+4], {%f1, %f1};", EMU_MISALIGNED,
          "misaligned atomic of 8 bytes", "a vector that is not aligned");
}

int main(void) {
    waits();
    lanes();
    faults();
    races();
    vectors();
    return tap_done();
}
