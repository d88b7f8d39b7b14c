/* cublas_own.c - functions of cuBLAS that BLAS has not: sums and scalings of matrices (geam, dgmm),
** the least element (amin), a triangular product beside its operand (trmm), half of a product
** (syrkx, herkx). */
#include <math.h>
#include <stdlib.h>

#include "standin/cublas/blas.h"
#include "standin/cublas/cublas.h"

#define OWN(type, run_, args_, operations_, waits_)                                               \
    blas_work(h, &(Work){.name = __func__,                                                        \
                         .run = run_,                                                             \
                         .args = &args_,                                                          \
                         .size = sizeof args_,                                                    \
                         .operations = operations_,                                               \
                         .is_double = IS_DOUBLE(type),                                            \
                         .waits = waits_})

/* --- C = alpha op(A) + beta op(B) --- */

typedef struct Sum {
    int op_a, op_b, m, n, lda, ldb, ldc;
    const void *alpha, *beta, *a, *b;
    void *c;
    double scalars[4]; /* the host's alpha, beta */
    bool on_device;
} Sum;

/* Where a scalar of 0 stands before a matrix, the matrix is not read. */
#define GEAM(T, type, t, nt)                                                                      \
    static type geam_##T(const type *p, int op, int ld, int i, int j) {                           \
        type x = op ? p[(size_t)i * (size_t)ld + (size_t)j]                                       \
                    : p[(size_t)j * (size_t)ld + (size_t)i];                                      \
        return op == 2 ? CONJUGATE_##T(x) : x;                                                    \
    }                                                                                             \
    static const type *geam_side_##T(const Sum *s, const void *at, int op, int ld) {              \
        return gilua_work_memory(at, (size_t)(op ? s->n : s->m) * sizeof(type),                   \
                                 (size_t)ld * sizeof(type), (size_t)(op ? s->m : s->n),           \
                                 WORK_READS);                                                     \
    }                                                                                             \
    static bool geam_run_##T(const void *args) {                                                  \
        const Sum *s = args;                                                                      \
        type alpha, beta;                                                                         \
        if (!blas_scalar(s->on_device ? s->alpha : &s->scalars[0], sizeof alpha, s->on_device,    \
                         &alpha) ||                                                               \
            !blas_scalar(s->on_device ? s->beta : &s->scalars[2], sizeof beta, s->on_device,      \
                         &beta))                                                                  \
            return false;                                                                         \
        const type *a = alpha != 0 ? geam_side_##T(s, s->a, s->op_a, s->lda) : s->c,              \
                   *b = beta != 0 ? geam_side_##T(s, s->b, s->op_b, s->ldb) : s->c;               \
        type *c = gilua_work_memory(s->c, (size_t)s->m * sizeof(type),                            \
                                    (size_t)s->ldc * sizeof(type), (size_t)s->n, WORK_WRITES);    \
        if (!(a && b && c)) return false;                                                         \
        for (int j = 0; j < s->n; j++)                                                            \
            for (int i = 0; i < s->m; i++)                                                        \
                c[(size_t)j * (size_t)s->ldc + (size_t)i] =                                       \
                    (alpha != 0 ? alpha * geam_##T(a, s->op_a, s->lda, i, j) : 0) +               \
                    (beta != 0 ? beta * geam_##T(b, s->op_b, s->ldb, i, j) : 0);                  \
        return true;                                                                              \
    }                                                                                             \
    EXPORT(cublas##T##geam, Handle h, int op_a, int op_b, int m, int n, const type *alpha,        \
           const type *a, int lda, const type *beta, const type *b, int ldb, type *c, int ldc) {  \
        Sum s = {op_a, op_b, m, n, lda, ldb, ldc, alpha, beta, a, b, c, {0}, false};              \
        if (h == NULL) return BLAS_NOT_INITIALIZED;                                               \
        if (!(blas_op(op_a) && blas_op(op_b) && m >= 0 && n >= 0 && alpha && beta && ldc >= m))   \
            return BLAS_INVALID_VALUE;                                                            \
        s.on_device = h->scalars_on_device;                                                       \
        if (!s.on_device && (!blas_scalar(alpha, sizeof *alpha, false, &s.scalars[0]) ||          \
                             !blas_scalar(beta, sizeof *beta, false, &s.scalars[2])))             \
            return BLAS_INVALID_VALUE;                                                            \
        return OWN(type, geam_run_##T, s, 3.0 * m * n, false);                                    \
    }
#define CONJUGATE_S(x) (x)
#define CONJUGATE_D(x) (x)
#define CONJUGATE_C(x) conjf(x)
#define CONJUGATE_Z(x) conj(x)
ALL_TYPES(GEAM)

/* --- C = A diag(x) or diag(x) A --- */

typedef struct Scaling {
    int side, m, n, lda, incx, ldc;
    const void *a, *x;
    void *c;
} Scaling;

#define DGMM(T, type, t, nt)                                                                      \
    static bool dgmm_run_##T(const void *args) {                                                  \
        const Scaling *s = args;                                                                  \
        size_t step = (size_t)abs(s->incx), n_x = (size_t)(s->side ? s->n : s->m);                \
        const type *a = gilua_work_memory(s->a, (size_t)s->m * sizeof(type),                      \
                                          (size_t)s->lda * sizeof(type), (size_t)s->n,            \
                                          WORK_READS),                                            \
                   *x = gilua_work_memory(s->x, sizeof(type), step * sizeof(type), n_x,           \
                                          WORK_READS);                                            \
        type *c = gilua_work_memory(s->c, (size_t)s->m * sizeof(type),                            \
                                    (size_t)s->ldc * sizeof(type), (size_t)s->n, WORK_WRITES);    \
        if (!(a && x && c)) return false;                                                         \
        for (int j = 0; j < s->n; j++)                                                            \
            for (int i = 0; i < s->m; i++) {                                                      \
                size_t k = (size_t)(s->side ? j : i);                                             \
                if (s->incx < 0) k = n_x - 1 - k;                                                 \
                c[(size_t)j * (size_t)s->ldc + (size_t)i] =                                       \
                    a[(size_t)j * (size_t)s->lda + (size_t)i] * x[k * step];                      \
            }                                                                                     \
        return true;                                                                              \
    }                                                                                             \
    EXPORT(cublas##T##dgmm, Handle h, int side, int m, int n, const type *a, int lda,             \
           const type *x, int incx, type *c, int ldc) {                                           \
        Scaling s = {side, m, n, lda, incx, ldc, a, x, c};                                        \
        if (h == NULL) return BLAS_NOT_INITIALIZED;                                               \
        if (!blas_side(side) || m < 0 || n < 0 || lda < m || ldc < m) return BLAS_INVALID_VALUE;  \
        return OWN(type, dgmm_run_##T, s, (double)m * n, false);                                  \
    }
ALL_TYPES(DGMM)

/* --- the first element whose absolute value is least, from 1 --- */

typedef struct Least {
    int n, incx;
    const void *x;
    int *result;
    bool on_device;
} Least;

#define AMIN(T, type, t, nt)                                                                      \
    static bool amin_run_##T(const void *args) {                                                  \
        const Least *l = args;                                                                    \
        const type *x = gilua_work_memory(l->x, sizeof(type), (size_t)l->incx * sizeof(type),     \
                                          (size_t)l->n, WORK_READS);                              \
        int *result = l->on_device ? gilua_work_memory(l->result, sizeof(int), sizeof(int), 1,    \
                                                       WORK_WRITES)                               \
                                   : l->result;                                                   \
        if (!(x && result)) return false;                                                         \
        *result = l->n > 0;                                                                       \
        for (int i = 1; i < l->n; i++)                                                            \
            if (SIZE_##T(x[(size_t)i * (size_t)l->incx]) <                                        \
                SIZE_##T(x[(size_t)(*result - 1) * (size_t)l->incx]))                             \
                *result = i + 1;                                                                  \
        return true;                                                                              \
    }                                                                                             \
    EXPORT(cublasI##t##amin_v2, Handle h, int n, const type *x, int incx, int *result) {          \
        if (h == NULL) return BLAS_NOT_INITIALIZED;                                               \
        Least l = {incx > 0 ? n : 0, incx, x, result, h->scalars_on_device};                      \
        if (result == NULL) return BLAS_INVALID_VALUE;                                            \
        return OWN(type, amin_run_##T, l, n, !l.on_device);                                       \
    }
#define SIZE_S(x) fabsf(x)
#define SIZE_D(x) fabs(x)
#define SIZE_C(x) (fabsf(crealf(x)) + fabsf(cimagf(x)))
#define SIZE_Z(x) (fabs(creal(x)) + fabs(cimag(x)))
ALL_TYPES(AMIN)

/* --- C = alpha op(A) B, A triangular --- */

extern int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, void *);

#define TRMM(T, type, t, nt)                                                                      \
    EXPORT(cublas##T##trmm_v2, Handle h, int side, int uplo, int op, int diag, int m, int n,      \
           const type *alpha, const type *a, int lda, const type *b, int ldb, type *c, int ldc) { \
        enum { ON_DEVICE = 3 };                                                                   \
        int k = side ? n : m;                                                                     \
        if (h == NULL) return BLAS_NOT_INITIALIZED;                                               \
        if (m < 0 || n < 0 || ldb < m || ldc < m) return BLAS_INVALID_VALUE;                      \
        if (b != c && m > 0 && n > 0 &&                                                           \
            cudaMemcpy2DAsync(c, (size_t)ldc * sizeof *c, b, (size_t)ldb * sizeof *b,             \
                              (size_t)m * sizeof *c, (size_t)n, ON_DEVICE, h->stream) != 0)       \
            return BLAS_EXECUTION_FAILED;                                                         \
        return CALL(type, #t "trmm", 0, NULL, (double)m * n * k, LETTER(blas_side(side)),         \
                    LETTER(blas_part(uplo)), LETTER(blas_op(op)), LETTER(blas_diag(diag)),        \
                    COUNT(m), COUNT(n), SCALAR(alpha), TRIANGLE(a, k, lda, uplo, READ),           \
                    MATRIX(c, m, n, ldc, BOTH));                                                  \
    }
ALL_TYPES(TRMM)

/* --- half of C = alpha op(A) op(B)^T + beta C, as if C were symmetric or Hermitian --- */

typedef struct Half {
    int uplo, op, n, k, lda, ldb, ldc;
    const void *alpha, *beta, *a, *b;
    void *c;
    double scalars[4]; /* the host's alpha, beta */
    bool on_device;
} Half;

#define HALF_TERM(s, at, ld, i, l)                                                                \
    (at)[(s)->op ? (size_t)(i) * (size_t)(ld) + (size_t)(l)                                       \
                 : (size_t)(l) * (size_t)(ld) + (size_t)(i)]

/* left, right: of a term of the sum, conjugated or not, by op; real: of a diagonal element. */
#define HALF(T, type, second, name, left, right, real)                                            \
    static bool name##_run_##T(const void *args) {                                                \
        const Half *s = args;                                                                     \
        size_t rows = (size_t)(s->op ? s->k : s->n), columns = (size_t)(s->op ? s->n : s->k);     \
        type alpha;                                                                               \
        second beta;                                                                              \
        if (!blas_scalar(s->on_device ? s->alpha : &s->scalars[0], sizeof alpha, s->on_device,    \
                         &alpha) ||                                                               \
            !blas_scalar(s->on_device ? s->beta : &s->scalars[2], sizeof beta, s->on_device,      \
                         &beta))                                                                  \
            return false;                                                                         \
        const type *a = gilua_work_memory(s->a, rows * sizeof *a, (size_t)s->lda * sizeof *a,     \
                                          columns, WORK_READS),                                   \
                   *b = gilua_work_memory(s->b, rows * sizeof *b, (size_t)s->ldb * sizeof *b,     \
                                          columns, WORK_READS);                                   \
        if (!(a && b)) return false;                                                              \
        for (int j = 0; j < s->n; j++) {                                                          \
            int first = s->uplo == 0 ? j : 0, behind = s->uplo == 0 ? s->n : j + 1;               \
            size_t bytes = (size_t)(behind - first) * sizeof(type);                               \
            type *c = gilua_work_memory((type *)s->c + (size_t)j * (size_t)s->ldc + first, bytes, \
                                        bytes, 1, beta == 0 ? WORK_WRITES : WORK_UPDATES);        \
            if (c == NULL) return false;                                                          \
            for (int i = first; i < behind; i++) {                                                \
                type sum = 0, *to = &c[i - first];                                                \
                for (int l = 0; l < s->k; l++)                                                    \
                    sum += left(s->op, HALF_TERM(s, a, s->lda, i, l)) *                           \
                           right(s->op, HALF_TERM(s, b, s->ldb, j, l));                           \
                *to = alpha * sum + (beta == 0 ? 0 : beta * *to);                                 \
                if (i == j) *to = real(*to);                                                      \
            }                                                                                     \
        }                                                                                         \
        return true;                                                                              \
    }                                                                                             \
    EXPORT(cublas##T##name, Handle h, int uplo, int op, int n, int k, const type *alpha,          \
           const type *a, int lda, const type *b, int ldb, const second *beta, type *c,           \
           int ldc) {                                                                             \
        Half s = {uplo, op, n, k, lda, ldb, ldc, alpha, beta, a, b, c, {0}, false};               \
        int rows = op ? k : n;                                                                    \
        if (h == NULL) return BLAS_NOT_INITIALIZED;                                               \
        if (!(blas_part(uplo) && blas_op(op) && n >= 0 && k >= 0 && alpha && beta &&              \
              lda >= rows && ldb >= rows && ldc >= n))                                            \
            return BLAS_INVALID_VALUE;                                                            \
        s.on_device = h->scalars_on_device;                                                       \
        if (!s.on_device && (!blas_scalar(alpha, sizeof *alpha, false, &s.scalars[0]) ||          \
                             !blas_scalar(beta, sizeof *beta, false, &s.scalars[2])))             \
            return BLAS_INVALID_VALUE;                                                            \
        return OWN(type, name##_run_##T, s, (double)n * n * k, false);                            \
    }
#define AS_IS(op, x) (x)
#define ALONE(x) (x)
HALF(S, float, float, syrkx, AS_IS, AS_IS, ALONE)
HALF(D, double, double, syrkx, AS_IS, AS_IS, ALONE)
HALF(C, Complex, Complex, syrkx, AS_IS, AS_IS, ALONE)
HALF(Z, DoubleComplex, DoubleComplex, syrkx, AS_IS, AS_IS, ALONE)
#define LEFT_C(op, x) ((op) ? conjf(x) : (x))
#define RIGHT_C(op, x) ((op) ? (x) : conjf(x))
#define LEFT_Z(op, x) ((op) ? conj(x) : (x))
#define RIGHT_Z(op, x) ((op) ? (x) : conj(x))
HALF(C, Complex, float, herkx, LEFT_C, RIGHT_C, crealf)
HALF(Z, DoubleComplex, double, herkx, LEFT_Z, RIGHT_Z, creal)
