/* atoms.h - computes an atomic operation's new value from the old one. Inline, because rows.c
** needs it in each of its builds, too. */
#ifndef GILUA_EMU_ATOMS_H
#define GILUA_EMU_ATOMS_H

#include "emu/core.h"
#include "emu/exec/num.h"

typedef enum AtomOp {
    ATOM_ADD,
    ATOM_MIN,
    ATOM_MAX,
    ATOM_INC,
    ATOM_DEC,
    ATOM_CAS,
    ATOM_EXCH,
    ATOM_AND,
    ATOM_OR,
    ATOM_XOR
} AtomOp;

/* imm of an atomic. Where nobody reads its result it is a reduction, whatever its name. */
typedef struct AtomForm {
    uint8_t op, type, space, wide_base, is_read, size;
    uint16_t order;
} AtomForm;

/* What of it decides its cost: COST_ATOM_… */
static inline unsigned atom_how(const AtomForm *f) {
    bool is_float = f->type == PTX_F16 || f->type == PTX_F16X2 || f->type == PTX_BF16 ||
                    f->type == PTX_BF16X2 || f->type == PTX_F32 || f->type == PTX_F64;
    bool swaps = f->op == ATOM_CAS || f->op == ATOM_EXCH, wide = f->size >= 8;
    unsigned how = wide ? COST_ATOM_WIDE : 0;
    if (!swaps && (is_float || wide || f->size < 4)) how |= COST_ATOM_LOOP;
    if (!is_float && !swaps && f->order & ORDER_ONE_PLACE) how |= COST_ATOM_ONE_PLACE;
    if (!is_float && !wide && f->order & ORDER_COUNTS) how |= COST_ATOM_COUNTS;
    return how;
}

static inline uint64_t atom_integer(AtomOp op, bool is64, PtxType type, uint64_t old, uint64_t b,
                                    uint64_t c) {
    bool is_signed = type == PTX_S32 || type == PTX_S64;
    int64_t so = is64 ? (int64_t)old : (int32_t)(uint32_t)old;
    int64_t sb = is64 ? (int64_t)b : (int32_t)(uint32_t)b;
    bool less = is_signed ? sb < so : b < old;
    switch (op) {
    case ATOM_ADD: return old + b;
    case ATOM_MIN: return less ? b : old;
    case ATOM_MAX: return less ? old : b;
    case ATOM_INC: return old >= b ? 0 : old + 1;
    case ATOM_DEC: return old == 0 || old > b ? b : old - 1;
    case ATOM_CAS: return old == b ? c : old;
    case ATOM_EXCH: return b;
    case ATOM_AND: return old & b;
    case ATOM_OR: return old | b;
    default: return old ^ b;
    }
}

/* The smaller or larger of two halves; the number where one is none. */
static inline uint16_t half_extreme(AtomOp op, bool brain, uint16_t x, uint16_t y) {
    float a = brain ? num_bf16_to_f32(x) : num_f16_to_f32(x);
    float b = brain ? num_bf16_to_f32(y) : num_f16_to_f32(y);
    float r = op == ATOM_MIN ? num_min_f32(a, b, false) : num_max_f32(a, b, false);
    return brain ? num_f32_to_bf16(r, NUM_RN) : num_f32_to_f16(r, NUM_RN);
}

/* A sum of halves in f32, rounded there and then once more, is rounded right (rows_num.h). */
static inline uint16_t half_sum(bool brain, uint16_t x, uint16_t y) {
    float a = brain ? num_bf16_to_f32(x) : num_f16_to_f32(x);
    float sum = a + (brain ? num_bf16_to_f32(y) : num_f16_to_f32(y));
    if (sum != sum) return 0x7fff;
    return brain ? num_f32_to_bf16(sum, NUM_RN) : num_f32_to_f16(sum, NUM_RN);
}

static inline uint64_t atom_half2(AtomOp op, PtxType type, uint64_t old, uint64_t b) {
    bool brain = type == PTX_BF16X2 || type == PTX_BF16;
    uint64_t sum = 0;
    for (int k = 0; k < (type == PTX_F16X2 || type == PTX_BF16X2 ? 2 : 1); k++) {
        uint16_t x = (uint16_t)(old >> (16 * k)), y = (uint16_t)(b >> (16 * k));
        uint16_t z = op == ATOM_ADD ? half_sum(brain, x, y) : half_extreme(op, brain, x, y);
        sum |= (uint64_t)z << (16 * k);
    }
    return sum;
}

/* An f32 addition flushes subnormals in global memory and keeps them in shared memory. */
static inline uint64_t atom_add_f32(uint64_t old, uint64_t b, bool shared) {
    float x = num_f32_from_bits((uint32_t)old), y = num_f32_from_bits((uint32_t)b);
    if (shared) return num_f32_bits(num_add_f32(x, y, NUM_RN));
    return num_f32_bits(num_ftz(num_add_f32(num_ftz(x), num_ftz(y), NUM_RN)));
}

static inline uint64_t atom_value(AtomOp op, PtxType type, uint64_t old, uint64_t b, uint64_t c,
                           bool shared) {
    if (op == ATOM_ADD && type == PTX_F32) return atom_add_f32(old, b, shared);
    if (op == ATOM_ADD && type == PTX_F64)
        return num_f64_bits(num_add_f64(num_f64_from_bits(old), num_f64_from_bits(b), NUM_RN));
    if (type >= PTX_F16 && type <= PTX_BF16X2) return atom_half2(op, type, old, b);
    return atom_integer(op, ptx_type_size(type) == 8, type, old, b, c);
}

/* memory.c: what an atomic costs whose lanes went to these addresses. */
void atom_cost(Machine *m, Warp *w, const AtomForm *f, const uint64_t *at, uint32_t lanes);

/* Lane by lane, each checked: the plain form of ROW_ATOMIC. */
bool atom_by_lanes(Machine *m, Warp *w, const Ins *in);

#endif
