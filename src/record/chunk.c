/* chunk.c - see chunk.h. */
#include "record/chunk.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "record/record.h"

static void put(uint8_t *at, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t get(const uint8_t *at, int bytes) {
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | at[i];
    return v;
}

void chunk_write(const Chunk *c, uint8_t head[CHUNK_BYTES]) {
    put(head, c->kind, 4);
    put(head + 4, c->flags, 4);
    put(head + 8, c->stored, 8);
    put(head + 16, c->bytes, 8);
    memcpy(head + 24, c->name, NAME_BYTES);
}

void chunk_read(Chunk *c, const uint8_t head[CHUNK_BYTES]) {
    c->kind = (uint32_t)get(head, 4);
    c->flags = (uint32_t)get(head + 4, 4);
    c->stored = get(head + 8, 8);
    c->bytes = get(head + 16, 8);
    memcpy(c->name, head + 24, NAME_BYTES);
}

void head_write(uint8_t head[HEAD_BYTES]) {
    memset(head, 0, HEAD_BYTES);
    memcpy(head, RECORD_MAGIC, sizeof RECORD_MAGIC);
    put(head + 12, RECORD_VERSION, 4);
}

int head_version(const uint8_t head[HEAD_BYTES]) {
    if (memcmp(head, RECORD_MAGIC, sizeof RECORD_MAGIC) != 0) return -1;
    return (int)(get(head + 12, 4) & INT32_MAX);
}

/* --- blobs by name --- */

void blob_name(int version, const void *bytes, size_t n, uint8_t name[NAME_BYTES]) {
    XXH128_canonical_t digest;
    char text[RECORD_NAME];
    if (version < 2) {
        gi_hash128(bytes, n, text);
        blob_from(text, name);
        return;
    }
    XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes, n));
    memcpy(name, digest.digest, NAME_BYTES);
}

void record_name(int version, const void *bytes, size_t n, char name[RECORD_NAME]) {
    uint8_t own[NAME_BYTES];
    blob_name(version, bytes, n, own);
    blob_text(own, name);
}

void blob_text(const uint8_t name[NAME_BYTES], char text[33]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < NAME_BYTES; i++) {
        text[2 * i] = digits[name[i] >> 4];
        text[2 * i + 1] = digits[name[i] & 15];
    }
    text[32] = '\0';
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool blob_from(const char *text, uint8_t name[NAME_BYTES]) {
    if (strlen(text) != 32) return false;
    for (int i = 0; i < NAME_BYTES; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        name[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* Where a name is, or would be: the table is never full. */
static size_t slot_of(const BlobSet *set, const uint8_t name[NAME_BYTES]) {
    size_t i = (size_t)get(name, 8) & (set->n_slots - 1);
    while (set->slots[i] && memcmp(set->v[set->slots[i] - 1], name, NAME_BYTES) != 0)
        i = (i + 1) & (set->n_slots - 1);
    return i;
}

static void grow(BlobSet *set) {
    set->n_slots = set->n_slots ? 2 * set->n_slots : 64;
    free(set->slots);
    set->slots = gi_alloc(set->n_slots * sizeof *set->slots);
    for (int i = 0; i < set->n; i++) set->slots[slot_of(set, set->v[i])] = i + 1;
}

int blobs_find(const BlobSet *set, const uint8_t name[NAME_BYTES]) {
    return set->n_slots ? set->slots[slot_of(set, name)] - 1 : -1;
}

int blobs_add(BlobSet *set, const uint8_t name[NAME_BYTES]) {
    if (2 * (size_t)set->n >= set->n_slots) grow(set);
    gi_grow(set->v, set->n, set->cap);
    memcpy(set->v[set->n], name, NAME_BYTES);
    set->slots[slot_of(set, name)] = set->n + 1;
    return set->n++;
}

void blobs_free(BlobSet *set) {
    free(set->v);
    free(set->slots);
    *set = (BlobSet){0};
}
