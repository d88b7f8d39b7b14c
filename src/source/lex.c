/* lex.c - see lex.h. One function per kind of token; each takes a position and returns the position
** after the token. Nothing is copied but the spelling of names. Digraphs and trigraphs are not
** known. Reference: ISO C++17 [lex]. */
#include "source/lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static int *name_slot(const Names *names, const char *text, size_t len) {
    uint64_t at = gi_hash(text, len, 0);
    for (;; at++) {
        int *slot = &names->slot[at & (uint64_t)(names->n_slots - 1)];
        if (*slot == 0) return slot;
        if (names->len[*slot - 1] != len) continue; /* not strlen: a NUL is a token too */
        if (memcmp(names->text[*slot - 1], text, len) == 0) return slot;
    }
}

static void names_grow(Names *names) {
    free(names->slot);
    names->n_slots = names->n_slots ? names->n_slots * 2 : 256;
    names->slot = gi_alloc((size_t)names->n_slots * sizeof *names->slot);
    for (int i = 0; i < names->n; i++)
        *name_slot(names, names->text[i], names->len[i]) = i + 1;
}

int names_add(Names *names, const char *text, size_t len) {
    if (names->n * 2 >= names->n_slots) names_grow(names);
    int *slot = name_slot(names, text, len);
    if (*slot == 0) {
        gi_grow(names->text, names->n, names->cap);
        gi_grow(names->len, names->n, names->cap_len);
        names->len[names->n] = len;
        names->text[names->n++] = gi_strndup(text, len);
        *slot = names->n;
    }
    return *slot - 1;
}

int names_find(const Names *names, const char *text) {
    return names->n ? *name_slot(names, text, strlen(text)) - 1 : -1;
}

void names_free(Names *names) {
    for (int i = 0; i < names->n; i++) free(names->text[i]);
    free(names->text);
    free(names->len);
    free(names->slot);
    *names = (Names){0};
}

/* ---- tokens ---- */

static int at_char(const Lexer *l, int i) {
    return i < l->to ? (unsigned char)l->src[i] : -1;
}

static bool name_char(int c) {
    return c >= 0 && (isalnum(c) || c == '_' || c == '$' || c >= 0x80);
}

/* Length of a backslash-newline at i, 0 when there is none. */
static int splice(const Lexer *l, int i) {
    if (at_char(l, i) != '\\') return 0;
    if (at_char(l, i + 1) == '\n') return 2;
    return at_char(l, i + 1) == '\r' && at_char(l, i + 2) == '\n' ? 3 : 0;
}

static int source_line(const Lexer *l, int at) {
    int line = 1;
    for (int i = 0; i < at; i++) line += l->src[i] == '\n';
    return line;
}

/* Notes the token [start, end); returns the position after it, or what a failure gave. */
static int found(Lexer *l, TokenKind kind, int start, int end) {
    if (end >= 0)
        l->token = (Token){.kind = kind, .start = start, .end = end, .name = -1, .group = -1};
    return end;
}

/* What begins at `start` and has no end. */
static int endless(Lexer *l, int start, const char *what) {
    if (l->tolerant) return found(l, TOK_BAD, start, l->to);
    gi_fail(l->err, "format", "line %d: a %s that begins here has no end", source_line(l, start),
            what);
    return -1;
}

static int line_comment(const Lexer *l, int i) {
    while (i < l->to && l->src[i] != '\n') {
        int skip = splice(l, i);
        i += skip ? skip : 1;
    }
    return i;
}

static int block_comment(Lexer *l, int i) {
    for (int end = i + 2; end + 1 < l->to; end++)
        if (l->src[end] == '*' && l->src[end + 1] == '/') return end + 2;
    return endless(l, i, "comment");
}

/* A string or character literal whose opening quote is at i; *closed tells whether it ends. */
static int quoted(const Lexer *l, int i, bool *closed) {
    char quote = l->src[i++];
    while (i < l->to && l->src[i] != quote) {
        int skip = splice(l, i);
        if (l->src[i] == '\n') break;
        i += skip ? skip : l->src[i] == '\\' ? 2 : 1;
    }
    *closed = i < l->to && l->src[i] == quote;
    return *closed ? i + 1 : i < l->to ? i : l->to;
}

/* R"tag( … )tag" from start, its prefix, with the quote at i. */
static int raw_string(Lexer *l, int start, int i) {
    int open = i + 1;
    while (open < l->to && l->src[open] != '(' && open - i <= 17) open++;
    int tag = open - i - 1;
    for (int end = open + 1; end + tag + 1 < l->to; end++)
        if (l->src[end] == ')' && l->src[end + tag + 1] == '"' &&
            memcmp(l->src + end + 1, l->src + i + 1, (size_t)tag) == 0)
            return found(l, TOK_STRING, start, end + tag + 2);
    return endless(l, start, "raw string");
}

static int directive(Lexer *l, int i) {
    while (i < l->to && l->src[i] != '\n') {
        bool closed;
        int skip = splice(l, i);
        if (skip) i += skip;
        else if (at_char(l, i) == '/' && at_char(l, i + 1) == '/') return i;
        else if (at_char(l, i) == '/' && at_char(l, i + 1) == '*') {
            i = block_comment(l, i);
            if (i < 0) return -1;
        } else if (l->src[i] == '"') i = quoted(l, i, &closed);
        else i++;
    }
    return i > 0 && l->src[i - 1] == '\r' ? i - 1 : i;
}

static int name_end(const Lexer *l, int i) {
    for (;;) {
        int skip = splice(l, i);
        if (skip && name_char(at_char(l, i + skip))) i += skip;
        else if (name_char(at_char(l, i))) i++;
        else return i;
    }
}

static int number_end(const Lexer *l, int i) {
    bool hex = at_char(l, i) == '0' && tolower(at_char(l, i + 1)) == 'x'; /* 0xe+1 is a sum */
    for (i++;; i++) {
        int c = at_char(l, i), before = tolower((unsigned char)l->src[i - 1]);
        if (name_char(c) || c == '.') continue;
        if ((c == '+' || c == '-') && (before == 'p' || (before == 'e' && !hex))) continue;
        if (c == '\'' && name_char(at_char(l, i + 1))) continue;
        return i;
    }
}

static int punct_end(const Lexer *l, int i) {
    static const char *const long_ones[] = {
        "<<<", ">>>", "<<=", ">>=", "...", "->*", "::", "->", "++", "--", "<<", ">>", "<=", ">=",
        "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", ".*", "##",
    };
    if (strchr("<>.:-+=!&|*/%^#", l->src[i]) == NULL) return i + 1; /* begins none of them */
    for (size_t k = 0; k < sizeof long_ones / sizeof *long_ones; k++) {
        int n = (int)strlen(long_ones[k]);
        if (i + n <= l->to && memcmp(l->src + i, long_ones[k], (size_t)n) == 0) return i + n;
    }
    return i + 1;
}

static bool is_prefix(const char *text, int n, bool raw) {
    static const char *const prefixes[] = {"L", "u", "U", "u8", ""};
    if (raw && (n == 0 || text[n - 1] != 'R')) return false;
    int len = raw ? n - 1 : n;
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
        if ((int)strlen(prefixes[k]) == len && memcmp(prefixes[k], text, (size_t)len) == 0)
            return raw || len > 0;
    return false;
}

static int literal(Lexer *l, int start, int quote) {
    bool closed;
    int end = quoted(l, quote, &closed);
    TokenKind kind = l->src[quote] == '"' ? TOK_STRING : TOK_CHAR;
    return found(l, closed ? kind : TOK_BAD, start, end);
}

/* A name, or the literal that it is the prefix of. */
static int word(Lexer *l, int i) {
    int end = name_end(l, i), c = at_char(l, end);
    if (c == '"' && is_prefix(l->src + i, end - i, true)) return raw_string(l, i, end);
    if ((c == '"' || c == '\'') && is_prefix(l->src + i, end - i, false))
        return literal(l, i, end);
    return found(l, TOK_NAME, i, end);
}

static bool starts_number(const Lexer *l, int i) {
    int c = at_char(l, i), next = at_char(l, i + 1);
    return isdigit(c) || (c == '.' && next >= 0 && isdigit(next));
}

/* One token or stretch of space from i; -1 on failure. */
static int step(Lexer *l, int i) {
    int c = at_char(l, i), next = at_char(l, i + 1);
    if (c == '\n') return l->fresh = true, i + 1;
    if (isspace(c)) return i + 1;
    if (splice(l, i)) return i + splice(l, i);
    if (c == '/' && next == '/') return line_comment(l, i);
    if (c == '/' && next == '*') return block_comment(l, i);
    bool first = l->fresh;
    l->fresh = false;
    if (c == '#' && first) return found(l, TOK_DIRECTIVE, i, directive(l, i));
    if (c == '"' || c == '\'') return literal(l, i, i);
    if (starts_number(l, i)) return found(l, TOK_NUMBER, i, number_end(l, i));
    if (name_char(c)) return word(l, i);
    return found(l, TOK_PUNCT, i, punct_end(l, i));
}

static const volatile int *stop_when;

void source_stop_when(const volatile int *raised) {
    stop_when = raised;
}

bool source_stopped(gi_err *err) {
    return stop_when && *stop_when && !gi_fail(err, "interrupted", "interrupted");
}

bool lex_next(Lexer *l, Token *out) {
    if (source_stopped(l->err)) return false;
    found(l, TOK_END, l->to, l->to);
    while (l->at < l->to && l->token.kind == TOK_END) {
        int after = step(l, l->at);
        if (after < 0) return false;
        l->at = after;
    }
    *out = l->token;
    return true;
}

static int name_number(const Lexer *l, Names *names, const Token *t) {
    gi_buf clean = {0}; /* without splices */
    for (int i = t->start; i < t->end;) {
        int skip = splice(l, i);
        if (skip == 0) gi_buf_add(&clean, l->src + i, 1);
        i += skip ? skip : 1;
    }
    int number = names_add(names, clean.data, clean.len);
    gi_buf_free(&clean);
    return number;
}

bool lex(const char *src, int from, int to, Names *names, Tokens *out, gi_err *err) {
    Lexer l = {.src = src, .at = from, .to = to, .err = err};
    l.fresh = from == 0 || src[from - 1] == '\n';
    do {
        gi_grow(out->v, out->n, out->cap);
        Token *t = &out->v[out->n];
        if (!lex_next(&l, t)) return false;
        if (t->kind == TOK_NAME) t->name = name_number(&l, names, t);
        out->n++;
    } while (out->v[out->n - 1].kind != TOK_END);
    return true;
}

bool token_is(const char *src, const Token *t, const char *text) {
    size_t n = strlen(text);
    return (t->kind == TOK_NAME || t->kind == TOK_PUNCT) && (size_t)(t->end - t->start) == n &&
           memcmp(src + t->start, text, n) == 0;
}

bool token_in(const char *src, const Token *t, const char *const *words) {
    for (; *words; words++)
        if (token_is(src, t, *words)) return true;
    return false;
}

int line_of(const int *starts, int n, int at) {
    int low = 0, high = n;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (starts[middle] <= at) low = middle;
        else high = middle;
    }
    return low + 1;
}
