/* recorder.c - see recorder.h.
**
** What the host gives the device is kept as it arrives there, what it takes as it leaves. Memory
** that both sides see (managed, pinned, registered) the host changes without a word: so it is held
** against what the device left in it before each launch, and what a kernel changed in it counts as
** taken when the host waits next.
**
** A recording may be of some launches only (Config: record_kernel, record_skip, record_count). What
** comes and goes is recorded from the beginning on, since addresses follow from it. What happens is
** recorded between the first of these launches and the last: all memory is written as it is before
** the first, and what is another after the last is read.
*/
#include "runtime/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"
#include "runtime/copy.h"
#include "runtime/observe.h"

typedef struct Shared { /* memory that both sides see */
    const Region *region;
    Hash hash;    /* of what a replay has there now */
    bool known;   /* it is that: false before the first write */
    bool changed; /* by a kernel, and the host has not waited since */
} Shared;

typedef struct Live { /* memory or an array that is there */
    const Region *region;
    char name[RECORD_NAME]; /* of its contents when the recording began; "" */
} Live;

enum { WAITING, OPEN, OVER };

static RecordWriter *writer;
static int phase;
static uint64_t counted; /* launches that the configuration speaks of */
static Live *live;
static int n_live, cap_live;
static Shared *shared;
static int n_shared, cap_shared;
static const Module **modules; /* their place is their number */
static int n_modules, cap_modules;
typedef struct Array {
    const Texels *texels;   /* NULL: gone */
    char name[RECORD_NAME]; /* of what was in it when the window opened */
} Array;

static Array *arrays;
static int n_arrays, cap_arrays;

/* --- what lines are made of --- */

static const char *const kinds[] = {"device",     "managed", "pinned",
                                    "registered", "graph",   "variable"};

static int module_number(const Module *m) {
    for (int i = 0; i < n_modules; i++)
        if (modules[i] == m) return i;
    return -1;
}

static int array_number(const Texels *a) {
    for (int i = 0; i < n_arrays; i++)
        if (arrays[i].texels == a) return i;
    return -1;
}

/* ADDRESS ROW ROWS, or array:N:X:Y:Z ROW ROWS */
static const char *side_text(const Side *s, char out[200]) {
    if (s->array)
        snprintf(out, 200, "array:%d:%zu:%zu:%zu %zu %zu", array_number(s->array), s->x, s->y, s->z,
                 s->row, s->rows);
    else snprintf(out, 200, "0x%llx %zu %zu", (unsigned long long)s->address, s->row, s->rows);
    return out;
}

/* --- memory that both sides see --- */

static bool is_shared(const Region *r) {
    return r->kind == REGION_MANAGED || r->kind == REGION_PINNED || r->kind == REGION_REGISTERED;
}

static Shared *shared_of(const Region *r) {
    for (int i = 0; i < n_shared; i++)
        if (shared[i].region == r) return &shared[i];
    return NULL;
}

/* Launched, or copied out, since what was told is in the file: lost should the program die. */
static bool owed;

static void tell_region(const char *what, const Region *r, const char *blob) {
    record_event(writer, "%s 0x%llx %zu 1 %zu 1 1 %s", what, (unsigned long long)r->address,
                 r->contents.size, r->contents.size, blob);
}

static void tell_bytes(const char *what, const Side *at, size_t width, size_t height,
                       size_t depth) {
    char blob[RECORD_NAME], side[200];
    gi_buf bytes = {0};
    side_bytes(at, width, height, depth, &bytes);
    record_blob(writer, bytes.data ? bytes.data : "", bytes.len, blob);
    record_event(writer, "%s %s %zu %zu %zu %s", what, side_text(at, side), width, height, depth,
                 blob);
    gi_buf_free(&bytes);
}

/* XXH3: each hash is computed before and after every launch. */
static Hash hash_now(const Shared *s) {
    return hash_of(s->region->contents.data, s->region->contents.size, 0);
}

static void tell_contents(const char *what, const Shared *s) {
    char blob[RECORD_NAME];
    record_blob(writer, s->region->contents.data, s->region->contents.size, blob);
    tell_region(what, s->region, blob);
}

/* What the host wrote into it since. */
static void take_from_host(Shared *s) {
    Hash now = hash_now(s);
    if (s->known && hash_equal(now, s->hash)) return;
    tell_contents("write", s);
    s->hash = now, s->known = true;
}

/* What a kernel wrote into it. */
static void take_from_device(Shared *s) {
    Hash now = hash_now(s);
    s->changed = s->changed || !hash_equal(now, s->hash);
    s->hash = now;
}

static void on_wait(void) {
    for (int i = 0; writer && phase == OPEN && i < n_shared; i++) {
        Shared *s = &shared[i];
        if (!s->changed) continue;
        s->changed = false;
        if (hash_equal(hash_now(s), s->hash)) tell_contents("read", s);
    }
    if (writer && owed) record_flush(writer);
    owed = false;
}

/* --- some launches only --- */

static bool counts(const OpLaunch *l) {
    const char *name = runtime.config.record_kernel;
    return name[0] == '\0' || record_is_called(l->kernel->name, name);
}

static void tell_array(const char *word, const Texels *a) {
    size_t rows = a->height ? a->height : 1, slices = a->depth ? a->depth : 1;
    Side at = side_of_array((Texels *)(uintptr_t)a, 0, 0, 0);
    tell_bytes(word, &at, a->row, rows, slices);
}

static void name_array(const Texels *a, char out[RECORD_NAME]) {
    record_name(RECORD_VERSION, a->memory->contents.data, a->memory->contents.size, out);
}

static void open_arrays(void) {
    for (int i = 0; i < n_arrays; i++)
        if (arrays[i].texels) {
            name_array(arrays[i].texels, arrays[i].name);
            tell_array("write", arrays[i].texels);
        }
}

/* Those that surfaces have written to. */
static void close_arrays(void) {
    for (int i = 0; i < n_arrays; i++) {
        char now[RECORD_NAME];
        if (arrays[i].texels == NULL) continue;
        name_array(arrays[i].texels, now);
        if (strcmp(now, arrays[i].name) != 0) tell_array("read", arrays[i].texels);
    }
}

/* All memory as it is: what a replay begins with. */
static void open_window(void) {
    phase = OPEN;
    for (int i = 0; i < n_live; i++) {
        const Contents *c = &live[i].region->contents;
        if (is_shared(live[i].region)) continue;
        record_blob(writer, c->data, c->size, live[i].name);
        tell_region("write", live[i].region, live[i].name);
    }
    open_arrays();
    for (int i = 0; i < n_shared; i++) shared[i].known = false;
}

/* As if the host copied out all that is another now. */
static void close_window(void) {
    on_wait();
    phase = OVER;
    for (int i = 0; i < n_live; i++) {
        const Contents *c = &live[i].region->contents;
        char now[RECORD_NAME];
        if (is_shared(live[i].region)) continue;
        record_name(RECORD_VERSION, c->data, c->size, now);
        if (strcmp(now, live[i].name) == 0) continue;
        record_blob(writer, c->data, c->size, now);
        tell_region("read", live[i].region, now);
    }
    close_arrays();
    record_flush(writer);
}

static void begin_live(const Region *r) {
    gi_grow(live, n_live, cap_live);
    live[n_live++] = (Live){.region = r};
}

static void end_live(const Region *r) {
    for (int i = 0; i < n_live; i++)
        if (live[i].region == r) {
            live[i] = live[--n_live];
            return;
        }
}

static void begin_shared(const Region *r) {
    gi_grow(shared, n_shared, cap_shared);
    shared[n_shared++] = (Shared){.region = r};
}

static void end_shared(const Region *r) {
    Shared *s = shared_of(r);
    if (s) *s = shared[--n_shared];
}

/* --- what comes and goes --- */

static void on_memory(const Region *r, bool made) {
    if (writer == NULL || phase == OVER) return;
    if (made) begin_live(r);
    else end_live(r);
    if (made)
        record_event(writer, "memory 0x%llx %zu %s", (unsigned long long)r->address,
                     r->contents.size, kinds[r->kind]);
    else record_event(writer, "free 0x%llx", (unsigned long long)r->address);
    if (!is_shared(r)) return;
    if (made) begin_shared(r);
    else end_shared(r);
}

static void on_array(const Texels *a, bool made) {
    if (writer == NULL || phase == OVER) return;
    if (!made) {
        int i = array_number(a);
        record_event(writer, "free array:%d", i);
        arrays[i].texels = NULL;
        return;
    }
    gi_grow(arrays, n_arrays, cap_arrays);
    arrays[n_arrays] = (Array){.texels = a};
    record_event(writer, "array %d %zu %zu %zu %d %d,%d,%d,%d %u", n_arrays, a->width, a->height,
                 a->depth, (int)a->desc.f, a->desc.x, a->desc.y, a->desc.z, a->desc.w, a->flags);
    n_arrays++;
}

/* Where the texels of a texture lie: in an array, or in memory. */
static void place_text(const CudaResourceDesc *r, char out[64]) {
    const void *p = r->type == cudaResourceTypeLinear ? r->linear.pointer : r->pitch.pointer;
    if (r->type == cudaResourceTypeArray)
        snprintf(out, 64, "array:%d", array_number((const Texels *)r->array));
    else snprintf(out, 64, "0x%llx", (unsigned long long)(uintptr_t)p);
}

static void tell_object(const char *word, uint64_t handle, const EmuTexture *t,
                        const CudaResourceDesc *r) {
    char place[64];
    gi_buf words = {0};
    place_text(r, place);
    emu_texture_words(t, &words);
    record_event(writer, "%s 0x%llx %s %s", word, (unsigned long long)handle, place, words.data);
    gi_buf_free(&words);
}

static void on_texture(uint64_t handle, const EmuTexture *t, const CudaResourceDesc *r) {
    if (writer == NULL || phase == OVER) return;
    if (t) tell_object("texture", handle, t, r);
    else record_event(writer, "free texture:0x%llx", (unsigned long long)handle);
}

static void on_surface(uint64_t handle, const EmuTexture *t, const CudaResourceDesc *r) {
    if (writer && phase != OVER) tell_object("surface", handle, t, r);
}

static void on_module(const Module *m, const EmuText *texts, int n) {
    char blob[RECORD_NAME];
    if (writer == NULL || phase == OVER) return;
    if (n != 1)
        refuse("the program was built with -rdc=true, in %d parts that are linked when it runs: it "
               "runs, but cannot be recorded yet",
               n);
    gi_grow(modules, n_modules, cap_modules);
    modules[n_modules] = m;
    record_blob(writer, texts->ptx, texts->len, blob);
    record_event(writer, "module %d %s", n_modules, blob);
    for (const Variable *v = m->variables; v; v = v->next)
        if (v->address)
            record_event(writer, "variable %d %s 0x%llx %zu", n_modules, v->name,
                         (unsigned long long)v->address, v->size);
    n_modules++;
}

/* --- what happens --- */

/* The host's own copies are nothing to the device. */
static void tell_copy(const OpCopy *c) {
    char to[200], from[200];
    unsigned target = side_where(&c->to), source = side_where(&c->from);
    if (c->width == 0 || c->height == 0 || c->depth == 0) return;
    if (!(target & WHERE_HOST) && !(source & WHERE_HOST))
        record_event(writer, "copy %s %s %zu %zu %zu", side_text(&c->to, to),
                     side_text(&c->from, from), c->width, c->height, c->depth);
    else if (target & WHERE_DEVICE && source & WHERE_HOST)
        tell_bytes("write", &c->to, c->width, c->height, c->depth);
    else if (source & WHERE_DEVICE) {
        tell_bytes("read", &c->from, c->width, c->height, c->depth);
        owed = true;
    }
}

static void tell_set(const OpSet *s) {
    char side[200];
    if (s->width == 0 || s->height == 0 || s->depth == 0) return;
    record_event(writer, "set %s %u %u %zu %zu %zu", side_text(&s->to, side), s->value, s->element,
                 s->width, s->height, s->depth);
}

static void tell_launch(const OpLaunch *l, double ns) {
    const Kernel *k = l->kernel;
    gi_buf hex = {0};
    owed = true;
    const Dim3 *c = &l->kind.cluster;
    char cluster[40] = "";
    if (c->x) snprintf(cluster, sizeof cluster, " %u,%u,%u", c->x, c->y, c->z);
    for (size_t i = 0; i < k->info.param_bytes; i++) gi_buf_addf(&hex, "%02x", l->params[i]);
    record_event(writer, "launch %d %s %u,%u,%u %u,%u,%u %zu %d %.17g %s%s",
                 module_number(k->module), k->name, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                 l->block[1], l->block[2], l->shared, l->kind.cooperative, ns,
                 hex.data ? hex.data : "-", cluster);
    gi_buf_free(&hex);
}

static void before(const Stream *s, const Op *op) {
    (void)s;
    if (writer == NULL || op->kind != OP_LAUNCH) return;
    if (phase == WAITING && counts(&op->launch) && counted == runtime.config.record_skip)
        open_window();
    if (phase != OPEN) return;
    for (int i = 0; i < n_shared; i++) take_from_host(&shared[i]);
}

/* A recorded op wrote there. */
static void wrote(const Side *to) {
    if (side_where(to) != (WHERE_HOST | WHERE_DEVICE)) return;
    for (int i = 0; i < n_shared; i++) shared[i].hash = hash_now(&shared[i]);
}

static void on_launch(const OpLaunch *l, double ns) {
    counted += counts(l);
    if (phase != OPEN) return;
    tell_launch(l, ns);
    for (int i = 0; i < n_shared; i++) take_from_device(&shared[i]);
    const Config *c = &runtime.config;
    if (c->record_count && counted == c->record_skip + c->record_count) close_window();
}

static void on_op(const Stream *s, const Op *op, CudaError result, double ns) {
    (void)s;
    if (writer == NULL || result != cudaSuccess) return;
    if (op->kind == OP_LAUNCH) on_launch(&op->launch, ns);
    if (phase != OPEN) return;
    if (op->kind == OP_COPY) tell_copy(&op->copy), wrote(&op->copy.to);
    if (op->kind == OP_SET) tell_set(&op->set), wrote(&op->set.to);
}

/* --- beginning and end --- */

bool recorder_open(const char *path, gi_err *err) {
    static const Observer observer = {.op = on_op,
                                      .before = before,
                                      .memory = on_memory,
                                      .array = on_array,
                                      .texture = on_texture,
                                      .surface = on_surface,
                                      .module = on_module,
                                      .wait = on_wait};
    writer = record_create_next(path, err);
    if (writer == NULL) return false;
    observe(&observer);
    const Config *c = &runtime.config;
    record_program(writer, c->model.name, c->record_as);
    phase = c->record_skip || c->record_count || c->record_kernel[0] ? WAITING : OPEN;
    return true;
}

void recorder_end(void) {
    gi_err err = {0};
    if (writer == NULL) return;
    on_wait();
    if (phase == WAITING)
        say("%llu launches of %s%s were to be skipped, and there were %llu: the recording has none",
            (unsigned long long)runtime.config.record_skip,
            runtime.config.record_kernel[0] ? "the kernel " : "kernels",
            runtime.config.record_kernel, (unsigned long long)counted);
    if (!record_end(writer, &err)) say("the recording is not whole: %s", err.message);
    writer = NULL;
}

void recorder_leave(void) {
    if (writer) record_leave(writer);
    writer = NULL;
}
