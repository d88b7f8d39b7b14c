/* reader.h - what the files share that read a text into a Source. Private to src/source.
**
** Every read_… begins at `at`, and leaves it behind what it read. Where something is not
** understood, `why` is set: the expression has no node, the statement is SRC_UNKNOWN. Nodes of what
** failed are dropped with unread(). A child is made before its parent, and adopted by it.
*/
#ifndef GILUA_SOURCE_READER_H
#define GILUA_SOURCE_READER_H

#include "source/source.h"

enum {
    DEPTH_EXPRESSION = 120, /* of nesting; a person writes 10 */
    DEPTH_STATEMENT = 60,
    DEPTH_ITEM = 60,
    ANGLES_NEAR = 30, /* words of template arguments in an expression, */
    ANGLES_FAR = 60   /* and in a declaration */
};

/* What a word is, whatever stands around it. */
typedef enum WordClass {
    WORD_TYPE = 1 << 0,      /* a built-in type or CUDA's */
    WORD_OF_FILE = 1 << 1,   /* declared in the text as a type */
    WORD_STORAGE = 1 << 2,   /* static, const, __shared__ */
    WORD_QUALIFIER = 1 << 3, /* part of a type that is no name: const, struct */
    WORD_COMBINED = 1 << 4,  /* unsigned, long: behind other words of a type */
    WORD_ATTRIBUTE = 1 << 5, /* has arguments: alignas, __attribute__ */
    WORD_TYPE_OF = 1 << 6,   /* decltype, typeof */
    WORD_NO_VALUE = 1 << 7,  /* begins no expression */
    WORD_TAG = 1 << 8,       /* struct, class, union, enum */
    WORD_CAST = 1 << 9,      /* static_cast, … */
    WORD_NO_NAME = 1 << 10   /* no name of a function before a '(' */
} WordClass;

typedef struct Reader {
    Source *s;
    int at;          /* the next token */
    int stop;        /* the last that may be read */
    int depth;       /* of expressions */
    int deep;        /* of statements and items */
    int end_from, end_at; /* item.c: the item that goes on within ends there; end_at -1: unknown */
    bool in_unknown; /* what it reads is within a statement that is not understood */
    const char *why; /* the first that is not understood; NULL: nothing */
    int why_at;
} Reader;

/* source.c */
bool is(const Reader *r, int i, const char *word);
bool is_class(const Reader *r, int i, unsigned classes);
bool is_kind(const Reader *r, int i, TokenKind kind);
int match_of(const Reader *r, int i); /* -1: no partner */
int past(const Reader *r, int i);     /* behind its partner, or behind the last that may be read */
bool is_one_of(const Reader *r, int i, const char *const *words); /* a list that NULL ends */
int fail(Reader *r, const char *why); /* -1 */
void not_known(Reader *r, int node, const char *why, int at); /* the first reason stays */
int node_new(Reader *r, SourceKind kind, int first, int last);
void adopt(Reader *r, int parent, int child, SourceRole role); /* nothing where child is -1 */
void unread(Reader *r, int n_node, int n_decl);
void word_add(Source *s, int token, unsigned classes);

/* express.c: the node, or -1. */
int read_expression(Reader *r, int from, int to, bool braces); /* all of [from, to] */
/* The same, but what is not understood is no failure: *why and *why_at then say so, or say what of
** the tree no rewriting knows. */
int try_expression(const Reader *r, int from, int to, bool braces, const char **why, int *why_at);
/* The '>' that closes the template arguments at '<'; -1: they may be a comparison. */
int closing_angle(const Reader *r, int open);

/* declare.c */
/* Behind the type that begins at i; -1: none does. *certain: it can be nothing else. */
int past_type(const Reader *r, int i, bool *certain);
int past_attributes(const Reader *r, int i);
bool is_declaration(const Reader *r, int i);
/* The names that [from, stop) declare, adopted by the statement; false: not understood. */
bool read_declared(Reader *r, int from, int stop, int statement);
/* The names that an enum declares between its braces, adopted by its node. */
void read_enumerators(Reader *r, int node);
/* A parameter in [from, to]; false: it is not understood. */
bool read_parameter(Reader *r, int from, int to, int function, SourceRole role);
/* The ',' behind the parameter at i, or `close`. */
int parameter_end(const Reader *r, int i, int close);
bool read_parameters(Reader *r, int open, int close, int function, SourceRole role);

/* A typedef, a using or the like from first to the ';': its word is at `word`. */
int read_alias(Reader *r, int first, int word, int end);

/* statement.c: the block at '{'; -1 and why where its statements cannot be told apart. */
int read_block(Reader *r, int open);
/* Adopts what is understood within the words of a statement or an item that is not. */
void read_pieces(Reader *r, int node, int first, int last);
/* Statements between [from, close), adopted by a node. */
void read_statements(Reader *r, int node, int from, int close);
int read_one_statement(Reader *r, int i, int stop);
/* The ';' that ends what begins at i; -1: none does up to `stop`. */
int semicolon(const Reader *r, int i, int stop);
/* The two ';' of a `for` header between its parentheses; false, and -1 each: it has not two. */
bool for_parts(const Reader *r, int open, int close, int *one, int *two);
/* The ':' of a loop over a range, or `close`. */
int range_colon(const Reader *r, int open, int close);
/* Behind `case x:`, `default:` or `name:` at i; i: there is none. */
int past_label(const Reader *r, int i, int stop);

/* item.c */
/* Behind all `template <…>` and `extern "C"` of an item. */
int past_heads(const Reader *r, int i, int to);
/* The '>' of `template <…>` at its '<'; -1. */
int template_end(const Reader *r, int open, int to);
/* The '(' of the parameters of what stands from first to the brace; -1: it is no function. */
int params_of(const Reader *r, int first, int brace);
/* The name before the '(' of a function's parameters; -1 where there is none. That of an explicit
** specialisation, `template <> … f<3>(…)`, stands before its arguments. */
int name_of(const Reader *r, int first, int params);
/* The '{' of a body behind its parameters: the initialisers of a constructor have braces too. One
** that is followed by something else than another or the body is none. */
int body_of(const Reader *r, int close, int brace, int to);
/* The struct, class, union or enum of an item that defines one; -1. */
int tag_of(const Reader *r, int first, int brace);

void read_file(Reader *r);
void read_directive(Reader *r); /* its text is that of a directive behind its '#' */
void read_local_type(Reader *r, int first, int stop, int parent);

#endif
