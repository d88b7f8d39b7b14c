/* cublaslt.c - libcublasLt.so.13 (and .12) for the virtual GPU: cublasLtMatmul over BLAS's gemm.
**
** cuBLAS's documentation, "Using the cuBLASLt API", says what each function does. Products of
** matrices in columns or rows, of the types of cublasGemmEx, in batches by a stride, with a bias,
** RELU and GELU. Rows are columns of the transposed matrix: an operand in rows has the other
** operation, a result in rows is the product of the operands in the other order. What is not here
** says so by its name, once, and ends `gilua run` with status 4.
**
** The product is rounded to D's type before its bias; a GPU rounds once, behind both.
*/
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin/cublas/gemm.h"
#include "standin/cublasLt/descriptor.h"
#include "standin/shared/standin.h"

extern int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, void *);
enum { ON_DEVICE = 3 }; /* cudaMemcpyDeviceToDevice */

typedef struct Sides {
    const LtLayout *a, *b, *c, *d;
} Sides;

/* --- handles --- */

EXPORT(cublasLtCreate, void **out) {
    if (out == NULL) return BLAS_INVALID_VALUE;
    if (blas_routine("sgemm_") == NULL) return BLAS_NOT_INITIALIZED;
    *out = malloc(1);
    return *out ? BLAS_SUCCESS : BLAS_NOT_INITIALIZED;
}

EXPORT(cublasLtDestroy, void *h) {
    free(h);
    return h ? BLAS_SUCCESS : BLAS_NOT_INITIALIZED;
}

WORK_API size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void) {
    return 130000;
}

WORK_API size_t cublasLtGetCudartVersion(void);
size_t cublasLtGetCudartVersion(void) {
    return 13000;
}

EXPORT(cublasLtGetProperty, int part, int *value) {
    if (value == NULL || part < 0 || part > 2) return BLAS_INVALID_VALUE;
    *value = part == 0 ? 13 : 0;
    return BLAS_SUCCESS;
}

#define NAMES(name)                                 \
    WORK_API const char *name(int status);          \
    const char *name(int status) {                  \
        return blas_status(status);                 \
    }
NAMES(cublasLtGetStatusName)
NAMES(cublasLtGetStatusString)

/* There is no log, and nothing to find out about a product that would be kept. */
#define NOTHING(name)       \
    EXPORT(name, void) {    \
        return BLAS_SUCCESS; \
    }
NOTHING(cublasLtLoggerSetCallback)
NOTHING(cublasLtLoggerSetFile)
NOTHING(cublasLtLoggerOpenFile)
NOTHING(cublasLtLoggerSetLevel)
NOTHING(cublasLtLoggerSetMask)
NOTHING(cublasLtLoggerForceDisable)
NOTHING(cublasLtHeuristicsCacheSetCapacity)

/* --- what is here --- */

static NumberType scale_of(const LtProduct *p, const LtLayout *d) {
    if (number_is_complex((NumberType)d->type)) return (NumberType)d->type;
    if (p->compute == GEMM_COMPUTE_64F || p->compute == GEMM_COMPUTE_64F + 1) return NUMBER_R_64F;
    if (p->compute == GEMM_COMPUTE_32I || p->compute == GEMM_COMPUTE_32I + 1) return NUMBER_R_32I;
    if (p->compute == GEMM_COMPUTE_16F || p->compute == GEMM_COMPUTE_16F + 1) return NUMBER_R_16F;
    return NUMBER_R_32F;
}

/* Why a product cannot be done; NULL. */
static const char *obstacle(const LtProduct *p, Sides s) {
    const LtLayout *list[] = {s.a, s.b, s.c, s.d};
    int more = p->epilogue & ~(LT_NO_EPILOGUE | LT_RELU | LT_BIAS | LT_GELU);
    bool in_rows = false, is_complex = number_is_complex((NumberType)s.d->type);
    for (int i = 0; i < 4; i++) {
        if (list[i]->order != LT_COLUMNS && list[i]->order != LT_ROWS)
            return "with an order other than rows and columns";
        if (number_bytes((NumberType)list[i]->type) == 0) return "with numbers of such a type";
        in_rows = in_rows || list[i]->order == LT_ROWS;
    }
    if (is_complex && ((p->op_a == 2 || p->op_b == 2) ? in_rows : p->epilogue != LT_NO_EPILOGUE))
        return "with conjugates in rows, or an epilogue of complex numbers";
    if (s.c->order != s.d->order || s.c->type != s.d->type || p->op_c != 0)
        return "with C of another order or type than D";
    if (p->scalars != 0 && p->scalars != 1) return "with a vector of alphas";
    if (p->fill != 2) return "of a triangle";
    if (more || (p->epilogue & LT_RELU && p->epilogue & LT_GELU))
        return "with an epilogue other than bias, RELU and GELU";
    if ((NumberType)p->scale != scale_of(p, s.d)) return "with such a type of scalars";
    return NULL;
}

static BlasStatus checked(const LtProduct *p, Sides s) {
    static bool told;
    if (p == NULL || s.a == NULL || s.b == NULL || s.c == NULL || s.d == NULL)
        return BLAS_INVALID_VALUE;
    const char *why = obstacle(p, s);
    if (why == NULL) return BLAS_SUCCESS;
    char name[100];
    snprintf(name, sizeof name, "cublasLtMatmul %s", why);
    gilua_work_unsupported(name, "CUBLAS_STATUS_NOT_SUPPORTED", &told);
    return BLAS_NOT_SUPPORTED;
}

/* --- bias and activation --- */

typedef struct Epilogue {
    void *d;
    const void *bias;
    LtLayout layout;
    NumberType bias_type;
    int64_t bias_stride;
    int kind;
} Epilogue;

static double activated(double x, int kind) {
    if (kind & LT_RELU) return x > 0 || isnan(x) ? x : 0;
    if (kind & LT_GELU)
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

static bool one_epilogue(const Epilogue *e, int batch) {
    const LtLayout *l = &e->layout;
    NumberType type = (NumberType)l->type;
    bool in_rows = l->order == LT_ROWS;
    size_t size = number_bytes(type), lines = in_rows ? l->rows : l->columns,
           length = in_rows ? l->columns : l->rows, element = number_bytes(e->bias_type);
    uint8_t *at = (uint8_t *)e->d + batch * l->stride * (int64_t)size;
    uint8_t *d = gilua_work_memory(at, length * size, (size_t)l->ld * size, lines, WORK_UPDATES);
    const void *bias = e->bias;
    if (bias)
        bias = gilua_work_memory((const char *)bias + batch * e->bias_stride * (int64_t)element,
                                 l->rows * element, 0, 1, WORK_READS);
    if (d == NULL || (e->bias && bias == NULL)) return false;
    for (size_t i = 0; i < lines; i++)
        for (size_t k = 0; k < length; k++) {
            size_t place = i * (size_t)l->ld + k;
            double x = creal(number_get(type, d, place));
            if (bias) x += creal(number_get(e->bias_type, bias, in_rows ? i : k));
            number_put(type, d, place, activated(x, e->kind));
        }
    return true;
}

static bool run_epilogue(const void *args) {
    const Epilogue *e = args;
    for (int i = 0; i < e->layout.count; i++)
        if (!one_epilogue(e, i)) return false;
    return true;
}

static BlasStatus epilogue(const BlasHandle *h, const LtProduct *p, void *d, const LtLayout *l) {
    Epilogue e = {.d = d, .layout = *l, .kind = p->epilogue, .bias_stride = p->bias_stride,
                  .bias = p->epilogue & LT_BIAS ? p->bias : NULL,
                  .bias_type = (NumberType)(p->bias_type < 0 ? (int32_t)l->type : p->bias_type)};
    if ((p->epilogue & ~LT_NO_EPILOGUE) == 0) return BLAS_SUCCESS;
    if (p->epilogue & LT_BIAS && p->bias == NULL) return BLAS_INVALID_VALUE;
    double elements = (double)l->rows * (double)l->columns * l->count;
    return blas_work(h, &(Work){.name = "cublasLtMatmul", .run = run_epilogue, .args = &e,
                                .size = sizeof e, .operations = 2 * elements});
}

/* --- products --- */

static GemmSide side(const void *at, const LtLayout *l) {
    return (GemmSide){at, (NumberType)l->type, (int)l->ld, l->stride};
}

/* The operation of a matrix as BLAS sees it, which has columns. */
static int op_of(int op, const LtLayout *l, bool turned) {
    bool transposed = (op != 0) ^ (l->order == LT_ROWS) ^ turned;
    return transposed ? (op ? op : 1) : 0;
}

static Gemm gemm_of(const LtProduct *p, Sides s, const void *a, const void *b, void *d) {
    bool in_rows = s.d->order == LT_ROWS;
    Gemm g = {.name = "cublasLtMatmul", .op_a = op_of(p->op_a, s.a, false),
              .op_b = op_of(p->op_b, s.b, false), .m = (int)s.d->rows, .n = (int)s.d->columns,
              .k = (int)(p->op_a ? s.a->rows : s.a->columns), .a = side(a, s.a), .b = side(b, s.b),
              .c = side(d, s.d), .count = s.d->count, .compute = p->compute};
    if (in_rows) {
        Gemm turned = g;
        turned.m = g.n, turned.n = g.m, turned.a = g.b, turned.b = g.a;
        turned.op_a = op_of(p->op_b, s.b, true), turned.op_b = op_of(p->op_a, s.a, true);
        return turned;
    }
    return g;
}

static bool fit(const LtProduct *p, Sides s) {
    uint64_t m = p->op_a ? s.a->columns : s.a->rows, k = p->op_a ? s.a->rows : s.a->columns;
    uint64_t k_b = p->op_b ? s.b->columns : s.b->rows, n = p->op_b ? s.b->rows : s.b->columns;
    return m == s.d->rows && n == s.d->columns && k == k_b && s.c->rows == m && s.c->columns == n &&
           s.a->count == s.d->count && s.b->count == s.d->count && s.c->count == s.d->count;
}

/* D begins as C; not where that has no part in it. */
static BlasStatus begin(const BlasHandle *h, const LtProduct *p, Sides s, const void *beta,
                        const void *c, void *d) {
    static const double zero[2];
    size_t size = number_bytes((NumberType)s.d->type);
    size_t scalar = number_bytes(scale_of(p, s.d));
    bool in_rows = s.d->order == LT_ROWS;
    if (p->scalars == 0 && memcmp(beta, zero, scalar) == 0) return BLAS_SUCCESS;
    if (c == NULL) return BLAS_INVALID_VALUE;
    for (int i = 0; c != d && i < s.d->count; i++)
        if (cudaMemcpy2DAsync((char *)d + i * s.d->stride * (int64_t)size, (size_t)s.d->ld * size,
                              (const char *)c + i * s.c->stride * (int64_t)size,
                              (size_t)s.c->ld * size,
                              (in_rows ? s.d->columns : s.d->rows) * size,
                              in_rows ? s.d->rows : s.d->columns, ON_DEVICE, h->stream))
            return BLAS_EXECUTION_FAILED;
    return BLAS_SUCCESS;
}

EXPORT(cublasLtMatmul, void *lt, const LtProduct *p, const void *alpha, const void *a,
       const LtLayout *la, const void *b, const LtLayout *lb, const void *beta, const void *c,
       const LtLayout *lc, void *d, const LtLayout *ld, const void *algorithm, void *workspace,
       size_t workspace_bytes, void *stream) {
    Sides s = {la, lb, lc, ld};
    (void)algorithm, (void)workspace, (void)workspace_bytes;
    if (lt == NULL) return BLAS_NOT_INITIALIZED;
    BlasStatus status = checked(p, s);
    if (status) return status;
    if (!fit(p, s) || alpha == NULL || beta == NULL) return BLAS_INVALID_VALUE;
    BlasHandle h = {.stream = stream, .scalars_on_device = p->scalars};
    Gemm g = gemm_of(p, s, a, b, d);
    g.alpha = alpha, g.beta = beta;
    status = begin(&h, p, s, beta, c, d);
    if (status == BLAS_SUCCESS) status = gemm_submit(&h, &g);
    return status ? status : epilogue(&h, p, d, ld);
}

/* --- algorithms: there is one --- */

typedef struct Heuristic { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} Heuristic;

EXPORT(cublasLtMatmulAlgoGetHeuristic, void *lt, const LtProduct *p, const LtLayout *a,
       const LtLayout *b, const LtLayout *c, const LtLayout *d, const LtPreference *preference,
       int wanted, Heuristic *out, int *found) {
    (void)preference;
    if (lt == NULL) return BLAS_NOT_INITIALIZED;
    if (out == NULL || found == NULL || wanted < 1) return BLAS_INVALID_VALUE;
    BlasStatus status = checked(p, (Sides){a, b, c, d});
    *found = status == BLAS_SUCCESS;
    if (*found) *out = (Heuristic){.waves = 1};
    return status;
}

#define MISSING(F)                                                                                \
    F(cublasLtEmulationDescCreate) F(cublasLtEmulationDescDestroy)                                \
    F(cublasLtEmulationDescGetAttribute) F(cublasLtEmulationDescInit_internal)                    \
    F(cublasLtEmulationDescSetAttribute) F(cublasLtHeuristicsCacheGetCapacity)                    \
    F(cublasLtMatmulAlgoCapGetAttribute) F(cublasLtMatmulAlgoCheck)                               \
    F(cublasLtMatmulAlgoConfigGetAttribute) F(cublasLtMatmulAlgoConfigSetAttribute)               \
    F(cublasLtMatmulAlgoGetIds) F(cublasLtMatmulAlgoInit) F(cublasLtMatrixTransform)              \
    F(cublasLtMatrixTransformDescCreate) F(cublasLtMatrixTransformDescDestroy)                    \
    F(cublasLtMatrixTransformDescGetAttribute) F(cublasLtMatrixTransformDescInit_internal)        \
    F(cublasLtMatrixTransformDescSetAttribute)

#define F(name) STANDIN_MISSING(name, "CUBLAS_STATUS_NOT_SUPPORTED", BLAS_NOT_SUPPORTED)
MISSING(F)
