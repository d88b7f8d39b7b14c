/* Three fused multiply-adds in a row are run in one go: each sees the results of those before it,
** and lanes that wait elsewhere keep their values. Numbers are small integers, so exact. */
#include "emu/core.h"
#include "emu/decode/ops.h"
#include "emu_core_run.h"

enum { N = 32 };

static const char text[] = PTX_HEAD
    ".visible .entry k(.param .u64 out) { .reg .pred %p<2>; .reg .b32 %r<4>; .reg .f32 %f<9>;\n"
    ".reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd0, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 16;\n"
    "add.u64 %rd1, %rd0, %rd1; cvt.rn.f32.u32 %f1, %r1;\n"
    "mov.f32 %f2, 0fBF800000; mov.f32 %f3, 0fBF800000; mov.f32 %f4, 0fBF800000;\n"
    "mov.f32 %f5, 0f40000000; setp.ge.u32 %p1, %r1, 20; @%p1 bra SKIP;\n"
    "fma.rn.f32 %f2, %f1, %f5, %f5; fma.rn.f32 %f3, %f2, %f2, %f1; fma.rn.f32 %f4, %f3, %f5, %f2;\n"
    "fma.rn.f32 %f1, %f1, %f5, %f1;\n"
    "SKIP: st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4}; ret; }\n";

static void expect(int lane, float v[4]) {
    float t = (float)lane;
    v[0] = t, v[1] = v[2] = v[3] = -1;
    if (lane >= 20) return;
    v[1] = 2 * t + 2;
    v[2] = v[1] * v[1] + t;
    v[3] = 2 * v[2] + v[1];
    v[0] = 3 * t;
}

static void run(int vectors) {
    static const char *const names[] = {"baseline", "AVX2", "AVX-512"};
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    gi_err err = {.message = ""};
    if (vectors < e->vectors) e->vectors = vectors;
    float data[N][4] = {{0}};
    uint64_t at = emu_map(e, data, sizeof data, false, "data");
    EmuModule *m = emu_load(e, text, strlen(text), &err);
    EmuLaunch l = {.kernel = "k", .grid = {1, 1, 1}, .block = {N, 1, 1}, .params = &at};
    EmuResult r = {0};
    bool ran = m && emu_launch(m, &l, &r, &err) && r.status == EMU_OK;
    if (!ran) printf("# %s%s\n", err.message, r.message);
    int joined = 0, bad = 0;
    for (int i = 0; m && i < m->code[0].n_ins; i++) joined += m->code[0].ins[i].op == OP_FMA_F_X3;
    ok(joined == 1, "the first three of four are joined, %s", names[vectors]);
    for (int i = 0; i < N; i++) {
        float v[4];
        expect(i, v);
        bad += memcmp(v, data[i], sizeof v) != 0;
    }
    ok(ran && bad == 0, "every lane has its values (%d have not)", bad);
    emu_unload(m);
    emu_free(e);
}

int main(void) {
    for (int vectors = VECTORS_BASE; vectors <= VECTORS_AVX512; vectors++) run(vectors);
    return tap_done();
}
