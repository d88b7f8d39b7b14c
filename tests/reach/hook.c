/* hook.c - counts which blocks of C a test reaches: `make reach` links it into every program and library.
**
** gcc's -fsanitize-coverage=trace-pc calls a function at the begin of each block. It sets a byte for
** the place that called it, in a file of REACH/TEST (tests/run) named like the program or library.
** The file is mapped as the program begins: so a box does not hinder it, nor does a kill lose it.
** The file has a hole where nothing was reached. tests/reach/list.py reads it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 64 << 20 }; /* bytes of a program's code, and more */

extern char __ehdr_start __attribute__((visibility("hidden")));
static char *map;

void __sanitizer_cov_trace_pc(void);

__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void) {
    if (!map) return;
    size_t at = (size_t)((char *)__builtin_return_address(0) - &__ehdr_start);
    if (at < SIZE && !map[at]) map[at] = 1;
}

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("REACHED");
    Dl_info info;
    char path[4096];
    if (!folder || !dladdr(&map, &info)) return;
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof path, "%s/%s", folder, slash ? slash + 1 : info.dli_fname);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, SIZE) != 0) return;
    void *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at != MAP_FAILED) map = at;
}
