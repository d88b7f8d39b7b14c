/* fake_nvml.c - a libnvidia-ml.so without a GPU, for `GILUA_NVML=…`: a GPU of FAKE_WATTS (200)
** watts, whose counter moves every 20 ms, as NVML's does about; of 0 watts it has no counter.
*/
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC visibility push(default)
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
const char *nvmlErrorString(int code);
#pragma GCC visibility pop

static double watts(void) {
    const char *text = getenv("FAKE_WATTS");
    return text ? atof(text) : 200;
}

int nvmlInit_v2(void) {
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
    static int device;
    *out = &device;
    return strncmp(uuid, "GPU-", 4) == 0 ? 0 : 2;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj) {
    struct timespec now;
    if (device == NULL || watts() <= 0) return 3;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned long long moves = (unsigned long long)now.tv_sec * 50
                               + (unsigned long long)now.tv_nsec / 20000000;
    *mj = (unsigned long long)((double)moves * 20 * watts());
    return 0;
}

const char *nvmlErrorString(int code) {
    return code == 3 ? "Not Supported" : "Invalid Argument";
}
