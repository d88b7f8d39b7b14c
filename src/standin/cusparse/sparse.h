/* sparse.h - the descriptors of cuSPARSE's generic API, and calls on what they describe.
**
** A call keeps copies of its descriptors and runs when its stream comes to it. It reads a sparse
** matrix as a list of entries (row, column, value), whatever its format, and computes in complex
** doubles by plain loops; each result is rounded once, to its type.
*/
#ifndef GILUA_STANDIN_SPARSE_H
#define GILUA_STANDIN_SPARSE_H

#include <stdint.h>

#include "standin/shared/number.h"
#include "standin/shared/standin.h"

typedef enum SparseStatus { /* cusparseStatus_t */
    SPARSE_SUCCESS = 0,
    SPARSE_NOT_INITIALIZED = 1,
    SPARSE_ALLOC_FAILED = 2,
    SPARSE_INVALID_VALUE = 3,
    SPARSE_EXECUTION_FAILED = 6,
    SPARSE_NOT_SUPPORTED = 10
} SparseStatus;

typedef enum SparseFormat { SPARSE_CSR = 1, SPARSE_CSC = 2, SPARSE_COO = 3 } SparseFormat;
typedef enum SparseIndex { SPARSE_16U = 1, SPARSE_32I = 2, SPARSE_64I = 3 } SparseIndex;
enum { SPARSE_BY_COLUMNS = 1, SPARSE_BY_ROWS = 2 }; /* cusparseOrder_t */

typedef struct SparseHandle { /* cusparseHandle_t */
    void *stream;
    int scalars_on_device;
} SparseHandle;

typedef struct SparseVector {
    int64_t size, nnz;
    void *indices, *values;
    SparseIndex index;
    int base;
    NumberType type;
} SparseVector;

typedef struct DenseVector {
    int64_t size;
    void *values;
    NumberType type;
} DenseVector;

typedef struct SparseMatrix {
    SparseFormat format;
    int64_t rows, columns, nnz;
    void *major;  /* CSR: offsets of rows; CSC: of columns; COO: rows of entries */
    void *minor;  /* CSR, COO: columns of entries; CSC: their rows */
    void *values;
    SparseIndex major_index, minor_index;
    int base;
    NumberType type;
    int fill, diag;       /* cusparseFillMode_t, cusparseDiagType_t */
    int batch;            /* matrices, 0 as 1 */
    int64_t major_stride, entry_stride;
} SparseMatrix;

typedef struct DenseMatrix {
    int64_t rows, columns, ld;
    void *values;
    NumberType type;
    int order;
    int batch;
    int64_t stride;
} DenseMatrix;

typedef struct SparseOld { /* cusparseMatDescr_t, of the functions before the generic API */
    int type, fill, diag, base;
} SparseOld;

typedef struct SparseProduct SparseProduct; /* what cusparseSpGEMM_compute keeps for its copy */

typedef struct SparseCall {
    bool scalars_on_device;
    int op_a, op_b;
    NumberType compute;
    const void *alpha_at, *beta_at;
    double complex alpha, beta;
    SparseMatrix a, b, c;     /* sparse ones */
    DenseMatrix x, y;         /* dense ones; a vector is one column */
    SparseVector v;
    void *result;
    SparseMatrix *found;      /* descriptor whose count of entries is found */
    SparseProduct *product;
} SparseCall;

typedef struct SparseEntries {
    int64_t n, *row, *column;
    double complex *value;
} SparseEntries;

DenseMatrix sparse_column(const DenseVector *v);

/* Submits a call, which the host waits for where it finds how many entries a descriptor has. */
SparseStatus sparse_submit(SparseHandle *h, const char *name, WorkFn run, SparseCall *call,
                           double operations);
/* The same of a call with scalars (beta NULL: none), which must be there. */
SparseStatus sparse_submit_scaled(SparseHandle *h, const char *name, WorkFn run, SparseCall *call,
                                  const void *alpha, const void *beta, double operations);
/* Of a call that runs: its scalars. */
bool sparse_scalars(SparseCall *call);

/* Of a call that runs: the entries of a matrix, or of its transpose (op); 0 where it has no values.
** False: a finding, or no memory. sparse_free frees them either way. */
bool sparse_read(const SparseMatrix *m, int batch, int op, SparseEntries *out);
void sparse_free(SparseEntries *e);
/* Sorts entries by row, then column; equal ones keep their order. */
bool sparse_sort(SparseEntries *e, int64_t rows, int64_t columns);
/* Returns where each row of sorted entries begins, rows + 1 numbers; NULL: no memory. */
int64_t *sparse_offsets(const SparseEntries *e, int64_t rows);

/* The values of a matrix in the host's memory. */
void *sparse_values(const SparseMatrix *m, int batch, WorkAccess how);
/* Reads or writes n indices on the device, without their base. */
bool sparse_indices(const void *at, SparseIndex type, int base, int64_t n, int64_t *out);
bool sparse_put_indices(void *at, SparseIndex type, int base, int64_t n, const int64_t *in);
/* Tells of an index that lies outside. */
bool sparse_check(const int64_t *index, int64_t n, int64_t end, const char *what);

/* A dense matrix in the host's memory, and where an element lies in it. */
void *dense_values(const DenseMatrix *m, int batch, WorkAccess how);
size_t dense_place(const DenseMatrix *m, int op, int64_t i, int64_t j);
double complex dense_get(const DenseMatrix *m, const void *at, int op, int64_t i, int64_t j);

#endif
