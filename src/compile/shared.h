/* shared.h - the `__constant__` variables that the units of a call have in common. Private to
** src/compile.
**
** Each variable of a unit lies somewhere in the constant bank, and its instructions hold the place.
** So that equal units have equal machine code, whoever stands beside them, units that declare the
** same constants share one set: the first unit defines them, the others declare them `extern`, on
** the same lines. Only declarations that begin with `__constant__` outside all braces and give no
** value can be shared; the others get tags like every other name.
*/
#ifndef GILUA_COMPILE_SHARED_H
#define GILUA_COMPILE_SHARED_H

#include "base/base.h"

typedef struct Shared {
    gi_buf texts;          /* the declarations, to be compared with another unit's */
    char **names;
    int n_names, cap_names;
    size_t *places;        /* offsets in the source where a declaration begins */
    int n_places, cap_places;
} Shared;

void shared_find(const gi_buf *source, Shared *out); /* *out zeroed */
void shared_free(Shared *s);
bool shared_has(const Shared *s, const char *name);
bool shared_equal(const Shared *a, const Shared *b);
/* Appends the source with its constants declared extern. */
void shared_declare(const Shared *s, const gi_buf *source, gi_buf *out);

#endif
