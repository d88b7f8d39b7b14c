/* nvml.c - libnvidia-ml.so.1 for the virtual GPU: what NVML says of a GPU that has no sensors.
**
** NVML's documentation ("NVML API Reference Guide") says what each function does. Name, memory,
** clocks, PCI address, architecture and versions are those that the CUDA library gives. Sensors,
** counters, NVLink, MIG and virtual GPUs are "not supported", NVML's own answer for a GPU that
** lacks them; what would change the GPU is "no permission" (missing.c). Sizes are bytes, clocks are
** MHz.
*/
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "standin/nvidia-ml/nvml.h"

extern int cudaGetDeviceCount(int *), cudaGetDevice(int *), cudaSetDevice(int);
extern int cudaMemGetInfo(size_t *, size_t *), cudaDriverGetVersion(int *);
extern int cudaDeviceGetAttribute(int *, int, int);
extern int cuInit(unsigned), cuDeviceGetName(char *, int, int), cuDeviceGetUuid_v2(void *, int);

enum { /* cudaDeviceAttr */
    CLOCK_KHZ = 13,
    PROCESSORS = 16,
    ECC = 32,
    PCI_BUS = 33,
    PCI_DEVICE = 34,
    MEMORY_CLOCK_KHZ = 36,
    BUS_WIDTH = 37,
    PCI_DOMAIN = 50,
    MAJOR = 75,
    MINOR = 76
};

enum { DEVICES = 64, DRIVER = 580 };

typedef struct Device {
    int number;
} Device;

typedef struct Memory {
    unsigned long long total, free, used;
} Memory;

typedef struct Memory2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
} Memory2;

typedef struct Pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
} Pci;

typedef struct FirstProcess {
    unsigned pid;
    unsigned long long used;
} FirstProcess;

typedef struct Process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
} Process;

static Device devices[DEVICES];
static int n_devices, n_begun;

/* --- before and after --- */

static Result begin(void) {
    int n = 0;
    if (cuInit(0) != 0 || cudaGetDeviceCount(&n) != 0) return ML_DRIVER_NOT_LOADED;
    n_devices = n < DEVICES ? n : DEVICES;
    for (int i = 0; i < n_devices; i++) devices[i].number = i;
    n_begun++;
    return ML_SUCCESS;
}

EXPORT(nvmlInit_v2, void) {
    return begin();
}
EXPORT(nvmlInit, void) {
    return begin();
}
EXPORT(nvmlInitWithFlags, unsigned flags) {
    (void)flags;
    return begin();
}

EXPORT(nvmlShutdown, void) {
    if (n_begun == 0) return ML_UNINITIALIZED;
    n_begun--;
    return ML_SUCCESS;
}

WORK_API const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result) {
    switch (result) {
    case ML_SUCCESS: return "success";
    case ML_UNINITIALIZED: return "nvmlInit was not called";
    case ML_INVALID_ARGUMENT: return "invalid argument";
    case ML_NOT_SUPPORTED: return "not supported by this GPU";
    case ML_NO_PERMISSION: return "no permission";
    case ML_NOT_FOUND: return "not found";
    case ML_INSUFFICIENT_SIZE: return "the buffer is too small";
    case ML_DRIVER_NOT_LOADED: return "no driver is loaded";
    case ML_VERSION_MISMATCH: return "the structure's version is not supported";
    default: return "unknown error";
    }
}

/* --- numbers of a device --- */

static Result checked(const Device *d, const void *out) {
    if (n_begun == 0) return ML_UNINITIALIZED;
    for (int i = 0; out && i < n_devices; i++)
        if (d == &devices[i]) return ML_SUCCESS;
    return ML_INVALID_ARGUMENT;
}

static int attribute(const Device *d, int which) {
    int value = 0;
    cudaDeviceGetAttribute(&value, which, d->number);
    return value;
}

static int capability(const Device *d) {
    return 10 * attribute(d, MAJOR) + attribute(d, MINOR);
}

static int cores(const Device *d) {
    const int version = capability(d);
    return attribute(d, PROCESSORS) * (version <= 80 ? 64 : 128);
}

static int architecture(const Device *d) { /* nvmlDeviceArchitecture_t */
    const int version = capability(d);
    return version >= 100 ? 10 : version >= 90 ? 9 : version == 89 ? 8 : version >= 80 ? 7 : 6;
}

#define NUMBER(name, value)                                 \
    EXPORT(nvmlDeviceGet##name, Device *d, unsigned *out) { \
        const Result r = checked(d, out);                   \
        if (r == ML_SUCCESS) *out = (unsigned)(value);      \
        return r;                                           \
    }
NUMBER(Index, d->number)
NUMBER(MinorNumber, d->number)
NUMBER(NumGpuCores, cores(d))
NUMBER(MemoryBusWidth, attribute(d, BUS_WIDTH))
NUMBER(Architecture, architecture(d))
NUMBER(PerformanceState, 0)
NUMBER(PowerState, 0)
NUMBER(PersistenceMode, 1)
NUMBER(ComputeMode, 0)
NUMBER(DisplayMode, 0)
NUMBER(DisplayActive, 0)
NUMBER(MultiGpuBoard, 0)

static Result clock_of(const Device *d, unsigned type, unsigned *out) {
    enum { MEMORY = 2, TYPES = 4 };
    const Result r = checked(d, type < TYPES ? out : NULL);
    if (r == ML_SUCCESS)
        *out = (unsigned)attribute(d, type == MEMORY ? MEMORY_CLOCK_KHZ : CLOCK_KHZ) / 1000;
    return r;
}

#define CLOCK(name)                                                         \
    EXPORT(nvmlDeviceGet##name, Device *d, unsigned type, unsigned *out) {  \
        return clock_of(d, type, out);                                      \
    }
CLOCK(ClockInfo)
CLOCK(MaxClockInfo)
CLOCK(ApplicationsClock)
CLOCK(DefaultApplicationsClock)

EXPORT(nvmlDeviceGetClock, Device *d, unsigned type, unsigned id, unsigned *out) {
    (void)id;
    return clock_of(d, type, out);
}

EXPORT(nvmlDeviceGetEccMode, Device *d, unsigned *now, unsigned *pending) {
    const Result r = checked(d, now && pending ? now : NULL);
    if (r == ML_SUCCESS) *now = *pending = (unsigned)attribute(d, ECC);
    return r;
}

EXPORT(nvmlDeviceGetCudaComputeCapability, Device *d, int *major, int *minor) {
    const Result r = checked(d, major && minor ? major : NULL);
    if (r == ML_SUCCESS) *major = attribute(d, MAJOR), *minor = attribute(d, MINOR);
    return r;
}

/* --- names --- */

static Result put_text(char *out, unsigned size, const char *text) {
    if (strlen(text) + 1 > size) return ML_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return ML_SUCCESS;
}

EXPORT(nvmlDeviceGetName, Device *d, char *out, unsigned size) {
    char name[256] = "";
    const Result r = checked(d, out);
    if (r != ML_SUCCESS) return r;
    cuDeviceGetName(name, sizeof name, d->number);
    return put_text(out, size, name);
}

static void uuid_of(const Device *d, char text[48]) { /* GPU-8-4-4-4-12 hexadecimal digits */
    uint8_t id[16] = {0};
    char *at = text + sprintf(text, "GPU-");
    cuDeviceGetUuid_v2(id, d->number);
    for (int i = 0; i < 16; i++)
        at += sprintf(at, "%s%02x", i >= 4 && i <= 10 && i % 2 == 0 ? "-" : "", id[i]);
}

EXPORT(nvmlDeviceGetUUID, Device *d, char *out, unsigned size) {
    char text[48];
    const Result r = checked(d, out);
    if (r != ML_SUCCESS) return r;
    uuid_of(d, text);
    return put_text(out, size, text);
}

static void pci_of(const Device *d, Pci *out) {
    memset(out, 0, sizeof *out);
    out->domain = (unsigned)attribute(d, PCI_DOMAIN);
    out->bus = (unsigned)attribute(d, PCI_BUS);
    out->device = (unsigned)attribute(d, PCI_DEVICE);
    snprintf(out->legacy, sizeof out->legacy, "%04X:%02X:%02X.0", out->domain & 0xffff,
             out->bus & 0xff, out->device & 0xff);
    snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", out->domain, out->bus & 0xff,
             out->device & 0xff);
}

EXPORT(nvmlDeviceGetPciInfo_v3, Device *d, Pci *out) {
    const Result r = checked(d, out);
    if (r == ML_SUCCESS) pci_of(d, out);
    return r;
}

/* --- which device --- */

static Result count_of(unsigned *out) {
    if (n_begun == 0) return ML_UNINITIALIZED;
    if (out == NULL) return ML_INVALID_ARGUMENT;
    *out = (unsigned)n_devices;
    return ML_SUCCESS;
}

static Result by_index(unsigned index, Device **out) {
    if (n_begun == 0) return ML_UNINITIALIZED;
    if (out == NULL || index >= (unsigned)n_devices) return ML_INVALID_ARGUMENT;
    *out = &devices[index];
    return ML_SUCCESS;
}

static Result by_uuid(const char *uuid, Device **out) {
    char text[48];
    if (n_begun == 0) return ML_UNINITIALIZED;
    if (uuid == NULL || out == NULL) return ML_INVALID_ARGUMENT;
    for (int i = 0; i < n_devices; i++) {
        uuid_of(&devices[i], text);
        if (strcmp(text, uuid) == 0) return by_index((unsigned)i, out);
    }
    return ML_NOT_FOUND;
}

static Result by_bus(const char *text, Device **out) {
    unsigned domain, bus, device;
    Pci pci;
    if (n_begun == 0) return ML_UNINITIALIZED;
    if (text == NULL || out == NULL || sscanf(text, "%x:%x:%x", &domain, &bus, &device) != 3)
        return ML_INVALID_ARGUMENT;
    for (int i = 0; i < n_devices; i++) {
        pci_of(&devices[i], &pci);
        if (pci.domain == domain && pci.bus == bus && pci.device == device)
            return by_index((unsigned)i, out);
    }
    return ML_NOT_FOUND;
}

EXPORT(nvmlDeviceGetCount_v2, unsigned *out) {
    return count_of(out);
}
EXPORT(nvmlDeviceGetCount, unsigned *out) {
    return count_of(out);
}
EXPORT(nvmlDeviceGetHandleByIndex_v2, unsigned index, Device **out) {
    return by_index(index, out);
}
EXPORT(nvmlDeviceGetHandleByIndex, unsigned index, Device **out) {
    return by_index(index, out);
}
EXPORT(nvmlDeviceGetHandleByUUID, const char *uuid, Device **out) {
    return by_uuid(uuid, out);
}
EXPORT(nvmlDeviceGetHandleByPciBusId_v2, const char *text, Device **out) {
    return by_bus(text, out);
}
EXPORT(nvmlDeviceGetHandleByPciBusId, const char *text, Device **out) {
    return by_bus(text, out);
}

/* --- memory and processes --- */

/* The program's own current device stays the current one. */
static Memory memory_of(const Device *d) {
    int before = 0;
    size_t left = 0, total = 0;
    cudaGetDevice(&before);
    if (before != d->number) cudaSetDevice(d->number);
    cudaMemGetInfo(&left, &total);
    if (before != d->number) cudaSetDevice(before);
    return (Memory){.total = total, .free = left, .used = total - left};
}

EXPORT(nvmlDeviceGetMemoryInfo, Device *d, Memory *out) {
    const Result r = checked(d, out);
    if (r == ML_SUCCESS) *out = memory_of(d);
    return r;
}

EXPORT(nvmlDeviceGetMemoryInfo_v2, Device *d, Memory2 *out) {
    const Result r = checked(d, out);
    if (r != ML_SUCCESS) return r;
    if (out->version != (sizeof *out | 2u << 24)) return ML_VERSION_MISMATCH;
    const Memory m = memory_of(d);
    out->total = m.total, out->reserved = 0, out->free = m.free, out->used = m.used;
    return ML_SUCCESS;
}

/* The program itself is all that runs there. *n: for how many there is room; then how many. */
static Result processes(const Device *d, unsigned *n, void *out, bool is_first) {
    const Result r = checked(d, n);
    if (r != ML_SUCCESS) return r;
    const unsigned room = *n;
    *n = 1;
    if (room == 0) return ML_INSUFFICIENT_SIZE;
    if (out == NULL) return ML_INVALID_ARGUMENT;
    const Process one = {(unsigned)getpid(), memory_of(d).used, UINT32_MAX, UINT32_MAX};
    const FirstProcess first = {one.pid, one.used};
    if (is_first) memcpy(out, &first, sizeof first);
    else memcpy(out, &one, sizeof one);
    return ML_SUCCESS;
}

static Result no_processes(const Device *d, unsigned *n) {
    const Result r = checked(d, n);
    if (r == ML_SUCCESS) *n = 0;
    return r;
}

#define PROCESSES(name, given)                                          \
    EXPORT(nvmlDeviceGet##name, Device *d, unsigned *n, void *out) {    \
        (void)out;                                                      \
        return given;                                                   \
    }
PROCESSES(ComputeRunningProcesses, processes(d, n, out, true))
PROCESSES(ComputeRunningProcesses_v2, processes(d, n, out, false))
PROCESSES(ComputeRunningProcesses_v3, processes(d, n, out, false))
PROCESSES(GraphicsRunningProcesses, no_processes(d, n))
PROCESSES(GraphicsRunningProcesses_v2, no_processes(d, n))
PROCESSES(GraphicsRunningProcesses_v3, no_processes(d, n))

/* --- the system --- */

static Result version_text(char *out, unsigned size, const char *before) {
    char text[24];
    if (n_begun == 0) return ML_UNINITIALIZED;
    if (out == NULL) return ML_INVALID_ARGUMENT;
    snprintf(text, sizeof text, "%s%d.00", before, DRIVER);
    return put_text(out, size, text);
}

EXPORT(nvmlSystemGetDriverVersion, char *out, unsigned size) {
    return version_text(out, size, "");
}
EXPORT(nvmlSystemGetNVMLVersion, char *out, unsigned size) {
    return version_text(out, size, "13.");
}

static Result cuda_version(int *out) {
    if (out == NULL) return ML_INVALID_ARGUMENT;
    return cudaDriverGetVersion(out) == 0 ? ML_SUCCESS : ML_DRIVER_NOT_LOADED;
}

EXPORT(nvmlSystemGetCudaDriverVersion, int *out) {
    return cuda_version(out);
}
EXPORT(nvmlSystemGetCudaDriverVersion_v2, int *out) {
    return cuda_version(out);
}
