/* cores.c - processors and memory that this process may use. See base.h. */
#include "base/base.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int bound_to(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN); /* more than a set holds */
    return n > 0 ? (int)n : 1;
}

/* "200000 100000": 200 ms of processors in each 100 ms. "max 100000": no limit. */
static size_t allowed_by(const char *folder) {
    char path[PATH_MAX + 16];
    long long quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *f = fopen(path, "r");
    if (f == NULL) return SIZE_MAX;
    int n = fscanf(f, "%lld %lld", &quota, &period);
    fclose(f);
    if (n != 2 || quota <= 0 || period <= 0) return SIZE_MAX;
    const long long cores = (quota + period - 1) / period;
    return cores < INT_MAX ? (size_t)cores : SIZE_MAX;
}

/* The number behind `name`, with which a line of the file begins; SIZE_MAX: there is none. */
static size_t number_of(const char *folder, const char *file, const char *name) {
    char path[PATH_MAX + 16], line[256];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "r");
    if (f == NULL) return SIZE_MAX;
    unsigned long long n = 0;
    bool found = false;
    const size_t length = strlen(name);
    while (!found && fgets(line, sizeof line, f))
        found = strncmp(line, name, length) == 0 && sscanf(line + length, "%llu", &n) == 1;
    fclose(f);
    return found ? (size_t)n : SIZE_MAX;
}

static size_t most_of(const char *folder) {
    return number_of(folder, "memory.max", "");
}

/* What files hold that can be read again counts as free. */
static size_t free_of(const char *folder) {
    const size_t most = most_of(folder),
                 used = number_of(folder, "memory.current", "");
    if (most == SIZE_MAX || used == SIZE_MAX) return SIZE_MAX;
    const size_t files = number_of(folder, "memory.stat", "inactive_file "),
                 held = files < used ? used - files : used;
    return held < most ? most - held : 0;
}

/* The group of this process: the line "0::/a/b" of version 2. */
static bool read_group(const char *cgroup, char *group, size_t size) {
    FILE *f = fopen(cgroup, "r");
    if (f == NULL) return false;
    bool found = false;
    while (!found && fgets(group, (int)size, f)) found = strncmp(group, "0::/", 4) == 0;
    fclose(f);
    if (!found) return false;
    group[strcspn(group, "\n")] = '\0';
    memmove(group, group + 3, strlen(group + 3) + 1);
    return true;
}

/* The least that the group and those above it say; SIZE_MAX where none says anything. */
static size_t least_of(const char *cgroup, const char *root, size_t of(const char *folder)) {
    char group[PATH_MAX / 2], folder[PATH_MAX];
    size_t least = SIZE_MAX;
    if (!read_group(cgroup, group, sizeof group)) return least;
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s", root, group);
        const size_t said = of(folder);
        if (said < least) least = said;
        char *last = strrchr(group, '/');
        if (last == NULL) return least;
        *last = '\0';
    }
}

int gi_cores_of_group(const char *cgroup, const char *root) {
    const size_t least = least_of(cgroup, root, allowed_by);
    return least == SIZE_MAX ? 0 : (int)least;
}

int gi_cores(void) {
    const int bound = bound_to();
    const int allowed = gi_cores_of_group("/proc/self/cgroup", "/sys/fs/cgroup");
    return allowed > 0 && allowed < bound ? allowed : bound;
}

size_t gi_memory_of_group(const char *cgroup, const char *root) {
    return least_of(cgroup, root, free_of);
}

/* The least of what the machine says in /proc/meminfo and what its control groups say. */
static size_t memory(const char *name, size_t of(const char *folder)) {
    const size_t kib = number_of("/proc", "meminfo", name),
                 all = kib == SIZE_MAX ? SIZE_MAX : kib << 10,
                 ours = least_of("/proc/self/cgroup", "/sys/fs/cgroup", of);
    return ours < all ? ours : all;
}

size_t gi_memory(void) {
    return memory("MemAvailable:", free_of);
}

size_t gi_memory_size(void) {
    return memory("MemTotal:", most_of);
}
