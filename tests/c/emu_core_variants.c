/* The builds of the fast loop, baseline, AVX2 and AVX-512, and compiled code give identical bits
** and ticks. */
#include "emu/core.h"
#include "emu_core_run.h"

enum { N = 4096, ROUNDS = 24, COMPILED = VECTORS_AVX512 + 1 };

static const char *const lines[] = {"add.f32 %f1, %f2, %f3;",
                                    "sub.f32 %f2, %f1, %f4;",
                                    "mul.f32 %f3, %f1, %f2;",
                                    "fma.rn.f32 %f4, %f1, %f2, %f3;",
                                    "fma.rn.ftz.f32 %f1, %f4, %f2, %f3;",
                                    "div.rn.f32 %f2, %f1, %f3;",
                                    "sqrt.rn.f32 %f3, %f2;",
                                    "min.f32 %f1, %f2, %f4;",
                                    "max.f32 %f4, %f1, %f3;",
                                    "add.sat.f32 %f2, %f2, %f1;",
                                    "abs.f32 %f3, %f3;",
                                    "cvt.rzi.s32.f32 %r5, %f1;",
                                    "cvt.rni.s32.f32 %r6, %f3;",
                                    "cvt.rn.f32.s32 %f1, %r7;",
                                    "cvt.rn.f32.u32 %f2, %r8;",
                                    "cvt.f64.f32 %d1, %f1;",
                                    "add.f64 %d2, %d1, %d3;",
                                    "mul.f64 %d3, %d2, %d1;",
                                    "fma.rn.f64 %d1, %d1, %d2, %d3;",
                                    "div.rn.f64 %d2, %d1, %d3;",
                                    "sqrt.rn.f64 %d3, %d2;",
                                    "cvt.rn.f32.f64 %f4, %d1;",
                                    "cvt.rmi.f32.f32 %f3, %f1;",
                                    "cvt.rpi.f32.f32 %f2, %f4;",
                                    "mul.lo.u32 %r5, %r6, %r7;",
                                    "mul.hi.s32 %r6, %r5, %r8;",
                                    "mul.wide.s32 %rd5, %r5, %r6;",
                                    "shl.b32 %r7, %r5, %r8;",
                                    "shr.s32 %r8, %r6, %r5;",
                                    "shr.u64 %rd6, %rd5, %r7;",
                                    "div.s32 %r5, %r8, %r6;",
                                    "rem.u32 %r6, %r5, %r7;",
                                    "div.u32 %r7, %r6, %r8;",
                                    "min.s32 %r8, %r5, %r6;",
                                    "max.u64 %rd5, %rd5, %rd6;",
                                    "xor.b32 %r5, %r5, %r8;",
                                    "setp.ltu.f32 %p1, %f1, %f2;",
                                    "@%p1 xor.b32 %r6, %r6, %r5;",
                                    "selp.f32 %f3, %f1, %f2, %p1;",
                                    "setp.gt.s64 %p2, %rd5, %rd6;",
                                    "@%p2 add.f32 %f4, %f4, %f3;",
                                    "lop3.b32 %r7, %r5, %r6, %r8, 0x6a;",
                                    "cvt.u32.u64 %r8, %rd5;",
                                    "mov.b64 {%r5, %r6}, %d1;",
                                    "mov.b32 %r8, %f1;",
                                    "abs.s32 %r5, %r6;",
                                    "popc.b32 %r6, %r5;"};

static char *program(gi_rng *rng) {
    gi_buf b = {0};
    gi_buf_adds(
        &b, PTX_HEAD
        ".visible .entry k(.param .u64 out) { .reg .pred %p<9>; .reg .b32 %r<20>; .reg .f32 "
        "%f<9>;\n"
        ".reg .f64 %d<9>; .reg .b64 %rd<20>;\nld.param.u64 %rd0, [out]; mov.u32 %r2, %tid.x;\n"
        "mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r3, 128, %r2; mul.wide.u32 %rd1, %r1, 32; add.u64 "
        "%rd1, %rd0, %rd1;\n"
        "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd1]; ld.global.v4.b32 {%f1, %f2, %f3, %f4}, "
        "[%rd1+16];\n"
        "ld.global.v2.b64 {%rd5, %rd6}, [%rd1]; ld.global.v2.f64 {%d1, %d2}, [%rd1+16]; mov.b64 "
        "%d3, %rd5;\n"
        "setp.lt.u32 %p1, %r2, 70; setp.ge.u32 %p2, %r2, 50; @%p2 bra SKIP;\n");
    int n = (int)(sizeof lines / sizeof *lines);
    for (int i = 0; i < 60; i++) {
        gi_buf_addf(&b, "%s\n", lines[gi_rng_below(rng, (uint64_t)n)]);
        if (i == 30)
            gi_buf_adds(&b, "SKIP:\n"); /* before it under a mask, after it with all lanes */
    }
    gi_buf_adds(&b, "st.global.v4.b32 [%rd1], {%r5, %r6, %r7, %r8}; st.global.v4.b32 [%rd1+16], "
                    "{%f1, %f2, %f3, %f4};\n"
                    "xor.b64 %rd5, %rd5, %rd6; st.global.b64 [%rd1+8], %rd5; st.global.f64 [%rd1], "
                    "%d1; ret; }\n");
    return b.data;
}

static bool run_variant(int vectors, const char *text, uint32_t *data, EmuResult *r) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err = {.message = ""};
    e->native = vectors == COMPILED;
    e->vectors = vectors == COMPILED ? VECTORS_AVX512 : vectors;
    uint64_t at = emu_map(e, data, N * 4, false, "data");
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    EmuLaunch l = {.kernel = "k", .grid = {4, 1, 1}, .block = {128, 1, 1}, .params = &at};
    bool fine = m && emu_launch(m, &l, r, &err) && r->status == EMU_OK;
    if (!fine) printf("# %s%s\n", err.message, m ? r->message : "");
    emu_unload(m);
    emu_free(e);
    return fine;
}

static uint32_t random_word(gi_rng *rng) {
    static const uint32_t edges[] = {
        0,           1,           0x80000000u, 0x7fffffffu, 0xffffffffu, 0x3f800000u, 0x7f800000u,
        0xff800000u, 0x7fc00001u, 0x00400000u, 0x80000001u, 0x4b000000u, 31,          33};
    return gi_rng_below(rng, 3) ? (uint32_t)gi_rng_next(rng)
                                : edges[gi_rng_below(rng, sizeof edges / sizeof *edges)];
}

/* One more build, from `start`; wanted: what the first one left, NULL: it failed. */
static void compare(int round, int vectors, const char *text, const uint32_t *start,
                    const uint32_t *wanted, const EmuResult *first) {
    static uint32_t got[N];
    EmuResult r = {0};
    memcpy(got, start, sizeof got);
    bool ran = wanted && run_variant(vectors, text, got, &r);
    int at = 0;
    while (ran && at < N && wanted[at] == got[at]) at++;
    if (ok(ran && at == N && first->ticks == r.ticks,
           "random program %d: same bits, same ticks as %s", round,
           vectors == VECTORS_AVX2 ? "AVX2" : vectors == COMPILED ? "compiled" : "AVX-512"))
        return;
    if (ran && at < N) printf("# word %d: 0x%08x and 0x%08x\n", at, wanted[at], got[at]);
    printf("%s", text);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 7;
    printf("# seed %" PRIu64 "\n", seed);
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    int best = e->vectors + e->native;
    emu_free(e);
    if (best == VECTORS_BASE) {
        printf("1..0 # SKIP this processor has no AVX2\n");
        return 0;
    }
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    for (int round = 0; round < ROUNDS; round++) {
        static uint32_t start[N], one[N];
        for (int i = 0; i < N; i++) start[i] = random_word(&rng);
        char *text = program(&rng);
        EmuResult a = {0};
        memcpy(one, start, sizeof one);
        bool ran = run_variant(VECTORS_BASE, text, one, &a);
        for (int vectors = VECTORS_AVX2; vectors <= best; vectors++)
            compare(round, vectors, text, start, ran ? one : NULL, &a);
        free(text);
    }
    return tap_done();
}
