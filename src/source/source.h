/* source.h - CUDA C++ text <-> tokens <-> a flat tree: the one reader of a text nobody prepared.
**
**   text --lex.c, tokens.c--> tokens, brackets matched --item.c--> functions, types, globals
**        --statement.c, declare.c, express.c--> statements, declarations, expressions
**
** Both branches of an #if are read; a token says in which branch it stands. Macros are not
** expanded. What is not understood is a node SRC_UNKNOWN, with the reason: nothing is dropped.
** Reading takes time and memory in proportion to the text, whatever its bytes are. Stands alone
** (base.h only). What gi.grammar needs beside this is in tree.h.
** Reference: ISO C++17 [expr], [stmt.stmt], [dcl.dcl]; CUDA C++ Programming Guide, B.
*/
#ifndef GILUA_SOURCE_H
#define GILUA_SOURCE_H

#include "base/base.h"

/* The words of any text, for whoever reads what nobody prepared: never an error, and time and
** memory in proportion to the text. Comments and line splices are passed over, macros are not
** expanded. */
typedef enum TokenKind {
    TOK_NAME,
    TOK_NUMBER,
    TOK_STRING,    /* also raw strings */
    TOK_CHAR,
    TOK_PUNCT,     /* the longest operator; `<<<` and `>>>` are CUDA's */
    TOK_DIRECTIVE, /* from '#' to before the newline, with its continuation lines */
    TOK_BAD,       /* a literal that its line does not end, or what has no end at all */
    TOK_END
} TokenKind;

typedef struct SourceToken {
    TokenKind kind;
    int start, end; /* bytes [start, end) of the text */
    int line;       /* from 1 */
    int match;      /* the bracket that closes or opens it: ( ) [ ] { }; -1 */
} SourceToken;

typedef struct SourceTokens {
    SourceToken *v; /* without a TOK_END */
    int n, cap;
} SourceTokens;

/* The tokens of text[from, to), whose byte `from` stands on `line`. A directive is one token only
** where `from` begins a line: what is within one is read by beginning behind its '#'. */
void source_tokens(const char *text, int from, int to, int line, SourceTokens *out);
void source_tokens_free(SourceTokens *t);

#endif
