/* emu_fp8.c - numbers of 8 bits: every one of them to f16, and floats and halves to them, against a
** table of their values that is searched for the nearest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu.h"
#include "emu_model.h"
#include "tap.h"

enum { N = 65536 };

typedef struct Data {
    uint32_t in[2][N], out[N];
} Data;

static Data data;

/* Thread i: $a, $b = in[0][i], in[1][i]; out[i] = $d. */
static bool run(const char *text) {
    gi_buf b = {0};
    gi_err err = {.message = ""};
    EmuModel model = emu_model_round();
    EmuResult r = {0};
    Emu *e = emu_new(&model);
    gi_buf_addf(&b,
                ".version 8.6\n.target sm_90\n.address_size 64\n"
                ".visible .entry k(.param .u64 at) {\n"
                ".reg .b16 %%h<4>; .reg .b32 %%r<9>; .reg .f32 %%f<4>; .reg .b64 %%rd<4>;\n"
                "ld.param.u64 %%rd1, [at]; mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x;\n"
                "mad.lo.u32 %%r3, %%r2, 256, %%r1; mul.wide.u32 %%rd2, %%r3, 4;\n"
                "add.u64 %%rd3, %%rd1, %%rd2; ld.global.u32 %%r4, [%%rd3];\n"
                "ld.global.u32 %%r5, [%%rd3+%d]; mov.b32 %%f1, %%r4; mov.b32 %%f2, %%r5;\n"
                "cvt.u16.u32 %%h1, %%r4; %s; st.global.u32 [%%rd3+%d], %%r6; ret; }\n",
                4 * N, text, 8 * N);
    uint64_t at = emu_map(e, &data, sizeof data, false, "data");
    EmuModule *m = emu_load(e, b.data, b.len, &err);
    EmuLaunch l = {.kernel = "k", .grid = {N / 256, 1, 1}, .block = {256, 1, 1}, .params = &at};
    bool fine = m && emu_launch(m, &l, &r, &err) && r.status == EMU_OK;
    if (!fine) printf("# %s%s\n", err.message, m ? r.message : "");
    if (m) emu_unload(m);
    emu_free(e);
    gi_buf_free(&b);
    return fine;
}

/* --- what the numbers are: the definition of their formats --- */

static bool is_wide; /* e5m2 */

static double value_of(uint32_t bits) {
    int exponent = (int)(bits & 0x7f) >> (is_wide ? 2 : 3), bias = is_wide ? 15 : 7;
    double fraction = is_wide ? (bits & 3) / 4.0 : (bits & 7) / 8.0;
    double size = exponent ? pow(2, exponent - bias) * (1 + fraction) : pow(2, 1 - bias) * fraction;
    if (is_wide ? (bits & 0x7f) > 0x7c : (bits & 0x7f) == 0x7f) return (double)NAN;
    if (is_wide && exponent == 31) size = (double)INFINITY;
    return bits & 0x80 ? -size : size;
}

static double values[128]; /* of those that are positive */

static uint32_t nearest(double x, bool relu) {
    uint32_t most = is_wide ? 0x7b : 0x7e, best = 0;
    if (x != x) return 0x7f;
    for (uint32_t k = 1; k <= most; k++) {
        double now = fabs(values[k] - fabs(x)), had = fabs(values[best] - fabs(x));
        if (now < had || (now == had && k % 2 == 0)) best = k;
    }
    if (fabs(x) > values[most]) best = most;
    if (signbit(x)) best = relu ? 0 : best | 0x80;
    return best;
}

static double half(uint32_t h) {
    int exponent = (int)(h >> 10 & 31);
    double fraction = (h & 1023) / 1024.0;
    double size = exponent ? pow(2, exponent - 15) * (1 + fraction) : pow(2, -14) * fraction;
    if (exponent == 31) size = h & 1023 ? (double)NAN : (double)INFINITY;
    return h & 0x8000 ? -size : size;
}

static double single(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return (double)x;
}

/* --- each way --- */

static void check_wider(const char *type, bool relu) {
    char text[128];
    int wrong = 0;
    for (uint32_t i = 0; i < N; i++) data.in[0][i] = i;
    snprintf(text, sizeof text, "cvt.rn%s.f16x2.%s %%r6, %%h1", relu ? ".relu" : "", type);
    bool ran = run(text);
    for (uint32_t i = 0; i < N; i++)
        for (int k = 0; k < 2; k++) {
            uint32_t got = data.out[i] >> (16 * k) & 0xffff;
            double want = value_of(i >> (8 * k) & 0xff), x = half(got);
            if (relu && signbit(want)) want = 0;
            bool same = want != want ? got == 0x7fff : x == want && signbit(x) == signbit(want);
            wrong += !same;
        }
    ok(ran && wrong == 0, "%s: %d differ", text, wrong);
}

static uint32_t some_float(gi_rng *rng, uint32_t i) {
    static const uint32_t edges[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                     0xffc00001, 0x43e00000, 0x43e80000, 0x43e80001, 0x47600000,
                                     0x47700000, 0x47700001, 0x7f7fffff, 0x00000001, 0x3a800000};
    if (i < sizeof edges / sizeof *edges) return edges[i];
    uint32_t bits = 0x36000000 + (uint32_t)gi_rng_below(rng, 0x12800000);
    if (i % 3 == 0) bits &= 0xfff80000; /* ties */
    return bits | (i % 2 ? 0x80000000 : 0);
}

static void check_floats(const char *type, bool relu) {
    char text[128];
    int wrong = 0;
    gi_rng rng;
    gi_rng_seed(&rng, 3);
    for (uint32_t i = 0; i < N; i++)
        data.in[0][i] = some_float(&rng, i), data.in[1][N - 1 - i] = data.in[0][i];
    snprintf(text, sizeof text,
             "cvt.rn.satfinite%s.%s.f32 %%h2, %%f1, %%f2; cvt.u32.u16 %%r6, %%h2",
             relu ? ".relu" : "", type);
    bool ran = run(text);
    for (uint32_t i = 0; i < N; i += i < 64 ? 1 : 7) {
        uint32_t high = nearest(single(data.in[0][i]), relu);
        wrong += data.out[i] != (high << 8 | nearest(single(data.in[1][i]), relu));
    }
    ok(ran && wrong == 0, "%s: %d differ", text, wrong);
}

static void check_halves(const char *type) {
    char text[128];
    int wrong = 0;
    for (uint32_t i = 0; i < N; i++) data.in[0][i] = i | ((i * 40503) & 0xffff) << 16;
    snprintf(text, sizeof text,
             "cvt.rn.satfinite.%s.f16x2 %%h2, %%r4; cvt.u32.u16 %%r6, %%h2", type);
    bool ran = run(text);
    for (uint32_t i = 0; i < N; i += 5) {
        uint32_t high = nearest(half(data.in[0][i] >> 16), false);
        wrong += data.out[i] != (high << 8 | nearest(half(i), false));
    }
    ok(ran && wrong == 0, "%s: %d differ", text, wrong);
}

int main(void) {
    for (int k = 0; k < 2; k++) {
        const char *type = k ? "e5m2x2" : "e4m3x2";
        is_wide = k;
        for (uint32_t i = 0; i < 128; i++) values[i] = value_of(i);
        for (int relu = 0; relu < 2; relu++) check_wider(type, relu), check_floats(type, relu);
        check_halves(type);
    }
    return tap_done();
}
