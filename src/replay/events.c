/* events.c - see events.h. Lines come from a file that anybody may have written: each word is
** looked for where it must be, and numbers are plain. */
#include "replay/events.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((uint64_t)1 << 40) /* of one allocation or copy */

typedef struct Line {
    const char *at, *end;
    bool ok;
} Line;

/* --- words --- */

static void skip_blank(Line *l) {
    while (l->at < l->end && *l->at == ' ') l->at++;
}

static const char *word(Line *l, int *len) {
    skip_blank(l);
    const char *first = l->at;
    while (l->at < l->end && *l->at != ' ') l->at++;
    *len = (int)(l->at - first);
    if (*len == 0) l->ok = false;
    return first;
}

/* A number at the line's place, up to what is no digit. */
static uint64_t digits(Line *l) {
    char *end;
    skip_blank(l);
    bool is_number = l->at < l->end && *l->at >= '0' && *l->at <= '9';
    if (is_number && *l->at == '0' && l->at + 1 < l->end && l->at[1] >= '0' && l->at[1] <= '9')
        is_number = false; /* which C takes for octal */
    uint64_t v = is_number ? strtoull(l->at, &end, 0) : 0;
    if (!is_number || end > l->end) return l->ok = false, 0;
    l->at = end;
    return v;
}

static bool takes(Line *l, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(l->end - l->at) < n || memcmp(l->at, text, n) != 0) return false;
    l->at += n;
    return true;
}

static uint64_t number(Line *l) {
    uint64_t v = digits(l);
    if (l->at < l->end && *l->at != ' ') l->ok = false;
    return v;
}

static void three(Line *l, unsigned out[3]) {
    for (int i = 0; i < 3; i++) {
        if (i > 0 && !takes(l, ",")) l->ok = false;
        out[i] = (unsigned)digits(l);
    }
}

static void place(Line *l, Place *p) {
    uint64_t *parts[] = {&p->x, &p->y, &p->z};
    skip_blank(l);
    *p = (Place){.array = -1};
    if (takes(l, "array:")) {
        p->array = (int)(digits(l) & INT32_MAX);
        for (int i = 0; i < 3; i++) {
            if (!takes(l, ":")) l->ok = false;
            *parts[i] = digits(l);
        }
    } else p->address = number(l);
    p->row = number(l);
    p->rows = number(l);
}

static void extent(Line *l, Event *e) {
    e->width = number(l);
    e->height = number(l);
    e->depth = number(l);
}

/* --- kinds --- */

static void read_module(Line *l, Event *e) {
    e->number = (int)(number(l) & INT32_MAX);
    e->name = word(l, &e->name_len);
}

static void read_variable(Line *l, Event *e) {
    read_module(l, e);
    e->address = number(l);
    e->bytes = number(l);
}

static void read_memory(Line *l, Event *e) {
    int len;
    e->address = number(l);
    e->bytes = number(l);
    const char *kind = word(l, &len);
    e->is_device = len == 6 && memcmp(kind, "device", 6) == 0 && e->address >= HOST_END;
    if (len == 8 && memcmp(kind, "variable", 8) == 0) e->kind = EVENT_NONE; /* its module's */
}

static void read_array(Line *l, Event *e) {
    e->number = (int)(number(l) & INT32_MAX);
    for (int i = 0; i < 3; i++) e->size[i] = number(l);
    e->parts = (int)(number(l) & 3);
    for (int i = 0; i < 4; i++) {
        if (i > 0 && !takes(l, ",")) l->ok = false;
        e->bits[i] = (int)(digits(l) & 63);
    }
    e->flags = (unsigned)number(l);
}

static void read_texture(Line *l, Event *e) {
    e->address = number(l);
    skip_blank(l);
    e->number = takes(l, "array:") ? (int)(digits(l) & INT32_MAX) : -1;
    if (e->number < 0) e->bytes = number(l);
    e->rest = l->at;
}

static void read_surface(Line *l, Event *e) {
    read_texture(l, e);
    e->is_surface = true;
    if (e->number < 0) l->ok = false;
}

static void read_free(Line *l, Event *e) {
    skip_blank(l);
    if (takes(l, "array:")) e->kind = EVENT_FREE_ARRAY, e->number = (int)(digits(l) & INT32_MAX);
    else if (takes(l, "texture:")) e->kind = EVENT_FREE_TEXTURE, e->address = number(l);
    else e->address = number(l);
}

static void read_moved(Line *l, Event *e) {
    place(l, &e->to);
    extent(l, e);
    e->name = word(l, &e->name_len);
}

static void read_set(Line *l, Event *e) {
    place(l, &e->to);
    e->value = (unsigned)number(l);
    e->element = (unsigned)number(l);
    extent(l, e);
    if (e->element != 1 && e->element != 2 && e->element != 4) l->ok = false;
}

static void read_copy(Line *l, Event *e) {
    place(l, &e->to);
    place(l, &e->from);
    extent(l, e);
}

/* Nanoseconds, finite and from 0: they are added up. */
static void time_taken(Line *l) {
    int len;
    char *end;
    const char *first = word(l, &len);
    double ns = strtod(first, &end);
    if (end != first + len || !(ns >= 0 && ns < 1e18)) l->ok = false;
}

static bool are_digits(const char *hex, size_t n) {
    return n % 2 == 0 && strspn(hex, "0123456789abcdef") >= n;
}

static void read_launch(Line *l, Event *e) {
    int len;
    read_module(l, e);
    three(l, e->grid);
    three(l, e->block);
    e->shared = number(l);
    e->cooperative = number(l) != 0;
    time_taken(l);
    e->hex = word(l, &len);
    e->hex_len = len == 1 && *e->hex == '-' ? 0 : (size_t)len;
    if (!are_digits(e->hex, e->hex_len)) l->ok = false;
    skip_blank(l);
    if (l->at < l->end) three(l, e->cluster);
}

bool event_read(const char *line, const char *end, Event *out) {
    static const struct {
        const char *word;
        EventKind kind;
        void (*read)(Line *l, Event *e);
    } kinds[] = {
        {"gilua", EVENT_NONE, NULL},          {"program", EVENT_NONE, NULL},
        {"gpu", EVENT_NONE, NULL},            {"as", EVENT_NONE, NULL},
        {"module", EVENT_MODULE, read_module}, {"cubin", EVENT_CUBIN, read_module},
        {"variable", EVENT_VARIABLE, read_variable}, {"memory", EVENT_MEMORY, read_memory},
        {"array", EVENT_ARRAY, read_array},   {"texture", EVENT_TEXTURE, read_texture},
        {"surface", EVENT_TEXTURE, read_surface},
        {"free", EVENT_FREE, read_free},      {"write", EVENT_WRITE, read_moved},
        {"set", EVENT_SET, read_set},         {"copy", EVENT_COPY, read_copy},
        {"launch", EVENT_LAUNCH, read_launch}, {"wrote", EVENT_WROTE, read_moved},
        {"read", EVENT_READ, read_moved},
    };
    Line l = {line, end, true};
    int len;
    const char *first = word(&l, &len);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strlen(kinds[i].word) != (size_t)len || memcmp(first, kinds[i].word, (size_t)len) != 0)
            continue;
        *out = (Event){.kind = kinds[i].kind};
        if (kinds[i].read) kinds[i].read(&l, out);
        return l.ok;
    }
    return false;
}

const char *event_line(const char *at, const char *end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    return line_end ? line_end : end;
}

/* --- sizes --- */

static bool is_product(uint64_t a, uint64_t b, uint64_t c) {
    return a < MOST_BYTES && b < MOST_BYTES && c < MOST_BYTES && (b == 0 || a < MOST_BYTES / b) &&
           (c == 0 || a * b < MOST_BYTES / c);
}

bool event_is_small(const Event *e) {
    return is_product(e->width, e->height, e->depth);
}

bool event_is_place(const Place *p, const Event *e) {
    return is_product(p->row, p->rows, e->depth) && is_product(p->row, e->height, 1);
}

bool event_is_nothing(const Event *e) {
    return e->width == 0 || e->height == 0 || e->depth == 0;
}

uint64_t event_volume(const Event *e) {
    return e->width * e->height * e->depth;
}

uint64_t event_span(const Place *p, const Event *e) {
    return ((e->depth - 1) * p->rows + e->height - 1) * p->row + e->width;
}

/* --- what stands in a line's words --- */

static int digit(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

uint8_t *event_arguments(const Event *e) {
    size_t n = e->hex_len / 2;
    uint8_t *bytes = gi_alloc(n + 8);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(digit(e->hex[2 * i]) << 4 | digit(e->hex[2 * i + 1]));
    return bytes;
}

/* A whole number from 0 to most; -1 where the line has another. */
static int64_t whole(const Event *e, const char *key, int index, double most) {
    double v = event_value(e->rest, key, index);
    return v >= 0 && v <= most ? (int64_t)v : -1;
}

static EmuTexture texture_of(const Event *e) {
    EmuTexture t = {.kind = (EmuTexKind)whole(e, "kind", 0, EMU_TEX_ARRAY),
                    .format = (EmuTexFormat)whole(e, "format", 0, EMU_TEX_F32),
                    .channels = (int)whole(e, "channels", 0, 4),
                    .dims = (int)whole(e, "dims", 0, 3),
                    .layers = whole(e, "layers", 0, INT32_MAX),
                    .pitch_bytes = whole(e, "pitch", 0, INT32_MAX),
                    .cube = event_value(e->rest, "cube", 0) != 0,
                    .linear_filter = event_value(e->rest, "linear", 0) != 0,
                    .normalized_coords = event_value(e->rest, "normalized_coords", 0) != 0,
                    .normalized_read = event_value(e->rest, "normalized_read", 0) != 0};
    for (int i = 0; i < 3; i++) {
        t.size[i] = whole(e, "size", i, INT32_MAX);
        t.address[i] = (EmuTexAddress)whole(e, "address", i, EMU_TEX_BORDER);
    }
    for (int i = 0; i < 4; i++) t.border[i] = (float)event_value(e->rest, "border", i);
    return t;
}

bool event_texture(const Event *e, EmuTexture *out) {
    EmuTexture t = texture_of(e);
    bool known = (int)t.kind >= 0 && (int)t.format >= 0 && t.channels > 0 && t.dims > 0 &&
                 t.layers >= 0 && t.pitch_bytes >= 0;
    for (int i = 0; i < 3; i++) known = known && t.size[i] >= 0 && (int)t.address[i] >= 0;
    *out = t;
    return known;
}

double event_value(const char *rest, const char *key, int index) {
    size_t n = strlen(key);
    for (const char *at = rest; *at && *at != '\n'; at++) {
        if (at[0] != ' ' || strncmp(at + 1, key, n) != 0 || at[1 + n] != '=') continue;
        for (at += 2 + n; index > 0; index--) {
            at += strcspn(at, ", \n");
            if (*at++ != ',') return 0;
        }
        return strtod(at, NULL);
    }
    return 0;
}
