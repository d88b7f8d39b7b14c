/* find.c - places by a pattern of the language itself: `$kernel<<<$grid, $block>>>($$args)`.
**
** The pattern is read as the text is: an expression, or a statement. A name that begins with '$'
** stands for any expression, or for any statement where one stands alone; the same name twice, for
** the same words. One with '$$' stands for all items from there to the end of its list. Parentheses
** and blanks make no difference. After Coccinelle's metavariables (Padioleau et al., EuroSys 2008).
*/
#include "source/reader.h"

#include <string.h>

/* A name with '$', or a statement that is one with its ';'. */
static bool is_variable(const Source *p, int node) {
    const SourceNode *n = &p->node[node];
    bool alone = n->first == n->last || (n->kind == SRC_EXPRESSION && n->last == n->first + 1);
    return alone && source_word(p, n->first)[0] == '$';
}

/* What a pattern may not hold; NULL: nothing. */
static const char *unfit(const Source *p, int root) {
    for (int i = 1; i < p->n_node; i++) {
        const SourceNode *n = &p->node[i];
        bool within = n->parent > 0 || i == root;
        if (n->kind == SRC_DECLARED && within) return "it declares a name";
        if (n->why && within && n->kind == SRC_UNKNOWN && !is_variable(p, i)) return n->why;
    }
    return NULL;
}

/* Reads a pattern: its root, or -1 and why. */
static int read_pattern(Source *p, const char **why) {
    Reader r = {.s = p, .stop = p->tokens.n - 1};
    int last = p->tokens.n - 1, root = read_expression(&r, 0, last, false);
    if (root < 0 && last >= 0) {
        Reader again = {.s = p, .stop = last};
        root = read_one_statement(&again, 0, last);
        if (root >= 0 && p->node[root].last != last) root = -1;
    }
    const char *unfits = root >= 0 ? unfit(p, root) : NULL;
    *why = unfits ? unfits : r.why ? r.why : "no expression or statement";
    return unfits ? -1 : root;
}

static bool takes_rest(const Source *p, int node) {
    return is_variable(p, node) && strncmp(source_word(p, p->node[node].first), "$$", 2) == 0;
}

static bool is_expression(const SourceNode *n) {
    return n->kind <= SRC_LAMBDA;
}

static bool is_statement(const SourceNode *n) {
    return n->kind >= SRC_BLOCK && n->kind <= SRC_UNKNOWN;
}

static bool same_words(const Source *a, int a_first, int a_last, const Source *b, int b_first,
                       int b_last) {
    if (a_last - a_first != b_last - b_first) return false;
    for (int i = 0; i <= a_last - a_first; i++) {
        const SourceToken *x = &a->tokens.v[a_first + i], *y = &b->tokens.v[b_first + i];
        size_t n = (size_t)(x->end - x->start);
        if (n != (size_t)(y->end - y->start) || memcmp(a->text + x->start, b->text + y->start, n))
            return false;
    }
    return true;
}

/* Notes what a variable stands for: a node, or several from it on; words [first, last] of the text,
** none where last < first. */
static bool capture(const Source *p, int variable, const Source *s, int node, int first, int last,
                    SourceMatch *m) {
    const char *name = source_word(p, p->node[variable].first);
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->part[i].name, name) == 0)
            return same_words(s, m->part[i].first, m->part[i].last, s, first, last);
    if (m->n == SOURCE_PARTS) return false;
    m->part[m->n].name = name;
    m->part[m->n].node = node;
    m->part[m->n].first = first;
    m->part[m->n++].last = last;
    return true;
}

static bool match(const Source *p, int a, const Source *s, int b, SourceMatch *m);

/* Children in their order; roles must agree. */
static bool match_children(const Source *p, int a, const Source *s, int b, SourceMatch *m) {
    int x = p->node[a].child, y = s->node[b].child;
    for (; x >= 0; x = p->node[x].next) {
        SourceRole role = p->node[x].role;
        if (takes_rest(p, x)) {
            int node = y >= 0 && s->node[y].role == role ? y : -1;
            int first = node >= 0 ? s->node[node].first : 0, last = first - 1;
            for (; y >= 0 && s->node[y].role == role; y = s->node[y].next) last = s->node[y].last;
            if (!capture(p, x, s, node, first, last, m)) return false;
            continue;
        }
        if (y < 0 || s->node[y].role != role || !match(p, x, s, y, m)) return false;
        y = s->node[y].next;
    }
    return y < 0;
}

/* The words of a node that are in none of its children: a name, an operator, a type. */
static bool same_own(const Source *p, const SourceNode *x, const Source *s, const SourceNode *y) {
    if (x->kind == SRC_NAME || x->kind == SRC_MEMBER || x->kind == SRC_CAST) {
        bool arguments = x->open >= 0;
        if (arguments && (y->open < 0 || !same_words(p, x->open, x->close, s, y->open, y->close)))
            return false;
        if (x->kind == SRC_CAST) return true;
        int from = x->kind == SRC_NAME ? x->own : x->token,
            to = y->kind == SRC_NAME ? y->own : y->token;
        return same_words(p, from, x->token, s, to, y->token);
    }
    if (x->kind == SRC_NUMBER) return same_words(p, x->own, x->token, s, y->own, y->token);
    if (x->token < 0 || x->kind == SRC_CALL) return true;
    return strcmp(source_word(p, x->token), source_word(s, y->token)) == 0;
}

static bool match(const Source *p, int a, const Source *s, int b, SourceMatch *m) {
    const SourceNode *x = &p->node[a], *y = &s->node[b];
    bool fits = (is_expression(y) && is_expression(x)) || (is_statement(y) && is_statement(x));
    if (fits && is_variable(p, a)) return capture(p, a, s, b, y->first, y->last, m);
    return x->kind == y->kind && same_own(p, x, s, y) && match_children(p, a, s, b, m);
}

bool source_pattern(const char *text, int len, SourcePattern *out, gi_err *err) {
    const char *why;
    source_read(text, len, &out->source);
    out->root = read_pattern(&out->source, &why);
    if (out->root >= 0) return true;
    source_free(&out->source);
    return gi_fail(err, "usage", "the pattern `%.*s` is not understood: %s", len, text, why);
}

bool source_match(const SourcePattern *p, const Source *s, int node, SourceMatch *out) {
    *out = (SourceMatch){.node = node};
    return match(&p->source, p->root, s, node, out);
}
