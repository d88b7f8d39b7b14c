/* parse.c - the top of a module: its header, variables and functions. See parser.h and ptx.h. */
#include "ptx/parser.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 1 << 16 };

static void version(Parser *P) {
    char text[16];
    size_t n = 0;
    while (P->p < P->end && n + 1 < sizeof text && memchr("0123456789.", *P->p, 11))
        text[n++] = *P->p++;
    text[n] = '\0';
    if (sscanf(text, "%3d.%3d", &P->m->version_major, &P->m->version_minor) != 2)
        ptxp_expected(P, "a version such as 8.0");
    ptxp_space(P);
}

static void target(Parser *P) {
    Name *sm = ptxp_ident(P, "a target such as sm_90");
    snprintf(P->m->target, sizeof P->m->target, "%s", sm->text);
    gi_buf_clear(&P->scratch);
    gi_buf_adds(&P->scratch, "");
    while (ptxp_take_char(P, ',')) {
        Name *option = ptxp_ident(P, "a target option");
        /* "debug" promises the sections that are not kept */
        if (!ptxp_is(option, "debug")) gi_buf_addf(&P->scratch, ", %s", option->text);
    }
    P->m->target_options = ptxp_intern(P, P->scratch.data, P->scratch.len)->text;
}

static void address_size(Parser *P) {
    P->m->address_size = ptxp_plain(P, ".address_size", 0, 64);
    if (P->m->address_size != 64)
        ptxp_fail(P, P->line, ".address_size %d is not supported: compile for 64 bits",
                  P->m->address_size);
}

void ptxp_file(Parser *P) {
    int index = ptxp_plain(P, "the file number", 1, MAX_FILES);
    const char *name = ptxp_string(P);
    while (ptxp_take_char(P, ',')) ptxp_integer(P, "the time or size of the file");
    while (P->n_files < index) {
        gi_grow(P->files, P->n_files, P->cap_files);
        P->files[P->n_files++] = "";
    }
    P->files[index - 1] = name;
}

static void skip_to(Parser *P, char c) {
    while (P->p < P->end && *P->p != c) {
        P->p++;
        ptxp_space(P);
    }
}

/* Debug information: a name and bytes in braces. */
static void skip_section(Parser *P) {
    int line = P->line;
    skip_to(P, '{');
    skip_to(P, '}');
    if (!ptxp_take_char(P, '}'))
        ptxp_fail(P, line, "the section that begins here has no closing '}'");
}

/* .maxntid 128, 1, 1: those not given are 1. */
static void extents(Parser *P, int out[3]) {
    out[0] = out[1] = out[2] = 1;
    int n = 0;
    do out[n++] = ptxp_small(P, "the number of threads", 1, INT32_MAX);
    while (n < 3 && ptxp_take_char(P, ','));
}

int ptx_threads(const int n[3]) {
    int64_t threads = n[0];
    for (int i = 1; i < 3; i++) {
        if (n[i]) threads *= n[i];
        if (threads > INT_MAX) threads = INT_MAX;
    }
    return (int)threads;
}

/* A directive that is only kept, as text: .noreturn, .maxclusterrank 4, .reqnctapercluster 2, 1, 1
 */
static void other_directive(Parser *P, const Name *word, gi_buf *text) {
    static const char *const known[] = {
        "noreturn",          "maxclusterrank", "reqnctapercluster", "explicitcluster",
        "blocksareclusters", "maxnctapersm",   "abi_preserve",      "abi_preserve_control"};
    size_t i = 0, n = sizeof known / sizeof known[0];
    while (i < n && !ptxp_is(word, known[i])) i++;
    if (i == n)
        ptxp_fail(P, P->line, "the directive .%s is not known before a function's body",
                  word->text);
    gi_buf_addf(text, " .%s", word->text);
    if (ptxp_peek(P) < '0' || ptxp_peek(P) > '9') return;
    const char *separator = " ";
    do {
        gi_buf_addf(text, "%s%d", separator, ptxp_small(P, "a directive's value", 0, INT32_MAX));
        separator = ", ";
    } while (ptxp_take_char(P, ','));
}

static void entry_pragma(Parser *P, gi_buf *text) {
    gi_buf_addf(text, " .pragma \"%s\";", ptxp_string(P));
    ptxp_expect(P, ';', "after .pragma");
}

/* Does what comes stand at the top of a module, and not behind a function's head? */
static bool is_next_item(Parser *P) {
    static const char items[] = "entry func extern visible weak common global const shared local "
                                "file section alias";
    const char *start = P->p;
    int line = P->line;
    bool is = ptxp_take_char(P, '.') && ptx_word_in(ptxp_word(P, "a directive")->text, items);
    P->p = start;
    P->line = line;
    return is;
}

static void directives(Parser *P, PtxFunc *f) {
    gi_buf *text = &P->scratch; /* nothing read here uses it */
    gi_buf_clear(text);
    gi_buf_adds(text, "");
    while (ptxp_peek(P) == '.' && !is_next_item(P)) {
        ptxp_take_char(P, '.');
        Name *word = ptxp_word(P, "a directive");
        if (ptxp_is(word, "maxntid")) extents(P, f->maxntid);
        else if (ptxp_is(word, "reqntid")) extents(P, f->reqntid);
        else if (ptxp_is(word, "minnctapersm"))
            f->minnctapersm = ptxp_small(P, ".minnctapersm", 0, 1 << 16);
        else if (ptxp_is(word, "maxnreg")) f->maxnreg = ptxp_small(P, ".maxnreg", 0, 1 << 16);
        else if (ptxp_is(word, "pragma")) entry_pragma(P, text);
        else other_directive(P, word, text);
    }
    f->directives = text->len ? ptxp_intern(P, text->data + 1, text->len - 1)->text : "";
}

/* The function of this name, made known if it is not yet. */
static int function_index(Parser *P, Name *name, bool is_entry) {
    Binding *b = name->bound;
    if (b && b->kind != BIND_FUNC)
        ptxp_fail(P, P->line, "the function '%s' is already declared as something else",
                  name->text);
    if (b && P->funcs[b->index].is_entry != is_entry)
        ptxp_fail(P, P->line, "'%s' is declared as .func and as .entry", name->text);
    if (b) return b->index;
    gi_grow(P->funcs, P->n_funcs, P->cap_funcs);
    P->funcs[P->n_funcs] = (PtxFunc){.name = name->text, .is_entry = is_entry};
    ptxp_declare(P, name, BIND_FUNC)->index = P->n_funcs;
    return P->n_funcs++;
}

static Name *signature(Parser *P, PtxFunc *f) {
    if (!f->is_entry && ptxp_take_char(P, '(')) f->n_rets = ptxp_params(P, true, true, &f->rets);
    Name *name = ptxp_ident(P, "a function's name");
    f->name = name->text;
    if (ptxp_take_char(P, '(')) f->n_params = ptxp_params(P, true, false, &f->params);
    directives(P, f);
    return name;
}

static void add_item(Parser *P, PtxItemKind kind, int index, int target) {
    gi_grow(P->items, P->n_items, P->cap_items);
    P->items[P->n_items++] = (PtxItem){kind, index, target};
}

/* To the '}' behind the '{' that was just read. */
static void skip_body(Parser *P) {
    for (int depth = 1, line = P->line; depth > 0;) {
        if (P->p >= P->end) ptxp_fail(P, line, "the function that begins here has no closing '}'");
        if (*P->p == '"') ptxp_string(P);
        depth += (*P->p == '{') - (*P->p == '}');
        P->p++;
        ptxp_space(P);
    }
}

/* Reads a body. If it is not understood, the function has the reason in place of a body. */
static void try_body(Parser *P, PtxFunc *f) {
    jmp_buf outside;
    const char *start = P->p;
    int line = P->line, depth = P->depth;
    memcpy(&outside, &P->escape, sizeof outside);
    if (setjmp(P->escape) == 0) {
        ptxp_body(P, f);
    } else {
        memcpy(&P->escape, &outside, sizeof outside);
        while (P->depth > depth) ptxp_abandon(P);
        P->nesting = P->n_ops = P->n_reg_params = 0;
        P->p = start, P->line = line;
        f->refused = ptxp_intern(P, P->why.message, strlen(P->why.message))->text;
        f->has_body = true;
        skip_body(P);
    }
    memcpy(&P->escape, &outside, sizeof outside);
}

static void function_body(Parser *P, PtxFunc *f, int index) {
    if (P->funcs[index].has_body)
        ptxp_fail(P, f->line, "the function '%s' has two bodies", f->name);
    P->now = f;
    if (P->most) try_body(P, f);
    else ptxp_body(P, f);
    P->funcs[index] = *f;
    add_item(P, PTX_ITEM_BODY, index, 0);
}

/* Its parameters are read before its name is known to the module, which is declared outside them:
** so the scope of the parameters is closed for a moment. */
static void function(Parser *P, PtxLinkage linkage, bool is_entry) {
    PtxFunc f = {.is_entry = is_entry, .linkage = linkage, .line = P->line};
    P->func++;
    ptxp_open(P);
    Name *name = signature(P, &f);
    P->depth--;
    int index = function_index(P, name, is_entry);
    P->depth++;
    if (ptxp_take_char(P, '{')) function_body(P, &f, index);
    else { /* ISA 2.x leaves the ';' out */
        if (!is_next_item(P)) ptxp_expect(P, ';', "or '{' after the function's head");
        if (!P->funcs[index].has_body) P->funcs[index] = f;
        P->n_reg_params = 0;
        add_item(P, PTX_ITEM_PROTOTYPE, index, 0);
    }
    ptxp_close(P);
}

static bool linkage_of(const Name *word, PtxLinkage *out) {
    static const char *const names[] = {NULL, "visible", "weak", "extern", "common"};
    for (int i = PTX_VISIBLE; i <= PTX_COMMON; i++) {
        if (ptxp_is(word, names[i])) {
            *out = (PtxLinkage)i;
            return true;
        }
    }
    return false;
}

static int known_function(Parser *P) {
    Name *name = ptxp_ident(P, "a function's name");
    if (name->bound == NULL || name->bound->kind != BIND_FUNC)
        ptxp_fail(P, P->line, "'%s' of an .alias is no function declared before", name->text);
    return name->bound->index;
}

static void alias(Parser *P) {
    int name = known_function(P);
    ptxp_expect(P, ',', "after the alias's name");
    int target = known_function(P);
    if (P->funcs[name].has_body)
        ptxp_fail(P, P->line, "'%s' is an alias and has a body", P->funcs[name].name);
    ptxp_expect(P, ';', "after .alias");
    add_item(P, PTX_ITEM_ALIAS, name, target);
}

static void module_pragma(Parser *P) {
    ptxp_string(P); /* hints for the whole text; none changes what the code means */
    ptxp_expect(P, ';', "after .pragma");
}

static void directive(Parser *P) {
    PtxLinkage linkage = PTX_PRIVATE;
    PtxSpace space;
    int line = P->line;
    Name *word = ptxp_word(P, "a directive");
    if (linkage_of(word, &linkage)) {
        ptxp_expect(P, '.', "after the linkage");
        word = ptxp_word(P, "func, entry or a state space");
    }
    if (ptxp_is(word, "func")) function(P, linkage, false);
    else if (ptxp_is(word, "entry")) function(P, linkage, true);
    else if (ptxp_space_of(word, &space)) ptxp_declaration(P, space, linkage);
    else if (linkage != PTX_PRIVATE)
        ptxp_fail(P, line, ".%s is not followed by .func, .entry or a state space", word->text);
    else if (ptxp_is(word, "version")) version(P);
    else if (ptxp_is(word, "target")) target(P);
    else if (ptxp_is(word, "address_size")) address_size(P);
    else if (ptxp_is(word, "file")) ptxp_file(P);
    else if (ptxp_is(word, "section")) skip_section(P);
    else if (ptxp_is(word, "pragma")) module_pragma(P);
    else if (ptxp_is(word, "alias")) alias(P);
    else ptxp_fail(P, line, "the directive .%s is not known", word->text);
}

static void module(Parser *P) {
    ptxp_space(P);
    if (P->end - P->p < 8 || memcmp(P->p, ".version", 8) != 0) ptxp_expected(P, ".version first");
    while (P->p < P->end) {
        if (ptxp_take_char(P, '.')) directive(P);
        else if (!ptxp_take_char(P, ';')) ptxp_expected(P, "a directive such as .entry or .global");
    }
    if (P->m->target[0] == '\0') ptxp_fail(P, P->line, "the text has no .target");
}

static void keep_module(Parser *P) {
    PtxModule *m = P->m;
    m->vars = ptxp_keep_all(P, P->vars, m->n_vars = P->n_vars);
    m->funcs = ptxp_keep_all(P, P->funcs, m->n_funcs = P->n_funcs);
    m->files = ptxp_keep_all(P, P->files, m->n_files = P->n_files);
    m->items = ptxp_keep_all(P, P->items, m->n_items = P->n_items);
    for (int i = 0; i < m->n_funcs && m->n_files; i++) m->funcs[i].file = m->files[0];
}

static void free_vectors(Parser *P) {
    void *all[] = {P->table,  P->vars,   P->funcs,   P->items,   P->files,     P->regs, P->locals,
                   P->code,   P->protos, P->pragmas, P->targets, P->labels,    P->uses, P->ops,
                   P->params, P->mods,   P->init,    P->relocs,  P->reg_params};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
    gi_buf_free(&P->scratch);
    free(P);
}

static PtxModule *parse(const char *text, size_t len, bool most, gi_err *err) {
    Parser *P = gi_alloc(sizeof *P);
    PtxArena *arena = gi_alloc(sizeof *arena);
    P->p = text;
    P->end = text + len;
    P->line = 1;
    P->most = most;
    P->arena = arena;
    P->m = ptxp_take(arena, sizeof *P->m);
    P->m->arena = arena;
    P->m->address_size = 64;
    P->m->target_options = "";
    PtxModule *m = P->m;
    if (setjmp(P->escape) == 0) {
        module(P);
        keep_module(P);
        ptxp_resolve_aliases(m);
        free_vectors(P);
        return m;
    }
    if (err) *err = P->why;
    free_vectors(P);
    ptx_free(m);
    return NULL;
}

PtxModule *ptx_parse(const char *text, size_t len, gi_err *err) {
    return parse(text, len, false, err);
}

PtxModule *ptx_parse_most(const char *text, size_t len, gi_err *err) {
    return parse(text, len, true, err);
}

void ptx_free(PtxModule *m) {
    if (m == NULL) return;
    for (int i = 0; i < m->n_parts; i++) ptx_free(m->parts[i]);
    PtxArena *arena = m->arena; /* m itself lies in it */
    ptxp_arena_free(arena);
    free(arena);
}

PtxFunc *ptx_find_func(const PtxModule *m, const char *name) {
    for (int i = 0; i < m->n_funcs; i++)
        if (strcmp(m->funcs[i].name, name) == 0) return &m->funcs[i];
    return NULL;
}

PtxVar *ptx_find_var(const PtxModule *m, const char *name) {
    for (int i = 0; i < m->n_vars; i++)
        if (strcmp(m->vars[i]->name, name) == 0) return m->vars[i];
    return NULL;
}
