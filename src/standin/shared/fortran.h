/* fortran.h - libraries with Fortran's interface: BLAS and LAPACK. */
#ifndef GILUA_STANDIN_FORTRAN_H
#define GILUA_STANDIN_FORTRAN_H

#include <stdint.h>

typedef uintptr_t FortranWord;
enum { FORTRAN_ARGS = 20 };

/* Opens the first of the libraries that is on this machine; the names end with NULL. OpenBLAS
** computes on one thread: its sums are the same on any number of processors. */
void *fortran_open(const char *const *names);

/* Calls a routine with at most FORTRAN_ARGS addresses, and behind them the lengths of letters. */
void fortran_call(void *routine, const FortranWord *args, int n);

#endif
