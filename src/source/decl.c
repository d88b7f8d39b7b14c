/* decl.c - is this stretch of tokens a declaration, and which names does it declare?
**
** Without the types of a header C++ cannot be told apart for certain; the rules here are those a
** reader uses: a stretch that begins with a type's keyword, or with a name (perhaps qualified, with
** template arguments, with * and &) that another name follows, is a declaration. A wrong guess
** costs nothing but a rule: the text stays as it is.
*/
#include "source/tree.h"

#include <string.h>

const char *const tree_arithmetic_words[] = {
    "void",     "bool",    "char",    "short",   "int",      "long",     "float",    "double",
    "signed",   "unsigned", "size_t",  "int8_t",  "int16_t",  "int32_t",  "int64_t",  "uint8_t",
    "uint16_t", "uint32_t", "uint64_t", "uint",    "uchar",    "ushort",   "ulong",    "ptrdiff_t",
    NULL};
static const char *const specifier_words[] = {
    "const",     "volatile",   "static",       "extern",     "register",     "constexpr", "inline",
    "mutable",   "typename",   "__shared__",   "__constant__", "__device__", "__global__",
    "__host__",  "__managed__", "__restrict__", "__restrict", "__forceinline__", "__noinline__",
    "__inline__", "thread_local", "virtual",    "explicit",   "friend",     "auto",      "wchar_t",
    "char16_t",  "char32_t",   "__grid_constant__", "__maxnreg__", NULL};
static const char *const tag_words[] = {"struct", "class", "union", "enum", "typename", NULL};
static const char *const paren_words[] = {"__attribute__",     "__align__",  "alignas", "decltype",
                                          "__launch_bounds__", "__declspec", "typeof",
                                          "__typeof__",        "__cluster_dims__", NULL};
static const char *const begin_words[] = {"typedef", "using", "static_assert", "template",
                                          "namespace", "struct", "class", "union", "enum", NULL};
static const char *const never_words[] = {
    "return", "break",  "continue", "goto",   "delete", "new",  "throw",    "sizeof",
    "this",   "asm",    "__asm__",  "if",     "else",   "true", "false",    "nullptr",
    "case",   "switch", "while",    "do",     "for",    "operator", "not", "co_return", NULL};

static bool is_name(const Tree *t, int i) {
    return i < t->n_tok && t->tok[i].kind == TOK_NAME && !tok_in(t, i, never_words);
}

static bool is_type_word(const Tree *t, int i) {
    return tok_in(t, i, tree_arithmetic_words) || tok_in(t, i, specifier_words) ||
           tok_in(t, i, tag_words);
}

/* After `<…>` when it can be a list of template arguments, else i. */
static int past_arguments(const Tree *t, int i, int last) {
    return past_angle(t, ANGLES_ARGUMENTS, i, last);
}

/* After a possibly qualified name with template arguments; i when there is none. */
static int past_type_name(const Tree *t, int i, int last) {
    int start = i;
    if (tok_is(t, i, "::")) i++;
    while (i < last && is_name(t, i)) {
        i = past_arguments(t, i + 1, last);
        if (!tok_is(t, i, "::")) return i;
        i++;
    }
    return start;
}

static int past_pointers(const Tree *t, int i, int last) {
    static const char *const words[] = {"*", "&", "&&", "const", "volatile", "__restrict__",
                                        "__restrict", NULL};
    while (i < last && tok_in(t, i, words)) i++;
    return i;
}

/* The newest declaration of a name in what is being read: a node has no end before it is closed.
** A variable of that name in a function before this one, or in a class, is none. */
static const Decl *known(const Tree *t, int name) {
    int *i = &t->last_decl[name]; /* forgets those of closed nodes, which stay closed */
    while (*i >= 0 && t->node[t->decl[*i].scope].end) *i = t->older_decl[*i];
    return *i >= 0 ? &t->decl[*i] : NULL;
}

static bool known_variable(const Tree *t, int name) {
    const Decl *d = known(t, name);
    return d && (d->kind == DECL_VARIABLE || d->kind == DECL_PARAMETER);
}

static bool known_type(const Tree *t, int name) {
    const Decl *d = known(t, name);
    return d && d->kind == DECL_TYPE;
}

/* `vec (*p)[3]` of a type known here, where a function would be called otherwise */
static bool points_at_array(const Tree *t, int i) {
    return tok_is(t, i + 1, "(") && (tok_is(t, i + 2, "*") || tok_is(t, i + 2, "&")) &&
           known_type(t, t->tok[i].name);
}

/* After the `[[maybe_unused]]` before a declaration. */
static int past_attributes(const Tree *t, int i) {
    while (tok_is(t, i, "[") && tok_is(t, i + 1, "[") && t->match[i] > i) i = t->match[i] + 1;
    return i;
}

bool tree_is_declaration(const Tree *t, int first, int last) {
    static const char *const ends[] = {"=", ";", ",", "[", "(", "{", ":", ")", NULL};
    first = past_attributes(t, first);
    if (first >= last || tok_in(t, first, never_words)) return false;
    if (tok_in(t, first, begin_words)) return true;
    if (is_type_word(t, first)) /* `float(x);` is an expression */
        return !tok_is(t, first + 1, "(") || tok_is(t, first + 2, "*") ||
               tok_is(t, first + 2, "&") || tok_in(t, first, paren_words);
    if (tok_in(t, first, paren_words)) return true;
    int i = past_type_name(t, first, last);
    if (i == first || i >= last) return false;
    if (is_type_word(t, i)) return true; /* a macro before the type */
    if (is_name(t, i)) return true;
    if (points_at_array(t, i - 1)) return true;
    int k = past_pointers(t, i, last);
    if (k == i || k >= last || !is_name(t, k)) return false;
    return (k + 1 >= last || tok_in(t, k + 1, ends)) && !known_variable(t, t->tok[first].name);
}

/* ---- declaring ---- */

/* The newest macro of the name at token i; -1: none. */
static int newest_macro(const Tree *t, int i) {
    return t->tok[i].kind == TOK_NAME ? t->last_macro[t->tok[i].name] : -1;
}

/* What the specifiers [first, last) say of every name they declare. */
static Decl specifiers(const Tree *t, int first, int last, int scope) {
    Decl d = {.kind = DECL_VARIABLE, .scope = scope, .place = t->tok[first].place};
    for (int i = first; i < last; i++) {
        if (tok_is(t, i, "typedef") || tok_is(t, i, "using")) d.kind = DECL_TYPE;
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

/* Does name i stand where a declarator's name does, rather than as part of the type? */
static bool is_declarator(const Tree *t, int i, int last) {
    static const char *const ends[] = {"=", ";", ",", "[", "(", "{", ":", NULL};
    if (!is_name(t, i) || is_type_word(t, i) || tok_in(t, i, paren_words)) return false;
    if (points_at_array(t, i)) return false;
    return i + 1 >= last || tok_in(t, i + 1, ends);
}

/* After the specifiers: where the first declarator (its * and &) begins. */
static int past_specifiers(const Tree *t, int i, int last) {
    while (i < last) {
        if (tok_in(t, i, paren_words) && tok_is(t, i + 1, "(")) i = t->match[i + 1] + 1;
        else if (tok_is(t, i, "[") && tok_is(t, i + 1, "[")) i = t->match[i] + 1;
        else if (tok_is(t, i, "template")) i = past_arguments(t, i + 1, last);
        else if (tok_in(t, i, tag_words) && tok_is(t, i + 1, "{")) i = t->match[i + 1] + 1;
        else if (tok_in(t, i, tag_words) && tok_is(t, i + 2, "{")) i = t->match[i + 2] + 1;
        else if (is_type_word(t, i) || tok_is(t, i, "typedef")) i++;
        else if (t->tok[i].kind == TOK_STRING) i++;
        else if (is_declarator(t, i, last)) return i;
        else if (past_type_name(t, i, last) > i) i = past_type_name(t, i, last);
        else return i;
    }
    return i;
}

/* After the declarator's initialiser, at ',' or the end. */
static int past_initialiser(const Tree *t, int i, int last) {
    while (i < last && !tok_is(t, i, ",") && !tok_is(t, i, ";")) {
        int after = past_arguments(t, i, last);
        if (after > i && (tok_is(t, after, "(") || tok_is(t, after, "{") || tok_is(t, after, "::")))
            i = after;
        else i = t->match[i] > i ? t->match[i] + 1 : i + 1;
    }
    return i;
}

/* One declarator from i; declares its name. Returns where its initialiser ends. */
static int declarator(Tree *t, int i, int last, Decl d, bool parameter) {
    int begin = i;
    i = past_pointers(t, i, last);
    d.fixed = d.is_const;
    for (int k = begin; k < i; k++) {
        if (tok_is(t, k, "*")) d.pointer = true, d.fixed = false, d.stars++;
        if (tok_is(t, k, "&") || tok_is(t, k, "&&")) d.reference = true;
        if (tok_is(t, k, "const")) d.fixed = true;
    }
    if (tok_is(t, i, "[") && !parameter) { /* auto [a, b] = … */
        for (int k = i + 1; k < t->match[i]; k++)
            if (is_name(t, k)) tree_declare_name(t, DECL_VARIABLE, k, d.scope);
        return past_initialiser(t, t->match[i] + 1, last);
    }
    if (tok_is(t, i, "(") && (tok_is(t, i + 1, "*") || tok_is(t, i + 1, "&"))) {
        int name = past_pointers(t, i + 1, last); /* a pointer to a function or an array */
        d.pointer = true;
        if (is_name(t, name)) d.name = t->tok[name].name, d.at = name, add_decl(t, d);
        return past_initialiser(t, t->match[i] + 1, last);
    }
    if (!is_name(t, i)) return past_initialiser(t, i + (i < last), last);
    d.name = t->tok[i].name;
    d.at = i;
    int after = i + 1;
    while (after < last && tok_is(t, after, "[")) after = t->match[after] + 1, d.dims++;
    d.array = d.dims > 0;
    bool file_level = t->n_node > 0 && t->node[d.scope].function < 0;
    if (file_level && tok_is(t, after, "(") && d.kind == DECL_VARIABLE && !parameter)
        d.kind = DECL_FUNCTION; /* a prototype; a constructed global is kept apart just as well */
    d.set = tok_is(t, after, "=") || tok_is(t, after, "{") || tok_is(t, after, "(");
    int end = past_initialiser(t, after, last);
    if (tok_is(t, after, "=")) d.value = after + 1, d.value_end = end;
    add_decl(t, d);
    return end;
}

static void declare_enumerators(Tree *t, int first, int last, int scope) {
    for (int i = first; i < last && !tok_is(t, i, ";"); i++) {
        if (!tok_is(t, i, "enum")) continue;
        bool scoped = tok_is(t, i + 1, "class") || tok_is(t, i + 1, "struct");
        while (i < last && !tok_is(t, i, "{") && !tok_is(t, i, ";")) i++;
        if (scoped || !tok_is(t, i, "{")) return;
        for (int k = i + 1; k < t->match[i]; k = past_initialiser(t, k, t->match[i]) + 1)
            if (is_name(t, k)) tree_declare_name(t, DECL_VARIABLE, k, scope);
        return;
    }
}

/* The name that `struct X`, `enum class X` introduces, or X of `using X = …`. */
static void declare_tag(Tree *t, int first, int last, int scope) {
    int i = first;
    if (tok_is(t, i, "template")) i = past_arguments(t, i + 1, last);
    if (tok_is(t, i, "typedef")) i++;
    if (!tok_in(t, i, begin_words)) return;
    if (tok_is(t, i, "namespace") && is_name(t, i + 1)) /* namespace a = b; */
        tree_declare_name(t, DECL_NAMESPACE, i + 1, scope);
    if (tok_is(t, i, "namespace") || tok_is(t, i + 1, "namespace")) return;
    while (i + 1 < last && (tok_in(t, i, tag_words) || tok_is(t, i, "using"))) i++;
    if (is_name(t, i)) tree_declare_name(t, DECL_TYPE, i, scope);
}

/* `template class Queue<int>;`, which declares no name. */
static bool is_instantiation(const Tree *t, int first) {
    if (tok_is(t, first, "extern")) first++;
    return tok_is(t, first, "template") && !tok_is(t, first + 1, "<");
}

void tree_declare(Tree *t, int first, int last, int scope) {
    first = past_attributes(t, first);
    if (!tree_is_declaration(t, first, last) || is_instantiation(t, first)) return;
    if (tok_is(t, first, "static_assert")) return;
    declare_tag(t, first, last, scope);
    declare_enumerators(t, first, last, scope);
    if (tok_is(t, first, "using") || tok_is(t, first, "namespace")) return;
    int i = past_specifiers(t, first, last);
    Decl d = specifiers(t, first, i, scope);
    d.first = first;
    d.last = last;
    d.type_end = i;
    while (i < last && !tok_is(t, i, ";")) {
        i = declarator(t, i, last, d, false);
        if (i < last) i++;
    }
}

/* `typename T`, `class T` of a template's list; `typename T::N n` is a value. */
static bool names_type(const Tree *t, int first) {
    return (tok_is(t, first, "typename") || tok_is(t, first, "class")) &&
           !tok_is(t, first + 2, "::");
}

static void declare_param(Tree *t, int first, int last, int scope, bool of_template) {
    if (first >= last || tok_is(t, first, "...")) return;
    int i = past_specifiers(t, first, last);
    Decl d = specifiers(t, first, i, scope);
    d.kind = of_template && names_type(t, first) ? DECL_TYPE : DECL_PARAMETER;
    d.first = first;
    d.last = last;
    d.type_end = i;
    for (int k = first; k < last && !tok_is(t, k, "="); k++) {
        if (tok_is(t, k, "*")) d.pointer = true;
        if (tok_is(t, k, "&") || tok_is(t, k, "&&")) d.reference = true;
    }
    if (i < last) declarator(t, i, last, d, true);
}

void tree_declare_params(Tree *t, int open, int close, int scope) {
    bool of_template = tok_is(t, open, "<");
    for (int i = open + 1, from = i; i <= close;) {
        bool end = i == close;
        if (end || tok_is(t, i, ",")) {
            declare_param(t, from, i, scope, of_template);
            from = i + 1;
        }
        if (end) return;
        int after = past_arguments(t, i, close);
        i = after > i ? after : t->match[i] > i ? t->match[i] + 1 : i + 1;
    }
}
