/* contents.h - memory with a version and a hash: has it changed? Private to src/runtime. */
#ifndef GILUA_RUNTIME_CONTENTS_H
#define GILUA_RUNTIME_CONTENTS_H

#include "base/base.h"

typedef struct Hash {
    uint64_t low, high;
} Hash;

typedef struct Contents {
    uint8_t *data;
    size_t size;
    bool is_shared;   /* the host writes to it and tells nobody */
    uint64_t version; /* counts what may have written to it, from 1 */
    uint64_t hashed;  /* the version that `hash` is of; 0: none */
    Hash hash;
} Contents;

/* Of its bytes as they are now: 128 bits (XXH3), computed where the version is another. */
Hash contents_hash(Contents *c);
/* They are those that have this hash. */
void contents_known(Contents *c, Hash hash);

static inline bool hash_equal(Hash a, Hash b) {
    return a.low == b.low && a.high == b.high;
}

/* Of bytes that are no contents. */
Hash hash_of(const void *bytes, size_t n, uint64_t seed);

#endif
