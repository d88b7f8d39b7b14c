/* threads.c - blocks of one launch on several cores, with the answers that one core gives.
**
** Batches of blocks that follow each other run side by side, one a thread, each on memory as it
** was when all of them began, and keep what they write to themselves (view.h). Then, in the order
** of the blocks, each batch is taken over, as long as it read nothing that one before it wrote:
** then it is as if they had run one after the other. The first that did not hold is thrown away
** with all that follow, and its blocks run on memory itself, one after the other. So do blocks that
** wait for others, fault, warn, print, allocate, ask for the time, or access what is not plain
** memory: global atomics, surfaces, textures that somebody can write to. A launch where that
** happens often does without threads from there on.
**
** Ticks are the same to the last bit, because all that is added up is whole multiples of a power of
** 2 and so does not depend on the order; a model with other numbers uses no threads.
*/
#include "emu/view.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORTH = 400000, BATCH = 1 << 21 }; /* warp instructions */
enum { SLACK = 1 << 16 };                 /* as many must be left of a budget: no turn ends early */

typedef struct Member {
    Machine m;
    EmuResult result;
    uint64_t from, to; /* its batch: blocks, in the order in which they begin */
    int64_t budget;
    bool ended; /* all of them */
} Member;

struct Team {
    int n;
    Member **member;
    View **view;
    Written written;
    uint64_t batch;     /* warp instructions, now */
    uint64_t most;
    uint64_t follows;   /* the block up to which the views know of all */
    uint64_t alone;     /* up to this block one after the other */
    int held, failed;
    bool off;
};

/* --- may this launch have threads? --- */

static bool is_whole(double x) {
    return x >= 0 && x < 0x1p30 && x * 64 == floor(x * 64);
}

static bool clocks_are_whole(const Machine *m) {
    const EmuModel *g = m->model;
    if (!is_whole(m->cost.beyond_near) || !is_whole(m->cost.beyond_far) ||
        !is_whole(g->latency_barrier) || !is_whole(g->latency_barrier_warp) ||
        !is_whole(g->block_ticks) || g->rate_constant <= 0 || !is_whole(1 / g->rate_constant) ||
        1 / (1 / g->rate_constant) != g->rate_constant)
        return false;
    for (int i = 0; i < m->mod->n_code; i++)
        for (int b = 0; b < m->mod->code[i].n_blocks; b++)
            if (!is_whole(m->mod->code[i].block[b].latency)) return false;
    return true;
}

/* Of all that kernels fetch from nothing is written to. */
static bool textures_are_constant(const Machine *m) {
    const Emu *e = m->emu;
    for (int i = 0; i < e->n_tex && m->mod->n_fetches; i++)
        if (e->tex[i].live && !e->tex[i].is_surface && !e->tex[i].is_constant) return false;
    return true;
}

static int by_data(const void *a, const void *b) {
    const Alloc *x = *(Alloc *const *)a, *y = *(Alloc *const *)b;
    return x->data < y->data ? -1 : x->data > y->data;
}

/* Bytes that two allocations share have two names, and a view knows only one. */
static bool memory_is_apart(const Emu *e) {
    const Alloc **by = gi_alloc((size_t)(e->n_list + 1) * sizeof *by);
    bool apart = true;
    int n = 0;
    for (int i = 0; i < e->n_list; i++) {
        const Alloc *a = &e->alloc[e->list[i]];
        if (!a->is_hidden && a->size) by[n++] = a;
    }
    qsort(by, (size_t)n, sizeof *by, by_data);
    for (int i = 1; i < n; i++) apart &= by[i - 1]->data + by[i - 1]->size <= by[i]->data;
    free(by);
    return apart;
}

static bool may_have_threads(const Machine *m) {
    const EmuLaunch *l = m->launch;
    return m->shadow == NULL && !l->cooperative && l->timeout_s <= 0 && clocks_are_whole(m) &&
           textures_are_constant(m) && memory_is_apart(m->emu);
}

/* --- the team --- */

static void member_free(Member *one) {
    machine_close(&one->m);
    free(one);
}

static Member *member_new(const Machine *m, View *v) {
    Member *one = aligned_alloc(64, (sizeof *one + 63) / 64 * 64);
    if (one == NULL) return NULL;
    memset(one, 0, sizeof *one);
    one->m = *m;
    one->m.result = &one->result;
    one->m.view = v;
    one->m.team = NULL;
    one->m.open = NULL;
    one->m.n_open = one->m.n_made = one->m.cap_open = 0;
    one->m.bulk = NULL;
    one->m.n_bulk = one->m.cap_bulk = 0;
    one->m.spare = NULL;
    one->m.n_spare = 0;
    one->m.fetches = NULL;
    one->m.fetch = NULL;
    one->m.layouts = NULL;
    one->m.lines = NULL;
    one->m.text = (gi_buf){0};
    cost_begin_beside(&one->m, m);
    if (machine_open(&one->m)) return one;
    member_free(one);
    return NULL;
}

static Team *team_new(Machine *m) {
    Team *t = gi_alloc(sizeof *t);
    int wanted = m->launch->threads;
    if (wanted > VIEWS) wanted = VIEWS;
    t->most = m->emu->batch ? m->emu->batch : BATCH;
    t->batch = m->emu->batch ? t->most : t->most / 8;
    t->off = !may_have_threads(m);
    if (t->off) return t;
    t->member = gi_alloc((size_t)wanted * sizeof *t->member);
    t->view = gi_alloc((size_t)wanted * sizeof *t->view);
    t->written.n = m->emu->n_alloc;
    t->written.by_row = gi_alloc((size_t)m->emu->n_alloc * sizeof *t->written.by_row);
    while (t->n < wanted) {
        View *v = view_new(m->emu, t->n);
        Member *one = member_new(m, v);
        if (one == NULL) {
            view_free(v);
            break;
        }
        t->view[t->n] = v;
        t->member[t->n++] = one;
    }
    t->off = t->n < 2;
    return t;
}

void threads_free(Machine *m) {
    Team *t = m->team;
    if (t == NULL) return;
    for (int i = 0; i < t->n; i++) {
        member_free(t->member[i]);
        view_free(t->view[i]);
    }
    written_free(&t->written);
    free(t->member);
    free(t->view);
    free(t);
    m->team = NULL;
}

static uint64_t used_so_far(const Machine *m) {
    uint64_t all = m->launch->budget ? m->launch->budget : EMU_BUDGET, left = (uint64_t)m->budget;
    const uint64_t most = (uint64_t)1 << 62;
    return (all < most ? all : most) - left;
}

bool threads_worth(Machine *m, uint64_t next, uint64_t blocks) {
    if (m->launch->threads < 2 || m->profile || m->launch->exact || m->has_clusters || next == 0 ||
        next >= blocks || m->ended)
        return false;
    if (m->team == NULL) {
        double left = (double)used_so_far(m) / (double)next * (double)(blocks - next);
        if (left < WORTH && m->emu->batch == 0) return false;
        m->team = team_new(m);
    }
    const Team *t = m->team;
    return !t->off && next >= t->alone && m->emu->n_alloc == t->written.n && blocks - next > 1;
}

/* --- a round: a batch each --- */

static void *run_batch(void *arg) {
    Member *one = arg;
    one->ended = turns_batch(&one->m, one->from, one->to);
    return NULL;
}

/* A thread that cannot be started has its batch run here. */
static void run_members(Team *t, int n) {
    pthread_t thread[VIEWS];
    bool started[VIEWS] = {false};
    for (int i = 1; i < n; i++)
        started[i] = pthread_create(&thread[i], NULL, run_batch, t->member[i]) == 0;
    run_batch(t->member[0]);
    for (int i = 1; i < n; i++) {
        if (started[i]) pthread_join(thread[i], NULL);
        else run_batch(t->member[i]);
    }
}

static void prepare(const Machine *m, Member *one, uint64_t from, uint64_t to, double per_block) {
    double most = 1e6 + 64 * per_block * (double)(to - from);
    one->from = from;
    one->to = to;
    one->budget = most < (double)m->budget ? (int64_t)most : m->budget;
    one->m.budget = one->budget;
    one->m.turn = m->turn;
    one->m.ended = false;
}

/* How many members have a batch. */
static int share_out(Machine *m, uint64_t next, uint64_t blocks) {
    Team *t = m->team;
    double per_block = (double)used_so_far(m) / (double)next;
    double fit = per_block > 0 ? (double)t->batch / per_block : 1;
    uint64_t each = (blocks - next + (uint64_t)t->n - 1) / (uint64_t)t->n;
    if (fit < (double)each) each = fit < 1 ? 1 : (uint64_t)fit;
    int n = 0;
    for (; n < t->n && next < blocks; n++) {
        uint64_t to = blocks - next < each ? blocks : next + each;
        prepare(m, t->member[n], next, to, per_block);
        next = to;
    }
    return n;
}

/* Is what it did what it would have done in its turn? */
static bool holds(const Machine *m, const Member *one) {
    const EmuResult *r = &one->result;
    int64_t used = one->budget - one->m.budget;
    return one->ended && one->m.view->left == VIEW_HOLDS && !one->m.ended && r->faults.n == 0 &&
           r->warnings.n == 0 && one->m.budget > SLACK && m->budget - used > SLACK &&
           !view_conflicts(one->m.view, &m->team->written);
}

static void take(Machine *m, Member *one, bool is_last) {
    EmuResult *to = m->result, *from = &one->result;
    Team *t = m->team;
    m->budget -= one->budget - one->m.budget;
    m->turn = one->m.turn;
    to->global_sectors += from->global_sectors;
    to->texture_sectors += from->texture_sectors;
    to->shared_conflicts += from->shared_conflicts;
    to->divergent_branches += from->divergent_branches;
    to->barriers += from->barriers;
    to->barrier_after_exit += from->barrier_after_exit;
    cost_move(m, &one->m);
    view_take(m, one->m.view, t->view, t->n, is_last ? NULL : &t->written);
}

/* It is ready for another batch. One that was not taken leaves nothing behind. */
static void clear(Machine *m, Member *one, bool taken) {
    view_drop(m, one->m.view);
    memset(&one->result, 0, offsetof(EmuResult, faults));
    one->result.faults.n = one->result.warnings.n = 0;
    one->result.faults.left_out = one->result.warnings.left_out = 0;
    one->m.cause = EMU_CAUSE_NONE;
    if (taken) return;
    turns_forget(&one->m);
    machine_forget_fetches(&one->m);
    cost_forget(&one->m);
}

static void judge(Team *t, int n, int taken, bool unsuited, bool same_turn) {
    t->held += taken;
    if (taken == n || !same_turn) {
        if (t->batch < t->most) t->batch *= 2;
        return;
    }
    t->failed++;
    t->alone = t->member[taken]->to;
    t->off = unsuited || t->failed > 2 + t->held / 8;
}

uint64_t threads_run(Machine *m, uint64_t next, uint64_t blocks) {
    Team *t = m->team;
    if (m->launch->interrupt && *m->launch->interrupt) {
        fault_raise(m, NULL, NULL, ALL_LANES, EMU_ABORTED, "interrupted");
        return next;
    }
    for (int i = 0; i < t->n && t->follows != next; i++) view_follow(m, t->view[i]);
    int n = share_out(m, next, blocks), taken = 0;
    int64_t turn = m->turn;
    run_members(t, n);
    while (taken < n && m->turn == turn && holds(m, t->member[taken])) {
        next = t->member[taken]->to;
        take(m, t->member[taken], taken + 1 == n);
        taken++;
    }
    bool unsuited = taken < n && t->view[taken]->left == VIEW_UNSUITED;
    for (int i = 0; i < n; i++) clear(m, t->member[i], i < taken);
    written_clear(&t->written);
    judge(t, n, taken, unsuited, m->turn == turn);
    t->follows = next;
    return next;
}
