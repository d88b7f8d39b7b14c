/* shared.c - see shared.h. The source is read as words and characters; comments, strings and
** preprocessor lines are skipped. */
#include "compile/shared.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
    const char *start, *p, *end;
    bool line_begins; /* nothing but blanks so far on this line */
} Reader;

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

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The next word or character: *len is its length, 0 at the end. */
static const char *next(Reader *r, size_t *len) {
    for (; r->p < r->end;) {
        char c = *r->p, after = r->p + 1 < r->end ? r->p[1] : '\0';
        if (c == '\n') r->line_begins = true, r->p++;
        else if (isspace((unsigned char)c)) r->p++;
        else if (c == '#' && r->line_begins) skip_line(r);
        else if (c == '/' && after == '/') skip_line(r);
        else if (c == '/' && after == '*') skip_comment(r);
        else if (c == '"' || c == '\'') r->line_begins = false, skip_quoted(r);
        else break;
    }
    const char *word = r->p;
    r->line_begins = false;
    if (r->p < r->end && is_word(*r->p))
        while (r->p < r->end && is_word(*r->p)) r->p++;
    else if (r->p < r->end) r->p++;
    *len = (size_t)(r->p - word);
    return word;
}

static bool is(const char *word, size_t len, const char *text) {
    return strlen(text) == len && memcmp(word, text, len) == 0;
}

static void add_name(Shared *s, const char *word, size_t len) {
    gi_grow(s->names, s->n_names, s->cap_names);
    s->names[s->n_names++] = gi_strndup(word, len);
}

static void drop_names(Shared *s, int keep) {
    while (s->n_names > keep) free(s->names[--s->n_names]);
}

/* Reads a declaration behind its `__constant__`, to its semicolon: notes the names it declares, or
** none when it gives a value or is no simple declaration. */
static bool read_declaration(Reader *r, Shared *s) {
    int depth = 0, before = s->n_names;
    const char *last = NULL, *word;
    size_t last_len = 0, len;
    bool named = false; /* the present declarator's name is noted */
    while (word = next(r, &len), len > 0) {
        char c = len == 1 ? *word : '\0';
        if (c == '=' || c == '{' || c == '}' || c == '<') break;
        if (depth == 0 && !named && last && (c == ';' || c == ',' || c == '[')) {
            add_name(s, last, last_len);
            named = true;
        }
        if (c == ';' && depth == 0) return s->n_names > before;
        if (c == ',' && depth == 0) named = false;
        if (c == '[' || c == '(') depth++;
        if (c == ']' || c == ')') depth--;
        last = is_word(*word) ? word : NULL;
        last_len = len;
    }
    drop_names(s, before);
    return false;
}

void shared_find(const gi_buf *source, Shared *out) {
    const char *text = source->len ? source->data : "";
    Reader r = {text, text, text + source->len, true};
    int depth = 0;
    bool begins = true; /* a declaration */
    const char *word;
    size_t len;
    while (word = next(&r, &len), len > 0) {
        if (depth == 0 && begins && is(word, len, "__constant__")) {
            Reader declaration = r;
            if (read_declaration(&declaration, out)) {
                gi_grow(out->places, out->n_places, out->cap_places);
                out->places[out->n_places++] = (size_t)(word - r.start);
                gi_buf_add(&out->texts, word, (size_t)(declaration.p - word));
                r = declaration;
                continue;
            }
        }
        if (*word == '{') depth++;
        if (*word == '}') depth--;
        begins = len == 1 && (*word == ';' || *word == '}');
    }
}

void shared_free(Shared *s) {
    drop_names(s, 0);
    gi_buf_free(&s->texts);
    free(s->names);
    free(s->places);
    *s = (Shared){0};
}

bool shared_has(const Shared *s, const char *name) {
    for (int i = 0; i < s->n_names; i++)
        if (strcmp(s->names[i], name) == 0) return true;
    return false;
}

bool shared_equal(const Shared *a, const Shared *b) {
    return a->texts.len == b->texts.len &&
           (a->texts.len == 0 || memcmp(a->texts.data, b->texts.data, a->texts.len) == 0);
}

void shared_declare(const Shared *s, const gi_buf *source, gi_buf *out) {
    size_t done = 0;
    for (int i = 0; i < s->n_places; i++) {
        gi_buf_add(out, source->data + done, s->places[i] - done);
        gi_buf_adds(out, "extern ");
        done = s->places[i];
    }
    gi_buf_add(out, source->data + done, source->len - done);
}
