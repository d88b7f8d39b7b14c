/* libdevice.c - see compile.h: where CUDA's mathematical functions lie. */
#include <stdio.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/place.h"

/* Bitcode in a folder that was looked at: a bare name would be a file of the current one. */
static bool load_file(void *context, const char *file) {
    static const char magic[] = {'B', 'C', (char)0xc0, (char)0xde};
    char begin[sizeof magic] = {0};
    FILE *f = strchr(file, '/') ? fopen(file, "rb") : NULL;
    if (f == NULL) return false;
    const bool is_bitcode = fread(begin, 1, sizeof begin, f) == sizeof begin &&
                            memcmp(begin, magic, sizeof magic) == 0;
    fclose(f);
    if (is_bitcode) *(char **)context = gi_strdup(file);
    return is_bitcode;
}

const char *compile_libdevice(gi_err *err) {
    static char *found;
    static const char *const files[] = {"libdevice.10.bc", NULL};
    static const Wanted libdevice = {
        .what = "libdevice, CUDA's mathematical functions for LLVM,",
        .variable = "GILUA_LIBDEVICE",
        .get = "install the CUDA toolkit or `pip install nvidia-nvvm`",
        .files = files,
        .load = load_file,
    };
    if (found || place_find(&libdevice, &found, err)) return found;
    return NULL;
}
