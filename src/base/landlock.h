/* landlock.h - what a thread may do with files from now on, decided by the kernel (Linux 5.13 and
** newer). What a rule set handles is refused but for what its rules allow; the thread that enters
** it, and whatever it starts, cannot leave it. Rights that this kernel does not know are left out.
**
** Spelt out here, since the headers of the machine that builds may be older than the kernel of the
** one that runs. Reference: landlock(7).
*/
#ifndef GILUA_LANDLOCK_H
#define GILUA_LANDLOCK_H

#include "base/base.h"

enum {
    LANDLOCK_EXECUTE = 1 << 0,
    LANDLOCK_WRITE_FILE = 1 << 1,
    LANDLOCK_READ_FILE = 1 << 2,
    LANDLOCK_READ_DIR = 1 << 3,
    LANDLOCK_REMOVE_DIR = 1 << 4,
    LANDLOCK_REMOVE_FILE = 1 << 5,
    LANDLOCK_MAKE_DIR = 1 << 7,
    LANDLOCK_MAKE_REG = 1 << 8,
    LANDLOCK_MAKE_ALL = 0x7f << 6, /* devices, folders, files, sockets, pipes, links */
    LANDLOCK_REFER = 1 << 13,      /* move between folders: from version 2 on */
    LANDLOCK_TRUNCATE = 1 << 14,   /* 3 */
    LANDLOCK_IOCTL_DEV = 1 << 15,  /* 5 */

    LANDLOCK_READ = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR,
    LANDLOCK_CHANGE = 0xffff & ~LANDLOCK_READ, /* all but reading */
};

int landlock_version(void); /* 0: this kernel has none */

/* A rule set that handles these rights and, with alone, TCP (from version 4 on) and signals and
** abstract sockets to processes outside (6). A descriptor; -1 with errno. */
int landlock_rules(unsigned rights, bool alone);
/* Allows rights at a file or below a folder; what is not there needs no rule. For a file, of rights
** those that files have. */
bool landlock_allow(int rules, const char *path, unsigned rights);
/* Gives up new privileges, enters the rule set and closes it. False with errno. */
bool landlock_enter(int rules);

#endif
