/* reach.h - what NVRTC may open while it compiles. Private to src/compile. */
#ifndef GILUA_COMPILE_REACH_H
#define GILUA_COMPILE_REACH_H

#include "compile/library.h"

/* The path in an option that names a folder or a file to read, NULL in others. */
const char *reach_path(const char *option);

/* NVRTC's compile, by a thread that can read the folders that the options name (-I, -include),
** CUDA's headers among them, and NVRTC's own files - and write nothing. However an #include is
** spelt, and whatever the file that it names includes in turn, the kernel refuses the rest; NVRTC
** says that it cannot open it. With headers that it keeps (headers.h) it may also read and write
** below $TMPDIR. Where the kernel has no Landlock nothing is refused. */
int reach_compile(const Library *l, Program *p, int n, const char *const *options);

#endif
