/* The box: what a process that has entered it can do no more, and what it still can. Each attempt
** is made by a child of its own, which has entered the box; the parent looks at what came of it. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/folder.h"
#include "farm/farm.h"
#include "tap.h"

static char *folder;        /* of all children */
static char outside[300];   /* a file that is there and not theirs */
static BoxLocks here;

static char *inside(const char *name) {
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", getenv("TMPDIR"), name);
    return path;
}

/* What an attempt came to: 0 or its errno; 200 and more: as that attempt says. */
typedef int Attempt(void);

static int try_boxed(Attempt *attempt, bool gpu, bool scratch) {
    const pid_t pid = fork();
    if (pid == 0) {
        const BoxOptions o = {
            .scratch = scratch ? folder : NULL, .gpu = gpu, .file_bytes = 1 << 20};
        BoxLocks box;
        gi_err err;
        if (!box_enter(&o, &box, &err)) _exit(250);
        errno = 0;
        const int came = attempt();
        _exit(came == -1 ? errno : came);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void comes_to(const char *what, Attempt *attempt, int expected) {
    const int came = try_boxed(attempt, false, true);
    if (!ok(came == expected, "%s: %s", what, expected ? strerror(expected) : "it works"))
        printf("# %d, %s\n", came, strerror(came));
}

static int made(int fd) {
    return fd < 0 ? -1 : 0;
}

/* ---- attempts ----------------------------------------------------------------------------- */

static int write_outside(void) { return made(open(outside, O_WRONLY)); }
static int truncate_outside(void) { return made(open(outside, O_RDONLY | O_TRUNC)); }
static int cut_outside(void) { return truncate(outside, 0); }
static int make_outside(void) {
    char path[400];
    snprintf(path, sizeof path, "%s.new", outside);
    return made(open(path, O_WRONLY | O_CREAT, 0600));
}
static int remove_outside(void) { return unlink(outside); }
static int rename_outside(void) { return rename(outside, inside("stolen")); }
static int link_outside(void) { return link(outside, inside("linked")); }
static int chmod_outside(void) { return chmod(outside, 0777); }
static int chown_outside(void) { return chown(outside, 1, 1); }
static int write_memory(void) { return made(open("/proc/self/oom_score_adj", O_WRONLY)); }
static int make_link(void) { return symlink("/etc", inside("link")); }
static int make_pipe(void) { return mkfifo(inside("pipe"), 0600); }

static int read_outside(void) { return made(open(outside, O_RDONLY)); }
static int write_inside(void) {
    const int fd = open(inside("mine"), O_RDWR | O_CREAT, 0600);
    if (fd < 0 || write(fd, "mine", 4) != 4 || ftruncate(fd, 2) != 0) return -1;
    return rename(inside("mine"), outside) == 0 ? 201 : unlink(inside("mine"));
}
static int write_null(void) { return made(open("/dev/null", O_RDWR)); }
static int write_much(void) {
    const int fd = open(inside("much"), O_RDWR | O_CREAT, 0600);
    return ftruncate(fd, 2 << 20);
}
static int write_enough(void) {
    const int fd = memfd_create("share", MFD_ALLOW_SEALING);
    return ftruncate(fd, 1 << 20);
}

static int make_socket(void) { return made(socket(AF_INET, SOCK_STREAM, 0)); }
static int make_packet(void) { return made(socket(AF_INET6, SOCK_DGRAM, 0)); }
static int make_unix(void) { return made(socket(AF_UNIX, SOCK_STREAM, 0)); }
static int make_unix_packet(void) { return made(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }
static int make_pair(void) {
    int two[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, two);
}
static int make_packet_pair(void) {
    int two[2];
    return socketpair(AF_UNIX, SOCK_DGRAM, 0, two);
}
static int make_ring(void) {
    char parameters[120] = {0};
    return made((int)syscall(425, 1, parameters));
}

static int make_process(void) {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    return made(pid);
}
static int run_program(void) { return execl("/bin/true", "true", (char *)NULL); }
static int run_shell(void) { return system("true") == 127 << 8 ? 0 : 205; }
static int run_spawned(void) { return made((int)syscall(SYS_vfork)); }
static int signal_host(void) { return kill(getppid(), 0); }
static int signal_thread(void) { return (int)syscall(SYS_tgkill, getppid(), getppid(), 0); }
static int signal_all(void) { return kill(-1, 0); }
static int signal_itself(void) { return kill(getpid(), 0); }
static int limit_host(void) {
    const struct rlimit none = {0, 0};
    return prlimit(getppid(), RLIMIT_CORE, &none, NULL);
}
static int trace_host(void) { return (int)syscall(SYS_ptrace, 16, getppid(), 0, 0); }
static int outlive(void) { return prctl(PR_SET_PDEATHSIG, 0); }
static int leave_group(void) { return made(setsid()); }
static int type_at_terminal(void) { return ioctl(0, TIOCSTI, "x"); }
static int use_new_call(void) { return (int)syscall(470, 0, 0, 0, 0); }
static int gain(void) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 201; }

static void *count(void *sum) {
    return ++*(int *)sum, NULL;
}
static int make_thread(void) {
    pthread_t thread;
    int sum = 0;
    if (pthread_create(&thread, NULL, count, &sum) != 0) return 202;
    pthread_join(thread, NULL);
    return sum == 1 ? 0 : 203;
}
static int open_library(void) { return dlopen("libz.so.1", RTLD_NOW) ? 0 : 204; }
static int give_up(void) {
    signal(SIGABRT, SIG_DFL);
    abort();
}

/* ---- */

static void files_are_read_only(void) {
    if (here.landlock == 0) {
        ok(true, "files # SKIP this kernel has no Landlock");
        return;
    }
    comes_to("a file is opened for writing", write_outside, EACCES);
    if (here.landlock >= 3) comes_to("a file is opened and cut", truncate_outside, EACCES);
    comes_to("a file is made", make_outside, EACCES);
    comes_to("a file is removed", remove_outside, EACCES);
    comes_to("a file is moved", rename_outside, here.landlock >= 2 ? EACCES : EXDEV);
    comes_to("a file gets another name", link_outside, EXDEV);
    comes_to("the kernel is told something", write_memory, EACCES);
    comes_to("a link is made in its folder", make_link, EACCES);
    comes_to("a pipe is made there", make_pipe, EACCES);
    ok(try_boxed(write_outside, true, true) == EACCES, "with a GPU it is the same");
    ok(try_boxed(write_inside, false, false) != 0, "without a folder nothing is written at all");
}

static void own_things_work(void) {
    comes_to("a file is read", read_outside, 0);
    comes_to("a file is made, cut and removed in its folder", write_inside, 0);
    comes_to("/dev/null is written to", write_null, 0);
    comes_to("a share of arrays", write_enough, 0);
    comes_to("a thread", make_thread, 0);
    comes_to("a library is opened", open_library, 0);
    comes_to("it signals itself", signal_itself, 0);
    comes_to("there are no new privileges", gain, 0);
    ok(try_boxed(give_up, false, true) == 1000 + SIGABRT, "it can abort");
}

static void calls_are_refused(void) {
    comes_to("a file larger than allowed", write_much, EFBIG);
    comes_to("truncate", cut_outside, EPERM);
    comes_to("chmod", chmod_outside, EPERM);
    comes_to("chown", chown_outside, EPERM);
    comes_to("a TCP socket", make_socket, EPERM);
    comes_to("a UDP socket", make_packet, EPERM);
    comes_to("a local socket", make_unix, EPERM);
    comes_to("a pair of sockets that can be sent anywhere", make_packet_pair, EPERM);
    comes_to("io_uring", make_ring, EPERM);
    comes_to("a program in its place", run_program, EPERM);
    comes_to("a call newer than the filter", use_new_call, ENOSYS);
    comes_to("a signal to the host", signal_host, EPERM);
    comes_to("a signal to a thread of the host", signal_thread, EPERM);
    comes_to("a signal to everybody", signal_all, EPERM);
    comes_to("the host's limits", limit_host, EPERM);
    comes_to("living longer than the host", outlive, EPERM);
    comes_to("a session of its own", leave_group, EPERM);
    comes_to("typing at the terminal", type_at_terminal, EPERM);
    if (getenv("GILUA_SANITIZED")) return; /* LeakSanitizer needs a process, and traces it */
    comes_to("a process", make_process, EPERM);
    comes_to("no shell", run_shell, 0);
    comes_to("a process that shares its memory", run_spawned, EPERM);
    comes_to("tracing the host", trace_host, EPERM);
}

static void a_driver_has_its_sockets(void) {
    ok(try_boxed(make_unix, true, true) == 0, "with a GPU: a local socket");
    ok(try_boxed(make_pair, true, true) == 0, "a pair of them");
    ok(try_boxed(make_unix_packet, true, true) == EPERM, "none that can be sent anywhere");
    ok(try_boxed(make_socket, true, true) == EPERM, "and none of the network");
}

int main(void) {
    gi_err err = {0};
    here = box_here();
    printf("# Landlock %d\n", here.landlock);
    ok(here.calls && here.privileges, "this kernel filters calls");
    gi_folder temporary;
    bool made = gi_folder_open(&temporary, &err);
    folder = temporary.path;
    if (!ok(made, "a folder for all %s", err.message)) return tap_done();
    snprintf(outside, sizeof outside, "%s/outside", folder);
    close(open(outside, O_WRONLY | O_CREAT, 0600));
    files_are_read_only();
    own_things_work();
    calls_are_refused();
    a_driver_has_its_sockets();
    folder = gi_strdup(folder);
    gi_folder_close(&temporary);
    ok(access(folder, F_OK) != 0, "the folder is removed with those of the workers");
    free(folder);
    return tap_done();
}
