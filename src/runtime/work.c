/* work.c - work of the stand-ins of closed libraries (runtime/work.h): an op whose function the
** host runs, with the checks and the modelled time of a kernel that does the same. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/copy.h"
#include "runtime/happens.h"
#include "runtime/observe.h"
#include "runtime/reorder.h"
#include "runtime/report.h"
#include "runtime/work.h"

/* --- the memory that it uses --- */

static struct {
    Stream *stream; /* NULL: none runs */
    const Op *op;
    double bytes;
    gi_buf written; /* ops that copy what it wrote from the host, for observers */
} now;

static void check_read(uint64_t address, size_t width) {
    memory_read(address, width, "is computed with");
    reorder_read(address, width);
}

static void note_rows(uint64_t address, size_t width, size_t pitch, size_t height, unsigned how) {
    Side side = {.address = address, .row = pitch, .rows = height};
    for (unsigned writes = 0; writes < 2; writes++)
        if (how & (writes ? WORK_WRITES : WORK_READS))
            happens_side(now.stream, now.op, &side, width, height, writes);
}

static void note_written(uint64_t address, uint8_t *at, size_t width, size_t pitch, size_t height) {
    if (!is_observed()) return;
    Op copy = copy_op((Side){.address = address, .row = pitch, .rows = height},
                      side_of(at, pitch, height), (CudaExtent){width, height, 1},
                      cudaMemcpyHostToDevice, true);
    gi_buf_add(&now.written, (const char *)&copy, sizeof copy);
}

/* Tells of memory that a GPU does not reach: the host's, which CUDA has not made. */
static bool is_of_host(uint64_t address, const Region *r, WorkAccess access) {
    if (r || address >= MEMORY_HOST_END) return false;
    report_finding("invalid_copy", place_of_call(), "%s %s memory of the host at 0x%llx",
                   call_name(), access & WORK_WRITES ? "writes" : "reads",
                   (unsigned long long)address);
    return true;
}

/* r: NULL for a variable of a module. */
static void wrote(Region *r, uint64_t address, size_t n) {
    if (r) memory_wrote(r, address, n);
    else emu_wrote(runtime.emu, address, n), memory_changed();
}

void *gilua_work_memory(const void *device, size_t width, size_t pitch, size_t height,
                        WorkAccess access) {
    static uint8_t nothing;
    uint64_t address = (uint64_t)(uintptr_t)device;
    Region *r;
    if (width == 0 || height == 0) return &nothing;
    if (pitch == width) width *= height, height = 1;
    uint8_t *at = memory_bytes(address, (height - 1) * pitch + width,
                               access & WORK_WRITES ? "writes" : "reads", &r);
    if (at == NULL || is_of_host(address, r, access)) return NULL;
    if (r) contents_settle(&r->contents);
    now.bytes += (double)width * (double)height * (access == WORK_UPDATES ? 2 : 1);
    note_rows(address, width, pitch, height, access);
    for (size_t k = 0; k < height; k++) {
        if (access & WORK_READS) check_read(address + k * pitch, width);
        if (!(access & WORK_WRITES)) continue;
        wrote(r, address + k * pitch, width);
        reorder_wrote(address + k * pitch, width, 0);
    }
    if (access & WORK_WRITES) note_written(address, at, width, pitch, height);
    return at;
}

void gilua_work_wrong(const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report_finding("invalid_copy", place_of_call(), "%s: %s", call_name(), text);
}

/* --- its time --- */

/* By the GPU's roofline: the operations of its plain units, the bytes of its memory. */
static double time_of(const OpWork *w, ReportKernel *row) {
    const EmuModel *g = &runtime.config.model;
    double rate = w->is_double ? g->rate_fp64 : g->rate_fp32;
    double compute = w->operations / (2 * 32 * rate * (double)g->sms),
           memory = now.bytes / g->dram_bytes_per_clock;
    double ticks = g->launch_ticks + (compute > memory ? compute : memory);
    row->launches++;
    row->ticks += ticks, row->ns += ticks / g->clock_ghz;
    row->issue += compute, row->memory += memory;
    row->global_bytes += (uint64_t)now.bytes;
    return ticks / g->clock_ghz;
}

CudaError work_run(Stream *s, const Op *op, double *ns) {
    const OpWork *w = &op->work;
    now.stream = s, now.op = op, now.bytes = 0;
    gi_buf_clear(&now.written);
    bool ran = w->run(w->args);
    for (size_t at = 0; ran && at < now.written.len; at += sizeof(Op)) {
        Op copy;
        memcpy(&copy, now.written.data + at, sizeof copy);
        observed_op(s, &copy, cudaSuccess, 0);
    }
    *ns = time_of(w, report_kernel(w->name));
    now.stream = NULL;
    return ran ? cudaSuccess : cudaErrorIllegalAddress;
}

/* --- for stand-ins --- */

static CudaError submit(void *stream, const Work *w) {
    Op op = {.kind = OP_WORK,
             .is_async = !w->waits,
             .work = {w->name, w->run, (void *)w->args, w->size, w->operations, w->is_double}};
    return op_submit(stream, &op);
}

int gilua_work(void *stream, const Work *w) {
    return call_end(call_begin(w->name) ? submit(stream, w) : cudaErrorUnknown);
}

void gilua_work_missing(const char *why) {
    if (call_begin(__func__)) report_missing("%s", why);
    call_end(cudaSuccess);
}

void gilua_work_unsupported(const char *name, const char *returns, bool *told) {
    if (call_begin(name)) {
        if (!*told) say("%s is not supported: it returns %s", name, returns);
        *told = true;
        report_missing("%s is not supported on the virtual GPU", name);
    }
    call_end(cudaSuccess);
}
