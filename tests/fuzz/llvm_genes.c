/* llvm_genes.c - a target for genes over LLVM's representation: any genes are refused in a
** sentence, or read and printed the same again, and applied. The module is one that LLVM takes:
** what LLVM does with bytes that are none is its own affair, and happens in a worker. Without
** libLLVM there is nothing to try: the target says so and ends with status 77. */
#include "llvm/genes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static const char module[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define internal float @twice(float %a) {\n  %b = fmul float %a, 2.0\n  ret float %b\n}\n"
    "define ptx_kernel void @k(ptr addrspace(1) %y, i32 %n) {\nentry:\n"
    "  %s = alloca [4 x i32], align 4\n  %c = icmp slt i32 0, %n\n"
    "  br i1 %c, label %loop, label %end\nloop:\n"
    "  %i = phi i32 [ 0, %entry ], [ %j, %loop ]\n"
    "  %p = getelementptr float, ptr addrspace(1) %y, i32 %i\n"
    "  %v = load float, ptr addrspace(1) %p, align 4\n  %t = call float @twice(float %v)\n"
    "  %w = fadd float %t, 1.0\n  store float %w, ptr addrspace(1) %p, align 4\n"
    "  %j = add nsw i32 %i, 1\n  %d = icmp slt i32 %j, %n\n  %u = select i1 %d, i32 %j, i32 7\n"
    "  store volatile i32 %u, ptr %s, align 4\n"
    "  br i1 %d, label %loop, label %end\nend:\n  ret void\n}\n";

static LlvmBase *base(void) {
    static LlvmBase *b;
    gi_err err;
    Llvm *l = b ? NULL : llvm_open(&err);
    if (b) return b;
    if (l == NULL) {
        fprintf(stderr, "%s\n", err.message);
        exit(77);
    }
    if ((b = llvm_base_open(l, module, sizeof module - 1, &err)) == NULL) abort();
    return b;
}

/* Each gene that is one is printed, and read as the same. */
static void read_all(const char *text) {
    gi_err err = {0};
    LlvmGene gene, same;
    const char *end;
    while (*text) {
        text += strspn(text, " ");
        if (*text == '\0') return;
        gi_buf one = {0}, again = {0};
        if (!llvm_gene_parse(base(), text, &gene, &end, &err)) {
            if (err.message[0] == '\0' || strchr(err.message, '\n')) abort();
            return;
        }
        if (end <= text) abort();
        llvm_gene_print(base(), &gene, &one);
        text = end;
        if (!llvm_gene_parse(base(), one.data, &same, &end, &err)) abort();
        llvm_gene_print(base(), &same, &again);
        if (strcmp(one.data, again.data) != 0) abort();
        gi_buf_free(&one);
        gi_buf_free(&again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *genes = gi_alloc(size + 1);
    gi_err err = {0};
    gi_buf lost = {0};
    if (size) memcpy(genes, data, size);
    read_all(genes);
    LlvmModule *m = llvm_genes_apply(base(), genes, NULL, 0, &lost, &err);
    if (m == NULL && err.message[0] == '\0') abort();
    llvm_module_close(m);
    gi_buf_free(&lost);
    free(genes);
    return 0;
}

void fuzz_seeds(FuzzAdd *add) {
    for (uint64_t seed = 1; seed <= 8; seed++) {
        gi_rng rng;
        gi_buf all = {0};
        gi_rng_seed(&rng, seed);
        for (int i = 0; i < 4; i++) {
            if (!llvm_gene_random(base(), &rng, NULL, &all, NULL)) abort();
            gi_buf_adds(&all, " ");
        }
        add(all.data, all.len);
        gi_buf_free(&all);
    }
}
