/* solver.h - factorisations of dense matrices by the machine's LAPACK, on the device's memory.
**
** A call names its matrices on the device; it runs when its stream comes to it, LAPACK in place on
** the memory of the virtual GPU. The workspace that a program hands over is not used. Signs of
** vectors and the last bits are LAPACK's, which need not be those of a GPU.
*/
#ifndef GILUA_STANDIN_SOLVER_H
#define GILUA_STANDIN_SOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "standin/shared/standin.h"

typedef enum SolverStatus { /* cusolverStatus_t */
    SOLVER_SUCCESS = 0,
    SOLVER_NOT_INITIALIZED = 1,
    SOLVER_ALLOC_FAILED = 2,
    SOLVER_INVALID_VALUE = 3,
    SOLVER_EXECUTION_FAILED = 6,
    SOLVER_NOT_SUPPORTED = 9
} SolverStatus;

typedef struct SolverHandle { /* cusolverDnHandle_t */
    void *stream;
    int deterministic;
} SolverHandle;

typedef struct SolverMatrix {
    const void *at;
    int rows, columns, ld;
} SolverMatrix;

typedef enum SolverTask {
    SOLVER_POTRF, /* Cholesky */
    SOLVER_POTRS,
    SOLVER_POTRI,
    SOLVER_TRTRI,
    SOLVER_GETRF, /* LU */
    SOLVER_GETRS,
    SOLVER_GEQRF, /* QR */
    SOLVER_ORGQR,
    SOLVER_ORMQR,
    SOLVER_SYEVD, /* eigenvalues */
    SOLVER_SYGVD,
    SOLVER_GESVD, /* singular values */
    SOLVER_GESVDJ /* the same, V in place of its transpose */
} SolverTask;

typedef struct Solver {
    SolverTask task;
    const char *name;
    char type;            /* 's', 'd', 'c', 'z' */
    char letters[3];      /* LAPACK's, in its order */
    int kind;             /* sygvd's itype */
    int inner;            /* k of orgqr and ormqr */
    SolverMatrix a, b, u, v;
    int count;            /* of matrices: a and b are arrays of pointers; 0: one */
    const void *values;   /* eigenvalues, singular values; tau */
    const void *pivots;   /* NULL: rows are not exchanged */
    bool wide_pivots;     /* 64 bits */
    const void *info;
} Solver;

/* Says why LAPACK cannot be called, once; true where it can. */
bool solver_is_there(void);
SolverStatus solver_submit(SolverHandle *h, const Solver *s);

#endif
