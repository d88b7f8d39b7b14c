/* Loads and stores give the same bits, ticks, counts and faults whether or not they remember how
** the lanes lay the last time (exec_layout.h): by every build of the fast loop, and by threads.
**
** Random kernels access shared and global memory at addresses from a table. A row of the table says
** where the lanes of a step go and which of them do. Rows have patterns that kernels have, most of
** them several times in a row, moved. The plain engine, which has no layouts, tells the truth. */
#include "emu/core.h"
#include "emu_core_run.h"

enum { ROUNDS = 60, STEPS = 48, THREADS = 64, BLOCKS = 6, BYTES = 4096, WORDS = BYTES / 4 };
enum { ACTIVE = 1u << 31, TABLE = STEPS * THREADS };

/* --- a row: offsets of the lanes, in units --- */

static void place_lanes(gi_rng *rng, uint32_t *at, uint32_t room) {
    uint32_t places[4], first = (uint32_t)gi_rng_below(rng, room), step = 0;
    for (int k = 0; k < 4; k++) places[k] = (uint32_t)gi_rng_below(rng, room);
    uint64_t kind = gi_rng_below(rng, 9), near = gi_rng_below(rng, 2) ? 32 : 64;
    step = 1 + (uint32_t)gi_rng_below(rng, 5);
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t any = (uint32_t)gi_rng_below(rng, room);
        switch (kind) {
        case 0: at[i] = first; break;
        case 1: at[i] = first + i; break;
        case 2: at[i] = places[i / 16] + i % 16; break;
        case 3: at[i] = places[i / 8] + i % 8; break;
        case 4: at[i] = places[any % 2]; break;
        case 5: at[i] = places[any % 4]; break;
        case 6: at[i] = first + i * step; break;
        case 7: at[i] = first + (uint32_t)(any % near); break;
        default: at[i] = gi_rng_below(rng, 2) ? any : first + 31 - i; break;
        }
        at[i] %= room;
    }
}

static uint32_t some_lanes(gi_rng *rng) {
    uint64_t kind = gi_rng_below(rng, 4);
    if (kind < 2) return FULL_MASK;
    if (kind == 2) return FULL_MASK >> gi_rng_below(rng, 32);
    return (uint32_t)gi_rng_next(rng) | 1u << gi_rng_below(rng, 32);
}

/* unit: bytes of the largest access. Half of BYTES remains for what is added to an address. */
static void fill_table(gi_rng *rng, uint32_t *table, uint32_t unit, bool faults) {
    uint32_t room = BYTES / 2 / unit;
    for (int warp = 0; warp < THREADS / LANES; warp++) {
        uint32_t at[LANES] = {0}, lanes = FULL_MASK;
        for (int step = 0; step < STEPS; step++) {
            if (step == 0 || gi_rng_below(rng, 4) == 0) place_lanes(rng, at, room);
            if (gi_rng_below(rng, 4) == 0) lanes = some_lanes(rng);
            uint32_t move = (uint32_t)gi_rng_below(rng, 3);
            uint32_t *row = table + step * THREADS + warp * LANES;
            for (int i = 0; i < LANES; i++)
                row[i] = (at[i] + move) % room * unit | (lanes >> i & 1 ? ACTIVE : 0);
        }
    }
    if (faults) table[TABLE - 1 - gi_rng_below(rng, THREADS)] = (BYTES + 4096) | ACTIVE;
}

/* --- a kernel --- */

static void add_access(gi_rng *rng, gi_buf *b, uint32_t unit) {
    static const char *const places[] = {"shared", "shared", "global", "global"};
    static const char *const bases[] = {"%r10", "%rd10", "%rd11", "%rd11"};
    static const struct {
        const char *type, *list, *one;
        uint32_t bytes;
    } shapes[] = {{"u32", "%r20", "%r5", 4},
                  {"u32", "%r21", "%r6", 4},
                  {"u16", "%h1", "%h2", 2},
                  {"s8", "%h1", "%h2", 1},
                  {"u64", "%rd20", "%rd5", 8},
                  {"v2.u32", "{%r20, %r21}", "{%r5, %r6}", 8},
                  {"v4.u32", "{%r20, %r21, %r22, %r23}", "{%r5, %r6, %r5, %r6}", 16},
                  {"v2.u64", "{%rd20, %rd21}", "{%rd5, %rd5}", 16}};
    uint64_t k = gi_rng_below(rng, 4), s;
    do s = gi_rng_below(rng, sizeof shapes / sizeof *shapes);
    while (shapes[s].bytes > unit);
    unsigned more = (unsigned)gi_rng_below(rng, 60) * 16;
    const char *guard = gi_rng_below(rng, 4) ? "" : "@%p1 ";
    if (gi_rng_below(rng, 4) == 0)
        gi_buf_addf(b, "%sst.%s.%s [%s+%u], %s;\n", guard, places[k], shapes[s].type, bases[k],
                    more, shapes[s].one);
    else
        gi_buf_addf(b, "%sld.%s.%s %s, [%s+%u];\n", guard, places[k], shapes[s].type,
                    shapes[s].list, bases[k], more);
}

/* What was loaded goes into what will be stored. */
static const char mix[] =
    "xor.b32 %r5, %r5, %r20; mad.lo.u32 %r6, %r6, 3, %r21; xor.b32 %r6, %r6, %r22;\n"
    "add.u32 %r5, %r5, %r23; cvt.u32.u16 %r7, %h1; add.u32 %r6, %r6, %r7; mov.b16 %h2, %h1;\n"
    "xor.b64 %rd5, %rd5, %rd20; add.u64 %rd5, %rd5, %rd21;\n";

static char *program(gi_rng *rng, uint32_t unit) {
    gi_buf b = {0};
    gi_buf_addf(
        &b, PTX_HEAD
        ".visible .entry k(.param .u64 out, .param .u64 table) {\n"
        ".shared .align 16 .b8 sh[%d]; .reg .pred %%p<9>; .reg .b16 %%h<9>; .reg .b32 %%r<30>;\n"
        ".reg .b64 %%rd<30>; ld.param.u64 %%rd0, [out]; ld.param.u64 %%rd1, [table];\n"
        "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; mul.wide.u32 %%rd2, %%r2, %d;\n"
        "add.u64 %%rd0, %%rd0, %%rd2; mul.wide.u32 %%rd3, %%r1, 4; add.u64 %%rd1, %%rd1, %%rd3;\n"
        "mov.u32 %%r3, sh; mov.u64 %%rd4, sh; mov.u32 %%r4, 0; mov.u32 %%r5, %%r1;\n"
        "mov.u32 %%r6, %%r2; mov.b16 %%h1, 1; mov.b16 %%h2, 2; mov.u64 %%rd5, %%rd3;\n"
        "mov.u32 %%r20, 0; mov.u32 %%r21, 0; mov.u32 %%r22, 0; mov.u32 %%r23, 0;\n"
        "mov.u64 %%rd20, 0; mov.u64 %%rd21, 0; mov.u32 %%r8, %%r1;\n"
        "INIT: shl.b32 %%r9, %%r8, 2; add.u32 %%r9, %%r9, %%r3; st.shared.u32 [%%r9], %%r8;\n"
        "add.u32 %%r8, %%r8, %d; setp.lt.u32 %%p2, %%r8, %d; @%%p2 bra INIT; bar.sync 0;\n"
        "STEP: ld.global.u32 %%r9, [%%rd1]; add.u64 %%rd1, %%rd1, %d;\n"
        "setp.lt.s32 %%p1, %%r9, 0; and.b32 %%r9, %%r9, 0x7fffffff; cvt.u64.u32 %%rd9, %%r9;\n"
        "add.u32 %%r10, %%r3, %%r9; add.u64 %%rd10, %%rd4, %%rd9; add.u64 %%rd11, %%rd0, %%rd9;\n",
        BYTES, BYTES, THREADS, WORDS, THREADS * 4);
    bool branches = gi_rng_below(rng, 2);
    if (branches) gi_buf_adds(&b, "@!%p1 bra LEFT_OUT;\n");
    for (int i = 0; i < 14; i++) {
        add_access(rng, &b, unit);
        if (gi_rng_below(rng, 5) == 0)
            gi_buf_addf(&b, "add.u32 %%r10, %%r10, %u; add.u64 %%rd11, %%rd11, %u;\n", unit, unit);
        if (gi_rng_below(rng, 4) == 0) gi_buf_adds(&b, mix);
    }
    gi_buf_addf(&b, "%s%s"
                "add.u32 %%r4, %%r4, 1; setp.lt.u32 %%p2, %%r4, %d; @%%p2 bra STEP;\n"
                "shl.b32 %%r9, %%r1, 4; cvt.u64.u32 %%rd9, %%r9; add.u64 %%rd9, %%rd0, %%rd9;\n"
                "st.global.u32 [%%rd9], %%r5; st.global.u32 [%%rd9+4], %%r6;\n"
                "st.global.u64 [%%rd9+8], %%rd5; ret; }\n",
                mix, branches ? "LEFT_OUT:\n" : "", STEPS);
    return b.data;
}

/* --- the engines --- */

typedef struct How {
    const char *name;
    bool plain;
    int vectors, threads;
} How;

static bool run(How how, const char *text, uint32_t *data, const uint32_t *table, EmuResult *r) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err = {.message = ""};
    e->plain = how.plain;
    e->vectors = how.vectors;
    e->batch = how.threads > 1 ? 500 : 0;
    uint64_t at[2] = {emu_map(e, data, (size_t)BLOCKS * BYTES, false, "data"),
                      emu_map(e, (void *)(uintptr_t)table, TABLE * 4, true, "table")};
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    EmuLaunch l = {.kernel = "k",
                   .grid = {BLOCKS, 1, 1},
                   .block = {THREADS, 1, 1},
                   .params = at,
                   .threads = how.threads};
    bool fine = m && emu_launch(m, &l, r, &err);
    if (!fine) printf("# %s\n", err.message);
    emu_unload(m);
    emu_free(e);
    return fine;
}

static bool are_same(const EmuResult *a, const EmuResult *b) {
    return a->status == b->status && strcmp(a->message, b->message) == 0 && a->ticks == b->ticks &&
           a->global_sectors == b->global_sectors && a->shared_conflicts == b->shared_conflicts;
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 11;
    printf("# seed %" PRIu64 "\n", seed);
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    int best = e->vectors, n_faults = 0;
    emu_free(e);
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    for (int round = 0; round < ROUNDS; round++) {
        static uint32_t table[TABLE], start[BLOCKS * WORDS], want[BLOCKS * WORDS];
        static uint32_t got[BLOCKS * WORDS];
        uint32_t unit = 4u << gi_rng_below(&rng, 3);
        char *text = program(&rng, unit);
        EmuResult first = {0};
        for (int i = 0; i < BLOCKS * WORDS; i++) start[i] = (uint32_t)gi_rng_next(&rng);
        fill_table(&rng, table, unit, round % 5 == 4);
        memcpy(want, start, sizeof want);
        bool ran = run((How){"plain", true, best, 1}, text, want, table, &first);
        n_faults += first.status != EMU_OK;
        const How hows[] = {{"base", false, VECTORS_BASE, 1},
                            {"AVX2", false, best < VECTORS_AVX2 ? best : VECTORS_AVX2, 1},
                            {"the best", false, best, 1},
                            {"three threads", false, best, 3}};
        for (size_t k = 0; k < sizeof hows / sizeof *hows; k++) {
            EmuResult r = {0};
            memcpy(got, start, sizeof got);
            bool again = ran && run(hows[k], text, got, table, &r);
            bool same = again && memcmp(got, want, sizeof got) == 0 && are_same(&first, &r);
            if (!ok(same, "random accesses %d of %u bytes: %s as plain", round, unit,
                    hows[k].name)) {
                printf("# %s\n# %s\n# ticks %.17g and %.17g\n%s", first.message, r.message,
                       first.ticks, r.ticks, text);
                return tap_done();
            }
        }
        free(text);
    }
    ok(n_faults == ROUNDS / 5, "every fifth ends with a fault (%d)", n_faults);
    return tap_done();
}
