/* compare.c - a kernel's answers against the reference, every element of them.
**
** The arrays are cut into chunks of CHUNK answers, whatever the number of threads; a thread takes
** a run of consecutive chunks and leaves one Part a chunk; the parts are added in order. No
** atomics, no shared counters, and the same result to the bit from 1 thread or 64.
**
** Two ways through a chunk: a plain loop for every type, width and value, and, for float and float4
** answers (what most kernels write), one that keeps four floats in a register. The quick one gives
** up on a block that holds anything but finite numbers, so that the rules about NaN, infinity and
** the sentinel are written once. Which way a block goes depends on its values alone.
*/
#include "array/array.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK            8192 /* answers; divides into whole blocks */
#define BLOCK            256  /* answers the quick loop takes at a time */
#define MAX_THREADS      64
#define BYTES_PER_THREAD (1 << 20) /* less than this each is not worth starting a thread for */

typedef struct Part {
    double max, sum; /* over finite errors; max is infinite when any error is */
    double penalty;  /* sum over the answers counted */
    int64_t finite, off, wrong, unset, nan, first_wrong, counted;
} Part;

typedef struct Job {
    const Array *got, *expected;
    int width, used, from;
    double max_error, rel_error, limit;
    const ComparePenalty *penalty; /* NULL: not wanted */
    int64_t answers, chunks;
    Part *parts; /* one a chunk */
} Job;

typedef struct Slice {
    const Job *job;
    int64_t first, last; /* chunks first … last-1 */
} Slice;

/* Errors of single elements. NaN stands for "never written", infinity for "no finite error", AS_NAN
** for the NaN that was expected. */
#define AS_NAN (-1.0)

static double error_f32(float got, float expected) {
    union {
        float f;
        uint32_t bits;
    } u = {.f = got};
    if (u.bits == ARRAY_SENTINEL_F32) return (double)NAN;
    if (got == expected) return 0; /* equal infinities too */
    const double e = (double)fabsf(got - expected);
    if (e <= (double)FLT_MAX) return e;
    return isnan(got) && isnan(expected) ? AS_NAN : (double)INFINITY;
}

static double error_f64(double got, double expected) {
    union {
        double f;
        uint64_t bits;
    } u = {.f = got};
    if (u.bits == ARRAY_SENTINEL_F64) return (double)NAN;
    if (got == expected) return 0;
    const double e = fabs(got - expected);
    if (e <= DBL_MAX) return e;
    return isnan(got) && isnan(expected) ? AS_NAN : (double)INFINITY;
}

/* 0xABAB… in the width of T, as a value of T. */
#define SENTINEL_OF(T) ((T)UINT64_C(0xABABABABABABABAB))

#define INTEGER_ERROR(T, name)                                                                     \
    static double name(T got, T expected) {                                                        \
        if (got == expected) return 0;                                                             \
        if (got == SENTINEL_OF(T)) return (double)NAN;                                             \
        return got > expected ? (double)((uint64_t)got - (uint64_t)expected)                       \
                              : (double)((uint64_t)expected - (uint64_t)got);                      \
    }

INTEGER_ERROR(int8_t, error_i8)
INTEGER_ERROR(uint8_t, error_u8)
INTEGER_ERROR(int16_t, error_i16)
INTEGER_ERROR(uint16_t, error_u16)
INTEGER_ERROR(int32_t, error_i32)
INTEGER_ERROR(uint32_t, error_u32)
INTEGER_ERROR(int64_t, error_i64)
INTEGER_ERROR(uint64_t, error_u64)

/* Of small floats; the sentinel's bytes are a number too. */
static double error_small(ArrayType type, uint32_t got, uint32_t expected, uint32_t sentinel) {
    const double g = array_small_value(type, got), e = array_small_value(type, expected);
    if (got == sentinel && got != expected) return (double)NAN;
    return error_f64(g, e);
}

static inline double element_error(const Array *g, const Array *e, int64_t i) {
#define AT(T, a) (((const T *)(a)->data)[i])
    switch (g->type) {
    case ARRAY_I8: return error_i8(AT(int8_t, g), AT(int8_t, e));
    case ARRAY_U8: return error_u8(AT(uint8_t, g), AT(uint8_t, e));
    case ARRAY_I16: return error_i16(AT(int16_t, g), AT(int16_t, e));
    case ARRAY_U16: return error_u16(AT(uint16_t, g), AT(uint16_t, e));
    case ARRAY_I32: return error_i32(AT(int32_t, g), AT(int32_t, e));
    case ARRAY_U32: return error_u32(AT(uint32_t, g), AT(uint32_t, e));
    case ARRAY_I64: return error_i64(AT(int64_t, g), AT(int64_t, e));
    case ARRAY_U64: return error_u64(AT(uint64_t, g), AT(uint64_t, e));
    case ARRAY_F32: return error_f32(AT(float, g), AT(float, e));
    case ARRAY_F64: return error_f64(AT(double, g), AT(double, e));
    case ARRAY_F16:
    case ARRAY_BF16: return error_small(g->type, AT(uint16_t, g), AT(uint16_t, e), 0xABAB);
    case ARRAY_E4M3:
    case ARRAY_E5M2: return error_small(g->type, AT(uint8_t, g), AT(uint8_t, e), 0xAB);
    }
#undef AT
    assert(!"unknown array type");
    return 0;
}

/* Is one of the answer's errors above what its own element allows? */
static bool is_beyond_share(const Job *job, int64_t answer) {
    const int64_t first = answer * job->width + job->from;
    for (int64_t i = first; i < first + job->used; i++) {
        const double allowed =
            job->max_error + job->rel_error * fabs(array_get(job->expected, i));
        if (element_error(job->got, job->expected, i) > allowed) return true;
    }
    return false;
}

/* Counts an answer whose worst error is above max_error where it is off, and wrong. */
static void count_off(const Job *job, Part *p, double error, int64_t answer) {
    const bool finite = error <= DBL_MAX;
    if (finite && job->rel_error > 0 && !is_beyond_share(job, answer)) return;
    p->off++;
    if (finite && error <= job->limit) return;
    p->wrong++;
    if (p->first_wrong < 0) p->first_wrong = answer;
}

/* Adds an answer with this error to the part. */
static void count_answer(const Job *job, Part *p, double error, int64_t answer) {
    if (error > p->max) p->max = error;
    if (error <= DBL_MAX) {
        p->sum += error;
        p->finite++;
    }
    if (!(error <= job->max_error) || error > DBL_MAX) count_off(job, p, error, answer);
}

static bool is_ignored(const Job *job, int64_t first) {
    for (int64_t i = first; i < first + job->used; i++)
        if (array_get(job->expected, i) != job->penalty->ignore) return false;
    return true;
}

static bool is_outside(const Job *job, int64_t first) {
    for (int64_t i = first; i < first + job->used; i++) {
        const double v = array_get(job->got, i);
        if (!(v >= job->penalty->low && v <= job->penalty->high)) return true;
    }
    return false;
}

/* Adds what the answer costs that begins at element `first` (ComparePenalty). */
static void count_penalty(const Job *job, Part *p, double error, bool unset, int64_t first) {
    const ComparePenalty *cost = job->penalty;
    if (is_ignored(job, first)) return;
    p->counted++;
    if (unset) p->penalty += cost->unset;
    else p->penalty += error > DBL_MAX || is_outside(job, first) ? cost->outside : error;
}

/* The plain way: any type, any width, any values. */
static void compare_answers(const Job *job, int64_t first, int64_t n, Part *p) {
    for (int64_t answer = first; answer < first + n; answer++) {
        double worst = 0;
        bool unset = false, nan = false;
        const int64_t begin = answer * job->width + job->from;
        for (int k = 0; k < job->used; k++) {
            const double e = element_error(job->got, job->expected, begin + k);
            if (e > worst) {
                worst = e;
            } else if (!(e >= 0)) {
                if (e == AS_NAN) nan = true;
                else unset = true;
            }
        }
        p->unset += unset;
        p->nan += nan;
        count_answer(job, p, unset ? (double)INFINITY : worst, answer);
        if (job->penalty) count_penalty(job, p, worst, unset, begin);
    }
}

/* Four floats as one machine register (GCC and clang extension), and the masks of comparisons. */
typedef float V4 __attribute__((vector_size(16)));
typedef int32_t M4 __attribute__((vector_size(16)));
#define ABSOLUTE 0x7fffffff /* every bit but the sign */

static V4 larger(V4 a, V4 b) {
    const M4 m = a > b;
    return (V4)((m & (M4)a) | (~m & (M4)b));
}

/* |got - expected| of one float4 answer, 0 where keep is 0. */
static V4 difference(const float *got, const float *expected, M4 keep) {
    V4 g, e;
    memcpy(&g, got, sizeof g);
    memcpy(&e, expected, sizeof e);
    return (V4)((M4)(g - e) & keep);
}

/* The worst element of each of four answers: a 4 x 4 transposition, then three maxima. */
static V4 worst_of_four(V4 a, V4 b, V4 c, V4 d) {
    const V4 ab_xy = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const V4 ab_zw = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const V4 cd_xy = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const V4 cd_zw = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const V4 x = __builtin_shufflevector(ab_xy, cd_xy, 0, 1, 4, 5);
    const V4 y = __builtin_shufflevector(ab_xy, cd_xy, 2, 3, 6, 7);
    const V4 z = __builtin_shufflevector(ab_zw, cd_zw, 0, 1, 4, 5);
    const V4 w = __builtin_shufflevector(ab_zw, cd_zw, 2, 3, 6, 7);
    return larger(larger(x, y), larger(z, w));
}

typedef struct BlockErrors {
    float each[BLOCK]; /* of every answer */
    float largest;     /* of them all; meaningless unless all are finite */
    double sum;
    bool finite;
} BlockErrors;

/* What is known of a block while it is gone through. A NaN or an infinity anywhere stays in
** `check`, a sum over all differences, whatever the maxima make of it. */
typedef struct Tally {
    V4 check, largest;
    double sum[4];
} Tally;

/* Adds the worst errors of answers i to i + 3. */
static inline void tally(Tally *t, BlockErrors *out, int i, V4 worst, V4 all) {
    memcpy(out->each + i, &worst, sizeof worst);
    t->check += all;
    t->largest = larger(worst, t->largest);
    for (int k = 0; k < 4; k++) t->sum[k] += (double)worst[k];
}

/* Adds the errors of BLOCK float4 answers, counting `used` elements of each. */
static Tally errors_of_fours(const float *got, const float *expected, int used, BlockErrors *out) {
    const M4 keep = {ABSOLUTE, used > 1 ? ABSOLUTE : 0, used > 2 ? ABSOLUTE : 0,
                     used > 3 ? ABSOLUTE : 0};
    Tally t = {0};
    for (int i = 0; i < BLOCK; i += 4) {
        const float *g = got + 4 * i, *e = expected + 4 * i;
        const V4 a = difference(g, e, keep), b = difference(g + 4, e + 4, keep);
        const V4 c = difference(g + 8, e + 8, keep), d = difference(g + 12, e + 12, keep);
        tally(&t, out, i, worst_of_four(a, b, c, d), (a + b) + (c + d));
    }
    return t;
}

static Tally errors_of_ones(const float *got, const float *expected, BlockErrors *out) {
    const M4 keep = {ABSOLUTE, ABSOLUTE, ABSOLUTE, ABSOLUTE};
    Tally t = {0};
    for (int i = 0; i < BLOCK; i += 4) {
        const V4 error = difference(got + i, expected + i, keep);
        tally(&t, out, i, error, error);
    }
    return t;
}

static void block_errors(const Job *job, int64_t first, BlockErrors *out) {
    const float *got = (const float *)job->got->data + job->width * first;
    const float *expected = (const float *)job->expected->data + job->width * first;
    const Tally t = job->width == 4 ? errors_of_fours(got, expected, job->used, out)
                                    : errors_of_ones(got, expected, out);
    out->sum = (t.sum[0] + t.sum[1]) + (t.sum[2] + t.sum[3]);
    out->largest = 0;
    for (int k = 0; k < 4; k++)
        if (t.largest[k] > out->largest) out->largest = t.largest[k];
    out->finite = t.check[0] + t.check[1] + t.check[2] + t.check[3] <= FLT_MAX;
}

/* Has every element of a block at most the error that it allows? Padding has a say too, so a false
** is to be looked into. */
static bool is_within(const Job *job, int64_t first) {
    const float *got = (const float *)job->got->data + job->width * first;
    const float *expected = (const float *)job->expected->data + job->width * first;
    int beyond = 0;
    for (int i = 0; i < BLOCK * job->width; i++) {
        const double allowed = job->max_error + job->rel_error * fabs((double)expected[i]);
        beyond |= !((double)fabsf(got[i] - expected[i]) <= allowed);
    }
    return !beyond;
}

/* The quick way for a block of float and float4 answers. False, and nothing counted, when some
** difference is not finite (or so large that their sum is not). */
static bool compare_block(const Job *job, int64_t first, Part *p) {
    BlockErrors b;
    block_errors(job, first, &b);
    if (!b.finite) return false;

    p->sum += b.sum;
    p->finite += BLOCK;
    if ((double)b.largest > p->max) p->max = (double)b.largest;
    if ((double)b.largest <= job->max_error) return true;
    if (job->rel_error > 0 && is_within(job, first)) return true;
    for (int i = 0; i < BLOCK; i++)
        if (!((double)b.each[i] <= job->max_error)) count_off(job, p, (double)b.each[i], first + i);
    return true;
}

static Part compare_chunk(const Job *job, int64_t chunk) {
    Part p = {.first_wrong = -1};
    int64_t at = chunk * CHUNK;
    const int64_t end = at + CHUNK < job->answers ? at + CHUNK : job->answers;
    const bool quick = job->got->type == ARRAY_F32 && (job->width == 4 || job->width == 1) &&
                       job->from == 0 && !job->penalty;

    for (; quick && at + BLOCK <= end; at += BLOCK)
        if (!compare_block(job, at, &p)) compare_answers(job, at, BLOCK, &p);
    compare_answers(job, at, end - at, &p);
    return p;
}

static void *run_slice(void *arg) {
    const Slice *s = arg;
    for (int64_t c = s->first; c < s->last; c++) s->job->parts[c] = compare_chunk(s->job, c);
    return NULL;
}

static int pick_threads(const Job *job, int wanted) {
    int64_t n = 1 + (int64_t)(job->got->size_bytes / BYTES_PER_THREAD);
    if (n > job->chunks) n = job->chunks;
    if (n > MAX_THREADS) n = MAX_THREADS;
    if (n <= 1) return 1;
    const int most = wanted > 0 ? wanted : gi_cores();
    return n > most ? most : (int)n;
}

/* Every chunk, by n threads, this one included. A thread that cannot be started has its slice done
** here: slower, never wrong. */
static void run_job(const Job *job, int n) {
    Slice slices[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    bool started[MAX_THREADS] = {false};

    for (int i = 0; i < n; i++)
        slices[i] = (Slice){job, job->chunks * i / n, job->chunks * (i + 1) / n};
    for (int i = 1; i < n; i++)
        started[i] = pthread_create(&threads[i], NULL, run_slice, &slices[i]) == 0;
    run_slice(&slices[0]);
    for (int i = 1; i < n; i++) {
        if (started[i]) pthread_join(threads[i], NULL);
        else run_slice(&slices[i]);
    }
}

static Comparison add_parts(const Job *job) {
    Part t = {.first_wrong = -1};
    for (int64_t c = 0; c < job->chunks; c++) {
        const Part *p = &job->parts[c];
        if (p->max > t.max) t.max = p->max;
        t.sum += p->sum;
        t.penalty += p->penalty;
        t.counted += p->counted;
        t.finite += p->finite;
        t.off += p->off;
        t.wrong += p->wrong;
        t.unset += p->unset;
        t.nan += p->nan;
        if (t.first_wrong < 0) t.first_wrong = p->first_wrong;
    }
    const double n = (double)job->answers;
    return (Comparison){
        .n = job->answers,
        .max_error = t.max,
        .mean_error = t.finite ? t.sum / (double)t.finite : (double)INFINITY,
        .off = (double)t.off / n,
        .wrong = (double)t.wrong / n,
        .unset = (double)t.unset / n,
        .nan = (double)t.nan / n,
        .first_wrong = t.first_wrong,
        .counted = t.counted,
        .penalty = t.counted ? t.penalty / (double)t.counted : 0,
    };
}

static bool check_penalty(const ComparePenalty *p, gi_err *err) {
    if (!(p->unset >= 0 && p->unset <= DBL_MAX && p->outside >= 0 && p->outside <= DBL_MAX))
        return gi_fail(err, "usage",
                       "penalty: unset (%g) and outside (%g) must be numbers from 0 on", p->unset,
                       p->outside);
    if (!(p->low <= p->high))
        return gi_fail(err, "usage", "penalty: low (%g) must not be above high (%g)", p->low,
                       p->high);
    return true;
}

bool array_compare_options(const Array *g, const Array *e, const CompareOptions *options,
                           CompareOptions *out, gi_err *err) {
    CompareOptions o = options ? *options : (CompareOptions){0};
    if (o.width == 0) o.width = 1;
    if (o.used == 0) o.used = o.width - o.from;
    if (g->type != e->type)
        return gi_fail(err, "usage",
                       "cannot compare %s answers with %s expected ones: make both of one type",
                       array_type_name(g->type), array_type_name(e->type));
    if (g->count != e->count)
        return gi_fail(err, "usage", "cannot compare %lld answers with %lld expected ones",
                       (long long)g->count, (long long)e->count);
    const size_t element = array_type_size(o.viewed ? o.as : g->type);
    if (o.width < 1 || g->size_bytes % (element * (size_t)o.width) != 0)
        return gi_fail(err, "usage", "%lld elements do not divide into answers of width %d",
                       (long long)(g->size_bytes / element), o.width);
    if (o.from < 0 || o.from >= o.width)
        return gi_fail(err, "usage", "from must be 0 to %d (below the width), not %d", o.width - 1,
                       o.from);
    if (o.used < 1 || o.used > o.width - o.from)
        return gi_fail(err, "usage", "used must be 1 to %d (the width%s), not %d",
                       o.width - o.from, o.from ? " less what is before" : "", o.used);
    if (!(o.max_error >= 0 && o.rel_error >= 0))
        return gi_fail(err, "usage",
                       "max_error (%g) and rel_error (%g) must be numbers from 0 on", o.max_error,
                       o.rel_error);
    if (o.penalty.wanted && !check_penalty(&o.penalty, err)) return false;
    *out = o;
    return true;
}

bool array_compare(const Array *got, const Array *expected, const CompareOptions *options,
                   Comparison *out, gi_err *err) {
    CompareOptions o;
    if (!array_compare_options(got, expected, options, &o, err)) return false;

    Array got_as = *got, expected_as = *expected;
    if (o.viewed) {
        got_as.type = expected_as.type = o.as;
        got_as.count = expected_as.count = (int64_t)(got->size_bytes / array_type_size(o.as));
    }
    Job job = {.got = &got_as, .expected = &expected_as, .width = o.width, .used = o.used};
    job.from = o.from;
    job.max_error = o.max_error;
    job.rel_error = o.rel_error;
    job.limit = o.limit;
    job.penalty = o.penalty.wanted ? &o.penalty : NULL;
    job.answers = got_as.count / o.width;
    job.chunks = (job.answers + CHUNK - 1) / CHUNK;
    job.parts = calloc((size_t)job.chunks, sizeof *job.parts);
    if (!job.parts)
        return gi_fail(err, "nomem", "no memory to compare %lld answers", (long long)job.answers);

    run_job(&job, pick_threads(&job, o.threads));
    *out = add_parts(&job);
    free(job.parts);
    return true;
}
