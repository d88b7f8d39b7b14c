/* reach.c - see reach.h. A thread, because a rule set cannot be left: it ends with the
** compilation. */
#include "compile/reach.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/landlock.h"

/* The compiler recurses: a hundred thousand brackets want more than the usual 8 MiB. What is not
** touched costs nothing. */
enum { STACK_BYTES = 256 << 20, OUT_OF_MEMORY = 1 /* nvrtcResult */ };

typedef struct Call {
    const Library *library;
    Program *program;
    int n;
    const char *const *options;
    int result;
} Call;

const char *reach_path(const char *option) {
    static const char *const names[] = {"-I", "--include-path=", "-include=", "--pre-include=",
                                        "--use-pch=", NULL};
    option += strspn(option, " \t\n\v\f\r");
    for (int i = 0; names[i]; i++) {
        const size_t len = strlen(names[i]);
        if (strncmp(option, names[i], len) == 0) return option + len + strspn(option + len, " \t");
    }
    return NULL;
}

static void allow_folder_of(int rules, const char *file) {
    char *folder = gi_strdup(file), *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    landlock_allow(rules, folder, LANDLOCK_READ);
    free(folder);
}

/* The C library reads the time zone for __TIME__, and libraries that NVRTC opens late. */
static void shut_in(const Call *c) {
    static const char *const libraries[] = {"/etc/localtime", "/etc/ld.so.cache", "/lib", "/lib64",
                                            "/usr/lib",       "/usr/lib64",       NULL};
    /* With headers that it keeps, and only we ask for them, it has a file of its own open. */
    const unsigned scratch = LANDLOCK_READ | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE |
                             LANDLOCK_MAKE_REG | LANDLOCK_REMOVE_FILE;
    const int rules = landlock_rules(LANDLOCK_READ | LANDLOCK_CHANGE, false);
    if (rules < 0) return;
    for (int i = 0; libraries[i]; i++) landlock_allow(rules, libraries[i], LANDLOCK_READ);
    if (c->library->path) allow_folder_of(rules, c->library->path);
    for (int i = 0; i < c->n; i++) {
        const char *path = reach_path(c->options[i]);
        if (path) landlock_allow(rules, path, LANDLOCK_READ);
        if (strstr(c->options[i], "-pch=")) landlock_allow(rules, getenv("TMPDIR"), scratch);
    }
    landlock_enter(rules);
}

static void *compile_shut_in(void *at) {
    Call *c = at;
    shut_in(c);
    c->result = c->library->compile(c->program, c->n, c->options);
    return NULL;
}

/* Signals are for the caller's thread, which has the Lua state they stop. */
int reach_compile(const Library *l, Program *p, int n, const char *const *options) {
    Call call = {l, p, n, options, OUT_OF_MEMORY};
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, old;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool begun = pthread_create(&thread, &attributes, compile_shut_in, &call) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (begun) pthread_join(thread, NULL);
    return call.result;
}
