/* format.c - device printf.
**
** Nothing the kernel passes is trusted: a conversion is taken apart, its width and precision are
** bounded, and a clean one is rebuilt for the C library with a value of the right type. A
** conversion that is unknown, or whose argument is missing, is copied as it stands.
**
** Reference: CUDA C++ Programming Guide, "Formatted Output": flags # space 0 + -, width,
** precision, sizes h l ll (hh too), types %cdiouxXpeEfgGaAs (F too). 32 arguments at most.
*/
#include "emu/format.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WIDTH = 4096, MAX_ARGUMENTS = 32 };

typedef struct Arguments {
    const unsigned char *bytes;
    size_t len, at;
    int count;
} Arguments;

typedef struct Conversion {
    char flags[8];
    int width, precision; /* -1: not given */
    char size;            /* 0, 'H' (hh), 'h', 'l' (64 bits: l, ll, j, z, t) */
    char type;
} Conversion;

/* Takes the next argument of 4 or 8 bytes into *out (zero-extended). */
static bool take(Arguments *a, size_t size, uint64_t *out) {
    size_t at = (a->at + size - 1) / size * size;
    if (a->count >= MAX_ARGUMENTS || at > a->len || a->len - at < size) return false;
    uint32_t narrow;
    if (size == 4) {
        memcpy(&narrow, a->bytes + at, 4);
        *out = narrow;
    } else {
        memcpy(out, a->bytes + at, 8);
    }
    a->at = at + size;
    a->count++;
    return true;
}

static int clamp_width(int64_t n) {
    return (int)(n > MAX_WIDTH ? MAX_WIDTH : n);
}

/* A number or '*' at *p goes to *out, which keeps its value where there is neither. False when
** the argument of '*' is missing. */
static bool take_width(const char **p, Arguments *args, int *out) {
    uint64_t bits;
    if (**p == '*') {
        ++*p;
        if (!take(args, 4, &bits)) return false;
        int32_t n = (int32_t)(uint32_t)bits;
        *out = n < 0 ? -clamp_width(-(int64_t)n) : clamp_width(n);
        return true;
    }
    if (**p < '0' || **p > '9') return true;
    int64_t n = 0;
    for (; **p >= '0' && **p <= '9'; ++*p) n = clamp_width(n * 10 + (**p - '0'));
    *out = (int)n;
    return true;
}

static void add_flag(Conversion *c, char flag) {
    size_t n = strlen(c->flags);
    if (!strchr(c->flags, flag) && n + 1 < sizeof c->flags) c->flags[n] = flag;
}

static void parse_size(const char **p, Conversion *c) {
    if (**p == 'h') {
        ++*p;
        c->size = 'h';
        if (**p == 'h') {
            ++*p;
            c->size = 'H';
        }
    } else {
        while (**p && strchr("ljzt", **p)) {
            ++*p;
            c->size = 'l';
        }
    }
}

/* Reads a conversion after its '%'; false when an argument for '*' is missing. */
static bool parse(const char **p, Arguments *args, Conversion *c) {
    *c = (Conversion){.width = -1, .precision = -1};
    for (; **p && strchr("#0+- ", **p); ++*p) add_flag(c, **p);
    int width = -1;
    bool starred = **p == '*';
    if (!take_width(p, args, &width)) return false;
    if (starred && width < 0) { /* a negative width means left-aligned */
        add_flag(c, '-');
        width = -width;
    }
    c->width = width;
    if (**p == '.') {
        ++*p;
        starred = **p == '*';
        c->precision = starred || (**p >= '0' && **p <= '9') ? -1 : 0;
        if (!take_width(p, args, &c->precision)) return false;
        if (starred && c->precision < 0) c->precision = -1; /* as if it were not given */
    }
    parse_size(p, c);
    c->type = **p;
    if (c->type) ++*p;
    return true;
}

/* Rebuilds "%flags width .precision SIZE type" for the C library. */
static void spec(const Conversion *c, const char *size, char type, char out[64]) {
    char width[16] = "", precision[16] = "";
    if (c->width >= 0) snprintf(width, sizeof width, "%d", c->width);
    if (c->precision >= 0) snprintf(precision, sizeof precision, ".%d", c->precision);
    snprintf(out, 64, "%%%s%s%s%s%c", c->flags, width, precision, size, type);
}

static bool print_signed(gi_buf *out, const Conversion *c, Arguments *args) {
    char text[64];
    uint64_t bits;
    if (!take(args, c->size == 'l' ? 8 : 4, &bits)) return false;
    long long value = c->size == 'l'   ? (long long)bits
                      : c->size == 'H' ? (int8_t)bits
                      : c->size == 'h' ? (int16_t)bits
                                       : (int32_t)(uint32_t)bits;
    spec(c, "ll", 'd', text);
    gi_buf_addf(out, text, value);
    return true;
}

static bool print_unsigned(gi_buf *out, const Conversion *c, Arguments *args) {
    char text[64];
    uint64_t bits;
    if (!take(args, c->size == 'l' ? 8 : 4, &bits)) return false;
    if (c->size == 'H' || c->size == 'h') bits &= c->size == 'H' ? 0xff : 0xffff;
    spec(c, "ll", c->type, text);
    gi_buf_addf(out, text, (unsigned long long)bits);
    return true;
}

static bool print_float(gi_buf *out, const Conversion *c, Arguments *args) {
    char text[64];
    uint64_t bits;
    double value;
    if (!take(args, 8, &bits)) return false;
    memcpy(&value, &bits, sizeof value);
    spec(c, "", c->type, text);
    gi_buf_addf(out, text, value);
    return true;
}

/* A character may be NUL, which the C library would end the text at. */
static bool print_char(gi_buf *out, const Conversion *c, Arguments *args) {
    uint64_t bits;
    if (!take(args, 4, &bits)) return false;
    char byte = (char)bits;
    bool left = strchr(c->flags, '-') != NULL;
    int padding = c->width > 1 ? c->width - 1 : 0;
    if (left) gi_buf_add(out, &byte, 1);
    gi_buf_addf(out, "%*s", padding, "");
    if (!left) gi_buf_add(out, &byte, 1);
    return true;
}

static bool print_pointer(gi_buf *out, const Conversion *c, Arguments *args) {
    char text[64], digits[32];
    uint64_t bits;
    if (!take(args, 8, &bits)) return false;
    if (bits) snprintf(digits, sizeof digits, "0x%llx", (unsigned long long)bits);
    else strcpy(digits, "(nil)");
    Conversion plain = {.width = c->width, .precision = -1};
    if (strchr(c->flags, '-')) add_flag(&plain, '-');
    spec(&plain, "", 's', text);
    gi_buf_addf(out, text, digits);
    return true;
}

static bool print_string(gi_buf *out, const Conversion *c, Arguments *args,
                         const char *(*string)(void *user, uint64_t address), void *user) {
    char text[64];
    uint64_t address;
    if (!take(args, 8, &address)) return false;
    const char *s = address ? string(user, address) : "(null)";
    Conversion plain = *c;
    plain.flags[0] = '\0';
    if (strchr(c->flags, '-')) strcpy(plain.flags, "-");
    spec(&plain, "", 's', text);
    gi_buf_addf(out, text, s ? s : "(bad address)");
    return true;
}

/* What print_… takes of the arguments, for nobody to read. */
static bool pass_over(const Conversion *c, Arguments *args) {
    uint64_t bits;
    if (c->type == '%') return true;
    if (c->type == '\0' || !strchr("diouxXcpsfFeEgGaA", c->type)) return false;
    const bool wide = strchr("diouxX", c->type) ? c->size == 'l' : c->type != 'c';
    return take(args, wide ? 8 : 4, &bits);
}

/* One conversion, its '%' already read; false when it cannot be printed. */
static bool convert(gi_buf *out, const char **p, Arguments *args,
                    const char *(*string)(void *user, uint64_t address), void *user) {
    Conversion c;
    if (!parse(p, args, &c)) return false;
    if (out == NULL) return pass_over(&c, args);
    switch (c.type) {
    case '%': gi_buf_add(out, "%", 1); return true;
    case 'd':
    case 'i': return print_signed(out, &c, args);
    case 'o':
    case 'u':
    case 'x':
    case 'X': return print_unsigned(out, &c, args);
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': return print_float(out, &c, args);
    case 'c': return print_char(out, &c, args);
    case 'p': return print_pointer(out, &c, args);
    case 's': return print_string(out, &c, args, string, user);
    default: return false;
    }
}

int format_print(gi_buf *out, const char *fmt, const unsigned char *args_bytes, size_t args_len,
                 const char *(*string)(void *user, uint64_t address), void *user) {
    Arguments args = {.bytes = args_bytes, .len = args_len};
    bool good = true;
    while (*fmt) {
        size_t plain = strcspn(fmt, "%");
        if (out) gi_buf_add(out, fmt, plain);
        fmt += plain;
        if (!*fmt) break;
        const char *start = fmt++;
        if (!convert(out, &fmt, &args, string, user)) {
            if (out) gi_buf_add(out, start, (size_t)(fmt - start));
            good = false;
        }
    }
    return good ? args.count : -1;
}
