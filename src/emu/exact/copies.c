/* copies.c - the words of asynchronous copies. See exact.h.
**
** A copy takes its words where it takes its bytes, and leaves them where its bytes arrive: so a
** kernel that does not wait sees the words that were there before. Where a bulk copy is under way
** its target holds nothing that is known.
*/
#include "emu/exact/exact.h"

#include "emu/exec/bulk.h"
#include "emu/exec/lanes.h"

Word *exact_cargo(const Machine *m, uint32_t bytes) {
    if (m->launch->exact == NULL) return NULL;
    Word *words = gi_alloc((bytes / 4 + 1) * sizeof *words);
    for (uint32_t k = 0; k <= bytes / 4; k++) words[k] = exact_raw();
    return words;
}

/* Bytes of an access that move at once from byte k on, where `at` is byte k of the cargo: a word,
** or a byte of one. */
static uint32_t piece(const Access *a, uint32_t k, uint32_t at) {
    return ((uint32_t)a->address + k) % 4 || at % 4 || a->bytes - k < 4 ? 1 : 4;
}

static Word word_there(const Access *a, uint32_t k) {
    return exact_read_at(a->m, a->w, a->lane, a->space, (a->address + k) & ~(uint64_t)3);
}

void exact_gather(const Access *from, Word *cargo, uint32_t at) {
    for (uint32_t k = 0, n; cargo && k < from->bytes; k += n) {
        Word w = word_there(from, k), *to = &cargo[(at + k) / 4];
        n = piece(from, k, at + k);
        if (n == 1) w = exact_part(from->m->launch->exact, w);
        if (n == 4 || w.kind == WORD_POISON) *to = w;
    }
}

void exact_scatter(const Access *to, const Word *cargo, uint32_t at) {
    for (uint32_t k = 0, n; cargo && k < to->bytes; k += n) {
        Exact *x = to->m->launch->exact;
        Word w = cargo[(at + k) / 4];
        n = piece(to, k, at + k);
        if (n == 1) {
            Word part = exact_part(x, w), there = exact_part(x, word_there(to, k));
            w = part.kind == WORD_POISON ? part : there;
        }
        exact_write_at(to->m, to->w, to->lane, to->space, (to->address + k) & ~(uint64_t)3, &w);
    }
}

static void fill(const Access *to, Word w) {
    for (uint32_t k = 0; k < to->bytes; k += 4)
        exact_write_at(to->m, to->w, to->lane, to->space, to->address + k, &w);
}

void exact_await(const Access *target) {
    Exact *x = target->m->launch->exact;
    if (x) fill(target, exact_poison(x, "it reads what an asynchronous copy still brings"));
}

void exact_leave_integers(const Access *to) {
    if (to->m->launch->exact) fill(to, exact_raw());
}

void exact_take_integers(const Access *from) {
    Exact *x = from->m->launch->exact;
    for (uint32_t k = 0; x && k < from->bytes; k += 4) {
        Word w = exact_part(x, word_there(from, k));
        if (w.kind == WORD_POISON) exact_fail_by(x, &w);
    }
}

/* --- the instructions: what is an address or a count --- */

static void bulk_rows(Exact *x, const Warp *w, const Frame *f, const BulkForm *b) {
    const uint32_t rows[] = {b->to, b->from, b->object, b->mask};
    for (int k = 0; k < 4; k++) exact_address(x, w, f, rows[k]);
    if (b->way != BULK_STORE) exact_address(x, w, f, b->size);
    for (int k = 0; k < b->dims; k++) exact_address(x, w, f, b->coord[k]);
    for (int k = 0; k < b->n_offsets; k++) exact_address(x, w, f, b->offset[k]);
}

void exact_copies(Exact *x, const Warp *w, const Frame *f, const Ins *in) {
    SlowFn run = f->code->slow[in->x];
    const BulkForm *b = run == bulk_issue ? &f->code->bulk[in->imm] : NULL;
    if (b && b->reduces) exact_fail(x, "it reduces asynchronously");
    if (b) {
        bulk_rows(x, w, f, b);
        return;
    }
    exact_address(x, w, f, in->d);
    exact_address(x, w, f, in->a);
    exact_address(x, w, f, in->b);
}

void exact_mbarrier(Exact *x, const Warp *w, const Frame *f, const Ins *in) {
    exact_address(x, w, f, in->a);
    exact_address(x, w, f, in->b);
    exact_settle(w, f, in->d, in->d);
}
