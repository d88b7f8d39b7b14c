/* descriptor.h - what a program says of a product of cublasLt's: layouts of matrices, the product
** itself, what it prefers. A program may have them on its stack, in as many bytes as cublasLt.h
** gives them; each fits. */
#ifndef GILUA_STANDIN_DESCRIPTOR_H
#define GILUA_STANDIN_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

enum { LT_COLUMNS = 0, LT_ROWS = 1 };                      /* cublasLtOrder_t */
enum { LT_RELU = 2, LT_BIAS = 4, LT_GELU = 32 };           /* bits of cublasLtEpilogue_t … */
enum { LT_NO_EPILOGUE = 1 };

typedef struct LtLayout { /* cublasLtMatrixLayout_t */
    uint32_t type;        /* cudaDataType_t */
    int32_t order;
    uint64_t rows, columns;
    int64_t ld, stride;   /* elements; to the next matrix of a batch */
    int32_t count;        /* matrices of a batch */
} LtLayout;

typedef struct LtProduct { /* cublasLtMatmulDesc_t */
    int32_t compute, scale, scalars; /* cublasComputeType_t, cudaDataType_t, where scalars are */
    int32_t op_a, op_b, op_c, fill, epilogue;
    const void *bias;
    int64_t bias_stride;
    int32_t bias_type, sms; /* bias_type: -1: that of D */
    int8_t fast_sums;       /* of numbers of 8 bits, which are not here */
} LtProduct;

typedef struct LtPreference { /* cublasLtMatmulPreference_t */
    uint64_t workspace;
} LtPreference;

_Static_assert(sizeof(LtLayout) <= 64 && sizeof(LtProduct) <= 256 && sizeof(LtPreference) <= 64,
               "what a program has room for in cublasLt.h");

#endif
