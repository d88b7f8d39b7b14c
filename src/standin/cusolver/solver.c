/* solver.c - calls of LAPACK. See solver.h. */
#include "standin/cusolver/solver.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin/shared/fortran.h"
#include "standin/shared/number.h"

/* --- LAPACK --- */

/* real, complex: the routine's names without the letter of its type. */
static void *routine(char type, const char *real, const char *complex_) {
    static const char *const names[] = {"libopenblas.so.0", "liblapack.so.3", NULL};
    static void *library;
    char name[16];
    if (library == NULL) library = fortran_open(names);
    snprintf(name, sizeof name, "%c%s_", type, type == 's' || type == 'd' ? real : complex_);
    void *found = library ? dlsym(library, name) : NULL;
    if (found == NULL)
        gilua_work_missing("cuSOLVER is computed by a LAPACK of this machine, and there is none: "
                           "install libopenblas0 or liblapack3");
    return found;
}

bool solver_is_there(void) {
    return routine('d', "potrf", "potrf") != NULL;
}

static NumberType type_of(char type) {
    switch (type) {
    case 's': return NUMBER_R_32F;
    case 'd': return NUMBER_R_64F;
    case 'c': return NUMBER_C_32F;
    default: return NUMBER_C_64F;
    }
}

static size_t element(const Solver *s) {
    return number_bytes(type_of(s->type));
}

static bool is_complex(const Solver *s) {
    return number_is_complex(type_of(s->type));
}

static size_t real_bytes(const Solver *s) {
    return is_complex(s) ? element(s) / 2 : element(s);
}

/* LAPACK wants an address that is there, and a step of 1, of what is empty. */
#define REF(x) (FortranWord)&(x)
#define AT(p)  (FortranWord)(p)
#define CALL(f, ...)                                                                     \
    fortran_call(f, (FortranWord[]){__VA_ARGS__},                                        \
                 (int)(sizeof((FortranWord[]){__VA_ARGS__}) / sizeof(FortranWord)))

/* --- memory --- */

/* Columns of a triangle ('L', 'U'), or whole ones (0). */
static void *matrix(const Solver *s, const SolverMatrix *m, char part, WorkAccess how) {
    size_t size = element(s), pitch = (size_t)m->ld * size;
    if (part == 0)
        return gilua_work_memory(m->at, (size_t)m->rows * size, pitch, (size_t)m->columns, how);
    static uint8_t nothing;
    uint8_t *base = m->columns ? NULL : &nothing;
    for (int j = 0; j < m->columns; j++) {
        size_t first = part == 'U' ? 0 : (size_t)j * size;
        size_t end = part == 'U' ? (size_t)(j + 1) * size : (size_t)m->rows * size;
        const uint8_t *at = (const uint8_t *)m->at + (size_t)j * pitch + first;
        uint8_t *p = gilua_work_memory(at, end - first, 0, 1, how);
        if (p == NULL) return NULL;
        if (j == 0) base = p - first;
    }
    return base;
}

static void *vector(const void *at, size_t n, size_t size, WorkAccess how) {
    return gilua_work_memory(at, n * size, 0, 1, how);
}

static int least(int a, int b) {
    return a < b ? a : b;
}

/* --- the tasks: each runs on the memory of its matrices and sets LAPACK's info --- */

static bool cholesky(const Solver *s, int *info) {
    char part = s->letters[0];
    void *f = routine(s->type, "potrf", "potrf"), *a = matrix(s, &s->a, part, WORK_UPDATES);
    if (f && a) CALL(f, REF(part), REF(s->a.rows), AT(a), REF(s->a.ld), REF(*info));
    return f && a;
}

static bool cholesky_inverse(const Solver *s, int *info) {
    char part = s->letters[0];
    void *f = routine(s->type, "potri", "potri"), *a = matrix(s, &s->a, part, WORK_UPDATES);
    if (f && a) CALL(f, REF(part), REF(s->a.rows), AT(a), REF(s->a.ld), REF(*info));
    return f && a;
}

static bool triangle_inverse(const Solver *s, int *info) {
    char part = s->letters[0];
    void *f = routine(s->type, "trtri", "trtri"), *a = matrix(s, &s->a, part, WORK_UPDATES);
    if (f && a)
        CALL(f, REF(part), REF(s->letters[1]), REF(s->a.rows), AT(a), REF(s->a.ld), REF(*info));
    return f && a;
}

static bool cholesky_solve(const Solver *s, int *info) {
    char part = s->letters[0];
    void *f = routine(s->type, "potrs", "potrs"), *a = matrix(s, &s->a, part, WORK_READS);
    void *b = a ? matrix(s, &s->b, 0, WORK_UPDATES) : NULL;
    if (f && b)
        CALL(f, REF(part), REF(s->a.rows), REF(s->b.columns), AT(a), REF(s->a.ld), AT(b),
             REF(s->b.ld), REF(*info));
    return f && b;
}

/* Without exchanges of rows: Gauss's elimination, column by column. */
static void plain_lu(const Solver *s, void *a, int *info) {
    NumberType t = type_of(s->type);
    size_t ld = (size_t)s->a.ld, rows = (size_t)s->a.rows, columns = (size_t)s->a.columns;
    for (size_t k = 0; k < rows && k < columns; k++) {
        double complex pivot = number_get(t, a, k * ld + k);
        if (pivot == 0 && *info == 0) *info = (int)k + 1;
        if (pivot == 0) continue;
        for (size_t i = k + 1; i < rows; i++) {
            double complex factor = number_get(t, a, k * ld + i) / pivot;
            number_put(t, a, k * ld + i, factor);
            for (size_t j = k + 1; j < columns; j++)
                number_put(t, a, j * ld + i, number_get(t, a, j * ld + i) -
                                                 factor * number_get(t, a, j * ld + k));
        }
    }
}

/* Reads (to_device false) or writes n pivots, 32 or 64 bits wide. */
static bool pivots(const Solver *s, int *own, int n, bool to_device) {
    size_t size = s->wide_pivots ? 8 : 4;
    void *p = vector(s->pivots, (size_t)n, size, to_device ? WORK_WRITES : WORK_READS);
    for (int i = 0; p && i < n; i++) {
        int64_t *wide = (int64_t *)p + i;
        int32_t *narrow = (int32_t *)p + i;
        if (!to_device) own[i] = s->wide_pivots ? (int)*wide : *narrow;
        else if (s->wide_pivots) *wide = own[i];
        else *narrow = own[i];
    }
    return p != NULL;
}

static bool lu(const Solver *s, int *info) {
    int n = least(s->a.rows, s->a.columns), *own = malloc(((size_t)n + 1) * sizeof *own);
    void *f = routine(s->type, "getrf", "getrf");
    void *a = own ? matrix(s, &s->a, 0, WORK_UPDATES) : NULL;
    bool ok = f && a;
    if (ok && s->pivots == NULL) {
        plain_lu(s, a, info);
    } else if (ok) {
        CALL(f, REF(s->a.rows), REF(s->a.columns), AT(a), REF(s->a.ld), AT(own), REF(*info));
        ok = pivots(s, own, n, true);
    }
    free(own);
    return ok;
}

static bool lu_solve(const Solver *s, int *info) {
    int n = s->a.rows, *own = malloc(((size_t)n + 1) * sizeof *own);
    void *f = routine(s->type, "getrs", "getrs");
    void *a = own ? matrix(s, &s->a, 0, WORK_READS) : NULL;
    void *b = a ? matrix(s, &s->b, 0, WORK_UPDATES) : NULL;
    bool ok = f && b && (s->pivots == NULL || pivots(s, own, n, false));
    for (int i = 0; ok && i < n; i++) {
        if (s->pivots == NULL) own[i] = i + 1;
        ok = own[i] >= 1 && own[i] <= n;
        if (!ok) gilua_work_wrong("pivot %d is %d, and there are %d rows", i + 1, own[i], n);
    }
    if (ok)
        CALL(f, REF(s->letters[0]), REF(n), REF(s->b.columns), AT(a), REF(s->a.ld), AT(own), AT(b),
             REF(s->b.ld), REF(*info));
    free(own);
    return ok;
}

/* LAPACK's workspace, of so many elements. */
static void *workspace(const Solver *s, size_t n) {
    return malloc((n + 1) * element(s));
}

enum { BLOCK = 64 }; /* columns that LAPACK may take at once */

static bool qr(const Solver *s, int *info) {
    int size = (s->a.columns + 1) * BLOCK;
    void *work = workspace(s, (size_t)size), *f = routine(s->type, "geqrf", "geqrf");
    void *a = work ? matrix(s, &s->a, 0, WORK_UPDATES) : NULL;
    size_t n = (size_t)least(s->a.rows, s->a.columns);
    void *tau = a ? vector(s->values, n, element(s), WORK_WRITES) : NULL;
    if (f && tau)
        CALL(f, REF(s->a.rows), REF(s->a.columns), AT(a), REF(s->a.ld), AT(tau), AT(work),
             REF(size), REF(*info));
    free(work);
    return f && tau;
}

static bool qr_matrix(const Solver *s, int *info) {
    int size = (s->a.columns + 1) * BLOCK;
    void *work = workspace(s, (size_t)size), *f = routine(s->type, "orgqr", "ungqr");
    SolverMatrix read = s->a;
    read.columns = s->inner;
    void *a = work && matrix(s, &read, 0, WORK_READS) ? matrix(s, &s->a, 0, WORK_WRITES) : NULL;
    void *tau = a ? vector(s->values, (size_t)s->inner, element(s), WORK_READS) : NULL;
    if (f && tau)
        CALL(f, REF(s->a.rows), REF(s->a.columns), REF(s->inner), AT(a), REF(s->a.ld), AT(tau),
             AT(work), REF(size), REF(*info));
    free(work);
    return f && tau;
}

static bool qr_product(const Solver *s, int *info) {
    int size = (s->b.rows + s->b.columns + 1) * BLOCK * 2;
    void *work = workspace(s, (size_t)size), *f = routine(s->type, "ormqr", "unmqr");
    void *a = work ? matrix(s, &s->a, 0, WORK_READS) : NULL;
    void *tau = a ? vector(s->values, (size_t)s->inner, element(s), WORK_READS) : NULL;
    void *b = tau ? matrix(s, &s->b, 0, WORK_UPDATES) : NULL;
    if (f && b)
        CALL(f, REF(s->letters[0]), REF(s->letters[1]), REF(s->b.rows), REF(s->b.columns),
             REF(s->inner), AT(a), REF(s->a.ld), AT(tau), AT(b), REF(s->b.ld), AT(work),
             REF(size), REF(*info));
    free(work);
    return f && b;
}

/* syevd, and sygvd where b is there: letters are job and part. */
static bool eigenvalues(const Solver *s, int *info) {
    bool general = s->task == SOLVER_SYGVD;
    int n = s->a.rows, size = 1 + 6 * n + 2 * n * n, real_size = 1 + 5 * n + 2 * n * n,
        whole_size = 3 + 5 * n;
    void *f = general ? routine(s->type, "sygvd", "hegvd") : routine(s->type, "syevd", "heevd");
    void *work = workspace(s, (size_t)size);
    void *real = malloc((size_t)real_size * real_bytes(s));
    int *whole = malloc((size_t)whole_size * sizeof *whole);
    bool ok = f && work && real && whole && matrix(s, &s->a, s->letters[1], WORK_READS);
    void *a = ok ? matrix(s, &s->a, s->letters[0] == 'V' ? 0 : s->letters[1], WORK_WRITES) : NULL;
    void *b = a && general ? matrix(s, &s->b, s->letters[1], WORK_UPDATES) : a;
    void *w = b ? vector(s->values, (size_t)n, real_bytes(s), WORK_WRITES) : NULL;
    FortranWord p[FORTRAN_ARGS];
    int k = 0;
    if (general) p[k++] = REF(s->kind);
    p[k++] = REF(s->letters[0]), p[k++] = REF(s->letters[1]), p[k++] = REF(n);
    p[k++] = AT(a), p[k++] = REF(s->a.ld);
    if (general) p[k++] = AT(b), p[k++] = REF(s->b.ld);
    p[k++] = AT(w), p[k++] = AT(work), p[k++] = REF(size);
    if (is_complex(s)) p[k++] = AT(real), p[k++] = REF(real_size);
    p[k++] = AT(whole), p[k++] = REF(whole_size), p[k++] = AT(info);
    if (w) fortran_call(f, p, k);
    free(work), free(real), free(whole);
    return w != NULL;
}

/* Conjugates and transposes the rows of v out of an own copy. */
static void turn(const Solver *s, const void *rows, int ld, void *v) {
    NumberType t = type_of(s->type);
    for (int j = 0; j < s->v.columns; j++)
        for (int i = 0; i < s->v.rows; i++)
            number_put(t, v, (size_t)j * (size_t)s->v.ld + (size_t)i,
                       conj(number_get(t, rows, (size_t)i * (size_t)ld + (size_t)j)));
}

/* letters are the jobs of u and v. */
static bool singular_values(const Solver *s, int *info) {
    bool turned = s->task == SOLVER_GESVDJ;
    int m = s->a.rows, n = s->a.columns, few = least(m, n), size = (5 * (m + n) + 1) * BLOCK;
    int own_ld = s->v.columns > 0 ? s->v.columns : 1, ldv = turned ? own_ld : s->v.ld;
    void *f = routine(s->type, "gesvd", "gesvd"), *work = workspace(s, (size_t)size);
    void *real = malloc((size_t)(5 * few + 1) * real_bytes(s));
    void *own = workspace(s, turned ? (size_t)own_ld * (size_t)s->v.rows : 0);
    void *a = f && work && real && own ? matrix(s, &s->a, 0, WORK_UPDATES) : NULL;
    void *w = a ? vector(s->values, (size_t)few, real_bytes(s), WORK_WRITES) : NULL;
    void *u = w ? matrix(s, &s->u, 0, WORK_WRITES) : NULL;
    void *v = u ? matrix(s, &s->v, 0, WORK_WRITES) : NULL;
    int ldu = s->u.ld > 0 ? s->u.ld : 1;
    if (ldv < 1) ldv = 1;
    FortranWord p[FORTRAN_ARGS] = {REF(s->letters[0]), REF(s->letters[1]), REF(m), REF(n), AT(a),
                                   REF(s->a.ld), AT(w), AT(u), REF(ldu), AT(turned ? own : v),
                                   REF(ldv), AT(work), REF(size)};
    int k = 13;
    if (is_complex(s)) p[k++] = AT(real);
    p[k++] = AT(info);
    if (v) fortran_call(f, p, k);
    if (v && turned && s->letters[1] != 'N') turn(s, own, own_ld, v);
    free(work), free(real), free(own);
    return v != NULL;
}

static bool run_one(const Solver *s, int *info) {
    switch (s->task) {
    case SOLVER_POTRF: return cholesky(s, info);
    case SOLVER_POTRS: return cholesky_solve(s, info);
    case SOLVER_POTRI: return cholesky_inverse(s, info);
    case SOLVER_TRTRI: return triangle_inverse(s, info);
    case SOLVER_GETRF: return lu(s, info);
    case SOLVER_GETRS: return lu_solve(s, info);
    case SOLVER_GEQRF: return qr(s, info);
    case SOLVER_ORGQR: return qr_matrix(s, info);
    case SOLVER_ORMQR: return qr_product(s, info);
    case SOLVER_SYEVD: case SOLVER_SYGVD: return eigenvalues(s, info);
    case SOLVER_GESVD: case SOLVER_GESVDJ: return singular_values(s, info);
    }
    return false;
}

/* --- running --- */

static bool run(const void *args) {
    Solver s = *(const Solver *)args;
    int count = s.count ? s.count : 1;
    size_t pointers = (size_t)s.count * sizeof(void *);
    const void *const *as = s.count ? gilua_work_memory(s.a.at, pointers, 0, 1, WORK_READS) : NULL;
    const void *const *bs =
        s.count && s.b.at ? gilua_work_memory(s.b.at, pointers, 0, 1, WORK_READS) : NULL;
    bool ok = s.count == 0 || (as && (bs || s.b.at == NULL));
    int *info = calloc((size_t)count, sizeof *info);
    for (int i = 0; ok && info && i < count; i++) {
        if (as) s.a.at = as[i];
        if (bs) s.b.at = bs[i];
        ok = run_one(&s, &info[i]);
    }
    size_t bytes = (size_t)(s.task == SOLVER_POTRS ? 1 : count) * sizeof *info;
    void *out = ok && info && s.info ? gilua_work_memory(s.info, bytes, 0, 1, WORK_WRITES) : NULL;
    if (out) memcpy(out, info, bytes);
    free(info);
    return ok && (out || s.info == NULL);
}

static double operations(const Solver *s) {
    double m = s->a.rows, n = s->a.columns, k = s->b.columns;
    switch (s->task) {
    case SOLVER_POTRF: return n * n * n / 3;
    case SOLVER_POTRS: case SOLVER_GETRS: return 2 * n * n * k;
    case SOLVER_GETRF: case SOLVER_POTRI: case SOLVER_TRTRI: return 2.0 / 3 * m * n * n;
    case SOLVER_GEQRF: case SOLVER_ORGQR: return 2 * m * n * n;
    case SOLVER_ORMQR: return 4 * (double)s->b.rows * k * s->inner;
    default: return 9 * m * n * n;
    }
}

static bool is_matrix(const SolverMatrix *m) {
    int ld = m->rows > 1 ? m->rows : 1;
    return m->rows >= 0 && m->columns >= 0 && (m->at == NULL || m->ld >= ld);
}

SolverStatus solver_submit(SolverHandle *h, const Solver *s) {
    if (h == NULL || !solver_is_there()) return SOLVER_NOT_INITIALIZED;
    bool ok = is_matrix(&s->a) && is_matrix(&s->b) && is_matrix(&s->u) && is_matrix(&s->v) &&
              s->a.at && s->count >= 0 && s->letters[0] != '?' && s->letters[1] != '?';
    if (!ok) return SOLVER_INVALID_VALUE;
    Work w = {.name = s->name,
              .run = run,
              .args = s,
              .size = sizeof *s,
              .operations = operations(s) * (s->count ? s->count : 1) * (is_complex(s) ? 4 : 1),
              .is_double = number_is_double(type_of(s->type))};
    return gilua_work(h->stream, &w) == 0 ? SOLVER_SUCCESS : SOLVER_EXECUTION_FAILED;
}
