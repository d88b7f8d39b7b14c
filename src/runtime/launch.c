/* launch.c - kernel launches: configuration, arguments, running, what a fault becomes; attributes
** of kernels and occupancy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/graph.h"
#include "runtime/memo.h"
#include "runtime/module.h"
#include "runtime/observe.h"
#include "runtime/reorder.h"
#include "runtime/patience.h"
#include "runtime/profiled.h"
#include "runtime/report.h"

/* --- what kernels print ---
**
** It comes out when CUDA lets it out: before a launch, and when the host waits. */

static gi_buf printed;

static void keep_print(void *user, const char *text, size_t len) {
    (void)user;
    gi_buf_add(&printed, text, len);
}

void print_flush(void) {
    if (printed.len == 0) return;
    fwrite(printed.data, 1, printed.len, stdout);
    gi_buf_clear(&printed);
}

/* --- running --- */

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static Figures figures_of(const EmuResult *r) {
    return (Figures){.ticks = r->ticks,
                     .ns = r->ns,
                     .occupancy = r->occupancy,
                     .issue = r->work.part_issue,
                     .latency = r->work.part_latency,
                     .memory = r->work.part_memory,
                     .warp_instructions = r->warp_instructions,
                     .lane_instructions = r->lane_instructions,
                     .global_sectors = r->global_sectors,
                     .registers = r->registers,
                     .shared_bytes = r->shared_bytes};
}

static ReportKernel *profile(const OpLaunch *l, const Figures *f) {
    Kernel *k = l->kernel;
    if (k->row == NULL) k->row = report_kernel(k->shown);
    ReportKernel *row = k->row;
    row->launches++;
    row->ticks += f->ticks;
    row->ns += f->ns;
    row->warp_instructions += f->warp_instructions;
    row->lane_instructions += f->lane_instructions;
    row->global_bytes += f->global_sectors * (uint64_t)runtime.config.model.sector_bytes;
    row->blocks += (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    row->occupancy += f->occupancy * f->ticks;
    row->issue += f->issue;
    row->latency += f->latency;
    row->memory += f->memory;
    if ((uint64_t)f->registers > row->registers) row->registers = (uint64_t)f->registers;
    if (f->shared_bytes > row->shared_bytes) row->shared_bytes = f->shared_bytes;
    return row;
}

static CudaError code_of_fault(const EmuResult *r) {
    switch (r->status) {
    case EMU_RACE: return cudaSuccess; /* a finding, which no GPU notices */
    case EMU_ILLEGAL_ADDRESS: return cudaErrorIllegalAddress;
    case EMU_MISALIGNED: return cudaErrorMisalignedAddress;
    case EMU_TIMEOUT: return cudaErrorLaunchTimeout;
    case EMU_OUT_OF_MEMORY: return cudaErrorMemoryAllocation;
    default: return cudaErrorLaunchFailure;
    }
}

static CudaError code_of(const EmuResult *r) {
    switch (r->cause) {
    case EMU_CAUSE_NONE: return cudaSuccess;
    case EMU_CAUSE_CONFIGURATION: return cudaErrorInvalidConfiguration;
    case EMU_CAUSE_RESOURCES: return cudaErrorLaunchOutOfResources;
    case EMU_CAUSE_CLUSTER: return cudaErrorInvalidClusterSize;
    case EMU_CAUSE_COOPERATIVE: return cudaErrorCooperativeLaunchTooLarge;
    case EMU_CAUSE_ASSERT: return cudaErrorAssert;
    case EMU_CAUSE_TRAP: return cudaErrorLaunchFailure;
    case EMU_CAUSE_INSTRUCTION: return cudaErrorIllegalInstruction;
    case EMU_CAUSE_STACK: return cudaErrorIllegalAddress;
    case EMU_CAUSE_FAULT: break;
    }
    return code_of_fault(r);
}

static bool was_refused(const EmuResult *r) {
    return r->cause == EMU_CAUSE_CONFIGURATION || r->cause == EMU_CAUSE_RESOURCES ||
           r->cause == EMU_CAUSE_COOPERATIVE || r->cause == EMU_CAUSE_CLUSTER;
}

/* What a kernel did wrong stays: the device is lost to the program. */
void launch_tell(const EmuFinding *f) {
    char *shown = module_demangled(f->kernel);
    report_kernel_finding(f->kernel, shown, f);
    free(shown);
}

static void tell_all(const EmuFindings *f) {
    for (int i = 0; i < f->n; i++) launch_tell(&f->at[i]);
}

static void tell(const EmuResult *r) {
    tell_all(&r->faults);
    tell_all(&r->warnings);
    runtime.fault = code_of(r);
    if (runtime.fault) print_flush();
}

/* Runs it for good. False: it was refused, with *refusal. */
static bool run(const OpLaunch *l, EmuResult *r, CudaError *refusal) {
    const Config *c = &runtime.config;
    Kernel *k = l->kernel;
    gi_err err = {0};
    EmuLaunch how = {.kernel = k->name,
                     .grid = {l->grid[0], l->grid[1], l->grid[2]},
                     .block = {l->block[0], l->block[1], l->block[2]},
                     .shared_bytes = l->shared,
                     .params = l->params,
                     .max_faults = EMU_FINDINGS,
                     .budget = (uint64_t)1 << 62,
                     .count_uninitialised = c->uninitialised,
                     .host_tells = true,
                     .footprint = c->streams,
                     .check_races = c->races,
                     .threads = c->threads,
                     .profile = profiled(),
                     .begun_ns = report->device_ns,
                     .cooperative = l->kind.cooperative,
                     .cluster = {l->kind.cluster.x, l->kind.cluster.y, l->kind.cluster.z},
                     .print = keep_print};
    contents_settle_all();
    how.done = patience_begin(l);
    ReorderRun *other = reorder_begin(l, &how);
    bool ran = emu_launch(k->module->emu, &how, r, &err);
    reorder_end(other, ran && r->status == EMU_OK);
    patience_end();
    if (!ran) refuse("kernel %s cannot run on the virtual GPU: %s", k->shown, err.message);
    if (!was_refused(r)) return true;
    const char *end = strstr(r->message, ", kernel "), *why = strstr(r->message, ": ");
    *refusal = failed(code_of(r), "%.*s, kernel %s", end && why ? (int)(end - why - 2) : 0,
                      why ? why + 2 : "", k->shown);
    return false;
}

/* Need it not run? Then *f is what it took when it did. */
static bool is_known(const OpLaunch *l, Habit *h, Figures *f) {
    static bool told;
    bool found = h && runtime.config.skip && memo_find(h, f),
         capped = !found && h && memo_capped(h, f);
    if (!found && !capped) return false;
    profile(l, f)->skipped++;
    if (found) report->skipped_ns += f->ns;
    else report->capped_ns += f->ns, report->capped++;
    if (capped && !told) {
        told = true;
        say("--repeats: %s and others are not run again with these arguments; results that build "
            "on one another are wrong from here on",
            l->kernel->shown);
    }
    return true;
}

/* Returns whether a launch did nothing but compute: it printed, found and launched nothing, asked
** for no time, and left the heap as it was. */
static bool is_plain(const Kernel *k, const EmuResult *r, uint64_t heap) {
    return r->faults.n + r->warnings.n == 0 && printed.len == 0 && r->nested == 0 &&
           heap == emu_heap_moves(runtime.emu) && !emu_kernel_reads_time(k->module->emu, k->name);
}

CudaError launch_run(const OpLaunch *l, double *ns) {
    EmuResult r;
    CudaError refusal;
    Figures f;
    print_flush();
    Habit *h = memo_habit(l);
    if (!is_known(l, h, &f)) {
        double began = cpu_seconds();
        uint64_t heap = emu_heap_moves(runtime.emu);
        if (h) memo_before(h, l);
        if (!run(l, &r, &refusal)) return refusal;
        f = figures_of(&r);
        if (r.nested) memory_changed(); /* what they reached is not known */
        if (h) memo_after(h, &f, is_plain(l->kernel, &r, heap));
        else memo_unknown();
        profile(l, &f)->seconds += cpu_seconds() - began;
        tell(&r);
    }
    *ns = f.ns;
    return cudaSuccess;
}

/* --- launching --- */

static CudaError check_grid(const Kernel *k, Dim3 grid) {
    const EmuModel *g = &runtime.config.model;
    bool is_empty = grid.x == 0 || grid.y == 0 || grid.z == 0;
    if (!is_empty && grid.x <= g->max_grid_x && grid.y <= g->max_grid_y && grid.z <= g->max_grid_z)
        return cudaSuccess;
    return failed(cudaErrorInvalidConfiguration,
                  "a grid of %u x %u x %u blocks; from 1 to %.0f x %.0f x %.0f are allowed, "
                  "kernel %s",
                  grid.x, grid.y, grid.z, g->max_grid_x, g->max_grid_y, g->max_grid_z, k->shown);
}

static CudaError check_block(const Kernel *k, Dim3 block) {
    enum { MOST_Z = 64 };
    int most = (int)runtime.config.model.max_threads_per_block;
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (threads == 0 || block.z > MOST_Z || block.x > (unsigned)most || block.y > (unsigned)most ||
        threads > (uint64_t)most)
        return failed(cudaErrorInvalidConfiguration,
                      "a block of %u x %u x %u threads; from 1 to %d are allowed, and %d in z, "
                      "kernel %s",
                      block.x, block.y, block.z, most, MOST_Z, k->shown);
    if (k->info.max_threads && threads > (uint64_t)k->info.max_threads)
        return failed(cudaErrorLaunchOutOfResources,
                      "a block of %llu threads; the launch bounds of kernel %s allow %d",
                      (unsigned long long)threads, k->shown, k->info.max_threads);
    return cudaSuccess;
}

static CudaError check_launch(const Kernel *k, Dim3 grid, Dim3 block, size_t shared) {
    CudaError e = check_grid(k, grid);
    if (e == cudaSuccess) e = check_block(k, block);
    if (e == cudaSuccess && shared > (size_t)k->max_dynamic_shared)
        e = failed(cudaErrorInvalidValue,
                   "%zu bytes of dynamic shared memory; kernel %s may have %d, more by "
                   "cudaFuncAttributeMaxDynamicSharedMemorySize",
                   shared, k->shown, k->max_dynamic_shared);
    return e;
}

static int occupancy(const Kernel *k, int threads, size_t shared);

static CudaError check_cooperative(const Kernel *k, Dim3 grid, Dim3 block, size_t shared) {
    uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
    int fit = occupancy(k, (int)(block.x * block.y * block.z), shared);
    uint64_t most = (uint64_t)fit * (uint64_t)runtime.config.model.sms;
    if (blocks <= most) return cudaSuccess;
    return failed(cudaErrorCooperativeLaunchTooLarge,
                  "%llu blocks; %llu can run at a time, kernel %s", (unsigned long long)blocks,
                  (unsigned long long)most, k->shown);
}

enum { PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16 };

/* What is not asked for here, but said by the kernel, the emulator checks. */
static CudaError check_cluster(const Kernel *k, Dim3 grid, Dim3 c) {
    unsigned most = k->any_cluster ? LARGEST_CLUSTER : PORTABLE_CLUSTER;
    if (c.x == 0 && c.y == 0 && c.z == 0) return cudaSuccess;
    bool fits = c.x && c.y && c.z && c.x <= most && c.y <= most && c.z <= most &&
                c.x * c.y * c.z <= most && grid.x % c.x == 0 && grid.y % c.y == 0 &&
                grid.z % c.z == 0;
    if (fits) return cudaSuccess;
    return failed(cudaErrorInvalidClusterSize,
                  "clusters of %u x %u x %u blocks in a grid of %u x %u x %u; they divide the "
                  "grid, and have at most %u blocks, kernel %s",
                  c.x, c.y, c.z, grid.x, grid.y, grid.z, most, k->shown);
}

static uint8_t *laid_out(const Kernel *k, void **args) {
    uint8_t *params = gi_alloc(k->info.param_bytes + 8);
    for (int i = 0; i < k->info.n_params; i++)
        memcpy(params + k->info.param_offset[i], args[i], k->info.param_size[i]);
    return params;
}

CudaError launch_op(const void *handle, Dim3 grid, Dim3 block, void **args, size_t shared,
                    LaunchKind kind, Op *out) {
    Kernel *k = module_ready(handle);
    if (k == NULL) return cudaErrorInvalidDeviceFunction;
    CudaError e = check_launch(k, grid, block, shared);
    if (e == cudaSuccess && kind.cooperative) e = check_cooperative(k, grid, block, shared);
    if (e == cudaSuccess) e = check_cluster(k, grid, kind.cluster);
    if (e) return e;
    if (k->info.n_params && args == NULL) return cudaErrorInvalidValue;
    *out = (Op){.kind = OP_LAUNCH,
                .is_async = true,
                .launch = {.kernel = k,
                           .grid = {grid.x, grid.y, grid.z},
                           .block = {block.x, block.y, block.z},
                           .shared = shared,
                           .kind = kind,
                           .params = laid_out(k, args)}};
    return cudaSuccess;
}

/* A launch that fails in a stream that is captured spoils the capture. */
static void capture_fails(Stream *handle) {
    Stream *s = stream_of(handle);
    if (s && s->capture) s->capture->spoilt = true;
}

static CudaError launch(const void *handle, Dim3 grid, Dim3 block, void **args, size_t shared,
                        LaunchKind kind, Stream *s) {
    Op op;
    place_launches(handle);
    CudaError e = launch_op(handle, grid, block, args, shared, kind, &op);
    if (e) return capture_fails(s), e;
    e = op_submit(s, &op);
    free(op.launch.params);
    return e;
}

API(cudaLaunchKernel, const void *f, Dim3 grid, Dim3 block, void **args, size_t shared, Stream *s) {
    return CALL(launch(f, grid, block, args, shared, (LaunchKind){0}, s));
}
ALSO(cudaLaunchKernel, __cudaLaunchKernel);
/* In a program built with --default-stream per-thread, stream 0 is the calling thread's. */
API(cudaLaunchKernel_ptsz, const void *f, Dim3 grid, Dim3 block, void **args, size_t shared,
    Stream *s) {
    stream_each_thread = true;
    return CALL(launch(f, grid, block, args, shared, (LaunchKind){0}, s));
}
ALSO(cudaLaunchKernel_ptsz, __cudaLaunchKernel_ptsz);
API(cudaLaunchCooperativeKernel, const void *f, Dim3 grid, Dim3 block, void **args, size_t shared,
    Stream *s) {
    return CALL(launch(f, grid, block, args, shared, (LaunchKind){.cooperative = true}, s));
}
PER_THREAD(cudaLaunchCooperativeKernel);

LaunchKind launch_kind(const CudaLaunchAttribute *attributes, unsigned n) {
    LaunchKind kind = {0};
    for (unsigned i = 0; i < n; i++) {
        const CudaLaunchAttribute *a = &attributes[i];
        if (a->id == cudaLaunchAttributeCooperative) kind.cooperative = a->value.cooperative != 0;
        if (a->id == cudaLaunchAttributeClusterDimension) kind.cluster = a->value.cluster;
    }
    return kind;
}

static CudaError launch_config(const CudaLaunchConfig *c, const void *f, void **args) {
    if (c == NULL) return cudaErrorInvalidValue;
    return launch(f, c->grid, c->block, args, c->shared,
                  launch_kind(c->attributes, c->n_attributes), c->stream);
}

API(cudaLaunchKernelExC, const CudaLaunchConfig *c, const void *f, void **args) {
    return CALL(launch_config(c, f, args));
}
PER_THREAD(cudaLaunchKernelExC);

/* --- <<< >>> : the configuration waits here until the stand-in picks it up --- */

enum { NESTING = 64 };

static _Thread_local struct {
    Dim3 grid, block;
    size_t shared;
    void *stream;
} pushed[NESTING];
static _Thread_local int n_pushed;

API_OF(unsigned, __cudaPushCallConfiguration, Dim3 grid, Dim3 block, size_t shared, void *stream) {
    if (n_pushed == NESTING) return 1;
    pushed[n_pushed].grid = grid, pushed[n_pushed].block = block;
    pushed[n_pushed].shared = shared, pushed[n_pushed].stream = stream;
    n_pushed++;
    return 0;
}

API(__cudaPopCallConfiguration, Dim3 *grid, Dim3 *block, size_t *shared, void *stream) {
    if (n_pushed == 0) return cudaErrorMissingConfiguration;
    n_pushed--;
    *grid = pushed[n_pushed].grid, *block = pushed[n_pushed].block;
    *shared = pushed[n_pushed].shared;
    *(void **)stream = pushed[n_pushed].stream;
    return cudaSuccess;
}

/* --- attributes of kernels --- */

int kernel_registers(const Kernel *k) {
    return emu_kernel_registers(k->module->emu, k->name);
}

/* Threads that a block can have with so many registers each. */
static int most_threads(const Kernel *k, int registers) {
    const EmuModel *g = &runtime.config.model;
    int most = (int)g->max_threads_per_block, given = k->info.max_threads,
        unit = (registers + 7) / 8 * 8;
    int fit = unit ? (int)g->registers_per_sm / unit / 32 * 32 : most;
    if (given && given < most) most = given;
    return given || fit > most ? most : fit;
}

/* Runs ptxas only if its answer may matter. */
int kernel_most_threads(const Kernel *k) {
    int sure = most_threads(k, emu_registers_most(k->info.registers));
    return sure == most_threads(k, 1) ? sure : most_threads(k, kernel_registers(k));
}

static CudaError kernel_attributes(CudaFuncAttributes *out, size_t size, const void *f) {
    const Kernel *k = module_ready(f);
    if (out == NULL || k == NULL)
        return out ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
    CudaFuncAttributes a = {.shared_bytes = k->info.shared_bytes,
                            .local_bytes = k->info.local_bytes,
                            .max_threads = kernel_most_threads(k),
                            .registers = kernel_registers(k),
                            .ptx_version = k->info.target,
                            .binary_version = 90,
                            .max_dynamic_shared = k->max_dynamic_shared,
                            .carveout = k->carveout};
    memcpy(out, &a, size);
    return cudaSuccess;
}

API(cudaFuncGetAttributes, CudaFuncAttributes *out, const void *f) {
    return CALL(kernel_attributes(out, sizeof *out, f));
}

CudaError kernel_set_attribute(const void *f, int id, int value) {
    Kernel *k = module_ready(f);
    if (k == NULL) return cudaErrorInvalidDeviceFunction;
    int most = (int)runtime.config.model.shared_per_block - (int)k->info.shared_bytes;
    switch (id) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || value > most) return cudaErrorInvalidValue;
        k->max_dynamic_shared = value;
        return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        if (value < -1 || value > 100) return cudaErrorInvalidValue;
        k->carveout = value;
        return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
        k->any_cluster = value != 0;
        return cudaSuccess;
    default: return id > 9 && id < 16 ? cudaErrorNotSupported : cudaErrorInvalidValue;
    }
}

API(cudaFuncSetAttribute, const void *f, int id, int value) {
    return CALL(kernel_set_attribute(f, id, value));
}
API(cudaFuncSetCacheConfig, const void *f, int config) {
    (void)config;
    return CALL(module_kernel(f) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}
API(cudaFuncSetSharedMemConfig, const void *f, int config) {
    (void)config;
    return CALL(module_kernel(f) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

static CudaError param_info(const void *f, size_t i, size_t *offset, size_t *size) {
    const Kernel *k = module_ready(f);
    if (k == NULL) return cudaErrorInvalidDeviceFunction;
    if (i >= (size_t)k->info.n_params || offset == NULL) return cudaErrorInvalidValue;
    *offset = k->info.param_offset[i];
    if (size) *size = k->info.param_size[i];
    return cudaSuccess;
}

API(cudaFuncGetParamInfo, const void *f, size_t i, size_t *offset, size_t *size) {
    return CALL(param_info(f, i, offset, size));
}

/* --- occupancy --- */

static int least(int a, int b) {
    return a < b ? a : b;
}

/* Blocks that an SM holds with so many registers a thread; 0: a block does not fit. */
static int blocks_with(const Kernel *k, int threads, size_t dynamic, int registers) {
    const EmuModel *g = &runtime.config.model;
    int warps = (threads + 31) / 32, all = (int)g->max_threads_per_sm / 32;
    if (threads < 1 || threads > most_threads(k, registers)) return 0;
    int fit = least((int)g->max_blocks_per_sm, all / warps);
    fit = least(fit, (int)g->registers_per_sm / ((registers + 7) / 8 * 8 * 32 * warps));
    double shared = (double)((k->info.shared_bytes + dynamic + 127) / 128 * 128) + g->shared_unit;
    return least(fit, (int)(g->shared_per_sm / shared));
}

/* Blocks of it that an SM holds; 0: a block does not fit. */
static int occupancy(const Kernel *k, int threads, size_t dynamic) {
    int sure = blocks_with(k, threads, dynamic, emu_registers_most(k->info.registers));
    bool matters = sure != blocks_with(k, threads, dynamic, 1);
    return matters ? blocks_with(k, threads, dynamic, kernel_registers(k)) : sure;
}

CudaError kernel_active_blocks(int *n, const void *f, int threads, size_t dynamic) {
    const Kernel *k = module_ready(f);
    if (n == NULL || k == NULL) return n ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
    if (threads < 1) return cudaErrorInvalidValue;
    *n = occupancy(k, threads, dynamic);
    return cudaSuccess;
}

/* The GPU's processors come in groups that a cluster does not leave, and no number says which: so
** this is as many clusters as there are blocks for. */
CudaError kernel_active_clusters(int *n, const void *f, const CudaLaunchConfig *c) {
    const Kernel *k = module_ready(f);
    if (n == NULL || c == NULL || k == NULL)
        return n && c ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
    Dim3 size = launch_kind(c->attributes, c->n_attributes).cluster;
    CudaError e = check_cluster(k, c->grid, size);
    if (e) return e;
    int blocks = size.x ? (int)(size.x * size.y * size.z) : 1;
    *n = occupancy(k, (int)(c->block.x * c->block.y * c->block.z), c->shared) *
         (int)runtime.config.model.sms / blocks;
    return cudaSuccess;
}

API(cudaOccupancyMaxActiveClusters, int *n, const void *f, const CudaLaunchConfig *c) {
    return CALL(kernel_active_clusters(n, f, c));
}

CudaError kernel_potential_cluster(int *size, const void *f, const CudaLaunchConfig *c) {
    const Kernel *k = module_ready(f);
    if (size == NULL || c == NULL || k == NULL)
        return size && c ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
    bool fits = occupancy(k, (int)(c->block.x * c->block.y * c->block.z), c->shared) > 0;
    *size = !fits ? 0 : k->any_cluster ? LARGEST_CLUSTER : PORTABLE_CLUSTER;
    return cudaSuccess;
}

API(cudaOccupancyMaxPotentialClusterSize, int *size, const void *f, const CudaLaunchConfig *c) {
    return CALL(kernel_potential_cluster(size, f, c));
}

API(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *n, const void *f, int threads,
    size_t dynamic) {
    return CALL(kernel_active_blocks(n, f, threads, dynamic));
}
API(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *n, const void *f, int threads,
    size_t dynamic, unsigned flags) {
    return CALL(flags < 2 ? kernel_active_blocks(n, f, threads, dynamic) : cudaErrorInvalidValue);
}

static CudaError available_shared(size_t *out, const void *f, int blocks, int threads) {
    const EmuModel *g = &runtime.config.model;
    const Kernel *k = module_ready(f);
    if (out == NULL || k == NULL || blocks < 1 || threads < 1) return cudaErrorInvalidValue;
    double each = g->shared_per_sm / blocks - g->shared_unit - (double)k->info.shared_bytes;
    if (each > g->shared_per_block) each = g->shared_per_block;
    *out = each > 0 ? (size_t)each : 0;
    return cudaSuccess;
}

API(cudaOccupancyAvailableDynamicSMemPerBlock, size_t *out, const void *f, int blocks,
    int threads) {
    return CALL(available_shared(out, f, blocks, threads));
}
