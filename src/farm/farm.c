/* farm.c - see farm.h. A message on the wire is its length (4 bytes, host order) and its bytes. */
#include "farm/farm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct Worker {
    pid_t pid; /* 0: not running */
    int fd;
    gi_buf out; /* to be written; out_done bytes of it are */
    size_t out_done;
    gi_buf in; /* read so far */
} Worker;

struct Farm {
    char **argv;
    Worker *workers;
    int n;
    int turn; /* where the next farm_wait starts looking, so that no worker starves */
};

static bool spawn_worker(Farm *f, Worker *w, gi_err *err) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return gi_fail(err, "io", "cannot start a worker: %s", strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    /* dup2 onto itself would keep close-on-exec, so the child's end must be another number */
    int child =
        pair[1] == FARM_WORKER_FD ? fcntl(pair[1], F_DUPFD_CLOEXEC, FARM_WORKER_FD + 1) : pair[1];
    posix_spawn_file_actions_adddup2(&actions, child, FARM_WORKER_FD);
    int reason = posix_spawn(&w->pid, f->argv[0], &actions, NULL, f->argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (child != pair[1]) close(child);
    close(pair[1]);
    if (reason != 0) {
        close(pair[0]);
        w->pid = 0;
        return gi_fail(err, "io", "cannot start the worker %s: %s", f->argv[0], strerror(reason));
    }
    w->fd = pair[0];
    fcntl(w->fd, F_SETFL, O_NONBLOCK);
    return true;
}

/* Ends and reaps a worker; returns how it ended as wait(2) tells it. */
static int end_worker(Worker *w) {
    int status = 0;
    if (w->pid == 0) return 0;
    close(w->fd);
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR) {}
    w->pid = 0;
    w->out_done = 0;
    gi_buf_clear(&w->out);
    gi_buf_clear(&w->in);
    return status;
}

Farm *farm_open(const char *const *argv, int n, gi_err *err) {
    Farm *f = gi_alloc(sizeof *f);
    int argc = 0;
    while (argv[argc]) argc++;
    f->argv = gi_alloc((size_t)(argc + 1) * sizeof *f->argv);
    for (int i = 0; i < argc; i++) f->argv[i] = gi_strdup(argv[i]);
    f->workers = gi_alloc((size_t)n * sizeof *f->workers);
    f->n = n;
    for (int i = 0; i < n; i++) {
        if (spawn_worker(f, &f->workers[i], err)) continue;
        farm_close(f);
        return NULL;
    }
    return f;
}

void farm_close(Farm *f) {
    if (f == NULL) return;
    for (int i = 0; i < f->n; i++) {
        end_worker(&f->workers[i]);
        gi_buf_free(&f->workers[i].in);
        gi_buf_free(&f->workers[i].out);
    }
    for (int i = 0; f->argv[i]; i++) free(f->argv[i]);
    free(f->argv);
    free(f->workers);
    free(f);
}

int farm_size(const Farm *f) {
    return f->n;
}

int farm_pid(const Farm *f, int worker) {
    return (int)f->workers[worker].pid;
}

void farm_send(Farm *f, int worker, const void *bytes, size_t len) {
    Worker *w = &f->workers[worker];
    uint32_t length = (uint32_t)len;
    gi_buf_add(&w->out, (const char *)&length, sizeof length);
    gi_buf_add(&w->out, bytes, len);
}

/* A whole message at the front of w->in is moved to *out. */
static bool take_message(Worker *w, gi_buf *out) {
    uint32_t length;
    if (w->in.len < sizeof length) return false;
    memcpy(&length, w->in.data, sizeof length);
    size_t whole = sizeof length + length;
    if (w->in.len < whole) return false;
    gi_buf_clear(out);
    gi_buf_add(out, w->in.data + sizeof length, length);
    memmove(w->in.data, w->in.data + whole, w->in.len - whole);
    w->in.len -= whole;
    return true;
}

static bool flush(Worker *w) {
    while (w->out_done < w->out.len) {
        ssize_t n = send(w->fd, w->out.data + w->out_done, w->out.len - w->out_done, MSG_NOSIGNAL);
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        w->out_done += (size_t)n;
    }
    w->out_done = 0;
    gi_buf_clear(&w->out);
    return true;
}

/* Reads what there is; false when the worker has gone or sends nonsense. */
static bool fill(Worker *w) {
    char chunk[65536];
    for (;;) {
        ssize_t n = read(w->fd, chunk, sizeof chunk);
        if (n == 0) return false;
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        gi_buf_add(&w->in, chunk, (size_t)n);
        uint32_t length = 0;
        if (w->in.len >= sizeof length) memcpy(&length, w->in.data, sizeof length);
        if (length > FARM_MAX_MESSAGE) return false;
    }
}

static void report_death(Worker *w, gi_buf *out) {
    /* The socket is closed, so the worker is ending: give it a moment to say how, then insist. */
    int status = 0;
    pid_t gone = 0;
    for (int tries = 0; tries < 50 && gone == 0; tries++) {
        gone = waitpid(w->pid, &status, WNOHANG);
        if (gone == 0) usleep(2000);
    }
    if (gone == w->pid) {
        close(w->fd);
        w->pid = 0;
        w->out_done = 0;
        gi_buf_clear(&w->out);
        gi_buf_clear(&w->in);
    } else {
        status = end_worker(w);
    }
    gi_buf_clear(out);
    if (WIFSIGNALED(status))
        gi_buf_addf(out, "the worker was killed by signal %d (%s)", WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
    else gi_buf_addf(out, "the worker ended with exit code %d", WEXITSTATUS(status));
}

static bool poll_workers(Farm *f, struct pollfd *fds, double timeout_s) {
    for (int i = 0; i < f->n; i++) {
        Worker *w = &f->workers[i];
        fds[i] = (struct pollfd){w->pid ? w->fd : -1, POLLIN, 0};
        if (w->out.len > 0) fds[i].events |= POLLOUT;
    }
    int ms = timeout_s < 0 ? 0 : timeout_s > 1e6 ? -1 : (int)(timeout_s * 1000 + 0.999);
    return poll(fds, (nfds_t)f->n, ms) >= 0 || errno != EINTR;
}

void farm_wait(Farm *f, double timeout_s, FarmEvent *out) {
    struct pollfd *fds = gi_alloc((size_t)f->n * sizeof *fds);
    double until = gi_seconds() + timeout_s;
    out->kind = FARM_NOTHING;
    out->worker = -1;
    do {
        for (int k = 0; k < f->n && out->kind == FARM_NOTHING; k++) {
            int i = (f->turn + k) % f->n;
            if (f->workers[i].pid && take_message(&f->workers[i], &out->message)) {
                out->kind = FARM_MESSAGE;
                out->worker = i;
                f->turn = i + 1;
            }
        }
        if (out->kind != FARM_NOTHING) break;
        if (!poll_workers(f, fds, until - gi_seconds())) {
            out->kind = FARM_INTERRUPTED;
            break;
        }
        for (int i = 0; i < f->n && out->kind == FARM_NOTHING; i++) {
            Worker *w = &f->workers[i];
            bool alive = true;
            if (fds[i].revents & POLLOUT) alive = flush(w);
            if (alive && (fds[i].revents & (POLLIN | POLLHUP | POLLERR))) alive = fill(w);
            if (!alive && take_message(w, &out->message)) { /* its last words first */
                out->kind = FARM_MESSAGE;
                out->worker = i;
            } else if (!alive) {
                report_death(w, &out->message);
                out->kind = FARM_DIED;
                out->worker = i;
            }
        }
    } while (out->kind == FARM_NOTHING && gi_seconds() < until);
    free(fds);
}

bool farm_restart(Farm *f, int worker, gi_err *err) {
    end_worker(&f->workers[worker]);
    return spawn_worker(f, &f->workers[worker], err);
}

static bool read_all(int fd, void *bytes, size_t len) {
    for (char *p = bytes; len > 0;) {
        ssize_t n = read(fd, p, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

bool farm_receive(int fd, gi_buf *out) {
    uint32_t length;
    if (!read_all(fd, &length, sizeof length) || length > FARM_MAX_MESSAGE) return false;
    char *bytes = gi_alloc(length);
    bool whole = read_all(fd, bytes, length);
    gi_buf_clear(out);
    if (whole) gi_buf_add(out, bytes, length);
    free(bytes);
    return whole;
}

bool farm_answer(int fd, const void *bytes, size_t len) {
    uint32_t length = (uint32_t)len;
    gi_buf whole = {0};
    gi_buf_add(&whole, (const char *)&length, sizeof length);
    gi_buf_add(&whole, bytes, len);
    size_t done = 0;
    while (done < whole.len) {
        ssize_t n = send(fd, whole.data + done, whole.len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += (size_t)n;
    }
    bool ok = done == whole.len;
    gi_buf_free(&whole);
    return ok;
}
