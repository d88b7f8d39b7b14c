/* used.c - see used.h. The encodings are those of Intel's manual, volume 2, of what compilers put
** behind a call: moves, arithmetic, jumps, the end of a function. */
#include "runtime/used.h"

#include <string.h>

enum { EAX = 0, MOST_INSTRUCTIONS = 40 };

typedef struct Insn {
    const uint8_t *at, *end;
    unsigned rex;
    unsigned op;                /* the opcode; 0x0f00 and more: of two bytes */
    unsigned mod, reg, rm;      /* of its operands, with the bits of rex */
    bool memory, reads_address; /* an operand in memory; by way of eax */
    bool half;                  /* numbers are of 16 bits */
} Insn;

static unsigned byte(Insn *i) {
    return i->at < i->end ? *i->at++ : 0;
}

static void skip(Insn *i, size_t n) {
    i->at = n > (size_t)(i->end - i->at) ? i->end : i->at + n;
}

static void read_opcode(Insn *i) {
    unsigned b = byte(i);
    for (; b == 0x66 || b == 0xf2 || b == 0xf3 || b == 0x2e; b = byte(i))
        i->half = i->half || b == 0x66;
    if ((b & 0xf0) == 0x40) i->rex = b, b = byte(i);
    i->op = b == 0x0f ? 0x0f00 | byte(i) : b;
}

/* The byte of operands, and what of an address follows. */
static void read_operands(Insn *i) {
    unsigned b = byte(i);
    i->mod = b >> 6;
    i->reg = (b >> 3 & 7) | (i->rex & 4 ? 8 : 0);
    i->rm = (b & 7) | (i->rex & 1 ? 8 : 0);
    i->memory = i->mod != 3;
    if (!i->memory) return;
    bool plain = i->mod == 0 && (b & 7) == 5;
    i->reads_address = !plain && i->rm == EAX;
    if ((b & 7) == 4) {
        unsigned sib = byte(i);
        unsigned base = (sib & 7) | (i->rex & 1 ? 8 : 0),
                 index = (sib >> 3 & 7) | (i->rex & 2 ? 8 : 0);
        i->reads_address = base == EAX || index == EAX;
        plain = i->mod == 0 && (sib & 7) == 5;
    }
    skip(i, i->mod == 1 ? 1 : i->mod == 2 || plain ? 4 : 0);
}

/* An instruction whose operand `source` is read and whose `target` is written over; 16: none. */
static Used effect(const Insn *i, unsigned source, unsigned target) {
    if (i->reads_address || source == EAX) return USED_YES;
    return target == EAX ? USED_NO : USED_UNKNOWN;
}

enum { NONE = 16 };

static unsigned in_register(const Insn *i) {
    return i->memory ? NONE : i->rm;
}

/* Those with a byte of operands. *known: it is one of them. */
static Used with_operands(Insn *i, bool *known) {
    unsigned op = i->op;
    bool is_wide = op == 0x81 || op == 0xc7 || op == 0x69,
         is_short = op == 0x83 || op == 0xc6 || op == 0x80 || op == 0xc1 || op == 0x6b;
    *known = true;
    if (op == 0x88 || op == 0x89) return read_operands(i), effect(i, i->reg, in_register(i));
    if (op == 0x8b || op == 0x8d || op == 0x63 || (op >= 0x0fb6 && op <= 0x0fbf))
        return read_operands(i), effect(i, in_register(i), i->reg);
    if ((op == 0x31 || op == 0x33) && i->at < i->end && *i->at == 0xc0 && (i->rex & 5) == 0)
        return skip(i, 1), USED_NO; /* xor eax, eax */
    if (is_wide || is_short) {
        read_operands(i);
        skip(i, !is_wide ? 1 : i->half ? 2 : 4);
        bool is_move = op == 0xc6 || op == 0xc7;
        return effect(i, is_move ? NONE : in_register(i), is_move ? in_register(i) : NONE);
    }
    if (op == 0x85 || op == 0x84 || (op < 0x40 && (op & 7) < 4)) {
        read_operands(i);
        return effect(i, i->reg == EAX ? EAX : in_register(i), NONE);
    }
    if (op == 0xff) { /* a call by address, a jump, push … */
        read_operands(i);
        return (i->reg & 7) == 2 && i->reads_address == false ? USED_NO
                                                              : effect(i, in_register(i), NONE);
    }
    if (op == 0xf7 || op == 0xf6) { /* test with a number, negate … */
        read_operands(i);
        skip(i, (i->reg & 7) > 1 ? 0 : op == 0xf7 ? 4 : 1);
        return effect(i, in_register(i), NONE);
    }
    if (op == 0x0f1e || op == 0x0f1f || (op >= 0x0f10 && op <= 0x0f17) ||
        (op >= 0x0f28 && op <= 0x0f2f) || (op >= 0x0f51 && op <= 0x0f6f) || op == 0x0f7f ||
        op == 0x0fd6 || op == 0x0fef)
        return read_operands(i), i->reads_address ? USED_YES : USED_UNKNOWN; /* nop, xmm */
    if (op >= 0x0f90 && op <= 0x0f9f) return read_operands(i), USED_UNKNOWN; /* set, of flags */
    *known = false;
    return USED_UNKNOWN;
}

/* The others. */
static Used without_operands(Insn *i, bool *known) {
    unsigned op = i->op, low = (op & 7) | (i->rex & 1 ? 8 : 0);
    *known = true;
    if (op == 0xe8) return USED_NO; /* a call: its result, or the number of its xmm */
    if (op == 0xc3) return USED_RETURNED;
    if (op == 0x3d || op == 0xa9 || op == 0x98 || op == 0x99)
        return USED_YES; /* compare, test, widen */
    if (op >= 0xb8 && op <= 0xbf) return skip(i, i->rex & 8 ? 8 : 4), effect(i, NONE, low);
    if (op >= 0x50 && op <= 0x57) return USED_UNKNOWN; /* push rax makes room on the stack */
    if (op == 0x6a || op == 0x68) return skip(i, op == 0x6a ? 1 : 4), USED_UNKNOWN;
    if (op >= 0x58 && op <= 0x5f) return effect(i, NONE, low);
    if (op == 0xc9 || op == 0x90) return USED_UNKNOWN;
    if (op == 0xeb || op == 0xe9) {
        int32_t far = 0;
        for (int k = 0; k < (op == 0xe9 ? 4 : 1); k++) far |= (int32_t)((uint32_t)byte(i) << 8 * k);
        intptr_t by = op == 0xe9 ? far : (int8_t)far;
        i->at = (const uint8_t *)((uintptr_t)i->at + (uintptr_t)by); /* may be anywhere */
        return USED_UNKNOWN;
    }
    if (op >= 0x70 && op <= 0x7f) return skip(i, 1), USED_UNKNOWN;
    if (op >= 0x0f80 && op <= 0x0f8f) return skip(i, 4), USED_UNKNOWN;
    *known = false;
    return USED_UNKNOWN;
}

/* --- a local variable that keeps the result --- */

/* In functions that keep a frame pointer, as compilers that do not optimise write them. */
static bool has_frame(const uint8_t *code, size_t n) {
    static const uint8_t branch[] = {0xf3, 0x0f, 0x1e, 0xfa}, frame[] = {0x55, 0x48, 0x89, 0xe5};
    size_t at = n > 8 && memcmp(code, branch, 4) == 0 ? 4 : 0;
    return n > 8 && memcmp(code + at, frame, 4) == 0;
}

/* Is the instruction `mov [rbp - x], eax` of a variable that nothing in the function reads? Bytes
** that look like another use of it are one. */
static bool is_never_read(const uint8_t *at, const uint8_t *code, size_t n_code) {
    const uint8_t *end = code + n_code;
    if (end - at < 6 || at[0] != 0x89 || (at[1] != 0x45 && at[1] != 0x85)) return false;
    size_t n = at[1] == 0x45 ? 1 : 4;
    if (!(at[1 + n] & 0x80) || !has_frame(code, n_code)) return false;
    for (const uint8_t *p = code + 1; (size_t)(end - p) > n; p++) {
        bool is_store = p[-1] == 0x89 || p[-1] == 0xc7;
        if ((p[0] & 0xc7) == at[1] && memcmp(p + 1, at + 2, n) == 0 && !is_store) return false;
    }
    return true;
}

Used used_after(const uint8_t *back, const uint8_t *code, size_t n_code) {
    const uint8_t *at = back, *end = code + n_code;
#if defined(__x86_64__)
    for (int n = 0; n < MOST_INSTRUCTIONS; n++) {
        Insn i = {.at = at, .end = end};
        bool known;
        if (at < code || at >= end) break;
        read_opcode(&i);
        Used u = with_operands(&i, &known);
        if (!known) u = without_operands(&i, &known);
        if (u == USED_YES && is_never_read(at, code, n_code)) return USED_NO;
        if (!known || u != USED_UNKNOWN) return u;
        at = i.at;
    }
#else
    (void)at, (void)end, (void)code;
#endif
    return USED_UNKNOWN;
}
