/* tree.h - what grammar_parse finds in a source: code tokens, directives, blocks, declarations.
**
**   text --lex.c--> tokens --cond.c--> code tokens, each at its place under #if … ; macros
**        --block.c--> nodes (functions, blocks, loops, statements) --decl.c--> declarations
**        --scope.c--> what a name means at a token
**
** Both branches of an #if are code; a Place says which conditions hold there. A group whose
** branches do not stand alone (an unbalanced brace) is read by one branch, and nothing in it may
** change. Everything is an array and refers by index. Private to src/source and src/grammar.
*/
#ifndef GILUA_SOURCE_TREE_H
#define GILUA_SOURCE_TREE_H

#include "source/lex.h"

/* A conjunction of conditions: literal 2*c says that condition c holds, 2*c+1 that it does not. */
typedef struct Place {
    int *literal;
    int n;
    int group, base; /* the #if it is a branch of, and the place of that; -1 for place 0 */
    int older;       /* the place before of that group, -1 */
} Place;

typedef enum DirectiveKind {
    DIR_CONDITION, /* #if … #endif */
    DIR_PRAGMA,
    DIR_DEFINE,
    DIR_UNDEF,
    DIR_OTHER
} DirectiveKind;

typedef struct Directive {
    DirectiveKind kind;
    int start, end; /* bytes */
    int before;     /* the code token that follows */
    int name;       /* of #define and #undef, else -1 */
    bool partial;
} Directive;

/* What `M;` or `M(x);` is. In this order the least of several definitions counts. */
typedef enum MacroForm {
    MACRO_NONE,      /* no macro */
    MACRO_PIECE,     /* not a statement, or one that cannot be taken from its place */
    MACRO_STATEMENT, /* one or more, with the ';' behind it */
    MACRO_ENDED      /* that needs no ';' of its own */
} MacroForm;

typedef struct Macro {
    int name, place;
    int before;        /* the code token that follows its directive */
    bool undef;        /* an #undef: ends earlier ones of that name */
    int *param, n_params;
    Tokens body;       /* without TOK_END; offsets of the source */
    bool is_statement; /* holds ';', a brace or a statement's keyword */
    bool assigns;      /* holds an assignment, ++, -- or & */
    MacroForm form;    /* of all of its name, once the last of them has it: see macro.c */
    bool has_form;
} Macro;

typedef enum NodeKind {
    NODE_FILE,
    NODE_NAMESPACE, /* also extern "C" { … } */
    NODE_CLASS,
    NODE_FUNCTION,
    NODE_BLOCK,
    NODE_IF,
    NODE_WHILE,
    NODE_DO,
    NODE_FOR,
    NODE_SWITCH,
    NODE_UNKNOWN, /* MACRO(args) { … } */
    NODE_STATEMENT,
    NODE_DECLARATION
} NodeKind;

/* Nodes are in preorder: the subtree of node i is i … end-1, and so "inside" is a comparison. */
typedef struct Node {
    NodeKind kind;
    int parent, end;
    int first, last;    /* tokens [first, last) */
    int head, head_end; /* condition or loop header with its parentheses; parameter list */
    int semi1, semi2;   /* for: the tokens ';' of the header; -1 in a range for */
    int else_at;        /* if: the token 'else', -1 */
    int function;       /* the function it is in (a node), -1 */
    int name;           /* function, class, namespace: its name, -1 */
    bool braceless;     /* the body of an if, else or loop, not in braces */
    bool constant;      /* if constexpr: its condition's value is known when it is compiled */
    const char *fixed;  /* why it is no rule; NULL when it may be one */
} Node;

typedef enum DeclKind { DECL_VARIABLE, DECL_PARAMETER, DECL_FUNCTION, DECL_TYPE, DECL_NAMESPACE }
DeclKind;

typedef struct Decl {
    DeclKind kind;
    int name, scope; /* scope: a node */
    int at;          /* its token; visible behind it */
    int place;
    bool shared, array, pointer, reference, is_const;
    bool fixed;      /* it may not be assigned: const, or a pointer that is */
    bool plain;      /* of a built-in arithmetic type */
    int dims, stars; /* how many [ ] and * */
    bool set;        /* has an initialiser */
    int value, value_end; /* its tokens, where it stands behind a '='; else equal */
    int type_end;    /* behind its specifiers, which begin at `first` */
    int first, last; /* tokens of the declaration, or of the parameter */
} Decl;

typedef struct Tree {
    const char *src;
    int len;
    int *line_start, n_lines, cap_lines;
    Names names;
    Token *tok;      /* code tokens; the last is TOK_END */
    int n_tok, cap_tok;
    int *match;      /* of a bracket token: its partner, else -1 */
    Source *source;  /* the same tokens, as decl.c asks the reader of declarations about them */
    Place *place;    /* place[0] is empty */
    int n_place, cap_place;
    Directive *dir;
    int n_dir, cap_dir;
    Macro *macro;
    int n_macro, cap_macro;
    int *group_parent; /* of each #if group */
    int *group_place;  /* its newest place, -1 */
    bool *group_fixed; /* nothing in it may change */
    bool *group_else;  /* one of its branches is compiled, whatever holds */
    int n_group, cap_group, cap_places, cap_fixed, cap_else;
    Node *node;
    int n_node, cap_node;
    Decl *decl;
    int n_decl, cap_decl;
    int *last_decl, *older_decl;   /* chains of one name, newest first: see scope.c */
    int cap_older;
    int *newest, *older_here;      /* the same of one name in one scope; see newest_here() */
    int n_newest;                  /* a power of two */
    int *first_here, *next_here;   /* by node, by declaration: chains of one scope; -1 ends them */
    bool *by_reference;            /* by name: a function that may change an argument */
    bool *constructed;             /* by name: a class that names a constructor */
    int *last_macro, *older_macro;
} Tree;

/* cond.c: fills tok, place, dir, macro, group_*. Messages begin with "line N". */
bool tree_preprocess(Tree *t, gi_err *err);
/* Does every condition of place a hold at place b? Can the two hold together? */
bool place_implied(const Tree *t, int a, int b);
bool place_compatible(const Tree *t, int a, int b);
/* Is at least one of the n places sure to hold at place b? */
bool places_cover(const Tree *t, const int *places, int n, int b);
/* Is there a directive between bytes a and b? */
bool tree_directive_between(const Tree *t, int a, int b);
/* Group g or one around it is fixed. */
bool tree_group_fixed(const Tree *t, int g);
/* Is group `inner` group `outer` or inside it? Every group is inside -1. */
bool tree_group_inside(const Tree *t, int inner, int outer);

/* macro.c: what a macro of this name makes of a statement; MACRO_NONE: it is none. */
MacroForm tree_macro_form(const Tree *t, int name);
/* Are tokens [first, last) `M;` or `M(x);` of a macro, with or without the ';'? */
bool tree_is_macro_call(const Tree *t, int first, int last);

/* block.c: fills match, source and node. */
bool tree_blocks(Tree *t, gi_err *err);
/* decl.c. Types of numbers, NULL-ended: */
extern const char *const tree_arithmetic_words[];
/* Fills match and source; false where a bracket has no partner. A reader (reader.h) of the tokens
** before `last`. */
bool tree_read_words(Tree *t, gi_err *err);
struct Reader tree_reader(const Tree *t, int last);
/* The declarations in tokens [first, last), into scope. */
bool tree_is_declaration(const Tree *t, int first, int last);
void tree_declare(Tree *t, int first, int last, int scope);
void tree_declare_params(Tree *t, int open, int close, int scope);
void tree_declare_name(Tree *t, DeclKind kind, int at, int scope);

/* scope.c */
enum { MEANING_MAX = 6 };

/* What a name means at a place: declarations (their index) and macros (-1 - their index). More
** than one when conditional compilation decides. n > MEANING_MAX: too many to say. */
typedef struct Meaning {
    int name, n;
    int what[MEANING_MAX];
} Meaning;

void tree_index_macros(Tree *t); /* by tree_preprocess */
void tree_index_decls(Tree *t);  /* after tree_blocks */
/* node: innermost node around token `at`. */
void tree_resolve(const Tree *t, int name, int node, int at, Meaning *out);

/* Names used and changed in a stretch of tokens, macros expanded. Zero-initialise. */
typedef struct NameSet {
    int *v, n, cap;      /* in the order in which they came */
    int *slot, n_slot;   /* a hash table of positions in v, from 1 on; a power of two, or 0 */
} NameSet;

typedef struct Uses {
    NameSet used, assigned;
    bool statement_macro; /* uses a macro that is_statement */
    bool piece_macro;     /* one that is no whole statement */
    bool breaks, continues, returns; /* one that does so */
} Uses;

void tree_uses(const Tree *t, int first, int last, Uses *out);
void uses_free(Uses *u);
bool name_set_has(const NameSet *s, int name);
bool name_set_add(NameSet *s, int name); /* false: it was there */
void name_set_free(NameSet *s);

/* Tokens by the names at them: those of name n are token[first[n]] to token[first[n + 1] - 1], in
** order. Zero-initialise. */
typedef struct Spots {
    int *first, *token;
} Spots;

/* Fills in where names stand, with the uses of macros under the name t->names.n; and where
** tree_uses would say that they are changed. */
void tree_index_spots(const Tree *t, Spots *named, Spots *changed);
/* The last token of a name before token `last`; -1: none. */
int spots_before(const Spots *s, int name, int last);
void spots_free(Spots *s);

bool tok_is(const Tree *t, int i, const char *text);
int tok_line(const Tree *t, int i);
/* Bytes of token i equal one of the words of a NULL-ended list. */
bool tok_in(const Tree *t, int i, const char *const *words);
bool node_inside(const Tree *t, int inner, int outer);
void tree_free(Tree *t);

#endif
