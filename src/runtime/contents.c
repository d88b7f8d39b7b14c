/* contents.c - see contents.h. */
#include "runtime/contents.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

Hash hash_of(const void *bytes, size_t n, uint64_t seed) {
    XXH128_hash_t h = XXH3_128bits_withSeed(bytes, n, seed);
    return (Hash){h.low64, h.high64};
}

Hash contents_hash(Contents *c) {
    if (c->hashed != c->version || c->is_shared) {
        c->hash = hash_of(c->data, c->size, 0);
        c->hashed = c->version;
    }
    return c->hash;
}

void contents_known(Contents *c, Hash hash) {
    c->version++;
    c->hash = hash;
    c->hashed = c->version;
}
