/* Images that claim what they do not have: chunks, pixels, voxels and extensions of gigabytes,
** files without an end. Each is read in a process of its own, whose address space must not have
** grown by more than the bound that image.h states; libnifti says nothing by itself. */
#include "image/image.h"
#include "png_chunks.h"
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { MiB = 1 << 20, SLACK = 8 * MiB };

static char folder[200];

static const char *at(const char *name) {
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const gi_buf *b) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b->data, 1, b->len, f) != b->len || fclose(f) != 0) exit(1);
}

/* ---- reading where it can be measured ------------------------------------------------------- */

typedef struct Outcome {
    bool read;
    gi_err err;
    size_t grown;   /* bytes of address space at its largest */
    size_t printed; /* bytes on standard error */
} Outcome;

static size_t peak_bytes(void) {
    char line[200];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmPeak: %zu kB", &kib) == 1) break;
    if (f) fclose(f);
    return kib * 1024;
}

static bool read_image(const char *path, uint64_t max_bytes, gi_err *err) {
    Nifti n = {0};
    Picture p = {0};
    const bool volume = strstr(path, ".nii") || strstr(path, ".hdr");
    const bool done =
        volume ? nifti_read(path, max_bytes, &n, err) : picture_read(path, max_bytes, &p, err);
    nifti_release(&n);
    picture_release(&p);
    return done;
}

static Outcome outcome_of(const char *path, uint64_t max_bytes) {
    Outcome o = {0};
    int ends[2];
    if (pipe(ends) != 0) exit(1);
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        FILE *words = tmpfile();
        dup2(fileno(words), 2);
        alarm(20);
        const size_t before = peak_bytes();
        o.read = read_image(path, max_bytes, &o.err);
        o.grown = peak_bytes() - before;
        o.printed = (size_t)lseek(2, 0, SEEK_END);
        _exit(write(ends[1], &o, sizeof o) == sizeof o ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &o, sizeof o) != sizeof o)
        snprintf(o.err.message, sizeof o.err.message, "(the reader died or never ended)");
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return o;
}

static void refused(const char *name, size_t most_bytes, const char *part) {
    const Outcome o = outcome_of(name[0] == '/' ? name : at(name), 0);
    ok(!o.read, "%s is refused", name);
    has_str(o.err.message, part, "with the reason");
    ok(o.grown <= most_bytes + SLACK, "for %.1f MB of memory", (double)o.grown / 1e6);
    is_int(o.printed, 0, "and nothing is printed");
}

/* ---- PNG ---------------------------------------------------------------------------- */

#define GREY        "\010\0\0\0\0"
#define RGBA16_ADAM "\020\006\0\0\001"

static void a_chunk_claims(const char *kind) {
    gi_buf b = {0};
    char name[20];
    add_header(&b, 1, 1, GREY);
    add_word(&b, 0x7fffffff);
    gi_buf_adds(&b, kind);
    gi_buf_add(&b, "Title\0\0\0\0\0 and hardly any more", 29);
    snprintf(name, sizeof name, "%s.png", kind);
    write_file(at(name), &b);
    refused(name, 0, "it ends early");
    gi_buf_free(&b);
}

static void packed(size_t zeros, gi_buf *out) {
    uLongf n = compressBound(zeros);
    char *from = gi_alloc(zeros), *to = gi_alloc(n);
    compress2((Bytef *)to, &n, (const Bytef *)from, zeros, 6);
    gi_buf_add(out, to, n);
    free(from), free(to);
}

/* Rows of zeros: 1000 times as many bytes as its file, and a text of another 64 MiB before them. */
static void a_picture_is_packed(void) {
    enum { SIDE = 9000 };
    gi_buf b = {0}, pixels = {0}, text = {0};
    gi_buf_add(&text, "Title\0\0", 7);
    packed(64 * MiB, &text);
    packed((size_t)(SIDE + 1) * SIDE, &pixels);
    add_header(&b, SIDE, SIDE, GREY);
    add_chunk(&b, "zTXt", text.data, text.len);
    add_chunk(&b, "IDAT", pixels.data, pixels.len);
    add_chunk(&b, "IEND", "", 0);
    write_file(at("packed.png"), &b);
    refused("packed.png", 0, "max_bytes");
    const Outcome o = outcome_of(at("packed.png"), 100 * MiB);
    ok(o.read, "it is read where 100 MiB are allowed %s", o.err.message);
    ok(o.grown < 100 * MiB + SLACK, "and takes no more: %.1f MB", (double)o.grown / 1e6);
    gi_buf_free(&b), gi_buf_free(&pixels), gi_buf_free(&text);
}

/* 2 MB that might hold the pixels, by the ratio that deflate can reach. */
static void a_picture_claims_what_might_be(void) {
    gi_buf b = {0}, noise = {0};
    for (int i = 0; i < 2 * MiB; i++) gi_buf_add(&noise, "\x78", 1);
    add_header(&b, 15000, 15000, RGBA16_ADAM);
    add_chunk(&b, "IDAT", noise.data, noise.len);
    write_file(at("might.png"), &b);
    refused("might.png", 0, "max_bytes");
    gi_buf_free(&b), gi_buf_free(&noise);
}

/* ---- NIfTI, from the formats' own tables ---------------------------------------------------- */

typedef struct One {
    char bytes[352 + 16];
} One;

static void put(char *to, const void *value, size_t n, bool swap) {
    for (size_t i = 0; i < n; i++) to[i] = ((const char *)value)[swap ? n - 1 - i : i];
}

static One nifti_1(const int16_t dim[8], float offset) {
    One h = {{0}};
    const int32_t size = 348;
    const int16_t type[2] = {16, 32}; /* FLOAT32 */
    put(h.bytes, &size, 4, false);
    memcpy(h.bytes + 40, dim, 16);
    memcpy(h.bytes + 70, type, 4);
    put(h.bytes + 108, &offset, 4, false);
    memcpy(h.bytes + 344, "n+1", 4);
    return h;
}

static void write_plain(const char *name, const void *bytes, size_t n) {
    gi_buf b = {0};
    gi_buf_add(&b, bytes, n);
    write_file(at(name), &b);
    gi_buf_free(&b);
}

static void write_packed(const char *name, const void *bytes, size_t n, size_t zeros) {
    char *more = gi_alloc(zeros + 1);
    gzFile f = gzopen(at(name), "wb");
    gzwrite(f, bytes, (unsigned)n), gzwrite(f, more, (unsigned)zeros), gzclose(f);
    free(more);
}

static void volumes_claim(void) {
    static const int16_t huge[8] = {4, 32767, 32767, 256, 16, 1, 1, 1},
                         some[8] = {3, 512, 512, 80, 1, 1, 1, 1}, tiny[8] = {1, 1};
    One h = nifti_1(huge, 352);
    write_plain("huge.nii", h.bytes, sizeof h.bytes);
    refused("huge.nii", 0, "is truncated: its header promises 17591112319328 bytes");
    write_packed("huge.nii.gz", h.bytes, sizeof h.bytes, 4 * MiB);
    refused("huge.nii.gz", 0, "is truncated: its header promises");
    h = nifti_1(some, 352);
    write_packed("some.nii.gz", h.bytes, 352, 80 * MiB);
    refused("some.nii.gz", 0, "max_bytes");
    const Outcome o = outcome_of(at("some.nii.gz"), 81 * MiB);
    ok(o.read, "it is read where that is allowed %s", o.err.message);
    h = nifti_1(tiny, 2e9f);
    memcpy(h.bytes + 348, "\1\0\0\0\xf0\xff\xff\x6f\6\0\0", 12); /* an extension of 1.8 GB */
    write_plain("extended.nii", h.bytes, sizeof h.bytes);
    refused("extended.nii", 0, "is truncated");
    write_packed("extended.nii.gz", h.bytes, sizeof h.bytes, 4 * MiB);
    refused("extended.nii.gz", 0, "");
}

static void nifti_2(char bytes[560], int64_t dims, bool swap) {
    const int32_t size = 540;
    const int16_t type[2] = {16, 32};
    const int64_t dim[8] = {dims, 1, 1, 1, 1, 1, 1, 1}, offset = 544;
    memset(bytes, 0, 560);
    put(bytes, &size, 4, false);
    memcpy(bytes + 4, "n+2\0\r\n\032\n", 8);
    put(bytes + 12, &type[0], 2, swap), put(bytes + 14, &type[1], 2, swap);
    for (int i = 0; i < 8; i++) put(bytes + 16 + 8 * i, &dim[i], 8, swap);
    put(bytes + 168, &offset, 8, false);
}

static void second_headers(void) {
    char bytes[560];
    nifti_2(bytes, 3, false);
    write_plain("whole.nii", bytes, 560);
    Outcome o = outcome_of(at("whole.nii"), 0);
    ok(o.read, "a NIfTI-2 header of our own is read %s", o.err.message);
    for (size_t n = 348; n < 540; n += 64) {
        write_plain("short.nii", bytes, n);
        refused("short.nii", 0, "is truncated: a NIfTI-2 header has 540 bytes");
    }
    nifti_2(bytes, 3, true); /* its size says this machine's order, its dimensions the other */
    write_plain("mixed.nii", bytes, 560);
    refused("mixed.nii", 0, "not a NIfTI image");
    nifti_2(bytes, INT64_C(1) << 40, false);
    write_plain("wide.nii", bytes, 560);
    refused("wide.nii", 0, "not a NIfTI image");
}

/* ---- no files at all ---------------------------------------------------------------- */

static void no_files(void) {
    refused("/dev/zero", 0, "/dev/zero is not a file but a pipe or a device");
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"pipe.png", "pipe.nii", "pair.hdr"};
        mkfifo(at(names[i]), 0600);
        refused(names[i], 0, "is not a file but a pipe or a device");
    }
    gi_err err;
    gi_buf text = {0};
    ok(!gi_read_file(at("pipe.png"), &text, &err), "nor is it text");
    has_str(err.message, "is not a file but a pipe or a device", "for the same reason");
    write_plain("sparse.png", "\211PNG", 4);
    ok(truncate(at("sparse.png"), INT64_C(1) << 40) == 0, "a picture of a terabyte of holes");
    refused("sparse.png", 0, "max_bytes");
}

int main(void) {
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/gilua-hostile-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) return 1;
    static const char *const kinds[] = {"iTXt", "tEXt", "zTXt", "iCCP", "sPLT", "eXIf",
                                        "hIST", "pCAL", "sCAL", "gAMA", "abCd"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) a_chunk_claims(kinds[i]);
    a_picture_is_packed();
    a_picture_claims_what_might_be();
    volumes_claim();
    second_headers();
    no_files();
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || tap_done();
}
