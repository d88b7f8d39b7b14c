/* macro.c - what `M;` or `M(x);` is, of a macro of the file: a statement that can be taken away,
** copied and put elsewhere, or a piece of something larger.
**
** The macro's text is read as the body of a function, by the reader that reads the file. It is a
** whole statement, or several, when that makes nothing but statements: no declaration that others
** see, no label, no brace that somebody else closes.
*/
#include "source/tree.h"

#include <stdlib.h>
#include <string.h>

/* Is node i of a text that was read fit to be copied? */
static bool is_whole(const Tree *t, int body, int i) {
    const Node *n = &t->node[i];
    if (n->kind == NODE_UNKNOWN) return false;
    if (n->kind == NODE_DECLARATION) return n->parent != body;
    if (n->kind != NODE_STATEMENT || n->fixed == NULL) return true;
    return strcmp(n->fixed, "it is empty") == 0;
}

/* Function, block and what is in it are all there is. */
static bool reads_as_statements(Tree *t) {
    gi_err err;
    if (!tree_preprocess(t, &err) || !tree_blocks(t, &err)) return false;
    if (t->n_node < 3 || t->node[1].kind != NODE_FUNCTION || t->node[1].last != t->n_tok - 1)
        return false;
    for (int i = 3; i < t->n_node; i++)
        if (!is_whole(t, 2, i)) return false;
    return true;
}

static MacroForm form_of(const Tree *t, const Macro *m) {
    if (m->body.n == 0) return MACRO_STATEMENT; /* `;` */
    const Token *last = &m->body.v[m->body.n - 1];
    bool ended = token_is(t->src, last, ";") || token_is(t->src, last, "}");
    gi_buf text = {0};
    gi_buf_adds(&text, "void f(){");
    gi_buf_add(&text, t->src + m->body.v[0].start, (size_t)(last->end - m->body.v[0].start));
    gi_buf_adds(&text, ended ? "}" : ";}");
    Tree own = {.src = text.data, .len = (int)text.len};
    bool whole = reads_as_statements(&own);
    tree_free(&own);
    gi_buf_free(&text);
    return !whole ? MACRO_PIECE : ended ? MACRO_ENDED : MACRO_STATEMENT;
}

static MacroForm form_of_all(const Tree *t, int last) {
    MacroForm all = MACRO_NONE;
    for (int i = last; i >= 0; i = t->older_macro[i]) {
        if (t->macro[i].undef) continue;
        MacroForm form = form_of(t, &t->macro[i]);
        if (all == MACRO_NONE || form < all) all = form;
    }
    return all;
}

MacroForm tree_macro_form(const Tree *t, int name) {
    if (t->last_macro[name] < 0) return MACRO_NONE;
    Macro *last = &t->macro[t->last_macro[name]];
    if (!last->has_form) last->form = form_of_all(t, t->last_macro[name]);
    last->has_form = true;
    return last->form;
}

bool tree_is_macro_call(const Tree *t, int first, int last) {
    int end = tok_is(t, last - 1, ";") ? last - 1 : last;
    if (first >= end || t->tok[first].kind != TOK_NAME) return false;
    bool called = tok_is(t, first + 1, "(") && t->match[first + 1] == end - 1;
    return (end == first + 1 || called) && tree_macro_form(t, t->tok[first].name) != MACRO_NONE;
}
