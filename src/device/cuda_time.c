/* cuda_time.c - timing on the device "cuda": samples until the median is known well enough.
**
** Samples come in groups; a group knows the SM clock it ran at, so that throttled ones can be told
** (samples.c). The GPU waits at a gate until the host has queued the whole group, else a short
** kernel might wait for the host between its two events. LEAD launches that do not count come
** first, TRAIL behind: on an H200 the first two after a pause are slow, and a kernel of 40 us is
** 0.7 us faster while fewer than about five launches are queued behind it. With both, all samples
** of a group are alike (half width of the median's interval 0.2 % after 30 samples, 1 % without).
*/
#include "device/cuda.h"

enum { FEW = 3, LEAD = 2, TRAIL = 6 }; /* FEW samples tell a slow candidate */

static const double LONG_NS = 1e6, GROUP_SECONDS = 0.02;

/* For groups of launches of about ns. */
static CudaPlan plan_for(const DeviceTiming *how, double ns) {
    bool brief = ns < LONG_NS;
    return (CudaPlan){.flush_l2 = how->flush_l2, .gate = true, .lead = brief ? LEAD : 0,
                      .trail = brief ? TRAIL : 0};
}

static bool needs_reload(const DevicePair *p) {
    return ((const CudaModule *)p->module)->reload;
}

/* How many launches of about ns make a group of bearable length. */
static int group_size(double ns) {
    double n = ns > 0 ? GROUP_SECONDS / (ns * 1e-9) : CUDA_GROUP;
    return n < 1 ? 1 : n > CUDA_GROUP ? CUDA_GROUP : (int)n;
}

/* Launches nobody counts, one at a time; *last says how they went, and how long the last took. */
static bool warm_up(CudaDevice *d, const DevicePair *shot, const DeviceTiming *how,
                    Measurement *last, gi_err *err) {
    CudaGroup group;
    CudaPlan plan = {.flush_l2 = how->flush_l2};
    for (int i = 0; i < how->warmup; i++) {
        if (!cuda_group(d, shot, 1, &plan, &group, last, err)) return false;
        if (last->status != STATUS_OK) return true;
    }
    return true;
}

/* --- one kernel --- */

static bool sample(CudaDevice *d, const DevicePair *shot, int n, const DeviceTiming *how,
                   const CudaPlan *plan, DeviceSamples *out, gi_err *err) {
    DevicePair shots[CUDA_GROUP] = {{0}};
    CudaGroup group;
    for (int i = 0; i < n; i++) shots[i] = *shot;
    if (!cuda_group(d, shots, n, plan, &group, &out->last, err)) return false;
    if (out->last.status != STATUS_OK) return true;
    out->launches += plan->lead + n + plan->trail;
    for (int i = 0; i < n; i++) samples_add(out, group.ns[i], group.clock_ghz);
    samples_summarise(out, d->best_ghz, how->clock_tolerance);
    return true;
}

bool cuda_is_slow(const DeviceTiming *how, const DeviceSamples *s) {
    return how->stop_above_ns > 0 && s->n >= FEW && s->median_ns > how->stop_above_ns;
}

bool cuda_is_enough(const DeviceTiming *how, const DeviceSamples *s) {
    return s->n - s->dropped >= how->min_samples && s->rel_error <= how->rel_error;
}

static int next_group(const DeviceTiming *how, const DeviceSamples *s, int most) {
    int n = how->max_samples - s->n;
    if (how->stop_above_ns > 0 && s->n == 0) most = most < FEW ? most : FEW;
    else if (s->n < how->min_samples && how->min_samples - s->n < n) n = how->min_samples - s->n;
    return n < most ? n : most;
}

/* Groups of at most `most`, until the median is known. */
static bool sample_all(CudaDevice *d, const DevicePair *shot, int most, const DeviceTiming *how,
                       const CudaPlan *plan, DeviceSamples *out, gi_err *err) {
    while (out->last.status == STATUS_OK && !out->slow && !out->capped &&
           !cuda_is_enough(how, out)) {
        if (!sample(d, shot, next_group(how, out, most), how, plan, out, err)) return false;
        out->slow = cuda_is_slow(how, out);
        out->capped = out->n >= how->max_samples && !cuda_is_enough(how, out);
    }
    return true;
}

bool cuda_time(DeviceModule *m, const DeviceLaunch *launch, const DeviceTiming *how,
               DeviceSamples *out, gi_err *err) {
    CudaDevice *d = cuda_of(m->device);
    DevicePair shot = {m, launch};
    if (!warm_up(d, &shot, how, &out->last, err)) return false;
    out->launches = how->warmup;
    CudaPlan plan = plan_for(how, out->last.ns), alone = {.flush_l2 = how->flush_l2, .gate = true};
    int most = needs_reload(&shot) ? 1 : group_size(out->last.ns);
    if (needs_reload(&shot)) plan = alone;
    return sample_all(d, &shot, most, how, &plan, out, err);
}

bool cuda_time_sentinel(DeviceBuffer *b, const DeviceTiming *how, DeviceSamples *out,
                        gi_err *err) {
    CudaDevice *d = cuda_of(b->device);
    DeviceLaunch none = {.kernel = "filling a buffer"};
    DevicePair shot = {NULL, &none};
    CudaPlan once = {.fill = b};
    CudaGroup group;
    if (!cuda_group(d, &shot, 1, &once, &group, &out->last, err)) return false;
    CudaPlan plan = plan_for(how, out->last.ns);
    plan.fill = b;
    plan.flush_l2 = false;
    return sample_all(d, &shot, group_size(out->last.ns), how, &plan, out, err);
}

/* --- two kernels in turn --- */

/* Pairs first … first+n-1: in even ones a runs first, in odd ones b. Each runs `times` times, and
** the last one counts: caches are then as it left them, as where a program repeats a launch. */
static bool sample_pairs(CudaDevice *d, DevicePair a, DevicePair b, int first, int n, int times,
                         const CudaPlan *plan, double *ns_a, double *ns_b, Measurement *last,
                         gi_err *err) {
    DevicePair shots[CUDA_GROUP] = {{0}};
    CudaGroup group;
    for (int i = 0; i < 2 * n * times; i++) {
        bool swap = (first + i / (2 * times)) % 2, second = i / times % 2;
        shots[i] = swap != second ? b : a;
    }
    if (!cuda_group(d, shots, 2 * n * times, plan, &group, last, err)) return false;
    for (int i = 0; i < n && last->status == STATUS_OK; i++) {
        int swap = (first + i) % 2;
        ns_a[first + i] = group.ns[(2 * i + swap + 1) * times - 1];
        ns_b[first + i] = group.ns[(2 * i + 2 - swap) * times - 1];
    }
    return true;
}

/* A module that is loaded again before each launch cannot be in a group with anything. */
static bool sample_alone(CudaDevice *d, DevicePair a, DevicePair b, int i, const DeviceTiming *how,
                         double *ns_a, double *ns_b, Measurement *last, gi_err *err) {
    CudaGroup group;
    CudaPlan plan = {.flush_l2 = how->flush_l2, .gate = true};
    for (int turn = 0; turn < 2; turn++) {
        bool is_a = turn == i % 2;
        if (!cuda_group(d, is_a ? &a : &b, 1, &plan, &group, last, err)) return false;
        if (last->status != STATUS_OK) return true;
        *(is_a ? &ns_a[i] : &ns_b[i]) = group.ns[0];
    }
    return true;
}

bool cuda_time_pair(DevicePair a, DevicePair b, int pairs, const DeviceTiming *how, double *ns_a,
                    double *ns_b, Measurement *last, gi_err *err) {
    CudaDevice *d = cuda_of(a.module->device);
    if (!warm_up(d, &a, how, last, err)) return false;
    if (last->status != STATUS_OK) return true;
    double ns = last->ns;
    if (!warm_up(d, &b, how, last, err)) return false;
    CudaPlan plan = plan_for(how, ns < last->ns ? ns : last->ns);
    int in_group = group_size(ns > last->ns ? ns : last->ns);
    int times = plan.lead > 0 && in_group >= 4 ? 2 : 1, most = in_group / (2 * times);
    bool alone = needs_reload(&a) || needs_reload(&b) || most < 1;
    for (int i = 0, n = 1; i < pairs && last->status == STATUS_OK; i += n) {
        n = alone ? 1 : pairs - i < most ? pairs - i : most;
        bool ok = alone ? sample_alone(d, a, b, i, how, ns_a, ns_b, last, err)
                        : sample_pairs(d, a, b, i, n, times, &plan, ns_a, ns_b, last, err);
        if (!ok) return false;
    }
    return true;
}
