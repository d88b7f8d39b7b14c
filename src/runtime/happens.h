/* happens.h - what nothing orders: two accesses to the same bytes by work on different streams, or
** by the host while work on a stream may be under way (check.streams). Private to src/runtime.
**
** Each stream and each node of a graph counts its ops and has a vector clock: how far it knows each
** other to be. An event keeps the clock of its stream; the host has one of all that it waited for.
** The default stream and those that block wait for each other, as CUDA's legacy default stream
** does. Accesses of copies and fills are known by what was asked for, those of kernels by what they
** did, to the byte (EmuLaunch.footprint). The host's own writes to memory that it shares with the
** device are seen by what has changed when it calls next; what it reads of what the device writes,
** by early.h. Several threads of the host count as one. A copy to or from pageable memory, and any
** that the host waits for, is over when the call returns.
*/
#ifndef GILUA_RUNTIME_HAPPENS_H
#define GILUA_RUNTIME_HAPPENS_H

#include "runtime/graph.h"
#include "runtime/place.h"

/* Around an op that runs on a stream. The host knows what is before a function of its own. */
void happens_begin(Stream *s, const Op *op);
void happens_end(Stream *s, const Op *op, CudaError e);
/* An op that runs reads or writes rows of one side. */
void happens_side(Stream *s, const Op *op, const Side *side, size_t width, size_t height,
                  bool writes);
/* Memory was allocated in a stream's order. */
void happens_made(Stream *s, uint64_t address, size_t size);
/* The host waits for a stream, an event (its clock), everything. */
void happens_wait_stream(Stream *s);
void happens_wait(const Clock *c);
void happens_wait_all(void);
/* Around the nodes of a graph: they wait for those that they name. */
typedef struct HappensGraph {
    Clock before;
    uint32_t line;
    uint64_t seq;
} HappensGraph;
HappensGraph happens_graph(Stream *s);
void happens_node(Stream *s, const HappensGraph *g, Node *n);
void happens_node_end(Stream *s, Node *n);
void happens_graph_end(Stream *s, HappensGraph *g, const Graph *of);

/* Runs of pages that work under way has written whole, and that a host may not touch yet. */
void happens_written(void (*f)(uintptr_t from, uintptr_t to));
/* It touched an address of them. */
void happens_touched(uint64_t address, bool writes, const Place *at);

void clock_join(Clock *to, const Clock *from);
void clock_free(Clock *c);

#endif
