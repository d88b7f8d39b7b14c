/* Arrays: shapes, sharing, elements of every type, the sentinel. */
#include "array/array.h"
#include "tap.h"

#include <math.h>

static Array *line(ArrayType type, int64_t n) {
    return array_new(type, 1, &n, NULL);
}

static void test_types(void) {
    static const char *names[] = {"i8",  "u8",  "i16", "u16", "i32",
                                  "u32", "i64", "u64", "f32", "f64",
                                  "f16", "bf16", "e4m3", "e5m2"};
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 2, 2, 1, 1};
    for (int i = 0; i < 14; i++) {
        ArrayType t = ARRAY_I8;
        ok(array_type_parse(names[i], &t) && strcmp(array_type_name(t), names[i]) == 0 &&
               array_type_size(t) == sizes[i],
           "type %s has %zu bytes", names[i], sizes[i]);
    }
    ArrayType t = ARRAY_F64;
    ok(!array_type_parse("f24", &t) && t == ARRAY_F64, "an unknown name leaves the type alone");
}

/* Every number of a small format, and the nearest one to numbers between two. */
static void test_small(void) {
    static const struct {
        ArrayType type;
        double one, largest, least, beyond;
        uint32_t one_bits, largest_bits;
    } rows[] = {{ARRAY_F16, 1, 65504, 0x1p-24, HUGE_VAL, 0x3c00, 0x7bff},
                {ARRAY_BF16, 1, 0x1.fep127, 0x1p-133, HUGE_VAL, 0x3f80, 0x7f7f},
                {ARRAY_E4M3, 1, 448, 0x1p-9, 448, 0x38, 0x7e},
                {ARRAY_E5M2, 1, 57344, 0x1p-16, 57344, 0x3c, 0x7b}};
    for (int i = 0; i < 4; i++) {
        const ArrayType t = rows[i].type;
        int back = 0, between = 0;
        for (uint32_t bits = 0; bits <= rows[i].largest_bits; bits++) {
            const double x = array_small_value(t, bits), next = array_small_value(t, bits + 1);
            back += array_small_bits(t, x) != bits || array_small_value(t, bits) < 0;
            if (bits == rows[i].largest_bits) continue;
            between += array_small_bits(t, (x + next) / 2) != bits + bits % 2;
            between += array_small_bits(t, x + (next - x) * 0.499) != bits;
        }
        ok(back == 0, "every number of %s goes to bits and back", array_type_name(t));
        is_int(between, 0, "what lies between goes to the nearest, ties to even");
        Array *a = line(t, 4);
        array_set(a, 0, 1), array_set(a, 1, -1e300), array_set(a, 2, (double)NAN);
        array_set(a, 3, rows[i].least * 0.75);
        ok(array_get(a, 0) == rows[i].one && array_small_bits(t, 1) == rows[i].one_bits, "one");
        ok(array_get(a, 1) == -rows[i].beyond, "what is too large");
        ok(isnan(array_get(a, 2)) && array_get(a, 3) == rows[i].least, "NaN, and the least");
        ok(array_small_value(t, rows[i].largest_bits) == rows[i].largest, "the largest");
        array_unref(a);
    }
}

static void test_shapes(void) {
    const int64_t shape[] = {3, 4, 5};
    Array *a = array_new(ARRAY_F32, 3, shape, NULL);
    ok(a && a->count == 60 && a->size_bytes == 240 && a->ndim == 3 && a->shape[2] == 5,
       "3 x 4 x 5");
    ok((uintptr_t)a->data % 64 == 0, "elements begin at a multiple of 64 bytes");
    bool zero = true;
    for (int64_t i = 0; i < a->count; i++) zero = zero && array_get(a, i) == 0;
    ok(zero, "elements begin as 0");
    ok(array_ref(a) == a, "a reference is the array itself");
    array_unref(a);
    array_set(a, 59, 1.5);
    ok(array_get(a, 59) == 1.5, "an array lives until its last reference is dropped");
    array_unref(a);
    array_unref(NULL);
}

static void refused(int ndim, const int64_t *shape, const char *code, const char *part) {
    gi_err err = {0};
    ok(array_new(ARRAY_F64, ndim, shape, &err) == NULL && strcmp(err.code, code) == 0,
       "refused: %s", err.message);
    has_str(err.message, part, "the message says why");
}

static void test_refusals(void) {
    const int64_t zero[] = {4, 0}, minus[] = {-1}, huge[] = {INT64_MAX / 2, 3};
    const int64_t wraps[] = {INT64_C(1) << 32, INT64_C(1) << 32};
    const int64_t many[] = {1, 1, 1, 1, 1, 1, 1, 1};
    refused(2, zero, "usage", "dimension 2");
    refused(1, minus, "usage", "-1 elements");
    refused(2, huge, "usage", "memory can hold");
    refused(2, wraps, "usage", "memory can hold");
    refused(0, many, "usage", "1 to 7 dimensions, not 0");
    refused(8, many, "usage", "1 to 7 dimensions, not 8");
}

/* What a double and an integer become in each type. */
static void test_stores(void) {
    static const struct {
        ArrayType type;
        double v, want;
    } cases[] = {
        {ARRAY_I8, 200, 127},
        {ARRAY_I8, -200, -128},
        {ARRAY_U8, -1, 0},
        {ARRAY_U8, 255.4, 255},
        {ARRAY_I16, 2.5, 2},
        {ARRAY_I16, 3.5, 4},
        {ARRAY_U16, 1e9, 65535},
        {ARRAY_I32, -1e30, -2147483648.0},
        {ARRAY_U32, 1e30, 4294967295.0},
        {ARRAY_I64, 1e30, 9223372036854775807.0},
        {ARRAY_I64, -1e30, -9223372036854775808.0},
        {ARRAY_U64, 1e30, 18446744073709551615.0},
        {ARRAY_U64, -3, 0},
        {ARRAY_U64, 1e19, 1e19},
        {ARRAY_F32, 0.1, (double)0.1f},
        {ARRAY_F64, 0.1, 0.1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Array *a = line(cases[i].type, 2);
        array_set(a, 1, cases[i].v);
        ok(array_get(a, 1) == cases[i].want && array_get(a, 0) == 0, "%s: %g is kept as %.17g",
           array_type_name(a->type), cases[i].v, cases[i].want);
        array_set(a, 0, (double)NAN);
        const double nan = array_get(a, 0);
        ok(a->type >= ARRAY_F32 ? isnan(nan) : nan == 0, "NaN in %s", array_type_name(a->type));
        array_unref(a);
    }
}

static void test_exact_integers(void) {
    Array *a = line(ARRAY_I64, 1), *u = line(ARRAY_U64, 1), *f = line(ARRAY_F64, 1);
    Array *b = line(ARRAY_I8, 1);
    array_set_int(a, 0, INT64_MAX - 1);
    is_int(array_get_int(a, 0), INT64_MAX - 1, "i64 keeps all 63 bits");
    array_set_int(u, 0, -1);
    is_int(array_get_int(u, 0), -1, "u64 passes through as bits");
    ok(array_get(u, 0) == 18446744073709551615.0, "and reads as 2^64 - 1");
    array_set_int(b, 0, 1000);
    is_int(array_get_int(b, 0), 127, "i8 saturates integers");
    array_set(f, 0, -2.5);
    is_int(array_get_int(f, 0), -2, "f64 rounds to even when read as an integer");
    array_unref(a);
    array_unref(u);
    array_unref(f);
    array_unref(b);
}

static void test_sentinel(void) {
    Array *f = line(ARRAY_F32, 3), *d = line(ARRAY_F64, 3), *i = line(ARRAY_I16, 3);
    array_fill_sentinel(f);
    array_fill_sentinel(d);
    array_fill_sentinel(i);
    uint32_t f_bits;
    uint64_t d_bits;
    memcpy(&f_bits, (float *)f->data + 2, 4);
    memcpy(&d_bits, (double *)d->data + 2, 8);
    ok(f_bits == 0x7fdead01 && isnan(array_get(f, 0)), "f32 sentinel is the NaN 0x7fdead01");
    ok(d_bits == 0x7ffdead0deaddead && isnan(array_get(d, 0)), "f64 sentinel is a NaN");
    is_int((uint16_t)array_get_int(i, 2), 0xABAB, "integer sentinel is bytes of 0xAB");
    array_unref(f);
    array_unref(d);
    array_unref(i);
}

/* struct { i16 id; float at[2]; double mass; } of 24 bytes, three of them */
static void test_fields(void) {
    const ArrayField id = {ARRAY_I16, 24, 0, 1}, at = {ARRAY_F32, 24, 4, 2},
                     mass = {ARRAY_F64, 24, 16, 1};
    const int64_t n = 72, three = 3, six = 6;
    Array *a = array_new(ARRAY_U8, 1, &n, NULL);
    Array *whole = array_new(ARRAY_I64, 1, &three, NULL);
    Array *pairs = array_new(ARRAY_F64, 1, &six, NULL);
    gi_err err = {0};
    for (int64_t i = 0; i < 3; i++) array_set_int(whole, i, 40000 * (i - 1));
    for (int64_t i = 0; i < 6; i++) array_set(pairs, i, 0.5 * (double)i);
    ok(array_place(a, &id, whole, &err) && array_place(a, &at, pairs, &err), "fields are set");
    Array *ids = array_take(a, &id, &err), *ats = array_take(a, &at, &err);
    Array *masses = array_take(a, &mass, &err);
    ok(ids->count == 3 && array_get(ids, 0) == -32768 && array_get(ids, 2) == 32767,
       "in their type, saturated");
    ok(ats->type == ARRAY_F32 && ats->count == 6 && array_get(ats, 5) == 2.5, "several a struct");
    ok(array_get(masses, 0) == 0 && array_get(masses, 2) == 0, "and nothing else is");
    ok(!array_place(a, &mass, pairs, &err), "not with other many");
    has_str(err.message, "6 values are not for a field of 3", "which is said");
    const ArrayField beyond[] = {{ARRAY_F64, 24, 17, 1}, {ARRAY_U8, 25, 0, 1}, {ARRAY_U8, 0, 0, 1},
                                 {ARRAY_U8, 24, -1, 1}, {ARRAY_U8, 24, 0, 0},
                                 {ARRAY_F32, 24, 0, INT64_MAX}};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++)
        ok(!array_take(a, &beyond[i], &err) && !strcmp(err.code, "usage"), "refused: %s",
           err.message);
    array_unref(a), array_unref(whole), array_unref(pairs);
    array_unref(ids), array_unref(ats), array_unref(masses);
}

int main(void) {
    test_types();
    test_small();
    test_shapes();
    test_refusals();
    test_stores();
    test_exact_integers();
    test_sentinel();
    test_fields();
    return tap_done();
}
