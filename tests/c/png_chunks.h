/* png_chunks.h - PNG files chunk by chunk, for tests of what libpng writes in none. */
#ifndef GILUA_TESTS_PNG_CHUNKS_H
#define GILUA_TESTS_PNG_CHUNKS_H

#include "base/base.h"

#include <zlib.h>

static void add_word(gi_buf *b, unsigned long v) {
    const char bytes[4] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
    gi_buf_add(b, bytes, 4);
}

static void add_chunk(gi_buf *b, const char *kind, const void *bytes, size_t n) {
    add_word(b, n);
    const size_t from = b->len;
    gi_buf_add(b, kind, 4);
    gi_buf_add(b, bytes, n);
    add_word(b, crc32(0, (const Bytef *)b->data + from, (uInt)(n + 4)));
}

/* The beginning of a file. kind: depth, colour type and interlacing, as IHDR has them. */
static void add_header(gi_buf *b, unsigned long width, unsigned long height, const char kind[5]) {
    gi_buf header = {0};
    add_word(&header, width), add_word(&header, height);
    gi_buf_add(&header, kind, 5);
    gi_buf_add(b, "\211PNG\r\n\032\n", 8);
    add_chunk(b, "IHDR", header.data, header.len);
    gi_buf_free(&header);
}

#endif
