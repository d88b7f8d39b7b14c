/* parser.h - what the files of the parser share; private to src/ptx.
**
** A recursive-descent parser straight over the characters: every function that reads something
** leaves the reader at the next thing, blanks and comments behind it. A failure jumps out of
** ptx_parse (ptxp_fail does not return), so no caller checks; all memory is the arena's or the
** parser's vectors, freed in one place.
**
** Names are interned. Each carries the stack of its declarations, innermost first, so looking a
** name up costs nothing; leaving a scope pops what it declared.
*/
#ifndef GILUA_PTX_PARSER_H
#define GILUA_PTX_PARSER_H

#include "ptx/ptx.h"

#include <setjmp.h>

enum {
    PTXP_PARAMS = 1,             /* depth of a function's parameters; its body is in the next */
    PTXP_MAX_SCOPES = 64,        /* nested { } in a function */
    PTXP_MAX_NESTING = 64,       /* nested braces and parentheses in operands and expressions */
    PTXP_MAX_REGS = 1 << 22,     /* registers a function may declare */
    PTXP_MAX_BYTES = 1 << 30,    /* size of one variable */
    PTXP_MAX_SKIPPED = 1 << 20   /* bytes of it that an initialiser leaves out between others */
};

/* Memory that is given back all at once; zeroed. */
typedef struct PtxArena {
    struct PtxChunk *chunks;
    size_t left;
    char *next;
} PtxArena;

void *ptxp_take(PtxArena *a, size_t size);
void ptxp_arena_free(PtxArena *a);

typedef enum BindKind { BIND_REG, BIND_VAR, BIND_FUNC, BIND_PROTO, BIND_TARGETS } BindKind;

/* One declaration of a name. */
typedef struct Binding {
    BindKind kind;
    int depth;                   /* of its scope; 0 is the module */
    int index;                   /* of the register, function or target table */
    int n;                       /* of a vector register: how many there are from index on */
    const PtxVar *var;
    const char *text;            /* the name it got: unique in its function */
    struct Name *name;
    struct Binding *outer;       /* the declaration it hides */
    struct Binding *next;        /* declared before it in the same scope */
} Binding;

typedef struct Name {
    const char *text;
    size_t len;
    uint64_t hash;
    struct Name *chain;          /* of the hash table */
    Binding *bound;              /* innermost declaration, or NULL */
    int func;                    /* the function that last declared it, counted from 1 */
    int renamed;                 /* how often a declaration in that function had to be renamed */
    int label;                   /* while labels are resolved: its instruction + 1 */
    int src_line, src_func;      /* for the key of a .loc: see body.c */
    bool is_hoisted;             /* of a function's .global variable */
} Name;

/* A label, and a use of one. A use is resolved when the scope closes that declares the label. */
typedef struct Label {
    Name *name;
    int at, line;
} Label;

typedef struct LabelUse {
    Name *name;
    int instr, line;
    int slot;                    /* index in targets, or -1: target */
} LabelUse;

typedef struct Targets {         /* name: .branchtargets labels; */
    Name **labels;
    int n;
} Targets;

/* A parameter in a register, see lower.c. */
typedef struct RegParam {
    Name *name;
    PtxType type;
    int n; /* of a vector: its elements, 2 or 4 */
    bool is_ret;
    int index; /* among the function's parameters, or returns */
    int reg;   /* once the body declares it */
} RegParam;

typedef struct Scope {
    Binding *declared;
    int first_label, first_use;
} Scope;

typedef struct Parser {
    const char *p, *end;
    int line;
    jmp_buf escape;
    bool most;  /* a function that is not understood is refused alone */
    gi_err why; /* of the failure that escapes */
    PtxModule *m;
    PtxArena *arena;
    Name **table;                /* hash table of n_names, `buckets` a power of two */
    size_t buckets, n_names;
    gi_buf scratch;
    int nesting;

    /* the module so far */
    PtxVar **vars;     int n_vars, cap_vars;
    PtxFunc *funcs;    int n_funcs, cap_funcs;
    PtxItem *items;    int n_items, cap_items;
    const char **files; int n_files, cap_files;

    /* the function being read; its vectors are copied to the arena at its end */
    int func;                    /* counted from 1 */
    int depth;                   /* of the innermost scope; 0 outside functions */
    Scope scopes[PTXP_MAX_SCOPES];
    int src_line;
    PtxFunc *now; /* its head */
    RegParam *reg_params;
    int n_reg_params, cap_reg_params;
    PtxReg *regs;      int n_regs, cap_regs;
    PtxVar **locals;   int n_locals, cap_locals;
    PtxInstr *code;    int n_code, cap_code;
    PtxProto *protos;  int n_protos, cap_protos;
    PtxPragma *pragmas; int n_pragmas, cap_pragmas;
    Targets *targets;  int n_targets, cap_targets;
    Label *labels;     int n_labels, cap_labels;
    LabelUse *uses;    int n_uses, cap_uses;
    PtxOperand *ops;   int n_ops, cap_ops; /* operands being read, as a stack */
    PtxVar *params;    int n_params, cap_params; /* a parameter list being read */
    const char **mods; int n_mods, cap_mods;
    uint8_t *init;     int64_t cap_init;   /* the initialiser being read */
    PtxReloc *relocs;  int n_relocs, cap_relocs;
} Parser;

/* A vector's elements, copied into the arena; NULL when there are none. */
void *ptxp_keep(Parser *P, const void *v, int n, size_t size);
#define ptxp_keep_all(P, v, n) ptxp_keep((P), (v), (n), sizeof *(v))

/* lex.c: characters to words and numbers. */
_Noreturn void ptxp_fail(Parser *P, int line, const char *fmt, ...) GI_PRINTF(3, 4);
_Noreturn void ptxp_expected(Parser *P, const char *what); /* "expected WHAT, found …" */
void ptxp_space(Parser *P);                    /* skips blanks and comments */
char ptxp_peek(const Parser *P);               /* '\0' at the end */
bool ptxp_take_char(Parser *P, char c);        /* reads c if it is next */
void ptxp_expect(Parser *P, char c, const char *where);
bool ptxp_at_ident(const Parser *P);
Name *ptxp_ident(Parser *P, const char *what); /* "what" for the message */
Name *ptxp_word(Parser *P, const char *what);  /* what follows a '.': letters, digits, _ and :: */
const char *ptxp_string(Parser *P);            /* "…", as written between its quotes */
Name *ptxp_intern(Parser *P, const char *text, size_t len);
bool ptxp_is(const Name *n, const char *text);

/* constant.c: constant expressions. */
typedef struct Constant {
    PtxImmKind kind;
    bool is_unsigned;
    uint64_t bits;
} Constant;

Constant ptxp_constant(Parser *P);
int64_t ptxp_integer(Parser *P, const char *what);
int ptxp_small(Parser *P, const char *what, int min, int max);
int ptxp_plain(Parser *P, const char *what, int min, int max); /* a number alone, no operators */

/* scope.c: names and what they mean. */
void ptxp_open(Parser *P);
void ptxp_close(Parser *P);
void ptxp_abandon(Parser *P); /* the same without a look at its labels */
/* Declares a name in the innermost scope; in a function the binding's text is unique in it. */
Binding *ptxp_declare(Parser *P, Name *name, BindKind kind);

/* declare.c: variables, registers, parameter lists. */
enum { PTXP_MAX_DIMS = 8 };
bool ptxp_space_of(const Name *word, PtxSpace *out);
/* After ".global", ".reg" …; reads the ';'. */
void ptxp_declaration(Parser *P, PtxSpace space, PtxLinkage linkage);
int ptxp_params(Parser *P, bool bind, bool are_rets, PtxVar **out); /* after '('; reads the ')' */

/* init.c: what follows the '=' of a variable. dims[0] is -1 for [] and then found here. */
void ptxp_initialiser(Parser *P, PtxVar *var, int64_t *dims, int n_dims);

/* lower.c: parameters in registers. The body begins; before and behind an instruction; it ends. */
void ptxp_begin_reg_params(Parser *P);
void ptxp_before(Parser *P, PtxInstr *in);
void ptxp_behind(Parser *P, const PtxInstr *in);
void ptxp_end_reg_params(Parser *P);

/* declare.c: declares a register, or a vector of n; the index of the first. */
int ptxp_register(Parser *P, Name *name, PtxType type, int n);

/* link.c: whoever means an alias means its function. */
void ptxp_resolve_aliases(PtxModule *m);

/* lower.c: is it a variable in .local memory of a module before the ISA's version 3? A kernel has
** one of its own. */
bool ptxp_is_shared_local(const Parser *P, const PtxVar *v);
void ptxp_use_local(Parser *P, const Binding *b);

/* order.c: puts an opcode's modifiers into the ISA's order. */
void ptxp_order(const char *opcode, const char **mods, int n);

/* body.c, operand.c, parse.c */
void ptxp_body(Parser *P, PtxFunc *f); /* after '{'; reads the '}' */
void ptxp_operands(Parser *P, PtxInstr *in);
void ptxp_file(Parser *P);

#endif
