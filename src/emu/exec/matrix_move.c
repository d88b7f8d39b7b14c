/* matrix_move.c - matrices between memory and the registers of a warp: ldmatrix, stmatrix,
** movmatrix, wmma.load, wmma.store. Every row or number is read or written by mem_read and
** mem_write, as an access of the lane that has its address. */
#include "emu/exec/matrix.h"

#include "emu/check/undefined.h"

#include <string.h>

enum { ROWS = 8, ROW_BYTES = 16 };

static Access access_of(Machine *m, Warp *w, const Ins *in, const MatrixForm *f, int lane,
                        uint64_t at, unsigned bytes) {
    return (Access){m, w, in, lane, (PtxSpace)f->space, at, bytes, f->is_store, 0};
}

/* What lanes of an access's warp paid for it: `bytes` each. */
static void charge(Machine *m, Warp *w, const MatrixForm *f, const uint64_t *at, uint32_t lanes,
                   unsigned bytes) {
    uint64_t global[LANES];
    uint32_t in_global = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        bool is_shared = f->space == PTX_SHARED || at[i] >> ID_SHIFT == ID_SHARED;
        const Alloc *a = is_shared ? NULL : alloc_of(m->emu, at[i]);
        if (a) global[i] = alloc_place(a, at[i]), in_global |= 1u << i;
    }
    if (in_global)
        cost_lanes(m, w, global, in_global, f->is_store ? COST_KIND_STORE : COST_KIND_LOAD);
    if (lanes & ~in_global) cost_shared(m, at, lanes & ~in_global, bytes);
}

/* --- ldmatrix, stmatrix: lane 8 t + r has the address of row r of matrix t --- */

typedef struct Rows {
    uint8_t byte[4][ROWS][ROW_BYTES];
    uint32_t undefined[4][ROWS], origin[4][ROWS]; /* bytes, a bit each */
} Rows;

/* Where the halves are that lane i has of a matrix: row and first column, and how far apart. */
static void halves_of(const MatrixForm *f, int lane, int half, int *row, int *column) {
    int group = lane / 4, place = lane % 4 * 2 + half;
    *row = f->turned ? place : group;
    *column = f->turned ? group : place;
}

static void rows_to_lanes(const Warp *w, const MatrixForm *f, const Rows *rows, bool follows) {
    for (int t = 0; t < f->count; t++)
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t word = 0, bits = 0, origin = ORIGIN_NONE;
            for (int half = 0; half < 2; half++) {
                int r, c;
                uint16_t h;
                halves_of(f, lane, half, &r, &c);
                memcpy(&h, &rows->byte[t][r][2 * c], 2);
                word |= (uint32_t)h << 16 * half;
                if (rows->undefined[t][r] >> 2 * c & 3)
                    bits |= 0xffffu << 16 * half, origin = rows->origin[t][r];
            }
            ((U32 *)(void *)row_at(w, f->d.reg[t]))[lane] = word;
            if (follows) undefined_set(&w->s.frame[w->frame], f->d.reg[t], lane, bits, origin);
        }
}

static void lanes_to_rows(const Warp *w, const MatrixForm *f, Rows *rows, bool follows) {
    for (int t = 0; t < f->count; t++)
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t word = ((const U32 *)(const void *)row_at(w, f->a.reg[t]))[lane];
            uint32_t origin = ORIGIN_NONE;
            uint64_t bits = 0;
            if (follows) bits = undefined_row(&w->s.frame[w->frame], f->a.reg[t], lane, &origin);
            for (int half = 0; half < 2; half++) {
                int r, c;
                uint16_t h = (uint16_t)(word >> 16 * half);
                halves_of(f, lane, half, &r, &c);
                memcpy(&rows->byte[t][r][2 * c], &h, 2);
                if (bits >> 16 * half & 0xffff)
                    rows->undefined[t][r] |= 3u << 2 * c, rows->origin[t][r] = origin;
            }
        }
}

static bool move_row(Machine *m, Warp *w, const Ins *in, const MatrixForm *f, int lane, uint64_t at,
                     Rows *rows) {
    int t = lane / ROWS, r = lane % ROWS;
    Access a = access_of(m, w, in, f, lane, at, ROW_BYTES);
    if (f->is_store) {
        if (!mem_write(a, rows->byte[t][r])) return false;
        if (m->follows && rows->undefined[t][r])
            shadow_define(m, w, lane, a.space, at, ROW_BYTES, rows->undefined[t][r],
                          rows->origin[t][r]);
        return true;
    }
    m->undefined.bytes = 0;
    if (!mem_read(a, rows->byte[t][r])) return false;
    rows->undefined[t][r] = m->undefined.bytes;
    rows->origin[t][r] = m->undefined.origin;
    return true;
}

static bool move_rows(Machine *m, Warp *w, const Ins *in, const MatrixForm *f) {
    Rows rows;
    uint64_t at[LANES];
    uint32_t lanes = f->count == 4 ? FULL_MASK : (1u << f->count * ROWS) - 1, done = 0;
    memset(&rows, 0, sizeof rows);
    mem_addresses(w, f->address, f->wide, 0, at);
    if (m->shadow) shadow_step(m);
    if (f->is_store) w->moved = true, lanes_to_rows(w, f, &rows, m->follows);
    for (int i = 0; i < f->count * ROWS; i++) {
        if (move_row(m, w, in, f, i, at[i], &rows)) done |= 1u << i;
        else if (m->ended) return false;
    }
    if (!f->is_store) rows_to_lanes(w, f, &rows, m->follows);
    charge(m, w, f, at, done & lanes, ROW_BYTES);
    return true;
}

/* --- movmatrix --- */

static bool turn(Machine *m, Warp *w, const MatrixForm *f) {
    Rows rows;
    memset(&rows, 0, sizeof rows);
    MatrixForm back = *f;
    back.turned = !f->turned;
    lanes_to_rows(w, f, &rows, m->follows);
    rows_to_lanes(w, &back, &rows, m->follows);
    return true;
}

/* --- wmma.load, wmma.store: number (row, column) is `stride` times one and the other beside the
** address, which is the same in all lanes --- */

static const MatrixPart *moved_part(const MatrixForm *f) {
    return f->is_store ? &f->a : &f->d;
}

static unsigned numbers_in(const MatrixPart *p) {
    unsigned bits = matrix_bits((MatrixType)p->type);
    return bits == 64 ? 1 : bits == 1 ? 32 : 32 / bits;
}

/* The bytes of a piece: a number, or as many small ones as fill a register. */
static unsigned piece_bytes(const MatrixPart *p) {
    unsigned bits = matrix_bits((MatrixType)p->type);
    return bits < 8 ? 4 : bits / 8;
}

/* Pieces of a lane's register, and the place of piece s of register r: the map is of pieces. */
static unsigned pieces_in(const MatrixPart *p) {
    return matrix_bits((MatrixType)p->type) < 8 ? 1 : numbers_in(p);
}

static bool move_piece(Machine *m, Warp *w, const Ins *in, const MatrixForm *f, unsigned r,
                       unsigned s, int lane, uint64_t at) {
    const MatrixPart *p = moved_part(f);
    const Frame *frame = &w->s.frame[w->frame];
    unsigned bytes = piece_bytes(p), shift = 8 * bytes * s;
    uint64_t mask = bytes == 8 ? UINT64_MAX : ((UINT64_C(1) << 8 * bytes) - 1) << shift, value = 0;
    uint8_t *row = row_at(w, p->reg[r]);
    Access a = access_of(m, w, in, f, lane, at, bytes);
    uint32_t origin = ORIGIN_NONE;
    if (f->is_store) {
        value = bytes == 8 ? ((const U64 *)(const void *)row)[lane]
                           : ((const U32 *)(const void *)row)[lane] >> shift;
        if (!mem_write(a, &value)) return false;
        uint64_t bits = m->follows ? undefined_row(frame, p->reg[r], lane, &origin) & mask : 0;
        if (bits) shadow_define(m, w, lane, a.space, at, bytes, (1u << bytes) - 1, origin);
        return true;
    }
    m->undefined.bytes = 0;
    if (!mem_read(a, &value)) return false;
    if (bytes == 8) ((U64 *)(void *)row)[lane] = value;
    else {
        U32 *word = &((U32 *)(void *)row)[lane];
        *word = (*word & ~(uint32_t)mask) | (uint32_t)(value << shift);
    }
    if (!m->follows) return true;
    uint64_t old = undefined_row(frame, p->reg[r], lane, &origin) & ~mask;
    if (m->undefined.bytes) old |= mask, origin = m->undefined.origin;
    undefined_set(frame, p->reg[r], lane, old, origin);
    return true;
}

/* Where pieces begin, in bytes behind the address. */
static uint64_t piece_offset(const MatrixForm *f, uint64_t row, uint64_t column, uint64_t stride) {
    uint64_t number = f->turned ? column * stride + row : row * stride + column;
    unsigned bits = matrix_bits((MatrixType)moved_part(f)->type);
    return bits < 8 ? number * bits / 8 : number * (bits / 8);
}

static bool move_matrix(Machine *m, Warp *w, const Ins *in, const MatrixForm *f) {
    const MatrixPart *p = moved_part(f);
    uint64_t at[LANES];
    const U32 *stride = (const U32 *)(const void *)row_at(w, f->stride);
    unsigned per = pieces_in(p);
    mem_addresses(w, f->address, f->wide, 0, at);
    if (m->shadow) shadow_step(m);
    if (f->is_store) w->moved = true;
    for (unsigned e = 0; e < p->count * per; e++) {
        uint64_t place[LANES];
        uint32_t done = 0;
        for (int lane = 0; lane < LANES; lane++) {
            unsigned where = p->map[e * LANES + (unsigned)lane];
            place[lane] = at[lane] + piece_offset(f, where / 256, where % 256, stride[lane]);
            if (move_piece(m, w, in, f, e / per, e % per, lane, place[lane])) done |= 1u << lane;
            else if (m->ended) return false;
        }
        if (e % per == 0 && done) charge(m, w, f, place, done, 4);
    }
    return true;
}

bool matrix_move(Machine *m, Warp *w, const Ins *in, const MatrixForm *f) {
    if (f->kind == MATRIX_ROWS) return move_rows(m, w, in, f);
    return f->kind == MATRIX_TURN ? turn(m, w, f) : move_matrix(m, w, in, f);
}
