/* copy.c - copies and fills: what is checked of them, how they run, and how long they take.
**
** One op copies rows of slices from one side to another, whatever the function was; the functions
** themselves are in copy_api.c and texels.c.
*/
#include "runtime/copy.h"

#include <string.h>

#include "runtime/observe.h"
#include "runtime/reorder.h"
#include "runtime/report.h"

/* Modelled rates. Between host and device as measured on an H200: 155 MB took 3.0 ms from pinned
** memory; what is pageable goes through a buffer of the driver's, at a rate assumed here. */
#define PINNED_BYTES_NS   52.0
#define PAGEABLE_BYTES_NS 10.0
#define COPY_NS           1500.0 /* until the first byte */

/* --- one side --- */

Side side_of(const void *p, size_t row, size_t rows) {
    return (Side){.address = (uint64_t)(uintptr_t)p, .row = row, .rows = rows};
}

Side side_of_array(Texels *a, size_t x, size_t y, size_t z) {
    return (Side){.address = a->memory->address + z * a->slice + y * a->row + x,
                  .array = a,
                  .x = x,
                  .y = y,
                  .z = z,
                  .row = a->row,
                  .rows = a->height ? a->height : 1};
}

/* Bytes from the first to the last of what is copied. */
static size_t span(const Side *s, size_t width, size_t height, size_t depth) {
    return ((depth - 1) * s->rows + height - 1) * s->row + width;
}

static bool in_array(const Side *s, size_t width, size_t height, size_t depth) {
    const Texels *a = s->array;
    size_t rows = a->height ? a->height : 1, slices = a->memory->contents.size / a->slice;
    return s->x <= a->row && width <= a->row - s->x && s->y <= rows && height <= rows - s->y &&
           s->z <= slices && depth <= slices - s->z;
}

/* Where its first byte lies in the host's memory; NULL where not all is there. */
static uint8_t *first_byte(const Side *s, size_t width, size_t height, size_t depth,
                           const char *does, Region **region) {
    *region = s->array ? s->array->memory : NULL;
    if (s->array == NULL)
        return memory_bytes(s->address, span(s, width, height, depth), does, region);
    if (!in_array(s, width, height, depth)) return NULL;
    return (*region)->contents.data + (s->address - (*region)->address);
}

static uint8_t *row_of(uint8_t *first, const Side *s, size_t y, size_t z) {
    return first + (z * s->rows + y) * s->row;
}

/* One row of all that the region has. */
static bool is_whole(const Region *r, size_t width, size_t height, size_t depth) {
    return height == 1 && depth == 1 && width == r->contents.size;
}

/* Of the k-th row of slices that have so many. */
static uint64_t row_address(const Side *s, size_t height, size_t k) {
    return s->address + (k / height * s->rows + k % height) * s->row;
}

/* Room between rows of memory counts as written; that of an array is texels. */
static void wrote(const Side *s, Region *r, size_t width, size_t height, size_t depth) {
    if (s->array == NULL) memory_wrote(r, s->address, span(s, width, height, depth));
    for (size_t k = 0; s->array && k < depth * height; k++)
        memory_wrote(r, row_address(s, height, k), width);
}

/* --- copies --- */

Op copy_op(Side to, Side from, CudaExtent bytes, CudaMemcpyKind kind, bool is_async) {
    return (Op){.kind = OP_COPY,
                .is_async = is_async,
                .copy = {to, from, bytes.width, bytes.height, bytes.depth, kind}};
}

Op copy_line(void *to, const void *from, size_t n, CudaMemcpyKind kind, bool is_async) {
    return copy_op(side_of(to, n, 1), side_of(from, n, 1), (CudaExtent){n, 1, 1}, kind, is_async);
}

static bool is_nothing(size_t width, size_t height, size_t depth) {
    return width == 0 || height == 0 || depth == 0;
}

static unsigned where(const Side *s, const Region *r) {
    if (s->array) return WHERE_DEVICE;
    if (r == NULL) return WHERE_HOST;
    bool is_device =
        r->kind == REGION_DEVICE || r->kind == REGION_GRAPH || r->kind == REGION_VARIABLE;
    return is_device ? WHERE_DEVICE : WHERE_HOST | WHERE_DEVICE;
}

/* Does memory of these kinds lie on the side that the direction names? */
static bool is_direction(unsigned kind, unsigned to, unsigned from) {
    static const unsigned sides[][2] = {{WHERE_HOST, WHERE_HOST},
                                        {WHERE_DEVICE, WHERE_HOST},
                                        {WHERE_HOST, WHERE_DEVICE},
                                        {WHERE_DEVICE, WHERE_DEVICE}};
    return kind == cudaMemcpyDefault || (to & sides[kind][0] && from & sides[kind][1]);
}

static CudaError direction_check(unsigned kind, unsigned to, unsigned from) {
    static const char *const names[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice",
                                        "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice"};
    if (is_direction(kind, to, from)) return cudaSuccess;
    return failed(cudaErrorInvalidValue, "the direction is %s, but it copies from %s to %s memory",
                  names[kind], from & WHERE_DEVICE ? "device" : "host",
                  to & WHERE_DEVICE ? "device" : "host");
}

static bool has_rows(const Side *s, size_t width, size_t height, size_t depth) {
    return s->array || s->row >= width || (height <= 1 && depth <= 1);
}

CudaError copy_check(const OpCopy *c) {
    Region *to, *from;
    if ((unsigned)c->kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (!has_rows(&c->to, c->width, c->height, c->depth) ||
        !has_rows(&c->from, c->width, c->height, c->depth))
        return cudaErrorInvalidPitchValue;
    if (is_nothing(c->width, c->height, c->depth)) return cudaSuccess;
    bool no_target = !c->to.array && !c->to.address;
    if (no_target || (!c->from.array && !c->from.address))
        return failed(cudaErrorInvalidValue, "it %s a null pointer",
                      no_target ? "writes to" : "reads from");
    if (!first_byte(&c->from, c->width, c->height, c->depth, "reads", &from) ||
        !first_byte(&c->to, c->width, c->height, c->depth, "writes", &to))
        return cudaErrorInvalidValue;
    return direction_check(c->kind, where(&c->to, to), where(&c->from, from));
}

unsigned side_where(const Side *s) {
    return where(s, s->array ? NULL : memory_find(s->address));
}

void side_bytes(const Side *s, size_t width, size_t height, size_t depth, gi_buf *out) {
    Region *r;
    uint8_t *first = first_byte(s, width, height, depth, "reads", &r);
    if (r) contents_settle(&r->contents);
    for (size_t z = 0; first && z < depth; z++)
        for (size_t y = 0; y < height; y++)
            gi_buf_add(out, (const char *)row_of(first, s, y, z), width);
}

static void move_rows(const OpCopy *c, uint8_t *to, uint8_t *from) {
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memmove(row_of(to, &c->to, y, z), row_of(from, &c->from, y, z), c->width);
}

static bool is_pinned(const Side *s, const Region *r) {
    return s->array || r;
}

static double device_bytes_ns(void) {
    return runtime.config.model.dram_bytes_per_clock * runtime.config.model.clock_ghz;
}

static double copy_time(const OpCopy *c, const Region *to, const Region *from, Engine *engine) {
    double bytes = (double)c->width * (double)c->height * (double)c->depth;
    unsigned target = where(&c->to, to), source = where(&c->from, from);
    if (target & source & WHERE_DEVICE) {
        *engine = ENGINE_KERNELS;
        report->on_device_bytes += (uint64_t)bytes;
        return COPY_NS + 2 * bytes / device_bytes_ns(); /* read and written */
    }
    bool is_up = target & WHERE_DEVICE, pinned = is_pinned(&c->to, to) && is_pinned(&c->from, from);
    if (!is_up && !(source & WHERE_DEVICE)) return 0; /* the host's alone */
    *engine = is_up ? ENGINE_TO_DEVICE : ENGINE_TO_HOST;
    *(is_up ? &report->to_device_bytes : &report->to_host_bytes) += (uint64_t)bytes;
    return COPY_NS + bytes / (pinned ? PINNED_BYTES_NS : PAGEABLE_BYTES_NS);
}

/* What nobody wrote, and what depends on the order of threads, goes along on the device, and is
** told where it goes to the host. */
static void pass_on(const OpCopy *c, const Region *to, const Region *from) {
    bool to_host = where(&c->to, to) != WHERE_DEVICE;
    for (size_t k = 0; k < c->depth * c->height; k++) {
        uint64_t source = row_address(&c->from, c->height, k);
        uint64_t target = row_address(&c->to, c->height, k);
        if (from && to_host) {
            memory_read(source, c->width, "is copied to the host");
            reorder_read(source, c->width);
        }
        if (to == NULL) continue;
        if (from && !to_host) emu_copied(runtime.emu, target, source, c->width);
        reorder_wrote(target, c->width, from ? source : 0);
    }
}

CudaError copy_run(const OpCopy *c, double *ns, Engine *engine) {
    Region *to, *from;
    if (is_nothing(c->width, c->height, c->depth)) return cudaSuccess;
    uint8_t *source = first_byte(&c->from, c->width, c->height, c->depth, "reads", &from);
    uint8_t *target = first_byte(&c->to, c->width, c->height, c->depth, "writes", &to);
    if (source == NULL || target == NULL) return cudaErrorInvalidValue;
    if (from) contents_settle(&from->contents);
    if (to && is_whole(to, c->width, c->height, c->depth)) contents_gone(&to->contents);
    else if (to) contents_settle(&to->contents);
    move_rows(c, target, source);
    wrote(&c->to, to, c->width, c->height, c->depth);
    if (runtime.config.uninitialised || runtime.config.order) pass_on(c, to, from);
    *ns = copy_time(c, to, from, engine);
    return cudaSuccess;
}

static size_t texel_bytes_of(size_t width, const Texels *a, const Texels *b) {
    return a ? width * a->texel : b ? width * b->texel : width;
}

static bool side_of_3d(Texels *a, const CudaPitched *p, const CudaPos *at, Side *out) {
    if ((a == NULL) == (p->ptr == NULL) || (a && !texels_is(a))) return false;
    if (a) *out = side_of_array(a, at->x * a->texel, at->y, at->z);
    else {
        *out = side_of(p->ptr, p->pitch, p->ysize);
        out->address += (at->z * p->ysize + at->y) * p->pitch + at->x;
    }
    return true;
}

CudaError copy_of_3d(const CudaCopy3D *p, bool is_async, Op *out) {
    Side to, from;
    Texels *to_array = (Texels *)p->to_array, *from_array = (Texels *)p->from_array;
    if (!side_of_3d(to_array, &p->to, &p->to_pos, &to) ||
        !side_of_3d(from_array, &p->from, &p->from_pos, &from))
        return cudaErrorInvalidValue;
    CudaExtent bytes = p->extent;
    bytes.width = texel_bytes_of(bytes.width, to_array, from_array);
    *out = copy_op(to, from, bytes, p->kind, is_async);
    return cudaSuccess;
}

/* --- fills --- */

Op set_op(void *to, size_t row, size_t rows, int value, unsigned element, CudaExtent bytes,
          bool is_async) {
    return (Op){.kind = OP_SET,
                .is_async = is_async,
                .set = {side_of(to, row, rows), (uint32_t)value, element, bytes.width, bytes.height,
                        bytes.depth}};
}

CudaError set_check(const OpSet *s) {
    Region *to;
    if (is_nothing(s->width, s->height, s->depth)) return cudaSuccess;
    if (!has_rows(&s->to, s->width, s->height, s->depth)) return cudaErrorInvalidPitchValue;
    if (!first_byte(&s->to, s->width, s->height, s->depth, "writes", &to))
        return cudaErrorInvalidValue;
    return to ? cudaSuccess : failed(cudaErrorInvalidValue, "it fills memory of the host");
}

/* Of a region that it fills as a whole and that can wait for it: that. */
static Region *filled_late(const OpSet *s) {
    Region *r = s->to.array ? NULL : memory_find(s->to.address);
    if (r == NULL || r->address != s->to.address || r->contents.is_shared || is_observed())
        return NULL;
    if (runtime.config.order) return NULL;
    return is_whole(r, s->width, s->height, s->depth) && s->width % s->element == 0 ? r : NULL;
}

static bool fill_rows(const OpSet *s) {
    Region *to;
    uint8_t *first = first_byte(&s->to, s->width, s->height, s->depth, "writes", &to);
    if (first == NULL) return false;
    if (to) contents_settle(&to->contents);
    for (size_t z = 0; z < s->depth; z++)
        for (size_t y = 0; y < s->height; y++)
            fill_bytes(row_of(first, &s->to, y, z), s->width, (Fill){s->value, s->element});
    wrote(&s->to, to, s->width, s->height, s->depth);
    for (size_t k = 0; to && k < s->depth * s->height; k++)
        reorder_wrote(row_address(&s->to, s->height, k), s->width, 0);
    return true;
}

CudaError set_run(const OpSet *s, double *ns) {
    if (is_nothing(s->width, s->height, s->depth)) return cudaSuccess;
    Region *late = filled_late(s);
    if (late) {
        contents_fill(&late->contents, (Fill){s->value, s->element});
        emu_wrote(runtime.emu, late->address, late->contents.size);
    } else if (!fill_rows(s)) {
        return cudaErrorInvalidValue;
    }
    double bytes = (double)s->width * (double)s->height * (double)s->depth;
    *ns = COPY_NS + bytes / device_bytes_ns();
    return cudaSuccess;
}
