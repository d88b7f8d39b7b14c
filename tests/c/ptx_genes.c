/* ptx_genes.c - genes over PTX: each operator, its repair, names, refusals; and over many random
** genomes that what comes out is whole PTX in which nothing is read that was not written. */
#include "ptx/genes.h"

#include <stdlib.h>

#include "ptx/edit.h"
#include "ptx_sample.h"
#include "tap.h"

/* Block 1: 1 … 7, block 2: 8, 9, block 3: the rest. */
static const char kernel[] = PTX_KERNEL("ld.param.u64 %rd1, [k_param_0];\n"
                                        "ld.param.u32 %r1, [k_param_1];\n"
                                        "mov.u32 %r2, %tid.x;\n"
                                        "mul.wide.s32 %rd2, %r2, 4;\n"
                                        "add.s64 %rd3, %rd1, %rd2;\n"
                                        "setp.ge.s32 %p1, %r2, %r1;\n"
                                        "@%p1 bra end;\n"
                                        "ld.global.f32 %f1, [%rd3];\n"
                                        "fma.rn.f32 %f2, %f1, 0f40000000, %f1;\n"
                                        "end: add.s32 %r3, %r2, %r1;\n"
                                        "st.global.u32 [%rd3], %r3;\n"
                                        "bar.sync 0;\n"
                                        "ret;\n");

static PtxBase *base_of(const char *ptx) {
    gi_err err = {.message = ""};
    PtxBase *b = ptx_base_open(ptx, strlen(ptx), &err);
    if (b == NULL) printf("# %s\n", err.message);
    return b;
}

/* The code of a module's first kernel, an instruction a line. */
static void code_of(const char *ptx, gi_buf *out) {
    gi_err err = {.message = ""};
    PtxModule *m = ptx_parse(ptx, strlen(ptx), &err);
    if (m == NULL) {
        gi_buf_addf(out, "%s", err.message);
        return;
    }
    const PtxFunc *f = &m->funcs[0];
    for (int i = 0; i < f->n_code; i++) {
        ptx_print_instr(f, &f->code[i], out);
        gi_buf_adds(out, "\n");
    }
    ptx_free(m);
}

static void apply(const char *ptx, const char *genes, gi_buf *out) {
    PtxBase *b = base_of(ptx);
    gi_buf text = {0};
    gi_err err = {.message = ""};
    if (ptx_genes_apply(b, genes, NULL, 0, &text, NULL, &err)) code_of(text.data, out);
    else gi_buf_addf(out, "%s\n", err.message);
    gi_buf_free(&text);
    ptx_base_close(b);
}

/* `K` in genes stands for "ptx:k". */
static char *full(const char *genes) {
    gi_buf b = {0};
    for (const char *p = genes; *p; p++)
        if (*p == 'K') gi_buf_adds(&b, "ptx:k");
        else gi_buf_add(&b, p, 1);
    gi_buf_add(&b, "", 1);
    return b.data;
}

/* With the genes the code, or why there is none, has `lines` in it. */
static void gives(const char *genes, const char *lines, const char *what) {
    gi_buf code = {0};
    char *all = full(genes);
    apply(kernel, all, &code);
    has_str(code.data, lines, what);
    gi_buf_free(&code);
    free(all);
}

static void lacks(const char *genes, const char *text, const char *what) {
    gi_buf code = {0};
    char *all = full(genes);
    apply(kernel, all, &code);
    if (!ok(strstr(code.data, text) == NULL, "%s", what)) printf("# %s\n", code.data);
    gi_buf_free(&code);
    free(all);
}

static void operators(void) {
    lacks("<K.3.3>", "bar.sync", "a barrier is deleted");
    gives("<K.2.2>", "ld.global.f32 %f1, [%rd3];\nadd.s32", "so is what nobody reads");
    gives("<K.1.5>", "ld.global.f32 %f1, [%rd2];", "who read it reads the last value of its kind");
    gives("<K.3.1><K.1.3>", "mov.u32 %r3, %tid.x;\nst.global.u32 [%rd3], %r3;",
          "a replacement writes what was written");
    gives("<K.3.2>+<K.3.1>",
          "add.s32 %r3, %r2, %r1;\nadd.s32 %new38, %r2, %r1;\nst.global.u32 [%rd3], %new38;",
          "a copy is used by what follows");
    gives("<K.1.4>+<K.1.3>/<K.3.1>.2", "add.s32 %r3, %r2, %new38;", "or by who is named");
    gives("<K.1.1>+<K.3.3>", "bar.sync 0;\nld.param.u64 %rd1, [k_param_0];", "or makes nothing");
    gives("<K.1.1>-<K.1.3>", "mov.u32 %r2, %tid.x;\nld.param.u64 %rd1, [k_param_0];", "a move");
    gives("<K.3.2>~<K.3.3>", "bar.sync 0;\nst.global.u32 [%rd3], %r3;\nret;", "a swap");
    gives("<K.3.1>.1=<K.1.2>", "add.s32 %r3, %r1, %r1;", "an operand");
    gives("<K.2.2>.2=0f3F000000", "fma.rn.f32 %f2, %f1, 0f3F000000, %f1;", "a constant");
    gives("<K.3.1>.2=7", "add.s32 %r3, %r2, 7;", "a constant for a register");
}

static void repairs(void) {
    gives("<K.1.2>+<K.3.1>", "ld.param.u64 %rd1, [k_param_0];\nadd.s32 %new38, 1, 1;\n",
          "where there is no value of its kind, the constant 1");
    gives("<K.1.4>+<K.3.1>", "add.s32 %new38, %r2, %r1;", "what is there stays");
    gives("<K.1.3>+<K.3.1>", "add.s32 %new38, %r1, %r1;", "what is not is the last of its kind");
    gives("<K.1.1>-<K.3.2>", "mov.b32 %new39, 1;", "a register with 1 where there must be one");
    gives("<K.1.1>-<K.3.2>", "st.global.u32 [%new38], %new39;", "in an address and for a value");
    gives("<K.3.1>-<K.2.1>", "fma.rn.f32 %f2, 0f3F800000, 0f40000000, 0f3F800000;",
          "a float is 1.0, whatever else it multiplies");
    gives("<K.1.6>", "mul.wide.s32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nbra $L8;",
          "a guard that is nowhere goes");
    gives("<K.3.3>-<K.1.6>", "setp.ge.s32 %p1, %r2, %r1;\nbar.sync 0;",
          "its maker stays what it is");
    gives("<K.1.1>~<K.3.1>", "add.s32 %r3, 1, 1;\nld.param.u32", "a swap mends both");
    gives("<K.1.1>~<K.3.1>", "ld.param.u64 %rd1, [k_param_0];\nst.global", "where they go");
}

static void sequences(void) {
    lacks("<K.3.3> <K.3.3>", "bar.sync", "what is gone cannot go again");
    gives("<K.3.3> <K.3.3><K.3.2>", "st.global.u32 [%rd3], %r3;\nst.global.u32 [%rd3], %r3;\nret;",
          "but may be replaced: what replaces it is put there");
    gives("<K.3.2> <K.3.2>+<K.3.2>", "add.s32 %r3, %r2, %r1;\nst.global.u32 [%rd3], %r3;\nbar.sync",
          "and copied from, and to");
    gives("<K.1.1>-<K.1.3> <K.1.3>", "ld.param.u64 %rd1, [k_param_0];\nld.param.u32",
          "a name stays with what was moved");
    gives("<K.1.1>+<K.3.3> <K.3.3>", "bar.sync 0;\nld.param.u64", "and not with its copies");
    gives("<K.3.1>.2=7 <K.3.2>+<K.3.1>", "add.s32 %new38, %r2, %r1;", "copies are of what was");
    gives("<K.3.1>+<K.3.3> <K.3.1>+<K.3.2>", "bar.sync 0;\nst.global.u32 [%rd3], %r2;\nadd.s32",
          "what is put before one place is put in order");
    gives("<K.3.1>+<K.3.3>",
          "@%p1 bra $L9;\nld.global.f32 %f1, [%rd3];\nfma.rn.f32 %f2, %f1, "
          "0f40000000, %f1;\nbar.sync 0;\nadd.s32",
          "a label stays before what is put at its place");
}

static void no_functions(void) {
    gi_buf out = {0}, lost = {0};
    gi_err err;
    PtxBase *b = ptx_base_open(PTX_HEAD, strlen(PTX_HEAD), &err);
    ok(b && ptx_genes_apply(b, "", NULL, 0, &out, &lost, &err), "a module without functions stays");
    has_str(out.data, ".target sm_90", "as it is");
    ptx_base_close(b);
    gi_buf_free(&out);
    gi_buf_free(&lost);
}

static void refusals(void) {
    gives("<K.1.7>", "`@%p1 bra $L9;` is not open", "a branch");
    gives("<K.1.1>+<K.3.4>", "`ret;` is not open", "a return");
    gives("<K.3.1><K.2.1>", "the two make results of other types", "a float for a number");
    gives("<K.3.1><K.3.1>", "it changes nothing", "itself");
    gives("<K.3.1>.1=<K.2.1>", "the operand and the result are of other types", "an operand");
    gives("<K.3.1>.5=<K.1.2>", "no operand 5 that could change in `add.s32 %r3", "no operand");
    gives("<K.3.1>.0=<K.1.6>", "no operand 0", "no guard");
    gives("<K.3.1>.1=<K.1.2>.2", "there is no result 2 of `ld.param.u32", "no result");
    gives("<K.3.1>.1=<K.3.3>", "there is no result 1 of `bar.sync", "nothing made");
    gives("<K.3.1>.2=0f3F800000", "operand 2 is written as a whole number", "a float there");
    gives("<K.2.2>.2=2", "is written as 0f and 8 hexadecimal digits", "a number there");
    gives("<K.2.2>.2=0f3F", "not as many digits", "half a number");
    gives("<K.2.2>.2=0f40000000", "it changes nothing", "the number that is there");
    gives("<K.3.3>.1=1", "no operand 1 that could change in `bar.sync 0;`", "a barrier's");
    gives("<K.4.1>", "names no block", "a block too many");
    gives("<K.0.1>", "names no block", "a block too few");
    gives("<K.1.8>", "names no instruction: the block has fewer", "an instruction too many");
    gives("<ptx:f.1.1>", "names no function of the PTX", "another function");
    gives("<K.1>", "is not <ptx:KERNEL.BLOCK.N>", "half a name");
    gives("<K.1.1>+", "is no name of an instruction", "half a gene");
    gives("<K.1.1>x", "something follows its end", "more than a gene");
    gives("<K.3.1>.2=", "followed by nothing", "no number");
    gives("<K.1.1>+<K.3.3>/<K.3.2>", "is an operand: <C>.2", "no operand of who uses it");
    gives("<_kernel.cu_3>", "is no name of an instruction", "another sort of gene");
}

/* Where floats are declared as bits, as LLVM does, what uses them says that they are floats. */
static void bits(void) {
    gi_buf ptx = {0}, code = {0};
    const char *at = strstr(kernel, ".reg .f32");
    gi_buf_add(&ptx, kernel, (size_t)(at - kernel));
    gi_buf_addf(&ptx, ".reg .b32%s", at + strlen(".reg .f32"));
    apply(ptx.data, "<ptx:k.3.1><ptx:k.2.1>", &code);
    has_str(code.data, "the two make results of other types", "a float declared as bits");
    gi_buf_clear(&code);
    apply(ptx.data, "<ptx:k.3.1>-<ptx:k.2.1>", &code);
    has_str(code.data, "fma.rn.f32 %f2, 0f3F800000, 0f40000000, 0f3F800000;", "is 1.0 for one");
    gi_buf_free(&ptx);
    gi_buf_free(&code);
}

/* --- random genomes --- */

/* Nothing is read that was not written on every path to it, but for what always was so. */
static bool is_whole(const char *ptx, const PtxModule *was) {
    gi_err err = {.message = ""};
    PtxModule *m = ptx_parse(ptx, strlen(ptx), &err);
    if (m == NULL) printf("# %s\n", err.message);
    bool whole = m != NULL;
    for (int i = 0; whole && i < m->n_funcs; i++) {
        PtxEdit e;
        if (m->funcs[i].n_code == 0) continue;
        ptx_edit_open(&e, &m->funcs[i]);
        for (int r = 0; r < m->funcs[i].n_regs; r++)
            if (e.loose[r] && r >= was->funcs[i].n_regs) whole = false;
        ptx_edit_close(&e);
    }
    ptx_free(m);
    return whole;
}

static int loose_registers(const char *ptx) {
    gi_err err;
    int n = 0;
    PtxModule *m = ptx_parse(ptx, strlen(ptx), &err);
    for (int i = 0; i < m->n_funcs; i++) {
        PtxEdit e;
        if (m->funcs[i].n_code == 0) continue;
        ptx_edit_open(&e, &m->funcs[i]);
        for (int r = 0; r < m->funcs[i].n_regs; r++) n += e.loose[r];
        ptx_edit_close(&e);
    }
    ptx_free(m);
    return n;
}

static bool same_again(const PtxBase *b, const char *gene) {
    gi_err err;
    PtxGene g;
    gi_buf again = {0};
    bool same = ptx_gene_parse(b, gene, &g, NULL, &err);
    if (same) ptx_gene_print(b, &g, &again);
    same = same && strcmp(again.data, gene) == 0;
    gi_buf_free(&again);
    return same;
}

static void random_genomes(const char *ptx, const char *what, uint64_t seed) {
    PtxBase *b = base_of(ptx);
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    int kinds[PTX_GENE_KINDS] = {0}, broken = 0, unlike = 0, different = 0;
    int loose = loose_registers(ptx);
    for (int i = 0; i < 400; i++) {
        gi_buf genes = {0}, out = {0}, out_again = {0};
        gi_err err = {.message = ""};
        for (int k = (int)gi_rng_below(&rng, 6); k >= 0; k--) {
            gi_buf one = {0};
            PtxGene g;
            bool drawn = ptx_gene_random(b, &rng, NULL, &one, &err);
            unlike += !drawn || !same_again(b, one.data);
            if (drawn && ptx_gene_parse(b, one.data, &g, NULL, &err)) kinds[g.kind]++;
            gi_buf_addf(&genes, "%s%s", genes.len ? " " : "", one.data);
            gi_buf_free(&one);
        }
        bool well = ptx_genes_apply(b, genes.data, NULL, 0, &out, NULL, &err) &&
                    is_whole(out.data, ptx_base_module(b)) && loose_registers(out.data) <= loose;
        if (!well && broken++ < 3) printf("# %s: %s\n", genes.data, err.message);
        if (well) ptx_genes_apply(b, genes.data, NULL, 0, &out_again, NULL, &err);
        different += well && strcmp(out.data, out_again.data) != 0;
        gi_buf_free(&genes);
        gi_buf_free(&out);
        gi_buf_free(&out_again);
    }
    ok(broken == 0, "%s: 400 random genomes give whole PTX (seed %d)", what, (int)seed);
    is_int(unlike, 0, "their genes, printed, are read as they were");
    is_int(different, 0, "and give the same again");
    for (int k = 0; k < PTX_GENE_KINDS; k++)
        ok(kinds[k] > 0 || strstr(ptx, "twice"), "some are of kind %s",
           ptx_gene_kind_name((PtxGeneKind)k));
    ptx_base_close(b);
}

/* --- what is written where, against a search over paths --- */

/* Loops in each other, a value that two paths make, a block that no path leads to. */
static const char paths[] = PTX_KERNEL("mov.u32 %r1, %tid.x;\n"
                                       "setp.eq.s32 %p1, %r1, 0;\n"
                                       "@%p1 bra other;\n"
                                       "mov.u32 %r2, 1;\n"
                                       "mov.u32 %r3, 2;\n"
                                       "bra both;\n"
                                       "other: mov.u32 %r2, 3;\n"
                                       "both: mov.u32 %r4, 0;\n"
                                       "outer: add.s32 %r4, %r4, %r2;\n"
                                       "mov.u32 %r5, 0;\n"
                                       "inner: add.s32 %r5, %r5, 1;\n"
                                       "@%p1 mov.u32 %r6, %r5;\n"
                                       "setp.lt.s32 %p2, %r5, %r1;\n"
                                       "@%p2 bra inner;\n"
                                       "mov.u32 %r7, %r5;\n"
                                       "setp.lt.s32 %p3, %r4, 9;\n"
                                       "@%p3 bra outer;\n"
                                       "bra end;\n"
                                       "mov.u32 %r8, %r7;\n"
                                       "end: st.global.u32 [%rd1], %r4;\n"
                                       "ret;\n");

static void add_next(int next, int n, bool *seen, int *stack, int *depth) {
    if (next >= n || seen[next]) return;
    seen[next] = true;
    stack[(*depth)++] = next;
}

/* Marks the instructions that some path comes to without a write of the register. */
static void mark_unwritten(PtxFunc *f, int reg, bool *seen) {
    int depth = 0, *stack = malloc(((size_t)f->n_code + 1) * sizeof *stack);
    add_next(0, f->n_code, seen, stack, &depth);
    while (depth > 0) {
        int i = stack[--depth];
        PtxInstr *in = &f->code[i];
        PtxLeaves l;
        bool writes = false;
        ptx_leaves(in, &l);
        for (int k = 0; k < l.n_writes; k++) writes |= *l.writes[k] == reg;
        if (writes) continue;
        if (in->target >= 0) add_next(in->target, f->n_code, seen, stack, &depth);
        for (int k = 0; k < in->n_targets; k++)
            add_next(in->targets[k], f->n_code, seen, stack, &depth);
        if (in->guard >= 0 || !ptx_is(in, "bra brx ret exit trap"))
            add_next(i + 1, f->n_code, seen, stack, &depth);
    }
    free(stack);
}

/* Every path must be taken to see everything, also to what nothing leads to. */
static int disagreements(PtxFunc *f) {
    int wrong = 0;
    PtxValues v;
    ptx_values(f, &v);
    for (int r = 0; r < f->n_regs; r++) {
        bool *seen = calloc((size_t)f->n_code + 1, 1);
        mark_unwritten(f, r, seen);
        for (int i = 0; i < f->n_code; i++) {
            bool reached = v.enter[v.cfg->block_of[i]] >= 0;
            if (reached) wrong += ptx_is_written(&v, r, i) == seen[i];
        }
        free(seen);
    }
    ptx_values_free(&v);
    return wrong;
}

static void written_on_every_path(const char *ptx, const char *what, uint64_t seed) {
    PtxBase *b = base_of(ptx);
    gi_rng rng;
    gi_err err;
    gi_rng_seed(&rng, seed);
    int wrong = 0;
    for (int i = 0; i < 100; i++) {
        gi_buf gene = {0}, out = {0};
        ptx_gene_random(b, &rng, NULL, &gene, &err);
        ptx_genes_apply(b, i ? gene.data : "", NULL, 0, &out, NULL, &err);
        PtxModule *m = ptx_parse(out.data, out.len, &err);
        for (int k = 0; m && k < m->n_funcs; k++)
            if (m->funcs[k].n_code) wrong += disagreements(&m->funcs[k]);
        ptx_free(m);
        gi_buf_free(&gene);
        gi_buf_free(&out);
    }
    is_int(wrong, 0, what);
    ptx_base_close(b);
}

/* --- in other PTX --- */

/* Genes of one PTX on another: `lines` are in what comes out, and `lost` is said to be lost. */
static void between(const char *base, const char *other, const char *genes, const char *lines,
                    const char *lost, const char *what) {
    gi_buf text = {0}, code = {0}, gone = {0};
    gi_err err = {.message = ""};
    PtxBase *b = base_of(base);
    char *all = full(genes), *all_lost = full(lost);
    if (ptx_genes_apply(b, all, other, strlen(other), &text, &gone, &err))
        code_of(text.data, &code);
    else gi_buf_adds(&code, err.message);
    has_str(code.data, lines, what);
    is_str(gone.data ? gone.data : "", all_lost, lost[0] ? "and it is said" : "nothing is lost");
    ptx_base_close(b);
    gi_buf_free(&text);
    gi_buf_free(&code);
    gi_buf_free(&gone);
    free(all);
    free(all_lost);
}

/* On the kernel with another line in a line's place. */
static void in_other(const char *line, const char *new_line, const char *genes, const char *lines,
                     const char *lost, const char *what) {
    gi_buf other = {0};
    const char *at = strstr(kernel, line);
    gi_buf_add(&other, kernel, (size_t)(at - kernel));
    gi_buf_adds(&other, new_line);
    gi_buf_adds(&other, at + strlen(line));
    between(kernel, other.data, genes, lines, lost, what);
    gi_buf_free(&other);
}

static void names_in_others(void) {
    const char *tid = "mov.u32 %r2, %tid.x;\n", *bar = "bar.sync 0;\n",
               *add = "add.s32 %r3, %r2, %r1;";
    in_other(tid, tid, "<K.3.1>.1=<K.1.2>", "add.s32 %r3, %r1, %r1;", "", "the same PTX");
    in_other(tid, "mov.u32 %r2, %tid.x;\nmul.lo.s32 %r4, %r2, %r2;\n", "<K.3.1>.1=<K.1.2>",
             "add.s32 %r3, %r1, %r1;", "", "an instruction more before it");
    in_other(tid, "mov.u32 %r2, %tid.y;\n", "<K.3.1>.1=<K.1.2>", "add.s32 %r3, %r1, %r1;", "",
             "another value read");
    in_other(tid, "mov.u32 %r2, %tid.y;\n", "<K.1.3>", "mov.u32 %r2, %tid.y;", "<K.1.3>",
             "another instruction in its place");
    in_other(bar, "", "<K.3.3> <K.3.1>.2=7", "add.s32 %r3, %r2, 7;", "<K.3.3>", "it is not there");
    in_other(add, "add.s32 %r3, %r2, %r1; add.s32 %r4, %r1, %r2;", "<K.3.1>.2=7",
             "add.s32 %r3, %r2, 7;\nadd.s32 %r4, %r1, %r2;", "", "two, of which one is it");
    in_other(add, "add.s32 %r3, %r1, %r2;", "<K.3.1>.2=7", "add.s32 %r3, %r1, %r2;", "<K.3.1>.2=7",
             "one that is like it and another");
    in_other(bar, "bar.sync 0;\nbar.sync 0;\nbar.sync 0;\n", "<K.3.3>",
             "bar.sync 0;\nbar.sync 0;\nret;", "", "beside what is sure, a copy is the one");
    in_other("@%p1 bra end;\n", "@%p1 bra end;\nbar.sync 0;\n", "<K.3.3>", "bar.sync 0;\nld.global",
             "", "one more elsewhere is not mistaken for it");
    between(PTX_KERNEL("bar.sync 0;\nmov.u32 %r1, %tid.x;\nbar.sync 0;\nmov.u32 %r2, %tid.y;\n"
                       "st.global.u32 [%rd1], %r2;\n"),
            PTX_KERNEL("mov.u32 %r3, %tid.z;\nbar.sync 0;\nmov.u32 %r4, %laneid;\n"
                       "st.global.u32 [%rd1], %r4;\n"),
            "<K.1.1> <K.1.3>", "bar.sync 0;", "<K.1.1> <K.1.3>",
            "one of two, and nobody knows which");
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20;
    operators();
    repairs();
    sequences();
    refusals();
    no_functions();
    bits();
    random_genomes(kernel, "the kernel", seed);
    random_genomes(ptx_sample, "the sample", seed + 1);
    random_genomes(paths, "loops", seed + 2);
    written_on_every_path(paths, "what is written on every path, in loops", seed + 3);
    written_on_every_path(ptx_sample, "and in the sample", seed + 4);
    names_in_others();
    return tap_done();
}
