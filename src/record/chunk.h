/* chunk.h - the head of a file and of a chunk. Private to src/record. See record.h. */
#ifndef GILUA_RECORD_CHUNK_H
#define GILUA_RECORD_CHUNK_H

#include "base/base.h"

#define RECORD_MAGIC "gilua-rec" /* then zeros, and the version in the last four bytes */

enum { HEAD_BYTES = 16, CHUNK_BYTES = 40, NAME_BYTES = 16 };
enum { CHUNK_PACKED = 1 }; /* flags */

typedef enum ChunkKind { CHUNK_BLOB = 1, CHUNK_EVENTS, CHUNK_END } ChunkKind;

typedef struct Chunk {
    uint32_t kind, flags;
    uint64_t stored, bytes;   /* in the file; unpacked */
    uint8_t name[NAME_BYTES]; /* hash of the bytes unpacked */
} Chunk;

void chunk_write(const Chunk *c, uint8_t head[CHUNK_BYTES]);
void chunk_read(Chunk *c, const uint8_t head[CHUNK_BYTES]);

/* The version, or -1 where it is no recording's head. */
int head_version(const uint8_t head[HEAD_BYTES]);
void head_write(uint8_t head[HEAD_BYTES]);

/* record_name of bytes; as text. */
void blob_name(int version, const void *bytes, size_t n, uint8_t name[NAME_BYTES]);
void blob_text(const uint8_t name[NAME_BYTES], char text[33]);
bool blob_from(const char *text, uint8_t name[NAME_BYTES]);

/* Which chunk has a name: a hash table of numbers from 0. Zero-initialise it. */
typedef struct BlobSet {
    uint8_t (*v)[NAME_BYTES];
    int n, cap;
    int *slots; /* number + 1; 0 free */
    size_t n_slots;
} BlobSet;

int blobs_find(const BlobSet *set, const uint8_t name[NAME_BYTES]); /* -1: none */
int blobs_add(BlobSet *set, const uint8_t name[NAME_BYTES]);        /* its number */
void blobs_free(BlobSet *set);

#endif
