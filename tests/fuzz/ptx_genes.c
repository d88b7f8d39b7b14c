/* ptx_genes.c - a target for genes over PTX: any PTX, a zero byte, any genes; refused in a
** sentence, or what comes out is PTX. tests/c/ptx_genes.c is its short, seeded relative. */
#include "ptx/genes.h"

#include <stdlib.h>
#include <string.h>

#include "../c/ptx_sample.h"
#include "fuzz.h"

static void apply(const PtxBase *b, const char *genes, const char *other, size_t len) {
    gi_buf out = {0}, lost = {0};
    gi_err err;
    if (ptx_genes_apply(b, genes, other, len, &out, &lost, &err)) {
        PtxModule *m = ptx_parse(out.data, out.len, &err);
        if (m == NULL) abort();
        ptx_free(m);
    }
    gi_buf_free(&out);
    gi_buf_free(&lost);
}

static void apply_drawn(const PtxBase *b, uint64_t seed, const char *other, size_t len) {
    gi_rng rng;
    gi_err err;
    gi_buf genes = {0};
    gi_rng_seed(&rng, seed);
    for (int i = 0; i < 8 && ptx_gene_random(b, &rng, NULL, &genes, &err); i++)
        gi_buf_adds(&genes, " ");
    apply(b, genes.data ? genes.data : "", NULL, 0);
    apply(b, genes.data ? genes.data : "", other, len);
    gi_buf_free(&genes);
}

/* A second zero byte, and then other PTX, on which the genes are applied too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = gi_alloc(size + 2);
    gi_err err;
    if (size) memcpy(text, data, size);
    size_t len = strlen(text), end = len < size ? len + 1 + strlen(text + len + 1) : len;
    PtxBase *b = ptx_base_open(text, len, &err);
    if (b) {
        const char *other = end < size ? text + end + 1 : text;
        apply(b, len < size ? text + len + 1 : "", NULL, 0);
        apply_drawn(b, gi_hash(text, len, 0), other, strlen(other));
    }
    ptx_base_close(b);
    free(text);
    return 0;
}

/* The sample, a zero byte, genes of it. */
void fuzz_seeds(FuzzAdd *add) {
    gi_err err;
    PtxBase *b = ptx_base_open(ptx_sample, strlen(ptx_sample), &err);
    if (b == NULL) abort();
    for (uint64_t seed = 1; seed <= 5; seed++) {
        gi_rng rng;
        gi_buf all = {0};
        gi_rng_seed(&rng, seed);
        gi_buf_add(&all, ptx_sample, sizeof ptx_sample);
        for (int i = 0; i < 4 && ptx_gene_random(b, &rng, NULL, &all, &err); i++)
            gi_buf_adds(&all, " ");
        add(all.data, all.len);
        gi_buf_free(&all);
    }
    ptx_base_close(b);
}
