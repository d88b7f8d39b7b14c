/* texture.c - texture instructions: what they are decoded to, and fetches lane by lane. What a
** texture answers is tex.c's.
*/
#include "emu/check/undefined.h"
#include "emu/decode/decode.h"
#include "emu/exec/tex.h"

#include <string.h>

/* --- fetches --- */

/* The texture behind a lane's handle, if this fetch makes sense on it. */
static const TexSlot *tex_slot(Machine *m, Warp *w, const Ins *in, int lane, const TexForm *f,
                               uint64_t handle, const TexCoord *c) {
    const TexSlot *slot = slot_of(m->emu, handle);
    if (slot == NULL || slot->is_surface || slot->is_gone) {
        fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR, "texture misuse: 0x%llx is %s",
                    (unsigned long long)handle,
                    slot == NULL       ? "no texture object"
                    : slot->is_surface ? "a surface object, no texture"
                                       : "a texture whose memory was freed");
        return NULL;
    }
    const char *why = tex_misuse(&slot->t, c, f->as_int);
    if (why == NULL) return slot;
    fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR, "texture misuse: this fetch %s", why);
    return NULL;
}

static TexCoord lane_coordinates(const Warp *w, const TexForm *f, int lane) {
    TexCoord c = {.dims = f->dims,
                  .is_int = f->is_int,
                  .layered = f->layered,
                  .cube = f->cube,
                  .gather = f->gather};
    if (f->layered) c.layer = ((const S32 *)(const void *)row_at(w, f->coord[0]))[lane];
    for (int k = 0; k < f->dims + f->cube; k++) {
        const uint8_t *row = row_at(w, f->coord[k + f->layered]);
        c.i[k] = ((const S32 *)(const void *)row)[lane];
        c.f[k] = ((const F32 *)(const void *)row)[lane];
    }
    return c;
}

bool tex_slow(Machine *m, Warp *w, const Ins *in, const TexForm *f) {
    uint64_t at[LANES] = {0};
    uint32_t seen = 0;
    const U64 *handle = (const U64 *)(const void *)row_at(w, f->handle);
    if (f->bound != BOUND_TEXEL)
        return fault_raise(m, w, in, ALL_LANES, EMU_LAUNCH_ERROR, "a fetch without a bound");
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        TexCoord c = lane_coordinates(w, f, i);
        const TexSlot *slot = tex_slot(m, w, in, i, f, handle[i], &c);
        if (slot == NULL) return false;
        uint32_t texel[4];
        int64_t offset;
        tex_sample(&slot->t, &c, texel, &offset);
        for (int k = 0; k < f->count; k++) ((U32 *)(void *)row_at(w, f->reg[k]))[i] = texel[k];
        if (slot_is_watched(m->emu, slot))
            undefined_fetched(m, w, in, f, i, slot, &c);
        if (offset < 0) continue;
        alloc_reach(&m->emu->alloc[slot->alloc], EMU_READ);
        at[i] = ((uint64_t)slot->alloc << ID_SHIFT) + (uint64_t)offset;
        seen |= 1u << i;
    }
    if (seen && !f->is_repeat) cost_lanes(m, w, at, seen, COST_KIND_TEXTURE);
    return true;
}

/* --- tex and tld4 --- */

/* 1d 2d 3d cube, with an a before it where there are layers. */
static bool tex_geometry(const char *mod, TexForm *f) {
    f->layered = mod[0] == 'a';
    const char *dims = mod + f->layered;
    f->cube = strcmp(dims, "cube") == 0;
    if (strcmp(dims, "1d") == 0) f->dims = 1;
    else if (strcmp(dims, "2d") == 0 || f->cube) f->dims = 2;
    else if (strcmp(dims, "3d") == 0 && !f->layered) f->dims = 3;
    return f->dims > 0;
}

static bool tex_registers(Decoder *d, TexForm *f) {
    const PtxOperand *to = &d->in->args[0];
    int n = to->kind == PTX_OP_VECTOR ? to->n_elems : 1;
    if (n != f->count) return decode_unknown(d);
    for (int k = 0; k < n; k++) {
        const PtxOperand *r = to->kind == PTX_OP_VECTOR ? &to->elems[k] : to;
        if (!dest(d, r, 'w', &f->reg[k])) return false;
        if (!decode_is_read(d, r)) f->unused |= 1u << k;
    }
    return true;
}

/* Of a fetch and of a surface: the layer, where there are some, then the coordinates. */
bool tex_coordinates(Decoder *d, TexForm *f, const PtxOperand *at) {
    int need = f->dims + f->cube + f->layered;
    const PtxOperand *c = &at->elems[1];
    int n = c->kind == PTX_OP_VECTOR ? c->n_elems : 1;
    /* three coordinates are written as a vector of four */
    if (n != need && !(n == 4 && need == 3))
        return decode_fail(d, "%d coordinates are expected", need);
    for (int k = 0; k < need; k++) {
        char letter = !f->is_int && !(f->layered && k == 0) ? 'f' : 'w';
        if (!source(d, c->kind == PTX_OP_VECTOR ? &c->elems[k] : c, letter, k, &f->coord[k]))
            return false;
    }
    return true;
}

bool tex_handle(Decoder *d, HandleUse use, const PtxOperand *handle, TexForm *f) {
    static const uint8_t bounds[] = {
#define USE(name, bound) [HANDLE_##name] = BOUND_##bound,
        BOUND_HANDLES(USE)
#undef USE
    };
    f->bound = bounds[use];
    if (handle->kind != PTX_OP_REG)
        return decode_fail(d, "texture and surface references are not supported; use objects");
    if (d->in->args[!ptx_is(d->in, "sust sured")].offset)
        return decode_fail(d, "a handle has no offset");
    return source(d, handle, 'q', 0, &f->handle);
}

void tex_emit(Decoder *d, const TexForm *f) {
    gi_grow(d->code->tex, d->code->n_tex, d->code->cap_tex);
    d->code->tex[d->code->n_tex++] = *f;
}

/* What tex and tld4 have in common, from word k on: .GEOMETRY{.v4}.DTYPE.CTYPE, and n_more operands
** behind [handle, {coordinates}]. */
static bool decode_fetch(Decoder *d, TexForm f, int k, int n_more) {
    const PtxInstr *in = d->in;
    f.count = 1;
    f.is_repeat = d->is_repeat[d->index];
    if (!tex_geometry(mod_at(d, k++), &f)) return decode_unknown(d);
    if (mod_is(d, k, "v4")) f.count = 4, k++;
    const char *to = mod_at(d, k), *from = mod_at(d, k + 1);
    f.as_int = strcmp(to, "f32") != 0;
    f.is_int = strcmp(from, "s32") == 0;
    bool types = strcmp(to, "f32") == 0 || strcmp(to, "u32") == 0 || strcmp(to, "s32") == 0;
    if (!types || (!f.is_int && strcmp(from, "f32") != 0) || in->n_mods != k + 2)
        return decode_unknown(d);
    if ((f.is_int && (f.cube || f.gather)) || (f.gather && (f.dims != 2 || f.cube)))
        return decode_unknown(d);
    if (in->n_args != 2 + n_more || in->args[1].kind != PTX_OP_TEX || in->args[1].n_elems != 2)
        return decode_unknown(d);
    if (!tex_handle(d, HANDLE_FETCH, &in->args[1].elems[0], &f)) return false;
    if (!tex_coordinates(d, &f, &in->args[1]) || !tex_registers(d, &f)) return false;
    f.is_plain = f.dims == 1 && !f.layered && f.is_int && f.count == 4;
    f.one_handle = d->is_uniform[in->args[1].elems[0].reg];
    f.is_free = d->is_free;
    tex_emit(d, &f);
    emit(d, OP_TEX, 0, 0, 0, 0, 0)->imm = (uint64_t)d->code->n_tex - 1;
    return true;
}

/* tex{.level,.base,.grad}.GEOMETRY{.v4}.DTYPE.CTYPE d, [handle, {coordinates}] {, lod, or two
** gradients}: a texture without mip levels has level 0 alone, whatever they say. */
static bool decode_tex(Decoder *d) {
    bool level = mod_is(d, 0, "level"), base = mod_is(d, 0, "base"), grad = mod_is(d, 0, "grad");
    TexForm f = {0};
    uint32_t lod; /* checked and left */
    if (level && d->in->n_args == 3 &&
        !source(d, &d->in->args[2], mod_is(d, LAST, "s32") ? 'w' : 'f', 3, &lod))
        return false;
    return decode_fetch(d, f, level || base || grad, level ? 1 : grad ? 2 : 0);
}

/* tld4.COMPONENT.2d.v4.DTYPE.f32: the four texels that a linear filter would weigh. */
static bool decode_tld4(Decoder *d) {
    const char *components = "rgba", *at = strchr(components, mod_at(d, 0)[0]);
    TexForm f = {0};
    if (at == NULL || *at == '\0' || mod_at(d, 0)[1] || !mod_is(d, 2, "v4"))
        return decode_unknown(d);
    f.gather = (uint8_t)(at - components + 1);
    return decode_fetch(d, f, 1, 0);
}

/* --- txq and suq: what an object is like --- */

static const char *const queries[] = {
    "width", "height", "depth", "array_size", "num_mipmap_levels", "normalized_coords"};

static uint32_t answer(const EmuTexture *t, uint64_t query) {
    switch (query) {
    case 0: return (uint32_t)t->size[0];
    case 1: return t->dims > 1 ? (uint32_t)t->size[1] : 0;
    case 2: return t->dims > 2 ? (uint32_t)t->size[2] : 0;
    case 3: return (uint32_t)t->layers;
    case 4: return 1;
    default: return t->normalized_coords;
    }
}

static bool do_query(Machine *m, Warp *w, const Ins *in) {
    const U64 *handle = (const U64 *)(const void *)row_at(w, in->a);
    bool surface = in->imm >> 8;
    for (uint32_t left = w->active; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const TexSlot *slot = slot_of(m->emu, handle[i]);
        if (slot == NULL || slot->is_surface != surface)
            return fault_raise(m, w, in, i, EMU_LAUNCH_ERROR,
                               "texture misuse: 0x%llx is no %s object",
                               (unsigned long long)handle[i], surface ? "surface" : "texture");
        ((U32 *)(void *)row_at(w, in->d))[i] = answer(&slot->t, in->imm & 255);
    }
    return true;
}

static bool decode_query(Decoder *d) {
    const PtxInstr *in = d->in;
    uint64_t query = 0, n = sizeof queries / sizeof *queries;
    uint32_t to;
    TexForm f;
    while (query < n && !mod_is(d, 0, queries[query])) query++;
    if (query == n || in->n_mods != 2 || !mod_is(d, LAST, "b32") || in->n_args != 2 ||
        in->args[1].kind != PTX_OP_ADDR)
        return decode_unknown(d);
    if (!tex_handle(d, HANDLE_QUERY, &in->args[1].elems[0], &f) ||
        !dest(d, &in->args[0], 'w', &to))
        return false;
    emit_slow(d, do_query, to, f.handle, 0, 0, query | (uint64_t)ptx_is(in, "suq") << 8);
    return true;
}

const Form forms_texture[] = {CUSTOM("tex", decode_tex, TEX),
                              CUSTOM("tld4", decode_tld4, TEX),
                              CUSTOM("txq", decode_query, ALU),
                              CUSTOM("suq", decode_query, ALU),
                              CUSTOM("suld", decode_surface, TEX),
                              CUSTOM("sust", decode_surface, TEX),
                              CUSTOM("sured", decode_surface, TEX),
                              FORMS_END};
