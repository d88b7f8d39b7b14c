/* forms_fp8.c - conversions from and to numbers of 8, 6 and 4 bits, two at a time: e4m3 (4 bits of
** exponent, 3 of fraction, no infinity, one NaN of each sign), e5m2 (the upper half of an f16), and
** e2m3, e3m2, e2m1, which are finite; and ue8m0, an exponent alone.
**
** Reference: PTX ISA, cvt, .e4m3x2 and the like. All but ue8m0 are rounded to the nearest, what is
** too large is the largest number (.satfinite); a NaN becomes 0x7f, or the largest where there is
** none. */
#include "emu/decode/decode.h"
#include "emu/exec/lanes.h"
#include "emu/exec/num.h"

#include <math.h>
#include <string.h>

typedef struct Eight {
    const char *name;
    int bits, fraction; /* all of them, and those of the fraction */
    int least;          /* exponent of the smallest normal number */
    uint8_t largest;    /* the largest number's bits */
    double most;        /* … its value */
    uint8_t nan;        /* what a NaN becomes */
    int room;           /* bits from one of two numbers to the other */
} Eight;

static const Eight eights[] = {{"e4m3x2", 8, 3, -6, 0x7e, 448, 0x7f, 8},
                               {"e5m2x2", 8, 2, -14, 0x7b, 57344, 0x7f, 8},
                               {"e2m3x2", 6, 3, 0, 0x1f, 7.5, 0x1f, 8},
                               {"e3m2x2", 6, 2, -2, 0x1f, 28, 0x1f, 8},
                               {"e2m1x2", 4, 1, 0, 0x07, 6, 0x07, 4}};
enum { EIGHTS = sizeof eights / sizeof *eights, E5M2 = 1 };

/* In Ins.imm: which of them; how. */
enum { FP8_WHICH = 7, FP8_RELU = 8, FP8_HALVES = 16 };

/* Counted in steps of its exponent's last bit a number is what it is above the smallest of that
** exponent, so a carry of the rounding goes where it should. */
static uint32_t to_eight(double x, uint64_t how) {
    const Eight *e = &eights[how & FP8_WHICH];
    uint32_t sign = signbit(x) ? 1u << (e->bits - 1) : 0;
    double size = fabs(x);
    int exponent;
    if (x != x) return e->nan;
    if (how & FP8_RELU && sign) return 0;
    if (size == 0) return sign;
    if (size >= e->most) return sign | e->largest;
    frexp(size, &exponent);
    exponent = exponent - 1 < e->least ? e->least : exponent - 1;
    uint32_t steps = (uint32_t)rint(ldexp(size, e->fraction - exponent));
    return sign | (((uint32_t)(exponent - e->least) << e->fraction) + steps);
}

static uint16_t half_of_eight(uint32_t bits, uint64_t how) {
    const Eight *e = &eights[how & FP8_WHICH];
    uint32_t top = 1u << (e->bits - 1), size = bits & (top - 1), sign = bits & top ? 0x8000 : 0;
    bool is_e5m2 = (how & FP8_WHICH) == E5M2, is_nan = is_e5m2 ? size > 0x7c : size > e->largest;
    int exponent = (int)(size >> e->fraction), fraction = (int)(size & ((1u << e->fraction) - 1));
    if (is_nan) return 0x7fff;
    if (how & FP8_RELU && sign) return 0;
    if (is_e5m2) return (uint16_t)(sign | size << 8);
    if (exponent > 0) fraction += 1 << e->fraction, exponent--;
    double value = ldexp(fraction, exponent + e->least - e->fraction);
    return (uint16_t)(sign | num_f64_to_f16(value, NUM_RN));
}

/* a above, b below; or the halves of a. */
static bool slow_to_eights(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    FOR_ACTIVE(w, i) {
        uint32_t a = LANE(U32, w, in->a, i), b = LANE(U32, w, in->b, i);
        bool halves = in->imm & FP8_HALVES;
        float high = halves ? num_f16_to_f32((uint16_t)(a >> 16)) : num_f32_from_bits(a);
        float low = halves ? num_f16_to_f32((uint16_t)a) : num_f32_from_bits(b);
        LANE(U32, w, in->d, i) = to_eight((double)high, in->imm)
                                     << eights[in->imm & FP8_WHICH].room |
                                 to_eight((double)low, in->imm);
    }
    return true;
}

static bool slow_of_eights(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    FOR_ACTIVE(w, i) {
        uint32_t a = LANE(U32, w, in->a, i);
        uint32_t high = half_of_eight(a >> eights[in->imm & FP8_WHICH].room, in->imm);
        LANE(U32, w, in->d, i) = high << 16 | half_of_eight(a, in->imm);
    }
    return true;
}

/* --- ue8m0: an exponent alone, 2^(bits - 127); 255 is a NaN --- */

enum { E8M0_UP = 1, E8M0_SATURATES = 2, E8M0_HALVES = 4 };

/* Of the size of a float, given by its bits. A zero becomes the least number, 2^-127. */
static uint32_t to_exponent(uint32_t bits, uint64_t how) {
    uint32_t size = bits & 0x7fffffff, exponent = size >> 23, fraction = size & 0x7fffff;
    if (size > 0x7f800000) return 255;
    if (how & E8M0_UP && exponent < 255 && fraction > (exponent == 0 ? 0x400000 : 0)) exponent++;
    return exponent == 255 && how & E8M0_SATURATES ? 254 : exponent;
}

static bool slow_to_exponents(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    FOR_ACTIVE(w, i) {
        uint32_t a = LANE(U32, w, in->a, i), b = LANE(U32, w, in->b, i);
        if (in->imm & E8M0_HALVES) b = a << 16, a &= 0xffff0000;
        LANE(U32, w, in->d, i) = to_exponent(a, in->imm) << 8 | to_exponent(b, in->imm);
    }
    return true;
}

static uint32_t bf16_of_exponent(uint32_t bits) {
    return bits == 255 ? 0x7fff : bits == 0 ? 0x40 : bits << 7;
}

static bool slow_of_exponents(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    FOR_ACTIVE(w, i) {
        uint32_t a = LANE(U32, w, in->a, i);
        LANE(U32, w, in->d, i) = bf16_of_exponent(a >> 8 & 255) << 16 | bf16_of_exponent(a & 255);
    }
    return true;
}

/* cvt.rz|rp{.satfinite}.ue8m0x2.f32 d, a, b; …ue8m0x2.bf16x2 d, a; cvt.rn.bf16x2.ue8m0x2 d, a.
** Source: PTX ISA 9.0, cvt; the CPU's part of cuda_fp8.hpp. */
static bool decode_exponents(Decoder *d) {
    const PtxInstr *in = d->in;
    bool narrows = !decode_mods_match(d, "rn bf16x2 ue8m0x2"), halves = mod_is(d, LAST, "bf16x2");
    int operands = narrows && !halves ? 3 : 2;
    uint32_t to, at[2];
    if ((narrows && !decode_mods_match(d, "rz|rp ?satfinite ue8m0x2 f32|bf16x2")) ||
        in->n_args != operands)
        return decode_unknown(d);
    if (!decode_has(d, 86, 100) || !decode_has_own(d)) return false;
    uint64_t how = (mod_is(d, 0, "rp") ? E8M0_UP : 0) | (halves ? E8M0_HALVES : 0) |
                   (has_mod(d, "satfinite") ? E8M0_SATURATES : 0);
    for (int k = 0; k < operands - 1; k++)
        if (!source(d, &in->args[1 + k], !narrows ? 'h' : halves ? 'w' : 'f', k, &at[k]))
            return false;
    if (operands == 2) at[1] = at[0];
    if (!dest(d, &in->args[0], narrows ? 'h' : 'w', &to)) return false;
    emit_slow(d, narrows ? slow_to_exponents : slow_of_exponents, to, at[0], at[1], at[1], how);
    return true;
}

/* Returns which of them a type is, or EIGHTS. */
static int which_eights(const char *type) {
    int k = 0;
    while (k < EIGHTS && strcmp(eights[k].name, type) != 0) k++;
    return k;
}

static bool is_eights(const char *type) {
    return which_eights(type) < EIGHTS;
}

bool is_fp8(const Decoder *d) {
    int n = d->in->n_mods;
    if (has_mod(d, "ue8m0x2")) return true;
    return n >= 2 && (is_eights(d->in->mods[n - 2]) || is_eights(d->in->mods[n - 1]));
}

/* cvt.rn.satfinite{.relu}.TYPE.f32 d, a, b; cvt.rn.satfinite{.relu}.TYPE.f16x2 d, a;
** cvt.rn{.relu}.f16x2.TYPE d, a */
bool decode_fp8(Decoder *d) {
    const PtxInstr *in = d->in;
    const char *to_type = in->mods[in->n_mods - 2], *from_type = in->mods[in->n_mods - 1];
    bool narrows = is_eights(to_type), halves = strcmp(from_type, "f16x2") == 0;
    int known = narrows ? 2 : 1, relu = has_mod(d, "relu"), operands = narrows && !halves ? 3 : 2;
    int which = which_eights(narrows ? to_type : from_type);
    bool is_new = which > E5M2;
    uint64_t how = (uint64_t)which | (relu ? FP8_RELU : 0) | (halves ? FP8_HALVES : 0);
    uint32_t to, at[2];
    if (has_mod(d, "ue8m0x2")) return decode_exponents(d);
    if (!mod_is(d, 0, "rn") || (narrows && !mod_is(d, 1, "satfinite")) ||
        in->n_mods != known + relu + 2 || in->n_args != operands ||
        (narrows ? !halves && strcmp(from_type, "f32") != 0 : strcmp(to_type, "f16x2") != 0))
        return decode_unknown(d);
    if (is_new && (!decode_has(d, 86, 100) || !decode_has_own(d))) return false;
    char letter = !narrows ? 'h' : halves ? 'w' : 'f';
    for (int k = 0; k < operands - 1; k++)
        if (!source(d, &in->args[1 + k], letter, k, &at[k])) return false;
    if (operands == 2) at[1] = at[0];
    if (!dest(d, &in->args[0], narrows ? 'h' : 'w', &to)) return false;
    emit_slow(d, narrows ? slow_to_eights : slow_of_eights, to, at[0], at[1], at[1], how);
    return true;
}
