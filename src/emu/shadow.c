/* shadow.c - what memory itself cannot tell: bytes nobody wrote, and races in shared memory.
**
** Races: two accesses to a byte by different threads, at least one a write, not both atomic, race
** when no barrier lies between them: no block barrier, and for threads of one warp no
** bar.warp.sync of both, nor a chain of them. Lanes of one instruction that write the same value to
** a byte do not race: they repeat each other's work. A byte remembers its last writer and two of its readers since the last
** barrier.
** A barrier for some of the warps counts as one for all (races may be missed, none is invented).
*/
#include "emu/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Touch { /* who, when; thread is counted from 1 */
    uint32_t thread, epoch, lane_epoch;
    uint64_t step; /* of the instruction */
    int ptx_line, src_line;
    bool is_atomic;
} Touch;

typedef struct Byte {
    Touch write, read[2];
    bool written; /* since the block began */
} Byte;

struct Shadow {
    bool races, uninitialised;
    Byte *shared;
    uint32_t epoch;
    uint64_t step;
    /* per warp, a vector clock for each lane: met[w][i][j] is the last epoch of lane j that lane i
    ** knows to be over; its own, met[w][i][i] + 1, lasts until its next bar.warp.sync */
    uint32_t met[LANES][LANES][LANES];
    uint32_t *local[LANES]; /* per warp: for each byte of the stack, the lanes that wrote it */
    uint32_t local_cap[LANES];
};

Shadow *shadow_new(const Machine *m) {
    Shadow *s = gi_alloc(sizeof *s);
    s->races = m->launch->check_races;
    s->uninitialised = m->launch->count_uninitialised;
    s->shared = gi_alloc(((size_t)m->shared_bytes + 1) * sizeof *s->shared);
    return s;
}

void shadow_free(Shadow *s) {
    if (s == NULL) return;
    for (int i = 0; i < LANES; i++) free(s->local[i]);
    free(s->shared);
    free(s);
}

void shadow_block(Machine *m) {
    memset(m->shadow->shared, 0, (size_t)m->shared_bytes * sizeof *m->shadow->shared);
    m->shadow->epoch++;
}

void shadow_barrier(Machine *m, uint32_t warps) {
    (void)warps;
    m->shadow->epoch++;
}

void shadow_warp_sync(Machine *m, const Warp *w, uint32_t lanes) {
    uint32_t(*met)[LANES] = m->shadow->met[w->index], all[LANES] = {0};
    for (uint32_t left = lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        met[i][i]++;
        for (int j = 0; j < LANES; j++) all[j] = met[i][j] > all[j] ? met[i][j] : all[j];
    }
    for (uint32_t left = lanes; left; left &= left - 1)
        memcpy(met[__builtin_ctz(left)], all, sizeof all);
}

void shadow_step(Machine *m) {
    m->shadow->step++;
}

void shadow_local_frame(Machine *m, const Warp *w, uint32_t from, uint32_t to) {
    Shadow *s = m->shadow;
    if (to > s->local_cap[w->index]) {
        s->local[w->index] = gi_realloc(s->local[w->index], to * sizeof(uint32_t));
        memset(s->local[w->index] + s->local_cap[w->index], 0,
               (to - s->local_cap[w->index]) * sizeof(uint32_t));
        s->local_cap[w->index] = to;
    }
    for (uint32_t k = from; k < to; k++) s->local[w->index][k] &= ~w->active;
}

/* Did the earlier access happen without a barrier between it and this one? */
static bool concurrent(const Shadow *s, const Touch *then, const Touch *now, bool same_value) {
    if (then->thread == 0 || then->thread == now->thread || then->epoch != s->epoch) return false;
    if (then->is_atomic && now->is_atomic) return false;
    if (then->step == now->step && same_value) return false;
    uint32_t a = then->thread - 1, b = now->thread - 1, warp = b / LANES;
    return a / LANES != warp || s->met[warp][b % LANES][a % LANES] < then->lane_epoch;
}

static bool raise_race(Machine *m, Warp *w, const Ins *in, int lane, uint64_t offset, bool is_write,
                       const Touch *then, bool then_write) {
    char source[40] = "";
    if (then->src_line) snprintf(source, sizeof source, ", source line %d", then->src_line);
    return fault_access(
        m, w, in, lane, EMU_RACE,
        "race in shared memory at offset 0x%llx: this %s and the %s by thread %u of the "
        "block (PTX line %d%s) with no barrier between them",
        (unsigned long long)offset, is_write ? "write" : "read", then_write ? "write" : "read",
        then->thread - 1, then->ptx_line, source);
}

static void note_read(Byte *b, const Touch *now) {
    bool first_old = b->read[0].epoch != now->epoch || b->read[0].thread == now->thread ||
                     b->read[0].thread == 0;
    b->read[!first_old] = *now;
}

static bool check_byte(Machine *m, Warp *w, const Ins *in, int lane, uint64_t offset, bool is_write,
                       const Touch *now, bool same_value) {
    Shadow *s = m->shadow;
    Byte *b = &s->shared[offset];
    if (concurrent(s, &b->write, now, same_value))
        return raise_race(m, w, in, lane, offset, is_write, &b->write, true);
    for (int k = 0; k < 2 && is_write; k++)
        if (concurrent(s, &b->read[k], now, false))
            return raise_race(m, w, in, lane, offset, true, &b->read[k], false);
    if (is_write) b->write = *now;
    else note_read(b, now);
    return true;
}

static void note_unwritten(Machine *m, const Warp *w, const Ins *in, int lane, const char *space,
                           uint64_t offset, unsigned bytes) {
    m->result->uninitialised_reads++;
    fault_note(m, w, in, lane, EMU_WARN_UNINITIALISED,
               "read of %u byte%s that nobody wrote in %s memory at offset 0x%llx", bytes,
               bytes == 1 ? "" : "s", space, (unsigned long long)offset);
}

bool shadow_shared(Machine *m, Warp *w, const Ins *in, int lane, uint64_t offset, unsigned bytes,
                   bool is_write, const void *value) {
    Shadow *s = m->shadow;
    bool is_atomic = is_write && value == NULL;
    const InsPlace *at = &w->code->place[in - w->code->ins];
    Touch now = {(uint32_t)(w->index * LANES + lane + 1),
                 s->epoch,
                 s->met[w->index][lane][lane] + 1,
                 s->step,
                 at->ptx_line,
                 at->src_line,
                 is_atomic};
    bool unwritten = false, raced = false;
    for (unsigned k = 0; k < bytes; k++) {
        unwritten |= (!is_write || is_atomic) && !s->shared[offset + k].written;
        bool same = value && ((const uint8_t *)value)[k] == m->shared[offset + k];
        if (s->races && !raced)
            raced = !check_byte(m, w, in, lane, offset + k, is_write, &now, same);
        if (is_write) s->shared[offset + k].written = true;
    }
    if (s->uninitialised && unwritten) note_unwritten(m, w, in, lane, "shared", offset, bytes);
    return !m->ended;
}

void shadow_local(Machine *m, const Warp *w, const Ins *in, int lane, uint64_t offset,
                  unsigned bytes, bool is_write) {
    Shadow *s = m->shadow;
    bool unwritten = false;
    for (unsigned k = 0; k < bytes; k++) {
        uint32_t *cell = &s->local[w->index][offset + k];
        if (is_write) *cell |= 1u << lane;
        else unwritten |= !(*cell >> lane & 1);
    }
    if (s->uninitialised && unwritten) note_unwritten(m, w, in, lane, "local", offset, bytes);
}
