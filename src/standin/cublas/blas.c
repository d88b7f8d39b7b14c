/* blas.c - finds BLAS and runs calls of it on the device's memory. See blas.h. */
#include "standin/cublas/blas.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "standin/shared/fortran.h"

/* --- the library --- */

void *blas_routine(const char *name) {
    static const char *const names[] = {"libopenblas.so.0", "libblis.so.4", "libblas.so.3", NULL};
    static void *library;
    if (library == NULL) library = fortran_open(names);
    void *routine = library ? dlsym(library, name) : NULL;
    if (routine == NULL)
        gilua_work_missing("cuBLAS is computed by a BLAS of this machine, and there is none: "
                           "install libopenblas0 or libblas3");
    return routine;
}

const char *blas_status(int status) {
    switch (status) {
    case BLAS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case BLAS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case BLAS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case BLAS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case BLAS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

char blas_op(int op) {
    return op >= 0 && op < 3 ? "NTC"[op] : 0;
}

char blas_part(int fill) {
    return fill == 0 ? 'L' : fill == 1 ? 'U' : 0;
}

char blas_diag(int diag) {
    return diag == 0 ? 'N' : diag == 1 ? 'U' : 0;
}

char blas_side(int side) {
    return side == 0 ? 'L' : side == 1 ? 'R' : 0;
}

/* --- arguments --- */

bool blas_scalar(const void *at, size_t bytes, bool on_device, void *out) {
    const void *from = on_device ? gilua_work_memory(at, bytes, bytes, 1, WORK_READS) : at;
    if (from && from != out) memcpy(out, from, bytes);
    return from != NULL;
}

static size_t step_of(const BlasArg *a) {
    return (size_t)abs(a->value) * a->element;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

/* The elements of a column that count: from the first to before the end. */
static void column(const BlasArg *a, int j, int *first, int *end) {
    if (a->part == 'B') {
        *first = j < a->above ? a->above - j : 0;
        *end = least(a->rows, j + a->below + 1) - j + a->above;
    } else {
        *first = a->part == 'U' ? 0 : j;
        *end = a->part == 'U' ? j + 1 : a->rows;
    }
}

static void *columns(const BlasArg *a, WorkAccess access) {
    uint8_t *base = NULL;
    for (int j = 0; j < a->columns; j++) {
        int first, end;
        column(a, j, &first, &end);
        const uint8_t *at = (const uint8_t *)a->at + (size_t)j * step_of(a);
        size_t before = (size_t)first * a->element;
        size_t width = end > first ? (size_t)(end - first) * a->element : 0;
        uint8_t *p = gilua_work_memory(at + before, width, 0, 1, access);
        if (p == NULL) return NULL;
        if (j == 0) base = p - before;
    }
    return base;
}

static void *memory(const BlasArg *a, bool is_read) {
    static uint8_t nothing;
    WorkAccess access = is_read ? a->access : WORK_WRITES;
    if (a->columns == 0 || (a->kind == BLAS_MATRIX && a->rows == 0)) return &nothing;
    if (a->part) return columns(a, access);
    size_t width = a->kind == BLAS_VECTOR ? a->element : (size_t)a->rows * a->element;
    return gilua_work_memory(a->at, width, step_of(a), (size_t)a->columns, access);
}

static bool is_zero(const double *scalar, size_t bytes) {
    static const double zero[2];
    return memcmp(scalar, zero, bytes) == 0;
}

/* Where the routine finds an argument in the host's memory; NULL. */
static void *place_of(BlasArg *a, char *letter, bool on_device, bool reads_result) {
    switch (a->kind) {
    case BLAS_LETTER: *letter = (char)a->value; return letter;
    case BLAS_SCALAR:
        return blas_scalar(a->at, a->element, on_device, a->scalar) ? a->scalar : NULL;
    case BLAS_UPDATED:
        if (!on_device) return (void *)(uintptr_t)a->at;
        return gilua_work_memory(a->at, a->element, 0, 1, WORK_UPDATES);
    case BLAS_VECTOR: case BLAS_MATRIX: return memory(a, reads_result || a->access == WORK_READS);
    default: return &a->value;
    }
}

/* --- running --- */

typedef uintptr_t Word;
#define FOUR  Word, Word, Word, Word
#define WORDS FOUR, FOUR, FOUR, FOUR
#define PART(p, i) p[i], p[i + 1], p[i + 2], p[i + 3]
#define ALL(p) PART(p, 0), PART(p, 4), PART(p, 8), PART(p, 12)

/* Fortran takes every argument by its address, and the lengths of letters behind them all. */
static void run_routine(const BlasCall *c, const Word *p, void *result) {
    void *f = blas_routine(c->routine);
    switch (c->gives) {
    case 's': *(float *)result = ((float (*)(WORDS))f)(ALL(p)); break;
    case 'd': *(double *)result = ((double (*)(WORDS))f)(ALL(p)); break;
    case 'c': *(float complex *)result = ((float complex (*)(WORDS))f)(ALL(p)); break;
    case 'z': *(double complex *)result = ((double complex (*)(WORDS))f)(ALL(p)); break;
    case 'i': *(int *)result = ((int (*)(WORDS))f)(ALL(p)); break;
    default: ((void (*)(WORDS))f)(ALL(p));
    }
}

static size_t result_bytes(char gives) {
    return gives == 'z' ? 16 : gives == 's' || gives == 'i' ? 4 : 8;
}

typedef struct Submitted {
    BlasCall call;
    bool scalars_on_device;
} Submitted;

static bool take_result(const Submitted *s, const double *value) {
    size_t bytes = result_bytes(s->call.gives);
    void *to = s->scalars_on_device
                   ? gilua_work_memory(s->call.result, bytes, bytes, 1, WORK_WRITES)
                   : s->call.result;
    if (to) memcpy(to, value, bytes);
    return to != NULL;
}

static bool run(const void *args) {
    Submitted s = *(const Submitted *)args;
    char letters[BLAS_ARGS];
    Word p[16];
    double result[2];
    bool reads_result = true;
    for (int i = 0; i < 16; i++) p[i] = 1; /* the lengths of letters */
    for (int i = 0; i < s.call.n; i++) {
        BlasArg *a = &s.call.args[i];
        if (a->kind == BLAS_SCALAR && !s.scalars_on_device) a->at = a->scalar;
        void *at = place_of(a, &letters[i], s.scalars_on_device, reads_result);
        if (at == NULL) return false;
        if (a->is_beta) reads_result = !is_zero(a->scalar, a->element);
        p[i] = (Word)at;
    }
    run_routine(&s.call, p, result);
    return s.call.gives == 0 || take_result(&s, result);
}

/* --- submitting --- */

static bool is_valid(const BlasArg *a) {
    switch (a->kind) {
    case BLAS_LETTER: return a->value != 0;
    case BLAS_COUNT: return a->value >= 0;
    case BLAS_STEP: return a->value != 0;
    case BLAS_SCALAR: case BLAS_UPDATED: return a->at != NULL;
    case BLAS_VECTOR: return true;
    case BLAS_MATRIX:
        return a->value >= 1 && a->value >= (a->part == 'B' ? a->below + a->above + 1 : a->rows);
    }
    return false;
}

BlasStatus blas_call(const BlasHandle *h, const BlasCall *call) {
    if (h == NULL || blas_routine(call->routine) == NULL) return BLAS_NOT_INITIALIZED;
    Submitted s = {*call, h->scalars_on_device};
    bool is_valid_call = true, waits = call->gives != 0;
    for (int i = 0; i < s.call.n; i++) {
        BlasArg *a = &s.call.args[i];
        is_valid_call = is_valid_call && is_valid(a);
        waits |= a->kind == BLAS_UPDATED;
        if (a->kind == BLAS_SCALAR && is_valid_call && !s.scalars_on_device)
            memcpy(a->scalar, a->at, a->element);
    }
    if (!is_valid_call || (call->gives && call->result == NULL)) return BLAS_INVALID_VALUE;
    return blas_work(h, &(Work){.name = call->name,
                                .run = run,
                                .args = &s,
                                .size = sizeof s,
                                .operations = call->operations,
                                .is_double = call->is_double,
                                .waits = waits && !h->scalars_on_device});
}

BlasStatus blas_work(const BlasHandle *h, const Work *w) {
    return gilua_work(h->stream, w) == 0 ? BLAS_SUCCESS : BLAS_EXECUTION_FAILED;
}
