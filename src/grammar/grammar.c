/* grammar.c - see grammar.h. Parsing from end to end, and looking rules up. */
#include "grammar/grammar.h"

#include "grammar/inside.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const type_names[RULE_TYPES] = {
    "fixed",       "statement",    "if",             "while",       "else",
    "for1",        "for2",         "for3",           "init",        "pragma",      "def",
    "optconst",    "optrestrict",  "optvolatile",    "launchbounds", "math",
    "pragma_K",    "launchbounds_K", "optconst_K",   "optrestrict_K", "optvolatile_K", "math_K"};

const char *rule_prefix(RuleType type) {
    static const char *const prefixes[] = {
        "",      "_",       "IF_",  "WHILE_",    "ELSE_",        "for1_",        "for2_",
        "for3_", "init_",   "pragma_", "def_",      "optconst_",    "optrestrict_",
        "optvolatile_",     "launchbounds_", "math_"};
    return type <= RULE_MATH ? prefixes[type] : "";
}

const char *rule_type_name(RuleType type) {
    return type >= 0 && type < RULE_TYPES ? type_names[type] : "unknown";
}

bool rule_type_parse(const char *name, RuleType *out) {
    size_t n = strlen(name);
    if (strcmp(name, "_") == 0) return *out = RULE_STATEMENT, true;
    if (n > 1 && name[n - 1] == '_') n--;
    for (int i = 0; i < RULE_TYPES; i++)
        if (strlen(type_names[i]) == n && strncasecmp(name, type_names[i], n) == 0)
            return *out = (RuleType)i, true;
    return false;
}

/* ---- parsing ---- */

static char *copy(const char *s) {
    return s ? gi_strdup(s) : NULL;
}

static void copy_options(Grammar *g, const GrammarOptions *o) {
    g->options = *o;
    g->options.file = gi_strdup(o->file ? o->file : "kernel.cu");
    g->options.kernel = copy(o->kernel);
    g->options.launch_bounds_threads = copy(o->launch_bounds_threads);
    g->config = gi_alloc((size_t)o->n_config * sizeof *g->config);
    g->config_rule = gi_alloc((size_t)o->n_config * sizeof(int));
    g->options.config = g->config;
    for (int i = 0; i < o->n_config; i++) {
        g->config[i] = (GrammarConfig){copy(o->config[i].name), copy(o->config[i].on_value),
                                       o->config[i].in_source};
        g->config_rule[i] = -1;
    }
}

static void find_lines(Grammar *g) {
    Tree *t = &g->tree;
    for (int at = 0; at < t->len || at == 0;) {
        const char *newline = memchr(t->src + at, '\n', (size_t)(t->len - at));
        gi_grow(t->line_start, t->n_lines, t->cap_lines);
        t->line_start[t->n_lines++] = at;
        if (newline == NULL) break;
        at = (int)(newline - t->src) + 1;
    }
    g->line_rule = gi_alloc((size_t)t->n_lines * sizeof(int));
    g->line_text = gi_alloc((size_t)t->n_lines * sizeof(char *));
    for (int i = 0; i < t->n_lines && !source_stopped(NULL); i++) {
        int end = i + 1 < t->n_lines ? t->line_start[i + 1] : t->len;
        if (end > t->line_start[i] && t->src[end - 1] == '\n') end--;
        g->line_text[i] = gi_strndup(t->src + t->line_start[i], (size_t)(end - t->line_start[i]));
    }
}

static bool is_top_level(const Tree *t, const Decl *d) {
    int scope = d->scope;
    while (scope > 0 && t->node[scope].kind == NODE_NAMESPACE && t->node[scope].name < 0 &&
           tok_is(t, t->node[scope].first, "extern"))
        scope = t->node[scope].parent; /* extern "C" { } */
    return scope == 0;
}

/* Texts, NULL-ended; `has` tells by number which of the file's names are among them. */
typedef struct NameList {
    const char **v;
    int n;
    NameSet has;
} NameList;

static void add_text(NameList *l, const char *text) {
    l->v = gi_realloc((void *)l->v, (size_t)(l->n + 2) * sizeof *l->v);
    l->v[l->n++] = text;
    l->v[l->n] = NULL;
}

static void add_name(const Tree *t, NameList *l, int name) {
    if (name_set_add(&l->has, name)) add_text(l, t->names.text[name]);
}

/* Adds a name that need not be one of the file's. */
static void add_own_name(const Tree *t, NameList *l, const char *text) {
    int name = names_find(&t->names, text);
    if (name < 0) add_text(l, text);
    else add_name(t, l, name);
}

/* Is a name called at a token: `f(`, but for `x.f(`, `A::f(` and the declaration `int f(`? */
static bool is_called(const Tree *t, int i) {
    static const char *const members[] = {".", "->", "::", NULL};
    if (t->tok[i].name < 0 || !tok_is(t, i + 1, "(") || i == 0 || tok_in(t, i - 1, members))
        return false;
    return t->tok[i - 1].name < 0 || tok_is(t, i - 1, "return") || tok_is(t, i - 1, "else");
}

/* Does `struct X;` declare a name, and no more? */
static bool is_forward(const Tree *t, const Decl *d) {
    static const char *const words[] = {"struct", "class", "union", NULL};
    return d->at > 0 && tok_in(t, d->at - 1, words) && tok_is(t, d->at + 1, ";");
}

/* By number, the names that the file has a body or a value of: not those of prototypes alone. To be
** freed. */
static bool *find_defined(const Tree *t) {
    bool *defined = gi_alloc(((size_t)t->names.n + 1) * sizeof *defined);
    for (int i = 0; i < t->n_decl; i++) {
        const Decl *d = &t->decl[i];
        if (d->kind != DECL_FUNCTION && !is_forward(t, d)) defined[d->name] = true;
    }
    for (int i = 0; i < t->n_node; i++)
        if (t->node[i].kind == NODE_FUNCTION && t->node[i].name >= 0)
            defined[t->node[i].name] = true;
    return defined;
}

/* By number, the names that are called before the file declares them, or that it only declares: a
** header has them, under the name as it is. To be freed. */
static bool *find_foreign(const Tree *t) {
    size_t n = (size_t)t->names.n + 1;
    int *declared = gi_alloc(n * sizeof *declared);
    bool *defined = find_defined(t), *foreign = gi_alloc(n * sizeof *foreign);
    for (int i = 0; i < t->n_decl; i++) {
        int *at = &declared[t->decl[i].name];
        if (is_top_level(t, &t->decl[i]) && (*at == 0 || t->decl[i].at < *at)) *at = t->decl[i].at;
    }
    for (int i = 0; i < t->n_decl; i++)
        if (t->decl[i].kind == DECL_TYPE && !defined[t->decl[i].name])
            foreign[t->decl[i].name] = true;
    for (int i = 0; i < t->n_tok; i++) {
        const int name = t->tok[i].name;
        if (is_called(t, i) && (i < declared[name] || (declared[name] && !defined[name])))
            foreign[name] = true;
    }
    free(declared);
    free(defined);
    return foreign;
}

static void find_names(Grammar *g) {
    const Tree *t = &g->tree;
    NameList names = {.v = gi_alloc(sizeof *g->names)}, kernels = {.v = gi_alloc(sizeof *g->names)};
    bool *foreign = find_foreign(t);
    for (int i = 0; i < t->n_decl; i++)
        if (is_top_level(t, &t->decl[i]) && !foreign[t->decl[i].name])
            add_name(t, &names, t->decl[i].name);
    free(foreign);
    if (g->options.open_loops) {
        add_own_name(t, &names, "gilua_loop_overrun");
        add_own_name(t, &names, "gilua_loop_limit");
    }
    add_own_name(t, &names, "gilua_spans");
    add_own_name(t, &names, "GiluaClock");
    for (int i = 0; i < t->n_node; i++) {
        if (t->node[i].kind != NODE_FUNCTION || t->node[i].name < 0 || !grammar_is_kernel(g, i))
            continue;
        add_name(t, &kernels, t->node[i].name);
        add_name(t, &names, t->node[i].name); /* one in a namespace too */
    }
    g->names = names.v;
    g->kernels = kernels.v;
    name_set_free(&names.has);
    name_set_free(&kernels.has);
}

/* The first kernel of the options that is not in the source, with its length; NULL: all are. */
static const char *missing_kernel(const Grammar *g, size_t *len) {
    for (const char *at = g->options.kernel; at; at = at[*len] ? at + *len + 1 : NULL) {
        bool found = false;
        *len = strcspn(at, ",");
        for (int i = 0; g->kernels[i] && !found; i++)
            found = strlen(g->kernels[i]) == *len && memcmp(g->kernels[i], at, *len) == 0;
        if (!found) return at;
    }
    return NULL;
}

static bool check_options(const Grammar *g, gi_err *err) {
    size_t len = 0;
    const char *file = g->options.file, *missing = missing_kernel(g, &len);
    if (missing)
        return gi_fail(err, "usage", "%s has no __global__ function named %.*s%s%s", file,
                       (int)len, missing,
                       g->kernels[0] ? "; the first it has is " : " (nor any other)",
                       g->kernels[0] ? g->kernels[0] : "");
    for (int i = 0; i < g->options.n_config; i++)
        if (g->config[i].in_source && g->config_rule[i] < 0)
            return gi_fail(err, "usage",
                           "%s has no line `#define %s …` or `#undef %s` for the configuration "
                           "macro %s: add one, or declare it as a parameter of the host",
                           file, g->config[i].name, g->config[i].name, g->config[i].name);
    return true;
}

static bool parse(Grammar *g, gi_err *err) {
    gi_err why = {0};
    Tree *t = &g->tree;
    if (memchr(t->src, '\0', (size_t)t->len))
        return gi_fail(err, "format", "%s holds a NUL byte: it is not a text file",
                       g->options.file);
    if (!tree_preprocess(t, &why) || !tree_blocks(t, &why))
        return gi_fail(err, "format", "%s, %s", g->options.file, why.message);
    tree_index_decls(t);
    static void (*const steps[])(Grammar *) = {grammar_find_open, grammar_find_loops,
                                               grammar_make_rules, grammar_index, find_names};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        steps[i](g); /* one that is interrupted leaves its work undone */
        if (source_stopped(err)) return false;
    }
    return check_options(g, err);
}

enum { MOST_TEXT = 50000000 };

Grammar *grammar_parse(const char *text, size_t len, const GrammarOptions *options, gi_err *err) {
    if (len > MOST_TEXT) {
        gi_fail(err, "format",
                "%s has %.1f MB, more than the %d MB that a kernel's file may have: move long "
                "tables to files that it includes",
                options->file, (double)len / 1e6, MOST_TEXT / 1000000);
        return NULL;
    }
    Grammar *g = gi_alloc(sizeof *g);
    copy_options(g, options);
    g->moves = gi_alloc(sizeof *g->moves);
    g->text = gi_strndup(text, len);
    g->tree.src = g->text;
    g->tree.len = (int)len;
    find_lines(g);
    if (parse(g, err)) return g;
    grammar_free(g);
    return NULL;
}

static void free_rules(Grammar *g) {
    for (int i = 0; i < g->n_rule; i++) {
        free((char *)g->rule[i].name);
        free((char *)g->rule[i].text);
        free((char *)g->rule[i].protected_why);
        free((char *)g->rule[i].variable);
        free((char *)g->rule[i].zero);
        free(g->info[i].type);
        free(g->info[i].meaning);
        free(g->info[i].assigned.v);
        free(g->info[i].counters.v);
    }
    free(g->rule);
    free(g->info);
    free(g->by_name);
}

static void free_options(Grammar *g) {
    for (int i = 0; i < g->options.n_config; i++) {
        free((char *)g->config[i].name);
        free((char *)g->config[i].on_value);
    }
    free(g->config);
    free(g->config_rule);
    free((char *)g->options.file);
    free((char *)g->options.kernel);
    free((char *)g->options.launch_bounds_threads);
}

void grammar_free(Grammar *g) {
    if (g == NULL) return;
    moves_clear(g->moves);
    free(g->moves);
    free_rules(g);
    free_options(g);
    for (int i = 0; i < g->tree.n_node && g->loop; i++) {
        free(g->loop[i].control.v);
        free(g->loop[i].counter.v);
    }
    for (int i = 0; i < g->tree.n_lines; i++) free(g->line_text[i]);
    spots_free(&g->named);
    spots_free(&g->changed);
    free(g->loop);
    free(g->line_text);
    free(g->line_rule);
    free(g->hole);
    free(g->open);
    free((void *)g->names);
    free((void *)g->kernels);
    tree_free(&g->tree);
    free(g->text);
    free(g);
}

/* ---- looking up ---- */

static int *name_slot(const Grammar *g, const char *name) {
    uint64_t at = gi_hash(name, strlen(name), 0);
    for (;; at++) {
        int *slot = &g->by_name[at & (uint64_t)(g->n_by_name - 1)];
        if (*slot == 0 || strcmp(g->rule[*slot - 1].name, name) == 0) return slot;
    }
}

void grammar_index(Grammar *g) {
    g->n_by_name = 16;
    while (g->n_by_name < g->n_rule * 2) g->n_by_name *= 2;
    g->by_name = gi_alloc((size_t)g->n_by_name * sizeof(int));
    for (int i = 0; i < g->n_rule && !source_stopped(NULL); i++)
        *name_slot(g, g->rule[i].name) = i + 1;
}

int grammar_rule_count(const Grammar *g) {
    return g->n_rule;
}

const Rule *grammar_rule(const Grammar *g, int index) {
    return index >= 0 && index < g->n_rule ? &g->rule[index] : NULL;
}

/* Where the line number (with its ".2") of a short form begins, from the end of name. */
static size_t number_at(const char *name, size_t n) {
    size_t i = n;
    while (i > 0 && isdigit((unsigned char)name[i - 1])) i--;
    if (i > 1 && i < n && name[i - 1] == '.' && isdigit((unsigned char)name[i - 2])) {
        i--;
        while (i > 0 && isdigit((unsigned char)name[i - 1])) i--;
    }
    return i;
}

/* "IF_245", "IF245", "288", "_kernel.cu.161" -> the rule; the papers write all of them. */
static int find_short(const Grammar *g, const char *name, size_t n) {
    const char *file = g->options.file;
    size_t i = number_at(name, n), end = i, file_len = strlen(file);
    char prefix[32] = "";
    if (i == n) return -1;
    while (end > 0 && (name[end - 1] == '_' || name[end - 1] == '.')) end--;
    if (end >= file_len && memcmp(name + end - file_len, file, file_len) == 0) end -= file_len;
    while (end > 0 && name[end - 1] == '_') end--;
    if (end >= sizeof prefix) return -1;
    memcpy(prefix, name, end);
    RuleType type = RULE_STATEMENT;
    if (end > 0 && !rule_type_parse(prefix, &type)) return -1;
    if (type > RULE_MATH) return -1;
    gi_buf full = {0};
    gi_buf_addf(&full, "<%s%s_%.*s>", rule_prefix(type), file, (int)(n - i), name + i);
    int rule = *name_slot(g, full.data) - 1;
    gi_buf_free(&full);
    return rule;
}

int grammar_find(const Grammar *g, const char *name) {
    int rule = *name_slot(g, name) - 1;
    size_t n = strlen(name);
    if (rule >= 0 || n < 3 || name[0] != '<' || name[n - 1] != '>') return rule;
    return find_short(g, name + 1, n - 2);
}

const char *grammar_line(const Grammar *g, int line) {
    return line >= 1 && line <= g->tree.n_lines ? g->line_text[line - 1] : "";
}

int grammar_line_count(const Grammar *g) {
    return g->tree.n_lines;
}

const char *grammar_file(const Grammar *g) {
    return g->options.file;
}

const char *const *grammar_names(const Grammar *g) {
    return g->names;
}

const char *const *grammar_kernels(const Grammar *g) {
    return g->kernels;
}
