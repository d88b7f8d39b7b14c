/* values.c - see values.h. The source is read as in shared.c: words and characters, statement by
** statement. What is not such a declaration is passed over to its end. */
#include "compile/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 256 << 20, MOST_SIZES = 4, EXACT_DIGITS = 7 };

typedef struct Reader {
    const char *p, *end;
    int conditions; /* #if … that are open */
} Reader;

typedef struct Type {
    int size; /* of an element */
    bool is_float, is_signed;
} Type;

/* --- blanks, comments, directives */

static bool at(const Reader *r, const char *word) {
    const size_t len = strlen(word);
    return (size_t)(r->end - r->p) >= len && memcmp(r->p, word, len) == 0;
}

static void skip_past(Reader *r, const char *word) {
    while (r->p < r->end && !at(r, word)) r->p++;
    r->p += at(r, word) ? strlen(word) : 0;
}

static bool skip_comment(Reader *r) {
    if (at(r, "//")) {
        while (r->p < r->end && *r->p != '\n') r->p += *r->p == '\\' && r->p + 1 < r->end ? 2 : 1;
        return true;
    }
    if (!at(r, "/*")) return false;
    r->p += 2;
    skip_past(r, "*/");
    return true;
}

static void skip_blanks(Reader *r) {
    while (r->p < r->end && (isspace((unsigned char)*r->p) || skip_comment(r)))
        if (isspace((unsigned char)*r->p) && r->p < r->end) r->p++;
}

/* A directive, from its # to the end of its last line. */
static void skip_directive(Reader *r) {
    r->p++;
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t')) r->p++;
    if (at(r, "if")) r->conditions++;
    if (at(r, "endif")) r->conditions--;
    while (r->p < r->end && *r->p != '\n') {
        if (at(r, "/*")) skip_comment(r);
        else r->p += *r->p == '\\' && r->p + 1 < r->end ? 2 : 1;
    }
}

static void skip_quoted(Reader *r) {
    const char quote = *r->p++;
    while (r->p < r->end && *r->p != quote && *r->p != '\n')
        r->p += *r->p == '\\' && r->p + 1 < r->end ? 2 : 1;
    if (r->p < r->end) r->p++;
}

/* To the end of a statement in the file's scope: its `;`, or the `}` of its body. */
static void skip_statement(Reader *r) {
    int depth = 0;
    while (r->p < r->end) {
        const char c = *r->p;
        if (skip_comment(r)) continue;
        if (c == '#') skip_directive(r);
        else if (c == '"' || c == '\'') skip_quoted(r);
        else r->p++;
        depth += (c == '{') - (c == '}');
        if ((c == ';' && depth == 0) || (c == '}' && depth <= 0)) return;
    }
}

/* --- a declaration */

static size_t word_length(const Reader *r) {
    size_t n = 0;
    while (r->p + n < r->end && (isalnum((unsigned char)r->p[n]) || r->p[n] == '_')) n++;
    return n > 0 && isdigit((unsigned char)*r->p) ? 0 : n;
}

typedef struct Words { /* of a declaration, before its name: how often each stands there */
    int space, unsign, sign, chars, shorts, ints, longs, floats, doubles;
} Words;

static bool add_word(Words *w, const char *word, size_t len) {
    const struct {
        const char *name;
        int *count;
    } known[] = {{"__device__", &w->space}, {"__constant__", &w->space}, {"unsigned", &w->unsign},
                 {"signed", &w->sign},      {"char", &w->chars},         {"short", &w->shorts},
                 {"int", &w->ints},         {"long", &w->longs},         {"float", &w->floats},
                 {"double", &w->doubles}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i].name) == len && memcmp(known[i].name, word, len) == 0)
            return ++*known[i].count > 0;
    return false;
}

/* The type that the words mean; a size of 0 where they are none, or one of another kind. */
static Type type_of(const Words *w) {
    const int whole = w->unsign + w->sign + w->chars + w->shorts + w->ints + w->longs;
    Type t = {0, w->floats + w->doubles > 0, w->unsign == 0};
    if (w->space != 1 || w->unsign + w->sign > 1 || w->chars + w->shorts > 1 || w->ints > 1)
        return t;
    if (t.is_float) t.size = whole + w->floats + w->doubles == 1 ? (w->floats ? 4 : 8) : 0;
    else if (w->longs) t.size = w->longs <= 2 && w->chars + w->shorts == 0 ? 8 : 0;
    else if (w->chars) t.size = w->ints == 0 ? 1 : 0;
    else if (whole) t.size = w->shorts ? 2 : 4;
    return t;
}

/* Reads `[9][2]`: how many elements; 0 where that is not in figures. */
static size_t read_sizes(Reader *r) {
    size_t all = 1;
    int n = 0;
    for (skip_blanks(r); at(r, "["); skip_blanks(r), n++) {
        char *stop;
        r->p++;
        skip_blanks(r);
        if (r->p == r->end || *r->p < '1' || *r->p > '9') return 0;
        const unsigned long long size = strtoull(r->p, &stop, 10);
        r->p = stop;
        skip_blanks(r);
        if (!at(r, "]") || size > MOST_BYTES / all) return 0;
        all *= size;
        r->p++;
    }
    return n > 0 && n <= MOST_SIZES ? all : 0;
}

/* --- numbers */

static bool is_end_of_number(const char *p) {
    return *p == ',' || *p == '}' || *p == '/' || isspace((unsigned char)*p);
}

/* A whole number: decimal without a leading 0, or hexadecimal; at most one u behind it. */
static bool read_whole(Reader *r, unsigned long long *value) {
    const bool hex = at(r, "0x") || at(r, "0X");
    char *stop;
    if (!isdigit((unsigned char)*r->p)) return false;
    if (!hex && *r->p == '0' && isdigit((unsigned char)r->p[1])) return false;
    errno = 0;
    *value = strtoull(r->p, &stop, hex ? 16 : 10);
    if (errno) return false;
    if (*stop == 'u' || *stop == 'U') stop++;
    r->p = stop;
    return is_end_of_number(stop);
}

/* A number of C that strtod reads alike: figures, a point or an exponent, perhaps an f behind. */
static bool read_real(Reader *r, Type t, double *value) {
    const size_t figures = strspn(r->p, "0123456789."), all = strspn(r->p, "0123456789.eE+-");
    char *stop;
    if (figures == 0 || r->p[0] == '\0') return false;
    if (r->p[figures] != 'e' && r->p[figures] != 'E' && memchr(r->p, '.', figures) == NULL) {
        unsigned long long whole;
        if (figures > EXACT_DIGITS || !read_whole(r, &whole)) return false;
        *value = (double)whole;
        return true;
    }
    errno = 0;
    const bool single = r->p[all] == 'f' || r->p[all] == 'F';
    *value = single ? (double)strtof(r->p, &stop) : strtod(r->p, &stop);
    if (errno || stop != r->p + all) return false;
    r->p = stop + single;
    const double kept = t.size == 4 ? (double)(float)*value : *value;
    return is_end_of_number(r->p) && isfinite(kept) && (isnormal(kept) || *value == 0);
}

static bool fits(unsigned long long value, bool minus, Type t) {
    const unsigned long long top = t.size == 8 ? ~0ull : (1ull << 8 * t.size) - 1;
    if (t.is_signed) return value <= top / 2 + minus;
    return !minus && value <= top;
}

/* One element, to its bytes. -0 of a whole number is 0. */
static bool read_number(Reader *r, Type t, unsigned char *bytes) {
    const bool minus = *r->p == '-';
    if (minus || *r->p == '+') {
        r->p++;
        skip_blanks(r);
    }
    if (!t.is_float) {
        unsigned long long value;
        if (!read_whole(r, &value) || !fits(value, minus, t)) return false;
        if (minus) value = 0 - value;
        memcpy(bytes, &value, (size_t)t.size); /* the low bytes come first, as on a GPU */
        return true;
    }
    const bool has_point = strcspn(r->p, ".eE") < strcspn(r->p, ",}");
    double value;
    if (!read_real(r, t, &value)) return false;
    if (minus) value = has_point ? -value : 0 - value;
    const float single = (float)value;
    if (t.size == 4) memcpy(bytes, &single, 4);
    else memcpy(bytes, &value, 8);
    return true;
}

/* The list, from behind its `{` to its `}`. */
static bool read_list(Reader *r, Type t, ValuesArray *a) {
    for (size_t n = 0; r->p < r->end; n += (size_t)t.size) {
        skip_blanks(r);
        if (at(r, "}")) return n > 0;
        if (n == a->size || !read_number(r, t, a->bytes + n)) return false;
        skip_blanks(r);
        if (at(r, ",")) r->p++;
        else if (!at(r, "}")) return false;
    }
    return false;
}

/* The words and the name of a declaration; the name is the last word. */
static bool read_words(Reader *r, Words *words, const char **name, size_t *len) {
    for (skip_blanks(r); (*len = word_length(r)) > 0; skip_blanks(r)) {
        *name = r->p;
        r->p += *len;
        if (!add_word(words, *name, *len)) return true;
    }
    return false;
}

/* A declaration whose list can be taken, from its first word to its `}`: list is where that begins
** and the reader stands at its end. */
static bool read_array(Reader *r, const char **list, ValuesArray *a) {
    Words words = {0};
    const char *name;
    size_t len;
    if (!read_words(r, &words, &name, &len)) return false;
    const Type t = type_of(&words);
    const size_t n = t.size ? read_sizes(r) : 0;
    if (n == 0 || n > (size_t)(MOST_BYTES / t.size) || !at(r, "=")) return false;
    *list = r->p++;
    skip_blanks(r);
    if (!at(r, "{")) return false;
    r->p++;
    *a = (ValuesArray){.size = n * (size_t)t.size};
    a->bytes = gi_alloc(a->size);
    Reader behind = *r;
    bool done = read_list(&behind, t, a) && behind.p - *list >= VALUES_LONG;
    *r = behind;
    if (done) {
        r->p++;
        skip_blanks(r);
        done = at(r, ";");
    }
    if (done) a->name = gi_strndup(name, len);
    else free(a->bytes);
    return done;
}

static void add_newlines(gi_buf *out, const char *p, const char *end) {
    for (; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++) gi_buf_add(out, "\n", 1);
}

char *values_take(const char *source, size_t len, Values *out) {
    *out = (Values){0};
    if (len < VALUES_LONG || memchr(source, '\0', len)) return NULL;
    char *text = gi_strndup(source, len);
    gi_buf rest = {0};
    const char *from = text;
    Reader r = {text, text + len, 0};
    if (strstr(text, "R\"")) r.p = r.end; /* a string that skip_quoted does not know */
    for (skip_blanks(&r); r.p < r.end; skip_blanks(&r)) {
        const char *list;
        ValuesArray a;
        Reader ahead = r;
        if (*r.p == '#') {
            skip_directive(&r);
        } else if (r.conditions == 0 && read_array(&ahead, &list, &a)) {
            gi_buf_add(&rest, from, (size_t)(list - from));
            add_newlines(&rest, list, ahead.p);
            from = r.p = ahead.p;
            gi_grow(out->v, out->n, out->cap);
            out->v[out->n++] = a;
        } else {
            skip_statement(&r);
        }
    }
    gi_buf_adds(&rest, from);
    free(text);
    if (out->n > 0) return rest.data;
    gi_buf_free(&rest);
    return NULL;
}

/* --- into the PTX */

/* NVRTC leaves out the zeros at the end. */
static size_t used_bytes(const ValuesArray *a) {
    size_t n = a->size;
    while (n > 0 && a->bytes[n - 1] == 0) n--;
    return n;
}

static void add_bytes(gi_buf *out, const ValuesArray *a, size_t n) {
    char digits[8];
    gi_buf_adds(out, " = {");
    for (size_t i = 0; i < n; i++) {
        char *p = digits + sizeof digits;
        for (unsigned left = a->bytes[i]; p == digits + sizeof digits || left; left /= 10)
            *--p = (char)('0' + left % 10);
        if (i) gi_buf_add(out, ", ", 2);
        gi_buf_add(out, p, (size_t)(digits + sizeof digits - p));
    }
    gi_buf_adds(out, "}");
}

/* Where the declaration of an array without values ends; NULL where there is none. */
static const char *declaration(const char *ptx, const ValuesArray *a) {
    gi_buf text = {0};
    gi_buf_addf(&text, " .b8 %s[%zu];\n", a->name, a->size);
    const char *found = strstr(ptx, text.data);
    if (found) found += text.len - 2;
    gi_buf_free(&text);
    return found;
}

bool values_give(const Values *values, gi_buf *ptx) {
    for (int i = 0; i < values->n; i++) {
        const ValuesArray *a = &values->v[i];
        const char *end = declaration(ptx->data, a);
        const size_t n = used_bytes(a);
        if (end == NULL) return false;
        if (n == 0) continue;
        gi_buf whole = {0};
        gi_buf_add(&whole, ptx->data, (size_t)(end - ptx->data));
        add_bytes(&whole, a, n);
        gi_buf_add(&whole, end, ptx->len - (size_t)(end - ptx->data));
        gi_buf_free(ptx);
        *ptx = whole;
    }
    return true;
}

void values_free(Values *values) {
    for (int i = 0; i < values->n; i++) {
        free(values->v[i].name);
        free(values->v[i].bytes);
    }
    free(values->v);
    *values = (Values){0};
}
