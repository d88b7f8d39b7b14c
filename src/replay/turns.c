/* turns.c - see turns.h. */
#include "replay/turns.h"

#include <stdlib.h>
#include <string.h>

#define A_LITTLE 1e-9 /* by which shares may be more than the whole: they are rounded */

bool replay_turns_check(const ReplayTurn *turns, int n, int n_launches, gi_err *err) {
    if (n != n_launches) return gi_fail(err, "usage", "turns of %d launches for %d", n, n_launches);
    for (int i = 0; i < n; i++) {
        if (turns[i].stream >= REPLAY_STREAMS)
            return gi_fail(err, "usage", "launch %d is on stream %u, and there are %d", i + 1,
                           turns[i].stream, REPLAY_STREAMS);
        for (uint32_t s = 0; s < REPLAY_STREAMS; s++) {
            uint32_t after = turns[i].after[s];
            if (after > (uint32_t)i || (after > 0 && turns[after - 1].stream != s))
                return gi_fail(err, "usage",
                               "launch %d waits for launch %u, which is not before it on stream "
                               "%u",
                               i + 1, after, s);
        }
    }
    return true;
}

/* --- time --- */

double replay_share(const EmuModel *model, const unsigned grid[3], const EmuResult *r) {
    double share = (double)grid[0] * grid[1] * grid[2] / model->sms;
    double memory = r->ticks > 0 ? r->work.part_memory / r->ticks : 0;
    if (memory > share) share = memory;
    return share < 1 ? share : 1;
}

typedef struct Lane { /* a stream */
    int next;         /* the launch that it has next; n: none */
    bool is_busy;     /* with it */
    double ends;
} Lane;

typedef struct Clock {
    const ReplayTurn *turns;
    const ReplayTaken *taken;
    int n;
    double now;
    Lane lane[REPLAY_STREAMS];
    bool *ended; /* by launch */
} Clock;

static void go_on(Clock *c, uint32_t stream) {
    Lane *lane = &c->lane[stream];
    lane->is_busy = false;
    do lane->next++;
    while (lane->next < c->n && c->turns[lane->next].stream != stream);
}

static bool may_begin(const Clock *c, const Lane *lane) {
    double share = lane->next < c->n ? c->taken[lane->next].share : 0;
    if (lane->is_busy || lane->next == c->n) return false;
    for (int s = 0; s < REPLAY_STREAMS; s++) {
        uint32_t after = c->turns[lane->next].after[s];
        if (after > 0 && !c->ended[after - 1]) return false;
        if (c->lane[s].is_busy) share += c->taken[c->lane[s].next].share;
    }
    return share <= 1 + A_LITTLE;
}

/* The first of the recording that may begin; NULL. */
static Lane *first_to_begin(Clock *c) {
    Lane *first = NULL;
    for (Lane *lane = c->lane; lane < c->lane + REPLAY_STREAMS; lane++)
        if (may_begin(c, lane) && (first == NULL || lane->next < first->next)) first = lane;
    return first;
}

/* The next one that ends; NULL. */
static Lane *first_to_end(Clock *c) {
    Lane *first = NULL;
    for (Lane *lane = c->lane; lane < c->lane + REPLAY_STREAMS; lane++)
        if (lane->is_busy && (first == NULL || lane->ends < first->ends)) first = lane;
    return first;
}

double replay_together(const ReplayTurn *turns, const ReplayTaken *taken, int n) {
    Clock c = {.turns = turns,
               .taken = taken,
               .n = n,
               .ended = gi_alloc((size_t)(n + 1) * sizeof *c.ended)};
    Lane *lane;
    for (uint32_t s = 0; s < REPLAY_STREAMS; s++) {
        c.lane[s].next = -1;
        go_on(&c, s);
    }
    do {
        while ((lane = first_to_begin(&c)) != NULL) {
            lane->is_busy = true;
            lane->ends = c.now + taken[lane->next].ticks;
        }
        if ((lane = first_to_end(&c)) != NULL) {
            c.now = lane->ends;
            c.ended[lane->next] = true;
            go_on(&c, turns[lane->next].stream);
        }
    } while (lane != NULL);
    free(c.ended);
    return c.now;
}

/* --- memory --- */

static void add(ReplayTouches *t, ReplayTouch touch) {
    gi_grow(t->list, t->n, t->cap);
    t->list[t->n++] = touch;
}

void replay_touched(ReplayTouches *t, const Emu *e, int launch, bool is_known) {
    uint64_t address;
    unsigned how;
    if (!is_known) {
        add(t, (ReplayTouch){.launch = launch});
        return;
    }
    for (int i = 0; (address = emu_touched(e, i, &how)) != 0; i++) {
        EmuAllocation a;
        bool is_variable = emu_find(e, address, &a) && a.is_variable;
        bool is_own = is_variable && (a.is_constant || strncmp(a.label, "gilua_", 6) == 0);
        if (how == 0 || is_own) continue;
        add(t, (ReplayTouch){launch, is_variable ? 0 : address, how});
    }
}
