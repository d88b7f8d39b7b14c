/* program.c - runs another program to its end, as a shell does: with this one's input and output,
** and what the terminal or a batch system says to this one is for it too. */
#include "bind/bind.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static volatile pid_t running;

static void pass_on(int number) {
    if (running > 0) kill(running, number);
}

/* Ctrl-C reaches the program from the terminal; the others are passed on. */
static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1};
enum { N_SIGNALS = sizeof signals / sizeof *signals, FIRST_PASSED = 2 };

static void catch_signals(struct sigaction before[N_SIGNALS]) {
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction a = {0};
        a.sa_handler = i < FIRST_PASSED ? SIG_IGN : pass_on;
        sigaction(signals[i], &a, &before[i]);
    }
}

static void restore_signals(const struct sigaction before[N_SIGNALS]) {
    for (int i = 0; i < N_SIGNALS; i++) sigaction(signals[i], &before[i], NULL);
}

/* What is ignored only while the program runs it need not ignore itself. */
static int start(char *const *argv, char *const *env, const struct sigaction before[N_SIGNALS],
                 pid_t *pid) {
    posix_spawnattr_t how;
    sigset_t heard;
    sigemptyset(&heard);
    for (int i = 0; i < FIRST_PASSED; i++)
        if (before[i].sa_handler != SIG_IGN) sigaddset(&heard, signals[i]);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigdefault(&how, &heard);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
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
    *problem = start(argv, env, before, &pid);
    if (*problem == 0) {
        running = pid;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        running = 0;
    }
    restore_signals(before);
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

static int run_program(lua_State *L) {
    static const char *const known[] = {"argv", "env", NULL};
    int problem;
    bind_check_options(L, 1, known);
    const char **argv = bind_option_strings(L, 1, "argv");
    luaL_argcheck(L, argv && argv[0], 1, "argv must name a program");
    char **env = environment(L, bind_option_strings(L, 1, "env"));
    int status = run((char *const *)(uintptr_t)argv, env, &problem);
    if (problem) {
        gi_err err;
        gi_fail(&err, "io", "cannot start %s: %s", argv[0], strerror(problem));
        return bind_failed(L, &err);
    }
    lua_pushinteger(L, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    if (!WIFSIGNALED(status)) return 1;
    lua_pushinteger(L, WTERMSIG(status));
    return 2;
}

void bind_program(lua_State *L) {
    static const BindRow rows[] = {
        {"run", run_program,
         "core.system.run{argv=, env=} -> status, signal | nil, message, code",
         "Runs a program to its end with this one's input and output; env holds NAME=VALUE."},
        {NULL, NULL, NULL, NULL}};
    bind_rows(L, "system.", rows);
}
