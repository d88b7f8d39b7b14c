/* edit.h - one function that is being edited, and what is known of its values. Private to src/ptx.
**
** PTX as compilers write it is nearly in SSA form: a register is written once, but for those that
** join several paths. So "a value dominates a place" (GEVO, §3.4) is asked in the form that covers
** both: is the register written on every path to the place?
*/
#ifndef GILUA_PTX_EDIT_H
#define GILUA_PTX_EDIT_H

#include "ptx/parser.h"

/* --- what an instruction reads and writes (leaf.c) --- */

enum { PTX_LEAVES = 64 }; /* an instruction that reads or writes more is not open to edits */

/* Something that is read: a register or a number; leaf 0 is the guard, whose op is NULL. */
typedef struct PtxLeaf {
    PtxOperand *op;
    PtxType type;      /* in which the instruction takes it; PTX_NONE: not said */
    bool takes_number; /* ptxas takes a number there, too */
} PtxLeaf;

typedef struct PtxLeaves {
    PtxLeaf leaf[PTX_LEAVES]; /* leaf[0] is the guard, whether there is one or not */
    int n;                    /* with the guard; -1: too many */
    int *writes[PTX_LEAVES];  /* registers that are written */
    int n_writes;             /* -1: too many */
} PtxLeaves;

void ptx_leaves(PtxInstr *in, PtxLeaves *out);
int ptx_leaf_reg(const PtxInstr *in, const PtxLeaf *leaf); /* -1: a number, or no guard */
void ptx_leaf_set_reg(PtxInstr *in, PtxLeaf *leaf, int reg);

/* --- kinds of values (kind.c) --- */

/* What may stand for what: equal size, and both floating-point or neither. Registers of .b32 and
** the like are what the instructions that use them take them for. */
typedef uint8_t PtxKind;
enum { PTX_KIND_PRED = 1, PTX_KIND_FLOAT = 0x80 };

PtxKind ptx_kind_of_type(PtxType type);
void ptx_kinds(const PtxFunc *f, PtxKind *kind); /* of each register */
PtxOperand ptx_one(PtxKind kind, PtxType type);  /* the constant 1, as an operand of such a type */

/* --- what is known where (dominate.c, value.c) --- */

/* A graph of nodes 0 … n - 1 and of a root, node n, with an edge to each node of `first`. */
typedef struct PtxFlow {
    int n;
    int *const *next;
    const int *n_next;
    int *const *prev;
    const int *n_prev;
    const bool *first;
} PtxFlow;
/* Fills idom[0 … n] with immediate dominators: n for the root, -1 where no path leads. order: NULL,
** or room for those that paths lead to, each behind its dominator. Returns how many they are. */
int ptx_idoms(const PtxFlow *g, int *idom, int *order);

/* Numbers of a function's blocks such that a dominates b where enter[a] <= enter[b] and leave[b] <=
** leave[a]; -1 of a block that no path leads to. */
void ptx_dominators(const PtxCfg *c, int *enter, int *leave);

typedef struct PtxValues {
    PtxCfg *cfg;
    int *enter, *leave; /* as above */
    int *first;         /* writes of code[i]: reg[first[i]] … reg[first[i + 1] - 1] */
    int *reg;
    int *home;    /* of each register: the only block that writes it; -1: none; -2 - n: several, and
                     it is bit n of `in` */
    uint64_t *in; /* of each block: those registers that are written on every path to it */
    int words;    /* of a block in it */
} PtxValues;

void ptx_values(PtxFunc *f, PtxValues *v);
void ptx_values_free(PtxValues *v);
bool ptx_dominates(const PtxValues *v, int block, int other);
/* Is the register written on every path to the beginning of a block; to code[at], before it? */
bool ptx_enters(const PtxValues *v, int reg, int block);
bool ptx_is_written(const PtxValues *v, int reg, int at);

/* --- the function (edit.c) --- */

typedef struct PtxEdit {
    PtxFunc f;          /* as it is now */
    const PtxFunc *was; /* as it was: what is copied is from there */
    int cap_code, cap_regs;
    PtxKind *kind; /* of f.regs */
    bool *loose;   /* of was->regs: read where it may not be written, as the compiler wants */
    int *origin;   /* of f.code: index in was->code, -1: made by an edit */
    int *place;    /* of was->code: its index now; where it is gone, that of what follows */
    bool *gone;
    PtxValues values; /* of f, where `known` */
    bool known;
} PtxEdit;

void ptx_edit_open(PtxEdit *e, const PtxFunc *f);
void ptx_edit_close(PtxEdit *e);

/* Instructions of the function as it was are named by their indices there. Where one is gone, what
** would change it does nothing. */
void ptx_edit_delete(PtxEdit *e, int at, PtxArena *a);
void ptx_edit_replace(PtxEdit *e, int at, int from, PtxArena *a); /* by a copy of `from` */
/* A copy of `from` goes before `at`. What it makes is used by leaf `leaf` of `user` where that can
** be, else by the next instruction that reads such a value; user -1: by that. */
void ptx_edit_copy(PtxEdit *e, int at, int from, int user, int leaf, PtxArena *a);
void ptx_edit_move(PtxEdit *e, int at, int from, PtxArena *a); /* `from` goes before `at` */
void ptx_edit_swap(PtxEdit *e, int at, int other, PtxArena *a);
/* A leaf becomes the result number `result`, from 0, of `from`, or a number. */
void ptx_edit_operand(PtxEdit *e, int at, int leaf, int from, int result, PtxArena *a);
void ptx_edit_constant(PtxEdit *e, int at, int leaf, const PtxOperand *number, PtxArena *a);

/* Which instructions are open: not what ends a block, nor what belongs to the call of a function,
** nor what has more operands than leaves. */
bool ptx_is_open(const PtxFunc *f, int i);

#endif
