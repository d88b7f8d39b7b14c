/* cuda_memory.c - buffers of the device "cuda", and what guards them.
**
**     base          address                  address + bytes
**     [ guard zone  | contents               | guard zone    ]
**
** A guard zone holds a pattern; a zone's checksum is compared with what it was when the block was
** made. Contents are watched in the same way when they have a copy on the host to be restored from
** (read-only buffers, linear textures, a module's saved variables). One kernel sums all zones.
*/
#include "device/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    GUARD = 16 << 10,
    PATTERN = 0xA5,
    HALF = CUDA_STAGING_BYTES / 2,
    CHUNK_BYTES = 64 << 10, /* of a zone, summed by one block of threads */
    MAX_CHUNKS = 1 << 17
};

/* --- transfers: pinned halves take turns, so that copying here and there overlap --- */

/* bytes ^= key, over and over. */
static void scramble(char *bytes, size_t n, uint64_t key) {
    if (key == 0) return;
    for (size_t i = 0; i < n; i++) bytes[i] ^= (char)(key >> (i % 8 * 8));
}

static int upload(CudaDevice *d, CuPointer to, const char *from, size_t n, uint64_t key) {
    int code = CU_OK;
    for (size_t at = 0, i = 0; at < n && code == CU_OK; at += HALF, i++) {
        size_t size = n - at < HALF ? n - at : HALF;
        char *half = d->staging + i % 2 * HALF;
        if (i >= 2) code = d->cu->event_wait(d->half[i % 2]);
        if (code != CU_OK) break;
        memcpy(half, from + at, size);
        scramble(half, size, key);
        code = d->cu->upload(to + at, half, size, d->stream);
        if (code == CU_OK) code = d->cu->event_record(d->half[i % 2], d->stream);
    }
    return code;
}

static int download_part(CudaDevice *d, CuPointer from, size_t n, size_t at, size_t i) {
    size_t size = n - at < HALF ? n - at : HALF;
    int code = d->cu->download(d->staging + i % 2 * HALF, from + at, size, d->stream);
    return code == CU_OK ? d->cu->event_record(d->half[i % 2], d->stream) : code;
}

static int download(CudaDevice *d, char *to, CuPointer from, size_t n) {
    int code = n > 0 ? download_part(d, from, n, 0, 0) : CU_OK;
    for (size_t at = 0, i = 0; at < n && code == CU_OK; at += HALF, i++) {
        size_t size = n - at < HALF ? n - at : HALF;
        if (at + size < n) code = download_part(d, from, n, at + HALF, i + 1);
        if (code == CU_OK) code = d->cu->event_wait(d->half[i % 2]);
        if (code == CU_OK) memcpy(to + at, d->staging + i % 2 * HALF, size);
    }
    return code;
}

bool cuda_upload(CudaDevice *d, CuPointer to, const void *from, size_t n, gi_err *err) {
    return cuda_enter(d, err) && cuda_ok(d, upload(d, to, from, n, 0), "copy to the GPU", err) &&
           cuda_finish(d, "copy to the GPU", err);
}

bool cuda_download(CudaDevice *d, void *to, CuPointer from, size_t n, gi_err *err) {
    return cuda_enter(d, err) && cuda_ok(d, download(d, to, from, n), "copy from the GPU", err) &&
           cuda_finish(d, "copy from the GPU", err);
}

bool cuda_scratch(CudaDevice *d, CudaScratch *s, size_t bytes, gi_err *err) {
    if (bytes <= s->bytes) return true;
    if (s->address) d->cu->memory_free(s->address);
    *s = (CudaScratch){0};
    if (!cuda_ok(d, d->cu->memory_new(&s->address, bytes), "get working memory", err)) return false;
    s->bytes = bytes;
    return true;
}

/* --- zones and their sums --- */

typedef struct Chunk { /* as the helper kernel sees it */
    uint64_t address, offset;
    uint32_t bytes, zone;
} Chunk;

typedef struct Zone {
    CuPointer address;
    size_t bytes;
} Zone;

/* The three zones of a block; contents that are not watched are an empty one. */
static void zones_of(const CudaBlock *b, Zone zones[3]) {
    zones[0] = (Zone){b->base, GUARD};
    zones[1] = (Zone){b->address, b->host ? b->bytes : 0};
    zones[2] = (Zone){b->address + b->bytes, GUARD};
}

/* The chunks of n zones, no more than MAX_CHUNKS whatever their size. */
static Chunk *cut(const Zone *zones, int n, size_t *n_chunks) {
    size_t total = 0, step = CHUNK_BYTES, k = 0;
    for (int i = 0; i < n; i++) total += zones[i].bytes;
    while (total / step > MAX_CHUNKS / 2) step *= 2;
    Chunk *chunks = gi_alloc((total / step + (size_t)n + 1) * sizeof *chunks);
    for (int i = 0; i < n; i++) {
        for (size_t at = 0; at < zones[i].bytes; at += step) {
            size_t left = zones[i].bytes - at;
            chunks[k++] = (Chunk){zones[i].address + at, at, (uint32_t)(left < step ? left : step),
                                  (uint32_t)i};
        }
    }
    *n_chunks = k;
    return chunks;
}

static int queue_sums(CudaDevice *d, const Chunk *chunks, size_t n_chunks, size_t n_zones) {
    CuPointer table = d->table.address, sums = table + n_chunks * sizeof *chunks;
    void *args[] = {&table, &sums};
    int code = upload(d, table, (const char *)chunks, n_chunks * sizeof *chunks, 0);
    if (code == CU_OK) code = d->cu->fill8(sums, 0, n_zones * 8, d->stream);
    if (code == CU_OK) code = cuda_help(d, d->helpers.sums, (unsigned)n_chunks, args);
    return code;
}

static bool sum_zones(CudaDevice *d, const Zone *zones, int n, uint64_t *sums, gi_err *err) {
    size_t n_chunks;
    Chunk *chunks = cut(zones, n, &n_chunks);
    size_t bytes = n_chunks * sizeof *chunks;
    bool ok = cuda_scratch(d, &d->table, bytes + (size_t)n * 8, err) &&
              cuda_ok(d, queue_sums(d, chunks, n_chunks, (size_t)n), "check the guard zones", err);
    free(chunks);
    return ok && cuda_download(d, sums, d->table.address + bytes, (size_t)n * 8, err);
}

/* --- blocks --- */

static void link_block(CudaBlock *b) {
    CudaDevice *d = b->device;
    b->next = d->blocks;
    if (b->next) b->next->previous = b;
    d->blocks = b;
}

static void unlink_block(CudaBlock *b) {
    if (b->previous) b->previous->next = b->next;
    else if (b->device->blocks == b) b->device->blocks = b->next;
    if (b->next) b->next->previous = b->previous;
}

static int fill_guards(CudaBlock *b) {
    CudaDevice *d = b->device;
    int code = d->cu->fill8(b->base, PATTERN, GUARD, d->stream);
    return code == CU_OK ? d->cu->fill8(b->address + b->bytes, PATTERN, GUARD, d->stream) : code;
}

bool cuda_block_record(CudaBlock *b, gi_err *err) {
    Zone zones[3];
    zones_of(b, zones);
    return sum_zones(b->device, zones, 3, b->sums, err);
}

static bool fill_contents(CudaBlock *b, const void *host, gi_err *err) {
    CudaDevice *d = b->device;
    int code = upload(d, b->address, host, b->bytes, b->key);
    return cuda_ok(d, code, "copy to the GPU", err) && cuda_finish(d, "copy to the GPU", err);
}

static bool fill_block(CudaBlock *b, const void *host, bool watch, gi_err *err) {
    CudaDevice *d = b->device;
    size_t whole = (b->bytes + 2 * GUARD + 3) & ~(size_t)3; /* zones are summed by words */
    int code = d->cu->memory_new(&b->base, whole);
    if (code == CU_OUT_OF_MEMORY)
        return gi_fail(err, "nomem", "the GPU has no memory left for %s (%zu bytes)", b->label,
                       b->bytes);
    if (!cuda_ok(d, code, "get memory of the GPU", err)) return false;
    b->address = b->base + GUARD;
    code = d->cu->fill8(b->base, PATTERN, whole, d->stream); /* the guard zones, odd bytes too */
    if (!cuda_ok(d, code, "fill the guard zones", err)) return false;
    if (host && !fill_contents(b, host, err)) return false;
    if (watch) b->host = host;
    return cuda_block_record(b, err);
}

static CudaBlock *new_block(CudaDevice *d, size_t bytes, const void *host, bool watch, uint64_t key,
                            const char *label, gi_err *err) {
    if (!cuda_enter(d, err)) return NULL;
    CudaBlock *b = gi_alloc(sizeof *b);
    *b = (CudaBlock){.device = d, .label = gi_strdup(label), .bytes = bytes, .key = key};
    link_block(b);
    if (fill_block(b, host, watch, err)) return b;
    cuda_block_free(b);
    return NULL;
}

CudaBlock *cuda_block_new(CudaDevice *d, size_t bytes, const void *host, bool watch,
                          const char *label, gi_err *err) {
    return new_block(d, bytes, host, watch, 0, label, err);
}

void cuda_block_free(CudaBlock *b) {
    if (b == NULL) return;
    CudaDevice *d = b->device;
    if (b->base && !d->lost && cuda_enter(d, NULL)) d->cu->memory_free(b->base);
    unlink_block(b);
    free(b->label);
    free(b);
}

/* --- was anything touched? --- */

static void describe(gi_buf *what, const CudaBlock *b, int zone) {
    static const char *const how[] = {"before the start of", "into", "past the end of"};
    gi_buf_addf(what, "%s %s '%s'", what->len ? " and" : "the kernel wrote", how[zone], b->label);
    if (zone == 1) gi_buf_adds(what, ", which is read-only");
}

/* Makes a block what it was. Its array may have changed since on the host: then it cannot be. */
static bool restore(CudaBlock *b, gi_err *err) {
    uint64_t want = b->sums[1];
    if (!cuda_ok(b->device, fill_guards(b), "restore the guard zones", err)) return false;
    if (b->host && !fill_contents(b, b->host, err)) return false;
    if (!cuda_block_record(b, err)) return false;
    if (b->sums[1] == want) return true;
    return gi_fail(err, "usage",
                   "a kernel wrote to '%s', and its array has changed since it was given to the "
                   "device, so it cannot be restored: leave arrays of read-only buffers alone",
                   b->label);
}

static bool check_block(CudaBlock *b, const uint64_t *sums, gi_buf *what, bool *touched,
                        gi_err *err) {
    bool damaged = false;
    for (int zone = 0; zone < 3; zone++) {
        if (sums[zone] == b->sums[zone]) continue;
        describe(what, b, zone);
        damaged = *touched = true;
    }
    return !damaged || restore(b, err);
}

static int count_blocks(const CudaDevice *d) {
    int n = 0;
    for (const CudaBlock *b = d->blocks; b; b = b->next) n++;
    return n;
}

bool cuda_intact(Device *base, gi_buf *what, gi_err *err) {
    CudaDevice *d = cuda_of(base);
    int n = count_blocks(d), i = 0;
    if (!cuda_enter(d, err)) return false;
    if (n == 0) return true;
    Zone *zones = gi_alloc((size_t)n * 3 * sizeof *zones);
    uint64_t *sums = gi_alloc((size_t)n * 3 * sizeof *sums);
    for (CudaBlock *b = d->blocks; b; b = b->next) zones_of(b, zones + 3 * i++);
    bool ok = sum_zones(d, zones, 3 * n, sums, err), touched = false;
    i = 0;
    for (CudaBlock *b = d->blocks; b && ok; b = b->next)
        ok = check_block(b, sums + 3 * i++, what, &touched, err);
    free(zones);
    free(sums);
    if (!ok || !touched) return ok;
    return gi_fail(err, "touched", "%s", what->data);
}

/* --- buffers --- */

static CudaBlock *block_of(DeviceBuffer *b) {
    return ((CudaBuffer *)b)->block;
}

/* No secret for an enemy, but nothing that a stray pointer can make an answer of. */
static uint64_t random_key(void) {
    uint64_t key = 0;
    if (getrandom(&key, sizeof key, 0) != sizeof key) key = (uint64_t)(gi_seconds() * 1e9);
    return key | 0x0101010101010101u;
}

DeviceBuffer *cuda_buffer(Device *d, Array *a, DeviceAccess access, const char *label,
                          gi_err *err) {
    uint64_t key = access == ACCESS_NONE ? random_key() : 0;
    CudaBlock *block =
        new_block(cuda_of(d), a->size_bytes, a->data, access != ACCESS_WRITE, key, label, err);
    if (block == NULL) return NULL;
    CudaBuffer *b = gi_alloc(sizeof *b);
    b->block = block;
    b->base.address = block->address;
    return &b->base;
}

bool cuda_buffer_keep(DeviceBuffer *b, gi_err *err) {
    CudaBuffer *buffer = (CudaBuffer *)b;
    cuda_block_free(buffer->kept);
    buffer->kept = cuda_block_new(cuda_of(b->device), b->array->size_bytes, b->kept, true,
                                  "what an argument holds before a launch", err);
    return buffer->kept != NULL;
}

void cuda_buffer_free(DeviceBuffer *b) {
    cuda_block_free(((CudaBuffer *)b)->kept);
    cuda_block_free(block_of(b));
    free(b);
}

bool cuda_buffer_read(DeviceBuffer *b, Array *into, gi_err *err) {
    if (b->access == ACCESS_NONE) {
        if (into->data != b->array->data) memcpy(into->data, b->array->data, into->size_bytes);
        return true;
    }
    return cuda_download(cuda_of(b->device), into->data, b->address, into->size_bytes, err);
}

bool cuda_buffer_write(DeviceBuffer *b, const Array *from, gi_err *err) {
    if (!cuda_enter(cuda_of(b->device), err) || !fill_contents(block_of(b), from->data, err))
        return false;
    if (b->access == ACCESS_WRITE) return true;
    if (from->data != b->array->data) memcpy(b->array->data, from->data, from->size_bytes);
    return cuda_block_record(block_of(b), err);
}

int cuda_queue_sentinel(DeviceBuffer *b) {
    CudaDevice *d = cuda_of(b->device);
    const CudaBlock *kept = ((CudaBuffer *)b)->kept;
    const Array *a = b->array;
    if (kept) return d->cu->copy(b->address, kept->address, a->size_bytes, d->stream);
    uint64_t value = ARRAY_SENTINEL_F64, n = (uint64_t)a->count;
    if (a->type == ARRAY_F32)
        return d->cu->fill32(b->address, ARRAY_SENTINEL_F32, (size_t)n, d->stream);
    if (a->type != ARRAY_F64)
        return d->cu->fill8(b->address, ARRAY_SENTINEL_BYTE, a->size_bytes, d->stream);
    void *args[] = {&b->address, &value, &n};
    return cuda_help(d, d->helpers.fill, (unsigned)(8 * d->info.sms), args);
}

bool cuda_buffer_sentinel(DeviceBuffer *b, gi_err *err) {
    CudaDevice *d = cuda_of(b->device);
    return cuda_enter(d, err) &&
           cuda_ok(d, cuda_queue_sentinel(b), "fill a buffer with the sentinel", err) &&
           cuda_finish(d, "fill a buffer with the sentinel", err);
}
