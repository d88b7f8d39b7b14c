/* convert.h - matrices of the types that cublasGemmEx takes, to and from floats or doubles. All are
** stored by columns; those here without gaps. */
#ifndef GILUA_STANDIN_CONVERT_H
#define GILUA_STANDIN_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "standin/cublas/gemm.h"

typedef enum ConvertRounding { CONVERT_EXACT, CONVERT_F16, CONVERT_BF16, CONVERT_TF32 }
    ConvertRounding;

double convert_scalar(NumberType t, const void *at);
/* Reads into out, of floats or doubles, each rounded to what the rounding says. */
void convert_in(NumberType t, const void *at, int ld, int rows, int columns, bool to_double,
                ConvertRounding r, void *out);
/* Writes, rounded to the nearest, ties to even; integers are clamped. */
void convert_out(NumberType t, void *at, int ld, int rows, int columns, bool from_double,
                 const void *in);

#endif
