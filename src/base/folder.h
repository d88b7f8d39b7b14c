/* folder.h - folders for files that nobody wants afterwards.
**
** Each is held (flock on the folder itself) as long as its process lives, so that what a killed one
** has left is known for that: the next process of the same user that makes a folder there takes it
** away. Only folders of such a name, of this user's and closed to others, that nobody holds are
** touched; no link is followed, and no other file system entered.
*/
#ifndef GILUA_FOLDER_H
#define GILUA_FOLDER_H

#include "base/base.h"

typedef struct gi_folder {
    char *path; /* NULL: closed */
    int fd;
} gi_folder;

/* A new folder, gilua-PID-XXXXXX, in $TMPDIR or in /tmp. */
bool gi_folder_open(gi_folder *f, gi_err *err);
void gi_folder_close(gi_folder *f); /* removes it, with all that is in it */

#endif
