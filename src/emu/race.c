/* race.c - who touched a byte of memory, and do two touches of it race.
**
** Two accesses to a byte by different threads, at least one a write, not both atomic, race when
** they are not in order (order.c). Lanes of one instruction that write the same value to a byte do
** not: they repeat each other's work. A race is benign, no fault but a warning, where nothing can
** come of it:
**   - both write the same value, or one writes what was there before;
**   - a flag: both accesses are strong (volatile, .relaxed, .acquire, .release, atomic), and what
**     is read is only compared with something; or one is atomic, the other writes, as to a lock;
**   - what is read is what a compare-and-swap there expects, and the write is atomic.
**
** A byte remembers its last writer, two of its readers, and who wrote before atomics did: two
** atomics are in order, and each may race with that write. Memory is kept track of by words of four
** bytes, where something smaller touches a page by bytes.
*/
#include "emu/shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Cell {
    Touch write, plain, read[2]; /* plain: what atomics wrote over */
    uint64_t changed; /* time of the last write that left other bytes than there were; 0: none */
    Marks marks;
} Cell;

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
    free(c);
}

void cells_clear(Cells *c) {
    for (uint64_t i = 0; i < c->n; i++) {
        Page *p = &c->page[i];
        if (p->cell) memset(p->cell, 0, PAGE_BYTES / p->grain * sizeof *p->cell);
    }
}

static void split_page(Page *p) {
    Cell *bytes = gi_alloc(PAGE_BYTES * sizeof *bytes);
    for (int i = 0; i < PAGE_BYTES; i++) bytes[i] = p->cell[i / WORD];
    free(p->cell);
    *p = (Page){bytes, 1};
}

/* The cell of a byte, for an access of so many; *grain: bytes that it stands for. */
static inline Cell *cell_at(Cells *c, uint64_t at, unsigned bytes, unsigned *grain) {
    Page *p = &c->page[at / PAGE_BYTES];
    if (p->cell == NULL)
        *p = (Page){gi_alloc(PAGE_BYTES / WORD * sizeof(Cell)), WORD};
    if ((bytes < WORD || c->by_bytes) && p->grain == WORD) split_page(p);
    *grain = p->grain;
    return &p->cell[at % PAGE_BYTES / p->grain];
}

/* --- what a race is --- */

typedef enum Verdict { IN_ORDER, BENIGN_VALUE, BENIGN_FLAG, BENIGN_EXPECTED, GUILTY } Verdict;

static bool is_flag(const Touch *write, const Touch *other, bool other_writes) {
    if (!(write->order & other->order & ORDER_STRONG)) return false;
    if ((write->order | other->order) & ORDER_ATOMIC) return true;
    return !other_writes && other->order & ORDER_COMPARED;
}

/* same: the write of now leaves the bytes as they are. */
static Verdict judge(const BlockOrder *b, const Cell *cell, const Touch *then, bool then_writes,
                     const Touch *now, bool now_writes, bool same) {
    if (then->time == 0 || then->order & now->order & ORDER_ATOMIC) return IN_ORDER;
    if (then->time == now->time && same) return IN_ORDER;
    if (order_is_over(b, then, now->thread)) return IN_ORDER;
    if (now_writes && same && (then_writes || cell->changed < then->time)) return BENIGN_VALUE;
    if (!now_writes && cell->changed == 0) return BENIGN_VALUE;
    const Touch *write = now_writes ? now : then, *other = now_writes ? then : now;
    if (is_flag(write, other, now_writes && then_writes)) return BENIGN_FLAG;
    return write->order & ORDER_ATOMIC && other->order & ORDER_EXPECTED ? BENIGN_EXPECTED : GUILTY;
}

/* --- what is said of it --- */

static void describe_then(const Access *a, const Touch *then, char *out, size_t cap) {
    const unsigned *g = a->m->launch->grid;
    bool elsewhere = then->block != block_number(a->m);
    char block[80] = " of the block", line[40] = "";
    if (elsewhere)
        snprintf(block, sizeof block, " of block (%u,%u,%u)", then->block % g[0],
                 then->block / g[0] % g[1], then->block / g[0] / g[1]);
    if (then->src_line) snprintf(line, sizeof line, ", source line %d", then->src_line);
    snprintf(out, cap, "thread %u%s (PTX line %d%s) with %s", then->thread, block, then->ptx_line,
             line, elsewhere ? "nothing that orders them" : "no barrier between them");
}

static void tell(const Access *a, const Touch *then, bool then_writes, Verdict v) {
    char where[300], who[200];
    const bool refused = v == GUILTY || a->m->launch->refuse_benign_races;
    if (refused ? fault_is_known(a->m, a->w, a->in, EMU_RACE)
                : fault_is_noted(a->m, a->w, a->in, EMU_WARN_BENIGN_RACE))
        return;
    mem_describe(a, where, sizeof where);
    describe_then(a, then, who, sizeof who);
    const char *this = a->is_write ? "write" : "read", *that = then_writes ? "write" : "read";
    static const char *const why[] = {"", "; it changes nothing", "; a flag",
                                      "; a compare-and-swap expects it", ""};
    if (refused)
        fault_access(a->m, a->w, a->in, a->lane, EMU_RACE,
                     "race in %s: this %s and the %s by %s%s", where, this, that, who, why[v]);
    else
        fault_note(a->m, a->w, a->in, a->lane, EMU_WARN_BENIGN_RACE,
                   "benign race in %s: this %s and the %s by %s%s", where, this, that, who, why[v]);
}

/* --- one access --- */

/* order_is_over, which it asks where that is not at once clear. */
static inline bool is_over(const BlockOrder *b, const Touch *then, const Touch *now) {
    if (then->time == 0) return true;
    bool is_here = then->block == now->block;
    if (is_here && (then->thread == now->thread || then->epoch != now->epoch)) return true;
    return order_is_over(b, then, now->thread);
}

static void note_read(const BlockOrder *b, Cell *cell, const Touch *now) {
    cell->read[!is_over(b, &cell->read[0], now)] = *now;
}

static void note_write(Cell *cell, const Touch *now) {
    if (!(now->order & ORDER_ATOMIC)) cell->plain.time = 0;
    else if (!(cell->write.order & ORDER_ATOMIC)) cell->plain = cell->write;
    cell->write = *now;
}

static void note(const BlockOrder *b, Watch *watch, Cell *cell, const Touch *now, bool is_write,
                 bool same) {
    if (watch) watch_touch(watch, &cell->marks, now, is_write, &cell->write, cell->read);
    if (!is_write) {
        note_read(b, cell, now);
        return;
    }
    note_write(cell, now);
    if (!same) cell->changed = now->time;
}

/* Judges the access against what a cell remembers, and has it remember the access. The worst is in
** *v, with the touch that it is about. */
static void check_cell(const BlockOrder *b, Watch *watch, Cell *cell, const Touch *now,
                       bool is_write, bool same, Verdict *v, Touch *then, bool *then_writes) {
    const Touch *others[] = {&cell->write, &cell->plain, &cell->read[0], &cell->read[1]};
    for (int k = 0; k < (is_write ? 4 : 2); k++) {
        Verdict one = judge(b, cell, others[k], k < 2, now, is_write, same);
        if (one > *v) *v = one, *then = *others[k], *then_writes = k < 2;
    }
    note(b, watch, cell, now, is_write, same);
}

void race_check(const Access *a, const BlockOrder *b, Cells *cells, uint64_t at, const Touch *now,
                const uint8_t *memory, const void *value) {
    Verdict worst = IN_ORDER;
    Touch then = {0};
    bool then_writes = false;
    for (unsigned k = 0, grain; k < a->bytes; k += grain) {
        Cell *cell = cell_at(cells, at + k, a->bytes, &grain);
        bool same = value && memcmp((const uint8_t *)value + k, memory + k, grain) == 0;
        check_cell(b, cells->watch, cell, now, a->is_write, same, &worst, &then, &then_writes);
    }
    if (worst != IN_ORDER) tell(a, &then, then_writes, worst);
}

bool race_is_none(const Access *a, const BlockOrder *b, Cells *cells, uint64_t at, const Touch *now,
                  const uint8_t *memory, const void *value) {
    for (unsigned k = 0, grain; k < a->bytes; k += grain) {
        Cell *cell = cell_at(cells, at + k, a->bytes, &grain);
        if (!is_over(b, &cell->write, now) || !is_over(b, &cell->plain, now)) return false;
        if (a->is_write && !(is_over(b, &cell->read[0], now) && is_over(b, &cell->read[1], now)))
            return false;
        bool same = value && memcmp((const uint8_t *)value + k, memory + k, grain) == 0;
        note(b, cells->watch, cell, now, a->is_write, same);
    }
    return true;
}
