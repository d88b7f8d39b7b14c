/* llvm.h - CUDA source -> LLVM's intermediate representation -> PTX: the other compiler.
**
** clang, a program, parses the source (front.c); LLVM-C, a library that is opened at run time, runs
** passes over its modules and makes PTX (module.c). gilua builds and runs without both. Neither
** needs CUDA's toolkit, but for its mathematical functions (libdevice): a header of our own
** (lua/gilua/include/gilua_llvm.h) stands in for its headers. LLVM 19 and later are known.
**
** What LLVM does to its process when it fails is its own (it may end it): this belongs into workers
** (src/farm). One thread.
*/
#ifndef GILUA_LLVM_H
#define GILUA_LLVM_H

#include "base/base.h"

typedef struct Llvm Llvm;

enum { LLVM_OLDEST = 19, LLVM_NEWEST = 22 }; /* of major versions looked for by name */

/* $GILUA_LLVM (a file or folder; nothing else is tried), then the newest that is in Debian's places
** or on the loader's path. clang is $GILUA_CLANG, else the one of the library's version. "nolib",
** with what to install. The same one again when it is called again; never unloaded. */
Llvm *llvm_open(gi_err *err);
const char *llvm_path(const Llvm *l);    /* of the library */
const char *llvm_version(const Llvm *l); /* "19.1.7" */
const char *llvm_clang(const Llvm *l); /* the path of clang of the same version; NULL: not found */

/* --- the front end --- */

typedef struct LlvmSource {
    const char *text;
    size_t len;
    const char *name;           /* what messages call it */
    const char *target;         /* "ptx", "compute_90" or "sm_90" */
    const char *header;         /* the path of gilua_llvm.h */
    const char *library;        /* bitcode that it may call functions of: libdevice; NULL: none */
    const char *const *options; /* NVRTC's, NULL-ended; those that it has no like of are refused */
    double limit_s;             /* of a processor; 0: none */
} LlvmSource;

typedef enum LlvmFate { LLVM_OK, LLVM_REJECTED, LLVM_TIMEOUT, LLVM_CRASHED } LlvmFate;

typedef struct LlvmFront {
    LlvmFate fate;
    gi_buf bitcode; /* unoptimised */
    gi_buf log;     /* clang's own words */
    int line;       /* of the first error, 0 unknown … */
    char *message;  /* … and the error; or what became of clang. NULL where all is well */
} LlvmFront;

void llvm_front_free(LlvmFront *r);

/* Has clang compile a source for the device. False where clang cannot be asked ("nolib", "io") or
** has nothing like an option or target ("usage"); a source that it does not take is out->fate. */
bool llvm_front(const Llvm *l, const LlvmSource *source, LlvmFront *out, gi_err *err);

/* --- modules --- */

typedef struct LlvmModule LlvmModule;

/* Bitcode or LLVM's assembly language. "format": it is neither. */
LlvmModule *llvm_module_open(Llvm *l, const void *bytes, size_t len, gi_err *err);
void llvm_module_close(LlvmModule *m);

/* Runs passes for a target, in their order: "O0" "O1" "O2" "O3" "Os" "Oz" are the pipelines of
** these levels, all else is the name of a pass as `opt -passes=` takes it; with commas between.
** "" is none. "usage": a name that this LLVM does not know; what came before it was run. */
bool llvm_module_run(LlvmModule *m, const char *passes, const char *target, gi_err *err);

/* Appends PTX for a target. "compile": the back end cannot make it, and why. The module is of no
** more use, but to be closed. */
bool llvm_module_ptx(LlvmModule *m, const char *target, gi_buf *out, gi_err *err);

void llvm_module_write(LlvmModule *m, gi_buf *out); /* bitcode */
void llvm_module_print(LlvmModule *m, gi_buf *out); /* LLVM's assembly language */

#endif
