/* cusolver.c - libcusolver.so.12 (and .11) for the virtual GPU: cuSOLVER's dense functions over
** LAPACK (solver.h). cuSOLVER's documentation, "cuSolverDN", says what each does. The sparse ones,
** batched singular values and refinement are missing: missing.c.
*/
#include <stdlib.h>
#include <string.h>

#include "standin/cusolver/solver.h"
#include "standin/shared/number.h"

/* --- handles --- */

EXPORT(cusolverDnCreate, SolverHandle **out) {
    if (out == NULL) return SOLVER_INVALID_VALUE;
    if (!solver_is_there()) return SOLVER_NOT_INITIALIZED;
    *out = calloc(1, sizeof **out);
    return *out ? SOLVER_SUCCESS : SOLVER_ALLOC_FAILED;
}
EXPORT(cusolverDnDestroy, SolverHandle *h) {
    free(h);
    return h ? SOLVER_SUCCESS : SOLVER_NOT_INITIALIZED;
}
EXPORT(cusolverDnSetStream, SolverHandle *h, void *stream) {
    return h ? (h->stream = stream, SOLVER_SUCCESS) : SOLVER_NOT_INITIALIZED;
}
EXPORT(cusolverDnGetStream, const SolverHandle *h, void **stream) {
    return h && stream ? (*stream = h->stream, SOLVER_SUCCESS) : SOLVER_NOT_INITIALIZED;
}
EXPORT(cusolverDnSetDeterministicMode, SolverHandle *h, int mode) {
    return h ? (h->deterministic = mode, SOLVER_SUCCESS) : SOLVER_NOT_INITIALIZED;
}
EXPORT(cusolverDnGetDeterministicMode, const SolverHandle *h, int *mode) {
    return h && mode ? (*mode = h->deterministic, SOLVER_SUCCESS) : SOLVER_NOT_INITIALIZED;
}
EXPORT(cusolverGetVersion, int *version) {
    return version ? (*version = 12000, SOLVER_SUCCESS) : SOLVER_INVALID_VALUE;
}
EXPORT(cusolverGetProperty, int part, int *value) {
    if (value == NULL || part < 0 || part > 2) return SOLVER_INVALID_VALUE;
    *value = part == 0 ? 12 : 0;
    return SOLVER_SUCCESS;
}

/* What is set of these, tolerances and algorithms, is no matter to LAPACK. */
#define OPTIONS(name)                                                   \
    EXPORT(cusolverDnCreate##name, void **out) {                        \
        if (out == NULL) return SOLVER_INVALID_VALUE;                   \
        *out = calloc(1, 1);                                            \
        return *out ? SOLVER_SUCCESS : SOLVER_ALLOC_FAILED;             \
    }                                                                   \
    EXPORT(cusolverDnDestroy##name, void *options) {                    \
        free(options);                                                  \
        return SOLVER_SUCCESS;                                          \
    }
OPTIONS(Params)
OPTIONS(SyevjInfo)
OPTIONS(GesvdjInfo)
#define JACOBI(name)                                                                \
    EXPORT(cusolverDnX##name##SetTolerance, void *options, double tolerance) {      \
        (void)options, (void)tolerance;                                             \
        return SOLVER_SUCCESS;                                                      \
    }                                                                               \
    EXPORT(cusolverDnX##name##SetMaxSweeps, void *options, int sweeps) {            \
        (void)options, (void)sweeps;                                                \
        return SOLVER_SUCCESS;                                                      \
    }
JACOBI(syevj)
JACOBI(gesvdj)
EXPORT(cusolverDnXsyevjSetSortEig, void *options, int sorts) {
    (void)options; /* LAPACK's are sorted */
    return sorts ? SOLVER_SUCCESS : SOLVER_NOT_SUPPORTED;
}
EXPORT(cusolverDnSetAdvOptions, void *options, int function, int algorithm) {
    (void)options, (void)function, (void)algorithm;
    return SOLVER_SUCCESS;
}

/* --- letters of the enumerations; '?' for what is none --- */

static char letter(int value, const char *letters) {
    return value >= 0 && value < (int)strlen(letters) ? letters[value] : '?';
}
#define PART(fill) letter(fill, "LU")
#define OP(op)     letter(op, "NTC")
#define SIDE(side) letter(side, "LR")
#define JOB(job)   letter(job, "NV")
#define DIAG(diag) letter(diag, "NU")

static char job_of(signed char job) {
    return strchr("ASON", job) && job ? (char)job : '?';
}

/* A workspace is never needed; its size is not 0, for programs that look at it. */
static int elements(const SolverHandle *h, int *size) {
    if (h == NULL) return SOLVER_NOT_INITIALIZED;
    return size ? (*size = 1, SOLVER_SUCCESS) : SOLVER_INVALID_VALUE;
}
static int bytes(const SolverHandle *h, size_t *device, size_t *host) {
    if (h == NULL) return SOLVER_NOT_INITIALIZED;
    if (device) *device = 16;
    if (host) *host = 0;
    return SOLVER_SUCCESS;
}

static SolverMatrix square(const void *at, int n, int ld) {
    return (SolverMatrix){at, n, n, ld};
}
static SolverMatrix whole(const void *at, int rows, int columns, int ld) {
    return (SolverMatrix){at, rows, columns, ld};
}
static int least(int a, int b) {
    return a < b ? a : b;
}

#define SUBMIT(task_, type_, ...) \
    solver_submit(h, &(Solver){.task = task_, .name = __func__, .type = type_, __VA_ARGS__})

/* The matrix of singular vectors that a job asks for: all of size, the first few, none. */
static SolverMatrix vectors(char job, const void *at, int size, int few, int ld, bool rows) {
    int n = job == 'A' ? size : job == 'S' ? few : 0;
    if (n == 0) return (SolverMatrix){0};
    return rows ? whole(at, n, size, ld) : whole(at, size, n, ld);
}

static int singular(SolverHandle *h, const char *name, char type, char job_u, char job_v, int m,
                    int n, void *a, int lda, void *values, void *u, int ldu, void *v, int ldv,
                    void *info) {
    int few = least(m, n);
    Solver s = {.task = SOLVER_GESVD, .name = name, .type = type, .letters = {job_u, job_v},
                .a = whole(a, m, n, lda), .u = vectors(job_u, u, m, few, ldu, false),
                .v = vectors(job_v, v, n, few, ldv, true), .values = values, .info = info};
    return solver_submit(h, &s);
}

static int jacobi(SolverHandle *h, const char *name, char type, int job, int econ, int m, int n,
                  void *a, int lda, void *values, void *u, int ldu, void *v, int ldv, void *info) {
    char letter_ = JOB(job) == 'N' ? 'N' : JOB(job) == '?' ? '?' : econ ? 'S' : 'A';
    int few = least(m, n);
    Solver s = {.task = SOLVER_GESVDJ, .name = name, .type = type, .letters = {letter_, letter_},
                .a = whole(a, m, n, lda), .u = vectors(letter_, u, m, few, ldu, false),
                .v = vectors(letter_, v, n, few, ldv, false), .values = values, .info = info};
    return solver_submit(h, &s);
}

/* --- the functions of each type: T its letter in names, t LAPACK's; or, sy: parts of names --- */

#define H SolverHandle *h
#define SPACE(number) number *work, int size
#define UNUSED_SPACE (void)work, (void)size

#define CHOLESKY(T, number, t)                                                                    \
    EXPORT(cusolverDn##T##potrf_bufferSize, H, int fill, int n, number *a, int lda, int *size) {  \
        (void)fill, (void)n, (void)a, (void)lda;                                                  \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##potrf, H, int fill, int n, number *a, int lda, SPACE(number),           \
           int *info) {                                                                           \
        UNUSED_SPACE;                                                                             \
        return SUBMIT(SOLVER_POTRF, t, .letters = {PART(fill)}, .a = square(a, n, lda),           \
                      .info = info);                                                              \
    }                                                                                             \
    EXPORT(cusolverDn##T##potrs, H, int fill, int n, int count, const number *a, int lda,         \
           number *b, int ldb, int *info) {                                                       \
        return SUBMIT(SOLVER_POTRS, t, .letters = {PART(fill)}, .a = square(a, n, lda),           \
                      .b = whole(b, n, count, ldb), .info = info);                                \
    }                                                                                             \
    EXPORT(cusolverDn##T##potri_bufferSize, H, int fill, int n, number *a, int lda, int *size) {  \
        (void)fill, (void)n, (void)a, (void)lda;                                                  \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##potri, H, int fill, int n, number *a, int lda, SPACE(number),           \
           int *info) {                                                                           \
        UNUSED_SPACE;                                                                             \
        return SUBMIT(SOLVER_POTRI, t, .letters = {PART(fill)}, .a = square(a, n, lda),           \
                      .info = info);                                                              \
    }                                                                                             \
    EXPORT(cusolverDn##T##potrfBatched, H, int fill, int n, number **a, int lda, int *info,       \
           int count) {                                                                           \
        return count == 0 ? SOLVER_SUCCESS                                                        \
                          : SUBMIT(SOLVER_POTRF, t, .letters = {PART(fill)},                      \
                                   .a = square(a, n, lda), .count = count, .info = info);         \
    }                                                                                             \
    EXPORT(cusolverDn##T##potrsBatched, H, int fill, int n, int columns, number **a, int lda,     \
           number **b, int ldb, int *info, int count) {                                           \
        return count == 0 ? SOLVER_SUCCESS                                                        \
                          : SUBMIT(SOLVER_POTRS, t, .letters = {PART(fill)},                      \
                                   .a = square(a, n, lda), .b = whole(b, n, columns, ldb),        \
                                   .count = count, .info = info);                                 \
    }

#define LU(T, number, t)                                                                          \
    EXPORT(cusolverDn##T##getrf_bufferSize, H, int m, int n, number *a, int lda, int *size) {     \
        (void)m, (void)n, (void)a, (void)lda;                                                     \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##getrf, H, int m, int n, number *a, int lda, number *work, int *pivots,  \
           int *info) {                                                                           \
        (void)work;                                                                               \
        return SUBMIT(SOLVER_GETRF, t, .a = whole(a, m, n, lda), .pivots = pivots,                \
                      .info = info);                                                              \
    }                                                                                             \
    EXPORT(cusolverDn##T##getrs, H, int op, int n, int count, const number *a, int lda,           \
           const int *pivots, number *b, int ldb, int *info) {                                    \
        return SUBMIT(SOLVER_GETRS, t, .letters = {OP(op)}, .a = square(a, n, lda),               \
                      .b = whole(b, n, count, ldb), .pivots = pivots, .info = info);              \
    }

#define QR(T, number, t, or)                                                                      \
    EXPORT(cusolverDn##T##geqrf_bufferSize, H, int m, int n, number *a, int lda, int *size) {     \
        (void)m, (void)n, (void)a, (void)lda;                                                     \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##geqrf, H, int m, int n, number *a, int lda, number *tau,                \
           SPACE(number), int *info) {                                                            \
        UNUSED_SPACE;                                                                             \
        return SUBMIT(SOLVER_GEQRF, t, .a = whole(a, m, n, lda), .values = tau, .info = info);    \
    }                                                                                             \
    EXPORT(cusolverDn##T##or##gqr_bufferSize, H, int m, int n, int k, const number *a, int lda,   \
           const number *tau, int *size) {                                                        \
        (void)m, (void)n, (void)k, (void)a, (void)lda, (void)tau;                                 \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##or##gqr, H, int m, int n, int k, number *a, int lda, const number *tau, \
           SPACE(number), int *info) {                                                            \
        UNUSED_SPACE;                                                                             \
        return SUBMIT(SOLVER_ORGQR, t, .a = whole(a, m, n, lda), .inner = k, .values = tau,       \
                      .info = info);                                                              \
    }                                                                                             \
    EXPORT(cusolverDn##T##or##mqr_bufferSize, H, int side, int op, int m, int n, int k,           \
           const number *a, int lda, const number *tau, const number *c, int ldc, int *size) {    \
        (void)side, (void)op, (void)m, (void)n, (void)k, (void)a, (void)lda, (void)tau;           \
        (void)c, (void)ldc;                                                                       \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##or##mqr, H, int side, int op, int m, int n, int k, const number *a,     \
           int lda, const number *tau, number *c, int ldc, SPACE(number), int *info) {            \
        UNUSED_SPACE;                                                                             \
        return SUBMIT(SOLVER_ORMQR, t, .letters = {SIDE(side), OP(op)},                           \
                      .a = whole(a, side ? n : m, k, lda), .b = whole(c, m, n, ldc),              \
                      .inner = k, .values = tau, .info = info);                                   \
    }

#define EIGEN(T, number, t, real, sy)                                                             \
    EXPORT(cusolverDn##T##sy##evd_bufferSize, H, int job, int fill, int n, const number *a,       \
           int lda, const real *w, int *size) {                                                   \
        (void)job, (void)fill, (void)n, (void)a, (void)lda, (void)w;                              \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##sy##evd, H, int job, int fill, int n, number *a, int lda, real *w,      \
           SPACE(number), int *info) {                                                            \
        UNUSED_SPACE;                                                                             \
        return SUBMIT(SOLVER_SYEVD, t, .letters = {JOB(job), PART(fill)},                         \
                      .a = square(a, n, lda), .values = w, .info = info);                         \
    }                                                                                             \
    EXPORT(cusolverDn##T##sy##evj_bufferSize, H, int job, int fill, int n, const number *a,       \
           int lda, const real *w, int *size, void *options) {                                    \
        (void)job, (void)fill, (void)n, (void)a, (void)lda, (void)w, (void)options;               \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##sy##evj, H, int job, int fill, int n, number *a, int lda, real *w,      \
           SPACE(number), int *info, void *options) {                                             \
        (void)options, UNUSED_SPACE;                                                              \
        return SUBMIT(SOLVER_SYEVD, t, .letters = {JOB(job), PART(fill)},                         \
                      .a = square(a, n, lda), .values = w, .info = info);                         \
    }                                                                                             \
    EXPORT(cusolverDn##T##sy##gvd_bufferSize, H, int type, int job, int fill, int n,              \
           const number *a, int lda, const number *b, int ldb, const real *w, int *size) {        \
        (void)type, (void)job, (void)fill, (void)n, (void)a, (void)lda, (void)b, (void)ldb;       \
        (void)w;                                                                                  \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##sy##gvd, H, int type, int job, int fill, int n, number *a, int lda,     \
           number *b, int ldb, real *w, SPACE(number), int *info) {                               \
        UNUSED_SPACE;                                                                             \
        return SUBMIT(SOLVER_SYGVD, t, .letters = {JOB(job), PART(fill)}, .kind = type,           \
                      .a = square(a, n, lda), .b = square(b, n, ldb), .values = w,                \
                      .info = info);                                                              \
    }

#define SINGULAR(T, number, t, real)                                                              \
    EXPORT(cusolverDn##T##gesvd_bufferSize, H, int m, int n, int *size) {                         \
        (void)m, (void)n;                                                                         \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##gesvd, H, signed char job_u, signed char job_v, int m, int n,           \
           number *a, int lda, real *s, number *u, int ldu, number *v, int ldv, SPACE(number),    \
           real *rest, int *info) {                                                               \
        (void)rest, UNUSED_SPACE;                                                                 \
        return singular(h, __func__, t, job_of(job_u), job_of(job_v), m, n, a, lda, s, u, ldu,    \
                        v, ldv, info);                                                            \
    }                                                                                             \
    EXPORT(cusolverDn##T##gesvdj_bufferSize, H, int job, int econ, int m, int n,                  \
           const number *a, int lda, const real *s, const number *u, int ldu, const number *v,    \
           int ldv, int *size, void *options) {                                                   \
        (void)job, (void)econ, (void)m, (void)n, (void)a, (void)lda, (void)s, (void)u, (void)ldu; \
        (void)v, (void)ldv, (void)options;                                                        \
        return elements(h, size);                                                                 \
    }                                                                                             \
    EXPORT(cusolverDn##T##gesvdj, H, int job, int econ, int m, int n, number *a, int lda,         \
           real *s, number *u, int ldu, number *v, int ldv, SPACE(number), int *info,             \
           void *options) {                                                                       \
        (void)options, UNUSED_SPACE;                                                              \
        return jacobi(h, __func__, t, job, econ, m, n, a, lda, s, u, ldu, v, ldv, info);          \
    }

typedef float complex Complex;
typedef double complex DoubleComplex;
#define TYPE(T, number, t, real, or, sy)                                        \
    CHOLESKY(T, number, t) LU(T, number, t) QR(T, number, t, or)                \
    EIGEN(T, number, t, real, sy) SINGULAR(T, number, t, real)
TYPE(S, float, 's', float, or, sy)
TYPE(D, double, 'd', double, or, sy)
TYPE(C, Complex, 'c', float, un, he)
TYPE(Z, DoubleComplex, 'z', double, un, he)

/* --- the functions of any type, with 64-bit sizes --- */

static char type_letter(int type) {
    switch (type) {
    case NUMBER_R_32F: return 's';
    case NUMBER_R_64F: return 'd';
    case NUMBER_C_32F: return 'c';
    case NUMBER_C_64F: return 'z';
    default: return 0;
    }
}

/* Sizes that LAPACK takes are 32 bits; false for others, and for a type that it has not. */
static bool fits(int type, int64_t a, int64_t b, int64_t c, int64_t d) {
    int64_t most = INT32_MAX;
    return type_letter(type) && a <= most && b <= most && c <= most && d <= most;
}
#define FITS(type, a, b, c, d) \
    if (!fits(type, a, b, c, d)) return SOLVER_NOT_SUPPORTED

#define X     SolverHandle *h, const void *options
#define TAIL                                                                                      \
    int compute, void *device, size_t device_bytes, void *host, size_t host_bytes, int *info
#define SIZES int compute, size_t *device, size_t *host
#define UNUSED_TAIL                                                                     \
    (void)options, (void)compute, (void)device, (void)device_bytes, (void)host, (void)host_bytes

EXPORT(cusolverDnXpotrf_bufferSize, X, int fill, int64_t n, int type, const void *a, int64_t lda,
       SIZES) {
    (void)options, (void)fill, (void)n, (void)type, (void)a, (void)lda, (void)compute;
    return bytes(h, device, host);
}
EXPORT(cusolverDnXpotrf, X, int fill, int64_t n, int type, void *a, int64_t lda, TAIL) {
    UNUSED_TAIL;
    FITS(type, n, lda, 0, 0);
    return SUBMIT(SOLVER_POTRF, type_letter(type), .letters = {PART(fill)},
                  .a = square(a, (int)n, (int)lda), .info = info);
}
EXPORT(cusolverDnXpotrs, X, int fill, int64_t n, int64_t count, int type, const void *a,
       int64_t lda, int type_b, void *b, int64_t ldb, int *info) {
    (void)options, (void)type_b;
    FITS(type, n, lda, count, ldb);
    return SUBMIT(SOLVER_POTRS, type_letter(type), .letters = {PART(fill)},
                  .a = square(a, (int)n, (int)lda), .b = whole(b, (int)n, (int)count, (int)ldb),
                  .info = info);
}
EXPORT(cusolverDnXtrtri_bufferSize, SolverHandle *h, int fill, int diag, int64_t n, int type,
       void *a, int64_t lda, size_t *device, size_t *host) {
    (void)fill, (void)diag, (void)n, (void)type, (void)a, (void)lda;
    return bytes(h, device, host);
}
EXPORT(cusolverDnXtrtri, SolverHandle *h, int fill, int diag, int64_t n, int type, void *a,
       int64_t lda, void *device, size_t device_bytes, void *host, size_t host_bytes, int *info) {
    (void)device, (void)device_bytes, (void)host, (void)host_bytes;
    FITS(type, n, lda, 0, 0);
    return SUBMIT(SOLVER_TRTRI, type_letter(type), .letters = {PART(fill), DIAG(diag)},
                  .a = square(a, (int)n, (int)lda), .info = info);
}
EXPORT(cusolverDnXgetrf_bufferSize, X, int64_t m, int64_t n, int type, const void *a, int64_t lda,
       SIZES) {
    (void)options, (void)m, (void)n, (void)type, (void)a, (void)lda, (void)compute;
    return bytes(h, device, host);
}
EXPORT(cusolverDnXgetrf, X, int64_t m, int64_t n, int type, void *a, int64_t lda, int64_t *pivots,
       TAIL) {
    UNUSED_TAIL;
    FITS(type, m, n, lda, 0);
    return SUBMIT(SOLVER_GETRF, type_letter(type), .a = whole(a, (int)m, (int)n, (int)lda),
                  .pivots = pivots, .wide_pivots = true, .info = info);
}
EXPORT(cusolverDnXgetrs, X, int op, int64_t n, int64_t count, int type, const void *a, int64_t lda,
       const int64_t *pivots, int type_b, void *b, int64_t ldb, int *info) {
    (void)options, (void)type_b;
    FITS(type, n, lda, count, ldb);
    return SUBMIT(SOLVER_GETRS, type_letter(type), .letters = {OP(op)},
                  .a = square(a, (int)n, (int)lda), .b = whole(b, (int)n, (int)count, (int)ldb),
                  .pivots = pivots, .wide_pivots = true, .info = info);
}
EXPORT(cusolverDnXgeqrf_bufferSize, X, int64_t m, int64_t n, int type, const void *a, int64_t lda,
       int type_tau, const void *tau, SIZES) {
    (void)options, (void)m, (void)n, (void)type, (void)a, (void)lda, (void)type_tau, (void)tau;
    (void)compute;
    return bytes(h, device, host);
}
EXPORT(cusolverDnXgeqrf, X, int64_t m, int64_t n, int type, void *a, int64_t lda, int type_tau,
       void *tau, TAIL) {
    UNUSED_TAIL, (void)type_tau;
    FITS(type, m, n, lda, 0);
    return SUBMIT(SOLVER_GEQRF, type_letter(type), .a = whole(a, (int)m, (int)n, (int)lda),
                  .values = tau, .info = info);
}
EXPORT(cusolverDnXsyevd_bufferSize, X, int job, int fill, int64_t n, int type, const void *a,
       int64_t lda, int type_w, const void *w, SIZES) {
    (void)options, (void)job, (void)fill, (void)n, (void)type, (void)a, (void)lda, (void)type_w;
    (void)w, (void)compute;
    return bytes(h, device, host);
}
EXPORT(cusolverDnXsyevd, X, int job, int fill, int64_t n, int type, void *a, int64_t lda,
       int type_w, void *w, TAIL) {
    UNUSED_TAIL, (void)type_w;
    FITS(type, n, lda, 0, 0);
    return SUBMIT(SOLVER_SYEVD, type_letter(type), .letters = {JOB(job), PART(fill)},
                  .a = square(a, (int)n, (int)lda), .values = w, .info = info);
}
EXPORT(cusolverDnXgesvd_bufferSize, X, signed char job_u, signed char job_v, int64_t m, int64_t n,
       int type, const void *a, int64_t lda, int type_s, const void *s, int type_u, const void *u,
       int64_t ldu, int type_v, const void *v, int64_t ldv, SIZES) {
    (void)options, (void)job_u, (void)job_v, (void)m, (void)n, (void)type, (void)a, (void)lda;
    (void)type_s, (void)s, (void)type_u, (void)u, (void)ldu, (void)type_v, (void)v, (void)ldv;
    (void)compute;
    return bytes(h, device, host);
}
EXPORT(cusolverDnXgesvd, X, signed char job_u, signed char job_v, int64_t m, int64_t n, int type,
       void *a, int64_t lda, int type_s, void *s, int type_u, void *u, int64_t ldu, int type_v,
       void *v, int64_t ldv, TAIL) {
    UNUSED_TAIL, (void)type_s, (void)type_u, (void)type_v;
    FITS(type, m, n, lda, ldu > ldv ? ldu : ldv);
    return singular(h, __func__, type_letter(type), job_of(job_u), job_of(job_v), (int)m, (int)n,
                    a, (int)lda, s, u, (int)ldu, v, (int)ldv, info);
}
