/* cores.c - processors that this process may use. See base.h. */
#include "base/base.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
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
static int allowed_by(const char *folder) {
    char path[PATH_MAX + 16];
    long long quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *f = fopen(path, "r");
    if (f == NULL) return 0;
    int n = fscanf(f, "%lld %lld", &quota, &period);
    fclose(f);
    if (n != 2 || quota <= 0 || period <= 0) return 0;
    const long long cores = (quota + period - 1) / period;
    return cores < INT_MAX ? (int)cores : 0;
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

int gi_cores_of_group(const char *cgroup, const char *root) {
    char group[PATH_MAX / 2], folder[PATH_MAX];
    int least = 0;
    if (!read_group(cgroup, group, sizeof group)) return 0;
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s", root, group);
        const int allowed = allowed_by(folder);
        if (allowed > 0 && (least == 0 || allowed < least)) least = allowed;
        char *last = strrchr(group, '/');
        if (last == NULL) return least;
        *last = '\0';
    }
}

int gi_cores(void) {
    const int bound = bound_to();
    const int allowed = gi_cores_of_group("/proc/self/cgroup", "/sys/fs/cgroup");
    return allowed > 0 && allowed < bound ? allowed : bound;
}
