/* channel.c - see channel.h.
**
** Both queues are flat buffers with a mark of what is done; the rest is moved to the front only
** when less is left than was done, so every byte is moved at most once however long the queue is.
*/
#include "farm/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "farm/farm.h"

typedef struct Head {
    uint32_t length, shares;
} Head;

void channel_open(Channel *c, int fd) {
    *c = (Channel){
        .fd = fd, .out = c->out, .in = c->in, .shares = c->shares, .cap_shares = c->cap_shares};
    gi_buf_clear(&c->out);
    gi_buf_clear(&c->in);
}

void channel_close(Channel *c) {
    if (c->fd < 0) return;
    close(c->fd);
    for (int i = c->first_share; i < c->n_shares; i++) share_unref(c->shares[i].share);
    for (int i = 0; i < c->n_fds; i++) close(c->fds[i]);
    channel_open(c, -1);
}

void channel_free(Channel *c) {
    channel_close(c);
    gi_buf_free(&c->out);
    gi_buf_free(&c->in);
    free(c->shares);
    *c = (Channel){.fd = -1};
}

/* Forgets the first *done bytes once they are the larger part. */
static size_t compact(gi_buf *b, size_t *done) {
    size_t forgotten = *done;
    if (forgotten == 0 || forgotten < b->len - forgotten) return 0;
    memmove(b->data, b->data + forgotten, b->len - forgotten);
    b->len -= forgotten;
    *done = 0;
    return forgotten;
}

/* --- sending --- */

void channel_put(Channel *c, const void *bytes, size_t len, Share *share) {
    Head head = {(uint32_t)len, share != NULL};
    if (share) {
        gi_grow(c->shares, c->n_shares, c->cap_shares);
        c->shares[c->n_shares++] = (ChannelShare){c->out_base + c->out.len, share_ref(share)};
    }
    gi_buf_add(&c->out, (const char *)&head, sizeof head);
    gi_buf_add(&c->out, bytes, len);
}

bool channel_has_output(const Channel *c) {
    return c->out_done < c->out.len;
}

/* Writes up to `len` bytes, with a descriptor when fd >= 0. */
static ssize_t write_some(int socket, const char *bytes, size_t len, int fd) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec part = {(void *)(uintptr_t)bytes, len};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = &control;
        m.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    return sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* One write: from a frame with a share up to the next such frame. */
static ssize_t flush_part(Channel *c) {
    uint64_t at = c->out_base + c->out_done, end = c->out_base + c->out.len;
    int fd = -1, next = c->first_share;
    if (next < c->n_shares && c->shares[next].at == at) fd = share_fd(c->shares[next++].share);
    if (next < c->n_shares) end = c->shares[next].at;
    ssize_t n = write_some(c->fd, c->out.data + c->out_done, (size_t)(end - at), fd);
    if (n > 0 && fd >= 0) share_unref(c->shares[c->first_share++].share);
    if (c->first_share == c->n_shares) c->first_share = c->n_shares = 0;
    return n;
}

bool channel_flush(Channel *c) {
    bool alive = true;
    while (alive && channel_has_output(c)) {
        ssize_t n = flush_part(c);
        if (n > 0) c->out_done += (size_t)n;
        else if (n < 0 && errno == EINTR) continue;
        /* ETOOMANYREFS: too many descriptors are on their way; some will arrive */
        else if (n < 0 && (errno == EAGAIN || errno == ETOOMANYREFS)) break;
        else alive = false;
    }
    c->out_base += compact(&c->out, &c->out_done);
    return alive;
}

/* --- receiving --- */

static bool keep_fds(Channel *c, struct msghdr *m, gi_err *err) {
    bool wanted = true, any = false;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
        size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            any = true;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
            if (c->n_fds < CHANNEL_MAX_FDS) c->fds[c->n_fds++] = fd;
            else close(fd), wanted = false;
        }
    }
    bool cut = m->msg_flags & MSG_CTRUNC; /* some were dropped: too many, or no number was free */
    if (cut && !any)
        return gi_fail(err, "io",
                       "the arrays it sent could not be received: this process has too "
                       "many files open (see ulimit -n)");
    return (wanted && !cut) ||
           gi_fail(err, "format", "it sent descriptors that no message speaks of");
}

bool channel_has_message(const Channel *c) {
    Head head;
    size_t len = c->in.len - c->in_done;
    if (len < sizeof head) return false;
    memcpy(&head, c->in.data + c->in_done, sizeof head);
    return head.length > FARM_MAX_MESSAGE || len - sizeof head >= head.length;
}

ChannelState channel_fill(Channel *c, gi_err *err) {
    char chunk[65536];
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    while (!channel_has_message(c)) {
        struct iovec part = {chunk, sizeof chunk};
        struct msghdr m = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
        ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return CHANNEL_OPEN;
        if (n <= 0) return CHANNEL_ENDED;
        if (!keep_fds(c, &m, err)) return CHANNEL_BROKEN;
        compact(&c->in, &c->in_done);
        gi_buf_add(&c->in, chunk, (size_t)n);
    }
    return CHANNEL_OPEN;
}

static ChannelTake nonsense(gi_err *err, const char *what) {
    gi_fail(err, "format", "%s", what);
    return CHANNEL_NONSENSE;
}

ChannelTake channel_take(Channel *c, gi_buf *out, Share **share, gi_err *err) {
    Head head;
    if (!channel_has_message(c)) return CHANNEL_NONE;
    memcpy(&head, c->in.data + c->in_done, sizeof head);
    if (head.length > FARM_MAX_MESSAGE || head.shares > 1)
        return nonsense(err, "it sent what is no message");
    if (head.shares && c->n_fds == 0) return nonsense(err, "it announced arrays and sent none");
    *share = NULL;
    if (head.shares) {
        int fd = c->fds[0];
        memmove(c->fds, c->fds + 1, (size_t)--c->n_fds * sizeof c->fds[0]);
        *share = share_from_fd(fd, err);
        if (*share == NULL) return CHANNEL_NONSENSE;
    }
    gi_buf_clear(out);
    gi_buf_add(out, c->in.data + c->in_done + sizeof head, head.length);
    c->in_done += sizeof head + head.length;
    compact(&c->in, &c->in_done);
    return CHANNEL_TOOK;
}
