/* ptx_cfg.c - blocks, edges and immediate post-dominators, against the definition: block p
** post-dominates b when b cannot reach the exit once p is taken out of the graph. */
#include "ptx/edit.h"
#include "ptx_sample.h"
#include "tap.h"

#include <stdlib.h>

static PtxModule *parse(const char *text) {
    gi_err err = {.code = ""};
    PtxModule *m = ptx_parse(text, strlen(text), &err);
    if (m == NULL) printf("# %s\n", err.message);
    return m;
}

enum { MAX_BLOCKS = 64 };

/* Can b reach the exit without passing through `without`? */
static bool reaches(const PtxCfg *c, int b, int without) {
    bool seen[MAX_BLOCKS * 4] = {false};
    int stack[MAX_BLOCKS * 4], n = 0;
    if (b == without) return false;
    seen[b] = true;
    stack[n++] = b;
    while (n > 0) {
        int x = stack[--n];
        if (c->exits[x]) return true;
        for (int k = 0; k < c->n_succ[x]; k++) {
            int s = c->succ[x][k];
            if (s == without || seen[s]) continue;
            seen[s] = true;
            stack[n++] = s;
        }
    }
    return false;
}

static bool postdominates(const PtxCfg *c, int p, int b) {
    return p != b && !reaches(c, b, p);
}

/* The strict post-dominator that all other strict post-dominators post-dominate. */
static int naive_ipdom(const PtxCfg *c, int b) {
    if (!reaches(c, b, -1)) return c->n_blocks;
    for (int p = 0; p < c->n_blocks; p++) {
        if (!reaches(c, p, -1) || !postdominates(c, p, b)) continue;
        bool nearest = true;
        for (int q = 0; q < c->n_blocks && nearest; q++)
            if (q != p && reaches(c, q, -1) && postdominates(c, q, b))
                nearest = postdominates(c, q, p);
        if (nearest) return p;
    }
    return c->n_blocks;
}

/* Random flow: straight code, forward and backward branches, tables, returns in the middle. */
static void random_kernel(gi_rng *rng, int n_labels, gi_buf *out) {
    gi_buf_adds(out, PTX_HEAD ".entry k()\n{\n.reg .pred %p;\n.reg .b32 %r;\n");
    for (int i = 0; i < n_labels; i++) {
        int to = (int)gi_rng_below(rng, (uint64_t)n_labels),
            other = (int)gi_rng_below(rng, (uint64_t)n_labels);
        gi_buf_addf(out, gi_rng_below(rng, 6) ? "L%d: add.s32 %%r, %%r, 1;\n" : "L%d:\n", i);
        switch (gi_rng_below(rng, 9)) {
        case 0: gi_buf_addf(out, "bra L%d;\n", to); break;
        case 1:
        case 2:
        case 3: gi_buf_addf(out, "@%%p bra L%d;\n", to); break;
        case 4: gi_buf_adds(out, "@%p ret;\n"); break;
        case 5: gi_buf_adds(out, gi_rng_below(rng, 3) ? "bar.sync 0;\n" : "exit;\n"); break;
        case 6:
            gi_buf_addf(out, "t%d: .branchtargets L%d, L%d, L%d;\nbrx.idx %%r, t%d;\n", i, to,
                        other, to, i);
            break;
        default: break;
        }
    }
    gi_buf_adds(out, "ret;\n}\n");
}

/* Can a path from block 0 lead to b without passing through `without`? */
static bool is_reached(const PtxCfg *c, int b, int without) {
    bool seen[MAX_BLOCKS * 4] = {false};
    int stack[MAX_BLOCKS * 4], n = 0;
    if (without == 0) return false;
    seen[stack[n++] = 0] = true;
    while (n > 0) {
        int x = stack[--n];
        for (int k = 0; k < c->n_succ[x]; k++) {
            int s = c->succ[x][k];
            if (s == without || seen[s]) continue;
            seen[stack[n++] = s] = true;
        }
    }
    return seen[b];
}

/* Counts pairs of blocks where ptx_dominators differs from the definition. */
static int wrong_dominators(const PtxCfg *c, int *dominated) {
    int enter[MAX_BLOCKS * 4], leave[MAX_BLOCKS * 4], wrong = 0;
    ptx_dominators(c, enter, leave);
    for (int b = 0; b < c->n_blocks; b++) {
        if (!is_reached(c, b, -1)) {
            wrong += enter[b] != -1 || leave[b] != -1;
            continue;
        }
        for (int a = 0; a < c->n_blocks; a++) {
            if (!is_reached(c, a, -1)) continue;
            bool says = enter[a] <= enter[b] && leave[b] <= leave[a];
            wrong += says != (a == b || !is_reached(c, b, a));
            *dominated += says && a != b && a != 0;
        }
    }
    return wrong;
}

static bool edges_are_right(const PtxFunc *f, const PtxCfg *c) {
    for (int b = 0; b < c->n_blocks; b++) {
        if (c->first[b] >= c->first[b + 1]) return false;
        for (int i = c->first[b]; i < c->first[b + 1]; i++)
            if (c->block_of[i] != b || (i > c->first[b] && f->code[i - 1].target >= 0))
                return false;
        for (int k = 0; k < c->n_succ[b]; k++) {
            int s = c->succ[b][k], back = 0;
            for (int j = 0; j < c->n_pred[s]; j++) back += c->pred[s][j] == b;
            if (back != 1) return false;
        }
    }
    return c->first[0] == 0 && c->first[c->n_blocks] == f->n_code;
}

/* Around the meeting point of b a thread may only come to an early end: a block that ends it on a
** condition, or is nothing but an end. */
static bool meets(const PtxCfg *c, int b) {
    int r = c->rejoin[b], stack[MAX_BLOCKS * 4], n = 0;
    bool seen[MAX_BLOCKS * 4] = {false};
    if (r == c->n_blocks) return c->ipdom[b] == r;
    stack[n++] = b;
    while (n > 0) {
        int x = stack[--n];
        bool only_ends = c->first[x + 1] - c->first[x] == 1;
        if (x != b && c->exits[x] && c->n_succ[x] == 0 && !only_ends) return false;
        for (int k = 0; k < c->n_succ[x]; k++) {
            int s = c->succ[x][k];
            if (s == r || seen[s]) continue;
            seen[s] = true;
            stack[n++] = s;
        }
    }
    return true;
}

static void test_random(uint64_t seed) {
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    printf("# seed %llu\n", (unsigned long long)seed);
    int wrong = 0, bad_edges = 0, inner = 0, earlier = 0, unmet = 0, forward = 0, dominated = 0;
    for (int round = 0; round < 300; round++) {
        gi_buf text = {0};
        random_kernel(&rng, 1 + (int)gi_rng_below(&rng, 20), &text);
        PtxModule *m = parse(text.data);
        PtxCfg *c = ptx_cfg(&m->funcs[0]);
        bad_edges += !edges_are_right(&m->funcs[0], c);
        for (int b = 0; b < c->n_blocks; b++) {
            wrong += c->ipdom[b] != naive_ipdom(c, b);
            inner += c->ipdom[b] < c->n_blocks;
            earlier += c->rejoin[b] != c->ipdom[b];
            unmet += !meets(c, b);
        }
        forward += wrong_dominators(c, &dominated);
        ptx_cfg_free(c);
        ptx_free(m);
        gi_buf_free(&text);
    }
    is_int(bad_edges, 0, "blocks cover the code, edges go both ways");
    is_int(wrong, 0, "immediate post-dominators as by definition");
    is_int(forward, 0, "dominators as by definition");
    ok(dominated > 1000, "%d blocks are dominated by another than the first", dominated);
    is_int(unmet, 0, "who does not come to the meeting point ended early");
    ok(earlier > 100, "leaving early ends aside gives %d nearer meeting points", earlier);
    ok(inner > 100, "of which %d are blocks", inner);
}

static int reconvergence(const char *body, int at) {
    PtxModule *m = parse(body);
    PtxCfg *c = ptx_cfg(&m->funcs[0]);
    int r = ptx_reconvergence(&m->funcs[0], c, at);
    ptx_cfg_free(c);
    ptx_free(m);
    return r;
}

/* Threads that end early do not keep the others apart. */
static void test_early_ends(void) {
    is_int(reconvergence(PTX_KERNEL("@%p1 bra ELSE;\n@%p2 bra END;\nmov.u32 %r1, 1;\nbra MEET;\n"
                                    "ELSE: mov.u32 %r1, 2;\nMEET: bar.sync 0;\nEND: ret;"),
                         0),
           5, "if (a) { if (b) return; … } else …: both sides meet before the barrier");
    is_int(reconvergence(PTX_KERNEL("@%p1 bra ELSE;\n@%p2 ret;\nmov.u32 %r1, 1;\nbra MEET;\n"
                                    "ELSE: mov.u32 %r1, 2;\nMEET: bar.sync 0;\nret;"),
                         0),
           5, "the same with a guarded ret");
    is_int(reconvergence(
               PTX_KERNEL("LOOP: @%p1 bra ELSE;\n@%p2 bra END;\nbra MEET;\nELSE: mov.u32 %r1, 2;\n"
                          "MEET: bar.sync 0;\n@%p3 bra LOOP;\nEND: ret;"),
               0),
           4, "the same in a loop that ends the kernel");
    is_int(reconvergence(PTX_KERNEL("LOOP: bar.sync 0;\n@%p3 bra LOOP;\nret;"), 1), 2,
           "lanes leave such a loop one by one");
    is_int(reconvergence(PTX_KERNEL("@%p1 bra END;\nbar.sync 0;\nEND: ret;"), 0), 1,
           "if (x) return: the others go on at once");
}

static void test_empty(void) {
    PtxModule *m = parse(PTX_HEAD ".func f()\n{\n}\n");
    PtxCfg *c = ptx_cfg(&m->funcs[0]);
    is_int(c->n_blocks, 0, "an empty function has no blocks");
    ptx_cfg_free(c);
    ptx_free(m);
}

int main(void) {
    is_int(reconvergence(PTX_KERNEL("@%p1 bra A;\nadd.s32 %r1, %r1, 1;\nA: bar.sync 0;\nret;"), 0),
           2, "if");
    is_int(reconvergence(
               PTX_KERNEL("@%p1 bra A;\nmov.u32 %r1, 1;\nbra B;\nA: mov.u32 %r1, 2;\nB: ret;"), 0),
           4, "if and else");
    is_int(reconvergence(PTX_KERNEL("A: add.s32 %r1, %r1, 1;\n@%p1 bra A;\nret;"), 1), 2, "a loop");
    is_int(reconvergence(PTX_KERNEL("@%p1 bra A;\nret;\nA: trap;"), 0), 3,
           "two ends: only at the exit");
    is_int(reconvergence(PTX_KERNEL("@%p1 bra A;\nB: bra B;\nA: ret;"), 0), 2,
           "one side never ends");
    is_int(reconvergence(PTX_KERNEL("A: @%p1 bra A;\nbra A;"), 0), 2, "neither does");
    is_int(reconvergence(PTX_KERNEL("@%p1 bra end;\nmov.u32 %r1, 1; end:"), 0), 1,
           "a branch to the end of the text is an early end");
    test_early_ends();
    test_empty();
    test_random(20140714);
    test_random(7);
    return tap_done();
}
