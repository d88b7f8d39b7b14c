/* warp.c - which lanes run what: masks, divergence, calls, barriers.
**
** A warp holds a stack of paths. The last one runs; where a branch splits it, the lanes that reach
** the reconvergence point first wait there in the entry below:
**
**     before        branch at B, meets at R        one side done      both done
**     [all →]       [all, at R]                    [all, at R]        [all →]
**                   [taken, at T, until R]         [taken →, until R]
**                   [others →, until R]
**
** A path that already ends at R is split in place, so a loop that lanes leave one by one needs two
** entries, not one per iteration. A call puts a frame with its own register file on the frame
** stack; its lanes are the last path's, and the function ends when no path above it has lanes.
*/
#include "emu/core.h"

#include <stdlib.h>
#include <string.h>

static void push_path(Warp *w, uint32_t mask, int pc, int rpc) {
    gi_grow(w->s.path, w->n_path, w->s.cap_path);
    w->s.path[w->n_path++] = (Path){mask, pc, rpc};
}

/* Runs the last path. */
static void enter_path(Warp *w) {
    const Path *p = &w->s.path[w->n_path - 1];
    w->pc = p->pc;
    w->active = p->mask;
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
    if (target != rpc) push_path(w, taken, target, rpc);
    if (next != rpc) push_path(w, others, next, rpc);
    enter_path(w);
}

/* Drops paths whose lanes are all gone, down to the running function's first. */
static bool drop_empty(Warp *w) {
    int first = w->s.frame[w->depth].first_path;
    while (w->n_path > first && w->s.path[w->n_path - 1].mask == 0) w->n_path--;
    return w->n_path > first;
}

static bool leave_function(Machine *m, Warp *w);

void warp_next_path(Warp *w) {
    w->n_path--;
    drop_empty(w); /* lanes that waited at the meeting point are never all gone: one just came */
    enter_path(w);
}

/* --- indirect branches --- */

static uint32_t lanes_equal(const Warp *w, const U32 *row, uint32_t value) {
    uint32_t mask = 0;
    for (int i = 0; i < LANES; i++) mask |= (uint32_t)(row[i] == value) << i;
    return mask & w->active;
}

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
    if (lanes_equal(w, index, lane0) == left) {
        w->pc = jump[lane0];
        return true;
    }
    int rpc = (int)in->c;
    m->result->divergent_branches++;
    uint32_t all = w->active;
    wait_at(w, rpc);
    for (left = all; left;) {
        uint32_t value = index[__builtin_ctz(left)], mask = lanes_equal(w, index, value);
        if (jump[value] != rpc) push_path(w, mask, jump[value], rpc);
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

/* Local memory of the running function: 0xff, so that reading what was never written shows. */
static bool open_local(Machine *m, Warp *w, Frame *f) {
    uint32_t base = (w->local_top + 15) & ~15u, top = base + f->code->local_bytes;
    size_t rows = (size_t)(top + 3) / 4 * ROW32, old = (size_t)base / 4 * ROW32;
    size_t want = rows > w->s.local_cap && w->s.local_cap ? rows + rows / 2 : rows;
    if (!reserve(&w->s.local, &w->s.local_cap, want)) return false;
    if (rows > old) memset(w->s.local + old, 0xff, rows - old);
    f->local_base = base;
    w->local_top = top;
    if (m->shadow) shadow_local_frame(m, w, base, top);
    return true;
}

static bool open_frame(Machine *m, Warp *w, Frame *f, Code *code) {
    size_t cap = f->file_cap;
    if (code->file_bytes > cap) f->filled_for = NULL;
    if (!reserve(&f->file, &cap, code->file_bytes)) return false;
    f->file_cap = (uint32_t)cap;
    if (!reserve(&f->params, &f->params_cap, (size_t)code->param_bytes * LANES)) return false;
    f->code = code;
    for (int i = 0; i < code->n_clear; i++)
        memset(f->file + code->clear[i].offset, 0, code->clear[i].bytes);
    fill_pool(m, w, f);
    if (!open_local(m, w, f)) return false;
    f->first_path = w->n_path;
    return true;
}

static void run_frame(Warp *w) {
    w->file = w->s.frame[w->depth].file;
    w->code = w->s.frame[w->depth].code;
}

static Frame *frame_at(Warp *w, int depth) {
    while (depth >= w->s.cap_frame) {
        int cap = w->s.cap_frame ? w->s.cap_frame * 2 : 4;
        w->s.frame = gi_realloc(w->s.frame, (size_t)cap * sizeof *w->s.frame);
        memset(w->s.frame + w->s.cap_frame, 0, (size_t)(cap - w->s.cap_frame) * sizeof *w->s.frame);
        w->s.cap_frame = cap;
    }
    return &w->s.frame[depth];
}

bool warp_begin(Machine *m, Warp *w, Code *entry) {
    if (m->n_spare > 0) w->s = m->spare[--m->n_spare];
    w->begun = true;
    w->n_path = w->depth = 0;
    w->local_top = 0;
    w->clock = 0;
    w->carry = 0;
    w->waited_red = false;
    if (!open_frame(m, w, frame_at(w, 0), entry)) return false;
    push_path(w, w->exist, 0, END_OF_FUNCTION);
    enter_path(w);
    run_frame(w);
    return true;
}

void warp_store_free(WarpStore *s) {
    for (int i = 0; i < s->cap_frame; i++) {
        free(s->frame[i].file);
        free(s->frame[i].params);
    }
    free(s->frame);
    free(s->path);
    free(s->local);
    *s = (WarpStore){0};
}

/* --- calls --- */

/* Copies parameters lane by lane between the areas of two frames. */
static void copy_params(const Warp *w, uint32_t mask, const Frame *from, const uint32_t *from_at,
                        const Frame *to, const uint32_t *to_at, const uint32_t *size, int n) {
    (void)w;
    for (; mask; mask &= mask - 1) {
        size_t i = (size_t)__builtin_ctz(mask);
        const uint8_t *source = from->params + i * from->code->param_bytes;
        uint8_t *target = to->params + i * to->code->param_bytes;
        for (int k = 0; k < n; k++) memcpy(target + to_at[k], source + from_at[k], size[k]);
    }
}

static bool stack_overflow(Machine *m, Warp *w, const Ins *in, const Code *callee) {
    double used = w->local_top;
    for (int i = 0; i <= w->depth; i++) used += w->s.frame[i].code->param_bytes + 16.0;
    used += callee->local_bytes + callee->param_bytes + 16.0;
    if (used <= m->model->local_per_thread) return false;
    fault_raise(m, w, in, -1, EMU_LAUNCH_ERROR,
                "stack overflow: call of %s at depth %d needs %.0f bytes of stack a thread, and "
                "there are %.0f",
                callee->func->name, w->depth + 1, used, m->model->local_per_thread);
    return true;
}

static bool call_code(Machine *m, Warp *w, const Ins *in, Code *callee) {
    const CallForm *f = &w->code->call[in->imm];
    if (stack_overflow(m, w, in, callee)) return false;
    int pc = (int)(in - w->code->ins);
    Frame *frame = frame_at(w, w->depth + 1);
    uint32_t lanes = w->active;
    if (!open_frame(m, w, frame, callee))
        return fault_raise(m, w, in, -1, EMU_OUT_OF_MEMORY, "no host memory for a stack frame");
    frame->return_pc = pc + 1;
    frame->call = (int)in->imm;
    copy_params(w, lanes, &w->s.frame[w->depth], f->arg, frame, callee->formal, f->arg_size,
                f->n_args);
    w->depth++;
    push_path(w, lanes, 0, END_OF_FUNCTION);
    enter_path(w);
    run_frame(w);
    return true;
}

/* The function an address stands for, when it fits the call's parameters. */
static Code *indirect_callee(Machine *m, Warp *w, const Ins *in, int lane, uint64_t address) {
    const CallForm *f = &w->code->call[in->imm];
    uint64_t index = (address - WINDOW(ID_FUNC)) / 16;
    bool is_function = address >> ID_SHIFT == ID_FUNC && address % 16 == 0 &&
                       index < (uint64_t)m->mod->n_code && m->mod->code[index].ins &&
                       !m->mod->code[index].func->is_entry;
    Code *callee = is_function ? &m->mod->code[index] : NULL;
    bool fits = callee && callee->func->n_params == f->n_args && callee->func->n_rets == f->n_rets;
    for (int k = 0; fits && k < f->n_args; k++) fits = callee->formal_size[k] == f->arg_size[k];
    for (int k = 0; fits && k < f->n_rets; k++) fits = callee->result_size[k] == f->ret_size[k];
    if (fits) return callee;
    fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR,
                callee ? "indirect call of a function with other parameters (0x%llx)"
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

/* No lane of the running function is left: back to the caller, with its live lanes. */
static bool leave_function(Machine *m, Warp *w) {
    if (w->depth == 0) {
        w->live = w->active = 0;
        return true;
    }
    (void)m;
    Frame *callee = &w->s.frame[w->depth], *caller = &w->s.frame[w->depth - 1];
    const CallForm *f = &caller->code->call[callee->call];
    uint32_t lanes = w->s.path[w->n_path - 1].mask & w->live;
    copy_params(w, lanes, callee, callee->code->result, caller, f->ret, f->ret_size, f->n_rets);
    w->local_top = callee->local_base;
    w->depth--;
    w->s.path[w->n_path - 1].pc = callee->return_pc;
    run_frame(w);
    return false;
}

/* After lanes were taken out of paths: goes on wherever lanes are left. */
static bool go_on(Machine *m, Warp *w) {
    while (!drop_empty(w))
        if (leave_function(m, w)) return true;
    enter_path(w);
    return false;
}

bool warp_return(Machine *m, Warp *w) {
    if (w->depth == 0) return warp_exit(m, w);
    for (int i = w->s.frame[w->depth].first_path; i < w->n_path; i++)
        w->s.path[i].mask &= ~w->active;
    return go_on(m, w);
}

bool warp_exit(Machine *m, Warp *w) {
    for (int i = 0; i < w->n_path; i++) w->s.path[i].mask &= ~w->active;
    w->live &= ~w->active;
    return go_on(m, w);
}

double warp_clock(const Warp *w, const Ins *in) {
    return w->clock + (double)w->code->place[in - w->code->ins].clock;
}

/* --- barriers --- */

enum { BAR_ARRIVE = 1, BAR_RED_POPC, BAR_RED_AND, BAR_RED_OR };

static void release(Machine *m, int id) {
    Barrier *b = &m->barrier[id];
    double clock = 0;
    uint32_t warps = 0;
    for (int i = 0; i < m->n_warps; i++) {
        Warp *w = &m->warp[i];
        if (w->state != WARP_WAITING || w->barrier != id) continue;
        warps |= 1u << i;
        if (w->clock > clock) clock = w->clock;
    }
    for (int i = 0; i < m->n_warps; i++) {
        Warp *w = &m->warp[i];
        if (!(warps >> i & 1)) continue;
        w->state = WARP_READY;
        w->clock = clock + m->model->latency_barrier;
        if (!w->waited_red) continue;
        w->waited_red = false;
        uint32_t all = w->red_kind == BAR_RED_AND ? b->red_count == b->red_total : b->red_count > 0;
        if (w->red_kind != BAR_RED_POPC) pred_set(w, w->red_dest, all ? FULL_MASK : 0, w->active);
        else
            for (uint32_t left = w->active; left; left &= left - 1)
                ((U32 *)(void *)row_at(w, w->red_dest))[__builtin_ctz(left)] = b->red_count;
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
    uint32_t ended = 0;
    for (int i = 0; i < m->n_warps; i++) ended += m->warp[i].state == WARP_DONE;
    if (ended) b->after_exit = true;
    return arrived + ended >= (uint32_t)m->n_warps;
}

void warp_ended(Machine *m, Warp *w) {
    w->state = WARP_DONE;
    m->spare[m->n_spare++] = w->s;
    w->s = (WarpStore){0};
    for (uint32_t met = m->barriers_met; met; met &= met - 1) {
        int id = __builtin_ctz(met);
        if (m->barrier[id].arrived && complete(m, &m->barrier[id])) release(m, id);
    }
}

static bool diverged_barrier(Machine *m, Warp *w, const Ins *in) {
    char there[120], missing[120];
    if (w->active == w->live) return false;
    fault_lanes(w->active, there, sizeof there);
    fault_lanes(w->live & ~w->active, missing, sizeof missing);
    fault_raise(m, w, in, -1, EMU_LAUNCH_ERROR,
                "barrier reached by only part of the warp: %s, without %s", there, missing);
    return true;
}

/* Barrier number and thread count must be the same in all lanes. */
static bool uniform_operand(Machine *m, Warp *w, const Ins *in, uint32_t offset, uint32_t *value) {
    const U32 *row = (const U32 *)(const void *)row_at(w, offset);
    *value = row[__builtin_ctz(w->active)];
    for (uint32_t left = w->active; left; left &= left - 1)
        if (row[__builtin_ctz(left)] != *value)
            return fault_raise(m, w, in, __builtin_ctz(left), EMU_LAUNCH_ERROR,
                               "barrier with operands that differ between lanes");
    return true;
}

Stop warp_barrier(Machine *m, Warp *w, const Ins *in) {
    uint32_t id, threads;
    int kind = in->x & 15;
    bool counted = in->x >> 4 & 1;
    if (diverged_barrier(m, w, in)) return STOP_FAULT;
    if (!uniform_operand(m, w, in, in->a, &id) || !uniform_operand(m, w, in, in->b, &threads))
        return STOP_FAULT;
    if (id > 15 || (counted && (threads == 0 || threads % LANES))) {
        fault_raise(m, w, in, -1, EMU_LAUNCH_ERROR,
                    id > 15 ? "barrier %u, but there are 16 (0 to 15)"
                            : "barrier %u with a thread count (%u) that is no multiple of 32",
                    id, threads);
        return STOP_FAULT;
    }
    Barrier *b = &m->barrier[id];
    b->arrived |= 1u << w->index;
    m->barriers_met |= 1u << id;
    if (counted) b->expected = threads / LANES;
    if (w->live != w->exist) b->after_exit = true;
    if (kind >= BAR_RED_POPC) {
        uint32_t p = pred_at(w, in->c) ^ (in->x >> 5 & 1 ? FULL_MASK : 0);
        b->red_count += (uint32_t)__builtin_popcount(p & w->active);
        b->red_total += (uint32_t)__builtin_popcount(w->active);
        w->waited_red = true;
        w->red_dest = in->d;
        w->red_kind = kind;
    }
    if (kind != BAR_ARRIVE) w->state = WARP_WAITING, w->barrier = (int)id;
    if (complete(m, b)) release(m, (int)id);
    return w->state == WARP_WAITING ? STOP_WAIT : STOP_YIELD;
}
