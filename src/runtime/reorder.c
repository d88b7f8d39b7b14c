/* reorder.c - see reorder.h. The child is a fork: the memory of both is one until either writes to
** it. It sends what it has of the allocations that either of the two launches wrote. */
#include "runtime/reorder.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/module.h"
#include "runtime/report.h"

/* What a region would hold, had the threads run in another order. */
struct Other {
    uint8_t *bytes;
    EmuFinding cause; /* the kernel that made the difference; no message yet */
    char kernel[256], file[256];
    bool told;
};

typedef struct Child {
    pid_t pid;
    int socket; /* to it; in it, to its parent */
} Child;

enum { LEAST_PATIENCE_S = 10, MOST_TIMES = 20, MOST_ORDERS = 4 };

struct ReorderRun {
    const OpLaunch *l;
    EmuOrder of;
    double began;
    Child child[MOST_ORDERS]; /* one an order; all but the first wait for a message */
    int n;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- sockets --- */

static bool send_all(int to, const void *bytes, size_t n) {
    const uint8_t *at = bytes;
    while (n > 0) {
        ssize_t done = send(to, at, n, MSG_NOSIGNAL); /* it may have ended */
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        at += done, n -= (size_t)done;
    }
    return true;
}

/* Until a time; false: it came too late, or not at all. */
static bool take_all(int from, void *bytes, size_t n, double until) {
    uint8_t *at = bytes;
    while (n > 0) {
        struct pollfd p = {.fd = from, .events = POLLIN};
        double left = until - now();
        if (left <= 0 || poll(&p, 1, left < 1000 ? (int)(left * 1000) + 1 : 1000000) <= 0)
            return false;
        ssize_t done = read(from, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        at += done, n -= (size_t)done;
    }
    return true;
}

/* --- the child --- */

typedef struct Answer { /* then the bytes */
    uint64_t address, size;
} Answer;

static void take_other(Region *r) {
    if (r->other) memcpy(r->contents.data, r->other->bytes, r->contents.size);
}

static bool send_region(int to, uint64_t address) {
    EmuAllocation a;
    if (!emu_find(runtime.emu, address, &a) || !a.is_live) return true;
    Answer answer = {a.address, a.size_bytes};
    return send_all(to, &answer, sizeof answer) && send_all(to, a.data, a.size_bytes);
}

static void send_both(const Child *c) {
    uint64_t *asked = NULL, address;
    unsigned reach;
    int n = 0, cap = 0;
    while (take_all(c->socket, &address, sizeof address, now() + 1e6) && address) {
        gi_grow(asked, n, cap);
        asked[n++] = address;
    }
    for (int i = 0; i < n; i++)
        if (!send_region(c->socket, asked[i])) return;
    for (int i = 0; (address = emu_reached(runtime.emu, i, &reach)) != 0; i++)
        if (reach & EMU_WRITTEN && !send_region(c->socket, address)) return;
}

/* Sends the status, waits for what the parent wrote, and sends what both have written. */
static void serve(const OpLaunch *l, const Child *c, int order, const EmuLaunch *launch) {
    EmuResult r;
    EmuLaunch how = *launch;
    gi_err err = {0};
    char go;
    how.backwards = true;
    how.shuffle = (uint32_t)order;
    how.threads = 1;
    how.print = NULL;
    how.count_uninitialised = false;
    how.check_races = EMU_RACES_NONE;
    if (order > 0 && !take_all(c->socket, &go, 1, now() + 1e6)) _exit(1);
    memory_each(take_other);
    memset(&r, 0, sizeof r);
    if (!emu_launch(l->kernel->module->emu, &how, &r, &err)) _exit(1);
    if (send_all(c->socket, &r.status, sizeof r.status) &&
        send_all(c->socket, r.message, sizeof r.message))
        send_both(c);
    _exit(0);
}

/* --- a launch --- */

/* Those begun before have the parent's ends of their sockets; a child that has them, too, would
** keep them open. */
static void begin_child(ReorderRun *run, const EmuLaunch *how) {
    int ends[2], order = run->n;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        refuse("--check order: no socket: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) refuse("--check order: no second process: %s", strerror(errno));
    if (pid == 0) {
        for (int i = 0; i < run->n; i++) close(run->child[i].socket);
        close(ends[0]);
        serve(run->l, &(Child){.socket = ends[1]}, order, how);
    }
    close(ends[1]);
    run->child[run->n++] = (Child){pid, ends[0]};
}

/* Sums of floats in two orders are equal by chance now and then: others are tried. */
ReorderRun *reorder_begin(const OpLaunch *l, const EmuLaunch *how) {
    if (!runtime.config.order) return NULL;
    ReorderRun *run = gi_alloc(sizeof *run);
    *run = (ReorderRun){
        .l = l, .began = now(), .of = emu_kernel_order(l->kernel->module->emu, l->kernel->name)};
    begin_child(run, how);
    while (run->of.rounds && run->n < MOST_ORDERS) begin_child(run, how);
    return run;
}

static void name_cause(const ReorderRun *run, struct Other *o) {
    o->cause = (EmuFinding){.kind = run->of.is_atomic ? "order of atomics" : "order of threads",
                            .count = 1,
                            .src_line = run->of.src_line};
    snprintf(o->kernel, sizeof o->kernel, "%s", run->l->kernel->name);
    snprintf(o->file, sizeof o->file, "%s", run->of.file ? run->of.file : "source");
}

/* The first of what the launch reached that differed before it: the difference is that one's. */
static const struct Other *cause_before(void) {
    unsigned reach;
    uint64_t address;
    for (int i = 0; (address = emu_reached(runtime.emu, i, &reach)) != 0; i++) {
        const Region *r = memory_find(address);
        if (r && r->other) return r->other;
    }
    return NULL;
}

void reorder_forget(struct Other *other) {
    if (other == NULL) return;
    free(other->bytes);
    free(other);
}

/* The bytes of the other order become the region's. */
static void compare(const ReorderRun *run, Region *r, uint8_t *bytes, const struct Other *before) {
    bool differs = memcmp(bytes, r->contents.data, r->contents.size) != 0;
    struct Other *o = differs ? gi_alloc(sizeof *o) : NULL;
    if (o && before) *o = *before;
    else if (o) name_cause(run, o);
    if (o) o->bytes = bytes, o->told = false;
    else free(bytes);
    r->next_other = o;
    r->has_next = true;
}

static void move_on(Region *r) {
    if (!r->has_next) return;
    reorder_forget(r->other);
    r->other = r->next_other;
    r->next_other = NULL;
    r->has_next = false;
}

static bool send_written(const Child *c) {
    uint64_t address, end = 0;
    unsigned reach;
    for (int i = 0; (address = emu_reached(runtime.emu, i, &reach)) != 0; i++)
        if (reach & EMU_WRITTEN && !send_all(c->socket, &address, sizeof address)) return false;
    return send_all(c->socket, &end, sizeof end);
}

static void forget_next(Region *r) {
    reorder_forget(r->next_other);
    r->next_other = NULL;
    r->has_next = false;
}

static void take_answers(const ReorderRun *run, const Child *c, double until, bool *differs) {
    const struct Other *before = cause_before();
    Answer a;
    while (take_all(c->socket, &a, sizeof a, until)) {
        uint8_t *bytes = gi_alloc(a.size);
        Region *r = memory_at(a.address);
        bool is_new = take_all(c->socket, bytes, a.size, until) && r && !r->has_next &&
                      r->contents.size == a.size;
        if (is_new) compare(run, r, bytes, before);
        else free(bytes);
        *differs |= is_new && r->next_other;
    }
}

/* Are there differences in this order? True, too, where nothing more can be said. */
static bool judge(const ReorderRun *run, const Child *c) {
    double until = now() + LEAST_PATIENCE_S + MOST_TIMES * (now() - run->began);
    EmuStatus status;
    char message[600];
    bool differs = false;
    if (c > run->child && !send_all(c->socket, "", 1)) return true;
    if (!take_all(c->socket, &status, sizeof status, until) ||
        !take_all(c->socket, message, sizeof message, until)) {
        say("--check order: kernel %s did not end in another order of its threads; it is not "
            "compared",
            run->l->kernel->shown);
        return true;
    }
    if (status != EMU_OK) {
        report_finding("order_dependence", NULL,
                       "kernel %s fails when its blocks, warps and lanes run in another order: %s",
                       run->l->kernel->shown, message);
        return true;
    }
    memory_each(forget_next);
    if (send_written(c)) take_answers(run, c, until, &differs);
    return differs;
}

void reorder_end(ReorderRun *run, bool ok) {
    if (run == NULL) return;
    for (int i = 0; i < run->n && ok && !judge(run, &run->child[i]); i++) {}
    memory_each(move_on);
    for (int i = 0; i < run->n; i++) {
        kill(run->child[i].pid, SIGKILL); /* where it has not ended */
        close(run->child[i].socket);
        waitpid(run->child[i].pid, NULL, 0);
    }
    free(run);
}

/* --- copies --- */

void reorder_wrote(uint64_t address, size_t n, uint64_t from) {
    Region *to = memory_find(address), *source = from ? memory_find(from) : NULL;
    if (!runtime.config.order || to == NULL) return;
    size_t at = address - to->address;
    const uint8_t *bytes = to->contents.data + at;
    if (source && source->other) bytes = source->other->bytes + (from - source->address);
    bool differs = memcmp(bytes, to->contents.data + at, n) != 0;
    if (to->other == NULL && !differs) return;
    if (to->other == NULL) {
        to->other = gi_alloc(sizeof *to->other);
        *to->other = *source->other;
        to->other->told = false;
        to->other->bytes = gi_alloc(to->contents.size);
        memcpy(to->other->bytes, to->contents.data, to->contents.size);
    }
    memcpy(to->other->bytes + at, bytes, n);
}

/* --- what the host reads --- */

typedef struct Spread { /* of words that differ */
    size_t n, words, first;
    unsigned size;        /* bytes of a word */
    bool is_real;         /* as floats they are near each other */
    double largest, a, b; /* relative; the first */
} Spread;

static double real_at(const uint8_t *p, unsigned size) {
    float f;
    double d;
    if (size == 8) return memcpy(&d, p, 8), d;
    return memcpy(&f, p, 4), (double)f;
}

static double whole_at(const uint8_t *p, unsigned size) {
    int32_t word;
    if (size == 1) return *p;
    return memcpy(&word, p, 4), (double)word;
}

/* As floats or doubles, where that makes all of them numbers within a tenth of each other. */
static bool is_real(const uint8_t *a, const uint8_t *b, size_t n, unsigned size, Spread *s) {
    *s = (Spread){.size = size, .is_real = true, .words = n / size};
    for (size_t i = 0; i + size <= n; i += size) {
        if (memcmp(a + i, b + i, size) == 0) continue;
        double x = real_at(a + i, size), y = real_at(b + i, size);
        double apart = fabs(x - y) / fmax(fabs(x), fabs(y));
        bool is_small = fabs(x) > 1e-30 && fabs(y) > 1e-30 && apart < 0.1;
        if (!is_small) return false;
        if (s->n++ == 0) s->first = i, s->a = x, s->b = y;
        if (apart > s->largest) s->largest = apart;
    }
    return s->n > 0;
}

static Spread spread_of(const uint8_t *a, const uint8_t *b, size_t n) {
    Spread s;
    unsigned size = n % 4 == 0 ? 4 : 1;
    if (n % 4 == 0 && is_real(a, b, n, 4, &s)) return s;
    if (n % 8 == 0 && is_real(a, b, n, 8, &s)) return s;
    s = (Spread){.size = size, .words = n / size};
    for (size_t i = 0; i < n; i += size)
        if (memcmp(a + i, b + i, size) != 0 && s.n++ == 0)
            s.first = i, s.a = whole_at(a + i, size), s.b = whole_at(b + i, size);
    return s;
}

static void describe(const struct Other *o, const Spread *s, const EmuAllocation *a, uint64_t at,
                     char *out, size_t cap) {
    char size[80] = "", line[300] = "";
    if (s->is_real) snprintf(size, sizeof size, ", by at most %.2g of their value", s->largest);
    if (o->cause.src_line)
        snprintf(line, sizeof line, ", %.200s line %d", o->file, o->cause.src_line);
    snprintf(
        out, cap,
        "what the host reads of '%.60s' depends on the %s: %zu of %zu words of %u bytes are others "
        "in another order%s (byte %llu: %.9g, else %.9g)%s, kernel %.200s",
        a->label, o->cause.kind, s->n, s->words, s->size, size, (unsigned long long)(at + s->first),
        s->a, s->b, line, o->kernel);
}

void reorder_read(uint64_t address, size_t n) {
    Region *r = memory_find(address);
    EmuAllocation a;
    if (r == NULL || r->other == NULL || r->other->told || !emu_find(runtime.emu, address, &a))
        return;
    uint64_t at = address - r->address;
    Spread s = spread_of(r->contents.data + at, r->other->bytes + at, n);
    if (s.n == 0) return;
    EmuFinding f = r->other->cause;
    describe(r->other, &s, &a, at, f.message, sizeof f.message);
    f.kind = "order_dependence";
    f.kernel = r->other->kernel;
    r->other->told = true;
    launch_tell(&f);
}

static void read_shared(Region *r) {
    if (r->address >= MEMORY_HOST_END || r->kind == REGION_GRAPH || r->other == NULL) return;
    reorder_read(r->address, r->contents.size);
    reorder_forget(r->other); /* what the host makes of it is not followed */
    r->other = NULL;
}

void reorder_read_shared(void) {
    if (runtime.config.order) memory_each(read_shared);
}
