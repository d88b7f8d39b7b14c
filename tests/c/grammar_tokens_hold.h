/* grammar_tokens_hold.h - what holds of the tokens of any text; for a test and a fuzzer. */
#ifndef GILUA_GRAMMAR_TOKENS_HOLD_H
#define GILUA_GRAMMAR_TOKENS_HOLD_H

#include "grammar/grammar.h"

#include <stdlib.h>
#include <string.h>

static const char *token_trouble(const char *text, int size, const SourceTokens *t, int i) {
    const SourceToken *v = &t->v[i];
    int before = i ? t->v[i - 1].end : 0;
    if (v->start < before || v->end <= v->start || v->end > size) return "out of order";
    for (int k = before; k < v->start; k++)
        if (text[k] == '"' && !memchr(text + before, '/', (size_t)(k - before)))
            return "a quote outside tokens and comments";
    if (v->kind < TOK_NAME || v->kind >= TOK_END) return "of no kind";
    if (v->match >= t->n || (v->match >= 0 && t->v[v->match].match != i))
        return "whose partner has another";
    return NULL;
}

/* Lines and nesting, which need what stands before. */
static const char *order_trouble(const char *text, const SourceTokens *t) {
    int line = 1, at = 0, depth = 0;
    int *open = malloc(((size_t)t->n + 1) * sizeof *open);
    const char *trouble = NULL;
    for (int i = 0; i < t->n && !trouble; i++) {
        for (; at < t->v[i].start; at++) line += text[at] == '\n';
        if (t->v[i].line != line) trouble = "on another line";
        if (t->v[i].match > i) open[depth++] = i;
        else if (t->v[i].match >= 0 && (depth == 0 || open[--depth] != t->v[i].match))
            trouble = "across other brackets";
    }
    free(open);
    return trouble ? trouble : depth ? "never closed" : NULL;
}

/* NULL, or what is wrong with a token of the text. */
__attribute__((unused)) static const char *tokens_trouble(const char *text, int size) {
    SourceTokens t;
    source_tokens(text, 0, size, 1, &t);
    const char *trouble = order_trouble(text, &t);
    for (int i = 0; i < t.n && !trouble; i++) {
        trouble = token_trouble(text, size, &t, i);
        if (trouble || t.v[i].kind != TOK_DIRECTIVE) continue;
        SourceTokens inner; /* a directive's own: on lines of the whole text */
        source_tokens(text, t.v[i].start + 1, t.v[i].end, t.v[i].line, &inner);
        if (inner.n && (inner.v[0].start <= t.v[i].start || inner.v[inner.n - 1].end > t.v[i].end))
            trouble = "a directive whose words are not within it";
        source_tokens_free(&inner);
    }
    source_tokens_free(&t);
    return trouble;
}

#endif
