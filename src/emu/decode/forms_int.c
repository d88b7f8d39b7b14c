/* forms_int.c - integer arithmetic, logic, shifts, comparisons and bit operations. */
#include "emu/decode/decode.h"
#include "emu/exec/lanes.h"
#include "emu/exec/num.h"

/* --- division: by zero gives all ones, and so does the remainder, as on an H200 --- */

static int64_t div_s64(int64_t a, int64_t b) {
    if (b == 0) return -1;
    return a == INT64_MIN && b == -1 ? a : a / b;
}

static int64_t rem_s64(int64_t a, int64_t b) {
    if (b == 0) return -1;
    return b == -1 ? 0 : a % b;
}

SLOW_OP(slow_div_u64, U64, U64, U64, U64, b ? a / b : UINT64_MAX)
SLOW_OP(slow_rem_u64, U64, U64, U64, U64, b ? a % b : UINT64_MAX)
SLOW_OP(slow_div_s64, S64, S64, S64, S64, div_s64(a, b))
SLOW_OP(slow_rem_s64, S64, S64, S64, S64, rem_s64(a, b))

/* --- saturation --- */

static int32_t clamp_s32(int64_t x) {
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

SLOW_OP(slow_add_sat, S32, S32, S32, S32, clamp_s32((int64_t)a + b))
SLOW_OP(slow_sub_sat, S32, S32, S32, S32, clamp_s32((int64_t)a - b))
SLOW_OP(slow_mad_hi_sat, S32, S32, S32, S32, clamp_s32(((int64_t)a * b >> 32) + c))

/* --- products --- */

/* The low 48 bits of a 24-bit product; a signed operand is 24 bits with its sign. */
static int64_t product24_s(int32_t a, int32_t b) {
    return (int64_t)((int32_t)((uint32_t)a << 8) >> 8) * ((int32_t)((uint32_t)b << 8) >> 8);
}

static uint64_t product24_u(uint32_t a, uint32_t b) {
    return (uint64_t)(a & 0xffffff) * (b & 0xffffff);
}

SLOW_OP(slow_mul24_lo_s, U32, S32, S32, S32, product24_s(a, b))
SLOW_OP(slow_mul24_lo_u, U32, U32, U32, U32, product24_u(a, b))
SLOW_OP(slow_mul24_hi_s, U32, S32, S32, S32, product24_s(a, b) >> 16)
SLOW_OP(slow_mul24_hi_u, U32, U32, U32, U32, product24_u(a, b) >> 16)
SLOW_OP(slow_mad24_lo_s, U32, S32, S32, U32, (uint32_t)product24_s(a, b) + c)
SLOW_OP(slow_mad24_lo_u, U32, U32, U32, U32, (uint32_t)product24_u(a, b) + c)
SLOW_OP(slow_mad24_hi_s, U32, S32, S32, U32, (uint32_t)(product24_s(a, b) >> 16) + c)
SLOW_OP(slow_mad24_hi_u, U32, U32, U32, U32, (uint32_t)(product24_u(a, b) >> 16) + c)
SLOW_OP(slow_mad24_hi_sat, S32, S32, S32, S32, clamp_s32((product24_s(a, b) >> 16) + c))
SLOW_OP(slow_mul_hi_u64, U64, U64, U64, U64, num_mul_hi_u64(a, b))
SLOW_OP(slow_mul_hi_s64, S64, S64, S64, S64, num_mul_hi_s64(a, b))
SLOW_OP(slow_mad_hi_u64, U64, U64, U64, U64, num_mul_hi_u64(a, b) + c)
SLOW_OP(slow_mad_hi_s64, U64, S64, S64, U64, (uint64_t)num_mul_hi_s64(a, b) + c)
SLOW_OP(slow_mad_hi_u32, U32, U32, U32, U32, (uint32_t)((uint64_t)a *b >> 32) + c)
SLOW_OP(slow_mad_hi_s32, U32, S32, S32, U32, (uint32_t)((uint64_t)((int64_t)a *b) >> 32) + c)
SLOW_OP(slow_mul_hi_16, U32, U32, U32, U32, a *b >> 16)
SLOW_OP(slow_mul_hi_s16, U32, S32, S32, S32, (uint32_t)(a *b) >> 16)
SLOW_OP(slow_mad_hi_u16, U32, U32, U32, U32, (a * b >> 16) + c)
SLOW_OP(slow_mad_hi_s16, U32, S32, S32, U32, ((uint32_t)(a * b) >> 16) + c)

/* --- carries: the condition code is one bit a lane in Warp.carry. It is the carry out of the sum
** that was computed, and a - b is computed as a + ~b + 1: so after sub.cc it says that there was no
** borrow, and any of addc, subc, madc may go on from any of add.cc, sub.cc, mad.cc (ptxas 13.0 for
** sm_90: IADD3.X takes the predicate that IADD3 of a and -b wrote as it is). --- */

typedef unsigned __int128 Wide;

static uint64_t product_part(uint64_t a, uint64_t b, uint64_t how) {
    if (how & CC_64) {
        if (!(how & CC_HI)) return a * b;
        return how & CC_SIGNED ? (uint64_t)num_mul_hi_s64((int64_t)a, (int64_t)b)
                               : num_mul_hi_u64(a, b);
    }
    uint64_t p = how & CC_SIGNED ? (uint64_t)((int64_t)(int32_t)a * (int32_t)b) : a * b;
    return (how & CC_HI ? p >> 32 : p) & 0xffffffffu;
}

static uint64_t lane_of(const Warp *w, uint32_t row, bool wide, uint32_t i) {
    return wide ? LANE(U64, w, row, i) : LANE(U32, w, row, i);
}

static bool slow_carry(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    uint64_t how = in->imm;
    bool wide = how & CC_64;
    Wide ones = wide ? UINT64_MAX : UINT32_MAX;
    FOR_ACTIVE(w, i) {
        uint64_t a = lane_of(w, in->a, wide, i), b = lane_of(w, in->b, wide, i);
        if (how & CC_MUL) a = product_part(a, b, how), b = lane_of(w, in->c, wide, i);
        Wide x = a, y = how & CC_SUB ? ~(Wide)b & ones : b;
        uint32_t carry = how & CC_IN ? w->carry >> i & 1 : (how & CC_SUB) != 0;
        Wide sum = x + y + carry;
        bool out = (sum >> (wide ? 64 : 32)) != 0;
        if (how & CC_OUT) w->carry = (w->carry & ~(1u << i)) | (uint32_t)out << i;
        if (wide) LANE(U64, w, in->d, i) = (uint64_t)sum;
        else LANE(U32, w, in->d, i) = (uint32_t)sum;
    }
    return true;
}

/* add sub mad with .cc, addc subc madc with and without. */
static bool decode_carry(Decoder *d) {
    const PtxInstr *in = d->in;
    const char *op = in->opcode;
    bool is_mad = op[0] == 'm';
    uint64_t how = (op[0] == 's' ? CC_SUB : 0) | (is_mad ? CC_MUL : 0);
    if (op[3] == 'c') how |= CC_IN;
    int k = 0;
    if (is_mad) {
        if (mod_is(d, k, "hi")) how |= CC_HI;
        else if (!mod_is(d, k, "lo")) return decode_unknown(d);
        k++;
    }
    if (mod_is(d, k, "cc")) how |= CC_OUT, k++;
    PtxType type;
    if (in->n_mods != k + 1 || in->n_args != 3 + is_mad || !ptx_type_parse(mod_at(d, k), &type) ||
        (type != PTX_U32 && type != PTX_S32 && type != PTX_U64 && type != PTX_S64))
        return decode_unknown(d);
    bool wide = ptx_type_size(type) == 8;
    how |= (wide ? CC_64 : 0) | (type == PTX_S32 || type == PTX_S64 ? CC_SIGNED : 0);
    uint32_t to, at[3] = {0};
    for (int i = 0; i < 2 + is_mad; i++)
        if (!source(d, &in->args[1 + i], wide ? 'q' : 'w', i, &at[i])) return false;
    if (!dest(d, &in->args[0], wide ? 'q' : 'w', &to)) return false;
    bool is_plain = !wide || !(how & CC_HI);
    emit_row(d, is_plain ? ROW_CARRY : ROW_NONE, slow_carry, to, at[0], at[1], at[2], how);
    d->cost[d->index] = is_mad ? COST_MUL : wide ? COST_ALU64 : COST_ALU;
    return true;
}

/* --- bits --- */

SLOW_OP(slow_bfe_u32, U32, U32, U32, U32, num_bfe_u32(a, b, c))
SLOW_OP(slow_bfe_s32, S32, S32, U32, U32, num_bfe_s32(a, b, c))
SLOW_OP(slow_bfe_u64, U64, U64, U32, U32, num_bfe_u64(a, b, c))
SLOW_OP(slow_bfe_s64, S64, S64, U32, U32, num_bfe_s64(a, b, c))
SLOW_OP(slow_popc32, U32, U32, U32, U32, __builtin_popcount(a))
SLOW_OP(slow_popc64, U32, U64, U32, U32, __builtin_popcountll(a))
SLOW_OP(slow_clz32, U32, U32, U32, U32, a ? __builtin_clz(a) : 32)
SLOW_OP(slow_clz64, U32, U64, U32, U32, a ? __builtin_clzll(a) : 64)
SLOW_OP(slow_brev32, U32, U32, U32, U32, num_brev32(a))
SLOW_OP(slow_brev64, U64, U64, U64, U64, num_brev64(a))
SLOW_OP(slow_bfind_u32, U32, U32, U32, U32, num_bfind(a, 32, false, false))
SLOW_OP(slow_bfind_s32, U32, S32, U32, U32, num_bfind((uint64_t)(int64_t)a, 32, true, false))
SLOW_OP(slow_bfind_u64, U32, U64, U32, U32, num_bfind(a, 64, false, false))
SLOW_OP(slow_bfind_s64, U32, U64, U32, U32, num_bfind(a, 64, true, false))
SLOW_OP(slow_bfind_shift_u32, U32, U32, U32, U32, num_bfind(a, 32, false, true))
SLOW_OP(slow_bfind_shift_s32, U32, S32, U32, U32, num_bfind((uint64_t)(int64_t)a, 32, true, true))
SLOW_OP(slow_bfind_shift_u64, U32, U64, U32, U32, num_bfind(a, 64, false, true))
SLOW_OP(slow_bfind_shift_s64, U32, U64, U32, U32, num_bfind(a, 64, true, true))
SLOW_OP(slow_bmsk_clamp, U32, U32, U32, U32, num_bmsk(a, b, true))
SLOW_OP(slow_bmsk_wrap, U32, U32, U32, U32, num_bmsk(a, b, false))
SLOW_OP(slow_szext_clamp_u, U32, U32, U32, U32, b >= 32 ? a : b == 0 ? 0 : num_bfe_u32(a, 0, b))
SLOW_OP(slow_szext_clamp_s, U32, S32, U32, U32, b >= 32 ? a : b == 0 ? 0 : num_bfe_s32(a, 0, b))
SLOW_OP(slow_szext_wrap_u, U32, U32, U32, U32, b % 32 == 0 ? 0 : num_bfe_u32(a, 0, b % 32))
SLOW_OP(slow_szext_wrap_s, U32, S32, U32, U32, b % 32 == 0 ? 0 : num_bfe_s32(a, 0, b % 32))
SLOW_OP(slow_fns, U32, U32, U32, S32, num_fns(a, b, c))
SLOW_OP(slow_shf_l_clamp, U32, U32, U32, U32, num_shf(a, b, c, true, false))
SLOW_OP(slow_shf_l_wrap, U32, U32, U32, U32, num_shf(a, b, c, true, true))
SLOW_OP(slow_shf_r_clamp, U32, U32, U32, U32, num_shf(a, b, c, false, false))
SLOW_OP(slow_shf_r_wrap, U32, U32, U32, U32, num_shf(a, b, c, false, true))
SLOW_OP(slow_prmt, U32, U32, U32, U32, num_prmt(a, b, c, ""))
SLOW_OP(slow_prmt_f4e, U32, U32, U32, U32, num_prmt(a, b, c, "f4e"))
SLOW_OP(slow_prmt_b4e, U32, U32, U32, U32, num_prmt(a, b, c, "b4e"))
SLOW_OP(slow_prmt_rc8, U32, U32, U32, U32, num_prmt(a, b, c, "rc8"))
SLOW_OP(slow_prmt_ecl, U32, U32, U32, U32, num_prmt(a, b, c, "ecl"))
SLOW_OP(slow_prmt_ecr, U32, U32, U32, U32, num_prmt(a, b, c, "ecr"))
SLOW_OP(slow_prmt_rc16, U32, U32, U32, U32, num_prmt(a, b, c, "rc16"))
SLOW_OP(slow_dp4a_uu, U32, U32, U32, S32, num_dp4a(a, false, b, false, c))
SLOW_OP(slow_dp4a_us, U32, U32, U32, S32, num_dp4a(a, false, b, true, c))
SLOW_OP(slow_dp4a_su, U32, U32, U32, S32, num_dp4a(a, true, b, false, c))
SLOW_OP(slow_dp4a_ss, U32, U32, U32, S32, num_dp4a(a, true, b, true, c))
SLOW_OP(slow_dp2a_lo_uu, U32, U32, U32, S32, num_dp2a(a, false, b, false, c, false))
SLOW_OP(slow_dp2a_lo_us, U32, U32, U32, S32, num_dp2a(a, false, b, true, c, false))
SLOW_OP(slow_dp2a_lo_su, U32, U32, U32, S32, num_dp2a(a, true, b, false, c, false))
SLOW_OP(slow_dp2a_lo_ss, U32, U32, U32, S32, num_dp2a(a, true, b, true, c, false))
SLOW_OP(slow_dp2a_hi_uu, U32, U32, U32, S32, num_dp2a(a, false, b, false, c, true))
SLOW_OP(slow_dp2a_hi_us, U32, U32, U32, S32, num_dp2a(a, false, b, true, c, true))
SLOW_OP(slow_dp2a_hi_su, U32, U32, U32, S32, num_dp2a(a, true, b, false, c, true))
SLOW_OP(slow_dp2a_hi_ss, U32, U32, U32, S32, num_dp2a(a, true, b, true, c, true))
SLOW_OP(slow_sad_u16, U32, U32, U32, U32, num_sad(a, b, c, 16, false))
SLOW_OP(slow_sad_s16, U32, S32, S32, U32,
        num_sad((uint64_t)(int64_t)a, (uint64_t)(int64_t)b, c, 16, true))
SLOW_OP(slow_sad_u32, U32, U32, U32, U32, num_sad(a, b, c, 32, false))
SLOW_OP(slow_sad_s32, U32, S32, S32, U32,
        num_sad((uint64_t)(int64_t)a, (uint64_t)(int64_t)b, c, 32, true))
SLOW_OP(slow_sad_u64, U64, U64, U64, U64, num_sad(a, b, c, 64, false))
SLOW_OP(slow_sad_s64, U64, U64, U64, U64, num_sad(a, b, c, 64, true))
SLOW_OP(slow_cnot32, U32, U32, U32, U32, a == 0)
SLOW_OP(slow_cnot64, U64, U64, U64, U64, a == 0)
SLOW_OP(slow_abs64, U64, U64, U64, U64, a >> 63 ? 0 - a : a)

/* Bit field insertion has four sources; the length comes as a row in imm. */
static bool slow_bfi(Machine *m, Warp *w, const Ins *in) {
    (void)m;
    uint32_t len_row = (uint32_t)in->imm;
    bool wide = in->imm >> 32;
    FOR_ACTIVE(w, i) {
        uint32_t pos = LANE(U32, w, in->c, i), len = LANE(U32, w, len_row, i);
        if (wide)
            LANE(U64, w, in->d, i) =
                num_bfi_b64(LANE(U64, w, in->a, i), LANE(U64, w, in->b, i), pos, len);
        else
            LANE(U32, w, in->d, i) =
                num_bfi_b32(LANE(U32, w, in->a, i), LANE(U32, w, in->b, i), pos, len);
    }
    return true;
}

static bool decode_bfi(Decoder *d) {
    const PtxInstr *in = d->in;
    bool wide = mod_is(d, LAST, "b64");
    uint32_t to, a, b, pos, len;
    char t = wide ? 'q' : 'w';
    if (in->n_mods != 1 || in->n_args != 5 || (!wide && !mod_is(d, LAST, "b32")))
        return decode_unknown(d);
    if (!source(d, &in->args[1], t, 0, &a) || !source(d, &in->args[2], t, 1, &b) ||
        !source(d, &in->args[3], 'w', 2, &pos) || !source(d, &in->args[4], 'w', 2, &len) ||
        !dest(d, &in->args[0], t, &to))
        return false;
    emit_row(d, wide ? ROW_NONE : ROW_BFI, slow_bfi, to, a, b, pos, len | (uint64_t)wide << 32);
    return true;
}

/* lop3{.BoolOp}.b32 d{|p}, a, b, c, table{, q} */
static bool decode_lop3(Decoder *d) {
    const PtxInstr *in = d->in;
    bool with_pred = in->n_mods == 2;
    if (in->n_args != 5 + with_pred || !mod_is(d, LAST, "b32") || in->n_mods > 2)
        return decode_unknown(d);
    const PtxOperand *to_op = &in->args[0], *p_op = NULL;
    if (with_pred) {
        if (to_op->kind != PTX_OP_PAIR) return decode_unknown(d);
        p_op = &in->args[0].elems[1];
        to_op = &in->args[0].elems[0];
    }
    uint32_t to, at[3], p, q;
    uint64_t table;
    if (!immediate(d, &in->args[4], 'w', &table)) return false;
    if (table > 255) return decode_fail(d, "the table of lop3 has 8 bits");
    for (int k = 0; k < 3; k++)
        if (!source(d, &in->args[1 + k], 'w', k, &at[k])) return false;
    if (!dest(d, to_op, 'w', &to)) return false;
    emit(d, OP_LOP3, 0, to, at[0], at[1], at[2])->imm = table;
    if (!with_pred) return true;
    bool is_or = mod_is(d, 0, "or");
    if (!is_or && !mod_is(d, 0, "and")) return decode_unknown(d);
    if (!source(d, &in->args[5], 'p', 0, &q) || !dest(d, p_op, 'p', &p)) return false;
    emit(d, OP_EQ32, 1, d->tmp_p[1], to, pool_row(d, POOL_B32, 0), 0);
    emit(d, is_or ? OP_OR_P : OP_AND_P, 0, p, d->tmp_p[1], q, 0);
    return true;
}

/* --- packed 16-bit integers --- */

static uint32_t halves(uint32_t a, uint32_t b, int32_t (*f)(int32_t, int32_t), bool is_signed) {
    uint32_t out = 0;
    for (int k = 0; k < 32; k += 16) {
        int32_t x = is_signed ? (int16_t)(a >> k) : (int32_t)(a >> k & 0xffff);
        int32_t y = is_signed ? (int16_t)(b >> k) : (int32_t)(b >> k & 0xffff);
        out |= ((uint32_t)f(x, y) & 0xffff) << k;
    }
    return out;
}

static int32_t add_h(int32_t a, int32_t b) {
    return a + b;
}
static int32_t min_h(int32_t a, int32_t b) {
    return a < b ? a : b;
}
static int32_t max_h(int32_t a, int32_t b) {
    return a > b ? a : b;
}
static int32_t min_relu(int32_t a, int32_t b) {
    return max_h(min_h(a, b), 0);
}
static int32_t max_relu(int32_t a, int32_t b) {
    return max_h(max_h(a, b), 0);
}

SLOW_OP(slow_add_16x2, U32, U32, U32, U32, halves(a, b, add_h, false))
SLOW_OP(slow_min_s16x2, U32, U32, U32, U32, halves(a, b, min_h, true))
SLOW_OP(slow_max_s16x2, U32, U32, U32, U32, halves(a, b, max_h, true))
SLOW_OP(slow_min_u16x2, U32, U32, U32, U32, halves(a, b, min_h, false))
SLOW_OP(slow_max_u16x2, U32, U32, U32, U32, halves(a, b, max_h, false))
SLOW_OP(slow_min_s16x2_relu, U32, U32, U32, U32, halves(a, b, min_relu, true))
SLOW_OP(slow_max_s16x2_relu, U32, U32, U32, U32, halves(a, b, max_relu, true))
SLOW_OP(slow_min_relu, S32, S32, S32, S32, min_relu(a, b))
SLOW_OP(slow_max_relu, S32, S32, S32, S32, max_relu(a, b))

const Form forms_int[] = {
    FAST("add", "s32|u32", "www", ADD32, ALU),
    FAST("add", "s64|u64", "qqq", ADD64, ALU64),
    FAST("add", "s16|u16", "hhh", ADD32, ALU),
    SLOW("add", "sat s32", "www", slow_add_sat, ALU),
    SLOW("add", "s16x2|u16x2", "www", slow_add_16x2, ALU),
    FAST("sub", "s32|u32", "www", SUB32, ALU),
    FAST("sub", "s64|u64", "qqq", SUB64, ALU64),
    FAST("sub", "s16|u16", "hhh", SUB32, ALU),
    SLOW("sub", "sat s32", "www", slow_sub_sat, ALU),
    CUSTOM_OF("add", "cc u32|s32|u64|s64", decode_carry, ALU),
    CUSTOM_OF("sub", "cc u32|s32|u64|s64", decode_carry, ALU),
    CUSTOM_OF("mad", "lo|hi cc u32|s32|u64|s64", decode_carry, MUL),
    CUSTOM("addc", decode_carry, ALU),
    CUSTOM("subc", decode_carry, ALU),
    CUSTOM("madc", decode_carry, MUL),

    FAST("mul", "lo s32|u32", "www", MUL32, MUL),
    FAST("mul", "lo s64|u64", "qqq", MUL64, MUL64),
    FAST("mul", "lo s16|u16", "hhh", MUL32, MUL),
    FAST("mul", "wide s32", "qww", MULW_S, MUL_WIDE),
    FAST("mul", "wide u32", "qww", MULW_U, MUL_WIDE),
    FAST("mul", "wide s16", "wii", MUL32, MUL),
    FAST("mul", "wide u16", "whh", MUL32, MUL),
    FAST("mul", "hi s32", "www", MULHI32_S, MUL_HI),
    FAST("mul", "hi u32", "www", MULHI32_U, MUL_HI),
    QUICK("mul", "hi s64", "qqq", MULHI_S64, slow_mul_hi_s64, MUL64),
    QUICK("mul", "hi u64", "qqq", MULHI_U64, slow_mul_hi_u64, MUL64),
    SLOW("mul", "hi u16", "hhh", slow_mul_hi_16, MUL),
    SLOW("mul", "hi s16", "hii", slow_mul_hi_s16, MUL),
    FAST("mad", "lo s32|u32", "wwww", MAD32, MUL),
    FAST("mad", "lo s64|u64", "qqqq", MAD64, MUL64),
    FAST("mad", "lo s16|u16", "hhhh", MAD32, MUL),
    FAST("mad", "wide s32", "qwwq", MADW_S, MUL_WIDE),
    FAST("mad", "wide u32", "qwwq", MADW_U, MUL_WIDE),
    FAST("mad", "wide s16", "wiiw", MAD32, MUL),
    FAST("mad", "wide u16", "whhw", MAD32, MUL),
    SLOW("mad", "hi s32", "wwww", slow_mad_hi_s32, MUL_HI),
    SLOW("mad", "hi u32", "wwww", slow_mad_hi_u32, MUL_HI),
    SLOW("mad", "hi sat s32", "wwww", slow_mad_hi_sat, MUL_HI),
    SLOW("mad", "hi s64", "qqqq", slow_mad_hi_s64, MUL64),
    SLOW("mad", "hi u64", "qqqq", slow_mad_hi_u64, MUL64),
    SLOW("mad", "hi u16", "hhhh", slow_mad_hi_u16, MUL),
    SLOW("mad", "hi s16", "hiih", slow_mad_hi_s16, MUL),
    SLOW("mul24", "lo s32", "www", slow_mul24_lo_s, MUL),
    SLOW("mul24", "lo u32", "www", slow_mul24_lo_u, MUL),
    SLOW("mul24", "hi s32", "www", slow_mul24_hi_s, MUL_HI),
    SLOW("mul24", "hi u32", "www", slow_mul24_hi_u, MUL_HI),
    SLOW("mad24", "lo s32", "wwww", slow_mad24_lo_s, MUL),
    SLOW("mad24", "lo u32", "wwww", slow_mad24_lo_u, MUL),
    SLOW("mad24", "hi s32", "wwww", slow_mad24_hi_s, MUL_HI),
    SLOW("mad24", "hi u32", "wwww", slow_mad24_hi_u, MUL_HI),
    SLOW("mad24", "hi sat s32", "wwww", slow_mad24_hi_sat, MUL_HI),

    FAST("div", "s32", "www", DIV32_S, IDIV32),
    FAST("div", "u32", "www", DIV32_U, IDIV32),
    QUICK("div", "s64", "qqq", DIV_S64, slow_div_s64, IDIV64),
    QUICK("div", "u64", "qqq", DIV_U64, slow_div_u64, IDIV64),
    FAST("div", "s16", "hii", DIV32_S, IDIV32),
    FAST("div", "u16", "hhh", DIV32_U, IDIV32),
    FAST("rem", "s32", "www", REM32_S, IDIV32),
    FAST("rem", "u32", "www", REM32_U, IDIV32),
    QUICK("rem", "s64", "qqq", REM_S64, slow_rem_s64, IDIV64),
    QUICK("rem", "u64", "qqq", REM_U64, slow_rem_u64, IDIV64),
    FAST("rem", "s16", "hii", REM32_S, IDIV32),
    FAST("rem", "u16", "hhh", REM32_U, IDIV32),

    FAST("neg", "s32", "ww", NEG32, ALU),
    FAST("neg", "s64", "qq", NEG64, ALU64),
    FAST("neg", "s16", "hh", NEG32, ALU),
    FAST("abs", "s32", "ww", ABS32, ALU),
    SLOW("abs", "s64", "qq", slow_abs64, ALU64),
    FAST("abs", "s16", "hi", ABS32, ALU),
    FAST("min", "s32", "www", MIN32_S, ALU),
    FAST("min", "u32", "www", MIN32_U, ALU),
    FAST("min", "s64", "qqq", MIN64_S, ALU64),
    FAST("min", "u64", "qqq", MIN64_U, ALU64),
    FAST("min", "s16", "hii", MIN32_S, ALU),
    FAST("min", "u16", "hhh", MIN32_U, ALU),
    SLOW("min", "s16x2", "www", slow_min_s16x2, ALU),
    SLOW("min", "u16x2", "www", slow_min_u16x2, ALU),
    SLOW("min", "relu s16x2", "www", slow_min_s16x2_relu, ALU),
    SLOW("min", "relu s32", "www", slow_min_relu, ALU),
    FAST("max", "s32", "www", MAX32_S, ALU),
    FAST("max", "u32", "www", MAX32_U, ALU),
    FAST("max", "s64", "qqq", MAX64_S, ALU64),
    FAST("max", "u64", "qqq", MAX64_U, ALU64),
    FAST("max", "s16", "hii", MAX32_S, ALU),
    FAST("max", "u16", "hhh", MAX32_U, ALU),
    SLOW("max", "s16x2", "www", slow_max_s16x2, ALU),
    SLOW("max", "u16x2", "www", slow_max_u16x2, ALU),
    SLOW("max", "relu s16x2", "www", slow_max_s16x2_relu, ALU),
    SLOW("max", "relu s32", "www", slow_max_relu, ALU),

    FAST("and", "b32", "www", AND32, ALU),
    FAST("and", "b64", "qqq", AND64, ALU64),
    FAST("and", "b16", "hhh", AND32, ALU),
    FAST("and", "pred", "ppp", AND_P, ALU),
    FAST("or", "b32", "www", OR32, ALU),
    FAST("or", "b64", "qqq", OR64, ALU64),
    FAST("or", "b16", "hhh", OR32, ALU),
    FAST("or", "pred", "ppp", OR_P, ALU),
    FAST("xor", "b32", "www", XOR32, ALU),
    FAST("xor", "b64", "qqq", XOR64, ALU64),
    FAST("xor", "b16", "hhh", XOR32, ALU),
    FAST("xor", "pred", "ppp", XOR_P, ALU),
    FAST("not", "b32", "ww", NOT32, ALU),
    FAST("not", "b64", "qq", NOT64, ALU64),
    FAST("not", "b16", "hh", NOT32, ALU),
    FAST("not", "pred", "pp", NOT_P, ALU),
    SLOW("cnot", "b32", "ww", slow_cnot32, ALU),
    SLOW("cnot", "b16", "hh", slow_cnot32, ALU),
    SLOW("cnot", "b64", "qq", slow_cnot64, ALU64),
    FAST("shl", "b32", "www", SHL32, ALU),
    FAST("shl", "b64", "qqw", SHL64, SHIFT64),
    FAST("shl", "b16", "hhw", SHL32, ALU),
    FAST("shr", "u32|b32", "www", SHR32_U, ALU),
    FAST("shr", "s32", "www", SHR32_S, ALU),
    FAST("shr", "u64|b64", "qqw", SHR64_U, SHIFT64),
    FAST("shr", "s64", "qqw", SHR64_S, SHIFT64),
    FAST("shr", "u16|b16", "hhw", SHR32_U, ALU),
    FAST("shr", "s16", "hiw", SHR32_S, ALU),
    QUICK("shf", "l clamp b32", "wwww", SHF_L, slow_shf_l_clamp, ALU),
    QUICK("shf", "l wrap b32", "wwww", SHF_L_WRAP, slow_shf_l_wrap, ALU),
    QUICK("shf", "r clamp b32", "wwww", SHF_R, slow_shf_r_clamp, ALU),
    QUICK("shf", "r wrap b32", "wwww", SHF_R_WRAP, slow_shf_r_wrap, ALU),
    CUSTOM("lop3", decode_lop3, ALU),
    CUSTOM("bfi", decode_bfi, ALU),
    QUICK("bfe", "u32", "wwww", BFE_U32, slow_bfe_u32, ALU),
    QUICK("bfe", "s32", "wwww", BFE_S32, slow_bfe_s32, ALU),
    SLOW("bfe", "u64", "qqww", slow_bfe_u64, SHIFT64),
    SLOW("bfe", "s64", "qqww", slow_bfe_s64, SHIFT64),
    QUICK("popc", "b32", "ww", POPC, slow_popc32, BITS),
    SLOW("popc", "b64", "wq", slow_popc64, CONVERT64),
    QUICK("clz", "b32", "ww", CLZ, slow_clz32, BITS),
    SLOW("clz", "b64", "wq", slow_clz64, CONVERT64),
    QUICK("brev", "b32", "ww", BREV, slow_brev32, BITS),
    SLOW("brev", "b64", "qq", slow_brev64, CONVERT64),
    SLOW("bfind", "u32", "ww", slow_bfind_u32, BITS),
    SLOW("bfind", "s32", "ww", slow_bfind_s32, BITS),
    SLOW("bfind", "u64", "wq", slow_bfind_u64, CONVERT64),
    SLOW("bfind", "s64", "wq", slow_bfind_s64, CONVERT64),
    SLOW("bfind", "shiftamt u32", "ww", slow_bfind_shift_u32, BITS),
    SLOW("bfind", "shiftamt s32", "ww", slow_bfind_shift_s32, BITS),
    SLOW("bfind", "shiftamt u64", "wq", slow_bfind_shift_u64, CONVERT64),
    SLOW("bfind", "shiftamt s64", "wq", slow_bfind_shift_s64, CONVERT64),
    SLOW("bmsk", "clamp b32", "www", slow_bmsk_clamp, ALU),
    SLOW("bmsk", "wrap b32", "www", slow_bmsk_wrap, ALU),
    SLOW("szext", "clamp u32", "www", slow_szext_clamp_u, ALU),
    SLOW("szext", "clamp s32", "www", slow_szext_clamp_s, ALU),
    SLOW("szext", "wrap u32", "www", slow_szext_wrap_u, ALU),
    SLOW("szext", "wrap s32", "www", slow_szext_wrap_s, ALU),
    SLOW("fns", "b32", "wwww", slow_fns, IDIV32),
    QUICK("prmt", "b32", "wwww", PRMT, slow_prmt, ALU),
    SLOW("prmt", "b32 f4e", "wwww", slow_prmt_f4e, ALU),
    SLOW("prmt", "b32 b4e", "wwww", slow_prmt_b4e, ALU),
    SLOW("prmt", "b32 rc8", "wwww", slow_prmt_rc8, ALU),
    SLOW("prmt", "b32 ecl", "wwww", slow_prmt_ecl, ALU),
    SLOW("prmt", "b32 ecr", "wwww", slow_prmt_ecr, ALU),
    SLOW("prmt", "b32 rc16", "wwww", slow_prmt_rc16, ALU),
    QUICK("dp4a", "u32 u32", "wwww", DP4A_UU, slow_dp4a_uu, MUL),
    QUICK("dp4a", "u32 s32", "wwww", DP4A_US, slow_dp4a_us, MUL),
    QUICK("dp4a", "s32 u32", "wwww", DP4A_SU, slow_dp4a_su, MUL),
    QUICK("dp4a", "s32 s32", "wwww", DP4A_SS, slow_dp4a_ss, MUL),
    SLOW("dp2a", "lo u32 u32", "wwww", slow_dp2a_lo_uu, MUL),
    SLOW("dp2a", "lo u32 s32", "wwww", slow_dp2a_lo_us, MUL),
    SLOW("dp2a", "lo s32 u32", "wwww", slow_dp2a_lo_su, MUL),
    SLOW("dp2a", "lo s32 s32", "wwww", slow_dp2a_lo_ss, MUL),
    SLOW("dp2a", "hi u32 u32", "wwww", slow_dp2a_hi_uu, MUL),
    SLOW("dp2a", "hi u32 s32", "wwww", slow_dp2a_hi_us, MUL),
    SLOW("dp2a", "hi s32 u32", "wwww", slow_dp2a_hi_su, MUL),
    SLOW("dp2a", "hi s32 s32", "wwww", slow_dp2a_hi_ss, MUL),
    SLOW("sad", "u16", "hhhh", slow_sad_u16, ALU),
    SLOW("sad", "s16", "hiih", slow_sad_s16, ALU),
    SLOW("sad", "u32", "wwww", slow_sad_u32, ALU),
    SLOW("sad", "s32", "wwww", slow_sad_s32, ALU),
    SLOW("sad", "u64", "qqqq", slow_sad_u64, ALU64),
    SLOW("sad", "s64", "qqqq", slow_sad_s64, ALU64),
    FORMS_END};
