/* watch.c - which pointers of a kernel lead to one byte.
**
** A rewriting may assume that two arrays are different memory (no alias). This file checks that
** while the unmodified kernel runs: the address of an access is made of some parameters, or of a
** variable (ptx_sources), and each byte remembers by which of them it was read and written.
**
** A parameter that is no address in an allocation is part of an index, and does not count. An
** address that was loaded from memory, or came through a function that is called, is not
** understood: such an access is reported, because two pointers may then have met unseen.
*/
#include "emu/check/shadow.h"

#include <stdlib.h>
#include <string.h>

/* A source as a number: 0 is none that is understood, 1 the variables, from 2 on parameters. */
enum { UNKNOWN_SOURCE, VARIABLES, FIRST_PARAM, MOST_SOURCES = 32 };

struct Watch {
    const Machine *m;
    uint8_t *of_line; /* of the entry's accesses, by PTX line from `first` on */
    int first, n;
    bool has_unknown;
};

/* --- what addresses are made of --- */

/* Is there memory that a kernel reaches, where a word of the parameters leads? */
static bool is_pointer(const Machine *m, uint32_t at) {
    uint64_t value;
    if (at + sizeof value > m->param_bytes) return false;
    memcpy(&value, m->params + at, sizeof value);
    const Alloc *a = alloc_of(m->emu, value);
    return a && a->live && !a->is_hidden;
}

static int param_at(const PtxFunc *f, uint32_t word) {
    uint64_t at = 0;
    for (int i = 0; i < f->n_params; i++) {
        const PtxVar *p = &f->params[i];
        uint64_t align = p->align > 0 ? (uint64_t)p->align : 1;
        at = (at + align - 1) / align * align + p->size;
        if (word < at) return i;
    }
    return MOST_SOURCES;
}

static uint8_t source_of(const Machine *m, const PtxSources *s, uint64_t of) {
    uint8_t found = of & PTX_FROM_VARIABLE ? VARIABLES : UNKNOWN_SOURCE;
    if (of & PTX_FROM_UNKNOWN) return UNKNOWN_SOURCE;
    for (int i = 0; i < s->n_words; i++) {
        if (!(of >> i & 1) || !is_pointer(m, s->word[i])) continue;
        int source = FIRST_PARAM + param_at(m->entry->func, s->word[i]);
        if (source >= MOST_SOURCES || (found != UNKNOWN_SOURCE && found != source))
            return UNKNOWN_SOURCE;
        found = (uint8_t)source;
    }
    return found;
}

static void find_sources(Watch *w, const PtxFunc *f) {
    PtxSources s = ptx_sources(f);
    for (int i = 0; i < f->n_code; i++)
        if (s.of[i]) w->of_line[f->code[i].line - w->first] = source_of(w->m, &s, s.of[i]);
    free(s.of);
}

/* Lines of several texts that were linked say nothing. Each instruction has a line of its own. */
static bool set_lines(Watch *w, const PtxFunc *f, const PtxModule *ptx) {
    if (ptx->n_parts > 1 || f->n_code == 0) return false;
    w->first = f->code[0].line;
    for (int i = 1; i < f->n_code; i++)
        if (f->code[i].line <= f->code[i - 1].line) return false;
    w->n = f->code[f->n_code - 1].line - w->first + 1;
    return true;
}

Watch *watch_new(Machine *m) {
    Watch own = {.m = m};
    const PtxFunc *f = m->entry->func;
    if (!m->launch->meets || m->launch->check_races < EMU_RACES_GLOBAL) return NULL;
    if (!set_lines(&own, f, m->mod->ptx)) return NULL;
    Watch *w = gi_alloc(sizeof *w);
    *w = own;
    w->of_line = gi_alloc((size_t)w->n);
    find_sources(w, f);
    m->result->meets.is_whole = true;
    return w;
}

void watch_free(Watch *w) {
    if (w == NULL) return;
    free(w->of_line);
    free(w);
}

/* --- accesses --- */

static int source_at(const Watch *w, const Touch *t) {
    int i = t->ptx_line - w->first;
    return t->time && i >= 0 && i < w->n ? w->of_line[i] : UNKNOWN_SOURCE;
}

static bool is_same(const EmuMeet *a, const EmuMeet *b) {
    if (a->how != b->how || strcmp(a->kernel, b->kernel) != 0) return false;
    return a->how == EMU_MEETS_UNKNOWN ||
           (a->then.source == b->then.source && a->now.source == b->now.source &&
            a->then.src_line == b->then.src_line && a->now.src_line == b->now.src_line);
}

static void add(EmuMeets *to, const EmuMeet *one) {
    for (int i = 0; i < to->n; i++)
        if (is_same(&to->at[i], one)) return;
    if (to->n == EMU_MEETINGS) to->is_whole = false;
    else to->at[to->n++] = *one;
}

void emu_meets_add(EmuMeets *to, const EmuMeets *from, const char *kernel) {
    to->is_whole &= from->is_whole;
    for (int i = 0; i < from->n; i++) {
        EmuMeet one = from->at[i];
        one.kernel = kernel;
        add(to, &one);
    }
}

static EmuTouch told(const Touch *t, int source, bool writes) {
    return (EmuTouch){source - FIRST_PARAM, t->time ? t->src_line : 0, writes};
}

static void tell(const Watch *w, EmuMeeting how, EmuTouch first, const Touch *now,
                 EmuTouch second) {
    const unsigned *b = w->m->launch->block;
    EmuMeet one = {
        .kernel = w->m->entry->func->name,
        .how = how,
        .then = first,
        .now = second,
        .thread = {now->thread % b[0], now->thread / b[0] % b[1], now->thread / b[0] / b[1]}};
    memcpy(one.block, w->m->ctaid, sizeof one.block);
    add(&w->m->result->meets, &one);
}

/* Who was there by another source, as far as it is remembered. */
static const Touch *before(const Watch *w, int source, bool wrote, const Touch read[2]) {
    static const Touch none = {0};
    for (int i = 0; i < 2 && !wrote; i++)
        if (source_at(w, &read[i]) == source) return &read[i];
    return &none;
}

void watch_touch(Watch *w, Marks *marks, const Touch *now, bool writes, const Touch *wrote,
                 const Touch read[2]) {
    int own = source_at(w, now);
    EmuTouch second = told(now, own, writes);
    if (own == UNKNOWN_SOURCE) {
        if (!w->has_unknown) tell(w, EMU_MEETS_UNKNOWN, second, now, second);
        w->has_unknown = true;
        return;
    }
    uint32_t others = (marks->writes | (writes ? marks->reads : 0)) & ~(1u << own);
    for (; others; others &= others - 1) {
        int other = __builtin_ctz(others);
        bool is_last = source_at(w, wrote) == other, has_written = marks->writes >> other & 1;
        const Touch *then = is_last ? wrote : before(w, other, has_written, read);
        tell(w, is_last ? EMU_MEETS_IN_ORDER : EMU_MEETS, told(then, other, has_written), now,
             second);
    }
    if (writes) marks->writes |= 1u << own;
    else marks->reads |= 1u << own;
}
