/* products.c - cuSPARSE's products and triangular solutions. See sparse.h. */
#include <stdlib.h>
#include <string.h>

#include "standin/cusparse/sparse.h"

static bool is_op(int op) {
    return op >= 0 && op <= 2;
}

static int64_t rows_of(const SparseMatrix *m, int op) {
    return op ? m->columns : m->rows;
}

static int64_t columns_of(const SparseMatrix *m, int op) {
    return op ? m->rows : m->columns;
}

static int64_t dense_rows(const DenseMatrix *m, int op) {
    return op ? m->columns : m->rows;
}

static int64_t dense_columns(const DenseMatrix *m, int op) {
    return op ? m->rows : m->columns;
}

/* A buffer is never needed; its size is not 0, for programs that look at it. */
static SparseStatus no_buffer(size_t *bytes) {
    if (bytes == NULL) return SPARSE_INVALID_VALUE;
    *bytes = 8;
    return SPARSE_SUCCESS;
}

/* --- sparse times dense: y = alpha a x + beta y, column by column --- */

/* Reads what a sparse matrix takes of a dense one: of a vector, only the elements that it takes. */
static const void *taken(const SparseCall *c, const SparseEntries *e, int batch) {
    if (c->x.columns != 1 || c->x.order != SPARSE_BY_COLUMNS || c->op_b)
        return dense_values(&c->x, batch, WORK_READS);
    size_t size = number_bytes(c->x.type), n = (size_t)c->x.rows;
    uint8_t *used = calloc(n + 1, 1);
    const uint8_t *at = (const uint8_t *)c->x.values + (int64_t)size * batch * c->x.stride;
    const uint8_t *base = (const uint8_t *)"";
    if (used == NULL) return NULL;
    for (int64_t i = 0; i < e->n; i++) used[e->column[i]] = 1;
    for (size_t i = 0; base && i < n; i++) {
        size_t end = i;
        while (used[end]) end++; /* used[n] is 0 */
        if (end == i) continue;
        const uint8_t *p = gilua_work_memory(at + i * size, (end - i) * size, 0, 1, WORK_READS);
        base = p ? p - i * size : NULL;
        i = end;
    }
    free(used);
    return base;
}

static bool product(const SparseCall *c, int batch) {
    SparseEntries e;
    int64_t rows = c->y.rows, columns = c->y.columns;
    double complex *sum = calloc((size_t)rows + 1, sizeof *sum);
    bool ok = sparse_read(&c->a, c->a.entry_stride ? batch : 0, c->op_a, &e) && sum;
    const void *x = ok ? taken(c, &e, c->x.stride ? batch : 0) : NULL;
    void *y = x ? dense_values(&c->y, batch, c->beta == 0 ? WORK_WRITES : WORK_UPDATES) : NULL;
    for (int64_t j = 0; y && j < columns; j++) {
        memset(sum, 0, (size_t)rows * sizeof *sum);
        for (int64_t k = 0; k < e.n; k++)
            sum[e.row[k]] += e.value[k] * dense_get(&c->x, x, c->op_b, e.column[k], j);
        for (int64_t i = 0; i < rows; i++) {
            double complex old = c->beta == 0 ? 0 : c->beta * dense_get(&c->y, y, 0, i, j);
            number_put(c->y.type, y, dense_place(&c->y, 0, i, j), c->alpha * sum[i] + old);
        }
    }
    sparse_free(&e), free(sum);
    return y != NULL;
}

static bool run_product(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    bool ok = sparse_scalars(&c);
    for (int batch = 0; ok && batch < (c.y.batch > 1 ? c.y.batch : 1); batch++)
        ok = product(&c, batch);
    return ok;
}

static SparseStatus multiply(SparseHandle *h, const char *name, SparseCall *c, const void *alpha,
                             const void *beta) {
    if (!is_op(c->op_a) || !is_op(c->op_b) || beta == NULL || c->a.values == NULL)
        return SPARSE_INVALID_VALUE;
    if (rows_of(&c->a, c->op_a) != c->y.rows || dense_columns(&c->x, c->op_b) != c->y.columns ||
        columns_of(&c->a, c->op_a) != dense_rows(&c->x, c->op_b))
        return SPARSE_INVALID_VALUE;
    double operations = 2.0 * (double)c->a.nnz * (double)c->y.columns;
    return sparse_submit_scaled(h, name, run_product, c, alpha, beta, operations);
}

#define SPMV SparseHandle *h, int op, const void *alpha, const SparseMatrix *a,                   \
        const DenseVector *x, const void *beta, const DenseVector *y, int compute, int algorithm
EXPORT(cusparseSpMV, SPMV, void *buffer) {
    (void)algorithm, (void)buffer;
    if (!(a && x && y)) return SPARSE_INVALID_VALUE;
    SparseCall c = {.op_a = op, .compute = (NumberType)compute, .a = *a, .x = sparse_column(x),
                    .y = sparse_column(y)};
    return multiply(h, __func__, &c, alpha, beta);
}
#define UNUSED_SPMV (void)op, (void)alpha, (void)a, (void)x, (void)beta, (void)y, (void)compute, \
        (void)algorithm
EXPORT(cusparseSpMV_bufferSize, SPMV, size_t *bytes) {
    UNUSED_SPMV;
    return h ? no_buffer(bytes) : SPARSE_NOT_INITIALIZED;
}
EXPORT(cusparseSpMV_preprocess, SPMV, void *buffer) {
    UNUSED_SPMV, (void)buffer;
    return h ? SPARSE_SUCCESS : SPARSE_NOT_INITIALIZED;
}

#define SPMM SparseHandle *h, int op_a, int op_b, const void *alpha, const SparseMatrix *a,       \
        const DenseMatrix *x, const void *beta, const DenseMatrix *y, int compute, int algorithm
EXPORT(cusparseSpMM, SPMM, void *buffer) {
    (void)algorithm, (void)buffer;
    if (!(a && x && y)) return SPARSE_INVALID_VALUE;
    SparseCall c = {.op_a = op_a, .op_b = op_b, .compute = (NumberType)compute, .a = *a, .x = *x,
                    .y = *y};
    return multiply(h, __func__, &c, alpha, beta);
}
#define UNUSED_SPMM (void)op_a, (void)op_b, (void)alpha, (void)a, (void)x, (void)beta, (void)y,   \
        (void)compute, (void)algorithm
EXPORT(cusparseSpMM_bufferSize, SPMM, size_t *bytes) {
    UNUSED_SPMM;
    return h ? no_buffer(bytes) : SPARSE_NOT_INITIALIZED;
}
EXPORT(cusparseSpMM_preprocess, SPMM, void *buffer) {
    UNUSED_SPMM, (void)buffer;
    return h ? SPARSE_SUCCESS : SPARSE_NOT_INITIALIZED;
}

/* --- dense times dense, at the entries of a sparse matrix --- */

static bool sampled(const SparseCall *c, int batch) {
    SparseEntries e;
    SparseMatrix pattern = c->c;
    int64_t inner = dense_columns(&c->x, c->op_a);
    int sparse_batch = pattern.entry_stride ? batch : 0;
    if (c->beta == 0) pattern.values = NULL; /* which are not read */
    bool ok = sparse_read(&pattern, sparse_batch, 0, &e);
    const void *x = ok ? dense_values(&c->x, c->x.stride ? batch : 0, WORK_READS) : NULL;
    const void *y = x ? dense_values(&c->y, c->y.stride ? batch : 0, WORK_READS) : NULL;
    void *out = y ? sparse_values(&c->c, sparse_batch, WORK_WRITES) : NULL;
    for (int64_t i = 0; out && i < e.n; i++) {
        double complex sum = 0;
        for (int64_t k = 0; k < inner; k++)
            sum += dense_get(&c->x, x, c->op_a, e.row[i], k) *
                   dense_get(&c->y, y, c->op_b, k, e.column[i]);
        double complex old = c->beta == 0 ? 0 : c->beta * e.value[i];
        number_put(c->c.type, out, (size_t)i, c->alpha * sum + old);
    }
    sparse_free(&e);
    return out != NULL;
}

static bool run_sampled(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    bool ok = sparse_scalars(&c);
    for (int batch = 0; ok && batch < (c.c.batch > 1 ? c.c.batch : 1); batch++)
        ok = sampled(&c, batch);
    return ok;
}

#define SDDMM SparseHandle *h, int op_a, int op_b, const void *alpha, const DenseMatrix *x,       \
        const DenseMatrix *y, const void *beta, const SparseMatrix *c_, int compute, int algorithm
EXPORT(cusparseSDDMM, SDDMM, void *buffer) {
    (void)algorithm, (void)buffer;
    if (!(x && y && c_ && beta) || !is_op(op_a) || !is_op(op_b)) return SPARSE_INVALID_VALUE;
    if (dense_columns(x, op_a) != dense_rows(y, op_b) || dense_rows(x, op_a) != c_->rows ||
        dense_columns(y, op_b) != c_->columns)
        return SPARSE_INVALID_VALUE;
    SparseCall c = {.op_a = op_a, .op_b = op_b, .compute = (NumberType)compute, .x = *x, .y = *y,
                    .c = *c_};
    double operations = 2.0 * (double)c_->nnz * (double)dense_columns(x, op_a);
    return sparse_submit_scaled(h, __func__, run_sampled, &c, alpha, beta, operations);
}
#define UNUSED_SDDMM (void)op_a, (void)op_b, (void)alpha, (void)x, (void)y, (void)beta, (void)c_, \
        (void)compute, (void)algorithm
EXPORT(cusparseSDDMM_bufferSize, SDDMM, size_t *bytes) {
    UNUSED_SDDMM;
    return h ? no_buffer(bytes) : SPARSE_NOT_INITIALIZED;
}
EXPORT(cusparseSDDMM_preprocess, SDDMM, void *buffer) {
    UNUSED_SDDMM, (void)buffer;
    return h ? SPARSE_SUCCESS : SPARSE_NOT_INITIALIZED;
}

/* --- triangular systems: op(a) y = alpha op(x) --- */

/* Substitutes row after row, down a lower triangle, up an upper one. */
static void substitute(const SparseCall *c, const SparseEntries *e, const int64_t *offset,
                       bool lower, double complex *column) {
    int64_t n = c->a.rows;
    for (int64_t step = 0; step < n; step++) {
        int64_t i = lower ? step : n - 1 - step;
        double complex sum = column[i], diagonal = c->a.diag ? 1 : 0;
        for (int64_t k = offset[i]; k < offset[i + 1]; k++) {
            int64_t j = e->column[k];
            if (j == i && !c->a.diag) diagonal = e->value[k];
            else if (lower ? j < i : j > i) sum -= e->value[k] * column[j];
        }
        column[i] = sum / diagonal;
    }
}

static bool run_solution(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    SparseEntries e = {0};
    int64_t n = c.a.rows, *offset = NULL;
    double complex *column = calloc((size_t)n + 1, sizeof *column);
    bool ok = column && sparse_scalars(&c) && sparse_read(&c.a, 0, c.op_a, &e) &&
              sparse_sort(&e, n, n) && (offset = sparse_offsets(&e, n)) != NULL;
    const void *x = ok ? dense_values(&c.x, 0, WORK_READS) : NULL;
    void *y = x ? dense_values(&c.y, 0, WORK_WRITES) : NULL;
    bool lower = (c.a.fill == 0) == (c.op_a == 0);
    for (int64_t j = 0; y && j < c.y.columns; j++) {
        for (int64_t i = 0; i < n; i++) column[i] = c.alpha * dense_get(&c.x, x, c.op_b, i, j);
        substitute(&c, &e, offset, lower, column);
        for (int64_t i = 0; i < n; i++)
            number_put(c.y.type, y, dense_place(&c.y, 0, i, j), column[i]);
    }
    sparse_free(&e), free(offset), free(column);
    return y != NULL;
}

static SparseStatus solve(SparseHandle *h, const char *name, SparseCall *c, const void *alpha) {
    if (!is_op(c->op_a) || !is_op(c->op_b) || c->a.values == NULL) return SPARSE_INVALID_VALUE;
    if (c->a.rows != c->a.columns || dense_rows(&c->x, c->op_b) != c->a.rows ||
        c->y.rows != c->a.rows || dense_columns(&c->x, c->op_b) != c->y.columns)
        return SPARSE_INVALID_VALUE;
    double operations = 2.0 * (double)c->a.nnz * (double)c->y.columns;
    return sparse_submit_scaled(h, name, run_solution, c, alpha, NULL, operations);
}

/* What an analysis would keep: nothing. */
#define DESCRIPTOR(name)                                        \
    EXPORT(cusparse##name##_createDescr, void **out) {          \
        if (out == NULL) return SPARSE_INVALID_VALUE;           \
        *out = calloc(1, 1);                                    \
        return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;     \
    }                                                           \
    EXPORT(cusparse##name##_destroyDescr, void *descriptor) {   \
        free(descriptor);                                       \
        return SPARSE_SUCCESS;                                  \
    }
DESCRIPTOR(SpSV)
DESCRIPTOR(SpSM)

#define SPSV SparseHandle *h, int op, const void *alpha, const SparseMatrix *a,                   \
        const DenseVector *x, const DenseVector *y, int compute, int algorithm, void *descriptor
#define UNUSED_SPSV (void)op, (void)alpha, (void)a, (void)x, (void)y, (void)compute,              \
        (void)algorithm, (void)descriptor
EXPORT(cusparseSpSV_bufferSize, SPSV, size_t *bytes) {
    UNUSED_SPSV;
    return h ? no_buffer(bytes) : SPARSE_NOT_INITIALIZED;
}
EXPORT(cusparseSpSV_analysis, SPSV, void *buffer) {
    UNUSED_SPSV, (void)buffer;
    return h ? SPARSE_SUCCESS : SPARSE_NOT_INITIALIZED;
}
EXPORT(cusparseSpSV_solve, SPSV) {
    (void)algorithm, (void)descriptor;
    if (!(a && x && y)) return SPARSE_INVALID_VALUE;
    SparseCall c = {.op_a = op, .compute = (NumberType)compute, .a = *a, .x = sparse_column(x),
                    .y = sparse_column(y)};
    return solve(h, __func__, &c, alpha);
}

#define SPSM SparseHandle *h, int op_a, int op_b, const void *alpha, const SparseMatrix *a,       \
        const DenseMatrix *x, const DenseMatrix *y, int compute, int algorithm, void *descriptor
#define UNUSED_SPSM (void)op_a, (void)op_b, (void)alpha, (void)a, (void)x, (void)y,               \
        (void)compute, (void)algorithm, (void)descriptor
EXPORT(cusparseSpSM_bufferSize, SPSM, size_t *bytes) {
    UNUSED_SPSM;
    return h ? no_buffer(bytes) : SPARSE_NOT_INITIALIZED;
}
EXPORT(cusparseSpSM_analysis, SPSM, void *buffer) {
    UNUSED_SPSM, (void)buffer;
    return h ? SPARSE_SUCCESS : SPARSE_NOT_INITIALIZED;
}
EXPORT(cusparseSpSM_solve, SPSM) {
    (void)algorithm, (void)descriptor;
    if (!(a && x && y)) return SPARSE_INVALID_VALUE;
    SparseCall c = {.op_a = op_a, .op_b = op_b, .compute = (NumberType)compute, .a = *a, .x = *x,
                    .y = *y};
    return solve(h, __func__, &c, alpha);
}

/* --- sparse times sparse --- */

struct SparseProduct {
    SparseEntries e; /* by rows */
};

EXPORT(cusparseSpGEMM_createDescr, SparseProduct **out) {
    if (out == NULL) return SPARSE_INVALID_VALUE;
    *out = calloc(1, sizeof **out);
    return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;
}
EXPORT(cusparseSpGEMM_destroyDescr, SparseProduct *p) {
    if (p) sparse_free(&p->e);
    free(p);
    return SPARSE_SUCCESS;
}

typedef struct Row { /* of the product, under construction */
    double complex *sum;
    uint8_t *used;
} Row;

/* Adds a row of a times b to the row; returns how many entries it has then. */
static int64_t add_row(const SparseEntries *a, const int64_t *a_at, const SparseEntries *b,
                       const int64_t *b_at, int64_t i, Row r) {
    int64_t found = 0;
    for (int64_t k = a_at[i]; k < a_at[i + 1]; k++)
        for (int64_t l = b_at[a->column[k]]; l < b_at[a->column[k] + 1]; l++) {
            int64_t j = b->column[l];
            if (!r.used[j]) r.used[j] = 1, r.sum[j] = 0, found++;
            r.sum[j] += a->value[k] * b->value[l];
        }
    return found;
}

static bool grow(SparseEntries *e, int64_t n) {
    int64_t *row = realloc(e->row, (size_t)n * sizeof *row);
    if (row) e->row = row;
    int64_t *column = row ? realloc(e->column, (size_t)n * sizeof *column) : NULL;
    if (column) e->column = column;
    double complex *value = column ? realloc(e->value, (size_t)n * sizeof *value) : NULL;
    if (value) e->value = value;
    return value != NULL;
}

static bool take_row(SparseEntries *e, int64_t i, int64_t found, int64_t columns, Row r) {
    if (!grow(e, e->n + found + 1)) return false;
    for (int64_t j = 0; j < columns; j++) {
        if (!r.used[j]) continue;
        e->row[e->n] = i, e->column[e->n] = j, e->value[e->n] = r.sum[j];
        e->n++, r.used[j] = 0;
    }
    return true;
}

static bool run_square(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    SparseEntries a = {0}, b = {0}, *out = &c.product->e;
    int64_t rows = c.a.rows, columns = c.b.columns, *a_at = NULL, *b_at = NULL;
    Row r = {calloc((size_t)columns + 1, sizeof(double complex)), calloc((size_t)columns + 1, 1)};
    bool ok = r.sum && r.used && sparse_read(&c.a, 0, 0, &a) && sparse_read(&c.b, 0, 0, &b) &&
              sparse_sort(&a, rows, c.a.columns) && sparse_sort(&b, c.b.rows, columns) &&
              (a_at = sparse_offsets(&a, rows)) != NULL &&
              (b_at = sparse_offsets(&b, c.b.rows)) != NULL;
    sparse_free(out);
    for (int64_t i = 0; ok && i < rows; i++)
        ok = take_row(out, i, add_row(&a, a_at, &b, b_at, i, r), columns, r);
    if (ok) c.found->nnz = out->n;
    sparse_free(&a), sparse_free(&b);
    free(a_at), free(b_at), free(r.sum), free(r.used);
    return ok;
}

#define SPGEMM SparseHandle *h, int op_a, int op_b, const void *alpha, const SparseMatrix *a,     \
        const SparseMatrix *b, const void *beta, SparseMatrix *c_, int compute, int algorithm,    \
        SparseProduct *p
#define UNUSED_SPGEMM (void)op_a, (void)op_b, (void)alpha, (void)a, (void)b, (void)beta,          \
        (void)c_, (void)compute, (void)algorithm, (void)p
EXPORT(cusparseSpGEMM_workEstimation, SPGEMM, size_t *bytes, void *buffer) {
    UNUSED_SPGEMM;
    return h == NULL ? SPARSE_NOT_INITIALIZED : buffer ? SPARSE_SUCCESS : no_buffer(bytes);
}
EXPORT(cusparseSpGEMM_compute, SPGEMM, size_t *bytes, void *buffer) {
    (void)alpha, (void)beta, (void)algorithm;
    if (!(a && b && c_ && p)) return SPARSE_INVALID_VALUE;
    if (op_a || op_b) return SPARSE_NOT_SUPPORTED;
    if (a->columns != b->rows || a->rows != c_->rows || b->columns != c_->columns)
        return SPARSE_INVALID_VALUE;
    if (buffer == NULL) return h ? no_buffer(bytes) : SPARSE_NOT_INITIALIZED;
    SparseCall c = {.compute = (NumberType)compute, .a = *a, .b = *b, .found = c_, .product = p};
    return sparse_submit(h, __func__, run_square, &c, 2.0 * (double)a->nnz);
}

static bool run_copy(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    const SparseEntries *e = &c.product->e;
    if (!sparse_scalars(&c)) return false;
    if (c.beta != 0) {
        gilua_work_wrong("beta is not 0, which cusparseSpGEMM does not support here");
        return false;
    }
    int64_t *offset = sparse_offsets(e, c.c.rows);
    c.c.nnz = e->n;
    bool ok = offset &&
              sparse_put_indices(c.c.major, c.c.major_index, c.c.base, c.c.rows + 1, offset) &&
              sparse_put_indices(c.c.minor, c.c.minor_index, c.c.base, e->n, e->column);
    void *values = ok ? sparse_values(&c.c, 0, WORK_WRITES) : NULL;
    for (int64_t i = 0; values && i < e->n; i++)
        number_put(c.c.type, values, (size_t)i, c.alpha * e->value[i]);
    free(offset);
    return values != NULL;
}

EXPORT(cusparseSpGEMM_copy, SPGEMM) {
    (void)op_a, (void)op_b, (void)algorithm;
    if (!(a && b && c_ && p && beta)) return SPARSE_INVALID_VALUE;
    if (c_->format != SPARSE_CSR) return SPARSE_NOT_SUPPORTED;
    SparseCall c = {.compute = (NumberType)compute, .c = *c_, .product = p};
    return sparse_submit_scaled(h, __func__, run_copy, &c, alpha, beta, 0);
}
