/* Worker processes: echo, large messages both ways, death, hang, replacement, no process left. */
#include "farm/farm.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

/* The worker's side of this very program: says what it got, or dies or hangs when told to. */
static int serve(void) {
    gi_buf m = {0};
    while (farm_receive(FARM_WORKER_FD, &m)) {
        if (strcmp(m.data, "die") == 0) raise(SIGKILL);
        if (strcmp(m.data, "exit") == 0) _exit(7);
        if (strcmp(m.data, "hang") == 0) sleep(1000);
        if (!farm_answer(FARM_WORKER_FD, m.data, m.len)) return 1;
    }
    return 0;
}

static FarmEvent wait_for(Farm *f, double seconds) {
    FarmEvent e = {.kind = FARM_NOTHING};
    farm_wait(f, seconds, &e);
    return e;
}

static void send_text(Farm *f, int worker, const char *text) {
    farm_send(f, worker, text, strlen(text));
}

static void test_echo(Farm *f) {
    send_text(f, 0, "one");
    send_text(f, 1, "two");
    bool seen[2] = {false, false};
    for (int i = 0; i < 2; i++) {
        FarmEvent e = wait_for(f, 10);
        if (e.kind == FARM_MESSAGE) seen[e.worker] = strcmp(e.message.data, e.worker ? "two" : "one") == 0;
        gi_buf_free(&e.message);
    }
    ok(seen[0] && seen[1], "both workers answer with their own message");
    FarmEvent e = wait_for(f, 0.05);
    is_int(e.kind, FARM_NOTHING, "nothing more to come is not an error");
}

static void test_large(Farm *f) {
    size_t len = 20 << 20;
    char *bytes = gi_alloc(len);
    for (size_t i = 0; i < len; i++) bytes[i] = (char)(i * 7 + i / 251);
    farm_send(f, 0, bytes, len);
    farm_send(f, 0, bytes, 1000);
    FarmEvent e = wait_for(f, 30);
    ok(e.kind == FARM_MESSAGE && e.message.len == len && memcmp(e.message.data, bytes, len) == 0,
       "20 MB go there and back");
    gi_buf_free(&e.message);
    e = wait_for(f, 10);
    ok(e.kind == FARM_MESSAGE && e.message.len == 1000, "a second message queued behind it follows");
    gi_buf_free(&e.message);
    free(bytes);
}

static void test_death(Farm *f) {
    gi_err err;
    int old = farm_pid(f, 1);
    send_text(f, 1, "die");
    FarmEvent e = wait_for(f, 10);
    ok(e.kind == FARM_DIED && e.worker == 1, "a worker that is killed is reported");
    has_str(e.message.data, "signal 9", "with the signal that killed it");
    ok(farm_restart(f, 1, &err) && farm_pid(f, 1) != old, "and can be replaced");
    gi_buf_free(&e.message);
    send_text(f, 1, "exit");
    e = wait_for(f, 10);
    has_str(e.message.data, "exit code 7", "a worker that exits is reported with its code");
    gi_buf_free(&e.message);
    farm_restart(f, 1, &err);
    send_text(f, 1, "again");
    e = wait_for(f, 10);
    ok(e.kind == FARM_MESSAGE && strcmp(e.message.data, "again") == 0, "the new one answers");
    gi_buf_free(&e.message);
}

static void test_hang(Farm *f) {
    gi_err err;
    int old = farm_pid(f, 0);
    send_text(f, 0, "hang");
    FarmEvent e = wait_for(f, 0.2);
    is_int(e.kind, FARM_NOTHING, "a worker that hangs sends nothing");
    ok(farm_restart(f, 0, &err), "it is ended by its process id and replaced");
    ok(kill(old, 0) != 0 && errno == ESRCH, "the old process is gone");
    gi_buf_free(&e.message);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--worker") == 0) return serve();
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    const char *args[] = {self, "--worker", NULL}, *missing[] = {"/no/such/program", NULL};
    gi_err err;
    ok(farm_open(missing, 1, &err) == NULL, "a program that is not there is refused");
    has_str(err.message, "/no/such/program", "with its name");
    Farm *f = farm_open(args, 2, &err);
    if (!ok(f != NULL, "two workers start")) return tap_done();
    test_echo(f);
    test_large(f);
    test_death(f);
    test_hang(f);
    int pid = farm_pid(f, 0);
    farm_close(f);
    ok(kill(pid, 0) != 0 && errno == ESRCH, "closing the farm leaves no process");
    return tap_done();
}
