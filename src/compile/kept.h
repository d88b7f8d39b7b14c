/* kept.h - the PTX that NVRTC made of a source, kept in a folder for later compilations of it.
** Private to src/compile.
**
** Only $GILUA_COMPILED switches it on: it names the folder. An entry is a file named by SHA-256 of
** all that NVRTC's answer depends on: the library, the options, the source and every header that it
** may include, found again each time. CUDA's own headers count as part of the library, by the name
** and the date of their folder. An entry begins with SHA-256 of its name and its content: one that
** is torn, changed or renamed, or that somebody else may read or write, is passed over. It has mode
** 0600 and is moved into its place. Beyond KEPT_BYTES the oldest go when a process adds its first.
**
** Nothing is kept where it is unknown what NVRTC reads: without Landlock (reach.h), with a macro in
** place of a name or an unusual spelling, an absolute path or __has_include, a header that an
** option puts before the source, a folder of more than KEPT_MOST entries, or more than KEPT_READ
** bytes of headers; nor where a text speaks of the time or counts (__COUNTER__). PTX names the
** current folder in its lines .file: an entry does for every folder.
**
** Of a batch each unit has an entry: whatever company it has in a later batch, it is not compiled
** again.
**
** Limits: what compiles can write there, so the folder is for sources that its user trusts. Only
** NVRTC's part is spared: what is made of its answer is done anew.
*/
#ifndef GILUA_COMPILE_KEPT_H
#define GILUA_COMPILE_KEPT_H

#include "compile/compile.h"

enum { KEPT_MOST = 500, KEPT_READ = 4 << 20, KEPT_BYTES = 1 << 30 };

typedef struct KeptKey {
    char hex[65]; /* "" where nothing can be kept */
} KeptKey;

/* `library` is NVRTC's file, `own` are the folders of CUDA's headers, NULL-ended; `options` are all
** n that NVRTC is given, `name` is what the source is called, `text` the source and what is put
** before it. */
KeptKey kept_key(const char *library, const char *const *own, int n, const char *const *options,
                 const char *name, const char *text);

/* Fills ok, code and log; false where there is no such entry. */
bool kept_read(const KeptKey *key, CompileResult *out);

/* Keeps these; where that fails nothing is kept. */
void kept_write(const KeptKey *key, const CompileResult *r);

#endif
