/* tape.c - writes what a program does on a GPU as lines of a recording (docs/recording.md).
**
** Memory of the device's own is recorded as it comes. Memory that the host has, too (managed,
** pinned, registered) is the host's until a launch can reach it: one whose arguments, or data that
** the device was given before, name an address in it. From then on it is looked at around each
** launch: what is another before it, the host wrote; what is another behind it and still there
** when the host waits, the kernel did.
**
** A launch's time is between two events in its stream. The lines wait until it is known: until the
** host waits, or until there are MOST_TIMED launches.
**
** A launch of machine code is opaque: the virtual GPU cannot do it, so what it wrote is kept as
** data ("wrote"). From the first one on all of the GPU's memory is looked at behind each launch
** (marks.c). An opaque launch may read what other kernels wrote before it, and nothing would show
** there what these did wrong: so that is an answer, as if the host copied it out ("read"). New
** memory is filled with zeros, as that of a replay is: else what lies there by chance would be
** among the data.
**
** Launches of a closed library's machine code (origin.c) are not looked at one by one: what all of
** them wrote is kept before the next launch of another kernel, and where a copy reads it.
*/
#include "inject/inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "inject/cupti.h"
#include "record/record.h"

enum { MOST_TIMED = 512 };

typedef struct Region {
    uint64_t address;
    size_t bytes;
    MemoryKind kind;
    uint64_t serial;         /* which came before which */
    bool seen;               /* by launches: memory that the host has, too */
    bool known, changed;     /* hash is of what a replay has there now; a kernel changed it since */
    XXH128_hash_t hash;
    Marks *marks;            /* of the device's own, once there was an opaque launch */
    bool is_machine;         /* a variable of machine code */
    char begins[RECORD_NAME]; /* contents at the beginning of the recording, where that was late */
} Region;

typedef struct Line {
    char *text;
    GpuEvent from, to; /* NULL: it has no time */
    const char *rest;  /* of the text, behind the time */
} Line;

enum { WAITING, OPEN, OVER };

static RecordWriter *writer;
static int phase, device = -1;
static uint64_t counted; /* launches that the wish speaks of */
static Region *regions;  /* by address */
static int n_regions, cap_regions, n_unseen;
static uint64_t n_made; /* regions ever */
static uint64_t *seen;  /* addresses of what launches see, what came first first */
static int n_seen, cap_seen;
static Line *lines;
static int n_lines, cap_lines, n_timed;
static GpuEvent *events; /* that no line has */
static int n_events, cap_events;
static bool looks;  /* there was an opaque launch */
static bool stale;  /* memory has changed since it was looked at, by no launch */
static bool unsettled; /* … by launches of closed libraries, since it was looked at */
static int n_plain; /* launches that were not opaque, since the window opened */
static uint64_t *given; /* words of the arguments of kernels since the last opaque launch, sorted */
static int n_given, cap_given;
static _Thread_local GpuEvent started; /* before the launch that this thread makes */

static const char *const kinds[] = {"device", "managed", "pinned", "registered", "variable"};

/* --- lines --- */

static GpuEvent take_event(void) {
    return n_events > 0 ? events[--n_events] : gpu_event();
}

static void give_event(GpuEvent e) {
    if (e == NULL) return;
    gi_grow(events, n_events, cap_events);
    events[n_events++] = e;
}

static void write_line(Line *l) {
    if (l->to == NULL) record_event(writer, "%s", l->text);
    else record_event(writer, "%s %.17g %s", l->text, gpu_between(l->from, l->to), l->rest);
    give_event(l->from), give_event(l->to);
    free(l->text);
}

static void write_lines(void) {
    for (int i = 0; i < n_lines; i++) write_line(&lines[i]);
    n_lines = n_timed = 0;
    record_flush(writer);
}

static void add_line(gi_buf *text, GpuEvent from, GpuEvent to, size_t rest) {
    gi_grow(lines, n_lines, cap_lines);
    lines[n_lines++] = (Line){text->data, from, to, text->data + rest};
    n_timed += to != NULL;
    if (n_timed == MOST_TIMED) write_lines();
}

static void tell_list(const char *fmt, va_list args) {
    char text[1000]; /* of numbers and names of blobs */
    gi_buf line = {0};
    vsnprintf(text, sizeof text, fmt, args);
    gi_buf_adds(&line, text);
    add_line(&line, NULL, NULL, 0);
}

static void tell(const char *fmt, ...) GI_PRINTF(1, 2);
static void tell(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    tell_list(fmt, args);
    va_end(args);
}

void tape_line(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    if (writer && phase != OVER) tell_list(fmt, args);
    va_end(args);
}

/* --- regions --- */

/* The first that begins behind the address. */
static int behind(uint64_t address) {
    int from = 0, to = n_regions;
    while (from < to) {
        int half = (from + to) / 2;
        if (regions[half].address > address) to = half;
        else from = half + 1;
    }
    return from;
}

static Region *region_at(uint64_t address) {
    int i = behind(address) - 1;
    return i >= 0 && address - regions[i].address < regions[i].bytes ? &regions[i] : NULL;
}

static bool is_shared(const Region *r) {
    return r->kind == MEMORY_MANAGED || r->kind == MEMORY_PINNED || r->kind == MEMORY_REGISTERED;
}

static void *host_bytes(uint64_t address) {
    return (void *)(uintptr_t)address;
}

static void tell_region(const char *what, const Region *r, const char *blob) {
    tell("%s 0x%llx %zu 1 %zu 1 1 %s", what, (unsigned long long)r->address, r->bytes, r->bytes,
         blob);
}

/* A blob of what is there now; false where the GPU does not say. */
static bool keep_region(const Region *r, char name[RECORD_NAME]) {
    void *bytes = malloc(r->bytes);
    bool ok = bytes && gpu_read(bytes, r->address, r->bytes);
    if (ok) record_blob(writer, bytes, r->bytes, name);
    free(bytes);
    return ok;
}

static void tell_kept(const char *what, const Region *r) {
    char blob[RECORD_NAME];
    if (!keep_region(r, blob))
        refuse("%zu bytes at 0x%llx cannot be copied from the GPU", r->bytes,
               (unsigned long long)r->address);
    tell_region(what, r, blob);
}

/* --- memory that both sides see --- */

static void see(uint64_t word) {
    Region *r = region_at(word);
    if (r == NULL || !is_shared(r) || r->seen) return;
    r->seen = true, r->known = r->changed = false;
    n_unseen--;
    gi_grow(seen, n_seen, cap_seen);
    int at = n_seen++;
    for (; at > 0 && region_at(seen[at - 1])->serial > r->serial; at--) seen[at] = seen[at - 1];
    seen[at] = r->address;
}

/* Words that are addresses of such memory: launches may reach it from now on. */
static void see_words(const void *bytes, size_t n) {
    for (size_t at = 0; n_unseen > 0 && at + 8 <= n; at += 8) {
        uint64_t word;
        memcpy(&word, (const char *)bytes + at, sizeof word);
        if (word >= regions[0].address) see(word);
    }
}

static XXH128_hash_t hash_now(const Region *r) {
    return XXH3_128bits(host_bytes(r->address), r->bytes);
}

static void tell_contents(const char *what, const Region *r) {
    char blob[RECORD_NAME];
    record_blob(writer, host_bytes(r->address), r->bytes, blob);
    tell_region(what, r, blob);
}

static void take_from_host(Region *r) {
    XXH128_hash_t now = hash_now(r);
    if (r->known && XXH128_isEqual(now, r->hash)) return;
    tell_contents("write", r);
    r->hash = now, r->known = true;
}

static void take_from_device(Region *r) {
    XXH128_hash_t now = hash_now(r);
    r->changed = r->changed || !XXH128_isEqual(now, r->hash);
    r->hash = now;
}

static void each_seen(void (*f)(Region *r)) {
    for (int i = 0; i < n_seen; i++) f(region_at(seen[i]));
}

static void give_to_host(Region *r) {
    if (!r->changed) return;
    r->changed = false;
    if (XXH128_isEqual(hash_now(r), r->hash)) tell_contents("read", r);
}

void tape_wait(void) {
    if (writer == NULL) return;
    if (phase == OPEN && n_seen > 0) {
        gpu_wait();
        each_seen(give_to_host);
    }
    write_lines();
}

/* --- what comes and goes --- */

static void one_device(void) {
    int now = gpu_current();
    if (device < 0) device = now;
    if (now >= 0 && now != device)
        refuse("the program uses more than one GPU, which cannot be recorded: let it see one "
               "(CUDA_VISIBLE_DEVICES=0)");
}

static void drop(Region *r) {
    n_unseen -= is_shared(r) && !r->seen;
    for (int i = 0; r->seen && i < n_seen; i++)
        if (seen[i] == r->address) {
            memmove(&seen[i], &seen[i + 1], (size_t)(n_seen - i - 1) * sizeof *seen);
            n_seen--;
        }
    marks_free(r->marks);
    memmove(r, r + 1, (size_t)(&regions[n_regions] - (r + 1)) * sizeof *r);
    n_regions--;
}

/* What lies where new memory does is gone: variables go with a module, memory with a context. */
static void forget_stale(uint64_t address, size_t bytes) {
    for (int i = n_regions - 1; i >= 0; i--) {
        Region *r = &regions[i];
        if (r->address >= address + bytes || address >= r->address + r->bytes) continue;
        if (r->kind != MEMORY_VARIABLE) tell("free 0x%llx", (unsigned long long)r->address);
        drop(r);
    }
}

void tape_memory(uint64_t address, size_t bytes, MemoryKind kind) {
    if (writer == NULL || phase == OVER || address == 0 || bytes == 0) return;
    one_device();
    forget_stale(address, bytes);
    int at = behind(address);
    gi_grow(regions, n_regions, cap_regions);
    memmove(&regions[at + 1], &regions[at], (size_t)(n_regions - at) * sizeof *regions);
    regions[at] = (Region){.address = address, .bytes = bytes, .kind = kind, .serial = n_made++};
    n_regions++;
    n_unseen += is_shared(&regions[at]);
    if (kind == MEMORY_DEVICE) gpu_zero(address, bytes);
    stale = true;
    tell("memory 0x%llx %zu %s", (unsigned long long)address, bytes, kinds[kind]);
}

static void forget(Region *r) {
    if (r->seen && phase == OPEN) gpu_wait(), give_to_host(r);
    tell("free 0x%llx", (unsigned long long)r->address);
    drop(r);
}

void tape_free(uint64_t address) {
    Region *r = writer && phase != OVER ? region_at(address) : NULL;
    if (r && r->address == address && r->kind != MEMORY_VARIABLE) forget(r);
}

void tape_free_all(void) {
    if (writer == NULL || phase == OVER) return;
    tape_wait();
    for (int i = n_regions - 1; i >= 0; i--)
        if (regions[i].kind != MEMORY_REGISTERED) forget(&regions[i]);
    n_events = 0; /* they were the context's */
}

void tape_module(int number, const char *code, size_t len, bool is_machine) {
    char blob[RECORD_NAME];
    if (writer == NULL || phase == OVER) return;
    record_blob(writer, code, len, blob);
    tell("%s %d %s", is_machine ? "cubin" : "module", number, blob);
}

void tape_variable(const void *module, const char *name, uint64_t address, size_t bytes,
                   bool managed) {
    Image *i = code_image(module);
    if (writer == NULL || phase == OVER || i == NULL || region_at(address)) return;
    int number = code_number(i);
    gi_buf line = {0};
    tape_memory(address, bytes, managed ? MEMORY_MANAGED : MEMORY_VARIABLE);
    gi_buf_addf(&line, "variable %d %s 0x%llx %zu", number, name, (unsigned long long)address,
                bytes);
    add_line(&line, NULL, NULL, 0);
    Region *r = region_at(address);
    if (r == NULL || !code_is_machine(i) || is_shared(r)) return;
    r->is_machine = true; /* and begins as its code says, which the virtual GPU cannot read */
    tell_kept("write", r);
}

/* --- copies and fills --- */

/* What a side is: the device's (or a variable of it), the host's, or both's. */
typedef struct Where {
    Region *region;
    bool device, shared;
} Where;

static Where where(const Side *s, int said) {
    if (s->array) return (Where){.device = true};
    Region *r = region_at(s->address);
    Where w = {r, r && !is_shared(r), r && is_shared(r)};
    if (r == NULL && (said == ON_DEVICE || (said == ANYWHERE && gpu_is_device(s->address))))
        refuse("the program copies to or from memory of the GPU at 0x%llx, and where it got that "
               "from cannot be recorded",
               (unsigned long long)s->address);
    return w;
}

static void side_text(const Side *s, char out[120]) {
    if (s->array) texture_place(s->array, s->x, s->y, s->z, out);
    else snprintf(out, 120, "0x%llx %zu %zu", (unsigned long long)s->address, s->row, s->rows);
}

/* Rows of the host's without gaps: where they are, or gathered in *room. */
static const void *rows_of(const Side *s, const Extent *e, gi_buf *room) {
    if (s->row == e->width && (s->rows == e->height || e->depth == 1))
        return host_bytes(s->address);
    for (size_t z = 0; z < e->depth; z++)
        for (size_t y = 0; y < e->height; y++)
            gi_buf_add(room, host_bytes(s->address + (z * s->rows + y) * s->row), e->width);
    return room->data;
}

/* What is written to a variable and is as long as a texture's handle may be one; it is recorded as
** the recording calls it. */
static const void *as_recorded(const Side *to, const void *bytes, size_t n, uint64_t *word) {
    const Region *r = region_at(to->address);
    if (n != sizeof *word || to->array || r == NULL || r->kind != MEMORY_VARIABLE) return bytes;
    memcpy(word, bytes, sizeof *word);
    *word = texture_word(*word);
    return word;
}

static void tell_rows(const char *what, const Side *device_side, const Side *host,
                      const Extent *e) {
    char blob[RECORD_NAME], side[120];
    gi_buf room = {0};
    uint64_t word;
    const void *bytes = rows_of(host, e, &room);
    size_t n = e->width * e->height * e->depth;
    if (strcmp(what, "write") == 0) {
        see_words(bytes, n);
        bytes = as_recorded(device_side, bytes, n, &word);
    }
    record_blob(writer, bytes, n, blob);
    side_text(device_side, side);
    tell("%s %s %zu %zu %zu %s", what, side, e->width, e->height, e->depth, blob);
    gi_buf_free(&room);
}

/* Memory that both have, written behind the kernels' back. */
static void touched(Where w) {
    if (w.shared) w.region->known = false;
}

static void tell_source(const Side *from, const Extent *e);

void tape_copy(const Side *to, int to_where, const Side *from, int from_where, const Extent *e,
               void *stream) {
    if (writer == NULL || phase != OPEN || !e->width || !e->height || !e->depth) return;
    stale = true;
    Where t = where(to, to_where), f = where(from, from_where);
    if (f.device && unsettled) tell_source(from, e);
    if (t.device && f.device) {
        char a[120], b[120];
        side_text(to, a), side_text(from, b);
        tell("copy %s %s %zu %zu %zu", a, b, e->width, e->height, e->depth);
    } else if (t.device) {
        if (f.shared) gpu_wait_stream(stream);
        tell_rows("write", to, from, e);
    } else if (f.device) {
        gpu_wait_stream(stream);
        tell_rows("read", from, to, e);
        tape_wait();
    }
    touched(t);
}

void tape_set(const Side *to, unsigned value, unsigned element, const Extent *e) {
    char side[120];
    if (writer == NULL || phase != OPEN || !e->width || !e->height) return;
    stale = true;
    Where w = where(to, ON_DEVICE);
    touched(w);
    if (!w.device) return;
    side_text(to, side);
    tell("set %s %u %u %zu %zu 1", side, value, element, e->width, e->height);
}

/* --- some launches only --- */

static bool counts(const Launched *l) {
    return wish.kernel[0] == '\0' || record_is_called(l->name, wish.kernel);
}

static void open_window(void) {
    phase = OPEN;
    gpu_wait();
    if (texture_any())
        refuse("there are arrays or textures where the recording begins, which can be recorded "
               "from the program's start alone: leave --skip, --count and --kernel out");
    for (int i = 0; i < n_regions; i++) {
        Region *r = &regions[i];
        r->known = r->changed = false;
        if (is_shared(r)) continue;
        if (!keep_region(r, r->begins))
            refuse("%zu bytes at 0x%llx cannot be copied from the GPU, where the recording begins",
                   r->bytes, (unsigned long long)r->address);
        tell_region("write", r, r->begins);
    }
}

static void settle(void);

/* As if the host copied out all that is another now. */
static void close_window(void) {
    tape_wait();
    gpu_wait();
    settle();
    for (int i = 0; i < n_regions; i++) {
        char now[RECORD_NAME];
        Region *r = &regions[i];
        if (is_shared(r) || !keep_region(r, now) || strcmp(now, r->begins) == 0) continue;
        tell_region("read", r, now);
    }
    phase = OVER;
    write_lines();
}

/* --- opaque launches --- */

static void look(bool marking) {
    gpu_wait();
    for (int i = 0; i < n_regions; i++) {
        Region *r = &regions[i];
        if (is_shared(r)) continue;
        bool is_new = r->marks == NULL;
        if (is_new) r->marks = marks_of(r->address, r->bytes);
        marks_look(r->marks, marking && !(is_new && r->is_machine));
    }
    gpu_wait();
    stale = false;
}

/* From now on launches are looked at. What kernels wrote before is one answer. */
static void begin_to_look(void) {
    if (looks) return;
    looks = true;
    look(n_plain > 0);
}

typedef struct Taken {
    const Region *region;
    const char *what; /* "wrote", "read" */
} Taken;

static void tell_piece(const Taken *t, size_t from, size_t to) {
    Region piece = {.address = t->region->address + from, .bytes = to - from};
    tell_kept(t->what, &piece);
}

/* The first of the given words from an address on. */
static int first_given(uint64_t address) {
    int from = 0, to = n_given;
    while (from < to) {
        int half = (from + to) / 2;
        if (given[half] >= address) to = half;
        else from = half + 1;
    }
    return from;
}

/* Where a kernel was given an address an array begins, which is a piece of its own. */
static void take_run(void *user, size_t from, size_t to) {
    const Taken *t = user;
    uint64_t base = t->region->address;
    for (int i = first_given(base + from + 1); i < n_given && given[i] < base + to; i++) {
        tell_piece(t, from, (size_t)(given[i] - base));
        from = (size_t)(given[i] - base);
    }
    tell_piece(t, from, to);
}

static void tell_changes(const char *what) {
    for (int i = 0; i < n_regions; i++) {
        Taken t = {&regions[i], what};
        if (regions[i].marks) marks_take(regions[i].marks, take_run, &t);
    }
    n_given = 0;
}

/* What launches of closed libraries wrote since memory was looked at. */
static void settle(void) {
    if (!unsettled) return;
    look(true);
    tell_changes("wrote");
    unsettled = false;
}

/* What a copy reads behind such launches, as it is now. */
static void tell_source(const Side *from, const Extent *e) {
    const Region *r = region_at(from->address);
    if (from->array || r == NULL) return;
    size_t at = (size_t)(from->address - r->address), left = r->bytes - at;
    size_t bytes = ((e->depth - 1) * from->rows + e->height - 1) * from->row + e->width;
    gpu_wait();
    tell_piece(&(Taken){r, "wrote"}, at, at + (bytes < left ? bytes : left));
}

/* Memory that the host sees, too: what an opaque launch changed there is data as well. */
static void tell_shared(Region *r) {
    if (r->changed) tell_contents("wrote", r);
}

static void note_given(const gi_buf *bytes) {
    for (size_t at = 0; at + 8 <= bytes->len; at += 8) {
        uint64_t word;
        memcpy(&word, bytes->data + at, sizeof word);
        int i = first_given(word);
        const Region *r = region_at(word);
        if (r == NULL || (i < n_given && given[i] == word)) continue;
        gi_grow(given, n_given, cap_given);
        memmove(&given[i + 1], &given[i], (size_t)(n_given - i) * sizeof *given);
        given[i] = word, n_given++;
    }
}

/* --- launches --- */

/* The arguments as they are laid out. */
static void add_arguments(const Launched *k, const TapeLaunch *l, gi_buf *out) {
    const void *buffer = NULL;
    size_t size = 0;
    for (void **x = l->extra; x && *x != (void *)CU_EXTRA_END; x += 2) {
        if (*x == (void *)CU_EXTRA_BUFFER) buffer = x[1];
        if (*x == (void *)CU_EXTRA_SIZE) size = *(const size_t *)x[1];
    }
    uint8_t *bytes = gi_alloc(k->bytes + 1);
    if (buffer) memcpy(bytes, buffer, size < k->bytes ? size : k->bytes);
    for (int i = 0; buffer == NULL && l->params && i < k->n_params; i++)
        memcpy(bytes + k->at[i], l->params[i], k->size[i]);
    texture_arguments(k, bytes);
    gi_buf_add(out, (const char *)bytes, k->bytes);
    free(bytes);
}

void tape_before(const TapeLaunch *l) {
    gi_buf bytes = {0};
    started = NULL;
    if (writer == NULL || phase == OVER) return;
    one_device();
    const Launched *k = code_known(l->function, l->symbol);
    if (n_unseen > 0 && k->at) add_arguments(k, l, &bytes);
    see_words(bytes.data, bytes.len);
    gi_buf_free(&bytes);
    if (phase == WAITING && counts(k) && counted == wish.skip) open_window();
    if (phase != OPEN) return;
    k = code_launched(l->function, l->symbol); /* or refuse it */
    if (code_is_machine(k->image)) begin_to_look();
    if (!code_is_closed(k->image)) settle();
    if (looks && stale && !unsettled) look(false);
    if (looks && code_is_machine(k->image) && !unsettled) tell_changes("read");
    if (n_seen > 0) {
        gpu_wait();
        if (code_is_machine(k->image)) each_seen(give_to_host);
        each_seen(take_from_host);
    }
    started = take_event();
    if (!gpu_mark(started, l->stream)) give_event(started), started = NULL;
}

static void add_digits(gi_buf *text, const gi_buf *bytes) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes->len; i++) {
        uint8_t b = (uint8_t)bytes->data[i];
        gi_buf_add(text, (const char[]){digits[b >> 4], digits[b & 15]}, 2);
    }
    if (bytes->len == 0) gi_buf_adds(text, "-");
}

static void tell_launch(const Launched *k, const TapeLaunch *l) {
    gi_buf text = {0}, bytes = {0};
    GpuEvent ended = started ? take_event() : NULL;
    if (started && !gpu_mark(ended, l->stream)) {
        give_event(started), give_event(ended);
        started = ended = NULL;
    }
    add_arguments(k, l, &bytes);
    if (!code_is_machine(k->image)) note_given(&bytes);
    gi_buf_addf(&text, "launch %d %s %u,%u,%u %u,%u,%u %u %d", code_number(k->image), k->name,
                l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                l->shared, l->cooperative);
    size_t rest = text.len + 1;
    gi_buf_add(&text, ended ? "" : " 0 ", ended ? 1 : 3); /* an end of text, or no time */
    add_digits(&text, &bytes);
    if (l->cluster[0])
        gi_buf_addf(&text, " %u,%u,%u", l->cluster[0], l->cluster[1], l->cluster[2]);
    add_line(&text, started, ended, rest);
    gi_buf_free(&bytes);
    started = NULL;
}

void tape_launch(const TapeLaunch *l, bool worked) {
    if (!worked || writer == NULL || phase == OVER) {
        give_event(started), started = NULL;
        return;
    }
    const Launched *k = code_known(l->function, l->symbol);
    counted += counts(k);
    if (phase != OPEN) return;
    bool is_opaque = code_is_machine(k->image);
    n_plain += !is_opaque;
    tell_launch(k, l);
    if (n_seen > 0) {
        gpu_wait();
        each_seen(take_from_device);
        if (is_opaque) each_seen(tell_shared);
    }
    unsettled = code_is_closed(k->image);
    if (looks && !unsettled) look(true);
    if (is_opaque && !unsettled) tell_changes("wrote");
    if (wish.count && counted == wish.skip + wish.count) close_window();
}

/* --- beginning and end --- */

void tape_open(void) {
    gi_err err = {0};
    char gpu[256];
    writer = record_create_next(wish.record, &err);
    if (writer == NULL) refuse("%s", err.message);
    gpu_name(gpu);
    record_program(writer, gpu, wish.as);
    phase = wish.skip || wish.count || wish.kernel[0] ? WAITING : OPEN;
}

void tape_end(void) {
    gi_err err = {0};
    if (writer == NULL) return;
    tape_wait();
    if (phase == WAITING)
        say("%llu launches of %s%s were to be skipped, and there were %llu: the recording has none",
            (unsigned long long)wish.skip, wish.kernel[0] ? "the kernel " : "kernels", wish.kernel,
            (unsigned long long)counted);
    if (!record_end(writer, &err)) say("the recording is not whole: %s", err.message);
    writer = NULL;
}
