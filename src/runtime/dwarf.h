/* dwarf.h - debug information as bytes, for lines.c and inlined.c alone: sections of a file,
** numbers and texts in them, and the table of lines of a unit, which has the names of its files.
*/
#ifndef GILUA_RUNTIME_DWARF_H
#define GILUA_RUNTIME_DWARF_H

#include <string.h>

#include "runtime/lines.h"

/* Bytes that are read from left to right; beyond the end are zeros, and at is set to end. */
typedef struct Bytes {
    const uint8_t *at, *end;
} Bytes;

struct LinesFile {
    const uint8_t *data;
    size_t size;
    Bytes symbols, names;           /* .symtab, else .dynsym */
    Bytes lines, line_names, texts; /* .debug_line, .debug_line_str, .debug_str */
    Bytes info, abbreviations;      /* .debug_info, .debug_abbrev */
    Bytes ranges, range_lists;      /* .debug_ranges (DWARF 4), .debug_rnglists (5) */
    Bytes addresses;                /* .debug_addr */
};

static inline uint64_t dwarf_number(Bytes *b, size_t n) {
    uint64_t value = 0;
    if ((size_t)(b->end - b->at) < n) return b->at = b->end, 0;
    memcpy(&value, b->at, n);
    b->at += n;
    return value;
}

static inline uint64_t dwarf_leb(Bytes *b, bool is_signed) {
    uint64_t value = 0, byte = 0x80;
    unsigned shift = 0;
    for (; byte & 0x80 && b->at < b->end; shift += 7) {
        byte = *b->at++;
        if (shift < 64) value |= (byte & 0x7f) << shift;
    }
    if (is_signed && byte & 0x40 && shift < 64) value |= ~(uint64_t)0 << shift;
    return value;
}

static inline void dwarf_skip(Bytes *b, uint64_t n) {
    b->at = n > (uint64_t)(b->end - b->at) ? b->end : b->at + n;
}

/* A text up to its zero byte; "" where there is none. */
static inline const char *dwarf_text(Bytes *b) {
    if (b->at == b->end) return "";
    const uint8_t *from = b->at, *zero = memchr(from, 0, (size_t)(b->end - from));
    b->at = zero ? zero + 1 : b->end;
    return zero ? (const char *)from : "";
}

static inline const char *dwarf_text_at(Bytes in, uint64_t offset) {
    dwarf_skip(&in, offset);
    return dwarf_text(&in);
}

/* The line table of one unit. */
typedef struct LineUnit {
    const LinesFile *file;
    Bytes program;
    unsigned version, offset_size, least, line_range, opcode_base;
    int line_base;
    uint8_t lengths[256]; /* arguments of the standard opcodes */
    Bytes folders, files; /* the lists, from their formats on */
} LineUnit;

/* Reads a line table's head; *all goes to the next one. False: nothing more can be read. */
bool dwarf_line_unit(const LinesFile *f, Bytes *all, LineUnit *u);
/* The name of a file of its list, "folder/name" where it has a folder; false: there is none. */
bool dwarf_file_name(const LineUnit *u, uint64_t index, char *name, size_t cap);

#endif
