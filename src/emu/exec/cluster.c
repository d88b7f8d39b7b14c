/* cluster.c - thread-block clusters: blocks of a grid that run together, reach each other's shared
** memory, and meet at a barrier.
**
** The blocks of a cluster begin at once (turns.c) and have numbers in the list of blocks one after
** the other. An address of shared memory may name a rank (CLUSTER_AT): memory.c asks here whose it
** is. The barrier counts lanes: it is complete when all lanes that have not ended, of all blocks
** that have not, have arrived; those that wait may pass then.
*/
#include "emu/exec/async.h"
#include "emu/exec/lanes.h"
#include "emu/view.h"

#include <stdio.h>

/* --- whose memory --- */

Block *cluster_block(const Machine *m, uint64_t address) {
    if (!cluster_names(address)) return m->block;
    uint64_t rank = (address - CLUSTER_AT) / CLUSTER_STEP;
    for (int k = 0; k < m->n_open; k++)
        if (m->open[k]->cluster == m->block->cluster && m->open[k]->rank == rank) return m->open[k];
    return NULL;
}

Block *cluster_block_or_fault(Machine *m, Warp *w, const Ins *in, int lane, uint64_t address) {
    Block *b = cluster_block(m, address);
    if (b) return b;
    uint64_t rank = (address - CLUSTER_AT) / CLUSTER_STEP;
    if (rank < (uint64_t)m->cluster_size)
        fault_access(
            m, w, in, lane, EMU_ILLEGAL_ADDRESS,
            "shared memory of block %llu of the cluster, which has ended: a block waits at "
            "the cluster's barrier before it ends",
            (unsigned long long)rank);
    else
        fault_access(m, w, in, lane, EMU_ILLEGAL_ADDRESS,
                     "shared memory of block %llu of a cluster of %d", (unsigned long long)rank,
                     m->cluster_size);
    return NULL;
}

/* imm: 1 if the address has 64 bits, 2 if it is generic. a: an address; b: the rank; d: the same
** place in that block's memory. */
bool cluster_map(Machine *m, Warp *w, const Ins *in) {
    bool wide = in->imm & 1, generic = in->imm & 2;
    FOR_ACTIVE(w, i) {
        uint64_t at = lane_word(w, in->a, wide, (int)i), window = generic ? WINDOW(ID_SHARED) : 0;
        uint32_t rank = LANE(U32, w, in->b, i);
        if (generic && at >> ID_SHIFT != ID_SHARED)
            return fault_raise(m, w, in, (int)i, EMU_ILLEGAL_ADDRESS,
                               "mapa of 0x%llx, which is not in shared memory",
                               (unsigned long long)at);
        if (rank >= (uint32_t)m->cluster_size)
            return fault_raise(m, w, in, (int)i, EMU_LAUNCH_ERROR,
                               "mapa to rank %u of a cluster of %d blocks", rank, m->cluster_size);
        at = window + CLUSTER_AT + (uint64_t)rank * CLUSTER_STEP + cluster_offset(at - window);
        if (wide) LANE(U64, w, in->d, i) = at;
        else LANE(U32, w, in->d, i) = (uint32_t)at;
    }
    return true;
}

/* The rank in whose memory an address lies. imm as above. */
bool cluster_rank(Machine *m, Warp *w, const Ins *in) {
    FOR_ACTIVE(w, i) {
        uint64_t at = lane_word(w, in->a, in->imm & 1, (int)i) & OFFSET_MASK;
        bool is_named = cluster_names(at);
        LANE(U32, w, in->d, i) =
            is_named ? (uint32_t)((at - CLUSTER_AT) / CLUSTER_STEP) : m->block->rank;
    }
    return true;
}

/* --- a launch --- */

/* "name 2, 1, 1" among a kernel's directives; what is not said is 1. */
static bool directive(const PtxFunc *f, const char *name, unsigned n[3]) {
    const char *at = f->directives ? strstr(f->directives, name) : NULL;
    for (int k = 0; k < 3; k++) n[k] = 1;
    return at && sscanf(at + strlen(name), " %u, %u, %u", &n[0], &n[1], &n[2]) > 0;
}

bool cluster_begin(Machine *m) {
    const EmuLaunch *l = m->launch;
    const PtxFunc *f = m->entry->func;
    unsigned own[3], most[3];
    bool has_own = directive(f, ".reqnctapercluster", own), asked = l->cluster[0] != 0;
    bool has_most = directive(f, ".maxclusterrank", most);
    uint64_t size = 1;
    for (int k = 0; k < 3; k++) m->cluster[k] = asked ? l->cluster[k] : own[k];
    for (int k = 0; k < 3; k++) {
        if (m->cluster[k] == 0 || m->cluster[k] > MOST_CLUSTER) return false;
        if (asked && has_own && own[k] != m->cluster[k]) return false;
        if (l->grid[k] % m->cluster[k]) return false;
        size *= m->cluster[k];
    }
    m->cluster_size = (int)size;
    m->has_clusters = asked || has_own;
    if (has_most && size > most[0]) return false;
    return size <= MOST_CLUSTER;
}

void cluster_place(const Machine *m, Block *b, uint64_t index) {
    uint64_t rank = index % (uint64_t)m->cluster_size, number = index / (uint64_t)m->cluster_size;
    b->cluster = number;
    b->rank = (unsigned)rank;
    for (int k = 0; k < 3; k++) {
        uint64_t clusters = m->launch->grid[k] / m->cluster[k];
        b->ctaid[k] = (unsigned)(number % clusters * m->cluster[k] + rank % m->cluster[k]);
        number /= clusters;
        rank /= m->cluster[k];
    }
}

/* --- the barrier --- */

/* Calls what is to be done with each warp of the running block's cluster. */
#define EACH_WARP(m, b, w)                                                                         \
    for (int k_ = 0; k_ < (m)->n_open; k_++)                                                       \
        if ((b = (m)->open[k_])->cluster == (m)->block->cluster)                                   \
            for (w = b->warp; w < b->warp + (m)->n_warps; w++)

static bool is_complete(const Machine *m) {
    const Block *b;
    const Warp *w;
    bool some = false;
    EACH_WARP(m, b, w) {
        if (w->state == WARP_DONE) continue;
        if (w->live & ~w->met) return false;
        some |= w->met != 0;
    }
    return some;
}

static void pass(Machine *m, Block *b, Warp *w) {
    w->passes &= ~w->live;
    if (b->cluster_clock > w->clock) w->clock = b->cluster_clock;
    w->quiet.met = true;
    (void)m;
    barrier_leave(w, NULL);
}

static void complete(Machine *m) {
    Block *b;
    Warp *w;
    double clock = 0;
    EACH_WARP(m, b, w) {
        if (w->met && w->met_clock > clock) clock = w->met_clock;
    }
    EACH_WARP(m, b, w) {
        b->cluster_clock = clock + m->model->latency_barrier;
        w->passes = w->met;
        w->met = 0;
        if (w->state == WARP_WAITING && w->barrier == CLUSTER_BARRIER) pass(m, b, w);
    }
    m->result->barriers++;
    m->changes++;
    if (m->shadow) shadow_cluster(m);
}

void cluster_look(Machine *m) {
    if (is_complete(m)) complete(m);
}

bool cluster_arrive(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    uint32_t twice = w->active & (w->met | w->passes);
    if (twice)
        return fault_raise(m, w, in, __builtin_ctz(twice), EMU_LAUNCH_ERROR,
                           "barrier.cluster.arrive a second time, with no barrier.cluster.wait in "
                           "between");
    w->met |= w->active;
    w->met_clock = warp_clock(w, in);
    w->moved = true;
    cluster_look(m);
    return true;
}

/* All lanes of the warp that have not ended are at a barrier.cluster.wait. */
Stop cluster_wait(Machine *m, Warp *w) {
    const Ins *in = &w->code->ins[w->pc];
    uint32_t missing = w->live & ~(w->met | w->passes);
    if (m->view) return view_leave(m, VIEW_UNSUITED), STOP_FAULT;
    if (missing) {
        fault_raise(m, w, in, __builtin_ctz(missing), EMU_LAUNCH_ERROR,
                    "barrier.cluster.wait without a barrier.cluster.arrive before it");
        return STOP_FAULT;
    }
    if ((w->passes & w->live) == w->live) {
        pass(m, m->block, w);
        return STOP_NOT;
    }
    w->state = WARP_WAITING;
    w->barrier = CLUSTER_BARRIER;
    cluster_look(m);
    return w->state == WARP_WAITING ? STOP_WAIT : STOP_NOT;
}
