/* spawn.c - see spawn.h.
**
** vfork and exec by hand, and not posix_spawn: a worker has to ask for its own death
** (PR_SET_PDEATHSIG) and give up core dumps before the first line of its program runs, and
** posix_spawn can do neither. Like posix_spawn, the parent blocks all signals meanwhile: a handler
** must not run in the child, whose memory is the parent's until exec.
*/
#include "farm/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "farm/farm.h"

extern char **environ;

typedef struct Start {
    char *const *argv;
    int socket, null; /* both above FARM_WORKER_FD */
    pid_t parent;
    volatile int reason; /* errno of what failed in the child */
} Start;

/* Everything above the socket would keep other people's files, sockets and shares open. */
static void close_above(int last) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)last + 1, ~0u, 0u) == 0) return;
#endif
    struct rlimit limit;
    rlim_t end = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
    for (int fd = last + 1; (rlim_t)fd < end; fd++) close(fd);
}

/* Handlers are the parent's code; what it ignores the worker need not. SIGTTOU stays ignored: a
** worker's group is in the background, and a message on the terminal must not stop it. SIGUSR1 is
** for the host, and a batch system sends it to all. */
static void reset_signals(void) {
    for (int s = 1; s < NSIG; s++)
        signal(s, s == SIGTTOU || s == SIGUSR1 ? SIG_IGN : SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* When the machine's memory runs out, no program can be spared as easily as a worker. */
static void offer_to_oom_killer(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t ignored = write(fd, "1000", 4);
    (void)ignored;
    close(fd);
}

/* The child. Only system calls: it shares the parent's memory. */
static _Noreturn void become_worker(Start *s) {
    const struct rlimit no_core = {0, 0};
    setpgid(0, 0); /* Ctrl-C reaches the host alone; its own children end with it */
    setrlimit(RLIMIT_CORE, &no_core);
    offer_to_oom_killer();
    if (dup2(s->null, 0) >= 0 && dup2(s->null, 1) >= 0 && dup2(s->socket, FARM_WORKER_FD) >= 0 &&
        prctl(PR_SET_PDEATHSIG, SIGTERM) == 0) {
        if (getppid() != s->parent) _exit(0); /* it died before prctl */
        close_above(FARM_WORKER_FD);
        reset_signals();
        execve(s->argv[0], s->argv, environ);
    }
    s->reason = errno;
    _exit(127);
}

static __attribute__((noinline)) pid_t start(Start *s) {
    pid_t pid = vfork();
    if (pid == 0) become_worker(s);
    if (pid < 0) s->reason = errno;
    return pid;
}

/* The same file under a number above FARM_WORKER_FD; -1 when there is none left. */
static int move_up(int fd) {
    if (fd < 0) return -1;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, FARM_WORKER_FD + 1), reason = errno;
    close(fd);
    errno = reason;
    return higher;
}

pid_t spawn_worker(char *const *argv, int socket, gi_err *err) {
    Start s = {argv, fcntl(socket, F_DUPFD_CLOEXEC, FARM_WORKER_FD + 1),
               move_up(open("/dev/null", O_RDWR | O_CLOEXEC)), getpid(), 0};
    pid_t pid = -1;
    const char *what = argv[0];
    if (s.socket >= 0 && s.null >= 0) {
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        pid = start(&s);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    } else {
        s.reason = errno;
        what = s.socket < 0 ? "its socket" : "/dev/null";
    }
    if (s.socket >= 0) close(s.socket);
    if (s.null >= 0) close(s.null);
    if (pid > 0 && s.reason != 0) spawn_reap(pid);
    if (pid > 0 && s.reason == 0) return pid;
    gi_fail(err, "io", "cannot start a worker: %s: %s", what, strerror(s.reason));
    return 0;
}

void spawn_kill(pid_t pid) {
    if (kill(-pid, SIGKILL) != 0) kill(pid, SIGKILL);
}

bool spawn_has_ended(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

int spawn_reap(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

/* The beginning of a file of the kernel's, as text; "" when there is no such file. */
static void read_file(const char *path, char *text, size_t size) {
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n = 1; fd >= 0 && n > 0 && len < size - 1; len += n > 0 ? (size_t)n : 0)
        n = read(fd, text + len, size - 1 - len);
    if (fd >= 0) close(fd);
    text[len] = '\0';
}

/* statm: size, resident, shared, ... in pages. Shared pages are left out, since the arrays of a
** case and the compiler's code are in every worker and exist once: to kill one frees none of
** them. */
size_t spawn_memory(pid_t pid) {
    char path[64], text[128];
    unsigned long long size, resident, shared;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    read_file(path, text, sizeof text);
    if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3) return 0;
    return resident > shared ? (size_t)(resident - shared) * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

double spawn_cpu_s(pid_t pid) {
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* stat: number (name) state ...; the name may hold anything. */
static bool thread_wants_cpu(const char *task, const char *thread) {
    char path[320], text[512];
    snprintf(path, sizeof path, "%s/%s/stat", task, thread);
    read_file(path, text, sizeof text);
    const char *end = strrchr(text, ')');
    return end && (strncmp(end, ") R", 3) == 0 || strncmp(end, ") D", 3) == 0);
}

bool spawn_wants_cpu(pid_t pid) {
    char task[64];
    bool wants = false;
    snprintf(task, sizeof task, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(task);
    for (const struct dirent *e; dir && !wants && (e = readdir(dir));)
        wants = e->d_name[0] != '.' && thread_wants_cpu(task, e->d_name);
    if (dir) closedir(dir);
    return wants;
}

unsigned long long spawn_oom_kills(void) {
    char text[16384];
    read_file("/proc/vmstat", text, sizeof text);
    const char *line = strstr(text, "\noom_kill ");
    return line ? strtoull(line + strlen("\noom_kill "), NULL, 10) : 0;
}
