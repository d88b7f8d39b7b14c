/* operands.c - do the operands of an instruction have its types? The rules are those of ptxas 13.0,
** which tests/lua/verifier.lua holds against it.
**
** An operand's type is the instruction's last one, but for what the tables below say. A register
** of bits (.b32) fits any type of its size, a type of bits takes any register; whole numbers and
** floats do not mix. Loads and stores, which may have wider registers, are decode/memory.c's,
** fetches texture.c's, matrices matrix.c's. How wide a register is, source and dest of decode.c
** look at.
*/
#include "emu/decode/decode.h"

/* Operands that are whole numbers, whatever the instruction's type is: of 32 bits, or any. */
static const struct {
    const char *opcodes;
    int arg;
} whole[] = {
    {"popc clz bfind match", 0}, {"bmsk", 1},     {"shl shr bfe vote match szext bmsk redux", 2},
    {"shf bfe bfi selp", 3},     {"bfi shfl", 4}, {"brx", 0}};

/* Of these the result has the last type but one. The third of slct is alone in its last; a sum of
** halves and an f32 ends with the f32. */
static bool is_of_two_types(const PtxInstr *in, int arg) {
    if (ptx_is(in, "slct")) return arg < 3;
    if (ptx_is(in, "add sub fma"))
        return ptx_has_mod(in, "f32") && ptx_has_mod(in, "f16 bf16") &&
               (arg == 0 || arg == in->n_args - 1);
    return arg == 0 && ptx_is(in, "set cvt");
}

static PtxType last_type(const PtxInstr *in, int skip) {
    PtxType type = PTX_NONE;
    for (int i = in->n_mods - 1; i >= 0; i--)
        if (ptx_type_parse(in->mods[i], &type) && skip-- == 0) return type;
    return PTX_NONE;
}

static PtxType type_of(const Decoder *d, int arg) {
    const PtxInstr *in = d->in;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (whole[i].arg == arg && ptx_is(in, whole[i].opcodes)) return PTX_U32;
    return is_of_two_types(in, arg) ? last_type(in, 1) : d->type;
}

static bool is_bits(PtxType t) {
    return t >= PTX_B8 && t <= PTX_B128;
}

static bool is_float(PtxType t) {
    return t >= PTX_F16 && t <= PTX_F64;
}

/* Only a conversion, and a pack of bytes, has registers of a byte. */
static bool register_agrees(const PtxInstr *in, PtxType type, PtxType reg) {
    if (reg == PTX_PRED || type == PTX_PRED) return true;
    if (type == PTX_NONE) return !is_float(reg);
    if (ptx_type_size(reg) == 1 && !ptx_is(in, "cvt mov suld sust")) return false;
    if (is_bits(reg)) return true;
    if (is_bits(type)) return !is_float(reg) || ptx_type_size(reg) == ptx_type_size(type);
    return is_float(type) ? reg == type : !is_float(reg);
}

static bool number_agrees(PtxType type, PtxImmKind kind) {
    if (type == PTX_NONE) return kind == PTX_IMM_INT;
    if (kind == PTX_IMM_INT) return !is_float(type);
    if (type == PTX_F32 || type == PTX_F64) return true;
    return type == (kind == PTX_IMM_F32 ? PTX_B32 : PTX_B64);
}

/* Where a field of bits begins, and how many it has, is said in a byte. */
static bool is_field_byte(const PtxInstr *in, int arg) {
    return (ptx_is(in, "bfi") && arg >= 3) || (ptx_is(in, "bfe") && arg >= 2);
}

static bool is_special_allowed(const PtxInstr *in) {
    return ptx_is(in, "mov cvt") && !is_float(last_type(in, 0)) && !is_float(last_type(in, 1));
}

/* `place`: which of a pair, 0 or 1; -1: the operand itself. */
static bool is_sink_allowed(const PtxInstr *in, int place) {
    if (place < 0) return ptx_is(in, "atom setp mbarrier");
    return place == 0 ? ptx_is(in, "setp elect lop3 match") : ptx_is(in, "setp shfl");
}

/* The parts that a mov takes apart or puts together are bits of any type. */
static bool is_parts(const PtxInstr *in) {
    if (!ptx_is(in, "mov") || in->n_args != 2 || ptx_has_mod(in, "v2 v4")) return false;
    return in->args[0].kind == PTX_OP_VECTOR || in->args[1].kind == PTX_OP_VECTOR;
}

static bool one_agrees(Decoder *d, const PtxOperand *op, int arg, bool is_dest, int place) {
    const PtxInstr *in = d->in;
    PtxType reg = op->kind == PTX_OP_REG ? d->func->regs[op->reg].type : PTX_NONE;
    if (op->negated && ((reg == PTX_PRED) == ptx_is(in, "vmad") || is_dest))
        return decode_fail(d, "'!' stands before something that is no predicate to be read");
    if (op->kind == PTX_OP_REG && !register_agrees(in, type_of(d, arg), reg))
        return decode_fail(d, "register %s does not have the instruction's type",
                           d->func->regs[op->reg].name);
    if (op->kind == PTX_OP_IMM && !number_agrees(type_of(d, arg), op->imm_kind))
        return decode_fail(d, "operand %d is no number of the instruction's type", arg);
    if (op->kind == PTX_OP_IMM && op->imm > 255 && is_field_byte(in, arg))
        return decode_fail(d, "a field of bits has its place and length in 0 to 255");
    if (op->kind == PTX_OP_SREG && !is_special_allowed(in))
        return decode_fail(d, "a special register is read by mov, and by cvt of whole numbers");
    if (op->kind == PTX_OP_SINK && !is_sink_allowed(in, place))
        return decode_fail(d, "'_' is no result of this instruction");
    return true;
}

/* Some element of a vector is no sink. */
static bool vector_agrees(Decoder *d, const PtxOperand *op, int arg, bool is_dest) {
    bool some = false;
    for (int k = 0; k < op->n_elems; k++) {
        bool sink = op->elems[k].kind == PTX_OP_SINK;
        some |= !sink;
        bool part = is_parts(d->in) && op->elems[k].kind == PTX_OP_REG && !op->elems[k].negated;
        if ((!sink || !is_dest) && !part && !one_agrees(d, &op->elems[k], arg, is_dest, -1))
            return false;
    }
    return some || decode_fail(d, "a vector of nothing but '_'");
}

static bool arg_agrees(Decoder *d, int arg) {
    const PtxOperand *op = &d->in->args[arg];
    bool is_dest = ptx_is_dest(d->in, arg) || (arg == 0 && op->kind == PTX_OP_SINK);
    if (op->kind == PTX_OP_VECTOR) return vector_agrees(d, op, arg, is_dest);
    if (op->kind == PTX_OP_PAIR)
        return one_agrees(d, &op->elems[0], arg, is_dest, 0) &&
               one_agrees(d, &op->elems[1], arg, is_dest, 1);
    return one_agrees(d, op, arg, is_dest, -1);
}

bool operands_agree(Decoder *d) {
    const PtxInstr *in = d->in;
    int n = in->n_args - ptx_has_mod(in, "L2::cache_hint"); /* the policy is decode/memory.c's */
    if (ptx_is(in, "ld ldu st call tex tld4 txq suq createpolicy")) return true;
    if (ptx_is(in, "mma wmma wgmma ldmatrix stmatrix movmatrix")) return true;
    if (ptx_is(in, "cp") && ptx_has_mod(in, "bulk")) return true;
    d->type = last_type(in, 0);
    if (is_parts(in) && !is_bits(d->type))
        return decode_fail(d, "only bits are taken apart and put together");
    for (int k = 0; k < n; k++)
        if (!arg_agrees(d, k)) return false;
    return true;
}
