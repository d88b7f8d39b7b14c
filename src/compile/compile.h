/* compile.h - CUDA source -> PTX or machine code through NVRTC, which is loaded at run time.
**
** NVRTC needs no GPU. CUDA 12 and 13 are known. One process, one compile at a time (NVRTC holds a
** lock): parallelism is processes (src/farm). Only this room knows NVRTC.
*/
#ifndef GILUA_COMPILE_H
#define GILUA_COMPILE_H

#include "base/base.h"

typedef struct Compiler Compiler;

/* Finds and loads libnvrtc: $GILUA_NVRTC (a file or folder; nothing else is tried), $CUDA_HOME,
** $CUDA_PATH, deps/nvrtc beside the program (from `make deps`), an active virtual environment,
** /usr/local/cuda*, Debian's and pip's places, the loader's path.
** "nolib" with all places looked at when there is none. One per process; opening again is cheap. */
Compiler *compile_open(gi_err *err);
void compile_close(Compiler *c);
/* From now on, what many sources begin with may be compiled once (headers.h): headers as large as
** those of cooperative groups then cost a tenth. PTX, machine code and messages are the same. NVRTC
** writes to $TMPDIR for it, which must be nobody else's; nothing stays there. Of a source alone
** those count that stay as they are: CUDA's, and those of `standing`, a folder, unless it is NULL.
** False where there is no $TMPDIR, or NVRTC is older than 12.8. */
bool compile_keep_headers(Compiler *c, const char *standing);
bool compile_can_keep_headers(const Compiler *c); /* NVRTC 12.8 or later */
int compile_spared(const Compiler *c); /* calls of NVRTC that had their headers from there */
/* The folder that $GILUA_COMPILED names, in which what NVRTC made is kept for later processes
** (kept.h); it is made where it is missing. NULL where there is no such variable, somebody else may
** write in the folder, or the kernel has no Landlock: then nothing is kept. */
const char *compile_kept_folder(void);
/* What NVRTC has said here of a failure of its own (an internal error, no memory left); NULL while
** it has not. It lives as long as the process and keeps what it takes, so such a failure may be due
** to all that was compiled before: then only another process tells what a source is worth. */
const char *compile_trouble(const Compiler *c);
const char *compile_path(const Compiler *c);    /* of the library in use */
/* The folders of CUDA's headers beside it, that of cuda_fp16.h first; NULL-ended. */
const char *const *compile_includes(const Compiler *c);
void compile_version(const Compiler *c, int *major, int *minor);
/* Compute capabilities it can target (75, 80, …), ascending; 0-ended. */
const int *compile_targets(const Compiler *c);

/* What "ptx" means: the oldest architecture with everything that today's kernels ask for (bf16,
** warp-wide redux), known to CUDA 12 and 13 alike; every later GPU runs it. */
#define COMPILE_PTX_ARCH "compute_80"

/* The path of libdevice.10.bc, CUDA's mathematical functions as LLVM's bitcode, which comes with
** the toolkit and needs no NVRTC: $GILUA_LIBDEVICE (a file or folder), else in NVRTC's places.
** NULL with "nolib". */
const char *compile_libdevice(gi_err *err);
/* The path of CUPTI, CUDA's library for tools, which comes with the toolkit; NULL: "nolib". */
const char *compile_cupti(gi_err *err);

typedef struct CompileOptions {
    const char *target;          /* "ptx", "compute_90" (PTX) or "sm_90" (machine code) */
    const char *const *defines;  /* "NAME=VALUE" or "NAME"; NULL-ended; may be NULL */
    const char *const *includes; /* folders; NULL-ended */
    const char *const *options;  /* more NVRTC options; NULL-ended. Those that write files, or read
                                  * compiled ones, are refused ("usage") */
    bool line_info;              /* -lineinfo, for messages with source lines (PTX) */
} CompileOptions;

typedef struct CompileMessage {
    int line; /* in the unit's source, from 1; 0 unknown */
    bool is_error;
    char *text; /* one line, without file and line */
} CompileMessage;

typedef struct CompileResult {
    bool ok;
    gi_buf code;        /* PTX text or machine code */
    gi_buf ptx;         /* compile_one to machine code: the PTX it was made from */
    gi_buf log;         /* NVRTC's own words about this unit */
    int image;          /* compile_batch to machine code: where it is, and … */
    char tag[24];       /* … what the unit's names end with there */
    uint64_t code_hash; /* … and of its kernel's code; 0: no such kernel */
    CompileMessage *messages;
    int n_messages;
} CompileResult;

void compile_result_free(CompileResult *r);

/* Compiles one source. False only when NVRTC itself fails ("nolib", "driver", "usage": an option
** it refuses); source that does not compile is out->ok = false with messages. `name` is what the
** log calls the file. */
bool compile_one(Compiler *c, const char *source, size_t len, const char *name,
                 const CompileOptions *options, CompileResult *out, gi_err *err);

typedef struct CompileUnit {
    const char *source;
    size_t len;
    const char *const *names; /* top-level names to keep apart from other units', NULL-ended */
    const char *kernel;       /* whose code_hash is wanted; may be NULL */
} CompileUnit;

typedef struct CompileImages { /* machine code, one for each successful call of NVRTC */
    gi_buf *v;
    int n, cap;
} CompileImages;

void compile_images_free(CompileImages *images);

/* Compiles n units in one NVRTC call: each unit's top-level names get a tag of fixed width, and
** the PTX is taken apart again, tag removed, into one module a unit - the very text that the unit
** gives when it is compiled alone by compile_batch, whatever stood beside it (so that equal mutants
** have equal PTX). An error is attributed to its unit by file name in the log; the others are
** compiled again without it.
**
** To machine code: a unit's `code` is its PTX all the same, and its machine code is in
** images->v[out->image], where what the unit calls K is called K followed by out->tag. Only plain
** `__constant__` variables that all units of a call declare alike are common to them and keep
** their names: so the constant bank is laid out as for one unit alone, and a unit's machine code
** does not depend on its company. images is NULL for a PTX target.
**
** Kernels with equal code_hash do the same, and a unit's hash does not depend on its company.
** Where a unit has variables that cannot be common (`__device__`, static, of a type of its own) or
** calls the driver's functions (printf, malloc), its instructions hold places that differ from
** image to image: then the hash is one of its PTX and the options. */
bool compile_batch(Compiler *c, const CompileUnit *units, int n, const CompileOptions *options,
                   CompileResult *out, CompileImages *images, gi_err *err);

#endif
