/* dominate.c - which blocks every path from the beginning to a block goes through.
**
** Immediate dominators after Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a
** Flowgraph" (1979), with their simple link: n log n steps whatever the graph is. (Iterations over
** postorder are shorter, but take n * n where many branches lead back far.) Then the tree that they
** make is numbered, so that a question takes two comparisons. A block that no path leads to is
** dominated by all.
*/
#include "ptx/edit.h"

#include <stdlib.h>

/* By number in preorder of a search depth first; the root has 0. The forest that `up` makes holds
** what was looked at, from the last number on. */
typedef struct Search {
    int *node, *parent;
    int *semi;        /* the semidominator */
    int *up;          /* in the forest, over what was compressed; -1: a root of it */
    int *best;        /* of the least semi between here and `up` */
    int *head, *next; /* lists of those with one semidominator; -1 ends them */
    int *dom;
    int *stack;
    int *number; /* by node; -1: not reached */
} Search;

static void reach(Search *s, int *n, int node, int parent) {
    s->number[node] = *n;
    s->node[*n] = node;
    s->parent[(*n)++] = parent;
}

/* Numbers what can be reached. `next` counts the edges of a node that were gone along. */
static int number_nodes(const PtxFlow *g, Search *s) {
    int n = 0, depth = 0;
    for (int b = 0; b < g->n; b++) s->number[b] = -1;
    reach(s, &n, g->n, -1);
    for (int b = 0; b < g->n; b++) {
        if (!g->first[b] || s->number[b] >= 0) continue;
        s->stack[depth++] = n;
        reach(s, &n, b, 0);
        while (depth > 0) {
            int w = s->stack[depth - 1], at = s->node[w];
            if (s->next[w] == g->n_next[at]) depth--;
            else if (s->number[at = g->next[at][s->next[w]++]] < 0) {
                s->stack[depth++] = n;
                reach(s, &n, at, w);
            }
        }
    }
    return n;
}

/* Of w and those above it in the forest, but for its root, the one with the least semidominator. */
static int least_above(Search *s, int w) {
    int depth = 0, at = w;
    if (s->up[w] < 0) return w;
    for (; s->up[s->up[at]] >= 0; at = s->up[at]) s->stack[depth++] = at;
    while (depth > 0) {
        int up = s->up[at = s->stack[--depth]];
        if (s->semi[s->best[up]] < s->semi[s->best[at]]) s->best[at] = s->best[up];
        s->up[at] = s->up[up];
    }
    return s->best[w];
}

static void find_semi(const PtxFlow *g, Search *s, int w) {
    int b = s->node[w];
    if (g->first[b]) s->semi[w] = 0;
    for (int k = 0; k < g->n_prev[b]; k++) {
        int v = s->number[g->prev[b][k]];
        int semi = v < 0 ? w : s->semi[least_above(s, v)];
        if (semi < s->semi[w]) s->semi[w] = semi;
    }
}

static void find_doms(const PtxFlow *g, Search *s, int n) {
    for (int w = 0; w < n; w++) {
        s->semi[w] = s->best[w] = w;
        s->up[w] = s->head[w] = -1;
    }
    for (int w = n - 1; w > 0; w--) {
        int parent = s->parent[w];
        find_semi(g, s, w);
        s->next[w] = s->head[s->semi[w]];
        s->head[s->semi[w]] = w;
        s->up[w] = parent;
        for (int v = s->head[parent]; v >= 0; v = s->next[v]) {
            int u = least_above(s, v);
            s->dom[v] = s->semi[u] < s->semi[v] ? u : parent;
        }
        s->head[parent] = -1;
    }
    for (int w = 1; w < n; w++)
        if (s->dom[w] != s->semi[w]) s->dom[w] = s->dom[s->dom[w]];
}

int ptx_idoms(const PtxFlow *g, int *idom, int *order) {
    size_t n = (size_t)g->n + 1;
    int *all = gi_alloc(10 * n * sizeof(int));
    Search s = {all,         all + n,     all + 2 * n, all + 3 * n, all + 4 * n,
                all + 5 * n, all + 6 * n, all + 7 * n, all + 8 * n, all + 9 * n};
    int reached = number_nodes(g, &s);
    find_doms(g, &s, reached);
    for (int b = 0; b < g->n; b++) idom[b] = s.number[b] < 0 ? -1 : s.node[s.dom[s.number[b]]];
    for (int w = 1; w < reached && order; w++) order[w - 1] = s.node[w];
    idom[g->n] = g->n;
    free(all);
    return reached - 1;
}

/* Numbers at which the tree enters and leaves a block: those below it lie between. */
void ptx_dominators(const PtxCfg *c, int *enter, int *leave) {
    int n = c->n_blocks, *idom = gi_alloc(4 * ((size_t)n + 1) * sizeof(int));
    int *order = idom + n + 1, *size = order + n + 1, *next = size + n + 1;
    bool *first = gi_alloc((size_t)n + 1);
    first[0] = true;
    const PtxFlow g = {n, c->succ, c->n_succ, c->pred, c->n_pred, first};
    int reached = ptx_idoms(&g, idom, order);
    for (int b = 0; b < n; b++) enter[b] = leave[b] = -1;
    for (int i = reached - 1; i >= 0; i--) size[idom[order[i]]] += ++size[order[i]];
    for (int i = 0; i < reached; i++) { /* next: the free number below a block */
        int b = order[i], above = idom[b];
        enter[b] = next[above];
        leave[b] = enter[b] + size[b];
        next[b] = enter[b] + 1;
        next[above] += size[b];
    }
    free(idom);
    free(first);
}
