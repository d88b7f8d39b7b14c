/* emu_matrix_faults.c - matrix instructions that cannot run: lanes that are not there, addresses
** outside, shapes that there are not; and undefined values that go through them. */
#include "emu_core_run.h"

enum { N = 32 };

static Run go(const char *body, uint32_t out[N * 4], unsigned threads, bool follows) {
    char text[6000];
    Run r = run_new(1, threads);
    r.launch.shared_bytes = 2048;
    r.launch.count_uninitialised = follows;
    snprintf(text, sizeof text, "%s.extern .shared .align 16 .b8 s[];\n%s%s%s", PTX_HEAD,
             PTX_KERNEL, body, PTX_END);
    run_text(&r, text, out, N * 16);
    return r;
}

#define MMA                                                                                        \
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r4, %r5}, {%r6}, "   \
    "{0f00000000, 0f00000000, 0f00000000, 0f00000000};\n"
#define ZERO "mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
#define SHOW "mov.b32 %r9, %f1; st.global.u32 [%rd1], %r9;\n"

static void fault(const char *body, unsigned threads, EmuStatus status, const char *words,
                  const char *what) {
    uint32_t out[N * 4] = {0};
    Run r = go(body, out, threads, false);
    if (!r.loaded) ok(false, "%s", r.err.message);
    is_int(r.result.status, status, what);
    if (words) has_str(r.result.message, words, "  which is told");
}

static void lanes(void) {
    fault(ZERO MMA SHOW, 32, EMU_OK, NULL, "all lanes of a warp");
    fault(ZERO MMA SHOW, 48, EMU_LAUNCH_ERROR, "mma.sync without lanes 16-31 of the warp",
          "half a warp");
    fault(ZERO "setp.lt.u32 %p1, %r2, 8; @%p1 bra OUT;\n" MMA SHOW "OUT:\n", 32, EMU_LAUNCH_ERROR,
          "mma.sync without lanes 0-7 of the warp", "lanes that have ended");
    fault(ZERO "setp.lt.u32 %p1, %r2, 8; @%p1 bra LOW;\n" MMA "bra BOTH;\nLOW:\n" MMA
               "BOTH:\n" SHOW,
          32, EMU_LAUNCH_ERROR, "meet at different places of mma.sync, which is .aligned",
          "lanes at two instructions");
    fault(ZERO "setp.lt.u32 %p1, %r2, 8; @!%p1 bra ON; add.u32 %r5, %r5, 0;\nON:\n" MMA SHOW, 32,
          EMU_OK, NULL, "lanes that come by two ways to one place");
}

static void addresses(void) {
    fault("mov.u32 %r5, s; mad.lo.u32 %r6, %r2, 16, %r5;\n"
          "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r7, %r8, %r9, %r10}, [%r6+1536];\n",
          32, EMU_OK, NULL, "rows up to the last byte");
    fault("mov.u32 %r5, s; mad.lo.u32 %r6, %r2, 16, %r5;\n"
          "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r7, %r8, %r9, %r10}, [%r6+1552];\n",
          32, EMU_ILLEGAL_ADDRESS, "out-of-bounds read of 16 bytes in shared memory",
          "a row beyond it");
    fault("mov.u32 %r5, s; mad.lo.u32 %r6, %r2, 16, %r5;\n"
          "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [%r6+1920];\n",
          32, EMU_OK, NULL, "addresses of other lanes are not used");
    fault("mov.u32 %r5, s; mad.lo.u32 %r6, %r2, 16, %r5;\n"
          "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r6+8], {%r7};\n",
          32, EMU_MISALIGNED, "misaligned write of 16 bytes in shared memory",
          "a row that is not aligned");
    fault("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 "
          "{%r4,%r5,%r6,%r7,%r8,%r9,%r10,%r11}, [%rd0];\n",
          32, EMU_OK, NULL, "a matrix of 512 bytes");
    fault("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 "
          "{%r4,%r5,%r6,%r7,%r8,%r9,%r10,%r11}, [%rd0], 17;\n",
          32, EMU_ILLEGAL_ADDRESS,
          "out-of-bounds read of 2 bytes in global memory at byte 514 of 'out'",
          "the same with a longer stride");
    fault("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%rd0], "
          "{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8};\n",
          32, EMU_ILLEGAL_ADDRESS, "out-of-bounds write of 4 bytes in generic memory",
          "a matrix of twice as many bytes");
}

#define SPARSE(TYPE, MOD, SELECTOR)                                                                \
    "mma.sp" MOD ".sync.aligned.m16n8k" TYPE " {%f1, %f2, %f3, %f4}, {%r4, %r5}, {%r6, %r4}, "     \
    "{0f00000000, 0f00000000, 0f00000000, 0f00000000}, %r7, " SELECTOR ";\n"
#define TF32   "8.row.col.f32.tf32.tf32.f32"
#define BYTES  "32.row.col.s32.s8.s8.s32 {%r8, %r9, %r10, %r11}, {%r4, %r5}, {%r6, %r4}, "
#define HALVES "16.row.col.f32.f16.f16.f32"
#define IN_ORDER "::ordered_metadata"

/* Metadata that name one place twice, or places out of order, in a lane that has some. */
static void metadata(void) {
    static const char all[] = ZERO "mov.u32 %r7, 0xe4e4e4e4;\n";
    static const char odd[] = ZERO "mov.u32 %r7, 0xe4e4e4e4; setp.eq.u32 %p1, %r2, 9;\n"
                                   "@%p1 mov.u32 %r7, 0xe464e4e4;\n";
    char text[900];
    snprintf(text, sizeof text, "%s%s%s", odd, SPARSE(HALVES, IN_ORDER, "0"), SHOW);
    fault(text, 32, EMU_OK, NULL, "metadata of lanes that are not selected");
    snprintf(text, sizeof text, "%s%s%s", odd, SPARSE(HALVES, IN_ORDER, "1"), SHOW);
    fault(text, 32, EMU_LAUNCH_ERROR,
          "mma.sp.sync has metadata 0xe464e4e4 in lane 9, which say places 2 and 1 of chunk 1 of "
          "row 10",
          "places out of their order");
    snprintf(text, sizeof text, "%s%s%s", odd, SPARSE(HALVES, "", "1"), SHOW);
    fault(text, 32, EMU_OK, NULL, "any order, where none is promised");
    snprintf(text, sizeof text, "%smov.u32 %%r7, 0x5;\n%s%s", ZERO, SPARSE(HALVES, "", "3"), SHOW);
    fault(text, 32, EMU_LAUNCH_ERROR, "places 1 and 1 of chunk 0 of row 0", "a place twice");
    snprintf(text, sizeof text, "%s%s%s", all, SPARSE(TF32, "", "0"), SHOW);
    fault(text, 32, EMU_OK, NULL, "tf32: places 0 and 1, or 2 and 3");
    snprintf(text, sizeof text, "%s%s%s", odd, SPARSE(TF32, "", "1"), SHOW);
    fault(text, 32, EMU_LAUNCH_ERROR, "places 2 and 1 of chunk 1 of row 10", "and no others");
}

static void refused(const char *text, const char *words) {
    uint32_t out[N * 4] = {0};
    Run r = go(text, out, 32, false);
    ok(!r.loaded, "refused: %.60s", text);
    has_str(r.err.message, words, "  with the reason");
}

static void refusals(void) {
    refused("mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r4, %r5}, "
            "{%r6}, {%f1, %f2, %f3, %f4};",
            "there is no matrix instruction of this shape");
    refused("mma.sync.aligned.m16n8k8.col.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r4, %r5}, "
            "{%r6}, {%f1, %f2, %f3, %f4};",
            "layouts are .row.col");
    refused("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r4}, "
            "{%r6}, {%f1, %f2, %f3, %f4};",
            "a vector of 2 registers is expected");
    refused("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1, %f2, %f3, %f4}, {%f4, %f5}, "
            "{%r6}, {%f1, %f2, %f3, %f4};",
            "does not have the fragment's type");
    refused("mma.sync.aligned.m16n8k8.row.col.f32.f16.aligned.f16.f32 {%f1, %f2, %f3, %f4}, "
            "{%r4, %r5}, {%r6}, {%f1, %f2, %f3, %f4};",
            "these modifiers");
    refused("ldmatrix.sync.aligned.m8n8.x1.satfinite.shared.b16 {%r4}, [s];", "these modifiers");
    refused("mma.sync.aligned.m16n8k8.row.col.f32.b16.f16.f16.f32 {%f1, %f2, %f3, %f4}, "
            "{%r4, %r5}, {%r6}, {%f1, %f2, %f3, %f4};",
            "these modifiers");
    refused("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4}, [s];",
            "a vector of 2 registers is expected");
    refused(SPARSE(HALVES, "", "4"), "the sparsity selector is a number below 4");
    refused("mma.sp.sync.aligned.m16n8k" BYTES "{%r8, %r9, %r10, %r11}, %r7, 2;",
            "the sparsity selector is a number below 2");
    refused("mma.sp.sync.aligned.m16n8k" BYTES "{%r8, %r9, %r10, %r11}, %f1, 1;",
            "metadata are in a register of 32 bits");
    refused("ldmatrix.sync.aligned.m8n8.x1.b16 {%r4}, [s];", "generic access needs a generic");
}

/* Of A the lanes of one row read what nobody wrote: their row of D alone is undefined. */
static void undefined(void) {
    static const char load[] =
        "mov.u32 %r12, s; mad.lo.u32 %r13, %r2, 4, %r12; mov.u32 %r4, 0; mov.u32 %r5, 0;\n"
        "mov.u32 %r6, 0; setp.ge.u32 %p1, %r2, 28; @%p1 ld.shared.u32 %r4, [%r13];\n" MMA;
    char text[2000];
    uint32_t out[N * 4] = {0};
    for (int lane = 24; lane < 32; lane += 4) {
        snprintf(text, sizeof text,
                 "%s setp.eq.u32 %%p2, %%r2, %d; mov.b32 %%r9, %%f2; setp.ne.and.u32 %%p3, %%r9, 5,"
                 " %%p2;\n@%%p3 st.global.u32 [%%rd1], 1;\n",
                 load, lane);
        Run r = go(text, out, 32, true);
        if (!r.loaded) ok(false, "%s", r.err.message);
        is_int(r.result.status, EMU_OK, "it runs");
        is_int(r.result.warnings.n, lane >= 28,
               lane >= 28 ? "row 7 is undefined, and matters" : "row 6 is not");
    }
}

/* Rows that another warp stored: ldmatrix reads them as the lanes that have their addresses. */
static void races(void) {
    for (int k = 0; k < 2; k++) {
        uint32_t out[N * 4] = {0};
        char text[3000];
        Run r = run_new(1, 64);
        r.launch.shared_bytes = 2048;
        r.launch.check_races = EMU_RACES_SHARED;
        snprintf(text, sizeof text,
                 "%s.extern .shared .align 16 .b8 s[];\n%smov.u32 %%r5, s; "
                 "mad.lo.u32 %%r6, %%r2, 16, %%r5;\nst.shared.v4.u32 [%%r6], {1, 2, 3, 4};\n%s\n"
                 "xor.b32 %%r7, %%r2, 32; mad.lo.u32 %%r7, %%r7, 16, %%r5;\n"
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%r8, %%r9, %%r10, %%r11}, [%%r7];\n"
                 "st.global.u32 [%%rd1], %%r8;\n%s",
                 PTX_HEAD, PTX_KERNEL, k ? "bar.sync 0;" : "", PTX_END);
        run_text(&r, text, out, sizeof out);
        is_int(r.result.status, k ? EMU_OK : EMU_RACE,
               k ? "with a barrier" : "rows of another warp");
    }
}

int main(void) {
    lanes();
    addresses();
    metadata();
    refusals();
    undefined();
    races();
    return tap_done();
}
