/* shared.h - the `__constant__` variables that the units of a call have in common. Private to
** src/compile.
**
** Each variable of a unit lies somewhere in the constant bank, and its instructions hold the place.
** So that equal units have equal machine code, whoever stands beside them, units that declare the
** same constants share one set: the first unit defines them, the others declare them `extern`, on
** the same lines. What is shared must mean the same in every unit that has the same text: only
** declarations outside all braces and #if that begin with `__constant__`, are neither const nor
** static, name no type of the unit's own, and give no value but one of literals. The others get
** tags like every other name. An array's extent may be a macro: where it differs, the compiler says
** so and the units end up in calls of their own.
*/
#ifndef GILUA_COMPILE_SHARED_H
#define GILUA_COMPILE_SHARED_H

#include "base/base.h"

typedef struct SharedEdit { /* [from, to) of the source: a value; or, empty, where extern goes */
    size_t from, to;
} SharedEdit;

typedef struct Shared {
    gi_buf texts; /* the declarations, to be compared with another unit's */
    char **names; /* NULL-ended once there is one */
    int n_names, cap_names;
    SharedEdit *edits; /* ascending */
    int n_edits, cap_edits;
} Shared;

/* own: the unit's top-level names, NULL-ended or NULL. *out zeroed. */
void shared_find(const gi_buf *source, const char *const *own, Shared *out);
void shared_free(Shared *s);
bool shared_has(const Shared *s, const char *name, size_t len);
bool shared_equal(const Shared *a, const Shared *b);
/* Appends the source with its constants declared extern. */
void shared_declare(const Shared *s, const gi_buf *source, gi_buf *out);
/* Does a name stand outside all braces and #if? What is declared has to. */
bool shared_stands(const gi_buf *source, const char *name);

#endif
