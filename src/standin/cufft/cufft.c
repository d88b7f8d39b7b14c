/* cufft.c - libcufft.so.12 (and .11) for the virtual GPU: cuFFT's plans over FFTW.
**
** FFTW's plan of many transforms takes what cufftPlanMany takes, in the same order and layout: n,
** then of each side its embedding, stride and distance (cuFFT's documentation, "Advanced Data
** Layout"). FFTW is found at run time: libfftw3f.so.3 for floats, libfftw3.so.3 for doubles. A plan
** of FFTW is made when cuFFT's runs, for the memory that it runs on.
*/
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "standin/shared/standin.h"

typedef enum Result { /* cufftResult */
    FFT_SUCCESS = 0,
    FFT_INVALID_PLAN = 1,
    FFT_INVALID_TYPE = 3,
    FFT_INVALID_VALUE = 4,
    FFT_EXEC_FAILED = 6,
    FFT_SETUP_FAILED = 7,
    FFT_INVALID_SIZE = 8,
    FFT_NOT_IMPLEMENTED = 14
} Result;

/* cufftType: which sides are real; the second letters are of doubles. */
enum { R2C = 0x2a, C2R = 0x2c, C2C = 0x29, D2Z = 0x6a, Z2D = 0x6c, Z2Z = 0x69 };

enum { DIMENSIONS = 3, PLANS = 4096 };

typedef struct Layout {
    int embed[DIMENSIONS]; /* of the memory that a transform lies in */
    int stride, distance;  /* elements between neighbours, between transforms */
} Layout;

typedef struct Plan {
    bool is_made, is_advanced;
    int type, rank, batch;
    int n[DIMENSIONS];
    Layout in, out; /* where is_advanced */
    void *stream;
} Plan;

static Plan *plans[PLANS]; /* handles are indices + 1 */

static Plan *plan_of(int handle) {
    return handle > 0 && handle <= PLANS ? plans[handle - 1] : NULL;
}

/* --- FFTW --- */

typedef void *PlanComplex(int rank, const int *n, int batch, void *in, const int *in_embed,
                          int in_stride, int in_distance, void *out, const int *out_embed,
                          int out_stride, int out_distance, int sign, unsigned flags);
typedef void *PlanReal(int rank, const int *n, int batch, void *in, const int *in_embed,
                       int in_stride, int in_distance, void *out, const int *out_embed,
                       int out_stride, int out_distance, unsigned flags);
enum { ESTIMATE = 1 << 6 };

typedef struct Fftw {
    PlanComplex *complex_;
    PlanReal *to_complex, *to_real;
    void (*execute)(void *plan);
    void (*destroy)(void *plan);
} Fftw;

static void *symbol(void *library, const char *prefix, const char *name) {
    char whole[64] = "";
    strcat(strcat(whole, prefix), name);
    return dlsym(library, whole);
}

static bool load(Fftw *f, const char *file, const char *prefix) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        gilua_work_missing("cuFFT is computed by FFTW, which this machine has not: install "
                           "libfftw3-single3 and libfftw3-double3");
        return false;
    }
    f->complex_ = (PlanComplex *)symbol(library, prefix, "plan_many_dft");
    f->to_complex = (PlanReal *)symbol(library, prefix, "plan_many_dft_r2c");
    f->to_real = (PlanReal *)symbol(library, prefix, "plan_many_dft_c2r");
    f->execute = (void (*)(void *))symbol(library, prefix, "execute");
    f->destroy = (void (*)(void *))symbol(library, prefix, "destroy_plan");
    return f->complex_ && f->to_complex && f->to_real && f->execute && f->destroy;
}

static bool is_double(int type) {
    return type >= Z2Z;
}

/* NULL where this machine has no FFTW. */
static const Fftw *fftw_of(int type) {
    static Fftw of[2];
    Fftw *f = &of[is_double(type)];
    if (f->execute) return f;
    bool ok = is_double(type) ? load(f, "libfftw3.so.3", "fftw_")
                              : load(f, "libfftw3f.so.3", "fftwf_");
    return ok ? f : NULL;
}

/* --- layouts --- */

static bool is_real(int type, bool output) {
    return output ? type == C2R || type == Z2D : type == R2C || type == D2Z;
}

/* The numbers of one dimension on a side: of reals n, of their transform half of it. */
static int extent(const Plan *p, bool output, int d) {
    bool halved = p->type != C2C && p->type != Z2Z && !is_real(p->type, output);
    return halved && d == p->rank - 1 ? p->n[d] / 2 + 1 : p->n[d];
}

/* Without gaps; reals that are transformed in place are as far apart as their complex numbers. */
static Layout plain_layout(const Plan *p, bool output, bool in_place) {
    Layout l = {.stride = 1, .distance = 1};
    for (int d = 0; d < p->rank; d++) {
        bool padded = in_place && is_real(p->type, output) && d == p->rank - 1;
        l.embed[d] = padded ? 2 * (p->n[d] / 2 + 1) : extent(p, output, d);
        l.distance *= l.embed[d];
    }
    return l;
}

static Layout layout(const Plan *p, bool output, bool in_place) {
    if (p->is_advanced) return output ? p->out : p->in;
    return plain_layout(p, output, in_place);
}

static size_t element(int type, bool output) {
    size_t real = is_double(type) ? sizeof(double) : sizeof(float);
    return is_real(type, output) ? real : 2 * real;
}

/* Elements from the first to the last of a transform. */
static size_t span(const Plan *p, const Layout *l, bool output) {
    size_t last = 0;
    for (int d = 0; d < p->rank; d++) {
        size_t row = d ? (size_t)l->embed[d] : 1;
        last = last * row + (size_t)extent(p, output, d) - 1;
    }
    return last * (size_t)l->stride + 1;
}

/* --- running --- */

typedef struct Run {
    Plan plan;
    const void *in;
    void *out;
    int sign;
} Run;

/* The bytes of all transforms: what lies between them is not looked at. */
static void *memory(const Plan *p, const void *at, const Layout *l, bool output, WorkAccess how) {
    size_t size = element(p->type, output);
    return gilua_work_memory(at, span(p, l, output) * size, (size_t)l->distance * size,
                             (size_t)p->batch, how);
}

static void *make(const Fftw *f, const Run *r, const Layout *in, const Layout *out, void *from,
                  void *to) {
    const Plan *p = &r->plan;
    if (p->type == C2C || p->type == Z2Z)
        return f->complex_(p->rank, p->n, p->batch, from, in->embed, in->stride, in->distance, to,
                           out->embed, out->stride, out->distance, r->sign, ESTIMATE);
    PlanReal *real = is_real(p->type, true) ? f->to_real : f->to_complex;
    return real(p->rank, p->n, p->batch, from, in->embed, in->stride, in->distance, to, out->embed,
                out->stride, out->distance, ESTIMATE);
}

/* FFTW destroys what it transforms to reals; cuFFT's caller keeps it. */
static void *own_copy(const Plan *p, const Layout *in, const void *from) {
    size_t size = element(p->type, false);
    size_t bytes = ((size_t)(p->batch - 1) * (size_t)in->distance + span(p, in, false)) * size;
    void *copy = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return copy ? memcpy(copy, from, bytes) : NULL;
}

static bool run(const void *args) {
    const Run *r = args;
    const Plan *p = &r->plan;
    const Fftw *f = fftw_of(p->type);
    bool in_place = r->in == r->out, copies = is_real(p->type, true) && !in_place;
    Layout in = layout(p, false, in_place), out = layout(p, true, in_place);
    void *from = memory(p, r->in, &in, false, WORK_READS);
    void *to = from ? memory(p, r->out, &out, true, WORK_WRITES) : NULL;
    if (!(f && to)) return false;
    void *copy = copies ? own_copy(p, &in, from) : NULL;
    void *plan = copies && !copy ? NULL : make(f, r, &in, &out, copy ? copy : from, to);
    if (plan) f->execute(plan), f->destroy(plan);
    free(copy);
    return plan != NULL;
}

static double operations(const Plan *p) {
    double n = p->batch;
    for (int d = 0; d < p->rank; d++) n *= p->n[d];
    return n > 1 ? 5 * n * log2(n / p->batch) : 0; /* as FFTW's authors count */
}

static Result execute(int handle, int type, const void *in, void *out, int sign, const char *name) {
    const Plan *p = plan_of(handle);
    if (p == NULL || !p->is_made) return FFT_INVALID_PLAN;
    if (p->type != type) return FFT_INVALID_TYPE;
    if (in == NULL || out == NULL || (sign != -1 && sign != 1)) return FFT_INVALID_VALUE;
    Run r = {*p, in, out, sign};
    Work w = {.name = name,
              .run = run,
              .args = &r,
              .size = sizeof r,
              .operations = operations(p),
              .is_double = is_double(type)};
    return gilua_work(p->stream, &w) == 0 ? FFT_SUCCESS : FFT_EXEC_FAILED;
}

#define EXECUTES(type)                                                                  \
    EXPORT(cufftExec##type, int handle, const void *in, void *out) {                    \
        return execute(handle, type, in, out, is_real(type, true) ? 1 : -1, __func__);  \
    }
#define EXECUTES_BOTH_WAYS(type)                                                        \
    EXPORT(cufftExec##type, int handle, const void *in, void *out, int direction) {     \
        return execute(handle, type, in, out, direction, __func__);                     \
    }
EXECUTES_BOTH_WAYS(C2C)
EXECUTES_BOTH_WAYS(Z2Z)
EXECUTES(R2C)
EXECUTES(C2R)
EXECUTES(D2Z)
EXECUTES(Z2D)

/* --- plans --- */

EXPORT(cufftCreate, int *handle) {
    if (handle == NULL) return FFT_INVALID_VALUE;
    for (int i = 0; i < PLANS; i++)
        if (plans[i] == NULL) {
            plans[i] = calloc(1, sizeof *plans[i]);
            *handle = i + 1;
            return plans[i] ? FFT_SUCCESS : FFT_SETUP_FAILED;
        }
    return FFT_SETUP_FAILED;
}

EXPORT(cufftDestroy, int handle) {
    if (plan_of(handle) == NULL) return FFT_INVALID_PLAN;
    free(plans[handle - 1]);
    plans[handle - 1] = NULL;
    return FFT_SUCCESS;
}

static bool is_type(int type) {
    return type == R2C || type == C2R || type == C2C || type == D2Z || type == Z2D || type == Z2Z;
}

/* embed NULL: the plain layout. */
static Layout given(const Plan *p, const int *embed, int stride, int distance) {
    Layout l = {.stride = stride, .distance = distance};
    for (int d = 0; d < p->rank; d++) l.embed[d] = embed[d];
    return l;
}

typedef struct Side {
    const int *embed;
    int stride, distance;
} Side;

static Result make_plan(int handle, int rank, const int *n, Side in, Side out, int type, int batch,
                        size_t *bytes) {
    Plan *p = plan_of(handle);
    if (p == NULL || p->is_made) return FFT_INVALID_PLAN;
    if (!is_type(type)) return FFT_INVALID_TYPE;
    if (rank < 1 || rank > DIMENSIONS || batch < 1 || n == NULL) return FFT_INVALID_SIZE;
    for (int d = 0; d < rank; d++)
        if (n[d] < 1) return FFT_INVALID_SIZE;
    if (fftw_of(type) == NULL) return FFT_SETUP_FAILED;
    p->type = type, p->rank = rank, p->batch = batch;
    memcpy(p->n, n, (size_t)rank * sizeof *n);
    p->is_advanced = in.embed && out.embed;
    if (p->is_advanced) {
        p->in = given(p, in.embed, in.stride, in.distance);
        p->out = given(p, out.embed, out.stride, out.distance);
    }
    p->is_made = true;
    if (bytes) *bytes = 0;
    return FFT_SUCCESS;
}

EXPORT(cufftMakePlanMany, int handle, int rank, int *n, int *in_embed, int in_stride,
       int in_distance, int *out_embed, int out_stride, int out_distance, int type, int batch,
       size_t *bytes) {
    return make_plan(handle, rank, n, (Side){in_embed, in_stride, in_distance},
                     (Side){out_embed, out_stride, out_distance}, type, batch, bytes);
}
EXPORT(cufftMakePlan1d, int handle, int x, int type, int batch, size_t *bytes) {
    return make_plan(handle, 1, (int[]){x}, (Side){0}, (Side){0}, type, batch, bytes);
}
EXPORT(cufftMakePlan2d, int handle, int x, int y, int type, size_t *bytes) {
    return make_plan(handle, 2, (int[]){x, y}, (Side){0}, (Side){0}, type, 1, bytes);
}
EXPORT(cufftMakePlan3d, int handle, int x, int y, int z, int type, size_t *bytes) {
    return make_plan(handle, 3, (int[]){x, y, z}, (Side){0}, (Side){0}, type, 1, bytes);
}

/* The plan's handle, or nothing where making it failed. */
#define PLAN(call)                                    \
    int result = cufftCreate(handle);                 \
    if (result == FFT_SUCCESS) result = call;         \
    if (result != FFT_SUCCESS && handle) cufftDestroy(*handle); \
    return result
EXPORT(cufftPlanMany, int *handle, int rank, int *n, int *in_embed, int in_stride, int in_distance,
       int *out_embed, int out_stride, int out_distance, int type, int batch) {
    PLAN(cufftMakePlanMany(*handle, rank, n, in_embed, in_stride, in_distance, out_embed,
                           out_stride, out_distance, type, batch, NULL));
}
EXPORT(cufftPlan1d, int *handle, int x, int type, int batch) {
    PLAN(cufftMakePlan1d(*handle, x, type, batch, NULL));
}
EXPORT(cufftPlan2d, int *handle, int x, int y, int type) {
    PLAN(cufftMakePlan2d(*handle, x, y, type, NULL));
}
EXPORT(cufftPlan3d, int *handle, int x, int y, int z, int type) {
    PLAN(cufftMakePlan3d(*handle, x, y, z, type, NULL));
}

EXPORT(cufftSetStream, int handle, void *stream) {
    Plan *p = plan_of(handle);
    if (p) p->stream = stream;
    return p ? FFT_SUCCESS : FFT_INVALID_PLAN;
}

/* --- queries: no work area is needed --- */

EXPORT(cufftSetWorkArea, int handle, void *area) {
    (void)area;
    return plan_of(handle) ? FFT_SUCCESS : FFT_INVALID_PLAN;
}
EXPORT(cufftSetAutoAllocation, int handle, int on) {
    (void)on;
    return plan_of(handle) ? FFT_SUCCESS : FFT_INVALID_PLAN;
}
EXPORT(cufftGetSize, int handle, size_t *bytes) {
    if (bytes) *bytes = 0;
    return plan_of(handle) ? FFT_SUCCESS : FFT_INVALID_PLAN;
}
EXPORT(cufftEstimate1d, int x, int type, int batch, size_t *bytes) {
    (void)x, (void)type, (void)batch;
    return bytes ? (*bytes = 0, FFT_SUCCESS) : FFT_INVALID_VALUE;
}
EXPORT(cufftEstimate2d, int x, int y, int type, size_t *bytes) {
    (void)x, (void)y, (void)type;
    return bytes ? (*bytes = 0, FFT_SUCCESS) : FFT_INVALID_VALUE;
}
EXPORT(cufftEstimate3d, int x, int y, int z, int type, size_t *bytes) {
    (void)x, (void)y, (void)z, (void)type;
    return bytes ? (*bytes = 0, FFT_SUCCESS) : FFT_INVALID_VALUE;
}
EXPORT(cufftGetVersion, int *version) {
    return version ? (*version = 12000, FFT_SUCCESS) : FFT_INVALID_VALUE;
}
EXPORT(cufftGetProperty, int part, int *value) {
    if (value == NULL || part < 0 || part > 2) return FFT_INVALID_VALUE;
    *value = part == 0 ? 12 : 0;
    return FFT_SUCCESS;
}

/* --- what is missing --- */

#define MISSING(F)                                                                              \
    F(cufftDebug) F(cufftEstimateMany) F(cufftGetPlanPropertyInt64) F(cufftGetSize1d)           \
    F(cufftGetSize2d) F(cufftGetSize3d) F(cufftGetSizeMany) F(cufftGetSizeMany64)               \
    F(cufftMakePlanMany64) F(cufftResetPlanProperty) F(cufftSetPlanPropertyInt64)               \
    F(cufftXtClearCallback) F(cufftXtExec) F(cufftXtExecDescriptor) F(cufftXtExecDescriptorC2C) \
    F(cufftXtExecDescriptorC2R) F(cufftXtExecDescriptorD2Z) F(cufftXtExecDescriptorR2C)         \
    F(cufftXtExecDescriptorZ2D) F(cufftXtExecDescriptorZ2Z) F(cufftXtFree)                      \
    F(cufftXtGetSizeMany) F(cufftXtMakePlanGuru64) F(cufftXtMakePlanMany) F(cufftXtMalloc)     \
    F(cufftXtMemcpy)                                                                            \
    F(cufftXtQueryPlan) F(cufftXtSetCallback) F(cufftXtSetCallbackSharedSize) F(cufftXtSetGPUs) \
    F(cufftXtSetJITCallback) F(cufftXtSetWorkArea) F(cufftXtSetWorkAreaPolicy)
#define F(name) STANDIN_MISSING(name, "CUFFT_NOT_IMPLEMENTED", FFT_NOT_IMPLEMENTED)
MISSING(F)
