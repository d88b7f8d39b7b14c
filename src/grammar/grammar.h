/* grammar.h - CUDA source <-> typed line rules <-> BNF text; genes, genomes and their application.
**
** The representation of Langdon et al. (GECCO 2014 §3 and Figure 2; "Genetically Improved
** Software" 2015 §8.14 and Figure 8.11): every source line is a fixed rule <kernel.cu_167>; what
** evolution may touch hangs below it as a typed rule. A genome is a patch, one line of text.
** Stands on source/ (the tokens and blocks of a text); it knows nothing of compilers or devices.
*/
#ifndef GILUA_GRAMMAR_H
#define GILUA_GRAMMAR_H

#include "base/base.h"
#include "source/source.h"

typedef enum RuleType {
    RULE_FIXED,        /* <kernel.cu_12>               a line as it is, with holes for the rest */
    RULE_STATEMENT,    /* <_kernel.cu_294>             a simple statement */
    RULE_IF,           /* <IF_kernel.cu_167>           a condition with its parentheses */
    RULE_WHILE,        /* <WHILE_…>                    of while and do-while */
    RULE_ELSE,         /* <ELSE_…>                     the keyword: deleted, it never runs */
    RULE_FOR1, RULE_FOR2, RULE_FOR3, /* <for1_…> …     the parts of a loop header */
    RULE_INIT,         /* <init_kernel.cu_12>          what a variable is declared with */
    RULE_PRAGMA,       /* <pragma_…>                   the slot before a loop */
    RULE_DEF,          /* <def_…>                      a configuration macro */
    RULE_OPTCONST,     /* <optconst_…>                 const of a scalar argument */
    RULE_OPTRESTRICT,  /* <optrestrict_…>              __restrict__ of all pointer arguments */
    RULE_OPTVOLATILE,  /* <optvolatile_…>              volatile of all shared arrays */
    RULE_LAUNCHBOUNDS, /* <launchbounds_…>             the slot before a kernel's name */
    RULE_MATH,         /* <math_…>                     approximate functions and division */
    RULE_PRAGMA_K,     /* <pragma_K0> … <pragma_K11>   the pool for pragma slots */
    RULE_LAUNCHBOUNDS_K, /* <launchbounds_K0> … <launchbounds_K5> */
    RULE_OPTCONST_K,     /* <optconst_K0>    what an empty slot of that kind may hold: "const " */
    RULE_OPTRESTRICT_K,  /* <optrestrict_K0> "__restrict__ " */
    RULE_OPTVOLATILE_K,  /* <optvolatile_K0> "volatile " */
    RULE_MATH_K,         /* <math_K0> "__expf" … <math_K2>: see math.c */
    RULE_TYPES         /* how many types there are */
} RuleType;

const char *rule_type_name(RuleType type); /* "statement" "if" "while" "else" … "launchbounds_K" */
/* Also accepts "IF", "_" and other prefixes of names. */
bool rule_type_parse(const char *name, RuleType *out);

typedef struct Rule {
    const char *name;   /* "<IF_kernel.cu_167>" */
    RuleType type;
    int line;           /* first source line, 0 for a pool rule */
    int last_line;
    const char *text;   /* right-hand side's original text; for RULE_FIXED the whole line's text */
    int parent;         /* the fixed rule it hangs below, -1 */
    const char *protected_why; /* NULL, or why no gene may touch it ("assigns the variable c") */
    const char *variable; /* RULE_INIT: that begins with text; a copy of the rule where a statement
                             stands is `variable = text;` */
    const char *zero;     /* RULE_INIT: what it begins with when that is deleted; NULL: it cannot */
} Rule;

typedef struct GrammarConfig {
    const char *name;      /* a macro with a `#define NAME …` or `#undef NAME` line of its own in
                              the source, or (in_source false) one that it does not mention */
    const char *on_value;  /* what the bare gene NAME sets it to ("1") */
    bool in_source;
} GrammarConfig;

typedef struct GrammarOptions {
    const char *file;      /* label in rule names: "kernel.cu" */
    const char *kernel;    /* it and the __device__ functions that it calls are open; several with
                              commas between. NULL: all */
    bool open_loops;       /* StereoCamera: loop headers are rules, and every loop carries a guard;
                              false, NiftyReg: headers and loop variables are protected (§3.4) */
    bool initialisers;     /* what a variable is declared with is a rule, where its type is known:
                              see init.c; with open_loops in headers of loops too */
    bool skip_idle;        /* genes that change nothing (idle.c) are not drawn nor counted; false,
                              the papers: they are */
    bool pragmas, restricts, consts, volatiles, launch_bounds; /* open these rule types */
    bool math;             /* approximate functions and division, statement by statement */
    const char *launch_bounds_threads; /* expression for __launch_bounds__'s first argument */
    const GrammarConfig *config;
    int n_config;
} GrammarOptions;

typedef struct Grammar Grammar;

/* Parses CUDA source. "format" with file and line when the source is not understood (unbalanced
** braces, unterminated string), "usage" when kernel or a configuration macro is not in it. */
Grammar *grammar_parse(const char *text, size_t len, const GrammarOptions *options, gi_err *err);
void grammar_free(Grammar *g);

/* BNF text, complete: reading it back gives a grammar that proposes, accepts and applies the
** same. */
void grammar_print(const Grammar *g, gi_buf *out);
Grammar *grammar_read(const char *bnf, size_t len, gi_err *err);

int grammar_rule_count(const Grammar *g);
const Rule *grammar_rule(const Grammar *g, int index);
/* By full name, or by the papers' short forms: "<IF_245>", "<288>" (a statement). -1 if unknown. */
int grammar_find(const Grammar *g, const char *name);
/* The source line as it stands, without its newline; "" outside the file. */
const char *grammar_line(const Grammar *g, int line);
int grammar_line_count(const Grammar *g);
const char *grammar_file(const Grammar *g);
/* Names declared at top level, for keeping several mutants apart in one compilation; NULL-ended. */
const char *const *grammar_names(const Grammar *g);
/* The kernels (__global__ functions) in the source; NULL-ended. */
const char *const *grammar_kernels(const Grammar *g);

/* What stands at file level, in order, for a file that nobody prepared. Bytes are [start, end).
** Names live as long as the grammar. `open`: the entry kernel or a function it calls. A type or
** another declaration goes to its ';'. */
typedef enum OutlineKind {
    OUTLINE_KERNEL, OUTLINE_DEVICE, OUTLINE_HOST, OUTLINE_TYPE, OUTLINE_OTHER
} OutlineKind;

typedef struct OutlineParam {
    const char *name; /* NULL: it has none */
    int start, end;   /* the whole parameter: `const float *x` */
} OutlineParam;

typedef struct OutlineItem {
    OutlineKind kind;
    const char *name; /* of a function or type; NULL */
    int start, end, line, last_line;
    int head;         /* byte of a function's '('; -1 */
    bool open;
    OutlineParam *param, *tparam; /* of a function; of its template */
    int n_params, n_tparams;
} OutlineItem;

typedef struct Outline {
    OutlineItem *item;
    int n, cap;
} Outline;

void grammar_outline(const Grammar *g, Outline *out);
void outline_free(Outline *o);

/* Genes. A gene stands for itself: its legality does not depend on the others. */
typedef enum GeneKind { GENE_DELETE, GENE_REPLACE, GENE_INSERT, GENE_SET, GENE_LINES } GeneKind;

typedef struct Gene {
    GeneKind kind;
    int target, source;     /* rules; source -1 for DELETE, both for SET and LINES */
    int config;             /* GENE_SET: index of the configuration entry */
    char *value;            /* GENE_SET: "128", or NULL for the bare switch; GENE_LINES: the text */
    int first, last;        /* GENE_LINES: source lines, from 1 */
} Gene;

typedef struct Genome {
    Gene *genes;
    int n, cap;
} Genome;

/* An empty slot is filled from the pool of its type: <pragma_A><pragma_K4>,
** <optconst_A><optconst_K0>; a filled one is emptied by <A>. NAME=undef turns a configuration macro
** off. Parses one line of genes separated by blanks. Refuses ("gene") a malformed or illegal gene
** with a message that names the gene, its position and the reason. Pragma and launchbounds slots
** take pool rules as source. <lines_kernel.cu_12-14>=TEXT gives whole lines another text, whatever
** it is, with %20 for a blank and %0A for a new line; none is drawn. Short forms are accepted, full
** names printed. Genes that begin with <ptx: or <llvm: are passed over: they are for what the
** source compiles to (ptx/genes.h, llvm/genes.h). */
bool genome_parse(const Grammar *g, const char *text, Genome *out, gi_err *err);
void genome_print(const Grammar *g, const Genome *genome, gi_buf *out);
void genome_free(Genome *genome);

/* Is this gene legal (same type, variables of source in scope at target, not protected, shared
** array not outside its loop …)? */
bool gene_check(const Grammar *g, const Gene *gene, gi_err *err);

/* Applies genes left to right: a later replacement or deletion of a rule wins over an earlier one,
** insertions before one rule accumulate in order. Copies are of original text. Where whole lines
** have another text, other genes of these lines change nothing, and the source has no guards. Each
** generated line remembers where it came from. */
typedef struct Patched {
    gi_buf source;          /* the mutant */
    int *origin;            /* origin[i]: source line that line i+1 of the mutant came from; for an
                               inserted or replaced statement the line it now stands at */
    int *gene;              /* gene[i]: index of the gene that made line i+1, or -1 */
    int n_lines;
    const char **param_names, **param_values; /* every configuration entry's final value;
                               value NULL: not set by the genome */
    int n_params;
    bool unbounded;         /* a loop may run for ever by one of the genes: protected loops would
                               have refused it */
    bool rewritten;         /* whole lines have another text, which may declare what it likes */
} Patched;

bool genome_apply(const Grammar *g, const Genome *genome, Patched *out, gi_err *err);
/* The same without the guards of open loops: the source to show and to keep. */
bool genome_apply_unguarded(const Grammar *g, const Genome *genome, Patched *out, gi_err *err);

/* What the source is to carry: guards of open loops, the span clock of the entry kernel (of every
** kernel where no entry is named). The clock is refused ("usage") when a kernel's opening brace is
** in an #if whose branches do not stand alone: there is no one place for it. */
typedef enum ApplyMarks { APPLY_GUARDS = 1, APPLY_CLOCK = 2 } ApplyMarks;
bool genome_apply_marked(const Grammar *g, const Genome *genome, unsigned marks, Patched *out,
                         gi_err *err);
void patched_free(Patched *p);

/* Loop guards (open_loops): the macros the guarded headers use, to be put before the source; adds
** nothing when loops are protected. checked: count iterations per thread and call, and at limit
** (the device variable gilua_loop_limit, a long long, that the host may set to another) set the
** device variable gilua_loop_overrun (an int, 0 before a launch) to the loop's line, at which every
** guarded loop of every thread ends; not checked: they compile to nothing. */
void grammar_guard_prologue(const Grammar *g, bool checked, long limit, gi_buf *out);

/* The span clock (StereoCamera §8.14.5.2): the lines to put before a source with APPLY_CLOCK. On,
** every block writes { start, end, SM } to the unsigned long long[3] of its linear number at
** *gilua_spans, a __device__ pointer that the host sets; NULL, as loaded: nothing is written. The
** records must be 0 before a launch. start: clock64 when the first thread enters; end: the latest
** at which a warp leaves, whichever return it takes; left 0 by a block that ended by `exit` or a
** trap. Off: the mark stands for nothing. No gene can reach either. */
void grammar_clock_prologue(bool on, gi_buf *out);

/* A uniformly random legal gene: first target rule by weight, then delete / replace / insert with
** equal chance among those the type allows, then a legal source uniformly; configuration entries
** count as targets. weights[RULE_TYPES] multiplies a type's chance (NULL: all 1; GENE_SET uses
** RULE_DEF's). Appends the gene's text. False ("usage") when nothing may be changed, and
** ("interrupted"). */
bool grammar_random_gene(const Grammar *g, gi_rng *rng, const double *weights, gi_buf *out,
                         gi_err *err);

/* Number of distinct legal genes: the size of the single-mutant neighbourhood. -1 ("format") where
** they are pairs of too many rules to look at, and ("interrupted"). */
long grammar_gene_count(const Grammar *g, gi_err *err);
/* The i-th of them, in a fixed order (0 … count-1); appends its text. False where there is none,
** and where they are not counted. */
bool grammar_gene_at(const Grammar *g, long i, gi_buf *out);

#endif
