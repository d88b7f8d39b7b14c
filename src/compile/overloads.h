/* overloads.h - what nvcc takes of <cmath> and NVRTC does not. Private to src/compile.
**
** nvcc compiles device code behind the host compiler's <cmath>. There every function of C's
** mathematics takes any arithmetic arguments: an integer counts as a double, and the widest
** argument decides ([cmath.syn], C++11 and later). NVRTC has the versions for float and for double
** alone, so `fmod(x, 2)` of a float is a float there and a double with nvcc, and `pow(i, 2)` of
** integers is ambiguous. The header gives NVRTC the others, as templates: the plain functions win
** where they fit exactly, so that a kernel that calls these alone has the same PTX as without.
**
** pow is another matter: NVRTC has pow(float, int) and pow(double, int) as plain functions, which
** multiply and round otherwise, and no template wins against these. So the name is a macro for one
** of our own, gilua_pow, in a user's own definitions as well; compile.c takes it out of messages.
**
** Each costs NVRTC some 0.08 ms, so a source gets those that it mentions, or all if it includes
** anything.
**
** Limits: isnan, isinf, isfinite and signbit of a float or double are int with NVRTC and bool with
** nvcc (0 or 1 both). remquo, hypot of three arguments, isgreater, isnormal, fpclassify and their
** like are left out: nvcc refuses them in a kernel, or makes nothing of them. A long double is a
** double.
*/
#ifndef GILUA_COMPILE_OVERLOADS_H
#define GILUA_COMPILE_OVERLOADS_H

#include "base/base.h"

#define OVERLOADS_NAME "gilua_math.h"
#define OVERLOADS_POW  "gilua_pow"

enum { OVERLOADS_MOST = 64 }; /* functions; room for their flags */

/* Sets the flags of the functions that a text mentions; of all where it includes a file. */
void overloads_note(const char *text, bool *wanted);
/* Appends the header with these functions to *out, which becomes a string, maybe an empty one. */
void overloads_write(const bool *wanted, gi_buf *out);

#endif
