/* standin.h - what the stand-ins of closed libraries share. */
#ifndef GILUA_STANDIN_STANDIN_H
#define GILUA_STANDIN_STANDIN_H

#include "runtime/work.h"

/* Defines a function that is not here: it says so by its name, once, and returns the status. */
#define STANDIN_MISSING(function, status_name, status)            \
    EXPORT(function, void) {                                      \
        static bool told;                                         \
        gilua_work_unsupported(#function, status_name, &told);    \
        return status;                                            \
    }

/* Opens NVIDIA's own library where CUDA's toolkit is on this machine, for what it computes on the
** host. file: "libcurand.so.10"; own: a function of the stand-in, whose name the library has, too.
** NULL where there is none. */
void *standin_nvidia(const char *file, const char *name, void *own);

#endif
