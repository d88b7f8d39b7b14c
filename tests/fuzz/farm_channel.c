/* farm_channel.c - a target for the farm's sockets: any bytes, in pieces of any size, are messages
** or nonsense that breaks the channel. Read by the host's side, and by a worker's.
**
** The input: a byte of flags, then pieces, each a byte that tells its length (its last bit set: a
** descriptor goes with it) and so many bytes. tests/c/farm_nonsense.c is its short relative. */
#include "farm/channel.h"
#include "farm/farm.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

enum { WORKER = 1 }; /* a flag: a worker reads */

/* A piece, as a stranger's process sends it. */
static bool send_piece(int fd, const uint8_t *bytes, size_t len, int with) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {(void *)(uintptr_t)bytes, len};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (with >= 0) {
        m.msg_control = &control;
        m.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){CMSG_LEN(sizeof with), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(c), &with, sizeof with);
    }
    return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len;
}

static int share_of_one(void) {
    static Share *share;
    const int64_t one[] = {1};
    if (share == NULL) {
        Array *a = array_new(ARRAY_I32, 1, one, NULL);
        share = share_new(&a, 1, NULL);
        array_unref(a);
    }
    return share_fd(share);
}

/* The host's side: whatever is whole, until nothing is or it breaks. */
static bool take_all(Channel *c) {
    gi_err err = {0};
    gi_buf out = {0};
    Share *share = NULL;
    ChannelTake taken;
    while ((taken = channel_take(c, &out, &share, &err)) == CHANNEL_TOOK) share_unref(share);
    if (taken == CHANNEL_NONSENSE && err.message[0] == '\0') abort();
    gi_buf_free(&out);
    return taken == CHANNEL_NONE;
}

/* What is sent is read as it comes, by the host's side. */
static void host(int fds[2], const uint8_t *data, size_t size) {
    Channel c = {.fd = -1};
    gi_err err = {0};
    bool goes_on = true;
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    channel_open(&c, fds[0]);
    for (size_t at = 0; goes_on && at < size;) {
        size_t len = data[at] >> 1, rest = size - at - 1;
        int with = data[at] & 1 ? len & 1 ? share_of_one() : STDERR_FILENO : -1;
        if (len > rest) len = rest;
        if (len > 0 && !send_piece(fds[1], data + at + 1, len, with)) break;
        at += 1 + len;
        ChannelState state = channel_fill(&c, &err);
        if (state == CHANNEL_BROKEN && err.message[0] == '\0') abort();
        goes_on = take_all(&c) && state == CHANNEL_OPEN;
    }
    channel_free(&c);
    close(fds[1]);
}

enum { MOST_ANSWERS = 50 }; /* that nobody reads, and have to fit */

/* A worker reads until the writer has gone, and answers what it was asked. */
static void worker(int fds[2], const uint8_t *data, size_t size) {
    gi_buf out = {0};
    Share *share = NULL;
    for (size_t at = 0; at < size;) {
        size_t len = data[at] >> 1, rest = size - at - 1;
        if (len > rest) len = rest;
        if (len > 0 && !send_piece(fds[1], data + at + 1, len, -1)) break;
        at += 1 + len;
    }
    shutdown(fds[1], SHUT_WR);
    FarmSeat *seat = farm_join(fds[0]);
    for (int n = 0; n < MOST_ANSWERS && farm_receive(seat, &out, &share); n++) {
        if (!farm_answer(seat, "yes", 3, share)) break;
        share_unref(share);
        share = NULL;
    }
    share_unref(share);
    farm_leave(seat);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    gi_buf_free(&out);
    close(fds[1]);
}

/* Frames { length, shares } of several lengths, whole, split, and with a descriptor. */
void fuzz_seeds(FuzzAdd *add) {
    static const uint8_t split[] = "\0\10\5\0\0\0\12\0\0\0\0a\6bcd\2e\20\0\0\0\0\0\0\0\0";
    static const uint8_t whole[] = "\0\32\5\0\0\0\0\0\0\0hello\24\2\0\0\0\0\0\0\0hi";
    static const uint8_t shared[] = "\0\23\1\0\0\0\1\0\0\0x\22\1\0\0\0\0\0\0\0y";
    static const uint8_t asked[] = "\1\32\5\0\0\0\0\0\0\0hello\10\2\0\0\0\10\0\0\0\0\4hi";
    add(split, sizeof split - 1);
    add(whole, sizeof whole - 1);
    add(shared, sizeof shared - 1);
    add(asked, sizeof asked - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fds[2];
    if (size == 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return 0;
    if (data[0] & WORKER) worker(fds, data + 1, size - 1);
    else host(fds, data + 1, size - 1);
    return 0;
}
