/* rows_avx2.c - the rows once more, compiled for AVX2. Same source, same bits. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c,bmi,bmi2,popcnt"))),             \
                             apply_to = function)
#else
#pragma GCC target("avx2,f16c,bmi,bmi2,popcnt")
#endif
#define EMU_AVX2
#define ROWS_VARIANT rows_avx2
#include "emu/exec/rows.c"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#define ROWS_VARIANT rows_avx2
#include "emu/exec/rows.c"
#endif
