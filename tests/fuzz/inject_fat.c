/* inject_fat.c - a target for src/inject/fat.c: any file of a process is passed over, or has
** containers of device code in it, each within the file. The file's functions are private: it is
** included here. */
#include "../../src/inject/fat.c"

#include <stdlib.h>

#include "fuzz.h"

static const uint8_t *file_end;

static void container(void *user, const void *at, size_t left) {
    gi_buf out = {0};
    size_t size;
    (void)user;
    if ((const uint8_t *)at + left > file_end) abort();
    if (fatbin_size(at, left, &size)) fatbin_ptx(at, left, 90, &out, NULL, NULL);
    gi_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Each each = {container, NULL};
    file_end = data + size;
    look_at_file(&each, data, size);
    return 0;
}

/* A file of two sections: the names, and one that holds two empty containers. */
void fuzz_seeds(FuzzAdd *add) {
    static const char names[] = "\0.nv_fatbin\0.shstrtab";
    static const uint8_t one[] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct {
        Elf64_Ehdr head;
        char names[24];
        uint8_t containers[40];
        Elf64_Shdr section[3];
    } file = {.head = {.e_ident = ELFMAG "\2\1\1",
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = 3,
                       .e_shstrndx = 1}};
    memcpy(file.names, names, sizeof names);
    memcpy(file.containers, one, sizeof one);
    memcpy(file.containers + 24, one, sizeof one);
    file.head.e_shoff = offsetof(__typeof__(file), section);
    file.section[1] = (Elf64_Shdr){.sh_name = 12,
                                   .sh_type = SHT_STRTAB,
                                   .sh_size = sizeof names,
                                   .sh_offset = offsetof(__typeof__(file), names)};
    file.section[2] = (Elf64_Shdr){.sh_name = 1,
                                   .sh_type = SHT_PROGBITS,
                                   .sh_size = 40,
                                   .sh_offset = offsetof(__typeof__(file), containers)};
    add(&file, sizeof file);
}
