/* express.c - expressions, by precedence climbing. ISO C++17 [expr]; `f<<<g, b>>>(x)` is CUDA's.
**
** A `<` behind a name begins template arguments only where a `>` nearby closes it and a call, a
** launch or a `::` follows. `T(x)` and `T{x}` make a T where T is a type of the text or a built-in
** one. GNU's statement expressions, `new`, `throw` and `delete` are not read.
*/
#include "source/reader.h"

#include <string.h>

static int read_assign(Reader *r);
static int read_comma(Reader *r);
static int read_unary(Reader *r);
static int read_list(Reader *r);

static bool here(const Reader *r, const char *word) {
    return r->at <= r->stop && is(r, r->at, word);
}

static bool is_type_alone(const Reader *r, int from, int to) {
    bool known = false, stars = false, begins = true;
    for (int i = from; i <= to; i++) {
        if (is_class(r, i, WORD_TYPE | WORD_OF_FILE)) known = true;
        else if (is(r, i, "*") || is(r, i, "&")) {
            if (i == from) return false;
            stars = true;
        } else if (is_class(r, i, WORD_QUALIFIER)) {
            known = known || is(r, i, "struct") || is(r, i, "typename");
        } else if (is_kind(r, i, TOK_NAME) && !stars && begins && is(r, i + 1, "::")) {
            i++;
            continue;
        } else if (is_kind(r, i, TOK_NAME) && !stars && begins) {
            if (!is(r, to, "*")) return false;
            known = true;
        } else return false;
        begins = is_class(r, i, WORD_QUALIFIER);
    }
    return known;
}

/* May the word stand among template arguments, where a comparison could be meant as well? */
static bool is_argument(const Reader *r, int i) {
    static const char *const words[] = {",", "::", "*", "&", NULL};
    return is_kind(r, i, TOK_NAME) || is_kind(r, i, TOK_NUMBER) || is_one_of(r, i, words);
}

/* A '>>' closes two. No comparison ends before a ',' or a ')', or at the end of all. */
int closing_angle(const Reader *r, int open) {
    static const char *const ends[] = {";", "{", "}", ")", "]", NULL};
    static const char *const certain[] = {"<<<", ",", ")", ";", NULL};
    int depth = 0, near = open + ANGLES_NEAR;
    bool plain = true;
    for (int i = open; i <= r->stop && i <= near; i++) {
        int closed = is(r, i, ">") ? 1 : is(r, i, ">>") ? 2 : is(r, i, ">>>") ? 3 : 0;
        if (is(r, i, "<")) depth++;
        else if (closed == 0 && is_one_of(r, i, ends)) return -1;
        else if (closed == 0) plain = plain && is_argument(r, i);
        if (closed > depth) return -1;
        depth -= closed;
        if (closed && depth == 0)
            return i == r->stop || is_one_of(r, i + 1, certain) ||
                           (plain && (is(r, i + 1, "(") || is(r, i + 1, "{") || is(r, i + 1, "::")))
                       ? i
                       : -1;
        if (is(r, i, "(") && match_of(r, i) > i) plain = false, i = match_of(r, i);
    }
    return -1;
}

/* An item that is not understood, up to the ',' or to `close`, and behind it: its node, or -1. */
static int unknown_item(Reader *r, int first, int close, int n_node, int n_decl) {
    unread(r, n_node, n_decl);
    for (r->at = first; r->at < close && !here(r, ",");)
        r->at = match_of(r, r->at) > r->at ? past(r, r->at) : r->at + 1;
    if (r->at == first) return -1; /* none: `(,)` */
    int node = node_new(r, SRC_UNKNOWN, first, r->at - 1);
    not_known(r, node, r->why, r->why_at);
    r->why = NULL;
    return node;
}

/* Those up to the bracket at `close`, with commas, adopted by node; false: not understood. A launch
** is one whatever its items are. */
static bool read_items(Reader *r, int node, int close, SourceRole role) {
    bool launches = r->s->node[node].kind == SRC_LAUNCH;
    if (close < 0 || close > r->stop) return fail(r, "a bracket without its partner") >= 0;
    while (r->at < close) {
        int n_node = r->s->n_node, n_decl = r->s->n_decl, first = r->at, depth = r->depth;
        int item = here(r, "{") ? read_list(r) : read_assign(r);
        bool ends = r->at == close || here(r, ",");
        if (launches && (item < 0 || !ends)) {
            if (item >= 0) fail(r, "an expression that does not end");
            r->depth = depth;
            item = unknown_item(r, first, close, n_node, n_decl);
        }
        if (item < 0) return false;
        adopt(r, node, item, role);
        if (r->at < close && !here(r, ",")) return fail(r, "no ',' between two arguments") >= 0;
        if (r->at < close) r->at++;
    }
    r->at = close + 1;
    return true;
}

/* `{ 1, 2 }` */
static int read_list(Reader *r) {
    int open = r->at++, close = match_of(r, open);
    if (++r->depth > DEPTH_EXPRESSION) return fail(r, "braces that are nested too deeply");
    int node = node_new(r, SRC_LIST, open, close);
    bool fine = read_items(r, node, close, ROLE_ITEM);
    r->depth--;
    return fine ? node : -1;
}

/* ---- what an expression begins with ---- */

static int read_sizeof(Reader *r) {
    int first = r->at++;
    if (here(r, "...")) r->at++;
    if (!here(r, "(")) {
        int n_node = r->s->n_node, n_decl = r->s->n_decl, of = read_unary(r);
        unread(r, n_node, n_decl); /* nothing of it is computed */
        return of < 0 ? of : node_new(r, SRC_NUMBER, first, r->at - 1);
    }
    if (match_of(r, r->at) < 0) return fail(r, "a bracket without its partner");
    r->at = match_of(r, r->at) + 1;
    return node_new(r, SRC_NUMBER, first, r->at - 1);
}

/* A name with its qualifiers; with template arguments too where it is behind those of another. */
static int read_qualified(Reader *r) {
    int first = r->at, open = -1, angle = -1;
    if (here(r, "::")) r->at++;
    r->at++;
    for (;;) {
        open = here(r, "<") ? r->at : -1;
        angle = open >= 0 ? closing_angle(r, open) : -1;
        int behind = angle >= 0 ? angle + 1 : r->at;
        if (!is(r, behind, "::") || !is_kind(r, behind + 1, TOK_NAME) || behind >= r->stop) break;
        r->at = behind + 2;
    }
    int node = node_new(r, SRC_NAME, first, r->at - 1);
    r->s->node[node].token = r->at - 1;
    if (angle < 0) return node;
    r->at = angle + 1;
    r->s->node[node].open = open;
    r->s->node[node].close = angle;
    r->s->node[node].last = angle;
    return node;
}

/* `static_cast<int>(x)` behind its type: makes a cast of the node that was read as a name. */
static int read_named_cast(Reader *r, int node) {
    int close = match_of(r, r->at);
    r->at++;
    int a = close >= 0 ? read_assign(r) : -1;
    if (a < 0 || r->at != close) return fail(r, "a cast that does not end");
    r->at++;
    SourceNode *n = &r->s->node[node];
    n->kind = SRC_CAST;
    n->last = close;
    n->token = -1;
    n->open++;
    n->close--;
    adopt(r, node, a, ROLE_A);
    return node;
}

static int read_name(Reader *r) {
    if (here(r, "sizeof") || here(r, "alignof")) return read_sizeof(r);
    if (is_class(r, r->at, WORD_NO_VALUE))
        return fail(r, here(r, "asm") || here(r, "__asm__") ? "assembly"
                                                            : "an operator or a "
                                                              "keyword that is not supported");
    int node = read_qualified(r);
    const SourceNode *n = &r->s->node[node];
    bool casts = n->open >= 0 && n->token == n->first && is_class(r, n->token, WORD_CAST);
    return casts ? read_named_cast(r, node) : node;
}

static int read_parenthesis(Reader *r) {
    int open = r->at++, close = match_of(r, open);
    if (close < 0 || close > r->stop) return fail(r, "a bracket without its partner");
    if (here(r, "{")) return fail(r, "a statement in an expression");
    int inner = read_comma(r);
    if (inner < 0 || r->at != close) return fail(r, "an expression that does not end");
    r->at++;
    r->s->node[inner].first = open;
    r->s->node[inner].last = close;
    return inner;
}

/* Behind what may stand between a lambda's parameters and its body. */
static int past_lambda_head(const Reader *r, int i) {
    static const char *const words[] = {"mutable",  "constexpr", "noexcept", "__device__",
                                        "__host__", "->",        NULL};
    for (bool arrow = false; i <= r->stop && !is(r, i, "{");) {
        if (!arrow && !is_one_of(r, i, words)) return -1;
        arrow = arrow || is(r, i, "->");
        if (is(r, i, ";") || is(r, i, ")")) return -1;
        i = is(r, i, "(") ? past(r, i) : i + 1;
    }
    return i <= r->stop ? i : -1;
}

/* `[&](int i) { … }` */
static int read_lambda(Reader *r) {
    int first = r->at, i = past(r, first);
    int node = node_new(r, SRC_LAMBDA, first, first);
    while (is(r, i, "__device__") || is(r, i, "__host__")) i++;
    if (is(r, i, "(")) {
        if (!read_parameters(r, i, match_of(r, i), node, ROLE_PARAM))
            return fail(r, "a lambda's parameters");
        i = past(r, i);
    }
    int open = past_lambda_head(r, i);
    if (open < 0 || match_of(r, open) < 0 || match_of(r, open) > r->stop)
        return fail(r, "an expression that begins with '['");
    Reader inner = *r;
    inner.stop = match_of(r, open);
    int body = read_block(&inner, open);
    if (body < 0) return fail(r, "a lambda whose statements are not understood");
    adopt(r, node, body, ROLE_BODY);
    r->s->node[node].last = match_of(r, open);
    r->at = match_of(r, open) + 1;
    return node;
}

static int read_literal(Reader *r) {
    int first = r->at++;
    while (is_kind(r, r->at, TOK_STRING) && r->at <= r->stop) r->at++;
    int node = node_new(r, SRC_NUMBER, first, r->at - 1);
    r->s->node[node].token = first;
    return node;
}

static int read_primary(Reader *r) {
    if (r->at > r->stop) return fail(r, "an expression that ends too early");
    if (here(r, "(")) return read_parenthesis(r);
    if (here(r, "[")) return read_lambda(r);
    if (is_kind(r, r->at, TOK_NUMBER) || is_kind(r, r->at, TOK_STRING) ||
        is_kind(r, r->at, TOK_CHAR))
        return read_literal(r);
    if (is_kind(r, r->at, TOK_NAME) || here(r, "::")) return read_name(r);
    return fail(r, "an expression that is not understood");
}

/* ---- what stands behind it ---- */

static int read_call(Reader *r, int callee) {
    int first = r->s->node[callee].first, close = match_of(r, r->at);
    const SourceNode *of = &r->s->node[callee];
    bool makes = of->kind == SRC_NAME && is_class(r, of->token, WORD_TYPE | WORD_OF_FILE);
    int node = node_new(r, SRC_CALL, first, close);
    r->at++;
    adopt(r, node, callee, ROLE_CALLEE);
    r->s->node[node].makes = makes;
    return read_items(r, node, close, ROLE_ITEM) ? node : -1;
}

static int read_launch(Reader *r, int callee) {
    int node = node_new(r, SRC_LAUNCH, r->s->node[callee].first, r->at);
    int open = r->at++, close = open;
    while (close <= r->stop && !(is(r, close, ">>>") && is(r, close + 1, "(")))
        close = match_of(r, close) > close ? past(r, close) : close + 1;
    adopt(r, node, callee, ROLE_CALLEE);
    if (!is(r, close + 1, "(") || !read_items(r, node, close, ROLE_GRID))
        return fail(r, "a launch that is not understood");
    close = match_of(r, r->at);
    r->at++;
    r->s->node[node].last = close;
    return read_items(r, node, close, ROLE_ITEM) ? node : -1;
}

static int read_index(Reader *r, int a) {
    int close = match_of(r, r->at++);
    int index = close >= 0 && close <= r->stop ? read_comma(r) : -1;
    if (index < 0 || r->at != close) return fail(r, "an index that is not understood");
    r->at++;
    int node = node_new(r, SRC_INDEX, r->s->node[a].first, close);
    adopt(r, node, a, ROLE_A);
    adopt(r, node, index, ROLE_INDEX);
    return node;
}

static int read_member(Reader *r, int a) {
    int node = node_new(r, SRC_MEMBER, r->s->node[a].first, r->at + 1);
    r->at += 2;
    SourceNode *n = &r->s->node[node];
    n->token = r->at - 1;
    int angle = here(r, "<") ? closing_angle(r, r->at) : -1;
    if (angle >= 0) {
        n->open = r->at;
        n->close = n->last = angle;
        r->at = angle + 1;
    }
    adopt(r, node, a, ROLE_A);
    return node;
}

static int read_step(Reader *r, int a) {
    int node = node_new(r, SRC_POSTFIX, r->s->node[a].first, r->at);
    r->s->node[node].token = r->at++;
    adopt(r, node, a, ROLE_A);
    return node;
}

/* Does `{` behind a node make a value of the type that it names? */
static bool makes_value(const Reader *r, int a) {
    const SourceNode *n = &r->s->node[a];
    return n->kind == SRC_NAME && (n->open >= 0 || is_class(r, n->token, WORD_TYPE | WORD_OF_FILE));
}

static int read_postfix(Reader *r) {
    int a = source_stopped(NULL) ? fail(r, "interrupted") : read_primary(r);
    while (a >= 0 && r->at <= r->stop) {
        bool dot = is(r, r->at, ".") || is(r, r->at, "->");
        if (here(r, "(")) a = read_call(r, a);
        else if (here(r, "[")) a = read_index(r, a);
        else if (here(r, "<<<")) a = read_launch(r, a);
        else if (dot && is_kind(r, r->at + 1, TOK_NAME)) a = read_member(r, a);
        else if (here(r, "++") || here(r, "--")) a = read_step(r, a);
        else if (here(r, "{") && makes_value(r, a)) a = read_call(r, a);
        else if (here(r, "{") && r->s->node[a].kind == SRC_NAME)
            return fail(r, "braces behind a name that is no known type");
        else return a;
    }
    return a;
}

/* ---- operators ---- */

/* `(int)x`; -1 and no reason: it is none. */
static int read_cast(Reader *r) {
    int open = r->at, close = match_of(r, open);
    if (close < 0 || close >= r->stop || !is_type_alone(r, open + 1, close - 1)) return -1;
    r->at = close + 1;
    int a = read_unary(r);
    if (a < 0) return fail(r, "a cast of nothing");
    int node = node_new(r, SRC_CAST, open, r->s->node[a].last);
    r->s->node[node].open = open + 1;
    r->s->node[node].close = close - 1;
    adopt(r, node, a, ROLE_A);
    return node;
}

static int read_unary(Reader *r) {
    static const char *const operators[] = {"-", "+", "!", "~", "*", "&", "++", "--", NULL};
    int a = -1, first = r->at;
    if (++r->depth > DEPTH_EXPRESSION) return fail(r, "an expression that is nested too deeply");
    if (r->at <= r->stop && is_one_of(r, r->at, operators)) {
        r->at++;
        int of = read_unary(r);
        if (of >= 0) {
            a = node_new(r, SRC_UNARY, first, r->s->node[of].last);
            r->s->node[a].token = first;
            adopt(r, a, of, ROLE_A);
        }
    } else {
        if (here(r, "(")) a = read_cast(r);
        if (a < 0 && r->why == NULL) a = read_postfix(r);
    }
    r->depth--;
    return a;
}

/* How strongly the operator at `at` binds, from 1; 0: it is none. */
static int level_of(const Reader *r) {
    static const char *const levels[] = {"|| ",    "&& ",        "| ",     "^ ",   "& ",
                                         "== != ", "< > <= >= ", "<< >> ", "+ - ", "* / % "};
    if (r->at > r->stop || !is_kind(r, r->at, TOK_PUNCT)) return 0;
    const char *word = source_word(r->s, r->at);
    size_t n = strlen(word);
    for (int k = 0; k < 10; k++)
        for (const char *at = levels[k]; *at; at = strchr(at, ' ') + 1)
            if (strncmp(at, word, n) == 0 && at[n] == ' ') return k + 1;
    return 0;
}

static int pair_of(Reader *r, SourceKind kind, int operator_at, int a, int b) {
    int node = node_new(r, kind, r->s->node[a].first, r->s->node[b].last);
    r->s->node[node].token = operator_at;
    adopt(r, node, a, ROLE_A);
    adopt(r, node, b, ROLE_B);
    return node;
}

static int read_binary(Reader *r, int least) {
    int a = read_unary(r), level;
    while (a >= 0 && (level = level_of(r)) >= least && level > 0) {
        int at = r->at++, b = read_binary(r, level + 1);
        if (b < 0) return -1;
        a = pair_of(r, SRC_BINARY, at, a, b);
    }
    return a;
}

static int read_choice(Reader *r, int condition) {
    r->at++;
    int yes = read_comma(r);
    if (yes < 0 || !here(r, ":")) return fail(r, "a '?' without its ':'");
    r->at++;
    int no = read_assign(r);
    if (no < 0) return -1;
    int node = node_new(r, SRC_CHOICE, r->s->node[condition].first, r->s->node[no].last);
    adopt(r, node, condition, ROLE_CONDITION);
    adopt(r, node, yes, ROLE_A);
    adopt(r, node, no, ROLE_B);
    return node;
}

static int read_assign(Reader *r) {
    static const char *const operators[] = {
        "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", NULL};
    if (++r->depth > DEPTH_EXPRESSION) return fail(r, "an expression that is nested too deeply");
    int a = read_binary(r, 1);
    if (a >= 0 && here(r, "?")) a = read_choice(r, a);
    else if (a >= 0 && r->at <= r->stop && is_one_of(r, r->at, operators)) {
        int at = r->at++, b = here(r, "{") ? read_list(r) : read_assign(r);
        a = b >= 0 ? pair_of(r, SRC_ASSIGN, at, a, b) : -1;
    }
    r->depth--;
    return a;
}

static int read_comma(Reader *r) {
    int a = read_assign(r);
    while (a >= 0 && here(r, ",")) {
        int at = r->at++, b = read_assign(r);
        a = b >= 0 ? pair_of(r, SRC_BINARY, at, a, b) : -1;
    }
    return a;
}

/* What of an expression that is read no rewriting knows; NULL: nothing. Nodes from `from` on. */
static const char *strange(const Reader *r, int from, int *at) {
    for (int i = from; i < r->s->n_node; i++) {
        SourceKind kind = r->s->node[i].kind;
        *at = r->s->node[i].first;
        if (kind == SRC_LAMBDA) return "a lambda";
        if (kind == SRC_LAUNCH) return "a launch";
    }
    return NULL;
}

int read_expression(Reader *r, int from, int to, bool braces) {
    Reader inner = *r;
    int n_node = r->s->n_node, n_decl = r->s->n_decl, why_at = -1;
    if (to < from) return fail(r, "an expression without words");
    inner.at = from;
    inner.stop = to;
    inner.why = NULL;
    int tree = braces && is(r, from, "{") ? read_list(&inner) : read_comma(&inner);
    if (tree >= 0 && inner.at != to + 1) tree = fail(&inner, "an expression that does not end");
    if (tree < 0) {
        if (r->why == NULL) r->why = inner.why, r->why_at = inner.why_at;
        unread(r, n_node, n_decl);
        return -1;
    }
    r->s->node[tree].why = strange(&inner, n_node, &why_at);
    r->s->node[tree].why_at = why_at;
    r->s->node[tree].semi1 = n_node;
    r->s->node[tree].semi2 = r->s->n_node;
    return tree;
}

int try_expression(const Reader *r, int from, int to, bool braces, const char **why, int *why_at) {
    Reader inner = *r;
    inner.why = NULL;
    int tree = read_expression(&inner, from, to, braces);
    *why = tree >= 0 ? r->s->node[tree].why : inner.why;
    *why_at = tree >= 0 ? r->s->node[tree].why_at : inner.why_at;
    return tree;
}
