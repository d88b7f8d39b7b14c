/* How many processors a process may use: what it is bound to, and what its control group allows.
** What memory is free: the machine's, and what its group is allowed yet. */
#include "base/base.h"
#include "tap.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (!ok(f != NULL, "%s is written", path)) return;
    fputs(text, f);
    fclose(f);
}

static int of(const char *line) {
    put("cgroup", line);
    return gi_cores_of_group("cgroup", "groups");
}

static void groups(void) {
    mkdir("groups", 0700), mkdir("groups/a", 0700), mkdir("groups/a/b", 0700);
    is_int(of("0::/a/b\n"), 0, "groups that say nothing limit nothing");
    put("groups/a/b/cpu.max", "max 100000\n");
    is_int(of("0::/a/b\n"), 0, "nor does one whose limit is none");
    put("groups/a/cpu.max", "250000 100000\n");
    is_int(of("0::/a/b\n"), 3, "two and a half processors of the group above are three");
    put("groups/a/b/cpu.max", "100000 100000\n");
    is_int(of("0::/a/b\n"), 1, "the least of them counts");
    is_int(of("0::/a\n"), 3, "a group below does not");
    put("groups/cpu.max", "200000 100000\n");
    is_int(of("0::/\n"), 2, "a container sees its own as the first one");
    is_int(of("12:cpu:/x\n0::/a\n"), 2, "lines of version 1 are passed over");
    is_int(of("12:cpu:/a\n"), 0, "alone they say nothing");
    put("groups/a/b/cpu.max", "-5 nonsense\n");
    is_int(of("0::/a/b\n"), 2, "what cannot be read is no limit");
    is_int(gi_cores_of_group("not there", "groups"), 0, "nor is what is not there");
}

static size_t memory_of(const char *line) {
    put("cgroup", line);
    return gi_memory_of_group("cgroup", "groups");
}

static void memory(void) {
    ok(memory_of("0::/a/b\n") == SIZE_MAX, "groups that say nothing of memory limit none");
    put("groups/a/b/memory.max", "max\n");
    put("groups/a/b/memory.current", "4000\n");
    ok(memory_of("0::/a/b\n") == SIZE_MAX, "nor does one whose limit is none");
    put("groups/a/memory.max", "10000\n");
    ok(memory_of("0::/a/b\n") == SIZE_MAX, "nor one that does not say what it uses");
    put("groups/a/memory.current", "7000\n");
    is_int(memory_of("0::/a/b\n"), 3000, "what the group above may use more");
    put("groups/a/memory.stat", "anon 3000\nfile 4000\nactive_file 1500\ninactive_file 2500\n");
    is_int(memory_of("0::/a/b\n"), 5500, "what files hold that can be read again is free");
    put("groups/a/b/memory.max", "4500\n");
    is_int(memory_of("0::/a/b\n"), 500, "the least of them counts");
    put("groups/a/b/memory.max", "3000\n");
    is_int(memory_of("0::/a/b\n"), 0, "there is no less than none");
    ok(gi_memory_of_group("not there", "groups") == SIZE_MAX, "what is not there is no limit");
    const size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    ok(gi_memory() > 0 && gi_memory() <= all, "some of the machine's memory is free");
    ok(gi_memory() <= gi_memory_size() && gi_memory_size() <= all, "and no more than it has");
}

static void bound(void) {
    cpu_set_t all, one;
    is_int(sched_getaffinity(0, sizeof all, &all), 0, "the processors that it is bound to");
    ok(gi_cores() >= 1 && gi_cores() <= CPU_COUNT(&all), "no more than it is bound to");
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    is_int(sched_setaffinity(0, sizeof one, &one), 0, "it is bound to one");
    is_int(gi_cores(), 1, "  and that is what it may use");
}

int main(void) {
    char folder[] = "/tmp/gilua-cores-XXXXXX", remove[100];
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) return 1;
    groups();
    memory();
    bound();
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    if (system(remove) != 0) return 1;
    return tap_done();
}
