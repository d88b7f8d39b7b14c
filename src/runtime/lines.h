/* lines.h - the function and the source line of an address in a program's file: an ELF file of
** this machine, with a symbol table and DWARF line tables (versions 2 to 5) where it has them.
**
** Any bytes are safe: every offset and length is checked. What is missing, compressed or broken is
** as if it was not there.
*/
#ifndef GILUA_RUNTIME_LINES_H
#define GILUA_RUNTIME_LINES_H

#include "base/base.h"

typedef struct LinesFile LinesFile;

/* NULL: it is no such file. */
LinesFile *lines_open(const char *path);
void lines_close(LinesFile *f);

/* The function around an address of the file, where it begins and its bytes; NULL: unknown. */
const char *lines_function(const LinesFile *f, uint64_t address, uint64_t *start, uint64_t *size);
/* The source line of an address, and its file, "dir/name" as the compiler was given it; 0:
** unknown. */
int lines_line(const LinesFile *f, uint64_t address, char *name, size_t cap);

/* A call that the compiler replaced by the code of its function. */
typedef struct LinesCall {
    int line;
    char file[150];
} LinesCall;

/* Those around an address, the innermost first; their number, at most `most`. */
int lines_inlined(const LinesFile *f, uint64_t address, LinesCall *calls, int most);

#endif
