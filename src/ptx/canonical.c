/* canonical.c - PTX text without what does not change the code, so that equal code has equal text.
**
** Works on characters, not on a parsed module: any text goes through, broken or not. Dropped are
** comments, .loc, .file, debug sections and the labels only these refer to; blanks and blank lines
** are reduced. Compilers number some names by the function's or call's place in the module:
*$L__BB4_2
** becomes $L__BB_2, __local_depot4 becomes __local_depot (a function has one), and the numbers of
** prototype_12 count from the first in the function.
*/
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

typedef struct Scan {
    const char *p, *end;
    gi_buf *out;
    size_t start;        /* of what was written, in out */
    bool blank, newline; /* blanks since the last thing written; was a line end among them */
    long prototypes;     /* number of the function's first prototype; -1: none yet */
} Scan;

static bool looking_at(const Scan *s, const char *text) {
    size_t n = strlen(text);
    return (size_t)(s->end - s->p) >= n && memcmp(s->p, text, n) == 0;
}

static void skip_line(Scan *s) {
    while (s->p < s->end && *s->p != '\n') s->p++;
}

static void skip_past(Scan *s, const char *text) {
    while (s->p < s->end && !looking_at(s, text)) s->p++;
    if (s->p < s->end) s->p += strlen(text);
}

static bool skip_blank(Scan *s) {
    char c = *s->p;
    if (looking_at(s, "//")) skip_line(s);
    else if (looking_at(s, "/*")) {
        s->p += 2;
        skip_past(s, "*/");
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') s->p++;
    else return false;
    s->blank = true;
    s->newline |= c == '\n';
    return true;
}

static void emit(Scan *s, const char *text, size_t len) {
    if (s->blank && s->out->len > s->start) gi_buf_adds(s->out, s->newline ? "\n" : " ");
    s->blank = s->newline = false;
    gi_buf_add(s->out, text, len);
}

static bool at_line_start(const Scan *s) {
    return s->newline || s->out->len == s->start;
}

/* The word at the reader is `text`, not only begins with it. */
static bool at_word(const Scan *s, const char *text) {
    size_t n = strlen(text);
    return looking_at(s, text) && (s->p + n == s->end || !ptx_is_letter(s->p[n]));
}

/* A line that only serves debuggers. */
static bool skip_debug(Scan *s) {
    if (!at_line_start(s)) return false;
    if (at_word(s, ".loc") || at_word(s, ".file")) skip_line(s);
    else if (at_word(s, ".section")) skip_past(s, "}");
    else if (looking_at(s, "$L__tmp") || looking_at(s, "$L__func_")) skip_past(s, ":");
    else return false;
    return true;
}

static void emit_string(Scan *s) {
    const char *start = s->p++;
    while (s->p < s->end && *s->p != '"' && *s->p != '\n') s->p++;
    if (s->p < s->end) s->p++;
    emit(s, start, (size_t)(s->p - start));
}

static const char *skip_digits(const char *p, const char *end) {
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p;
}

static void emit_prototype(Scan *s, const char *number) {
    long n = strtol(number, NULL, 10); /* ends at the word's end: the text after it is no digit */
    if (s->prototypes < 0) s->prototypes = n;
    gi_buf name = {0};
    gi_buf_addf(&name, "prototype_%ld", n - s->prototypes);
    emit(s, name.data, name.len);
    gi_buf_free(&name);
}

static void emit_word(Scan *s) {
    const char *start = s->p, *digits;
    while (s->p < s->end && ptx_is_letter(*s->p)) s->p++;
    size_t len = (size_t)(s->p - start);
    if (len > 6 && memcmp(start, "$L__BB", 6) == 0) {
        digits = skip_digits(start + 6, s->p);
        emit(s, start, 6);
        gi_buf_add(s->out, digits, (size_t)(s->p - digits));
    } else if (len > 13 && memcmp(start, "__local_depot", 13) == 0 &&
               skip_digits(start + 13, s->p) == s->p)
        emit(s, start, 13);
    else if (len > 10 && len < 20 && memcmp(start, "prototype_", 10) == 0 &&
             skip_digits(start + 10, s->p) == s->p && s->p < s->end)
        emit_prototype(s, start + 10);
    else emit(s, start, len);
}

static void emit_other(Scan *s) {
    if (at_word(s, ".func") || at_word(s, ".entry")) s->prototypes = -1;
    emit(s, s->p++, 1);
}

void ptx_canonical(const char *text, size_t len, gi_buf *out) {
    Scan s = {.p = text, .end = text + len, .out = out, .start = out->len, .prototypes = -1};
    while (s.p < s.end) {
        if (skip_blank(&s) || skip_debug(&s)) continue;
        if (*s.p == '"') emit_string(&s);
        else if (ptx_is_letter(*s.p)) emit_word(&s);
        else emit_other(&s);
    }
    gi_buf_adds(out, "\n");
}
