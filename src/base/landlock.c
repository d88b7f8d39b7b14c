/* landlock.c - see landlock.h. */
#include "base/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CREATE_RULESET = 444,
    ADD_RULE,
    RESTRICT_SELF, /* the calls */
    RULESET_VERSION = 1,
    RULE_PATH_BENEATH = 1
};

typedef struct Ruleset {
    uint64_t fs, net, scoped; /* net from version 4 on, scoped from 6 */
} Ruleset;

typedef struct __attribute__((packed)) PathRule {
    uint64_t allowed;
    int32_t parent;
} PathRule;

int landlock_version(void) {
    const long version = syscall(CREATE_RULESET, NULL, 0, RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

static unsigned known_rights(int version) {
    unsigned rights = LANDLOCK_REFER - 1;
    if (version >= 2) rights |= LANDLOCK_REFER;
    if (version >= 3) rights |= LANDLOCK_TRUNCATE;
    if (version >= 5) rights |= LANDLOCK_IOCTL_DEV;
    return rights;
}

int landlock_rules(unsigned rights, bool alone) {
    const int version = landlock_version();
    const Ruleset r = {rights & known_rights(version), alone && version >= 4 ? 3 : 0,
                       alone && version >= 6 ? 3 : 0};
    const size_t size = version >= 6 ? sizeof r : version >= 4 ? 16 : 8;
    return (int)syscall(CREATE_RULESET, &r, size, 0);
}

bool landlock_allow(int rules, const char *path, unsigned rights) {
    const unsigned of_files = LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE |
                              LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV;
    const int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return true;
    rights &= known_rights(landlock_version());
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) rights &= of_files;
    const PathRule rule = {rights, fd};
    const bool done = syscall(ADD_RULE, rules, RULE_PATH_BENEATH, &rule, 0) == 0;
    close(fd);
    return done;
}

bool landlock_enter(int rules) {
    const bool done =
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(RESTRICT_SELF, rules, 0) == 0;
    const int reason = errno;
    close(rules);
    errno = reason;
    return done;
}
