/* split.c - see split.h.
**
** The module is cut into items (variables, prototypes, functions). An item belongs to the unit
** whose tag its name carries; an item of no unit - a printf string, a table or function of the
** compiler's or of a header - goes, before its first use, to every unit that refers to it. What
** the compiler numbers through the whole module (labels, strings, call prototypes, local frames)
** is numbered anew in each unit by first appearance, and what it derives from the whole module's
** name (the prefix of static names) is made constant. Source lines of other files, such as
** inlined header functions, become the line of the unit that they were inlined at.
*/
#include "compile/split.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Items that need each other in a row: more are no compiler's, and their text does not load. */
enum { MOST_DEEP = 10000 };

typedef struct Item {
    const char *text;
    size_t len;
    const char *name; /* name_len bytes */
    size_t name_len;
    int unit;    /* -1: of no unit */
    int next;    /* of the first of its name: the first of another in its bucket; 0: none */
    int same;    /* the next item of no unit and of its name, from 1 on; 0: none */
    int left;    /* of the first of its name: the next that may not be in unit `left_of` yet */
    int left_of;
} Item;

typedef struct Module {
    gi_buf text;
    gi_buf header; /* .version, .target, .address_size */
    Item *items;
    int n, cap;
    int *bucket; /* by the hash of names: a first item of no unit, from 1 on; 0: none */
    uint64_t n_buckets; /* a power of two */
    int *file_unit; /* of .file number i: its unit, or -1 */
    int n_files, cap_files;
} Module;

/* Names that are numbered through the module: PREFIX NUMBER. Only the labels of basic blocks have
** more behind it, their number within the function. */
enum { N_BLOCK, N_SERIES = 6 };
static const char *const series_prefix[N_SERIES] = {
    "$L__BB", "$L_brx_", "$str", "__unnamed_", "__local_depot", "prototype_",
};

typedef struct Series {
    int *ours; /* of the compiler's number, which is -1 where it writes none: ours, from 1 on */
    int n, cap, count;
} Series;

typedef struct Writer { /* one unit being written */
    const Module *module;
    int unit;
    Series series[N_SERIES];
    gi_buf *out;
    bool has_lines;
} Writer;

static bool is_name_start(char c) {
    return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool at(const char *p, const char *end, const char *s) {
    size_t len = strlen(s);
    return (size_t)(end - p) >= len && memcmp(p, s, len) == 0;
}

static const char *skip_name(const char *p, const char *end) {
    do p++;
    while (p < end && is_name(*p));
    return p;
}

/* The digits at p, at most max of them; p moves behind. -1 when there are none. */
static int read_number(const char **p, const char *end, int max) {
    const char *start = *p;
    int value = 0;
    while (*p < end && *p - start < max && isdigit((unsigned char)**p))
        value = value * 10 + (*(*p)++ - '0');
    return *p == start ? -1 : value;
}

/* --- tags */

static bool read_tag(const char *p, const char *end, int *unit) {
    if (!at(p, end, SPLIT_TAG)) return false;
    const char *digits = p + sizeof SPLIT_TAG - 1;
    *unit = read_number(&digits, end, SPLIT_DIGITS);
    return digits - p == SPLIT_TAG_LEN;
}

static int find_tag(const char *p, size_t len) {
    int unit;
    for (const char *end = p + len; p < end; p++)
        if (read_tag(p, end, &unit)) return unit;
    return -1;
}

void split_untag(const char *text, size_t len, gi_buf *out) {
    const char *end = text + len, *from = text;
    int unit;
    for (const char *p = text; p < end;) {
        if (!read_tag(p, end, &unit)) {
            p++;
            continue;
        }
        gi_buf_add(out, from, (size_t)(p - from));
        from = p += SPLIT_TAG_LEN;
    }
    gi_buf_add(out, from, (size_t)(end - from));
}

/* The tag inside a string that became a list of bytes: `95, 95, 103, …`. */
static bool read_byte_tag(const char *p, const char *end, const char **after) {
    for (int i = 0; i < SPLIT_TAG_LEN; i++) {
        int byte = read_number(&p, end, 3);
        if (i < (int)sizeof SPLIT_TAG - 1 ? byte != SPLIT_TAG[i] : byte < '0' || byte > '9')
            return false;
        if (at(p, end, ", ")) p += 2;
    }
    *after = p;
    return true;
}

/* --- reading the module */

/* Static names hold a name of the whole module: `39_INTERNAL_00000000_8_gilua_cu_…` and
** `39_GLOBAL__N__…`, a length and as many characters. Both become constant. */
static bool read_module_name(const char **p, const char *end, const char **instead) {
    const char *q = *p;
    int len = read_number(&q, end, 4);
    if (len < 0 || end - q < len) return false;
    if (at(q, q + len, "_INTERNAL_")) *instead = "9_INTERNAL";
    else if (at(q, q + len, "_GLOBAL__N_")) *instead = "10_GLOBAL__N";
    else return false;
    *p = q + len;
    return true;
}

static void normalise_module_names(const char *p, size_t len, gi_buf *out) {
    const char *end = p + len, *from = p, *instead;
    while (p < end) {
        const char *start = p;
        if (!isdigit((unsigned char)*p)) {
            p++;
        } else if (read_module_name(&p, end, &instead)) {
            gi_buf_add(out, from, (size_t)(start - from));
            gi_buf_adds(out, instead);
            from = p;
        } else {
            while (p < end && isdigit((unsigned char)*p)) p++;
        }
    }
    gi_buf_add(out, from, (size_t)(end - from));
}

/* Behind blanks and comments. */
static const char *skip_blank(const char *p, const char *end) {
    for (;;) {
        while (p < end && isspace((unsigned char)*p)) p++;
        if (!at(p, end, "//")) return p;
        while (p < end && *p != '\n') p++;
    }
}

static const char *skip_line(const char *p, const char *end) {
    while (p < end && *p != '\n') p++;
    return p < end ? p + 1 : end;
}

static const char *skip_string(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++) {}
    return p < end ? p + 1 : end;
}

/* The end of the item at p: its `;`, or the brace that closes a function. */
static const char *item_end(const char *p, const char *end) {
    int depth = 0;
    bool initialiser = false;
    for (; p < end; p++) {
        if (at(p, end, "//")) p = skip_line(p, end) - 1;
        else if (*p == '"') p = skip_string(p, end) - 1;
        else if (*p == '=') initialiser = initialiser || depth == 0;
        else if (*p == '{' || *p == '(') depth++;
        else if (*p == ')') depth--;
        else if (*p == '}' && --depth == 0 && !initialiser) return p + 1;
        else if (*p == ';' && depth == 0) return p + 1;
    }
    return end;
}

/* An item's name is its first word that is no directive, number or part of a parenthesis. */
static void find_name(Item *item) {
    const char *p = item->text, *end = p + item->len;
    int depth = 0;
    while (p < end) {
        if (*p == '(') depth++;
        if (*p == ')') depth--;
        bool word = is_name_start(*p) || isdigit((unsigned char)*p);
        const char *next = word ? skip_name(p, end) : p + 1;
        if (word && depth == 0 && *p != '.' && !isdigit((unsigned char)*p)) {
            item->name = p;
            item->name_len = (size_t)(next - p);
            return;
        }
        p = next;
    }
    item->name = item->text;
}

static void add_item(Module *m, const char *p, const char *end) {
    Item item = {.text = p, .len = (size_t)(end - p), .left_of = -1};
    find_name(&item);
    item.unit = find_tag(item.name, item.name_len);
    gi_grow(m->items, m->n, m->cap);
    m->items[m->n++] = item;
}

/* `.file 2 "…/kernel__gilua0007.cu"`. A number of more than five digits is no compiler's: room for
** as many files would be taken for it. */
static void add_file(Module *m, const char *p, const char *end) {
    for (p += strlen(".file"); p < end && isspace((unsigned char)*p);) p++;
    int number = read_number(&p, end, 5);
    if (p < end && isdigit((unsigned char)*p)) return;
    while (number >= m->n_files) {
        gi_grow(m->file_unit, m->n_files, m->cap_files);
        m->file_unit[m->n_files++] = -1;
    }
    if (number >= 0) m->file_unit[number] = find_tag(p, (size_t)(end - p));
}

static bool names_item(const Item *item, const char *name, size_t len) {
    return item->name_len == len && memcmp(item->name, name, len) == 0;
}

/* Where the first item of no unit and of a name stands, or would stand, in its bucket. */
static int *place_of(const Module *m, const char *name, size_t len) {
    int *place = &m->bucket[gi_hash(name, len, 0) & (m->n_buckets - 1)];
    while (*place && !names_item(&m->items[*place - 1], name, len))
        place = &m->items[*place - 1].next;
    return place;
}

/* The items of no unit by their names, those of one name in the order of the text. */
static void find_shared(Module *m) {
    for (m->n_buckets = 1; m->n_buckets < (uint64_t)m->n; m->n_buckets *= 2) {}
    m->bucket = gi_alloc(m->n_buckets * sizeof *m->bucket);
    for (int i = m->n - 1; i >= 0; i--) {
        Item *item = &m->items[i];
        if (item->unit >= 0) continue;
        int *place = place_of(m, item->name, item->name_len);
        item->same = *place;
        item->next = *place ? m->items[*place - 1].next : 0;
        *place = i + 1;
    }
}

static bool is_header(const char *p, const char *end) {
    return at(p, end, ".version") || at(p, end, ".target") || at(p, end, ".address_size");
}

static void read_module(Module *m, const char *ptx, size_t len) {
    normalise_module_names(ptx, len, &m->text);
    const char *end = m->text.data + m->text.len;
    for (const char *p = skip_blank(m->text.data, end); p < end; p = skip_blank(p, end)) {
        bool is_line = is_header(p, end), is_file = at(p, end, ".file");
        const char *next = is_line || is_file ? skip_line(p, end) : item_end(p, end);
        if (is_line) gi_buf_add(&m->header, p, (size_t)(next - p));
        else if (is_file) add_file(m, p, next);
        else if (!at(p, end, ".section")) add_item(m, p, next);
        p = next;
    }
    find_shared(m);
}

/* --- writing a unit */

static int renumber(Series *s, int number) {
    while (s->n <= number + 1) {
        gi_grow(s->ours, s->n, s->cap);
        s->ours[s->n++] = 0;
    }
    int *ours = &s->ours[number + 1];
    if (*ours == 0) *ours = ++s->count;
    return *ours - 1;
}

/* Writes the name [p, end), without tags, with module-wide numbers made the unit's own. */
static void write_name(Writer *w, const char *p, const char *end) {
    for (int i = 0; i < N_SERIES; i++) {
        if (!at(p, end, series_prefix[i])) continue;
        size_t len = strlen(series_prefix[i]);
        const char *rest = p + len;
        if (strcmp(series_prefix[i], "$str") == 0 && rest < end && *rest == '$') rest++;
        int number = read_number(&rest, end, 9);
        if (rest < end && i != N_BLOCK) break; /* merely begins like one of these */
        if ((size_t)(number + 1) > w->module->text.len) break; /* so far no compiler counts there */
        gi_buf_addf(w->out, "%s%d%.*s", series_prefix[i], renumber(&w->series[i], number),
                    (int)(end - rest), rest);
        return;
    }
    split_untag(p, (size_t)(end - p), w->out);
}

static int unit_of_file(const Writer *w, int file) {
    return file >= 0 && file < w->module->n_files ? w->module->file_unit[file] : -1;
}

/* `.loc 1 8 2, function_name L, inlined_at 1 16 3` becomes `.loc 1 8 2` if that file is the unit's,
** else `.loc 1 16 3` if that one is, else nothing. */
static void write_loc(Writer *w, const char *p, const char *end) {
    for (int place = 0; place < 2; place++) {
        int numbers[3]; /* file, line, column */
        for (int i = 0; i < 3; i++) {
            while (p < end && isspace((unsigned char)*p)) p++;
            numbers[i] = read_number(&p, end, 9);
        }
        if (unit_of_file(w, numbers[0]) == w->unit) {
            gi_buf_addf(w->out, "\t.loc 1 %d %d\n", numbers[1], numbers[2]);
            w->has_lines = true;
            return;
        }
        while (p < end && !at(p, end, "inlined_at")) p++;
        if (p == end) return;
        p += strlen("inlined_at");
    }
}

/* A byte tag at the end of its list leaves the comma before it. */
static void drop_comma(gi_buf *out, const char *p, const char *end) {
    if (p < end && *p == '}' && out->len >= 2 && out->data[out->len - 2] == ',')
        out->data[out->len -= 2] = '\0';
}

static void write_line(Writer *w, const char *p, const char *end) {
    const char *tag_end;
    while (p < end) {
        const char *start = p;
        if (is_name_start(*p)) {
            p = skip_name(p, end);
            write_name(w, start, p);
        } else if (isdigit((unsigned char)*p) && read_byte_tag(p, end, &tag_end)) {
            p = tag_end;
            drop_comma(w->out, p, end);
        } else if (isdigit((unsigned char)*p)) {
            p = skip_name(p, end);
            gi_buf_add(w->out, start, (size_t)(p - start));
        } else {
            p = *p == '"' ? skip_string(p, end) : p + 1;
            gi_buf_add(w->out, start, (size_t)(p - start));
        }
    }
}

/* [p, *end) without its comment and the blanks at its end. */
static const char *trimmed_end(const char *p, const char *end) {
    for (const char *q = p; q < end; q++) {
        if (*q == '"') q = skip_string(q, end) - 1;
        else if (at(q, end, "//")) end = q;
    }
    while (end > p && isspace((unsigned char)end[-1])) end--;
    return end;
}

static void write_item(Writer *w, const Item *item) {
    const char *end = item->text + item->len;
    for (const char *p = item->text; p < end;) {
        const char *next = skip_line(p, end), *stop = trimmed_end(p, next), *word = p;
        while (word < stop && isspace((unsigned char)*word)) word++;
        if (at(word, stop, ".loc") && !is_name(word[4])) {
            write_loc(w, word + 4, stop);
        } else if (word < stop) {
            write_line(w, p, stop);
            gi_buf_adds(w->out, "\n");
        }
        p = next;
    }
}

static void write_needed(Writer *w, Module *m, const Item *item, int depth);

/* Writes the items of no unit and of a name that are not in the unit yet. */
static void write_named(Writer *w, Module *m, const char *name, size_t len, int depth) {
    int first = *place_of(m, name, len);
    if (first == 0) return;
    Item *head = &m->items[first - 1];
    if (head->left_of != w->unit) head->left = first, head->left_of = w->unit;
    while (head->left > 0) {
        Item *needed = &m->items[head->left - 1];
        head->left = needed->same;
        write_needed(w, m, needed, depth);
        write_item(w, needed);
    }
}

/* Writes the items of no unit that item refers to, those that they refer to first. */
static void write_needed(Writer *w, Module *m, const Item *item, int depth) {
    const char *p = item->text, *end = p + item->len;
    if (depth > MOST_DEEP) return;
    while (p < end) {
        if (!is_name_start(*p)) {
            p = isdigit((unsigned char)*p) ? skip_name(p, end) : p + 1;
            continue;
        }
        const char *name = p;
        p = skip_name(p, end);
        write_named(w, m, name, (size_t)(p - name), depth + 1);
    }
}

static void write_unit(Module *m, int unit, gi_buf *out) {
    Writer w = {.module = m, .unit = unit, .out = out};
    gi_buf_add(out, m->header.data, m->header.len);
    for (int i = 0; i < m->n; i++) {
        if (m->items[i].unit != unit) continue;
        write_needed(&w, m, &m->items[i], 0);
        write_item(&w, &m->items[i]);
    }
    if (w.has_lines) gi_buf_adds(out, ".file 1 \"kernel.cu\"\n");
    for (int i = 0; i < N_SERIES; i++) free(w.series[i].ours);
}

void split_ptx(const char *ptx, size_t len, int n, gi_buf *const *out) {
    Module m = {0};
    read_module(&m, ptx, len);
    for (int i = 0; i < n; i++) write_unit(&m, i, out[i]);
    gi_buf_free(&m.text);
    gi_buf_free(&m.header);
    free(m.items);
    free(m.bucket);
    free(m.file_unit);
}
