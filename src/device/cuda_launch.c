/* cuda_launch.c - launches on the device "cuda": what comes before each, and what its end means.
**
** A group of launches is queued as one: some that are not timed; a reading of the SM clocks; for
** each launch its variables and outputs made as they shall be, an event, the kernel, an event; a
** second reading; some that are not timed. The host polls until all is done or the time is up. A
** kernel that does not end cannot be stopped: the device is lost then, as it is after most faults.
** Code that must be loaded again before each launch is so before anything is queued, and is a group
** of one.
*/
#include "device/cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SHARED = 48 << 10, MAX_SMS = 1024 };
enum { CU_MISUSE = -3 }; /* not the driver's: gi_err says what */

/* --- what happened --- */

static DeviceStatus status_of(int code) {
    switch (code) {
    case CU_OK: return STATUS_OK;
    case CU_ILLEGAL_ADDRESS: return STATUS_ILLEGAL_ADDRESS;
    case CU_MISALIGNED: return STATUS_MISALIGNED;
    case CU_OUT_OF_MEMORY: return STATUS_OUT_OF_MEMORY;
    case CU_TIMED_OUT:
    case CU_INTERRUPTED:
    case CU_LAUNCH_TIMEOUT: return STATUS_TIMEOUT;
    case CU_ECC:
    case CU_NVLINK:
    case CU_CONTAINED:
    case CU_UNKNOWN: return STATUS_CRASH;
    default: return STATUS_LAUNCH_ERROR;
    }
}

static void say_launch(const DeviceLaunch *l, const Measurement *m, const char *words, char *text,
                       size_t size) {
    const unsigned *g = l->grid, *b = l->block;
    snprintf(text, size,
             "%s cannot be launched with %u x %u x %u blocks of %u x %u x %u threads, %d registers "
             "and %zu bytes of shared memory: %s",
             l->kernel, g[0], g[1], g[2], b[0], b[1], b[2], m->registers, m->shared_bytes, words);
}

void cuda_set_status(CudaDevice *d, const DeviceLaunch *l, int code, Measurement *out) {
    char words[200], *text = out->message;
    size_t size = sizeof out->message;
    out->status = status_of(code);
    if (code == CU_OK) return;
    driver_words(d->cu, code, words, sizeof words);
    if (code == CU_TIMED_OUT)
        snprintf(text, size, "%s ran longer than the %g s allowed", l->kernel, l->timeout_s);
    else if (code == CU_INTERRUPTED) snprintf(text, size, "%s was interrupted", l->kernel);
    else if (cuda_is_fatal(code)) snprintf(text, size, "%s: %s", l->kernel, words);
    else say_launch(l, out, words, text, size);
    if (!cuda_is_fatal(code)) return;
    cuda_lose(d, text);
    out->lost = true;
}

/* --- one launch --- */

int cuda_configure(CudaDevice *d, CudaKernel *k, const DeviceLaunch *l) {
    int code = CU_OK, dynamic = (int)l->shared_bytes;
    if (l->shared_bytes > INT32_MAX) return CU_INVALID_VALUE;
    if (k->cache != (int)l->cache) code = d->cu->function_cache(k->function, (int)l->cache);
    if (code != CU_OK) return code;
    k->cache = (int)l->cache;
    if (k->carveout != l->carveout)
        code = d->cu->function_set(k->function, CU_FUNCTION_CARVEOUT, l->carveout);
    if (code != CU_OK) return code;
    k->carveout = l->carveout;
    if (dynamic <= k->dynamic || dynamic + (int)k->info.shared_bytes <= DEFAULT_SHARED)
        return CU_OK;
    code = d->cu->function_set(k->function, CU_FUNCTION_MAX_DYNAMIC_SHARED, dynamic);
    if (code == CU_OK) k->dynamic = dynamic;
    return code;
}

/* What of a kernel's the driver wants as a list of pointers. */
static int start_together(CudaDevice *d, const CudaKernel *k, const DeviceLaunch *l,
                          CuStream stream) {
    const unsigned *g = l->grid, *b = l->block;
    const KernelInfo *info = &k->info;
    void **params = gi_alloc((size_t)(info->n_params + 1) * sizeof *params);
    for (int i = 0; i < info->n_params; i++)
        params[i] = (char *)(uintptr_t)l->params + info->param_offset[i];
    int code = d->cu->launch_cooperative(k->function, g[0], g[1], g[2], b[0], b[1], b[2],
                                         (unsigned)l->shared_bytes, stream, params);
    free(params);
    return code;
}

/* In clusters of so many blocks. */
static int start_clusters(CudaDevice *d, const CudaKernel *k, const DeviceLaunch *l,
                          CuStream stream, void **extra) {
    CuLaunchWord word = {.id = CU_LAUNCH_CLUSTER};
    CuLaunchHow how = {.shared = (unsigned)l->shared_bytes, .stream = stream, .words = &word,
                       .n_words = 1};
    memcpy(how.grid, l->grid, sizeof how.grid);
    memcpy(how.block, l->block, sizeof how.block);
    memcpy(word.value.cluster, l->cluster, sizeof word.value.cluster);
    return d->cu->launch_as(&how, k->function, NULL, extra);
}

int cuda_start(CudaDevice *d, const CudaKernel *k, const DeviceLaunch *l, size_t bytes,
               bool cooperative, CuStream stream) {
    const unsigned *g = l->grid, *b = l->block;
    void *extra[] = {CU_EXTRA_BUFFER, (void *)(uintptr_t)l->params, CU_EXTRA_SIZE, &bytes,
                     CU_EXTRA_END};
    if (cooperative) return start_together(d, k, l, stream);
    if (l->cluster[0]) return start_clusters(d, k, l, stream, bytes ? extra : NULL);
    return d->cu->launch(k->function, g[0], g[1], g[2], b[0], b[1], b[2], (unsigned)l->shared_bytes,
                         stream, NULL, bytes ? extra : NULL);
}

/* i: of the events around it; negative: none. */
static int start_kernel(CudaDevice *d, const CudaKernel *k, const DeviceLaunch *l, int i) {
    int code = i >= 0 ? d->cu->event_record(d->start[i], d->stream) : CU_OK;
    if (code == CU_OK) code = cuda_start(d, k, l, k->info.param_bytes, l->cooperative, d->stream);
    return code == CU_OK && i >= 0 ? d->cu->event_record(d->end[i], d->stream) : code;
}

static int prepare(CudaDevice *d, CudaModule *m, const DeviceLaunch *l, bool flush) {
    int code = l->keep_variables ? CU_OK : cuda_queue_reset(m);
    for (int i = 0; i < l->n_fill && code == CU_OK; i++) code = cuda_queue_sentinel(l->fill[i]);
    if (flush && code == CU_OK) {
        uint64_t n = d->info.l2_bytes / 8, value = 0;
        void *args[] = {&d->flush.address, &value, &n};
        code = cuda_help(d, d->helpers.fill, (unsigned)(8 * d->info.sms), args);
    }
    return code;
}

static void describe(CudaDevice *d, const CudaKernel *k, const DeviceLaunch *l, Measurement *out) {
    const unsigned *b = l->block;
    int blocks = 0;
    uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
    out->registers = k->info.registers;
    out->shared_bytes = k->info.shared_bytes + l->shared_bytes;
    if (threads == 0 || threads > (uint64_t)d->info.max_threads_per_block) return;
    d->cu->occupancy(&blocks, k->function, (int)threads, l->shared_bytes);
    out->occupancy = (double)((threads + 31) / 32 * (uint64_t)blocks) * 32 / d->max_threads_per_sm;
}

static int queue_fill(CudaDevice *d, DeviceBuffer *b, int i) {
    int code = i >= 0 ? d->cu->event_record(d->start[i], d->stream) : CU_OK;
    if (code == CU_OK) code = cuda_queue_sentinel(b);
    return code == CU_OK && i >= 0 ? d->cu->event_record(d->end[i], d->stream) : code;
}

static int queue_shot(CudaDevice *d, const DevicePair *shot, int i, const CudaPlan *plan,
                      Measurement *out, gi_err *err) {
    if (plan->fill) return queue_fill(d, plan->fill, i);
    CudaModule *m = (CudaModule *)shot->module;
    int code = prepare(d, m, shot->launch, plan->flush_l2);
    if (code != CU_OK) return code;
    CudaKernel *k = cuda_kernel(m, shot->launch->kernel, err);
    if (k == NULL) return CU_MISUSE;
    code = cuda_configure(d, k, shot->launch);
    if (i == 0 || code != CU_OK) describe(d, k, shot->launch, out);
    return code == CU_OK ? start_kernel(d, k, shot->launch, i) : code;
}

/* --- the SM clock --- */

typedef struct Stamp { /* as the helper kernel writes it */
    uint64_t sm, clock, ns;
} Stamp;

int cuda_queue_stamp(CudaDevice *d, int which) {
    CuPointer at = d->stamps.address + (size_t)which * (size_t)d->info.sms * sizeof(Stamp);
    void *args[] = {&at};
    return cuda_help(d, d->helpers.stamp, (unsigned)d->info.sms, args);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Clocks over time of every SM that has both stamps: the median; 0 when there is none. */
static double clock_of(const Stamp *first, const Stamp *second, int n) {
    const Stamp *seen[MAX_SMS] = {NULL};
    double ghz[MAX_SMS];
    int found = 0;
    for (int i = 0; i < n; i++)
        if (first[i].sm < MAX_SMS) seen[first[i].sm] = &first[i];
    for (int i = 0; i < n; i++) {
        const Stamp *a = second[i].sm < MAX_SMS ? seen[second[i].sm] : NULL, *b = &second[i];
        if (a == NULL || b->ns <= a->ns) continue;
        seen[b->sm] = NULL;
        ghz[found++] = (double)(b->clock - a->clock) / (double)(b->ns - a->ns);
    }
    qsort(ghz, (size_t)found, sizeof *ghz, by_value);
    return found ? ghz[found / 2] : 0;
}

double cuda_read_clock(CudaDevice *d) {
    const Stamp *stamps = (const Stamp *)(const void *)d->staging;
    double ghz = clock_of(stamps, stamps + d->info.sms, d->info.sms);
    if (ghz > d->best_ghz) d->best_ghz = ghz;
    return ghz;
}

/* --- groups --- */

/* Pinned host memory has the same address on the GPU. The limit is for a host that is stopped. */
int cuda_queue_gate(CudaDevice *d) {
    CuPointer flag = (CuPointer)(uintptr_t)d->gate;
    uint64_t limit_ns = 20000000;
    void *args[] = {&flag, &d->ticket, &limit_ns};
    d->ticket++;
    return cuda_help(d, d->helpers.gate, 1, args);
}

void cuda_open_gate(CudaDevice *d) {
    *d->gate = d->ticket;
}

bool cuda_stamps(CudaDevice *d, gi_err *err) {
    return cuda_scratch(d, &d->stamps, 2 * (size_t)d->info.sms * sizeof(Stamp), err);
}

int cuda_fetch_stamps(CudaDevice *d) {
    return d->cu->download(d->staging, d->stamps.address, 2 * (size_t)d->info.sms * sizeof(Stamp),
                           d->stream);
}

static bool working_memory(CudaDevice *d, bool flush, gi_err *err) {
    return cuda_enter(d, err) && cuda_stamps(d, err) &&
           (!flush || cuda_scratch(d, &d->flush, d->info.l2_bytes, err));
}

static int queue_group(CudaDevice *d, const DevicePair *shots, int n, const CudaPlan *plan,
                       Measurement *out, gi_err *err) {
    int code = plan->gate ? cuda_queue_gate(d) : CU_OK;
    for (int i = 0; i < plan->lead && code == CU_OK; i++)
        code = queue_shot(d, &shots[i % n], -1, plan, out, err);
    if (code == CU_OK) code = cuda_queue_stamp(d, 0);
    for (int i = 0; i < n && code == CU_OK; i++)
        code = queue_shot(d, &shots[i], i, plan, out, err);
    if (code == CU_OK) code = cuda_queue_stamp(d, 1);
    for (int i = 0; i < plan->trail && code == CU_OK; i++)
        code = queue_shot(d, &shots[i % n], -1, plan, out, err);
    return code == CU_OK ? cuda_fetch_stamps(d) : code;
}

static double time_allowed(const DevicePair *shots, int n, int extra) {
    double sum = 0;
    for (int i = 0; i < n + extra; i++) {
        if (shots[i % n].launch->timeout_s <= 0) return 0;
        sum += shots[i % n].launch->timeout_s;
    }
    return sum;
}

static bool read_times(CudaDevice *d, int n, CudaGroup *group, gi_err *err) {
    for (int i = 0; i < n; i++) {
        float ms = 0;
        int code = d->cu->event_elapsed(&ms, d->start[i], d->end[i]);
        if (!cuda_ok(d, code, "read the time of a launch", err)) return false;
        group->ns[i] = (double)ms * 1e6;
    }
    group->clock_ghz = cuda_read_clock(d);
    return true;
}

bool cuda_group(CudaDevice *d, const DevicePair *shots, int n, const CudaPlan *plan,
                CudaGroup *group, Measurement *out, gi_err *err) {
    const DeviceLaunch *l = shots[0].launch;
    *group = (CudaGroup){0};
    *out = (Measurement){0};
    if (!working_memory(d, plan->flush_l2, err)) return false;
    bool renew = !plan->fill && !l->keep_variables;
    if (renew && !cuda_module_renew((CudaModule *)shots[0].module, err)) return false;
    int code = queue_group(d, shots, n, plan, out, err);
    cuda_open_gate(d);
    int ended = cuda_wait(d, time_allowed(shots, n, plan->lead + plan->trail), l->interrupt);
    if (ended != CU_OK) code = ended;
    if (code == CU_MISUSE) return false;
    cuda_set_status(d, l, code, out);
    if (code != CU_OK) return true;
    if (!read_times(d, n, group, err)) return false;
    out->ns = group->ns[n - 1];
    out->clock_ghz = group->clock_ghz;
    out->ticks = out->ns * out->clock_ghz;
    return true;
}

bool cuda_launch(DeviceModule *m, const DeviceLaunch *launch, Measurement *out, gi_err *err) {
    CudaGroup group;
    CudaPlan plan = {0};
    DevicePair shot = {m, launch};
    return cuda_group(cuda_of(m->device), &shot, 1, &plan, &group, out, err);
}
