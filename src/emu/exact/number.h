/* number.h - numbers of a certificate: what a word of 32 bits stands for over the reals, and what
** arithmetic makes of such numbers. See docs/certificate.md for the model.
*/
#ifndef GILUA_EMU_EXACT_NUMBER_H
#define GILUA_EMU_EXACT_NUMBER_H

#include "emu/exact/field.h"

/* What a word of 32 bits is. */
typedef enum WordKind {
    WORD_UNSET,  /* of memory: nobody has written it since the inputs were there */
    WORD_RAW,    /* its bits are the same for all inputs that compare alike */
    WORD_INPUT,  /* an input whose type is not known: a number once arithmetic takes it */
    WORD_NUMBER, /* depends on inputs */
    WORD_CONST,  /* a number that does not */
    WORD_POISON  /* not known: p is the reason, see exact_poison */
} WordKind;

enum { HALF_NONE, HALF_LOW, HALF_HIGH }; /* which word of an f64 it is */

typedef struct Word {
    uint64_t p, q; /* elements of the fields; for each kind but UNSET and RAW. Numbers are equal */
                   /* where p is: q has no e^(a + b) = e^a e^b */
    float degree;  /* at least that of the rational function: of numerator and denominator */
    uint8_t kind, half;
    bool divided; /* it has a denominator */
} Word;

/* An operand of arithmetic. */
typedef struct Num {
    Word w;          /* NUMBER, CONST or POISON */
    double real;     /* what the kernel computed */
    bool is_endless; /* a constant that is infinite: w is RAW */
} Num;

typedef struct Exact Exact; /* exact.h */

/* The functions that have no element but a keyed hash of their arguments. */
typedef enum ExactHash {
    HASH_INPUT = 1,
    HASH_PAIR,
    HASH_SQRT,
    HASH_LG2,
    HASH_SIN,
    HASH_COS,
    HASH_TANH,
    HASH_EX2,
    HASH_MEMBER,
    HASH_MAX,
    HASH_TEXEL,
    HASH_BELOW,
    HASH_TO_INT,
    HASH_BITS
} ExactHash;

uint64_t exact_hash(const Exact *x, ExactHash what, uint64_t a, uint64_t b, uint64_t salt);
/* A number of its own for two words: its elements in the two fields are independent. */
Word exact_element(const Exact *x, ExactHash what, uint64_t a, uint64_t b, float degree);
/* A number that is a function of two words and nothing more is known of it. */
Word exact_opaque(const Exact *x, ExactHash what, const Word *a, const Word *b);
/* A word that is not known, because of this at the running instruction. */
Word exact_poison(Exact *x, const char *why);
Word exact_constant(Exact *x, double value, bool single);
static inline Word exact_integer(Exact *x, double value) {
    return exact_constant(x, value, true);
}
static inline bool exact_is_number(const Word *w) {
    return w->kind == WORD_NUMBER || w->kind == WORD_CONST;
}
static inline Word exact_raw(void) {
    return (Word){.kind = WORD_RAW};
}

/* Sums and products of numbers. */
static inline float word_degree(float a, float b) {
    return a > b ? a : b;
}

static inline uint8_t word_kind(const Word *a, const Word *b) {
    return a->kind == WORD_CONST && b->kind == WORD_CONST ? WORD_CONST : WORD_NUMBER;
}

static inline Word word_sum(const Word *a, const Word *b) {
    bool divided = a->divided || b->divided;
    return (Word){.p = field_add(&field_p, a->p, b->p),
                  .q = field_add(&field_q, a->q, b->q),
                  .degree = divided ? a->degree + b->degree : word_degree(a->degree, b->degree),
                  .divided = divided,
                  .kind = word_kind(a, b)};
}

static inline Word word_product(const Word *a, const Word *b) {
    return (Word){.p = field_mul(&field_p, a->p, b->p),
                  .q = field_mul(&field_q, a->q, b->q),
                  .degree = a->degree + b->degree,
                  .divided = a->divided || b->divided,
                  .kind = word_kind(a, b)};
}

static inline Word word_negative(const Word *a) {
    Word w = *a;
    if (w.kind == WORD_RAW || w.kind == WORD_POISON) return w;
    w.p = field_neg(&field_p, w.p);
    w.q = field_neg(&field_q, w.q);
    return w;
}

/* A register of 32 bits, or two of 64, as a number; bits: what it holds. */
Num exact_single(Exact *x, Word w, uint32_t bits);
Num exact_double(Exact *x, Word low, Word high, uint64_t bits);

Word exact_neg(const Num *a);
Word exact_add(Exact *x, const Num *a, const Num *b);
Word exact_sub(Exact *x, const Num *a, const Num *b);
Word exact_mul(Exact *x, const Num *a, const Num *b);
Word exact_fma(Exact *x, const Num *a, const Num *b, const Num *c);
Word exact_div(Exact *x, const Num *a, const Num *b);
Word exact_rcp(Exact *x, const Num *a);
Word exact_sqrt(Exact *x, const Num *a);
Word exact_rsqrt(Exact *x, const Num *a);
Word exact_ex2(Exact *x, const Num *a);
Word exact_function(Exact *x, ExactHash what, const Num *a); /* lg2, sin, cos, tanh */
Word exact_max(Exact *x, const Num *a, const Num *b);
Word exact_min(Exact *x, const Num *a, const Num *b);
Word exact_abs(Exact *x, const Num *a);

/* A number becomes a whole one. */
void exact_whole(Exact *x, const Num *a, double whole);
/* The key of a comparison's outcome, 0 where it is the same for all inputs; both are numbers. */
uint64_t exact_order(Exact *x, const Num *a, const Num *b);

#endif
