/* target.h - the architectures that LLVM's NVPTX makes PTX for. Private to src/llvm. */
#ifndef GILUA_LLVM_TARGET_H
#define GILUA_LLVM_TARGET_H

#include "llvm/llvm.h"

typedef struct LlvmGoal {
    char cpu[16];         /* "sm_90" */
    const char *features; /* "+ptx83": the version of PTX */
} LlvmGoal;

/* "ptx" (compute_80, as NVRTC's), "compute_90" or "sm_90", with or without a final "a". "usage":
** any other text, or a target that this version of LLVM does not know. */
bool llvm_goal(const Llvm *l, const char *target, LlvmGoal *out, gi_err *err);

#endif
