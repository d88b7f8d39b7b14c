/* full_disk.c - a disk without room, for tests/cli/results.t: loaded before the C library, it fails
** the FULL_AT-th write to a file below FULL_BELOW, and those after it, FULL_TIMES in all, with
** ENOSPC; half of what was to be written is. Leaves a file full.failed in the folder it runs in.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long number(const char *name, long fallback) {
    const char *text = getenv(name);
    return text ? atol(text) : fallback;
}

static int is_below(int fd) {
    const char *folder = getenv("FULL_BELOW");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0 || folder == NULL) return 0;
    path[n] = '\0';
    return strncmp(path, folder, strlen(folder)) == 0;
}

ssize_t write(int fd, const void *bytes, size_t len) {
    static long count;
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (!is_below(fd)) return real(fd, bytes, len);
    long nth = ++count - number("FULL_AT", 0);
    if (nth < 0 || nth >= number("FULL_TIMES", 2)) return real(fd, bytes, len);
    close(open("full.failed", O_CREAT | O_WRONLY, 0666));
    if (nth == 0 && len > 1) return real(fd, bytes, len / 2);
    errno = ENOSPC;
    return -1;
}
