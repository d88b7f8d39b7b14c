/* native_rows.h - the compiler's rows: which of them are in registers of the processor, and the
** instructions that move them. For native.c and native_ops.c; native.c has the model. */
#ifndef GILUA_EMU_NATIVE_ROWS_H
#define GILUA_EMU_NATIVE_ROWS_H

#include "emu/decode/ops.h"
#include "emu/exec/evex.h"
#include "emu/exec/native.h"

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

static inline void put(Writer *s, uint32_t op, int reg, int v, Rm rm) {
    asm_evex(&s->b, op, reg, v, rm, PLAIN);
}

static inline void put_imm(Writer *s, uint32_t op, int reg, int v, Rm rm, int imm) {
    Vector how = PLAIN;
    how.imm = imm;
    asm_evex(&s->b, op, reg, v, rm, how);
}

static inline void put_masked(Writer *s, uint32_t op, int reg, int v, Rm rm, int mask) {
    Vector how = PLAIN;
    how.mask = (uint8_t)mask;
    asm_evex(&s->b, op, reg, v, rm, how);
}

/* Of 32 bytes of the operand. */
static inline void put_half(Writer *s, uint32_t op, int reg, Rm rm) {
    put(s, op, reg, 0, rm); /* the longer side says the length */
}

/* k = comparison of a and b. */
static inline void put_test(Writer *s, uint32_t op, int k, int a, Rm b, int how) {
    put_imm(s, op, k, a, b, how);
}

static inline void constant32(Writer *s, int reg, size_t at, int mask) {
    put_masked(s, CAST32, reg, 0, rm_at(RIP, at), mask);
}

static inline void constant64(Writer *s, int reg, size_t at, int mask) {
    put_masked(s, CAST64, reg, 0, rm_at(RIP, at), mask);
}

/* kmovw or kmovb of a mask in memory. */
static inline void load_mask(Writer *s, int k, int base, size_t at, bool byte) {
    asm_vex(&s->b, EVEX(byte ? P66 : NP, M0F, 0, 0x90), 0, k, 0, rm_at(base, at));
}

/* --- rows in registers --- */

/* Registers of a row. */
static inline int parts(bool wide) {
    return wide ? 4 : 2;
}

static inline Rm home(uint32_t at, int part) {
    return rm_at(RBX, at + 64u * (unsigned)part);
}

/* What an instruction does with a row. */
typedef enum Effect { LEAVES, READS, WRITES } Effect;

static inline Effect use_by_memory(const MemForm *f, uint32_t at) {
    Effect use = LEAVES;
    if (f->base == at) return READS;
    for (int k = 0; k < f->count; k++)
        if (f->reg[k] == at && (f->is_store || !(f->unused >> k & 1)))
            use = f->is_store ? READS : WRITES;
    return use == WRITES && !f->is_free ? READS : use;
}

static inline Effect use_by_texture(const TexForm *f, uint32_t at) {
    Effect use = f->handle == at ? READS : LEAVES;
    for (int k = 0; k < 4; k++)
        if (f->coord[k] == at || (f->reg[k] == at && !f->is_free)) use = READS;
    for (int k = 0; k < 4 && use == LEAVES; k++)
        if (f->reg[k] == at && !(f->unused >> k & 1)) use = WRITES;
    return use;
}

static inline bool is_memory(const Ins *in) {
    return in->op == OP_LDST || in->op == OP_LOAD_SHARED;
}

/* Of an instruction that is not known well: it reads. */
static inline Effect use_of(const Code *code, const Ins *in, uint32_t at) {
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
static inline bool is_dead(const Writer *s, const Held *r) {
    enum { FAR = 100 }; /* instructions that are looked at */
    for (int i = s->ins; r->is_local && i < s->end; i++) {
        const Effect use = i > s->ins + FAR ? READS : use_of(s->code, &s->code->ins[i], r->at);
        if (use != LEAVES) return use == WRITES;
    }
    return r->is_local && s->frees;
}

static inline void row_store(Writer *s, Held *r) {
    const bool is_dirty = r->dirty && !is_dead(s, r);
    for (int p = 0; is_dirty && p < r->n; p++) put(s, STORE, r->reg[p], 0, home(r->at, p));
    r->dirty = false;
}

static inline void row_leave(Writer *s, int i) {
    Held *r = &s->rows.row[i];
    row_store(s, r);
    for (int p = 0; p < r->n; p++) s->rows.free |= 1u << r->reg[p];
    *r = s->rows.row[--s->rows.n];
}

static inline void rows_store(Writer *s) {
    for (int i = 0; i < s->rows.n; i++) row_store(s, &s->rows.row[i]);
}

static inline void rows_forget(Writer *s) {
    rows_store(s);
    s->rows.n = 0;
    s->rows.free = (1u << HELD) - 1;
}

/* The row at a place, after what overlaps it otherwise has left; NULL: it is in memory. */
static inline Held *row_find(Writer *s, uint32_t at, int n) {
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
static inline Held *row_new(Writer *s, uint32_t at, int n) {
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

static inline Operand of_row(const Held *r) {
    Operand o;
    for (int p = 0; p < 4; p++) o.part[p] = rm_reg(r->reg[p]);
    return o;
}

/* A row to read, where it is. */
static inline Operand source(Writer *s, uint32_t at, int n) {
    const Held *r = row_find(s, at, n);
    Operand o;
    if (r) return of_row(r);
    for (int p = 0; p < 4; p++) o.part[p] = home(at, p);
    return o;
}

/* A row to read, in registers. */
static inline Operand held(Writer *s, uint32_t at, int n) {
    Held *r = row_find(s, at, n);
    if (r == NULL) {
        r = row_new(s, at, n);
        for (int p = 0; p < n; p++) put(s, MOV, r->reg[p], 0, home(at, p));
    }
    return of_row(r);
}

/* A row to write, all of it. */
static inline Operand target_of(Writer *s, uint32_t at, int n, bool is_local) {
    Held *r = row_find(s, at, n);
    if (r == NULL) r = row_new(s, at, n);
    r->dirty = true;
    r->is_local = is_local;
    return of_row(r);
}
static inline Operand target(Writer *s, uint32_t at, int n) {
    return target_of(s, at, n, s->code->ins[s->ins].x & X_FREE);
}

/* The part of an operand in a register: its own, or `scratch`. */
static inline int in_register(Writer *s, Rm rm, int scratch) {
    if (rm.reg >= 0) return rm.reg;
    put(s, MOV, scratch, 0, rm);
    return scratch;
}

/* 8 of the 16 words of a row that become lanes of 64 bits: part p of them. */
static inline Rm half_of(Writer *s, const Operand *o, int p, int scratch) {
    Rm whole = o->part[p / 2];
    if (whole.reg < 0) return rm_at(whole.base, (size_t)whole.disp + 32u * ((unsigned)p & 1));
    if (p % 2 == 0) return whole;
    put_imm(s, UPPER, whole.reg, 0, rm_reg(scratch), 1);
    return rm_reg(scratch);
}

/* Moves to a row what only the active lanes of it get; false lanes keep what they have. The row is
** in registers. */
static inline void keep_others(Writer *s, const Operand *d, int part, int from, bool wide) {
    const size_t at = offsetof(Warp, active) + (wide ? 1u : 2u) * (unsigned)part;
    load_mask(s, 3, R13, at, wide);
    put_masked(s, wide ? EVEX(P66, M0F, 1, 0x28) : MOV, d->part[part].reg, 0, rm_reg(from), 3);
}

/* --- NaN --- */

static inline void canonical(Writer *s, int reg) {
    put_test(s, CMP_PS, 1, reg, rm_reg(reg), 3);
    constant32(s, reg, POOL_NAN, 1);
}

/* pass_nan of exec_num.h: a result in `reg`, of operands in the order in which theirs counts. */
static inline void passed_nan(Writer *s, int reg, Rm first, Rm second, Rm third) {
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

/* native_ops.c: writes an instruction; false: not known there. */
bool native_write(Writer *s, const Ins *in);

#endif
