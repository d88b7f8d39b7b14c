/* stream.c - streams, events, and the modelled time at which what they are asked for happens.
**
** Model: the device has three engines, one for kernels and one for copies each way. An op begins
** when its stream has come to it, the host has asked for it and its engine is free; kernels do not
** run beside each other. The host's own work takes no time.
*/
#include <stdlib.h>

#include "runtime/graph.h"
#include "runtime/happens.h"
#include "runtime/observe.h"
#include "runtime/reorder.h"
#include "runtime/report.h"

#define STREAM_MAGIC 0x5354524du
#define EVENT_MAGIC  0x45564e54u
enum { NON_BLOCKING = 1, EVENT_NO_TIME = 2 };
enum { FIRST_PRIORITY = 0, LAST_PRIORITY = -5 };

static Stream default_stream = {.magic = STREAM_MAGIC, .id = 1};
static _Thread_local Stream *thread_stream;
bool stream_each_thread;
static Stream *streams = &default_stream;
static Event *events;
static uint64_t ids = 1;
static double engine_ns[ENGINES]; /* when each is free again */

/* --- streams --- */

static Stream *make_stream(unsigned flags, int priority) {
    Stream *s = gi_alloc(sizeof *s);
    *s = (Stream){.magic = STREAM_MAGIC, .flags = flags, .priority = priority, .id = ++ids};
    s->next = streams;
    streams = s;
    return s;
}

Stream *stream_of(Stream *handle) {
    uintptr_t number = (uintptr_t)handle;
    if (number == 1 || (number == 0 && !stream_each_thread)) return &default_stream;
    if (number == 2 || number == 0) {
        if (thread_stream == NULL) thread_stream = make_stream(0, 0);
        return thread_stream;
    }
    for (Stream *s = streams; s; s = s->next)
        if (s == handle) return s;
    return NULL;
}

void stream_each(void (*f)(Stream *s, void *user), void *user) {
    for (Stream *s = streams, *next; s; s = next) {
        next = s->next;
        f(s, user);
    }
}

static void later(double *ns, double than) {
    if (*ns < than) *ns = than;
}

/* The default stream and those that block wait for each other. */
static void join_default(Stream *s) {
    if (s->flags & NON_BLOCKING) return;
    if (s != &default_stream) {
        later(&s->ns, default_stream.ns);
        return;
    }
    for (const Stream *other = streams; other; other = other->next)
        if (!(other->flags & NON_BLOCKING)) later(&s->ns, other->ns);
}

CudaError stream_wait(Stream *s) {
    print_flush();
    join_default(s);
    later(&runtime.host_ns, s->ns);
    memory_read_shared();
    reorder_read_shared();
    observed_wait();
    return runtime.fault;
}

CudaError stream_wait_all(void) {
    print_flush();
    happens_wait_all();
    for (const Stream *s = streams; s; s = s->next) later(&runtime.host_ns, s->ns);
    memory_read_shared();
    reorder_read_shared();
    observed_wait();
    return runtime.fault;
}

/* --- ops --- */

static CudaError run_host(const CudaHostNode *h) {
    print_flush();
    h->fn(h->user);
    return cudaSuccess;
}

static CudaError record(Stream *s, Event *e) {
    e->recorded = true;
    e->capture = NULL;
    e->ns = s->ns;
    return cudaSuccess;
}

static CudaError run_kind(Stream *s, const Op *op, double *ns, Engine *engine) {
    switch (op->kind) {
    case OP_COPY: return copy_run(&op->copy, ns, engine);
    case OP_SET: *engine = ENGINE_KERNELS; return set_run(&op->set, ns);
    case OP_LAUNCH: *engine = ENGINE_KERNELS; return launch_run(&op->launch, ns);
    case OP_WORK: *engine = ENGINE_KERNELS; return work_run(s, op, ns);
    case OP_HOST: return run_host(&op->host);
    case OP_ALLOC: return memory_again(op->memory.address);
    case OP_FREE: return memory_free(op->memory.address, KIND(REGION_DEVICE) | KIND(REGION_GRAPH));
    case OP_RECORD: return record(s, op->event);
    case OP_WAIT:
        if (op->event->recorded) later(&s->ns, op->event->ns);
        return cudaSuccess;
    case OP_GRAPH: return graph_run(s, op->graph);
    case OP_NOTHING: break;
    }
    return cudaSuccess;
}

CudaError op_run(Stream *s, const Op *op) {
    double ns = 0;
    Engine engine = ENGINE_NONE;
    join_default(s);
    later(&s->ns, runtime.host_ns);
    observed_before(s, op);
    happens_begin(s, op);
    CudaError e = run_kind(s, op, &ns, &engine);
    if (engine != ENGINE_NONE) {
        later(&s->ns, engine_ns[engine]);
        s->ns += ns;
        engine_ns[engine] = s->ns;
    }
    later(&report->device_ns, s->ns);
    observed_op(s, op, e, ns);
    happens_end(s, op, e);
    if (!op->is_async && e == cudaSuccess) e = stream_wait(s);
    return e;
}

static CudaError check(const Op *op) {
    if (op->kind == OP_COPY) return copy_check(&op->copy);
    return op->kind == OP_SET ? set_check(&op->set) : cudaSuccess;
}

CudaError op_submit(Stream *handle, const Op *op) {
    Stream *s = stream_of(handle);
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    CudaError e = check(op);
    if (e) return e;
    bool joins = op->kind == OP_WAIT && op->event->capture;
    if (s->capture || joins) return capture_add(s, op);
    e = capture_implicit(s);
    if (e) return e;
    return op_run(s, op);
}

/* --- streams, for programs --- */

static CudaError stream_new(Stream **out, unsigned flags, int priority) {
    if (out == NULL || flags > NON_BLOCKING) return cudaErrorInvalidValue;
    if (priority > FIRST_PRIORITY) priority = FIRST_PRIORITY;
    if (priority < LAST_PRIORITY) priority = LAST_PRIORITY;
    *out = make_stream(flags, priority);
    return cudaSuccess;
}

API(cudaStreamCreate, Stream **out) {
    return CALL(stream_new(out, 0, 0));
}
API(cudaStreamCreateWithFlags, Stream **out, unsigned flags) {
    return CALL(stream_new(out, flags, 0));
}
API(cudaStreamCreateWithPriority, Stream **out, unsigned flags, int priority) {
    return CALL(stream_new(out, flags, priority));
}

static CudaError stream_free(Stream *handle) {
    if ((uintptr_t)handle <= 2 || stream_of(handle) == NULL) return cudaErrorInvalidResourceHandle;
    for (Stream **at = &streams; *at; at = &(*at)->next)
        if (*at == handle) {
            *at = handle->next;
            break;
        }
    capture_leave(handle);
    clock_free(&handle->clock);
    handle->magic = 0;
    free(handle);
    return cudaSuccess;
}

API(cudaStreamDestroy, Stream *s) {
    return CALL(stream_free(s));
}

static CudaError synchronise(Stream *handle) {
    Stream *s = stream_of(handle);
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    CudaError e = s->capture ? capture_spoil(s) : capture_implicit(s);
    if (e == cudaSuccess) e = capture_forbids();
    if (e) return e;
    happens_wait_stream(s);
    return stream_wait(s);
}

API(cudaStreamSynchronize, Stream *s) {
    return CALL(synchronise(s));
}
PER_THREAD(cudaStreamSynchronize);
API(cudaStreamQuery, Stream *s) {
    return CALL(synchronise(s));
}
PER_THREAD(cudaStreamQuery);
CudaError stream_wait_device(void) {
    CudaError e = capture_spoil_all();
    return e ? e : stream_wait_all();
}

API(cudaDeviceSynchronize, void) {
    return CALL(stream_wait_device());
}
API_12(cudaThreadSynchronize, void) {
    return CALL(stream_wait_device());
}

static CudaError stream_facts(Stream *handle, unsigned *flags, int *priority,
                              unsigned long long *id) {
    const Stream *s = stream_of(handle);
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    if (flags) *flags = s->flags;
    if (priority) *priority = s->priority;
    if (id) *id = s->id;
    return cudaSuccess;
}

API(cudaStreamGetFlags, Stream *s, unsigned *flags) {
    return CALL(flags ? stream_facts(s, flags, NULL, NULL) : cudaErrorInvalidValue);
}
PER_THREAD(cudaStreamGetFlags);
API(cudaStreamGetPriority, Stream *s, int *priority) {
    return CALL(priority ? stream_facts(s, NULL, priority, NULL) : cudaErrorInvalidValue);
}
PER_THREAD(cudaStreamGetPriority);
API(cudaStreamGetId, Stream *s, unsigned long long *id) {
    return CALL(id ? stream_facts(s, NULL, NULL, id) : cudaErrorInvalidValue);
}
PER_THREAD(cudaStreamGetId);
API(cudaStreamGetDevice, Stream *s, int *device) {
    return CALL(device ? (*device = 0, stream_facts(s, NULL, NULL, NULL)) : cudaErrorInvalidValue);
}
PER_THREAD(cudaStreamGetDevice);
API(cudaDeviceGetStreamPriorityRange, int *least, int *greatest) {
    if (least) *least = FIRST_PRIORITY;
    if (greatest) *greatest = LAST_PRIORITY;
    return CALL(cudaSuccess);
}
/* What memory a stream uses, hints for caches and the like: nothing that changes an answer. */
API(cudaStreamAttachMemAsync, Stream *s, void *p, size_t n, unsigned flags) {
    (void)p, (void)n, (void)flags;
    return CALL(stream_facts(s, NULL, NULL, NULL));
}
PER_THREAD(cudaStreamAttachMemAsync);
API(cudaStreamSetAttribute, Stream *s, int id, const void *value) {
    (void)id;
    return CALL(value ? stream_facts(s, NULL, NULL, NULL) : cudaErrorInvalidValue);
}
PER_THREAD(cudaStreamSetAttribute);
API(cudaStreamCopyAttributes, Stream *to, Stream *from) {
    return CALL(stream_of(from) ? stream_facts(to, NULL, NULL, NULL)
                                : cudaErrorInvalidResourceHandle);
}
PER_THREAD(cudaStreamCopyAttributes);

API(cudaLaunchHostFunc, Stream *s, CudaHostFn fn, void *user) {
    Op op = {.kind = OP_HOST, .is_async = true, .host = {fn, user}};
    return CALL(fn ? op_submit(s, &op) : cudaErrorInvalidValue);
}
PER_THREAD(cudaLaunchHostFunc);

static CudaError call_back(Stream *handle, CudaStreamCallback fn, void *user) {
    Stream *s = stream_of(handle);
    if (s == NULL) return cudaErrorInvalidResourceHandle;
    if (s->capture) return capture_spoil(s);
    print_flush();
    happens_wait_stream(s);
    fn(handle, runtime.fault, user);
    return cudaSuccess;
}

API(cudaStreamAddCallback, Stream *s, CudaStreamCallback fn, void *user, unsigned flags) {
    return CALL(fn && flags == 0 ? call_back(s, fn, user) : cudaErrorInvalidValue);
}
PER_THREAD(cudaStreamAddCallback);

/* --- events --- */

bool event_is(const Event *e) {
    for (const Event *at = events; at; at = at->next)
        if (at == e) return true;
    return false;
}

static CudaError event_new(Event **out, unsigned flags) {
    if (out == NULL || flags > 7) return cudaErrorInvalidValue;
    Event *e = gi_alloc(sizeof *e);
    *e = (Event){.magic = EVENT_MAGIC, .flags = flags, .next = events};
    events = e;
    *out = e;
    return cudaSuccess;
}

API(cudaEventCreate, Event **out) {
    return CALL(event_new(out, 0));
}
API(cudaEventCreateWithFlags, Event **out, unsigned flags) {
    return CALL(event_new(out, flags));
}

static CudaError event_free(Event *e) {
    for (Event **at = &events; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            clock_free(&e->clock);
            free(e);
            return cudaSuccess;
        }
    return cudaErrorInvalidResourceHandle;
}

API(cudaEventDestroy, Event *e) {
    return CALL(event_free(e));
}

static CudaError event_op(OpKind kind, Event *e, Stream *s) {
    Op op = {.kind = kind, .is_async = true, .event = e};
    return event_is(e) ? op_submit(s, &op) : cudaErrorInvalidResourceHandle;
}

API(cudaEventRecord, Event *e, Stream *s) {
    return CALL(event_op(OP_RECORD, e, s));
}
PER_THREAD(cudaEventRecord);
API(cudaEventRecordWithFlags, Event *e, Stream *s, unsigned flags) {
    return CALL(flags < 2 ? event_op(OP_RECORD, e, s) : cudaErrorInvalidValue);
}
PER_THREAD(cudaEventRecordWithFlags);
API(cudaStreamWaitEvent, Stream *s, Event *e, unsigned flags) {
    return CALL(flags < 2 ? event_op(OP_WAIT, e, s) : cudaErrorInvalidValue);
}
PER_THREAD(cudaStreamWaitEvent);

static CudaError event_wait(Event *e) {
    if (!event_is(e)) return cudaErrorInvalidResourceHandle;
    if (e->capture) return capture_spoil_event(e);
    CudaError forbidden = capture_forbids();
    if (forbidden) return forbidden;
    print_flush();
    if (e->recorded) later(&runtime.host_ns, e->ns);
    happens_wait(&e->clock);
    return runtime.fault;
}

API(cudaEventSynchronize, Event *e) {
    return CALL(event_wait(e));
}
API(cudaEventQuery, Event *e) {
    return CALL(event_wait(e));
}

static CudaError elapsed(float *ms, const Event *from, const Event *to) {
    if (ms == NULL) return cudaErrorInvalidValue;
    if (!event_is(from) || !event_is(to) || !from->recorded || !to->recorded ||
        ((from->flags | to->flags) & EVENT_NO_TIME))
        return cudaErrorInvalidResourceHandle;
    *ms = (float)((to->ns - from->ns) * 1e-6);
    return cudaSuccess;
}

API(cudaEventElapsedTime, float *ms, Event *from, Event *to) {
    return CALL(elapsed(ms, from, to));
}
ALSO_12(cudaEventElapsedTime, cudaEventElapsedTime_v2);
