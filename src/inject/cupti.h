/* cupti.h - CUPTI's callbacks and what the driver's functions are given, loaded at run time.
**
** gilua is built and runs without CUDA: what it needs is declared here, with types of its own whose
** layout is that of the documented ABI (CUPTI of CUDA 12 and 13: cupti_callbacks.h,
** cupti_driver_cbid.h, generated_cuda_meta.h). Private to src/inject.
*/
#ifndef GILUA_INJECT_CUPTI_H
#define GILUA_INJECT_CUPTI_H

#include "base/base.h"

enum { CUPTI_DRIVER_API = 1, CUPTI_ENTER = 0, CUPTI_EXIT = 1 };

typedef struct CuptiSubscriber CuptiSubscriber;

typedef struct CuptiCall { /* CUpti_CallbackData */
    int site;
    const char *name;   /* of the function */
    const void *params; /* a struct of its arguments, in order */
    const int *result;  /* at the exit */
    const char *symbol; /* of a launch: the kernel's name */
    void *context;
    uint32_t context_uid;
    uint64_t *correlation;
    uint32_t correlation_id;
} CuptiCall;

typedef void CuptiCallback(void *user, int domain, uint32_t id, const CuptiCall *call);

/* --- arguments: one struct serves all functions that have the same ones --- */

typedef struct ArgsAlloc { /* cuMemAlloc, cuMemAllocHost, …: more stands behind */
    uint64_t *address;
    size_t bytes;
} ArgsAlloc;

typedef struct ArgsPitch {
    uint64_t *address;
    size_t *pitch, width, height;
    unsigned element;
} ArgsPitch;

typedef struct ArgsAddress { /* cuMemFree, cuMemHostUnregister, … */
    uint64_t address;
} ArgsAddress;

typedef struct ArgsRegister {
    uint64_t address;
    size_t bytes;
    unsigned flags;
} ArgsRegister;

typedef struct ArgsCopy { /* one row; the stream of asynchronous ones */
    uint64_t to, from;
    size_t bytes;
    void *stream;
} ArgsCopy;

enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE, CU_MEMORY_ARRAY, CU_MEMORY_UNIFIED };

typedef struct CuPlace2D {
    size_t x, y;
    int type;
    uint64_t host, device;
    void *array;
    size_t pitch;
} CuPlace2D;

typedef struct CuCopy2D { /* CUDA_MEMCPY2D */
    CuPlace2D from, to;
    size_t width, height;
} CuCopy2D;

typedef struct CuPlace3D {
    size_t x, y, z, level;
    int type;
    uint64_t host, device;
    void *array, *reserved;
    size_t pitch, height;
} CuPlace3D;

typedef struct CuCopy3D { /* CUDA_MEMCPY3D */
    CuPlace3D from, to;
    size_t width, height, depth;
} CuCopy3D;

typedef struct ArgsCopyND {
    const void *copy;
    void *stream;
} ArgsCopyND;

/* value: unsigned char, short or int. */
#define ARGS_SET(name, type) \
    typedef struct name {    \
        uint64_t to;         \
        type value;          \
        size_t n;            \
    } name
ARGS_SET(ArgsSet8, uint8_t);
ARGS_SET(ArgsSet16, uint16_t);
ARGS_SET(ArgsSet32, uint32_t);

#define ARGS_SET_ROWS(name, type) \
    typedef struct name {         \
        uint64_t to;              \
        size_t pitch;             \
        type value;               \
        size_t width, height;     \
    } name
ARGS_SET_ROWS(ArgsSetRows8, uint8_t);
ARGS_SET_ROWS(ArgsSetRows16, uint16_t);
ARGS_SET_ROWS(ArgsSetRows32, uint32_t);

/* --- arrays and textures --- */

typedef struct CuArray2D { /* CUDA_ARRAY_DESCRIPTOR */
    size_t width, height;
    int format;
    unsigned channels;
} CuArray2D;

typedef struct CuArray3D { /* CUDA_ARRAY3D_DESCRIPTOR */
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} CuArray3D;

typedef struct ArgsArray {
    void **array;
    const void *description;
} ArgsArray;

typedef struct CuResource { /* CUDA_RESOURCE_DESC */
    int type;
    union {
        void *array;
        struct { /* linear memory has its bytes in width, and no height */
            uint64_t address;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } memory;
        int reserved[32];
    };
    unsigned flags;
} CuResource;

typedef struct CuTexture { /* CUDA_TEXTURE_DESC */
    int address[3], filter;
    unsigned flags, max_anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_min, mipmap_max, border[4];
    int reserved[12];
} CuTexture;

typedef struct ArgsTexture {
    uint64_t *texture;
    const CuResource *resource;
    const CuTexture *description;
    const void *view;
} ArgsTexture;

typedef struct ArgsLoad { /* cuModuleLoadData, cuLibraryLoadData, …: more stands behind */
    void **module;
    const void *image;
} ArgsLoad;

typedef struct ArgsLoadFile {
    void **module;
    const char *path;
} ArgsLoadFile;

typedef struct ArgsModule {
    void *module;
} ArgsModule;

typedef struct ArgsFunction { /* cuModuleGetFunction, cuLibraryGetKernel */
    void **function;
    void *module;
    const char *name;
} ArgsFunction;

typedef struct ArgsSame { /* cuKernelGetFunction, cuLibraryGetModule */
    void **out;
    void *of;
} ArgsSame;

typedef struct ArgsVariable {
    uint64_t *address;
    size_t *bytes;
    void *module;
    const char *name;
} ArgsVariable;

typedef struct ArgsLaunch { /* cuLaunchKernel, cuLaunchCooperativeKernel (which has no extra) */
    void *function;
    unsigned grid[3], block[3], shared;
    void *stream;
    void **params, **extra;
} ArgsLaunch;

enum { CU_EXTRA_END, CU_EXTRA_BUFFER, CU_EXTRA_SIZE };
enum { CU_ATTRIBUTE_COOPERATIVE = 2, CU_ATTRIBUTE_CLUSTER = 4 };

typedef struct CuLaunchAttribute {
    int id;
    union {
        uint64_t room[8];
        int on;
        unsigned cluster[3];
    } value;
} CuLaunchAttribute;

typedef struct CuLaunchConfig {
    unsigned grid[3], block[3], shared;
    void *stream;
    const CuLaunchAttribute *attributes;
    unsigned n_attributes;
} CuLaunchConfig;

typedef struct ArgsLaunchEx {
    const CuLaunchConfig *config;
    void *function;
    void **params, **extra;
} ArgsLaunchEx;

typedef struct ArgsStream {
    void *stream;
} ArgsStream;

typedef struct ArgsHostPointer {
    uint64_t *device;
    uint64_t host;
    unsigned flags;
} ArgsHostPointer;

#endif
