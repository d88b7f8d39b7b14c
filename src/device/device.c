/* device.c - the front of both devices: checks what is wrong on any, then calls its class. */
#include "device/class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *device_status_name(DeviceStatus s) {
    static const char *const names[] = {
        "ok",      "compile_error", "launch_error", "illegal_address", "misaligned",
        "timeout", "loop_limit",    "race",         "crash",           "out_of_memory"};
    return names[s];
}

/* --- devices --- */

/* "cuda" or "cuda:N": the number, else -1. */
static int cuda_ordinal(const char *name) {
    if (strncmp(name, "cuda", 4) != 0) return -1;
    if (name[4] == '\0') return 0;
    char *end;
    long n = strtol(name + 5, &end, 10);
    return name[4] == ':' && end != name + 5 && *end == '\0' && n >= 0 && n < 1024 ? (int)n : -1;
}

Device *device_open(const char *name, const EmuModel *model, gi_err *err) {
    if (strcmp(name, "emu") == 0) return emu_device_open(model, err);
    int ordinal = cuda_ordinal(name);
    if (ordinal >= 0) return cuda_device_open(ordinal, err);
    gi_fail(
        err, "nodevice",
        "there is no device '%s': \"emu\" is the virtual GPU, \"cuda\" or \"cuda:N\" a real one",
        name);
    return NULL;
}

void device_close(Device *d) {
    if (d != NULL) d->class->close(d);
}

const char *device_name(const Device *d) {
    return d->class->name;
}

const char *device_description(const Device *d) {
    return d->description;
}

const char *device_target(const Device *d) {
    return d->target;
}

void device_info(const Device *d, DeviceInfo *out) {
    *out = (DeviceInfo){0};
    d->class->info(d, out);
}

bool device_intact(Device *d, gi_buf *what, gi_err *err) {
    return d->class->intact(d, what, err);
}

/* --- buffers and textures --- */

DeviceBuffer *device_buffer(Device *d, Array *a, DeviceAccess access, const char *label,
                            gi_err *err) {
    char text[64];
    snprintf(text, sizeof text, "%s buffer of %lld elements", array_type_name(a->type),
             (long long)a->count);
    DeviceBuffer *b = d->class->buffer(d, a, access, label ? label : text, err);
    if (b == NULL) return NULL;
    b->device = d;
    b->array = array_ref(a);
    b->access = access;
    return b;
}

void device_buffer_free(DeviceBuffer *b) {
    if (b == NULL) return;
    Array *array = b->array;
    void *kept = b->kept;
    b->device->class->buffer_free(b);
    array_unref(array);
    free(kept);
}

Array *device_buffer_array(const DeviceBuffer *b) {
    return b->array;
}

uint64_t device_buffer_address(const DeviceBuffer *b) {
    return b->address;
}

static bool same_bytes(const Array *from, const Array *to, gi_err *err) {
    if (from->size_bytes == to->size_bytes) return true;
    return gi_fail(err, "usage", "an array of %zu bytes cannot be copied to one of %zu bytes",
                   from->size_bytes, to->size_bytes);
}

bool device_buffer_read(DeviceBuffer *b, Array *into, gi_err *err) {
    return same_bytes(b->array, into, err) && b->device->class->buffer_read(b, into, err);
}

bool device_buffer_write(DeviceBuffer *b, const Array *from, gi_err *err) {
    return same_bytes(from, b->array, err) && b->device->class->buffer_write(b, from, err);
}

bool device_buffer_sentinel(DeviceBuffer *b, gi_err *err) {
    if (b->access != ACCESS_WRITE)
        return gi_fail(err, "usage", "a read-only buffer cannot be filled with the sentinel");
    return b->device->class->sentinel(b, err);
}

bool device_buffer_keep(DeviceBuffer *b, const Array *initial, gi_err *err) {
    if (b->access != ACCESS_WRITE)
        return gi_fail(err, "usage", "a read-only buffer is what it was anyhow");
    if (!same_bytes(initial, b->array, err)) return false;
    if (b->kept == NULL) b->kept = gi_alloc(initial->size_bytes);
    memcpy(b->kept, initial->data, initial->size_bytes);
    return b->device->class->keep == NULL || b->device->class->keep(b, err);
}

bool device_buffer_compare(DeviceBuffer *got, DeviceBuffer *expected, const CompareOptions *options,
                           Comparison *out, gi_err *err) {
    if (got->device != expected->device)
        return gi_fail(err, "usage", "buffers of two devices cannot be compared");
    static const CompareOptions defaults = {.width = 1};
    return got->device->class->compare(got, expected, options ? options : &defaults, out, err);
}

/* --- modules --- */

DeviceModule *device_load(Device *d, const char *code, size_t len, gi_err *err) {
    return d->class->load(d, code, len, err);
}

static void forget_writes(DeviceModule *m) {
    for (int i = 0; i < m->n_writes; i++) {
        free(m->writes[i].name);
        free(m->writes[i].bytes);
    }
    m->n_writes = 0;
}

void device_module_free(DeviceModule *m) {
    if (m == NULL) return;
    forget_writes(m);
    free(m->writes);
    m->device->class->module_free(m);
}

bool device_module_reset(DeviceModule *m, gi_err *err) {
    forget_writes(m);
    return m->device->class->reset(m, err);
}

static bool check_symbol(DeviceModule *m, const char *name, size_t n, gi_err *err) {
    size_t size;
    if (!m->device->class->symbol_size(m, name, &size))
        return gi_fail(err, "usage", "the module has no __device__ or __constant__ variable '%s'",
                       name);
    if (n > size) return gi_fail(err, "usage", "'%s' holds %zu bytes, not %zu", name, size, n);
    return true;
}

static SymbolWrite *find_write(DeviceModule *m, const char *name, size_t n) {
    for (int i = 0; i < m->n_writes; i++)
        if (m->writes[i].n == n && strcmp(m->writes[i].name, name) == 0) return &m->writes[i];
    gi_grow(m->writes, m->n_writes, m->cap_writes);
    SymbolWrite *w = &m->writes[m->n_writes++];
    *w = (SymbolWrite){gi_strdup(name), gi_alloc(n), n};
    return w;
}

bool device_symbol_write(DeviceModule *m, const char *name, const void *bytes, size_t n,
                         gi_err *err) {
    if (!check_symbol(m, name, n, err)) return false;
    if (!m->device->class->symbol_write(m, name, bytes, n, err)) return false;
    memcpy(find_write(m, name, n)->bytes, bytes, n);
    return true;
}

bool device_symbol_read(DeviceModule *m, const char *name, void *bytes, size_t n, gi_err *err) {
    return check_symbol(m, name, n, err) && m->device->class->symbol_read(m, name, bytes, n, err);
}

bool device_kernel_info(DeviceModule *m, const char *kernel, KernelInfo *out, gi_err *err) {
    return m->device->class->kernel_info(m, kernel, out, err);
}

const char *device_kernel_name(DeviceModule *m, int index) {
    return m->device->class->kernel_name(m, index);
}

/* --- launches --- */

static bool check_launch(DeviceModule *m, const DeviceLaunch *l, gi_err *err) {
    if (l->carveout < -1 || l->carveout > 100)
        return gi_fail(err, "usage", "launch: carveout is 0 to 100 percent, or -1, not %d",
                       l->carveout);
    for (int i = 0; i < l->n_fill; i++) {
        if (l->fill[i]->device != m->device)
            return gi_fail(err, "usage", "launch: a buffer to fill belongs to another device");
        if (l->fill[i]->access != ACCESS_WRITE)
            return gi_fail(err, "usage", "launch: a read-only buffer cannot be filled");
    }
    return true;
}

bool device_launch(DeviceModule *m, const DeviceLaunch *launch, Measurement *out, gi_err *err) {
    *out = (Measurement){0};
    return check_launch(m, launch, err) && m->device->class->launch(m, launch, out, err);
}

DeviceTiming device_timing_filled(const DeviceTiming *how) {
    DeviceTiming t = how ? *how : (DeviceTiming){0};
    if (t.min_samples <= 0) t.min_samples = 10;
    if (t.max_samples <= 0) t.max_samples = 200;
    if (t.max_samples < t.min_samples) t.max_samples = t.min_samples;
    if (t.warmup <= 0) t.warmup = 2;
    if (t.rel_error <= 0) t.rel_error = 0.005;
    if (t.clock_tolerance <= 0) t.clock_tolerance = 0.03;
    return t;
}

bool device_time(DeviceModule *m, const DeviceLaunch *launch, const DeviceTiming *how,
                 DeviceSamples *out, gi_err *err) {
    *out = (DeviceSamples){0};
    DeviceTiming timing = device_timing_filled(how);
    return check_launch(m, launch, err) && m->device->class->time(m, launch, &timing, out, err);
}

bool device_time_sentinel(DeviceBuffer *b, const DeviceTiming *how, DeviceSamples *out,
                          gi_err *err) {
    *out = (DeviceSamples){0};
    DeviceTiming timing = device_timing_filled(how);
    if (b->access != ACCESS_WRITE)
        return gi_fail(err, "usage", "a read-only buffer cannot be filled with the sentinel");
    return b->device->class->time_sentinel(b, &timing, out, err);
}

void device_samples_free(DeviceSamples *s) {
    free(s->ns);
    free(s->clock_ghz);
    free(s->throttled);
    *s = (DeviceSamples){0};
}

bool device_time_pair(DevicePair a, DevicePair b, int pairs, const DeviceTiming *how, double *ns_a,
                      double *ns_b, Measurement *last, gi_err *err) {
    *last = (Measurement){0};
    DeviceTiming timing = device_timing_filled(how);
    if (a.module->device != b.module->device)
        return gi_fail(err, "usage", "pair: both modules must be of one device");
    if (pairs < 1 || pairs > 100000)
        return gi_fail(err, "usage", "pair: 1 to 100000 pairs can be timed, not %d", pairs);
    if (!check_launch(a.module, a.launch, err) || !check_launch(b.module, b.launch, err))
        return false;
    return a.module->device->class->time_pair(a, b, pairs, &timing, ns_a, ns_b, last, err);
}
