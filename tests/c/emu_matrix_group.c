/* emu_matrix_group.c - wgmma in each type and several widths, against sums in C, of matrices that
** lie in shared memory without a swizzle (tests/programs/wgmma.cu has the others); and the faults:
** descriptors that reach beyond shared memory, registers that are read too early, warps missing. */
#include "emu/core.h"
#include "emu_numbers.h"

enum { M = 64, MOST_N = 256, ROW = 32, THREADS = 128, A_BYTES = M * ROW, SHARED = 16384 };

static uint8_t in[A_BYTES + MOST_N * ROW];
static uint32_t out[THREADS][128];
static double A[M][256], B[MOST_N][256];

typedef struct Shape {
    const char *a, *b, *d, *tail; /* types; what follows them: ".and.popc" */
    int n, k;
    bool in_registers;
    int sparse; /* 1 and the selector: A has half of its numbers; 0: all */
} Shape;

enum { METADATA = A_BYTES + MOST_N * ROW / 2 }; /* where in `in`: a word for each thread */

/* Number k of a row of 32 bytes. */
static void put(uint8_t *row, const char *type, int k, double x) {
    int bits = bits_of(type);
    uint64_t v = encode(type, x);
    if (bits == 1) row[k / 8] |= (uint8_t)(v << k % 8);
    else memcpy(row + k * bits / 8, &v, (size_t)bits / 8);
}

static double number(const char *type) {
    if (strcmp(type, "b1") == 0) return (double)kit_below(2);
    return (double)kit_below(5) - (type[0] == 'u' ? 0 : 2);
}

/* Puts the numbers of a sparse row at random places of each chunk, and says where, as the ISA's
** figures have it: two of four columns, of tf32 one of two. */
static void put_sparse(const Shape *s, uint8_t *row, int r) {
    int of = bits_of(s->a) == 32 ? 2 : 4, wide = bits_of(s->a) > 8;
    for (int chunk = 0; chunk < s->k / of; chunk++) {
        int first = of == 2 ? (int)kit_below(2) * 2 : (int)kit_below(3);
        int second = of == 2 ? first + 1 : first + 1 + (int)kit_below((uint32_t)(3 - first));
        int high = r % 16 / 8, lane = r % 8 * 4 + (wide ? (s->sparse - 1) * 2 + chunk / 4
                                                       : high + chunk / 8 * 2);
        int shift = wide ? chunk % 4 * 4 + high * 16 : chunk % 8 * 4, place[2] = {first, second};
        uint32_t word, code = (uint32_t)(first | second << 2) << shift;
        uint8_t *at = in + METADATA + 4 * (r / 16 * 32 + lane);
        memcpy(&word, at, 4);
        word |= code;
        memcpy(at, &word, 4);
        for (int i = 0; i < of / 2; i++) {
            double x = number(s->a);
            A[r][chunk * of + (of == 2 ? first / 2 : place[i])] = x;
            put(row, s->a, chunk * of / 2 + i, x);
        }
    }
}

/* Rows in blocks of 8, 16 bytes of each after the other; the second 16 bytes behind all blocks. */
static void fill(const Shape *s) {
    memset(in, 0, sizeof in);
    memset(A, 0, sizeof A);
    for (int r = 0; r < M + s->n; r++) {
        uint8_t row[2 * ROW] = {0};
        bool is_a = r < M;
        int own = is_a ? r : r - M, rows = is_a ? M : s->n;
        if (is_a && s->sparse) put_sparse(s, row, own);
        for (int k = 0; k < (is_a && s->sparse ? 0 : s->k); k++) {
            double *to = is_a ? &A[own][k] : &B[own][k];
            *to = number(is_a ? s->a : s->b);
            put(row, is_a ? s->a : s->b, k, *to);
        }
        uint8_t *at = in + (is_a ? 0 : A_BYTES) + own / 8 * 128 + own % 8 * 16;
        for (int piece = 0; piece < (!is_a && s->sparse ? 4 : 2); piece++)
            memcpy(at + piece * rows * 16, row + 16 * piece, 16);
    }
}

static void add_list(gi_buf *b, const char *prefix, int n) {
    gi_buf_adds(b, "{");
    for (int i = 0; i < n; i++) gi_buf_addf(b, "%s%s%d", i ? ", " : "", prefix, i);
    gi_buf_adds(b, "}");
}

/* D begins as it is and gets the product twice: once added to zeros, once to that. */
static EmuModule *module_of(const Shape *s, const char *title, const char *between, uint64_t more) {
    gi_buf b = {0};
    bool is_int = strcmp(s->d, "s32") == 0, turns = strchr(s->a, 'f') && bits_of(s->a) == 16;
    int registers = s->n * 16 * bits_of(s->d) / 32 / 32;
    gi_buf_addf(
        &b,
        ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n"
        ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
        ".reg .b32 %%t, %%w, %%i, %%d<130>, %%a<4>, %%v; .reg .b64 %%in, %%out, %%o, %%x<2>;\n"
        ".reg .pred %%p, %%q; .reg .b32 %%meta;\n"
        "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out];\n"
        "mov.u32 %%t, %%tid.x; mad.wide.u32 %%o, %%t, 4, %%in; ld.global.u32 %%meta, [%%o+%d];\n"
        "mov.u32 %%t, %%tid.x; mul.wide.u32 %%o, %%t, 512; add.u64 %%out, %%out, %%o;\n"
        "mov.u32 %%w, s; mov.u32 %%i, %%t;\nCOPY: mul.wide.u32 %%o, %%i, 4;\n"
        "add.u64 %%o, %%o, %%in; ld.global.u32 %%v, [%%o]; shl.b32 %%a0, %%i, 2;\n"
        "add.u32 %%a0, %%a0, %%w; st.shared.u32 [%%a0], %%v; add.u32 %%i, %%i, %d;\n"
        "setp.lt.u32 %%p, %%i, %d; @%%p bra COPY;\nbar.sync 0;\n"
        "mov.u64 %%x0, %llu; mov.u64 %%x1, %llu;\nsetp.ne.u32 %%q, %%t, %%t;\n",
        METADATA, THREADS, (A_BYTES + s->n * ROW * (s->sparse ? 2 : 1)) / 4,
        (unsigned long long)((uint64_t)(M * 16 / 16) << 16 | (uint64_t)8 << 32),
        (unsigned long long)((A_BYTES / 16 + more) | (uint64_t)s->n << 16 | (uint64_t)8 << 32));
    for (int i = 0; i < registers; i++) gi_buf_addf(&b, "mov.u32 %%d%d, 0x3c003c00;\n", i);
    if (s->in_registers) /* A's fragment: rows group and group + 8, 4 bytes at place and 16 on */
        gi_buf_adds(&b,
                    "shr.u32 %i, %t, 2; and.b32 %i, %i, 7; shl.b32 %i, %i, 4;\n"
                    "and.b32 %v, %t, 3; shl.b32 %v, %v, 2; add.u32 %i, %i, %v;\n"
                    "shr.u32 %v, %t, 5; shl.b32 %v, %v, 8; add.u32 %i, %i, %v;\n"
                    "add.u32 %i, %i, %w; ld.shared.u32 %a0, [%i]; ld.shared.u32 %a1, [%i+128];\n"
                    "ld.shared.u32 %a2, [%i+1024]; ld.shared.u32 %a3, [%i+1152];\n");
    gi_buf_adds(&b, "wgmma.fence.sync.aligned;\n");
    for (int turn = 0; turn < 2; turn++) {
        gi_buf_addf(&b, "wgmma.mma_async%s.sync.aligned.m64n%dk%d.%s.%s.%s%s ",
                    s->sparse ? ".sp" : "", s->n, s->k, s->d, s->a, s->b, s->tail);
        add_list(&b, "%d", registers);
        gi_buf_adds(&b, ", ");
        if (s->in_registers) add_list(&b, "%a", 4);
        else gi_buf_adds(&b, "%x0");
        gi_buf_adds(&b, ", %x1, ");
        if (s->sparse) gi_buf_addf(&b, "%%meta, %d, ", s->sparse - 1);
        gi_buf_addf(&b, "%s%%q%s%s;\n", turn ? "!" : "", is_int ? "" : ", 1, 1",
                    !turns            ? ""
                    : s->in_registers ? ", 0"
                                      : ", 0, 0");
    }
    gi_buf_addf(&b, "wgmma.commit_group.sync.aligned;\n%s\n", between);
    for (int i = 0; i < registers; i++)
        gi_buf_addf(&b, "st.global.u32 [%%out+%d], %%d%d;\n", 4 * i, i);
    gi_buf_adds(&b, "ret; }\n");
    EmuModule *m = kit_load(b.data, title);
    gi_buf_free(&b);
    return m;
}

static EmuResult launch(EmuModule *m, unsigned threads) {
    uint64_t params[2] = {emu_map(kit_emu, in, sizeof in, true, "in"),
                          emu_map(kit_emu, out, sizeof out, false, "out")};
    EmuLaunch l = {.kernel = "k",
                   .grid = {1, 1, 1},
                   .block = {threads, 1, 1},
                   .params = params,
                   .budget = 50000000,
                   .shared_bytes = SHARED};
    EmuResult r;
    gi_err err = {.message = ""};
    memset(&r, 0, sizeof r);
    memset(out, 0, sizeof out);
    if (!emu_launch(m, &l, &r, &err)) ok(false, "%s", err.message);
    emu_unmap(kit_emu, params[0]);
    emu_unmap(kit_emu, params[1]);
    return r;
}

/* Row and column of number e of a thread, as in the ISA's figure. */
static double got(const Shape *s, int thread, int e) {
    int bits = bits_of(s->d);
    uint32_t v = out[thread][e * bits / 32] >> e * bits % 32;
    return decode(s->d, bits == 16 ? v & 0xffff : v);
}

static int differ(const Shape *s) {
    int wrong = 0;
    for (int t = 0; t < THREADS; t++)
        for (int e = 0; e < s->n / 2; e++) {
            int i = t / 32 * 16 + t % 32 / 4 + (e & 2 ? 8 : 0), j = e / 4 * 8 + t % 4 * 2 + e % 2;
            double want = 0;
            for (int k = 0; k < s->k; k++)
                want += strcmp(s->a, "b1") ? A[i][k] * B[j][k] : (double)(A[i][k] && B[j][k]);
            if (got(s, t, e) != 2 * want && wrong++ == 0)
                printf("# (%d, %d): %g, want %g\n", i, j, got(s, t, e), 2 * want);
        }
    return wrong;
}

static const char wait[] = "wgmma.wait_group.sync.aligned 0;";

static void each_type(void) {
    static const Shape shapes[] = {{"f16", "f16", "f32", "", 8, 32, false, 2},
                                   {"bf16", "bf16", "f32", "", 64, 32, true, 1},
                                   {"tf32", "tf32", "f32", "", 24, 16, false, 1},
                                   {"e4m3", "e5m2", "f16", "", 40, 64, true, 1},
                                   {"s8", "u8", "s32", "", 32, 64, false, 1},
                                   {"f16", "f16", "f32", "", 8, 16, false, 0},
                                   {"f16", "f16", "f16", "", 64, 16, false, 0},
                                   {"bf16", "bf16", "f32", "", 256, 16, false, 0},
                                   {"tf32", "tf32", "f32", "", 24, 8, false, 0},
                                   {"e4m3", "e5m2", "f32", "", 32, 32, false, 0},
                                   {"e5m2", "e4m3", "f16", "", 128, 32, false, 0},
                                   {"s8", "u8", "s32", "", 96, 32, false, 0},
                                   {"u8", "s8", "s32", ".satfinite", 24, 32, false, 0},
                                   {"b1", "b1", "s32", ".and.popc", 48, 256, false, 0},
                                   {"f16", "f16", "f32", "", 16, 16, true, 0},
                                   {"tf32", "tf32", "f32", "", 8, 8, true, 0},
                                   {"e4m3", "e4m3", "f32", "", 40, 32, true, 0},
                                   {"s8", "s8", "s32", "", 16, 32, true, 0},
                                   {"b1", "b1", "s32", ".and.popc", 8, 256, true, 0}};
    for (int i = 0; i < KIT_COUNT(shapes); i++) {
        const Shape *s = &shapes[i];
        char title[80];
        snprintf(title, sizeof title, "wgmma%s m64n%dk%d %s %s %s%s", s->sparse ? ".sp" : "", s->n,
                 s->k, s->d, s->a, s->b, s->in_registers ? ", A in registers" : "");
        EmuModule *m = module_of(s, title, wait, 0);
        if (m == NULL) continue;
        fill(s);
        EmuResult r = launch(m, THREADS);
        if (r.status != EMU_OK) printf("# %s\n", r.message);
        is_int(r.status == EMU_OK ? differ(s) : -1, 0, title);
        emu_unload(m);
    }
}

/* Random bits, NaN and infinities among them: each engine gives the bits of the plain sums. */
static void engines(void) {
    static const Shape shapes[] = {
        {"f16", "f16", "f32", "", 64, 16, false, 0},   {"bf16", "bf16", "f32", "", 32, 16, true, 0},
        {"f16", "f16", "f16", "", 24, 16, false, 0},   {"tf32", "tf32", "f32", "", 16, 8, true, 0},
        {"e4m3", "e5m2", "f32", "", 48, 32, false, 0}, {"e5m2", "e5m2", "f16", "", 8, 32, true, 0}};
    static uint32_t want[THREADS][128];
    const int best = kit_emu->vectors;
    for (int i = 0; i < KIT_COUNT(shapes); i++) {
        EmuModule *m = module_of(&shapes[i], shapes[i].a, wait, 0);
        int wrong = 0;
        for (int turn = 0; m && turn < 4; turn++) {
            for (size_t k = 0; k < sizeof in; k++) in[k] = (uint8_t)gi_rng_next(&kit_rng);
            for (size_t k = 0; turn && k < sizeof in; k += 2) in[k + 1] &= 0xbf; /* below 2 */
            kit_emu->plain = true;
            launch(m, THREADS);
            memcpy(want, out, sizeof want);
            kit_emu->plain = false;
            for (int v = VECTORS_BASE; v <= best; v++) {
                kit_emu->vectors = v;
                launch(m, THREADS);
                wrong += memcmp(want, out, sizeof want) != 0;
            }
        }
        is_int(wrong, 0, shapes[i].a);
        emu_unload(m);
    }
    kit_emu->vectors = best;
}

static void fault(const char *between, uint64_t more, unsigned threads, const char *words,
                  const char *what) {
    static const Shape s = {"f16", "f16", "f32", "", 64, 16, false, 0};
    EmuModule *m = module_of(&s, what, between, more);
    if (m == NULL) return;
    fill(&s);
    EmuResult r = launch(m, threads);
    is_int(r.status != EMU_OK, words != NULL, what);
    if (words) has_str(r.message, words, "  which is told");
    emu_unload(m);
}

static void faults(void) {
    fault(wait, 0, THREADS, NULL, "all as it should be");
    fault("", 0, THREADS, "a register of D is read before wgmma.wait_group", "no wait");
    fault("wgmma.wait_group.sync.aligned 1;", 0, THREADS, "a register of D is read before",
          "a wait for the groups before");
    fault("wgmma.wait_group.sync.aligned 1;\nwgmma.wait_group.sync.aligned 0;", 0, THREADS, NULL,
          "and for this one");
    fault("mov.u32 %v, %d3; add.u32 %v, %v, 1; wgmma.wait_group.sync.aligned 0;", 0, THREADS,
          "a register of D is read before", "a copy is read too early");
    fault("mov.u32 %v, %d3; wgmma.wait_group.sync.aligned 0; add.u32 %v, %v, 1;", 0, THREADS, NULL,
          "or not");
    fault("mov.u32 %d3, 5; add.u32 %d3, %d3, 1; wgmma.wait_group.sync.aligned 0;", 0, THREADS, NULL,
          "a register that is written is another value");
    fault(wait, (SHARED - A_BYTES - 64 * ROW) / 16, THREADS, NULL, "B at the end of shared memory");
    fault(wait, (SHARED - A_BYTES - 64 * ROW) / 16 + 1, THREADS,
          "the descriptor of B (start 0x3810, leading 0x400, stride 0x80, swizzle of 0 bytes) "
          "reaches offset 0x4000 of shared memory, which has 16384 bytes",
          "16 bytes further");
    fault(wait, (uint64_t)1 << 49, THREADS, "has a base offset, which is not supported",
          "a base offset");
    fault(wait, 0, 96, "a warpgroup is four warps", "three warps");
}

static void refused(const char *text, const char *words) {
    char ptx[600];
    gi_err err = {.message = ""};
    snprintf(ptx, sizeof ptx,
             ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
             ".reg .b32 %%r<9>; .reg .f32 %%f<9>; .reg .b64 %%d<3>; .reg .pred %%p<2>;\n%s\nret; }",
             text);
    EmuModule *m = emu_load(kit_emu, ptx, strlen(ptx), &err);
    EmuLaunch l = {.kernel = "k", .grid = {1, 1, 1}, .block = {128, 1, 1}};
    EmuResult r;
    ok(m && !emu_launch(m, &l, &r, &err), "refused: %.70s", text);
    has_str(err.message, words, "  with the reason");
    if (m) emu_unload(m);
}

static void refusals(void) {
    refused("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d1, %p0, "
            "1, 1, 0, 0;",
            "no wgmma of this shape");
    refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d1, %p0, "
            "2, 1, 0, 0;",
            "operand 4 is 1 or -1");
    refused("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2}, %d0, %d1, %p0, 1, 1, "
            "0, 0;",
            "a vector of 4 registers");
    refused("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0,%f1,%f2,%f3}, %d0, %d1, %p0, "
            "1, 1, 0, 0;",
            "6 operands");
    refused("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d1, "
            "%r0, 2, %p0, 1, 1, 0, 0;",
            "the sparsity selector is a number below 2");
    refused("wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d1, "
            "%r0, 0, %p0, 1, 1, 0, 0;",
            "no wgmma of this shape");
    refused("wgmma.wait_group.sync.aligned 8;", "0 to 7 groups");
}

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    each_type();
    kit_emu->plain = true;
    each_type();
    kit_emu->plain = false;
    engines();
    faults();
    refusals();
    return kit_end();
}
