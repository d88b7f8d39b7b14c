/* share.c - see share.h.
**
**   Head | Entry of array 1 | ... | Entry of array n | 0 padding | elements 1 | 0 padding | ...
**
** All offsets count from the start and are multiples of 64. Numbers are in the machine's order:
** a share never leaves it.
*/
#include "array/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array/block.h"

#define ALIGNMENT 64
#define SEALS     (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static const char magic[8] = "gilua\1sh";

typedef struct Head {
    char magic[8];
    uint64_t bytes; /* of the whole file */
    uint64_t count;
    uint64_t unused;
} Head;

typedef struct Entry {
    uint64_t offset;
    int32_t type, ndim;
    int64_t shape[ARRAY_MAX_DIMS];
} Entry;

struct Share {
    int fd, refs;
    size_t bytes;
    int count;
    Entry entries[];
};

static uint64_t align(uint64_t n) {
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* A share for n arrays, without a descriptor yet. */
static Share *new_share(int n) {
    Share *s = gi_alloc(sizeof *s + (size_t)n * sizeof s->entries[0]);
    s->fd = -1;
    s->refs = 1;
    s->count = n;
    return s;
}

Share *share_ref(Share *s) {
    s->refs++;
    return s;
}

void share_unref(Share *s) {
    if (s == NULL || --s->refs > 0) return;
    if (s->fd >= 0) close(s->fd);
    free(s);
}

int share_fd(const Share *s) {
    return s->fd;
}

size_t share_bytes(const Share *s) {
    return s->bytes;
}

int share_count(const Share *s) {
    return s->count;
}

/* --- making one --- */

static void lay_out(Share *s, Array *const *arrays) {
    uint64_t at = align(sizeof(Head) + (uint64_t)s->count * sizeof(Entry));
    for (int i = 0; i < s->count; i++) {
        Entry *e = &s->entries[i];
        e->offset = at;
        e->type = (int32_t)arrays[i]->type;
        e->ndim = arrays[i]->ndim;
        memcpy(e->shape, arrays[i]->shape, sizeof e->shape);
        at = align(at + arrays[i]->size_bytes);
    }
    s->bytes = at;
}

/* pwrite and not a mapping: a file that is mapped writable cannot be sealed. */
static bool write_at(int fd, const void *bytes, size_t len, uint64_t at) {
    for (const char *p = bytes; len > 0;) {
        ssize_t n = pwrite(fd, p, len, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return true;
}

/* Seals a file that no one else has yet. While the kernel moves one of its pages about, it says
** that somebody may be writing there (EBUSY, after 0.2 s): asked again, for up to ten seconds. */
static bool sealed(int fd) {
    double until = gi_seconds() + 10;
    while (fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) != 0) {
        if (errno != EBUSY || gi_seconds() > until) return false;
        usleep(1000);
    }
    return true;
}

static bool write_share(const Share *s, Array *const *arrays) {
    Head head = {.bytes = s->bytes, .count = (uint64_t)s->count};
    memcpy(head.magic, magic, sizeof magic);
    if (ftruncate(s->fd, (off_t)s->bytes) != 0) return false;
    if (!write_at(s->fd, &head, sizeof head, 0)) return false;
    if (!write_at(s->fd, s->entries, (size_t)s->count * sizeof(Entry), sizeof head)) return false;
    for (int i = 0; i < s->count; i++)
        if (!write_at(s->fd, arrays[i]->data, arrays[i]->size_bytes, s->entries[i].offset))
            return false;
    return sealed(s->fd);
}

/* A memory file with a number above those of the standard streams, which may be closed. */
static int new_memory_file(void) {
    int fd = memfd_create("gilua-share", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || fd > 2) return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3), reason = errno;
    close(fd);
    errno = reason;
    return higher;
}

Share *share_new(Array *const *arrays, int n, gi_err *err) {
    if (n < 1 || n > SHARE_MAX_ARRAYS) {
        gi_fail(err, "usage", "a share holds 1 to %d arrays, not %d", SHARE_MAX_ARRAYS, n);
        return NULL;
    }
    Share *s = new_share(n);
    lay_out(s, arrays);
    s->fd = new_memory_file();
    if (s->fd >= 0 && write_share(s, arrays)) return s;
    bool full = errno == ENOSPC || errno == ENOMEM;
    gi_fail(err, full ? "nomem" : "io", "cannot share %.1f MB of arrays with other processes: %s",
            (double)s->bytes / 1e6, gi_reason(errno));
    share_unref(s);
    return NULL;
}

/* --- getting one --- */

static bool read_at(int fd, void *out, size_t len, uint64_t at) {
    ssize_t n;
    do n = pread(fd, out, len, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)len;
}

/* The head of a descriptor that is sealed and as long as its head says. */
static bool read_head(int fd, Head *head) {
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &st) == 0 &&
           read_at(fd, head, sizeof *head, 0) && memcmp(head->magic, magic, sizeof magic) == 0 &&
           head->bytes == (uint64_t)st.st_size && head->count >= 1 &&
           head->count <= SHARE_MAX_ARRAYS;
}

/* An entry whose elements lie behind the table and inside the file. */
static bool entry_is_sound(const Share *s, const Entry *e) {
    int64_t elements;
    if (e->type < ARRAY_I8 || e->type > ARRAY_E5M2) return false;
    if (!array_shape_count((ArrayType)e->type, e->ndim, e->shape, &elements, NULL)) return false;
    uint64_t first = sizeof(Head) + (uint64_t)s->count * sizeof(Entry);
    uint64_t len = (uint64_t)elements * array_type_size((ArrayType)e->type);
    return e->offset % ALIGNMENT == 0 && e->offset >= first && e->offset <= s->bytes &&
           len <= s->bytes - e->offset;
}

static bool read_entries(int fd, Share *s) {
    if (!read_at(fd, s->entries, (size_t)s->count * sizeof(Entry), sizeof(Head))) return false;
    for (int i = 0; i < s->count; i++)
        if (!entry_is_sound(s, &s->entries[i])) return false;
    return true;
}

Share *share_from_fd(int fd, gi_err *err) {
    Head head;
    Share *s = NULL;
    if (read_head(fd, &head)) {
        s = new_share((int)head.count);
        s->bytes = head.bytes;
        if (read_entries(fd, s)) {
            s->fd = fd;
            return s;
        }
    }
    gi_fail(err, "format", "what was received is no sealed share of arrays");
    free(s);
    close(fd);
    return NULL;
}

bool share_arrays(const Share *s, Array **out, gi_err *err) {
    ArrayBlock *block = array_block_map(s->fd, s->bytes, err);
    if (block == NULL) return false;
    for (int i = 0; i < s->count; i++) {
        const Entry *e = &s->entries[i];
        out[i] = array_in_block(block, e->offset, (ArrayType)e->type, e->ndim, e->shape);
    }
    array_block_unref(block);
    return true;
}
