/* emu_simd.h - what CUDA's integer intrinsics give, from their definitions: one lane at a time in
** 64-bit integers (CUDA Math API, "SIMD Intrinsics", "Integer Intrinsics", "DPX").
**
** An item is a letter and a name as in tests/programs/simd.cu, "B(vaddss4)". The name of a SIMD
** intrinsic is a stem, which says what is done to a lane, and the lanes' type: 2 or 4 with s or u
** before it, or _s32, _u16x2, with _relu after it.
*/
#ifndef GILUA_EMU_SIMD_H
#define GILUA_EMU_SIMD_H

#include "emu_kit.h"

typedef struct SimdLane {
    int bits;
    bool is_signed, relu;
} SimdLane;

typedef int64_t (*SimdOp)(int64_t x, int64_t y, int64_t z, const SimdLane *lane);

/* Lane number `i` of a word, with its sign. */
KIT int64_t simd_lane(uint64_t word, int i, const SimdLane *lane) {
    int up = 64 - lane->bits;
    uint64_t top = word >> i * lane->bits << up;
    return lane->is_signed ? (int64_t)top >> up : (int64_t)(top >> up);
}

/* ---- what is done to a lane ---- */

#define LANE_OP(name, expression)                                                                  \
    static int64_t simd_##name(int64_t x, int64_t y, int64_t z, const SimdLane *lane) {            \
        (void)x, (void)y, (void)z, (void)lane;                                                     \
        return expression;                                                                         \
    }
#define LARGER(x, y)  ((x) > (y) ? (x) : (y))
#define SMALLER(x, y) ((x) < (y) ? (x) : (y))
#define WRAPPED(x)    simd_lane((uint64_t)(x), 0, lane)

LANE_OP(add, x + y)
LANE_OP(sub, x - y)
LANE_OP(abs, llabs(x))
LANE_OP(neg, -x)
LANE_OP(absdiff, llabs(x - y))
LANE_OP(rounded_average, (x + y + (x + y >= 0)) >> 1) /* a half goes away from zero */
LANE_OP(average, (x + y) >> 1)
LANE_OP(max, LARGER(x, y))
LANE_OP(min, SMALLER(x, y))
LANE_OP(eq, x == y)
LANE_OP(ne, x != y)
LANE_OP(ge, x >= y)
LANE_OP(gt, x > y)
LANE_OP(le, x <= y)
LANE_OP(lt, x < y)
LANE_OP(max3, LARGER(LARGER(x, y), z))
LANE_OP(min3, SMALLER(SMALLER(x, y), z))
LANE_OP(add_max, LARGER(WRAPPED(x + y), z))
LANE_OP(add_min, SMALLER(WRAPPED(x + y), z))

/* What becomes of a lane's result: cut to the lane, clamped to its range, all ones for 1, added to
** those of the other lanes, or cut and joined by a bit above the word: it is the first operand. */
typedef enum SimdHow { CUT, CLAMP, ONES, SUM, CHOICE } SimdHow;

static const struct SimdStem {
    const char *stem;
    SimdOp op;
    SimdHow how;
    bool is_signed; /* where the name does not say it */
} simd_stems[] = {
    {"vabs", simd_abs, CUT, true},
    {"vabsss", simd_abs, CLAMP, true},
    {"vneg", simd_neg, CUT, true},
    {"vnegss", simd_neg, CLAMP, true},
    {"vadd", simd_add, CUT, false},
    {"vaddss", simd_add, CLAMP, true},
    {"vaddus", simd_add, CLAMP, false},
    {"vsub", simd_sub, CUT, false},
    {"vsubss", simd_sub, CLAMP, true},
    {"vsubus", simd_sub, CLAMP, false},
    {"vabsdiff", simd_absdiff, CUT, false},
    {"vsad", simd_absdiff, SUM, false},
    {"vavg", simd_rounded_average, CUT, false},
    {"vhadd", simd_average, CUT, false},
    {"vmax", simd_max, CUT, false},
    {"vmin", simd_min, CUT, false},
    {"vcmpeq", simd_eq, ONES, false},
    {"vcmpne", simd_ne, ONES, false},
    {"vcmpge", simd_ge, ONES, false},
    {"vcmpgt", simd_gt, ONES, false},
    {"vcmple", simd_le, ONES, false},
    {"vcmplt", simd_lt, ONES, false},
    {"vseteq", simd_eq, CUT, false},
    {"vsetne", simd_ne, CUT, false},
    {"vsetge", simd_ge, CUT, false},
    {"vsetgt", simd_gt, CUT, false},
    {"vsetle", simd_le, CUT, false},
    {"vsetlt", simd_lt, CUT, false},
    {"viaddmax", simd_add_max, CUT, false},
    {"viaddmin", simd_add_min, CUT, false},
    {"vimax3", simd_max3, CUT, false},
    {"vimin3", simd_min3, CUT, false},
    {"vimax", simd_max, CUT, false},
    {"vimin", simd_min, CUT, false},
    {"vibmax", simd_max, CHOICE, false},
    {"vibmin", simd_min, CHOICE, false},
};

static int64_t simd_clamp(int64_t x, const SimdLane *lane) {
    int64_t most = (INT64_C(1) << (lane->bits - lane->is_signed)) - 1;
    int64_t least = lane->is_signed ? -most - 1 : 0;
    return x < least ? least : x > most ? most : x;
}

KIT uint64_t simd_apply(const struct SimdStem *s, const SimdLane *lane, const uint32_t in[3]) {
    uint64_t word = 0, sum = 0, chosen = 0;
    for (int i = 0; i * lane->bits < 32; i++) {
        int64_t x = simd_lane(in[0], i, lane), y = simd_lane(in[1], i, lane);
        int64_t r = s->op(x, y, simd_lane(in[2], i, lane), lane);
        if (lane->relu && r < 0) r = 0;
        if (s->how == CLAMP) r = simd_clamp(r, lane);
        if (s->how == ONES) r = -r;
        sum += (uint64_t)r;
        chosen |= (uint64_t)(r == x) << i;
        word |= ((uint64_t)r & UINT64_MAX >> (64 - lane->bits)) << i * lane->bits;
    }
    return s->how == SUM ? sum : s->how == CHOICE ? word | chosen << 32 : word;
}

/* The lanes' type at the end of a name; false when that is none. */
KIT bool simd_type(const char *rest, SimdLane *lane) {
    bool words = *rest == '_'; /* … _s32 … */
    rest += words;
    if (*rest == 's' || *rest == 'u') lane->is_signed = *rest++ == 's';
    else if (words) return false;
    const char *relu = strstr(rest, "_relu");
    size_t n = relu ? (size_t)(relu - rest) : strlen(rest);
    static const struct {
        const char *text;
        int bits;
    } sizes[] = {{"2", 16}, {"4", 8}, {"32", 32}, {"16x2", 16}};
    lane->relu = relu != NULL;
    for (int i = 0; i < KIT_COUNT(sizes); i++) {
        lane->bits = sizes[i].bits;
        if (strlen(sizes[i].text) == n && strncmp(rest, sizes[i].text, n) == 0) return true;
    }
    return false;
}

/* ---- the others ---- */

static uint64_t simd_dot(uint32_t a, uint32_t b, uint32_t c, int n, int first, bool is_signed) {
    SimdLane of_a = {32 / n, is_signed, false}, of_b = {8, is_signed, false};
    int64_t sum = c;
    for (int i = 0; i < n; i++) sum += simd_lane(a, i, &of_a) * simd_lane(b, first + i, &of_b);
    return (uint32_t)sum;
}

static uint64_t simd_bytes(uint64_t bytes, uint32_t selectors) {
    uint64_t d = 0;
    for (int i = 0; i < 4; i++) d |= (bytes >> 8 * (selectors >> 4 * i & 7) & 255) << 8 * i;
    return d;
}

static uint64_t simd_reversed(uint64_t x, int bits) {
    uint64_t d = 0;
    for (int i = 0; i < bits; i++) d |= (x >> i & 1) << (bits - 1 - i);
    return d;
}

/* Bits that are set; how many are not before the highest that is; 1 + the lowest that is, or 0. */
static uint64_t simd_count(uint64_t x, int bits) {
    uint64_t n = 0;
    for (int i = 0; i < bits; i++) n += x >> i & 1;
    return n;
}
static uint64_t simd_leading(uint64_t x, int bits) {
    int n = 0;
    while (n < bits && !(x >> (bits - 1 - n) & 1)) n++;
    return (uint64_t)n;
}
static uint64_t simd_first(uint64_t x, int bits) {
    int n = 0;
    while (n < bits && !(x >> n & 1)) n++;
    return n == bits ? 0 : (uint64_t)n + 1;
}

/* The nth set bit from `base` on, upwards or downwards; n 0: base itself, if set. */
static uint64_t simd_nth(uint32_t mask, int base, int n) {
    if (n == 0) return mask >> base & 1 ? (uint64_t)base : UINT32_MAX;
    for (int step = n > 0 ? 1 : -1; base >= 0 && base < 32; base += step)
        if (mask >> base & 1 && (n -= step) == 0) return (uint64_t)base;
    return UINT32_MAX;
}

/* Operands as in simd.cu: x y z, s t their signed values, v and w of 64 bits. */
#define SIMD_OPERANDS                                                                              \
    uint32_t x = (uint32_t)a, y = (uint32_t)b, z = (uint32_t)c;                                    \
    int32_t s = (int32_t)x, t = (int32_t)y;                                                        \
    uint64_t yx = (uint64_t)y << 32 | x, xz = (uint64_t)x << 32 | z;                               \
    (void)d, (void)x, (void)y, (void)z, (void)s, (void)t, (void)yx, (void)xz;
#define SCALAR(name, expression)                                                                   \
    static uint64_t simd_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {                  \
        SIMD_OPERANDS return (uint64_t)(expression);                                               \
    }
#define LOW(expression) ((uint32_t)(expression))
#define S24(x)          ((int64_t)((uint64_t)(x) << 40) >> 40)
#define U24(x)          ((uint64_t)(x)&0xffffff)

SCALAR(sad, LOW(z + (uint64_t)llabs((int64_t)s - t)))
SCALAR(usad, LOW(z + (uint64_t)llabs((int64_t)x - y)))
SCALAR(dp4a_u, simd_dot(x, y, z, 4, 0, false))
SCALAR(dp4a_s, simd_dot(x, y, z, 4, 0, true))
SCALAR(dp2a_lo_u, simd_dot(x, y, z, 2, 0, false))
SCALAR(dp2a_lo_s, simd_dot(x, y, z, 2, 0, true))
SCALAR(dp2a_hi_u, simd_dot(x, y, z, 2, 2, false))
SCALAR(dp2a_hi_s, simd_dot(x, y, z, 2, 2, true))
SCALAR(mul24, LOW(S24(x) * S24(y)))
SCALAR(umul24, LOW(U24(x) * U24(y)))
SCALAR(mulhi, LOW((int64_t)s *t >> 32))
SCALAR(umulhi, (uint64_t)x *y >> 32)
SCALAR(hadd, LOW(((int64_t)s + t) >> 1))
SCALAR(uhadd, ((uint64_t)x + y) >> 1)
SCALAR(rhadd, LOW(((int64_t)s + t + 1) >> 1))
SCALAR(urhadd, ((uint64_t)x + y + 1) >> 1)
SCALAR(byte_perm, simd_bytes(yx, z))
SCALAR(funnelshift_l, LOW(yx >> (32 - z % 32)))
SCALAR(funnelshift_lc, LOW(yx >> (32 - SMALLER(z, 32))))
SCALAR(funnelshift_r, LOW(yx >> z % 32))
SCALAR(funnelshift_rc, LOW(yx >> SMALLER(z, 32)))
SCALAR(brev, simd_reversed(x, 32))
SCALAR(clz, simd_leading(x, 32))
SCALAR(ffs, simd_first(x, 32))
SCALAR(popc, simd_count(x, 32))
SCALAR(fns, simd_nth(x, (int)(y % 32), (int32_t)z % 40))
SCALAR(brevll, simd_reversed(yx, 64))
SCALAR(clzll, simd_leading(yx, 64))
SCALAR(ffsll, simd_first(yx, 64))
SCALAR(popcll, simd_count(yx, 64))
SCALAR(mul64hi, (__int128)(int64_t)yx *(int64_t)xz >> 64)
SCALAR(umul64hi, (unsigned __int128)yx *xz >> 64)

static const struct {
    const char *item;
    Want want;
} simd_scalars[] = {
    {"T(sad)", simd_sad},
    {"T(usad)", simd_usad},
    {"T(dp4a)", simd_dp4a_u},
    {"S(dp4a)", simd_dp4a_s},
    {"T(dp2a_lo)", simd_dp2a_lo_u},
    {"S(dp2a_lo)", simd_dp2a_lo_s},
    {"T(dp2a_hi)", simd_dp2a_hi_u},
    {"S(dp2a_hi)", simd_dp2a_hi_s},
    {"B(mul24)", simd_mul24},
    {"B(umul24)", simd_umul24},
    {"B(mulhi)", simd_mulhi},
    {"B(umulhi)", simd_umulhi},
    {"B(hadd)", simd_hadd},
    {"B(uhadd)", simd_uhadd},
    {"B(rhadd)", simd_rhadd},
    {"B(urhadd)", simd_urhadd},
    {"T(byte_perm)", simd_byte_perm},
    {"T(funnelshift_l)", simd_funnelshift_l},
    {"T(funnelshift_lc)", simd_funnelshift_lc},
    {"T(funnelshift_r)", simd_funnelshift_r},
    {"T(funnelshift_rc)", simd_funnelshift_rc},
    {"U(brev)", simd_brev},
    {"U(clz)", simd_clz},
    {"U(ffs)", simd_ffs},
    {"U(popc)", simd_popc},
    {"N(fns)", simd_fns},
    {"L(brevll)", simd_brevll},
    {"L(clzll)", simd_clzll},
    {"L(ffsll)", simd_ffsll},
    {"L(popcll)", simd_popcll},
    {"M(mul64hi)", simd_mul64hi},
    {"M(umul64hi)", simd_umul64hi},
};

/* ---- items ---- */

typedef struct SimdItem {
    char text[40];
    const struct SimdStem *stem; /* with lane; or else want */
    SimdLane lane;
    Want want;
} SimdItem;

/* Looks up what an item's text means; false where that is not defined above. */
KIT bool simd_find(SimdItem *item) {
    char name[40];
    if (sscanf(item->text, "%*c(%39[a-z0-9_])", name) != 1) return false;
    for (int i = 0; i < KIT_COUNT(simd_scalars); i++)
        if (strcmp(item->text, simd_scalars[i].item) == 0) item->want = simd_scalars[i].want;
    for (int i = 0; i < KIT_COUNT(simd_stems) && !item->want && !item->stem; i++) {
        const struct SimdStem *s = &simd_stems[i];
        size_t n = strlen(s->stem);
        item->lane = (SimdLane){.is_signed = s->is_signed};
        if (strncmp(name, s->stem, n) == 0 && simd_type(name + n, &item->lane)) item->stem = s;
    }
    return item->want || item->stem;
}

/* The items of a source, in order; how many there are, or -1 where one has no definition. */
KIT int simd_items(const char *source, SimdItem *items, int most) {
    const char *p = strstr(source, "bool high, low;");
    int n = 0;
    for (p = p ? p + 15 : ""; *p; p++) {
        if (p[0] < 'A' || p[0] > 'Z' || p[1] != '(' || n == most) continue;
        SimdItem *item = &items[n++];
        memset(item, 0, sizeof *item);
        snprintf(item->text, sizeof item->text, "%.*s", (int)strcspn(p, ")") + 1, p);
        if (!simd_find(item)) {
            printf("# %s is not defined in emu_simd.h\n", item->text);
            return -1;
        }
    }
    return n;
}

KIT uint64_t simd_want(const SimdItem *item, const uint32_t in[3]) {
    return item->stem ? simd_apply(item->stem, &item->lane, in)
                      : item->want(in[0], in[1], in[2], 0);
}

#endif
