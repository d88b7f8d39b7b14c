/* used.c - see used.h. What an instruction does with eax and how long it is are read from tables,
** one letter an opcode, in the order of the maps in Intel's manual, volume 2, appendix A. Vector
** instructions (SSE, VEX, EVEX) leave eax alone but for the few that move numbers between registers
** of both kinds. */
#include "runtime/used.h"

#include <string.h>

enum { EAX = 0, NONE = 16, MOST_INSTRUCTIONS = 400, MOST_PATHS = 16 };

typedef enum Map { MAP_ONE, MAP_0F, MAP_38, MAP_3A, MAP_HALF = 5, MAP_HALF_38 } Map;

typedef struct Insn {
    const uint8_t *at, *end;
    Map map;
    unsigned rex; /* REX's bits w, r, x, b, which VEX and EVEX have inverted */
    unsigned rep; /* the prefix f2 or f3; 0 */
    bool half;    /* the prefix 66: numbers are of 16 bits */
    bool is_vex;  /* or EVEX */
    unsigned op, mod, reg, rm;
    bool memory, reads_address; /* rm is in memory; by way of eax */
} Insn;

/* Letters. Without operands: . unknown, - nothing, a eax is read, n p a register is set, 1 4 a
** number; j jump, C call, R return, E nothing comes behind it. With a register and rm: B both are
** read, L rm is read and the register set, l set, r rm is read, w set, s the register is read, S
** and rm set, v neither; g G depend on the register's bits. With a number of 8 bits, too: b, m (L),
** i (r), x (w), z (l), V (v); of 32: I, M, c (w). */
static const char one_byte[] = "BBBBaa..BBBBaa.."
                               "BBBBaa..BBBBaa.."
                               "BBBBaa..BBBBaa.."
                               "BBBBaa..BBBBaa.."
                               "................"
                               "--------pppppppp"
                               "...L....4M1m...."
                               "jjjjjjjjjjjjjjjj"
                               "iI.iBBBBsSrL.l.."
                               "-aaaaaaaaa......"
                               "....--..aaaa...."
                               "11111111nnnnnnnn"
                               "iiRR..Vc.-..E..."
                               "rrrr....vvvvvvv."
                               "........Cj.j...."
                               "....E.gg......rG";
static const char two_bytes[] = ".....a.....E.v.."
                                "vvvvvvvvvvvvvvvv"
                                "........vvrvllvv"
                                "................"
                                "BBBBBBBBBBBBBBBB"
                                "lvvvvvvvvvvvvvvv"
                                "vvvvvvvvvvvvvvrv"
                                "VVVVvvv-....vvwv"
                                "jjjjjjjjjjjjjjjj"
                                "vvvvvvvvvvvvvvvv"
                                "--aBbB..--.BbBvB"
                                "aa.B..LLL.iBLLLL"
                                "BBVsizV........."
                                "vvvvvvvlvvvvvvvv"
                                "vvvvvvvvvvvvvvvv"
                                "vvvvvvvvvvvvvvv.";
/* Rows of the register in f6 and f7, fe and ff: test has a number; mul and div use eax. */
static const char group_3[] = "IIrraaaa", group_5[] = "rr-...r.";

static unsigned byte(Insn *i) {
    return i->at < i->end ? *i->at++ : 0;
}

static void skip(Insn *i, size_t n) {
    i->at = n > (size_t)(i->end - i->at) ? i->end : i->at + n;
}

/* What follows c5, c4 or 62. */
static void read_vex(Insn *i, unsigned first) {
    static const uint8_t rep[] = {0, 0, 0xf3, 0xf2};
    unsigned a = byte(i), b = first == 0xc5 ? a : byte(i);
    i->is_vex = true;
    i->map = (Map)(first == 0xc5 ? 1 : first == 0xc4 ? a & 31 : a & 7);
    i->rex = ~a >> 5 & (first == 0xc5 ? 4 : 7);
    if (first == 0x62) byte(i);
    i->rep = rep[b & 3];
    i->half = (b & 3) == 1;
    i->op = byte(i);
}

static void read_opcode(Insn *i) {
    unsigned b = byte(i);
    for (; b == 0x66 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x3e || b == 0x64 || b == 0xf0;
         b = byte(i))
        if (b == 0x66) i->half = true;
        else if (b > 0xf0) i->rep = b;
    if (b == 0xc5 || b == 0xc4 || b == 0x62) return read_vex(i, b);
    if ((b & 0xf0) == 0x40) i->rex = b & 15, b = byte(i);
    if (b == 0x0f) i->map = MAP_0F, b = byte(i);
    if (i->map == MAP_0F && (b == 0x38 || b == 0x3a))
        i->map = b == 0x38 ? MAP_38 : MAP_3A, b = byte(i);
    i->op = b;
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
        plain = i->mod == 0 && (sib & 7) == 5;
        i->reads_address = (base == EAX && !plain) || index == EAX;
    }
    skip(i, i->mod == 1 ? 1 : i->mod == 2 || plain ? 4 : 0);
}

/* The letter of a vector instruction that the tables do not have. */
static char vector_letter(const Insn *i) {
    unsigned op = i->op;
    bool is_scalar = i->is_vex && i->rep;
    if (i->map == MAP_3A && op >= 0x14 && op <= 0x17) return 'x';
    if (i->map == MAP_3A && op == 0xf0) return 'm';
    if (i->map == MAP_3A) return op == 0x20 || op == 0x22 ? 'i' : 'V';
    if (i->map == MAP_38)
        return op >= 0xf0 ? '.' : i->is_vex && op >= 0x7a && op <= 0x7c ? 'r' : 'v';
    if (i->map == MAP_HALF_38) return 'v';
    if (op == 0x92) return 'r'; /* masks */
    if (op == 0x93) return 'l';
    if (op == 0x78 || op == 0x79) return is_scalar ? 'l' : 'v';
    if (op == 0x7a || op == 0x7b) return is_scalar && op == 0x7b ? 'r' : 'v';
    return two_bytes[op];
}

static char letter_of(const Insn *i) {
    if (i->map == MAP_ONE) return one_byte[i->op];
    if (i->map > MAP_HALF_38 || i->map == 4) return '.';
    if (i->op == 0x7e && i->rep == 0xf3) return 'v';
    char c = i->map == MAP_0F && !i->is_vex ? two_bytes[i->op] : vector_letter(i);
    return i->is_vex && strchr("jaERCL", c) ? '.' : c;
}

/* Length and effect of one with operands; its register decides about some. */
static Used with_operands(Insn *i, char c) {
    read_operands(i);
    if (c == 'g') c = i->op == 0xf6 && (i->reg & 7) < 2 ? 'i' : group_3[i->reg & 7];
    if (c == 'G' && (i->reg & 7) == 2) return i->reads_address ? USED_YES : USED_NO;
    if (c == 'G') c = group_5[i->reg & 7];
    if (c == '.') return USED_UNKNOWN;
    if (strchr("bmixzV", c)) skip(i, 1);
    if (strchr("IMc", c)) skip(i, i->half ? 2 : 4);
    unsigned rm = i->memory ? NONE : i->rm;
    bool reads =
        c == 'a' || (strchr("BbLmMriI", c) && rm == EAX) || (strchr("BbSs", c) && i->reg == EAX);
    bool writes = (strchr("LlmMz", c) && i->reg == EAX) || (strchr("Swxc", c) && rm == EAX);
    return i->reads_address || reads ? USED_YES : writes ? USED_NO : USED_GOES_ON;
}

/* xor eax, eax and sub eax, eax */
static bool is_zero(const Insn *i) {
    return i->map == MAP_ONE &&
           (i->op == 0x31 || i->op == 0x33 || i->op == 0x29 || i->op == 0x2b) && i->at < i->end &&
           *i->at == 0xc0 && (i->rex & 5) == 0;
}

/* Where a jump leads: its distance is the number behind the opcode. */
static const uint8_t *target(Insn *i) {
    bool is_short = i->map == MAP_ONE && i->op != 0xe9;
    int32_t far = 0;
    for (int k = 0; k < (is_short ? 1 : 4); k++) far |= (int32_t)((uint32_t)byte(i) << 8 * k);
    intptr_t by = is_short ? (int8_t)far : far;
    return (const uint8_t *)((uintptr_t)i->at + (uintptr_t)by); /* may be anywhere */
}

static Used without_operands(Insn *i, char c) {
    unsigned low = (i->op & 7) | (i->rex & 1 ? 8 : 0);
    switch (c) {
    case '-': return USED_GOES_ON;
    case 'a': return USED_YES;
    case '1': return skip(i, 1), USED_GOES_ON;
    case '4': return skip(i, i->half ? 2 : 4), USED_GOES_ON;
    case 'n': skip(i, i->rex & 8 ? 8 : i->half ? 2 : 4); /* fall through */
    case 'p': return low == EAX ? USED_NO : USED_GOES_ON;
    case 'C': /* its result, or the number of its vectors */
    case 'E': return USED_NO;
    case 'R': return USED_RETURNED;
    default: return USED_UNKNOWN;
    }
}

static Used effect(Insn *i) {
    char c = letter_of(i);
    if (is_zero(i)) return skip(i, 1), USED_NO;
    return strchr(".-a14npCRE", c) ? without_operands(i, c) : with_operands(i, c);
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

/* --- paths --- */

typedef struct Walk {
    const uint8_t *code, *end;
    const uint8_t *from[MOST_PATHS]; /* where those begin that jumps open; each once */
    int n, steps;
} Walk;

static bool add_path(Walk *w, const uint8_t *at) {
    for (int i = 0; i < w->n; i++)
        if (w->from[i] == at) return true;
    if (w->n == MOST_PATHS) return false;
    w->from[w->n++] = at;
    return true;
}

/* One path until it is decided. A jump out of the function is another function's call. */
static Used follow(Walk *w, const uint8_t *at) {
    while (w->steps++ < MOST_INSTRUCTIONS && at >= w->code && at < w->end) {
        Insn i = {.at = at, .end = w->end};
        read_opcode(&i);
        if (letter_of(&i) == 'j') {
            bool is_always = i.map == MAP_ONE && i.op >= 0xe0;
            const uint8_t *to = target(&i);
            bool is_out = to < w->code || to >= w->end;
            if (is_out && is_always) return USED_NO;
            if (is_out || !add_path(w, to)) return USED_UNKNOWN;
            if (is_always) return USED_NO; /* the path that was added says it */
            at = i.at;
            continue;
        }
        Used u = effect(&i);
        if (u == USED_YES && is_never_read(at, w->code, (size_t)(w->end - w->code))) return USED_NO;
        if (u != USED_GOES_ON) return u;
        at = i.at;
    }
    return USED_UNKNOWN;
}

Used used_after(const uint8_t *back, const uint8_t *code, size_t n_code) {
    Used all = USED_NO;
    Walk w = {.code = code, .end = code + n_code, .from = {back}, .n = 1};
#if !defined(__x86_64__)
    return USED_UNKNOWN;
#endif
    for (int i = 0; i < w.n; i++) {
        Used u = follow(&w, w.from[i]);
        if (u == USED_YES) return u;
        if (u == USED_UNKNOWN || (u == USED_RETURNED && all != USED_UNKNOWN)) all = u;
    }
    return all;
}
