/* library.h - finds NVRTC on this machine and loads it. Private to src/compile. */
#ifndef GILUA_COMPILE_LIBRARY_H
#define GILUA_COMPILE_LIBRARY_H

#include "base/base.h"

typedef struct Program Program; /* NVRTC's own: one source being compiled */

enum { NVRTC_OK = 0, NVRTC_INVALID_OPTION = 5, NVRTC_COMPILATION = 6 }; /* nvrtcResult */
enum { LIBRARY_INCLUDES = 5 };

typedef struct Library {
    void *handle;
    char *path;
    char *includes[LIBRARY_INCLUDES]; /* of CUDA's headers that belong to it: the folder of
                                       * cuda_fp16.h, then those of what it includes; NULL-ended */
    int (*version)(int *major, int *minor);
    int (*num_archs)(int *n);
    int (*archs)(int *list);
    int (*create)(Program **, const char *source, const char *name, int n_headers,
                  const char *const *headers, const char *const *header_names);
    int (*destroy)(Program **);
    int (*compile)(Program *, int n, const char *const *options);
    int (*ptx_size)(Program *, size_t *);
    int (*ptx)(Program *, char *);
    int (*cubin_size)(Program *, size_t *);
    int (*cubin)(Program *, char *);
    int (*log_size)(Program *, size_t *);
    int (*log)(Program *, char *);
    const char *(*error_string)(int result);
    int (*headers_status)(Program *); /* were they precompiled? NULL before 12.8 */
} Library;

/* Fills *lib, or fails with "nolib" and every place looked at. */
bool library_open(Library *lib, gi_err *err);
void library_close(Library *lib);

#endif
