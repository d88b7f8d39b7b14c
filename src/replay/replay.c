/* replay.c - see replay.h.
**
** Addresses come out as recorded because the emulator gives equal addresses to equal calls: so all
** modules are loaded and all memory is made first, in the recording's order and none of it freed;
** other code is loaded behind that. Memory that the host had too keeps the host's address and
** comes and goes with its events; so does a GPU's, whose addresses are like the host's. A variable
** that was elsewhere on a GPU is where the emulator has it: what has its address is changed.
** Machine code is not run: what its launches wrote was recorded, and is written as it was. Where
** other code has its kernel, that is what the host would have got of it.
*/
#include "replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "replay/events.h"
#include "replay/over_reals.h"

#define MOST_BYTES ((uint64_t)1 << 40) /* of one allocation or copy */
#define MOST_MOVED ((uint64_t)1 << 38) /* bytes of all copies and fills: a minute or two of them */
#define ROW_COSTS ((uint64_t)512)      /* what a row of a copy or fill takes, in bytes of them */
#define MOST_CODE ((uint64_t)1 << 28)  /* bytes of a module */

typedef struct Loaded {
    EmuModule *recorded, *used; /* used: other code in its place, or the same; NULL: machine code */
} Loaded;

typedef struct Variable { /* that the program names */
    int module;
    char *name;
    uint64_t recorded, address; /* here: address */
    size_t bytes;
} Variable;

typedef struct Managed { /* a variable that the host has, too: at an address of the host's */
    int module;
    char *name;
    uint64_t address, bytes;
    void *data;
} Managed;

typedef struct Array {
    uint8_t *data; /* NULL: gone */
    uint64_t row, rows, slices;
} Array; /* of row * rows * slices bytes */

typedef struct Host { /* memory that the host had too */
    uint64_t address, bytes;
    void *data;
} Host;

typedef struct Texture {
    uint64_t recorded, handle;
} Texture;

typedef struct First { /* of two launches that are done as one */
    Event event;
    char *kernel; /* NULL: none is put off */
    uint8_t *params;
    ReplayJoin at;
    int number; /* of the launch */
} First;

typedef struct Run {
    const Recording *recording;
    const ReplayOptions *options;
    ReplayResult *out;
    gi_err *err;
    Emu *emu;
    Loaded *modules;
    int n_modules, cap_modules;
    Variable *variables;
    int n_variables, cap_variables;
    Managed *managed;
    int n_managed, cap_managed;
    Array *arrays;
    int n_arrays, cap_arrays;
    Host *hosts;
    int n_hosts, cap_hosts;
    Texture *textures;
    int n_textures, cap_textures;
    int cap_kernels, cap_reads;
    uint64_t moved; /* bytes of copies and fills so far */
    ReplayTaken *taken; /* by launch */
    int cap_taken;
    First first;
    int line; /* of the event at hand */
    bool ended; /* by what a kernel did */
    bool is_opaque; /* the last launch was of machine code */
} Run;

static bool damaged(const Run *run, const char *what) {
    return gi_fail(run->err, "format", "event %d of the recording cannot be replayed: %s",
                   run->line, what);
}

/* --- what it takes --- */

static bool no_room(const Run *run, const gi_err *why) {
    return gi_fail(run->err, "nomem", "event %d of the recording cannot be replayed: %s", run->line,
                   why->message);
}

static bool make_room(Run *run, uint64_t bytes) {
    gi_err why;
    return emu_take(run->emu, bytes, "memory", &why) || no_room(run, &why);
}

/* Counts what an event costs that no launch counts. */
static bool work(Run *run, uint64_t bytes) {
    run->moved += bytes < MOST_MOVED ? bytes : MOST_MOVED;
    return run->moved <= MOST_MOVED ||
           damaged(run, "up to it more is copied and filled than a replay may");
}

/* --- data --- */

static char *name_of(const Event *e) {
    return gi_strndup(e->name, (size_t)e->name_len);
}

/* A blob's bytes, at most so many, zero-ended; NULL with err filled. What a blob says of its own
** size is no reason to make room for it. */
static void *blob_of(const Run *run, const Event *e, uint64_t most, uint64_t *bytes) {
    char *name = name_of(e);
    void *data = NULL;
    if (!recording_size(run->recording, name, bytes))
        damaged(run, "its data are not there");
    else if (*bytes > most)
        damaged(run, "its data have another size");
    else if ((data = calloc(1, (size_t)*bytes + 1)) == NULL)
        gi_fail(run->err, "nomem", "no memory for %llu bytes of the recording",
                (unsigned long long)*bytes);
    else if (!recording_read(run->recording, name, data, (size_t)*bytes, run->err)) {
        free(data);
        data = NULL;
    }
    free(name);
    return data;
}

static Array *array_at(Run *run, int number) {
    bool there = number >= 0 && number < run->n_arrays && run->arrays[number].data;
    return there ? &run->arrays[number] : NULL;
}

/* Of an address of the recording: where that is now. */
static uint64_t here(const Run *run, uint64_t address) {
    for (int i = 0; i < run->n_variables; i++) {
        const Variable *v = &run->variables[i];
        if (address - v->recorded < v->bytes) return v->address + (address - v->recorded);
    }
    return address;
}

/* Where a place's first byte lies here, if all of the event's rows do. NULL with err filled. */
static uint8_t *first_byte(Run *run, const Place *p, const Event *e) {
    if (!event_is_small(e) || !event_is_place(p, e))
        return damaged(run, "its sizes are impossible"), NULL;
    uint64_t span = event_span(p, e);
    if (p->array < 0) {
        gi_err why = {0};
        uint8_t *at = emu_bytes(run->emu, here(run, p->address), (size_t)span, &why);
        if (at == NULL) damaged(run, why.message);
        return at;
    }
    const Array *a = array_at(run, p->array);
    uint64_t offset = a ? (p->z * a->rows + p->y) * a->row + p->x : 0;
    uint64_t size = a ? a->row * a->rows * a->slices : 0;
    if (a == NULL || p->row != a->row || p->rows != a->rows || p->x > a->row || p->y > a->rows ||
        p->z > a->slices || span > size || offset > size - span)
        return damaged(run, "its place is not in the array"), NULL;
    return a->data + offset;
}

static uint8_t *row_of(uint8_t *first, const Place *p, uint64_t y, uint64_t z) {
    return first + (z * p->rows + y) * p->row;
}

/* What moving it costs: its rows, too, which may all lie at one place. */
static bool moves(Run *run, const Event *e) {
    return work(run, event_volume(e) + ROW_COSTS * e->height * e->depth);
}

static void wrote(Run *run, const Place *p, const Event *e) {
    if (p->array >= 0) return;
    emu_wrote(run->emu, here(run, p->address), (size_t)event_span(p, e));
}

static bool is_variable(const Run *run, uint64_t address) {
    for (int i = 0; i < run->n_variables; i++)
        if (address - run->variables[i].recorded < run->variables[i].bytes) return true;
    return false;
}

/* Tells a certificate what the event did. first: its first row's bytes. */
static void over_reals(Run *run, const Event *e, const uint8_t *first) {
    ReplayMoved m = {here(run, e->to.address), here(run, e->from.address), run->line,
                     is_variable(run, e->to.address), first};
    if (run->options->exact) replay_over_reals(run->options->exact, e, &m);
}

/* --- before it begins: everything has its address --- */

/* Its line stands behind its module's and its memory's. */
static bool find_managed(Run *run, const Event *e) {
    if (e->kind != EVENT_VARIABLE || e->address >= HOST_END) return true;
    if (!make_room(run, e->bytes)) return false;
    Managed m = {e->number, name_of(e), e->address, e->bytes, calloc(1, (size_t)e->bytes + 1)};
    gi_grow(run->managed, run->n_managed, run->cap_managed);
    run->managed[run->n_managed++] = m;
    return m.data ? true : gi_fail(run->err, "nomem", "no memory for a managed variable");
}

static const Managed *managed_at(const Run *run, uint64_t address) {
    for (int i = 0; i < run->n_managed; i++)
        if (run->managed[i].address == address) return &run->managed[i];
    return NULL;
}

/* Of the module that is loaded next. */
static bool place_managed(void *user, const char *name, size_t size, uint64_t *address,
                          void **data) {
    const Run *run = user;
    for (int i = 0; i < run->n_managed; i++) {
        const Managed *m = &run->managed[i];
        if (m->module != run->n_modules || strcmp(m->name, name) != 0 || m->bytes != size) continue;
        *address = m->address, *data = m->data;
        return true;
    }
    return false;
}

static bool add_module(Run *run, const Event *e, EmuModule *m) {
    if (e->number != run->n_modules) return emu_unload(m), damaged(run, "its number is wrong");
    gi_grow(run->modules, run->n_modules, run->cap_modules);
    run->modules[run->n_modules++] = (Loaded){m, m};
    return true;
}

static bool load_module(Run *run, const Event *e) {
    uint64_t bytes;
    char *ptx = blob_of(run, e, MOST_CODE, &bytes);
    if (ptx == NULL) return false;
    EmuText text = {.ptx = ptx, .len = (size_t)bytes};
    EmuLink link = {.texts = &text, .n = 1, .managed = place_managed, .user = run};
    EmuModule *m = emu_link(run->emu, &link, run->err);
    free(ptx);
    return m && add_module(run, e, m);
}

static bool is_machine(const Run *run, int module) {
    return module < run->n_modules && run->modules[module].recorded == NULL;
}

/* A variable of machine code lies where it was, among the host's addresses. */
static bool map_variable(Run *run, const Event *e, Variable *v) {
    const Managed *m = managed_at(run, e->address);
    v->bytes = (size_t)e->bytes, v->address = e->address;
    return m && emu_map_at(run->emu, e->address, m->data, v->bytes, false, "a recorded variable",
                           run->err);
}

static bool add_variable(Run *run, const Event *e) {
    Variable v = {.module = e->number, .name = name_of(e), .recorded = e->address};
    gi_grow(run->variables, run->n_variables, run->cap_variables);
    run->variables[run->n_variables++] = v;
    bool there = is_machine(run, v.module)
                     ? map_variable(run, e, &v)
                     : v.module < run->n_modules && emu_symbol(run->modules[v.module].recorded,
                                                               v.name, &v.bytes, &v.address);
    run->variables[run->n_variables - 1] = v;
    bool may_move = e->address < HOST_END;
    return (there && (v.address == e->address || may_move) && v.bytes == e->bytes) ||
           damaged(run, "the variable is not where it was");
}

static bool make_memory(Run *run, const Event *e) {
    static uint8_t stand_in;
    if (managed_at(run, e->address)) return true; /* which its module brings */
    if (e->bytes > MOST_BYTES) return damaged(run, "its size is impossible");
    if (e->is_device) {
        gi_err why;
        emu_leave_out(run->emu, e->address); /* what kernels had: grids of their own, a heap */
        uint64_t at = emu_alloc(run->emu, (size_t)e->bytes, "recorded memory", &why);
        return at == 0 ? no_room(run, &why)
                       : at == e->address || damaged(run, "the memory is not where it was");
    }
    return emu_map_at(run->emu, e->address, &stand_in, 1, true, "recorded memory", run->err) &&
           emu_release(run->emu, e->address, NULL, run->err);
}

/* A texture has a row of the emulator's table, too; it is made when its texels are there. */
static bool skip_texture(Run *run) {
    uint64_t address = emu_alloc(run->emu, 1, "a texture's place", run->err);
    return address && emu_release(run->emu, address, NULL, run->err);
}

/* The first cooperative launch has a row of the emulator's table. */
static bool make_barrier(const Run *run) {
    return emu_grid_barrier(run->emu) ||
           gi_fail(run->err, "nomem", "no memory for a barrier of a grid");
}

static bool prepare_event(Run *run, const Event *e) {
    if (e->kind == EVENT_TEXTURE) return skip_texture(run);
    if (e->kind == EVENT_LAUNCH && e->cooperative) return make_barrier(run);

    if (e->kind == EVENT_MODULE) return load_module(run, e);
    if (e->kind == EVENT_CUBIN) return add_module(run, e, NULL);
    if (e->kind == EVENT_VARIABLE) return add_variable(run, e);
    return e->kind != EVENT_MEMORY || make_memory(run, e);
}

static bool replace_code(Run *run) {
    for (int i = 0; i < run->options->n_code; i++) {
        const ReplayCode *c = &run->options->code[i];
        if (c->module < 0 || c->module >= run->n_modules)
            return gi_fail(run->err, "usage", "the recording has no module %d", c->module);
        Loaded *m = &run->modules[c->module];
        EmuModule *code = emu_load(run->emu, c->ptx, c->len, run->err);
        if (code == NULL) return false;
        if (m->used && m->used != m->recorded) emu_unload(m->used);
        m->used = code;
    }
    return true;
}

/* The host's view of a variable of other code; NULL. */
static void *variable_of(Run *run, const char *name, size_t *bytes) {
    for (int i = 0; i < run->n_modules; i++) {
        const Loaded *m = &run->modules[i];
        void *data = m->used == m->recorded ? NULL : emu_symbol(m->used, name, bytes, NULL);
        if (data) return data;
    }
    return NULL;
}

static void set_variables(Run *run) {
    for (int i = 0; i < run->options->n_variables; i++) {
        const ReplayVariable *v = &run->options->variables[i];
        size_t bytes = 0;
        void *data = v->begins ? variable_of(run, v->name, &bytes) : NULL;
        if (data && bytes == v->bytes) memcpy(data, v->begins, bytes);
    }
}

static void hold_variables(Run *run) {
    ReplayResult *out = run->out;
    out->held = gi_alloc((size_t)(run->options->n_variables + 1) * sizeof *out->held);
    for (; out->n_held < run->options->n_variables; out->n_held++) {
        ReplayHeld *held = &out->held[out->n_held];
        const char *name = run->options->variables[out->n_held].name;
        void *data = variable_of(run, name, &held->size);
        *held = (ReplayHeld){data ? gi_alloc(held->size + 1) : NULL, data ? held->size : 0};
        if (data) memcpy(held->bytes, data, held->size);
    }
}

/* --- memory, arrays, textures --- */

static bool begin_memory(Run *run, const Event *e) {
    if (e->is_device || managed_at(run, e->address)) return true;
    if (!make_room(run, e->bytes)) return false;
    void *data = calloc(1, e->bytes ? (size_t)e->bytes : 1);
    if (data == NULL)
        return gi_fail(run->err, "nomem", "no memory for %llu bytes of the recording",
                       (unsigned long long)e->bytes);
    gi_grow(run->hosts, run->n_hosts, run->cap_hosts);
    run->hosts[run->n_hosts++] = (Host){e->address, e->bytes, data};
    if (run->options->exact) emu_exact_filled(run->options->exact, e->address, (size_t)e->bytes);
    return emu_map_at(run->emu, e->address, data, (size_t)e->bytes, false, "recorded memory",
                      run->err);
}

/* Memory of the device's own stays where it is: its address is nobody else's. */
static bool end_memory(Run *run, const Event *e) {
    for (int i = 0; i < run->n_hosts; i++)
        if (run->hosts[i].address == e->address) {
            emu_texels_gone(run->emu, run->hosts[i].data, (size_t)run->hosts[i].bytes);
            emu_unmap(run->emu, e->address);
            emu_give(run->emu, run->hosts[i].bytes);
            free(run->hosts[i].data);
            run->hosts[i] = run->hosts[--run->n_hosts];
            break;
        }
    return true;
}

static bool begin_array(Run *run, const Event *e) {
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++) bits += (uint64_t)e->bits[i];
    Array a = {.row = e->size[0] * bits / 8,
               .rows = e->size[1] ? e->size[1] : 1,
               .slices = e->size[2] ? e->size[2] : 1};
    Event whole = {.width = a.row, .height = a.rows, .depth = a.slices};
    if (e->number != run->n_arrays || e->size[0] >= MOST_BYTES || !event_is_small(&whole))
        return damaged(run, "the array is impossible");
    if (!make_room(run, a.row * a.rows * a.slices)) return false;
    a.data = calloc(1, (size_t)(a.row * a.rows * a.slices) + 1);
    if (a.data == NULL) return gi_fail(run->err, "nomem", "no memory for an array");
    gi_grow(run->arrays, run->n_arrays, run->cap_arrays);
    run->arrays[run->n_arrays++] = a;
    return true;
}

static bool end_array(Run *run, const Event *e) {
    Array *a = array_at(run, e->number);
    if (a == NULL) return true;
    emu_texels_gone(run->emu, a->data, (size_t)(a->row * a->rows * a->slices));
    emu_give(run->emu, a->row * a->rows * a->slices);
    free(a->data), a->data = NULL;
    return true;
}

/* Its texels, if all of them are there. NULL with why filled. */
static const void *texels_of(Run *run, const Event *e, const EmuTexture *t, gi_err *why) {
    uint64_t bytes = (uint64_t)emu_texture_bytes(t);
    if (e->number < 0) return emu_bytes(run->emu, e->bytes, (size_t)bytes, why);
    const Array *a = array_at(run, e->number);
    if (a && bytes <= a->row * a->rows * a->slices) return a->data;
    return gi_fail(why, "format", "the texture's texels are not there"), NULL;
}

static bool begin_texture(Run *run, const Event *e) {
    EmuTexture t;
    if (run->options->exact)
        emu_exact_refuse(run->options->exact, "the program has textures or surfaces");
    gi_err why = {0};
    if (!event_texture(e, &t)) return damaged(run, "the texture is impossible");
    t.data = run; /* some, for now */
    if (!emu_texture_check(&t, &why)) return damaged(run, why.message);
    if ((t.data = texels_of(run, e, &t, &why)) == NULL) return damaged(run, why.message);
    uint64_t handle = e->is_surface ? emu_surface_new(run->emu, &t, &why)
                                    : emu_texture_new(run->emu, &t, &why);
    if (handle == 0) return damaged(run, why.message);
    gi_grow(run->textures, run->n_textures, run->cap_textures);
    run->textures[run->n_textures++] = (Texture){e->address, handle};
    return true;
}

static bool end_texture(Run *run, const Event *e) {
    for (int i = 0; i < run->n_textures; i++)
        if (run->textures[i].recorded == e->address) {
            emu_texture_free(run->emu, run->textures[i].handle);
            run->textures[i] = run->textures[--run->n_textures];
            break;
        }
    return true;
}

/* --- copies --- */

/* A texture's handle of here; the word itself where it was none. */
static uint64_t handle_here(const Run *run, uint64_t word) {
    for (int i = 0; i < run->n_textures; i++)
        if (run->textures[i].recorded == word) return run->textures[i].handle;
    return word;
}

/* Handles among the data, as in a variable. */
static void translate_handles(const Run *run, uint8_t *data, uint64_t bytes) {
    for (uint64_t at = 0; bytes <= EVENT_HANDLES_WITHIN && at + 8 <= bytes; at += 8) {
        uint64_t word;
        memcpy(&word, data + at, 8);
        word = handle_here(run, word);
        memcpy(data + at, &word, 8);
    }
}

static bool write_rows(Run *run, const Event *e) {
    uint64_t bytes;
    if (event_is_nothing(e)) return true;
    uint8_t *to = first_byte(run, &e->to, e);
    uint8_t *data = to && moves(run, e) ? blob_of(run, e, event_volume(e), &bytes) : NULL;
    if (data == NULL) return false;
    if (run->n_textures > 0) translate_handles(run, data, bytes);
    bool fits = bytes == event_volume(e);
    for (uint64_t z = 0; fits && z < e->depth; z++)
        for (uint64_t y = 0; y < e->height; y++)
            memcpy(row_of(to, &e->to, y, z), data + (z * e->height + y) * e->width,
                   (size_t)e->width);
    free(data);
    if (fits) wrote(run, &e->to, e), over_reals(run, e, to);
    return fits || damaged(run, "its data have another size");
}

/* Whole elements; what is behind them stays. */
static void fill_row(uint8_t *row, const Event *e) {
    uint64_t size = e->width / e->element * e->element;
    if (size == 0) return;
    memcpy(row, &e->value, e->element);
    for (uint64_t done = e->element; done < size; done *= 2)
        memcpy(row + done, row, (size_t)(done < size - done ? done : size - done));
}

static bool set_rows(Run *run, const Event *e) {
    if (event_is_nothing(e)) return true;
    uint8_t *to = first_byte(run, &e->to, e);
    if (to && !moves(run, e)) return false;
    for (uint64_t z = 0; to && z < e->depth; z++)
        for (uint64_t y = 0; y < e->height; y++)
            fill_row(row_of(to, &e->to, y, z), e);
    if (to) wrote(run, &e->to, e), over_reals(run, e, to);
    return to != NULL;
}

static bool copy_rows(Run *run, const Event *e) {
    if (event_is_nothing(e)) return true;
    uint8_t *to = first_byte(run, &e->to, e), *from = to ? first_byte(run, &e->from, e) : NULL;
    if (from && !moves(run, e)) return false;
    for (uint64_t z = 0; from && z < e->depth; z++)
        for (uint64_t y = 0; y < e->height; y++)
            memmove(row_of(to, &e->to, y, z), row_of(from, &e->from, y, z), (size_t)e->width);
    if (from) wrote(run, &e->to, e), over_reals(run, e, to);
    return from != NULL;
}

static bool read_rows(Run *run, const Event *e) {
    ReplayRead read = {.size = 0};
    if (event_is_nothing(e)) return true;
    uint8_t *from = first_byte(run, &e->to, e);
    if (from == NULL || !moves(run, e) || !make_room(run, event_volume(e))) return false;
    read.size = (size_t)event_volume(e);
    uint8_t *bytes = malloc(read.size);
    if (bytes == NULL) return gi_fail(run->err, "nomem", "no memory for %zu bytes", read.size);
    for (uint64_t z = 0; z < e->depth; z++)
        for (uint64_t y = 0; y < e->height; y++)
            memcpy(bytes + (z * e->height + y) * e->width, row_of(from, &e->to, y, z),
                   (size_t)e->width);
    read.bytes = bytes;
    over_reals(run, e, bytes);
    record_name(recording_version(run->recording), bytes, read.size, read.name);
    read.same = e->name_len == RECORD_NAME - 1 && memcmp(read.name, e->name, RECORD_NAME - 1) == 0;
    int copied = e->name_len < RECORD_NAME ? e->name_len : RECORD_NAME - 1;
    memcpy(read.name, e->name, (size_t)copied);
    read.name[copied] = '\0';
    gi_grow(run->out->reads, run->out->n_reads, run->cap_reads);
    run->out->reads[run->out->n_reads++] = read;
    return true;
}

/* --- launches --- */

static ReplayKernel *kernel_row(Run *run, const char *name) {
    ReplayResult *out = run->out;
    for (int i = 0; i < out->n_kernels; i++)
        if (strcmp(out->kernels[i].name, name) == 0) return &out->kernels[i];
    gi_grow(out->kernels, out->n_kernels, run->cap_kernels);
    out->kernels[out->n_kernels] = (ReplayKernel){.name = gi_strdup(name)};
    return &out->kernels[out->n_kernels++];
}

/* Variables that the program names are the recorded module's; other code has its own of that name.
*/
static void carry_variables(Run *run, int module, bool to_other) {
    const Loaded *m = &run->modules[module];
    for (int i = 0; i < run->n_variables; i++) {
        const Variable *v = &run->variables[i];
        size_t bytes, other_bytes;
        if (v->module != module) continue;
        uint64_t own_at, other_at;
        void *own = m->recorded ? emu_symbol(m->recorded, v->name, &bytes, &own_at)
                                : emu_bytes(run->emu, own_at = v->address, bytes = v->bytes, NULL);
        void *other = emu_symbol(m->used, v->name, &other_bytes, &other_at);
        if (own == NULL || other == NULL || bytes != other_bytes) continue;
        if (to_other) memcpy(other, own, bytes);
        else memcpy(own, other, bytes);
        if (run->options->exact == NULL) continue;
        if (to_other) emu_exact_copied(run->options->exact, other, own, bytes);
        emu_exact_moved(run->options->exact, to_other ? other_at : own_at,
                        to_other ? own_at : other_at, bytes);
    }
}

/* Arguments as they were, but for textures, which have other handles here, and variables. */
static uint8_t *arguments(Run *run, const Event *e) {
    size_t n = e->hex_len / 2;
    uint8_t *params = event_arguments(e);
    for (size_t at = 0; at + 8 <= n; at += 8) {
        uint64_t word;
        memcpy(&word, params + at, 8);
        word = handle_here(run, here(run, word));
        memcpy(params + at, &word, 8);
    }
    return params;
}

/* pad: how many bytes more it may take than it is given. */
static bool takes(Run *run, EmuModule *m, const char *kernel, size_t bytes, size_t pad) {
    EmuKernelInfo info;
    gi_err why;
    if (!emu_kernel_info(m, kernel, &info, &why))
        return gi_fail(run->err, "compile", "kernel %s: %s", kernel, why.message);
    return (info.param_bytes >= bytes && info.param_bytes <= bytes + pad) ||
           gi_fail(run->err, "compile", "kernel %s takes %zu bytes of arguments and was given %zu",
                   kernel, info.param_bytes, bytes);
}

static void end_by(Run *run, const EmuResult *r) {
    run->ended = true;
    run->out->status = r->status;
    run->out->line = run->line;
    memcpy(run->out->message, r->message, sizeof run->out->message);
}

static void count(Run *run, const char *kernel, const EmuResult *r) {
    ReplayKernel *row = kernel_row(run, kernel);
    row->launches++;
    row->ticks += r->ticks, row->ns += r->ns;
    run->out->ticks += r->ticks, run->out->ns += r->ns;
    run->out->energy_j += r->energy_j;
    run->out->warp_instructions += r->warp_instructions;
    emu_work_add(&run->out->work, &r->work);
    run->out->part_launch += run->options->model->launch_ticks;
    if (run->out->warnings.n == 0) run->out->warnings = r->warnings;
    emu_meets_add(&run->out->meets, &r->meets, row->name);
}

ReplayShape replay_shape(const ReplayShape *shapes, int n_shapes, int n, const unsigned grid[3],
                         const unsigned block[3]) {
    ReplayShape shape;
    bool has_grid = n < n_shapes && shapes[n].grid[0] != 0;
    bool has_block = n < n_shapes && shapes[n].block[0] != 0;
    memcpy(shape.grid, has_grid ? shapes[n].grid : grid, sizeof shape.grid);
    memcpy(shape.block, has_block ? shapes[n].block : block, sizeof shape.block);
    return shape;
}

/* Has a module no kernel of that name? One that it has and that cannot run, because a function or
** an instruction is unknown, is there all the same: its launch fails. */
static bool lacks(const EmuModule *m, const char *kernel) {
    EmuKernelInfo info;
    gi_err why;
    return !emu_kernel_info(m, kernel, &info, &why) && strcmp(why.code, "usage") == 0;
}

/* Returns the code that a launch runs: other code, where it has the kernel or must have it. NULL:
** it is machine code. */
static EmuModule *code_of(const Run *run, int module, const char *kernel) {
    const Loaded *m = &run->modules[module];
    return run->options->partial && m->used && lacks(m->used, kernel) ? m->recorded : m->used;
}

/* What the launch that just ended was like, for when all of them are known. */
static void note(Run *run, const EmuLaunch *l, const EmuResult *r) {
    ReplayResult *out = run->out;
    gi_grow(run->taken, out->n_launches, run->cap_taken);
    run->taken[out->n_launches] =
        (ReplayTaken){r->ticks, replay_share(run->options->model, l->grid, r)};
    if (run->options->touches)
        replay_touched(&out->touches, run->emu, out->n_launches, !l->cooperative && r->nested == 0);
    out->n_launches++;
}

static bool launch(Run *run, const Event *e, int number, const char *kernel,
                   const uint8_t *params) {
    const ReplayOptions *o = run->options;
    EmuResult r;
    uint64_t spent = run->out->warp_instructions;
    ReplayShape s = replay_shape(o->shapes, o->n_shapes, number, e->grid, e->block);
    EmuLaunch l = {.kernel = kernel,
                   .grid = {s.grid[0], s.grid[1], s.grid[2]},
                   .block = {s.block[0], s.block[1], s.block[2]},
                   .shared_bytes = (size_t)e->shared,
                   .params = params,
                   .cooperative = e->cooperative,
                   .cluster = {e->cluster[0], e->cluster[1], e->cluster[2]},
                   .budget = o->budget == 0 ? 0 : o->budget > spent ? o->budget - spent : 1,
                   .count_uninitialised = o->count_uninitialised,
                   .check_races = o->check_races,
                   .refuse_benign_races = o->refuse_benign_races,
                   .meets = o->meets,
                   .backwards = o->backwards,
                   .exact = o->exact,
                   .interrupt = o->interrupt};
    EmuModule *code = code_of(run, e->number, kernel);
    bool other = code != run->modules[e->number].recorded;
    bool stays = o->n_code > 0 && !other && o->exact == NULL; /* its races are no mutant's */
    if (stays) l.check_races = EMU_RACES_NONE;
    if (other) carry_variables(run, e->number, true);
    if (!emu_launch(code, &l, &r, run->err)) return false;
    if (other) carry_variables(run, e->number, false);
    count(run, kernel, &r);
    note(run, &l, &r);
    if (r.status != EMU_OK) end_by(run, &r);
    return true;
}

/* What it did follows as data. It may have touched anything. */
static void opaque_launch(Run *run, const char *kernel) {
    ReplayResult *out = run->out;
    kernel_row(run, kernel)->launches++;
    gi_grow(run->taken, out->n_launches, run->cap_taken);
    run->taken[out->n_launches] = (ReplayTaken){0};
    if (run->options->touches) replay_touched(&out->touches, run->emu, out->n_launches, false);
    out->n_launches++;
    run->is_opaque = true;
}

uint8_t *replay_joined(const uint8_t *first, size_t first_bytes, ReplayJoin at,
                       const uint8_t *second, size_t *bytes) {
    size_t begins = at < first_bytes ? first_bytes : at;
    uint8_t *all = gi_alloc(begins + *bytes + REPLAY_JOIN_PAD);
    memcpy(all, first, first_bytes);
    memcpy(all + begins, second, *bytes);
    *bytes += begins;
    return all;
}

static void forget_first(Run *run) {
    free(run->first.kernel), free(run->first.params);
    run->first.kernel = NULL, run->first.params = NULL;
}

/* The launch is done with the next one. */
static void put_off(Run *run, const Event *e, char *kernel, uint8_t *params, ReplayJoin at) {
    forget_first(run);
    run->first = (First){*e, kernel, params, at, run->out->n_launches};
    gi_grow(run->taken, run->out->n_launches, run->cap_taken);
    run->taken[run->out->n_launches++] = (ReplayTaken){0};
}

static bool nothing_between(Run *run) {
    return !run->first.kernel ||
           gi_fail(run->err, "usage",
                   "launch %d is to be done with the next one, which does not stand right behind "
                   "it",
                   run->first.number + 1);
}

/* The launch that was put off, with what this one is given besides. */
static bool launch_both(Run *run, const Event *e, const uint8_t *params) {
    First *f = &run->first;
    size_t bytes = e->hex_len / 2;
    uint8_t *all = replay_joined(f->params, f->event.hex_len / 2, f->at, params, &bytes);
    if (e->shared > f->event.shared) f->event.shared = e->shared;
    bool ok = takes(run, code_of(run, f->event.number, f->kernel), f->kernel, bytes,
                    REPLAY_JOIN_PAD - 1) &&
              launch(run, &f->event, f->number, f->kernel, all);
    free(all);
    forget_first(run);
    return ok;
}

static bool run_launch(Run *run, const Event *e) {
    const ReplayOptions *o = run->options;
    int n = run->out->n_launches;
    if (e->number >= run->n_modules) return damaged(run, "there is no such module");
    char *kernel = name_of(e);
    if (code_of(run, e->number, kernel) == NULL) {
        bool apart = nothing_between(run);
        if (apart) opaque_launch(run, kernel);
        free(kernel);
        return apart;
    }
    run->is_opaque = false;
    uint8_t *params = arguments(run, e);
    if (n < o->n_joins && o->joins[n]) return put_off(run, e, kernel, params, o->joins[n]), true;
    bool ok = run->first.kernel ? launch_both(run, e, params)
                                : takes(run, code_of(run, e->number, kernel), kernel,
                                        e->hex_len / 2, 0) &&
                                      launch(run, e, n, kernel, params);
    free(params);
    free(kernel);
    return ok;
}

/* --- all of it --- */

static bool run_event(Run *run, const Event *e) {
    if (e->kind != EVENT_LAUNCH && e->kind != EVENT_NONE && !nothing_between(run)) return false;
    switch (e->kind) {
    case EVENT_MEMORY: return begin_memory(run, e);
    case EVENT_FREE: return end_memory(run, e);
    case EVENT_ARRAY: return begin_array(run, e);
    case EVENT_FREE_ARRAY: return end_array(run, e);
    case EVENT_TEXTURE: return begin_texture(run, e);
    case EVENT_FREE_TEXTURE: return end_texture(run, e);
    case EVENT_WRITE: return write_rows(run, e);
    case EVENT_SET: return set_rows(run, e);
    case EVENT_COPY: return copy_rows(run, e);
    case EVENT_LAUNCH: return run_launch(run, e);
    case EVENT_WROTE: return run->is_opaque ? write_rows(run, e) : read_rows(run, e);
    case EVENT_READ: return read_rows(run, e);
    default: return true;
    }
}

static bool interrupted(Run *run) {
    run->ended = true;
    run->out->status = EMU_ABORTED;
    return true;
}

static bool each_event(Run *run, bool (*f)(Run *run, const Event *e)) {
    size_t len;
    const char *at = recording_events(run->recording, &len), *end = at + len;
    run->line = 0;
    while (at < end && !run->ended) {
        Event e;
        const char *line_end = event_line(at, end);
        run->line++;
        if (!event_read(at, line_end, &e)) return damaged(run, "it is not understood");
        if (run->options->interrupt && *run->options->interrupt) return interrupted(run);
        /* lists that some events are looked up in */
        if (!work(run, 16 + (uint64_t)(run->n_hosts + run->n_textures + run->n_variables)))
            return false;
        if (!f(run, &e)) return false;
        at = line_end < end ? line_end + 1 : end;
    }
    return true;
}

/* The time of all launches, as their turns are; the GPU idles the less. */
static bool take_turns(Run *run) {
    const ReplayOptions *o = run->options;
    ReplayResult *out = run->out;
    double ns = out->ns;
    if (o->turns == NULL || out->status != EMU_OK) return true;
    if (!replay_turns_check(o->turns, o->n_turns, out->n_launches, run->err)) return false;
    out->ticks = replay_together(o->turns, run->taken, out->n_launches);
    out->ns = out->ticks / o->model->clock_ghz;
    out->energy_j -= o->model->power_idle_w * (ns - out->ns) * 1e-9;
    return true;
}

static void release(Run *run) {
    for (int i = 0; i < run->n_textures; i++) emu_texture_free(run->emu, run->textures[i].handle);
    for (int i = 0; i < run->n_modules; i++) {
        if (run->modules[i].used != run->modules[i].recorded) emu_unload(run->modules[i].used);
        emu_unload(run->modules[i].recorded);
    }
    emu_free(run->emu);
    for (int i = 0; i < run->n_hosts; i++) free(run->hosts[i].data);
    for (int i = 0; i < run->n_arrays; i++) free(run->arrays[i].data);
    for (int i = 0; i < run->n_variables; i++) free(run->variables[i].name);
    for (int i = 0; i < run->n_managed; i++) free(run->managed[i].name), free(run->managed[i].data);
    free(run->managed), free(run->taken);
    forget_first(run);
    free(run->modules), free(run->variables), free(run->arrays), free(run->hosts);
    free(run->textures);
}

/* Has the recording as many bytes as the line speaks of? */
static bool has_data(const Recording *r, const Event *e) {
    uint64_t bytes;
    char name[RECORD_NAME] = "";
    bool has = e->kind == EVENT_WRITE || e->kind == EVENT_WROTE || e->kind == EVENT_READ;
    if (!has || event_is_nothing(e)) return true;
    if (e->name_len != RECORD_NAME - 1 || !event_is_small(e)) return false;
    memcpy(name, e->name, RECORD_NAME - 1);
    return recording_size(r, name, &bytes) && bytes == event_volume(e);
}

bool replay_check(const Recording *r, gi_err *err) {
    size_t len;
    const char *at = recording_events(r, &len), *end = at + len;
    for (int line = 1; at < end; line++) {
        Event e;
        const char *line_end = event_line(at, end);
        if (!event_read(at, line_end, &e))
            return gi_fail(err, "format", "event %d of the recording is not understood", line);
        if (!has_data(r, &e))
            return gi_fail(err, "format",
                           "event %d of the recording speaks of data that are not there", line);
        at = line_end < end ? line_end + 1 : end;
    }
    return true;
}

bool replay_run(const Recording *r, const ReplayOptions *options, ReplayResult *out, gi_err *err) {
    ReplayResult result = {.status = EMU_OK, .meets.is_whole = options->meets};
    Run run = {.recording = r, .options = options, .out = &result, .err = err};
    run.emu = emu_new(options->model);
    emu_memory_limit(run.emu, options->memory_bytes);
    if (options->exact) emu_exact_program(options->exact);
    bool ok = each_event(&run, find_managed) && each_event(&run, prepare_event) &&
              replace_code(&run);
    if (ok) set_variables(&run);
    ok = ok && each_event(&run, run_event);
    if (ok) hold_variables(&run);
    ok = ok && (run.ended || nothing_between(&run)) && take_turns(&run);
    release(&run);
    if (ok) *out = result;
    else replay_free(&result);
    return ok;
}

void replay_free(ReplayResult *r) {
    for (int i = 0; i < r->n_kernels; i++) free(r->kernels[i].name);
    for (int i = 0; i < r->n_reads; i++) free(r->reads[i].bytes);
    for (int i = 0; i < r->n_held; i++) free(r->held[i].bytes);
    free(r->held), free(r->touches.list);
    free(r->kernels);
    free(r->reads);
    *r = (ReplayResult){0};
}
