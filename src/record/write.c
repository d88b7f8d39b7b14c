/* write.c - a recording that grows. See record.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "record/chunk.h"
#include "record/record.h"

enum { EVENTS_BYTES = 1 << 16, WAITING_BYTES = 1 << 16, LEVEL = 1, LEAST_PACKED = 256 };
enum { LARGE = 1 << 20, SAMPLES = 8, SAMPLE_BYTES = 1 << 15 };

struct RecordWriter {
    int fd;
    char *path;
    uint64_t bytes, written; /* of the file, with those that wait; without */
    gi_buf waiting;          /* to be written together */
    BlobSet blobs;
    ZSTD_CCtx *packer; /* making one takes longer than packing what is small; NULL: no memory */
    void *room;        /* for what is packed */
    size_t room_bytes;
    gi_buf events; /* not written yet */
    bool failed;
    gi_err err; /* why */
};

/* --- bytes --- */

static void fail(RecordWriter *w, int reason) {
    bool full = reason == ENOSPC || reason == EDQUOT;
    w->failed = true;
    gi_fail(&w->err, full ? "full" : "io", "%s cannot be written after %llu bytes: %s", w->path,
            (unsigned long long)w->written, gi_reason(reason));
}

static void write_out(RecordWriter *w, const void *bytes, size_t n) {
    const uint8_t *at = bytes;
    while (n > 0 && !w->failed) {
        ssize_t done = write(w->fd, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail(w, errno);
        at += done, n -= (size_t)done, w->written += (uint64_t)done;
    }
}

static void write_waiting(RecordWriter *w) {
    write_out(w, w->waiting.data, w->waiting.len);
    gi_buf_clear(&w->waiting);
}

static void put(RecordWriter *w, const void *bytes, size_t n) {
    if (w->waiting.len + n > WAITING_BYTES) write_waiting(w);
    if (n > WAITING_BYTES) write_out(w, bytes, n);
    else gi_buf_add(&w->waiting, bytes, n);
    w->bytes += n;
}

/* Of much data, would packing save an eighth? Random numbers take long and get hardly smaller. */
static bool is_worth(RecordWriter *w, const uint8_t *bytes, size_t n) {
    size_t step = (n - SAMPLE_BYTES) / (SAMPLES - 1), stored = 0;
    if (n < LARGE) return true;
    for (int i = 0; i < SAMPLES; i++) {
        size_t size = ZSTD_compressCCtx(w->packer, w->room, w->room_bytes, bytes + i * step,
                                        SAMPLE_BYTES, LEVEL);
        if (ZSTD_isError(size)) return true;
        stored += size;
    }
    return stored < (size_t)SAMPLES * SAMPLE_BYTES / 8 * 7;
}

/* The bytes packed, there until the next ones are, or NULL where that makes them no smaller. */
static const void *packed(RecordWriter *w, const void *bytes, size_t n, size_t *stored) {
    size_t most = ZSTD_compressBound(n);
    if (n < LEAST_PACKED || w->packer == NULL) return NULL;
    if (most > w->room_bytes) {
        free(w->room);
        w->room = malloc(most);
        w->room_bytes = w->room ? most : 0;
        if (w->room == NULL) return NULL;
    }
    if (!is_worth(w, bytes, n)) return NULL;
    *stored = ZSTD_compressCCtx(w->packer, w->room, w->room_bytes, bytes, n, LEVEL);
    return !ZSTD_isError(*stored) && *stored < n ? w->room : NULL;
}

static void put_chunk(RecordWriter *w, Chunk c, const void *bytes) {
    uint8_t head[CHUNK_BYTES];
    size_t stored = (size_t)c.bytes;
    const void *small = packed(w, bytes, (size_t)c.bytes, &stored);
    c.stored = small ? stored : c.bytes;
    c.flags = small ? CHUNK_PACKED : 0;
    chunk_write(&c, head);
    put(w, head, sizeof head);
    put(w, small ? small : bytes, (size_t)c.stored);
}

static void put_events(RecordWriter *w) {
    if (w->events.len == 0) return;
    Chunk c = {.kind = CHUNK_EVENTS, .bytes = w->events.len};
    blob_name(RECORD_VERSION, w->events.data, w->events.len, c.name);
    put_chunk(w, c, w->events.data);
    gi_buf_clear(&w->events);
}

/* --- the room's face --- */

RecordWriter *record_create(const char *path, gi_err *err) {
    uint8_t head[HEAD_BYTES];
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        gi_fail(err, "io", "%s cannot be made: %s", path, strerror(errno));
        return NULL;
    }
    RecordWriter *w = gi_alloc(sizeof *w);
    w->fd = fd;
    w->path = gi_strdup(path);
    w->packer = ZSTD_createCCtx();
    head_write(head);
    put(w, head, sizeof head);
    return w;
}

void record_blob(RecordWriter *w, const void *bytes, size_t n, char name[RECORD_NAME]) {
    Chunk c = {.kind = CHUNK_BLOB, .bytes = n};
    blob_name(RECORD_VERSION, bytes, n, c.name);
    blob_text(c.name, name);
    if (blobs_find(&w->blobs, c.name) >= 0) return;
    blobs_add(&w->blobs, c.name);
    put_chunk(w, c, bytes);
}

void record_event(RecordWriter *w, const char *fmt, ...) {
    char *line;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&line, fmt, args);
    va_end(args);
    if (n < 0) return fail(w, ENOMEM);
    for (int i = 0; i < n; i++)
        if (line[i] == '\n') line[i] = ' ';
    gi_buf_add(&w->events, line, (size_t)n);
    gi_buf_add(&w->events, "\n", 1);
    free(line);
    if (w->events.len >= EVENTS_BYTES) put_events(w);
}

void record_flush(RecordWriter *w) {
    put_events(w);
    write_waiting(w);
}

uint64_t record_bytes(const RecordWriter *w) {
    return w->bytes;
}

bool record_failed(const RecordWriter *w, gi_err *err) {
    if (w->failed && err) *err = w->err;
    return w->failed;
}

static void release(RecordWriter *w) {
    close(w->fd);
    blobs_free(&w->blobs);
    ZSTD_freeCCtx(w->packer);
    free(w->room);
    gi_buf_free(&w->events);
    gi_buf_free(&w->waiting);
    free(w->path);
    free(w);
}

bool record_end(RecordWriter *w, gi_err *err) {
    Chunk last = {.kind = CHUNK_END};
    put_events(w);
    put_chunk(w, last, "");
    write_waiting(w);
    if (!w->failed && fsync(w->fd) != 0 && errno != EINVAL) fail(w, errno);
    bool ok = !record_failed(w, err);
    release(w);
    return ok;
}

void record_leave(RecordWriter *w) {
    release(w);
}
