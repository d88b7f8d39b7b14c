/* random.c - the neighbourhood of single genes: counting, numbering, drawing.
**
** The genes of a rule are numbered: its deletion, its replacements, the insertions before it; rules
** in order, then the configuration entries (their bare names). The lists of legal sources are found
** once, when first asked for.
*/
#include "grammar/inside.h"

#include <stdlib.h>
#include <string.h>

void moves_free(Moves *m) {
    for (int i = 0; i < m->n_rule && m->source; i++) free(m->source[i].v);
    free(m->source);
    free(m->first);
    free(m);
}

/* How many genes of this kind rule t has. */
static long kind_count(const Grammar *g, int t, GeneKind kind) {
    const IntList *s = &g->moves->source[t];
    if (kind == GENE_DELETE) return rule_can_delete(g, t);
    if (kind == GENE_INSERT) return rule_can_insert(g, t) ? s->n : 0;
    return rule_can_replace(g, t) ? s->n - int_has(s, t) : 0;
}

static void find_sources(const Grammar *g, Moves *m, int t) {
    RuleType type = source_type(g->rule[t].type);
    for (int s = 0; s < g->n_rule; s++) {
        if (g->rule[s].type != type || grammar_copy_verdict(g, s, t).why) continue;
        IntList *l = &m->source[t];
        gi_grow(l->v, l->n, l->cap);
        l->v[l->n++] = s;
    }
}

static const Moves *moves(const Grammar *g) {
    Moves *m = g->moves;
    if (m->known) return m;
    long n = 0;
    int targets = g->n_rule + g->options.n_config;
    m->known = true;
    m->n_rule = g->n_rule;
    m->source = gi_alloc((size_t)g->n_rule * sizeof *m->source);
    m->first = gi_alloc((size_t)(targets + 1) * sizeof(long));
    for (int t = 0; t < targets; t++) {
        m->first[t] = n;
        if (t >= g->n_rule) n += config_is_target(g, t - g->n_rule);
        else if (rule_is_target(g, t)) {
            find_sources(g, m, t);
            for (int k = GENE_DELETE; k <= GENE_INSERT; k++) n += kind_count(g, t, (GeneKind)k);
        }
    }
    m->first[targets] = n;
    return m;
}

/* The i-th gene of a kind of rule t. */
static Gene nth_gene(const Grammar *g, int t, GeneKind kind, long i) {
    const IntList *s = &g->moves->source[t];
    Gene gene = {.kind = kind, .target = t, .source = -1, .config = -1};
    if (kind == GENE_DELETE) return gene;
    for (int k = 0; k < s->n; k++) {
        if (kind == GENE_REPLACE && s->v[k] == t) continue;
        if (i-- == 0) gene.source = s->v[k];
    }
    return gene;
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
