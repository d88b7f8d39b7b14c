/* link.c - see link.h. */
#include "compile/link.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/cubin.h"
#include "compile/place.h"

typedef struct Job Job; /* nvJitLink's own: one image being made */

enum { LINK_OK = 0, LINK_UNKNOWN_OPTION = 1, LINK_MISSING_ARCH = 2, LINK_INVALID_INPUT = 3,
       LINK_PTX = 4, LINK_INTERNAL = 6, LINK_INPUT_PTX = 2 }; /* nvJitLinkResult, …InputType */

struct Linker {
    void *handle;
    char *path;
    int major, minor;
    int (*version)(unsigned *major, unsigned *minor);
    int (*create)(Job **, uint32_t n, const char *const *options);
    int (*destroy)(Job **);
    int (*add)(Job *, int type, const void *data, size_t size, const char *name);
    int (*complete)(Job *);
    int (*code_size)(Job *, size_t *);
    int (*code)(Job *, void *);
    int (*error_size)(Job *, size_t *);
    int (*error)(Job *, char *);
    int (*info_size)(Job *, size_t *);
    int (*info)(Job *, char *);
};

/* --- the library --- */

static bool load_symbols(Linker *l) {
    const PlaceSymbol wanted[] = {
        {&l->version, "nvJitLinkVersion"},
        {&l->create, "nvJitLinkCreate"},
        {&l->destroy, "nvJitLinkDestroy"},
        {&l->add, "nvJitLinkAddData"},
        {&l->complete, "nvJitLinkComplete"},
        {&l->code_size, "nvJitLinkGetLinkedCubinSize"},
        {&l->code, "nvJitLinkGetLinkedCubin"},
        {&l->error_size, "nvJitLinkGetErrorLogSize"},
        {&l->error, "nvJitLinkGetErrorLog"},
        {&l->info_size, "nvJitLinkGetInfoLogSize"},
        {&l->info, "nvJitLinkGetInfoLog"},
    };
    return place_symbols(l->handle, wanted, sizeof wanted / sizeof *wanted) == NULL;
}

static bool load_file(void *context, const char *file) {
    Linker *l = context;
    unsigned major = 0, minor = 0;
    l->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (l->handle == NULL) return false;
    if (!load_symbols(l) || l->version(&major, &minor) != LINK_OK || major < 12) {
        dlclose(l->handle);
        return false;
    }
    l->major = (int)major;
    l->minor = (int)minor;
    l->path = place_of(&l->version, file);
    return true;
}

Linker *link_open(gi_err *err) {
    static const char *const files[] = {"libnvJitLink.so.13", "libnvJitLink.so.12",
                                        "libnvJitLink.so", NULL};
    static const Wanted linker = {
        .what = "nvJitLink of CUDA 12 or 13",
        .variable = "GILUA_NVJITLINK",
        .get = "run `make deps-test` in a clone, or install it with `pip install nvidia-nvjitlink`",
        .files = files,
        .load = load_file,
    };
    Linker found = {0};
    if (!place_find(&linker, &found, err)) return NULL;
    Linker *l = gi_alloc(sizeof *l);
    *l = found;
    return l;
}

void link_close(Linker *l) {
    if (l == NULL) return;
    free(l->path);
    dlclose(l->handle);
    free(l);
}

const char *link_path(const Linker *l) {
    return l->path;
}

void link_version(const Linker *l, int *major, int *minor) {
    *major = l->major;
    *minor = l->minor;
}

/* --- one image --- */

void link_result_free(LinkResult *r) {
    gi_buf_free(&r->code);
    gi_buf_free(&r->log);
    *r = (LinkResult){0};
}

/* What it says through one of its two logs; their sizes count a zero byte. */
static void add_log(Job *job, int (*size)(Job *, size_t *), int (*get)(Job *, char *),
                    gi_buf *log) {
    size_t n = 0;
    if (size(job, &n) != LINK_OK || n <= 1) return;
    char *text = gi_alloc(n + 1);
    if (get(job, text) == LINK_OK) gi_buf_addf(log, "%s", text);
    free(text);
}

static bool get_code(Linker *l, Job *job, LinkResult *out) {
    size_t n = 0;
    if (l->code_size(job, &n) != LINK_OK) return false;
    char *code = gi_alloc(n);
    bool ok = l->code(job, code) == LINK_OK;
    if (ok) gi_buf_add(&out->code, code, n);
    free(code);
    return ok;
}

static int assemble(Linker *l, Job *job, const LinkModule *modules, int n) {
    int result = LINK_OK;
    for (int i = 0; i < n && result == LINK_OK; i++)
        result = l->add(job, LINK_INPUT_PTX, modules[i].ptx, modules[i].len, modules[i].name);
    return result == LINK_OK ? l->complete(job) : result;
}

static bool is_of_input(int result) {
    return result == LINK_INVALID_INPUT || result == LINK_PTX;
}

/* The letter of a module's own target where it has one (sm_90a): its instructions are that GPU's
** alone, and the linker refuses them without it. "" else, and where the target has one. */
static const char *letter_of(const LinkModule *modules, int n, const char *target) {
    if (*target == '\0' || target[strlen(target) - 1] > '9') return "";
    for (int i = 0; i < n; i++) {
        const char *at = memmem(modules[i].ptx, modules[i].len, "\n.target sm_", 12);
        const char *end = modules[i].ptx + modules[i].len;
        for (at = at ? at + 12 : end; at < end && *at >= '0' && *at <= '9';) at++;
        if (at < end && *at == 'a') return "a";
        if (at < end && *at == 'f') return "f";
    }
    return "";
}

/* Of options no log is to be had: there is no job. */
static Job *begin(Linker *l, const char *target, const char *const *options, gi_err *err) {
    int n = 0, n_options = 0;
    Job *job = NULL;
    while (options && options[n_options]) n_options++;
    const char **all = gi_alloc((size_t)(n_options + 1) * sizeof *all);
    gi_buf arch = {0};
    gi_buf_addf(&arch, "-arch=%s", target);
    all[n++] = arch.data;
    for (int i = 0; i < n_options; i++) all[n++] = options[i];
    int result = l->create(&job, (uint32_t)n, all);
    if (result != LINK_OK) {
        job = NULL;
        gi_fail(err, "usage", "nvJitLink %d.%d does not take the target '%s'%s%s", l->major,
                l->minor, target, n_options ? " or one of the options: " : "",
                n_options ? options[0] : "");
    }
    gi_buf_free(&arch);
    free(all);
    return job;
}

bool link_ptx(Linker *l, const LinkModule *modules, int n, const char *target,
              const char *const *options, LinkResult *out, gi_err *err) {
    LinkResult r = {0};
    gi_buf own = {0};
    gi_buf_addf(&own, "%s%s", target, letter_of(modules, n, target));
    Job *job = begin(l, own.data, options, err);
    gi_buf_free(&own);
    if (job == NULL) return false;
    int result = assemble(l, job, modules, n);
    add_log(job, l->error_size, l->error, &r.log);
    r.ok = result == LINK_OK && r.log.len == 0 && get_code(l, job, &r);
    add_log(job, l->info_size, l->info, &r.log);
    l->destroy(&job);
    if (r.ok || is_of_input(result) || r.log.len) {
        *out = r;
        return true;
    }
    gi_fail(err, "driver", "nvJitLink %d.%d failed (its result %d)", l->major, l->minor, result);
    link_result_free(&r);
    return false;
}

static bool assembled(const char *ptx, size_t len, const char *const *options, LinkResult *r) {
    static Linker *linker;
    LinkModule module = {.ptx = ptx, .len = len, .name = "a kernel"};
    if (linker == NULL) linker = link_open(NULL);
    return linker && link_ptx(linker, &module, 1, "sm_90", options, r, NULL);
}

int link_registers(const char *ptx, size_t len, const char *kernel) {
    LinkResult r = {0};
    if (!assembled(ptx, len, NULL, &r)) return 0;
    int n = r.ok ? cubin_registers(r.code.data, r.code.len, kernel) : 0;
    link_result_free(&r);
    return n;
}

/* The machine code names one frame for all of a kernel's functions, the largest; ptxas' words
** name each function's, in a line after the function's name. */
static int frame_told(const char *log, const char *function) {
    static const char head[] = "Function properties for ";
    size_t n = strlen(function);
    for (const char *at = log; at && (at = strstr(at, head)) != NULL;) {
        at += sizeof head - 1;
        const char *line = at + n;
        if (strncmp(at, function, n) != 0 || *line != '\n') continue;
        int bytes;
        return sscanf(line, "%*[^0-9]%d bytes stack frame", &bytes) == 1 ? bytes : -1;
    }
    return -1;
}

int link_frame(const char *ptx, size_t len, const char *function) {
    static const char *const options[] = {"-Xptxas=-v", NULL};
    LinkResult r = {0};
    if (!assembled(ptx, len, options, &r)) return -1;
    int n = r.ok && r.log.data ? frame_told(r.log.data, function) : -1;
    link_result_free(&r);
    return n;
}
