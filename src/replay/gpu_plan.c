/* gpu_plan.c - see gpu_plan.h. The recording is read twice: for what there is (modules, memory,
** data), and for what is done, which becomes a list of copies, fills and launches whose addresses
** are the GPU's.
*/
#include "replay/gpu_plan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "replay/events.h"

#define MOST_CODE ((uint64_t)1 << 28) /* bytes of a module */

static bool damaged(const ReplayGpu *g, const char *what) {
    return gi_fail(g->err, "format", "event %d of the recording cannot be replayed on a GPU: %s",
                   g->line, what);
}

static char *name_of(const Event *e) {
    return gi_strndup(e->name, (size_t)e->name_len);
}

/* --- what there is: data --- */

static bool is_piece(const ReplayGpu *g, const Event *e, uint64_t *bytes, char name[RECORD_NAME]) {
    if (e->name_len != RECORD_NAME - 1 || !event_is_small(e))
        return damaged(g, "its data are not there");
    memcpy(name, e->name, RECORD_NAME - 1);
    name[RECORD_NAME - 1] = '\0';
    return (recording_size(g->recording, name, bytes) && *bytes == event_volume(e)) ||
           damaged(g, "its data have another size");
}

static Piece *find_piece(const Pieces *p, const char *name) {
    for (int i = 0; i < p->n; i++)
        if (memcmp(p->list[i].name, name, RECORD_NAME) == 0) return &p->list[i];
    return NULL;
}

static void add_piece(Pieces *p, const char *name, uint64_t bytes) {
    Piece piece = {.offset = p->bytes, .bytes = bytes};
    memcpy(piece.name, name, RECORD_NAME);
    gi_grow(p->list, p->n, p->cap);
    p->list[p->n++] = piece;
    p->bytes += (bytes + 255) & ~(uint64_t)255;
}

static bool count_given(ReplayGpu *g, const Event *e) {
    char name[RECORD_NAME];
    uint64_t bytes;
    if (event_is_nothing(e)) return true;
    if (!is_piece(g, e, &bytes, name)) return false;
    if (!find_piece(&g->gives, name)) add_piece(&g->gives, name, bytes);
    return true;
}

static bool count_got(ReplayGpu *g, const Event *e) {
    char name[RECORD_NAME];
    uint64_t bytes;
    if (event_is_nothing(e)) return true;
    if (!is_piece(g, e, &bytes, name)) return false;
    add_piece(&g->gets, name, bytes);
    return true;
}

/* All pieces behind each other, as words. */
static Array *new_array(uint64_t bytes, gi_err *err) {
    int64_t words = (int64_t)(bytes / 8 ? bytes / 8 : 1);
    return array_new(ARRAY_U64, 1, &words, err);
}

static Array *read_pieces(const ReplayGpu *g, const Pieces *p) {
    Array *a = new_array(p->bytes, g->err);
    for (int i = 0; a && i < p->n; i++) {
        const Piece *piece = &p->list[i];
        uint8_t *to = (uint8_t *)a->data + piece->offset;
        if (recording_read(g->recording, piece->name, to, (size_t)piece->bytes, g->err)) continue;
        array_unref(a);
        return NULL;
    }
    return a;
}

/* --- what there is: code --- */

/* The driver finds what is visible: so are all variables of a module, here. Their declarations
** begin a line. */
static char *made_visible(const char *ptx, size_t len, size_t *out_len) {
    gi_buf out = {0};
    for (const char *at = ptx, *end = ptx + len; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((line_end ? line_end + 1 : end) - at);
        bool hidden = (n > 8 && memcmp(at, ".global ", 8) == 0) ||
                      (n > 7 && memcmp(at, ".const ", 7) == 0);
        if (hidden) gi_buf_adds(&out, ".visible ");
        gi_buf_add(&out, at, n);
        at += n;
    }
    *out_len = out.len;
    return out.data ? out.data : gi_strdup("");
}

DeviceModule *gpu_load(const ReplayGpu *g, const char *code, size_t len, gi_err *err) {
    size_t n;
    if (len >= 4 && memcmp(code, "\177ELF", 4) == 0) return device_load(g->device, code, len, err);
    char *text = made_visible(code, len, &n);
    DeviceModule *m = device_load(g->device, text, n, err);
    free(text);
    return m;
}

static char *code_of_event(const ReplayGpu *g, const Event *e, uint64_t *bytes) {
    char *name = name_of(e), *ptx = NULL;
    bool there = recording_size(g->recording, name, bytes) && *bytes <= MOST_CODE;
    if (!there) damaged(g, "its code is not there");
    else if ((ptx = calloc(1, (size_t)*bytes + 1)) == NULL)
        gi_fail(g->err, "nomem", "no memory for a module of the recording");
    else if (!recording_read(g->recording, name, ptx, (size_t)*bytes, g->err)) {
        free(ptx);
        ptx = NULL;
    }
    free(name);
    return ptx;
}

static bool add_module(ReplayGpu *g, const Event *e) {
    uint64_t bytes;
    if (e->number != g->n_modules) return damaged(g, "its number is wrong");
    char *ptx = code_of_event(g, e, &bytes);
    if (ptx == NULL) return false;
    gi_grow(g->code, g->n_modules, g->cap_code);
    gi_grow(g->recorded, g->n_modules, g->cap_modules);
    g->code[g->n_modules] = ptx;
    g->recorded[g->n_modules] = gpu_load(g, ptx, (size_t)bytes, g->err);
    return g->recorded[g->n_modules++] != NULL;
}

static bool is_word_part(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Is the word in the text, alone? */
static bool has_word(const char *at, const char *end, const char *word) {
    size_t n = strlen(word);
    for (const char *p = at; p + n <= end; p++)
        if (memcmp(p, word, n) == 0 && !is_word_part(p[-1]) && !is_word_part(p[n])) return true;
    return false;
}

/* Does the code declare it as a constant, which no kernel writes? */
static bool is_constant(const char *ptx, const char *name) {
    const char *end = ptx + strlen(ptx);
    for (const char *at = ptx; at < end; at = event_line(at, end) + 1) {
        const char *line_end = event_line(at, end), *found = strstr(at, ".const ");
        if (found == NULL) return false;
        if (*at == '.' && found < line_end && has_word(found + 6, line_end, name)) return true;
    }
    return false;
}

static bool add_variable(ReplayGpu *g, const Event *e) {
    Variable v = {.module = e->number, .address = e->address, .bytes = e->bytes};
    if (e->number >= g->n_modules) return damaged(g, "there is no such module");
    v.name = name_of(e);
    v.is_constant = is_constant(g->code[e->number], v.name);
    gi_grow(g->variables, g->n_variables, g->cap_variables);
    g->variables[g->n_variables++] = v;
    return true;
}

/* --- what there is: memory --- */

static bool add_memory(ReplayGpu *g, const Event *e) {
    if (e->bytes >> 40 || e->address + e->bytes < e->address)
        return damaged(g, "its size is impossible");
    if (e->address == 0) return damaged(g, "no memory begins at address 0");
    gi_grow(g->memory, g->n_memory, g->cap_memory);
    g->memory[g->n_memory++] = (SequenceMemory){.address = e->address, .bytes = e->bytes};
    return true;
}

static int by_address(const void *a, const void *b) {
    const SequenceMemory *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static int variable_at(const ReplayGpu *g, uint64_t address) {
    for (int i = 0; i < g->n_variables; i++)
        if (address >= g->variables[i].address &&
            address - g->variables[i].address < g->variables[i].bytes)
            return i;
    return -1;
}

/* A managed variable is its module's. */
static void leave_variables(ReplayGpu *g) {
    int n = 0;
    for (int i = 0; i < g->n_memory; i++)
        if (variable_at(g, g->memory[i].address) < 0) g->memory[n++] = g->memory[i];
    g->n_memory = n;
}

/* Memory of the host's comes and goes: what lay over another at another time is one. */
static void join_memory(ReplayGpu *g) {
    int n = 0;
    leave_variables(g);
    if (g->n_memory == 0) return;
    qsort(g->memory, (size_t)g->n_memory, sizeof *g->memory, by_address);
    for (int i = 1; i < g->n_memory; i++) {
        SequenceMemory *last = &g->memory[n], *m = &g->memory[i];
        uint64_t end = last->address + last->bytes, own = m->address + m->bytes;
        if (m->address >= end) g->memory[++n] = *m;
        else if (own > end) last->bytes = own - last->address;
    }
    g->n_memory = n + 1;
}

static const SequenceMemory *memory_at(const ReplayGpu *g, uint64_t address) {
    int low = 0, high = g->n_memory;
    while (low < high) { /* the first that begins behind it */
        int middle = (low + high) / 2;
        if (g->memory[middle].address <= address) low = middle + 1;
        else high = middle;
    }
    const SequenceMemory *m = low > 0 ? &g->memory[low - 1] : NULL;
    return m && address - m->address <= m->bytes ? m : NULL;
}

/* --- what there is: pointers within data --- */

/* Where a word points that is the address of memory which is elsewhere now; 0: it is none. */
static uint64_t pointed(const ReplayGpu *g, uint64_t word) {
    const SequenceMemory *m = memory_at(g, word);
    bool moved = m && m->at != m->address && word - m->address < m->bytes;
    return moved ? m->at + (word - m->address) : 0;
}

/* Addresses of the virtual GPU's own memory are numbers from 2^47 on, 2^40 apart. Two whole numbers
** of 32 bits that look like one are rare, and most that come near are none: so data are changed
** where nearly all that come near are addresses; a struct of pointers may have numbers, too. */
static bool points(const ReplayGpu *g, const uint64_t *words, size_t n) {
    enum { ADDRESSES_A_NUMBER = 8 };
    size_t hits = 0, misses = 0;
    uint64_t first = (uint64_t)1 << 47, behind = g->memory[g->n_memory - 1].address + first / 128;
    for (size_t i = 0; i < n; i++) {
        bool near = words[i] >= first && words[i] < behind;
        if (pointed(g, words[i])) hits++;
        else if (near && variable_at(g, words[i]) < 0) misses++;
    }
    return hits > 0 && hits >= ADDRESSES_A_NUMBER * misses;
}

static void move_pointers(const ReplayGpu *g, const Pieces *p, Array *a) {
    for (int i = 0; i < p->n && g->n_memory > 0; i++) {
        uint64_t *words = (uint64_t *)a->data + p->list[i].offset / 8;
        size_t n = (size_t)(p->list[i].bytes / 8);
        if (!points(g, words, n)) continue;
        for (size_t k = 0; k < n; k++)
            if (pointed(g, words[k])) words[k] = pointed(g, words[k]);
    }
}

/* --- what there is: data on the GPU --- */

static bool place_data(ReplayGpu *g) {
    if ((g->given = read_pieces(g, &g->gives)) == NULL) return false;
    if ((g->right = read_pieces(g, &g->gets)) == NULL) return false;
    move_pointers(g, &g->gives, g->given);
    move_pointers(g, &g->gets, g->right);
    if ((g->got = new_array(g->gets.bytes, g->err)) == NULL) return false;
    array_fill_sentinel(g->got);
    for (int i = 0; i < g->gets.n; i++) { /* what lies between the pieces is no answer */
        const Piece *p = &g->gets.list[i];
        uint64_t end = i + 1 < g->gets.n ? p[1].offset : g->gets.bytes;
        memset((uint8_t *)g->right->data + p->offset + p->bytes, ARRAY_SENTINEL_BYTE,
               (size_t)(end - p->offset - p->bytes));
    }
    g->given_at = device_buffer(g->device, g->given, ACCESS_READ, "what the host gave", g->err);
    g->right_at = device_buffer(g->device, g->right, ACCESS_NONE, "what the host got", g->err);
    g->got_at = device_buffer(g->device, g->got, ACCESS_WRITE, "what the host gets", g->err);
    return g->given_at && g->right_at && g->got_at;
}

/* Is what the launch wrote an answer? */
static bool note_launch(ReplayGpu *g, const Event *e) {
    g->answers = false;
    for (int i = 0; i < g->n_answering; i++)
        g->answers |= strlen(g->answering[i]) == (size_t)e->name_len &&
                      memcmp(g->answering[i], e->name, (size_t)e->name_len) == 0;
    return true;
}

static bool first_event(ReplayGpu *g, const Event *e) {
    switch (e->kind) {
    case EVENT_MODULE:
    case EVENT_CUBIN: return add_module(g, e);
    case EVENT_VARIABLE: return add_variable(g, e);
    case EVENT_MEMORY: return add_memory(g, e);
    case EVENT_WRITE: return count_given(g, e);
    case EVENT_LAUNCH: return note_launch(g, e);
    case EVENT_WROTE: return !g->answers || count_got(g, e);
    case EVENT_READ: return count_got(g, e);
    default: return true;
    }
}

/* --- what is done: places --- */

/* The driver has made the array: its sizes are possible. */
static uint64_t row_bytes(const SequenceArray *a) {
    const EmuTexture row = {.kind = EMU_TEX_ARRAY,
                            .format = a->format,
                            .channels = a->channels,
                            .dims = 1,
                            .size = {(int64_t)a->size[0], 1, 1}};
    return (uint64_t)emu_texture_bytes(&row);
}

static bool in_array(const ReplayGpu *g, const Place *p, const Event *e) {
    if (p->array >= g->n_arrays) return false;
    const SequenceArray *a = &g->arrays[p->array];
    uint64_t row = row_bytes(a), rows = a->size[1] ? a->size[1] : 1;
    uint64_t slices = a->size[2] ? a->size[2] : 1;
    return p->x <= row && e->width <= row - p->x && p->y <= rows && e->height <= rows - p->y &&
           p->z <= slices && e->depth <= slices - p->z;
}

/* Where a place of the recording is here. */
static bool side_of(const ReplayGpu *g, const Place *p, const Event *e, Side *out) {
    if (!event_is_small(e) || !event_is_place(p, e))
        return damaged(g, "its sizes are impossible");
    *out = (Side){.variable = -1,
                  .place = {p->array, p->address, p->x, p->y, p->z, p->row, p->rows}};
    if (p->array >= 0) return in_array(g, p, e) || damaged(g, "its place is not in the array");
    uint64_t span = event_span(p, e);
    const SequenceMemory *m = memory_at(g, p->address);
    if (m && span <= m->bytes - (p->address - m->address)) {
        out->place.address = m->at + (p->address - m->address);
        return true;
    }
    int i = variable_at(g, p->address);
    if (i < 0 || span > g->variables[i].bytes - (p->address - g->variables[i].address))
        return damaged(g, "its place is in no memory that is there");
    out->variable = i;
    out->place.address = p->address - g->variables[i].address;
    return true;
}

/* Pieces lie without gaps. */
static Side piece_side(const DeviceBuffer *in, uint64_t offset, const Event *e) {
    return (Side){.variable = -1,
                  .place = {.array = -1, .address = device_buffer_address(in) + offset,
                            .row = e->width, .rows = e->height}};
}

static Op *add_op(ReplayGpu *g, OpKind kind, const Event *e) {
    gi_grow(g->ops, g->n_ops, g->cap_ops);
    Op *op = &g->ops[g->n_ops++];
    *op = (Op){.kind = kind, .extent = {e->width, e->height, e->depth}};
    return op;
}

/* --- what is done: each event --- */

/* Returns the new handle of a recorded texture handle; 0 if the word is not one. */
static uint64_t handle_of(const ReplayGpu *g, uint64_t word) {
    for (int i = 0; i < g->n_live; i++)
        if (g->live[i].recorded == word) return g->live[i].handle;
    return 0;
}

/* Handles among the data, as in a variable, become those of now. Recorded ones are numbers that
** nothing else is; little data has any. */
static void translate_handles(ReplayGpu *g, Piece *p) {
    uint64_t *words = (uint64_t *)g->given->data + p->offset / 8;
    if (p->is_current || p->bytes > EVENT_HANDLES_WITHIN) return;
    for (uint64_t i = 0; i < p->bytes / 8; i++) {
        uint64_t handle = handle_of(g, words[i]);
        if (handle == 0) continue;
        words[i] = handle;
        p->is_current = g->given_changed = true;
    }
}

static bool add_write(ReplayGpu *g, const Event *e) {
    char name[RECORD_NAME];
    uint64_t bytes;
    Side to;
    if (event_is_nothing(e)) return true;
    if (!is_piece(g, e, &bytes, name) || !side_of(g, &e->to, e, &to)) return false;
    Op *op = add_op(g, OP_COPY, e);
    Piece *p = find_piece(&g->gives, name);
    op->to = to;
    op->from = piece_side(g->given_at, p->offset, e);
    translate_handles(g, p);
    return true;
}

static bool add_read(ReplayGpu *g, const Event *e) {
    Side from;
    if (event_is_nothing(e)) return true;
    if (!side_of(g, &e->to, e, &from)) return false;
    Op *op = add_op(g, OP_COPY, e);
    op->from = from;
    op->to = piece_side(g->got_at, g->gets.list[g->next_get++].offset, e);
    return true;
}

static bool add_fill(ReplayGpu *g, const Event *e) {
    Side to;
    if (event_is_nothing(e)) return true;
    if (!side_of(g, &e->to, e, &to)) return false;
    if (to.place.array >= 0) return damaged(g, "arrays are not filled");
    Op *op = add_op(g, OP_FILL, e);
    op->to = to, op->value = e->value, op->element = e->element;
    return true;
}

static bool add_copy(ReplayGpu *g, const Event *e) {
    Side to, from;
    if (event_is_nothing(e)) return true;
    if (!side_of(g, &e->to, e, &to) || !side_of(g, &e->from, e, &from)) return false;
    Op *op = add_op(g, OP_COPY, e);
    op->to = to, op->from = from;
    return true;
}

/* The host's memory where some was before: it is new. */
static bool add_again(ReplayGpu *g, const Event *e) {
    Event whole = {.width = e->bytes, .height = 1, .depth = 1};
    Place at = {.array = -1, .address = e->address, .row = e->bytes, .rows = 1};
    Side to;
    if (e->is_device || e->bytes == 0 || variable_at(g, e->address) >= 0) return true;
    if (!side_of(g, &at, &whole, &to)) return false;
    Op *op = add_op(g, OP_FILL, &whole);
    op->to = to, op->element = 1;
    return true;
}

/* --- what is done: arrays, textures --- */

static bool format_of(const Event *e, SequenceArray *out) {
    static const EmuTexFormat formats[3][3] = {{EMU_TEX_S8, EMU_TEX_S16, EMU_TEX_S32},
                                               {EMU_TEX_U8, EMU_TEX_U16, EMU_TEX_U32},
                                               {EMU_TEX_F32, EMU_TEX_F16, EMU_TEX_F32}};
    int bits = e->bits[0], size = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : -1;
    for (out->channels = 0; out->channels < 4 && e->bits[out->channels] > 0; out->channels++)
        if (e->bits[out->channels] != bits) return false;
    if (size < 0 || e->parts > 2 || out->channels == 3 || (e->parts == 2 && size == 0))
        return false;
    out->format = formats[e->parts][size];
    return true;
}

static bool add_array(ReplayGpu *g, const Event *e) {
    SequenceArray a = {.size = {e->size[0], e->size[1], e->size[2]}, .flags = e->flags};
    if (e->number != g->n_arrays || !format_of(e, &a)) return damaged(g, "the array is impossible");
    if (sequence_array(g->sequence, &a, g->err) < 0) return false;
    gi_grow(g->arrays, g->n_arrays, g->cap_arrays);
    g->arrays[g->n_arrays++] = a;
    return true;
}

/* Texels from an address on are a row or rows, as the driver has them, of one memory. */
static bool texels_fit(const SequenceMemory *m, uint64_t address, const EmuTexture *t) {
    if (m == NULL || (t->kind != EMU_TEX_LINEAR && (t->dims != 2 || t->layers > 0))) return false;
    return (uint64_t)emu_texture_bytes(t) <= m->bytes - (address - m->address);
}

static bool add_texture(ReplayGpu *g, const Event *e) {
    EmuTexture t;
    gi_err why = {0};
    uint64_t address = 0;
    if (!event_texture(e, &t)) return damaged(g, "the texture is impossible");
    t.data = g; /* some */
    if (!emu_texture_check(&t, &why)) return damaged(g, why.message);
    if (e->number >= g->n_arrays) return damaged(g, "the texture's array is not there");
    if (e->number < 0) {
        const SequenceMemory *m = memory_at(g, e->bytes);
        if (!texels_fit(m, e->bytes, &t))
            return damaged(g, "the texture's texels are in no memory that is there");
        address = m->at + (e->bytes - m->address);
    }
    uint64_t handle = e->is_surface
                          ? sequence_surface(g->sequence, e->number, g->err)
                          : sequence_texture(g->sequence, &t, e->number, address, g->err);
    if (handle == 0) return false;
    gi_grow(g->live, g->n_live, g->cap_live);
    g->live[g->n_live++] = (Live){e->address, handle};
    return true;
}

static bool end_texture(ReplayGpu *g, const Event *e) {
    for (int i = 0; i < g->n_live; i++)
        if (g->live[i].recorded == e->address) {
            g->live[i] = g->live[--g->n_live];
            break;
        }
    return true;
}

/* --- what is done: launches --- */

/* Is the word within one value, not of two that are next to each other? */
static bool is_one_value(const KernelInfo *info, size_t at) {
    for (int i = 0; i < info->n_params; i++)
        if (info->param_offset[i] <= at && at + 8 <= info->param_offset[i] + info->param_size[i])
            return true;
    return false;
}

static int row_of(ReplayGpu *g, int module, const char *name, size_t n_params) {
    for (int i = 0; i < g->n_rows; i++)
        if (g->rows[i].module == module && strcmp(g->rows[i].name, name) == 0) return i;
    gi_grow(g->rows, g->n_rows, g->cap_rows);
    g->rows[g->n_rows] = (Row){.module = module, .name = gi_strdup(name), .n_params = n_params};
    return g->n_rows++;
}

/* A word of the arguments that was a handle or an address then is one of now. */
static void translate(const ReplayGpu *g, Op *op, size_t at) {
    uint64_t word;
    memcpy(&word, op->params + at, 8);
    uint64_t handle = handle_of(g, word);
    if (handle) {
        memcpy(op->params + at, &handle, 8);
        return;
    }
    int v = variable_at(g, word);
    const SequenceMemory *m = v < 0 ? memory_at(g, word) : NULL;
    if (m) {
        word = m->at + (word - m->address);
        memcpy(op->params + at, &word, 8);
    }
    if (v < 0) return;
    gi_grow(op->fixups, op->n_fixups, op->cap_fixups);
    op->fixups[op->n_fixups++] = (Fixup){at, v, word - g->variables[v].address};
}

static bool add_launch(ReplayGpu *g, const Event *e) {
    if (e->number >= g->n_modules) return damaged(g, "there is no such module");
    char *name = name_of(e);
    KernelInfo info;
    int row = row_of(g, e->number, name, e->hex_len / 2);
    bool there = device_kernel_info(g->recorded[e->number], name, &info, g->err);
    free(name);
    if (!there) return false;
    g->rows[row].launches++;
    if (g->rows[row].n_params != e->hex_len / 2)
        return damaged(g, "its arguments have another size than before");
    Op *op = add_op(g, OP_LAUNCH, e);
    memcpy(op->grid, e->grid, sizeof op->grid);
    memcpy(op->block, e->block, sizeof op->block);
    memcpy(op->cluster, e->cluster, sizeof op->cluster);
    op->launch = g->n_launches++;
    op->row = row, op->shared = (size_t)e->shared, op->cooperative = e->cooperative;
    op->params = event_arguments(e);
    for (size_t at = 0; at + 8 <= e->hex_len / 2; at += 8)
        if (is_one_value(&info, at)) translate(g, op, at);
    g->last = g->n_ops - 1;
    if (g->first < 0) g->first = g->last;
    return true;
}

static bool second_event(ReplayGpu *g, const Event *e) {
    switch (e->kind) {
    case EVENT_MEMORY: return add_again(g, e);
    case EVENT_ARRAY: return add_array(g, e);
    case EVENT_TEXTURE: return add_texture(g, e);
    case EVENT_FREE_TEXTURE: return end_texture(g, e);
    case EVENT_WRITE: return add_write(g, e);
    case EVENT_SET: return add_fill(g, e);
    case EVENT_COPY: return add_copy(g, e);
    case EVENT_LAUNCH: return note_launch(g, e) && add_launch(g, e);
    case EVENT_WROTE: return !g->answers || add_read(g, e);
    case EVENT_READ: return add_read(g, e);
    default: return true;
    }
}

static bool each_event(ReplayGpu *g, bool (*f)(ReplayGpu *g, const Event *e)) {
    size_t len;
    const char *at = recording_events(g->recording, &len), *end = at + len;
    for (g->line = 1; at < end; g->line++) {
        Event e;
        const char *line_end = event_line(at, end);
        if (!event_read(at, line_end, &e)) return damaged(g, "it is not understood");
        if (!f(g, &e)) return false;
        at = line_end < end ? line_end + 1 : end;
    }
    return true;
}

/* --- all of it --- */

bool gpu_plan(ReplayGpu *g) {
    if ((g->sequence = sequence_open(g->device, g->err)) == NULL) return false;
    if (!each_event(g, first_event)) return false;
    join_memory(g);
    g->used = gi_alloc((size_t)(g->n_modules + 1) * sizeof *g->used);
    if (!sequence_memory(g->sequence, g->memory, g->n_memory, g->err) || !place_data(g) ||
        !each_event(g, second_event))
        return false;
    if (g->given_changed && !device_buffer_write(g->given_at, g->given, g->err)) return false;
    return g->first >= 0 ||
           gi_fail(g->err, "format",
                   "the recording launches no kernel: there is nothing to replay");
}

static void free_ops(ReplayGpu *g) {
    for (int i = 0; i < g->n_ops; i++) {
        free(g->ops[i].params);
        free(g->ops[i].fixups);
    }
    free(g->ops);
}

void gpu_plan_free(ReplayGpu *g) {
    for (int i = 0; i < g->n_modules; i++) device_module_free(g->recorded[i]);
    for (int i = 0; i < g->n_modules; i++) free(g->code[i]);
    for (int i = 0; i < g->n_variables; i++) free(g->variables[i].name);
    for (int i = 0; i < g->n_rows; i++) free(g->rows[i].name);
    device_buffer_free(g->given_at), array_unref(g->given);
    device_buffer_free(g->right_at), array_unref(g->right);
    device_buffer_free(g->got_at), array_unref(g->got);
    sequence_close(g->sequence);
    free_ops(g);
    free(g->recorded), free(g->code), free(g->used), free(g->variables);
    free(g->memory), free(g->arrays);
    free(g->gives.list), free(g->gets.list), free(g->live), free(g->rows);
    free(g->awaited);
}
