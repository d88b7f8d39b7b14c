/* cublas_batched.c - many at a time of what BLAS has one at a time: triangular systems by arrays of
** pointers (trsmBatched), products in groups of one shape each (gemmGroupedBatched). */
#include <string.h>

#include "standin/cublas/cublas.h"
#include "standin/cublas/gemm.h"

/* --- op(A) X = alpha B or X op(A) = alpha B, for each of many --- */

typedef struct Systems {
    int side, uplo, op, diag, m, n, lda, ldb, count;
    const void *alpha, *a, *b; /* a, b: arrays of pointers, on the device */
    double scalar[2];          /* the host's alpha */
    bool on_device;
    const char *routine;
    size_t element;
} Systems;

/* Where a matrix begins in the host's memory, of which the triangle alone is looked at, a column at
** a time; NULL. One of which nothing is read begins anywhere. */
static const char *triangle(const Systems *s, const char *a, int k) {
    static const char none[1];
    const char *begins = none;
    size_t ld = (size_t)s->lda * s->element;
    for (int j = 0; j < k; j++) {
        int first = s->uplo == 0 ? j : 0, behind = s->uplo == 0 ? k : j + 1;
        if (s->diag == 1) first += s->uplo == 0, behind -= s->uplo != 0;
        size_t bytes = (size_t)(behind - first) * s->element;
        size_t offset = (size_t)j * ld + (size_t)first * s->element;
        if (bytes == 0) continue;
        const char *at = gilua_work_memory(a + offset, bytes, bytes, 1, WORK_READS);
        if (at == NULL) return NULL;
        begins = at - offset;
    }
    return begins;
}

static bool solve_all(const void *args) {
    typedef void Routine(const char *, const char *, const char *, const char *, const int *,
                         const int *, const void *, const void *, const int *, void *, const int *,
                         size_t, size_t, size_t, size_t);
    Systems s = *(const Systems *)args;
    size_t bytes = (size_t)s.count * sizeof(void *);
    int k = s.side ? s.n : s.m;
    char side = blas_side(s.side), part = blas_part(s.uplo), op = blas_op(s.op),
         diag = blas_diag(s.diag);
    Routine *f = (Routine *)blas_routine(s.routine);
    const char *const *as = gilua_work_memory(s.a, bytes, bytes, 1, WORK_READS);
    const char *const *bs = gilua_work_memory(s.b, bytes, bytes, 1, WORK_READS);
    if (!as || !bs || (s.on_device && !blas_scalar(s.alpha, s.element, true, s.scalar)))
        return false;
    for (int i = 0; i < s.count; i++) {
        const char *a = triangle(&s, as[i], k);
        void *b = gilua_work_memory(bs[i], (size_t)s.m * s.element, (size_t)s.ldb * s.element,
                                    (size_t)s.n, WORK_UPDATES);
        if (!a || !b) return false;
        f(&side, &part, &op, &diag, &s.m, &s.n, s.scalar, a, &s.lda, b, &s.ldb, 1, 1, 1, 1);
    }
    return true;
}

#define TRSM_BATCHED(T, type, t, nt)                                                              \
    EXPORT(cublas##T##trsmBatched, Handle h, int side, int uplo, int op, int diag, int m, int n,  \
           const type *alpha, const type *const *a, int lda, type *const *b, int ldb,             \
           int count) {                                                                           \
        int k = side ? n : m;                                                                     \
        Systems s = {side, uplo, op, diag, m, n, lda, ldb, count, alpha, a, b, {0}, false,        \
                     #t "trsm_", sizeof(type)};                                                   \
        if (h == NULL) return BLAS_NOT_INITIALIZED;                                               \
        if (!(blas_side(side) && blas_part(uplo) && blas_op(op) && blas_diag(diag) && alpha &&    \
              m >= 0 && n >= 0 && count >= 0 && lda >= (k > 1 ? k : 1) &&                         \
              ldb >= (m > 1 ? m : 1)))                                                            \
            return BLAS_INVALID_VALUE;                                                            \
        s.on_device = h->scalars_on_device;                                                       \
        if (!s.on_device) memcpy(s.scalar, alpha, sizeof *alpha);                                 \
        return blas_work(h, &(Work){.name = __func__, .run = solve_all, .args = &s,               \
                                    .size = sizeof s, .is_double = IS_DOUBLE(type),               \
                                    .operations = (double)m * n * k * count});                    \
    }
ALL_TYPES(TRSM_BATCHED)

/* --- products, of one shape in each group; what says the shapes is the host's --- */

typedef struct Groups {
    const char *name;
    const int *op_a, *op_b, *m, *n, *k, *lda, *ldb, *ldc, *size;
    const void *alpha, *beta, *a, *b, *c;
    NumberType a_type, b_type, c_type;
    int count, compute;
} Groups;

static BlasStatus submit_groups(const BlasHandle *h, const Groups *g) {
    size_t scalar = g->compute == GEMM_COMPUTE_64F ? sizeof(double) : sizeof(float), first = 0;
    if (h == NULL) return BLAS_NOT_INITIALIZED;
    if (g->count < 0) return BLAS_INVALID_VALUE;
    if (h->scalars_on_device) return BLAS_NOT_SUPPORTED; /* as cuBLAS's documentation says */
    for (int i = 0; i < g->count; i++) {
        size_t at = first * sizeof(void *);
        Gemm one = {.name = g->name, .op_a = g->op_a[i], .op_b = g->op_b[i], .m = g->m[i],
                    .n = g->n[i], .k = g->k[i], .count = g->size[i], .are_pointers = true,
                    .alpha = (const char *)g->alpha + (size_t)i * scalar,
                    .beta = (const char *)g->beta + (size_t)i * scalar,
                    .compute = g->compute,
                    .a = {(const char *)g->a + at, g->a_type, g->lda[i], 0},
                    .b = {(const char *)g->b + at, g->b_type, g->ldb[i], 0},
                    .c = {(const char *)g->c + at, g->c_type, g->ldc[i], 0}};
        BlasStatus status = gemm_submit(h, &one);
        if (status != BLAS_SUCCESS) return status;
        first += (size_t)g->size[i];
    }
    return BLAS_SUCCESS;
}

#define SHAPES const int *op_a, const int *op_b, const int *m, const int *n, const int *k
#define GROUPED(T, type, number, compute)                                                         \
    EXPORT(cublas##T##gemmGroupedBatched, Handle h, SHAPES, const type *alpha,                    \
           const type *const *a, const int *lda, const type *const *b, const int *ldb,            \
           const type *beta, type *const *c, const int *ldc, int groups, const int *size) {       \
        return submit_groups(h, &(Groups){__func__, op_a, op_b, m, n, k, lda, ldb, ldc, size,     \
                                          alpha, beta, a, b, c, number, number, number, groups,   \
                                          compute});                                              \
    }
GROUPED(S, float, NUMBER_R_32F, GEMM_COMPUTE_32F)
GROUPED(D, double, NUMBER_R_64F, GEMM_COMPUTE_64F)

EXPORT(cublasGemmGroupedBatchedEx, Handle h, SHAPES, const void *alpha, const void *const *a,
       int a_type, const int *lda, const void *const *b, int b_type, const int *ldb,
       const void *beta, void *const *c, int c_type, const int *ldc, int groups, const int *size,
       int compute) {
    return submit_groups(h, &(Groups){__func__, op_a, op_b, m, n, k, lda, ldb, ldc, size, alpha,
                                      beta, a, b, c, (NumberType)a_type, (NumberType)b_type,
                                      (NumberType)c_type, groups, compute});
}
