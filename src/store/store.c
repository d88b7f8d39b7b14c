/* store.c - see store.h. */
#include "store/store.h"

#include <fcntl.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

struct StoreStatement {
    Store *store;
    sqlite3_stmt *stmt;
    bool unbound; /* a parameter could not be given */
    char *sql;
};

struct Store {
    sqlite3 *db;
    char *frozen; /* the file is read as it lies, without locks, while nobody writes to it */
    struct stat before; /* … what it was when it was opened */
    StoreStatement **kept;
    int n_kept, cap_kept;
};

enum { BUSY_MS = 5000 }; /* that a writer waits for another */

/* SQLite has a word of its own for a full disk, but not at every place where it meets one. */
static bool is_full(Store *s) {
    int code = sqlite3_extended_errcode(s->db), reason = sqlite3_system_errno(s->db);
    bool io = (code & 0xff) == SQLITE_IOERR;
    return code == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE ||
           (io && (reason == ENOSPC || reason == EDQUOT));
}

static bool failed(Store *s, gi_err *err) {
    int code = sqlite3_errcode(s->db) & 0xff;
    bool too_large = code == SQLITE_IOERR && gi_met_large_file();
    const char *kind = too_large                                          ? "io"
                       : is_full(s)                                       ? "full"
                       : code == SQLITE_BUSY || code == SQLITE_LOCKED     ? "busy"
                       : code == SQLITE_NOTADB || code == SQLITE_CORRUPT  ? "format"
                       : code == SQLITE_INTERRUPT                         ? "interrupted"
                       : code == SQLITE_ERROR || code == SQLITE_MISUSE ||
                               code == SQLITE_CONSTRAINT || code == SQLITE_RANGE
                           ? "usage"
                           : "io";
    return gi_fail(err, kind, "%s: %s", sqlite3_db_filename(s->db, "main"),
                   too_large ? gi_reason(EFBIG) : sqlite3_errmsg(s->db));
}

/* Where locks are another machine's word, or memory cannot be shared: NFS, SMB, Lustre, GPFS, AFS,
** Ceph, 9P, FUSE (which may be any of them). */
static bool is_shared_by_machines(const char *path) {
    const char *said = getenv("GILUA_STORE"); /* by who knows it better */
    if (said && strcmp(said, "alone") == 0) return true;
    if (said && strcmp(said, "shared") == 0) return false;
    static const uint32_t kinds[] = {0x6969,     0x517b,     0xfe534d42, 0xff534d42, 0x0bd00bd0,
                                     0x47504653, 0x5346414f, 0x00c36400, 0x01021997, 0x65735546};
    struct statfs fs;
    if (statfs(path, &fs) != 0) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if ((uint32_t)fs.f_type == kinds[i]) return true;
    return false;
}

static bool set_up(Store *s, const char *path, bool read_only, gi_err *err) {
    sqlite3_busy_timeout(s->db, BUSY_MS);
    sqlite3_extended_result_codes(s->db, 1);
    if (read_only)
        return store_execute(s, "PRAGMA query_only = 1; SELECT * FROM sqlite_master", err);
    const char *alone = is_shared_by_machines(path) ? "PRAGMA locking_mode = EXCLUSIVE" : "";
    return store_execute(s, alone, err) &&
           store_execute(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", err);
}

/* --- a file beside which none can be made ---
**
** A reader of a write-ahead log needs files beside the database, or may write to those that are
** there. Where it cannot (a folder of somebody else, a medium, a quota that is used up) the file is
** read as it lies, which is right as long as it is complete and nobody writes to it. Every writer
** begins with a log beside it, and what is in a log comes into the file later. So there must be
** none, before a step and after it, and the file must be what it was. */

/* Its bytes; -1: there is no such file. */
static int64_t size_beside(const char *path, const char *ending) {
    gi_buf beside = {0};
    struct stat st;
    gi_buf_addf(&beside, "%s%s", path, ending);
    int64_t size = stat(beside.data, &st) == 0 ? st.st_size : -1;
    gi_buf_free(&beside);
    return size;
}

static bool has_log(const char *path) {
    return size_beside(path, "-wal") > 0 || size_beside(path, "-journal") > 0;
}

static bool same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Is it still what it was? */
static bool is_frozen(const Store *s, gi_err *err) {
    struct stat now;
    const struct stat *old = &s->before;
    bool same = stat(s->frozen, &now) == 0 && now.st_ino == old->st_ino &&
                now.st_dev == old->st_dev && now.st_size == old->st_size &&
                same_time(now.st_ctim, old->st_ctim) && same_time(now.st_mtim, old->st_mtim);
    if (same && !has_log(s->frozen)) return true;
    return gi_fail(err, "busy", "%s: somebody began to write to it, and it can only be read while "
                                "nobody does; look again later, or copy its folder", s->frozen);
}

/* file:PATH?immutable=1, with what has a meaning in such a name written as %XX. */
static void add_name(gi_buf *name, const char *path) {
    gi_buf_adds(name, "file:");
    for (; *path; path++) {
        if (strchr("%?#", *path)) gi_buf_addf(name, "%%%02X", (unsigned)(unsigned char)*path);
        else gi_buf_add(name, path, 1);
    }
    gi_buf_adds(name, "?immutable=1");
}

static Store *open_frozen(const char *path, gi_err *err) {
    Store *s = gi_alloc(sizeof *s);
    gi_buf name = {0};
    add_name(&name, path);
    s->frozen = gi_strdup(path);
    int how = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    bool well = stat(path, &s->before) == 0 && is_frozen(s, err) &&
                (sqlite3_open_v2(name.data, &s->db, how, NULL) == SQLITE_OK || failed(s, err)) &&
                set_up(s, path, true, err) && is_frozen(s, err);
    gi_buf_free(&name);
    if (well) return s;
    store_close(s);
    return NULL;
}

/* --- opening --- */

static int open_file(Store *s, const char *path, bool read_only) {
    int how = read_only ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(path, &s->db, how | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK || !read_only) return code;
    sqlite3_close_v2(s->db);
    return sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
}

static Store *open_live(const char *path, bool read_only, gi_err *err) {
    Store *s = gi_alloc(sizeof *s);
    if (open_file(s, path, read_only) == SQLITE_OK) {
        if (set_up(s, path, read_only, err)) return s;
    } else {
        gi_fail(err, "io", "cannot open %s: %s", path,
                s->db ? sqlite3_errmsg(s->db) : "not enough memory");
    }
    store_close(s);
    return NULL;
}

/* Does it fail for want of what else a reader needs than the file? */
static bool wants_more(const char *path, const gi_err *err) {
    struct stat st;
    bool why = strcmp(err->code, "io") == 0 || strcmp(err->code, "full") == 0;
    return why && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A file that is somebody else's, to whom files of ours beside it would be in the way. */
static bool is_others(const char *path) {
    return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 &&
           faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && size_beside(path, "-wal") < 0;
}

static Store *open_reader(const char *path, gi_err *err) {
    gi_err why;
    if (is_others(path)) return open_frozen(path, err);
    Store *s = open_live(path, true, &why);
    if (s) return s;
    bool wants = wants_more(path, &why);
    if (wants && !has_log(path)) return open_frozen(path, err);
    gi_fail(err, why.code, "%s%s", why.message,
            wants ? " (what was written last lies in a log beside it, which is read where files "
                    "can be made: copy the folder)" : "");
    return NULL;
}

/* SQLite waits at a pipe, and what it keeps beside a file it would write through a link, to
** wherever a stranger's folder has that lead. */
static bool is_file(const char *path, const char *end, gi_err *err) {
    gi_buf name = {0};
    struct stat st;
    gi_buf_addf(&name, "%s%s", path, end);
    bool is_there = (*end ? lstat(name.data, &st) : stat(name.data, &st)) == 0;
    bool is_odd = is_there && !S_ISREG(st.st_mode);
    if (is_odd)
        gi_fail(err, "format", "%s is not a file but a %s", name.data,
                S_ISLNK(st.st_mode)   ? "link"
                : S_ISDIR(st.st_mode) ? "folder"
                                      : "pipe or a device");
    gi_buf_free(&name);
    return !is_odd;
}

Store *store_open(const char *path, bool read_only, gi_err *err) {
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!is_file(path, ends[i], err)) return NULL;
    return read_only ? open_reader(path, err) : open_live(path, false, err);
}

void store_close(Store *s) {
    if (s == NULL) return;
    for (int i = 0; i < s->n_kept; i++) {
        sqlite3_finalize(s->kept[i]->stmt);
        free(s->kept[i]->sql);
        free(s->kept[i]);
    }
    free(s->kept);
    sqlite3_close_v2(s->db);
    free(s->frozen);
    free(s);
}

static int is_set(void *stop) {
    return *(const volatile int *)stop;
}

void store_stop_when(Store *s, const volatile int *stop) {
    enum { STEPS = 1000000 }; /* of SQLite's machine, some 20 ms */
    sqlite3_progress_handler(s->db, STEPS, is_set, (void *)(uintptr_t)stop);
}

bool store_execute(Store *s, const char *sql, gi_err *err) {
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || failed(s, err);
}

/* --- statements --- */

StoreStatement *store_prepare(Store *s, const char *sql, gi_err *err) {
    for (int i = 0; i < s->n_kept; i++)
        if (strcmp(s->kept[i]->sql, sql) == 0) return store_reset(s->kept[i]), s->kept[i];
    sqlite3_stmt *stmt;
    const char *rest;
    if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, &rest) != SQLITE_OK)
        return failed(s, err), NULL;
    if (stmt == NULL || rest[strspn(rest, " \t\r\n;")] != '\0') {
        sqlite3_finalize(stmt);
        return gi_fail(err, "usage", "one statement is needed, not: %s", sql), NULL;
    }
    StoreStatement *t = gi_alloc(sizeof *t);
    *t = (StoreStatement){.store = s, .stmt = stmt, .sql = gi_strdup(sql)};
    gi_grow(s->kept, s->n_kept, s->cap_kept);
    return s->kept[s->n_kept++] = t;
}

void store_reset(StoreStatement *t) {
    sqlite3_reset(t->stmt);
    sqlite3_clear_bindings(t->stmt);
    t->unbound = false;
}

int store_parameters(const StoreStatement *t) {
    return sqlite3_bind_parameter_count(t->stmt);
}

void store_bind_int(StoreStatement *t, int i, int64_t value) {
    t->unbound |= sqlite3_bind_int64(t->stmt, i, value) != SQLITE_OK;
}

void store_bind_number(StoreStatement *t, int i, double value) {
    t->unbound |= sqlite3_bind_double(t->stmt, i, value) != SQLITE_OK;
}

void store_bind_text(StoreStatement *t, int i, const char *bytes, size_t len) {
    t->unbound |= sqlite3_bind_text64(t->stmt, i, bytes, len, SQLITE_STATIC, SQLITE_UTF8) !=
                  SQLITE_OK;
}

StoreStep store_step(StoreStatement *t, gi_err *err) {
    if (t->unbound) return failed(t->store, err), STORE_FAILED;
    int code = sqlite3_step(t->stmt);
    if (t->store->frozen && !is_frozen(t->store, err)) return STORE_FAILED;
    if (code == SQLITE_ROW) return STORE_ROW;
    if (code == SQLITE_DONE) return STORE_DONE;
    return failed(t->store, err), STORE_FAILED;
}

int store_columns(const StoreStatement *t) {
    return sqlite3_column_count(t->stmt);
}

const char *store_column_name(const StoreStatement *t, int i) {
    return sqlite3_column_name(t->stmt, i);
}

StoreType store_column_type(const StoreStatement *t, int i) {
    switch (sqlite3_column_type(t->stmt, i)) {
    case SQLITE_NULL: return STORE_NULL;
    case SQLITE_INTEGER: return STORE_INT;
    case SQLITE_FLOAT: return STORE_NUMBER;
    default: return STORE_BYTES;
    }
}

int64_t store_column_int(const StoreStatement *t, int i) {
    return sqlite3_column_int64(t->stmt, i);
}

double store_column_number(const StoreStatement *t, int i) {
    return sqlite3_column_double(t->stmt, i);
}

const char *store_column_bytes(const StoreStatement *t, int i, size_t *len) {
    const char *bytes = sqlite3_column_blob(t->stmt, i);
    *len = (size_t)sqlite3_column_bytes(t->stmt, i);
    return bytes ? bytes : "";
}

int64_t store_changes(const Store *s) {
    return sqlite3_changes64(s->db);
}
