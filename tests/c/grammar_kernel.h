/* grammar_kernel.h - a small kernel in several styles, and options, shared by the grammar tests. */
#ifndef GRAMMAR_KERNEL_H
#define GRAMMAR_KERNEL_H

#include "grammar/grammar.h"

#include <stdlib.h>
#include <string.h>

static const char kernel_text[] =
    "#undef FAST\n"                                                        /*  1 */
    "#define STEP 5 // voxels\n"                                           /*  2 */
    "#define cell(c, b) temp[4 * (c) + (b)]\n"                             /*  3 */
    "__shared__ float temp[64];\n"                                         /*  4 */
    "static __device__ float half_of(float x) { return x / 2; }\n"         /*  5 */
    "extern \"C\" __global__ void smooth(const float *in, float *out, int n, const int m)\n" /* 6 */
    "{\n"                                                                  /*  7 */
    "    int i = threadIdx.x, b = 0, c = 0; /* ; { */\n"                   /*  8 */
    "    float sum = 0, part = 1;\n"                                       /*  9 */
    "    if (i < n) {\n"                                                   /* 10 */
    "        float inner = 2;\n"                                           /* 11 */
    "        sum = in[i]; part = half_of(sum); // two\n"                   /* 12 */
    "        inner += sum;\n"                                              /* 13 */
    "        temp[i] = inner;\n"                                           /* 14 */
    "    } else if (i == n) sum = 3;\n"                                    /* 15 */
    "    else part = 4;\n"                                                 /* 16 */
    "    __syncthreads();\n"                                               /* 17 */
    "    for (c = 0; c < 4; c++) {\n"                                      /* 18 */
    "        for (b = 0; b < 4; b++)\n"                                    /* 19 */
    "            sum += cell(c, b) *\n"                                    /* 20 */
    "                   part;\n"                                           /* 21 */
    "        if (sum > 100) break;\n"                                      /* 22 */
    "    }\n"                                                              /* 23 */
    "#ifdef FAST\n"                                                        /* 24 */
    "    int quick = 1;\n"                                                 /* 25 */
    "    quick += m;\n"                                                    /* 26 */
    "#endif\n"                                                             /* 27 */
    "    part += STEP;\n"                                                  /* 28 */
    "    while (sum > 9)\n"                                                /* 29 */
    "        sum /= 2;\n"                                                  /* 30 */
    "#ifdef FAST\n"                                                        /* 31 */
    "    part += quick;\n"                                                 /* 32 */
    "#endif\n"                                                             /* 33 */
    "    out[i] = sum;\n"                                                  /* 34 */
    "}\n";                                                                 /* 35 */

static const GrammarConfig kernel_config[] = {
    {"FAST", "1", true}, {"STEP", "10", true}, {"block_size", NULL, false}};

static GrammarOptions kernel_options(bool open_loops) {
    return (GrammarOptions){.file = "k.cu", .kernel = "smooth", .open_loops = open_loops,
                            .pragmas = true, .restricts = true, .consts = true, .volatiles = true,
                            .launch_bounds = true, .launch_bounds_threads = "BLOCK",
                            .config = kernel_config, .n_config = 3};
}

__attribute__((unused)) static Grammar *kernel_grammar(bool open_loops) {
    GrammarOptions o = kernel_options(open_loops);
    return grammar_parse(kernel_text, strlen(kernel_text), &o, NULL);
}

/* The mutant's source; the genome must be legal. Caller frees. */
__attribute__((unused)) static char *mutant(const Grammar *g, const char *genes) {
    Genome genome;
    Patched p;
    gi_err err;
    if (!genome_parse(g, genes, &genome, &err)) return gi_strdup(err.message);
    if (!genome_apply(g, &genome, &p, &err)) return gi_strdup(err.message);
    char *text = gi_strdup(p.source.data);
    patched_free(&p);
    genome_free(&genome);
    return text;
}

#endif
