/* emu_link.c - a target for modules of several texts: any PTX, with zero bytes between them, is
** linked or refused in a sentence; its kernels are looked at, and what memory they reach.
** tests/c/ptx_link.c and ptx_access.c are its short relatives. */
#include "emu/emu.h"

#include <stdlib.h>
#include <string.h>

#include "../c/emu_model.h"
#include "fuzz.h"
#include "ptx/ptx.h"

enum { MOST_TEXTS = 4 };

static void link_all(const EmuText *texts, int n) {
    EmuModel model = emu_model_round();
    Emu *e = emu_new(&model);
    EmuKernelInfo info;
    gi_err err = {0};
    EmuLink what = {.texts = texts, .n = n};
    emu_memory_limit(e, 16 << 20);
    EmuModule *m = emu_link(e, &what, &err);
    if (m == NULL && err.message[0] == '\0') abort();
    const char *kernel;
    for (int i = 0; m && (kernel = emu_kernel_name(m, i)) != NULL; i++)
        emu_kernel_info(m, kernel, &info, &err);
    if (m) emu_reset(m);
    if (m) emu_unload(m);
    emu_free(e);
}

static void look_at(const EmuText *text) {
    PtxModule *m = ptx_parse_most(text->ptx, text->len, NULL);
    PtxAccess a;
    for (int i = 0; m && i < m->n_funcs; i++)
        if (ptx_access(m, m->funcs[i].name, "k", &a)) ptx_access_free(&a);
    ptx_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    EmuText texts[MOST_TEXTS];
    char *all = gi_alloc(size + 1), *at = all;
    int n = 0;
    if (size) memcpy(all, data, size);
    all[size] = '\0';
    for (; n < MOST_TEXTS && at <= all + size; at += texts[n++].len + 1)
        texts[n] = (EmuText){.ptx = at, .len = strlen(at)};
    for (int i = 0; i < n; i++) look_at(&texts[i]);
    link_all(texts, n);
    free(all);
    return 0;
}

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

void fuzz_seeds(FuzzAdd *add) {
    static const char two[] =
        HEAD ".extern .func (.param .b32 r) f(.param .b32 a);\n.extern .global .align 4 .u32 n;\n"
             ".weak .global .align 4 .u32 w = 1;\n.extern .shared .align 8 .b8 s[];\n"
             ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
             ".param .b32 p; .param .b32 q;\nld.param.u64 %rd1, [out]; ld.global.u32 %r1, [n];\n"
             "st.param.b32 [p], %r1; call.uni (q), f, (p); ld.param.b32 %r2, [q];\n"
             "mov.u64 %rd2, f; st.global.u32 [%rd1+8], %r2; ret;\n}\n\0" HEAD
             ".visible .global .align 4 .u32 n = 3;\n.weak .global .align 4 .u32 w = 2;\n"
             ".global .u64 table[2] = {f, generic(n)+4};\n.extern .shared .align 8 .b8 s[];\n"
             ".visible .func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %r<4>;\n"
             "ld.param.u32 %r1, [a]; st.shared.u32 [s], %r1; st.param.b32 [r], %r1; ret;\n}\n"
             ".alias g, f;\n.file 1 \"b.cu\"\n";
    add(two, sizeof two - 1);
}
