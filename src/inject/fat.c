/* fat.c - the fat binaries in the files of this process: the program and the libraries that it has
** loaded keep them in a section of their own. Files are read where the loader says that they are;
** what is no 64-bit ELF file of this machine is passed over. */
#include "inject/inject.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/fatbin.h"

typedef struct Each {
    void (*f)(void *user, const void *container, size_t left);
    void *user;
} Each;

static bool lies(uint64_t at, uint64_t bytes, size_t size) {
    return at <= size && bytes <= size - at;
}

/* Containers one after the other, with zeros between them. */
static void look_at_section(const Each *each, const uint8_t *at, size_t left) {
    size_t size;
    while (left >= 8) {
        bool is_one = fatbin_size(at, left, &size);
        if (is_one) each->f(each->user, at, left);
        else size = 8;
        if (size > left) return;
        at += size, left -= size;
    }
}

static void look_at_file(const Each *each, const uint8_t *file, size_t size) {
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)file;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shentsize != sizeof(Elf64_Shdr) ||
        head->e_shoff % 8 || !lies(head->e_shoff, head->e_shnum * sizeof(Elf64_Shdr), size) ||
        head->e_shstrndx >= head->e_shnum)
        return;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(file + head->e_shoff);
    const Elf64_Shdr *names = &sections[head->e_shstrndx];
    static const char wanted[] = ".nv_fatbin";
    for (int i = 0; i < head->e_shnum && lies(names->sh_offset, names->sh_size, size); i++) {
        const Elf64_Shdr *s = &sections[i];
        if (s->sh_type == SHT_NOBITS || !lies(s->sh_offset, s->sh_size, size) ||
            !lies(s->sh_name, sizeof wanted, names->sh_size) ||
            memcmp(file + names->sh_offset + s->sh_name, wanted, sizeof wanted) != 0)
            continue;
        look_at_section(each, file + s->sh_offset, s->sh_size);
    }
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *user) {
    const char *path = info->dlpi_name && info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    struct stat s;
    (void)size;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    if (fstat(fd, &s) == 0 && s.st_size > 0) {
        void *file = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file != MAP_FAILED) {
            look_at_file(user, file, (size_t)s.st_size);
            munmap(file, (size_t)s.st_size);
        }
    }
    close(fd);
    return 0;
}

void fat_each(void (*f)(void *user, const void *container, size_t left), void *user) {
    Each each = {f, user};
    dl_iterate_phdr(look_at_object, &each);
}
