/* library.c - see library.h.
**
** The first file that loads and is CUDA 12 or 13 wins. The builtins library beside it is loaded
** first by its full path, because NVRTC asks for it by bare name. Nothing is ever unloaded: NVRTC
** does not survive it, and opening again is cheap because of it.
*/
#include "compile/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/place.h"

/* Folders below which CUDA's headers lie, seen from the library's own folder. */
static const char *const include_folders[] = {
    "/include",
    "/../include",
    "/../../include",
    "/../../../include",
    "/../../cuda_runtime/include", /* pip, CUDA 12 */
    NULL,
};

/* Folders of what those headers include in turn, seen from theirs: CCCL (nv/target, cuda/std, cub)
** and the compiler's own (crt/mma.h). */
static const char *const more_folders[] = {
    "/cccl",                    /* CUDA 13 */
    "/../../cuda_cccl/include", /* pip, CUDA 12 */
    "/../../cuda_nvcc/include", /* the same */
    NULL,
};

static bool load_symbols(Library *lib) {
    const PlaceSymbol wanted[] = {
        {&lib->version, "nvrtcVersion"},
        {&lib->num_archs, "nvrtcGetNumSupportedArchs"},
        {&lib->archs, "nvrtcGetSupportedArchs"},
        {&lib->create, "nvrtcCreateProgram"},
        {&lib->destroy, "nvrtcDestroyProgram"},
        {&lib->compile, "nvrtcCompileProgram"},
        {&lib->ptx_size, "nvrtcGetPTXSize"},
        {&lib->ptx, "nvrtcGetPTX"},
        {&lib->cubin_size, "nvrtcGetCUBINSize"},
        {&lib->cubin, "nvrtcGetCUBIN"},
        {&lib->log_size, "nvrtcGetProgramLogSize"},
        {&lib->log, "nvrtcGetProgramLog"},
        {&lib->error_string, "nvrtcGetErrorString"},
    };
    return place_symbols(lib->handle, wanted, sizeof wanted / sizeof *wanted) == NULL;
}

static void load_builtins(const char *file) {
    char pattern[PATH_MAX];
    const char *slash = strrchr(file, '/');
    if (slash == NULL) return;
    snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so*", (int)(slash - file), file);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0)
        dlopen(found.gl_pathv[found.gl_pathc - 1], RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    globfree(&found);
}

static char *find_include(const char *path) {
    char real[PATH_MAX], folder[PATH_MAX + 64];
    if (realpath(path, real) == NULL) return NULL;
    *strrchr(real, '/') = '\0';
    for (int i = 0; include_folders[i]; i++) {
        snprintf(folder, sizeof folder, "%s%s/cuda_fp16.h", real, include_folders[i]);
        if (access(folder, R_OK) == 0) return gi_strndup(folder, strlen(folder) - 12);
    }
    return NULL;
}

/* Fills lib->includes with the folders that are there; with none where there is no cuda_fp16.h. */
static void find_includes(Library *lib) {
    char folder[PATH_MAX + 128];
    int n = 0;
    lib->includes[0] = find_include(lib->path);
    for (int i = 0; lib->includes[0] && more_folders[i]; i++) {
        snprintf(folder, sizeof folder, "%s%s", lib->includes[0], more_folders[i]);
        if (access(folder, R_OK) == 0) lib->includes[++n] = gi_strdup(folder);
    }
}

static bool load_file(void *context, const char *file) {
    Library *lib = context;
    int major = 0, minor = 0;
    load_builtins(file);
    lib->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (lib->handle == NULL) return false;
    if (!load_symbols(lib) || lib->version(&major, &minor) != NVRTC_OK || major < 12) {
        dlclose(lib->handle);
        return false;
    }
    const PlaceSymbol newer = {&lib->headers_status, "nvrtcGetPCHCreateStatus"};
    place_symbols(lib->handle, &newer, 1); /* stays NULL where it is not there */
    lib->path = place_of(&lib->version, file);
    find_includes(lib);
    return true;
}

bool library_open(Library *lib, gi_err *err) {
    static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
    static const Wanted nvrtc = {
        .what = "NVRTC of CUDA 12 or 13",
        .variable = "GILUA_NVRTC",
        .get = "run `make deps` in a clone, or install what data/nvrtc.txt names with pip",
        .files = files,
        .load = load_file,
    };
    Library found = {0};
    if (!place_find(&nvrtc, &found, err)) return false;
    *lib = found;
    return true;
}

void library_close(Library *lib) {
    free(lib->path);
    for (int i = 0; i < LIBRARY_INCLUDES; i++) free(lib->includes[i]);
    dlclose(lib->handle);
    *lib = (Library){0};
}
