/* compile_cubin.c - a target for src/compile/cubin.c: any bytes are refused, or are machine code
** with variables and hashes. Seeds are what NVRTC makes, where it is there.
** tests/c/compile_machine.c is its short, seeded relative. */
#include "compile/cubin.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const variables[] = {"table", "counter", NULL};
    CubinSymbol *symbols = NULL;
    uint64_t hash;
    gi_err err = {0};
    int n = cubin_symbols(data, size, &symbols, &err);
    if (n < 0 && err.message[0] == '\0') abort();
    for (int i = 0; i < n; i++)
        if (symbols[i].name == NULL) abort();
    if (n >= 0) cubin_symbols_free(symbols, n);
    cubin_code_hash(data, size, "kernel", NULL, &hash, NULL);
    cubin_code_hash(data, size, "kernel", variables, &hash, NULL);
    return 0;
}

void fuzz_seeds(FuzzAdd *add) {
    static const char source[] =
        "__constant__ float table[8] = {1, 2};\n__device__ int counter = 7;\n"
        "__device__ float big[100];\nextern \"C\" __global__ void kernel(float *out, int n) {\n"
        "    __shared__ float s[32];\n    s[n & 31] = table[n & 7];\n    __syncthreads();\n"
        "    atomicAdd(&counter, n);\n    out[n] = s[threadIdx.x] + big[n];\n}\n"
        "__global__ void other(float *out) { out[0] = sinf(out[1]); }\n";
    static const char *const targets[] = {"sm_80", "sm_90", "sm_120"};
    Compiler *c = compile_open(NULL);
    Elf64_Ehdr head = {.e_ident = ELFMAG "\2\1\1",
                       .e_machine = 190,
                       .e_shoff = sizeof head,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = 1};
    uint8_t bare[sizeof head + sizeof(Elf64_Shdr)] = {0};
    memcpy(bare, &head, sizeof head);
    add(bare, sizeof bare);
    for (int i = 0; c && i < 3; i++) {
        CompileOptions o = {.target = targets[i]};
        CompileResult r = {0};
        if (compile_one(c, source, sizeof source - 1, "kernel.cu", &o, &r, NULL) && r.ok)
            add(r.code.data, r.code.len);
        compile_result_free(&r);
    }
    compile_close(c);
}
