/* fake_cubin.h - machine code without an assembler: an ELF file with the sections by which a cubin
** says what its kernels' parameters are, and the PTX that it stands for, which fake_cuda.c runs.
*/
#ifndef FAKE_CUBIN_H
#define FAKE_CUBIN_H

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_CUBIN_PTX ".gilua_ptx"

typedef struct FakeCubin {
    char *bytes;
    size_t len;
    Elf64_Shdr sections[64];
    int n;
    char names[8192];
    size_t names_len;
} FakeCubin;

static inline void fake_cubin_section(FakeCubin *c, const char *prefix, const char *name,
                                      unsigned type, const void *bytes, size_t n) {
    c->sections[c->n] = (Elf64_Shdr){.sh_name = (Elf64_Word)c->names_len, .sh_type = type,
                                     .sh_offset = c->len, .sh_size = n, .sh_link = 1};
    c->names_len += (size_t)sprintf(c->names + c->names_len, "%s%s", prefix, name) + 1;
    c->bytes = realloc(c->bytes, c->len + n + 16);
    memset(c->bytes + c->len, 0, n + 16);
    if (n > 0) memcpy(c->bytes + c->len, bytes, n);
    c->len = (c->len + n + 7) & ~(size_t)7;
    c->n++;
}

/* A record for each of the parameters between the brackets. */
static inline size_t fake_cubin_params(const char *at, unsigned char *out) {
    const char *end = strchr(at, ')');
    size_t offset = 0, n = 0;
    for (int i = 0; (at = strstr(at, ".param")) != NULL && at < end; i++) {
        unsigned align = 0, size = 0;
        at += strlen(".param");
        if (sscanf(at, " .align %u .b8 %*[^[][%u]", &align, &size) != 2) {
            sscanf(at, " .%*[usfb]%u", &size);
            align = size /= 8;
        }
        offset = (offset + align - 1) / align * align;
        unsigned char record[16] = {4, 0x17, 12, 0};
        record[8] = (unsigned char)i, record[10] = (unsigned char)offset;
        record[11] = (unsigned char)(offset >> 8);
        unsigned word = size << 18 | 0x1f000;
        memcpy(record + 12, &word, 4);
        memcpy(out + n, record, 16);
        n += 16, offset += size;
    }
    return n;
}

/* is_bare: without what its parameters are. To be left where it is. */
static inline void *fake_cubin(const char *ptx, int is_bare, size_t *len) {
    FakeCubin c = {.bytes = calloc(1, sizeof(Elf64_Ehdr)), .len = sizeof(Elf64_Ehdr)};
    fake_cubin_section(&c, "", "", SHT_NULL, NULL, 0);
    fake_cubin_section(&c, ".shstrtab", "", SHT_STRTAB, c.names, sizeof c.names);
    fake_cubin_section(&c, ".symtab", "", SHT_SYMTAB, NULL, 0);
    fake_cubin_section(&c, FAKE_CUBIN_PTX, "", SHT_PROGBITS, ptx, strlen(ptx) + 1);
    for (const char *at = ptx; (at = strstr(at, ".entry")) != NULL;) {
        char name[200];
        unsigned char params[1024];
        at += strlen(".entry");
        sscanf(at, " %199[^( \n]", name);
        fake_cubin_section(&c, ".text.", name, SHT_PROGBITS, "code", 4);
        size_t n = fake_cubin_params(at, params);
        if (!is_bare) fake_cubin_section(&c, ".nv.info.", name, SHT_PROGBITS, params, n);
    }
    memcpy(c.bytes + c.sections[1].sh_offset, c.names, sizeof c.names);
    Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                    .e_shoff = c.len, .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = (Elf64_Half)c.n, .e_shstrndx = 1};
    size_t table = (size_t)c.n * sizeof(Elf64_Shdr);
    c.bytes = realloc(c.bytes, c.len + table);
    memcpy(c.bytes, &h, sizeof h);
    memcpy(c.bytes + c.len, c.sections, table);
    *len = c.len + table;
    return c.bytes;
}

#endif
