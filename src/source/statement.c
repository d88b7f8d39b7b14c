/* statement.c - the statements of a function. ISO C++17 [stmt.stmt].
**
** What is not understood within a statement's bounds makes that statement unknown. Where not even
** these can be told (an `#if` parts an `if` from its statement) the function has a reason, too.
*/
#include "source/reader.h"

static int read_statement(Reader *r, int i, int stop);

/* The tree of [from, to] in a role; where it is not understood, its statement says so. */
static void read_part(Reader *r, int statement, int from, int to, SourceRole role) {
    const char *why;
    int why_at;
    if (to < from) return;
    adopt(r, statement, try_expression(r, from, to, false, &why, &why_at), role);
    if (why) not_known(r, statement, why, why_at);
}

int semicolon(const Reader *r, int i, int stop) {
    while (i <= stop) {
        if (is(r, i, ";")) return i;
        if (is_kind(r, i, TOK_DIRECTIVE) || is(r, i, "}")) return -1;
        i = is(r, i, "(") || is(r, i, "[") || is(r, i, "{") ? past(r, i) : i + 1;
    }
    return -1;
}

/* Does a piece of what is not understood end at i: before braces, or behind the ')' of a macro? */
static bool ends_piece(const Reader *r, int i, int last) {
    return i >= last || is(r, i + 1, ";") || is(r, i + 1, "{") ||
           (is(r, i, ")") && is_kind(r, i + 1, TOK_NAME));
}

/* Of `CHECK(f(x)) k<<<1, 2>>>(x);` both calls, of `EACH(i, n) { … }` the block. Once only: what is
** not understood in there stays so, or time would double with each nesting. */
void read_pieces(Reader *r, int statement, int first, int last) {
    const char *why;
    int why_at;
    Reader inner = *r;
    inner.in_unknown = true;
    for (int i = first, end; i <= last && !r->in_unknown; i = end + 1) {
        int n_node = r->s->n_node, n_decl = r->s->n_decl, piece = -1;
        end = i;
        inner.stop = last;
        inner.why = NULL;
        if (is(r, i, "{")) {
            piece = read_block(&inner, i);
            if (piece < 0) unread(r, n_node, n_decl);
            else end = r->s->node[piece].last;
        } else if (!is(r, i, ";") && !is_class(r, i, WORD_NO_VALUE)) {
            for (;; end++) {
                if (match_of(r, end) > end && match_of(r, end) <= last) end = match_of(r, end);
                if (ends_piece(r, end, last)) break;
            }
            piece = try_expression(&inner, i, end, false, &why, &why_at);
        }
        adopt(r, statement, piece, ROLE_NONE);
    }
}

/* ---- simple ones ---- */

/* Makes a statement of [first, stop) one that declares. */
static void read_declaration(Reader *r, int s, int from, int stop) {
    Reader inner = *r;
    int n_node = r->s->n_node, n_decl = r->s->n_decl;
    inner.why = NULL;
    r->s->node[s].kind = SRC_DECLARATION;
    if (read_declared(&inner, from, stop, s)) return;
    unread(r, n_node, n_decl);
    r->s->node[s].child = r->s->node[s].tail = -1;
    r->s->node[s].kind = SRC_UNKNOWN;
    not_known(r, s, inner.why, inner.why_at);
}

/* What stands from first to the ';' at stop: a declaration or an expression. */
static int read_simple(Reader *r, int first, int stop) {
    int from = first, after;
    while (is(r, from, "[") && (after = source_past_attribute(r->s, from)) > from) from = after;
    if (from == stop) return node_new(r, SRC_EMPTY, first, stop);
    int s = node_new(r, SRC_EXPRESSION, first, stop);
    if (is_class(r, from, WORD_TAG) && !is_declaration(r, from)) {
        r->s->node[s].kind = SRC_UNKNOWN;
        not_known(r, s, "a type that is defined in a function", from);
        read_local_type(r, from, stop, s);
    } else if (is_declaration(r, from)) {
        read_declaration(r, s, from, stop);
    } else {
        read_part(r, s, from, stop - 1, ROLE_TREE);
        if (r->s->node[s].why) r->s->node[s].kind = SRC_UNKNOWN;
    }
    if (r->s->node[s].kind == SRC_UNKNOWN && r->s->node[s].child < 0)
        read_pieces(r, s, from, stop - 1);
    return s;
}

static int read_return(Reader *r, int i, int stop) {
    int s = node_new(r, SRC_RETURN, i, stop);
    if (is(r, i + 1, "{")) {
        const char *why;
        int why_at, tree = try_expression(r, i + 1, stop - 1, true, &why, &why_at);
        not_known(r, s, "a value in braces without its type", i + 1);
        if (tree >= 0) not_known(r, tree, r->s->node[s].why, i + 1);
        adopt(r, s, tree, ROLE_TREE);
    } else read_part(r, s, i + 1, stop - 1, ROLE_TREE);
    return s;
}

static int read_ended(Reader *r, int i, int stop) {
    int at = semicolon(r, i, stop);
    if (at < 0) {
        int s = node_new(r, SRC_UNKNOWN, i, stop);
        not_known(r, s, "a statement without its ';'", i);
        read_pieces(r, s, i, stop);
        return s;
    }
    if (is(r, i, "return")) return read_return(r, i, at);
    if (is(r, i, "break")) return node_new(r, SRC_BREAK, i, at);
    if (is(r, i, "continue")) return node_new(r, SRC_CONTINUE, i, at);
    if (is(r, i, "goto")) return node_new(r, SRC_GOTO, i, at);
    if (is(r, i, "typedef") || is(r, i, "using") || is(r, i, "static_assert") ||
        is(r, i, "namespace"))
        return read_alias(r, i, i, at);
    return read_simple(r, i, at);
}

/* ---- those with a header ---- */

/* The one statement below an if or a loop, at i. */
static int read_below(Reader *r, int i, int stop) {
    if (i > stop || is_kind(r, i, TOK_DIRECTIVE))
        return fail(r, "an #if, or the end, where a statement should be");
    return read_statement(r, i, stop);
}

/* Does the header's part from i declare a name that it tests: `if (int z = n)`? */
static bool declares_here(const Reader *r, int i, int close) {
    if (!is_declaration(r, i)) return false;
    for (int k = i; k < close; k++)
        if (is(r, k, "=")) return true;
    return false;
}

/* The header of an if, a while or a switch. */
static void read_condition(Reader *r, int s, int open, int close) {
    int semi = semicolon(r, open + 1, close - 1), from = semi < 0 ? open + 1 : semi + 1;
    if (semi >= 0) adopt(r, s, read_simple(r, open + 1, semi), ROLE_INIT);
    if (declares_here(r, from, close)) {
        int d = node_new(r, SRC_DECLARATION, from, close - 1);
        read_declaration(r, d, from, close);
        adopt(r, s, d, ROLE_INIT);
    } else read_part(r, s, from, close - 1, ROLE_CONDITION);
    if (close == open + 1) not_known(r, s, "a header without a condition", open);
    if (source_child(r->s, s, ROLE_INIT) >= 0) not_known(r, s, "a declaration in a header", open);
}

int range_colon(const Reader *r, int open, int close) {
    int colon = open + 1;
    while (colon < close && !is(r, colon, ":"))
        colon = match_of(r, colon) > colon ? past(r, colon) : colon + 1;
    return colon;
}

/* `for (auto &x : list)` */
static void read_range(Reader *r, int s, int open, int close) {
    int colon = range_colon(r, open, close);
    if (colon < close && is_declaration(r, open + 1)) {
        int d = node_new(r, SRC_DECLARATION, open + 1, colon - 1);
        read_declaration(r, d, open + 1, colon);
        adopt(r, s, d, ROLE_INIT);
    }
    not_known(r, s, "a loop over a range", open);
}

bool for_parts(const Reader *r, int open, int close, int *one, int *two) {
    *one = semicolon(r, open + 1, close - 1);
    *two = *one < 0 ? -1 : semicolon(r, *one + 1, close - 1);
    if (*two < 0) *one = -1;
    return *two >= 0;
}

static void read_for_header(Reader *r, int s, int open, int close) {
    int one, two;
    if (!for_parts(r, open, close, &one, &two)) {
        read_range(r, s, open, close);
        return;
    }
    r->s->node[s].semi1 = one;
    r->s->node[s].semi2 = two;
    int init = one > open + 1 ? read_simple(r, open + 1, one) : -1;
    adopt(r, s, init, ROLE_INIT);
    if (init >= 0 && r->s->node[init].kind == SRC_UNKNOWN)
        not_known(r, s, r->s->node[init].why, r->s->node[init].why_at);
    read_part(r, s, one + 1, two - 1, ROLE_CONDITION);
    read_part(r, s, two + 1, close - 1, ROLE_STEP);
}

static int read_headed(Reader *r, int i, int stop, SourceKind kind) {
    int open = is(r, i + 1, "constexpr") ? i + 2 : i + 1, close = match_of(r, open);
    if (!is(r, open, "(") || close < 0 || close > r->stop) return fail(r, "a header without ')'");
    int s = node_new(r, kind, i, close);
    r->s->node[s].open = open;
    r->s->node[s].close = close;
    if (kind == SRC_FOR) read_for_header(r, s, open, close);
    else read_condition(r, s, open, close);
    int body = read_below(r, close + 1, stop);
    if (body < 0) return -1;
    adopt(r, s, body, ROLE_BODY);
    r->s->node[s].last = r->s->node[body].last;
    return s;
}

static int read_if(Reader *r, int i, int stop) {
    int s = read_headed(r, i, stop, SRC_IF), at = s < 0 ? -1 : r->s->node[s].last + 1;
    if (s < 0 || at > stop || !is(r, at, "else")) return s;
    int otherwise = read_below(r, at + 1, stop);
    if (otherwise < 0) return -1;
    adopt(r, s, otherwise, ROLE_OTHERWISE);
    r->s->node[s].semi1 = at;
    r->s->node[s].last = r->s->node[otherwise].last;
    return s;
}

static int read_do(Reader *r, int i, int stop) {
    int s = node_new(r, SRC_DO, i, i), body = read_below(r, i + 1, stop);
    if (body < 0) return -1;
    int at = r->s->node[body].last + 1, close = match_of(r, at + 1);
    bool ends = is(r, at, "while") && is(r, at + 1, "(") && close >= 0 && close <= r->stop &&
                is(r, close + 1, ";");
    if (!ends) return fail(r, "a do without its while");
    adopt(r, s, body, ROLE_BODY);
    r->s->node[s].open = at + 1;
    r->s->node[s].close = close;
    r->s->node[s].last = close + 1;
    read_part(r, s, at + 2, close - 1, ROLE_CONDITION);
    if (close == at + 2) not_known(r, s, "a header without a condition", at + 1);
    return s;
}

int past_label(const Reader *r, int i, int stop) {
    if (is_kind(r, i, TOK_NAME) && is(r, i + 1, ":")) return i + 2;
    if (!is(r, i, "case")) return i;
    for (int k = i + 1, questions = 0; k <= stop; k = match_of(r, k) > k ? past(r, k) : k + 1) {
        if (is(r, k, ";") || is(r, k, "{") || is(r, k, "}")) return i;
        if (is(r, k, "?")) questions++;
        if (is(r, k, ":") && questions-- == 0) return k + 1;
    }
    return i;
}

static int read_case(Reader *r, int i, int stop) {
    const char *why;
    int why_at, after = past_label(r, i, stop);
    if (after == i) return fail(r, "a case without its ':'");
    int s = node_new(r, SRC_CASE, i, after - 1);
    if (after > i + 2)
        adopt(r, s, try_expression(r, i + 1, after - 2, false, &why, &why_at), ROLE_TREE);
    return s;
}

/* ---- any ---- */

/* `[[likely]]` before a statement with a header or a block: it is read for where it ends. */
static int read_attributed(Reader *r, int i, int from, int stop) {
    int n_node = r->s->n_node, n_decl = r->s->n_decl, inner = read_below(r, from, stop);
    if (inner < 0) return -1;
    int last = r->s->node[inner].last;
    unread(r, n_node, n_decl);
    int s = node_new(r, SRC_UNKNOWN, i, last);
    not_known(r, s, "an attribute before a statement", i);
    return s;
}

static int read_any(Reader *r, int i, int stop) {
    static const struct {
        const char *word;
        SourceKind kind;
    } headed[] = {{"for", SRC_FOR}, {"while", SRC_WHILE}, {"switch", SRC_SWITCH}};
    r->at = i;
    int from = past_attributes(r, i);
    bool attributed = is(r, i, "[") && from > i;
    if (is_kind(r, i, TOK_DIRECTIVE)) return node_new(r, SRC_DIRECTIVE, i, i);
    if (attributed && (is_class(r, from, WORD_NO_VALUE) || is(r, from, "{")) &&
        !is_declaration(r, from))
        return read_attributed(r, i, from, stop);
    if (is(r, i, "{")) return read_block(r, i);
    if (is(r, i, "if")) return read_if(r, i, stop);
    for (size_t k = 0; k < sizeof headed / sizeof *headed; k++)
        if (is(r, i, headed[k].word)) return read_headed(r, i, stop, headed[k].kind);
    if (is(r, i, "do")) return read_do(r, i, stop);
    if (is(r, i, "case") || is(r, i, "default")) return read_case(r, i, stop);
    if (is(r, i, "else") || is(r, i, "}") || is(r, i, ")"))
        return fail(r, "an else or a bracket that closes nothing");
    if (is_kind(r, i, TOK_NAME) && is(r, i + 1, ":")) return node_new(r, SRC_LABEL, i, i + 1);
    return read_ended(r, i, stop);
}

static int read_statement(Reader *r, int i, int stop) {
    if (++r->deep > DEPTH_STATEMENT) return fail(r, "statements that are nested too deeply");
    int s = read_any(r, i, stop);
    r->deep--;
    return s;
}

int read_one_statement(Reader *r, int i, int stop) {
    return read_statement(r, i, stop);
}

/* What begins at `at` and cannot be told apart from what follows: unknown, up to its ';' or to what
** cannot be of it. The reader goes on behind it; `why` stays. */
static int recover(Reader *r, int at, int stop) {
    int last = at;
    bool whole = is(r, at, ";");
    while (!whole && last < stop && !is_kind(r, last + 1, TOK_DIRECTIVE)) {
        last = past(r, last) <= stop && match_of(r, last) > last ? match_of(r, last) : last;
        whole = is(r, last, ";") || last >= stop || is(r, last + 1, "}");
        if (!whole && !is_kind(r, last + 1, TOK_DIRECTIVE)) last++;
    }
    int s = node_new(r, SRC_UNKNOWN, at, last);
    not_known(r, s, r->why, r->why_at);
    read_pieces(r, s, at, last);
    return s;
}

void read_statements(Reader *r, int node, int from, int close) {
    for (int at = from; at < close && !source_stopped(NULL);) {
        int n_node = r->s->n_node, n_decl = r->s->n_decl, deep = r->deep;
        int child = read_statement(r, at, close - 1);
        if (child < 0 || r->s->node[child].last >= close) {
            unread(r, n_node, n_decl);
            r->deep = deep;
            child = recover(r, at, close - 1);
        }
        adopt(r, node, child, ROLE_ITEM);
        at = r->s->node[child].last + 1;
    }
}

int read_block(Reader *r, int open) {
    int close = match_of(r, open);
    r->at = open;
    if (close < 0 || close > r->stop) return fail(r, "a block without its '}'");
    int s = node_new(r, SRC_BLOCK, open, close);
    read_statements(r, s, open + 1, close);
    return s;
}
