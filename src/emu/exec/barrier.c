/* barrier.c - barriers of a block: bar and barrier.
**
** A warp arrives as a whole. Lanes that come to a barrier while others of their warp are elsewhere
** wait until those have come, too, or have ended. An .aligned barrier (every bar is one) must be
** the same instruction for all of them; of the others the same barrier is enough.
*/
#include "emu/exec/async.h"
#include "emu/cost/waits.h"
#include "emu/exec/matrix_group.h"
#include "emu/profile.h"

#include <math.h>
#include <string.h>

static bool waits(const Path *p) {
    return p->mask && p->wait == PATH_AT_BARRIER;
}

static int kind_of(const Ins *in) {
    return in->x & BAR_KIND;
}

/* The result of a reduction, for the lanes of a path. */
static void deliver(const Warp *w, const Path *p, const Barrier *b) {
    const Ins *in = path_ins(w, p);
    if (kind_of(in) < BAR_RED_POPC || kind_of(in) >= BAR_CLUSTER) return;
    uint8_t *row = w->s.frame[p->frame].file + in->d;
    U32 *word = (U32 *)(void *)row;
    bool all = b->red_count == b->red_total, yes = kind_of(in) == BAR_RED_AND ? all : b->red_count;
    if (kind_of(in) != BAR_RED_POPC) *word = yes ? *word | p->mask : *word & ~p->mask;
    else
        for (uint32_t left = p->mask; left; left &= left - 1)
            word[__builtin_ctz(left)] = b->red_count;
}

void barrier_leave(Warp *w, const Barrier *b) {
    w->state = WARP_READY;
    for (int i = 0; i < w->n_path; i++) {
        Path *p = &w->s.path[i];
        if (!waits(p)) continue;
        deliver(w, p, b);
        p->wait = PATH_GOES;
        p->pc++;
    }
    warp_enter(w);
}

static void release(Machine *m, int id) {
    Barrier *b = &m->barrier[id];
    double clock = 0, far = 0;
    uint32_t warps = 0;
    for (int i = 0; i < m->n_warps; i++) {
        const Warp *w = &m->warp[i];
        if (w->state != WARP_WAITING || w->barrier != id) continue;
        warps |= 1u << i;
        clock = fmax(clock, w->clock);
        far = fmax(far, w->clock + w->late);
    }
    const EmuModel *g = m->model;
    double late = far - clock;
    clock += g->latency_barrier + g->latency_barrier_warp * __builtin_popcount(warps);
    for (int i = 0; i < m->n_warps; i++) {
        Warp *w = &m->warp[i];
        if (!(warps >> i & 1)) continue;
        if (m->profile) profile_barrier(m, w, clock - w->clock);
        w->clock = clock;
        w->late = late;
        w->quiet.met = true;
        barrier_leave(w, b);
    }
    m->result->barriers++;
    if (b->after_exit) m->result->barrier_after_exit++;
    if (m->shadow) shadow_barrier(m, warps);
    *b = (Barrier){0};
}

/* Has everyone come? Warps that ended count as arrived at a barrier for all. */
static bool complete(const Machine *m, Barrier *b) {
    uint32_t arrived = (uint32_t)__builtin_popcount(b->arrived);
    if (b->expected) return arrived >= b->expected;
    if (m->block->ended) b->after_exit = true;
    return arrived + m->block->ended >= (uint32_t)m->n_warps;
}

void barrier_warp_ended(Machine *m) {
    for (uint32_t met = m->block->barriers_met; met; met &= met - 1) {
        int id = __builtin_ctz(met);
        if (m->barrier[id].arrived && complete(m, &m->barrier[id])) release(m, id);
    }
}

/* --- one warp arrives --- */

bool barrier_together(const Warp *w) {
    const Ins *first = NULL;
    uint32_t lanes = 0;
    for (int i = 0; i < w->n_path; i++) {
        const Path *p = &w->s.path[i];
        if (!waits(p)) continue;
        const Ins *in = path_ins(w, p);
        lanes |= p->mask;
        if (first == NULL) first = in;
        if (in != first && (in->x & BAR_ALIGNED || in->x != first->x)) return false;
    }
    return lanes == w->live;
}

void barrier_split(Machine *m, Warp *w, const Path *p) {
    char there[120], missing[120];
    fault_lanes(p->mask, there, sizeof there);
    fault_lanes(w->live & ~p->mask, missing, sizeof missing);
    fault_raise(m, w, path_ins(w, p), ALL_LANES, EMU_LAUNCH_ERROR,
                "barrier reached by only part of the warp: %s, without %s", there, missing);
}

/* Barrier number and thread count must be the same in all lanes. */
static bool uniform_operands(Machine *m, Warp *w, uint32_t *id, uint32_t *threads) {
    bool known = false;
    for (int k = 0; k < w->n_path; k++) {
        const Path *p = &w->s.path[k];
        if (!waits(p)) continue;
        const Ins *in = path_ins(w, p);
        const uint8_t *file = w->s.frame[p->frame].file;
        const U32 *a = (const U32 *)(const void *)(file + in->a);
        const U32 *b = (const U32 *)(const void *)(file + in->b);
        int first = __builtin_ctz(p->mask);
        if (!known) *id = a[first], *threads = b[first], known = true;
        if (in->x & BAR_FIXED && a[first] == *id && b[first] == *threads) continue;
        if (row_is(a, *id) && row_is(b, *threads)) continue;
        for (uint32_t left = p->mask; left; left &= left - 1) {
            int i = __builtin_ctz(left);
            if (a[i] != *id || b[i] != *threads)
                return fault_raise(m, w, in, i, EMU_LAUNCH_ERROR,
                                   "barrier with operands that differ between lanes");
        }
    }
    return true;
}

/* Lanes that went past an .aligned barrier and ended: the ISA leaves that undefined, a GPU lets the
** others go on. (What compilers make of a return before the barrier may look the same.) */
static void note_leavers(Machine *m, const Warp *w, const Path *p) {
    const Ins *in = path_ins(w, p);
    uint32_t gone = p->live & ~w->live;
    char who[120];
    if (gone == 0 || !(in->x & BAR_ALIGNED)) return;
    fault_lanes(gone, who, sizeof who);
    fault_note(m, w, in, __builtin_ctz(p->mask), EMU_WARN_LEFT,
               "barrier for part of the warp: %s ended without it", who);
}

/* Warps of a block that meet at different __syncthreads(): hardware lets them, for it counts
** warps; CUDA's guide leaves undefined what a compiler makes of it. Barriers with a number or a
** count are meant so: one warp produces what another uses. */
static void note_different(Machine *m, const Warp *w, const Ins *in, Barrier *b) {
    const InsPlace *here = &w->code->place[in - w->code->ins];
    if ((in->x & (BAR_ALIGNED | BAR_COUNTED)) != BAR_ALIGNED) return;
    if (b->first == NULL) b->first = here;
    if (b->first->ptx_line == here->ptx_line) return;
    fault_note(m, w, in, ALL_LANES, EMU_WARN_BARRIERS,
               "__syncthreads() that not the whole block comes to: other warps meet it at another "
               "one (PTX line %d, source line %d)",
               b->first->ptx_line, b->first->src_line);
}

/* What the lanes bring to a reduction. */
static void bring(const Warp *w, const Path *p, Barrier *b) {
    const Ins *in = path_ins(w, p);
    if (kind_of(in) < BAR_RED_POPC) return;
    uint32_t bits = *(const U32 *)(const void *)(w->s.frame[p->frame].file + in->c);
    b->red_count += (uint32_t)__builtin_popcount(bits & p->mask);
    b->red_total += (uint32_t)__builtin_popcount(p->mask);
}

Stop barrier_arrive(Machine *m, Warp *w) {
    uint32_t id = 0, threads = 0;
    warp_enter(w);
    const Ins *in = &w->code->ins[w->pc];
    waits_late(w, w->code->place[w->pc].clock);
    if (kind_of(in) == BAR_CLUSTER) return cluster_wait(m, w);
    if (kind_of(in) == BAR_GROUP) return group_wait(m, w);
    bool counted = in->x & BAR_COUNTED;
    if (!uniform_operands(m, w, &id, &threads)) return STOP_FAULT;
    if (id > 15 || (counted && (threads == 0 || threads % LANES))) {
        fault_raise(m, w, in, ALL_LANES, EMU_LAUNCH_ERROR,
                    id > 15 ? "barrier %u, but there are 16 (0 to 15)"
                            : "barrier %u with a thread count (%u) that is no multiple of 32",
                    id, threads);
        return STOP_FAULT;
    }
    Barrier *b = &m->barrier[id];
    if (id == 0) note_different(m, w, in, b);
    b->arrived |= 1u << w->index;
    m->block->barriers_met |= 1u << id;
    if (counted) b->expected = threads / LANES;
    if (w->live != w->exist) b->after_exit = true;
    for (int i = 0; i < w->n_path; i++) {
        if (!waits(&w->s.path[i])) continue;
        note_leavers(m, w, &w->s.path[i]);
        bring(w, &w->s.path[i], b);
    }
    if (kind_of(in) == BAR_ARRIVE) barrier_leave(w, b);
    else w->state = WARP_WAITING, w->barrier = (int)id;
    if (complete(m, b)) release(m, (int)id);
    return w->state == WARP_WAITING ? STOP_WAIT : STOP_NOT;
}

Stop barrier_reach(Machine *m, Warp *w, const Ins *in) {
    if (w->active != w->live) return warp_block(m, w, in, PATH_AT_BARRIER, NULL);
    Path *p = &w->s.path[w->n_path - 1];
    p->wait = PATH_AT_BARRIER;
    p->live = w->live;
    p->pc = (int)(in - w->code->ins);
    return barrier_arrive(m, w);
}
