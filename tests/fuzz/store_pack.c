/* store_pack.c - a target for src/store/pack.c: any bytes, unpacked with any other text, are
** refused or as long as they were said to be. The input: two bytes of length, so many bytes that
** are like it, and what is packed. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4) return 0;
    size_t like = data[0] | (size_t)data[1] << 8, bytes = data[2] | (size_t)data[3] << 8;
    const char *at = (const char *)data + 4;
    if (like > size - 4) like = size - 4;
    gi_buf out = {0};
    gi_err err = {0};
    gi_buf_adds(&out, "");
    if (store_unpack(at + like, size - 4 - like, at, like, bytes, &out, &err)) {
        if (out.len != bytes) abort();
    } else if (err.message[0] == '\0') {
        abort();
    }
    gi_buf_free(&out);
    return 0;
}

static const char like[] = "a text of some words, to which the other one is like, in most of them";
static const char text[] = "a text of some words, to which another is like, in many of them: more";

static gi_buf begin(void) {
    gi_buf b = {0};
    const char head[] = {sizeof like - 1, 0, sizeof text - 1, 0};
    gi_buf_add(&b, head, sizeof head);
    gi_buf_add(&b, like, sizeof like - 1);
    return b;
}

/* As it is packed now, and as an earlier gilua did. */
void fuzz_seeds(FuzzAdd *add) {
    gi_buf now = begin(), before = begin();
    uint8_t raw[300];
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)text,
                  .avail_in = sizeof text - 1,
                  .next_out = raw,
                  .avail_out = sizeof raw};
    store_pack(text, sizeof text - 1, like, sizeof like - 1, &now);
    deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    deflateSetDictionary(&z, (const uint8_t *)like, sizeof like - 1);
    deflate(&z, Z_FINISH);
    gi_buf_add(&before, (const char *)raw, sizeof raw - z.avail_out);
    deflateEnd(&z);
    add(now.data, now.len);
    add(before.data, before.len);
    gi_buf_free(&now);
    gi_buf_free(&before);
}
