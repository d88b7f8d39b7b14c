/* library.c - see library.h.
**
** A place to look is a root folder (or a pattern of folders); NVRTC may lie in any of the
** subfolders that CUDA toolkits, Debian and the pip wheels use below it. The first file that
** loads and is CUDA 12 or 13 wins. The builtins library beside it is loaded first by its full
** path, because NVRTC asks for it by bare name. Nothing is ever unloaded: NVRTC does not survive
** it, and opening again is cheap because of it.
*/
#include "compile/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const subfolders[] = {
    "",
    "/lib64",
    "/lib",
    "/targets/x86_64-linux/lib",
    "/nvidia/cuda_nvrtc/lib",
    "/nvidia/cu13/lib",
    "/nvidia/cu12/lib",
    NULL,
};
static const char *const file_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};

/* Newest first, because patterns are tried from the last match to the first. */
static const char *const usual_places[] = {
    "/usr/local/cuda",
    "/usr/local/cuda-*",
    "/opt/cuda*",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/cuda",
    "/usr/local/lib/python3*/dist-packages",
    "/usr/local/lib/python3*/site-packages",
    "/usr/lib/python3*/dist-packages",
    "/usr/lib/python3*/site-packages",
    NULL,
};

/* Folders below which CUDA's headers lie, seen from the library's own folder. */
static const char *const include_folders[] = {
    "/include",
    "/../include",
    "/../../include",
    "/../../../include",
    "/../../cuda_runtime/include", /* pip, CUDA 12 */
    NULL,
};

static bool load_symbols(Library *lib) {
    const struct {
        void *slot;
        const char *name;
    } wanted[] = {
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
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *symbol = dlsym(lib->handle, wanted[i].name);
        if (symbol == NULL) return false;
        memcpy(wanted[i].slot, &symbol, sizeof symbol); /* ISO C has no cast for this */
    }
    return true;
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

/* The path that the loader really used, for a library found by bare name. */
static char *loaded_path(const Library *lib, const char *asked) {
    Dl_info info;
    void *symbol;
    memcpy(&symbol, &lib->version, sizeof symbol);
    return gi_strdup(dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : asked);
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

static bool load_file(Library *lib, const char *file) {
    int major = 0, minor = 0;
    load_builtins(file);
    lib->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (lib->handle == NULL) return false;
    if (!load_symbols(lib) || lib->version(&major, &minor) != NVRTC_OK || major < 12) {
        dlclose(lib->handle);
        return false;
    }
    lib->path = loaded_path(lib, file);
    lib->include = find_include(lib->path);
    return true;
}

static bool search_folder(Library *lib, const char *root) {
    char path[PATH_MAX];
    for (int i = 0; subfolders[i]; i++)
        for (int j = 0; file_names[j]; j++) {
            snprintf(path, sizeof path, "%s%s/%s", root, subfolders[i], file_names[j]);
            if (access(path, R_OK) == 0 && load_file(lib, path)) return true;
        }
    return false;
}

/* Looks below every folder that matches pattern, and adds the pattern to the places looked at. */
static bool search_pattern(Library *lib, const char *pattern, gi_buf *looked) {
    glob_t found;
    bool ok = false;
    gi_buf_addf(looked, "%s%s", looked->len ? ", " : "", pattern);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i > 0 && !ok; i--)
            ok = search_folder(lib, found.gl_pathv[i - 1]);
    globfree(&found);
    return ok;
}

static bool search_variable(Library *lib, const char *name, const char *below, gi_buf *looked) {
    const char *value = getenv(name);
    if (value == NULL || *value == '\0') return false;
    gi_buf pattern = {0};
    gi_buf_addf(&pattern, "%s%s", value, below);
    bool ok = search_pattern(lib, pattern.data, looked);
    gi_buf_free(&pattern);
    return ok;
}

/* deps/nvrtc beside the program, or beside one of the three folders above it (test programs lie
** deeper in the build tree than ./gilua does). */
static bool search_beside_program(Library *lib, gi_buf *looked) {
    char folder[PATH_MAX + 16];
    ssize_t len = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (len <= 0) return false;
    folder[len] = '\0';
    for (int up = 0; up < 4; up++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash == folder) return false;
        strcpy(slash, "/deps/nvrtc");
        if (up == 0) gi_buf_addf(looked, "%s%s", looked->len ? ", " : "", folder);
        if (search_folder(lib, folder)) return true;
        *slash = '\0';
    }
    return false;
}

static bool search_loader_path(Library *lib, gi_buf *looked) {
    gi_buf_addf(looked, "%sthe loader's path", looked->len ? ", " : "");
    for (int i = 0; file_names[i]; i++)
        if (load_file(lib, file_names[i])) return true;
    return false;
}

static bool search(Library *lib, gi_buf *looked) {
    if (search_variable(lib, "CUDA_HOME", "", looked)) return true;
    if (search_variable(lib, "CUDA_PATH", "", looked)) return true;
    if (search_beside_program(lib, looked)) return true;
    if (search_variable(lib, "VIRTUAL_ENV", "/lib/python3*/site-packages", looked)) return true;
    if (search_variable(lib, "CONDA_PREFIX", "", looked)) return true;
    for (int i = 0; usual_places[i]; i++)
        if (search_pattern(lib, usual_places[i], looked)) return true;
    if (search_variable(lib, "HOME", "/.local/lib/python3*/site-packages", looked)) return true;
    return search_loader_path(lib, looked);
}

bool library_open(Library *lib, gi_err *err) {
    Library found = {0};
    gi_buf looked = {0};
    const char *asked = getenv("GILUA_NVRTC");
    bool explicit_place = asked && *asked, ok;
    if (explicit_place) {
        ok = load_file(&found, asked) || search_folder(&found, asked);
        if (!ok)
            gi_fail(err, "nolib",
                    "GILUA_NVRTC is '%s', where there is no NVRTC of CUDA 12 or 13: name the file "
                    "libnvrtc.so or its folder, or unset the variable",
                    asked);
    } else {
        ok = search(&found, &looked);
        if (!ok)
            gi_fail(err, "nolib",
                    "no NVRTC of CUDA 12 or 13 found: run `make deps`, or install one with `pip "
                    "install nvidia-cuda-nvrtc`, or set GILUA_NVRTC to its folder (looked in %s)",
                    looked.data);
    }
    gi_buf_free(&looked);
    if (ok) *lib = found;
    return ok;
}

void library_close(Library *lib) {
    free(lib->path);
    free(lib->include);
    dlclose(lib->handle);
    *lib = (Library){0};
}
