/* library.c - see library.h. */
#include "net/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *find_library(gi_err *err) {
    static const char *const usual[] = {"libnats.so.3.12", "libnats.so.3.11", "libnats.so.3.10",
                                        "libnats.so.3.9",  "libnats.so.3.8",  "libnats.so.3.7",
                                        "libnats.so.3.6",  "libnats.so.3.5",  "libnats.so.3.4",
                                        "libnats.so.3",    "libnats.so"};
    const char *path = getenv("GILUA_NATS");
    if (path && *path) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            gi_fail(err, "nolib", "the file named by GILUA_NATS cannot be loaded: %s", dlerror());
        return handle;
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        void *handle = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
        if (handle) return handle;
    }
    gi_fail(err, "nolib",
            "libnats (the NATS C client, version 3) is not installed: `apt-get install libnats3.4` "
            "where Debian's name is that, or let GILUA_NATS name the file");
    return NULL;
}

/* POSIX makes dlsym's void * a function; ISO C has no cast for it. The first that is missing. */
static const char *find_functions(void *handle, Nats *nats) {
#define NATS_FIND(type, field, symbol, arguments)                                                  \
    {                                                                                              \
        void *found = dlsym(handle, #symbol);                                                      \
        if (found == NULL) return #symbol;                                                         \
        memcpy(&nats->field, &found, sizeof found);                                                \
    }
    NATS_FUNCTIONS(NATS_FIND)
#undef NATS_FIND
    return NULL;
}

const Nats *nats_load(gi_err *err) {
    static Nats nats;
    static bool loaded;
    if (loaded) return &nats;
    void *handle = find_library(err);
    if (handle == NULL) return NULL;
    const char *missing = find_functions(handle, &nats);
    if (missing) {
        gi_fail(err, "nolib", "the library loaded as libnats has no %s: version 3 is needed",
                missing);
        dlclose(handle);
        return NULL;
    }
    loaded = true;
    return &nats;
}
