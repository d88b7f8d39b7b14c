/* module.c - the virtual GPU itself, its textures, and loaded modules with their variables. */
#include "emu/core.h"
#include "emu/tex.h"

#include <stdlib.h>
#include <string.h>

/* --- the device --- */

static bool have_avx2(void) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

Emu *emu_new(const EmuModel *model) {
    Emu *e = gi_alloc(sizeof *e);
    e->model = *model;
    e->avx2 = have_avx2();
    return e;
}

void emu_free(Emu *e) {
    if (e == NULL) return;
    for (int i = 0; i < e->n_alloc; i++) {
        free(e->alloc[i].label);
        free(e->alloc[i].touched);
    }
    free(e->alloc);
    free(e->free_id);
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

uint64_t emu_texture_new(Emu *e, const EmuTexture *t, gi_err *err) {
    if (!emu_texture_check(t, err)) return 0;
    int slot = 0;
    while (slot < e->n_tex && e->tex[slot].live) slot++;
    if (slot == e->n_tex) {
        gi_grow(e->tex, e->n_tex, e->cap_tex);
        e->n_tex++;
    }
    /* an allocation that no pointer reaches: the cost model's view of the texture's memory */
    uint64_t address = alloc_new(e, NULL, (uint64_t)tex_bytes(t), true, false, "texture");
    uint32_t id = (uint32_t)(address >> ID_SHIFT);
    e->alloc[id].live = false;
    e->tex[slot] = (TexSlot){*t, true, id, plain_channels(t), false};
    return WINDOW(ID_TEX) + (uint64_t)slot;
}

void emu_texture_free(Emu *e, uint64_t handle) {
    uint64_t slot = handle - WINDOW(ID_TEX);
    if (slot >= (uint64_t)e->n_tex || !e->tex[slot].live) return;
    e->tex[slot].live = false;
    alloc_free(e, (uint64_t)e->tex[slot].alloc << ID_SHIFT);
}

/* --- variables of a module --- */

static bool is_memory(const PtxVar *v) {
    return (v->space == PTX_GLOBAL || v->space == PTX_CONST) && !v->is_managed_or_texref;
}

static bool make_var(EmuModule *m, ModuleVar *mv, gi_err *err) {
    const PtxVar *v = mv->var;
    if (v->space == PTX_LOCAL)
        return gi_fail(err, "compile",
                       "PTX line %d: .local variable %s outside a function is not "
                       "supported",
                       v->line, v->name);
    if (!is_memory(v)) return true;
    if (v->is_extern)
        return gi_fail(err, "compile",
                       "PTX line %d: variable %s is declared .extern and defined in "
                       "no module",
                       v->line, v->name);
    mv->data = calloc(1, v->size ? (size_t)v->size : 1);
    if (mv->data == NULL)
        return gi_fail(err, "nomem", "no memory for variable %s of %llu bytes", v->name,
                       (unsigned long long)v->size);
    bool is_const = v->space == PTX_CONST;
    mv->address = alloc_new(m->emu, mv->data, v->size, is_const, is_const, v->name);
    return true;
}

static bool symbol_address(const EmuModule *m, const char *name, uint64_t *out) {
    for (int i = 0; i < m->ptx->n_vars; i++)
        if (is_memory(m->vars[i].var) && strcmp(m->vars[i].var->name, name) == 0) {
            *out = m->vars[i].address;
            return true;
        }
    for (int i = 0; i < m->ptx->n_funcs; i++)
        if (strcmp(m->ptx->funcs[i].name, name) == 0) {
            *out = WINDOW(ID_FUNC) + 16u * (uint64_t)i;
            return true;
        }
    return false;
}

static bool fill_var(const EmuModule *m, const ModuleVar *mv, gi_err *err) {
    const PtxVar *v = mv->var;
    if (mv->data == NULL) return true;
    if (v->init) memcpy(mv->data, v->init, (size_t)v->size);
    else memset(mv->data, 0, (size_t)v->size);
    for (int i = 0; i < v->n_relocs; i++) {
        const PtxReloc *r = &v->relocs[i];
        uint64_t address;
        if (!symbol_address(m, r->symbol, &address) || r->offset + 8 > v->size)
            return gi_fail(err, "compile",
                           "PTX line %d: the initial value of %s needs the address of "
                           "%s, which is not known",
                           v->line, v->name, r->symbol);
        address += (uint64_t)r->addend;
        memcpy(mv->data + r->offset, &address, 8);
    }
    return true;
}

static bool make_vars(EmuModule *m, gi_err *err) {
    m->vars = gi_alloc((size_t)(m->ptx->n_vars + 1) * sizeof *m->vars);
    for (int i = 0; i < m->ptx->n_vars; i++) {
        m->vars[i].var = m->ptx->vars[i];
        if (!make_var(m, &m->vars[i], err)) return false;
    }
    for (int i = 0; i < m->ptx->n_vars; i++)
        if (!fill_var(m, &m->vars[i], err)) return false;
    return true;
}

/* --- loading --- */

EmuModule *emu_load(Emu *e, const char *ptx, size_t len, gi_err *err) {
    PtxModule *parsed = ptx_parse(ptx, len, err);
    if (parsed == NULL) return NULL;
    EmuModule *m = gi_alloc(sizeof *m);
    m->emu = e;
    m->ptx = parsed;
    m->n_code = parsed->n_funcs;
    m->code = gi_alloc((size_t)(m->n_code + 1) * sizeof *m->code);
    if (make_vars(m, err) && decode_module(m, err)) return m;
    emu_unload(m);
    return NULL;
}

void emu_unload(EmuModule *m) {
    if (m == NULL) return;
    for (int i = 0; m->vars && i < m->ptx->n_vars; i++) {
        if (m->vars[i].data == NULL) continue;
        if (m->vars[i].address) alloc_free(m->emu, m->vars[i].address);
        free(m->vars[i].data);
    }
    for (int i = 0; i < m->n_code; i++) code_free(&m->code[i]);
    free(m->code);
    free(m->vars);
    ptx_free(m->ptx);
    free(m);
}

void emu_reset(EmuModule *m) {
    for (int i = 0; i < m->ptx->n_vars; i++) fill_var(m, &m->vars[i], NULL);
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
        if (f && f->is_entry && f->has_body && strcmp(f->name, kernel) == 0) return &m->code[i];
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
    if (f->n_params > 64)
        return gi_fail(err, "usage", "kernel %s has %d parameters; 64 are supported", kernel,
                       f->n_params);
    *out = (EmuKernelInfo){.registers = code->registers,
                           .shared_bytes = code->shared_bytes,
                           .local_bytes = code->local_bytes,
                           .n_params = f->n_params,
                           .param_bytes = module_param_bytes(code)};
    const int *n = f->reqntid[0] ? f->reqntid : f->maxntid;
    if (n[0]) out->max_threads = n[0] * (n[1] ? n[1] : 1) * (n[2] ? n[2] : 1);
    for (int i = 0; i < f->n_params; i++) {
        out->param_offset[i] = code->formal[i];
        out->param_size[i] = code->formal_size[i];
    }
    return true;
}

const char *emu_kernel_name(const EmuModule *m, int index) {
    for (int i = 0; i < m->n_code; i++) {
        const PtxFunc *f = m->code[i].func;
        if (f && f->is_entry && f->has_body && index-- == 0) return f->name;
    }
    return NULL;
}
