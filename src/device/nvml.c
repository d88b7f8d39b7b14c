/* nvml.c - how much energy a GPU has taken: NVML's counter. The library is opened when somebody
** asks for the first time, and stays loaded.
*/
#include "device/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct NvmlDevice NvmlDevice;

static struct Nvml {
    int (*init)(void);
    int (*by_uuid)(const char *uuid, NvmlDevice **out);
    int (*energy)(NvmlDevice *device, unsigned long long *mj);
    const char *(*words)(int code);
    bool started;
} nvml;

static const char *words_of(int code) {
    const char *words = nvml.words ? nvml.words(code) : NULL;
    return words ? words : "no description";
}

/* POSIX makes dlsym's void * a function; ISO C has no cast for it. */
static bool find(void *handle, const char *symbol, void *field, gi_err *err) {
    void *found = dlsym(handle, symbol);
    if (found == NULL)
        return gi_fail(err, "nolib", "the library loaded as NVML has no %s: the driver is too old",
                       symbol);
    memcpy(field, &found, sizeof found);
    return true;
}

static bool start(gi_err *err) {
    if (nvml.started) return true;
    const char *path = getenv("GILUA_NVML");
    void *handle = dlopen(path && *path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return gi_fail(err, "nolib",
                       "a GPU's energy is known to NVML alone, which cannot be loaded (%s): it "
                       "comes with NVIDIA's driver; GILUA_NVML may name the file",
                       dlerror());
    if (!find(handle, "nvmlInit_v2", &nvml.init, err)
        || !find(handle, "nvmlDeviceGetHandleByUUID", &nvml.by_uuid, err)
        || !find(handle, "nvmlDeviceGetTotalEnergyConsumption", &nvml.energy, err)
        || !find(handle, "nvmlErrorString", &nvml.words, err))
        return false;
    int code = nvml.init();
    if (code != 0) return gi_fail(err, "driver", "NVML does not start: %s", words_of(code));
    nvml.started = true;
    return true;
}

bool device_energy(const Device *d, double *joules, gi_err *err) {
    DeviceInfo info;
    device_info(d, &info);
    if (info.uuid[0] == 0)
        return gi_fail(err, "usage", "%s has no counter of energy: a launch's estimate is energy_j "
                       "of its measurement", device_description(d));
    if (!start(err)) return false;
    NvmlDevice *device;
    unsigned long long mj;
    char uuid[sizeof info.uuid + 4];
    snprintf(uuid, sizeof uuid, "GPU-%s", info.uuid);
    int code = nvml.by_uuid(uuid, &device);
    if (code == 0) code = nvml.energy(device, &mj);
    if (code != 0)
        return gi_fail(err, "driver", "NVML does not tell the energy of %s: %s", info.name,
                       words_of(code));
    *joules = (double)mj * 1e-3;
    return true;
}
