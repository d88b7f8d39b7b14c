/* runtime_fatbin.c - a target for src/runtime/fatbin.c: any bytes are refused or are PTX.
** tests/c/runtime_fatbin.c is its short, seeded relative. */
#include "runtime/fatbin.h"

#include <lz4.h>
#include <string.h>
#include <zstd.h>

#include "fuzz.h"

static void number(gi_buf *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) gi_buf_add(b, &(char){(char)(v >> 8 * i)}, 1);
}

enum { PLAIN, LZ4, ZSTD };

static void add_entry(gi_buf *b, int packing, int arch, const char *text) {
    char packed[512] = {0};
    size_t full = strlen(text) + 1, n = full;
    if (packing == LZ4) n = (size_t)LZ4_compress_default(text, packed, (int)full, sizeof packed);
    else if (packing == ZSTD) n = ZSTD_compress(packed, sizeof packed, text, full, 3);
    else memcpy(packed, text, full);
    size_t padded = (n + 7) / 8 * 8;
    number(b, FAT_PTX, 2), number(b, 0x101, 2), number(b, 64, 4), number(b, padded, 8);
    number(b, packing ? n : 0, 4), number(b, 0, 8), number(b, (uint64_t)arch, 4);
    number(b, 0, 8), number(b, packing == LZ4 ? 0x2011 : packing == ZSTD ? 0x8011 : 0x11, 8);
    number(b, 0, 8), number(b, packing ? full : 0, 8);
    gi_buf_add(b, packed, padded);
}

/* A container with one entry of each packing. */
void fuzz_seeds(FuzzAdd *add) {
    gi_buf entries = {0}, all = {0};
    for (int packing = PLAIN; packing <= ZSTD; packing++)
        add_entry(&entries, packing, 70 + 10 * packing, "some text, some text, some text of PTX");
    number(&all, 0xBA55ED50u, 4), number(&all, 1, 2), number(&all, 16, 2);
    number(&all, entries.len, 8);
    gi_buf_add(&all, entries.data, entries.len);
    add(all.data, all.len);
    gi_buf_free(&entries);
    gi_buf_free(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gi_buf out = {0};
    size_t said;
    for (int arch = 60; arch < 100; arch += 10) fatbin_ptx(data, size, arch, &out, NULL, NULL);
    fatbin_size(data, size, &said);
    gi_buf_free(&out);
    return 0;
}
