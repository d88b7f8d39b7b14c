/* Lanes of a warp that go different ways: who is waited for, who has left, what is undefined. */
#include "emu_core_run.h"

static uint32_t out[4096];

/* Runs a body with one block; the status. `head`: functions before the kernel. */
static EmuStatus run_with(Run *r, const char *head, const char *body, unsigned threads) {
    char text[16000];
    EmuLaunch keep = r->launch;
    *r = run_new(keep.grid[0] ? keep.grid[0] : 1, threads);
    r->launch.budget = keep.budget ? keep.budget : 10000000;
    r->launch.check_races = keep.check_races;
    memset(out, 0, sizeof out);
    snprintf(text, sizeof text, "%s.file 1 \"user.cu\"\n%s%s%s%s", PTX_HEAD, head, PTX_KERNEL, body,
             PTX_END);
    if (!run_text(r, text, out, sizeof out)) ok(false, "loads: %s", r->err.message);
    return r->result.status;
}

static EmuStatus run(Run *r, const char *body) {
    return run_with(r, "", body, 32);
}

static void passes(Run *r, const char *body, const char *what) {
    EmuStatus status = run(r, body);
    ok(status == EMU_OK, "%s %s", what, r->result.message);
}

static void fails(const char *body, const char *why, const char *what) {
    Run r = {0};
    EmuStatus status = run(&r, body);
    is_int(status, EMU_LAUNCH_ERROR, what);
    has_str(r.result.message, why, "  it says why");
}

static const EmuFinding *warning(const Run *r, const char *kind) {
    for (int i = 0; i < r->result.warnings.n; i++)
        if (strcmp(r->result.warnings.at[i].kind, kind) == 0) return &r->result.warnings.at[i];
    return NULL;
}

/* ---- lanes that have left are not waited for ---- */

/* As nvcc writes `if (t == 0) { y[0] = 9; return; } … y[t] = result;`: one ret for all. */
#define LEFT(op)                                                                                   \
    "setp.eq.u32 %p1, %r2, 0; setp.lt.u32 %p3, %r2, 40; and.b32 %r9, %r2, 1; @%p1 bra FIRST;\n" op \
    "\nst.global.u32 [%rd1], %r6; bra.uni END;\nFIRST: st.global.u32 [%rd1], 9;\nEND:\n"
#define AS_INT "selp.u32 %r6, 1, 0, %p2;"

static void test_left(void) {
    static const struct {
        const char *what, *body;
        uint32_t at[2]; /* results of lanes 1 and 31 */
    } table[] = {
        {"shfl.sync", LEFT("shfl.sync.idx.b32 %r6, %r2, 3, 31, -1;"), {3, 3}},
        {"vote.sync.all", LEFT("vote.sync.all.pred %p2, %p3, -1; " AS_INT), {1, 1}},
        {"vote.sync.any", LEFT("vote.sync.any.pred %p2, %p1, -1; " AS_INT), {0, 0}},
        {"vote.sync.ballot", LEFT("vote.sync.ballot.b32 %r6, %p3, -1;"), {~1u, ~1u}},
        {"match.any.sync", LEFT("match.any.sync.b32 %r6, %r9, -1;"), {0xaaaaaaaa, 0xaaaaaaaa}},
        {"match.all.sync", LEFT("match.all.sync.b32 %r6|%p2, %r4, -1;"), {~1u, ~1u}},
        {"redux.sync", LEFT("redux.sync.add.u32 %r6, %r2, -1;"), {496, 496}},
        {"elect.sync", LEFT("elect.sync %r6|%p2, -1;"), {1, 1}},
        {"bar.warp.sync", LEFT("bar.warp.sync -1; mov.u32 %r6, %r2;"), {1, 31}},
        {"bar.sync", LEFT("bar.sync 0; mov.u32 %r6, %r2;"), {1, 31}},
        {"bar.red.popc", LEFT("bar.red.popc.u32 %r6, 0, %p3;"), {31, 31}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Run r = {0};
        EmuStatus status = run(&r, table[i].body);
        ok(status == EMU_OK, "%s after lane 0 returned %s", table[i].what, r.result.message);
        ok(out[0] == 9 && out[1] == table[i].at[0] && out[31] == table[i].at[1],
           "  its result (%u, %#x, %#x)", out[0], out[1], out[31]);
        is_int(r.result.warnings.n, 0, "  nothing to warn of");
    }
}

/* A lane that has still something to do is given its turn, and is gone then. */
static void test_leaving(void) {
    Run r = {0};
    const char *body = "setp.lt.u32 %p1, %r2, 16; mov.u32 %r6, 7; @%p1 bra X;\n.loc 1 33 1\n"
                       "shfl.sync.bfly.b32 %r6, %r2, 1, 31, -1;\nX: st.global.u32 [%rd1], %r6;\n";
    passes(&r, body, "lanes that end elsewhere while a shuffle waits for them");
    ok(out[0] == 7 && out[16] == 17 && out[31] == 30, "  results (%u %u %u)", out[0], out[16],
       out[31]);
    const EmuFinding *f = warning(&r, "lanes_left");
    ok(f && f->src_line == 33 && f->thread[0] == 16, "  it is told of, with its line and a thread");
    has_str(f ? f->message : "", "lanes 0-15 of the warp ended without it", "  and who left");
}

/* So nvcc writes `if (t < 16) { y[t] = 9; return; } __syncthreads(); y[t] = …;`, too. */
static void test_merged_return(void) {
    Run r = {0};
    const char *body = "setp.lt.u32 %p1, %r2, 16; mov.u32 %r6, 9; @%p1 bra END;\n.loc 1 21 1\n"
                       "bar.sync 0; mov.u32 %r6, %r2; END: st.global.u32 [%rd1], %r6;\n";
    passes(&r, body, "a store behind a barrier that is also the one before a return");
    ok(out[0] == 9 && out[16] == 16, "  each stores its own (%u %u)", out[0], out[16]);
    const EmuFinding *f = warning(&r, "lanes_left");
    ok(f && f->src_line == 21, "  it is told of, since a barrier in a branch looks the same");
    is_int(r.result.barrier_after_exit, 1, "  and counted");
}

static const char early[] =
    ".func (.param .b32 ret) f(.param .b32 n) { .reg .pred %p<3>; .reg .b32 %r<9>;\n"
    "ld.param.u32 %r1, [n]; setp.eq.u32 %p1, %r1, 0; @%p1 bra A;\n"
    "shfl.sync.idx.b32 %r2, %r1, 5, 31, 0xfffffffe; st.param.b32 [ret], %r2; ret;\n"
    "A: st.param.b32 [ret], 77; ret; }\n";

static void test_function(void) {
    Run r = {0};
    const char *body = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), f, (a);\n"
                       "ld.param.b32 %r6, [b]; } st.global.u32 [%rd1], %r6;\n";
    is_int(run_with(&r, early, body, 32), EMU_OK, "a lane that left a function early");
    ok(out[0] == 77 && out[1] == 5 && out[31] == 5, "  each has its own result (%u %u)", out[0],
       out[1]);
}

/* ---- other ways to the same operation ---- */

#define BRANCH "setp.lt.u32 %p1, %r2, 16; @%p1 bra LOW;\n"
#define STORE  "END: st.global.u32 [%rd1], %r6;\n"

static void test_ways(void) {
    Run r = {0};
    passes(&r,
           BRANCH "add.u32 %r5, %r2, 100; shfl.sync.idx.b32 %r6, %r5, 2, 31, -1; bra END;\n"
                  "LOW: add.u32 %r5, %r2, 200; shfl.sync.idx.b32 %r6, %r5, 20, 31, -1;\n" STORE,
           "two shuffles of one mask and kind are one");
    ok(out[0] == 120 && out[15] == 120 && out[16] == 202 && out[31] == 202,
       "  each reads the other branch's value (%u %u)", out[0], out[16]);
    passes(&r,
           BRANCH "shfl.sync.bfly.b32 %r6, %r2, 1, 31, 0xffff0000; bra END;\n"
                  "LOW: shfl.sync.bfly.b32 %r6, %r2, 2, 31, 0xffff;\n" STORE,
           "each branch has its own mask");
    ok(out[0] == 2 && out[16] == 17, "  and its own partners (%u %u)", out[0], out[16]);
    const char *handed = ".shared .align 4 .b8 sh[128]; mov.u32 %r5, sh; and.b32 %r7, %r2, 15;\n"
                         "shl.b32 %r7, %r7, 2; add.u32 %r7, %r7, %r5;\n" BRANCH
                         "bar.warp.sync -1; ld.shared.u32 %r6, [%r7]; bra END;\n"
                         "LOW: mul.lo.u32 %r6, %r2, 3; st.shared.u32 [%r7], %r6;\n"
                         "bar.warp.sync -1;\n" STORE;
    r.launch.check_races = EMU_RACES_SHARED;
    passes(&r, handed, "one half writes, the other reads behind bar.warp.sync");
    ok(out[16] == 0 && out[31] == 45, "  what was written (%u)", out[31]);
    passes(&r,
           BRANCH "barrier.sync 0; mov.u32 %r6, 1; bra END;\n"
                  "LOW: barrier.sync 0; mov.u32 %r6, 2;\n" STORE,
           "barrier.sync by two ways");
    ok(out[0] == 2 && out[31] == 1 && r.result.barriers == 1, "  is one barrier");
    passes(&r,
           BRANCH "setp.eq.u32 %p2, %r2, 40; barrier.red.popc.u32 %r6, 0, %p1; bra END;\n"
                  "LOW: barrier.red.popc.u32 %r6, 0, %p1;\n" STORE,
           "and so is a reduction");
    ok(out[0] == 16 && out[31] == 16, "  of all lanes (%u %u)", out[0], out[31]);
}

/* Registers of lanes that wait in the middle of a block are theirs while others run there. */
static void test_registers(void) {
    Run r = {0};
    const char *body =
        "mov.u32 %r8, 0; mov.u32 %r9, 0;\n"
        "L: mul.lo.u32 %r5, %r2, 7; add.u32 %r5, %r5, %r8; setp.ge.u32 %p1, %r2, 16;\n"
        "setp.eq.u32 %p2, %r8, 1; selp.u32 %r10, 0xffff0000, 0xffff, %p1;\n"
        "shfl.sync.bfly.b32 %r6, %r5, 1, 31, %r10; add.u32 %r7, %r5, %r6; add.u32 %r9, %r9, %r7;\n"
        "add.u32 %r8, %r8, 1; shr.u32 %r11, %r2, 4; setp.le.u32 %p3, %r8, %r11; @%p3 bra L;\n"
        "setp.lt.u32 %p1, %r2, 16; @%p1 bra LOW;\n"
        "add.u32 %r9, %r9, 1000; LOW: st.global.u32 [%rd1], %r9;\n";
    passes(&r, body, "halves that shuffle in a loop, one of them longer");
    int wrong = 0;
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t sum = 7 * i + 7 * (i ^ 1);
        wrong += out[i] != (i < 16 ? sum : 2 * sum + 2 + 1000);
    }
    is_int(wrong, 0, "  every lane has its own sum");
}

/* ---- what can never be, and what the ISA leaves undefined ---- */

static void test_never(void) {
    fails(BRANCH "shfl.sync.bfly.b32 %r6, %r2, 1, 31, -1; bra END;\n"
                 "LOW: vote.sync.ballot.b32 %r6, %p1, -1;\n" STORE,
          "without lanes", "a shuffle and a vote that wait for each other");
    fails(BRANCH "bar.warp.sync -1; bra END; LOW: bar.sync 0;\n" STORE,
          "bar.warp.sync with mask 0xffffffff reached without lanes 0-15",
          "a warp's barrier and the block's");
    fails(BRANCH "bar.sync 0; bra END; LOW: bar.sync 0;\n" STORE,
          "only part of the warp: lanes 16-31", "two bar.sync, which are .aligned");
    fails("mov.u32 %r5, 0; L: bar.sync 0; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r2;\n"
          "@%p1 bra L; bar.sync 0; st.global.u32 [%rd1], 1;\n",
          "only part of the warp", "bar.sync in a loop that some lanes have left for another");
    fails(BRANCH "mov.u32 %r6, 1; shfl.sync.bfly.b32 %r6, %r2, 1, 31, 0xffff; LOW:\n" STORE,
          "lane 16, which is not in its mask 0x0000ffff", "a lane that is not in its own mask");
    fails("bar.warp.sync 0xfffffffe;\n", "bar.warp.sync by lane 0, which is not in its mask",
          "nor at a warp's barrier");
}

static void test_sources(void) {
    static const struct {
        const char *what, *body, *why;
        unsigned threads, count, thread;
    } table[] = {
        {"a lane outside the mask",
         ".loc 1 12 1\nshfl.sync.idx.b32 %r6, %r2, 20, 31, 0xffff; bra END; END:\n",
         "reads lane 20, which is not in the mask", 16, 16, 0},
        {"a lane of the warp outside the mask",
         BRANCH "bra END; LOW:\n.loc 1 12 1\nshfl.sync.down.b32 %r6, %r2, 1, 31, 0xffff; END:\n",
         "reads lane 16, which is not in the mask", 32, 1, 15},
        {"a lane that the warp has not got",
         ".loc 1 12 1\nshfl.sync.down.b32 %r6, %r2, 4, 31, -1;\n",
         "reads lane 20, which the warp has not got", 20, 4, 16},
        {"a lane that has ended",
         "setp.eq.u32 %p1, %r2, 0; @%p1 ret;\n.loc 1 12 1\nshfl.sync.up.b32 %r6, %r2, 1, 0, -1;\n",
         "reads lane 0, which has ended", 32, 1, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Run r = {0};
        bool odd = i == 0; /* lanes above 15 are not there: the mask names 0-15 */
        is_int(run_with(&r, "", table[i].body, table[i].threads), EMU_OK, table[i].what);
        const EmuFinding *f = warning(&r, "undefined_shuffle");
        has_str(f ? f->message : "none", odd ? "reads lane 20" : table[i].why, "  is told of");
        ok(f && f->count == table[i].count, "  counted (%d)", f ? (int)f->count : 0);
        ok(f && f->thread[0] == table[i].thread && f->src_line == 12, "  with thread and line");
    }
    Run r = {0};
    passes(&r, "shfl.sync.down.b32 %r6|%p1, %r2, 4, 31, -1;\n", "a shuffle within the warp");
    is_int(r.result.warnings.n, 0, "  is none of these");
}

int main(void) {
    test_left();
    test_leaving();
    test_merged_return();
    test_function();
    test_ways();
    test_registers();
    test_never();
    test_sources();
    return tap_done();
}
