/* random.c - the neighbourhood of single genes: counting, numbering, drawing.
**
** The genes of a rule are numbered: its deletion, its replacements, the insertions before it; rules
** in order, then the configuration entries (their bare names). The lists of a rule's sources, legal
** and with options.skip_idle such as change something, are found when the rule is first drawn. Only
** the count looks at all pairs of rules.
*/
#include "grammar/inside.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 25000000 }; /* that are counted: some seconds */

static void forget(Moves *m, int t) {
    free(m->list[t][GENE_REPLACE].v);
    free(m->list[t][GENE_INSERT].v);
    memset(m->list[t], 0, sizeof m->list[t]);
    m->known[t] = false;
}

void moves_clear(Moves *m) {
    for (int i = 0; i < m->n_rule; i++) {
        forget(m, i);
        free(m->code[i]);
    }
    for (int i = 0; i < RULE_TYPES; i++) free(m->fitting[i].v);
    free(m->list);
    free(m->known);
    free(m->code);
    free(m->drawn);
    free(m->first);
    *m = (Moves){0};
}

static bool is_drawn(const Grammar *g, GeneKind kind, int target, int source) {
    Gene gene = {.kind = kind, .target = target, .source = source, .config = target - g->n_rule};
    return !(g->options.skip_idle && gene_is_idle(g, &gene));
}

/* Lists what may be copied to rule t, by kind; of all kinds together so many at most. */
static void find_sources(const Grammar *g, int t, int most, IntList list[3]) {
    const IntList *all = &g->moves->fitting[g->rule[t].type];
    bool replace = rule_can_replace(g, t), insert = rule_can_insert(g, t);
    for (int i = 0; i < all->n && list[GENE_REPLACE].n + list[GENE_INSERT].n < most; i++) {
        int s = all->v[i];
        if (!rule_fits(g, s, t) || grammar_copy_verdict(g, s, t).why) continue;
        if (s != t && replace && is_drawn(g, GENE_REPLACE, t, s)) int_push(&list[GENE_REPLACE], s);
        if (insert && is_drawn(g, GENE_INSERT, t, s)) int_push(&list[GENE_INSERT], s);
    }
}

static void know_sources(const Grammar *g, int t) {
    Moves *m = g->moves;
    if (!m->known[t]) find_sources(g, t, INT_MAX, m->list[t]);
    m->known[t] = true;
}

/* How many genes of this kind rule t has. */
static long kind_count(const Grammar *g, int t, GeneKind kind) {
    if (kind == GENE_DELETE) return rule_can_delete(g, t) && is_drawn(g, kind, t, -1);
    know_sources(g, t);
    return g->moves->list[t][kind].n;
}

static bool config_is_drawn(const Grammar *g, int config) {
    return config_is_target(g, config) && is_drawn(g, GENE_SET, g->n_rule + config, -1);
}

/* Has target t any gene? */
static bool has_genes(const Grammar *g, int t) {
    if (t >= g->n_rule) return config_is_drawn(g, t - g->n_rule);
    if (!rule_is_target(g, t)) return false;
    if (kind_count(g, t, GENE_DELETE)) return true;
    IntList list[3] = {{0}};
    find_sources(g, t, 1, list);
    free(list[GENE_REPLACE].v);
    free(list[GENE_INSERT].v);
    return list[GENE_REPLACE].n + list[GENE_INSERT].n > 0;
}

static void find_fitting(const Grammar *g, Moves *m) {
    for (int t = 0; t < RULE_TYPES; t++)
        for (int s = 0; s < g->n_rule; s++)
            if (type_fits(g->rule[s].type, (RuleType)t)) int_push(&m->fitting[t], s);
}

/* False where the user interrupts. */
static bool find_moves(const Grammar *g, gi_err *err) {
    Moves *m = g->moves;
    if (m->found) return true;
    int targets = g->n_rule + g->options.n_config;
    m->n_rule = g->n_rule;
    m->list = gi_alloc((size_t)g->n_rule * sizeof *m->list);
    m->known = gi_alloc((size_t)g->n_rule);
    m->code = gi_alloc((size_t)g->n_rule * sizeof *m->code);
    m->drawn = gi_alloc((size_t)targets);
    find_fitting(g, m);
    for (int i = 0; i < g->n_rule; i++) m->code[i] = code_text(g->rule[i].text);
    for (int t = 0; t < targets && !source_stopped(err); t++) m->drawn[t] = has_genes(g, t);
    m->found = !source_stopped(err);
    if (!m->found) moves_clear(m);
    return m->found;
}

static long target_count(const Grammar *g, int t) {
    long n = 0;
    bool known = t >= g->n_rule || g->moves->known[t];
    if (!g->moves->drawn[t]) return 0;
    if (t >= g->n_rule) return 1;
    for (int k = GENE_DELETE; k <= GENE_INSERT; k++) n += kind_count(g, t, (GeneKind)k);
    if (!known) forget(g->moves, t);
    return n;
}

static long pair_count(const Grammar *g) {
    long n = 0;
    for (int t = 0; t < g->n_rule; t++)
        if (g->moves->drawn[t]) n += g->moves->fitting[g->rule[t].type].n;
    return n;
}

long grammar_gene_count(const Grammar *g, gi_err *err) {
    if (!find_moves(g, err)) return -1;
    int targets = g->n_rule + g->options.n_config;
    if (g->moves->first) return g->moves->first[targets];
    if (pair_count(g) > MOST_PAIRS) {
        gi_fail(err, "format",
                "the genes of %s are not counted: they are more than %d million pairs of places",
                grammar_file(g), MOST_PAIRS / 1000000);
        return -1;
    }
    long *first = gi_alloc((size_t)(targets + 1) * sizeof(long));
    for (int t = 0; t < targets && !source_stopped(err); t++)
        first[t + 1] = first[t] + target_count(g, t);
    if (!source_stopped(err)) return (g->moves->first = first)[targets];
    free(first);
    return -1;
}

/* The i-th gene of a kind of rule t. */
static Gene nth_gene(const Grammar *g, int t, GeneKind kind, long i) {
    int source = kind == GENE_DELETE ? -1 : g->moves->list[t][kind].v[i];
    return (Gene){.kind = kind, .target = t, .source = source, .config = -1};
}

static Gene config_gene(int config) {
    return (Gene){.kind = GENE_SET, .target = -1, .source = -1, .config = config};
}

bool grammar_gene_at(const Grammar *g, long i, gi_buf *out) {
    int low = 0, high = g->n_rule + g->options.n_config;
    if (i < 0 || i >= grammar_gene_count(g, NULL)) return false;
    const Moves *m = g->moves;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (m->first[middle] <= i) low = middle;
        else high = middle;
    }
    Gene gene = config_gene(low - g->n_rule);
    if (low < g->n_rule) {
        int kind = GENE_DELETE;
        for (i -= m->first[low]; i >= kind_count(g, low, (GeneKind)kind); kind++)
            i -= kind_count(g, low, (GeneKind)kind);
        gene = nth_gene(g, low, (GeneKind)kind, i);
    }
    gene_print(g, &gene, out);
    return true;
}

static double weight(const Grammar *g, int target, const double *weights) {
    if (!g->moves->drawn[target]) return 0;
    if (weights == NULL) return 1;
    return weights[target < g->n_rule ? g->rule[target].type : RULE_DEF];
}

static int draw_target(const Grammar *g, gi_rng *rng, const double *weights) {
    int targets = g->n_rule + g->options.n_config, last = -1;
    double sum = 0;
    for (int t = 0; t < targets; t++) sum += weight(g, t, weights);
    double at = gi_rng_unit(rng) * sum;
    for (int t = 0; t < targets; t++) {
        double w = weight(g, t, weights);
        if (w <= 0) continue;
        last = t;
        if (at < w) return t;
        at -= w;
    }
    return last;
}

bool grammar_random_gene(const Grammar *g, gi_rng *rng, const double *weights, gi_buf *out,
                         gi_err *err) {
    GeneKind kinds[3];
    int n = 0;
    if (!find_moves(g, err)) return false;
    int t = draw_target(g, rng, weights);
    if (t < 0)
        return gi_fail(err, "usage", "nothing in %s may be changed with these options",
                       grammar_file(g));
    Gene gene = config_gene(t - g->n_rule);
    if (t < g->n_rule) {
        for (int k = GENE_DELETE; k <= GENE_INSERT; k++)
            if (kind_count(g, t, (GeneKind)k)) kinds[n++] = (GeneKind)k;
        GeneKind kind = kinds[gi_rng_below(rng, (uint64_t)n)];
        long count = kind_count(g, t, kind);
        gene = nth_gene(g, t, kind, (long)gi_rng_below(rng, (uint64_t)count));
    }
    gene_print(g, &gene, out);
    return true;
}
