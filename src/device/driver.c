/* driver.c - see driver.h. The library stays loaded: a driver that has started cannot be unloaded
** safely.
*/
#include "device/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *find_library(gi_err *err) {
    const char *path = getenv("GILUA_CUDA");
    const char *name = path && *path ? path : "libcuda.so.1";
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL) return handle;
    if (path && *path) {
        gi_fail(err, "nolib", "the driver named by GILUA_CUDA cannot be loaded: %s", dlerror());
    } else {
        gi_fail(err, "nolib",
                "libcuda.so.1, NVIDIA's driver, is not installed: use the virtual GPU (device "
                "\"emu\"), or install the driver, or let GILUA_CUDA name the file");
    }
    return NULL;
}

/* POSIX makes dlsym's void * a function; ISO C has no cast for it. */
static void find_functions(void *handle, Driver *cu) {
#define DRIVER_FIND(field, symbol, arguments)                                                      \
    {                                                                                              \
        void *found = dlsym(handle, #symbol);                                                      \
        memcpy(&cu->field, &found, sizeof found);                                                  \
        if (found == NULL && cu->missing == NULL) cu->missing = #symbol;                           \
    }
    DRIVER_FUNCTIONS(DRIVER_FIND)
#undef DRIVER_FIND
}

static bool start(Driver *cu, gi_err *err) {
    if (!cu->init || !cu->driver_version)
        return gi_fail(err, "nolib",
                       "the library loaded as libcuda is no CUDA driver: it has no "
                       "cuInit");
    cu->driver_version(&cu->version);
    int code = cu->init(0);
    char words[200];
    if (code == CU_OK) return true;
    driver_words(cu, code, words, sizeof words);
    if (code == CU_NO_DEVICE)
        return gi_fail(err, "nodevice", "the driver finds no GPU on this machine: cuInit says %s",
                       words);
    return gi_fail(err, "nolib", "the CUDA driver does not start: cuInit says %s", words);
}

const Driver *driver_load(gi_err *err) {
    static Driver driver;
    static bool loaded, started;
    if (started) return &driver;
    if (!loaded) {
        void *handle = find_library(err);
        if (handle == NULL) return NULL;
        find_functions(handle, &driver);
        loaded = true;
    }
    started = start(&driver, err);
    return started ? &driver : NULL;
}

const char *driver_words(const Driver *cu, int code, char *text, size_t size) {
    const char *name = NULL, *words = NULL;
    if (cu->error_name) cu->error_name(code, &name);
    if (cu->error_text) cu->error_text(code, &words);
    if (name == NULL) snprintf(text, size, "error %d", code);
    else snprintf(text, size, "%s (%s)", name, words ? words : "no description");
    return text;
}
