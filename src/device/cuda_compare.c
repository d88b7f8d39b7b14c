/* cuda_compare.c - answers compared on the GPU: 48 bytes come back instead of the whole output. */
#include "device/cuda.h"

#include <math.h>

enum { ANSWERS_PER_BLOCK = 2048 }; /* CHUNK in the helpers */

typedef struct Part { /* as the helper kernels see it */
    double max, sum;
    int64_t finite, wrong, unset, first;
} Part;

static bool check(const Array *g, const Array *e, int width, int used, gi_err *err) {
    if (g->type != e->type)
        return gi_fail(err, "usage",
                       "cannot compare %s answers with %s expected ones: make both of one type",
                       array_type_name(g->type), array_type_name(e->type));
    if (g->count != e->count)
        return gi_fail(err, "usage", "cannot compare %lld answers with %lld expected ones",
                       (long long)g->count, (long long)e->count);
    if (width < 1 || g->count % width != 0)
        return gi_fail(err, "usage", "%lld elements do not divide into answers of width %d",
                       (long long)g->count, width);
    if (used < 1 || used > width)
        return gi_fail(err, "usage", "used must be 1 to %d (the width), not %d", width, used);
    return true;
}

static int queue(CudaDevice *d, const CudaComparer *c, DeviceBuffer *got, DeviceBuffer *expected,
                 int width, int used, double limit, int64_t answers) {
    int64_t n = (answers + ANSWERS_PER_BLOCK - 1) / ANSWERS_PER_BLOCK;
    CuPointer total = d->parts.address, parts = total + sizeof(Part);
    uint64_t key = ((CudaBuffer *)expected)->block->key;
    void *compare[] = {&got->address, &expected->address, &answers, &width, &used, &limit, &parts,
                       &key};
    void *sum[] = {&parts, &n, &total};
    int code = cuda_help(d, c->compare, (unsigned)n, compare);
    return code == CU_OK ? cuda_help(d, c->total, 1, sum) : code;
}

static Comparison comparison_of(const Part *p, int64_t answers) {
    double n = (double)answers;
    return (Comparison){
        .n = answers,
        .max_error = p->max,
        .mean_error = p->finite ? p->sum / (double)p->finite : (double)INFINITY,
        .wrong = (double)p->wrong / n,
        .unset = (double)p->unset / n,
        .first_wrong = p->first,
    };
}

bool cuda_compare(DeviceBuffer *got, DeviceBuffer *expected, const CompareOptions *options,
                  Comparison *out, gi_err *err) {
    CudaDevice *d = cuda_of(got->device);
    const int width = options->width ? options->width : 1;
    const int used = options->used ? options->used : width;
    Part part;
    if (!check(got->array, expected->array, width, used, err) || !cuda_enter(d, err)) return false;
    int64_t answers = got->array->count / width;
    size_t parts = (size_t)(answers / ANSWERS_PER_BLOCK) + 2;
    if (parts > INT32_MAX)
        return gi_fail(err, "usage", "%lld answers are too many to compare", (long long)answers);
    if (!cuda_scratch(d, &d->parts, parts * sizeof(Part), err)) return false;
    const CudaComparer *c = cuda_comparer(d, got->array->type, err);
    if (c == NULL) return false;
    int code = queue(d, c, got, expected, width, used, options->limit, answers);
    if (!cuda_ok(d, code, "compare answers", err)) return false;
    if (!cuda_download(d, &part, d->parts.address, sizeof part, err)) return false;
    *out = comparison_of(&part, answers);
    return true;
}
