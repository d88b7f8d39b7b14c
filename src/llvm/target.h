/* target.h - the architectures that LLVM's NVPTX makes PTX for. Private to src/llvm. */
#ifndef GILUA_LLVM_TARGET_H
#define GILUA_LLVM_TARGET_H

#include "llvm/llvm.h"

typedef struct LlvmGoal {
    char cpu[16];         /* "sm_90" */
    const char *features; /* "+ptx83": the version of PTX */
} LlvmGoal;

/* "ptx" (compute_80, as NVRTC's), "compute_90" or "sm_90", with or without an "a" behind. "usage":
** it is none of these, or none that this version of LLVM knows. */
bool llvm_goal(const Llvm *l, const char *target, LlvmGoal *out, gi_err *err);

#endif
