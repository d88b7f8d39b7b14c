/* descriptor.c - makes descriptors, and gives and takes their attributes. See descriptor.h.
**
** An attribute that is not here is refused by its number, unless its value says nothing. */
#include "standin/cublasLt/descriptor.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin/cublas/blas.h"

typedef struct Attribute {
    int id;
    size_t at, bytes;
} Attribute;

#define ATTRIBUTE(id, type, field) {id, offsetof(type, field), sizeof(((type *)NULL)->field)}
#define END {-1, 0, 0}

static const Attribute of_layout[] = {
    ATTRIBUTE(0, LtLayout, type), ATTRIBUTE(1, LtLayout, order), ATTRIBUTE(2, LtLayout, rows),
    ATTRIBUTE(3, LtLayout, columns), ATTRIBUTE(4, LtLayout, ld), ATTRIBUTE(5, LtLayout, count),
    ATTRIBUTE(6, LtLayout, stride), END};

static const Attribute of_product[] = {
    ATTRIBUTE(0, LtProduct, compute), ATTRIBUTE(1, LtProduct, scale),
    ATTRIBUTE(2, LtProduct, scalars), ATTRIBUTE(3, LtProduct, op_a), ATTRIBUTE(4, LtProduct, op_b),
    ATTRIBUTE(5, LtProduct, op_c), ATTRIBUTE(6, LtProduct, fill),
    ATTRIBUTE(7, LtProduct, epilogue), ATTRIBUTE(8, LtProduct, bias),
    ATTRIBUTE(10, LtProduct, bias_stride), ATTRIBUTE(15, LtProduct, sms),
    ATTRIBUTE(25, LtProduct, fast_sums), ATTRIBUTE(26, LtProduct, bias_type), END};

static const Attribute of_preference[] = {ATTRIBUTE(1, LtPreference, workspace), END};

static const Attribute *find(const Attribute *list, int id) {
    while (list->id >= 0 && list->id != id) list++;
    return list->id >= 0 ? list : NULL;
}

static bool says_nothing(const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (((const char *)bytes)[i]) return false;
    return true;
}

static BlasStatus put(const char *what, const Attribute *list, void *of, int id, const void *from,
                      size_t n) {
    char name[100];
    bool told = false;
    const Attribute *a = find(list, id);
    if (of == NULL || from == NULL || (a && n != a->bytes)) return BLAS_INVALID_VALUE;
    if (a) memcpy((char *)of + a->at, from, n);
    if (a || says_nothing(from, n)) return BLAS_SUCCESS;
    snprintf(name, sizeof name, "%s with attribute %d", what, id);
    gilua_work_unsupported(name, "CUBLAS_STATUS_NOT_SUPPORTED", &told);
    return BLAS_NOT_SUPPORTED;
}

static BlasStatus get(const Attribute *list, const void *of, int id, void *to, size_t n,
                      size_t *written) {
    const Attribute *a = find(list, id);
    if (of == NULL || a == NULL) return BLAS_INVALID_VALUE;
    if (written) *written = a->bytes;
    if (n == 0) return written ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
    if (to == NULL || n < a->bytes) return BLAS_INVALID_VALUE;
    memcpy(to, (const char *)of + a->at, a->bytes);
    return BLAS_SUCCESS;
}

/* Create makes one on the heap, Init_internal where the program has room. */
#define DESCRIPTOR(Name, type, list, parameters, ...)                                             \
    EXPORT(cublasLt##Name##Init_internal, type *of, size_t bytes parameters) {                    \
        if (of == NULL || bytes < sizeof *of) return BLAS_INVALID_VALUE;                          \
        *of = (type){__VA_ARGS__};                                                                \
        return BLAS_SUCCESS;                                                                      \
    }                                                                                             \
    EXPORT(cublasLt##Name##Create, type **out parameters) {                                       \
        if (out == NULL) return BLAS_INVALID_VALUE;                                               \
        *out = malloc(sizeof **out);                                                              \
        if (*out == NULL) return BLAS_NOT_INITIALIZED;                                            \
        **out = (type){__VA_ARGS__};                                                              \
        return BLAS_SUCCESS;                                                                      \
    }                                                                                             \
    EXPORT(cublasLt##Name##Destroy, type *of) {                                                   \
        free(of);                                                                                 \
        return BLAS_SUCCESS;                                                                      \
    }                                                                                             \
    EXPORT(cublasLt##Name##SetAttribute, type *of, int id, const void *from, size_t n) {          \
        return put("cublasLt" #Name, list, of, id, from, n);                                      \
    }                                                                                             \
    EXPORT(cublasLt##Name##GetAttribute, const type *of, int id, void *to, size_t n,              \
           size_t *written) {                                                                     \
        return get(list, of, id, to, n, written);                                                 \
    }

#define COMMA ,
DESCRIPTOR(MatrixLayout, LtLayout, of_layout,
           COMMA uint32_t type COMMA uint64_t rows COMMA uint64_t columns COMMA int64_t ld,
           .type = type, .rows = rows, .columns = columns, .ld = ld, .count = 1)
DESCRIPTOR(MatmulDesc, LtProduct, of_product, COMMA int compute COMMA int scale,
           .compute = compute, .scale = scale, .fill = 2, .epilogue = LT_NO_EPILOGUE,
           .bias_type = -1)
DESCRIPTOR(MatmulPreference, LtPreference, of_preference, , .workspace = 0)
