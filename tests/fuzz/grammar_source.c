/* grammar_source.c - random sources: parsing never crashes, and what parses is given back as it
** was, through the empty patch and through its BNF. Sources are made by cutting, doubling and
** swapping pieces of a real kernel and by stringing words together. Argument: number of sources,
** seed. */
#include "../c/grammar_kernel.h"

#include "../c/tap.h"

static const char *const words[] = {
    "if", "else", "for", "while", "do", "switch", "case 1:", "default:", "break;", "continue;",
    "return x;", "(", ")", "{", "}", "[", "]", ";", ",", "<", ">", "::", "int x", "float *p = 0;",
    "x = 1;", "x++", "template <class T>", "struct S", "__global__ void k(int n)", "__shared__",
    "__device__ int f(int &a)", "\n#if A\n", "\n#else\n", "\n#elif B && C\n", "\n#endif\n",
    "\n#define M(a) a + x\n", "\n#define N {\n", "\n#undef M\n", "M(x);",
    "\n#define S(a) x = a; { a; }\n", "S(1)", "S(1);",
    "\n#define D do {\n", "D", "N", "\"s\"", "'c'", "\"",
    "'", "R\"(", ")\"", "/*", "*/", "//", "\\\n", "#", "\n#pragma unroll\n",
    "asm(\"x\" : \"=r\"(x));",
    "[&](int y) { return y; }", "operator()", "namespace n", "extern \"C\"", "enum { A, B }", "\n",
    "using T = int;", "goto l;", "l:", "auto [a, b] = c;", "0x1p-3", "1'000", "\r\n", "\xc3\xa9"};

static void string_words(gi_rng *rng, gi_buf *out) {
    int n = (int)gi_rng_below(rng, 60);
    for (int i = 0; i < n; i++) {
        gi_buf_adds(out, words[gi_rng_below(rng, sizeof words / sizeof *words)]);
        if (gi_rng_below(rng, 3)) gi_buf_adds(out, " ");
    }
}

static void cut_kernel(gi_rng *rng, gi_buf *out) {
    size_t n = strlen(kernel_text);
    int cuts = 1 + (int)gi_rng_below(rng, 4);
    size_t at = 0;
    for (int i = 0; i < cuts; i++) {
        size_t to = at + gi_rng_below(rng, n - at + 1);
        gi_buf_add(out, kernel_text + at, to - at);
        if (gi_rng_below(rng, 2)) string_words(rng, out);
        size_t jump = gi_rng_below(rng, 40);
        at = gi_rng_below(rng, 2) ? to + jump : to > jump ? to - jump : 0;
        if (at > n) at = n;
    }
    gi_buf_add(out, kernel_text + at, n - at);
}

/* What parses is given back; refused text has a message. */
static bool holds(const gi_buf *source, bool open, bool *parsed) {
    gi_err err = {0};
    GrammarOptions o = {.file = "f.cu", .open_loops = open, .pragmas = true, .restricts = true,
                        .consts = true, .volatiles = true, .launch_bounds = true,
                        .launch_bounds_threads = "64", .initialisers = true,
                        .skip_idle = true};
    Grammar *g = grammar_parse(source->data, source->len, &o, &err);
    *parsed = g != NULL;
    if (g == NULL) return err.message[0] != '\0';
    Genome none = {0};
    Patched p;
    gi_buf bnf = {0}, again = {0};
    bool fine = genome_apply_unguarded(g, &none, &p, &err) && p.source.len == source->len &&
                memcmp(p.source.data, source->data, source->len) == 0;
    patched_free(&p);
    grammar_print(g, &bnf);
    Grammar *back = grammar_read(bnf.data, bnf.len, &err);
    if (back) grammar_print(back, &again);
    else printf("# %s\n", err.message);
    fine = fine && back && strcmp(bnf.data, again.data) == 0;
    grammar_gene_count(g);
    grammar_free(back);
    grammar_free(g);
    gi_buf_free(&bnf);
    gi_buf_free(&again);
    return fine;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 3000, parsed = 0, bad = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 8011;
    gi_rng rng;
    gi_rng_seed(&rng, seed);
    printf("# seed %" PRIu64 "\n", seed);
    for (int i = 0; i < n; i++) {
        gi_buf source = {0};
        bool fine_parse;
        gi_buf_adds(&source, "");
        if (i % 2) cut_kernel(&rng, &source);
        else string_words(&rng, &source);
        if (!holds(&source, i % 4 < 2, &fine_parse) && bad++ < 3)
            printf("# source %d:\n# %s\n", i, source.data);
        parsed += fine_parse;
        gi_buf_free(&source);
    }
    ok(bad == 0, "%d random sources: %d parsed and given back, the others refused", n, parsed);
    ok(parsed * 20 > n, "at least one in twenty parses");
    return tap_done();
}
