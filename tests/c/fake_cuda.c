/* fake_cuda.c - a libcuda.so without a GPU, for `GILUA_CUDA=… gilua … --device cuda`: fake_driver.h
** with the driver's names, whose kernels run on the virtual GPU. gilua's own kernels, which come as
** machine code, are fake_driver.h's, and fake_cubin.h's is the PTX in it; textures read nothing.
** What a kernel does wrong is said on standard error, and costs the context, as on a GPU.
*/
#include "fake_driver.h"

#include "emu_model.h"
#include "fake_cubin.h"

static Emu *emu;
static struct Variable { /* that kernels are shown where the host has it, too */
    CuModule module;
    uint64_t address;
} variables[100];
static int n_variables;

typedef struct Function {
    struct CuFunctionObject base;
    EmuModule *module;
    char name[1000];
    struct Function *next;
} Function;

/* --- memory: kernels see the host's, where it is --- */

static void shown(uint64_t address, size_t bytes) {
    emu_map_at(emu, address, fake_at(address), bytes, false, "memory of the fake GPU", NULL);
}

static int virtual_memory_new(CuPointer *p, size_t bytes) {
    int code = fake_memory_new(p, bytes);
    if (code == CU_OK) shown(*p, bytes);
    return code;
}

static int virtual_memory_free(CuPointer p) {
    emu_unmap(emu, p);
    return fake_memory_free(p);
}

static int virtual_reserve(CuPointer *out, size_t bytes, size_t alignment, CuPointer at,
                        uint64_t flags) {
    int code = fake_reserve(out, bytes, alignment, at, flags);
    if (code == CU_OK) shown(*out, bytes);
    return code;
}

static int virtual_unreserve(CuPointer p, size_t bytes) {
    emu_unmap(emu, p);
    return fake_unreserve(p, bytes);
}

/* --- code --- */

/* The PTX that a module is, or stands for; NULL: gilua's own kernels, which are none. */
static const char *ptx_of(const void *image) {
    Elf64_Ehdr h;
    if (memcmp(image, ELFMAG, SELFMAG) != 0) return image;
    memcpy(&h, image, sizeof h);
    const char *bytes = image;
    Elf64_Shdr sections[64];
    if (h.e_shnum > 64 || h.e_shstrndx >= h.e_shnum) return NULL;
    memcpy(sections, bytes + h.e_shoff, h.e_shnum * sizeof *sections);
    for (int i = 0; i < h.e_shnum; i++)
        if (strcmp(bytes + sections[h.e_shstrndx].sh_offset + sections[i].sh_name,
                   FAKE_CUBIN_PTX) == 0)
            return bytes + sections[i].sh_offset;
    return NULL;
}

static int virtual_module_load(CuModule *m, const void *image, unsigned n, int *options,
                            void **values) {
    gi_err err;
    EmuModule *loaded = NULL;
    const char *ptx = ptx_of(image);
    if (ptx) {
        loaded = emu_load(emu, ptx, strlen(ptx), &err);
        if (loaded == NULL) {
            if (n > 0) snprintf(values[0], (size_t)(uintptr_t)values[1], "%s", err.message);
            return CU_INVALID_PTX;
        }
    }
    int code = fake_module_load(m, image, n, options, values);
    if (code == CU_OK) (*m)->loaded = loaded;
    return code;
}

static void show_variable(CuModule m, uint64_t address, size_t bytes) {
    for (int i = 0; i < n_variables; i++)
        if (variables[i].address == address) return;
    if (n_variables == 100) return;
    variables[n_variables++] = (struct Variable){m, address};
    shown(address, bytes);
}

static void hide_variables(CuModule m) {
    for (int i = n_variables - 1; i >= 0; i--) {
        if (variables[i].module != m) continue;
        emu_unmap(emu, variables[i].address);
        variables[i] = variables[--n_variables];
    }
}

static int virtual_module_free(CuModule m) {
    hide_variables(m);
    for (Function *f = m->functions, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    if (m->loaded) emu_unload(m->loaded);
    return fake_module_free(m);
}

static int virtual_module_function(CuFunction *f, CuModule m, const char *name) {
    EmuKernelInfo info;
    gi_err err;
    if (m->loaded == NULL) return fake_module_function(f, m, name);
    FAKE_CALL();
    if (!emu_kernel_info(m->loaded, name, &info, &err)) return CU_NOT_FOUND;
    Function *made = calloc(1, sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->base.name = made->name, made->module = m->loaded, made->next = m->functions;
    m->functions = made;
    *f = &made->base;
    return CU_OK;
}

static int virtual_module_symbol(CuPointer *p, size_t *bytes, CuModule m, const char *name) {
    if (m->loaded == NULL) return CU_NOT_FOUND;
    void *data = emu_symbol(m->loaded, name, bytes, NULL);
    *p = (CuPointer)(uintptr_t)data;
    if (data) show_variable(m, *p, *bytes);
    return data ? CU_OK : CU_NOT_FOUND;
}

static int virtual_module_count(unsigned *n, CuModule m) {
    for (*n = 0; m->loaded && emu_kernel_name(m->loaded, (int)*n);) ++*n;
    return CU_OK;
}

static int virtual_module_functions(CuFunction *f, unsigned n, CuModule m) {
    for (unsigned i = 0; i < n; i++) {
        int code = virtual_module_function(&f[i], m, emu_kernel_name(m->loaded, (int)i));
        if (code != CU_OK) return code;
    }
    return CU_OK;
}

static EmuKernelInfo info_of(CuFunction f) {
    EmuKernelInfo info = {0};
    const Function *own = (const Function *)f;
    if (f->help == NULL) emu_kernel_info(own->module, own->name, &info, NULL);
    return info;
}

static int virtual_function_param(CuFunction f, size_t i, size_t *offset, size_t *size) {
    EmuKernelInfo info = info_of(f);
    if (i >= (size_t)info.n_params) return CU_INVALID_VALUE;
    *offset = info.param_offset[i], *size = info.param_size[i];
    return CU_OK;
}

/* --- launches --- */

static int code_of(EmuStatus s) {
    switch (s) {
    case EMU_OK: return CU_OK;
    case EMU_ILLEGAL_ADDRESS: return CU_ILLEGAL_ADDRESS;
    case EMU_MISALIGNED: return CU_MISALIGNED;
    case EMU_TIMEOUT: return CU_LAUNCH_TIMEOUT;
    default: return CU_LAUNCH_FAILED;
    }
}

/* gap_ns: until the next may begin. */
static int start(const Function *f, EmuLaunch l, double gap_ns, CuStream s) {
    EmuResult r;
    gi_err err;
    fake_mark('k');
    fake_copy_now();
    l.kernel = f->name;
    l.budget = 1 << 24;
    if (!emu_launch(f->module, &l, &r, &err)) return CU_INVALID_VALUE;
    if (r.cause == EMU_CAUSE_CONFIGURATION || r.cause == EMU_CAUSE_COOPERATIVE)
        return CU_INVALID_VALUE;
    if (r.cause == EMU_CAUSE_RESOURCES) return CU_OUT_OF_RESOURCES;
    fake_pass_on(s, r.ns + gap_ns);
    if (r.status != EMU_OK) fprintf(stderr, "fake GPU: %s\n", r.message);
    if (fake.coming == CU_OK) fake.coming = code_of(r.status);
    return CU_OK;
}

static EmuLaunch launch_of(const unsigned *shape, const void *params, bool cooperative) {
    return (EmuLaunch){.grid = {shape[0], shape[1], shape[2]},
                       .block = {shape[3], shape[4], shape[5]},
                       .shared_bytes = shape[6],
                       .params = params,
                       .cooperative = cooperative};
}

static int virtual_redo(const FakeNode *n) {
    return start((const Function *)n->function, launch_of(n->shape, n->params, n->cooperative),
                 100, n->stream);
}

static int keep(CuFunction f, const unsigned *shape, const void *params, size_t bytes,
                bool cooperative, CuStream s) {
    FakeNode node = {.redo = virtual_redo, .function = f, .cooperative = cooperative,
                     .stream = s};
    memcpy(node.shape, shape, sizeof node.shape);
    return fake_keep_launch(node, params, bytes);
}

static int virtual_launch_kernel(CuFunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                              unsigned by, unsigned bz, unsigned shared_bytes, CuStream s,
                              void **params, void **extra) {
    if (f->help) return fake_launch(f, gx, gy, gz, bx, by, bz, shared_bytes, s, params, extra);
    FAKE_CALL();
    const unsigned shape[] = {gx, gy, gz, bx, by, bz, shared_bytes};
    const void *packed = extra ? extra[1] : NULL;
    if (fake_launch_on(s, 'k') != CU_OK) return CU_INVALID_VALUE;
    if (fake.capture) return keep(f, shape, packed, extra ? *(size_t *)extra[3] : 0, false, s);
    return start((const Function *)f, launch_of(shape, packed, false), 1000, s);
}

static int virtual_launch_as(const CuLaunchHow *how, CuFunction f, void **params, void **extra) {
    const unsigned shape[] = {how->grid[0],  how->grid[1],  how->grid[2], how->block[0],
                              how->block[1], how->block[2], how->shared};
    EmuLaunch l = launch_of(shape, extra ? extra[1] : NULL, false);
    FAKE_CALL();
    (void)params;
    if (fake_launch_on(how->stream, 'k') != CU_OK) return CU_INVALID_VALUE;
    for (unsigned i = 0; i < how->n_words; i++)
        if (how->words[i].id == CU_LAUNCH_CLUSTER)
            memcpy(l.cluster, how->words[i].value.cluster, sizeof l.cluster);
    return start((const Function *)f, l, 1000, how->stream);
}

static int virtual_launch_cooperative(CuFunction f, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
                                   CuStream s, void **params) {
    char packed[4096] = {0};
    const unsigned shape[] = {gx, gy, gz, bx, by, bz, shared_bytes};
    EmuKernelInfo info = info_of(f);
    FAKE_CALL();
    if (fake_launch_on(s, 'k') != CU_OK) return CU_INVALID_VALUE;
    for (int i = 0; i < info.n_params; i++)
        memcpy(packed + info.param_offset[i], params[i], info.param_size[i]);
    if (fake.capture) return keep(f, shape, packed, info.param_bytes, true, s);
    return start((const Function *)f, launch_of(shape, packed, true), 1000, s);
}

static int virtual_init(unsigned flags) {
    static EmuModel model;
    model = emu_model_round();
    if (emu == NULL) emu = emu_new(&model);
    fake.compares = true;
    fake.ghz = 2;
    return fake_init(flags);
}

/* --- the driver's names --- */

#define fake_init               virtual_init
#define fake_memory_new         virtual_memory_new
#define fake_memory_free        virtual_memory_free
#define fake_reserve            virtual_reserve
#define fake_unreserve          virtual_unreserve
#define fake_module_load        virtual_module_load
#define fake_module_free        virtual_module_free
#define fake_module_function    virtual_module_function
#define fake_module_symbol      virtual_module_symbol
#define fake_module_count       virtual_module_count
#define fake_module_functions   virtual_module_functions
#define fake_function_param     virtual_function_param
#define fake_launch             virtual_launch_kernel
#define fake_launch_as          virtual_launch_as
#define fake_launch_cooperative virtual_launch_cooperative

#define QUOTED(name)  #name
#define NAME_OF(name) QUOTED(name)
#define EXPORTED(field, symbol, arguments)                                                         \
    extern __typeof__(fake_##field) symbol                                                         \
        __attribute__((alias(NAME_OF(fake_##field)), visibility("default")));
DRIVER_FUNCTIONS(EXPORTED)
