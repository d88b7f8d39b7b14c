/* blas.h - calls of BLAS on the device's memory, for the stand-in of cuBLAS.
**
** The routines are those of whatever BLAS the machine has (OpenBLAS, BLIS, Debian's reference),
** found at run time by their Fortran names. cuBLAS takes BLAS's arguments in BLAS's order, so that
** a call is a list of arguments with their kinds.
*/
#ifndef GILUA_STANDIN_BLAS_H
#define GILUA_STANDIN_BLAS_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/work.h"

typedef enum BlasStatus { /* cublasStatus_t */
    BLAS_SUCCESS = 0,
    BLAS_NOT_INITIALIZED = 1,
    BLAS_INVALID_VALUE = 7,
    BLAS_EXECUTION_FAILED = 13,
    BLAS_NOT_SUPPORTED = 15
} BlasStatus;

const char *blas_status(int status); /* CUBLAS_STATUS_SUCCESS … */

typedef struct BlasHandle { /* cublasHandle_t */
    void *stream;
    int scalars_on_device; /* cublasPointerMode_t */
    int math, atomics;
} BlasHandle;

typedef enum BlasKind {
    BLAS_LETTER,
    BLAS_COUNT,
    BLAS_STEP,
    BLAS_SCALAR,
    BLAS_UPDATED, /* a scalar that the routine changes */
    BLAS_VECTOR,
    BLAS_MATRIX
} BlasKind;

typedef struct BlasArg {
    BlasKind kind;
    int value;            /* letter, count, step between elements or columns; must follow */
    const void *at;       /* scalar, vector, matrix */
    size_t element;       /* bytes of it or of an element */
    int rows, columns;    /* of a matrix; elements of a vector are its columns */
    char part;            /* of a matrix: 'U', 'L' a triangle that counts, 'B' a band; 0: all */
    int below, above;     /* of a band: its diagonals beside the main one; rows: the matrix's */
    WorkAccess access;
    double scalar[5];     /* the host's value of it */
    bool is_beta;         /* at 0 the result is not read */
} BlasArg;

enum { BLAS_ARGS = 13 };

typedef struct BlasCall {
    const char *name;     /* cublasSgemv */
    const char *routine;  /* sgemv_ */
    char gives;           /* what the routine returns: 's', 'd', 'c', 'z', 'i'; 0: nothing */
    void *result;         /* where that goes */
    double operations;
    bool is_double;
    int n;
    BlasArg args[BLAS_ARGS];
} BlasCall;

#define LETTER(c) {.kind = BLAS_LETTER, .value = (c)}
#define COUNT(n) {.kind = BLAS_COUNT, .value = (n)}
#define STEP(n) {.kind = BLAS_STEP, .value = (n)}
#define SCALAR(p) {.kind = BLAS_SCALAR, .at = (p), .element = sizeof *(p)}
#define SCALARS(p, n_) {.kind = BLAS_SCALAR, .at = (p), .element = (n_) * sizeof *(p)}
#define UPDATED(p, n_) {.kind = BLAS_UPDATED, .at = (p), .element = (n_) * sizeof *(p)}
#define BETA(p) {.kind = BLAS_SCALAR, .at = (p), .element = sizeof *(p), .is_beta = true}
/* Vectors and matrices take the step behind them with them. */
#define VECTOR(p, n_, step, how)                                                                  \
    {.kind = BLAS_VECTOR, .at = (p), .element = sizeof *(p), .columns = (n_), .access = (how),    \
     .value = (step)},                                                                            \
        STEP(step)
#define MATRIX(p, rows_, columns_, ld, how)                                                       \
    {.kind = BLAS_MATRIX, .at = (p), .element = sizeof *(p), .rows = (rows_),                     \
     .columns = (columns_), .access = (how), .value = (ld)},                                      \
        STEP(ld)
#define TRIANGLE(p, n_, ld, uplo, how)                                                            \
    {.kind = BLAS_MATRIX, .at = (p), .element = sizeof *(p), .rows = (n_), .columns = (n_),       \
     .access = (how), .value = (ld), .part = blas_part(uplo)},                                    \
        STEP(ld)
/* Diagonals as rows; of a triangle those on one side. */
#define BAND(p, rows_, columns_, below_, above_, ld)                                              \
    {.kind = BLAS_MATRIX, .at = (p), .element = sizeof *(p), .rows = (rows_),                     \
     .columns = (columns_), .access = WORK_READS, .value = (ld), .part = 'B', .below = (below_),  \
     .above = (above_)},                                                                          \
        STEP(ld)
#define HALF_BAND(p, n_, k_, ld, uplo)                                                            \
    BAND(p, n_, n_, (uplo) == 0 ? (k_) : 0, (uplo) == 0 ? 0 : (k_), ld)
/* The columns of a triangle without gaps: a vector whose step is not named. */
#define PACKED(p, n_, how)                                                                        \
    {.kind = BLAS_VECTOR, .at = (p), .element = sizeof *(p), .access = (how), .value = 1,         \
     .columns = (n_) * ((n_) + 1) / 2}

/* Letters of cuBLAS's enumerations; 0 for what is none. */
char blas_op(int op);     /* 'N', 'T', 'C' */
char blas_part(int fill); /* 'L', 'U' */
char blas_diag(int diag); /* 'N', 'U' */
char blas_side(int side); /* 'L', 'R' */

/* The routine; NULL where this machine has no BLAS, which is noted (gilua_work_missing). */
void *blas_routine(const char *name);
/* Checks the arguments and submits the call. */
BlasStatus blas_call(const BlasHandle *h, const BlasCall *call);

/* Submits work on the handle's stream. */
BlasStatus blas_work(const BlasHandle *h, const Work *w);

/* A scalar of the host's or the device's, read when the work runs. */
bool blas_scalar(const void *at, size_t bytes, bool on_device, void *out);

#endif
