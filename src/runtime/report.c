/* report.c - the report of one process. See report.h. */
#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/runtime.h"

static Report nowhere;
Report *report = &nowhere;

bool report_open(const char *folder, gi_err *err) {
    char path[600];
    snprintf(path, sizeof path, "%s/%d.report", folder, (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(Report)) != 0) {
        gi_fail(err, "io", "cannot write %s: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return false;
    }
    void *at = mmap(NULL, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return gi_fail(err, "io", "cannot map %s: %s", path, strerror(errno));
    report = at;
    snprintf(report->magic, sizeof report->magic, "%s", REPORT_MAGIC);
    report->kernel_bytes = sizeof(ReportKernel);
    report->finding_bytes = sizeof(ReportFinding);
    return true;
}

void report_leave(void) {
    report = &nowhere;
}

void report_refusal(const char *fmt, va_list args) {
    report->refused = 1;
    vsnprintf(report->refusal, sizeof report->refusal, fmt, args);
}

void report_missing(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(report->missing, sizeof report->missing, fmt, args);
    va_end(args);
}

/* Is it reported already? An instruction of a kernel is reported once, and a text of the host. */
static bool is_same(const ReportFinding *f, const ReportFinding *g) {
    if (strcmp(f->kind, g->kind) != 0 || strcmp(f->kernel, g->kernel) != 0) return false;
    if (f->error != g->error || f->thread_number != g->thread_number) return false;
    return f->ptx_line ? f->ptx_line == g->ptx_line : strcmp(f->text, g->text) == 0;
}

/* What is left open and GPUs do: lua/gilua/report/programrun.lua counts the same apart. */
static bool is_warning(const char *kind) {
    return strcmp(kind, emu_warning_name(EMU_WARN_SHUFFLE)) == 0 ||
           strcmp(kind, emu_warning_name(EMU_WARN_LEFT)) == 0 ||
           strcmp(kind, emu_warning_name(EMU_WARN_BARRIERS)) == 0 ||
           strcmp(kind, emu_warning_name(EMU_WARN_BENIGN_RACE)) == 0;
}

/* Benign races stand in the file alone. */
static void tell(const ReportFinding *f) {
    if (strcmp(f->kind, emu_warning_name(EMU_WARN_BENIGN_RACE)) == 0) return;
    say("%s%s", is_warning(f->kind) ? "warning: " : "", f->text);
}

/* A row for it; NULL where it is counted with others, or there is none. */
static ReportFinding *row_for(const ReportFinding *f) {
    ReportFinding *free_row = NULL;
    for (uint32_t i = 0; i < report->n_findings; i++) {
        ReportFinding *at = &report->findings[i];
        if (at->count == 0) free_row = at;
        else if (is_same(at, f)) return at->count += f->count, NULL;
    }
    if (free_row) return free_row;
    if (report->n_findings < REPORT_FINDINGS) return &report->findings[report->n_findings++];
    report->findings_left_out += f->count;
    return NULL;
}

static void add_finding(const ReportFinding *f) {
    ReportFinding *row = row_for(f);
    if (row == NULL) return;
    *row = *f;
    if (f->error == 0) tell(f);
}

static uint64_t made;

uint64_t report_made(void) {
    return made;
}

static void add_of_host(ReportFinding *f, const char *kind, const Place *at, const char *fmt,
                        va_list args) {
    int n = vsnprintf(f->text, sizeof f->text, fmt, args);
    snprintf(f->kind, sizeof f->kind, "%s", kind);
    if (at && n < (int)sizeof f->text)
        snprintf(f->text + n, sizeof f->text - (size_t)n, "; %s", at->text);
    if (at) f->line = at->line;
    f->count = 1;
    made++;
    add_finding(f);
}

void report_finding(const char *kind, const Place *at, const char *fmt, ...) {
    ReportFinding f = {0};
    va_list args;
    va_start(args, fmt);
    add_of_host(&f, kind, at, fmt, args);
    va_end(args);
}

void report_unread(int error, uint32_t thread, const Place *at, const char *fmt, ...) {
    ReportFinding f = {.error = error, .thread_number = thread};
    va_list args;
    va_start(args, fmt);
    add_of_host(&f, "api_error", at, fmt, args);
    va_end(args);
}

void report_read(int error, uint32_t thread) {
    for (uint32_t i = 0; error && i < report->n_findings; i++) {
        ReportFinding *f = &report->findings[i];
        if (f->error == error && (thread == 0 || f->thread_number == thread)) f->count = 0;
    }
}

void report_tell_unread(void) {
    for (uint32_t i = 0; i < report->n_findings; i++) {
        ReportFinding *f = &report->findings[i];
        if (f->error == 0 || f->count == 0) continue;
        f->error = 0; /* `gilua run` need not tell it */
        tell(f);
    }
}

/* The message with the name that a person wrote in place of the one that the linker knows. */
static void put_text(ReportFinding *f, const char *message, const char *symbol) {
    const char *at = strstr(message, symbol);
    if (at == NULL) snprintf(f->text, sizeof f->text, "%s", message);
    else
        snprintf(f->text, sizeof f->text, "%.*s%s%s", (int)(at - message), message, f->kernel,
                 at + strlen(symbol));
}

void report_kernel_finding(const char *symbol, const char *kernel, const EmuFinding *found) {
    ReportFinding f = {.line = found->src_line, .ptx_line = found->ptx_line, .count = found->count};
    snprintf(f.kind, sizeof f.kind, "%s", found->kind);
    snprintf(f.kernel, sizeof f.kernel, "%s", kernel);
    put_text(&f, found->message, symbol);
    memcpy(f.block, found->block, sizeof f.block);
    memcpy(f.thread, found->thread, sizeof f.thread);
    add_finding(&f);
}

ReportKernel *report_kernel(const char *name) {
    for (uint32_t i = 0; i < report->n_kernels; i++)
        if (strncmp(report->kernels[i].name, name, REPORT_NAME - 1) == 0)
            return &report->kernels[i];
    if (report->n_kernels == REPORT_KERNELS) return &report->kernels[REPORT_KERNELS - 1];
    ReportKernel *k = &report->kernels[report->n_kernels++];
    snprintf(k->name, sizeof k->name, "%s", name);
    return k;
}
