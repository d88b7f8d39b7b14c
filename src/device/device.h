/* device.h - one interface, two devices: "emu" (emu.c, the virtual GPU) and "cuda" (cuda.c).
**
** A device runs modules over buffers and textures; it says what happened in a Measurement and
** never believes a kernel. Handles belong to their device and must be released before it.
*/
#ifndef GILUA_DEVICE_H
#define GILUA_DEVICE_H

#include "array/array.h"
#include "emu/emu.h"

typedef enum DeviceStatus {
    STATUS_OK, STATUS_COMPILE_ERROR, STATUS_LAUNCH_ERROR, STATUS_ILLEGAL_ADDRESS, STATUS_MISALIGNED,
    STATUS_TIMEOUT, STATUS_LOOP_LIMIT, STATUS_RACE, STATUS_CRASH, STATUS_OUT_OF_MEMORY
} DeviceStatus;

const char *device_status_name(DeviceStatus s); /* "ok" "illegal_address" … (design §4) */

typedef struct Device Device;
typedef struct DeviceBuffer DeviceBuffer;
typedef struct DeviceTexture DeviceTexture;
typedef struct DeviceModule DeviceModule;

/* "emu" or "cuda[:N]". model: the GPU emu stands for (ignored by cuda). "nodevice", "nolib". */
Device *device_open(const char *name, const EmuModel *model, gi_err *err);
void device_close(Device *d);
const char *device_name(const Device *d);        /* "emu" */
const char *device_description(const Device *d); /* "virtual NVIDIA H200 (emu)" */
const char *device_target(const Device *d);      /* what to compile for: "compute_90" or "sm_90" */

/* Device memory holding an array. On emu it *is* the array's memory (no copy). */
DeviceBuffer *device_buffer(Device *d, Array *a, bool read_only, gi_err *err);
void device_buffer_free(DeviceBuffer *b);
uint64_t device_buffer_address(const DeviceBuffer *b);
bool device_buffer_read(DeviceBuffer *b, Array *into, gi_err *err); /* device -> array */
bool device_buffer_write(DeviceBuffer *b, const Array *from, gi_err *err);

/* A texture over an array's elements; t->data is set from it. */
DeviceTexture *device_texture(Device *d, Array *a, const EmuTexture *t, gi_err *err);
void device_texture_free(DeviceTexture *t);
uint64_t device_texture_handle(const DeviceTexture *t);

DeviceModule *device_load(Device *d, const char *code, size_t len, gi_err *err);
void device_module_free(DeviceModule *m);
bool device_module_reset(DeviceModule *m, gi_err *err); /* globals back to their initial values */
/* Copies bytes to or from a __device__ or __constant__ variable, which must be as large. */
bool device_symbol_write(DeviceModule *m, const char *name, const void *bytes, size_t n,
                         gi_err *err);
bool device_symbol_read(DeviceModule *m, const char *name, void *bytes, size_t n, gi_err *err);
bool device_kernel_info(DeviceModule *m, const char *kernel, EmuKernelInfo *out, gi_err *err);
const char *device_kernel_name(DeviceModule *m, int index); /* NULL past the end */

typedef struct Measurement {
    DeviceStatus status;
    double ticks, ns;
    int registers;
    size_t shared_bytes;
    EmuResult detail;        /* counts and, for a fault, the message (emu) */
} Measurement;

/* Runs one launch. False only for misuse; what a kernel does wrong is in out->status. */
bool device_launch(DeviceModule *m, const EmuLaunch *launch, Measurement *out, gi_err *err);

#endif
