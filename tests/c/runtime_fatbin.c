/* runtime_fatbin.c - containers of PTX: which is chosen, how it is unpacked, and what of broken
** ones is refused. */
#include "runtime/fatbin.h"
#include "tap.h"

#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

enum { PLAIN, LZ4, ZSTD };

static void number(gi_buf *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) gi_buf_add(b, &(char){(char)(v >> 8 * i)}, 1);
}

static void add_entry(gi_buf *b, int kind, int arch, int packing, const char *text) {
    char packed[4096] = {0};
    size_t full = strlen(text) + 1, n = full;
    if (packing == LZ4) n = (size_t)LZ4_compress_default(text, packed, (int)full, sizeof packed);
    else if (packing == ZSTD) n = ZSTD_compress(packed, sizeof packed, text, full, 3);
    else memcpy(packed, text, full);
    size_t padded = (n + 7) / 8 * 8;
    number(b, (uint64_t)kind, 2), number(b, 0x101, 2), number(b, 64, 4), number(b, padded, 8);
    number(b, packing ? n : 0, 4), number(b, 0, 8), number(b, (uint64_t)arch, 4);
    number(b, 0, 8), number(b, packing == LZ4 ? 0x2011 : packing == ZSTD ? 0x8011 : 0x11, 8);
    number(b, 0, 8), number(b, packing ? full : 0, 8);
    gi_buf_add(b, packed, padded);
}

static gi_buf container(const gi_buf *entries) {
    gi_buf b = {0};
    number(&b, 0xBA55ED50u, 4), number(&b, 1, 2), number(&b, 16, 2), number(&b, entries->len, 8);
    gi_buf_add(&b, entries->data, entries->len);
    return b;
}

static const char *ptx_of(const gi_buf *entries, int arch, gi_err *err) {
    static gi_buf out;
    gi_buf all = container(entries);
    gi_buf_clear(&out);
    bool ok = fatbin_ptx(all.data, all.len, arch, &out, NULL, err);
    gi_buf_free(&all);
    return ok ? out.data : NULL;
}

static void choice(void) {
    gi_buf e = {0};
    gi_err err = {0};
    add_entry(&e, FAT_PTX, 80, PLAIN, "ptx of 80");
    add_entry(&e, FAT_CODE, 90, PLAIN, "machine code");
    add_entry(&e, FAT_PTX, 90, ZSTD, "ptx of 90, packed by zstd");
    add_entry(&e, FAT_PTX, 75, LZ4, "ptx of 75, packed by LZ4, ptx of 75, packed by LZ4");
    add_entry(&e, FAT_PTX, 100, PLAIN, "ptx of 100");
    is_str(ptx_of(&e, 90, &err), "ptx of 90, packed by zstd", "the highest that the GPU can take");
    is_str(ptx_of(&e, 89, &err), "ptx of 80", "for an older one an older");
    is_str(ptx_of(&e, 75, &err), "ptx of 75, packed by LZ4, ptx of 75, packed by LZ4", "LZ4");
    is_str(ptx_of(&e, 120, &err), "ptx of 100", "not packed");
    ok(ptx_of(&e, 60, &err) == NULL, "none for one that is too old");
    is_str(err.code, "nolib", "which is no broken file");
    has_str(err.message, "compute_80, sm_90, compute_90, compute_75, compute_100", "what there is");
    has_str(err.message, "-gencode arch=compute_60,code=compute_60", "and what to do");
    gi_buf_free(&e);
}

/* One entry, its header longer by a pair (place, size) and ptxas' options. */
static int most_registers(const char *options, uint64_t pair_at) {
    gi_buf e = {0}, out = {0};
    int registers = -1;
    uint64_t n = strlen(options);
    number(&e, FAT_PTX, 2), number(&e, 0x101, 2), number(&e, 72 + n, 4), number(&e, 8, 8);
    number(&e, 0, 4), number(&e, pair_at, 4), number(&e, 0, 4), number(&e, 90, 4);
    number(&e, 0, 8), number(&e, 0x11, 8), number(&e, 0, 8), number(&e, 0, 8);
    number(&e, 72, 4), number(&e, n, 4), gi_buf_add(&e, options, n),
        gi_buf_add(&e, "ptx\0\0\0\0", 8);
    gi_buf all = container(&e);
    bool fine = fatbin_ptx(all.data, all.len, 90, &out, &registers, NULL);
    gi_buf_free(&all), gi_buf_free(&e), gi_buf_free(&out);
    return fine ? registers : -1;
}

static void options(void) {
    is_int(most_registers(" -maxrregcount=64 --generate-line-info ", 64), 64, "-maxrregcount");
    is_int(most_registers(" --generate-line-info ", 64), 0, "no such option");
    is_int(most_registers(" -maxrregcount=64 ", 0), 0, "no options");
    is_int(most_registers(" -maxrregcount=640 ", 64), 0, "a number that no thread has");
    is_int(most_registers(" -maxrregcount=64 ", 1 << 30), 0, "a place that is none");
}

static void broken(void) {
    gi_buf e = {0}, out = {0};
    gi_err err = {0};
    size_t size;
    add_entry(&e, FAT_PTX, 90, ZSTD, "some text some text some text");
    gi_buf all = container(&e);
    ok(fatbin_size(all.data, all.len, &size) && size == all.len, "the size of a container");
    for (size_t n = 0; n < all.len; n++)
        if (fatbin_ptx(all.data, n, 90, &out, NULL, &err)) ok(false, "cut at %zu it is refused", n);
    is_int(out.len, 0, "and nothing comes out of one that is cut anywhere");
    all.data[16 + 64 + 6] ^= 0x55;
    ok(!fatbin_ptx(all.data, all.len, 90, &out, NULL, &err), "damaged text is refused");
    has_str(err.message, "cannot be unpacked", "in a sentence");
    all.data[16 + 64 + 6] ^= 0x55;
    memset(all.data + 16 + 56, 0x7f, 4);
    ok(!fatbin_ptx(all.data, all.len, 90, &out, NULL, &err), "so is a size that no text has");
    has_str(err.message, "impossible sizes", "before memory is asked for");
    gi_buf_free(&all);
    gi_buf_free(&e);
    gi_buf_free(&out);
}

/* Bytes at random places in a good container: whatever comes of it, nothing is read beside it. */
static void nonsense(uint64_t seed) {
    gi_buf e = {0};
    gi_rng r;
    gi_rng_seed(&r, seed);
    add_entry(&e, FAT_PTX, 90, LZ4, "some text some text some text");
    add_entry(&e, FAT_PTX, 80, ZSTD, "other text other text other text");
    gi_buf all = container(&e);
    for (int i = 0; i < 20000; i++) {
        gi_buf out = {0};
        char *copy = malloc(all.len); /* no byte more: a sanitizer sees what reads on */
        memcpy(copy, all.data, all.len);
        for (int k = 0; k < 3; k++)
            copy[gi_rng_below(&r, all.len)] = (char)gi_rng_below(&r, 256);
        if (fatbin_ptx(copy, all.len, 90, &out, NULL, NULL) && out.len > all.len * 1000)
            ok(false, "text of %zu bytes out of %zu", out.len, all.len);
        gi_buf_free(&out);
        free(copy);
    }
    ok(true, "20000 containers with three wrong bytes each (seed %llu)", (unsigned long long)seed);
    gi_buf_free(&all);
    gi_buf_free(&e);
}

int main(int argc, char **argv) {
    choice();
    options();
    broken();
    nonsense(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    return tap_done();
}
