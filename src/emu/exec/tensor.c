/* tensor.c - tensor maps: boxes of a tensor of 1 to 5 dimensions, from and to shared memory.
**
** As on an H200: a box begins at a multiple of 16 bytes along dimension 0, and one that is stored
** not before the tensor, else the instruction is illegal. A load knows a tensor's edge to the
** element; a store goes on to the next multiple of 16 bytes along dimension 0.
**
** A box lies in shared memory without gaps, dimension 0 first; a swizzle exchanges its pieces of 16
** bytes (bulk_swizzle). What of a box is outside the tensor is not stored; loaded it is zero, or
** 0x7ff7 in each 16 bits where the map says so. With im2col a box is a column of pixels: it goes
** through the positions of a filter, from its corner `lower` to `upper` before the last, dimension
** after dimension, and loads each at an offset (CUDA's driver API and PTX ISA, "Tensors").
**
** As on an H200, a load of tf32 rounds as cvt.rn.tf32 does, and one of f32 that is flushed flushes
** nothing. What a store of these types makes of numbers that are not theirs is open: it ends the
** launch.
**
** Not supported, and refused when the map is made: interleaved layouts, types of less than a
** byte. (On an H200 dimension 0 of an interleaved map counts units of 16 or 32 bytes, and a box has
** one slice in the dimension before the last, whatever its size is there.)
*/
#include "emu/exec/bulk.h"
#include "emu/exact/exact.h"
#include "emu/exec/num.h"

#include <stdlib.h>

_Static_assert(sizeof(EmuTensorMap) <= EMU_TENSOR_BYTES, "a tensor map has 128 bytes");

static const struct {
    uint8_t bytes;
    PtxType type;
    bool is_flushed, is_tf32; /* subnormal numbers; the low 13 bits */
} elements[] = {{1, PTX_U8, 0, 0},  {2, PTX_U16, 0, 0},  {4, PTX_U32, 0, 0}, {4, PTX_S32, 0, 0},
                {8, PTX_U64, 0, 0}, {8, PTX_S64, 0, 0},  {2, PTX_F16, 0, 0}, {4, PTX_F32, 0, 0},
                {8, PTX_F64, 0, 0}, {2, PTX_BF16, 0, 0}, {4, PTX_F32, 1, 0}, {4, PTX_F32, 0, 1},
                {4, PTX_F32, 1, 1}};

unsigned emu_tensor_element(int type) {
    bool known = type >= 0 && (size_t)type < sizeof elements / sizeof *elements;
    return known ? elements[type].bytes : 0;
}

bool tensor_reduces(const EmuTensorMap *map, AtomOp op) {
    static const char ops[][8] = {/* of elements[]: add a, min and max m, inc and dec i, bits b */
                                  "", "", "amib", "amb", "amb", "mb", "am", "a", "a", "am"};
    static const char kinds[] = "ammiicxbbb"; /* by AtomOp; c, x: of no tensor */
    return map->type < sizeof ops / sizeof *ops && strchr(ops[map->type], kinds[op]) != NULL;
}

/* Why no copy can use a map, or NULL. cuTensorMapEncode makes none of these, kernels do. */
static const char *misfit(const EmuTensorMap *map) {
    uint32_t row = map->box[0] * elements[map->type].bytes;
    if (map->rank < 1 || map->rank > 5) return "it has no 1 to 5 dimensions";
    if (map->address == 0 || map->address % 16) return "its address is no multiple of 16";
    for (int k = 0; k < map->rank; k++) {
        if (map->step[k] < 1 || map->step[k] > 8) return "an element stride is not 1 to 8";
        if (k > 0 && map->stride[k - 1] % 16) return "a stride is no multiple of 16 bytes";
        if (!map->im2col && (map->box[k] < 1 || map->box[k] > 256))
            return "a box has no 1 to 256 elements in a dimension";
    }
    PtxType type = elements[map->type].type;
    bool is_float = type == PTX_F16 || type == PTX_BF16 || type == PTX_F32 || type == PTX_F64;
    if (map->nans > is_float) return "a fill of NaNs is of floating-point elements";
    if (row % 16) return "a box's rows are no multiples of 16 bytes";
    return map->swizzle && row > 16u << map->swizzle ? "a box's rows are longer than its swizzle"
                                                     : NULL;
}

bool tensor_map(Machine *m, Warp *w, const Ins *in, int lane, uint64_t address, EmuTensorMap *out) {
    uint8_t bytes[EMU_TENSOR_BYTES];
    const BulkForm *f = &w->code->bulk[in->imm];
    for (unsigned k = 0; k < sizeof bytes; k += CHUNK) {
        Access a = {m, w, in, lane, PTX_GENERIC, address + k, CHUNK, false, 0};
        if (!mem_read(a, bytes + k)) return false;
        exact_take_integers(&a);
    }
    memcpy(out, bytes, sizeof *out);
    if (out->magic != EMU_TENSOR_MAGIC || !emu_tensor_element(out->type) || out->swizzle > 3)
        return fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR,
                           "no tensor map is at 0x%llx: EncodeTiled or EncodeIm2col makes one",
                           (unsigned long long)address);
    const char *why = misfit(out);
    if (why)
        return fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR,
                           "the tensor map at 0x%llx cannot be used: %s",
                           (unsigned long long)address, why);
    if (out->rank == f->dims && out->im2col == f->im2col) return true;
    return fault_raise(m, w, in, lane, EMU_LAUNCH_ERROR,
                       "a tensor map of %d dimensions%s for a copy of %d%s", out->rank,
                       out->im2col ? " (im2col)" : "", f->dims, f->im2col ? " (im2col)" : "");
}

/* Elements of the box in dimension k. */
static uint32_t extent(const EmuTensorMap *map, int k) {
    if (k >= map->rank || (map->im2col && k > 1)) return 1;
    if (k == 0 || map->im2col) return map->box[k];
    return (map->box[k] + map->step[k] - 1u) / map->step[k];
}

uint32_t tensor_bytes(const EmuTensorMap *map) {
    uint64_t bytes = elements[map->type].bytes;
    for (int k = 0; k < 5; k++) bytes *= extent(map, k);
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX - 15;
}

/* --- rows of a box --- */

/* A row along dimension 0, whose bytes lie at `in_box` of the box. */
typedef bool RowFn(Machine *m, Bulk *c, uint64_t global, uint8_t *in_box, uint32_t bytes);

/* Bytes behind a tensor's row, whose end is here, that a store writes too: up to a multiple of 16,
** and what of them its allocation has. */
static uint32_t bytes_behind(const Machine *m, const EmuTensorMap *map, uint64_t end) {
    uint32_t more = (uint32_t)(-end % CHUNK);
    const Alloc *in = alloc_of(m->emu, end - elements[map->type].bytes);
    uint64_t room = in ? in->address + in->size - end : 0;
    return more < room ? more : (uint32_t)room;
}

/* Does with a row what is inside the tensor; at: its coordinates. */
static bool row(Machine *m, Bulk *c, const int64_t at[5], uint8_t *in_box, RowFn *what) {
    const EmuTensorMap *map = c->map;
    unsigned size = elements[map->type].bytes;
    uint64_t global = map->address;
    for (int k = 1; k < map->rank; k++) {
        if (at[k] < 0 || at[k] > map->last[k]) return true;
        global += (uint64_t)at[k] * map->stride[k - 1];
    }
    int64_t from = at[0] < 0 ? 0 : at[0], end = at[0] + map->box[0], size0 = map->last[0] + 1ll;
    bool is_cut = end > size0;
    if (is_cut) end = size0;
    if (end <= from) return true;
    uint32_t bytes = (uint32_t)(end - from) * size;
    if (is_cut && c->is_store) bytes += bytes_behind(m, map, global + (uint64_t)end * size);
    return what(m, c, global + (uint64_t)from * size, in_box + (uint64_t)(from - at[0]) * size,
                bytes);
}

static bool tiled(Machine *m, Bulk *c, const int32_t coord[5], RowFn *what) {
    const EmuTensorMap *map = c->map;
    uint32_t bytes = map->box[0] * elements[map->type].bytes, rows = 1;
    for (int k = 1; k < map->rank; k++) rows *= extent(map, k);
    for (uint32_t i = 0; i < rows; i++) {
        int64_t at[5] = {coord[0]};
        uint32_t rest = i;
        for (int k = 1; k < map->rank; k++) {
            at[k] = coord[k] + (int64_t)(rest % extent(map, k)) * map->step[k];
            rest /= extent(map, k);
        }
        if (!row(m, c, at, c->data + (uint64_t)i * bytes, what)) return false;
    }
    return true;
}

/* The next position of the filter: at[1] … are the pixel's, the last is the image's. */
static void next_pixel(const EmuTensorMap *map, int64_t at[5]) {
    int k = 1;
    for (; k < map->rank - 1; k++) {
        at[k] += map->step[k];
        if (at[k] <= (int64_t)map->last[k] + map->upper[k - 1]) return;
        at[k] = map->lower[k - 1];
    }
    at[k]++;
}

static bool columns(Machine *m, Bulk *c, const int32_t coord[5], const uint16_t offset[3],
                    RowFn *what) {
    const EmuTensorMap *map = c->map;
    uint32_t bytes = map->box[0] * elements[map->type].bytes;
    int64_t pixel[5] = {0};
    for (int k = 0; k < map->rank; k++) pixel[k] = coord[k];
    for (uint32_t i = 0; i < map->box[1]; i++, next_pixel(map, pixel)) {
        int64_t at[5];
        memcpy(at, pixel, sizeof at);
        for (int k = 1; k < map->rank - 1; k++) at[k] += offset[k - 1];
        if (!row(m, c, at, c->data + (uint64_t)i * bytes, what)) return false;
    }
    return true;
}

/* Ends the launch where a GPU calls the instruction illegal. */
static bool check_corner(Machine *m, const Bulk *c, const int32_t coord[5]) {
    int64_t at = (int64_t)coord[0] * elements[c->map->type].bytes;
    if (at % CHUNK == 0 && (at >= 0 || !c->is_store)) return true;
    m->cause = EMU_CAUSE_INSTRUCTION;
    return fault_raise(m, c->w, c->in, c->lane, EMU_LAUNCH_ERROR,
                       "a box of a tensor that begins at coordinate %d, %lld bytes along dimension "
                       "0: a GPU %s",
                       coord[0], (long long)at,
                       at % CHUNK ? "takes multiples of 16 bytes there"
                                  : "stores no box that begins before its tensor");
}

static bool box(Machine *m, Bulk *c, const int32_t coord[5], const uint16_t offset[3],
                RowFn *what) {
    if (c->map->im2col) return columns(m, c, coord, offset, what);
    return tiled(m, c, coord, what);
}

/* --- both ways --- */

/* Bytes that one access can move, of so many from `global` on. */
static unsigned piece(const Bulk *c, uint64_t global, uint32_t bytes) {
    return global % CHUNK == 0 && bytes >= CHUNK ? CHUNK : elements[c->map->type].bytes;
}

static void charge(Machine *m, const Bulk *c, uint64_t global, uint32_t bytes) {
    const Alloc *in = alloc_of(m->emu, global);
    if (in) cost_range(m, c->w, alloc_place(in, global), bytes, COST_KIND_STORE);
}

/* Of tf32, what a load makes of numbers. */
static void to_tf32(uint8_t *numbers, uint32_t bytes) {
    for (uint32_t k = 0; k < bytes; k += 4) {
        uint32_t x;
        memcpy(&x, numbers + k, 4);
        float number = num_f32_from_bits(x);
        x = number != number ? 0x7fffe000 : num_f32_to_tf32(number, NUM_RN);
        memcpy(numbers + k, &x, 4);
    }
}

/* Are numbers those of the map's type? Else the launch ends. */
static bool stay(Machine *m, const Bulk *c, const uint8_t *numbers, uint32_t bytes) {
    const bool flushed = elements[c->map->type].is_flushed, tf32 = elements[c->map->type].is_tf32;
    for (uint32_t k = 0; (flushed || tf32) && k < bytes; k += 4) {
        uint32_t x;
        memcpy(&x, numbers + k, 4);
        bool is_small = flushed && (x & 0x7f800000) == 0 && (x & 0x7fffff) != 0;
        if (!is_small && !(tf32 && x & 0x1fff)) continue;
        return fault_raise(m, c->w, c->in, c->lane, EMU_LAUNCH_ERROR,
                           "a tensor map of %s stores 0x%08x, which is none: what it becomes is "
                           "not documented",
                           tf32 ? "tf32" : "f32 that is flushed", x);
    }
    return true;
}

static bool read_row(Machine *m, Bulk *c, uint64_t global, uint8_t *in_box, uint32_t bytes) {
    charge(m, c, global, bytes);
    for (unsigned n; bytes > 0; bytes -= n, global += n, in_box += n) {
        n = piece(c, global, bytes);
        Access a = {m, c->w, c->in, c->lane, PTX_GLOBAL, global, n, false, 0};
        if (!mem_read(a, in_box)) return false;
        exact_gather(&a, c->cargo, (uint32_t)(in_box - c->data));
        if (elements[c->map->type].is_tf32) to_tf32(in_box, n);
    }
    return true;
}

static bool write_row(Machine *m, Bulk *c, uint64_t global, uint8_t *in_box, uint32_t bytes) {
    charge(m, c, global, bytes);
    for (unsigned n; bytes > 0; bytes -= n, global += n, in_box += n) {
        n = piece(c, global, bytes);
        if (!stay(m, c, in_box, n)) return false;
        if (!bulk_put(m, c, global, in_box, n, elements[c->map->type].type)) return false;
        exact_scatter(&(Access){m, c->w, c->in, c->lane, PTX_GLOBAL, global, n, true, 0}, c->cargo,
                      (uint32_t)(in_box - c->data));
    }
    return true;
}

bool tensor_gather(Machine *m, Bulk *c, const int32_t coord[5], const uint16_t offset[3]) {
    if (c->cargo && (c->map->nans || elements[c->map->type].is_tf32))
        emu_exact_refuse(m->launch->exact, "a tensor map that rounds, or fills with NaNs");
    for (uint32_t k = 0; c->map->nans && k < c->bytes; k++) c->data[k] = k % 2 ? 0x7f : 0xf7;
    return check_corner(m, c, coord) && box(m, c, coord, offset, read_row);
}

bool tensor_scatter(Machine *m, Bulk *c) {
    static const uint16_t none[3];
    if (!check_corner(m, c, c->coord)) return false;
    c->data = gi_alloc(c->bytes + 1);
    c->cargo = exact_cargo(m, c->bytes);
    for (uint32_t k = 0; k < c->bytes; k += CHUNK) {
        uint64_t from = bulk_swizzle(c->at + k, c->swizzle);
        if (from + CHUNK > m->shared_bytes) continue;
        memcpy(c->data + k, c->block->shared + from, CHUNK);
        exact_gather(&(Access){m, c->w, c->in, c->lane, PTX_SHARED, from, CHUNK, false, 0},
                     c->cargo, k);
    }
    return box(m, c, c->coord, none, write_row);
}
