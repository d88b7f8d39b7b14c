/* async.c - cp.async: copies from global to shared memory that go on beside the program.
**
** A copy reads its source when it is issued and writes its destination when the lane waits for
** the group that it belongs to: so a kernel that does not wait finds what was there before, as it
** may on a GPU. A lane that ends drops the copies that it has not waited for. Copies that an
** mbarrier waits for (cp.async.mbarrier.arrive) are done, with the arrival, when somebody waits
** there, or when the warp ends.
*/
#include "emu/decode/decode.h"
#include "emu/check/undefined.h"
#include "emu/exec/async.h"
#include "emu/cost/waits.h"
#include "emu/exact/exact.h"
#include "emu/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Copy {
    uint8_t lane, bytes; /* bytes 0: an arrival on the mbarrier at `to` */
    const Ins *in;
    Code *code;
    double clock, far; /* when it is there: waits.h */
    uint32_t group;    /* of the lane's */
    uint64_t to;       /* in shared memory */
    uint8_t data[16];
    uint32_t undefined, origin; /* bytes of data, a bit each; see undefined.h */
    Word *cargo;                /* exact.h */
} Copy;

struct Copies {
    Copy *at;
    int n, cap;
    uint32_t committed[LANES]; /* groups */
};

static void drop_cargo(Copies *c) {
    for (int i = 0; i < c->n; i++) free(c->at[i].cargo);
}

void copies_begin(Copies *c) {
    if (c == NULL) return;
    drop_cargo(c);
    c->n = 0;
    memset(c->committed, 0, sizeof c->committed);
}

void copies_free(Copies *c) {
    if (c == NULL) return;
    drop_cargo(c);
    free(c->at);
    free(c);
}

static Copies *copies_of(Warp *w) {
    if (w->s.copies == NULL) w->s.copies = gi_alloc(sizeof *w->s.copies);
    return w->s.copies;
}

/* --- what they do --- */

/* imm of a copy. Rows: d destination, a source, b bytes of the source that count. */
typedef struct CopyForm {
    uint8_t bytes, wide_to;
} CopyForm;

/* False after a fault, as of mem_read. */
static bool issue(Machine *m, Warp *w, const Ins *in, int lane, uint64_t to, uint64_t from,
                  uint32_t counts) {
    CopyForm f;
    memcpy(&f, &in->imm, sizeof f);
    Copies *c = copies_of(w);
    Copy copy = {.lane = (uint8_t)lane,
                 .bytes = f.bytes,
                 .in = in,
                 .code = w->code,
                 .clock = warp_clock(w, in) + m->model->latency_l2,
                 .far = warp_clock(w, in) + w->late + m->model->latency_dram,
                 .group = c->committed[lane],
                 .to = to,
                 .origin = ORIGIN_NONE};
    Access read = {m, w, in, lane, PTX_GLOBAL, from, f.bytes, false, 0};
    Access write = {m, w, in, lane, PTX_SHARED, to, f.bytes, true, 0};
    if (!mem_may_write(write)) return false;
    if (m->shadow && to < m->shared_bytes) {
        write.order = ORDER_AHEAD;
        if (!mem_look_at(&write, m->shared + to, NULL)) return false;
    }
    m->undefined.bytes = 0;
    if (counts && !mem_read(read, copy.data)) return false;
    if (counts < f.bytes) memset(copy.data + counts, 0, f.bytes - counts);
    copy.undefined = m->undefined.bytes & ((1u << counts) - 1);
    copy.origin = m->undefined.origin;
    read.bytes = counts;
    copy.cargo = exact_cargo(m, f.bytes);
    exact_gather(&read, copy.cargo, 0);
    gi_grow(c->at, c->n, c->cap);
    c->at[c->n++] = copy;
    if (m->shadow && to < m->shared_bytes) shadow_copy(m, to, f.bytes, 1);
    return true;
}

static bool do_copy(Machine *m, Warp *w, const Ins *in) {
    CopyForm f;
    uint64_t to[LANES], from[LANES], place[LANES];
    uint32_t read = 0, wrote = 0;
    memcpy(&f, &in->imm, sizeof f);
    mem_addresses(w, in->d, f.wide_to, 0, to);
    mem_addresses(w, in->a, true, 0, from);
    if (m->shadow) shadow_step(m);
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint32_t counts = ((const U32 *)(const void *)row_at(w, in->b))[i];
        bool done = issue(m, w, in, i, to[i], from[i], counts < f.bytes ? counts : f.bytes);
        if (m->ended) return false;
        if (!done) continue;
        wrote |= 1u << i;
        if (counts == 0) continue;
        place[i] = alloc_place(alloc_of(m->emu, from[i]), from[i]);
        read |= 1u << i;
    }
    if (read) cost_lanes(m, w, place, read, COST_KIND_STORE); /* nobody waits for it here */
    if (wrote) cost_shared(m, to, wrote, f.bytes);
    return true;
}

static bool do_commit(Machine *m, Warp *w, const Ins *in) {
    Copies *c = copies_of(w);
    (void)m, (void)in;
    for (uint32_t left = w->active; left; left &= left - 1) c->committed[__builtin_ctz(left)]++;
    return true;
}

/* Writes what a copy has read. False where the launch ends. */
static bool arrive(Machine *m, Warp *w, const Ins *in, const Copy *copy) {
    Access write = {m, w, in, copy->lane, PTX_SHARED, copy->to, copy->bytes, true, 0};
    w->moved = true;
    exact_scatter(&write, copy->cargo, 0);
    free(copy->cargo);
    if (copy->to >= m->shared_bytes) return mem_write(write, copy->data) || !m->ended;
    memcpy(m->shared + copy->to, copy->data, copy->bytes);
    if (m->shadow) shadow_copy(m, copy->to, copy->bytes, -1);
    if (m->shadow && m->launch->count_uninitialised)
        shadow_define(m, w, copy->lane, PTX_SHARED, copy->to, copy->bytes, copy->undefined,
                      copy->origin);
    return true;
}

/* Is it of a group that the lane waits for, all but the last `pending`? */
static bool is_due(const Copies *c, const Copy *copy, uint32_t active, uint64_t pending) {
    uint32_t committed = c->committed[copy->lane];
    if (copy->bytes == 0) return false;
    if (!(active >> copy->lane & 1)) return false;
    return pending == UINT64_MAX || copy->group + pending < committed;
}

/* --- arrivals on mbarriers --- */

/* a: the address; imm: 1 it has 64 bits, 2 it is generic, 4 .noinc. */
static bool do_arrive(Machine *m, Warp *w, const Ins *in) {
    uint64_t at[LANES];
    Copies *c = copies_of(w);
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    mem_addresses(w, in->a, in->imm & 1, 0, at);
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        Access a = {m, w, in, i, in->imm & 2 ? PTX_GENERIC : PTX_SHARED, at[i], 8, true, 0};
        if (mem_atomic(&a) == NULL) return false;
        if (a.space != PTX_SHARED || cluster_block(m, a.address) != m->block)
            return fault_raise(m, w, in, i, EMU_ILLEGAL_ADDRESS,
                               "an mbarrier lies in the block's shared memory, and 0x%llx does not",
                               (unsigned long long)at[i]);
        uint64_t offset = cluster_offset(a.address);
        if (!mbarrier_await(m, w, in, i, m->block, offset, !(in->imm & 4))) return false;
        gi_grow(c->at, c->n, c->cap);
        c->at[c->n++] = (Copy){.lane = (uint8_t)i,
                               .in = in,
                               .code = w->code,
                               .clock = warp_clock(w, in) + m->cost.beyond_near,
                               .to = offset};
    }
    return true;
}

/* Does entry `at` of the list, an arrival, with the copies of its lane before it. */
static bool make_arrival(Machine *m, Warp *w, Copies *c, int at) {
    Copy arrival = c->at[at];
    Code *running = w->code;
    int kept = 0;
    bool fine = true;
    for (int i = 0; i < c->n; i++) {
        Copy *copy = &c->at[i];
        bool is_due = i <= at && copy->lane == arrival.lane && (copy->bytes || i == at);
        w->code = copy->code; /* whose line a fault is of */
        if (is_due && copy->bytes) fine = fine && arrive(m, w, copy->in, copy);
        if (!is_due) c->at[kept++] = *copy;
    }
    c->n = kept;
    w->code = arrival.code;
    Access done = {m,
                   w,
                   arrival.in,
                   arrival.lane,
                   PTX_SHARED,
                   arrival.to,
                   8,
                   true,
                   ORDER_STRONG | ORDER_ATOMIC | ORDER_BLIND | ORDER_RELEASE};
    uint64_t other = ~(uint64_t)0;
    fine = fine && mem_look_at(&done, m->shared + arrival.to, &other) &&
           mbarrier_arrive(m, w, arrival.in, arrival.lane, m->block, arrival.to, arrival.clock);
    w->code = running;
    return fine;
}

/* Makes the arrivals of active lanes that have no copy left before them. */
static bool arrive_now(Machine *m, Warp *w, Copies *c) {
    uint32_t copying = 0;
    for (int i = 0; i < c->n; i++) {
        const Copy *one = &c->at[i];
        if (one->bytes) copying |= 1u << one->lane;
        if (one->bytes || !((w->active & ~copying) >> one->lane & 1)) continue;
        if (!make_arrival(m, w, c, i--)) return false;
    }
    return true;
}

/* imm: groups that may stay pending; UINT64_MAX: wait_all, those not committed neither. */
static bool do_wait(Machine *m, Warp *w, const Ins *in) {
    Copies *c = copies_of(w);
    int kept = 0;
    double near = 0, far = 0;
    if (m->shadow) shadow_step(m);
    for (int i = 0; i < c->n; i++) {
        Copy *copy = &c->at[i];
        if (!is_due(c, copy, w->active, in->imm)) {
            c->at[kept++] = *copy;
            continue;
        }
        near = fmax(near, copy->clock);
        far = fmax(far, copy->far);
        if (!arrive(m, w, in, copy)) return false;
    }
    c->n = kept;
    float here = w->code->place[in - w->code->ins].clock;
    waits_until(w, here);
    int32_t from = (int32_t)(in - w->code->ins);
    waits_end(w, &(CostWait){.near = near, .far = far, .use = here, .from = from});
    return arrive_now(m, w, c);
}

static int find_arrival(const Copies *c, uint64_t to) {
    for (int i = 0; c && i < c->n; i++)
        if (c->at[i].bytes == 0 && (to == UINT64_MAX || c->at[i].to == to)) return i;
    return -1;
}

bool copies_arrive(Machine *m, uint64_t at, bool *found) {
    *found = false;
    for (int i = 0; i < m->n_warps && !*found; i++) {
        Warp *w = &m->warp[i];
        int k = w->begun && w->state != WARP_DONE ? find_arrival(w->s.copies, at) : -1;
        *found = k >= 0;
        if (*found && !make_arrival(m, w, w->s.copies, k)) return false;
    }
    return true;
}

bool copies_end(Machine *m, Warp *w) {
    for (int k; (k = find_arrival(w->s.copies, UINT64_MAX)) >= 0;)
        if (!make_arrival(m, w, w->s.copies, k)) return false;
    for (int i = 0; w->s.copies && m->shadow && i < w->s.copies->n; i++) {
        const Copy *left = &w->s.copies->at[i];
        if (left->to < m->shared_bytes) shadow_copy(m, left->to, left->bytes, -1);
    }
    return true;
}

void copies_look(const Access *a, uint64_t at) {
    for (int i = 0; i < a->m->n_warps; i++) {
        const Warp *w = &a->m->warp[i];
        const Copies *c = w->begun && w->state != WARP_DONE ? w->s.copies : NULL;
        for (int k = 0; c && k < c->n; k++) {
            const Copy *copy = &c->at[k];
            if (at >= copy->to + copy->bytes || copy->to >= at + a->bytes) continue;
            bulk_tell(a, copy->code, copy->in, "copy",
                      "still brings: its thread waits for it first, and then the others for that");
            return;
        }
    }
}

/* --- decoding --- */

/* cp.async.mbarrier.arrive{.noinc}{.shared{::cta}}.b64 [object] */
static bool decode_arrive(Decoder *d) {
    const PtxInstr *in = d->in;
    int noinc = mod_is(d, 3, "noinc"), shared = mod_is(d, 3 + noinc, "shared shared::cta");
    uint32_t at;
    bool wide;
    if (!mod_is(d, 2, "arrive") || in->n_mods != 4 + noinc + shared || !mod_is(d, LAST, "b64") ||
        in->n_args != 1)
        return decode_unknown(d);
    if (!decode_address(d, USE_MBARRIER, &in->args[0], shared ? PTX_SHARED : PTX_GENERIC, 0, &at,
                        &wide))
        return false;
    d->cost[d->index] = COST_ATOMIC_SHARED;
    emit_slow(d, do_arrive, 0, at, 0, 0, (uint64_t)(wide | !shared << 1 | noinc << 2));
    return true;
}

/* cp.async.ca|cg.shared{::cta}.global{.L2::cache_hint}{.L2::…} [to], [from], bytes {, bytes of the
** source}{, policy} */
static bool decode_copy(Decoder *d) {
    const PtxInstr *in = d->in;
    uint32_t to, from, counts;
    uint64_t bytes;
    bool wide_to, wide_from, large = has_mod(d, "cg"), policy = has_mod(d, "L2::cache_hint");
    int hints = has_mod(d, "L2::64B L2::128B L2::256B") + policy, n_args = in->n_args - policy;
    if (!mod_is(d, 2, "shared shared::cta") || !mod_is(d, 3, "global") || in->n_mods != 4 + hints ||
        n_args < 3 || n_args > 4)
        return decode_unknown(d);
    if (policy && !source(d, &in->args[n_args], 'q', 0, &to)) return false;
    if (!decode_address(d, USE_COPY_TO, &in->args[0], PTX_SHARED, 0, &to, &wide_to)) return false;
    if (!decode_address(d, USE_COPY_FROM, &in->args[1], PTX_GLOBAL, 1, &from, &wide_from))
        return false;
    if (!immediate(d, &in->args[2], 'w', &bytes)) return false;
    if (bytes != 16 && (large || (bytes != 4 && bytes != 8)))
        return decode_fail(d, "4, 8 or 16 bytes are copied, with .cg 16");
    bool ignores = n_args == 4 && in->args[3].kind == PTX_OP_REG &&
                   d->func->regs[in->args[3].reg].type == PTX_PRED;
    if (n_args == 4 && in->args[3].kind == PTX_OP_IMM && in->args[3].imm > bytes)
        return decode_fail(d, "more bytes of the source than are copied");
    counts = pool_row(d, POOL_B32, bytes);
    if (ignores) { /* the source is not read where the predicate is true */
        uint32_t p, all = counts;
        if (!source(d, &in->args[3], 'p', 0, &p)) return false;
        counts = d->tmp32[0];
        emit(d, OP_SELP32, 0, counts, pool_row(d, POOL_B32, 0), all, p);
    } else if (n_args == 4 && !source(d, &in->args[3], 'w', 0, &counts)) {
        return false;
    }
    CopyForm f = {(uint8_t)bytes, wide_to};
    uint64_t imm = 0;
    memcpy(&imm, &f, sizeof f);
    emit_slow(d, do_copy, to, from, counts, 0, imm);
    return true;
}

bool decode_cp(Decoder *d) {
    const PtxInstr *in = d->in;
    if (has_mod(d, "bulk")) return decode_bulk(d);
    if (!mod_is(d, 0, "async") || has_mod(d, "reduce")) return decode_unknown(d);
    if (mod_is(d, 1, "mbarrier")) return decode_arrive(d);
    if (mod_is(d, 1, "ca") || mod_is(d, 1, "cg")) return decode_copy(d);
    uint64_t pending = UINT64_MAX;
    bool commit = mod_is(d, 1, "commit_group"), group = mod_is(d, 1, "wait_group");
    if ((!commit && !group && !mod_is(d, 1, "wait_all")) || in->n_mods != 2 || in->n_args != group)
        return decode_unknown(d);
    if (group && !immediate(d, &in->args[0], 'w', &pending)) return false;
    emit_slow(d, commit ? do_commit : do_wait, 0, 0, 0, 0, pending);
    d->cost[d->index] = COST_ALU;
    return true;
}
