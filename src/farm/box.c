/* box.c - see farm.h, "the box".
**
** Three locks, each good for what the others cannot see. Landlock decides by file: what may be
** written. seccomp decides by call: no network, no other processes, nothing that outlives the
** worker; and the few writing calls that Landlock does not know (chmod and its kin). Limits bound
** what is left. All are inherited and none can be opened again (PR_SET_NO_NEW_PRIVS).
**
** The filter names what is refused and lets everything else pass, because what NVIDIA's driver and
** the C library call is theirs to decide and changes with their versions. Calls that are newer than
** this file do not exist (ENOSYS): whoever makes one has another way for older kernels.
**
** Landlock binds the calling thread and what it starts, so the box is entered before NVRTC or the
** driver have started threads of their own.
**
** Reference: landlock(7), seccomp(2).
*/
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/landlock.h"
#include "farm/farm.h"

/* LeakSanitizer looks at its process from a sibling that it clones and lets trace it. */
#if defined(__SANITIZE_ADDRESS__)
#define TRACED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TRACED 1
#endif
#endif
#ifndef TRACED
#define TRACED 0
#endif

/* ---- files: Landlock ----------------------------------------------------------------------
**
** Reading is left alone: a worker reads headers, libraries and the data of cases. */

/* The driver's devices; where they go by other names (WSL), all devices. And the files of the
** worker's own threads: the driver names its threads by them, and where it may not cuInit says
** CUDA_ERROR_OPERATING_SYSTEM (580.159). */
static bool allow_gpu(int rules, unsigned rights) {
    glob_t found;
    bool done = landlock_allow(rules, "/proc/self/task", LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE);
    if (glob("/dev/nvidia*", 0, NULL, &found) != 0)
        return done && landlock_allow(rules, "/dev", rights);
    for (size_t i = 0; i < found.gl_pathc; i++)
        done = landlock_allow(rules, found.gl_pathv[i], rights) && done;
    globfree(&found);
    return done;
}

static bool shut_files(const char *folder, const BoxOptions *o, gi_err *err) {
    const unsigned scratch = LANDLOCK_WRITE_FILE | LANDLOCK_REMOVE_DIR | LANDLOCK_REMOVE_FILE |
                             LANDLOCK_MAKE_DIR | LANDLOCK_MAKE_REG | LANDLOCK_REFER |
                             LANDLOCK_TRUNCATE;
    const unsigned kept = LANDLOCK_WRITE_FILE | LANDLOCK_REMOVE_FILE | LANDLOCK_MAKE_REG;
    const unsigned device = LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV;
    const int rules = landlock_rules(LANDLOCK_CHANGE, true);
    bool done = rules >= 0 && landlock_allow(rules, "/dev/null", device);
    if (folder) done = done && landlock_allow(rules, folder, scratch);
    if (o->kept) done = done && landlock_allow(rules, o->kept, kept);
    if (o->gpu) done = done && allow_gpu(rules, device);
    if (o->programs) done = done && landlock_allow(rules, "/", LANDLOCK_EXECUTE);
    if (done) done = landlock_enter(rules);
    else if (rules >= 0) close(rules);
    return done || gi_fail(err, "io", "Landlock refuses: %s", strerror(errno));
}

/* ---- calls: seccomp ----------------------------------------------------------------------- */

/* Names, not numbers: what this machine's library or architecture does not know is left out. */
/* clang-format off */
static const char *const refused[] = {
    /* programs and processes of its own; a place in another group, where it would be missed */
    "execve", "execveat", "fork", "vfork", "setsid", "setpgid",
    /* other processes */
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd",
    "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tkill", "kcmp", "setpriority",
    "ioprio_set",
    /* the network; io_uring does what the filter would not see */
    "connect", "bind", "listen", "accept", "accept4", "io_uring_setup", "io_uring_enter",
    "io_uring_register",
    /* what files are, beside what they hold */
    "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utime", "utimes",
    "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
    "fremovexattr", "truncate", "open_by_handle_at",
    /* what outlives a process without being a file */
    "shmget", "msgget", "semget", "mq_open", "mq_unlink", "add_key", "request_key", "keyctl",
    /* the machine */
    "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "unshare", "setns", "bpf", "perf_event_open",
    "userfaultfd", "init_module", "finit_module", "delete_module", "kexec_load",
    "kexec_file_load", "reboot", "swapon", "swapoff", "syslog", "acct", "quotactl", "quotactl_fd",
    "nfsservctl", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname",
    "setdomainname", "iopl", "ioperm", "modify_ldt", "personality", "vhangup", "lookup_dcookie",
    "fanotify_init", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
    "setgroups", "capset",
};
/* clang-format on */

/* Programs of its own. They stay in its group (setsid, setpgid), to be ended with it. */
static const char *const starters[] = {"execve", "execveat", "fork", "vfork"};

/* Ids: a program may ask for those that it has (posix_spawn does, for make). */
static const char *const ids[] = {"setresuid", "setresgid"};

/* A driver's own sockets: nobody is at their other end unless an MPS server is. */
static const char *const drivers[] = {"bind", "listen", "accept", "accept4", "setpriority"};

/* Refused for some arguments only. Those of 32 bits are compared as such. */
typedef struct Condition {
    const char *call;
    struct scmp_arg_cmp when;
} Condition;

#define WORD UINT64_C(0xffffffff)
#define IS(argument, value)                                                                        \
    { argument, SCMP_CMP_MASKED_EQ, WORD, value }

static const Condition refused_if[] = {
    {"ioctl", IS(1, TIOCSTI)}, /* types at the user's terminal */
    {"ioctl", IS(1, TIOCLINUX)},
    {"prctl", IS(0, PR_SET_PDEATHSIG)}, /* it ends with its host */
    {"fcntl", IS(1, F_SETOWN)},         /* signals to others */
    {"fcntl", IS(1, F_SETSIG)},
    {"fcntl", IS(1, F_SETOWN_EX)},
    {"prlimit64", {0, SCMP_CMP_NE, 0, 0}},                    /* of others */
    {"socketpair", {1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_DGRAM}}, /* can be sent anywhere */
    {"socketpair", {1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW}},
    {"sendto", {4, SCMP_CMP_NE, 0, 0}},
};

static const Condition emulator_refused_if[] = {{"socket", {0, SCMP_CMP_GE, 0, 0}}};

static const Condition gpu_refused_if[] = {
    {"socket", {0, SCMP_CMP_NE, AF_UNIX, 0}},
    {"socket", {1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_DGRAM}},
    {"socket", {1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW}},
};

static bool is_one_of(const char *name, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0) return true;
    return false;
}

#define LENGTH(list) (sizeof(list) / sizeof *(list))

/* With NVIDIA's MPS several processes share a GPU through a server, to which each connects. */
static bool has_mps(void) {
    return getenv("CUDA_MPS_PIPE_DIRECTORY") || access("/tmp/nvidia-mps/control", F_OK) == 0;
}

/* 0, or what seccomp_rule_add returns: a negative errno. */
static int refuse(scmp_filter_ctx filter, const char *name, unsigned n,
                  const struct scmp_arg_cmp *when) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number < 0) return 0;
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), number, n, when);
}

static int refuse_calls(scmp_filter_ctx filter, const BoxOptions *o) {
    int result = 0;
    for (size_t i = 0; i < LENGTH(refused) && result == 0; i++) {
        const char *name = refused[i];
        if (TRACED && strcmp(name, "ptrace") == 0) continue;
        if (o->gpu && is_one_of(name, drivers, LENGTH(drivers))) continue;
        if (o->gpu && has_mps() && strcmp(name, "connect") == 0) continue;
        if (o->programs && is_one_of(name, starters, LENGTH(starters))) continue;
        if (o->programs && is_one_of(name, ids, LENGTH(ids))) continue;
        result = refuse(filter, name, 0, NULL);
    }
    return result;
}

static int refuse_arguments(scmp_filter_ctx filter, const Condition *list, size_t n) {
    int result = 0;
    for (size_t i = 0; i < n && result == 0; i++)
        result = refuse(filter, list[i].call, 1, &list[i].when);
    return result;
}

/* Processes of other kinds than programs are: in namespaces of their own, or somebody else's. */
static int refuse_namespaces(scmp_filter_ctx filter) {
    static const uint64_t flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                     CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET, CLONE_PARENT};
    int result = 0;
    for (size_t i = 0; i < LENGTH(flags) && result == 0; i++) {
        const struct scmp_arg_cmp has = {0, SCMP_CMP_MASKED_EQ, flags[i], flags[i]};
        result = refuse(filter, "clone", 1, &has);
    }
    return result;
}

/* Ids but (-1, its own, -1), bit by bit: a filter compares 64 of them, the kernel reads 32. */
static int refuse_other_ids(scmp_filter_ctx filter) {
    const uint32_t own[LENGTH(ids)] = {getuid(), getgid()};
    int result = 0;
    for (size_t i = 0; i < LENGTH(ids); i++)
        for (uint64_t bit = 1; bit < WORD && result == 0; bit <<= 1) {
            const struct scmp_arg_cmp other[] = {{0, SCMP_CMP_MASKED_EQ, bit, 0},
                                                 {1, SCMP_CMP_MASKED_EQ, bit, ~own[i] & bit},
                                                 {2, SCMP_CMP_MASKED_EQ, bit, 0}};
            for (size_t k = 0; k < LENGTH(other) && result == 0; k++)
                result = refuse(filter, ids[i], 1, &other[k]);
        }
    return result;
}

/* Threads, but no processes unless it may start programs; signals to itself alone. */
static int refuse_company(scmp_filter_ctx filter, bool programs) {
    const struct scmp_arg_cmp process = {0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0},
                              other = {0, SCMP_CMP_NE, (uint64_t)getpid(), 0};
    int result = 0;
    if (programs) result = refuse_namespaces(filter);
    else if (!TRACED) result = refuse(filter, "clone", 1, &process);
    if (programs && result == 0) result = refuse_other_ids(filter);
    if (result == 0) result = refuse(filter, "kill", 1, &other);
    if (result == 0) result = refuse(filter, "tgkill", 1, &other);
    if (result == 0) /* its flags lie in memory: the C library falls back on clone */
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return result;
}

/* The x32 calls begin at 512, and are refused with all other architectures'
** (SCMP_FLTATR_ACT_BADARCH: the process ends). */
static int refuse_what_is_newer(scmp_filter_ctx filter) {
    enum { LAST_KNOWN = 451, X32 = 512 }; /* cachestat, Linux 6.5 */
    int result = 0;
    for (int number = LAST_KNOWN + 1; number < X32 && result == 0; number++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
    return result;
}

/* Without SSB the kernel would slow the processor down for whoever has a filter, which guards
** against programs that read what they were not given; a worker may read all it could. */
static int set_attributes(scmp_filter_ctx filter) {
    const int result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 1);
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    return result;
}

static bool shut_calls(const BoxOptions *o, gi_err *err) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int result = filter ? set_attributes(filter) : -ENOMEM;
    if (result == 0) result = refuse_calls(filter, o);
    if (result == 0) result = refuse_arguments(filter, refused_if, LENGTH(refused_if));
    if (result == 0)
        result = o->gpu
                     ? refuse_arguments(filter, gpu_refused_if, LENGTH(gpu_refused_if))
                     : refuse_arguments(filter, emulator_refused_if, LENGTH(emulator_refused_if));
    if (result == 0) result = refuse_company(filter, o->programs);
    if (result == 0) result = refuse_what_is_newer(filter);
    if (result == 0) result = seccomp_load(filter);
    if (filter) seccomp_release(filter);
    return result == 0 || gi_fail(err, "io", "seccomp refuses: %s", strerror(-result));
}

/* ---- the box ------------------------------------------------------------------------------ */

/* Where nobody has used the GPU since the machine started, the driver has its device files made by
** a program with the privileges that the box takes away. */
static void make_gpu_files(void) {
    static char name[] = "nvidia-modprobe", device[] = "-c0", memory[] = "-u";
    char *const argv[] = {name, device, memory, NULL}, *const environment[] = {NULL};
    pid_t pid;
    if (access("/dev/nvidia-uvm", F_OK) == 0) return;
    if (posix_spawn(&pid, "/usr/bin/nvidia-modprobe", NULL, NULL, argv, environment) == 0)
        waitpid(pid, NULL, 0);
}

/* A file's size; a signal would end the worker, an error (EFBIG) says why. */
static void limit_files(uint64_t bytes) {
    const struct rlimit most = {bytes, bytes};
    if (bytes == 0) return;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &most);
}

/* The driver keeps what it compiles below the user's home, unless a variable names a folder. */
static char *own_folder(const BoxOptions *o) {
    gi_buf path = {0};
    if (o->scratch == NULL) return NULL;
    gi_buf_adds(&path, o->scratch);
    if (!o->programs) gi_buf_addf(&path, "/%d", (int)getpid());
    mkdir(path.data, 0700);
    setenv("TMPDIR", path.data, 1);
    setenv("CUDA_CACHE_PATH", path.data, 1);
    return path.data;
}

bool box_enter(const BoxOptions *o, BoxLocks *out, gi_err *err) {
    gi_err why = {0};
    BoxLocks box = {.landlock = landlock_version()};
    char *folder = own_folder(o);
    if (o->gpu) make_gpu_files();
    limit_files(o->file_bytes);
    box.privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    if (box.landlock && !shut_files(folder, o, &why)) box.landlock = 0;
    free(folder);
    box.calls = shut_calls(o, &why);
    *out = box;
    return why.message[0] == '\0' || gi_fail(err, "io", "%s", why.message);
}

BoxLocks box_here(void) {
    const uint32_t action = SECCOMP_RET_ERRNO;
    return (BoxLocks){.privileges = true,
                      .calls = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0,
                      .landlock = landlock_version()};
}
