/* headers.c - see headers.h. */
#include "compile/headers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEAVY_BYTES = 14 << 20, /* of an image: 7 MB without a header, 8 with cuda_fp16.h, 13 with mma.h
                             * (0.1 s to read), 102 with cooperative_groups.h (1.4 s) */
    SMALL_BYTES = 32 << 10, /* of headers whose image is not worth making, whatever is in them */
    DEEPEST = 8,            /* that headers include each other */
    KEEP = 2,               /* images: for the kernel and for its checked form */
    REMEMBER = 64,          /* keys */
    NEVER = -2,             /* of no use */
};

struct HeadersEntry {
    char key[33];
    char option[48]; /* --use-pch=… */
    int fd;          /* of the image; -1: not made */
    gi_buf log; /* what NVRTC says of the headers: warnings, as a rule none */
    int asked;
    long used;
};

static void forget(HeadersEntry *e, int state) {
    if (e->fd >= 0) close(e->fd);
    gi_buf_free(&e->log);
    e->fd = state;
}

void headers_free(Headers *h) {
    for (int i = 0; i < h->n; i++) forget(&h->v[i], -1);
    free(h->v);
    free(h->folder);
    *h = (Headers){0};
}

/* The entry that was used longest ago, of those with an image or of all. */
static HeadersEntry *oldest(Headers *h, bool with_image) {
    HeadersEntry *found = NULL;
    for (int i = 0; i < h->n; i++)
        if ((h->v[i].fd >= 0 || !with_image) && (found == NULL || h->v[i].used < found->used))
            found = &h->v[i];
    return found;
}

static HeadersEntry *entry_of(Headers *h, const char *key, size_t len) {
    char hash[33];
    gi_hash128(key, len, hash);
    for (int i = 0; i < h->n; i++)
        if (strcmp(h->v[i].key, hash) == 0) return &h->v[i];
    HeadersEntry *e;
    if (h->n == REMEMBER) {
        e = oldest(h, false);
        forget(e, -1);
    } else {
        gi_grow(h->v, h->n, h->cap);
        e = &h->v[h->n++];
    }
    *e = (HeadersEntry){.fd = -1};
    memcpy(e->key, hash, sizeof hash);
    return e;
}

static void make_room(Headers *h) {
    int images = 0;
    for (int i = 0; i < h->n; i++) images += h->v[i].fd >= 0;
    if (images >= KEEP) forget(oldest(h, true), -1);
}

/* Makes the image, and takes its name from it; NEVER where it is none, or a small one. */
static int make_image(Headers *h, HeadersMake make, void *context, gi_buf *log) {
    gi_buf option = {0};
    struct stat info;
    int fd = NEVER;
    gi_buf_addf(&option, "--create-pch=%s/headers.pch", h->folder);
    const char *path = strchr(option.data, '=') + 1;
    if (make(context, option.data, log)) fd = open(path, O_RDONLY | O_CLOEXEC);
    unlink(path);
    gi_buf_free(&option);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size >= HEAVY_BYTES) return fd;
    if (fd >= 0) close(fd);
    return NEVER;
}

const char *headers_option(Headers *h, const char *key, size_t len, bool eager, HeadersMake make,
                           void *context) {
    if (h->folder == NULL) return NULL;
    HeadersEntry *e = entry_of(h, key, len);
    e->used = ++h->turn;
    if (e->fd == -1 && (e->asked++ > 0 || eager)) {
        make_room(h);
        e->fd = make_image(h, make, context, &e->log);
        snprintf(e->option, sizeof e->option, "--use-pch=/proc/self/fd/%d", e->fd);
    }
    return e->fd >= 0 ? e->option : NULL;
}

void headers_refuse(Headers *h, const char *option) {
    for (int i = 0; i < h->n; i++)
        if (h->v[i].fd >= 0 && strcmp(h->v[i].option, option) == 0) forget(&h->v[i], NEVER);
}

bool headers_line(const char *said, const char **line, const char **rest) {
    static const char *const words[] = {"\": using precompiled header file \"",
                                        "\": creating precompiled header file \""};
    for (const char *p = said; *p;) {
        const char *end = p + strcspn(p, "\n"), *next = end + (*end == '\n');
        for (int i = 0; i < 2 && *p == '"'; i++) {
            const char *found = strstr(p, words[i]);
            if (found == NULL || found > end) continue;
            *line = p;
            *rest = next;
            return true;
        }
        p = next;
    }
    return false;
}

/* NVRTC's advice on warnings, which it gives once. */
static const char *find_remark(const char *log) {
    return strstr(log, "Remark: The warnings can be suppressed");
}

bool headers_log(const Headers *h, const char *option, const char *said, gi_buf *out) {
    const char *line, *rest;
    const HeadersEntry *e = NULL;
    for (int i = 0; i < h->n; i++)
        if (h->v[i].fd >= 0 && strcmp(h->v[i].option, option) == 0) e = &h->v[i];
    if (e == NULL || !headers_line(said, &line, &rest)) return false;
    if (*rest == '\n' && rest[1] == '\0') rest++; /* that was all */
    const char *remark = e->log.len && find_remark(e->log.data) ? find_remark(rest) : NULL;
    if (e->log.len) gi_buf_add(out, e->log.data, e->log.len);
    if (remark) {
        gi_buf_add(out, rest, (size_t)(remark - rest));
        rest = remark + strcspn(remark, "\n");
        rest += strspn(rest, "\n");
    }
    gi_buf_adds(out, rest);
    return true;
}

/* --- what a source begins with */

/* Behind blanks, line ends and comments; NULL where a comment does not end. */
static const char *skip_comments(const char *p) {
    for (;;) {
        p += strspn(p, " \t\r\n");
        if (p[0] == '/' && p[1] == '*') {
            p = strstr(p + 2, "*/");
            if (p == NULL) return NULL;
            p += 2;
        } else if (p[0] == '/' && p[1] == '/') {
            p += strcspn(p, "\n");
            if (p[-1] == '\\') return NULL; /* it goes on */
        } else {
            return p;
        }
    }
}

/* The file that the #include line at p names, a copy; NULL where it is no plain one. */
static char *included_file(const char *p) {
    const char *end = p + strcspn(p, "\n");
    if (*p++ != '#') return NULL;
    p += strspn(p, " \t");
    if (strncmp(p, "include", 7) != 0) return NULL;
    p += 7 + strspn(p + 7, " \t");
    if (*p != '<' && *p != '"') return NULL;
    const size_t len = strcspn(p + 1, ">\"\n");
    const char *rest = p + 1 + len;
    if (rest >= end) return NULL;
    rest += 1 + strspn(rest + 1, " \t\r");
    return rest == end ? gi_strndup(p + 1, len) : NULL;
}

size_t headers_length(const char *source, bool (*known)(const void *context, const char *name),
                      const void *context) {
    size_t length = 0;
    for (const char *p = skip_comments(source); p; p = skip_comments(p)) {
        char *name = included_file(p);
        const bool counts = name && known(context, name);
        free(name);
        if (!counts) break;
        p += strcspn(p, "\n");
        length = (size_t)(p - source) + (*p == '\n');
    }
    return length;
}

static bool fits(const char *text, HeadersFind find, const void *context, int depth, size_t *left) {
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        const char *line = p + strspn(p, " \t"), *word = line + 1;
        if (*line != '#' || strncmp(word + strspn(word, " \t"), "include", 7) != 0) continue;
        char *name = depth > 0 ? included_file(line) : NULL;
        char *path = name ? find(context, name) : NULL;
        gi_buf file = {0};
        bool small = path && gi_read_file(path, &file, NULL) && file.len <= *left;
        if (small) *left -= file.len;
        small = small && fits(file.len ? file.data : "", find, context, depth - 1, left);
        gi_buf_free(&file);
        free(name);
        free(path);
        if (!small) return false;
    }
    return true;
}

bool headers_are_small(const char *text, HeadersFind find, const void *context) {
    size_t left = SMALL_BYTES;
    return fits(text, find, context, DEEPEST, &left);
}
