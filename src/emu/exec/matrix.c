/* matrix.c - products of matrices that a warp holds together: mma, wmma.mma. See matrix.h.
**
** The registers' numbers go to where they stand in A, B and C by the form's maps, the sum is made
** (matrix_sum.h; whole numbers and doubles here), and D goes back the same way.
*/
#include "emu/exec/matrix_group.h"

#include "emu/check/undefined.h"
#include "emu/exec/matrix_sum.h"
#include "emu/exec/num.h"

#include <stdlib.h>
#include <string.h>

/* The most numbers that a matrix of any shape has, places without one included. */
enum { MOST_A = 2048, MOST_B = 1024, MOST_C = 512, MOST_NUMBERS = 1024 + 1 };

/* --- numbers of a fragment --- */

int matrix_unpack(const Warp *w, const MatrixPart *p, uint32_t *number) {
    unsigned bits = matrix_bits((MatrixType)p->type), in = bits < 4 ? 1 : 32 / bits;
    uint32_t mask = in == 1 ? FULL_MASK : (1u << bits) - 1;
    for (unsigned r = 0; r < p->count; r++) {
        const U32 *row = (const U32 *)(const void *)row_at(w, p->reg[r]);
        for (unsigned s = 0; s < in; s++, number += LANES)
            for (int i = 0; i < LANES; i++) number[i] = row[i] >> s * bits & mask;
    }
    return (int)(p->count * in * LANES);
}

void matrix_pack(const Warp *w, const MatrixPart *p, const uint32_t *number) {
    unsigned bits = matrix_bits((MatrixType)p->type), in = 32 / bits;
    for (unsigned r = 0; r < p->count; r++) {
        U32 *row = (U32 *)(void *)row_at(w, p->reg[r]);
        for (int i = 0; i < LANES; i++) row[i] = number[i];
        for (unsigned s = 1; s < in; s++)
            for (int i = 0; i < LANES; i++) row[i] |= number[s * LANES + (unsigned)i] << s * bits;
        number += in * LANES;
    }
}

/* --- floats --- */

static float number_e4m3(uint32_t b) {
    uint32_t e = b >> 3 & 15, f = b & 7;
    float x = e ? num_f32_from_bits((e + 120) << 23 | f << 20) : (float)f * 0x1p-9f;
    if ((b & 127) == 127) return num_f32_from_bits(0x7fffffff);
    return b & 128 ? -x : x;
}

static float float_of_bits(MatrixType t, uint32_t b) {
    switch (t) {
    case MATRIX_F16: return num_f16_to_f32((uint16_t)b);
    case MATRIX_BF16: return num_f32_from_bits(b << 16);
    case MATRIX_TF32: return num_f32_from_bits(b & 0xffffe000);
    case MATRIX_E4M3: return number_e4m3(b);
    case MATRIX_E5M2: return num_f16_to_f32((uint16_t)(b << 8));
    default: return num_f32_from_bits(b);
    }
}

uint32_t matrix_bits_of(MatrixType t, float x) {
    return t == MATRIX_F16 ? matrix_half_bits(x) : matrix_word(x);
}

void matrix_floats(MatrixType t, const uint32_t *bits, int n, float *x) {
    if (t == MATRIX_F16)
        for (int i = 0; i < n; i++) x[i] = matrix_half(bits[i]);
    else if (t == MATRIX_BF16)
        for (int i = 0; i < n; i++) x[i] = num_f32_from_bits(bits[i] << 16);
    else
        for (int i = 0; i < n; i++) x[i] = float_of_bits(t, bits[i]);
}

void matrix_exponents(const float *x, int n, int least, uint32_t *e) {
    for (int i = 0; i < n; i++) e[i] = matrix_exponent_word(num_f32_bits(x[i]), least);
}

static MatrixSumFn loop_of(const Machine *m) {
    return m->emu->vectors == VECTORS_AVX512 ? matrix_sum_avx512
           : m->emu->vectors == VECTORS_AVX2 ? matrix_sum_avx2
                                             : matrix_sum_base;
}

void matrix_sum(const Machine *m, const MatrixTask *t) {
    if (m->emu->plain) matrix_sum_plain(t);
    else loop_of(m)(NULL, NULL, t);
}

bool matrix_sum_words(const Machine *m, const Warp *w, const MatrixForm *f, const MatrixTask *t) {
    if (!m->emu->plain) loop_of(m)(w, f, t);
    return !m->emu->plain;
}

/* Does the loop take it from registers to registers? */
static bool is_strip(const Machine *m, const MatrixForm *f) {
    return !m->emu->plain && f->shape->m == MATRIX_STRIP && !f->is_sparse;
}

void matrix_add_last(float *sum, const float *c, int n, bool halves) {
    for (int i = 0; i < n; i++) sum[i] = num_f32_from_bits(matrix_word(sum[i] + c[i]));
    for (int i = 0; i < n && halves; i++) sum[i] = num_f16_to_f32(num_f32_to_f16(sum[i], NUM_RN));
}

typedef struct FloatWork {
    float a[MOST_A], b[MOST_B], c[MOST_C];
    float last[MOST_C]; /* what is added last */
    uint32_t ea[MOST_A], eb[MOST_B];
} FloatWork;

/* The numbers of a part, as floats, by places. */
static void take_floats(const Warp *w, const MatrixPart *p, float *to) {
    uint32_t bits[MOST_NUMBERS];
    float x[MOST_NUMBERS];
    int n = matrix_unpack(w, p, bits);
    matrix_floats((MatrixType)p->type, bits, n, x);
    x[n] = 0;
    for (int i = 0; i < p->places; i++) to[i] = x[p->map[i]];
}

static void give_floats(const Warp *w, const MatrixPart *p, const float *from) {
    uint32_t bits[MOST_NUMBERS];
    for (int i = 0; i < p->places; i++)
        bits[p->map[i]] = matrix_bits_of((MatrixType)p->type, from[i]);
    matrix_pack(w, p, bits);
}

/* The numbers of a sparse A at their columns; the others are none. */
static void spread_floats(const MatrixForm *f, const uint8_t *column, FloatWork *x) {
    int k = f->shape->k;
    float a[MOST_A / 2];
    uint32_t ea[MOST_A / 2];
    memcpy(a, x->a, (size_t)f->a.places * sizeof *a);
    memcpy(ea, x->ea, (size_t)f->a.places * sizeof *ea);
    for (int at = 0; at < k * MATRIX_STRIP; at++) x->a[at] = 0, x->ea[at] = (uint32_t)MATRIX_NONE;
    for (int p = 0; p < f->a.places; p++) {
        int l = f->rule.by_pairs ? matrix_pair_place(column[p], k, 4) : column[p];
        x->a[l * MATRIX_STRIP + p % MATRIX_STRIP] = a[p];
        x->ea[l * MATRIX_STRIP + p % MATRIX_STRIP] = ea[p];
    }
}

/* The fast loop multiplies what is none by 0, which an infinity would make a NaN. */
static bool any_odd(const uint32_t *e, int n, bool is_narrow) {
    for (int i = 0; i < n; i++)
        if (e[i] == (is_narrow ? MATRIX_ODD_NARROW : MATRIX_ODD)) return true;
    return false;
}

static void sum_floats(const Machine *m, const Warp *w, const MatrixForm *f,
                       const uint8_t *column) {
    const MatrixShape *s = f->shape;
    if (is_strip(m, f)) {
        loop_of(m)(w, f, NULL);
        return;
    }
    int least_a = matrix_least((MatrixType)f->a.type);
    int least_b = matrix_least((MatrixType)f->b.type);
    FloatWork x;
    take_floats(w, &f->a, x.a);
    take_floats(w, &f->b, x.b);
    take_floats(w, &f->c, f->rule.by_pairs ? x.last : x.c);
    if (f->rule.by_pairs) memset(x.c, 0, sizeof x.c);
    matrix_exponents(x.a, f->a.places, least_a, x.ea);
    matrix_exponents(x.b, f->b.places, least_b, x.eb);
    bool is_narrow = least_a > -60;
    if (column) spread_floats(f, column, &x);
    bool by_number = column && any_odd(x.eb, f->b.places, is_narrow);
    for (int tile = 0; tile < f->tiles; tile++) {
        int a = tile * s->k * MATRIX_STRIP, b = f->is_quad ? tile * s->k * s->n : 0;
        int c = tile * s->n * MATRIX_STRIP;
        MatrixTask t = {.n = s->n,
                        .k = s->k,
                        .rule = f->rule,
                        .halves = f->d.type == MATRIX_F16,
                        .is_narrow = is_narrow,
                        .a = x.a + a,
                        .ea = x.ea + a,
                        .b = x.b + b,
                        .eb = x.eb + b,
                        .per = 1,
                        .least = {least_a, least_b},
                        .c = x.c + c};
        if (by_number) matrix_sum_plain(&t);
        else matrix_sum(m, &t);
    }
    if (f->rule.by_pairs) matrix_add_last(x.c, x.last, f->c.places, f->d.type == MATRIX_F16);
    give_floats(w, &f->d, x.c);
}

/* --- whole numbers --- */

void matrix_integers(MatrixType t, const uint32_t *bits, int n, int32_t *to) {
    bool is_signed = t == MATRIX_S8 || t == MATRIX_S4;
    unsigned cut = is_signed ? 32 - matrix_bits(t) : 0;
    for (int i = 0; i < n; i++) to[i] = (int32_t)(bits[i] << cut) >> cut;
    for (int i = 0; i < n && !is_signed; i++) to[i] = (int32_t)bits[i];
}

/* By places. */
static void take_integers(const Warp *w, const MatrixPart *p, int32_t *to) {
    uint32_t bits[MOST_NUMBERS];
    int32_t number[MOST_NUMBERS];
    int n = matrix_unpack(w, p, bits);
    matrix_integers((MatrixType)p->type, bits, n, number);
    number[n] = 0;
    for (int i = 0; i < p->places; i++) to[i] = number[p->map[i]];
}

static int64_t clamped(int64_t x) {
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
}

/* One column of a strip: sums of products, or of bits that both have, or one alone. */
void matrix_sum_column(const MatrixForm *f, int k, const int32_t *a, const int32_t *b, int32_t *c) {
    int32_t sum[MATRIX_STRIP] = {0}; /* of 2^20 at most */
    for (int l = 0; l < k; l++)
        for (int i = 0; i < MATRIX_STRIP; i++) {
            int32_t x = a[l * MATRIX_STRIP + i], y = b[l];
            if (f->a.type != MATRIX_B1) sum[i] += x * y;
            else sum[i] += __builtin_popcount((uint32_t)(f->is_and ? x & y : x ^ y));
        }
    for (int i = 0; i < MATRIX_STRIP; i++) {
        int64_t all = (int64_t)sum[i] + c[i];
        c[i] = (int32_t)(uint32_t)(f->saturates ? clamped(all) : all);
    }
}

static void spread_integers(const MatrixForm *f, const uint8_t *column, int32_t *a) {
    int32_t there[MOST_A / 2];
    memcpy(there, a, (size_t)f->a.places * sizeof *a);
    memset(a, 0, (size_t)(f->shape->k * MATRIX_STRIP) * sizeof *a);
    for (int p = 0; p < f->a.places; p++)
        a[column[p] * MATRIX_STRIP + p % MATRIX_STRIP] = there[p];
}

static void sum_integers(const Warp *w, const MatrixForm *f, const uint8_t *column) {
    int32_t a[MOST_A], b[MOST_B], c[MOST_C];
    uint32_t d[MOST_NUMBERS];
    int k = f->shape->k / (f->a.type == MATRIX_B1 ? 32 : 1), n = f->shape->n;
    take_integers(w, &f->a, a);
    if (column) spread_integers(f, column, a);
    take_integers(w, &f->b, b);
    take_integers(w, &f->c, c);
    for (int strip = 0; strip < f->tiles; strip++)
        for (int j = 0; j < n; j++)
            matrix_sum_column(f, k, a + strip * k * MATRIX_STRIP, b + j * k,
                              c + (strip * n + j) * MATRIX_STRIP);
    for (int i = 0; i < f->c.places; i++) d[f->c.map[i]] = (uint32_t)c[i];
    matrix_pack(w, &f->d, d);
}

/* --- doubles: one fused multiply-add after the other, by rising k --- */

static double double_at(const Warp *w, const MatrixPart *p, int place) {
    int at = p->map[place];
    return ((const F64 *)(const void *)row_at(w, p->reg[at / LANES]))[at % LANES];
}

static void sum_doubles(const Warp *w, const MatrixForm *f) {
    const MatrixShape *s = f->shape;
    double d[MOST_C];
    for (int j = 0; j < s->n; j++)
        for (int i = 0; i < s->m; i++) {
            int place = j * MATRIX_STRIP + i;
            double sum = double_at(w, &f->c, place);
            for (int k = 0; k < s->k; k++)
                sum = num_fma_f64(double_at(w, &f->a, k * MATRIX_STRIP + i),
                                  double_at(w, &f->b, j * s->k + k), sum, (NumRound)f->round);
            d[place] = sum;
        }
    for (int place = 0; place < f->d.places; place++) {
        int at = f->d.map[place];
        if (at / LANES < f->d.count)
            ((F64 *)(void *)row_at(w, f->d.reg[at / LANES]))[at % LANES] = d[place];
    }
}

/* --- undefined values: a result is undefined where something of its row or column is --- */

typedef struct Doubt { /* of each register of each lane */
    uint64_t bits[MATRIX_REGISTERS * LANES];
    uint32_t origin[MATRIX_REGISTERS * LANES];
} Doubt;

static bool find_doubt(const Frame *frame, const MatrixPart *p, Doubt *to) {
    bool any = false;
    for (unsigned at = 0; at < (unsigned)p->count * LANES; at++) {
        to->origin[at] = ORIGIN_NONE;
        to->bits[at] = undefined_row(frame, p->reg[at / LANES], (int)(at % LANES), &to->origin[at]);
        any |= to->bits[at] != 0;
    }
    return any;
}

/* Where the number of a place is: its register and lane; its bits there. False: nowhere. */
static bool bits_at(const MatrixPart *p, int place, unsigned *at, uint64_t *mask) {
    unsigned bits = matrix_bits((MatrixType)p->type), in = bits == 64 || bits < 4 ? 1 : 32 / bits;
    unsigned e = p->map[place] / LANES;
    if (e >= p->count * in) return false;
    *at = e / in * LANES + p->map[place] % LANES;
    *mask = in == 1 ? UINT64_MAX : ((UINT64_C(1) << bits) - 1) << e % in * bits;
    return true;
}

static uint32_t origin_at_place(const MatrixPart *p, const Doubt *doubt, int place) {
    unsigned at;
    uint64_t mask;
    return bits_at(p, place, &at, &mask) && doubt->bits[at] & mask ? doubt->origin[at]
                                                                   : ORIGIN_NONE;
}

static void follow_product(const Warp *w, const MatrixForm *f) {
    const Frame *frame = &w->s.frame[w->frame];
    Doubt a, b, c, d = {{0}, {0}};
    uint32_t row[4 * MATRIX_STRIP] = {0}, column[4 * 32] = {0};
    int n = f->shape->n, k = f->b.places / n / (f->is_quad ? 4 : 1), ka = f->is_sparse ? k / 2 : k;
    bool any = find_doubt(frame, &f->a, &a);
    any |= find_doubt(frame, &f->b, &b);
    any |= find_doubt(frame, &f->c, &c);
    for (int p = 0; any && p < f->a.places; p++) {
        uint32_t *to = &row[p / (ka * MATRIX_STRIP) * MATRIX_STRIP + p % MATRIX_STRIP];
        if (*to == ORIGIN_NONE) *to = origin_at_place(&f->a, &a, p);
    }
    for (int p = 0; any && p < f->b.places; p++)
        if (column[p / k] == ORIGIN_NONE) column[p / k] = origin_at_place(&f->b, &b, p);
    for (int p = 0; any && p < f->d.places; p++) {
        int strip = p / (n * MATRIX_STRIP), j = p / MATRIX_STRIP % n;
        uint32_t from = row[strip * MATRIX_STRIP + p % MATRIX_STRIP];
        if (from == ORIGIN_NONE) from = column[(f->is_quad ? strip * n : 0) + j];
        if (from == ORIGIN_NONE) from = origin_at_place(&f->c, &c, p);
        unsigned at;
        uint64_t mask;
        if (from == ORIGIN_NONE || !bits_at(&f->d, p, &at, &mask)) continue;
        d.bits[at] |= mask;
        d.origin[at] = from;
    }
    for (unsigned at = 0; at < (unsigned)f->d.count * LANES; at++)
        undefined_set(frame, f->d.reg[at / LANES], (int)(at % LANES), d.bits[at], d.origin[at]);
}

/* --- the whole --- */

/* .aligned: all 32 lanes take part. */
static bool all_there(Machine *m, Warp *w, const Ins *in, const MatrixForm *f) {
    if (w->active == FULL_MASK) return true;
    char who[160];
    fault_lanes(~w->active, who, sizeof who);
    return fault_raise(m, w, in, __builtin_ctz(w->active), EMU_LAUNCH_ERROR,
                       "%s without %s of the warp: all 32 lanes take part in it (undefined on a "
                       "GPU)",
                       f->name, who);
}

bool matrix_run(Machine *m, Warp *w, const Ins *in, const MatrixForm *f) {
    if (!all_there(m, w, in, f)) return false;
    if (f->kind == MATRIX_GROUP) return matrix_group(m, w, in, f);
    if (f->kind != MATRIX_PRODUCT) return matrix_move(m, w, in, f);
    uint8_t column[MOST_A / 2], *columns = f->is_sparse ? column : NULL;
    if (columns && !matrix_columns(m, w, in, f, columns)) return false;
    if (m->follows) follow_product(w, f);
    if (f->a.type == MATRIX_F64) sum_doubles(w, f);
    else if (f->d.type == MATRIX_S32) sum_integers(w, f, columns);
    else sum_floats(m, w, f, columns);
    m->cost.extra[PIPE_TENSOR] += f->work;
    return true;
}
