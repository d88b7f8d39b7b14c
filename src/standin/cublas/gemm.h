/* gemm.h - products of matrices for the stand-in of cuBLAS: one, many by a stride or by arrays of
** pointers, and of the types that cublasGemmEx takes. */
#ifndef GILUA_STANDIN_GEMM_H
#define GILUA_STANDIN_GEMM_H

#include "standin/cublas/blas.h"
#include "standin/shared/number.h"

typedef struct GemmSide {
    const void *at;    /* a matrix, the first of many, or an array of pointers on the device */
    NumberType type;
    int ld;
    long long stride;  /* elements to the next matrix */
} GemmSide;

typedef struct Gemm {
    const char *name;
    int op_a, op_b, m, n, k;
    const void *alpha, *beta;
    GemmSide a, b, c;
    int count;         /* of matrices */
    bool are_pointers;
    int compute;       /* cublasComputeType_t */
} Gemm;

enum { GEMM_COMPUTE_16F = 64, GEMM_COMPUTE_32F = 68, GEMM_COMPUTE_64F = 70, GEMM_COMPUTE_32I = 72,
       GEMM_COMPUTE_FAST_16F = 74, GEMM_COMPUTE_FAST_16BF = 75, GEMM_COMPUTE_FAST_TF32 = 77 };

BlasStatus gemm_submit(const BlasHandle *h, const Gemm *g);

#endif
