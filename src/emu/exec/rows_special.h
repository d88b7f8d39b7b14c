/* rows_special.h - the special-function unit for the 32 lanes of a row in rows.c, step by step what
** num_approx.c does for one value: the same additions and multiplications of doubles in the same
** order, so the same bits. Included by rows.c alone, once per variant.
**
** Where num_approx.c looks at an operand and returns early, all lanes are worked out here, those of
** no use for an operand that does no harm, and the answer is chosen afterwards. */

typedef struct Wide { /* a row in double precision */
    F64 v[LANES] __attribute__((aligned(64)));
} Wide;

/* The operands; with FTZ subnormal ones are zero. */
static inline void special_operands(const F32 *a, bool ftz, F32 *x, Wide *wide) {
    if (ftz) EACH_LANE x[i] = flush(a[i]);
    else EACH_LANE x[i] = a[i];
    EACH_LANE wide->v[i] = (double)x[i];
}

/* Rounded: one kind of NaN, on demand zero for what is tiny after rounding to 24 bits. */
static inline void special_finish(const Wide *from, bool ftz, F32 *to) {
    EACH_LANE {
        const double x = from->v[i];
        const float near = (float)x;
        const bool tiny = ftz && x < FTZ_LEAST && x > -FTZ_LEAST;
        to[i] = tiny ? float_of(bits_f(near) & 0x80000000u) : canon(near);
    }
}

static inline void wide_polynomial(const double *c, int n, const Wide *x, Wide *sum) {
    EACH_LANE sum->v[i] = c[n - 1];
    for (int k = n - 2; k >= 0; k--) EACH_LANE sum->v[i] = sum->v[i] * x->v[i] + c[k];
}

/* floor(x + 0.5), for |x| < 2^31 */
static inline void wide_nearest(const Wide *x, Wide *whole, S32 *n) {
    EACH_LANE {
        const double sum = x->v[i] + 0.5;
        const int32_t cut = (int32_t)sum;
        n[i] = cut - ((double)cut > sum ? 1 : 0);
    }
    EACH_LANE whole->v[i] = (double)n[i];
}

/* 2^x for |x| < 1000, in place */
static inline void wide_exp2(Wide *x) {
    Wide whole, sum;
    S32 n[LANES] __attribute__((aligned(64)));
    wide_nearest(x, &whole, n);
    EACH_LANE x->v[i] -= whole.v[i];
    wide_polynomial(series_exp2, SERIES_EXP2, x, &sum);
    EACH_LANE x->v[i] = sum.v[i] * num_f64_from_bits((uint64_t)(int64_t)(n[i] + 1023) << 52);
}

static inline void special_ex2(const F32 *a, bool ftz, F32 *to) {
    F32 x[LANES] __attribute__((aligned(64)));
    Wide wide;
    special_operands(a, ftz, x, &wide);
    EACH_LANE wide.v[i] = wide.v[i] >= -160 && wide.v[i] < 128 ? wide.v[i] : 0;
    wide_exp2(&wide);
    special_finish(&wide, ftz, to);
    EACH_LANE {
        float y = to[i];
        y = x[i] >= 128 ? INFINITY : y;
        y = x[i] < -160 ? 0 : y;
        to[i] = x[i] != x[i] ? float_of(0x7fffffff) : y;
    }
}

static inline void special_lg2(const F32 *a, bool ftz, F32 *to) {
    F32 x[LANES] __attribute__((aligned(64)));
    Wide wide, s, square, sum;
    special_operands(a, ftz, x, &wide);
    EACH_LANE {
        const uint64_t bits = num_f64_bits(wide.v[i]);
        const double two52 = 4503599627370496.0; /* 2^52: its last bits count from 0 */
        double m = num_f64_from_bits((bits & 0x000fffffffffffffu) | 0x3fe0000000000000u);
        double exponent =
            num_f64_from_bits((bits >> 52 & 0x7ff) | 0x4330000000000000u) - two52 - 1022;
        const bool is_low = m < 0.70710678118654752;
        m = is_low ? m * 2 : m;
        wide.v[i] = is_low ? exponent - 1 : exponent;
        s.v[i] = (m - 1) / (m + 1);
        square.v[i] = s.v[i] * s.v[i];
    }
    wide_polynomial(series_log, SERIES_LOG, &square, &sum);
    EACH_LANE wide.v[i] = wide.v[i] + 2.8853900817779268 * s.v[i] * sum.v[i];
    special_finish(&wide, ftz, to);
    EACH_LANE {
        float y = to[i];
        y = x[i] == 0 ? -INFINITY : y;
        y = x[i] == INFINITY ? x[i] : y;
        to[i] = x[i] != x[i] || x[i] < 0 ? float_of(0x7fffffff) : y;
    }
}

static inline void special_tanh(const F32 *a, F32 *to) {
    F32 x[LANES] __attribute__((aligned(64)));
    Wide wide, e;
    special_operands(a, false, x, &wide);
    EACH_LANE {
        const double d = wide.v[i];
        e.v[i] = d <= 20 && d >= -20 ? 2 * 1.4426950408889634 * d : 0;
    }
    wide_exp2(&e);
    EACH_LANE {
        const double d = wide.v[i], size = d < 0 ? -d : d;
        float y = (float)((e.v[i] - 1) / (e.v[i] + 1));
        y = size < 1e-4 ? (float)(d * (1 - d * d / 3)) : y;
        y = size > 20 ? d > 0 ? 1.0f : -1.0f : y;
        to[i] = d != d ? float_of(0x7fffffff) : y;
    }
}

/* fmod(x, 2 pi) for |x| below 2^28, without a branch. The quotient has 26 bits: it is at most one
** too large, and its products with the two halves of 2 pi are exact, as are both differences. */
static inline double within_circle(double x) {
    const double circle = 6.2831853071795865, high = 0x1.921fb5p+2, low = circle - high;
    const double whole = (double)(int32_t)(x / circle);
    const double rest = (x - whole * high) - whole * low;
    const double more = x < 0 ? -circle : circle;
    const bool is_beyond = x < 0 ? rest > 0 : rest < 0;
    return is_beyond ? rest + more : rest;
}

/* The angles of the active lanes as far as 2 pi; those of infinities are of no use. */
static inline void reduce_angles(const Warp *w, Wide *x) {
    S32 is_beyond[LANES] __attribute__((aligned(64))), is_far[LANES] __attribute__((aligned(64)));
    EACH_LANE is_beyond[i] = x->v[i] > 6 || x->v[i] < -6 ? -1 : 0;
    if ((mask_of(is_beyond) & w->active) != 0) {
        EACH_LANE is_far[i] = x->v[i] >= 0x1p28 || x->v[i] <= -0x1p28 ? -1 : 0;
        for (uint32_t left = w->active & mask_of(is_far); left; left &= left - 1) {
            int i = __builtin_ctz(left);
            x->v[i] = fmod(x->v[i], 6.2831853071795865);
        }
        EACH_LANE {
            const double angle = x->v[i] < 0x1p28 && x->v[i] > -0x1p28 ? x->v[i] : 0;
            x->v[i] = is_beyond[i] ? within_circle(angle) : angle;
        }
    }
    EACH_LANE x->v[i] = x->v[i] <= 7 && x->v[i] >= -7 ? x->v[i] : 0;
}

static inline void wide_sine(const Warp *w, Wide *x, int quarters) {
    Wide whole, quarter, square, s, c;
    S32 k[LANES] __attribute__((aligned(64)));
    S64 quadrant[LANES] __attribute__((aligned(64)));
    reduce_angles(w, x);
    EACH_LANE quarter.v[i] = x->v[i] * 0.63661977236758134;
    wide_nearest(&quarter, &whole, k);
    EACH_LANE x->v[i] -= whole.v[i] * 1.5707963267948966;
    EACH_LANE square.v[i] = x->v[i] * x->v[i];
    wide_polynomial(series_sin, SERIES_SIN, &square, &s);
    wide_polynomial(series_cos, SERIES_COS, &square, &c);
    EACH_LANE quadrant[i] = (k[i] + quarters) & 3;
    EACH_LANE {
        const double value = quadrant[i] & 1 ? c.v[i] : x->v[i] * s.v[i];
        x->v[i] = quadrant[i] & 2 ? -value : value;
    }
}

static inline void special_sine(const Warp *w, const F32 *a, bool ftz, int quarters, F32 *to) {
    F32 x[LANES] __attribute__((aligned(64)));
    Wide wide;
    special_operands(a, ftz, x, &wide);
    wide_sine(w, &wide, quarters);
    special_finish(&wide, ftz, to);
    EACH_LANE {
        const bool is_finite = x[i] - x[i] == 0;
        float y = quarters == 0 && x[i] == 0 ? x[i] : to[i];
        to[i] = is_finite ? y : float_of(0x7fffffff);
    }
}

/* Roots and reciprocals of floats are rounded right where they are worked out in double precision
** and then rounded (S. Figueroa, see rows_num.h): a float's own are the same bits. Flushed is what
** is below 2^-126; 2^-126 itself may have been less before it was rounded, but no reciprocal is. */
static inline void root_finish(const F32 *x, bool ftz, F32 *to) {
    EACH_LANE {
        const float near = canon(x[i]);
        to[i] = ftz ? flush(near) : near;
    }
}

/* 1 / a, the root of a, or 1 by it. */
typedef enum Root { ROOT_NONE, ROOT_ALONE, ROOT_BELOW } Root;

/* What makes y, 1 by the root of x but for 2^-14 of it at most, right to some 2^-52: a series of
** how far it is off. No such root is nearer than 2^-49 to the middle between two floats. */
static inline float root_below(float x, float y) {
    const double rest = 1 - (double)x * ((double)y * (double)y);
    const double more = rest * (0.5 + rest * (0.375 + rest * 0.3125));
    return x > 0 && x < INFINITY ? (float)((double)y + (double)y * more) : y;
}

static inline void roots_below(const F32 *x, F32 *y) {
#if defined(EMU_AVX512)
    for (int k = 0; k < LANES; k += 16)
        _mm512_store_ps(y + k, _mm512_rsqrt14_ps(_mm512_load_ps(x + k)));
#else
    EACH_LANE y[i] = 1.0f / sqrtf(x[i]);
#endif
    EACH_LANE y[i] = root_below(x[i], y[i]);
}

static inline void special_root(const F32 *a, Root root, bool ftz, F32 *to) {
    F32 x[LANES] __attribute__((aligned(64))), y[LANES] __attribute__((aligned(64)));
    if (ftz) EACH_LANE x[i] = flush(a[i]);
    else EACH_LANE x[i] = a[i];
    if (root == ROOT_NONE) EACH_LANE y[i] = 1.0f / x[i];
    else if (root == ROOT_ALONE) EACH_LANE y[i] = sqrtf(x[i]);
    else roots_below(x, y);
    root_finish(y, ftz, to);
}

/* a / b; as a * (1 / b) the reciprocal of a |b| above 2^126 is flushed to zero. */
static inline void special_div(const F32 *a, const F32 *b, bool ftz, bool by_product, F32 *to) {
    F32 operand[LANES] __attribute__((aligned(64)));
    Wide x, y;
    special_operands(a, ftz, operand, &x);
    special_operands(b, ftz, operand, &y);
    EACH_LANE {
        const double d = y.v[i], size = d < 0 ? -d : d;
        const double zero = num_f64_from_bits(num_f64_bits(d) & UINT64_C(1) << 63);
        const bool gone = by_product && size > 0x1p126 && size < (double)INFINITY;
        x.v[i] = gone ? x.v[i] * zero : x.v[i] / d;
    }
    special_finish(&x, ftz, to);
}
