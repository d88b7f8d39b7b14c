/* state.c - the library's state: its start, the lock around every call, last errors. See runtime.h.
 */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/recorder.h"
#include "runtime/driver.h"
#include "runtime/report.h"

Runtime runtime;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static bool is_child; /* forked from a process that had begun: CUDA does not survive that */

static _Thread_local struct {
    const char *name;    /* of the call that runs */
    CudaError hindrance; /* why it cannot do anything */
    CudaError last;
} thread;

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
    if (strcmp(name, "cuInit") != 0) driver_begun();
    if (runtime.config.record[0] && !recorder_open(runtime.config.record, &err))
        refuse("%s", err.message);
}

/* --- calls --- */

void call_lock(const char *name) {
    pthread_mutex_lock(&lock);
    thread.name = name;
}

CudaError call_unlock(CudaError e) {
    pthread_mutex_unlock(&lock);
    return e;
}

bool call_begin(const char *name) {
    call_lock(name);
    if (runtime.emu == NULL) start(name);
    thread.hindrance = is_child ? cudaErrorInitializationError : runtime.fault;
    return thread.hindrance == cudaSuccess;
}

CudaError call_end(CudaError e) {
    if (thread.hindrance) e = thread.hindrance;
    if (e) thread.last = e;
    return call_unlock(e);
}

const char *call_name(void) {
    return thread.name;
}

CudaError error_last(bool forget) {
    CudaError e = thread.last;
    if (forget && (runtime.fault == cudaSuccess || e != runtime.fault)) thread.last = cudaSuccess;
    return e;
}
