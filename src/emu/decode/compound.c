/* compound.c - instructions that are done as several plain ones: two f32 in 64 bits, the least or
** largest of three, sums and products of an f32 and halves, vectors moved at once, 16 bytes.
**
** What is emitted is what the plain instructions are decoded to: so NaNs, .ftz, certificates and
** undefined values need nothing of their own.
*/
#include "emu/decode/decode.h"

#include <stdio.h>
#include <string.h>

enum { MOST_MODS = 8 };

/* Emits the plain instruction with the modifiers that are left without `drop`, of type f32. */
static bool emit_f32(Decoder *d, const char *drop, uint32_t at[4]) {
    const PtxInstr *whole = d->in;
    const char *mods[MOST_MODS + 1];
    PtxInstr plain = *whole;
    PtxType type;
    plain.mods = mods;
    plain.n_mods = plain.n_args = 0;
    for (int i = 0; i < whole->n_mods && plain.n_mods < MOST_MODS; i++) {
        const char *mod = whole->mods[i];
        bool is_type = ptx_type_parse(mod, &type) || strcmp(mod, "f32x2") == 0;
        if (!is_type && !ptx_word_in(mod, drop)) mods[plain.n_mods++] = mod;
    }
    mods[plain.n_mods++] = "f32";
    return emit_plain(d, &plain, at) || decode_unknown(d);
}

/* OP.f32x2 d, a, b{, c}: the lower halves, then the upper ones. */
static bool decode_two(Decoder *d) {
    const PtxInstr *in = d->in;
    int n = ptx_is(in, "fma") ? 4 : 3;
    uint32_t wide[4], result[2] = {d->tmp32[3], d->tmp32[0]};
    if (!decode_has(d, 86, 100)) return false;
    if (in->n_args != n) return decode_fail(d, "%d operands are expected", n);
    for (int k = 1; k < n; k++)
        if (!source(d, &in->args[k], 'q', k - 1, &wide[k])) return false;
    if (!dest(d, &in->args[0], 'q', &wide[0])) return false;
    for (int half = 0; half < 2; half++) {
        uint32_t at[4] = {result[half]};
        for (int k = 1; k < n; k++) {
            at[k] = d->tmp32[k - 1];
            emit(d, OP_UNPACK, 0, half ? d->trash32 : at[k], wide[k], 0, half ? at[k] : d->trash32);
        }
        if (!emit_f32(d, "", at)) return false;
    }
    emit(d, OP_PACK, 0, wide[0], result[0], result[1], 0);
    return true;
}

/* min and max of three, .abs of their sizes. */
static bool decode_three(Decoder *d) {
    const PtxInstr *in = d->in;
    uint32_t at[4], to;
    if (!decode_has(d, 88, 100)) return false;
    for (int k = 1; k < 4; k++) {
        if (!source(d, &in->args[k], 'f', k - 1, &at[k])) return false;
        if (!has_mod(d, "abs")) continue;
        emit(d, OP_AND32, 0, d->tmp32[k - 1], at[k], pool_row(d, POOL_B32, 0x7fffffff), 0);
        at[k] = d->tmp32[k - 1];
    }
    if (!dest(d, &in->args[0], 'f', &to)) return false;
    uint32_t first[4] = {d->tmp32[3], at[1], at[2]}, second[4] = {to, d->tmp32[3], at[3]};
    return emit_f32(d, "abs", first) && emit_f32(d, "abs", second);
}

/* add, sub and fma of halves and a last f32. */
static bool decode_mixed(Decoder *d) {
    const PtxInstr *in = d->in;
    PtxType half = mod_is(d, LAST, "bf16") ? PTX_BF16 : PTX_F16;
    int n = ptx_is(in, "fma") ? 4 : 3;
    uint32_t at[4];
    if (!decode_has(d, 86, 100)) return false;
    if (in->n_args != n) return decode_fail(d, "%d operands are expected", n);
    for (int k = 1; k < n - 1; k++) {
        if (!source(d, &in->args[k], 'h', k - 1, &at[k])) return false;
        emit_half_to_f32(d, half, d->tmp32[k - 1], at[k]);
        at[k] = d->tmp32[k - 1];
    }
    if (!source(d, &in->args[n - 1], 'f', 2, &at[n - 1])) return false;
    return dest(d, &in->args[0], 'f', &at[0]) && emit_f32(d, "", at);
}

/* --- moves --- */

/* A part of a mov.v4: an element of the source, or of %tid and the like a component. */
static bool part_row(Decoder *d, const PtxOperand *from, int k, char letter, uint32_t *row) {
    char name[32];
    if (from->kind == PTX_OP_VECTOR) return source(d, &from->elems[k], letter, 0, row);
    if (from->kind != PTX_OP_SREG || letter != 'w') return decode_unknown(d);
    snprintf(name, sizeof name, "%s.%c", from->symbol, "xyzw"[k]);
    return special_row(d, name, row);
}

/* mov.v2 and mov.v4: all parts are read before any is written. */
static bool decode_vector(Decoder *d) {
    const PtxOperand *to = &d->in->args[0], *from = &d->in->args[1];
    PtxType type = PTX_NONE;
    int n = mod_is(d, 0, "v2") ? 2 : 4;
    uint32_t row, out;
    ptx_type_parse(mod_at(d, LAST), &type);
    size_t size = ptx_type_size(type);
    char letter = type == PTX_F32 ? 'f' : type == PTX_F64 ? 'd' : "  h w   q"[size];
    const uint32_t *tmp = size == 8 ? d->tmp64 : d->tmp32;
    if (to->kind != PTX_OP_VECTOR || to->n_elems != n ||
        (from->kind == PTX_OP_VECTOR && from->n_elems != n))
        return decode_fail(d, "%d registers are expected", n);
    for (int k = 0; k < n; k++) {
        if (!part_row(d, from, k, letter, &row)) return false;
        emit(d, size == 8 ? OP_MOV64 : OP_MOV32, 0, tmp[k], row, row, row);
    }
    for (int k = 0; k < n; k++) {
        if (!dest(d, &to->elems[k], letter, &out)) return false;
        emit(d, size == 8 ? OP_MOV64 : OP_MOV32, 0, out, tmp[k], tmp[k], tmp[k]);
    }
    return true;
}

/* A vector of two parts of 64 bits, or of four of 32. */
static bool parts_agree(Decoder *d, const PtxOperand *op) {
    return op->n_elems == 2 || op->n_elems == 4 ||
           decode_fail(d, "two parts of 64 bits, or four of 32, are expected");
}

/* The two words of 64 bits of a register, a number, or parts. A number has zeros above it. */
static bool source_128(Decoder *d, const PtxOperand *op, uint32_t row[2]) {
    uint32_t part[2];
    if (op->kind == PTX_OP_IMM) {
        row[1] = pool_row(d, POOL_B64, 0);
        return source(d, op, 'q', 0, &row[0]);
    }
    if (op->kind != PTX_OP_VECTOR) {
        if (!source(d, op, 'Q', 0, &row[0])) return false;
        row[1] = row[0] + ROW64;
        return true;
    }
    if (!parts_agree(d, op)) return false;
    for (int k = 0; k < 2; k++) {
        if (op->n_elems == 2) {
            if (!source(d, &op->elems[k], 'q', k, &row[k])) return false;
            continue;
        }
        for (int n = 0; n < 2; n++)
            if (!source(d, &op->elems[2 * k + n], 'w', n, &part[n])) return false;
        emit(d, OP_PACK, 0, d->tmp64[k], part[0], part[1], 0);
        row[k] = d->tmp64[k];
    }
    return true;
}

/* mov.b128 of registers, from parts and into parts. Parts that are left out have no row. */
static bool decode_move_128(Decoder *d) {
    const PtxOperand *to = &d->in->args[0], *from = &d->in->args[1];
    uint32_t row[2], part[4];
    bool cuts = to->kind == PTX_OP_VECTOR;
    if (!decode_has(d, 83, 70)) return false;
    if (cuts && from->kind == PTX_OP_VECTOR)
        return decode_fail(d, "parts become a register first");
    if (!source_128(d, from, row) || (cuts && !parts_agree(d, to))) return false;
    for (int k = 0; k < 2; k++) emit(d, OP_MOV64, 0, d->tmp64[k], row[k], row[k], row[k]);
    for (int k = 0; k < (cuts ? to->n_elems : 1); k++)
        if (!dest(d, cuts ? &to->elems[k] : to, cuts ? to->n_elems == 2 ? 'q' : 'w' : 'Q',
                  &part[k]))
            return false;
    if (!cuts) part[1] = part[0] + ROW64;
    for (int k = 0; k < 2; k++) {
        const uint32_t *two = &part[2 * k];
        if (cuts && to->n_elems == 4) emit(d, OP_UNPACK, 0, two[0], d->tmp64[k], 0, two[1]);
        else emit(d, OP_MOV64, 0, part[k], d->tmp64[k], d->tmp64[k], d->tmp64[k]);
    }
    return true;
}

#define COMPOUND(opcode, mods, fn, cost) CUSTOM_OF(opcode, mods, fn, cost)
#define ROUNDED                          "?rn|rz|rm|rp "
#define PARTS                            "b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64"

const Form forms_compound[] = {
    COMPOUND("add", ROUNDED "?ftz f32x2", decode_two, FP32),
    COMPOUND("sub", ROUNDED "?ftz f32x2", decode_two, FP32),
    COMPOUND("mul", ROUNDED "?ftz f32x2", decode_two, FP32),
    COMPOUND("fma", "rn|rz|rm|rp ?ftz f32x2", decode_two, FP32),
    COMPOUND("add", ROUNDED "?sat f32 f16|bf16", decode_mixed, FP32),
    COMPOUND("sub", ROUNDED "?sat f32 f16|bf16", decode_mixed, FP32),
    COMPOUND("fma", "rn|rz|rm|rp ?sat f32 f16|bf16", decode_mixed, FP32),
    CUSTOM_SIG("min", "?ftz ?NaN ?abs f32", "ffff", decode_three, ALU),
    CUSTOM_SIG("max", "?ftz ?NaN ?abs f32", "ffff", decode_three, ALU),
    CUSTOM_SIG("st", "bulk ?weak ?shared::cta", "a8z", decode_fill, ST_SHARED),
    CUSTOM_SIG("mov", "v2|v4 " PARTS, "vv", decode_vector, FREE),
    CUSTOM_SIG("mov", "b128", "QQ", decode_move_128, FREE),
    FORMS_END};
