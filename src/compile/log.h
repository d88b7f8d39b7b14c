/* log.h - NVRTC's log taken apart. Private to src/compile.
**
** A log is a sequence of blocks: a first line `file(12): error: text` (or `ptxas error : text`),
** then wrapped text, the source line and a caret. Other lines are chatter.
*/
#ifndef GILUA_COMPILE_LOG_H
#define GILUA_COMPILE_LOG_H

#include "compile/compile.h"

typedef enum LogKind { LOG_ERROR, LOG_WARNING, LOG_NOTE } LogKind;

typedef struct LogBlock {
    LogKind kind;
    const char *start, *end; /* the whole block, final newline included */
    const char *file;        /* file_len bytes; NULL for ptxas and NVRTC itself */
    size_t file_len;
    int line;         /* 0 unknown */
    const char *text; /* where the words begin, in the first line */
} LogBlock;

/* The next block at or after *p, moving *p behind it; false when there is none. All pointers are
** into the log, which is NUL-terminated. */
bool log_next(const char **p, LogBlock *block);

/* The words of a block as one line, allocated: wrapped text joined, without source and caret. */
char *log_text(const LogBlock *block);

/* Adds the errors and warnings of log to r->messages. Lines count in the file called `name`; a
** message about another file keeps that file's name in its text, and has line 0. */
void log_messages(const char *log, const char *name, CompileResult *r);

#endif
