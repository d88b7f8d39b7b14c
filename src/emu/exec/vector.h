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

/* Lanes of 0 or -1 -> bit mask. */
static inline uint32_t mask_of(const S32 *t) {
#if defined(EMU_AVX2)
    uint32_t mask = 0;
    for (int k = 0; k < 4; k++) {
        __m256i v = _mm256_load_si256((const __m256i *)(const void *)(t + 8 * k));
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(v)) << (8 * k);
    }
    return mask;
#elif defined(__x86_64__)
    uint32_t mask = 0;
    for (int k = 0; k < 8; k++) {
        __m128i v = _mm_load_si128((const __m128i *)(const void *)(t + 4 * k));
        mask |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(v)) << (4 * k);
    }
    return mask;
#else
    uint32_t mask = 0;
    for (int i = 0; i < LANES; i++) mask |= (uint32_t)(t[i] != 0) << i;
    return mask;
#endif
}

#endif
