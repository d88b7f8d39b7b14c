/* store.c - see store.h. */
#include "store/store.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

struct StoreStatement {
    Store *store;
    sqlite3_stmt *stmt;
    char *sql;
};

struct Store {
    sqlite3 *db;
    StoreStatement **kept;
    int n_kept, cap_kept;
};

enum { BUSY_MS = 5000 }; /* that a writer waits for another */

static bool failed(Store *s, gi_err *err) {
    int code = sqlite3_errcode(s->db) & 0xff;
    const char *kind = code == SQLITE_FULL                                ? "full"
                       : code == SQLITE_BUSY || code == SQLITE_LOCKED     ? "busy"
                       : code == SQLITE_NOTADB || code == SQLITE_CORRUPT  ? "format"
                       : code == SQLITE_ERROR || code == SQLITE_MISUSE ||
                               code == SQLITE_CONSTRAINT || code == SQLITE_RANGE
                           ? "usage"
                           : "io";
    return gi_fail(err, kind, "%s: %s", sqlite3_db_filename(s->db, "main"), sqlite3_errmsg(s->db));
}

/* Where locks are another machine's word, or memory cannot be shared: NFS, SMB, Lustre, GPFS, AFS,
** Ceph, 9P, FUSE (which may be any of them). */
static bool is_shared_by_machines(const char *path) {
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

Store *store_open(const char *path, bool read_only, gi_err *err) {
    Store *s = gi_alloc(sizeof *s);
    int how = read_only ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int code = sqlite3_open_v2(path, &s->db, how | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK && read_only) { /* a folder that cannot be written, on a medium, say */
        sqlite3_close_v2(s->db);
        code = sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    }
    if (code != SQLITE_OK) {
        gi_fail(err, "io", "cannot open %s: %s", path,
                s->db ? sqlite3_errmsg(s->db) : "not enough memory");
    } else if (set_up(s, path, read_only, err)) {
        return s;
    }
    store_close(s);
    return NULL;
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
    free(s);
}

bool store_execute(Store *s, const char *sql, gi_err *err) {
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || failed(s, err);
}

/* --- statements --- */

StoreStatement *store_prepare(Store *s, const char *sql, gi_err *err) {
    for (int i = 0; i < s->n_kept; i++)
        if (strcmp(s->kept[i]->sql, sql) == 0) return s->kept[i];
    sqlite3_stmt *stmt;
    const char *rest;
    if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, &rest) != SQLITE_OK)
        return failed(s, err), NULL;
    if (stmt == NULL || rest[strspn(rest, " \t\r\n;")] != '\0') {
        sqlite3_finalize(stmt);
        return gi_fail(err, "usage", "one statement is needed, not: %s", sql), NULL;
    }
    StoreStatement *t = gi_alloc(sizeof *t);
    *t = (StoreStatement){s, stmt, gi_strdup(sql)};
    gi_grow(s->kept, s->n_kept, s->cap_kept);
    return s->kept[s->n_kept++] = t;
}

void store_reset(StoreStatement *t) {
    sqlite3_reset(t->stmt);
    sqlite3_clear_bindings(t->stmt);
}

int store_parameters(const StoreStatement *t) {
    return sqlite3_bind_parameter_count(t->stmt);
}

void store_bind_int(StoreStatement *t, int i, int64_t value) {
    sqlite3_bind_int64(t->stmt, i, value);
}

void store_bind_number(StoreStatement *t, int i, double value) {
    sqlite3_bind_double(t->stmt, i, value);
}

void store_bind_text(StoreStatement *t, int i, const char *bytes, size_t len) {
    sqlite3_bind_text64(t->stmt, i, bytes, len, SQLITE_STATIC, SQLITE_UTF8);
}

StoreStep store_step(StoreStatement *t, gi_err *err) {
    int code = sqlite3_step(t->stmt);
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
