/* op.h - what a program asks the device to do, as data; streams that it asks; events.
**
** Private to src/runtime. An op runs when it is handed to a stream, or becomes a node of the graph
** that the stream is captured into (graph.h).
*/
#ifndef GILUA_RUNTIME_OP_H
#define GILUA_RUNTIME_OP_H

#include "runtime/memory.h"

typedef struct Stream Stream;
typedef struct Event Event;
typedef struct Kernel Kernel;
typedef struct Graph Graph;

typedef enum OpKind { OP_COPY, OP_SET, OP_LAUNCH, OP_HOST, OP_ALLOC, OP_FREE, OP_RECORD, OP_WAIT,
                      OP_NOTHING, OP_GRAPH, OP_WORK } OpKind;

/* One side of a copy: rows in memory, or in an array (offsets in bytes and rows). */
typedef struct Side {
    Texels *array;    /* NULL: memory at address */
    uint64_t address;
    size_t row;      /* bytes from one to the next */
    size_t rows;     /* in a slice */
    size_t x, y, z;  /* of an array: bytes, rows, slices */
} Side;

typedef struct OpCopy {
    Side to, from;
    size_t width, height, depth; /* bytes, rows, slices */
    CudaMemcpyKind kind;
} OpCopy;

typedef struct OpSet {
    Side to;
    uint32_t value;
    unsigned element; /* bytes of it: 1, 2, 4 */
    size_t width, height, depth; /* bytes, rows, slices */
} OpSet;

typedef struct LaunchKind {
    bool cooperative;
    Dim3 cluster; /* 0: no clusters */
} LaunchKind;

typedef struct OpLaunch {
    Kernel *kernel;
    unsigned grid[3], block[3];
    size_t shared;
    LaunchKind kind;
    uint8_t *params; /* as the kernel lays them out; in a node, its own */
} OpLaunch;

typedef struct OpWork { /* runtime/work.h */
    const char *name;
    bool (*run)(const void *args);
    void *args; /* in a node, its own */
    size_t size;
    double operations;
    bool is_double;
} OpWork;

typedef struct Op {
    OpKind kind;
    bool is_async; /* the host does not wait for it */
    union {
        OpCopy copy;
        OpSet set;
        OpLaunch launch;
        CudaHostNode host;
        OpWork work;
        Event *event;
        Graph *graph;
        struct {
            uint64_t address;
            size_t size;
        } memory;
    };
} Op;

/* --- streams --- */

typedef struct Capture Capture;

typedef struct Clock { /* happens.h: how far each stream and node is known to be */
    uint64_t *at;
    uint32_t n;
} Clock;

struct Stream {
    uint32_t magic;
    unsigned flags;    /* 1: does not wait for the default stream */
    int priority;
    uint64_t id;
    double ns;         /* modelled time at which its last op ends */
    Clock clock;       /* happens.h; its ops are counted in seq, and are line's in clocks */
    uint32_t line;
    uint64_t seq;
    Capture *capture;  /* NULL: ops run */
    struct NodeList *tail; /* while capturing: the nodes that the next one waits for */
    Stream *next;
};

/* What a program hands over: 0 and 1 are the default stream, 2 the thread's; 0 is the thread's,
** too, where that was asked for. NULL: no stream. */
extern bool stream_each_thread;
Stream *stream_of(Stream *handle);
void stream_each(void (*f)(Stream *s, void *user), void *user);
/* Waits: the host is as late as the stream, what kernels printed is out, faults are known. */
CudaError stream_wait(Stream *s);
CudaError stream_wait_all(void);
CudaError stream_wait_device(void); /* the same; it fails during captures, and spoils them */

/* Why a call that might wait for the device (an allocation, say) is not permitted now: a stream is
** captured, and the capture is spoilt by it. GUARDED is CALL for such calls. */
CudaError capture_forbids(void);
#define GUARDED(expr)                                                                              \
    call_end(!call_begin(__func__ + 3) ? cudaErrorUnknown                                          \
             : capture_forbids()       ? cudaErrorStreamCaptureUnsupported                         \
                                       : (expr))

/* Runs the op, or adds it to the graph that the stream is captured into. */
CudaError op_submit(Stream *handle, const Op *op);
CudaError op_run(Stream *s, const Op *op);

/* --- events --- */

struct Event {
    uint32_t magic;
    unsigned flags;   /* 2: without time */
    bool recorded;
    double ns;
    Clock clock;      /* happens.h: its stream's, when it was recorded */
    Capture *capture; /* recorded while that captured: … */
    struct NodeList *tail; /* what came before it */
    Event *next;
};

bool event_is(const Event *e);

/* --- what ops do: each file its own --- */

/* *ns: the modelled time it takes; *engine: what it keeps busy. */
typedef enum Engine { ENGINE_NONE, ENGINE_KERNELS, ENGINE_TO_DEVICE, ENGINE_TO_HOST, ENGINES }
    Engine;
CudaError copy_run(const OpCopy *c, double *ns, Engine *engine);
CudaError set_run(const OpSet *s, double *ns);
CudaError launch_run(const OpLaunch *l, double *ns);
CudaError work_run(Stream *s, const Op *op, double *ns);
void launch_tell(const EmuFinding *f); /* of a kernel */
/* Calls f with the memory behind every texture and surface object. */
void texture_each(void (*f)(void *user, Texels *array, uint64_t address), void *user);
void surfaces_wrote(void); /* a kernel may have written through any of them */
CudaError copy_check(const OpCopy *c);
CudaError set_check(const OpSet *s);

void print_flush(void); /* what kernels printed, to standard output */

#endif
