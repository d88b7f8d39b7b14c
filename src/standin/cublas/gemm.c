/* gemm.c - products of matrices by BLAS's gemm. See gemm.h.
**
** Matrices of the type that is computed in go to BLAS as they are. Others are converted: halves,
** brain floats and what a fast mode rounds to floats, bytes to doubles, in which products of bytes
** are exact; the sums are then BLAS's, and the result is rounded once, to its type. */
#include "standin/cublas/gemm.h"

#include <stdlib.h>
#include <string.h>

#include "standin/cublas/convert.h"

typedef struct Submitted {
    Gemm g;
    bool scalars_on_device;
    double alpha[2], beta[2]; /* in the type that they have */
} Submitted;

/* The type that BLAS computes in. */
static NumberType computed_in(const Gemm *g) {
    if (number_is_complex(g->c.type)) return g->c.type;
    bool wide = g->compute == GEMM_COMPUTE_64F || g->compute == GEMM_COMPUTE_64F + 1 ||
                g->compute == GEMM_COMPUTE_32I || g->compute == GEMM_COMPUTE_32I + 1;
    return wide ? NUMBER_R_64F : NUMBER_R_32F;
}

static NumberType scalars_of(const Gemm *g) {
    if (number_is_complex(g->c.type)) return g->c.type;
    switch (g->compute) {
    case GEMM_COMPUTE_16F: case GEMM_COMPUTE_16F + 1: return NUMBER_R_16F;
    case GEMM_COMPUTE_64F: case GEMM_COMPUTE_64F + 1: return NUMBER_R_64F;
    case GEMM_COMPUTE_32I: case GEMM_COMPUTE_32I + 1: return NUMBER_R_32I;
    default: return NUMBER_R_32F;
    }
}

/* To what a fast mode rounds its operands; what they are, where it does not. */
static ConvertRounding rounding_of(const Gemm *g) {
    switch (g->compute) {
    case GEMM_COMPUTE_FAST_16F: return CONVERT_F16;
    case GEMM_COMPUTE_FAST_16BF: return CONVERT_BF16;
    case GEMM_COMPUTE_FAST_TF32: return CONVERT_TF32;
    default: return CONVERT_EXACT;
    }
}

/* --- one product --- */

static void blas_gemm(const Gemm *g, const void *alpha, const void *a, int lda, const void *b,
                      int ldb, const void *beta, void *c, int ldc) {
    typedef void Routine(const char *, const char *, const int *, const int *, const int *,
                         const void *, const void *, const int *, const void *, const int *,
                         const void *, void *, const int *, size_t, size_t);
    static const char *const names[] = {[NUMBER_R_32F] = "sgemm_",
                                        [NUMBER_R_64F] = "dgemm_",
                                        [NUMBER_C_32F] = "cgemm_",
                                        [NUMBER_C_64F] = "zgemm_"};
    char op_a = blas_op(g->op_a), op_b = blas_op(g->op_b);
    Routine *f = (Routine *)blas_routine(names[computed_in(g)]);
    f(&op_a, &op_b, &g->m, &g->n, &g->k, alpha, a, &lda, b, &ldb, beta, c, &ldc, 1, 1);
}

/* The scalars as the computed type has them. */
static void scalar_as(NumberType from, NumberType to, const void *at, double out[2]) {
    if (number_is_complex(from)) {
        memcpy(out, at, number_bytes(from));
        return;
    }
    double value = convert_scalar(from, at);
    if (to == NUMBER_R_64F) out[0] = value;
    else memcpy(out, &(float){(float)value}, sizeof(float));
}

static void *converted(const GemmSide *s, NumberType to, ConvertRounding r, const void *at,
                       int rows, int columns) {
    void *out = malloc((size_t)rows * (size_t)columns * number_bytes(to) + 1);
    if (out) convert_in(s->type, at, s->ld, rows, columns, to == NUMBER_R_64F, r, out);
    return out;
}

typedef struct Place { /* in the host's memory */
    const void *a, *b;
    void *c;
} Place;

static bool product(const Submitted *s, Place p) {
    const Gemm *g = &s->g;
    NumberType type = computed_in(g);
    double alpha[2], beta[2];
    int rows_a = g->op_a ? g->k : g->m, columns_a = g->op_a ? g->m : g->k;
    int rows_b = g->op_b ? g->n : g->k, columns_b = g->op_b ? g->k : g->n;
    ConvertRounding r = rounding_of(g);
    scalar_as(scalars_of(g), type, s->alpha, alpha);
    scalar_as(scalars_of(g), type, s->beta, beta);
    if (g->a.type == type && g->b.type == type && g->c.type == type && r == CONVERT_EXACT) {
        blas_gemm(g, alpha, p.a, g->a.ld, p.b, g->b.ld, beta, p.c, g->c.ld);
        return true;
    }
    void *a = converted(&g->a, type, r, p.a, rows_a, columns_a),
         *b = converted(&g->b, type, r, p.b, rows_b, columns_b),
         *c = converted(&g->c, type, CONVERT_EXACT, p.c, g->m, g->n);
    bool ok = a && b && c;
    if (ok) {
        blas_gemm(g, alpha, a, rows_a > 1 ? rows_a : 1, b, rows_b > 1 ? rows_b : 1, beta, c,
                  g->m > 1 ? g->m : 1);
        convert_out(g->c.type, p.c, g->c.ld, g->m, g->n, type == NUMBER_R_64F, c);
    }
    free(a), free(b), free(c);
    return ok;
}

/* --- all of them --- */

static bool is_zero(const double *scalar, NumberType t) {
    if (number_is_complex(t)) {
        static const double zero[2];
        return memcmp(scalar, zero, number_bytes(t)) == 0;
    }
    return convert_scalar(t, scalar) == 0;
}

/* The i-th matrix of a side. */
static const void *matrix(const Gemm *g, const GemmSide *s, const void *const *pointers, int i) {
    if (g->are_pointers) return pointers[i];
    return (const uint8_t *)s->at + (long long)i * s->stride * (long long)number_bytes(s->type);
}

static void *bytes_at(const GemmSide *s, const void *device, int rows, int columns,
                      WorkAccess how) {
    size_t size = number_bytes(s->type);
    return gilua_work_memory(device, (size_t)rows * size, (size_t)s->ld * size, (size_t)columns,
                             how);
}

static const void *const *pointers_of(const Gemm *g, const GemmSide *s) {
    size_t bytes = (size_t)g->count * sizeof(void *);
    return g->are_pointers ? gilua_work_memory(s->at, bytes, bytes, 1, WORK_READS) : NULL;
}

static bool run(const void *args) {
    Submitted s = *(const Submitted *)args;
    const Gemm *g = &s.g;
    size_t scalar = number_bytes(scalars_of(g));
    if (s.scalars_on_device && (!blas_scalar(g->alpha, scalar, true, s.alpha) ||
                                !blas_scalar(g->beta, scalar, true, s.beta)))
        return false;
    WorkAccess how = is_zero(s.beta, scalars_of(g)) ? WORK_WRITES : WORK_UPDATES;
    const void *const *as = pointers_of(g, &g->a), *const *bs = pointers_of(g, &g->b),
                      *const *cs = pointers_of(g, &g->c);
    if (g->are_pointers && !(as && bs && cs)) return false;
    for (int i = 0; i < g->count; i++) {
        Place p = {bytes_at(&g->a, matrix(g, &g->a, as, i), g->op_a ? g->k : g->m,
                            g->op_a ? g->m : g->k, WORK_READS),
                   bytes_at(&g->b, matrix(g, &g->b, bs, i), g->op_b ? g->n : g->k,
                            g->op_b ? g->k : g->n, WORK_READS),
                   bytes_at(&g->c, matrix(g, &g->c, cs, i), g->m, g->n, how)};
        if (!(p.a && p.b && p.c) || !product(&s, p)) return false;
    }
    return true;
}

static bool is_type(NumberType t) {
    return t <= NUMBER_C_64F || t == NUMBER_R_32I || t == NUMBER_R_16BF;
}

static bool are_types(const Gemm *g) {
    bool is_mixed = number_is_complex(g->a.type) != number_is_complex(g->c.type) ||
                    number_is_complex(g->b.type) != number_is_complex(g->c.type) ||
                    (number_is_complex(g->c.type) &&
                     (g->a.type != g->c.type || g->b.type != g->c.type));
    return is_type(g->a.type) && is_type(g->b.type) && is_type(g->c.type) && !is_mixed;
}

static bool is_valid(const Gemm *g) {
    int rows_a = g->op_a ? g->k : g->m, rows_b = g->op_b ? g->n : g->k;
    return blas_op(g->op_a) && blas_op(g->op_b) && g->m >= 0 && g->n >= 0 && g->k >= 0 &&
           g->count >= 0 && g->a.ld >= rows_a && g->b.ld >= rows_b && g->c.ld >= g->m &&
           g->a.ld > 0 && g->b.ld > 0 && g->c.ld > 0 && g->alpha && g->beta;
}

BlasStatus gemm_submit(const BlasHandle *h, const Gemm *g) {
    if (h == NULL || blas_routine("sgemm_") == NULL) return BLAS_NOT_INITIALIZED;
    if (!is_valid(g)) return BLAS_INVALID_VALUE;
    if (!are_types(g)) return BLAS_NOT_SUPPORTED;
    Submitted s = {.g = *g, .scalars_on_device = h->scalars_on_device};
    size_t scalar = number_bytes(scalars_of(g));
    if (!s.scalars_on_device) memcpy(s.alpha, g->alpha, scalar), memcpy(s.beta, g->beta, scalar);
    bool is_wide = computed_in(g) == NUMBER_R_64F || computed_in(g) == NUMBER_C_64F;
    double per_step = number_is_complex(g->c.type) ? 8 : 2;
    return blas_work(h, &(Work){.name = g->name,
                                .run = run,
                                .args = &s,
                                .size = sizeof s,
                                .operations = per_step * g->m * g->n * g->k * g->count,
                                .is_double = is_wide && g->c.type != NUMBER_R_32I});
}
