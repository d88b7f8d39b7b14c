/* endless.c - who can never go on.
**
** What a warp does next follows from its state (where its lanes are, registers, stack) and from
** memory. A warp whose state is twice the same, while nobody changes memory, does for ever what it
** did in between: only somebody else's write could end it. Where that is so of all warps that have
** begun, but for those that wait at a barrier, and no other block can begin, the launch never ends.
**
** A state is kept when a warp has had QUIET turns without a change, then after twice as many, and
** so on; the next turns that end at the same place are compared with it, at most LOOKS of them: so
** it costs little who computes for long and writes nothing. Not seen: a loop that counts its
** rounds, reads a clock, or writes what is there already. Such a one ends with its budget. A warp
** that waits for an mbarrier waits for ever after PATIENT turns in which nobody changed anything.
*/
#include "emu/core.h"

#include <string.h>

enum { QUIET = 512, AGAIN = 8, LOOKS = 32, PATIENT = 1 << 16 };

/* --- a warp's state in a number --- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const uint8_t *bytes, size_t n) {
    uint64_t word;
    for (; n >= sizeof word; n -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mix(hash, word);
    }
    for (; n > 0; n--) hash = mix(hash, *bytes++);
    return hash;
}

static uint64_t mix_frame(uint64_t hash, const Frame *f) {
    hash = mix_bytes(hash, f->file, f->code->file_bytes);
    return mix_bytes(hash, f->params, (size_t)f->code->param_bytes * LANES);
}

static uint64_t state_of(const Warp *w) {
    uint64_t hash = mix((uint64_t)w->live << 32 | w->carry, (uint64_t)w->pc);
    uint32_t top = w->local_top;
    int last = -1;
    for (int i = 0; i < w->n_path; i++) {
        const Path *p = &w->s.path[i];
        const Frame *f = &w->s.frame[p->frame];
        bool runs = i == w->n_path - 1; /* then its pc is w->pc */
        hash = mix(hash, (uint64_t)p->mask << 32 | (uint32_t)(runs ? 0 : p->pc));
        uint32_t meets = p->wait == PATH_AT_SYNC ? p->meets : 0; /* else it is not set */
        hash = mix(hash, (uint64_t)meets << 32 | (uint32_t)p->rpc);
        hash = mix(hash, (uint64_t)p->frame << 8 | p->wait);
        if (f->local_top > top) top = f->local_top;
        if (p->frame != last) hash = mix_frame(hash, f);
        last = p->frame;
    }
    return mix_bytes(hash, w->s.local, (size_t)(top + 3) / 4 * ROW32);
}

/* --- at the end of a turn --- */

static bool is_kept(uint64_t quiet) {
    return quiet >= QUIET && (quiet & (quiet - 1)) == 0;
}

bool endless_turn(Machine *m, Warp *w) {
    Quiet *q = &w->quiet;
    if (w->moved) m->changes++;
    if (w->moved || q->changes != m->changes) {
        q->turns = q->repeats ? QUIET - AGAIN : 0;
        q->changes = m->changes;
        q->repeats = false;
        return false;
    }
    if (q->repeats || ++q->turns < QUIET) return q->repeats;
    if (w->failed && q->turns >= PATIENT) return q->repeats = true;
    if (is_kept(q->turns)) {
        *q = (Quiet){.changes = q->changes,
                     .turns = q->turns,
                     .state = state_of(w),
                     .pc = w->pc,
                     .active = w->active,
                     .looks = LOOKS};
    } else if (q->looks > 0 && q->pc == w->pc && q->active == w->active) {
        q->looks--;
        q->repeats = state_of(w) == q->state;
    }
    return q->repeats;
}

/* Who waits at a barrier is woken only by somebody who comes to it in what repeats. */
static bool is_endless(const Machine *m, const Warp *w, bool meets) {
    bool repeats = w->quiet.repeats && w->quiet.changes == m->changes;
    return w->state == WARP_DONE || repeats || (w->state == WARP_WAITING && !meets);
}

/* *runs: somebody does. Where nobody does all wait at barriers: that is another fault. */
static bool block_is_endless(const Machine *m, const Block *b, bool *runs) {
    bool meets = false;
    for (int i = 0; i < m->n_warps; i++) meets |= b->warp[i].quiet.repeats && b->warp[i].quiet.met;
    for (int i = 0; i < m->n_warps; i++) {
        if (!is_endless(m, &b->warp[i], meets)) return false;
        *runs |= b->warp[i].state == WARP_READY;
    }
    return true;
}

bool endless_all(const Machine *m) {
    bool runs = false;
    for (int k = 0; k < m->n_open; k++)
        if (!block_is_endless(m, m->open[k], &runs)) return false;
    return runs;
}
