/* surface.c - loads and stores through surfaces: bytes of an array's texels, at integer
** coordinates; the first one counts bytes.
**
** sust.p and sured.p count texels. As on an H200, sust.p makes numbers of the surface's format out
** of registers: whole numbers clamp, an f32 is cut to an f16, whose largest one it does not exceed;
** channels without a register become 0, registers without a channel count for nothing. sured.p is
** of one channel of 32 bits, signed where that is.
**
** What a coordinate outside means says the instruction: .trap a fault, .clamp the nearest texel,
** .zero that zeros are read and nothing is written. Races are not looked for.
*/
#include "emu/check/undefined.h"
#include "emu/decode/decode.h"
#include "emu/exec/atoms.h"
#include "emu/exec/lanes.h"
#include "emu/exec/num.h"
#include "emu/exec/tex.h"
#include "emu/view.h"

#include <string.h>

enum { SURF_TRAP, SURF_CLAMP, SURF_ZERO };

/* --- one lane --- */

static const char *surface_misuse(const EmuTexture *t, const TexForm *f) {
    if (f->dims != t->dims) return "has another number of coordinates than the surface";
    if (f->layered != (t->layers > 0))
        return f->layered ? "names a layer of a surface that has none"
                          : "names no layer of a layered surface";
    if (!f->is_format) return NULL;
    bool whole = t->format == EMU_TEX_U32 || t->format == EMU_TEX_S32;
    if (f->reduce && (f->size != 4 || t->channels > 1 || !whole))
        return "is of texels of one whole number of 32 bits";
    return NULL;
}

/* Bytes that an access touches. */
static int64_t surface_bytes(const TexForm *f, const EmuTexture *t) {
    return f->is_format ? tex_texel_bytes(t) : f->size * f->count;
}

/* Coordinates x in bytes, y, z or layer: within their bounds, or made so. */
static bool into_bounds(const TexForm *f, int64_t at[3], const int64_t most[3], bool *outside) {
    *outside = false;
    for (int k = 0; k < 3; k++) {
        if (at[k] >= 0 && at[k] <= most[k]) continue;
        *outside = true;
        at[k] = at[k] < 0 ? 0 : most[k];
    }
    return !*outside || f->clamp != SURF_TRAP;
}

static bool raise_outside(Machine *m, Warp *w, const Ins *in, const TexForm *f, int lane,
                          const EmuTexture *t, const int64_t at[3]) {
    return fault_raise(m, w, in, lane, EMU_ILLEGAL_ADDRESS,
                       "out-of-bounds %s of %d bytes of a surface of %lld x %lld x %lld texels, at "
                       "byte %lld, row %lld, %s %lld",
                       f->is_store ? "write" : "read", (int)surface_bytes(f, t),
                       (long long)t->size[0],
                       (long long)(t->dims > 1 ? t->size[1] : 1),
                       (long long)(t->dims > 2     ? t->size[2]
                                   : t->layers > 0 ? t->layers
                                                   : 1),
                       (long long)at[0], (long long)at[1], f->layered ? "layer" : "slice",
                       (long long)at[2]);
}

/* Where in the surface's memory a lane's bytes are; -1: nowhere (.zero); -2 after a fault. */
static int64_t place(Machine *m, Warp *w, const Ins *in, const TexForm *f, int lane,
                     const EmuTexture *t) {
    int64_t at[3] = {0, 0, 0}, asked[3], bytes = surface_bytes(f, t);
    for (int k = 0; k < f->dims; k++)
        at[k] = ((const S32 *)(const void *)row_at(w, f->coord[k + f->layered]))[lane];
    if (f->is_format) at[0] *= bytes;
    if (f->layered) at[2] = ((const S32 *)(const void *)row_at(w, f->coord[0]))[lane];
    const int64_t most[3] = {tex_row_bytes(t) - bytes, t->dims > 1 ? t->size[1] - 1 : 0,
                             t->dims > 2     ? t->size[2] - 1
                             : t->layers > 0 ? t->layers - 1
                                             : 0};
    bool outside;
    memcpy(asked, at, sizeof asked);
    if (most[0] < 0 || !into_bounds(f, at, most, &outside)) {
        raise_outside(m, w, in, f, lane, t, asked);
        return -2;
    }
    if (outside && f->clamp == SURF_ZERO) return -1;
    if (at[0] % bytes == 0) return tex_byte_offset(t, at);
    fault_raise(m, w, in, lane, EMU_MISALIGNED,
                "misaligned %s of %lld bytes of a surface at byte %lld",
                f->is_store ? "write" : "read", (long long)bytes, (long long)at[0]);
    return -2;
}

static void move(const Warp *w, const TexForm *f, int lane, uint8_t *p) {
    for (int k = 0; k < f->count; k++) {
        uint8_t *row = row_at(w, f->reg[k]);
        uint64_t v = 0;
        if (f->is_store) {
            v = f->size == 8 ? ((const U64 *)(const void *)row)[lane]
                             : ((const U32 *)(const void *)row)[lane];
            if (p) memcpy(p + k * f->size, &v, f->size);
            continue;
        }
        if (p) memcpy(&v, p + k * f->size, f->size);
        if (f->size == 8) ((U64 *)(void *)row)[lane] = v;
        else ((U32 *)(void *)row)[lane] = (uint32_t)v;
    }
}

/* An f32 cut to an f16; a NaN keeps the first bits of its fraction, or becomes 0x7c01. */
static uint32_t cut_half(uint32_t bits) {
    uint32_t size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    uint32_t fraction = size >> 13 & 0x3ff;
    if (size > 0x7f800000) return sign | 0x7c00 | (fraction ? fraction : 1);
    if (size == 0x7f800000) return sign | 0x7c00;
    if (size >= 0x47800000) return sign | 0x7bff;
    if (size >= 0x38800000) return sign | (size - (112u << 23)) >> 13;
    return sign | (uint32_t)(num_f32_from_bits(size) * 0x1p24f);
}

static int64_t between(int64_t x, int64_t least, int64_t most) {
    return x < least ? least : x > most ? most : x;
}

/* The bits of a channel. */
static uint32_t channel_of(EmuTexFormat format, uint32_t bits) {
    switch (format) {
    case EMU_TEX_U8: return (uint32_t)between(bits, 0, UINT8_MAX);
    case EMU_TEX_U16: return (uint32_t)between(bits, 0, UINT16_MAX);
    case EMU_TEX_S8: return (uint32_t)between((int32_t)bits, INT8_MIN, INT8_MAX);
    case EMU_TEX_S16: return (uint32_t)between((int32_t)bits, INT16_MIN, INT16_MAX);
    case EMU_TEX_F16: return cut_half(bits);
    default: return bits;
    }
}

static void put_texel(const Warp *w, const TexForm *f, int lane, const EmuTexture *t, uint8_t *p) {
    const int64_t bytes = tex_texel_bytes(t) / t->channels;
    for (int k = 0; p && k < t->channels; k++) {
        uint32_t bits = k < f->count ? ((const U32 *)(const void *)row_at(w, f->reg[k]))[lane] : 0;
        bits = channel_of(t->format, bits);
        memcpy(p + k * bytes, &bits, (size_t)bytes);
    }
}

/* sured: the word in memory becomes what the operation makes of it and the register. */
static void reduce(const Warp *w, const TexForm *f, int lane, const EmuTexture *t, uint8_t *p) {
    const uint8_t *row = row_at(w, f->reg[0]);
    uint64_t old = 0, b = f->size == 8 ? ((const U64 *)(const void *)row)[lane]
                                       : ((const U32 *)(const void *)row)[lane];
    if (p == NULL) return;
    memcpy(&old, p, f->size);
    PtxType type = !f->is_format ? (PtxType)f->type
                   : t->format == EMU_TEX_S32 ? PTX_S32
                                              : PTX_U32;
    old = atom_value((AtomOp)(f->reduce - 1), type, old, b, 0, false);
    memcpy(p, &old, f->size);
}

static const TexSlot *surface_slot(Machine *m, Warp *w, const Ins *in, const TexForm *f, int lane,
                                   uint64_t handle) {
    const TexSlot *slot = slot_of(m->emu, handle);
    const char *why = slot == NULL        ? "is no surface object"
                      : !slot->is_surface ? "is a texture object, no surface"
                      : slot->is_gone     ? "has no memory any more: it was freed"
                                          : surface_misuse(&slot->t, f);
    if (why == NULL) return slot;
    fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR, "surface misuse: %s0x%llx %s",
                slot && slot->is_surface && !slot->is_gone ? "this access of " : "",
                (unsigned long long)handle, why);
    return NULL;
}

/* --- a warp --- */

static void look(Machine *m, Warp *w, const Ins *in, const TexForm *f, int lane,
                 const TexSlot *slot, int64_t offset) {
    Access a = {.m = m,
                .w = w,
                .in = in,
                .lane = lane,
                .space = PTX_GLOBAL,
                .address = slot_address(m->emu, slot, offset),
                .bytes = (unsigned)surface_bytes(f, &slot->t),
                .is_write = f->is_store,
                .order = f->reduce ? ORDER_ATOMIC : 0};
    shadow_texel(&a, &m->emu->alloc[slot->memory]);
}

static bool do_surface(Machine *m, Warp *w, const Ins *in) {
    if (m->view) return view_leave(m, VIEW_UNSUITED);
    const TexForm *f = &w->code->tex[in->imm];
    const U64 *handle = (const U64 *)(const void *)row_at(w, f->handle);
    uint64_t at[LANES] = {0};
    uint32_t seen = 0;
    if (f->bound != BOUND_SURFACE)
        return fault_raise(m, w, in, ALL_LANES, EMU_LAUNCH_ERROR, "an access without a bound");
    for (uint32_t left = w->active; left;) {
        int i = lane_next(m, &left);
        const TexSlot *slot = surface_slot(m, w, in, f, i, handle[i]);
        int64_t offset = slot ? place(m, w, in, f, i, &slot->t) : -2;
        if (offset == -2) return false;
        uint8_t *p = offset < 0 ? NULL : (uint8_t *)(uintptr_t)slot->t.data + offset;
        m->undefined.bytes = 0;
        if (offset >= 0 && slot_is_watched(m->emu, slot)) look(m, w, in, f, i, slot, offset);
        if (f->reduce) reduce(w, f, i, &slot->t, p);
        else if (f->is_format) put_texel(w, f, i, &slot->t, p);
        else move(w, f, i, p);
        if (offset < 0) continue;
        if (m->follows) undefined_surface(m, w, in, f, i, slot, offset);
        alloc_reach(&m->emu->alloc[slot->alloc],
                    f->reduce ? EMU_READ | EMU_WRITTEN : f->is_store ? EMU_WRITTEN : EMU_READ);
        at[i] = ((uint64_t)slot->alloc << ID_SHIFT) + (uint64_t)offset;
        seen |= 1u << i;
    }
    if (f->is_store) w->moved = true;
    if (seen) cost_lanes(m, w, at, seen, f->is_store ? COST_KIND_STORE : COST_KIND_TEXTURE);
    return true;
}

/* --- decoding --- */

static bool surface_clamp(const char *mod, TexForm *f) {
    static const char *const modes[] = {"trap", "clamp", "zero"};
    for (uint8_t k = 0; k < 3; k++)
        if (strcmp(modes[k], mod) == 0) {
            f->clamp = k;
            return true;
        }
    return false;
}

static bool surface_registers(Decoder *d, TexForm *f, const PtxOperand *op) {
    char letter = f->size == 8 ? 'q' : f->size == 4 ? 'w' : 'h';
    int n = op->kind == PTX_OP_VECTOR ? op->n_elems : 1;
    if (n != f->count) return decode_fail(d, "%d registers are expected", f->count);
    for (int k = 0; k < n; k++) {
        const PtxOperand *r = op->kind == PTX_OP_VECTOR ? &op->elems[k] : op;
        if (f->is_store ? !source(d, r, letter, k, &f->reg[k]) : !dest(d, r, letter, &f->reg[k]))
            return false;
    }
    return true;
}

/* The operation of sured, which has types of its own. */
static bool surface_reduction(const char *mod, TexForm *f) {
    static const struct {
        const char *name;
        AtomOp op;
    } ops[] = {{"add", ATOM_ADD},
               {"min", ATOM_MIN},
               {"max", ATOM_MAX},
               {"and", ATOM_AND},
               {"or", ATOM_OR}};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        if (strcmp(ops[k].name, mod) == 0) f->reduce = (uint8_t)(ops[k].op + 1);
    return f->reduce != 0;
}

static bool surface_type_fits(const TexForm *f, PtxType type) {
    int op = f->reduce - 1;
    if (f->is_format && f->reduce)
        return type == PTX_B32 || (type == PTX_B64 && (op == ATOM_MIN || op == ATOM_MAX));
    if (f->is_format) return type == PTX_B32;
    if (f->reduce == 0) return type >= PTX_B8 && type <= PTX_B64;
    if (op >= ATOM_AND) return type == PTX_B32;
    return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 ||
           (type == PTX_S64 && op != ATOM_ADD);
}

/* suld.b.GEOMETRY{.v2,.v4}.TYPE.CLAMP d, [handle, {coordinates}]; sust the other way round;
** sured.b.OP.GEOMETRY.TYPE.CLAMP as sust. .p instead of .b: see above. */
bool decode_surface(Decoder *d) {
    const PtxInstr *in = d->in;
    bool store = ptx_is(in, "sust sured");
    TexForm f = {.is_int = true, .is_store = store, .count = 1, .is_format = mod_is(d, 0, "p")};
    int k = 1;
    PtxType type;
    if (!mod_is(d, 0, store ? "b p" : "b") || in->n_args != 2) return decode_unknown(d);
    if (ptx_is(in, "sured") && !surface_reduction(mod_at(d, k++), &f)) return decode_unknown(d);
    const char *geometry = mod_at(d, k++);
    f.layered = geometry[0] == 'a' && !f.reduce;
    f.dims = (uint8_t)(geometry[f.layered] - '0');
    if (strcmp(geometry + f.layered + 1, "d") != 0 || f.dims < 1 || f.dims > 3 - f.layered)
        return decode_unknown(d);
    if (mod_is(d, k, "v2")) f.count = 2, k++;
    else if (mod_is(d, k, "v4")) f.count = 4, k++;
    if (!ptx_type_parse(mod_at(d, k++), &type) || !surface_type_fits(&f, type) ||
        !surface_clamp(mod_at(d, k++), &f) || in->n_mods != k)
        return decode_unknown(d);
    f.size = (uint8_t)ptx_type_size(type);
    f.type = (uint8_t)type;
    const PtxOperand *at = &in->args[store ? 0 : 1];
    if (at->kind != PTX_OP_TEX || at->n_elems != 2 || f.size * f.count > 16)
        return decode_unknown(d);
    HandleUse use = store ? HANDLE_SURFACE_STORE : HANDLE_SURFACE_LOAD;
    if (!tex_handle(d, use, &at->elems[0], &f) || !tex_coordinates(d, &f, at)) return false;
    if (!surface_registers(d, &f, &in->args[store ? 1 : 0])) return false;
    tex_emit(d, &f);
    emit_slow(d, do_surface, 0, 0, 0, 0, (uint64_t)d->code->n_tex - 1);
    return true;
}
