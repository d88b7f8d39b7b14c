/* forms_fp8.c - conversions from and to numbers of 8 bits, two at a time: e4m3 (4 bits of exponent,
** 3 of fraction, no infinity, one NaN of each sign) and e5m2 (the upper half of an f16).
**
** Reference: PTX ISA, cvt, .e4m3x2 and .e5m2x2. Always rounded to the nearest, what is too large is
** the largest number (.satfinite); a NaN becomes 0x7f. */
#include "emu/decode/decode.h"
#include "emu/exec/lanes.h"
#include "emu/exec/num.h"

#include <math.h>
#include <string.h>

typedef struct Eight {
    int fraction;    /* bits of it */
    int least;       /* exponent of the smallest normal number */
    uint8_t largest; /* the largest number's bits */
    double most;     /* … its value */
} Eight;

static const Eight eights[] = {{3, -6, 0x7e, 448}, {2, -14, 0x7b, 57344}};

/* In Ins.imm: which of them; how. */
enum { FP8_E5M2 = 1, FP8_RELU = 2, FP8_HALVES = 4 };

/* Counted in steps of its exponent's last bit a number is what it is above the smallest of that
** exponent, so a carry of the rounding goes where it should. */
static uint32_t to_eight(double x, uint64_t how) {
    const Eight *e = &eights[how & FP8_E5M2];
    uint32_t sign = signbit(x) ? 0x80 : 0;
    double size = fabs(x);
    int exponent;
    if (x != x) return 0x7f;
    if (how & FP8_RELU && sign) return 0;
    if (size == 0) return sign;
    if (size >= e->most) return sign | e->largest;
    frexp(size, &exponent);
    exponent = exponent - 1 < e->least ? e->least : exponent - 1;
    uint32_t steps = (uint32_t)rint(ldexp(size, e->fraction - exponent));
    return sign | (((uint32_t)(exponent - e->least) << e->fraction) + steps);
}

static uint16_t half_of_eight(uint32_t bits, uint64_t how) {
    const Eight *e = &eights[how & FP8_E5M2];
    uint32_t size = bits & 0x7f, sign = (bits & 0x80) << 8;
    bool is_nan = how & FP8_E5M2 ? size > 0x7c : size == 0x7f;
    int exponent = (int)(size >> e->fraction), fraction = (int)(size & ((1u << e->fraction) - 1));
    if (is_nan) return 0x7fff;
    if (how & FP8_RELU && sign) return 0;
    if (how & FP8_E5M2) return (uint16_t)(sign | size << 8);
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
        LANE(U32, w, in->d, i) =
            to_eight((double)high, in->imm) << 8 | to_eight((double)low, in->imm);
    }
    return true;
}

static bool slow_of_eights(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    FOR_ACTIVE(w, i) {
        uint32_t a = LANE(U32, w, in->a, i);
        LANE(U32, w, in->d, i) = (uint32_t)half_of_eight(a >> 8 & 0xff, in->imm) << 16 |
                                 half_of_eight(a & 0xff, in->imm);
    }
    return true;
}

static bool is_eights(const char *type) {
    return strcmp(type, "e4m3x2") == 0 || strcmp(type, "e5m2x2") == 0;
}

bool is_fp8(const Decoder *d) {
    int n = d->in->n_mods;
    return n >= 2 && (is_eights(d->in->mods[n - 2]) || is_eights(d->in->mods[n - 1]));
}

/* cvt.rn.satfinite{.relu}.TYPE.f32 d, a, b; cvt.rn.satfinite{.relu}.TYPE.f16x2 d, a;
** cvt.rn{.relu}.f16x2.TYPE d, a */
bool decode_fp8(Decoder *d) {
    const PtxInstr *in = d->in;
    const char *to_type = in->mods[in->n_mods - 2], *from_type = in->mods[in->n_mods - 1];
    bool narrows = is_eights(to_type), halves = strcmp(from_type, "f16x2") == 0;
    int known = narrows ? 2 : 1, relu = has_mod(d, "relu"), operands = narrows && !halves ? 3 : 2;
    uint64_t how = (strcmp(narrows ? to_type : from_type, "e5m2x2") == 0 ? FP8_E5M2 : 0) |
                   (relu ? FP8_RELU : 0) | (halves ? FP8_HALVES : 0);
    uint32_t to, at[2];
    if (!mod_is(d, 0, "rn") || (narrows && !mod_is(d, 1, "satfinite")) ||
        in->n_mods != known + relu + 2 || in->n_args != operands ||
        (narrows ? !halves && strcmp(from_type, "f32") != 0 : strcmp(to_type, "f16x2") != 0))
        return decode_unknown(d);
    char letter = !narrows ? 'h' : halves ? 'w' : 'f';
    for (int k = 0; k < operands - 1; k++)
        if (!source(d, &in->args[1 + k], letter, k, &at[k])) return false;
    if (operands == 2) at[1] = at[0];
    if (!dest(d, &in->args[0], narrows ? 'h' : 'w', &to)) return false;
    emit_slow(d, narrows ? slow_to_eights : slow_of_eights, to, at[0], at[1], at[1], how);
    return true;
}
