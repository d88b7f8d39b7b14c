/* code.c - which PTX, or machine code where there is none, belongs to what a program launches.
**
** The driver is given fat binaries, and its own handles are all that a launch names. So each
** image's code is kept when it is loaded, and handles are followed from the module to the function.
** A handle that nobody was seen to be given is looked for by the kernel's name: in what was loaded,
** then in the program's files.
*/
#include "inject/inject.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "compile/cubin.h"
#include "ptx/ptx.h"
#include "runtime/fatbin.h"
#include "runtime/map.h"

#define FAT_WRAPPER 0x466243b1u
enum { WHOLE_PROGRAM = 1, PARTS = 2 }; /* versions of a wrapper */

struct Image {
    char *code; /* PTX, or machine code; NULL: it has neither */
    size_t len;
    const char *why; /* what it is instead */
    int number;      /* in the recording; -1: it is not there */
    bool is_machine, is_closed, is_gone;
};

typedef struct Wrapper {
    uint32_t magic, version;
    const void *container;
} Wrapper;

static Image **images; /* in the order in which they were loaded */
static int n_images, cap_images, n_numbers;
static Map modules;   /* images by handle */
static Map functions; /* Launched by handle */
static bool files_read;

/* --- images --- */

static Image *add_image(char *code, size_t len, const char *why) {
    Image *i = gi_alloc(sizeof *i);
    bool is_machine = code && len >= 4 && memcmp(code, ELFMAG, SELFMAG) == 0;
    *i = (Image){.code = code, .len = len, .why = why, .number = -1, .is_machine = is_machine};
    gi_grow(images, n_images, cap_images);
    return images[n_images++] = i;
}

static Image *add_container(const void *container, size_t left) {
    gi_buf code = {0};
    gi_err err = {0};
    if (fatbin_ptx(container, left, gpu_compute(), &code, NULL, &err) ||
        fatbin_code(container, left, gpu_compute(), &code, &err))
        return add_image(code.data, code.len, NULL);
    gi_buf_free(&code);
    return add_image(NULL, 0, "in a fat binary that has neither PTX nor machine code for this GPU");
}

/* How long machine code is that lies in memory: up to its table of sections, which stands last. */
static size_t machine_bytes(const void *image) {
    Elf64_Ehdr h;
    memcpy(&h, image, sizeof h);
    uint64_t end = sizeof h;
    for (int i = 0; i < h.e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, (const char *)image + h.e_shoff + (size_t)i * sizeof s, sizeof s);
        if (s.sh_type != SHT_NOBITS && s.sh_offset + s.sh_size > end) end = s.sh_offset + s.sh_size;
    }
    uint64_t sections = h.e_shoff + (uint64_t)h.e_shnum * sizeof(Elf64_Shdr);
    uint64_t segments = h.e_phoff + (uint64_t)h.e_phnum * sizeof(Elf64_Phdr);
    if (sections > end) end = sections;
    return (size_t)(segments > end ? segments : end);
}

static Image *add_machine(const void *image, size_t left) {
    size_t n = left == SIZE_MAX ? machine_bytes(image) : left;
    char *ptx = triton_ptx(image, n);
    if (ptx) return add_image(ptx, strlen(ptx), NULL);
    return add_image(gi_strndup(image, n), n, NULL);
}

/* PTX as text: it begins with a comment or a directive. */
static bool is_ptx(const char *text) {
    text += strspn(text, " \t\r\n");
    return strncmp(text, "//", 2) == 0 || strncmp(text, "/*", 2) == 0 ||
           strncmp(text, ".version", 8) == 0;
}

/* left: its bytes where it was a file, behind which are zeros; SIZE_MAX: it lies in the program's
** memory, and has what its own sizes say. A wrapper's pointer means something there alone. */
static Image *image_of(const void *image, size_t left) {
    uint32_t magic;
    size_t size;
    memcpy(&magic, image, sizeof magic);
    const Wrapper *w = image;
    bool wraps = magic == FAT_WRAPPER && left == SIZE_MAX;
    if (memcmp(image, ELFMAG, SELFMAG) == 0) return add_machine(image, left);
    if (wraps && w->version == WHOLE_PROGRAM) return add_container(w->container, SIZE_MAX);
    if (wraps && w->version == PARTS)
        return add_image(NULL, 0, "linked when the program runs (-rdc=true)");
    if (fatbin_size(image, left, &size)) return add_container(image, left);
    if (is_ptx(image)) return add_image(gi_strdup(image), strlen(image), NULL);
    return add_image(NULL, 0, "of a form that is not known");
}

void code_loaded(const void *handle, const void *image) {
    if (handle == NULL || image == NULL) return;
    Image *i = image_of(image, SIZE_MAX);
    i->is_closed = i->is_machine && origin_is_closed(image);
    map_set(&modules, handle, i);
}

void code_loaded_file(const void *handle, const char *path) {
    gi_buf bytes = {0};
    if (!gi_read_file(path, &bytes, NULL)) return;
    size_t len = bytes.len;
    gi_buf_add(&bytes, "\0\0\0\0", 4); /* a magic number fits, text ends */
    if (handle) map_set(&modules, handle, image_of(bytes.data, len));
    gi_buf_free(&bytes);
}

Image *code_image(const void *handle) {
    Image *i = handle ? map_get(&modules, handle) : NULL;
    return i && i->code ? i : NULL;
}

bool code_is_machine(const Image *i) {
    return i->is_machine;
}

bool code_is_closed(const Image *i) {
    return i->is_closed;
}

int code_number(Image *i) {
    if (i->number < 0) {
        i->number = n_numbers++;
        tape_module(i->number, i->code, i->len, i->is_machine);
    }
    return i->number;
}

static void read_container(void *user, const void *container, size_t left) {
    (void)user;
    add_container(container, left);
}

/* --- kernels --- */

/* Where the parameters of an entry begin: behind its name. NULL: it is not there. */
static const char *entry_in(const Image *i, const char *name) {
    size_t n = strlen(name);
    for (const char *at = i->is_machine ? NULL : i->code;
         at && (at = strstr(at, ".entry")) != NULL;) {
        at += strlen(".entry");
        at += strspn(at, " \t\r\n");
        if (strncmp(at, name, n) == 0 && strchr(" \t\r\n({;", at[n])) return at + n;
    }
    return NULL;
}

static void make_room(Launched *l, int n) {
    l->n_params = n;
    l->at = gi_alloc(((size_t)n + 1) * sizeof *l->at);
    l->size = gi_alloc(((size_t)n + 1) * sizeof *l->size);
}

/* Parameters as machine code has them. */
static bool lay_out_machine(Launched *l, gi_err *err) {
    CubinParam *params;
    int n = cubin_params(l->image->code, l->image->len, l->name, &params, err);
    if (n < 0) return false;
    make_room(l, n);
    for (int i = 0; i < n; i++) {
        l->at[i] = params[i].offset, l->size[i] = params[i].size;
        if (l->at[i] + l->size[i] > l->bytes) l->bytes = l->at[i] + l->size[i];
    }
    free(params);
    return true;
}

/* … as a kernel's declaration lays them out. */
static bool lay_out(Launched *l, const char *from, gi_err *err) {
    const char *open = from + strspn(from, " \t\r\n"), *end = strchr(open, ')');
    gi_buf text = {0};
    gi_buf_addf(&text, ".version 9.0\n.target sm_90\n.address_size 64\n.entry %s", l->name);
    if (*open == '(' && end) gi_buf_add(&text, open, (size_t)(end + 1 - open));
    gi_buf_adds(&text, "\n{\nret;\n}\n");
    PtxModule *m = ptx_parse(text.data, text.len, err);
    gi_buf_free(&text);
    if (m == NULL) return false;
    const PtxFunc *f = &m->funcs[0]; /* the text has one */
    make_room(l, f->n_params);
    for (int i = 0; i < f->n_params; i++) {
        size_t align = f->params[i].align > 0 ? (size_t)f->params[i].align : 1;
        l->at[i] = (l->bytes + align - 1) / align * align;
        l->size[i] = (size_t)f->params[i].size;
        l->bytes = l->at[i] + l->size[i];
    }
    ptx_free(m);
    return true;
}

/* The word of the arguments `offset` bytes behind one of them; -1: there is none. */
static int word_behind(const Launched *l, int64_t word, int64_t offset) {
    int64_t words = (int64_t)(l->bytes / 8), by = offset / 8;
    return by >= -words && by < words && word + by >= 0 && word + by < words ? (int)(word + by)
                                                                             : -1;
}

/* Is it a word of the arguments, where `from` says which register holds which? -1. */
static int word_of(const Launched *l, const PtxFunc *f, const int *from, const PtxOperand *o) {
    if (o->kind == PTX_OP_ADDR) {
        int base = word_of(l, f, from, &o->elems[0]);
        return base < 0 ? -1 : word_behind(l, base, o->offset);
    }
    if (o->kind == PTX_OP_REG) return from[o->reg];
    const int n = f->n_params < l->n_params ? f->n_params : l->n_params;
    for (int i = 0; o->kind == PTX_OP_SYMBOL && i < n; i++)
        if (o->var == &f->params[i]) return word_behind(l, (int64_t)(l->at[i] / 8), o->offset);
    return -1;
}

/* Handles go from the arguments to where a texture is read by loads and moves. */
static void mark_textures(Launched *l, const PtxFunc *f) {
    int *from = gi_alloc(((size_t)f->n_regs + 1) * sizeof *from);
    for (int i = 0; i < f->n_regs; i++) from[i] = -1;
    for (int i = 0; i < f->n_code; i++) {
        const PtxInstr *in = &f->code[i];
        bool loads = ptx_is(in, "ld") && ptx_has_mod(in, "param");
        if ((loads || ptx_is(in, "mov cvta")) && in->n_args == 2 &&
            in->args[0].kind == PTX_OP_REG)
            from[in->args[0].reg] = word_of(l, f, from, &in->args[1]);
        for (int k = 0; k < in->n_args; k++) {
            if (in->args[k].kind != PTX_OP_TEX) continue;
            int word = word_of(l, f, from, &in->args[k].elems[0]);
            if (word >= 0) l->textures[word] = 1;
        }
    }
    free(from);
}

const uint8_t *code_textures(const Launched *launched) {
    Launched *l = (Launched *)(uintptr_t)launched; /* which is code.c's own */
    gi_err err = {0};
    if (l->textures || l->image->code == NULL || l->image->is_machine) return l->textures;
    l->textures = gi_alloc(l->bytes / 8 + 1);
    PtxModule *m = ptx_parse_most(l->image->code, l->image->len, &err);
    const PtxFunc *f = m ? ptx_find_func(m, l->name) : NULL;
    bool fine = f && f->refused == NULL;
    if (fine) mark_textures(l, f);
    else if (m) gi_fail(&err, "format", "%s", f ? f->refused : "its module does not have it");
    ptx_free(m);
    if (!fine)
        refuse("which arguments of kernel %s are textures cannot be told: %s", l->name,
               err.message);
    return l->textures;
}

static Launched *new_function(Image *i, const char *name) {
    Launched *l = gi_alloc(sizeof *l);
    *l = (Launched){.image = i, .name = gi_strdup(name)};
    return l;
}

void code_function(const void *handle, const void *module, const char *name) {
    Image *i = handle && name ? map_get(&modules, module) : NULL;
    if (i) map_set(&functions, handle, new_function(i, name));
}

void code_same(const void *handle, const void *of) {
    if (handle == NULL || of == NULL) return;
    if (map_get(&functions, of)) map_set(&functions, handle, map_get(&functions, of));
    if (map_get(&modules, of)) map_set(&modules, handle, map_get(&modules, of));
}

/* Kernels that were launched keep their code: it is in the recording. */
void code_gone(const void *handle) {
    Image *i = handle ? map_get(&modules, handle) : NULL;
    if (i == NULL) return;
    i->is_gone = true;
    for (size_t k = 0; k < functions.cap; k++) {
        const Launched *l = functions.rows[k].value;
        if (l && l->image == i) functions.rows[k].value = NULL;
    }
    for (size_t k = 0; k < modules.cap; k++)
        if (modules.rows[k].value == i) modules.rows[k].value = NULL;
}

static bool has_kernel(const Image *i, const char *name) {
    CubinParam *params;
    if (!i->is_machine) return entry_in(i, name) != NULL;
    bool has = cubin_params(i->code, i->len, name, &params, NULL) >= 0;
    if (has) free(params);
    return has;
}

/* The one image, from `first` on, that has the kernel; two that differ are one too many. */
static Image *image_with(const char *name, int first) {
    Image *found = NULL;
    for (int i = first; i < n_images; i++) {
        Image *at = images[i];
        if (at->is_gone || at->code == NULL || !has_kernel(at, name)) continue;
        if (found && (found->len != at->len || memcmp(found->code, at->code, at->len) != 0))
            refuse("two modules of the program have a kernel %s, and which of them it launches "
                   "cannot be told",
                   name);
        if (found == NULL) found = at;
    }
    return found;
}

static Image *image_by_name(const char *name) {
    Image *i = image_with(name, 0);
    if (i || files_read) return i;
    int first = n_images;
    files_read = true;
    fat_each(read_container, NULL);
    return image_with(name, first);
}

const Launched *code_known(const void *handle, const char *name) {
    Launched *l = map_get(&functions, handle);
    if (l && l->at) return l;
    if (l == NULL) {
        l = new_function(name ? image_by_name(name) : NULL, name ? name : "without a name");
        map_set(&functions, handle, l);
    }
    if (l->image == NULL || l->image->code == NULL) return l;
    const char *params = entry_in(l->image, l->name);
    gi_err err;
    if (params ? !lay_out(l, params, &err) : l->image->is_machine && !lay_out_machine(l, &err))
        refuse("the parameters of kernel %s are not understood: %s", l->name, err.message);
    return l;
}

const Launched *code_launched(const void *handle, const char *name) {
    const Launched *l = code_known(handle, name);
    const char *what = l->image && l->image->why ? l->image->why : "of code that was not seen";
    if (l->at == NULL)
        refuse("the kernel %s is %s: what is launched can be neither kept nor replayed (build the "
               "program with -gencode arch=compute_%d,code=compute_%d as well)",
               l->name, what, gpu_compute(), gpu_compute());
    return l;
}
