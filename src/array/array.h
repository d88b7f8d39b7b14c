/* array.h - typed n-d arrays, shared without copies by images, references and devices, and the
** comparison of a kernel's answers with the reference.
**
** An Array is reference counted; images, buffers and Lua values hold references to one block of
** memory. Row-major: the last index varies fastest. Stands alone (base.h only).
*/
#ifndef GILUA_ARRAY_H
#define GILUA_ARRAY_H

#include "base/base.h"

#define ARRAY_MAX_DIMS 7

typedef enum ArrayType {
    ARRAY_I8, ARRAY_U8, ARRAY_I16, ARRAY_U16, ARRAY_I32, ARRAY_U32, ARRAY_I64, ARRAY_U64,
    ARRAY_F32, ARRAY_F64,
    ARRAY_F16, ARRAY_BF16, ARRAY_E4M3, ARRAY_E5M2 /* floats of 16 and 8 bits: small.c */
} ArrayType;

typedef struct ArrayBlock ArrayBlock;

typedef struct Array {
    ArrayType type;
    int ndim;                      /* 1 … ARRAY_MAX_DIMS */
    int64_t shape[ARRAY_MAX_DIMS]; /* elements along each dimension, each >= 1 */
    int64_t count;                 /* product of shape */
    size_t size_bytes;
    void *data;                    /* 64-byte aligned */
    int refs;
    ArrayBlock *block;             /* the mapping it lies in (share.h); NULL: memory of its own */
} Array;

const char *array_type_name(ArrayType type);            /* "f32" … */
bool array_type_parse(const char *name, ArrayType *out); /* false when unknown */
size_t array_type_size(ArrayType type);                  /* bytes */
static inline bool array_type_is_float(ArrayType type) {
    return type >= ARRAY_F32;
}
static inline bool array_type_is_small(ArrayType type) { /* a float that C has no type for */
    return type >= ARRAY_F16;
}
/* A small float's value, and the bits of a number in one: to the nearest, ties to even; beyond the
** largest it is an infinity in 16 bits, the largest in 8, as cvt.satfinite has it. */
double array_small_value(ArrayType type, uint32_t bits);
uint32_t array_small_bits(ArrayType type, double value);

/* A zeroed array with one reference, or NULL ("nomem", "usage" for a bad shape or overflow). */
Array *array_new(ArrayType type, int ndim, const int64_t *shape, gi_err *err);
Array *array_ref(Array *a);   /* one more reference; returns a */
void array_unref(Array *a);   /* frees with the last one; NULL is fine */

/* Elements, by flat index from 0, which must be in range. Storing saturates; doubles round to the
** nearest integer, ties to even, NaN to 0. The _int forms are exact for 64-bit integers, u64 being
** passed as its bits (as Lua's integers are). */
double array_get(const Array *a, int64_t index);
int64_t array_get_int(const Array *a, int64_t index);
void array_set(Array *a, int64_t index, double value);
void array_set_int(Array *a, int64_t index, int64_t value);

/* The sentinel written over outputs before every run: a quiet NaN no arithmetic produces
** (f32 0x7fdead01, f64 0x7ffdead0deaddead), for integers the byte 0xAB repeated. */
#define ARRAY_SENTINEL_F32 UINT32_C(0x7fdead01)
#define ARRAY_SENTINEL_F64 UINT64_C(0x7ffdead0deaddead)
#define ARRAY_SENTINEL_BYTE 0xAB
void array_fill_sentinel(Array *a);

/* All sorts of numbers in one array: zeros, ones, the same again and again, both signs, and now and
** then one far from the others. What a kernel does for one sort alone shows. */
void array_fill_mixed(Array *a, gi_rng *r);

/* The elements of an f32 as bits of numbers of 16, "half" (IEEE 754's binary16) or "bfloat16", in a
** u16 of as many: to the nearest; of halves what is too large is the largest. Fails ("usage"). */
bool array_fill_bits(Array *a, const Array *floats, const char *format, gi_err *err);

/* A field of the structs that an array of any type holds: `times` elements of a type at a byte of
** each `bytes`. */
typedef struct ArrayField {
    ArrayType type;
    int64_t bytes, at, times;
} ArrayField;

/* That field of every struct, as an array of its own; NULL ("usage" where it does not fit in). */
Array *array_take(const Array *a, const ArrayField *field, gi_err *err);
/* Puts values there, of any type and as many: as array_set does. */
bool array_place(Array *a, const ArrayField *field, const Array *values, gi_err *err);

/* What an answer costs besides its error, for schemes that let some wrong kernels live. The first
** that holds: nothing, and it does not count, where every used element was expected to be `ignore`
** (NaN: everything counts); `unset` for one never written; `outside` for one with an element that
** is not in low … high (NaN is not) or infinitely far off; else its error. */
typedef struct ComparePenalty {
    int64_t wanted; /* 0: none is worked out */
    double ignore, unset, outside, low, high;
} ComparePenalty;

typedef struct CompareOptions {
    int width;     /* consecutive elements that make one answer; error is the worst of them (1) */
    int used;      /* of these, how many count (0 = all): a float4 whose w is padding has used 3 */
    int from;      /* … beginning with this one (0): a field of a struct */
    bool viewed;   /* the arrays' bytes are elements of type `as`, which width counts */
    ArrayType as;
    double max_error, rel_error; /* an answer is off when an error of its elements is above
                                    max_error + rel_error * |expected| (0, 0) */
    double limit;  /* one that is off is wrong when its error is above this (0) */
    int threads;   /* 0 = as many as the machine has cores; small arrays use one anyway */
    ComparePenalty penalty;
} CompareOptions;

typedef struct Comparison {
    int64_t n;         /* answers compared: count / width */
    double max_error;  /* infinity as soon as one answer is unset, or not finite as expected */
    double mean_error; /* over answers with finite error (infinity when there are none) */
    double off;        /* share of answers outside max_error and rel_error; infinite errors are */
    double wrong;      /* share of those above the limit */
    double unset;      /* share of answers with an element that still holds the sentinel */
    double nan;        /* share of answers with a NaN that was expected */
    int64_t first_wrong; /* index from 0 of the first wrong answer, -1 */
    int64_t counted;     /* answers that options.penalty does not ignore; 0 where none is wanted */
    double penalty;      /* mean over those; 0 when there are none */
} Comparison;

/* Compares got with expected, both of the same type and count, in one pass over memory.
**
** The error of an element is |got - expected|; of an answer, the worst of its used elements. NaN
** where NaN was expected has error 0, and is counted; so have equal infinities; any other error
** that is not finite is infinite. The sentinel counts as unset and wrong - but for integers, where
** the sentinel is an ordinary value too, only when something else was expected. f32 elements are
** subtracted in f32 (exact for values that are close), the rest in f64 (64-bit integers: exact
** difference, rounded once). Deterministic: partial sums are over fixed-size chunks and added in
** order, so the result is the same to the bit whatever the number of threads. Fails ("usage") on
** mismatched arrays. */
bool array_compare(const Array *got, const Array *expected, const CompareOptions *options,
                   Comparison *out, gi_err *err);

/* Fills in the defaults of *options (NULL: all) and checks that such arrays can be compared so. */
bool array_compare_options(const Array *got, const Array *expected, const CompareOptions *options,
                           CompareOptions *out, gi_err *err);

#endif
