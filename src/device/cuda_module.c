/* cuda_module.c - code on the GPU and its variables.
**
** What a kernel wrote into a __device__ variable must not reach the next launch. So the variables
** that kernels can write are copied aside when the code is loaded (as the host leaves them, when it
** writes to one) and copied back before every launch. A variable without a name that the driver
** knows (`static` ones) cannot be copied: a module with one is loaded again before every launch.
*/
#include "device/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "compile/cubin.h"
#include "ptx/ptx.h"

enum { PIECE_BYTES = 64 << 10 }; /* one block of threads copies no more than this */

static CudaModule *module_of(DeviceModule *m) {
    return (CudaModule *)m;
}

static CudaDevice *device_of(const CudaModule *m) {
    return cuda_of(m->base.device);
}

static bool is_machine_code(const CudaModule *m) {
    return m->image_bytes >= 4 && memcmp(m->image, "\177ELF", 4) == 0;
}

/* --- loading --- */

static bool is_bad_code(int code) {
    return code == CU_INVALID_IMAGE || code == CU_NO_BINARY || code == CU_INVALID_PTX ||
           code == CU_NO_JIT || code == CU_PTX_VERSION || code == CU_INVALID_SOURCE;
}

static bool load_image(CudaModule *m, gi_err *err) {
    CudaDevice *d = device_of(m);
    char log[700] = "", words[200];
    int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    int code = d->cu->module_load(&m->module, m->image, 2, options, values);
    if (!is_bad_code(code)) return cuda_ok(d, code, "load code", err);
    m->module = NULL;
    driver_words(d->cu, code, words, sizeof words);
    return gi_fail(err, "compile", "the driver refuses the %s: %s%s%s",
                   is_machine_code(m) ? "machine code" : "PTX", words, *log ? ": " : "", log);
}

static void unload_image(CudaModule *m) {
    CudaDevice *d = device_of(m);
    if (m->module && !d->lost && cuda_enter(d, NULL)) d->cu->module_free(m->module);
    m->module = NULL;
    for (int i = 0; i < m->n_known; i++) m->kernels[i].function = NULL;
}

/* --- variables that kernels can write --- */

static bool add_variable(CudaModule *m, const char *name, gi_err *err) {
    CuPointer address;
    size_t bytes;
    CudaDevice *d = device_of(m);
    int code = d->cu->module_symbol(&address, &bytes, m->module, name);
    m->reload |= code == CU_NOT_FOUND;
    if (code != CU_OK) return m->reload || cuda_ok(d, code, "find a device variable", err);
    for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
        size_t left = bytes - at;
        gi_grow(m->pieces, m->n_pieces, m->cap_pieces);
        m->pieces[m->n_pieces++] = (CudaPiece){
            .address = address + at, .bytes = (uint32_t)(left < PIECE_BYTES ? left : PIECE_BYTES)};
    }
    return true;
}

static bool list_cubin(CudaModule *m, gi_err *err) {
    CubinSymbol *symbols;
    int n = cubin_symbols(m->image, m->image_bytes, &symbols, err);
    if (n < 0) return false;
    bool ok = true;
    for (int i = 0; i < n && ok; i++)
        if (!symbols[i].constant && symbols[i].size > 0) ok = add_variable(m, symbols[i].name, err);
    cubin_symbols_free(symbols, n);
    return ok;
}

static bool list_ptx(CudaModule *m, gi_err *err) {
    PtxModule *ptx = ptx_parse(m->image, strlen(m->image), err);
    if (ptx == NULL) return false;
    bool ok = true;
    for (int i = 0; i < ptx->n_vars && ok; i++) {
        const PtxVar *v = ptx->vars[i];
        if (v->space == PTX_GLOBAL && !v->is_extern && !v->is_managed_or_texref && v->size > 0)
            ok = add_variable(m, v->name, err);
    }
    ptx_free(ptx);
    return ok;
}

/* Gives each piece its place in the saved copy, behind the list of pieces itself. */
static size_t place_pieces(CudaModule *m) {
    size_t at = (size_t)m->n_pieces * sizeof *m->pieces;
    for (int i = 0; i < m->n_pieces; i++) {
        at = (at + 15) & ~(size_t)15;
        m->pieces[i].saved = at;
        at += m->pieces[i].bytes;
    }
    return at;
}

/* Queues copies of all pieces: from the variables (save) or back to them. */
static int queue_pieces(CudaModule *m, int save) {
    CudaDevice *d = device_of(m);
    void *args[] = {&m->saved->address, &m->saved->address, &save};
    return cuda_help(d, d->helpers.pieces, (unsigned)m->n_pieces, args);
}

static void forget_variables(CudaModule *m) {
    cuda_block_free(m->saved);
    free(m->saved_host);
    m->saved = NULL;
    m->saved_host = NULL;
    m->n_pieces = 0;
    m->reload = false;
}

/* The block is made with the list of pieces, filled on the device, and read back. */
static bool copy_variables(CudaModule *m, gi_err *err) {
    CudaDevice *d = device_of(m);
    m->saved_bytes = place_pieces(m);
    m->saved_host = calloc(1, m->saved_bytes);
    if (m->saved_host == NULL)
        return gi_fail(err, "nomem", "no memory to save %zu bytes of device variables",
                       m->saved_bytes);
    memcpy(m->saved_host, m->pieces, (size_t)m->n_pieces * sizeof *m->pieces);
    m->saved =
        cuda_block_new(d, m->saved_bytes, m->saved_host, true, "the saved device variables", err);
    return m->saved != NULL && cuda_ok(d, queue_pieces(m, 1), "save the device variables", err) &&
           cuda_download(d, m->saved_host, m->saved->address, m->saved_bytes, err) &&
           cuda_block_record(m->saved, err);
}

static bool save_variables(CudaModule *m, gi_err *err) {
    forget_variables(m);
    if (!(is_machine_code(m) ? list_cubin(m, err) : list_ptx(m, err))) return false;
    return m->n_pieces == 0 || m->reload || copy_variables(m, err);
}

/* The same code from the beginning, with what the host has written since. */
static bool load_again(CudaModule *m, gi_err *err) {
    unload_image(m);
    if (!load_image(m, err)) return false;
    for (int i = 0; i < m->base.n_writes; i++) {
        const SymbolWrite *w = &m->base.writes[i];
        if (!cuda_symbol_write(&m->base, w->name, w->bytes, w->n, err)) return false;
    }
    return true;
}

bool cuda_module_renew(CudaModule *m, gi_err *err) {
    return !m->reload || load_again(m, err);
}

int cuda_queue_reset(CudaModule *m) {
    return m->saved ? queue_pieces(m, 0) : CU_OK;
}

bool cuda_module_reset(DeviceModule *base, gi_err *err) {
    CudaModule *m = module_of(base);
    if (!cuda_enter(device_of(m), err)) return false;
    return load_again(m, err) && save_variables(m, err);
}

/* --- symbols --- */

static bool find_symbol(CudaModule *m, const char *name, CuPointer *address, size_t *size) {
    CudaDevice *d = device_of(m);
    return m->module && cuda_enter(d, NULL) &&
           d->cu->module_symbol(address, size, m->module, name) == CU_OK;
}

bool cuda_symbol_size(DeviceModule *m, const char *name, size_t *size) {
    CuPointer address;
    return find_symbol(module_of(m), name, &address, size);
}

/* Writes to the copy too, where the variable has one. */
static bool save_write(CudaModule *m, CuPointer address, const void *bytes, size_t n, gi_err *err) {
    bool saved = false;
    for (int i = 0; i < m->n_pieces && m->saved; i++) {
        const CudaPiece *p = &m->pieces[i];
        if (p->address + p->bytes <= address || p->address >= address + n) continue;
        size_t skip = p->address > address ? (size_t)(p->address - address) : 0;
        size_t into = p->address < address ? (size_t)(address - p->address) : 0;
        size_t most = p->bytes - into, left = n - skip;
        memcpy(m->saved_host + p->saved + into, (const char *)bytes + skip,
               left < most ? left : most);
        saved = true;
    }
    return !saved ||
           (cuda_upload(device_of(m), m->saved->address, m->saved_host, m->saved_bytes, err) &&
            cuda_block_record(m->saved, err));
}

bool cuda_symbol_write(DeviceModule *base, const char *name, const void *bytes, size_t n,
                       gi_err *err) {
    CudaModule *m = module_of(base);
    CuPointer address;
    size_t size;
    if (!find_symbol(m, name, &address, &size))
        return gi_fail(err, "driver", "the driver does not find the variable '%s'", name);
    return cuda_upload(device_of(m), address, bytes, n, err) &&
           save_write(m, address, bytes, n, err);
}

bool cuda_symbol_read(DeviceModule *base, const char *name, void *bytes, size_t n, gi_err *err) {
    CuPointer address;
    size_t size;
    if (!find_symbol(module_of(base), name, &address, &size))
        return gi_fail(err, "driver", "the driver does not find the variable '%s'", name);
    return cuda_download(cuda_of(base->device), bytes, address, n, err);
}

/* --- kernels --- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool list_kernels(CudaModule *m, gi_err *err) {
    CudaDevice *d = device_of(m);
    unsigned n = 0;
    int code = d->cu->module_count(&n, m->module);
    CuFunction *functions = gi_alloc((n + 1) * sizeof *functions);
    m->kernel_names = gi_alloc((n + 1) * sizeof *m->kernel_names);
    if (code == CU_OK && n > 0) code = d->cu->module_functions(functions, n, m->module);
    for (unsigned i = 0; i < n && code == CU_OK; i++) {
        const char *name;
        code = d->cu->function_name(&name, functions[i]);
        if (code == CU_OK) m->kernel_names[m->n_kernels++] = gi_strdup(name);
    }
    free(functions);
    qsort(m->kernel_names, (size_t)m->n_kernels, sizeof *m->kernel_names, by_name);
    return cuda_ok(d, code, "list the kernels of the code", err);
}

const char *cuda_kernel_name(DeviceModule *base, int index) {
    CudaModule *m = module_of(base);
    return index >= 0 && index < m->n_kernels ? m->kernel_names[index] : NULL;
}

static int function_attribute(CudaDevice *d, CuFunction f, int which) {
    int value = 0;
    d->cu->function_attribute(&value, which, f);
    return value;
}

static void read_params(CudaDevice *d, CudaKernel *k) {
    KernelInfo *info = &k->info;
    size_t offset, size;
    for (int n = 0, cap = 0;
         d->cu->function_param(k->function, (size_t)n, &offset, &size) == CU_OK;) {
        if (n == cap) {
            cap = cap ? 2 * cap : 16;
            k->param_size = gi_realloc(k->param_size, (size_t)cap * sizeof *k->param_size);
            k->param_offset = gi_realloc(k->param_offset, (size_t)cap * sizeof *k->param_offset);
        }
        k->param_offset[n] = (uint32_t)offset;
        k->param_size[n++] = (uint32_t)size;
        info->n_params = n;
        if (offset + size > info->param_bytes) info->param_bytes = offset + size;
    }
    info->param_size = k->param_size;
    info->param_offset = k->param_offset;
}

static KernelInfo read_kernel(CudaDevice *d, CuFunction f) {
    KernelInfo info = {
        .registers = function_attribute(d, f, CU_FUNCTION_REGISTERS),
        .shared_bytes = (size_t)function_attribute(d, f, CU_FUNCTION_SHARED_BYTES),
        .local_bytes = (size_t)function_attribute(d, f, CU_FUNCTION_LOCAL_BYTES),
        .max_threads = function_attribute(d, f, CU_FUNCTION_MAX_THREADS),
    };
    if (info.max_threads >= d->info.max_threads_per_block) info.max_threads = 0;
    return info;
}

static CudaKernel *known_kernel(CudaModule *m, const char *name) {
    for (int i = 0; i < m->n_known; i++)
        if (strcmp(m->kernels[i].name, name) == 0) return &m->kernels[i];
    gi_grow(m->kernels, m->n_known, m->cap_known);
    CudaKernel *k = &m->kernels[m->n_known++];
    *k = (CudaKernel){.name = gi_strdup(name)};
    return k;
}

CudaKernel *cuda_kernel(CudaModule *m, const char *name, gi_err *err) {
    CudaDevice *d = device_of(m);
    CuFunction f;
    CudaKernel *k = known_kernel(m, name);
    if (k->function != NULL) return k;
    int code = m->module ? d->cu->module_function(&f, m->module, name) : CU_NOT_FOUND;
    if (code == CU_NOT_FOUND) gi_fail(err, "usage", "the module has no kernel '%s'", name);
    else cuda_ok(d, code, "load a kernel", err);
    if (code != CU_OK) return NULL;
    k->function = f;
    k->info = read_kernel(d, f);
    read_params(d, k);
    k->cache = CACHE_DEFAULT;
    k->carveout = -1;
    k->dynamic = 0;
    return k;
}

bool cuda_kernel_info(DeviceModule *m, const char *kernel, KernelInfo *out, gi_err *err) {
    if (!cuda_enter(cuda_of(m->device), err)) return false;
    const CudaKernel *k = cuda_kernel(module_of(m), kernel, err);
    if (k != NULL) *out = k->info;
    return k != NULL;
}

/* --- a module's life --- */

DeviceModule *cuda_load(Device *base, const char *code, size_t len, gi_err *err) {
    CudaDevice *d = cuda_of(base);
    if (!cuda_enter(d, err)) return NULL;
    CudaModule *m = gi_alloc(sizeof *m);
    m->base.device = base;
    m->image = gi_alloc(len + 1);
    memcpy(m->image, code, len);
    m->image_bytes = len;
    if (load_image(m, err) && list_kernels(m, err) && save_variables(m, err)) return &m->base;
    cuda_module_free(&m->base);
    return NULL;
}

void cuda_module_free(DeviceModule *base) {
    CudaModule *m = module_of(base);
    forget_variables(m);
    unload_image(m);
    for (int i = 0; i < m->n_kernels; i++) free(m->kernel_names[i]);
    for (int i = 0; i < m->n_known; i++) {
        free(m->kernels[i].name);
        free(m->kernels[i].param_size);
        free(m->kernels[i].param_offset);
    }
    free(m->kernel_names);
    free(m->kernels);
    free(m->pieces);
    free(m->image);
    free(m);
}
