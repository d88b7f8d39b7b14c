/* module.c - the virtual GPU itself, its textures, and loaded modules with their variables. */
#include "emu/check/undefined.h"
#include "emu/exec/native.h"
#include "emu/view.h"
#include "emu/exec/tex.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdlib.h>
#include <string.h>

/* --- the device --- */

#if defined(__x86_64__)
/* Conversions of halves: clang 14 does not know them as a feature to ask for. */
static bool have_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

static bool have_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && have_f16c();
}

/* The last but one is not used: who has the two (Ice Lake, Zen 4 and later) does not clock down
** for registers of 64 bytes, as earlier processors do. */
static bool have_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq");
}

static int vectors_there(void) {
    if (!have_avx2()) return VECTORS_BASE;
    return have_avx512() ? VECTORS_AVX512 : VECTORS_AVX2;
}
#else
static int vectors_there(void) {
    return VECTORS_BASE;
}
#endif

Emu *emu_new(const EmuModel *model) {
    Emu *e = gi_alloc(sizeof *e);
    e->model = *model;
    e->vectors = vectors_there();
    const char *native = getenv("GILUA_NATIVE");
    e->native = e->vectors == VECTORS_AVX512 && !(native && strcmp(native, "off") == 0);
    e->heap_limit = 8 << 20;
    e->window = gi_alloc(HOST_IDS * sizeof *e->window);
    return e;
}

const char *emu_engine(const Emu *e) {
    return e->native                      ? "compiled for AVX-512"
           : e->vectors == VECTORS_AVX512 ? "interpreted with AVX-512 (GILUA_NATIVE is off)"
           : e->vectors == VECTORS_AVX2   ? "interpreted with AVX2 (no AVX-512 here)"
                                          : "interpreted (no AVX2 here)";
}

void emu_free(Emu *e) {
    if (e == NULL) return;
    views_forget(e);
    allocs_free(e);
    origins_free(e);
    free(e->tex);
    free(e);
}

const EmuModel *emu_model(const Emu *e) {
    return &e->model;
}

/* --- textures --- */

/* Channels of a texture that the fast loop reads as an array; 0 for the others. */
static uint8_t plain_channels(const EmuTexture *t) {
    bool words = t->format == EMU_TEX_F32 || t->format == EMU_TEX_S32 || t->format == EMU_TEX_U32;
    bool fits = t->size[0] < (int64_t)1 << 27; /* byte offsets stay below 2^31 */
    bool plain = t->kind == EMU_TEX_LINEAR && words && !t->normalized_read && fits;
    return plain && (t->channels == 1 || t->channels == 4) ? (uint8_t)t->channels : 0;
}

static uint64_t new_object(Emu *e, const EmuTexture *t, bool is_surface, gi_err *err) {
    if (!emu_texture_check(t, err)) return 0;
    int slot = 0;
    while (slot < e->n_tex && e->tex[slot].live) slot++;
    if (slot == e->n_tex) {
        gi_grow(e->tex, e->n_tex, e->cap_tex);
        e->n_tex++;
    }
    /* an allocation that no pointer reaches: the cost model's view of the texture's memory */
    Alloc memory = {.size = (uint64_t)emu_texture_bytes(t), .read_only = true, .is_hidden = true};
    uint32_t id = (uint32_t)(alloc_new(e, memory, "texture") >> ID_SHIFT);
    e->tex[slot] = (TexSlot){
        .t = *t, .live = true, .alloc = id, .plain = plain_channels(t), .is_surface = is_surface};
    return WINDOW(ID_TEX) + (uint64_t)slot;
}

uint64_t emu_texture_new(Emu *e, const EmuTexture *t, gi_err *err) {
    return new_object(e, t, false, err);
}

uint64_t emu_surface_new(Emu *e, const EmuTexture *t, gi_err *err) {
    if (t->kind == EMU_TEX_ARRAY) return new_object(e, t, true, err);
    gi_fail(err, "usage", "a surface is an array; linear memory is written to by pointers");
    return 0;
}

void emu_texture_free(Emu *e, uint64_t handle) {
    uint64_t slot = handle - WINDOW(ID_TEX);
    if (slot >= (uint64_t)e->n_tex || !e->tex[slot].live) return;
    e->tex[slot].live = false;
    alloc_free(e, e->tex[slot].alloc);
}

void emu_texels_gone(Emu *e, const void *data, size_t size_bytes) {
    uintptr_t from = (uintptr_t)data, to = from + size_bytes;
    for (int i = 0; i < e->n_tex; i++) {
        TexSlot *s = &e->tex[i];
        uintptr_t at = (uintptr_t)s->t.data;
        if (!s->live || at >= to || at + (uintptr_t)emu_texture_bytes(&s->t) <= from) continue;
        s->is_gone = true;
        s->plain = 0; /* slow is where it is told */
    }
}

/* --- variables of a module --- */

static bool is_memory(const PtxVar *v) {
    return (v->space == PTX_GLOBAL || v->space == PTX_CONST) && v->type < PTX_TEXREF;
}

static bool is_managed(const PtxVar *v) {
    return v->is_managed_or_texref && v->type < PTX_TEXREF;
}

/* Where host and kernels have it at one address. */
static bool place_managed(EmuModule *m, ModuleVar *mv, const EmuLink *what, gi_err *err) {
    const PtxVar *v = mv->var;
    uint64_t at;
    void *data;
    if (!what->managed(what->user, v->name, (size_t)v->size, &at, &data))
        return gi_fail(err, "nomem", "no memory for managed variable %s of %llu bytes", v->name,
                       (unsigned long long)v->size);
    Alloc memory = {.data = data, .size = v->size, .is_variable = true};
    if (!alloc_at(m->emu, at, memory, v->name, err)) return false;
    mv->address = at;
    mv->data = data;
    mv->is_borrowed = true;
    return true;
}

/* What has no memory is refused where it is used. */
static bool make_var(EmuModule *m, ModuleVar *mv, const EmuLink *what, gi_err *err) {
    const PtxVar *v = mv->var;
    if (!is_memory(v) || v->is_extern) return true;
    if (is_managed(v) && what->managed) return place_managed(m, mv, what, err);
    if (!emu_take(m->emu, v->size, v->name, err)) return false;
    mv->data = calloc(1, v->size ? (size_t)v->size : 1);
    if (mv->data == NULL)
        return gi_fail(err, "nomem", "no memory for variable %s of %llu bytes", v->name,
                       (unsigned long long)v->size);
    bool is_const = v->space == PTX_CONST;
    Alloc memory = {.data = mv->data,
                    .size = v->size,
                    .read_only = is_const,
                    .is_const = is_const,
                    .is_variable = true};
    mv->address = alloc_new(m->emu, memory, v->name);
    return true;
}

uint64_t module_func_address(const EmuModule *m, int func) {
    return WINDOW(ID_FUNC) + ((uint64_t)(m->serial & 0x7fff) << FUNC_SHIFT) + 16 * (uint64_t)func;
}

int module_func_at(const EmuModule *m, uint64_t address) {
    uint64_t offset = address - module_func_address(m, 0);
    if (offset % 16 || offset / 16 >= (uint64_t)m->n_code) return -1;
    const PtxFunc *f = m->code[offset / 16].func;
    return f->is_entry || !f->has_body ? -1 : (int)(offset / 16);
}

/* What the initial value of a variable refers to. */
static bool reloc_address(const EmuModule *m, const PtxReloc *r, uint64_t *out) {
    if (r->func >= 0) *out = module_func_address(m, r->func);
    for (int i = 0; i < m->ptx->n_vars && r->func < 0; i++) {
        if (m->vars[i].var != r->var) continue;
        *out = m->vars[i].address;
        return m->vars[i].data != NULL;
    }
    return r->func >= 0;
}

static void put_reloc(const EmuModule *m, const ModuleVar *mv, const PtxReloc *r) {
    uint64_t address = 0;
    if (!reloc_address(m, r, &address)) return; /* nobody defines it: null, as a linker has it */
    address += (uint64_t)r->addend;
    size_t size = r->mask ? ptx_type_size(mv->var->type) : 8;
    if (r->mask) address = (address & r->mask) >> __builtin_ctzll(r->mask);
    memcpy(mv->data + r->offset, &address, size < 8 ? size : 8);
}

static void fill_var(const EmuModule *m, const ModuleVar *mv) {
    const PtxVar *v = mv->var;
    if (mv->data == NULL) return;
    if (v->init) memcpy(mv->data, v->init, (size_t)v->size);
    else memset(mv->data, 0, (size_t)v->size);
    for (int i = 0; i < v->n_relocs; i++) put_reloc(m, mv, &v->relocs[i]);
}

/* All of a module's constants are in 64 KB. */
static bool constants_fit(const PtxModule *ptx, gi_err *err) {
    uint64_t bytes = 0;
    for (int i = 0; i < ptx->n_vars; i++) {
        const PtxVar *v = ptx->vars[i];
        if (v->space == PTX_CONST && !v->is_extern) bytes += v->size;
    }
    return bytes <= 65536 ||
           gi_fail(err, "compile", "%llu bytes of constant memory; there are 65536",
                   (unsigned long long)bytes);
}

static bool make_vars(EmuModule *m, const EmuLink *what, gi_err *err) {
    m->vars = gi_alloc((size_t)(m->ptx->n_vars + 1) * sizeof *m->vars);
    for (int i = 0; i < m->ptx->n_vars; i++) {
        m->vars[i].var = m->ptx->vars[i];
        if (!make_var(m, &m->vars[i], what, err)) return false;
    }
    emu_reset(m);
    return true;
}

/* --- loading --- */

static void limit_registers(PtxModule *part, int most) {
    for (int i = 0; i < part->n_funcs && most > 0; i++) {
        PtxFunc *f = &part->funcs[i];
        if (f->is_entry && f->maxntid[0] == 0 && f->reqntid[0] == 0 && f->maxnreg == 0)
            f->maxnreg = most;
    }
}

static PtxModule *parse_all(const EmuLink *what, gi_err *err) {
    PtxModule **parts = gi_alloc((size_t)(what->n + 1) * sizeof *parts), *all = NULL;
    int n = 0;
    while (n < what->n &&
           (parts[n] = ptx_parse_most(what->texts[n].ptx, what->texts[n].len, err))) {
        limit_registers(parts[n], what->texts[n].registers);
        n++;
    }
    if (n == 1 && what->n == 1) all = parts[0];
    else if (n == what->n) all = ptx_link(parts, n, err);
    else
        while (n > 0) ptx_free(parts[--n]);
    free(parts);
    return all;
}

EmuModule *emu_load(Emu *e, const char *ptx, size_t len, gi_err *err) {
    EmuText text = {.ptx = ptx, .len = len};
    return emu_link(e, &(EmuLink){.texts = &text, .n = 1}, err);
}

EmuModule *emu_link(Emu *e, const EmuLink *what, gi_err *err) {
    PtxModule *parsed = parse_all(what, err);
    if (parsed == NULL) return NULL;
    EmuModule *m = gi_alloc(sizeof *m);
    m->emu = e;
    m->serial = ++e->modules;
    m->ptx = parsed;
    m->n_code = parsed->n_funcs;
    m->code = gi_alloc((size_t)(m->n_code + 1) * sizeof *m->code);
    if (!constants_fit(parsed, err) || !make_vars(m, what, err)) {
        emu_unload(m);
        return NULL;
    }
    decode_module(m);
    return m;
}

void emu_unload(EmuModule *m) {
    if (m == NULL) return;
    for (int i = 0; m->vars && i < m->ptx->n_vars; i++) {
        ModuleVar *v = &m->vars[i];
        if (v->data == NULL) continue;
        alloc_end(m->emu, v->address);
        if (!v->is_borrowed) free(v->data);
    }
    native_free(m);
    for (int i = 0; i < m->n_code; i++) code_free(&m->code[i]);
    free(m->code);
    free(m->vars);
    ptx_free(m->ptx);
    free(m);
}

void emu_reset(EmuModule *m) {
    for (int i = 0; i < m->ptx->n_vars; i++) fill_var(m, &m->vars[i]);
}

void *emu_symbol(EmuModule *m, const char *name, size_t *size_bytes, uint64_t *address) {
    for (int i = 0; i < m->ptx->n_vars; i++) {
        const ModuleVar *v = &m->vars[i];
        if (v->data == NULL || strcmp(v->var->name, name) != 0) continue;
        if (size_bytes) *size_bytes = (size_t)v->var->size;
        if (address) *address = v->address;
        return v->data;
    }
    return NULL;
}

/* --- kernels --- */

Code *module_entry(const EmuModule *m, const char *kernel, gi_err *err) {
    for (int i = 0; kernel && i < m->n_code; i++) {
        const PtxFunc *f = m->code[i].func;
        if (!f->is_entry || !f->has_body || strcmp(f->name, kernel) != 0) continue;
        if (m->code[i].refused == NULL) return &m->code[i];
        gi_fail(err, "compile", "%s", m->code[i].refused);
        return NULL;
    }
    const char *first = emu_kernel_name(m, 0);
    gi_fail(err, "usage", "the module has no kernel '%s'%s%s", kernel ? kernel : "(none)",
            first ? "; its first is " : "", first ? first : "");
    return NULL;
}

size_t module_param_bytes(const Code *code) {
    int n = code->func->n_params;
    return n ? code->formal[n - 1] + code->formal_size[n - 1] : 0;
}

bool emu_kernel_info(const EmuModule *m, const char *kernel, EmuKernelInfo *out, gi_err *err) {
    const Code *code = module_entry(m, kernel, err);
    if (code == NULL) return false;
    const PtxFunc *f = code->func;
    *out = (EmuKernelInfo){.registers = code->registers,
                           .shared_bytes = code->shared_bytes,
                           .local_bytes = code->local_bytes,
                           .target = atoi(m->ptx->target + strcspn(m->ptx->target, "0123456789")),
                           .param_bytes = module_param_bytes(code),
                           .n_params = f->n_params,
                           .param_size = code->formal_size,
                           .param_offset = code->formal};
    int bound = ptx_threads(f->reqntid[0] ? f->reqntid : f->maxntid);
    if (bound > 0) out->max_threads = bound;
    return true;
}

static bool is_of_floats(const PtxInstr *in) {
    return ptx_is(in, "atom red") && ptx_has_mod(in, "add") &&
           ptx_has_mod(in, "f32 f64 f16 bf16 f16x2 bf16x2");
}

static bool depends_on_order(const PtxInstr *in) {
    bool is_read = ptx_is(in, "atom") && in->n_args > 0 && in->args[0].kind != PTX_OP_SINK;
    return is_of_floats(in) || (ptx_is(in, "atom red") && (is_read || ptx_has_mod(in, "exch cas")));
}

static void look_for_order(const PtxFunc *f, EmuOrder *o, int *stores) {
    for (int i = 0; i < f->n_code; i++) {
        const PtxInstr *in = &f->code[i];
        bool is_store =
            ptx_is(in, "st sust") && !ptx_has_mod(in, "shared param local shared::cta");
        bool depends = depends_on_order(in);
        o->rounds |= is_of_floats(in);
        *stores += is_store;
        if (o->is_atomic || !(depends || is_store)) continue;
        o->is_atomic = depends;
        o->src_line = depends || *stores == 1 ? in->src_line : 0;
        o->file = f->file;
    }
}

EmuOrder emu_kernel_order(const EmuModule *m, const char *kernel) {
    const Code *code = module_entry(m, kernel, NULL);
    EmuOrder o = {false, false, NULL, 0};
    int stores = 0;
    if (code) look_for_order(code->func, &o, &stores);
    for (int i = 0; i < m->n_code; i++) {
        const PtxFunc *f = m->code[i].func;
        if (f && !f->is_entry && f->has_body) look_for_order(f, &o, &stores);
    }
    return o;
}

/* A store that a host may look at while the kernel runs. */
static bool is_for_host(const PtxInstr *in) {
    bool is_write = ptx_is(in, "st atom red") && !ptx_has_mod(in, "shared");
    return (is_write && ptx_has_mod(in, "volatile sys mmio")) ||
           (ptx_is(in, "membar fence") && ptx_has_mod(in, "sys"));
}

static bool reads_time(const PtxInstr *in) {
    for (int i = 0; i < in->n_args; i++)
        if (in->args[i].symbol && strncmp(in->args[i].symbol, "%globaltimer", 12) == 0) return true;
    return false;
}

/* Is there such an instruction in the kernel, or in a function, which it may call? */
static bool may_run(const EmuModule *m, const char *kernel, bool is_such(const PtxInstr *in)) {
    const Code *code = module_entry(m, kernel, NULL);
    for (int i = 0; i < m->n_code; i++) {
        const PtxFunc *f = m->code[i].func;
        bool is_part = f && f->has_body && (!f->is_entry || (code && f == code->func));
        for (int k = 0; is_part && k < f->n_code; k++)
            if (is_such(&f->code[k])) return true;
    }
    return false;
}

bool emu_kernel_talks(const EmuModule *m, const char *kernel) {
    return may_run(m, kernel, is_for_host);
}

bool emu_kernel_reads_time(const EmuModule *m, const char *kernel) {
    return may_run(m, kernel, reads_time);
}

const char *emu_kernel_name(const EmuModule *m, int index) {
    for (int i = 0; i < m->n_code; i++) {
        const PtxFunc *f = m->code[i].func;
        if (f && f->is_entry && f->has_body && index-- == 0) return f->name;
    }
    return NULL;
}
