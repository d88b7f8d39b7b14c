/* contents.h - memory with a version and a hash: has it changed? Private to src/runtime.
**
** What is written to all of it at once may be written late: when somebody looks, or not at all if
** it is overwritten first. Whoever reads or writes `data` settles it before; that of shared memory
** is always as it should be.
*/
#ifndef GILUA_RUNTIME_CONTENTS_H
#define GILUA_RUNTIME_CONTENTS_H

#include "base/base.h"

typedef struct Hash {
    uint64_t low, high;
} Hash;

typedef struct Fill {
    uint32_t value;
    unsigned element; /* bytes of it: 1, 2, 4 */
} Fill;

typedef struct Contents {
    uint8_t *data;
    size_t size;
    bool is_shared;   /* the host writes to it and tells nobody */
    uint64_t version; /* counts what may have written to it, from 1 */
    uint64_t hashed;  /* the version that `hash` is of; 0: none */
    Hash hash;
    bool is_late;        /* data has not yet got: */
    const uint8_t *late; /* these bytes; NULL: */
    Fill fill;           /* this, all over it */
} Contents;

/* Of its bytes as they are now: 128 bits (XXH3), computed where the version is another. */
Hash contents_hash(Contents *c);
/* It holds those bytes, which have this hash and stay until contents_settle_all. */
void contents_become(Contents *c, const uint8_t *bytes, Hash hash);
/* All of it is filled; its size is a multiple of the element's. */
void contents_fill(Contents *c, Fill fill);
void contents_settle(Contents *c);
void contents_settle_all(void);
void contents_gone(Contents *c); /* its memory is about to go */

void fill_bytes(uint8_t *at, size_t n, Fill fill);

static inline bool hash_equal(Hash a, Hash b) {
    return a.low == b.low && a.high == b.high;
}

/* Of bytes that are no contents. */
Hash hash_of(const void *bytes, size_t n, uint64_t seed);

#endif
