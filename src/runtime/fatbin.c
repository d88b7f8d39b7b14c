/* fatbin.c - containers of PTX and machine code. See fatbin.h. */
#include "runtime/fatbin.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define MAGIC      0xBA55ED50u
#define FLAG_LZ4   0x2000u
#define FLAG_ZSTD  0x8000u
#define MOST_BYTES ((uint64_t)1 << 30)   /* of one entry, unpacked: at most 1000 times the packed */
enum { HEADER = 16, ENTRY_HEADER = 64 }; /* bytes */

typedef struct Entry {
    int kind, arch;
    uint64_t flags, full; /* full: bytes unpacked, 0 where it is not packed */
    const uint8_t *payload;
    size_t bytes;  /* of the payload, packed or not */
    int registers; /* of a thread at most; 0: not said */
} Entry;

static uint64_t number(const uint8_t *at, int bytes) {
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | at[i];
    return v;
}

bool fatbin_size(const void *data, size_t len, size_t *size) {
    const uint8_t *p = data;
    if (len < HEADER || number(p, 4) != MAGIC) return false;
    uint64_t header = number(p + 6, 2), body = number(p + 8, 8);
    if (number(p + 4, 2) != 1 || header < HEADER || header > len || body > len - header)
        return false;
    *size = (size_t)(header + body);
    return true;
}

/* -maxrregcount of an entry's options. */
static int most_registers(const uint8_t *entry, uint64_t header) {
    static const char option[] = "-maxrregcount=";
    char text[200] = "";
    uint64_t pair = number(entry + 20, 4);
    uint64_t at = pair > 0 && pair <= header - 8 ? number(entry + pair, 4) : header,
             n = header - at;
    if (at >= header) return 0;
    if (n > sizeof text - 1) n = sizeof text - 1;
    memcpy(text, entry + at, n);
    const char *found = strstr(text, option);
    int value = found ? atoi(found + sizeof option - 1) : 0;
    return value > 0 && value <= 255 ? value : 0;
}

/* The entry at *p, which moves to the next one. */
static bool next_entry(const uint8_t **p, const uint8_t *end, Entry *e, gi_err *err) {
    size_t left = (size_t)(end - *p);
    uint64_t header = left < ENTRY_HEADER ? 0 : number(*p + 4, 4);
    uint64_t padded = left < ENTRY_HEADER ? 0 : number(*p + 8, 8);
    if (header < ENTRY_HEADER || header > left || padded > left - header)
        return gi_fail(err, "format", "an entry of a fat binary is cut short");
    *e = (Entry){.kind = (int)number(*p, 2),
                 .arch = (int)number(*p + 28, 4),
                 .flags = number(*p + 40, 8),
                 .payload = *p + header,
                 .bytes = (size_t)padded,
                 .registers = most_registers(*p, header)};
    if (e->flags & (FLAG_LZ4 | FLAG_ZSTD)) {
        uint64_t packed = number(*p + 16, 4);
        e->full = number(*p + 56, 8);
        if (packed > padded || e->full == 0 || e->full > MOST_BYTES || e->full / 1000 > packed)
            return gi_fail(err, "format", "an entry of a fat binary has impossible sizes");
        e->bytes = (size_t)packed;
    }
    *p = e->payload + padded;
    return true;
}

static bool unpack(const Entry *e, char *text) {
    if (e->flags & FLAG_ZSTD)
        return ZSTD_decompress(text, e->full, e->payload, e->bytes) == e->full;
    return LZ4_decompress_safe((const char *)e->payload, text, (int)e->bytes, (int)e->full) ==
           (int)e->full;
}

/* The payload; of text without the zeros that fill it up. */
static bool add_payload(const Entry *e, gi_buf *out, gi_err *err) {
    const char *bytes = (const char *)e->payload;
    char *room = e->full ? malloc(e->full) : NULL;
    if (e->full && room == NULL)
        return gi_fail(err, "nomem", "no memory for %llu bytes of a fat binary",
                       (unsigned long long)e->full);
    bool ok = e->full == 0 || unpack(e, room);
    size_t n = e->full ? e->full : e->bytes;
    if (e->full) bytes = room;
    if (ok) gi_buf_add(out, bytes, e->kind == FAT_PTX ? strnlen(bytes, n) : n);
    free(room);
    return ok || gi_fail(err, "format", "%s in a fat binary cannot be unpacked",
                         e->kind == FAT_PTX ? "PTX" : "machine code");
}

static void list_entry(gi_buf *list, const Entry *e) {
    if (e->kind != FAT_PTX && e->kind != FAT_CODE) return;
    gi_buf_addf(list, "%s%s_%d", list->len ? ", " : "", e->kind == FAT_PTX ? "compute" : "sm",
                e->arch);
}

static bool no_ptx(gi_buf *list, int arch, gi_err *err) {
    gi_fail(err, "nolib",
            "the program holds %s%s and no PTX that a GPU of compute capability %d.%d can take: "
            "build it with nvcc -cudart shared -gencode arch=compute_%d,code=compute_%d -lineinfo",
            list->len ? "code for " : "no code", list->len ? list->data : "", arch / 10, arch % 10,
            arch, arch);
    gi_buf_free(list);
    return false;
}

static bool fits(const Entry *e, int kind, int arch) {
    return e->kind == kind && e->arch <= arch && (kind == FAT_PTX || e->arch / 10 == arch / 10);
}

/* The entry of a kind for the highest architecture that fits; its arch is -1 where there is none,
** and *list says what there is. */
static bool best_entry(const void *data, size_t len, int kind, int arch, Entry *best, gi_buf *list,
                       gi_err *err) {
    size_t size;
    *best = (Entry){.arch = -1};
    if (!fatbin_size(data, len, &size))
        return gi_fail(err, "format",
                       "what the program registers is no fat binary of a version "
                       "that is known");
    const uint8_t *p = (const uint8_t *)data + number((const uint8_t *)data + 6, 2);
    const uint8_t *end = (const uint8_t *)data + size;
    Entry e;
    while (p < end) {
        if (!next_entry(&p, end, &e, err)) return false;
        list_entry(list, &e);
        if (fits(&e, kind, arch) && e.arch > best->arch) *best = e;
    }
    return true;
}

bool fatbin_ptx(const void *data, size_t len, int arch, gi_buf *out, int *registers, gi_err *err) {
    Entry best;
    gi_buf list = {0};
    bool ok = best_entry(data, len, FAT_PTX, arch, &best, &list, err);
    if (ok && best.arch < 0) return no_ptx(&list, arch, err);
    gi_buf_free(&list);
    if (ok && registers) *registers = best.registers;
    return ok && add_payload(&best, out, err);
}

bool fatbin_code(const void *data, size_t len, int arch, gi_buf *out, gi_err *err) {
    Entry best;
    gi_buf list = {0};
    bool ok = best_entry(data, len, FAT_CODE, arch, &best, &list, err);
    gi_buf_free(&list);
    if (ok && best.arch < 0)
        return gi_fail(err, "nolib", "there is no machine code for sm_%d", arch);
    return ok && add_payload(&best, out, err);
}
