/* exec_avx2.c - the fast loop once more, compiled for AVX2 and FMA; emu_new asks the processor
** which one to use. Same source, same bits. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,popcnt"))),                  \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt")
#endif
#define EMU_AVX2
#define EMU_VARIANT exec_avx2
#include "emu/exec/exec.c"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "emu/core.h"
Stop exec_avx2(Machine *m, Warp *w, const Ins *only) {
    return exec_base(m, w, only);
}
#endif
