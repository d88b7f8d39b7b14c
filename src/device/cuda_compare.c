/* cuda_compare.c - answers compared on the GPU: 80 bytes come back instead of the whole output. */
#include "device/cuda.h"

#include <math.h>

enum { ANSWERS_PER_BLOCK = 2048 }; /* CHUNK in the helpers */

typedef struct Part { /* as the helper kernels see it */
    double max, sum, penalty;
    int64_t finite, off, wrong, unset, nan, first, counted;
} Part;

static int queue(CudaDevice *d, const CudaComparer *c, DeviceBuffer *got, DeviceBuffer *expected,
                 CompareOptions *o, int64_t answers) {
    int64_t n = (answers + ANSWERS_PER_BLOCK - 1) / ANSWERS_PER_BLOCK;
    CuPointer total = d->parts.address, parts = total + sizeof(Part);
    uint64_t key = ((CudaBuffer *)expected)->block->key;
    void *compare[] = {&got->address, &expected->address, &answers,      &o->width,
                       &o->from,      &o->used,           &o->max_error, &o->rel_error,
                       &o->limit,     &parts,             &key,          &o->penalty};
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
        .off = (double)p->off / n,
        .wrong = (double)p->wrong / n,
        .unset = (double)p->unset / n,
        .nan = (double)p->nan / n,
        .first_wrong = p->first,
        .counted = p->counted,
        .penalty = p->counted ? p->penalty / (double)p->counted : 0,
    };
}

bool cuda_compare(DeviceBuffer *got, DeviceBuffer *expected, const CompareOptions *options,
                  Comparison *out, gi_err *err) {
    CudaDevice *d = cuda_of(got->device);
    CompareOptions o;
    Part part;
    if (!array_compare_options(got->array, expected->array, options, &o, err)) return false;
    if (!cuda_enter(d, err)) return false;
    ArrayType as = o.viewed ? o.as : got->array->type;
    int64_t answers = (int64_t)(got->array->size_bytes / array_type_size(as)) / o.width;
    size_t parts = (size_t)(answers / ANSWERS_PER_BLOCK) + 2;
    if (parts > INT32_MAX)
        return gi_fail(err, "usage", "%lld answers are too many to compare", (long long)answers);
    if (!cuda_scratch(d, &d->parts, parts * sizeof(Part), err)) return false;
    const CudaComparer *c = cuda_comparer(d, as, err);
    if (c == NULL) return false;
    int code = queue(d, c, got, expected, &o, answers);
    if (!cuda_ok(d, code, "compare answers", err)) return false;
    if (!cuda_download(d, &part, d->parts.address, sizeof part, err)) return false;
    *out = comparison_of(&part, answers);
    return true;
}
