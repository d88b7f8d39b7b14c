/* cuda.c - the device "cuda": an NVIDIA GPU through the driver API (driver.h).
**
** Its parts: cuda_memory.c buffers and what guards them, cuda_compare.c answers checked on the
** device, cuda_texture.c, cuda_module.c code and its variables, cuda_launch.c launches and faults,
** cuda_time.c sampling, cuda_helpers.c gilua's own kernels. This file opens and closes the device
** and knows what an error of the driver means.
*/
#include "device/cuda.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

CudaDevice *cuda_of(const Device *d) {
    return (CudaDevice *)(uintptr_t)d;
}

/* --- errors --- */

/* After these the context is unusable for good. */
bool cuda_is_fatal(int code) {
    return code == CU_TIMED_OUT || code == CU_INTERRUPTED || code == CU_ILLEGAL_ADDRESS ||
           code == CU_LAUNCH_TIMEOUT || (code >= CU_CONTEXT_DESTROYED && code <= CU_ASSERT) ||
           (code >= CU_STACK_ERROR && code <= CU_LAUNCH_FAILED) || code == CU_ECC ||
           code == CU_NVLINK || code == CU_CONTAINED || code == CU_UNKNOWN;
}

void cuda_lose(CudaDevice *d, const char *why) {
    if (!d->lost) snprintf(d->why_lost, sizeof d->why_lost, "%s", why);
    d->lost = true;
}

bool cuda_ok(CudaDevice *d, int code, const char *doing, gi_err *err) {
    char words[250];
    if (code == CU_OK) return true;
    if (code == CU_OUT_OF_MEMORY)
        return gi_fail(err, "nomem", "cannot %s: the GPU has no memory left for it", doing);
    driver_words(d->cu, code, words, sizeof words);
    if (cuda_is_fatal(code)) cuda_lose(d, words);
    return gi_fail(err, "driver", "cannot %s: the driver says %s", doing, words);
}

bool cuda_enter(CudaDevice *d, gi_err *err) {
    if (d->lost)
        return gi_fail(err, "driver",
                       "the device is lost (%s): this process cannot use the GPU any more",
                       d->why_lost);
    return cuda_ok(d, d->cu->context_use(d->context), "use the GPU", err);
}

static void rest(double waited) {
    static const struct timespec nap = {.tv_nsec = 50000};
    if (waited > 0.002) nanosleep(&nap, NULL);
    else if (waited > 0.0005) sched_yield();
}

int cuda_wait(CudaDevice *d, double timeout_s, const volatile int *interrupt) {
    double start = gi_seconds();
    for (;;) {
        double waited = gi_seconds() - start; /* first: we may be kept from running at any point */
        int code = d->cu->stream_query(d->stream);
        if (code != CU_NOT_READY) return code;
        if (timeout_s > 0 && waited > timeout_s) return CU_TIMED_OUT;
        if (interrupt && *interrupt) return CU_INTERRUPTED;
        rest(waited);
    }
}

bool cuda_finish(CudaDevice *d, const char *doing, gi_err *err) {
    return cuda_ok(d, cuda_wait(d, 0, NULL), doing, err);
}

/* --- opening --- */

static int attribute(CudaDevice *d, int which) {
    int value = 0;
    d->cu->device_attribute(&value, which, d->device);
    return value;
}

static void read_uuid(CudaDevice *d) {
    CuUuid id;
    char *at = d->info.uuid;
    if (d->cu->device_uuid(&id, d->device) != CU_OK) return;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
        at += snprintf(at, 3, "%02x", id.bytes[i]);
    }
}

static void read_info(CudaDevice *d) {
    DeviceInfo *i = &d->info;
    size_t bytes = 0;
    d->cu->device_name(i->name, sizeof i->name, d->device);
    read_uuid(d);
    d->cu->device_memory(&bytes, d->device);
    i->memory_bytes = bytes;
    i->compute = 10 * attribute(d, CU_COMPUTE_MAJOR) + attribute(d, CU_COMPUTE_MINOR);
    i->sms = attribute(d, CU_SM_COUNT);
    i->clock_ghz = attribute(d, CU_CLOCK_KHZ) / 1e6;
    i->l2_bytes = (uint64_t)attribute(d, CU_L2_BYTES);
    /* two words of the bus a clock */
    i->memory_rate = 2 * (attribute(d, CU_MEMORY_KHZ) * 1e3) * (attribute(d, CU_MEMORY_BITS) / 8.0);
    i->driver = d->cu->version;
    i->max_threads_per_block = attribute(d, CU_MAX_THREADS_PER_BLOCK);
    i->shared_per_block = (size_t)attribute(d, CU_MAX_SHARED_PER_BLOCK);
    d->max_threads_per_sm = attribute(d, CU_MAX_THREADS_PER_SM);
    snprintf(d->base.description, sizeof d->base.description, "%s (cuda:%d)", i->name, d->device);
    snprintf(d->base.target, sizeof d->base.target, "sm_%d", i->compute);
}

static bool find_gpu(CudaDevice *d, int ordinal, gi_err *err) {
    int n = 0;
    if (d->cu->missing)
        return gi_fail(err, "driver",
                       "the CUDA driver is too old: it offers CUDA %d.%d and has no %s; version "
                       "12.4 (driver 550) or newer is needed",
                       d->cu->version / 1000, d->cu->version % 1000 / 10, d->cu->missing);
    if (!cuda_ok(d, d->cu->device_count(&n), "count the GPUs", err)) return false;
    if (ordinal >= n)
        return gi_fail(err, "nodevice", "there is no cuda:%d: the driver lists %d GPU%s", ordinal,
                       n, n == 1 ? "" : "s");
    if (!cuda_ok(d, d->cu->device_get(&d->device, ordinal), "find the GPU", err)) return false;
    read_info(d);
    if (d->info.compute < 75)
        return gi_fail(err, "nodevice",
                       "cuda:%d is a %s of compute capability %d.%d; 7.5 (Turing) or newer is "
                       "needed",
                       ordinal, d->info.name, d->info.compute / 10, d->info.compute % 10);
    return true;
}

static bool make_stream(CudaDevice *d, gi_err *err) {
    const Driver *cu = d->cu;
    int code = cu->stream_new(&d->stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 2 && code == CU_OK; i++) code = cu->event_new(&d->half[i], 0);
    for (int i = 0; i < CUDA_GROUP && code == CU_OK; i++) {
        code = cu->event_new(&d->start[i], 0);
        if (code == CU_OK) code = cu->event_new(&d->end[i], 0);
    }
    if (code == CU_OK) code = cu->pinned_new((void **)&d->staging, CUDA_STAGING_BYTES + 64);
    if (code == CU_OK) d->gate = (volatile uint32_t *)(void *)(d->staging + CUDA_STAGING_BYTES);
    return cuda_ok(d, code, "set up the GPU's stream", err);
}

/* What kernels print waits for the driver to format it, a megabyte unless told otherwise: a mutant
** that floods it took a minute and a half over its samples. With little room it waits for the
** driver while it runs, and its time limit ends it. */
static bool bound_printing(CudaDevice *d, gi_err *err) {
    return cuda_ok(d, d->cu->limit_set(CU_LIMIT_PRINTED_BYTES, CUDA_PRINTED_BYTES),
                   "bound what kernels print", err);
}

static bool make_context(CudaDevice *d, gi_err *err) {
    if (!cuda_ok(d, d->cu->context_retain(&d->context, d->device), "open a context on the GPU",
                 err))
        return false;
    return cuda_enter(d, err) && bound_printing(d, err) && make_stream(d, err) &&
           cuda_helpers_load(d, err);
}

/* --- closing --- */

static void free_events(CudaDevice *d) {
    for (int i = 0; i < 2; i++)
        if (d->half[i]) d->cu->event_free(d->half[i]);
    for (int i = 0; i < CUDA_GROUP; i++) {
        if (d->start[i]) d->cu->event_free(d->start[i]);
        if (d->end[i]) d->cu->event_free(d->end[i]);
    }
}

static void free_context(CudaDevice *d) {
    CudaScratch *scratch[] = {&d->parts, &d->table, &d->stamps, &d->flush};
    d->cu->context_use(d->context);
    for (int i = 0; i < 4; i++)
        if (scratch[i]->address) d->cu->memory_free(scratch[i]->address);
    if (d->helpers.module) d->cu->module_free(d->helpers.module);
    for (int t = 0; t <= ARRAY_F64; t++)
        if (d->helpers.comparers[t].module) d->cu->module_free(d->helpers.comparers[t].module);
    free_events(d);
    if (d->staging) d->cu->pinned_free(d->staging);
    if (d->stream) d->cu->stream_free(d->stream);
    d->cu->context_release(d->device);
}

/* A lost context is left as it is: the driver would wait for a kernel that never ends. */
static void close_device(Device *base) {
    CudaDevice *d = cuda_of(base);
    if (d->context && !d->lost) free_context(d);
    free(d);
}

static void info(const Device *d, DeviceInfo *out) {
    *out = cuda_of(d)->info;
}

static const DeviceClass cuda_class = {.name = "cuda",
                                       .close = close_device,
                                       .info = info,
                                       .buffer = cuda_buffer,
                                       .buffer_free = cuda_buffer_free,
                                       .buffer_read = cuda_buffer_read,
                                       .buffer_write = cuda_buffer_write,
                                       .sentinel = cuda_buffer_sentinel,
                                       .keep = cuda_buffer_keep,
                                       .compare = cuda_compare,
                                       .intact = cuda_intact,
                                       .texture = cuda_texture,
                                       .texture_free = cuda_texture_free,
                                       .load = cuda_load,
                                       .module_free = cuda_module_free,
                                       .reset = cuda_module_reset,
                                       .symbol_size = cuda_symbol_size,
                                       .symbol_write = cuda_symbol_write,
                                       .symbol_read = cuda_symbol_read,
                                       .kernel_info = cuda_kernel_info,
                                       .kernel_name = cuda_kernel_name,
                                       .launch = cuda_launch,
                                       .time = cuda_time,
                                       .time_pair = cuda_time_pair,
                                       .time_sentinel = cuda_time_sentinel};

Device *cuda_device_open(int ordinal, gi_err *err) {
    const Driver *cu = driver_load(err);
    if (cu == NULL) return NULL;
    CudaDevice *d = gi_alloc(sizeof *d);
    d->base.class = &cuda_class;
    d->cu = cu;
    if (find_gpu(d, ordinal, err) && make_context(d, err)) return &d->base;
    close_device(&d->base);
    return NULL;
}
