/* forms_convert.c - comparisons, selections and conversions between types. */
#include "emu/decode/decode.h"
#include "emu/exec/lanes.h"
#include "emu/exec/num.h"

#include <string.h>

/* --- comparisons --- */

typedef struct Compare { /* a comparison as a primitive one, of exchanged operands, complemented */
    const char *name;
    char op; /* '=' '<' 'l' (<=) '!' (ordered and unequal) 'n' (both numbers) */
    bool swap, negate;
} Compare;

static const Compare int_compares[] = {
    {"eq", '=', false, false}, {"ne", '=', false, true}, {"lt", '<', false, false},
    {"ge", '<', false, true},  {"gt", '<', true, false}, {"le", '<', true, true},
    {"lo", '<', false, false}, {"hs", '<', false, true}, {"hi", '<', true, false},
    {"ls", '<', true, true},   {NULL, 0, false, false}};

static const Compare float_compares[] = {
    {"eq", '=', false, false},  {"ne", '!', false, false}, {"lt", '<', false, false},
    {"le", 'l', false, false},  {"gt", '<', true, false},  {"ge", 'l', true, false},
    {"equ", '!', false, true},  {"neu", '=', false, true}, {"ltu", 'l', true, true},
    {"leu", '<', true, true},   {"gtu", 'l', false, true}, {"geu", '<', false, true},
    {"num", 'n', false, false}, {"nan", 'n', false, true}, {NULL, 0, false, false}};

static bool is_float(PtxType t) {
    return t >= PTX_F16 && t <= PTX_F64;
}

static bool is_signed(PtxType t) {
    return t >= PTX_S8 && t <= PTX_S64;
}

static char letter_of(PtxType t) {
    switch (t) {
    case PTX_B16:
    case PTX_U16:
    case PTX_F16:
    case PTX_BF16: return 'h';
    case PTX_S16: return 'i';
    case PTX_B64:
    case PTX_U64:
    case PTX_S64: return 'q';
    case PTX_F32: return 'f';
    case PTX_F64: return 'd';
    case PTX_B32:
    case PTX_U32:
    case PTX_S32: return 'w';
    default: return 0;
    }
}

SLOW_OP(slow_f16_to_f32, F32, U32, U32, U32, num_f16_to_f32((uint16_t)a))

void emit_half_to_f32(Decoder *d, PtxType half, uint32_t to, uint32_t from) {
    if (half == PTX_F16) emit_row(d, ROW_CVT_F_H, slow_f16_to_f32, to, from, from, from, 0);
    else emit(d, OP_SHL32, 0, to, from, pool_row(d, POOL_B32, 16), 0);
}

static EmuOp compare_op(char op, PtxType t) {
    if (t == PTX_F64)
        return op == '='   ? OP_EQ_D
               : op == '!' ? OP_NE_D
               : op == '<' ? OP_LT_D
               : op == 'l' ? OP_LE_D
                           : OP_NUM_D;
    if (is_float(t))
        return op == '='   ? OP_EQ_F
               : op == '!' ? OP_NE_F
               : op == '<' ? OP_LT_F
               : op == 'l' ? OP_LE_F
                           : OP_NUM_F;
    bool wide = ptx_type_size(t) == 8;
    if (op == '=') return wide ? OP_EQ64 : OP_EQ32;
    if (is_signed(t)) return wide ? OP_LT64_S : OP_LT32_S;
    return wide ? OP_LT64_U : OP_LT32_U;
}

static const Compare *find_compare(const char *name, PtxType t) {
    const Compare *c = is_float(t) ? float_compares : int_compares;
    for (; c->name; c++)
        if (strcmp(c->name, name) == 0) break;
    if (c->name == NULL) return NULL;
    bool bits = t >= PTX_B8 && t <= PTX_B64, equality = c->op == '=' && !is_float(t);
    bool is_unsigned_name = c >= int_compares + 6 && c <= int_compares + 9;
    if (bits && !equality) return NULL;
    return is_unsigned_name && is_signed(t) ? NULL : c;
}

SLOW_OP(slow_flush_f16, U32, U32, U32, U32, (a & 0x7c00) ? a : a & 0x8000)

/* Compares args[1] and args[2] into a predicate row. */
static bool compare(Decoder *d, const char *name, PtxType t, bool ftz, uint32_t to) {
    const PtxInstr *in = d->in;
    const Compare *c = find_compare(name, t);
    uint32_t at[2];
    char letter = letter_of(t);
    bool may_flush = t == PTX_F32 || t == PTX_F16;
    if (c == NULL || letter == 0 || (ftz && !may_flush)) return decode_unknown(d);
    for (int k = 0; k < 2; k++) {
        if (!source(d, &in->args[1 + k], letter, k, &at[k])) return false;
        if (ftz && t == PTX_F16) {
            emit_slow(d, slow_flush_f16, d->tmp32[k], at[k], at[k], at[k], 0);
            at[k] = d->tmp32[k];
        }
        if (t == PTX_F16 || t == PTX_BF16) {
            emit_half_to_f32(d, t, d->tmp32[k], at[k]);
            at[k] = d->tmp32[k];
        } else if (ftz) {
            emit(d, OP_FTZ_F, 0, d->tmp32[k], at[k], at[k], 0);
            at[k] = d->tmp32[k];
        }
    }
    emit(d, compare_op(c->op, t), c->negate, to, at[c->swap], at[!c->swap], 0);
    if (t == PTX_F64) d->cost[d->index] = COST_FP64;
    else if (ptx_type_size(t) == 8) d->cost[d->index] = COST_ALU64;
    return true;
}

/* The modifiers of setp and set: CMP{.BOOL}{.ftz}{.DTYPE}.TYPE */
typedef struct Setp {
    const char *compare;
    EmuOp combine; /* OP_MOV_P: none */
    bool ftz;
    PtxType to, type;
} Setp;

static bool setp_mods(Decoder *d, Setp *s, bool has_to) {
    int k = 0;
    *s = (Setp){mod_at(d, k++), OP_MOV_P, false, PTX_PRED, PTX_NONE};
    const char *mod = mod_at(d, k);
    if (strcmp(mod, "and") == 0) s->combine = OP_AND_P, k++;
    else if (strcmp(mod, "or") == 0) s->combine = OP_OR_P, k++;
    else if (strcmp(mod, "xor") == 0) s->combine = OP_XOR_P, k++;
    if (mod_is(d, k, "ftz")) s->ftz = true, k++;
    if (has_to && !ptx_type_parse(mod_at(d, k++), &s->to)) return decode_unknown(d);
    if (k != d->in->n_mods - 1 || !ptx_type_parse(mod_at(d, k), &s->type)) return decode_unknown(d);
    return true;
}

/* Comparisons of packed halves. imm: Compare's op, swap, negate, bf16, ftz. */
static bool half_holds(char op, float a, float b) {
    switch (op) {
    case '=': return a == b;
    case '!': return a < b || a > b;
    case '<': return a < b;
    case 'l': return a <= b;
    default: return a == a && b == b;
    }
}

static float half_operand(uint32_t bits, bool brain, bool ftz) {
    uint16_t h = (uint16_t)bits;
    if (ftz && (h & 0x7c00) == 0) h &= 0x8000;
    return brain ? num_bf16_to_f32(h) : num_f16_to_f32(h);
}

/* setp of packed halves: p from the low, q from the high ones. */
static bool slow_setp_halves(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    bool swap = in->imm >> 8 & 1, negate = in->imm >> 9 & 1, brain = in->imm >> 10 & 1;
    bool ftz = in->imm >> 11 & 1;
    uint32_t mask[2] = {0, 0};
    FOR_ACTIVE(w, i) {
        uint32_t x = LANE(U32, w, in->a, i), y = LANE(U32, w, in->b, i);
        for (int k = 0; k < 2; k++) {
            float a = half_operand(x >> 16 * k, brain, ftz),
                  b = half_operand(y >> 16 * k, brain, ftz);
            bool holds = swap ? half_holds((char)in->imm, b, a) : half_holds((char)in->imm, a, b);
            mask[k] |= (uint32_t)(holds != negate) << i;
        }
    }
    pred_set(w, in->d, mask[0], w->active);
    pred_set(w, in->c, mask[1], w->active);
    return true;
}

/* What slow_setp_halves needs to know, and the sources. */
static bool half_sources(Decoder *d, const Setp *s, uint32_t *a, uint32_t *b, uint64_t *imm) {
    const Compare *c = find_compare(s->compare, s->type);
    bool brain = s->type == PTX_BF16X2;
    if (c == NULL || (brain && s->ftz)) return decode_unknown(d);
    *imm = (uint64_t)(uint8_t)c->op | (uint64_t)c->swap << 8 | (uint64_t)c->negate << 9 |
           (uint64_t)brain << 10 | (uint64_t)s->ftz << 11;
    return source(d, &d->in->args[1], 'w', 0, a) && source(d, &d->in->args[2], 'w', 1, b);
}

/* p = low op c, q = high op c. */
static bool decode_setp_halves(Decoder *d, const Setp *s) {
    const PtxInstr *in = d->in;
    bool combines = s->combine != OP_MOV_P;
    uint32_t a, b, p, q, c = 0;
    uint64_t imm;
    if (in->n_args != 3 + combines || in->args[0].kind != PTX_OP_PAIR) return decode_unknown(d);
    if (!half_sources(d, s, &a, &b, &imm)) return false;
    if (combines && !source(d, &in->args[3], 'p', 0, &c)) return false;
    if (!dest(d, &in->args[0].elems[0], 'p', &p) || !dest(d, &in->args[0].elems[1], 'p', &q))
        return false;
    emit_slow(d, slow_setp_halves, d->tmp_p[2], a, b, d->tmp_p[3], imm);
    if (combines) {
        emit(d, s->combine, 0, d->tmp_p[2], d->tmp_p[2], c, 0);
        emit(d, s->combine, 0, d->tmp_p[3], d->tmp_p[3], c, 0);
    }
    emit(d, OP_MOV_P, 0, p, d->tmp_p[2], d->tmp_p[2], 0);
    emit(d, OP_MOV_P, 0, q, d->tmp_p[3], d->tmp_p[3], 0);
    return true;
}

/* What is true of a type: 1.0, or all ones. */
static uint32_t truth(PtxType t) {
    switch (t) {
    case PTX_F32: return 0x3f800000u;
    case PTX_F16:
    case PTX_F16X2: return 0x3c00u;
    case PTX_BF16:
    case PTX_BF16X2: return 0x3f80u;
    case PTX_U16:
    case PTX_S16: return 0xffffu;
    default: return FULL_MASK;
    }
}

/* Each half of the result says what is true of that half. */
static bool decode_set_halves(Decoder *d, const Setp *s) {
    const PtxInstr *in = d->in;
    bool combines = s->combine != OP_MOV_P;
    bool fits = s->to == s->type || s->to == PTX_U32 || s->to == PTX_S32;
    uint32_t to, a, b, c = 0, yes = truth(s->to) & 0xffff;
    uint64_t imm;
    if (!fits || in->n_args != 3 + combines) return decode_unknown(d);
    if (!half_sources(d, s, &a, &b, &imm) || !dest(d, &in->args[0], 'w', &to)) return false;
    if (combines && !source(d, &in->args[3], 'p', 0, &c)) return false;
    emit_slow(d, slow_setp_halves, d->tmp_p[2], a, b, d->tmp_p[3], imm);
    for (int k = 0; k < 2; k++) {
        uint32_t p = d->tmp_p[2 + k], half = d->tmp32[k], zero = pool_row(d, POOL_B32, 0);
        if (combines) emit(d, s->combine, 0, p, p, c, 0);
        emit(d, OP_SELP32, 0, half, pool_row(d, POOL_B32, yes << 16 * k), zero, p);
    }
    emit(d, OP_OR32, 0, to, d->tmp32[0], d->tmp32[1], 0);
    return true;
}

/* t, the comparison, into p = t op c and q = !t op c. */
static bool decode_setp(Decoder *d) {
    const PtxInstr *in = d->in;
    Setp s;
    uint32_t p, q = d->trash_p, c = 0, t = d->tmp_p[3];
    if (!setp_mods(d, &s, false)) return false;
    if (s.type == PTX_F16X2 || s.type == PTX_BF16X2) return decode_setp_halves(d, &s);
    bool combines = s.combine != OP_MOV_P;
    if (in->n_args != 3 + combines) return decode_unknown(d);
    bool pair = in->args[0].kind == PTX_OP_PAIR;
    if (combines && !source(d, &in->args[3], 'p', 0, &c)) return false;
    if (!dest(d, pair ? &in->args[0].elems[0] : &in->args[0], 'p', &p)) return false;
    if (pair && !dest(d, &in->args[0].elems[1], 'p', &q)) return false;
    if (!combines && !pair) return compare(d, s.compare, s.type, s.ftz, p);
    if (!compare(d, s.compare, s.type, s.ftz, t)) return false;
    if (combines && pair) { /* p may be where c lies */
        emit(d, OP_MOV_P, 0, d->tmp_p[2], c, c, 0);
        c = d->tmp_p[2];
    }
    emit(d, s.combine, 0, p, t, c, 0);
    if (!pair) return true;
    emit(d, OP_NOT_P, 0, t, t, t, 0);
    emit(d, s.combine, 0, q, t, c, 0);
    return true;
}

static bool decode_set(Decoder *d) {
    const PtxInstr *in = d->in;
    Setp s;
    uint32_t to, c = 0, t = d->tmp_p[3];
    if (!setp_mods(d, &s, true)) return false;
    if (s.type == PTX_F16X2 || s.type == PTX_BF16X2) return decode_set_halves(d, &s);
    bool combines = s.combine != OP_MOV_P, half = s.type == PTX_F16 || s.type == PTX_BF16;
    bool narrow = s.to == PTX_F16 || s.to == PTX_BF16;
    narrow |= half && (s.to == PTX_U16 || s.to == PTX_S16);
    bool wide = s.to == PTX_F32 || s.to == PTX_U32 || s.to == PTX_S32;
    if (in->n_args != 3 + combines || (!narrow && !wide)) return decode_unknown(d);
    if (combines && !source(d, &in->args[3], 'p', 0, &c)) return false;
    if (!dest(d, &in->args[0], narrow ? 'h' : 'w', &to)) return false;
    if (!compare(d, s.compare, s.type, s.ftz, t)) return false;
    if (combines) emit(d, s.combine, 0, t, t, c, 0);
    uint32_t yes = pool_row(d, POOL_B32, truth(s.to));
    emit(d, OP_SELP32, 0, to, yes, pool_row(d, POOL_B32, 0), t);
    return true;
}

/* slct.DTYPE.CTYPE d, a, b, c: c >= 0 ? a : b */
static bool decode_slct(Decoder *d) {
    const PtxInstr *in = d->in;
    PtxType type, ctype;
    bool ftz = mod_is(d, 0, "ftz");
    if (in->n_mods != 2 + ftz || in->n_args != 4 || !ptx_type_parse(mod_at(d, ftz), &type) ||
        !ptx_type_parse(mod_at(d, LAST), &ctype) || (ctype != PTX_S32 && ctype != PTX_F32))
        return decode_unknown(d);
    char letter = letter_of(type);
    if (letter == 0 || (ftz && ctype != PTX_F32)) return decode_unknown(d);
    if (letter == 'i') letter = 'h';
    uint32_t to, a, b, c, zero = pool_row(d, POOL_B32, 0);
    if (!source(d, &in->args[1], letter, 0, &a) || !source(d, &in->args[2], letter, 1, &b) ||
        !source(d, &in->args[3], ctype == PTX_F32 ? 'f' : 'w', 2, &c) ||
        !dest(d, &in->args[0], letter, &to))
        return false;
    if (ctype == PTX_F32) emit(d, OP_LE_F, 0, d->tmp_p[3], zero, c, 0);
    else emit(d, OP_LT32_S, 1, d->tmp_p[3], c, zero, 0);
    if (ftz) { /* a flushed operand is zero of either sign: not below zero */
        emit(d, OP_FTZ_F, 0, d->tmp32[3], c, c, 0);
        emit(d, OP_LE_F, 0, d->tmp_p[3], zero, d->tmp32[3], 0);
    }
    emit(d, ptx_type_size(type) == 8 ? OP_SELP64 : OP_SELP32, 0, to, a, b, d->tmp_p[3]);
    return true;
}

/* --- conversions --- */

static uint64_t extend(uint64_t x, unsigned bits, bool sign) {
    if (bits >= 64) return x;
    unsigned shift = 64 - bits;
    return sign ? (uint64_t)((int64_t)(x << shift) >> shift) : x << shift >> shift;
}

static unsigned bits_of(PtxType t) {
    return (unsigned)ptx_type_size(t) * 8;
}

static uint64_t int_to_int(const Convert *c, uint64_t x) {
    PtxType to = (PtxType)c->to, from = (PtxType)c->from;
    unsigned bits = bits_of(to);
    if (!c->sat) return x;
    bool negative = is_signed(from) && (int64_t)x < 0;
    if (!is_signed(to)) {
        uint64_t most = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
        return negative ? 0 : x > most ? most : x;
    }
    int64_t most = (int64_t)((1ull << (bits - 1)) - 1), least = -most - 1;
    if (!is_signed(from)) return x > (uint64_t)most ? (uint64_t)most : x;
    return (int64_t)x > most ? (uint64_t)most : (int64_t)x < least ? (uint64_t)least : x;
}

static uint64_t int_to_float(const Convert *c, uint64_t x) {
    bool sign = is_signed((PtxType)c->from);
    NumRound r = (NumRound)c->round;
    switch (c->to) {
    case PTX_F64: return num_f64_bits(num_int_to_f64(x, sign, r));
    case PTX_F32: {
        float f = num_int_to_f32(x, sign, r);
        return num_f32_bits(c->sat ? f > 1 ? 1.0f : f > 0 ? f : 0.0f : f);
    }
    case PTX_F16: return num_int_to_f16(x, sign, r);
    default: return num_int_to_bf16(x, sign, r);
    }
}

/* The source as f64: exact for every type, NaN stays NaN. */
static double float_source(const Convert *c, uint64_t x) {
    switch (c->from) {
    case PTX_F16: return (double)num_f16_to_f32((uint16_t)x);
    case PTX_BF16: return (double)num_bf16_to_f32((uint16_t)x);
    case PTX_F32: {
        float f = num_f32_from_bits((uint32_t)x);
        return (double)(c->ftz ? num_ftz(f) : f);
    }
    default: return num_f64_from_bits(x);
    }
}

static uint64_t float_to_int(const Convert *c, uint64_t x) {
    PtxType to = (PtxType)c->to;
    double value = float_source(c, x);
    int bits = (int)bits_of(to);
    if (c->from == PTX_F64) return num_f64_to_int(value, bits, is_signed(to), (NumRound)c->round);
    return num_f32_to_int((float)value, bits, is_signed(to), (NumRound)c->round);
}

static double clamp_float(const Convert *c, double x) {
    if (c->sat) return x > 0 ? x < 1 ? x : 1 : 0;
    if (c->relu && x <= 0) return 0;
    return x;
}

/* What an H200 makes of a NaN, for the pairs that keep something of it. */
static bool nan_to_float(const Convert *c, uint64_t x, uint64_t *y) {
    uint16_t h = (uint16_t)x;
    if (c->sat) return false;
    if (c->to == PTX_F64 && c->from == PTX_F16) *y = num_f64_bits(num_f16_to_f64(h));
    else if (c->to == PTX_F32 && c->from == PTX_BF16) *y = num_f32_bits(num_bf16_bits_to_f32(h));
    else if (c->to == PTX_F64 && c->from == PTX_F32 && c->ftz) *y = UINT64_C(0x7fffffffe0000000);
    else return false;
    return true;
}

static uint64_t float_to_float(const Convert *c, uint64_t x) {
    NumRound r = (NumRound)c->round;
    uint64_t nan;
    if (c->to == PTX_F64 && c->from == PTX_F64 && !c->integral && !c->sat) return x;
    double value = float_source(c, x);
    if (value != value && nan_to_float(c, x, &nan)) return nan;
    if (c->integral) value = num_round_f64(value, r);
    NumRound narrow = c->integral ? NUM_RN : r;
    value = clamp_float(c, value);
    switch (c->to) {
    case PTX_F64: return num_f64_bits(value);
    case PTX_F32: {
        float f = num_f64_to_f32(value, narrow);
        if (f != f && c->from != PTX_F64) return 0x7fffffff;
        return num_f32_bits(c->ftz ? num_ftz(f) : f);
    }
    case PTX_F16:
        return value != value && c->from != PTX_F64 ? 0x7fff : num_f64_to_f16(value, narrow);
    default: return num_f64_to_bf16(value, narrow);
    }
}

/* .satfinite: what is infinite becomes the largest number of its sign; a NaN stays. */
static uint64_t finite_half(const Convert *c, uint64_t half) {
    uint16_t infinity = c->to == PTX_F16 ? 0x7c00 : 0x7f80;
    return c->satfinite && (half & 0x7fff) == infinity ? half - 1 : half;
}

static uint64_t convert(const Convert *c, uint64_t x) {
    PtxType to = (PtxType)c->to, from = (PtxType)c->from;
    x = extend(x, bits_of(from), is_signed(from));
    uint64_t y = is_float(from)
                     ? is_float(to) ? finite_half(c, float_to_float(c, x)) : float_to_int(c, x)
                 : is_float(to) ? int_to_float(c, x)
                                : int_to_int(c, x);
    y = extend(y, bits_of(to), is_signed(to));
    return c->to_bits < 64 ? extend(y, c->to_bits, false) : y;
}

static bool slow_convert(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    Convert c;
    memcpy(&c, &in->imm, sizeof c);
    FOR_ACTIVE(w, i) {
        uint64_t x = c.wide_from ? LANE(U64, w, in->a, i) : LANE(U32, w, in->a, i);
        uint64_t y = convert(&c, x);
        if (c.to_bits == 64) LANE(U64, w, in->d, i) = y;
        else LANE(U32, w, in->d, i) = (uint32_t)y;
    }
    return true;
}

/* The pairs for which exec.c has a loop; registers have the types' own width. */
static bool fast_convert(Decoder *d, const Convert *c, uint32_t to, uint32_t from) {
    static const struct {
        PtxType to, from;
        NumRound round;
        bool integral;
        EmuOp op;
    } fast[] = {{PTX_F32, PTX_S32, NUM_RN, false, OP_CVT_F_S32},
                {PTX_F32, PTX_U32, NUM_RN, false, OP_CVT_F_U32},
                {PTX_S32, PTX_F32, NUM_RZ, true, OP_CVT_S32_F},
                {PTX_S32, PTX_F32, NUM_RN, true, OP_CVT_S32_F_RN},
                {PTX_F64, PTX_S32, NUM_RN, false, OP_CVT_D_S32},
                {PTX_F64, PTX_F32, NUM_RN, false, OP_CVT_D_F},
                {PTX_F32, PTX_F32, NUM_RZ, true, OP_TRUNC_F},
                {PTX_F32, PTX_F32, NUM_RM, true, OP_FLOOR_F},
                {PTX_F32, PTX_F32, NUM_RP, true, OP_CEIL_F},
                {PTX_F32, PTX_F32, NUM_RN, true, OP_RINT_F}};
    if (c->ftz || c->relu || c->sat) return false;
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++) {
        if (fast[i].to != c->to || fast[i].from != c->from || fast[i].round != c->round ||
            fast[i].integral != c->integral)
            continue;
        emit(d, fast[i].op, 0, to, from, from, 0);
        return true;
    }
    return false;
}

/* Of many types at once: f16 or f32 to an integer that fits into a word, an integer to f16. */
static EmuRow row_of_many(const Convert *c) {
    PtxType to = (PtxType)c->to, from = (PtxType)c->from;
    bool narrow = !c->wide_from && bits_of(from) <= 32 && c->to_bits <= 32 && bits_of(to) <= 32;
    if (!narrow || c->relu || (is_float(to) && c->sat)) return ROW_NONE;
    if (to == PTX_F16 && !is_float(from) && c->round == NUM_RN) return ROW_CVT_H_INT;
    bool is_integral = (from == PTX_F16 || from == PTX_F32) && !is_float(to);
    return is_integral ? ROW_CVT_INT : ROW_NONE;
}

/* The pairs for which rows.c has a loop. */
static EmuRow row_convert(const Convert *c) {
    static const struct {
        PtxType to, from;
        bool is_cut; /* to an integer, rounded to zero */
        EmuRow row;
    } rows[] = {{PTX_F32, PTX_F16, false, ROW_CVT_F_H},   {PTX_F16, PTX_F32, false, ROW_CVT_H_F},
                {PTX_BF16, PTX_F32, false, ROW_CVT_B_F},  {PTX_F32, PTX_U16, false, ROW_CVT_F_U16},
                {PTX_F32, PTX_S16, false, ROW_CVT_F_S16}, {PTX_F32, PTX_S64, false, ROW_CVT_F_S64},
                {PTX_F32, PTX_F64, false, ROW_CVT_F_D},   {PTX_F64, PTX_U32, false, ROW_CVT_D_U32},
                {PTX_F64, PTX_S64, false, ROW_CVT_D_S64}, {PTX_F64, PTX_U64, false, ROW_CVT_D_U64},
                {PTX_U32, PTX_F32, true, ROW_CVT_U32_F},  {PTX_S64, PTX_F32, true, ROW_CVT_S64_F},
                {PTX_S32, PTX_F64, true, ROW_CVT_S32_D},  {PTX_U32, PTX_F64, true, ROW_CVT_U32_D},
                {PTX_S64, PTX_F64, true, ROW_CVT_S64_D}};
    unsigned from_bits = bits_of((PtxType)c->from), row_bits = from_bits < 32 ? 32 : from_bits;
    bool own_widths = (c->wide_from ? 64u : 32u) == row_bits &&
                      (c->to_bits == bits_of((PtxType)c->to));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (c->relu || c->sat || c->satfinite || !own_widths) break;
        bool is_cut = rows[i].is_cut;
        if (rows[i].to != c->to || rows[i].from != c->from || is_cut != (bool)c->integral ||
            c->round != (is_cut ? NUM_RZ : NUM_RN) || (c->ftz && !is_cut))
            continue;
        return rows[i].row;
    }
    return row_of_many(c);
}

/* Integers: extend the narrower of the two types, move between row widths, cut to the register. */
static void convert_ints(Decoder *d, const Convert *c, uint32_t to, uint32_t from) {
    PtxType tt = (PtxType)c->to, ft = (PtxType)c->from;
    unsigned tb = bits_of(tt), fb = bits_of(ft), bits = tb <= fb ? tb : fb;
    bool sign = tb <= fb ? is_signed(tt) : is_signed(ft), wide = c->to_bits == 64;
    if (wide && !c->wide_from) {
        uint32_t at = from;
        if (bits < 32)
            emit(d, sign ? OP_EXT32_S : OP_EXT32_U, 32 - bits, d->tmp32[0], from, from, 0),
                at = d->tmp32[0];
        emit(d, sign ? OP_WIDEN_S : OP_WIDEN_U, 0, to, at, at, at);
    } else if (wide) {
        if (bits < 64) emit(d, sign ? OP_EXT64_S : OP_EXT64_U, 64 - bits, to, from, from, 0);
        else emit(d, OP_MOV64, 0, to, from, from, from);
    } else {
        if (c->wide_from) emit(d, OP_NARROW, 0, to, from, from, from), from = to;
        if (bits < 32) emit(d, sign ? OP_EXT32_S : OP_EXT32_U, 32 - bits, to, from, from, 0);
        else if (to != from) emit(d, OP_MOV32, 0, to, from, from, from);
    }
    unsigned keep = tb < c->to_bits && !is_signed(tt) ? tb : c->to_bits;
    bool is_cut = !wide && !sign && bits <= keep;
    if (is_cut && bits < 32) return;
    if (keep < 32) emit(d, OP_EXT32_U, 32 - keep, to, to, to, 0);
    else if (keep == 32 && wide) emit(d, OP_EXT64_U, 32, to, to, to, 0);
}

/* {rounding}{.ftz}{.sat}{.relu}.to.from */
static bool convert_mods(Decoder *d, Convert *c, int n_types) {
    static const struct {
        const char *name;
        NumRound round;
        bool integral;
    } rounds[] = {{"rn", NUM_RN, false}, {"rz", NUM_RZ, false},   {"rm", NUM_RM, false},
                  {"rp", NUM_RP, false}, {"rna", NUM_RNA, false}, {"rni", NUM_RN, true},
                  {"rzi", NUM_RZ, true}, {"rmi", NUM_RM, true},   {"rpi", NUM_RP, true}};
    for (int i = 0; i < d->in->n_mods - n_types; i++) {
        const char *mod = d->in->mods[i];
        bool known = true;
        if (strcmp(mod, "ftz") == 0) c->ftz = 1;
        else if (strcmp(mod, "sat") == 0) c->sat = 1;
        else if (strcmp(mod, "relu") == 0) c->relu = 1;
        else if (strcmp(mod, "satfinite") == 0) c->satfinite = 1;
        else {
            known = false;
            for (size_t k = 0; k < sizeof rounds / sizeof *rounds && !known && !c->rounded; k++) {
                if (strcmp(rounds[k].name, mod) != 0) continue;
                c->round = (uint8_t)rounds[k].round;
                c->integral = rounds[k].integral;
                c->rounded = known = true;
            }
        }
        if (!known) return decode_unknown(d);
    }
    return true;
}

/* Does an integer type hold whatever another one does? Then nothing saturates. */
static bool holds_all(PtxType to, PtxType from) {
    if (is_float(to) || is_float(from)) return false;
    return is_signed(to) == is_signed(from) ? bits_of(to) >= bits_of(from)
                                            : is_signed(to) && bits_of(to) > bits_of(from);
}

/* Is this a conversion the ISA has? Strictness here keeps wrong answers out. */
static bool sensible(const Convert *c) {
    PtxType to = (PtxType)c->to, from = (PtxType)c->from;
    if (letter_of(to) == 0 && to != PTX_U8 && to != PTX_S8) return false;
    if (letter_of(from) == 0 && from != PTX_U8 && from != PTX_S8) return false;
    if ((to >= PTX_B8 && to <= PTX_B64) || (from >= PTX_B8 && from <= PTX_B64)) return false;
    if (c->round == NUM_RNA || (c->ftz && to != PTX_F32 && from != PTX_F32)) return false;
    if (c->sat && (to == PTX_BF16 || holds_all(to, from))) return false;
    if (c->satfinite && ((to != PTX_F16 && to != PTX_BF16) || from != PTX_F32 || c->ftz || c->sat ||
                         c->round > NUM_RZ))
        return false;
    if (!is_float(to) && !is_float(from)) return !c->rounded && !c->ftz && !c->relu;
    if (!is_float(to)) return c->rounded && c->integral && !c->relu;
    if (!is_float(from)) return c->rounded && !c->integral && !c->relu;
    bool widens = bits_of(to) > bits_of(from), same = to == from;
    if (widens) return !c->relu && !c->integral && (!c->rounded || from == PTX_BF16);
    if (same) return !c->rounded || c->integral;
    return c->rounded && !c->integral;
}

/* A conversion's source may lie in a wider register, and so may its result. */
static bool convert_operands(Decoder *d, Convert *c, uint32_t *to, uint32_t *from) {
    const PtxOperand *a = &d->in->args[1];
    int bits;
    unsigned need = bits_of((PtxType)c->from);
    if (a->kind == PTX_OP_REG) {
        if (!any_register(d, a, from, &bits)) return false;
        if (bits == 1 || (unsigned)bits < need)
            return decode_fail(d, "a source register too small");
    } else {
        bits = need == 64 ? 64 : 32;
        char letter = c->from == PTX_F64 ? 'd' : c->from == PTX_F32 ? 'f' : need == 64 ? 'q' : 'w';
        if (!source(d, a, letter, 0, from)) return false;
    }
    c->wide_from = bits == 64;
    if (!any_register(d, &d->in->args[0], to, &bits)) return false;
    c->to_bits = (uint8_t)bits;
    if (bits == 1 || (unsigned)bits < bits_of((PtxType)c->to))
        return decode_fail(d, "a destination register too small");
    if (is_float((PtxType)c->to) && (unsigned)bits != bits_of((PtxType)c->to))
        return decode_fail(d, "a destination register of another width");
    return true;
}

static uint8_t convert_cost(const Convert *c) {
    PtxType to = (PtxType)c->to, from = (PtxType)c->from;
    bool f = is_float(to) || is_float(from);
    bool wide = bits_of(to) == 64 || bits_of(from) == 64;
    if (c->to == c->from && c->sat && c->to == PTX_F32) return COST_FP32;
    return f ? wide ? COST_CONVERT64 : COST_CONVERT : COST_ALU;
}

/* cvt.rn{.relu}.f16x2.f32 d, a, b: a in the upper half. */
static bool slow_pair(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    Convert c;
    memcpy(&c, &in->imm, sizeof c);
    FOR_ACTIVE(w, i) {
        uint32_t high = (uint32_t)convert(&c, LANE(U32, w, in->a, i));
        uint32_t low = (uint32_t)convert(&c, LANE(U32, w, in->b, i));
        LANE(U32, w, in->d, i) = (high & 0xffff) << 16 | (low & 0xffff);
    }
    return true;
}

static bool decode_pair(Decoder *d, bool brain) {
    Convert c = {.to = brain ? PTX_BF16 : PTX_F16, .from = PTX_F32, .to_bits = 16};
    uint32_t to, a, b;
    uint64_t imm = 0;
    if (!mod_is(d, LAST, "f32") || d->in->n_args != 3) return decode_unknown(d);
    if (!convert_mods(d, &c, 2)) return false;
    if (!c.rounded || c.integral || c.ftz || c.sat || c.round > NUM_RZ) return decode_unknown(d);
    if (!source(d, &d->in->args[1], 'f', 0, &a) || !source(d, &d->in->args[2], 'f', 1, &b) ||
        !dest(d, &d->in->args[0], 'w', &to))
        return false;
    memcpy(&imm, &c, sizeof c);
    EmuRow row = c.round != NUM_RN || c.relu || c.satfinite ? ROW_NONE
                 : brain                                    ? ROW_PAIR_B_F
                                                            : ROW_PAIR_H_F;
    emit_row(d, row, slow_pair, to, a, b, b, imm);
    return true;
}

enum { TF32_RELU = 8, TF32_FINITE = 16 }; /* beside the rounding, in Ins.imm */

/* ptxas makes whole-number instructions of rna, which keep a NaN's bits, and with .satfinite take
** one from the last of them. */
static uint32_t to_tf32(float x, uint64_t how) {
    uint32_t bits = num_f32_to_tf32(x, (NumRound)(how & 7));
    if (x != x && (how & 7) != NUM_RNA) return 0x7fffe000;
    if (how & TF32_RELU && bits >> 31) return 0;
    return how & TF32_FINITE && (bits & 0x7fffffff) >= 0x7f800000 ? bits - 0x2000 : bits;
}

SLOW_OP(slow_tf32, U32, F32, F32, F32, to_tf32(a, in->imm))

/* cvt.rna{.satfinite}, cvt.rn|rz{.satfinite}{.relu} .tf32.f32 */
static bool decode_tf32(Decoder *d) {
    Convert c = {0};
    uint32_t to, at;
    if (d->in->n_args != 2 || !mod_is(d, LAST, "f32")) return decode_unknown(d);
    if (!convert_mods(d, &c, 2)) return false;
    bool nearest_away = c.round == NUM_RNA;
    if (!c.rounded || c.integral || c.ftz || c.sat || (nearest_away ? c.relu : c.round > NUM_RZ))
        return decode_unknown(d);
    if (!nearest_away && !decode_has(d, c.satfinite ? 86 : 78, c.satfinite ? 100 : 90))
        return false;
    if (!source(d, &d->in->args[1], 'f', 0, &at) || !dest(d, &d->in->args[0], 'w', &to))
        return false;
    uint64_t how = c.round | (c.relu ? TF32_RELU : 0) | (c.satfinite ? TF32_FINITE : 0);
    emit_slow(d, slow_tf32, to, at, at, at, how);
    return true;
}

/* cvt.pack.sat.TYPE.s32{.b32} d, a, b{, c}: b below a, both saturated; c's low parts above. */
static bool slow_pack(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    Convert c;
    memcpy(&c, &in->imm, sizeof c);
    unsigned bits = bits_of((PtxType)c.to);
    FOR_ACTIVE(w, i) {
        uint32_t a = (uint32_t)convert(&c, LANE(U32, w, in->a, i));
        uint32_t b = (uint32_t)convert(&c, LANE(U32, w, in->b, i));
        uint32_t mask = bits == 16 ? 0xffff : 0xff, above = bits == 16 ? 0 : LANE(U32, w, in->c, i);
        LANE(U32, w, in->d, i) = (b & mask) | (a & mask) << bits | (bits == 16 ? 0 : above << 16);
    }
    return true;
}

static bool decode_pack(Decoder *d) {
    const PtxInstr *in = d->in;
    PtxType to = PTX_NONE;
    uint32_t at[3] = {0}, result;
    uint64_t imm = 0;
    if (in->n_mods < 4 || !mod_is(d, 1, "sat") || !ptx_type_parse(in->mods[2], &to) ||
        !mod_is(d, 3, "s32"))
        return decode_unknown(d);
    bool bytes = to == PTX_U8 || to == PTX_S8;
    if ((!bytes && to != PTX_U16 && to != PTX_S16) || in->n_args != 3 + bytes ||
        in->n_mods != 4 + bytes || (bytes && !mod_is(d, 4, "b32")))
        return decode_unknown(d);
    for (int k = 0; k < 2 + bytes; k++)
        if (!source(d, &in->args[1 + k], 'w', k, &at[k])) return false;
    if (!dest(d, &in->args[0], 'w', &result)) return false;
    Convert c = {.to = (uint8_t)to, .from = PTX_S32, .sat = 1, .to_bits = 32};
    memcpy(&imm, &c, sizeof c);
    emit_slow(d, slow_pack, result, at[0], at[1], at[2], imm);
    return true;
}

static bool decode_cvt(Decoder *d) {
    const PtxInstr *in = d->in;
    Convert c = {0};
    PtxType to, from;
    uint32_t result, at;
    if (in->n_mods < 2) return decode_unknown(d);
    if (is_fp8(d)) return decode_fp8(d);
    if (mod_is(d, 0, "pack")) return decode_pack(d);
    const char *to_name = in->mods[in->n_mods - 2];
    if (strcmp(to_name, "f16x2") == 0) return decode_pair(d, false);
    if (strcmp(to_name, "bf16x2") == 0) return decode_pair(d, true);
    if (strcmp(to_name, "tf32") == 0) return decode_tf32(d);
    if (in->n_args != 2 || !ptx_type_parse(to_name, &to) || !ptx_type_parse(mod_at(d, LAST), &from))
        return decode_unknown(d);
    c.to = (uint8_t)to;
    c.from = (uint8_t)from;
    if (!convert_mods(d, &c, 2)) return false;
    if (!sensible(&c)) return decode_unknown(d);
    if (!convert_operands(d, &c, &result, &at)) return false;
    d->cost[d->index] = convert_cost(&c);
    bool own_widths = c.to_bits == bits_of(to) && (c.wide_from ? 64u : 32u) == bits_of(from);
    if (!is_float(to) && !is_float(from) && !c.sat) {
        convert_ints(d, &c, result, at);
        return true;
    }
    if (to == PTX_F32 && from == PTX_F32 && c.sat && !c.integral && !c.ftz) {
        emit(d, OP_SAT_F, 0, result, at, at, 0);
        return true;
    }
    if (own_widths && fast_convert(d, &c, result, at)) return true;
    if (to == PTX_F32 && from == PTX_BF16 && !c.wide_from && !c.ftz && !c.sat) {
        emit(d, OP_SHL32, 0, result, at, pool_row(d, POOL_B32, 16), 0);
        return true;
    }
    uint64_t imm = 0;
    memcpy(&imm, &c, sizeof c);
    emit_row(d, row_convert(&c), slow_convert, result, at, at, at, imm);
    return true;
}

const Form forms_convert[] = {CUSTOM("setp", decode_setp, ALU),
                              CUSTOM("set", decode_set, ALU),
                              CUSTOM("slct", decode_slct, ALU),
                              FAST("selp", "b32|u32|s32", "wwwp", SELP32, ALU),
                              FAST("selp", "f32", "fffp", SELP32, ALU),
                              FAST("selp", "b16|u16|s16", "hhhp", SELP32, ALU),
                              FAST("selp", "b64|u64|s64", "qqqp", SELP64, ALU64),
                              FAST("selp", "f64", "dddp", SELP64, ALU64),
                              CUSTOM("cvt", decode_cvt, CONVERT),
                              FORMS_END};
