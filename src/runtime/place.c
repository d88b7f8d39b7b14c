/* place.c - see place.h. Frames are the C library's backtrace, from unwinding tables that programs
** have unless they were built without. */
#include "runtime/place.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/lines.h"
#include "runtime/module.h"
#include "runtime/used.h"

enum { FRAMES = 24, PLACES = 64, FILES = 16, MOST_INLINED = 16 };

typedef struct Frame {
    const struct link_map *in;
    const LinesFile *file; /* NULL: cannot be read */
    const char *function;  /* the linker's name; NULL: unknown */
    uint64_t address;      /* in the file */
    uint64_t start, size;  /* of the function; 0: unknown */
} Frame;

/* --- files --- */

static const LinesFile *file_at(const struct link_map *in, const char *path) {
    static struct {
        const struct link_map *in;
        LinesFile *file;
    } known[FILES];
    static int n;
    for (int i = 0; i < n; i++)
        if (known[i].in == in) return known[i].file;
    if (n == FILES) return NULL;
    known[n].in = in;
    known[n].file = lines_open(path);
    return known[n++].file;
}

/* The beginning of the function by unwinding tables, which stripped programs have, too; 0. */
static uint64_t function_around(void *address) {
    static void *(*find)(void *);
    static bool looked;
    if (!looked) {
        void *unwinder = dlopen("libgcc_s.so.1", RTLD_LAZY);
        looked = true;
        if (unwinder) *(void **)&find = dlsym(unwinder, "_Unwind_FindEnclosingFunction");
    }
    return find ? (uint64_t)(uintptr_t)find(address) : 0;
}

typedef struct Segment {
    uintptr_t address, end; /* end: of the code in which the address lies; 0: none */
} Segment;

static int find_segment(struct dl_phdr_info *info, size_t size, void *user) {
    Segment *s = user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_X && s->address - from < p->p_memsz)
            s->end = from + p->p_memsz;
    }
    return s->end != 0;
}

/* Bytes from the beginning of a function without a symbol to the end of all code. */
static uint64_t code_behind(const Frame *f) {
    Segment s = {.address = f->in->l_addr + f->start};
    dl_iterate_phdr(find_segment, &s);
    return f->start && s.end ? s.end - s.address : 0;
}

static bool read_frame(void *back, Frame *out) {
    Dl_info info;
    struct link_map *in;
    if (!dladdr1((char *)back - 1, &info, (void **)&in, RTLD_DL_LINKMAP)) return false;
    *out = (Frame){.in = in,
                   .file = file_at(in, in->l_name[0] ? in->l_name : "/proc/self/exe"),
                   .address = (uint64_t)(uintptr_t)back - 1 - in->l_addr};
    out->start = function_around((char *)back - 1);
    if (out->start) out->start -= in->l_addr;
    if (out->file) out->function = lines_function(out->file, out->address, &out->start, &out->size);
    if (out->function == NULL) out->size = code_behind(out);
    return true;
}

/* --- which frame --- */

/* The name in a mangled one of a function outside of classes and namespaces; its length. */
static size_t plain_name(const char *symbol, const char **name) {
    *name = symbol;
    if (strncmp(symbol, "_Z", 2) != 0) return strlen(symbol);
    char *end;
    size_t n = strtoul(symbol + (symbol[2] == 'L' ? 3 : 2), &end, 10);
    *name = end;
    return n <= strlen(end) ? n : 0;
}

/* Is it one of CUDA's own inline functions, which call the function of the same name or kin? */
static bool is_of_cuda(const char *symbol) {
    char text[100];
    const char *name;
    size_t n = plain_name(symbol, &name);
    if (n >= 6 && strncmp(name, "__cuda", 6) == 0) return true;
    if (n < 5 || n >= sizeof text || strncmp(name, "cuda", 4) != 0) return false;
    snprintf(text, sizeof text, "%.*s", (int)n, name);
    return dlsym(RTLD_DEFAULT, text) != NULL;
}

static bool is_stand_in(const Frame *f) {
    const char *at = (const char *)(uintptr_t)(f->in->l_addr + f->start);
    if (module_kernel(at)) return true;
    return f->function && (strstr(f->function, "__device_stub__") || is_of_cuda(f->function));
}

/* Is the address in this library, or in a stand-in of another, which lies in the same folder? */
static bool is_ours(void *address) {
    Dl_info own, other;
    if (!dladdr((void *)(uintptr_t)&place_of_call, &own) || !dladdr(address, &other)) return false;
    const char *name = strrchr(own.dli_fname, '/');
    size_t folder = name ? (size_t)(name - own.dli_fname) + 1 : 0;
    return own.dli_fbase == other.dli_fbase ||
           (folder && strncmp(own.dli_fname, other.dli_fname, folder) == 0);
}

/* How many frames are ours, and a sanitizer's whose backtrace() stands before them. */
static int own_frames(void *const *back, int n) {
    int i = 0;
    while (i < n && !is_ours((char *)back[i] - 1)) i++;
    while (i < n && is_ours((char *)back[i] - 1)) i++;
    return i;
}

/* The innermost frame of the program's own. */
static bool find_frame(void *const *back, int n, Frame *out) {
    bool found = false, in_stand_in = false;
    for (int i = own_frames(back, n); i < n; i++) {
        Frame f;
        if (!read_frame(back[i], &f)) break;
        if (!found || in_stand_in) *out = f;
        found = true;
        in_stand_in = is_stand_in(&f);
        if (!in_stand_in && f.function) break; /* without names a stand-in may be farther out */
    }
    return found;
}

/* May the program use what the call returns? False: the code behind the call shows that it does
** not. Where a function returns it, too, its caller's code says. */
static bool may_use(void *const *back, int n) {
    Used used = USED_RETURNED;
    for (int i = own_frames(back, n); i < n && used == USED_RETURNED; i++) {
        Frame f;
        if (!read_frame(back[i], &f) || f.size == 0) return true;
        used = used_after(back[i], (const uint8_t *)(uintptr_t)(f.in->l_addr + f.start), f.size);
    }
    return used != USED_NO;
}

/* --- in words --- */

/* The name for people, without parameters. */
static void add_function(const Frame *f, char *out, size_t cap) {
    char *shown = module_demangled(f->function);
    shown[strcspn(shown, "(")] = '\0';
    snprintf(out, cap, "%s", shown);
    free(shown);
}

static const void *launched;

void place_launches(const void *kernel) {
    launched = kernel;
}

/* Is it a file of what nvcc puts between a program and the library? */
static bool is_of_nvcc(const char *file) {
    return strstr(file, "/cuda_runtime") || strstr(file, "/crt/") || strstr(file, ".stub.c");
}

/* The line of an address by the table of lines; 0: unknown. */
static int table_line(const Frame *f, char *file, size_t cap) {
    return f->file ? lines_line(f->file, f->address, file, cap) : 0;
}

static bool is_definition(const char *file, int line) {
    Frame f;
    char defined[150];
    const Kernel *k = launched ? module_kernel(launched) : NULL;
    return k && k->host && read_frame((char *)(uintptr_t)k->host + 1, &f) &&
           table_line(&f, defined, sizeof defined) == line && strcmp(file, defined) == 0;
}

/* The line of an address, or, where the code is that of one of CUDA's headers or of a kernel's
** stand-in that the compiler put there, of the program's call of that; 0: unknown. */
static int line_of(const Frame *f, char *file, size_t cap) {
    LinesCall calls[MOST_INLINED];
    int line = table_line(f, file, cap);
    if (line == 0 || (!is_of_nvcc(file) && !is_definition(file, line))) return line;
    int n = lines_inlined(f->file, f->address, calls, MOST_INLINED);
    for (int i = 0; i < n; i++) {
        const LinesCall *c = &calls[i];
        if (c->line == 0 || is_of_nvcc(c->file) || is_definition(c->file, c->line)) continue;
        snprintf(file, cap, "%s", c->file);
        return c->line;
    }
    return 0;
}

static void describe(const Frame *f, Place *out) {
    char file[150], function[120];
    out->line = line_of(f, file, sizeof file);
    if (f->function) add_function(f, function, sizeof function);
    if (out->line && f->function)
        snprintf(out->text, sizeof out->text, "%s line %d, in %s", file, out->line, function);
    else if (out->line) snprintf(out->text, sizeof out->text, "%s line %d", file, out->line);
    else if (f->function)
        snprintf(out->text, sizeof out->text, "in %s+0x%llx", function,
                 (unsigned long long)(f->address + 1 - f->start));
    else {
        const char *name = f->in->l_name[0] ? f->in->l_name : "the program";
        snprintf(out->text, sizeof out->text, "at 0x%llx of %.200s",
                 (unsigned long long)(f->address + 1), name);
    }
}

Place place_at(const void *code) {
    Place p = {.text = "somewhere in the program"};
    Frame f;
    if (code && read_frame((char *)(uintptr_t)code + 1, &f)) describe(&f, &p);
    return p;
}

const Place *place_of_call(void) {
    static struct {
        void *back[FRAMES];
        int n;
        Place place;
    } known[PLACES];
    void *back[FRAMES] = {0};
    Frame f;
    int n = backtrace(back, FRAMES);
    size_t i = gi_hash(back, sizeof back, 0) % PLACES;
    Place *p = &known[i].place;
    if (known[i].n == n && memcmp(known[i].back, back, sizeof back) == 0) return p;
    memcpy(known[i].back, back, sizeof back);
    known[i].n = n;
    *p = (Place){.text = "somewhere in the program"};
    if (find_frame(back, n, &f)) describe(&f, p);
    p->may_use = may_use(back, n);
    return p;
}
