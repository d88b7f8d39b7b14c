/* class.h - what a device has to provide to device.c. Private to src/device.
**
** A device's own structs begin with the base struct of the handle. Functions get arguments that
** device.c has checked: sizes agree, handles belong together.
*/
#ifndef GILUA_DEVICE_CLASS_H
#define GILUA_DEVICE_CLASS_H

#include "device/device.h"

typedef struct DeviceClass {
    const char *name;
    void (*close)(Device *);
    void (*info)(const Device *, DeviceInfo *);
    DeviceBuffer *(*buffer)(Device *, Array *, DeviceAccess, const char *label, gi_err *);
    void (*buffer_free)(DeviceBuffer *);
    bool (*buffer_read)(DeviceBuffer *, Array *, gi_err *);
    bool (*buffer_write)(DeviceBuffer *, const Array *, gi_err *);
    bool (*sentinel)(DeviceBuffer *, gi_err *);
    bool (*keep)(DeviceBuffer *, gi_err *); /* kept has just been set; NULL: that is all it takes */
    bool (*compare)(DeviceBuffer *, DeviceBuffer *, const CompareOptions *, Comparison *, gi_err *);
    bool (*intact)(Device *, gi_buf *, gi_err *);
    DeviceTexture *(*texture)(Device *, Array *, const TextureSpec *, gi_err *);
    void (*texture_free)(DeviceTexture *);
    DeviceModule *(*load)(Device *, const char *, size_t, gi_err *);
    void (*module_free)(DeviceModule *);
    bool (*reset)(DeviceModule *, gi_err *);
    bool (*symbol_size)(DeviceModule *, const char *name, size_t *size); /* false: none */
    bool (*symbol_write)(DeviceModule *, const char *, const void *, size_t, gi_err *);
    bool (*symbol_read)(DeviceModule *, const char *, void *, size_t, gi_err *);
    bool (*kernel_info)(DeviceModule *, const char *, KernelInfo *, gi_err *);
    const char *(*kernel_name)(DeviceModule *, int);
    bool (*launch)(DeviceModule *, const DeviceLaunch *, Measurement *, gi_err *);
    bool (*time)(DeviceModule *, const DeviceLaunch *, const DeviceTiming *, DeviceSamples *,
                 gi_err *);
    bool (*time_pair)(DevicePair, DevicePair, int, const DeviceTiming *, double *, double *,
                      Measurement *, gi_err *);
    bool (*time_sentinel)(DeviceBuffer *, const DeviceTiming *, DeviceSamples *, gi_err *);
} DeviceClass;

struct Device {
    const DeviceClass *class;
    char description[192];
    char target[16];
};

struct DeviceBuffer {
    Device *device;
    Array *array; /* a reference of the buffer's own */
    uint64_t address;
    DeviceAccess access;
    void *kept; /* what fills it; NULL: the sentinel */
};

struct DeviceTexture {
    Device *device;
    uint64_t handle;
};

/* What the host wrote into a module's variables: part of what a launch begins with. */
typedef struct SymbolWrite {
    char *name;
    void *bytes;
    size_t n;
} SymbolWrite;

struct DeviceModule {
    Device *device;
    SymbolWrite *writes;
    int n_writes, cap_writes;
};

Device *emu_device_open(const EmuModel *model, gi_err *err);
Device *cuda_device_open(int ordinal, gi_err *err);

DeviceTiming device_timing_filled(const DeviceTiming *how); /* zero fields: their defaults */

/* The same texture in the virtual GPU's words (texture.c). */
EmuTexture texture_for_emu(const Array *a, const TextureSpec *spec);

/* Statistics of samples (samples.c). */
void samples_add(DeviceSamples *s, double ns, double clock_ghz);
/* Marks throttled samples and sets dropped, median_ns and rel_error. best_ghz: the highest clock
** ever seen on the device. */
void samples_summarise(DeviceSamples *s, double best_ghz, double tolerance);
/* Median of n >= 1 values, which are sorted in place, and the half width of the distribution-free
** ~95 % interval of the median (between order statistics; of fewer than 6 values the whole range)
** over it. */
double samples_median(double *values, int n, double *rel_error);

#endif
