/* exec_num.h - lane arithmetic of exec.c, written so that compilers vectorise it (num.c has the
** same meanings for one value). Included by exec.c alone, once per variant. */

static inline uint32_t bits_f(float x) {
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}

static inline float float_of(uint32_t b) {
    float x;
    memcpy(&x, &b, 4);
    return x;
}

static inline float canon(float x) {
    return x != x ? float_of(0x7fffffffu) : x;
}

static inline float flush(float x) {
    uint32_t b = bits_f(x);
    return float_of((b & 0x7f800000u) == 0 ? b & 0x80000000u : b);
}

/* .ftz of products: an H200 flushes what is below the smallest normal number after rounding to 24
** bits, whatever the exponent: half a unit under 2^-126 still rounds up to it. */
static const double FTZ_LEAST = 0x1.ffffffp-127;

static inline float mul_fz(float a, float b) {
    double exact = (double)a * (double)b;
    float product = a * b;
    bool tiny = exact > -FTZ_LEAST && exact < FTZ_LEAST;
    return tiny ? float_of(bits_f(product) & 0x80000000u) : product;
}

/* The sum of product and c in double precision, and what its rounding lost (Knuth's two-sum). */
static inline float fma_fz(float a, float b, float c) {
    double product = (double)a * (double)b, sum = product + (double)c, back = sum - product;
    double lost = (product - (sum - back)) + ((double)c - back);
    double size = sum < 0 ? -sum : sum, less = sum < 0 ? -lost : lost;
    bool tiny = size < FTZ_LEAST || (size == FTZ_LEAST && less < 0);
    float result = fmaf(a, b, c);
    return tiny ? float_of(bits_f(result) & 0x80000000u) : result;
}

/* A NaN operand gives the other; -0 is less than +0. */
static inline float min_f(float a, float b) {
    float zero = float_of(bits_f(a) | bits_f(b)); /* of equal operands, the one with a sign */
    float r = a < b ? a : b;
    r = a == b ? zero : r;
    r = b != b ? a : r;
    return canon(r);
}

static inline float max_f(float a, float b) {
    float zero = float_of(bits_f(a) & bits_f(b));
    float r = a > b ? a : b;
    r = a == b ? zero : r;
    r = b != b ? a : r;
    return canon(r);
}

static inline float saturate(float x) {
    return x > 0 ? x < 1 ? x : 1.0f : 0.0f;
}

static inline int32_t to_s32(float x) {
    float inside = x >= -2147483648.0f && x < 2147483648.0f ? x : 0.0f;
    int32_t value = (int32_t)inside;
    return x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : value;
}

/* Division as the GPU does it: by zero gives all ones, INT_MIN / -1 is INT_MIN. Through doubles, so
** that it vectorises: their quotient, correctly rounded, never reaches the next integer, because
** the true one is at least 2^-32 of its size away. */
static inline int32_t div_s32(int32_t a, int32_t b) {
    double q = (double)a / (b ? (double)b : 1.0);
    q = q < 2147483648.0 ? q : -2147483648.0;
    int32_t value = (int32_t)q;
    return b ? value : -1;
}

static inline uint32_t div_u32(uint32_t a, uint32_t b) {
    double q = (double)a / (b ? (double)b : 1.0);
    const double big = 4503599627370496.0; /* 2^52: its neighbours are 1 apart */
    double whole = q + big - big;          /* q rounded to an integer */
    whole = (whole > q ? whole - 1.0 : whole) + big;
    uint64_t bits;
    memcpy(&bits, &whole, 8);
    uint32_t value = (uint32_t)bits;
    return b ? value : UINT32_MAX;
}

/* A NaN result is a NaN operand, made quiet, or the hardware's default. Of several an H200 takes b
** before c before a. Stated here, because compilers may exchange the operands of an addition. */
static inline double pass_nan(double a, double b, double c, double result) {
    double from = b != b ? b : c != c ? c : a;
    uint64_t bits;
    memcpy(&bits, &from, 8);
    bits = from != from ? bits | 0x0008000000000000u : 0xfff8000000000000u;
    double nan;
    memcpy(&nan, &bits, 8);
    return result == result ? result : nan;
}
