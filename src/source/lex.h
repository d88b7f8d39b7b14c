/* lex.h - the words of CUDA C++ source: names, numbers, literals, punctuation, directives.
**
** Phases 2 and 3 of translation only: line splices and comments are passed over, macros are not
** expanded. A directive (`#…` with its continuation lines) is one token. Offsets are bytes of the
** source, so that the text between tokens is never lost. Private to src/source and src/grammar.
*/
#ifndef GILUA_SOURCE_LEX_H
#define GILUA_SOURCE_LEX_H

#include "base/base.h"
#include "source/source.h" /* TokenKind */

/* Strings by number: two names are equal when their numbers are. */
typedef struct Names {
    char **text;
    size_t *len;
    int n, cap, cap_len;
    int *slot; /* open addressing; index + 1, 0 when free */
    int n_slots;
} Names;

int names_add(Names *names, const char *text, size_t len); /* finds or adds */
int names_find(const Names *names, const char *text);      /* -1 when unknown */
void names_free(Names *names);

typedef struct Token {
    TokenKind kind;
    int start, end; /* bytes [start, end) of the source */
    int name;       /* TOK_NAME: its number, else -1 */
    int place;      /* conditions it stands under (see cond.h), 0 for none */
    int group;      /* innermost #if group it stands in, -1 for none */
    bool partial;   /* a branch that does not stand alone: nothing in it may change */
} Token;

typedef struct Tokens {
    Token *v;
    int n, cap;
} Tokens;

/* Reads the tokens of src[at, to) one after the other. Begin with .fresh where `at` begins a
** line. */
typedef struct Lexer {
    const char *src;
    int at, to;
    bool fresh;    /* only space stands before `at` on its line: a '#' begins a directive */
    bool tolerant; /* a comment or raw string without an end is bad up to `to`, no failure */
    gi_err *err;
    Token token; /* its own */
} Lexer;

/* The next token, TOK_END behind the last; its name is not numbered. False ("format", without file
** name: err's message begins with "line N") on a comment or raw string without an end. */
bool lex_next(Lexer *l, Token *out);

/* Appends the tokens of src[from, to) and a TOK_END, or fails as lex_next does. */
bool lex(const char *src, int from, int to, Names *names, Tokens *out, gi_err *err);

bool token_is(const char *src, const Token *t, const char *text);
bool token_in(const char *src, const Token *t, const char *const *words); /* NULL-ended */
/* Number of the line that holds byte `at`, from 1; starts are the n line starts. */
int line_of(const int *starts, int n, int at);

#endif
