/* source_hold.h - what holds of the tree of any text; for a test and a fuzzer. */
#ifndef GILUA_SOURCE_HOLD_H
#define GILUA_SOURCE_HOLD_H

#include "source/source.h"

#include <stdlib.h>
#include <string.h>

static const char *node_trouble(const Source *s, int i) {
    const SourceNode *n = &s->node[i];
    int count = 0;
    if (n->kind < 0 || n->kind >= SRC_KINDS) return "a node of no kind";
    if (i > 0 && (n->first < 0 || n->last < n->first || n->last >= s->tokens.n))
        return "a node without its tokens";
    if (i > 0 && n->parent < 0) return "a node that hangs nowhere";
    if (n->token >= s->tokens.n || n->open >= s->tokens.n || n->close >= s->tokens.n)
        return "a token beyond the last";
    if (n->kind == SRC_UNKNOWN && n->why == NULL && n->role != ROLE_EXTENT)
        return "an unknown node without a reason";
    for (int c = n->child; c >= 0; c = s->node[c].next) {
        if (c >= s->n_node || s->node[c].parent != i) return "a child of another parent";
        if (i > 0 && (s->node[c].first < n->first || s->node[c].last > n->last))
            return "a child outside of its parent";
        if (++count > s->n_node) return "children without an end";
    }
    return NULL;
}

static const char *decl_trouble(const Source *s, int i) {
    const SourceDecl *d = &s->decl[i];
    if (d->node < 0 || d->node >= s->n_node || s->node[d->node].decl != i)
        return "a declaration of another node";
    if (d->name < 0 || d->name >= s->tokens.n || s->tokens.v[d->name].kind != TOK_NAME)
        return "a declaration without a name";
    return d->scope <= d->name && d->name <= d->scope_last ? NULL : "a name outside of its scope";
}

/* NULL, or what is wrong with the tree of a text. */
__attribute__((unused)) static const char *source_trouble(const char *text, int size) {
    Source s;
    source_read(text, size, &s);
    const char *trouble = s.n_node > 0 && s.node[0].kind == SRC_FILE ? NULL : "no file";
    for (int i = 0; i < s.n_node && !trouble; i++) trouble = node_trouble(&s, i);
    for (int i = 0; i < s.n_decl && !trouble; i++) trouble = decl_trouble(&s, i);
    for (int i = 0; i < s.tokens.n && !trouble; i++)
        if (s.branch[i] < 0 || s.branch[i] >= s.n_branches) trouble = "a branch that is none";
    source_free(&s);
    return trouble;
}

#endif
