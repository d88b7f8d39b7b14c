/* Worker processes: echo, large messages both ways, death, hang, replacement, limits, and nothing
** left behind: no process, no descriptor. */
#include "farm/farm.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

/* Under a sanitizer, too, an allocation that is too large is refused, as it is without. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static void fill_memory(void) {
    for (;;) {
        char *p = malloc(1 << 20);
        for (int i = 0; p && i < 1 << 20; i += 512) ((volatile char *)p)[i] = 1;
    }
}

/* So many seconds of the processor, however long others have it in between. */
static void work(double seconds) {
    volatile double x = 0;
    for (clock_t until = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < until;) x = x + 1;
}

/* Leaves a child that would live for minutes, and answers with its process id. */
static void leave_child(FarmSeat *seat) {
    char text[32];
    pid_t pid = fork();
    if (pid == 0) {
        sleep(300);
        _exit(0);
    }
    snprintf(text, sizeof text, "%d", (int)pid);
    farm_answer(seat, text, strlen(text) + 1, NULL);
}

/* The worker's side of this very program: says what it got, or does what it should not. A sanitizer
   would make an exit of SIGSEGV; here the signal ends it. */
static int serve(void) {
    signal(SIGSEGV, SIG_DFL);
    gi_buf m = {0};
    Share *share = NULL;
    FarmSeat *seat = farm_join(FARM_WORKER_FD);
    while (farm_receive(seat, &m, &share)) {
        if (strcmp(m.data, "die") == 0) raise(SIGKILL);
        if (strcmp(m.data, "abort") == 0) abort();
        if (strcmp(m.data, "exit") == 0) _exit(7);
        if (strcmp(m.data, "allocate") == 0) close(2), gi_alloc(SIZE_MAX / 2);
        if (strcmp(m.data, "work") == 0) work(0.3);
        if (strcmp(m.data, "hang") == 0) sleep(1000);
        if (strcmp(m.data, "fill") == 0) fill_memory();
        if (strncmp(m.data, "child", 5) == 0) leave_child(seat);
        if (strcmp(m.data, "child, die") == 0) raise(SIGKILL);
        if (strncmp(m.data, "child", 5) != 0 && !farm_answer(seat, m.data, m.len, share)) return 1;
        share_unref(share);
    }
    gi_buf_free(&m);
    farm_leave(seat);
    return 0;
}

static FarmEvent wait_for(Farm *f, double seconds) {
    FarmEvent e = {.kind = FARM_NOTHING};
    farm_wait(f, seconds, &e);
    return e;
}

static void send_text(Farm *f, int worker, const char *text) {
    farm_send(f, worker, text, strlen(text) + 1, NULL);
}

static int count_fds(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

static void test_echo(Farm *f) {
    send_text(f, 0, "one");
    send_text(f, 1, "two");
    bool seen[2] = {false, false};
    for (int i = 0; i < 2; i++) {
        FarmEvent e = wait_for(f, 60);
        if (e.kind == FARM_MESSAGE)
            seen[e.worker] = strcmp(e.message.data, e.worker ? "two" : "one") == 0;
        farm_event_free(&e);
    }
    ok(seen[0] && seen[1], "both workers answer with their own message");
    FarmEvent e = wait_for(f, 0.05);
    is_int(e.kind, FARM_NOTHING, "nothing more to come is not an error");
}

static void test_large(Farm *f) {
    size_t len = 20 << 20;
    char *bytes = gi_alloc(len);
    for (size_t i = 0; i < len; i++) bytes[i] = (char)(i * 7 + i / 251);
    farm_send(f, 0, bytes, len, NULL);
    farm_send(f, 0, bytes, 1000, NULL);
    FarmEvent e = wait_for(f, 30);
    ok(e.kind == FARM_MESSAGE && e.message.len == len && memcmp(e.message.data, bytes, len) == 0,
       "20 MB go there and back");
    farm_event_free(&e);
    e = wait_for(f, 60);
    ok(e.kind == FARM_MESSAGE && e.message.len == 1000,
       "a second message queued behind it follows");
    farm_event_free(&e);
    free(bytes);
}

/* Whose doing the end of a worker was that is sent this, or this signal once it runs. */
static void test_end(Farm *f, const char *message, int number, FarmEventKind kind,
                     const char *says) {
    gi_err err;
    int old = farm_pid(f, 1);
    send_text(f, 1, "up");
    FarmEvent up = wait_for(f, 60);
    farm_event_free(&up);
    send_text(f, 1, message);
    if (number) kill(old, number);
    FarmEvent e = wait_for(f, 60);
    ok(e.kind == kind && e.worker == 1, "%s, signal %d: it is told whose doing it was", message,
       number);
    has_str(e.message.data, says, "and how it ended");
    ok(farm_restart(f, 1, &err) && farm_pid(f, 1) != old, "it can be replaced");
    farm_event_free(&e);
}

static void test_deaths(Farm *f) {
    test_end(f, "hang", SIGKILL, FARM_KILLED, "signal 9 (Killed), which somebody sent");
    test_end(f, "hang", SIGTERM, FARM_KILLED, "which somebody sent");
    test_end(f, "hang", SIGHUP, FARM_KILLED, "signal 1 (Hangup), which somebody sent");
    test_end(f, "abort", 0, FARM_DIED, "signal 6");
    test_end(f, "hang", SIGSEGV, FARM_DIED, "signal 11");
    test_end(f, "exit", 0, FARM_DIED, "exit code 7");
    test_end(f, "allocate", 0, FARM_MEMORY, "got no memory");
    send_text(f, 1, "again");
    FarmEvent e = wait_for(f, 60);
    ok(e.kind == FARM_MESSAGE && strcmp(e.message.data, "again") == 0, "the last one answers");
    farm_event_free(&e);
}

static void test_usage(Farm *f) {
    double before = farm_cpu_s(f, 0);
    send_text(f, 0, "work");
    bool wants = false;
    FarmEvent e = {.kind = FARM_NOTHING};
    for (double until = gi_seconds() + 60; e.kind == FARM_NOTHING && gi_seconds() < until;) {
        farm_wait(f, 0.01, &e);
        wants = wants || farm_wants_cpu(f, 0);
    }
    ok(wants, "a worker at work wants the processor");
    double used = farm_cpu_s(f, 0) - before;
    ok(e.kind == FARM_MESSAGE && used > 0.25 && used < 0.35,
       "0.3 s of work: %.3f s of processor time", used);
    before = farm_cpu_s(f, 0);
    wait_for(f, 0.2);
    ok(farm_cpu_s(f, 0) - before < 0.05, "an idle worker uses none");
    for (double until = gi_seconds() + 60; farm_wants_cpu(f, 0) && gi_seconds() < until;)
        usleep(2000);
    ok(!farm_wants_cpu(f, 0), "and does not want it");
    ok(farm_memory(f, 0) > 10000 && farm_memory(f, 0) < (size_t)256 << 20, "some memory: %zu bytes",
       farm_memory(f, 0));
    farm_event_free(&e);
}

static bool write_file(const char *folder, const char *name, long long number) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    bool done = file && fprintf(file, "%lld", number) > 0;
    return file && fclose(file) == 0 && done;
}

/* A worker in a group of processes that may have 64 MiB together, where this user may make one. */
static void test_starved(Farm *f) {
    gi_err err;
    char folder[128];
    snprintf(folder, sizeof folder, "/sys/fs/cgroup/memory/gilua-test-%d", (int)getpid());
    if (mkdir(folder, 0755) != 0 || !write_file(folder, "memory.limit_in_bytes", 64 << 20) ||
        !write_file(folder, "cgroup.procs", farm_pid(f, 1))) {
        ok(true, "the kernel's end for want of memory # SKIP no memory group can be made here");
        rmdir(folder);
        return;
    }
    send_text(f, 1, "fill");
    FarmEvent e = wait_for(f, 60);
    ok(e.kind == FARM_STARVED, "a worker that the kernel ends for want of memory is told apart");
    has_str(e.message.data, "the machine's memory ran out", "with the reason");
    farm_event_free(&e);
    farm_restart(f, 1, &err);
    for (int i = 0; rmdir(folder) != 0 && i < 100; i++) usleep(10000);
}

static void test_hang(Farm *f) {
    gi_err err;
    int old = farm_pid(f, 0);
    send_text(f, 0, "hang");
    FarmEvent e = wait_for(f, 0.2);
    is_int(e.kind, FARM_NOTHING, "a worker that hangs sends nothing");
    ok(farm_restart(f, 0, &err), "it is ended by its process id and replaced");
    ok(kill(old, 0) != 0 && errno == ESRCH, "the old process is gone");
    farm_event_free(&e);
}

static void test_memory(Farm *f) {
    gi_err err;
    send_text(f, 1, "fill");
    FarmEvent e = wait_for(f, 60);
    ok(e.kind == FARM_MEMORY && e.worker == 1, "a worker that fills memory is ended");
    has_str(e.message.data, "the limit is 256.0 MiB", "with the limit named");
    is_int(farm_pid(f, 1), 0, "its process is gone");
    farm_event_free(&e);
    farm_restart(f, 1, &err);
}

static Share *new_share(void) {
    const int64_t shape[] = {1000};
    gi_err err;
    Array *a = array_new(ARRAY_I32, 1, shape, &err);
    for (int i = 0; i < 1000; i++) array_set_int(a, i, i);
    Share *s = share_new(&a, 1, &err);
    array_unref(a);
    return s;
}

static void test_shares(Farm *f) {
    enum { ROUNDS = 10000 };
    Share *s = new_share();
    int before = count_fds(), right = 0, came = 0;
    FarmEvent e = {.kind = FARM_NOTHING};
    gi_err err;
    for (int i = 0; i < ROUNDS; i++) farm_send(f, i % 2, "share", 6, s);
    for (int i = 0; i < ROUNDS; i++) {
        farm_wait(f, 60, &e);
        came += e.kind == FARM_MESSAGE && e.share != NULL;
        Array *a;
        if (i % 100 || e.share == NULL || !share_arrays(e.share, &a, &err)) continue;
        right += array_get_int(a, 999) == 999;
        array_set_int(a, 999, 0); /* a view of our own */
        array_unref(a);
    }
    farm_event_free(&e);
    is_int(came, ROUNDS, "10,000 shares in a row go there and back");
    is_int(right, ROUNDS / 100, "with the arrays in them, whatever others write to theirs");
    is_int(count_fds(), before, "and no descriptor is left");
    for (int i = 0; i < 1000; i++) farm_send(f, 0, "share", 6, s);
    share_unref(s);
    farm_kill(f, 0);
    is_int(farm_pid(f, 0), 0, "a worker is ended with shares on their way");
    ok(farm_restart(f, 0, &err), "and replaced");
    is_int(count_fds(), before - 1, "the shares are closed with it");
}

/* Is there such a process, zombies left out? */
static bool lives(int pid) {
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    if (fscanf(file, "%*d %*s %c", &state) != 1) state = 'Z';
    fclose(file);
    return state != 'Z' && state != 'X';
}

static bool goes(int pid, double seconds) {
    for (double until = gi_seconds() + seconds; lives(pid);) {
        if (gi_seconds() > until) return false;
        usleep(2000);
    }
    return true;
}

static void test_children(Farm *f, const char *how) {
    gi_err err;
    send_text(f, 1, how);
    FarmEvent e = wait_for(f, 60);
    int child = e.kind == FARM_MESSAGE ? atoi(e.message.data) : 0;
    if (!ok(child > 0, "a worker starts a process of its own")) return;
    if (strcmp(how, "child") == 0) farm_kill(f, 1);
    else farm_wait(f, 60, &e);
    ok(goes(child, 60), "that ends when the worker does");
    farm_event_free(&e);
    farm_restart(f, 1, &err);
}

/* The host that is killed in test_host_killed; it tells the ids of its worker and that one's child.
 */
static void doomed_host(const char *const *args, int out) {
    Farm *f = farm_open(args, 1, NULL, NULL);
    send_text(f, 0, "child");
    FarmEvent e = wait_for(f, 60);
    int told[2] = {farm_pid(f, 0), e.kind == FARM_MESSAGE ? atoi(e.message.data) : 0};
    send_text(f, 0, "hang");
    farm_wait(f, 0.2, &e);
    if (write(out, told, sizeof told) < 0) _exit(1);
    sleep(1000);
}

static void test_host_killed(const char *const *args) {
    int ends[2], pids[2] = {0, 0};
    if (pipe(ends) != 0) return;
    pid_t host = fork();
    if (host == 0) doomed_host(args, ends[1]);
    bool told = read(ends[0], pids, sizeof pids) == sizeof pids;
    ok(told && lives(pids[0]) && lives(pids[1]), "a host has a worker that hangs and has a child");
    kill(host, SIGKILL);
    waitpid(host, NULL, 0);
    ok(goes(pids[0], 60), "killed by signal 9 it takes its worker with it");
    ok(goes(pids[1], 60), "and the worker's child");
    close(ends[0]);
    close(ends[1]);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--worker") == 0) return serve();
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    const char *args[] = {self, "--worker", NULL}, *missing[] = {"/no/such/program", NULL};
    const FarmOptions options = {.memory_bytes = 256 << 20};
    gi_err err;
    int fds = count_fds();
    ok(farm_open(missing, 1, NULL, &err) == NULL, "a program that is not there is refused");
    has_str(err.message, "/no/such/program", "with its name");
    Farm *f = farm_open(args, 2, &options, &err);
    if (!ok(f != NULL, "two workers start")) return tap_done();
    test_echo(f);
    test_large(f);
    test_deaths(f);
    test_usage(f);
    test_starved(f);
    test_hang(f);
    test_memory(f);
    test_shares(f);
    test_children(f, "child");
    test_children(f, "child, die");
    int pid = farm_pid(f, 0);
    farm_close(f);
    ok(kill(pid, 0) != 0 && errno == ESRCH, "closing the farm leaves no process");
    is_int(count_fds(), fds, "and no descriptor");
    test_host_killed(args);
    return tap_done();
}
