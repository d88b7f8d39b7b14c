/* draw.c - random legal genes: first the kind, then what it names, until something is legal. */
#include <string.h>

#include "llvm/edit.h"

enum { TRIES = 1000 }; /* of one gene; then nothing is open */

typedef struct Draw {
    const LlvmBase *b;
    const Llvm *l;
    const LlvmFunc *f;
    gi_rng *rng;
    int func;
} Draw;

static int below(Draw *d, int n) {
    return (int)gi_rng_below(d->rng, (uint64_t)n);
}

/* A function, by how many instructions it has. */
static bool draw_function(Draw *d) {
    int total = 0;
    for (int i = 0; i < d->b->n_funcs; i++) total += d->b->funcs[i].n;
    if (total == 0) return false;
    int n = below(d, total);
    for (d->func = 0; n >= d->b->funcs[d->func].n; d->func++) n -= d->b->funcs[d->func].n;
    d->f = &d->b->funcs[d->func];
    return true;
}

static LlvmSite draw_site(Draw *d) {
    return (LlvmSite){d->func, below(d, d->f->n)};
}

/* One that may change; -1. */
static int draw_operand(Draw *d, LlvmSite at) {
    const int n = d->l->GetNumOperands(d->f->code[at.instr]);
    const int k = n > 0 ? below(d, n) : -1;
    return k >= 0 && llvm_is_replaceable(d->l, d->f->code[at.instr], k) ? k : -1;
}

static LlvmValue *operand_of(const Draw *d, LlvmSite at, int k) {
    return d->l->GetOperand(d->f->code[at.instr], (unsigned)k);
}

/* What uses a copy: an operand of its type that it comes before on every path. */
static void draw_user(Draw *d, LlvmGene *g) {
    LlvmValue *from = d->f->code[g->from.instr], *place = d->f->code[g->at.instr];
    if (llvm_is_void(d->l, from)) return;
    for (int i = 0; i < TRIES; i++) {
        LlvmSite user = draw_site(d);
        const int k = draw_operand(d, user);
        if (k < 0 || d->l->TypeOf(operand_of(d, user, k)) != d->l->TypeOf(from)) continue;
        LlvmValue *use = llvm_use_place(d->l, d->f->code[user.instr], k);
        if (use != place && !llvm_is_there(d->l, d->f, place, use)) continue;
        g->user = user;
        g->user_operand = k;
        return;
    }
}

static bool draw_value(Draw *d, LlvmGene *g) {
    g->operand = draw_operand(d, g->at);
    if (g->operand < 0) return false;
    LlvmValue *old = operand_of(d, g->at, g->operand);
    LlvmValue *place = llvm_use_place(d->l, d->f->code[g->at.instr], g->operand);
    for (int i = 0; i < TRIES; i++) {
        g->from = draw_site(d);
        LlvmValue *new = d->f->code[g->from.instr];
        if (new != old && d->l->TypeOf(new) == d->l->TypeOf(old) &&
            llvm_is_there(d->l, d->f, new, place))
            return true;
    }
    return false;
}

/* Numbers that programs have, and neighbours of the one that is there. */
static int64_t other_integer(Draw *d, int64_t old) {
    static const int64_t usual[] = {0, 1, -1, 2, 4, 16, 32, 64};
    const uint64_t x = (uint64_t)old;
    switch (below(d, 6)) {
    case 0: return (int64_t)(x + 1);
    case 1: return (int64_t)(x - 1);
    case 2: return (int64_t)(x * 2);
    case 3: return old / 2;
    case 4: return (int64_t)(0 - x);
    default: return usual[below(d, 8)];
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

/* In as many bits as the type has, as LLVM prints it. */
static uint64_t narrowed(int64_t x, unsigned bits) {
    if (bits >= 64) return (uint64_t)x;
    const uint64_t low = (uint64_t)x & ((UINT64_C(1) << bits) - 1);
    const bool negative = bits > 1 && low >> (bits - 1);
    return negative ? low | ~((UINT64_C(1) << bits) - 1) : low;
}

static bool draw_number(Draw *d, LlvmGene *g) {
    g->operand = draw_operand(d, g->at);
    if (g->operand < 0) return false;
    LlvmValue *old = operand_of(d, g->at, g->operand);
    LlvmType *type = d->l->TypeOf(old);
    int rounded;
    if (d->l->IsAConstantInt(old) && d->l->GetIntTypeWidth(type) <= 64) {
        int64_t x = other_integer(d, d->l->ConstIntGetSExtValue(old));
        g->number = (LlvmNumber){LLVM_WHOLE, narrowed(x, d->l->GetIntTypeWidth(type))};
    } else if (d->l->IsAConstantFP(old) && d->l->GetTypeKind(type) == LLVM_TYPE_FLOAT) {
        float x = (float)other_float(d, d->l->ConstRealGetDouble(old, &rounded));
        uint32_t bits;
        memcpy(&bits, &x, 4);
        g->number = (LlvmNumber){LLVM_F32, bits};
    } else if (d->l->IsAConstantFP(old) && d->l->GetTypeKind(type) == LLVM_TYPE_DOUBLE) {
        double x = other_float(d, d->l->ConstRealGetDouble(old, &rounded));
        g->number.kind = LLVM_F64;
        memcpy(&g->number.bits, &x, 8);
    } else {
        return false;
    }
    return true;
}

/* --- genes --- */

static bool try_gene(Draw *d, LlvmGeneKind kind, LlvmGene *g) {
    *g = (LlvmGene){.kind = kind, .user = {-1, -1}};
    if (!draw_function(d)) return false;
    g->at = draw_site(d);
    g->from = draw_site(d);
    if (kind == LLVM_OPERAND && !draw_value(d, g)) return false;
    if (kind == LLVM_CONSTANT && !draw_number(d, g)) return false;
    gi_buf why = {0};
    llvm_gene_reason(d->b, g, &why);
    bool legal = why.len == 0 && !(kind == LLVM_MOVE && g->at.instr == g->from.instr + 1);
    gi_buf_free(&why);
    if (legal && kind == LLVM_COPY) draw_user(d, g);
    return legal;
}

bool llvm_gene_random(const LlvmBase *b, gi_rng *rng, const double *weights, gi_buf *out,
                      gi_err *err) {
    Draw d = {.b = b, .l = b->m->llvm, .rng = rng};
    for (int kinds = 0; kinds < 20; kinds++) {
        int kind = gi_rng_weighted(rng, weights, LLVM_GENE_KINDS);
        for (int i = 0; i < TRIES && kind >= 0; i++) {
            LlvmGene g;
            if (!try_gene(&d, (LlvmGeneKind)kind, &g)) continue;
            llvm_gene_print(b, &g, out);
            return true;
        }
    }
    return gi_fail(err, "usage", "nothing in this module is open to genes of the kinds asked for");
}
