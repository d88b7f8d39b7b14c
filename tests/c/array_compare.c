/* The comparison against a naive one, on random data with every kind of trouble in it; its rules
** one by one; the same bits from any number of threads. */
#include "array/array.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

static Array *line(ArrayType type, int64_t n) {
    return array_new(type, 1, &n, NULL);
}

static Comparison compare(const Array *got, const Array *want, CompareOptions o) {
    Comparison c = {0};
    gi_err err = {0};
    if (!array_compare(got, want, &o, &c, &err)) ok(false, "compare: %s", err.message);
    return c;
}

static bool is_sentinel(const Array *a, int64_t i) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)a->data + (size_t)i * array_type_size(a->type),
           array_type_size(a->type));
    return a->type == ARRAY_F32 ? bits == 0x7fdead01
                                : a->type == ARRAY_F64 && bits == 0x7ffdead0deaddead;
}

static void naive_penalty(const Array *g, const Array *e, CompareOptions o, int64_t answer,
                          double error, bool unset, Comparison *c) {
    bool ignored = true, outside = isinf(error);
    for (int k = 0; k < (o.used ? o.used : o.width); k++) {
        const double x = array_get(g, answer * o.width + k);
        if (array_get(e, answer * o.width + k) != o.penalty.ignore) ignored = false;
        if (isnan(x) || x < o.penalty.low || x > o.penalty.high) outside = true;
    }
    if (ignored) return;
    c->counted++;
    c->penalty += unset ? o.penalty.unset : outside ? o.penalty.outside : error;
}

/* The contract word by word, one answer after the other, in doubles. */
static Comparison naive(const Array *g, const Array *e, CompareOptions o) {
    Comparison c = {.n = g->count / o.width, .first_wrong = -1};
    double sum = 0;
    int64_t finite = 0, off = 0, wrong = 0, unset = 0, nan = 0;
    for (int64_t a = 0; a < c.n; a++) {
        double worst = 0;
        bool empty = false, beyond = false, as_nan = false;
        for (int k = 0; k < (o.used ? o.used : o.width); k++) {
            const double x = array_get(g, a * o.width + k), y = array_get(e, a * o.width + k);
            double d = x == y ? 0 : fabs(x - y);
            const bool mark = is_sentinel(g, a * o.width + k);
            if (isnan(x) && isnan(y) && !mark) d = 0, as_nan = true;
            if (!(d < (double)INFINITY)) d = (double)INFINITY;
            beyond = beyond || isinf(d) || d > o.max_error + o.rel_error * fabs(y);
            empty = empty || mark;
            worst = d > worst ? d : worst;
        }
        unset += empty;
        nan += as_nan;
        off += beyond;
        if (o.penalty.wanted) naive_penalty(g, e, o, a, worst, empty, &c);
        if (worst > c.max_error) c.max_error = worst;
        if (worst < (double)INFINITY) {
            sum += worst;
            finite++;
        }
        if (beyond && (worst > o.limit || isinf(worst))) {
            wrong++;
            if (c.first_wrong < 0) c.first_wrong = a;
        }
    }
    c.mean_error = finite ? sum / (double)finite : (double)INFINITY;
    c.off = (double)off / (double)c.n;
    c.wrong = (double)wrong / (double)c.n;
    c.unset = (double)unset / (double)c.n;
    c.nan = (double)nan / (double)c.n;
    if (c.counted) c.penalty /= (double)c.counted;
    return c;
}

static bool close_to(double a, double b) {
    return a == b || fabs(a - b) <= 1e-6 * fabs(b);
}

static bool agree(Comparison a, Comparison b) {
    return a.n == b.n && close_to(a.max_error, b.max_error) &&
           close_to(a.mean_error, b.mean_error) && a.off == b.off && a.wrong == b.wrong &&
           a.unset == b.unset && a.nan == b.nan && a.first_wrong == b.first_wrong &&
           a.counted == b.counted && close_to(a.penalty, b.penalty);
}

static bool same_bits(Comparison a, Comparison b) {
    return a.n == b.n && memcmp(&a.max_error, &b.max_error, 8) == 0 &&
           memcmp(&a.mean_error, &b.mean_error, 8) == 0 && a.off == b.off && a.wrong == b.wrong &&
           a.unset == b.unset && a.nan == b.nan && a.first_wrong == b.first_wrong &&
           a.counted == b.counted && memcmp(&a.penalty, &b.penalty, 8) == 0;
}

/* Random answers near the expected ones; about `trouble` elements are NaN, infinite or unset. */
static void randomise(Array *g, Array *e, gi_rng *r, int trouble) {
    for (int64_t i = 0; i < g->count; i++) {
        const double v = 100 * gi_rng_normal(r);
        array_set(e, i, v);
        array_set(g, i, v + (gi_rng_below(r, 3) ? 0 : 0.01 * gi_rng_normal(r)));
    }
    for (int k = 0; k < trouble; k++) {
        const int64_t i = (int64_t)gi_rng_below(r, (uint64_t)g->count);
        switch (gi_rng_below(r, 6)) {
        case 0: array_set(g, i, (double)NAN); break;
        case 1: array_set(g, i, (double)INFINITY); break;
        case 2: array_set(e, i, (double)NAN); break;
        case 3: array_set(g, i, -(double)INFINITY), array_set(e, i, -(double)INFINITY); break;
        case 4: array_set(g, i, (double)NAN), array_set(e, i, (double)NAN); break;
        default: {
            Array *s = line(g->type, 1);
            const size_t size = array_type_size(g->type);
            array_fill_sentinel(s);
            memcpy((char *)g->data + (size_t)i * size, s->data, size);
            array_unref(s);
        }
        }
    }
}

static ComparePenalty some_penalty(gi_rng *r) {
    ComparePenalty p = {.wanted = 1, .ignore = -1, .unset = 200, .outside = 100, .high = 50};
    if (gi_rng_below(r, 3) == 0) p.low = -(double)INFINITY, p.high = (double)INFINITY;
    if (gi_rng_below(r, 3) == 0) p.ignore = (double)NAN;
    return p;
}

static void test_random(uint64_t seed) {
    gi_rng r;
    gi_rng_seed(&r, seed);
    int bad = 0, unsteady = 0;
    for (int round = 0; round < 300; round++) {
        static const ArrayType types[] = {ARRAY_F32, ARRAY_F32, ARRAY_F64, ARRAY_I32, ARRAY_I64};
        const ArrayType type = types[gi_rng_below(&r, 5)];
        CompareOptions o = {.width = 1 + (int)gi_rng_below(&r, 5), .threads = 1};
        if (gi_rng_below(&r, 2)) o.width = 4;
        o.used = (int)gi_rng_below(&r, (uint64_t)o.width + 1);
        o.limit = gi_rng_below(&r, 2) ? 0.01 : 1e9;
        o.max_error = gi_rng_below(&r, 2) ? 0.004 : 0;
        o.rel_error = gi_rng_below(&r, 2) ? 1e-4 : 0;
        const int64_t n = o.width * (1 + (int64_t)gi_rng_below(&r, round % 10 ? 700 : 100000));
        Array *g = line(type, n), *e = line(type, n);
        randomise(g, e, &r,
                  type < ARRAY_F32 || gi_rng_below(&r, 2) ? 0 : (int)gi_rng_below(&r, 20));
        if (round % 2) o.penalty = some_penalty(&r);
        for (int64_t i = 0; o.penalty.wanted && i < g->count / 3; i++)
            array_set(e, i, o.penalty.ignore);
        const Comparison one = compare(g, e, o);
        bad += !agree(one, naive(g, e, o));
        o.threads = 3;
        unsteady += !same_bits(one, compare(g, e, o));
        array_unref(g);
        array_unref(e);
    }
    is_int(bad, 0, "300 random comparisons agree with the naive one");
    is_int(unsteady, 0, "and are the same to the bit with 3 threads");
}

/* Enough data that several threads really work. */
static void test_large(uint64_t seed) {
    gi_rng r;
    gi_rng_seed(&r, seed);
    Array *g = line(ARRAY_F32, 4 * 1000003), *e = line(ARRAY_F32, 4 * 1000003);
    randomise(g, e, &r, 5);
    CompareOptions o = {.width = 4, .used = 3, .limit = 0.02, .threads = 1};
    const Comparison one = compare(g, e, o);
    ok(agree(one, naive(g, e, o)), "a million float4 answers agree with the naive comparison");
    for (int threads = 0; threads < 6; threads++) {
        o.threads = threads;
        ok(same_bits(one, compare(g, e, o)), "the same bits with threads = %d", threads);
    }
    array_unref(g);
    array_unref(e);
}

static void test_last_and_first(void) {
    Array *g = line(ARRAY_F32, 4 * 20000), *e = line(ARRAY_F32, 4 * 20000);
    const CompareOptions o = {.width = 4, .used = 3, .limit = 0.5};
    ok(compare(g, e, o).first_wrong == -1 && compare(g, e, o).max_error == 0,
       "equal arrays: no error");
    array_set(g, 4 * 19999 + 2, 1);
    Comparison c = compare(g, e, o);
    ok(c.first_wrong == 19999 && c.max_error == 1 && c.wrong == 1.0 / 20000,
       "the very last answer counts");
    array_set(g, 0, -0.75);
    c = compare(g, e, o);
    ok(c.first_wrong == 0 && c.wrong == 2.0 / 20000, "so does the very first");
    array_set(g, 4, 0.5);
    ok(compare(g, e, o).wrong == 2.0 / 20000, "what is off by the limit is not wrong");
    array_set(g, 3, (double)NAN);
    ok(compare(g, e, o).unset == 0 && compare(g, e, o).max_error == 1, "padding is not looked at");
    array_unref(g);
    array_unref(e);
}

static void test_unset(void) {
    Array *g = line(ARRAY_F32, 4 * 300), *e = line(ARRAY_F32, 4 * 300);
    array_fill_sentinel(g);
    Comparison c =
        compare(g, e, (CompareOptions){.width = 4, .used = 3, .limit = (double)INFINITY});
    ok(c.unset == 1 && c.wrong == 1 && isinf(c.max_error) && isinf(c.mean_error) &&
           c.first_wrong == 0,
       "answers never written are all unset and wrong, whatever the limit");
    memcpy(e->data, g->data, g->size_bytes);
    c = compare(g, e, (CompareOptions){.width = 4});
    ok(c.unset == 1 && c.wrong == 1, "even when the expected ones were never written either");
    array_unref(g);
    array_unref(e);
}

static void test_integers(void) {
    Array *g = line(ARRAY_U8, 4), *e = line(ARRAY_U8, 4);
    array_fill_sentinel(g);
    array_set(e, 0, 0xAB);
    Comparison c = compare(g, e, (CompareOptions){.width = 1});
    ok(c.unset == 0.75 && c.first_wrong == 1, "0xAB is an ordinary byte where 0xAB is expected");
    array_unref(g);
    array_unref(e);

    g = line(ARRAY_I64, 2), e = line(ARRAY_I64, 2);
    array_set_int(g, 0, INT64_MAX);
    array_set_int(e, 0, INT64_MAX - 3);
    ok(compare(g, e, (CompareOptions){.width = 1}).max_error == 3, "64-bit differences are exact");
    array_set_int(g, 1, INT64_MAX);
    array_set_int(e, 1, INT64_MIN);
    ok(compare(g, e, (CompareOptions){.width = 1}).max_error == 18446744073709551615.0,
       "the widest difference does not overflow");
    array_unref(g);
    array_unref(e);
}

static void test_tolerance(void) {
    Array *g = line(ARRAY_F32, 6), *e = line(ARRAY_F32, 6);
    const double want[] = {0, 1000, -1000, 1, 1000, 0};
    const double have[] = {0.5, 1001, -999, 2, 1002, 0.75};
    for (int i = 0; i < 6; i++) array_set(e, i, want[i]), array_set(g, i, have[i]);
    const CompareOptions o = {.width = 1, .max_error = 0.5, .rel_error = 1.0 / 1024};
    Comparison c = compare(g, e, o);
    ok(c.off == 0.5 && c.wrong == 0.5 && c.first_wrong == 3 && c.max_error == 2,
       "each answer may differ by max_error + rel_error * |expected|: %g are off", c.off * 6);
    c = compare(g, e, (CompareOptions){.width = 3, .max_error = 0.5, .rel_error = 1.0 / 1024});
    ok(c.off == 0.5 && c.first_wrong == 1, "each element of an answer has its own");
    c = compare(g, e, (CompareOptions){.width = 1, .max_error = 0.5, .limit = 1});
    ok(c.off == 5.0 / 6 && c.wrong == 1.0 / 6 && c.first_wrong == 4,
       "of what is off, what is above the limit is wrong");
    array_set(e, 1, (double)INFINITY);
    c = compare(g, e, o);
    ok(c.off == 4.0 / 6 && isinf(c.max_error), "a share of infinity allows nothing");
    array_unref(g);
    array_unref(e);
}

/* One answer among many, on the quick way. */
static void test_share_of_one(int width) {
    Array *g = line(ARRAY_F32, 512 * width), *e = line(ARRAY_F32, 512 * width);
    const CompareOptions o = {.width = width, .rel_error = 1.0 / 1024};
    for (int64_t i = 0; i < e->count; i++) array_set(e, i, 1000), array_set(g, i, 1000.5);
    Comparison c = compare(g, e, o);
    ok(c.off == 0 && c.max_error == 0.5, "width %d: half a thousandth is within one", width);
    array_set(g, 300 * width, 1001);
    c = compare(g, e, o);
    ok(c.off == 1.0 / 512 && c.first_wrong == 300, "width %d: a thousandth is not", width);
    array_unref(g);
    array_unref(e);
}

static void test_nan(ArrayType type) {
    Array *g = line(type, 3), *e = line(type, 3);
    array_set(g, 0, (double)NAN), array_set(e, 0, -(double)NAN);
    Comparison c = compare(g, e, (CompareOptions){.width = 1});
    ok(c.nan == 1.0 / 3 && c.off == 0 && c.max_error == 0, "NaN where it was expected is right");
    c = compare(g, e, (CompareOptions){.width = 3});
    ok(c.nan == 1 && c.off == 0, "one in an answer is enough to be told");
    array_set(e, 1, (double)NAN);
    c = compare(g, e, (CompareOptions){.width = 1, .max_error = 1e9});
    ok(c.nan == 1.0 / 3 && c.wrong == 1.0 / 3 && c.first_wrong == 1, "a number there is not");
    array_set(e, 1, 0), array_set(g, 2, (double)NAN);
    ok(compare(g, e, (CompareOptions){.width = 1}).first_wrong == 2, "nor NaN for a number");
    array_fill_sentinel(g);
    c = compare(g, e, (CompareOptions){.width = 1});
    ok(c.unset == 1 && c.nan == 0, "what was never written is no NaN");
    array_unref(g);
    array_unref(e);
}

/* StereoCamera's: -1 is no answer, 0 to 50 are (chapter 8, 8.14.5.3). */
static void test_penalty(void) {
    const double want[] = {-1, -1, 10, 10, 10, 10, 10, 10, 50, 10};
    const double have[] = {-1, 7, 10, 12.5, -1, 50.5, (double)INFINITY, (double)NAN, 0, 10};
    const double total = 0 + 2.5 + 100 + 100 + 100 + 100 + 50 + 200; /* eight of them count */
    CompareOptions o = {.penalty = {1, -1, 200, 100, 0, 50}};
    Array *g = line(ARRAY_F32, 10), *e = line(ARRAY_F32, 10), *mark = line(ARRAY_F32, 1);
    for (int i = 0; i < 10; i++) array_set(e, i, want[i]), array_set(g, i, have[i]);
    array_fill_sentinel(mark);
    memcpy((float *)g->data + 9, mark->data, sizeof(float));
    Comparison c = compare(g, e, o);
    ok(c.counted == 8 && c.penalty == total / 8, "ignored, right, off, outside, unset: %g of %lld",
       c.penalty, (long long)c.counted);
    ok(c.n == 10 && c.wrong == 0.8 && c.unset == 0.1, "what is wrong does not depend on it");
    o.penalty.wanted = 0;
    c = compare(g, e, o);
    ok(c.counted == 0 && c.penalty == 0, "none where none is wanted");
    for (int i = 0; i < 10; i++) array_set(e, i, -1);
    o.penalty.wanted = 1;
    c = compare(g, e, o);
    ok(c.counted == 0 && c.penalty == 0 && c.wrong == 0.8, "none where nothing counts");
    array_unref(g);
    array_unref(e);
    array_unref(mark);
}

static void refused(const Array *g, const Array *e, CompareOptions o, const char *part) {
    Comparison c = {.n = -7};
    gi_err err = {0};
    ok(!array_compare(g, e, &o, &c, &err) && c.n == -7 && strcmp(err.code, "usage") == 0,
       "refused");
    has_str(err.message, part, "with the reason");
}

static void test_refusals(void) {
    Array *a = line(ARRAY_F32, 12), *b = line(ARRAY_F32, 8), *c = line(ARRAY_F64, 12);
    refused(a, b, (CompareOptions){0}, "12 answers with 8 expected");
    refused(a, c, (CompareOptions){0}, "f32 answers with f64");
    refused(a, a, (CompareOptions){.width = 5},
            "12 elements do not divide into answers of width 5");
    refused(a, a, (CompareOptions){.width = -1}, "width -1");
    refused(a, a, (CompareOptions){.width = 3, .used = 4}, "used must be 1 to 3");
    refused(a, a, (CompareOptions){.penalty = {1, 0, -1, 0, 0, 0}}, "unset (-1)");
    refused(a, a, (CompareOptions){.penalty = {1, 0, 0, (double)INFINITY, 0, 0}}, "outside (inf)");
    refused(a, a, (CompareOptions){.penalty = {1, 0, 0, 0, 2, 1}}, "low (2) must not be above");
    refused(a, a, (CompareOptions){.max_error = -1}, "max_error (-1)");
    refused(a, a, (CompareOptions){.rel_error = (double)NAN}, "rel_error (nan)");
    Comparison out;
    ok(array_compare(a, a, NULL, &out, NULL) && out.n == 12, "no options: every element an answer");
    array_unref(a);
    array_unref(b);
    array_unref(c);
}

/* A field of structs is compared as an array of that field alone is. */
static void test_fields(uint64_t seed) {
    gi_rng r;
    gi_rng_seed(&r, seed);
    for (int round = 0; round < 40; round++) {
        const ArrayType type = round % 2 ? ARRAY_F32 : ARRAY_F64;
        const ArrayField f = {type, 32, 8 * (round % 3), 1 + round % 2};
        const int size = (int)array_type_size(f.type);
        Array *g = line(ARRAY_U32, 8 * 700), *e = line(ARRAY_U32, 8 * 700);
        Array *gf = line(f.type, 700 * f.times), *ef = line(f.type, 700 * f.times);
        randomise(gf, ef, &r, round % 4);
        for (int64_t i = 0; i < g->count; i++) array_set_int(g, i, i), array_set_int(e, i, -i);
        ok(array_place(g, &f, gf, NULL) && array_place(e, &f, ef, NULL), "round %d", round);
        CompareOptions o = {.width = (int)f.times, .max_error = 0.01, .rel_error = 0.01};
        const Comparison alone = compare(gf, ef, o);
        o.viewed = true, o.as = f.type, o.width = 32 / size, o.used = (int)f.times;
        o.from = (int)f.at / size;
        Comparison field = compare(g, e, o);
        const bool near = fabs(field.mean_error / alone.mean_error - 1) < 1e-6;
        if (near) field.mean_error = alone.mean_error;
        ok(!memcmp(&alone, &field, sizeof field), "the same of %d %s at byte %d", (int)f.times,
           array_type_name(f.type), (int)f.at);
        array_unref(g), array_unref(e), array_unref(gf), array_unref(ef);
    }
}

int main(int argc, char **argv) {
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20140712;
    printf("# seed %" PRIu64 "\n", seed);
    test_random(seed);
    test_large(seed + 1);
    test_last_and_first();
    test_unset();
    test_integers();
    test_tolerance();
    test_share_of_one(1);
    test_share_of_one(4);
    test_nan(ARRAY_F32);
    test_nan(ARRAY_F64);
    test_penalty();
    test_refusals();
    test_fields(seed + 2);
    return tap_done();
}
