/* A product, three words that all lanes load from one place in shared memory, and three sums that
** take each word times the product: done in one go (fuse.c), unless the lanes read different
** places. Lanes that wait elsewhere keep their values. Sums that only arithmetic reads are done
** with less care. Numbers are small integers, so exact. */
#include "emu/core.h"
#include "emu/decode/ops.h"
#include "emu_core_run.h"

enum { N = 32, ACTIVE = 20 };

/* %s: how far apart the lanes read, in bytes; the sums; a second reader of the product, or
** nothing. */
static const char text[] = PTX_HEAD
    ".extern .shared .align 16 .b8 sm[];\n"
    ".visible .entry k(.param .u64 out) { .reg .pred %%p<2>; .reg .b32 %%r<6>;\n"
    ".reg .f32 %%f<24>; .reg .b64 %%rd<6>;\n"
    "ld.param.u64 %%rd0, [out]; mov.u32 %%r1, %%tid.x; mul.wide.u32 %%rd1, %%r1, 16;\n"
    "mov.u64 %%rd2, sm; add.u64 %%rd3, %%rd2, %%rd1; add.u64 %%rd1, %%rd0, %%rd1;\n"
    "cvt.rn.f32.u32 %%f1, %%r1; add.f32 %%f2, %%f1, 0f3F800000; add.f32 %%f3, %%f2, 0f3F800000;\n"
    "st.shared.v4.f32 [%%rd3], {%%f1, %%f2, %%f3, %%f1}; bar.sync 0;\n"
    "mov.f32 %%f4, 0fBF800000; mov.f32 %%f5, 0fBF800000; mov.f32 %%f6, 0fBF800000;\n"
    "mov.f32 %%f7, 0fBF800000; setp.ge.u32 %%p1, %%r1, 20; @%%p1 bra SKIP;\n"
    "mul.lo.u32 %%r2, %%r1, %s; cvt.u64.u32 %%rd4, %%r2; add.u64 %%rd4, %%rd2, %%rd4;\n"
    "mul.f32 %%f8, %%f1, %%f2;\n"
    "ld.shared.v4.f32 {%%f9, %%f10, %%f11, %%f12}, [%%rd4+48];\n"
    "%s\n%s\n"
    "SKIP: st.global.v4.f32 [%%rd1], {%%f4, %%f5, %%f6, %%f7}; ret; }\n";

static const char stored[] = "fma.rn.f32 %f4, %f11, %f8, %f1; fma.rn.f32 %f5, %f8, %f9, %f4;\n"
                             "fma.rn.f32 %f6, %f10, %f8, %f5;";
static const char read_on[] =
    "fma.rn.f32 %f13, %f11, %f8, %f1; fma.rn.f32 %f14, %f8, %f9, %f13;\n"
    "fma.rn.f32 %f15, %f10, %f8, %f14;\n"
    "mul.f32 %f4, %f13, 0f3F800000; mul.f32 %f5, %f14, 0f3F800000; mul.f32 %f6, %f15, 0f3F800000;";

typedef struct Case {
    const char *step, *sums, *more, *says;
    EmuOp joined; /* 0: not */
} Case;

static const Case cases[] = {
    {"0", stored, "", "one place for all lanes", OP_WEIGH_SHARED},
    {"0", read_on, "", "one place, sums that are read on", OP_WEIGH_SHARED_N},
    {"16", stored, "", "a place for each lane", OP_WEIGH_SHARED},
    {"16", read_on, "", "a place for each lane, sums that are read on", OP_WEIGH_SHARED_N},
    {"0", stored, "mov.f32 %f7, %f8;", "the product is needed later", 0},
    {"0", stored, "mov.f32 %f7, %f9;", "a word is needed later", 0},
    {"0", stored, "mov.f32 %f7, %f12;", "the fourth word is needed, too", 0},
};

static void expect(const Case *c, int lane, float v[4]) {
    float t = (float)lane, at = (float)(strcmp(c->step, "0") == 0 ? 3 : lane + 3);
    v[0] = v[1] = v[2] = v[3] = -1;
    if (lane >= ACTIVE) return;
    float product = t * (t + 1);
    v[0] = (at + 2) * product + t;
    v[1] = at * product + v[0];
    v[2] = (at + 1) * product + v[1];
    if (c->more[0]) v[3] = strstr(c->more, "%f8") ? product : at;
}

static int count(const EmuModule *m, EmuOp op) {
    int n = 0;
    for (int i = 0; m && i < m->code[0].n_ins; i++) n += m->code[0].ins[i].op == op;
    return n;
}

static void run(const Case *c, int vectors) {
    static const char *const names[] = {"baseline", "AVX2", "AVX-512"};
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err = {.message = ""};
    if (vectors < e->vectors) e->vectors = vectors;
    float data[N][4] = {{0}};
    char ptx[sizeof text + 400];
    snprintf(ptx, sizeof ptx, text, c->step, c->sums, c->more);
    uint64_t at = emu_map(e, data, sizeof data, false, "data");
    EmuModule *m = emu_load(e, ptx, strlen(ptx), &err);
    EmuLaunch l = {.kernel = "k",
                   .grid = {1, 1, 1},
                   .block = {N, 1, 1},
                   .shared_bytes = N * 16,
                   .params = &at};
    EmuResult r = {0};
    bool ran = m && emu_launch(m, &l, &r, &err) && r.status == EMU_OK;
    if (!ran) printf("# %s%s\n", err.message, r.message);
    int n = count(m, OP_WEIGH_SHARED) + count(m, OP_WEIGH_SHARED_N);
    ok(n == (c->joined != 0) && (n == 0 || count(m, c->joined) == 1), "%s: %s, %s", c->says,
       c->joined ? "joined" : "not joined", names[vectors]);
    int bad = 0;
    for (int i = 0; i < N; i++) {
        float v[4];
        expect(c, i, v);
        bad += memcmp(v, data[i], sizeof v) != 0;
    }
    ok(ran && bad == 0, "every lane has its values (%d have not)", bad);
    emu_unload(m);
    emu_free(e);
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int vectors = VECTORS_BASE; vectors <= VECTORS_AVX512; vectors++)
            run(&cases[i], vectors);
    }
    return tap_done();
}
