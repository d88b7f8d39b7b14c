/* log.c - see log.h. */
#include "compile/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *line_end(const char *p) {
    const char *end = strchr(p, '\n');
    return end ? end + 1 : p + strlen(p);
}

/* Where s occurs in [p, end), or NULL. */
static const char *find_in(const char *p, const char *end, const char *s) {
    size_t n = strlen(s);
    size_t most = (size_t)(end - p) + n - 1; /* it begins before the end */
    return end > p ? memmem(p, strnlen(p, most), s, n) : NULL;
}

static bool starts(const char *p, const char *s) {
    return strncmp(p, s, strlen(s)) == 0;
}

/* `error: …`, `catastrophic error: …`, `warning #177-D: …`, `note #3327-D: …` */
static bool read_kind(const char *p, LogKind *kind) {
    if (starts(p, "error") || starts(p, "catastrophic error") || starts(p, "internal error"))
        *kind = LOG_ERROR;
    else if (starts(p, "warning")) *kind = LOG_WARNING;
    else if (starts(p, "note") || starts(p, "remark")) *kind = LOG_NOTE;
    else return false;
    return true;
}

/* `file(12): kind: text`. The file's name may hold parentheses and colons of its own. */
static bool read_source_line(const char *p, const char *end, LogBlock *b) {
    for (const char *mark = find_in(p, end, "): "); mark; mark = find_in(mark + 1, end, "): ")) {
        const char *digits = mark;
        while (digits > p && isdigit((unsigned char)digits[-1])) digits--;
        if (digits == mark || digits < p + 2 || digits[-1] != '(') continue;
        if (!read_kind(mark + 3, &b->kind)) continue;
        const char *colon = find_in(mark + 3, end, ": ");
        b->file = p;
        b->file_len = (size_t)(digits - 1 - p);
        b->line = atoi(digits);
        b->text = colon ? colon + 2 : mark + 3;
        return true;
    }
    return false;
}

/* `ptxas error   : text`, `nvrtc: error: text`, `At end of source: error: text` */
static bool read_tool_line(const char *p, const char *end, LogBlock *b) {
    if (!starts(p, "ptxas") && !starts(p, "nvrtc") && !starts(p, "nvlink") &&
        !starts(p, "At end of source"))
        return false;
    bool warning = find_in(p, end, "warning") != NULL;
    const char *word = find_in(p, end, warning ? "warning" : "error");
    if (word == NULL) word = find_in(p, end, "fatal");
    if (word == NULL) return false;
    const char *colon = find_in(word, end, ": ");
    b->kind = warning ? LOG_WARNING : LOG_ERROR;
    b->file = NULL;
    b->file_len = 0;
    b->line = 0;
    b->text = colon ? colon + 2 : word;
    return true;
}

static bool read_first_line(const char *p, LogBlock *b) {
    const char *end = line_end(p);
    return read_source_line(p, end, b) || read_tool_line(p, end, b);
}

bool log_next(const char **p, LogBlock *block) {
    LogBlock ignored;
    const char *at = *p;
    while (*at && !read_first_line(at, block)) at = line_end(at);
    *p = at;
    if (*at == '\0') return false;
    block->start = at;
    at = line_end(at);
    while (*at && *at != '\n' && !read_first_line(at, &ignored)) at = line_end(at);
    block->end = *p = at;
    return true;
}

/* A line of blanks and one or more carets: it and the line above show the source. */
static bool is_caret(const char *p, const char *end) {
    bool caret = false;
    for (; p < end; p++) {
        if (*p == '^') caret = true;
        if (!strchr(" \t^~\r\n", *p)) return false;
    }
    return caret;
}

static void add_trimmed(gi_buf *out, const char *p, const char *end) {
    while (p < end && isspace((unsigned char)*p)) p++;
    while (end > p && isspace((unsigned char)end[-1])) end--;
    if (out->len && end > p) gi_buf_adds(out, " ");
    gi_buf_add(out, p, (size_t)(end - p));
}

char *log_text(const LogBlock *block) {
    gi_buf out = {0};
    const char *p = line_end(block->start);
    add_trimmed(&out, block->text, p);
    while (p < block->end) {
        const char *next = line_end(p), *after = next < block->end ? line_end(next) : next;
        if (is_caret(next, after)) {
            p = after;
            continue;
        }
        add_trimmed(&out, p, next);
        p = next;
    }
    return out.data;
}

static char *with_file(const LogBlock *b, char *text) {
    gi_buf out = {0};
    gi_buf_addf(&out, "%.*s(%d): %s", (int)b->file_len, b->file, b->line, text);
    free(text);
    return out.data;
}

void log_messages(const char *log, const char *name, CompileResult *r) {
    LogBlock b;
    int cap = r->n_messages;
    while (log_next(&log, &b)) {
        if (b.kind == LOG_NOTE) continue;
        bool own = b.file && strlen(name) == b.file_len && memcmp(name, b.file, b.file_len) == 0;
        CompileMessage m = {own ? b.line : 0, b.kind == LOG_ERROR, log_text(&b)};
        if (b.file && !own) m.text = with_file(&b, m.text);
        gi_grow(r->messages, r->n_messages, cap);
        r->messages[r->n_messages++] = m;
    }
}
