/* exec_avx512.c - the fast loop a third time, in registers of 64 bytes. Same source, same bits. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target(                                                \
    "avx2,fma,bmi,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq"))),              \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512dq")
#pragma GCC target("avx512vpopcntdq,prefer-vector-width=512")
#endif
#define EMU_AVX2
#define EMU_AVX512
#define EMU_VARIANT exec_avx512
#include "emu/exec/exec.c"

/* What compiled code calls: exec/native.h. */
bool native_memory(Machine *m, Warp *w, const Ins *in) {
    return load_store(m, w, in, &w->code->mem[in->imm]);
}
/* Which finds a layout of one place, too. */
bool native_shared(Machine *m, Warp *w, const Ins *in) {
    return load_shared_apart(m, w, in, &w->code->mem[in->imm]);
}
bool native_texture(Machine *m, Warp *w, const Ins *in) {
    return texture(m, w, in, &w->code->tex[in->imm]);
}
bool native_other(Machine *m, Warp *w, const Ins *in) {
    return exec_avx512(m, w, in) == STOP_NOT;
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "emu/core.h"
Stop exec_avx512(Machine *m, Warp *w, const Ins *only) {
    return exec_base(m, w, only);
}
#endif
