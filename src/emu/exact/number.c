/* number.c - arithmetic over the reals, in the elements of two fields. See number.h.
**
** A maximum is a function of a set: of the elements that are compared, whatever their order. Its
** element is a hash of the sum of its members' hashes, beside the largest of those that are
** constants; so a tree and a chain of maxima over the same numbers have the same element, and one
** that leaves a number out has another. A minimum is a maximum of negatives.
*/
#include "emu/exact/exact.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* --- hashes --- */

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t exact_hash(const Exact *x, ExactHash what, uint64_t a, uint64_t b, uint64_t salt) {
    uint64_t h = mix(x->key[0] ^ ((uint64_t)what << 56 | salt));
    h = mix(h ^ mix(a ^ x->key[1]));
    return mix((h << 1 | h >> 63) ^ mix(b + x->key[2]) ^ x->key[3]);
}

Word exact_element(const Exact *x, ExactHash what, uint64_t a, uint64_t b, float degree) {
    return (Word){.p = field_drawn(&field_p, exact_hash(x, what, a, b, 1)),
                  .q = field_drawn(&field_q, exact_hash(x, what, a, b, 2)),
                  .degree = degree > 1 ? degree : 1,
                  .kind = WORD_NUMBER};
}

Word exact_opaque(const Exact *x, ExactHash what, const Word *a, const Word *b) {
    uint64_t first = exact_hash(x, what, a->p, 0, 3), second = exact_hash(x, what, b->p, 0, 4);
    return exact_element(x, what, first, second, word_degree(a->degree, b->degree));
}

/* --- constants --- */

Word exact_constant(Exact *x, double value, bool single) {
    uint64_t bits;
    if (!single && (double)(float)value == value) single = true;
    memcpy(&bits, &value, sizeof bits);
    ExactConstant *c = &x->constant[(bits * 0x9e3779b97f4a7c15u) >> (64 - EXACT_CACHE_BITS)];
    if (!c->used || c->bits != bits) {
        Fraction f = fraction_of(value, single);
        *c =
            (ExactConstant){bits, field_fraction(&field_p, &f), field_fraction(&field_q, &f), true};
    }
    return (Word){.p = c->p, .q = c->q, .kind = WORD_CONST};
}

static Num constant(Exact *x, double value, bool single) {
    if (isnan(value)) return (Num){exact_poison(x, "it computes with a NaN"), value, false};
    if (isinf(value)) return (Num){exact_raw(), value, true};
    return (Num){exact_constant(x, value, single), value, false};
}

Num exact_single(Exact *x, Word w, uint32_t bits) {
    float real;
    memcpy(&real, &bits, sizeof real);
    if (w.kind == WORD_RAW || w.kind == WORD_UNSET) return constant(x, (double)real, true);
    if (w.half) w = exact_poison(x, "it takes half of a double for a float");
    if (w.kind == WORD_INPUT) w = exact_input_number(x, w);
    return (Num){w, (double)real, false};
}

static Word whole(Exact *x, Word low, Word high) {
    if (low.kind == WORD_POISON) return low;
    if (high.kind == WORD_POISON) return high;
    bool fits =
        low.half == HALF_LOW && high.half == HALF_HIGH && low.p == high.p && low.q == high.q;
    if (!fits || low.kind != high.kind)
        return exact_poison(x, "it takes two words that are no double for one");
    low.half = HALF_NONE;
    return low;
}

static bool is_plain(const Word *w) {
    return w->kind == WORD_RAW || w->kind == WORD_UNSET;
}

Num exact_double(Exact *x, Word low, Word high, uint64_t bits) {
    double real;
    memcpy(&real, &bits, sizeof real);
    if (is_plain(&low) && is_plain(&high)) return constant(x, real, false);
    if (low.kind == WORD_INPUT && high.kind == WORD_INPUT) {
        low = exact_input_number(x, low);
        high = exact_input_number(x, high);
        return (Num){exact_opaque(x, HASH_PAIR, &low, &high), real, false};
    }
    return (Num){whole(x, low, high), real, false};
}

/* --- arithmetic --- */

static bool is_poison(const Num *a) {
    return a->w.kind == WORD_POISON;
}

/* What an infinite constant makes of a result: the result is the same for all inputs where it is an
** infinity or zero whatever the other operand is. */
static Word endless(Exact *x, const Num *a, const Num *b, bool is_sum) {
    const Num *other = a->is_endless ? b : a;
    bool both = a->is_endless && b->is_endless;
    if (is_poison(other)) return other->w;
    if (is_sum && (!both || a->real == b->real)) return exact_raw();
    if (!is_sum && (both || (other->w.kind == WORD_CONST && other->w.p != 0))) return exact_raw();
    return exact_poison(x, "it computes with an infinity");
}

static Num negated(const Num *a) {
    return (Num){word_negative(&a->w), -a->real, a->is_endless};
}

Word exact_neg(const Num *a) {
    return word_negative(&a->w);
}

Word exact_add(Exact *x, const Num *a, const Num *b) {
    if (a->is_endless || b->is_endless) return endless(x, a, b, true);
    if (is_poison(a)) return a->w;
    if (is_poison(b)) return b->w;
    return word_sum(&a->w, &b->w);
}

Word exact_sub(Exact *x, const Num *a, const Num *b) {
    Num minus = negated(b);
    return exact_add(x, a, &minus);
}

Word exact_mul(Exact *x, const Num *a, const Num *b) {
    if (a->is_endless || b->is_endless) return endless(x, a, b, false);
    if (is_poison(a)) return a->w;
    if (is_poison(b)) return b->w;
    return word_product(&a->w, &b->w);
}

Word exact_fma(Exact *x, const Num *a, const Num *b, const Num *c) {
    Num ab = {exact_mul(x, a, b), a->real * b->real, a->is_endless || b->is_endless};
    return exact_add(x, &ab, c);
}

static Word inverse(Exact *x, const Num *a) {
    if (is_poison(a)) return a->w;
    if (a->is_endless) return exact_constant(x, 0, true);
    if (a->w.p == 0 || a->w.q == 0) return exact_poison(x, "it divides by zero");
    ExactInverse *c = &x->inverse[(a->w.p * 0x9e3779b97f4a7c15u) >> (64 - EXACT_CACHE_BITS)];
    if (c->p != a->w.p || c->q != a->w.q)
        *c = (ExactInverse){a->w.p, a->w.q, field_inverse(&field_p, a->w.p),
                            field_inverse(&field_q, a->w.q)};
    Word w = a->w;
    w.p = c->over_p;
    w.q = c->over_q;
    w.divided = w.kind == WORD_NUMBER;
    return w;
}

Word exact_rcp(Exact *x, const Num *a) {
    return inverse(x, a);
}

Word exact_div(Exact *x, const Num *a, const Num *b) {
    if (a->is_endless && b->is_endless) return exact_poison(x, "it computes with an infinity");
    Num over = {inverse(x, b), 1 / b->real, false};
    return exact_mul(x, a, &over);
}

/* --- functions --- */

/* Of a constant whose root is a number that floats have: that. */
static bool exact_root(Exact *x, const Num *a, Word *out) {
    double root = sqrt(a->real);
    if (a->w.kind != WORD_CONST || !(a->real >= 0) || root * root != a->real) return false;
    if ((double)(float)root != root) return false;
    Word square = exact_constant(x, a->real, true);
    *out = exact_constant(x, root, true);
    return square.p == a->w.p;
}

Word exact_function(Exact *x, ExactHash what, const Num *a) {
    if (is_poison(a)) return a->w;
    if (a->is_endless) return exact_poison(x, "it computes with an infinity");
    Word w = exact_opaque(x, what, &a->w, &a->w);
    w.kind = a->w.kind;
    return w;
}

Word exact_sqrt(Exact *x, const Num *a) {
    Word root;
    if (a->is_endless && a->real > 0) return exact_raw();
    return exact_root(x, a, &root) ? root : exact_function(x, HASH_SQRT, a);
}

Word exact_rsqrt(Exact *x, const Num *a) {
    if (a->is_endless && a->real > 0) return exact_constant(x, 0, true);
    Num root = {exact_sqrt(x, a), sqrt(a->real), false};
    return inverse(x, &root);
}

/* 2^a in the first field is a power of the element of order Q; nobody knows it as an exponent. */
Word exact_ex2(Exact *x, const Num *a) {
    if (is_poison(a)) return a->w;
    if (a->is_endless) return a->real < 0 ? exact_constant(x, 0, true) : exact_raw();
    if (a->w.p == 0) return exact_constant(x, 1, true);
    Word w = exact_opaque(x, HASH_EX2, &a->w, &a->w);
    uint64_t exponent = field_plain(&field_q, a->w.q);
    w.p = field_p.one;
    for (int k = 0; k < 8; k++, exponent >>= 8)
        w.p = field_mul(&field_p, w.p, x->power[k][exponent & 255]);
    w.kind = a->w.kind;
    return w;
}

/* --- maxima --- */

static bool same(const Word *a, const Word *b) {
    return a->p == b->p;
}

static ExactMaximum members(const Exact *x, const Num *a) {
    const ExactMaximum *known = exact_maximum_of(x, a->w.p);
    ExactMaximum m = {.key = a->w.p, .degree = a->w.degree};
    if (known) return *known;
    if (a->w.kind == WORD_CONST) {
        m.has_constant = true;
        m.constant = *a;
    } else {
        m.sum[0] = exact_hash(x, HASH_MEMBER, a->w.p, 0, 5);
        m.sum[1] = exact_hash(x, HASH_MEMBER, a->w.p, 0, 6);
    }
    return m;
}

static ExactMaximum united(const ExactMaximum *a, const ExactMaximum *b) {
    ExactMaximum m = *a;
    m.sum[0] += b->sum[0];
    m.sum[1] += b->sum[1];
    m.degree = word_degree(a->degree, b->degree);
    if (b->has_constant && (!a->has_constant || b->constant.real > a->constant.real))
        m.constant = b->constant;
    m.has_constant = a->has_constant || b->has_constant;
    return m;
}

static Word maximum_word(Exact *x, ExactMaximum *m) {
    Word none = {0}, *c = m->has_constant ? &m->constant.w : &none;
    uint64_t of_constant = exact_hash(x, HASH_MAX, c->p, 0, 7 + m->has_constant);
    Word w = exact_element(x, HASH_MAX, m->sum[0] ^ of_constant, m->sum[1], m->degree);
    m->key = w.p;
    exact_keep_maximum(x, m);
    return w;
}

/* No number is below it. */
static bool is_least(const Num *a) {
    return (a->is_endless && a->real < 0) ||
           (a->w.kind == WORD_CONST && a->real <= -(double)FLT_MAX);
}
static bool is_greatest(const Num *a) {
    return (a->is_endless && a->real > 0) ||
           (a->w.kind == WORD_CONST && a->real >= (double)FLT_MAX);
}

Word exact_max(Exact *x, const Num *a, const Num *b) {
    if (is_poison(a)) return a->w;
    if (is_poison(b)) return b->w;
    if (is_least(a) || is_greatest(b)) return b->w;
    if (is_least(b) || is_greatest(a)) return a->w;
    if (same(&a->w, &b->w)) return a->w;
    if (a->w.kind == WORD_CONST && b->w.kind == WORD_CONST) return a->real > b->real ? a->w : b->w;
    ExactMaximum first = members(x, a), second = members(x, b), both = united(&first, &second);
    return maximum_word(x, &both);
}

Word exact_min(Exact *x, const Num *a, const Num *b) {
    Num m = negated(a), n = negated(b);
    Word w = exact_max(x, &m, &n);
    return word_negative(&w);
}

Word exact_abs(Exact *x, const Num *a) {
    Num minus = negated(a);
    return exact_max(x, a, &minus);
}

/* --- comparisons --- */

uint64_t exact_order(Exact *x, const Num *a, const Num *b) {
    Word minus = word_negative(&b->w), d = word_sum(&a->w, &minus);
    int order = a->real < b->real ? 0 : a->real == b->real ? 1 : 2;
    if (a->is_endless || b->is_endless || d.kind == WORD_CONST) return 0;
    if (isnan(a->real) || isnan(b->real)) exact_fail(x, "it compares a NaN");
    if (d.p == 0 && order != 1)
        exact_fail(x, "rounding alone tells apart two numbers that it compares");
    if (d.p == 0) return 0;
    exact_degree(x, d.degree);
    Word other = word_negative(&d);
    if (other.p < d.p) d = other, order = 2 - order;
    return exact_hash(x, HASH_BELOW, d.p, 0, (uint64_t)order) | 1;
}

void exact_whole(Exact *x, const Num *a, double whole) {
    uint64_t bits;
    if (a->w.kind == WORD_CONST) return;
    if (isnan(a->real)) exact_fail(x, "it makes an integer of a NaN");
    memcpy(&bits, &whole, sizeof bits);
    exact_degree(x, a->w.degree);
    exact_fact(x, exact_hash(x, HASH_TO_INT, a->w.p, 0, bits >> 12) | 1);
}
