/* memory.h - what a program allocated, by device address, and arrays for textures.
**
** The virtual GPU knows all memory that kernels reach (emu.h); a Region adds what CUDA's functions
** want to know of it. Device memory lies above all that a process has (MEMORY_HOST_END); managed
** and pinned memory has one address for both sides: the host's.
*/
#ifndef GILUA_RUNTIME_MEMORY_H
#define GILUA_RUNTIME_MEMORY_H

#include "runtime/contents.h"
#include "runtime/runtime.h"

#define MEMORY_HOST_END ((uint64_t)1 << 47)

typedef enum RegionKind {
    REGION_DEVICE,
    REGION_MANAGED,
    REGION_PINNED,     /* cudaMallocHost, cudaHostAlloc */
    REGION_REGISTERED, /* cudaHostRegister: the program's own memory */
    REGION_GRAPH,      /* of a graph's allocation node: device memory, freed and made again */
    REGION_VARIABLE,
    REGION_TEXELS /* an array's: no pointer of the program leads there; no observer is told */
} RegionKind;

typedef struct Region {
    uint64_t address;
    Contents contents;
    RegionKind kind;
    unsigned flags;   /* of cudaHostAlloc, cudaMallocManaged … */
    struct Other *other, *next_other; /* reorder.h */
    bool has_next;
} Region;

/* New memory, zeroed; made_by names it in messages, with a number. size 0: address 0. */
CudaError memory_device(size_t size, const char *made_by, uint64_t *address);
CudaError memory_shared(size_t size, RegionKind kind, unsigned flags, const char *made_by,
                        void **out);
CudaError memory_register(void *data, size_t size, unsigned flags);
CudaError memory_unregister(void *data);
/* A module's variable; a managed one lies where the host reads and writes it. */
void memory_variable(uint64_t address, void *data, size_t size, bool is_managed);
/* Whole pages of the host's, zeroed; NULL. */
void *memory_pages(size_t size);
/* Of an allocation node of a graph: one address for all its launches. It is live until it is freed,
** and again when the node runs. */
CudaError memory_of_graph(size_t size, const char *made_by, uint64_t *address);
CudaError memory_again(uint64_t address);
/* An array's memory, zeroed, which kernels reach through textures and surfaces alone; NULL. It is
** no leak, and an observer is told of the array. */
Region *memory_texels(size_t size, const char *made_by);
void memory_texels_free(Region *r);
/* Frees a region of these kinds; any other address is a finding. */
CudaError memory_free(uint64_t address, unsigned kinds);
#define KIND(kind) (1u << (kind))

/* The live region in which the address lies; NULL. */
Region *memory_find(uint64_t address);
/* The region that begins there, also of what only the virtual GPU has known so far. */
Region *memory_at(uint64_t address);
size_t memory_used(void); /* bytes of the device's memory */

/* Where n bytes at an address lie in the host's memory; who looks at them settles the region's
** contents first. NULL for what is no memory of that size, a finding: CALL `does` N bytes at …;
** "reads". *region: NULL for the host's own. */
void *memory_bytes(uint64_t address, size_t n, const char *does, Region **region);
/* The host or a copy wrote n bytes there. */
void memory_wrote(Region *r, uint64_t address, size_t n);

/* The host reads n bytes there: tells what is undefined of them (check.uninit), as an end of "it".
** It may read all memory that it shares with the device. */
void memory_read(uint64_t address, size_t n, const char *how);
void memory_read_shared(void);
void memory_each(void (*f)(Region *r)); /* live ones */

/* A kernel wrote somewhere. */
void memory_changed(void);
/* Frees all that the program has. */
void memory_reset(void);
/* What is left when the process ends; after a fault the program could free nothing. */
void memory_leaks(void);

/* --- arrays --- */

typedef struct Texels {
    CudaChannelDesc desc;
    unsigned flags;
    size_t width, height, depth; /* texels; 0 for dimensions it has not */
    size_t texel;                /* bytes */
    size_t row, slice;           /* bytes */
    Region *memory;
    struct Texels *next;
} Texels;

CudaError texels_new(const CudaChannelDesc *desc, CudaExtent extent, unsigned flags, Texels **out);
CudaError texels_free(Texels *a);
bool texels_is(const Texels *a);

#endif
