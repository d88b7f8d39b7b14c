/* emu_threads.c - a launch on several threads gives what it gives on one: memory, faults, warnings,
** counts and ticks, to the bit. Kernels written for it, then random ones whose blocks read and
** overwrite each other's results.
**
** emu_threads [SEED] */
#include "emu/core.h"
#include "emu_model.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1 << 14, THREADS = 64 };

typedef struct Case {
    const char *name, *body;
    unsigned blocks;
    uint64_t budget;
    bool backwards;
} Case;

typedef struct Seen { /* all that a launch leaves behind */
    EmuResult r;
    uint32_t data[2][WORDS];
    gi_buf printed;
} Seen;

static void keep(void *user, const char *text, size_t len) {
    gi_buf_add(user, text, len);
}

/* %r1: thread of the grid, %r2: of the block, %r3: block; %rd1, %rd2: WORDS words each; %rd4, %rd5:
** the thread's word of each. */
static char *kernel(const char *body) {
    gi_buf b = {0};
    gi_buf_addf(&b,
                ".version 7.0\n.target sm_80\n.address_size 64\n"
                ".extern .func (.param .b32 o) vprintf (.param .b64 f, .param .b64 a);\n"
                ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"
                ".visible .entry k(.param .u64 a, .param .u64 b) {\n"
                ".reg .b32 %%r<30>; .reg .b64 %%rd<30>; .reg .f32 %%f<10>; .reg .pred %%p<5>;\n"
                ".reg .b16 %%h<5>; .shared .align 16 .b8 s[%d];\n"
                "mov.u32 %%r3, %%ctaid.x; mov.u32 %%r2, %%tid.x;\n"
                "mad.lo.u32 %%r1, %%r3, %d, %%r2;\n"
                "ld.param.u64 %%rd1, [a]; ld.param.u64 %%rd2, [b];\n"
                "and.b32 %%r4, %%r1, %d; mul.wide.u32 %%rd3, %%r4, 4;\n"
                "add.u64 %%rd4, %%rd1, %%rd3; add.u64 %%rd5, %%rd2, %%rd3; mov.u32 %%r20, s;\n%s"
                "ret;\n}\n",
                THREADS * 16, THREADS, WORDS - 1, body);
    return b.data;
}

/* The device address of each buffer is 100 bytes into its mapping's sector where `odd`. */
static bool run(const Case *c, const char *text, int threads, uint64_t batch, Seen *out) {
    EmuModel model = emu_model_round();
    model.sms = 1, model.max_blocks_per_sm = 2; /* many waves: the time of each block counts */
    Emu *e = emu_new(&model);
    gi_err err = {.message = ""};
    uint64_t at[2];
    memset(out, 0, sizeof *out);
    e->batch = batch;
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < WORDS; i++) out->data[k][i] = i * 2654435761u >> (8 + k);
        at[k] = 0x10000 * (uint64_t)(k + 3) * 16 + 100;
        if (!emu_map_at(e, at[k], out->data[k], sizeof out->data[k], false, k ? "b" : "a", &err))
            printf("# %s\n", err.message);
    }
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    EmuLaunch l = {.kernel = "k",
                   .grid = {c->blocks, 1, 1},
                   .block = {THREADS, 1, 1},
                   .params = at,
                   .budget = c->budget,
                   .backwards = c->backwards,
                   .threads = threads,
                   .print = keep,
                   .print_user = &out->printed};
    bool fine = m && emu_launch(m, &l, &out->r, &err);
    if (!fine) printf("# %s\n", err.message);
    if (m) emu_unload(m);
    emu_free(e);
    return fine;
}

static bool same_findings(const EmuFindings *a, const EmuFindings *b) {
    bool same = a->n == b->n && a->left_out == b->left_out;
    for (int i = 0; same && i < a->n; i++)
        same = a->at[i].count == b->at[i].count && a->at[i].kind == b->at[i].kind &&
               strcmp(a->at[i].message, b->at[i].message) == 0;
    return same;
}

static const char *differs(const Seen *a, const Seen *b) {
    if (memcmp(a->data, b->data, sizeof a->data) != 0) return "memory";
    if (a->r.status != b->r.status || strcmp(a->r.message, b->r.message) != 0) return "status";
    if (memcmp(&a->r.ticks, &b->r.ticks, sizeof a->r.ticks) != 0) return "ticks";
    if (memcmp(&a->r.warp_instructions, &b->r.warp_instructions,
               offsetof(EmuResult, faults) - offsetof(EmuResult, warp_instructions)) != 0)
        return "counts";
    if (!same_findings(&a->r.faults, &b->r.faults)) return "faults";
    if (!same_findings(&a->r.warnings, &b->r.warnings)) return "warnings";
    if (a->printed.len != b->printed.len ||
        (a->printed.len && memcmp(a->printed.data, b->printed.data, a->printed.len) != 0))
        return "printed";
    return NULL;
}

/* With 2, 3 and 8 threads, in batches of these many instructions. */
static void check(const Case *c, const char *body) {
    static Seen one, many;
    static const struct {
        int threads;
        uint64_t batch;
    } ways[] = {{2, 1}, {3, 700}, {8, 300}, {2, 1 << 20}, {8, 1}};
    char *text = kernel(body);
    const char *what = NULL;
    int i = 0, n = sizeof ways / sizeof *ways;
    bool ran = run(c, text, 1, 0, &one);
    for (; ran && what == NULL && i < n; i++) {
        ran = run(c, text, ways[i].threads, ways[i].batch, &many);
        if (ran) what = differs(&one, &many);
        gi_buf_free(&many.printed);
    }
    if (!ok(ran && what == NULL, "%s", c->name)) {
        printf("# %s differ with %d threads, batch %llu\n", what ? what : "(did not run)",
               ways[i - 1].threads, (unsigned long long)ways[i - 1].batch);
        printf("# one thread: %s %.17g; several: %s %.17g\n", one.r.message, one.r.ticks,
               many.r.message, many.r.ticks);
        printf("%s\n", text);
    }
    gi_buf_free(&one.printed);
    free(text);
}

#define NEIGHBOUR "xor.b32 %r5, %r4, 32; mul.wide.u32 %rd6, %r5, 4; add.u64 %rd6, %rd1, %rd6;\n"
#define BEYOND "add.u32 %r5, %r4, 64; and.b32 %r5, %r5, 16383; mul.wide.u32 %rd6, %r5, 4;\n" \
               "add.u64 %rd6, %rd1, %rd6;\n"

static const Case cases[] = {
    {"each thread its own word", "ld.global.u32 %r6, [%rd4]; st.global.u32 [%rd5], %r6;\n",
     200, 0, false},
    {"in place", "ld.global.u32 %r6, [%rd4]; add.u32 %r6, %r6, 3; st.global.u32 [%rd4], %r6;\n",
     200, 0, false},
    {"what it wrote itself",
     "st.global.u32 [%rd4], %r1; bar.sync 0;" NEIGHBOUR
     "ld.global.u32 %r6, [%rd6]; st.global.u32 [%rd5], %r6;\n", 200, 0, false},
    {"parts of what it wrote itself",
     "and.b32 %r8, %r2, 1; setp.eq.u32 %p1, %r8, 1; @%p1 st.global.u32 [%rd4], %r1; bar.sync 0;"
     NEIGHBOUR "ld.global.u32 %r6, [%rd6]; st.global.u32 [%rd5], %r6;\n", 200, 0, false},
    {"what the next block had", BEYOND "ld.global.u32 %r6, [%rd6]; st.global.u32 [%rd4], %r6;\n",
     200, 0, false},
    {"what the block before wrote", "st.global.u32 [%rd4], %r1;" BEYOND
     "ld.global.u32 %r6, [%rd4]; add.u32 %r6, %r6, 1; st.global.u32 [%rd6], %r6;\n", 200, 0, false},
    {"all to one word", "st.global.u32 [%rd2], %r1;\n", 100, 0, false},
    {"a byte a block", "cvt.u64.u32 %rd6, %r3; add.u64 %rd6, %rd6, %rd2;"
     "add.u32 %r6, %r3, 7; st.global.u8 [%rd6], %r6;\n", 300, 0, false},
    {"a word that counts blocks", "ld.global.u32 %r6, [%rd2]; add.u32 %r6, %r6, 1; bar.sync 0;"
     "st.global.u32 [%rd2], %r6;\n", 60, 0, false},
    {"lanes apart", "mul.lo.u32 %r5, %r1, 40503; and.b32 %r5, %r5, 16383; mul.wide.u32 %rd6, %r5, "
     "4; add.u64 %rd6, %rd6, %rd1; ld.global.u32 %r6, [%rd6]; st.global.u32 [%rd5], %r6;\n",
     200, 0, false},
    {"lanes apart, written", "mul.lo.u32 %r5, %r1, 40503; and.b32 %r5, %r5, 16383; mul.wide.u32 "
     "%rd6, %r5, 4; add.u64 %rd6, %rd6, %rd1; st.global.u32 [%rd6], %r1;\n", 200, 0, false},
    {"some warps wait for what others touched", "and.b32 %r5, %r1, 4095; setp.lt.u32 %p1, %r2, 32;"
     "mul.wide.u32 %rd6, %r5, 4; add.u64 %rd6, %rd6, %rd1; @%p1 ld.global.u32 %r6, [%rd6];"
     "bar.sync 0; ld.global.u32 %r7, [%rd4]; bar.sync 0; st.global.u32 [%rd5], %r7;\n",
     250, 0, false},
    {"through shared memory", "shl.b32 %r5, %r2, 2; add.u32 %r5, %r5, %r20; ld.global.u32 %r6, "
     "[%rd4]; st.shared.u32 [%r5], %r6; bar.sync 0; xor.b32 %r7, %r5, 12; ld.shared.u32 %r6, "
     "[%r7]; st.global.u32 [%rd5], %r6;\n", 200, 0, false},
    {"backwards", "st.global.u32 [%rd4], %r1;" BEYOND "st.global.u32 [%rd6], %r3;\n", 200, 0, true},
    {"atomics", "atom.global.add.u32 %r6, [%rd2], 1; st.global.u32 [%rd4], %r6;\n", 100, 0, false},
    {"atomics in some blocks", "setp.lt.u32 %p1, %r3, 50; @%p1 bra PLAIN; red.global.add.u32 "
     "[%rd2], %r1;\nPLAIN: st.global.u32 [%rd4], %r1;\n", 100, 0, false},
    {"a float sum in the order of blocks", "cvt.rn.f32.u32 %f1, %r1; mul.f32 %f1, %f1, "
     "0f3dcccccd; red.global.add.f32 [%rd2+64], %f1; st.global.u32 [%rd4], %r1;\n", 100, 0, false},
    {"a clock", "mov.u32 %r6, %clock; st.global.u32 [%rd4], %r6;\n", 60, 0, false},
    {"a late fault", "setp.eq.u32 %p1, %r1, 7777; @%p1 mov.u64 %rd4, 8; st.global.u32 [%rd4], "
     "%r1;\n", 200, 0, false},
    {"two faults, the earlier counts", "setp.eq.u32 %p1, %r3, 150; @%p1 mov.u64 %rd4, 8;"
     "setp.eq.u32 %p2, %r3, 149; @%p2 trap; st.global.u32 [%rd4], %r1;\n", 200, 0, false},
    {"warnings", "and.b32 %r6, %r3, 31; setp.ne.u32 %p1, %r6, 17; @%p1 bra DONE;"
     "shfl.sync.idx.b32 %r7, %r1, 40, 31, 255;\nDONE: st.global.u32 [%rd4], %r1;\n", 200, 0, false},
    {"the budget ends",
     "ld.global.u32 %r6, [%rd4]; st.global.u32 [%rd5], %r6;\n", 200, 3500, false},
    {"a loop without end in one block", "setp.ne.u32 %p1, %r3, 60; @%p1 bra DONE;\nLOOP: add.u32 "
     "%r9, %r9, 1; bra LOOP;\nDONE: st.global.u32 [%rd4], %r1;\n", 100, 200000, false},
    {"a flag of an earlier block", "setp.eq.u32 %p1, %r3, 0; @%p1 bra FIRST;\nLOOK: "
     "ld.volatile.global.u32 %r6, [%rd2+4]; setp.ne.u32 %p2, %r6, 12345; @%p2 bra LOOK;\n"
     "st.global.u32 [%rd4], %r6; bra.uni DONE;\nFIRST: st.volatile.global.u32 [%rd2+4], 12345;\n"
     "DONE:\n", 60, 0, false},
    {"a flag of the last block", "setp.eq.u32 %p1, %r3, 39; @%p1 bra LAST;\nLOOK: "
     "ld.volatile.global.u32 %r6, [%rd2+4]; setp.ne.u32 %p2, %r6, 12345; @%p2 bra LOOK;\n"
     "st.global.u32 [%rd4], %r6; bra.uni DONE;\nLAST: st.volatile.global.u32 [%rd2+4], 12345;\n"
     "DONE:\n", 40, 1000000, false},
    {"printf", "setp.ne.u32 %p1, %r2, 5; @%p1 bra DONE;\n{ .param .b64 f;"
     ".param .b64 g; .param .b32 o;"
     "mov.u64 %rd6, text; cvta.global.u64 %rd6, %rd6; mov.u64 %rd7, 0; st.param.b64 [f], %rd6;"
     "st.param.b64 [g], %rd7; call.uni (o), vprintf, (f, g); }\nDONE: st.global.u32 [%rd4], %r1;\n",
     30, 0, false},
    {"vectors", "and.b32 %r5, %r1, 4095; mul.wide.u32 %rd6, %r5, 16; add.u64 %rd7, %rd6, %rd2;"
     "and.b64 %rd7, %rd7, -16; sub.u64 %rd8, %rd7, 64; setp.lt.u64 %p1, %rd8, %rd2;"
     "@%p1 mov.u64 %rd8, %rd7; add.u64 %rd9, %rd2, 16; setp.lt.u64 %p2, %rd7, %rd9; @%p2 bra DONE;"
     "ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd8]; st.global.v4.u32 [%rd7], {%r9, %r8, %r7, "
     "%r6};\nDONE:\n", 150, 0, false},
};

/* --- random kernels: steps that load, store, meet and add, at addresses of many kinds --- */

static void random_address(gi_rng *rng, gi_buf *b) {
    static const int strides[] = {1, 1, 1, 2, 3, 16, 0};
    int stride = strides[gi_rng_below(rng, 7)], range = 64 << gi_rng_below(rng, 8);
    const char *from = gi_rng_below(rng, 3) ? "%r1" : gi_rng_below(rng, 2) ? "%r3" : "%r2";
    gi_buf_addf(b, "mad.lo.u32 %%r10, %s, %d, %d; and.b32 %%r10, %%r10, %d;", from, stride,
                (int)gi_rng_below(rng, 200), range - 1);
    gi_buf_addf(b, "mul.wide.u32 %%rd10, %%r10, 4; add.u64 %%rd10, %%rd10, %%rd%d;\n",
                1 + (int)gi_rng_below(rng, 2));
}

static void random_step(gi_rng *rng, gi_buf *b) {
    int kind = (int)gi_rng_below(rng, 12), guard = (int)gi_rng_below(rng, 4);
    if (kind < 10) random_address(rng, b);
    if (kind < 10 && guard == 0)
        gi_buf_addf(b, "xor.b32 %%r11, %%r1, %%r6; and.b32 %%r11, %%r11, %d; setp.eq.u32 %%p1, "
                       "%%r11, 0;\n@%%p1 ", 1 << gi_rng_below(rng, 7));
    switch (kind) {
    case 0:
    case 1:
    case 2:
    case 3: gi_buf_adds(b, "ld.global.u32 %r7, [%rd10]; add.u32 %r6, %r6, %r7;\n"); break;
    case 4:
    case 5:
    case 6: gi_buf_adds(b, "st.global.u32 [%rd10], %r6;\n"); break;
    case 7: gi_buf_adds(b, "st.global.u8 [%rd10+1], %r6;\n"); break;
    case 8: gi_buf_adds(b, "ld.global.u16 %h1, [%rd10+2];\n"
                           "cvt.u32.u16 %r7, %h1; xor.b32 %r6, %r6, %r7;\n"); break;
    case 9: gi_buf_adds(b, "ld.volatile.global.u32 %r7, [%rd10]; add.u32 %r6, %r6, %r7;\n"); break;
    case 10: gi_buf_adds(b, "bar.sync 0;\n"); break;
    default: gi_buf_adds(b, "mad.lo.u32 %r6, %r6, 1664525, %r2;\n");
    }
}

static void check_random(gi_rng *rng, int i) {
    char name[80];
    gi_buf body = {0};
    Case c = {.name = name, .blocks = 20 + (unsigned)gi_rng_below(rng, 100)};
    c.backwards = gi_rng_below(rng, 8) == 0;
    gi_buf_adds(&body, "mov.u32 %r6, 1;\n");
    for (int n = 2 + (int)gi_rng_below(rng, 12); n > 0; n--) random_step(rng, &body);
    snprintf(name, sizeof name, "random kernel %d", i);
    check(&c, body.data);
    gi_buf_free(&body);
}

int main(int argc, char **argv) {
    gi_rng rng;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20261123;
    gi_rng_seed(&rng, seed);
    printf("# seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i], cases[i].body);
    for (int i = 0; i < 60; i++) check_random(&rng, i);
    return tap_done();
}
