/* inside.h - what the files of this room know of each other. Private to src/compile. */
#ifndef GILUA_COMPILE_INSIDE_H
#define GILUA_COMPILE_INSIDE_H

#include "compile/compile.h"
#include "compile/kept.h"

/* For sources that are called `name` and begin with `text`, #include lines: what compile_behind
** takes, until the next call; NULL where these lines are to be compiled with each source. With
** eager: many sources will begin so. */
const char *compile_headers(Compiler *c, const char *text, const char *name,
                            const CompileOptions *options, bool eager);

/* compile_one with the result of compile_headers. What comes of a source is the same with and
** without. */
bool compile_behind(Compiler *c, const char *source, size_t len, const char *name,
                    const CompileOptions *options, const char *headers, CompileResult *out,
                    gi_err *err);

/* Is the result of compile_behind kept (kept.h)? Then fills *out with it. *key is for compile_keep,
** to be called with the result where it is not. What is kept is that of a source without headers
** before it. A name behind '-', which compile_one takes off its own, is that of a batch's unit. */
bool compile_kept(Compiler *c, const char *source, size_t len, const char *name,
                  const CompileOptions *options, KeptKey *key, CompileResult *out);
void compile_keep(const Compiler *c, const KeptKey *key, const CompileResult *r);

/* Appends `text` with every `word` in it replaced. */
void compile_replace(gi_buf *out, const char *text, const char *word, const char *by);

#endif
