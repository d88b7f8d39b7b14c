/* alloc.c - allocations: what an address means, who has it, and who had it.
**
** An address has 23 bits of an id and 40 of an offset. Ids below HOST_IDS are windows: addresses
** below 2^47, which a host uses too, hold any number of allocations wherever they were wished for.
** Every other id is one allocation that begins at offset 0. Ids go up; one that is freed rests
** until QUARANTINE others have been freed, so that a late access can be reported with its
** allocation. All of this depends on the calls alone: equal programs have equal addresses.
*/
#include "emu/check/undefined.h"
#include "emu/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { QUARANTINE = 1 << 16, BIG = 1 << 20, LITTLE = 4096 };

/* --- memory of the emulator's own --- */

/* Pages that are there once somebody touches them. */
uint8_t *pages_new(size_t size) {
    if (size < BIG) return calloc(1, size ? size : 1);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void pages_free(uint8_t *data, size_t size) {
    if (size < BIG) free(data);
    else munmap(data, size);
}

/* --- the table --- */

/* What is remembered of an allocation that was freed goes, too. */
static void forget(Alloc *a) {
    free(a->label);
    free(a->freed_by);
    *a = (Alloc){0};
}

static int oldest_freed(Emu *e) {
    int id = e->freed[e->first_freed];
    e->first_freed = (e->first_freed + 1) % e->cap_freed;
    e->n_freed--;
    forget(&e->alloc[id]);
    return id;
}

static void put_freed(Emu *e, int id) {
    if (e->n_freed == e->cap_freed) {
        int cap = e->cap_freed ? 2 * e->cap_freed : 64,
            *ring = gi_alloc((size_t)cap * sizeof *ring);
        for (int i = 0; i < e->n_freed; i++)
            ring[i] = e->freed[(e->first_freed + i) % e->cap_freed];
        free(e->freed);
        e->freed = ring;
        e->first_freed = 0;
        e->cap_freed = cap;
    }
    e->freed[(e->first_freed + e->n_freed++) % e->cap_freed] = id;
}

static void begin_table(Emu *e) {
    if (e->n_alloc > 0) return;
    e->alloc = gi_alloc(2 * HOST_IDS * sizeof *e->alloc);
    e->n_alloc = HOST_IDS;
    e->cap_alloc = 2 * HOST_IDS;
}

/* A free row of the table. */
static int new_id(Emu *e) {
    if (e->n_freed > QUARANTINE || (e->n_freed && e->n_alloc == MOST_IDS)) return oldest_freed(e);
    begin_table(e);
    gi_grow(e->alloc, e->n_alloc, e->cap_alloc);
    e->alloc[e->n_alloc] = (Alloc){0};
    return e->n_alloc++;
}

static Alloc *add(Emu *e, int id, const Alloc *what, const char *label) {
    Alloc *a = &e->alloc[id];
    *a = *what;
    a->label = gi_strdup(label ? label : "buffer");
    a->exists = true;
    a->serial = ++e->serial;
    a->in_list = e->n_list;
    gi_grow(e->list, e->n_list, e->cap_list);
    e->list[e->n_list++] = id;
    return a;
}

uint64_t alloc_new(Emu *e, Alloc what, const char *label) {
    int id = new_id(e);
    Alloc *a = add(e, id, &what, label);
    a->address = a->place = (uint64_t)id << ID_SHIFT;
    a->live = !a->is_hidden;
    return a->address;
}

static void leave_list(Emu *e, const Alloc *a) {
    int last = e->list[--e->n_list];
    e->list[a->in_list] = last;
    e->alloc[last].in_list = a->in_list;
}

/* Parts that were freed are forgotten, those of [from, to) of the window: rows for others. */
static void drop_freed(Emu *e, Window *w, int from, int to) {
    int kept = from;
    for (int i = from; i < w->n; i++) {
        bool drop = i < to && !e->alloc[w->part[i]].exists;
        if (drop) put_freed(e, w->part[i]);
        else w->part[kept++] = w->part[i];
    }
    w->n_freed -= w->n - kept;
    w->n = kept;
}

/* It goes; who had it, and who freed it, is remembered. */
static void end(Emu *e, Alloc *a, const char *who) {
    leave_list(e, a);
    if (a->is_owned || a->is_variable) emu_texels_gone(e, a->data, (size_t)a->size);
    if (a->is_owned) pages_free(a->data, (size_t)a->size);
    free(a->touched);
    alloc_unused(a);
    free(a->written);
    *a = (Alloc){.address = a->address,
                 .size = a->size,
                 .place = a->place,
                 .label = a->label,
                 .is_part = a->is_part,
                 .freed_by = who ? gi_strdup(who) : NULL};
    if (!a->is_part) {
        put_freed(e, (int)(a - e->alloc));
        return;
    }
    Window *w = &e->window[a->address >> ID_SHIFT];
    if (++w->n_freed > QUARANTINE) drop_freed(e, w, 0, w->n);
}

void alloc_free(Emu *e, uint32_t id) {
    if (id < (uint32_t)e->n_alloc && e->alloc[id].exists) end(e, &e->alloc[id], NULL);
}

void allocs_free(Emu *e) {
    while (e->n_list > 0) end(e, &e->alloc[e->list[0]], NULL);
    for (int i = 0; i < e->n_alloc; i++) forget(&e->alloc[i]);
    for (int i = 0; i < HOST_IDS; i++) free(e->window[i].part);
    free(e->window);
    free(e->alloc);
    free(e->list);
    free(e->freed);
    free(e->met);
}

/* --- windows: their parts in the order of their addresses, none over another --- */

/* The first part that ends behind an address; an empty one ends behind its own. */
static int part_at(const Emu *e, const Window *w, uint64_t address) {
    int low = 0, high = w->n;
    while (low < high) {
        int middle = (low + high) / 2;
        const Alloc *a = &e->alloc[w->part[middle]];
        if (a->address + (a->size ? a->size : 1) <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static Alloc *part_of(const Emu *e, uint64_t address) {
    const Window *w = &e->window[address >> ID_SHIFT];
    int i = part_at(e, w, address);
    return i < w->n && e->alloc[w->part[i]].address <= address ? &e->alloc[w->part[i]] : NULL;
}

Alloc *alloc_in_window(const Emu *e, uint64_t address) {
    Alloc *a = part_of(e, address);
    return a && a->exists ? a : NULL;
}

static void insert_part(Window *w, int i, int id) {
    gi_grow(w->part, w->n, w->cap);
    memmove(w->part + i + 1, w->part + i, (size_t)(w->n - i) * sizeof *w->part);
    w->part[i] = id;
    w->n++;
}

/* Nothing is where something new comes. */
static bool make_room(Emu *e, Window *w, uint64_t from, uint64_t to, gi_err *err) {
    int i = part_at(e, w, from), end = i;
    for (; end < w->n && e->alloc[w->part[end]].address < to; end++) {
        const Alloc *a = &e->alloc[w->part[end]];
        if (a->exists)
            return gi_fail(err, "usage", "address 0x%llx is taken: '%s' has %llu bytes at 0x%llx",
                           (unsigned long long)from, a->label, (unsigned long long)a->size,
                           (unsigned long long)a->address);
    }
    drop_freed(e, w, i, end);
    return true;
}

bool alloc_at(Emu *e, uint64_t address, Alloc what, const char *label, gi_err *err) {
    uint64_t id = address >> ID_SHIFT, end = address + (what.size ? what.size : 1);
    if (address == 0 || id >= HOST_IDS || end < address || (end - 1) >> ID_SHIFT != id)
        return gi_fail(err, "usage",
                       "%llu bytes cannot be mapped at 0x%llx: addresses from 1 to 2^47 can be "
                       "had, in pieces that pass no multiple of 2^40",
                       (unsigned long long)what.size, (unsigned long long)address);
    Window *w = &e->window[id];
    if (!make_room(e, w, address, end, err)) return false;
    int row = new_id(e);
    what.address = address;
    what.is_part = true;
    what.place = ((uint64_t)row << ID_SHIFT) + (address & 255);
    if (what.data == NULL) what.data = (uint8_t *)(uintptr_t)address;
    add(e, row, &what, label);
    insert_part(w, part_at(e, w, address), row);
    return true;
}

bool emu_map_at(Emu *e, uint64_t address, void *data, size_t size_bytes, bool read_only,
                const char *label, gi_err *err) {
    Alloc what = {.data = data, .size = size_bytes, .read_only = read_only};
    return alloc_at(e, address, what, label, err);
}

/* --- what others see --- */

uint64_t emu_map(Emu *e, void *data, size_t size_bytes, bool read_only, const char *label) {
    return alloc_new(e, (Alloc){.data = data, .size = size_bytes, .read_only = read_only}, label);
}

void emu_memory_limit(Emu *e, uint64_t bytes) {
    e->memory_limit = bytes;
}

bool emu_take(Emu *e, uint64_t bytes, const char *what, gi_err *err) {
    uint64_t limit = e->memory_limit;
    if (limit > 0 && (e->memory_taken > limit || bytes > limit - e->memory_taken))
        return gi_fail(err, "nomem", "with %s of %llu bytes more than %.3g GB of memory are taken",
                       what, (unsigned long long)bytes, (double)limit / 1e9);
    e->memory_taken += bytes;
    return true;
}

void emu_give(Emu *e, uint64_t bytes) {
    e->memory_taken -= bytes < e->memory_taken ? bytes : e->memory_taken;
}

uint64_t emu_alloc(Emu *e, size_t size_bytes, const char *label, gi_err *err) {
    if (!emu_take(e, size_bytes, label ? label : "a buffer", err)) return 0;
    uint8_t *data = size_bytes <= OFFSET_MASK ? pages_new(size_bytes) : NULL;
    if (data == NULL) {
        gi_fail(err, "nomem", "no memory for '%s' of %zu bytes", label ? label : "buffer",
                size_bytes);
        return 0;
    }
    return alloc_new(e, (Alloc){.data = data, .size = size_bytes, .is_owned = true}, label);
}

bool emu_leave_out(Emu *e, uint64_t address) {
    uint64_t id = address >> ID_SHIFT;
    begin_table(e);
    if (id < (uint64_t)e->n_alloc || id >= MOST_IDS ||
        id - (uint64_t)e->n_alloc + (uint64_t)e->n_freed > QUARANTINE)
        return false;
    while ((uint64_t)e->n_alloc < id) put_freed(e, new_id(e));
    return true;
}

const Alloc *alloc_known(const Emu *e, uint64_t address) {
    uint64_t id = address >> ID_SHIFT;
    if (id < HOST_IDS) return part_of(e, address);
    const Alloc *a = id < (uint64_t)e->n_alloc ? &e->alloc[id] : NULL;
    return a && a->label && !a->is_part && !a->is_hidden ? a : NULL;
}

/* The part of a window that an address misses by little: it ends before, or begins behind. */
static const Alloc *part_near(const Emu *e, uint64_t address) {
    const Window *w = &e->window[address >> ID_SHIFT];
    int i = part_at(e, w, address);
    const Alloc *before = i > 0 ? &e->alloc[w->part[i - 1]] : NULL;
    const Alloc *behind = i < w->n ? &e->alloc[w->part[i]] : NULL;
    if (before && address - (before->address + before->size) < LITTLE) return before;
    return behind && behind->address - address < LITTLE ? behind : NULL;
}

/* The upper half of an allocation's addresses is taken to be before the next one. */
const Alloc *alloc_near(const Emu *e, uint64_t address) {
    const Alloc *a = alloc_known(e, address);
    uint64_t id = address >> ID_SHIFT, missing = OFFSET_MASK - (address & OFFSET_MASK);
    if (a && address - a->address < a->size) return a;
    if (id < HOST_IDS && missing >= LITTLE) return a ? a : part_near(e, address);
    const Alloc *next = missing < OFFSET_MASK / 2 ? alloc_known(e, (id + 1) << ID_SHIFT) : NULL;
    return next ? next : a;
}

static EmuAllocation view(const Alloc *a) {
    return (EmuAllocation){.address = a->address,
                           .size_bytes = a->size,
                           .data = a->data,
                           .label = a->label,
                           .freed_by = a->freed_by,
                           .is_live = a->exists,
                           .is_variable = a->is_variable,
                           .is_heap = a->is_heap,
                           .is_constant = a->is_const,
                           .serial = a->serial};
}

bool emu_find(const Emu *e, uint64_t address, EmuAllocation *out) {
    const Alloc *a = alloc_known(e, address);
    if (a) *out = view(a);
    return a != NULL;
}

static int by_serial(const void *a, const void *b) {
    const EmuAllocation *x = a, *y = b;
    return (x->serial > y->serial) - (x->serial < y->serial);
}

EmuAllocation *emu_allocations(const Emu *e, int *n) {
    EmuAllocation *all = gi_alloc((size_t)(e->n_list + 1) * sizeof *all);
    *n = 0;
    for (int i = 0; i < e->n_list; i++) {
        const Alloc *a = &e->alloc[e->list[i]];
        if (!a->is_hidden) all[(*n)++] = view(a);
    }
    qsort(all, (size_t)*n, sizeof *all, by_serial);
    return all;
}

/* Says what an address that cannot be used is: "byte 4 of 'a' (400 bytes), which … freed". */
static void describe(const Emu *e, uint64_t address, gi_buf *out) {
    const Alloc *a = alloc_known(e, address);
    if (a == NULL) {
        gi_buf_addf(out, "address 0x%llx, where no allocation is", (unsigned long long)address);
        return;
    }
    gi_buf_addf(out, "byte %llu of '%s' (%llu bytes)", (unsigned long long)(address - a->address),
                a->label, (unsigned long long)a->size);
    if (a->exists) return;
    gi_buf_addf(out, ", which %s", a->freed_by ? a->freed_by : "was");
    gi_buf_adds(out, " freed");
}

static void fail_at(const Emu *e, uint64_t address, const char *what, gi_err *err) {
    gi_buf text = {0};
    describe(e, address, &text);
    gi_fail(err, "usage", "%s: %s", what, text.data);
    gi_buf_free(&text);
}

static const char *cannot_release(const Alloc *a, uint64_t address) {
    if (a == NULL) return "a pointer that was never allocated";
    if (!a->exists) return "a second time";
    if (a->is_variable) return "a variable of a module";
    return a->address != address ? "inside of an allocation" : NULL;
}

static bool fail_release(const Emu *e, uint64_t address, const char *who, const char *wrong,
                         gi_err *err) {
    char what[400];
    snprintf(what, sizeof what, "%s frees %s", who ? who : "somebody", wrong);
    fail_at(e, address, what, err);
    return false;
}

bool alloc_release(Emu *e, uint64_t address, const char *who, gi_err *err) {
    const Alloc *a = alloc_known(e, address);
    const char *wrong = cannot_release(a, address);
    if (wrong) return fail_release(e, address, who, wrong, err);
    end(e, &e->alloc[a - e->alloc], who);
    return true;
}

bool emu_release(Emu *e, uint64_t address, const char *who, gi_err *err) {
    const Alloc *a = alloc_of(e, address);
    bool is_heap = a && a->is_heap;
    if (is_heap) return fail_release(e, address, who, "memory that a kernel allocated", err);
    return alloc_release(e, address, who, err);
}

void alloc_end(Emu *e, uint64_t address) {
    Alloc *a = alloc_of(e, address);
    if (a && a->address == address) end(e, a, NULL);
}

void emu_unmap(Emu *e, uint64_t address) {
    alloc_end(e, address);
}

void *emu_bytes(const Emu *e, uint64_t address, size_t n_bytes, gi_err *err) {
    const Alloc *a = alloc_of(e, address);
    char what[80];
    if (a && address - a->address <= a->size && n_bytes <= a->size - (address - a->address))
        return a->data + (address - a->address);
    snprintf(what, sizeof what, "%zu bytes are not there", n_bytes);
    fail_at(e, address, what, err);
    return NULL;
}

/* --- what nobody has written --- */

void alloc_unused(Alloc *a) {
    free(a->used[0]);
    free(a->used[1]);
    a->used[0] = a->used[1] = NULL;
}

bool emu_footprint(const Emu *e, uint64_t address, const uint8_t **read, const uint8_t **written) {
    const Alloc *a = alloc_of(e, address);
    if (a == NULL || a->used[0] == NULL) return false;
    *read = a->used[0];
    *written = a->used[1];
    return true;
}

static void take_back(Emu *e, Alloc *a) {
    if (a->unwritten) origins_forget(e, a->address, a->size);
    a->unwritten = false;
    free(a->written);
    a->written = NULL;
}

void emu_written(Emu *e, uint64_t address) {
    Alloc *a = alloc_of(e, address);
    if (a) take_back(e, a);
}

void emu_all_written(Emu *e) {
    for (int i = 0; i < e->n_list; i++) take_back(e, &e->alloc[e->list[i]]);
}

static bool is_alone(const Emu *e, const Alloc *a) {
    for (int i = 0; i < e->n_list; i++) {
        const Alloc *b = &e->alloc[e->list[i]];
        if (b == a || b->is_hidden) continue;
        if (b->data < a->data + a->size && a->data < b->data + b->size) return false;
    }
    return true;
}

void emu_unwritten(Emu *e, uint64_t address) {
    Alloc *a = alloc_of(e, address);
    if (a == NULL) return;
    take_back(e, a);
    a->widest = 0;
    a->unwritten = is_alone(e, a);
}

static size_t map_bytes(const Alloc *a) {
    return (size_t)a->size / 8 + 1;
}

void alloc_define(Emu *e, Alloc *a, uint64_t at, bool is_defined) {
    uint8_t bit = (uint8_t)(1u << at % 8);
    if (!a->unwritten) { /* all of it is defined so far */
        if (is_defined || !is_alone(e, a)) return;
        a->written = gi_alloc(map_bytes(a));
        memset(a->written, 0xff, map_bytes(a));
        a->unwritten = a->watched = true;
    }
    if (a->written == NULL) a->written = gi_alloc(map_bytes(a));
    if (is_defined) a->written[at / 8] |= bit;
    else a->written[at / 8] &= (uint8_t)~bit;
}

static bool is_defined(const Alloc *a, uint64_t at) {
    return a->written && a->written[at / 8] >> at % 8 & 1;
}

/* Bytes up to a place where a number begins that is larger than the room left before it; there are
** such numbers in this allocation. */
static bool is_padding(const Alloc *a, uint64_t from, uint64_t to) {
    for (unsigned size = 2; size <= a->widest; size *= 2)
        if (from > 0 && to % size == 0 && to - from < size) return true;
    return false;
}

bool alloc_pads(const Alloc *a, uint64_t at) {
    uint64_t from = at, to = at;
    while (from > 0 && at - from < 16 && !is_defined(a, from - 1)) from--;
    while (to < a->size && to - at < 16 && !is_defined(a, to)) to++;
    return is_padding(a, from, to);
}

/* Undefined bytes from `at` on of one origin, to a place before `last`. */
static uint64_t run_end(const Emu *e, const Alloc *a, uint64_t at, uint64_t last,
                        uint32_t *origin) {
    uint64_t to = at;
    *origin = origin_kept(e, a->address + at);
    while (to < last && !is_defined(a, to) && origin_kept(e, a->address + to) == *origin) to++;
    return to;
}

bool alloc_undefined(const Emu *e, uint64_t from, uint64_t end, EmuUndefined *out) {
    const Alloc *a = alloc_of(e, from);
    if (a == NULL || !a->unwritten) return false;
    uint64_t at = from - a->address, last = end - a->address;
    if (last > a->size) last = a->size;
    while (at < last) {
        if (a->written && at % 8 == 0 && a->written[at / 8] == 0xff) at += 8;
        else if (is_defined(a, at)) at++;
        else {
            uint32_t origin;
            uint64_t to = run_end(e, a, at, last, &origin);
            *out = (EmuUndefined){.at = at, .n_bytes = to - at};
            if (!(origin ? origin_pads(e, origin) : alloc_pads(a, at))) return true;
            at = to;
        }
    }
    return false;
}

void emu_copied(Emu *e, uint64_t to, uint64_t from, size_t n_bytes) {
    const Alloc *source = alloc_of(e, from);
    Alloc *target = alloc_of(e, to);
    if (source == NULL || target == NULL || !source->unwritten) return;
    if (target->widest < source->widest) target->widest = source->widest;
    uint64_t a = from - source->address, b = to - target->address;
    for (size_t i = 0; i < n_bytes && a + i < source->size && b + i < target->size; i++) {
        if (is_defined(source, a + i)) continue;
        uint32_t origin = origin_kept(e, from + i);
        alloc_define(e, target, b + i, false);
        if (origin) origin_keep(e, to + i, origin);
    }
}

void emu_wrote(Emu *e, uint64_t address, size_t n_bytes) {
    Alloc *a = alloc_of(e, address);
    if (a == NULL || !a->unwritten) return;
    uint64_t at = address - a->address, end = at + n_bytes < a->size ? at + n_bytes : a->size;
    if (at == 0 && end == a->size) {
        take_back(e, a);
        return;
    }
    if (a->written == NULL) a->written = gi_alloc(map_bytes(a));
    for (; at < end; at++) {
        if (at % 8 == 0 && end - at >= 8) { /* whole bytes of the map */
            memset(a->written + at / 8, 0xff, (size_t)((end - at) / 8));
            at += (end - at) / 8 * 8;
            if (at == end) break;
        }
        a->written[at / 8] |= (uint8_t)(1u << at % 8);
    }
}
