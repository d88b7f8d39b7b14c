/* evex.h - writes machine code of AVX-512 into a buffer: what native.c needs of it, and no more.
**
** An instruction is a row of the processor's manual: EVEX(prefix, map, W, opcode). Its operands are
** a register, a second one (vvvv) and a third, which may be memory: the names of Intel's manual.
** Displacements always have 32 bits. Reference: Intel 64 and IA-32 Architectures Software
** Developer's Manual, volume 2, sections 2.3 (VEX) and 2.7 (EVEX). */
#ifndef GILUA_EMU_EVEX_H
#define GILUA_EMU_EVEX_H

#include "base/base.h"

#include <string.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R12 = 12, R13, R14, R15, RIP };
enum { NP, P66, PF3, PF2 };         /* prefixes */
enum { M0F = 1, M0F38, M0F3A };     /* maps of opcodes */
enum { BITS128, BITS256, BITS512 }; /* lengths of vectors */

#define EVEX(prefix, map, w, opcode)                                                               \
    ((uint32_t)(prefix) | (uint32_t)(map) << 2 | (uint32_t)(w) << 5 | (uint32_t)(opcode) << 8)

typedef struct Rm { /* a register, or memory at [base + disp]; RIP: at that place of the buffer */
    int reg;        /* -1: memory */
    int base;
    int32_t disp;
} Rm;

static inline Rm rm_reg(int reg) {
    return (Rm){.reg = reg};
}
static inline Rm rm_at(int base, size_t disp) {
    return (Rm){.reg = -1, .base = base, .disp = (int32_t)disp};
}

/* What else an instruction says: its mask register, whether masked elements become 0, broadcast (of
** memory) or rounding, the vector's length or the rounding's direction; imm: -1: none. */
typedef struct Vector {
    uint8_t mask;
    bool zeroes, broadcasts;
    uint8_t length;
    int imm;
} Vector;

static const Vector PLAIN = {.length = BITS512, .imm = -1};

static inline void asm_byte(gi_buf *b, unsigned byte) {
    const char c = (char)byte;
    gi_buf_add(b, &c, 1);
}

static inline void asm_word(gi_buf *b, uint32_t word) {
    gi_buf_add(b, (const char *)&word, sizeof word);
}

/* n_imm: bytes of the instruction behind the operand. */
static inline void asm_rm(gi_buf *b, int reg, Rm rm, size_t n_imm) {
    const unsigned field = ((unsigned)reg & 7) << 3;
    if (rm.reg >= 0) {
        asm_byte(b, 0xc0 | field | ((unsigned)rm.reg & 7));
    } else if (rm.base == RIP) {
        asm_byte(b, field | 5);
        asm_word(b, (uint32_t)rm.disp - (uint32_t)(b->len + 4 + n_imm));
    } else {
        asm_byte(b, 0x80 | field | ((unsigned)rm.base & 7));
        if ((rm.base & 7) == RSP) asm_byte(b, 0x24);
        asm_word(b, (uint32_t)rm.disp);
    }
}

/* Is bit n of a register's number clear? The prefixes have these bits inverted. */
static inline unsigned asm_clear(int reg, int n) {
    return !(reg >> n & 1);
}

static inline void asm_evex(gi_buf *b, uint32_t op, int reg, int v, Rm rm, Vector how) {
    const int low = rm.reg >= 0 ? rm.reg : rm.base == RIP ? 0 : rm.base;
    const unsigned x = rm.reg >= 0 ? asm_clear(rm.reg, 4) : 1;
    asm_byte(b, 0x62);
    asm_byte(b, asm_clear(reg, 3) << 7 | x << 6 | asm_clear(low, 3) << 5 |
                    asm_clear(reg, 4) << 4 | (op >> 2 & 7));
    asm_byte(b, (op >> 5 & 1) << 7 | (~(unsigned)v & 15) << 3 | 4 | (op & 3));
    asm_byte(b, (unsigned)how.zeroes << 7 | (unsigned)how.length << 5 |
                    (unsigned)how.broadcasts << 4 | asm_clear(v, 4) << 3 | how.mask);
    asm_byte(b, op >> 8);
    asm_rm(b, reg, rm, how.imm >= 0);
    if (how.imm >= 0) asm_byte(b, (unsigned)how.imm);
}

/* An instruction of mask registers. */
static inline void asm_vex(gi_buf *b, uint32_t op, unsigned length, int reg, int v, Rm rm) {
    const int low = rm.reg >= 0 ? rm.reg : rm.base;
    asm_byte(b, 0xc4);
    asm_byte(b, asm_clear(reg, 3) << 7 | 1 << 6 | asm_clear(low, 3) << 5 | (op >> 2 & 7));
    asm_byte(b, (op >> 5 & 1) << 7 | (~(unsigned)v & 15) << 3 | length << 2 | (op & 3));
    asm_byte(b, op >> 8);
    asm_rm(b, reg, rm, 0);
}

/* One of general registers; an opcode above 255 begins with 0x0f. */
static inline void asm_general(gi_buf *b, bool wide, unsigned opcode, int reg, Rm rm) {
    const int low = rm.reg >= 0 ? rm.reg : rm.base;
    asm_byte(b, 0x40 | (unsigned)wide << 3 | ((unsigned)reg >> 3 & 1) << 2 |
                    ((unsigned)low >> 3 & 1));
    if (opcode > 255) asm_byte(b, opcode >> 8);
    asm_byte(b, opcode & 255);
    asm_rm(b, reg, rm, 0);
}

static inline void asm_constant(gi_buf *b, int reg, uint64_t value) {
    asm_byte(b, 0x48 | ((unsigned)reg >> 3 & 1));
    asm_byte(b, 0xb8 | ((unsigned)reg & 7));
    gi_buf_add(b, (const char *)&value, sizeof value);
}

/* Jumps, to be aimed later: where the distance lies. */
enum { IF_ZERO = 0x84, IF_NOT_ZERO = 0x85, IF_ABOVE = 0x87, IF_BELOW = 0x82, IF_NEGATIVE = 0x88 };

static inline size_t asm_jump_if(gi_buf *b, unsigned when) {
    asm_byte(b, 0x0f);
    asm_byte(b, when);
    asm_word(b, 0);
    return b->len - 4;
}

static inline size_t asm_jump(gi_buf *b) {
    asm_byte(b, 0xe9);
    asm_word(b, 0);
    return b->len - 4;
}

static inline void asm_aim(gi_buf *b, size_t jump, size_t at) {
    const uint32_t distance = (uint32_t)(at - (jump + 4));
    memcpy(b->data + jump, &distance, sizeof distance);
}

#endif
