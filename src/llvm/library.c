/* library.c - see llvm.h: finds libLLVM, and clang of its version. */
#include "llvm/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llvm/llvm.h"

#define GET "`apt-get install libllvm19 clang-19`"

static char version[32];

/* --- the library --- */

typedef struct Slot {
    void *slot; /* of a function pointer */
    const char *name;
} Slot;

static bool load_symbols(Llvm *l) {
#define LLVM_SLOT(result, name, parameters) {&l->name, "LLVM" #name},
    const Slot wanted[] = {LLVM_FUNCTIONS(LLVM_SLOT)};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *symbol = dlsym(l->handle, wanted[i].name);
        if (symbol == NULL) return false;
        memcpy(wanted[i].slot, &symbol, sizeof symbol); /* ISO C has no cast for this */
    }
    return true;
}

static char *loaded_path(const Llvm *l, const char *asked) {
    Dl_info info;
    void *symbol;
    memcpy(&symbol, &l->GetVersion, sizeof symbol);
    return gi_strdup(dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : asked);
}

/* One that is older than known here is none. */
static bool load(Llvm *l, const char *file) {
    l->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (l->handle == NULL) return false;
    if (load_symbols(l)) l->GetVersion(&l->major, &l->minor, &l->patch);
    if (l->major < LLVM_OLDEST) return dlclose(l->handle), false;
    l->path = loaded_path(l, file);
    return true;
}

/* The names of one version's library. */
static bool load_version(Llvm *l, const char *folder, int major) {
    static const char *const names[] = {"libLLVM.so.%d.1", "libLLVM-%d.so", "libLLVM.so.%d.0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gi_buf file = {0};
        gi_buf_adds(&file, folder);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        gi_buf_addf(&file, names[i], major);
#pragma GCC diagnostic pop
        bool done = load(l, file.data);
        gi_buf_free(&file);
        if (done) return true;
    }
    return false;
}

/* Below a folder ("" is the loader's path), the newest first. */
static bool load_newest(Llvm *l, const char *folder) {
    for (int major = LLVM_NEWEST; major >= LLVM_OLDEST; major--) {
        gi_buf own = {0};
        gi_buf_addf(&own, "/usr/lib/llvm-%d/lib/", major);
        bool done =
            load_version(l, folder, major) || (*folder == '\0' && load_version(l, own.data, major));
        gi_buf_free(&own);
        if (done) return true;
    }
    return false;
}

static bool load_asked(Llvm *l, const char *asked) {
    gi_buf folder = {0};
    gi_buf_addf(&folder, "%s/", asked);
    bool done = load(l, asked) || load_newest(l, folder.data);
    gi_buf_free(&folder);
    return done;
}

/* --- clang --- */

/* A program by its name, as a shell finds it; NULL. */
static char *on_path(const char *name) {
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t n = strcspn(p, ":");
        gi_buf file = {0};
        gi_buf_add(&file, p, n);
        gi_buf_addf(&file, "/%s", name);
        if (n > 0 && access(file.data, X_OK) == 0) return file.data;
        gi_buf_free(&file);
        p += n + (p[n] == ':');
    }
    return NULL;
}

static char *find_clang(unsigned major) {
    const char *asked = getenv("GILUA_CLANG");
    if (asked && *asked) return access(asked, X_OK) == 0 ? gi_strdup(asked) : on_path(asked);
    gi_buf name = {0};
    gi_buf_addf(&name, "/usr/lib/llvm-%u/bin/clang", major);
    if (access(name.data, X_OK) == 0) return name.data;
    gi_buf_clear(&name);
    gi_buf_addf(&name, "clang-%u", major);
    char *found = on_path(name.data);
    gi_buf_free(&name);
    return found;
}

/* --- opening --- */

static void initialise(Llvm *l) {
    l->InitializeNVPTXTargetInfo();
    l->InitializeNVPTXTarget();
    l->InitializeNVPTXTargetMC();
    l->InitializeNVPTXAsmPrinter();
    l->clang = find_clang(l->major);
    snprintf(version, sizeof version, "%u.%u.%u", l->major, l->minor, l->patch);
}

/* Why a file cannot be loaded: it lacks a library of its own, say; NULL: it can, or is none. */
static const char *unloadable(const char *file) {
    struct stat st;
    bool is_file = stat(file, &st) == 0 && S_ISREG(st.st_mode);
    if (!is_file || dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return NULL;
    return dlerror();
}

static bool not_found(const char *asked, gi_err *err) {
    const char *why = asked ? unloadable(asked) : NULL;
    if (why)
        return gi_fail(err, "nolib", "GILUA_LLVM is '%s', which cannot be loaded: %s", asked, why);
    if (asked)
        return gi_fail(err, "nolib",
                       "GILUA_LLVM is '%s', where there is no libLLVM of version %d or later with "
                       "NVPTX: name the file or its folder, or unset the variable",
                       asked, LLVM_OLDEST);
    return gi_fail(err, "nolib",
                   "no libLLVM of version %d or later found: " GET
                   " on Debian, or set GILUA_LLVM to its file or folder",
                   LLVM_OLDEST);
}

Llvm *llvm_open(gi_err *err) {
    static Llvm opened;
    if (opened.path) return &opened;
    Llvm l = {0};
    const char *asked = getenv("GILUA_LLVM");
    if (asked && *asked == '\0') asked = NULL;
    if (!(asked ? load_asked(&l, asked) : load_newest(&l, ""))) {
        not_found(asked, err);
        return NULL;
    }
    opened = l;
    initialise(&opened);
    return &opened;
}

const char *llvm_path(const Llvm *l) {
    return l->path;
}

const char *llvm_version(const Llvm *l) {
    (void)l;
    return version;
}

const char *llvm_clang(const Llvm *l) {
    return l->clang;
}
