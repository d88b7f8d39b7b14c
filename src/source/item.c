/* item.c - what stands outside of functions: functions, namespaces, types, declarations.
**
** An item ends at a ';' or behind the '}' of a function or a type. One with a parameter list before
** its first '{' is a function. The members of a class are items too. What fits nothing is unknown.
*/
#include "source/reader.h"

static void read_items(Reader *r, int at, int to, int parent);

static int unknown_item(Reader *r, int first, int last, int parent, const char *why) {
    int node = node_new(r, SRC_UNKNOWN, first, last);
    not_known(r, node, why, first);
    read_pieces(r, node, first, last);
    adopt(r, parent, node, ROLE_ITEM);
    return last + 1;
}

int template_end(const Reader *r, int open, int to) {
    int depth = 0;
    for (int k = open; k < to && !is(r, k, ";") && !is(r, k, "{") && !is(r, k, "}");) {
        if (is(r, k, "<")) depth++;
        if (is(r, k, ">")) depth--;
        if (is(r, k, ">>")) depth -= 2;
        if (is(r, k, ">>>")) depth -= 3;
        if (depth <= 0) return k;
        k = is(r, k, "(") || is(r, k, "[") ? past(r, k) : k + 1;
    }
    return -1;
}

/* Behind all `template <…>` and `extern "C"` of an item. */
int past_heads(const Reader *r, int i, int to) {
    for (;;) {
        int end = is(r, i, "template") && is(r, i + 1, "<") ? template_end(r, i + 1, to) : -1;
        if (end > i) i = end + 1;
        else if (is(r, i, "extern") && is_kind(r, i + 1, TOK_STRING)) i += 2;
        else return i;
    }
}

/* ---- functions ---- */

static bool is_operator(const Reader *r, int first, int i) {
    for (int k = i - 1; k >= first && k >= i - 3; k--)
        if (is(r, k, "operator")) return true;
    return false;
}

int name_of(const Reader *r, int first, int params) {
    int depth = 0, i = params - 1;
    if (is_kind(r, i, TOK_NAME)) return i;
    if (!is(r, first, "template") || !is(r, first + 2, ">")) return -1;
    for (int open; i > first + 2; i = open >= 0 && open < i ? open - 1 : i - 1) {
        open = match_of(r, i);
        if (is(r, i, ">")) depth++;
        else if (is(r, i, ">>")) depth += 2;
        else if (is(r, i, ">>>")) depth += 3;
        else if (is(r, i, "<") && --depth == 0) return is_kind(r, i - 1, TOK_NAME) ? i - 1 : -1;
        if (depth <= 0) return -1;
    }
    return -1;
}

int params_of(const Reader *r, int first, int brace) {
    static const char *const behind[] = {"{",        "const",    "noexcept", "override", "final",
                                         "volatile", ":",        "->",       "&",        "&&",
                                         "try",      "requires", NULL};
    for (int i = past_heads(r, first, brace); i<brace; i = match_of(r, i)> i ? past(r, i) : i + 1) {
        if (is(r, i, "=") && !is(r, i - 1, "operator")) return -1;
        if (!is(r, i, "(") || match_of(r, i) < 0) continue;
        if (is_class(r, i - 1, WORD_ATTRIBUTE | WORD_NO_NAME)) continue;
        if (is_operator(r, first, i) && is(r, match_of(r, i) + 1, "(")) continue;
        if (name_of(r, first, i) < 0 && !is_operator(r, first, i)) continue;
        int after = past_attributes(r, match_of(r, i) + 1);
        if (is_one_of(r, after, behind)) return i;
    }
    return -1;
}

int body_of(const Reader *r, int close, int brace, int to) {
    static const char *const behind[] = {",", "{", "...", NULL};
    if (!is(r, past_attributes(r, close + 1), ":")) return brace;
    for (int i = close + 2; i < to && !is(r, i, ";"); i++) {
        if (is(r, i, "{") && !is_kind(r, i - 1, TOK_NAME) && !is(r, i - 1, ">")) return i;
        if (!is(r, i, "(") && !is(r, i, "{")) continue;
        if (!is_one_of(r, past(r, i), behind) && !is_kind(r, past(r, i), TOK_DIRECTIVE)) return -1;
        i = past(r, i) - 1;
    }
    return -1;
}

static void read_body(Reader *r, int node, int open) {
    int n_node = r->s->n_node, n_decl = r->s->n_decl;
    Reader inner = *r;
    inner.stop = match_of(r, open);
    inner.why = NULL;
    int body = read_block(&inner, open);
    if (body < 0) unread(r, n_node, n_decl);
    adopt(r, node, body, ROLE_BODY);
    if (inner.why) not_known(r, node, inner.why, inner.why_at);
}

/* Parameters of a kind between two brackets; where one is not understood, there are none. */
static void read_all_parameters(Reader *r, int node, int open, int close, SourceRole role) {
    int n_node = r->s->n_node, n_decl = r->s->n_decl;
    SourceNode before = r->s->node[node];
    Reader inner = *r;
    inner.why = NULL;
    if (read_parameters(&inner, open, close, node, role)) return;
    unread(r, n_node, n_decl);
    if (before.tail >= 0) r->s->node[before.tail].next = -1;
    r->s->node[node] = before;
    r->s->node[node].why = inner.why;
    r->s->node[node].why_at = open;
}

static void read_template_parameters(Reader *r, int node, int first, int to) {
    for (int i = first, end; i < to && is(r, i, "template") && is(r, i + 1, "<"); i = end + 1) {
        if ((end = template_end(r, i + 1, to)) < 0) return;
        read_all_parameters(r, node, i + 1, end, ROLE_TPARAM);
        r->s->node[node].why = NULL; /* the body may be known all the same */
    }
}

static int read_function(Reader *r, int first, int params, int brace, int parent) {
    int last = match_of(r, brace), node = node_new(r, SRC_FUNCTION, first, last);
    int name = name_of(r, first, params);
    SourceNode *n = &r->s->node[node];
    n->open = params;
    n->close = match_of(r, params);
    n->semi1 = brace;
    n->token = name >= 0 ? name : params - 1;
    read_template_parameters(r, node, first, params);
    read_all_parameters(r, node, params, match_of(r, params), ROLE_PARAM);
    read_body(r, node, brace);
    adopt(r, parent, node, ROLE_ITEM);
    return last + 1;
}

/* ---- namespaces, types, declarations ---- */

static int read_space(Reader *r, int first, int brace, int parent) {
    int last = match_of(r, brace), node = node_new(r, SRC_NAMESPACE, first, last);
    if (is_kind(r, brace - 1, TOK_NAME) && !is(r, brace - 1, "namespace"))
        r->s->node[node].token = brace - 1;
    read_items(r, brace + 1, last, node);
    adopt(r, parent, node, ROLE_ITEM);
    return last + 1;
}

/* The ';' or the directive that ends what goes on at i; to: none. What one search found is kept for
** the items behind it, else a file of bodies without ';' is read to its end for each. */
static int item_end(Reader *r, int i, int to) {
    if (i >= r->end_from && i <= r->end_at) return r->end_at;
    r->end_from = i;
    while (i < to && !is(r, i, ";") && !is_kind(r, i, TOK_DIRECTIVE))
        i = match_of(r, i) > i ? past(r, i) : i + 1;
    return r->end_at = i;
}

/* A type at its struct, class, union or enum, with the declarators up to its ';'. */
static int read_class(Reader *r, int first, int tag, int brace, int to, int parent) {
    int last = match_of(r, brace), node = node_new(r, SRC_CLASS, first, last);
    int name = past_attributes(r, tag + 1), end = item_end(r, last + 1, to);
    if (is(r, name, "class") || is(r, name, "struct")) name++;
    r->s->node[node].token = is_kind(r, name, TOK_NAME) ? name : tag;
    r->s->node[node].semi1 = tag;
    r->s->node[node].open = brace;
    r->s->node[node].close = last;
    read_template_parameters(r, node, first, tag);
    if (is(r, tag, "enum")) read_enumerators(r, node);
    else read_items(r, brace + 1, last, node);
    r->s->node[node].last = end < to ? end : to - 1;
    adopt(r, parent, node, ROLE_ITEM);
    if (end <= last + 1 || !is(r, end, ";") || is(r, first, "typedef")) return end + 1;
    int n_node = r->s->n_node, n_decl = r->s->n_decl;
    int d = node_new(r, SRC_DECLARATION, first, end);
    Reader inner = *r;
    inner.why = NULL;
    if (read_declared(&inner, tag, end, d)) adopt(r, parent, d, ROLE_ITEM);
    else unread(r, n_node, n_decl);
    return end + 1;
}

/* What ends at the ';' at `end`. */
static int read_plain(Reader *r, int first, int end, int parent) {
    int from = past_attributes(r, past_heads(r, first, end));
    bool is_type = is(r, from, "typedef") || is(r, from, "using") || is(r, from, "static_assert") ||
                   is(r, from, "namespace") || is(r, from, "friend");
    if (is_type || from >= end) {
        adopt(r, parent,
              is_type ? read_alias(r, first, from, end) : node_new(r, SRC_EMPTY, first, end),
              ROLE_ITEM);
        return end + 1;
    }
    Reader inner = *r;
    int n_node = r->s->n_node, n_decl = r->s->n_decl;
    int node = node_new(r, SRC_DECLARATION, first, end);
    inner.why = NULL;
    if (is_declaration(&inner, from) && read_declared(&inner, from, end, node)) {
        adopt(r, parent, node, ROLE_ITEM);
        return end + 1;
    }
    unread(r, n_node, n_decl);
    const char *why = inner.why;
    int why_at, tree = why ? -1 : try_expression(r, from, end - 1, false, &why, &why_at);
    if (tree < 0) return unknown_item(r, first, end, parent, why);
    node = node_new(r, SRC_EXPRESSION, first, end); /* a macro, or the text of a function's part */
    adopt(r, node, tree, ROLE_TREE);
    adopt(r, parent, node, ROLE_ITEM);
    return end + 1;
}

int tag_of(const Reader *r, int first, int brace) {
    for (int i = past_heads(r, first, brace); i < brace; i++)
        if (is_class(r, i, WORD_TAG)) return i;
    return -1;
}

/* Not in another: what of such a type is tried in two ways would be tried in four. */
void read_local_type(Reader *r, int first, int stop, int parent) {
    Reader inner = *r;
    int brace = first;
    inner.in_unknown = true;
    while (brace < stop && !is(r, brace, "{")) brace++;
    int tag = tag_of(r, first, brace);
    if (!r->in_unknown && tag >= 0 && match_of(r, brace) > brace && match_of(r, brace) < stop)
        read_class(&inner, first, tag, brace, stop, parent);
}

/* The item whose first '{' is at brace. */
static int read_braced(Reader *r, int first, int brace, int to, int parent) {
    int word = is(r, first, "inline") ? first + 1 : first;
    bool is_space =
        is(r, word, "namespace") || (is(r, first, "extern") && is_kind(r, brace - 1, TOK_STRING));
    if (match_of(r, brace) < 0)
        return unknown_item(r, first, brace, parent, "a '{' without its '}'");
    if (is_space) return read_space(r, first, brace, parent);
    int params = params_of(r, first, brace);
    if (params >= 0) {
        int body = body_of(r, match_of(r, params), brace, to);
        if (body >= 0 && match_of(r, body) > body)
            return read_function(r, first, params, body, parent);
    }
    int tag = tag_of(r, first, brace);
    if (tag >= 0) return read_class(r, first, tag, brace, to, parent);
    int end = item_end(r, brace, to);
    if (end < to && is(r, end, ";")) return read_plain(r, first, end, parent);
    return unknown_item(r, first, match_of(r, brace), parent, "braces of no function or type");
}

static int read_item(Reader *r, int first, int to, int parent) {
    static const char *const access[] = {"public", "private", "protected", NULL};
    if (is_kind(r, first, TOK_DIRECTIVE)) {
        adopt(r, parent, node_new(r, SRC_DIRECTIVE, first, first), ROLE_ITEM);
        return first + 1;
    }
    if (is_one_of(r, first, access) && is(r, first + 1, ":")) return first + 2;
    for (int i = past_heads(r, first, to), value = 0; i < to;) {
        if (is_kind(r, i, TOK_DIRECTIVE))
            return unknown_item(r, first, i - 1, parent, "no declaration");
        if (is(r, i, ";")) return read_plain(r, first, i, parent);
        if (is(r, i, "}") || is(r, i, ")"))
            return unknown_item(r, first, i, parent, "an odd bracket");
        if (is(r, i, "=") && !is(r, i - 1, "operator")) value = 1;
        if (is(r, i, "{") && !value) return read_braced(r, first, i, to, parent);
        i = match_of(r, i) > i ? past(r, i) : i + 1;
    }
    return unknown_item(r, first, to - 1, parent, "a declaration without its ';'");
}

static void read_items(Reader *r, int at, int to, int parent) {
    int end_from = r->end_from, end_at = r->end_at; /* of the items around these */
    r->end_at = -1;
    if (++r->deep > DEPTH_ITEM) {
        unknown_item(r, at, to - 1, parent, "namespaces or types that are nested too deeply");
        at = to;
    }
    while (at < to && !source_stopped(NULL)) at = read_item(r, at, to, parent);
    r->deep--;
    r->end_from = end_from;
    r->end_at = end_at;
}

/* ---- where names are known ---- */

/* The node within which a declared name is known, from its own on. */
static int scope_of(const Source *s, int node) {
    bool is_enumerator = s->node[s->node[node].parent].kind == SRC_CLASS;
    if (is_enumerator) node = s->node[node].parent; /* it is known outside, too */
    for (node = s->node[node].parent; node > 0; node = s->node[node].parent) {
        SourceKind kind = s->node[node].kind;
        if (kind == SRC_BLOCK || (kind >= SRC_FOR && kind <= SRC_SWITCH && kind != SRC_DO) ||
            kind == SRC_FUNCTION || kind == SRC_LAMBDA || kind == SRC_NAMESPACE ||
            kind == SRC_CLASS)
            return node;
    }
    return 0;
}

static void find_scopes(Source *s) {
    for (int i = 0; i < s->n_decl; i++) {
        SourceDecl *d = &s->decl[i];
        const SourceNode *scope = &s->node[scope_of(s, d->node)];
        d->parameter = s->node[d->node].role == ROLE_PARAM;
        d->scope = d->parameter && scope->open >= 0 ? scope->open : d->name;
        d->scope_last = scope->last;
    }
}

void read_file(Reader *r) {
    int n = r->s->tokens.n;
    node_new(r, SRC_FILE, 0, n - 1);
    read_items(r, 0, n, 0);
    find_scopes(r->s);
}

void read_directive(Reader *r) {
    int n = r->s->tokens.n, at = 2; /* define NAME(params) … */
    const SourceToken *t = r->s->tokens.v;
    int node = node_new(r, SRC_FILE, 0, n - 1);
    if (!is(r, 0, "define") || n < 3) return;
    if (is(r, 2, "(") && t[2].start == t[1].end) at = past(r, 2);
    read_statements(r, node, at, n);
    find_scopes(r->s);
}
