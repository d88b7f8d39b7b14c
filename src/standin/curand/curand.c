/* curand.c - libcurand.so.10 for the virtual GPU: cuRAND's host API.
**
** XORWOW, MRG32k3a and Philox 4x32-10 are computed here (numbers.h), in their default, best and
** legacy orderings; "dynamic", which a GPU may choose, is the default one. The other generators
** need tables that no formula gives (MTGP32's parameters, Sobol's direction vectors), or are not
** documented (the "seeded" ordering, Poisson's small lambdas). They are NVIDIA's own, which compute
** on the host, where CUDA's toolkit is on this machine; elsewhere they end with a sentence.
*/
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "standin/curand/numbers.h"
#include "standin/shared/standin.h"

typedef enum Status { /* curandStatus */
    RAND_SUCCESS = 0,
    RAND_NOT_INITIALIZED = 101,
    RAND_ALLOCATION_FAILED = 102,
    RAND_TYPE_ERROR = 103,
    RAND_OUT_OF_RANGE = 104,
    RAND_LENGTH_NOT_MULTIPLE = 105,
    RAND_LAUNCH_FAILURE = 201,
    RAND_INITIALIZATION_FAILED = 203
} Status;

/* curandRngType, curandOrdering */
enum { PSEUDO_DEFAULT = 100, MTGP32 = 141, MT19937 = 142, QUASI_DEFAULT = 200, SOBOL32,
       SCRAMBLED_32, SOBOL64, SCRAMBLED_64 };
enum { BEST = 100, DEFAULT, SEEDED, LEGACY, DYNAMIC, QUASI_ORDER = 201 };
enum { LANES_XORWOW = 4096, LANES_MRG = 81920, LANES_LEGACY = 4096, LANES_PHILOX = 65536,
       DIMENSIONS = 20000 };

typedef enum Form { BITS, LONG_LONG, UNIFORM, UNIFORM_DOUBLE, NORMAL, NORMAL_DOUBLE, LOG_NORMAL,
                    LOG_NORMAL_DOUBLE, POISSON } Form;

/* The least lambda whose numbers are rounded normal ones. */
static const double POISSON_IS_NORMAL = 2000;

typedef struct Generator {
    int type, order;
    uint64_t seed, offset;
    unsigned dimensions;
    void *stream;
    bool on_host, is_started, is_ended;
    Numbers own;
    void *nvidia; /* its generator, NULL: own */
} Generator;

static bool is_quasi(const Generator *g) {
    return g->type > QUASI_DEFAULT;
}

/* --- NVIDIA's --- */

WORK_API int curandCreateGeneratorHost(Generator **out, int type);

static struct {
    int (*create)(void **, int);
    int (*destroy)(void *);
    int (*seed)(void *, unsigned long long), (*offset)(void *, unsigned long long);
    int (*order)(void *, int);
    int (*dimensions)(void *, unsigned);
    int (*fill[POISSON + 1])(void *, void *, size_t);
    int (*normal)(void *, float *, size_t, float, float);
    int (*log_normal)(void *, float *, size_t, float, float);
    int (*normal_double)(void *, double *, size_t, double, double);
    int (*log_normal_double)(void *, double *, size_t, double, double);
    int (*poisson)(void *, unsigned *, size_t, double);
    void *library;
} nvidia;

static void *nvidia_symbol(const char *name) {
    if (nvidia.library == NULL)
        nvidia.library = standin_nvidia("libcurand.so.10", "curandCreateGeneratorHost",
                                        (void *)curandCreateGeneratorHost);
    void *found = nvidia.library ? dlsym(nvidia.library, name) : NULL;
    if (found == NULL)
        gilua_work_missing("this cuRAND generator, ordering or distribution is computed by "
                           "NVIDIA's own libcurand.so.10, which is not on this machine: install "
                           "CUDA's toolkit, or use XORWOW, MRG32k3a or Philox");
    return found;
}

static bool has_nvidia(void) {
    if (nvidia.poisson) return true;
    const struct { void *slot; const char *name; } wanted[] = {
        {&nvidia.create, "curandCreateGeneratorHost"},
        {&nvidia.destroy, "curandDestroyGenerator"},
        {&nvidia.seed, "curandSetPseudoRandomGeneratorSeed"},
        {&nvidia.offset, "curandSetGeneratorOffset"},
        {&nvidia.order, "curandSetGeneratorOrdering"},
        {&nvidia.dimensions, "curandSetQuasiRandomGeneratorDimensions"},
        {&nvidia.fill[BITS], "curandGenerate"},
        {&nvidia.fill[LONG_LONG], "curandGenerateLongLong"},
        {&nvidia.fill[UNIFORM], "curandGenerateUniform"},
        {&nvidia.fill[UNIFORM_DOUBLE], "curandGenerateUniformDouble"},
        {&nvidia.normal, "curandGenerateNormal"},
        {&nvidia.log_normal, "curandGenerateLogNormal"},
        {&nvidia.normal_double, "curandGenerateNormalDouble"},
        {&nvidia.log_normal_double, "curandGenerateLogNormalDouble"},
        {&nvidia.poisson, "curandGeneratePoisson"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = nvidia_symbol(wanted[i].name);
        if (found == NULL) return false;
        memcpy(wanted[i].slot, &found, sizeof found);
    }
    return true;
}

static Status nvidia_start(Generator *g) {
    if (!has_nvidia()) return RAND_INITIALIZATION_FAILED;
    int status = nvidia.create(&g->nvidia, g->type);
    if (status == 0) status = nvidia.order(g->nvidia, g->order == DYNAMIC ? DEFAULT : g->order);
    if (status == 0 && is_quasi(g)) status = nvidia.dimensions(g->nvidia, g->dimensions);
    if (status == 0 && !is_quasi(g)) status = nvidia.seed(g->nvidia, g->seed);
    if (status == 0 && g->offset) status = nvidia.offset(g->nvidia, g->offset);
    return (Status)status;
}

static int nvidia_fill(void *h, Form form, void *out, size_t n, double a, double b) {
    switch (form) {
    case NORMAL: return nvidia.normal(h, out, n, (float)a, (float)b);
    case LOG_NORMAL: return nvidia.log_normal(h, out, n, (float)a, (float)b);
    case NORMAL_DOUBLE: return nvidia.normal_double(h, out, n, a, b);
    case LOG_NORMAL_DOUBLE: return nvidia.log_normal_double(h, out, n, a, b);
    case POISSON: return nvidia.poisson(h, out, n, a);
    default: return nvidia.fill[form](h, out, n);
    }
}

/* --- starting --- */

static uint32_t lanes_of(const Generator *g) {
    switch (g->type) {
    case NUMBERS_XORWOW: return LANES_XORWOW;
    case NUMBERS_MRG32K3A: return g->order == LEGACY ? LANES_LEGACY : LANES_MRG;
    default: return LANES_PHILOX;
    }
}

static bool is_own(const Generator *g) {
    bool is_known = g->type == NUMBERS_XORWOW || g->type == NUMBERS_MRG32K3A ||
                    g->type == NUMBERS_PHILOX;
    return is_known && g->order != SEEDED;
}

static Status start(Generator *g, bool own) {
    Status status = RAND_SUCCESS;
    if (!own) status = nvidia_start(g);
    else if (!numbers_start(&g->own, (NumbersType)g->type, lanes_of(g), g->seed, g->offset))
        status = RAND_ALLOCATION_FAILED;
    g->is_started = status == RAND_SUCCESS;
    return status;
}

static void stop(Generator *g) {
    if (g->nvidia) nvidia.destroy(g->nvidia);
    numbers_end(&g->own);
    g->nvidia = NULL, g->is_started = false;
}

/* --- filling --- */

static size_t size_of(Form form) {
    bool wide = form == LONG_LONG || form == UNIFORM_DOUBLE || form == NORMAL_DOUBLE ||
                form == LOG_NORMAL_DOUBLE;
    return wide ? 8 : 4;
}

static NumbersKind kind_of(Form form) {
    switch (form) {
    case UNIFORM: return NUMBERS_UNIFORM;
    case UNIFORM_DOUBLE: return NUMBERS_UNIFORM_DOUBLE;
    case NORMAL: case LOG_NORMAL: return NUMBERS_NORMAL;
    case NORMAL_DOUBLE: case LOG_NORMAL_DOUBLE: return NUMBERS_NORMAL_DOUBLE;
    default: return NUMBERS_BITS;
    }
}

/* Moves normal numbers to their mean and deviation. */
static void shape(Form form, void *out, size_t n, double mean, double deviation) {
    float *f = out, m = (float)mean, s = (float)deviation;
    double *d = out;
    for (size_t i = 0; i < n; i++) switch (form) {
        case NORMAL: f[i] = f[i] * s + m; break;
        case LOG_NORMAL: f[i] = expf(f[i] * s + m); break;
        case NORMAL_DOUBLE: d[i] = d[i] * deviation + mean; break;
        case LOG_NORMAL_DOUBLE: d[i] = exp(d[i] * deviation + mean); break;
        default: return;
        }
}

/* Each is a normal number, rounded: of XORWOW and MRG32k3a a pair's first, of Philox any. */
static bool fill_poisson(Generator *g, uint32_t *out, size_t n, double lambda) {
    size_t step = g->type == NUMBERS_PHILOX ? 1 : 2;
    float *normal = malloc((n * step + 1) * sizeof *normal);
    if (normal == NULL) return false;
    numbers_fill(&g->own, NUMBERS_NORMAL, normal, n * step);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint32_t)floor((double)normal[i * step] * sqrt(lambda) + lambda + 0.5);
    free(normal);
    return true;
}

static bool fill(Generator *g, Form form, void *out, size_t n, double a, double b) {
    if (g->nvidia) return nvidia_fill(g->nvidia, form, out, n, a, b) == 0;
    if (form == POISSON) return fill_poisson(g, out, n, a);
    numbers_fill(&g->own, kind_of(form), out, n);
    shape(form, out, n, a, b);
    return true;
}

typedef struct Run {
    Generator *g;
    Form form;
    void *out;
    size_t n;
    double a, b;
} Run;

static bool run(const void *args) {
    const Run *r = args;
    void *out = gilua_work_memory(r->out, r->n * size_of(r->form), 0, 1, WORK_WRITES);
    return out && !r->g->is_ended && fill(r->g, r->form, out, r->n, r->a, r->b);
}

static Status check(const Generator *g, Form form, size_t n) {
    bool is_64 = g->type == SOBOL64 || g->type == SCRAMBLED_64;
    bool is_pair = form >= NORMAL && form <= LOG_NORMAL_DOUBLE && !is_quasi(g);
    if (form == LONG_LONG ? !is_64 : form == BITS && is_64) return RAND_TYPE_ERROR;
    if (is_quasi(g) ? n % g->dimensions : is_pair && n % 2) return RAND_LENGTH_NOT_MULTIPLE;
    return RAND_SUCCESS;
}

/* a, b: mean and deviation, or lambda. */
static Status generate(Generator *g, Form form, void *out, size_t n, double a, double b,
                       const char *name) {
    if (g == NULL || g->is_ended) return RAND_NOT_INITIALIZED;
    Status status = check(g, form, n);
    if (status != RAND_SUCCESS) return status;
    if (form == POISSON && !(a > 0)) return RAND_OUT_OF_RANGE;
    bool own = is_own(g) && (form != POISSON || a >= POISSON_IS_NORMAL);
    if (!g->is_started) status = start(g, own);
    else if (!own && !g->nvidia) {
        gilua_work_missing("cuRAND's Poisson numbers of a lambda below 2000 come out of a "
                           "generator that gave other numbers before, which is not supported "
                           "here: use one for them alone");
        return RAND_TYPE_ERROR;
    }
    if (status != RAND_SUCCESS || n == 0) return status;
    if (g->on_host) return fill(g, form, out, n, a, b) ? RAND_SUCCESS : RAND_ALLOCATION_FAILED;
    Run r = {g, form, out, n, a, b};
    double operations = 20.0 * (double)n; /* about */
    Work w = {.name = name, .run = run, .args = &r, .size = sizeof r, .operations = operations};
    return gilua_work(g->stream, &w) == 0 ? RAND_SUCCESS : RAND_LAUNCH_FAILURE;
}

#define GENERATES(name, type, form)                                     \
    EXPORT(curandGenerate##name, Generator *g, type *out, size_t n) {   \
        return generate(g, form, out, n, 0, 1, __func__);               \
    }
#define GENERATES_NORMAL(name, type, form)                                                        \
    EXPORT(curandGenerate##name, Generator *g, type *out, size_t n, type mean, type deviation) {  \
        return generate(g, form, out, n, (double)mean, (double)deviation, __func__);              \
    }
GENERATES(, unsigned, BITS)
GENERATES(LongLong, unsigned long long, LONG_LONG)
GENERATES(Uniform, float, UNIFORM)
GENERATES(UniformDouble, double, UNIFORM_DOUBLE)
GENERATES_NORMAL(Normal, float, NORMAL)
GENERATES_NORMAL(NormalDouble, double, NORMAL_DOUBLE)
GENERATES_NORMAL(LogNormal, float, LOG_NORMAL)
GENERATES_NORMAL(LogNormalDouble, double, LOG_NORMAL_DOUBLE)
EXPORT(curandGeneratePoisson, Generator *g, unsigned *out, size_t n, double lambda) {
    return generate(g, POISSON, out, n, lambda, 0, __func__);
}

/* --- generators and their settings --- */

static bool is_type(int type) {
    return type == NUMBERS_XORWOW || type == NUMBERS_MRG32K3A || type == MTGP32 ||
           type == MT19937 || type == NUMBERS_PHILOX || (type >= SOBOL32 && type <= SCRAMBLED_64);
}

static Status create(Generator **out, int type, bool on_host) {
    if (type == PSEUDO_DEFAULT) type = NUMBERS_XORWOW;
    if (type == QUASI_DEFAULT) type = SOBOL32;
    if (out == NULL || !is_type(type)) return RAND_TYPE_ERROR;
    Generator *g = calloc(1, sizeof *g);
    if (g == NULL) return RAND_ALLOCATION_FAILED;
    *g = (Generator){.type = type, .dimensions = 1, .on_host = on_host};
    g->order = is_quasi(g) ? QUASI_ORDER : DEFAULT;
    *out = g;
    return RAND_SUCCESS;
}

EXPORT(curandCreateGenerator, Generator **out, int type) {
    return create(out, type, false);
}
EXPORT(curandCreateGeneratorHost, Generator **out, int type) {
    return create(out, type, true);
}

/* It stays, without its numbers: a graph may still call it. */
EXPORT(curandDestroyGenerator, Generator *g) {
    if (g == NULL || g->is_ended) return RAND_NOT_INITIALIZED;
    stop(g);
    g->is_ended = true;
    return RAND_SUCCESS;
}

/* What a setting changes begins anew. */
#define SETTING(name, type_, field, when, otherwise)                    \
    EXPORT(curandSet##name, Generator *g, type_ value) {                \
        if (g == NULL || g->is_ended) return RAND_NOT_INITIALIZED;      \
        if (!(when)) return otherwise;                                  \
        stop(g);                                                        \
        g->field = value;                                               \
        return RAND_SUCCESS;                                            \
    }
SETTING(PseudoRandomGeneratorSeed, unsigned long long, seed, !is_quasi(g), RAND_TYPE_ERROR)
SETTING(GeneratorOffset, unsigned long long, offset, g->type != MTGP32 && g->type != MT19937,
        RAND_TYPE_ERROR)
SETTING(GeneratorOrdering, int, order,
        is_quasi(g) ? value == QUASI_ORDER
                    : value >= BEST && value <= DYNAMIC && !(g->on_host && value == DYNAMIC),
        RAND_OUT_OF_RANGE)
SETTING(QuasiRandomGeneratorDimensions, unsigned, dimensions,
        is_quasi(g) && value >= 1 && value <= DIMENSIONS,
        is_quasi(g) ? RAND_OUT_OF_RANGE : RAND_TYPE_ERROR)

EXPORT(curandSetStream, Generator *g, void *stream) {
    if (g == NULL || g->is_ended) return RAND_NOT_INITIALIZED;
    g->stream = stream;
    return RAND_SUCCESS;
}

EXPORT(curandGenerateSeeds, Generator *g) {
    if (g == NULL || g->is_ended) return RAND_NOT_INITIALIZED;
    return g->is_started ? RAND_SUCCESS : start(g, is_own(g));
}

EXPORT(curandGetVersion, int *version) {
    return version ? (*version = 10400, RAND_SUCCESS) : RAND_OUT_OF_RANGE;
}
EXPORT(curandGetProperty, int part, int *value) {
    if (value == NULL || part < 0 || part > 2) return RAND_OUT_OF_RANGE;
    *value = part == 0 ? 10 : part == 1 ? 4 : 0;
    return RAND_SUCCESS;
}

/* --- tables of Sobol's sequences, for programs that use them on the device --- */

/* Returns what NVIDIA's function of that name does. */
static int ask(const char *name, void *table, int set) {
    void *f = nvidia_symbol(name);
    return f ? ((int (*)(void *, int))f)(table, set) : RAND_INITIALIZATION_FAILED;
}

#define VECTORS(bits)                                                       \
    EXPORT(curandGetDirectionVectors##bits, void *vectors, int set) {       \
        return ask(__func__, vectors, set);                                 \
    }                                                                       \
    EXPORT(curandGetScrambleConstants##bits, void *constants) {             \
        return ask(__func__, constants, 0);                                 \
    }
VECTORS(32)
VECTORS(64)

#define F(name) \
    STANDIN_MISSING(name, "CURAND_STATUS_INITIALIZATION_FAILED", RAND_INITIALIZATION_FAILED)
F(curandCreatePoissonDistribution)
F(curandDestroyDistribution)
F(curandGeneratePoissonMethod)
