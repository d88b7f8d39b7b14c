/* view.c - see view.h. */
#include "emu/view.h"

#include "emu/cost/lines.h"

#include <stdlib.h>
#include <string.h>

enum { SECTOR = 32 };

static void add_place(ViewPlaces *list, uint32_t row, uint64_t at) {
    gi_grow(list->at, list->n, list->cap);
    list->at[list->n++] = (ViewPlace){row, (uint32_t)at};
}

static void add_trace(View *v, Trace t) {
    gi_grow(v->trace, v->n_trace, v->cap_trace);
    v->trace[v->n_trace++] = t;
}

/* --- parts --- */

enum { MOST_KEPT = 1 << 28 }; /* bytes of a thread's copies */

static uint8_t *take_pages(ViewPages *from, size_t size) {
    for (int i = from->n - 1; i >= 0; i--) {
        struct ViewPiece *p = &from->piece[i];
        uint8_t *at = p->at;
        if (p->size != size) continue;
        *p = from->piece[--from->n];
        from->bytes -= size;
        return at;
    }
    return pages_new(size);
}

static void give_pages(ViewPages *to, uint8_t *at, size_t size) {
    if (at == NULL) return;
    if (to->bytes + size > MOST_KEPT) {
        pages_free(at, size);
        return;
    }
    gi_grow(to->piece, to->n, to->cap);
    to->piece[to->n++] = (struct ViewPiece){at, size};
    to->bytes += size;
}

static void forget_pages(ViewPages *p) {
    while (p->n > 0) {
        p->n--;
        pages_free(p->piece[p->n].at, p->piece[p->n].size);
    }
    free(p->piece);
}

void views_forget(Emu *e) {
    for (int i = 0; e->kept && i < VIEWS; i++) {
        forget_pages(&e->kept[i].copies);
        forget_pages(&e->kept[i].masks);
    }
    free(e->kept);
    e->kept = NULL;
}

static size_t copy_bytes(const ViewPart *p) {
    return p->words * 64 * SECTOR;
}

static size_t mask_bytes(const ViewPart *p) {
    return p->words * 64 * sizeof *p->mask;
}

View *view_new(Emu *e, int thread) {
    View *v = gi_alloc(sizeof *v);
    if (e->kept == NULL) e->kept = gi_alloc(VIEWS * sizeof *e->kept);
    v->kept = &e->kept[thread];
    v->n_parts = e->n_alloc;
    v->part = gi_alloc((size_t)e->n_alloc * sizeof *v->part);
    return v;
}

/* Bytes before the first one of an allocation in its first sector's window. */
static inline uint64_t shift_of(const Alloc *a) {
    return a->place & OFFSET_MASK;
}

void view_free(View *v) {
    for (int i = 0; i < v->n_used; i++) {
        ViewPart *p = &v->part[v->used[i]];
        give_pages(&v->kept->copies, p->copy, copy_bytes(p));
        give_pages(&v->kept->masks, (uint8_t *)p->mask, mask_bytes(p));
        free(p->touched);
        free(p->read);
    }
    free(v->part);
    free(v->used);
    free(v->dirty.at);
    free(v->read.at);
    free(v->trace);
    free(v);
}

static uint32_t row_of(const Machine *m, const Alloc *a) {
    return (uint32_t)(a - m->emu->alloc);
}

static ViewPart *part_of(Machine *m, const Alloc *a) {
    View *v = m->view;
    ViewPart *p = &v->part[row_of(m, a)];
    if (p->touched) return p;
    p->words = (size_t)(a->size / SECTOR / 64 + 2); /* as cost_meet has it */
    p->touched = gi_alloc(p->words * sizeof *p->touched);
    p->read = gi_alloc(p->words * sizeof *p->read);
    if (a->touched) memcpy(p->touched, a->touched, a->touched_words * sizeof *a->touched);
    gi_grow(v->used, v->n_used, v->cap_used);
    v->used[v->n_used++] = (int)row_of(m, a);
    return p;
}

/* Room for what is written; false where there is none. */
static bool open_part(Machine *m, ViewPart *p) {
    if (p->mask) return true;
    p->copy = take_pages(&m->view->kept->copies, copy_bytes(p));
    p->mask = (uint32_t *)(void *)take_pages(&m->view->kept->masks, mask_bytes(p));
    if (p->copy && p->mask) return true;
    if (p->copy) pages_free(p->copy, copy_bytes(p));
    if (p->mask) pages_free((uint8_t *)p->mask, mask_bytes(p));
    p->copy = NULL;
    p->mask = NULL;
    return view_leave(m, VIEW_UNSUITED);
}

bool view_leave(Machine *m, ViewLeft why) {
    if (m->view->left < why) m->view->left = why;
    m->ended = true;
    return false;
}

/* --- bytes --- */

static void copy_sector(const Alloc *a, ViewPart *p, uint64_t sector) {
    uint64_t shift = shift_of(a), from = sector * SECTOR, to = from + SECTOR;
    if (from < shift) from = shift;
    if (to > a->size + shift) to = a->size + shift;
    memcpy(p->copy + from, a->data + (from - shift), to - from);
}

/* Bytes `from` to `to` of the part, all in one sector, are about to be written. */
static inline void write_sector(Machine *m, const Alloc *a, ViewPart *p, uint64_t from,
                                uint64_t to) {
    uint64_t sector = from / SECTOR, n = to - from;
    uint32_t bits = (n >= SECTOR ? FULL_MASK : (1u << n) - 1) << from % SECTOR;
    uint32_t old = p->mask[sector];
    if (old == 0) {
        if (bits != FULL_MASK) copy_sector(a, p, sector);
        add_place(&m->view->dirty, row_of(m, a), sector);
        p->n_dirty++;
    }
    p->mask[sector] = old | bits;
}

uint8_t *view_bytes(Machine *m, const Alloc *a, uint64_t offset, uint64_t bytes, bool is_write) {
    ViewPart *p = part_of(m, a);
    uint64_t shift = shift_of(a), from = offset + shift, end = from + bytes;
    if (!is_write && p->n_dirty == 0) return a->data;
    if (!open_part(m, p)) return NULL;
    if (is_write) {
        for (uint64_t at = from, to; at < end; at = to) {
            to = (at / SECTOR + 1) * SECTOR < end ? (at / SECTOR + 1) * SECTOR : end;
            write_sector(m, a, p, at, to);
        }
        return p->copy + shift;
    }
    uint32_t written = 0;
    for (uint64_t s = from / SECTOR; s <= (end - 1) / SECTOR; s++) written |= p->mask[s];
    if (written == 0) return a->data;
    for (uint64_t s = from / SECTOR; s <= (end - 1) / SECTOR; s++)
        if (p->mask[s] == 0) copy_sector(a, p, s);
    return p->copy + shift;
}

uint8_t *view_lanes(Machine *m, const Alloc *a, const uint64_t at[LANES], uint32_t mask,
                    unsigned bytes, bool is_write) {
    ViewPart *p = part_of(m, a);
    uint64_t shift = shift_of(a);
    uint32_t written = 0;
    if (!is_write && p->n_dirty == 0) return a->data;
    if (!open_part(m, p)) return NULL;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint64_t from = at[__builtin_ctz(left)] + shift;
        if (is_write) write_sector(m, a, p, from, from + bytes);
        else written |= p->mask[from / SECTOR];
    }
    if (is_write) return p->copy + shift;
    if (written == 0) return a->data;
    for (uint32_t left = mask; left; left &= left - 1) {
        uint64_t sector = (at[__builtin_ctz(left)] + shift) / SECTOR;
        if (p->mask[sector] == 0) copy_sector(a, p, sector);
    }
    return p->copy + shift;
}

/* --- sectors --- */

static void note_read(Machine *m, const Alloc *a, ViewPart *p, uint64_t word, uint64_t bits) {
    if (p->read[word] == 0) add_place(&m->view->read, row_of(m, a), word);
    p->read[word] |= bits;
}

void view_read(Machine *m, const Alloc *a, uint64_t offset, unsigned bytes) {
    uint64_t first = (offset + shift_of(a)) / SECTOR,
             last = (offset + shift_of(a) + bytes - 1) / SECTOR;
    for (uint64_t s = first; s <= last; s++)
        note_read(m, a, part_of(m, a), s / 64, (uint64_t)1 << s % 64);
}

void view_touch(Machine *m, const Alloc *a, uint64_t line, uint32_t sectors, bool is_load) {
    ViewPart *p = part_of(m, a);
    uint64_t first = (line << 2) & (OFFSET_MASK >> 5), word = first / 64;
    if (word >= p->words) return;
    uint64_t bits = (uint64_t)sectors << (first & 63), fresh = bits & ~p->touched[word];
    if (is_load && bits) note_read(m, a, p, word, bits);
    if (fresh == 0) return;
    p->touched[word] |= fresh;
    add_trace(m->view, (Trace){row_of(m, a), (uint32_t)word, fresh});
}

/* --- a batch is over --- */

bool view_conflicts(const View *v, const Written *w) {
    for (int i = 0; i < v->read.n; i++) {
        ViewPlace r = v->read.at[i];
        const uint64_t *written = w->by_row[r.row];
        if (written && written[r.at] & v->part[r.row].read[r.at]) return true;
    }
    return false;
}

static void note_written(Written *w, uint32_t row, const ViewPart *p, uint64_t sector) {
    if (w->by_row[row] == NULL) w->by_row[row] = gi_alloc(p->words * sizeof **w->by_row);
    uint64_t *word = &w->by_row[row][sector / 64];
    if (*word == 0) add_place(&w->words, row, sector / 64);
    *word |= (uint64_t)1 << sector % 64;
}

static void take_some(const Alloc *a, const ViewPart *p, uint64_t sector) {
    uint64_t at = sector * SECTOR, shift = shift_of(a);
    for (uint32_t mask = p->mask[sector]; mask; mask &= mask - 1) {
        unsigned k = (unsigned)__builtin_ctz(mask);
        a->data[at + k - shift] = p->copy[at + k];
    }
}

/* What was written to the sector at d, and to those that follow it in memory and in the list where
** all their bytes were. How many sectors that is. */
static int take_run(const Alloc *a, const ViewPart *p, const ViewPlace *d, int n) {
    uint64_t at = (uint64_t)d->at * SECTOR;
    int k = 0;
    while (k < n && d[k].row == d->row && d[k].at == d->at + (uint32_t)k &&
           p->mask[d[k].at] == FULL_MASK)
        k++;
    if (k == 0) take_some(a, p, d->at);
    else memcpy(a->data + (at - shift_of(a)), p->copy + at, (size_t)k * SECTOR);
    return k ? k : 1;
}

/* Sectors that no block before has touched came from DRAM. */
static void take_trace(Machine *m, const View *v, View *const *all, int n) {
    for (int i = 0; i < v->n_trace; i++) {
        const Trace *t = &v->trace[i];
        uint64_t *touched = &m->emu->alloc[t->row].touched[t->at];
        uint64_t fresh = new_to_dram(t->bits, *touched);
        m->cost.dram_sectors += 2 * (uint64_t)__builtin_popcountll(fresh);
        m->cost.dram_lines += fresh != 0;
        *touched |= t->bits;
        for (int k = 0; k < n; k++)
            if (all[k]->part[t->row].touched) all[k]->part[t->row].touched[t->at] |= t->bits;
    }
}

void view_take(Machine *m, View *v, View *const *all, int n, Written *w) {
    for (int i = 0; i < v->dirty.n;) {
        const ViewPlace *d = &v->dirty.at[i];
        i += take_run(&m->emu->alloc[d->row], &v->part[d->row], d, v->dirty.n - i);
    }
    for (int i = 0; w && i < v->dirty.n; i++) {
        const ViewPlace *d = &v->dirty.at[i];
        note_written(w, d->row, &v->part[d->row], d->at);
    }
    take_trace(m, v, all, n);
}

void view_drop(Machine *m, View *v) {
    for (int i = 0; i < v->dirty.n; i++) {
        ViewPart *p = &v->part[v->dirty.at[i].row];
        p->mask[v->dirty.at[i].at] = 0;
        p->n_dirty = 0;
    }
    for (int i = 0; i < v->read.n; i++) v->part[v->read.at[i].row].read[v->read.at[i].at] = 0;
    for (int i = 0; i < v->n_trace; i++) {
        const Trace *t = &v->trace[i];
        const Alloc *a = &m->emu->alloc[t->row];
        v->part[t->row].touched[t->at] = t->at < a->touched_words ? a->touched[t->at] : 0;
    }
    v->dirty.n = v->read.n = v->n_trace = 0;
    v->left = VIEW_HOLDS;
}

void view_follow(Machine *m, View *v) {
    for (int i = 0; i < v->n_used; i++) {
        const Alloc *a = &m->emu->alloc[v->used[i]];
        if (a->touched)
            memcpy(v->part[v->used[i]].touched, a->touched, a->touched_words * sizeof *a->touched);
    }
}

void written_clear(Written *w) {
    for (int i = 0; i < w->words.n; i++) w->by_row[w->words.at[i].row][w->words.at[i].at] = 0;
    w->words.n = 0;
}

void written_free(Written *w) {
    for (int i = 0; i < w->n; i++) free(w->by_row[i]);
    free(w->by_row);
    free(w->words.at);
}
