/* order.c - what happens before what, as far as threads can rely on it.
**
** Two accesses are in order where the PTX memory model says so:
**   - by one thread;
**   - with a barrier of the block between them (one for some of the warps counts as one for all),
**     or for lanes of a warp bar.warp.syncs of both, or a chain of them;
**   - by handing over: a thread fences (membar, fence, .release) and then writes to a place with a
**     strong access (an atomic, volatile, .relaxed, .release), another thread reads that place
**     with a strong access later. What the first thread did before its fence is over for the other
**     thread, and so is what was over for the first one. A fence of the block's scope counts inside
**     the block alone.
** Where that would ask for too much memory more is taken to be in order than is, so that races may
** be missed and none is invented: what one thread of a block took over, all threads of the block
** know; who takes over from two warps of a block takes over from all of it; a fence is behind all
** that lanes did whom its lane met since the last barrier of the block; one by anybody before such
** a barrier counts for all who pass it; any strong read of the place takes over, whatever it reads
** and with or without a fence behind it.
*/
#include "emu/shadow.h"

#include <stdlib.h>
#include <string.h>

/* --- pasts --- */

static void join(Past *to, const Past *from) {
    if (from->epoch > to->epoch) to->epoch = from->epoch;
    if (from->time == 0) return;
    if (to->time == 0) to->warp = from->warp;
    else if (to->warp != from->warp) to->warp = ANY_WARP;
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

static bool covers(const Pasts *p, const Touch *then) {
    int i = find_past(p, then->block);
    if (i == p->n || p->at[i].block != then->block) return false;
    const Past *past = &p->at[i];
    if (then->epoch < past->epoch) return true;
    if (then->time > past->time) return false;
    return past->warp == ANY_WARP ||
           (past->warp == then->thread / LANES && past->lanes >> then->thread % LANES & 1);
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

void handovers_free(Handovers *h) {
    for (int i = 0; i < h->cap; i++)
        for (int k = 0; k < FENCE_SCOPES; k++) free(h->at[i].pasts[k].at);
    free(h->at);
}

/* --- a block --- */

void order_begin(BlockOrder *b, uint32_t block) {
    b->block = block;
    b->epoch = 0;
    b->known.n = 0;
    if (b->any_fence) memset(b->fence, 0, sizeof b->fence);
    memset(b->met_now, 0, sizeof b->met_now);
    b->any_fence = false;
    for (int k = 0; k < FENCE_SCOPES; k++) b->has_fenced[k] = false, b->fenced[k] = 0;
}

void order_free(BlockOrder *b) {
    free(b->known.at);
}

void order_barrier(BlockOrder *b) {
    b->epoch++;
    for (int k = 0; k < FENCE_SCOPES; k++) {
        if (b->has_fenced[k]) b->fenced[k] = b->epoch;
        b->has_fenced[k] = false;
    }
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
    for (uint32_t left = lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        met[i][i]++;
        for (int j = 0; j < LANES; j++) all[j] = met[i][j] > all[j] ? met[i][j] : all[j];
    }
    for (uint32_t left = lanes; left; left &= left - 1)
        memcpy(met[__builtin_ctz(left)], all, sizeof all);
}

void order_fence(BlockOrder *b, int thread, uint64_t time, bool whole_gpu) {
    for (int k = 0; k <= (whole_gpu ? FENCE_GPU : FENCE_BLOCK); k++) {
        b->fence[k][thread] = (Fence){time, b->epoch, met_now(b, thread / LANES, thread % LANES)};
        b->has_fenced[k] = true;
    }
    b->any_fence = true;
}

void order_take(BlockOrder *b, const Handovers *h, uint64_t key) {
    if (h->n == 0) return;
    const Handover *o = place_of(h, key);
    if (o->key == 0) return;
    add_pasts(&b->known, &o->pasts[FENCE_GPU]);
    const Pasts *near = &o->pasts[FENCE_BLOCK];
    int i = find_past(near, b->block);
    if (i < near->n && near->at[i].block == b->block) add_past(&b->known, &near->at[i]);
}

/* What of its block a thread hands on. */
static Past own_past(const BlockOrder *b, int thread, int scope) {
    const Fence *f = &b->fence[scope][thread];
    Past p = {b->block, b->fenced[scope], thread / LANES, f->lanes, f->time};
    if (f->time && f->epoch > p.epoch) p.epoch = f->epoch;
    return p;
}

void order_give(const BlockOrder *b, Handovers *h, uint64_t key, int thread) {
    if (!b->any_fence && b->known.n == 0) return;
    Handover *o = new_place(h, key);
    for (int k = 0; k < FENCE_SCOPES; k++) {
        Past own = own_past(b, thread, k);
        if (own.time || own.epoch) add_past(&o->pasts[k], &own);
    }
    add_pasts(&o->pasts[FENCE_GPU], &b->known);
}

bool order_is_over(const BlockOrder *b, const Touch *then, int thread) {
    if (then->block == b->block) {
        if (then->thread == thread || then->epoch != b->epoch) return true;
        int warp = thread / LANES;
        if (then->thread / LANES == warp &&
            b->met[warp][thread % LANES][then->thread % LANES] >= then->lane_epoch)
            return true;
    }
    return b->known.n > 0 && covers(&b->known, then);
}
