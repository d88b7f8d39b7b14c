/* cupti.c - see compile.h: where CUPTI lies. It is loaded by programs that are recorded on a GPU,
** not here. */
#include <string.h>
#include <sys/stat.h>

#include "compile/compile.h"
#include "compile/place.h"

/* A file in a folder that was looked at: a bare name would be a file of the current one. */
static bool take_file(void *context, const char *file) {
    struct stat s;
    if (strchr(file, '/') == NULL || stat(file, &s) != 0 || !S_ISREG(s.st_mode)) return false;
    *(char **)context = gi_strdup(file);
    return true;
}

const char *compile_cupti(gi_err *err) {
    static char *found;
    static const char *const files[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
    static const Wanted cupti = {
        .what = "CUPTI of CUDA 12 or 13",
        .variable = "GILUA_CUPTI",
        .get = "install the CUDA toolkit (Debian: cuda-cupti-13-0) or `pip install "
               "nvidia-cuda-cupti`",
        .files = files,
        .load = take_file,
    };
    if (found || place_find(&cupti, &found, err)) return found;
    return NULL;
}
