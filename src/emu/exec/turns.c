/* turns.c - who runs when.
**
** Blocks run in the order of their index (or backwards), one after the other; the warps of a block
** in turn, each for TURN warp instructions or until a barrier. More is needed where somebody waits
** by looking. A turn is in vain when the warp looked at what others may change (a volatile load, an
** atomic whose result is read, a fence …), saw only what it had seen before, and changed nothing.
** It remembers the last hundred things that it saw. Who goes through a long list until all of it is
** as it waits for sees more: after SCAN turns that changed nothing they are taken to be in vain.
** Then
**
**   - the other paths of the warp get their turns, first those that have not yet run in vain (and
**     so they do after PATIENCE turns of a path that looks and is never quite in vain);
**   - a warp all of whose paths ran in vain is stuck. When all warps of all blocks that have begun
**     are stuck, or wait for such at a barrier, as many blocks again begin, up to those that the
**     GPU holds at a time: on a GPU later ones run beside the earlier. But not where all of them
**     looked at shared memory alone: no other block writes there.
**
** From then on turns are short. All of this follows from what the kernel does and never from a
** clock, so equal launches run equally. Where all repeat what they did while nobody changes memory
** (endless.c), and no block can begin, the launch ends with who waits where.
**
** Where a launch has threads (threads.c), batches of blocks run side by side instead, as long as no
** block waits for another.
*/
#include "emu/exec/async.h"
#include "emu/exec/matrix_group.h"
#include "emu/view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURN = 4096, SHORT_TURN = 256, LOOK = 64, PATIENCE = 64, POLL = 64, SCAN = 64 };

static void enter_block(Machine *m, Block *b) {
    m->block = b;
    m->warp = b->warp;
    m->shared = b->shared;
    m->barrier = b->barrier;
    m->smid = b->smid;
    memcpy(m->ctaid, b->ctaid, sizeof m->ctaid);
}

/* --- who is where, for people --- */

/* What a warp looks at again and again, and who wrote there last. */
static void describe_look(Machine *m, const Block *b, const Warp *w, gi_buf *out) {
    const unsigned *g = m->launch->grid;
    uint32_t block;
    int thread;
    char where[300];
    if (!w->saw || w->state != WARP_READY) return;
    mem_describe_at(m, w->saw_in, w->saw_at, where, sizeof where);
    gi_buf_addf(out, ", looks at %s", where);
    mbarrier_describe(b, w->saw_in, w->saw_at, out);
    if (!shadow_writer(m, b, w->saw_in, w->saw_at, &block, &thread)) return;
    gi_buf_addf(out, ", last written by thread %d of block (%u,%u,%u)", thread, block % g[0],
                block / g[0] % g[1], block / g[0] / g[1]);
}

static void describe_path(Machine *m, const Block *b, const Warp *w, int i, gi_buf *out) {
    const Path *p = &w->s.path[i];
    const Code *code = w->s.frame[p->frame].code;
    bool last = i == w->n_path - 1;
    const InsPlace *at = &code->place[last ? w->pc : p->pc];
    char lanes[120] = "";
    uint32_t rest = warp_rest(w, i);
    const char *s = rest == w->live || !(rest & (rest - 1)) ? "s" : ""; /* one does, many do */
    if (rest != w->live) {
        fault_lanes(rest, lanes, sizeof lanes);
        gi_buf_addf(out, " %s of", lanes);
    }
    if (m->n_open > 1) gi_buf_addf(out, " block (%u,%u,%u)", b->ctaid[0], b->ctaid[1], b->ctaid[2]);
    gi_buf_addf(out, " warp %d ", w->index);
    if (w->state == WARP_WAITING && w->barrier == CLUSTER_BARRIER)
        gi_buf_addf(out, "wait%s at the cluster's barrier", s);
    else if (w->state == WARP_WAITING && w->barrier == GROUP_BARRIER)
        gi_buf_addf(out, "wait%s for wgmma of the other warps of the warpgroup", s);
    else if (w->state == WARP_WAITING) gi_buf_addf(out, "wait%s at barrier %d", s, w->barrier);
    else if (p->wait) gi_buf_addf(out, "wait%s for the others", s);
    else gi_buf_addf(out, "run%s", s);
    gi_buf_addf(out, " (PTX line %d, line %d)", at->ptx_line, at->src_line);
    if (last && p->wait == PATH_GOES) describe_look(m, b, w, out);
}

enum { ENOUGH = 220 }; /* bytes: no further place is described behind them */

/* Where the lanes are that have not ended; the first few. */
static void describe_places(Machine *m, bool waiting_only, char *out, size_t cap) {
    gi_buf text = {0};
    int told = 0;
    for (int k = 0; k < m->n_open; k++) {
        const Block *b = m->open[k];
        for (int i = 0; i < m->n_warps; i++) {
            const Warp *w = &b->warp[i];
            if (!w->begun || w->state == WARP_DONE || (waiting_only && w->state != WARP_WAITING))
                continue;
            for (int j = 0; j < w->n_path; j++) {
                if (warp_rest(w, j) == 0 || told++ >= 4 || text.len > ENOUGH) continue;
                if (text.len) gi_buf_add(&text, ",", 1);
                describe_path(m, b, w, j, &text);
            }
        }
    }
    if (told > 4 || text.len > ENOUGH) gi_buf_addf(&text, " …");
    snprintf(out, cap, "%s", text.data ? text.data : "");
    gi_buf_free(&text);
}

static bool raise_deadlock(Machine *m) {
    char waits[300];
    Warp *first = NULL;
    for (int i = m->n_warps - 1; i >= 0; i--)
        if (m->warp[i].state == WARP_WAITING) first = &m->warp[i];
    describe_places(m, true, waits, sizeof waits);
    return fault_raise(m, first, &first->code->ins[first->pc], ALL_LANES, EMU_TIMEOUT,
                       "barrier that can never complete:%s", waits);
}

static bool raise_timeout(Machine *m, Warp *w, const char *what) {
    char places[300];
    describe_places(m, false, places, sizeof places);
    return fault_raise(m, w, &w->code->ins[w->pc], ALL_LANES, EMU_TIMEOUT, "%s ran out:%s", what,
                       places);
}

/* Nobody gets on; `left` blocks have not begun. */
static bool raise_endless(Machine *m, uint64_t left, uint64_t blocks) {
    char places[600], others[200] = "";
    uint64_t ended = blocks - left - (uint64_t)m->n_open;
    Warp *first = NULL;
    for (int k = m->n_open - 1; k >= 0; k--)
        for (int i = m->n_warps - 1; i >= 0; i--)
            if (m->open[k]->warp[i].state == WARP_READY) first = &m->open[k]->warp[i];
    for (int k = 0; k < m->n_open && first; k++)
        if (first >= m->open[k]->warp && first < m->open[k]->warp + m->n_warps)
            enter_block(m, m->open[k]);
    describe_places(m, false, places, sizeof places);
    if (left)
        snprintf(others, sizeof others,
                 "; %llu block%s not begun, as the GPU holds %d of these at a time",
                 (unsigned long long)left, left == 1 ? " has" : "s have", m->n_open);
    else if (ended)
        snprintf(others, sizeof others, "; %llu of %llu blocks %s ended", (unsigned long long)ended,
                 (unsigned long long)blocks, ended == 1 ? "has" : "have");
    return fault_raise(m, first, &first->code->ins[first->pc], ALL_LANES, EMU_TIMEOUT,
                       "endless wait, which nothing in this launch can end:%s%s", places, others);
}

static bool raise_budget(Machine *m, Warp *w) {
    char what[80];
    snprintf(what, sizeof what, "the budget of %llu warp instructions",
             (unsigned long long)(m->launch->budget ? m->launch->budget : EMU_BUDGET));
    return raise_timeout(m, w, what);
}

/* --- a warp's turn --- */

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool check_clock(Machine *m, Warp *w) {
    char what[80];
    double allowed = m->launch->timeout_s;
    if (allowed <= 0 || w->state == WARP_DONE || ++m->polls % POLL) return true;
    if (processor_seconds() - m->begun <= allowed) return true;
    snprintf(what, sizeof what, "the %g s of processor time allowed", allowed);
    return raise_timeout(m, w, what);
}

static void end_warp(Machine *m, Warp *w) {
    if (w->s.copies && !copies_end(m, w)) return;
    if (m->n_bulk && !bulk_warp_ended(m, w)) return;
    w->state = WARP_DONE;
    m->block->ended++;
    if (m->n_spare < m->n_warps) m->spare[m->n_spare++] = w->s;
    else warp_store_free(&w->s);
    w->s = (WarpStore){0};
    barrier_warp_ended(m);
    if (m->has_clusters) cluster_look(m);
    if (m->group_waits) group_look(m, w);
}

/* Its turn is over, and it has more to do: whose is the next? */
static void let_others(Machine *m, Warp *w) {
    if (w->moved) w->scanned = 0;
    else w->scanned += w->asked && w->news;
    bool in_vain = w->asked && !w->moved && (!w->news || w->scanned > SCAN), rotated;
    if (w->quiet.repeats) in_vain = w->beyond = true;
    w->stuck &= in_vain;
    if (!in_vain) w->beyond = w->fenced = w->looked = false;
    if (!in_vain && (!w->asked || ++w->patience < PATIENCE)) return;
    w->patience = 0;
    rotated = warp_rotate(m, w, in_vain ? TURN_FRESH : TURN_ANY);
    if (!rotated && in_vain) {
        w->stuck = true;
        rotated = warp_rotate(m, w, TURN_ANY);
    }
    if (rotated) m->turn = SHORT_TURN;
}

static Stop exec_variant(Machine *m, Warp *w) {
    switch (m->emu->vectors) {
    case VECTORS_AVX512: return exec_avx512(m, w, NULL);
    case VECTORS_AVX2: return exec_avx2(m, w, NULL);
    default: return exec_base(m, w, NULL);
    }
}

static bool run_warp(Machine *m, Warp *w) {
    if (!w->begun && !warp_begin(m, w, m->entry))
        return fault_raise(m, NULL, NULL, ALL_LANES, EMU_OUT_OF_MEMORY,
                           "no host memory for a warp");
    int64_t turn = w->stuck ? LOOK : m->turn;
    w->fuel = m->budget < turn ? m->budget : turn;
    w->asked = w->moved = w->news = w->failed = false;
    w->spared = 0;
    int64_t before = w->fuel;
    Stop stop = exec_variant(m, w);
    m->budget -= before - w->fuel - w->spared;
    if (stop == STOP_FAULT) return false;
    if (endless_turn(m, w) && stop == STOP_WAIT) w->stuck = w->beyond = true;
    if (stop == STOP_DONE) end_warp(m, w);
    if (m->ended) return false;
    if (stop == STOP_YIELD) {
        if (m->budget <= 0) return raise_budget(m, w);
        if (m->launch->interrupt && *m->launch->interrupt)
            return fault_raise(m, w, NULL, ALL_LANES, EMU_ABORTED, "interrupted");
        let_others(m, w);
        if (m->ended) return false;
    }
    return check_clock(m, w);
}

/* --- blocks --- */

/* Does a block wait for others of its cluster, and can one of these go on? */
static bool waits_for_cluster(const Machine *m) {
    bool waits = false, goes = false;
    for (int i = 0; i < m->n_warps; i++)
        waits |= m->warp[i].state == WARP_WAITING && m->warp[i].barrier == CLUSTER_BARRIER;
    for (int k = 0; k < m->n_open && waits; k++)
        for (int i = 0; i < m->n_warps && m->open[k]->cluster == m->block->cluster; i++)
            goes |= m->open[k]->warp[i].state == WARP_READY;
    return goes;
}

/* A turn for each warp that is ready. */
static bool run_round(Machine *m, bool *ended) {
    int ran = 0, left = 0;
    for (int i = 0; i < m->n_warps; i++) {
        Warp *w = &m->warp[launch_place(m->launch, (uint64_t)i, (uint64_t)m->n_warps)];
        if (w->state == WARP_READY) {
            ran++;
            if (!run_warp(m, w)) return false;
        }
        left += w->state != WARP_DONE;
    }
    *ended = left == 0;
    return ran || left == 0 || waits_for_cluster(m) ? true : raise_deadlock(m);
}

static Block *block_new(const Machine *m) {
    Block *b = gi_alloc(sizeof *b);
    b->warp = aligned_alloc(64, (size_t)m->n_warps * sizeof *b->warp);
    b->shared = malloc(m->shared_bytes + 1);
    if (b->warp == NULL || b->shared == NULL) {
        free(b->warp);
        free(b->shared);
        free(b);
        return NULL;
    }
    memset(b->warp, 0, (size_t)m->n_warps * sizeof *b->warp);
    for (int i = 0; i < m->n_warps; i++) {
        int lanes = m->threads - i * LANES;
        b->warp[i].index = i;
        b->warp[i].exist = lanes >= LANES ? FULL_MASK : (1u << lanes) - 1;
    }
    return b;
}

/* Shared memory begins as 0xff bytes (NaNs): a GPU leaves there what the last block wrote, and no
** kernel may rely on it. */
static bool begin_block(Machine *m, uint64_t index) {
    const unsigned *g = m->launch->grid;
    if (m->n_open == m->n_made) {
        gi_grow(m->open, m->n_made, m->cap_open);
        m->open[m->n_made] = block_new(m);
        if (m->open[m->n_made] == NULL)
            return fault_raise(m, NULL, NULL, ALL_LANES, EMU_OUT_OF_MEMORY,
                               "no host memory for a block");
        m->n_made++;
    }
    Block *b = m->open[m->n_open++];
    if (m->has_clusters) {
        cluster_place(m, b, index);
    } else {
        b->ctaid[0] = (unsigned)(index % g[0]);
        b->ctaid[1] = (unsigned)(index / g[0] % g[1]);
        b->ctaid[2] = (unsigned)(index / g[0] / g[1]);
        b->cluster = index;
    }
    b->smid = (unsigned)(index % (uint64_t)(m->model->sms >= 1 ? m->model->sms : 1));
    if (m->shared_bytes) memset(b->shared, 0xff, m->shared_bytes);
    if (b->reserved) memset(b->reserved, 0xff, RESERVED_BYTES);
    if (b->barriers_met) memset(b->barrier, 0, sizeof b->barrier);
    b->barriers_met = b->ended = 0;
    b->cluster_clock = 0;
    for (int i = 0; i < m->n_warps; i++) {
        b->warp[i].state = WARP_READY;
        b->warp[i].begun = b->warp[i].stuck = false;
        b->warp[i].patience = b->warp[i].scanned = 0;
        b->warp[i].beyond = b->warp[i].fenced = b->warp[i].looked = false;
        b->warp[i].quiet = (Quiet){0};
        if (b->warp[i].saw) memset(b->warp[i].seen, 0, sizeof b->warp[i].seen);
        b->warp[i].saw = false;
        if (m->has_clusters) b->warp[i].met = b->warp[i].passes = 0;
        b->warp[i].live = b->warp[i].exist;
    }
    enter_block(m, b);
    cost_block_begin(m, index);
    if (m->shadow) shadow_block(m);
    return true;
}

/* The block that runs is over; its place in the list is k. */
static void end_block(Machine *m, int k) {
    if (m->n_bulk) bulk_block_ended(m);
    if (m->block->mbarriers.n) mbarriers_clear(&m->block->mbarriers);
    if (m->shadow) shadow_block_end(m);
    cost_block_end(m);
    m->n_open--;
    memmove(&m->open[k], &m->open[k + 1], (size_t)(m->n_open - k) * sizeof *m->open);
    m->open[m->n_open] = m->block;
}

/* A round of each block that has begun. */
static bool run_open(Machine *m) {
    for (int k = 0; k < m->n_open;) {
        bool ended;
        if (m->block != m->open[k]) {
            enter_block(m, m->open[k]);
            if (m->shadow) shadow_enter(m);
        }
        if (!run_round(m, &ended)) return false;
        if (ended) end_block(m, k);
        else k++;
    }
    return true;
}

/* May what a stuck warp waits for come from a block that has not begun? */
static bool looks_beyond(const Warp *w) {
    return w->beyond || (w->fenced && w->looked);
}

/* Do all warps that have begun wait for something that another one has to do? */
static bool all_stuck(const Machine *m) {
    bool stuck = false;
    for (int k = 0; k < m->n_open; k++)
        for (int i = 0; i < m->n_warps; i++) {
            const Warp *w = &m->open[k]->warp[i];
            if (w->state == WARP_READY && !w->stuck) return false;
            stuck |= w->state == WARP_READY && looks_beyond(w);
        }
    return stuck;
}

/* How many blocks shall begin now: whole clusters. */
static int wanted(Machine *m) {
    int size = m->cluster_size;
    if (m->launch->cooperative) return INT_MAX; /* they fit: launch.c */
    if (m->n_open == 0) return size;
    if (!all_stuck(m)) return 0;
    m->turn = SHORT_TURN;
    return (m->n_open + size - 1) / size * size;
}

/* Is there room for one more? Where a cluster begins, for all of it. */
static bool has_room(const Machine *m, uint64_t next) {
    int more = next % (uint64_t)m->cluster_size == 0 ? m->cluster_size : 1;
    return m->n_open + more <= m->resident;
}

/* The next block's index; clusters begin in the launch's order, and the blocks of each together. */
static uint64_t index_of(const Machine *m, uint64_t next, uint64_t blocks) {
    uint64_t size = (uint64_t)m->cluster_size;
    return launch_place(m->launch, next / size, blocks / size) * size + next % size;
}

static void tell_done(const Machine *m, uint64_t next) {
    if (m->launch->done) *m->launch->done = next - (uint64_t)m->n_open;
}

bool turns_run(Machine *m) {
    const unsigned *g = m->launch->grid;
    uint64_t next = 0, blocks = (uint64_t)g[0] * g[1] * g[2];
    m->turn = m->launch->cooperative ? SHORT_TURN : TURN;
    m->begun = m->launch->timeout_s > 0 ? processor_seconds() : 0;
    while (next < blocks || m->n_open > 0) {
        if (m->n_open == 0 && threads_worth(m, next, blocks)) {
            next = threads_run(m, next, blocks);
            tell_done(m, next);
            if (m->ended) return false;
            continue;
        }
        for (int n = wanted(m); n > 0 && next < blocks && has_room(m, next); n--) {
            if ((next & 255) == 0 && m->launch->interrupt && *m->launch->interrupt)
                return fault_raise(m, NULL, NULL, ALL_LANES, EMU_ABORTED, "interrupted");
            if (!begin_block(m, index_of(m, next, blocks))) return false;
            next++;
        }
        if (!run_open(m)) return false;
        tell_done(m, next);
        bool can_begin = next < blocks && has_room(m, next);
        if (!can_begin && endless_all(m)) return raise_endless(m, blocks - next, blocks);
    }
    return true;
}

bool turns_batch(Machine *m, uint64_t from, uint64_t to) {
    const unsigned *g = m->launch->grid;
    uint64_t blocks = (uint64_t)g[0] * g[1] * g[2];
    for (uint64_t i = from; i < to; i++) {
        if (!begin_block(m, launch_place(m->launch, i, blocks))) return false;
        while (m->n_open > 0) {
            if (!run_open(m) || m->view->left) return false;
            if (m->n_open > 0 && all_stuck(m)) return view_leave(m, VIEW_UNSUITED);
        }
    }
    return true;
}

void turns_forget(Machine *m) {
    for (int k = 0; k < m->n_made; k++)
        for (int i = 0; i < m->n_warps; i++) warp_store_free(&m->open[k]->warp[i].s);
    m->n_open = 0;
}

void turns_free(Machine *m) {
    for (int k = 0; k < m->n_made; k++) {
        Block *b = m->open[k];
        for (int i = 0; i < m->n_warps; i++) warp_store_free(&b->warp[i].s);
        free(b->warp);
        free(b->shared);
        free(b->reserved);
        mbarriers_free(&b->mbarriers);
        free(b);
    }
    bulk_free(m);
    free(m->open);
}
