/* state.c - the library's state: its start, the lock around every call, last errors. See runtime.h.
 */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/link.h"
#include "runtime/early.h"
#include "runtime/recorder.h"
#include "runtime/driver.h"
#include "runtime/report.h"

Runtime runtime;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static bool is_child; /* forked from a process that had begun: CUDA does not survive that */

typedef struct Thread {
    const char *name;    /* of the call that runs */
    const char *alias;   /* the driver's name under which it was called; NULL */
    CudaError hindrance; /* why it cannot do anything */
    CudaError last;
    uint32_t number;   /* from 1; 0: nobody has asked for it */
    uint64_t findings; /* of the host, when the call began */
    char why[400];     /* it fails; "" */
} Thread;
static _Thread_local Thread thread;

/* --- speaking --- */

void say(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    gi_speak(fmt, args);
    va_end(args);
}

void refuse(const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    gi_speak(fmt, args);
    report_refusal(fmt, again);
    va_end(again);
    va_end(args);
    _exit(RUN_REFUSED);
}

/* --- start --- */

/* What nvJitLink calls is no call of the program's. */
static int asked(int (*ask)(const char *, size_t, const char *), const char *ptx, size_t len,
                 const char *name) {
    Thread before = thread;
    runtime.is_assembling = true;
    int n = ask(ptx, len, name);
    runtime.is_assembling = false;
    thread = before;
    return n;
}

static int registers_of(const char *ptx, size_t len, const char *kernel) {
    return asked(link_registers, ptx, len, kernel);
}

static int frame_of(const char *ptx, size_t len, const char *function) {
    return asked(link_frame, ptx, len, function);
}

static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
}

static void in_child(void) {
    is_child = runtime.emu != NULL;
    if (is_child) report_leave(), recorder_leave();
    lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* it was the parent's */
}

static void start(const char *name) {
    const char *folder = getenv("GILUA_RUN");
    gi_err err = {0};
    if (folder == NULL)
        refuse("this is gilua's CUDA library, and nobody told it what to do: start the program "
               "with `gilua run -- PROGRAM`");
    if (!config_read(folder, &runtime.config, &err)) refuse("%s", err.message);
    if (!report_open(folder, &err)) refuse("%s", err.message);
    pthread_atfork(before_fork, after_fork, in_child);
    runtime.emu = emu_new(&runtime.config.model);
    emu_assembler((EmuAssembler){registers_of, frame_of});
    if (strcmp(name, "cuInit") != 0) driver_begun();
    if (runtime.config.record[0] && !recorder_open(runtime.config.record, &err))
        refuse("%s", err.message);
}

/* --- calls --- */

/* Calls that run, one in another: functions of the host's in streams call, too. */
static int depth;

void call_lock(const char *name) {
    pthread_mutex_lock(&lock);
    thread.name = name;
    if (depth++ == 0 && runtime.config.streams) early_open();
}

CudaError call_unlock(CudaError e) {
    if (--depth == 0 && runtime.config.streams) early_close();
    pthread_mutex_unlock(&lock);
    return e;
}

bool call_begin(const char *name) {
    call_lock(name);
    if (runtime.emu == NULL) start(name);
    thread.hindrance = is_child ? cudaErrorInitializationError : runtime.fault;
    thread.findings = report_made();
    thread.why[0] = '\0';
    return thread.hindrance == cudaSuccess;
}

void call_alias(const char *name) {
    thread.alias = name;
}

CudaError failed(CudaError e, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(thread.why, sizeof thread.why, fmt, args);
    va_end(args);
    return e;
}

/* Returns "cuMemAlloc" for "cuMemAlloc_v2"; NULL if it is not a function of the driver. */
static const char *driver_call(char out[64]) {
    const char *name = thread.alias ? thread.alias : thread.name;
    if (strncmp(name, "cuda", 4) == 0 || strncmp(name, "cu", 2) != 0) return NULL;
    snprintf(out, 64, "%.*s", (int)strcspn(name, "_"), name);
    return out;
}

/* Was it told already, or is it no error that a program could look at? */
static bool is_told(CudaError e) {
    return !runtime.config.api_errors || runtime.is_assembling || runtime.fault ||
           e == cudaErrorNotReady || report_made() != thread.findings;
}

static void note_error(CudaError e, const char *driver) {
    if (is_told(e)) return;
    const Place *at = place_of_call();
    if (at->may_use) return;
    int code = driver ? driver_code(e) : (int)e;
    const char *name = driver ? driver_error_name(code) : error_name(code);
    report_unread(code, call_thread(), at,
                  "%s failed with %s (%s)%s%s, and the program does not look at the error",
                  driver ? driver : thread.name, name ? name : "an unknown error", error_text(code),
                  thread.why[0] ? ": " : "", thread.why);
}

CudaError call_end(CudaError e) {
    char name[64];
    const char *driver = driver_call(name);
    if (thread.hindrance) e = thread.hindrance;
    else if (e) note_error(e, driver);
    if (e && driver == NULL) thread.last = e; /* the driver's functions do not set it */
    thread.alias = NULL;
    return call_unlock(e);
}

uint32_t call_thread(void) {
    static uint32_t numbers;
    if (thread.number == 0) thread.number = ++numbers;
    return thread.number;
}

const char *call_name(void) {
    return thread.name;
}

void error_read(int code) {
    pthread_mutex_lock(&lock);
    report_read(code, 0);
    pthread_mutex_unlock(&lock);
}

CudaError error_last(bool forget) {
    CudaError e = thread.last;
    if (e) report_read((int)e, call_thread());
    if (forget && (runtime.fault == cudaSuccess || e != runtime.fault)) thread.last = cudaSuccess;
    return e;
}
