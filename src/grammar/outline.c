/* outline.c - what stands at file level: functions and their parameters, types, the rest.
**
** For reading a file that nobody prepared: which kernels has it, what do they take, and which lines
** does a GPU not need? Namespaces and extern "C" { } are looked into; classes are not.
*/
#include "grammar/inside.h"

#include <stdlib.h>

static int item_start(const Tree *t, int token) {
    return t->tok[token].start;
}

static int item_end(const Tree *t, int token) { /* of the token before */
    return t->tok[token - 1].end;
}

static const char *name_of(const Tree *t, int name) {
    return name >= 0 ? t->names.text[name] : NULL;
}

static void add_param(OutlineParam **list, int *n, const Tree *t, const Decl *d) {
    *list = gi_realloc(*list, (size_t)(*n + 1) * sizeof **list);
    (*list)[(*n)++] = (OutlineParam){name_of(t, d->name), item_start(t, d->first),
                                     item_end(t, d->last)};
}

/* Parameters are in the order they were declared in; those before the head are a template's. */
static void add_params(const Tree *t, int node, OutlineItem *item) {
    for (int i = t->first_here[node]; i >= 0; i = t->next_here[i]) {
        const Decl *d = &t->decl[i];
        if (d->kind == DECL_FUNCTION) continue;
        if (d->at < t->node[node].head) add_param(&item->tparam, &item->n_tparams, t, d);
        else if (d->at < t->node[node].head_end) add_param(&item->param, &item->n_params, t, d);
    }
}

static OutlineKind kind_of(const Grammar *g, int node) {
    const Tree *t = &g->tree;
    if (t->node[node].kind == NODE_CLASS) return OUTLINE_TYPE;
    if (grammar_is_kernel(g, node)) return OUTLINE_KERNEL;
    return grammar_is_device(g, node) ? OUTLINE_DEVICE : OUTLINE_HOST;
}

static OutlineItem *add_item(Outline *o, const Tree *t, int first, int last) {
    gi_grow(o->item, o->n, o->cap);
    OutlineItem *item = &o->item[o->n++];
    *item = (OutlineItem){.kind = OUTLINE_OTHER, .start = item_start(t, first),
                          .end = item_end(t, last), .line = tok_line(t, first),
                          .last_line = tok_line(t, last - 1), .head = -1};
    return item;
}

/* The node of a function, class or namespace that begins at a token of `parent`; -1. *child: where
** to look, of the children of `parent`; those that begin before the token are passed. */
static int node_at(const Tree *t, int token, int parent, int *child) {
    for (; *child < t->node[parent].end && t->node[*child].first <= token;
         *child = t->node[*child].end) {
        const Node *n = &t->node[*child];
        bool is_item = n->kind == NODE_FUNCTION || n->kind == NODE_CLASS ||
                       n->kind == NODE_NAMESPACE;
        if (n->first == token && is_item) return *child;
    }
    return -1;
}

static int past_item(const Tree *t, int i, int to) {
    while (i < to && !tok_is(t, i, ";")) i = t->match[i] > i ? t->match[i] + 1 : i + 1;
    return i < to ? i + 1 : to;
}

static void outline_items(const Grammar *g, int parent, int at, int to, Outline *o) {
    const Tree *t = &g->tree;
    int child = parent + 1;
    while (at < to) {
        int node = node_at(t, at, parent, &child), after;
        const Node *n = node >= 0 ? &t->node[node] : NULL;
        if (n && n->kind == NODE_NAMESPACE) {
            int brace = n->first;
            while (!tok_is(t, brace, "{")) brace++;
            outline_items(g, node, brace + 1, n->last - 1, o);
            at = n->last;
            continue;
        }
        after = n && n->kind == NODE_FUNCTION ? n->last : past_item(t, n ? n->last : at, to);
        OutlineItem *item = add_item(o, t, at, after);
        if (n) {
            item->kind = kind_of(g, node);
            item->name = name_of(t, n->name);
            item->open = g->open[node];
            if (n->kind == NODE_FUNCTION) {
                item->head = item_start(t, n->head);
                add_params(t, node, item);
            }
        }
        at = after;
    }
}

void grammar_outline(const Grammar *g, Outline *out) {
    *out = (Outline){0};
    outline_items(g, 0, 0, g->tree.n_tok - 1, out);
}

void outline_free(Outline *o) {
    for (int i = 0; i < o->n; i++) {
        free(o->item[i].param);
        free(o->item[i].tparam);
    }
    free(o->item);
    *o = (Outline){0};
}
