/* Barriers and warps of the virtual GPU: who waits for whom, and what can never end. */
#include "emu_core_run.h"

static uint32_t out[4096];

static EmuStatus status_of(const char *body, unsigned block, Run *r) {
    char text[8000];
    snprintf(text, sizeof text, "%s%s%s%s", PTX_HEAD, PTX_KERNEL, body, PTX_END);
    unsigned block_now = block;
    EmuLaunch keep = r->launch;
    *r = run_new(1, block_now);
    r->launch.budget = keep.budget;
    r->launch.check_races = keep.check_races;
    if (!run_text(r, text, out, sizeof out)) ok(false, "loads: %s", r->err.message);
    return r->result.status;
}

#define SHARED                                                                                     \
    ".shared .align 4 .b8 sh[4096]; mov.u32 %r5, sh; shl.b32 %r6, %r2, 2; add.u32 %r6, %r6, "      \
    "%r5;\n"

static void test_exchange(void) {
    Run r = run_new(1, 1024);
    const char *body = SHARED "st.shared.u32 [%r6], %r2; bar.sync 0; xor.b32 %r7, %r2, 1023;\n"
                              "shl.b32 %r7, %r7, 2; add.u32 %r7, %r7, %r5; ld.shared.u32 %r8, "
                              "[%r7]; st.global.u32 [%rd1], %r8;\n";
    is_int(status_of(body, 1024, &r), EMU_OK, "32 warps exchange values through a barrier");
    int wrong = 0;
    for (uint32_t i = 0; i < 1024; i++) wrong += out[i] != (i ^ 1023);
    is_int(wrong, 0, "all of them");
    is_int(r.result.barriers, 1, "one barrier");
}

static void test_partial(void) {
    Run r = run_new(1, 64);
    is_int(
        status_of("setp.lt.u32 %p1, %r2, 7; @%p1 bra X; bar.sync 0;\nX: bar.sync 0;\n", 64,
                  &r),
        EMU_LAUNCH_ERROR, "a barrier that a diverged part of a warp reaches");
    has_str(r.result.message,
            "barrier reached by only part of the warp: lanes 7-31, without lanes 0-6",
            "names the lanes");
    is_int(status_of("setp.lt.u32 %p1, %r2, 7; @%p1 ret; bar.sync 0;\n", 64, &r), EMU_OK,
           "lanes that ended are not waited for");
    is_int(r.result.barrier_after_exit, 1, "but it is counted");
}

static void test_never(void) {
    Run r = run_new(1, 64);
    is_int(
        status_of("setp.lt.u32 %p1, %r2, 32; @%p1 bra X; bar.sync 1; bra E; X: bar.sync 2;\nE:\n",
                  64, &r),
        EMU_TIMEOUT, "two warps that wait for each other at different barriers");
    has_str(r.result.message, "warp 0 waits at barrier 2", "names the first");
    has_str(r.result.message, "warp 1 waits at barrier 1", "and the second");
    is_int(status_of("setp.lt.u32 %p1, %r2, 32; @%p1 bra X; bar.sync 1, 96;\nX:\n", 96, &r),
           EMU_TIMEOUT, "a barrier whose count is never reached");
}

static void test_named(void) {
    Run r = run_new(1, 128);
    const char *body = SHARED
        "shr.u32 %r10, %r2, 5; setp.lt.u32 %p1, %r10, 2; @%p1 bra PROD;\n"
        "bar.sync 3, 128; sub.u32 %r7, %r6, 256; ld.shared.u32 %r8, [%r7]; st.global.u32 [%rd1], "
        "%r8; bra E;\n"
        "PROD: mad.lo.u32 %r8, %r2, 7, 0; st.shared.u32 [%r6], %r8; bar.arrive 3, 128;\nE:\n";
    is_int(status_of(body, 128, &r), EMU_OK, "producers arrive, consumers wait");
    ok(out[64] == 0 && out[127] == 63 * 7, "consumers saw what producers wrote (%u)", out[127]);
}

static void test_operands(void) {
    Run r = run_new(1, 64);
    const char *lanes = "barrier with operands that differ between lanes";
    is_int(status_of("setp.eq.u32 %p1, %r2, 40; selp.u32 %r5, 1, 2, %p1; bar.sync %r5;\n", 64, &r),
           EMU_LAUNCH_ERROR, "lanes of a warp that name two barriers");
    has_str(r.result.message, lanes, "is a fault");
    is_int(status_of("setp.eq.u32 %p1, %r2, 40; selp.u32 %r5, 32, 64, %p1; bar.sync 1, %r5;\n", 64,
                     &r),
           EMU_LAUNCH_ERROR, "so are two counts");
    has_str(r.result.message, lanes, "for the same reason");
    is_int(status_of("setp.eq.u32 %p1, %r2, 40; selp.u32 %r5, 1, 2, %p1; @%p1 ret;\n"
                     "bar.sync %r5, 64;\n",
                     64, &r),
           EMU_OK, "what a lane held that has ended does not count");
}

static void test_reduce(void) {
    Run r = run_new(1, 96);
    const char *body =
        "and.b32 %r5, %r2, 3; setp.eq.u32 %p1, %r5, 0; barrier.red.popc.aligned.u32 %r6, 0, %p1;\n"
        "bar.red.or.pred %p2, 0, %p1; bar.red.and.pred %p3, 0, %p1;\n"
        "selp.u32 %r7, 100, 0, %p2; selp.u32 %r8, 1000, 0, %p3; add.u32 %r6, %r6, %r7; add.u32 "
        "%r6, %r6, %r8;\n"
        "st.global.u32 [%rd1], %r6;\n";
    is_int(status_of(body, 96, &r), EMU_OK, "reducing barriers");
    ok(out[0] == 124 && out[95] == 124, "count, or, and over the block (%u)", out[95]);
}

static void test_spin(void) {
    Run r = run_new(1, 64);
    const char *body = SHARED
        "setp.eq.u32 %p1, %r2, 0; @%p1 st.shared.u32 [%r5], 0; bar.sync 0;\n"
        "setp.lt.u32 %p1, %r2, 32; @!%p1 bra PROD;\n"
        "W: ld.volatile.shared.u32 %r7, [%r5]; setp.eq.u32 %p2, %r7, 0; @%p2 bra W; bra E;\n"
        "PROD: st.volatile.shared.u32 [%r5], 42; mov.u32 %r7, 1;\nE: st.global.u32 [%rd1], %r7;\n";
    is_int(status_of(body, 64, &r), EMU_OK, "a warp that spins lets the one it waits for run");
    is_int(out[0], 42, "and sees its value");
    r.launch.budget = 20000;
    is_int(status_of("L: bra L;\n", 64, &r), EMU_TIMEOUT, "one that spins for ever ends");
}

static void test_warp(void) {
    Run r = run_new(1, 32);
    is_int(status_of("setp.lt.u32 %p1, %r2, 16; @%p1 bra X; shfl.sync.bfly.b32 %r5, %r2, 1, 31, "
                     "-1;\nX: bar.sync 0; st.global.u32 [%rd1], 1;\n",
                     32, &r),
           EMU_LAUNCH_ERROR, "a shuffle without all lanes of its mask");
    has_str(r.result.message, "without lanes 0-15", "names them");
    is_int(status_of("shfl.sync.down.b32 %r5|%p1, %r2, 4, 31, -1; selp.u32 %r6, 100, 0, %p1; "
                     "add.u32 %r5, %r5, %r6;\n"
                     "st.global.u32 [%rd1], %r5; redux.sync.add.s32 %r7, %r2, -1; st.global.u32 "
                     "[%rd1+128], %r7;\n"
                     "and.b32 %r8, %r2, 1; match.any.sync.b32 %r9, %r8, -1; st.global.u32 "
                     "[%rd1+256], %r9;\n",
                     32, &r),
           EMU_OK, "shuffle, reduction, match");
    ok(out[3] == 107 && out[30] == 30, "lanes from four further on, or their own (%u, %u)", out[3],
       out[30]);
    is_int(out[32], 496, "sum over the warp");
    is_int(out[65], 0xaaaaaaaa, "lanes with the same value");
}

static void test_races(void) {
    Run r = run_new(1, 64);
    r.launch.check_races = true;
    const char *racy =
        SHARED "st.shared.u32 [%r6], %r2; xor.b32 %r7, %r6, 128; ld.shared.u32 %r8, [%r7];\n";
    is_int(status_of(racy, 64, &r), EMU_RACE,
           "reading what another warp writes, without a barrier");
    has_str(r.result.message, "with no barrier between", r.result.message);
    r.launch.check_races = true;
    const char *fine = SHARED
        "st.shared.u32 [%r6], %r2; bar.sync 0; xor.b32 %r7, %r6, 128; ld.shared.u32 %r8, [%r7];\n"
        "bar.sync 0; atom.shared.add.u32 %r9, [%r5], 1;\n";
    is_int(status_of(fine, 64, &r), EMU_OK, "with barriers, and with atomics, it is none");
    r.launch.check_races = true;
    const char *warp =
        SHARED "st.shared.u32 [%r6], %r2; xor.b32 %r7, %r6, 4; ld.shared.u32 %r8, [%r7];\n";
    is_int(status_of(warp, 32, &r), EMU_RACE, "lanes of one warp race too");
    r.launch.check_races = true;
    const char *synced = SHARED "st.shared.u32 [%r6], %r2; bar.warp.sync -1; xor.b32 %r7, %r6, 4; "
                                "ld.shared.u32 %r8, [%r7];\n";
    is_int(status_of(synced, 32, &r), EMU_OK, "unless bar.warp.sync stands between");
    r.launch.check_races = true;
    const char *repeated =
        SHARED "and.b32 %r7, %r2, 15; shl.b32 %r8, %r7, 2; add.u32 %r8, %r8, %r5;\n"
               "st.shared.u32 [%r8], %r7; bar.warp.sync -1; ld.shared.u32 %r9, [%r5];\n";
    is_int(status_of(repeated, 32, &r), EMU_OK, "lanes that repeat each other's write do not race");
    r.launch.check_races = true;
    const char *clash = SHARED "and.b32 %r7, %r2, 15; shl.b32 %r8, %r7, 2; add.u32 %r8, %r8, %r5;\n"
                               "st.shared.u32 [%r8], %r2;\n";
    is_int(status_of(clash, 32, &r), EMU_RACE, "but those that write another value do");
}

/* Thread 0 clears a counter and counts, as all do: its own atomic is no end of its write. */
#define CLEARED(barrier)                                                                           \
    SHARED "setp.eq.u32 %p1, %r2, 0; @%p1 st.shared.u32 [%r5], 0;\n" barrier                      \
           "atom.shared.add.u32 %r9, [%r5], 1; bar.sync 0; ld.shared.u32 %r8, [%r5];\n"

static void test_races_with_atomics(void) {
    Run r = run_new(1, 64);
    r.launch.check_races = true;
    is_int(status_of(CLEARED("bar.sync 0;\n"), 64, &r), EMU_OK, "atomics after a barrier");
    r.launch.check_races = true;
    is_int(status_of(CLEARED("bar.warp.sync -1;\n"), 64, &r), EMU_RACE,
           "another warp's race with what was written before, whatever atomics came between");
    has_str(r.result.message, "this write and the write by thread 0", r.result.message);
    r.launch.check_races = true;
    is_int(status_of(CLEARED("bar.warp.sync -1;\n"), 32, &r), EMU_OK, "those of its own do not");
}

/* Lanes 0-7 hand on to their neighbours, 8-31 too, but only the first eight wait for each other. */
#define HAND_ON(masks)                                                                             \
    SHARED "setp.lt.u32 %p1, %r2, 8; selp.b32 %r9, " masks ", %p1; st.shared.u32 [%r6], %r2;\n"    \
           "bar.warp.sync %r9; xor.b32 %r7, %r6, 4; ld.shared.u32 %r8, [%r7];\n"

static void test_races_of_masks(void) {
    Run r = run_new(1, 32);
    r.launch.check_races = true;
    is_int(status_of(HAND_ON("255, 0xffffff00"), 32, &r), EMU_OK, "each half has its own barrier");
    r.launch.check_races = true;
    const char *few = SHARED "setp.lt.u32 %p1, %r2, 8; st.shared.u32 [%r6], %r2;\n"
                             "@%p1 bar.warp.sync 255; xor.b32 %r7, %r6, 4; ld.shared.u32 %r8, "
                             "[%r7];\n";
    is_int(status_of(few, 32, &r), EMU_RACE, "a barrier of eight lanes is none for the others");
    has_str(r.result.message, "this read and the write by thread 9", "between two of those");
    r.launch.check_races = true;
    const char *chain = SHARED
        "setp.lt.u32 %p1, %r2, 2; setp.gt.u32 %p2, %r2, 0; setp.lt.and.u32 %p2, %r2, 3, %p2;\n"
        "setp.eq.u32 %p3, %r2, 0; @%p3 st.shared.u32 [%r5], 7; @%p1 bar.warp.sync 3;\n"
        "@%p2 bar.warp.sync 6; setp.eq.u32 %p3, %r2, 2; @%p3 ld.shared.u32 %r8, [%r5];\n";
    is_int(status_of(chain, 32, &r), EMU_OK, "0 with 1, then 1 with 2: 2 comes after 0");
}

int main(void) {
    test_exchange();
    test_partial();
    test_never();
    test_named();
    test_operands();
    test_reduce();
    test_spin();
    test_warp();
    test_races();
    test_races_with_atomics();
    test_races_of_masks();
    return tap_done();
}
