/* module.c - registration and loading of device code. See module.h. */
#include "runtime/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/fatbin.h"
#include "runtime/map.h"
#include "runtime/observe.h"

#define FAT_MAGIC 0x466243b1
enum { COMPUTE = 90 }; /* of the modelled GPU */

static Module *modules;
static Map kernels;   /* by stand-in, and by itself */
static Map variables; /* by stand-in */

/* --- registration: nothing is loaded, and nothing can fail --- */

API_OF(void **, __cudaRegisterFatBinary, void *wrapper) {
    call_lock("registration");
    Module *m = gi_alloc(sizeof *m);
    *m = (Module){.wrapper = wrapper, .next = modules};
    modules = m;
    call_unlock(cudaSuccess);
    return (void **)m;
}
API_OF(void, __cudaRegisterFatBinaryEnd, void **handle) {
    (void)handle;
}
API_OF(void, __cudaUnregisterFatBinary, void **handle) {
    (void)handle;
}

/* The module of a handle; NULL for one that nobody was given, and for what has no name: what is
** registered with that is nobody's, and a launch of it is refused. */
static Module *registered(void **handle, const char *name) {
    Module *m = modules;
    while (m && (void **)m != handle) m = m->next;
    return name ? m : NULL;
}

static Kernel *add_kernel(Module *m, const void *host, const char *name) {
    Kernel *k = gi_alloc(sizeof *k);
    *k = (Kernel){.host = host, .name = gi_strdup(name), .module = m, .carveout = -1};
    if (host) map_set(&kernels, host, k);
    map_set(&kernels, k, k);
    return k;
}

API_OF(void, __cudaRegisterFunction, void **handle, const char *host, char *device,
       const char *name, int threads, void *tid, void *bid, void *block, void *grid, int *warp) {
    (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    call_lock("registration");
    Module *m = registered(handle, name);
    if (m) add_kernel(m, host, name);
    call_unlock(cudaSuccess);
}

static Variable *add_variable(Module *m, const void *host, const char *name, size_t size) {
    Variable *v = gi_alloc(sizeof *v);
    *v = (Variable){
        .host = host, .name = gi_strdup(name), .module = m, .size = size, .next = m->variables};
    m->variables = v;
    map_set(&variables, host, v);
    return v;
}

API_OF(void, __cudaRegisterVar, void **handle, char *host, char *device, const char *name,
       int is_extern, size_t size, int is_constant, int global) {
    (void)device, (void)is_extern, (void)global;
    call_lock("registration");
    Module *m = registered(handle, name);
    if (m) add_variable(m, host, name, size)->is_constant = is_constant != 0;
    call_unlock(cudaSuccess);
}
API_OF(void, __cudaRegisterManagedVar, void **handle, void **host, char *device, const char *name,
       int is_extern, size_t size, int is_constant, int global) {
    (void)device, (void)is_extern, (void)is_constant, (void)global;
    call_lock("registration");
    Module *m = registered(handle, name);
    if (m) add_variable(m, host, name, size)->managed = host;
    call_unlock(cudaSuccess);
}
API_OF(void, __cudaRegisterHostVar, void **handle, const char *name, char *host, size_t size) {
    (void)handle, (void)name, (void)host, (void)size;
}
VERSION_13(__cudaRegisterFatBinaryEnd, __cudaRegisterUnifiedTable);
VERSION_12(__cudaRegisterFatBinaryEnd, __cudaRegisterUnifiedTable);

/* --- loading --- */

typedef struct Texts {
    EmuText *v;
    int n, cap;
    gi_err lacking; /* why a part gave none */
} Texts;

/* Parts with nothing for this GPU are left out: CUDA's own, for launches from kernels, is one. */
static void add_text(Texts *t, const void *container) {
    gi_buf ptx = {0};
    gi_err err = {0};
    int registers;
    if (!fatbin_ptx(container, SIZE_MAX, COMPUTE, &ptx, &registers, &err)) {
        if (strcmp(err.code, "nolib") != 0) refuse("%s", err.message);
        t->lacking = err;
        return;
    }
    gi_grow(t->v, t->n, t->cap);
    t->v[t->n++] = (EmuText){ptx.data, ptx.len, registers};
}

/* One fat binary, or the parts that the program's own device linker left. */
static Texts texts_of(const CudaFatWrapper *w) {
    Texts t = {0};
    if (w == NULL) refuse("what the program registers is no fat binary: it is nowhere");
    if (w->magic != FAT_MAGIC)
        refuse("what the program registers is no fat binary (magic 0x%x)", (unsigned)w->magic);
    if (w->version == 1) add_text(&t, w->data);
    for (const void *const *part = w->parts; w->version == 2 && *part; part++) add_text(&t, *part);
    if (t.n == 0) refuse("%s", t.lacking.message);
    return t;
}

static void free_texts(Texts *t) {
    for (int i = 0; i < t->n; i++) free((char *)(uintptr_t)t->v[i].ptx);
    free(t->v);
}

static bool place_managed(void *user, const char *name, size_t size, uint64_t *address,
                          void **data) {
    (void)user, (void)name;
    *data = memory_pages(size);
    *address = (uint64_t)(uintptr_t)*data;
    return *data != NULL;
}

static void place_variable(Module *m, Variable *v) {
    void *data = emu_symbol(m->emu, v->name, &v->size, &v->address);
    if (data) memory_variable(v->address, data, v->size, v->managed != NULL);
    if (data == NULL || v->managed == NULL) return;
    *v->managed = data;
    map_set(&variables, data, v); /* by which the program names it from now on */
}

static bool link_texts(Module *m, const EmuText *texts, int n, gi_err *err) {
    EmuLink link = {.texts = texts, .n = n, .managed = place_managed};
    m->emu = emu_link(runtime.emu, &link, err);
    if (m->emu == NULL) return false;
    for (Variable *v = m->variables; v; v = v->next) place_variable(m, v);
    observed_module(m, texts, n);
    return true;
}

void module_load(Module *m) {
    gi_err err = {0};
    if (m->emu) return;
    Texts t = texts_of(m->wrapper);
    if (!link_texts(m, t.v, t.n, &err))
        refuse("device code of the program cannot be loaded: %s", err.message);
    free_texts(&t);
}

Module *module_of_texts(const EmuText *texts, int n, gi_err *err) {
    Module *m = gi_alloc(sizeof *m);
    if (!link_texts(m, texts, n, err)) return free(m), NULL;
    m->next = modules;
    modules = m;
    return m;
}

API_OF(char, __cudaInitModule, void **handle) {
    Module *m = call_begin("__cudaInitModule") ? registered(handle, "") : NULL;
    if (m) module_load(m);
    return call_end(cudaSuccess) == cudaSuccess;
}

/* --- kernels --- */

Kernel *module_kernel(const void *handle) {
    return map_get(&kernels, handle);
}

char *module_demangled(const char *name) {
    typedef char *(*Demangle)(const char *, char *, size_t *, int *);
    Demangle demangle;
    int status = -1;
    const char *plain = strncmp(name, "__nv_static_", 12) == 0 ? strstr(name, "_Z") : NULL;
    if (plain) name = plain;
    *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    return text && status == 0 ? text : gi_strdup(name);
}

Kernel *module_ready(const void *handle) {
    Kernel *k = module_kernel(handle);
    gi_err err = {0};
    if (k == NULL || k->known) return k;
    module_load(k->module);
    k->shown = module_demangled(k->name);
    if (!emu_kernel_info(k->module->emu, k->name, &k->info, &err))
        refuse("kernel %s cannot run on the virtual GPU: %s", k->shown, err.message);
    k->max_dynamic_shared =
        (int)runtime.config.model.shared_per_block_default - (int)k->info.shared_bytes;
    k->known = true;
    return k;
}

static CudaError kernel_handle(Kernel **out, const void *host) {
    if (out == NULL) return cudaErrorInvalidValue;
    Kernel *k = module_kernel(host);
    if (k == NULL) return cudaErrorInvalidDeviceFunction;
    *out = k;
    return cudaSuccess;
}

API(__cudaGetKernel, Kernel **out, const void *host) {
    return CALL(kernel_handle(out, host));
}
API(cudaGetKernel, Kernel **out, const void *host) {
    return CALL(kernel_handle(out, host));
}
API(cudaGetFuncBySymbol, Kernel **out, const void *host) {
    return CALL(kernel_handle(out, host));
}

static CudaError kernel_name(const char **out, const void *host) {
    const Kernel *k = module_kernel(host);
    if (out == NULL || k == NULL)
        return out ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
    *out = k->name;
    return cudaSuccess;
}

API(cudaFuncGetName, const char **out, const void *host) {
    return CALL(kernel_name(out, host));
}

/* --- modules that a program loads itself --- */

static bool is_module(const Module *m) {
    for (const Module *at = modules; at; at = at->next)
        if (at == m) return at->wrapper == NULL;
    return false;
}

static Kernel *kernel_named(const Module *m, const char *name) {
    for (size_t i = 0; i < kernels.cap; i++) {
        Kernel *k = kernels.rows[i].value;
        if (k && k->module == m && strcmp(k->name, name) == 0) return k;
    }
    return NULL;
}

CudaError module_function(Module *m, const char *name, Kernel **out) {
    if (!is_module(m)) return cudaErrorInvalidResourceHandle;
    Kernel *k = kernel_named(m, name);
    for (int i = 0; k == NULL; i++) {
        const char *known = emu_kernel_name(m->emu, i);
        if (known == NULL) return cudaErrorSymbolNotFound;
        if (strcmp(known, name) == 0) k = add_kernel(m, NULL, name);
    }
    *out = k;
    return cudaSuccess;
}

/* A variable whose address the program has may be written, so launches are compared by it, too. */
CudaError module_global(Module *m, const char *name, uint64_t *address, size_t *size) {
    if (!is_module(m)) return cudaErrorInvalidResourceHandle;
    Variable *v = m->variables;
    while (v && strcmp(v->name, name) != 0) v = v->next;
    if (v == NULL) {
        uint64_t there;
        size_t bytes;
        const void *data = emu_symbol(m->emu, name, &bytes, &there);
        if (data == NULL) return cudaErrorSymbolNotFound;
        v = add_variable(m, data, name, bytes);
        v->is_constant = true;
        place_variable(m, v);
    }
    if (address) *address = v->address;
    if (size) *size = v->size;
    return cudaSuccess;
}

CudaError module_unload(Module *m) {
    if (!is_module(m)) return cudaErrorInvalidResourceHandle;
    for (size_t i = 0; i < kernels.cap; i++) {
        const Kernel *k = kernels.rows[i].value;
        if (k && k->module == m) map_set(&kernels, k, NULL);
    }
    for (const Variable *v = m->variables; v; v = v->next) map_set(&variables, v->host, NULL);
    for (Module **at = &modules; *at; at = &(*at)->next)
        if (*at == m) {
            *at = m->next;
            break;
        }
    contents_settle_all(); /* its variables go */
    emu_unload(m->emu);
    m->emu = NULL;
    return cudaSuccess;
}

/* --- variables --- */

CudaError module_symbol(const void *host, uint64_t *address, size_t *size) {
    const Variable *v = map_get(&variables, host);
    if (v == NULL) return cudaErrorInvalidSymbol;
    module_load(v->module);
    if (v->address == 0) return cudaErrorInvalidSymbol;
    *address = v->address;
    *size = v->size;
    return cudaSuccess;
}

static CudaError symbol_address(void **out, const void *host) {
    uint64_t address = 0;
    size_t size;
    CudaError e = out ? module_symbol(host, &address, &size) : cudaErrorInvalidValue;
    if (e == cudaSuccess) *out = (void *)(uintptr_t)address;
    return e;
}

static CudaError symbol_size(size_t *out, const void *host) {
    uint64_t address;
    return out ? module_symbol(host, &address, out) : cudaErrorInvalidValue;
}

API(cudaGetSymbolAddress, void **out, const void *host) {
    return CALL(symbol_address(out, host));
}
API(cudaGetSymbolSize, size_t *out, const void *host) {
    return CALL(symbol_size(out, host));
}
