/* fake_cupti.c - CUPTI without a GPU: a library loaded before a program (LD_PRELOAD) whose
** functions stand before those of the driver, tell a subscriber of each call as CUPTI documents it,
** and pass it on to gilua's own libcuda. It also does what NVIDIA's driver does in cuInit: it loads
** the library that CUDA_INJECTION64_PATH names. FAKE_CUPTI_TAKEN: another tool is at it; _CUBIN:
** modules are machine code, as far as the subscriber knows ("bare": which does not say what it is
** given); _UNSEEN: nobody is told which function
** is which.
*/
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cubin.h"
#include "inject/cupti.h"

#define SHOWN __attribute__((visibility("default")))

enum { MOST = 1024, NO_SUCH = 1, FUNCTIONS = 64 };

static CuptiCallback *callback;
static void *callback_user;
static bool enabled[MOST];

/* --- CUPTI's functions --- */

SHOWN int cuptiSubscribe(CuptiSubscriber **out, CuptiCallback *f, void *user);
SHOWN int cuptiEnableCallback(uint32_t on, CuptiSubscriber *s, int domain, uint32_t id);
SHOWN int cuptiEnableDomain(uint32_t on, CuptiSubscriber *s, int domain);
SHOWN int cuptiGetResultString(int code, const char **out);

int cuptiSubscribe(CuptiSubscriber **out, CuptiCallback *f, void *user) {
    static int one;
    if (getenv("FAKE_CUPTI_TAKEN")) return 39; /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
    *out = (CuptiSubscriber *)(void *)&one;
    callback = f, callback_user = user;
    return 0;
}

int cuptiEnableCallback(uint32_t on, CuptiSubscriber *s, int domain, uint32_t id) {
    (void)s;
    if (domain != CUPTI_DRIVER_API || id >= MOST) return NO_SUCH;
    enabled[id] = on != 0;
    return 0;
}

int cuptiEnableDomain(uint32_t on, CuptiSubscriber *s, int domain) {
    for (uint32_t id = 1; id < MOST; id++) cuptiEnableCallback(on, s, domain, id);
    return 0;
}

int cuptiGetResultString(int code, const char **out) {
    *out = code == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR";
    return 0;
}

/* --- the driver's --- */

static void tell(uint32_t id, int site, const char *name, const void *params, const int *result,
                 const char *symbol) {
    CuptiCall c = {
        .site = site, .name = name, .params = params, .result = result, .symbol = symbol};
    if (callback && enabled[id]) callback(callback_user, CUPTI_DRIVER_API, id, &c);
}

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        fprintf(stderr, "fake_cupti: there is no %s to call\n", name);
        abort();
    }
    return found;
}

/* A function with the arguments of a struct. */
#define WRAP(id, name, Args, declared, given)                \
    SHOWN int name declared;                                 \
    int name declared {                                      \
        static int (*call) declared;                         \
        Args args = {UNPACK given};                          \
        int result;                                          \
        if (call == NULL) *(void **)&call = real(#name);     \
        tell(id, CUPTI_ENTER, #name, &args, NULL, NULL);     \
        result = call given;                                 \
        tell(id, CUPTI_EXIT, #name, &args, &result, NULL);   \
        return result;                                       \
    }
#define UNPACK(...) __VA_ARGS__

typedef struct ArgsCopyNow { /* without a stream */
    uint64_t to, from;
    size_t bytes;
} ArgsCopyNow;

typedef struct ArgsNone {
    int none;
} ArgsNone;

WRAP(243, cuMemAlloc_v2, ArgsAlloc, (uint64_t *address, size_t bytes), (address, bytes))
WRAP(294, cuMemAllocHost_v2, ArgsAlloc, (uint64_t *address, size_t bytes), (address, bytes))
WRAP(245, cuMemFree_v2, ArgsAddress, (uint64_t address), (address))
WRAP(38, cuMemFreeHost, ArgsAddress, (uint64_t address), (address))
WRAP(379, cuMemHostRegister_v2, ArgsRegister, (uint64_t address, size_t bytes, unsigned flags),
     (address, bytes, flags))
WRAP(302, cuMemHostUnregister, ArgsAddress, (uint64_t address), (address))
WRAP(276, cuMemcpyHtoD_v2, ArgsCopyNow, (uint64_t to, uint64_t from, size_t bytes),
     (to, from, bytes))
WRAP(278, cuMemcpyDtoH_v2, ArgsCopyNow, (uint64_t to, uint64_t from, size_t bytes),
     (to, from, bytes))
WRAP(280, cuMemcpyDtoD_v2, ArgsCopyNow, (uint64_t to, uint64_t from, size_t bytes),
     (to, from, bytes))
WRAP(305, cuMemcpy, ArgsCopyNow, (uint64_t to, uint64_t from, size_t bytes),
     (to, from, bytes))
WRAP(277, cuMemcpyHtoDAsync_v2, ArgsCopy,
     (uint64_t to, uint64_t from, size_t bytes, void *stream), (to, from, bytes, stream))
WRAP(279, cuMemcpyDtoHAsync_v2, ArgsCopy,
     (uint64_t to, uint64_t from, size_t bytes, void *stream), (to, from, bytes, stream))
WRAP(287, cuMemcpy2D_v2, ArgsModule, (void *copy), (copy))
WRAP(251, cuMemsetD32_v2, ArgsSet32, (uint64_t to, uint32_t value, size_t n), (to, value, n))
WRAP(18, cuModuleLoad, ArgsLoadFile, (void **module, const char *path), (module, path))
WRAP(22, cuModuleUnload, ArgsModule, (void *module), (module))
WRAP(241, cuModuleGetGlobal_v2, ArgsVariable,
     (uint64_t *address, size_t *bytes, void *module, const char *name),
     (address, bytes, module, name))
WRAP(682, cuLibraryGetModule, ArgsSame, (void **out, void *of), (out, of))
WRAP(683, cuKernelGetFunction, ArgsSame, (void **out, void *of), (out, of))
WRAP(684, cuLibraryGetGlobal, ArgsVariable,
     (uint64_t *address, size_t *bytes, void *module, const char *name),
     (address, bytes, module, name))
WRAP(652, cuLaunchKernelEx, ArgsLaunchEx,
     (const CuLaunchConfig *config, void *function, void **params, void **extra),
     (config, function, params, extra))
WRAP(126, cuStreamSynchronize, ArgsStream, (void *stream), (stream))
WRAP(272, cuArrayCreate_v2, ArgsArray, (void **array, const void *what), (array, what))
WRAP(89, cuArrayDestroy, ArgsModule, (void *array), (array))
WRAP(339, cuTexObjectCreate, ArgsTexture,
     (uint64_t *texture, const CuResource *of, const CuTexture *how, const void *view),
     (texture, of, how, view))
WRAP(340, cuTexObjectDestroy, ArgsAddress, (uint64_t texture), (texture))
WRAP(343, cuSurfObjectCreate, ArgsCopyND, (const void *out, void *of), (out, of))

/* --- functions, whose names launches are told with --- */

static struct {
    void *function;
    char name[100];
} functions[FUNCTIONS];

static void keep_name(void *function, const char *name) {
    int i = 0;
    while (i < FUNCTIONS - 1 && functions[i].function && functions[i].function != function) i++;
    functions[i].function = function;
    snprintf(functions[i].name, sizeof functions[i].name, "%s", name);
}

static const char *name_of(void *function) {
    for (int i = 0; i < FUNCTIONS; i++)
        if (functions[i].function == function) return functions[i].name;
    return NULL;
}

static int get_function(uint32_t id, const char *what, void **function, void *module,
                        const char *name) {
    int (*call)(void **, void *, const char *);
    ArgsFunction args = {function, module, name};
    if (getenv("FAKE_CUPTI_UNSEEN")) id = 0;
    *(void **)&call = real(what);
    tell(id, CUPTI_ENTER, what, &args, NULL, NULL);
    int result = call(function, module, name);
    if (result == 0) keep_name(*function, name);
    tell(id, CUPTI_EXIT, what, &args, &result, NULL);
    return result;
}

SHOWN int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetFunction(void **function, void *module, const char *name) {
    return get_function(23, "cuModuleGetFunction", function, module, name);
}

SHOWN int cuLibraryGetKernel(void **function, void *module, const char *name);
int cuLibraryGetKernel(void **function, void *module, const char *name) {
    return get_function(681, "cuLibraryGetKernel", function, module, name);
}

SHOWN int cuModuleLoadData(void **module, const void *image);
int cuModuleLoadData(void **module, const void *image) {
    int (*call)(void **, const void *);
    size_t len;
    const char *cubin = getenv("FAKE_CUPTI_CUBIN");
    ArgsLoad args = {module, cubin ? fake_cubin(image, strcmp(cubin, "bare") == 0, &len) : image};
    *(void **)&call = real("cuModuleLoadData");
    tell(19, CUPTI_ENTER, "cuModuleLoadData", &args, NULL, NULL);
    int result = call(module, image);
    tell(19, CUPTI_EXIT, "cuModuleLoadData", &args, &result, NULL);
    return result;
}

/* What a library is loaded with has more arguments, of which the recorder reads two. */
SHOWN int cuLibraryLoadData(void **library, const void *image, void *options, void **values,
                            unsigned n, void *library_options, void **library_values, unsigned m);
int cuLibraryLoadData(void **library, const void *image, void *options, void **values, unsigned n,
                      void *library_options, void **library_values, unsigned m) {
    int (*call)(void **, const void *, void *, void **, unsigned, void *, void **, unsigned);
    ArgsLoad args = {library, image};
    *(void **)&call = real("cuLibraryLoadData");
    tell(678, CUPTI_ENTER, "cuLibraryLoadData", &args, NULL, NULL);
    int result = call(library, image, options, values, n, library_options, library_values, m);
    tell(678, CUPTI_EXIT, "cuLibraryLoadData", &args, &result, NULL);
    return result;
}

SHOWN int cuCtxSynchronize(void);
int cuCtxSynchronize(void) {
    int (*call)(void);
    ArgsNone none = {0};
    *(void **)&call = real("cuCtxSynchronize");
    tell(17, CUPTI_ENTER, "cuCtxSynchronize", &none, NULL, NULL);
    int result = call();
    tell(17, CUPTI_EXIT, "cuCtxSynchronize", &none, &result, NULL);
    return result;
}

SHOWN int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
    int (*call)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
    ArgsLaunch args = {f, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra};
    const char *symbol = name_of(f);
    *(void **)&call = real("cuLaunchKernel");
    tell(307, CUPTI_ENTER, "cuLaunchKernel", &args, NULL, symbol);
    int result = call(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
    tell(307, CUPTI_EXIT, "cuLaunchKernel", &args, &result, symbol);
    return result;
}

/* --- what the driver does when it begins --- */

/* gilua's libcuda wants to be told things that a driver need not be: FAKE_CUPTI_CONFIG has them. */
static void configure(void) {
    const char *from = getenv("FAKE_CUPTI_CONFIG"), *folder = getenv("GILUA_RUN");
    char command[2000];
    if (from == NULL || folder == NULL) return;
    snprintf(command, sizeof command, "env -u LD_PRELOAD cp '%s' '%s/config'", from, folder);
    if (system(command) != 0) abort();
}

SHOWN int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    static bool injected;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int (*call)(unsigned), (*begin)(void);
    if (path && !injected) {
        void *library = dlopen(path, RTLD_NOW);
        if (library == NULL) fprintf(stderr, "fake_cupti: %s\n", dlerror()), abort();
        *(void **)&begin = dlsym(library, "InitializeInjection");
        injected = true;
        configure();
        if (begin == NULL || begin() != 1) abort();
    }
    *(void **)&call = real("cuInit");
    return call(flags);
}
