/* grammar_random.c - properties of random genes: legal, printable, countable, drawn evenly. */
#include "grammar_kernel.h"

#include "tap.h"

enum { SEED = 20140712 };

/* A random genome of n genes is parsed, printed and parsed again without loss. */
static bool round_trip(const Grammar *g, gi_rng *rng, int n) {
    gi_buf text = {0}, again = {0};
    gi_err err;
    Genome genome;
    for (int i = 0; i < n; i++) {
        if (i) gi_buf_adds(&text, " ");
        grammar_random_gene(g, rng, NULL, &text, NULL);
    }
    bool fine = genome_parse(g, text.data, &genome, &err);
    if (!fine) printf("# %s\n", err.message);
    if (fine) {
        Patched p;
        genome_print(g, &genome, &again);
        fine = genome.n == n && strcmp(text.data, again.data) == 0 &&
               genome_apply(g, &genome, &p, &err);
        if (fine) {
            int lines = 0;
            for (size_t i = 0; i < p.source.len; i++) lines += p.source.data[i] == '\n';
            fine = lines == p.n_lines;
            for (int i = 0; i < p.n_lines && fine; i++)
                fine = p.origin[i] >= 1 && p.origin[i] <= 35 && p.gene[i] < n;
            patched_free(&p);
        }
        genome_free(&genome);
    }
    gi_buf_free(&text);
    gi_buf_free(&again);
    return fine;
}

/* All genes are legal and differ; every pair of rules that is not among them is refused. */
static void check_count(const Grammar *g) {
    long n = grammar_gene_count(g, NULL), legal = 2; /* FAST and STEP, bare */
    bool all = true;
    gi_buf last = {0};
    for (long i = 0; i < n; i++) {
        gi_buf gene = {0};
        Genome genome;
        grammar_gene_at(g, i, &gene);
        all = all && genome_parse(g, gene.data, &genome, NULL) &&
              (last.data == NULL || strcmp(last.data, gene.data) != 0);
        genome_free(&genome);
        gi_buf_free(&last);
        last = gene;
    }
    gi_buf_free(&last);
    ok(all, "every gene of %ld is legal and unlike its neighbour", n);
    for (int t = 0; t < grammar_rule_count(g); t++) {
        Gene gene = {.kind = GENE_DELETE, .target = t, .source = -1, .config = -1};
        legal += gene_check(g, &gene, NULL);
        for (int s = 0; s < grammar_rule_count(g); s++) {
            gene.source = s;
            gene.kind = GENE_REPLACE;
            legal += gene_check(g, &gene, NULL);
            gene.kind = GENE_INSERT;
            legal += gene_check(g, &gene, NULL);
        }
    }
    is_int(n, legal, "the count is that of all pairs that pass the check");
    gi_buf none = {0};
    ok(!grammar_gene_at(g, n, &none) && !grammar_gene_at(g, -1, &none), "none beyond");
}

/* Equal statements, conditions, jumps, a pragma of the pool, a macro that is set already. */
static const char idle_text[] = "#define FAST 1\n"
                                "__global__ void k(int n, int *p)\n{\n"
                                " p[0] = n;\n p[0] =  n; // again\n"
                                " if (0) n++;\n if (n) n++;\n if ( n ) return;\n return;\n"
                                "#pragma unroll 3\n"
                                " for (int i = 0; 0; i++) return;\n}\n";

/* The words of a text, a blank between. */
static char *words_of(const char *text) {
    SourceTokens t = {0};
    gi_buf out = {0};
    source_tokens(text, 0, (int)strlen(text), 1, &t);
    gi_buf_adds(&out, "");
    for (int i = 0; i < t.n; i++)
        gi_buf_addf(&out, "%.*s ", t.v[i].end - t.v[i].start, text + t.v[i].start);
    source_tokens_free(&t);
    return out.data;
}

/* Does every drawn gene change a word? With idle ones drawn too, how many leave all as it is? */
static void check_idle(void) {
    static const GrammarConfig fast = {"FAST", "1", true};
    GrammarOptions o = {.file = "k", .open_loops = true, .pragmas = true, .config = &fast,
                        .n_config = 1};
    long n[2], same[2] = {0, 0}, jumps = 0;
    for (int skip = 0; skip < 2; skip++) {
        o.skip_idle = skip;
        Grammar *g = grammar_parse(idle_text, strlen(idle_text), &o, NULL);
        char *plain = mutant(g, ""), *words = words_of(plain);
        n[skip] = grammar_gene_count(g, NULL);
        for (long i = 0; i < n[skip]; i++) {
            gi_buf gene = {0};
            grammar_gene_at(g, i, &gene);
            char *text = mutant(g, gene.data), *now = words_of(text);
            same[skip] += strcmp(now, words) == 0;
            jumps += skip == 0 && strstr(now, "return ; return ;") && strchr(gene.data, '+');
            free(text), free(now);
            gi_buf_free(&gene);
        }
        free(plain), free(words);
        grammar_free(g);
    }
    ok(same[0] > 8, "%ld of %ld genes leave every word as it is", same[0], n[0]);
    is_int(same[1], 0, "with skip_idle none does");
    ok(n[1] < n[0] - same[0], "nor do jumps behind the same jump");
    ok(n[1] >= n[0] - same[0] - jumps, "and all others are there");
}

/* With a weight on one type alone only that type is drawn. */
static void check_weights(const Grammar *g, gi_rng *rng) {
    double weights[RULE_TYPES] = {0};
    bool only = true;
    weights[RULE_IF] = 1;
    for (int i = 0; i < 200; i++) {
        gi_buf gene = {0};
        grammar_random_gene(g, rng, weights, &gene, NULL);
        only = only && strncmp(gene.data, "<IF_", 4) == 0;
        gi_buf_free(&gene);
    }
    ok(only, "weights choose the type");
    weights[RULE_IF] = 0;
    gi_buf gene = {0};
    gi_err err = {0};
    ok(!grammar_random_gene(g, rng, weights, &gene, &err), "no weight, no gene");
    is_str(err.message, "nothing in k.cu may be changed with these options", "message");
}

/* Targets are drawn evenly: each of n targets within 5 deviations of its share. */
/* Of very many statements genes are drawn, but not counted. */
static void check_many(gi_rng *rng) {
    gi_buf text = {0}, gene = {0};
    gi_err err = {0};
    GrammarOptions o = {.file = "k.cu"};
    gi_buf_adds(&text, "__global__ void k(float *x)\n{\n");
    for (int i = 0; i < 5001; i++) gi_buf_addf(&text, "  x[%d] = 1;\n", i);
    gi_buf_adds(&text, "}\n");
    Grammar *g = grammar_parse(text.data, text.len, &o, NULL);
    ok(grammar_random_gene(g, rng, NULL, &gene, NULL), "a gene of 5001 statements");
    is_int(grammar_gene_count(g, &err), -1, "they are not counted");
    is_str(err.message, "the genes of k.cu are not counted: they are more than 25 million pairs of "
                        "places", "it says so");
    ok(!grammar_gene_at(g, 0, &gene), "none has a number");
    grammar_free(g);
    gi_buf_free(&text);
    gi_buf_free(&gene);
}

static void check_even(const Grammar *g, gi_rng *rng) {
    enum { DRAWS = 20000 };
    int n = grammar_rule_count(g), targets = 2, *hits = calloc((size_t)n, sizeof(int));
    for (int i = 0; i < DRAWS; i++) {
        gi_buf gene = {0};
        Genome genome;
        grammar_random_gene(g, rng, NULL, &gene, NULL);
        genome_parse(g, gene.data, &genome, NULL);
        if (genome.genes[0].kind != GENE_SET) hits[genome.genes[0].target]++;
        genome_free(&genome);
        gi_buf_free(&gene);
    }
    for (int i = 0; i < n; i++) targets += hits[i] > 0;
    double share = (double)DRAWS / targets, worst = 0;
    for (int i = 0; i < n; i++) {
        double off = hits[i] ? (hits[i] - share) * (hits[i] - share) / share : 0;
        if (off > worst) worst = off;
    }
    ok(worst < 25, "targets are drawn evenly (worst chi^2 %.1f of %d targets)", worst, targets);
    free(hits);
}

int main(void) {
    gi_rng rng;
    gi_rng_seed(&rng, SEED);
    printf("# seed %d\n", SEED);
    for (int open = 0; open < 2; open++) {
        Grammar *g = kernel_grammar(open);
        bool fine = true;
        for (int i = 0; i < 500; i++) fine = fine && round_trip(g, &rng, 1 + i % 30);
        ok(fine, "500 random genomes survive printing and parsing (open loops: %d)", open);
        check_count(g);
        check_weights(g, &rng);
        check_even(g, &rng);
        grammar_free(g);
    }
    check_idle();
    check_many(&rng);
    return tap_done();
}
