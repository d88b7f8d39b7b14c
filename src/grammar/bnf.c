/* bnf.c - the grammar as BNF text, and back.
**
**   # gilua grammar 1                                  options, one a line, in comments
**   # config "c_UseBSpline" "1" source
**   <kernel.cu_167> ::= " if" <IF_kernel.cu_167> " {\n"
**   <IF_kernel.cu_167> ::= "(tid<c_ActiveVoxelNumber)"
**
** Every line of the file is one rule; a rule that begins on it hangs below. The guards of open
** loops are rules whose names begin with <guard. Reading inverts the grammar with the empty patch,
** parses the source that comes out with the options of the comments, and insists that this gives
** the very rules that were read. A line that begins with a blank continues the one before.
** Reference: GECCO 2014 Figure 2; Langdon 2015 Figure 8.11.
*/
#include "grammar/inside.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- printing ---- */

static void put_quoted(gi_buf *out, const char *text, size_t len) {
    gi_buf_adds(out, "\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n') gi_buf_adds(out, "\\n");
        else if (c == '\t') gi_buf_adds(out, "\\t");
        else if (c == '"' || c == '\\') gi_buf_addf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f) gi_buf_addf(out, "\\x%02x", c);
        else gi_buf_add(out, text + i, 1);
    }
    gi_buf_adds(out, "\"");
}

static void put_option(gi_buf *out, const char *name, const char *value) {
    if (value == NULL) return;
    gi_buf_addf(out, "# %s ", name);
    put_quoted(out, value, strlen(value));
    gi_buf_adds(out, "\n");
}

/* The options that are yes or no: words of the line `# open`. */
static const struct { const char *word; size_t at; } open_words[] = {
    {" loops", offsetof(GrammarOptions, open_loops)},
    {" initialisers", offsetof(GrammarOptions, initialisers)},
    {" skip_idle", offsetof(GrammarOptions, skip_idle)},
    {" pragmas", offsetof(GrammarOptions, pragmas)},
    {" restricts", offsetof(GrammarOptions, restricts)},
    {" consts", offsetof(GrammarOptions, consts)},
    {" volatiles", offsetof(GrammarOptions, volatiles)},
    {" launch_bounds", offsetof(GrammarOptions, launch_bounds)},
    {" math", offsetof(GrammarOptions, math)}};
enum { N_OPEN = sizeof open_words / sizeof *open_words };

static void put_options(const Grammar *g, gi_buf *out) {
    const GrammarOptions *o = &g->options;
    gi_buf_adds(out, "# gilua grammar 1\n");
    put_option(out, "file", o->file);
    put_option(out, "kernel", o->kernel);
    gi_buf_adds(out, "# open");
    for (size_t i = 0; i < N_OPEN; i++)
        if (*(const bool *)((const char *)o + open_words[i].at))
            gi_buf_adds(out, open_words[i].word);
    gi_buf_adds(out, "\n");
    put_option(out, "threads", o->launch_bounds_threads);
    for (int i = 0; i < o->n_config; i++) {
        const GrammarConfig *c = &o->config[i];
        gi_buf_adds(out, "# config ");
        put_quoted(out, c->name, strlen(c->name));
        if (c->on_value) {
            gi_buf_adds(out, " ");
            put_quoted(out, c->on_value, strlen(c->on_value));
        }
        gi_buf_addf(out, " %s\n", c->in_source ? "source" : "host");
    }
}

/* Text [from, to) of one line, if there is any. */
static void put_piece(const Grammar *g, int from, int to, gi_buf *out) {
    if (from >= to) return;
    gi_buf_adds(out, " ");
    put_quoted(out, g->text + from, (size_t)(to - from));
}

static void put_guard_name(const Grammar *g, const Hole *h, bool before, gi_buf *out) {
    gi_buf guard = {0};
    RuleType type = h->rule < 0 ? RULE_FIXED : g->rule[h->rule].type;
    bool loop = type == RULE_FOR2 || type == RULE_WHILE;
    if (loop && before) guard_before(type, g->rule[h->rule].text, &guard);
    else if (loop) guard_after(type, g->rule[h->rule].text, &guard);
    if (guard.len == 1) gi_buf_adds(out, " <guard_end>");
    else if (guard.len)
        gi_buf_adds(out, type == RULE_WHILE ? " <guard_while>"
                         : guard.data[guard.len - 1] == '(' ? " <guard_for_open>"
                         : guard.data[guard.len - 1] == '&' ? " <guard_for>" : " <guard_only>");
    gi_buf_free(&guard);
}

static void put_hole(const Grammar *g, const Hole *h, gi_buf *out) {
    if (h->rule < 0) {
        gi_buf_adds(out, " <guard_loops>");
        return;
    }
    bool guarded = g->options.open_loops;
    if (guarded) put_guard_name(g, h, true, out);
    gi_buf_addf(out, " %s", g->rule[h->rule].name);
    if (guarded) put_guard_name(g, h, false, out);
}

static void put_guards(const Grammar *g, gi_buf *out) {
    if (!g->options.open_loops) return;
    gi_buf_adds(out, "<guard_loops> ::= \" GILUA_LOOPS\"\n"
                     "<guard_for> ::= \"GILUA_OK()&&\"\n"
                     "<guard_for_open> ::= \"GILUA_OK()&&(\"\n"
                     "<guard_only> ::= \"GILUA_OK()\"\n"
                     "<guard_while> ::= \"(GILUA_OK()&&\"\n"
                     "<guard_end> ::= \")\"\n");
}

/* The right-hand side of a line; *at is the byte reached, *hole the next hole. */
static void put_line(const Grammar *g, int line, int *at, int *hole, gi_buf *out) {
    const Tree *t = &g->tree;
    int end = line < t->n_lines ? t->line_start[line] : t->len;
    size_t before = out->len;
    bool last = line == t->n_lines;
    while (*hole < g->n_hole && (g->hole[*hole].start < end || last)) {
        const Hole *h = &g->hole[(*hole)++];
        if (h->rule == HOLE_CLOCK) continue; /* in sources that are timed so, not in the grammar */
        put_piece(g, *at, h->start, out);
        put_hole(g, h, out);
        *at = h->end;
    }
    if (*at < end) {
        put_piece(g, *at, end, out);
        *at = end;
    }
    if (out->len == before) gi_buf_adds(out, " \"\"");
}

void grammar_print(const Grammar *g, gi_buf *out) {
    int at = 0, hole = 0;
    put_options(g, out);
    for (int i = 0; i < g->n_rule; i++) {
        const Rule *r = &g->rule[i];
        gi_buf_addf(out, "%s ::=", r->name);
        if (r->type == RULE_FIXED) put_line(g, r->line, &at, &hole, out);
        else {
            gi_buf_adds(out, " ");
            put_quoted(out, r->text, strlen(r->text));
        }
        if (r->protected_why) gi_buf_addf(out, "\n# protected: %s", r->protected_why);
        gi_buf_adds(out, "\n");
    }
    put_guards(g, out);
}

/* ---- reading ---- */

typedef struct Bnf {
    char **name, **right; /* rules, with continuation lines joined */
    int n, cap, cap_right;
    int *slot, n_slots;   /* hash of names */
    GrammarOptions options;
    GrammarConfig *config;
    int cap_config;
    bool headed;
    gi_err *err;
} Bnf;

static int hex(char c) {
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Appends the quoted string at *p to out and moves behind it. */
static bool read_quoted(const char **p, gi_buf *out) {
    const char *s = *p;
    if (*s++ != '"') return false;
    gi_buf_adds(out, "");
    for (; *s && *s != '"'; s++) {
        char c = *s;
        if (c == '\\') {
            c = *++s;
            if (c == 'n') c = '\n';
            else if (c == 't') c = '\t';
            else if (c == 'x') {
                int high = hex(s[1]), low = high < 0 ? -1 : hex(s[2]);
                if (low < 0 || high + low == 0) return false;
                c = (char)(high * 16 + low);
                s += 2;
            } else if (c != '"' && c != '\\') return false;
        }
        gi_buf_add(out, &c, 1);
    }
    if (*s != '"') return false;
    *p = s + 1;
    return true;
}

static char *option_string(const char **p) {
    gi_buf text = {0};
    while (**p == ' ') (*p)++;
    if (read_quoted(p, &text)) return text.data;
    gi_buf_free(&text);
    return NULL;
}

static void read_config(Bnf *b, const char *p) {
    int n = b->options.n_config;
    GrammarConfig c = {.name = option_string(&p)};
    if (c.name == NULL) return;
    c.on_value = option_string(&p);
    c.in_source = strstr(p, "source") != NULL;
    gi_grow(b->config, n, b->cap_config);
    b->config[n] = c;
    b->options.n_config = n + 1;
    b->options.config = b->config;
}

static void set_string(const char **field, const char *p) {
    free((char *)*field);
    *field = option_string(&p);
}

static void read_comment(Bnf *b, const char *line) {
    GrammarOptions *o = &b->options;
    if (strncmp(line, "# gilua grammar 1", 17) == 0) b->headed = true;
    else if (strncmp(line, "# file ", 7) == 0) set_string(&o->file, line + 7);
    else if (strncmp(line, "# kernel ", 9) == 0) set_string(&o->kernel, line + 9);
    else if (strncmp(line, "# threads ", 10) == 0)
        set_string(&o->launch_bounds_threads, line + 10);
    else if (strncmp(line, "# config ", 9) == 0) read_config(b, line + 9);
    else if (strncmp(line, "# open", 6) == 0)
        for (size_t i = 0; i < N_OPEN; i++)
            *(bool *)((char *)o + open_words[i].at) = strstr(line, open_words[i].word) != NULL;
}

static bool bad_line(const Bnf *b, int number, const char *why) {
    return gi_fail(b->err, "format", "line %d of the BNF: %s", number, why);
}

static bool read_line(Bnf *b, char *line, int number) {
    size_t n = strlen(line);
    if (line[0] == '#') return read_comment(b, line), true;
    if (line[strspn(line, " \t\r")] == '\0') return true;
    if (line[0] == ' ' || line[0] == '\t') {
        if (b->n == 0) return bad_line(b, number, "it continues a rule, and there is none before");
        gi_buf joined = {0};
        gi_buf_addf(&joined, "%s%s", b->right[b->n - 1], line);
        free(b->right[b->n - 1]);
        b->right[b->n - 1] = joined.data;
        return true;
    }
    char *is = strstr(line, "> ::=");
    if (line[0] != '<' || is == NULL || n < 5)
        return bad_line(b, number, "it is neither a comment nor a rule `<name> ::= …`");
    int k = b->n;
    gi_grow(b->name, k, b->cap);
    gi_grow(b->right, k, b->cap_right);
    b->name[k] = gi_strndup(line, (size_t)(is + 1 - line));
    b->right[k] = gi_strdup(is + 5);
    b->n++;
    return true;
}

static bool read_lines(Bnf *b, const char *text, size_t len) {
    int number = 0;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        char *line = gi_strndup(text + at, n);
        bool fine = read_line(b, line, ++number);
        free(line);
        if (!fine) return false;
        at += n + 1;
    }
    return true;
}

static int *bnf_slot(const Bnf *b, const char *name, size_t len) {
    uint64_t at = gi_hash(name, len, 0);
    for (;; at++) {
        int *slot = &b->slot[at & (uint64_t)(b->n_slots - 1)];
        if (*slot == 0) return slot;
        const char *known = b->name[*slot - 1];
        if (strlen(known) == len && memcmp(known, name, len) == 0) return slot;
    }
}

static bool index_names(Bnf *b) {
    b->n_slots = 16;
    while (b->n_slots < b->n * 2) b->n_slots *= 2;
    b->slot = gi_alloc((size_t)b->n_slots * sizeof(int));
    for (int i = 0; i < b->n; i++) {
        int *slot = bnf_slot(b, b->name[i], strlen(b->name[i]));
        if (*slot)
            return gi_fail(b->err, "format", "the BNF defines %s twice", b->name[i]);
        *slot = i + 1;
    }
    return true;
}

/* Appends what rule i stands for with the empty patch; guards stand for nothing. */
static bool expand(const Bnf *b, int i, int depth, gi_buf *out) {
    for (const char *p = b->right[i] + strspn(b->right[i], " \t\r"); *p; p += strspn(p, " \t\r")) {
        if (*p == '"' && read_quoted(&p, out)) continue;
        const char *end = *p == '<' ? strchr(p, '>') : NULL;
        if (end == NULL || depth > 1)
            return gi_fail(b->err, "format", "%s has a right-hand side that is no list of quoted "
                           "strings and rules", b->name[i]);
        size_t n = (size_t)(end + 1 - p);
        int rule = *bnf_slot(b, p, n) - 1;
        if (rule < 0)
            return gi_fail(b->err, "format", "%s names %.*s, which the BNF does not define",
                           b->name[i], (int)(n > 100 ? 100 : n), p);
        if (strncmp(p, "<guard", 6) != 0 && !expand(b, rule, depth + 1, out)) return false;
        p = end + 1;
    }
    return true;
}

static bool invert(const Bnf *b, gi_buf *out) {
    for (int line = 1;; line++) {
        gi_buf name = {0};
        gi_buf_addf(&name, "<%s_%d>", b->options.file, line);
        int rule = *bnf_slot(b, name.data, name.len) - 1;
        gi_buf_free(&name);
        if (rule < 0) return line > 1 || gi_fail(b->err, "format", "the BNF has no rule <%s_1>",
                                                 b->options.file);
        if (!expand(b, rule, 0, out)) return false;
    }
}

static void bnf_free(Bnf *b) {
    for (int i = 0; i < b->n; i++) free(b->name[i]), free(b->right[i]);
    for (int i = 0; i < b->options.n_config; i++) {
        free((char *)b->config[i].name);
        free((char *)b->config[i].on_value);
    }
    free((char *)b->options.file);
    free((char *)b->options.kernel);
    free((char *)b->options.launch_bounds_threads);
    free(b->config);
    free(b->name);
    free(b->right);
    free(b->slot);
}

/* Are two right-hand sides equal but for blanks between their items? */
static bool same_right(const char *a, const char *b) {
    for (bool quoted = false;; a++, b++) {
        while (!quoted && isspace((unsigned char)*a)) a++;
        while (!quoted && isspace((unsigned char)*b)) b++;
        if (*a != *b) return false;
        if (*a == '\0') return true;
        if (quoted && *a == '\\' && a[1] && a[1] == b[1]) a++, b++;
        else if (*a == '"') quoted = !quoted;
    }
}

/* Are these the rules that the source gives? */
static bool same_rules(const Bnf *b, const Grammar *g) {
    gi_buf text = {0};
    Bnf own = {0};
    grammar_print(g, &text);
    read_lines(&own, text.data, text.len);
    bool same = own.n == b->n;
    if (!same)
        gi_fail(b->err, "format", "the BNF has %d rules and the source it holds gives %d: change "
                "the source file and print the grammar again", b->n, own.n);
    for (int i = 0; i < own.n && same; i++) {
        same = strcmp(own.name[i], b->name[i]) == 0 && same_right(own.right[i], b->right[i]);
        if (!same)
            gi_fail(b->err, "format", "%s is not what the source in the BNF gives: change the "
                    "source file and print the grammar again", b->name[i]);
    }
    bnf_free(&own);
    gi_buf_free(&text);
    return same;
}

static Grammar *read_grammar(Bnf *b, const char *bnf, size_t len) {
    gi_buf source = {0};
    Grammar *g = NULL;
    if (memchr(bnf, '\0', len)) {
        bad_line(b, 1, "the text holds a NUL byte");
        return NULL;
    }
    if (!read_lines(b, bnf, len)) return NULL;
    if (!b->headed || b->options.file == NULL) {
        gi_fail(b->err, "format", "this is no BNF of gilua: it lacks the comments "
                "`# gilua grammar 1` and `# file \"…\"`");
        return NULL;
    }
    if (index_names(b) && invert(b, &source)) {
        g = grammar_parse(source.data ? source.data : "", source.len, &b->options, b->err);
        if (g && !same_rules(b, g)) {
            grammar_free(g);
            g = NULL;
        }
    }
    gi_buf_free(&source);
    return g;
}

Grammar *grammar_read(const char *bnf, size_t len, gi_err *err) {
    Bnf b = {.err = err};
    Grammar *g = read_grammar(&b, bnf, len);
    bnf_free(&b);
    return g;
}
