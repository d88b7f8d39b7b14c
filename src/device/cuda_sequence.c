/* cuda_sequence.c - see sequence.h.
**
** Memory lies where it shall lie: pages of the GPU mapped at a reserved address. Where the driver
** gives no such address (it is another's, or none that a process here can have) it is a guarded
** block somewhere else. After an error of the driver nothing more is queued; what was is waited
** for.
*/
#include "device/sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda.h"
#include "device/cuda_streams.h"

enum { MOST_GATED = 400 }; /* operations that are queued in less than the gate waits */
enum { MOST_MARKS = 4096 };

typedef struct Mapped { /* memory at its address */
    CuPointer address;
    size_t bytes;
    uint64_t physical;
    bool is_mapped;
} Mapped;

typedef struct Mark { /* the launch between two events */
    CuEvent start, end;
    int row;
} Mark;

struct Sequence {
    CudaDevice *d;
    Mapped *mapped;
    int n_mapped, cap_mapped;
    CudaBlock **blocks;
    int n_blocks, cap_blocks;
    CuArray *arrays;
    int n_arrays, cap_arrays;
    CuTexture *textures;
    int n_textures, cap_textures;
    CuTexture *surfaces;
    int n_surfaces, cap_surfaces;
    CudaStreams streams;
    /* of the repetition at hand */
    int code;                /* the first that was not CU_OK */
    char kernel[200];        /* that the driver refused to launch; "" */
    DeviceLaunch failed;     /* … and how */
    Measurement of_failed;   /* its registers and shared memory */
    gi_err misuse;
    bool is_misused;
    const SequenceWork *work;
    CuGraphRun graph;        /* of sequence_time: what is timed; NULL: not made */
    bool is_dry;             /* what is queued is in the graph already */
    double *kernel_ns;       /* NULL: launches are not timed one by one */
    int n_rows;
    Mark *marks;             /* made when they are first needed */
    int n_marks, made_marks, cap_marks;
};

/* --- memory --- */

static CuPhysical pages_of(const CudaDevice *d) {
    return (CuPhysical){.type = CU_PINNED, .location = {CU_LOCATION_DEVICE, d->device}};
}

static size_t page_bytes(CudaDevice *d) {
    CuPhysical pages = pages_of(d);
    size_t bytes = 0;
    if (d->cu->granularity(&bytes, &pages, 0) != CU_OK || bytes == 0) return 2 << 20;
    return bytes;
}

static void drop_mapped(CudaDevice *d, const Mapped *m) {
    if (m->is_mapped) d->cu->unmap(m->address, m->bytes);
    if (m->physical) d->cu->physical_free(m->physical);
    d->cu->unreserve(m->address, m->bytes);
}

/* False where the driver has not that address. */
static bool reserve(CudaDevice *d, Mapped *m) {
    CuPointer at = 0;
    if (d->cu->reserve(&at, m->bytes, 0, m->address, 0) != CU_OK) return false;
    if (at == m->address) return true;
    d->cu->unreserve(at, m->bytes);
    return false;
}

static int fill_reserved(CudaDevice *d, Mapped *m) {
    CuPhysical pages = pages_of(d);
    CuAccess access = {pages.location, CU_ACCESS_READ_WRITE};
    int code = d->cu->physical_new(&m->physical, m->bytes, &pages, 0);
    if (code == CU_OK) code = d->cu->map(m->address, m->bytes, 0, m->physical, 0);
    m->is_mapped = code == CU_OK;
    return code == CU_OK ? d->cu->access(m->address, m->bytes, &access, 1) : code;
}

/* All of [from, to) at its address; *there: it is. */
static bool map_at(Sequence *s, uint64_t from, uint64_t to, bool *there, gi_err *err) {
    CudaDevice *d = s->d;
    Mapped m = {.address = from, .bytes = (size_t)(to - from)};
    *there = reserve(d, &m);
    if (!*there) return true;
    int code = fill_reserved(d, &m);
    gi_grow(s->mapped, s->n_mapped, s->cap_mapped);
    s->mapped[s->n_mapped++] = m;
    return cuda_ok(d, code, "map memory at its recorded address", err);
}

static bool make_block(Sequence *s, SequenceMemory *m, gi_err *err) {
    CudaBlock *b = cuda_block_new(s->d, (size_t)(m->bytes ? m->bytes : 1), NULL, false,
                                  "recorded memory", err);
    if (b == NULL) return false;
    gi_grow(s->blocks, s->n_blocks, s->cap_blocks);
    s->blocks[s->n_blocks++] = b;
    m->at = b->address;
    return true;
}

/* Those of list[0 … n-1] that share pages with the first; where they end. */
static int together(const SequenceMemory *list, int n, uint64_t page, uint64_t *end) {
    int i = 0;
    *end = 0;
    for (; i < n && (i == 0 || list[i].address < *end); i++) {
        uint64_t last = list[i].address + (list[i].bytes ? list[i].bytes : 1);
        last = (last + page - 1) / page * page;
        if (last > *end) *end = last;
    }
    return i;
}

bool sequence_memory(Sequence *s, SequenceMemory *list, int n, gi_err *err) {
    uint64_t end, page = page_bytes(s->d);
    if (!cuda_enter(s->d, err)) return false;
    for (int i = 0, k; i < n; i += k) {
        bool there;
        k = together(list + i, n - i, page, &end);
        if (!map_at(s, list[i].address / page * page, end, &there, err)) return false;
        for (int j = i; j < i + k; j++) {
            list[j].at = list[j].address;
            if (!there && !make_block(s, &list[j], err)) return false;
        }
    }
    return true;
}

/* --- arrays, textures --- */

static int format_of(EmuTexFormat f) {
    static const int formats[] = {/* CUarray_format */
                                  [EMU_TEX_U8] = 0x01,  [EMU_TEX_S8] = 0x08,
                                  [EMU_TEX_U16] = 0x02, [EMU_TEX_S16] = 0x09,
                                  [EMU_TEX_U32] = 0x03, [EMU_TEX_S32] = 0x0a,
                                  [EMU_TEX_F16] = 0x10, [EMU_TEX_F32] = 0x20};
    return formats[f];
}

static uint64_t texel_bytes(const EmuTexture *t) {
    static const int bytes[] = {1, 1, 2, 2, 4, 4, 2, 4};
    return (uint64_t)t->channels * (uint64_t)bytes[t->format];
}

int sequence_array(Sequence *s, const SequenceArray *a, gi_err *err) {
    CuArrayShape shape = {.width = (size_t)a->size[0],
                          .height = (size_t)a->size[1],
                          .depth = (size_t)a->size[2],
                          .format = format_of(a->format),
                          .channels = (unsigned)a->channels,
                          .flags = a->flags};
    CuArray made;
    if (!cuda_enter(s->d, err) ||
        !cuda_ok(s->d, s->d->cu->array_new(&made, &shape), "make a recorded array", err))
        return -1;
    gi_grow(s->arrays, s->n_arrays, s->cap_arrays);
    s->arrays[s->n_arrays] = made;
    return s->n_arrays++;
}

static CuResource resource_of(const Sequence *s, const EmuTexture *t, int array,
                              uint64_t address) {
    CuResource r = {0};
    if (array >= 0) {
        r.type = CU_RESOURCE_ARRAY;
        r.u.array = s->arrays[array];
    } else if (t->kind == EMU_TEX_LINEAR) {
        r.type = CU_RESOURCE_LINEAR;
        r.u.linear.address = address;
        r.u.linear.format = format_of(t->format);
        r.u.linear.channels = (unsigned)t->channels;
        r.u.linear.bytes = (size_t)((uint64_t)t->size[0] * texel_bytes(t));
    } else {
        r.type = CU_RESOURCE_PITCHED;
        r.u.pitched.address = address;
        r.u.pitched.format = format_of(t->format);
        r.u.pitched.channels = (unsigned)t->channels;
        r.u.pitched.width = (size_t)t->size[0];
        r.u.pitched.height = (size_t)t->size[1];
        r.u.pitched.pitch_bytes = t->pitch_bytes ? (size_t)t->pitch_bytes
                                                 : (size_t)t->size[0] * (size_t)texel_bytes(t);
    }
    return r;
}

static CuTextureShape reading_of(const EmuTexture *t) {
    bool floats = t->normalized_read || t->format == EMU_TEX_F32 || t->format == EMU_TEX_F16;
    CuTextureShape shape = {.filter = t->linear_filter};
    for (int i = 0; i < 3; i++) { /* wrapping and mirroring need normalised coordinates */
        bool periodic = t->address[i] == EMU_TEX_WRAP || t->address[i] == EMU_TEX_MIRROR;
        shape.address[i] = periodic && !t->normalized_coords ? EMU_TEX_CLAMP : (int)t->address[i];
    }
    memcpy(shape.border, t->border, sizeof shape.border);
    if (t->normalized_coords) shape.flags |= CU_NORMALIZED_COORDS;
    if (!floats) shape.flags |= CU_READ_AS_INTEGER;
    return shape;
}

uint64_t sequence_texture(Sequence *s, const EmuTexture *t, int array, uint64_t address,
                          gi_err *err) {
    CuTexture made = 0;
    CuTextureShape shape = reading_of(t);
    CuResource r = resource_of(s, t, array, address);
    if (!cuda_enter(s->d, err) || !cuda_ok(s->d, s->d->cu->texture_new(&made, &r, &shape, NULL),
                                           "make a recorded texture", err))
        return 0;
    gi_grow(s->textures, s->n_textures, s->cap_textures);
    s->textures[s->n_textures++] = made;
    return made;
}

uint64_t sequence_surface(Sequence *s, int array, gi_err *err) {
    CuTexture made = 0;
    CuResource r = {.type = CU_RESOURCE_ARRAY, .u.array = s->arrays[array]};
    if (!cuda_enter(s->d, err) ||
        !cuda_ok(s->d, s->d->cu->surface_new(&made, &r), "make a recorded surface", err))
        return 0;
    gi_grow(s->surfaces, s->n_surfaces, s->cap_surfaces);
    s->surfaces[s->n_surfaces++] = made;
    return made;
}

bool sequence_variable(DeviceModule *base, const char *name, uint64_t *address, size_t *bytes) {
    CudaModule *m = (CudaModule *)base;
    CudaDevice *d = cuda_of(base->device);
    CuPointer at;
    if (!m->module || !cuda_enter(d, NULL) ||
        d->cu->module_symbol(&at, bytes, m->module, name) != CU_OK)
        return false;
    *address = at;
    return true;
}

/* --- what it does --- */

/* What is queued next on the device's own stream waits for all launches. */
static void join(Sequence *s) {
    int code = cuda_streams_join(&s->streams, s->d); /* in any case: nothing is left on its own */
    if (s->code == CU_OK) s->code = code;
}

static void side_of(const Sequence *s, const SequencePlace *p, CuCopySide *out) {
    if (p->array >= 0) {
        *out = (CuCopySide){.x_bytes = (size_t)p->x, .y = (size_t)p->y, .z = (size_t)p->z,
                            .memory = CU_MEMORY_ARRAY, .array = s->arrays[p->array]};
        return;
    }
    *out = (CuCopySide){.memory = CU_MEMORY_DEVICE, .device = p->address,
                        .pitch = (size_t)p->row, .height = (size_t)p->rows};
}

/* Do its rows lie behind each other, with nothing between? */
static bool is_solid(const SequencePlace *p, const SequenceExtent *x) {
    return p->array < 0 && (x->height * x->depth == 1 || p->row == x->width) &&
           (x->depth == 1 || p->rows == x->height);
}

void sequence_copy(Sequence *s, const SequencePlace *to, const SequencePlace *from,
                   const SequenceExtent *x) {
    const Driver *cu = s->d->cu;
    if (s->code != CU_OK || s->is_dry) return;
    join(s);
    if (s->code != CU_OK) return;
    if (is_solid(to, x) && is_solid(from, x)) {
        s->code = cu->copy(to->address, from->address,
                           (size_t)(x->width * x->height * x->depth), s->d->stream);
        return;
    }
    CuCopy3D c = {.width_bytes = (size_t)x->width, .height = (size_t)x->height,
                  .depth = (size_t)x->depth};
    side_of(s, from, &c.from);
    side_of(s, to, &c.to);
    s->code = cu->copy_3d_queued(&c, s->d->stream);
}

static int fill_slice(CudaDevice *d, CuPointer at, uint64_t row, unsigned value, unsigned element,
                      uint64_t width, uint64_t height) {
    size_t n = (size_t)(width / element), rows = (size_t)height, pitch = (size_t)row;
    if (n == 0) return CU_OK;
    if (rows == 1 && element == 1) return d->cu->fill8(at, (unsigned char)value, n, d->stream);
    if (rows == 1 && element == 4) return d->cu->fill32(at, value, n, d->stream);
    if (element == 1)
        return d->cu->fill_rows8(at, pitch, (unsigned char)value, n, rows, d->stream);
    if (element == 2)
        return d->cu->fill_rows16(at, pitch, (unsigned short)value, n, rows, d->stream);
    return d->cu->fill_rows32(at, pitch, value, n, rows, d->stream);
}

void sequence_fill(Sequence *s, const SequencePlace *to, unsigned value, unsigned element,
                   const SequenceExtent *x) {
    if (s->code != CU_OK || s->is_dry) return;
    join(s);
    for (uint64_t z = 0; z < x->depth && s->code == CU_OK; z++)
        s->code = fill_slice(s->d, to->address + z * to->rows * to->row, to->row, value, element,
                             x->width, x->height);
}

void sequence_reset(Sequence *s, DeviceModule *m) {
    if (s->code == CU_OK) s->code = cuda_queue_reset((CudaModule *)m);
}

static int start_kernel(CudaDevice *d, CudaKernel *k, const DeviceLaunch *l, size_t bytes,
                        bool cooperative, CuStream stream) {
    int code = cuda_configure(d, k, l);
    return code == CU_OK ? cuda_start(d, k, l, bytes, cooperative, stream) : code;
}

/* Times of the launches between marks, which are done. */
static int read_marks(Sequence *s) {
    int code = CU_OK;
    for (int i = 0; i < s->n_marks && code == CU_OK; i++) {
        float ms = 0;
        code = s->d->cu->event_elapsed(&ms, s->marks[i].start, s->marks[i].end);
        if (s->marks[i].row < s->n_rows) s->kernel_ns[s->marks[i].row] += (double)ms * 1e6;
    }
    s->n_marks = 0;
    return code;
}

static int make_mark(Sequence *s) {
    Mark m = {0};
    int code = s->d->cu->event_new(&m.start, 0);
    if (code == CU_OK) code = s->d->cu->event_new(&m.end, 0);
    gi_grow(s->marks, s->made_marks, s->cap_marks);
    s->marks[s->made_marks++] = m;
    return code;
}

/* The mark of the next launch; NULL where none is wanted, or something went wrong. */
static Mark *next_mark(Sequence *s, int row) {
    if (s->kernel_ns == NULL) return NULL;
    if (s->n_marks == MOST_MARKS)
        s->code = cuda_wait(s->d, s->work->timeout_s, s->work->interrupt);
    if (s->n_marks == MOST_MARKS && s->code == CU_OK) s->code = read_marks(s);
    if (s->n_marks == s->made_marks && s->code == CU_OK) s->code = make_mark(s);
    if (s->code != CU_OK) return NULL;
    s->marks[s->n_marks].row = row;
    return &s->marks[s->n_marks++];
}

static void keep_failed(Sequence *s, const CudaKernel *k, const DeviceLaunch *l) {
    snprintf(s->kernel, sizeof s->kernel, "%s", l->kernel);
    s->failed = *l;
    s->failed.kernel = s->kernel;
    s->of_failed = (Measurement){.registers = k->info.registers,
                                 .shared_bytes = k->info.shared_bytes + l->shared_bytes};
}

void sequence_launch(Sequence *s, DeviceModule *base, const DeviceLaunch *l, size_t bytes,
                     bool cooperative, int row, const SequenceTurn *turn) {
    CudaDevice *d = s->d;
    CuStream stream = d->stream;
    if (s->code != CU_OK || s->is_misused || s->is_dry) return;
    CudaKernel *k = cuda_kernel((CudaModule *)base, l->kernel, &s->misuse);
    if (k == NULL) {
        s->is_misused = true;
        return;
    }
    Mark *mark = next_mark(s, row);
    if (turn && s->code == CU_OK) s->code = cuda_streams_take(&s->streams, d, turn, &stream);
    if (mark && s->code == CU_OK) s->code = d->cu->event_record(mark->start, stream);
    if (s->code != CU_OK) return;
    s->code = start_kernel(d, k, l, bytes, cooperative, stream);
    if (s->code != CU_OK) keep_failed(s, k, l);
    else if (mark) s->code = d->cu->event_record(mark->end, stream);
    if (turn && s->code == CU_OK) s->code = cuda_streams_queued(&s->streams, d, turn, stream);
}

/* --- repetitions --- */

static bool queue_part(Sequence *s, SequencePart part, gi_err *err) {
    if (s->code != CU_OK) return true;
    bool ok = s->work->queue(s->work->user, part, err);
    if (!ok || !s->is_misused) return ok;
    return gi_fail(err, s->misuse.code, "%s", s->misuse.message);
}

static void queue_event(Sequence *s, CuEvent e) {
    if (s->code == CU_OK) s->code = s->d->cu->event_record(e, s->d->stream);
}

static void queue_stamp(Sequence *s, int which) {
    if (s->code == CU_OK) s->code = cuda_queue_stamp(s->d, which);
}

/* --- what is timed as a graph --- */

static void drop_graph(Sequence *s) {
    if (s->graph && !s->d->lost) s->d->cu->graph_run_free(s->graph);
    s->graph = NULL;
}

static void capture_event(Sequence *s, CuEvent e) {
    if (s->code == CU_OK) s->code = s->d->cu->event_record_in(e, s->d->stream, CU_EVENT_IN_GRAPH);
}

/* Which launch the driver does not take is not known of a graph. */
static void keep_failed_graph(Sequence *s) {
    snprintf(s->kernel, sizeof s->kernel, "one of the kernels launched as a graph");
    s->failed = (DeviceLaunch){.kernel = s->kernel};
    s->of_failed = (Measurement){0};
}

/* The two events are in it, so that the time of its start is not. */
static bool make_graph(Sequence *s, gi_err *err) {
    CudaDevice *d = s->d;
    CuGraph graph = NULL;
    s->code = d->cu->capture_begin(d->stream, CU_CAPTURE_RELAXED);
    if (s->code != CU_OK) return true;
    capture_event(s, d->start[0]);
    bool ok = queue_part(s, SEQUENCE_TIMED, err);
    join(s);
    capture_event(s, d->end[0]);
    int code = d->cu->capture_end(d->stream, &graph);
    if (ok && s->code == CU_OK) s->code = code;
    if (ok && s->code == CU_OK) s->code = d->cu->graph_make(&s->graph, graph, 0);
    if (graph) d->cu->graph_free(graph);
    return ok;
}

static bool queue_graph(Sequence *s, gi_err *err) {
    bool ok, is_made = s->graph != NULL;
    if (s->code != CU_OK) return true;
    s->is_dry = is_made; /* whoever queues keeps his books */
    ok = is_made ? queue_part(s, SEQUENCE_TIMED, err) : make_graph(s, err);
    s->is_dry = false;
    if (ok && s->code == CU_OK) s->code = s->d->cu->graph_launch(s->graph, s->d->stream);
    if (s->code != CU_OK && s->kernel[0] == '\0') keep_failed_graph(s);
    return ok;
}

static bool queue_timed(Sequence *s, gi_err *err) {
    if (s->work->as_graph && s->kernel_ns == NULL) return queue_graph(s, err);
    queue_event(s, s->d->start[0]);
    bool ok = queue_part(s, SEQUENCE_TIMED, err);
    join(s);
    queue_event(s, s->d->end[0]);
    return ok;
}

static bool queue_all(Sequence *s, gi_err *err) {
    CudaDevice *d = s->d;
    bool ok = queue_part(s, SEQUENCE_BEFORE, err);
    queue_stamp(s, 0);
    ok = ok && queue_timed(s, err);
    queue_stamp(s, 1);
    ok = ok && queue_part(s, SEQUENCE_AFTER, err);
    if (s->code == CU_OK) s->code = cuda_fetch_stamps(d);
    return ok;
}

static bool renew(Sequence *s, gi_err *err) {
    for (int i = 0; i < s->work->n_modules; i++) {
        CudaModule *m = (CudaModule *)s->work->modules[i];
        if (m->reload) drop_graph(s); /* it has the functions that were */
        if (!cuda_module_renew(m, err)) return false;
    }
    return true;
}

static bool read_times(Sequence *s, Measurement *out, gi_err *err) {
    float ms = 0;
    CudaDevice *d = s->d;
    int code = d->cu->event_elapsed(&ms, d->start[0], d->end[0]);
    if (code == CU_OK) code = read_marks(s);
    out->ns = (double)ms * 1e6;
    out->clock_ghz = cuda_read_clock(d);
    out->ticks = out->ns * out->clock_ghz;
    return cuda_ok(d, code, "read the time of a replay", err);
}

/* How it ended; a launch that was refused is known, one that faulted is any of them. */
static void set_end(Sequence *s, int code, bool was_refused, Measurement *out) {
    DeviceLaunch any = {.kernel = "a kernel of the recording", .timeout_s = s->work->timeout_s};
    *out = was_refused ? s->of_failed : (Measurement){0};
    cuda_set_status(s->d, was_refused ? &s->failed : &any, code, out);
}

bool sequence_run(Sequence *s, const SequenceWork *work, double *kernel_ns, int n_rows,
                  Measurement *out, gi_err *err) {
    CudaDevice *d = s->d;
    bool gated = kernel_ns == NULL && !work->as_graph && work->operations <= MOST_GATED;
    *out = (Measurement){0};
    s->work = work, s->kernel_ns = kernel_ns, s->n_rows = n_rows, s->n_marks = 0;
    s->code = CU_OK, s->kernel[0] = '\0', s->is_misused = false;
    cuda_streams_begin(&s->streams);
    if (!cuda_enter(d, err) || !cuda_stamps(d, err) || !renew(s, err)) return false;
    if (gated) s->code = cuda_queue_gate(d);
    bool ok = queue_all(s, err);
    if (gated) cuda_open_gate(d);
    int ended = cuda_wait(d, work->timeout_s, work->interrupt);
    bool was_refused = s->kernel[0] != '\0' && ended == CU_OK;
    int code = ended != CU_OK ? ended : s->code;
    if (!ok && code == CU_OK) return false;
    if (!was_refused && !cuda_is_fatal(code) && !cuda_ok(d, code, "replay a recording", err))
        return false;
    set_end(s, code, was_refused, out);
    return code != CU_OK || read_times(s, out, err);
}

static bool time_all(Sequence *s, const SequenceWork *work, const DeviceTiming *how,
                     DeviceSamples *out, gi_err *err) {
    DeviceTiming timing = device_timing_filled(how);
    Measurement *last = &out->last;
    *out = (DeviceSamples){0};
    for (int i = 0; i < timing.warmup && last->status == STATUS_OK; i++, out->launches++)
        if (!sequence_run(s, work, NULL, 0, last, err)) return false;
    while (last->status == STATUS_OK && !out->slow && !out->capped &&
           !cuda_is_enough(&timing, out)) {
        if (!sequence_run(s, work, NULL, 0, last, err)) return false;
        if (last->status != STATUS_OK) return true;
        out->launches++;
        samples_add(out, last->ns, last->clock_ghz);
        samples_summarise(out, s->d->best_ghz, timing.clock_tolerance);
        out->slow = cuda_is_slow(&timing, out);
        out->capped = out->n >= timing.max_samples && !cuda_is_enough(&timing, out);
    }
    return true;
}

bool sequence_time(Sequence *s, const SequenceWork *work, const DeviceTiming *how,
                   DeviceSamples *out, gi_err *err) {
    bool ok = time_all(s, work, how, out, err);
    drop_graph(s);
    return ok;
}

/* --- its life --- */

Sequence *sequence_open(Device *base, gi_err *err) {
    if (strcmp(device_name(base), "cuda") != 0)
        return gi_fail(err, "usage", "a recording is replayed on the device cuda here, not on %s",
                       device_name(base)), NULL;
    Sequence *s = gi_alloc(sizeof *s);
    s->d = cuda_of(base);
    return s;
}

static void free_marks(Sequence *s) {
    for (int i = 0; i < s->made_marks; i++) {
        if (s->marks[i].start) s->d->cu->event_free(s->marks[i].start);
        if (s->marks[i].end) s->d->cu->event_free(s->marks[i].end);
    }
}

static void free_things(Sequence *s) {
    const Driver *cu = s->d->cu;
    for (int i = 0; i < s->n_textures; i++) cu->texture_free(s->textures[i]);
    for (int i = 0; i < s->n_surfaces; i++) cu->surface_free(s->surfaces[i]);
    for (int i = 0; i < s->n_arrays; i++) cu->array_free(s->arrays[i]);
    for (int i = 0; i < s->n_mapped; i++) drop_mapped(s->d, &s->mapped[i]);
    free_marks(s);
    cuda_streams_free(&s->streams, s->d);
}

void sequence_close(Sequence *s) {
    if (s == NULL) return;
    if (!s->d->lost && cuda_enter(s->d, NULL)) free_things(s);
    for (int i = 0; i < s->n_blocks; i++) cuda_block_free(s->blocks[i]);
    free(s->mapped), free(s->blocks), free(s->arrays), free(s->textures), free(s->surfaces);
    free(s->marks), free(s->streams.ended);
    free(s);
}
