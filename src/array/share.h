/* share.h - arrays in memory that several processes see: a case is built once, not once a worker.
**
** A share is a memory file (memfd): a table of the arrays' types and shapes, then their elements,
** each array on a 64-byte boundary. It is sealed when it is made: nobody can shrink, grow or write
** it afterwards, so a process that maps it can neither be hurt nor be fooled by another one.
** Its descriptor travels between processes (src/farm); whoever gets one checks seals and table
** before it believes them.
**
** The arrays of a share are private views (MAP_PRIVATE): they are ordinary arrays, a process may
** write to its own, and only the pages it writes are copied. They outlive the share.
** Reference counted; for one thread at a time, like arrays.
*/
#ifndef GILUA_SHARE_H
#define GILUA_SHARE_H

#include "array/array.h"

#define SHARE_MAX_ARRAYS 4096

typedef struct Share Share;

/* Copies n arrays (1 … SHARE_MAX_ARRAYS) into a new share with one reference; NULL: "usage",
** "io" (no descriptor left), "nomem". */
Share *share_new(Array *const *arrays, int n, gi_err *err);
/* A share out of a descriptor, which it takes over, on failure too (then it is closed). NULL:
** "format" when it is no sealed share or its table is nonsense. Any bytes are safe. */
Share *share_from_fd(int fd, gi_err *err);
Share *share_ref(Share *s);
void share_unref(Share *s); /* closes the descriptor with the last one; NULL is fine */

int share_fd(const Share *s); /* close-on-exec, never 0, 1 or 2 */
size_t share_bytes(const Share *s);
int share_count(const Share *s);
/* Fills out[0 … share_count-1] with arrays over one new private view; false ("nomem") leaves it. */
bool share_arrays(const Share *s, Array **out, gi_err *err);

#endif
