/* step.c - what each instruction makes of the numbers in registers. See exact.h.
**
** An operation that step.c does not know takes its operands for integers: where one is a float, its
** result is not known. That is never wrong, and costs a certificate at most.
*/
#include "emu/exact/exact.h"

#include <math.h>
#include <stdlib.h>

#include "emu/check/undefined.h"
#include "emu/decode/ops.h"
#include "emu/exec/lanes.h"

static const char of_halves[] = "it computes with floats of 16 bits or fewer";
static const char of_bits[] = "it uses the bits of a float as an integer";

/* --- frames --- */

static Word pool_word(Exact *x, const PoolRow *row, unsigned high) {
    uint64_t at = row->value + 4 * high;
    switch (row->kind) {
    case POOL_CONST32:
    case POOL_CONST64: return exact_load_host(x, (const void *)(uintptr_t)at);
    case POOL_PARAM32:
    case POOL_PARAM64: return exact_param(x, at);
    default: return exact_raw();
    }
}

static void fill_code(Exact *x, ExactCode *c, const Code *code) {
    size_t n = (code->file_bytes - code->pool_first) / ROW32 + 2;
    free(c->pool);
    c->pool = gi_alloc(n * sizeof *c->pool);
    c->code = code;
    c->launch = x->launch;
    for (int i = 0; i < code->n_pool; i++) {
        const PoolRow *row = &code->pool[i];
        Word *to = &c->pool[(row->offset - code->pool_first) / ROW32];
        to[0] = pool_word(x, row, 0);
        if (pool_is_wide(row->kind)) to[1] = pool_word(x, row, 1);
    }
}

static ExactCode *code_at(Exact *x, const Code *code) {
    int i = 0;
    while (i < x->n_code && x->code[i]->code != code) i++;
    if (i == x->n_code) {
        gi_grow(x->code, x->n_code, x->cap_code);
        x->code[x->n_code++] = gi_alloc(sizeof **x->code);
    }
    ExactCode *c = x->code[i];
    if (c->code != code || c->launch != x->launch) fill_code(x, c, code);
    return c;
}

void exact_open(Machine *m, Frame *f) {
    Exact *x = m->launch->exact;
    const Code *c = f->code;
    if (f->exact == NULL) f->exact = gi_alloc(sizeof *f->exact);
    ExactFrame *e = f->exact;
    size_t words = (c->pool_first - c->reg32) / ROW32 + 2, tests = c->reg32 / 4 * LANES;
    size_t params = (size_t)c->param_bytes * LANES / 4 + 1;
    if (words > e->cap) {
        e->word = gi_realloc(e->word, words * LANES * sizeof *e->word);
        e->mark = gi_realloc(e->mark, words);
        e->cap = words;
    }
    if (tests > e->cap_tests)
        e->test = gi_realloc(e->test, (e->cap_tests = tests) * sizeof *e->test);
    if (params > e->cap_params)
        e->params = gi_realloc(e->params, (e->cap_params = params) * sizeof *e->params);
    memset(e->mark, 0, words);
    if (tests) memset(e->test, 0, tests * sizeof *e->test);
    memset(e->params, 0, params * sizeof *e->params);
    e->code = code_at(x, c);
}

void exact_close(Frame *f) {
    if (f->exact == NULL) return;
    free(f->exact->word);
    free(f->exact->mark);
    free(f->exact->test);
    free(f->exact->params);
    free(f->exact);
}

/* --- rows --- */

void exact_clear(const Warp *w, const Frame *f, uint32_t row) {
    if (!exact_is_register(f, row) || !*exact_mark(f, row)) return;
    if (w->active == w->live) {
        *exact_mark(f, row) = 0;
        return;
    }
    const Word raw = exact_raw();
    FOR_ACTIVE(w, i) {
        exact_put(f, row, (int)i, false, &raw);
        if (exact_is_wide(f, row)) exact_put(f, row, (int)i, true, &raw);
    }
}

/* Has a row nothing but RAW words? */
static bool is_plain_row(const Frame *f, uint32_t row) {
    if (row >= f->code->pool_first) {
        const Word *w = &f->exact->code->pool[(row - f->code->pool_first) / ROW32];
        return w->kind <= WORD_RAW;
    }
    return row < f->code->reg32 || !*exact_mark(f, row);
}

static bool taints(Exact *x, const Word *w, Word *taint) {
    if (w->kind <= WORD_RAW) return false;
    if (w->kind == WORD_INPUT) return exact_input_integer(x, w), false;
    *taint = w->kind == WORD_POISON ? *w : exact_poison(x, of_bits);
    return true;
}

/* Of a row of constants the first word alone: it may have no other. */
bool exact_integers(Exact *x, const Frame *f, uint32_t row, int lane, Word *taint) {
    Word low = exact_get(f, row, lane, false);
    if (taints(x, &low, taint)) return true;
    if (!exact_is_wide(f, row) || row >= f->code->pool_first) return false;
    Word high = exact_get(f, row, lane, true);
    return taints(x, &high, taint);
}

void exact_address(Exact *x, const Warp *w, const Frame *f, uint32_t row) {
    Word taint;
    if (is_plain_row(f, row)) return;
    FOR_ACTIVE(w, i)
    if (exact_integers(x, f, row, (int)i, &taint)) exact_fail_by(x, &taint);
}

/* The result of integers. */
static void integers(Exact *x, const Warp *w, const Frame *f, const uint32_t *from, int n,
                     uint32_t to) {
    bool plain = true;
    for (int k = 0; k < n; k++) plain = plain && is_plain_row(f, from[k]);
    if (plain) {
        exact_clear(w, f, to);
        return;
    }
    FOR_ACTIVE(w, i) {
        Word result = exact_raw();
        for (int k = 0; k < n; k++)
            if (exact_integers(x, f, from[k], (int)i, &result)) break;
        exact_put(f, to, (int)i, false, &result);
        if (exact_is_wide(f, to)) exact_put(f, to, (int)i, true, &result);
    }
}

/* --- predicates --- */

static bool is_predicate(const Frame *f, uint32_t row) {
    return row != 0 && row < f->code->reg32;
}

static ExactTest *test_of(const Frame *f, uint32_t row, int lane) {
    return &f->exact->test[row / 4 * LANES + (uint32_t)lane];
}

static void decided(Exact *x, ExactTest *t) {
    Word poison = {.p = t->a};
    if (t->is_poison) exact_fail_by(x, &poison);
    else exact_fact(x, t->fact);
}

/* The active lanes go by a predicate. */
static void decide(Exact *x, const Warp *w, const Frame *f, uint32_t row) {
    if (!is_predicate(f, row)) return;
    FOR_ACTIVE(w, i) decided(x, test_of(f, row, (int)i));
}

static void forget_tests(const Warp *w, const Frame *f, uint32_t row) {
    if (!is_predicate(f, row)) return;
    FOR_ACTIVE(w, i) * test_of(f, row, (int)i) = (ExactTest){0};
}

void exact_forget_test(const Frame *f, uint32_t row, int lane) {
    if (is_predicate(f, row)) *test_of(f, row, lane) = (ExactTest){0};
}

void exact_settle(const Warp *w, const Frame *f, uint32_t d, uint32_t p) {
    forget_tests(w, f, d);
    forget_tests(w, f, p);
    exact_clear(w, f, d);
}

static void copy_tests(const Warp *w, const Frame *f, const Ins *in, bool is_not) {
    if (!is_predicate(f, in->d)) return;
    FOR_ACTIVE(w, i) {
        ExactTest t = is_predicate(f, in->a) ? *test_of(f, in->a, (int)i) : (ExactTest){0};
        if (is_not && t.larger) t.larger = t.larger == TEST_A ? TEST_B : TEST_A;
        *test_of(f, in->d, (int)i) = t;
    }
}

static void combine_tests(Exact *x, const Warp *w, const Frame *f, const Ins *in) {
    decide(x, w, f, in->a);
    decide(x, w, f, in->b);
    forget_tests(w, f, in->d);
}

/* A test of integers. The bits of one number are equal to themselves. */
static void test_integers(Exact *x, const Warp *w, const Frame *f, const Ins *in, bool is_equal) {
    if (is_plain_row(f, in->a) && is_plain_row(f, in->b)) {
        forget_tests(w, f, in->d);
        return;
    }
    FOR_ACTIVE(w, i) {
        Word a = exact_get(f, in->a, (int)i, false), b = exact_get(f, in->b, (int)i, false);
        ExactTest t = {0};
        bool same = is_equal && a.kind == b.kind && a.p == b.p && a.half == b.half;
        if (!same || a.kind == WORD_POISON) {
            t.is_poison = exact_integers(x, f, in->a, (int)i, &a) ||
                          (a = b, exact_integers(x, f, in->b, (int)i, &a));
            t.a = a.p;
        }
        if (is_predicate(f, in->d)) *test_of(f, in->d, (int)i) = t;
    }
}

/* --- numbers in registers --- */

static Num number_at(Exact *x, const Warp *w, const Frame *f, uint32_t row, uint32_t lane,
                     bool wide) {
    if (!wide) return exact_single(x, exact_get(f, row, (int)lane, false), LANE(U32, w, row, lane));
    return exact_double(x, exact_get(f, row, (int)lane, false), exact_get(f, row, (int)lane, true),
                        LANE(U64, w, row, lane));
}

static void put_number(const Frame *f, uint32_t row, uint32_t lane, bool wide, Word word) {
    if (!wide) {
        exact_put(f, row, (int)lane, false, &word);
        return;
    }
    if (exact_is_number(&word)) word.half = HALF_LOW;
    exact_put(f, row, (int)lane, false, &word);
    if (exact_is_number(&word)) word.half = HALF_HIGH;
    exact_put(f, row, (int)lane, true, &word);
}

typedef enum Arithmetic {
    NO_ARITHMETIC,
    ADD,
    SUB,
    MUL,
    FMA,
    DIV,
    RCP,
    SQRT,
    RSQRT,
    EX2,
    LG2,
    SIN,
    COS,
    TANH,
    MIN,
    MAX,
    ABS,
    NEG,
    CLAMP,
    SAME
} Arithmetic;

static Word clamped(Exact *x, const Num *a) {
    Num zero = {exact_constant(x, 0, true), 0, false}, one = {exact_constant(x, 1, true), 1, false};
    Num least = {exact_max(x, a, &zero), a->real > 0 ? a->real : 0, false};
    return exact_min(x, &least, &one);
}

static Word computed(Exact *x, Arithmetic op, const Num *a, const Num *b, const Num *c) {
    switch (op) {
    case ADD: return exact_add(x, a, b);
    case SUB: return exact_sub(x, a, b);
    case MUL: return exact_mul(x, a, b);
    case FMA: return exact_fma(x, a, b, c);
    case DIV: return exact_div(x, a, b);
    case RCP: return exact_rcp(x, a);
    case SQRT: return exact_sqrt(x, a);
    case RSQRT: return exact_rsqrt(x, a);
    case EX2: return exact_ex2(x, a);
    case LG2: return exact_function(x, HASH_LG2, a);
    case SIN: return exact_function(x, HASH_SIN, a);
    case COS: return exact_function(x, HASH_COS, a);
    case TANH: return exact_function(x, HASH_TANH, a);
    case MIN: return exact_min(x, a, b);
    case MAX: return exact_max(x, a, b);
    case ABS: return exact_abs(x, a);
    case NEG: return exact_neg(a);
    case CLAMP: return clamped(x, a);
    default: return a->w;
    }
}

static int operands_of(Arithmetic op) {
    return op == FMA                                                                    ? 3
           : op == ADD || op == SUB || op == MUL || op == DIV || op == MIN || op == MAX ? 2
                                                                                        : 1;
}

/* A row of floats as plain numbers: the operations below use nothing but their words. */
typedef struct Plain {
    const Word *word; /* of its lanes; NULL: they are RAW */
    const U32 *bits;
    Word constant; /* of the bits that were asked for last */
    uint32_t of;
    bool is_known;
} Plain;

static Plain plain_row(const Warp *w, const Frame *f, uint32_t row) {
    bool is_register = exact_is_register(f, row) && *exact_mark(f, row);
    return (Plain){.word = is_register ? exact_words(f, row) : NULL,
                   .bits = (const U32 *)(const void *)row_at(w, row)};
}

/* The word of a lane, or NULL where it is no plain number. */
static const Word *plain_at(Exact *x, Plain *p, uint32_t lane) {
    const Word *w = p->word ? &p->word[lane] : NULL;
    uint32_t bits = p->bits[lane];
    float real;
    if (w && w->kind > WORD_RAW) return exact_is_number(w) && !w->half ? w : NULL;
    if (p->is_known && p->of == bits) return &p->constant;
    memcpy(&real, &bits, sizeof real);
    if (!isfinite(real)) return NULL;
    p->constant = exact_constant(x, (double)real, true);
    p->of = bits;
    p->is_known = true;
    return &p->constant;
}

static bool is_sum_or_product(Arithmetic op) {
    return op == ADD || op == SUB || op == MUL || op == FMA;
}

static Word summed(Arithmetic op, const Word *a, const Word *b, const Word *c) {
    Word t;
    switch (op) {
    case ADD: return word_sum(a, b);
    case SUB: t = word_negative(b); return word_sum(a, &t);
    case MUL: return word_product(a, b);
    default: t = word_product(a, b); return word_sum(&t, c);
    }
}

/* Does lanes of an operation whose operands are plain numbers; returns the other lanes. */
static uint32_t compute_plain(Exact *x, const Warp *w, const Frame *f, const Ins *in,
                              Arithmetic op) {
    uint32_t rest = 0, rows[3] = {in->a, in->b, in->c};
    Plain p[3];
    int n = op == FMA ? 3 : 2;
    for (int k = 0; k < n; k++) {
        if (rows[k] >= f->code->pool_first && !is_plain_row(f, rows[k])) return w->active;
        p[k] = plain_row(w, f, rows[k]);
    }
    FOR_ACTIVE(w, i) {
        const Word *a = plain_at(x, &p[0], i), *b = plain_at(x, &p[1], i);
        const Word *c = n == 3 ? plain_at(x, &p[2], i) : b;
        if (!a || !b || !c) {
            rest |= 1u << i;
            continue;
        }
        Word word = summed(op, a, b, c);
        exact_put(f, in->d, (int)i, false, &word);
    }
    return rest;
}

static void compute(Exact *x, const Warp *w, const Frame *f, const Ins *in, Arithmetic op,
                    bool wide) {
    int n = operands_of(op);
    uint32_t left = w->active;
    if (!wide && is_sum_or_product(op)) left = compute_plain(x, w, f, in, op);
    for (; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        Num a = number_at(x, w, f, in->a, i, wide), b = a, c = a;
        if (n > 1) b = number_at(x, w, f, in->b, i, wide);
        if (n > 2) c = number_at(x, w, f, in->c, i, wide);
        put_number(f, in->d, i, wide, computed(x, op, &a, &b, &c));
    }
}

/* --- comparisons of numbers --- */

typedef enum Relation { EQUAL, BELOW, ORDERED } Relation;

static ExactTest tested(Exact *x, const Num *a, const Num *b, Relation what, bool is_not) {
    ExactTest t = {.a = a->w.p, .b = b->w.p};
    const Num *bad = a->w.kind == WORD_POISON ? a : b->w.kind == WORD_POISON ? b : NULL;
    if (bad) return (ExactTest){.a = bad->w.p, .is_poison = true};
    if (what == ORDERED) return (ExactTest){0}; /* all reals are */
    t.fact = exact_order(x, a, b);
    if (what == BELOW && !a->is_endless && !b->is_endless) t.larger = is_not ? TEST_A : TEST_B;
    return t;
}

static void test_numbers(Exact *x, const Warp *w, const Frame *f, const Ins *in, Relation what,
                         bool wide) {
    if (!is_predicate(f, in->d)) return;
    FOR_ACTIVE(w, i) {
        Num a = number_at(x, w, f, in->a, i, wide), b = number_at(x, w, f, in->b, i, wide);
        *test_of(f, in->d, (int)i) = tested(x, &a, &b, what, in->x & 1);
    }
}

/* --- choices --- */

static bool is_same_word(const Word *a, const Word *b) {
    return a->kind == b->kind && exact_is_number(a) && a->p == b->p && a->half == b->half;
}

/* Might it be one of the two that were compared? Input that is an integer is not made a number. */
static bool may_be_number(const Frame *f, uint32_t row, uint32_t lane, bool wide,
                          const ExactTest *t) {
    Word w = exact_get(f, row, (int)lane, false);
    if (w.kind == WORD_POISON || w.half != (wide && w.kind >= WORD_NUMBER ? HALF_LOW : HALF_NONE))
        return false;
    return w.kind != WORD_INPUT || (!wide && (w.p == t->a || w.p == t->b));
}

/* A choice between the two numbers that its predicate compares is the larger or smaller one. */
static bool choose_extreme(Exact *x, const Warp *w, const Frame *f, const Ins *in, uint32_t lane,
                           bool wide, const ExactTest *t) {
    if (t->larger == TEST_OTHER) return false;
    if (!may_be_number(f, in->a, lane, wide, t) || !may_be_number(f, in->b, lane, wide, t))
        return false;
    Num a = number_at(x, w, f, in->a, lane, wide), b = number_at(x, w, f, in->b, lane, wide);
    bool straight = a.w.p == t->a && b.w.p == t->b, turned = a.w.p == t->b && b.w.p == t->a;
    if (a.is_endless || b.is_endless || (!straight && !turned)) return false;
    if (a.w.kind == WORD_POISON || b.w.kind == WORD_POISON) return false;
    bool larger = straight == (t->larger == TEST_A);
    put_number(f, in->d, lane, wide, larger ? exact_max(x, &a, &b) : exact_min(x, &a, &b));
    return true;
}

static void choose(Exact *x, const Warp *w, const Frame *f, const Ins *in, bool wide) {
    uint32_t taken = pred_at(w, in->c);
    FOR_ACTIVE(w, i) {
        ExactTest none = {0}, *t = is_predicate(f, in->c) ? test_of(f, in->c, (int)i) : &none;
        if (choose_extreme(x, w, f, in, i, wide, t)) continue;
        Word a = exact_get(f, in->a, (int)i, false), b = exact_get(f, in->b, (int)i, false);
        if (!is_same_word(&a, &b)) decided(x, t);
        uint32_t from = taken >> i & 1 ? in->a : in->b;
        Word low = exact_get(f, from, (int)i, false), high = exact_get(f, from, (int)i, wide);
        exact_put(f, in->d, (int)i, false, &low);
        if (wide) exact_put(f, in->d, (int)i, true, &high);
    }
}

/* --- moves --- */

static void move(const Warp *w, const Frame *f, uint32_t to, bool to_high, uint32_t from,
                 bool from_high) {
    if (is_plain_row(f, from) && !from_high) {
        exact_clear(w, f, to);
        return;
    }
    FOR_ACTIVE(w, i) {
        Word word = exact_get(f, from, (int)i, from_high);
        exact_put(f, to, (int)i, to_high, &word);
    }
}

static void move_wide(const Warp *w, const Frame *f, const Ins *in) {
    FOR_ACTIVE(w, i) {
        Word low = exact_get(f, in->a, (int)i, false), high = exact_get(f, in->a, (int)i, true);
        exact_put(f, in->d, (int)i, false, &low);
        exact_put(f, in->d, (int)i, true, &high);
    }
}

static void pack(const Warp *w, const Frame *f, const Ins *in) {
    FOR_ACTIVE(w, i) {
        Word low = exact_get(f, in->a, (int)i, false), high = exact_get(f, in->b, (int)i, false);
        exact_put(f, in->d, (int)i, false, &low);
        exact_put(f, in->d, (int)i, true, &high);
    }
}

static void unpack(const Warp *w, const Frame *f, const Ins *in) {
    FOR_ACTIVE(w, i) {
        Word low = exact_get(f, in->a, (int)i, false), high = exact_get(f, in->a, (int)i, true);
        exact_put(f, in->d, (int)i, false, &low);
        exact_put(f, in->c, (int)i, false, &high);
    }
}

/* --- conversions --- */

/* An integer of a type, in a row. */
static double integer_at(const Warp *w, uint32_t row, uint32_t lane, PtxType type) {
    bool wide = ptx_type_size(type) == 8;
    uint64_t v = wide ? LANE(U64, w, row, lane) : LANE(U32, w, row, lane);
    switch (type) {
    case PTX_S8: return (double)(int8_t)v;
    case PTX_S16: return (double)(int16_t)v;
    case PTX_S32: return (double)(int32_t)v;
    case PTX_S64: return (double)(int64_t)v;
    case PTX_U8: return (double)(uint8_t)v;
    case PTX_U16: return (double)(uint16_t)v;
    case PTX_U32: return (double)(uint32_t)v;
    default: return (double)v;
    }
}

/* An integer becomes a number: a constant, for it is what it is. */
static void from_integer(Exact *x, const Warp *w, const Frame *f, const Ins *in, PtxType type,
                         bool wide) {
    FOR_ACTIVE(w, i) {
        Word word;
        double value = integer_at(w, in->a, i, type);
        if (!exact_integers(x, f, in->a, (int)i, &word)) word = exact_integer(x, value);
        put_number(f, in->d, i, wide, word);
    }
}

/* A number becomes an integer, or one that is whole: which one is a fact. */
static void to_integer(Exact *x, const Warp *w, const Frame *f, const Ins *in,
                       double (*round)(double), bool wide) {
    FOR_ACTIVE(w, i) {
        Num a = number_at(x, w, f, in->a, i, wide);
        Word raw = exact_raw();
        if (a.w.kind == WORD_POISON) raw = a.w;
        else if (!a.is_endless) exact_whole(x, &a, round(a.real));
        exact_put(f, in->d, (int)i, false, &raw);
        if (exact_is_wide(f, in->d)) exact_put(f, in->d, (int)i, true, &raw);
    }
}

static void change_width(Exact *x, const Warp *w, const Frame *f, const Ins *in, bool to_wide) {
    FOR_ACTIVE(w, i) {
        Num a = number_at(x, w, f, in->a, i, !to_wide);
        put_number(f, in->d, i, to_wide, a.w);
    }
}

static bool is_float(PtxType t) {
    return t == PTX_F32 || t == PTX_F64;
}
static bool is_half(PtxType t) {
    return t >= PTX_F16 && t <= PTX_BF16X2;
}

static double even(double v) {
    return nearbyint(v);
}

static double (*rounding_of(const PtxInstr *p))(double) {
    if (ptx_has_mod(p, "rni")) return even;
    if (ptx_has_mod(p, "rmi")) return floor;
    return ptx_has_mod(p, "rpi") ? ceil : trunc;
}

static void convert(Exact *x, const Warp *w, const Frame *f, const Ins *in, const PtxInstr *p) {
    PtxType to, from;
    const uint32_t rows[1] = {in->a};
    bool known = ptx_type_parse(ptx_mod(p, -2), &to) && ptx_type_parse(ptx_mod(p, -1), &from);
    bool rounds = ptx_has_mod(p, "rni rmi rpi rzi");
    if (!known || is_half(to) || is_half(from)) exact_fail(x, of_halves);
    else if (!is_float(to) && !is_float(from)) integers(x, w, f, rows, 1, in->d);
    else if (!is_float(from)) from_integer(x, w, f, in, from, to == PTX_F64);
    else if (!is_float(to) || rounds) to_integer(x, w, f, in, rounding_of(p), from == PTX_F64);
    else if (to == from) compute(x, w, f, in, ptx_has_mod(p, "sat") ? CLAMP : SAME, to == PTX_F64);
    else change_width(x, w, f, in, to == PTX_F64);
}

/* --- operations of the slow kind, told apart by the PTX instruction --- */

static Arithmetic arithmetic_of(const PtxInstr *p) {
    static const struct {
        const char *opcode;
        Arithmetic op;
    } known[] = {{"add", ADD}, {"sub", SUB}, {"mul", MUL},   {"fma", FMA},     {"mad", FMA},
                 {"div", DIV}, {"rcp", RCP}, {"sqrt", SQRT}, {"rsqrt", RSQRT}, {"ex2", EX2},
                 {"lg2", LG2}, {"sin", SIN}, {"cos", COS},   {"tanh", TANH},   {"min", MIN},
                 {"max", MAX}, {"abs", ABS}, {"neg", NEG}};
    const char *type = ptx_mod(p, -1);
    if (!ptx_word_in(type, "f32 f64") || ptx_has_mod(p, "xorsign")) return NO_ARITHMETIC;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ptx_is(p, known[i].opcode)) return known[i].op;
    return NO_ARITHMETIC;
}

/* testp: all reals are finite numbers; is one subnormal? That is of its bits. */
static void test_class(Exact *x, const Warp *w, const Frame *f, const Ins *in, const PtxInstr *p) {
    forget_tests(w, f, in->d);
    if (ptx_has_mod(p, "finite infinite number notanumber")) return;
    exact_address(x, w, f, in->a);
}

/* Nobody keeps what a carry depends on, nor of which number a predicate is made here. */
static void slow_integers(Exact *x, const Warp *w, const Frame *f, const Ins *in, const PtxInstr *p,
                          const uint32_t rows[4]) {
    PtxType type;
    if (p && ptx_type_parse(ptx_mod(p, -1), &type) && is_half(type)) exact_fail(x, of_halves);
    bool strict =
        is_predicate(f, in->d) || (p && (ptx_has_mod(p, "cc") || ptx_is(p, "addc subc madc")));
    for (int k = 0; k < 4; k++) {
        decide(x, w, f, rows[k]);
        if (strict) exact_address(x, w, f, rows[k]);
    }
    forget_tests(w, f, in->c); /* it may be a second result */
    forget_tests(w, f, in->d);
    if (!is_predicate(f, in->d)) integers(x, w, f, rows, 4, in->d);
}

/* Returns why what an instruction does to memory is not followed, or NULL. */
static const char *foreign(const PtxInstr *p) {
    if (ptx_is(p, "suld sust sured")) return "it uses a surface";
    if (ptx_is(p, "st")) return "it fills memory at once";
    if (ptx_is(p, "discard")) return "it discards memory";
    return ptx_is(p, "atom") ? "it swaps 16 bytes at once" : NULL;
}

static bool moves_later(const PtxInstr *p) {
    return ptx_is(p, "cp tensormap") || (ptx_is(p, "st red") && ptx_has_mod(p, "async"));
}

static int step_slow(Machine *m, Warp *w, const Ins *in, const Frame *f) {
    Exact *x = m->launch->exact;
    int index = f->code->place[in - f->code->ins].index;
    const PtxInstr *p = index >= 0 ? &f->code->func->code[index] : NULL;
    const uint32_t rows[4] = {in->a, in->b, in->c, p && p->n_args == 5 ? (uint32_t)in->imm : 0};
    Arithmetic op = p ? arithmetic_of(p) : NO_ARITHMETIC;
    if (op) {
        compute(x, w, f, in, op, ptx_has_mod(p, "f64"));
    } else if (p && ptx_is(p, "cvt")) {
        convert(x, w, f, in, p);
    } else if (p && ptx_is(p, "testp")) {
        test_class(x, w, f, in, p);
    } else if (p && moves_later(p)) {
        exact_copies(x, w, f, in);
    } else if (p && ptx_is(p, "mbarrier")) {
        exact_mbarrier(x, w, f, in);
    } else if (p && ptx_is(p, "mapa")) {
        exact_fail(x, "it reaches shared memory by an address in the cluster");
    } else if (p && ptx_is(p, "atom red") && !ptx_has_mod(p, "b128")) {
        return exact_atomics(m, w, in);
    } else if (p && ptx_is(p, "call")) {
        exact_called(m, w, in);
    } else if (p && foreign(p)) {
        exact_fail(x, foreign(p));
    } else {
        slow_integers(x, w, f, in, p, rows);
    }
    return OP_SLOW;
}

/* --- the step --- */

static void step_sync(Exact *x, const Warp *w, const Frame *f, const SyncForm *s) {
    if (s->has_mask) exact_address(x, w, f, s->mask);
    if (s->kind == SYNC_MATRIX) exact_fail(x, "it uses a matrix instruction");
    if (s->kind == SYNC_SHFL) {
        exact_address(x, w, f, s->b);
        exact_address(x, w, f, s->c);
    } else if (s->width == 'p') {
        decide(x, w, f, s->value);
    } else if (s->width) {
        exact_address(x, w, f, s->value);
    }
}

static void step_barrier(Exact *x, const Warp *w, const Frame *f, const Ins *in) {
    if ((in->x & BAR_KIND) < BAR_RED_POPC) return;
    decide(x, w, f, in->c);
    forget_tests(w, f, in->d);
    if (exact_is_register(f, in->d)) exact_clear(w, f, in->d);
}

/* abs is made of an AND. */
static void step_and(Exact *x, const Warp *w, const Frame *f, const Ins *in) {
    int index = f->code->place[in - f->code->ins].index;
    const uint32_t rows[2] = {in->a, in->b};
    if (index >= 0 && ptx_is(&f->code->func->code[index], "abs")) compute(x, w, f, in, ABS, false);
    else integers(x, w, f, rows, 2, in->d);
}

static Arithmetic arithmetic_of_op(int op, bool *wide) {
    *wide = false;
    switch (op) {
    case OP_ADD_F:
    case OP_ADD_FZ:
    case OP_ADD_N: return ADD;
    case OP_SUB_F:
    case OP_SUB_FZ:
    case OP_SUB_N: return SUB;
    case OP_MUL_F:
    case OP_MUL_FZ:
    case OP_MUL_N: return MUL;
    case OP_WEIGH_SHARED:
    case OP_WEIGH_SHARED_N: return MUL;
    case OP_FMA_F:
    case OP_FMA_FZ:
    case OP_FMA_N:
    case OP_FMA_F_X3:
    case OP_FMA_N_X3: return FMA;
    case OP_DIV_F: return DIV;
    case OP_SQRT_F: return SQRT;
    case OP_MIN_F: return MIN;
    case OP_MAX_F: return MAX;
    case OP_FTZ_F: return SAME;
    case OP_SAT_F: return CLAMP;
    default: break;
    }
    *wide = true;
    switch (op) {
    case OP_ADD_D: return ADD;
    case OP_SUB_D: return SUB;
    case OP_MUL_D: return MUL;
    case OP_FMA_D: return FMA;
    case OP_DIV_D: return DIV;
    case OP_SQRT_D: return SQRT;
    default: return NO_ARITHMETIC;
    }
}

/* True where the instruction is a test, a choice or a move. */
static bool step_other(Exact *x, const Warp *w, const Frame *f, const Ins *in) {
    switch (in->op) {
    case OP_MOV32: move(w, f, in->d, false, in->a, false); return true;
    case OP_MOV64: move_wide(w, f, in); return true;
    case OP_PACK: pack(w, f, in); return true;
    case OP_UNPACK: unpack(w, f, in); return true;
    case OP_NARROW: move(w, f, in->d, false, in->a, false); return true;
    case OP_AND_P:
    case OP_OR_P:
    case OP_XOR_P: combine_tests(x, w, f, in); return true;
    case OP_NOT_P: copy_tests(w, f, in, true); return true;
    case OP_MOV_P: copy_tests(w, f, in, false); return true;
    case OP_SELP32: choose(x, w, f, in, false); return true;
    case OP_SELP64: choose(x, w, f, in, true); return true;
    case OP_EQ32:
    case OP_EQ64: test_integers(x, w, f, in, true); return true;
    case OP_LT32_S:
    case OP_LT32_U:
    case OP_LT64_S:
    case OP_LT64_U: test_integers(x, w, f, in, false); return true;
    case OP_EQ_F:
    case OP_NE_F: test_numbers(x, w, f, in, EQUAL, false); return true;
    case OP_LT_F:
    case OP_LE_F: test_numbers(x, w, f, in, BELOW, false); return true;
    case OP_NUM_F: test_numbers(x, w, f, in, ORDERED, false); return true;
    case OP_EQ_D:
    case OP_NE_D: test_numbers(x, w, f, in, EQUAL, true); return true;
    case OP_LT_D:
    case OP_LE_D: test_numbers(x, w, f, in, BELOW, true); return true;
    case OP_NUM_D: test_numbers(x, w, f, in, ORDERED, true); return true;
    default: return false;
    }
}

static bool step_conversion(Exact *x, const Warp *w, const Frame *f, const Ins *in) {
    switch (in->op) {
    case OP_CVT_F_S32: from_integer(x, w, f, in, PTX_S32, false); return true;
    case OP_CVT_F_U32: from_integer(x, w, f, in, PTX_U32, false); return true;
    case OP_CVT_D_S32: from_integer(x, w, f, in, PTX_S32, true); return true;
    case OP_CVT_S32_F:
    case OP_TRUNC_F: to_integer(x, w, f, in, trunc, false); return true;
    case OP_CVT_S32_F_RN:
    case OP_RINT_F: to_integer(x, w, f, in, even, false); return true;
    case OP_FLOOR_F: to_integer(x, w, f, in, floor, false); return true;
    case OP_CEIL_F: to_integer(x, w, f, in, ceil, false); return true;
    case OP_CVT_D_F: change_width(x, w, f, in, true); return true;
    case OP_CVT_F_D: change_width(x, w, f, in, false); return true;
    default: return false;
    }
}

/* Groups go one by one. */
static int single_op(int op) {
    switch (op) {
    case OP_FMA_F_X3: return OP_FMA_F;
    case OP_FMA_N_X3: return OP_FMA_N;
    case OP_WEIGH_SHARED:
    case OP_WEIGH_SHARED_N: return OP_MUL_N;
    default: return op;
    }
}

/* What computes with registers alone. */
static void step_registers(Exact *x, const Warp *w, const Frame *f, const Ins *in) {
    bool wide;
    Arithmetic op = arithmetic_of_op(in->op, &wide);
    const uint32_t rows[3] = {in->a, in->b, in->c};
    if (op) compute(x, w, f, in, op, wide);
    else if (in->op == OP_AND32) step_and(x, w, f, in);
    else if (!step_other(x, w, f, in) && !step_conversion(x, w, f, in))
        integers(x, w, f, rows, 3, in->d);
}

int exact_step(Machine *m, Warp *w, const Ins *in) {
    Exact *x = m->launch->exact;
    const Frame *f = &w->s.frame[w->frame];
    x->running = f->code;
    x->at = in;
    switch (in->op) {
    case OP_BLOCK:
    case OP_JOIN:
    case OP_BRA:
    case OP_RET:
    case OP_EXIT:
    case OP_ASK: break;
    case OP_BRA_IF: decide(x, w, f, in->a); break;
    case OP_SWITCH: exact_address(x, w, f, in->a); break;
    case OP_CALL:
        if (f->code->call[in->imm].func < 0) exact_address(x, w, f, f->code->call[in->imm].target);
        break;
    case OP_BARRIER: step_barrier(x, w, f, in); break;
    case OP_SYNC: step_sync(x, w, f, &f->code->sync[in->imm]); break;
    case OP_SLOW: return step_slow(m, w, in, f);
    case OP_LDST:
    case OP_LDST_ASK:
    case OP_LOAD_SHARED: return exact_access(m, w, in);
    case OP_TEX: exact_texels(m, w, in); break;
    case OP_LOCAL_ADDRESS: exact_clear(w, f, in->d); break;
    default: step_registers(x, w, f, in);
    }
    return single_op(in->op);
}
