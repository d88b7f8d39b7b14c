/* file.h - files that hold what a person waited for: each write is whole or did not happen.
**
** Codes of failure: "full" where there is no room on the disk (or in the quota), which a caller may
** wait for; "busy" where somebody else holds a lock; "io" for the rest.
*/
#ifndef GILUA_FILE_H
#define GILUA_FILE_H

#include "base/base.h"

/* Writes a whole file: beside it, synced, and then moved into its place, so that whoever looks, and
** whenever the machine stops, finds the old text or the new one. A link stays a link, also one to
** what is not there yet; what was there keeps its permissions, and its owner where that may be. A
** file that is write-protected stays as it is. In a folder where no file can be made one that is
** there is written in place, once there is room for all of it; so are pipes and devices. */
bool gi_file_write(const char *path, const void *bytes, size_t len, gi_err *err);

/* A text that grows: what is added is there wholly or not at all. */
typedef struct gi_journal {
    char *path; /* NULL: closed */
    int fd;
    int64_t end;
} gi_journal;

bool gi_journal_open(gi_journal *j, const char *path, gi_err *err); /* empties the file */
bool gi_journal_add(gi_journal *j, const void *bytes, size_t len, gi_err *err);
void gi_journal_close(gi_journal *j);

/* Holds a file that says who holds it, until the descriptor is closed or the process ends. -1 where
** somebody else does, three seconds on end, for a process that was killed takes its time: then
** err's message is what that one wrote (nothing, if its disk was full). */
int gi_lock(const char *path, const char *who, gi_err *err);
void gi_unlock(int fd, const char *path); /* removes the file, too */
bool gi_is_locked(const char *path);      /* does anybody hold it? Who asks, does not */

/* Makes a symbolic link, in place of one that is there; anything else that is there stays. */
bool gi_file_link(const char *target, const char *path, gi_err *err);

#endif
