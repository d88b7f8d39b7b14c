/* names.c - the instructions of one function in another that it may have become: the same kernel,
** compiled from a changed source.
**
** First what is computed alike, down to its inputs, is matched in order: the longest common
** subsequence by Myers, "An O(ND) Difference Algorithm and Its Variations" (1986). Of instructions
** that the functions have several of, but not equally many, only those beside a sure match
** count. What lies between two matches is matched where it has the same form, is there as often,
** and not all that it reads is made by others. What is left has no counterpart: a name may be
** lost, but it never means something else.
*/
#include "ptx/inside.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIFFERENT = 1000 }; /* instructions added and gone; with more of them, all are lost */

/* One side: keys of its instructions, and for each register the only instruction that writes it. */
typedef struct Side {
    const PtxFunc *f;
    int n;
    uint64_t *form; /* opcode, modifiers, numbers, names: all but which registers */
    uint64_t *deep; /* and what they were made of */
    int *maker;     /* of each register; -1: none; -2: several */
} Side;

static uint64_t hash_text(const char *text, uint64_t h) {
    return text ? gi_hash(text, strlen(text) + 1, h) : h + 1;
}

static uint64_t hash_number(uint64_t x, uint64_t h) {
    return gi_hash(&x, sizeof x, h);
}

/* What a register stands for in a key: all that it was made of, where that came before. */
static uint64_t hash_register(const Side *s, int reg, int at, uint64_t h) {
    int maker = s->maker[reg];
    if (maker < 0 || maker >= at) return hash_number((uint64_t)s->f->regs[reg].type, h);
    return hash_number(s->deep[maker], h);
}

static uint64_t hash_operand(const Side *s, const PtxOperand *op, int at, bool deep, uint64_t h) {
    uint64_t head[] = {op->kind, op->negated, op->kind == PTX_OP_IMM ? op->imm : 0, op->imm_kind,
                       (uint64_t)op->offset};
    h = gi_hash(head, sizeof head, h);
    if (op->kind == PTX_OP_REG && deep) h = hash_register(s, op->reg, at, h);
    if (op->kind == PTX_OP_SREG || op->kind == PTX_OP_SYMBOL) h = hash_text(op->symbol, h);
    h = hash_text(op->select, h);
    for (int i = 0; i < op->n_elems; i++) h = hash_operand(s, &op->elems[i], at, deep, h);
    return h;
}

static uint64_t key_of(const Side *s, int i, bool deep) {
    const PtxInstr *in = &s->f->code[i];
    uint64_t h = hash_text(in->opcode, (uint64_t)in->guard_negated + 2 * (in->guard >= 0));
    for (int k = 0; k < in->n_mods; k++) h = hash_text(in->mods[k], h);
    if (deep && in->guard >= 0) h = hash_register(s, in->guard, i, h);
    for (int a = 0; a < in->n_args; a++)
        h = hash_operand(s, &in->args[a], i, deep && !ptx_is_dest(in, a), h);
    return h;
}

static void find_makers(Side *s) {
    for (int r = 0; r < s->f->n_regs; r++) s->maker[r] = -1;
    for (int i = 0; i < s->n; i++) {
        PtxInstr in = s->f->code[i];
        PtxLeaves l;
        ptx_leaves(&in, &l);
        for (int k = 0; k < l.n_writes; k++) {
            int *maker = &s->maker[*l.writes[k]];
            *maker = *maker == -1 ? i : -2;
        }
    }
}

static Side side_of(const PtxFunc *f) {
    Side s = {f, f->n_code, NULL, NULL, NULL};
    s.form = gi_alloc((size_t)s.n * sizeof *s.form);
    s.deep = gi_alloc((size_t)s.n * sizeof *s.deep);
    s.maker = gi_alloc((size_t)f->n_regs * sizeof(int));
    find_makers(&s);
    for (int i = 0; i < s.n; i++) s.form[i] = key_of(&s, i, false), s.deep[i] = key_of(&s, i, true);
    return s;
}

static void free_side(Side *s) {
    free(s->form);
    free(s->deep);
    free(s->maker);
}

/* --- the longest common subsequence of deep keys in base[from …), other[from …) --- */

typedef struct Script {
    const uint64_t *a, *b;
    int n, m;
    int *v[MOST_DIFFERENT + 1]; /* furthest x on each diagonal -d … d, after d differences */
} Script;

/* The furthest x on diagonal k with d differences. */
static int furthest(const Script *s, int d, int k) {
    if (d == 0) return 0;
    const int *before = s->v[d - 1] + d - 1;
    bool down = k == -d ||
                (k != d && k + 1 <= d - 1 && (k - 1 < -(d - 1) || before[k - 1] < before[k + 1]));
    return down ? before[k + 1] : before[k - 1] + 1;
}

static int slide(const Script *s, int x, int k) {
    while (x < s->n && x - k < s->m && s->a[x] == s->b[x - k]) x++;
    return x;
}

/* How many differences there are; -1: too many. */
static int differences(Script *s) {
    for (int d = 0; d <= MOST_DIFFERENT && d <= s->n + s->m; d++) {
        s->v[d] = gi_alloc((2 * (size_t)d + 1) * sizeof(int));
        for (int k = -d; k <= d; k += 2) {
            int x = furthest(s, d, k);
            if (x > s->n + 1 || x - k > s->m + 1) x = s->n + 1; /* beside the field */
            s->v[d][d + k] = x <= s->n && x - k <= s->m && x - k >= 0 ? slide(s, x, k) : x;
            if (s->v[d][d + k] == s->n && s->n - k == s->m) return d;
        }
    }
    return -1;
}

/* Back from the end: every slide is a run of matches. */
static void trace(const Script *s, int d, int *to, int offset) {
    int x = s->n, k = s->n - s->m;
    for (; d >= 0; d--) {
        int start = furthest(s, d, k);
        while (x > start) x--, to[offset + x] = offset + x - k;
        if (d == 0) break;
        const int *before = s->v[d - 1] + d - 1;
        bool down = k == -d || (k != d && k + 1 <= d - 1 &&
                                (k - 1 < -(d - 1) || before[k - 1] < before[k + 1]));
        k = down ? k + 1 : k - 1;
        x = before[k];
    }
}

static void match_deep(const Side *a, const Side *b, int *to) {
    int head = 0;
    while (head < a->n && head < b->n && a->deep[head] == b->deep[head]) to[head] = head, head++;
    Script s = {.a = a->deep + head, .b = b->deep + head, .n = a->n - head, .m = b->n - head};
    int d = differences(&s);
    if (d >= 0) trace(&s, d, to, head);
    for (int i = 0; i <= MOST_DIFFERENT; i++) free(s.v[i]);
}

/* --- which matches count --- */

static int count(const uint64_t *keys, int from, int to, uint64_t key) {
    int n = 0;
    for (int i = from; i < to; i++) n += keys[i] == key;
    return n;
}

static bool equally_many(const Side *a, const Side *b, uint64_t key) {
    return count(a->deep, 0, a->n, key) == count(b->deep, 0, b->n, key);
}

static void drop_doubtful(const Side *a, const Side *b, int *to) {
    bool *sure = gi_alloc((size_t)a->n);
    for (int i = 0; i < a->n; i++) sure[i] = to[i] >= 0 && equally_many(a, b, a->deep[i]);
    for (int i = 0; i < a->n; i++) {
        if (to[i] < 0 || sure[i]) continue;
        bool beside = (i > 0 && sure[i - 1] && to[i - 1] == to[i] - 1) ||
                      (i + 1 < a->n && sure[i + 1] && to[i + 1] == to[i] + 1);
        if (!beside) to[i] = -1;
    }
    free(sure);
}

/* --- between the matches --- */

typedef struct Gap {
    int from, to, other_from, other_to;
} Gap;

/* What two instructions of one form read: does some register come from another's, and none from the
** same? */
static bool contradicts(const Side *a, const Side *b, int i, int j, const int *to,
                        const bool *taken) {
    PtxInstr one = a->f->code[i], two = b->f->code[j];
    PtxLeaves l, m;
    bool agrees = false, differs = false;
    ptx_leaves(&one, &l);
    ptx_leaves(&two, &m);
    for (int k = 0; k < l.n && k < m.n; k++) {
        int r = ptx_leaf_reg(&one, &l.leaf[k]), q = ptx_leaf_reg(&two, &m.leaf[k]);
        if (r < 0 || q < 0) continue;
        int maker = a->maker[r], other = b->maker[q], is = maker >= 0 ? to[maker] : -1;
        if (is >= 0 && is == other) agrees = true;
        else if (is >= 0 || (other >= 0 && taken[other])) differs = true;
    }
    return (differs && !agrees) || l.n != m.n;
}

/* The instruction of the gap's other side that is the k-th of a form; -1. */
static int kth(const Side *b, const Gap *g, uint64_t form, int k) {
    for (int j = g->other_from; j < g->other_to; j++)
        if (b->form[j] == form && k-- == 0) return j;
    return -1;
}

static void match_gap(const Side *a, const Side *b, const Gap *g, int *to, bool *taken) {
    for (int i = g->from; i < g->to; i++) {
        uint64_t form = a->form[i];
        if (count(a->form, g->from, g->to, form) !=
            count(b->form, g->other_from, g->other_to, form))
            continue;
        int j = kth(b, g, form, count(a->form, g->from, i, form));
        if (j < 0 || taken[j] || contradicts(a, b, i, j, to, taken)) continue;
        to[i] = j;
        taken[j] = true;
    }
}

static void match_gaps(const Side *a, const Side *b, int *to) {
    bool *taken = gi_alloc((size_t)b->n + 1);
    for (int i = 0; i < a->n; i++)
        if (to[i] >= 0) taken[to[i]] = true;
    Gap g = {0};
    for (; g.from < a->n; g.from = g.to + 1, g.other_from = g.other_to + 1) {
        for (g.to = g.from; g.to < a->n && to[g.to] < 0;) g.to++;
        g.other_to = g.to < a->n ? to[g.to] : b->n;
        match_gap(a, b, &g, to, taken);
    }
    free(taken);
}

void ptx_match(const PtxFunc *base, const PtxFunc *other, int *to) {
    Side a = side_of(base), b = side_of(other);
    for (int i = 0; i < a.n; i++) to[i] = -1;
    match_deep(&a, &b, to);
    drop_doubtful(&a, &b, to);
    match_gaps(&a, &b, to);
    free_side(&a);
    free_side(&b);
}
