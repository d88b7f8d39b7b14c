/* pack.c - texts packed by what they resemble: see store.h. Raw deflate: a database needs neither
** zlib's head nor its checksum.
*/
#include <string.h>
#include <zlib.h>

#include "store/store.h"

#define RAW      (-15) /* deflate alone, a window of 32 KiB */
#define LIKE_MAX ((size_t)32768)
#define PACK_MEMORY ((size_t)400000) /* about what zlib takes for it */

static void last_of(const char **like, size_t *len) {
    if (*len <= LIKE_MAX) return;
    *like += *len - LIKE_MAX;
    *len = LIKE_MAX;
}

void store_pack(const char *text, size_t len, const char *like, size_t like_len, gi_buf *out) {
    z_stream z = {0};
    if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, RAW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        gi_no_memory(PACK_MEMORY);
    last_of(&like, &like_len);
    if (like_len > 0) deflateSetDictionary(&z, (const Bytef *)like, (uInt)like_len);
    z.next_in = (Bytef *)(uintptr_t)text; /* which zlib only reads */
    z.avail_in = (uInt)len;
    char chunk[16384];
    int code;
    do {
        z.next_out = (Bytef *)chunk;
        z.avail_out = sizeof chunk;
        code = deflate(&z, Z_FINISH);
        gi_buf_add(out, chunk, sizeof chunk - z.avail_out);
    } while (code == Z_OK);
    deflateEnd(&z);
}

bool store_unpack(const char *packed, size_t len, const char *like, size_t like_len, size_t bytes,
                  gi_buf *out, gi_err *err) {
    z_stream z = {0};
    if (inflateInit2(&z, RAW) != Z_OK)
        return gi_fail(err, "nomem", "no memory to unpack a text of %zu bytes", bytes);
    last_of(&like, &like_len);
    if (like_len > 0) inflateSetDictionary(&z, (const Bytef *)like, (uInt)like_len);
    z.next_in = (Bytef *)(uintptr_t)packed;
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
    if (code == Z_STREAM_END && out->len - before == bytes) return true;
    out->len = before;
    return gi_fail(err, "format", "a packed text of %zu bytes is not what was packed", bytes);
}
