/* reuse.c - see reuse.h. */
#include "emu/cost/reuse.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 13 };

static uint32_t hash_of(uint64_t line) { /* as l1_place has it */
    return (uint32_t)(((line >> 5) * 0x9E3779B97F4A7C15u) >> 32);
}

static void thin_out(Reuse *r) {
    int n = 0;
    r->skip = r->skip << 1 | 1;
    for (int i = 0; i < r->n; i++)
        if (reuse_wants(r, hash_of(r->at[i].line))) r->at[n++] = r->at[i];
    r->n = n;
}

static void add(Reuse *r, ReuseAccess a) {
    gi_grow(r->at, r->n, r->cap);
    r->at[r->n++] = a;
    while (r->n > MOST && r->skip < UINT32_MAX) thin_out(r);
}

void reuse_add(Reuse *r, uint64_t line) {
    add(r, (ReuseAccess){r->block, r->clock, line});
}

void reuse_move(Reuse *to, Reuse *from) {
    while (to->skip < from->skip) thin_out(to);
    for (int i = 0; i < from->n; i++)
        if (reuse_wants(to, hash_of(from->at[i].line))) add(to, from->at[i]);
    from->n = 0;
}

void reuse_forget(Reuse *r) {
    r->n = 0;
    r->skip = 0;
}

/* --- the replay --- */

typedef struct Node {
    uint64_t key;
    int before, after; /* in the list of its cache, the one used last first; 0: none */
    uint32_t block;     /* that used it last */
    uint8_t have, seen; /* sectors now; ever */
    bool in;
} Node;

typedef struct List {
    int first, last, n;
} List;

typedef struct Caches { /* one list a cache; lines of all of them by key */
    Node *node; /* from 1 */
    int n;
    int *slot;
    uint32_t mask;
    List *list;
    int lines; /* of each cache */
} Caches;

static Caches caches_new(int lists, int lines, int accesses) {
    uint32_t slots = 16;
    while (slots < 2 * (uint32_t)accesses) slots *= 2;
    return (Caches){.node = gi_alloc((size_t)(accesses + 1) * sizeof(Node)),
                    .slot = gi_alloc(slots * sizeof(int)),
                    .mask = slots - 1,
                    .list = gi_alloc((size_t)lists * sizeof(List)),
                    .lines = lines};
}

static void caches_free(Caches *c) {
    free(c->node);
    free(c->slot);
    free(c->list);
}

static int node_of(Caches *c, uint64_t key) {
    uint32_t at = (uint32_t)((key * 0xD6E8FEB86659FD93u) >> 32) & c->mask;
    while (c->slot[at] && c->node[c->slot[at]].key != key) at = (at + 1) & c->mask;
    if (c->slot[at] == 0) {
        c->slot[at] = ++c->n;
        c->node[c->n].key = key;
    }
    return c->slot[at];
}

static void take_out(Caches *c, List *l, int k) {
    Node *x = &c->node[k];
    if (x->before) c->node[x->before].after = x->after;
    else l->first = x->after;
    if (x->after) c->node[x->after].before = x->before;
    else l->last = x->before;
    x->in = false;
    l->n--;
}

static void put_first(Caches *c, List *l, int k) {
    Node *x = &c->node[k];
    x->before = 0;
    x->after = l->first;
    if (l->first) c->node[l->first].before = k;
    else l->last = k;
    l->first = k;
    x->in = true;
    l->n++;
}

/* Sectors that the cache of the list lacks; those that it ever had go to *known. */
static unsigned look_up(Caches *c, int list, uint64_t key, unsigned sectors, unsigned *known) {
    List *l = &c->list[list];
    int k = node_of(c, key);
    Node *x = &c->node[k];
    unsigned lacks = sectors & ~(x->in ? x->have : 0u);
    *known = x->seen;
    if (x->in) take_out(c, l, k);
    else x->have = 0;
    x->have |= (uint8_t)sectors;
    x->seen |= (uint8_t)sectors;
    put_first(c, l, k);
    if (l->n > c->lines) take_out(c, l, l->last);
    return lacks;
}

/* Blocks of an SM do not keep step: about half of one's reads are still cached for another. */
static const double kept_for_others = 0.5;

typedef struct Turn {
    uint64_t when; /* wave, clock */
    int at;
} Turn;

static int by_turn(const void *a, const void *b) {
    const Turn *x = a, *y = b;
    if (x->when != y->when) return x->when < y->when ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Lines of a cache that the sample fills, one at least. */
static int share(double lines, double of) {
    double n = lines / of;
    return n < 1 ? 1 : n > 1e9 ? 1000000000 : (int)n;
}

static unsigned bits(unsigned x) {
    return (unsigned)__builtin_popcount(x);
}

ReuseFound reuse_replay(const Reuse *r, const ReuseCaches *g) {
    ReuseFound found = {0, 0, 0, 0};
    if (r->n == 0) return found;
    double of = (double)r->skip + 1;
    Turn *turn = gi_alloc((size_t)r->n * sizeof *turn);
    for (int i = 0; i < r->n; i++)
        turn[i] = (Turn){r->at[i].block / g->wave << 32 | r->at[i].clock, i};
    qsort(turn, (size_t)r->n, sizeof *turn, by_turn);
    Caches l1 = caches_new(g->sms, share(g->l1_lines, of), r->n);
    Caches l2 = caches_new(1, share(g->l2_lines, of), r->n);
    for (int i = 0; i < r->n; i++) {
        const ReuseAccess *a = &r->at[turn[i].at];
        unsigned sectors = a->line & 15, lacks = sectors, known;
        int sm = (int)(a->block % (uint32_t)g->sms);
        if (!(a->line & REUSE_STORE)) {
            uint64_t key = (a->line >> 5) * (uint64_t)g->sms + (uint64_t)sm;
            Node *line = &l1.node[node_of(&l1, key)];
            double share = line->block == a->block ? 1 : kept_for_others;
            line->block = a->block;
            lacks = look_up(&l1, sm, key, sectors, &known);
            found.from_l1 += share * bits(sectors & ~lacks);
            found.lines_from_l1 += lacks ? 0 : share;
        }
        unsigned lost = lacks ? look_up(&l2, 0, a->line >> 5, lacks, &known) & known : 0;
        found.lost += bits(lost);
        found.lost_lines += lost != 0;
    }
    caches_free(&l1);
    caches_free(&l2);
    free(turn);
    found.from_l1 *= of;
    found.lines_from_l1 *= of;
    found.lost *= of;
    found.lost_lines *= of;
    return found;
}
