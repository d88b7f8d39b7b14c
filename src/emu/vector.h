/* vector.h - loops over the 32 lanes of rows that compilers turn into vector code, for files that
** are compiled twice, once of them for AVX2 (exec.c, rows.c). Nothing in them may depend on
** contraction, reassociation or the C library's rounding: both variants give identical bits. */
#ifndef GILUA_EMU_VECTOR_H
#define GILUA_EMU_VECTOR_H

#include "emu/core.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop left scalar is still right */
#define EACH_LANE _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < LANES; i++)
#else
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#define EACH_LANE _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++)
#endif

#define PLACE(T, name, offset) T *name = (T *)(void *)(file + (offset))
#define ROW(T, name, offset) const T *name = (const T *)(const void *)(file + (offset))

#endif
