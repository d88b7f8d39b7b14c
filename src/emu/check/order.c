/* order.c - what happens before what, as far as threads can rely on it.
**
** Two accesses are in order where the PTX memory model says so:
**   - by one thread;
**   - with a barrier of the block between them (one for some of the warps counts as one for all),
**     or for lanes of a warp bar.warp.syncs of both, or a chain of them;
**   - by release and acquire: a thread fences (membar, fence, .release) and then writes to a place
**     with a strong access (an atomic, volatile, .relaxed, .release); another thread reads that
**     place with a strong access and then fences, or reads it with .acquire. What the first thread
**     did before its fence is over for the second one behind its own, and so is what was over for
**     the first. A fence or an access of the block's or the cluster's scope counts inside it alone;
**   - of a read and a write: where the reader's block then stored to a place in a strong way, and
**     the writer's block has read that place so. No fence is asked for: what is stored comes of
**     what was read, and what is written of what was seen, and values do not come out of thin air.
**     (CUB's in-place selection relies on it. That they do is taken for granted.)
** A strong store replaces what its place hands over; an atomic adds to it. A fence covers what its
** own thread did, and what all threads of the block did before the last barrier.
** A barrier of the block behind the read stands for the reader's fence, as in NVIDIA's samples and
** CUDA's guide, though not in the ISA; and strong accesses may do without one, but behind a
** compare-and-swap, which takes a lock. Where the exact rule would ask for too much memory more is
** taken to be in order than is, so that races may be missed and none is invented: of fences that
** threads of a block made between two barriers the last time counts for all of them; what a thread
** took over it hands on without another fence.
*/
#include "emu/check/shadow.h"

#include <stdlib.h>
#include <string.h>

/* --- pasts --- */

/* The part that goes by time is of the epoch itself: a later epoch covers all of an earlier one. */
static void join(Past *to, const Past *from) {
    if (from->epoch < to->epoch) return;
    if (from->epoch > to->epoch) {
        *to = *from;
        return;
    }
    to->warps |= from->warps;
    to->lanes |= from->lanes;
    if (from->time > to->time) to->time = from->time;
}

/* The place of the block, or where it would be. */
static int find_past(const Pasts *p, uint32_t block) {
    int low = 0, high = p->n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (p->at[middle].block < block) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void add_past(Pasts *p, const Past *past) {
    int i = find_past(p, past->block);
    if (i < p->n && p->at[i].block == past->block) {
        join(&p->at[i], past);
        return;
    }
    gi_grow(p->at, p->n, p->cap);
    memmove(p->at + i + 1, p->at + i, (size_t)(p->n - i) * sizeof *p->at);
    p->at[i] = *past;
    p->n++;
}

static void add_pasts(Pasts *to, const Pasts *from) {
    for (int i = 0; i < from->n; i++) add_past(to, &from->at[i]);
}

static const Past *past_of(const Pasts *p, uint32_t block) {
    int i = find_past(p, block);
    return i < p->n && p->at[i].block == block ? &p->at[i] : NULL;
}

static bool past_covers(const Past *p, const Touch *then) {
    if (then->epoch < p->epoch) return true;
    return then->time <= p->time && p->warps >> then->thread / LANES & 1 &&
           p->lanes >> then->thread % LANES & 1;
}

static bool covers(const Pasts *p, const Touch *then) {
    const Past *past = past_of(p, then->block);
    return past && past_covers(past, then);
}

/* --- spans: blocks whose reads are over, up to a time --- */

enum { MOST_SPANS = 16 };

static void remove_span(Spans *s, int i) {
    memmove(s->at + i, s->at + i + 1, (size_t)(--s->n - i) * sizeof *s->at);
}

/* Makes spans i and i + 1 one, with what lies between. */
static void unite(Spans *s, int i) {
    Span *a = &s->at[i], *b = a + 1;
    if (b->to > a->to) a->to = b->to;
    if (b->time > a->time) a->time = b->time;
    remove_span(s, i + 1);
}

static int nearest(const Spans *s) {
    int best = 0;
    for (int i = 1; i + 1 < s->n; i++)
        if (s->at[i + 1].from - s->at[i].to < s->at[best + 1].from - s->at[best].to) best = i;
    return best;
}

static void add_span(Spans *s, Span x) {
    int i = 0;
    while (i < s->n && s->at[i].from < x.from) i++;
    bool is_known = i > 0 && s->at[i - 1].to >= x.to && s->at[i - 1].time >= x.time;
    if (is_known) return;
    gi_grow(s->at, s->n, s->cap);
    memmove(s->at + i + 1, s->at + i, (size_t)(s->n++ - i) * sizeof *s->at);
    s->at[i] = x;
    if (i > 0 && s->at[i - 1].to >= x.from) unite(s, --i);
    while (i + 1 < s->n && s->at[i + 1].from <= s->at[i].to) unite(s, i);
    if (s->n > MOST_SPANS) unite(s, nearest(s));
}

static void add_spans(Spans *to, const Spans *from) {
    for (int i = 0; i < from->n; i++) add_span(to, from->at[i]);
}

/* --- places that hand over --- */

static Handover *place_of(const Handovers *h, uint64_t key) {
    uint64_t i = key * 0x9e3779b97f4a7c15u >> 32;
    for (;; i++) {
        Handover *o = &h->at[i & (uint64_t)(h->cap - 1)];
        if (o->key == key || o->key == 0) return o;
    }
}

static Handover *new_place(Handovers *h, uint64_t key) {
    if (2 * h->n >= h->cap) {
        Handovers old = *h;
        h->cap = old.cap ? 2 * old.cap : 64;
        h->at = gi_alloc((size_t)h->cap * sizeof *h->at);
        for (int i = 0; i < old.cap; i++)
            if (old.at[i].key) *place_of(h, old.at[i].key) = old.at[i];
        free(old.at);
    }
    Handover *o = place_of(h, key);
    if (o->key == 0) o->key = key, h->n++;
    return o;
}

Handover *handover_at(const Handovers *h, uint64_t key) {
    Handover *o = h->n ? place_of(h, key) : NULL;
    return o && o->key ? o : NULL;
}

void handovers_free(Handovers *h) {
    for (int i = 0; i < h->cap; i++) {
        for (int k = 0; k < FENCE_SCOPES; k++) free(h->at[i].pasts[k].at);
        free(h->at[i].read.at);
    }
    free(h->at);
}

/* --- what threads know of others --- */

static Mind *mind_of(BlockOrder *b, int thread) {
    if (b->mind == NULL) b->mind = gi_alloc(MOST_THREADS * sizeof *b->mind);
    b->minds[thread / LANES] |= 1u << thread % LANES;
    return &b->mind[thread];
}

/* Calls what is to be done with each mind that is not empty. */
static void each_mind(BlockOrder *b, int warp, uint32_t lanes, void (*what)(BlockOrder *, int)) {
    for (uint32_t left = b->minds[warp] & lanes; left; left &= left - 1)
        what(b, warp * LANES + __builtin_ctz(left));
}

static void empty_mind(BlockOrder *b, int thread) {
    Mind *mind = &b->mind[thread];
    for (int k = 0; k < FENCE_SCOPES; k++) mind->seen[k].n = 0;
    mind->knows.n = mind->glimpsed.n = 0;
    mind->key = 0;
    b->minds[thread / LANES] &= ~(1u << thread % LANES);
}

static void tell_block(BlockOrder *b, int thread) {
    for (int k = 0; k < FENCE_SCOPES; k++) add_pasts(&b->known, &b->mind[thread].seen[k]);
    add_pasts(&b->known, &b->mind[thread].knows);
    empty_mind(b, thread);
    b->any_known |= b->known.n > 0;
}

static void tell_warp(BlockOrder *b, int thread) {
    add_pasts(&b->warp_known[thread / LANES], &b->mind[thread].knows);
}

void order_acquire(BlockOrder *b, int thread, Scope scope) {
    if (!(b->minds[thread / LANES] >> thread % LANES & 1)) return;
    Mind *mind = &b->mind[thread];
    for (int k = 0; k <= (int)scope; k++) {
        add_pasts(&mind->knows, &mind->seen[k]);
        mind->seen[k].n = 0;
    }
    b->any_known |= mind->knows.n > 0;
}

static bool knows(const BlockOrder *b, const Touch *then, int thread, bool strong) {
    int warp = thread / LANES;
    if (covers(&b->known, then) || covers(&b->warp_known[warp], then)) return true;
    if (!(b->minds[warp] >> thread % LANES & 1)) return false;
    const Mind *mind = &b->mind[thread];
    return covers(&mind->knows, then) || (strong && covers(&mind->glimpsed, then));
}

/* --- a block --- */

/* Have two blocks along a direction one cluster? */
static bool is_near(const BlockOrder *b, int k, uint32_t one, uint32_t other) {
    return one / b->cluster[k] == other / b->cluster[k];
}

Scope order_scope(const BlockOrder *b, uint32_t block) {
    const unsigned *g = b->grid;
    uint32_t own = b->block;
    if (own == block) return FENCE_BLOCK;
    bool is_one = is_near(b, 0, own % g[0], block % g[0]) &&
                  is_near(b, 1, own / g[0] % g[1], block / g[0] % g[1]) &&
                  is_near(b, 2, own / g[0] / g[1], block / g[0] / g[1]);
    return is_one ? FENCE_CLUSTER : FENCE_GPU;
}

void order_begin(BlockOrder *b, uint32_t block, const unsigned grid[3], const unsigned cluster[3]) {
    b->block = block;
    memcpy(b->grid, grid, sizeof b->grid);
    memcpy(b->cluster, cluster, sizeof b->cluster);
    b->epoch = 0;
    for (int i = 0; i < LANES; i++) {
        each_mind(b, i, FULL_MASK, empty_mind);
        b->warp_known[i].n = 0;
    }
    lock_barrier(b);
    b->known.n = b->read.n = 0;
    b->any_known = false;
    if (b->any_fence) memset(b->fence, 0, sizeof b->fence);
    memset(b->met_now, 0, sizeof b->met_now);
    b->any_fence = false;
    for (int k = 0; k < FENCE_SCOPES; k++) b->fenced[k] = b->fencing[k] = (Past){.block = block};
}

void order_free(BlockOrder *b) {
    for (int i = 0; b->mind && i < MOST_THREADS; i++) {
        for (int k = 0; k < FENCE_SCOPES; k++) free(b->mind[i].seen[k].at);
        free(b->mind[i].knows.at);
        free(b->mind[i].glimpsed.at);
    }
    free(b->mind);
    free(b->hold);
    for (int i = 0; i < LANES; i++) free(b->warp_known[i].at);
    free(b->known.at);
    free(b->read.at);
}

void order_barrier(BlockOrder *b) {
    b->epoch++;
    lock_barrier(b);
    for (int k = 0; b->any_fence && k < FENCE_SCOPES; k++) {
        join(&b->fenced[k], &b->fencing[k]);
        b->fencing[k] = (Past){.block = b->block};
    }
    for (int i = 0; b->mind && i < LANES; i++) {
        each_mind(b, i, FULL_MASK, tell_block);
        b->warp_known[i].n = 0;
    }
}

void order_meet(BlockOrder *b, const BlockOrder *other) {
    Past all = {.block = other->block, .epoch = other->epoch};
    add_past(&b->known, &all);
    b->any_known = true;
}

/* The lanes that a lane met in this epoch, and itself. */
static uint32_t met_now(const BlockOrder *b, int warp, int lane) {
    const Met *met = &b->met_now[warp][lane];
    return (met->epoch == b->epoch ? met->lanes : 0) | 1u << lane;
}

static void note_met(BlockOrder *b, int warp, uint32_t lanes) {
    uint32_t all = 0;
    for (uint32_t left = lanes; left; left &= left - 1)
        all |= met_now(b, warp, __builtin_ctz(left));
    for (uint32_t left = lanes; left; left &= left - 1)
        b->met_now[warp][__builtin_ctz(left)] = (Met){b->epoch, all};
}

void order_warp_sync(BlockOrder *b, int warp, uint32_t lanes) {
    uint32_t(*met)[LANES] = b->met[warp], all[LANES] = {0};
    note_met(b, warp, lanes);
    if (b->any_known) each_mind(b, warp, lanes, tell_warp);
    for (uint32_t left = lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        met[i][i]++;
        for (int j = 0; j < LANES; j++) all[j] = met[i][j] > all[j] ? met[i][j] : all[j];
    }
    for (uint32_t left = lanes; left; left &= left - 1)
        memcpy(met[__builtin_ctz(left)], all, sizeof all);
}

void order_release(BlockOrder *b, int thread, uint64_t time, Scope scope) {
    int warp = thread / LANES;
    uint32_t lanes = met_now(b, warp, thread % LANES);
    Past own = {b->block, b->epoch, 1u << warp, lanes, time};
    for (int k = 0; k <= (int)scope; k++) {
        b->fence[k][thread] = own;
        join(&b->fencing[k], &own);
    }
    b->any_fence = true;
}

/* Adds what a place hands over in a scope: all, where who gave last is in it, else what blocks of
** it did. */
static void see(const BlockOrder *b, const Handover *o, Scope scope, Pasts *to) {
    const Pasts *given = &o->pasts[scope];
    bool all = scope == FENCE_GPU || order_scope(b, o->giver) <= scope;
    for (int i = 0; i < given->n; i++)
        if (all || order_scope(b, given->at[i].block) <= scope) add_past(to, &given->at[i]);
}

void order_take(BlockOrder *b, const Handovers *h, uint64_t key, int thread, Scope scope,
                bool is_lock) {
    const Handover *o = handover_at(h, key);
    if (o == NULL) return;
    Mind *mind = mind_of(b, thread);
    if (mind->key == key && mind->version == o->version) return; /* it spins */
    mind->key = key;
    mind->version = o->version;
    add_spans(&b->read, &o->read);
    for (int k = 0; k <= (int)scope; k++) {
        see(b, o, (Scope)k, &mind->seen[k]);
        if (!is_lock) see(b, o, (Scope)k, &mind->glimpsed);
    }
    if (is_lock) return;
    b->any_known |= mind->glimpsed.n > 0;
}

/* Adds what a thread hands on in a scope: what was fenced, and what it knows. */
static void give_pasts(const BlockOrder *b, Pasts *to, int thread, int scope) {
    Past own = b->fenced[scope];
    if (b->fence[scope][thread].time) join(&own, &b->fence[scope][thread]);
    if (own.time || own.epoch) add_past(to, &own);
    if (!b->any_known) return;
    add_pasts(to, &b->known);
    add_pasts(to, &b->warp_known[thread / LANES]);
    if (b->minds[thread / LANES] >> thread % LANES & 1) add_pasts(to, &b->mind[thread].knows);
}

void order_give(const BlockOrder *b, Handovers *h, uint64_t key, int thread, Scope scope,
                bool replaces) {
    bool has_any = b->any_fence || b->any_known;
    if (!has_any && (h->n == 0 || !replaces || place_of(h, key)->key == 0)) return;
    Handover *o = new_place(h, key);
    o->giver = b->block;
    o->version++;
    for (int k = 0; k < FENCE_SCOPES; k++) {
        if (replaces) o->pasts[k].n = 0;
        if (has_any && k <= (int)scope) give_pasts(b, &o->pasts[k], thread, k);
    }
}

void order_give_reads(const BlockOrder *b, Handovers *h, uint64_t key, uint64_t time) {
    Handover *o = new_place(h, key);
    o->version++;
    add_spans(&o->read, &b->read);
    add_span(&o->read, (Span){b->block, b->block, time});
}

bool order_read_is_over(const BlockOrder *b, const Touch *then) {
    for (int i = 0; i < b->read.n; i++) {
        const Span *s = &b->read.at[i];
        if (s->from <= then->block && then->block <= s->to) return then->time <= s->time;
    }
    return false;
}

bool order_is_over(const BlockOrder *b, const Touch *then, int thread, bool strong) {
    if (then->block == b->block) {
        if (then->thread == thread || then->epoch != b->epoch) return true;
        int warp = thread / LANES;
        if (then->thread / LANES == warp &&
            b->met[warp][thread % LANES][then->thread % LANES] >= then->lane_epoch)
            return true;
    }
    return b->any_known && knows(b, then, thread, strong);
}
