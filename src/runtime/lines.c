/* lines.c - see lines.h. The line program is DWARF 5's, chapter 6.2; earlier versions differ in
** how they list files. */
#include "runtime/dwarf.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the file --- */

static Bytes section(const LinesFile *f, const Elf64_Shdr *s) {
    bool none = s->sh_type == SHT_NOBITS || s->sh_flags & SHF_COMPRESSED ||
                s->sh_offset > f->size || s->sh_size > f->size - s->sh_offset;
    return none ? (Bytes){0} : (Bytes){f->data + s->sh_offset, f->data + s->sh_offset + s->sh_size};
}

static void keep_section(LinesFile *f, const char *name, Bytes bytes) {
    const struct {
        const char *name;
        Bytes *at;
    } sections[] = {
        {".debug_line", &f->lines},
        {".debug_line_str", &f->line_names},
        {".debug_str", &f->texts},
        {".debug_info", &f->info},
        {".debug_abbrev", &f->abbreviations},
        {".debug_ranges", &f->ranges},
        {".debug_rnglists", &f->range_lists},
        {".debug_addr", &f->addresses},
    };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strcmp(name, sections[i].name) == 0) *sections[i].at = bytes;
}

static void keep_symbols(LinesFile *f, const Elf64_Shdr *all, unsigned n, const Elf64_Shdr *s) {
    bool is_table = s->sh_type == SHT_SYMTAB || (s->sh_type == SHT_DYNSYM && f->symbols.at == NULL);
    if (!is_table || s->sh_link >= n) return;
    f->symbols = section(f, s);
    f->names = section(f, &all[s->sh_link]);
}

static bool find_sections(LinesFile *f) {
    Elf64_Ehdr head;
    if (f->size < sizeof head) return false;
    memcpy(&head, f->data, sizeof head);
    unsigned n = head.e_shnum;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shstrndx >= n || head.e_shoff > f->size ||
        n * sizeof(Elf64_Shdr) > f->size - head.e_shoff)
        return false;
    Elf64_Shdr *all = gi_alloc(n * sizeof *all);
    memcpy(all, f->data + head.e_shoff, n * sizeof *all);
    Bytes names = section(f, &all[head.e_shstrndx]);
    for (unsigned i = 0; i < n; i++) {
        keep_section(f, dwarf_text_at(names, all[i].sh_name), section(f, &all[i]));
        keep_symbols(f, all, n, &all[i]);
    }
    free(all);
    return true;
}

LinesFile *lines_open(const char *path) {
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    void *data = fstat(fd, &s) == 0 && s.st_size > 0
                     ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                     : MAP_FAILED;
    close(fd);
    if (data == MAP_FAILED) return NULL;
    LinesFile *f = gi_alloc(sizeof *f);
    *f = (LinesFile){.data = data, .size = (size_t)s.st_size};
    if (find_sections(f)) return f;
    lines_close(f);
    return NULL;
}

void lines_close(LinesFile *f) {
    if (f == NULL) return;
    munmap((void *)(uintptr_t)f->data, f->size);
    free(f);
}

const char *lines_function(const LinesFile *f, uint64_t address, uint64_t *start, uint64_t *size) {
    Elf64_Sym s;
    for (Bytes b = f->symbols; (size_t)(b.end - b.at) >= sizeof s; b.at += sizeof s) {
        memcpy(&s, b.at, sizeof s);
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || address < s.st_value ||
            address - s.st_value >= s.st_size)
            continue;
        *start = s.st_value;
        *size = s.st_size;
        return dwarf_text_at(f->names, s.st_name);
    }
    return NULL;
}

/* --- one unit's line table --- */

enum {
    FORM_BLOCK = 9,
    FORM_DATA1 = 11,
    FORM_DATA2 = 5,
    FORM_DATA4 = 6,
    FORM_DATA8 = 7,
    FORM_STRING = 8,
    FORM_STRP = 14,
    FORM_UDATA = 15,
    FORM_DATA16 = 30,
    FORM_LINE_STRP = 31
};
enum { CONTENT_PATH = 1, CONTENT_FOLDER = 2 };

/* One field of a list of version 5: its text or number. */
static const char *field(const LineUnit *u, Bytes *b, uint64_t form, uint64_t *value) {
    static const uint8_t sizes[32] = {
        [FORM_DATA1] = 1, [FORM_DATA2] = 2, [FORM_DATA4] = 4, [FORM_DATA8] = 8};
    *value = 0;
    if (form == FORM_STRING) return dwarf_text(b);
    if (form == FORM_LINE_STRP)
        return dwarf_text_at(u->file->line_names, dwarf_number(b, u->offset_size));
    if (form == FORM_STRP) return dwarf_text_at(u->file->texts, dwarf_number(b, u->offset_size));
    if (form == FORM_UDATA) *value = dwarf_leb(b, false);
    else if (form == FORM_DATA16) dwarf_skip(b, 16);
    else if (form == FORM_BLOCK) dwarf_skip(b, dwarf_leb(b, false));
    else if (form < 32 && sizes[form]) *value = dwarf_number(b, sizes[form]);
    else b->at = b->end; /* unknown: nothing behind it can be read */
    return NULL;
}

/* Entry `wanted` of a list of version 5, and b behind the list where there is no such entry. */
static const char *entry5(const LineUnit *u, Bytes *b, uint64_t wanted, uint64_t *folder) {
    uint64_t formats[32], n_formats = dwarf_number(b, 1), value;
    if (n_formats > 16) return b->at = b->end, NULL;
    for (uint64_t i = 0; i < 2 * n_formats; i++) formats[i] = dwarf_leb(b, false);
    uint64_t n = dwarf_leb(b, false);
    for (uint64_t i = 0; i < n && b->at < b->end; i++) {
        const char *path = NULL;
        for (uint64_t k = 0; k < n_formats; k++) {
            const char *s = field(u, b, formats[2 * k + 1], &value);
            if (formats[2 * k] == CONTENT_PATH) path = s;
            if (formats[2 * k] == CONTENT_FOLDER) *folder = value;
        }
        if (i == wanted) return path;
    }
    return NULL;
}

/* The same of the lists of earlier versions, which count from 1. */
static const char *folder4(Bytes *b, uint64_t wanted) {
    for (uint64_t i = 1;; i++) {
        const char *s = dwarf_text(b);
        if (*s == '\0' || i == wanted) return *s ? s : NULL;
    }
}

static const char *file4(Bytes *b, uint64_t wanted, uint64_t *folder) {
    for (uint64_t i = 1;; i++) {
        const char *s = dwarf_text(b);
        if (*s == '\0') return NULL;
        *folder = dwarf_leb(b, false);
        dwarf_leb(b, false), dwarf_leb(b, false);
        if (i == wanted) return s;
    }
}

static const char *file_of(const LineUnit *u, uint64_t index, const char **folder) {
    uint64_t in = 0, ignored;
    Bytes files = u->files, folders = u->folders;
    const char *name = u->version >= 5 ? entry5(u, &files, index, &in) : file4(&files, index, &in);
    *folder = in == 0           ? NULL
              : u->version >= 5 ? entry5(u, &folders, in, &ignored)
                                : folder4(&folders, in);
    return name;
}

bool dwarf_file_name(const LineUnit *u, uint64_t index, char *name, size_t cap) {
    const char *folder, *file = file_of(u, index, &folder);
    if (file == NULL) return false;
    bool is_below = folder && *file != '/';
    snprintf(name, cap, "%s%s%s", is_below ? folder : "", is_below ? "/" : "", file);
    return true;
}

bool dwarf_line_unit(const LinesFile *f, Bytes *all, LineUnit *u) {
    uint64_t none, size = dwarf_number(all, 4);
    *u = (LineUnit){.file = f, .offset_size = size == 0xffffffff ? 8 : 4};
    if (size == 0xffffffff) size = dwarf_number(all, 8);
    if (size == 0 || size > (uint64_t)(all->end - all->at)) return false;
    Bytes b = {all->at, all->at + size};
    all->at = b.end;
    u->version = (unsigned)dwarf_number(&b, 2);
    if (u->version < 2 || u->version > 5) return true; /* no program: nothing is found in it */
    if (u->version >= 5) dwarf_skip(&b, 2);            /* sizes of addresses and segments */
    uint64_t head = dwarf_number(&b, u->offset_size);
    u->program = b;
    dwarf_skip(&u->program, head);
    u->least = (unsigned)dwarf_number(&b, 1);
    dwarf_skip(&b, u->version >= 4 ? 2 : 1); /* operations an instruction; is a statement */
    u->line_base = (int8_t)dwarf_number(&b, 1);
    u->line_range = (unsigned)dwarf_number(&b, 1);
    u->opcode_base = (unsigned)dwarf_number(&b, 1);
    for (unsigned i = 1; i < u->opcode_base; i++) u->lengths[i] = (uint8_t)dwarf_number(&b, 1);
    u->folders = b;
    if (u->version >= 5) entry5(u, &b, UINT64_MAX, &none);
    else folder4(&b, UINT64_MAX);
    u->files = b;
    if (u->line_range == 0) u->program = (Bytes){0};
    return true;
}

/* --- the line program --- */

typedef struct Row {
    uint64_t address, file;
    int64_t line;
    bool ends; /* a sequence */
} Row;

enum { OP_COPY = 1, OP_ADVANCE, OP_LINE, OP_FILE, OP_CONST_ADD = 8, OP_FIXED_ADD = 9 };
enum { EXTENDED_END = 1, EXTENDED_ADDRESS = 2 };

static void extended(Bytes *b, Row *row, bool *emits) {
    uint64_t n = dwarf_leb(b, false);
    Bytes args = *b;
    dwarf_skip(b, n);
    args.end = b->at;
    uint64_t op = dwarf_number(&args, 1);
    if (op == EXTENDED_ADDRESS) row->address = dwarf_number(&args, 8);
    row->ends = *emits = op == EXTENDED_END;
}

static void standard(const LineUnit *u, Bytes *b, unsigned op, Row *row, bool *emits) {
    if (op == OP_COPY) *emits = true;
    else if (op == OP_ADVANCE) row->address += dwarf_leb(b, false) * u->least;
    else if (op == OP_LINE) row->line += (int64_t)dwarf_leb(b, true);
    else if (op == OP_FILE) row->file = dwarf_leb(b, false);
    else if (op == OP_CONST_ADD) row->address += (255 - u->opcode_base) / u->line_range * u->least;
    else if (op == OP_FIXED_ADD) row->address += dwarf_number(b, 2);
    else
        for (unsigned i = 0; i < u->lengths[op]; i++) dwarf_leb(b, false);
}

/* Runs one opcode; true: the row is one of the table. */
static bool step(const LineUnit *u, Bytes *b, Row *row) {
    bool emits = false;
    unsigned op = (unsigned)dwarf_number(b, 1);
    if (op >= u->opcode_base) {
        unsigned special = op - u->opcode_base;
        row->address += special / u->line_range * u->least;
        row->line += u->line_base + (int)(special % u->line_range);
        return true;
    }
    if (op == 0) extended(b, row, &emits);
    else standard(u, b, op, row, &emits);
    return emits;
}

/* The row of the unit in whose bytes the address lies. */
static bool find_row(const LineUnit *u, uint64_t address, Row *found) {
    const Row first = {.file = 1, .line = 1};
    Row row = first, last = {.ends = true};
    for (Bytes b = u->program; b.at < b.end;) {
        if (!step(u, &b, &row)) continue;
        if (!last.ends && last.address <= address && address < row.address)
            return *found = last, true;
        last = row;
        if (row.ends) row = first;
    }
    return false;
}

int lines_line(const LinesFile *f, uint64_t address, char *name, size_t cap) {
    LineUnit u;
    Row row;
    for (Bytes all = f->lines; all.at < all.end && dwarf_line_unit(f, &all, &u);) {
        if (!find_row(&u, address, &row)) continue;
        bool is_named =
            row.line > 0 && row.line <= INT32_MAX && dwarf_file_name(&u, row.file, name, cap);
        return is_named ? (int)row.line : 0;
    }
    return 0;
}
