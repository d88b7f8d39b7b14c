/* place.h - where in the program the call stands that runs now: its source line from the program's
** own debug information, else its function and the distance from its beginning, else the address
** in its file. */
#ifndef GILUA_RUNTIME_PLACE_H
#define GILUA_RUNTIME_PLACE_H

#include <stdbool.h>

typedef struct Place {
    char text[300]; /* "a.cu line 14, in main" */
    int line;       /* 0: unknown */
    bool may_use;   /* the program may look at what the call returns (used.h) */
} Place;

/* Valid until the next call. Skips CUDA's own inline functions and the stand-ins of kernels. */
const Place *place_of_call(void);
/* Where an instruction of the program stands; may_use is not set. */
Place place_at(const void *code);
/* The call launches this kernel: lines of its definition, inlined there, are not the call's. */
void place_launches(const void *kernel);

#endif
