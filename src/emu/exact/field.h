/* field.h - the two prime fields in which certificates compute (docs/certificate.md).
**
** P = 2 Q + 1, both prime. A real number has an element in each: that of P is the number itself,
** that of Q is the same number where it stands in an exponent. w^x, for an element w of order Q of
** the first field, turns a sum of exponents in Q into a product in P, as exp does.
**
** Elements are kept in Montgomery's form (P. Montgomery, "Modular multiplication without trial
** division", 1985), always below their prime, so that equal numbers have equal words.
*/
#ifndef GILUA_EMU_EXACT_FIELD_H
#define GILUA_EMU_EXACT_FIELD_H

#include "base/base.h"

__extension__ typedef unsigned __int128 FieldWide;

typedef struct Field {
    uint64_t n, inverse;  /* the prime; -1/n modulo 2^64 */
    uint64_t one, square; /* 2^64 and 2^128 modulo n */
} Field;

extern const Field field_p, field_q;

static inline uint64_t field_add(const Field *f, uint64_t a, uint64_t b) {
    uint64_t sum = a + b; /* both are below 2^60 */
    return sum >= f->n ? sum - f->n : sum;
}
static inline uint64_t field_neg(const Field *f, uint64_t a) {
    return a ? f->n - a : 0;
}
static inline uint64_t field_mul(const Field *f, uint64_t a, uint64_t b) {
    FieldWide t = (FieldWide)a * b;
    uint64_t m = (uint64_t)t * f->inverse;
    uint64_t u = (uint64_t)((t + (FieldWide)m * f->n) >> 64);
    return u >= f->n ? u - f->n : u;
}
/* Any 64 bits as an element. */
static inline uint64_t field_of(const Field *f, uint64_t bits) {
    return field_mul(f, bits % f->n, f->square);
}
/* Random bits as a random element. */
static inline uint64_t field_drawn(const Field *f, uint64_t bits) {
    return (uint64_t)((FieldWide)bits * f->n >> 64);
}
uint64_t field_pow(const Field *f, uint64_t a, uint64_t exponent);
uint64_t field_inverse(const Field *f, uint64_t a); /* of 0: 0 */
/* The plain number of an element. */
static inline uint64_t field_plain(const Field *f, uint64_t a) {
    return field_mul(f, a, 1);
}

/* A fraction and a power of two: the number that a constant is read as. */
typedef struct Fraction {
    uint64_t over, under;
    int exponent;
    bool negative;
} Fraction;

/* Returns the simplest fraction that rounds to the constant, else its exact value: 0.33333334f is
** 1/3, 0.1f is 1/10. single: the constant is an f32, or an f64 that is one. x is finite. */
Fraction fraction_of(double x, bool single);
uint64_t field_fraction(const Field *f, const Fraction *x);

#endif
