/* front.c - see llvm.h: clang as a process, with sockets and no files.
**
** It is called as its own driver calls it (-cc1), so that nothing of this machine but its program
** and our header has a say: no toolkit, no headers of the C library.
*/
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/landlock.h"
#include "llvm/library.h"
#include "llvm/target.h"

enum { CHUNK = 1 << 16 };              /* bytes of one read */
#define MEMORY_BYTES ((rlim_t)2 << 30) /* of clang */

extern char **environ;

void llvm_front_free(LlvmFront *r) {
    gi_buf_free(&r->bitcode);
    gi_buf_free(&r->log);
    free(r->message);
    *r = (LlvmFront){0};
}

/* --- the command --- */

typedef struct Words { /* NULL-ended; all are its own */
    char **v;
    int n, cap;
} Words;

static void add(Words *w, const char *word) {
    gi_grow(w->v, w->n, w->cap);
    w->v[w->n++] = gi_strdup(word);
    gi_grow(w->v, w->n, w->cap);
    w->v[w->n] = NULL;
}

static void add_pair(Words *w, const char *word, const char *value) {
    add(w, word);
    add(w, value);
}

static void free_words(Words *w) {
    for (int i = 0; i < w->n; i++) free(w->v[i]);
    free(w->v);
}

/* What NVRTC's option is to clang. NULL is nothing: what makes machine code of PTX comes later. */
typedef struct Like {
    const char *option; /* a prefix where it ends with '=' or *, and what follows goes with it */
    const char *clang;
} Like;

static const Like likes[] = {
    {"-D*", "-D"},
    {"-U*", "-U"},
    {"-I*", "-I"},
    {"--include-path=", "-I"},
    {"--pre-include=", "-include"},
    {"--define-macro=", "-D"},
    {"-std=", "-std="},
    {"--std=", "-std="},
    {"-fmad=false", "-ffp-contract=off"},
    {"--fmad=false", "-ffp-contract=off"},
    {"-fmad=true", NULL},
    {"--fmad=true", NULL},
    {"-ftz=true", "-fdenormal-fp-math-f32=preserve-sign,preserve-sign"},
    {"--ftz=true", "-fdenormal-fp-math-f32=preserve-sign,preserve-sign"},
    {"-ftz=false", NULL},
    {"--ftz=false", NULL},
    {"-lineinfo", NULL},
    {"--generate-line-info", NULL},
    {"-w", "-w"},
    {"-Xptxas=", NULL},
    {"--ptxas-options=", NULL},
    {"-maxrregcount=", NULL},
    {"--maxrregcount=", NULL},
};

static const char *rest_behind(const char *option, const char *pattern) {
    size_t n = strlen(pattern);
    bool prefix = pattern[n - 1] == '*' || pattern[n - 1] == '=';
    if (pattern[n - 1] == '*') n--;
    if (strncmp(option, pattern, n) != 0 || (!prefix && option[n])) return NULL;
    return option + n;
}

static bool add_option(Words *w, const char *option, gi_err *err) {
    for (size_t i = 0; i < sizeof likes / sizeof *likes; i++) {
        const char *rest = rest_behind(option, likes[i].option);
        if (rest == NULL) continue;
        gi_buf word = {0};
        if (likes[i].clang) gi_buf_addf(&word, "%s%s", likes[i].clang, rest);
        if (word.len) add(w, word.data);
        gi_buf_free(&word);
        return true;
    }
    return gi_fail(err, "usage",
                   "clang has nothing like NVRTC's option '%s' that gilua knew of (docs/llvm.md "
                   "has those it knows): leave it out, or compile by compiler=nvrtc",
                   option);
}

static bool make_command(const Llvm *l, const LlvmSource *s, Words *w, gi_err *err) {
    static const char *const always[] = {
        "-cc1",
        "-triple",
        "nvptx64-nvidia-cuda",
        "-aux-triple",
        "x86_64-pc-linux-gnu",
        "-fcuda-is-device",
        "-fcuda-allow-variadic-functions", /* that are never called: the C++ library's */
        "-emit-llvm-bc",
        "-O3",
        "-disable-llvm-passes",
        "-ffp-contract=fast",
        "-debug-info-kind=line-directives-only",
        "-std=c++17",
        "-fno-threadsafe-statics",
        "-ferror-limit",
        "5",
        "-Wno-everything",
        "-fdebug-compilation-dir=.",
    };
    LlvmGoal goal;
    if (!llvm_goal(l, s->target, &goal, err)) return false;
    add(w, l->clang);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) add(w, always[i]);
    add_pair(w, "-target-cpu", goal.cpu);
    add_pair(w, "-target-feature", goal.features);
    add_pair(w, "-include", s->header);
    if (s->library) add_pair(w, "-mlink-builtin-bitcode", s->library);
    add_pair(w, "-main-file-name", s->name);
    for (int i = 0; s->options && s->options[i]; i++)
        if (!add_option(w, s->options[i], err)) return false;
    add_pair(w, "-x", "cuda");
    add_pair(w, "-o", "-");
    add(w, "-");
    return true;
}

/* --- what it may open --- */

static void allow_folder_of(int rules, const char *file, unsigned rights) {
    char *real = realpath(file, NULL), *slash = real ? strrchr(real, '/') : NULL;
    if (slash) *slash = '\0';
    if (slash) landlock_allow(rules, real, rights);
    free(real);
}

/* Clang's own files and the system's programs and libraries, our header, and the given folders of
** headers: what a stranger's #include may name. It writes nothing. -1 where the kernel
** has no Landlock. */
static int shut_rules(const Llvm *l, const LlvmSource *s, const Words *w) {
    static const char *const system[] = {"/etc/ld.so.cache", "/bin", "/lib",
                                         "/lib64",           "/usr", NULL};
    const unsigned run = LANDLOCK_READ | LANDLOCK_EXECUTE;
    const int rules = landlock_rules(LANDLOCK_READ | LANDLOCK_CHANGE, false);
    if (rules < 0) return -1;
    for (int i = 0; system[i]; i++) landlock_allow(rules, system[i], run);
    landlock_allow(rules, "/dev/null", LANDLOCK_READ | LANDLOCK_WRITE_FILE);
    allow_folder_of(rules, l->clang, run);
    allow_folder_of(rules, l->path, run);
    allow_folder_of(rules, s->header, LANDLOCK_READ);
    if (s->library) allow_folder_of(rules, s->library, LANDLOCK_READ);
    for (int i = 0; i < w->n; i++)
        if (strncmp(w->v[i], "-I", 2) == 0) landlock_allow(rules, w->v[i] + 2, LANDLOCK_READ);
    return rules;
}

/* --- the process --- */

typedef struct Child {
    pid_t pid;
    int in, out, err; /* our ends; -1: closed */
    int rules;        /* that it is shut in by; -1: none */
    volatile int reason;
} Child;

static void close_one(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void limit(int what, rlim_t most) {
    const struct rlimit both = {most, most};
    setrlimit(what, &both);
}

/* Between vfork and exec; only system calls. */
static _Noreturn void become(Child *c, char *const *argv, const int ends[3], double limit_s) {
    if (limit_s > 0) limit(RLIMIT_CPU, (rlim_t)limit_s + 1);
    limit(RLIMIT_DATA, MEMORY_BYTES);
    limit(RLIMIT_CORE, 0);
    if ((c->rules < 0 || landlock_enter(c->rules)) && dup2(ends[0], 0) >= 0 &&
        dup2(ends[1], 1) >= 0 && dup2(ends[2], 2) >= 0) {
        sigset_t none;
        for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(argv[0], argv, environ);
    }
    c->reason = errno;
    _exit(127);
}

static __attribute__((noinline)) pid_t start(Child *c, char *const *argv, const int ends[3],
                                             double limit_s) {
    pid_t pid = vfork();
    if (pid == 0) become(c, argv, ends, limit_s);
    if (pid < 0) c->reason = errno;
    return pid;
}

/* Sockets, since a write to one whose reader has gone need not be a signal. Above 2, so that none
** is in the way of another in the child. */
static bool open_ends(int theirs[3], int ours[3]) {
    for (int i = 0; i < 3; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
        theirs[i] = fcntl(pair[1], F_DUPFD_CLOEXEC, 3);
        ours[i] = pair[0];
        close(pair[1]);
        if (theirs[i] < 0) return false;
    }
    return true;
}

static bool start_child(Child *c, char *const *argv, int rules, double limit_s, gi_err *err) {
    int theirs[3] = {-1, -1, -1}, ours[3] = {-1, -1, -1};
    *c = (Child){.pid = -1, .rules = rules};
    if (open_ends(theirs, ours)) {
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        c->pid = start(c, argv, theirs, limit_s);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    } else {
        c->reason = errno;
    }
    for (int i = 0; i < 3; i++) close_one(&theirs[i]);
    close_one(&c->rules);
    c->in = ours[0], c->out = ours[1], c->err = ours[2];
    if (c->pid > 0 && c->reason == 0) return true;
    for (int i = 0; i < 3; i++) close_one(&ours[i]);
    if (c->pid > 0) waitpid(c->pid, NULL, 0);
    return gi_fail(err, "io", "cannot start %s: %s", argv[0], strerror(c->reason));
}

/* Moves what there is; closes an end that has no more. */
static void take(int *fd, gi_buf *out) {
    char bytes[CHUNK];
    ssize_t n = read(*fd, bytes, sizeof bytes);
    if (n > 0) gi_buf_add(out, bytes, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN)) close_one(fd);
}

static void give(int *fd, const char **at, size_t *left) {
    ssize_t n = send(*fd, *at, *left, MSG_NOSIGNAL);
    if (n > 0) *at += n, *left -= (size_t)n;
    if (*left == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) close_one(fd);
}

/* Speaks with it until it has said all. */
static void talk(Child *c, const LlvmSource *s, LlvmFront *out) {
    gi_buf text = {0}; /* messages and lines have the name that it is given here */
    gi_buf_addf(&text, "#line 1 \"%s\"\n", s->name);
    gi_buf_add(&text, s->text, s->len);
    const char *at = text.data;
    size_t left = text.len;
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    while (c->in >= 0 || c->out >= 0 || c->err >= 0) {
        struct pollfd fds[] = {{c->in, POLLOUT, 0}, {c->out, POLLIN, 0}, {c->err, POLLIN, 0}};
        if (poll(fds, 3, -1) < 0) continue;
        if (fds[0].revents) give(&c->in, &at, &left);
        if (fds[1].revents) take(&c->out, &out->bitcode);
        if (fds[2].revents) take(&c->err, &out->log);
    }
    gi_buf_free(&text);
}

/* --- what it said --- */

/* "kernel.cu:12:5: error: text": the first such line; a line about another file does not count. */
static void find_error(const LlvmSource *s, LlvmFront *out) {
    const char *text = out->log.len ? out->log.data : "", *error = strstr(text, "error: ");
    const size_t n = strlen(s->name);
    if (error == NULL) error = text;
    const char *start = error;
    while (start > text && start[-1] != '\n') start--;
    if (strncmp(start, s->name, n) == 0 && start[n] == ':') out->line = atoi(start + n + 1);
    if (strncmp(error, "error: ", 7) == 0) error += 7;
    out->message = gi_strndup(error, strcspn(error, "\n"));
}

static void find_fate(const LlvmSource *s, int status, LlvmFront *out) {
    gi_buf why = {0};
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (number == 0 && WEXITSTATUS(status) == 0) return;
    gi_buf_clear(&out->bitcode);
    out->fate = number == SIGXCPU || (number == SIGKILL && s->limit_s > 0) ? LLVM_TIMEOUT
                : number || WEXITSTATUS(status) != 1                       ? LLVM_CRASHED
                                                                           : LLVM_REJECTED;
    if (out->fate == LLVM_REJECTED) return find_error(s, out);
    if (out->fate == LLVM_TIMEOUT)
        gi_buf_addf(&why, "clang did not end within %g seconds of a processor", s->limit_s);
    else if (number) gi_buf_addf(&why, "clang was ended by signal %d", number);
    else gi_buf_addf(&why, "clang ended with status %d", WEXITSTATUS(status));
    out->message = why.data;
}

bool llvm_front(const Llvm *l, const LlvmSource *s, LlvmFront *out, gi_err *err) {
    Words command = {0};
    Child child;
    int status = 0;
    if (l->clang == NULL)
        return gi_fail(err, "nolib",
                       "there is no clang of LLVM %u: `apt-get install clang-%u` on Debian, or "
                       "set GILUA_CLANG to its path",
                       l->major, l->major);
    bool started = make_command(l, s, &command, err) &&
                   start_child(&child, command.v, shut_rules(l, s, &command), s->limit_s, err);
    free_words(&command);
    if (!started) return false;
    *out = (LlvmFront){0};
    talk(&child, s, out);
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {}
    find_fate(s, status, out);
    return true;
}
