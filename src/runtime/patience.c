/* patience.c - a thread that looks at the launch that runs now and then. See patience.h. */
#include "runtime/patience.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/module.h"

enum { NAME = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool runs;
    char kernel[NAME];
    unsigned grid[3], block[3];
    time_t began;
} now;                        /* under the lock */
static _Atomic uint64_t done; /* blocks of it */

static time_t seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void say_progress(uint64_t blocks, uint64_t ended, uint64_t s) {
    const double share = (double)ended / (double)blocks;
    say("kernel %s has been running for %llu s: %llu of %llu blocks (%.1f %%) are done; at this "
        "rate it takes %.0f s more",
        now.kernel, (unsigned long long)s, (unsigned long long)ended, (unsigned long long)blocks,
        100 * share, ceil((double)s * (1 - share) / share));
}

static void say_waits(uint64_t s) {
    say("kernel %s has been running for %llu s, and none of its %u x %u x %u blocks of %u x %u x "
        "%u threads has ended; if it waits for the host to write something, it waits for ever: "
        "the host waits for it",
        now.kernel, (unsigned long long)s, now.grid[0], now.grid[1], now.grid[2], now.block[0],
        now.block[1], now.block[2]);
}

static void look(void) {
    static char told[NAME];
    static time_t next; /* when this kernel is told of again */
    const time_t s = now.runs ? seconds() - now.began : 0;
    const time_t wait = strcmp(told, now.kernel) == 0 ? next : (time_t)runtime.config.patience;
    if (!now.runs || s < wait) return;
    snprintf(told, sizeof told, "%s", now.kernel);
    next = 2 * s;
    const uint64_t blocks = (uint64_t)now.grid[0] * now.grid[1] * now.grid[2], ended = done;
    if (ended) say_progress(blocks, ended, (uint64_t)s);
    else say_waits((uint64_t)s);
}

static void *watch(void *unused) {
    const struct timespec pause = {.tv_sec = 1};
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&lock);
        look();
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

/* Signals are for the program's own threads. */
static void start(void) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

_Atomic uint64_t *patience_begin(const OpLaunch *l) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (runtime.config.patience == 0) return NULL;
    pthread_once(&once, start);
    pthread_mutex_lock(&lock);
    snprintf(now.kernel, sizeof now.kernel, "%s", l->kernel->shown);
    memcpy(now.grid, l->grid, sizeof now.grid);
    memcpy(now.block, l->block, sizeof now.block);
    now.began = seconds();
    now.runs = true;
    done = 0;
    pthread_mutex_unlock(&lock);
    return &done;
}

void patience_end(void) {
    pthread_mutex_lock(&lock);
    now.runs = false;
    pthread_mutex_unlock(&lock);
}
