/* folder.c - see folder.h. */
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st, (void)kind, (void)where;
    remove(path);
    return 0;
}

static void remove_all(const char *path) {
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Holds the folder of that name; -1 where it is none, or somebody holds it. */
static int hold(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    close(fd);
    return -1;
}

/* Is what is held still what that path leads to? */
static bool is_there(int fd, const char *path) {
    struct stat held, there;
    return fstat(fd, &held) == 0 && lstat(path, &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

/* --- what others have left */

/* gilua-PID-XXXXXX */
static bool is_name(const char *name) {
    if (strncmp(name, "gilua-", 6) != 0) return false;
    size_t digits = strspn(name + 6, "0123456789");
    const char *rest = name + 6 + digits;
    return digits > 0 && rest[0] == '-' && strlen(rest) == 7 && !strpbrk(rest, "./");
}

/* Nobody but this user can have put it there or what is in it. */
static bool is_own(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700;
}

static void remove_left(const char *path) {
    int fd = hold(path);
    if (fd < 0) return;
    if (is_own(fd) && is_there(fd, path)) remove_all(path);
    close(fd);
}

/* Can only its owner move what is in a folder? */
static bool is_safe(DIR *dir) {
    struct stat st;
    return fstat(dirfd(dir), &st) == 0 && ((st.st_mode & S_ISVTX) || !(st.st_mode & 022));
}

static void remove_others(const char *tmp) {
    DIR *dir = opendir(tmp);
    const struct dirent *entry;
    while (dir && is_safe(dir) && (entry = readdir(dir))) {
        if (!is_name(entry->d_name)) continue;
        gi_buf path = {0};
        gi_buf_addf(&path, "%s/%s", tmp, entry->d_name);
        remove_left(path.data);
        gi_buf_free(&path);
    }
    if (dir) closedir(dir);
}

/* --- one's own */

/* Makes and holds one. False: errno is why; EAGAIN: another process took it away too early.
** A file system without locks holds nothing, and nothing is taken away there. */
static bool make(gi_folder *f) {
    if (!mkdtemp(f->path)) return false;
    f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool held = f->fd >= 0 && (flock(f->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
    if (held && is_there(f->fd, f->path)) return true;
    int reason = f->fd >= 0 || errno == ENOENT ? EAGAIN : errno;
    if (f->fd >= 0) close(f->fd);
    rmdir(f->path);
    errno = reason;
    return false;
}

bool gi_folder_open(gi_folder *f, gi_err *err) {
    static bool has_looked;
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !*tmp) tmp = "/tmp";
    if (!has_looked) remove_others(tmp);
    has_looked = true;
    gi_buf path = {0};
    do {
        gi_buf_free(&path);
        gi_buf_addf(&path, "%s/gilua-%d-XXXXXX", tmp, (int)getpid());
        *f = (gi_folder){.path = path.data, .fd = -1};
        if (make(f)) return true;
    } while (errno == EAGAIN);
    bool full = errno == ENOSPC || errno == EDQUOT;
    gi_fail(err, full ? "full" : "io", "cannot make a folder for temporary files like %s: %s",
            f->path, strerror(errno));
    gi_buf_free(&path);
    f->path = NULL;
    return false;
}

void gi_folder_close(gi_folder *f) {
    if (!f->path) return;
    remove_all(f->path);
    close(f->fd);
    free(f->path);
    f->path = NULL;
}
