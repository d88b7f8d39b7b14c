/* launch.c - one launch: checks it, gives it its registers and memory, has its blocks run
** (turns.c). */
#include "emu/core.h"
#include "emu/exec/async.h"
#include "emu/exec/native.h"
#include "emu/exec/nested.h"
#include "emu/exec/tex.h"
#include "emu/check/undefined.h"
#include "emu/exact/exact.h"
#include "emu/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- is this a launch the GPU would accept? --- */

static bool refuse(Machine *m, EmuCause cause, const char *fmt, ...) GI_PRINTF(3, 4);

static bool refuse(Machine *m, EmuCause cause, const char *fmt, ...) {
    char why[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    m->result->status = EMU_LAUNCH_ERROR;
    m->result->cause = cause;
    snprintf(m->result->message, sizeof m->result->message, "launch refused: %s, kernel %s", why,
             m->entry->func->name);
    return false;
}

static bool check_geometry(Machine *m) {
    const EmuLaunch *l = m->launch;
    const EmuModel *g = m->model;
    const unsigned *b = l->block;
    double threads = (double)b[0] * b[1] * b[2];
    if (!b[0] || !b[1] || !b[2] || !l->grid[0] || !l->grid[1] || !l->grid[2])
        return refuse(m, EMU_CAUSE_CONFIGURATION,
                      "grid (%u,%u,%u), block (%u,%u,%u): every part must be at least 1",
                      l->grid[0], l->grid[1], l->grid[2], b[0], b[1], b[2]);
    double most = g->max_threads_per_block < 1024 ? g->max_threads_per_block : 1024;
    if (threads > most || b[2] > 64)
        return refuse(m, EMU_CAUSE_CONFIGURATION,
                      "block (%u,%u,%u) has %.0f threads%s; at most %.0f are allowed", b[0], b[1],
                      b[2], threads, b[2] > 64 ? " (and z above 64)" : "", most);
    if (l->grid[0] > g->max_grid_x || l->grid[1] > g->max_grid_y || l->grid[2] > g->max_grid_z)
        return refuse(m, EMU_CAUSE_CONFIGURATION, "grid (%u,%u,%u) is larger than (%.0f,%.0f,%.0f)",
                      l->grid[0], l->grid[1], l->grid[2], g->max_grid_x, g->max_grid_y,
                      g->max_grid_z);
    m->threads = (int)threads;
    m->n_warps = (m->threads + LANES - 1) / LANES;
    return true;
}

static bool check_clusters(Machine *m) {
    const EmuLaunch *l = m->launch;
    if (cluster_begin(m)) {
        if (l->exact && m->has_clusters) exact_fail(l->exact, "its blocks form clusters");
        return true;
    }
    return refuse(m, EMU_CAUSE_CLUSTER,
                  "clusters of (%u,%u,%u) blocks for a grid of (%u,%u,%u): at most %d, a divisor "
                  "of the grid's, and what the kernel requires (%s)",
                  m->cluster[0], m->cluster[1], m->cluster[2], l->grid[0], l->grid[1], l->grid[2],
                  MOST_CLUSTER, m->entry->func->directives ? m->entry->func->directives : "");
}

static bool check_bounds(Machine *m) {
    const PtxFunc *f = m->entry->func;
    const unsigned *b = m->launch->block;
    const int *req = f->reqntid, *max = f->maxntid;
    for (int k = 0; k < 3 && req[0]; k++)
        if (b[k] != (unsigned)(req[k] ? req[k] : 1))
            return refuse(m, EMU_CAUSE_RESOURCES,
                          "block (%u,%u,%u), but the kernel requires (%d,%d,%d)", b[0], b[1], b[2],
                          req[0], req[1] ? req[1] : 1, req[2] ? req[2] : 1);
    int bound = ptx_threads(max);
    if (bound && m->threads > bound)
        return refuse(m, EMU_CAUSE_RESOURCES,
                      "%d threads a block, but the kernel's launch bounds allow %d", m->threads,
                      bound);
    return true;
}

/* Where dynamic shared memory begins behind so many bytes: as its declarations want it aligned. */
static uint32_t dynamic_base(const Machine *m, uint64_t bytes) {
    const PtxModule *ptx = m->mod->ptx;
    uint64_t unit = 16;
    for (int i = 0; i < ptx->n_vars; i++) {
        const PtxVar *v = ptx->vars[i];
        bool is_dynamic = v->space == PTX_SHARED && v->is_extern;
        if (is_dynamic && v->align > 0 && (uint64_t)v->align > unit) unit = (uint64_t)v->align;
    }
    return (uint32_t)((bytes + unit - 1) / unit * unit);
}

/* A kernel's own arrays are no stack: the driver gives each thread what they take, at most 512 KB
** (compute capability 5.0 and later). */
enum { MOST_LOCAL = 512 * 1024 };

static bool check_memory(Machine *m) {
    const EmuModel *g = m->model;
    double fixed = (double)m->entry->shared_bytes, all;
    m->dynamic_base = dynamic_base(m, m->entry->shared_bytes);
    all =
        m->launch->shared_bytes ? (double)m->dynamic_base + (double)m->launch->shared_bytes : fixed;
    if (g->shared_per_block_default > 0 && fixed > g->shared_per_block_default)
        return refuse(m, EMU_CAUSE_RESOURCES,
                      "%.0f bytes of static shared memory; at most %.0f are allowed", fixed,
                      g->shared_per_block_default);
    if (all > g->shared_per_block)
        return refuse(m, EMU_CAUSE_RESOURCES,
                      "%.0f bytes of shared memory a block (%.0f static); there are %.0f", all,
                      fixed, g->shared_per_block);
    if (m->entry->param_bytes > MOST_LOCAL)
        return refuse(m, EMU_CAUSE_RESOURCES,
                      "stack overflow: %u bytes of parameters a thread; there are %d",
                      m->entry->param_bytes, MOST_LOCAL);
    if (m->entry->local_bytes > MOST_LOCAL)
        return refuse(m, EMU_CAUSE_RESOURCES,
                      "stack overflow: %u bytes of local memory a thread; there are %d",
                      m->entry->local_bytes, MOST_LOCAL);
    m->shared_bytes = (uint32_t)all;
    return true;
}

/* Told how many blocks shall fit, ptxas takes the room they leave: kernels of 32 registers got 56
** whatever the number was, 1 to 5 (NVRTC 13.0, sm_90). */
static int with_bound(const PtxFunc *f, int registers) {
    return f->minnctapersm > 0 ? (registers * 7 / 4 + 7) / 8 * 8 : registers;
}

/* Registers a thread gets: the estimate, or less where launch bounds or the block's size leave
** less; what does not fit is spilled to local memory. Returns the resident blocks of an SM. */
static int give_registers(Machine *m, bool *spills) {
    const EmuModel *g = m->model;
    const PtxFunc *f = m->entry->func;
    int need = m->entry->registers, have = with_bound(f, need);
    int bound = ptx_threads(f->maxntid);
    int threads = bound > m->threads ? bound : m->threads;
    if (threads > LANES * LANES) threads = LANES * LANES; /* no block has more */
    int blocks = bound && f->minnctapersm > 1 ? f->minnctapersm : 1;
    int warps = (threads + LANES - 1) / LANES;
    int fit = (int)(g->registers_per_sm / ((double)warps * LANES * blocks)) / 8 * 8;
    if (f->maxnreg && have > f->maxnreg) have = f->maxnreg;
    if (fit < 16) fit = 16;
    if (have > fit) have = fit;
    *spills = need > have;
    m->result->registers = have;
    return cost_resident(g, m->threads, have, m->shared_bytes);
}

/* --- what no launch bounds and no spilling help --- */

static EmuAssembler assembler;

void emu_assembler(EmuAssembler a) {
    assembler = a;
}

/* The module's text without its other kernels. */
static void print_kernel(const PtxModule *ptx, const PtxFunc *kernel, gi_buf *out) {
    PtxModule part = *ptx;
    part.n_items = 0;
    part.items = gi_alloc((size_t)(ptx->n_items + 1) * sizeof *part.items);
    for (int i = 0; i < ptx->n_items; i++) {
        bool is_code =
            ptx->items[i].kind == PTX_ITEM_BODY || ptx->items[i].kind == PTX_ITEM_PROTOTYPE;
        const PtxFunc *f = is_code ? &ptx->funcs[ptx->items[i].index] : kernel;
        if (!f->is_entry || f == kernel) part.items[part.n_items++] = ptx->items[i];
    }
    ptx_print(&part, out);
    free(part.items);
}

/* Registers a thread by ptxas; 0: not known. */
static int assembled_registers(const EmuModule *mod, Code *entry) {
    gi_buf text = {0};
    if (entry->assembled == 0 && assembler.registers) {
        print_kernel(mod->ptx, entry->func, &text);
        int n = assembler.registers(text.data, text.len, entry->func->name);
        entry->assembled = n > 0 ? n : -1;
        gi_buf_free(&text);
    }
    return entry->assembled > 0 ? entry->assembled : 0;
}

int launch_frame(const Machine *m, Code *code) {
    gi_buf text = {0};
    if (code->frame == 0 && assembler.frame) {
        print_kernel(m->mod->ptx, m->entry->func, &text);
        int n = assembler.frame(text.data, text.len, code->func->name);
        code->frame = n < 0 ? -1 : n + 1;
        gi_buf_free(&text);
    }
    return code->frame > 0 ? code->frame - 1 : -1;
}

int emu_kernel_registers(const EmuModule *m, const char *kernel) {
    gi_err err = {0};
    Code *entry = module_entry(m, kernel, &err);
    int known = entry ? assembled_registers(m, entry) : 0;
    return known || entry == NULL ? known : entry->registers;
}

int emu_registers_most(int estimate) {
    return estimate * 3 / 2 + 16;
}

/* ptxas knows nothing of the block's size without launch bounds: the registers that it gives each
** thread may be more than there are for a block. It is called only where the
** estimate, which counts values alive together, may be that far off. Without ptxas half the
** estimate decides: of a kernel for blocks of 1024 threads the estimate was 100. */
static bool check_registers(Machine *m) {
    const PtxFunc *f = m->entry->func;
    int estimate = m->entry->registers;
    if (f->maxntid[0] || f->reqntid[0] || f->maxnreg) return true;
    if (cost_resident(m->model, m->threads, emu_registers_most(estimate), 0) >= 1) return true;
    int known = assembled_registers(m->mod, m->entry), registers = known ? known : estimate / 2;
    if (cost_resident(m->model, m->threads, registers, 0) >= 1) return true;
    return refuse(m, EMU_CAUSE_RESOURCES,
                  "a block of %d threads with %s%d registers each%s; there are %.0f (without "
                  "__launch_bounds__ the compiler does not know the block's size)",
                  m->threads, known ? "" : "at least ", registers,
                  known ? "" : " by an estimate, for nvJitLink is not there",
                  m->model->registers_per_sm);
}

/* --- the launch --- */

void machine_forget_fetches(Machine *m) {
    size_t sites = (size_t)m->mod->n_fetches + 1;
    memset(m->fetches, 0, sites * sizeof *m->fetches);
    for (size_t i = 0; i < sites; i++) m->fetch[i] = &m->fetches[i];
}

/* Layouts only save time: without memory for them there are none. */
static void open_layouts(Machine *m) {
    size_t bytes = (size_t)(m->mod->n_layouts + 1) * sizeof *m->layouts;
    if (m->emu->plain || m->launch->exact) return;
    m->layouts = aligned_alloc(64, bytes);
    m->lines = calloc((size_t)m->mod->n_lines + 1, sizeof *m->lines);
    if (m->layouts && m->lines) {
        memset(m->layouts, 0, bytes);
        return;
    }
    free(m->layouts);
    free(m->lines);
    m->layouts = NULL;
    m->lines = NULL;
}

bool machine_open(Machine *m) {
    size_t sites = (size_t)m->mod->n_fetches + 1;
    m->fetches = aligned_alloc(64, sites * sizeof *m->fetches); /* its rows are read as vectors */
    if (m->fetches == NULL)
        return fault_raise(m, NULL, NULL, ALL_LANES, EMU_OUT_OF_MEMORY,
                           "no host memory for a launch");
    m->fetch = gi_alloc(sites * sizeof *m->fetch);
    machine_forget_fetches(m);
    m->spare = gi_alloc((size_t)m->n_warps * sizeof *m->spare);
    open_layouts(m);
    return true;
}

void machine_close(Machine *m) {
    turns_free(m);
    for (int i = 0; i < m->n_spare; i++) warp_store_free(&m->spare[i]);
    free(m->spare);
    cost_free(&m->cost);
    free(m->fetch);
    free(m->fetches);
    free(m->layouts);
    free(m->lines);
    gi_buf_free(&m->text);
}

/* Does memory that kernels can write to share bytes with the texture's? */
static bool is_writable(const Emu *e, const EmuTexture *t) {
    uintptr_t first = (uintptr_t)t->data, end = first + (uintptr_t)emu_texture_bytes(t);
    for (int i = 0; i < e->n_list; i++) {
        const Alloc *a = &e->alloc[e->list[i]];
        uintptr_t at = (uintptr_t)a->data;
        if (!a->is_hidden && !a->read_only && at < end && first < at + a->size) return true;
    }
    for (int i = 0; i < e->n_tex; i++) {
        const TexSlot *s = &e->tex[i];
        if (!s->live || !s->is_surface) continue;
        uintptr_t at = (uintptr_t)s->t.data;
        if (at < end && first < at + (uintptr_t)emu_texture_bytes(&s->t)) return true;
    }
    return false;
}

/* Returns the row of the allocation that a texture lies in, or -1: it is an array. */
static int memory_of(const Emu *e, const EmuTexture *t) {
    for (int i = 0; i < e->n_list; i++) {
        const Alloc *a = &e->alloc[e->list[i]];
        uintptr_t offset = (uintptr_t)t->data - (uintptr_t)a->data;
        if (!a->is_hidden && offset < a->size) return e->list[i];
    }
    return -1;
}

static void note_textures(Emu *e) {
    for (int i = 0; i < e->n_tex; i++) {
        TexSlot *slot = &e->tex[i];
        slot->is_constant = slot->live && !is_writable(e, &slot->t);
        slot->memory = slot->live ? memory_of(e, &slot->t) : -1;
    }
}

enum { WORKSPACE_BYTES = 256 };

bool emu_grid_barrier(Emu *e) {
    if (e->workspace == 0) e->workspace = emu_alloc(e, WORKSPACE_BYTES, "the grid's barrier", NULL);
    return e->workspace != 0;
}

/* Where a cooperative launch may have more blocks than fit, ptxas says how many do. */
static void fit_cooperative(Machine *m, double blocks) {
    int most = emu_registers_most(m->entry->registers);
    int sure = cost_resident(m->model, m->threads, most, m->shared_bytes);
    if (blocks <= sure * m->model->sms) return;
    int known = assembled_registers(m->mod, m->entry);
    if (known)
        m->resident = (int64_t)(cost_resident(m->model, m->threads, known, m->shared_bytes) *
                                m->model->sms);
}

/* What the blocks of a cooperative launch meet at (cooperative groups look for its address in
** %envreg1 and 2): its size, then a counter that begins at zero. */
static bool begin_cooperation(Machine *m) {
    Emu *e = m->emu;
    const unsigned *g = m->launch->grid;
    double blocks = (double)g[0] * g[1] * g[2];
    fit_cooperative(m, blocks);
    if (blocks > (double)m->resident)
        return refuse(m, EMU_CAUSE_COOPERATIVE,
                      "a cooperative launch of %.0f blocks; %lld can run at a time", blocks,
                      (long long)m->resident);
    Alloc *a = emu_grid_barrier(e) ? alloc_of(e, e->workspace) : NULL;
    if (a == NULL)
        return fault_raise(m, NULL, NULL, ALL_LANES, EMU_OUT_OF_MEMORY,
                           "no host memory for a launch");
    a->is_variable = true; /* nobody's to free */
    memset(a->data, 0, WORKSPACE_BYTES);
    return true;
}

void launch_grid(Machine *m) {
    const unsigned *g = m->launch->grid;
    bool spills;
    if (!check_geometry(m) || !check_clusters(m) || !check_bounds(m) || !check_memory(m) ||
        !check_registers(m))
        return;
    int resident = give_registers(m, &spills);
    if (resident < 1) {
        refuse(m, EMU_CAUSE_RESOURCES,
               "a block of %d threads, %d registers a thread and %u bytes of shared memory does "
               "not fit on an SM",
               m->threads, m->result->registers, m->shared_bytes);
        return;
    }
    m->result->shared_bytes = m->shared_bytes;
    m->resident = resident * (int64_t)(m->model->sms >= 1 ? m->model->sms : 1);
    if (m->cluster_size > m->resident) {
        refuse(m, EMU_CAUSE_CLUSTER, "a cluster of %d blocks; %lld can run at a time",
               m->cluster_size, (long long)m->resident);
        return;
    }
    if (m->launch->cooperative && !begin_cooperation(m)) return;
    double warps = m->model->max_threads_per_sm / LANES;
    m->result->occupancy = warps > 0 ? resident * m->n_warps / warps : 0;
    if (m->result->occupancy > 1) m->result->occupancy = 1;
    if (machine_open(m)) {
        m->shadow = shadow_new(m);
        m->follows = m->shadow && m->launch->count_uninitialised && !m->launch->exact;
        note_textures(m->emu);
        cost_begin(m, resident, (uint64_t)g[0] * g[1] * g[2]);
        if (native_runs(m)) native_compile(m->mod);
        if (m->launch->profile && m->depth == 0) profile_begin(m);
        turns_run(m);
        if (spills) cost_spill(m, resident);
        cost_finish(m, resident);
        if (m->profile) profile_end(m, resident);
    }
    threads_free(m);
    shadow_free(m);
    machine_close(m);
}

/* All but the room for findings, which are set as they are made. */
static void clear_result(EmuResult *r) {
    memset(r, 0, offsetof(EmuResult, meets));
    r->meets.n = 0;
    r->meets.is_whole = false; /* but where it is watched */
    r->faults.n = r->warnings.n = 0;
    r->faults.left_out = r->warnings.left_out = 0;
}

static bool is_refused; /* in this process, for good */

void emu_refuse_launches(void) {
    is_refused = true;
}

bool emu_launch(EmuModule *mod, const EmuLaunch *launch, EmuResult *out, gi_err *err) {
    if (is_refused)
        return gi_fail(err, "usage",
                       "kernel %s is not run in gilua's own process, which has no box around it: a "
                       "command launches in workers alone; launch from a script of your own (gilua "
                       "SCRIPT.lua)",
                       launch->kernel);
    Code *entry = module_entry(mod, launch->kernel, err);
    if (entry == NULL) return false;
    size_t param_bytes = module_param_bytes(entry);
    if (param_bytes && launch->params == NULL)
        return gi_fail(err, "usage", "kernel %s needs %zu bytes of parameters and was given none",
                       launch->kernel, param_bytes);
    if (launch->max_faults < 0 || launch->max_faults > EMU_FINDINGS)
        return gi_fail(err, "usage", "a launch reports at most %d faults, not %d",
                       EMU_FINDINGS, launch->max_faults);
    clear_result(out);
    Machine m = {.emu = mod->emu,
                 .mod = mod,
                 .entry = entry,
                 .launch = launch,
                 .model = &mod->emu->model,
                 .result = out,
                 .params = launch->params,
                 .param_bytes = param_bytes,
                 .serial = 1};
    uint64_t budget = launch->budget ? launch->budget : EMU_BUDGET;
    m.budget = budget < (uint64_t)1 << 62 ? (int64_t)budget : (int64_t)1 << 62;
    origins_begin(&m);
    if (launch->exact) exact_begin(launch->exact, &m);
    for (int i = 0; i < mod->emu->n_list; i++) alloc_unused(&mod->emu->alloc[mod->emu->list[i]]);
    launch_grid(&m);
    nested_finish(&m);
    if (launch->exact) exact_end(launch->exact, out);
    origins_end(&m);
    out->heap_objects = m.emu->heap_objects;
    out->heap_bytes = m.emu->heap_bytes;
    if (out->nested) out->meets.is_whole = false;
    return true;
}
