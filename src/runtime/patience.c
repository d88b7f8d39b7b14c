/* patience.c - a thread that looks at the launch that runs now and then. See patience.h. */
#include "runtime/patience.h"

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
} now; /* under the lock */

static time_t seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void look(void) {
    static char told[NAME];
    if (!now.runs || seconds() - now.began < (time_t)runtime.config.patience) return;
    if (strcmp(told, now.kernel) == 0) return;
    snprintf(told, sizeof told, "%s", now.kernel);
    say("kernel %s has been running for %llu s (%u x %u x %u blocks of %u x %u x %u threads); if "
        "it waits for the host to write something, it waits for ever: the host waits for it",
        now.kernel, (unsigned long long)runtime.config.patience, now.grid[0], now.grid[1],
        now.grid[2], now.block[0], now.block[1], now.block[2]);
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

void patience_begin(const OpLaunch *l) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (runtime.config.patience == 0) return;
    pthread_once(&once, start);
    pthread_mutex_lock(&lock);
    snprintf(now.kernel, sizeof now.kernel, "%s", l->kernel->shown);
    memcpy(now.grid, l->grid, sizeof now.grid);
    memcpy(now.block, l->block, sizeof now.block);
    now.began = seconds();
    now.runs = true;
    pthread_mutex_unlock(&lock);
}

void patience_end(void) {
    pthread_mutex_lock(&lock);
    now.runs = false;
    pthread_mutex_unlock(&lock);
}
