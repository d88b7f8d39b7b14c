/* cublas.c - libcublas.so.13 (and .12) for the virtual GPU: cuBLAS's functions over BLAS (blas.h).
**
** cuBLAS's documentation, "cuBLAS Level-1, -2 and -3 Function Reference", says what each does. What
** is not here says so by its name, once, and ends `gilua run` with status 4 (cublas_missing.c).
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "standin/cublas/cublas.h"
#include "standin/cublas/gemm.h"

/* --- handles --- */

EXPORT(cublasCreate_v2, BlasHandle **out) {
    if (out == NULL) return BLAS_INVALID_VALUE;
    if (blas_routine("sgemm_") == NULL) return BLAS_NOT_INITIALIZED;
    *out = calloc(1, sizeof **out);
    return *out ? BLAS_SUCCESS : BLAS_NOT_INITIALIZED;
}

EXPORT(cublasDestroy_v2, BlasHandle *h) {
    free(h);
    return h ? BLAS_SUCCESS : BLAS_NOT_INITIALIZED;
}

#define SETTING(name, type, field)                                \
    EXPORT(cublasSet##name, BlasHandle *h, type value) {          \
        if (h == NULL) return BLAS_NOT_INITIALIZED;               \
        h->field = value;                                         \
        return BLAS_SUCCESS;                                      \
    }                                                             \
    EXPORT(cublasGet##name, Handle h, type *value) {              \
        if (h == NULL || value == NULL) return h ? BLAS_INVALID_VALUE : BLAS_NOT_INITIALIZED; \
        *value = h->field;                                        \
        return BLAS_SUCCESS;                                      \
    }
SETTING(Stream_v2, void *, stream)
SETTING(PointerMode_v2, int, scalars_on_device)
SETTING(MathMode, int, math)
SETTING(AtomicsMode, int, atomics)

EXPORT(cublasSetWorkspace_v2, Handle h, void *workspace, size_t bytes) {
    (void)workspace, (void)bytes;
    return h ? BLAS_SUCCESS : BLAS_NOT_INITIALIZED;
}

EXPORT(cublasGetVersion_v2, Handle h, int *version) {
    (void)h;
    if (version == NULL) return BLAS_INVALID_VALUE;
    *version = 130000;
    return BLAS_SUCCESS;
}

EXPORT(cublasGetProperty, int part, int *value) {
    if (value == NULL || part < 0 || part > 2) return BLAS_INVALID_VALUE;
    *value = part == 0 ? 13 : 0;
    return BLAS_SUCCESS;
}

#define NAMES(name)                                                      \
    __attribute__((visibility("default"))) const char *name(int status); \
    const char *name(int status) {                                       \
        return blas_status(status);                                          \
    }
NAMES(cublasGetStatusName)
NAMES(cublasGetStatusString)

/* --- copies of vectors and matrices --- */

extern int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
extern int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, void *);
enum { TO_DEVICE = 1, TO_HOST = 2 };

#define PART const void *from, int step_from, void *to, int step_to
#define COPIES(name, direction)                                                                   \
    EXPORT(cublas##name##Matrix, int rows, int columns, int size, PART) {                         \
        if (size < 1 || step_from < rows || step_to < rows) return BLAS_INVALID_VALUE;            \
        return cudaMemcpy2D(to, (size_t)step_to * (size_t)size, from,                             \
                            (size_t)step_from * (size_t)size, (size_t)rows * (size_t)size,        \
                            (size_t)columns, direction) ? BLAS_EXECUTION_FAILED : BLAS_SUCCESS;   \
    }                                                                                             \
    EXPORT(cublas##name##MatrixAsync, int rows, int columns, int size, PART, void *stream) {      \
        if (size < 1 || step_from < rows || step_to < rows) return BLAS_INVALID_VALUE;            \
        return cudaMemcpy2DAsync(to, (size_t)step_to * (size_t)size, from,                        \
                                 (size_t)step_from * (size_t)size, (size_t)rows * (size_t)size,   \
                                 (size_t)columns, direction, stream) ? BLAS_EXECUTION_FAILED      \
                                                                     : BLAS_SUCCESS;              \
    }                                                                                             \
    EXPORT(cublas##name##Vector, int n, int size, PART) {                                         \
        return cublas##name##Matrix(1, n, size, from, step_from, to, step_to);                    \
    }                                                                                             \
    EXPORT(cublas##name##VectorAsync, int n, int size, PART, void *stream) {                      \
        return cublas##name##MatrixAsync(1, n, size, from, step_from, to, step_to, stream);       \
    }
COPIES(Set, TO_DEVICE)
COPIES(Get, TO_HOST)

/* --- level 1 --- */

#define LEVEL_1(T, type, t, nt)                                                                   \
    EXPORT(cublas##T##axpy_v2, Handle h, int n, const type *alpha, const type *x, int incx,       \
           type *y, int incy) {                                                                   \
        return CALL(type, #t "axpy", 0, NULL, 2.0 * n, COUNT(n), SCALAR(alpha),                   \
                    VECTOR(x, n, incx, READ), VECTOR(y, n, incy, BOTH));                          \
    }                                                                                             \
    EXPORT(cublas##T##scal_v2, Handle h, int n, const type *alpha, type *x, int incx) {           \
        return CALL(type, #t "scal", 0, NULL, n, COUNT(n), SCALAR(alpha),                         \
                    VECTOR(x, n, incx, BOTH));                                                    \
    }                                                                                             \
    EXPORT(cublas##T##copy_v2, Handle h, int n, const type *x, int incx, type *y, int incy) {     \
        return CALL(type, #t "copy", 0, NULL, 0, COUNT(n), VECTOR(x, n, incx, READ),              \
                    VECTOR(y, n, incy, WRITE));                                                   \
    }                                                                                             \
    EXPORT(cublas##T##swap_v2, Handle h, int n, type *x, int incx, type *y, int incy) {           \
        return CALL(type, #t "swap", 0, NULL, 0, COUNT(n), VECTOR(x, n, incx, BOTH),              \
                    VECTOR(y, n, incy, BOTH));                                                    \
    }                                                                                             \
    EXPORT(cublasI##t##amax_v2, Handle h, int n, const type *x, int incx, int *result) {          \
        return CALL(type, "i" #t "amax", 'i', result, n, COUNT(n), VECTOR(x, n, incx, READ));     \
    }

#define NORM(name, T, routine, type, real, gives)                                                 \
    EXPORT(cublas##T##name##_v2, Handle h, int n, const type *x, int incx, real *result) {        \
        return CALL(type, routine, gives, result, 2.0 * n, COUNT(n), VECTOR(x, n, incx, READ));   \
    }
#define NORMS(name)                                      \
    NORM(name, S, "s" #name, float, float, 's')          \
    NORM(name, D, "d" #name, double, double, 'd')        \
    NORM(name, Sc, "sc" #name, Complex, float, 's')      \
    NORM(name, Dz, "dz" #name, DoubleComplex, double, 'd')

#define DOT(T, name, routine, type, gives_)                                                       \
    EXPORT(cublas##T##name##_v2, Handle h, int n, const type *x, int incx, const type *y,         \
           int incy, type *result) {                                                              \
        return CALL(type, routine, gives_, result, 2.0 * n, COUNT(n), VECTOR(x, n, incx, READ),   \
                    VECTOR(y, n, incy, READ));                                                    \
    }

#define ROT(T, type, t, nt)                                                                       \
    EXPORT(cublas##T##rot_v2, Handle h, int n, type *x, int incx, type *y, int incy,              \
           const type *c, const type *s) {                                                        \
        return CALL(type, #t "rot", 0, NULL, 6.0 * n, COUNT(n), VECTOR(x, n, incx, BOTH),         \
                    VECTOR(y, n, incy, BOTH), SCALAR(c), SCALAR(s));                              \
    }

#define ROTM(T, type, t, nt)                                                                      \
    EXPORT(cublas##T##rotm_v2, Handle h, int n, type *x, int incx, type *y, int incy,             \
           const type *parameters) {                                                              \
        return CALL(type, #t "rotm", 0, NULL, 6.0 * n, COUNT(n), VECTOR(x, n, incx, BOTH),        \
                    VECTOR(y, n, incy, BOTH), SCALARS(parameters, 5));                            \
    }                                                                                             \
    EXPORT(cublas##T##rotmg_v2, Handle h, type *d1, type *d2, type *x1, const type *y1,           \
           type *parameters) {                                                                    \
        return CALL(type, #t "rotmg", 0, NULL, 10, UPDATED(d1, 1), UPDATED(d2, 1),                \
                    UPDATED(x1, 1), SCALAR(y1), UPDATED(parameters, 5));                          \
    }

#define ROTG(T, type, real, t)                                                                    \
    EXPORT(cublas##T##rotg_v2, Handle h, type *a, type *b, real *c, type *s) {                    \
        return CALL(type, t "rotg", 0, NULL, 10, UPDATED(a, 1), UPDATED(b, 1), UPDATED(c, 1),     \
                    UPDATED(s, 1));                                                               \
    }

/* A complex vector and real scalars. */
#define BY_REALS(T, Rot, type, real, t, rot_)                                                     \
    EXPORT(cublas##T##scal_v2, Handle h, int n, const real *alpha, type *x, int incx) {           \
        return CALL(type, t "scal", 0, NULL, 2.0 * n, COUNT(n), SCALAR(alpha),                    \
                    VECTOR(x, n, incx, BOTH));                                                    \
    }                                                                                             \
    EXPORT(cublas##Rot##rot_v2, Handle h, int n, type *x, int incx, type *y, int incy,            \
           const real *c, const real *s) {                                                        \
        return CALL(type, rot_ "rot", 0, NULL, 12.0 * n, COUNT(n), VECTOR(x, n, incx, BOTH),      \
                    VECTOR(y, n, incy, BOTH), SCALAR(c), SCALAR(s));                              \
    }

ALL_TYPES(LEVEL_1)
REAL_TYPES(ROT)
REAL_TYPES(ROTM)
ROTG(S, float, float, "s")
ROTG(D, double, double, "d")
ROTG(C, Complex, float, "c")
ROTG(Z, DoubleComplex, double, "z")
BY_REALS(Cs, Cs, Complex, float, "cs", "cs")
BY_REALS(Zd, Zd, DoubleComplex, double, "zd", "zd")
NORMS(nrm2)
NORMS(asum)
DOT(S, dot, "sdot", float, 's')
DOT(D, dot, "ddot", double, 'd')
DOT(C, dotu, "cdotu", Complex, 'c')
DOT(C, dotc, "cdotc", Complex, 'c')
DOT(Z, dotu, "zdotu", DoubleComplex, 'z')
DOT(Z, dotc, "zdotc", DoubleComplex, 'z')

/* --- level 2 --- */

#define LEVEL_2(T, type, t, nt)                                                                   \
    EXPORT(cublas##T##gemv_v2, Handle h, int op, int m, int n, const type *alpha, const type *a,  \
           int lda, const type *x, int incx, const type *beta, type *y, int incy) {               \
        int in = op ? m : n, out = op ? n : m;                                                    \
        return CALL(type, #t "gemv", 0, NULL, 2.0 * m * n, LETTER(blas_op(op)), COUNT(m),         \
                    COUNT(n), SCALAR(alpha), MATRIX(a, m, n, lda, READ),                          \
                    VECTOR(x, in, incx, READ), BETA(beta), VECTOR(y, out, incy, BOTH));           \
    }                                                                                             \
    EXPORT(cublas##T##trsv_v2, Handle h, int uplo, int op, int diag, int n, const type *a,        \
           int lda, type *x, int incx) {                                                          \
        return CALL(type, #t "trsv", 0, NULL, (double)n * n, LETTER(blas_part(uplo)),             \
                    LETTER(blas_op(op)), LETTER(blas_diag(diag)), COUNT(n),                       \
                    TRIANGLE(a, n, lda, uplo, READ), VECTOR(x, n, incx, BOTH));                   \
    }                                                                                             \
    EXPORT(cublas##T##trmv_v2, Handle h, int uplo, int op, int diag, int n, const type *a,        \
           int lda, type *x, int incx) {                                                          \
        return CALL(type, #t "trmv", 0, NULL, (double)n * n, LETTER(blas_part(uplo)),             \
                    LETTER(blas_op(op)), LETTER(blas_diag(diag)), COUNT(n),                       \
                    TRIANGLE(a, n, lda, uplo, READ), VECTOR(x, n, incx, BOTH));                   \
    }

/* real: the type of a Hermitian update's scalar. */
#define SYMMETRIC_2(T, type, real, t, product, one, two)                                          \
    EXPORT(cublas##T##product##_v2, Handle h, int uplo, int n, const type *alpha, const type *a, \
           int lda, const type *x, int incx, const type *beta, type *y, int incy) {               \
        return CALL(type, t #product, 0, NULL, 2.0 * n * n, LETTER(blas_part(uplo)), COUNT(n),   \
                    SCALAR(alpha), TRIANGLE(a, n, lda, uplo, READ), VECTOR(x, n, incx, READ),     \
                    BETA(beta), VECTOR(y, n, incy, BOTH));                                        \
    }                                                                                             \
    EXPORT(cublas##T##one##_v2, Handle h, int uplo, int n, const real *alpha, const type *x,      \
           int incx, type *a, int lda) {                                                          \
        return CALL(type, t #one, 0, NULL, (double)n * n, LETTER(blas_part(uplo)), COUNT(n),      \
                    SCALAR(alpha), VECTOR(x, n, incx, READ), TRIANGLE(a, n, lda, uplo, BOTH));    \
    }                                                                                             \
    EXPORT(cublas##T##two##_v2, Handle h, int uplo, int n, const type *alpha, const type *x,      \
           int incx, const type *y, int incy, type *a, int lda) {                                 \
        return CALL(type, t #two, 0, NULL, 2.0 * n * n, LETTER(blas_part(uplo)), COUNT(n),        \
                    SCALAR(alpha), VECTOR(x, n, incx, READ), VECTOR(y, n, incy, READ),            \
                    TRIANGLE(a, n, lda, uplo, BOTH));                                             \
    }

#define GER(T, name, routine, type)                                                               \
    EXPORT(cublas##T##name##_v2, Handle h, int m, int n, const type *alpha, const type *x,        \
           int incx, const type *y, int incy, type *a, int lda) {                                 \
        return CALL(type, routine, 0, NULL, 2.0 * m * n, COUNT(m), COUNT(n), SCALAR(alpha),       \
                    VECTOR(x, m, incx, READ), VECTOR(y, n, incy, READ),                           \
                    MATRIX(a, m, n, lda, BOTH));                                                  \
    }

ALL_TYPES(LEVEL_2)
SYMMETRIC_2(S, float, float, "s", symv, syr, syr2)
SYMMETRIC_2(D, double, double, "d", symv, syr, syr2)
SYMMETRIC_2(C, Complex, float, "c", hemv, her, her2)
SYMMETRIC_2(Z, DoubleComplex, double, "z", hemv, her, her2)
GER(S, ger, "sger", float)
GER(D, ger, "dger", double)
GER(C, geru, "cgeru", Complex)
GER(C, gerc, "cgerc", Complex)
GER(Z, geru, "zgeru", DoubleComplex)
GER(Z, gerc, "zgerc", DoubleComplex)

/* --- level 3, but for gemm --- */

/* first, second: the types of the scalars of one update, and the second of the other. */
#define SYMMETRIC_3(T, type, first, second, t, product, one, two)                                 \
    EXPORT(cublas##T##product##_v2, Handle h, int side, int uplo, int m, int n,                \
           const type *alpha, const type *a, int lda, const type *b, int ldb, const type *beta,   \
           type *c, int ldc) {                                                                    \
        int k = side ? n : m;                                                                     \
        return CALL(type, t #product, 0, NULL, 2.0 * m * n * k, LETTER(blas_side(side)),          \
                    LETTER(blas_part(uplo)), COUNT(m), COUNT(n), SCALAR(alpha),                   \
                    TRIANGLE(a, k, lda, uplo, READ), MATRIX(b, m, n, ldb, READ), BETA(beta),      \
                    MATRIX(c, m, n, ldc, BOTH));                                                  \
    }                                                                                             \
    EXPORT(cublas##T##one##_v2, Handle h, int uplo, int op, int n, int k, const first *alpha,     \
           const type *a, int lda, const second *beta, type *c, int ldc) {                        \
        return CALL(type, t #one, 0, NULL, (double)n * n * k, LETTER(blas_part(uplo)),            \
                    LETTER(blas_op(op)), COUNT(n), COUNT(k), SCALAR(alpha),                       \
                    MATRIX(a, op ? k : n, op ? n : k, lda, READ), BETA(beta),                     \
                    TRIANGLE(c, n, ldc, uplo, BOTH));                                             \
    }                                                                                             \
    EXPORT(cublas##T##two##_v2, Handle h, int uplo, int op, int n, int k, const type *alpha,      \
           const type *a, int lda, const type *b, int ldb, const second *beta, type *c,           \
           int ldc) {                                                                             \
        return CALL(type, t #two, 0, NULL, 2.0 * n * n * k, LETTER(blas_part(uplo)),              \
                    LETTER(blas_op(op)), COUNT(n), COUNT(k), SCALAR(alpha),                       \
                    MATRIX(a, op ? k : n, op ? n : k, lda, READ),                                 \
                    MATRIX(b, op ? k : n, op ? n : k, ldb, READ), BETA(beta),                     \
                    TRIANGLE(c, n, ldc, uplo, BOTH));                                             \
    }
#define TRSM(T, type, t, nt)                                                                      \
    EXPORT(cublas##T##trsm_v2, Handle h, int side, int uplo, int op, int diag, int m, int n,      \
           const type *alpha, const type *a, int lda, type *b, int ldb) {                         \
        int k = side ? n : m;                                                                     \
        return CALL(type, #t "trsm", 0, NULL, (double)m * n * k, LETTER(blas_side(side)),         \
                    LETTER(blas_part(uplo)), LETTER(blas_op(op)), LETTER(blas_diag(diag)),        \
                    COUNT(m), COUNT(n), SCALAR(alpha), TRIANGLE(a, k, lda, uplo, READ),           \
                    MATRIX(b, m, n, ldb, BOTH));                                                  \
    }
ALL_TYPES(TRSM)
SYMMETRIC_3(S, float, float, float, "s", symm, syrk, syr2k)
SYMMETRIC_3(D, double, double, double, "d", symm, syrk, syr2k)
SYMMETRIC_3(C, Complex, Complex, Complex, "c", symm, syrk, syr2k)
SYMMETRIC_3(Z, DoubleComplex, DoubleComplex, DoubleComplex, "z", symm, syrk, syr2k)
SYMMETRIC_3(C, Complex, float, float, "c", hemm, herk, her2k)
SYMMETRIC_3(Z, DoubleComplex, double, double, "z", hemm, herk, her2k)

/* --- gemm --- */

#define PRODUCT int op_a, int op_b, int m, int n, int k
#define GEMM_OF(t, a_, lda, stride_a, b_, ldb, stride_b, c_, ldc, stride_c, count_, pointers)     \
    gemm_submit(h, &(Gemm){.name = __func__, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,  \
                           .alpha = alpha, .beta = beta, .count = count_,                         \
                           .are_pointers = pointers, .compute = compute_of(h, t),                 \
                           .a = {a_, t, lda, stride_a}, .b = {b_, t, ldb, stride_b},              \
                           .c = {c_, t, ldc, stride_c}})

/* Of a function that does not name it. cublasMath_t 3: floats may be rounded to TF32. */
static int compute_of(Handle h, NumberType t) {
    if (t == NUMBER_R_64F || t == NUMBER_C_64F) return GEMM_COMPUTE_64F;
    if (t == NUMBER_R_16F) return GEMM_COMPUTE_16F;
    return t == NUMBER_R_32F && h && h->math == 3 ? GEMM_COMPUTE_FAST_TF32 : GEMM_COMPUTE_32F;
}

#define GEMMS(T, suffix, type, t)                                                                 \
    EXPORT(cublas##T##gemm##suffix, Handle h, PRODUCT, const type *alpha, const type *a, int lda, \
           const type *b, int ldb, const type *beta, type *c, int ldc) {                          \
        return GEMM_OF(t, a, lda, 0, b, ldb, 0, c, ldc, 0, 1, false);                             \
    }                                                                                             \
    EXPORT(cublas##T##gemmStridedBatched, Handle h, PRODUCT, const type *alpha, const type *a,    \
           int lda, long long sa, const type *b, int ldb, long long sb, const type *beta,         \
           type *c, int ldc, long long sc, int count) {                                           \
        return GEMM_OF(t, a, lda, sa, b, ldb, sb, c, ldc, sc, count, false);                      \
    }                                                                                             \
    EXPORT(cublas##T##gemmBatched, Handle h, PRODUCT, const type *alpha, const type *const *a,    \
           int lda, const type *const *b, int ldb, const type *beta, type *const *c, int ldc,     \
           int count) {                                                                           \
        return GEMM_OF(t, a, lda, 0, b, ldb, 0, c, ldc, 0, count, true);                          \
    }
GEMMS(S, _v2, float, NUMBER_R_32F)
GEMMS(D, _v2, double, NUMBER_R_64F)
GEMMS(C, _v2, Complex, NUMBER_C_32F)
GEMMS(Z, _v2, DoubleComplex, NUMBER_C_64F)
GEMMS(H, , uint16_t, NUMBER_R_16F)

/* Three real products in place of four, on a GPU. */
#define GEMM_3M(T, type, t)                                                                       \
    EXPORT(cublas##T##gemm3m, Handle h, PRODUCT, const type *alpha, const type *a, int lda,       \
           const type *b, int ldb, const type *beta, type *c, int ldc) {                          \
        return GEMM_OF(t, a, lda, 0, b, ldb, 0, c, ldc, 0, 1, false);                             \
    }
GEMM_3M(C, Complex, NUMBER_C_32F)
GEMM_3M(Z, DoubleComplex, NUMBER_C_64F)

#define GEMM_EX(a_, stride_a, b_, stride_b, c_, stride_c, count_, pointers)                       \
    gemm_submit(h, &(Gemm){.name = __func__, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k,  \
                           .alpha = alpha, .beta = beta, .count = count_,                         \
                           .are_pointers = pointers, .compute = compute,                          \
                           .a = {a_, (NumberType)a_type, lda, stride_a},                          \
                           .b = {b_, (NumberType)b_type, ldb, stride_b},                          \
                           .c = {c_, (NumberType)c_type, ldc, stride_c}})

EXPORT(cublasGemmEx, Handle h, PRODUCT, const void *alpha, const void *a, int a_type, int lda,
       const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
       int compute, int algorithm) {
    (void)algorithm;
    return GEMM_EX(a, 0, b, 0, c, 0, 1, false);
}

EXPORT(cublasGemmStridedBatchedEx, Handle h, PRODUCT, const void *alpha, const void *a, int a_type,
       int lda, long long sa, const void *b, int b_type, int ldb, long long sb, const void *beta,
       void *c, int c_type, int ldc, long long sc, int count, int compute, int algorithm) {
    (void)algorithm;
    return GEMM_EX(a, sa, b, sb, c, sc, count, false);
}

EXPORT(cublasGemmBatchedEx, Handle h, PRODUCT, const void *alpha, const void *const *a, int a_type,
       int lda, const void *const *b, int b_type, int ldb, const void *beta, void *const *c,
       int c_type, int ldc, int count, int compute, int algorithm) {
    (void)algorithm;
    return GEMM_EX(a, 0, b, 0, c, 0, count, true);
}

EXPORT(cublasSgemmEx, Handle h, PRODUCT, const float *alpha, const void *a, int a_type, int lda,
       const void *b, int b_type, int ldb, const float *beta, void *c, int c_type, int ldc) {
    int compute = GEMM_COMPUTE_32F;
    return GEMM_EX(a, 0, b, 0, c, 0, 1, false);
}
