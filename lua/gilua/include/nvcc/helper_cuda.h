// helper_cuda.h - the functions of cuda-samples' header of that name that programs use most, for
// those that were published without it. A program's own header comes first.
#ifndef GILUA_HELPER_CUDA_H
#define GILUA_HELPER_CUDA_H
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include "helper_string.h"

#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

static inline const char *_cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }

// Ends the program where a call fails, of whatever library: 0 is success in all.
template <class T> void check(T result, const char *call, const char *file, int line)
{
    if (!result) return;
    fprintf(stderr, "%s:%d: %s fails with %u\n", file, line, call, static_cast<unsigned>(result));
    exit(EXIT_FAILURE);
}
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)

static inline void gilua_last_error(const char *what, const char *file, int line, bool ends)
{
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, cudaGetErrorString(error));
    if (ends) exit(EXIT_FAILURE);
}
#define getLastCudaError(what) gilua_last_error(what, __FILE__, __LINE__, true)
#define printLastCudaError(what) gilua_last_error(what, __FILE__, __LINE__, false)

static inline int ftoi(float x) { return static_cast<int>(x >= 0 ? x + 0.5 : x - 0.5); }

// Cores of a multiprocessor.
static inline int _ConvertSMVer2Cores(int major, int minor)
{
    if (major == 3) return 192;
    if (major == 6 && minor == 0) return 64;
    if (major == 7 || (major == 8 && minor == 0)) return 64;
    return 128;
}
static inline const char *_ConvertSMVer2ArchName(int major, int)
{
    static const char *const names[] = {"Kepler", "Kepler", "Kepler", "Kepler",    "Kepler", "Maxwell",
                                        "Pascal", "Volta",  "Ampere", "Hopper"};
    return major >= 0 && major < 10 ? names[major] : "Blackwell";
}

static inline int gpuDeviceInit(int device)
{
    checkCudaErrors(cudaSetDevice(device));
    return device;
}
static inline int gpuGetMaxGflopsDeviceId() { return 0; }
static inline int findCudaDevice(int argc, const char **argv)
{
    int device = 0;
    if (checkCmdLineFlag(argc, argv, "device")) device = getCmdLineArgumentInt(argc, argv, "device");
    return gpuDeviceInit(device);
}
static inline bool checkCudaCapabilities(int major, int minor)
{
    int device, has_major, has_minor;
    checkCudaErrors(cudaGetDevice(&device));
    checkCudaErrors(cudaDeviceGetAttribute(&has_major, cudaDevAttrComputeCapabilityMajor, device));
    checkCudaErrors(cudaDeviceGetAttribute(&has_minor, cudaDevAttrComputeCapabilityMinor, device));
    return has_major > major || (has_major == major && has_minor >= minor);
}

#endif
