/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool failed(gi_err *err, const char *what, const char *path, int reason) {
    bool full = reason == ENOSPC || reason == EDQUOT;
    return gi_fail(err, full ? "full" : "io", "cannot %s %s: %s", what, path, strerror(reason));
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

static bool write_in_place(const char *path, const void *bytes, size_t len, gi_err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return failed(err, "write", path, errno);
    return ended(fd, write_all(fd, bytes, len)) || failed(err, "write", path, errno);
}

static mode_t usual_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* `path` is the file itself, no link. `mode` is what it shall have. */
static bool replace(char *path, mode_t mode, const void *bytes, size_t len, gi_err *err) {
    gi_buf beside = {0};
    gi_buf_addf(&beside, "%s.XXXXXX", path);
    int fd = mkostemp(beside.data, O_CLOEXEC);
    if (fd < 0) {
        int reason = errno;
        gi_buf_free(&beside);
        bool here = access(path, W_OK) == 0 && (reason == EACCES || reason == EPERM);
        return here ? write_in_place(path, bytes, len, err) : failed(err, "write", path, reason);
    }
    bool well = write_all(fd, bytes, len) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    well = ended(fd, well) && rename(beside.data, path) == 0;
    int reason = errno;
    if (!well) unlink(beside.data);
    gi_buf_free(&beside);
    if (!well) return failed(err, "write", path, reason);
    sync_folder(path);
    return true;
}

bool gi_file_write(const char *path, const void *bytes, size_t len, gi_err *err) {
    struct stat st;
    if (stat(path, &st) != 0) {
        if (errno != ENOENT) return failed(err, "write", path, errno);
        char *copy = gi_strdup(path);
        bool well = replace(copy, usual_mode(), bytes, len, err);
        free(copy);
        return well;
    }
    char *real = S_ISREG(st.st_mode) ? realpath(path, NULL) : NULL;
    if (real == NULL) return write_in_place(path, bytes, len, err);
    bool well = replace(real, st.st_mode & 07777, bytes, len, err);
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

/* Is the file that is locked still the one of that name? Whoever unlocks, removes it. */
static bool is_there(int fd, const char *path) {
    struct stat held, there;
    return fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

static int busy(int fd, gi_err *err) {
    char who[sizeof err->message] = "";
    ssize_t n = read(fd, who, sizeof who - 1);
    while (n > 0 && who[n - 1] == '\n') n--;
    gi_fail(err, "busy", "%.*s", n > 0 ? (int)n : 0, who);
    close(fd);
    return -1;
}

int gi_lock(const char *path, const char *who, gi_err *err) {
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) return failed(err, "write", path, errno), -1;
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK) return busy(fd, err);
            int reason = errno;
            close(fd);
            return failed(err, "lock", path, reason), -1;
        }
        if (!is_there(fd, path)) { /* its last holder removed it just then */
            close(fd);
            continue;
        }
        if (ftruncate(fd, 0) != 0 || !write_all(fd, who, strlen(who))) {
            /* a full disk: held is held, also where nobody can read by whom */
        }
        return fd;
    }
}

void gi_unlock(int fd, const char *path) {
    unlink(path); /* while it is held: a lock that comes later is on another file */
    close(fd);
}

/* --- links, temporary folders --- */

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

char *gi_temp_folder(gi_err *err) {
    const char *tmp = getenv("TMPDIR");
    gi_buf path = {0};
    gi_buf_addf(&path, "%s/gilua-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(path.data)) return path.data;
    failed(err, "make a folder for temporary files like", path.data, errno);
    gi_buf_free(&path);
    return NULL;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st, (void)kind, (void)where;
    remove(path);
    return 0;
}

void gi_temp_remove(const char *path) {
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
