/* waits.h - what a warp waits for while it runs: loads on their way, in the order of its code.
**
** A warp has two times. `clock` is that of a warp whose loads find in the L2 what the L1 has not;
** `clock` + `late` is that of one whose loads all come from DRAM. Which share of them does is known
** when the launch ends (reuse.h), and the time that counts lies as far between the two.
**
** A load is on its way until the instruction that reads its result (static.c knows which): only
** then the warp waits. So loads that do not depend on each other wait together.
**
** Loads of short bodies of ifs, whose results are only stored (use is COST_LATE), wait in groups of
** WAITS_LATE: when a fifth comes, at a barrier, where a loop begins again, or at the end.
*/
#ifndef GILUA_EMU_WAITS_H
#define GILUA_EMU_WAITS_H

#include "emu/core.h"
#include "emu/profile.h"

#include <math.h>

enum { WAITS_LATE = 4 };

/* The warp comes to the instruction that waits for this one. */
static inline void waits_end(Warp *w, const CostWait *x) {
    double near = x->near - (double)x->use, far = x->far - (double)x->use;
    double late = w->clock + w->late;
    if (w->spots) {
        w->spots[x->from].near += fmax(0, near - w->clock);
        w->spots[x->from].far += fmax(0, far - late);
    }
    if (near > w->clock) w->clock = near;
    if (far > late) late = far;
    w->late = late > w->clock ? late - w->clock : 0;
}

/* The warp comes to this clock of its block (from the block's end on, at most 0). */
static inline void waits_until(Warp *w, float clock) {
    int kept = 0;
    for (int i = 0; i < w->n_waits; i++) {
        if (w->wait[i].use <= clock) waits_end(w, &w->wait[i]);
        else w->wait[kept++] = w->wait[i];
    }
    w->n_waits = kept;
}

/* Loads that are waited for late are waited for now. */
static inline void waits_late(Warp *w, float clock) {
    for (int i = 0; i < w->n_waits; i++)
        if (w->wait[i].use == COST_LATE) w->wait[i].use = clock;
    waits_until(w, clock);
}

/* A block of code begins: what was to be waited for in the one before is there, and the rest is
** waited for where this one says. */
static inline void waits_enter(Warp *w, const CostCarry *carry) {
    waits_until(w, 0);
    for (int i = 0; i < w->n_waits; i++) {
        CostWait *x = &w->wait[i];
        uint64_t out = 0;
        for (uint64_t left = x->out; left; left &= left - 1) {
            const CostCarry *c = &carry[__builtin_ctzll(left)];
            if (c->use < x->use) x->use = c->use;
            out |= c->out;
        }
        x->out = out;
    }
}

/* All of them are waited for now: another function's registers come. */
static inline void waits_all(Warp *w) {
    for (int i = 0; i < w->n_waits; i++) {
        w->wait[i].use = 0;
        waits_end(w, &w->wait[i]);
    }
    w->n_waits = 0;
}

/* The load at w->at goes beyond the L1. */
static inline void waits_begin(const Machine *m, Warp *w) {
    const InsPlace *p = &w->code->place[w->at - w->code->ins];
    if (p->use == INFINITY && p->out == 0) return; /* nobody reads it */
    waits_until(w, p->clock);
    double now = w->clock + (double)p->clock;
    CostWait x = {.near = now + m->cost.beyond_near,
                  .far = now + w->late + m->cost.beyond_far,
                  .use = p->use,
                  .from = (int32_t)(w->at - w->code->ins),
                  .out = p->out};
    CostWait *last = w->n_waits ? &w->wait[w->n_waits - 1] : NULL;
    if (last && last->use == x.use && last->out == x.out && last->n < WAITS_LATE) {
        x.n = last->n + (x.use == COST_LATE);
        *last = x; /* the last of them is there last */
        return;
    }
    if (x.use == COST_LATE) {
        waits_late(w, p->clock);
        x.near = fmax(x.near, w->clock + (double)p->clock + m->cost.beyond_near);
        x.far = fmax(x.far, w->clock + w->late + (double)p->clock + m->cost.beyond_far);
        x.n = 1;
    }
    if (w->n_waits == COST_WAITS) {
        w->wait[0].use = p->clock;
        waits_until(w, p->clock);
        x.near = fmax(x.near, w->clock + (double)p->clock);
    }
    w->wait[w->n_waits++] = x;
}

#endif
