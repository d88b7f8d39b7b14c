/* driver.h - the driver API (libcuda.so.1), for programs that use it beside the run-time library or
** in its place: the same streams, memory and modules under other names. Private to src/runtime.
*/
#ifndef GILUA_RUNTIME_DRIVER_H
#define GILUA_RUNTIME_DRIVER_H

#include "runtime/module.h"

enum { /* codes that the run-time library has not, or under another number */
       CUDA_ERROR_INVALID_VALUE = 1,
       CUDA_ERROR_NOT_INITIALIZED = 3,
       CUDA_ERROR_INVALID_CONTEXT = 201,
       CUDA_ERROR_FILE_NOT_FOUND = 301,
       CUDA_ERROR_NOT_FOUND = 500
};

/* Has cuInit been called? The run-time library does so with its first call, and makes the device's
** own context the current one (driver_begun). */
extern bool driver_ready;
void driver_begun(void);

/* The driver's code for what a run-time function returned; a code's name, valid until the next. */
int driver_code(CudaError e);
const char *driver_error_name(int code);

/* DRIVER(NAME, parameters) { … } defines a function for programs; AGAIN one more name for it. */
#define DRIVER(name, ...)                                                                          \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                                  \
    int name(__VA_ARGS__)
#define AGAIN(name, other)                                                                         \
    extern __typeof__(name) other __attribute__((alias(#name), visibility("default")))

/* Runs expr under the lock, as a call of this name. */
#define DRIVE(expr)                                                                                \
    (driver_ready ? driver_code(call_end(call_begin(__func__) ? (expr) : cudaErrorUnknown))        \
                  : CUDA_ERROR_NOT_INITIALIZED)

/* The same of a call that captured streams may forbid. */
#define DRIVE_GUARDED(expr) DRIVE(capture_forbids() ? cudaErrorStreamCaptureUnsupported : (expr))

/* A module of what cuModuleLoadData takes: PTX text, a fat binary, or what cuLinkComplete made. */
CudaError module_of_image(const void *image, Module **out);
/* The same of a file. */
CudaError module_of_file(const char *path, Module **out);
CudaError module_unload(Module *m);
/* Its kernel or variable of this name; cudaErrorSymbolNotFound. */
CudaError module_function(Module *m, const char *name, Kernel **out);
CudaError module_global(Module *m, const char *name, uint64_t *address, size_t *size);

#endif
