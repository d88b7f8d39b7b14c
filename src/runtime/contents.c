/* contents.c - see contents.h. */
#include "runtime/contents.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

Hash hash_of(const void *bytes, size_t n, uint64_t seed) {
    XXH128_hash_t h = XXH3_128bits_withSeed(bytes, n, seed);
    return (Hash){h.low64, h.high64};
}

/* --- what is written late --- */

static Contents **waiting;
static int n_waiting, cap_waiting;

static void wait_for(Contents *c) {
    if (c->is_late) return;
    c->is_late = true;
    gi_grow(waiting, n_waiting, cap_waiting);
    waiting[n_waiting++] = c;
}

void fill_bytes(uint8_t *at, size_t n, Fill fill) {
    if (fill.element == 1) {
        memset(at, (int)(fill.value & 0xff), n);
        return;
    }
    for (size_t i = 0; i + fill.element <= n; i += fill.element)
        memcpy(at + i, &fill.value, fill.element);
}

void contents_gone(Contents *c) {
    if (!c->is_late) return;
    int i = 0;
    while (waiting[i] != c) i++;
    waiting[i] = waiting[--n_waiting];
    c->is_late = false;
}

void contents_settle(Contents *c) {
    if (!c->is_late) return;
    contents_gone(c);
    if (c->late) memcpy(c->data, c->late, c->size);
    else fill_bytes(c->data, c->size, c->fill);
}

void contents_settle_all(void) {
    while (n_waiting > 0) contents_settle(waiting[n_waiting - 1]);
}

void contents_become(Contents *c, const uint8_t *bytes, Hash hash) {
    c->version++;
    c->hash = hash;
    c->hashed = c->version;
    wait_for(c);
    c->late = bytes;
}

/* --- hashes of fills, which loops repeat --- */

enum { FILLS = 16 };

static struct {
    size_t size;
    Fill fill;
    Hash hash;
} fills[FILLS];
static unsigned n_fills; /* ever */

static const Hash *hash_of_fill(size_t size, Fill f) {
    for (unsigned i = 0; i < n_fills && i < FILLS; i++)
        if (fills[i].size == size && fills[i].fill.value == f.value &&
            fills[i].fill.element == f.element)
            return &fills[i].hash;
    return NULL;
}

void contents_fill(Contents *c, Fill fill) {
    const Hash *known = hash_of_fill(c->size, fill);
    c->version++;
    if (known) c->hash = *known, c->hashed = c->version;
    wait_for(c);
    c->late = NULL;
    c->fill = fill;
}

Hash contents_hash(Contents *c) {
    if (c->hashed == c->version && !c->is_shared) return c->hash;
    bool is_fill = c->is_late && c->late == NULL;
    contents_settle(c);
    c->hash = hash_of(c->data, c->size, 0);
    c->hashed = c->version;
    if (is_fill) {
        fills[n_fills % FILLS].size = c->size;
        fills[n_fills % FILLS].fill = c->fill;
        fills[n_fills++ % FILLS].hash = c->hash;
    }
    return c->hash;
}
