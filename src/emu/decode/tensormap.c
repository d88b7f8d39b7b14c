/* tensormap.c - tensor maps that a kernel makes: tensormap.replace of one field in 128 bytes of
** shared or global memory, and tensormap.cp_fenceproxy, which copies a map from there to global
** memory. Triton's tensor descriptors are made so.
**
** What a map holds is EmuTensorMap, as cuTensorMapEncode fills it in; 128 bytes of zeros become one
** with the first field. Whether the fields fit each other is looked at when a copy uses the map
** (exec/tensor.c). Source: PTX ISA 9.0, "tensormap.replace" and "tensormap.cp_fenceproxy".
*/
#include "emu/decode/decode.h"
#include "emu/emu.h"
#include "emu/exact/exact.h"
#include "emu/exec/async.h"
#include "emu/exec/lanes.h"

#include <string.h>

enum { PIECE = 16, MOST_DIMS = 5 };

/* A field, the bits of its value, whether a dimension is named before it, and how many there are of
** it; of an attribute, which is a number in the text, the value that 0, 1, … stand for. */
typedef struct MapField {
    const char *name;
    uint8_t bits, count;
    uint8_t is_attribute, values[13];
} MapField;

enum {
    MAP_ADDRESS,
    MAP_RANK,
    MAP_BOX,
    MAP_SIZE,
    MAP_STRIDE,
    MAP_STEP,
    MAP_TYPE,
    MAP_INTERLEAVE,
    MAP_SWIZZLE,
    MAP_FILL
};

static const MapField fields[] = {
    [MAP_ADDRESS] = {"global_address", 64, 0, false, {0}},
    [MAP_RANK] = {"rank", 32, 0, false, {0}},
    [MAP_BOX] = {"box_dim", 32, 5, false, {0}},
    [MAP_SIZE] = {"global_dim", 32, 5, false, {0}},
    [MAP_STRIDE] = {"global_stride", 64, 4, false, {0}},
    [MAP_STEP] = {"element_stride", 32, 5, false, {0}},
    /* .u8 … .f32, .f32 that is flushed, .f64, .bf16, .tf32, flushed: CUtensorMapDataType */
    [MAP_TYPE] = {"elemtype", 32, 0, 13, {0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12}},
    [MAP_INTERLEAVE] = {"interleave_layout", 32, 0, 1, {0}},
    [MAP_SWIZZLE] = {"swizzle_mode", 32, 0, 4, {0, 1, 2, 3}},
    [MAP_FILL] = {"fill_mode", 32, 0, 2, {0, 1}},
};

typedef struct MapForm { /* Ins.imm of one */
    uint8_t field, dim, space, wide;
} MapForm;

/* A number that does not fit its place becomes one that no map may have. */
static uint16_t small(uint64_t x) {
    return x > UINT16_MAX ? UINT16_MAX : (uint16_t)x;
}

static void set_field(EmuTensorMap *map, const MapForm *f, uint64_t x) {
    map->magic = EMU_TENSOR_MAGIC;
    switch (f->field) {
    case MAP_ADDRESS: map->address = x; break;
    case MAP_RANK: map->rank = (uint8_t)(x < MOST_DIMS ? x + 1 : 0); break;
    case MAP_BOX: map->box[f->dim] = small(x); break;
    case MAP_SIZE: map->last[f->dim] = (uint32_t)x - 1; break;
    case MAP_STRIDE: map->stride[f->dim] = x; break;
    case MAP_STEP: map->step[f->dim] = (uint8_t)(x > UINT8_MAX ? UINT8_MAX : x); break;
    case MAP_TYPE: map->type = (uint8_t)x; break;
    case MAP_FILL: map->nans = (uint8_t)x; break;
    case MAP_SWIZZLE: map->swizzle = (uint8_t)x; break;
    default: break; /* 0, as all maps have it */
    }
}

/* Moves the 128 bytes of a map; false after a fault. */
static bool move_map(Machine *m, Warp *w, const Ins *in, int lane, PtxSpace space, uint64_t at,
                     uint8_t *bytes, bool writes) {
    if (at % EMU_TENSOR_BYTES)
        return fault_raise(m, w, in, lane, EMU_MISALIGNED,
                           "a tensor map at address 0x%llx: it is a multiple of %d",
                           (unsigned long long)at, EMU_TENSOR_BYTES);
    for (int k = 0; k < EMU_TENSOR_BYTES; k += PIECE) {
        Access a = {m, w, in, lane, space, at + (uint64_t)k, PIECE, writes, 0};
        if (!(writes ? mem_write(a, bytes + k) : mem_read(a, bytes + k))) return false;
        if (writes) exact_leave_integers(&a);
        else exact_take_integers(&a);
    }
    return true;
}

static bool do_replace(Machine *m, Warp *w, const Ins *in) {
    MapForm f;
    uint64_t at[LANES];
    uint8_t bytes[EMU_TENSOR_BYTES];
    memcpy(&f, &in->imm, sizeof f);
    mem_addresses(w, in->a, f.wide, 0, at);
    for (uint32_t left = w->active; left;) {
        int i = lane_next(m, &left);
        EmuTensorMap map;
        if (!move_map(m, w, in, i, (PtxSpace)f.space, at[i], bytes, false)) return false;
        memcpy(&map, bytes, sizeof map);
        set_field(&map, &f, lane_word(w, in->b, fields[f.field].bits == 64, i));
        memcpy(bytes, &map, sizeof map);
        if (!move_map(m, w, in, i, (PtxSpace)f.space, at[i], bytes, true)) return false;
    }
    w->moved = true;
    return true;
}

/* A map from shared to global memory, once for the warp. */
static bool do_copy_map(Machine *m, Warp *w, const Ins *in) {
    MapForm f;
    uint64_t to[LANES], from[LANES];
    uint8_t bytes[EMU_TENSOR_BYTES];
    memcpy(&f, &in->imm, sizeof f);
    mem_addresses(w, in->a, true, 0, to);
    mem_addresses(w, in->b, f.wide, 0, from);
    int first = __builtin_ctz(w->active);
    bool same = w->active == FULL_MASK;
    for (int i = 0; i < LANES && same; i++) same = to[i] == to[first] && from[i] == from[first];
    if (!same)
        return fault_raise(m, w, in, first, EMU_LAUNCH_ERROR,
                           "tensormap.cp_fenceproxy takes all 32 lanes of a warp, with the same "
                           "addresses");
    w->moved = true;
    return move_map(m, w, in, first, PTX_SHARED, from[first], bytes, false) &&
           move_map(m, w, in, first, PTX_GLOBAL, to[first], bytes, true);
}

static bool emit_map(Decoder *d, SlowFn run, MapForm f, uint32_t a, uint32_t b) {
    uint64_t imm = 0;
    memcpy(&imm, &f, sizeof f);
    emit_slow(d, run, 0, a, b, b, imm);
    d->shared_base = -1;
    return true;
}

/* The value: of an attribute a number that stands for another. */
static bool field_value(Decoder *d, const MapField *field, const PtxOperand *op, uint32_t *row) {
    uint64_t x = 0;
    if (!field->is_attribute) return source(d, op, field->bits == 64 ? 'q' : 'w', 1, row);
    if (!whole_number(d, op, &x)) return false;
    if (x >= field->is_attribute)
        return decode_fail(d, "%s %d is not supported", field->name, (int)x);
    *row = pool_row(d, POOL_B32, field->values[x]);
    return true;
}

/* tensormap.replace.tile.FIELD{.global|.shared::cta}.b1024.b32|b64 [map]{, dimension}, value */
static bool decode_replace(Decoder *d) {
    const PtxInstr *in = d->in;
    MapForm f = {.space = has_mod(d, "global")        ? PTX_GLOBAL
                          : has_mod(d, "shared::cta") ? PTX_SHARED
                                                      : PTX_GENERIC};
    uint32_t at, row;
    uint64_t dim = 0;
    bool wide;
    while (!mod_is(d, 2, fields[f.field].name)) f.field++;
    const MapField *field = &fields[f.field];
    if (in->n_args != 2 + (field->count > 0) || !mod_is(d, LAST, field->bits == 64 ? "b64" : "b32"))
        return decode_unknown(d);
    if (!decode_has(d, 83, 90) || !decode_has_own(d)) return false;
    if (field->count && !whole_number(d, &in->args[1], &dim)) return false;
    if (field->count && dim >= field->count)
        return decode_fail(d, "%s has dimensions 0 to %d", field->name, field->count - 1);
    f.dim = (uint8_t)dim;
    if (!decode_address(d, USE_MAP_CHANGE, &in->args[0], (PtxSpace)f.space, 0, &at, &wide) ||
        !field_value(d, field, &in->args[in->n_args - 1], &row))
        return false;
    f.wide = wide;
    return emit_map(d, do_replace, f, at, row);
}

static bool decode_copy_map(Decoder *d) {
    const PtxInstr *in = d->in;
    MapForm f = {0};
    uint32_t to, from;
    uint64_t size;
    bool wide_to, wide;
    if (in->n_args != 3) return decode_unknown(d);
    if (!decode_has(d, 83, 90) || !whole_number(d, &in->args[2], &size)) return false;
    if (size != EMU_TENSOR_BYTES) return decode_fail(d, "a tensor map has 128 bytes");
    if (!decode_address(d, USE_MAP_CHANGE, &in->args[0], PTX_GLOBAL, 0, &to, &wide_to) ||
        !decode_address(d, USE_MAP_CHANGE, &in->args[1], PTX_SHARED, 1, &from, &wide))
        return false;
    f.wide = wide;
    return emit_map(d, do_copy_map, f, to, from);
}

const Form forms_tensormap[] = {
    CUSTOM_OF("tensormap",
              "replace tile global_address|rank|box_dim|global_dim|global_stride|element_stride|"
              "elemtype|interleave_layout|swizzle_mode|fill_mode ?global|shared::cta b1024 b32|b64",
              decode_replace, ST_SHARED),
    CUSTOM_OF("tensormap",
              "cp_fenceproxy global shared::cta tensormap::generic release cta|cluster|gpu|sys "
              "sync aligned",
              decode_copy_map, ST_GLOBAL),
    FORMS_END};
