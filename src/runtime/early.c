/* early.c - see early.h. The signal's handler knows ranges of pages and nothing else; what it notes
** is reported by the next call. */
#include "runtime/early.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "runtime/place.h"

enum { MOST_RANGES = 256, MOST_TOUCHES = 64 };

/* Those beyond n were closed once: another thread's signal may have been on its way. */
static struct { _Atomic uintptr_t from, to; } ranges[MOST_RANGES];
static int n;

static struct {
    uintptr_t address;
    void *code; /* of the access */
    bool writes;
} touches[MOST_TOUCHES];
static atomic_int n_touches;
static struct sigaction before; /* the program's own handler */

static bool set(uintptr_t from, uintptr_t to, int access) {
    return mprotect((void *)from, to - from, access) == 0; // NOLINT
}

/* --- the signal --- */

static void note(uintptr_t address, const ucontext_t *at) {
    int i = atomic_fetch_add(&n_touches, 1);
    if (i >= MOST_TOUCHES) return;
    touches[i].address = address;
#if defined(__x86_64__)
    touches[i].code = (void *)(uintptr_t)at->uc_mcontext.gregs[REG_RIP]; // NOLINT
    touches[i].writes = at->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)at;
#endif
}

static bool open_around(uintptr_t address, const ucontext_t *at) {
    for (int i = 0; i < MOST_RANGES; i++) {
        uintptr_t from = ranges[i].from, to = ranges[i].to;
        if (address < from || address >= to) continue;
        if (!set(from, to, PROT_READ | PROT_WRITE)) return false;
        note(address, at);
        return true;
    }
    return false;
}

/* What is not ours is the program's: its handler, or its end at the same instruction. */
static void handle(int signal, siginfo_t *info, void *context) {
    if (open_around((uintptr_t)info->si_addr, context)) return;
    if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(signal, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signal);
    else sigaction(signal, &before, NULL);
}

/* The program may have set its own since. */
static void install(void) {
    struct sigaction now, ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGSEGV, NULL, &now) != 0) return;
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handle) return;
    before = now;
    sigaction(SIGSEGV, &ours, NULL);
}

/* --- calls --- */

static void tell(void) {
    int most = atomic_exchange(&n_touches, 0);
    for (int i = 0; i < most && i < MOST_TOUCHES; i++) {
        Place at = place_at(touches[i].code);
        happens_touched(touches[i].address, touches[i].writes, &at);
    }
}

void early_open(void) {
    while (n > 0) {
        n--;
        set(ranges[n].from, ranges[n].to, PROT_READ | PROT_WRITE);
    }
    if (n_touches) tell();
}

static void close_pages(uintptr_t from, uintptr_t to) {
    if (n == MOST_RANGES) return;
    if (n == 0) install();
    ranges[n].from = from;
    ranges[n].to = to;
    n++;
    set(from, to, PROT_NONE);
}

void early_close(void) {
    happens_written(close_pages);
}
