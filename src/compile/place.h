/* place.h - where CUDA's libraries lie on this machine. For src/compile and src/standin alone. */
#ifndef GILUA_COMPILE_PLACE_H
#define GILUA_COMPILE_PLACE_H

#include "base/base.h"

typedef struct Wanted {
    const char *what;            /* "NVRTC of CUDA 12 or 13": for people */
    const char *variable;        /* names its file or folder; then nothing else is tried */
    const char *get;             /* how to have it: the rest of a sentence */
    const char *const *files;    /* "libnvrtc.so.13" …, the best first; NULL-ended */
    bool (*load)(void *context, const char *file); /* true: it is the one */
} Wanted;

/* Tries every file of that name below $CUDA_HOME, $CUDA_PATH, deps/nvrtc beside the program (from
** `make deps`), the site-packages that the program itself lies in, an active virtual environment,
** /usr/local/cuda*, Debian's and pip's places and the loader's path, until one loads. False with
** "nolib" and all places looked at. */
bool place_find(const Wanted *wanted, void *context, gi_err *err);

/* The addresses of functions, in the order of their names; the first that is missing, or NULL. */
typedef struct PlaceSymbol {
    void *slot; /* of a function pointer */
    const char *name;
} PlaceSymbol;
const char *place_symbols(void *handle, const PlaceSymbol *wanted, int n);

/* The path that the loader really used, of a library asked for as `asked`; slot: as above. */
char *place_of(const void *slot, const char *asked);

#endif
