/* read.c - a recording that is there. See record.h.
**
** What a file says of itself is not believed: sizes are held against the file's, blobs against
** their names, and a blob is unpacked into as many bytes as the caller wants and no more.
*/
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "record/chunk.h"
#include "record/record.h"

#define MOST_EVENTS ((uint64_t)1 << 28) /* bytes of all lines together */

typedef struct Place {
    uint64_t at; /* of the chunk's bytes in the file */
    Chunk chunk;
} Place;

struct Recording {
    int fd;
    char *path;
    int version;
    uint64_t size;
    BlobSet names;
    Place *places; /* of blobs, by number */
    int n_places, cap_places;
    gi_buf events;
    bool whole;
};

/* --- bytes --- */

static bool get(const Recording *r, uint64_t at, void *out, size_t n, gi_err *err) {
    uint8_t *to = out;
    while (n > 0) {
        ssize_t done = pread(r->fd, to, n, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return gi_fail(err, "io", "%s: %s", r->path, strerror(errno));
        if (done == 0) return gi_fail(err, "format", "%s became shorter meanwhile", r->path);
        to += done, at += (uint64_t)done, n -= (size_t)done;
    }
    return true;
}

static bool damaged(const Recording *r, uint64_t at, gi_err *err) {
    return gi_fail(err, "format", "%s is damaged at byte %llu", r->path, (unsigned long long)at);
}

static bool unpack(const Recording *r, const Place *p, void *out, gi_err *err) {
    void *stored = malloc((size_t)p->chunk.stored + 1);
    if (stored == NULL)
        return gi_fail(err, "nomem", "no memory for %llu bytes of %s",
                       (unsigned long long)p->chunk.stored, r->path);
    size_t n = (size_t)p->chunk.stored;
    bool ok = get(r, p->at, stored, n, err);
    if (ok) n = ZSTD_decompress(out, (size_t)p->chunk.bytes, stored, n);
    free(stored);
    if (!ok) return false;
    return (!ZSTD_isError(n) && n == p->chunk.bytes) || damaged(r, p->at, err);
}

/* A chunk's bytes, unpacked, and what their name says. */
static bool get_chunk(const Recording *r, const Place *p, void *out, gi_err *err) {
    uint8_t name[NAME_BYTES];
    bool ok = p->chunk.flags & CHUNK_PACKED ? unpack(r, p, out, err)
                                            : get(r, p->at, out, (size_t)p->chunk.bytes, err);
    if (!ok) return false;
    blob_name(r->version, out, (size_t)p->chunk.bytes, name);
    return memcmp(name, p->chunk.name, NAME_BYTES) == 0 || damaged(r, p->at, err);
}

/* --- the chunks --- */

static void add_blob(Recording *r, const Place *p) {
    if (blobs_find(&r->names, p->chunk.name) >= 0) return;
    blobs_add(&r->names, p->chunk.name);
    gi_grow(r->places, r->n_places, r->cap_places);
    r->places[r->n_places++] = *p;
}

static bool add_events(Recording *r, const Place *p, gi_err *err) {
    if (p->chunk.bytes > MOST_EVENTS - r->events.len)
        return gi_fail(err, "format", "%s has more than %llu bytes of events", r->path,
                       (unsigned long long)MOST_EVENTS);
    char *text = malloc((size_t)p->chunk.bytes + 1);
    if (text == NULL) return gi_fail(err, "nomem", "no memory for the events of %s", r->path);
    bool ok = get_chunk(r, p, text, err);
    if (ok) gi_buf_add(&r->events, text, (size_t)p->chunk.bytes);
    free(text);
    return ok;
}

static bool is_sound(const Recording *r, const Place *p) {
    const Chunk *c = &p->chunk;
    return c->kind >= CHUNK_BLOB && c->kind <= CHUNK_END && (c->flags & ~1u) == 0 &&
           c->bytes < (uint64_t)1 << 48 &&
           (c->flags & CHUNK_PACKED ? c->stored < c->bytes : c->stored == c->bytes) &&
           p->at <= r->size;
}

static bool add_chunk(Recording *r, const Place *p, gi_err *err) {
    if (p->chunk.kind == CHUNK_BLOB) add_blob(r, p);
    if (p->chunk.kind == CHUNK_END) r->whole = true;
    return p->chunk.kind != CHUNK_EVENTS || add_events(r, p, err);
}

/* A last chunk that is cut short is what a program leaves that dies while it writes. */
static bool look_through(Recording *r, gi_err *err) {
    uint64_t at = HEAD_BYTES;
    uint8_t head[CHUNK_BYTES];
    while (!r->whole && r->size - at >= CHUNK_BYTES) {
        Place p = {.at = at + CHUNK_BYTES};
        if (!get(r, at, head, sizeof head, err)) return false;
        chunk_read(&p.chunk, head);
        if (!is_sound(r, &p)) return damaged(r, at, err);
        if (p.chunk.stored > r->size - p.at) break;
        if (!add_chunk(r, &p, err)) return false;
        at = p.at + p.chunk.stored;
    }
    if (r->whole && at != r->size) return damaged(r, at, err);
    if (memchr(r->events.data ? r->events.data : "", '\0', r->events.len))
        return gi_fail(err, "format", "%s has a zero byte among its events", r->path);
    return true;
}

static bool look_at_head(Recording *r, gi_err *err) {
    uint8_t head[HEAD_BYTES];
    r->version = -1;
    if (r->size >= HEAD_BYTES && !get(r, 0, head, sizeof head, err)) return false;
    if (r->size >= HEAD_BYTES) r->version = head_version(head);
    if (r->version < 0) return gi_fail(err, "format", "%s is no recording of gilua's", r->path);
    if (r->version < 1 || r->version > RECORD_VERSION)
        return gi_fail(err, "format",
                       "%s is a recording of version %d and this gilua reads up to %d: record it "
                       "again, or read it with the gilua that made it",
                       r->path, r->version, RECORD_VERSION);
    return true;
}

static bool open_file(Recording *r, gi_err *err) {
    struct stat s;
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r->fd < 0 || fstat(r->fd, &s) != 0)
        return gi_fail(err, "io", "%s: %s", r->path, strerror(errno));
    if (!S_ISREG(s.st_mode)) return gi_fail(err, "io", "%s is no file", r->path);
    r->size = (uint64_t)s.st_size;
    return true;
}

/* --- the room's face --- */

Recording *recording_open(const char *path, gi_err *err) {
    Recording *r = gi_alloc(sizeof *r);
    r->path = gi_strdup(path);
    if (open_file(r, err) && look_at_head(r, err) && look_through(r, err)) return r;
    recording_close(r);
    return NULL;
}

void recording_close(Recording *r) {
    if (r == NULL) return;
    if (r->fd >= 0) close(r->fd);
    blobs_free(&r->names);
    free(r->places);
    gi_buf_free(&r->events);
    free(r->path);
    free(r);
}

int recording_version(const Recording *r) {
    return r->version;
}

bool recording_is_whole(const Recording *r) {
    return r->whole;
}

const char *recording_events(const Recording *r, size_t *len) {
    *len = r->events.len;
    return r->events.data ? r->events.data : "";
}

static const Place *place_of(const Recording *r, const char *name) {
    uint8_t bytes[NAME_BYTES];
    int i = blob_from(name, bytes) ? blobs_find(&r->names, bytes) : -1;
    return i < 0 ? NULL : &r->places[i];
}

bool recording_size(const Recording *r, const char *name, uint64_t *bytes) {
    const Place *p = place_of(r, name);
    if (p) *bytes = p->chunk.bytes;
    return p != NULL;
}

bool recording_read(const Recording *r, const char *name, void *out, size_t n, gi_err *err) {
    const Place *p = place_of(r, name);
    if (p == NULL) return gi_fail(err, "format", "%s has no blob '%.40s'", r->path, name);
    if (p->chunk.bytes != n)
        return gi_fail(err, "format", "a blob of %s has %llu bytes, where %zu belong", r->path,
                       (unsigned long long)p->chunk.bytes, n);
    return get_chunk(r, p, out, err);
}
