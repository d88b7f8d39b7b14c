/* random.c - the neighbourhood of single genes: counting, numbering, drawing.
**
** The genes of a rule are numbered: its deletion, its replacements, the insertions before it; rules
** in order, then the configuration entries (their bare names). The lists of sources, legal and with
** options.skip_idle such as change something, are found once, when first asked for.
*/
#include "grammar/inside.h"

#include <stdlib.h>
#include <string.h>

void moves_free(Moves *m) {
    for (int i = 0; i < m->n_rule && m->known; i++) {
        free(m->list[i][GENE_REPLACE].v);
        free(m->list[i][GENE_INSERT].v);
        free(m->code[i]);
    }
    free(m->list);
    free(m->code);
    free(m->first);
    free(m);
}

static bool is_drawn(const Grammar *g, GeneKind kind, int target, int source) {
    Gene gene = {.kind = kind, .target = target, .source = source, .config = target - g->n_rule};
    return !(g->options.skip_idle && gene_is_idle(g, &gene));
}

/* How many genes of this kind rule t has. */
static long kind_count(const Grammar *g, int t, GeneKind kind) {
    if (kind == GENE_DELETE) return rule_can_delete(g, t) && is_drawn(g, kind, t, -1);
    return g->moves->list[t][kind].n;
}

static void find_sources(const Grammar *g, Moves *m, int t) {
    for (int s = 0; s < g->n_rule; s++) {
        if (!rule_fits(g, s, t) || grammar_copy_verdict(g, s, t).why) continue;
        bool replaces = s != t && rule_can_replace(g, t) && is_drawn(g, GENE_REPLACE, t, s);
        bool inserts = rule_can_insert(g, t) && is_drawn(g, GENE_INSERT, t, s);
        if (replaces) int_push(&m->list[t][GENE_REPLACE], s);
        if (inserts) int_push(&m->list[t][GENE_INSERT], s);
    }
}

static long target_count(const Grammar *g, Moves *m, int t) {
    long n = 0;
    if (t >= g->n_rule) return config_is_target(g, t - g->n_rule) && is_drawn(g, GENE_SET, t, -1);
    if (!rule_is_target(g, t)) return 0;
    find_sources(g, m, t);
    for (int k = GENE_DELETE; k <= GENE_INSERT; k++) n += kind_count(g, t, (GeneKind)k);
    return n;
}

static const Moves *moves(const Grammar *g) {
    Moves *m = g->moves;
    if (m->known) return m;
    int targets = g->n_rule + g->options.n_config;
    m->known = true;
    m->n_rule = g->n_rule;
    m->list = gi_alloc((size_t)g->n_rule * sizeof *m->list);
    m->code = gi_alloc((size_t)g->n_rule * sizeof *m->code);
    m->first = gi_alloc((size_t)(targets + 1) * sizeof(long));
    for (int i = 0; i < g->n_rule; i++) m->code[i] = code_text(g->rule[i].text);
    for (int t = 0; t < targets; t++) m->first[t + 1] = m->first[t] + target_count(g, m, t);
    return m;
}

/* The i-th gene of a kind of rule t. */
static Gene nth_gene(const Grammar *g, int t, GeneKind kind, long i) {
    int source = kind == GENE_DELETE ? -1 : g->moves->list[t][kind].v[i];
    return (Gene){.kind = kind, .target = t, .source = source, .config = -1};
}

static Gene config_gene(int config) {
    return (Gene){.kind = GENE_SET, .target = -1, .source = -1, .config = config};
}

long grammar_gene_count(const Grammar *g) {
    return moves(g)->first[g->n_rule + g->options.n_config];
}

bool grammar_gene_at(const Grammar *g, long i, gi_buf *out) {
    const Moves *m = moves(g);
    int low = 0, high = g->n_rule + g->options.n_config;
    if (i < 0 || i >= m->first[high]) return false;
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
    const Moves *m = g->moves;
    if (m->first[target] == m->first[target + 1]) return 0;
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
    moves(g);
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
