/* convert.c - cuSPARSE's conversions between formats, and sorting. See sparse.h. */
#include <stdlib.h>
#include <string.h>

#include "standin/cusparse/sparse.h"

static SparseStatus no_buffer(const SparseHandle *h, size_t *bytes) {
    if (h == NULL) return SPARSE_NOT_INITIALIZED;
    return bytes ? (*bytes = 8, SPARSE_SUCCESS) : SPARSE_INVALID_VALUE;
}

/* --- sparse to dense --- */

static bool run_to_dense(const void *args) {
    const SparseCall *c = args;
    SparseEntries e;
    bool ok = sparse_read(&c->a, 0, 0, &e);
    void *y = ok ? dense_values(&c->y, 0, WORK_WRITES) : NULL;
    for (int64_t j = 0; y && j < c->y.columns; j++)
        for (int64_t i = 0; i < c->y.rows; i++)
            number_put(c->y.type, y, dense_place(&c->y, 0, i, j), 0);
    for (int64_t k = 0; y && k < e.n; k++)
        number_put(c->y.type, y, dense_place(&c->y, 0, e.row[k], e.column[k]), e.value[k]);
    sparse_free(&e);
    return y != NULL;
}

EXPORT(cusparseSparseToDense_bufferSize, SparseHandle *h, const SparseMatrix *a,
       const DenseMatrix *y, int algorithm, size_t *bytes) {
    (void)a, (void)y, (void)algorithm;
    return no_buffer(h, bytes);
}
EXPORT(cusparseSparseToDense, SparseHandle *h, const SparseMatrix *a, const DenseMatrix *y,
       int algorithm, void *buffer) {
    (void)algorithm, (void)buffer;
    if (!(a && y) || a->values == NULL || a->rows != y->rows || a->columns != y->columns)
        return SPARSE_INVALID_VALUE;
    SparseCall c = {.compute = y->type, .a = *a, .y = *y};
    return sparse_submit(h, __func__, run_to_dense, &c, 0);
}

/* --- dense to sparse --- */

/* Reads what is not 0 of a dense matrix, by rows or by columns as the sparse format has it. */
static bool read_dense(const SparseCall *c, SparseEntries *e) {
    const DenseMatrix *m = &c->x;
    bool by_columns = c->c.format == SPARSE_CSC;
    int64_t lines = by_columns ? m->columns : m->rows, length = by_columns ? m->rows : m->columns;
    size_t most = (size_t)(m->rows * m->columns);
    *e = (SparseEntries){0, calloc(most + 1, sizeof(int64_t)), calloc(most + 1, sizeof(int64_t)),
                         calloc(most + 1, sizeof(double complex))};
    const void *x = e->row && e->column && e->value ? dense_values(m, 0, WORK_READS) : NULL;
    for (int64_t line = 0; x && line < lines; line++)
        for (int64_t k = 0; k < length; k++) {
            int64_t i = by_columns ? k : line, j = by_columns ? line : k;
            double complex z = dense_get(m, x, 0, i, j);
            if (z == 0) continue;
            e->row[e->n] = i, e->column[e->n] = j, e->value[e->n++] = z;
        }
    return x != NULL;
}

/* Writes the offsets (CSR, CSC) or the rows (COO) of entries. */
static bool write_major(const SparseMatrix *m, const SparseEntries *e) {
    if (m->format == SPARSE_COO)
        return sparse_put_indices(m->major, m->major_index, m->base, e->n, e->row);
    bool by_columns = m->format == SPARSE_CSC;
    SparseEntries lines = *e;
    if (by_columns) lines.row = e->column;
    int64_t n = by_columns ? m->columns : m->rows, *offset = sparse_offsets(&lines, n);
    bool ok = offset && sparse_put_indices(m->major, m->major_index, m->base, n + 1, offset);
    free(offset);
    return ok;
}

static bool run_count(const void *args) {
    const SparseCall *c = args;
    SparseEntries e;
    bool ok = read_dense(c, &e);
    if (ok && c->c.format != SPARSE_COO) ok = write_major(&c->c, &e);
    if (ok) c->found->nnz = e.n;
    sparse_free(&e);
    return ok;
}

static bool run_to_sparse(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    SparseEntries e;
    bool ok = read_dense(&c, &e);
    if (ok && e.n != c.c.nnz) {
        gilua_work_wrong("%lld elements are not 0, and the analysis counted %lld", (long long)e.n,
                         (long long)c.c.nnz);
        ok = false;
    }
    const int64_t *minor = c.c.format == SPARSE_CSC ? e.row : e.column;
    ok = ok && write_major(&c.c, &e) &&
         sparse_put_indices(c.c.minor, c.c.minor_index, c.c.base, e.n, minor);
    void *values = ok ? sparse_values(&c.c, 0, WORK_WRITES) : NULL;
    for (int64_t i = 0; values && i < e.n; i++)
        number_put(c.c.type, values, (size_t)i, e.value[i]);
    sparse_free(&e);
    return values != NULL;
}

#define DENSE_TO_SPARSE SparseHandle *h, const DenseMatrix *x, SparseMatrix *m, int algorithm
EXPORT(cusparseDenseToSparse_bufferSize, DENSE_TO_SPARSE, size_t *bytes) {
    (void)x, (void)m, (void)algorithm;
    return no_buffer(h, bytes);
}
EXPORT(cusparseDenseToSparse_analysis, DENSE_TO_SPARSE, void *buffer) {
    (void)algorithm, (void)buffer;
    if (!(x && m) || m->rows != x->rows || m->columns != x->columns) return SPARSE_INVALID_VALUE;
    SparseCall c = {.compute = x->type, .x = *x, .c = *m, .found = m};
    return sparse_submit(h, __func__, run_count, &c, 0);
}
EXPORT(cusparseDenseToSparse_convert, DENSE_TO_SPARSE, void *buffer) {
    (void)algorithm, (void)buffer;
    if (!(x && m) || m->rows != x->rows || m->columns != x->columns) return SPARSE_INVALID_VALUE;
    SparseCall c = {.compute = x->type, .x = *x, .c = *m};
    return sparse_submit(h, __func__, run_to_sparse, &c, 0);
}

/* --- CSR to CSC --- */

/* a by rows; c the same matrix by columns, whose values may be NULL. */
static bool run_to_columns(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    SparseEntries e;
    bool ok = sparse_read(&c.a, 0, 1, &e) && sparse_sort(&e, c.a.columns, c.a.rows);
    int64_t *offset = ok ? sparse_offsets(&e, c.a.columns) : NULL;
    ok = offset &&
         sparse_put_indices(c.c.major, c.c.major_index, c.c.base, c.a.columns + 1, offset) &&
         sparse_put_indices(c.c.minor, c.c.minor_index, c.c.base, e.n, e.column);
    void *values = ok && c.c.values ? sparse_values(&c.c, 0, WORK_WRITES) : NULL;
    for (int64_t i = 0; values && i < e.n; i++)
        number_put(c.c.type, values, (size_t)i, e.value[i]);
    sparse_free(&e), free(offset);
    return ok && (values || c.c.values == NULL);
}

#define CSR_TO_CSC SparseHandle *h, int rows, int columns, int nnz, const void *values,           \
        const int *offsets, const int *indices, void *to_values, int *to_offsets,                 \
        int *to_indices, int type, int copies_values, int base, int algorithm
EXPORT(cusparseCsr2cscEx2_bufferSize, CSR_TO_CSC, size_t *bytes) {
    (void)rows, (void)columns, (void)nnz, (void)values, (void)offsets, (void)indices;
    (void)to_values, (void)to_offsets, (void)to_indices, (void)type, (void)copies_values;
    (void)base, (void)algorithm;
    return no_buffer(h, bytes);
}
EXPORT(cusparseCsr2cscEx2, CSR_TO_CSC, void *buffer) {
    (void)algorithm, (void)buffer;
    if (rows < 0 || columns < 0 || nnz < 0 || number_bytes((NumberType)type) == 0)
        return SPARSE_INVALID_VALUE;
    SparseMatrix a = {.format = SPARSE_CSR, .rows = rows, .columns = columns, .nnz = nnz,
                      .major = (void *)(uintptr_t)offsets, .minor = (void *)(uintptr_t)indices,
                      .values = copies_values ? (void *)(uintptr_t)values : NULL,
                      .major_index = SPARSE_32I, .minor_index = SPARSE_32I, .base = base,
                      .type = (NumberType)type};
    SparseCall c = {.compute = a.type, .a = a, .c = a};
    c.c.format = SPARSE_CSC, c.c.major = to_offsets, c.c.minor = to_indices;
    c.c.values = copies_values ? to_values : NULL;
    return sparse_submit(h, __func__, run_to_columns, &c, 0);
}

/* --- offsets and lines: a holds a CSR's offsets in major, a COO's lines in minor --- */

static bool run_to_lines(const void *args) {
    const SparseMatrix *m = &((const SparseCall *)args)->a;
    SparseMatrix pattern = *m;
    int64_t *line = malloc((size_t)(m->nnz + m->rows + 2) * sizeof *line), *offset = line;
    if (line == NULL) return false;
    offset += m->nnz;
    bool ok = sparse_indices(pattern.major, SPARSE_32I, m->base, m->rows + 1, offset) &&
              sparse_check(offset, m->rows + 1, m->nnz + 1, "entries");
    for (int64_t i = 0; ok && i < m->rows; i++)
        for (int64_t k = offset[i]; k < offset[i + 1]; k++) line[k] = i;
    ok = ok && sparse_put_indices(m->minor, SPARSE_32I, m->base, m->nnz, line);
    free(line);
    return ok;
}

static bool run_to_offsets(const void *args) {
    const SparseMatrix *m = &((const SparseCall *)args)->a;
    SparseEntries e = {.n = m->nnz, .row = malloc((size_t)(m->nnz + 1) * sizeof(int64_t))};
    bool ok = e.row && sparse_indices(m->minor, SPARSE_32I, m->base, m->nnz, e.row) &&
              sparse_check(e.row, m->nnz, m->rows, "rows");
    int64_t *offset = ok ? sparse_offsets(&e, m->rows) : NULL;
    ok = offset && sparse_put_indices(m->major, SPARSE_32I, m->base, m->rows + 1, offset);
    sparse_free(&e), free(offset);
    return ok;
}

EXPORT(cusparseXcsr2coo, SparseHandle *h, const int *offsets, int nnz, int rows, int *lines,
       int base) {
    if (nnz < 0 || rows < 0) return SPARSE_INVALID_VALUE;
    SparseCall c = {.a = {.rows = rows, .nnz = nnz, .major = (void *)(uintptr_t)offsets,
                          .minor = lines, .base = base}};
    return sparse_submit(h, __func__, run_to_lines, &c, 0);
}
EXPORT(cusparseXcoo2csr, SparseHandle *h, const int *lines, int nnz, int rows, int *offsets,
       int base) {
    if (nnz < 0 || rows < 0) return SPARSE_INVALID_VALUE;
    SparseCall c = {.a = {.rows = rows, .nnz = nnz, .major = offsets,
                          .minor = (void *)(uintptr_t)lines, .base = base}};
    return sparse_submit(h, __func__, run_to_offsets, &c, 0);
}

/* --- sorting: what it moves goes along in the permutation --- */

typedef struct Sort {
    SparseMatrix m;   /* COO, or CSR and CSC, whose offsets are read */
    bool by_columns;
    int *permutation; /* on the device; NULL: none */
} Sort;

/* Reads the entries with their permutation as values. */
static bool read_permuted(const Sort *s, SparseEntries *e) {
    size_t bytes = (size_t)s->m.nnz * sizeof(int);
    bool ok = sparse_read(&s->m, 0, s->by_columns, e);
    const int *p = ok && s->permutation
                       ? gilua_work_memory(s->permutation, bytes, bytes, 1, WORK_READS)
                       : NULL;
    for (int64_t i = 0; p && i < e->n; i++) e->value[i] = p[i];
    return ok && (p || s->permutation == NULL);
}

static bool write_permuted(const Sort *s, const SparseEntries *e) {
    const SparseMatrix *m = &s->m;
    const int64_t *row = s->by_columns ? e->column : e->row;
    const int64_t *column = s->by_columns ? e->row : e->column;
    const int64_t *minor = m->format == SPARSE_CSC ? row : column;
    size_t bytes = (size_t)m->nnz * sizeof(int);
    bool ok = sparse_put_indices(m->minor, SPARSE_32I, m->base, e->n, minor);
    if (ok && m->format == SPARSE_COO)
        ok = sparse_put_indices(m->major, SPARSE_32I, m->base, e->n, row);
    int *p = ok && s->permutation
                 ? gilua_work_memory(s->permutation, bytes, bytes, 1, WORK_WRITES)
                 : NULL;
    for (int64_t i = 0; p && i < e->n; i++) p[i] = (int)creal(e->value[i]);
    return ok && (p || s->permutation == NULL);
}

static int64_t end_of(const int64_t *index, int64_t n) {
    int64_t end = 0;
    for (int64_t i = 0; i < n; i++)
        if (index[i] >= end) end = index[i] + 1;
    return end;
}

/* An index that sorting alone sees may lie outside the matrix, as on a GPU. */
static bool run_sort(const void *args) {
    Sort s = *(const Sort *)args;
    SparseEntries e;
    if (s.m.format != SPARSE_CSR) s.m.rows = INT32_MAX;
    if (s.m.format != SPARSE_CSC) s.m.columns = INT32_MAX;
    bool ok = read_permuted(&s, &e) &&
              sparse_sort(&e, end_of(e.row, e.n), end_of(e.column, e.n)) && write_permuted(&s, &e);
    sparse_free(&e);
    return ok;
}

static SparseStatus sort(SparseHandle *h, const char *name, SparseFormat format, int rows,
                         int columns, int nnz, const int *major, int *minor, int base,
                         bool by_columns, int *permutation) {
    if (h == NULL) return SPARSE_NOT_INITIALIZED;
    if (rows < 0 || columns < 0 || nnz < 0) return SPARSE_INVALID_VALUE;
    Sort s = {{.format = format, .rows = rows, .columns = columns, .nnz = nnz,
               .major = (void *)(uintptr_t)major, .minor = minor, .major_index = SPARSE_32I,
               .minor_index = SPARSE_32I, .base = base},
              by_columns, permutation};
    Work w = {.name = name, .run = run_sort, .args = &s, .size = sizeof s};
    return gilua_work(h->stream, &w) == 0 ? SPARSE_SUCCESS : SPARSE_EXECUTION_FAILED;
}

#define SIZES SparseHandle *h, int rows, int columns, int nnz
#define SORT_BUFFER(name)                                                               \
    EXPORT(name, SIZES, const int *major, const int *minor, size_t *bytes) {            \
        (void)rows, (void)columns, (void)nnz, (void)major, (void)minor;                 \
        return no_buffer(h, bytes);                                                     \
    }
SORT_BUFFER(cusparseXcoosort_bufferSizeExt)
SORT_BUFFER(cusparseXcsrsort_bufferSizeExt)
SORT_BUFFER(cusparseXcscsort_bufferSizeExt)

EXPORT(cusparseXcoosortByRow, SIZES, int *row, int *column, int *permutation, void *buffer) {
    (void)buffer;
    return sort(h, __func__, SPARSE_COO, rows, columns, nnz, row, column, 0, false, permutation);
}
EXPORT(cusparseXcoosortByColumn, SIZES, int *row, int *column, int *permutation, void *buffer) {
    (void)buffer;
    return sort(h, __func__, SPARSE_COO, rows, columns, nnz, row, column, 0, true, permutation);
}
EXPORT(cusparseXcsrsort, SIZES, const SparseOld *d, const int *offsets, int *indices,
       int *permutation, void *buffer) {
    (void)buffer;
    if (d == NULL) return SPARSE_INVALID_VALUE;
    return sort(h, __func__, SPARSE_CSR, rows, columns, nnz, offsets, indices, d->base, false,
                permutation);
}
EXPORT(cusparseXcscsort, SIZES, const SparseOld *d, const int *offsets, int *indices,
       int *permutation, void *buffer) {
    (void)buffer;
    if (d == NULL) return SPARSE_INVALID_VALUE;
    return sort(h, __func__, SPARSE_CSC, rows, columns, nnz, offsets, indices, d->base, true,
                permutation);
}

static bool run_identity(const void *args) {
    const Sort *s = args;
    size_t bytes = (size_t)s->m.nnz * sizeof(int);
    int *p = gilua_work_memory(s->permutation, bytes, bytes, 1, WORK_WRITES);
    for (int64_t i = 0; p && i < s->m.nnz; i++) p[i] = (int)i;
    return p != NULL;
}

EXPORT(cusparseCreateIdentityPermutation, SparseHandle *h, int n, int *permutation) {
    if (h == NULL) return SPARSE_NOT_INITIALIZED;
    if (n < 0) return SPARSE_INVALID_VALUE;
    Sort s = {.m = {.nnz = n}, .permutation = permutation};
    Work w = {.name = __func__, .run = run_identity, .args = &s, .size = sizeof s};
    return gilua_work(h->stream, &w) == 0 ? SPARSE_SUCCESS : SPARSE_EXECUTION_FAILED;
}
