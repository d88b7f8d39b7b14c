/* nobody.h - checks that only somebody without privileges can make: permissions are not asked of
** root. Between nobody_begin and nobody_end a test that root started is the user nobody; who is not
** root stays himself. */
#ifndef GILUA_NOBODY_H
#define GILUA_NOBODY_H

#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static bool nobody_changed;

__attribute__((unused)) static void nobody_end(void) {
    if (nobody_changed && (seteuid(0) != 0 || setegid(0) != 0)) abort();
    nobody_changed = false;
}

/* False, with the reason in the place of the checks, where root cannot be somebody else: in a
** container that may not change users, or a user namespace that knows of no other. */
__attribute__((unused)) static bool nobody_begin(const char *what) {
    if (geteuid() != 0) return true;
    if (setegid(NOBODY) == 0 && seteuid(NOBODY) == 0) return nobody_changed = true;
    int reason = errno;
    if (setegid(0) != 0) abort();
    ok(true, "%s # SKIP root cannot become nobody here: %s", what, strerror(reason));
    return false;
}

/* A new folder in $TMPDIR that anybody may use, and the way there; the test goes into it. */
__attribute__((unused)) static void nobody_folder(void) {
    const char *tmp = getenv("TMPDIR");
    char path[4096];
    struct stat st;
    if (tmp && stat(tmp, &st) == 0 && st.st_uid == geteuid()) chmod(tmp, st.st_mode | 0111);
    snprintf(path, sizeof path, "%s/gilua-test-XXXXXX", tmp ? tmp : "/tmp");
    if (mkdtemp(path) == NULL || chmod(path, 0777) != 0 || chdir(path) != 0) {
        perror(path);
        exit(1);
    }
}

#endif
