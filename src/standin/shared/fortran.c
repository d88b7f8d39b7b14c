/* fortran.c - see fortran.h. */
#include "standin/shared/fortran.h"

#include <dlfcn.h>
#include <stddef.h>

void *fortran_open(const char *const *names) {
    void *found = NULL;
    for (; found == NULL && *names; names++) found = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    void *set_threads = found ? dlsym(found, "openblas_set_num_threads") : NULL;
    if (set_threads) ((void (*)(int))set_threads)(1);
    return found;
}

typedef FortranWord W;
#define FOUR       W, W, W, W
#define PART(p, i) p[i], p[i + 1], p[i + 2], p[i + 3]

void fortran_call(void *routine, const FortranWord *args, int n) {
    W p[FORTRAN_ARGS + 4];
    for (int i = 0; i < FORTRAN_ARGS + 4; i++) p[i] = i < n ? args[i] : 1;
    ((void (*)(FOUR, FOUR, FOUR, FOUR, FOUR, FOUR))routine)(
        PART(p, 0), PART(p, 4), PART(p, 8), PART(p, 12), PART(p, 16), PART(p, 20));
}
