/* native.c - see native.h. One pass over a run: each instruction is written as soon as it is met.
**
** Registers: 26 of the processor's 32 hold rows, two each (four for lanes of 64 bits); the others
** are for what one instruction needs. A row that was written is stored when its registers are
** wanted for another row, before a call, and at the run's end. A row that is only read is taken
** from memory by the instruction that reads it.
**
** A load of shared memory is written in line for the layouts that are common (exec_layout.h): one
** place, two places, neighbours 16 and 16, words of a window. The code looks at the layout; what it does not cover
** leaves the line: it stores all rows, calls the interpreter, loads them and comes back.
*/
#include "emu/exec/native.h"

#include "emu/decode/bounds.h"
#include "emu/decode/ops.h"
#include "emu/exec/evex.h"
#include "emu/exec/num.h"
#include "emu/exec/rows.h"

#include <stdlib.h>
#include <sys/mman.h>

#if defined(__x86_64__)

enum { HELD = 26, SCRATCH = HELD, MOST_ROWS = HELD / 2, LEAST_RUN = 3, MOST_COLD_JUMPS = 12 };

/* Constants at the beginning of the code. */
enum {
    POOL_NAN = 0,
    POOL_BIG = 4,
    POOL_QUIET = 8,
    POOL_INDEFINITE = 16,
    POOL_ONE = 24,
    POOL_BYTE = 28,
    POOL_LANES = 32,
    POOL_ENDS = 64
};

typedef struct Held { /* a row in registers */
    uint32_t at;      /* in the register file */
    uint8_t n;        /* registers */
    uint8_t reg[4];
    bool dirty;       /* not in memory yet */
    bool is_local;    /* nobody reads it behind its stretch of code: X_FREE */
    uint32_t used;    /* the instruction that used it last */
} Held;

typedef struct Rows {
    Held row[MOST_ROWS];
    int n;
    uint32_t free; /* a bit for each register */
} Rows;

typedef struct Cold { /* what a load does out of line */
    size_t jump[MOST_COLD_JUMPS], back;
    int n, ins;
    Rows rows; /* when the line left */
} Cold;

typedef struct Writer {
    gi_buf b;
    const Code *code;
    Rows rows;
    uint32_t now;
    int ins, end; /* the running instruction, and the run's end */
    bool frees;   /* a stretch of code ends with the run */
    Cold *cold;
    int n_cold, cap_cold;
    size_t *fault; /* jumps to the end after a fault */
    int n_fault, cap_fault;
} Writer;

typedef struct Operand { /* of an instruction: registers or memory for each part of a row */
    Rm part[4];
} Operand;

/* --- instructions --- */

#define MOV     EVEX(NP, M0F, 0, 0x28) /* vmovaps reg, rm */
#define STORE   EVEX(NP, M0F, 0, 0x29)
#define MOVU    EVEX(NP, M0F, 0, 0x10)
#define CAST32  EVEX(P66, M0F38, 0, 0x58) /* vpbroadcastd */
#define CAST64  EVEX(P66, M0F38, 1, 0x59)
#define CMP_PS  EVEX(NP, M0F, 0, 0xc2)
#define CMP_PD  EVEX(P66, M0F, 1, 0xc2)
#define CMP_D   EVEX(P66, M0F3A, 0, 0x1f)
#define CMP_UD  EVEX(P66, M0F3A, 0, 0x1e)
#define CMP_Q   EVEX(P66, M0F3A, 1, 0x1f)
#define CMP_UQ  EVEX(P66, M0F3A, 1, 0x1e)
#define XOR_D   EVEX(P66, M0F, 0, 0xef)
#define OR_D    EVEX(P66, M0F, 0, 0xeb)
#define OR_Q    EVEX(P66, M0F, 1, 0xeb)
#define AND_D   EVEX(P66, M0F, 0, 0xdb)
#define SUB_D   EVEX(P66, M0F, 0, 0xfa)
#define ADD_D   EVEX(P66, M0F, 0, 0xfe)
#define SUB_Q   EVEX(P66, M0F, 1, 0xfb)
#define ADD_Q   EVEX(P66, M0F, 1, 0xd4)
#define MULL_D  EVEX(P66, M0F38, 0, 0x40)
#define MULL_Q  EVEX(P66, M0F38, 1, 0x40)
#define MUL_UDQ EVEX(P66, M0F, 1, 0xf4)
#define MUL_DQ  EVEX(P66, M0F38, 1, 0x28)
#define LOGIC   EVEX(P66, M0F3A, 0, 0x25) /* vpternlogd */
#define SHIFT_D EVEX(P66, M0F, 0, 0x72)   /* by a number: /2 right, /4 right signed, /6 left */
#define SHIFT_Q EVEX(P66, M0F, 1, 0x73)
#define SRA_Q   EVEX(P66, M0F, 1, 0x72)
#define SLLV_Q  EVEX(P66, M0F38, 1, 0x47)
#define SRLV_Q  EVEX(P66, M0F38, 1, 0x45)
#define SRAV_Q  EVEX(P66, M0F38, 1, 0x46)
#define SX_DQ   EVEX(P66, M0F38, 0, 0x25)
#define ZX_DQ   EVEX(P66, M0F38, 0, 0x35)
#define CUT_QD  EVEX(PF3, M0F38, 0, 0x35)
#define UPPER   EVEX(P66, M0F3A, 1, 0x3b) /* vextracti64x4 */
#define JOIN_UP EVEX(P66, M0F3A, 1, 0x3a) /* vinserti64x4 */
#define BLEND_D EVEX(P66, M0F38, 0, 0x64)
#define BLEND_Q EVEX(P66, M0F38, 1, 0x64)
#define FMA_PS  EVEX(P66, M0F38, 0, 0xb8) /* vfmadd231ps */
#define FMA_PD  EVEX(P66, M0F38, 1, 0xb8)

static void put(Writer *s, uint32_t op, int reg, int v, Rm rm) {
    asm_evex(&s->b, op, reg, v, rm, PLAIN);
}

static void put_imm(Writer *s, uint32_t op, int reg, int v, Rm rm, int imm) {
    Vector how = PLAIN;
    how.imm = imm;
    asm_evex(&s->b, op, reg, v, rm, how);
}

static void put_masked(Writer *s, uint32_t op, int reg, int v, Rm rm, int mask) {
    Vector how = PLAIN;
    how.mask = (uint8_t)mask;
    asm_evex(&s->b, op, reg, v, rm, how);
}

/* Of 32 bytes of the operand. */
static void put_half(Writer *s, uint32_t op, int reg, Rm rm) {
    put(s, op, reg, 0, rm); /* the longer side says the length */
}

/* k = comparison of a and b. */
static void put_test(Writer *s, uint32_t op, int k, int a, Rm b, int how) {
    put_imm(s, op, k, a, b, how);
}

static void constant32(Writer *s, int reg, size_t at, int mask) {
    put_masked(s, CAST32, reg, 0, rm_at(RIP, at), mask);
}

static void constant64(Writer *s, int reg, size_t at, int mask) {
    put_masked(s, CAST64, reg, 0, rm_at(RIP, at), mask);
}

/* kmovw or kmovb of a mask in memory. */
static void load_mask(Writer *s, int k, int base, size_t at, bool byte) {
    asm_vex(&s->b, EVEX(byte ? P66 : NP, M0F, 0, 0x90), 0, k, 0, rm_at(base, at));
}

/* --- rows in registers --- */

static Rm home(uint32_t at, int part) {
    return rm_at(RBX, at + 64u * (unsigned)part);
}

/* What an instruction does with a row. */
typedef enum Effect { LEAVES, READS, WRITES } Effect;

static Effect use_by_memory(const MemForm *f, uint32_t at) {
    Effect use = LEAVES;
    if (f->base == at) return READS;
    for (int k = 0; k < f->count; k++)
        if (f->reg[k] == at && (f->is_store || !(f->unused >> k & 1)))
            use = f->is_store ? READS : WRITES;
    return use == WRITES && !f->is_free ? READS : use;
}

static Effect use_by_texture(const TexForm *f, uint32_t at) {
    Effect use = f->handle == at ? READS : LEAVES;
    for (int k = 0; k < 4; k++)
        if (f->coord[k] == at || (f->reg[k] == at && !f->is_free)) use = READS;
    for (int k = 0; k < 4 && use == LEAVES; k++)
        if (f->reg[k] == at && !(f->unused >> k & 1)) use = WRITES;
    return use;
}

static bool is_memory(const Ins *in) {
    return in->op == OP_LDST || in->op == OP_LOAD_SHARED;
}

/* Of an instruction that is not known well: it reads. */
static Effect use_of(const Code *code, const Ins *in, uint32_t at) {
    if (in->op == OP_TEX) return use_by_texture(&code->tex[in->imm], at);
    if (is_memory(in)) return use_by_memory(&code->mem[in->imm], at);
    if (in->op < OP_MOV32) return READS;
    if (in->a == at || in->b == at || in->c == at) return READS;
    if (in->d != at) return LEAVES;
    return in->x & X_FREE && in->op != OP_UNPACK && in->op != OP_LOP3 && in->op != OP_SELP64
               ? WRITES
               : READS;
}

/* Does nobody read a row from the running instruction on? */
static bool is_dead(const Writer *s, const Held *r) {
    enum { FAR = 100 }; /* instructions that are looked at */
    for (int i = s->ins; r->is_local && i < s->end; i++) {
        const Effect use = i > s->ins + FAR ? READS : use_of(s->code, &s->code->ins[i], r->at);
        if (use != LEAVES) return use == WRITES;
    }
    return r->is_local && s->frees;
}

static void row_store(Writer *s, Held *r) {
    const bool is_dirty = r->dirty && !is_dead(s, r);
    for (int p = 0; is_dirty && p < r->n; p++) put(s, STORE, r->reg[p], 0, home(r->at, p));
    r->dirty = false;
}

static void row_leave(Writer *s, int i) {
    Held *r = &s->rows.row[i];
    row_store(s, r);
    for (int p = 0; p < r->n; p++) s->rows.free |= 1u << r->reg[p];
    *r = s->rows.row[--s->rows.n];
}

static void rows_store(Writer *s) {
    for (int i = 0; i < s->rows.n; i++) row_store(s, &s->rows.row[i]);
}

static void rows_forget(Writer *s) {
    rows_store(s);
    s->rows.n = 0;
    s->rows.free = (1u << HELD) - 1;
}

/* The row at a place, after what overlaps it otherwise has left; NULL: it is in memory. */
static Held *row_find(Writer *s, uint32_t at, int n) {
    for (int i = 0; i < s->rows.n; i++) {
        Held *r = &s->rows.row[i];
        if (r->at == at && r->n == n) {
            r->used = s->now;
            return r;
        }
        if (r->at < at + 64u * (unsigned)n && at < r->at + 64u * r->n) row_leave(s, i--);
    }
    return NULL;
}

/* Registers for a row that has none; the row used longest ago leaves. */
static Held *row_new(Writer *s, uint32_t at, int n) {
    while (__builtin_popcount(s->rows.free) < n || s->rows.n == MOST_ROWS) {
        int oldest = 0;
        for (int i = 1; i < s->rows.n; i++)
            if (s->rows.row[i].used < s->rows.row[oldest].used) oldest = i;
        row_leave(s, oldest);
    }
    Held *r = &s->rows.row[s->rows.n++];
    *r = (Held){.at = at, .n = (uint8_t)n, .used = s->now};
    for (int p = 0; p < n; p++) {
        r->reg[p] = (uint8_t)__builtin_ctz(s->rows.free);
        s->rows.free &= s->rows.free - 1;
    }
    return r;
}

static Operand of_row(const Held *r) {
    Operand o;
    for (int p = 0; p < 4; p++) o.part[p] = rm_reg(r->reg[p]);
    return o;
}

/* A row to read, where it is. */
static Operand source(Writer *s, uint32_t at, int n) {
    const Held *r = row_find(s, at, n);
    Operand o;
    if (r) return of_row(r);
    for (int p = 0; p < 4; p++) o.part[p] = home(at, p);
    return o;
}

/* A row to read, in registers. */
static Operand held(Writer *s, uint32_t at, int n) {
    Held *r = row_find(s, at, n);
    if (r == NULL) {
        r = row_new(s, at, n);
        for (int p = 0; p < n; p++) put(s, MOV, r->reg[p], 0, home(at, p));
    }
    return of_row(r);
}

/* A row to write, all of it. */
static Operand target_of(Writer *s, uint32_t at, int n, bool is_local) {
    Held *r = row_find(s, at, n);
    if (r == NULL) r = row_new(s, at, n);
    r->dirty = true;
    r->is_local = is_local;
    return of_row(r);
}
static Operand target(Writer *s, uint32_t at, int n) {
    return target_of(s, at, n, s->code->ins[s->ins].x & X_FREE);
}

/* The part of an operand in a register: its own, or `scratch`. */
static int in_register(Writer *s, Rm rm, int scratch) {
    if (rm.reg >= 0) return rm.reg;
    put(s, MOV, scratch, 0, rm);
    return scratch;
}

/* 8 of the 16 words of a row that become lanes of 64 bits: part p of them. */
static Rm half_of(Writer *s, const Operand *o, int p, int scratch) {
    Rm whole = o->part[p / 2];
    if (whole.reg < 0) return rm_at(whole.base, (size_t)whole.disp + 32u * ((unsigned)p & 1));
    if (p % 2 == 0) return whole;
    put_imm(s, UPPER, whole.reg, 0, rm_reg(scratch), 1);
    return rm_reg(scratch);
}

/* Moves to a row what only the active lanes of it get; false lanes keep what they have. The row is
** in registers. */
static void keep_others(Writer *s, const Operand *d, int part, int from, bool wide) {
    const size_t at = offsetof(Warp, active) + (wide ? 1u : 2u) * (unsigned)part;
    load_mask(s, 3, R13, at, wide);
    put_masked(s, wide ? EVEX(P66, M0F, 1, 0x28) : MOV, d->part[part].reg, 0, rm_reg(from), 3);
}

/* --- NaN --- */

static void canonical(Writer *s, int reg) {
    put_test(s, CMP_PS, 1, reg, rm_reg(reg), 3);
    constant32(s, reg, POOL_NAN, 1);
}

/* pass_nan of exec_num.h: a result in `reg`, of operands in the order in which theirs counts. */
static void passed_nan(Writer *s, int reg, Rm first, Rm second, Rm third) {
    const int from = SCRATCH + 1, test = SCRATCH + 2, nan = SCRATCH + 3;
    const Rm in_order[] = {second, first};
    put_test(s, CMP_PD, 1, reg, rm_reg(reg), 3);
    asm_vex(&s->b, EVEX(P66, M0F, 0, 0x98), 0, 1, 0, rm_reg(1)); /* kortestb */
    const size_t none = asm_jump_if(&s->b, IF_ZERO);
    put(s, MOV, from, 0, third);
    for (int i = 0; i < 2; i++) {
        put(s, MOV, test, 0, in_order[i]);
        put_test(s, CMP_PD, 2, test, rm_reg(test), 3);
        put_masked(s, EVEX(P66, M0F, 1, 0x28), from, 0, rm_reg(test), 2);
    }
    put_test(s, CMP_PD, 2, from, rm_reg(from), 3);
    constant64(s, test, POOL_QUIET, 0);
    constant64(s, nan, POOL_INDEFINITE, 0);
    put_masked(s, OR_Q, nan, from, rm_reg(test), 2);
    put_masked(s, EVEX(P66, M0F, 1, 0x28), reg, 0, rm_reg(nan), 1);
    asm_aim(&s->b, none, s->b.len);
}

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

static int parts(bool wide) {
    return wide ? 4 : 2;
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

static bool write_slow(Writer *s, const Ins *in);

static bool write_arithmetic(Writer *s, const Ins *in) {
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

/* --- calls --- */

static SlowFn called(const Code *code, const Ins *in) {
    return in->op == OP_SLOW          ? code->slow[in->x]
           : in->op == OP_LDST        ? native_memory
           : in->op == OP_LOAD_SHARED ? native_shared
           : in->op == OP_TEX         ? native_texture
                                      : native_other;
}

/* The interpreter runs one instruction; all rows are in memory. */
static void write_call(Writer *s, int ins) {
    const Ins *in = &s->code->ins[ins];
    gi_buf *b = &s->b;
    asm_general(b, true, 0x8b, RDI, rm_reg(R12));
    asm_general(b, true, 0x8b, RSI, rm_reg(R13));
    asm_constant(b, RDX, (uint64_t)(uintptr_t)in);
    asm_general(b, true, 0x89, RDX, rm_at(R13, offsetof(Warp, at)));
    asm_byte(b, 0xc5), asm_byte(b, 0xf8), asm_byte(b, 0x77); /* vzeroupper */
    asm_constant(b, RAX, (uint64_t)(uintptr_t)called(s->code, in));
    asm_byte(b, 0xff), asm_byte(b, 0xd0); /* call rax */
    asm_byte(b, 0x84), asm_byte(b, 0xc0); /* test al, al */
    const size_t jump = asm_jump_if(b, IF_ZERO);
    if (s->n_fault == s->cap_fault) {
        s->cap_fault = s->cap_fault * 2 + 16;
        s->fault = gi_realloc(s->fault, (size_t)s->cap_fault * sizeof *s->fault);
    }
    s->fault[s->n_fault++] = jump;
}

/* --- loads of shared memory --- */

static void leave_if(Writer *s, Cold *c, unsigned when) {
    c->jump[c->n++] = asm_jump_if(&s->b, when);
}

/* cmp of memory with a number of 8 bits that is extended. bytes: 1, 2 or 4. */
static void compare_memory(Writer *s, Rm rm, int bytes, int value) {
    if (bytes == 2) asm_byte(&s->b, 0x66);
    asm_byte(&s->b, 0x40 | ((unsigned)rm.base >> 3 & 1));
    asm_byte(&s->b, bytes == 1 ? 0x80 : 0x83);
    asm_rm(&s->b, 7, rm, 1);
    asm_byte(&s->b, (unsigned)value);
}

#define LAYOUT(field) rm_at(RDX, offsetof(Layout, field))

/* Leaves unless the layout holds of the base's lanes. Then rax is the first one's base. */
static void write_look(Writer *s, Cold *c, const MemForm *f) {
    const int n = parts(f->wide_base), first = SCRATCH, apart = SCRATCH + 1;
    const Operand base = source(s, f->base, n);
    gi_buf *b = &s->b;
    asm_general(b, true, 0x8d, RDX, rm_at(R14, f->layout * sizeof(Layout)));
    compare_memory(s, LAYOUT(active), 4, -1);
    leave_if(s, c, IF_NOT_ZERO);
    compare_memory(s, LAYOUT(wait), 2, 0);
    leave_if(s, c, IF_NOT_ZERO);
    compare_memory(s, LAYOUT(served), 2, LAYOUT_PAYS);
    leave_if(s, c, IF_BELOW);
    if (f->same_layout) {
        compare_memory(s, LAYOUT(known), 1, 1);
        leave_if(s, c, IF_NOT_ZERO);
    } else {
        put(s, f->wide_base ? CAST64 : CAST32, first, 0, base.part[0]);
        for (int p = 0; p < n; p++) {
            const int x = in_register(s, base.part[p], apart);
            const size_t at = offsetof(Layout, apart) + 128u / (unsigned)n * (unsigned)p;
            put(s, f->wide_base ? SUB_Q : SUB_D, apart, x, rm_reg(first));
            if (f->wide_base) put_half(s, SX_DQ, apart + 1, rm_at(RDX, at));
            put_test(s, f->wide_base ? CMP_Q : CMP_D, 1 + p, apart,
                     f->wide_base ? rm_reg(apart + 1) : rm_at(RDX, at), 4);
        }
        const uint32_t join = EVEX(f->wide_base ? P66 : NP, M0F, 0, 0x45); /* kor */
        for (int p = 1; p < n; p++) asm_vex(b, join, 1, 1, 1, rm_reg(1 + p));
        asm_vex(b, EVEX(NP, M0F, 0, 0x98), 0, 1, 0, rm_reg(1)); /* kortestw */
        leave_if(s, c, IF_NOT_ZERO);
    }
    if (base.part[0].reg < 0) {
        asm_general(b, f->wide_base, 0x8b, RAX, base.part[0]);
    } else { /* vmovd, vmovq */
        Vector how = {.length = BITS128, .imm = -1};
        asm_evex(b, EVEX(P66, M0F, f->wide_base, 0x7e), base.part[0].reg, 0, rm_reg(RAX), how);
    }
}

/* rax, a base: becomes a pointer to the first lane's place, inside and aligned for all; or leaves.
** Warp.base is set on the way. */
static void write_bounds(Writer *s, Cold *c, const MemForm *f) {
    gi_buf *b = &s->b;
    asm_general(b, true, 0x8b, RSI, rm_reg(RAX));
    asm_general(b, f->wide_base, 0x8d, RAX, rm_at(RAX, (size_t)f->offset));
    asm_general(b, false, 0x8b, RCX, LAYOUT(bits));
    asm_general(b, false, 0x0b, RCX, rm_reg(RAX));
    asm_byte(b, 0xf6), asm_byte(b, 0xc1), asm_byte(b, f->bytes - 1u); /* test cl, bytes - 1 */
    leave_if(s, c, IF_NOT_ZERO);
    asm_general(b, false, 0x8b, RDI, rm_at(R12, offsetof(Machine, shared_bytes)));
    asm_general(b, true, 0x3b, RAX, rm_reg(RDI));
    leave_if(s, c, IF_ABOVE);
    asm_general(b, true, 0x63, RCX, LAYOUT(low));
    asm_general(b, true, 0x03, RCX, rm_reg(RAX));
    leave_if(s, c, IF_NEGATIVE);
    asm_general(b, true, 0x63, RCX, LAYOUT(high));
    asm_general(b, true, 0x03, RCX, rm_reg(RAX));
    asm_general(b, true, 0x8d, RCX, rm_at(RCX, f->bytes));
    asm_general(b, true, 0x3b, RCX, rm_reg(RDI));
    leave_if(s, c, IF_ABOVE);
    asm_general(b, true, 0x03, RAX, rm_at(R12, offsetof(Machine, shared)));
}

/* All lanes have the words at rax. */
static void write_one_place(Writer *s, const MemForm *f, const Operand *d) {
    for (int k = 0; k < f->count; k++) {
        if (f->unused >> k & 1) continue;
        put(s, CAST32, d[k].part[0].reg, 0, rm_at(RAX, 4u * (unsigned)k));
        put(s, MOV, d[k].part[1].reg, 0, d[k].part[0]);
    }
}

/* Counts the layout's bank conflicts. */
static void write_banks(Writer *s) {
    gi_buf *b = &s->b;
    const Vector scalar = {.length = BITS128, .imm = -1};
    const Rm extra = rm_at(R12, offsetof(Machine, cost.extra) + PIPE_SHARED * sizeof(double));
    asm_general(b, false, 0x8b, RCX, LAYOUT(banks.extra));
    asm_general(b, false, 0x85, RCX, rm_reg(RCX));
    const size_t none = asm_jump_if(b, IF_ZERO);
    put(s, XOR_D, SCRATCH, SCRATCH, rm_reg(SCRATCH));
    asm_evex(b, EVEX(PF2, M0F, 0, 0x2a), SCRATCH, SCRATCH, rm_reg(RCX), scalar); /* vcvtsi2sd */
    asm_evex(b, EVEX(PF2, M0F, 1, 0x58), SCRATCH, SCRATCH, extra, scalar);
    asm_evex(b, EVEX(PF2, M0F, 1, 0x11), SCRATCH, 0, extra, scalar);
    asm_general(b, false, 0x8b, RCX, LAYOUT(banks.conflicts));
    asm_general(b, true, 0x8b, RDI, rm_at(R12, offsetof(Machine, result)));
    asm_general(b, true, 0x01, RCX, rm_at(RDI, offsetof(EmuResult, shared_conflicts)));
    asm_aim(b, none, b->len);
}

/* Where the load before it had the same base in all lanes: a uniform load without a look at the
** lanes. Goes on behind it where that was not so; *done: to be aimed behind the load. */
static void write_same_base(Writer *s, const MemForm *f, const Operand *d, size_t *done) {
    gi_buf *b = &s->b;
    size_t no[3];
    asm_byte(b, 0x41), asm_byte(b, 0x80); /* cmp byte */
    asm_rm(b, 7, rm_at(R13, offsetof(Warp, one_base)), 1);
    asm_byte(b, 1);
    no[0] = asm_jump_if(b, IF_NOT_ZERO);
    asm_general(b, true, 0x8b, RAX, rm_at(R13, offsetof(Warp, base)));
    asm_general(b, f->wide_base, 0x8d, RAX, rm_at(RAX, (size_t)f->offset));
    asm_byte(b, 0xa8), asm_byte(b, f->bytes - 1u); /* test al, bytes - 1 */
    no[1] = asm_jump_if(b, IF_NOT_ZERO);
    asm_general(b, false, 0x8b, RDI, rm_at(R12, offsetof(Machine, shared_bytes)));
    asm_general(b, true, 0x8d, RCX, rm_at(RAX, f->bytes));
    asm_general(b, true, 0x3b, RCX, rm_reg(RDI));
    no[2] = asm_jump_if(b, IF_ABOVE);
    asm_general(b, true, 0x03, RAX, rm_at(R12, offsetof(Machine, shared)));
    write_one_place(s, f, d);
    asm_byte(b, 0x41), asm_byte(b, 0xc6); /* the layout is compared by nobody */
    asm_rm(b, 0, rm_at(R14, f->layout * sizeof(Layout) + offsetof(Layout, known)), 1);
    asm_byte(b, 0);
    *done = asm_jump(b);
    for (int i = 0; i < 3; i++) asm_aim(b, no[i], b->len);
}

/* Sets Warp.one_base. */
static void write_one_base(Writer *s, bool is_one) {
    asm_byte(&s->b, 0x41), asm_byte(&s->b, 0xc6);
    asm_rm(&s->b, 0, rm_at(R13, offsetof(Warp, one_base)), 1);
    asm_byte(&s->b, is_one);
}

/* 16 words of a window at rcx: the n-th 16, into a register. */
static void put_window(Writer *s, int n, int to) {
    Vector how = PLAIN;
    how.mask = 1;
    how.zeroes = true;
    load_mask(s, 1, RDX, offsetof(Layout, window) + 2u * (unsigned)n, false);
    asm_evex(&s->b, MOVU, to, 0, rm_at(RCX, 64u * (unsigned)n), how);
}

/* d = what its indices choose of two registers. */
static void put_chosen(Writer *s, int d, int part, int from) {
    put(s, MOV, d, 0, rm_at(RDX, offsetof(Layout, word) + 64u * (unsigned)part));
    put(s, EVEX(P66, M0F38, 0, 0x76), d, from, rm_reg(from + 1)); /* vpermi2d */
}

/* A word a lane out of at most 64 that follow each other: load_window of exec_layout.h. */
static void write_window(Writer *s, const Operand *d) {
    gi_buf *b = &s->b;
    const int low = SCRATCH, high = SCRATCH + 2, chosen = SCRATCH + 4;
    Vector test = {.broadcasts = true, .length = BITS512, .imm = -1};
    asm_general(b, true, 0x63, RCX, LAYOUT(low));
    asm_general(b, true, 0x03, RCX, rm_reg(RAX));
    for (int n = 0; n < 2; n++) put_window(s, n, low + n);
    for (int p = 0; p < 2; p++) put_chosen(s, d->part[p].reg, p, low);
    compare_memory(s, LAYOUT(window[2]), 2, 0);
    const size_t small = asm_jump_if(b, IF_ZERO);
    for (int n = 0; n < 2; n++) put_window(s, 2 + n, high + n);
    for (int p = 0; p < 2; p++) {
        put_chosen(s, chosen, p, high);
        put(s, MOV, low, 0, rm_at(RDX, offsetof(Layout, word) + 64u * (unsigned)p));
        asm_evex(b, EVEX(P66, M0F38, 0, 0x27), 1, low, rm_at(RIP, POOL_LANES), test);
        put_masked(s, MOV, d->part[p].reg, 0, rm_reg(chosen), 1);
    }
    asm_aim(b, small, b->len);
}

/* The words at rax of lanes that lie like this. */
static void write_words(Writer *s, Cold *c, const MemForm *f, const Operand *d) {
    gi_buf *b = &s->b;
    size_t done[3];
    compare_memory(s, LAYOUT(pattern), 1, 0); /* LANES_UNIFORM */
    const size_t several = asm_jump_if(b, IF_NOT_ZERO);
    write_one_place(s, f, d);
    write_one_base(s, true);
    done[0] = asm_jump(b);
    asm_aim(b, several, b->len);
    compare_memory(s, LAYOUT(n_few), 1, 2);
    const size_t not_two = asm_jump_if(b, IF_NOT_ZERO);
    asm_general(b, true, 0x63, RCX, LAYOUT(few_at[1]));
    asm_general(b, true, 0x03, RCX, rm_reg(RAX));
    load_mask(s, 1, RDX, offsetof(Layout, few_lanes[1]), false);
    load_mask(s, 2, RDX, offsetof(Layout, few_lanes[1]) + 2, false);
    for (int k = 0; k < f->count; k++) {
        if (f->unused >> k & 1) continue;
        put(s, CAST32, d[k].part[0].reg, 0, rm_at(RAX, 4u * (unsigned)k));
        put(s, MOV, d[k].part[1].reg, 0, d[k].part[0]);
        for (int p = 0; p < 2; p++)
            put_masked(s, CAST32, d[k].part[p].reg, 0, rm_at(RCX, 4u * (unsigned)k), 1 + p);
    }
    write_one_base(s, false);
    done[1] = asm_jump(b);
    asm_aim(b, not_two, b->len);
    if (f->count == 1) {
        compare_memory(s, LAYOUT(how), 1, LAYOUT_HALVES);
        const size_t no_halves = asm_jump_if(b, IF_NOT_ZERO);
        asm_general(b, true, 0x63, RCX, LAYOUT(apart[16]));
        asm_general(b, true, 0x03, RCX, rm_reg(RAX));
        put(s, MOVU, d->part[0].reg, 0, rm_at(RAX, 0));
        put(s, MOVU, d->part[1].reg, 0, rm_at(RCX, 0));
        done[2] = asm_jump(b);
        asm_aim(b, no_halves, b->len);
        compare_memory(s, LAYOUT(how), 1, LAYOUT_WINDOW);
        leave_if(s, c, IF_NOT_ZERO);
        write_window(s, d);
        asm_aim(b, done[2], b->len);
        write_one_base(s, false);
    } else {
        c->jump[c->n++] = asm_jump(b);
    }
    for (int i = 0; i < 2; i++) asm_aim(b, done[i], b->len);
}

static bool is_load_in_line(const Ins *in, const MemForm *f) {
    return is_memory(in) && f->bound == BOUND_SHARED &&
           !f->is_store && f->layout && f->size == 4 && f->bits[0] == 32 && f->count <= 4 &&
           f->offset >= 0 && f->offset < INT32_MAX;
}

static void write_load(Writer *s, int ins, const MemForm *f) {
    Operand d[4];
    if (s->n_cold == s->cap_cold) {
        s->cap_cold = s->cap_cold * 2 + 16;
        s->cold = gi_realloc(s->cold, (size_t)s->cap_cold * sizeof *s->cold);
    }
    Cold *c = &s->cold[s->n_cold++];
    c->n = 0;
    c->ins = ins;
    row_find(s, f->base, parts(f->wide_base));
    for (int k = 0; k < f->count; k++) { /* what they hold does not matter: not loaded */
        if (f->unused >> k & 1) continue;
        const Held *r = row_find(s, f->reg[k], 2);
        d[k] = of_row(r ? r : row_new(s, f->reg[k], 2));
    }
    c->rows = s->rows;
    size_t done = 0;
    if (f->same_base) write_same_base(s, f, d, &done);
    write_look(s, c, f);
    write_bounds(s, c, f);
    write_words(s, c, f, d);
    asm_byte(&s->b, 0xc6); /* known = true */
    asm_rm(&s->b, 0, LAYOUT(known), 1);
    asm_byte(&s->b, 1);
    asm_general(&s->b, true, 0x89, RSI, rm_at(R13, offsetof(Warp, base)));
    write_banks(s);
    if (done) asm_aim(&s->b, done, s->b.len);
    for (int k = 0; k < f->count; k++)
        if (!(f->unused >> k & 1)) target_of(s, f->reg[k], 2, f->is_free);
    c->back = s->b.len;
}

static void write_cold(Writer *s, const Cold *c) {
    const Rows rows = s->rows;
    for (int i = 0; i < c->n; i++) asm_aim(&s->b, c->jump[i], s->b.len);
    s->rows = c->rows;
    s->ins = c->ins;
    rows_store(s);
    write_call(s, c->ins);
    for (int i = 0; i < s->rows.n; i++) {
        const Held *r = &s->rows.row[i];
        for (int p = 0; p < r->n; p++) put(s, MOV, r->reg[p], 0, home(r->at, p));
    }
    asm_aim(&s->b, asm_jump(&s->b), c->back);
    s->rows = rows;
}

/* --- runs --- */

/* Does it end a run: what may change the path, the frame or the mask? */
static bool is_control(const Ins *in) {
    return in->op <= OP_ASK;
}

/* Does a stretch of code end there, in which locals live (registers.c), and reads no row itself? A
** branch within a block is that of a guarded instruction. */
static bool ends_stretch(const Ins *in) {
    switch (in->op) {
    case OP_BRA:
    case OP_BRA_IF: return in[1].op == OP_BLOCK;
    case OP_BLOCK:
    case OP_RET:
    case OP_EXIT: return true;
    default: return false;
    }
}

typedef struct Mix { /* of a run: instructions that are written, and that are called */
    int written, called;
} Mix;

static void write_one(Writer *s, int ins, Mix *mix) {
    const Ins *in = &s->code->ins[ins];
    const MemForm *f = is_memory(in) ? &s->code->mem[in->imm] : NULL;
    s->now++;
    s->ins = ins;
    if (f && is_load_in_line(in, f)) {
        write_load(s, ins, f);
        mix->written++;
    } else if (write_arithmetic(s, in)) {
        mix->written++;
    } else {
        rows_forget(s);
        write_call(s, ins);
        mix->called++;
    }
}

/* Before a run: registers that calls keep. */
static void write_begin(gi_buf *b) {
    static const uint8_t push[] = {0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
    gi_buf_add(b, (const char *)push, sizeof push);
    asm_general(b, true, 0x8b, R12, rm_reg(RDI));
    asm_general(b, true, 0x8b, R13, rm_reg(RSI));
    asm_general(b, true, 0x8b, RBX, rm_reg(RDX));
    asm_general(b, true, 0x8b, R14, rm_at(RDI, offsetof(Machine, layouts)));
}

/* Behind it, with its answer. */
static void write_end(gi_buf *b, bool is_well) {
    static const uint8_t pop[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0xc3};
    asm_byte(b, 0xb8); /* mov eax, answer */
    asm_word(b, is_well);
    asm_byte(b, 0xc5), asm_byte(b, 0xf8), asm_byte(b, 0x77); /* vzeroupper */
    gi_buf_add(b, (const char *)pop, sizeof pop);
}

/* Is it faster than interpreting? Entering a run takes as long as a few instructions. */
static bool pays(Mix mix) {
    return mix.written >= LEAST_RUN && mix.written >= mix.called;
}

/* The run that begins at an instruction: its place in the code, 0: none. */
static size_t write_run(Writer *s, int from, int *n) {
    const Code *code = s->code;
    const size_t begin = s->b.len;
    Mix mix = {0, 0};
    int ins = from;
    s->rows.n = s->n_cold = s->n_fault = 0;
    s->rows.free = (1u << HELD) - 1;
    write_begin(&s->b);
    for (s->end = from; s->end < code->n_ins && !is_control(&code->ins[s->end]);) s->end++;
    s->frees = ends_stretch(&code->ins[s->end]);
    for (; ins < s->end; ins++) write_one(s, ins, &mix);
    *n = ins - from;
    if (!pays(mix)) {
        s->b.len = begin;
        return 0;
    }
    s->ins = s->end;
    rows_store(s);
    write_end(&s->b, true);
    for (int i = 0; i < s->n_cold; i++) write_cold(s, &s->cold[i]);
    for (int i = 0; i < s->n_fault; i++) asm_aim(&s->b, s->fault[i], s->b.len);
    if (s->n_fault) write_end(&s->b, false);
    return begin;
}

/* Where a run may begin: behind what ends one. */
static void write_function(Writer *s, Code *code) {
    code->native = gi_alloc(((size_t)code->n_ins + 1) * sizeof *code->native);
    s->code = code;
    for (int i = 0; i < code->n_ins; i++) {
        if (!is_control(&code->ins[i]) || i + 1 == code->n_ins) continue;
        code->native[i + 1].at = write_run(s, i + 1, &code->native[i + 1].n);
    }
}

/* The code as memory that can be executed, and no longer written; NULL: there is none. */
static uint8_t *executable(const gi_buf *b) {
    void *at = mmap(NULL, b->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    memcpy(at, b->data, b->len);
    if (mprotect(at, b->len, PROT_READ | PROT_EXEC) == 0) return at;
    munmap(at, b->len);
    return NULL;
}

static void write_pool(gi_buf *b) {
    const uint32_t nan = 0x7fffffff, big = 0x4f000000, one = 1, byte = 255, lanes = 32;
    const uint64_t quiet = 0x0008000000000000u, indefinite = 0xfff8000000000000u;
    uint8_t pool[POOL_ENDS] = {0};
    memcpy(pool + POOL_NAN, &nan, sizeof nan);
    memcpy(pool + POOL_BIG, &big, sizeof big);
    memcpy(pool + POOL_ONE, &one, sizeof one);
    memcpy(pool + POOL_BYTE, &byte, sizeof byte);
    memcpy(pool + POOL_LANES, &lanes, sizeof lanes);
    memcpy(pool + POOL_QUIET, &quiet, sizeof quiet);
    memcpy(pool + POOL_INDEFINITE, &indefinite, sizeof indefinite);
    gi_buf_add(b, (const char *)pool, sizeof pool);
}

void native_compile(EmuModule *mod) {
    Writer s = {0};
    if (mod->compiled) return;
    mod->compiled = true;
    write_pool(&s.b);
    for (int i = 0; i < mod->n_code; i++)
        if (mod->code[i].ins && mod->code[i].refused == NULL) write_function(&s, &mod->code[i]);
    mod->native = executable(&s.b);
    mod->native_bytes = s.b.len;
    for (int i = 0; i < mod->n_code; i++) {
        Code *code = &mod->code[i];
        for (int k = 0; code->native && k < code->n_ins; k++) {
            NativeRun *run = &code->native[k];
            const uint8_t *at = mod->native && run->at ? mod->native + run->at : NULL;
            memcpy(&run->fn, &at, sizeof at);
        }
    }
    gi_buf_free(&s.b);
    free(s.cold);
    free(s.fault);
}

void native_free(EmuModule *mod) {
    for (int i = 0; i < mod->n_code; i++) free(mod->code[i].native);
    if (mod->native) munmap(mod->native, mod->native_bytes);
}

#else
void native_compile(EmuModule *mod) {
    mod->compiled = true;
}
void native_free(EmuModule *mod) {
    (void)mod;
}
#endif
