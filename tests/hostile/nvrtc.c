/* nvrtc.c - an NVRTC that wears out, for tests/cli/compiler_fails.t: it passes everything on to the
** library that REAL_NVRTC names, but
**
**   WEARS_OUT=N  from the Nth compilation of a process on it fails with an internal error;
**   RUNS_DRY=N   from then on it has no memory left;
**   KEEPS=N      it keeps N MiB of each compilation.
**
** A source with the word WEARISOME fails with an internal error each time, one with the word HUNGRY
** gets no memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct Program Program;

enum { OK = 0, OUT_OF_MEMORY = 1, COMPILATION = 6 };

static const char LOG[] = "kernel.cu(3): internal error: the table of macros is full\n";
static int compilations;
static bool wearisome, hungry, failed;

static void *real(const char *name) {
    static void *library;
    if (library == NULL) library = dlopen(getenv("REAL_NVRTC"), RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}

/* The number in a variable of the environment; -1 when it is not set. */
static int number(const char *variable) {
    const char *text = getenv(variable);
    return text ? atoi(text) : -1;
}

#define PASS_ON(name, parameters, arguments)         \
    int name parameters;                             \
    int name parameters {                            \
        int(*f) parameters;                          \
        *(void **)&f = real(#name);                  \
        return f arguments;                          \
    }

PASS_ON(nvrtcVersion, (int *major, int *minor), (major, minor))
PASS_ON(nvrtcGetNumSupportedArchs, (int *n), (n))
PASS_ON(nvrtcGetSupportedArchs, (int *list), (list))
PASS_ON(nvrtcDestroyProgram, (Program * *p), (p))
PASS_ON(nvrtcGetPTXSize, (Program * p, size_t *n), (p, n))
PASS_ON(nvrtcGetPTX, (Program * p, char *text), (p, text))
PASS_ON(nvrtcGetCUBINSize, (Program * p, size_t *n), (p, n))
PASS_ON(nvrtcGetCUBIN, (Program * p, char *code), (p, code))

const char *nvrtcGetErrorString(int result);
const char *nvrtcGetErrorString(int result) {
    return result == OUT_OF_MEMORY ? "NVRTC_ERROR_OUT_OF_MEMORY" : "another error";
}

int nvrtcCreateProgram(Program **p, const char *source, const char *name, int n,
                       const char *const *headers, const char *const *names);
int nvrtcCreateProgram(Program **p, const char *source, const char *name, int n,
                       const char *const *headers, const char *const *names) {
    int (*f)(Program **, const char *, const char *, int, const char *const *,
             const char *const *);
    *(void **)&f = real("nvrtcCreateProgram");
    wearisome = strstr(source, "WEARISOME") != NULL;
    hungry = strstr(source, "HUNGRY") != NULL;
    return f(p, source, name, n, headers, names);
}

static void keep(int mib) {
    if (mib > 0) memset(malloc((size_t)mib << 20), 1, (size_t)mib << 20);
}

int nvrtcCompileProgram(Program *p, int n, const char *const *options);
int nvrtcCompileProgram(Program *p, int n, const char *const *options) {
    int (*f)(Program *, int, const char *const *);
    *(void **)&f = real("nvrtcCompileProgram");
    int dry = number("RUNS_DRY"), worn = number("WEARS_OUT");
    compilations++;
    keep(number("KEEPS"));
    if (hungry || (dry >= 0 && compilations >= dry)) return OUT_OF_MEMORY;
    failed = wearisome || (worn >= 0 && compilations >= worn);
    return failed ? COMPILATION : f(p, n, options);
}

int nvrtcGetProgramLogSize(Program *p, size_t *size);
int nvrtcGetProgramLogSize(Program *p, size_t *size) {
    int (*f)(Program *, size_t *);
    *(void **)&f = real("nvrtcGetProgramLogSize");
    if (!failed) return f(p, size);
    *size = sizeof LOG;
    return OK;
}

int nvrtcGetProgramLog(Program *p, char *log);
int nvrtcGetProgramLog(Program *p, char *log) {
    int (*f)(Program *, char *);
    *(void **)&f = real("nvrtcGetProgramLog");
    if (!failed) return f(p, log);
    memcpy(log, LOG, sizeof LOG);
    return OK;
}
