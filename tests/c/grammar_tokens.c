/* grammar_tokens.c - random texts: their tokens are in order, each on its line, brackets in pairs
** that do not cross, and what stands between is space and comments. Argument: seed. */
#include "grammar_tokens_hold.h"

#include "tap.h"

static const char *const words[] = {
    "(", ")", "[", "]", "{", "}", "<<<", ">>>", ">>", "<", "::", ",", ";", "name", "x1", "0x1p-3",
    "1'000", "'", "\"", "'c'", "\"s\"", "\\", "\\\n", "\\\r\n", "R\"(", ")\"", "R\"t(", ")t\"",
    "/*", "*/", "//", "/", "*", "#", "\n", "\n", "\r\n", "\n#define A ", "\n#if 0\n", "u8", "L",
    "\xc3\xa9", ".", "..", " ", "\t", "$"};

static int random_text(gi_rng *rng, gi_buf *out) {
    int n = (int)gi_rng_below(rng, 80);
    for (int i = 0; i < n; i++) {
        gi_buf_adds(out, words[gi_rng_below(rng, sizeof words / sizeof *words)]);
        if (gi_rng_below(rng, 8) == 0) {
            char byte = (char)gi_rng_below(rng, 256);
            gi_buf_add(out, &byte, 1);
        }
    }
    return (int)out->len;
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 4711;
    int bad = 0, n = 20000;
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    printf("# seed %" PRIu64 "\n", seed);
    for (int i = 0; i < n; i++) {
        gi_buf text = {0};
        int size = random_text(&rng, &text);
        char *own = malloc(size ? (size_t)size : 1); /* without a byte behind it */
        if (size) memcpy(own, text.data, (size_t)size);
        const char *trouble = tokens_trouble(own, size);
        if (trouble && bad++ < 3) printf("# text %d: a token %s:\n# %s\n", i, trouble, text.data);
        free(own);
        gi_buf_free(&text);
    }
    ok(bad == 0, "%d random texts", n);
    return tap_done();
}
