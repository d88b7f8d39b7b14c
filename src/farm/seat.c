/* seat.c - the worker's side of farm.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "farm/channel.h"
#include "farm/farm.h"

struct FarmSeat {
    Channel channel;
};

/* The host has gone (PR_SET_PDEATHSIG, see spawn.c): its group goes, this process included. In a
** box it may signal itself alone, and has no group. */
static void end_group(int number) {
    (void)number;
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    kill(getpid(), SIGKILL);
}

FarmSeat *farm_join(int fd) {
    FarmSeat *s = gi_alloc(sizeof *s);
    fcntl(fd, F_SETFD, FD_CLOEXEC); /* a program it starts must not hold the socket open */
    signal(SIGINT, SIG_IGN);        /* Ctrl-C is the host's business */
    signal(SIGTERM, end_group);
    channel_open(&s->channel, fd);
    return s;
}

void farm_leave(FarmSeat *s) {
    if (s == NULL) return;
    channel_free(&s->channel);
    free(s);
}

/* Waits until the socket can be read or written. */
static void wait_for(const FarmSeat *s, short events) {
    struct pollfd p = {s->channel.fd, events, 0};
    while (poll(&p, 1, -1) < 0 && errno == EINTR) {}
}

bool farm_receive(FarmSeat *s, gi_buf *out, Share **share) {
    gi_err why;
    for (;;) {
        ChannelTake taken = channel_take(&s->channel, out, share, &why);
        if (taken != CHANNEL_NONE) return taken == CHANNEL_TOOK;
        wait_for(s, POLLIN);
        if (channel_fill(&s->channel, &why) == CHANNEL_OPEN) continue;
        return channel_take(&s->channel, out, share, &why) == CHANNEL_TOOK;
    }
}

bool farm_answer(FarmSeat *s, const void *bytes, size_t len, Share *share) {
    channel_put(&s->channel, bytes, len, share);
    while (channel_flush(&s->channel)) {
        if (!channel_has_output(&s->channel)) return true;
        wait_for(s, POLLOUT);
    }
    return false;
}
