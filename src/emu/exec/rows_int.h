/* rows_int.h - rows of integers: shifts of two words, fields, bits, wide products and quotients.
** Included by rows.c alone, once per variant; num_bits.c and forms_int.c have the same meanings for
** one value. */

/* --- bits --- */

static inline uint64_t both(uint32_t low, uint32_t high) {
    return (uint64_t)high << 32 | low;
}

static inline uint32_t at_most(uint32_t n, uint32_t most) {
    return n < most ? n : most;
}

ROW_OP(SHF_L, U32, U32, U32, U32, both(a[i], b[i]) << at_most(c[i], 32) >> 32)
ROW_OP(SHF_L_WRAP, U32, U32, U32, U32, both(a[i], b[i]) << (c[i] & 31) >> 32)
ROW_OP(SHF_R, U32, U32, U32, U32, both(a[i], b[i]) >> at_most(c[i], 32))
ROW_OP(SHF_R_WRAP, U32, U32, U32, U32, both(a[i], b[i]) >> (c[i] & 31))

/* The lowest n bits. */
static inline uint32_t low_bits(uint32_t n) {
    return n < 32 ? ((uint32_t)1 << (n & 31)) - 1 : UINT32_MAX;
}

/* Beyond the last bit are zeros, or the sign. */
static inline uint32_t field_u32(uint32_t a, uint32_t at, uint32_t n) {
    const uint32_t rest = (at & 255) < 32 ? a >> (at & 31) : 0;
    return rest & low_bits(n & 255);
}

static inline uint32_t field_s32(int32_t a, uint32_t at, uint32_t n) {
    const uint32_t bits = at_most(n & 255, 32), beyond = (32 - bits) & 31;
    const int32_t rest = a >> at_most(at & 255, 31);
    const int32_t value = (int32_t)((uint32_t)rest << beyond) >> beyond;
    return bits ? (uint32_t)value : 0;
}

/* a in the field of b. */
static inline uint32_t with_field(uint32_t a, uint32_t b, uint32_t at, uint32_t n) {
    const uint32_t shift = at & 31, field = low_bits(n & 255) << shift;
    return (at & 255) < 32 ? (b & ~field) | (a << shift & field) : b;
}

ROW_OP(BFE_U32, U32, U32, U32, U32, field_u32(a[i], b[i], c[i]))
ROW_OP(BFE_S32, U32, S32, U32, U32, field_s32(a[i], b[i], c[i]))

/* The length of the field is a row of its own. */
static bool row_BFI(Machine *m, Warp *w, const Ins *in) {
    const uint8_t *file = w->file;
    U32 to[LANES] __attribute__((aligned(64)));
    ROW(U32, a, in->a);
    ROW(U32, b, in->b);
    ROW(U32, at, in->c);
    ROW(U32, n, (uint32_t)in->imm);
    (void)m;
    EACH_LANE to[i] = with_field(a[i], b[i], at[i], n[i]);
    blend(w, to, in->d);
    return true;
}

static inline uint32_t ones(uint32_t x) {
    x -= x >> 1 & 0x55555555;
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    return ((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

static inline uint32_t turned(uint32_t x) {
    x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
    x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
    x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
    x = (x & 0x00ff00ff) << 8 | (x >> 8 & 0x00ff00ff);
    return x << 16 | x >> 16;
}

ROW_OP(POPC, U32, U32, U32, U32, ones(a[i]))

/* By the exponent of a float. Of two neighbouring bits the lower one is taken away, lest it rounds
** up. */
static inline uint32_t zeros_above(uint32_t x) {
    const float y = (float)(int32_t)(x & ~(x >> 1) & INT32_MAX);
    return x >> 31 ? 0 : at_most(158 - (bits_f(y) >> 23), 32);
}

ROW_OP(CLZ, U32, U32, U32, U32, zeros_above(a[i]))
ROW_OP(BREV, U32, U32, U32, U32, turned(a[i]))

/* --- upper halves of products --- */

static inline uint64_t upper_u64(uint64_t a, uint64_t b) {
    const uint64_t low = 0xffffffff, x = a & low, y = a >> 32, p = b & low, q = b >> 32;
    const uint64_t first = (x * p >> 32) + y * p, second = (first & low) + x * q;
    return y * q + (first >> 32) + (second >> 32);
}

/* A negative factor was taken as 2^64 too large. */
static inline uint64_t upper_s64(int64_t a, int64_t b) {
    const uint64_t upper = upper_u64((uint64_t)a, (uint64_t)b);
    return upper - ((uint64_t)(a >> 63) & (uint64_t)b) - ((uint64_t)(b >> 63) & (uint64_t)a);
}

ROW_OP(MULHI_U64, U64, U64, U64, U64, upper_u64(a[i], b[i]))
ROW_OP(MULHI_S64, U64, S64, S64, S64, upper_s64(a[i], b[i]))

/* --- division of 64 bits ---
**
** Numbers below 2^52 are divided as doubles, which vectors can do. Where a / b is below an integer
** n, it is so by at least 1 / b, and n * b < a + b < 2^53: so by more than half a unit of n's last
** place, and the rounded quotient does not reach n. Other numbers are divided lane by lane. */

enum { QUOTIENT_BITS = 52 };

static inline double small_double(uint64_t x) { /* below 2^52 */
    const uint64_t bits = x | 0x4330000000000000u;
    double y;
    memcpy(&y, &bits, sizeof y);
    return y - 0x1p52;
}

static inline uint64_t small_quotient(uint64_t a, uint64_t b) {
    const double q = small_double(a) / small_double(b);
    const double near = q + 0x1p52 - 0x1p52;
    const double whole = (near > q ? near - 1.0 : near) + 0x1p52;
    return num_f64_bits(whole) & 0x000fffffffffffffu;
}

static inline uint64_t size_of(uint64_t x, bool has_sign) {
    return has_sign && x >> 63 ? 0 - x : x;
}

/* Are all of the active lanes small, and none divided by 0? Where one is large, most are: the first
** is looked at alone. */
static inline bool all_small(const Warp *w, const U64 *a, const U64 *b, bool has_sign) {
    const int lane = __builtin_ctz(w->active);
    uint64_t large = (size_of(a[lane], has_sign) | size_of(b[lane], has_sign)) >> QUOTIENT_BITS;
    if (large) return false;
    EACH_LANE {
        const uint64_t both = size_of(a[i], has_sign) | size_of(b[i], has_sign);
        large |= ((both >> QUOTIENT_BITS) | (b[i] == 0)) & (uint64_t)w->lane64[i];
    }
    return large == 0;
}

static inline void divide_plainly(const Warp *w, const Ins *in, bool has_sign, bool rest) {
    FOR_ACTIVE(w, i) {
        const uint64_t a = LANE(U64, w, in->a, i), b = LANE(U64, w, in->b, i);
        const uint64_t x = size_of(a, has_sign), y = size_of(b, has_sign);
        const uint64_t size = b == 0 ? 0 : rest ? x % y : x / y;
        const bool minus = has_sign && (rest ? a : a ^ b) >> 63;
        LANE(U64, w, in->d, i) = b == 0 ? UINT64_MAX : minus ? 0 - size : size;
    }
}

static inline bool divide_row(Warp *w, const Ins *in, bool has_sign, bool rest) {
    uint8_t *file = w->file;
    PLACE(U64, d, in->d);
    ROW(U64, a, in->a);
    ROW(U64, b, in->b);
    if (!all_small(w, a, b, has_sign)) {
        divide_plainly(w, in, has_sign, rest);
        return true;
    }
    EACH_LANE {
        const uint64_t x = size_of(a[i], has_sign), y = size_of(b[i], has_sign);
        const uint64_t q = small_quotient(x, y), size = rest ? x - q * y : q;
        const uint64_t sign = has_sign ? 0 - ((rest ? a[i] : a[i] ^ b[i]) >> 63) : 0;
        d[i] = w->lane64[i] ? (size ^ sign) - sign : d[i];
    }
    return true;
}

#define DIVIDE_ROW(NAME, HAS_SIGN, REST)                                                           \
    static bool row_##NAME(Machine *m, Warp *w, const Ins *in) {                                   \
        (void)m;                                                                                   \
        return divide_row(w, in, HAS_SIGN, REST);                                                  \
    }

DIVIDE_ROW(DIV_U64, false, false)
DIVIDE_ROW(DIV_S64, true, false)
DIVIDE_ROW(REM_U64, false, true)
DIVIDE_ROW(REM_S64, true, true)
