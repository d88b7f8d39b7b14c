/* sparse.c - matrices and vectors of the device as the host's loops read them. See sparse.h. */
#include "standin/cusparse/sparse.h"

#include <stdlib.h>
#include <string.h>

/* --- calls --- */

DenseMatrix sparse_column(const DenseVector *v) {
    return (DenseMatrix){v->size, 1, v->size, v->values, v->type, SPARSE_BY_COLUMNS, 1, 0};
}

SparseStatus sparse_submit(SparseHandle *h, const char *name, WorkFn run, SparseCall *call,
                           double operations) {
    if (h == NULL) return SPARSE_NOT_INITIALIZED;
    call->scalars_on_device = h->scalars_on_device;
    Work w = {.name = name,
              .run = run,
              .args = call,
              .size = sizeof *call,
              .operations = operations,
              .is_double = number_is_double(call->compute),
              .waits = call->found != NULL};
    return gilua_work(h->stream, &w) == 0 ? SPARSE_SUCCESS : SPARSE_EXECUTION_FAILED;
}

SparseStatus sparse_submit_scaled(SparseHandle *h, const char *name, WorkFn run, SparseCall *call,
                                  const void *alpha, const void *beta, double operations) {
    if (h == NULL) return SPARSE_NOT_INITIALIZED;
    if (alpha == NULL || number_bytes(call->compute) == 0) return SPARSE_INVALID_VALUE;
    call->alpha_at = alpha, call->beta_at = beta;
    if (!h->scalars_on_device) {
        call->alpha = number_get(call->compute, alpha, 0);
        if (beta) call->beta = number_get(call->compute, beta, 0);
    }
    return sparse_submit(h, name, run, call, operations);
}

static bool scalar(const SparseCall *call, const void *at, double complex *out) {
    size_t bytes = number_bytes(call->compute);
    const void *p = gilua_work_memory(at, bytes, bytes, 1, WORK_READS);
    if (p) *out = number_get(call->compute, p, 0);
    return p != NULL;
}

bool sparse_scalars(SparseCall *call) {
    if (!call->scalars_on_device) return true;
    return scalar(call, call->alpha_at, &call->alpha) &&
           (call->beta_at == NULL || scalar(call, call->beta_at, &call->beta));
}

/* --- indices --- */

static size_t index_bytes(SparseIndex t) {
    return t == SPARSE_64I ? 8 : t == SPARSE_32I ? 4 : 2;
}

bool sparse_indices(const void *at, SparseIndex type, int base, int64_t n, int64_t *out) {
    size_t bytes = (size_t)n * index_bytes(type);
    const void *p = gilua_work_memory(at, bytes, bytes, 1, WORK_READS);
    if (p == NULL) return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t value = type == SPARSE_64I   ? ((const int64_t *)p)[i]
                        : type == SPARSE_32I ? ((const int32_t *)p)[i]
                                             : ((const uint16_t *)p)[i];
        out[i] = value - base;
    }
    return true;
}

bool sparse_put_indices(void *at, SparseIndex type, int base, int64_t n, const int64_t *in) {
    size_t bytes = (size_t)n * index_bytes(type);
    void *p = gilua_work_memory(at, bytes, bytes, 1, WORK_WRITES);
    if (p == NULL) return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t value = in[i] + base;
        if (type == SPARSE_64I) ((int64_t *)p)[i] = value;
        else if (type == SPARSE_32I) ((int32_t *)p)[i] = (int32_t)value;
        else ((uint16_t *)p)[i] = (uint16_t)value;
    }
    return true;
}

bool sparse_check(const int64_t *index, int64_t n, int64_t end, const char *what) {
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= end) {
            gilua_work_wrong("the index of entry %lld is %lld, and there are %lld %s",
                             (long long)i, (long long)index[i], (long long)end, what);
            return false;
        }
    return true;
}

/* --- entries --- */

void *sparse_values(const SparseMatrix *m, int batch, WorkAccess how) {
    size_t size = number_bytes(m->type), bytes = (size_t)m->nnz * size;
    const uint8_t *at = (const uint8_t *)m->values + (int64_t)size * batch * m->entry_stride;
    return gilua_work_memory(at, bytes, bytes, 1, how);
}

static const void *index_at(const void *at, SparseIndex type, int64_t i) {
    return (const uint8_t *)at + i * (int64_t)index_bytes(type);
}

/* Writes the row (CSR) or column (CSC) of each entry. */
static bool expand(const SparseMatrix *m, int batch, int64_t *out) {
    int64_t n = m->format == SPARSE_CSR ? m->rows : m->columns;
    int64_t *offset = malloc((size_t)(n + 1) * sizeof *offset);
    const void *at = index_at(m->major, m->major_index, batch * m->major_stride);
    bool ok = offset && sparse_indices(at, m->major_index, m->base, n + 1, offset);
    for (int64_t i = 0; ok && i < n; i++) {
        ok = offset[i] >= 0 && offset[i] <= offset[i + 1] && offset[i + 1] <= m->nnz;
        if (!ok)
            gilua_work_wrong("the offsets %lld to %lld of line %lld do not lie in %lld entries",
                             (long long)offset[i], (long long)offset[i + 1], (long long)i,
                             (long long)m->nnz);
        for (int64_t k = offset[i]; ok && k < offset[i + 1]; k++) out[k] = i;
    }
    free(offset);
    return ok;
}

bool sparse_read(const SparseMatrix *m, int batch, int op, SparseEntries *out) {
    size_t n = (size_t)m->nnz;
    *out = (SparseEntries){m->nnz, calloc(n + 1, sizeof(int64_t)), calloc(n + 1, sizeof(int64_t)),
                           calloc(n + 1, sizeof(double complex))};
    if (!(out->row && out->column && out->value)) return false;
    int64_t *major = m->format == SPARSE_CSC ? out->column : out->row;
    int64_t *minor = m->format == SPARSE_CSC ? out->row : out->column;
    const void *minor_at = index_at(m->minor, m->minor_index, batch * m->entry_stride);
    const void *major_at = index_at(m->major, m->major_index, batch * m->entry_stride);
    bool ok = m->format == SPARSE_COO
                  ? sparse_indices(major_at, m->major_index, m->base, m->nnz, major)
                  : expand(m, batch, major);
    ok = ok && sparse_indices(minor_at, m->minor_index, m->base, m->nnz, minor) &&
         sparse_check(out->row, m->nnz, m->rows, "rows") &&
         sparse_check(out->column, m->nnz, m->columns, "columns");
    const void *values = !ok ? NULL : m->values ? sparse_values(m, batch, WORK_READS) : "";
    for (size_t i = 0; values && m->values && i < n; i++) {
        double complex z = number_get(m->type, values, i);
        out->value[i] = op == 2 ? conj(z) : z;
    }
    if (op) {
        int64_t *row = out->row;
        out->row = out->column, out->column = row;
    }
    return values != NULL;
}

void sparse_free(SparseEntries *e) {
    free(e->row), free(e->column), free(e->value);
    *e = (SparseEntries){0};
}

/* Deals the entries out by one key, which keeps the order of equal ones. */
static bool deal(SparseEntries *e, bool by_row, int64_t keys) {
    size_t n = (size_t)e->n;
    int64_t *place = calloc((size_t)keys + 2, sizeof *place);
    SparseEntries to = {e->n, calloc(n + 1, sizeof(int64_t)), calloc(n + 1, sizeof(int64_t)),
                        calloc(n + 1, sizeof(double complex))};
    bool ok = place && to.row && to.column && to.value;
    const int64_t *key = by_row ? e->row : e->column;
    for (size_t i = 0; ok && i < n; i++) place[key[i] + 1]++;
    for (int64_t k = 0; ok && k < keys; k++) place[k + 1] += place[k];
    for (size_t i = 0; ok && i < n; i++) {
        int64_t at = place[key[i]]++;
        to.row[at] = e->row[i], to.column[at] = e->column[i], to.value[at] = e->value[i];
    }
    free(place);
    sparse_free(ok ? e : &to);
    if (ok) *e = to;
    return ok;
}

bool sparse_sort(SparseEntries *e, int64_t rows, int64_t columns) {
    return deal(e, false, columns) && deal(e, true, rows);
}

int64_t *sparse_offsets(const SparseEntries *e, int64_t rows) {
    int64_t *offset = calloc((size_t)rows + 1, sizeof *offset);
    for (int64_t i = 0; offset && i < e->n; i++) offset[e->row[i] + 1]++;
    for (int64_t i = 0; offset && i < rows; i++) offset[i + 1] += offset[i];
    return offset;
}

/* --- dense matrices --- */

void *dense_values(const DenseMatrix *m, int batch, WorkAccess how) {
    size_t size = number_bytes(m->type);
    bool by_rows = m->order == SPARSE_BY_ROWS;
    int64_t width = by_rows ? m->columns : m->rows, height = by_rows ? m->rows : m->columns;
    const uint8_t *at = (const uint8_t *)m->values + (int64_t)size * batch * m->stride;
    return gilua_work_memory(at, (size_t)width * size, (size_t)m->ld * size, (size_t)height, how);
}

size_t dense_place(const DenseMatrix *m, int op, int64_t i, int64_t j) {
    bool transposed = (op != 0) != (m->order == SPARSE_BY_ROWS);
    return (size_t)(transposed ? i * m->ld + j : j * m->ld + i);
}

double complex dense_get(const DenseMatrix *m, const void *at, int op, int64_t i, int64_t j) {
    double complex z = number_get(m->type, at, dense_place(m, op, i, j));
    return op == 2 ? conj(z) : z;
}
