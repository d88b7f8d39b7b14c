/* race.c - who touched a byte of memory, and do two touches of it race.
**
** Two accesses to a byte by different threads, at least one a write, race when they are not in
** order (order.c; and a strong write that a thread has seen is before what it does then) and not
** morally strong in the sense of the PTX memory model: both strong (atomic, volatile, .relaxed,
** .acquire, .release), each of a scope that has the other's thread in it. Lanes of one instruction
** that write the same value to a byte repeat each other's work, and do not race. An atomic that
** leaves the bytes as they are, as a compare-and-swap that fails, reads.
**
** A race is benign, no fault but a warning, where nothing can come of it: both write the same
** value, one writes what was there before, or what is read is what a compare-and-swap there
** expects, and the write is atomic.
**
** Two kinds of strong accesses are reported all the same, as volatile promises less than programs
** take from it: a value is lost, where one of two writes is volatile and the later one's thread
** cannot have seen the earlier; a value is read and used, and no test of it can tell whether it is
** there yet. Two more kinds are reported. Accesses under a lock that one of two threads took
** without a fence (lock.c). Loads through a cache that keeps no order with the launch's writes
** (ld.global.nc, __ldg), of bytes that the launch has changed.
**
** A byte remembers its last writer, an atomic one by another thread before that, who wrote before
** atomics did, and two of its readers. Memory is kept track of by words of four bytes, where
** something smaller touches a page by bytes.
*/
#include "emu/check/shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two lines of the processor's cache; loads of unwritten bytes mostly need the first. */
typedef struct Cell {
    _Alignas(128) Touch write;
    Touch read[2];
    uint64_t changed; /* time of the last write that left other bytes than there were; 0: none */
    Marks marks;
    uint32_t atomics; /* of Cells.atomics, from 1; 0: no atomic wrote here after another write */
} Cell;

/* Earlier writes of a cell that atomics write to; see note_write. */
typedef struct Atomics {
    Touch other, plain;
} Atomics;

enum { PAGE_BYTES = 1024, WORD = 4 };

typedef struct Page {
    Cell *cell;
    unsigned grain; /* bytes a cell: WORD or 1 */
} Page;

struct Cells {
    Page *page;
    uint64_t n;
    bool by_bytes; /* throughout */
    Watch *watch;  /* or NULL */
    Atomics *atomics;
    int n_atomics, cap_atomics;
};

Cells *cells_new(uint64_t bytes, bool by_bytes, Watch *watch) {
    Cells *c = gi_alloc(sizeof *c);
    c->by_bytes = by_bytes;
    c->watch = watch;
    c->n = bytes / PAGE_BYTES + 1;
    c->page = gi_alloc(c->n * sizeof *c->page);
    return c;
}

void cells_free(Cells *c) {
    if (c == NULL) return;
    for (uint64_t i = 0; i < c->n; i++) free(c->page[i].cell);
    free(c->page);
    free(c->atomics);
    free(c);
}

void cells_clear(Cells *c) {
    for (uint64_t i = 0; i < c->n; i++) {
        Page *p = &c->page[i];
        if (p->cell) memset(p->cell, 0, PAGE_BYTES / p->grain * sizeof *p->cell);
    }
    c->n_atomics = 0;
}

static Cell *new_cells(size_t n) {
    Cell *cell = aligned_alloc(_Alignof(Cell), n * sizeof *cell);
    if (cell == NULL) gi_no_memory(n * sizeof *cell);
    return memset(cell, 0, n * sizeof *cell);
}

static void new_page(Page *p, unsigned grain) {
    *p = (Page){new_cells(PAGE_BYTES / grain), grain};
}

static uint32_t new_atomics(Cells *c, Atomics a) {
    gi_grow(c->atomics, c->n_atomics, c->cap_atomics);
    c->atomics[c->n_atomics++] = a;
    return (uint32_t)c->n_atomics;
}

static const Atomics *atomics_of(const Cells *c, const Cell *cell) {
    static const Atomics none;
    return cell->atomics ? &c->atomics[cell->atomics - 1] : &none;
}

static void split_page(Cells *c, Page *p) {
    Cell *bytes = new_cells(PAGE_BYTES);
    for (int i = 0; i < PAGE_BYTES; i++) {
        bytes[i] = p->cell[i / WORD];
        if (bytes[i].atomics) bytes[i].atomics = new_atomics(c, *atomics_of(c, &bytes[i]));
    }
    free(p->cell);
    *p = (Page){bytes, 1};
}

/* The cell of a byte, for an access of so many; *grain: bytes that it stands for. */
static inline Cell *cell_at(Cells *c, uint64_t at, unsigned bytes, unsigned *grain) {
    Page *p = &c->page[at / PAGE_BYTES];
    bool is_small = bytes < WORD || c->by_bytes;
    if (p->cell == NULL) new_page(p, is_small ? 1 : WORD);
    if (is_small && p->grain == WORD) split_page(c, p);
    *grain = p->grain;
    return &p->cell[at % PAGE_BYTES / p->grain];
}

/* --- what a race is --- */

typedef enum Verdict {
    IN_ORDER,
    BENIGN_VALUE,
    BENIGN_EXPECTED,
    GUILTY,
    GUILTY_SCOPE,
    GUILTY_CLUSTER,
    GUILTY_LAST,
    GUILTY_UNTESTED,
    GUILTY_LOCK,
    GUILTY_STALE
} Verdict;

/* order_is_over, which it asks where that is not at once clear. */
static inline bool is_over(const BlockOrder *b, const Touch *then, const Touch *now) {
    if (then->time == 0) return true;
    bool is_here = then->block == now->block;
    if (is_here && (then->thread == now->thread || then->epoch != now->epoch)) return true;
    return order_is_over(b, then, now->thread, now->order & ORDER_STRONG);
}

/* What an access does that is judged: its touch, whether it writes, and whether the bytes stay as
** they are. */
typedef struct Deed {
    const Touch *by;
    bool writes, same;
} Deed;

static bool is_thread(const Touch *a, const Touch *b) {
    return a->thread == b->thread && a->block == b->block;
}

/* Did a strong read that the thread knows of see that strong write, or what came of it by atomics?
** (The ISA's observation order, and causality behind it.) */
static bool is_observed(const BlockOrder *b, const Cell *cell, const Touch *then,
                        const Touch *now) {
    const Touch *reads[] = {&cell->write, &cell->read[0], &cell->read[1]};
    if (!(then->order & ORDER_STRONG)) return false;
    for (int k = cell->write.order & ORDER_ATOMIC ? 0 : 1; k < 3; k++) {
        const Touch *z = reads[k];
        bool sees = z->time > then->time && z->order & ORDER_STRONG;
        if (sees && is_over(b, z, now)) return true;
    }
    return false;
}

/* Can the writer have known what it writes over? Any thread of its block may have told it. */
static bool has_seen(const Cell *cell, const Touch *now) {
    for (int k = 0; k < 2; k++)
        if (cell->read[k].block == now->block && cell->read[k].time > cell->write.time) return true;
    return false;
}

/* Of two strong accesses, in no order. */
static Verdict judge_strong(const BlockOrder *b, const Cell *cell, const Touch *then,
                            bool then_writes, const Deed *now) {
    int one = then->order | now->by->order, both = then->order & now->by->order;
    Scope needs = one & (ORDER_BLOCK | ORDER_CLUSTER) ? order_scope(b, then->block) : FENCE_BLOCK;
    if (one & ORDER_BLOCK && needs > FENCE_BLOCK) return GUILTY_SCOPE;
    if (one & ORDER_CLUSTER && needs > FENCE_CLUSTER) return GUILTY_CLUSTER;
    if (!(one & ORDER_VOLATILE)) return IN_ORDER;
    if (!(now->writes && then_writes)) {
        return both & ORDER_VOLATILE && !(one & ORDER_TESTED) ? GUILTY_UNTESTED : IN_ORDER;
    }
    bool is_blind = now->by->order & (ORDER_VOLATILE | ORDER_BLIND) && !now->same;
    return is_blind && then == &cell->write && !has_seen(cell, now->by) ? GUILTY_LAST : IN_ORDER;
}

static Verdict judge(const BlockOrder *b, const Cell *cell, const Touch *then, bool then_writes,
                     const Deed *now) {
    const Touch *by = now->by;
    bool same = now->writes && now->same;
    int one = then->order | by->order;
    bool is_wide = !(one & (ORDER_BLOCK | ORDER_CLUSTER | ORDER_VOLATILE));
    if (then->order & by->order & ORDER_ATOMIC && is_wide) return IN_ORDER;
    if (then->time == by->time && same) return IN_ORDER;
    if (is_over(b, then, by)) {
        bool bare = lock_is_bare(b, then, by->thread) && !(then->order & by->order & ORDER_ATOMIC);
        return bare ? GUILTY_LOCK : IN_ORDER;
    }
    if (then_writes ? is_observed(b, cell, then, by) : order_read_is_over(b, then)) return IN_ORDER;
    if (then->order & by->order & ORDER_STRONG)
        return judge_strong(b, cell, then, then_writes, now);
    if (same && (then_writes || cell->changed < then->time)) return BENIGN_VALUE;
    if (!now->writes && cell->changed == 0) return BENIGN_VALUE;
    const Touch *write = now->writes ? by : then, *other = now->writes ? then : by;
    return write->order & ORDER_ATOMIC && other->order & ORDER_EXPECTED ? BENIGN_EXPECTED : GUILTY;
}

/* --- what is said of it --- */

static void describe_then(const Access *a, const Touch *then, Verdict v, char *out, size_t cap) {
    static const char *const why[] = {
        [BENIGN_VALUE] = "; it changes nothing",
        [BENIGN_EXPECTED] = "; a compare-and-swap expects it",
        [GUILTY] = "",
        [GUILTY_SCOPE] = "; an access of the block's scope is atomic for its own block alone",
        [GUILTY_CLUSTER] = "; an access of the cluster's scope is atomic for its own cluster alone",
        [GUILTY_LAST] = "; which of the two values stays is not certain",
        [GUILTY_UNTESTED] = "; volatile orders nothing, and the value is used without a test",
        [GUILTY_LOCK] = "; it has taken the lock without a fence behind that",
        [GUILTY_STALE] = "; it may get what was there before the launch"};
    const unsigned *g = a->m->launch->grid;
    bool elsewhere = then->block != block_number(a->m);
    char block[80] = " of the block", line[40] = "";
    if (elsewhere)
        snprintf(block, sizeof block, " of block (%u,%u,%u)", then->block % g[0],
                 then->block / g[0] % g[1], then->block / g[0] / g[1]);
    if (then->src_line) snprintf(line, sizeof line, ", source line %d", then->src_line);
    snprintf(out, cap, "thread %u%s (PTX line %d%s)%s%s", then->thread, block, then->ptx_line, line,
             v == GUILTY_STALE ? ""
             : elsewhere       ? " with nothing that orders them"
                               : " with no barrier between them",
             why[v]);
}

static void tell(const Access *a, const Deed *now, const Touch *then, bool then_writes, Verdict v) {
    char where[300], who[300];
    const bool refused = v >= GUILTY || a->m->launch->refuse_benign_races;
    if (refused ? fault_is_known(a->m, a->w, a->in, EMU_RACE)
                : fault_is_noted(a->m, a->w, a->in, EMU_WARN_BENIGN_RACE))
        return;
    mem_describe(a, where, sizeof where);
    describe_then(a, then, v, who, sizeof who);
    const char *this = now->writes         ? "write"
                       : v == GUILTY_STALE ? "read by the read-only cache (ld.global.nc, __ldg)"
                                           : "read";
    const char *that = then_writes ? "write" : "read";
    if (refused)
        fault_access(a->m, a->w, a->in, a->lane, EMU_RACE, "race in %s: this %s and the %s by %s",
                     where, this, that, who);
    else
        fault_note(a->m, a->w, a->in, a->lane, EMU_WARN_BENIGN_RACE,
                   "benign race in %s: this %s and the %s by %s", where, this, that, who);
}

/* --- one access --- */

/* A reader that is not over stays where a strong one would take its place: strong reads race with
** less. */
static inline void note_read(const BlockOrder *b, Cell *cell, const Touch *now) {
    int k = !is_over(b, &cell->read[0], now);
    bool weaker = k && now->order & ORDER_STRONG && !(cell->read[1].order & ORDER_STRONG);
    if (!weaker || is_over(b, &cell->read[1], now)) cell->read[k] = *now;
}

static Atomics *want_atomics(Cells *c, Cell *cell) {
    if (cell->atomics == 0) cell->atomics = new_atomics(c, (Atomics){0});
    return &c->atomics[cell->atomics - 1];
}

/* plain: what atomics wrote over; other: an atomic by another thread than the last one's. */
static inline void note_write(Cells *c, Cell *cell, const Touch *now) {
    if (!(now->order & ORDER_ATOMIC)) {
        if (cell->atomics) c->atomics[cell->atomics - 1] = (Atomics){0};
    } else if (cell->write.time && !(cell->write.order & ORDER_ATOMIC)) {
        want_atomics(c, cell)->plain = cell->write;
    } else if (cell->write.time && !is_thread(&cell->write, now)) {
        want_atomics(c, cell)->other = cell->write;
    }
    cell->write = *now;
}

static inline void note(const BlockOrder *b, Cells *c, Cell *cell, const Deed *now) {
    if (now->writes) note_write(c, cell, now->by);
    else note_read(b, cell, now->by);
    if (now->writes && !now->same) cell->changed = now->by->time;
}

/* Judges the access against what a cell remembers. The worst is in *v, with the touch that it is
** about. */
static void check_cell(const BlockOrder *b, const Cells *c, const Cell *cell, const Deed *now,
                       Verdict *v, Touch *then, bool *then_writes) {
    const Atomics *before = atomics_of(c, cell);
    const Touch *others[] = {&cell->write, &before->other, &before->plain, &cell->read[0],
                             &cell->read[1]};
    for (int k = 0; k < (now->writes ? 5 : 3); k++) {
        Verdict one = others[k]->time ? judge(b, cell, others[k], k < 3, now) : IN_ORDER;
        if (k == 0 && now->by->order & ORDER_CACHED && cell->changed) one = GUILTY_STALE;
        if (one > *v) *v = one, *then = *others[k], *then_writes = k < 3;
    }
}

/* A grain is a word or a byte. */
static inline bool is_same(const uint8_t *memory, const void *value, unsigned k, unsigned grain) {
    const uint8_t *stored = (const uint8_t *)value + k;
    if (value == NULL) return false;
    return grain == WORD ? memcmp(stored, memory + k, WORD) == 0 : *stored == memory[k];
}

void race_check(const Access *a, const BlockOrder *b, Cells *cells, uint64_t at, const Touch *now,
                const uint8_t *memory, const void *value) {
    Verdict worst = IN_ORDER;
    Deed worst_now = {0};
    Touch then = {0};
    bool then_writes = false;
    for (unsigned k = 0, grain; k < a->bytes; k += grain) {
        Cell *cell = cell_at(cells, at + k, a->bytes, &grain);
        Deed deed = {now, a->is_write, is_same(memory, value, k, grain)};
        Verdict before = worst;
        if (cells->watch)
            watch_touch(cells->watch, &cell->marks, now, a->is_write, &cell->write, cell->read);
        if (now->order & ORDER_ATOMIC && deed.same) deed.writes = false;
        check_cell(b, cells, cell, &deed, &worst, &then, &then_writes);
        if (worst > before) worst_now = deed;
        if (!(now->order & ORDER_GROUP)) note(b, cells, cell, &deed);
    }
    if (worst != IN_ORDER) tell(a, &worst_now, &then, then_writes, worst);
}

/* Is all over that a plain access might race with? */
static inline bool is_cell_over(const BlockOrder *b, const Cells *c, const Cell *cell,
                                const Touch *now, bool writes) {
    if (!is_over(b, &cell->write, now)) return false;
    if (now->order & ORDER_CACHED && cell->changed) return false;
    if (cell->atomics) {
        const Atomics *before = atomics_of(c, cell);
        if (!(is_over(b, &before->other, now) && is_over(b, &before->plain, now))) return false;
    }
    return !writes || (is_over(b, &cell->read[0], now) && is_over(b, &cell->read[1], now));
}

static inline bool is_none(const Access *a, const BlockOrder *b, Cells *cells, uint64_t at,
                           const Touch *now, const uint8_t *memory, const uint8_t *value) {
    for (unsigned k = 0, grain; k < a->bytes; k += grain) {
        Cell *cell = cell_at(cells, at + k, a->bytes, &grain);
        if (!is_cell_over(b, cells, cell, now, a->is_write)) return false;
        Deed deed = {now, a->is_write, is_same(memory, value, k, grain)};
        if (cells->watch)
            watch_touch(cells->watch, &cell->marks, now, a->is_write, &cell->write, cell->read);
        note(b, cells, cell, &deed);
    }
    return true;
}

bool race_is_none(const Access *a, const BlockOrder *b, Cells *cells, uint64_t from,
                  const uint64_t *at, Touch now, const uint8_t *memory, const uint8_t *values) {
    const int warp = a->w->index;
    for (uint32_t left = a->w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const uint8_t *value = values ? values + (size_t)i * a->bytes : NULL;
        now.thread = (uint16_t)(warp * LANES + i);
        now.lane_epoch = b->met[warp][i][i] + 1;
        if (!is_none(a, b, cells, from + at[i], &now, memory + at[i], value)) return false;
    }
    return true;
}

bool race_last_write(const Cells *cells, uint64_t at, Touch *out) {
    const Page *p = at / PAGE_BYTES < cells->n ? &cells->page[at / PAGE_BYTES] : NULL;
    const Cell *cell = p && p->cell ? &p->cell[at % PAGE_BYTES / p->grain] : NULL;
    if (cell == NULL || cell->write.time == 0) return false;
    *out = cell->write;
    return true;
}

bool race_writer(const Cells *cells, uint64_t at, uint32_t *block, int *thread) {
    Touch write;
    if (!race_last_write(cells, at, &write)) return false;
    *block = write.block;
    *thread = write.thread;
    return true;
}
