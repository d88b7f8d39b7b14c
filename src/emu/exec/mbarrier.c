/* mbarrier.c - objects in shared memory that count arrivals and bytes, phase by phase.
**
** An object has 64 bits:
**
**     63 62   61   60 … 40     39 … 20   19 … 0
**     0  1   phase   bytes     arrivals  arrivals
**                   expected    pending  of a phase
**
** A phase is over when no arrival is pending and no byte expected; then the next begins. The bytes
** expected may be fewer than none for a time, as copies may complete before they are announced.
**
** The PTX ISA leaves open what an object looks like, and forbids to touch it in other ways. So each
** block has a list of its objects as the last operation left them: where the memory holds something
** else, a program has written over it, and an object that was copied is none.
**
** A wait that finds its phase not over completes what is under way for that object, oldest first,
** until the phase is over: lanes' copies (async.c), then bulk copies (bulk.c). Where that does not
** help the warp gives up its turn.
*/
#include "emu/exact/exact.h"
#include "emu/exec/async.h"
#include "emu/exec/lanes.h"
#include "emu/view.h"

#include <stdlib.h>

enum { MOST_COUNT = (1 << 20) - 1 };

struct Mbarrier {
    uint64_t at, value;
    uint64_t phase;   /* how many are over */
    double ready;     /* modelled clocks when the last one was, */
    double latest;    /* and of the latest arrival of this one */
    uint32_t *waited; /* checks: by thread, the phase that it waited for last, from 1; NULL */
};

typedef struct Mbarrier Mbarrier;

typedef struct Fields {
    uint32_t expected, pending;
    int32_t bytes;
    bool phase;
} Fields;

static Fields fields_of(uint64_t value) {
    return (Fields){.expected = value & MOST_COUNT,
                    .pending = value >> 20 & MOST_COUNT,
                    .bytes = (int32_t)(value >> 40 << 11) >> 11,
                    .phase = value >> 61 & 1};
}

static uint64_t value_of(Fields f) {
    return (uint64_t)1 << 62 | (uint64_t)f.phase << 61 | ((uint64_t)f.bytes & 0x1fffff) << 40 |
           (uint64_t)f.pending << 20 | f.expected;
}

/* --- a block's objects --- */

static Mbarrier *find(const Mbarriers *all, uint64_t at) {
    for (int i = 0; i < all->n; i++)
        if (all->at[i].at == at) return &all->at[i];
    return NULL;
}

static Mbarrier *add(Mbarriers *all, uint64_t at) {
    Mbarrier *o = find(all, at);
    if (o == NULL) {
        gi_grow(all->at, all->n, all->cap);
        o = &all->at[all->n++];
    } else {
        free(o->waited);
    }
    *o = (Mbarrier){.at = at};
    return o;
}

static void drop(Mbarriers *all, Mbarrier *o) {
    free(o->waited);
    *o = all->at[--all->n];
}

void mbarriers_clear(Mbarriers *all) {
    while (all->n > 0) drop(all, all->at);
}

void mbarriers_free(Mbarriers *all) {
    mbarriers_clear(all);
    free(all->at);
}

void mbarrier_describe(const Block *b, PtxSpace space, uint64_t address, gi_buf *out) {
    if (space == PTX_GENERIC && address >> ID_SHIFT == ID_SHARED) space = PTX_SHARED;
    const Mbarrier *o = space == PTX_SHARED ? find(&b->mbarriers, address & OFFSET_MASK) : NULL;
    if (o == NULL) return;
    Fields f = fields_of(o->value);
    gi_buf_addf(out, ", an mbarrier whose phase %llu lacks %u of %u arrivals and %d bytes",
                (unsigned long long)o->phase, f.pending, f.expected, f.bytes);
}

/* --- one operation on one object --- */

typedef struct Who { /* what a fault is about */
    Machine *m;
    Warp *w;
    const Ins *in;
    int lane;
    Block *block;
    uint64_t at; /* in the block's shared memory */
    Access seen; /* … as the checks see it */
} Who;

static bool wrong(const Who *o, EmuStatus status, const char *what) {
    return fault_raise(o->m, o->w, o->in, o->lane, status,
                       "%s: mbarrier in shared memory at 0x%llx", what, (unsigned long long)o->at);
}

/* The object, if it is what the last operation left there. */
static Mbarrier *object(const Who *o) {
    uint64_t there = 0;
    Mbarrier *found = find(&o->block->mbarriers, o->at);
    if (found == NULL) {
        wrong(o, EMU_LAUNCH_ERROR, "no mbarrier.init was there, or an inval after it");
        return NULL;
    }
    memcpy(&there, o->block->shared + o->at, sizeof there);
    if (there == found->value) return found;
    wrong(o, EMU_LAUNCH_ERROR, "something wrote over the object");
    return NULL;
}

static void store(const Who *o, Mbarrier *found, Fields f) {
    found->value = value_of(f);
    memcpy(o->block->shared + o->at, &found->value, sizeof found->value);
    o->w->moved = true;
}

/* Takes arrivals off and bytes on; the phase is over when there is nothing left of both. */
static bool change(const Who *o, uint32_t arrivals, uint32_t drops, int64_t bytes, bool incomplete,
                   double clock) {
    Mbarrier *found = object(o);
    if (found == NULL) return false;
    Fields f = fields_of(found->value);
    int64_t sum = f.bytes + bytes;
    if (arrivals > f.pending)
        return wrong(o, EMU_LAUNCH_ERROR, "more arrivals than the phase has pending");
    if (incomplete && arrivals == f.pending)
        return wrong(o, EMU_LAUNCH_ERROR, "an arrival with .noComplete completes the phase");
    if (sum > MOST_COUNT || sum < -MOST_COUNT)
        return wrong(o, EMU_LAUNCH_ERROR, "more than 1048575 bytes are expected, or complete");
    f.pending -= arrivals;
    f.expected -= drops;
    f.bytes = (int32_t)sum;
    if (clock > found->latest) found->latest = clock;
    if (f.pending == 0 && f.bytes == 0) {
        f.phase = !f.phase;
        f.pending = f.expected;
        found->phase++;
        found->ready = found->latest;
        found->latest = 0;
    }
    store(o, found, f);
    return true;
}

bool mbarrier_complete(Machine *m, Warp *w, const Ins *in, int lane, Block *b, uint64_t at,
                       int64_t bytes, double clock) {
    Who o = {.m = m, .w = w, .in = in, .lane = lane, .block = b, .at = at};
    return change(&o, 0, 0, -bytes, false, clock);
}

bool mbarrier_arrive(Machine *m, Warp *w, const Ins *in, int lane, Block *b, uint64_t at,
                     double clock) {
    Who o = {.m = m, .w = w, .in = in, .lane = lane, .block = b, .at = at};
    return change(&o, 1, 0, 0, false, clock);
}

bool mbarrier_await(Machine *m, Warp *w, const Ins *in, int lane, Block *b, uint64_t at, int more) {
    Who o = {.m = m, .w = w, .in = in, .lane = lane, .block = b, .at = at};
    Mbarrier *found = object(&o);
    if (found == NULL) return false;
    Fields f = fields_of(found->value);
    if (f.pending + (uint32_t)more > MOST_COUNT)
        return wrong(&o, EMU_LAUNCH_ERROR, "more than 1048575 arrivals are pending");
    f.pending += (uint32_t)more;
    if (more) store(&o, found, f);
    return true;
}

/* Several threads that make the same object write one value: a benign race. */
static bool init(const Who *o, uint64_t count) {
    if (count < 1 || count > MOST_COUNT)
        return wrong(o, EMU_LAUNCH_ERROR, "a count that is not from 1 to 1048575");
    Fields f = {.expected = (uint32_t)count, .pending = (uint32_t)count};
    uint64_t value = value_of(f);
    if (!mem_look_at(&o->seen, o->block->shared + o->at, &value)) return false;
    store(o, add(&o->block->mbarriers, o->at), f);
    return true;
}

/* What is under way for the object is over before the object is. */
static bool inval(const Who *o) {
    bool more = true;
    while (more) {
        if (!copies_arrive(o->m, o->at, &more)) return false;
        if (!more && !bulk_arrive(o->m, o->block, o->at, &more)) return false;
    }
    Mbarrier *found = object(o);
    if (found == NULL) return false;
    drop(&o->block->mbarriers, found);
    o->w->moved = true;
    return true;
}

/* --- waiting --- */

/* Who waits again for a phase that is over, while the next is under way, takes what the next one
** brings before it is there: the parity was not turned. */
static bool note_wait(const Who *o, Mbarrier *found) {
    int thread = o->w->index * LANES + o->lane;
    Fields f = fields_of(found->value);
    bool under_way = f.pending != f.expected || f.bytes != 0;
    if (o->m->shadow == NULL || !o->m->launch->check_races) return true;
    if (found->waited == NULL) found->waited = gi_alloc(LANES * LANES * sizeof *found->waited);
    bool again = found->phase > 0 && found->waited[thread] == (uint32_t)found->phase;
    found->waited[thread] = (uint32_t)found->phase;
    if (!again || !under_way || fault_is_known(o->m, o->w, o->in, EMU_RACE)) return true;
    fault_access(o->m, o->w, o->in, o->lane, EMU_RACE,
                 "waits a second time for phase %llu of the mbarrier in shared memory at 0x%llx, "
                 "while phase %llu is under way",
                 (unsigned long long)found->phase - 1, (unsigned long long)o->at,
                 (unsigned long long)found->phase);
    return !o->m->ended;
}

static bool is_over(const Mbarrier *o, bool phase) {
    return fields_of(o->value).phase != phase;
}

/* Completes what is under way until the phase is over; *over: is it? False after a fault. */
static bool settle(const Who *o, bool phase, bool *over) {
    Mbarrier *found;
    bool more = true;
    while ((found = object(o)) && !is_over(found, phase) && more) {
        if (!copies_arrive(o->m, o->at, &more)) return false;
        if (!more && !bulk_arrive(o->m, o->block, o->at, &more)) return false;
    }
    *over = found && is_over(found, phase);
    return found != NULL;
}

/* The wait ends when the phase did. */
static void catch_up(Warp *w, const Ins *in, const Mbarrier *o) {
    double late = o->ready - warp_clock(w, in);
    if (late > 0) w->clock += late;
}

static bool wait_lane(const Who *o, const MbarForm *f, uint64_t what, bool *over) {
    bool phase = f->parity ? what & 1 : fields_of(what).phase;
    if (!settle(o, phase, over)) return false;
    Mbarrier *found = find(&o->block->mbarriers, o->at);
    if (!*over) return true;
    catch_up(o->w, o->in, found);
    if (!mem_look_at(&o->seen, o->block->shared + o->at, NULL)) return false;
    return !f->parity || note_wait(o, found);
}

/* The warp has nothing to do but to wait: its turn is over. */
static void give_up(Warp *w, const Ins *in, uint64_t what, uint64_t at) {
    warp_saw(w, in, what, PTX_SHARED, at);
    w->failed = true;
    if (w->fuel <= 0) return;
    w->spared += w->fuel;
    w->fuel = 0;
}

/* --- instructions --- */

/* Finds the object's place, and has the checks look at the access. False after a fault. */
static bool place(Who *o, const MbarForm *f, uint64_t address) {
    bool waits = f->op == MBAR_WAIT, plain = f->op == MBAR_INIT;
    unsigned order = plain ? 0 : ORDER_STRONG;
    if (!plain && !waits) order |= ORDER_ATOMIC | ORDER_BLIND;
    if (!plain && !f->relaxed) order |= waits ? ORDER_ACQUIRE : ORDER_RELEASE;
    Access a = {o->m,    o->w, o->in,  o->lane,        (PtxSpace)f->space,
                address, 8,    !waits, (uint16_t)order};
    uint8_t *p = mem_atomic(&a);
    if (p == NULL) return false;
    if (a.space != PTX_SHARED || a.address - RESERVED_AT < RESERVED_BYTES)
        return fault_raise(o->m, o->w, o->in, o->lane, EMU_ILLEGAL_ADDRESS,
                           "an mbarrier lies in shared memory, and 0x%llx does not",
                           (unsigned long long)address);
    bool here = waits || plain || f->op == MBAR_INVAL;
    if (here && cluster_block(o->m, a.address) != o->m->block)
        return fault_raise(o->m, o->w, o->in, o->lane, EMU_ILLEGAL_ADDRESS,
                           "an mbarrier of another block can be arrived at, and no more");
    if (plain) exact_leave_integers(&a);
    o->block = cluster_block(o->m, a.address);
    o->at = cluster_offset(a.address);
    o->seen = a;
    uint64_t other = ~(uint64_t)0; /* its value changes */
    return waits || plain || mem_look_at(&a, p, &other);
}

static bool run_lane(const Who *o, const MbarForm *f, uint64_t b, bool *over) {
    double clock = warp_clock(o->w, o->in);
    bool counts = f->op == MBAR_ARRIVE || f->op == MBAR_DROP;
    uint32_t n = counts && !f->expects ? (uint32_t)b : counts;
    switch ((MbarOp)f->op) {
    case MBAR_INIT: return init(o, b);
    case MBAR_INVAL: return inval(o);
    case MBAR_WAIT: return wait_lane(o, f, b, over);
    case MBAR_COMPLETE: return change(o, 0, 0, -(int64_t)b, false, clock);
    default: break;
    }
    if (counts && (n < 1 || n > MOST_COUNT))
        return wrong(o, EMU_LAUNCH_ERROR, "a count that is not from 1 to 1048575");
    int64_t bytes = f->op == MBAR_EXPECT || f->expects ? (int64_t)b : 0;
    /* what is expected is there before the arrival that may end the phase */
    return change(o, n, f->op == MBAR_DROP ? n : 0, bytes, f->incomplete, clock);
}

static uint64_t value_at(const Who *o) {
    const Mbarrier *found = find(&o->block->mbarriers, o->at);
    return found ? found->value : 0;
}

bool mbarrier_do(Machine *m, Warp *w, const Ins *in) {
    MbarForm f;
    uint64_t at[LANES], seen = 0, first = 0;
    uint32_t over = 0, waits = 0;
    memcpy(&f, &in->imm, sizeof f);
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    mem_addresses(w, in->a, f.wide, 0, at);
    if (m->shadow) shadow_step(m);
    bool state = f.op == MBAR_WAIT && !f.parity;
    for (uint32_t left = w->active; left;) {
        int i = lane_next(m, &left);
        Who o = {.m = m, .w = w, .in = in, .lane = i};
        bool is = false;
        if (!place(&o, &f, at[i])) {
            if (m->ended) return false;
            continue;
        }
        uint64_t before = value_at(&o), b = lane_word(w, in->b, state, i);
        if (!run_lane(&o, &f, b, &is)) return false;
        if (f.op == MBAR_WAIT) *(is ? &over : &waits) |= 1u << i;
        else if (f.result) ((U64 *)(void *)row_at(w, in->d))[i] = before;
        if (f.op != MBAR_WAIT || is) continue;
        seen = (seen ^ o.at ^ before) * 0xd6e8feb86659fd93u;
        first = first ? first : o.at;
    }
    if (f.op != MBAR_WAIT) return true;
    pred_set(w, in->d, over, w->active);
    if (waits) give_up(w, in, seen, first);
    return true;
}

/* pending_count of a state: a, into d. */
bool mbarrier_pending(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    FOR_ACTIVE(w, i) LANE(U32, w, in->d, i) = fields_of(LANE(U64, w, in->a, i)).pending;
    return true;
}
