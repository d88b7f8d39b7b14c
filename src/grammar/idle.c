/* idle.c - genes that leave the code as it is, word for word, or assign to a variable what it holds
** or what nobody reads: not drawn where options.skip_idle says so. They stay legal: a person may
** write one.
*/
#include "grammar/inside.h"

#include <stdlib.h>
#include <string.h>

/* The words of a text with one blank between: layout and comments are no code. */
char *code_text(const char *text) {
    SourceTokens t = {0};
    gi_buf out = {0};
    source_tokens(text, 0, (int)strlen(text), 1, &t);
    gi_buf_adds(&out, "");
    for (int i = 0; i < t.n; i++) {
        if (i) gi_buf_adds(&out, " ");
        gi_buf_add(&out, text + t.v[i].start, (size_t)(t.v[i].end - t.v[i].start));
    }
    source_tokens_free(&t);
    return out.data;
}

/* Is a copy of source, where target stands, what target is? */
static bool same(const Grammar *g, int target, int source) {
    const char *is = g->moves->code[target], *copy = g->moves->code[source];
    if (g->rule[target].type == g->rule[source].type || g->info[source].own < 0)
        return strcmp(is, copy) == 0;
    gi_buf text = {0};
    gi_buf_addf(&text, "%s = %s ;", g->rule[source].variable, copy);
    bool equal = strcmp(is, text.data) == 0;
    gi_buf_free(&text);
    return equal;
}

/* The number 0, however it is written. */
static bool is_zero(const char *code) {
    char *end;
    return strtod(code, &end) == 0 && end > code && end[strspn(end, "uUlLfF")] == '\0';
}

/* From where on a value assigned at token `at` may be read: from there, or from the beginning of a
** loop around it in which the variable lives on; of a variable of the loop's header too. */
static int read_from(const Tree *t, int node, int at, int scope) {
    for (int n = node; n >= scope && (n > scope || t->node[n].kind == NODE_FOR);
         n = t->node[n].parent) {
        NodeKind kind = t->node[n].kind;
        bool loop = kind == NODE_FOR || kind == NODE_WHILE || kind == NODE_DO ||
                    kind == NODE_UNKNOWN;
        if (loop) at = t->node[n].first;
    }
    return at;
}

/* Does `a = x[i];`, a copy of what a begins with, leave a as it is, or is a read no more? */
static bool idle_assignment(const Grammar *g, int target, int source) {
    const RuleInfo *s = &g->info[source], *at = &g->info[target];
    if (s->own < 0 || at->own >= 0) return false;
    const Decl *d = &g->tree.decl[s->own];
    return s->steady || d->last == at->first ||
           s->last_use < read_from(&g->tree, at->node, at->first, d->scope);
}

/* What stands there already? */
static bool idle_set(const Grammar *g, int config) {
    int rule = g->config_rule[config];
    const GrammarConfig *c = &g->config[config];
    if (rule < 0 || c->on_value == NULL) return false;
    gi_buf text = {0};
    gi_buf_addf(&text, "#define %s %s", c->name, c->on_value);
    bool idle = strcmp(text.data, g->moves->code[rule]) == 0;
    gi_buf_free(&text);
    return idle;
}

static bool idle_delete(const Grammar *g, int rule) {
    const char *code = g->moves->code[rule];
    switch (g->rule[rule].type) {
    case RULE_IF:
    case RULE_WHILE: return strcmp(code, "( 0 )") == 0 || strcmp(code, "( false )") == 0;
    case RULE_FOR2: return strcmp(code, "0") == 0 || strcmp(code, "false") == 0;
    case RULE_INIT: return strcmp(code, g->rule[rule].zero) == 0 || is_zero(code);
    default: return false;
    }
}

bool gene_is_idle(const Grammar *g, const Gene *gene) {
    switch (gene->kind) {
    case GENE_SET: return idle_set(g, gene->config);
    case GENE_LINES: return false;
    case GENE_DELETE: return idle_delete(g, gene->target);
    case GENE_REPLACE: /* or does no more than the deletion */
        return same(g, gene->target, gene->source) ||
               idle_assignment(g, gene->target, gene->source);
    case GENE_INSERT: /* the second of two jumps is never reached */
        return idle_assignment(g, gene->target, gene->source) ||
               (g->info[gene->source].jump && same(g, gene->target, gene->source));
    }
    return false;
}
