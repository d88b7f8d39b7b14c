/* Who waits by looking: lanes, warps and blocks that spin on others, and what never ends. */
#include "emu_core_run.h"

static uint32_t data[70000]; /* [0], [1] …: locks and flags; from 1024: a word for each thread */

typedef struct How {
    unsigned grid, block;
    uint64_t budget;
    double timeout_s;
    bool check;
} How;

static Run run(const char *body, How how) {
    char text[16000];
    Run r = run_new(how.grid ? how.grid : 1, how.block ? how.block : 32);
    r.launch.budget = how.budget ? how.budget : 20000000;
    r.launch.timeout_s = how.timeout_s;
    r.launch.check_races = how.check ? EMU_RACES_GLOBAL : EMU_RACES_NONE;
    r.launch.count_uninitialised = how.check;
    memset(data, 0, sizeof data);
    snprintf(text, sizeof text, "%s.file 1 \"user.cu\"\n%s%s%s", PTX_HEAD, PTX_KERNEL, body,
             PTX_END);
    if (!run_text(&r, text, data, sizeof data)) ok(false, "loads: %s", r.err.message);
    return r;
}

static bool ends(const char *body, How how, const char *what) {
    Run r = run(body, how);
    return ok(r.result.status == EMU_OK, "%s %s", what, r.result.message);
}

static void hangs(const char *body, How how, const char *where, const char *what) {
    how.budget = 2000000;
    Run r = run(body, how);
    is_int(r.result.status, EMU_TIMEOUT, what);
    has_str(r.result.message, where, "  it says who is where");
}

/* ---- locks ---- */

/* while (lock); n++ in the words 1 and 2, which nobody else touches meanwhile; unlock */
#define LOCK "L: atom.global.cas.b32 %r5, [%rd0], 0, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra L;\n"
#define INSIDE                                                                                     \
    "membar.gl; ld.volatile.global.u32 %r6, [%rd0+4]; add.u32 %r6, %r6, 1;\n"                      \
    "st.volatile.global.u32 [%rd0+4], %r6; ld.volatile.global.u32 %r7, [%rd0+8];\n"                \
    "add.u32 %r7, %r7, %r6; st.volatile.global.u32 [%rd0+8], %r7; membar.gl;\n"
#define UNLOCK "atom.global.exch.b32 %r8, [%rd0], 0;\n"

static void test_locks(void) {
    static const How sizes[] = {{.block = 32}, {.block = 256}, {.grid = 12, .block = 96}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        How how = sizes[i];
        uint32_t n = how.block * (how.grid ? how.grid : 1);
        ends(LOCK INSIDE UNLOCK, how, "a lock that every thread takes");
        ok(data[1] == n && data[2] == n * (n + 1) / 2 && data[0] == 0,
           "  each was alone inside (%u of %u)", data[1], n);
    }
    ends("mov.u32 %r9, 0;\n"
         "A: " LOCK INSIDE UNLOCK "add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 20; @%p2 bra A;\n",
         (How){.block = 64}, "twenty times");
    is_int(data[1], 1280, "  and counted");
    ends("L: atom.global.exch.b32 %r5, [%rd0], 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra IN;\n"
         "nanosleep.u32 40; bra L; IN:\n" INSIDE "st.volatile.global.u32 [%rd0], 0;\n",
         (How){.block = 64}, "exchange, with a nap between looks");
    is_int(data[1], 64, "  and counted");
    ends("atom.global.add.u32 %r9, [%rd0], 1;\n"
         "L: ld.acquire.gpu.global.u32 %r5, [%rd0+16]; setp.ne.u32 %p1, %r5, %r9; @%p1 bra "
         "L;\n" INSIDE "atom.global.add.u32 %r8, [%rd0+16], 1;\n",
         (How){.grid = 3, .block = 64}, "a lock by tickets");
    is_int(data[1], 192, "  and counted");
}

/* ---- lanes that wait for lanes ---- */

static void test_lanes(void) {
    ends("setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1; @%p1 bra ZERO; @%p2 bra ONE; bra END;\n"
         "ZERO: st.volatile.global.u32 [%rd0], 1;\n"
         "A: ld.volatile.global.u32 %r5, [%rd0+4]; setp.eq.u32 %p3, %r5, 0; @%p3 bra A; bra END;\n"
         "ONE: st.volatile.global.u32 [%rd0+4], 1;\n"
         "B: ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p3, %r5, 0; @%p3 bra B;\n"
         "END: st.global.u32 [%rd1+4096], 7;\n",
         (How){0}, "two lanes that wait for each other's flag");
    ok(data[1024] == 7 && data[1055] == 7, "  go on with the others");
    ends("setp.eq.u32 %p1, %r2, 31; @%p1 bra SET;\n"
         "W: ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p3, %r5, 0; @%p3 bra W;\n"
         "SET: st.volatile.global.u32 [%rd0], 1;\n",
         (How){0}, "lanes that wait for one that is past where they would meet");
    ends("setp.ne.u32 %p1, %r2, 0; @%p1 bra REST;\n"
         "W: ld.global.u32 %r5, [%rd0]; membar.gl; setp.lt.u32 %p3, %r5, 63; @%p3 bra W; bra END;\n"
         "REST: red.global.add.u32 [%rd0], 1;\nEND: bar.sync 0; st.global.u32 [%rd1+4096], 1;\n",
         (How){.block = 64}, "a plain load with a fence between looks, then a barrier");
    ends("mov.u32 %r9, 0;\n" /* a chain: lane i waits for i - 1 */
         "W: ld.volatile.global.u32 %r5, [%rd0]; setp.ne.u32 %p3, %r5, %r2; @%p3 bra W;\n"
         "add.u32 %r6, %r5, 1; st.volatile.global.u32 [%rd0], %r6;\n",
         (How){.block = 128}, "one lane after the other, over four warps");
    is_int(data[0], 128, "  to the last");
    ends("setp.ne.u32 %p1, %r2, 0; @%p1 bra REST;\n" /* looks and writes: never in vain */
         "W: atom.global.add.u32 %r6, [%rd0+8], 1; ld.volatile.global.u32 %r5, [%rd0];\n"
         "setp.eq.u32 %p3, %r5, 0; @%p3 bra W; bra END;\n"
         "REST: st.volatile.global.u32 [%rd0], 1;\nEND:\n",
         (How){0}, "a lane that counts its looks");
    ends(
        ".shared .align 4 .b8 sh[64]; mov.u32 %r5, sh; setp.eq.u32 %p1, %r2, 0;\n"
        "@%p1 st.volatile.shared.u32 [%r5], 0; bar.warp.sync -1; setp.eq.u32 %p1, %r2, 9;\n"
        "@%p1 bra SET; W: ld.volatile.shared.u32 %r6, [%r5]; setp.ne.u32 %p3, %r6, 5; @%p3 bra W;\n"
        "bra END; SET: st.volatile.shared.u32 [%r5], 5; END:\n",
        (How){0}, "a flag in shared memory");
}

/* Lanes that go on with atomics for longer than a turn, and what lane 0 set meanwhile. */
#define ATOMICS(use)                                                                               \
    "setp.eq.u32 %p1, %r2, 0; mov.u32 %r9, 0; @%p1 bra SET;\n"                                     \
    "L: atom.global.or.b32 %r5, [%rd0+8], 0; add.u32 %r9, %r9, 1; " use                            \
    "setp.lt.u32 %p3, %r9, 9000; @%p3 bra L;\n"                                                    \
    "ld.global.u32 %r6, [%rd0]; st.global.u32 [%rd1+4096], %r6; bra END;\n"                        \
    "SET: st.global.u32 [%rd0], 1;\nEND:\n"

static void test_atomics(void) {
    ends(ATOMICS("add.u32 %r9, %r9, %r5; "), (How){0}, "atomics whose results are read");
    is_int(data[1055], 1, "  may wait for others, who run meanwhile");
    ends(ATOMICS(""), (How){0}, "atomics whose results nobody reads");
    is_int(data[1055], 0, "  wait for nobody");
}

static void test_sync(void) {
    ends("setp.ge.u32 %p1, %r2, 16; @%p1 bra HIGH;\n"
         "W: ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p3, %r5, 0; @%p3 bra W;\n"
         "vote.sync.ballot.b32 %r6, %p1, -1; bra END;\n"
         "HIGH: shfl.sync.idx.b32 %r7, %r2, 17, 31, 0xffff0000;\n"
         "st.volatile.global.u32 [%rd0], %r7; vote.sync.ballot.b32 %r6, %p1, -1;\n"
         "END: st.global.u32 [%rd1+4096], %r6;\n",
         (How){0}, "a half that spins until the other has shuffled, then both vote");
    ok(data[1024] == 0xffff0000 && data[1055] == 0xffff0000, "  together (%#x)", data[1024]);
}

/* ---- blocks that wait for blocks ---- */

#define MEET /* all blocks: word 0 counts them */                                                  \
    "setp.ne.u32 %p1, %r2, 0; @%p1 bra ALL; membar.gl; atom.global.add.u32 %r5, [%rd0], 1;\n"      \
    "mov.u32 %r6, %nctaid.x; W: ld.volatile.global.u32 %r5, [%rd0]; setp.lt.u32 %p2, %r5, %r6;\n"  \
    "@%p2 bra W; ALL: bar.sync 0;\n"

static void test_blocks(void) {
    ends("setp.eq.u32 %p1, %r3, 4; @%p1 bra SET;\n"
         "W: ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p3, %r5, 0; @%p3 bra W; bra END;\n"
         "SET: st.volatile.global.u32 [%rd0], 1; END: st.global.u32 [%rd1+4096], %r3;\n",
         (How){.grid = 5, .block = 64}, "a flag that the last block sets");
    ok(data[1024] == 0 && data[1024 + 319] == 4, "  and all end");
    ends(MEET "st.global.u32 [%rd1+4096], %r3; add.u64 %rd5, %rd1, 4096;\n",
         (How){.grid = 160, .block = 64}, "160 blocks that wait for each other");
    ok(data[0] == 160 && data[1024 + 64 * 159] == 159, "  and all end (%u)", data[0]);
    const char *shared = ".shared .align 4 .b8 sh[1024]; mov.u32 %r10, sh; shl.b32 %r11, %r2, 2;\n"
                         "add.u32 %r10, %r10, %r11; st.shared.u32 [%r10], %r1;\n" MEET
                         "ld.shared.u32 %r12, [%r10]; st.global.u32 [%rd1+4096], %r12;\n";
    ends(shared, (How){.grid = 9, .block = 256}, "each block keeps its shared memory");
    int wrong = 0;
    for (uint32_t i = 0; i < 9 * 256; i++) wrong += data[1024 + i] != i;
    is_int(wrong, 0, "  all of it");
    ends(shared, (How){.grid = 9, .block = 256, .check = true}, "also when it is checked");
    ends(LOCK INSIDE UNLOCK, (How){.grid = 3, .block = 64, .check = true}, "and so is the lock");
    hangs(MEET, (How){.grid = 400, .block = 1024}, "block (0,0,0) warp 0",
          "more blocks than the GPU holds at a time"); /* 10 SMs of 2048 threads: 20 */
}

/* Block 0 looks 20000 times at what only its own threads write, then says so in word 0; what the
** others found there when they began is theirs. `look` reads %r10 or %rd9, a word of shared
** memory. */
#define LOOKS(look)                                                                                \
    ".shared .align 4 .b8 sh[64]; mov.u32 %r10, sh; cvt.u64.u32 %rd9, %r10;\n"                     \
    "cvta.shared.u64 %rd9, %rd9; mov.u32 %r9, 0; ld.global.u32 %r6, [%rd0];\n"                     \
    "st.global.u32 [%rd1+4096], %r6; st.shared.u32 [%r10], 0; setp.ne.u32 %p1, %r3, 0;\n"          \
    "@%p1 bra END; L: " look "add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 20000; @%p2 bra L;\n"     \
    "st.global.u32 [%rd0], 1; END:\n"

/* Block b sets words 192 b to 192 b + 191 of the list; each goes through all of it, again and
** again, until nothing is missing: more than a warp remembers. */
static void test_lists(void) {
    ends("mov.u32 %r3, %ctaid.x; mov.u32 %r4, %nctaid.x; mul.lo.u32 %r4, %r4, 192;\n"
         "mul.lo.u32 %r5, %r3, 192; mad.lo.u32 %r5, %r2, 6, %r5; mov.u32 %r6, 0;\n"
         "S: mul.wide.u32 %rd6, %r5, 4; add.u64 %rd6, %rd0, %rd6;\n"
         "st.volatile.global.u32 [%rd6], 1; add.u32 %r5, %r5, 1; add.u32 %r6, %r6, 1;\n"
         "setp.lt.u32 %p1, %r6, 6; @%p1 bra S;\n"
         "A: mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
         "L: mul.wide.u32 %rd6, %r5, 4; add.u64 %rd6, %rd0, %rd6;\n"
         "ld.volatile.global.u32 %r7, [%rd6]; setp.eq.u32 %p2, %r7, 0;\n"
         "@%p2 add.u32 %r6, %r6, 1; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r4;\n"
         "@%p1 bra L;\n"
         "setp.ne.u32 %p1, %r6, 0; @%p1 bra A;\n",
         (How){.grid = 12}, "blocks that go through a list until it is full");
}

static void alone(const char *body, const char *what) {
    ends(body, (How){.grid = 6, .block = 32}, what);
    int early = 0;
    for (int i = 32; i < 6 * 32; i++) early += data[1024 + i] != 1;
    is_int(early, 0, "  no other block begins meanwhile");
}

static void test_own_memory(void) {
    alone(LOOKS("ld.volatile.shared.u32 %r5, [%r10];\n"), "a block looks at its shared memory");
    alone(LOOKS("ld.volatile.u32 %r5, [%rd9];\n"), "by a generic address");
    alone(LOOKS("atom.shared.or.b32 %r5, [%r10], 0; add.u32 %r9, %r9, %r5;\n"),
          "by atomics");
    alone(LOOKS("membar.gl; ld.shared.u32 %r5, [%r10]; nanosleep.u32 40; bar.warp.sync -1;\n"),
          "plainly, with fences and naps");
    ends(".shared .align 4 .b8 sh[64]; mov.u32 %r10, sh; st.volatile.shared.u32 [%r10], 0;\n"
         "bar.sync 0; setp.ne.u32 %p1, %r3, 0; @%p1 bra LAST; setp.ge.u32 %p1, %r2, 32;\n"
         "@%p1 bra SECOND; W: ld.volatile.shared.u32 %r5, [%r10]; setp.eq.u32 %p2, %r5, 0;\n"
         "@%p2 bra W; bra END;\n"
         "SECOND: ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p2, %r5, 0; @%p2 bra SECOND;\n"
         "st.volatile.shared.u32 [%r10], 1; bra END;\n"
         "LAST: st.volatile.global.u32 [%rd0], 1; END:\n",
         (How){.grid = 3, .block = 64}, "a warp that waits for one that waits for another block");
}

static void test_repeats(void) {
    Run a = run(MEET LOCK INSIDE, (How){.grid = 7, .block = 96, .budget = 100000});
    Run b = run(MEET LOCK INSIDE, (How){.grid = 7, .block = 96, .budget = 100000});
    ok(a.result.ticks == b.result.ticks && strcmp(a.result.message, b.result.message) == 0,
       "what spins does so in the same way every time (%g, %g)", a.result.ticks, b.result.ticks);
}

/* ---- what never ends ---- */

static void test_never(void) {
    hangs(".loc 1 5 1\n" LOCK, (How){0}, "line 5)", "a lock that nobody opens");
    hangs("setp.eq.u32 %p1, %r2, 3; .loc 1 6 1\n@%p1 bra W; bar.warp.sync 0xfffffff7; bra END;\n"
          "W: ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p3, %r5, 0; @%p3 bra W;\n"
          "END: .loc 1 8 1\nbar.warp.sync -1;\n",
          (How){0}, "lane 3 of warp 0 runs (PTX line", "a lane that waits for a flag");
    hangs("setp.eq.u32 %p1, %r2, 3; @%p1 bra W; .loc 1 9 1\nbar.warp.sync -1; bra END;\n"
          "W: ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p3, %r5, 0; @%p3 bra W; END:\n",
          (How){0}, "lanes 0-2 4-31 of warp 0 wait for the others (PTX line",
          "lanes that wait for it at a warp's barrier");
}

/* A block of code that counts many instructions and takes no time. */
static void test_limits(void) {
    size_t n = 60000, cap = n * 40;
    char *text = malloc(cap);
    size_t at = (size_t)snprintf(text, cap, "%s%sL:\n", PTX_HEAD, PTX_KERNEL);
    at += (size_t)sprintf(text + at, "add.u32 %%r5, %%r5, 1;\n"); /* or it would repeat itself */
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(text + at, "prefetch.global.L1 [%%rd0];\n");
    sprintf(text + at, "bra.uni L;\n%s", PTX_END);
    Run r = run_new(1, 32);
    run_text(&r, text, data, sizeof data);
    is_int(r.result.status, EMU_TIMEOUT, "a launch without a budget ends, too");
    has_str(r.result.message, "budget of 4294967296 warp instructions",
            "  after 2^32 instructions");
    free(text);
    r = run("L: add.u32 %r5, %r5, 1; bra.uni L;\n",
            (How){.budget = (uint64_t)1 << 60, .timeout_s = 0.05});
    is_int(r.result.status, EMU_TIMEOUT, "a limit in seconds");
    has_str(r.result.message, "0.05 s of processor time", "  says so");
    ends("bar.sync 0;\n", (How){.timeout_s = 5}, "who is faster than his limit");
}

int main(void) {
    test_locks();
    test_lanes();
    test_atomics();
    test_sync();
    test_blocks();
    test_lists();
    test_own_memory();
    test_repeats();
    test_never();
    test_limits();
    return tap_done();
}
