/* fake_driver.h - a CUDA driver without a GPU, so that cuda*.c runs everywhere as it is.
**
** It stands where driver.c does: a test that includes this links no driver.o. Memory of the GPU is
** the host's, kernels are C functions that run when they are launched, and time is what the test
** says: `takes` for a kernel, a clock rate for the SMs (of which the first has but half). What a
** kernel does wrong shows as on a GPU, when the stream is asked; copies from and to the host are
** not made before somebody waits or something runs. `log` has what ran, in order:
**   a … z  a test's kernel, by its first letter      T  reading of the SM clocks
**   G  gate      P  variables copied      F  fill64      =  fill8, fill32      +  a copy on the GPU
**   [ … ]  a graph's launch, with what is in it; what is captured leaves no mark, and does nothing
** `turns` has what goes on which stream, but on the first alone nothing: "s1" a kernel and its
** stream, "0<1" that the first waits for another. Streams have times of their own, and what they
** have in a graph they must have come to by events, and gone back.
** Checksums leave no mark. `fail_at` makes one call of the driver fail, counted from 1; `live`
** counts what was made and not released. Modules have variables and kernels in common, or with
** `separate` each its own; `running` is the module whose kernel runs.
*/
#ifndef GILUA_TESTS_FAKE_DRIVER_H
#define GILUA_TESTS_FAKE_DRIVER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/cuda.h"

struct CuContextObject {
    int unused;
};
struct CuStreamObject {
    int number;         /* 0: the first, whose time is fake.now_ns */
    double at_ns;
    CuGraph capture;    /* that its calls go into; NULL: none */
    int n_launches, n_joined; /* n_joined: of them the first waits for so many */
};
struct CuArrayObject { /* texels of one byte: whatever they are, tests copy bytes */
    size_t row, rows;
    char *data; /* behind this */
};
struct CuEventObject {
    double at_ns;
    CuStream stream;
    CuGraph capture;
    int n_launches; /* of the stream, before it */
};
struct CuFunctionObject {
    const char *name;
    int (*run)(const void *params); /* a test's: answers CU_OK or how the GPU faults */
    size_t sizes[4];                /* of its parameters */
    void (*help)(void **args, unsigned blocks); /* gilua's own */
    char mark;
    CuModule module; /* NULL: of any */
};

typedef struct FakeNode { /* of a graph: one thing that a call would have done at once */
    int (*redo)(const struct FakeNode *);
    CuFunction function;
    unsigned shape[7]; /* grid, block, shared bytes */
    _Alignas(8) char params[200];
    bool cooperative;
    CuPointer to, from;
    size_t bytes, pitch, rows;
    unsigned value, element;
    CuCopy3D copy;
    CuEvent event;
    CuStream stream;
} FakeNode;
struct CuGraphObject {
    FakeNode *nodes;
    int n, cap;
};
struct CuGraphRunObject {
    FakeNode *nodes;
    int n;
};

typedef struct FakeSymbol {
    const char *name, *initial;
    size_t n;
    char bytes[64];
} FakeSymbol;

enum { FAKE_OWN = 4 };

struct CuModuleObject {
    char image[2000]; /* its code, as far as it goes */
    FakeSymbol own[FAKE_OWN];
    struct CuFunctionObject kernels[FAKE_OWN];
    void *loaded; /* fake_cuda.c's: its code, on the virtual GPU, and its functions */
    void *functions;
};

typedef struct FakePart { /* what the comparison of answers finds */
    double max, sum, penalty;
    int64_t finite, off, wrong, unset, nan, first, counted;
} FakePart;

enum { FAKE_MOST_BYTES = 1 << 28 }; /* of memory or an array; more the GPU does not have */
enum { FAKE_STREAMS = 4, FAKE_SMS = 5, FAKE_LOG = 4000, FAKE_COPIES = 64, FAKE_THINGS = 20000 };

static struct Fake {
    struct CuFunctionObject *kernels;
    unsigned n_kernels;
    FakeSymbol *symbols;
    int n_symbols;
    double (*takes)(const char *kernel); /* ns */
    double ghz;                          /* of the SMs */
    bool hangs;                          /* what is queued never ends */
    double busy_until;                   /* … or not before this time of the host */
    FakePart part;
    const char *refuses;                 /* code, with these words */
    bool separate;
    bool other_places;                   /* than those that are asked for, which are hints */
    CuModule running;
    CuGraph capture; /* what calls go into, in the place of being done */
    bool compares; /* answers, for real (u64, no tolerance), instead of finding `part` */
    double now_ns, cycles;
    int fault, coming; /* what every call answers; what it will when the stream is asked */
    const volatile uint32_t *gate;
    uint32_t ticket;
    int passed_early; /* launches that found an open gate */
    size_t printed_bytes; /* of a launch, at most */
    int calls, fail_at, fail_with, live, loads, launches, n_copies;
    void *things[FAKE_THINGS];
    int n_things;
    struct {
        void *to;
        const void *from;
        size_t n;
    } copy[FAKE_COPIES];
    char log[FAKE_LOG + 1], turns[FAKE_LOG + 10];
    CuStream streams[FAKE_STREAMS];
    int n_streams;
    bool is_redone; /* what is queued is what a graph has */
} fake;

static int fake_call(void) {
    if (fake.fault) return fake.fault;
    return ++fake.calls == fake.fail_at ? fake.fail_with : CU_OK;
}

#define FAKE_CALL()                                                                                \
    do {                                                                                           \
        int code_ = fake_call();                                                                   \
        if (code_ != CU_OK) return code_;                                                          \
    } while (0)

static void fake_mark(char mark) {
    size_t n = strlen(fake.log);
    if (mark && n < FAKE_LOG) fake.log[n] = mark, fake.log[n + 1] = '\0';
}

static int fake_keep(FakeNode node) {
    CuGraph g = fake.capture;
    gi_grow(g->nodes, g->n, g->cap);
    g->nodes[g->n++] = node;
    return CU_OK;
}

/* What goes on which stream: what it is, and the stream's number. */
static void fake_turn(const char *what, int stream) {
    size_t n = strlen(fake.turns);
    if (n < FAKE_LOG) snprintf(fake.turns + n, 10, "%s%d ", what, stream);
}

static void fake_pass(double ns) {
    fake.now_ns += ns;
    fake.cycles += ns * fake.ghz;
}

static double *fake_time(CuStream s) {
    return s && s->number > 0 ? &s->at_ns : &fake.now_ns;
}

static void fake_pass_on(CuStream s, double ns) {
    if (fake_time(s) == &fake.now_ns) fake_pass(ns);
    else *fake_time(s) += ns;
}

static void *fake_at(CuPointer address) {
    return (void *)(uintptr_t)address;
}

static void fake_copy_now(void) {
    for (int i = 0; i < fake.n_copies; i++)
        memcpy(fake.copy[i].to, fake.copy[i].from, fake.copy[i].n);
    fake.n_copies = 0;
}

static void fake_copy_later(void *to, const void *from, size_t n) {
    if (fake.n_copies == FAKE_COPIES) fake_copy_now();
    fake.copy[fake.n_copies].to = to;
    fake.copy[fake.n_copies].from = from;
    fake.copy[fake.n_copies++].n = n;
}

/* --- gilua's own kernels (cuda_helpers.c), one value of args each argument --- */

#define FAKE_ARG(type, i) (*(type *)args[i])

static void fake_fill(void **args, unsigned blocks) {
    uint64_t *p = fake_at(FAKE_ARG(CuPointer, 0));
    (void)blocks;
    for (uint64_t i = 0; i < FAKE_ARG(uint64_t, 2); i++) p[i] = FAKE_ARG(uint64_t, 1);
}

static void fake_pieces(void **args, unsigned blocks) {
    const CudaPiece *p = fake_at(FAKE_ARG(CuPointer, 0));
    for (unsigned i = 0; i < blocks; i++) {
        char *saved = fake_at(FAKE_ARG(CuPointer, 1) + p[i].saved), *own = fake_at(p[i].address);
        bool save = FAKE_ARG(int, 2);
        memcpy(save ? saved : own, save ? own : saved, p[i].bytes);
    }
}

typedef struct FakeChunk {
    uint64_t address, offset;
    uint32_t bytes, zone;
} FakeChunk;

static void fake_sums(void **args, unsigned blocks) {
    const FakeChunk *c = fake_at(FAKE_ARG(CuPointer, 0));
    uint64_t *sums = fake_at(FAKE_ARG(CuPointer, 1));
    for (unsigned b = 0; b < blocks; b++, c++)
        for (uint64_t i = 0; i < c->bytes; i++)
            sums[c->zone] += (((unsigned char *)fake_at(c->address))[i] + 1u) *
                             ((c->offset + i) * 0x9e3779b97f4a7c15u + 1);
}

static void fake_stamp(void **args, unsigned blocks) {
    uint64_t *s = fake_at(FAKE_ARG(CuPointer, 0));
    for (unsigned sm = 0; sm < blocks; sm++, s += 3)
        s[0] = sm, s[1] = (uint64_t)(sm ? fake.cycles : fake.cycles / 2),
        s[2] = (uint64_t)fake.now_ns;
}

static void fake_gate(void **args, unsigned blocks) {
    (void)blocks;
    fake.gate = fake_at(FAKE_ARG(CuPointer, 0));
    fake.ticket = FAKE_ARG(uint32_t, 1);
}

static bool fake_waits(void) {
    return fake.gate && *fake.gate != fake.ticket;
}

/* device_helpers.c tests the real one. */
static void fake_compare(void **args, unsigned blocks) {
    (void)blocks;
    if (!fake.compares) return;
    const uint64_t *got = fake_at(FAKE_ARG(CuPointer, 0)), *right = fake_at(FAKE_ARG(CuPointer, 1));
    fake.part = (FakePart){.first = -1};
    for (int64_t i = 0; i < FAKE_ARG(int64_t, 2); i++)
        if (got[i] != (right[i] ^ FAKE_ARG(uint64_t, 10))) fake.part.max = 1, fake.part.off++;
}

static void fake_total(void **args, unsigned blocks) {
    (void)blocks;
    memcpy(fake_at(FAKE_ARG(CuPointer, 2)), &fake.part, sizeof fake.part);
}

#define FAKE_HELPER(name, mark) {"gilua_" #name, NULL, {0}, fake_##name, mark, NULL}

static struct CuFunctionObject fake_helpers[] = {
    FAKE_HELPER(fill, 'F'), FAKE_HELPER(pieces, 'P'), FAKE_HELPER(sums, 0),
    FAKE_HELPER(stamp, 'T'), FAKE_HELPER(gate, 'G'), FAKE_HELPER(compare, 0),
    FAKE_HELPER(total, 0)};

/* --- the driver's functions --- */

/* A call that makes something of `bytes`, not zero. */
static int fake_make(void **out, size_t bytes) {
    FAKE_CALL();
    if (fake.n_things == FAKE_THINGS || bytes > FAKE_MOST_BYTES) return CU_OUT_OF_MEMORY;
    *out = malloc(bytes);
    memset(*out, 0x5A, bytes);
    fake.things[fake.n_things++] = *out;
    fake.live++;
    return CU_OK;
}

static int fake_release(void *p) {
    int i = 0;
    while (fake.things[i] != p) i++;
    fake.things[i] = fake.things[--fake.n_things];
    free(p);
    fake.live--;
    return CU_OK;
}

/* As a process that ends: what a lost device has left goes. */
__attribute__((unused)) static void fake_exit(void) {
    while (fake.n_things > 0) free(fake.things[--fake.n_things]);
}

#define FAKE_MAKES(name, type, arguments)                                                          \
    static int fake_##name##_new arguments {                                                       \
        void *made;                                                                                \
        int code = fake_make(&made, sizeof **out);                                                 \
        if (code == CU_OK) *out = made;                                                            \
        return code;                                                                               \
    }                                                                                              \
    static int fake_##name##_free(type p) {                                                        \
        return fake_release(p);                                                                    \
    }
static int fake_stream_new(CuStream *out, unsigned flags) {
    void *made;
    int code = fake.n_streams == FAKE_STREAMS ? CU_INVALID_VALUE : fake_make(&made, sizeof **out);
    (void)flags;
    if (code != CU_OK) return code;
    *out = made;
    **out = (struct CuStreamObject){.number = fake.n_streams};
    fake.streams[fake.n_streams++] = *out;
    return CU_OK;
}

static int fake_stream_free(CuStream s) {
    int i = 0;
    while (fake.streams[i] != s) i++;
    fake.streams[i] = fake.streams[--fake.n_streams];
    return fake_release(s);
}

FAKE_MAKES(event, CuEvent, (CuEvent * out, unsigned flags __attribute__((unused))))

static int fake_array_new(CuArray *out, const CuArrayShape *a) {
    void *made;
    int bits = a->format & 0x1f ? 8 << (a->format & 3 ? (a->format & 3) - 1 : 2) : 32;
    if (a->format == 0x08) bits = 8;
    size_t row = a->width * a->channels * (size_t)bits / 8, rows = a->height ? a->height : 1, all;
    bool fits = a->width <= FAKE_MOST_BYTES && !__builtin_mul_overflow(row, rows, &all) &&
                !__builtin_mul_overflow(all, a->depth ? a->depth : 1, &all);
    if (!fits) return CU_INVALID_VALUE;
    int code = fake_make(&made, sizeof **out + all);
    if (code != CU_OK) return code;
    *out = made;
    **out = (struct CuArrayObject){row, rows, (char *)(*out + 1)};
    return CU_OK;
}

static int fake_array_free(CuArray a) {
    return fake_release(a);
}

static int fake_init(unsigned flags) {
    (void)flags;
    return CU_OK;
}

static int fake_driver_version(int *version) {
    *version = 13000;
    return CU_OK;
}

static int fake_error_name(int code, const char **name) {
    (void)code;
    *name = "FAKE_ERROR";
    return CU_OK;
}

static int fake_device_count(int *n) {
    FAKE_CALL();
    *n = 1;
    return CU_OK;
}

static int fake_device_get(CuDevice *d, int ordinal) {
    FAKE_CALL();
    *d = ordinal;
    return CU_OK;
}

static int fake_device_name(char *name, int size, CuDevice d) {
    snprintf(name, (size_t)size, "fake GPU %d", d);
    return CU_OK;
}

static int fake_device_uuid(CuUuid *id, CuDevice d) {
    (void)d;
    memset(id, 0xAB, sizeof *id);
    return CU_OK;
}

static int fake_device_memory(size_t *bytes, CuDevice d) {
    (void)d;
    *bytes = 1 << 30;
    return CU_OK;
}

static int fake_device_attribute(int *value, int which, CuDevice d) {
    (void)d;
    switch (which) {
    case CU_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_CLOCK_KHZ: *value = 2000000; break;
    case CU_SM_COUNT: *value = FAKE_SMS; break;
    case CU_L2_BYTES: *value = 1 << 16; break;
    case CU_MEMORY_KHZ: *value = 1000000; break;
    case CU_MEMORY_BITS: *value = 4096; break;
    case CU_MAX_THREADS_PER_SM: *value = 2048; break;
    case CU_COMPUTE_MAJOR: *value = 9; break;
    case CU_MAX_SHARED_PER_BLOCK: *value = 200 << 10; break;
    default: *value = 0;
    }
    return CU_OK;
}

static int fake_context_retain(CuContext *c, CuDevice d) {
    static struct CuContextObject context;
    (void)d;
    FAKE_CALL();
    *c = &context;
    fake.live++;
    return CU_OK;
}

static int fake_context_release(CuDevice d) {
    (void)d;
    fake.live--;
    return CU_OK;
}

static int fake_context_use(CuContext c) { /* fails when all is lost only */
    (void)c;
    return fake.fault;
}

static int fake_limit_set(int limit, size_t value) {
    FAKE_CALL();
    if (limit == CU_LIMIT_PRINTED_BYTES) fake.printed_bytes = value;
    return CU_OK;
}

static int fake_synchronize(void) {
    return fake_call();
}

static int fake_stream_query(CuStream s) {
    static int waited;
    (void)s;
    fake_copy_now();
    FAKE_CALL();
    if (fake_waits() && ++waited > 5000) abort(); /* nobody opens the gate */
    if (fake.hangs || fake_waits() || gi_seconds() < fake.busy_until) return CU_NOT_READY;
    waited = 0;
    fake.gate = NULL;
    fake.fault = fake.coming;
    return fake.fault;
}

static int fake_event_record(CuEvent e, CuStream s);
static int fake_redo_event(const FakeNode *n) {
    return fake_event_record(n->event, n->stream);
}

static int fake_event_record(CuEvent e, CuStream s) {
    FAKE_CALL();
    e->at_ns = *fake_time(s);
    if (fake.is_redone) return CU_OK;
    e->stream = s, e->capture = s->capture, e->n_launches = s->n_launches;
    if (s->capture)
        return fake_keep((FakeNode){.redo = fake_redo_event, .event = e, .stream = s});
    return CU_OK;
}

static int fake_stream_wait(CuStream s, CuEvent e, unsigned flags);
static int fake_redo_wait(const FakeNode *n) {
    return fake_stream_wait(n->stream, n->event, 0);
}

static int fake_stream_wait(CuStream s, CuEvent e, unsigned flags) {
    (void)flags;
    FAKE_CALL();
    if (e->at_ns > *fake_time(s)) fake_pass_on(s, e->at_ns - *fake_time(s));
    if (fake.is_redone) return CU_OK;
    fake_turn((char[]){(char)('0' + s->number), '<', '\0'}, e->stream->number);
    if (fake.capture != e->capture) return CU_INVALID_VALUE;
    s->capture = e->capture;
    if (s->number == 0) e->stream->n_joined = e->n_launches;
    if (s->capture) return fake_keep((FakeNode){.redo = fake_redo_wait, .event = e, .stream = s});
    return CU_OK;
}

static int fake_event_record_in(CuEvent e, CuStream s, unsigned flags) {
    FAKE_CALL();
    if (!fake.capture) {
        e->at_ns = *fake_time(s);
        return CU_OK;
    }
    if (flags != CU_EVENT_IN_GRAPH) return CU_INVALID_VALUE;
    return fake_keep((FakeNode){.redo = fake_redo_event, .event = e, .stream = s});
}

static int fake_capture_begin(CuStream s, int mode) {
    (void)mode;
    FAKE_CALL();
    if (fake.capture) return CU_INVALID_VALUE;
    fake.capture = s->capture = gi_alloc(sizeof *fake.capture);
    fake.live++;
    return CU_OK;
}

static int fake_capture_end(CuStream s, CuGraph *g) {
    bool is_joined = s->number == 0;
    *g = fake.capture;
    fake.capture = NULL;
    for (int i = 0; i < fake.n_streams; i++) {
        CuStream side = fake.streams[i];
        if (i > 0 && side->capture && side->n_joined < side->n_launches) is_joined = false;
        side->capture = NULL;
    }
    return is_joined ? fake_call() : CU_INVALID_VALUE;
}

static int fake_graph_free(CuGraph g) {
    fake.live--;
    free(g->nodes), free(g);
    return CU_OK;
}

static int fake_graph_make(CuGraphRun *r, CuGraph g, uint64_t flags) {
    (void)flags;
    FAKE_CALL();
    *r = gi_alloc(sizeof **r);
    **r = (struct CuGraphRunObject){g->nodes, g->n};
    g->nodes = NULL, g->n = 0;
    fake.live++;
    return CU_OK;
}

static int fake_graph_run_free(CuGraphRun r) {
    fake.live--;
    free(r->nodes), free(r);
    return CU_OK;
}

static int fake_graph_launch(CuGraphRun r, CuStream s) {
    (void)s;
    FAKE_CALL();
    int code = CU_OK;
    fake_mark('[');
    fake.is_redone = true;
    for (int i = 0; i < r->n && code == CU_OK; i++) code = r->nodes[i].redo(&r->nodes[i]);
    fake.is_redone = false;
    fake_mark(']');
    return code;
}

static int fake_event_wait(CuEvent e) {
    (void)e;
    fake_copy_now();
    return fake_call();
}

static int fake_event_elapsed(float *ms, CuEvent start, CuEvent end) {
    FAKE_CALL();
    *ms = (float)((end->at_ns - start->at_ns) * 1e-6);
    return CU_OK;
}

static int fake_memory_new(CuPointer *p, size_t bytes) {
    void *made;
    int code = fake_make(&made, bytes);
    if (code == CU_OK) *p = (CuPointer)(uintptr_t)made;
    return code;
}

static int fake_memory_free(CuPointer p) {
    fake_copy_now();
    return fake_release(fake_at(p));
}

static int fake_pinned_new(void **p, size_t bytes) {
    return fake_make(p, bytes);
}

static int fake_pinned_free(void *p) {
    return fake_release(p);
}

static int fake_upload(CuPointer to, const void *from, size_t bytes, CuStream s) {
    (void)s;
    FAKE_CALL();
    fake_copy_later(fake_at(to), from, bytes);
    return CU_OK;
}

static int fake_download(void *to, CuPointer from, size_t bytes, CuStream s) {
    (void)s;
    FAKE_CALL();
    fake_copy_later(to, fake_at(from), bytes);
    return CU_OK;
}

static int fake_copy(CuPointer to, CuPointer from, size_t bytes, CuStream s);
static int fake_redo_copy(const FakeNode *n) {
    return fake_copy(n->to, n->from, n->bytes, NULL);
}

static int fake_copy(CuPointer to, CuPointer from, size_t bytes, CuStream s) {
    (void)s;
    FAKE_CALL();
    if (fake.capture)
        return fake_keep(
            (FakeNode){.redo = fake_redo_copy, .to = to, .from = from, .bytes = bytes});
    fake_mark('+');
    fake_copy_now();
    memcpy(fake_at(to), fake_at(from), bytes);
    return CU_OK;
}

static int fake_redo_fill(const FakeNode *n);
static int fake_keep_fill(CuPointer to, size_t pitch, unsigned value, unsigned element, size_t n,
                          size_t rows) {
    return fake_keep((FakeNode){.redo = fake_redo_fill, .to = to, .pitch = pitch, .value = value,
                                .element = element, .bytes = n, .rows = rows});
}

static int fake_fill8(CuPointer p, unsigned char value, size_t n, CuStream s) {
    (void)s;
    FAKE_CALL();
    if (fake.capture) return fake_keep_fill(p, n, value, 1, n, 1);
    fake_copy_now();
    if (n) memset(fake_at(p), value, n);
    return CU_OK;
}

static int fake_fill32(CuPointer p, unsigned value, size_t n, CuStream s) {
    (void)s;
    FAKE_CALL();
    if (fake.capture) return fake_keep_fill(p, 4 * n, value, 4, n, 1);
    fake_mark('=');
    fake_copy_now();
    fake_pass(500);
    for (size_t i = 0; i < n; i++) ((unsigned *)fake_at(p))[i] = value;
    return CU_OK;
}

static char *fake_row(const CuCopySide *s, size_t y, size_t z) {
    if (s->memory == CU_MEMORY_ARRAY)
        return s->array->data + ((s->z + z) * s->array->rows + s->y + y) * s->array->row +
               s->x_bytes;
    char *first = s->memory == CU_MEMORY_HOST ? (char *)(uintptr_t)s->host : fake_at(s->device);
    return first + (z * s->height + y) * s->pitch;
}

static int fake_copy_3d(const CuCopy3D *c) {
    FAKE_CALL();
    fake_copy_now();
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memcpy(fake_row(&c->to, y, z), fake_row(&c->from, y, z), c->width_bytes);
    return CU_OK;
}

static int fake_redo_copy_3d(const FakeNode *n) {
    fake_mark('+');
    return fake_copy_3d(&n->copy);
}

static int fake_copy_3d_queued(const CuCopy3D *c, CuStream s) {
    (void)s;
    if (fake.capture) return fake_keep((FakeNode){.redo = fake_redo_copy_3d, .copy = *c});
    fake_mark('+');
    return fake_copy_3d(c);
}

#define FAKE_FILLS(bits, type)                                                                     \
    static int fake_fill_rows##bits(CuPointer p, size_t pitch, type value, size_t width,           \
                                    size_t height, CuStream s) {                                   \
        (void)s;                                                                                   \
        FAKE_CALL();                                                                               \
        if (fake.capture) return fake_keep_fill(p, pitch, value, bits / 8, width, height);         \
        fake_mark('=');                                                                            \
        fake_copy_now();                                                                           \
        for (size_t y = 0; y < height; y++)                                                        \
            for (size_t x = 0; x < width; x++) ((type *)fake_at(p + y * pitch))[x] = value;        \
        return CU_OK;                                                                              \
    }
FAKE_FILLS(8, unsigned char)
FAKE_FILLS(16, unsigned short)
FAKE_FILLS(32, unsigned)

static int fake_redo_fill(const FakeNode *n) {
    if (n->element == 1)
        return fake_fill_rows8(n->to, n->pitch, (unsigned char)n->value, n->bytes, n->rows, NULL);
    if (n->element == 2)
        return fake_fill_rows16(n->to, n->pitch, (unsigned short)n->value, n->bytes, n->rows,
                                NULL);
    return fake_fill_rows32(n->to, n->pitch, n->value, n->bytes, n->rows, NULL);
}

/* --- memory where it shall be: the host's own pages, at that address --- */

static int fake_granularity(size_t *bytes, const CuPhysical *p, int which) {
    (void)p, (void)which;
    *bytes = 2 << 20;
    return CU_OK;
}

static int fake_reserve(CuPointer *out, size_t bytes, size_t alignment, CuPointer at,
                        uint64_t flags) {
    (void)alignment, (void)flags;
    FAKE_CALL();
    if (at >> 47) return CU_INVALID_VALUE;
    if (bytes > FAKE_MOST_BYTES) return CU_OUT_OF_MEMORY;
    void *p = mmap(fake.other_places ? NULL : fake_at(at), bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                       (fake.other_places ? 0 : MAP_FIXED_NOREPLACE),
                   -1, 0);
    if (p == MAP_FAILED) return CU_OUT_OF_MEMORY;
    *out = (CuPointer)(uintptr_t)p;
    fake.live++;
    return CU_OK;
}

static int fake_unreserve(CuPointer p, size_t bytes) {
    fake.live--;
    return munmap(fake_at(p), bytes) == 0 ? CU_OK : CU_INVALID_VALUE;
}

static int fake_physical_new(uint64_t *out, size_t bytes, const CuPhysical *p, uint64_t flags) {
    (void)bytes, (void)p, (void)flags;
    FAKE_CALL();
    *out = 9;
    fake.live++;
    return CU_OK;
}

static int fake_physical_free(uint64_t p) {
    (void)p;
    fake.live--;
    return CU_OK;
}

static int fake_map(CuPointer p, size_t bytes, size_t offset, uint64_t physical, uint64_t flags) {
    (void)p, (void)bytes, (void)offset, (void)physical, (void)flags;
    FAKE_CALL();
    fake.live++;
    return CU_OK;
}

static int fake_unmap(CuPointer p, size_t bytes) {
    (void)p, (void)bytes;
    fake.live--;
    return CU_OK;
}

static int fake_access(CuPointer p, size_t bytes, const CuAccess *a, size_t n) {
    (void)p, (void)bytes, (void)n;
    FAKE_CALL();
    return a->flags == CU_ACCESS_READ_WRITE ? CU_OK : CU_INVALID_VALUE;
}

static int fake_texture_new(CuTexture *t, const CuResource *r, const CuTextureShape *shape,
                            const void *view) {
    (void)r, (void)shape, (void)view;
    FAKE_CALL();
    *t = 7;
    fake.live++;
    return CU_OK;
}

static int fake_texture_free(CuTexture t) {
    (void)t;
    fake.live--;
    return CU_OK;
}

static int fake_surface_new(CuTexture *t, const CuResource *r) {
    FAKE_CALL();
    if (r->type != CU_RESOURCE_ARRAY) return CU_INVALID_VALUE;
    *t = 8;
    fake.live++;
    return CU_OK;
}

static int fake_surface_free(CuTexture t) {
    (void)t;
    fake.live--;
    return CU_OK;
}

/* --- modules and launches --- */

static int fake_module_load(CuModule *m, const void *image, unsigned n, int *options,
                            void **values) {
    void *made;
    (void)options;
    if (fake.refuses && n > 0) {
        strcpy(values[0], fake.refuses);
        return CU_INVALID_PTX;
    }
    int code = fake_make(&made, sizeof(struct CuModuleObject));
    if (code != CU_OK) return code;
    for (int i = 0; i < fake.n_symbols; i++)
        strcpy(fake.symbols[i].bytes, fake.symbols[i].initial);
    *m = made;
    memset(*m, 0, sizeof **m);
    for (int i = 0; fake.separate && n > 0 && i < fake.n_symbols; i++) {
        (*m)->own[i] = fake.symbols[i];
        strcpy((*m)->own[i].bytes, fake.symbols[i].initial);
    }
    if (n > 0) snprintf((*m)->image, sizeof (*m)->image, "%s", (const char *)image);
    fake.loads += n > 0; /* not of gilua's own */
    return CU_OK;
}

static int fake_module_free(CuModule m) {
    return fake_release(m);
}

static CuFunction fake_find(struct CuFunctionObject *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

/* A module's own: none whose name its code does not have. */
static int fake_own_function(CuFunction *f, CuModule m, const char *name) {
    CuFunction shared = fake_find(fake.kernels, fake.n_kernels, name);
    if (shared == NULL || strstr(m->image, name) == NULL) return CU_NOT_FOUND;
    *f = &m->kernels[shared - fake.kernels];
    **f = *shared;
    (*f)->module = m;
    return CU_OK;
}

static int fake_module_function(CuFunction *f, CuModule m, const char *name) {
    FAKE_CALL();
    if (fake.separate && m->image[0]) return fake_own_function(f, m, name);
    *f = fake_find(fake_helpers, sizeof fake_helpers / sizeof *fake_helpers, name);
    if (*f == NULL) *f = fake_find(fake.kernels, fake.n_kernels, name);
    return *f ? CU_OK : CU_NOT_FOUND;
}

static int fake_module_symbol(CuPointer *p, size_t *bytes, CuModule m, const char *name) {
    FAKE_CALL();
    for (int i = 0; i < fake.n_symbols; i++) {
        FakeSymbol *v = fake.separate ? &m->own[i] : &fake.symbols[i];
        if (strcmp(v->name, name) != 0) continue;
        *p = (CuPointer)(uintptr_t)v->bytes;
        *bytes = v->n;
        return CU_OK;
    }
    return CU_NOT_FOUND;
}

static int fake_module_count(unsigned *n, CuModule m) {
    (void)m;
    FAKE_CALL();
    *n = fake.n_kernels;
    return CU_OK;
}

static int fake_module_functions(CuFunction *f, unsigned n, CuModule m) {
    (void)m;
    FAKE_CALL();
    for (unsigned i = 0; i < n; i++) f[i] = &fake.kernels[i];
    return CU_OK;
}

static int fake_function_name(const char **name, CuFunction f) {
    FAKE_CALL();
    *name = f->name;
    return CU_OK;
}

static int fake_function_param(CuFunction f, size_t i, size_t *offset, size_t *size) {
    if (i >= 4 || f->sizes[i] == 0) return CU_INVALID_VALUE;
    *offset = 0;
    for (size_t k = 0; k < i; k++) *offset += f->sizes[k];
    *size = f->sizes[i];
    return CU_OK;
}

static int fake_function_attribute(int *value, int which, CuFunction f) {
    (void)f;
    *value = which == CU_FUNCTION_REGISTERS ? 32 : which == CU_FUNCTION_MAX_THREADS ? 1024 : 0;
    return CU_OK;
}

static int fake_function_set(CuFunction f, int which, int value) {
    (void)f, (void)which, (void)value;
    return fake_call();
}

static int fake_function_cache(CuFunction f, int config) {
    (void)f, (void)config;
    return fake_call();
}

static int fake_occupancy(int *blocks, CuFunction f, int threads, size_t shared_bytes) {
    (void)f, (void)threads, (void)shared_bytes;
    *blocks = 2;
    return CU_OK;
}

/* A launch on a stream, in words; what other streams have, a graph must have, too. */
static int fake_launch_on(CuStream s, char kernel) {
    if (fake.is_redone) return CU_OK;
    if (fake.capture != s->capture) return CU_INVALID_VALUE;
    s->n_launches++;
    if (fake.n_streams > 1) fake_turn((char[]){kernel, '\0'}, s->number);
    return CU_OK;
}

/* A launch that comes later; params: its parameters, packed. */
static int fake_keep_launch(FakeNode node, const void *params, size_t bytes) {
    if (bytes > sizeof node.params) return CU_INVALID_VALUE;
    if (params) memcpy(node.params, params, bytes);
    return fake_keep(node);
}

static int fake_launch(CuFunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared_bytes, CuStream s, void **params,
                       void **extra);
static int fake_redo_launch(const FakeNode *n) {
    const unsigned *u = n->shape;
    void *extra[] = {CU_EXTRA_BUFFER, (void *)(uintptr_t)n->params};
    return fake_launch(n->function, u[0], u[1], u[2], u[3], u[4], u[5], u[6], n->stream, NULL,
                       extra);
}

static int fake_launch(CuFunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared_bytes, CuStream s, void **params,
                       void **extra) {
    FAKE_CALL();
    if (!f->help && fake_launch_on(s, f->name[0]) != CU_OK) return CU_INVALID_VALUE;
    if (fake.capture && !f->help)
        return fake_keep_launch((FakeNode){.redo = fake_redo_launch, .function = f, .stream = s,
                                           .shape = {gx, gy, gz, bx, by, bz, shared_bytes}},
                                extra ? extra[1] : NULL, extra ? *(size_t *)extra[3] : 0);
    if (gx * gy * gz == 0 || bx * by * bz > 1024) return CU_INVALID_VALUE;
    fake_mark(f->help ? f->mark : f->name[0]);
    fake_copy_now();
    if (f->help) {
        f->help(params, gx);
        fake_pass(1000);
        return CU_OK;
    }
    fake.launches++;
    fake.running = f->module;
    if (fake.gate && !fake_waits()) fake.passed_early++;
    fake_pass_on(s, fake.takes(f->name));
    int fault = f->run(extra ? extra[1] : NULL);
    if (fake.coming == CU_OK) fake.coming = fault;
    return CU_OK;
}

static int fake_launch_as(const CuLaunchHow *how, CuFunction f, void **params, void **extra) {
    const unsigned *g = how->grid, *b = how->block;
    fake_mark('K');
    return fake_launch(f, g[0], g[1], g[2], b[0], b[1], b[2], how->shared, how->stream, params,
                       extra);
}

static int fake_launch_cooperative(CuFunction f, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
                                   CuStream s, void **params) {
    char packed[64] = {0};
    void *extra[] = {CU_EXTRA_BUFFER, packed};
    for (size_t i = 0, at = 0; i < 4 && f->sizes[i]; at += f->sizes[i++])
        memcpy(packed + at, params[i], f->sizes[i]);
    fake_mark('C');
    return fake_launch(f, gx, gy, gz, bx, by, bz, shared_bytes, s, NULL, extra);
}

/* --- in place of driver.c --- */

const Driver *driver_load(gi_err *err) {
#define FAKE_FIELD(field, symbol, arguments) .field = fake_##field,
#define fake_error_text fake_error_name
    static const Driver driver = {.version = 13000, DRIVER_FUNCTIONS(FAKE_FIELD)};
    (void)err;
    return &driver;
}

const char *driver_words(const Driver *cu, int code, char *text, size_t size) {
    (void)cu;
    snprintf(text, size, "error %d", code);
    return text;
}

#endif
