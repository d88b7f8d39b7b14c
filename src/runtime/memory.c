/* memory.c - allocations by address. See memory.h. */
#include "runtime/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/map.h"
#include "runtime/observe.h"
#include "runtime/reorder.h"
#include "runtime/report.h"

enum { LABEL = 300, PAGE = 4096 };

#define TEXELS_FROM 0x200000000000ull /* arrays of a recording lie from here on */

static Map regions;      /* by address */
static uint64_t numbers; /* allocations ever */
static size_t used;      /* bytes now */

static const void *key(uint64_t address) {
    return (const void *)(uintptr_t)address;
}

static void forget(Region *r) {
    if (r == NULL) return;
    map_set(&regions, key(r->address), NULL);
    contents_gone(&r->contents);
    reorder_forget(r->other);
    free(r);
}

static Region *add(const Region *what) {
    Region *r = gi_alloc(sizeof *r);
    *r = *what;
    r->contents.version = 1;
    r->contents.is_shared =
        r->kind == REGION_MANAGED || r->kind == REGION_PINNED || r->kind == REGION_REGISTERED;
    forget(map_get(&regions, key(r->address)));
    map_set(&regions, key(r->address), r);
    if (r->kind != REGION_TEXELS) observed_memory(r, true);
    return r;
}

static void count_made(size_t size) {
    used += size;
    report->allocations++;
    if (used > report->peak_bytes) report->peak_bytes = used;
}

/* "cudaMalloc 3", the third allocation. */
static const char *label(const char *made_by, char out[LABEL]) {
    snprintf(out, LABEL, "%s %llu", made_by, (unsigned long long)++numbers);
    return out;
}

size_t memory_used(void) {
    return used;
}

/* --- making --- */

CudaError memory_device(size_t size, const char *made_by, uint64_t *address) {
    char name[LABEL];
    EmuAllocation a;
    *address = 0;
    if (size == 0) return cudaSuccess;
    if ((double)(used + size) > runtime.config.model.memory_bytes)
        return failed(cudaErrorMemoryAllocation,
                      "%zu bytes, and %.0f of the virtual GPU's %.0f are free; `gilua run "
                      "--memory` says how many it has",
                      size, runtime.config.model.memory_bytes - (double)used,
                      runtime.config.model.memory_bytes);
    *address = emu_alloc(runtime.emu, size, label(made_by, name), NULL);
    if (*address == 0 || !emu_find(runtime.emu, *address, &a)) return cudaErrorMemoryAllocation;
    add(&(Region){.address = *address,
                  .contents = {.data = a.data, .size = size},
                  .kind = REGION_DEVICE});
    if (runtime.config.uninitialised) emu_unwritten(runtime.emu, *address);
    count_made(size);
    return cudaSuccess;
}

/* Managed memory may be more than the GPU has, but no more than the machine. */
static bool machine_has(size_t size) {
    static size_t all;
    if (all == 0) all = gi_memory_size();
    return used <= all && size <= all - used;
}

static size_t pages(size_t size) {
    return (size + PAGE - 1) / PAGE * PAGE;
}

void *memory_pages(size_t size) {
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *p = mmap(NULL, pages(size), PROT_READ | PROT_WRITE, how, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Zeroed memory of the host's that kernels reach at the same address. NULL. */
static void *both_sides(size_t size, RegionKind kind, unsigned flags, const char *name) {
    void *p = memory_pages(size);
    if (p == NULL) return NULL;
    uint64_t address = (uint64_t)(uintptr_t)p;
    if (!emu_map_at(runtime.emu, address, p, size, false, name, NULL)) {
        munmap(p, pages(size));
        return NULL;
    }
    add(&(Region){.address = address,
                  .contents = {.data = p, .size = size},
                  .kind = kind,
                  .flags = flags});
    return p;
}

CudaError memory_shared(size_t size, RegionKind kind, unsigned flags, const char *made_by,
                        void **out) {
    char name[LABEL];
    *out = NULL;
    if (size == 0) return kind == REGION_MANAGED ? cudaErrorInvalidValue : cudaSuccess;
    if (!machine_has(size)) return cudaErrorMemoryAllocation;
    *out = both_sides(size, kind, flags, label(made_by, name));
    if (*out == NULL) return cudaErrorMemoryAllocation;
    count_made(size);
    return cudaSuccess;
}

CudaError memory_register(void *data, size_t size, unsigned flags) {
    char name[LABEL];
    uint64_t address = (uint64_t)(uintptr_t)data;
    if (data == NULL || size == 0) return cudaErrorInvalidValue;
    if (!emu_map_at(runtime.emu, address, data, size, false, label("cudaHostRegister", name), NULL))
        return cudaErrorHostMemoryAlreadyRegistered;
    add(&(Region){.address = address,
                  .contents = {.data = data, .size = size},
                  .kind = REGION_REGISTERED,
                  .flags = flags});
    return cudaSuccess;
}

CudaError memory_of_graph(size_t size, const char *made_by, uint64_t *address) {
    void *p;
    CudaError e = memory_shared(size, REGION_GRAPH, 0, made_by, &p);
    *address = (uint64_t)(uintptr_t)p;
    return e;
}

CudaError memory_again(uint64_t address) {
    const Region *r = map_get(&regions, key(address));
    if (r == NULL) return cudaErrorInvalidValue;
    if (!memory_find(address))
        emu_map_at(runtime.emu, address, r->contents.data, r->contents.size, false, "graph", NULL);
    observed_memory(r, true);
    return cudaSuccess;
}

void memory_variable(uint64_t address, void *data, size_t size, bool is_managed) {
    add(&(Region){.address = address,
                  .contents = {.data = data, .size = size},
                  .kind = is_managed ? REGION_MANAGED : REGION_VARIABLE});
}

/* An array's place in a recording, below 2^47, where no other memory of the GPU is. It takes no row
** of the emulator's table, as a replay's arrays take none: what the program allocates must lie in
** both at one place. Checks of memory see nothing of it; a recording has none. */
static uint64_t unseen_place(size_t size) {
    static uint64_t next = TEXELS_FROM;
    uint64_t at = next;
    next += (size + PAGE) & ~(uint64_t)(PAGE - 1);
    return at;
}

Region *memory_texels(size_t size, const char *made_by) {
    char name[LABEL];
    uint8_t *data = calloc(1, size);
    if (data == NULL) return NULL;
    uint64_t address = runtime.config.record[0]
                           ? unseen_place(size)
                           : emu_map(runtime.emu, data, size, true, label(made_by, name));
    if (runtime.config.uninitialised) emu_unwritten(runtime.emu, address);
    return add(&(Region){
        .address = address, .contents = {.data = data, .size = size}, .kind = REGION_TEXELS});
}

void memory_texels_free(Region *r) {
    uint8_t *data = r->contents.data;
    emu_texels_gone(runtime.emu, data, r->contents.size);
    emu_unmap(runtime.emu, r->address);
    forget(r);
    free(data);
}

/* --- finding --- */

/* The live allocation in which the address lies. */
static bool live_at(uint64_t address, EmuAllocation *a) {
    return emu_find(runtime.emu, address, a) && a->is_live && address >= a->address &&
           address - a->address < a->size_bytes;
}

Region *memory_find(uint64_t address) {
    EmuAllocation a;
    return live_at(address, &a) ? map_get(&regions, key(a.address)) : NULL;
}

Region *memory_at(uint64_t address) {
    EmuAllocation a;
    Region *r = map_get(&regions, key(address));
    if (!live_at(address, &a) || a.address != address) return NULL;
    if (r == NULL && a.is_variable) memory_variable(address, a.data, (size_t)a.size_bytes, false);
    return r ? r : map_get(&regions, key(address));
}

void *memory_bytes(uint64_t address, size_t n, const char *does, Region **region) {
    gi_err err = {0};
    *region = memory_find(address);
    if (*region == NULL && address < MEMORY_HOST_END) return (void *)(uintptr_t)address;
    void *p = emu_bytes(runtime.emu, address, n, &err);
    if (p == NULL)
        report_finding("invalid_copy", place_of_call(), "%s %s %zu bytes: %s", call_name(), does, n,
                       err.message);
    return p;
}

void memory_wrote(Region *r, uint64_t address, size_t n) {
    if (r == NULL) return;
    r->contents.version++;
    emu_wrote(runtime.emu, address, n);
}

void memory_read(uint64_t address, size_t n, const char *how) {
    EmuUndefined u;
    EmuAllocation a;
    bool told = false;
    if (!runtime.config.uninitialised) return;
    for (uint64_t from = address; emu_undefined(runtime.emu, &from, address + n, how, &u);) {
        if (u.finding.kind) launch_tell(&u.finding);
        else if (!told && emu_find(runtime.emu, address, &a))
            report_finding(
                "uninitialised_read", place_of_call(),
                "%llu bytes that nobody wrote at byte %llu of '%s' (%llu bytes): what %s "
                "reads there %s",
                (unsigned long long)u.n_bytes, (unsigned long long)u.at, a.label,
                (unsigned long long)a.size_bytes, call_name(), how);
        told |= u.finding.kind == NULL;
    }
}

void memory_each(void (*f)(Region *r)) {
    for (size_t i = 0; i < regions.cap; i++)
        if (regions.rows[i].value) f(regions.rows[i].value);
}

static void read_shared(Region *r) {
    if (r->address < MEMORY_HOST_END && r->kind != REGION_GRAPH)
        memory_read(r->address, r->contents.size, "is left where the host reads it");
}

void memory_read_shared(void) {
    if (runtime.config.uninitialised) memory_each(read_shared);
}

void memory_changed(void) {
    for (size_t i = 0; i < regions.cap; i++) {
        Region *r = regions.rows[i].value;
        if (r && r->kind != REGION_TEXELS) r->contents.version++;
    }
}

/* --- freeing --- */

/* Its memory goes with it, where it is not the emulator's or the program's own. */
static bool release(Region *r, gi_err *err) {
    if (!emu_release(runtime.emu, r->address, call_name(), err)) return false;
    observed_memory(r, false);
    if (r->kind == REGION_GRAPH) return true; /* the node may run again */
    if (r->kind != REGION_REGISTERED) used -= r->contents.size;
    if (r->kind == REGION_MANAGED || r->kind == REGION_PINNED) {
        emu_texels_gone(runtime.emu, r->contents.data, r->contents.size);
        munmap(r->contents.data, pages(r->contents.size));
    }
    forget(r);
    return true;
}

CudaError memory_unregister(void *data) {
    Region *r = map_get(&regions, data);
    if (r == NULL || r->kind != REGION_REGISTERED) return cudaErrorHostMemoryNotRegistered;
    return release(r, NULL) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

static CudaError free_wrongly(uint64_t address, const char *why) {
    EmuAllocation a;
    bool twice = emu_find(runtime.emu, address, &a) && a.address == address && !a.is_live;
    report_finding(twice ? "double_free" : "invalid_free", place_of_call(), "%s", why);
    return cudaErrorInvalidValue;
}

CudaError memory_free(uint64_t address, unsigned kinds) {
    gi_err err = {0};
    if (address == 0) return cudaSuccess;
    Region *r = map_get(&regions, key(address));
    if (r == NULL) {
        if (emu_release(runtime.emu, address, call_name(), &err)) return cudaSuccess;
        return free_wrongly(address, err.message);
    }
    if (kinds & KIND(r->kind))
        return release(r, &err) ? cudaSuccess : free_wrongly(address, err.message);
    snprintf(
        err.message, sizeof err.message,
        "%s of memory that it did not make: cudaFreeHost frees pinned memory, cudaFree all else",
        call_name());
    return free_wrongly(address, err.message);
}

/* --- the end --- */

/* r: NULL for what a kernel allocated. */
static void each_left(void (*f)(Region *r, const EmuAllocation *a)) {
    int n;
    EmuAllocation *all = emu_allocations(runtime.emu, &n);
    for (int i = 0; i < n; i++) {
        Region *r = map_get(&regions, key(all[i].address));
        bool is_own = r && !all[i].is_variable && r->kind != REGION_TEXELS;
        if (all[i].is_heap || is_own) f(r, &all[i]);
    }
    free(all);
}

static uint64_t heap_gone; /* number of the last allocation before the program reset the device */

static void reset_one(Region *r, const EmuAllocation *a) {
    if (a->serial > heap_gone) heap_gone = a->serial;
    if (r) release(r, NULL);
}

void memory_reset(void) {
    each_left(reset_one);
}

/* What kernels allocated and left: one finding for all of it, for each thread may have some. */
static struct {
    uint64_t objects, bytes;
    char first[LABEL];
} heap_left;

static void leak_of_heap(const EmuAllocation *a) {
    if (a->serial <= heap_gone) return;
    if (heap_left.objects++ == 0) snprintf(heap_left.first, LABEL, "%s", a->label);
    heap_left.bytes += a->size_bytes;
}

static void leak_one(Region *r, const EmuAllocation *a) {
    if (r == NULL) {
        leak_of_heap(a);
        return;
    }
    report->left_allocations++;
    report->left_bytes += r->contents.size;
    if (runtime.config.leaks)
        report_finding("leak", NULL, "'%s' (%zu bytes) was never freed", a->label,
                       r->contents.size);
}

void memory_leaks(void) {
    if (runtime.fault) return;
    each_left(leak_one);
    if (heap_left.objects && runtime.config.leaks)
        report_finding("leak", NULL,
                       "%llu objects (%llu bytes) that kernels allocated by malloc were never "
                       "freed; the first: '%s'",
                       (unsigned long long)heap_left.objects, (unsigned long long)heap_left.bytes,
                       heap_left.first);
}
