/* dominate.c - which blocks every path from the beginning to a block goes through.
**
** Immediate dominators by the iteration of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
** Algorithm" (2001); then the tree that they make is numbered, so that a question takes two
** comparisons. A block that no path leads to is dominated by all.
*/
#include "ptx/edit.h"

#include <stdlib.h>

typedef struct Tree {
    const PtxCfg *c;
    int *number; /* of a block in postorder; -1: no path leads to it */
    int *order;  /* blocks in postorder */
    int *idom;
    int reached;
} Tree;

/* Depth first from block 0. */
static void number_blocks(Tree *t) {
    const PtxCfg *c = t->c;
    int depth = 0, *stack = gi_alloc(2 * (size_t)c->n_blocks * sizeof(int));
    int *at = stack + c->n_blocks;
    for (int b = 0; b < c->n_blocks; b++) t->number[b] = -1;
    t->number[0] = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        int b = stack[depth - 1];
        if (at[b] < c->n_succ[b]) {
            int next = c->succ[b][at[b]++];
            if (t->number[next] >= 0) continue;
            t->number[next] = 0;
            stack[depth++] = next;
        } else {
            t->order[t->reached] = b;
            t->number[b] = t->reached++;
            depth--;
        }
    }
    free(stack);
}

static int common(const Tree *t, int a, int b) {
    while (a != b) {
        while (t->number[a] < t->number[b]) a = t->idom[a];
        while (t->number[b] < t->number[a]) b = t->idom[b];
    }
    return a;
}

static int meet(const Tree *t, int b) {
    int m = -1;
    for (int p = 0; p < t->c->n_pred[b]; p++) {
        int from = t->c->pred[b][p];
        if (t->number[from] < 0 || t->idom[from] < 0) continue;
        m = m < 0 ? from : common(t, m, from);
    }
    return m;
}

static void find_idoms(Tree *t) {
    for (int b = 0; b < t->c->n_blocks; b++) t->idom[b] = -1;
    t->idom[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = t->reached - 2; i >= 0; i--) { /* but for block 0, which is the last */
            int m = meet(t, t->order[i]);
            changed |= m != t->idom[t->order[i]];
            t->idom[t->order[i]] = m;
        }
    }
}

/* Numbers at which the tree enters and leaves a block: those below it lie between. Children come
** after their parents in reverse postorder, so sizes are summed up from the leaves. */
static void number_tree(const Tree *t, int *enter, int *leave) {
    int n = t->c->n_blocks, *size = gi_alloc((size_t)n * sizeof(int));
    for (int i = 0; i < t->reached; i++) {
        int b = t->order[i];
        size[b]++;
        if (b != 0) size[t->idom[b]] += size[b];
    }
    for (int b = 0; b < n; b++) enter[b] = leave[b] = -1;
    int *next = gi_alloc((size_t)n * sizeof(int)); /* free number below a block */
    for (int i = t->reached - 1; i >= 0; i--) {
        int b = t->order[i], above = t->idom[b];
        enter[b] = b == 0 ? 0 : next[above];
        leave[b] = enter[b] + size[b];
        next[b] = enter[b] + 1;
        if (b != 0) next[above] += size[b];
    }
    free(size);
    free(next);
}

void ptx_dominators(const PtxCfg *c, int *enter, int *leave) {
    size_t n = (size_t)c->n_blocks;
    Tree t = {.c = c};
    t.number = gi_alloc(3 * n * sizeof(int));
    t.order = t.number + n;
    t.idom = t.order + n;
    number_blocks(&t);
    find_idoms(&t);
    number_tree(&t, enter, leave);
    free(t.number);
}
