/* emu.c - the device "emu": device.h over the virtual GPU of src/emu.
**
** Buffers are the arrays' own memory, mapped: nothing is copied, and a write to a read-only one or
** past its end is a fault. Time is the cost model's: exact, so one launch says all.
*/
#include "device/class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct EmuDevice {
    Device base;
    Emu *emu;
} EmuDevice;

typedef struct EmuDeviceModule {
    DeviceModule base;
    EmuModule *module;
} EmuDeviceModule;

static Emu *emu_of(const Device *d) {
    return ((const EmuDevice *)d)->emu;
}

static EmuModule *module_of(const DeviceModule *m) {
    return ((const EmuDeviceModule *)m)->module;
}

static void close_device(Device *d) {
    emu_free(emu_of(d));
    free(d);
}

static void info(const Device *d, DeviceInfo *out) {
    const EmuModel *model = emu_model(emu_of(d));
    snprintf(out->name, sizeof out->name, "%s", model->name);
    out->compute = 90;
    out->sms = (int)model->sms;
    out->clock_ghz = model->clock_ghz;
    out->l2_bytes = (uint64_t)model->l2_bytes;
    out->memory_rate = model->dram_bytes_per_clock * model->clock_ghz * 1e9;
    out->max_threads_per_block = (int)model->max_threads_per_block;
    out->shared_per_block = (size_t)model->shared_per_block;
    out->engine = emu_engine(emu_of(d));
}

/* --- memory --- */

static DeviceBuffer *buffer(Device *d, Array *a, DeviceAccess access, const char *label,
                            gi_err *err) {
    (void)err;
    DeviceBuffer *b = gi_alloc(sizeof *b);
    b->address = emu_map(emu_of(d), a->data, access == ACCESS_NONE ? 0 : a->size_bytes,
                         access != ACCESS_WRITE, label);
    return b;
}

static void buffer_free(DeviceBuffer *b) {
    emu_unmap(emu_of(b->device), b->address);
    free(b);
}

/* The buffer is the array's memory: there is something to copy only for another array. */
static bool buffer_read(DeviceBuffer *b, Array *into, gi_err *err) {
    (void)err;
    if (into->data != b->array->data) memcpy(into->data, b->array->data, into->size_bytes);
    return true;
}

static bool buffer_write(DeviceBuffer *b, const Array *from, gi_err *err) {
    (void)err;
    if (from->data != b->array->data) memcpy(b->array->data, from->data, from->size_bytes);
    return true;
}

static void fill(DeviceBuffer *b) {
    if (b->kept) memcpy(b->array->data, b->kept, b->array->size_bytes);
    else array_fill_sentinel(b->array);
}

static bool sentinel(DeviceBuffer *b, gi_err *err) {
    (void)err;
    fill(b);
    return true;
}

static bool compare(DeviceBuffer *got, DeviceBuffer *expected, const CompareOptions *options,
                    Comparison *out, gi_err *err) {
    return array_compare(got->array, expected->array, options, out, err);
}

static bool intact(Device *d, gi_buf *what, gi_err *err) {
    (void)d, (void)what, (void)err;
    return true;
}

typedef struct EmuDeviceTexture {
    DeviceTexture base;
    Array *array;
} EmuDeviceTexture;

static DeviceTexture *texture(Device *d, Array *a, const TextureSpec *spec, gi_err *err) {
    EmuTexture t = texture_for_emu(a, spec);
    uint64_t handle = emu_texture_new(emu_of(d), &t, err);
    if (handle == 0) return NULL;
    EmuDeviceTexture *made = gi_alloc(sizeof *made);
    made->base.handle = handle;
    made->array = array_ref(a);
    return &made->base;
}

static void texture_free(DeviceTexture *t) {
    emu_texture_free(emu_of(t->device), t->handle);
    array_unref(((EmuDeviceTexture *)t)->array);
    free(t);
}

/* --- modules --- */

static DeviceModule *load(Device *d, const char *code, size_t len, gi_err *err) {
    EmuModule *module = emu_load(emu_of(d), code, len, err);
    if (module == NULL) return NULL;
    EmuDeviceModule *m = gi_alloc(sizeof *m);
    m->base.device = d;
    m->module = module;
    return &m->base;
}

static void module_free(DeviceModule *m) {
    emu_unload(module_of(m));
    free(m);
}

static bool reset(DeviceModule *m, gi_err *err) {
    (void)err;
    emu_reset(module_of(m));
    return true;
}

static bool symbol_size(DeviceModule *m, const char *name, size_t *size) {
    uint64_t address;
    return emu_symbol(module_of(m), name, size, &address) != NULL;
}

static char *symbol(DeviceModule *m, const char *name) {
    size_t size;
    uint64_t address;
    return emu_symbol(module_of(m), name, &size, &address);
}

static bool symbol_write(DeviceModule *m, const char *name, const void *bytes, size_t n,
                         gi_err *err) {
    (void)err;
    memcpy(symbol(m, name), bytes, n);
    return true;
}

static bool symbol_read(DeviceModule *m, const char *name, void *bytes, size_t n, gi_err *err) {
    (void)err;
    memcpy(bytes, symbol(m, name), n);
    return true;
}

static bool kernel_info(DeviceModule *m, const char *kernel, KernelInfo *out, gi_err *err) {
    EmuKernelInfo info;
    if (!emu_kernel_info(module_of(m), kernel, &info, err)) return false;
    *out = (KernelInfo){.registers = info.registers,
                        .shared_bytes = info.shared_bytes,
                        .local_bytes = info.local_bytes,
                        .max_threads = info.max_threads,
                        .param_bytes = info.param_bytes,
                        .n_params = info.n_params,
                        .param_size = info.param_size,
                        .param_offset = info.param_offset};
    return true;
}

static const char *kernel_name(DeviceModule *m, int index) {
    return emu_kernel_name(module_of(m), index);
}

/* --- launches --- */

static DeviceStatus status_of(EmuStatus s) {
    switch (s) {
    case EMU_OK: return STATUS_OK;
    case EMU_ILLEGAL_ADDRESS: return STATUS_ILLEGAL_ADDRESS;
    case EMU_MISALIGNED: return STATUS_MISALIGNED;
    case EMU_TIMEOUT: return STATUS_TIMEOUT;
    case EMU_RACE: return STATUS_RACE;
    case EMU_OUT_OF_MEMORY: return STATUS_OUT_OF_MEMORY;
    case EMU_LAUNCH_ERROR:
    case EMU_ABORTED: return STATUS_LAUNCH_ERROR;
    }
    return STATUS_CRASH;
}

/* Variables and outputs as every launch shall find them. */
static void begin(DeviceModule *m, const DeviceLaunch *launch) {
    if (!launch->keep_variables) emu_reset(module_of(m));
    for (int i = 0; i < m->n_writes && !launch->keep_variables; i++)
        memcpy(symbol(m, m->writes[i].name), m->writes[i].bytes, m->writes[i].n);
    for (int i = 0; i < launch->n_fill; i++) fill(launch->fill[i]);
}

static EmuLaunch in_emu_words(const DeviceLaunch *l) {
    return (EmuLaunch){.kernel = l->kernel,
                       .grid = {l->grid[0], l->grid[1], l->grid[2]},
                       .block = {l->block[0], l->block[1], l->block[2]},
                       .shared_bytes = l->shared_bytes,
                       .params = l->params,
                       .budget = l->budget,
                       .timeout_s = l->timeout_s,
                       .max_faults = l->max_faults,
                       .count_uninitialised = l->count_uninitialised,
                       .check_races = l->check_races,
                       .refuse_benign_races = l->refuse_benign_races,
                       .meets = l->meets,
                       .backwards = l->backwards,
                       .cooperative = l->cooperative,
                       .cluster = {l->cluster[0], l->cluster[1], l->cluster[2]},
                       .exact = l->exact,
                       .threads = l->threads,
                       .interrupt = l->interrupt,
                       .print = l->print,
                       .print_user = l->print_user};
}

static void set_unwritten(const DeviceLaunch *l) {
    for (int i = 0; i < l->n_fill; i++) {
        const DeviceBuffer *b = l->fill[i];
        if (!b->kept) emu_unwritten(emu_of(b->device), b->address);
    }
}

/* What the host wrote into variables are inputs. They have their names in common with those of
** another module. */
static void describe_variables(DeviceModule *m, EmuExact *x) {
    for (int i = 0; i < m->n_writes; i++) {
        const char *name = m->writes[i].name;
        size_t size;
        uint64_t address, id = gi_hash(name, strlen(name), EMU_EXACT_PARAMS);
        uint8_t *data = emu_symbol(module_of(m), name, &size, &address);
        emu_exact_memory(x, address, data, m->writes[i].n, EMU_EXACT_WORDS, id);
    }
}

/* What a launch does not write of a buffer that was filled is unwritten in that launch alone: later
** the host may have done so, as it has the array. */
static bool launch(DeviceModule *m, const DeviceLaunch *l, Measurement *out, gi_err *err) {
    EmuLaunch run = in_emu_words(l);
    const EmuResult *r = &out->emu; /* in its place: its lists of findings are long to copy */
    begin(m, l);
    set_unwritten(l);
    if (l->exact) describe_variables(m, l->exact);
    bool ran = emu_launch(module_of(m), &run, &out->emu, err);
    emu_all_written(emu_of(m->device));
    if (!ran) return false;
    out->status = status_of(r->status);
    out->lost = false;
    out->ticks = r->ticks;
    out->ns = r->ns;
    out->clock_ghz = emu_model(emu_of(m->device))->clock_ghz;
    out->registers = r->registers;
    out->shared_bytes = r->shared_bytes;
    out->occupancy = r->occupancy;
    memcpy(out->message, r->message, sizeof out->message);
    return true;
}

static bool time_launch(DeviceModule *m, const DeviceLaunch *l, const DeviceTiming *how,
                        DeviceSamples *out, gi_err *err) {
    if (!launch(m, l, &out->last, err)) return false;
    if (out->last.status != STATUS_OK) return true;
    out->launches = 1;
    samples_add(out, out->last.ns, out->last.clock_ghz);
    samples_summarise(out, 0, how->clock_tolerance);
    out->slow = how->stop_above_ns > 0 && out->median_ns > how->stop_above_ns;
    return true;
}

static bool time_pair(DevicePair a, DevicePair b, int pairs, const DeviceTiming *how, double *ns_a,
                      double *ns_b, Measurement *last, gi_err *err) {
    (void)how;
    Measurement second;
    if (!launch(a.module, a.launch, last, err)) return false;
    if (last->status != STATUS_OK) return true;
    if (!launch(b.module, b.launch, &second, err)) return false;
    for (int i = 0; i < pairs; i++) ns_a[i] = last->ns, ns_b[i] = second.ns;
    if (second.status != STATUS_OK) *last = second;
    return true;
}

static bool time_sentinel(DeviceBuffer *b, const DeviceTiming *how, DeviceSamples *out,
                          gi_err *err) {
    const EmuModel *model = emu_model(emu_of(b->device));
    if (!sentinel(b, err)) return false;
    double ticks = model->launch_ticks + (double)b->array->size_bytes / model->dram_bytes_per_clock;
    out->last = (Measurement){.status = STATUS_OK, .ticks = ticks, .ns = ticks / model->clock_ghz,
                              .clock_ghz = model->clock_ghz};
    out->launches = 1;
    samples_add(out, out->last.ns, out->last.clock_ghz);
    samples_summarise(out, 0, how->clock_tolerance);
    return true;
}

static const DeviceClass emu_class = {.name = "emu",
                                      .close = close_device,
                                      .info = info,
                                      .buffer = buffer,
                                      .buffer_free = buffer_free,
                                      .buffer_read = buffer_read,
                                      .buffer_write = buffer_write,
                                      .sentinel = sentinel,
                                      .compare = compare,
                                      .intact = intact,
                                      .texture = texture,
                                      .texture_free = texture_free,
                                      .load = load,
                                      .module_free = module_free,
                                      .reset = reset,
                                      .symbol_size = symbol_size,
                                      .symbol_write = symbol_write,
                                      .symbol_read = symbol_read,
                                      .kernel_info = kernel_info,
                                      .kernel_name = kernel_name,
                                      .launch = launch,
                                      .time = time_launch,
                                      .time_pair = time_pair,
                                      .time_sentinel = time_sentinel};

Device *emu_device_open(const EmuModel *model, gi_err *err) {
    (void)err;
    EmuDevice *d = gi_alloc(sizeof *d);
    d->base.class = &emu_class;
    d->emu = emu_new(model);
    snprintf(d->base.description, sizeof d->base.description, "virtual %s (emu)", model->name);
    snprintf(d->base.target, sizeof d->base.target, "compute_90");
    return &d->base;
}
