/* module.h - what programs register: fat binaries, their kernels and variables. Private to
** src/runtime. A module is loaded when something of it is first needed, as CUDA does. */
#ifndef GILUA_RUNTIME_MODULE_H
#define GILUA_RUNTIME_MODULE_H

#include "runtime/op.h"

typedef struct Module {
    const CudaFatWrapper *wrapper; /* NULL: its PTX was handed over */
    EmuModule *emu;                /* NULL: not loaded */
    struct Variable *variables;
    struct Module *next;
} Module;

typedef struct Variable {
    const void *host; /* its stand-in, by which the program names it */
    char *name;
    Module *module;
    size_t size;
    uint64_t address;
    bool is_constant;
    void **managed; /* where the program looks for its address; NULL: it is not managed */
    struct Variable *next;
} Variable;

struct Kernel {
    const void *host;
    char *name;
    char *shown; /* as a person wrote it */
    Module *module;
    bool known;  /* info is */
    EmuKernelInfo info;
    int max_dynamic_shared, carveout;
    bool any_cluster; /* more than 8 blocks, too */
    uint64_t habits; /* memo.h: of its launches */
    struct ReportKernel *row;
};

/* What a program hands over as a kernel: its stand-in or what cudaGetKernel gave. NULL: none. */
Kernel *module_kernel(const void *handle);
/* The same, its module loaded and info known. What cannot be loaded ends the program. */
Kernel *module_ready(const void *handle);
/* A name with its parameters, from the C++ library that the program has; else as it is. */
char *module_demangled(const char *name);
CudaError module_symbol(const void *host, uint64_t *address, size_t *size);
void module_load(Module *m);
/* Loaded at once; NULL: the emulator's error. The texts are not kept. */
Module *module_of_texts(const EmuText *texts, int n, gi_err *err);

/* launch.c */
int kernel_registers(const Kernel *k);    /* of a thread, by ptxas where it is there */
int kernel_most_threads(const Kernel *k); /* of a block */
CudaError kernel_set_attribute(const void *handle, int id, int value);
CudaError kernel_active_blocks(int *n, const void *handle, int threads, size_t dynamic);
/* The op of a launch, whose params the caller frees. */
CudaError launch_op(const void *handle, Dim3 grid, Dim3 block, void **args, size_t shared,
                    LaunchKind kind, Op *out);
/* Clusters of such launches that fit on the GPU; blocks of the largest cluster that does. */
CudaError kernel_active_clusters(int *n, const void *handle, const CudaLaunchConfig *c);
CudaError kernel_potential_cluster(int *size, const void *handle, const CudaLaunchConfig *c);
/* What the attributes of a launch ask for. */
LaunchKind launch_kind(const CudaLaunchAttribute *attributes, unsigned n);

#endif
