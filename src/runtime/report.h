/* report.h - what one process leaves for `gilua run`: a file PID.report in its folder, mapped, so
** that it is whole however the process ends. lua/gilua/command/runreport.lua reads it: the structs
** here are its format, little-endian, as this machine lays them out.
*/
#ifndef GILUA_RUNTIME_REPORT_H
#define GILUA_RUNTIME_REPORT_H

#include <stdarg.h>

#include "base/base.h"
#include "emu/emu.h"
#include "runtime/place.h"

#define REPORT_MAGIC "gilua run 1"
enum { REPORT_KERNELS = 4096, REPORT_FINDINGS = 256, REPORT_NAME = 1000 };

typedef struct ReportKernel {
    char name[REPORT_NAME]; /* as a person wrote it, where that can be found out */
    uint64_t launches, skipped;
    double ticks, ns;       /* of all launches */
    uint64_t warp_instructions, lane_instructions;
    uint64_t global_bytes;  /* sectors read and written, in bytes */
    uint64_t blocks;
    double occupancy;       /* the sum over launches of each one's, times its ticks */
    double issue, latency, memory; /* the model's terms, in ticks: what bounds it */
    double seconds;         /* of processor time here */
    uint64_t registers, shared_bytes; /* the most */
} ReportKernel;

typedef struct ReportFinding {
    char kind[32];
    char text[1000];
    char kernel[256];
    int32_t line, ptx_line; /* 0: none */
    uint32_t block[3], thread[3];
    int32_t error;          /* of a call, as long as the program has not read it; else 0 */
    uint32_t thread_number; /* that made the call */
    uint64_t count;         /* 0: the row is free */
} ReportFinding;

typedef struct Report {
    char magic[16];
    uint32_t kernel_bytes, finding_bytes;
    uint32_t n_kernels, n_findings;
    uint64_t findings_left_out;
    uint64_t allocations, peak_bytes, left_allocations, left_bytes; /* device memory */
    uint64_t to_device_bytes, to_host_bytes, on_device_bytes;       /* copied */
    double device_ns;       /* the modelled time at which the last work ended */
    double skipped_ns;      /* of it: launches that were not run again, because they changed nothing
                               and would again */
    double capped_ns;       /* … because of --repeats */
    uint64_t capped;        /* launches */
    int32_t ended;          /* 1: the process came to its end */
    int32_t refused;        /* 1: it was ended by the library */
    char refusal[1000];
    char missing[200];      /* why a library's results are missing; "": none are */
    ReportFinding findings[REPORT_FINDINGS];
    ReportKernel kernels[REPORT_KERNELS];
} Report;

/* The process's; somewhere harmless before report_open and after report_leave. */
extern Report *report;

bool report_open(const char *folder, gi_err *err);
void report_leave(void); /* a forked child has no part in its parent's */
void report_refusal(const char *fmt, va_list args);
/* Notes why what a library should have computed is missing. */
void report_missing(const char *fmt, ...) GI_PRINTF(1, 2);

/* A finding, said to the user at once and kept: of what the host did there (at may be NULL); of
** what a kernel did, by its symbol and by the name for people. */
void report_finding(const char *kind, const Place *at, const char *fmt, ...) GI_PRINTF(3, 4);
uint64_t report_made(void); /* findings of the host ever, counted each time */
void report_kernel_finding(const char *symbol, const char *kernel, const EmuFinding *f);

/* A call failed, and the program has not read its error. It is reported at the end, here or by
** `gilua run`, unless the program reads it before: as its thread's last error, or by asking for its
** name or text (thread 0: any). */
void report_unread(int error, uint32_t thread, const Place *at, const char *fmt, ...)
    GI_PRINTF(4, 5);
void report_read(int error, uint32_t thread);
void report_tell_unread(void);

/* The row of a kernel, made at its first launch; names beyond the table's end share the last. */
ReportKernel *report_kernel(const char *name);

#endif
