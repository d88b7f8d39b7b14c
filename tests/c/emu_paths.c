/* Loads, stores and atomics by their quick ways (exec_mem.h, with AVX2 and without) against the
** plain one (memory.c), which a launch takes that checks: the same memory, registers, ticks,
** sectors, conflicts and faults, however the addresses of the lanes lie. */
#include <stdlib.h>
#include <string.h>

#include "emu/core.h"
#include "emu_model.h"
#include "tap.h"

enum { THREADS = 128, BLOCKS = 2, ALL = THREADS * BLOCKS, ROUNDS = 8, BYTES = 16384, OWN = 64 };
enum { TABLE = 512 }; /* bytes of a parameter */

typedef struct Data {
    uint8_t memory[BYTES], shared[BLOCKS][THREADS * OWN];
    uint32_t offset[ALL], on[ALL];
    uint64_t out[ALL][4];
} Data;

/* An access to [@], an address of the space that is named: global, shared, local, param, or none,
** which is any. It loads to %r9 …, %h9 …, %rd10 … or %d9 …, and stores what is in them. */
typedef struct Op {
    const char *text;
    unsigned bytes;
} Op;

static const Op ops[] = {
#define SPACES(before, after, bytes)                                                               \
    {before ".global" after, bytes}, {before ".shared" after, bytes},                              \
        {before ".local" after, bytes}, {before after, bytes}
#define BOTH(before, after, bytes)                                                                 \
    {before ".global" after, bytes}, {before ".shared" after, bytes}, {before after, bytes}
    SPACES("ld", ".u8 %h9, [@]", 1),
    SPACES("ld", ".s8 %r9, [@]", 1),
    SPACES("ld", ".u16 %h9, [@]", 2),
    SPACES("ld", ".s16 %r9, [@]", 2),
    SPACES("ld", ".s16 %rd10, [@]", 2),
    SPACES("ld", ".u32 %r9, [@]", 4),
    SPACES("ld", ".s32 %rd10, [@]", 4),
    SPACES("ld", ".f32 %f9, [@]", 4),
    BOTH("ld.volatile", ".u32 %r9, [@]", 4),
    SPACES("ld", ".u64 %rd10, [@]", 8),
    SPACES("ld", ".f64 %d9, [@]", 8),
    SPACES("ld", ".v2.u8 {%h9, %h10}, [@]", 2),
    SPACES("ld", ".v4.u8 {%h9, %h10, %h11, %h12}, [@]", 4),
    SPACES("ld", ".v2.s16 {%r9, %r10}, [@]", 4),
    SPACES("ld", ".v4.u16 {%h9, %h10, %h11, %h12}, [@]", 8),
    SPACES("ld", ".v2.u32 {%r9, %r10}, [@]", 8),
    SPACES("ld", ".v4.u32 {%r9, %r10, _, %r12}, [@]", 16),
    SPACES("ld", ".v2.u64 {%rd10, %rd11}, [@]", 16),
    SPACES("ld", ".v4.f32 {%f9, %f10, %f11, %f12}, [@]", 16),
    SPACES("st", ".u8 [@], %r9", 1),
    SPACES("st", ".u16 [@], %h9", 2),
    SPACES("st", ".u32 [@], %r9", 4),
    SPACES("st", ".u64 [@], %rd10", 8),
    SPACES("st", ".v2.u8 [@], {%h9, %h10}", 2),
    SPACES("st", ".v4.u16 [@], {%h9, %h10, %h11, %h12}", 8),
    SPACES("st", ".v2.u32 [@], {%r9, %r10}", 8),
    SPACES("st", ".v4.u32 [@], {%r9, %r10, %r11, %r12}", 16),
    SPACES("st", ".v2.f64 [@], {%d9, %d10}", 16),
    BOTH("atom", ".add.u32 %r9, [@], %r10", 4),
    BOTH("atom", ".add.u64 %rd10, [@], %rd11", 8),
    BOTH("atom", ".add.f32 %f9, [@], %f10", 4),
    BOTH("atom", ".add.f64 %d9, [@], %d10", 8),
    BOTH("atom", ".add.noftz.f16 %h9, [@], %h10", 2),
    BOTH("atom", ".add.noftz.f16x2 %r9, [@], %r10", 4),
    BOTH("atom", ".add.noftz.bf16x2 %r9, [@], %r10", 4),
    BOTH("atom", ".min.s32 %r9, [@], %r10", 4),
    BOTH("atom", ".max.u32 %r9, [@], %r10", 4),
    BOTH("atom", ".min.u64 %rd10, [@], %rd11", 8),
    BOTH("atom", ".max.s64 %rd10, [@], %rd11", 8),
    BOTH("atom", ".inc.u32 %r9, [@], %r10", 4),
    BOTH("atom", ".dec.u32 %r9, [@], %r10", 4),
    BOTH("atom", ".and.b32 %r9, [@], %r10", 4),
    BOTH("atom", ".or.b64 %rd10, [@], %rd11", 8),
    BOTH("atom", ".xor.b32 %r9, [@], %r10", 4),
    BOTH("atom", ".exch.b32 %r9, [@], %r10", 4),
    BOTH("atom", ".exch.b64 %rd10, [@], %rd11", 8),
    BOTH("atom", ".cas.b32 %r9, [@], %r10, %r11", 4),
    BOTH("atom", ".cas.b64 %rd10, [@], %rd11, %rd12", 8),
    BOTH("atom", ".cas.b16 %h9, [@], %h10, %h11", 2),
    BOTH("red", ".add.u32 [@], %r10", 4),
    BOTH("red", ".add.f32 [@], %f10", 4),
    BOTH("red", ".max.s32 [@], %r10", 4),
    {"ld.param.u8 %h9, [@]", 1},
    {"ld.param.s16 %r9, [@]", 2},
    {"ld.param.u32 %r9, [@]", 4},
    {"ld.param.u64 %rd10, [@]", 8},
    {"ld.param.v2.u32 {%r9, %r10}, [@]", 8},
    {"ld.param.v4.f32 {%f9, %f10, %f11, %f12}, [@]", 16},
};

/* --- a program: an access, twice, by some lanes --- */

static bool has(const Op *op, const char *part) {
    return strstr(op->text, part) != NULL;
}

static void put_access(gi_buf *b, const Op *op, const char *generic) {
    const char *at = has(op, ".global")   ? "%rd4"
                     : has(op, ".shared") ? "%r21"
                     : has(op, ".local")  ? "%rd6"
                     : has(op, ".param")  ? "%rd26"
                                          : generic;
    gi_buf_adds(b, "@%p1 ");
    for (const char *s = op->text; *s; s++) {
        if (*s == '@') gi_buf_adds(b, at);
        else gi_buf_add(b, s, 1);
    }
    gi_buf_adds(b, ";\n");
}

static char *program(const Op *op, const char *generic) {
    gi_buf b = {0};
    gi_buf_addf(&b, ".version 8.6\n.target sm_90\n.address_size 64\n"
                    ".visible .entry k(.param .u64 data, .param .align 16 .b8 table[%d]) {\n"
                    ".shared .align 16 .b8 sh[%d]; .local .align 16 .b8 depot[%d];\n"
                    ".reg .pred %%p<5>; .reg .b16 %%h<20>; .reg .b32 %%r<40>; .reg .f32 %%f<20>;\n"
                    ".reg .b64 %%rd<40>; .reg .f64 %%d<20>;\n"
                    "ld.param.u64 %%rd0, [data]; cvta.to.global.u64 %%rd0, %%rd0;\n"
                    "mov.u32 %%r2, %%tid.x; mov.u32 %%r3, %%ctaid.x;\n"
                    "mad.lo.u32 %%r1, %%r3, %d, %%r2; mul.wide.u32 %%rd1, %%r1, 4;\n"
                    "add.u64 %%rd1, %%rd1, %%rd0; ld.global.u32 %%r4, [%%rd1+%zu];\n"
                    "ld.global.u32 %%r5, [%%rd1+%zu]; setp.ne.u32 %%p1, %%r5, 0;\n",
                TABLE, THREADS * OWN, OWN, THREADS, offsetof(Data, offset), offsetof(Data, on));
    gi_buf_adds(&b, "cvt.s64.s32 %rd3, %r4; add.u64 %rd4, %rd0, %rd3; mov.u32 %r20, sh;\n"
                    "add.u32 %r21, %r20, %r4; mov.u64 %rd5, depot; add.u64 %rd6, %rd5, %rd3;\n"
                    "cvta.local.u64 %rd7, %rd6; cvt.u64.u32 %rd8, %r20;\n"
                    "cvta.shared.u64 %rd8, %rd8; add.u64 %rd8, %rd8, %rd3;\n"
                    "mov.b64 %rd26, table; add.u64 %rd26, %rd26, %rd3;\n");
    for (int i = 0; i < OWN / 4; i++)
        gi_buf_addf(&b, "mad.lo.u32 %%r6, %%r1, 2654435761, %d;\n"
                        "mad.lo.u32 %%r7, %%r2, 4, %%r20; st.shared.u32 [%%r7+%d], %%r6;\n"
                        "st.local.u32 [%%rd5+%d], %%r6;\n",
                    i * 77777, i * THREADS * 4, i * 4);
    gi_buf_adds(&b, "bar.sync 0; mov.u32 %r9, %r1; mad.lo.u32 %r10, %r1, 3, 1; mov.u32 %r11, 77;\n"
                    "mov.u32 %r12, 99; cvt.u16.u32 %h9, %r1; cvt.u16.u32 %h10, %r10;\n"
                    "mov.u16 %h11, 7; mov.u16 %h12, 9; mul.wide.u32 %rd10, %r1, 77777777;\n"
                    "mul.wide.u32 %rd11, %r10, 99999999; mov.u64 %rd12, 123456789123;\n"
                    "cvt.rn.f32.u32 %f9, %r1; mov.b32 %f10, %r10; mov.f32 %f11, %f9;\n"
                    "mov.f32 %f12, %f10; cvt.rn.f64.u32 %d9, %r1; cvt.rn.f64.u32 %d10, %r10;\n");
    put_access(&b, op, generic);
    put_access(&b, op, generic);
    gi_buf_adds(&b, "bar.sync 0; mul.wide.u32 %rd20, %r1, 32; add.u64 %rd20, %rd20, %rd0;\n"
                    "cvt.u32.u16 %r13, %h9; cvt.u32.u16 %r14, %h10; mov.b32 %r15, %f9;\n"
                    "mov.b32 %r16, %f10; mov.b64 %rd21, %d9; mov.b64 %rd22, %d10;\n"
                    "xor.b32 %r9, %r9, %r13; xor.b32 %r10, %r10, %r14; xor.b32 %r11, %r11, %r15;\n"
                    "xor.b32 %r12, %r12, %r16; xor.b64 %rd10, %rd10, %rd21;\n"
                    "xor.b64 %rd11, %rd11, %rd22; ld.local.v4.u32 {%r6, %r7, %r8, %r13}, [%rd5];\n"
                    "xor.b32 %r9, %r9, %r6; xor.b32 %r10, %r10, %r7;\n"
                    "xor.b32 %r11, %r11, %r8; xor.b32 %r12, %r12, %r13;\n"
                    "mad.lo.u32 %r22, %r3, 8192, 0; cvt.u64.u32 %rd23, %r22;\n"
                    "mul.wide.u32 %rd24, %r2, 4; add.u64 %rd23, %rd23, %rd24;\n"
                    "add.u64 %rd23, %rd23, %rd0;\n");
    gi_buf_addf(&b, "st.global.v4.u32 [%%rd20+%zu], {%%r9, %%r10, %%r11, %%r12};\n"
                    "st.global.v2.u64 [%%rd20+%zu], {%%rd10, %%rd11};\n",
                offsetof(Data, out), offsetof(Data, out) + 16);
    for (int i = 0; i < OWN / 4; i++)
        gi_buf_addf(&b, "mad.lo.u32 %%r7, %%r2, 4, %%r20; ld.shared.u32 %%r6, [%%r7+%d];\n"
                        "st.global.u32 [%%rd23+%zu], %%r6;\n",
                    i * THREADS * 4, offsetof(Data, shared) + (size_t)i * THREADS * 4);
    gi_buf_adds(&b, "ret; }\n");
    return b.data;
}

/* --- addresses --- */

static uint32_t one_offset(gi_rng *rng, int pattern, uint32_t t, uint32_t unit, uint32_t most,
                           uint32_t salt) {
    uint32_t places = most / unit, lane = t % 32, warp = t / 32;
    switch (pattern) {
    case 0: return salt % places * unit;
    case 1: return (t + salt) % places * unit;
    case 2: return (2 * t) % places * unit;
    case 3: return (16 * t + warp) % places * unit;
    case 4: return (31 - lane + 32 * warp) % places * unit;
    case 5: return (lane / 16 * 40 + warp) % places * unit;
    case 6: return (lane % 16 + 33 * warp) % places * unit;
    case 7: return (33 * lane + salt) % places * unit;
    case 8: return (uint32_t)gi_rng_below(rng, places < 16 ? places : 16) * unit;
    default: return (uint32_t)gi_rng_below(rng, places) * unit;
    }
}

/* Offsets and lanes; where `bad`, one of them goes wrong. */
static void fill(gi_rng *rng, Data *d, const Op *op, uint32_t most, bool bad) {
    int pattern = (int)gi_rng_below(rng, 10), lanes = (int)gi_rng_below(rng, 4);
    uint32_t salt = (uint32_t)gi_rng_below(rng, 100);
    for (size_t i = 0; i < sizeof d->memory; i += 4) {
        uint32_t word = (uint32_t)gi_rng_next(rng);
        memcpy(d->memory + i, &word, 4);
    }
    memset(d->out, 0, sizeof d->out);
    memset(d->shared, 0, sizeof d->shared);
    for (uint32_t t = 0; t < ALL; t++) {
        d->offset[t] = one_offset(rng, pattern, t, op->bytes, most, salt);
        d->on[t] = lanes < 2 || (lanes == 2 ? t % 32 > 4 && t % 32 < 20 : gi_rng_below(rng, 3) > 0);
    }
    if (!bad) return;
    if (gi_rng_below(rng, 3) == 0) { /* neighbours, the last of them outside */
        for (uint32_t t = 0; t < ALL; t++)
            d->offset[t] = most + (t % 32 - 16) * op->bytes + (salt < 50 ? 0 : sizeof *d);
        return;
    }
    uint32_t *one = &d->offset[gi_rng_below(rng, ALL)];
    if (gi_rng_below(rng, 2) && op->bytes > 1) *one += 1;
    else *one = gi_rng_below(rng, 2) ? most + 4096 * op->bytes : 0u - op->bytes;
}

/* --- runs --- */

typedef enum Way { PLAIN, BASE, AVX2, BEST, WAYS } Way;

static bool run(Way way, const char *text, Data *d, EmuResult *r) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err = {.message = ""};
    if (way == BASE) e->vectors = VECTORS_BASE;
    if (way == AVX2 && e->vectors > VECTORS_AVX2) e->vectors = VECTORS_AVX2;
    uint64_t at = emu_map(e, d, sizeof *d, false, "data");
    uint8_t params[16 + TABLE] = {0};
    memcpy(params, &at, sizeof at);
    memcpy(params + 16, d->memory, TABLE);
    if (way == PLAIN) emu_unwritten(e, at);
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    EmuLaunch l = {.kernel = "k",
                   .grid = {BLOCKS, 1, 1},
                   .block = {THREADS, 1, 1},
                   .params = params,
                   .count_uninitialised = way == PLAIN};
    bool ran = m && emu_launch(m, &l, r, &err);
    if (!ran) printf("# %s\n", err.message);
    emu_unload(m);
    emu_free(e);
    return ran;
}

/* What differs between two ways; "" where nothing does. */
static const char *difference(const Data *a, const EmuResult *r, const Data *b,
                              const EmuResult *s) {
    if (r->status != s->status || strcmp(r->message, s->message) != 0) return "the message";
    if (memcmp(a->memory, b->memory, sizeof a->memory) != 0) return "global memory";
    if (r->status != EMU_OK) return "";
    if (memcmp(a->shared, b->shared, sizeof a->shared) != 0) return "shared memory";
    if (memcmp(a->out, b->out, sizeof a->out) != 0) return "registers";
    if (r->global_sectors != s->global_sectors) return "sectors";
    if (r->shared_conflicts != s->shared_conflicts) return "bank conflicts";
    return r->ticks != s->ticks ? "ticks" : "";
}

static void compare(gi_rng *rng, const Op *op, const char *generic) {
    static Data before, after[WAYS];
    bool own = has(op, ".local") || strcmp(generic, "%rd7") == 0;
    bool own_block = has(op, ".shared") || strcmp(generic, "%rd8") == 0;
    uint32_t most = own ? OWN : own_block ? THREADS * OWN : has(op, ".param") ? TABLE : BYTES;
    char *text = program(op, generic);
    int faults = 0;
    for (int round = 0; round < ROUNDS; round++) {
        EmuResult r[WAYS];
        memset(r, 0, sizeof r);
        fill(rng, &before, op, most, round % 4 == 3);
        for (int way = 0; way < WAYS; way++) {
            after[way] = before;
            if (!run((Way)way, text, &after[way], &r[way])) ok(false, "%s runs", op->text);
            const char *what = difference(&after[0], &r[0], &after[way], &r[way]);
            if (*what)
                ok(false, "%s by %s, round %d: %s (%s; %s) %g %g", op->text, generic, round, what,
                   r[0].message, r[way].message, r[0].ticks, r[way].ticks);
        }
        faults += r[0].status != EMU_OK;
    }
    ok(faults <= ROUNDS / 4, "%s, %s: %d of %d fault", op->text, generic, faults, ROUNDS);
    free(text);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 3;
    gi_rng rng;
    printf("# seed %" PRIu64 "\n", seed);
    gi_rng_seed(&rng, seed);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        bool any = !has(&ops[i], ".global") && !has(&ops[i], ".shared") &&
                   !has(&ops[i], ".local") && !has(&ops[i], ".param");
        compare(&rng, &ops[i], any ? "%rd4" : "");
        if (!any) continue;
        compare(&rng, &ops[i], "%rd8");
        if (ops[i].text[0] == 'l' || ops[i].text[0] == 's') compare(&rng, &ops[i], "%rd7");
    }
    return tap_done();
}
