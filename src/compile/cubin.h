/* cubin.h - reads machine code as NVRTC makes it: a 64-bit little-endian ELF file.
**
** Any bytes are safe: every offset and length is checked, and a file that is not what it should be
** fails with "format". Names are those of the file (C++ names are mangled). What is read here was
** found by looking at files for sm_75 … sm_120 made by NVRTC 13.0; section names are those that
** NVIDIA's "CUDA Binary Utilities" shows (.text.K, .nv.constant3, .nv.global, .nv.info …).
*/
#ifndef GILUA_COMPILE_CUBIN_H
#define GILUA_COMPILE_CUBIN_H

#include "base/base.h"

typedef struct CubinSymbol { /* a variable that the source declares outside functions, or static */
    char *name;
    size_t size;      /* bytes */
    bool constant;    /* __constant__; else __device__ */
    bool initialised; /* begins as something else than zero bytes */
} CubinSymbol;

/* The variables of a cubin, in the file's order; how many, or -1 ("format", "usage"). */
int cubin_symbols(const void *image, size_t len, CubinSymbol **out, gi_err *err);
void cubin_symbols_free(CubinSymbol *symbols, int n);

/* A hash of what a kernel is to the hardware and the driver: its instructions and literals with
** their relocations, registers, stack, shared memory, parameters, launch bounds and clusters, and
** place, size and first value of those `variables` (NULL-ended, or NULL) that it may refer to: its
** instructions hold their places only. Names, debug information, notes and the other kernels of the
** file do not count. "usage": no such kernel. */
bool cubin_code_hash(const void *image, size_t len, const char *kernel,
                     const char *const *variables, uint64_t *hash, gi_err *err);

/* Registers that a thread of the kernel has; 0: the file does not say. */
int cubin_registers(const void *image, size_t len, const char *kernel);

/* Where a kernel's parameters lie among the bytes that a launch is given, in their order; how many,
** or -1 ("format"; "usage": no such kernel). *out: free() it. */
typedef struct CubinParam {
    size_t offset, size;
} CubinParam;
int cubin_params(const void *image, size_t len, const char *kernel, CubinParam **out, gi_err *err);

#endif
