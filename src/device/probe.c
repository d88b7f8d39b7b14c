/* probe.c - see probe.h. */
#include "device/probe.h"

#include <stdio.h>

#include "device/driver.h"

static bool probe_gpu(const Driver *cu, int ordinal, GpuInfo *gpu) {
    CuDevice device;
    size_t bytes = 0;
    *gpu = (GpuInfo){0};
    if (cu->device_get(&device, ordinal) != CU_OK) return false;
    if (cu->device_name(gpu->name, sizeof gpu->name, device) != CU_OK) return false;
    cu->device_attribute(&gpu->major, CU_COMPUTE_MAJOR, device);
    cu->device_attribute(&gpu->minor, CU_COMPUTE_MINOR, device);
    cu->device_memory(&bytes, device);
    gpu->memory_bytes = bytes;
    return true;
}

void device_probe(DriverInfo *out) {
    gi_err err;
    int n = 0;
    *out = (DriverInfo){0};
    const Driver *cu = driver_load(&err);
    if (cu == NULL) {
        snprintf(out->why_not, sizeof out->why_not, "%.250s", err.message);
        return;
    }
    out->version = cu->version;
    if (!cu->device_count || !cu->device_get || !cu->device_name || !cu->device_attribute ||
        !cu->device_memory || cu->device_count(&n) != CU_OK) {
        snprintf(out->why_not, sizeof out->why_not, "the driver cannot list its GPUs");
        return;
    }
    out->loaded = true;
    for (int i = 0; i < n && out->n_gpus < 32; i++)
        if (probe_gpu(cu, i, &out->gpus[out->n_gpus])) out->n_gpus++;
}
