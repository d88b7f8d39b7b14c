/* cublas.h - how the stand-in's files define functions of cuBLAS: EXPORT(name, parameters) { … },
** once for each type, and CALL for those that are one call of BLAS. */
#ifndef GILUA_STANDIN_CUBLAS_H
#define GILUA_STANDIN_CUBLAS_H

#include "standin/cublas/blas.h"

typedef const BlasHandle *Handle;
typedef float complex Complex;
typedef double complex DoubleComplex;

#define REAL_TYPES(F) F(S, float, s, s) F(D, double, d, d)
#define COMPLEX_TYPES(F) F(C, Complex, c, sc) F(Z, DoubleComplex, z, dz)
#define ALL_TYPES(F) REAL_TYPES(F) COMPLEX_TYPES(F)

#define IS_DOUBLE(type) _Generic((type){0}, double: true, DoubleComplex: true, default: false)

/* CALL(its type, routine, letter of what it gives, where that goes, operations, arguments …) */
#define CALL(type, routine_, gives_, result_, operations_, ...)                                   \
    blas_call(h, &(BlasCall){.name = __func__,                                                    \
                             .routine = routine_ "_",                                             \
                             .gives = gives_,                                                     \
                             .result = result_,                                                   \
                             .operations = operations_,                                           \
                             .is_double = IS_DOUBLE(type),                                        \
                             .n = sizeof((BlasArg[]){__VA_ARGS__}) / sizeof(BlasArg),             \
                             .args = {__VA_ARGS__}})
#define READ  WORK_READS
#define WRITE WORK_WRITES
#define BOTH  WORK_UPDATES

#endif
