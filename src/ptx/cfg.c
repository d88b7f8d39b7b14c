/* cfg.c - basic blocks, edges, immediate post-dominators, meeting points of branches.
**
** Post-dominators are the dominators of the reversed graph from a virtual exit (dominate.c). Blocks
** that cannot reach the exit (endless loops) take no part.
*/
#include "ptx/edit.h"

#include <stdlib.h>
#include <string.h>

static bool is_branch(const PtxInstr *in) {
    return ptx_is(in, "bra brx");
}

static bool ends_thread(const PtxInstr *in) {
    return ptx_is(in, "ret exit trap");
}

static void mark_leaders(const PtxFunc *f, bool *leader) {
    leader[0] = true;
    for (int i = 0; i < f->n_code; i++) {
        const PtxInstr *in = &f->code[i];
        if (is_branch(in) || ends_thread(in)) leader[i + 1] = true;
        if (in->target >= 0) leader[in->target] = true;
        for (int k = 0; k < in->n_targets; k++) leader[in->targets[k]] = true;
    }
}

static void make_blocks(PtxCfg *c, const PtxFunc *f) {
    bool *leader = gi_alloc((size_t)f->n_code + 1);
    mark_leaders(f, leader);
    c->block_of = gi_alloc((size_t)f->n_code * sizeof(int));
    for (int i = 0; i < f->n_code; i++) {
        if (leader[i]) c->n_blocks++;
        c->block_of[i] = c->n_blocks - 1;
    }
    c->first = gi_alloc(((size_t)c->n_blocks + 1) * sizeof(int));
    for (int i = f->n_code - 1; i >= 0; i--) c->first[c->block_of[i]] = i;
    c->first[c->n_blocks] = f->n_code;
    free(leader);
}

/* Calls edge(user, from, to) for each place the block's last instruction may go to; to == n_blocks
** is the end of the function. */
static void each_target(const PtxCfg *c, const PtxFunc *f, int b,
                        void (*edge)(void *user, int from, int to), void *user) {
    const PtxInstr *last = &f->code[c->first[b + 1] - 1];
    if (last->target >= 0)
        edge(user, b, last->target < f->n_code ? c->block_of[last->target] : c->n_blocks);
    for (int k = 0; k < last->n_targets; k++) {
        int t = last->targets[k];
        edge(user, b, t < f->n_code ? c->block_of[t] : c->n_blocks);
    }
    bool goes_on = last->guard >= 0 || !(is_branch(last) || ends_thread(last));
    if (goes_on) edge(user, b, b + 1);
}

typedef struct EdgeSink {
    PtxCfg *cfg;
    int *seen; /* the last block + 1 that had an edge to this one */
    bool count_only;
} EdgeSink;

static void add_edge(void *user, int from, int to) {
    EdgeSink *s = user;
    PtxCfg *c = s->cfg;
    if (to == c->n_blocks) c->exits[from] = true;
    if (to == c->n_blocks || s->seen[to] == from + 1) return;
    s->seen[to] = from + 1;
    if (!s->count_only) {
        c->succ[from][c->n_succ[from]] = to;
        c->pred[to][c->n_pred[to]] = from;
    }
    c->n_succ[from]++;
    c->n_pred[to]++;
}

static void all_edges(PtxCfg *c, const PtxFunc *f, bool count_only) {
    EdgeSink sink = {c, gi_alloc((size_t)c->n_blocks * sizeof(int)), count_only};
    for (int b = 0; b < c->n_blocks; b++) {
        c->n_succ[b] = 0;
        if (ends_thread(&f->code[c->first[b + 1] - 1])) c->exits[b] = true;
    }
    for (int b = 0; b < c->n_blocks; b++) c->n_pred[b] = 0;
    for (int b = 0; b < c->n_blocks; b++) each_target(c, f, b, add_edge, &sink);
    free(sink.seen);
}

static void new_lists(PtxCfg *c) {
    size_t n = (size_t)c->n_blocks;
    c->succ = gi_alloc(n * sizeof(int *));
    c->pred = gi_alloc(n * sizeof(int *));
    c->n_succ = gi_alloc(n * sizeof(int));
    c->n_pred = gi_alloc(n * sizeof(int));
    c->exits = gi_alloc(n);
}

/* Gives each list room for so many edges. */
static void place_lists(PtxCfg *c, const int *n_succ, const int *n_pred) {
    size_t total = 0;
    for (int b = 0; b < c->n_blocks; b++) total += (size_t)(n_succ[b] + n_pred[b]);
    c->edges = gi_alloc(total * sizeof(int));
    int *next = c->edges;
    for (int b = 0; b < c->n_blocks; b++) {
        c->succ[b] = next;
        c->pred[b] = next + n_succ[b];
        next += n_succ[b] + n_pred[b];
    }
}

static void make_edges(PtxCfg *c, const PtxFunc *f) {
    new_lists(c);
    all_edges(c, f, true);
    place_lists(c, c->n_succ, c->n_pred);
    all_edges(c, f, false);
}

/* Fills c->ipdom; -1 for a block that cannot reach the exit. */
static void make_ipdom(PtxCfg *c) {
    const PtxFlow back = {c->n_blocks, c->pred, c->n_pred, c->succ, c->n_succ, c->exits};
    c->ipdom = gi_alloc(((size_t)c->n_blocks + 1) * sizeof(int));
    ptx_idoms(&back, c->ipdom, NULL);
}

/* --- meeting points: post-dominators in a graph without conditional early ends --- */

/* A block that is nothing but `ret;`. */
static bool only_ends(const PtxCfg *c, const PtxFunc *f, int b) {
    const PtxInstr *in = &f->code[c->first[b]];
    return c->first[b + 1] - c->first[b] == 1 && ends_thread(in) && in->guard < 0;
}

/* Does the block end the thread on a condition, and go on otherwise? */
static bool may_end_early(const PtxCfg *c, const bool *end, int b) {
    bool ends = c->exits[b], goes_on = false;
    for (int k = 0; k < c->n_succ[b]; k++) {
        ends |= end[c->succ[b][k]];
        goes_on |= !end[c->succ[b][k]];
    }
    return ends && goes_on;
}

static bool is_cut(const bool *early, const bool *end, int from, int to) {
    return early[from] && end[to];
}

/* Marks the blocks from which b can be reached over what is not cut. */
static void mark_back(const PtxCfg *c, const bool *early, const bool *end, int b, bool *marked,
                      int *stack) {
    int depth = 0;
    marked[b] = true;
    stack[depth++] = b;
    while (depth > 0) {
        int x = stack[--depth];
        for (int k = 0; k < c->n_pred[x]; k++) {
            int p = c->pred[x][k];
            if (marked[p] || is_cut(early, end, p, x)) continue;
            marked[p] = true;
            stack[depth++] = p;
        }
    }
}

/* Where cutting the early ends leaves a loop without a way out, the last of its ends in the text is
** its regular one, and stays. */
static void keep_loops_open(const PtxCfg *c, bool *early, const bool *end) {
    bool *reaches = gi_alloc((size_t)c->n_blocks);
    int *stack = gi_alloc((size_t)c->n_blocks * sizeof(int));
    for (int b = 0; b < c->n_blocks; b++)
        if (c->exits[b] && !early[b] && !reaches[b]) mark_back(c, early, end, b, reaches, stack);
    for (int b = c->n_blocks - 1; b >= 0; b--) {
        if (reaches[b] || !early[b]) continue;
        early[b] = false;
        mark_back(c, early, end, b, reaches, stack);
    }
    free(reaches);
    free(stack);
}

/* A copy of the graph without the cut edges. Edges are only left out, so the lists keep their room.
 */
static PtxCfg cut_copy(const PtxCfg *c, const bool *early, const bool *end) {
    size_t n = (size_t)c->n_blocks;
    PtxCfg r = {.n_blocks = c->n_blocks, .first = c->first, .block_of = c->block_of};
    new_lists(&r);
    memcpy(r.exits, c->exits, n);
    place_lists(&r, c->n_succ, c->n_pred);
    for (int b = 0; b < c->n_blocks; b++) {
        if (early[b]) r.exits[b] = false;
        for (int k = 0; k < c->n_succ[b]; k++) {
            int s = c->succ[b][k];
            if (is_cut(early, end, b, s)) continue;
            r.succ[b][r.n_succ[b]++] = s;
            r.pred[s][r.n_pred[s]++] = b;
        }
    }
    return r;
}

static void free_lists(PtxCfg *c) {
    void *all[] = {c->succ, c->n_succ, c->pred, c->n_pred, c->exits, c->ipdom, c->edges};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
}

/* What the graph without early ends cannot tell is taken from the whole one. */
static void make_rejoin(PtxCfg *c, const PtxFunc *f) {
    int n = c->n_blocks;
    bool *end = gi_alloc(2 * (size_t)n), *early = end + n;
    for (int b = 0; b < n; b++) end[b] = only_ends(c, f, b);
    for (int b = 0; b < n; b++) early[b] = may_end_early(c, end, b);
    keep_loops_open(c, early, end);
    PtxCfg cut = cut_copy(c, early, end);
    make_ipdom(&cut);
    c->rejoin = gi_alloc((size_t)n * sizeof(int));
    for (int b = 0; b < n; b++) {
        c->rejoin[b] = cut.ipdom[b] >= 0 ? cut.ipdom[b] : c->ipdom[b];
        if (c->rejoin[b] < 0) c->rejoin[b] = n;
    }
    free_lists(&cut);
    free(end);
}

PtxCfg *ptx_cfg(const PtxFunc *f) {
    PtxCfg *c = gi_alloc(sizeof *c);
    make_blocks(c, f);
    make_edges(c, f);
    make_ipdom(c);
    make_rejoin(c, f);
    for (int b = 0; b < c->n_blocks; b++)
        if (c->ipdom[b] < 0) c->ipdom[b] = c->n_blocks;
    return c;
}

void ptx_cfg_free(PtxCfg *c) {
    if (c == NULL) return;
    free_lists(c);
    free(c->first);
    free(c->block_of);
    free(c->rejoin);
    free(c);
}

int ptx_reconvergence(const PtxFunc *f, const PtxCfg *cfg, int i) {
    int b = cfg->rejoin[cfg->block_of[i]];
    return b == cfg->n_blocks ? f->n_code : cfg->first[b];
}
