/* matrix_avx512.c - matrix_fast.c once more, compiled for AVX512. Same source, same bits. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,f16c,bmi,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512dq"))),   \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512dq")
#pragma GCC target("prefer-vector-width=512")
#endif
#define EMU_AVX2
#define EMU_AVX512
#define MATRIX_VARIANT matrix_sum_avx512
#include "emu/exec/matrix_fast.c"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#define MATRIX_VARIANT matrix_sum_avx512
#include "emu/exec/matrix_fast.c"
#endif
