/* program.c - runs another program to its end, as a shell does: with this one's input and output,
** and what a terminal or another process says to this one is for it too; or apart, in a group of
** its own, which ends with it, when its time is over, or when this one is interrupted. Or begins
** one that goes on beside this one, its output in files. */
#include "bind/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static volatile pid_t running;

/* Passes on what a process sent. What a terminal sends, the program has from there. */
static void pass_on(int number, siginfo_t *info, void *context) {
    (void)context;
    if (running > 0 && info->si_code <= 0) kill(running, number);
}

static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1};
enum { N_SIGNALS = sizeof signals / sizeof *signals };

/* What is ignored stays so, for the program too. */
static void catch_signals(struct sigaction before[N_SIGNALS]) {
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction a = {0};
        a.sa_sigaction = pass_on;
        a.sa_flags = SA_SIGINFO;
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(signals[i], &a, NULL);
    }
}

static void restore_signals(const struct sigaction before[N_SIGNALS]) {
    for (int i = 0; i < N_SIGNALS; i++) sigaction(signals[i], &before[i], NULL);
}

static int start(char *const *argv, char *const *env, bool apart, pid_t *pid) {
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, apart ? POSIX_SPAWN_SETPGROUP : 0);
    int problem = posix_spawnp(pid, argv[0], NULL, &how, argv, env);
    posix_spawnattr_destroy(&how);
    return problem;
}

/* How the program ended, as wait(2) tells it. */
static int run(char *const *argv, char *const *env, int *problem) {
    struct sigaction before[N_SIGNALS];
    int status = 0;
    pid_t pid;
    running = 0;
    catch_signals(before);
    *problem = start(argv, env, false, &pid);
    if (*problem == 0) {
        running = pid;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        running = 0;
    }
    restore_signals(before);
    return status;
}

/* Has it ended, within so many seconds? Its number stays its own until it is reaped. */
static bool ends_within(pid_t pid, double limit_s) {
    const struct timespec nap = {0, 10 * 1000 * 1000};
    struct timespec now, begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
            return true;
        clock_gettime(CLOCK_MONOTONIC, &now);
        double s = (double)(now.tv_sec - begun.tv_sec);
        s += 1e-9 * (double)(now.tv_nsec - begun.tv_nsec);
        if (bind_interrupted || s > limit_s) return false;
        nanosleep(&nap, NULL);
    }
}

/* The same in a group of its own; *late where its time was over. */
static int run_apart(char *const *argv, char *const *env, double limit_s, bool *late,
                     int *problem) {
    int status = 0;
    pid_t pid;
    *problem = start(argv, env, true, &pid);
    if (*problem) return 0;
    *late = !ends_within(pid, limit_s);
    kill(-pid, SIGKILL); /* what it left behind, too */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

/* This process's environment with the strings NAME=VALUE of `set` in place of its own. The vector
** is a userdata, the strings are Lua's. */
static char **environment(lua_State *L, const char **set) {
    size_t n = 0, m = 0;
    while (environ[n]) n++;
    while (set && set[m]) m++;
    char **env = lua_newuserdatauv(L, (n + m + 1) * sizeof *env, 0);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        bool replaced = false;
        size_t name = strcspn(environ[i], "=") + 1;
        for (size_t j = 0; j < m; j++)
            replaced = replaced || strncmp(environ[i], set[j], name) == 0;
        if (!replaced) env[k++] = environ[i];
    }
    for (size_t j = 0; j < m; j++) env[k++] = (char *)(uintptr_t)set[j];
    env[k] = NULL;
    return env;
}

static int not_started(lua_State *L, const char *name, int problem) {
    gi_err err;
    gi_fail(&err, "io", "cannot start %s: %s", name, strerror(problem));
    return bind_failed(L, &err);
}

static char *const *check_argv(lua_State *L) {
    const char **argv = bind_option_strings(L, 1, "argv");
    luaL_argcheck(L, argv && argv[0], 1, "argv must name a program");
    return (char *const *)(uintptr_t)argv;
}

static int run_program(lua_State *L) {
    static const char *const known[] = {"argv", "env", "limit_s", NULL};
    int problem;
    bool late = false;
    bind_check_options(L, 1, known);
    char *const *argv = check_argv(L);
    char **env = environment(L, bind_option_strings(L, 1, "env"));
    double limit_s = bind_option_number(L, 1, "limit_s", 0);
    int status = limit_s > 0 ? run_apart(argv, env, limit_s, &late, &problem)
                             : run(argv, env, &problem);
    if (problem) return not_started(L, argv[0], problem);
    if (late && bind_interrupted) return bind_interrupt(L);
    if (late) {
        gi_err err;
        gi_fail(&err, "timeout", "%s did not end within %g seconds", argv[0], limit_s);
        return bind_failed(L, &err);
    }
    lua_pushinteger(L, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    if (!WIFSIGNALED(status)) return 1;
    lua_pushinteger(L, WTERMSIG(status));
    return 2;
}

static int become(lua_State *L) {
    static const char *const known[] = {"argv", "env", NULL};
    bind_check_options(L, 1, known);
    char *const *argv = check_argv(L);
    char **env = environment(L, bind_option_strings(L, 1, "env"));
    execvpe(argv[0], argv, env);
    return not_started(L, argv[0], errno);
}

/* Starts a program in a group of its own, with no input and its output in two files. */
static int start_beside(char *const *argv, char *const *env, const char *out, const char *err,
                        pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, out, flags, 0600);
    posix_spawn_file_actions_addopen(&files, 2, err, flags, 0600);
    int problem = posix_spawnp(pid, argv[0], &files, &how, argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return problem;
}

static int begin(lua_State *L) {
    static const char *const known[] = {"argv", "env", "out", "err", NULL};
    pid_t pid;
    bind_check_options(L, 1, known);
    char *const *argv = check_argv(L);
    char **env = environment(L, bind_option_strings(L, 1, "env"));
    const char *out = bind_option_string(L, 1, "out", "/dev/null");
    const char *err = bind_option_string(L, 1, "err", "/dev/null");
    int problem = start_beside(argv, env, out, err, &pid);
    if (problem) return not_started(L, argv[0], problem);
    lua_pushinteger(L, pid);
    return 1;
}

static const char no_child[] = "no process that was begun, or its end was told";

/* A child of this process that was started by begin and not reaped. */
static pid_t check_child(lua_State *L) {
    siginfo_t info;
    lua_Integer pid = luaL_checkinteger(L, 1);
    luaL_argcheck(L, pid > 1 && pid <= INT32_MAX, 1, no_child);
    int known = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
    luaL_argcheck(L, known == 0, 1, no_child);
    return (pid_t)pid;
}

/* Reaps a child that has ended; what it left behind ends too. */
static int push_end(lua_State *L, pid_t pid) {
    int status = 0;
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    lua_pushinteger(L, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    return 1;
}

static int ended(lua_State *L) {
    pid_t pid = check_child(L);
    if (!ends_within(pid, 0)) return lua_pushnil(L), 1;
    return push_end(L, pid);
}

/* Asks it to end; where it does not, or what it has started does not, ends it. */
static int stop(lua_State *L) {
    const double patience_s = 2;
    pid_t pid = check_child(L);
    kill(-pid, SIGTERM);
    ends_within(pid, patience_s);
    return push_end(L, pid);
}

/* What standard input has, as soon as it has something, within so many seconds. */
static int input(lua_State *L) {
    char bytes[1 << 14];
    struct pollfd fd = {.fd = 0, .events = POLLIN};
    double seconds = luaL_checknumber(L, 1);
    luaL_argcheck(L, seconds >= 0 && seconds < 1e6, 1, "seconds to wait");
    int ready = poll(&fd, 1, (int)(seconds * 1000));
    if (bind_interrupted) return bind_interrupt(L);
    ssize_t n = ready > 0 ? read(0, bytes, sizeof bytes) : 0;
    bool at_end = ready > 0 && (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN));
    if (at_end) return lua_pushnil(L), 1;
    lua_pushlstring(L, bytes, n > 0 ? (size_t)n : 0);
    return 1;
}

static int end_with_parent(lua_State *L) {
    lua_pushboolean(L, prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() > 1);
    return 1;
}

void bind_program(lua_State *L) {
    static const BindRow rows[] = {
        {"run", run_program,
         "core.system.run{argv=, env=, limit_s=} -> status, signal | nil, message, code",
         "Runs a program to its end with this one's input and output; env holds NAME=VALUE. With "
         "limit_s in a process group of its own, which is ended with it, after so many seconds "
         "(\"timeout\") or by the interrupt key."},
        {"become", become, "core.system.become{argv=, env=} -> nil, message, code",
         "Runs a program in the place of this one. Returns where it cannot be started."},
        {"begin", begin, "core.system.begin{argv=, env=, out=, err=} -> pid or nil, message, code",
         "Starts a program that goes on beside this one, in a process group of its own, with no "
         "input; out and err are files for its output."},
        {"ended", ended, "core.system.ended(pid) -> status or nil",
         "How a program that was begun has ended, once it has: 128 and the number of a signal. "
         "Only the first call after its end returns it."},
        {"stop", stop, "core.system.stop(pid) -> status",
         "Ends a program that was begun, and all that it has started."},
        {"input", input, "core.system.input(seconds) -> bytes or nil",
         "What standard input has, as soon as it has something; \"\" where there is nothing within "
         "so many seconds, nil at its end."},
        {"end_with_parent", end_with_parent, "core.system.end_with_parent() -> boolean",
         "From now on this process is killed when the one that started it ends; false where that "
         "cannot be, or it has ended."},
        {NULL, NULL, NULL, NULL}};
    bind_rows(L, "system.", rows);
}
