/* short_reads.c - sockets that are interrupted and give little at a time, for tests/cli/short_reads.t:
** loaded before the C library, the SHORT_AT-th recvmsg or sendmsg of a process (-1: each) ends with
** EINTR, and the one after it moves SHORT_BYTES bytes at most. Leaves a file short.happened in the
** folder it runs in; where SHORT_AT is 0, short.count says how many calls there were.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static long count;

static long number(const char *name, long fallback) {
    const char *text = getenv(name);
    return text ? atol(text) : fallback;
}

__attribute__((destructor)) static void end(void) {
    FILE *f = count > 0 && number("SHORT_AT", 1) == 0 ? fopen("short.count", "w") : NULL;
    if (f == NULL) return;
    fprintf(f, "%ld\n", count);
    fclose(f);
}

typedef ssize_t Call(int fd, struct msghdr *m, int flags);

static ssize_t disturbed(Call *real, int fd, struct msghdr *m, int flags, bool *was_interrupted) {
    const long at = number("SHORT_AT", 0);
    if (*was_interrupted) {
        struct iovec *part = m->msg_iov;
        const size_t most = (size_t)number("SHORT_BYTES", 1), len = part->iov_len;
        *was_interrupted = false;
        if (len > most) part->iov_len = most;
        const ssize_t n = real(fd, m, flags);
        part->iov_len = len;
        return n;
    }
    if (++count != at && at != -1) return real(fd, m, flags);
    close(open("short.happened", O_CREAT | O_WRONLY, 0666));
    *was_interrupted = true;
    errno = EINTR;
    return -1;
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags) {
    static Call *real;
    static bool interrupted;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
    return disturbed(real, fd, m, flags, &interrupted);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags) {
    static Call *real;
    static bool interrupted;
    struct msghdr copy = *m;
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
    return disturbed(real, fd, &copy, flags, &interrupted);
}
