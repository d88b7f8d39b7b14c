/* farm.c - see farm.h: the host's side. */
#include "farm/farm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "farm/channel.h"
#include "farm/spawn.h"

#define LOOK_S        0.05 /* between two looks at the processes */
#define LAST_BREATH_S 2    /* from the end of its socket to the end of the process, at most */
#define OOM_S         1    /* the kernel's count rose: how long that tells of deaths */

typedef struct Worker {
    pid_t pid; /* 0: not running */
    Channel channel;
    bool ended; /* its socket has: what it said before is still to be taken */
} Worker;

struct Farm {
    char **argv;
    Worker *workers;
    struct pollfd *fds; /* scratch of farm_wait: the workers', and the one that is watched */
    int n;
    int watched; /* a descriptor of somebody else's, or -1 */
    int turn;    /* where the next farm_wait starts looking, so that no worker starves */
    size_t memory_bytes;
    double next_look;
    unsigned long long oom_kills; /* the kernel's count, as last read, … */
    double oom_s;                 /* … and when it was seen to rise */
};

/* --- one worker --- */

static bool start_worker(Farm *f, Worker *w, gi_err *err) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return gi_fail(err, "io", "cannot start a worker: %s", strerror(errno));
    w->pid = spawn_worker(f->argv, pair[1], err);
    close(pair[1]);
    if (w->pid == 0) {
        close(pair[0]);
        return false;
    }
    w->ended = false;
    channel_open(&w->channel, pair[0]);
    return true;
}

/* Ends and reaps a worker; returns how it ended as wait(2) tells it. */
static int end_worker(Worker *w) {
    if (w->pid == 0) return 0;
    channel_close(&w->channel);
    spawn_kill(w->pid);
    int status = spawn_reap(w->pid);
    w->pid = 0;
    return status;
}

/* --- the farm --- */

Farm *farm_open(const char *const *argv, int n, const FarmOptions *options, gi_err *err) {
    Farm *f = gi_alloc(sizeof *f);
    int argc = 0;
    while (argv[argc]) argc++;
    f->argv = gi_alloc((size_t)(argc + 1) * sizeof *f->argv);
    for (int i = 0; i < argc; i++) f->argv[i] = gi_strdup(argv[i]);
    f->workers = gi_alloc((size_t)n * sizeof *f->workers);
    f->fds = gi_alloc(((size_t)n + 1) * sizeof *f->fds);
    f->n = n;
    f->watched = -1;
    if (options) f->memory_bytes = options->memory_bytes;
    f->oom_kills = spawn_oom_kills();
    f->oom_s = -OOM_S;
    for (int i = 0; i < n; i++) f->workers[i].channel.fd = -1;
    for (int i = 0; i < n; i++) {
        if (start_worker(f, &f->workers[i], err)) continue;
        farm_close(f);
        return NULL;
    }
    return f;
}

void farm_close(Farm *f) {
    if (f == NULL) return;
    for (int i = 0; i < f->n; i++) /* all first: they end side by side */
        if (f->workers[i].pid) spawn_kill(f->workers[i].pid);
    for (int i = 0; i < f->n; i++) {
        end_worker(&f->workers[i]);
        channel_free(&f->workers[i].channel);
    }
    for (int i = 0; f->argv[i]; i++) free(f->argv[i]);
    free(f->argv);
    free(f->workers);
    free(f->fds);
    free(f);
}

void farm_watch(Farm *f, int fd) {
    f->watched = fd;
}

int farm_size(const Farm *f) {
    return f->n;
}

int farm_pid(const Farm *f, int worker) {
    return (int)f->workers[worker].pid;
}

void farm_send(Farm *f, int worker, const void *bytes, size_t len, Share *share) {
    Worker *w = &f->workers[worker];
    if (w->pid == 0) return;
    channel_put(&w->channel, bytes, len, share);
    channel_flush(&w->channel); /* a worker that has gone is noticed by farm_wait */
}

bool farm_wants_cpu(const Farm *f, int worker) {
    const Worker *w = &f->workers[worker];
    return w->pid && spawn_wants_cpu(w->pid);
}

double farm_cpu_s(const Farm *f, int worker) {
    const Worker *w = &f->workers[worker];
    return w->pid ? spawn_cpu_s(w->pid) : 0;
}

size_t farm_memory(const Farm *f, int worker) {
    const Worker *w = &f->workers[worker];
    return w->pid ? spawn_memory(w->pid) : 0;
}

void farm_kill(Farm *f, int worker) {
    end_worker(&f->workers[worker]);
}

bool farm_restart(Farm *f, int worker, gi_err *err) {
    end_worker(&f->workers[worker]);
    return start_worker(f, &f->workers[worker], err);
}

/* --- events --- */

static void clear_event(FarmEvent *e) {
    gi_buf_clear(&e->message);
    share_unref(e->share);
    e->share = NULL;
    e->kind = FARM_NOTHING;
    e->worker = -1;
}

void farm_event_free(FarmEvent *e) {
    clear_event(e);
    gi_buf_free(&e->message);
}

/* A signal that a program gets by what it does itself. */
static bool is_own_signal(int number) {
    static const int own[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGABRT,
                              SIGTRAP, SIGSYS, SIGPIPE, SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (number == own[i]) return true;
    return false;
}

/* Has the kernel just killed processes for want of memory? Several may go at once. */
static bool is_memory_short(Farm *f) {
    unsigned long long kills = spawn_oom_kills();
    if (kills > f->oom_kills) f->oom_s = gi_seconds();
    f->oom_kills = kills;
    return gi_seconds() < f->oom_s + OOM_S;
}

static FarmEventKind tell_signal(Farm *f, int number, gi_buf *why) {
    bool own = is_own_signal(number), starved = number == SIGKILL && is_memory_short(f);
    gi_buf_addf(why, "the worker was killed by signal %d (%s)%s", number, strsignal(number),
                own       ? ""
                : starved ? ": the machine's memory ran out"
                          : ", which somebody sent");
    return own ? FARM_DIED : starved ? FARM_STARVED : FARM_KILLED;
}

static FarmEventKind tell_exit(int code, gi_buf *why) {
    if (code == GI_EXIT_MEMORY) gi_buf_adds(why, "the worker got no memory");
    else gi_buf_addf(why, "the worker ended with exit code %d", code);
    return code == GI_EXIT_MEMORY ? FARM_MEMORY : FARM_DIED;
}

/* The socket is closed, so the worker is ending: wait for it to say how, then insist. On a busy
** machine a process that was killed may take a while to be gone. */
static void report_end(Farm *f, Worker *w, FarmEvent *out) {
    double until = gi_seconds() + LAST_BREATH_S;
    while (!spawn_has_ended(w->pid) && gi_seconds() < until) usleep(500);
    bool by_itself = spawn_has_ended(w->pid);
    int status = end_worker(w);
    out->kind = FARM_DIED;
    if (!by_itself) gi_buf_adds(&out->message, "the worker closed its connection but did not end");
    else if (WIFSIGNALED(status)) out->kind = tell_signal(f, WTERMSIG(status), &out->message);
    else out->kind = tell_exit(WEXITSTATUS(status), &out->message);
}

/* What it sent cannot be taken: for what it is ("format"), or for want of something here. */
static void report_nonsense(Worker *w, const gi_err *why, FarmEvent *out) {
    end_worker(w);
    gi_buf_clear(&out->message);
    gi_buf_addf(&out->message, "the worker was ended: %s", why->message);
    out->kind = strcmp(why->code, "format") == 0 ? FARM_DIED : FARM_KILLED;
}

static void add_size(gi_buf *b, size_t bytes) {
    const double mib = (double)bytes / (1 << 20);
    if (mib >= 1024) gi_buf_addf(b, "%.2f GiB", mib / 1024);
    else gi_buf_addf(b, "%.1f MiB", mib);
}

static bool report_memory(const Farm *f, Worker *w, size_t used, FarmEvent *out) {
    end_worker(w);
    gi_buf_adds(&out->message, "the worker used ");
    add_size(&out->message, used);
    gi_buf_adds(&out->message, "; the limit is ");
    add_size(&out->message, f->memory_bytes);
    out->kind = FARM_MEMORY;
    return true;
}

/* A worker that has ended need not have closed its socket: a child of it may hold it open. */
static void notice_end(Worker *w) {
    gi_err why;
    if (!spawn_has_ended(w->pid)) return;
    channel_fill(&w->channel, &why);
    w->ended = !channel_has_message(&w->channel); /* else the next look sees it */
}

/* Looks at the processes from time to time; the first, if any, that uses too much is reported. */
static bool look_at_processes(Farm *f, FarmEvent *out) {
    if (gi_seconds() < f->next_look) return false;
    for (int i = 0; i < f->n; i++) {
        Worker *w = &f->workers[i];
        if (w->pid == 0) continue;
        notice_end(w);
        size_t used = f->memory_bytes ? spawn_memory(w->pid) : 0;
        if (used <= f->memory_bytes) continue;
        out->worker = i;
        return report_memory(f, w, used, out);
    }
    f->next_look = gi_seconds() + LOOK_S;
    return false;
}

/* What worker w has for us: a message, its end, or nothing. Last words come before the end. */
static bool take_from(Farm *f, Worker *w, FarmEvent *out) {
    gi_err why;
    if (w->pid == 0) return false;
    switch (channel_take(&w->channel, &out->message, &out->share, &why)) {
    case CHANNEL_TOOK: out->kind = FARM_MESSAGE; break;
    case CHANNEL_NONSENSE: report_nonsense(w, &why, out); break;
    case CHANNEL_NONE:
        if (!w->ended) return false;
        report_end(f, w, out);
    }
    return true;
}

static bool take_any(Farm *f, FarmEvent *out) {
    for (int k = 0; k < f->n; k++) {
        int i = (f->turn + k) % f->n;
        if (!take_from(f, &f->workers[i], out)) continue;
        out->worker = i;
        f->turn = i + 1;
        return true;
    }
    return false;
}

/* False when a signal came first. */
static bool poll_workers(Farm *f, double seconds) {
    for (int i = 0; i < f->n; i++) {
        Worker *w = &f->workers[i];
        f->fds[i] = (struct pollfd){w->pid && !w->ended ? w->channel.fd : -1, POLLIN, 0};
        if (channel_has_output(&w->channel)) f->fds[i].events |= POLLOUT;
    }
    f->fds[f->n] = (struct pollfd){f->watched, POLLIN, 0};
    int ms = seconds <= 0 ? 0 : seconds > 1e6 ? -1 : (int)(seconds * 1000 + 0.999);
    return poll(f->fds, (nfds_t)f->n + 1, ms) >= 0 || errno != EINTR;
}

/* Moves bytes both ways. A worker that breaks the channel is ended here. */
static bool serve_workers(Farm *f, FarmEvent *out) {
    for (int i = 0; i < f->n; i++) {
        Worker *w = &f->workers[i];
        gi_err why;
        if (f->fds[i].revents & POLLOUT) channel_flush(&w->channel);
        if (!(f->fds[i].revents & (POLLIN | POLLHUP | POLLERR))) continue;
        ChannelState state = channel_fill(&w->channel, &why);
        if (state == CHANNEL_ENDED) w->ended = true;
        if (state != CHANNEL_BROKEN) continue;
        report_nonsense(w, &why, out);
        out->worker = i;
        return true;
    }
    return false;
}

void farm_wait(Farm *f, double timeout_s, FarmEvent *out) {
    double until = gi_seconds() + timeout_s;
    clear_event(out);
    for (;;) {
        if (look_at_processes(f, out) || take_any(f, out)) return;
        double now = gi_seconds(), wake = until;
        if (f->next_look < wake) wake = f->next_look;
        if (!poll_workers(f, wake - now)) {
            out->kind = FARM_INTERRUPTED;
            return;
        }
        if (serve_workers(f, out) || take_any(f, out) || gi_seconds() >= until) return;
        if (f->fds[f->n].revents) {
            out->kind = FARM_WATCHED;
            return;
        }
    }
}
