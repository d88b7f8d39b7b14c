/* values.h - long lists of numbers that arrays begin with, kept from NVRTC. Private to src/compile.
**
** NVRTC takes 1.6 s of a processor for an array of 355 000 numbers, with each mutant of the kernel
** again. The values of a `__device__` or `__constant__` array change no other line of the PTX: the
** host may write such an array before the launch, so none of them is folded into code. values_take
** leaves the lists out of a source, on as many lines as before, and works out their bytes;
** values_give writes these into the PTX, as NVRTC would have written them.
**
** A list is taken where all of it is understood: of a declaration alone in the file's scope, with a
** built-in type, no const, no #if around it, sizes in figures, and numbers in figures that fit the
** type. Every other list is NVRTC's, with what it has to say of it.
**
** Limits: no braces in the list, so a table of rows goes its old way; nor one of char literals.
*/
#ifndef GILUA_COMPILE_VALUES_H
#define GILUA_COMPILE_VALUES_H

#include "base/base.h"

enum { VALUES_LONG = 64 << 10 }; /* characters of a list that is worth it */

typedef struct ValuesArray { /* one that has lost its list */
    char *name;
    unsigned char *bytes;
    size_t size;
} ValuesArray;

typedef struct Values { /* zero: none */
    ValuesArray *v;
    int n, cap;
} Values;

/* The source without its long lists, to be freed; NULL where it has none that is taken. */
char *values_take(const char *source, size_t len, Values *out);

/* Writes the bytes into the PTX of what values_take gave. False where an array is not found by its
** name and size: a macro may have renamed it, and the source is to be compiled as it is. */
bool values_give(const Values *values, gi_buf *ptx);
void values_free(Values *values);

#endif
