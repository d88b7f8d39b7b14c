/* ptx_parse.c - a target for src/ptx: any bytes are refused or survive printing.
** tests/c/ptx_broken.c is its short, seeded relative. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

#include "../c/ptx_sample.h"
#include "fuzz.h"

static void analyse(const PtxFunc *f) {
    PtxCfg *c = ptx_cfg(f);
    ptx_liveness_free(ptx_liveness(f, c));
    for (int i = 0; i < f->n_code; i++)
        if (ptx_reconvergence(f, c, i) > f->n_code) abort();
    ptx_cfg_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gi_err err;
    gi_buf out = {0}, again = {0};
    ptx_canonical((const char *)data, size, &out);
    gi_buf_clear(&out);
    PtxModule *m = ptx_parse((const char *)data, size, &err);
    if (m) {
        for (int i = 0; i < m->n_funcs; i++) analyse(&m->funcs[i]);
        ptx_print(m, &out);
        PtxModule *copy = ptx_parse(out.data, out.len, &err);
        if (copy == NULL) abort();
        ptx_print(copy, &again);
        if (strcmp(out.data, again.data) != 0) abort();
        ptx_free(copy);
    }
    ptx_free(m);
    gi_buf_free(&out);
    gi_buf_free(&again);
    return 0;
}

void fuzz_seeds(FuzzAdd *add) {
    static const char loop[] = PTX_KERNEL("mov.u32 %r1, %tid.x;\n"
                                          "$top: setp.lt.s32 %p1, %r1, 5;\n"
                                          "@!%p1 bra $end;\nadd.s32 %r1, %r1, 1;\nbra.uni $top;\n"
                                          "$end: ret;");
    add(ptx_sample, strlen(ptx_sample));
    add(loop, strlen(loop));
}
