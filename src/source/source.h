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

/* Splits any text into tokens. It never fails, and takes time and memory in proportion to the text.
** It skips comments and line splices, and does not expand macros. */
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

/* Reading stops as soon as *raised is not 0: grammar_parse fails ("interrupted"), source_tokens
** gives the tokens before, and what source_read gives is of no use. */
void source_stop_when(const volatile int *raised);
bool source_stopped(gi_err *err); /* true: *raised is not 0, and err says so; err may be NULL */

/* The tokens of text[from, to), whose byte `from` stands on `line`. A directive is one token only
** where `from` begins a line: what is within one is read by beginning behind its '#'. */
void source_tokens(const char *text, int from, int to, int line, SourceTokens *out);
/* Pairs the brackets; all `match` are -1 before. The first without a partner, or -1. */
int source_match_brackets(const char *text, SourceTokens *t);
void source_tokens_free(SourceTokens *t);

/* ---- the tree ---- */

typedef enum SourceKind {
    /* expressions */
    SRC_NAME,    /* x, std::min, f<3>: `token` is the last word, words [open, close] of its '<' */
    SRC_NUMBER,  /* a literal; sizeof and alignof of anything */
    SRC_CALL,    /* CALLEE, ITEMs; makes: T(x) and T{x} of a type T */
    SRC_INDEX,   /* A, INDEX */
    SRC_MEMBER,  /* A; `token` is the name */
    SRC_UNARY,   /* A; `token` is the operator of these five */
    SRC_POSTFIX, /* A */
    SRC_BINARY,  /* A, B; the comma too */
    SRC_ASSIGN,  /* A, B */
    SRC_CHOICE,  /* CONDITION, A, B */
    SRC_CAST,    /* A; the words [open, close] are the type */
    SRC_LIST,    /* ITEMs between braces */
    SRC_LAUNCH,  /* CALLEE, GRIDs between <<< and >>>, ITEMs */
    SRC_LAMBDA,  /* PARAMs, BODY */
    /* statements */
    SRC_BLOCK,       /* ITEMs */
    SRC_FOR,         /* INIT, CONDITION, STEP, BODY; semi1 is -1 where it goes over a range */
    SRC_WHILE,       /* INIT, CONDITION, BODY */
    SRC_DO,          /* BODY, CONDITION */
    SRC_IF,          /* INIT, CONDITION, BODY, OTHERWISE */
    SRC_SWITCH,      /* INIT, CONDITION, BODY */
    SRC_DECLARATION, /* DECLAREDs */
    SRC_EXPRESSION,  /* TREE */
    SRC_RETURN,      /* TREE */
    SRC_BREAK,
    SRC_CONTINUE,
    SRC_GOTO,
    SRC_LABEL,
    SRC_CASE, /* TREE where it is understood */
    SRC_TYPE,      /* typedef, using, namespace a = b, static_assert: `token` is another name of the
                      words [open, close] */
    SRC_EMPTY,
    SRC_DIRECTIVE,
    SRC_UNKNOWN,   /* nothing is known of it; `why`. Pieces that are understood are below, without
                      a role */
    /* names, and what holds them */
    SRC_DECLARED,  /* EXTENTs, INIT, a function's PARAMs; see SourceDecl */
    SRC_FUNCTION,  /* TPARAMs, PARAMs, BODY; `token` is its name */
    SRC_NAMESPACE, /* ITEMs; extern "C" { … } too */
    SRC_CLASS,     /* ITEMs between [open, close]; an enum: DECLAREDs; `token` is its name or its
                      keyword */
    SRC_FILE,      /* ITEMs */
    SRC_KINDS
} SourceKind;

/* What a node is of its parent. */
typedef enum SourceRole {
    ROLE_NONE, ROLE_CALLEE, ROLE_A, ROLE_B, ROLE_CONDITION, ROLE_INDEX, ROLE_ITEM, ROLE_GRID,
    ROLE_INIT, ROLE_STEP, ROLE_BODY, ROLE_OTHERWISE, ROLE_TREE, ROLE_DECLARED, ROLE_EXTENT,
    ROLE_PARAM, ROLE_TPARAM
} SourceRole;

/* Tokens are numbered from 0; a node's are [first, last]. Children come in the order of the text
** but for a do's condition, which is behind its body. */
typedef struct SourceNode {
    SourceKind kind;
    SourceRole role;
    int first, last;  /* with the parentheses around an expression */
    int own;          /* the first without these */
    int token;        /* a name or an operator, see SourceKind; -1 */
    int open, close;  /* template arguments, a type, the parentheses of a header; -1 */
    int semi1, semi2; /* the ';' of a for's header; an if: semi1 is its `else`; a function: semi1
                         is the '{' of its body; a class: semi1 is its `struct`; a
                         whole expression: the numbers of its nodes are [semi1, semi2); -1 */
    int parent, child, tail, next; /* -1: none */
    int decl;         /* SRC_DECLARED: its number; -1 */
    bool makes;
    const char *why;  /* what of it, or below it in no node, is not understood; NULL: nothing */
    int why_at;       /* the token at which that was found */
} SourceNode;

/* A name that is declared. Counts are of what its declarator has. */
typedef struct SourceDecl {
    int node;
    int name;             /* its token; -1: a parameter without one */
    int type, type_last;  /* the words before its declarator: specifiers, attributes and type */
    int pointer;          /* stars; a pointer to an array or a function is one */
    int scope, scope_last; /* tokens between which the name means it */
    int init_at;          /* '=', '(' or '{' of what it begins with; -1 */
    bool parameter;
    bool reference, rows, bound; /* rows: (*z)[4]; bound: auto [x, y] */
    bool function;               /* f(int), (*f)(int) */
    bool is_const, target_const, is_static, is_extern, is_volatile, shared, constant, restricted;
} SourceDecl;

/* The branches of #if groups: 0 is outside of all. */
typedef struct SourceBranch {
    int directive; /* the token of its #if, #elif or #else; -1 */
    int group;     /* the number of its #if, from 1 */
    int around;    /* the branch in which that stands */
} SourceBranch;

typedef struct Source {
    const char *text; /* borrowed */
    SourceTokens tokens;
    int *word;   /* by token: the number of its word; the same word has the same number */
    int *branch; /* by token: in which branch of an #if it stands */
    SourceNode *node; /* node[0] is SRC_FILE */
    int n_node, cap_node;
    SourceDecl *decl;
    int n_decl, cap_decl;
    SourceBranch *branches;
    int n_branches, cap_branches;
    struct SourceWords *words;
} Source;

/* Reads a text, which must outlive it. */
void source_read(const char *text, int len, Source *out);
/* Takes over tokens that were chosen of a text, for those who read declarations among them: it has
** no nodes. */
void source_of_tokens(const char *text, SourceTokens tokens, Source *out);
/* Reads the words of a directive behind its '#': a macro's body as statements. The text of `s` must
** outlive it. */
void source_read_directive(const Source *s, int token, Source *out);
void source_free(Source *s);

/* The word of a token, without what parts it in two lines. */
const char *source_word(const Source *s, int token);
bool source_is(const Source *s, int token, const char *word);
/* The i-th word that is a type without a declaration; NULL behind the last. */
const char *source_type_word(const Source *s, int i);
/* Does the text declare the token's word as a type? */
bool source_declares_type(const Source *s, int token);
/* Is it a word that says how a name is kept, and no part of its type: static, __shared__, const? */
bool source_is_storage(const Source *s, int token);
/* Behind an attribute with its arguments: `alignas(16)`, `[[maybe_unused]]`; i where none is. */
int source_past_attribute(const Source *s, int i);
/* Does a node stand in the header of an if, a loop or a switch? */
bool source_in_header(const Source *s, int node);
/* The first child of a role; -1. */
int source_child(const Source *s, int node, SourceRole role);
/* Reads the whole text as one expression: its node, or -1. */
int source_read_expression(Source *s);
/* "call", "for", …, as Lua has it. */
const char *source_kind_name(SourceKind kind);

/* ---- places by patterns of the language itself ---- */

enum { SOURCE_PARTS = 16 };

/* `$kernel<<<$grid, $block>>>($$args)`: see find.c. Its text must outlive it. */
typedef struct SourcePattern {
    Source source;
    int root;
} SourcePattern;

typedef struct SourceMatch {
    int node;
    struct {
        const char *name; /* "$grid", as long as the pattern lives */
        int node;         /* of `$$args` the first; -1: none */
        int first, last;  /* tokens of the text; last < first: none */
    } part[SOURCE_PARTS];
    int n;
} SourceMatch;

/* False ("usage") where the pattern is neither an expression nor a statement. Freed by freeing its
** source. */
bool source_pattern(const char *text, int len, SourcePattern *out, gi_err *err);
/* Is the node what the pattern says? A pattern has at most SOURCE_PARTS names. */
bool source_match(const SourcePattern *p, const Source *s, int node, SourceMatch *out);

#endif
