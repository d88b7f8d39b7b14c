/* ptx.h - PTX text <-> instructions, control-flow graph, liveness.
**
** Reads the PTX that NVRTC and nvcc emit (PTX ISA 6.3 … 9.x, one module a text). The parser knows
** the shape of the language, not the meaning of opcodes: `mad.lo.s32 %r1, %r2, 3, %r4;` becomes
** opcode "mad", modifiers {"lo", "s32"}, four operands. Meaning belongs to src/emu.
**
** Everything of a module lives as long as the module; opcode and modifier strings are interned in
** it (equal text, equal pointer within one module). Stands on base.h alone.
*/
#ifndef GILUA_PTX_H
#define GILUA_PTX_H

#include "base/base.h"

typedef enum PtxType {
    PTX_NONE, PTX_PRED,
    PTX_B8, PTX_B16, PTX_B32, PTX_B64, PTX_B128,
    PTX_U8, PTX_U16, PTX_U32, PTX_U64,
    PTX_S8, PTX_S16, PTX_S32, PTX_S64,
    PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_F32, PTX_F64,
    PTX_TEXREF, PTX_SAMPLERREF, PTX_SURFREF
} PtxType;

typedef enum PtxSpace {
    PTX_GENERIC, PTX_REG, PTX_PARAM, PTX_LOCAL, PTX_SHARED, PTX_CONST, PTX_GLOBAL
} PtxSpace;

size_t ptx_type_size(PtxType type);            /* bytes; 0 for PTX_NONE; 1 for PTX_PRED */
const char *ptx_type_name(PtxType type);       /* "f32"; "" for PTX_NONE */
bool ptx_type_parse(const char *name, PtxType *out); /* "f32" without the dot */

typedef enum PtxLinkage { PTX_PRIVATE, PTX_VISIBLE, PTX_WEAK, PTX_EXTERN, PTX_COMMON } PtxLinkage;

/* An address inside an initialiser: the 8 bytes at `offset` hold symbol + addend; where there is a
** mask, the element there holds the bits of that sum which the mask selects, 0xff00(symbol). */
typedef struct PtxReloc {
    uint64_t offset;
    const char *symbol;
    const struct PtxVar *var; /* what it names; NULL: a function */
    int func;                 /* index into PtxModule.funcs, or -1 */
    int64_t addend;
    uint64_t mask; /* 0: none */
    bool generic;  /* written generic(symbol) */
} PtxReloc;

typedef struct PtxVar {
    const char *name;
    PtxSpace space;
    PtxType type;       /* element type */
    int vec;            /* 1, 2 or 4: .v2 .v4 */
    int align;          /* bytes */
    uint64_t size;      /* bytes in all; 0 for an extern array of unknown length (dynamic shared) */
    bool is_extern;
    PtxLinkage linkage;
    bool is_ptr;        /* a kernel parameter declared .ptr; to ptr_space, aligned to ptr_align */
    PtxSpace ptr_space;
    int ptr_align;      /* 0 where not given */
    bool is_managed_or_texref; /* not supported as plain memory */
    uint8_t *init;      /* size bytes, or NULL: zero */
    PtxReloc *relocs;
    int n_relocs;
    int line;           /* PTX line of the declaration */
} PtxVar;

typedef struct PtxReg {
    const char *name;   /* "%r1" */
    PtxType type;
} PtxReg;

typedef enum PtxOperandKind {
    PTX_OP_REG,     /* reg (negated: !%p1) */
    PTX_OP_IMM,     /* imm: integer two's complement, or the bits of an f32 (0f…) or f64 (0d…) */
    PTX_OP_SREG,    /* special register: symbol = "%tid.x", "%laneid" … */
    PTX_OP_SYMBOL,  /* address of a variable or function: symbol + offset */
    PTX_OP_ADDR,    /* [reg + offset], [symbol + offset] or [imm]; elems[0] is the base */
    PTX_OP_LABEL,   /* branch target: see PtxInstr.target */
    PTX_OP_VECTOR,  /* {a, b, …}: elems */
    PTX_OP_TEX,     /* [handle, {coordinates}]: elems[0] the handle, elems[1] a VECTOR or a REG;
                       also [texture, sampler, {coordinates}]: n_elems 3 */
    PTX_OP_PAIR,    /* p|q : elems[0], elems[1] */
    PTX_OP_LIST,    /* call's (a, b): elems. A call has: the LIST of returns if there are any, the
                       function (SYMBOL or REG), the LIST of arguments if there are any, and for an
                       indirect call the prototype (SYMBOL with neither var nor func) */
    PTX_OP_SINK     /* _ */
} PtxOperandKind;

typedef enum PtxImmKind { PTX_IMM_INT, PTX_IMM_F32, PTX_IMM_F64 } PtxImmKind;

typedef struct PtxOperand {
    PtxOperandKind kind;
    bool negated;
    PtxImmKind imm_kind;
    int reg;                 /* index into PtxFunc.regs */
    uint64_t imm;
    const char *symbol;
    const PtxVar *var;       /* what symbol names, innermost scope first; NULL for a function */
    int func;                /* index into PtxModule.funcs, or -1 */
    int64_t offset;
    const char *select;      /* "b0" of %r1.b0 (video instructions), or NULL */
    struct PtxOperand *elems;
    int n_elems;
} PtxOperand;

typedef struct PtxInstr {
    const char *opcode;
    const char **mods;       /* without dots, in the ISA's order (order.c); "shared::cta" is one */
    int n_mods;
    int guard;               /* predicate register, or -1 */
    bool guard_negated;
    PtxOperand *args;
    int n_args;
    int target;              /* bra: index of the target instruction; else -1 */
    int *targets;            /* brx.idx: its .branchtargets as instruction indices */
    int n_targets;
    int line;                /* in the PTX text, from 1 */
    int src_line;            /* in the module's first .file (the user's source), 0 unknown; for
                                inlined code of another file, the line it was inlined at */
} PtxInstr;

/* Words (word.c). A list of words has blanks between them: "add sub mul". */
bool ptx_is_letter(char c); /* of a name: letters, digits, _ $ % */
bool ptx_word_in(const char *word, const char *list);
bool ptx_is(const PtxInstr *in, const char *opcodes);   /* is its opcode one of the list? */
bool ptx_has_mod(const PtxInstr *in, const char *mods); /* has it a modifier of the list? */
int ptx_threads(const int n[3]); /* .maxntid's or .reqntid's product, INT_MAX at most; 0: none */
const char *ptx_mod(const PtxInstr *in, int i);         /* i < 0: from the last, -1; "": none */

/* name: .callprototype (rets) _ (params); the call operand naming it is a SYMBOL with func -1. */
typedef struct PtxProto {
    const char *name;
    PtxVar *rets, *params;
    int n_rets, n_params;
} PtxProto;

/* A .pragma "text"; that stands before code[at]. */
typedef struct PtxPragma {
    int at;
    const char *text;
} PtxPragma;

typedef struct PtxFunc {
    const char *name;
    PtxLinkage linkage;
    bool is_entry;
    bool has_body;           /* false for .extern declarations such as vprintf */
    PtxVar *params;          /* in order */
    int n_params;
    PtxVar *rets;            /* .func (rets) name (params) */
    int n_rets;
    PtxReg *regs;
    int n_regs;
    PtxVar **vars;           /* declared in the body: .local, .shared, .param of call sequences */
    int n_vars;
    PtxInstr *code;
    int n_code;
    int maxntid[3];          /* 0 where not given */
    int reqntid[3];
    int minnctapersm, maxnreg;
    const char *directives;  /* the others, as text: ".noreturn .maxclusterrank 4"; "" */
    PtxProto *protos;
    int n_protos;
    PtxPragma *pragmas;      /* in order of `at` */
    int n_pragmas;
    int line;
    int part;            /* which text it came from, of those that were linked */
    const char *file;    /* the first .file of that text: the user's source; NULL */
    const char *refused; /* why the body was not understood (ptx_parse_most), or NULL */
} PtxFunc;

/* What stands at the top of a module, in order: names are declared before they are used. */
typedef enum PtxItemKind {
    PTX_ITEM_VAR,
    PTX_ITEM_PROTOTYPE,
    PTX_ITEM_BODY,
    PTX_ITEM_ALIAS
} PtxItemKind;
typedef struct PtxItem {
    PtxItemKind kind;
    int index;               /* into vars or funcs */
    int target;              /* of an alias: the function that it stands for */
} PtxItem;

typedef struct PtxModule {
    int version_major, version_minor;
    char target[32];         /* "sm_90" */
    const char *target_options; /* what follows it but for debug: ", texmode_independent"; "" */
    int address_size;        /* 64 */
    PtxVar **vars;           /* module-level .global .const .shared */
    int n_vars;
    PtxFunc *funcs;
    int n_funcs;
    const char **files;      /* .file table: files[0] is file 1 */
    int n_files;
    PtxItem *items;
    int n_items;
    struct PtxModule **parts; /* of a linked module: those it was made of, which live with it */
    int n_parts;              /* 0: it was not linked */
    void *arena;             /* private */
} PtxModule;

/* Names declared in nested scopes (`{ .reg .b32 t; … }`) are renamed where they would clash
** (`t$1`), so that in the result a name means one thing in the whole function, and functions have
** no scopes. Labels are replaced by instruction indices. WARP_SZ becomes 32, constant expressions
** their value. A decimal floating-point constant is PTX_IMM_F64 whatever the instruction's type.
** What is short for something else is written out: a vector register (.reg .v4 .f32 v) becomes four
** (v$x … v$w), a parameter in a register one in .param that is loaded and stored, a variable in
** .global that a function declares one of the module, an alias the function that it stands for.
** Not supported, refused with a message: .calltargets.
**
** NULL with "compile" and a message naming the PTX line when the text is not understood. The text
** is not kept. */
PtxModule *ptx_parse(const char *text, size_t len, gi_err *err);
/* The same, but a function whose body is not understood has none of it, and says why: refused. */
PtxModule *ptx_parse_most(const char *text, size_t len, gi_err *err);
void ptx_free(PtxModule *m);

/* Makes one module of several, which it takes over: what one declares .extern is what another
** defines, and of several .weak definitions the first holds. What nobody defines stays .extern.
** "compile" where two define one name. */
PtxModule *ptx_link(PtxModule **parts, int n, gi_err *err);

PtxFunc *ptx_find_func(const PtxModule *m, const char *name);
PtxVar *ptx_find_var(const PtxModule *m, const char *name);

/* Prints one instruction, or a whole module, as PTX text: parsing what was printed gives the same
** module again (the property tests hold it to that). */
void ptx_print_instr(const PtxFunc *f, const PtxInstr *in, gi_buf *out);
void ptx_print(const PtxModule *m, gi_buf *out);

/* Appends the text without what does not change the code: comments, .loc, .file, debug sections,
** blank lines, the function's place in the names of labels, prototypes and stack frames; so that
** equal code has equal text. Still PTX, if it was. Any text goes through. */
void ptx_canonical(const char *text, size_t len, gi_buf *out);

/* Control flow of one function. Block b is code[first[b]] … code[first[b+1]-1]. */
typedef struct PtxCfg {
    int n_blocks;
    int *first;        /* n_blocks + 1 entries; the last is n_code */
    int *block_of;     /* n_code entries */
    int **succ;        /* successors of each block, each once; a ret, exit or trap has none (unless
                          guarded) */
    int *n_succ;
    int **pred;        /* and predecessors */
    int *n_pred;
    bool *exits;       /* may the thread end here: ret, exit, trap, or the end of the function */
    int *ipdom;        /* immediate post-dominator block; n_blocks stands for the exit, and is also
                          given for a block from which no path leads to the exit */
    int *rejoin;       /* block where paths that part at the end of b meet again, leaving aside
                          threads that end early: see ptx_reconvergence */
    int *edges;        /* private: memory of succ and pred */
} PtxCfg;

PtxCfg *ptx_cfg(const PtxFunc *f);
void ptx_cfg_free(PtxCfg *cfg);

/* Index of the instruction where the paths of a branch at code[i] meet again; n_code when only at
** the end of the function. That is the immediate post-dominator, except that a conditional early
** end (`if (x) return;`) does not count as a path: a thread that ends there waits for nobody, and
** the others shall still meet. (They must: a barrier may follow.) So some threads may end without
** ever coming to the meeting point. */
int ptx_reconvergence(const PtxFunc *f, const PtxCfg *cfg, int i);

/* Liveness. slot[r] is a storage slot for register r such that registers live at the same time
** never share one (linear scan over live ranges; predicates, 32-bit and smaller, 64-bit and
** 128-bit registers have slot spaces of their own: class_of[r] 0, 1, 2, 3, with slots[class] of
** each). All registers that one instruction reads or writes count as live together, so that a
** destination never shares a slot with another register's source. Unused registers have slot -1.
** max_live32 is the largest number of 32-bit hardware registers live at once (a 64-bit register
** counts two, a 128-bit one four, a predicate none): the base of the register estimate for
** occupancy. A guarded write does not end the range of the old value. */
typedef struct PtxLiveness {
    int *slot;
    uint8_t *class_of;
    int slots[4];
    int max_live32;
    bool *unset; /* per register: some way leads to a read of it, and to no write before */
} PtxLiveness;

/* Does the instruction write the registers of this operand? All registers of other operands are
** read, and so are those inside an address. Known: nothing is written by st, red, bra, bar.sync …;
** else it is the first operand, if it is a register, vector or pair; a call's list of returns. */
bool ptx_is_dest(const PtxInstr *in, int arg);

/* What a kernel may reach beyond memory of its own, whatever its data: words of its parameters that
** addresses are made of, numbers among them (a[i * n] has those of a and n). */
enum { PTX_WORDS = 58 };
typedef struct PtxWords {  /* of one address, or of several alike */
    uint32_t at[PTX_WORDS]; /* bytes, multiples of 8 */
    int n;
    bool may_be_other;     /* or a variable, shared or local memory instead */
} PtxWords;
typedef struct PtxReached {
    PtxWords *list;
    int n, cap;
    bool variables; /* of the module, whichever */
} PtxReached;
typedef struct PtxAccess {
    PtxReached reads, writes; /* an atomic does both */
    bool is_unknown;          /* and whatever else: a pointer may come from memory, it calls a
                                 function, reads a texture, writes a surface */
} PtxAccess;
/* own: variables whose names begin so count as the kernel's own; NULL: none. False: there is no
** such kernel. Else free it. */
bool ptx_access(const PtxModule *m, const char *kernel, const char *own, PtxAccess *out);
void ptx_access_free(PtxAccess *a);

/* The same of each instruction of a kernel: what the addresses that it loads from or stores to are
** made of. */
#define PTX_FROM_VARIABLE ((uint64_t)1 << 62)
#define PTX_FROM_UNKNOWN  ((uint64_t)1 << 63) /* a pointer that came from memory, too many words */
typedef struct PtxSources {
    uint64_t *of; /* by instruction: bit i: word[i] of the parameters; PTX_FROM_…; 0: no address */
    uint32_t word[PTX_WORDS]; /* bytes, multiples of 8 */
    int n_words;
} PtxSources;
PtxSources ptx_sources(const PtxFunc *f); /* free `of` */
PtxLiveness *ptx_liveness(const PtxFunc *f, const PtxCfg *cfg);
void ptx_liveness_free(PtxLiveness *l);

#endif
