/* origins.c - where undefined values arise, and which of them matter. See undefined.h.
**
** An origin is an instruction; it stays as long as memory may hold a value of it, over launches. In
** each launch it is described where it was first, and counted. A hash table says which words of
** memory hold what was stored undefined; words that it does not list nobody wrote.
*/
#include "emu/check/undefined.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ORIGINS = 4096, MOST_WORDS = 1 << 22, MOST_PAIRS = 64, ORIGIN_PAIR = -1 };

typedef struct Origin {
    uint32_t module;
    int func, ins;
    int kind; /* EmuWarning, ORIGIN_PADS; ORIGIN_PAIR: of two, and nothing else is set */
    uint32_t of[2];
    uint64_t launch;    /* the last in which it was seen */
    bool matters;       /* in this launch */
    bool told;          /* by emu_undefined */
    EmuFinding finding; /* of `launch`; kernel is its own */
} Origin;

typedef struct Word {
    uint64_t place; /* 0: free */
    uint32_t origin;
} Word;

struct Origins {
    Origin **at;
    int n, cap, last, n_pairs; /* last: found */
    uint64_t launch;
    Word *word; /* cap_words is 0 or a power of two */
    uint32_t n_words, cap_words;
};

/* --- what memory holds --- */

static Word *word_at(const struct Origins *o, uint64_t place) {
    uint64_t at = place * 0x9e3779b97f4a7c15u >> 32;
    for (;; at++) {
        Word *w = &o->word[at & (o->cap_words - 1)];
        if (w->place == place || w->place == 0) return w;
    }
}

static void grow_words(struct Origins *o) {
    struct Origins old = *o;
    o->cap_words = old.cap_words ? 2 * old.cap_words : 256;
    o->word = gi_alloc(o->cap_words * sizeof *o->word);
    for (uint32_t i = 0; i < old.cap_words; i++)
        if (old.word[i].place) *word_at(o, old.word[i].place) = old.word[i];
    free(old.word);
}

void origin_keep(Emu *e, uint64_t place, uint32_t origin) {
    struct Origins *o = e->origins;
    place = (place & ~(uint64_t)3) | 1;
    if (2 * o->n_words >= o->cap_words && o->n_words < MOST_WORDS) grow_words(o);
    Word *w = word_at(o, place);
    if (w->place == 0 && o->n_words == MOST_WORDS) return; /* its origin is unknown, then */
    o->n_words += w->place == 0;
    *w = (Word){place, origin};
}

void origins_forget(Emu *e, uint64_t from, uint64_t n_bytes) {
    struct Origins *o = e->origins;
    for (uint32_t i = 0; o && o->n_words && i < o->cap_words; i++)
        if (o->word[i].place - from < n_bytes) o->word[i].origin = ORIGIN_NONE;
}

uint32_t origin_kept(const Emu *e, uint64_t place) {
    const struct Origins *o = e->origins;
    if (o == NULL || o->n_words == 0) return ORIGIN_NONE;
    const Word *w = word_at(o, (place & ~(uint64_t)3) | 1);
    return w->place ? w->origin : ORIGIN_NONE;
}

/* --- origins --- */

static void forget_all(struct Origins *o) {
    for (int i = 0; i < o->n; i++) {
        free((char *)(uintptr_t)o->at[i]->finding.kernel);
        free(o->at[i]);
    }
    free(o->word);
    o->word = NULL;
    o->n = o->n_pairs = 0;
    o->n_words = o->cap_words = 0;
}

void origins_free(Emu *e) {
    if (e->origins == NULL) return;
    forget_all(e->origins);
    free(e->origins->at);
    free(e->origins);
}

static bool is_at(const Origin *o, const Machine *m, const Warp *w, const Ins *in, int kind) {
    return o->ins == (int)(in - w->code->ins) && o->func == w->code->index &&
           o->module == m->mod->serial && o->kind == kind;
}

/* Returns the place of an origin in the list, or -1. The one found last is tried first. */
static int find(struct Origins *o, const Machine *m, const Warp *w, const Ins *in, int kind) {
    if (o->last < o->n && is_at(o->at[o->last], m, w, in, kind)) return o->last;
    int i = o->n - 1;
    while (i >= 0 && !is_at(o->at[i], m, w, in, kind)) i--;
    if (i >= 0) o->last = i;
    return i;
}

static Origin *add(struct Origins *o, const Machine *m, const Warp *w, const Ins *in, int kind) {
    gi_grow(o->at, o->n, o->cap);
    Origin *new = gi_alloc(sizeof *new);
    *new = (Origin){m->mod->serial,
                    w->code->index,
                    (int)(in - w->code->ins),
                    kind,
                    {0, 0},
                    0,
                    false,
                    false,
                    {.kind = emu_warning_name((EmuWarning)(kind & ~ORIGIN_PADS))}};
    return o->at[o->n++] = new;
}

uint32_t origin_again(Machine *m, const Warp *w, const Ins *in, int kind) {
    struct Origins *o = m->emu->origins;
    int i = find(o, m, w, in, kind);
    if (i < 0 || o->at[i]->launch != o->launch) return ORIGIN_NONE;
    o->at[i]->finding.count++;
    return ORIGIN_FIRST + (uint32_t)i;
}

uint32_t origin_at(Machine *m, const Warp *w, const Ins *in, int lane, int kind, const char *fmt,
                   ...) {
    struct Origins *o = m->emu->origins;
    int i = find(o, m, w, in, kind);
    if (i < 0 && o->n == MOST_ORIGINS) return ORIGIN_REGISTER; /* told where it matters */
    Origin *a = i < 0 ? add(o, m, w, in, kind) : o->at[i];
    if (i < 0) i = o->n - 1;
    if (a->launch != o->launch) {
        va_list args;
        free((char *)(uintptr_t)a->finding.kernel);
        a->launch = o->launch;
        a->matters = a->told = false;
        a->finding.count = 0;
        va_start(args, fmt);
        fault_describe(m, w, in, lane, fmt, args, &a->finding);
        va_end(args);
        a->finding.kernel = gi_strdup(a->finding.kernel);
    }
    a->finding.count++;
    return ORIGIN_FIRST + (uint32_t)i;
}

static bool holds(const struct Origins *o, uint32_t whole, uint32_t part) {
    const Origin *a = whole < ORIGIN_FIRST ? NULL : o->at[whole - ORIGIN_FIRST];
    return whole == part ||
           (a && a->kind == ORIGIN_PAIR && (holds(o, a->of[0], part) || holds(o, a->of[1], part)));
}

/* Where there are too many, the second is left out: it is reported when the first is mended. */
uint32_t origin_both(struct Origins *o, uint32_t a, uint32_t b) {
    if (a == ORIGIN_NONE || b == ORIGIN_NONE) return a | b;
    if (holds(o, a, b)) return a;
    if (holds(o, b, a)) return b;
    for (int i = o->n - 1; i >= 0; i--) {
        const Origin *p = o->at[i];
        if (p->kind == ORIGIN_PAIR && p->of[0] == a && p->of[1] == b)
            return ORIGIN_FIRST + (uint32_t)i;
    }
    if (o->n_pairs == MOST_PAIRS || o->n == MOST_ORIGINS) return a;
    gi_grow(o->at, o->n, o->cap);
    o->n_pairs++;
    o->at[o->n] = gi_alloc(sizeof *o->at[0]);
    o->at[o->n]->kind = ORIGIN_PAIR;
    o->at[o->n]->of[0] = a, o->at[o->n]->of[1] = b;
    return ORIGIN_FIRST + (uint32_t)o->n++;
}

bool origin_pads(const Emu *e, uint32_t origin) {
    if (origin < ORIGIN_FIRST) return false;
    const Origin *a = e->origins->at[origin - ORIGIN_FIRST];
    if (a->kind == ORIGIN_PAIR) return origin_pads(e, a->of[0]) && origin_pads(e, a->of[1]);
    return a->kind & ORIGIN_PADS;
}

/* --- uses --- */

static void add_use(EmuFinding *f, const Warp *w, const Ins *in, const char *how) {
    size_t n = strlen(f->message), cap = sizeof f->message;
    const InsPlace *at = in ? &w->code->place[in - w->code->ins] : NULL;
    n += (size_t)snprintf(f->message + n, cap - n, "; it %s", how);
    if (at == NULL || at->ptx_line == f->ptx_line || n >= cap) return;
    n += (size_t)snprintf(f->message + n, cap - n, " at PTX line %d", at->ptx_line);
    const PtxFunc *here = w->code->func;
    if (at->src_line && n < cap)
        snprintf(f->message + n, cap - n, ", %s line %d", here->file ? here->file : "source",
                 at->src_line);
}

void origin_matters(Machine *m, const Warp *w, const Ins *in, int lane, uint32_t origin,
                    const char *how) {
    struct Origins *o = m->emu->origins;
    if (origin == ORIGIN_NONE) return;
    if (origin == ORIGIN_REGISTER) {
        fault_note(m, w, in, lane, EMU_WARN_UNDEFINED, "a value that nothing set %s", how);
        return;
    }
    Origin *a = o->at[origin - ORIGIN_FIRST];
    if (a->kind == ORIGIN_PAIR) {
        origin_matters(m, w, in, lane, a->of[0], how);
        origin_matters(m, w, in, lane, a->of[1], how);
        return;
    }
    if (a->matters) return;
    a->matters = true;
    if (strstr(a->finding.message, "; it ") == NULL) add_use(&a->finding, w, in, how);
}

/* --- launches --- */

static bool holds_any(const Emu *e) {
    for (int i = 0; i < e->n_list; i++)
        if (e->alloc[e->list[i]].unwritten) return true;
    return false;
}

void origins_begin(Machine *m) {
    Emu *e = m->emu;
    if (!m->launch->count_uninitialised) return;
    if (e->origins == NULL) e->origins = gi_alloc(sizeof *e->origins);
    if (!holds_any(e)) forget_all(e->origins);
    e->origins->launch++;
    for (int i = 0; i < e->origins->n; i++) e->origins->at[i]->matters = false;
}

/* Is it still there, in memory that the host may read? */
static bool is_left(const Emu *e, const Word *w) {
    const Alloc *a = alloc_of(e, w->place & ~(uint64_t)3);
    uint64_t at = a ? (w->place & ~(uint64_t)3) - a->address : 0;
    return a && !a->is_heap && a->written && at < a->size &&
           (~a->written[at / 8] >> at % 8 & 15) != 0;
}

static void matter_left(Machine *m) {
    const struct Origins *o = m->emu->origins;
    for (uint32_t i = 0; i < o->cap_words; i++) {
        const Word *w = &o->word[i];
        if (w->origin && !origin_pads(m->emu, w->origin) && is_left(m->emu, w))
            origin_matters(m, NULL, NULL, 0, w->origin, "is left to the host");
    }
}

void origins_end(Machine *m) {
    struct Origins *o = m->emu->origins;
    if (!m->launch->count_uninitialised) return;
    if (!m->launch->host_tells) matter_left(m);
    for (int i = 0; i < o->n; i++) {
        Origin *a = o->at[i];
        if (!a->matters) continue;
        if ((a->kind & ~ORIGIN_PADS) == EMU_WARN_UNINITIALISED)
            m->result->uninitialised_reads += a->finding.count;
        fault_add(m->result, &a->finding);
        a->told = true;
    }
}

/* --- the host --- */

/* Of an origin, or one of two, that has not been told. */
static Origin *untold(const struct Origins *o, uint32_t origin) {
    Origin *a = origin < ORIGIN_FIRST ? NULL : o->at[origin - ORIGIN_FIRST], *found;
    if (a == NULL || a->kind != ORIGIN_PAIR) return a && !a->told ? a : NULL;
    return (found = untold(o, a->of[0])) ? found : untold(o, a->of[1]);
}

/* What was told, or has no more to tell, counts as defined from then on. */
bool emu_undefined(Emu *e, uint64_t *from, uint64_t end, const char *how, EmuUndefined *out) {
    while (alloc_undefined(e, *from, end, out)) {
        uint64_t at = alloc_of(e, *from)->address + out->at;
        *from = at;
        uint32_t origin = origin_kept(e, at);
        Origin *o = untold(e->origins, origin);
        if (o == NULL) emu_wrote(e, at, (size_t)out->n_bytes);
        if (origin < ORIGIN_FIRST) return true;
        if (o == NULL) continue;
        o->told = true;
        if (strstr(o->finding.message, "; it ") == NULL) add_use(&o->finding, NULL, NULL, how);
        out->finding = o->finding;
        return true;
    }
    return false;
}
