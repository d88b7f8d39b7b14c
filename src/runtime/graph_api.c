/* graph_api.c - the functions that build, change, instantiate and launch graphs. */
#include <stdlib.h>

#include "runtime/copy.h"
#include "runtime/graph.h"
#include "runtime/module.h"

/* --- graphs --- */

static CudaError graph_make(Graph **out, unsigned flags) {
    if (out == NULL || flags) return cudaErrorInvalidValue;
    *out = graph_new(false);
    return cudaSuccess;
}

static CudaError graph_drop(Graph *g, bool is_exec) {
    if (!graph_is(g, is_exec)) return cudaErrorInvalidValue;
    graph_free(g);
    return cudaSuccess;
}

static CudaError graph_like(Graph **out, const Graph *g, bool is_exec) {
    if (out == NULL || !graph_is(g, false)) return cudaErrorInvalidValue;
    Graph *copy = graph_ordered(g);
    if (copy == NULL) return cudaErrorInvalidValue;
    copy->is_exec = is_exec;
    *out = copy;
    return cudaSuccess;
}

API(cudaGraphCreate, Graph **out, unsigned flags) {
    return CALL(graph_make(out, flags));
}
API(cudaGraphDestroy, Graph *g) {
    return CALL(graph_drop(g, false));
}
API(cudaGraphClone, Graph **out, const Graph *g) {
    return CALL(graph_like(out, g, false));
}
API(cudaGraphInstantiate, Graph **out, const Graph *g, unsigned long long flags) {
    (void)flags;
    return GUARDED(graph_like(out, g, true));
}
ALSO(cudaGraphInstantiate, cudaGraphInstantiateWithFlags);

typedef struct InstantiateParams {
    unsigned long long flags;
    Stream *upload;
    Node *error_node;
    int result; /* 0: well; 1: an error */
} InstantiateParams;

static CudaError instantiate(Graph **out, const Graph *g, InstantiateParams *p) {
    if (p == NULL) return cudaErrorInvalidValue;
    CudaError e = graph_like(out, g, true);
    p->error_node = NULL;
    p->result = e != cudaSuccess;
    return e;
}

API(cudaGraphInstantiateWithParams, Graph **out, const Graph *g, InstantiateParams *p) {
    return GUARDED(instantiate(out, g, p));
}
PER_THREAD(cudaGraphInstantiateWithParams);
API(cudaGraphExecDestroy, Graph *g) {
    return CALL(graph_drop(g, true));
}

static CudaError graph_launch(Graph *g, Stream *s) {
    Op op = {.kind = OP_GRAPH, .is_async = true, .graph = g};
    return graph_is(g, true) ? op_submit(s, &op) : cudaErrorInvalidValue;
}

static CudaError graph_upload(const Graph *g, Stream *s) {
    if (!graph_is(g, true)) return cudaErrorInvalidValue;
    return stream_of(s) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

API(cudaGraphLaunch, Graph *g, Stream *s) {
    return CALL(graph_launch(g, s));
}
PER_THREAD(cudaGraphLaunch);
API(cudaGraphUpload, Graph *g, Stream *s) {
    return CALL(graph_upload(g, s));
}
PER_THREAD(cudaGraphUpload);

/* --- what nodes do, from what programs describe --- */

static CudaError kernel_op(const CudaKernelNode *p, Op *op) {
    if (p == NULL) return cudaErrorInvalidValue;
    if (p->extra) return cudaErrorNotSupported;
    return launch_op(p->func, p->grid, p->block, p->params, p->shared, (LaunchKind){0}, op);
}

static CudaError memset_op(const CudaMemset *p, Op *op) {
    if (p == NULL || (p->element_size != 1 && p->element_size != 2 && p->element_size != 4))
        return cudaErrorInvalidValue;
    size_t width = p->width * p->element_size;
    *op = set_op(p->to, p->height > 1 ? p->pitch : width, p->height, (int)p->value, p->element_size,
                 (CudaExtent){width, p->height, 1}, true);
    return cudaSuccess;
}

static CudaError host_op(const CudaHostNode *p, Op *op) {
    if (p == NULL || p->fn == NULL) return cudaErrorInvalidValue;
    *op = (Op){.kind = OP_HOST, .is_async = true, .host = *p};
    return cudaSuccess;
}

static CudaError copy_3d_op(const CudaCopy3D *p, Op *op) {
    return p ? copy_of_3d(p, true, op) : cudaErrorInvalidValue;
}

static CudaError line_op(void *to, const void *from, size_t n, CudaMemcpyKind kind, Op *op) {
    *op = copy_line(to, from, n, kind, true);
    return cudaSuccess;
}

static CudaError symbol_op(const void *symbol, size_t offset, const void *other, size_t n,
                           bool to_symbol, CudaMemcpyKind kind, Op *op) {
    uint64_t address;
    size_t size;
    CudaError e = module_symbol(symbol, &address, &size);
    if (e) return e;
    if (offset > size || n > size - offset) return cudaErrorInvalidValue;
    void *at = (void *)(uintptr_t)(address + offset), *there = (void *)(uintptr_t)other;
    return to_symbol ? line_op(at, there, n, kind, op) : line_op(there, at, n, kind, op);
}

static CudaError event_op(OpKind kind, Event *e, Op *op) {
    if (!event_is(e)) return cudaErrorInvalidResourceHandle;
    *op = (Op){.kind = kind, .is_async = true, .event = e};
    return cudaSuccess;
}

static CudaError child_op(Graph *g, Op *op) {
    if (!graph_is(g, false)) return cudaErrorInvalidValue;
    *op = (Op){.kind = OP_GRAPH, .is_async = true, .graph = g};
    return cudaSuccess;
}

/* --- adding nodes: e is what making the op came to; the op's params are freed --- */

static CudaError add(CudaError e, Op *op, Node **out, Graph *g, Node *const *after, size_t n) {
    if (e) return e;
    bool good = out && graph_is(g, false) && (n == 0 || after);
    if (good) *out = graph_add(g, op, after, n);
    if (op->kind == OP_LAUNCH) op_free(op);
    return good ? cudaSuccess : cudaErrorInvalidValue;
}

#define ADDS(name, call, ...)                                                                      \
    API(name, Node **out, Graph *g, Node *const *after, size_t n_after, __VA_ARGS__) {             \
        Op op;                                                                                     \
        return CALL(add(call, &op, out, g, after, n_after));                                       \
    }

ADDS(cudaGraphAddKernelNode, kernel_op(p, &op), const CudaKernelNode *p)
ADDS(cudaGraphAddMemsetNode, memset_op(p, &op), const CudaMemset *p)
ADDS(cudaGraphAddHostNode, host_op(p, &op), const CudaHostNode *p)
ADDS(cudaGraphAddMemcpyNode, copy_3d_op(p, &op), const CudaCopy3D *p)
ADDS(cudaGraphAddMemcpyNode1D, line_op(to, from, n, kind, &op), void *to, const void *from,
     size_t n, CudaMemcpyKind kind)
ADDS(cudaGraphAddMemcpyNodeToSymbol, symbol_op(to, offset, from, n, true, kind, &op),
     const void *to, const void *from, size_t n, size_t offset, CudaMemcpyKind kind)
ADDS(cudaGraphAddMemcpyNodeFromSymbol, symbol_op(from, offset, to, n, false, kind, &op), void *to,
     const void *from, size_t n, size_t offset, CudaMemcpyKind kind)
ADDS(cudaGraphAddChildGraphNode, child_op(child, &op), Graph *child)
ADDS(cudaGraphAddEventRecordNode, event_op(OP_RECORD, e, &op), Event *e)
ADDS(cudaGraphAddEventWaitNode, event_op(OP_WAIT, e, &op), Event *e)

API(cudaGraphAddEmptyNode, Node **out, Graph *g, Node *const *after, size_t n) {
    Op op = {.kind = OP_NOTHING, .is_async = true};
    return CALL(add(cudaSuccess, &op, out, g, after, n));
}

typedef struct AllocParams {
    CudaPoolProps pool;
    const CudaMemAccess *access;
    size_t n_access, size;
    void *out;
} AllocParams;

static CudaError alloc_op(AllocParams *p, Op *op) {
    uint64_t address;
    if (p == NULL) return cudaErrorInvalidValue;
    CudaError e = memory_of_graph(p->size, call_name(), &address);
    if (e) return e;
    p->out = (void *)(uintptr_t)address;
    *op = (Op){.kind = OP_ALLOC, .is_async = true, .memory = {address, p->size}};
    return cudaSuccess;
}

static CudaError free_op(void *p, Op *op) {
    *op = (Op){.kind = OP_FREE, .is_async = true, .memory = {(uint64_t)(uintptr_t)p, 0}};
    return p ? cudaSuccess : cudaErrorInvalidValue;
}

ADDS(cudaGraphAddMemAllocNode, alloc_op(p, &op), AllocParams *p)
ADDS(cudaGraphAddMemFreeNode, free_op(p, &op), void *p)

static CudaError depend(Graph *g, Node *const *from, Node *const *to, size_t n) {
    if (!graph_is(g, false) || (n && (from == NULL || to == NULL))) return cudaErrorInvalidValue;
    for (size_t i = 0; i < n; i++) {
        if (graph_of_node(from[i]) != g || graph_of_node(to[i]) != g) return cudaErrorInvalidValue;
        NodeList *l = &to[i]->after;
        gi_grow(l->v, l->n, l->cap);
        l->v[l->n++] = from[i];
    }
    return cudaSuccess;
}

API_13(cudaGraphAddDependencies, Graph *g, Node *const *from, Node *const *to, const void *data,
       size_t n) {
    (void)data;
    return CALL(depend(g, from, to, n));
}
ALSO_12(cudaGraphAddDependencies, cudaGraphAddDependencies_v2);
API_12(cudaGraphAddDependencies, Graph *g, Node *const *from, Node *const *to, size_t n) {
    return CALL(depend(g, from, to, n));
}

/* --- looking at graphs --- */

/* Fills at most *n of the list, and says how many there are. */
static CudaError give(const NodeList *list, Node **out, size_t *n) {
    if (n == NULL) return cudaErrorInvalidValue;
    for (size_t i = 0; out && i < *n; i++) out[i] = i < list->n ? list->v[i] : NULL;
    if (out == NULL || *n > list->n) *n = list->n;
    return cudaSuccess;
}

static CudaError roots(const Graph *g, Node **out, size_t *n) {
    NodeList list = {0};
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (g->nodes.v[i]->after.n) continue;
        gi_grow(list.v, list.n, list.cap);
        list.v[list.n++] = g->nodes.v[i];
    }
    CudaError e = give(&list, out, n);
    free(list.v);
    return e;
}

API(cudaGraphGetNodes, Graph *g, Node **out, size_t *n) {
    return CALL(graph_is(g, false) ? give(&g->nodes, out, n) : cudaErrorInvalidValue);
}
API(cudaGraphGetRootNodes, Graph *g, Node **out, size_t *n) {
    return CALL(graph_is(g, false) ? roots(g, out, n) : cudaErrorInvalidValue);
}
API_13(cudaGraphNodeGetDependencies, Node *node, Node **out, void *data, size_t *n) {
    (void)data;
    return CALL(graph_of_node(node) ? give(&node->after, out, n) : cudaErrorInvalidValue);
}
ALSO_12(cudaGraphNodeGetDependencies, cudaGraphNodeGetDependencies_v2);
API_12(cudaGraphNodeGetDependencies, Node *node, Node **out, size_t *n) {
    return CALL(graph_of_node(node) ? give(&node->after, out, n) : cudaErrorInvalidValue);
}

static CudaError node_type(const Node *n, int *type) {
    static const int types[] = {
        [OP_COPY] = 1,  [OP_SET] = 2,    [OP_LAUNCH] = 0, [OP_HOST] = 3,    [OP_ALLOC] = 10,
        [OP_FREE] = 11, [OP_RECORD] = 7, [OP_WAIT] = 6,   [OP_NOTHING] = 5, [OP_GRAPH] = 4,
        [OP_WORK] = 0};
    if (type == NULL || graph_of_node(n) == NULL) return cudaErrorInvalidValue;
    *type = types[n->op.kind];
    return cudaSuccess;
}

API(cudaGraphNodeGetType, Node *n, int *type) {
    return CALL(node_type(n, type));
}

static CudaError child_of(const Node *n, Graph **out) {
    if (out == NULL || graph_of_node(n) == NULL || n->op.kind != OP_GRAPH)
        return cudaErrorInvalidValue;
    *out = n->op.graph;
    return cudaSuccess;
}

API(cudaGraphChildGraphNodeGetGraph, Node *n, Graph **out) {
    return CALL(child_of(n, out));
}

/* --- changing nodes --- */

/* The node of a copy that stands for one of the graph it was made of. */
static Node *node_in(const Graph *copy, const Node *n) {
    for (size_t i = 0; i < copy->nodes.n; i++)
        if (copy->nodes.v[i]->origin == n) return copy->nodes.v[i];
    return NULL;
}

static Node *in_exec(const Graph *exec, const Node *n) {
    return graph_is(exec, true) ? node_in(exec, n) : NULL;
}

static CudaError in_clone(Node **out, const Node *n, const Graph *clone) {
    if (out == NULL || !graph_is(clone, false) || graph_of_node(n) == NULL)
        return cudaErrorInvalidValue;
    *out = node_in(clone, n);
    return *out ? cudaSuccess : cudaErrorInvalidValue;
}

API(cudaGraphNodeFindInClone, Node **out, Node *n, Graph *clone) {
    return CALL(in_clone(out, n, clone));
}

static CudaError change(CudaError e, Op *op, Node *n) {
    if (e) return e;
    bool good = n && n->op.kind == op->kind;
    if (good) {
        Op old = n->op;
        n->op = op_copy(op);
        op_free(&old);
    }
    if (op->kind == OP_LAUNCH) op_free(op);
    return good ? cudaSuccess : cudaErrorInvalidValue;
}

#define CHANGES(node_name, exec_name, call, ...)                                                   \
    API(node_name, Node *n, __VA_ARGS__) {                                                         \
        Op op;                                                                                     \
        return CALL(graph_of_node(n) ? change(call, &op, n) : cudaErrorInvalidValue);              \
    }                                                                                              \
    API(exec_name, Graph *g, Node *n, __VA_ARGS__) {                                               \
        Op op;                                                                                     \
        return CALL(graph_of_node(n) ? change(call, &op, in_exec(g, n)) : cudaErrorInvalidValue);  \
    }

CHANGES(cudaGraphKernelNodeSetParams, cudaGraphExecKernelNodeSetParams, kernel_op(p, &op),
        const CudaKernelNode *p)
CHANGES(cudaGraphMemsetNodeSetParams, cudaGraphExecMemsetNodeSetParams, memset_op(p, &op),
        const CudaMemset *p)
CHANGES(cudaGraphHostNodeSetParams, cudaGraphExecHostNodeSetParams, host_op(p, &op),
        const CudaHostNode *p)
CHANGES(cudaGraphMemcpyNodeSetParams, cudaGraphExecMemcpyNodeSetParams, copy_3d_op(p, &op),
        const CudaCopy3D *p)
CHANGES(cudaGraphMemcpyNodeSetParams1D, cudaGraphExecMemcpyNodeSetParams1D,
        line_op(to, from, size, kind, &op), void *to, const void *from, size_t size,
        CudaMemcpyKind kind)
CHANGES(cudaGraphEventRecordNodeSetEvent, cudaGraphExecEventRecordNodeSetEvent,
        event_op(OP_RECORD, e, &op), Event *e)
CHANGES(cudaGraphEventWaitNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent,
        event_op(OP_WAIT, e, &op), Event *e)

static CudaError enable(const Graph *exec, const Node *n, unsigned on) {
    Node *there = graph_of_node(n) ? in_exec(exec, n) : NULL;
    if (there == NULL) return cudaErrorInvalidValue;
    there->off = !on;
    return cudaSuccess;
}

static CudaError enabled(const Graph *exec, const Node *n, unsigned *on) {
    const Node *there = graph_of_node(n) ? in_exec(exec, n) : NULL;
    if (there == NULL || on == NULL) return cudaErrorInvalidValue;
    *on = !there->off;
    return cudaSuccess;
}

API(cudaGraphNodeSetEnabled, Graph *exec, Node *n, unsigned on) {
    return CALL(enable(exec, n, on));
}
API(cudaGraphNodeGetEnabled, Graph *exec, Node *n, unsigned *on) {
    return CALL(enabled(exec, n, on));
}

typedef struct UpdateResult {
    int result; /* 0: done; 1: it cannot be */
    Node *node, *from;
} UpdateResult;

/* Nodes of the same kinds in the same places: what they do is taken over. */
static CudaError exec_update(Graph *exec, const Graph *g, UpdateResult *out) {
    if (out == NULL || !graph_is(exec, true) || !graph_is(g, false)) return cudaErrorInvalidValue;
    Graph *like = graph_ordered(g);
    bool same = like && like->nodes.n == exec->nodes.n;
    for (size_t i = 0; same && i < exec->nodes.n; i++)
        same = like->nodes.v[i]->op.kind == exec->nodes.v[i]->op.kind;
    *out = (UpdateResult){.result = same ? 0 : 1};
    for (size_t i = 0; same && i < exec->nodes.n; i++) {
        Op mine = exec->nodes.v[i]->op;
        exec->nodes.v[i]->op = like->nodes.v[i]->op;
        like->nodes.v[i]->op = mine;
        exec->nodes.v[i]->origin = like->nodes.v[i]->origin;
    }
    if (like) graph_free(like);
    return same ? cudaSuccess : cudaErrorGraphExecUpdateFailure;
}

API(cudaGraphExecUpdate, Graph *exec, Graph *g, UpdateResult *out) {
    return CALL(exec_update(exec, g, out));
}

static CudaError destroy_node(Node *n) {
    Graph *g = graph_of_node(n);
    if (g == NULL || g->is_exec) return cudaErrorInvalidValue;
    for (size_t i = 0; i < g->nodes.n; i++) {
        NodeList *l = &g->nodes.v[i]->after;
        for (size_t k = 0; k < l->n; k++)
            if (l->v[k] == n) l->v[k--] = l->v[--l->n];
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i] == n) g->nodes.v[i--] = g->nodes.v[--g->nodes.n];
    op_free(&n->op);
    free(n->after.v);
    free(n);
    return cudaSuccess;
}

API(cudaGraphDestroyNode, Node *n) {
    return CALL(destroy_node(n));
}
