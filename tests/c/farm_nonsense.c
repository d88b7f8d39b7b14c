/* Workers that break the protocol: each is ended with a sentence, its neighbour works on, and no
** descriptor it sent is kept. */
#include "farm/farm.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

/* Sends bytes with `copies` copies of a descriptor. */
static void send_raw(const void *bytes, size_t len, int fd, int copies) {
    union {
        char bytes[CMSG_SPACE(8 * sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {(void *)(uintptr_t)bytes, len};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (copies > 0) {
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE((size_t)copies * sizeof fd);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)copies * sizeof fd);
        for (int i = 0; i < copies; i++)
            memcpy(CMSG_DATA(c) + (size_t)i * sizeof fd, &fd, sizeof fd);
    }
    sendmsg(FARM_WORKER_FD, &m, MSG_NOSIGNAL);
}

static void send_head(uint32_t length, uint32_t shares, int fd, int copies) {
    uint32_t head[2] = {length, shares};
    send_raw(head, sizeof head, fd, copies);
}

/* A memory file with this much of nonsense, sealed or not. */
static int memory_file(size_t bytes, bool sealed) {
    int fd = memfd_create("nonsense", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    for (size_t i = 0; i < bytes; i++)
        if (write(fd, "x", 1) != 1) break;
    if (sealed) fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    return fd;
}

static void send_share(void) {
    const int64_t one[] = {1};
    Array *a = array_new(ARRAY_I32, 1, one, NULL);
    send_head(0, 1, share_fd(share_new(&a, 1, NULL)), 1);
}

static void misbehave(const char *how) {
    if (strcmp(how, "close") == 0) close(FARM_WORKER_FD);
    if (strcmp(how, "giant") == 0) send_head(0xffffffff, 0, -1, 0);
    if (strcmp(how, "many shares") == 0) send_head(0, 7, -1, 0);
    if (strcmp(how, "no share") == 0) send_head(0, 1, -1, 0);
    if (strcmp(how, "stdin") == 0) send_head(0, 1, 0, 1);
    if (strcmp(how, "unsealed") == 0) send_head(0, 1, memory_file(4096, false), 1);
    if (strcmp(how, "empty") == 0) send_head(0, 1, memory_file(0, true), 1);
    if (strcmp(how, "sealed") == 0) send_head(0, 1, memory_file(4096, true), 1);
    if (strcmp(how, "unwanted") == 0)
        for (int i = 0; i < 200; i++) send_raw("\1\0\0\0\0\0\0\0x", 9, 0, 1);
    if (strcmp(how, "crowd") == 0) send_head(1, 0, 0, 8);
    if (strcmp(how, "share") == 0) send_share();
    if (strcmp(how, "half") == 0) {
        send_head(100, 0, -1, 0);
        send_raw("half", 4, -1, 0);
        _exit(3);
    }
    sleep(1000);
}

static int serve(void) {
    gi_buf m = {0};
    Share *share = NULL;
    FarmSeat *seat = farm_join(FARM_WORKER_FD);
    while (farm_receive(seat, &m, &share)) {
        if (strcmp(m.data, "fine") != 0) misbehave(m.data);
        if (!farm_answer(seat, m.data, m.len, NULL)) break;
    }
    gi_buf_free(&m);
    farm_leave(seat);
    return 0;
}

static int count_fds(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

static void test_way(Farm *f, const char *how, const char *says) {
    gi_err err;
    FarmEvent e = {.kind = FARM_NOTHING};
    int before = count_fds();
    farm_send(f, 1, how, strlen(how) + 1, NULL);
    do farm_wait(f, 10, &e); /* unwanted descriptors may come with messages in order */
    while (e.kind == FARM_MESSAGE);
    if (ok(e.kind == FARM_DIED && e.worker == 1, "%s: the worker is ended and reported", how))
        has_str(e.message.data, says, "with the reason");
    ok(farm_restart(f, 1, &err), "it can be replaced");
    is_int(count_fds(), before, "no descriptor is left of it");
    farm_send(f, 0, "fine", 5, NULL);
    farm_wait(f, 10, &e);
    ok(e.kind == FARM_MESSAGE && e.worker == 0, "its neighbour works on");
    farm_event_free(&e);
}

/* No descriptor left in this process when a share comes. */
static void test_full_table(Farm *f) {
    int held[4096], n = 0;
    FarmEvent e = {.kind = FARM_NOTHING};
    gi_err err;
    struct rlimit old, few;
    getrlimit(RLIMIT_NOFILE, &old);
    few = (struct rlimit){64, old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    while (n < 4096 && (held[n] = dup(0)) >= 0) n++;
    farm_send(f, 1, "share", 6, NULL);
    farm_wait(f, 10, &e);
    ok(e.kind == FARM_KILLED, "without a free descriptor a share cannot be received");
    has_str(e.message.data, "too many files open", "and the reason is given");
    ok(farm_restart(f, 1, &err) || strstr(err.message, "Too many open files"),
       "nor perhaps the worker replaced, with the reason");
    while (n > 0) close(held[--n]);
    setrlimit(RLIMIT_NOFILE, &old);
    ok(farm_restart(f, 1, &err), "afterwards it can");
    farm_event_free(&e);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--worker") == 0) return serve();
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    const char *args[] = {self, "--worker", NULL};
    gi_err err;
    Farm *f = farm_open(args, 2, NULL, &err);
    if (!ok(f != NULL, "two workers start")) return tap_done();
    test_way(f, "close", "closed its connection");
    test_way(f, "giant", "no message");
    test_way(f, "many shares", "no message");
    test_way(f, "no share", "announced arrays and sent none");
    test_way(f, "stdin", "no sealed share");
    test_way(f, "unsealed", "no sealed share");
    test_way(f, "empty", "no sealed share");
    test_way(f, "sealed", "no sealed share");
    test_way(f, "unwanted", "no message speaks of");
    test_way(f, "crowd", "no message speaks of");
    test_way(f, "half", "exit code 3");
    test_full_table(f);
    farm_close(f);
    return tap_done();
}
