// gilua_dropped.h - what CUDA 13 dropped of the run-time library, for programs of before: gilua nvcc
// includes it before each file. Texture references cannot be had again: they are a part of the
// language that no header adds.
#ifndef GILUA_DROPPED_H
#define GILUA_DROPPED_H
#if defined(__cplusplus) && !defined(__CUDACC_RTC__)
#include <cuda_runtime.h>
#if CUDART_VERSION >= 13000

// Functions of threads, which are those of the device since CUDA 4.
static inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
static inline cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value)
{
    return cudaDeviceSetLimit(limit, value);
}
static inline cudaError_t cudaThreadGetLimit(size_t *value, cudaLimit limit)
{
    return cudaDeviceGetLimit(value, limit);
}
static inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache config)
{
    return cudaDeviceSetCacheConfig(config);
}
static inline cudaError_t cudaThreadGetCacheConfig(cudaFuncCache *config)
{
    return cudaDeviceGetCacheConfig(config);
}

// Managed memory by the number of a device.
static inline cudaMemLocation gilua_location(int device)
{
    cudaMemLocation at;
    at.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    at.id = device == cudaCpuDeviceId ? 0 : device;
    return at;
}
static inline cudaError_t cudaMemPrefetchAsync(const void *at, size_t bytes, int device,
                                               cudaStream_t stream = 0)
{
    return cudaMemPrefetchAsync(at, bytes, gilua_location(device), 0, stream);
}
static inline cudaError_t cudaMemAdvise(const void *at, size_t bytes, cudaMemoryAdvise advice,
                                        int device)
{
    return cudaMemAdvise(at, bytes, advice, gilua_location(device));
}

// Properties that are attributes since CUDA 13.
struct gilua_properties : cudaDeviceProp {
    int clockRate, memoryClockRate, deviceOverlap, computeMode, kernelExecTimeoutEnabled;
    int singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch;
    gilua_properties() = default;
    gilua_properties(int) : cudaDeviceProp() {} // = {0}
};
static inline cudaError_t cudaGetDeviceProperties(gilua_properties *p, int device)
{
    cudaError_t error = cudaGetDeviceProperties(static_cast<cudaDeviceProp *>(p), device);
    if (error != cudaSuccess) return error;
    p->deviceOverlap = p->asyncEngineCount > 0, p->cooperativeMultiDeviceLaunch = 0;
    const struct { int *to; cudaDeviceAttr attribute; } wanted[] = {
        {&p->clockRate, cudaDevAttrClockRate},
        {&p->memoryClockRate, cudaDevAttrMemoryClockRate},
        {&p->computeMode, cudaDevAttrComputeMode},
        {&p->kernelExecTimeoutEnabled, cudaDevAttrKernelExecTimeout},
        {&p->singleToDoublePrecisionPerfRatio, cudaDevAttrSingleToDoublePrecisionPerfRatio}};
    for (int i = 0; i < 5 && error == cudaSuccess; i++)
        error = cudaDeviceGetAttribute(wanted[i].to, wanted[i].attribute, device);
    return error;
}
#define cudaDeviceProp gilua_properties

#endif
#endif
#endif
