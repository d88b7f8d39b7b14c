/* time_growth.c - a target for time: what is twice as long takes a reader twice as long, not four
** times. The input: a letter, which names the reader, then a text in which \1 stands before and
** behind the piece that is repeated; \2 in the piece becomes the number of the copy.
**
** Copies are doubled until the text has MOST_TEXT bytes or the reader takes long. Where two
** doublings after another took more than MOST_RATIO times as long each, and the last one more than
** FLOOR_S, the target ends the process: less harms nobody, however it grows. Seconds are the
** processor's; a suspicion is measured again, and the shortest of all counts. Sanitizers make
** all readers slower alike. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "../c/emu_model.h"
#include "../c/grammar_kernel.h"
#include "compile/headers.h"
#include "compile/log.h"
#include "compile/shared.h"
#include "compile/split.h"
#include "emu/emu.h"
#include "fuzz.h"
#include "ptx/ptx.h"

enum { MOST_TEXT = 1 << 17, FIRST_TEXT = 2048 };
#define FLOOR_S    0.1
#define LONG_S     10.0 /* a single reading */
#define MOST_RATIO 3.0

/* --- readers ------------------------------------------------------------------------------- */

static void read_ptx(const char *text, size_t len) {
    ptx_free(ptx_parse(text, len, NULL));
}

static void read_canonical(const char *text, size_t len) {
    gi_buf out = {0};
    ptx_canonical(text, len, &out);
    gi_buf_free(&out);
}

static void read_flow(const char *text, size_t len) {
    PtxModule *m = ptx_parse_most(text, len, NULL);
    for (int i = 0; m && i < m->n_funcs; i++) {
        PtxCfg *c = ptx_cfg(&m->funcs[i]);
        ptx_liveness_free(ptx_liveness(&m->funcs[i], c));
        ptx_cfg_free(c);
    }
    ptx_free(m);
}

static void read_access(const char *text, size_t len) {
    PtxModule *m = ptx_parse_most(text, len, NULL);
    PtxAccess a;
    for (int i = 0; m && i < m->n_funcs; i++)
        if (ptx_access(m, m->funcs[i].name, NULL, &a)) ptx_access_free(&a);
    ptx_free(m);
}

static void read_module(const char *text, size_t len) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    emu_memory_limit(e, 64 << 20);
    EmuModule *m = emu_load(e, text, len, NULL);
    if (m) emu_unload(m);
    emu_free(e);
}

static void read_source(const char *text, size_t len) {
    GrammarOptions o = {.file = "f.cu",
                        .open_loops = true,
                        .pragmas = true,
                        .restricts = true,
                        .consts = true,
                        .volatiles = true,
                        .initialisers = true,
                        .skip_idle = true};
    gi_buf bnf = {0};
    Outline outline;
    Grammar *g = grammar_parse(text, len, &o, NULL);
    if (g == NULL) return;
    grammar_print(g, &bnf);
    grammar_outline(g, &outline);
    outline_free(&outline);
    grammar_free(g);
    gi_buf_free(&bnf);
}

/* Draws genes; their count is of pairs of rules, which twice as long makes four times as many. */
static void read_genes(const char *text, size_t len) {
    GrammarOptions o = {.file = "f.cu", .open_loops = true, .initialisers = true};
    Grammar *g = grammar_parse(text, len, &o, NULL);
    gi_buf gene = {0};
    gi_rng rng;
    gi_rng_seed(&rng, 1);
    for (int i = 0; g && i < 3; i++) grammar_random_gene(g, &rng, NULL, &gene, NULL);
    gi_buf_free(&gene);
    grammar_free(g);
}

static void read_bnf(const char *text, size_t len) {
    grammar_free(grammar_read(text, len, NULL));
}

static void read_tokens(const char *text, size_t len) {
    SourceTokens t;
    source_tokens(text, 0, (int)len, 1, &t);
    source_tokens_free(&t);
}

static void read_tree(const char *text, size_t len) {
    Source s;
    source_read(text, (int)len, &s);
    source_free(&s);
}

static void read_genome(const char *text, size_t len) {
    static Grammar *g;
    GrammarOptions o = {.file = "f.cu"};
    Genome genome;
    Patched p;
    (void)len;
    if (g == NULL) g = grammar_parse(kernel_text, strlen(kernel_text), &o, NULL);
    if (!genome_parse(g, text, &genome, NULL)) return;
    if (genome_apply(g, &genome, &p, NULL)) patched_free(&p);
    genome_free(&genome);
}

static void read_log(const char *text, size_t len) {
    CompileResult r = {0};
    (void)len;
    log_messages(text, "kernel.cu", &r);
    compile_result_free(&r);
}

static void read_units(const char *text, size_t len) {
    gi_buf a = {0}, b = {0};
    gi_buf *const out[] = {&a, &b};
    split_ptx(text, len, 2, out);
    gi_buf_free(&a);
    gi_buf_free(&b);
}

static bool known(const void *context, const char *name) {
    (void)context, (void)name;
    return true;
}

static void read_constants(const char *text, size_t len) {
    gi_buf source = {0}, out = {0};
    Shared s = {0};
    gi_buf_add(&source, text, len);
    headers_length(source.data, known, NULL);
    shared_find(&source, NULL, &s);
    shared_declare(&s, &source, &out);
    shared_free(&s);
    gi_buf_free(&source);
    gi_buf_free(&out);
}

static const struct {
    char letter;
    const char *name;
    void (*read)(const char *text, size_t len);
} readers[] = {{'p', "ptx_parse", read_ptx},       {'c', "ptx_canonical", read_canonical},
               {'f', "ptx_liveness", read_flow},   {'a', "ptx_access", read_access},
               {'e', "emu_load", read_module},     {'g', "grammar_parse", read_source},
               {'b', "grammar_read", read_bnf},    {'t', "source_tokens", read_tokens},
               {'r', "source_read", read_tree},
               {'n', "genome_parse", read_genome}, {'l', "log_messages", read_log},
               {'u', "split_ptx", read_units},     {'s', "shared_find", read_constants},
               {'m', "grammar_random_gene", read_genes}};

enum { READERS = sizeof readers / sizeof *readers };

/* --- the measurement ----------------------------------------------------------------------- */

static double processor_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct Piece {
    const char *text; /* all */
    size_t from, to;  /* the piece; its marks lie before and behind it */
    size_t len;
} Piece;

static Piece piece_of(const char *text, size_t len) {
    const char *one = memchr(text, 1, len);
    const char *two = one ? memchr(one + 1, 1, len - (size_t)(one + 1 - text)) : NULL;
    if (two == NULL) return (Piece){text, 0, len, len};
    return (Piece){text, (size_t)(one + 1 - text), (size_t)(two - text), len};
}

static void add_copy(gi_buf *out, const Piece *p, int number) {
    for (size_t i = p->from; i < p->to; i++) {
        if (p->text[i] == 2) gi_buf_addf(out, "%d", number);
        else gi_buf_add(out, p->text + i, 1);
    }
}

static double seconds(int reader, const Piece *p, int copies, size_t *len) {
    gi_buf out = {0};
    bool marked = p->to < p->len;
    gi_buf_adds(&out, "");
    gi_buf_add(&out, p->text, p->from - (p->from > 0));
    for (int i = 0; i < copies; i++) add_copy(&out, p, i);
    if (marked) gi_buf_add(&out, p->text + p->to + 1, p->len - p->to - 1);
    *len = out.len;
    double began = processor_s();
    readers[reader].read(out.data, out.len);
    double took = processor_s() - began;
    gi_buf_free(&out);
    return took;
}

/* The shortest of some, of a number of copies. */
static double again(int reader, const Piece *p, int copies, double first) {
    size_t len;
    for (int i = 0; i < 2; i++) {
        double took = seconds(reader, p, copies, &len);
        if (took < first) first = took;
    }
    return first;
}

static bool is_steep(const double *took) {
    return took[2] > FLOOR_S && took[2] > MOST_RATIO * took[1] && took[1] > MOST_RATIO * took[0];
}

static void measure(int reader, const Piece *p) {
    double took[3] = {0};
    size_t len = 0;
    int copies = (int)(FIRST_TEXT / (p->to - p->from)) + 1;
    for (; len < MOST_TEXT && took[2] < 2 * FLOOR_S; copies *= 2) {
        took[0] = took[1], took[1] = took[2];
        took[2] = seconds(reader, p, copies, &len);
        if (took[0] <= 0 || !is_steep(took)) continue;
        for (int i = 0; i < 3; i++) took[i] = again(reader, p, copies >> (2 - i), took[i]);
        if (!is_steep(took)) continue;
        fprintf(
            stderr, "runtime error: %s: %d, %d, %d copies take %.3f, %.3f, %.3f s (%zu bytes)\n",
            readers[reader].name, copies / 4, copies / 2, copies, took[0], took[1], took[2], len);
        abort();
    }
    if (took[2] > LONG_S) {
        fprintf(stderr, "runtime error: %s takes %.1f s of %zu bytes\n", readers[reader].name,
                took[2], len);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int reader = 0;
    if (size < 2) return 0;
    while (reader < READERS && readers[reader].letter != (char)data[0]) reader++;
    Piece p = piece_of((const char *)data + 1, size - 1);
    if (reader < READERS && p.to > p.from && p.to - p.from < 4096) measure(reader, &p);
    return 0;
}

/* --- inputs -------------------------------------------------------------------------------- */

static size_t boundary(const gi_buf *b, gi_rng *rng) {
    size_t at = 1 + gi_rng_below(rng, b->len);
    const char *stops = gi_rng_below(rng, 3) ? ";\n" : " ,;\n";
    while (at < b->len && at > 1 && strchr(stops, b->data[at - 1]) == NULL) at++;
    return at;
}

/* Marks another piece, or asks another reader. */
void fuzz_change(gi_buf *b, const gi_buf *other, gi_rng *rng) {
    gi_buf out = {0};
    (void)other;
    if (b->len < 8) return;
    if (gi_rng_below(rng, 6) == 0) {
        b->data[0] = readers[gi_rng_below(rng, READERS)].letter;
        return;
    }
    gi_buf_add(&out, b->data, 1);
    for (size_t i = 1; i < b->len; i++)
        if (b->data[i] != 1) gi_buf_add(&out, b->data + i, 1);
    size_t from = boundary(&out, rng), to = boundary(&out, rng);
    if (gi_rng_below(rng, 2)) to = from + gi_rng_below(rng, 80);
    if (to > out.len) to = out.len;
    gi_buf_clear(b);
    size_t low = from < to ? from : to, high = from < to ? to : from;
    gi_buf_add(b, out.data, low);
    gi_buf_adds(b, "\1");
    gi_buf_add(b, out.data + low, high - low);
    gi_buf_adds(b, "\1");
    gi_buf_add(b, out.data + high, out.len - high);
    gi_buf_free(&out);
}

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define KERNEL                                                                                     \
    ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n.reg .pred %p<9>; .reg .b16 %h<9>;"       \
    ".reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %rd<99>;\nld.param.u64 %rd1, [a];\n"

static const char *const ptx[] = {
    HEAD KERNEL "\1add.s32 %r1, %r2, %r3;\n\1ret;\n}\n",
    HEAD KERNEL "\1.reg .b32 %x\2; mov.u32 %x\2, 7; add.s32 %r1, %r1, %x\2;\n\1ret;\n}\n",
    HEAD KERNEL "\1.reg .b32 %x\2; mov.u32 %x\2, %r1;\n\1ret;\n}\n",
    HEAD KERNEL "\1ld.global.u32 %r2, [%rd1+\2]; st.global.u32 [%rd1+\2], %r2;\n\1ret;\n}\n",
    HEAD KERNEL "\1ld.global.f32 %f2, [%rd1]; fma.rn.f32 %f3, %f2, %f1, %f3;\n\1ret;\n}\n",
    HEAD KERNEL "\1L\2: setp.lt.s32 %p1, %r1, \2; @%p1 bra L\2;\n\1ret;\n}\n",
    HEAD KERNEL "\1setp.lt.s32 %p1, %r1, \2; @%p1 bra E; add.s32 %r1, %r1, 1;\n\1E: ret;\n}\n",
    HEAD KERNEL "\1setp.lt.s32 %p1, %r1, \2; @%p1 bra L\2; add.s32 %r1, %r1, 1; L\2:\n\1ret;\n}\n",
    HEAD KERNEL "\1L\2: add.s32 %r1, %r1, 1;\n\1@%p1 bra L0; ret;\n}\n",
    HEAD KERNEL "L: \1add.s32 %r1, %r1, 1; @%p1 bra L;\n\1ret;\n}\n",
    HEAD KERNEL "\1{ .reg .b32 t; mov.u32 t, 1; add.s32 %r1, %r1, t; }\n\1ret;\n}\n",
    HEAD KERNEL "\1{\1 ret;\n}\n",
    HEAD KERNEL "\1mov.u32 %r1, \2;\n\1ret;\n}\n",
    HEAD KERNEL "\1bar.sync 0;\n\1ret;\n}\n",
    HEAD KERNEL "\1.shared .align 4 .b8 s\2[16]; st.shared.u32 [s\2], %r1;\n\1ret;\n}\n",
    HEAD KERNEL "\1.local .align 4 .b8 l\2[16]; st.local.u32 [l\2+4], %r1;\n\1ret;\n}\n",
    HEAD KERNEL "\1atom.global.cas.b32 %r1, [%rd1], %r2, %r3;\n\1ret;\n}\n",
    HEAD KERNEL "\1ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 3;\n\1ret;\n}\n",
    HEAD KERNEL "\1shfl.sync.idx.b32 %r1, %r2, %r3, 31, -1;\n\1ret;\n}\n",
    HEAD KERNEL "\1tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}];\n\1ret;\n}\n",
    HEAD KERNEL "ts: .branchtargets \1L,\1 L;\nbrx.idx %r1, ts; L: ret;\n}\n",
    HEAD ".func f(.param .b32 a) { ret; }\n" KERNEL
         "\1{ .param .b32 p; st.param.b32 [p], %r1; call.uni f, (p); }\n\1ret;\n}\n",
    HEAD "\1.func f\2(.param .b32 a) { .reg .b32 %r<9>; ld.param.u32 %r1, [a]; ret; }\n\1",
    HEAD ".func f0() { ret; }\n\1.func g\2() { call f0; ret; }\n\1",
    HEAD "\1.visible .entry k\2(.param .u64 a) { ret; }\n\1",
    HEAD "\1.global .align 4 .u32 g\2 = \2;\n\1" KERNEL "ret;\n}\n",
    HEAD "\1.const .align 4 .f32 c\2[2] = {1.5, 2};\n\1" KERNEL "ret;\n}\n",
    HEAD ".global .align 1 .b8 t[] = {\1\2, \1 0};\n" KERNEL "ret;\n}\n",
    HEAD ".global .align 1 .b8 t[4000000] = {\1\1};\n" KERNEL "ret;\n}\n",
    HEAD ".global .u32 x; .global .u64 t[900000] = {\1x, \1 x};\n" KERNEL "ret;\n}\n",
    HEAD ".visible .entry k(\1.param .u32 a\2, \1 .param .u32 z) { ret; }\n",
    HEAD KERNEL "ret;\n}\n\1.file 9 \"a\2.cu\"\n\1",
    HEAD KERNEL "\1.loc 1 \2 3\nadd.s32 %r1, %r1, 1;\n\1ret;\n}\n.file 1 \"a.cu\"\n",
    HEAD KERNEL
    "\1.loc 1 \2 3, function_name $s, inlined_at 1 \2 3\nadd.s32 %r1, %r1, 1;\n\1ret;\n}\n",
    HEAD KERNEL "mov.u32 %r1, \1(\1 1;\n}\n",
    HEAD KERNEL "mov.u32 %r1, 1\1+1\1;\n}\n",
    HEAD "//\1 x\1\n",
    HEAD "\1\n\1",
    HEAD KERNEL "add\1.s32\1 %r1, %r2, %r3; ret; }\n",
    HEAD KERNEL "mov.b32 {\1%r1, \1 %r2}, %r3; ret; }\n",
    HEAD KERNEL "\1p\2: .callprototype ()_ (.param .b64 _);\n\1ret; }\n",
    HEAD KERNEL "\1.pragma \"nounroll\";\n\1ret; }\n"};

static const char *const cuda[] = {
    "__global__ void k(float *x, int n) {\n\1  x[n] = x[n] + 1;\n\1}\n",
    "__global__ void k(float *x, int n) {\n\1  int v\2 = n; x[v\2] = 1;\n\1}\n",
    "__global__ void k(float *x, int n) {\n\1  for (int i = 0; i < n; i++) { x[i] += 1; }\n\1}\n",
    "__global__ void k(float *x, int n) {\n\1if (n) {\1 x[0] = 1; }\n",
    "__global__ void k(float *x, int n) {\n\1if (n) x[n] = 1; else \1 x[0] = 1;\n}\n",
    "\1__global__ void k\2(float *x, int n) {\n  x[n] = 1;\n}\n\1",
    "\1#define M\2 \2\n\1__global__ void k(float *x) { x[0] = M1; }\n",
    "\1#define M\2(a) a + M1\n\1__global__ void k(float *x) {\n x[0] = M1(2);\n M2(3);\n}\n",
    "__global__ void k(float *x) {\n#define M(a) a = 1;\n\1M(x[\2])\n\1}\n",
    "__global__ void k(float *x) {\n\1#define M(a) a = 1;\nM(x[\2])\n\1}\n",
    "\1#if A\2\nint a\2;\n#endif\n\1__global__ void k(float *x) { x[0] = 1; }\n",
    "\1#if A\n\1__global__ void k(float *x) { x[0] = 1; }\n",
    "\1struct S\2 { int a; };\n\1__global__ void k(float *x) { x[0] = 1; }\n",
    "\1__constant__ float c\2[2] = {1, 2};\n\1__global__ void k(float *x) { x[0] = c1[0]; }\n",
    "__constant__ float c[] = {\1\2, \1 1};\n__global__ void k(float *x) { x[0] = c[0]; }\n",
    "std::vector<float> w = {\1 0.\2,\1 1};\n__global__ void k(float *x) { x[0] = 1; }\n",
    "\1#include <x\2.h>\n\1__global__ void k(float *x) { x[0] = 1; }\n",
    "__global__ void k(\1float *x\2, \1 int n) { x0[n] = 1; }\n",
    "__global__ void k(float *x) { x[0] = \1(\1 1; }\n",
    "__global__ void k(float *x) { x[0] = 1\1 + x[\2]\1; }\n",
    "__global__ void k(float *x) {\n switch (1) {\n\1 case \2: x[\2] = 1; break;\n\1 }\n}\n",
    "__global__ void k(float *x) {\n\1#pragma unroll\nfor (int i = 0; i < 3; i++) x[i] = 1;\n\1}\n",
    "/*\1 a\1*/\n",
    "\1\n\1",
    "\1// \" ' (\n\1",
    "__global__ void k() { \"\1a\1\"; }\n",
    "\1{\1",
    "\1)\1",
    "\1<\1",
    "template <\1class T\2, \1 int N> __global__ void k(T0 *x) { x[0] = 1; }\n",
    ("\1template <class T> __device__ T f\2(T a) { return a; }\n\1__global__ void k(float *x) { "
     "x[0] = f1(2); }\n"),
    "\1using T\2 = int;\n\1__global__ void k(T1 *x) { x[0] = 1; }\n",
    "\1namespace n\2 {\1 }\n",
    "__global__ void k(float *x) {\n\1__shared__ float s\2[32]; s\2[0] = x[\2];\n\1}\n",
    "__global__ void k(float *x) { int a = 0\1, b\2 = \2\1; x[0] = a; }\n"};

static const char *const logs[] = {
    "\1kernel.cu(\2): error: x\n    y\n    ^\n\n\1",
    "kernel.cu(1): error: a\n\1      b\n\1",
    "kernel.cu(1): error: \1abc \1\n",
    "\1chatter\n\1",
    "\1kernel.cu\1(1): error: x\n",
    "kernel.cu(1): error: x\n\1 \1",
    "kernel.cu(1): warning: x\n  float w[] = {\1 0.\2,\1 1};\n         ^\n"};

static void add_all(FuzzAdd *add, const char *letters, const char *const *texts, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (const char *l = letters; *l; l++) {
            gi_buf b = {0};
            gi_buf_add(&b, l, 1);
            gi_buf_adds(&b, texts[i]);
            add(b.data, b.len);
            gi_buf_free(&b);
        }
}

void fuzz_seeds(FuzzAdd *add) {
    static const char *const genes[] = {"\1<_Z1kPf_4> \1", "\1<1>+<2> \1", "\1<for1_2>\1"};
    static const char *const split[] = {
        HEAD "\1.visible .entry k\2__gilua0000() {\n ret;\n}\n\1",
        HEAD "\1.global .u32 g\2 = 1;\n\1"
             ".visible .entry k__gilua0001() {\n mov.u64 %rd1, g1; mov.u64 %rd1, g2;\n ret;\n}\n",
        HEAD ".visible .entry k__gilua0001() {\n\1$L__BB0_\2: bra $L__BB0_\2;\n\1 ret;\n}\n"};
    add_all(add, "pcfaeu", ptx, sizeof ptx / sizeof *ptx);
    add_all(add, "gtrsm", cuda, sizeof cuda / sizeof *cuda);
    add_all(add, "l", logs, sizeof logs / sizeof *logs);
    add_all(add, "n", genes, sizeof genes / sizeof *genes);
    add_all(add, "uce", split, sizeof split / sizeof *split);
    gi_buf bnf = {0};
    gi_buf_adds(&bnf, "b");
    read_genome("", 0);
    GrammarOptions o = {.file = "f.cu"};
    Grammar *g = grammar_parse(kernel_text, strlen(kernel_text), &o, NULL);
    grammar_print(g, &bnf);
    add(bnf.data, bnf.len);
    grammar_free(g);
    gi_buf_free(&bnf);
}
