/* record.h - recordings of whole CUDA programs: what a program asked its GPU to do, in order, and
** the data that it did it with.
**
** A file is a head of 16 bytes ("gilua-rec", zeros, version) and chunks, each a head of 40 bytes
** (kind, flags, bytes stored, bytes unpacked, hash) and its bytes: blobs, kept once by content,
** and pieces of the events, a text of one line for each. Chunks are only ever added, so a
** program that dies leaves a recording of all it did; the last chunk of a whole one says that it
** is whole. Chunks are packed (zstd) where that makes them smaller, large ones by an eighth. All
** numbers are little-endian. This room keeps texts and bytes; what the lines say is for those
** who write and read them.
*/
#ifndef GILUA_RECORD_H
#define GILUA_RECORD_H

#include "base/base.h"

enum { RECORD_VERSION = 2, RECORD_NAME = 33 }; /* bytes of a blob's name: 32 hexadecimal digits */

/* --- writing --- */

typedef struct RecordWriter RecordWriter;

/* Begins a file at path, which must not be there. */
RecordWriter *record_create(const char *path, gi_err *err);
/* The same, for each of a program's processes its own: path, else path.2, path.3 … */
RecordWriter *record_create_next(const char *path, gi_err *err);
/* Its first lines: who records, this process's command line, the GPU, what it is for ("": not
** said). */
void record_program(RecordWriter *w, const char *gpu, const char *use);
/* What bytes are called: by their content (XXH3, 128 bits; in version 1 gi_hash128). */
void record_name(int version, const void *bytes, size_t n, char name[RECORD_NAME]);
/* Keeps bytes, and names them: equal ones are there once. */
void record_blob(RecordWriter *w, const void *bytes, size_t n, char name[RECORD_NAME]);
/* Adds a line of events; its end is added. It names no blob that is not kept yet. */
void record_event(RecordWriter *w, const char *fmt, ...) GI_PRINTF(2, 3);
void record_flush(RecordWriter *w); /* what was added is in the file, should the program die */
uint64_t record_bytes(const RecordWriter *w); /* of the file so far */
/* The first failure ("full", "io"); after it nothing is written any more. */
bool record_failed(const RecordWriter *w, gi_err *err);
/* Ends the file: it is whole, and on the disk. False where anything failed. Frees the writer. */
bool record_end(RecordWriter *w, gi_err *err);
/* Leaves the file as it is, without its end: of a process that is not the one that began it. */
void record_leave(RecordWriter *w);

/* Is it the kernel of that name: its own, or as a compiler of C++ writes it? */
bool record_is_called(const char *kernel, const char *name);

/* --- reading --- */

typedef struct Recording Recording;

/* Opens a recording and looks through its chunks; nothing of its blobs is read yet. "format": it is
** none, or of a later version, or damaged (with the place). */
Recording *recording_open(const char *path, gi_err *err);
void recording_close(Recording *r);
int recording_version(const Recording *r);
bool recording_is_whole(const Recording *r); /* false: the program died, or still runs */
const char *recording_events(const Recording *r, size_t *len); /* zero-ended, its lines whole */
/* Returns the bytes of a blob, unpacked; false if there is none with that name. */
bool recording_size(const Recording *r, const char *name, uint64_t *bytes);
/* Reads a blob of exactly n bytes and holds it against its name. */
bool recording_read(const Recording *r, const char *name, void *out, size_t n, gi_err *err);

#endif
