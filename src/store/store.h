/* store.h - a database in a file: SQLite, in gilua's words, and texts packed by what they resemble.
**
** Writers wait for each other; readers look while somebody writes (write-ahead log). A change is
** there when its transaction is; the process may be killed at any time. Where the file lies on a
** file system of a network, whose locks are not to be relied on, one process has it alone; the
** environment's GILUA_STORE=alone or =shared says so of any file.
**
** Readers need nothing that can be written, and leave nothing beside a file that is not theirs.
** Where nothing can be made beside a file it is read as it lies, while nobody writes to it; when
** somebody begins to, each step fails as "busy".
**
** Codes of failure: "full" (no room on the disk), "busy" (somebody else holds it), "format" (the
** file is no database, or a broken one), "usage" (a statement is wrong), "interrupted", "io" for
** the rest.
*/
#ifndef GILUA_STORE_H
#define GILUA_STORE_H

#include "base/base.h"

typedef struct Store Store;

/* Makes the file where it is not there, but for readers only. */
Store *store_open(const char *path, bool read_only, gi_err *err);
void store_close(Store *s);

/* Statements fail soon as "interrupted" while *stop is not 0. */
void store_stop_when(Store *s, const volatile int *stop);

/* Several statements without parameters. */
bool store_execute(Store *s, const char *sql, gi_err *err);

/* A statement with parameters ?1, ?2 …; kept, so that the same text is parsed once. Its rows come
** one by one; store_reset ends it, and the next store_prepare of the same text does. */
typedef struct StoreStatement StoreStatement;
StoreStatement *store_prepare(Store *s, const char *sql, gi_err *err);
void store_reset(StoreStatement *t);

/* Parameters count from 1; those not given are NULL. Bytes are kept until the reset. */
void store_bind_int(StoreStatement *t, int i, int64_t value);
void store_bind_number(StoreStatement *t, int i, double value);
void store_bind_text(StoreStatement *t, int i, const char *bytes, size_t len);
int store_parameters(const StoreStatement *t);

typedef enum StoreStep { STORE_ROW, STORE_DONE, STORE_FAILED } StoreStep;
StoreStep store_step(StoreStatement *t, gi_err *err);

/* Columns count from 0. Texts and blobs alike are bytes, good until the next step. */
typedef enum StoreType { STORE_NULL, STORE_INT, STORE_NUMBER, STORE_BYTES } StoreType;
int store_columns(const StoreStatement *t);
const char *store_column_name(const StoreStatement *t, int i); /* NULL: no memory */
StoreType store_column_type(const StoreStatement *t, int i);
int64_t store_column_int(const StoreStatement *t, int i);
double store_column_number(const StoreStatement *t, int i);
const char *store_column_bytes(const StoreStatement *t, int i, size_t *len);

int64_t store_changes(const Store *s); /* rows that the last statement changed */

/* Zstandard with a dictionary: what is in `like` (its last MiB) costs next to nothing. Unpacking,
** also of what an earlier gilua packed with zlib, needs the same dictionary, and how many bytes
** there were; "format" where it is not so, "nomem".
*/
void store_pack(const char *text, size_t len, const char *like, size_t like_len, gi_buf *out);
bool store_unpack(const char *packed, size_t len, const char *like, size_t like_len, size_t bytes,
                  gi_buf *out, gi_err *err);

#endif
