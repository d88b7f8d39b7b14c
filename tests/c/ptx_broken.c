/* ptx_broken.c - broken PTX: cut off anywhere, or with bytes, tokens and lines changed at random.
** It is refused with a sentence that names a line, or it parses, and then everything else works on
** it too. Run under sanitizers this is where wrong memory accesses show. */
#include "ptx/ptx.h"
#include "ptx_sample.h"
#include "tap.h"

#include <stdlib.h>

static int refused, accepted, silent, unequal;

static void use_functions(const PtxModule *m) {
    for (int i = 0; i < m->n_funcs; i++) {
        PtxCfg *c = ptx_cfg(&m->funcs[i]);
        PtxLiveness *l = ptx_liveness(&m->funcs[i], c);
        ptx_liveness_free(l);
        ptx_cfg_free(c);
    }
}

/* Whatever parsed can be printed, parsed again, analysed. */
static void use(PtxModule *m) {
    gi_buf first = {0}, second = {0};
    gi_err err = {.code = ""};
    ptx_print(m, &first);
    PtxModule *again = ptx_parse(first.data, first.len, &err);
    if (again) ptx_print(again, &second);
    if (again == NULL || strcmp(first.data, second.data) != 0) {
        if (unequal++ == 0) printf("# %s\n", again ? "prints differently" : err.message);
    }
    use_functions(m);
    ptx_free(again);
    gi_buf_free(&first);
    gi_buf_free(&second);
}

/* The text in memory of exactly its size, so that a read past its end is seen. */
static void feed(const char *text, size_t len) {
    char *exact = malloc(len ? len : 1);
    memcpy(exact, text, len);
    gi_err err = {.code = ""};
    PtxModule *m = ptx_parse(exact, len, &err);
    if (m) use(m);
    if (m) accepted++;
    else refused++;
    if (!m && (strcmp(err.code, "compile") != 0 || strncmp(err.message, "PTX line ", 9) != 0))
        silent++;
    PtxModule *most = ptx_parse_most(exact, len, &err);
    if (m && (most == NULL || most->n_funcs != m->n_funcs)) unequal++;
    if (most) use_functions(most);
    ptx_free(most);
    gi_buf out = {0};
    ptx_canonical(exact, len, &out);
    gi_buf_free(&out);
    ptx_free(m);
    free(exact);
}

static void change_byte(gi_rng *rng, char *text, size_t len) {
    static const char likely[] = "{}()[]<>;:,.@!%$_|+-*/\"\n 0189xfdU\\";
    char c = likely[gi_rng_below(rng, sizeof likely - 1)];
    if (gi_rng_below(rng, 8) == 0) c = (char)gi_rng_below(rng, 256);
    text[gi_rng_below(rng, len)] = c;
}

/* Copies a piece of the text over another place. */
static void move_piece(gi_rng *rng, char *text, size_t len) {
    size_t n = 1 + gi_rng_below(rng, 40);
    if (n >= len) return;
    memmove(text + gi_rng_below(rng, len - n), text + gi_rng_below(rng, len - n), n);
}

static void mutate(gi_rng *rng, char *text, size_t len) {
    int n = 1 + (int)gi_rng_below(rng, 4);
    while (n-- > 0) {
        if (gi_rng_below(rng, 3)) change_byte(rng, text, len);
        else move_piece(rng, text, len);
    }
}

/* Deep nesting and large numbers end in a sentence, not in a full stack or memory. */
static void feed_repeated(const char *before, const char *piece, int n) {
    gi_buf b = {0};
    gi_buf_adds(&b, before);
    for (int i = 0; i < n; i++) gi_buf_adds(&b, piece);
    feed(b.data, b.len);
    gi_buf_free(&b);
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 42;
    int rounds = argc > 2 ? atoi(argv[2]) : 4000;
    size_t len = sizeof ptx_sample - 1;
    printf("# seed %llu, %d rounds (arguments: seed, rounds)\n", (unsigned long long)seed, rounds);
    for (size_t n = 0; n <= len; n += 3) feed(ptx_sample, n);
    int cut = refused;
    ok(cut > 500, "%d cut off texts are refused", cut);
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    char text[sizeof ptx_sample];
    for (int i = 0; i < rounds; i++) {
        memcpy(text, ptx_sample, len);
        mutate(&rng, text, len);
        feed(text, len);
    }
    ok(refused > cut && accepted > 0, "of the changed ones %d are refused, %d parse", refused - cut,
       accepted);
    int before = refused;
    feed_repeated(PTX_HEAD ".entry k()\n", "{", 100000);
    feed_repeated(PTX_HEAD ".entry k()\n{ mov.u32 ", "(", 100000);
    feed_repeated(PTX_HEAD ".entry k()\n{ mov.u32 1", "?1:1", 100000);
    feed_repeated(PTX_HEAD ".entry k()\n{ mov.u32 1", "?1", 100000);
    feed_repeated(PTX_HEAD ".entry k()\n{ mov.u32 ", "-", 100000);
    feed_repeated(PTX_HEAD ".entry k()\n{ mov.u32 ", "[", 100000);
    feed_repeated(PTX_HEAD ".entry k()\n{ call ", "(", 100000);
    feed_repeated(PTX_HEAD ".global .u32 x[1] = ", "{", 100000);
    feed_repeated(PTX_HEAD ".global .u32 x", "[1000]", 100000);
    feed_repeated(PTX_HEAD ".entry k()\n{", ".reg .b32 %a<1000000>;", 3);
    is_int(refused - before, 10, "endless nesting and numbers are refused");
    is_int(silent, 0, "every refusal names a line");
    is_int(unequal, 0, "everything that parses survives printing");
    return tap_done();
}
