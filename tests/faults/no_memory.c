/* no_memory.c - a machine without memory, for tests/cli/no_memory.t: loaded before the C library, it
** makes the FAIL_AT-th allocation fail and those after it, FAIL_TIMES in all. They are counted from
** the start or, with FAIL_LATER, from where the program asks for the variable FAIL_FROM_HERE; in
** the host, or, with FAIL_WORKER, in the workers, of which then the first alone goes without.
**
** Only what gilua and the C library ask for fails. NVRTC and the C++ library end the process where
** they get nothing, whoever called them. Leaves a file memory.failed in the folder $FAIL_TELLS; where
** FAIL_AT is 0, memory.count says how many there were.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

typedef struct Range {
    uintptr_t from, to;
} Range;

static Range ours[2]; /* the program and the C library */
static int n_ours;
static long count, first, last;
static bool is_meant, counts; /* this process; from now on */
static char tells[4096];

static const char *variable(const char *name) {
    size_t n = strlen(name);
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=') return *e + n + 1;
    return NULL;
}

static long number(const char *name, long fallback) {
    const char *text = variable(name);
    return text ? atol(text) : fallback;
}

static int add_range(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    if (n_ours == 2 || (*info->dlpi_name && !strstr(info->dlpi_name, "/libc.so"))) return 0;
    uintptr_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            end = info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    ours[n_ours++] = (Range){info->dlpi_addr, info->dlpi_addr + end};
    return 0;
}

static bool is_worker(void) {
    char text[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
    if (fd >= 0) close(fd);
    return n > 0 && memmem(text, (size_t)n, "--worker", 8) != NULL;
}

__attribute__((constructor)) static void begin(void) {
    bool workers = number("FAIL_WORKER", 0);
    snprintf(tells, sizeof tells, "%s/memory.failed", variable("FAIL_TELLS"));
    if (is_worker() != workers || (workers && access(tells, F_OK) == 0)) return;
    dl_iterate_phdr(add_range, NULL);
    is_meant = true;
    first = number("FAIL_AT", 0);
    last = first + number("FAIL_TIMES", 1);
    counts = !variable("FAIL_LATER");
}

/* Now and then, since a worker does not live to say it at its end. */
static void tell_count(void) {
    char text[32], path[4096];
    int n = snprintf(text, sizeof text, "%ld\n", count);
    snprintf(path, sizeof path, "%s/memory.count", variable("FAIL_TELLS"));
    int fd = open(path, O_CREAT | O_WRONLY, 0666);
    if (write(fd, text, (size_t)n) < n) perror(path);
    close(fd);
}

__attribute__((destructor)) static void end(void) {
    if (is_meant && first == 0) tell_count();
}

static bool is_ours(const void *caller) {
    for (int i = 0; i < n_ours; i++)
        if ((uintptr_t)caller >= ours[i].from && (uintptr_t)caller < ours[i].to) return true;
    return false;
}

static bool fails(const void *caller) {
    if (!counts || !is_ours(caller)) return false;
    long nth = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (first == 0 && nth % 256 == 0) tell_count();
    if (nth < first || nth >= last) return false;
    close(open(tells, O_CREAT | O_WRONLY, 0666));
    errno = ENOMEM;
    return true;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t n) {
    return FAILS ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    return FAILS ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    return n > 0 && FAILS ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
    return FAILS ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n) {
    if (FAILS) return ENOMEM;
    *p = __libc_memalign(alignment, n);
    return *p ? 0 : ENOMEM;
}

char *getenv(const char *name) {
    if (strcmp(name, "FAIL_FROM_HERE") == 0 && is_meant) counts = true;
    return (char *)(uintptr_t)variable(name);
}
