/* graph.h - graphs of ops, built by hand or by capturing streams. Private to src/runtime. */
#ifndef GILUA_RUNTIME_GRAPH_H
#define GILUA_RUNTIME_GRAPH_H

#include "runtime/op.h"

typedef struct Node Node;

typedef struct NodeList {
    Node **v;
    size_t n, cap;
} NodeList;

struct Node {
    Op op;             /* a launch owns its params, a child graph is the node's own */
    NodeList after;    /* the nodes it waits for */
    Node *origin;      /* of a copy: the node it was made of */
    Node *copy;        /* while a copy is made */
    bool off;          /* cudaGraphNodeSetEnabled */
    unsigned mark;     /* of searches */
    Clock clock;       /* happens.h, as of a stream */
    uint32_t line;
    uint64_t seq;
};

struct Graph {
    NodeList nodes;    /* those of an instantiated graph in an order in which they can run */
    bool is_exec;
    struct Graph *next; /* of all that the program has handles of */
};

Graph *graph_new(bool is_exec);
void graph_free(Graph *g);
bool graph_is(const Graph *g, bool is_exec);
Node *graph_add(Graph *g, const Op *op, Node *const *after, size_t n_after);
/* A copy whose nodes stand in an order in which they can run; NULL where there is none. */
Graph *graph_ordered(const Graph *g);
Graph *graph_of_node(const Node *n); /* NULL: no node */
CudaError graph_run(Stream *s, const Graph *g);
Op op_copy(const Op *op); /* with params or child graph of its own */
void op_free(Op *op);

/* --- capturing (capture.c) --- */

struct Capture {
    Graph *graph;
    Stream *origin;
    uint64_t id;
    int mode;
    uint32_t thread; /* that began it */
    bool spoilt; /* an op could not be captured: the graph is lost */
    int users;   /* streams */
};

/* Why the default stream cannot wait now: blocking streams are captured, and are spoilt by it. */
CudaError capture_implicit(const Stream *s);
CudaError capture_spoil(Stream *s); /* the error of what spoils it */
CudaError capture_spoil_all(void);  /* the same; no capture: no error */
CudaError capture_spoil_event(const Event *e);
CudaError capture_add(Stream *s, const Op *op);
CudaError capture_end(Stream *s, Graph **graph);
/* The stream goes away: a capture that began on it is lost, one that it joined goes on. */
void capture_leave(Stream *s);

#endif
