/* happens.c - see happens.h. */
#include "runtime/happens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/copy.h"
#include "runtime/module.h"
#include "runtime/report.h"

/* Bytes of a region, by their offsets: all from lo to hi, or those of them that have a bit; then lo
** is a multiple of 8. */
typedef struct Bytes {
    uint64_t lo, hi;
    uint8_t *bits; /* its own; NULL: all */
} Bytes;

/* An access that the host does not know to be over. */
typedef struct Access {
    uint64_t region; /* address */
    Bytes bytes;
    bool writes;
    uint32_t line;
    uint64_t seq;
    uint8_t
        *seen; /* what the region held from lo to hi then, where the host may write to it; NULL */
    bool
        is_told; /* the host touched it too early, or may: the kernel writes for one who looks on */
    char what[200];
    struct Access *next;
} Access;

enum { MOST_ACCESSES = 4096 }; /* older ones are forgotten: they count as ordered */

static Access *accesses; /* the last first */
static int n_accesses;
static Clock host;
static uint32_t lines;

/* --- clocks --- */

static void clock_set(Clock *c, uint32_t line, uint64_t seq) {
    if (line >= c->n) {
        c->at = gi_realloc(c->at, (line + 1) * sizeof *c->at);
        memset(c->at + c->n, 0, (line + 1 - c->n) * sizeof *c->at);
        c->n = line + 1;
    }
    if (c->at[line] < seq) c->at[line] = seq;
}

static uint64_t clock_at(const Clock *c, uint32_t line) {
    return line < c->n ? c->at[line] : 0;
}

void clock_join(Clock *to, const Clock *from) {
    for (uint32_t i = 0; i < from->n; i++) clock_set(to, i, from->at[i]);
}

void clock_free(Clock *c) {
    free(c->at);
    *c = (Clock){0};
}

static Clock clock_copy(const Clock *c) {
    Clock copy = {0};
    clock_join(&copy, c);
    return copy;
}

/* --- sets of bytes --- */

/* Eight of them, from a multiple of 8 on. */
static uint8_t eight(const Bytes *b, uint64_t at) {
    if (b->bits) return at < b->lo || at >= b->hi ? 0 : b->bits[(at - b->lo) / 8];
    uint8_t from = at >= b->lo ? 0xff : b->lo - at < 8 ? (uint8_t)(0xff << (b->lo - at)) : 0;
    uint8_t to = b->hi >= at + 8 ? 0xff : b->hi > at ? (uint8_t)(0xff >> (at + 8 - b->hi)) : 0;
    return from & to;
}

/* The first byte of both; false: there is none. */
static bool meet(const Bytes *a, const Bytes *b, uint64_t *first) {
    uint64_t lo = (a->lo > b->lo ? a->lo : b->lo) & ~(uint64_t)7;
    uint64_t hi = a->hi < b->hi ? a->hi : b->hi;
    for (uint64_t at = lo; at < hi; at += 8) {
        unsigned both = eight(a, at) & eight(b, at);
        if (both == 0) continue;
        *first = at + (unsigned)__builtin_ctz(both);
        return true;
    }
    return false;
}

/* Of a map of `size` bytes, those from the first to the last that are set; hi 0: none. */
static Bytes of_map(const uint8_t *map, uint64_t size) {
    uint64_t n = size / 8 + 1, from = 0, to = n, dense = 1;
    while (from < n && map[from] == 0) from++;
    while (to > from && map[to - 1] == 0) to--;
    if (from == to) return (Bytes){0, 0, NULL};
    for (uint64_t k = from; k < to; k++) dense &= map[k] == 0xff;
    Bytes b = {from * 8, to * 8, NULL};
    if (!dense) b.bits = memcpy(gi_alloc(to - from), map + from, to - from);
    return b;
}

/* --- accesses --- */

static void drop(Access **at) {
    Access *a = *at;
    *at = a->next;
    free(a->bytes.bits);
    free(a->seen);
    free(a);
    n_accesses--;
}

static void forget_oldest(void) {
    Access **at = &accesses;
    while ((*at)->next) at = &(*at)->next;
    drop(at);
}

static const char *label_of(uint64_t region, EmuAllocation *a) {
    return emu_find(runtime.emu, region, a) ? a->label : "memory that was freed";
}

static void tell(const Access *now, const Access *then, uint64_t first) {
    EmuAllocation a;
    report_finding("stream_race", NULL,
                   "nothing orders %s and %s, which both use byte %llu of '%s'%s", then->what,
                   now->what, (unsigned long long)first, label_of(now->region, &a),
                   !now->writes    ? " (the first writes)"
                   : !then->writes ? " (the second writes)"
                                   : " (both write)");
}

/* Reports it if it is unordered with one that is there. */
static void check(const Access *now, const Clock *known) {
    uint64_t first;
    for (const Access *a = accesses; a; a = a->next)
        if (a->region == now->region && a->line != now->line && (a->writes || now->writes) &&
            a->seq > clock_at(known, a->line) && meet(&a->bytes, &now->bytes, &first))
            return tell(now, a, first);
}

static bool is_shared(const Region *r) {
    return r->address < MEMORY_HOST_END && r->kind != REGION_GRAPH;
}

static void name_op(const Stream *s, const Op *op, char *out, size_t cap) {
    char on[40];
    if (s->id == 1) snprintf(on, sizeof on, "on the default stream");
    else snprintf(on, sizeof on, "on stream %llu", (unsigned long long)s->id);
    if (op && op->kind == OP_LAUNCH)
        snprintf(out, cap, "kernel %.150s %s", op->launch.kernel->shown, on);
    else snprintf(out, cap, "%s %s", call_name(), on);
}

/* The device has written there itself: what changes is not the host's. */
static void look_no_more(uint64_t region) {
    for (Access *a = accesses; a; a = a->next)
        if (a->region == region) free(a->seen), a->seen = NULL;
}

/* An access to an address and what lies behind it, which b gets. */
static void note(Stream *s, const Op *op, uint64_t address, Bytes b, bool writes) {
    Region *r = memory_find(address);
    if (r == NULL || b.hi == b.lo) return free(b.bits);
    Access *a = gi_alloc(sizeof *a);
    uint64_t inside = address - r->address;
    *a = (Access){
        .region = r->address, .bytes = b, .writes = writes, .line = s->line, .seq = s->seq};
    a->bytes.lo += inside, a->bytes.hi += inside;
    a->is_told = op && op->kind == OP_LAUNCH &&
                 emu_kernel_talks(op->launch.kernel->module->emu, op->launch.kernel->name);
    name_op(s, op, a->what, sizeof a->what);
    check(a, &s->clock);
    if (a->bytes.hi > r->contents.size) a->bytes.hi = r->contents.size;
    if (is_shared(r) && writes) look_no_more(r->address);
    if (is_shared(r))
        a->seen = memcpy(gi_alloc(a->bytes.hi - a->bytes.lo), r->contents.data + a->bytes.lo,
                         a->bytes.hi - a->bytes.lo);
    a->next = accesses;
    accesses = a;
    if (++n_accesses > MOST_ACCESSES) forget_oldest();
}

static void note_all(Stream *s, const Op *op, uint64_t address, uint64_t n, bool writes) {
    note(s, op, address, (Bytes){0, n, NULL}, writes);
}

/* Rows of one side; where there are several, those that lie in one piece are one. */
static void note_side(Stream *s, const Op *op, const Side *side, size_t width, size_t height,
                      size_t depth, bool writes) {
    if (width == side->row && height == side->rows) width *= height * depth, height = depth = 1;
    for (size_t k = 0; k < depth * height; k++)
        note_all(s, op, side->address + (k / height * side->rows + k % height) * side->row, width,
                 writes);
}

void happens_side(Stream *s, const Op *op, const Side *side, size_t width, size_t height,
                  bool writes) {
    if (runtime.config.streams) note_side(s, op, side, width, height, 1, writes);
}

static void note_kernel(Stream *s, const Op *op) {
    uint64_t address;
    unsigned reach;
    EmuAllocation a;
    for (int i = 0; (address = emu_reached(runtime.emu, i, &reach)) != 0; i++) {
        if (!emu_find(runtime.emu, address, &a) || !a.is_live) continue;
        const uint8_t *read, *written;
        if (!emu_footprint(runtime.emu, address, &read, &written)) continue;
        note(s, op, a.address, of_map(written, a.size_bytes), true);
        note(s, op, a.address, of_map(read, a.size_bytes), false);
    }
}

/* --- the host's own writes --- */

static void tell_changed(const Access *a, const Region *r, uint64_t at) {
    EmuAllocation of;
    report_finding(
        "stream_race", NULL,
        "the host changed bytes of '%s' (byte %llu) before it waited for %s, which %s them",
        label_of(r->address, &of), (unsigned long long)at, a->what, a->writes ? "writes" : "reads");
}

/* Has it changed what an op that may be under way uses? It is looked at no more, then. */
static void look(Access *a) {
    const Region *r = memory_find(a->region);
    uint64_t n = a->bytes.hi - a->bytes.lo;
    if (a->seen == NULL) return;
    if (r && r->address == a->region && memcmp(a->seen, r->contents.data + a->bytes.lo, n) != 0) {
        for (uint64_t k = 0; k < n; k++) {
            uint64_t at = a->bytes.lo + k;
            if (a->seen[k] == r->contents.data[at] || !(eight(&a->bytes, at & ~7ull) >> at % 8 & 1))
                continue;
            tell_changed(a, r, at);
            break;
        }
        free(a->seen);
        a->seen = NULL;
    }
}

static void look_all(void) {
    for (Access *a = accesses; a; a = a->next) look(a);
}

/* --- what the host touches (early.h) --- */

enum { PAGE = 4096 };

/* All bytes from one offset to another that the region has. */
static bool covers(const Access *a, const Region *r, uint64_t from, uint64_t to) {
    if (to > r->contents.size) to = r->contents.size;
    if (from < a->bytes.lo || to > a->bytes.hi) return false;
    for (uint64_t at = from; a->bytes.bits && at < to; at += 8) {
        unsigned all = to - at >= 8 ? 0xff : 0xff >> (8 - (to - at));
        if ((eight(&a->bytes, at) & all) != all) return false;
    }
    return true;
}

static bool has_own_pages(const Region *r) {
    return r->kind == REGION_MANAGED || r->kind == REGION_PINNED;
}

/* Runs of pages that one access has written whole. */
static void each_run(const Access *a, const Region *r, void (*f)(uintptr_t from, uintptr_t to)) {
    uint64_t begin = a->bytes.lo / PAGE * PAGE, end = (a->bytes.hi + PAGE - 1) / PAGE * PAGE;
    for (uint64_t at = begin, from = begin; at <= end; at += PAGE) {
        bool is_whole = at < end && covers(a, r, at, at + PAGE);
        if (!is_whole && at > from) f(r->address + from, r->address + at);
        if (!is_whole) from = at + PAGE;
    }
}

void happens_written(void (*f)(uintptr_t from, uintptr_t to)) {
    for (const Access *a = accesses; a; a = a->next) {
        const Region *r = a->writes && !a->is_told ? memory_find(a->region) : NULL;
        if (r && r->address == a->region && has_own_pages(r)) each_run(a, r, f);
    }
}

void happens_touched(uint64_t address, bool writes, const Place *at) {
    EmuAllocation of;
    for (Access *a = accesses; a; a = a->next) {
        bool is_it = a->writes && !a->is_told && address >= a->region + a->bytes.lo &&
                     address < a->region + a->bytes.hi;
        if (!is_it) continue;
        report_finding("stream_race", at,
                       "the host %s bytes of '%s' (byte %llu) before it waited for %s, which "
                       "writes them",
                       writes ? "changed" : "reads", label_of(a->region, &of),
                       (unsigned long long)(address - a->region), a->what);
        a->is_told = true;
        free(a->seen);
        a->seen = NULL;
        return;
    }
}

/* --- waiting --- */

void happens_wait(const Clock *c) {
    if (!runtime.config.streams) return;
    look_all();
    clock_join(&host, c);
    for (Access **at = &accesses; *at;)
        if ((*at)->seq <= clock_at(&host, (*at)->line)) drop(at);
        else at = &(*at)->next;
}

static void join_stream(Stream *s, void *to) {
    clock_join(to, &s->clock);
}

void happens_wait_all(void) {
    if (!runtime.config.streams) return;
    Clock all = {0};
    stream_each(join_stream, &all);
    happens_wait(&all);
    while (accesses) drop(&accesses); /* of streams that are gone, too */
    clock_free(&all);
}

/* --- ops --- */

static void join_blocking(Stream *s, void *to) {
    if (!(s->flags & 1)) clock_join(to, &s->clock);
}

static void enter(Stream *s) {
    Stream *legacy = stream_of((Stream *)1);
    if (s->line == 0) s->line = ++lines;
    clock_join(&s->clock, &host);
    if (s == legacy) stream_each(join_blocking, &s->clock);
    else if (!(s->flags & 1)) clock_join(&s->clock, &legacy->clock);
    clock_set(&s->clock, s->line, ++s->seq);
}

void happens_begin(Stream *s, const Op *op) {
    if (!runtime.config.streams) return;
    look_all();
    enter(s);
    if (op->kind == OP_HOST) happens_wait(&s->clock); /* and may tell the rest of the program */
    Region *r = op->kind == OP_FREE ? memory_find(op->memory.address) : NULL;
    if (r == NULL) return;
    note_all(s, op, op->memory.address, r->contents.size, true);
    look_no_more(r->address);
}

/* Is it over for the host when its call returns? Work on the device alone and fills are not. */
static bool host_knows(const Op *op) {
    if (op->kind == OP_COPY) {
        unsigned to = side_where(&op->copy.to), from = side_where(&op->copy.from);
        if (to == WHERE_HOST) return true; /* pageable */
        return !op->is_async && (to | from) != WHERE_DEVICE;
    }
    return op->kind == OP_SET && !op->is_async && side_where(&op->set.to) != WHERE_DEVICE;
}

void happens_end(Stream *s, const Op *op, CudaError e) {
    if (!runtime.config.streams || e != cudaSuccess) return;
    const OpCopy *c = &op->copy;
    const OpSet *f = &op->set;
    switch (op->kind) {
    case OP_COPY:
        note_side(s, op, &c->from, c->width, c->height, c->depth, false);
        note_side(s, op, &c->to, c->width, c->height, c->depth, true);
        break;
    case OP_SET: note_side(s, op, &f->to, f->width, f->height, f->depth, true); break;
    case OP_LAUNCH: note_kernel(s, op); break;
    case OP_ALLOC: note_all(s, op, op->memory.address, op->memory.size, true); break;
    case OP_RECORD:
        clock_free(&op->event->clock);
        op->event->clock = clock_copy(&s->clock);
        break;
    case OP_WAIT: clock_join(&s->clock, &op->event->clock); break;
    default: break;
    }
    if (host_knows(op)) happens_wait(&s->clock);
}

void happens_made(Stream *s, uint64_t address, size_t size) {
    if (!runtime.config.streams) return;
    enter(s);
    note_all(s, NULL, address, size, true);
}

void happens_wait_stream(Stream *s) {
    if (!runtime.config.streams) return;
    enter(s);
    happens_wait(&s->clock);
}

/* --- graphs --- */

HappensGraph happens_graph(Stream *s) {
    if (!runtime.config.streams) return (HappensGraph){{0}, 0, 0};
    return (HappensGraph){clock_copy(&s->clock), s->line, s->seq};
}

void happens_node(Stream *s, const HappensGraph *g, Node *n) {
    if (!runtime.config.streams) return;
    clock_free(&s->clock);
    s->clock = clock_copy(&g->before);
    for (size_t i = 0; i < n->after.n; i++) clock_join(&s->clock, &n->after.v[i]->clock);
    if (n->line == 0) n->line = ++lines;
    s->line = n->line, s->seq = n->seq;
}

void happens_node_end(Stream *s, Node *n) {
    if (!runtime.config.streams) return;
    clock_free(&n->clock);
    n->clock = clock_copy(&s->clock);
    n->seq = s->seq;
}

void happens_graph_end(Stream *s, HappensGraph *g, const Graph *of) {
    if (!runtime.config.streams) return;
    clock_free(&s->clock);
    s->clock = g->before;
    for (size_t i = 0; i < of->nodes.n; i++) clock_join(&s->clock, &of->nodes.v[i]->clock);
    s->line = g->line, s->seq = g->seq;
}
