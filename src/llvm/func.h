/* func.h - a function of a module by the numbers of its instructions. Private to src/llvm. */
#ifndef GILUA_LLVM_FUNC_H
#define GILUA_LLVM_FUNC_H

#include "llvm/genes.h"
#include "llvm/module.h"

/* What LLVM-C's headers call LLVMOpcode and LLVMTypeKind. */
enum {
    LLVM_RET = 1,
    LLVM_BR = 2,
    LLVM_SWITCH = 3,
    LLVM_ALLOCA = 26,
    LLVM_GEP = 29,
    LLVM_ICMP = 42,
    LLVM_FCMP = 43,
    LLVM_PHI = 44,
    LLVM_CALL = 45,
    LLVM_TYPE_VOID = 0,
    LLVM_TYPE_FLOAT = 2,
    LLVM_TYPE_DOUBLE = 3,
    LLVM_TYPE_HALF = 1,
    LLVM_TYPE_LABEL = 7,
    LLVM_TYPE_INTEGER = 8,
    LLVM_TYPE_METADATA = 14,
    LLVM_TYPE_TOKEN = 16,
};

/* Blocks and the dominator tree are the same whatever the genes: no gene changes
** where a branch goes. */
typedef struct LlvmFunc {
    LlvmValue *value;
    char *name;
    int n, n_blocks;
    LlvmValue **code;   /* in order */
    LlvmBlock **blocks; /* in order */
    int *block;         /* of each instruction */
    int *first;         /* instruction of each block; one more for the end */
    int *idom;          /* of each block; its own number at the entry; -1: no path leads there */
    int *depth;         /* in that tree */
} LlvmFunc;

/* All functions of a module that have a body, in its order. */
LlvmFunc *llvm_funcs(const LlvmModule *m, int *n);
void llvm_funcs_free(LlvmFunc *f, int n);

int llvm_block_number(const LlvmFunc *f, LlvmBlock *block);
bool llvm_block_dominates(const LlvmFunc *f, int a, int b);

bool llvm_is_terminator(const Llvm *l, LlvmValue *v);
bool llvm_is_phi(const Llvm *l, LlvmValue *v);
bool llvm_is_void(const Llvm *l, LlvmValue *v);
/* May the operand become another value of its type? Not what is called, where a branch goes, what
** an intrinsic wants as a number at once. */
bool llvm_is_replaceable(const Llvm *l, LlvmValue *user, int operand);
/* Where the operand must be there: the instruction itself; of a phi the end of the block that it
** comes from. */
LlvmValue *llvm_use_place(const Llvm *l, LlvmValue *user, int operand);

/* --- matching (names.c) --- */

/* to[i]: the instruction of `other` that is base's i; -1: none surely is. */
void llvm_match(const Llvm *l, const LlvmFunc *base, const LlvmFunc *other, int *to);

/* --- base.c --- */

struct LlvmBase {
    LlvmModule *m;
    LlvmFunc *funcs;
    int n_funcs;
};

/* Appends why a gene is illegal; nothing where it is not. */
void llvm_gene_reason(const LlvmBase *b, const LlvmGene *g, gi_buf *why);

LlvmValue *llvm_number(const Llvm *l, LlvmType *type, const LlvmNumber *n); /* NULL: not of it */

#endif
