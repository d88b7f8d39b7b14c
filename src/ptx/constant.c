/* constant.c - constants and constant expressions (PTX ISA, "Constant Expressions").
**
** Integers are 64-bit; signed unless written with U or too large for a signed one. Operators,
** from loosest: ?: || && | ^ & == != < <= > >= << >> + - * / %, then - + ! ~ and the casts (.s64)
** (.u64). Floating-point constants take a sign but no operators: compilers fold them.
*/
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

static Constant conditional(Parser *P);

static Constant integer(uint64_t bits, bool is_unsigned) {
    return (Constant){.kind = PTX_IMM_INT, .bits = bits, .is_unsigned = is_unsigned};
}

static int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

static uint64_t digits(Parser *P, int base) {
    const char *start = P->p;
    uint64_t value = 0;
    for (; P->p < P->end && digit_value(*P->p) < base; P->p++) {
        if (value > (UINT64_MAX - (uint64_t)digit_value(*P->p)) / (uint64_t)base)
            ptxp_fail(P, P->line, "a constant does not fit in 64 bits");
        value = value * (uint64_t)base + (uint64_t)digit_value(*P->p);
    }
    if (P->p == start) ptxp_expected(P, "a digit");
    return value;
}

/* 0f3F800000 and 0d3FF0000000000000: the bits themselves. */
static Constant float_bits(Parser *P, PtxImmKind kind, int n_digits) {
    P->p += 2;
    const char *start = P->p;
    uint64_t bits = digits(P, 16);
    if (P->p - start != n_digits)
        ptxp_fail(P, P->line, "a floating-point constant has %d hexadecimal digits, not %d",
                  n_digits, (int)(P->p - start));
    return (Constant){.kind = kind, .bits = bits};
}

/* Is the number at the reader a decimal floating-point one (1.5, 2e3)? */
static bool is_decimal_float(const Parser *P) {
    const char *p = P->p;
    while (p < P->end && digit_value(*p) < 10) p++;
    return p < P->end && (*p == '.' || *p == 'e' || *p == 'E');
}

static Constant decimal_float(Parser *P) {
    char text[64];
    size_t n = 0;
    while (P->p + n < P->end && n + 1 < sizeof text && memchr("0123456789.eE+-", P->p[n], 15)) {
        if ((P->p[n] == '+' || P->p[n] == '-') && (n == 0 || (P->p[n - 1] | 32) != 'e')) break;
        text[n] = P->p[n];
        n++;
    }
    text[n] = '\0';
    char *stop;
    double value = strtod(text, &stop);
    if (stop == text) ptxp_expected(P, "a number");
    P->p += stop - text;
    Constant c = {.kind = PTX_IMM_F64};
    memcpy(&c.bits, &value, sizeof value);
    return c;
}

static Constant number(Parser *P) {
    char next = P->end - P->p >= 2 ? P->p[1] : '\0';
    int base = 10;
    if (*P->p == '0' && (next | 32) == 'f') return float_bits(P, PTX_IMM_F32, 8);
    if (*P->p == '0' && (next | 32) == 'd') return float_bits(P, PTX_IMM_F64, 16);
    if (is_decimal_float(P)) return decimal_float(P);
    if (*P->p == '0' && (next | 32) == 'x') base = 16;
    else if (*P->p == '0' && (next | 32) == 'b') base = 2;
    else if (*P->p == '0') base = 8;
    if (base == 16 || base == 2) P->p += 2;
    uint64_t value = digits(P, base);
    bool is_unsigned = value > INT64_MAX;
    if (ptxp_peek(P) == 'U') {
        P->p++;
        is_unsigned = true;
    }
    return integer(value, is_unsigned);
}

static void need_integer(Parser *P, Constant c) {
    if (c.kind != PTX_IMM_INT)
        ptxp_fail(P, P->line, "an operator is applied to a floating-point constant");
}

/* (.s64) and (.u64), behind their '(' */
static Constant cast(Parser *P);

static Constant parenthesised(Parser *P) {
    if (ptxp_peek(P) == '.') return cast(P);
    Constant c = conditional(P);
    ptxp_expect(P, ')', "after the constant expression");
    return c;
}

static Constant negate(Constant c) {
    if (c.kind == PTX_IMM_F32) c.bits ^= (uint64_t)1 << 31;
    else if (c.kind == PTX_IMM_F64) c.bits ^= (uint64_t)1 << 63;
    else c.bits = -c.bits;
    return c;
}

static Constant primary(Parser *P) {
    if (ptxp_at_ident(P)) {
        const char *start = P->p;
        int line = P->line;
        if (ptxp_is(ptxp_ident(P, "a constant"), "WARP_SZ")) return integer(32, false);
        P->p = start;
        P->line = line;
    }
    if (digit_value(ptxp_peek(P)) >= 10) ptxp_expected(P, "a constant");
    Constant c = number(P);
    ptxp_space(P);
    return c;
}

static Constant unary(Parser *P) {
    if (++P->nesting > PTXP_MAX_NESTING)
        ptxp_fail(P, P->line, "a constant expression is nested more than %d deep",
                  PTXP_MAX_NESTING);
    Constant c;
    if (ptxp_take_char(P, '-')) c = negate(unary(P));
    else if (ptxp_take_char(P, '+')) c = unary(P);
    else if (ptxp_take_char(P, '~')) {
        need_integer(P, c = unary(P));
        c.bits = ~c.bits;
    } else if (ptxp_take_char(P, '!')) {
        need_integer(P, c = unary(P));
        c = integer(c.bits == 0, false);
    } else if (ptxp_take_char(P, '(')) c = parenthesised(P);
    else c = primary(P);
    P->nesting--;
    return c;
}

static Constant cast(Parser *P) {
    P->p++;
    Name *type = ptxp_word(P, "'s64' or 'u64'");
    bool to_unsigned = ptxp_is(type, "u64");
    if (!to_unsigned && !ptxp_is(type, "s64"))
        ptxp_fail(P, P->line, "a constant can be cast to .s64 or .u64, not to .%s", type->text);
    ptxp_expect(P, ')', "after the type of the cast");
    Constant c = unary(P);
    need_integer(P, c);
    return integer(c.bits, to_unsigned);
}

/* Two-character operators stand before their one-character beginnings. */
static const struct {
    const char *text;
    int level;
    char op;
} operators[] = {
    {"||", 1, 'O'}, {"&&", 2, 'A'}, {"==", 6, '='}, {"!=", 6, 'n'}, {"<<", 8, 'l'}, {">>", 8, 'r'},
    {"<=", 7, 'L'}, {">=", 7, 'G'}, {"|", 3, '|'},  {"^", 4, '^'},  {"&", 5, '&'},  {"<", 7, '<'},
    {">", 7, '>'},  {"+", 9, '+'},  {"-", 9, '-'},  {"*", 10, '*'}, {"/", 10, '/'}, {"%", 10, '%'},
};

static int operator_at(const Parser *P) {
    if (P->p >= P->end || strchr("|&=!<>^+-*/%", *P->p) == NULL) return -1; /* begins none */
    for (int i = 0; i < (int)(sizeof operators / sizeof operators[0]); i++) {
        size_t len = strlen(operators[i].text);
        if ((size_t)(P->end - P->p) >= len && memcmp(P->p, operators[i].text, len) == 0) return i;
    }
    return -1;
}

static uint64_t divide(Parser *P, char op, Constant a, Constant b, bool is_unsigned) {
    if (b.bits == 0) ptxp_fail(P, P->line, "a constant expression divides by zero");
    if (is_unsigned) return op == '/' ? a.bits / b.bits : a.bits % b.bits;
    if (b.bits == UINT64_MAX) return op == '/' ? -a.bits : 0; /* INT64_MIN / -1 wraps */
    int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
    return (uint64_t)(op == '/' ? x / y : x % y);
}

static bool compare(char op, Constant a, Constant b, bool is_unsigned) {
    bool less = is_unsigned ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
    bool equal = a.bits == b.bits;
    switch (op) {
    case '=': return equal;
    case 'n': return !equal;
    case '<': return less;
    case 'L': return less || equal;
    case '>': return !less && !equal;
    default: return !less; /* 'G' */
    }
}

static uint64_t shift(char op, Constant a, Constant b) {
    if (b.bits > 63) return op == 'r' && !a.is_unsigned && a.bits >> 63 ? UINT64_MAX : 0;
    if (op == 'l') return a.bits << b.bits;
    uint64_t sign = !a.is_unsigned && a.bits >> 63 && b.bits ? UINT64_MAX << (64 - b.bits) : 0;
    return a.bits >> b.bits | sign;
}

static Constant apply(Parser *P, char op, Constant a, Constant b) {
    need_integer(P, a);
    need_integer(P, b);
    bool u = a.is_unsigned || b.is_unsigned;
    switch (op) {
    case 'O': return integer(a.bits || b.bits, false);
    case 'A': return integer(a.bits && b.bits, false);
    case '|': return integer(a.bits | b.bits, u);
    case '^': return integer(a.bits ^ b.bits, u);
    case '&': return integer(a.bits & b.bits, u);
    case '+': return integer(a.bits + b.bits, u);
    case '-': return integer(a.bits - b.bits, u);
    case '*': return integer(a.bits * b.bits, u);
    case '/':
    case '%': return integer(divide(P, op, a, b, u), u);
    case 'l':
    case 'r': return integer(shift(op, a, b), a.is_unsigned);
    default: return integer(compare(op, a, b, u), false);
    }
}

/* Precedence climbing: a chain of operators that bind at least as tightly as `level`. */
static Constant binary(Parser *P, int level) {
    Constant left = unary(P);
    for (;;) {
        int i = operator_at(P);
        if (i < 0 || operators[i].level < level) return left;
        P->p += strlen(operators[i].text);
        ptxp_space(P);
        left = apply(P, operators[i].op, left, binary(P, operators[i].level + 1));
    }
}

static Constant conditional(Parser *P) {
    Constant c = binary(P, 1);
    if (!ptxp_take_char(P, '?')) return c;
    need_integer(P, c);
    if (++P->nesting > PTXP_MAX_NESTING)
        ptxp_fail(P, P->line, "a constant expression is nested more than %d deep",
                  PTXP_MAX_NESTING);
    Constant yes = conditional(P);
    ptxp_expect(P, ':', "in the constant expression");
    Constant no = conditional(P);
    P->nesting--;
    return c.bits ? yes : no;
}

Constant ptxp_constant(Parser *P) {
    return conditional(P);
}

int64_t ptxp_integer(Parser *P, const char *what) {
    Constant c = ptxp_constant(P);
    if (c.kind != PTX_IMM_INT) ptxp_fail(P, P->line, "%s is not an integer", what);
    return (int64_t)c.bits;
}

static int in_range(Parser *P, int64_t value, const char *what, int min, int max) {
    if (value < min || value > max)
        ptxp_fail(P, P->line, "%s is %lld, outside %d to %d", what, (long long)value, min, max);
    return (int)value;
}

int ptxp_small(Parser *P, const char *what, int min, int max) {
    return in_range(P, ptxp_integer(P, what), what, min, max);
}

int ptxp_plain(Parser *P, const char *what, int min, int max) {
    Constant c = primary(P);
    if (c.kind != PTX_IMM_INT) ptxp_fail(P, P->line, "%s is not an integer", what);
    return in_range(P, (int64_t)c.bits, what, min, max);
}
