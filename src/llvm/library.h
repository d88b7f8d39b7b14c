/* library.h - finds LLVM on this machine and loads it. Private to src/llvm.
**
** LLVM-C as of version 19: its types are pointers to what only LLVM knows, its numbers those of its
** headers (llvm-c/Core.h, TargetMachine.h), which are not needed to build.
*/
#ifndef GILUA_LLVM_LIBRARY_H
#define GILUA_LLVM_LIBRARY_H

#include "base/base.h"

typedef struct LlvmContext LlvmContext; /* LLVM's own, as all of these */
typedef struct LlvmCode LlvmCode;       /* a module */
typedef struct LlvmType LlvmType;
typedef struct LlvmValue LlvmValue;
typedef struct LlvmBlock LlvmBlock;
typedef struct LlvmUse LlvmUse;
typedef struct LlvmBuilder LlvmBuilder;
typedef struct LlvmMemory LlvmMemory;
typedef struct LlvmTarget LlvmTarget;
typedef struct LlvmMachine LlvmMachine;
typedef struct LlvmError LlvmError;
typedef struct LlvmPassOptions LlvmPassOptions;
typedef struct LlvmDiagnostic LlvmDiagnostic;

/* X(result, name without "LLVM", parameters). A result that is an int is 0 where all went well, but
** for those that are asked something. */
#define LLVM_FUNCTIONS(X)                                                                          \
    X(void, GetVersion, (unsigned *, unsigned *, unsigned *))                                      \
    X(void, InitializeNVPTXTargetInfo, (void))                                                     \
    X(void, InitializeNVPTXTarget, (void))                                                         \
    X(void, InitializeNVPTXTargetMC, (void))                                                       \
    X(void, InitializeNVPTXAsmPrinter, (void))                                                     \
    X(int, GetTargetFromTriple, (const char *, LlvmTarget **, char **))                            \
    X(LlvmMachine *, CreateTargetMachine,                                                          \
      (LlvmTarget *, const char *, const char *, const char *, int, int, int))                     \
    X(void, DisposeTargetMachine, (LlvmMachine *))                                                 \
    X(int, TargetMachineEmitToMemoryBuffer,                                                        \
      (LlvmMachine *, LlvmCode *, int, char **, LlvmMemory **))                                    \
    X(LlvmContext *, ContextCreate, (void))                                                        \
    X(void, ContextDispose, (LlvmContext *))                                                       \
    X(void, ContextSetDiagnosticHandler,                                                           \
      (LlvmContext *, void (*)(LlvmDiagnostic *, void *), void *))                                 \
    X(char *, GetDiagInfoDescription, (LlvmDiagnostic *))                                          \
    X(int, GetDiagInfoSeverity, (LlvmDiagnostic *))                                                \
    X(LlvmMemory *, CreateMemoryBufferWithMemoryRangeCopy,                                         \
      (const char *, size_t, const char *))                                                        \
    X(const char *, GetBufferStart, (LlvmMemory *))                                                \
    X(size_t, GetBufferSize, (LlvmMemory *))                                                       \
    X(void, DisposeMemoryBuffer, (LlvmMemory *))                                                   \
    X(int, ParseIRInContext, (LlvmContext *, LlvmMemory *, LlvmCode **, char **))                  \
    X(LlvmMemory *, WriteBitcodeToMemoryBuffer, (LlvmCode *))                                      \
    X(char *, PrintModuleToString, (LlvmCode *))                                                   \
    X(void, DisposeModule, (LlvmCode *))                                                           \
    X(void, DisposeMessage, (char *))                                                              \
    X(LlvmPassOptions *, CreatePassBuilderOptions, (void))                                         \
    X(void, DisposePassBuilderOptions, (LlvmPassOptions *))                                        \
    X(LlvmError *, RunPasses, (LlvmCode *, const char *, LlvmMachine *, LlvmPassOptions *))        \
    X(char *, GetErrorMessage, (LlvmError *))                                                      \
    X(void, DisposeErrorMessage, (char *))                                                         \
    X(LlvmCode *, CloneModule, (LlvmCode *))                                                       \
    X(int, VerifyModule, (LlvmCode *, int, char **))                                               \
    X(int, VerifyFunction, (LlvmValue *, int))                                                     \
    X(LlvmValue *, GetFirstFunction, (LlvmCode *))                                                 \
    X(LlvmValue *, GetNextFunction, (LlvmValue *))                                                 \
    X(const char *, GetValueName2, (LlvmValue *, size_t *))                                        \
    X(unsigned, CountBasicBlocks, (LlvmValue *))                                                   \
    X(void, GetBasicBlocks, (LlvmValue *, LlvmBlock **))                                           \
    X(unsigned, CountParams, (LlvmValue *))                                                        \
    X(LlvmValue *, GetParam, (LlvmValue *, unsigned))                                              \
    X(LlvmValue *, GetFirstInstruction, (LlvmBlock *))                                             \
    X(LlvmValue *, GetLastInstruction, (LlvmBlock *))                                              \
    X(LlvmValue *, GetNextInstruction, (LlvmValue *))                                              \
    X(LlvmValue *, GetPreviousInstruction, (LlvmValue *))                                          \
    X(LlvmBlock *, GetInstructionParent, (LlvmValue *))                                            \
    X(LlvmValue *, GetBasicBlockTerminator, (LlvmBlock *))                                         \
    X(unsigned, GetNumSuccessors, (LlvmValue *))                                                   \
    X(LlvmBlock *, GetSuccessor, (LlvmValue *, unsigned))                                          \
    X(int, GetInstructionOpcode, (LlvmValue *))                                                    \
    X(int, GetICmpPredicate, (LlvmValue *))                                                        \
    X(int, GetFCmpPredicate, (LlvmValue *))                                                        \
    X(int, GetNumOperands, (LlvmValue *))                                                          \
    X(LlvmValue *, GetOperand, (LlvmValue *, unsigned))                                            \
    X(void, SetOperand, (LlvmValue *, unsigned, LlvmValue *))                                      \
    X(LlvmBlock *, GetIncomingBlock, (LlvmValue *, unsigned))                                      \
    X(LlvmUse *, GetFirstUse, (LlvmValue *))                                                       \
    X(LlvmUse *, GetNextUse, (LlvmUse *))                                                          \
    X(LlvmValue *, GetUser, (LlvmUse *))                                                           \
    X(LlvmValue *, InstructionClone, (LlvmValue *))                                                \
    X(void, InstructionEraseFromParent, (LlvmValue *))                                             \
    X(void, InstructionRemoveFromParent, (LlvmValue *))                                            \
    X(void, DeleteInstruction, (LlvmValue *))                                                      \
    X(LlvmBuilder *, CreateBuilderInContext, (LlvmContext *))                                      \
    X(void, DisposeBuilder, (LlvmBuilder *))                                                       \
    X(void, PositionBuilderBefore, (LlvmBuilder *, LlvmValue *))                                   \
    X(void, SetCurrentDebugLocation2, (LlvmBuilder *, void *))                                     \
    X(void, InsertIntoBuilder, (LlvmBuilder *, LlvmValue *))                                       \
    X(void, ReplaceAllUsesWith, (LlvmValue *, LlvmValue *))                                        \
    X(LlvmType *, TypeOf, (LlvmValue *))                                                           \
    X(int, GetTypeKind, (LlvmType *))                                                              \
    X(unsigned, GetIntTypeWidth, (LlvmType *))                                                     \
    X(LlvmType *, GetAllocatedType, (LlvmValue *))                                                 \
    X(char *, PrintValueToString, (LlvmValue *))                                                   \
    X(char *, PrintTypeToString, (LlvmType *))                                                     \
    X(LlvmValue *, ConstInt, (LlvmType *, unsigned long long, int))                                \
    X(LlvmValue *, ConstReal, (LlvmType *, double))                                                \
    X(LlvmValue *, ConstNull, (LlvmType *))                                                        \
    X(LlvmValue *, GetUndef, (LlvmType *))                                                         \
    X(LlvmValue *, IsAInstruction, (LlvmValue *))                                                  \
    X(LlvmValue *, IsAFunction, (LlvmValue *))                                                     \
    X(LlvmValue *, IsAArgument, (LlvmValue *))                                                     \
    X(LlvmValue *, IsAConstant, (LlvmValue *))                                                     \
    X(LlvmValue *, IsAConstantInt, (LlvmValue *))                                                  \
    X(LlvmValue *, IsAConstantFP, (LlvmValue *))                                                   \
    X(long long, ConstIntGetSExtValue, (LlvmValue *))                                              \
    X(double, ConstRealGetDouble, (LlvmValue *, int *))                                            \
    X(LlvmValue *, GetCalledValue, (LlvmValue *))                                                  \
    X(unsigned, GetEnumAttributeKindForName, (const char *, size_t))                               \
    X(void *, GetEnumAttributeAtIndex, (LlvmValue *, unsigned, unsigned))                          \
    X(unsigned, GetDebugLocLine, (LlvmValue *))                                                    \
    X(const char *, GetDebugLocFilename, (LlvmValue *, unsigned *))

#define LLVM_MEMBER(result, name, parameters) result(*name) parameters;

struct Llvm {
    void *handle;
    char *path;        /* of the library */
    char *clang;       /* of the compiler of that version; NULL: none */
    unsigned major, minor, patch;
    LLVM_FUNCTIONS(LLVM_MEMBER)
};

enum {
    LLVM_OPTIMISE_MOST = 3, /* LLVMCodeGenLevelAggressive: clang's -O3 */
    LLVM_RELOC_DEFAULT = 0,
    LLVM_CODE_MODEL_DEFAULT = 0,
    LLVM_ASSEMBLY_FILE = 0,
    LLVM_RETURN_STATUS = 2, /* LLVMReturnStatusAction */
    LLVM_SEVERITY_ERROR = 0,
};

#endif
