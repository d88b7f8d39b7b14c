/* split.h - the PTX of many units taken apart into one module each. Private to src/compile.
**
** A unit's names carry its tag, `__gilua0007` (its source file is called kernel__gilua0007.cu),
** which NVRTC carries through mangling into every name, data string and .file line that comes
** from it.
*/
#ifndef GILUA_COMPILE_SPLIT_H
#define GILUA_COMPILE_SPLIT_H

#include "base/base.h"

#define SPLIT_TAG "__gilua"
enum { SPLIT_DIGITS = 4, SPLIT_TAG_LEN = sizeof SPLIT_TAG - 1 + SPLIT_DIGITS, SPLIT_MAX = 10000 };

/* Text without the tags in it, appended to out. */
void split_untag(const char *text, size_t len, gi_buf *out);

/* Appends to out[i] the module of the unit tagged i, for i in 0 … n-1: the same text whatever the
** other units are. Items of no unit go to each unit that refers to them. */
void split_ptx(const char *ptx, size_t len, int n, gi_buf *const *out);

#endif
