/* memory.c - the words of memory: of inputs, of what the kernels wrote, of shared and of local
** memory. See exact.h.
**
** Inputs take no room: what their words are follows from where they are. Words that a kernel wrote
** are kept in pages.
*/
#include "emu/exact/exact.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_SHIFT = 14, PAGE_WORDS = 1 << (PAGE_SHIFT - 2) };

struct ExactPage {
    uint64_t base; /* address >> PAGE_SHIFT */
    Word word[PAGE_WORDS];
};

void exact_memory_free(Exact *x) {
    for (size_t i = 0; i < x->cap_pages; i++) free(x->page[i]);
    free(x->page);
    for (int i = 0; i < x->n_shared; i++) free(x->shared[i].word);
    free(x->shared);
}

/* --- inputs --- */

static Word input(const Exact *x, const ExactMemory *m, uint64_t offset) {
    bool wide = m->type == EMU_EXACT_F64;
    Word w = exact_element(x, HASH_INPUT, m->id, wide ? offset & ~(uint64_t)7 : offset, 1);
    w.kind = m->type == EMU_EXACT_WORDS ? WORD_INPUT : WORD_NUMBER;
    if (wide) w.half = offset & 4 ? HALF_HIGH : HALF_LOW;
    return w;
}

static Word word_of(Exact *x, const ExactMemory *m, uint64_t offset) {
    if (m->type == EMU_EXACT_HALVES) return exact_poison(x, "it reads floats of 16 bits");
    return m->type == EMU_EXACT_RAW ? exact_raw() : input(x, m, offset);
}

/* Memory that nobody described: a variable of the module has its initial value. */
static Word undescribed(Exact *x, uint64_t address) {
    const Alloc *a = alloc_of(x->emu, address);
    if (a && (a->is_variable || a->is_heap)) return exact_raw();
    return exact_poison(x, "it reads memory that is no array of the case");
}

static Word fresh(Exact *x, uint64_t address) {
    for (int i = 0; i < x->n_memory; i++) {
        const ExactMemory *m = &x->memory[i];
        if (address - m->address < m->size) return word_of(x, m, address - m->address);
    }
    return undescribed(x, address);
}

Word exact_load_host(Exact *x, const void *at) {
    uintptr_t place = (uintptr_t)at;
    for (int i = x->n_memory - 1; i >= 0; i--) { /* the last that the host wrote there */
        const ExactMemory *m = &x->memory[i];
        if (m->data && place - (uintptr_t)m->data < m->size)
            return word_of(x, m, place - (uintptr_t)m->data);
    }
    return exact_raw(); /* a constant as the module has it */
}

/* --- pages --- */

static size_t page_slot(const Exact *x, uint64_t base) {
    size_t i = (base * 0x9e3779b97f4a7c15u) >> 32 & (x->cap_pages - 1);
    while (x->page[i] && x->page[i]->base != base) i = (i + 1) & (x->cap_pages - 1);
    return i;
}

static ExactPage *page_of(Exact *x, uint64_t base) {
    if (x->last_page && x->last_page->base == base) return x->last_page;
    if (x->n_pages == 0) return NULL;
    ExactPage *p = x->page[page_slot(x, base)];
    if (p) x->last_page = p;
    return p;
}

static void pages_grow(Exact *x) {
    ExactPage **old = x->page;
    size_t cap = x->cap_pages;
    x->cap_pages = cap ? cap * 2 : 64;
    x->page = gi_alloc(x->cap_pages * sizeof(ExactPage *));
    for (size_t i = 0; i < cap; i++)
        if (old[i]) x->page[page_slot(x, old[i]->base)] = old[i];
    free(old);
}

static ExactPage *page_made(Exact *x, uint64_t base) {
    ExactPage *p = page_of(x, base);
    if (p) return p;
    if (x->n_pages * 2 >= x->cap_pages) pages_grow(x);
    p = gi_alloc(sizeof *p);
    p->base = base;
    x->page[page_slot(x, base)] = p;
    x->n_pages++;
    return x->last_page = p;
}

Word exact_load(Exact *x, uint64_t address) {
    const ExactPage *p = page_of(x, address >> PAGE_SHIFT);
    const Word *w = p ? &p->word[address >> 2 & (PAGE_WORDS - 1)] : NULL;
    return w && w->kind != WORD_UNSET ? *w : fresh(x, address);
}

bool exact_wrote_number(Exact *x, uint64_t address) {
    const ExactPage *p = page_of(x, address >> PAGE_SHIFT);
    return p && p->word[address >> 2 & (PAGE_WORDS - 1)].kind == WORD_NUMBER;
}

void exact_store(Exact *x, uint64_t address, const Word *w) {
    page_made(x, address >> PAGE_SHIFT)->word[address >> 2 & (PAGE_WORDS - 1)] = *w;
}

/* --- what the host of a program does between launches --- */

/* A word that the host changes in part: what a kernel wrote there is not known any more. */
static Word in_part(Exact *x, uint64_t address, const Word *whole) {
    const ExactPage *p = page_of(x, address >> PAGE_SHIFT);
    const Word *old = p ? &p->word[address >> 2 & (PAGE_WORDS - 1)] : NULL;
    if (old == NULL || old->kind <= WORD_INPUT) return *whole;
    return exact_poison(x, "the host writes a part of a number that a kernel wrote");
}

/* Gives the words of a piece of memory, each by its number; words at its ends may be in part. */
static void host_writes(Exact *x, uint64_t address, size_t size, const ExactMemory *m) {
    x->at = NULL;
    for (uint64_t at = address & ~(uint64_t)3; at < address + size; at += 4) {
        bool whole = at >= address && at + 4 <= address + size;
        Word w = word_of(x, m, at - (address & ~(uint64_t)3));
        if (!whole) w = in_part(x, at, &w);
        exact_store(x, at, &w);
    }
}

void emu_exact_wrote(Exact *x, uint64_t address, size_t size_bytes, uint64_t id) {
    host_writes(x, address, size_bytes, &(ExactMemory){.id = id, .type = EMU_EXACT_WORDS});
}

void emu_exact_filled(Exact *x, uint64_t address, size_t size_bytes) {
    host_writes(x, address, size_bytes, &(ExactMemory){.type = EMU_EXACT_RAW});
}

void emu_exact_moved(Exact *x, uint64_t to, uint64_t from, size_t size_bytes) {
    if ((to | from | size_bytes) & 3) {
        emu_exact_refuse(x, "the host moves parts of words within the GPU's memory");
        return;
    }
    Word *words = gi_alloc(size_bytes / 4 * sizeof *words + 1);
    x->at = NULL;
    for (size_t i = 0; i < size_bytes / 4; i++) words[i] = exact_load(x, from + 4 * i);
    for (size_t i = 0; i < size_bytes / 4; i++) exact_store(x, to + 4 * i, &words[i]);
    free(words);
}

void emu_exact_copied(Exact *x, const void *to, const void *from, size_t size_bytes) {
    uintptr_t begin = (uintptr_t)from;
    for (int i = 0, n = x->n_memory; i < n; i++) {
        ExactMemory m = x->memory[i];
        if (!m.data || (uintptr_t)m.data - begin >= size_bytes) continue;
        m.data = (const uint8_t *)to + ((uintptr_t)m.data - begin);
        emu_exact_memory(x, 0, m.data, m.size, m.type, m.id);
    }
}

/* --- shared and local memory --- */

static ExactShared *shared_found(Exact *x, const Machine *m) {
    for (int i = 0; i < x->n_shared; i++)
        if (x->shared[i].block == m->block) return &x->shared[i];
    gi_grow(x->shared, x->n_shared, x->cap_shared);
    x->shared[x->n_shared] = (ExactShared){.block = m->block};
    return &x->shared[x->n_shared++];
}

/* The words of the running block's shared memory: all UNSET where it has just begun. */
static Word *shared_words(Exact *x, const Machine *m) {
    ExactShared *s = shared_found(x, m);
    uint64_t number = block_number(m);
    size_t size = ((size_t)m->shared_bytes + 3) / 4 * sizeof *s->word;
    if (s->word && s->number == number && s->launch == x->launch) return s->word;
    s->word = gi_realloc(s->word, size + sizeof *s->word);
    memset(s->word, 0, size + sizeof *s->word);
    s->number = number;
    s->launch = x->launch;
    return s->word;
}

static Word *local_word(const Warp *w, int lane, uint64_t offset) {
    return &w->s.exact_local[offset / 4 * LANES + (uint64_t)lane];
}

void exact_local(Warp *w, uint32_t from, uint32_t to) {
    size_t words = ((size_t)to + 3) / 4 * LANES;
    if (words > w->s.exact_local_cap) {
        w->s.exact_local = gi_realloc(w->s.exact_local, words * sizeof(Word));
        memset(w->s.exact_local + w->s.exact_local_cap, 0,
               (words - w->s.exact_local_cap) * sizeof(Word));
        w->s.exact_local_cap = words;
    }
    for (size_t at = from / 4 * LANES; at < words; at++)
        if (w->active >> (at % LANES) & 1) w->s.exact_local[at] = exact_raw();
}

void exact_close_local(WarpStore *s) {
    free(s->exact_local);
}

/* --- an address of a lane --- */

static PtxSpace resolved(PtxSpace space, uint64_t *address) {
    uint64_t id = *address >> ID_SHIFT;
    if (space != PTX_GENERIC || (id != ID_SHARED && id != ID_LOCAL && id != ID_PARAM)) return space;
    *address &= OFFSET_MASK;
    return id == ID_SHARED ? PTX_SHARED : id == ID_LOCAL ? PTX_LOCAL : PTX_PARAM;
}

Word exact_param(const Exact *x, uint64_t offset) {
    uint64_t launch = x->is_program ? x->launch << 32 : 0;
    ExactMemory params = {.id = launch | EMU_EXACT_PARAMS, .type = EMU_EXACT_WORDS};
    return input(x, &params, offset);
}

Word exact_read_at(const Machine *m, const Warp *w, int lane, PtxSpace space, uint64_t address) {
    Exact *x = m->launch->exact;
    space = resolved(space, &address);
    if (space == PTX_PARAM) return exact_param(x, address);
    if (space == PTX_LOCAL)
        return address < w->local_top ? *local_word(w, lane, address) : exact_raw();
    if (space == PTX_SHARED)
        return address < m->shared_bytes ? shared_words(x, m)[address / 4] : exact_raw();
    return exact_load(x, address);
}

void exact_write_at(const Machine *m, const Warp *w, int lane, PtxSpace space, uint64_t address,
                    const Word *word) {
    Exact *x = m->launch->exact;
    space = resolved(space, &address);
    if (space == PTX_LOCAL) {
        if (address < w->local_top) *local_word(w, lane, address) = *word;
    } else if (space == PTX_SHARED) {
        if (address < m->shared_bytes) shared_words(x, m)[address / 4] = *word;
    } else {
        exact_store(x, address, word);
    }
}
