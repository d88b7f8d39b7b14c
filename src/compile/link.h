/* link.h - PTX -> machine code through nvJitLink, which is loaded at run time.
**
** For PTX that no source stands behind (edited, recorded), for several modules that need each
** other, and for machine code of what is worth it only: NVRTC makes both in one go. Needs no GPU.
** It must be at least as new as the PTX.
*/
#ifndef GILUA_COMPILE_LINK_H
#define GILUA_COMPILE_LINK_H

#include "base/base.h"

typedef struct Linker Linker;

/* $GILUA_NVJITLINK (a file or folder; nothing else is tried), then the places of NVRTC. "nolib"
** with all places looked at when there is none. Never unloaded; opening again is cheap. */
Linker *link_open(gi_err *err);
void link_close(Linker *l);
const char *link_path(const Linker *l); /* of the library in use */
void link_version(const Linker *l, int *major, int *minor);

typedef struct LinkModule {
    const char *ptx;
    size_t len;
    const char *name; /* what the log calls it; may be NULL */
} LinkModule;

typedef struct LinkResult {
    bool ok;
    gi_buf code; /* machine code */
    gi_buf log;  /* its own words: why not, or warnings */
} LinkResult;

void link_result_free(LinkResult *r);

/* Assembles n modules and links them into one image for `target` ("sm_90"). `options`: more of
** nvJitLink's ("-maxrregcount=32"), NULL-ended, may be NULL. False only where nvJitLink itself
** fails or is misused ("usage": a target or option that it refuses; "driver"); PTX that it does
** not take is out->ok = false with its log. Names of different modules are for the caller to keep
** apart: of two kernels with one name nvJitLink takes the first, and says so on standard error
** alone. */
bool link_ptx(Linker *l, const LinkModule *modules, int n, const char *target,
              const char *const *options, LinkResult *out, gi_err *err);

/* Registers that a thread of the kernel has on an sm_90, by ptxas (nvJitLink); 0: not known. */
int link_registers(const char *ptx, size_t len, const char *kernel);
/* Bytes of stack that a call of the function takes there, by ptxas (nvJitLink); -1: not known. */
int link_frame(const char *ptx, size_t len, const char *function);

#endif
