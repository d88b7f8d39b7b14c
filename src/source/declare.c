/* declare.c - types, declarators, attributes. ISO C++17 [dcl.dcl], [dcl.decl], [dcl.attr].
**
** A statement declares where it begins with a built-in type, a type of the text or a storage word,
** or with a name that another name follows (perhaps behind * and &). What a declarator of a pointer
** to a function, of a structured binding or of a type in braces makes is declared, but what it
** begins with is not known.
*/
#include "source/reader.h"

int past_attributes(const Reader *r, int i) {
    for (int after; (after = source_past_attribute(r->s, i)) > i;) i = after;
    return i;
}

/* ---- types ---- */

/* Behind `<…>`; -1: it does not end nearby. */
static int past_angles(const Reader *r, int i) {
    int depth = 0, near = i + ANGLES_FAR;
    for (int k = i; k <= r->stop && k <= near;) {
        if (is(r, k, "<")) depth++;
        if (is(r, k, ">")) depth--;
        if (is(r, k, ">>")) depth -= 2;
        if (is(r, k, ">>>")) depth -= 3;
        if (is(r, k, ";") || is(r, k, "{")) return -1;
        if (depth <= 0) return depth < 0 ? -1 : k + 1;
        k = is(r, k, "(") || is(r, k, "[") ? past(r, k) : k + 1;
    }
    return -1;
}

/* Behind the arguments and qualifiers of a name: `<3>::Type`. */
static int past_qualifiers(const Reader *r, int i) {
    while (i >= 0 && (is(r, i, "<") || is(r, i, "::"))) {
        if (is(r, i, "<")) i = past_angles(r, i);
        else i += is(r, i + 1, "template") ? 3 : 2;
    }
    return i;
}

/* The ')' of the '(' at i in `(*z)[32]`, `(&z)[4]`, `(*f)(int)`, `(*f[3])(int)`; -1. */
static int past_inner(const Reader *r, int i) {
    int close = match_of(r, i), k = i + 1;
    if (!is(r, i, "(") || close < 0 || (!is(r, k, "*") && !is(r, k, "&"))) return -1;
    while (is(r, k, "*") || is(r, k, "&") || is_class(r, k, WORD_STORAGE)) k++;
    if (!is_kind(r, k, TOK_NAME)) return -1;
    for (k++; is(r, k, "[");) k = past(r, k);
    return k == close && (is(r, close + 1, "[") || is(r, close + 1, "(")) ? close : -1;
}

/* Behind `struct P { … }` at its first word; -1: it defines no type. */
static int past_definition(const Reader *r, int i) {
    if (!is_class(r, i, WORD_TAG)) return -1;
    i = past_attributes(r, i + 1);
    if (is(r, i, "class") || is(r, i, "struct")) i++;
    if (is_kind(r, i, TOK_NAME)) i++;
    if (is(r, i, ":"))
        while (i <= r->stop && !is(r, i, "{") && !is(r, i, ";")) i++;
    return is(r, i, "{") ? past(r, i) : -1;
}

int past_type(const Reader *r, int i, bool *certain) {
    const int start = i;
    bool named = false, builtin;
    for (*certain = false;;) {
        int attribute = past_attributes(r, i), defined = named ? -1 : past_definition(r, i);
        builtin = is_class(r, i, WORD_TYPE | WORD_OF_FILE);
        if (attribute > i) {
            *certain = *certain || !is(r, i, "[");
            i = attribute;
            continue;
        }
        if (defined >= 0) {
            *certain = named = true;
            i = defined;
        } else if (is_class(r, i, WORD_STORAGE)) {
            *certain = true;
            i++;
            continue;
        } else if ((!named && builtin) || is_class(r, i, WORD_COMBINED)) {
            if (is(r, i + 1, "(") && !named && past_inner(r, i + 1) < 0) return -1;
            *certain = named = true;
            i++;
        } else if (!named && is_class(r, i, WORD_TYPE_OF) && is(r, i + 1, "(")) {
            *certain = named = true;
            i = past(r, i + 1);
        } else if (!named && is(r, i, "::") && is_kind(r, i + 1, TOK_NAME)) {
            i++;
            continue;
        } else if (!named && is_kind(r, i, TOK_NAME) && !is_class(r, i, WORD_NO_VALUE)) {
            named = true;
            i++;
        } else break;
        i = past_qualifiers(r, i);
        if (i < 0) return -1;
    }
    return named && i > start ? i : -1;
}

/* Behind the stars of a declarator. `&&` is one of them where no other meaning is left. */
static int past_stars(const Reader *r, int i, bool certain) {
    for (;;) {
        int attribute = past_attributes(r, i);
        bool star = is(r, i, "*") || is(r, i, "&") || (certain && is(r, i, "&&"));
        if (attribute > i) i = attribute;
        else if (star || is_class(r, i, WORD_STORAGE)) i++;
        else return i;
    }
}

/* Is the '[' at i that of `auto [x, y] = …`? */
static bool is_binding(const Reader *r, int from, int i) {
    if (!is(r, i, "[") || past_attributes(r, i) > i || match_of(r, i) < 0) return false;
    for (int k = from; k < i; k++)
        if (is(r, k, "auto")) return true;
    return false;
}

bool is_declaration(const Reader *r, int i) {
    static const char *const behind_name[] = {"=", ";", ",", "[", "(", "{", ":", ")", NULL};
    bool certain;
    int behind = past_type(r, i, &certain);
    if (behind < 0) return false;
    if (past_inner(r, behind) >= 0) return certain;
    int name = past_stars(r, behind, certain);
    if (is_binding(r, i, name)) return true;
    if (!is_kind(r, name, TOK_NAME) || is_class(r, name, WORD_NO_VALUE)) return false;
    bool ends = is_class(r, name + 1, WORD_ATTRIBUTE) || is_one_of(r, name + 1, behind_name);
    return ends && (certain || name > behind || is_kind(r, behind, TOK_NAME));
}

/* ---- declarators ---- */

static SourceDecl specifiers(const Reader *r, int from, int behind) {
    SourceDecl d = {.node = -1,
                    .name = -1,
                    .type = from,
                    .type_last = behind - 1,
                    .scope = -1,
                    .scope_last = -1,
                    .init_at = -1};
    for (int i = past_attributes(r, from); i < behind; i = past_attributes(r, i + 1)) {
        if (is(r, i, "const") || is(r, i, "constexpr")) d.is_const = true;
        if (is(r, i, "static")) d.is_static = true;
        if (is(r, i, "extern")) d.is_extern = true;
        if (is(r, i, "volatile")) d.is_volatile = true;
        if (is(r, i, "__shared__")) d.shared = true;
        if (is(r, i, "__constant__")) d.constant = true;
        if (is(r, i, "<") || is(r, i, "(") || is(r, i, "{")) {
            int after = is(r, i, "<") ? past_angles(r, i) : past(r, i);
            if (after > i) i = after - 1;
        }
    }
    return d;
}

static int declared_new(Reader *r, SourceDecl d, int first) {
    Source *s = r->s;
    d.node = node_new(r, SRC_DECLARED, first, first);
    gi_grow(s->decl, s->n_decl, s->cap_decl);
    s->node[d.node].decl = s->n_decl;
    s->node[d.node].token = d.name;
    s->decl[s->n_decl++] = d;
    return d.node;
}

/* The `[4]`s at i; behind them. One that is not understood is SRC_UNKNOWN. */
static int read_extents(Reader *r, int i, int node) {
    const char *why;
    int why_at;
    while (is(r, i, "[") && past_attributes(r, i) == i) {
        int close = match_of(r, i);
        if (close < 0) return fail(r, "a bracket without its partner");
        int tree = try_expression(r, i + 1, close - 1, false, &why, &why_at);
        if (tree < 0) tree = node_new(r, SRC_UNKNOWN, i, close);
        adopt(r, node, tree, ROLE_EXTENT);
        i = close + 1;
    }
    return i;
}

/* The words of a declarator before its name, at i; their last is before what is given back. */
static int read_stars(Reader *r, int i, int stop, SourceDecl *d) {
    for (; i < stop; i++) {
        int attribute = past_attributes(r, i);
        if (attribute > i) i = attribute - 1;
        else if (is(r, i, "*")) {
            d->pointer++;
            d->target_const = d->target_const || d->is_const;
            d->is_const = false;
        } else if (is(r, i, "&") || is(r, i, "&&")) d->reference = true;
        else if (is(r, i, "const")) d->is_const = true;
        else if (!is_class(r, i, WORD_STORAGE)) return i;
    }
    return i;
}

/* Behind the declarator at i, whose node is *node: its name and extents. -1: not understood. */
static int read_declarator(Reader *r, int i, int stop, SourceDecl d, int *node) {
    int first = i, close = past_inner(r, i);
    if (close >= 0) {
        d.function = is(r, close + 1, "(");
        d.rows = !d.function && is(r, i + 1, "*");
        i++;
    }
    i = read_stars(r, i, stop, &d);
    if (!is_kind(r, i, TOK_NAME) || i > stop) return fail(r, "a declaration without a name");
    d.name = i;
    *node = declared_new(r, d, first);
    if (d.function) not_known(r, *node, "a pointer to a function", first);
    i = read_extents(r, i + 1, *node);
    if (close < 0) return i < 0 ? i : past_attributes(r, i);
    i = d.function ? past(r, close + 1) : read_extents(r, close + 1, *node);
    return i < 0 ? i : past_attributes(r, i);
}

/* The ',' or the end of a declarator whose first value begins at i. */
static int past_value(const Reader *r, int i, int stop) {
    while (i < stop && !is(r, i, ",")) {
        int angle = is(r, i, "<") && is_kind(r, i - 1, TOK_NAME) ? closing_angle(r, i) : -1;
        bool opens = is(r, i, "(") || is(r, i, "[") || is(r, i, "{");
        i = angle > i ? angle + 1 : opens ? past(r, i) : i + 1;
    }
    return i < stop ? i : stop;
}

/* Is a parameter a type without a name: `int`, `const float *`, `T &`, `int[]`? */
static bool is_nameless(Reader *r, int from, int to) {
    bool certain;
    int i = past_type(r, from, &certain);
    while (i >= 0 && i <= to && (is(r, i, "*") || is(r, i, "&") || is(r, i, "&&") ||
                                 is(r, i, "const") || is(r, i, "__restrict__")))
        i++;
    while (i >= 0 && i <= to && is(r, i, "[")) i = past(r, i);
    return i == to + 1;
}

/* Are the words between '(' and ')' parameters, so that the name of `node` is a function's? They
** are its declarations then. `Foo x(3)` has none. */
static bool is_prototype(Reader *r, int open, int node) {
    int n_node = r->s->n_node, n_decl = r->s->n_decl, close = match_of(r, open);
    Reader inner = *r;
    inner.why = NULL;
    bool type = is_class(r, open + 1, WORD_TYPE | WORD_OF_FILE | WORD_STORAGE) &&
                !is(r, open + 2, "(") && !is(r, open + 2, "{");
    if (close == open + 1) return true;
    if (close < 0 || !type) return false;
    SourceNode before = r->s->node[node];
    bool fits = true;
    for (int from = open + 1, end; fits && from <= close; from = end + 1) {
        end = parameter_end(r, from, close);
        fits = is_nameless(r, from, end - 1) ||
               read_parameter(&inner, from, end - 1, node, ROLE_PARAM);
    }
    if (fits) return true;
    unread(r, n_node, n_decl);
    if (before.tail >= 0) r->s->node[before.tail].next = -1;
    r->s->node[node] = before;
    return false;
}

/* What the name of `node` begins with, at i; behind it. */
static int read_initial(Reader *r, int i, int stop, int node) {
    const char *why = NULL;
    int why_at = i;
    if (is(r, i, ":")) return past_value(r, i, stop); /* the bits of a field */
    if (!is(r, i, "=") && !is(r, i, "(") && !is(r, i, "{")) return i;
    if (is(r, i, "(") && is_prototype(r, i, node)) {
        r->s->decl[r->s->node[node].decl].function = true;
        not_known(r, node, "a function's declaration", i);
        return past(r, i);
    }
    int from = is(r, i, "=") ? i + 1 : i, behind = past_value(r, from, stop);
    int tree = try_expression(r, from, behind - 1, true, &why, &why_at);
    r->s->decl[r->s->node[node].decl].init_at = i;
    adopt(r, node, tree, ROLE_INIT);
    if (why || tree < 0) not_known(r, node, why ? why : "a value that is not understood", why_at);
    return behind;
}

/* `auto [x, y] = …`: its '[' is at i. */
static bool read_bindings(Reader *r, int i, int stop, SourceDecl base, int statement) {
    int close = match_of(r, i);
    base.bound = true;
    for (int k = i + 1; k < close; k += 2) {
        if (!is_kind(r, k, TOK_NAME) || !(is(r, k + 1, ",") || k + 1 == close))
            return fail(r, "a structured binding") >= 0;
        base.name = k;
        int node = declared_new(r, base, k);
        not_known(r, node, "a structured binding", i);
        if (k == i + 1) r->s->node[node].last = read_initial(r, close + 1, stop, node) - 1;
        adopt(r, statement, node, ROLE_DECLARED);
    }
    return true;
}

bool read_declared(Reader *r, int from, int stop, int statement) {
    bool certain;
    int behind = past_type(r, from, &certain), i = behind;
    if (behind < 0) return fail(r, "a declaration that is not understood") >= 0;
    SourceDecl base = specifiers(r, from, behind), binding = base;
    bool defines = false;
    for (int k = from; k < behind; k++) defines = defines || is(r, k, "{");
    int name = read_stars(r, i, stop, &binding);
    if (is_binding(r, from, name)) return read_bindings(r, name, stop, binding, statement);
    do {
        int node = -1, first = i, after = read_declarator(r, i, stop, base, &node);
        if (after < 0) return false;
        i = read_initial(r, after, stop, node);
        r->s->node[node].first = first;
        r->s->node[node].last = i - 1;
        if (defines) not_known(r, node, "a type that is defined in a declaration", from);
        adopt(r, statement, node, ROLE_DECLARED);
        if (i < stop && !is(r, i, ",")) return fail(r, "a declaration that does not end") >= 0;
        i++;
    } while (i <= stop);
    return true;
}

void read_enumerators(Reader *r, int node) {
    const SourceNode of = r->s->node[node];
    for (int i = of.open + 1, behind; i < of.close && is_kind(r, i, TOK_NAME); i = behind + 1) {
        SourceDecl d = specifiers(r, of.token, of.token + 1);
        d.name = i;
        d.is_const = true;
        int one = declared_new(r, d, i);
        behind = past_value(r, read_initial(r, past_attributes(r, i + 1), of.close, one), of.close);
        r->s->node[one].last = behind - 1;
        adopt(r, node, one, ROLE_DECLARED);
    }
}

/* ---- parameters ---- */

/* An array that comes as a parameter is a pointer to its elements; `float (*a)[4]` is one. */
static void decay(Reader *r, int node) {
    SourceNode *n = &r->s->node[node];
    SourceDecl *d = &r->s->decl[n->decl];
    if (n->child < 0 || d->rows || d->reference || d->function) return;
    r->s->node[n->child].role = ROLE_NONE;
    d->pointer++;
    d->target_const = d->target_const || d->is_const;
    d->is_const = false;
}

/* `typename T`, `class... Ts`, of a template's list; `Number T` of a concept, where another
** template of the file has a type of this name. */
static bool read_type_parameter(Reader *r, int from, int to, int function) {
    int name = is(r, from + 1, "...") ? from + 2 : from + 1;
    bool is_constrained = is_kind(r, from, TOK_NAME) && is_class(r, name, WORD_OF_FILE);
    if (!is(r, from, "typename") && !is(r, from, "class") && !is_constrained) return false;
    if (name > to || !is_kind(r, name, TOK_NAME) || is(r, name + 1, "::")) return false;
    SourceDecl d = specifiers(r, from, from + 1);
    d.name = name;
    adopt(r, function, declared_new(r, d, from), ROLE_TPARAM);
    r->s->node[r->s->n_node - 1].last = to;
    return true;
}

bool read_parameter(Reader *r, int from, int to, int function, SourceRole role) {
    bool certain;
    int node = -1;
    if (role == ROLE_TPARAM && read_type_parameter(r, from, to, function)) return true;
    for (int k = from; k <= to; k++)
        if (is(r, k, "=")) to = k - 1;
    int behind = past_type(r, from, &certain);
    if (behind < 0 || to < from) return fail(r, "a parameter that is not understood") >= 0;
    SourceDecl base = specifiers(r, from, behind);
    int after = behind > to ? -1 : read_declarator(r, behind, to + 1, base, &node);
    if (after != to + 1) return fail(r, "a parameter that is not understood") >= 0;
    r->s->node[node].first = from;
    r->s->node[node].last = to;
    for (int k = from; k <= to; k++)
        if (is(r, k, "__restrict__") || is(r, k, "__restrict") || is(r, k, "restrict"))
            r->s->decl[r->s->node[node].decl].restricted = true;
    decay(r, node);
    adopt(r, function, node, role);
    return true;
}

int parameter_end(const Reader *r, int i, int close) {
    while (i < close && !is(r, i, ",")) {
        int angles = is(r, i, "<") ? past_angles(r, i) : -1, match = match_of(r, i);
        i = angles > i ? angles : match > i && match < close ? match + 1 : i + 1;
    }
    return i < close ? i : close;
}

bool read_parameters(Reader *r, int open, int close, int function, SourceRole role) {
    if (close == open + 2 && is(r, open + 1, "void")) return true;
    for (int from = open + 1, end; from <= close && close > open + 1; from = end + 1) {
        end = parameter_end(r, from, close);
        if (!read_parameter(r, from, end - 1, function, role)) return false;
    }
    return true;
}

/* ---- other names of types ---- */

int read_alias(Reader *r, int first, int word, int end) {
    int node = node_new(r, SRC_TYPE, first, end), name = -1, from = word + 1, to = end - 1;
    if (is(r, word, "typedef") && is_kind(r, end - 1, TOK_NAME)) name = end - 1, to = end - 2;
    if (is(r, word, "using") && is(r, word + 2, "=")) name = word + 1, from = word + 3;
    if (name < 0 || to < from) return node;
    r->s->node[node].token = name;
    r->s->node[node].open = from;
    r->s->node[node].close = to;
    return node;
}
