/* driver.h - CUDA's driver API, loaded at run time. Private to src/device.
**
** gilua is built and runs without CUDA: what it needs of the API is declared here, by name, with
** types of its own whose layout is that of the documented ABI (CUDA 12 and 13 drivers).
*/
#ifndef GILUA_DEVICE_DRIVER_H
#define GILUA_DEVICE_DRIVER_H

#include "base/base.h"

typedef int CuDevice;
typedef uint64_t CuPointer, CuTexture;
typedef struct CuContextObject *CuContext;
typedef struct CuStreamObject *CuStream;
typedef struct CuEventObject *CuEvent;
typedef struct CuGraphObject *CuGraph;
typedef struct CuGraphRunObject *CuGraphRun; /* CUgraphExec */
typedef struct CuModuleObject *CuModule;
typedef struct CuFunctionObject *CuFunction;
typedef struct CuArrayObject *CuArray;

/* The results gilua treats apart (CUresult). */
enum {
    CU_OK = 0,
    CU_INVALID_VALUE = 1,
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100,
    CU_INVALID_IMAGE = 200,
    CU_NO_BINARY = 209,
    CU_ECC = 214,
    CU_INVALID_PTX = 218,
    CU_NVLINK = 220,
    CU_NO_JIT = 221,
    CU_PTX_VERSION = 222,
    CU_CONTAINED = 226,
    CU_INVALID_SOURCE = 300,
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_OUT_OF_RESOURCES = 701,
    CU_LAUNCH_TIMEOUT = 702,
    CU_CONTEXT_DESTROYED = 709,
    CU_ASSERT = 710,
    CU_STACK_ERROR = 714,
    CU_MISALIGNED = 716,
    CU_LAUNCH_FAILED = 719,
    CU_UNKNOWN = 999
};

enum { /* CUdevice_attribute */
    CU_MAX_THREADS_PER_BLOCK = 1,
    CU_CLOCK_KHZ = 13,
    CU_SM_COUNT = 16,
    CU_MEMORY_KHZ = 36,
    CU_MEMORY_BITS = 37,
    CU_L2_BYTES = 38,
    CU_MAX_THREADS_PER_SM = 39,
    CU_COMPUTE_MAJOR = 75,
    CU_COMPUTE_MINOR = 76,
    CU_MAX_SHARED_PER_BLOCK = 97
};

enum { /* CUfunction_attribute */
    CU_FUNCTION_MAX_THREADS = 0,
    CU_FUNCTION_SHARED_BYTES = 1,
    CU_FUNCTION_LOCAL_BYTES = 3,
    CU_FUNCTION_REGISTERS = 4,
    CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CU_FUNCTION_CARVEOUT = 9
};

enum { CU_STREAM_NON_BLOCKING = 1 };                         /* CUstream_flags */
enum { CU_EVENT_NO_TIME = 2 };                               /* CUevent_flags */
enum { CU_CAPTURE_RELAXED = 2 };                             /* CUstreamCaptureMode */
enum { CU_EVENT_IN_GRAPH = 1 };                              /* CU_EVENT_RECORD_EXTERNAL */
enum { CU_LIMIT_PRINTED_BYTES = 1 };                         /* CUlimit */
enum { CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_BYTES = 6 };   /* CUjit_option */
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2, CU_MEMORY_ARRAY = 3 }; /* CUmemorytype */
enum { CU_RESOURCE_ARRAY = 0, CU_RESOURCE_LINEAR = 2, CU_RESOURCE_PITCHED = 3 };
enum { CU_READ_AS_INTEGER = 1, CU_NORMALIZED_COORDS = 2 };   /* CU_TRSF_… */
enum { CU_ARRAY_LAYERED = 1 };                               /* CUDA_ARRAY3D_LAYERED */

/* The end of cuLaunchKernel's list of extras, and its keys. */
#define CU_EXTRA_END    ((void *)0)
#define CU_EXTRA_BUFFER ((void *)1)
#define CU_EXTRA_SIZE   ((void *)2)

enum { CU_LAUNCH_CLUSTER = 4 }; /* CUlaunchAttributeID */

typedef struct CuLaunchWord { /* CUlaunchAttribute */
    int id;
    union {
        uint64_t room[8];
        unsigned cluster[3];
    } value;
} CuLaunchWord;

typedef struct CuLaunchHow { /* CUlaunchConfig */
    unsigned grid[3], block[3], shared;
    void *stream;
    CuLaunchWord *words;
    unsigned n_words;
} CuLaunchHow;

typedef struct CuUuid {
    unsigned char bytes[16];
} CuUuid;

typedef struct CuArrayShape { /* CUDA_ARRAY3D_DESCRIPTOR */
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} CuArrayShape;

typedef struct CuCopySide { /* one half of CUDA_MEMCPY3D */
    size_t x_bytes, y, z, lod;
    int memory;
    const void *host;
    CuPointer device;
    CuArray array;
    void *reserved;
    size_t pitch, height;
} CuCopySide;

typedef struct CuCopy3D { /* CUDA_MEMCPY3D */
    CuCopySide from, to;
    size_t width_bytes, height, depth;
} CuCopy3D;

typedef struct CuResource { /* CUDA_RESOURCE_DESC */
    int type;
    union {
        CuArray array;
        struct {
            CuPointer address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        struct {
            CuPointer address;
            int format;
            unsigned channels;
            size_t width, height, pitch_bytes;
        } pitched;
        int reserved[32];
    } u;
    unsigned flags;
} CuResource;

typedef struct CuTextureShape { /* CUDA_TEXTURE_DESC */
    int address[3];
    int filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_min, mipmap_max;
    float border[4];
    int reserved[12];
} CuTextureShape;

typedef struct CuLocation { /* CUmemLocation */
    int type, id;
} CuLocation;

enum { CU_LOCATION_DEVICE = 1, CU_PINNED = 1, CU_ACCESS_READ_WRITE = 3 };

typedef struct CuPhysical { /* CUmemAllocationProp */
    int type, handle_types;
    CuLocation location;
    void *unused;
    unsigned char flags[8];
} CuPhysical;

typedef struct CuAccess { /* CUmemAccessDesc */
    CuLocation location;
    int flags;
} CuAccess;

/* X(field, symbol, arguments): every function returns a CUresult. */
#define DRIVER_FUNCTIONS(X)                                                                       \
    X(init, cuInit, (unsigned flags))                                                              \
    X(driver_version, cuDriverGetVersion, (int *version))                                          \
    X(error_name, cuGetErrorName, (int code, const char **name))                                   \
    X(error_text, cuGetErrorString, (int code, const char **text))                                 \
    X(device_count, cuDeviceGetCount, (int *n))                                                    \
    X(device_get, cuDeviceGet, (CuDevice *, int ordinal))                                          \
    X(device_name, cuDeviceGetName, (char *name, int size, CuDevice))                              \
    X(device_uuid, cuDeviceGetUuid_v2, (CuUuid *, CuDevice))                                       \
    X(device_memory, cuDeviceTotalMem_v2, (size_t *bytes, CuDevice))                               \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, CuDevice))               \
    X(context_retain, cuDevicePrimaryCtxRetain, (CuContext *, CuDevice))                           \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (CuDevice))                                   \
    X(context_use, cuCtxSetCurrent, (CuContext))                                                   \
    X(limit_set, cuCtxSetLimit, (int limit, size_t value))                                         \
    X(synchronize, cuCtxSynchronize, (void))                                                       \
    X(stream_new, cuStreamCreate, (CuStream *, unsigned flags))                                    \
    X(stream_free, cuStreamDestroy_v2, (CuStream))                                                 \
    X(stream_query, cuStreamQuery, (CuStream))                                                     \
    X(stream_wait, cuStreamWaitEvent, (CuStream, CuEvent, unsigned flags))                         \
    X(event_new, cuEventCreate, (CuEvent *, unsigned flags))                                       \
    X(event_free, cuEventDestroy_v2, (CuEvent))                                                    \
    X(event_record, cuEventRecord, (CuEvent, CuStream))                                            \
    X(event_record_in, cuEventRecordWithFlags, (CuEvent, CuStream, unsigned flags))                \
    X(capture_begin, cuStreamBeginCapture_v2, (CuStream, int mode))                                \
    X(capture_end, cuStreamEndCapture, (CuStream, CuGraph *))                                      \
    X(graph_make, cuGraphInstantiateWithFlags, (CuGraphRun *, CuGraph, uint64_t flags))            \
    X(graph_launch, cuGraphLaunch, (CuGraphRun, CuStream))                                         \
    X(graph_free, cuGraphDestroy, (CuGraph))                                                       \
    X(graph_run_free, cuGraphExecDestroy, (CuGraphRun))                                            \
    X(event_wait, cuEventSynchronize, (CuEvent))                                                   \
    X(event_elapsed, cuEventElapsedTime, (float *ms, CuEvent start, CuEvent end))                  \
    X(memory_new, cuMemAlloc_v2, (CuPointer *, size_t bytes))                                      \
    X(memory_free, cuMemFree_v2, (CuPointer))                                                      \
    X(pinned_new, cuMemAllocHost_v2, (void **, size_t bytes))                                      \
    X(pinned_free, cuMemFreeHost, (void *))                                                        \
    X(upload, cuMemcpyHtoDAsync_v2, (CuPointer to, const void *from, size_t bytes, CuStream))      \
    X(download, cuMemcpyDtoHAsync_v2, (void *to, CuPointer from, size_t bytes, CuStream))          \
    X(copy, cuMemcpyDtoDAsync_v2, (CuPointer to, CuPointer from, size_t bytes, CuStream))          \
    X(fill8, cuMemsetD8Async, (CuPointer, unsigned char value, size_t n, CuStream))                \
    X(fill32, cuMemsetD32Async, (CuPointer, unsigned value, size_t n, CuStream))                   \
    X(fill_rows8, cuMemsetD2D8Async,                                                               \
      (CuPointer, size_t pitch, unsigned char value, size_t width, size_t height, CuStream))       \
    X(fill_rows16, cuMemsetD2D16Async,                                                             \
      (CuPointer, size_t pitch, unsigned short value, size_t width, size_t height, CuStream))      \
    X(fill_rows32, cuMemsetD2D32Async,                                                             \
      (CuPointer, size_t pitch, unsigned value, size_t width, size_t height, CuStream))            \
    X(granularity, cuMemGetAllocationGranularity, (size_t *, const CuPhysical *, int which))       \
    X(reserve, cuMemAddressReserve,                                                                \
      (CuPointer *, size_t bytes, size_t alignment, CuPointer at, uint64_t flags))                 \
    X(unreserve, cuMemAddressFree, (CuPointer, size_t bytes))                                      \
    X(physical_new, cuMemCreate,                                                                   \
      (uint64_t *, size_t bytes, const CuPhysical *, uint64_t flags))                              \
    X(physical_free, cuMemRelease, (uint64_t))                                                     \
    X(map, cuMemMap,                                                                               \
      (CuPointer, size_t bytes, size_t offset, uint64_t physical, uint64_t flags))                 \
    X(unmap, cuMemUnmap, (CuPointer, size_t bytes))                                                \
    X(access, cuMemSetAccess, (CuPointer, size_t bytes, const CuAccess *, size_t n))               \
    X(array_new, cuArray3DCreate_v2, (CuArray *, const CuArrayShape *))                            \
    X(array_free, cuArrayDestroy, (CuArray))                                                       \
    X(copy_3d, cuMemcpy3D_v2, (const CuCopy3D *))                                                  \
    X(copy_3d_queued, cuMemcpy3DAsync_v2, (const CuCopy3D *, CuStream))                            \
    X(texture_new, cuTexObjectCreate,                                                              \
      (CuTexture *, const CuResource *, const CuTextureShape *, const void *view))                 \
    X(texture_free, cuTexObjectDestroy, (CuTexture))                                               \
    X(surface_new, cuSurfObjectCreate, (CuTexture *, const CuResource *))                          \
    X(surface_free, cuSurfObjectDestroy, (CuTexture))                                              \
    X(module_load, cuModuleLoadDataEx,                                                             \
      (CuModule *, const void *image, unsigned n, int *options, void **values))                    \
    X(module_free, cuModuleUnload, (CuModule))                                                     \
    X(module_function, cuModuleGetFunction, (CuFunction *, CuModule, const char *name))            \
    X(module_symbol, cuModuleGetGlobal_v2,                                                         \
      (CuPointer *, size_t *bytes, CuModule, const char *name))                                    \
    X(module_count, cuModuleGetFunctionCount, (unsigned *n, CuModule))                             \
    X(module_functions, cuModuleEnumerateFunctions, (CuFunction *, unsigned n, CuModule))          \
    X(function_name, cuFuncGetName, (const char **name, CuFunction))                               \
    X(function_param, cuFuncGetParamInfo, (CuFunction, size_t i, size_t *offset, size_t *size))    \
    X(function_attribute, cuFuncGetAttribute, (int *value, int attribute, CuFunction))             \
    X(function_set, cuFuncSetAttribute, (CuFunction, int attribute, int value))                    \
    X(function_cache, cuFuncSetCacheConfig, (CuFunction, int config))                              \
    X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                      \
      (int *blocks, CuFunction, int threads, size_t shared_bytes))                                 \
    X(launch, cuLaunchKernel,                                                                      \
      (CuFunction, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
       unsigned shared_bytes, CuStream, void **params, void **extra))                              \
    X(launch_as, cuLaunchKernelEx,                                                                 \
      (const CuLaunchHow *, CuFunction, void **params, void **extra))                           \
    X(launch_cooperative, cuLaunchCooperativeKernel,                                               \
      (CuFunction, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
       unsigned shared_bytes, CuStream, void **params))

typedef struct Driver {
    int version;         /* of the API: 13000 is 13.0 */
    const char *missing; /* the first function above that this driver lacks, or NULL */
#define DRIVER_FIELD(field, symbol, arguments) int(*field) arguments;
    DRIVER_FUNCTIONS(DRIVER_FIELD)
#undef DRIVER_FIELD
} Driver;

/* The driver, loaded and initialised, once per process: libcuda.so.1, or the file that $GILUA_CUDA
** names. NULL: "nolib" (not there, no driver) or "nodevice" (it says that there is no GPU). */
const Driver *driver_load(gi_err *err);

/* "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)" */
const char *driver_words(const Driver *cu, int code, char *text, size_t size);

#endif
