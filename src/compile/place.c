/* place.c - see place.h.
**
** A place to look is a root folder (or a pattern of folders); a library may lie in any of the
** subfolders that CUDA toolkits, Debian and the pip wheels use below it.
*/
#include "compile/place.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Search {
    const Wanted *wanted;
    void *context;
    gi_buf looked;  /* the places, for the message when nothing is found */
    gi_buf refused; /* what the loader said of the first file that is there and was not taken */
} Search;

/* NVIDIA's and Debian's names of this processor. */
#if defined(__aarch64__)
#define TARGET "sbsa-linux"
#define TRIPLET "aarch64-linux-gnu"
#else
#define TARGET "x86_64-linux"
#define TRIPLET "x86_64-linux-gnu"
#endif

static const char *const subfolders[] = {
    "",
    "/lib64",
    "/lib",
    "/targets/" TARGET "/lib",
    "/extras/CUPTI/lib64",
    "/nvidia/cuda_nvrtc/lib",
    "/nvidia/cuda_cupti/lib",
    "/nvidia/nvjitlink/lib",
    "/nvidia/cu13/lib",
    "/nvidia/cu12/lib",
    "/nvvm/libdevice",
    "/nvidia/cu13/nvvm/libdevice",
    "/nvidia/cuda_nvcc/nvvm/libdevice",
    NULL,
};

/* Newest first, because patterns are tried from the last match to the first. */
static const char *const usual_places[] = {
    "/usr/local/cuda",
    "/usr/local/cuda-*",
    "/opt/cuda*",
    "/usr/lib/" TRIPLET,
    "/usr/lib/cuda",
    "/usr/local/lib/python3*/dist-packages",
    "/usr/local/lib/python3*/site-packages",
    "/usr/lib/python3*/dist-packages",
    "/usr/lib/python3*/site-packages",
    NULL,
};

static void look_at(Search *s, const char *place) {
    gi_buf_addf(&s->looked, "%s%s", s->looked.len ? ", " : "", place);
}

/* A file that is there: the loader may have no memory for it. */
static bool load_file(Search *s, const char *path) {
    dlerror();
    if (s->wanted->load(s->context, path)) return true;
    const char *why = dlerror();
    if (why && s->refused.len == 0) gi_buf_adds(&s->refused, why);
    return false;
}

static bool search_folder(Search *s, const char *root) {
    char path[PATH_MAX];
    for (int i = 0; subfolders[i]; i++)
        for (int j = 0; s->wanted->files[j]; j++) {
            snprintf(path, sizeof path, "%s%s/%s", root, subfolders[i], s->wanted->files[j]);
            if (access(path, R_OK) == 0 && load_file(s, path)) return true;
        }
    return false;
}

/* Looks below every folder that matches pattern, and adds the pattern to the places looked at. */
static bool search_pattern(Search *s, const char *pattern) {
    glob_t found;
    bool ok = false;
    look_at(s, pattern);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i > 0 && !ok; i--)
            ok = search_folder(s, found.gl_pathv[i - 1]);
    globfree(&found);
    return ok;
}

static bool search_variable(Search *s, const char *name, const char *below) {
    const char *value = getenv(name);
    if (value == NULL || *value == '\0') return false;
    gi_buf pattern = {0};
    gi_buf_addf(&pattern, "%s%s", value, below);
    bool ok = search_pattern(s, pattern.data);
    gi_buf_free(&pattern);
    return ok;
}

/* Does pip install into a folder of this name? */
static bool is_packages(const char *folder) {
    const char *name = strrchr(folder, '/');
    return name && (strcmp(name, "/site-packages") == 0 || strcmp(name, "/dist-packages") == 0);
}

/* deps/nvrtc beside the program, or beside one of the three folders above it (test programs lie
** deeper in the build tree than ./gilua does). A wheel has the program in site-packages/gilua, so
** that what pip installed with it lies in the folder above. */
static bool search_beside_program(Search *s) {
    char folder[PATH_MAX + 16];
    ssize_t len = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (len <= 0) return false;
    folder[len] = '\0';
    for (int up = 0; up < 4; up++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash == folder) return false;
        strcpy(slash, "/deps/nvrtc");
        if (up == 0) look_at(s, folder);
        if (search_folder(s, folder)) return true;
        *slash = '\0';
        if (up == 1 && is_packages(folder) && search_folder(s, folder)) return true;
    }
    return false;
}

static bool search_loader_path(Search *s) {
    look_at(s, "the loader's path");
    for (int i = 0; s->wanted->files[i]; i++)
        if (s->wanted->load(s->context, s->wanted->files[i])) return true;
    return false;
}

static bool search(Search *s) {
    if (search_variable(s, "CUDA_HOME", "")) return true;
    if (search_variable(s, "CUDA_PATH", "")) return true;
    if (search_beside_program(s)) return true;
    if (search_variable(s, "VIRTUAL_ENV", "/lib/python3*/site-packages")) return true;
    if (search_variable(s, "CONDA_PREFIX", "")) return true;
    for (int i = 0; usual_places[i]; i++)
        if (search_pattern(s, usual_places[i])) return true;
    if (search_variable(s, "HOME", "/.local/lib/python3*/site-packages")) return true;
    return search_loader_path(s);
}

bool place_find(const Wanted *wanted, void *context, gi_err *err) {
    Search s = {.wanted = wanted, .context = context};
    const char *asked = getenv(wanted->variable);
    if (asked && *asked == '\0') asked = NULL;
    const bool ok = asked ? wanted->load(context, asked) || search_folder(&s, asked) : search(&s);
    if (!ok && s.refused.len > 0)
        gi_fail(err, "nolib", "%s is there and cannot be loaded: %s", wanted->what, s.refused.data);
    else if (!ok && asked)
        gi_fail(err, "nolib",
                "%s is '%s', where there is no %s: name the file %s or its folder, or unset the "
                "variable",
                wanted->variable, asked, wanted->what, wanted->files[0]);
    else if (!ok)
        gi_fail(err, "nolib", "no %s found: %s, or set %s to its folder (looked in %s)",
                wanted->what, wanted->get, wanted->variable, s.looked.data);
    gi_buf_free(&s.looked);
    gi_buf_free(&s.refused);
    return ok;
}

const char *place_symbols(void *handle, const PlaceSymbol *wanted, int n) {
    for (int i = 0; i < n; i++) {
        void *symbol = dlsym(handle, wanted[i].name);
        if (symbol == NULL) return wanted[i].name;
        memcpy(wanted[i].slot, &symbol, sizeof symbol); /* ISO C has no cast for this */
    }
    return NULL;
}

char *place_of(const void *slot, const char *asked) {
    Dl_info info;
    void *symbol;
    memcpy(&symbol, slot, sizeof symbol);
    return gi_strdup(dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : asked);
}
