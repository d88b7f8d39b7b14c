/* probe.h - what GPUs this machine has, asked of the driver without opening a context. */
#ifndef GILUA_PROBE_H
#define GILUA_PROBE_H

#include "base/base.h"

typedef struct GpuInfo {
    char name[128];
    int major, minor;         /* compute capability */
    uint64_t memory_bytes;
} GpuInfo;

typedef struct DriverInfo {
    bool loaded;              /* libcuda.so.1 is there and cuInit succeeded */
    int version;              /* of the driver API: 13000 is 13.0 */
    char why_not[256];        /* when not loaded */
    int n_gpus;
    GpuInfo gpus[32];
} DriverInfo;

/* Calls cuInit in this process: only `gilua doctor` asks. */
void device_probe(DriverInfo *out);

#endif
