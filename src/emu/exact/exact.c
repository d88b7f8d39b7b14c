/* exact.c - the state of a certificate: inputs, facts, answers, and what two of them have alike.
** See exact.h.
*/
#include "emu/exact/exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- sets --- */

static size_t slot_of_key(const ExactSet *s, uint64_t key) {
    size_t i = (key * 0x9e3779b97f4a7c15u) >> 20 & (s->cap - 1);
    while (s->key[i] != 0 && s->key[i] != key) i = (i + 1) & (s->cap - 1);
    return i;
}

static bool set_has(const ExactSet *s, uint64_t key) {
    return s->n > 0 && s->key[slot_of_key(s, key)] == key;
}

static void set_grow(ExactSet *s) {
    ExactSet old = *s;
    s->cap = old.cap ? old.cap * 2 : 256;
    s->key = gi_alloc(s->cap * sizeof *s->key);
    s->line = gi_alloc(s->cap * sizeof *s->line);
    for (size_t i = 0; i < old.cap; i++) {
        if (old.key[i] == 0) continue;
        size_t at = slot_of_key(s, old.key[i]);
        s->key[at] = old.key[i], s->line[at] = old.line[i];
    }
    free(old.key);
    free(old.line);
}

static void set_add(ExactSet *s, uint64_t key, int line) {
    if (s->n * 2 >= s->cap) set_grow(s);
    size_t i = slot_of_key(s, key);
    if (s->key[i] == key) return;
    s->key[i] = key, s->line[i] = line;
    s->n++;
}

/* --- begin and end --- */

static void make_powers(Exact *x) {
    uint64_t g = field_of(&field_p, exact_hash(x, HASH_EX2, 0, 0, 9)), w;
    w = field_mul(&field_p, g, g); /* a square: its order is Q, unless it is 1 */
    for (int k = 0; k < 8; k++) {
        uint64_t power = field_p.one;
        for (int i = 0; i < 256; i++, power = field_mul(&field_p, power, w)) x->power[k][i] = power;
        w = power;
    }
}

Exact *emu_exact_new(uint64_t seed) {
    Exact *x = gi_alloc(sizeof *x);
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    for (int k = 0; k < 4; k++) x->key[k] = gi_rng_next(&rng);
    x->constant = gi_alloc(sizeof *x->constant << EXACT_CACHE_BITS);
    x->inverse = gi_alloc(sizeof *x->inverse << EXACT_CACHE_BITS);
    make_powers(x);
    return x;
}

void emu_exact_free(Exact *x) {
    if (x == NULL) return;
    exact_memory_free(x);
    for (int k = 0; k < 2; k++) free(x->used[k].key), free(x->used[k].line);
    free(x->facts.key);
    free(x->facts.line);
    for (int i = 0; i < x->n_code; i++) free(x->code[i]->pool), free(x->code[i]);
    free(x->code);
    free(x->constant);
    free(x->inverse);
    free(x->maximum);
    free(x->memory);
    free(x->reason);
    free(x->answer);
    free(x->real);
    free(x->mean);
    free(x);
}

void emu_exact_memory(Exact *x, uint64_t address, const void *data, size_t size_bytes,
                      EmuExactType type, uint64_t id) {
    gi_grow(x->memory, x->n_memory, x->cap_memory);
    x->memory[x->n_memory++] = (ExactMemory){address, size_bytes, data, id, type};
}

void emu_exact_program(Exact *x) {
    x->is_program = true;
}

void emu_exact_refuse(Exact *x, const char *why) {
    x->at = NULL;
    exact_fail(x, why);
}

void exact_begin(Exact *x, const Machine *m) {
    x->emu = m->emu;
    x->launch++;
    x->at = NULL;
}

void exact_end(Exact *x, const EmuResult *r) {
    if (r->nested) exact_fail(x, "it launches kernels itself");
    x->at = NULL;
}

/* --- what goes wrong --- */

int exact_line(const Exact *x) {
    return x->at ? x->running->place[x->at - x->running->ins].src_line : 0;
}

static void fail_at(Exact *x, const char *why, int line) {
    if (x->failed) return;
    x->failed = true;
    x->line = line;
    snprintf(x->why, sizeof x->why, "%s", why);
}

void exact_fail(Exact *x, const char *why) {
    fail_at(x, why, exact_line(x));
}

void exact_fail_by(Exact *x, const Word *poison) {
    const ExactReason *r = &x->reason[poison->p];
    fail_at(x, r->why, r->line);
}

enum { LAST_REASONS = 16 };

Word exact_poison(Exact *x, const char *why) {
    int line = exact_line(x), from = x->n_reasons > LAST_REASONS ? x->n_reasons - LAST_REASONS : 0;
    Word w = {.kind = WORD_POISON};
    for (int i = from; i < x->n_reasons; i++)
        if (x->reason[i].why == why && x->reason[i].line == line) w.p = (uint64_t)i + 1;
    if (w.p-- > 0) return w;
    gi_grow(x->reason, x->n_reasons, x->cap_reasons);
    x->reason[x->n_reasons] = (ExactReason){why, line};
    w.p = (uint64_t)x->n_reasons++;
    return w;
}

void exact_degree(Exact *x, float degree) {
    if (degree > x->degree) x->degree = degree;
}

void exact_fact(Exact *x, uint64_t key) {
    if (key == 0) return;
    x->comparisons++;
    set_add(&x->facts, key, exact_line(x));
}

/* --- inputs without a type --- */

enum { AS_INTEGER, AS_NUMBER };

static void note_use(Exact *x, const Word *w, int as) {
    if (set_has(&x->used[!as], w->p))
        exact_fail(x, "an input serves both as a float and as an integer");
    set_add(&x->used[as], w->p, exact_line(x));
}

Word exact_input_number(Exact *x, Word w) {
    note_use(x, &w, AS_NUMBER);
    w.kind = WORD_NUMBER;
    return w;
}

void exact_input_integer(Exact *x, const Word *w) {
    note_use(x, w, AS_INTEGER);
}

/* --- maxima --- */

static size_t maximum_slot(const Exact *x, uint64_t key) {
    size_t i = (key * 0x9e3779b97f4a7c15u) >> 20 & (x->cap_maxima - 1);
    while (x->maximum[i].key != 0 && x->maximum[i].key != key) i = (i + 1) & (x->cap_maxima - 1);
    return i;
}

const ExactMaximum *exact_maximum_of(const Exact *x, uint64_t key) {
    if (x->n_maxima == 0) return NULL;
    const ExactMaximum *m = &x->maximum[maximum_slot(x, key)];
    return m->key == key && key != 0 ? m : NULL;
}

static void maxima_grow(Exact *x) {
    ExactMaximum *old = x->maximum;
    size_t cap = x->cap_maxima;
    x->cap_maxima = cap ? cap * 2 : 256;
    x->maximum = gi_alloc(x->cap_maxima * sizeof *x->maximum);
    for (size_t i = 0; i < cap; i++)
        if (old[i].key != 0) x->maximum[maximum_slot(x, old[i].key)] = old[i];
    free(old);
}

void exact_keep_maximum(Exact *x, const ExactMaximum *m) {
    if (x->n_maxima * 2 >= x->cap_maxima) maxima_grow(x);
    ExactMaximum *to = &x->maximum[maximum_slot(x, m->key)];
    if (to->key == 0) x->n_maxima++;
    *to = *m;
}

/* --- answers --- */

static void add_answer(Exact *x, Word w, double real) {
    if (x->n_answers == x->cap_answers) {
        x->cap_answers = x->cap_answers ? x->cap_answers * 2 : 256;
        x->answer = gi_realloc(x->answer, x->cap_answers * sizeof *x->answer);
        x->real = gi_realloc(x->real, x->cap_answers * sizeof *x->real);
        x->mean = gi_realloc(x->mean, x->cap_answers * sizeof *x->mean);
    }
    x->answer[x->n_answers] = w;
    x->real[x->n_answers++] = real;
}

static void take_number(Exact *x, const Num *n) {
    if (n->w.kind == WORD_POISON) exact_fail_by(x, &n->w);
    if (n->w.kind == WORD_NUMBER && !isfinite(n->real))
        fail_at(x, "an answer is no finite number", 0);
    exact_degree(x, n->w.degree);
    add_answer(x, n->w, n->real);
}

/* What a word of memory is as a number; of a double the first word tells it. */
static double real_of(const Word *w, const uint8_t *at, size_t left) {
    float single = 0;
    double wide = 0;
    memcpy(&single, at, sizeof single);
    if (!w->half) return (double)single;
    if (w->half == HALF_LOW && left >= sizeof wide) memcpy(&wide, at, sizeof wide);
    return wide;
}

/* A word of an array of integers, or of structs that hold floats, too. */
static void take_bits(Exact *x, Word w, const uint8_t *at, size_t left) {
    uint32_t bits;
    double real = real_of(&w, at, left);
    memcpy(&bits, at, sizeof bits);
    if (w.kind == WORD_POISON) exact_fail_by(x, &w);
    if (exact_is_number(&w)) exact_degree(x, w.degree);
    if (w.kind <= WORD_RAW) w = (Word){.kind = WORD_RAW, .p = bits};
    if (w.kind == WORD_INPUT) w.q = bits;
    if (exact_is_number(&w) && !isfinite(real)) fail_at(x, "an answer is no finite number", 0);
    add_answer(x, w, exact_is_number(&w) ? real : (double)bits);
}

/* Constants that are not numbers are distinguished by their bits. */
static bool is_no_number(double v) {
    return isnan(v) || isinf(v);
}

static void take_single(Exact *x, uint64_t address, const uint8_t *at) {
    uint32_t bits;
    float real;
    memcpy(&bits, at, sizeof bits);
    memcpy(&real, at, sizeof real);
    Word w = exact_load(x, address);
    bool is_raw = w.kind == WORD_RAW || w.kind == WORD_UNSET;
    if (is_raw && is_no_number((double)real)) {
        add_answer(x, (Word){.kind = WORD_RAW, .p = bits}, 0);
        return;
    }
    Num n = exact_single(x, w, bits);
    take_number(x, &n);
}

static void take_double(Exact *x, uint64_t address, const uint8_t *at) {
    uint64_t bits;
    double real;
    memcpy(&bits, at, sizeof bits);
    memcpy(&real, at, sizeof real);
    Word low = exact_load(x, address), high = exact_load(x, address + 4);
    if (low.kind <= WORD_RAW && high.kind <= WORD_RAW && is_no_number(real)) {
        add_answer(x, (Word){.kind = WORD_RAW, .p = bits}, 0);
        return;
    }
    Num n = exact_double(x, low, high, bits);
    take_number(x, &n);
}

/* The mean absolute value of an array's numbers, kept with each of its answers. */
static void set_mean(Exact *x, size_t from) {
    double sum = 0, n = 0;
    for (size_t i = from; i < x->n_answers; i++)
        if (exact_is_number(&x->answer[i])) sum += fabs(x->real[i]), n++;
    for (size_t i = from; i < x->n_answers; i++) x->mean[i] = n > 0 ? sum / n : 0;
}

void emu_exact_take(Exact *x, uint64_t address, const void *data, size_t size_bytes,
                    EmuExactType type) {
    const uint8_t *at = data;
    size_t from = x->n_answers;
    x->at = NULL;
    for (size_t i = 0; i + 4 <= size_bytes; i += 4) {
        x->wrote_number |= exact_wrote_number(x, address + i);
        if (type == EMU_EXACT_F64 && i % 8 == 0 && i + 8 <= size_bytes)
            take_double(x, address + i, at + i);
        if (type == EMU_EXACT_F32) take_single(x, address + i, at + i);
        if (type == EMU_EXACT_WORDS)
            take_bits(x, exact_load(x, address + i), at + i, size_bytes - i);
    }
    for (size_t i = size_bytes / 4 * 4; i < size_bytes; i++) /* bytes at the end are integers */
        add_answer(x, (Word){.kind = WORD_RAW, .p = at[i]}, (double)at[i]);
    set_mean(x, from);
}

/* --- two of them --- */

static bool refuse(EmuCertificate *out, EmuExactSide side, int line, const char *fmt, ...)
    GI_PRINTF(4, 5);

static bool refuse(EmuCertificate *out, EmuExactSide side, int line, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(out->why, sizeof out->why, fmt, args);
    va_end(args);
    out->side = side;
    out->line = line;
    return false;
}

/* A comparison of one that the other does not make, or that comes out otherwise there. */
static bool facts_within(const Exact *a, const Exact *b, EmuExactSide side, EmuCertificate *out) {
    for (size_t i = 0; i < a->facts.cap; i++) {
        if (a->facts.key[i] == 0 || set_has(&b->facts, a->facts.key[i])) continue;
        return refuse(
            out, side, a->facts.line[i],
            "a comparison or conversion of floats there has no equal in the other kernel");
    }
    return true;
}

enum { FAR = 100 };     /* numbers that rounding brought further apart than one in so many */
#define FAR_OF_ALL 1e-4 /* and than this share of their array's mean */

static bool are_near(double a, double b, double mean) {
    return fabs(a - b) <= fmax(fmax(fabs(a), fabs(b)) / FAR, mean * FAR_OF_ALL) ||
           fabs(a - b) < 1e-6;
}

/* The same real number; the same integer: of an input that was moved as it is, the same input. */
static bool same_answer(const Word *v, const Word *w) {
    if (v->kind == WORD_INPUT && w->kind == WORD_RAW) return v->q == w->p;
    if (v->kind == WORD_RAW && w->kind == WORD_INPUT) return v->p == w->q;
    bool alike = v->kind == w->kind || (exact_is_number(v) && exact_is_number(w));
    return alike && v->p == w->p && v->half == w->half;
}

static bool answers_alike(const Exact *a, const Exact *b, EmuCertificate *out) {
    if (a->n_answers != b->n_answers)
        return refuse(out, EMU_EXACT_BOTH, 0, "the two have different numbers of answers");
    for (size_t i = 0; i < a->n_answers; i++) {
        const Word *v = &a->answer[i], *w = &b->answer[i];
        bool numbers = exact_is_number(v) && exact_is_number(w);
        if (!same_answer(v, w))
            return refuse(out, EMU_EXACT_BOTH, 0,
                          "answer %zu is another real number: %.9g and %.9g here", i, a->real[i],
                          b->real[i]);
        if (numbers && !are_near(a->real[i], b->real[i], a->mean[i]))
            return refuse(out, EMU_EXACT_BOTH, 0,
                          "answer %zu is the same real number, but rounding makes it %.9g and %.9g",
                          i, a->real[i], b->real[i]);
    }
    return true;
}

/* Did a kernel write a number that depends on its inputs, or decide by one? */
static bool has_numbers(const Exact *x) {
    return x->wrote_number || x->facts.n > 0;
}

/* Bits of certainty that Schwartz and Zippel's lemma leaves (docs/certificate.md). */
static double degree_bits(const Exact *a, const Exact *b) {
    double degree = fmax(1, fmax((double)a->degree, (double)b->degree));
    double pairs = (double)a->n_answers + (double)a->facts.n + 1;
    return log2((double)field_q.n) - log2(2 * degree) - log2(pairs);
}

enum { LEAST_BITS = 20 };

bool emu_exact_compare(const Exact *a, const Exact *b, EmuCertificate *out) {
    *out = (EmuCertificate){
        .facts = a->facts.n, .comparisons = a->comparisons, .degree_bits = degree_bits(a, b)};
    if (a->failed) return refuse(out, EMU_EXACT_FIRST, a->line, "%s", a->why);
    if (b->failed) return refuse(out, EMU_EXACT_SECOND, b->line, "%s", b->why);
    if (!answers_alike(a, b, out) || !facts_within(b, a, EMU_EXACT_SECOND, out) ||
        !facts_within(a, b, EMU_EXACT_FIRST, out))
        return false;
    if (!has_numbers(a)) {
        out->is_empty = !has_numbers(b);
        return refuse(out, EMU_EXACT_FIRST, 0, "no answer depends on a float of its inputs");
    }
    out->alike = out->degree_bits > 0;
    if (!(out->degree_bits >= LEAST_BITS))
        return refuse(out, EMU_EXACT_BOTH, 0, "the formulas are of too high a degree to tell");
    out->certified = true;
    return true;
}
