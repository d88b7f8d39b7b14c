/* draw.c - random legal genes: first the kind, then what it names, until something is legal. */
#include "ptx/inside.h"

#include <string.h>

enum { TRIES = 1000 }; /* of one gene; then nothing is open */

typedef struct Draw {
    const PtxBase *b;
    gi_rng *rng;
    int func;
} Draw;

static int below(Draw *d, int n) {
    return (int)gi_rng_below(d->rng, (uint64_t)n);
}

/* A function, by how many instructions it has. */
static bool draw_function(Draw *d) {
    int total = 0;
    for (int i = 0; i < d->b->m->n_funcs; i++) total += d->b->m->funcs[i].n_code;
    if (total == 0) return false;
    int n = below(d, total);
    for (d->func = 0; n >= d->b->m->funcs[d->func].n_code; d->func++)
        n -= d->b->m->funcs[d->func].n_code;
    return true;
}

static PtxSite draw_site(Draw *d) {
    return (PtxSite){d->func, below(d, d->b->m->funcs[d->func].n_code)};
}

static const PtxEdit *edit_of(const Draw *d) {
    return &d->b->edit[d->func];
}

static int draw_leaf(Draw *d, PtxSite at) {
    PtxInstr in = edit_of(d)->was->code[at.instr];
    PtxLeaves l;
    ptx_leaves(&in, &l);
    return l.n > 0 ? below(d, l.n) : 0;
}

/* --- what uses a copy: an operand of its kind that it comes before on every path --- */

/* Is `at` only reached by way of `by`? */
static bool comes_after(const Draw *d, int by, int at) {
    const PtxValues *v = &edit_of(d)->values;
    int block = v->cfg->block_of[by], own = v->cfg->block_of[at];
    return at >= by && (block == own || ptx_dominates(v, block, own));
}

static bool fits(const Draw *d, PtxSite from, int reg) {
    PtxInstr in = edit_of(d)->was->code[from.instr];
    PtxLeaves l;
    ptx_leaves(&in, &l);
    for (int k = 0; k < l.n_writes; k++)
        if (edit_of(d)->kind[*l.writes[k]] == edit_of(d)->kind[reg]) return true;
    return false;
}

static void draw_user(Draw *d, PtxGene *g) {
    for (int i = 0; i < TRIES; i++) {
        PtxSite at = draw_site(d);
        int leaf = draw_leaf(d, at);
        PtxInstr in = edit_of(d)->was->code[at.instr];
        PtxLeaves l;
        ptx_leaves(&in, &l);
        int r = leaf < l.n ? ptx_leaf_reg(&in, &l.leaf[leaf]) : -1;
        if (r < 0 || !fits(d, g->from, r) || !comes_after(d, g->at.instr, at.instr)) continue;
        g->user = at;
        g->user_leaf = leaf;
        return;
    }
}

/* --- other values --- */

static bool result_that_fits(Draw *d, PtxGene *g) {
    PtxInstr in = edit_of(d)->was->code[g->at.instr];
    PtxLeaves l;
    ptx_leaves(&in, &l);
    int old = g->leaf < l.n ? ptx_leaf_reg(&in, &l.leaf[g->leaf]) : -1;
    const PtxValues *v = &edit_of(d)->values;
    for (int i = 0; i < TRIES && old >= 0 && v->first[g->at.instr] > 0; i++) {
        g->from = draw_site(d);
        int n = v->first[g->from.instr + 1] - v->first[g->from.instr];
        if (n == 0) continue;
        g->result = below(d, n);
        int r = v->reg[v->first[g->from.instr] + g->result];
        if (r != old && edit_of(d)->kind[r] == edit_of(d)->kind[old] &&
            ptx_is_written(v, r, g->at.instr))
            return true;
    }
    return false;
}

/* Numbers that programs have, and neighbours of the one that is there. */
static uint64_t other_integer(Draw *d, uint64_t old) {
    static const int64_t usual[] = {0, 1, -1, 2, 4, 16, 32, 64};
    switch (below(d, 6)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return old * 2;
    case 3: return (uint64_t)((int64_t)old / 2);
    case 4: return 0 - old;
    default: return (uint64_t)usual[below(d, 8)];
    }
}

static double other_float(Draw *d, double old) {
    static const double usual[] = {0, 1, -1, 0.5, 2};
    switch (below(d, 5)) {
    case 0: return old * 2;
    case 1: return old / 2;
    case 2: return -old;
    case 3: return old * (1 + (gi_rng_unit(d->rng) - 0.5) / 4);
    default: return usual[below(d, 5)];
    }
}

static void other_number(Draw *d, const PtxOperand *old, PtxType type, PtxOperand *new) {
    *new = *old;
    if (old->imm_kind == PTX_IMM_F64) {
        double x;
        memcpy(&x, &old->imm, 8);
        x = other_float(d, x);
        memcpy(&new->imm, &x, 8);
    } else if (old->imm_kind == PTX_IMM_F32) {
        float x;
        memcpy(&x, &old->imm, 4);
        x = (float)other_float(d, (double)x);
        new->imm = 0;
        memcpy(&new->imm, &x, 4);
    } else {
        new->imm = other_integer(d, old->imm);
        size_t bits = 8 * ptx_type_size(type);
        if (bits == 16) new->imm = (uint64_t)(int16_t) new->imm;
        if (bits == 32) new->imm = (uint64_t)(int32_t) new->imm;
    }
}

static bool draw_constant(Draw *d, PtxGene *g) {
    PtxInstr in = edit_of(d)->was->code[g->at.instr];
    PtxLeaves l;
    ptx_leaves(&in, &l);
    const PtxLeaf *leaf = g->leaf < l.n ? &l.leaf[g->leaf] : NULL;
    if (leaf == NULL || leaf->op == NULL || leaf->op->kind != PTX_OP_IMM) return false;
    other_number(d, leaf->op, leaf->type, &g->number);
    return true;
}

/* --- genes --- */

static bool is_idle_move(const PtxGene *g) {
    return g->kind == PTX_MOVE && g->at.instr == g->from.instr + 1;
}

static bool try_gene(Draw *d, PtxGeneKind kind, PtxGene *g) {
    *g = (PtxGene){.kind = kind, .user = {-1, -1}};
    if (!draw_function(d)) return false;
    g->at = draw_site(d);
    g->from = draw_site(d);
    if (kind == PTX_OPERAND || kind == PTX_CONSTANT) g->leaf = draw_leaf(d, g->at);
    if (kind == PTX_OPERAND && !result_that_fits(d, g)) return false;
    if (kind == PTX_CONSTANT && !draw_constant(d, g)) return false;
    gi_buf why = {0};
    ptx_gene_reason(d->b, g, &why);
    bool legal = why.len == 0 && !is_idle_move(g);
    gi_buf_free(&why);
    if (legal && kind == PTX_COPY) draw_user(d, g);
    return legal;
}

bool ptx_gene_random(const PtxBase *b, gi_rng *rng, const double *weights, gi_buf *out,
                     gi_err *err) {
    Draw d = {.b = b, .rng = rng};
    for (int kinds = 0; kinds < 20; kinds++) {
        int kind = gi_rng_weighted(rng, weights, PTX_GENE_KINDS);
        for (int i = 0; i < TRIES && kind >= 0; i++) {
            PtxGene g;
            if (!try_gene(&d, (PtxGeneKind)kind, &g)) continue;
            ptx_gene_print(b, &g, out);
            return true;
        }
    }
    return gi_fail(err, "usage", "nothing in this PTX is open to genes of the kinds asked for");
}
