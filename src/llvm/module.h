/* module.h - what a module is made of. Private to src/llvm. */
#ifndef GILUA_LLVM_MODULE_H
#define GILUA_LLVM_MODULE_H

#include "llvm/library.h"
#include "llvm/llvm.h"

struct LlvmModule {
    Llvm *llvm;
    LlvmModule *host;     /* whose copy it is, in whose context; NULL: it has its own */
    LlvmContext *context;
    LlvmCode *code;
    LlvmMachine *machine; /* for `goal`, made when it is first asked for */
    char *goal;
    gi_buf said; /* the first error that LLVM told of */
};

/* A copy in the same context. */
LlvmModule *llvm_module_clone(LlvmModule *m);
/* False ("compile"): LLVM's verifier finds a function, or the module, not well formed. */
bool llvm_module_verify(LlvmModule *m, gi_err *err);

#endif
