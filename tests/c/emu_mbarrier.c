/* emu_mbarrier.c - mbarriers, bulk copies and clusters by their instructions: phases, states and
** counts; what is a fault; the same bytes and ticks in every build of the fast loop. */
#include "emu/core.h"
#include "emu_core_run.h"

enum { N = 64 };

#define HEAD                                                                                       \
    ".version 8.6\n.target sm_90a\n.address_size 64\n"                                             \
    ".extern .shared .align 128 .b8 dyn[];\n" PTX_KERNEL                                           \
    ".shared .align 128 .b8 s[512]; .shared .align 8 .b64 o; .shared .align 8 .b64 o2;\n"          \
    ".reg .b64 %t<4>; .reg .pred %q; mov.u32 %r20, s; mov.u32 %r21, o;\n"
#define ONE  "setp.ne.u32 %q, %r2, 0; @%q bra DONE;\n"
#define DONE "DONE: ret; }\n"
#define SAY  "selp.u32 %r9, 1, 0, %p1; st.global.u32 [%rd1], %r9;\n"

static Run go(const char *body, uint32_t out[N], unsigned grid, unsigned threads, bool checks) {
    gi_buf text = {0};
    Run r = run_new(grid, threads);
    r.launch.check_races = checks ? EMU_RACES_GLOBAL : EMU_RACES_NONE;
    gi_buf_addf(&text, "%s%s%s", HEAD, body, DONE);
    run_text(&r, text.data, out, N * 4);
    if (!r.loaded) ok(false, "%.60s: %s", body, r.err.message);
    gi_buf_free(&text);
    return r;
}

/* What a thread alone stores for a body. */
static void gives(const char *what, const char *body, uint32_t want) {
    uint32_t out[N] = {0};
    Run r = go(body, out, 1, 32, false);
    if (!ok(r.result.status == EMU_OK && out[0] == want, "%s: %u", what, want))
        printf("# %u %s\n", out[0], r.result.message);
}

static void fails(const char *what, const char *body, EmuStatus status, const char *why) {
    uint32_t out[N] = {0};
    for (int checks = 0; checks < 2; checks++) {
        Run r = go(body, out, 1, 32, checks);
        is_int(r.result.status, status, what);
        has_str(r.result.message, why, what);
    }
}

#define INIT(n) "mbarrier.init.shared.b64 [o], " n ";\n"
#define TEST(p) "mbarrier.test_wait.parity.shared.b64 %p1, [o], " p ";\n"

static void phases(void) {
    gives("phase -1 is over before the first", ONE INIT("1") TEST("1") SAY, 1);
    gives("phase 0 is not over before an arrival", ONE INIT("1") TEST("0") SAY, 0);
    gives("and is after it", ONE INIT("1") "mbarrier.arrive.shared.b64 _, [o];\n" TEST("0") SAY, 1);
    gives("two arrivals are two",
          ONE INIT("3") "mbarrier.arrive.shared.b64 _, [o], 2;\n" TEST("0") SAY, 0);
    gives("by the state of an arrival",
          ONE INIT("2") "mbarrier.arrive.shared.b64 %t0, [o];\n"
                        "mbarrier.arrive.release.cta.shared::cta.b64 %t1, [o];\n"
                        "mbarrier.try_wait.shared.b64 %p1, [o], %t0, 100;\n" SAY,
          1);
    gives("a state has what was pending before",
          ONE INIT("7") "mbarrier.arrive.shared.b64 %t0, [o], 2;\n"
                        "mbarrier.arrive.noComplete.shared.b64 %t0, [o], 1;\n"
                        "mbarrier.pending_count.b64 %r9, %t0; st.global.u32 [%rd1], %r9;\n",
          5);
    gives("who drops is not counted again",
          ONE INIT("2") "mbarrier.arrive_drop.shared.b64 %t0, [o];\n"
                        "mbarrier.arrive.shared.b64 %t0, [o];\n"
                        "mbarrier.arrive.shared.b64 %t0, [o];\n" TEST("1") SAY,
          1);
    gives("bytes keep a phase",
          ONE INIT("1") "mbarrier.arrive.expect_tx.shared.b64 _, [o], 8;\n" TEST("0") SAY, 0);
    gives("until they are complete, in any order",
          ONE INIT("1") "mbarrier.complete_tx.shared::cta.b64 [o], 8;\n"
                        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [o], 24;\n"
                        "mbarrier.arrive.shared.b64 _, [o];\n"
                        "mbarrier.complete_tx.shared::cta.b64 [o], 16;\n" TEST("0") SAY,
          1);
    gives("a generic address, another use after inval",
          ONE "mov.u64 %t2, o; cvta.shared.u64 %t2, %t2; mbarrier.init.b64 [%t2], 1;\n"
              "mbarrier.arrive.b64 %t0, [%t2]; mbarrier.inval.b64 [%t2];\n"
              "st.shared.u32 [o], 9; ld.shared.u32 %r9, [o]; st.global.u32 [%rd1], %r9;\n",
          9);
    gives("ignored sources are zeros",
          ONE "mov.u32 %r9, 7; st.shared.u32 [s], %r9; setp.eq.u32 %p2, %r9, 7;\n"
              "cp.async.ca.shared.global [s], [%rd0], 4, %p2; cp.async.wait_all;\n"
              "ld.shared.u32 %r9, [s]; add.u32 %r9, %r9, 3; st.global.u32 [%rd1], %r9;\n",
          3);
    gives("copies of a lane arrive with it, also when it has ended",
          INIT("32") "bar.warp.sync -1; st.shared.u32 [s], 1;\n"
                     "cp.async.ca.shared.global [s+4], [%rd0], 4;\n"
                     "cp.async.mbarrier.arrive.noinc.shared.b64 [o];\n" ONE
                     "L: mbarrier.try_wait.parity.shared.b64 %p1, [o], 0; @!%p1 bra L;\n"
                     "ld.shared.u32 %r9, [s+4]; add.u32 %r9, %r9, 4; st.global.u32 [%rd1], %r9;\n",
          4);
    gives("a lane that waited for its copies has arrived",
          ONE INIT("1") "cp.async.ca.shared.global [s], [%rd0], 4;\n"
                        "cp.async.mbarrier.arrive.noinc.shared.b64 [o]; cp.async.wait_all;\n"
                        "mbarrier.arrive.shared.b64 _, [o];\n" TEST("0") SAY,
          0);
    gives("arrivals under way are over before their object",
          INIT("1") ONE "cp.async.ca.shared.global [s], [%rd0], 4;\n"
                        "cp.async.mbarrier.arrive.noinc.shared.b64 [o];\n"
                        "mbarrier.inval.shared.b64 [o]; ld.shared.u32 %r9, [s];\n"
                        "add.u32 %r9, %r9, 6; st.global.u32 [%rd1], %r9;\n",
          6);
}

static void faults(void) {
    fails("no object", ONE "mbarrier.arrive.shared.b64 _, [o];\n", EMU_LAUNCH_ERROR,
          "no mbarrier.init was there");
    fails("an object that was copied",
          ONE INIT("2") "ld.shared.u64 %t0, [o]; st.shared.u64 [o2], %t0;\n"
                        "mbarrier.arrive.shared.b64 _, [o2];\n",
          EMU_LAUNCH_ERROR, "no mbarrier.init was there");
    fails("an object that was written over", ONE INIT("2") "st.shared.u32 [o], 0;\n" TEST("0"),
          EMU_LAUNCH_ERROR, "something wrote over the object");
    fails("too many arrivals", ONE INIT("1") "mbarrier.arrive.shared.b64 _, [o], 2;\n",
          EMU_LAUNCH_ERROR, "more arrivals than the phase has pending");
    fails("a last arrival that is none",
          ONE INIT("1") "mbarrier.arrive.noComplete.shared.b64 %t0, [o], 1;\n", EMU_LAUNCH_ERROR,
          "with .noComplete completes the phase");
    fails("no count", ONE INIT("0"), EMU_LAUNCH_ERROR, "from 1 to 1048575");
    fails("too large a count", ONE INIT("1048576"), EMU_LAUNCH_ERROR, "from 1 to 1048575");
    fails("too many bytes",
          ONE INIT("1") "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [o], 1048576;\n",
          EMU_LAUNCH_ERROR, "more than 1048575 bytes");
    fails("an odd place", ONE "mbarrier.init.shared.b64 [o+4], 1;\n", EMU_MISALIGNED, "misaligned");
    fails("behind shared memory", ONE "mbarrier.init.shared.b64 [s+4096], 1;\n",
          EMU_ILLEGAL_ADDRESS, "out-of-bounds");
    fails("global memory", ONE "mbarrier.init.b64 [%rd0], 1;\n", EMU_ILLEGAL_ADDRESS,
          "an mbarrier lies in shared memory");
    fails("a rank that is not there", ONE "mapa.shared::cluster.u32 %r9, %r20, 1;\n",
          EMU_LAUNCH_ERROR, "mapa to rank 1 of a cluster of 1");
    fails("an address of no block",
          ONE "add.u32 %r9, %r20, 0x12000000;\n"
              "ld.shared::cluster.u32 %r9, [%r9];\n",
          EMU_ILLEGAL_ADDRESS, "block 2 of a cluster of 1");
    fails("an address before shared memory", ONE "mov.u32 %r9, -4; ld.shared.u32 %r9, [%r9];\n",
          EMU_ILLEGAL_ADDRESS, "4 bytes before the first of");
    fails("a wait without an arrival", "barrier.cluster.wait.aligned;\n", EMU_LAUNCH_ERROR,
          "without a barrier.cluster.arrive");
    fails("an arrival twice", "barrier.cluster.arrive; barrier.cluster.arrive;\n", EMU_LAUNCH_ERROR,
          "a second time");
#define LOAD(to, from, bytes)                                                                      \
    ONE INIT("1") "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [" to         \
                  "], [" from "], " bytes ", [o];\n"
    fails("a copy from behind memory", LOAD("s", "%rd0+240", "32"), EMU_ILLEGAL_ADDRESS,
          "out-of-bounds read of 16 bytes");
    fails("a copy behind shared memory", LOAD("s+512", "%rd0", "256"), EMU_ILLEGAL_ADDRESS,
          "a bulk copy of 256 bytes at offset");
    fails("more bytes than there are", LOAD("s", "%rd0", "0xfffffff0"), EMU_ILLEGAL_ADDRESS,
          "a bulk copy of 4294967280 bytes");
    fails("half a chunk", LOAD("s", "%rd0", "8"), EMU_MISALIGNED, "multiples of 16");
    fails("an odd source", LOAD("s", "%rd0+4", "16"), EMU_MISALIGNED, "multiples of 16");
    fails("what is no tensor map",
          ONE INIT("1") "mov.u32 %r9, 0;\ncp.async.bulk.tensor.1d.shared::cluster.global.mbarrier"
                        "::complete_tx::bytes [s], [%rd0, {%r9}], [o];\n",
          EMU_LAUNCH_ERROR, "no tensor map is at");
    fails("a store behind memory",
          ONE "add.u64 %rd1, %rd0, 256;\n"
              "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 16;\n"
              "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n",
          EMU_ILLEGAL_ADDRESS, "out-of-bounds write of 16 bytes");
}

/* A program may write anything where a tensor map is looked for. */
static void maps(void) {
    static const EmuTensorMap good = {.magic = EMU_TENSOR_MAGIC,
                                      .type = 2,
                                      .rank = 2,
                                      .last = {7, 7},
                                      .stride = {32},
                                      .box = {4, 2},
                                      .step = {1, 1}};
    EmuTensorMap bad[6] = {good, good, good, good, good, good};
    static const struct {
        const char *what, *why;
        EmuStatus status;
    } tries[] = {
        {"a good map of no memory", "no allocation", EMU_ILLEGAL_ADDRESS},
        {"a step of 0", "an element stride is not 1 to 8", EMU_LAUNCH_ERROR},
        {"six dimensions", "it has no 1 to 5 dimensions", EMU_LAUNCH_ERROR},
        {"three dimensions", "a tensor map of 3 dimensions for a copy of 2", EMU_LAUNCH_ERROR},
        {"a box of terabytes", "a box has no 1 to 256 elements", EMU_LAUNCH_ERROR},
        {"a type of 200", "no tensor map is at", EMU_LAUNCH_ERROR}};
    for (int i = 0; i < 6; i++) bad[i].address = 4096;
    bad[1].step[1] = 0;
    bad[2].rank = 6;
    bad[3].rank = 3;
    bad[3].step[2] = bad[3].box[2] = 1;
    bad[4].box[0] = bad[4].box[1] = 65535;
    bad[5].type = 200;
    for (int i = 0; i < 6; i++) {
        uint32_t out[N] = {0};
        memcpy(out, &bad[i], sizeof bad[i]);
        Run r = go(
            ONE INIT(
                "1") "mov.u32 %r9, 0;\n"
                     "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[s], [%rd0, {%r9, %r9}], [o];\n",
            out, 1, 32, false);
        is_int(r.result.status, tries[i].status, tries[i].what);
        has_str(r.result.message, tries[i].why, tries[i].what);
    }
}

/* Blocks of a cluster hand words round; the ticks and words of each build, and of threads. */
static const char ring[] = HEAD INIT(
    "1") "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
         "mov.u32 %r10, %cluster_ctarank; add.u32 %r11, %r10, 1; and.b32 %r11, %r11, 3;\n"
         "mapa.shared::cluster.u32 %r12, %r20, %r11; mapa.u32 %r13, %r21, %r11;\n"
         "getctarank.u32 %r9, %r13; setp.ne.u32 %p1, %r9, %r11; @%p1 trap;\n"
         "setp.ne.u32 %p1, %r2, 0; @%p1 bra W;\n"
         "mbarrier.arrive.expect_tx.shared.b64 _, [o], 4;\n"
         "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r12], %r3, [%r13];\n"
         "W: mbarrier.try_wait.parity.shared.b64 %p1, [o], 0; @!%p1 bra W;\n"
         "ld.shared.u32 %r9, [s]; setp.ne.u32 %p1, %r2, 0; mul.wide.u32 %rd3, %r3, 4;\n"
         "add.s64 %rd3, %rd3, %rd0; @!%p1 st.global.u32 [%rd3], %r9;\n"
         "barrier.cluster.arrive; barrier.cluster.wait;\n" DONE;

/* Blocks of their own, each with a tile that it copies in bulk, there and back. */
static const char tiles[] = HEAD
    "mul.wide.u32 %rd3, %r3, 32; and.b64 %rd3, %rd3, 255; add.s64 %rd3, %rd3, %rd0;\n"
    "setp.ne.u32 %p1, %r2, 0; @%p1 bra W; mbarrier.init.shared.b64 [o], 1;\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [o], 32;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd3], 32, [o];\n"
    "W: bar.sync 0;\nL: mbarrier.try_wait.parity.shared.b64 %p2, [o], 0; @!%p2 bra L;\n"
    "shl.b32 %r9, %r2, 2; and.b32 %r9, %r9, 28; add.u32 %r9, %r9, %r20;\n"
    "setp.gt.u32 %p3, %r2, 7; @%p3 bra B; ld.shared.u32 %r10, [%r9]; add.u32 %r10, %r10, %r2;\n"
    "st.shared.u32 [%r9], %r10; fence.proxy.async.shared::cta;\nB: bar.sync 0; @%p1 bra DONE;\n"
    "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [s], 32;\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n" DONE;

typedef struct How {
    const char *text;
    unsigned cluster;
    int vectors, threads; /* vectors -1: the best */
    bool backwards;
} How;

static EmuResult run_how(How how, uint32_t out[N]) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    EmuResult r = {0};
    gi_err err = {.message = ""};
    if (how.vectors >= 0) e->vectors = how.vectors;
    e->batch = 64;
    for (uint32_t i = 0; i < N; i++) out[i] = i;
    uint64_t at = emu_map(e, out, N * 4, false, "out");
    EmuModule *m = emu_load(e, how.text, strlen(how.text), &err);
    EmuLaunch l = {.kernel = "k",
                   .grid = {32, 1, 1},
                   .block = {64, 1, 1},
                   .cluster = {how.cluster, how.cluster ? 1 : 0, how.cluster ? 1 : 0},
                   .threads = how.threads,
                   .backwards = how.backwards,
                   .params = &at};
    bool ran = m && emu_launch(m, &l, &r, &err);
    if (!ran || r.status != EMU_OK) ok(false, "it runs: %s%s", err.message, r.message);
    emu_unload(m);
    emu_free(e);
    return r;
}

static void every_way(const char *text, unsigned cluster, uint32_t first[N]) {
    uint32_t out[N];
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    int best = e->vectors;
    emu_free(e);
    EmuResult a = run_how((How){text, cluster, VECTORS_BASE, 1, false}, first), b;
    for (int v = VECTORS_BASE + 1; v <= best; v++) {
        b = run_how((How){text, cluster, v, 1, false}, out);
        ok(memcmp(out, first, sizeof out) == 0 && a.ticks == b.ticks, "the same, as build %d", v);
    }
    b = run_how((How){text, cluster, -1, 4, false}, out);
    ok(memcmp(out, first, sizeof out) == 0 && a.ticks == b.ticks, "the same, with threads");
    b = run_how((How){text, cluster, -1, 1, true}, out);
    ok(memcmp(out, first, sizeof out) == 0, "the same, backwards");
}

static void engines(void) {
    uint32_t first[N];
    int wrong = 0;
    every_way(ring, 4, first);
    for (uint32_t i = 0; i < 32; i++) wrong += first[i] != i / 4 * 4 + (i + 3) % 4;
    is_int(wrong, 0, "each block has its neighbour's number");
    every_way(tiles, 0, first);
    for (uint32_t i = 0; i < N; i++) wrong += first[i] != i + 4 * (i % 8);
    is_int(wrong, 0, "each tile was taken four times");
}

/* A cluster of two blocks. */
static EmuResult pair(const char *body, uint32_t out[N]) {
    gi_buf text = {0};
    Run r = run_new(2, 32);
    r.launch.cluster[0] = 2;
    r.launch.cluster[1] = r.launch.cluster[2] = 1;
    gi_buf_addf(&text, "%s%s%s", HEAD, body, DONE);
    run_text(&r, text.data, out, N * 4);
    if (!r.loaded) ok(false, "%.60s: %s", body, r.err.message);
    gi_buf_free(&text);
    return r.result;
}

#define SECOND "setp.ne.u32 %p2, %r3, 0; @%p2 bra B;\n"
#define MEET   "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"

static void ends(void) {
    uint32_t out[N] = {0};
    EmuResult r = pair(INIT("32") SECOND "W: mbarrier.try_wait.parity.shared.b64 %p1, [o], 0;\n"
                                         "@!%p1 bra W;\nB: " MEET,
                       out);
    is_int(r.status, EMU_TIMEOUT, "a wait for ever, and a block that waits for that block");
    has_str(r.message, "whose phase 0 lacks 32 of 32 arrivals and 0 bytes", "  says what it lacks");
    has_str(r.message, "waits at the cluster's barrier", "  and who waits where");
    r = pair(SECOND "bar.sync 1, 64;\nB: " MEET, out);
    is_int(r.status, EMU_TIMEOUT,
           "a barrier of the block that keeps the cluster's from completing");
    r = pair(SECOND "bra DONE;\nB: " MEET "st.global.u32 [%rd0], 5;\n", out);
    ok(r.status == EMU_OK && out[0] == 5, "who has ended is not waited for %s", r.message);
}

static void refusals(void) {
    static const struct {
        unsigned grid, cluster;
        const char *why;
    } tries[] = {{6, 4, "clusters of (4,1,1) blocks for a grid of (6,1,1)"},
                 {32, 32, "at most 16"}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        uint32_t out[N] = {0};
        Run r = run_new(tries[i].grid, 32);
        r.launch.cluster[0] = tries[i].cluster;
        r.launch.cluster[1] = r.launch.cluster[2] = 1;
        run_text(&r, ring, out, sizeof out);
        ok(r.result.cause == EMU_CAUSE_CLUSTER, "a cluster of %u", tries[i].cluster);
        has_str(r.result.message, tries[i].why, "  is refused");
    }
}

int main(void) {
    phases();
    faults();
    maps();
    engines();
    ends();
    refusals();
    return tap_done();
}
