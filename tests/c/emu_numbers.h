/* emu_numbers.h - numbers of the types that matrix instructions have, from their definitions. */
#ifndef GILUA_TESTS_EMU_NUMBERS_H
#define GILUA_TESTS_EMU_NUMBERS_H

#include "emu_kit.h"

KIT int bits_of(const char *type) {
    if (strcmp(type, "f64") == 0) return 64;
    if (strcmp(type, "f32") == 0 || strcmp(type, "s32") == 0 || strcmp(type, "tf32") == 0)
        return 32;
    if (strstr(type, "16")) return 16;
    return strcmp(type, "b1") == 0 ? 1 : type[1] == '4' && type[0] != 'e' ? 4 : 8;
}

KIT bool is_float(const char *type) {
    return strchr("se", type[0]) == NULL ? type[0] != 'u' && strcmp(type, "b1") != 0
                                         : type[0] == 'e';
}

/* A number as a type has it; what the type cannot hold is rounded towards zero. */
KIT uint64_t encode(const char *type, double x) {
    int fraction = strcmp(type, "f16") == 0    ? 10
                   : strcmp(type, "bf16") == 0 ? 7
                   : strcmp(type, "e4m3") == 0 ? 3
                   : strcmp(type, "e5m2") == 0 ? 2
                                               : 10;
    int bits = bits_of(type), bias = bits == 8 && fraction == 3    ? 7
                                     : bits == 32 || fraction == 7 ? 127
                                                                   : 15;
    if (!is_float(type)) return (uint64_t)(int64_t)x & (bits == 32 ? 0xffffffff : (1u << bits) - 1);
    if (bits == 64) return kit_bits64(x);
    if (strcmp(type, "f32") == 0) return kit_bits32((float)x);
    if (strcmp(type, "tf32") == 0) return kit_bits32((float)x) & 0xffffe000;
    int e = 0;
    double s = frexp(fabs(x), &e);
    if (x == 0) return 0;
    int field = e - 1 + bias;
    uint64_t whole = field > 0 ? (uint64_t)(s * 2 * (1 << fraction)) - (1u << fraction)
                               : (uint64_t)ldexp(fabs(x), bias - 1 + fraction);
    uint64_t size = (field > 0 ? (uint64_t)field << fraction : 0) + whole;
    return size | (x < 0 ? 1ull << (bits - 1) : 0);
}

KIT double decode(const char *type, uint64_t b) {
    int bits = bits_of(type);
    if (bits == 64) return kit_f64(b);
    if (strcmp(type, "f32") == 0) return (double)kit_f32(b);
    if (strcmp(type, "tf32") == 0) return (double)kit_f32(b & 0xffffe000);
    if (strcmp(type, "f16") == 0) return kit_f16(b);
    if (strcmp(type, "bf16") == 0) return kit_bf16(b);
    if (strcmp(type, "e5m2") == 0) return kit_f16(b << 8);
    if (strcmp(type, "e4m3") == 0) {
        int e = (int)(b >> 3 & 15), f = (int)(b & 7);
        double v = e ? ldexp(8 + f, e - 10) : ldexp(f, -9);
        return b & 128 ? -v : v;
    }
    if (type[0] == 's' && b >> (bits - 1) & 1) return (double)b - ldexp(1, bits);
    return (double)b;
}

#endif
