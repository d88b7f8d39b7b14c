/* emu_ops_speed.c - a benchmark, not a test: how many times a second the virtual GPU does one
** instruction for one lane, by instruction and by how the lanes' addresses lie.
**
** emu_ops_speed [PART [STEPS]]   only rows whose names have PART in them; STEPS: loops of a launch
**
** Each row is a kernel of 8 blocks of 256 threads that does little else. Printed are millions of
** lane operations a second of processor time, the best of a few launches, and a mark where they
** are fewer than the 300 that every row shall reach. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile/compile.h"
#include "emu/emu.h"
#include "emu_model.h"

enum { BLOCKS = 8, THREADS = 256, COPIES = 16, ALL = BLOCKS * THREADS };
#define FLOOR 300.0

/* Registers that a row finds: %r1 thread of the grid, %r2 of the block, %rd0 a buffer of 256 bytes
** a thread, %r20 shared memory of 64 bytes a thread; %f, %h, %x, %d: values around 1 in f32, f16,
** two f16 or bf16, f64. `before` is done once. */
typedef struct Row {
    const char *name, *before, *body;
} Row;

static const Row rows[] = {
    {"f32 fma", "", "fma.rn.f32 %f1, %f1, %f2, %f3;"},
    {"f32 div.rn", "", "div.rn.f32 %f1, %f1, %f2;"},
    {"f32 sqrt.rn", "", "sqrt.rn.f32 %f1, %f2;"},
    {"f32 div.full", "", "div.full.f32 %f1, %f1, %f2;"},
    {"f32 rcp.approx", "", "rcp.approx.ftz.f32 %f1, %f1;"},
    {"f32 rsqrt.approx", "", "rsqrt.approx.ftz.f32 %f1, %f1;"},
    {"f32 sqrt.approx", "", "sqrt.approx.ftz.f32 %f1, %f1;"},
    {"f32 ex2.approx", "", "ex2.approx.ftz.f32 %f1, %f2;"},
    {"f32 lg2.approx", "", "lg2.approx.ftz.f32 %f1, %f2;"},
    {"f32 sin.approx", "", "sin.approx.f32 %f1, %f2;"},
    {"f32 add.rz", "", "add.rz.f32 %f1, %f1, %f2;"},
    {"f32 fma.rm", "", "fma.rm.f32 %f4, %f1, %f2, %f3;"},
    {"f64 fma", "", "fma.rn.f64 %d1, %d1, %d2, %d3;"},
    {"f64 div", "", "div.rn.f64 %d1, %d2, %d3;"},
    {"f64 sqrt", "", "sqrt.rn.f64 %d1, %d2;"},
    {"f64 min", "", "min.f64 %d1, %d1, %d2;"},

    {"f16 add", "", "add.f16 %h1, %h1, %h2;"},
    {"f16 mul", "", "mul.f16 %h1, %h1, %h2;"},
    {"f16 fma", "", "fma.rn.f16 %h1, %h1, %h2, %h3;"},
    {"f16 fma.sat", "", "fma.rn.sat.f16 %h1, %h1, %h2, %h3;"},
    {"f16 max", "", "max.f16 %h1, %h1, %h2;"},
    {"f16 neg", "", "neg.f16 %h1, %h1;"},
    {"f16 setp", "", "setp.lt.f16 %p1, %h1, %h2;"},
    {"f16 to f32", "", "cvt.f32.f16 %f1, %h2;"},
    {"f32 to f16", "", "cvt.rn.f16.f32 %h1, %f2;"},
    {"f16 from s32", "", "cvt.rn.f16.s32 %h1, %r1;"},
    {"f16 to s32", "", "cvt.rzi.s32.f16 %r5, %h2;"},
    {"f16x2 add", "", "add.f16x2 %x1, %x1, %x2;"},
    {"f16x2 fma", "", "fma.rn.f16x2 %x1, %x1, %x2, %x3;"},
    {"f16x2 max", "", "max.f16x2 %x1, %x1, %x2;"},
    {"f32s to f16x2", "", "cvt.rn.f16x2.f32 %x1, %f1, %f2;"},
    {"bf16 add", "", "add.rn.bf16 %h1, %h1, %h2;"},
    {"bf16 fma", "", "fma.rn.bf16 %h4, %h5, %h6, %h5;"},
    {"bf16 max", "", "max.bf16 %h4, %h5, %h6;"},
    {"bf16 to f32", "", "cvt.f32.bf16 %f1, %h5;"},
    {"f32 to bf16", "", "cvt.rn.bf16.f32 %h4, %f2;"},
    {"bf16x2 fma", "", "fma.rn.bf16x2 %x1, %x4, %x5, %x4;"},
    {"f32s to bf16x2", "", "cvt.rn.bf16x2.f32 %x1, %f1, %f2;"},

    {"s32 to s64", "", "cvt.s64.s32 %rd5, %r1;"},
    {"s64 to f64", "", "cvt.rn.f64.s64 %d1, %rd0;"},
    {"f32 to u8", "", "cvt.rzi.u8.f32 %h1, %f2;"},
    {"popc", "", "popc.b32 %r5, %r1;"},
    {"clz", "", "clz.b32 %r5, %r1;"},
    {"brev", "", "brev.b32 %r5, %r1;"},
    {"bfe", "", "bfe.u32 %r5, %r1, 3, 5;"},
    {"bfi", "", "bfi.b32 %r5, %r1, %r2, 3, 5;"},
    {"prmt", "", "prmt.b32 %r5, %r1, %r2, 0x5140;"},
    {"shf", "", "shf.l.wrap.b32 %r5, %r1, %r2, 7;"},
    {"dp4a", "", "dp4a.s32.s32 %r5, %r1, %r2, %r5;"},
    {"div s64", "", "div.s64 %rd5, %rd0, %rd1;"},
    {"mul.hi u64", "", "mul.hi.u64 %rd5, %rd0, %rd1;"},
    {"add.cc addc", "", "add.cc.u32 %r5, %r5, %r1; addc.u32 %r6, %r6, 0;"},
    {"shfl", "", "shfl.sync.bfly.b32 %r5, %r5, 1, 31, -1;"},
    {"vote", "", "vote.sync.ballot.b32 %r5, %p1, -1;"},
    {"match", "", "match.any.sync.b32 %r5, %r1, -1;"},
    {"redux", "", "redux.sync.add.s32 %r5, %r1, -1;"},
    {"bar.sync", "", "bar.sync 0;"},

#define AT(scale) "mul.wide.u32 %rd4, %r1, " scale "; add.u64 %rd4, %rd4, %rd0;"
    {"load u32", AT("4"), "ld.global.u32 %r5, [%rd4];"},
    {"load u32, all one", "", "ld.global.u32 %r5, [%rd0];"},
    {"load u32, stride 2", AT("8"), "ld.global.u32 %r5, [%rd4];"},
    {"load u32, stride 16", AT("64"), "ld.global.u32 %r5, [%rd4];"},
    {"load u32, stride 64", AT("256"), "ld.global.u32 %r5, [%rd4];"},
    {"load u32, backwards", "xor.b32 %r6, %r1, 31; mul.wide.u32 %rd4, %r6, 4;"
                            "add.u64 %rd4, %rd4, %rd0;", "ld.global.u32 %r5, [%rd4];"},
    {"load u32, anywhere", "mul.lo.u32 %r6, %r1, 40503; and.b32 %r6, %r6, 2047;"
                           "mul.wide.u32 %rd4, %r6, 4; add.u64 %rd4, %rd4, %rd0;",
     "ld.global.u32 %r5, [%rd4];"},
    {"load u32, generic", AT("4"), "ld.u32 %r5, [%rd4];"},
    {"load u32, masked", AT("4") "setp.lt.u32 %p2, %r2, 200; and.b32 %r6, %r2, 3;"
                                 "setp.ne.u32 %p3, %r6, 0;", "@%p3 ld.global.u32 %r5, [%rd4];"},
    {"load u8", AT("1"), "ld.global.u8 %h1, [%rd4];"},
    {"load u16", AT("2"), "ld.global.u16 %h1, [%rd4];"},
    {"load s16 to 32", AT("2"), "ld.global.s16 %r5, [%rd4];"},
    {"load u64", AT("8"), "ld.global.u64 %rd5, [%rd4];"},
    {"load u64, stride 2", AT("16"), "ld.global.u64 %rd5, [%rd4];"},
    {"load v2.u32", AT("8"), "ld.global.v2.u32 {%r5, %r6}, [%rd4];"},
    {"load v4.f32", AT("16"), "ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%rd4];"},
    {"load v2.f64", AT("16"), "ld.global.v2.f64 {%d4, %d5}, [%rd4];"},
    {"load v4.u8", AT("4"), "ld.global.v4.u8 {%h7, %h8, %h9, %h10}, [%rd4];"},
    {"load v4.u16", AT("8"), "ld.global.v4.u16 {%h7, %h8, %h9, %h10}, [%rd4];"},
    {"load volatile", AT("4"), "ld.volatile.global.u32 %r5, [%rd4];"},
    {"store u32", AT("4"), "st.global.u32 [%rd4], %r1;"},
    {"store u32, stride 16", AT("64"), "st.global.u32 [%rd4], %r1;"},
    {"store u32, stride 64", AT("256"), "st.global.u32 [%rd4], %r1;"},
    {"store u8", AT("1"), "st.global.u8 [%rd4], %r1;"},
    {"store u16", AT("2"), "st.global.u16 [%rd4], %h1;"},
    {"store u64", AT("8"), "st.global.u64 [%rd4], %rd0;"},
    {"store v4.f32", AT("16"), "st.global.v4.f32 [%rd4], {%f4, %f5, %f6, %f7};"},

#define IN(scale) "mad.lo.u32 %r21, %r2, " scale ", %r20;"
    {"shared load", IN("4"), "ld.shared.u32 %r5, [%r21];"},
    {"shared load, all one", "", "ld.shared.u32 %r5, [%r20];"},
    {"shared load, stride 2", IN("8"), "ld.shared.u32 %r5, [%r21];"},
    {"shared load, stride 16", IN("64"), "ld.shared.u32 %r5, [%r21];"},
    {"shared load, two rows", "shr.u32 %r6, %r2, 4; mad.lo.u32 %r21, %r6, 4, %r20;",
     "ld.shared.u32 %r5, [%r21];"},
    {"shared load u16", IN("2"), "ld.shared.u16 %h1, [%r21];"},
    {"shared load u8", IN("1"), "ld.shared.u8 %h1, [%r21];"},
    {"shared load u64", IN("8"), "ld.shared.u64 %rd5, [%r21];"},
    {"shared load v4.f32", IN("16"), "ld.shared.v4.f32 {%f4, %f5, %f6, %f7}, [%r21];"},
    {"shared load, generic", IN("4") "cvt.u64.u32 %rd6, %r21; cvta.shared.u64 %rd6, %rd6;",
     "ld.u32 %r5, [%rd6];"},
    {"shared store", IN("4"), "st.shared.u32 [%r21], %r1;"},
    {"shared store, stride 16", IN("64"), "st.shared.u32 [%r21], %r1;"},
    {"shared store u8", IN("1"), "st.shared.u8 [%r21], %r1;"},
    {"local load, indexed", "and.b32 %r6, %r1, 7; mul.wide.u32 %rd6, %r6, 4;"
                            "add.u64 %rd6, %rd6, %rd7;", "ld.local.u32 %r5, [%rd6];"},
    {"local load", "", "ld.local.u32 %r5, [%rd7];"},
    {"local store, indexed", "and.b32 %r6, %r1, 7; mul.wide.u32 %rd6, %r6, 4;"
                             "add.u64 %rd6, %rd6, %rd7;", "st.local.u32 [%rd6], %r5;"},
    {"const load, indexed", "and.b32 %r6, %r1, 7; mul.wide.u32 %rd6, %r6, 4;"
                            "mov.u64 %rd5, table; add.u64 %rd6, %rd6, %rd5;",
     "ld.const.u32 %r5, [%rd6];"},

    {"atom add", AT("4"), "atom.global.add.u32 %r5, [%rd4], 1;"},
    {"atom add, all one", "", "atom.global.add.u32 %r5, [%rd0], 1;"},
    {"atom add, stride 16", AT("64"), "atom.global.add.u32 %r5, [%rd4], 1;"},
    {"atom add, 64 bins", "mul.lo.u32 %r6, %r1, 40503; and.b32 %r6, %r6, 63;"
                          "mul.wide.u32 %rd4, %r6, 4; add.u64 %rd4, %rd4, %rd0;",
     "atom.global.add.u32 %r5, [%rd4], 1;"},
    {"red add", AT("4"), "red.global.add.u32 [%rd4], 1;"},
    {"red add, all one", "", "red.global.add.u32 [%rd0], 1;"},
    {"red add f32", AT("4"), "red.global.add.f32 [%rd4], 0f3f800000;"},
    {"red add f32, all one", "", "red.global.add.f32 [%rd0], 0f3f800000;"},
    {"red add f64", AT("8"), "red.global.add.f64 [%rd4], 0d3ff0000000000000;"},
    {"red add f16x2", AT("4"), "red.global.add.noftz.f16x2 [%rd4], %x2;"},
    {"red add u64", AT("8"), "red.global.add.u64 [%rd4], %rd0;"},
    {"atom max", AT("4"), "atom.global.max.s32 %r5, [%rd4], %r1;"},
    {"atom cas", AT("4"), "atom.global.cas.b32 %r5, [%rd4], %r5, %r1;"},
    {"atom exch", AT("4"), "atom.global.exch.b32 %r5, [%rd4], %r1;"},
    {"atom add, generic", AT("4"), "atom.add.u32 %r5, [%rd4], 1;"},
    {"shared atom add", IN("4"), "atom.shared.add.u32 %r5, [%r21], 1;"},
    {"shared atom, all one", "", "atom.shared.add.u32 %r5, [%r20], 1;"},
    {"shared atom, 64 bins", "mul.lo.u32 %r6, %r1, 40503; and.b32 %r6, %r6, 63;"
                             "mad.lo.u32 %r21, %r6, 4, %r20;",
     "atom.shared.add.u32 %r5, [%r21], 1;"},
    {"shared red f32", IN("4"), "red.shared.add.f32 [%r21], 0f3f800000;"},
    {"shared red f32, all one", "", "red.shared.add.f32 [%r20], 0f3f800000;"},
};

static const char head[] =
    ".version 8.6\n.target sm_90\n.address_size 64\n.const .align 4 .b32 table[8];\n"
    ".visible .entry k(.param .u64 buffer, .param .u32 steps) {\n"
    ".shared .align 16 .b8 sh[16384]; .local .align 16 .b8 depot[64];\n"
    ".reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b32 %x<9>; .reg .f32 %f<9>;\n"
    ".reg .b64 %rd<20>; .reg .f64 %d<9>;\n"
    "ld.param.u64 %rd0, [buffer]; cvta.to.global.u64 %rd0, %rd0; ld.param.u32 %r31, [steps];\n"
    "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
    "mad.lo.u32 %r1, %r3, %r4, %r2; mov.u32 %r20, sh; mov.u64 %rd7, depot; mov.u64 %rd1, 77;\n"
    "mov.u32 %r5, 1; mov.u32 %r6, 1; mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f3f7fff00;\n"
    "mov.f32 %f3, 0f33800000; mov.f32 %f4, %f1; mov.f32 %f5, %f1; mov.f32 %f6, %f1;\n"
    "mov.f32 %f7, %f1; mov.f64 %d1, 0d3ff0000000000000; mov.f64 %d2, 0d3fefffff00000000;\n"
    "mov.f64 %d3, 0d3e80000000000000; mov.b16 %h1, 0x3c00; mov.b16 %h2, 0x3bff;\n"
    "mov.b16 %h3, 0x1000; mov.b16 %h5, 0x3f80; mov.b16 %h6, 0x3f7f; mov.b32 %x1, 0x3c003c00;\n"
    "mov.b32 %x2, 0x3bff3bff; mov.b32 %x3, 0x10001000; mov.b32 %x4, 0x3f803f80;\n"
    "mov.b32 %x5, 0x3f7f3f7f; setp.lt.u32 %p1, %r2, 100; mov.u32 %r30, 0;\n"
    "st.local.u32 [%rd7], %r1;\n";

static const char tail[] = "add.u32 %r30, %r30, 1; setp.lt.u32 %p8, %r30, %r31; @%p8 bra L;\n"
                           "ret; }\n";

static uint8_t buffer[ALL * 256] __attribute__((aligned(256)));

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct Params {
    uint64_t buffer;
    uint32_t steps;
} Params;

/* Seconds of the fastest of some launches, at least three and some hundredths of a second. */
static double fastest(EmuModule *m, const EmuLaunch *launch, EmuResult *r) {
    double best = 1e9, all = 0;
    gi_err err;
    for (int k = 0; k < 3 || all < 0.05; k++) {
        double t = processor_seconds();
        if (!emu_launch(m, launch, r, &err) || r->status != EMU_OK) return -1;
        t = processor_seconds() - t;
        all += t;
        if (t < best) best = t;
    }
    return best;
}

static void say(const char *name, double per_second) {
    printf("%-26s %8.0f%s\n", name, per_second * 1e-6, per_second < FLOOR * 1e6 ? "  <" : "");
    fflush(stdout);
}

static void run_row(Emu *e, uint64_t data, const Row *row, uint32_t steps) {
    gi_buf text = {0};
    gi_err err;
    EmuResult r = {0};
    gi_buf_addf(&text, "%s%s\nL:\n", head, row->before);
    for (int i = 0; i < COPIES; i++) gi_buf_addf(&text, "%s\n", row->body);
    gi_buf_adds(&text, tail);
    EmuModule *m = emu_load(e, text.data, text.len, &err);
    gi_buf_free(&text);
    if (m == NULL) {
        printf("%-26s %s\n", row->name, err.message);
        return;
    }
    memset(buffer, 0, sizeof buffer);
    Params p = {data, steps};
    EmuLaunch launch = {
        .kernel = "k", .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, .params = &p};
    double seconds = fastest(m, &launch, &r);
    if (seconds < 0) printf("%-26s %s\n", row->name, r.message);
    else say(row->name, (double)ALL * COPIES * steps / seconds);
    emu_unload(m);
}

/* --- a whole kernel: C = A * B by tiles of shared memory --- */

static const char matmul[] =
    "extern \"C\" __global__ void k(const float *a, const float *b, float *c, int n) {\n"
    "  __shared__ float s[16][16], t[16][16];\n"
    "  int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;\n"
    "  float sum = 0;\n"
    "  for (int k = 0; k < n; k += 16) {\n"
    "    s[y][x] = a[i * n + k + x];\n"
    "    t[y][x] = b[(k + y) * n + j];\n"
    "    __syncthreads();\n"
    "    for (int m = 0; m < 16; m++) sum += s[y][m] * t[m][x];\n"
    "    __syncthreads();\n"
    "  }\n"
    "  c[i * n + j] = sum;\n"
    "}\n";

static void run_matmul(Emu *e) {
    enum { N = 128 };
    gi_err err;
    CompileResult compiled = {0};
    CompileOptions options = {.target = "ptx", .line_info = true};
    Compiler *c = compile_open(&err);
    EmuModule *m = NULL;
    if (c && compile_one(c, matmul, sizeof matmul - 1, "k.cu", &options, &compiled, &err))
        m = emu_load(e, compiled.code.data, compiled.code.len, &err);
    if (m == NULL) {
        printf("tiled matmul               %s\n", err.message);
        return;
    }
    float *data = calloc((size_t)3 * N * N, sizeof *data);
    uint64_t at = emu_map(e, data, (size_t)3 * N * N * sizeof *data, false, "matrices");
    struct {
        uint64_t a, b, c;
        int n;
    } p = {at, at + N * N * 4, at + 2 * N * N * 4, N};
    EmuLaunch launch = {
        .kernel = "k", .grid = {N / 16, N / 16, 1}, .block = {16, 16, 1}, .params = &p};
    EmuResult r = {0};
    double seconds = fastest(m, &launch, &r);
    if (seconds < 0) printf("tiled matmul               %s\n", r.message);
    else {
        say("tiled matmul, all", (double)r.lane_instructions / seconds);
        say("  its multiply-adds", (double)N * N * N / seconds);
    }
    emu_unmap(e, at);
    emu_unload(m);
    compile_result_free(&compiled);
    compile_close(c);
    free(data);
}

int main(int argc, char **argv) {
    const char *part = argc > 1 ? argv[1] : "";
    uint32_t steps = argc > 2 ? (uint32_t)atoi(argv[2]) : 20;
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    uint64_t data = emu_map(e, buffer, sizeof buffer, false, "buffer");
    printf("10^6 lane operations a second (floor: %.0f)\n", FLOOR);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(rows[i].name, part)) run_row(e, data, &rows[i], steps);
    if (strstr("tiled matmul", part)) run_matmul(e);
    emu_free(e);
    return 0;
}
