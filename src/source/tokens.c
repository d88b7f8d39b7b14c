/* tokens.c - the tokens of a text with their lines and brackets matched (source.h).
**
** Brackets: one that closes takes the innermost open one of its kind; what was opened in between
** stays without a partner. Each is looked at twice at most, whatever the text is.
*/
#include "source/lex.h"

#include <stdlib.h>
#include <string.h>

/* The brackets that are open, innermost last: while one is open its `match` is the one around
** it. */
typedef struct Open {
    int innermost;
    int n[3]; /* of each kind */
} Open;

static const char opening[] = "([{", closing[] = ")]}";

static int bracket_kind(const char *brackets, char c) {
    const char *at = strchr(brackets, c);
    return at && c ? (int)(at - brackets) : -1;
}

static int pop(SourceTokens *t, const char *text, Open *open) {
    int i = open->innermost;
    open->innermost = t->v[i].match;
    open->n[bracket_kind(opening, text[t->v[i].start])]--;
    t->v[i].match = -1;
    return i;
}

static void match_bracket(SourceTokens *t, int i, const char *text, Open *open) {
    char c = text[t->v[i].start];
    int opens = bracket_kind(opening, c), closes = bracket_kind(closing, c);
    if (opens >= 0) {
        t->v[i].match = open->innermost;
        open->innermost = i;
        open->n[opens]++;
    } else if (closes >= 0 && open->n[closes] > 0) {
        int partner = pop(t, text, open);
        while (text[t->v[partner].start] != opening[closes]) partner = pop(t, text, open);
        t->v[partner].match = i;
        t->v[i].match = partner;
    }
}

int source_match_brackets(const char *text, SourceTokens *t) {
    Open open = {.innermost = -1};
    for (int i = 0; i < t->n; i++)
        if (t->v[i].kind == TOK_PUNCT) match_bracket(t, i, text, &open);
    while (open.innermost >= 0) pop(t, text, &open);
    for (int i = 0; i < t->n; i++) {
        char c = text[t->v[i].start];
        bool bracket = bracket_kind(opening, c) >= 0 || bracket_kind(closing, c) >= 0;
        if (t->v[i].kind == TOK_PUNCT && bracket && t->v[i].match < 0) return i;
    }
    return -1;
}

void source_tokens(const char *text, int from, int to, int line, SourceTokens *out) {
    Lexer l = {.src = text, .at = from, .to = to, .tolerant = true};
    Token token;
    *out = (SourceTokens){0};
    l.fresh = from == 0 || text[from - 1] == '\n';
    for (int at = from; lex_next(&l, &token) && token.kind != TOK_END;) {
        for (; at < token.start; at++) line += text[at] == '\n';
        gi_grow(out->v, out->n, out->cap);
        out->v[out->n++] = (SourceToken){token.kind, token.start, token.end, line, -1};
    }
    source_match_brackets(text, out);
}

void source_tokens_free(SourceTokens *t) {
    free(t->v);
    *t = (SourceTokens){0};
}
