/* cublas_packed.c - functions of cuBLAS over matrices that are stored as diagonals (band) or as the
** columns of a triangle without gaps (packed). */
#include "standin/cublas/cublas.h"

#define TRIANGULAR LETTER(blas_part(uplo)), LETTER(blas_op(op)), LETTER(blas_diag(diag)), COUNT(n)
#define SQUARE double work = 2.0 * n * n

/* --- band --- */

#define BANDED(T, type, t, nt)                                                                    \
    EXPORT(cublas##T##gbmv_v2, Handle h, int op, int m, int n, int below, int above,              \
           const type *alpha, const type *a, int lda, const type *x, int incx, const type *beta,  \
           type *y, int incy) {                                                                   \
        return CALL(type, #t "gbmv", 0, NULL, 2.0 * n * (below + above + 1),                      \
                    LETTER(blas_op(op)), COUNT(m), COUNT(n), COUNT(below), COUNT(above),          \
                    SCALAR(alpha), BAND(a, m, n, below, above, lda),                              \
                    VECTOR(x, op ? m : n, incx, READ), BETA(beta),                                \
                    VECTOR(y, op ? n : m, incy, BOTH));                                           \
    }                                                                                             \
    BAND_TRIANGLE(T, type, #t, tbmv)                                                              \
    BAND_TRIANGLE(T, type, #t, tbsv)

#define BAND_TRIANGLE(T, type, t, name)                                                           \
    EXPORT(cublas##T##name##_v2, Handle h, int uplo, int op, int diag, int n, int k,              \
           const type *a, int lda, type *x, int incx) {                                           \
        return CALL(type, t #name, 0, NULL, 2.0 * n * (k + 1), TRIANGULAR, COUNT(k),              \
                    HALF_BAND(a, n, k, lda, uplo), VECTOR(x, n, incx, BOTH));                     \
    }

#define BAND_SYMMETRIC(T, type, routine, name)                                                    \
    EXPORT(cublas##T##name##_v2, Handle h, int uplo, int n, int k, const type *alpha,             \
           const type *a, int lda, const type *x, int incx, const type *beta, type *y,            \
           int incy) {                                                                            \
        return CALL(type, routine, 0, NULL, 4.0 * n * (k + 1), LETTER(blas_part(uplo)),           \
                    COUNT(n), COUNT(k), SCALAR(alpha), HALF_BAND(a, n, k, lda, uplo),             \
                    VECTOR(x, n, incx, READ), BETA(beta), VECTOR(y, n, incy, BOTH));              \
    }
ALL_TYPES(BANDED)
BAND_SYMMETRIC(S, float, "ssbmv", sbmv)
BAND_SYMMETRIC(D, double, "dsbmv", sbmv)
BAND_SYMMETRIC(C, Complex, "chbmv", hbmv)
BAND_SYMMETRIC(Z, DoubleComplex, "zhbmv", hbmv)

/* --- packed --- */

#define PACKED_TRIANGLE(T, type, t, name)                                                         \
    EXPORT(cublas##T##name##_v2, Handle h, int uplo, int op, int diag, int n, const type *a,      \
           type *x, int incx) {                                                                   \
        return CALL(type, t #name, 0, NULL, (double)n * n, TRIANGULAR, PACKED(a, n, READ),        \
                    VECTOR(x, n, incx, BOTH));                                                    \
    }
#define PACKED_TRIANGLES(T, type, t, nt)  \
    PACKED_TRIANGLE(T, type, #t, tpmv)    \
    PACKED_TRIANGLE(T, type, #t, tpsv)

/* real: the type of a Hermitian update's scalar. */
#define PACKED_SYMMETRIC(T, type, real, t, product, one, two)                                     \
    EXPORT(cublas##T##product##_v2, Handle h, int uplo, int n, const type *alpha, const type *a,  \
           const type *x, int incx, const type *beta, type *y, int incy) {                        \
        SQUARE;                                                                                   \
        return CALL(type, t #product, 0, NULL, work, LETTER(blas_part(uplo)), COUNT(n),           \
                    SCALAR(alpha), PACKED(a, n, READ), VECTOR(x, n, incx, READ), BETA(beta),      \
                    VECTOR(y, n, incy, BOTH));                                                    \
    }                                                                                             \
    EXPORT(cublas##T##one##_v2, Handle h, int uplo, int n, const real *alpha, const type *x,      \
           int incx, type *a) {                                                                   \
        SQUARE;                                                                                   \
        return CALL(type, t #one, 0, NULL, work, LETTER(blas_part(uplo)), COUNT(n),               \
                    SCALAR(alpha), VECTOR(x, n, incx, READ), PACKED(a, n, BOTH));                 \
    }                                                                                             \
    EXPORT(cublas##T##two##_v2, Handle h, int uplo, int n, const type *alpha, const type *x,      \
           int incx, const type *y, int incy, type *a) {                                          \
        SQUARE;                                                                                   \
        return CALL(type, t #two, 0, NULL, work, LETTER(blas_part(uplo)), COUNT(n),               \
                    SCALAR(alpha), VECTOR(x, n, incx, READ), VECTOR(y, n, incy, READ),            \
                    PACKED(a, n, BOTH));                                                          \
    }
ALL_TYPES(PACKED_TRIANGLES)
PACKED_SYMMETRIC(S, float, float, "s", spmv, spr, spr2)
PACKED_SYMMETRIC(D, double, double, "d", spmv, spr, spr2)
PACKED_SYMMETRIC(C, Complex, float, "c", hpmv, hpr, hpr2)
PACKED_SYMMETRIC(Z, DoubleComplex, double, "z", hpmv, hpr, hpr2)
