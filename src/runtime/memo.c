/* memo.c - see memo.h. */
#include "runtime/memo.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/map.h"
#include "runtime/module.h"
#include "runtime/observe.h"

enum { MOST_HABITS = 1 << 16, EAGER = 1024 };

/* Bytes that may be kept for each warp instruction that ran: a byte takes about 0.5 ns to hash and
** copy, a warp instruction some 8 ns. */
#define MOST_CREDIT ((uint64_t)1 << 40)
enum { BYTES_AN_INSTRUCTION = 2 };

/* The free memory is read again after this many bytes were copied. */
#define ASK_AFTER ((size_t)64 << 20)

typedef struct Piece { /* memory that a launch reached */
    uint64_t address;  /* 0: it is the array's */
    Texels *array;
    size_t size;
    Hash before, after;
    uint8_t *bytes;   /* after, where that is something else; else NULL, or there was no room */
    bool is_other;    /* reached by other ways than loads and stores, perhaps */
    bool is_reached;  /* by the last launch */
    bool is_read;     /* … which depends on what it held */
    bool has_before;
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
    uint64_t number;   /* among its kernel's, from 1 */
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
static uint64_t credit;

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
                        l->kind.cooperative,
                        l->kind.cluster.x,
                        l->kind.cluster.y,
                        l->kind.cluster.z};
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
    h->number = ++l->kernel->habits;
    map_set(&habits, name, h);
    return h;
}

/* --- memory --- */

static Contents *contents_of(const Piece *p) {
    if (p->array) return texels_is(p->array) ? &p->array->memory->contents : NULL;
    Region *r = memory_at(p->address);
    return r ? &r->contents : NULL;
}

static bool is_same(const Piece *p, const Piece *q) {
    return p->address == q->address && p->array == q->array;
}

/* NULL: it is no memory. */
static Piece *add_piece(Habit *h, Texels *array, uint64_t address) {
    Piece p = {.array = array, .address = address};
    for (int i = 0; i < h->n; i++)
        if (is_same(&h->reaches[i], &p)) return &h->reaches[i];
    const Contents *c = contents_of(&p);
    if (c == NULL) return NULL;
    p.size = c->size;
    gi_grow(h->reaches, h->n, h->cap);
    h->reaches[h->n] = p;
    return &h->reaches[h->n++];
}

static void add_other(void *habit, Texels *array, uint64_t address) {
    Piece *p = add_piece(habit, array, address);
    if (p) p->is_other = true;
}

/* What it reaches besides loads and stores: textures, surfaces, and constants that instructions
** name. */
static void add_others(Habit *h, const OpLaunch *l) {
    texture_each(add_other, h);
    for (const Variable *v = l->kernel->module->variables; v; v = v->next)
        if (v->is_constant && v->address) add_other(h, NULL, v->address);
}

/* What its first launch may reach: what its arguments point at, and variables. */
static void guess(Habit *h, const OpLaunch *l) {
    for (size_t at = 0; at + 8 <= l->kernel->info.param_bytes; at += 8) {
        uint64_t value;
        memcpy(&value, l->params + at, sizeof value);
        const Region *r = memory_find(value);
        if (r) add_piece(h, NULL, r->address);
    }
    for (const Variable *v = l->kernel->module->variables; v; v = v->next)
        if (v->address) add_piece(h, NULL, v->address);
}

/* Those that the last launch did not reach go. */
static void drop_unreached(Habit *h) {
    int n = 0;
    for (int i = 0; i < h->n; i++)
        if (h->reaches[i].is_reached) h->reaches[n++] = h->reaches[i];
    h->n = n;
}

/* --- memos --- */

static void forget(Memo *m) {
    Memo **at = &m->habit->memos;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    *(m->later ? &m->later->earlier : &newest) = m->earlier;
    *(m->earlier ? &m->earlier->later : &oldest) = m->later;
    kept -= m->kept;
    contents_settle_all(); /* what holds its bytes */
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

/* Would the launch leave in it what it left then, and is that known? */
static bool fits(const Piece *p) {
    Contents *c = contents_of(p);
    if (c == NULL || c->size != p->size) return false;
    Hash now = contents_hash(c);
    if (p->has_before && hash_equal(now, p->before))
        return p->bytes || hash_equal(p->before, p->after);
    return !p->is_read && hash_equal(now, p->after);
}

static bool is_now(const Memo *m) {
    for (int i = 0; i < m->n; i++)
        if (!fits(&m->pieces[i])) return false;
    return true;
}

/* Memory with two addresses, or that somebody watches, cannot wait for its bytes. */
static bool may_be_late(const Piece *p, const Contents *c) {
    return p->array == NULL && !c->is_shared && !is_observed();
}

/* After is_now, which has computed the hashes. */
static void apply(const Memo *m) {
    for (int i = 0; i < m->n; i++) {
        const Piece *p = &m->pieces[i];
        Contents *c = contents_of(p);
        if (hash_equal(c->hash, p->after)) continue;
        contents_become(c, p->bytes, p->after);
        if (!may_be_late(p, c)) contents_settle(c);
    }
}

static void earn(const Figures *took) {
    credit += took->warp_instructions * BYTES_AN_INSTRUCTION;
    if (credit > MOST_CREDIT) credit = MOST_CREDIT;
}

bool memo_find(Habit *h, Figures *out) {
    for (const Memo *m = h->memos; m; m = m->next) {
        if (!is_now(m)) continue;
        apply(m);
        eager = EAGER;
        *out = m->took;
        earn(out);
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

/* Is it worth it? Then the bytes that it reaches are paid for. */
static bool is_worth_keeping(const Habit *h) {
    uint64_t bytes = 0;
    for (int i = 0; i < h->n; i++) bytes += h->reaches[i].size;
    if (bytes <= credit) return credit -= bytes, true;
    if (h->launches == 1) return is_power_of_two(h->number);
    return eager > 0 || is_power_of_two(h->launches);
}

void memo_before(Habit *h, const OpLaunch *l) {
    h->is_kept = false;
    h->launches++;
    if (!runtime.config.skip) return;
    if (h->n == 0) guess(h, l);
    add_others(h, l);
    for (int i = 0; i < h->n; i++) {
        const Contents *c = contents_of(&h->reaches[i]);
        if (c == NULL || c->size != h->reaches[i].size) { /* freed since */
            h->n = 0;
            return;
        }
        h->reaches[i].has_before = false;
    }
    h->is_kept = is_worth_keeping(h);
    for (int i = 0; h->is_kept && i < h->n; i++) {
        h->reaches[i].before = contents_hash(contents_of(&h->reaches[i]));
        h->reaches[i].has_before = true;
    }
}

/* Does the launch, which did this to the piece, depend on nothing of it but what is known? */
static bool note_piece(Piece *p, Contents *c, unsigned how) {
    p->is_read |= (how & EMU_READ) != 0;
    if (!p->has_before && how == EMU_READ && !c->is_shared) { /* it is what it was */
        p->before = contents_hash(c);
        p->has_before = true;
    }
    return p->has_before || how == EMU_WRITTEN;
}

/* Contents that a launch wrote may be others now. It is not kept where it depended on what is not
** known any more, or reached what is no region: an object that a kernel allocated. */
static void note_reached(Habit *h) {
    uint64_t address;
    unsigned how;
    surfaces_wrote();
    for (int i = 0; i < h->n; i++)
        h->reaches[i].is_reached = h->reaches[i].is_read = h->reaches[i].is_other;
    for (int i = 0; (address = emu_touched(runtime.emu, i, &how)) != 0; i++) {
        Region *r = memory_at(address);
        Piece *p = r ? add_piece(h, NULL, address) : NULL;
        if (r && how & EMU_WRITTEN) r->contents.version++;
        h->is_kept = h->is_kept && p && note_piece(p, &r->contents, how);
        if (p) p->is_reached = true;
    }
}

void memo_unknown(void) {
    Habit none = {0};
    note_reached(&none);
    free(none.reaches);
}

/* Asking takes as long as copying some 100 kB. */
static size_t most_bytes(size_t more) {
    static size_t most, copied = SIZE_MAX;
    if (copied > ASK_AFTER) {
        most = memo_most(gi_memory(), kept);
        copied = 0;
    }
    copied += more;
    return most;
}

/* A copy of what the piece holds now, where that is not what it held before and there is room. */
static void keep_bytes(Piece *p, Memo *m) {
    Contents *c = contents_of(p);
    p->after = contents_hash(c);
    p->bytes = NULL;
    if (!p->has_before || hash_equal(p->after, p->before)) return;
    const size_t most = most_bytes(p->size);
    if (p->size > most) return;
    while (kept + m->kept + p->size > most && oldest) forget(oldest);
    p->bytes = malloc(p->size);
    if (p->bytes == NULL) return;
    memcpy(p->bytes, c->data, p->size);
    m->kept += p->size;
}

static void keep(Habit *h, const Figures *took) {
    Memo *m = gi_alloc(sizeof *m);
    *m = (Memo){.habit = h, .took = *took, .pieces = gi_alloc((size_t)h->n * sizeof *m->pieces)};
    for (int i = 0; i < h->n; i++) {
        if (!h->reaches[i].is_reached) continue;
        m->pieces[m->n] = h->reaches[i];
        keep_bytes(&m->pieces[m->n++], m);
    }
    if (eager > 0) eager--;
    remember(m);
}

void memo_after(Habit *h, const Figures *took, bool plain) {
    note_reached(h);
    h->last = *took;
    earn(took);
    if (h->is_kept && plain) keep(h, took);
    if (h->launches == 1) drop_unreached(h);
}
