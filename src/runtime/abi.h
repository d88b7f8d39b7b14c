/* abi.h - the types that programs built by nvcc 12 and 13 hand to the CUDA run-time library:
** numbers, sizes and places of fields are those of NVIDIA's headers, which are not needed to build
** gilua. tests/cli/abi.t holds every struct here against them where they are there.
**
** Private to src/runtime. Names are CUDA's where a program can see the thing, so that its manual
** serves here too. What only one major version has says so.
*/
#ifndef GILUA_RUNTIME_ABI_H
#define GILUA_RUNTIME_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef enum CudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorCudartUnloading = 4,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidPitchValue = 12,
    cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidDevicePointer = 17,
    cudaErrorInvalidTexture = 18,
    cudaErrorInvalidChannelDescriptor = 20,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInvalidFilterSetting = 26,
    cudaErrorInvalidNormSetting = 27,
    cudaErrorMissingConfiguration = 52,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidKernelImage = 200,
    cudaErrorDeviceUninitialized = 201,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorUnsupportedLimit = 215,
    cudaErrorPeerAccessUnsupported = 217,
    cudaErrorInvalidPtx = 218,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorIllegalState = 401,
    cudaErrorSymbolNotFound = 500,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorIllegalInstruction = 715,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702,
    cudaErrorPeerAccessAlreadyEnabled = 704,
    cudaErrorPeerAccessNotEnabled = 705,
    cudaErrorSetOnActiveProcess = 708,
    cudaErrorAssert = 710,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorMisalignedAddress = 716,
    cudaErrorLaunchFailure = 719,
    cudaErrorCooperativeLaunchTooLarge = 720,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureMerge = 902,
    cudaErrorStreamCaptureUnmatched = 903,
    cudaErrorStreamCaptureUnjoined = 904,
    cudaErrorStreamCaptureIsolation = 905,
    cudaErrorStreamCaptureImplicit = 906,
    cudaErrorCapturedEvent = 907,
    cudaErrorStreamCaptureWrongThread = 908,
    cudaErrorGraphExecUpdateFailure = 910,
    cudaErrorInvalidClusterSize = 912,
    cudaErrorUnknown = 999
} CudaError;

typedef struct Dim3 {
    unsigned x, y, z;
} Dim3;

/* --- copies --- */

typedef enum CudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
} CudaMemcpyKind;

typedef struct CudaArray *CudaArrayHandle; /* memory.h: Texels */

typedef struct CudaExtent {
    size_t width, height, depth;
} CudaExtent;

typedef struct CudaPos {
    size_t x, y, z;
} CudaPos;

typedef struct CudaPitched {
    void *ptr;
    size_t pitch, xsize, ysize;
} CudaPitched;

typedef struct CudaCopy3D {
    CudaArrayHandle from_array;
    CudaPos from_pos;
    CudaPitched from;
    CudaArrayHandle to_array;
    CudaPos to_pos;
    CudaPitched to;
    CudaExtent extent; /* elements of an array where one is concerned, else bytes */
    CudaMemcpyKind kind;
} CudaCopy3D;

typedef struct CudaCopy3DPeer {
    CudaArrayHandle from_array;
    CudaPos from_pos;
    CudaPitched from;
    int from_device;
    CudaArrayHandle to_array;
    CudaPos to_pos;
    CudaPitched to;
    int to_device;
    CudaExtent extent;
} CudaCopy3DPeer;

typedef struct CudaMemset {
    void *to;
    size_t pitch;
    unsigned value, element_size;
    size_t width, height;
} CudaMemset;

/* --- memory --- */

enum { cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4 };
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4 };

typedef enum CudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
} CudaMemoryType;

typedef struct CudaPointerAttributes {
    CudaMemoryType type;
    int device;
    void *device_pointer, *host_pointer;
    long reserved[8]; /* CUDA 13 only */
} CudaPointerAttributes;

typedef struct CudaMemLocation {
    int type; /* 1: a device */
    int id;
} CudaMemLocation;

typedef struct CudaPoolProps {
    int alloc_type, handle_types;
    CudaMemLocation location;
    void *security;
    size_t max_size;
    unsigned short usage;
    unsigned char reserved[54];
} CudaPoolProps;

typedef struct CudaMemAccess {
    CudaMemLocation location;
    int flags;
} CudaMemAccess;

/* --- textures --- */

enum { cudaArrayLayered = 1, cudaArraySurfaceLoadStore = 2, cudaArrayCubemap = 4 };

typedef enum CudaChannelKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone
} CudaChannelKind;

typedef struct CudaChannelDesc {
    int x, y, z, w; /* bits */
    CudaChannelKind f;
} CudaChannelDesc;

typedef enum CudaResourceType {
    cudaResourceTypeArray,
    cudaResourceTypeMipmappedArray,
    cudaResourceTypeLinear,
    cudaResourceTypePitch2D
} CudaResourceType;

typedef struct CudaResourceDesc {
    CudaResourceType type;
    union {
        CudaArrayHandle array;
        struct {
            void *pointer;
            CudaChannelDesc desc;
            size_t bytes;
        } linear;
        struct {
            void *pointer;
            CudaChannelDesc desc;
            size_t width, height, pitch;
        } pitch;
        int reserved[32];
    };
    unsigned flags; /* CUDA 13 only */
} CudaResourceDesc;

typedef struct CudaTextureDesc {
    int address[3]; /* wrap, clamp, mirror, border */
    int filter;     /* point, linear */
    int read;       /* as elements, as normalised floats */
    int srgb;
    float border[4];
    int normalized_coords;
    unsigned max_anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_min, mipmap_max;
    int no_trilinear_optimisation, seamless_cubemap;
} CudaTextureDesc;

typedef struct CudaResourceViewDesc {
    int format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer, reserved[16];
} CudaResourceViewDesc;

/* --- kernels --- */

typedef struct CudaFuncAttributes {
    size_t shared_bytes, const_bytes, local_bytes;
    int max_threads, registers, ptx_version, binary_version, cache_mode_ca;
    int max_dynamic_shared, carveout;
    int cluster_must_be_set, cluster_width, cluster_height, cluster_depth;
    int cluster_policy, nonportable_cluster;
    int reserved[16];
} CudaFuncAttributes;

enum { /* of a kernel */
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    cudaFuncAttributeNonPortableClusterSizeAllowed = 14
};

typedef struct CudaLaunchAttribute { /* of a launch: cooperative, cluster, priority … */
    int id;
    char pad[4];
    union {
        char pad[64];
        int cooperative;
        Dim3 cluster;
    } value;
} CudaLaunchAttribute;

enum { cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeClusterDimension = 4 };

typedef struct CudaLaunchConfig {
    Dim3 grid, block;
    size_t shared;
    struct Stream *stream;
    CudaLaunchAttribute *attributes;
    unsigned n_attributes;
} CudaLaunchConfig;

typedef struct CudaKernelNode {
    void *func;
    Dim3 grid, block;
    unsigned shared;
    void **params;
    void **extra;
} CudaKernelNode;

typedef void (*CudaHostFn)(void *);
typedef void (*CudaStreamCallback)(struct Stream *, CudaError, void *);

typedef struct CudaHostNode {
    CudaHostFn fn;
    void *user;
} CudaHostNode;

typedef struct CudaUuid {
    char bytes[16];
} CudaUuid;

/* What `__cudaRegisterFatBinary` gets: one fat binary, or (version 2) the parts that the program's
** own device linker left to be linked when it runs, ended by NULL. */
typedef struct CudaFatWrapper {
    int magic, version;
    const void *data;
    const void *const *parts;
} CudaFatWrapper;

#endif
