/* cubin.c - see cubin.h. */
#include "compile/cubin.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

typedef struct Cubin {
    const unsigned char *bytes;
    size_t len;
    const char *section_names;
    size_t section_names_len;
    uint64_t sections; /* offset of the table */
    int n_sections;
} Cubin;

static bool inside(const Cubin *c, uint64_t offset, uint64_t size) {
    return offset <= c->len && size <= c->len - offset;
}

static Elf64_Shdr section_at(const Cubin *c, int i) {
    Elf64_Shdr s;
    memcpy(&s, c->bytes + c->sections + (uint64_t)i * sizeof s, sizeof s);
    return s;
}

/* The text at `offset` of a table, "" where there is none. */
static const char *name_in(const char *table, size_t len, uint64_t offset) {
    if (offset >= len || memchr(table + offset, '\0', len - offset) == NULL) return "";
    return table + offset;
}

static const char *section_name(const Cubin *c, const Elf64_Shdr *s) {
    return name_in(c->section_names, c->section_names_len, s->sh_name);
}

static bool broken(gi_err *err, const char *what) {
    return gi_fail(err, "format", "this is no machine code of a GPU: %s", what);
}

static bool read_sections(Cubin *c, const Elf64_Ehdr *h, gi_err *err) {
    c->sections = h->e_shoff;
    c->n_sections = h->e_shnum;
    if (h->e_shentsize != sizeof(Elf64_Shdr) ||
        !inside(c, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
        return broken(err, "its table of sections does not fit the file");
    if (h->e_shstrndx >= h->e_shnum) return broken(err, "it has no table of section names");
    Elf64_Shdr names = section_at(c, h->e_shstrndx);
    if (!inside(c, names.sh_offset, names.sh_size))
        return broken(err, "its section names lie outside the file");
    c->section_names = (const char *)c->bytes + names.sh_offset;
    c->section_names_len = names.sh_size;
    return true;
}

static bool open_cubin(Cubin *c, const void *image, size_t len, gi_err *err) {
    Elf64_Ehdr h;
    *c = (Cubin){.bytes = image, .len = len};
    if (len < sizeof h) return broken(err, "it is shorter than a header");
    memcpy(&h, image, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB)
        return broken(err, "it is not a 64-bit little-endian ELF file");
    return read_sections(c, &h, err);
}

/* Finds a section whose bytes, unless it has none, lie in the file. */
static bool find_section(const Cubin *c, const char *name, Elf64_Shdr *out) {
    for (int i = 0; i < c->n_sections; i++) {
        Elf64_Shdr s = section_at(c, i);
        if (strcmp(section_name(c, &s), name) != 0) continue;
        if (s.sh_type != SHT_NOBITS && !inside(c, s.sh_offset, s.sh_size)) return false;
        *out = s;
        return true;
    }
    return false;
}

/* --- symbols --- */

typedef struct Symbols {
    Elf64_Shdr table;
    const char *names;
    size_t names_len;
    int n;
} Symbols;

static bool open_symbols(const Cubin *c, Symbols *s, gi_err *err) {
    if (!find_section(c, ".symtab", &s->table) || s->table.sh_link >= (unsigned)c->n_sections)
        return broken(err, "it has no symbols");
    Elf64_Shdr names = section_at(c, (int)s->table.sh_link);
    if (!inside(c, names.sh_offset, names.sh_size))
        return broken(err, "the names of its symbols lie outside the file");
    s->names = (const char *)c->bytes + names.sh_offset;
    s->names_len = names.sh_size;
    s->n = (int)(s->table.sh_size / sizeof(Elf64_Sym));
    return true;
}

static Elf64_Sym symbol_at(const Cubin *c, const Symbols *s, int i) {
    Elf64_Sym symbol;
    memcpy(&symbol, c->bytes + s->table.sh_offset + (uint64_t)i * sizeof symbol, sizeof symbol);
    return symbol;
}

static bool is_zero(const Cubin *c, const Elf64_Shdr *s, const Elf64_Sym *symbol) {
    if (s->sh_type == SHT_NOBITS) return true;
    if (symbol->st_value > s->sh_size || symbol->st_size > s->sh_size - symbol->st_value ||
        !inside(c, s->sh_offset, s->sh_size))
        return true;
    const unsigned char *p = c->bytes + s->sh_offset + symbol->st_value;
    for (uint64_t i = 0; i < symbol->st_size; i++)
        if (p[i] != 0) return false;
    return true;
}

/* Variables are data in .nv.global, .nv.global.init and the constant bank of the source, 3. */
static bool is_variable(const Cubin *c, const Elf64_Sym *symbol, Elf64_Shdr *s, bool *constant) {
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT) return false;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= c->n_sections) return false;
    *s = section_at(c, symbol->st_shndx);
    const char *name = section_name(c, s);
    *constant = strcmp(name, ".nv.constant3") == 0;
    return *constant || strcmp(name, ".nv.global") == 0 || strcmp(name, ".nv.global.init") == 0;
}

int cubin_symbols(const void *image, size_t len, CubinSymbol **out, gi_err *err) {
    Cubin c;
    Symbols symbols;
    if (!open_cubin(&c, image, len, err) || !open_symbols(&c, &symbols, err)) return -1;
    CubinSymbol *list = NULL;
    int n = 0, cap = 0;
    for (int i = 0; i < symbols.n; i++) {
        Elf64_Sym symbol = symbol_at(&c, &symbols, i);
        Elf64_Shdr section;
        bool constant;
        if (!is_variable(&c, &symbol, &section, &constant)) continue;
        gi_grow(list, n, cap);
        list[n++] =
            (CubinSymbol){gi_strdup(name_in(symbols.names, symbols.names_len, symbol.st_name)),
                          symbol.st_size, constant, !is_zero(&c, &section, &symbol)};
    }
    *out = list;
    return n;
}

void cubin_symbols_free(CubinSymbol *symbols, int n) {
    for (int i = 0; i < n; i++) free(symbols[i].name);
    free(symbols);
}

/* --- the code of a kernel --- */

enum { INFO_VALUE = 4, INFO_REGISTERS = 0x2f }; /* of a record of .nv.info: format, attribute */

static uint32_t word_at(const unsigned char *p) {
    uint32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* Registers a thread, from the record { format 4, attribute 0x2f, size, symbol, registers } of
** .nv.info; 0 where there is none. Other records of format 4 are as long as their size says, those
** of all other formats four bytes. */
static uint32_t registers_of(const Cubin *c, uint32_t symbol) {
    Elf64_Shdr s;
    if (!find_section(c, ".nv.info", &s) || s.sh_type == SHT_NOBITS) return 0;
    const unsigned char *p = c->bytes + s.sh_offset, *end = p + s.sh_size;
    while (end - p >= 4) {
        uint32_t size = p[0] == INFO_VALUE ? (uint32_t)(p[2] | p[3] << 8) : 0;
        if ((size_t)(end - p) < 4 + (size_t)size) return 0;
        if (p[0] == INFO_VALUE && p[1] == INFO_REGISTERS && size == 8 && word_at(p + 4) == symbol)
            return word_at(p + 8);
        p += 4 + size;
    }
    return 0;
}

static int kernel_symbol(const Cubin *c, const char *kernel) {
    Symbols symbols;
    if (!open_symbols(c, &symbols, NULL)) return -1;
    for (int i = 0; i < symbols.n; i++) {
        Elf64_Sym symbol = symbol_at(c, &symbols, i);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            strcmp(name_in(symbols.names, symbols.names_len, symbol.st_name), kernel) == 0)
            return i;
    }
    return -1;
}

static uint64_t section_size(const Cubin *c, const char *prefix, const char *kernel) {
    Elf64_Shdr s;
    gi_buf name = {0};
    gi_buf_addf(&name, "%s%s", prefix, kernel);
    uint64_t size = find_section(c, name.data, &s) ? s.sh_size : 0;
    gi_buf_free(&name);
    return size;
}

bool cubin_code_hash(const void *image, size_t len, const char *kernel, uint64_t *hash,
                     gi_err *err) {
    Cubin c;
    Elf64_Shdr text;
    if (!open_cubin(&c, image, len, err)) return false;
    int symbol = kernel_symbol(&c, kernel);
    gi_buf name = {0};
    gi_buf_addf(&name, ".text.%s", kernel);
    bool found = symbol >= 0 && find_section(&c, name.data, &text) && text.sh_type != SHT_NOBITS;
    gi_buf_free(&name);
    if (!found) return gi_fail(err, "usage", "the machine code has no kernel '%s'", kernel);
    uint64_t facts[3] = {registers_of(&c, (uint32_t)symbol),
                         section_size(&c, ".nv.shared.", kernel),
                         section_size(&c, ".nv.constant0.", kernel)};
    *hash = gi_hash(c.bytes + text.sh_offset, text.sh_size, gi_hash(facts, sizeof facts, 0));
    return true;
}
