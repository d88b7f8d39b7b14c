/* module.h - what a module is made of. Private to src/llvm. */
#ifndef GILUA_LLVM_MODULE_H
#define GILUA_LLVM_MODULE_H

#include "llvm/library.h"
#include "llvm/llvm.h"

struct LlvmModule {
    Llvm *llvm;
    LlvmContext *context; /* its own */
    LlvmCode *code;
    LlvmMachine *machine; /* for `goal`, made when it is first asked for */
    char *goal;
    gi_buf said; /* the first error that LLVM told of */
};

#endif
