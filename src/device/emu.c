/* emu.c - the device "emu": device.h over the virtual GPU of src/emu.
**
** Buffers are the arrays' own memory, mapped: nothing is copied. Releasing a device that still has
** buffers or modules is the caller's mistake; the Lua bindings keep parents alive through user
** values.
*/
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Device {
    Emu *emu;
    char description[64];
};

struct DeviceBuffer {
    Device *device;
    Array *array;
    uint64_t address;
};

struct DeviceTexture {
    Device *device;
    Array *array;
    uint64_t handle;
};

struct DeviceModule {
    EmuModule *module;
};

Device *device_open(const char *name, const EmuModel *model, gi_err *err) {
    if (strcmp(name, "emu") != 0) {
        gi_fail(err, "nodevice",
                "there is no device '%s': this version runs kernels on \"emu\", the virtual GPU",
                name);
        return NULL;
    }
    Device *d = gi_alloc(sizeof *d);
    d->emu = emu_new(model);
    snprintf(d->description, sizeof d->description, "virtual %s (emu)", model->name);
    return d;
}

void device_close(Device *d) {
    if (d == NULL) return;
    emu_free(d->emu);
    free(d);
}

const char *device_name(const Device *d) {
    (void)d;
    return "emu";
}

const char *device_description(const Device *d) {
    return d->description;
}

const char *device_target(const Device *d) {
    (void)d;
    return "compute_90";
}

DeviceBuffer *device_buffer(Device *d, Array *a, bool read_only, gi_err *err) {
    (void)err;
    DeviceBuffer *b = gi_alloc(sizeof *b);
    char label[64];
    snprintf(label, sizeof label, "%s buffer of %lld elements", array_type_name(a->type),
             (long long)a->count);
    *b = (DeviceBuffer){d, array_ref(a), emu_map(d->emu, a->data, a->size_bytes, read_only, label)};
    return b;
}

void device_buffer_free(DeviceBuffer *b) {
    if (b == NULL) return;
    emu_unmap(b->device->emu, b->address);
    array_unref(b->array);
    free(b);
}

uint64_t device_buffer_address(const DeviceBuffer *b) {
    return b->address;
}

/* The buffer is the array's memory: there is something to copy only for another array. */
static bool copy_array(const Array *from, Array *to, gi_err *err) {
    if (from->size_bytes != to->size_bytes)
        return gi_fail(err, "usage", "an array of %zu bytes cannot be copied to one of %zu bytes",
                       from->size_bytes, to->size_bytes);
    if (from->data != to->data) memcpy(to->data, from->data, from->size_bytes);
    return true;
}

bool device_buffer_read(DeviceBuffer *b, Array *into, gi_err *err) {
    return copy_array(b->array, into, err);
}

bool device_buffer_write(DeviceBuffer *b, const Array *from, gi_err *err) {
    return copy_array(from, b->array, err);
}

DeviceTexture *device_texture(Device *d, Array *a, const EmuTexture *t, gi_err *err) {
    EmuTexture bound = *t;
    bound.data = a->data;
    uint64_t handle = emu_texture_new(d->emu, &bound, err);
    if (handle == 0) return NULL;
    DeviceTexture *texture = gi_alloc(sizeof *texture);
    *texture = (DeviceTexture){d, array_ref(a), handle};
    return texture;
}

void device_texture_free(DeviceTexture *t) {
    if (t == NULL) return;
    emu_texture_free(t->device->emu, t->handle);
    array_unref(t->array);
    free(t);
}

uint64_t device_texture_handle(const DeviceTexture *t) {
    return t->handle;
}

DeviceModule *device_load(Device *d, const char *code, size_t len, gi_err *err) {
    EmuModule *module = emu_load(d->emu, code, len, err);
    if (module == NULL) return NULL;
    DeviceModule *m = gi_alloc(sizeof *m);
    m->module = module;
    return m;
}

void device_module_free(DeviceModule *m) {
    if (m == NULL) return;
    emu_unload(m->module);
    free(m);
}

bool device_module_reset(DeviceModule *m, gi_err *err) {
    (void)err;
    emu_reset(m->module);
    return true;
}

static char *find_symbol(DeviceModule *m, const char *name, size_t n, gi_err *err) {
    size_t size;
    uint64_t address;
    char *host = emu_symbol(m->module, name, &size, &address);
    if (host == NULL) {
        gi_fail(err, "usage", "the module has no __device__ or __constant__ variable '%s'", name);
    } else if (n > size) {
        gi_fail(err, "usage", "'%s' holds %zu bytes, not %zu", name, size, n);
        host = NULL;
    }
    return host;
}

bool device_symbol_write(DeviceModule *m, const char *name, const void *bytes, size_t n,
                         gi_err *err) {
    char *host = find_symbol(m, name, n, err);
    if (host != NULL) memcpy(host, bytes, n);
    return host != NULL;
}

bool device_symbol_read(DeviceModule *m, const char *name, void *bytes, size_t n, gi_err *err) {
    char *host = find_symbol(m, name, n, err);
    if (host != NULL) memcpy(bytes, host, n);
    return host != NULL;
}

bool device_kernel_info(DeviceModule *m, const char *kernel, EmuKernelInfo *out, gi_err *err) {
    return emu_kernel_info(m->module, kernel, out, err);
}

const char *device_kernel_name(DeviceModule *m, int index) {
    return emu_kernel_name(m->module, index);
}

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

bool device_launch(DeviceModule *m, const EmuLaunch *launch, Measurement *out, gi_err *err) {
    EmuResult r;
    if (!emu_launch(m->module, launch, &r, err)) return false;
    *out = (Measurement){.status = status_of(r.status),
                         .ticks = r.ticks,
                         .ns = r.ns,
                         .registers = r.registers,
                         .shared_bytes = r.shared_bytes,
                         .detail = r};
    return true;
}
