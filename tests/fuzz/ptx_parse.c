/* ptx_parse.c - a libFuzzer target for src/ptx: any bytes are refused or survive printing.
**
**   clang -g -O1 -std=c11 -D_GNU_SOURCE -Isrc -fsanitize=fuzzer,address,undefined \
**       tests/fuzz/ptx_parse.c src/ptx/[a-z]*.c src/base/base.c -lm -o ptx_fuzz && ./ptx_fuzz
**       corpus/
**
** with a folder of PTX files as the corpus. tests/c/ptx_broken.c is its short, seeded relative. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
