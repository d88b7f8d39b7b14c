/* inject_code.c - a target for src/inject/code.c: any file that a program loads as a module is
** refused in a sentence, or has kernels whose arguments are found, textures among them. The file's
** functions are private: it is included here, and what it calls of the driver stands here. */
#include "../../src/inject/code.c"

#include <setjmp.h>
#include <stdio.h>

#include "../c/fake_cubin.h"
#include "fuzz.h"

static jmp_buf refused;

void refuse(const char *fmt, ...) {
    if (fmt[0] == '\0') abort();
    longjmp(refused, 1);
}

int gpu_compute(void) {
    return 90;
}

void tape_module(int number, const char *code, size_t len, bool is_machine) {
    if (number < 0 || (!is_machine && strlen(code) > len)) abort();
}

void fat_each(void (*f)(void *user, const void *container, size_t left), void *user) {
    (void)f, (void)user;
}

char *triton_ptx(const void *code, size_t n) {
    return n > 0 && ((const char *)code)[0] == 1 ? gi_strdup("") : NULL;
}

bool origin_is_closed(const void *image) {
    return image == NULL;
}

static void ask(const char *path) {
    static const char module, kernel, by_name;
    code_loaded_file(&module, path);
    code_function(&kernel, &module, "k");
    if (setjmp(refused) == 0) {
        const Launched *l = code_launched(&kernel, "k");
        code_number(l->image);
        code_textures(l);
        for (int i = 0; i < l->n_params; i++)
            if (l->at[i] + l->size[i] > l->bytes) abort();
    }
    if (setjmp(refused) == 0) code_launched(&by_name, "other");
}

/* All that the process has learned is forgotten, for the next input. */
static void forget(void) {
    for (size_t k = 0; k < functions.cap; k++) {
        Launched *l = functions.rows[k].value;
        if (l) free(l->name), free(l->at), free(l->size), free(l->textures);
        free(l);
    }
    for (int i = 0; i < n_images; i++) free(images[i]->code), free(images[i]);
    free(functions.rows), free(modules.rows);
    functions = modules = (Map){0};
    n_images = n_numbers = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char path[] = "inject_code.file";
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0) abort();
    ask(path);
    remove(path);
    forget();
    return 0;
}

/* PTX, a container with it, and machine code. */
void fuzz_seeds(FuzzAdd *add) {
    static const char ptx[] =
        "// x\n.version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 p, .param .align 8 .b8 t[24], .param .u32 n)\n{\n"
        ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>;\nld.param.u64 %rd1, [t+8];\n"
        "mov.u64 %rd2, %rd1; mov.b64 %rd4, t; ld.param.u64 %rd5, [%rd4+16];\n"
        "tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd2, {%r5}];\n"
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd5, {%f1, %f2}];\nret;\n}\n"
        ".entry other ( .param .u64 a ) { ret; }\n";
    struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t body;
        uint16_t kind, entry_version;
        uint32_t entry_header;
        uint64_t bytes;
        uint32_t packed, unused, more, arch;
        uint64_t rest[4];
        char text[(sizeof ptx + 7) / 8 * 8];
    } fat = {0xBA55ED50u, 1, 16, 64 + sizeof fat.text, FAT_PTX, 0x101, 64, sizeof fat.text,
             0,           0, 0,  80,                   {0},     ""};
    memcpy(fat.text, ptx, sizeof ptx);
    add(ptx, sizeof ptx - 1);
    add(&fat, sizeof fat);
    size_t len;
    void *cubin = fake_cubin(ptx, 0, &len);
    add(cubin, len);
    free(cubin);
}
