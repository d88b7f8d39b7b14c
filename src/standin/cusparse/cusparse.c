/* cusparse.c - libcusparse.so.12 for the virtual GPU: handles and descriptors of cuSPARSE.
**
** The generic API's functions are in products.c, vectors.c and convert.c; cuSPARSE's documentation,
** "cuSPARSE Generic APIs", says what each does. Blocked and sliced formats, and the functions of
** single types (cusparseScsrilu02 …), are missing: missing.c.
*/
#include <stdlib.h>
#include <string.h>

#include "standin/cusparse/sparse.h"

/* --- handles --- */

EXPORT(cusparseCreate, SparseHandle **out) {
    if (out == NULL) return SPARSE_INVALID_VALUE;
    *out = calloc(1, sizeof **out);
    return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;
}
EXPORT(cusparseDestroy, SparseHandle *h) {
    free(h);
    return SPARSE_SUCCESS;
}

/* Sets and gets a field of a handle or descriptor. */
#define FIELD(set, get, owner, type, field)                     \
    EXPORT(cusparse##set, owner *o, type value) {               \
        if (o == NULL) return SPARSE_INVALID_VALUE;             \
        o->field = value;                                       \
        return SPARSE_SUCCESS;                                  \
    }                                                           \
    GETS(get, owner, type, field)
#define GETS(get, owner, type, field)                           \
    EXPORT(cusparse##get, const owner *o, type *value) {        \
        if (o == NULL || value == NULL) return SPARSE_INVALID_VALUE; \
        *value = o->field;                                      \
        return SPARSE_SUCCESS;                                  \
    }
FIELD(SetStream, GetStream, SparseHandle, void *, stream)
FIELD(SetPointerMode, GetPointerMode, SparseHandle, int, scalars_on_device)

EXPORT(cusparseGetVersion, const SparseHandle *h, int *version) {
    (void)h;
    return version ? (*version = 12600, SPARSE_SUCCESS) : SPARSE_INVALID_VALUE;
}
EXPORT(cusparseGetProperty, int part, int *value) {
    if (value == NULL || part < 0 || part > 2) return SPARSE_INVALID_VALUE;
    *value = part == 0 ? 12 : part == 1 ? 6 : 0;
    return SPARSE_SUCCESS;
}

static const char *name_of(int status) {
    switch (status) {
    case SPARSE_SUCCESS: return "CUSPARSE_STATUS_SUCCESS";
    case SPARSE_NOT_INITIALIZED: return "CUSPARSE_STATUS_NOT_INITIALIZED";
    case SPARSE_ALLOC_FAILED: return "CUSPARSE_STATUS_ALLOC_FAILED";
    case SPARSE_INVALID_VALUE: return "CUSPARSE_STATUS_INVALID_VALUE";
    case SPARSE_EXECUTION_FAILED: return "CUSPARSE_STATUS_EXECUTION_FAILED";
    case SPARSE_NOT_SUPPORTED: return "CUSPARSE_STATUS_NOT_SUPPORTED";
    default: return "CUSPARSE_STATUS_INTERNAL_ERROR";
    }
}
WORK_API const char *cusparseGetErrorName(int status);
const char *cusparseGetErrorName(int status) {
    return name_of(status);
}
WORK_API const char *cusparseGetErrorString(int status);
const char *cusparseGetErrorString(int status) {
    return name_of(status);
}

/* --- descriptors of the functions before the generic API --- */

EXPORT(cusparseCreateMatDescr, SparseOld **out) {
    if (out == NULL) return SPARSE_INVALID_VALUE;
    *out = calloc(1, sizeof **out);
    return *out ? SPARSE_SUCCESS : SPARSE_ALLOC_FAILED;
}
EXPORT(cusparseDestroyMatDescr, SparseOld *d) {
    free(d);
    return SPARSE_SUCCESS;
}
#define OLD(name, field)                                                                      \
    EXPORT(cusparseSetMat##name, SparseOld *d, int value) {                                   \
        return d ? (d->field = value, SPARSE_SUCCESS) : SPARSE_INVALID_VALUE;                 \
    }                                                                                         \
    EXPORT(cusparseGetMat##name, const SparseOld *d) {                                        \
        return d ? d->field : 0;                                                              \
    }
OLD(Type, type)
OLD(FillMode, fill)
OLD(DiagType, diag)
OLD(IndexBase, base)

/* --- generic descriptors: each is made, made constant, read, and changed in the same way --- */

static int made(void **out, const void *descriptor, size_t size, int type) {
    if (out == NULL) return SPARSE_INVALID_VALUE;
    if (number_bytes((NumberType)type) == 0) return SPARSE_NOT_SUPPORTED;
    *out = malloc(size);
    if (*out == NULL) return SPARSE_ALLOC_FAILED;
    memcpy(*out, descriptor, size);
    return SPARSE_SUCCESS;
}
#define MAKE(out, ...) made((void **)(out), &(__VA_ARGS__), sizeof(__VA_ARGS__), type)

#define BOTH(F, name) F(cusparse##name) F(cusparseConst##name)
#define MADE(F, name) F(cusparseCreate##name) F(cusparseCreateConst##name)
#define PUT(at, value) (void)((at) && (*(at) = (value)))

#define DESTROYS(name)                                  \
    EXPORT(cusparseDestroy##name, void *descriptor) {   \
        free(descriptor);                               \
        return SPARSE_SUCCESS;                          \
    }
DESTROYS(SpVec)
DESTROYS(DnVec)
DESTROYS(SpMat)
DESTROYS(DnMat)

#define CREATE(name)                                                                              \
    EXPORT(name, SparseVector **out, int64_t size, int64_t nnz, void *indices, void *values,      \
           int index, int base, int type) {                                                       \
        if (size < 0 || nnz < 0 || nnz > size) return SPARSE_INVALID_VALUE;                       \
        return MAKE(out, (SparseVector){size, nnz, indices, values, (SparseIndex)index, base,     \
                                        (NumberType)type});                                       \
    }
MADE(CREATE, SpVec)
#undef CREATE
#define GET(name)                                                                                 \
    EXPORT(name, const SparseVector *v, int64_t *size, int64_t *nnz, void **indices,              \
           void **values, int *index, int *base, int *type) {                                     \
        if (v == NULL) return SPARSE_INVALID_VALUE;                                               \
        PUT(size, v->size), PUT(nnz, v->nnz), PUT(indices, v->indices), PUT(values, v->values);   \
        PUT(index, (int)v->index), PUT(base, v->base), PUT(type, (int)v->type);                   \
        return SPARSE_SUCCESS;                                                                    \
    }
BOTH(GET, SpVecGet)
#undef GET
FIELD(SpVecSetValues, SpVecGetValues, SparseVector, void *, values)
GETS(ConstSpVecGetValues, SparseVector, void *, values)
GETS(SpVecGetIndexBase, SparseVector, int, base)

#define CREATE(name)                                                                    \
    EXPORT(name, DenseVector **out, int64_t size, void *values, int type) {             \
        if (size < 0) return SPARSE_INVALID_VALUE;                                      \
        return MAKE(out, (DenseVector){size, values, (NumberType)type});                \
    }
MADE(CREATE, DnVec)
#undef CREATE
#define GET(name)                                                                       \
    EXPORT(name, const DenseVector *v, int64_t *size, void **values, int *type) {       \
        if (v == NULL) return SPARSE_INVALID_VALUE;                                     \
        PUT(size, v->size), PUT(values, v->values), PUT(type, (int)v->type);            \
        return SPARSE_SUCCESS;                                                          \
    }
BOTH(GET, DnVecGet)
#undef GET
FIELD(DnVecSetValues, DnVecGetValues, DenseVector, void *, values)
GETS(ConstDnVecGetValues, DenseVector, void *, values)

#define CREATE(name)                                                                              \
    EXPORT(name, DenseMatrix **out, int64_t rows, int64_t columns, int64_t ld, void *values,      \
           int type, int order) {                                                                 \
        if (rows < 0 || columns < 0 || ld < (order == SPARSE_BY_ROWS ? columns : rows))           \
            return SPARSE_INVALID_VALUE;                                                          \
        return MAKE(out, (DenseMatrix){rows, columns, ld, values, (NumberType)type, order, 1, 0}); \
    }
MADE(CREATE, DnMat)
#undef CREATE
#define GET(name)                                                                                 \
    EXPORT(name, const DenseMatrix *m, int64_t *rows, int64_t *columns, int64_t *ld,              \
           void **values, int *type, int *order) {                                                \
        if (m == NULL) return SPARSE_INVALID_VALUE;                                               \
        PUT(rows, m->rows), PUT(columns, m->columns), PUT(ld, m->ld), PUT(values, m->values);     \
        PUT(type, (int)m->type), PUT(order, m->order);                                            \
        return SPARSE_SUCCESS;                                                                    \
    }
BOTH(GET, DnMatGet)
#undef GET
FIELD(DnMatSetValues, DnMatGetValues, DenseMatrix, void *, values)
GETS(ConstDnMatGetValues, DenseMatrix, void *, values)
EXPORT(cusparseDnMatSetStridedBatch, DenseMatrix *m, int count, int64_t stride) {
    if (m == NULL || count < 1) return SPARSE_INVALID_VALUE;
    m->batch = count, m->stride = stride;
    return SPARSE_SUCCESS;
}
EXPORT(cusparseDnMatGetStridedBatch, const DenseMatrix *m, int *count, int64_t *stride) {
    if (m == NULL) return SPARSE_INVALID_VALUE;
    PUT(count, m->batch), PUT(stride, m->stride);
    return SPARSE_SUCCESS;
}

/* --- sparse matrices --- */

static int make_matrix(SparseMatrix **out, SparseFormat format, int64_t rows, int64_t columns,
                       int64_t nnz, void *major, void *minor, void *values, int major_index,
                       int minor_index, int base, int type) {
    if (rows < 0 || columns < 0 || nnz < 0 || base < 0 || base > 1) return SPARSE_INVALID_VALUE;
    return MAKE(out, (SparseMatrix){.format = format, .rows = rows, .columns = columns,
                                    .nnz = nnz, .major = major, .minor = minor,
                                    .values = values, .major_index = (SparseIndex)major_index,
                                    .minor_index = (SparseIndex)minor_index, .base = base,
                                    .type = (NumberType)type, .batch = 1});
}

#define SIZES int64_t rows, int64_t columns, int64_t nnz
#define COMPRESSED(name, format)                                                                  \
    EXPORT(name, SparseMatrix **out, SIZES, void *offsets, void *indices, void *values,           \
           int offset_index, int index, int base, int type) {                                     \
        return make_matrix(out, format, rows, columns, nnz, offsets, indices, values,             \
                           offset_index, index, base, type);                                      \
    }
#define CREATE(name) COMPRESSED(name, SPARSE_CSR)
MADE(CREATE, Csr)
#undef CREATE
#define CREATE(name) COMPRESSED(name, SPARSE_CSC)
MADE(CREATE, Csc)
#undef CREATE
#define CREATE(name)                                                                              \
    EXPORT(name, SparseMatrix **out, SIZES, void *lines, void *indices, void *values, int index,  \
           int base, int type) {                                                                  \
        return make_matrix(out, SPARSE_COO, rows, columns, nnz, lines, indices, values, index,    \
                           index, base, type);                                                    \
    }
MADE(CREATE, Coo)
#undef CREATE

static void get_matrix(const SparseMatrix *m, int64_t *rows, int64_t *columns, int64_t *nnz,
                       void **major, void **minor, void **values) {
    PUT(rows, m->rows), PUT(columns, m->columns), PUT(nnz, m->nnz);
    PUT(major, m->major), PUT(minor, m->minor), PUT(values, m->values);
}

#define GET(name)                                                                                 \
    EXPORT(name, const SparseMatrix *m, int64_t *rows, int64_t *columns, int64_t *nnz,            \
           void **offsets, void **indices, void **values, int *offset_index, int *index,          \
           int *base, int *type) {                                                                \
        if (m == NULL) return SPARSE_INVALID_VALUE;                                               \
        get_matrix(m, rows, columns, nnz, offsets, indices, values);                              \
        PUT(offset_index, (int)m->major_index), PUT(index, (int)m->minor_index);                  \
        PUT(base, m->base), PUT(type, (int)m->type);                                              \
        return SPARSE_SUCCESS;                                                                    \
    }
BOTH(GET, CsrGet)
BOTH(GET, CscGet)
#undef GET
#define GET(name)                                                                                 \
    EXPORT(name, const SparseMatrix *m, int64_t *rows, int64_t *columns, int64_t *nnz,            \
           void **lines, void **indices, void **values, int *index, int *base, int *type) {       \
        if (m == NULL) return SPARSE_INVALID_VALUE;                                               \
        get_matrix(m, rows, columns, nnz, lines, indices, values);                                \
        PUT(index, (int)m->minor_index), PUT(base, m->base), PUT(type, (int)m->type);             \
        return SPARSE_SUCCESS;                                                                    \
    }
BOTH(GET, CooGet)

#define POINTERS(name)                                                                            \
    EXPORT(cusparse##name##SetPointers, SparseMatrix *m, void *major, void *minor, void *values) { \
        if (m == NULL) return SPARSE_INVALID_VALUE;                                               \
        m->major = major, m->minor = minor, m->values = values;                                   \
        return SPARSE_SUCCESS;                                                                    \
    }
POINTERS(Csr)
POINTERS(Csc)
POINTERS(Coo)

FIELD(SpMatSetValues, SpMatGetValues, SparseMatrix, void *, values)
GETS(ConstSpMatGetValues, SparseMatrix, void *, values)
GETS(SpMatGetIndexBase, SparseMatrix, int, base)
GETS(SpMatGetStridedBatch, SparseMatrix, int, batch)
EXPORT(cusparseSpMatGetFormat, const SparseMatrix *m, int *format) {
    if (m == NULL || format == NULL) return SPARSE_INVALID_VALUE;
    *format = (int)m->format;
    return SPARSE_SUCCESS;
}
EXPORT(cusparseSpMatGetSize, const SparseMatrix *m, int64_t *rows, int64_t *columns,
       int64_t *nnz) {
    if (m == NULL) return SPARSE_INVALID_VALUE;
    PUT(rows, m->rows), PUT(columns, m->columns), PUT(nnz, m->nnz);
    return SPARSE_SUCCESS;
}
EXPORT(cusparseCsrSetStridedBatch, SparseMatrix *m, int count, int64_t offsets, int64_t entries) {
    if (m == NULL || count < 1) return SPARSE_INVALID_VALUE;
    m->batch = count, m->major_stride = offsets, m->entry_stride = entries;
    return SPARSE_SUCCESS;
}
EXPORT(cusparseCooSetStridedBatch, SparseMatrix *m, int count, int64_t entries) {
    if (m == NULL || count < 1) return SPARSE_INVALID_VALUE;
    m->batch = count, m->entry_stride = entries;
    return SPARSE_SUCCESS;
}

static int *attribute(SparseMatrix *m, int which, const void *data, size_t bytes) {
    if (m == NULL || data == NULL || bytes != sizeof(int)) return NULL;
    return which == 0 ? &m->fill : which == 1 ? &m->diag : NULL;
}
EXPORT(cusparseSpMatSetAttribute, SparseMatrix *m, int which, const int *data, size_t bytes) {
    int *field = attribute(m, which, data, bytes);
    return field ? (*field = *data, SPARSE_SUCCESS) : SPARSE_INVALID_VALUE;
}
EXPORT(cusparseSpMatGetAttribute, SparseMatrix *m, int which, int *data, size_t bytes) {
    const int *field = attribute(m, which, data, bytes);
    return field ? (*data = *field, SPARSE_SUCCESS) : SPARSE_INVALID_VALUE;
}
