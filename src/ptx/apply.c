/* apply.c - genes, one after the other, on the PTX whose instructions they name, or on other. */
#include "ptx/inside.h"

#include <stdlib.h>
#include <string.h>

/* One function under edits. */
typedef struct Target {
    PtxEdit edit;
    bool open;
    int *to; /* the base's instructions in it; NULL: each where it was */
} Target;

typedef struct Work {
    const PtxBase *b;
    PtxModule m;    /* that is printed: its functions are a copy */
    Target *target; /* of each of the base's functions */
    PtxArena arena;
    gi_buf *lost;
} Work;

/* The function of the module that the base's function has become; NULL. */
static PtxFunc *counterpart(const Work *w, int func) {
    const char *name = w->b->m->funcs[func].name;
    for (int i = 0; i < w->m.n_funcs; i++)
        if (w->m.funcs[i].n_code && strcmp(w->m.funcs[i].name, name) == 0) return &w->m.funcs[i];
    return NULL;
}

static Target *target_of(Work *w, int func) {
    Target *t = &w->target[func];
    PtxFunc *f = t->open ? NULL : counterpart(w, func);
    if (f == NULL) return t->open ? t : NULL;
    const PtxFunc *base = &w->b->m->funcs[func];
    t->open = true;
    if (f->code != base->code) {
        t->to = gi_alloc((size_t)base->n_code * sizeof(int));
        ptx_match(base, f, t->to);
    }
    ptx_edit_open(&t->edit, f);
    return t;
}

static int found(const Target *t, PtxSite at) {
    return t->to ? t->to[at.instr] : at.instr;
}

static void edit(PtxEdit *e, const PtxGene *g, int at, int from, int user, PtxArena *a) {
    switch (g->kind) {
    case PTX_COPY: ptx_edit_copy(e, at, from, user, g->user_leaf, a); break;
    case PTX_DELETE: ptx_edit_delete(e, at, a); break;
    case PTX_MOVE: ptx_edit_move(e, at, from, a); break;
    case PTX_REPLACE: ptx_edit_replace(e, at, from, a); break;
    case PTX_SWAP: ptx_edit_swap(e, at, from, a); break;
    case PTX_OPERAND: ptx_edit_operand(e, at, g->leaf, from, g->result, a); break;
    case PTX_CONSTANT: ptx_edit_constant(e, at, g->leaf, &g->number, a); break;
    case PTX_GENE_KINDS: break;
    }
}

/* False: what it names is not there. A copy's user may be missing: another instruction takes it. */
static bool apply_gene(Work *w, const PtxGene *g) {
    Target *t = target_of(w, g->at.func);
    bool alone = g->kind == PTX_DELETE || g->kind == PTX_CONSTANT;
    int at = t ? found(t, g->at) : -1, from = t && !alone ? found(t, g->from) : 0;
    if (at < 0 || from < 0) return false;
    int user = g->user.instr >= 0 ? found(t, g->user) : -1;
    edit(&t->edit, g, at, from, user, &w->arena);
    return true;
}

static void lose(Work *w, const char *gene, const char *end) {
    if (w->lost == NULL) return;
    if (w->lost->len) gi_buf_adds(w->lost, " ");
    gi_buf_add(w->lost, gene, (size_t)(end - gene));
}

static bool apply_all(Work *w, const char *genes, gi_err *err) {
    for (const char *p = genes; *(p += strspn(p, " \t\n"));) {
        PtxGene g;
        const char *end;
        if (!ptx_gene_parse(w->b, p, &g, &end, err)) return false;
        if (!apply_gene(w, &g)) lose(w, p, end);
        p = end;
    }
    return true;
}

/* What was edited takes its place in the module. */
static void put_back(Work *w) {
    for (int i = 0; i < w->b->m->n_funcs; i++)
        if (w->target[i].open) *counterpart(w, i) = w->target[i].edit.f;
}

static void close_work(Work *w) {
    for (int i = 0; i < w->b->m->n_funcs; i++) {
        if (w->target[i].open) ptx_edit_close(&w->target[i].edit);
        free(w->target[i].to);
    }
    free(w->target);
    free(w->m.funcs);
    ptxp_arena_free(&w->arena);
}

bool ptx_genes_apply(const PtxBase *b, const char *genes, const char *other, size_t other_len,
                     gi_buf *out, gi_buf *lost, gi_err *err) {
    PtxModule *m = other ? ptx_parse(other, other_len, err) : b->m;
    if (m == NULL) return false;
    Work w = {.b = b, .m = *m, .lost = lost};
    size_t size = (size_t)m->n_funcs * sizeof *m->funcs;
    w.m.funcs = gi_alloc(size);
    if (size) memcpy(w.m.funcs, m->funcs, size);
    w.target = gi_alloc((size_t)b->m->n_funcs * sizeof *w.target);
    bool done = apply_all(&w, genes, err);
    if (done) {
        put_back(&w);
        ptx_print(&w.m, out);
    }
    close_work(&w);
    if (other) ptx_free(m);
    return done;
}
