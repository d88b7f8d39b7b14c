/* nvidia.c - finds NVIDIA's own library of a stand-in. See standin.h. */
#include <dlfcn.h>

#include "compile/place.h"
#include "standin/shared/standin.h"

typedef struct Search {
    const char *name;
    void *own, *found;
} Search;

/* The loader's path leads to the stand-in itself, which is not the one. */
static bool load(void *context, const char *file) {
    Search *s = context;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, s->name) : NULL;
    if (function && function != s->own) return s->found = library, true;
    if (library) dlclose(library);
    return false;
}

void *standin_nvidia(const char *file, const char *name, void *own) {
    const char *const files[] = {file, NULL};
    Wanted wanted = {.what = file,
                     .variable = "GILUA_NVIDIA_LIBRARY",
                     .get = "install CUDA's toolkit",
                     .files = files,
                     .load = load};
    Search s = {name, own, NULL};
    gi_err err;
    return place_find(&wanted, &s, &err) ? s.found : NULL;
}
