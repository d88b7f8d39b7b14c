/* matrix_avx2.c - matrix_fast.c once more, compiled for AVX2. Same source, same bits. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,popcnt"))),             \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,popcnt")
#endif
#define EMU_AVX2
#define MATRIX_VARIANT matrix_sum_avx2
#include "emu/exec/matrix_fast.c"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#define MATRIX_VARIANT matrix_sum_avx2
#include "emu/exec/matrix_fast.c"
#endif
