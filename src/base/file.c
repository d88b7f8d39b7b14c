/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool failed(gi_err *err, const char *what, const char *path, int reason) {
    bool full = reason == ENOSPC || reason == EDQUOT;
    return gi_fail(err, full ? "full" : "io", "cannot %s %s: %s", what, path, gi_reason(reason));
}

/* All of it; false leaves the reason in errno. */
static bool write_all(int fd, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

/* Closes, and says whether all went well; errno is that of the first failure. */
static bool ended(int fd, bool well) {
    int reason = errno;
    bool closed = close(fd) == 0;
    if (!well) errno = reason;
    return well && closed;
}

/* The folder's entry, too: after a power cut a file that was moved is where it was moved to. Not
** every file system can, and then nothing is lost that the file itself did not keep. */
static void sync_folder(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) slash[slash == path] = '\0';
    int fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

/* What is no file, a pipe, say, has no other place and no end; where it takes no more, it never
** will. */
static bool write_to_other(const char *path, const void *bytes, size_t len, gi_err *err) {
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0) return failed(err, "write", path, errno);
    return ended(fd, write_all(fd, bytes, len)) ||
           gi_fail(err, "io", "cannot write %s: %s", path, gi_reason(errno));
}

/* Room comes first, so that a full disk leaves the old text. */
static bool write_over(int fd, off_t old_len, const void *bytes, size_t len) {
    int reason = len ? posix_fallocate(fd, 0, (off_t)len) : 0;
    if (reason == ENOSPC || reason == EDQUOT || reason == EFBIG) {
        if (ftruncate(fd, old_len) != 0) { /* it is longer than it was: what it says stays */
        }
        errno = reason;
        return false;
    }
    return write_all(fd, bytes, len) && ftruncate(fd, (off_t)len) == 0 && fsync(fd) == 0;
}

static bool write_in_place(const char *path, off_t old_len, const void *bytes, size_t len,
                           gi_err *err) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return failed(err, "write", path, errno);
    return ended(fd, write_over(fd, old_len, bytes, len)) || failed(err, "write", path, errno);
}

static mode_t usual_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* What a new file has of the one it replaces: permissions; owner and group where that may be. */
static bool take_after(int fd, const struct stat *old) {
    if (old == NULL) return fchmod(fd, usual_mode()) == 0;
    if (fchown(fd, old->st_uid, (gid_t)-1) != 0 || fchown(fd, (uid_t)-1, old->st_gid) != 0) {
        /* somebody else's file, or group: the new one is ours */
    }
    return fchmod(fd, old->st_mode & 07777) == 0;
}

/* --- what is written beside a file ---
**
** Until it is whole, a new text has a name of its own: the file's, and ".gilua-" with six letters.
** Its writer holds a lock on it. What a killed writer left has no lock, and is removed when the
** same file is written next. */

/* A lock of the open file, as flock's is, but one that can be asked about without being had. */
static bool taken(int fd) {
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &all) == 0;
}

/* Is the file that is locked still the one of that name? Whoever unlocks it removes it. */
static bool is_there(int fd, const char *path) {
    struct stat held, there;
    return fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

#define BESIDE ".gilua-"

/* Removes a file that nobody writes any more. */
static void remove_left(const char *path) {
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && taken(fd)) unlink(path);
    close(fd);
}

static void remove_left_beside(const char *path) {
    gi_buf pattern = {0};
    glob_t found;
    for (const char *c = path; *c; c++)
        gi_buf_addf(&pattern, strchr("*?[\\", *c) ? "\\%c" : "%c", *c);
    gi_buf_adds(&pattern, BESIDE "??????");
    if (glob(pattern.data, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) remove_left(found.gl_pathv[i]);
        globfree(&found);
    }
    gi_buf_free(&pattern);
}

/* A new file beside `path`, whose name replaces *beside. Where the file system has no locks it has
** none, and nobody else can have one to remove it. Once more where that was done just before. */
static int open_beside(const char *path, gi_buf *beside) {
    for (;;) {
        gi_buf_clear(beside);
        gi_buf_addf(beside, "%s" BESIDE "XXXXXX", path);
        int fd = mkostemp(beside->data, O_CLOEXEC);
        if (fd < 0) return -1;
        bool held = taken(fd) || (errno != EAGAIN && errno != EACCES);
        if (held && is_there(fd, beside->data)) return fd;
        close(fd);
    }
}

/* `path` is the file itself, no link. `old`: what is there, or NULL. */
static bool replace(char *path, const struct stat *old, const void *bytes, size_t len,
                    gi_err *err) {
    gi_buf beside = {0};
    remove_left_beside(path);
    int fd = open_beside(path, &beside);
    if (fd < 0) {
        int reason = errno;
        gi_buf_free(&beside);
        bool here = old && (reason == EACCES || reason == EPERM);
        return here ? write_in_place(path, old->st_size, bytes, len, err)
                    : failed(err, "write", path, reason);
    }
    bool well = write_all(fd, bytes, len) && take_after(fd, old) && fsync(fd) == 0;
    well = ended(fd, well) && rename(beside.data, path) == 0;
    int reason = errno;
    if (!well) unlink(beside.data);
    gi_buf_free(&beside);
    if (!well) return failed(err, "write", path, reason);
    sync_folder(path);
    return true;
}

/* Where the link leads that `path` is: the caller's; NULL: it is none, or cannot be read. */
static char *link_target(const char *path) {
    char target[4096];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) return NULL;
    target[n] = '\0';
    const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
    gi_buf joined = {0};
    if (slash) gi_buf_add(&joined, path, (size_t)(slash - path) + 1);
    gi_buf_adds(&joined, target);
    return joined.data;
}

/* The file that a path stands for, there or not: the end of its links, which may be many. */
static char *without_links(const char *path, gi_err *err) {
    enum { MOST_LINKS = 40 }; /* as in Linux */
    char *at = gi_strdup(path);
    for (int n = 0; n <= MOST_LINKS; n++) {
        char *next = link_target(at);
        if (next == NULL) return at;
        free(at);
        at = next;
    }
    free(at);
    return failed(err, "write", path, ELOOP), NULL;
}

bool gi_file_write(const char *path, const void *bytes, size_t len, gi_err *err) {
    char *real = without_links(path, err);
    if (real == NULL) return false;
    struct stat st;
    bool is_there = stat(real, &st) == 0, well;
    if (!is_there && errno != ENOENT) well = failed(err, "write", real, errno);
    else if (is_there && !S_ISREG(st.st_mode)) well = write_to_other(real, bytes, len, err);
    else if (is_there && faccessat(AT_FDCWD, real, W_OK, AT_EACCESS) != 0)
        well = gi_fail(err, "io", "cannot write %s: it is write-protected (chmod +w, or elsewhere)",
                       real);
    else well = replace(real, is_there ? &st : NULL, bytes, len, err);
    free(real);
    return well;
}

/* --- a text that grows --- */

bool gi_journal_open(gi_journal *j, const char *path, gi_err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return failed(err, "write", path, errno);
    *j = (gi_journal){.path = gi_strdup(path), .fd = fd};
    return true;
}

bool gi_journal_add(gi_journal *j, const void *bytes, size_t len, gi_err *err) {
    if (write_all(j->fd, bytes, len)) {
        j->end += (int64_t)len;
        return true;
    }
    int reason = errno;
    if (ftruncate(j->fd, j->end) == 0) lseek(j->fd, j->end, SEEK_SET);
    return failed(err, "write", j->path, reason);
}

void gi_journal_close(gi_journal *j) {
    if (j->path) close(j->fd);
    free(j->path);
    j->path = NULL;
}

/* --- locks --- */

/* Seconds that a lock is asked for again: a process that was killed holds what it held until its
** memory and its GPU are given back, 0.1 to 0.4 s under sanitizers. */
#define DYING 3.0

static int busy(int fd, gi_err *err) {
    char who[sizeof err->message] = "";
    ssize_t n = read(fd, who, sizeof who - 1);
    while (n > 0 && who[n - 1] == '\n') n--;
    gi_fail(err, "busy", "%.*s", n > 0 ? (int)n : 0, who);
    close(fd);
    return -1;
}

int gi_lock(const char *path, const char *who, gi_err *err) {
    double until = gi_seconds() + DYING;
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return failed(err, "write", path, errno), -1;
        if (!taken(fd)) {
            if (errno == EAGAIN || errno == EACCES) {
                if (gi_seconds() >= until) return busy(fd, err);
                close(fd);
                usleep(10000);
                continue;
            }
            int reason = errno;
            close(fd);
            return failed(err, "lock", path, reason), -1;
        }
        if (!is_there(fd, path)) { /* its last holder removed it just then */
            close(fd);
            continue;
        }
        if (ftruncate(fd, 0) != 0 || !write_all(fd, who, strlen(who))) {
            /* a full disk: the lock is held, though the holder's name could not be written */
        }
        return fd;
    }
}

void gi_unlock(int fd, const char *path) {
    unlink(path); /* while it is held: a lock that comes later is on another file */
    close(fd);
}

bool gi_is_locked(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    bool held = fcntl(fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
    close(fd);
    return held;
}

/* --- links --- */

bool gi_file_link(const char *target, const char *path, gi_err *err) {
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
        return gi_fail(err, "io", "%s is there and is no link", path);
    gi_buf beside = {0};
    gi_buf_addf(&beside, "%s.%d", path, (int)getpid());
    bool well = symlink(target, beside.data) == 0 && rename(beside.data, path) == 0;
    int reason = errno;
    if (!well) unlink(beside.data);
    gi_buf_free(&beside);
    return well || failed(err, "make the link", path, reason);
}
