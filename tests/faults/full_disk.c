/* full_disk.c - a disk without room, for tests/cli/results.t and full_disk.t: loaded before the C
** library, it fails the FULL_AT-th write to a file below FULL_BELOW, and those after it, FULL_TIMES
** in all, with ENOSPC; half of what was to be written is. Leaves a file full.failed in the folder it
** runs in; where FULL_AT is 0, full.count says how many writes there were.
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

static long count;

__attribute__((destructor)) static void end(void) {
    FILE *f = count > 0 && number("FULL_AT", 1) == 0 ? fopen("full.count", "w") : NULL;
    if (f == NULL) return;
    fprintf(f, "%ld\n", count);
    fclose(f);
}

/* How much of so many bytes there is room for. */
static size_t room(int fd, size_t len) {
    if (!is_below(fd)) return len;
    long at = number("FULL_AT", 0), nth = ++count - at;
    if (at == 0 || nth < 0 || nth >= number("FULL_TIMES", 2)) return len;
    close(open("full.failed", O_CREAT | O_WRONLY, 0666));
    return nth == 0 ? len / 2 : 0;
}

ssize_t write(int fd, const void *bytes, size_t len) {
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "write");
    const size_t most = room(fd, len);
    if (most > 0 || len == 0) return real(fd, bytes, most);
    errno = ENOSPC;
    return -1;
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    const size_t most = room(fd, len);
    if (most > 0 || len == 0) return real(fd, bytes, most, at);
    errno = ENOSPC;
    return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at) {
    return pwrite64(fd, bytes, len, at);
}
