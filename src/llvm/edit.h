/* edit.h - one function that is being edited: see genes.h. Private to src/llvm. */
#ifndef GILUA_LLVM_EDIT_H
#define GILUA_LLVM_EDIT_H

#include "llvm/func.h"

typedef struct LlvmCopy { /* of an instruction as it was, outside of all blocks */
    LlvmValue *like;      /* its operands that others made are undefined … */
    int *maker; /* … and made by instructions of these numbers; -1: the operand itself */
    int from, n;
} LlvmCopy;

typedef struct LlvmEdit {
    const Llvm *l;
    LlvmBuilder *builder;
    const LlvmFunc *f; /* as it was: numbers are its */
    LlvmValue **now;   /* what a number is now; NULL: gone */
    LlvmValue **place; /* of what is gone: what follows where it was */
    LlvmCopy *copies;
    int n_copies, cap_copies;
} LlvmEdit;

/* Function f of module m, whose numbers are those of f->code. */
void llvm_edit_open(LlvmEdit *e, const LlvmModule *m, const LlvmFunc *f);
void llvm_edit_close(LlvmEdit *e);

/* An instruction that will be copied is to be remembered as it is, before anything changes. */
void llvm_edit_remember(LlvmEdit *e, int from);

void llvm_edit_delete(LlvmEdit *e, int at);
void llvm_edit_replace(LlvmEdit *e, int at, int from); /* by a copy of `from` */
/* A copy of `from` goes before `at`; what it makes is used by operand of `user` where that can be,
** else by the next instruction that reads such a value; user -1: by that. */
void llvm_edit_copy(LlvmEdit *e, int at, int from, int user, int operand);
void llvm_edit_move(LlvmEdit *e, int at, int from); /* `from` goes before `at` */
void llvm_edit_swap(LlvmEdit *e, int at, int other);
void llvm_edit_operand(LlvmEdit *e, int at, int operand, int from);
void llvm_edit_constant(LlvmEdit *e, int at, int operand, const LlvmNumber *number);

/* Is the value there at a place: an argument, a number, or made before it on every path? */
bool llvm_is_there(const Llvm *l, const LlvmFunc *f, LlvmValue *value, LlvmValue *place);

#endif
