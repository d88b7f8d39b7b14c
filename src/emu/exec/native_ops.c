/* native_ops.c - the arithmetic of compiled code: what exec.c does for a row of lanes, in AVX-512.
** The same bits: where the processor's answer is another (NaN, integers out of range),
** more instructions follow. native.c has the model. */
#include "emu/exec/native_rows.h"

#include "emu/exec/num.h"
#include "emu/exec/rows.h"

#if defined(__x86_64__)

/* --- arithmetic --- */

typedef enum Kind { NO_KIND, TWO, ONE, ONE_IMM, FUSED, TESTS } Kind;
typedef enum Nan { ANY_NAN, CANONICAL, PASS_B, PASS_A, PASS_DIV } Nan;

typedef struct Form {
    Kind kind;
    uint32_t op;
    bool wide;
    int imm; /* of ONE_IMM; the comparison of TESTS */
    Nan nan;
} Form;

static const Form forms[OP_COUNT] = {
    [OP_MOV32] = {ONE, MOV, false, 0, ANY_NAN},
    [OP_MOV64] = {ONE, MOV, true, 0, ANY_NAN},
    [OP_ADD32] = {TWO, ADD_D, false, 0, ANY_NAN},
    [OP_SUB32] = {TWO, SUB_D, false, 0, ANY_NAN},
    [OP_MUL32] = {TWO, MULL_D, false, 0, ANY_NAN},
    [OP_AND32] = {TWO, AND_D, false, 0, ANY_NAN},
    [OP_OR32] = {TWO, OR_D, false, 0, ANY_NAN},
    [OP_XOR32] = {TWO, XOR_D, false, 0, ANY_NAN},
    [OP_SHL32] = {TWO, EVEX(P66, M0F38, 0, 0x47), false, 0, ANY_NAN},
    [OP_SHR32_U] = {TWO, EVEX(P66, M0F38, 0, 0x45), false, 0, ANY_NAN},
    [OP_SHR32_S] = {TWO, EVEX(P66, M0F38, 0, 0x46), false, 0, ANY_NAN},
    [OP_MIN32_S] = {TWO, EVEX(P66, M0F38, 0, 0x39), false, 0, ANY_NAN},
    [OP_MIN32_U] = {TWO, EVEX(P66, M0F38, 0, 0x3b), false, 0, ANY_NAN},
    [OP_MAX32_S] = {TWO, EVEX(P66, M0F38, 0, 0x3d), false, 0, ANY_NAN},
    [OP_MAX32_U] = {TWO, EVEX(P66, M0F38, 0, 0x3f), false, 0, ANY_NAN},
    [OP_ABS32] = {ONE, EVEX(P66, M0F38, 0, 0x1e), false, 0, ANY_NAN},
    [OP_ADD64] = {TWO, ADD_Q, true, 0, ANY_NAN},
    [OP_SUB64] = {TWO, SUB_Q, true, 0, ANY_NAN},
    [OP_MUL64] = {TWO, MULL_Q, true, 0, ANY_NAN},
    [OP_AND64] = {TWO, EVEX(P66, M0F, 1, 0xdb), true, 0, ANY_NAN},
    [OP_OR64] = {TWO, OR_Q, true, 0, ANY_NAN},
    [OP_XOR64] = {TWO, EVEX(P66, M0F, 1, 0xef), true, 0, ANY_NAN},
    [OP_MIN64_S] = {TWO, EVEX(P66, M0F38, 1, 0x39), true, 0, ANY_NAN},
    [OP_MIN64_U] = {TWO, EVEX(P66, M0F38, 1, 0x3b), true, 0, ANY_NAN},
    [OP_MAX64_S] = {TWO, EVEX(P66, M0F38, 1, 0x3d), true, 0, ANY_NAN},
    [OP_MAX64_U] = {TWO, EVEX(P66, M0F38, 1, 0x3f), true, 0, ANY_NAN},
    [OP_EQ32] = {TESTS, CMP_D, false, 0, ANY_NAN},
    [OP_LT32_S] = {TESTS, CMP_D, false, 1, ANY_NAN},
    [OP_LT32_U] = {TESTS, CMP_UD, false, 1, ANY_NAN},
    [OP_EQ64] = {TESTS, CMP_Q, true, 0, ANY_NAN},
    [OP_LT64_S] = {TESTS, CMP_Q, true, 1, ANY_NAN},
    [OP_LT64_U] = {TESTS, CMP_UQ, true, 1, ANY_NAN},
    [OP_EQ_F] = {TESTS, CMP_PS, false, 0, ANY_NAN},
    [OP_NE_F] = {TESTS, CMP_PS, false, 12, ANY_NAN}, /* ordered */
    [OP_LT_F] = {TESTS, CMP_PS, false, 17, ANY_NAN},
    [OP_LE_F] = {TESTS, CMP_PS, false, 18, ANY_NAN},
    [OP_NUM_F] = {TESTS, CMP_PS, false, 7, ANY_NAN},
    [OP_EQ_D] = {TESTS, CMP_PD, true, 0, ANY_NAN},
    [OP_NE_D] = {TESTS, CMP_PD, true, 12, ANY_NAN},
    [OP_LT_D] = {TESTS, CMP_PD, true, 17, ANY_NAN},
    [OP_LE_D] = {TESTS, CMP_PD, true, 18, ANY_NAN},
    [OP_NUM_D] = {TESTS, CMP_PD, true, 7, ANY_NAN},
    [OP_ADD_F] = {TWO, EVEX(NP, M0F, 0, 0x58), false, 0, CANONICAL},
    [OP_SUB_F] = {TWO, EVEX(NP, M0F, 0, 0x5c), false, 0, CANONICAL},
    [OP_MUL_F] = {TWO, EVEX(NP, M0F, 0, 0x59), false, 0, CANONICAL},
    [OP_DIV_F] = {TWO, EVEX(NP, M0F, 0, 0x5e), false, 0, CANONICAL},
    [OP_SQRT_F] = {ONE, EVEX(NP, M0F, 0, 0x51), false, 0, CANONICAL},
    [OP_ADD_N] = {TWO, EVEX(NP, M0F, 0, 0x58), false, 0, ANY_NAN},
    [OP_SUB_N] = {TWO, EVEX(NP, M0F, 0, 0x5c), false, 0, ANY_NAN},
    [OP_MUL_N] = {TWO, EVEX(NP, M0F, 0, 0x59), false, 0, ANY_NAN},
    [OP_WEIGH_SHARED] = {TWO, EVEX(NP, M0F, 0, 0x59), false, 0, ANY_NAN},
    [OP_WEIGH_SHARED_N] = {TWO, EVEX(NP, M0F, 0, 0x59), false, 0, ANY_NAN},
    [OP_FMA_F] = {FUSED, FMA_PS, false, 0, CANONICAL},
    [OP_FMA_F_X3] = {FUSED, FMA_PS, false, 0, CANONICAL},
    [OP_FMA_N] = {FUSED, FMA_PS, false, 0, ANY_NAN},
    [OP_FMA_N_X3] = {FUSED, FMA_PS, false, 0, ANY_NAN},
    [OP_ADD_D] = {TWO, EVEX(P66, M0F, 1, 0x58), true, 0, PASS_B},
    [OP_SUB_D] = {TWO, EVEX(P66, M0F, 1, 0x5c), true, 0, PASS_B},
    [OP_MUL_D] = {TWO, EVEX(P66, M0F, 1, 0x59), true, 0, PASS_B},
    [OP_DIV_D] = {TWO, EVEX(P66, M0F, 1, 0x5e), true, 0, PASS_DIV},
    [OP_SQRT_D] = {ONE, EVEX(P66, M0F, 1, 0x51), true, 0, PASS_A},
    [OP_FMA_D] = {FUSED, FMA_PD, true, 0, PASS_B},
    [OP_CVT_F_S32] = {ONE, EVEX(NP, M0F, 0, 0x5b), false, 0, ANY_NAN},
    [OP_CVT_F_U32] = {ONE, EVEX(PF2, M0F, 0, 0x7a), false, 0, ANY_NAN},
    [OP_RINT_F] = {ONE_IMM, EVEX(P66, M0F3A, 0, 0x08), false, 8, CANONICAL},
    [OP_FLOOR_F] = {ONE_IMM, EVEX(P66, M0F3A, 0, 0x08), false, 9, CANONICAL},
    [OP_CEIL_F] = {ONE_IMM, EVEX(P66, M0F3A, 0, 0x08), false, 10, CANONICAL},
    [OP_TRUNC_F] = {ONE_IMM, EVEX(P66, M0F3A, 0, 0x08), false, 11, CANONICAL},
};

/* The NaN of a result in `reg`, from part p of its operands. */
static void mend_nan(Writer *s, Nan nan, int reg, Rm a, Rm b, Rm c) {
    if (nan == CANONICAL) canonical(s, reg);
    else if (nan == PASS_B) passed_nan(s, reg, b, c, a);
    else if (nan == PASS_A) passed_nan(s, reg, a, a, a);
    else if (nan == PASS_DIV) passed_nan(s, reg, a, b, b);
}

static void write_plain(Writer *s, const Ins *in, const Form *f) {
    const int n = parts(f->wide);
    const bool two = f->kind == TWO;
    const Operand a = two ? held(s, in->a, n) : source(s, in->a, n);
    const Operand b = two ? source(s, in->b, n) : a, d = target(s, in->d, n);
    for (int p = 0; p < n; p++) {
        const bool direct = f->nan == ANY_NAN || f->nan == CANONICAL;
        const int to = direct ? d.part[p].reg : SCRATCH;
        if (two) put(s, f->op, to, a.part[p].reg, b.part[p]);
        else if (f->kind == ONE_IMM) put_imm(s, f->op, to, 0, a.part[p], f->imm);
        else put(s, f->op, to, 0, a.part[p]);
        mend_nan(s, f->nan, to, a.part[p], b.part[p], a.part[p]);
        if (!direct) put(s, MOV, d.part[p].reg, 0, rm_reg(to));
    }
}

static void write_fused(Writer *s, const Ins *in, const Form *f) {
    const int n = parts(f->wide);
    const bool turned = row_find(s, in->a, n) == NULL && row_find(s, in->b, n) != NULL;
    const Operand a = held(s, turned ? in->b : in->a, n), b = source(s, turned ? in->a : in->b, n);
    const Operand c = source(s, in->c, n), d = target(s, in->d, n);
    for (int p = 0; p < n; p++) {
        const bool in_place = f->nan == ANY_NAN && c.part[p].reg == d.part[p].reg;
        const int to = in_place ? d.part[p].reg : SCRATCH;
        if (!in_place) put(s, MOV, to, 0, c.part[p]);
        put(s, f->op, to, a.part[p].reg, b.part[p]);
        mend_nan(s, f->nan, to, turned ? b.part[p] : a.part[p], turned ? a.part[p] : b.part[p],
                 c.part[p]);
        if (!in_place) put(s, MOV, d.part[p].reg, 0, rm_reg(to));
    }
}

/* eax: a bit for each lane. To a predicate, for the active lanes. */
static void write_predicate(Writer *s, const Ins *in) {
    gi_buf *b = &s->b;
    asm_general(b, false, 0x8b, RCX, rm_at(RBX, in->d));
    asm_general(b, false, 0x33, RAX, rm_reg(RCX));
    asm_general(b, false, 0x23, RAX, rm_at(R13, offsetof(Warp, active)));
    asm_general(b, false, 0x33, RAX, rm_reg(RCX));
    asm_general(b, false, 0x89, RAX, rm_at(RBX, in->d));
}

/* eax = eax or its complement. */
static void complement(Writer *s) {
    asm_general(&s->b, false, 0xf7, 2, rm_reg(RAX));
}

static void write_test(Writer *s, const Ins *in, const Form *f) {
    const int n = parts(f->wide);
    const Operand a = held(s, in->a, n), b = source(s, in->b, n);
    const uint32_t join_bytes = EVEX(P66, M0F, 0, 0x4b), join_words = EVEX(NP, M0F, 0, 0x4b);
    for (int p = 0; p < n; p++) put_test(s, f->op, 1 + p, a.part[p].reg, b.part[p], f->imm);
    if (f->wide) {
        asm_vex(&s->b, join_bytes, 1, 1, 2, rm_reg(1));
        asm_vex(&s->b, join_bytes, 1, 2, 4, rm_reg(3));
    }
    asm_vex(&s->b, join_words, 1, 1, 2, rm_reg(1));
    asm_vex(&s->b, EVEX(PF2, M0F, 0, 0x93), 0, RAX, 0, rm_reg(1));
    if (in->x & 1) complement(s);
    write_predicate(s, in);
}

static void write_bits(Writer *s, const Ins *in) {
    asm_general(&s->b, false, 0x8b, RAX, rm_at(RBX, in->a));
    if (in->op == OP_NOT_P) complement(s);
    if (in->op == OP_AND_P) asm_general(&s->b, false, 0x23, RAX, rm_at(RBX, in->b));
    if (in->op == OP_OR_P) asm_general(&s->b, false, 0x0b, RAX, rm_at(RBX, in->b));
    if (in->op == OP_XOR_P) asm_general(&s->b, false, 0x33, RAX, rm_at(RBX, in->b));
    write_predicate(s, in);
}

static void write_select(Writer *s, const Ins *in, bool wide) {
    const int n = parts(wide);
    const Operand b = held(s, in->b, n), a = source(s, in->a, n);
    const Operand d = wide ? held(s, in->d, n) : target(s, in->d, n);
    if (wide) target(s, in->d, n);
    for (int p = 0; p < n; p++) {
        const int to = wide ? SCRATCH : d.part[p].reg;
        load_mask(s, 1, RBX, in->c + (wide ? 1u : 2u) * (unsigned)p, wide);
        put_masked(s, wide ? BLEND_Q : BLEND_D, to, b.part[p].reg, a.part[p], 1);
        if (wide) keep_others(s, &d, p, to, true);
    }
}

static void write_logic(Writer *s, const Ins *in) {
    const Operand b = held(s, in->b, 2), a = source(s, in->a, 2), c = source(s, in->c, 2);
    const Operand d = held(s, in->d, 2);
    target(s, in->d, 2);
    for (int p = 0; p < 2; p++) {
        put(s, MOV, SCRATCH, 0, a.part[p]);
        put_imm(s, LOGIC, SCRATCH, b.part[p].reg, c.part[p], (int)(in->imm & 255));
        keep_others(s, &d, p, SCRATCH, false);
    }
}

/* Products of two rows of words, 64 bits each, and what is added to them. */
static void write_wide_product(Writer *s, const Ins *in, bool has_sign, bool adds) {
    const Operand a = source(s, in->a, 2), b = source(s, in->b, 2);
    const Operand c = adds ? source(s, in->c, 4) : a, d = target(s, in->d, 4);
    for (int p = 0; p < 4; p++) {
        const uint32_t widen = has_sign ? SX_DQ : ZX_DQ;
        put_half(s, widen, SCRATCH, half_of(s, &a, p, SCRATCH));
        put_half(s, widen, SCRATCH + 1, half_of(s, &b, p, SCRATCH + 1));
        put(s, has_sign ? MUL_DQ : MUL_UDQ, adds ? SCRATCH : d.part[p].reg, SCRATCH,
            rm_reg(SCRATCH + 1));
        if (adds) put(s, ADD_Q, d.part[p].reg, SCRATCH, c.part[p]);
    }
}

/* Shifts of 64 bits by a row of words. */
static void write_wide_shift(Writer *s, const Ins *in, uint32_t op) {
    const Operand a = held(s, in->a, 4), b = source(s, in->b, 2), d = target(s, in->d, 4);
    for (int p = 0; p < 4; p++) {
        put_half(s, ZX_DQ, SCRATCH, half_of(s, &b, p, SCRATCH));
        put(s, op, d.part[p].reg, a.part[p].reg, rm_reg(SCRATCH));
    }
}

/* One of words to lanes of 64 bits. */
static void write_widened(Writer *s, const Ins *in, uint32_t op) {
    const Operand a = source(s, in->a, 2), d = target(s, in->d, 4);
    for (int p = 0; p < 4; p++)
        put_half(s, op, d.part[p].reg, half_of(s, &a, p, SCRATCH));
}

static void write_packed(Writer *s, const Ins *in) {
    const Operand a = source(s, in->a, 2), b = source(s, in->b, 2), d = target(s, in->d, 4);
    for (int p = 0; p < 4; p++) {
        put_half(s, ZX_DQ, SCRATCH, half_of(s, &b, p, SCRATCH));
        put_imm(s, SHIFT_Q, 6, SCRATCH, rm_reg(SCRATCH), 32);
        put_half(s, ZX_DQ, SCRATCH + 1, half_of(s, &a, p, SCRATCH + 1));
        put(s, OR_Q, d.part[p].reg, SCRATCH, rm_reg(SCRATCH + 1));
    }
}

/* Of each lane of 64 bits its low half, or by `op` (not 0) a word, in SCRATCH: part p of them. */
static void narrowed(Writer *s, const Operand *a, int p, uint32_t op, bool shifts) {
    for (int k = 0; k < 2; k++) {
        const int to = SCRATCH + k;
        put(s, MOV, to, 0, a->part[2 * p + k]);
        if (shifts) put_imm(s, SHIFT_Q, 2, to, rm_reg(to), 32);
        if (op) put(s, op, to, 0, rm_reg(to));
        else put(s, CUT_QD, to, 0, rm_reg(to));
    }
    put_imm(s, JOIN_UP, SCRATCH, SCRATCH, rm_reg(SCRATCH + 1), 1);
}

static void write_narrowed(Writer *s, const Ins *in, uint32_t op, Nan nan) {
    const Operand a = source(s, in->a, 4), d = target(s, in->d, 2);
    for (int p = 0; p < 2; p++) {
        narrowed(s, &a, p, op, false);
        if (nan == CANONICAL) canonical(s, SCRATCH);
        put(s, MOV, d.part[p].reg, 0, rm_reg(SCRATCH));
    }
}

static void write_unpacked(Writer *s, const Ins *in) {
    const Operand a = source(s, in->a, 4), d = held(s, in->d, 2), c = held(s, in->c, 2);
    target(s, in->d, 2);
    target(s, in->c, 2);
    for (int p = 0; p < 2; p++) {
        narrowed(s, &a, p, 0, false);
        keep_others(s, &d, p, SCRATCH, false);
    }
    for (int p = 0; p < 2; p++) {
        narrowed(s, &a, p, 0, true);
        keep_others(s, &c, p, SCRATCH, false);
    }
}

/* The low bits of each lane, extended: shifted up, then down. */
static void write_extended(Writer *s, const Ins *in, bool wide, bool has_sign) {
    const int n = parts(wide), by = in->x & 63;
    const Operand a = source(s, in->a, n), d = target(s, in->d, n);
    for (int p = 0; p < n; p++) {
        const int to = d.part[p].reg;
        put_imm(s, wide ? SHIFT_Q : SHIFT_D, 6, to, a.part[p], by);
        if (has_sign) put_imm(s, wide ? SRA_Q : SHIFT_D, 4, to, rm_reg(to), by);
        else put_imm(s, wide ? SHIFT_Q : SHIFT_D, 2, to, rm_reg(to), by);
    }
}

/* 0 - a, or all bits of a turned over. */
static void write_turned(Writer *s, const Ins *in, bool wide, bool negates) {
    const int n = parts(wide);
    const Operand a = source(s, in->a, n), d = target(s, in->d, n);
    for (int p = 0; p < n; p++) {
        put(s, XOR_D, SCRATCH, SCRATCH, rm_reg(SCRATCH));
        if (negates) put(s, wide ? SUB_Q : SUB_D, d.part[p].reg, SCRATCH, a.part[p]);
        else put_imm(s, LOGIC, SCRATCH, SCRATCH, a.part[p], 0x55);
        if (!negates) put(s, MOV, d.part[p].reg, 0, rm_reg(SCRATCH));
    }
}

static void write_product_and_sum(Writer *s, const Ins *in, bool wide) {
    const int n = parts(wide);
    const Operand a = held(s, in->a, n), b = source(s, in->b, n), c = source(s, in->c, n);
    const Operand d = target(s, in->d, n);
    for (int p = 0; p < n; p++) {
        put(s, wide ? MULL_Q : MULL_D, SCRATCH, a.part[p].reg, b.part[p]);
        put(s, wide ? ADD_Q : ADD_D, d.part[p].reg, SCRATCH, c.part[p]);
    }
}

/* min_f or max_f of exec_num.h. */
static void write_extreme(Writer *s, const Ins *in, bool is_max) {
    const Operand a = held(s, in->a, 2), b = held(s, in->b, 2), d = target(s, in->d, 2);
    for (int p = 0; p < 2; p++) {
        const int x = a.part[p].reg, y = b.part[p].reg, r = SCRATCH;
        put_test(s, CMP_PS, 1, is_max ? y : x, rm_reg(is_max ? x : y), 17);
        put_masked(s, BLEND_D, r, y, rm_reg(x), 1);
        put_test(s, CMP_PS, 1, x, rm_reg(y), 0);
        put_masked(s, is_max ? AND_D : OR_D, r, x, rm_reg(y), 1);
        put_test(s, CMP_PS, 1, y, rm_reg(y), 3);
        put_masked(s, MOV, r, 0, rm_reg(x), 1);
        canonical(s, r);
        put(s, MOV, d.part[p].reg, 0, rm_reg(r));
    }
}

/* to_s32: what is too large becomes the largest, a NaN 0; the processor gives INT_MIN for both. */
static void write_integer(Writer *s, const Ins *in, bool cuts) {
    const Operand a = held(s, in->a, 2), d = target(s, in->d, 2);
    for (int p = 0; p < 2; p++) {
        const int x = a.part[p].reg, big = SCRATCH + 1;
        put(s, cuts ? EVEX(PF3, M0F, 0, 0x5b) : EVEX(P66, M0F, 0, 0x5b), SCRATCH, 0, rm_reg(x));
        constant32(s, big, POOL_BIG, 0);
        put_test(s, CMP_PS, 1, big, rm_reg(x), 18);
        constant32(s, SCRATCH, POOL_NAN, 1); /* the bits of INT_MAX, too */
        put_test(s, CMP_PS, 1, x, rm_reg(x), 3);
        put_masked(s, XOR_D, SCRATCH, SCRATCH, rm_reg(SCRATCH), 1);
        put(s, MOV, d.part[p].reg, 0, rm_reg(SCRATCH));
    }
}

/* The upper halves of products of words: of even lanes, of odd ones, together. */
static void write_upper_product(Writer *s, const Ins *in, bool has_sign) {
    const Operand a = held(s, in->a, 2), b = held(s, in->b, 2), d = target(s, in->d, 2);
    const uint32_t times = has_sign ? MUL_DQ : MUL_UDQ;
    for (int p = 0; p < 2; p++) {
        const int even = SCRATCH, odd = SCRATCH + 1, other = SCRATCH + 2;
        put(s, times, even, a.part[p].reg, b.part[p]);
        put_imm(s, SHIFT_Q, 2, odd, a.part[p], 32);
        put_imm(s, SHIFT_Q, 2, other, b.part[p], 32);
        put(s, times, odd, odd, rm_reg(other));
        put_imm(s, SHIFT_Q, 2, even, rm_reg(even), 32);
        asm_byte(&s->b, 0xb8); /* mov eax, odd lanes */
        asm_word(&s->b, 0xaaaa);
        asm_vex(&s->b, EVEX(NP, M0F, 0, 0x92), 0, 1, 0, rm_reg(RAX));
        put_masked(s, BLEND_D, d.part[p].reg, even, rm_reg(odd), 1);
    }
}

/* False: not known here. */
static bool write_other(Writer *s, const Ins *in) {
    switch (in->op) {
    case OP_AND_P:
    case OP_OR_P:
    case OP_XOR_P:
    case OP_NOT_P:
    case OP_MOV_P: write_bits(s, in); return true;
    case OP_SELP32: write_select(s, in, false); return true;
    case OP_SELP64: write_select(s, in, true); return true;
    case OP_LOP3: write_logic(s, in); return true;
    case OP_PACK: write_packed(s, in); return true;
    case OP_UNPACK: write_unpacked(s, in); return true;
    case OP_MAD32: write_product_and_sum(s, in, false); return true;
    case OP_MAD64: write_product_and_sum(s, in, true); return true;
    case OP_NEG32: write_turned(s, in, false, true); return true;
    case OP_NEG64: write_turned(s, in, true, true); return true;
    case OP_NOT32: write_turned(s, in, false, false); return true;
    case OP_NOT64: write_turned(s, in, true, false); return true;
    case OP_MULHI32_S: write_upper_product(s, in, true); return true;
    case OP_MULHI32_U: write_upper_product(s, in, false); return true;
    case OP_MULW_S: write_wide_product(s, in, true, false); return true;
    case OP_MULW_U: write_wide_product(s, in, false, false); return true;
    case OP_MADW_S: write_wide_product(s, in, true, true); return true;
    case OP_MADW_U: write_wide_product(s, in, false, true); return true;
    case OP_SHL64: write_wide_shift(s, in, SLLV_Q); return true;
    case OP_SHR64_U: write_wide_shift(s, in, SRLV_Q); return true;
    case OP_SHR64_S: write_wide_shift(s, in, SRAV_Q); return true;
    case OP_EXT32_S: write_extended(s, in, false, true); return true;
    case OP_EXT32_U: write_extended(s, in, false, false); return true;
    case OP_EXT64_S: write_extended(s, in, true, true); return true;
    case OP_EXT64_U: write_extended(s, in, true, false); return true;
    case OP_WIDEN_S: write_widened(s, in, SX_DQ); return true;
    case OP_WIDEN_U: write_widened(s, in, ZX_DQ); return true;
    case OP_NARROW: write_narrowed(s, in, 0, ANY_NAN); return true;
    case OP_MIN_F: write_extreme(s, in, false); return true;
    case OP_MAX_F: write_extreme(s, in, true); return true;
    case OP_CVT_S32_F: write_integer(s, in, true); return true;
    case OP_CVT_S32_F_RN: write_integer(s, in, false); return true;
    case OP_CVT_D_S32: write_widened(s, in, EVEX(PF3, M0F, 0, 0xe6)); return true;
    case OP_CVT_D_F: write_widened(s, in, EVEX(NP, M0F, 0, 0x5a)); return true;
    case OP_CVT_F_D: write_narrowed(s, in, EVEX(P66, M0F, 1, 0x5a), CANONICAL); return true;
    default: return false;
    }
}

/* --- slow operations that rows.c does in vectors --- */

static bool is_row(const Code *code, const Ins *in, EmuRow row) {
    return in->op == OP_SLOW && code->slow[in->x] == rows_avx512[row];
}

/* to += a * b, rounded as `how` says (1 down, 2 up, 3 towards 0). */
static void put_rounded(Writer *s, int to, int a, int b, int how) {
    const Vector v = {.broadcasts = true, .length = (uint8_t)how, .imm = -1};
    asm_evex(&s->b, FMA_PS, to, a, rm_reg(b), v);
}

static void write_side(Writer *s, const Ins *in) {
    const int how = in->imm == NUM_RM ? 1 : in->imm == NUM_RP ? 2 : 3;
    const Operand a = held(s, in->a, 2), b = held(s, in->b, 2), c = source(s, in->c, 2);
    const Operand d = held(s, in->d, 2);
    target(s, in->d, 2);
    for (int p = 0; p < 2; p++) {
        put(s, MOV, SCRATCH, 0, c.part[p]);
        put_rounded(s, SCRATCH, a.part[p].reg, b.part[p].reg, how);
        canonical(s, SCRATCH);
        keep_others(s, &d, p, SCRATCH, false);
    }
}

/* The low or high halves of 16 words, as floats. */
static void put_floats(Writer *s, int to, Rm from, bool high) {
    if (high) put_imm(s, SHIFT_D, 2, to, from, 16);
    else put(s, MOV, to, 0, from);
    put(s, EVEX(PF3, M0F38, 0, 0x33), to, 0, rm_reg(to)); /* vpmovdw */
    put(s, EVEX(P66, M0F38, 0, 0x13), to, 0, rm_reg(to)); /* vcvtph2ps */
}

/* f16_fma_sixteen of rows_num.h: rounded to odd, then to a half. In SCRATCH. */
static void put_half_fma(Writer *s, Rm a, Rm b, Rm c, bool high) {
    const int x = SCRATCH + 1, y = SCRATCH + 2, down = SCRATCH + 3, up = SCRATCH;
    Vector test = {.broadcasts = true, .length = BITS512, .imm = -1};
    put_floats(s, x, a, high);
    put_floats(s, y, b, high);
    put_floats(s, down, c, high);
    put(s, MOV, up, 0, rm_reg(down));
    put_rounded(s, down, x, y, 1);
    put_rounded(s, up, x, y, 2);
    asm_evex(&s->b, EVEX(P66, M0F38, 0, 0x27), 1, down, rm_at(RIP, POOL_ONE), test); /* vptestmd */
    put_masked(s, MOV, up, 0, rm_reg(down), 1);
    canonical(s, up);
    put_imm(s, EVEX(P66, M0F3A, 0, 0x1d), up, 0, rm_reg(up), 0); /* vcvtps2ph */
    put(s, EVEX(P66, M0F38, 0, 0x33), up, 0, rm_reg(up));        /* vpmovzxwd */
}

static void write_half_fma(Writer *s, const Ins *in) {
    const Operand a = source(s, in->a, 2), b = source(s, in->b, 2), c = source(s, in->c, 2);
    const Operand d = held(s, in->d, 2);
    target(s, in->d, 2);
    for (int p = 0; p < 2; p++) {
        put_half_fma(s, a.part[p], b.part[p], c.part[p], false);
        if (in->imm & HALF_TWO) {
            put(s, MOV, SCRATCH + 4, 0, rm_reg(SCRATCH));
            put_half_fma(s, a.part[p], b.part[p], c.part[p], true);
            put_imm(s, SHIFT_D, 6, SCRATCH, rm_reg(SCRATCH), 16);
            put(s, OR_D, SCRATCH, SCRATCH, rm_reg(SCRATCH + 4));
        }
        keep_others(s, &d, p, SCRATCH, false);
    }
}

/* A field of a: field_u32 of rows_int.h. Only the low 8 bits of both numbers count; shifts beyond
** the word give 0. */
static void write_field(Writer *s, const Ins *in) {
    const Operand a = held(s, in->a, 2), b = source(s, in->b, 2), c = source(s, in->c, 2);
    const Operand d = held(s, in->d, 2);
    const int bytes = SCRATCH + 1, n = SCRATCH + 2;
    target(s, in->d, 2);
    constant32(s, bytes, POOL_BYTE, 0);
    for (int p = 0; p < 2; p++) {
        put(s, AND_D, n, bytes, b.part[p]);
        put(s, EVEX(P66, M0F38, 0, 0x45), SCRATCH, a.part[p].reg, rm_reg(n)); /* vpsrlvd */
        put(s, AND_D, n, bytes, c.part[p]);
        put_imm(s, LOGIC, SCRATCH + 3, SCRATCH + 3, rm_reg(SCRATCH + 3), 0xff);
        put(s, EVEX(P66, M0F38, 0, 0x47), n, SCRATCH + 3, rm_reg(n)); /* vpsllvd */
        put(s, EVEX(P66, M0F, 0, 0xdf), SCRATCH, n, rm_reg(SCRATCH)); /* vpandnd */
        keep_others(s, &d, p, SCRATCH, false);
    }
}

static bool write_slow(Writer *s, const Ins *in) {
    const uint64_t other = HALF_SAT | HALF_RELU | HALF_FTZ;
    if (is_row(s->code, in, ROW_FMA_SIDE)) return write_side(s, in), true;
    if (is_row(s->code, in, ROW_BFE_U32)) return write_field(s, in), true;
    if (is_row(s->code, in, ROW_FMA_H) && (in->imm & other) == 0)
        return write_half_fma(s, in), true;
    return false;
}

/* --- all of them --- */

bool native_write(Writer *s, const Ins *in) {
    const Form *f = &forms[in->op];
    switch (f->kind) {
    case TWO:
    case ONE:
    case ONE_IMM: write_plain(s, in, f); return true;
    case FUSED: write_fused(s, in, f); return true;
    case TESTS: write_test(s, in, f); return true;
    default: return in->op == OP_SLOW ? write_slow(s, in) : write_other(s, in);
    }
}

#endif
