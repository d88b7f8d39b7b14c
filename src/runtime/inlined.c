/* inlined.c - calls that a compiler replaced by their functions' code (lines.h). Each is an entry
** of .debug_info with the addresses of that code and the line of the call: DWARF 5, 2.17, 3.3.8,
** 7.5. A unit's entries are read in their order, which has outer calls before inner ones. */
#include "runtime/dwarf.h"

#include <stdlib.h>

enum { TAG_INLINED = 0x1d };
enum {
    AT_STATEMENTS = 0x10,
    AT_LOW = 0x11,
    AT_HIGH = 0x12,
    AT_RANGES = 0x55,
    AT_CALL_FILE = 0x58,
    AT_CALL_LINE = 0x59,
    AT_ADDRESSES = 0x73, /* where the unit's own of .debug_addr begin */
    AT_RANGE_LISTS = 0x74
};
enum {
    FORM_ADDRESS = 1,
    FORM_STRING = 8,
    FORM_BLOCK = 9,
    FORM_SIGNED = 13,
    FORM_INDIRECT = 22,
    FORM_EXPRESSION = 24,
    FORM_ADDRESS_INDEX = 0x1b,
    FORM_CONSTANT = 0x21, /* its value stands in the abbreviation */
    FORM_RANGE_INDEX = 0x23,
    FORM_ADDRESS_INDEX_1 = 0x29,
    FORM_LAST = 0x2c
};
enum { MOST_ABBREVIATIONS = 1 << 16 };

/* Bytes of a form's value; N: a LEB128 number, O: an offset, 0 and others: see value_of. */
enum { N = 0x40, O = 0x41, BLOCK_1 = 0x51, BLOCK_2 = 0x52, BLOCK_4 = 0x54 };
static const uint8_t form_size[FORM_LAST + 1] = {
    0, 8, 0, BLOCK_2, BLOCK_4, 2, 4, 8,  0, 0, BLOCK_1, 1, 1, 0, O, N, O, 1, 2, 4, 8, N, 0,
    O, 0, 0, N,       N,       4, O, 16, O, 8, 0,       N, N, 8, 1, 2, 3, 4, 1, 2, 3, 4};

typedef struct Unit {
    const LinesFile *file;
    Bytes entries;
    unsigned version, offset_size;
    Bytes *abbreviations; /* by number: the tag and what follows; its own */
    uint64_t n;
    uint64_t base, statements, addresses, range_lists;
} Unit;

typedef struct Value {
    uint64_t form, n;
} Value;

typedef struct Entry {
    uint64_t tag; /* 0: the end of a list of entries */
    Value low, high, ranges;
    uint64_t file, line;
} Entry;

static uint64_t address_at(const Unit *u, uint64_t index) {
    Bytes b = u->file->addresses;
    dwarf_skip(&b, u->addresses);
    dwarf_skip(&b, index > UINT32_MAX ? UINT64_MAX : index * 8);
    return dwarf_number(&b, 8);
}

static bool is_address(const Value *v) {
    return v->form == FORM_ADDRESS || v->form == FORM_ADDRESS_INDEX ||
           (v->form >= FORM_ADDRESS_INDEX_1 && v->form <= FORM_LAST);
}

static uint64_t address_of(const Unit *u, const Value *v) {
    return v->form == FORM_ADDRESS ? v->n : address_at(u, v->n);
}

/* The value of an attribute; false: its form is not known, and nothing behind it can be read. */
static bool value_of(const Unit *u, Bytes *b, uint64_t form, Value *out) {
    while (form == FORM_INDIRECT) form = dwarf_leb(b, false);
    *out = (Value){.form = form};
    if (form > FORM_LAST || form == 0) return false;
    unsigned size = form_size[form];
    if (form == FORM_STRING) dwarf_text(b);
    else if (form == FORM_BLOCK || form == FORM_EXPRESSION) dwarf_skip(b, dwarf_leb(b, false));
    else if (form == FORM_SIGNED) out->n = dwarf_leb(b, true);
    else if (size == N) out->n = dwarf_leb(b, false);
    else if (size == O) out->n = dwarf_number(b, u->offset_size);
    else if (size > N) dwarf_skip(b, dwarf_number(b, size - 0x50));
    else if (size == 16) dwarf_skip(b, 16);
    else out->n = dwarf_number(b, size);
    return true;
}

static void keep(Unit *u, Entry *e, uint64_t name, const Value *v) {
    switch (name) {
    case AT_LOW: e->low = *v; break;
    case AT_HIGH: e->high = *v; break;
    case AT_RANGES: e->ranges = *v; break;
    case AT_CALL_FILE: e->file = v->n; break;
    case AT_CALL_LINE: e->line = v->n; break;
    case AT_STATEMENTS: u->statements = v->n; break;
    case AT_ADDRESSES: u->addresses = v->n; break;
    case AT_RANGE_LISTS: u->range_lists = v->n; break;
    default: break;
    }
}

/* Reads the next entry; false: there is none that can be read. */
static bool next_entry(Unit *u, Bytes *b, Entry *e) {
    *e = (Entry){0};
    if (b->at == b->end) return false;
    uint64_t number = dwarf_leb(b, false);
    if (number == 0) return true;
    if (number >= u->n || u->abbreviations[number].at == NULL) return false;
    Bytes form = u->abbreviations[number];
    e->tag = dwarf_leb(&form, false);
    dwarf_skip(&form, 1); /* has it children? */
    for (;;) {
        Value v;
        uint64_t name = dwarf_leb(&form, false), how = dwarf_leb(&form, false);
        if (name == 0 && how == 0) return true;
        if (form.at == form.end || !value_of(u, b, how, &v)) return false;
        if (how == FORM_CONSTANT) v.n = dwarf_leb(&form, true);
        keep(u, e, name, &v);
    }
}

/* --- addresses --- */

typedef struct Search {
    uint64_t address, base;
    bool found;
} Search;

static void look(Search *s, uint64_t from, uint64_t to) {
    s->found |= s->address >= from && s->address < to;
}

/* One entry of a list of DWARF 5 (7.25); false: it was the last one. */
static bool range_5(const Unit *u, Bytes *b, Search *s) {
    uint64_t kind = dwarf_number(b, 1), a;
    if (kind == 0 || kind > 7) return false;
    a = kind >= 5 ? dwarf_number(b, 8) : dwarf_leb(b, false);
    if (kind <= 3) a = address_at(u, a);
    if (kind == 1 || kind == 5) s->base = a;
    if (kind == 2) look(s, a, address_at(u, dwarf_leb(b, false)));
    if (kind == 3 || kind == 7) look(s, a, a + dwarf_leb(b, false));
    if (kind == 4) look(s, s->base + a, s->base + dwarf_leb(b, false));
    if (kind == 6) look(s, a, dwarf_number(b, 8));
    return b->at < b->end;
}

static bool range_4(Bytes *b, Search *s) {
    uint64_t from = dwarf_number(b, 8), to = dwarf_number(b, 8);
    if (from == UINT64_MAX) s->base = to;
    else look(s, s->base + from, s->base + to);
    return (from || to) && b->at < b->end;
}

static bool in_ranges(const Unit *u, const Value *v, uint64_t address) {
    Search s = {.address = address, .base = u->base};
    Bytes b = u->version >= 5 ? u->file->range_lists : u->file->ranges;
    uint64_t offset = v->n;
    if (v->form == FORM_RANGE_INDEX) {
        Bytes table = b;
        dwarf_skip(&table, u->range_lists);
        dwarf_skip(&table, offset > UINT32_MAX ? UINT64_MAX : offset * u->offset_size);
        offset = u->range_lists + dwarf_number(&table, u->offset_size);
    }
    dwarf_skip(&b, offset);
    while (!s.found && (u->version >= 5 ? range_5(u, &b, &s) : range_4(&b, &s))) {}
    return s.found;
}

static bool holds(const Unit *u, const Entry *e, uint64_t address) {
    if (e->ranges.form) return in_ranges(u, &e->ranges, address);
    if (e->low.form == 0 || e->high.form == 0) return false;
    uint64_t from = address_of(u, &e->low);
    uint64_t to = is_address(&e->high) ? address_of(u, &e->high) : from + e->high.n;
    return address >= from && address < to;
}

/* --- units --- */

static Bytes *abbreviation(Unit *u, uint64_t number) {
    if (number >= u->n) {
        uint64_t n = 2 * number + 16;
        u->abbreviations = gi_realloc(u->abbreviations, n * sizeof *u->abbreviations);
        memset(u->abbreviations + u->n, 0, (n - u->n) * sizeof *u->abbreviations);
        u->n = n;
    }
    return &u->abbreviations[number];
}

/* Where each abbreviation of a unit stands, by its number. */
static void find_abbreviations(Unit *u, uint64_t offset) {
    Bytes b = u->file->abbreviations;
    dwarf_skip(&b, offset);
    for (uint64_t number; (number = dwarf_leb(&b, false)) != 0 && number < MOST_ABBREVIATIONS;) {
        *abbreviation(u, number) = b;
        dwarf_leb(&b, false), dwarf_skip(&b, 1);
        for (uint64_t name, how; b.at < b.end;) {
            name = dwarf_leb(&b, false), how = dwarf_leb(&b, false);
            if (how == FORM_CONSTANT) dwarf_leb(&b, true);
            if (name == 0 && how == 0) break;
        }
    }
}

/* Reads a unit's head and its first entry; *all goes to the next unit. False: nothing more can be
** read. u->abbreviations is NULL where the unit has no code in this file. */
static bool open_unit(const LinesFile *f, Bytes *all, Unit *u, Entry *first) {
    enum { COMPILE = 1, PARTIAL = 3 };
    uint64_t size = dwarf_number(all, 4), offset = 0, kind = COMPILE;
    *u = (Unit){.file = f, .offset_size = size == 0xffffffff ? 8 : 4};
    if (size == 0xffffffff) size = dwarf_number(all, 8);
    if (size == 0 || size > (uint64_t)(all->end - all->at)) return false;
    u->entries = (Bytes){all->at, all->at + size};
    all->at = u->entries.end;
    u->version = (unsigned)dwarf_number(&u->entries, 2);
    if (u->version >= 5) kind = dwarf_number(&u->entries, 1), dwarf_skip(&u->entries, 1);
    offset = dwarf_number(&u->entries, u->offset_size);
    if (u->version < 5) dwarf_skip(&u->entries, 1);
    if (u->version < 2 || u->version > 5 || (kind != COMPILE && kind != PARTIAL)) return true;
    find_abbreviations(u, offset);
    if (next_entry(u, &u->entries, first) && first->low.form) u->base = address_of(u, &first->low);
    return true;
}

static void keep_call(const Unit *u, const Entry *e, LinesCall *call) {
    LineUnit lines;
    Bytes b = u->file->lines;
    *call = (LinesCall){0};
    dwarf_skip(&b, u->statements);
    if (e->line > INT32_MAX || !dwarf_line_unit(u->file, &b, &lines)) return;
    if (dwarf_file_name(&lines, e->file, call->file, sizeof call->file)) call->line = (int)e->line;
}

/* The calls of one unit, the outermost first. */
static int calls_in(Unit *u, uint64_t address, LinesCall *calls, int most) {
    Entry e;
    int n = 0;
    while (n < most && next_entry(u, &u->entries, &e))
        if (e.tag == TAG_INLINED && holds(u, &e, address)) keep_call(u, &e, &calls[n++]);
    return n;
}

int lines_inlined(const LinesFile *f, uint64_t address, LinesCall *calls, int most) {
    Unit u;
    Entry first;
    int n = 0;
    for (Bytes all = f->info; n == 0 && all.at < all.end && open_unit(f, &all, &u, &first);) {
        if (u.abbreviations && holds(&u, &first, address)) n = calls_in(&u, address, calls, most);
        free(u.abbreviations);
    }
    for (int i = 0; i < n / 2; i++) {
        LinesCall swapped = calls[i];
        calls[i] = calls[n - 1 - i];
        calls[n - 1 - i] = swapped;
    }
    return n;
}
