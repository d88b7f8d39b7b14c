/* idle.c - genes that leave the code as it is, word for word: not drawn where options.skip_idle
** says so. They stay legal: a person may write one.
*/
#include "grammar/inside.h"

#include <string.h>

/* The words of a text with one blank between: layout and comments are no code. */
char *code_text(const char *text) {
    SourceTokens t = {0};
    gi_buf out = {0};
    grammar_tokens(text, 0, (int)strlen(text), 1, &t);
    gi_buf_adds(&out, "");
    for (int i = 0; i < t.n; i++) {
        if (i) gi_buf_adds(&out, " ");
        gi_buf_add(&out, text + t.v[i].start, (size_t)(t.v[i].end - t.v[i].start));
    }
    source_tokens_free(&t);
    return out.data;
}

static bool same(const Grammar *g, int a, int b) {
    return strcmp(g->moves->code[a], g->moves->code[b]) == 0;
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
    default: return false;
    }
}

bool gene_is_idle(const Grammar *g, const Gene *gene) {
    switch (gene->kind) {
    case GENE_SET: return idle_set(g, gene->config);
    case GENE_DELETE: return idle_delete(g, gene->target);
    case GENE_REPLACE: return same(g, gene->target, gene->source);
    case GENE_INSERT: /* the second of two jumps is never reached */
        return g->info[gene->source].jump && same(g, gene->target, gene->source);
    }
    return false;
}
