/* apply.c - genes, one after the other, on a copy of the module whose instructions they name, or on
** another. */
#include <stdlib.h>
#include <string.h>

#include "llvm/edit.h"

/* One function under edits. */
typedef struct Target {
    LlvmEdit edit;
    bool open;
    int *to; /* the base's instructions in it; NULL: each where it was */
} Target;

typedef struct Gene {
    LlvmGene g;
    const char *text, *end;
} Gene;

typedef struct Work {
    const LlvmBase *b;
    LlvmModule *m;
    LlvmFunc *funcs; /* of m */
    int n_funcs;
    Target *target; /* of each of the base's functions */
    Gene *genes;
    int n_genes, cap_genes;
    bool is_other;
} Work;

static bool read_genes(Work *w, const char *genes, gi_err *err) {
    for (const char *p = genes; *(p += strspn(p, " \t\n"));) {
        Gene gene = {.text = p};
        if (!llvm_gene_parse(w->b, p, &gene.g, &gene.end, err)) return false;
        gi_grow(w->genes, w->n_genes, w->cap_genes);
        w->genes[w->n_genes++] = gene;
        p = gene.end;
    }
    return true;
}

static bool open_module(Work *w, const void *other, size_t len, gi_err *err) {
    w->is_other = other != NULL;
    w->m = other ? llvm_module_open(w->b->m->llvm, other, len, err) : llvm_module_clone(w->b->m);
    if (w->m == NULL) return false;
    w->funcs = llvm_funcs(w->m, &w->n_funcs);
    w->target = gi_alloc((size_t)w->b->n_funcs * sizeof *w->target);
    return true;
}

static const LlvmFunc *counterpart(const Work *w, int func) {
    for (int i = 0; i < w->n_funcs; i++)
        if (strcmp(w->funcs[i].name, w->b->funcs[func].name) == 0) return &w->funcs[i];
    return NULL;
}

static Target *target_of(Work *w, int func) {
    Target *t = &w->target[func];
    const LlvmFunc *f = t->open ? NULL : counterpart(w, func);
    if (f == NULL) return t->open ? t : NULL;
    t->open = true;
    if (w->is_other) {
        t->to = gi_alloc((size_t)w->b->funcs[func].n * sizeof(int));
        llvm_match(w->m->llvm, &w->b->funcs[func], f, t->to);
    }
    llvm_edit_open(&t->edit, w->m, f);
    return t;
}

static int found(const Target *t, LlvmSite at) {
    return t->to ? t->to[at.instr] : at.instr;
}

static void edit(LlvmEdit *e, const LlvmGene *g, int at, int from, int user) {
    switch (g->kind) {
    case LLVM_COPY: llvm_edit_copy(e, at, from, user, g->user_operand); break;
    case LLVM_DELETE: llvm_edit_delete(e, at); break;
    case LLVM_MOVE: llvm_edit_move(e, at, from); break;
    case LLVM_REPLACE: llvm_edit_replace(e, at, from); break;
    case LLVM_SWAP: llvm_edit_swap(e, at, from); break;
    case LLVM_OPERAND: llvm_edit_operand(e, at, g->operand, from); break;
    case LLVM_CONSTANT: llvm_edit_constant(e, at, g->operand, &g->number); break;
    case LLVM_GENE_KINDS: break;
    }
}

/* What genes will copy, before the first of them changes anything. */
static void remember(Work *w) {
    for (int i = 0; i < w->n_genes; i++) {
        const LlvmGene *g = &w->genes[i].g;
        Target *t =
            g->kind == LLVM_COPY || g->kind == LLVM_REPLACE ? target_of(w, g->at.func) : NULL;
        int from = t ? found(t, g->from) : -1;
        if (from >= 0) llvm_edit_remember(&t->edit, from);
    }
}

/* False: what it names is not there. A copy's user may be missing: another instruction takes it. */
static bool apply_gene(Work *w, const LlvmGene *g) {
    Target *t = target_of(w, g->at.func);
    const bool alone = g->kind == LLVM_DELETE || g->kind == LLVM_CONSTANT;
    const int at = t ? found(t, g->at) : -1, from = t && !alone ? found(t, g->from) : 0;
    if (at < 0 || from < 0) return false;
    edit(&t->edit, g, at, from, g->user.instr >= 0 ? found(t, g->user) : -1);
    return true;
}

static void apply_all(Work *w, gi_buf *lost) {
    remember(w);
    for (int i = 0; i < w->n_genes; i++) {
        const Gene *gene = &w->genes[i];
        if (apply_gene(w, &gene->g)) continue;
        if (lost->len) gi_buf_adds(lost, " ");
        gi_buf_add(lost, gene->text, (size_t)(gene->end - gene->text));
    }
}

static void close_work(Work *w) {
    for (int i = 0; w->target && i < w->b->n_funcs; i++) {
        if (w->target[i].open) llvm_edit_close(&w->target[i].edit);
        free(w->target[i].to);
    }
    llvm_funcs_free(w->funcs, w->n_funcs);
    free(w->target);
    free(w->genes);
}

LlvmModule *llvm_genes_apply(LlvmBase *b, const char *genes, const void *other, size_t other_len,
                             gi_buf *lost, gi_err *err) {
    Work w = {.b = b};
    bool done = read_genes(&w, genes, err) && open_module(&w, other, other_len, err);
    if (done) apply_all(&w, lost);
    close_work(&w);
    if (done) done = llvm_module_verify(w.m, err);
    if (done) return w.m;
    llvm_module_close(w.m);
    return NULL;
}
