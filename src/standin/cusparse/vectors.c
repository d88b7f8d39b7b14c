/* vectors.c - cuSPARSE's operations on sparse vectors. See sparse.h. */
#include <stdlib.h>

#include "standin/cusparse/sparse.h"

/* Of a sparse vector and of the dense one that it is in, in the host's memory. */
typedef struct Elements {
    int64_t *index;
    void *sparse, *dense; /* dense: element 0; only the elements at index are mapped */
} Elements;

/* Names the dense elements one by one: others may be anything. */
static void *dense_at(const SparseCall *c, const int64_t *index, WorkAccess how) {
    size_t size = number_bytes(c->y.type);
    uint8_t *base = (uint8_t *)"", *at = c->y.values;
    for (int64_t i = 0; base && i < c->v.nnz; i++) {
        uint8_t *p = gilua_work_memory(at + index[i] * (int64_t)size, size, 0, 1, how);
        base = p ? p - index[i] * (int64_t)size : NULL;
    }
    return base;
}

static bool elements(const SparseCall *c, WorkAccess sparse_how, WorkAccess dense_how,
                     Elements *e) {
    size_t bytes = (size_t)c->v.nnz * number_bytes(c->v.type);
    *e = (Elements){.index = malloc((size_t)(c->v.nnz + 1) * sizeof *e->index)};
    bool ok = e->index && sparse_indices(c->v.indices, c->v.index, c->v.base, c->v.nnz, e->index) &&
              sparse_check(e->index, c->v.nnz, c->y.rows, "elements");
    e->sparse = ok ? gilua_work_memory(c->v.values, bytes, bytes, 1, sparse_how) : NULL;
    e->dense = e->sparse ? dense_at(c, e->index, dense_how) : NULL;
    return e->dense != NULL;
}

#define X(i) number_get(c.v.type, e.sparse, (size_t)(i))
#define Y(i) number_get(c.y.type, e.dense, (size_t)e.index[i])
#define SET_X(i, z) number_put(c.v.type, e.sparse, (size_t)(i), z)
#define SET_Y(i, z) number_put(c.y.type, e.dense, (size_t)e.index[i], z)

static bool run_gather(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    Elements e;
    bool ok = elements(&c, WORK_WRITES, WORK_READS, &e);
    for (int64_t i = 0; ok && i < c.v.nnz; i++) SET_X(i, Y(i));
    free(e.index);
    return ok;
}

static bool run_scatter(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    Elements e;
    bool ok = elements(&c, WORK_READS, WORK_WRITES, &e);
    for (int64_t i = 0; ok && i < c.v.nnz; i++) SET_Y(i, X(i));
    free(e.index);
    return ok;
}

static bool run_rotate(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    Elements e = {0};
    bool ok = sparse_scalars(&c) && elements(&c, WORK_UPDATES, WORK_UPDATES, &e);
    for (int64_t i = 0; ok && i < c.v.nnz; i++) {
        double complex x = X(i), y = Y(i);
        SET_X(i, c.alpha * x + c.beta * y);
        SET_Y(i, c.alpha * y - c.beta * x);
    }
    free(e.index);
    return ok;
}

static bool run_dot(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    Elements e;
    double complex sum = 0;
    size_t bytes = number_bytes(c.compute);
    bool ok = elements(&c, WORK_READS, WORK_READS, &e);
    for (int64_t i = 0; ok && i < c.v.nnz; i++) sum += (c.op_a == 2 ? conj(X(i)) : X(i)) * Y(i);
    void *to = !ok                   ? NULL
               : c.scalars_on_device ? gilua_work_memory(c.result, bytes, bytes, 1, WORK_WRITES)
                                     : c.result;
    if (to) number_put(c.compute, to, 0, sum);
    free(e.index);
    return to != NULL;
}

/* y = alpha x + beta y: beta scales every element of y. */
static bool run_axpby(const void *args) {
    SparseCall c = *(const SparseCall *)args;
    Elements e = {0};
    bool ok = sparse_scalars(&c);
    uint8_t *y = ok ? dense_values(&c.y, 0, c.beta == 0 ? WORK_WRITES : WORK_UPDATES) : NULL;
    for (int64_t i = 0; y && i < c.y.rows; i++) {
        double complex old = c.beta == 0 ? 0 : c.beta * number_get(c.y.type, y, (size_t)i);
        number_put(c.y.type, y, (size_t)i, old);
    }
    ok = y && elements(&c, WORK_READS, WORK_UPDATES, &e);
    for (int64_t i = 0; ok && i < c.v.nnz; i++) SET_Y(i, Y(i) + c.alpha * X(i));
    free(e.index);
    return ok;
}

static bool fit(const SparseVector *x, const DenseVector *y) {
    return x && y && x->size == y->size;
}

static SparseCall call_of(const SparseVector *x, const DenseVector *y) {
    return (SparseCall){.compute = y->type, .v = *x, .y = sparse_column(y)};
}

EXPORT(cusparseGather, SparseHandle *h, const DenseVector *y, SparseVector *x) {
    if (!fit(x, y)) return SPARSE_INVALID_VALUE;
    SparseCall c = call_of(x, y);
    return sparse_submit(h, __func__, run_gather, &c, 0);
}
EXPORT(cusparseScatter, SparseHandle *h, const SparseVector *x, DenseVector *y) {
    if (!fit(x, y)) return SPARSE_INVALID_VALUE;
    SparseCall c = call_of(x, y);
    return sparse_submit(h, __func__, run_scatter, &c, 0);
}
EXPORT(cusparseAxpby, SparseHandle *h, const void *alpha, const SparseVector *x, const void *beta,
       DenseVector *y) {
    if (!fit(x, y) || beta == NULL) return SPARSE_INVALID_VALUE;
    SparseCall c = call_of(x, y);
    return sparse_submit_scaled(h, __func__, run_axpby, &c, alpha, beta, 2.0 * (double)x->nnz);
}
EXPORT(cusparseRot, SparseHandle *h, const void *cosine, const void *sine, SparseVector *x,
       DenseVector *y) {
    if (!fit(x, y) || sine == NULL) return SPARSE_INVALID_VALUE;
    SparseCall c = call_of(x, y);
    return sparse_submit_scaled(h, __func__, run_rotate, &c, cosine, sine, 6.0 * (double)x->nnz);
}
EXPORT(cusparseSpVV_bufferSize, SparseHandle *h, int op, const SparseVector *x,
       const DenseVector *y, const void *result, int compute, size_t *bytes) {
    (void)op, (void)x, (void)y, (void)result, (void)compute;
    if (h == NULL) return SPARSE_NOT_INITIALIZED;
    return bytes ? (*bytes = 8, SPARSE_SUCCESS) : SPARSE_INVALID_VALUE;
}
EXPORT(cusparseSpVV, SparseHandle *h, int op, const SparseVector *x, const DenseVector *y,
       void *result, int compute, void *buffer) {
    (void)buffer;
    if (!fit(x, y) || result == NULL || number_bytes((NumberType)compute) == 0)
        return SPARSE_INVALID_VALUE;
    SparseCall c = call_of(x, y);
    c.op_a = op, c.compute = (NumberType)compute, c.result = result;
    return sparse_submit(h, __func__, run_dot, &c, 2.0 * (double)x->nnz);
}
