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

/* The number of a section whose bytes, unless it has none, lie in the file; -1. */
static int section_number(const Cubin *c, const char *name) {
    for (int i = 0; i < c->n_sections; i++) {
        Elf64_Shdr s = section_at(c, i);
        if (strcmp(section_name(c, &s), name) != 0) continue;
        return s.sh_type == SHT_NOBITS || inside(c, s.sh_offset, s.sh_size) ? i : -1;
    }
    return -1;
}

static bool find_section(const Cubin *c, const char *name, Elf64_Shdr *out) {
    int i = section_number(c, name);
    if (i >= 0) *out = section_at(c, i);
    return i >= 0;
}

/* --- symbols --- */

typedef struct Symbols {
    Elf64_Shdr table;
    const char *names;
    size_t names_len;
    int n;
} Symbols;

static bool open_symbols(const Cubin *c, Symbols *s, gi_err *err) {
    if (!find_section(c, ".symtab", &s->table) || s->table.sh_type == SHT_NOBITS ||
        s->table.sh_link >= (unsigned)c->n_sections)
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

static void mix(uint64_t *hash, const void *bytes, size_t n) {
    uint64_t length = n;
    *hash = gi_hash(bytes, n, gi_hash(&length, sizeof length, *hash));
}

static void mix_name(uint64_t *hash, const char *name) {
    mix(hash, name, strlen(name));
}

static void mix_number(uint64_t *hash, uint64_t number) {
    mix(hash, &number, sizeof number);
}

static uint32_t word_at(const unsigned char *p) {
    uint32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* Records of .nv.info: format, attribute, then two bytes that are the value or, in format 4, the
** length of what follows. Attribute 0x0a begins with the number of a section's symbol, which says
** nothing about the kernel. */
enum { INFO_HEAD = 4, INFO_LONG = 4, INFO_PARAMETERS = 0x0a };

static size_t record_size(const unsigned char *p, const unsigned char *end) {
    size_t size = INFO_HEAD + (p[0] == INFO_LONG ? (size_t)(p[2] | p[3] << 8) : 0);
    return size <= (size_t)(end - p) ? size : (size_t)(end - p);
}

/* The kernel's own records: parameters, launch bounds, clusters, barriers … */
static void mix_info(const Cubin *c, const Elf64_Shdr *s, uint64_t *hash) {
    const unsigned char *p = c->bytes + s->sh_offset, *end = p + s->sh_size;
    while (end - p >= INFO_HEAD) {
        size_t size = record_size(p, end);
        if (p[1] == INFO_PARAMETERS && size >= 8) mix(hash, p + 8, size - 8);
        else mix(hash, p, size);
        p += size;
    }
}

/* The file's records about it: registers, frame and stack. */
static void mix_common_info(const Cubin *c, uint32_t symbol, uint64_t *hash) {
    Elf64_Shdr s;
    if (!find_section(c, ".nv.info", &s) || s.sh_type == SHT_NOBITS) return;
    const unsigned char *p = c->bytes + s.sh_offset, *end = p + s.sh_size;
    while (end - p >= INFO_HEAD) {
        size_t size = record_size(p, end);
        if (p[0] == INFO_LONG && size >= 8 && word_at(p + 4) == symbol) {
            mix(hash, &p[1], 1);
            mix(hash, p + 8, size - 8);
        }
        p += size;
    }
}

/* What a relocation puts in: a place of the kernel itself, or something that has a name. */
static void mix_target(const Cubin *c, const Symbols *symbols, uint64_t info, int own,
                       uint64_t *hash) {
    uint64_t i = ELF64_R_SYM(info);
    mix_number(hash, ELF64_R_TYPE(info));
    if (i >= (uint64_t)symbols->n) return;
    Elf64_Sym symbol = symbol_at(c, symbols, (int)i);
    if (symbol.st_shndx == own) mix_number(hash, symbol.st_value);
    else mix_name(hash, name_in(symbols->names, symbols->names_len, symbol.st_name));
}

/* The relocations of section number `of`; `own` is the section of the kernel's instructions. */
static void mix_relocations(const Cubin *c, const Symbols *symbols, int of, int own,
                            uint64_t *hash) {
    for (int i = 0; i < c->n_sections; i++) {
        Elf64_Shdr s = section_at(c, i);
        bool added = s.sh_type == SHT_RELA; /* else the addend is in the bytes themselves */
        if ((!added && s.sh_type != SHT_REL) || s.sh_info != (uint32_t)of) continue;
        if (!inside(c, s.sh_offset, s.sh_size)) continue;
        size_t step = added ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
        for (uint64_t at = 0; at + step <= s.sh_size; at += step) {
            Elf64_Rela r = {0};
            memcpy(&r, c->bytes + s.sh_offset + at, step);
            mix_number(hash, r.r_offset);
            mix_number(hash, (uint64_t)r.r_addend);
            mix_target(c, symbols, r.r_info, own, hash);
        }
    }
}

static int kernel_section(const Cubin *c, const char *prefix, const char *kernel) {
    gi_buf name = {0};
    gi_buf_addf(&name, "%s%s", prefix, kernel);
    int found = section_number(c, name.data);
    gi_buf_free(&name);
    return found;
}

/* A section of its own: the bytes, or the size where it has none; its relocations. */
static void mix_section(const Cubin *c, const Symbols *symbols, const char *prefix,
                        const char *kernel, int text, uint64_t *hash) {
    int number = kernel_section(c, prefix, kernel);
    if (number < 0) return;
    Elf64_Shdr s = section_at(c, number);
    mix_name(hash, prefix);
    if (s.sh_type == SHT_NOBITS) mix_number(hash, s.sh_size);
    else if (strcmp(prefix, ".nv.info.") == 0) mix_info(c, &s, hash);
    else mix(hash, c->bytes + s.sh_offset, s.sh_size);
    mix_relocations(c, symbols, number, text, hash);
}

/* Static shared memory. Where the file has the section .nv.shared.reserved.0 (sm_90 and later) each
** size has that 1 KiB in it, which every block uses; and a kernel without any has a section of size
** 0 or 1 KiB where some other kernel of the file has dynamic shared memory, else none. */
static void mix_shared(const Cubin *c, const char *kernel, uint64_t *hash) {
    int number = kernel_section(c, ".nv.shared.", kernel);
    uint64_t size = number < 0 ? 0 : section_at(c, number).sh_size;
    uint64_t reserved = section_number(c, ".nv.shared.reserved.0") < 0 ? 0 : 1024;
    mix_number(hash, size > reserved ? size - reserved : 0);
}

static int symbol_called(const Cubin *c, const Symbols *s, int type, const char *name) {
    for (int i = 0; i < s->n; i++) {
        Elf64_Sym symbol = symbol_at(c, s, i);
        if (ELF64_ST_TYPE(symbol.st_info) == type &&
            strcmp(name_in(s->names, s->names_len, symbol.st_name), name) == 0)
            return i;
    }
    return -1;
}

/* A variable's place, size and first value; its name even where it is missing. */
static void mix_variable(const Cubin *c, const Symbols *symbols, const char *name, uint64_t *hash) {
    Elf64_Shdr s;
    bool constant;
    int i = symbol_called(c, symbols, STT_OBJECT, name);
    mix_name(hash, name);
    if (i < 0) return;
    Elf64_Sym symbol = symbol_at(c, symbols, i);
    if (!is_variable(c, &symbol, &s, &constant)) return;
    mix_name(hash, section_name(c, &s));
    mix_number(hash, symbol.st_value);
    mix_number(hash, symbol.st_size);
    if (!is_zero(c, &s, &symbol))
        mix(hash, c->bytes + s.sh_offset + symbol.st_value, symbol.st_size);
}

bool cubin_code_hash(const void *image, size_t len, const char *kernel,
                     const char *const *variables, uint64_t *hash, gi_err *err) {
    static const char *const prefixes[] = {
        ".text.",         ".nv.info.",      ".nv.local.",     ".nv.constant0.",
        ".nv.constant1.", ".nv.constant2.", ".nv.constant3.", ".nv.constant4.",
        ".nv.constant5.", ".nv.constant6.", ".nv.constant7.",
    };
    Cubin c;
    Symbols symbols;
    if (!open_cubin(&c, image, len, err) || !open_symbols(&c, &symbols, err)) return false;
    int symbol = symbol_called(&c, &symbols, STT_FUNC, kernel);
    int text = kernel_section(&c, ".text.", kernel);
    if (symbol < 0 || text < 0 || section_at(&c, text).sh_type == SHT_NOBITS)
        return gi_fail(err, "usage", "the machine code has no kernel '%s'", kernel);
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        mix_section(&c, &symbols, prefixes[i], kernel, text, &h);
    mix_shared(&c, kernel, &h);
    mix_common_info(&c, (uint32_t)symbol, &h);
    for (int i = 0; variables && variables[i]; i++) mix_variable(&c, &symbols, variables[i], &h);
    *hash = h;
    return true;
}

/* --- its registers --- */

/* .nv.info is a list of entries: a format, an attribute, and two bytes that are a value or, where
** the format is INFO_SIZED, the size of what follows: here a symbol's number and a count. */
enum { INFO_SIZED = 4, INFO_REGISTERS = 0x2f };

static int count_at(const Cubin *c, const Symbols *s, const unsigned char *p, const char *kernel) {
    uint32_t pair[2];
    memcpy(pair, p, sizeof pair);
    if (pair[0] >= (uint32_t)s->n) return 0;
    Elf64_Sym symbol = symbol_at(c, s, (int)pair[0]);
    bool is_it = strcmp(name_in(s->names, s->names_len, symbol.st_name), kernel) == 0;
    return is_it && pair[1] < 1024 ? (int)pair[1] : 0;
}

int cubin_registers(const void *image, size_t len, const char *kernel) {
    Cubin c;
    Symbols symbols;
    Elf64_Shdr info;
    if (!open_cubin(&c, image, len, NULL) || !open_symbols(&c, &symbols, NULL) ||
        !find_section(&c, ".nv.info", &info) || info.sh_type == SHT_NOBITS)
        return 0;
    const unsigned char *p = c.bytes + info.sh_offset;
    for (uint64_t at = 0, n; info.sh_size - at >= 4; at += 4 + n) {
        const unsigned char *e = p + at;
        n = e[0] == INFO_SIZED ? (uint64_t)e[2] | (uint64_t)e[3] << 8 : 0;
        if (n > info.sh_size - at - 4) return 0;
        int found = e[0] == INFO_SIZED && e[1] == INFO_REGISTERS && n == 8
                        ? count_at(&c, &symbols, e + 4, kernel)
                        : 0;
        if (found) return found;
    }
    return 0;
}

/* --- its parameters --- */

/* A record of 12 bytes for each: a number, u16 ordinal, u16 offset, u32 size in the upper 14 bits,
** or, where parameters may take more than 4 KiB, the size alone. */
enum { INFO_PARAMETER = 0x17, INFO_LARGE_PARAMETER = 0x45, PARAMETER_BYTES = 12, SIZE_AT = 18 };

static void place_param(const unsigned char *p, bool is_large, CubinParam *list, int n) {
    int ordinal = p[4] | p[5] << 8;
    uint32_t size = word_at(p + 8);
    if (ordinal < n)
        list[ordinal] = (CubinParam){(size_t)(p[6] | p[7] << 8), is_large ? size : size >> SIZE_AT};
}

/* Places those of `list`, which has room for n; returns how many records there are. */
static int each_param(const Cubin *c, const Elf64_Shdr *s, CubinParam *list, int n) {
    const unsigned char *p = c->bytes + s->sh_offset, *end = p + s->sh_size;
    int found = 0;
    while (end - p >= INFO_HEAD) {
        size_t size = record_size(p, end);
        bool is_one = p[0] == INFO_LONG && size == INFO_HEAD + PARAMETER_BYTES &&
                      (p[1] == INFO_PARAMETER || p[1] == INFO_LARGE_PARAMETER);
        if (is_one) found++, place_param(p + INFO_HEAD, p[1] == INFO_LARGE_PARAMETER, list, n);
        p += size;
    }
    return found;
}

int cubin_params(const void *image, size_t len, const char *kernel, CubinParam **out, gi_err *err) {
    Cubin c;
    if (!open_cubin(&c, image, len, err)) return -1;
    int number = kernel_section(&c, ".nv.info.", kernel);
    if (kernel_section(&c, ".text.", kernel) < 0 || number < 0)
        return gi_fail(err, "usage", "the machine code has no kernel '%s'", kernel), -1;
    Elf64_Shdr s = section_at(&c, number);
    int n = s.sh_type == SHT_NOBITS ? 0 : each_param(&c, &s, NULL, 0);
    CubinParam *list = gi_alloc((size_t)(n + 1) * sizeof *list);
    if (n > 0) each_param(&c, &s, list, n);
    for (int i = 0; i < n; i++)
        if (list[i].size == 0 || list[i].size > UINT16_MAX) {
            free(list);
            return broken(err, "a kernel's parameters are not all there"), -1;
        }
    *out = list;
    return n;
}
