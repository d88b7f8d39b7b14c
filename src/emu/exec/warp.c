/* warp.c - which lanes run what: masks, divergence, calls.
**
** A warp holds a list of paths. The last one runs; where a branch splits it, the lanes that reach
** the reconvergence point first wait there in the entry below:
**
**     before        branch at B, meets at R        one side done      both done
**     [all →]       [all, at R]                    [all, at R]        [all →]
**                   [taken, at T, until R]         [taken →, until R]
**                   [others →, until R]
**
** A path that already ends at R is split in place, so a loop that lanes leave one by one needs two
** entries, not one per iteration. A call puts a frame with its own register file in the tree of
** frames and a path in that frame above the caller's, which waits at the return address.
**
** So a lane is in several paths; the last of them is where it is. The lanes of a path that are in
** none above it (its rest) have come to where the path is: they wait there only for company, and
** whatever path has a rest can be given the warp (a GPU since Volta does as much). That happens
** when the running path must wait for lanes that are elsewhere (sync.c, barrier.c), and when it
** spins (turns.c): the rest of the lowest path that can go on leaves it and becomes the last
** path. All lanes get their turn so, and in a kernel whose lanes never wait for each other nothing
** changes.
*/
#include "emu/exec/matrix_group.h"
#include "emu/core.h"
#include "emu/cost/waits.h"
#include "emu/decode/ops.h"
#include "emu/check/undefined.h"
#include "emu/exact/exact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the list of paths --- */

static inline Path *add_path(Warp *w) {
    gi_grow(w->s.path, w->n_path, w->s.cap_path);
    return &w->s.path[w->n_path++];
}

static inline void push_going(Warp *w, uint32_t mask, int pc, int rpc) {
    Path *p = add_path(w);
    p->mask = mask;
    p->pc = pc;
    p->rpc = rpc;
    p->frame = w->frame;
    p->wait = PATH_GOES;
    p->in_vain = false;
}

static void remove_path(Warp *w, int i) {
    Path *p = &w->s.path[i];
    memmove(p, p + 1, (size_t)(--w->n_path - i) * sizeof *p);
}

static void run_frame(Warp *w, int frame) {
    const Frame *f = &w->s.frame[frame];
    w->frame = frame;
    w->file = f->file;
    w->code = f->code;
    w->local_top = f->local_top;
}

static inline void look(Warp *w, const Path *p) {
    w->pc = p->pc;
    w->active = p->mask;
    if (p->frame != w->frame) run_frame(w, p->frame);
}

void warp_look(Warp *w, const Path *p) {
    look(w, p);
}

/* Runs the last path. */
static inline void enter_path(Warp *w) {
    look(w, &w->s.path[w->n_path - 1]);
}

void warp_enter(Warp *w) {
    enter_path(w);
}

/* Readies the running path to be split into paths that meet at rpc. */
static void wait_at(Warp *w, int rpc) {
    Path *p = &w->s.path[w->n_path - 1];
    if (p->rpc == rpc) w->n_path--;
    else p->pc = rpc;
}

void warp_diverge(Machine *m, Warp *w, uint32_t taken, int target, int next, int rpc) {
    uint32_t others = w->active & ~taken;
    m->result->divergent_branches++;
    wait_at(w, rpc);
    if (target != rpc) push_going(w, taken, target, rpc);
    if (next != rpc) push_going(w, others, next, rpc);
    enter_path(w);
}

uint32_t warp_rest(const Warp *w, int i) {
    uint32_t above = 0;
    for (int k = i + 1; k < w->n_path; k++) above |= w->s.path[k].mask;
    return w->s.path[i].mask & ~above;
}

static bool can_go_on(const Warp *w, int i) {
    const Path *p = &w->s.path[i];
    if (warp_rest(w, i) == 0 || p->wait == PATH_AT_BARRIER) return false;
    return p->wait == PATH_GOES || sync_complete(w, p);
}

/* The lowest of the first n paths with lanes that can go on; -1: none. */
static int find_turn(const Warp *w, int n, TurnOf whose) {
    int i = 0;
    while (i < n && ((whose == TURN_FRESH && w->s.path[i].in_vain) || !can_go_on(w, i))) i++;
    return i < n ? i : -1;
}

/* The rest of path i becomes the last path, and runs. Where it waited with others for a matrix
** instruction, that may be a fault. */
static void give_turn(Machine *m, Warp *w, int i) {
    if (w->s.path[i].wait == PATH_AT_SYNC) sync_meet(m, w, &w->s.path[i]);
    Path p = w->s.path[i];
    p.mask = warp_rest(w, i);
    p.in_vain = false;
    if (p.mask == w->s.path[i].mask) remove_path(w, i);
    else w->s.path[i].mask &= ~p.mask;
    *add_path(w) = p;
    enter_path(w);
}

/* No path can go on: either all are at a barrier, or they wait for what never comes. */
static Stop all_wait(Machine *m, Warp *w) {
    if (barrier_together(w)) return barrier_arrive(m, w);
    const Path *first = NULL;
    for (int i = w->n_path - 1; i >= 0; i--) {
        const Path *p = &w->s.path[i];
        if (p->mask && p->wait && (first == NULL || p->wait <= first->wait)) first = p;
    }
    look(w, first);
    if (first->wait == PATH_AT_SYNC) sync_split(m, w, first);
    else barrier_split(m, w, first);
    return STOP_FAULT;
}

/* Does the code at pc do nothing but return? */
static bool only_returns(const Code *code, int pc) {
    for (int steps = 0; steps < 8; steps++) {
        const Ins *in = &code->ins[pc];
        if (in->op == OP_BRA) pc = (int)in->d;
        else if (in->op == OP_BLOCK || in->op == OP_JOIN) pc++;
        else return in->op == OP_RET || in->op == OP_EXIT;
    }
    return false;
}

/* Lanes that came to where others shall join them, to return from the kernel, have nothing left to
** do: they have ended, and nobody waits for them. */
static void retire(Warp *w) {
    uint32_t gone = 0;
    for (int i = 0; i < w->n_path; i++) {
        const Path *p = &w->s.path[i];
        if (p->frame == 0 && p->wait == PATH_GOES && p->mask &&
            only_returns(w->s.frame[0].code, p->pc))
            gone |= warp_rest(w, i);
    }
    for (int i = 0; i < w->n_path; i++) {
        w->s.path[i].mask &= ~gone;
        w->s.path[i].live &= ~gone;
    }
    w->live &= ~gone;
}

/* The last path waits: gives the turn to another. Seldom, and kept out of go_on's way. */
static Stop go_elsewhere(Machine *m, Warp *w) __attribute__((noinline));

static Stop go_elsewhere(Machine *m, Warp *w) {
    retire(w);
    int i = find_turn(w, w->n_path, TURN_ANY);
    if (i < 0) return all_wait(m, w);
    give_turn(m, w, i);
    return m->ended ? STOP_FAULT : STOP_NOT;
}

/* The last path has come to its end, or waits: goes on wherever lanes are left. */
static inline Stop go_on(Machine *m, Warp *w) {
    while (w->n_path > 0 && w->s.path[w->n_path - 1].mask == 0) w->n_path--;
    if (w->n_path == 0) {
        w->live = w->active = 0;
        return STOP_DONE;
    }
    if (w->s.path[w->n_path - 1].wait) return go_elsewhere(m, w);
    enter_path(w);
    return STOP_NOT;
}

Stop warp_next_path(Machine *m, Warp *w) {
    w->n_path--;
    return go_on(m, w);
}

bool warp_rotate(Machine *m, Warp *w, TurnOf whose) {
    Path *last = &w->s.path[w->n_path - 1];
    last->pc = w->pc;
    last->in_vain = true;
    for (int i = 0; i < w->n_path && whose == TURN_ANY; i++) w->s.path[i].in_vain = false;
    int i = find_turn(w, w->n_path - 1, whose);
    if (i < 0) return false;
    give_turn(m, w, i);
    return true;
}

/* Who spins sees the same things again and again, be they few or one. */
void warp_saw(Warp *w, const Ins *in, uint64_t what, PtxSpace space, uint64_t at) {
    uint64_t hash = (what ^ w->active ^ (uint64_t)(in - w->code->ins) << 32) * 0x9e3779b97f4a7c15u;
    uint64_t *set = w->seen[hash >> 59];
    w->asked = w->saw = true;
    w->saw_in = space;
    w->saw_at = at;
    for (int k = 0; k < 4; k++)
        if (set[k] == hash) return;
    memmove(set + 1, set, 3 * sizeof *set);
    set[0] = hash;
    w->news = true;
}

/* --- waiting for lanes that are elsewhere --- */

uint32_t warp_lanes_equal(const Warp *w, const U32 *row, uint32_t value) {
    uint32_t mask = 0;
    if (row_is(row, value)) return w->active;
    for (int i = 0; i < LANES; i++) mask |= (uint32_t)(row[i] == value) << i;
    return mask & w->active;
}

/* Pushes a path that waits, one with those that wait there already and end where it does. */
static void push_waiting(Warp *w, Path p) {
    for (int i = 0; i < w->n_path; i++) {
        const Path *q = &w->s.path[i];
        if (q->wait != p.wait || q->pc != p.pc || q->rpc != p.rpc || q->frame != p.frame ||
            q->meets != p.meets || q->mask == 0)
            continue;
        p.mask |= q->mask;
        p.live |= q->live;
        remove_path(w, i);
        break;
    }
    *add_path(w) = p;
}

Stop warp_block(Machine *m, Warp *w, const Ins *in, PathWait wait, const U32 *masks) {
    Path p = w->s.path[w->n_path - 1];
    p.pc = (int)(in - w->code->ins);
    p.wait = wait;
    p.live = w->live;
    uint32_t left = p.mask;
    w->n_path--;
    while (left) {
        p.meets = masks ? masks[__builtin_ctz(left)] : 0;
        p.mask = masks ? warp_lanes_equal(w, masks, p.meets) : left;
        left &= ~p.mask;
        push_waiting(w, p);
    }
    return go_on(m, w);
}

/* --- indirect branches --- */

bool warp_switch(Machine *m, Warp *w, const Ins *in) {
    const U32 *index = (const U32 *)(const void *)row_at(w, in->a);
    uint32_t count = (uint32_t)(in->imm >> 32), left = w->active;
    int first = (int)(uint32_t)in->imm;
    for (uint32_t bad = left; bad; bad &= bad - 1) {
        int i = __builtin_ctz(bad);
        if (index[i] >= count)
            return fault_raise(m, w, in, i, EMU_LAUNCH_ERROR,
                               "brx.idx with index %u, but its table has %u targets", index[i],
                               count);
    }
    const int *jump = w->code->jump + first;
    uint32_t lane0 = index[__builtin_ctz(left)];
    if (warp_lanes_equal(w, index, lane0) == left) {
        w->pc = jump[lane0];
        return true;
    }
    int rpc = (int)in->c;
    m->result->divergent_branches++;
    uint32_t all = w->active;
    wait_at(w, rpc);
    for (left = all; left;) {
        uint32_t value = index[__builtin_ctz(left)], mask = warp_lanes_equal(w, index, value);
        if (jump[value] != rpc) push_going(w, mask, jump[value], rpc);
        left &= ~mask;
    }
    enter_path(w);
    return true;
}

/* --- frames --- */

static void fill_row32(uint8_t *row, uint32_t value) {
    U32 *d = (U32 *)(void *)row;
    for (int i = 0; i < LANES; i++) d[i] = value;
}

static uint64_t wide_value(const Machine *m, const PoolRow *row) {
    uint64_t value = row->value;
    if (row->kind == POOL_CONST64) memcpy(&value, (const void *)(uintptr_t)row->value, 8);
    if (row->kind == POOL_PARAM64) memcpy(&value, m->params + row->value, 8);
    if (row->kind == POOL_SHARED_WIDE) value += m->dynamic_base;
    return value;
}

static uint32_t uniform_value(const Machine *m, const Warp *w, const PoolRow *row) {
    const EmuLaunch *l = m->launch;
    PoolKind kind = row->kind;
    uint32_t value;
    switch (kind) {
    case POOL_B32: return (uint32_t)row->value;
    case POOL_CONST32: memcpy(&value, (const void *)(uintptr_t)row->value, 4); return value;
    case POOL_PARAM32: memcpy(&value, m->params + row->value, 4); return value;
    case POOL_WARPID: return (uint32_t)w->index;
    case POOL_NWARPID: return (uint32_t)(m->model->max_threads_per_sm / 32);
    case POOL_NTID_X:
    case POOL_NTID_Y:
    case POOL_NTID_Z: return l->block[kind - POOL_NTID_X];
    case POOL_NCTAID_X:
    case POOL_NCTAID_Y:
    case POOL_NCTAID_Z: return l->grid[kind - POOL_NCTAID_X];
    case POOL_CTAID_X:
    case POOL_CTAID_Y:
    case POOL_CTAID_Z: return m->ctaid[kind - POOL_CTAID_X];
    case POOL_SMID: return m->smid;
    case POOL_NSMID: return (uint32_t)m->model->sms;
    case POOL_DYNAMIC_SMEM: return (uint32_t)l->shared_bytes;
    case POOL_TOTAL_SMEM: return m->shared_bytes;
    case POOL_WORKSPACE_LOW: return l->cooperative ? (uint32_t)m->emu->workspace : 0;
    case POOL_WORKSPACE_HIGH: return l->cooperative ? (uint32_t)(m->emu->workspace >> 32) : 0;
    case POOL_CLUSTERID_X:
    case POOL_CLUSTERID_Y:
    case POOL_CLUSTERID_Z:
        return m->ctaid[kind - POOL_CLUSTERID_X] / m->cluster[kind - POOL_CLUSTERID_X];
    case POOL_NCLUSTERID_X:
    case POOL_NCLUSTERID_Y:
    case POOL_NCLUSTERID_Z:
        return l->grid[kind - POOL_NCLUSTERID_X] / m->cluster[kind - POOL_NCLUSTERID_X];
    case POOL_CLUSTER_CTAID_X:
    case POOL_CLUSTER_CTAID_Y:
    case POOL_CLUSTER_CTAID_Z:
        return m->ctaid[kind - POOL_CLUSTER_CTAID_X] % m->cluster[kind - POOL_CLUSTER_CTAID_X];
    case POOL_CLUSTER_NCTAID_X:
    case POOL_CLUSTER_NCTAID_Y:
    case POOL_CLUSTER_NCTAID_Z: return m->cluster[kind - POOL_CLUSTER_NCTAID_X];
    case POOL_CLUSTER_RANK: return m->block->rank;
    case POOL_CLUSTER_SIZE: return (uint32_t)m->cluster_size;
    case POOL_CLUSTER_EXPLICIT: return m->has_clusters;
    case POOL_RESERVED: return RESERVED_AT;
    case POOL_RESERVED_END: return RESERVED_AT + RESERVED_BYTES;
    default: return 0;
    }
}

static uint32_t lane_value(const Machine *m, const Warp *w, PoolKind kind, uint32_t lane) {
    const unsigned *b = m->launch->block;
    unsigned t = (unsigned)w->index * LANES + lane;
    switch (kind) {
    case POOL_TID_X: return t % b[0];
    case POOL_TID_Y: return t / b[0] % b[1];
    case POOL_TID_Z: return t / b[0] / b[1];
    case POOL_LANEID: return lane;
    case POOL_LANEMASK_EQ: return 1u << lane;
    case POOL_LANEMASK_LE: return FULL_MASK >> (31 - lane);
    case POOL_LANEMASK_LT: return ~(FULL_MASK << lane);
    case POOL_LANEMASK_GE: return FULL_MASK << lane;
    default: return ~(FULL_MASK >> (31 - lane)); /* POOL_LANEMASK_GT */
    }
}

static bool is_per_lane(PoolKind k) {
    return (k >= POOL_TID_X && k <= POOL_LANEID) ||
           (k >= POOL_LANEMASK_EQ && k <= POOL_LANEMASK_GT);
}

static void fill_pool_row(const Machine *m, const Warp *w, uint8_t *file, const PoolRow *row) {
    uint8_t *at = file + row->offset;
    if (pool_is_wide(row->kind)) {
        uint64_t value = wide_value(m, row);
        for (int i = 0; i < LANES; i++) ((U64 *)(void *)at)[i] = value;
    } else if (row->kind == POOL_TID_X && m->launch->block[0] >= (unsigned)m->threads) {
        for (uint32_t i = 0; i < LANES; i++)
            ((U32 *)(void *)at)[i] = (uint32_t)w->index * LANES + i;
    } else if (is_per_lane(row->kind)) {
        for (uint32_t i = 0; i < LANES; i++)
            ((U32 *)(void *)at)[i] = lane_value(m, w, row->kind, i);
    } else if (row->kind == POOL_SHARED_DYNAMIC) {
        fill_row32(at, m->dynamic_base + (uint32_t)row->value);
    } else {
        fill_row32(at, uniform_value(m, w, row));
    }
}

static void fill_pool(const Machine *m, const Warp *w, Frame *f) {
    const Code *code = f->code;
    bool known = f->filled_for == code && f->filled_launch == m->serial;
    int n = known ? code->n_moving : code->n_pool;
    for (int i = 0; i < n; i++) fill_pool_row(m, w, f->file, &code->pool[i]);
    f->filled_for = code;
    f->filled_launch = m->serial;
}

static bool reserve(uint8_t **p, size_t *cap, size_t need) {
    if (need <= *cap) return true;
    size_t rounded = (need + 63) / 64 * 64;
    uint8_t *grown = aligned_alloc(64, rounded);
    if (grown == NULL) return false;
    memset(grown, 0, rounded);
    if (*p) memcpy(grown, *p, *cap);
    free(*p);
    *p = grown;
    *cap = rounded;
    return true;
}

/* Local memory from base to top: 0xff, so that reading what was never written shows. Lanes that are
** not active may have other things there. Room up to top is needed where there is nothing to fill,
** too: base may lie above the frame before, which was aligned. */
static bool fill_local(Machine *m, Warp *w, uint32_t base, uint32_t top) {
    size_t rows = (size_t)(top + 3) / 4 * ROW32, old = (size_t)base / 4 * ROW32;
    size_t want = rows > w->s.local_cap && w->s.local_cap ? rows + rows / 2 : rows;
    if (!reserve(&w->s.local, &w->s.local_cap, want)) return false;
    if (w->active == w->live && rows > old) memset(w->s.local + old, 0xff, rows - old);
    else
        for (U32 *row = (U32 *)(void *)(w->s.local + old); old < rows; old += ROW32, row += LANES)
            for (uint32_t k = w->active; k; k &= k - 1) row[__builtin_ctz(k)] = 0xffffffff;
    if (m->shadow) shadow_local_frame(m, w, base, top);
    if (m->launch->exact) exact_local(w, base, top);
    return true;
}

static bool open_local(Machine *m, Warp *w, Frame *f) {
    f->local_base = (w->local_top + 15) & ~15u;
    f->local_top = f->local_base + f->code->local_bytes;
    return fill_local(m, w, f->local_base, f->local_top);
}

static bool open_frame(Machine *m, Warp *w, Frame *f, Code *code) {
    size_t cap = f->file_cap;
    if (code->file_bytes > cap) f->filled_for = NULL;
    if (!reserve(&f->file, &cap, code->file_bytes)) return false;
    f->file_cap = (uint32_t)cap;
    if (!reserve(&f->params, &f->params_cap, (size_t)code->param_bytes * LANES)) return false;
    f->code = code;
    for (int i = 0; i < code->n_clear; i++)
        memset(f->file + code->clear[i].offset, 0xff, code->clear[i].bytes);
    fill_pool(m, w, f);
    if (m->follows) undefined_open(m, f);
    if (m->launch->exact) exact_open(m, f);
    return open_local(m, w, f);
}

/* Makes room for frame i. */
static Frame *frame_at(Warp *w, int i) {
    while (i >= w->s.cap_frame) {
        int cap = w->s.cap_frame ? w->s.cap_frame * 2 : 4;
        w->s.frame = gi_realloc(w->s.frame, (size_t)cap * sizeof *w->s.frame);
        memset(w->s.frame + w->s.cap_frame, 0, (size_t)(cap - w->s.cap_frame) * sizeof *w->s.frame);
        w->s.cap_frame = cap;
    }
    return &w->s.frame[i];
}

enum { NEAR_FRAMES = 4 }; /* in which a call looks for constants of its own */

static bool is_in_frame(const Warp *w, int frame) {
    for (int i = 0; i < w->n_path; i++)
        if (w->s.path[i].frame == frame) return true;
    return false;
}

/* A frame that no path is in: best one that has this code's constants still, from the last call;
** else one that has nobody's; else the first. */
static int free_frame(Warp *w, const Code *code, uint64_t launch) {
    int first = -1, fresh = -1, from = w->frame + 1;
    for (int i = from; i < from + NEAR_FRAMES || first < 0; i++) {
        if (is_in_frame(w, i)) continue;
        const Frame *f = frame_at(w, i);
        if (f->filled_for == code && f->filled_launch == launch) return i;
        if (fresh < 0 && f->filled_for == NULL) fresh = i;
        if (first < 0) first = i;
    }
    return fresh >= 0 ? fresh : first;
}

/* The kernel is called, or a function by the active lanes. */
static void begin_frame(Warp *w, int frame) {
    run_frame(w, frame);
    push_going(w, w->active, 0, END_OF_FUNCTION);
    enter_path(w);
}

bool warp_begin(Machine *m, Warp *w, Code *entry) {
    if (m->n_spare > 0) w->s = m->spare[--m->n_spare];
    if (w->s.copies) copies_begin(w->s.copies);
    groups_begin(w->s.groups);
    w->begun = true;
    w->active = w->exist;
    w->n_path = 0;
    w->local_top = 0;
    w->clock = w->late = 0;
    w->n_waits = 0;
    w->spots = NULL;
    w->carry = 0;
    if (!open_frame(m, w, frame_at(w, 0), entry)) return false;
    begin_frame(w, 0);
    return true;
}

void warp_store_free(WarpStore *s) {
    for (int i = 0; i < s->cap_frame; i++) {
        free(s->frame[i].file);
        free(s->frame[i].params);
        undefined_free(&s->frame[i]);
        exact_close(&s->frame[i]);
    }
    exact_close_local(s);
    free(s->frame);
    free(s->path);
    free(s->local);
    copies_free(s->copies);
    groups_free(s->groups);
    *s = (WarpStore){0};
}

/* --- calls --- */

/* Most are words, for which it takes no call. */
static inline void copy_param(uint8_t *to, const uint8_t *from, uint32_t size) {
    if (size == 8) memcpy(to, from, 8);
    else if (size == 4) memcpy(to, from, 4);
    else memcpy(to, from, size);
}

/* Copies parameters lane by lane between the areas of two frames. */
static void copy_params(uint32_t mask, const Frame *from, const uint32_t *from_at,
                        const Frame *to, const uint32_t *to_at, const uint32_t *size, int n) {
    if (n == 0) return; /* there may be no areas */
    if (to->bits) undefined_pass(mask, from, from_at, to, to_at, size, n);
    if (to->exact) exact_pass(mask, from, from_at, to, to_at, size, n);
    for (; mask; mask &= mask - 1) {
        size_t i = (size_t)__builtin_ctz(mask);
        const uint8_t *source = from->params + i * from->code->param_bytes;
        uint8_t *target = to->params + i * to->code->param_bytes;
        for (int k = 0; k < n; k++) copy_param(target + to_at[k], source + from_at[k], size[k]);
    }
}

static bool call_code(Machine *m, Warp *w, const Ins *in, Code *callee) {
    const CallForm *f = &w->code->call[in->imm];
    if (stack_overflow(m, w, in, 0, callee)) return false;
    int index = free_frame(w, callee, m->serial);
    Frame *frame = &w->s.frame[index];
    if (!open_frame(m, w, frame, callee))
        return fault_raise(m, w, in, -1, EMU_OUT_OF_MEMORY, "no host memory for a stack frame");
    waits_all(w);
    frame->caller = w->frame;
    frame->call = (int)in->imm;
    copy_params(w->active, &w->s.frame[w->frame], f->arg, frame, callee->formal, f->arg_size,
                f->n_args);
    w->s.path[w->n_path - 1].pc = (int)(in - w->code->ins) + 1;
    begin_frame(w, index);
    return true;
}

bool warp_alloca(Machine *m, Warp *w, const Ins *in, uint64_t bytes, uint32_t align,
                 uint64_t *base) {
    uint64_t from = (w->local_top + (uint64_t)align - 1) & ~((uint64_t)align - 1);
    uint64_t most = (uint64_t)m->model->local_per_thread + 1;
    uint64_t to = from + (bytes < most ? bytes : most);
    if (stack_overflow(m, w, in, (double)(to - w->local_top), NULL)) return false;
    to = (to + 7) & ~(uint64_t)7;
    if (!fill_local(m, w, (uint32_t)(from & ~(uint64_t)3), (uint32_t)to))
        return fault_raise(m, w, in, -1, EMU_OUT_OF_MEMORY, "no host memory for an alloca");
    w->local_top = w->s.frame[w->frame].local_top = (uint32_t)to;
    *base = from;
    return true;
}

/* Lanes that are elsewhere may still have something there. */
void warp_stackrestore(Warp *w, uint64_t top) {
    Frame *f = &w->s.frame[w->frame];
    uint64_t least = f->local_base + f->code->local_bytes;
    if (w->active != w->live || top < least || top > f->local_top) return;
    w->local_top = f->local_top = (uint32_t)top;
}

/* The function an address stands for, when it fits the call's parameters. */
static Code *indirect_callee(Machine *m, Warp *w, const Ins *in, int lane, uint64_t address) {
    const CallForm *f = &w->code->call[in->imm];
    int index = module_func_at(m->mod, address);
    Code *callee = index >= 0 ? &m->mod->code[index] : NULL;
    if (callee && callee->refused) {
        fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR, "indirect call of %s, which is refused: %s",
                    callee->func->name, callee->refused);
        return NULL;
    }
    bool fits = callee && callee->func->n_params == f->n_args && callee->func->n_rets == f->n_rets;
    for (int k = 0; fits && k < f->n_args; k++) fits = callee->formal_size[k] == f->arg_size[k];
    for (int k = 0; fits && k < f->n_rets; k++) fits = callee->result_size[k] == f->ret_size[k];
    if (fits) return callee;
    fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR,
                callee ? "indirect call of a function with other parameters (0x%llx)"
                : address >> ID_SHIFT == ID_FUNC
                    ? "indirect call of a function of another module (0x%llx)"
                    : "indirect call of address 0x%llx, where no function is",
                (unsigned long long)address);
    return NULL;
}

bool warp_call(Machine *m, Warp *w, const Ins *in) {
    const CallForm *f = &w->code->call[in->imm];
    if (f->func >= 0) return call_code(m, w, in, &m->mod->code[f->func]);
    const U64 *row = (const U64 *)(const void *)row_at(w, f->target);
    int lane = __builtin_ctz(w->active), pc = (int)(in - w->code->ins);
    uint64_t address = row[lane];
    uint32_t same = 0;
    for (int i = 0; i < LANES; i++) same |= (uint32_t)(row[i] == address) << i;
    same &= w->active;
    if (same != w->active) { /* these lanes first; the others come back to this call */
        warp_diverge(m, w, w->active & ~same, pc, pc, pc + 1);
        return true;
    }
    Code *callee = indirect_callee(m, w, in, lane, address);
    return callee && call_code(m, w, in, callee);
}

/* The active lanes leave the running function, to wait where it was called. */
Stop warp_return(Machine *m, Warp *w) {
    if (w->frame == 0) return warp_exit(m, w);
    waits_all(w);
    const Frame *callee = &w->s.frame[w->frame], *caller = &w->s.frame[callee->caller];
    const CallForm *f = &caller->code->call[callee->call];
    copy_params(w->active, callee, callee->code->result, caller, f->ret, f->ret_size, f->n_rets);
    for (int i = 0; i < w->n_path; i++)
        if (w->s.path[i].frame == w->frame) w->s.path[i].mask &= ~w->active;
    return go_on(m, w);
}

Stop warp_exit(Machine *m, Warp *w) {
    for (int i = 0; i < w->n_path; i++) w->s.path[i].mask &= ~w->active;
    w->live &= ~w->active;
    return go_on(m, w);
}

double warp_clock(const Warp *w, const Ins *in) {
    return w->clock + (double)w->code->place[in - w->code->ins].clock;
}
