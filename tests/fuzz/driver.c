/* driver.c - feeds a target of this folder with changed seeds, without an engine from outside.
**
**   TARGET SECONDS SEED [FILE…]    for so many seconds of a processor; files are seeds too
**   TARGET FILE                    one input, a finding say
**
** The same seed makes the same inputs in the same order. The input at work lies in TARGET.input
** in the folder that it runs in: a target that crashes, or takes more than LIMIT_S seconds of a
** processor, ends the process and leaves it there. Coverage is only what targets tell of
** (fuzz_saw): an input that did something new is a seed from then on. tests/fuzz/run starts it. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "fuzz.h"

enum { LIMIT_S = 20, MOST_BYTES = 1 << 16, MOST_SEEDS = 20000, SEEN_BITS = 1 << 20 };

static gi_buf seeds[MOST_SEEDS];
static size_t n_seeds;
static gi_rng rng;
static uint8_t seen[SEEN_BITS / 8];
static bool is_new; /* the input at work did what none did before */

static void add_seed(const void *bytes, size_t len) {
    if (n_seeds == MOST_SEEDS || len > MOST_BYTES) return;
    gi_buf_adds(&seeds[n_seeds], "");
    gi_buf_add(&seeds[n_seeds++], bytes, len);
}

static size_t below(size_t n) {
    return (size_t)gi_rng_below(&rng, n);
}

void fuzz_saw(uint64_t hash) {
    uint32_t bit = (uint32_t)(hash % SEEN_BITS);
    uint8_t mask = (uint8_t)(1u << bit % 8);
    is_new |= !(seen[bit / 8] & mask);
    seen[bit / 8] |= mask;
}

/* Of two seeds the smaller: small ones run often, and what they find is easy to read. */
static const gi_buf *any_seed(void) {
    const gi_buf *a = &seeds[below(n_seeds)], *b = &seeds[below(n_seeds)];
    return a->len < b->len ? a : b;
}

/* --- changes ------------------------------------------------------------------------------- */

/* The bytes [from, to) become others. */
static void put(gi_buf *b, size_t from, size_t to, const void *bytes, size_t len) {
    gi_buf out = {0};
    gi_buf_adds(&out, "");
    gi_buf_add(&out, b->data, from);
    gi_buf_add(&out, bytes, len);
    gi_buf_add(&out, b->data + to, b->len - to);
    gi_buf_free(b);
    *b = out;
}

static void change_byte(gi_buf *b) {
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '\n', '"', '(', ')', '{', '}', '-'};
    if (b->len == 0) return;
    char *at = b->data + below(b->len);
    switch (below(3)) {
    case 0: *at ^= (char)(1 << below(8)); break;
    case 1: *at = (char)odd[below(sizeof odd)]; break;
    default: *at = (char)below(256);
    }
}

/* A number of 2, 4 or 8 bytes, where binary formats have sizes and counts. */
static void change_number(gi_buf *b) {
    static const uint64_t odd[] = {0,          1,          0x7f,           0x80,
                                   0xffff,     0x7fffffff, 0x80000000,     0xffffffff,
                                   0x40000000, 1ull << 32, INT64_MAX,      UINT64_MAX,
                                   1ull << 63, 0x10000,    0xffffffffff00, 1ull << 40};
    size_t bytes = (size_t)2 << below(3);
    if (b->len < bytes) return;
    uint64_t value = odd[below(sizeof odd / sizeof *odd)] + below(3) - 1;
    memcpy(b->data + below(b->len - bytes + 1), &value, bytes);
}

/* A number written in digits. */
static void change_digits(gi_buf *b) {
    static const char *const odd[] = {"0",          "-1",     "2147483648", "4294967295",
                                      "1e999",      "nan",    "0x",         "9223372036854775807",
                                      "1000000000", "0.0001", "999999999999999999999", ""};
    size_t at = b->len ? below(b->len) : 0, from = at;
    while (from < b->len && !(b->data[from] >= '0' && b->data[from] <= '9')) from++;
    size_t to = from;
    while (to < b->len && b->data[to] >= '0' && b->data[to] <= '9') to++;
    const char *text = odd[below(sizeof odd / sizeof *odd)];
    if (from < to) put(b, from, to, text, strlen(text));
}

/* A piece of this or of another seed, of up to `most` bytes, replaces one of this. */
static void take_piece(gi_buf *b, size_t most) {
    gi_buf piece = {0};
    const gi_buf *other = below(2) ? b : &seeds[below(n_seeds)];
    size_t from = below(other->len + 1), len = below(most), at = below(b->len + 1);
    if (len > other->len - from) len = other->len - from;
    gi_buf_adds(&piece, "");
    gi_buf_add(&piece, other->data + from, len);
    size_t gone = below(2) ? 0 : below(most);
    put(b, at, gone > b->len - at ? b->len : at + gone, piece.data, piece.len);
    gi_buf_free(&piece);
}

static void cut(gi_buf *b) {
    size_t from = below(b->len + 1), to = from + below(below(2) ? 8 : 200);
    put(b, from, to > b->len || below(8) == 0 ? b->len : to, "", 0);
}

/* One byte many times: nesting, long names. */
static void repeat(gi_buf *b) {
    char run[3000];
    if (b->len == 0) return;
    size_t at = below(b->len), n = below(below(4) ? 50 : sizeof run);
    memset(run, b->data[at], n);
    put(b, at, at, run, n);
}

static void change(gi_buf *b) {
    if (fuzz_change && below(16)) {
        fuzz_change(b, any_seed(), &rng);
        return;
    }
    switch (below(9)) {
    case 0: case 1: case 2: change_byte(b); break;
    case 3: change_number(b); break;
    case 4: change_digits(b); break;
    case 5: take_piece(b, 16); break;
    case 6: take_piece(b, 300); break;
    case 7: cut(b); break;
    default: repeat(b);
    }
}

/* --- the run ------------------------------------------------------------------------------- */

static void make(gi_buf *b) {
    const gi_buf *seed = any_seed();
    gi_buf_clear(b);
    gi_buf_add(b, seed->data, seed->len);
    for (size_t n = 1 + below(below(2) ? 3 : 12); n > 0 && b->len < MOST_BYTES; n--) change(b);
}

static void arm(void) {
    const struct itimerval limit = {.it_value = {.tv_sec = LIMIT_S}};
    setitimer(ITIMER_PROF, &limit, NULL); /* SIGPROF ends the process */
}

static void keep(int fd, const gi_buf *b) {
    if (pwrite(fd, b->data, b->len, 0) != (ssize_t)b->len || ftruncate(fd, (off_t)b->len) != 0)
        abort();
}

/* In memory of its own, so that a byte beyond is seen. */
static void feed(const gi_buf *b) {
    uint8_t *bytes = malloc(b->len ? b->len : 1);
    if (b->len) memcpy(bytes, b->data, b->len);
    LLVMFuzzerTestOneInput(bytes, b->len);
    free(bytes);
}

static bool read_file(const char *path, gi_buf *out) {
    gi_err err;
    gi_buf_clear(out);
    if (gi_read_file(path, out, &err)) return true;
    fprintf(stderr, "%s\n", err.message);
    return false;
}

/* What this process has used: of a busy machine's time on the wall a target gets any share. */
static double processor_s(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

int main(int argc, char **argv) {
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    char input[300];
    gi_buf b = {0};
    if (argc == 2) {
        if (!read_file(argv[1], &b)) return 1;
        feed(&b);
        gi_buf_free(&b);
        printf("%s: %s did no harm\n", name, argv[1]);
        return 0;
    }
    if (argc < 3) {
        fprintf(stderr, "use: %s SECONDS SEED [FILE...], or %s FILE\n", name, name);
        return 2;
    }
    uint64_t seed = strtoull(argv[2], NULL, 10), n = 0;
    double most_s = strtod(argv[1], NULL);
    gi_rng_seed(&rng, seed);
    fuzz_seeds(add_seed);
    for (int i = 3; i < argc; i++)
        if (read_file(argv[i], &b)) add_seed(b.data, b.len);
    if (n_seeds == 0) add_seed("", 0);
    snprintf(input, sizeof input, "%s.input", name);
    int fd = open(input, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t given = n_seeds;
    for (size_t i = 0; i < given; i++) keep(fd, &seeds[i]), arm(), feed(&seeds[i]);
    for (; processor_s() < most_s; n++) {
        make(&b);
        keep(fd, &b);
        arm();
        is_new = false;
        feed(&b);
        if (is_new) add_seed(b.data, b.len);
    }
    close(fd);
    unlink(input);
    gi_buf_free(&b);
    printf("%s: %" PRIu64 " inputs of %zu seeds in %.0f s, seed %" PRIu64 ": nothing found\n", name,
           n, given, processor_s(), seed);
    return 0;
}
