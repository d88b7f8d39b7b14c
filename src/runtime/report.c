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

/* Is it reported already? An instruction of a kernel is reported once, and a text of the host. */
static bool is_same(const ReportFinding *f, const ReportFinding *g) {
    if (strcmp(f->kind, g->kind) != 0 || strcmp(f->kernel, g->kernel) != 0) return false;
    return f->ptx_line ? f->ptx_line == g->ptx_line : strcmp(f->text, g->text) == 0;
}

/* What is left open and GPUs do: lua/gilua/report/programrun.lua counts the same apart. */
static bool is_warning(const char *kind) {
    return strcmp(kind, emu_warning_name(EMU_WARN_SHUFFLE)) == 0 ||
           strcmp(kind, emu_warning_name(EMU_WARN_LEFT)) == 0 ||
           strcmp(kind, emu_warning_name(EMU_WARN_BENIGN_RACE)) == 0;
}

static void add_finding(const ReportFinding *f) {
    for (uint32_t i = 0; i < report->n_findings; i++)
        if (is_same(&report->findings[i], f)) {
            report->findings[i].count += f->count;
            return;
        }
    if (report->n_findings == REPORT_FINDINGS) {
        report->findings_left_out += f->count;
        return;
    }
    report->findings[report->n_findings++] = *f;
    if (strcmp(f->kind, emu_warning_name(EMU_WARN_BENIGN_RACE)) == 0) return; /* in the file alone */
    say("%s%s", is_warning(f->kind) ? "warning: " : "", f->text);
}

void report_finding(const char *kind, const char *fmt, ...) {
    ReportFinding f = {.count = 1};
    va_list args;
    va_start(args, fmt);
    vsnprintf(f.text, sizeof f.text, fmt, args);
    va_end(args);
    snprintf(f.kind, sizeof f.kind, "%s", kind);
    add_finding(&f);
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
