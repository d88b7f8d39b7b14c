/* capture.c - streams that are captured: what they are asked for becomes nodes of a graph.
**
** A stream's tail is what its next node waits for. An event recorded on such a stream holds the
** tail; a stream that waits for the event takes it over, and joins the capture if it was in none.
*/
#include <stdlib.h>
#include <string.h>

#include "runtime/graph.h"

enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED };
enum { NONE, ACTIVE, INVALIDATED };
enum { NON_BLOCKING = 1 };

static uint64_t ids;
static int n_active;
static unsigned marks;

/* --- tails --- */

static void tail_set(NodeList **tail, Node *const *v, size_t n) {
    if (*tail == NULL) *tail = gi_alloc(sizeof **tail);
    (*tail)->n = 0;
    for (size_t i = 0; i < n; i++) {
        gi_grow((*tail)->v, (*tail)->n, (*tail)->cap);
        (*tail)->v[(*tail)->n++] = v[i];
    }
}

static void tail_add(NodeList *tail, const NodeList *more) {
    for (size_t i = 0; i < more->n; i++) {
        bool known = false;
        for (size_t k = 0; k < tail->n; k++) known = known || tail->v[k] == more->v[i];
        if (known) continue;
        gi_grow(tail->v, tail->n, tail->cap);
        tail->v[tail->n++] = more->v[i];
    }
}

static void join(Stream *s, Capture *c) {
    s->capture = c;
    c->users++;
    tail_set(&s->tail, NULL, 0);
}

static void leave(Stream *s) {
    s->capture = NULL;
    if (s->tail) s->tail->n = 0;
}

/* --- ops of a captured stream --- */

typedef struct Each {
    void (*f)(Capture *c, void *user);
    void *user;
} Each;

static void each_origin(Stream *s, void *user) {
    const Each *e = user;
    if (s->capture && s->capture->origin == s) e->f(s->capture, e->user);
}

/* Calls f with each capture that goes on. */
static void each_capture(void (*f)(Capture *c, void *user), void *user) {
    stream_each(each_origin, &(Each){f, user});
}

static void spoil_one(Capture *c, void *user) {
    (void)user;
    c->spoilt = true;
}

CudaError capture_spoil_all(void) {
    if (n_active == 0) return cudaSuccess;
    each_capture(spoil_one, NULL);
    return failed(cudaErrorStreamCaptureUnsupported, "a stream is being captured");
}

CudaError capture_spoil(Stream *s) {
    if (s->capture) s->capture->spoilt = true;
    return failed(cudaErrorStreamCaptureUnsupported, "the stream is being captured");
}

static void spoil_blocking(Stream *s, void *user) {
    if (s->capture == NULL || s->flags & NON_BLOCKING) return;
    s->capture->spoilt = *(bool *)user = true;
}

CudaError capture_implicit(const Stream *s) {
    bool found = false;
    if (n_active == 0 || s != stream_of(NULL)) return cudaSuccess;
    stream_each(spoil_blocking, &found);
    return found ? failed(cudaErrorStreamCaptureImplicit,
                          "the default stream waits for a stream that is being captured")
                 : cudaSuccess;
}

static _Thread_local int thread_mode;

/* A capture of global mode is for all threads, unless they ask for less; one of a thread's mode for
** that thread. */
static void look_for(Capture *c, void *found) {
    bool is_own = c->thread == call_thread();
    bool forbids = c->mode == MODE_GLOBAL ? is_own || thread_mode == MODE_GLOBAL
                                          : c->mode == MODE_THREAD && is_own;
    if (thread_mode == MODE_RELAXED || !forbids) return;
    c->spoilt = *(bool *)found = true;
}

CudaError capture_forbids(void) {
    bool found = false;
    if (n_active == 0) return cudaSuccess;
    each_capture(look_for, &found);
    return found ? failed(cudaErrorStreamCaptureUnsupported,
                          "a stream is being captured in a mode that does not permit it")
                 : cudaSuccess;
}

static void find_blocking(Stream *s, void *user) {
    if (s->capture && !(s->flags & NON_BLOCKING)) *(bool *)user = true;
}

typedef struct Search {
    const Capture *capture;
    bool goes_on;
} Search;

static void look_at(Capture *c, void *user) {
    Search *s = user;
    s->goes_on = s->goes_on || c == s->capture;
}

/* Does the capture go on in which the event was recorded? */
static bool is_going_on(const Event *e) {
    Search s = {.capture = e->capture};
    each_capture(look_at, &s);
    return s.goes_on;
}

CudaError capture_spoil_event(const Event *e) {
    if (is_going_on(e)) e->capture->spoilt = true;
    return failed(cudaErrorCapturedEvent, "the event was last recorded in a captured stream");
}

static CudaError wait_for(Stream *s, const Event *e) {
    if (e->capture == NULL) {
        capture_spoil(s);
        return failed(cudaErrorStreamCaptureIsolation,
                      "the event was recorded in a stream that is not captured");
    }
    if (!is_going_on(e)) return capture_spoil_event(e);
    if (s == stream_of(NULL)) {
        capture_spoil_event(e);
        return failed(cudaErrorStreamCaptureImplicit,
                      "the default stream waits for a captured event");
    }
    if (s->capture == NULL) join(s, e->capture);
    if (s->capture != e->capture) return cudaErrorStreamCaptureMerge;
    tail_add(s->tail, e->tail);
    return cudaSuccess;
}

CudaError capture_add(Stream *s, const Op *op) {
    if (s->capture && s->capture->spoilt) return cudaErrorStreamCaptureInvalidated;
    if (op->kind == OP_WAIT) return wait_for(s, op->event);
    if (op->kind == OP_RECORD) {
        op->event->capture = s->capture;
        tail_set(&op->event->tail, s->tail->v, s->tail->n);
        return cudaSuccess;
    }
    if (!op->is_async || op->kind == OP_GRAPH) return capture_spoil(s);
    Node *n = graph_add(s->capture->graph, op, s->tail->v, s->tail->n);
    tail_set(&s->tail, &n, 1);
    return cudaSuccess;
}

/* --- begin and end --- */

static CudaError begin(Stream *handle, Graph *g, Node *const *after, size_t n, int mode) {
    Stream *s = stream_of(handle);
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    if (mode < MODE_GLOBAL || mode > MODE_RELAXED) return cudaErrorInvalidValue;
    CudaError e = capture_implicit(s);
    if (e) return e;
    if (s == stream_of(NULL)) return cudaErrorStreamCaptureUnsupported;
    if (s->capture) return cudaErrorIllegalState;
    Capture *c = gi_alloc(sizeof *c);
    *c = (Capture){.graph = g ? g : graph_new(false), .origin = s, .id = ++ids, .mode = mode};
    c->thread = call_thread();
    join(s, c);
    tail_set(&s->tail, after, n);
    n_active++;
    return cudaSuccess;
}

static void mark(Node *n) {
    if (n->mark == marks) return;
    n->mark = marks;
    for (size_t i = 0; i < n->after.n; i++) mark(n->after.v[i]);
}

typedef struct End {
    Capture *capture;
    bool unjoined;
} End;

static void end_one(Stream *s, void *user) {
    End *e = user;
    if (s->capture != e->capture) return;
    for (size_t i = 0; i < s->tail->n; i++)
        e->unjoined = e->unjoined || s->tail->v[i]->mark != marks;
    leave(s);
}

static void close(Capture *c) {
    n_active--;
    free(c);
}

CudaError capture_end(Stream *s, Graph **graph) {
    Capture *c = s->capture;
    End end = {c, false};
    if (c == NULL) return cudaErrorIllegalState;
    if (s != c->origin) return cudaErrorStreamCaptureUnmatched;
    if (c->mode != MODE_RELAXED && c->thread != call_thread())
        return cudaErrorStreamCaptureWrongThread;
    marks++;
    for (size_t i = 0; i < s->tail->n; i++) mark(s->tail->v[i]);
    stream_each(end_one, &end);
    CudaError e = c->spoilt      ? cudaErrorStreamCaptureInvalidated
                  : end.unjoined ? cudaErrorStreamCaptureUnjoined
                                 : cudaSuccess;
    *graph = e ? NULL : c->graph;
    if (e) graph_free(c->graph);
    close(c);
    return e;
}

void capture_leave(Stream *s) {
    Capture *c = s->capture;
    End end = {c, false};
    leave(s);
    if (c == NULL || s != c->origin) return;
    stream_each(end_one, &end);
    graph_free(c->graph);
    close(c);
}

static CudaError end_of(Stream *handle, Graph **graph) {
    Stream *s = stream_of(handle);
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    return graph ? capture_end(s, graph) : cudaErrorInvalidValue;
}

API(cudaStreamBeginCapture, Stream *s, int mode) {
    return CALL(begin(s, NULL, NULL, 0, mode));
}
PER_THREAD(cudaStreamBeginCapture);
API(cudaStreamBeginCaptureToGraph, Stream *s, Graph *g, Node *const *after, const void *data,
    size_t n, int mode) {
    (void)data;
    return CALL(graph_is(g, false) ? begin(s, g, after, n, mode) : cudaErrorInvalidValue);
}
PER_THREAD(cudaStreamBeginCaptureToGraph);
API(cudaStreamEndCapture, Stream *s, Graph **graph) {
    return CALL(end_of(s, graph));
}
PER_THREAD(cudaStreamEndCapture);

static CudaError exchange(int *mode) {
    if (mode == NULL || *mode < MODE_GLOBAL || *mode > MODE_RELAXED) return cudaErrorInvalidValue;
    int old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return cudaSuccess;
}

API(cudaThreadExchangeStreamCaptureMode, int *mode) {
    return CALL(exchange(mode));
}

/* --- what is going on --- */

static CudaError info(Stream *handle, int *status, unsigned long long *id, Graph **graph,
                      Node *const **after, const void **data, size_t *n) {
    const Stream *s = stream_of(handle);
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    if (status == NULL) return cudaErrorInvalidValue;
    bool blocks = false;
    if (s == stream_of(NULL)) stream_each(find_blocking, &blocks);
    if (blocks) return cudaErrorStreamCaptureImplicit;
    const Capture *c = s->capture;
    *status = c == NULL ? NONE : c->spoilt ? INVALIDATED : ACTIVE;
    if (c == NULL) return cudaSuccess;
    if (id) *id = c->id;
    if (graph) *graph = c->graph;
    if (after) *after = s->tail->v;
    if (data) *data = NULL;
    if (n) *n = s->tail->n;
    return cudaSuccess;
}

API(cudaStreamIsCapturing, Stream *s, int *status) {
    return CALL(info(s, status, NULL, NULL, NULL, NULL, NULL));
}
PER_THREAD(cudaStreamIsCapturing);
API_13(cudaStreamGetCaptureInfo, Stream *s, int *status, unsigned long long *id, Graph **graph,
       Node *const **after, const void **data, size_t *n) {
    return CALL(info(s, status, id, graph, after, data, n));
}
VERSION_13(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_ptsz);
ALSO_12(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_v3);
ALSO_12(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_v3_ptsz);
API_12(cudaStreamGetCaptureInfo_v2, Stream *s, int *status, unsigned long long *id, Graph **graph,
       Node *const **after, size_t *n) {
    return CALL(info(s, status, id, graph, after, NULL, n));
}
VERSION_12(12_cudaStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo_v2_ptsz);
VERSION_12(12_cudaStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo);

enum { SET_DEPENDENCIES = 1 };

static CudaError update(Stream *handle, Node *const *after, size_t n, unsigned flags) {
    Stream *s = stream_of(handle);
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    if (s->capture == NULL) return cudaErrorIllegalState;
    NodeList more = {(Node **)(uintptr_t)after, n, n};
    if (flags == SET_DEPENDENCIES) tail_set(&s->tail, after, n);
    else tail_add(s->tail, &more);
    return cudaSuccess;
}

API_13(cudaStreamUpdateCaptureDependencies, Stream *s, Node **after, const void *data, size_t n,
       unsigned flags) {
    (void)data;
    return CALL(update(s, after, n, flags));
}
VERSION_13(cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies_ptsz);
ALSO_12(cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies_v2);
ALSO_12(cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies_v2_ptsz);
API_12(cudaStreamUpdateCaptureDependencies, Stream *s, Node **after, size_t n, unsigned flags) {
    return CALL(update(s, after, n, flags));
}
VERSION_12(12_cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies_ptsz);
