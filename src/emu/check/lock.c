/* lock.c - locks that are taken without a fence behind it.
**
** A thread holds a lock from a compare-and-swap that changes a word until it writes back what was
** there. What it does before its first fence in between may come before it has the lock, whoever
** had it last. That shows where another thread has the lock first; where it has it later, all seems
** in order. So a place remembers of its last holder until when that had not fenced, and what
** the next holder does is held against what was done there before. Barriers end what is known here.
*/
#include "emu/check/shadow.h"

#include <stdlib.h>

static bool is_holding(const BlockOrder *b, int thread) {
    return b->holds[thread / LANES] >> thread % LANES & 1;
}

void lock_take(BlockOrder *b, const Handovers *h, uint64_t key, int thread, uint64_t time,
               uint64_t was) {
    const Handover *o = handover_at(h, key);
    if (b->hold == NULL) b->hold = gi_alloc(MOST_THREADS * sizeof *b->hold);
    b->holds[thread / LANES] |= 1u << thread % LANES;
    Hold *hold = &b->hold[thread];
    *hold = (Hold){.key = key, .was = was, .bare = {b->block, thread, time, {0}}};
    if (o) hold->before = o->bare;
    /* a fence has the time of the access before it */
    if (hold->before.to[FENCE_GPU] > hold->before.from)
        b->doubts[thread / LANES] |= 1u << thread % LANES;
}

void lock_fence(BlockOrder *b, int thread, uint64_t time, Scope scope) {
    if (!is_holding(b, thread)) return;
    Bare *bare = &b->hold[thread].bare;
    for (int k = 0; k <= (int)scope; k++)
        if (bare->to[k] == 0) bare->to[k] = time;
}

void lock_give(BlockOrder *b, const Handovers *h, uint64_t key, int thread, uint64_t time,
               uint64_t value) {
    if (!is_holding(b, thread) || b->hold[thread].key != key) return;
    Hold *hold = &b->hold[thread];
    b->holds[thread / LANES] &= ~(1u << thread % LANES);
    b->doubts[thread / LANES] &= ~(1u << thread % LANES);
    Handover *o = handover_at(h, key);
    if (hold->was != value || o == NULL) return;
    for (int k = 0; k < FENCE_SCOPES; k++)
        if (hold->bare.to[k] == 0) hold->bare.to[k] = time;
    o->bare = hold->bare;
}

void lock_barrier(BlockOrder *b) {
    for (int i = 0; b->hold && i < LANES; i++) b->holds[i] = b->doubts[i] = 0;
}

bool lock_is_bare(const BlockOrder *b, const Touch *then, int thread) {
    if (!(b->doubts[thread / LANES] >> thread % LANES & 1)) return false;
    const Bare *bare = &b->hold[thread].before;
    uint64_t to = bare->to[order_scope(b, then->block)];
    bool own = then->block == b->block && then->thread == thread;
    return !own && then->block == bare->block && then->thread == bare->thread &&
           then->time > bare->from && then->time <= to;
}
