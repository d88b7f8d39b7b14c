/* arena.c - memory of one module: chunks of growing size, freed together. */
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

typedef struct PtxChunk {
    struct PtxChunk *next;
    size_t size; /* of what follows */
    max_align_t bytes[];
} PtxChunk;

static void add_chunk(PtxArena *a, size_t need) {
    size_t size = a->chunks ? a->chunks->size * 2 : 1 << 14;
    if (size > 1 << 20) size = 1 << 20;
    if (size < need) size = need;
    PtxChunk *chunk = gi_alloc(sizeof *chunk + size);
    chunk->size = size;
    chunk->next = a->chunks;
    a->chunks = chunk;
    a->next = (char *)chunk->bytes;
    a->left = size;
}

void *ptxp_take(PtxArena *a, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (size > a->left) add_chunk(a, size);
    void *p = a->next;
    a->next += size;
    a->left -= size;
    return p;
}

void ptxp_arena_free(PtxArena *a) {
    while (a->chunks) {
        PtxChunk *next = a->chunks->next;
        free(a->chunks);
        a->chunks = next;
    }
}

void *ptxp_keep(Parser *P, const void *v, int n, size_t size) {
    if (n == 0) return NULL;
    void *copy = ptxp_take(P->arena, (size_t)n * size);
    memcpy(copy, v, (size_t)n * size);
    return copy;
}
