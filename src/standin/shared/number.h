/* number.h - numbers of the types that closed libraries take (cudaDataType), as complex doubles. */
#ifndef GILUA_STANDIN_NUMBER_H
#define GILUA_STANDIN_NUMBER_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum NumberType { /* cudaDataType_t */
    NUMBER_R_32F = 0,
    NUMBER_R_64F = 1,
    NUMBER_R_16F = 2,
    NUMBER_R_8I = 3,
    NUMBER_C_32F = 4,
    NUMBER_C_64F = 5,
    NUMBER_R_32I = 10,
    NUMBER_R_16BF = 14
} NumberType;

/* Returns the bytes of a number; 0 for any other type. */
size_t number_bytes(NumberType t);
bool number_is_double(NumberType t);
bool number_is_complex(NumberType t);

/* Reads the i-th number. */
double complex number_get(NumberType t, const void *at, size_t i);
/* Writes it, rounded to the nearest, ties to even; integers are clamped. */
void number_put(NumberType t, void *at, size_t i, double complex x);

#endif
