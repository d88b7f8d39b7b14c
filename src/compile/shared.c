/* shared.c - see shared.h. The source is read as words and characters; comments, strings and
** preprocessor lines are skipped, but for the count of open conditions. */
#include "compile/shared.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    const char *start, *p, *end;
    bool line_begins; /* nothing but blanks so far on this line */
    int conditions;   /* #if … that are open */
    int directives;   /* preprocessor lines so far */
} Reader;

static bool at(const Reader *r, const char *p, const char *word) {
    size_t len = strlen(word);
    return (size_t)(r->end - p) >= len && memcmp(p, word, len) == 0;
}

static void skip_line(Reader *r) {
    while (r->p < r->end && *r->p != '\n') {
        if (*r->p == '\\' && r->p + 1 < r->end) r->p++;
        r->p++;
    }
}

static void skip_comment(Reader *r) {
    r->p += 2;
    while (r->p + 1 < r->end && !(r->p[0] == '*' && r->p[1] == '/')) r->p++;
    r->p = r->p + 1 < r->end ? r->p + 2 : r->end;
}

static void skip_quoted(Reader *r) {
    char quote = *r->p++;
    while (r->p < r->end && *r->p != quote && *r->p != '\n') {
        if (*r->p == '\\' && r->p + 1 < r->end) r->p++;
        r->p++;
    }
    if (r->p < r->end) r->p++;
}

static void skip_directive(Reader *r) {
    const char *p = r->p + 1;
    while (p < r->end && (*p == ' ' || *p == '\t')) p++;
    r->directives++;
    if (at(r, p, "if")) r->conditions++;
    else if (at(r, p, "endif") && r->conditions > 0) r->conditions--;
    skip_line(r);
}

/* The next word or character: *len is its length, 0 at the end. */
static const char *next(Reader *r, size_t *len) {
    for (; r->p < r->end;) {
        char c = *r->p, after = r->p + 1 < r->end ? r->p[1] : '\0';
        if (c == '\n') r->line_begins = true, r->p++;
        else if (isspace((unsigned char)c)) r->p++;
        else if (c == '#' && r->line_begins) skip_directive(r);
        else if (c == '/' && after == '/') skip_line(r);
        else if (c == '/' && after == '*') skip_comment(r);
        else if (c == '"' || c == '\'') r->line_begins = false, skip_quoted(r);
        else break;
    }
    const char *word = r->p;
    r->line_begins = false;
    if (r->p < r->end && gi_is_letter(*r->p))
        while (r->p < r->end && gi_is_letter(*r->p)) r->p++;
    else if (r->p < r->end) r->p++;
    *len = (size_t)(r->p - word);
    return word;
}

static bool is(const char *word, size_t len, const char *text) {
    return strlen(text) == len && memcmp(word, text, len) == 0;
}

static bool is_one_of(const char *word, size_t len, const char *const *list) {
    for (int i = 0; list && list[i]; i++)
        if (is(word, len, list[i])) return true;
    return false;
}

static void add_name(Shared *s, const char *word, size_t len) {
    gi_grow(s->names, s->n_names, s->cap_names);
    s->names[s->n_names++] = gi_strndup(word, len);
}

static void add_edit(Shared *s, size_t from, size_t to) {
    gi_grow(s->edits, s->n_edits, s->cap_edits);
    s->edits[s->n_edits++] = (SharedEdit){from, to};
}

static void cut_back(Shared *s, int names, int edits) {
    while (s->n_names > names) free(s->names[--s->n_names]);
    s->n_edits = edits;
}

/* Reads a value of literals behind its `=`, up to the comma or semicolon that ends it. */
static bool read_value(Reader *r) {
    int depth = 0;
    size_t len;
    for (;;) {
        Reader before = *r;
        const char *word = next(r, &len);
        if (len == 0) return false;
        if (depth == 0 && (*word == ',' || *word == ';')) {
            *r = before;
            return true;
        }
        if (*word == '{' || *word == '(') depth++;
        else if (*word == '}' || *word == ')') depth--;
        else if (!isdigit((unsigned char)*word) && !strchr(".,+-*/", *word)) return false;
    }
}

/* One declarator, up to the comma or semicolon behind it: `name`, `*name`, `name[2][N]`,
** `name[2] = {1, 2}`; the first one of a declaration has the type before it. Returns what ended
** it, or '\0' when it is nothing that can be shared. */
static char read_declarator(Reader *r, const char *const *own, Shared *s) {
    static const char *const never[] = {"const", "constexpr", "static", "extern", "auto", NULL};
    static const char *const aligned[] = {"__align__", "alignas", NULL};
    int depth = 0;
    const char *name = NULL, *word;
    size_t name_len = 0, len;
    bool extent = false;
    while (word = next(r, &len), len > 0) {
        char c = len == 1 ? *word : '\0';
        if (depth == 0 && name && (c == '=' || c == ',' || c == ';')) break;
        if (c == '(' && depth == 0 && !is_one_of(name ? name : "", name_len, aligned)) return '\0';
        if (c == '[') extent = true;
        if (c == '[' || c == '(') depth++;
        else if (c == ']' || c == ')') depth--;
        else if (depth == 0 && gi_is_letter(*word)) {
            bool foreign = name && is_one_of(name, name_len, own);
            if (foreign || extent || is_one_of(word, len, never)) return '\0';
            name = word;
            name_len = len;
        } else if (depth <= 0 && c != '*') {
            return '\0';
        }
    }
    if (len == 0) return '\0';
    add_name(s, name, name_len);
    if (*word != '=') return *word;
    size_t from = (size_t)(word - r->start);
    if (!read_value(r)) return '\0';
    add_edit(s, from, (size_t)(r->p - r->start));
    return *next(r, &len);
}

/* Reads a declaration behind its `__constant__`, to its semicolon. */
static bool read_declaration(Reader *r, const char *const *own, Shared *s) {
    int names = s->n_names, edits = s->n_edits, directives = r->directives;
    char end = ',';
    while (end == ',') end = read_declarator(r, own, s);
    if (end == ';' && r->directives == directives) return true;
    cut_back(s, names, edits);
    return false;
}

/* The declaration that begins at `word` and whose `__constant__` is behind r. */
static void try_declaration(Reader *r, const char *word, const char *const *own, Shared *s) {
    Reader ahead = *r;
    size_t from = (size_t)(word - r->start);
    int edits = s->n_edits;
    add_edit(s, from, from);
    if (!read_declaration(&ahead, own, s)) {
        s->n_edits = edits;
        return;
    }
    gi_buf_add(&s->texts, word, (size_t)(ahead.p - word));
    ahead.p--; /* at the semicolon */
    *r = ahead;
}

void shared_find(const gi_buf *source, const char *const *own, Shared *out) {
    const char *text = source->len ? source->data : "";
    Reader r = {text, text, text + source->len, true, 0, 0};
    int depth = 0;
    const char *start = NULL, *word; /* of the declaration, while it may be one of a constant */
    bool begins = true;
    size_t len;
    while (word = next(&r, &len), len > 0) {
        if (begins) start = word;
        begins = len == 1 && (*word == ';' || *word == '}');
        if (*word == '{') depth++;
        else if (*word == '}') depth--;
        else if (start && is(word, len, "__device__")) continue;
        else if (start && depth == 0 && r.conditions == 0 && is(word, len, "__constant__"))
            try_declaration(&r, start, own, out);
        start = NULL;
    }
    gi_grow(out->names, out->n_names, out->cap_names);
    out->names[out->n_names] = NULL;
}

void shared_free(Shared *s) {
    cut_back(s, 0, 0);
    gi_buf_free(&s->texts);
    free(s->names);
    free(s->edits);
    *s = (Shared){0};
}

bool shared_has(const Shared *s, const char *name, size_t len) {
    return is_one_of(name, len, (const char *const *)s->names);
}

bool shared_equal(const Shared *a, const Shared *b) {
    return a->texts.len == b->texts.len &&
           (a->texts.len == 0 || memcmp(a->texts.data, b->texts.data, a->texts.len) == 0);
}

static void blank(const char *p, const char *end, gi_buf *out) {
    for (; p < end; p++) gi_buf_add(out, *p == '\n' ? "\n" : " ", 1);
}

void shared_declare(const Shared *s, const gi_buf *source, gi_buf *out) {
    size_t done = 0;
    for (int i = 0; i < s->n_edits; i++) {
        const SharedEdit *e = &s->edits[i];
        gi_buf_add(out, source->data + done, e->from - done);
        if (e->to == e->from) gi_buf_adds(out, "extern ");
        else blank(source->data + e->from, source->data + e->to, out);
        done = e->to;
    }
    gi_buf_add(out, source->data + done, source->len - done);
}

bool shared_stands(const gi_buf *source, const char *name) {
    Reader r = {source->data, source->data, source->data + source->len, true, 0, 0};
    int depth = 0;
    size_t len;
    for (const char *word; word = next(&r, &len), len > 0;) {
        if (*word == '{') depth++;
        else if (*word == '}') depth--;
        else if (depth == 0 && r.conditions == 0 && is(word, len, name)) return true;
    }
    return false;
}
