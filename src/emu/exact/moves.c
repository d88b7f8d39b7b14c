/* moves.c - words between registers and memory: loads, stores, atomics, parameters, texels. See
** exact.h.
*/
#include "emu/exact/exact.h"

#include "emu/check/undefined.h"
#include "emu/decode/bounds.h"
#include "emu/decode/ops.h"
#include "emu/exec/atoms.h"
#include "emu/exec/lanes.h"
#include "emu/exec/rows.h"

/* --- parameters of functions --- */

static Word *param_at(const Frame *f, uint32_t lane, uint64_t offset) {
    return &f->exact->params[((uint64_t)lane * f->code->param_bytes + offset) / 4];
}

void exact_pass(uint32_t mask, const Frame *from, const uint32_t *from_at, const Frame *to,
                const uint32_t *to_at, const uint32_t *size, int n) {
    for (; mask; mask &= mask - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(mask);
        for (int k = 0; k < n; k++)
            for (uint32_t at = 0; at < size[k]; at += 4)
                *param_at(to, i, to_at[k] + at) = *param_at(from, i, from_at[k] + at);
    }
}

/* --- loads and stores --- */

/* One element of an access of a lane. */
typedef struct Element {
    const Machine *m;
    const Warp *w;
    const Frame *f;
    const MemForm *form;
    int lane, k; /* k: of the vector */
    uint64_t address;
} Element;

static Word read_word(const Element *e, uint64_t address) {
    if (e->form->bound == BOUND_FRAME) return *param_at(e->f, (uint32_t)e->lane, address);
    return exact_read_at(e->m, e->w, e->lane, (PtxSpace)e->form->space, address);
}

static void write_word(const Element *e, uint64_t address, const Word *w) {
    if (e->form->bound == BOUND_FRAME) *param_at(e->f, (uint32_t)e->lane, address) = *w;
    else exact_write_at(e->m, e->w, e->lane, (PtxSpace)e->form->space, address, w);
}

Word exact_part(Exact *x, Word w) {
    if (w.kind == WORD_INPUT) exact_input_integer(x, &w);
    if (w.kind == WORD_NUMBER || w.kind == WORD_CONST)
        return exact_poison(x, "it reads or writes a part of a float");
    return w.kind == WORD_POISON ? w : exact_raw();
}

static void load_element(const Element *e) {
    uint32_t row = e->form->reg[e->k], size = e->form->size;
    bool wide = exact_is_wide(e->f, row);
    Word low = read_word(e, e->address & ~(uint64_t)3), high = exact_raw();
    if (size < 4) low = exact_part(e->m->launch->exact, low);
    if (size == 8) high = read_word(e, (e->address & ~(uint64_t)3) + 4);
    exact_put(e->f, row, e->lane, false, &low);
    if (wide) exact_put(e->f, row, e->lane, true, &high);
}

static void store_element(const Element *e) {
    uint32_t row = e->form->reg[e->k], size = e->form->size;
    uint64_t address = e->address & ~(uint64_t)3;
    Word low = exact_get(e->f, row, e->lane, false);
    if (size < 4) {
        Exact *x = e->m->launch->exact;
        Word part = exact_part(x, low), there = exact_part(x, read_word(e, address));
        low = part.kind == WORD_POISON ? part : there;
    }
    write_word(e, address, &low);
    if (size != 8) return;
    Word high = exact_get(e->f, row, e->lane, true);
    write_word(e, address + 4, &high);
}

static void access_lane(Element *e) {
    uint64_t first = e->address;
    for (e->k = 0; e->k < e->form->count; e->k++) {
        e->address = first + (uint64_t)e->k * e->form->size;
        if (e->form->is_store) store_element(e);
        else if (!(e->form->unused >> e->k & 1)) load_element(e);
    }
}

int exact_access(Machine *m, Warp *w, const Ins *in) {
    const Frame *f = &w->s.frame[w->frame];
    const MemForm *form = &f->code->mem[in->imm];
    bool in_frame = form->bound == BOUND_FRAME;
    uint64_t at[LANES];
    if (!in_frame) {
        exact_address(m->launch->exact, w, f, form->base);
        mem_addresses(w, form->base, form->wide_base, form->offset, at);
    }
    FOR_ACTIVE(w, i) {
        Element e = {m, w, f, form, (int)i, 0, in_frame ? (uint64_t)form->offset : at[i]};
        access_lane(&e);
    }
    return in->op;
}

/* --- atomics --- */

/* What they leave goes by what they found: exact_atomic, lane by lane. */
int exact_atomics(Machine *m, Warp *w, const Ins *in) {
    Exact *x = m->launch->exact;
    const Frame *f = &w->s.frame[w->frame];
    AtomForm form;
    memcpy(&form, &in->imm, sizeof form);
    exact_address(x, w, f, in->a);
    SlowFn run = f->code->slow[in->x];
    bool is_one = run == atom_by_lanes || run == row_or(m->emu, ROW_ATOMIC, atom_by_lanes);
    if (!is_one) return OP_SLOW; /* the alignment of several */
    if (!atom_by_lanes(m, w, in)) m->ended = true;
    return STEP_DONE;
}

typedef struct Atom {
    Word low, high;
} Atom;

static bool same_words(const Word *a, const Word *b) {
    bool plain = a->kind <= WORD_RAW && b->kind <= WORD_RAW;
    return plain || (a->kind == b->kind && a->p == b->p && a->half == b->half);
}

/* Returns the sum of the old and the added value, which is the same in any order. */
static Atom atom_sum(Exact *x, const Warp *w, const AtomForm *form, const Ins *in, int lane,
                     Atom there, Atom given, uint64_t old) {
    if (form->type == PTX_F64) {
        Num a = exact_double(x, there.low, there.high, old);
        Num b = exact_double(x, given.low, given.high, LANE(U64, w, in->b, (uint32_t)lane));
        Word sum = exact_add(x, &a, &b), high = sum;
        if (exact_is_number(&sum)) sum.half = HALF_LOW, high.half = HALF_HIGH;
        return (Atom){sum, high};
    }
    Num a = exact_single(x, there.low, (uint32_t)old);
    Num b = exact_single(x, given.low, LANE(U32, w, in->b, (uint32_t)lane));
    return (Atom){exact_add(x, &a, &b), exact_raw()};
}

/* Integers: their bits are what they are. */
static Atom atom_integers(Exact *x, const AtomForm *form, const Atom *there, const Atom *given) {
    const Word *all[4] = {&there->low, &given->low, &there->high, &given->high};
    Atom left = {exact_raw(), exact_raw()};
    for (int k = 0; k < (form->size == 8 ? 4 : 2); k++) {
        if (all[k]->kind == WORD_INPUT) exact_input_integer(x, all[k]);
        if (all[k]->kind <= WORD_INPUT) continue;
        left.low = exact_poison(x, "an atomic operation uses the bits of a float as an integer");
        left.high = left.low;
    }
    return left;
}

/* A compare-and-swap: sure where it finds the very number that it expects, or plain integers. */
static Atom atom_swap(Exact *x, const Warp *w, const Ins *in, const Frame *f, int lane,
                      const AtomForm *form, Atom there, Atom expected, uint64_t old) {
    bool wide = form->size == 8;
    uint64_t want =
        wide ? LANE(U64, w, in->b, (uint32_t)lane) : LANE(U32, w, in->b, (uint32_t)lane);
    bool sure =
        same_words(&there.low, &expected.low) && (!wide || same_words(&there.high, &expected.high));
    if (!sure && (there.low.kind > WORD_INPUT || expected.low.kind > WORD_INPUT))
        exact_fail(x, "a compare-and-swap compares the bits of different floats");
    if (!sure && there.low.kind == WORD_INPUT) exact_input_integer(x, &there.low);
    if (!sure && expected.low.kind == WORD_INPUT) exact_input_integer(x, &expected.low);
    if (old != want) return there;
    return (Atom){exact_get(f, in->c, lane, false), exact_get(f, in->c, lane, wide)};
}

void exact_atomic(Machine *m, const Warp *w, const Ins *in, int lane, uint64_t address,
                  uint64_t old) {
    Exact *x = m->launch->exact;
    const Frame *f = &w->s.frame[w->frame];
    AtomForm form;
    memcpy(&form, &in->imm, sizeof form);
    bool wide = form.size == 8,
         is_sum = form.op == ATOM_ADD && (form.type == PTX_F32 || form.type == PTX_F64);
    PtxSpace space = (PtxSpace)form.space;
    uint64_t at = address & ~(uint64_t)3;
    Atom there = {exact_read_at(m, w, lane, space, at), exact_raw()}, left;
    Atom given = {exact_get(f, in->b, lane, false), exact_get(f, in->b, lane, wide)};
    if (wide) there.high = exact_read_at(m, w, lane, space, at + 4);
    if (is_sum) left = atom_sum(x, w, &form, in, lane, there, given, old);
    else if (form.op == ATOM_EXCH) left = given;
    else if (form.op == ATOM_CAS && form.size >= 4)
        left = atom_swap(x, w, in, f, lane, &form, there, given, old);
    else left = atom_integers(x, &form, &there, &given);
    exact_write_at(m, w, lane, space, at, &left.low);
    if (wide) exact_write_at(m, w, lane, space, at + 4, &left.high);
    if (!form.is_read) return;
    if (is_sum)
        there.low = there.high =
            exact_poison(x, "it uses what a sum was before an atomic addition");
    exact_put(f, in->d, lane, false, &there.low);
    if (exact_is_wide(f, in->d)) exact_put(f, in->d, lane, true, &there.high);
}

/* --- texels, functions that CUDA provides --- */

/* What a texture has at some coordinates is a function of these, and nothing else is known of it:
** an integer texel, which its bits are, may be one of an image. */
static Word texel(Exact *x, const Warp *w, const Frame *f, const TexForm *t, uint32_t lane, int k) {
    Word at = exact_element(x, HASH_TEXEL, LANE(U64, w, t->handle, lane), (uint64_t)k, 1);
    for (int c = 0; c < t->dims + t->layered + t->cube; c++) {
        Word word = exact_get(f, t->coord[c], (int)lane, false);
        uint32_t bits = LANE(U32, w, t->coord[c], lane);
        if (t->is_int || (t->layered && c == 0)) {
            if (exact_integers(x, f, t->coord[c], (int)lane, &word)) return word;
            word = exact_integer(x, (double)(int32_t)bits);
        } else {
            Num n = exact_single(x, word, bits);
            if (n.w.kind == WORD_POISON) return n.w;
            word = n.is_endless ? exact_integer(x, 0) : n.w;
        }
        at = exact_opaque(x, HASH_TEXEL, &at, &word);
    }
    at.kind = t->as_int ? WORD_INPUT : WORD_NUMBER;
    return at;
}

void exact_texels(Machine *m, Warp *w, const Ins *in) {
    Exact *x = m->launch->exact;
    const Frame *f = &w->s.frame[w->frame];
    const TexForm *t = &f->code->tex[in->imm];
    Word found[4][LANES];
    exact_address(x, w, f, t->handle);
    FOR_ACTIVE(w, i)
    for (int k = 0; k < t->count && k < 4; k++) found[k][i] = texel(x, w, f, t, i, k);
    FOR_ACTIVE(w, i)
    for (int k = 0; k < t->count && k < 4; k++)
        if (!(t->unused >> k & 1)) exact_put(f, t->reg[k], (int)i, false, &found[k][i]);
}

/* Of functions that CUDA provides (printf, malloc) none gives a float that depends on another. */
void exact_called(Machine *m, Warp *w, const Ins *in) {
    const Frame *f = &w->s.frame[w->frame];
    const CallForm *c = &f->code->call[in->imm];
    const Word raw = exact_raw();
    (void)m;
    FOR_ACTIVE(w, i)
    for (int k = 0; k < c->n_rets; k++)
        for (uint32_t at = 0; at < c->ret_size[k]; at += 4) *param_at(f, i, c->ret[k] + at) = raw;
}
