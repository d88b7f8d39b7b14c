/* The cost model: deterministic, and every waste costs. */
#include <math.h>

#include "emu/cost/cost.h"
#include "emu_core_run.h"

static uint32_t out[1 << 18];

static double cost(const char *body, unsigned grid, unsigned block, EmuResult *all) {
    Run r = run_new(grid, block);
    char text[20000];
    snprintf(text, sizeof text, "%s%s%s%s", PTX_HEAD, PTX_KERNEL, body, PTX_END);
    if (!run_text(&r, text, out, sizeof out) || r.result.status != EMU_OK)
        ok(false, "runs: %s%s", r.err.message, r.result.message);
    if (all) *all = r.result;
    return r.result.ticks;
}

static void more(const char *what, double much, double little) {
    ok(much > little, "%s: %.1f > %.1f ticks", what, much, little);
}

/* Ticks of one launch after `maps` allocations were made and half of them released. */
static double ticks_after(int maps) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err;
    uint64_t used[100];
    for (int i = 0; i < maps; i++) used[i] = emu_map(e, out, 64, false, "other");
    for (int i = 0; i < maps; i += 2) emu_unmap(e, used[i]);
    char text[4000];
    snprintf(text, sizeof text,
             "%s%smul.lo.u32 %%r5, %%r1, 40503; and.b32 %%r5, %%r5, 65535; mul.wide.u32 %%rd3, "
             "%%r5, 4;\n"
             "add.s64 %%rd3, %%rd3, %%rd0; ld.global.u32 %%r6, [%%rd3]; ld.global.u32 %%r7, "
             "[%%rd3]; add.u32 %%r6, %%r6, %%r7;\n"
             "st.global.u32 [%%rd1], %%r6;\n%s",
             PTX_HEAD, PTX_KERNEL, PTX_END);
    uint64_t at = emu_map(e, out, sizeof out, false, "out");
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    EmuLaunch l = {.kernel = "k", .grid = {64, 1, 1}, .block = {1024, 1, 1}, .params = &at};
    EmuResult r = {0};
    if (!m || !emu_launch(m, &l, &r, &err)) ok(false, "runs: %s", err.message);
    emu_unload(m);
    emu_free(e);
    return r.ticks;
}

/* Ticks of one warp on each SM that runs the instruction `copies` times, on a GPU whose pipe
** `scarce` takes a thousand clocks for each. */
static double on_scarce(const char *scarce, const char *instruction, int copies) {
    static char text[100000];
    Run r = run_new(10, 32);
    size_t n = (size_t)snprintf(text, sizeof text, "%s%s%s", PTX_HEAD, PTX_KERNEL,
                                ".shared .align 4 .b8 sh[256]; mov.u32 %r6, sh;\n"
                                "shl.b32 %r7, %r2, 2; add.u32 %r7, %r6, %r7;\n");
    for (int i = 0; i < copies; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", instruction);
    snprintf(text + n, sizeof text - n, "%s", PTX_END);
    if (!emu_model_set(&r.model, scarce, 0.001)) ok(false, "there is a field %s", scarce);
    if (!run_text(&r, text, out, sizeof out) || r.result.status != EMU_OK)
        ok(false, "runs: %s%s", r.err.message, r.result.message);
    return r.result.ticks;
}

/* What ptxas makes of a PTX instruction: how often it works on a pipe, and on a second one. (Each
** goes on from its own result: what is only repeated is free.) */
static void test_shares(void) {
    static const struct {
        const char *instruction, *first, *second;
        double share, share2;
    } rows[] = {
        {"add.u32 %r5, %r5, %r2;", "rate_int", "rate_mul", 1, 0},
        {"add.s64 %rd5, %rd5, %rd1;", "rate_int", "rate_mul", 2, 0},
        {"add.cc.u64 %rd5, %rd5, %rd1;", "rate_int", "rate_mul", 2, 0},
        {"shl.b64 %rd5, %rd5, %r2;", "rate_int", "rate_mul", 3, 0},
        {"mul.hi.u32 %r5, %r5, %r2;", "rate_mul", "rate_int", 2, 0},
        {"popc.b32 %r5, %r5;", "rate_convert", "rate_int", 4, 0},
        {"fma.rn.f64 %rd5, %rd5, %rd1, %rd2;", "rate_fp64", "rate_fp32", 1, 0},
        {"ld.shared.u32 %r5, [%r7];", "rate_shared", "rate_global", 1, 0},
        {"atom.shared.add.u32 %r5, [%r7], %r5;", "rate_shared", "rate_atomic", 2, 0},
        {"atom.shared.add.u32 %r5, [%r6], %r5;", "rate_shared", "rate_atomic", 2 + 31, 0},
        {"atom.global.add.u32 %r5, [%rd1], %r5;", "rate_atomic", "rate_shared", 1, 0},
        {"mul.lo.u64 %rd5, %rd5, %rd1;", "rate_mul", "rate_int", 3, 1},
        {"div.u32 %r5, %r5, %r2;", "rate_int", "rate_mul", 10, 5},
        {"div.u64 %rd5, %rd5, %rd2;", "rate_int", "rate_mul", 45, 24},
        {"div.rn.f32 %f1, %f1, %f2;", "rate_fp32", "rate_special", 8, 1},
        {"div.approx.f32 %f1, %f1, %f2;", "rate_fp32", "rate_special", 2, 1},
        {"sqrt.rn.f32 %f1, %f1;", "rate_fp32", "rate_special", 7, 1},
        {"rcp.rn.f32 %f1, %f1;", "rate_fp32", "rate_special", 4, 1},
        {"ex2.approx.f32 %f1, %f1;", "rate_special", "rate_fp32", 1, 2},
        {"vabsdiff2.u32.u32.u32.add %r5, %r5, %r2, %r3;", "rate_int", "rate_mul", 9, 2},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, "
         "{%r2, %r2, %r2, %r2}, {%r2, %r2}, {%f1, %f2, %f3, %f4};",
         "rate_tensor", "rate_fp16", 2, 0},
        {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r5, %r8, %r9, %r10}, "
         "{%r2, %r2, %r2, %r2}, {%r2, %r2}, {%r5, %r8, %r9, %r10};",
         "rate_tensor", "rate_int", 2, 0},
        {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r6];", "rate_shared", "rate_global", 1,
         0},
        {"vabsdiff2.s32.s32.s32.add %r5, %r5, %r2, %r3;", "rate_int", "rate_mul", 13, 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int second = 0; second < 2; second++) {
            const char *pipe = second ? rows[i].second : rows[i].first;
            double want = second ? rows[i].share2 : rows[i].share;
            double got = (on_scarce(pipe, rows[i].instruction, 200) -
                          on_scarce(pipe, rows[i].instruction, 100)) /
                         (100 * 1000);
            ok(fabs(got - want) < 0.3, "%s: %g times on %s, by the ticks %.2f", rows[i].instruction,
               want, pipe, got);
        }
    }
}

/* Blocks that an SM of 65536 registers, 2048 threads, 32 blocks, 200000 bytes holds. */
static void test_resident(void) {
    EmuModel m = emu_model_round();
    is_int(cost_resident(&m, 256, 16, 0), 8, "as many as there is room for their threads");
    is_int(cost_resident(&m, 32, 16, 0), 32, "… as there are places for blocks");
    is_int(cost_resident(&m, 256, 64, 0), 4, "… registers");
    is_int(cost_resident(&m, 256, 65, 0), 3, "which are given out in units of eight a thread");
    is_int(cost_resident(&m, 33, 64, 0), 16, "and to whole warps");
    is_int(cost_resident(&m, 256, 16, 40000), 4, "… shared memory, in units of 128 bytes");
    is_int(cost_resident(&m, 1024, 255, 0), 0, "none, where one is too large");
}

/* Of one warp whose lanes read the constants of which the mask leaves the numbers. */
static double latency_of_constants(int mask) {
    Run r = run_new(1, 32);
    char text[3000];
    r.model.block_start = 0;
    snprintf(text, sizeof text,
             "%s%s%sand.b32 %%r7, %%r2, %d; mul.wide.u32 %%rd4, %%r7, 4;\n%s%s", PTX_HEAD,
             ".const .align 4 .b8 table[128];\n", PTX_KERNEL, mask,
             "mov.u64 %rd3, table; add.s64 %rd4, %rd4, %rd3;\n"
             "ld.const.u32 %r5, [%rd4]; st.global.u32 [%rd1], %r5;\n",
             PTX_END);
    if (!run_text(&r, text, out, sizeof out) || r.result.status != EMU_OK)
        ok(false, "runs: %s%s", r.err.message, r.result.message);
    return r.result.work.part_latency;
}

/* Ticks of a launch on a GPU that has this little of one thing. */
static double on_little(const char *field, double value, const char *body, int blocks,
                        EmuResult *r) {
    char text[4000];
    Run run = run_new((unsigned)blocks, 256);
    snprintf(text, sizeof text, "%s%s%s%s", PTX_HEAD, PTX_KERNEL, body, PTX_END);
    if (!emu_model_set(&run.model, field, value)) ok(false, "there is a field %s", field);
    if (!run_text(&run, text, out, sizeof out) || run.result.status != EMU_OK)
        ok(false, "runs: %s%s", run.err.message, run.result.message);
    *r = run.result;
    return run.result.ticks - run.model.launch_ticks;
}

/* No launch takes less than its bytes over the bandwidth of the level that they come from. */
static void test_floors(void) {
    const char *strided =
        "and.b32 %r7, %r1, 1023; mul.wide.u32 %rd3, %r7, 256; add.s64 %rd3, %rd0, %rd3;\n"
        "ld.global.u32 %r5, [%rd3]; st.global.u32 [%rd1], %r5;\n";
    const char *one = "atom.global.add.u32 %r5, [%rd0], %r2; st.global.u32 [%rd1], %r5;\n";
    EmuResult r;
    double lanes = 4 * 256;
    double took = on_little("dram_bytes_per_clock", 0.01, strided, 4, &r);
    ok(took >= lanes * 64 / 0.01, "64 bytes from DRAM for each lane apart: %g", took);
    took = on_little("dram_lines_per_clock", 0.001, strided, 4, &r);
    ok(took >= lanes / 0.001, "a line of DRAM for each: %g", took);
    took = on_little("l2_bytes_per_clock", 0.01, strided, 4, &r);
    ok(took >= lanes * 32 / 0.01, "a sector from L2 for each: %g", took);
    took = on_little("l2_lines_per_clock", 0.001, strided, 4, &r);
    ok(took >= lanes / 0.001, "a line of L2 for each: %g", took);
    took = on_little("l2_store_bytes_per_clock", 0.01, strided, 4, &r);
    ok(took >= lanes * 4 / 0.01, "its stores: %g", took);
    took = on_little("atomics_per_clock", 0.001, one, 4, &r);
    ok(took >= lanes / 0.001, "an operation of L2 for each lane of an atomic: %g", took);
    took = on_little("clocks_atomic", 1000, one, 4, &r);
    ok(took >= lanes * 1000, "one after the other on a word: %g", took);
    ok(r.work.least_memory <= r.ticks, "and no less than what is moved once");
}

#define STORE  "st.global.u32 [%rd1], %r5;\n"
#define SHARED ".shared .align 4 .b8 sh[8192]; mov.u32 %r6, sh;\n"

int main(void) {
    EmuResult a, b;
    double one = cost("mov.u32 %r5, 1;\n" STORE, 100, 256, &a);
    is_int(cost("mov.u32 %r5, 1;\n" STORE, 100, 256, &b) == one, true, "equal runs, equal ticks");
    ok(memcmp(&a, &b, sizeof a) == 0, "and equal in everything else");
    ok(one > 1000, "a launch costs its fixed part");
    is_int(a.global_sectors, 100 * 256 * 4 / 32, "a coalesced store moves 4 bytes a lane");

    more("a redundant instruction",
         cost("mov.u32 %r5, 1; add.u32 %r6, %r5, 3;\n" STORE, 100, 256, NULL), one);
    more("a slower kind of instruction",
         cost("mov.u32 %r5, 1; div.u32 %r6, %r5, %r1;\n" STORE, 100, 256, NULL),
         cost("mov.u32 %r5, 1; add.u32 %r6, %r5, %r1;\n" STORE, 100, 256, NULL));
    double bytes = cost("vabsdiff4.u32.u32.u32.add %r5, %r1, %r2, %r3;\n" STORE, 100, 256, NULL);
    ok(bytes == cost("add.u32 %r5, %r1, %r2;\n" STORE, 100, 256, NULL),
       "differences of four bytes, which are one machine instruction, cost a sum");
    more("differences of halves, which are many",
         cost("vabsdiff2.u32.u32.u32.add %r5, %r1, %r2, %r3;\n" STORE, 100, 256, NULL), bytes);
    more("a chain of dependent instructions",
         cost("mov.u32 %r5, 1; add.u32 %r5, %r5, %r1; add.u32 %r5, %r5, %r1; add.u32 %r5, %r5, "
              "%r1;\n" STORE,
              10, 32, NULL),
         cost("mov.u32 %r5, 1; add.u32 %r6, %r5, %r1; add.u32 %r7, %r5, %r1; add.u32 %r8, %r5, "
              "%r1;\n" STORE,
              10, 32, NULL));
    more("both sides of a branch",
         cost("and.b32 %r5, %r2, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra A; mul.lo.u32 %r5, %r5, 3; "
              "bra B;\n"
              "A: mul.lo.u32 %r5, %r5, 7;\nB:" STORE,
              100, 256, NULL),
         cost("and.b32 %r5, %r3, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra A; mul.lo.u32 %r5, %r5, 3; "
              "bra B;\n"
              "A: mul.lo.u32 %r5, %r5, 7;\nB:" STORE,
              100, 256, NULL));

    const char *strided =
        "and.b32 %r7, %r1, 1023; mul.wide.u32 %rd3, %r7, 256; add.s64 %rd3, %rd0, %rd3;\n"
        "ld.global.u32 %r5, [%rd3];\n" STORE;
    const char *dense =
        "and.b32 %r7, %r1, 1023; mul.wide.u32 %rd3, %r7, 4; add.s64 %rd3, %rd0, %rd3;\n"
        "ld.global.u32 %r5, [%rd3];\n" STORE;
    more("uncoalesced loads", cost(strided, 100, 256, &a), cost(dense, 100, 256, &b));
    is_int(a.global_sectors - 3200, 100 * 256, "a sector a lane");
    is_int(b.global_sectors, 6400, "against one for eight");

    const char *conflict =
        SHARED "shl.b32 %r7, %r2, 7; and.b32 %r7, %r7, 8191; add.u32 %r6, %r6, %r7;\n"
               "st.shared.u32 [%r6], %r1; ld.shared.u32 %r5, [%r6];\n" STORE;
    const char *banks =
        SHARED "shl.b32 %r7, %r2, 2; and.b32 %r7, %r7, 8191; add.u32 %r6, %r6, %r7;\n"
               "st.shared.u32 [%r6], %r1; ld.shared.u32 %r5, [%r6];\n" STORE;
    const char *same = SHARED "shr.u32 %r7, %r2, 5; shl.b32 %r7, %r7, 2; add.u32 %r6, %r6, %r7;\n"
                              "ld.shared.u32 %r5, [%r6];\n" STORE;
    more("bank conflicts", cost(conflict, 100, 256, &a), cost(banks, 100, 256, &b));
    is_int(a.shared_conflicts, 100 * 8 * 2 * 31,
           "32 words on one bank: 31 more wavefronts an access");
    is_int(b.shared_conflicts, 0, "side by side: none");
    cost(same, 100, 256, &a);
    is_int(a.shared_conflicts, 0, "one word for all: none");

    const char *spilled =
        ".local .align 4 .b8 lo[64]; mov.u64 %rd3, lo; and.b32 %r7, %r2, 15; mul.wide.u32 %rd4, "
        "%r7, 4;\n"
        "add.s64 %rd3, %rd3, %rd4; st.local.u32 [%rd3], %r1; ld.local.u32 %r5, [%rd3];\n" STORE;
    more("an array in local memory", cost(spilled, 100, 256, NULL),
         cost("and.b32 %r7, %r2, 15; mul.wide.u32 %rd4, %r7, 4; mov.u32 %r5, %r1;\n" STORE, 100,
              256, NULL));

    const char *hungry =
        ".shared .align 4 .b8 big[40000]; mov.u32 %r6, big; st.shared.u32 [%r6], %r1;\n"
        "ld.global.u32 %r5, [%rd1]; mul.lo.u32 %r5, %r5, %r5;\n" STORE;
    const char *modest =
        ".shared .align 4 .b8 big[400]; mov.u32 %r6, big; st.shared.u32 [%r6], %r1;\n"
        "ld.global.u32 %r5, [%rd1]; mul.lo.u32 %r5, %r5, %r5;\n" STORE;
    more("low occupancy", cost(hungry, 512, 256, &a), cost(modest, 512, 256, &b));
    ok(a.occupancy < b.occupancy, "occupancy %.2f < %.2f", a.occupancy, b.occupancy);
    more("tiny blocks", cost(modest, 4096, 32, NULL), cost(modest, 1024, 128, NULL));
    more("one block more than the SMs hold", cost("mov.u32 %r5, 1;\n" STORE, 11, 256, NULL),
         cost("mov.u32 %r5, 1;\n" STORE, 10, 256, NULL));
    const EmuWork *work = &a.work;
    ok(work->part_issue > 0 && work->part_memory > 0 && work->part_latency > 0,
       "the three parts are told");

    test_shares();
    test_resident();
    test_floors();
    more("a computation under a condition, though it was made under another",
         cost("setp.lt.u32 %p1, %r2, 7; @%p1 mul.lo.u32 %r5, %r1, %r2; @!%p1 mul.lo.u32 %r6, %r1, "
              "%r2;\n" STORE,
              100, 256, NULL),
         cost("setp.lt.u32 %p1, %r2, 7; @%p1 mul.lo.u32 %r5, %r1, %r2;\n" STORE, 100, 256, NULL));
    double apart = latency_of_constants(31), together = latency_of_constants(0);
    ok(fabs(apart - together - 31) < 1e-9, "a clock for each more address of constants: %g",
       apart - together);

    double fresh = ticks_after(0);
    ok(fresh > 0 && fresh == ticks_after(1) && fresh == ticks_after(7) && fresh == ticks_after(100),
       "ticks do not depend on what was mapped before");

    EmuModel model = emu_model_round();
    double value = 0;
    ok(emu_model_set(&model, "sms", 132) && emu_model_get(&model, "sms", &value) && value == 132,
       "fields by name");
    ok(!emu_model_set(&model, "nonsense", 1), "an unknown field is refused");
    return tap_done();
}
