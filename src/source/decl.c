/* decl.c - is this stretch of code tokens a declaration, and which names does it declare?
**
** The reader of declarations (declare.c) reads the tree's own tokens: no directives, of a group
** that does not stand alone one branch. Added here are macros before a type (`SHARED float x[4]`).
** A wrong guess costs nothing but a rule: the text stays as it is.
*/
#include "source/tree.h"

#include "source/reader.h"

#include <string.h>

const char *const tree_arithmetic_words[] = {
    "void",    "bool",    "char",      "short",    "int",      "long",    "float",
    "double",  "signed",  "unsigned",  "size_t",   "int8_t",   "int16_t", "int32_t",
    "int64_t", "uint8_t", "uint16_t",  "uint32_t", "uint64_t", "uint",    "uchar",
    "ushort",  "ulong",   "ptrdiff_t", NULL};
static const char *const begin_words[] = {"typedef",   "using",  "static_assert", "template",
                                          "namespace", "struct", "class",         "union",
                                          "enum",      NULL};

Reader tree_reader(const Tree *t, int last) {
    return (Reader){.s = t->source, .stop = last - 1};
}

bool tree_read_words(Tree *t, gi_err *err) {
    SourceTokens tokens = {.n = t->n_tok - 1, .cap = t->n_tok};
    tokens.v = gi_alloc((size_t)t->n_tok * sizeof *tokens.v);
    t->match = gi_alloc((size_t)t->n_tok * sizeof(int));
    for (int i = 0; i < tokens.n; i++)
        tokens.v[i] = (SourceToken){
            .kind = t->tok[i].kind, .start = t->tok[i].start, .end = t->tok[i].end, .match = -1};
    int alone = source_match_brackets(t->src, &tokens);
    for (int i = 0; i < t->n_tok; i++) t->match[i] = i < tokens.n ? tokens.v[i].match : -1;
    t->source = gi_alloc(sizeof *t->source);
    source_of_tokens(t->src, tokens, t->source);
    if (alone < 0) return true;
    char c = t->src[t->tok[alone].start];
    bool opens = c == '(' || c == '[' || c == '{';
    return gi_fail(err, "format", "line %d: this '%c' %s", tok_line(t, alone), c,
                   opens ? "is never closed" : "closes nothing");
}

/* Does the word at i begin a type where another name stands before it? */
static bool begins_type(const Reader *r, int i) {
    if (is_class(r, i, WORD_TYPE | WORD_OF_FILE | WORD_TAG)) return true;
    if (is_class(r, i, WORD_QUALIFIER | WORD_NO_VALUE) || !is_kind(r, i, TOK_NAME)) return false;
    return is_class(r, i, WORD_STORAGE) ||
           (is_kind(r, i + 1, TOK_NAME) && !is_class(r, i + 1, WORD_STORAGE | WORD_COMBINED));
}

/* Behind the macros before a type: `SHARED float x[4]`. */
static int past_macros(const Reader *r, int i) {
    const unsigned none = WORD_TYPE | WORD_OF_FILE | WORD_STORAGE | WORD_NO_VALUE | WORD_TYPE_OF;
    while (is_kind(r, i, TOK_NAME) && !is_class(r, i, none) && begins_type(r, i + 1)) i++;
    return i;
}

bool tree_is_declaration(const Tree *t, int first, int last) {
    Reader r = tree_reader(t, last);
    first = past_attributes(&r, first);
    if (first >= last) return false;
    return tok_in(t, first, begin_words) || is_declaration(&r, past_macros(&r, first));
}

/* ---- declaring ---- */

/* The newest macro of the name at token i; -1: none. */
static int newest_macro(const Tree *t, int i) {
    return t->tok[i].kind == TOK_NAME ? t->last_macro[t->tok[i].name] : -1;
}

/* What the specifiers [first, last) say of every name they declare. */
static Decl specifiers(const Tree *t, int first, int last, int scope) {
    Decl d = {.kind = DECL_VARIABLE,
              .scope = scope,
              .place = t->tok[first].place,
              .first = first,
              .type_end = last};
    for (int i = first; i < last; i++) {
        if (tok_is(t, i, "typedef")) d.kind = DECL_TYPE;
        if (tok_is(t, i, "__shared__") || tok_is(t, i, "shared")) d.shared = true;
        if (tok_is(t, i, "const") || tok_is(t, i, "constexpr")) d.is_const = true;
        if (tok_in(t, i, tree_arithmetic_words)) d.plain = true;
        for (int m = newest_macro(t, i); m >= 0; m = t->older_macro[m])
            for (int k = 0; k < t->macro[m].body.n; k++)
                if (token_is(t->src, &t->macro[m].body.v[k], "__shared__")) d.shared = true;
    }
    return d;
}

static void add_decl(Tree *t, Decl d) {
    gi_grow(t->decl, t->n_decl, t->cap_decl);
    gi_grow(t->older_decl, t->n_decl, t->cap_older);
    t->older_decl[t->n_decl] = t->last_decl[d.name];
    t->last_decl[d.name] = t->n_decl;
    t->decl[t->n_decl++] = d;
}

void tree_declare_name(Tree *t, DeclKind kind, int at, int scope) {
    add_decl(t, (Decl){.kind = kind, .name = t->tok[at].name, .scope = scope, .at = at,
                       .place = t->tok[at].place, .first = at, .last = at + 1});
}

/* What stands before the name of a declarator from token `at` on says this of it. */
static void read_stars_of(const Tree *t, int at, Decl *d) {
    d->fixed = d->is_const;
    for (; at < d->at; at++) {
        if (tok_is(t, at, "*")) d->fixed = false, d->stars++;
        if (tok_is(t, at, "&") || tok_is(t, at, "&&")) d->reference = true;
        if (tok_is(t, at, "const")) d->fixed = true;
    }
    d->pointer = d->stars > 0;
}

/* Declares what the reader found of one declarator, in a declaration at tokens [first, last). */
static void declare_read(Tree *t, SourceDecl read, int first, int last, int scope) {
    const SourceNode n = t->source->node[read.node];
    int after = read.name + 1, end = read.type_last + 1, begin = end > n.first ? end : n.first;
    bool file_level = t->n_node > 0 && t->node[scope].function < 0;
    Decl d = specifiers(t, first, end, scope);
    d.name = t->tok[read.name].name;
    d.at = read.name;
    d.last = last;
    read_stars_of(t, begin, &d);
    if (tok_is(t, begin, "(")) d.stars = 0; /* a pointer to a function or an array */
    else {
        while (after < last && tok_is(t, after, "[")) after = t->match[after] + 1, d.dims++;
        d.array = d.dims > 0;
        d.set = read.init_at >= 0 || read.function;
        if (tok_is(t, read.init_at, "=")) d.value = read.init_at + 1, d.value_end = n.last + 1;
    }
    if (n.role == ROLE_PARAM || n.role == ROLE_TPARAM) d.kind = DECL_PARAMETER;
    else if (file_level && tok_is(t, after, "(") && d.kind == DECL_VARIABLE)
        d.kind = DECL_FUNCTION; /* a prototype; a constructed global is kept apart just as well */
    bool names_type = tok_is(t, read.type, "typename") || tok_is(t, read.type, "class");
    if (n.role == ROLE_TPARAM && names_type && read.type == read.type_last) d.kind = DECL_TYPE;
    add_decl(t, d);
}

/* Declares the names that node `of` has, and forgets what was read. */
static void declare_all(Tree *t, Reader *r, int of, int first, int last, int scope) {
    for (int i = 0; i < t->source->n_decl; i++) {
        SourceDecl read = t->source->decl[i];
        if (t->source->node[read.node].parent != of) continue;
        if (read.bound || t->source->node[of].kind == SRC_CLASS)
            tree_declare_name(t, DECL_VARIABLE, read.name, scope);
        else declare_read(t, read, first, last, scope);
    }
    unread(r, 0, 0);
}

static void declare_enumerators(Tree *t, int first, int last, int scope) {
    int i = first, open;
    while (i < last && !tok_is(t, i, "enum") && !tok_is(t, i, "{")) i++;
    for (open = i; open < last && !tok_is(t, open, "{");) open++;
    bool scoped = tok_is(t, i + 1, "class") || tok_is(t, i + 1, "struct");
    if (!tok_is(t, i, "enum") || scoped || open >= last) return;
    Reader r = tree_reader(t, last);
    int node = node_new(&r, SRC_CLASS, i, t->match[open]);
    t->source->node[node].token = i;
    t->source->node[node].open = open;
    t->source->node[node].close = t->match[open];
    read_enumerators(&r, node);
    declare_all(t, &r, node, first, last, scope);
}

/* The name that `struct X`, `enum class X` introduces, or X of `using X = …`. */
static void declare_tag(Tree *t, int first, int last, int scope) {
    int i = tok_is(t, first, "typedef") ? first + 1 : first;
    if (!tok_in(t, i, begin_words)) return;
    if (tok_is(t, i, "namespace")) { /* namespace a = b; */
        tree_declare_name(t, DECL_NAMESPACE, i + 1, scope);
        return;
    }
    if (tok_is(t, i + 1, "namespace")) return;
    while (i + 1 < last && (tok_in(t, i, begin_words) || tok_is(t, i, "typename"))) i++;
    if (t->tok[i].kind == TOK_NAME) tree_declare_name(t, DECL_TYPE, i, scope);
}

void tree_declare(Tree *t, int first, int last, int scope) {
    Reader r = tree_reader(t, last);
    first = past_attributes(&r, first);
    if (!tree_is_declaration(t, first, last) || tok_is(t, first, "static_assert")) return;
    int from = past_heads(&r, first, last);
    if (tok_is(t, from, "template")) return; /* `template class Queue<int>;`, which names nothing */
    declare_tag(t, from, last, scope);
    declare_enumerators(t, from, last, scope);
    if (tok_is(t, from, "using") || tok_is(t, from, "namespace")) return;
    if (tok_is(t, from, "typedef")) from++;
    int stop = tok_is(t, last - 1, ";") ? last - 1 : last;
    int node = node_new(&r, SRC_DECLARATION, first, last - 1);
    read_declared(&r, past_macros(&r, from), stop, node);
    declare_all(t, &r, node, first, last, scope);
}

void tree_declare_params(Tree *t, int open, int close, int scope) {
    SourceRole role = tok_is(t, open, "<") ? ROLE_TPARAM : ROLE_PARAM;
    Reader r = tree_reader(t, close);
    for (int from = open + 1, end; from < close; from = end + 1) {
        int node = node_new(&r, SRC_FUNCTION, from, close);
        end = parameter_end(&r, from, close);
        int begin = role == ROLE_TPARAM ? from : past_macros(&r, from); /* `Number T` has none */
        read_parameter(&r, begin, end - 1, node, role);
        declare_all(t, &r, node, from, end, scope);
    }
}
