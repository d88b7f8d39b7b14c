/* grammar_genome.c - a target for genomes and BNF: any BNF, a zero byte, any genome; refused in a
** sentence, or printed, read again and applied. The kernel's own grammar takes the genome, too.
** tests/c/grammar_bnf.c and grammar_apply.c are its short relatives. */
#include "../c/grammar_kernel.h"

#include "fuzz.h"

static Grammar *own(void) {
    static Grammar *g;
    static const GrammarOptions o = {.file = "kernel.cu", .pragmas = true, .restricts = true,
                                     .consts = true, .volatiles = true, .launch_bounds = true,
                                     .launch_bounds_threads = "64", .initialisers = true};
    gi_err err;
    if (g == NULL) g = grammar_parse(kernel_text, strlen(kernel_text), &o, &err);
    if (g == NULL) abort();
    return g;
}

/* What was read is printed, and that is read as the same. */
static void genome(const Grammar *g, const char *text) {
    gi_err err = {0};
    Genome one, same;
    if (!genome_parse(g, text, &one, &err)) {
        if (err.message[0] == '\0' || strchr(err.message, '\n')) abort();
        return;
    }
    gi_buf printed = {0}, again = {0};
    Patched p;
    gi_buf_adds(&printed, "");
    gi_buf_adds(&again, "");
    genome_print(g, &one, &printed);
    if (!genome_parse(g, printed.data, &same, &err)) abort();
    genome_print(g, &same, &again);
    if (strcmp(printed.data, again.data) != 0) abort();
    if (genome_apply(g, &one, &p, &err)) patched_free(&p);
    genome_free(&one);
    genome_free(&same);
    gi_buf_free(&printed);
    gi_buf_free(&again);
}

/* The kernel's BNF, a zero byte, genes of it. */
void fuzz_seeds(FuzzAdd *add) {
    for (uint64_t seed = 1; seed <= 5; seed++) {
        gi_rng rng;
        gi_buf all = {0};
        gi_rng_seed(&rng, seed);
        grammar_print(own(), &all);
        gi_buf_add(&all, "", 1);
        for (int i = 0; i < 4; i++) {
            grammar_random_gene(own(), &rng, NULL, &all, NULL);
            gi_buf_adds(&all, " ");
        }
        add(all.data, all.len);
        gi_buf_free(&all);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    gi_err err = {0};
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    size_t len = strlen(text);
    const char *genes = len < size ? text + len + 1 : text;
    Grammar *g = grammar_read(text, len, &err);
    if (g == NULL && err.message[0] == '\0') abort();
    if (g) genome(g, genes);
    genome(own(), genes);
    grammar_free(g);
    free(text);
    return 0;
}
