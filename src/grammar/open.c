/* open.c - which functions may change, the names of the file, and what governs its loops. */
#include "grammar/inside.h"

#include <stdlib.h>
#include <string.h>

void int_push(IntList *l, int value) {
    gi_grow(l->v, l->n, l->cap);
    l->v[l->n++] = value;
}

void int_add(IntList *l, int value) {
    if (!int_has(l, value)) int_push(l, value);
}

bool int_has(const IntList *l, int value) {
    for (int i = 0; i < l->n; i++)
        if (l->v[i] == value) return true;
    return false;
}

/* ---- functions ---- */

/* Does the head of function f hold word, itself or through a macro? */
static bool head_has(const Grammar *g, int f, const char *word, const char *attribute) {
    const Tree *t = &g->tree;
    const Node *n = &t->node[f];
    for (int i = n->first; i < n->head; i++) {
        if (tok_is(t, i, word)) return true;
        if (tok_is(t, i, attribute) && tok_is(t, i - 1, "(")) return true;
        if (t->tok[i].kind != TOK_NAME) continue;
        for (int m = t->last_macro[t->tok[i].name]; m >= 0; m = t->older_macro[m])
            for (int k = 0; k < t->macro[m].body.n; k++)
                if (token_is(t->src, &t->macro[m].body.v[k], word)) return true;
    }
    return false;
}

bool grammar_is_kernel(const Grammar *g, int function) {
    return head_has(g, function, "__global__", "global");
}

bool grammar_is_device(const Grammar *g, int f) {
    return grammar_is_kernel(g, f) || head_has(g, f, "__device__", "device");
}

/* The device functions that are no kernels, by name: chains of nodes; -1 ends them. */
typedef struct Callees {
    int *first, *next; /* by name, by node */
} Callees;

static Callees find_callees(const Grammar *g) {
    const Tree *t = &g->tree;
    Callees c = {gi_alloc((size_t)t->names.n * sizeof(int) + 1),
                 gi_alloc((size_t)t->n_node * sizeof(int))};
    for (int i = 0; i < t->names.n; i++) c.first[i] = -1;
    for (int i = 0; i < t->n_node; i++) {
        const Node *n = &t->node[i];
        if (n->kind != NODE_FUNCTION || n->name < 0 || grammar_is_kernel(g, i) ||
            !grammar_is_device(g, i))
            continue;
        c.next[i] = c.first[n->name];
        c.first[n->name] = i;
    }
    return c;
}

/* Opens function f, and lists it where it was closed. */
static void open_function(Grammar *g, int f, IntList *opened) {
    if (!g->open[f]) int_push(opened, f);
    g->open[f] = true;
}

/* Opens the functions of the names that function f uses. Each name's are opened once. */
static void open_callees(Grammar *g, int f, Callees *c, IntList *opened) {
    const Tree *t = &g->tree;
    Uses u = {0};
    tree_uses(t, t->node[f].head, t->node[f].last, &u);
    for (int k = 0; k < u.used.n; k++) {
        int *first = &c->first[u.used.v[k]];
        for (int i = *first; i >= 0; i = c->next[i]) open_function(g, i, opened);
        *first = -1;
    }
    uses_free(&u);
}

/* Is a name among those of a list with commas between? */
static bool is_listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == n && memcmp(at, name, n) == 0) return true;
    return false;
}

void grammar_find_open(Grammar *g) {
    const Tree *t = &g->tree;
    IntList opened = {0};
    g->open = gi_alloc((size_t)t->n_node);
    for (int i = 0; i < t->n_node; i++) {
        if (t->node[i].kind != NODE_FUNCTION) continue;
        if (g->options.kernel == NULL ? grammar_is_device(g, i)
                                      : t->node[i].name >= 0 && grammar_is_kernel(g, i) &&
                                            is_listed(g->options.kernel,
                                                      t->names.text[t->node[i].name]))
            open_function(g, i, &opened);
    }
    Callees callees = find_callees(g);
    for (int i = 0; i < opened.n; i++) open_callees(g, opened.v[i], &callees, &opened);
    free(callees.first);
    free(callees.next);
    free(opened.v);
}

/* ---- loops ---- */

static bool is_loop(const Node *n) {
    return n->kind == NODE_FOR || n->kind == NODE_WHILE || n->kind == NODE_DO ||
           n->kind == NODE_UNKNOWN;
}

/* Local variables and parameters among names, as seen at token `at` of node. */
static void add_locals(const Tree *t, const NameSet *names, int node, int at, IntList *out) {
    for (int i = 0; i < names->n; i++) {
        Meaning m;
        tree_resolve(t, names->v[i], node, at, &m);
        for (int k = 0; k < m.n && k < MEANING_MAX; k++) {
            if (m.what[k] < 0) continue;
            const Decl *d = &t->decl[m.what[k]];
            bool local = t->node[d->scope].function >= 0;
            if (local && (d->kind == DECL_VARIABLE || d->kind == DECL_PARAMETER))
                int_add(out, m.what[k]);
        }
    }
}

static void loop_part(const Tree *t, int node, int first, int last, LoopVars *out, bool condition) {
    Uses u = {0};
    tree_uses(t, first, last, &u);
    add_locals(t, condition ? &u.used : &u.assigned, node, last, &out->control);
    if (!condition) add_locals(t, &u.assigned, node, last, &out->counter);
    uses_free(&u);
}

static void for_variables(const Tree *t, int node, LoopVars *out) {
    const Node *n = &t->node[node];
    if (n->semi1 < 0) return;
    loop_part(t, node, n->head + 1, n->semi1, out, false);
    loop_part(t, node, n->semi1 + 1, n->semi2, out, true);
    loop_part(t, node, n->semi2 + 1, n->head_end - 1, out, false);
}

/* Adds what the headers of loops of a kind declare. */
static void header_variables(Grammar *g, NodeKind kind) {
    const Tree *t = &g->tree;
    for (int i = 0; i < t->n_decl; i++) {
        int node = t->decl[i].scope;
        if (t->node[node].kind != kind || t->node[node].head < 0) continue;
        int_add(&g->loop[node].control, i);
        int_add(&g->loop[node].counter, i);
    }
}

void grammar_find_loops(Grammar *g) {
    const Tree *t = &g->tree;
    g->loop = gi_alloc((size_t)t->n_node * sizeof *g->loop);
    header_variables(g, NODE_FOR);
    for (int i = 0; i < t->n_node && !source_stopped(NULL); i++) {
        const Node *n = &t->node[i];
        if (!is_loop(n) || n->head < 0) continue;
        if (n->kind == NODE_FOR) for_variables(t, i, &g->loop[i]);
        else loop_part(t, i, n->head + 1, n->head_end - 1, &g->loop[i], true);
    }
    header_variables(g, NODE_UNKNOWN);
}
