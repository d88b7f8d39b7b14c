/* inside.h - struct Grammar: the tree, the rules, and the holes of the text that they fill.
**
**   text    "    if (tid < n) y = 1;  // c\n"      the file, byte for byte
**   holes          [IF    ][_   ]                  [start, end) in order, without overlap
**   rules          <IF_k.cu_7> <_k.cu_7>           what fills a hole; one rule may fill several
**
** A mutant is the text with other fillings. Private to src/grammar.
*/
#ifndef GILUA_GRAMMAR_INSIDE_H
#define GILUA_GRAMMAR_INSIDE_H

#include "grammar/grammar.h"
#include "source/tree.h"

typedef struct IntList {
    int *v, n, cap;
} IntList;

void int_push(IntList *l, int value); /* at the end */
void int_add(IntList *l, int value);  /* if it is not there */
bool int_has(const IntList *l, int value);

/* Holes that hold no rule, so that no gene can name them: where a function counts its loops
** (GILUA_LOOPS), where a kernel records its block (GILUA_CLOCK). */
enum { HOLE_LOOPS = -1, HOLE_CLOCK = -2 };

typedef struct Hole {
    int start, end;
    int rule;       /* or one of the two below */
    bool braceless; /* a body without braces */
    bool own_line;  /* a slot at the start of a line (pragma) */
} Hole;

typedef enum Jump { JUMP_NONE, JUMP_BREAK, JUMP_CONTINUE, JUMP_RETURN } Jump;

/* What legality needs to know of a rule; parallel to Grammar.rule. */
typedef struct RuleInfo {
    int node;         /* innermost node around it, -1 for pool and fixed rules */
    int first, last;  /* its tokens; a slot: the token it stands before, twice */
    Jump jump;
    bool macro;       /* a statement that is a macro */
    bool ends_loop;   /* whether a loop ends depends on it: protected where loops are not open */
    int own;          /* RULE_INIT: the variable, a declaration; -1 */
    bool steady;      /* RULE_INIT: neither it nor what it is made of changes while it lives */
    int last_use;     /* RULE_INIT: the last token that names the variable while it lives */
    char *type;       /* RULE_INIT: its type, as it is written; "auto" before one that is deduced */
    Meaning *meaning; /* of every name it uses, at its own place */
    int n_meaning, cap_meaning;
    IntList assigned; /* declarations it changes */
    IntList counters; /* variables of loops around it by which it may index a shared array */
    int shared;       /* a shared array it uses, a declaration; -1 */
    unsigned ways;    /* RULE_MATH: bit k, that <math_Kk> fits; RULE_MATH_K: its own */
} RuleInfo;

/* Variables of a loop, as declarations; parallel to Tree.node. */
typedef struct LoopVars {
    IntList control; /* decide when it ends */
    IntList counter; /* changed by its header */
} LoopVars;

/* The single-mutant neighbourhood, found when first asked for: see random.c. A target is a rule, or
** n_rule + a configuration entry. */
typedef struct Moves {
    bool found;
    int n_rule;
    IntList fitting[RULE_TYPES]; /* by type of a rule: those whose type may be copied there */
    IntList (*list)[3];          /* by rule and GENE_REPLACE or GENE_INSERT: what is copied there */
    bool *known;                 /* by rule: its lists were found */
    char **code;                 /* by rule: code_text of it */
    bool *drawn;                 /* by target: it has genes */
    long *first;                 /* NULL, or the number of a target's first gene, and one more for
                                    the count of all */
} Moves;

struct Grammar {
    Tree tree;
    char *text;
    GrammarOptions options; /* own copies of all strings */
    GrammarConfig *config;
    Rule *rule;
    RuleInfo *info;
    int n_rule, cap_rule, cap_info;
    Hole *hole;
    int n_hole, cap_hole;
    int *on_line[RULE_TYPES]; /* while rules are made: how many a line has, by type; NULL: none */
    int *line_rule;         /* the fixed rule of line i + 1 */
    int *config_rule;       /* the DEF rule of configuration entry i, -1 */
    char **line_text;       /* lines without newline */
    Spots named, changed;   /* where initialisers are rules */
    LoopVars *loop;
    bool *open;             /* by node: a function that may change */
    const char **names, **kernels;
    int pragma_pool, launch_pool; /* rule of K0, -1 */
    int *by_name, n_by_name;      /* hash of rule names: index + 1 */
    Moves *moves;
};

/* rules.c */
void grammar_make_rules(Grammar *g);
/* open.c: open functions, names, kernels, loop variables. */
void grammar_find_open(Grammar *g);
void grammar_find_loops(Grammar *g);
bool grammar_is_kernel(const Grammar *g, int function);
bool grammar_is_device(const Grammar *g, int function); /* runs on a GPU; kernels too */
/* Must tokens [first, last) stay as they are? */
bool tree_frozen(const Tree *t, int first, int last);
/* index.c: names of rules */
void grammar_index(Grammar *g);

/* What a rule's name begins with: "IF_"; "" for fixed rules. */
const char *rule_prefix(RuleType type);

/* init.c */
typedef struct Init {
    char *type, *zero; /* owned by who asked; zero NULL: it must begin with something */
    bool constant;     /* that types may depend on */
} Init;
/* What a variable is declared with; false where that is no rule. */
bool init_of(const Grammar *g, int decl, Init *out);

/* Is an expression, tokens [first, last), known to be a float? */
bool is_float(const Grammar *g, int node, int first, int last);

/* math.c */
typedef struct Piece {
    int start, end; /* bytes that text takes the place of; equal: it is put in */
    int from, to;   /* bytes of the expression that it is a piece of */
    char *text;
    int gene, hole; /* apply.c: the gene it is of, the hole it is in */
} Piece;

typedef struct Pieces {
    Piece *v;
    int n, cap;
} Pieces;

/* The pool's k-th; NULL behind the last. */
const char *math_way(int way);
/* Bit k: the k-th changes something in this node. */
unsigned math_ways(const Grammar *g, int node);
void math_pieces(const Grammar *g, int node, int way, Pieces *out);
void pieces_free(Pieces *p);

/* legal.c */
typedef enum WhyNot {
    WHY_LEGAL,
    WHY_SCOPE,
    WHY_SHADOW,
    WHY_CONDITION,
    WHY_JUMP,
    WHY_RETURN,
    WHY_MEMBER,
    WHY_LOOP_VARIABLE,
    WHY_CONTINUE,
    WHY_SHARED,
    WHY_TYPE,
    WHY_CONST,
    WHY_CONSTEXPR,
    WHY_EMPTY
} WhyNot;

typedef struct Verdict {
    WhyNot why;
    int what; /* a name, or a declaration, by why */
    int node; /* a loop */
} Verdict;

void grammar_rule_meaning(Grammar *g, int rule);
/* May a copy of source stand at target? Types agree already. */
Verdict grammar_copy_verdict(const Grammar *g, int source, int target);
/* May a loop run for ever by this gene? None does that a grammar with protected loops accepts. */
bool gene_frees_loop(const Grammar *g, const Gene *gene);
/* Is the rule one that genes may aim at, and how? */
bool rule_is_target(const Grammar *g, int rule);
bool rule_can_delete(const Grammar *g, int rule);
bool rule_can_replace(const Grammar *g, int rule);
bool rule_can_insert(const Grammar *g, int rule);
/* The type of rule that may be the source for a target of this type. */
RuleType source_type(RuleType target);
/* Do the types of the two rules of a pair agree? And the two rules? */
bool type_fits(RuleType source, RuleType target);
bool rule_fits(const Grammar *g, int source, int target);
bool config_is_target(const Grammar *g, int config);

/* genome.c */
void gene_print(const Grammar *g, const Gene *gene, gi_buf *out);

/* apply.c: the guards of open loops around a condition (rule FOR2 or WHILE) that reads text. */
void guard_before(RuleType type, const char *text, gi_buf *out);
void guard_after(RuleType type, const char *text, gi_buf *out);

/* clock.c: has every open kernel one place for the span clock? */
bool clock_has_place(const Grammar *g, gi_err *err);

/* lines.c: whole lines with another text. */
typedef struct Claim {
    int gene;       /* its number in the genome */
    int start, end; /* bytes of the source that its text takes the place of */
} Claim;

bool lines_begins(const char *text, int len); /* is it the text of such a gene? */
/* Reads it; NULL, or what is wrong. */
const char *lines_read(const Grammar *g, const char *text, int len, Gene *out);
void lines_print(const Grammar *g, const Gene *gene, gi_buf *out);
/* What a genome claims, in the order of the text, into room for as many as it has genes: of two
** that overlap the later one. */
int lines_claims(const Grammar *g, const Genome *genome, Claim *out);
/* Does a genome leave the lines as they are that a kernel records its block at? */
bool lines_leave_clock(const Grammar *g, const Genome *genome, gi_err *err);
/* The byte that a line begins with; the end of the text for one behind the last. */
int line_start(const Grammar *g, int line);

/* idle.c: does the gene leave the code as it is? Once moves are known. */
bool gene_is_idle(const Grammar *g, const Gene *gene);
char *code_text(const char *text);

/* random.c */
void moves_clear(Moves *m);

#endif
