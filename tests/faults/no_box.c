/* no_box.c - a machine without the box of workers, for tests/cli/no_box.t: no_box WHAT PROGRAM WORD…
** runs a program for which Landlock or seccomp is not there, as on a kernel that was built without.
** A filter of seccomp sees to it, which nothing that the program does can take off.
**
** WHAT: "landlock": its calls do not exist. "seccomp": neither do those of seccomp. "filters": it
** is there, as far as it says, and takes no filter.
*/
#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int refuse_landlock(scmp_filter_ctx filter) {
    enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };
    int result = 0;
    for (int call = CREATE_RULESET; call <= RESTRICT_SELF && result == 0; call++)
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0);
    return result;
}

static int refuse_seccomp(scmp_filter_ctx filter, bool all) {
    enum { SET_MODE_FILTER = 1 };
    const struct scmp_arg_cmp set = {0, SCMP_CMP_EQ, PR_SET_SECCOMP, 0},
                              take = {0, SCMP_CMP_EQ, SET_MODE_FILTER, 0};
    const int result = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp),
                                              all ? 0 : 1, &take);
    if (result != 0) return result;
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1, &set);
}

int main(int argc, char **argv) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter == NULL || argc < 3) return 2;
    const bool files = strcmp(argv[1], "landlock") == 0, all = strcmp(argv[1], "seccomp") == 0;
    if ((files ? refuse_landlock(filter) : refuse_seccomp(filter, all)) != 0) return 2;
    if (seccomp_load(filter) != 0) return 2;
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 2;
}
