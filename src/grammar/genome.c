/* genome.c - genes as text: reading, printing, and the reasons for refusing one. */
#include "grammar/inside.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- printing ---- */

void gene_print(const Grammar *g, const Gene *gene, gi_buf *out) {
    if (gene->kind == GENE_SET) {
        gi_buf_adds(out, g->config[gene->config].name);
        if (gene->value) gi_buf_addf(out, "=%s", gene->value);
        return;
    }
    if (gene->kind == GENE_LINES) {
        lines_print(g, gene, out);
        return;
    }
    gi_buf_adds(out, g->rule[gene->target].name);
    if (gene->kind == GENE_INSERT) gi_buf_adds(out, "+");
    if (gene->source >= 0) gi_buf_adds(out, g->rule[gene->source].name);
}

void genome_print(const Grammar *g, const Genome *genome, gi_buf *out) {
    for (int i = 0; i < genome->n; i++) {
        if (i) gi_buf_adds(out, " ");
        gene_print(g, &genome->genes[i], out);
    }
}

void genome_free(Genome *genome) {
    for (int i = 0; i < genome->n; i++) free(genome->genes[i].value);
    free(genome->genes);
    *genome = (Genome){0};
}

/* ---- reasons ---- */

static const char *noun(RuleType type) {
    static const char *const nouns[RULE_TYPES] = {
        "a fixed line",          "a statement",           "an if condition",
        "a while condition",     "an else",               "the start of a for header",
        "the condition of a for header", "the step of a for header", "an initialiser",
        "a pragma slot",
        "a configuration macro", "a const slot",          "a __restrict__ slot",
        "a volatile slot",       "a launch bounds slot",  "a place for approximate mathematics",
        "a pragma",              "a launch bound",        "the word const",
        "the word __restrict__", "the word volatile",     "approximate mathematics"};
    return nouns[type];
}

static const char *text_of(const Tree *t, int name) {
    return name >= 0 ? t->names.text[name] : "";
}

static int line_of_node(const Tree *t, int node) {
    return node >= 0 ? tok_line(t, t->node[node].first) : 0;
}

/* One clause for a person: why a copy of source may not stand at target. */
static void copy_reason(const Grammar *g, Verdict v, const Rule *s, const Rule *to, gi_buf *out) {
    const Tree *t = &g->tree;
    const char *name = text_of(t, v.what);
    switch (v.why) {
    case WHY_SCOPE:
        gi_buf_addf(out, "%s, which %s uses, is not in scope at line %d", name, s->name, to->line);
        break;
    case WHY_SHADOW:
        gi_buf_addf(out, "%s means something else at line %d than at line %d", name, to->line,
                    s->line);
        break;
    case WHY_CONDITION:
        gi_buf_addf(out, "%s, which %s uses, depends on an #if that does not cover line %d", name,
                    s->name, to->line);
        break;
    case WHY_JUMP:
        gi_buf_addf(out, "`%s` needs a loop around it, and line %d is in none", s->text, to->line);
        break;
    case WHY_CONTINUE:
        gi_buf_addf(out, "`continue` could keep the protected loop of line %d from ending",
                    line_of_node(t, v.node));
        break;
    case WHY_RETURN:
        gi_buf_addf(out, "`%s` belongs to another function than line %d", s->text, to->line);
        break;
    case WHY_MEMBER:
        gi_buf_adds(out, "statements are not copied between member functions and others");
        break;
    case WHY_LOOP_VARIABLE:
        gi_buf_addf(out, "%s changes %s, the variable of the protected loop of line %d", s->name,
                    name, line_of_node(t, v.node));
        break;
    case WHY_SHARED:
        gi_buf_addf(out,
                    "%s reads or writes a shared array by the loop variable %s, and line %d is "
                    "outside the loop of line %d",
                    s->name, name, to->line, line_of_node(t, v.node));
        break;
    case WHY_TYPE:
        gi_buf_addf(out, "%s and %s are not declared with the same type", to->variable,
                    s->variable);
        break;
    case WHY_CONST: gi_buf_addf(out, "%s is const and cannot be assigned", s->variable); break;
    case WHY_CONSTEXPR:
        gi_buf_addf(out, "the value of %s is not known at compile time, as `if constexpr` needs it",
                    s->name);
        break;
    case WHY_EMPTY: gi_buf_addf(out, "%s is empty", s->name); break;
    case WHY_LEGAL: break;
    }
}

static void set_reason(const Grammar *g, const Gene *gene, gi_buf *out) {
    if (gene->config < 0 || gene->config >= g->options.n_config)
        gi_buf_adds(out, "there is no such configuration entry");
    else if (gene->value == NULL && !config_is_target(g, gene->config))
        gi_buf_addf(out, "%s needs a value: write %s=VALUE", g->config[gene->config].name,
                    g->config[gene->config].name);
}

static void target_reason(const Grammar *g, int target, gi_buf *out) {
    const Rule *r = &g->rule[target];
    if (r->type == RULE_DEF)
        gi_buf_addf(out, "%s is a configuration macro: set it by its name, NAME or NAME=VALUE",
                    r->name);
    else if (r->type == RULE_FIXED) gi_buf_addf(out, "%s is a fixed line", r->name);
    else if (r->type >= RULE_PRAGMA_K)
        gi_buf_addf(out, "%s is a pool rule: it can only be the second of a pair", r->name);
    else gi_buf_addf(out, "%s is protected: %s", r->name, r->protected_why);
}

/* The types of a pair that do not fit. */
static void type_reason(const Rule *to, const Rule *s, gi_buf *out) {
    RuleType wanted = source_type(to->type);
    if (to->type == RULE_MATH && s->type == wanted)
        gi_buf_addf(out, "there is nothing at line %d that `%s` would change", to->line, s->text);
    else if (wanted != to->type)
        gi_buf_addf(out, "%s is %s: it takes a rule of its pool, such as <%sK0>, not %s", to->name,
                    noun(to->type), rule_prefix(to->type), s->name);
    else
        gi_buf_addf(out, "%s is %s and %s is %s: both rules of a gene have the same type",
                    to->name, noun(to->type), s->name, noun(s->type));
}

static void pair_reason(const Grammar *g, const Gene *gene, gi_buf *out) {
    const Rule *to = &g->rule[gene->target], *s = &g->rule[gene->source];
    if (!rule_fits(g, gene->source, gene->target)) type_reason(to, s, out);
    else if (gene->kind == GENE_INSERT && !rule_can_insert(g, gene->target))
        gi_buf_addf(out, "%s is %s: only statements can be inserted", to->name, noun(to->type));
    else if (gene->kind == GENE_REPLACE && to->type == RULE_ELSE)
        gi_buf_addf(out, "%s is an else: it can only be deleted", to->name);
    else if (gene->kind == GENE_REPLACE && !rule_can_replace(g, gene->target))
        gi_buf_addf(out, "%s holds \"%s\" already: it can only be deleted", to->name, to->text);
    else if (gene->kind == GENE_REPLACE && to == s)
        gi_buf_addf(out, "replacing %s by itself changes nothing", to->name);
    else
        copy_reason(g, grammar_copy_verdict(g, gene->source, gene->target), s, to, out);
}

/* Why the gene is illegal; *out stays empty when it is legal. */
static void gene_reason(const Grammar *g, const Gene *gene, gi_buf *out) {
    bool pair = gene->kind == GENE_REPLACE || gene->kind == GENE_INSERT;
    if (gene->kind == GENE_LINES) return; /* as it was read */
    if (gene->kind == GENE_SET) set_reason(g, gene, out);
    else if (gene->target < 0 || gene->target >= g->n_rule ||
             (pair && (gene->source < 0 || gene->source >= g->n_rule)))
        gi_buf_adds(out, "it names no rule");
    else if (!rule_is_target(g, gene->target)) target_reason(g, gene->target, out);
    else if (pair) pair_reason(g, gene, out);
    else if (!rule_can_delete(g, gene->target) && g->rule[gene->target].type == RULE_INIT)
        gi_buf_addf(out, "%s must begin with something", g->rule[gene->target].variable);
    else if (!rule_can_delete(g, gene->target))
        gi_buf_addf(out, "%s is empty: there is nothing to delete", g->rule[gene->target].name);
}

static bool names_rules(const Grammar *g, const Gene *gene) {
    if (gene->kind == GENE_SET) return gene->config >= 0 && gene->config < g->options.n_config;
    return gene->target >= 0 && gene->target < g->n_rule && gene->source < g->n_rule;
}

bool gene_check(const Grammar *g, const Gene *gene, gi_err *err) {
    gi_buf why = {0}, text = {0};
    gene_reason(g, gene, &why);
    bool legal = why.len == 0;
    if (!legal) {
        if (names_rules(g, gene)) gene_print(g, gene, &text);
        gi_fail(err, "gene", "gene %s: %s", text.data ? text.data : "(broken)", why.data);
    }
    gi_buf_free(&why);
    gi_buf_free(&text);
    return legal;
}

/* ---- parsing ---- */

typedef struct Reader {
    const Grammar *g;
    const char *gene; /* its text */
    int len, number;  /* number: from 1 */
    gi_err *err;
} Reader;

static bool refuse(const Reader *r, const char *why) {
    return gi_fail(r->err, "gene", "gene %d, %.*s: %s", r->number, r->len > 200 ? 200 : r->len,
                   r->gene, why);
}

/* The closest thing to say about a name that is none. */
static bool unknown_rule(const Reader *r, const char *name) {
    gi_buf why = {0};
    int n = (int)strlen(name);
    char line[16] = "";
    while (n > 0 && !isdigit((unsigned char)name[n - 1])) n--;
    int end = n;
    while (n > 0 && isdigit((unsigned char)name[n - 1])) n--;
    if (end - n > 0 && end - n < 10) snprintf(line, sizeof line, "%.*s", end - n, name + n);
    gi_buf_addf(&why, "%s has no rule %s", grammar_file(r->g), name);
    int number = line[0] ? atoi(line) : 0;
    if (number > grammar_line_count(r->g))
        gi_buf_addf(&why, " (it has %d lines)", grammar_line_count(r->g));
    else if (number > 0)
        gi_buf_addf(&why, "; line %d reads `%.120s`", number, grammar_line(r->g, number));
    refuse(r, why.data);
    gi_buf_free(&why);
    return false;
}

/* Reads `<…>` at *at. */
static bool read_rule(const Reader *r, int *at, int *rule) {
    const char *close = memchr(r->gene + *at, '>', (size_t)(r->len - *at));
    if (r->gene[*at] != '<' || close == NULL)
        return refuse(r, "a gene is <A>, <A><B>, <A>+<B>, NAME, NAME=VALUE or <lines_…>=TEXT");
    int n = (int)(close - r->gene) + 1 - *at;
    char *name = gi_strndup(r->gene + *at, (size_t)n);
    *rule = grammar_find(r->g, name);
    bool found = *rule >= 0 || unknown_rule(r, name);
    free(name);
    *at += n;
    return found;
}

static bool read_set(const Reader *r, Gene *out) {
    const char *equals = memchr(r->gene, '=', (size_t)r->len);
    int n = equals ? (int)(equals - r->gene) : r->len;
    out->kind = GENE_SET;
    out->target = out->source = -1;
    for (int i = 0; i < r->g->options.n_config; i++) {
        const char *name = r->g->config[i].name;
        if ((int)strlen(name) != n || memcmp(name, r->gene, (size_t)n) != 0) continue;
        if (equals && n + 1 == r->len) return refuse(r, "there is no value after the '='");
        for (int k = n; k < r->len; k++)
            if (!isprint((unsigned char)r->gene[k]) || r->gene[k] == '\\')
                return refuse(r, "the value holds a character that no value may hold");
        out->config = i;
        out->value = equals ? gi_strndup(equals + 1, (size_t)(r->len - n - 1)) : NULL;
        return true;
    }
    return refuse(r, "there is no configuration entry of that name, and rules stand in < >");
}

static bool read_rules(const Reader *r, Gene *out) {
    int at = 0;
    *out = (Gene){.kind = GENE_DELETE, .source = -1, .config = -1};
    if (!read_rule(r, &at, &out->target)) return false;
    if (at == r->len) return true;
    out->kind = r->gene[at] == '+' ? GENE_INSERT : GENE_REPLACE;
    at += r->gene[at] == '+';
    if (at == r->len) return refuse(r, "there is no rule after the '+'");
    if (!read_rule(r, &at, &out->source)) return false;
    return at == r->len || refuse(r, "there is more after its second rule");
}

static bool read_form(const Reader *r, Gene *out) {
    if (r->gene[0] != '<') return read_set(r, out);
    if (!lines_begins(r->gene, r->len)) return read_rules(r, out);
    const char *wrong = lines_read(r->g, r->gene, r->len, out);
    return wrong == NULL || refuse(r, wrong);
}

static bool read_gene(const Reader *r, Gene *out) {
    gi_buf why = {0};
    if (!read_form(r, out)) return false;
    gene_reason(r->g, out, &why);
    bool legal = why.len == 0 || refuse(r, why.data);
    gi_buf_free(&why);
    if (!legal) free(out->value);
    return legal;
}

bool genome_parse(const Grammar *g, const char *text, Genome *out, gi_err *err) {
    Genome read = {0};
    Reader r = {.g = g, .err = err};
    for (const char *at = text; *(at += strspn(at, " \t\r\n")); at += r.len) {
        Gene gene = {0};
        r.gene = at;
        r.len = (int)strcspn(at, " \t\r\n");
        r.number++;
        if (strncmp(at, "<ptx:", 5) == 0 || strncmp(at, "<llvm:", 6) == 0) continue;
        if (!read_gene(&r, &gene)) {
            genome_free(&read);
            return false;
        }
        gi_grow(read.genes, read.n, read.cap);
        read.genes[read.n++] = gene;
    }
    *out = read;
    return true;
}
