/* forms_float.c - floating-point arithmetic of 16, 32 and 64 bits. */
#include "emu/decode/decode.h"
#include "emu/exec/lanes.h"
#include "emu/exec/num.h"

#include <string.h>

/* --- f32 and f64 in roundings other than to nearest --- */

#define ROUND ((NumRound)in->imm)

SLOW_OP(slow_add_f, F32, F32, F32, F32, num_add_f32(a, b, ROUND))
SLOW_OP(slow_sub_f, F32, F32, F32, F32, num_add_f32(a, -b, ROUND))
SLOW_OP(slow_mul_f, F32, F32, F32, F32, num_mul_f32(a, b, ROUND))
SLOW_OP(slow_mul_z, F32, F32, F32, F32, num_mul_ftz_f32(a, b, ROUND))
SLOW_OP(slow_fma_f, F32, F32, F32, F32, num_fma_f32(a, b, c, ROUND))
SLOW_OP(slow_fma_z, F32, F32, F32, F32, num_fma_ftz_f32(a, b, c, ROUND))
SLOW_OP(slow_div_f, F32, F32, F32, F32, num_div_f32(a, b, ROUND))
SLOW_OP(slow_div_z, F32, F32, F32, F32, num_div_ftz_f32(a, b, ROUND))
SLOW_OP(slow_rcp_f, F32, F32, F32, F32, num_div_f32(1.0f, a, ROUND))
SLOW_OP(slow_rcp_z, F32, F32, F32, F32, num_div_ftz_f32(1.0f, a, ROUND))
SLOW_OP(slow_sqrt_f, F32, F32, F32, F32, num_sqrt_f32(a, ROUND))
SLOW_OP(slow_add_d, F64, F64, F64, F64, num_add_f64(a, b, ROUND))
SLOW_OP(slow_sub_d, F64, F64, F64, F64, num_sub_f64(a, b, ROUND))
SLOW_OP(slow_mul_d, F64, F64, F64, F64, num_mul_f64(a, b, ROUND))
SLOW_OP(slow_fma_d, F64, F64, F64, F64, num_fma_f64(a, b, c, ROUND))
SLOW_OP(slow_div_d, F64, F64, F64, F64, num_div_f64(a, b, ROUND))
SLOW_OP(slow_rcp_d, F64, F64, F64, F64, num_div_f64(1.0, a, ROUND))
SLOW_OP(slow_sqrt_d, F64, F64, F64, F64, num_sqrt_f64(a, ROUND))

/* --- approximations and the rest; .ftz is done around them by the decoder --- */

SLOW_OP(slow_div_full, F32, F32, F32, F32, num_div_full(a, b, false))
SLOW_OP(slow_div_approx, F32, F32, F32, F32, num_div_approx(a, b, false))
SLOW_OP(slow_div_approx_z, F32, F32, F32, F32, num_div_approx(a, b, true))
SLOW_OP(slow_div_full_z, F32, F32, F32, F32, num_div_full(a, b, true))
SLOW_OP(slow_rcp_approx, F32, F32, F32, F32, num_rcp_approx(a, false))
SLOW_OP(slow_rcp_approx_z, F32, F32, F32, F32, num_rcp_approx(a, true))
SLOW_OP(slow_sqrt_approx, F32, F32, F32, F32, num_sqrt_approx(a, false))
SLOW_OP(slow_sqrt_approx_z, F32, F32, F32, F32, num_sqrt_approx(a, true))
SLOW_OP(slow_rsqrt_approx, F32, F32, F32, F32, num_rsqrt_approx(a, false))
SLOW_OP(slow_rsqrt_approx_z, F32, F32, F32, F32, num_rsqrt_approx(a, true))
SLOW_OP(slow_sin, F32, F32, F32, F32, num_sin_approx(a, false))
SLOW_OP(slow_sin_z, F32, F32, F32, F32, num_sin_approx(a, true))
SLOW_OP(slow_cos, F32, F32, F32, F32, num_cos_approx(a, false))
SLOW_OP(slow_cos_z, F32, F32, F32, F32, num_cos_approx(a, true))
SLOW_OP(slow_ex2, F32, F32, F32, F32, num_ex2_approx(a, false))
SLOW_OP(slow_ex2_z, F32, F32, F32, F32, num_ex2_approx(a, true))
SLOW_OP(slow_lg2, F32, F32, F32, F32, num_lg2_approx(a, false))
SLOW_OP(slow_lg2_z, F32, F32, F32, F32, num_lg2_approx(a, true))
SLOW_OP(slow_tanh, F32, F32, F32, F32, num_tanh_approx(a))
SLOW_OP(slow_rcp_approx_d, F64, F64, F64, F64, num_rcp_approx_f64(a))
SLOW_OP(slow_rsqrt_approx_ftz_d, F64, F64, F64, F64, num_rsqrt_approx_f64(a))
SLOW_OP(slow_rsqrt_d, F64, F64, F64, F64, num_rsqrt_f64(a))
SLOW_OP(slow_min_nan, F32, F32, F32, F32, num_min_f32(a, b, true))
SLOW_OP(slow_max_nan, F32, F32, F32, F32, num_max_f32(a, b, true))
SLOW_OP(slow_min_d, F64, F64, F64, F64, num_min_f64(a, b))
SLOW_OP(slow_max_d, F64, F64, F64, F64, num_max_f64(a, b))
SLOW_OP(slow_copysign_f, U32, U32, U32, U32, (a & 0x80000000u) | (b & 0x7fffffffu))
SLOW_OP(slow_copysign_d, U64, U64, U64, U64, (a & 1ull << 63) | (b & ~(1ull << 63)))

/* xorsign.abs: the smaller or larger of |a| and |b|, with the exclusive or of their signs. */
static float xorsign(float a, float b, bool is_max, bool nan) {
    uint32_t x = num_f32_bits(a), y = num_f32_bits(b);
    float u = num_f32_from_bits(x & 0x7fffffffu), v = num_f32_from_bits(y & 0x7fffffffu);
    float r = is_max ? num_max_f32(u, v, nan) : num_min_f32(u, v, nan);
    if (r != r) return r;
    return num_f32_from_bits(num_f32_bits(r) | ((x ^ y) & 0x80000000u));
}

SLOW_OP(slow_min_xorsign, F32, F32, F32, F32, xorsign(a, b, false, false))
SLOW_OP(slow_max_xorsign, F32, F32, F32, F32, xorsign(a, b, true, false))
SLOW_OP(slow_min_nan_xorsign, F32, F32, F32, F32, xorsign(a, b, false, true))
SLOW_OP(slow_max_nan_xorsign, F32, F32, F32, F32, xorsign(a, b, true, true))

SLOW_OP(slow_abs_d, F64, F64, F64, F64, num_abs_f64(a))

/* neg x is -0 - x: the sign, except for a NaN. */
static bool decode_sign(Decoder *d) {
    const PtxInstr *in = d->in;
    bool wide = mod_is(d, LAST, "f64"), ftz = has_mod(d, "ftz");
    uint32_t to, at;
    char t = wide ? 'd' : 'f';
    if (in->n_args != 2) return decode_unknown(d);
    if (!source(d, &in->args[1], t, 0, &at) || !dest(d, &in->args[0], t, &to)) return false;
    if (in->opcode[0] == 'a' && wide) {
        emit_row(d, ROW_ABS_D, slow_abs_d, to, at, at, at, 0);
        return true;
    } else if (in->opcode[0] == 'a') {
        emit(d, OP_AND32, 0, to, at, pool_row(d, POOL_B32, 0x7fffffff), 0);
        if (ftz) emit(d, OP_FTZ_F, 0, to, to, to, 0);
        emit(d, OP_MIN_F, 0, to, to, to, 0); /* makes a NaN the canonical one */
        return true;
    }
    uint32_t zero = pool_row(d, wide ? POOL_B64 : POOL_B32, wide ? 1ull << 63 : 1u << 31);
    emit(d, wide ? OP_SUB_D : ftz ? OP_SUB_FZ : OP_SUB_F, 0, to, zero, at, at);
    return true;
}

/* --- testp --- */

static bool test_class(const char *what, bool sub, bool inf, bool nan) {
    if (strcmp(what, "finite") == 0) return !inf && !nan;
    if (strcmp(what, "infinite") == 0) return inf;
    if (strcmp(what, "number") == 0) return !nan;
    if (strcmp(what, "notanumber") == 0) return nan;
    if (strcmp(what, "normal") == 0) return !sub && !inf && !nan; /* zero too, as an H200 does */
    return sub;                                                   /* subnormal */
}

static const char *const testp_names[] = {"finite",     "infinite", "number",
                                          "notanumber", "normal",   "subnormal"};

static bool slow_testp(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    const char *what = testp_names[in->imm & 7];
    bool wide = in->imm & 8;
    uint32_t mask = 0;
    FOR_ACTIVE(w, i) {
        uint64_t x = wide ? LANE(U64, w, in->a, i) : LANE(U32, w, in->a, i);
        uint64_t exponent = wide ? x >> 52 & 0x7ff : x >> 23 & 0xff;
        uint64_t fraction = wide ? x << 12 : x << 41;
        bool top = exponent == (wide ? 0x7ffu : 0xffu);
        bool is = test_class(what, !exponent && fraction, top && !fraction, top && fraction);
        mask |= (uint32_t)is << i;
    }
    pred_set(w, in->d, mask, w->active);
    return true;
}

static bool decode_testp(Decoder *d) {
    const PtxInstr *in = d->in;
    bool wide = mod_is(d, LAST, "f64");
    uint32_t to, at;
    uint64_t kind = 0;
    if (in->n_mods != 2 || in->n_args != 2 || (!wide && !mod_is(d, LAST, "f32")))
        return decode_unknown(d);
    while (kind < 6 && strcmp(testp_names[kind], in->mods[0]) != 0) kind++;
    if (kind == 6) return decode_unknown(d);
    if (!source(d, &in->args[1], wide ? 'd' : 'f', 0, &at) || !dest(d, &in->args[0], 'p', &to))
        return false;
    emit_slow(d, slow_testp, to, at, at, at, kind | (uint64_t)wide << 3);
    return true;
}

/* --- half precision --- */

static float half_value(uint16_t h, uint64_t how) {
    return how & HALF_BRAIN ? num_bf16_to_f32(h) : num_f16_to_f32(h);
}

/* Ins.imm of slow_worst. */
enum { WORST_FTZ = 256, WORST_AWAY = 512 };

static bool slow_worst(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    FOR_ACTIVE(w, i)
    LANE(F32, w, in->d, i) =
        num_worst((NumApprox)(in->imm & 255), LANE(F32, w, in->a, i), LANE(F32, w, in->b, i),
                  in->imm & WORST_FTZ, in->imm & WORST_AWAY);
    return true;
}

/* In turn: by the number of the instruction, that x - y of two such be off by both. */
static bool is_away(const Decoder *d) {
    int way = (int)d->emu->model.approximation;
    return way == EMU_APPROXIMATE_AWAY || (way == EMU_APPROXIMATE_IN_TURN && d->index % 2);
}

static bool is_worst(const Decoder *d) {
    return d->emu->model.approximation != EMU_APPROXIMATE_NEAREST;
}

/* in->imm: WORST_AWAY, and how the value is had without an error. */
enum { WORST_RCP_D, WORST_RSQRT_FTZ_D, WORST_RSQRT_D };

static bool slow_worst_d(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    unsigned f = in->imm & 255;
    FOR_ACTIVE(w, i) {
        double a = LANE(F64, w, in->a, i);
        double near = f == WORST_RCP_D         ? num_rcp_approx_f64(a)
                      : f == WORST_RSQRT_FTZ_D ? num_rsqrt_approx_f64(a)
                                               : num_rsqrt_f64(a);
        LANE(F64, w, in->d, i) = num_worst_f64(near, f == WORST_RSQRT_D, in->imm & WORST_AWAY);
    }
    return true;
}

static bool worst_emit_d(Decoder *d, SlowFn slow, const uint32_t at[4]) {
    static const SlowFn of[] = {slow_rcp_approx_d, slow_rsqrt_approx_ftz_d, slow_rsqrt_d};
    for (unsigned f = 0; f < sizeof of / sizeof *of; f++)
        if (of[f] == slow)
            return emit_slow(d, slow_worst_d, at[0], at[1], at[1], 0,
                             f | (is_away(d) ? WORST_AWAY : 0)) != NULL;
    return false;
}

bool worst_emit(Decoder *d, const Form *form, const uint32_t at[4]) {
    EmuRow row = form->row;
    bool ftz = row >= ROW_RCP_Z && row <= ROW_DIV_FULL_Z;
    if (!is_worst(d)) return false;
    if (row < ROW_RCP || row > ROW_TANH) return worst_emit_d(d, form->slow, at);
    int f = row == ROW_TANH ? NUM_TANH : (int)row - (int)(ftz ? ROW_RCP_Z : ROW_RCP);
    emit_slow(d, slow_worst, at[0], at[1], at[2] ? at[2] : at[1], 0,
              (uint64_t)f | (ftz ? WORST_FTZ : 0) | (is_away(d) ? WORST_AWAY : 0));
    return true;
}

static uint16_t half_of(float x, uint64_t how) {
    return how & HALF_BRAIN ? num_f32_to_bf16(x, NUM_RN) : num_f32_to_f16(x, NUM_RN);
}

/* neg and abs of a NaN are the canonical one. */
static uint16_t half_sign(char op, uint16_t h, uint64_t how) {
    if ((h & 0x7fff) > (how & HALF_BRAIN ? 0x7f80 : 0x7c00)) return 0x7fff;
    return op == 'n' ? h ^ 0x8000 : h & 0x7fff;
}

static uint16_t half_flush(uint16_t h, uint64_t how) {
    bool subnormal = (h & (how & HALF_BRAIN ? 0x7f80 : 0x7c00)) == 0;
    return how & HALF_FTZ && subnormal ? h & 0x8000 : h;
}

/* The NaN that stands for an element outside a tensor, in f16 and bf16. The ISA leaves its bits
** open; an H200 takes these, of both signs. */
static bool is_outside(uint16_t h) {
    return (h & 0x7fff) == 0x7ff7;
}

/* op: '+' '-' '*' 'f' (fma) 'm' min 'M' max 'n' neg 'a' abs 'e' ex2 't' tanh */
static uint16_t half_op(char op, uint16_t a, uint16_t b, uint16_t c, uint64_t how) {
    bool nan = how & HALF_NAN;
    float x;
    switch (op) {
    case '+':
    case '-':
    case '*':
    case 'f':
        if (how & HALF_OOB && (is_outside(a) || is_outside(b))) return 0;
        if (how & HALF_BRAIN) return num_bf16_op(op, a, b, c, how & HALF_RELU);
        return num_f16_op(op, a, b, c, how & HALF_SAT, how & HALF_RELU, how & HALF_FTZ);
    case 'n':
    case 'a': return half_flush(half_sign(op, a, how), how);
    default: break;
    }
    a = half_flush(a, how), b = half_flush(b, how);
    if (how & HALF_XORSIGN) { /* by the signs that the operands have, NaNs too */
        uint16_t size = half_op(op, a & 0x7fff, b & 0x7fff, c, how & ~(uint64_t)HALF_XORSIGN);
        return size == 0x7fff ? size : size | ((a ^ b) & 0x8000);
    }
    if (how & HALF_WORST)
        return half_flush(num_worst_half(op == 'e' ? NUM_EX2 : NUM_TANH, a, how & HALF_BRAIN,
                                         how & HALF_AWAY),
                          how);
    switch (op) {
    case 'm': x = num_min_f32(half_value(a, how), half_value(b, how), nan); break;
    case 'M': x = num_max_f32(half_value(a, how), half_value(b, how), nan); break;
    case 'e': x = num_ex2_approx(half_value(a, how), false); break;
    default: x = num_tanh_approx(half_value(a, how)); break;
    }
    return half_flush(half_of(x, how), how);
}

static bool slow_half(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    char op = (char)(in->imm >> 8);
    FOR_ACTIVE(w, i) {
        uint32_t a = LANE(U32, w, in->a, i), b = LANE(U32, w, in->b, i), c = LANE(U32, w, in->c, i);
        uint32_t r = half_op(op, (uint16_t)a, (uint16_t)b, (uint16_t)c, in->imm);
        if (in->imm & HALF_TWO)
            r |= (uint32_t)half_op(op, (uint16_t)(a >> 16), (uint16_t)(b >> 16),
                                   (uint16_t)(c >> 16), in->imm)
                 << 16;
        LANE(U32, w, in->d, i) = r;
    }
    return true;
}

typedef struct HalfOp {
    const char *name;
    char op;
    EmuRow row, brain_row;
} HalfOp;

static const HalfOp *find_half(const char *opcode) {
    static const HalfOp ops[] = {
        {"add", '+', ROW_ADD_H, ROW_ADD_B},   {"sub", '-', ROW_SUB_H, ROW_SUB_B},
        {"mul", '*', ROW_MUL_H, ROW_MUL_B},   {"fma", 'f', ROW_FMA_H, ROW_FMA_B},
        {"min", 'm', ROW_MIN_H, ROW_MIN_B},   {"max", 'M', ROW_MAX_H, ROW_MAX_B},
        {"neg", 'n', ROW_SIGN, ROW_SIGN}, {"abs", 'a', ROW_SIGN, ROW_SIGN},
        {"ex2", 'e', ROW_NONE, ROW_NONE},     {"tanh", 't', ROW_NONE, ROW_NONE}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i].name, opcode) == 0) return &ops[i];
    return NULL;
}

static bool decode_half(Decoder *d) {
    const PtxInstr *in = d->in;
    const char *type = mod_at(d, LAST);
    const HalfOp *half = find_half(in->opcode);
    char op = half ? half->op : 0;
    bool brain = type[0] == 'b', two = strstr(type, "x2") != NULL;
    uint64_t how = (brain ? HALF_BRAIN : 0) | (two ? HALF_TWO : 0) |
                   (has_mod(d, "sat") ? HALF_SAT : 0) | (has_mod(d, "relu") ? HALF_RELU : 0) |
                   (has_mod(d, "ftz") ? HALF_FTZ : 0) | (has_mod(d, "NaN") ? HALF_NAN : 0) |
                   (has_mod(d, "xorsign") ? HALF_XORSIGN : 0) |
                   (has_mod(d, "oob") ? HALF_OOB : 0) | (uint64_t)op << 8;
    if (is_worst(d) && (op == 'e' || op == 't')) how |= HALF_WORST | (is_away(d) ? HALF_AWAY : 0);
    int n = op == 'f' ? 3 : strchr("+-*mM", op) ? 2 : 1;
    uint32_t to, at[3] = {0};
    char t = two ? 'w' : 'h';
    if (in->n_args != n + 1 || op == 0 || (brain && how & (HALF_SAT | HALF_FTZ) && op != 'e'))
        return decode_unknown(d);
    for (int k = 0; k < n; k++)
        if (!source(d, &in->args[1 + k], t, k, &at[k])) return false;
    if (!dest(d, &in->args[0], t, &to)) return false;
    EmuRow row = how & (HALF_XORSIGN | HALF_OOB) ? ROW_NONE : brain ? half->brain_row : half->row;
    emit_row(d, row, slow_half, to, at[0], at[1], at[2], how);
    return true;
}

#define HALF "f16|f16x2|bf16|bf16x2"
#define HALF_FORM(opcode, mods, cost) CUSTOM_OF(opcode, mods " " HALF, decode_half, cost)

const Form forms_float[] = {
    FAST("add", "?rn f32", "fff", ADD_F, FP32),
    FAST("add", "?rn ftz f32", "fff", ADD_FZ, FP32),
    FAST("add", "?rn ?ftz ?sat f32", "fff", ADD_F, FP32),
    QUICK("add", "R ?ftz ?sat f32", "fff", ADD_SIDE, slow_add_f, FP32),
    FAST("add", "?rn f64", "ddd", ADD_D, FP64),
    SLOW("add", "R f64", "ddd", slow_add_d, FP64),
    HALF_FORM("add", "?rn ?ftz ?sat", FP16),
    FAST("sub", "?rn f32", "fff", SUB_F, FP32),
    FAST("sub", "?rn ftz f32", "fff", SUB_FZ, FP32),
    FAST("sub", "?rn ?ftz ?sat f32", "fff", SUB_F, FP32),
    QUICK("sub", "R ?ftz ?sat f32", "fff", SUB_SIDE, slow_sub_f, FP32),
    FAST("sub", "?rn f64", "ddd", SUB_D, FP64),
    SLOW("sub", "R f64", "ddd", slow_sub_d, FP64),
    HALF_FORM("sub", "?rn ?ftz ?sat", FP16),
    FAST("mul", "?rn f32", "fff", MUL_F, FP32),
    FAST("mul", "?rn ftz f32", "fff", MUL_FZ, FP32),
    SLOW("mul", "?rn ftz ?sat f32", "fff", slow_mul_z, FP32),
    FAST("mul", "?rn ?sat f32", "fff", MUL_F, FP32),
    SLOW("mul", "R ftz ?sat f32", "fff", slow_mul_z, FP32),
    QUICK("mul", "R ?sat f32", "fff", MUL_SIDE, slow_mul_f, FP32),
    FAST("mul", "?rn f64", "ddd", MUL_D, FP64),
    SLOW("mul", "R f64", "ddd", slow_mul_d, FP64),
    HALF_FORM("mul", "?rn ?ftz ?sat", FP16),
    FAST("fma", "rn f32", "ffff", FMA_F, FP32),
    FAST("fma", "rn ftz f32", "ffff", FMA_FZ, FP32),
    SLOW("fma", "rn ftz ?sat f32", "ffff", slow_fma_z, FP32),
    FAST("fma", "rn ?sat f32", "ffff", FMA_F, FP32),
    SLOW("fma", "R ftz ?sat f32", "ffff", slow_fma_z, FP32),
    QUICK("fma", "R ?sat f32", "ffff", FMA_SIDE, slow_fma_f, FP32),
    FAST("fma", "rn f64", "dddd", FMA_D, FP64),
    SLOW("fma", "R f64", "dddd", slow_fma_d, FP64),
    HALF_FORM("fma", "rn ?ftz ?sat ?relu", FP16),
    HALF_FORM("fma", "rn oob ?sat ?relu", FP16),
    FAST("mad", "rn f32", "ffff", FMA_F, FP32),
    FAST("mad", "rn ftz f32", "ffff", FMA_FZ, FP32),
    SLOW("mad", "rn ftz ?sat f32", "ffff", slow_fma_z, FP32),
    FAST("mad", "rn ?sat f32", "ffff", FMA_F, FP32),
    SLOW("mad", "R ftz ?sat f32", "ffff", slow_fma_z, FP32),
    SLOW("mad", "R ?sat f32", "ffff", slow_fma_f, FP32),
    FAST("mad", "rn f64", "dddd", FMA_D, FP64),
    SLOW("mad", "R f64", "dddd", slow_fma_d, FP64),

    FAST("div", "rn f32", "fff", DIV_F, FDIV),
    SLOW("div", "R f32", "fff", slow_div_f, FDIV),
    SLOW("div", "R ftz f32", "fff", slow_div_z, FDIV),
    QUICK("div", "approx f32", "fff", DIV, slow_div_approx, FDIV_FAST),
    QUICK("div", "approx ftz f32", "fff", DIV_Z, slow_div_approx_z, FDIV_FAST),
    QUICK("div", "full f32", "fff", DIV_FULL, slow_div_full, FDIV_FAST),
    QUICK("div", "full ftz f32", "fff", DIV_FULL_Z, slow_div_full_z, FDIV_FAST),
    FAST("div", "rn f64", "ddd", DIV_D, DDIV),
    SLOW("div", "R f64", "ddd", slow_div_d, DDIV),
    SLOW("rcp", "R f32", "ff", slow_rcp_f, FRCP),
    SLOW("rcp", "R ftz f32", "ff", slow_rcp_z, FRCP),
    QUICK("rcp", "approx f32", "ff", RCP, slow_rcp_approx, SPECIAL2),
    QUICK("rcp", "approx ftz f32", "ff", RCP_Z, slow_rcp_approx_z, SPECIAL),
    SLOW("rcp", "R f64", "dd", slow_rcp_d, DRCP),
    SLOW("rcp", "approx ftz f64", "dd", slow_rcp_approx_d, SPECIAL),
    FAST("sqrt", "rn ?ftz f32", "ff", SQRT_F, FSQRT),
    SLOW("sqrt", "R ?ftz f32", "ff", slow_sqrt_f, FSQRT),
    QUICK("sqrt", "approx f32", "ff", SQRT, slow_sqrt_approx, SPECIAL2),
    QUICK("sqrt", "approx ftz f32", "ff", SQRT_Z, slow_sqrt_approx_z, SPECIAL),
    FAST("sqrt", "rn f64", "dd", SQRT_D, DSQRT),
    SLOW("sqrt", "R f64", "dd", slow_sqrt_d, DSQRT),
    QUICK("rsqrt", "approx f32", "ff", RSQRT, slow_rsqrt_approx, SPECIAL2),
    QUICK("rsqrt", "approx ftz f32", "ff", RSQRT_Z, slow_rsqrt_approx_z, SPECIAL),
    SLOW("rsqrt", "approx f64", "dd", slow_rsqrt_d, DRCP),
    SLOW("rsqrt", "approx ftz f64", "dd", slow_rsqrt_approx_ftz_d, SPECIAL),
    QUICK("sin", "approx f32", "ff", SIN, slow_sin, SPECIAL2),
    QUICK("sin", "approx ftz f32", "ff", SIN_Z, slow_sin_z, SPECIAL2),
    QUICK("cos", "approx f32", "ff", COS, slow_cos, SPECIAL2),
    QUICK("cos", "approx ftz f32", "ff", COS_Z, slow_cos_z, SPECIAL2),
    QUICK("ex2", "approx f32", "ff", EX2, slow_ex2, SPECIAL2),
    QUICK("ex2", "approx ftz f32", "ff", EX2_Z, slow_ex2_z, SPECIAL),
    HALF_FORM("ex2", "approx ?ftz", SPECIAL),
    QUICK("lg2", "approx f32", "ff", LG2, slow_lg2, SPECIAL2),
    QUICK("lg2", "approx ftz f32", "ff", LG2_Z, slow_lg2_z, SPECIAL),
    QUICK("tanh", "approx f32", "ff", TANH, slow_tanh, SPECIAL),
    HALF_FORM("tanh", "approx", SPECIAL),

    FAST("min", "?ftz f32", "fff", MIN_F, ALU),
    SLOW("min", "?ftz NaN f32", "fff", slow_min_nan, ALU),
    SLOW("min", "?ftz xorsign abs f32", "fff", slow_min_xorsign, ALU),
    SLOW("min", "?ftz NaN xorsign abs f32", "fff", slow_min_nan_xorsign, ALU),
    QUICK("min", "f64", "ddd", MIN_D, slow_min_d, FP64),
    HALF_FORM("min", "?ftz ?NaN", FP16),
    HALF_FORM("min", "?ftz ?NaN xorsign abs", FP16),
    FAST("max", "?ftz f32", "fff", MAX_F, ALU),
    SLOW("max", "?ftz NaN f32", "fff", slow_max_nan, ALU),
    SLOW("max", "?ftz xorsign abs f32", "fff", slow_max_xorsign, ALU),
    SLOW("max", "?ftz NaN xorsign abs f32", "fff", slow_max_nan_xorsign, ALU),
    QUICK("max", "f64", "ddd", MAX_D, slow_max_d, FP64),
    HALF_FORM("max", "?ftz ?NaN", FP16),
    HALF_FORM("max", "?ftz ?NaN xorsign abs", FP16),
    CUSTOM_OF("abs", "?ftz f32|f64", decode_sign, ALU),
    HALF_FORM("abs", "?ftz", FP16),
    CUSTOM_OF("neg", "?ftz f32|f64", decode_sign, ALU),
    HALF_FORM("neg", "?ftz", FP16),
    SLOW("copysign", "f32", "fff", slow_copysign_f, ALU),
    SLOW("copysign", "f64", "ddd", slow_copysign_d, ALU64),
    CUSTOM("testp", decode_testp, ALU),
    FORMS_END};
