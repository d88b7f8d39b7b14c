/* pack.c - texts packed by what they resemble: see store.h. A Zstandard frame, whose dictionary is
** the other text; archives of an earlier gilua have raw deflate, which never begins as a frame
** does. */
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "store/store.h"

/* A text of some 10 kB is packed in a twentieth of the time that zlib takes to make it as small;
** hundreds are in a second, by the process that has all workers to serve. */
enum { LEVEL = 3 };

#define LIKE_MAX    ((size_t)1 << 20) /* bytes of the other text that are used, the last ones */
#define WINDOW_LOG  23                /* the most that a stranger's frame may have us keep, 8 MiB */
#define PACK_MEMORY ((size_t)1000000) /* about what Zstandard takes for it */

#define RAW          (-15) /* deflate alone, a window of 32 KiB */
#define RAW_LIKE_MAX ((size_t)32768)

static void last_of(const char **like, size_t *len, size_t most) {
    if (*len <= most) return;
    *like += *len - most;
    *len = most;
}

/* What packs, kept for the next text: its tables are some hundred kilobytes, and as dear to make as
** a text is to pack. */
static ZSTD_CCtx *packer(void) {
    static _Thread_local ZSTD_CCtx *z;
    if (z == NULL) z = ZSTD_createCCtx();
    if (z == NULL) gi_no_memory(PACK_MEMORY);
    ZSTD_CCtx_reset(z, ZSTD_reset_session_and_parameters);
    return z;
}

void store_pack(const char *text, size_t len, const char *like, size_t like_len, gi_buf *out) {
    ZSTD_CCtx *z = packer();
    last_of(&like, &like_len, LIKE_MAX);
    ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_refPrefix(z, like, like_len);
    ZSTD_inBuffer in = {.src = text, .size = len};
    char chunk[16384];
    size_t left;
    do {
        ZSTD_outBuffer to = {.dst = chunk, .size = sizeof chunk};
        left = ZSTD_compressStream2(z, &to, &in, ZSTD_e_end);
        if (ZSTD_isError(left)) gi_no_memory(PACK_MEMORY); /* nothing else can go wrong here */
        gi_buf_add(out, chunk, to.pos);
    } while (left > 0);
}

/* Both unpackers add at most a chunk more than `bytes`, and say whether the end was where it
** should be; *memory is false where there was none. */

static bool inflated(const char *packed, size_t len, const char *like, size_t like_len,
                     size_t bytes, gi_buf *out, bool *memory) {
    z_stream z = {0};
    *memory = inflateInit2(&z, RAW) == Z_OK;
    if (!*memory) return false;
    last_of(&like, &like_len, RAW_LIKE_MAX);
    if (like_len > 0) inflateSetDictionary(&z, (const Bytef *)like, (uInt)like_len);
    z.next_in = (Bytef *)(uintptr_t)packed; /* which zlib only reads */
    z.avail_in = (uInt)len;
    size_t before = out->len;
    char chunk[16384];
    int code = Z_OK;
    while (code == Z_OK && out->len - before <= bytes) {
        z.next_out = (Bytef *)chunk;
        z.avail_out = sizeof chunk;
        code = inflate(&z, Z_NO_FLUSH);
        gi_buf_add(out, chunk, sizeof chunk - z.avail_out);
    }
    inflateEnd(&z);
    *memory = code != Z_MEM_ERROR;
    return code == Z_STREAM_END;
}

static bool from_frame(const char *packed, size_t len, const char *like, size_t like_len,
                       size_t bytes, gi_buf *out, bool *memory) {
    ZSTD_DCtx *z = ZSTD_createDCtx();
    *memory = z != NULL;
    if (!*memory) return false;
    last_of(&like, &like_len, LIKE_MAX);
    ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, WINDOW_LOG);
    ZSTD_DCtx_refPrefix(z, like, like_len);
    ZSTD_inBuffer in = {.src = packed, .size = len};
    size_t before = out->len, left = 1;
    char chunk[16384];
    while (left > 0 && !ZSTD_isError(left) && out->len - before <= bytes) {
        ZSTD_outBuffer to = {.dst = chunk, .size = sizeof chunk};
        size_t consumed = in.pos;
        left = ZSTD_decompressStream(z, &to, &in);
        gi_buf_add(out, chunk, to.pos);
        if (in.pos == consumed && to.pos == 0) break; /* it is cut short */
    }
    *memory = !(ZSTD_isError(left) && ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation);
    ZSTD_freeDCtx(z);
    return left == 0;
}

static bool is_frame(const char *packed, size_t len) {
    static const char magic[4] = {'\x28', '\xb5', '\x2f', '\xfd'};
    return len >= sizeof magic && memcmp(packed, magic, sizeof magic) == 0;
}

bool store_unpack(const char *packed, size_t len, const char *like, size_t like_len, size_t bytes,
                  gi_buf *out, gi_err *err) {
    size_t before = out->len;
    bool memory = true;
    bool whole = is_frame(packed, len)
                     ? from_frame(packed, len, like, like_len, bytes, out, &memory)
                     : inflated(packed, len, like, like_len, bytes, out, &memory);
    if (whole && out->len - before == bytes) return true;
    out->len = before;
    if (!memory) return gi_fail(err, "nomem", "no memory to unpack a text of %zu bytes", bytes);
    return gi_fail(err, "format", "a packed text of %zu bytes is not what was packed", bytes);
}
