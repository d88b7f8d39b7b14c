/* emu_instructions_convert.c - cvt of the virtual GPU: every pair of integer types, floats to and
** from integers in each rounding with saturation, float to float, half precision. Expected values
** come from the C library's rint in the processor's roundings, 80-bit arithmetic and search.
*/
#include <fenv.h>

#include "emu_kit.h"

static char text_pool[400][48];
static int n_texts;

static const char *text(const char *format, const char *mods, const char *to, const char *from) {
    char *t = text_pool[n_texts++];
    snprintf(t, sizeof text_pool[0], format, mods, to, from);
    return t;
}

/* ---- integer to integer. The source is read through its type, the destination written through
** its own: as wide as the register, which keeps only its low bits. Registers are 64 bits here. ----
 */

static uint64_t narrow(uint64_t x, int bits, bool is_signed) {
    uint64_t v = bits == 64 ? x : x & ((UINT64_C(1) << bits) - 1);
    bool negative = is_signed && v >> (bits - 1) & 1;
    return negative && bits < 64 ? v | UINT64_MAX << bits : v;
}

#define NARROW(from, bits, s) WANT(from##_value, narrow(a, bits, s))
NARROW(u8, 8, false)
NARROW(u16, 16, false)
NARROW(u32, 32, false)
NARROW(u64, 64, false)
NARROW(s8, 8, true)
NARROW(s16, 16, true)
NARROW(s32, 32, true)
NARROW(s64, 64, true)

static const struct {
    const char *name;
    char letter;
    Want value;
} ints[] = {{"u8", 'h', u8_value},   {"s8", 'h', s8_value},   {"u16", 'h', u16_value},
            {"s16", 'h', s16_value}, {"u32", 'w', u32_value}, {"s32", 'w', s32_value},
            {"u64", 'l', u64_value}, {"s64", 'l', s64_value}};

static void test_int_to_int(void) {
    static Form forms[64];
    static char types[64][4];
    int n = 0;
    for (int to = 2; to < 8; to++)
        for (int from = 0; from < 8; from++) {
            snprintf(types[n], 4, "%c:%c", ints[to].letter, ints[from].letter);
            forms[n] = (Form){text("cvt%s.%s.%s $0, $1;", "", ints[to].name, ints[from].name),
                              types[n], ints[from].value, 0, 0};
            n++;
        }
    kit_forms(forms, n);
}

static int64_t clamp(__int128 x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : (int64_t)x;
}
WANT(sat_s8_s32, clamp((int32_t)a, -128, 127))
WANT(sat_u8_s32, clamp((int32_t)a, 0, 255))
WANT(sat_s16_s64, clamp((int64_t)a, -32768, 32767))
WANT(sat_s32_u32, clamp((uint32_t)a, 0, INT32_MAX))
WANT(sat_u32_s64, clamp((int64_t)a, 0, UINT32_MAX))
WANT(sat_u64_s32, clamp((int32_t)a, 0, INT64_MAX))
WANT(s8_in_32, (uint32_t)(int8_t)a)
WANT(u8_in_32, (uint8_t)a)
WANT(s16_in_32, (uint32_t)(int16_t)a)

static const Form saturating[] = {
    {"cvt.sat.s8.s32 $0, $1;", "w:w", sat_s8_s32, 0, 0},
    {"cvt.sat.u8.s32 $0, $1;", "w:w", sat_u8_s32, 0, 0},
    {"cvt.sat.s16.s64 $0, $1;", "h:l", sat_s16_s64, 0, 0},
    {"cvt.sat.s32.u32 $0, $1;", "w:w", sat_s32_u32, 0, 0},
    {"cvt.sat.u32.s64 $0, $1;", "w:l", sat_u32_s64, 0, 0},
    {"cvt.sat.u64.s32 $0, $1;", "l:w", sat_u64_s32, 0, 0},
    {"cvt.s8.s32 $0, $1;", "w:w", s8_in_32, 0, 0},
    {"cvt.u8.u32 $0, $1;", "w:w", u8_in_32, 0, 0},
    {"cvt.s32.s8 $0, $1;", "w:w", s8_in_32, 0, 0},
    {"cvt.s32.s16 $0, $1;", "w:w", s16_in_32, 0, 0},
    {"cvt.u32.u8 $0, $1;", "w:w", u8_in_32, 0, 0},
};

/* ---- two integers packed: the first operand above the second, both saturated; of bytes the low
** half of a third above them (PTX ISA, cvt.pack). ---- */

#define PACKED(a, b, bits, low, high)                                                              \
    (((uint64_t)clamp((int32_t)(a), low, high) & ((1u << (bits)) - 1)) << (bits) |                 \
     ((uint64_t)clamp((int32_t)(b), low, high) & ((1u << (bits)) - 1)))
WANT(pack_u8, (c & 0xffff) << 16 | PACKED(a, b, 8, 0, 255))
WANT(pack_s8, (c & 0xffff) << 16 | PACKED(a, b, 8, -128, 127))
WANT(pack_u16, PACKED(a, b, 16, 0, 65535))
WANT(pack_s16, PACKED(a, b, 16, -32768, 32767))

static const Form packed[] = {
    {"cvt.pack.sat.u8.s32.b32 $0, $1, $2, $3;", "w:www", pack_u8, 0, 0},
    {"cvt.pack.sat.s8.s32.b32 $0, $1, $2, $3;", "w:www", pack_s8, 0, 0},
    {"cvt.pack.sat.u16.s32 $0, $1, $2;", "w:ww", pack_u16, 0, 0},
    {"cvt.pack.sat.s16.s32 $0, $1, $2;", "w:ww", pack_s16, 0, 0},
};

/* ---- float to integer ---- */

/* Called through a pointer: gcc's inline rint knows only round-to-nearest. */
static double (*volatile library_rint)(double) = rint;

static double whole(double a, int mode) {
    volatile double x = a;
    fesetround(mode);
    volatile double y = library_rint(x);
    fesetround(FE_TONEAREST);
    return y;
}

/* Saturates; NaN from f64 or to 64 bits is the top bit alone, else 0 (PTX ISA, cvt). */
static uint64_t to_int(double x, int bits, bool is_signed, int mode, bool from_f64) {
    if (isnan(x)) return from_f64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
    long double low = is_signed ? -ldexpl(1, bits - 1) : 0;
    long double high = ldexpl(1, is_signed ? bits - 1 : bits) - 1, w = (long double)whole(x, mode);
    w = w < low ? low : w > high ? high : w;
    return is_signed ? (uint64_t)(int64_t)w : (uint64_t)w;
}

#define TO_INT(mod, mode, type, bits, s)                                                           \
    WANT(type##_##mod##_f32, to_int((double)kit_f32(a), bits, s, mode, false))                     \
    WANT(type##_##mod##_f64, to_int(kit_f64(a), bits, s, mode, true))                              \
    WANT(type##_##mod##_f16, to_int(kit_f16(a), bits, s, mode, false))
#define TO_INTS(mod, mode)                                                                         \
    TO_INT(mod, mode, s16, 16, true)                                                               \
    TO_INT(mod, mode, u16, 16, false)                                                              \
    TO_INT(mod, mode, s32, 32, true)                                                               \
    TO_INT(mod, mode, u32, 32, false)                                                              \
    TO_INT(mod, mode, s64, 64, true)                                                               \
    TO_INT(mod, mode, u64, 64, false)
TO_INTS(rni, FE_TONEAREST)
TO_INTS(rzi, FE_TOWARDZERO)
TO_INTS(rmi, FE_DOWNWARD)
TO_INTS(rpi, FE_UPWARD)

#define CVT(to, from, mod, t)                                                                      \
    { "cvt." #mod "." #to "." #from " $0, $1;", t, to##_##mod##_##from, 0, 0 }
#define FROM_FLOATS(to, mod, letter)                                                               \
    CVT(to, f32, mod, letter ":f"), CVT(to, f64, mod, letter ":d"), CVT(to, f16, mod, letter ":H")
#define ALL_INTS(mod)                                                                              \
    FROM_FLOATS(s16, mod, "h"), FROM_FLOATS(u16, mod, "h"), FROM_FLOATS(s32, mod, "w"),            \
        FROM_FLOATS(u32, mod, "w"), FROM_FLOATS(s64, mod, "l"), FROM_FLOATS(u64, mod, "l")

static uint64_t flush(uint64_t bits) {
    return bits & 0x7f800000 ? bits : bits & 0x80000000;
}
WANT(s32_rpi_ftz, to_int((double)kit_f32(flush(a)), 32, true, FE_UPWARD, false))
WANT(s8_rzi_f32, to_int((double)kit_f32(a), 8, true, FE_TOWARDZERO, false))
WANT(u8_rzi_f32, to_int((double)kit_f32(a), 8, false, FE_TOWARDZERO, false))

static const Form to_ints[] = {
    ALL_INTS(rni),
    ALL_INTS(rzi),
    ALL_INTS(rmi),
    ALL_INTS(rpi),
    {"cvt.rpi.ftz.s32.f32 $0, $1;", "w:f", s32_rpi_ftz, 0, 0},
    {"cvt.rzi.s8.f32 $0, $1;", "w:f", s8_rzi_f32, 0, 0},
    {"cvt.rzi.u8.f32 $0, $1;", "w:f", u8_rzi_f32, 0, 0},
};

/* ---- integer to float ---- */

/* A 64-bit magnitude in 80-bit long double is exact: one rounding, when it is stored. */
static uint64_t from_int32(__int128 x, int mode) {
    volatile long double exact = (long double)(x < 0 ? (uint64_t)-x : (uint64_t)x);
    if (x < 0) exact = -exact;
    fesetround(mode);
    volatile float y = (float)exact;
    fesetround(FE_TONEAREST);
    return kit_bits32(y);
}

static uint64_t from_int64(__int128 x, int mode) {
    volatile long double exact = (long double)(x < 0 ? (uint64_t)-x : (uint64_t)x);
    if (x < 0) exact = -exact;
    fesetround(mode);
    volatile double y = (double)exact;
    fesetround(FE_TONEAREST);
    return kit_bits64(y);
}

#define FROM_INT(mod, mode, type, cast)                                                            \
    WANT(f32_##mod##_##type, from_int32((__int128)(cast)a, mode))                                  \
    WANT(f64_##mod##_##type, from_int64((__int128)(cast)a, mode))
#define FROM_INTS(mod, mode)                                                                       \
    FROM_INT(mod, mode, s32, int32_t)                                                              \
    FROM_INT(mod, mode, u32, uint32_t)                                                             \
    FROM_INT(mod, mode, s64, int64_t)                                                              \
    FROM_INT(mod, mode, u64, uint64_t)
FROM_INTS(rn, FE_TONEAREST)
FROM_INTS(rz, FE_TOWARDZERO)
FROM_INTS(rm, FE_DOWNWARD)
FROM_INTS(rp, FE_UPWARD)
FROM_INT(rn, FE_TONEAREST, s16, int16_t)
FROM_INT(rn, FE_TONEAREST, u16, uint16_t)
FROM_INT(rn, FE_TONEAREST, s8, int8_t)
FROM_INT(rn, FE_TONEAREST, u8, uint8_t)

#define TO_FLOATS(mod, from, letter)                                                               \
    {"cvt." #mod ".f32." #from " $0, $1;", "f:" letter, f32_##mod##_##from, 0, 0}, {               \
        "cvt." #mod ".f64." #from " $0, $1;", "d:" letter, f64_##mod##_##from, 0, 0                \
    }
#define ALL_FROM(mod)                                                                              \
    TO_FLOATS(mod, s32, "w"), TO_FLOATS(mod, u32, "w"), TO_FLOATS(mod, s64, "l"),                  \
        TO_FLOATS(mod, u64, "l")

static const Form from_ints[] = {
    ALL_FROM(rn),
    ALL_FROM(rz),
    ALL_FROM(rm),
    ALL_FROM(rp),
    TO_FLOATS(rn, s16, "h"),
    TO_FLOATS(rn, u16, "h"),
    TO_FLOATS(rn, s8, "h"),
    TO_FLOATS(rn, u8, "h"),
};

/* ---- float to float ---- */

static uint64_t narrowed(uint64_t a, int mode) {
    volatile double x = kit_f64(a);
    fesetround(mode);
    volatile float y = (float)x;
    fesetround(FE_TONEAREST);
    return kit_bits32(y);
}

static uint64_t sat(uint64_t bits) {
    float x = kit_f32(bits);
    return kit_bits32(x > 0 ? (x < 1 ? x : 1) : 0);
}

WANT(f64_f32, kit_bits64((double)kit_f32(a)))
WANT(f32_rn_f64, narrowed(a, FE_TONEAREST))
WANT(f32_rz_f64, narrowed(a, FE_TOWARDZERO))
WANT(f32_rm_f64, narrowed(a, FE_DOWNWARD))
WANT(f32_rp_f64, narrowed(a, FE_UPWARD))
WANT(f32_ftz_f64, flush(narrowed(a, FE_TONEAREST)))
WANT(rni32, kit_bits32((float)whole((double)kit_f32(a), FE_TONEAREST)))
WANT(rzi32, kit_bits32((float)whole((double)kit_f32(a), FE_TOWARDZERO)))
WANT(rmi32, kit_bits32((float)whole((double)kit_f32(a), FE_DOWNWARD)))
WANT(rpi32, kit_bits32((float)whole((double)kit_f32(a), FE_UPWARD)))
WANT(rni64, kit_bits64(whole(kit_f64(a), FE_TONEAREST)))
WANT(rzi64, kit_bits64(whole(kit_f64(a), FE_TOWARDZERO)))
WANT(rmi64, kit_bits64(whole(kit_f64(a), FE_DOWNWARD)))
WANT(rpi64, kit_bits64(whole(kit_f64(a), FE_UPWARD)))
WANT(sat32, sat(a))
WANT(sat32_ftz, sat(flush(a)))
WANT(ftz32, flush(a))

static const Form floats[] = {
    {"cvt.f64.f32 $0, $1;", "d:f", f64_f32, 0, 0},
    {"cvt.rn.f32.f64 $0, $1;", "f:d", f32_rn_f64, 0, 0},
    {"cvt.rz.f32.f64 $0, $1;", "f:d", f32_rz_f64, 0, 0},
    {"cvt.rm.f32.f64 $0, $1;", "f:d", f32_rm_f64, 0, 0},
    {"cvt.rp.f32.f64 $0, $1;", "f:d", f32_rp_f64, 0, 0},
    {"cvt.rn.ftz.f32.f64 $0, $1;", "f:d", f32_ftz_f64, 0, 0},
    {"cvt.rni.f32.f32 $0, $1;", "f:f", rni32, 0, 0},
    {"cvt.rzi.f32.f32 $0, $1;", "f:f", rzi32, 0, 0},
    {"cvt.rmi.f32.f32 $0, $1;", "f:f", rmi32, 0, 0},
    {"cvt.rpi.f32.f32 $0, $1;", "f:f", rpi32, 0, 0},
    {"cvt.rni.f64.f64 $0, $1;", "d:d", rni64, 0, 0},
    {"cvt.rzi.f64.f64 $0, $1;", "d:d", rzi64, 0, 0},
    {"cvt.rmi.f64.f64 $0, $1;", "d:d", rmi64, 0, 0},
    {"cvt.rpi.f64.f64 $0, $1;", "d:d", rpi64, 0, 0},
    {"cvt.sat.f32.f32 $0, $1;", "f:f", sat32, 0, 0},
    {"cvt.sat.ftz.f32.f32 $0, $1;", "f:f", sat32_ftz, 0, 0},
    {"cvt.ftz.f32.f32 $0, $1;", "f:f", ftz32, 0, 0},
};

int main(int argc, char **argv) {
    kit_begin(argc, argv);
    test_int_to_int();
    kit_forms(saturating, KIT_COUNT(saturating));
    kit_forms(packed, KIT_COUNT(packed));
    kit_forms(to_ints, KIT_COUNT(to_ints));
    kit_forms(from_ints, KIT_COUNT(from_ints));
    kit_forms(floats, KIT_COUNT(floats));
    return kit_end();
}
