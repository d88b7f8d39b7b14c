/* graph.c - graphs: nodes, orders, copies, and how they run. See graph.h. */
#include "runtime/graph.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/happens.h"
#include "runtime/module.h"

static Graph *graphs; /* all of them, children too */

/* --- ops as values --- */

Op op_copy(const Op *op) {
    Op copy = *op;
    if (op->kind == OP_LAUNCH) {
        size_t n = op->launch.kernel->info.param_bytes + 8;
        copy.launch.params = memcpy(gi_alloc(n), op->launch.params, n);
    } else if (op->kind == OP_WORK) {
        copy.work.args = memcpy(gi_alloc(op->work.size), op->work.args, op->work.size);
    } else if (op->kind == OP_GRAPH) copy.graph = graph_ordered(op->graph);
    copy.is_async = true;
    return copy;
}

void op_free(Op *op) {
    if (op->kind == OP_LAUNCH) free(op->launch.params);
    else if (op->kind == OP_WORK) free(op->work.args);
    else if (op->kind == OP_GRAPH) graph_free(op->graph);
    op->kind = OP_NOTHING;
}

/* --- graphs --- */

Graph *graph_new(bool is_exec) {
    Graph *g = gi_alloc(sizeof *g);
    *g = (Graph){.is_exec = is_exec, .next = graphs};
    graphs = g;
    return g;
}

void graph_free(Graph *g) {
    for (Graph **at = &graphs; *at; at = &(*at)->next)
        if (*at == g) {
            *at = g->next;
            break;
        }
    for (size_t i = 0; i < g->nodes.n; i++) {
        op_free(&g->nodes.v[i]->op);
        free(g->nodes.v[i]->after.v);
        clock_free(&g->nodes.v[i]->clock);
        free(g->nodes.v[i]);
    }
    free(g->nodes.v);
    free(g);
}

bool graph_is(const Graph *g, bool is_exec) {
    for (const Graph *at = graphs; at; at = at->next)
        if (at == g) return g->is_exec == is_exec;
    return false;
}

Graph *graph_of_node(const Node *n) {
    for (Graph *g = graphs; g; g = g->next)
        for (size_t i = 0; i < g->nodes.n; i++)
            if (g->nodes.v[i] == n) return g;
    return NULL;
}

static void list_add(NodeList *l, Node *n) {
    gi_grow(l->v, l->n, l->cap);
    l->v[l->n++] = n;
}

Node *graph_add(Graph *g, const Op *op, Node *const *after, size_t n_after) {
    Node *n = gi_alloc(sizeof *n);
    n->op = op_copy(op);
    for (size_t i = 0; i < n_after; i++) list_add(&n->after, after[i]);
    list_add(&g->nodes, n);
    return n;
}

/* Have all nodes that it waits for been copied? */
static bool is_free(const Node *n) {
    for (size_t i = 0; i < n->after.n; i++)
        if (n->after.v[i]->copy == NULL) return false;
    return true;
}

static void copy_node(Graph *to, Node *n) {
    n->copy = graph_add(to, &n->op, NULL, 0);
    n->copy->off = n->off;
    n->copy->origin = n;
    for (size_t i = 0; i < n->after.n; i++) list_add(&n->copy->after, n->after.v[i]->copy);
}

Graph *graph_ordered(const Graph *g) {
    Graph *to = graph_new(true);
    for (size_t i = 0; i < g->nodes.n; i++) g->nodes.v[i]->copy = NULL;
    for (bool moved = true; moved && to->nodes.n < g->nodes.n;) {
        moved = false;
        for (size_t i = 0; i < g->nodes.n; i++) {
            Node *n = g->nodes.v[i];
            if (n->copy || !is_free(n)) continue;
            copy_node(to, n);
            moved = true;
        }
    }
    if (to->nodes.n == g->nodes.n) return to;
    graph_free(to); /* a cycle */
    return NULL;
}

CudaError graph_run(Stream *s, const Graph *g) {
    CudaError e = cudaSuccess;
    HappensGraph order = happens_graph(s);
    for (size_t i = 0; i < g->nodes.n && e == cudaSuccess; i++) {
        Node *n = g->nodes.v[i];
        happens_node(s, &order, n);
        if (!n->off) e = op_run(s, &n->op);
        happens_node_end(s, n);
    }
    happens_graph_end(s, &order, g);
    return e;
}
