/* memo.c - see memo.h. */
#include "runtime/memo.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/map.h"
#include "runtime/module.h"

enum { MOST_HABITS = 1 << 16, EAGER = 1024 };

typedef struct Piece { /* memory that a launch reached */
    uint64_t address;  /* 0: it is the array's */
    Texels *array;
    size_t size;
    Hash before, after;
    uint8_t *bytes; /* after, where that is something else; else NULL */
} Piece;

typedef struct Memo {
    Habit *habit;
    Piece *pieces;
    int n;
    size_t kept; /* bytes */
    Figures took;
    struct Memo *next;            /* of the habit */
    struct Memo *later, *earlier; /* of all */
} Memo;

struct Habit {
    Hash key;
    uint64_t launches; /* that ran */
    Piece *reaches;    /* what the last ones did */
    int n, cap;
    bool is_kept; /* the one that runs will be */
    Figures last;
    Memo *memos;
};

static Map habits; /* by the low half of the key */
static Memo *newest, *oldest;
static size_t kept; /* bytes in memos */
static int eager;   /* so many launches are kept, whichever they are */

/* --- habits --- */

static Hash key_of(const OpLaunch *l) {
    const Kernel *k = l->kernel;
    uint64_t shape[] = {(uint64_t)(uintptr_t)k,
                        l->grid[0],
                        l->grid[1],
                        l->grid[2],
                        l->block[0],
                        l->block[1],
                        l->block[2],
                        l->shared,
                        l->cooperative};
    Hash h = hash_of(shape, sizeof shape, 0);
    return hash_of(l->params, k->info.param_bytes, h.low ^ h.high);
}

Habit *memo_habit(const OpLaunch *l) {
    Hash key = key_of(l);
    const void *name = (const void *)(uintptr_t)(key.low | 1);
    Habit *h = map_get(&habits, name);
    if (h) return hash_equal(h->key, key) ? h : NULL;
    if (habits.n >= MOST_HABITS) return NULL;
    h = gi_alloc(sizeof *h);
    h->key = key;
    map_set(&habits, name, h);
    return h;
}

/* --- memory --- */

static Contents *contents_of(const Piece *p) {
    if (p->array) return texels_is(p->array) ? &p->array->contents : NULL;
    Region *r = memory_at(p->address);
    return r ? &r->contents : NULL;
}

static bool is_same(const Piece *p, const Piece *q) {
    return p->address == q->address && p->array == q->array;
}

static void add_piece(void *user, Texels *array, uint64_t address) {
    Habit *h = user;
    Piece p = {.array = array, .address = address};
    for (int i = 0; i < h->n; i++)
        if (is_same(&h->reaches[i], &p)) return;
    const Contents *c = contents_of(&p);
    if (c == NULL) return;
    p.size = c->size;
    gi_grow(h->reaches, h->n, h->cap);
    h->reaches[h->n++] = p;
}

/* What it reaches besides loads and stores: textures, surfaces, and constants that instructions
** name. */
static void add_others(Habit *h, const OpLaunch *l) {
    texture_each(add_piece, h);
    for (const Variable *v = l->kernel->module->variables; v; v = v->next)
        if (v->is_constant && v->address) add_piece(h, NULL, v->address);
}

/* --- memos --- */

static void forget(Memo *m) {
    Memo **at = &m->habit->memos;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    *(m->later ? &m->later->earlier : &newest) = m->earlier;
    *(m->earlier ? &m->earlier->later : &oldest) = m->later;
    kept -= m->kept;
    for (int i = 0; i < m->n; i++) free(m->pieces[i].bytes);
    free(m->pieces);
    free(m);
}

static void remember(Memo *m) {
    m->next = m->habit->memos;
    m->habit->memos = m;
    m->earlier = newest;
    *(newest ? &newest->later : &oldest) = m;
    newest = m;
    kept += m->kept;
}

static bool is_now(const Memo *m) {
    for (int i = 0; i < m->n; i++) {
        Contents *c = contents_of(&m->pieces[i]);
        if (c == NULL || c->size != m->pieces[i].size) return false;
        if (!hash_equal(contents_hash(c), m->pieces[i].before)) return false;
    }
    return true;
}

static void apply(const Memo *m) {
    for (int i = 0; i < m->n; i++) {
        const Piece *p = &m->pieces[i];
        if (p->bytes == NULL) continue;
        Contents *c = contents_of(p);
        memcpy(c->data, p->bytes, p->size);
        contents_known(c, p->after);
    }
}

bool memo_find(Habit *h, Figures *out) {
    for (const Memo *m = h->memos; m; m = m->next) {
        if (!is_now(m)) continue;
        apply(m);
        eager = EAGER;
        *out = m->took;
        return true;
    }
    return false;
}

bool memo_capped(const Habit *h, Figures *out) {
    uint64_t most = runtime.config.most_repeats;
    *out = h->last;
    return most && h->launches >= most;
}

/* --- around a launch --- */

static bool is_power_of_two(uint64_t n) {
    return (n & (n - 1)) == 0;
}

void memo_before(Habit *h, const OpLaunch *l) {
    h->launches++;
    h->is_kept = runtime.config.skip && h->n > 0 && (eager > 0 || is_power_of_two(h->launches));
    if (!h->is_kept) return;
    add_others(h, l);
    for (int i = 0; i < h->n; i++) {
        Contents *c = contents_of(&h->reaches[i]);
        if (c == NULL || c->size != h->reaches[i].size) { /* freed since */
            h->n = 0;
            h->is_kept = false;
            return;
        }
        h->reaches[i].before = contents_hash(c);
    }
}

/* Contents that a launch reached may be others now. False where it reached what was not known
** before, or what is no region: an object that a kernel allocated. */
static bool note_reached(Habit *h) {
    int known = h->n;
    bool all = true;
    uint64_t address;
    surfaces_wrote();
    for (int i = 0; (address = emu_touched(runtime.emu, i)) != 0; i++) {
        Region *r = memory_at(address);
        all = all && r;
        if (r == NULL) continue;
        r->contents.version++;
        add_piece(h, NULL, address);
    }
    return all && h->n == known;
}

void memo_unknown(void) {
    Habit none = {0};
    note_reached(&none);
    free(none.reaches);
}

static size_t most_bytes(void) {
    static size_t most;
    if (most == 0) most = (size_t)sysconf(_SC_PHYS_PAGES) / 8 * (size_t)sysconf(_SC_PAGESIZE);
    return most;
}

/* A copy of what the piece holds now, where that is not what it held before. False: no room. */
static bool keep_bytes(Piece *p, Memo *m) {
    Contents *c = contents_of(p);
    p->after = contents_hash(c);
    p->bytes = NULL;
    if (hash_equal(p->after, p->before)) return true;
    if (p->size > most_bytes()) return false;
    while (kept + m->kept + p->size > most_bytes() && oldest) forget(oldest);
    p->bytes = malloc(p->size);
    if (p->bytes == NULL) return false;
    memcpy(p->bytes, c->data, p->size);
    m->kept += p->size;
    return true;
}

static void keep(Habit *h, const Figures *took) {
    Memo *m = gi_alloc(sizeof *m);
    *m = (Memo){.habit = h, .took = *took, .pieces = gi_alloc((size_t)h->n * sizeof *m->pieces)};
    bool ok = true;
    for (; ok && m->n < h->n; m->n++) {
        m->pieces[m->n] = h->reaches[m->n];
        ok = keep_bytes(&m->pieces[m->n], m);
    }
    if (eager > 0) eager--;
    remember(m);
    if (!ok) forget(m);
}

void memo_after(Habit *h, const OpLaunch *l, const Figures *took, bool plain) {
    bool is_known = note_reached(h);
    h->last = *took;
    if (h->n == 0) add_others(h, l); /* it reaches nothing else, perhaps */
    if (h->is_kept && plain && is_known) keep(h, took);
}
