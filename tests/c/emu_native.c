/* Compiled code (exec/native.h) leaves the same bits, ticks and faults as the interpreter: one
** instruction at a time, of numbers at the edges, in whole warps and beside dead lanes; loads of
** shared memory whose lanes lie now so, now otherwise. emu_core_variants has random programs,
** tests/fuzz/emu_engines.c all others. */
#include "emu/exec/native.h"
#include "emu_core_run.h"

enum { THREADS = 128, BLOCKS = 8, WORDS = 16, N = THREADS * BLOCKS * WORDS };

static const char *const lines[] = {
    "add.u32 %r5, %r6, %r7;", "sub.u32 %r5, %r6, %r7;", "mul.lo.u32 %r5, %r6, %r7;",
    "mad.lo.u32 %r5, %r6, %r7, %r8;", "and.b32 %r5, %r6, %r7;", "or.b32 %r5, %r6, %r7;",
    "xor.b32 %r5, %r6, %r7;", "not.b32 %r5, %r6;", "neg.s32 %r5, %r6;", "abs.s32 %r5, %r6;",
    "shl.b32 %r5, %r6, %r7;", "shr.u32 %r5, %r6, %r7;", "shr.s32 %r5, %r6, %r7;",
    "min.s32 %r5, %r6, %r7;", "min.u32 %r5, %r6, %r7;", "max.s32 %r5, %r6, %r7;",
    "max.u32 %r5, %r6, %r7;", "mul.hi.s32 %r5, %r6, %r7;", "mul.hi.u32 %r5, %r6, %r7;",
    "mul.wide.s32 %rd5, %r6, %r7;", "mul.wide.u32 %rd5, %r6, %r7;",
    "mad.wide.s32 %rd5, %r6, %r7, %rd6;", "mad.wide.u32 %rd5, %r6, %r7, %rd6;",
    "lop3.b32 %r5, %r6, %r7, %r8, 0x6a;", "bfe.u32 %r5, %r6, %r7, %r8;", "div.u32 %r5, %r6, %r7;",
    "add.u64 %rd5, %rd6, %rd7;", "sub.u64 %rd5, %rd6, %rd7;", "mul.lo.u64 %rd5, %rd6, %rd7;",
    "mad.lo.u64 %rd5, %rd6, %rd7, %rd5;", "and.b64 %rd5, %rd6, %rd7;", "or.b64 %rd5, %rd6, %rd7;",
    "xor.b64 %rd5, %rd6, %rd7;", "not.b64 %rd5, %rd6;", "neg.s64 %rd5, %rd6;",
    "shl.b64 %rd5, %rd6, %r7;", "shr.u64 %rd5, %rd6, %r7;", "shr.s64 %rd5, %rd6, %r7;",
    "min.s64 %rd5, %rd6, %rd7;", "min.u64 %rd5, %rd6, %rd7;", "max.s64 %rd5, %rd6, %rd7;",
    "max.u64 %rd5, %rd6, %rd7;", "cvt.u64.u32 %rd5, %r6;", "cvt.s64.s32 %rd5, %r6;",
    "cvt.u32.u64 %r5, %rd6;", "cvt.s32.s8 %r5, %r6;", "cvt.u32.u16 %r5, %r6;",
    "cvt.s64.s16 %rd5, %rd6;", "cvt.u64.u8 %rd5, %rd6;", "mov.b64 %rd5, {%r6, %r7};",
    "mov.b64 {%r5, %r6}, %rd6;", "selp.b32 %r5, %r6, %r7, %p1;", "selp.b64 %rd5, %rd6, %rd7, %p1;",
    "setp.eq.u32 %p1, %r6, %r7;", "setp.lt.s32 %p1, %r6, %r7;", "setp.ge.u32 %p1, %r6, %r7;",
    "setp.eq.s64 %p1, %rd6, %rd7;", "setp.lt.s64 %p1, %rd6, %rd7;", "setp.hi.u64 %p1, %rd6, %rd7;",
    "setp.eq.f32 %p1, %f1, %f2;", "setp.ne.f32 %p1, %f1, %f2;", "setp.neu.f32 %p1, %f1, %f2;",
    "setp.lt.f32 %p1, %f1, %f2;", "setp.geu.f32 %p1, %f1, %f2;", "setp.nan.f32 %p1, %f1, %f2;",
    "setp.lt.f64 %p1, %d1, %d2;", "setp.neu.f64 %p1, %d1, %d2;", "setp.num.f64 %p1, %d1, %d2;",
    "and.pred %p1, %p1, %p2;", "or.pred %p1, %p1, %p2;", "xor.pred %p1, %p1, %p2;",
    "not.pred %p1, %p2;", "add.f32 %f3, %f1, %f2;", "sub.f32 %f3, %f1, %f2;",
    "mul.f32 %f3, %f1, %f2;", "fma.rn.f32 %f3, %f1, %f2, %f4;", "fma.rn.f32 %f3, %f1, %f2, %f3;",
    "div.rn.f32 %f3, %f1, %f2;", "sqrt.rn.f32 %f3, %f1;", "min.f32 %f3, %f1, %f2;",
    "max.f32 %f3, %f1, %f2;", "fma.rz.f32 %f3, %f1, %f2, %f4;", "fma.rm.f32 %f3, %f1, %f2, %f4;",
    "fma.rp.f32 %f3, %f1, %f2, %f4;", "fma.rn.f16x2 %r5, %r6, %r7, %r8;",
    "fma.rn.f16 %h1, %h2, %h3, %h1;", "add.f64 %d3, %d1, %d2;", "sub.f64 %d3, %d1, %d2;",
    "mul.f64 %d3, %d1, %d2;", "div.rn.f64 %d3, %d1, %d2;", "sqrt.rn.f64 %d3, %d1;",
    "fma.rn.f64 %d3, %d1, %d2, %d3;", "cvt.rn.f32.s32 %f3, %r6;", "cvt.rn.f32.u32 %f3, %r6;",
    "cvt.rzi.s32.f32 %r5, %f1;", "cvt.rni.s32.f32 %r5, %f1;", "cvt.rn.f64.s32 %d3, %r6;",
    "cvt.f64.f32 %d3, %f1;", "cvt.rn.f32.f64 %f3, %d1;", "cvt.rni.f32.f32 %f3, %f1;",
    "cvt.rmi.f32.f32 %f3, %f1;", "cvt.rpi.f32.f32 %f3, %f1;", "cvt.rzi.f32.f32 %f3, %f1;"};

/* A block of straight code with the line in it, twice, and neighbours that want registers, too. The
** last lanes of some warps are gone by then. */
static char *program(const char *line) {
    gi_buf b = {0};
    gi_buf_addf(
        &b,
        PTX_HEAD
        ".visible .entry k(.param .u64 out) { .reg .pred %%p<9>; .reg .b32 %%r<20>; .reg .f32 "
        "%%f<9>; .reg .b16 %%h<5>;\n"
        ".reg .f64 %%d<9>; .reg .b64 %%rd<20>;\nld.param.u64 %%rd0, [out]; mov.u32 %%r2, %%tid.x;\n"
        "mov.u32 %%r3, %%ctaid.x; mad.lo.u32 %%r1, %%r3, 128, %%r2; mul.wide.u32 %%rd1, %%r1, 64;\n"
        "add.u64 %%rd1, %%rd0, %%rd1; setp.ge.u32 %%p2, %%r2, 100; @%%p2 ret;\n"
        "ld.global.v4.b32 {%%r5, %%r6, %%r7, %%r8}, [%%rd1];\n"
        "ld.global.v4.b32 {%%f1, %%f2, %%f3, %%f4}, [%%rd1+16];\n"
        "ld.global.v2.b64 {%%rd5, %%rd6}, [%%rd1+32]; ld.global.v2.f64 {%%d1, %%d2}, [%%rd1+48];\n"
        "mov.b64 %%rd7, %%d2; mov.b64 %%d3, %%rd5; setp.lt.u32 %%p1, %%r5, %%r6;\n"
        "setp.lt.s32 %%p2, %%r7, %%r8; mov.b32 {%%h1, %%h2}, %%r6; mov.b32 {%%h3, %%h4}, %%r7;\n"
        "%s\nadd.u32 %%r9, %%r5, %%r2; xor.b32 %%r10, %%r9, %%r7; add.u64 %%rd8, %%rd5, %%rd1;\n"
        "%s\nadd.u32 %%r10, %%r10, %%r8; selp.b32 %%r11, %%r10, %%r9, %%p1;\n"
        "mov.b32 %%r12, {%%h1, %%h2};\n"
        "st.global.v4.b32 [%%rd1], {%%r5, %%r6, %%r11, %%r12};\n"
        "st.global.v4.b32 [%%rd1+16], {%%f1, %%f2, %%f3, %%f4};\n"
        "st.global.v2.b64 [%%rd1+32], {%%rd5, %%rd6}; st.global.v2.f64 [%%rd1+48], {%%d1, %%d3};\n"
        "ret; }\n",
        line, line);
    return b.data;
}

/* Rounds of loads: in each, lane i reads word (base + i * step) of one place or another. In the
** last, lanes of the last warp read beyond the end, where it faults. */
static const char loads[] = PTX_HEAD
    ".visible .entry k(.param .u64 out) { .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;\n"
    ".shared .align 16 .b8 s[4096];\n"
    "ld.param.u64 %rd0, [out]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x;\n"
    "mad.lo.u32 %r1, %r3, 128, %r2; mul.wide.u32 %rd1, %r1, 64; add.u64 %rd1, %rd0, %rd1;\n"
    "mov.u32 %r4, s; shl.b32 %r5, %r2, 5; add.u32 %r5, %r5, %r4;\n"
    "ld.global.v4.b32 {%r6, %r7, %r8, %r9}, [%rd1]; st.shared.v4.b32 [%r5], {%r6, %r7, %r8, %r9};\n"
    "st.shared.v4.b32 [%r5+16], {%r9, %r8, %r7, %r6}; bar.sync 0;\n"
    "mov.u32 %r10, 0; mov.u32 %r11, 0;\n"
    "LOOP: shr.u32 %r12, %r10, 7; and.b32 %r13, %r12, 7;\n"
    /* the step of this round: 0, 4, 16 ... bytes; or two places; or neighbours, 16 and 16 */
    "mul.lo.u32 %r14, %r2, 4; and.b32 %r15, %r14, 127;\n"
    "setp.eq.u32 %p1, %r13, 0; selp.b32 %r15, 16, %r15, %p1;\n"
    "and.b32 %r16, %r14, 64; setp.eq.u32 %p2, %r13, 2; selp.b32 %r15, %r16, %r15, %p2;\n"
    "and.b32 %r17, %r14, 60; mad.lo.u32 %r18, %r16, 5, %r17; setp.eq.u32 %p3, %r13, 3;\n"
    "selp.b32 %r15, %r18, %r15, %p3; shl.b32 %r19, %r15, 2; setp.eq.u32 %p4, %r13, 4;\n"
    "selp.b32 %r15, %r19, %r15, %p4; shl.b32 %r19, %r15, 1; setp.eq.u32 %p6, %r13, 5;\n"
    "selp.b32 %r15, %r19, %r15, %p6;\n"
    "and.b32 %r20, %r10, 48; add.u32 %r15, %r15, %r20; add.u32 %r15, %r15, %r4;\n"
    "ld.shared.b32 %r21, [%r15]; add.u32 %r11, %r11, %r21;\n"
    "ld.shared.b32 %r22, [%r15+64]; xor.b32 %r11, %r11, %r22;\n"
    "and.b32 %r23, %r15, -16; ld.shared.v4.b32 {%r24, %r25, %r26, %r27}, [%r23+128];\n"
    "add.u32 %r11, %r11, %r24; add.u32 %r11, %r11, %r27; xor.b32 %r11, %r11, %r25;\n"
    "add.u32 %r10, %r10, 1; setp.lt.u32 %p5, %r10, 1024; @%p5 bra LOOP;\n"
    "st.global.b32 [%rd1+4], %r11; mul.lo.u32 %r28, %r2, 30; add.u32 %r28, %r28, 320;\n"
    "and.b32 %r28, %r28, -4; add.u32 %r28, %r28, %r4; add.u32 %r10, %r10, %r28;\n"
    "ld.shared.b32 %r29, [%r28]; add.u32 %r10, %r10, %r29; st.global.b32 [%rd1], %r10; ret; }\n";

/* Neighbours that come nearer to the end of shared memory until the last of them is beyond it. */
static const char beyond[] = PTX_HEAD
    ".visible .entry k(.param .u64 out) { .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;\n"
    ".shared .align 16 .b8 s[4096];\n"
    "ld.param.u64 %rd0, [out]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x;\n"
    "mad.lo.u32 %r1, %r3, 128, %r2; mul.wide.u32 %rd1, %r1, 64; add.u64 %rd1, %rd0, %rd1;\n"
    "mov.u32 %r4, s; shl.b32 %r5, %r2, 5; add.u32 %r6, %r5, %r4; st.shared.b32 [%r6], %r2;\n"
    "shl.b32 %r5, %r2, 2; add.u32 %r6, %r5, %r4; mov.u32 %r10, 0; mov.u32 %r11, 0; bar.sync 0;\n"
    "LOOP: ld.shared.b32 %r12, [%r6]; add.u32 %r11, %r11, %r12; add.u32 %r6, %r6, 16;\n"
    "add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 230; @%p1 bra LOOP;\n"
    "st.global.b32 [%rd1], %r11; ret; }\n";

/* A uniform load at word 0 of shared memory, and one 4 bytes before it by the same 64-bit base. */
static const char before[] = PTX_HEAD
    ".visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
    ".shared .align 16 .b8 s[4096];\n"
    "ld.param.u64 %rd0, [out]; mov.u32 %r1, s; mov.u32 %r2, 7; st.shared.b32 [%r1], %r2;\n"
    "cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd1, -4; bar.sync 0;\n"
    "ld.shared.b32 %r3, [%rd1+4]; add.u32 %r4, %r3, 1; add.u32 %r5, %r4, %r3;\n"
    "ld.shared.b32 %r6, [%rd1]; add.u32 %r7, %r6, %r5; add.u32 %r8, %r7, %r4;\n"
    "st.global.b32 [%rd0], %r8; ret; }\n";

/* Every second word, in whole warps and then in one whose last lanes are gone: these have addresses
** as if they were there, and no bank conflict. */
static const char partial[] = PTX_HEAD
    ".visible .entry k(.param .u64 out) { .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;\n"
    ".shared .align 16 .b8 s[4096];\n"
    "ld.param.u64 %rd0, [out]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x;\n"
    "mad.lo.u32 %r1, %r3, 128, %r2; mul.wide.u32 %rd1, %r1, 64; add.u64 %rd1, %rd0, %rd1;\n"
    "mov.u32 %r4, s; shl.b32 %r5, %r2, 3; add.u32 %r6, %r5, %r4; st.shared.b32 [%r6], %r2;\n"
    "bar.sync 0; setp.ge.u32 %p1, %r2, 108; @%p1 ret; mov.u32 %r10, 0; mov.u32 %r11, 0;\n"
    "LOOP: ld.shared.b32 %r12, [%r6]; add.u32 %r11, %r11, %r12; xor.b32 %r13, %r11, %r10;\n"
    "add.u32 %r11, %r13, %r12; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 64; @%p1 bra LOOP;\n"
    "st.global.b32 [%rd1], %r11; ret; }\n";

static bool run(bool native, const char *text, uint32_t *data, EmuResult *r, int *runs) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err = {.message = ""};
    e->native = native;
    uint64_t at = emu_map(e, data, N * 4, false, "data");
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    EmuLaunch l = {.kernel = "k", .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, .params = &at};
    bool ran = m && emu_launch(m, &l, r, &err);
    if (!ran) printf("# %s\n", err.message);
    *runs = 0;
    for (int i = 0; m && m->code[0].native && i < m->code[0].n_ins; i++)
        *runs += m->code[0].native[i].fn != NULL;
    emu_unload(m);
    emu_free(e);
    return ran;
}

static uint32_t random_word(gi_rng *rng) {
    static const uint32_t edges[] = {
        0,           1,           0x80000000u, 0x7fffffffu, 0xffffffffu, 0x3f800000u, 0x7f800000u,
        0xff800000u, 0x7fc00001u, 0x00400000u, 0x80000001u, 0x4b000000u, 31,          33,
        0x7ff00000u, 0xfff80000u, 0x3c003c00u, 0x7c00fc00u, 0x4f000000u, 0xcf000000u, 64};
    return gi_rng_below(rng, 3) ? (uint32_t)gi_rng_next(rng)
                                : edges[gi_rng_below(rng, sizeof edges / sizeof *edges)];
}

static void compare(const char *text, const char *name, EmuStatus status, const uint32_t *start) {
    static uint32_t one[N], two[N];
    EmuResult a = {0}, b = {0};
    int none, runs;
    memcpy(one, start, sizeof one), memcpy(two, start, sizeof two);
    bool ran = run(false, text, one, &a, &none) && run(true, text, two, &b, &runs);
    int at = 0;
    while (ran && at < N && one[at] == two[at]) at++;
    bool same = ran && a.ticks == b.ticks && a.status == status && b.status == status &&
                strcmp(a.message, b.message) == 0 && a.shared_conflicts == b.shared_conflicts;
    if (!ok(same && at == N && none == 0 && runs > 0, "%s", name) && ran)
        printf("# word %d: 0x%08x, compiled 0x%08x; %d runs; ticks %g and %g\n# %s\n# %s\n", at,
               at < N ? one[at] : 0, at < N ? two[at] : 0, runs, a.ticks, b.ticks, a.message,
               b.message);
}

int main(void) {
    static uint32_t start[N];
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    const bool compiles = e->native;
    emu_free(e);
    if (!compiles) {
        printf("1..0 # SKIP this processor has no AVX-512, or GILUA_NATIVE is off\n");
        return 0;
    }
    gi_rng rng;
    gi_rng_seed(&rng, 5);
    for (int i = 0; i < N; i++) start[i] = random_word(&rng);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *text = program(lines[i]);
        compare(text, lines[i], EMU_OK, start);
        free(text);
    }
    compare(loads, "loads whose lanes lie otherwise in each round, and one beyond the end",
            EMU_ILLEGAL_ADDRESS, start);
    compare(beyond, "neighbours that move on beyond the end", EMU_ILLEGAL_ADDRESS, start);
    compare(before, "a uniform load before the first byte, by the base of one that is inside",
            EMU_ILLEGAL_ADDRESS, start);
    compare(partial, "bank conflicts of a warp whose last lanes are gone", EMU_OK, start);
    return tap_done();
}
